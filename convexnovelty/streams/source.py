"""What every source of points in pieces can do, and how an object that a user passes becomes one."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from convexnovelty.columns import names_of, types_of
from convexnovelty.errors import InputError
from convexnovelty.estimates import nonnegative_vector, sparse_points
from convexnovelty.validation import Array, integer, listed, points, shown

__all__ = ["Block", "Columns", "Source", "as_source", "is_stream", "rows_at_once"]

NUMBERS = 2**20  # numbers in a block where the source leaves the choice: 8 MB, which a processor's cache nearly holds
Result = TypeVar("Result")


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are features, which one holds weights, and which one classes.

    ``features`` None means all that are neither; only sources whose columns have names take the others.
    """

    features: tuple[str, ...] | None = None
    weights: str | None = None
    classes: str | None = None

    def __post_init__(self) -> None:
        if self.features is not None:
            object.__setattr__(self, "features", tuple(listed(self.features, "columns", "a list of names")))
        for argument in ("weights", "classes"):
            name = getattr(self, argument)
            if name is not None and not isinstance(name, str):
                raise InputError(f"{argument}: {shown(name)} was found; give the name of a column")

    def of(self, names: Sequence[str]) -> list[str]:
        """The features among the names of a table. Raises InputError for a name that is not among them once."""
        others = [name for name in (self.weights, self.classes) if name is not None]
        chosen = [name for name in names if name not in others] if self.features is None else list(self.features)
        for name in [*chosen, *others]:
            if not isinstance(name, str) or name not in names:
                raise InputError(f"columns: none is called {name!r}; found are {', '.join(map(repr, names))}")
            if names.count(name) > 1:
                raise InputError(f"columns: {names.count(name)} are called {name!r}; give each its own name")
            if chosen.count(name) > 1:
                raise InputError(f"columns: {name!r} was found {chosen.count(name)} times; give each name once")
        return chosen


@dataclass(frozen=True)
class Block:
    """Points of shape (n, p), dense or sparse, with weights and classes of shape (n,) where there are any.

    ``precision`` is the type of floating numbers as which the source has its points, which scikit-learn's transformers keep and
    round to.
    """

    points: Any
    weights: Array | None = None
    classes: Any = None
    precision: Any = np.float64

    @classmethod
    def of(cls, index: int, raw: Any, columns: Columns) -> Block:
        """A checked block from what a source yields: a matrix, a frame, or a pair of points and weights.

        Raises InputError naming the block, counted from 0.
        """
        _known(columns)
        try:
            weights: Any = None
            classes: Any = None
            if isinstance(raw, tuple):
                if len(raw) != 2:
                    raise InputError(
                        f"X: a tuple of {len(raw)} was found; give points, or a pair of points and weights"
                    )
                raw, weights = raw
            if hasattr(raw, "columns"):
                frame, labels = raw, {str(label): label for label in raw.columns}
                raw = frame[[labels[name] for name in columns.of([str(label) for label in raw.columns])]]
                weights = weights if columns.weights is None else frame[labels[columns.weights]]
                classes = None if columns.classes is None else np.asarray(frame[labels[columns.classes]])
            elif columns != Columns():
                raise InputError(f"columns: {type(raw).__name__} has no names; give a table, or leave them out")
            sparse = hasattr(raw, "nnz") and hasattr(raw, "toarray")
            X = sparse_points(raw).tocsr() if sparse else points(raw, "X", minimum=0)
            given = None if weights is None else _weights(weights, X.shape[0])
        except InputError as error:
            raise InputError(f"block {index}: {error}") from error
        return cls(X, given, classes, _precision(types_of(raw)))


def _weights(given: Any, count: int) -> Array:
    return np.zeros(0) if count == 0 and np.shape(given) == (0,) else nonnegative_vector(given, "weights", count)


