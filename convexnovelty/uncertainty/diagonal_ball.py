"""Covariances whose variances alone are uncertain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import conjugate, dual_vector, exponent, norm, p_norm, semidefinite_step
from convexnovelty.validation import Array

__all__ = ["DiagonalBall"]


class DiagonalBall(CovarianceSet):
    r"""Covariances :math:`S_0 + \mathrm{diag}(\delta)` with :math:`\|\delta\|_p \le \rho` and :math:`S \succeq 0`.

    .. math:: \sup_S a'Sa = a'S_0a + \rho\|(a_i^2)\|_q = a'S_0a + \rho\|a\|_{2q}^2, \qquad \tfrac1p + \tfrac1q = 1

    by Hölder's inequality; the worst :math:`\delta` is not negative, so that the cone costs nothing.

    Parameters
    ----------
    p : from 1 to infinity.
    radius : :math:`\rho`, in squared units of the data.
    """

    exactness = "exact"
    exponents = ("p",)
    basis_dependent = True
    source = "Hölder's inequality on the squares of the direction"

    def __init__(self, p: Any = 2.0, radius: float = 1.0) -> None:
        super().__init__(radius)
        self.p = exponent(p)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A round ball, and the two polyhedral ones."""
        return [cls(2, 0.5), cls(1, 0.5), cls(math.inf, 0.5)]

    def membership(self, S: cp.Expression) -> list[Any]:
        """The difference is diagonal and its diagonal is short."""
        p = self.dimension
        delta = cp.Variable(p)
        return [S == self.center + cp.diag(delta), p_norm(delta, self.p) <= self.radius]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation and the norm of the direction with twice the dual exponent, at right angles."""
        # The root of the radius stands inside of the norm, so that what its power cones see has no unit.
        added = p_norm(self.tuned("radius", np.sqrt) * a, 2 * conjugate(self.p))
        return cp.norm(cp.hstack([cp.norm(self.factor @ a), added]))

    def worst_member(self, a: Array) -> Array:
        """Variances grown in the shares that Hölder's equality names."""
        return np.asarray(self.center + self.radius * np.diag(dual_vector((a / (np.abs(a).max() or 1.0)) ** 2, self.p)))

    def sample(self, rng: np.random.Generator) -> Array:
        """Random changes of the variances, shortened where they would leave the cone."""
        delta = rng.standard_normal(self.dimension)
        return semidefinite_step(self.center, self.radius * rng.random() / norm(delta, self.p) * np.diag(delta))
