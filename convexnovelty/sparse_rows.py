"""Sparse points as rows: checked, multiplied with one another, and never expanded beyond the answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.estimates import beyond_rounding, sparse_points, sparse_scatter, sums_of_absent
from convexnovelty.validation import Array, points, vector

__all__ = [
    "is_sparse",
    "refuse_dense_covariance",
    "rows_of",
    "sparse_distances_to",
    "sparse_gamma",
    "sparse_products",
    "sparse_squared_distances",
    "sparse_squared_norms",
]

# A squared distance below this share of ||x||^2 + ||z||^2 is computed again from the difference of the rows.
CANCELLATION = 1e-3
PAIRS = 2**14  # rows whose differences are held at once


def is_sparse(X: Any) -> bool:
    """Whether an object is a matrix of SciPy that stores its entries alone."""
    return hasattr(X, "nnz") and hasattr(X, "toarray") and hasattr(X, "tocsr")


def rows_of(X: Any, name: str = "X") -> Any:
    """Points of shape (n, p), checked: a float64 array, or a sparse array by rows where they were sparse."""
    return sparse_points(X, name).tocsr() if is_sparse(X) else points(X, name)


def sparse_products(X: Any, Z: Any) -> Array:
    """x_i'z_j of shape (n, m) as a dense array, where at least one of X and Z is sparse."""
    found = X @ Z.T
    return np.asarray(found.toarray() if is_sparse(found) else found)


def sparse_squared_norms(Z: Any) -> Array:
    """||z_j||^2 of shape (m,)."""
    return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()


def sparse_squared_distances(X: Any, Z: Any) -> Array:
    """||x_i - z_j||^2 of shape (n, m); pairs that are close compared with their lengths from their differences."""
    from scipy.sparse import csr_array

    X, Z = csr_array(X), csr_array(Z)
    norms = sparse_squared_norms(X)[:, None] + sparse_squared_norms(Z)[None, :]
    distances = norms - 2.0 * sparse_products(X, Z)
    rows, columns = np.nonzero((distances <= CANCELLATION * norms) & (norms > 0))
    for start in range(0, rows.size, PAIRS):
        i, j = rows[start : start + PAIRS], columns[start : start + PAIRS]
        distances[i, j] = sparse_squared_norms(X[i] - Z[j])
    return distances


def sparse_distances_to(Z: Any, center: Array) -> Array:
    """||z_j - c||^2 of shape (m,): of the entries that are stored from differences, of the others the centre's squares."""
    from scipy.sparse import csr_array

    Z = csr_array(Z, dtype=np.float64)
    if not Z.has_canonical_format:
        Z = Z.copy()
        Z.sum_duplicates()
    rows = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
    squares = np.bincount(rows, (Z.data - center[Z.indices]) ** 2, Z.shape[0])
    return np.asarray(squares + sums_of_absent(Z, center**2))


def sparse_gamma(X: Any, weights: Any = None) -> float | None:
    """1 / (q * variance of the entries of the q columns that vary), zeros included; None where none varies.

    The variance of all entries is the mean of the columns' variances and the variance of their means.
    """
    matrix = sparse_points(X)
    w = np.ones(matrix.shape[0]) if weights is None else vector(weights, "weights", matrix.shape[0])
    mean, variances, _, _ = sparse_scatter(matrix, w)
    varying = beyond_rounding(variances, mean)
    if not varying.any():
        return None
    return float(1.0 / (varying.sum() * (variances[varying].mean() + mean[varying].var())))


def refuse_dense_covariance(X: Any, limit: int = 15_000) -> None:
    """Raise InputError for sparse points with so many columns that their covariance would not fit beside them."""
    p = X.shape[1]
    if is_sparse(X) and p > limit:
        raise InputError(
            f"X: {p} sparse columns were found, whose covariance is dense and takes {8e-9 * p * p:.1f} GB; keep the columns "
            "that matter, or give Moments.estimate(X, representation='diagonal') or rank= to a method that takes moments"
        )
