"""Covariances of a factor model whose loadings and specific variances are uncertain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction
from convexnovelty.validation import Array, integer, nonnegative

__all__ = ["FactorModel"]

ROUNDING = 1e-14  # the share of a variance that is left of one which factors explain wholly
UNIT = 10  # by how many powers of two the unit of small loadings goes


class FactorModel(CovarianceSet):
    r"""Covariances :math:`V'V + \mathrm{diag}(d)` with uncertain loadings and specific variances.

    The nominal loadings :math:`V_0` are the leading :math:`k` factors of :math:`S_0`, in units in which the factors
    have covariance one, and :math:`d_0` is what they leave of its diagonal. Column by column
    :math:`\|V_i - V_{0,i}\| \le \rho\,\sigma_i`, and :math:`0 \le d \le (1+g)\,d_0`. Then

    .. math:: \sup_S \sqrt{a'Sa} = \Big\|\Big(\|V_0a\| + \rho\,\sigma'|a|,\ \sqrt{(1+g)\,d_0'a^2}\Big)\Big\|

    by the triangle inequality, attained where every column moves along :math:`V_0a` with the sign of :math:`a_i`. The
    membership is the convex hull of these covariances,
    :math:`V_0'V_0 + V_0'W + W'V_0 + Z + \mathrm{diag}(d)` with :math:`Z \succeq W'W,\ Z_{ii} \le \rho^2\sigma_i^2`.

    Parameters
    ----------
    factors : :math:`k`.
    radius : :math:`\rho`, relative to the nominal deviations :math:`\sigma`.
    growth : :math:`g`, by which share specific variances may grow.
    """

    exactness = "exact"
    basis_dependent = True
    nominal_at_zero = False
    source = "Goldfarb and Iyengar (2003), Robust portfolio selection problems"

    def __init__(self, factors: int = 1, radius: float = 0.2, growth: float = 0.5) -> None:
        super().__init__(radius)
        self.factors = integer(factors, "factors", 1)
        self.growth = nonnegative(growth, "growth")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """One factor, and two."""
        return [cls(1, 0.2), cls(2, 0.1, 0.3)]

    def validate(self) -> None:
        """A whole number of factors, and no negative number."""
        super().validate()
        integer(self.factors, "factors", 1)
        nonnegative(self.growth, "growth")

    @property
    def loadings(self) -> Array:
        """The nominal loadings, of shape (factors, p)."""
        values, vectors = np.linalg.eigh(self.center)
        kept = slice(None, -self.factors - 1, -1)
        return np.asarray((vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))).T)

    @property
    def specific(self) -> Array:
        """The nominal specific variances."""
        return np.asarray(np.maximum(np.diag(self.center) - np.sum(self.loadings**2, axis=0), 0.0))

    @property
    def _deviations(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.center), 0.0))

    def membership(self, S: cp.Expression) -> list[Any]:
        """A Gram matrix of moved loadings, and specific variances within their bounds."""
        V, p = self.loadings, self.dimension
        k = V.shape[0]
        # Loadings and variances that cannot move are no variables: bounds of zero would leave the set no inside.
        free = np.flatnonzero(self.specific > ROUNDING * self._deviations**2)
        nominal, bounds = V.T @ V, []
        if free.size:
            d = cp.Variable(free.size, nonneg=True)
            bounds.append(d <= (1.0 + self.growth) * self.specific[free])
            nominal = nominal + cp.diag(np.eye(p)[:, free] @ d)
        if self.radius == 0:
            return [*bounds, S == nominal]
        # W and its square beside a one: in a unit of their own, since a solver tells no square of 1e-18 from zero, and one
        # that stays where the radius moves a little.
        unit = 2.0 ** (UNIT * round(math.log2(self.radius) / UNIT))
        whole = cp.Variable((k + p, k + p), PSD=True)
        W, Z = unit * whole[:k, k:], unit**2 * whole[k:, k:]
        return [
            *bounds,
            whole[:k, :k] == np.eye(k),
            cp.diag(whole[k:, k:]) <= (self.radius / unit * self._deviations) ** 2,
            S == nominal + V.T @ W + W.T @ V + Z,
        ]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The factors' deviation with the radius added, and the specific one, at right angles."""
        common = cp.norm(self.loadings @ a) + self.tuned("radius") * (self._deviations @ cp.abs(a))
        own = self.tuned("growth", lambda g: float(np.sqrt(1.0 + g))) * cp.norm(cp.multiply(np.sqrt(self.specific), a))
        return cp.norm(cp.hstack([common, own]))

    def worst_member(self, a: Array) -> Array:
        """Loadings that all move along the common part of the direction, and the largest specific variances."""
        moved = self.radius * self._deviations * np.where(a < 0, -1.0, 1.0)
        V = self.loadings + np.outer(direction(self.loadings @ a), moved)
        return np.asarray(V.T @ V + (1.0 + self.growth) * np.diag(self.specific))

    def sample(self, rng: np.random.Generator) -> Array:
        """Random loadings and specific variances within their bounds."""
        V = self.loadings
        W = rng.standard_normal(V.shape)
        W *= self.radius * self._deviations * rng.random(V.shape[1]) / np.linalg.norm(W, axis=0)
        d = (1.0 + self.growth) * self.specific * rng.random(V.shape[1])
        return np.asarray((V + W).T @ (V + W) + np.diag(d))
