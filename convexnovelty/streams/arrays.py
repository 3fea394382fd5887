"""Arrays, memory maps, sparse matrices, frames, and ``.npy`` files, cut into blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexnovelty.errors import InputError
from convexnovelty.streams.source import Source, rows_at_once

__all__ = ["ArrayFiles", "Arrays"]

SPARSE_ROWS = 2**16  # rows of a sparse matrix in a block, whose stored entries are few


class Arrays(Source):
    """Whatever has two dimensions and gives its rows by a slice: NumPy, memory maps, SciPy, pandas, polars, HDF5, Zarr."""

    @classmethod
    def accepts(cls, given: Any) -> bool:
        """See :meth:`Source.accepts`."""
        if hasattr(given, "__dask_graph__") or type(given).__module__.partition(".")[0] == "pyarrow":
            return False
        return len(_shape(given)) == 2 and (hasattr(given, "__getitem__") or issparse(given))

    def raw(self) -> Iterator[Any]:
        """See :meth:`Source.raw`."""
        yield from _cut(self.given, self.rows)


class ArrayFiles(Source):
    """The name of a ``.npy`` file, which is mapped into memory and read as it is used."""

    @classmethod
    def accepts(cls, given: Any) -> bool:
        """See :meth:`Source.accepts`."""
        return isinstance(given, (str, Path)) and Path(given).suffix.lower() == ".npy"

    def raw(self) -> Iterator[Any]:
        """See :meth:`Source.raw`."""
        try:
            mapped = np.load(self.given, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"source: {self.given} cannot be read as an array ({str(error)[:200]})") from error
        if mapped.ndim != 2:
            raise InputError(
                f"source: {self.given} holds an array of shape {mapped.shape}; give one of two dimensions, one row a point"
            )
        yield from _cut(mapped, self.rows)


def _shape(given: Any) -> tuple[Any, ...]:
    found = getattr(given, "shape", ())
    return found if isinstance(found, tuple) else ()


def _cut(matrix: Any, rows: int | None) -> Iterator[Any]:
    n, p = matrix.shape
    sparse = hasattr(matrix, "nnz") and hasattr(matrix, "tocsr")
    if sparse:
        matrix = matrix.tocsr()
    taken = matrix.iloc if hasattr(matrix, "iloc") else matrix
    step = SPARSE_ROWS if sparse and rows is None else rows_at_once(rows, p)
    for start in range(0, n, step):
        block = taken[start : start + step]
        # A memory map is read here, so that a block does not keep the whole map open.
        yield np.array(block) if isinstance(block, np.memmap) else block
