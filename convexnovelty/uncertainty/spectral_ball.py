"""Covariances within a spectral distance of the nominal one."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet
from convexnovelty.uncertainty.tools import random_symmetric, semidefinite_step
from convexnovelty.validation import Array

__all__ = ["SpectralBall"]


class SpectralBall(CovarianceSet):
    r"""Covariances with :math:`-\rho I \preceq S - S_0 \preceq \rho I,\ S \succeq 0`.

    .. math:: \sup_S a'Sa = a'(S_0 + \rho I)a

    since :math:`a'\Delta a \le \rho\|a\|^2`, attained by :math:`S_0 + \rho I` for every direction at once: a larger
    set than the Frobenius ball of the same radius, with the same worst case.

    Parameters
    ----------
    radius : :math:`\rho`, in squared units of the data.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "Lanckriet, El Ghaoui and Jordan, Robust novelty detection with single-class MPM, eq. 8, for another norm"

    def membership(self, S: cp.Expression) -> list[Any]:
        """No eigenvalue of the difference exceeds the radius."""
        identity = np.eye(self.dimension)
        return [self.center + self.radius * identity - S >> 0, S - self.center + self.radius * identity >> 0]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation with the radius added to each variance."""
        return cp.norm(cp.hstack([self.factor @ a, self.tuned("radius", np.sqrt) * a]))

    def added_deviation(self, a: cp.Expression) -> cp.Expression:
        """The root of the radius times the length of the direction."""
        return cp.norm(self.tuned("radius", np.sqrt) * a)

    def worst_member(self, a: Array) -> Array:
        """The largest member, the same for every direction."""
        return np.asarray(self.center + self.radius * np.eye(self.dimension))

    def ellipsoidal(self) -> Array:
        """The largest member."""
        return np.asarray(self.center + self.radius * np.eye(self.dimension))

    def sample(self, rng: np.random.Generator) -> Array:
        """A step of random length towards a random symmetric matrix, shortened where it would leave the cone."""
        step = random_symmetric(self.dimension, rng)
        return semidefinite_step(self.center, self.radius * rng.random() * step / np.linalg.norm(step, 2))

    def gauge(self, S: Array) -> float:
        """The distance."""
        return float(np.linalg.norm(S - self.center, 2))
