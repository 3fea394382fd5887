"""Moments of all laws near a normal one, by relative entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Counterpart, MomentSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, random_symmetric, range_norm, stein_divergence, stein_root
from convexnovelty.validation import Array

__all__ = ["KLBall"]

SERIES = 1e-4  # stretch up to which x - ln(1 + x) is summed, to the relative size of its cube


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
    hereditary = True
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
        """The nominal value and the number h(kappa) of nominal deviations.

        The number is computed: as a cone for a solver, w^2 - 1 - 2 ln w takes what a small divergence buys from sums of
        ones, and below 1e-8 nothing of it is left.
        """
        deviation = cp.norm(self.factor @ a)
        if not isinstance(kappa, cp.Expression):
            return Counterpart(
                self.center_mean @ a + self.tuned("radius", lambda rho: _support(rho, float(kappa))) * deviation, []
            )
        radius = [self.radius]

        def follow(changed: UncertaintySet) -> None:
            radius[0] = changed.radius

        self.watch("radius", follow)
        # It hangs on two numbers that change by themselves: no product of parameters says it.
        number = cp.CallbackParam(
            lambda: None if kappa.value is None else _support(radius[0], float(kappa.value)), nonneg=True, name="h"
        )
        return Counterpart(self.center_mean @ a + number * deviation, [])

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation, stretched."""
        return self.tuned("radius", stein_root) * cp.norm(self.factor @ a)

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array]:
        """The nominal law moved and stretched along one axis."""
        F = np.asarray(self.factor)
        if F.shape[0] == 0:
            return np.array(self.center_mean), np.array(self.center_covariance)
        shift, more = _parts(self.radius, kappa)
        v = F.T @ direction(F @ a)
        return self.center_mean + shift * v, self.center_covariance + more * (2.0 + more) * np.outer(v, v)

    def ellipsoidal(self, kappa: Any) -> tuple[Any, Array] | None:
        """The plane's multiple of the nominal deviation, written with the largest covariance."""
        if isinstance(kappa, cp.Expression):
            return None
        largest = stein_root(self.radius)
        return _support(self.radius, kappa) / largest, largest**2 * self.center_covariance

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


def _parts(radius: float, kappa: float) -> tuple[float, float]:
    """The worst shift, and the worst stretch less one, in nominal deviations, from the optimality conditions in the plane."""
    if radius == 0:
        return 0.0, 0.0

    def at(multiplier: float) -> tuple[float, float]:
        root = math.hypot(kappa, 4 * multiplier)
        return 0.5 / multiplier, (kappa + kappa**2 / (root + 4 * multiplier)) / (4 * multiplier)

    def excess(logarithm: float) -> float:
        d, x = at(math.exp(logarithm))
        # Near one the logarithm is a difference of what is nearly equal.
        curved = x - math.log1p(x) if x > SERIES else x**2 * (0.5 - x / 3 + x**2 / 4)
        return x**2 + 2.0 * curved + d**2 - 2.0 * radius

    return at(math.exp(brentq(excess, -60.0, 60.0, xtol=1e-15, rtol=1e-14)))


def _support(radius: float, kappa: float) -> float:
    """The number h(kappa) of nominal deviations."""
    shift, more = _parts(radius, kappa)
    return shift + kappa * (1.0 + more)
