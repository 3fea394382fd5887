r"""Covariances taken apart: a factor that reveals the rank in any units.

The rank of a covariance is judged after its columns were scaled to variance 1. A column in units a million times
smaller is then no null direction, and rescaling columns never changes the rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import IndefiniteError
from convexnovelty.validation import Array

__all__ = ["Spectrum", "factored", "leading", "own_axes", "own_root", "refuse_indefinite", "spectrum", "stacked"]

EPS = float(np.finfo(np.float64).eps)

# How many times p eps of the largest eigenvalue of correlations another one may be and still be rounding.
ROUNDING = 10.0

# A negative eigenvalue below this share of the largest is rounding of whoever computed the covariance.
NEGATIVE = 1e-10

# In columns of very different size that is more than the small ones hold. Rounding leaves on the diagonal this share of the
# largest variance and of a mean's square, of which moments may be differences, and correlations beyond one by no more than that.
LEFT, BEYOND = 1e-13, 1e-6

# (scale, sigma, axes) with S = D V' diag(sigma^2) V D, D = diag(scale), V = axes of shape (r, p) with orthonormal rows
Spectrum = tuple[Array, Array, Array]


def spectrum(S: Array, name: str = "covariance", mean: Array | None = None) -> Spectrum:
    r"""Scales, deviations and axes of a symmetric matrix, :math:`S = D V' \mathrm{diag}(\sigma^2) V D`.

    The rows of V are the eigenvectors of the correlation matrix with an eigenvalue above 10 p eps times the largest:
    a negative one of that size is rounding, and so may a positive one be. Raises IndefiniteError, with the eigenvalue, if S
    has a negative one that rounding does not explain, for which ``mean`` is as :func:`refuse_indefinite` has it.
    """
    p = S.shape[0]
    variances = S.diagonal()
    scale = np.sqrt(np.maximum(variances, 0.0))
    divisor = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(S / divisor[:, None] / divisor)
    if values[0] >= -ROUNDING * p * EPS * max(values[-1], 0.0):
        keep = values > ROUNDING * p * EPS * values[-1]
        return scale, np.sqrt(values[keep][::-1]), np.ascontiguousarray(vectors[:, keep].T[::-1])
    # Rounding in a nearly constant column can look indefinite once that column is blown up to variance 1, so the
    # eigenvalues in the given units decide.
    values, vectors = np.linalg.eigh(S)
    largest = float(np.abs(values).max())
    _judged(S, values, name, mean)
    keep = values > ROUNDING * p * EPS * largest
    return np.ones(p), np.sqrt(values[keep][::-1]), np.ascontiguousarray(vectors[:, keep].T[::-1])


def refuse_indefinite(S: Array, name: str, mean: Array | None = None) -> None:
    """Raise IndefiniteError for a symmetric matrix with an eigenvalue that is negative by more than rounding.

    With a ``mean`` its correlations are judged too; zeros where there is none.
    """
    _judged(S, np.linalg.eigvalsh(S), name, mean)


def _judged(S: Array, values: NDArray[Any], name: str, mean: Array | None) -> None:
    largest = float(np.abs(values).max())
    if values[0] < -NEGATIVE * largest - (0.0 if mean is None else LEFT * float(mean @ mean)):
        raise IndefiniteError(
            f"{name}: not positive semidefinite, its least eigenvalue is {values[0]:.6g} where the largest is "
            f"{values[-1]:.6g}; give a covariance matrix",
            float(values[0]),
        )
    if mean is None or values[0] >= 0:
        return
    with_rounding = S + LEFT * np.diag(largest + mean**2)
    size = np.sqrt(with_rounding.diagonal().clip(LEFT * largest))
    least = float(np.linalg.eigvalsh(with_rounding / size / size[:, None])[0])
    if least < -BEYOND:
        raise IndefiniteError(
            f"{name}: not positive semidefinite, in units of its columns' deviations its least eigenvalue is {least:.6g}; "
            "give a covariance matrix",
            least,
        )


def own_axes(S: Array) -> tuple[Array, Array, Array]:
    r"""Eigenvalues, rising, and vectors of a symmetric matrix in its own units, and these: :math:`S = D V \Lambda V' D`.

    Those of the matrix as it stands know a small variance to rounding of the largest one. No unit is zero.
    """
    size = np.sqrt(np.maximum(S.diagonal(), 0.0))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(S / size / size[:, None])
    return values, vectors, size


def own_root(S: Array) -> Array:
    """A square F with F'F = S for a covariance; eigenvalues below zero, which a solver leaves, count as zero.

    So does the rounding of others: the root of a share of 1e-16 is one of 1e-8, of which a direction without variance has none.
    """
    values, vectors, size = own_axes(S)
    held = np.where(values > len(values) * EPS * values[-1], values, 0.0)
    return np.asarray(np.sqrt(held)[:, None] * vectors.T * size)


def stacked(F: Array, d: Array) -> Array:
    """Rows K with K'K = F'F + diag(d): F, and a row for each entry of d above zero."""
    own = np.flatnonzero(d)
    rows = np.zeros((len(F) + own.size, d.size))
    rows[: len(F)] = F
    rows[len(F) + np.arange(own.size), own] = np.sqrt(d[own])
    return rows


def factored(rows: Array) -> tuple[Array, Array]:
    """Singular values and right vectors of the rows of a factor; columns that are zero in all rows stay so.

    What rounding left of them in a vector would pass for the whole of a column that has no deviation of its own.
    """
    _, values, axes = np.linalg.svd(rows, full_matrices=False)
    axes[:, ~rows.any(axis=0)] = 0.0
    return values, axes


def leading(values: Array, axes: Array, rank: int | None, share: float) -> tuple[Array, Array]:
    r"""F of shape (k, p) from the leading singular values and right vectors, and what to add to the diagonal, (p,).

    For every w, :math:`w'F'Fw \le \sum_i s_i^2 (v_i'w)^2 \le w'F'Fw + s_{k+1}^2 \|w\|^2`. Values up to the given share of
    the largest are rounding and are dropped: a direction without variance is not to get one. Columns that are not
    larger themselves are beyond what the values can tell, and keep a bound.
    """
    cut = values.size if rank is None else min(rank, values.size)
    lost = share * float(values.max(initial=0.0))
    kept = np.flatnonzero(values[:cut] > lost)
    following = float(values[cut]) if cut < values.size else 0.0
    if following > lost:
        return values[kept, None] * axes[kept], np.full(axes.shape[1], following**2)
    variances = values**2 @ axes**2
    unseen = (variances > 0) & (variances <= lost**2) & (cut < values.size)
    return values[kept, None] * axes[kept], np.where(unseen, lost**2, 0.0)
