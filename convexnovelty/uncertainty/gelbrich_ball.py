"""Moments within a transport distance of the nominal ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Counterpart, MomentSet, UncertaintySet
from convexnovelty.uncertainty.tools import (
    bures_step,
    direction,
    pushed_covariance,
    transport_distance,
    transport_membership,
)
from convexnovelty.validation import Array

__all__ = ["GelbrichBall"]


class GelbrichBall(MomentSet):
    r"""Pairs with :math:`\|m-m_0\|^2 + \mathrm{tr}\big(S + S_0 - 2(S_0^{1/2}SS_0^{1/2})^{1/2}\big) \le \rho^2`.

    The moments of all distributions within the 2-Wasserstein distance :math:`\rho` of one with the nominal moments lie
    in this ball.

    .. math:: \sup m'a + \kappa\sqrt{a'Sa} = m_0'a + \kappa\sqrt{a'S_0a} + \rho\sqrt{1+\kappa^2}\,\|a\|

    attained by moving the law along :math:`a` and stretching it, in the proportion of one to :math:`\kappa`; this is
    the push-forward under an affine map.

    Parameters
    ----------
    radius : :math:`\rho`, in units of the data.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "Nguyen, Shafieezadeh-Abadeh, Kuhn and Mohajerin Esfahani (arXiv 2112.09959); Gelbrich (1990)"

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A small distance."""
        return [cls(0.3)]

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """A coupling whose cost, with that of moving the mean, is small enough."""
        if self.radius == 0:
            return [m == self.center_mean, S == self.center_covariance]  # a constraint with no room costs digits
        cost, constraints = transport_membership(S, np.asarray(self.factor), self.center_covariance)
        # In units of the data: a sum of squares is compiled beside a one, which must not be out of proportion.
        moved = cp.sum_squares((m - self.center_mean) / self.unit)
        return [*constraints, moved + cost / self.unit**2 <= (self.radius / self.unit) ** 2]

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart:
        """The nominal loss and the radius times the length of the direction, in the proportion of kappa."""
        nominal = self.center_mean @ a + kappa * cp.norm(self.factor @ a)
        radius = self.tuned("radius")
        if not isinstance(kappa, cp.Expression):
            return Counterpart(nominal + math.sqrt(1.0 + kappa**2) * (radius * cp.norm(a)))
        # sqrt(1 + kappa^2) times a length is the length of (length, kappa length), which is within DPP.
        length = cp.Variable(nonneg=True)
        return Counterpart(nominal + cp.norm(cp.hstack([length, kappa * length])), [radius * cp.norm(a) <= length])

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation and the radius times the length of the direction."""
        return cp.norm(self.factor @ a) + self.tuned("radius") * cp.norm(a)

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array]:
        """The nominal law moved and stretched along the direction."""
        shift = self.radius / math.sqrt(1.0 + kappa**2)
        return self.center_mean + shift * direction(a), pushed_covariance(self.center_covariance, a, kappa * shift)

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """The nominal law moved, and under a random linear map, at no more than the allowed cost."""
        share = rng.random()
        step = rng.standard_normal(self.dimension)
        step *= self.radius * math.sqrt(share) / np.linalg.norm(step)
        return self.center_mean + step, bures_step(self.center_covariance, self.radius * math.sqrt(1 - share), rng)

    def gauge(self, m: Array, S: Array) -> float:
        """The distance."""
        return math.hypot(float(np.linalg.norm(m - self.center_mean)), transport_distance(self.center_covariance, S))
