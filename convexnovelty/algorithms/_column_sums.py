"""Weighted sums and sums of squares of the columns of a sparse matrix by rows, in one pass over what it stores."""

from __future__ import annotations

from typing import Any

from convexnovelty.algorithms._compile import compiled
from convexnovelty.validation import Array

__all__ = ["column_sums"]


def _column_sums(indptr: Any, indices: Any, data: Array, weights: Array, out: Array) -> bool:
    """Add w_i x_ij to out[j, 0] and w_i x_ij^2 to out[j, 1]; False if a row is not sorted or has a column twice.

    Both sums of a column lie side by side, so that an entry touches one line of the cache. Rows of weight zero are not
    read.
    """
    columns = out.shape[0]
    for i in range(indptr.size - 1):
        w, previous = weights[i], -1
        if w == 0.0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j <= previous or j >= columns:
                return False
            previous = j
            term = w * data[k]
            out[j, 0] += term
            out[j, 1] += term * data[k]
    return True


column_sums = compiled(_column_sums, nogil=True)
