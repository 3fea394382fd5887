"""Distances that keep their relative accuracy, and the width of a kernel that is read off the points."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.estimates import beyond_rounding
from convexnovelty.sparse_rows import is_sparse, sparse_gamma, sparse_squared_distances, sparse_squared_norms
from convexnovelty.validation import Array, points, squarable, vector

__all__ = [
    "FALLBACK_GAMMA",
    "column_variances",
    "laplacian_gamma",
    "mean_variance",
    "scale_gamma",
    "squared_distances",
    "squared_norms",
]

FALLBACK_GAMMA = 1.0  # what "scale" becomes for points that are all equal, where no width can be read off

# A squared distance below this share of ||x||^2 + ||z||^2 has lost three digits of sixteen in the expansion
# ||x||^2 + ||z||^2 - 2 x'z, and is computed again from the difference.
CANCELLATION = 1e-3
BLOCK = 2**21  # numbers held at once while distances are computed again: 16 MB


def scale_gamma(X: Any, weights: Any = None) -> float:
    """gamma = 1 / (q * variance of the entries of the q columns that vary), so that c X has gamma / c^2 for every c.

    On data whose columns all vary this is scikit-learn's ``"scale"``, to the digit. A constant column says nothing of
    distances and is left out: counted in, a large one makes the kernel so wide that nothing is ever novel. Columns
    that vary about means far apart still widen the kernel, so that such data are best centred first. Points that are
    all equal have no scale: for them gamma is 1. With weights of shape (n,) a point counts as often as its weight says.
    """
    weights = None if weights is None else _comparable(weights, X)
    if is_sparse(X):
        return sparse_gamma(X, weights) or FALLBACK_GAMMA
    X = squarable(points(X, "X"), "X")
    varying = X[:, column_variances(X) > 0]
    if not varying.size:
        return FALLBACK_GAMMA
    if weights is None:
        return float(1.0 / (varying.shape[1] * varying.var()))
    shares = np.repeat(weights[:, None], varying.shape[1], axis=1)
    mean = float(np.average(varying, weights=shares))
    return float(1.0 / (varying.shape[1] * np.average((varying - mean) ** 2, weights=shares)))


def _comparable(weights: Any, X: Any) -> Array:
    """Weights of the order of one, by a power of two, which changes no digit of an average: large ones have no finite sum."""
    given = vector(weights, "weights", X.shape[0])
    return np.ldexp(given, -int(np.frexp(given.max(initial=0.0))[1]))


def laplacian_gamma(X: Any, weights: Any = None) -> float:
    """gamma = 1 / (p s), where s^2 is the mean of the column variances: one over a distance, not over a square.

    With weights of shape (n,) a point counts as often as its weight says; points that are all equal get 1.
    """
    X = squarable(points(X, "X"), "X")
    if weights is None:
        variance = mean_variance(X)
    else:
        shares = _comparable(weights, X)
        centred = X - np.average(X, axis=0, weights=shares)
        variance = float(np.average(centred**2, axis=0, weights=shares).mean())
    return float(1.0 / (X.shape[1] * variance**0.5)) if variance > 0 else FALLBACK_GAMMA


def squared_distances(X: Array, Z: Array) -> Array:
    """||x_i - z_j||^2 of shape (n, m), accurate to about 1e-12 of itself wherever the points lie.

    The expansion ||x||^2 + ||z||^2 - 2 x'z runs at the speed of a matrix product, but cancels when points are
    close to one another and far from the origin. So the points are moved by the mean of ``X`` first, and pairs
    that are still close compared with their norms are computed again from x_i - z_j. Equal points get 0 exactly.
    Sparse points are not moved, which would fill them.
    """
    if is_sparse(X) or is_sparse(Z):
        return sparse_squared_distances(X, Z)
    center = X.mean(axis=0)
    left = X - center
    right = left if Z is X else Z - center
    norms = squared_norms(left)[:, None] + squared_norms(right)[None, :]
    distances = left @ right.T
    distances *= -2.0
    distances += norms
    norms *= CANCELLATION
    rows, columns = np.nonzero(distances <= norms)
    step = max(1, BLOCK // X.shape[1])
    for start in range(0, rows.size, step):
        i, j = rows[start : start + step], columns[start : start + step]
        distances[i, j] = squared_norms(X[i] - Z[j])  # of the points as given: moving them has rounded them
    return np.asarray(distances)


def squared_norms(Z: Array) -> Array:
    """||z_j||^2 of shape (m,)."""
    if is_sparse(Z):
        return sparse_squared_norms(Z)
    return np.asarray(np.einsum("ij,ij->i", Z, Z))


def column_variances(X: Array) -> Array:
    """Variances of the columns; a column whose spread may be rounding of its entries has 0, and decides no width."""
    variances = np.asarray(np.var(X - X[0], axis=0))
    return np.where(beyond_rounding(variances, X[0]), variances, 0.0)


def mean_variance(X: Array) -> float:
    """The mean of the column variances."""
    return float(column_variances(X).mean())
