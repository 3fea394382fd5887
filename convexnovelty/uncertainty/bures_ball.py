"""Covariances within a transport distance of the nominal one."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import bures_step, pushed_covariance, transport_distance, transport_membership
from convexnovelty.validation import Array

__all__ = ["BuresBall"]


class BuresBall(CovarianceSet):
    r"""Covariances with :math:`\mathrm{tr}\big(S + S_0 - 2(S_0^{1/2}SS_0^{1/2})^{1/2}\big) \le \rho^2`.

    The distance of Bures and Wasserstein: what it costs to carry a normal law with covariance :math:`S_0` to one with
    covariance :math:`S`.

    .. math:: \sup_S \sqrt{a'Sa} = \sqrt{a'S_0a} + \rho\|a\|

    attained by stretching the law along :math:`a` until the cost is spent.

    Parameters
    ----------
    radius : :math:`\rho`, in units of the data (not squared).
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "Nguyen, Shafieezadeh-Abadeh, Kuhn and Mohajerin Esfahani (arXiv 2112.09959)"

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A small distance."""
        return [cls(0.3)]

    def membership(self, S: cp.Expression) -> list[Any]:
        """A coupling whose cost is small enough."""
        if self.radius == 0:
            return [S == self.center]  # a quadratic constraint with no room would cost the solver half of its digits
        cost, constraints = transport_membership(S, np.asarray(self.factor), self.center)
        return [*constraints, cost <= self.radius**2]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation and the radius times the length of the direction."""
        return cp.norm(self.factor @ a) + self.tuned("radius") * cp.norm(a)

    def worst_member(self, a: Array) -> Array:
        """The nominal law stretched along the direction."""
        return pushed_covariance(self.center, a, self.radius)

    def sample(self, rng: np.random.Generator) -> Array:
        """The nominal law under a random linear map that costs no more than allowed."""
        return bures_step(self.center, self.radius * rng.random(), rng)

    def gauge(self, S: Array) -> float:
        """The distance."""
        return transport_distance(self.center, S)
