"""Moments of all laws near a normal one, by relative entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Counterpart, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, random_symmetric, range_norm, stein_divergence, stein_root
from convexnovelty.validation import Array

__all__ = ["KLBall"]


class KLBall(MomentSet):
    r"""Moments of the laws :math:`P` with :math:`\mathrm{KL}(P\,\|\,N(m_0, S_0)) \le \rho`.

    Among the laws of given moments the normal one has the least divergence, so that the set is

    .. math:: \tfrac12\big(\mathrm{tr}(S_0^{-1}S) - \log\det(S_0^{-1}S) - p + (m-m_0)'S_0^{-1}(m-m_0)\big) \le \rho.

    With :math:`s = \sqrt{a'S_0a}` the worst loss is :math:`m_0'a + s\,h(\kappa)`,

    .. math:: h(\kappa) = \max\{d + \kappa w : w^2 - 1 - 2\ln w + d^2 \le 2\rho\},

    a problem in the plane: the divergence is best spent on moving and stretching along one axis of the coordinates in
    which the nominal law is standard. The set bounds expectations and deviations; the worst probability over the same
    laws is another number.

    Parameters
    ----------
    radius : :math:`\rho`, in nats.
    """

    exactness = "exact"
    rotation_invariant = True
    source = "derived; compare Nguyen, Si and Blanchet (2020), Robust Bayesian classification using an optimistic score"

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A tenth of a nat."""
        return [cls(0.1)]

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """The divergence, in coordinates in which the nominal law is standard."""
        F = np.asarray(self.factor)
        r = F.shape[0]
        if r == 0 or self.radius == 0:
            return [S == self.center_covariance, m == self.center_mean]
        X, v = cp.Variable((r, r), symmetric=True), cp.Variable(r)
        divergence = cp.trace(X) - cp.log_det(X) + cp.sum_squares(v) <= 2.0 * self.radius + r
        return [S == F.T @ X @ F, m == self.center_mean + F.T @ v, divergence]

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart:
        """The nominal value and the plane's support at (1, kappa), scaled by the nominal deviation."""
        from convexnovelty.uncertainty.derived import derived_support

        level = cp.Variable(nonneg=True)
        plane: Any = _Plane(self.radius).centred(np.zeros(2))
        if self._tuner is not None:
            plane = plane.tunable()
            self.watch("radius", lambda changed: plane.retune("radius", changed.radius))
        bound = derived_support(plane, cp.hstack([level, kappa * level]))
        constraints = [cp.norm(self.factor @ a) <= level, *bound.constraints]
        return Counterpart(self.center_mean @ a + bound.value, constraints)

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation, stretched."""
        return self.tuned("radius", stein_root) * cp.norm(self.factor @ a)

    def _parts(self, kappa: float) -> tuple[float, float]:
        """The worst shift and stretch, in nominal deviations, from the optimality conditions in the plane."""
        if self.radius == 0:
            return 0.0, 1.0

        def at(multiplier: float) -> tuple[float, float]:
            return 0.5 / multiplier, (kappa + math.sqrt(kappa**2 + 16 * multiplier**2)) / (4 * multiplier)

        def excess(logarithm: float) -> float:
            d, w = at(math.exp(logarithm))
            return (w - 1.0) ** 2 + 2.0 * (w - 1.0 - math.log1p(w - 1.0)) + d**2 - 2.0 * self.radius

        return at(math.exp(brentq(excess, -60.0, 60.0, xtol=1e-15, rtol=1e-14)))

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array]:
        """The nominal law moved and stretched along one axis."""
        F = np.asarray(self.factor)
        if F.shape[0] == 0:
            return np.array(self.center_mean), np.array(self.center_covariance)
        shift, stretch = self._parts(kappa)
        v = F.T @ direction(F @ a)
        return self.center_mean + shift * v, self.center_covariance + (stretch**2 - 1.0) * np.outer(v, v)

    def ellipsoidal(self, kappa: Any) -> tuple[Any, Array] | None:
        """The plane's multiple of the nominal deviation, written with the largest covariance."""
        if isinstance(kappa, cp.Expression):
            return None
        shift, stretch = self._parts(kappa)
        largest = stein_root(self.radius)
        return (shift + kappa * stretch) / largest, largest**2 * self.center_covariance

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A random law, drawn towards the nominal one until the divergence is small enough."""
        F = np.asarray(self.factor)
        r = F.shape[0]
        if r == 0:
            return self.worst_member(np.zeros(self.dimension), 0.0)
        step, u = random_symmetric(r, rng), np.asarray(rng.standard_normal(r))
        t = 1.0
        while True:
            values = 1.0 + t * np.linalg.eigvalsh(step)
            spent = float(np.sum(values - 1.0 - np.log(values))) if values.min() > 0 else math.inf
            if spent + t**2 * float(u @ u) <= 2.0 * self.radius:
                return self.center_mean + t * (F.T @ u), F.T @ (np.eye(r) + t * step) @ F
            t = 0.0 if t < 1e-12 else t / 2

    def gauge(self, m: Array, S: Array) -> float:
        """The divergence."""
        F = np.asarray(self.factor)
        return stein_divergence(F, S) + 0.5 * range_norm(F, m - self.center_mean) ** 2


class _Plane(PointSet):
    """Shift and stretch that a divergence pays for."""

    def membership(self, u: cp.Expression) -> list[Any]:
        """The divergence along one axis."""
        if self.radius == 0:
            return [u == np.array([0.0, 1.0])]
        return [cp.square(u[1]) - 2.0 * cp.log(u[1]) + cp.square(u[0]) <= 2.0 * self.radius + 1.0]
