"""Means within an ellipsoid whose shape is the covariance of the same distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import MeanSet
from convexnovelty.uncertainty.tools import direction, range_factor, range_norm
from convexnovelty.validation import Array

__all__ = ["MeanEllipsoid"]


class MeanEllipsoid(MeanSet):
    r"""Means with :math:`(m - m_0)'S^{-1}(m - m_0) \le \nu^2` for the covariance :math:`S` of the same distribution.

    .. math:: \sup_m a'm = a'm_0 + \nu\sqrt{a'Sa}, \qquad m^* = m_0 + \nu\,Sa/\sqrt{a'Sa}

    so that beside any set of covariances it adds :math:`\nu` to :math:`\kappa`. Where :math:`S` is singular the mean
    stays in its range: the constraint is the semidefinite one,
    :math:`\begin{pmatrix} S & m - m_0\\ \cdot & \nu^2\end{pmatrix} \succeq 0`. Erratum: the multiplier printed below
    equation 6 should read :math:`\lambda = \sqrt{a'Sa}/(2\nu)`.

    Parameters
    ----------
    radius : :math:`\nu`, a number of standard deviations.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "Lanckriet, El Ghaoui and Jordan, Robust novelty detection with single-class MPM, eqs 4-6"

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """The ellipsoid as a semidefinite constraint in mean and covariance."""
        if self.radius == 0:
            return [m == self.center]  # the semidefinite constraint would hold no interior point
        # In a unit of its own, or the square of a small radius would be lost beside variances of one; in steps, so that a
        # radius which changes a little changes the right-hand side alone.
        size = 1024.0 ** round(np.log2(self.radius) / 10)
        d = cp.reshape(m - self.center, (m.size, 1), order="F") / (size * self.unit)
        corner = np.array([[(self.radius / size) ** 2]])
        return [cp.bmat([[S / self.unit**2, d], [d.T, corner]]) >> 0]

    @property
    def deviations(self) -> Any:
        """The radius."""
        return self.tuned("radius")

    def worst_member(self, a: Array, S: Array) -> Array:
        """The end of the ellipsoid in the direction."""
        deviation = float(np.sqrt(max(float(a @ S @ a), 0.0)))
        return np.asarray(self.center + (self.radius * (S @ a) / deviation if deviation > 0 else 0.0))

    def sample(self, rng: np.random.Generator, S: Array | None = None) -> Array:
        """A point of the ellipsoid of ``S``, the nominal covariance by default."""
        factor = range_factor(self.covariance if S is None else S)
        u = rng.random() * direction(rng.standard_normal(factor.shape[0]))
        return np.asarray(self.center + self.radius * (factor.T @ u))

    def gauge(self, m: Array, S: Array) -> float:
        """The number of standard deviations between the means."""
        return range_norm(range_factor(S), m - self.center)
