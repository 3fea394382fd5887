r"""A primal-dual interior point for a dual program whose matrix tells next to nothing of its points apart.

.. math:: \min_x \tfrac12 x'Qx + p'x \quad\text{s.t.}\quad \textstyle\sum_i x_i = d,\; l \le x \le u.

Points on a curve under a wide kernel have a Gram matrix of which all but a few eigenvalues are rounding. Pair steps follow its
level directions for ever, and a Newton step leaves the box along them. The barrier has a curvature of its own there, so that a few
factorisations lead to the centre of the solutions. Mehrotra's predictor and corrector, with one length for both steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from convexnovelty.algorithms.box import Indices
from convexnovelty.validation import Array

__all__ = ["interior_point"]

ITERATIONS = 100
WALL = 0.995  # share of the way to a bound
WORTH, PATIENCE = (
    0.9,
    3,
)  # what is left of the residuals after a step that is worth it, and how many may be worth nothing


def interior_point(Q: Array, slope: Array, lower: Array, upper: Array, total: float | None) -> Array:
    """The minimiser x, of shape (k,), with coordinates at their bounds exactly; its sum is free if ``total`` is None.

    ``slope`` is p. Bounds may be infinite, and no coordinate is fixed by them. Q and the bounds are of the order of one. Where
    rounding is all that is left of the optimality conditions, or a factorisation fails, the last point is returned.
    """
    ends = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    at, signs = np.concatenate(ends), np.repeat([1.0, -1.0], [ends[0].size, ends[1].size])
    bounds = np.concatenate([lower[ends[0]], upper[ends[1]]])
    x, z, rho = _inside(lower, upper, total), np.ones(at.size), 0.0
    # A slack is carried by itself: that of a coordinate at its bound is soon less than the last bit of the coordinate.
    s = signs * (x[at] - bounds)
    best, idle = np.inf, 0
    for _ in range(ITERATIONS):
        complementarity = float(s @ z) / max(at.size, 1)
        pull = Q @ x + slope - rho
        left = complementarity + float(np.abs(pull - _spread(at, signs * z, x.size)).max())
        idle = 0 if left < WORTH * best else idle + 1
        best = min(best, left)
        if idle == PATIENCE:
            break
        missing = None if total is None else total - float(x.sum())
        try:
            linear = _Steps.of(Q, at, signs, s, z, pull, missing)
        except LinAlgError:
            break
        dx, more, dz, length = linear.towards(np.zeros(at.size))
        length = min(1.0, length)
        reached = float((s + length * signs * dx[at]) @ (z + length * dz)) / max(at.size, 1)
        centring = (reached / complementarity) ** 3 if complementarity > 0 else 0.0
        dx, more, dz, length = linear.towards(centring * complementarity - signs * dx[at] * dz)
        length = min(1.0, WALL * length)
        x, rho = x + length * dx, rho + length * more
        s, z = s + length * signs * dx[at], z + length * dz
    held = s < z
    x[at[held]] = bounds[held]
    return x


@dataclass(frozen=True)
class _Steps:
    """The Newton system at a point, factorised: ``at`` and ``signs`` say which coordinates the slacks s and multipliers z belong to."""

    factor: tuple[Array, bool]
    even: Array | None
    at: Indices
    signs: Array
    s: Array
    z: Array
    pull: Array
    missing: float | None

    @classmethod
    def of(cls, Q: Array, at: Indices, signs: Array, s: Array, z: Array, pull: Array, missing: float | None) -> _Steps:
        matrix = Q.copy()
        matrix.flat[:: len(Q) + 1] += _spread(at, z / s, len(Q))
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        even = None if missing is None else cho_solve(factor, np.ones(len(Q)), check_finite=False)
        return cls(factor, even, at, signs, s, z, pull, missing)

    def towards(self, products: Array) -> tuple[Array, float, Array, float]:
        """Changes of x, rho and z that bring s z to these products and meet the sum, and how far they may be taken."""
        wanted = _spread(self.at, self.signs * products / self.s, self.pull.size) - self.pull
        dx, more = cho_solve(self.factor, wanted, check_finite=False), 0.0
        if self.even is not None and self.missing is not None:
            more = (self.missing - float(dx.sum())) / float(self.even.sum())
            dx = dx + more * self.even
        ds = self.signs * dx[self.at]
        dz = (products - self.z * ds) / self.s - self.z
        return dx, more, dz, min(_longest(self.s, ds), _longest(self.z, dz))


def _spread(at: Indices, values: Array, size: int) -> Array:
    """The sums of the values that belong to each coordinate."""
    return np.asarray(np.bincount(at, values, size), dtype=float)


def _inside(lower: Array, upper: Array, total: float | None) -> Array:
    """A point between the bounds, at one share of all widths: that with the sum that is asked for, if there is one."""
    width = np.minimum(upper - lower, 1.0)
    start = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - width, 0.0))
    share = 0.5
    if total is not None:
        share = float(np.clip((total - start.sum()) / width.sum(), 0.01, 0.99))
    return np.asarray(start + share * width)


def _longest(values: Array, change: Array) -> float:
    """The length of a step at which the first of the values, which are positive, is zero."""
    falls = change < 0
    return float(np.min(-values[falls] / change[falls], initial=np.inf))
