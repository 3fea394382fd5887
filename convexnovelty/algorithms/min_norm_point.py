r"""The point of a convex hull that is nearest to the origin, by Wolfe's algorithm (1976).

.. math:: \min_\lambda \Big\|\sum_i \lambda_i p_i\Big\|^2 \quad\text{s.t.}\quad \lambda \ge 0,\ \sum_i \lambda_i = 1.

A corral is an affinely independent set of points whose affine hull has its nearest point inside their convex hull. As
long as some point lies on the near side of the hyperplane through the current point x, that is :math:`p_j'x < x'x`, it
joins the corral; points whose weights would turn negative leave it. The norm falls with each round, so that no corral
comes twice, and the answer is exact up to rounding after finitely many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import SolverError
from convexnovelty.validation import Array, integer, points

__all__ = ["MinNormPoint", "min_norm_point"]

ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class MinNormPoint:
    """The nearest ``point`` (r,), its ``weights`` (n,), the ``gap`` x'x - min_j p_j'x, and the number of rounds.

    The squared distance of any point of the hull from ``point`` is at most twice the gap.
    """

    point: Array
    weights: Array
    gap: float
    iterations: int

    @property
    def distance(self) -> float:
        """The distance of the hull from the origin."""
        size = float(np.abs(self.point).max()) or 1.0  # squares of small entries vanish
        return size * float(np.linalg.norm(self.point / size))


def min_norm_point(P: Any, *, max_iterations: int | None = None) -> MinNormPoint:
    """The point of the convex hull of the rows of ``P`` that is nearest to the origin.

    Parameters
    ----------
    P : (n, r) points, one a row.
    max_iterations : rounds before the search is given up; 100 (n + r) by default.

    Raises
    ------
    SolverError : the rounds did not suffice.
    """
    rows = points(P, "P")
    n, r = rows.shape
    limit = 100 * (n + r) if max_iterations is None else integer(max_iterations, "max_iterations", 1)
    size = float(np.abs(rows).max()) or 1.0
    rows = rows / size
    lengths = np.linalg.norm(rows, axis=1)
    longest = float(lengths.max())
    corral = [int(lengths.argmin())]
    weights = np.ones(1)
    x = rows[corral[0]]
    for count in range(1, limit + 1):
        products = rows @ x
        j = int(products.argmin())
        gap = float(x @ x - products[j])
        length = float(np.linalg.norm(x))
        # What rounding leaves of x, or of its product with a point, ends the search; so does a point already in.
        if j in corral or length <= ROUNDING * longest or gap <= ROUNDING * length * longest:
            full = np.zeros(n)
            full[corral] = weights
            return MinNormPoint(size * x, full, max(gap, 0.0) * size * size, count)
        corral.append(j)
        weights = np.append(weights, 0.0)
        corral, weights = _corral(rows, corral, weights)
        x = weights @ rows[corral]
    raise SolverError(
        f"min_norm_point: the gap is {gap * size * size:.3e} after {limit} rounds; allow more", "max_iterations"
    )


def _corral(rows: Array, corral: list[int], weights: Array) -> tuple[list[int], Array]:
    """Move to the nearest point of the affine hull, dropping points on the way, until it lies inside the hull."""
    while True:
        wanted = _affine(rows[corral])
        if (wanted > 0).all():
            return corral, wanted
        falling = wanted <= 0
        shares = weights[falling] / np.maximum(weights[falling] - wanted[falling], np.finfo(float).tiny)
        step = min(float(shares.min()), 1.0)
        weights = weights + step * (wanted - weights)
        kept: NDArray[np.bool_] = weights > ROUNDING
        # The point that ended the step leaves, whatever rounding says of its weight.
        kept[np.flatnonzero(falling)[int(shares.argmin())]] = False
        corral = [i for i, keep in zip(corral, kept, strict=True) if keep]
        weights = weights[kept] / weights[kept].sum()


def _affine(corners: Array) -> Array:
    """Affine weights of the point of the affine hull that is nearest to the origin."""
    if len(corners) == 1:
        return np.ones(1)
    edges = corners[1:] - corners[0]
    rest = np.linalg.lstsq(edges.T, -corners[0], rcond=None)[0]
    return np.concatenate([[1.0 - rest.sum()], rest])
