"""Covariances that data of the nominal one would hardly tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, random_symmetric, stein_divergence, stein_root
from convexnovelty.validation import Array

__all__ = ["WishartBall"]


class WishartBall(CovarianceSet):
    r"""Covariances with :math:`\tfrac12\big(\mathrm{tr}(S_0^{-1}S) - \log\det(S_0^{-1}S) - p\big) \le \rho`.

    That is the Kullback-Leibler divergence between normal laws of one mean, and per observation the deviance of a
    Wishart likelihood. With the root :math:`w \ge 1` of :math:`w^2 - 1 - 2\ln w = 2\rho`,

    .. math:: \sup_S \sqrt{a'Sa} = w\,\sqrt{a'S_0a}

    attained at :math:`S_0 + (w^2 - 1)\,S_0aa'S_0/(a'S_0a)`: in coordinates in which the nominal covariance is the
    identity the best use of the divergence is to stretch one axis. Every linear change of coordinates preserves the
    set, so that it acts on kappa alone. Where :math:`S_0` is singular the members share its range.

    Parameters
    ----------
    radius : :math:`\rho`, in nats.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "derived; the divergence is Stein's loss, James and Stein (1961)"

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A tenth of a nat."""
        return [cls(0.1)]

    def membership(self, S: cp.Expression) -> list[Any]:
        """The divergence, in coordinates in which the nominal covariance is the identity."""
        F = np.asarray(self.factor)
        r = F.shape[0]
        if r == 0 or self.radius == 0:
            return [S == self.center]
        X = cp.Variable((r, r), symmetric=True)
        return [S == F.T @ X @ F, cp.trace(X) - cp.log_det(X) <= 2.0 * self.radius + r]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation, stretched."""
        return self.tuned("radius", stein_root) * cp.norm(self.factor @ a)

    def added_deviation(self, a: cp.Expression) -> cp.Expression:
        """What the stretched axis has more."""
        root = self.tuned("radius", lambda radius: np.sqrt(stein_root(radius) ** 2 - 1.0))
        return cp.norm(root * (self.factor @ a))

    def worst_member(self, a: Array) -> Array:
        """One axis stretched."""
        F = np.asarray(self.factor)
        if F.shape[0] == 0:
            return np.array(self.center)
        v = F.T @ direction(F @ a)
        return np.asarray(self.center + (stein_root(self.radius) ** 2 - 1.0) * np.outer(v, v))

    def ellipsoidal(self) -> Array:
        """The nominal covariance, stretched in every direction."""
        return np.asarray(stein_root(self.radius) ** 2 * self.center)

    def sample(self, rng: np.random.Generator) -> Array:
        """A random matrix, drawn towards the nominal one until the divergence is small enough."""
        F = np.asarray(self.factor)
        if F.shape[0] == 0:
            return np.array(self.center)
        step = random_symmetric(F.shape[0], rng)
        t = 1.0
        while True:
            values = 1.0 + t * np.linalg.eigvalsh(step)
            if values.min() > 0 and float(np.sum(values - 1.0 - np.log(values))) <= 2.0 * self.radius:
                return np.asarray(F.T @ (np.eye(F.shape[0]) + t * step) @ F)
            t = 0.0 if t < 1e-12 else t / 2

    def gauge(self, S: Array) -> float:
        """The divergence."""
        return stein_divergence(np.asarray(self.factor), S)
