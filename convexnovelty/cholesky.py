r"""Pivoted Cholesky factors of Gram matrices: rank revealing, and a judge of definiteness.

With the pivots :math:`p` chosen as the largest diagonal entry of what is left, :math:`K \approx FF'`, where what is
left over, :math:`K - FF'`, is positive semidefinite and vanishes on the pivots' rows whenever K is semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import IndefiniteError
from convexnovelty.validation import EPS, Array

__all__ = ["full_cholesky", "nearest_semidefinite", "partial_cholesky"]

Pivots = NDArray[np.intp]


def full_cholesky(K: Array, tolerance: float) -> tuple[Array, Pivots]:
    """The factor F of shape (n, r) with F F' = K, and the r pivots, by LAPACK's blocked ``dpstrf``.

    Pivots stop at ``tolerance`` times the largest diagonal entry, and go on in rows that are small beside it to that share
    of their own. Raises IndefiniteError with the most negative
    eigenvalue if what is left over is more than the tolerance and rounding explain.
    """
    from scipy.linalg.lapack import dpstrf

    n = K.shape[0]
    scale, largest = float(np.abs(K).max()), float(K.diagonal().max())
    if scale == 0.0:
        return np.zeros((n, 0)), np.zeros(0, dtype=np.intp)
    if largest <= 0.0:
        raise _indefinite(K)
    packed, order, rank, _ = dpstrf(K, lower=1, tol=tolerance * largest)
    order = np.asarray(order, dtype=np.intp) - 1  # LAPACK counts from 1
    factor = np.zeros((n, rank))
    factor[order] = np.tril(packed)[:, :rank]
    rest = order[rank:]
    if rest.size:
        leftover = K[np.ix_(rest, rest)] - factor[rest] @ factor[rest].T
        if np.abs(leftover).max() > _slack(n, tolerance) * scale:
            # The leftover of a semidefinite matrix is bounded by its diagonal. Noise in the last pivots may exceed
            # that too, so the eigenvalue decides.
            error = _indefinite(K)
            if error.eigenvalue < -_slack(n, tolerance) * scale:
                raise error
    return _completed(factor, order[:rank], lambda i: K[:, i], K.diagonal(), n, tolerance)


def partial_cholesky(
    column: Callable[[int], Array], diagonal: Array, rank: int, tolerance: float, rounding: float = EPS
) -> tuple[Array, Pivots]:
    """The factor F of shape (n, r), r <= ``rank``, from ``column(i)`` = K[:, i] of the chosen pivots alone.

    K itself is never formed: n r numbers are held, and r columns computed. Raises IndefiniteError if these columns
    show that K has a negative eigenvalue; the eigenvalue stated is that of the block that shows it, an upper bound.
    """
    n = diagonal.shape[0]
    largest = float(diagonal.max())
    slack = (_slack(n, tolerance) + n * rounding) * float(np.abs(diagonal).max())
    left = diagonal.copy()
    columns = np.zeros((n, min(rank, n)), order="F")
    pivots: list[int] = []
    _refuse_negative(left, slack, pivots, column)
    while len(pivots) < columns.shape[1]:
        pivot, r = int(left.argmax()), len(pivots)
        if left[pivot] <= tolerance * largest or largest <= 0.0:
            break
        found = column(pivot) - columns[:, :r] @ columns[pivot, :r]
        # The rows of earlier pivots are zero in exact arithmetic, and a triangle has to have them so.
        found[pivots] = 0.0
        found[pivot] = left[pivot]
        columns[:, r] = found / np.sqrt(left[pivot])
        left -= columns[:, r] ** 2
        pivots.append(pivot)
        _refuse_negative(left, slack, pivots, column)
        left[pivots] = 0.0
    factor = np.ascontiguousarray(columns[:, : len(pivots)])
    return _completed(factor, np.asarray(pivots, dtype=np.intp), column, diagonal, rank, tolerance)


def nearest_semidefinite(K: Array, error: IndefiniteError, rounding: float) -> Array:
    """The semidefinite matrix nearest to K, which was refused with ``error`` and whose entries were rounded before.

    Each by so small a share of the largest, they move eigenvalues by n times that at most. Raises the error where K
    is farther from being symmetric and semidefinite.
    """
    from scipy.linalg import eigh

    allowed = len(K) * rounding * float(np.abs(K).max())
    if error.eigenvalue < -allowed or np.abs(K - K.T).max() > allowed:
        raise error
    values, vectors = eigh((K + K.T) / 2.0)
    roots = vectors[:, values > 0] * np.sqrt(values[values > 0])
    return np.asarray(roots @ roots.T)


def _completed(
    factor: Array, pivots: Pivots, column: Callable[[int], Array], diagonal: Array, rank: int, tolerance: float
) -> tuple[Array, Pivots]:
    """The factor with further pivots in rows of which more than ``tolerance`` of their own is left.

    They are small beside the largest, and what is left of that is rounding: no entry may be longer than what is left of its row.
    """
    left = diagonal - np.einsum("ij,ij->i", factor, factor)
    left[pivots] = 0.0
    open_ = left > tolerance * np.abs(diagonal)
    while pivots.size < rank and open_.any():
        pivot = int(np.where(open_, left, 0.0).argmax())
        root, lengths = np.sqrt(left[pivot]), np.sqrt(np.maximum(left, 0.0))
        found = np.clip((column(pivot) - factor @ factor[pivot]) / root, -lengths, lengths)
        found[pivot] = root
        factor, pivots = np.column_stack([factor, found]), np.append(pivots, pivot)
        left = left - found**2
        left[pivots] = 0.0
        open_ &= left > tolerance * np.abs(diagonal)
    return factor, pivots


def _slack(n: int, tolerance: float) -> float:
    """What the tolerance and the rounding of n steps can leave over, relative to the scale of the matrix."""
    return 10.0 * tolerance + 20.0 * n * EPS


def _refuse_negative(left: Array, slack: float, pivots: list[int], column: Callable[[int], Array]) -> None:
    worst = int(left.argmin())
    if left[worst] >= -slack:
        return
    rows = [*pivots, worst]
    raise _indefinite(np.array([column(i)[rows] for i in rows]), "at most ")


def _indefinite(K: Array, bound: str = "") -> IndefiniteError:
    from scipy.linalg import eigh

    eigenvalues: Any = eigh((K + K.T) / 2.0, eigvals_only=True, subset_by_index=[0, 0])
    least = float(eigenvalues[0])
    skew = float(np.abs(K - K.T).max())
    if least >= 0 and skew > 0:
        # The symmetric part is semidefinite, so that an eigenvalue would show nothing.
        return IndefiniteError(
            f"X, kernel: the Gram matrix is not symmetric, entries differ from those across the diagonal by up to {skew:.6g}; "
            "give a symmetric function, k(x, z) = k(z, x)",
            least,
        )
    return IndefiniteError(
        f"X, kernel: the Gram matrix is not positive semidefinite, its least eigenvalue is {bound}{least:.6g}; "
        f"give a semidefinite kernel; if rounding explains this value, add {-2.0 * least:.1g} to the diagonal of the matrix, or "
        "give KernelFeatures a larger tolerance",
        least,
    )
