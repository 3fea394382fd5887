"""Dask arrays and frames, whose blocks are worked on where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from convexnovelty._optional import needed
from convexnovelty.errors import InputError
from convexnovelty.streams.source import Result, Source

__all__ = ["DaskCollections"]

AT_ONCE = 16  # blocks whose results are fetched together


class DaskCollections(Source):
    """A Dask array or frame, computed by whatever scheduler is active: threads here, or the workers of a client.

    Blocks stay on the workers and only results travel, merged in pairs. A worker that is lost costs the
    time of its blocks, since Dask computes them again; the order of merging is fixed, so that the answer is the same.
    """

    @classmethod
    def accepts(cls, given: Any) -> bool:
        """See :meth:`Source.accepts`."""
        return hasattr(given, "__dask_graph__") and hasattr(given, "to_delayed")

    def raw(self) -> Iterator[Any]:
        """See :meth:`Source.raw`."""
        dask = needed("dask", "dask")
        for part in self._parts():
            yield dask.compute(part)[0]

    def mapped(self, function: Callable[[int, Any], Result]) -> Iterator[Result]:
        """See :meth:`Source.mapped`."""
        dask = needed("dask", "dask")
        tasks = self._tasks(function)
        for start in range(0, len(tasks), AT_ONCE):
            yield from dask.compute(*tasks[start : start + AT_ONCE])

    def reduced(self, function: Callable[[int, Any], Result], merge: Callable[[Result, Result], Result]) -> Result:
        """See :meth:`Source.reduced`."""
        dask = needed("dask", "dask")
        level, merged = self._tasks(function), dask.delayed(merge, pure=False)
        if not level:
            raise InputError("source: it has no block; give at least one row of points")
        while len(level) > 1:
            pairs = [merged(*level[k : k + 2]) for k in range(0, len(level) - 1, 2)]
            level = [*pairs, *level[2 * len(pairs) :]]
        return dask.compute(level[0])[0]  # type: ignore[no-any-return]

    def _tasks(self, function: Callable[[int, Any], Result]) -> list[Any]:
        dask = needed("dask", "dask")
        shared = dask.delayed(function, pure=False, traverse=False)  # sent to each worker once, and not with each block
        return [shared(index, part) for index, part in enumerate(self._parts())]

    def _parts(self) -> list[Any]:
        given = self.given
        if hasattr(given, "chunks"):
            if given.ndim != 2:
                raise InputError(f"source: a Dask array of shape {given.shape} was found; give one of two dimensions")
            given = given.rechunk({1: -1}) if len(given.chunks[1]) > 1 else given
            return list(given.to_delayed().ravel())
        if not hasattr(given, "columns"):
            raise InputError(f"source: a Dask {type(given).__name__} was found; give a frame, or an array")
        return list(given.to_delayed())
