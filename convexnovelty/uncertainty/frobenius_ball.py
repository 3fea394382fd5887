"""Covariances within a Frobenius distance of the nominal one."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet
from convexnovelty.uncertainty.tools import direction, random_symmetric, semidefinite_step
from convexnovelty.validation import Array

__all__ = ["FrobeniusBall"]


class FrobeniusBall(CovarianceSet):
    r"""Covariances with :math:`\|S - S_0\|_F \le \rho,\ S \succeq 0`.

    .. math:: \sup_S a'Sa = a'(S_0 + \rho I)a

    since :math:`\langle aa', \Delta\rangle \le \rho\|aa'\|_F = \rho\|a\|^2`, attained at
    :math:`S_0 + \rho\,aa'/\|a\|^2`, which is positive semidefinite, so that demanding this of the members changes
    nothing. Erratum: below equation 8 the paper names :math:`\Delta = I` as the maximiser, whose norm is
    :math:`\sqrt n`.

    Parameters
    ----------
    radius : :math:`\rho`, in squared units of the data.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "Lanckriet, El Ghaoui and Jordan, Robust novelty detection with single-class MPM, eqs 7-8"

    def membership(self, S: cp.Expression) -> list[Any]:
        """The distance is at most the radius."""
        return [cp.norm(S - self.center, "fro") <= self.radius]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation with the radius added to each variance."""
        return cp.norm(cp.hstack([self.factor @ a, self.tuned("radius", np.sqrt) * a]))

    def added_deviation(self, a: cp.Expression) -> cp.Expression:
        """The root of the radius times the length of the direction."""
        return cp.norm(self.tuned("radius", np.sqrt) * a)

    def worst_member(self, a: Array) -> Array:
        """The nominal covariance moved along the direction."""
        d = direction(a)
        return np.asarray(self.center + self.radius * np.outer(d, d))

    def ellipsoidal(self) -> Array:
        """The nominal covariance with the radius added to each variance."""
        return np.asarray(self.center + self.radius * np.eye(self.dimension))

    def sample(self, rng: np.random.Generator) -> Array:
        """A step of random length towards a random symmetric matrix, shortened where it would leave the cone."""
        step = random_symmetric(self.dimension, rng)
        return semidefinite_step(self.center, self.radius * rng.random() * step / np.linalg.norm(step))

    def gauge(self, S: Array) -> float:
        """The distance."""
        return float(np.linalg.norm(S - self.center))
