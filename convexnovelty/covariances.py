r"""Covariances taken apart: a factor that reveals the rank in any units.

The rank of a covariance is judged after its columns were scaled to variance 1. A column in units a million times
smaller is then no null direction, and rescaling columns never changes the rank.
"""

from __future__ import annotations

import numpy as np

from convexnovelty.errors import IndefiniteError
from convexnovelty.validation import Array

__all__ = ["Spectrum", "leading", "spectrum", "spectrum_of_factor"]

EPS = float(np.finfo(np.float64).eps)

# A negative eigenvalue below this share of the largest is rounding of whoever computed the covariance.
NEGATIVE = 1e-10

# (scale, sigma, axes) with S = D V' diag(sigma^2) V D, D = diag(scale), V = axes of shape (r, p) with orthonormal rows
Spectrum = tuple[Array, Array, Array]


def spectrum(S: Array, name: str = "covariance") -> Spectrum:
    r"""Scales, deviations and axes of a symmetric matrix, :math:`S = D V' \mathrm{diag}(\sigma^2) V D`.

    The rows of V are the eigenvectors of the correlation matrix with an eigenvalue above p eps times the largest.
    Raises IndefiniteError, with the eigenvalue, if S has a negative one that rounding does not explain.
    """
    p = S.shape[0]
    variances = S.diagonal()
    scale = np.sqrt(np.maximum(variances, 0.0))
    divisor = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(S / divisor[:, None] / divisor)
    if values[0] >= -10.0 * p * EPS * max(values[-1], 0.0):
        keep = values > p * EPS * values[-1]
        return scale, np.sqrt(values[keep][::-1]), np.ascontiguousarray(vectors[:, keep].T[::-1])
    # Rounding in a nearly constant column can look indefinite once that column is blown up to variance 1, so the
    # eigenvalues in the given units decide.
    values, vectors = np.linalg.eigh(S)
    largest = float(np.abs(values).max())
    if values[0] < -NEGATIVE * largest:
        raise IndefiniteError(
            f"{name}: not positive semidefinite, its least eigenvalue is {values[0]:.6g} where the largest is "
            f"{values[-1]:.6g}; give a covariance matrix",
            float(values[0]),
        )
    keep = values > p * EPS * largest
    return np.ones(p), np.sqrt(values[keep][::-1]), np.ascontiguousarray(vectors[:, keep].T[::-1])


def spectrum_of_factor(F: Array) -> Spectrum:
    """The same of S = F'F for a factor of shape (r, p), without forming S."""
    scale = np.sqrt(np.einsum("ij,ij->j", F, F))
    _, sigma, axes = np.linalg.svd(F / np.where(scale > 0, scale, 1.0), full_matrices=False)
    keep = sigma > max(F.shape) * EPS * sigma.max(initial=0.0)
    return scale, sigma[keep], axes[keep]


def leading(values: Array, axes: Array, rank: int | None) -> tuple[Array, float]:
    r"""F of shape (k, p) from the leading singular values and right vectors, and the square of the next value.

    For every w, :math:`w'F'Fw \le \sum_i s_i^2 (v_i'w)^2 \le w'F'Fw + s_{k+1}^2 \|w\|^2`. Values of no more than
    rounding are dropped.
    """
    cut = values.size if rank is None else min(rank, values.size)
    following = float(values[cut]) ** 2 if cut < values.size else 0.0
    kept = np.flatnonzero(values[:cut] > max(axes.shape) * EPS * values.max(initial=0.0))
    return values[kept, None] * axes[kept], following
