"""No uncertainty in the covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet
from convexnovelty.validation import Array

__all__ = ["ExactCovariance"]


class ExactCovariance(CovarianceSet):
    r"""The nominal covariance alone.

    :math:`\sup_S \sqrt{a'Sa} = \|F a\|` with a factor :math:`F'F = S_0`. It is the unit of the product on the side of
    the covariance.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "definition"

    def __init__(self) -> None:
        pass

    def membership(self, S: cp.Expression) -> list[Any]:
        """The covariance equals the nominal one."""
        return [S == self.center]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal standard deviation."""
        return cp.norm(self.factor @ a)

    def worst_member(self, a: Array) -> Array:
        """The only member."""
        return np.array(self.center)

    def ellipsoidal(self) -> Array:
        """The nominal covariance."""
        return np.array(self.center)

    def sample(self, rng: np.random.Generator) -> Array:
        """The only member."""
        return np.array(self.center)