def _precision(types: Sequence[Any]) -> Any:
    """What scikit-learn makes of numbers of these types where that is single or half precision; else double.

    It looks at NumPy's types alone: columns of polars, and those that pandas holds with gaps, become double ones.
    """
    if not types or not all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in types):
        return np.float64
    found = np.result_type(*types)
    return found if found.kind == "f" and found.itemsize < 8 else np.float64


class Source(ABC):
    """Points that come in pieces, none of which need fit into memory with the others.

    A new source is a file in this folder with a class that derives from this one; nothing else changes.

    Laws
    ----
    - ``np.vstack([Block.of(i, raw, columns).points for i, raw in enumerate(source.raw())])`` has all rows in their order.
    - ``list(source.mapped(f)) == [f(i, raw) for i, raw in enumerate(source.raw())]``.
    - ``source.reduced(f, merge)`` is ``functools.reduce(merge, source.mapped(f))`` up to the order of merging.
    - Exactly one class accepts an object, or none does.
    """

    #: Whether the blocks can be read a second time.
    repeatable: bool = True

    def __init__(self, given: Any, rows: int | None, columns: Columns) -> None:
        self.given = given
        self.rows = rows
        self.columns = columns

    @classmethod
    @abstractmethod
    def accepts(cls, given: Any) -> bool:
        """Whether an object is of this kind. It is asked of anything, and imports nothing."""

    @property
    def names(self) -> list[str] | None:
        """The names of the features, for a source whose columns have names and that knows them before it is read."""
        found = names_of(self.given)
        return None if found is None else self.columns.of(found)

    @abstractmethod
    def raw(self) -> Iterator[Any]:
        """The blocks as the source has them, one after another."""

    def mapped(self, function: Callable[[int, Any], Result]) -> Iterator[Result]:
        """``function(index, raw)`` of each block in order; a source that lives on many machines does the work there."""
        for index, raw in enumerate(self.raw()):
            yield function(index, raw)

    def reduced(self, function: Callable[[int, Any], Result], merge: Callable[[Result, Result], Result]) -> Result:
        """What is left when the results of all blocks have been merged. Raises InputError where there is no block."""
        results = self.mapped(function)
        for total in results:
            for part in results:
                total = merge(total, part)
            return total
        raise InputError("source: it has no block; give at least one row of points")


def _known(columns: Any) -> None:
    if not isinstance(columns, Columns):
        raise InputError(f"columns: {shown(columns)} was found; give streams.Columns(features, weights, classes)")


def as_source(given: Any, rows: int | None = None, columns: Columns | None = None) -> Source:
    """The source that an object is. Raises InputError naming what can be given."""
    if rows is not None:
        rows = integer(rows, "rows", 1)
    if columns is not None:
        _known(columns)
    if isinstance(given, Source):
        return given
    for kind in kinds():
        if kind.accepts(given):
            return kind(given, rows, columns or Columns())
    raise InputError(
        f"source: {type(given).__name__} was found; give an array or a memory map, a frame, a sparse matrix, the name of a "
        ".npy file or of a Parquet file or folder, a pyarrow dataset, a Dask array or frame, blocks in a list or an "
        "iterator, or a function that returns such an iterator"
    )


def is_stream(given: Any) -> bool:
    """Whether an object is a source that is not an array already: one that estimators read in blocks."""
    from convexnovelty.streams.arrays import Arrays

    return any(kind.accepts(given) for kind in kinds() if kind is not Arrays)


@cache
def kinds() -> tuple[type[Source], ...]:
    """The classes of sources in the files of this folder."""
    import convexnovelty.streams as folder

    for entry in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"convexnovelty.streams.{entry.name}")
    return tuple(sorted(Source.__subclasses__(), key=lambda kind: kind.__name__))


def rows_at_once(rows: int | None, columns: int) -> int:
    """How many rows make a block: those asked for, or as many as hold 8 MB."""
    return max(1, NUMBERS // max(1, columns)) if rows is None else rows
