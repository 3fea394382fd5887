"""Covariances within a nuclear distance of the nominal one."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import SolverError
from convexnovelty.uncertainty.base import CovarianceSet
from convexnovelty.uncertainty.tools import direction, random_symmetric, semidefinite_step
from convexnovelty.validation import Array

__all__ = ["NuclearBall"]

SMALL = 1e-8  # share of the largest variance below which a radius is lost in the program of a sum of singular values


class NuclearBall(CovarianceSet):
    r"""Covariances with :math:`\|S - S_0\|_* \le \rho` (the sum of the singular values) and :math:`S \succeq 0`.

    .. math:: \sup_S a'Sa = a'(S_0 + \rho I)a

    since :math:`\langle aa', \Delta\rangle \le \|aa'\|_2\|\Delta\|_* = \|a\|^2\rho`, attained at
    :math:`S_0 + \rho\,aa'/\|a\|^2`. Of the three balls of one radius it is the smallest, with the same worst case.

    Parameters
    ----------
    radius : :math:`\rho`, in squared units of the data.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "duality of the nuclear and the spectral norm, as for eq. 8 of Lanckriet, El Ghaoui and Jordan"

    def membership(self, S: cp.Expression) -> list[Any]:
        """The sum of the singular values of the difference is at most the radius.

        Raises SolverError for a radius that is next to nothing beside the largest variance.
        """
        largest, radius = float(np.diagonal(self.center).max()), self.radius
        if isinstance(radius, (int, float)) and 0 < radius < SMALL * largest:
            raise SolverError(
                f"{self!r}: its radius is {radius / largest:.0e} of the largest variance, beside which no solver knows a sum of "
                "singular values; give columns of comparable deviations, or SpectralBall, whose worst case by itself is the same",
                "thin",
            )
        return [cp.norm(S - self.center, "nuc") <= self.radius]

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
        return semidefinite_step(self.center, self.radius * rng.random() * step / np.linalg.norm(step, "nuc"))

    def gauge(self, S: Array) -> float:
        """The distance."""
        return float(np.linalg.norm(S - self.center, "nuc"))
