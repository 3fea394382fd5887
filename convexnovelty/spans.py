r"""The span of rows that are given themselves, by an orthogonal factorisation without their Gram matrix.

A Gram matrix knows squares: what is below :math:`10^{-8}` of the largest row is rounding of it. With the rows divided by
their lengths, :math:`\Phi_i = \ell_i a_i`, the factorisation :math:`A' = QR` with column pivoting knows each row to
rounding of its own length, and with the columns of A in falling order those that are small everywhere to rounding of
themselves (Cox and Higham, 1998, Stability of Householder QR factorization for weighted least squares problems).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexnovelty.validation import Array

__all__ = ["spanning"]

# Share of its length up to which what is left of a row is rounding, where all features are of one size.
ROUNDED = 1e-14


def spanning(rows: Array, rank: int | None = None) -> tuple[Array, Array, NDArray[np.intp]]:
    """Orthonormal axes (f, r) of the span of rows (n, f), the rows in these axes (n, r), and r of them that span it.

    Where the span is everything, the axes are those of the rows, whose digits all stay. With ``rank`` at most so many axes.
    """
    from scipy.linalg import qr

    lengths = np.linalg.norm(rows, axis=1)
    found = np.flatnonzero(lengths > 0)
    unit = rows[found] / lengths[found, None]
    largest = np.abs(unit).max(axis=0, initial=0.0)
    r = min(_rank(unit[:, largest > 0] / largest[largest > 0]), len(found) if rank is None else rank)
    falling = np.argsort(-largest, kind="stable")
    Q, R, order = qr(unit[:, falling].T, mode="economic", pivoting=True)
    pivots = found[order[:r]]
    if r == rows.shape[1]:
        return np.eye(r), rows.copy(), pivots
    signs = np.where(R.diagonal()[:r] < 0, -1.0, 1.0)
    axes = np.empty((rows.shape[1], r))
    axes[falling] = Q[:, :r] * signs
    inside = np.zeros((rows.shape[0], r))
    inside[found[order]] = (signs[:, None] * R[:r]).T
    return axes, inside * lengths[:, None], pivots


def _rank(rows: Array) -> int:
    """The rank of rows whose columns all reach one, so that none is small beside another."""
    from scipy.linalg import qr

    lengths = np.linalg.norm(rows, axis=1)
    triangle, _ = qr((rows / lengths[:, None]).T, mode="r", pivoting=True)
    return int((np.abs(triangle.diagonal()) > ROUNDED).sum())
