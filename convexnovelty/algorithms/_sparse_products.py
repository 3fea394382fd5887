"""Inner products of all pairs of sparse rows, column by column: only rows that share a column meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.algorithms._compile import compiled
from convexnovelty.validation import Array

__all__ = ["gram_of_rows"]


def _add_pairs(indptr: Any, indices: Any, data: Array, out: Array) -> None:
    """Add x_ij x_kj to out[i, k] for k <= i, from the columns j of a matrix whose rows are in order in each."""
    for j in range(indptr.size - 1):
        for first in range(indptr[j], indptr[j + 1]):
            row, value = out[indices[first]], data[first]
            for second in range(indptr[j], first + 1):
                row[indices[second]] += value * data[second]


_compiled_pairs = compiled(_add_pairs, nogil=True)


def gram_of_rows(X: Any) -> Array:
    """X X' of shape (n, n), dense, for sparse rows without repeated entries."""
    columns = X.tocsc()
    out = np.zeros((X.shape[0], X.shape[0]))
    _compiled_pairs(columns.indptr, columns.indices, columns.data, out)
    return np.asarray(np.tril(out) + np.tril(out, -1).T)
