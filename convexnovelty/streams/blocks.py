"""Blocks that come one after another: from a list, an iterator, or a function that starts a new one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from convexnovelty.columns import names_of
from convexnovelty.errors import InputError
from convexnovelty.streams.parquet import ArrowBlock, of_arrow
from convexnovelty.streams.source import Columns, Source
from convexnovelty.validation import shown

__all__ = ["Blocks"]


class Blocks(Source):
    """Blocks from a list or tuple, an iterator (read once), or a function without arguments that returns an iterator.

    A block is a matrix, dense or sparse, a frame, a batch or a table of Arrow, or a pair of points and weights. Columns with names
    are matched by them with those of the first block, in whose order they stand.
    """

    def __init__(self, given: Any, rows: int | None, columns: Columns) -> None:
        self.given, self.rows, self.columns = given, rows, columns
        self.repeatable = not isinstance(given, Iterator)
        self._read = False
        self._names: list[str] | None = None

    @property
    def names(self) -> list[str] | None:
        """See :meth:`Source.names`: of a list those of its first block, of others once they were read."""
        if self._names is None and isinstance(self.given, (list, tuple)):
            self._names = names_of(_points(_named(self.given[0])))
        return None if self._names is None else self.columns.of(self._names)

    def _blocks(self) -> Any:
        blocks = self.given() if callable(self.given) else self.given
        if not isinstance(blocks, Iterable):
            raise InputError(
                f"source: the function returned {shown(blocks)}; give one that returns an iterator over blocks"
            )
        return blocks

    @classmethod
    def accepts(cls, given: Any) -> bool:
        """See :meth:`Source.accepts`. A list of numbers or of rows is no list of blocks."""
        if isinstance(given, Iterator):
            return True
        if isinstance(given, (list, tuple)):
            return bool(given) and all(_is_block(item) for item in given)
        return callable(given) and not isinstance(given, type) and not hasattr(given, "shape") and _needs_nothing(given)

    def raw(self) -> Iterator[Any]:
        """See :meth:`Source.raw`."""
        if self._read and not self.repeatable:
            raise InputError("source: an iterator was read before and is at its end; give a function that returns one")
        self._read = True
        first: Any = None
        for index, raw in enumerate(map(_named, self._blocks())):
            block = _points(raw)
            if index == 0:
                self._names = names_of(block)
            raw, block = _ordered(raw, self._names)
            found = _columns(block)
            if isinstance(found, list) and self.columns.features is not None:
                found = list(self.columns.features)  # which are taken by name, wherever they stand
            first = found if first is None else first
            if found != first and found is not None:
                raise InputError(f"block {index}: columns {_said(found)} were found where block 0 has {_said(first)}")
            yield raw


def _needs_nothing(function: Any) -> bool:
    """Whether a function can be called without arguments, as far as its signature tells."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a function in C that has no signature
        return True
    return True


def _is_block(item: Any) -> bool:
    if isinstance(item, tuple):
        return len(item) == 2 and _is_block(item[0])
    shape = getattr(item, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2


def _named(raw: Any) -> Any:
    """A block whose columns go by their names, also where Arrow holds them."""
    if isinstance(raw, tuple):
        return tuple(map(_named, raw))
    return ArrowBlock(raw, chosen=False) if of_arrow(raw) else raw


def _ordered(raw: Any, names: list[str] | None) -> tuple[Any, Any]:
    """A block with the columns of its points in the order of ``names`` where it has these in another one, and its points."""
    block = _points(raw)
    found = names_of(block)
    if names is None or found is None or found == names or sorted(found) != sorted(set(names)):
        return raw, block
    moved = block.select(names) if isinstance(block, ArrowBlock) else block[names]
    return (moved, *raw[1:]) if isinstance(raw, tuple) else moved, moved


def _points(raw: Any) -> Any:
    """The points of what may be a pair of points and weights."""
    return raw[0] if isinstance(raw, tuple) and raw else raw


def _columns(block: Any) -> list[str] | int | None:
    """The names of a block's columns, or their number where they have none; None for what is judged later."""
    if hasattr(block, "columns"):
        return [str(name) for name in block.columns]
    shape: tuple[int, ...] = getattr(block, "shape", ())
    return int(shape[-1]) if len(shape) == 2 else None


def _said(columns: Sequence[str] | int | None) -> str:
    return str(columns) if not isinstance(columns, Sequence) else ", ".join(map(repr, columns))
