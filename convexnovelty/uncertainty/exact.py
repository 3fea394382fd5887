"""No uncertainty at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import MomentSet
from convexnovelty.validation import Array

__all__ = ["Exact"]


class Exact(MomentSet):
    r"""The nominal mean and covariance alone.

    :math:`m_0'a + \kappa\sqrt{a'S_0a}`: what a method computes when it is told of no uncertainty.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "Marshall and Olkin; Lanckriet, El Ghaoui and Jordan, eq. 1"

    def __init__(self) -> None:
        pass

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """Both moments equal the nominal ones."""
        return [m == self.center_mean, S == self.center_covariance]

    def worst_loss(self, a: cp.Expression, kappa: Any) -> cp.Expression:
        """The nominal loss."""
        return self.center_mean @ a + kappa * self.worst_deviation(a)

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal standard deviation."""
        return cp.norm(self.factor @ a)

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array]:
        """The only member."""
        return np.array(self.center_mean), np.array(self.center_covariance)

    def ellipsoidal(self, kappa: Any) -> tuple[Any, Array]:
        """Kappa itself and the nominal covariance."""
        return kappa, np.array(self.center_covariance)

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """The only member."""
        return self.worst_member(np.zeros(self.dimension), 0.0)
