"""Weighted sums and sums of squares of the columns of a sparse matrix by rows, in one pass over what it stores."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.algorithms._compile import compiled
from convexnovelty.validation import Array

__all__ = ["column_sums"]


def _column_sums(indptr: Any, indices: Any, data: Array, weights: Array, out: Array) -> bool:
    """Add w_i x_ij to out[j, 0] and w_i x_ij^2 to out[j, 1]; False if a row is not sorted or has a column twice.

    Both sums of a column lie side by side, so that an entry touches one line of the cache. Rows of weight zero are not
    read. Unsigned positions need no test for a negative one; a column that is not there is written to the last one, and
    the row is found to be wrong at its end.
    """
    sums, last = out.ravel(), np.uint64(out.shape[0] - 1)
    for i in range(indptr.size - 1):
        w, previous, sorted_row = weights[i], np.int64(-1), True
        if w == 0.0:
            continue
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.int64(indices[k])
            sorted_row = sorted_row and bool(j > previous)
            previous = j
            place = min(np.uint64(j), last) * np.uint64(2)
            value = data[k]
            term = w * value
            sums[place] += term
            sums[place + np.uint64(1)] += term * value
        if not sorted_row or previous > np.int64(last):
            return False
    return True


column_sums = compiled(_column_sums, nogil=True)
