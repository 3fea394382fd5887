"""No uncertainty in the mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import MeanSet
from convexnovelty.validation import Array

__all__ = ["ExactMean"]


class ExactMean(MeanSet):
    r"""The nominal mean alone.

    :math:`\sup_m a'm = a'm_0`. It is the unit of the product on the side of the mean.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    source = "definition"

    def __init__(self) -> None:
        pass

    def membership(self, m: cp.Expression) -> list[Any]:
        """The mean equals the nominal one."""
        return [m == self.center]

    def support(self, a: cp.Expression) -> cp.Expression:
        """The nominal value."""
        return self.center @ a

    @property
    def deviations(self) -> float:
        """No standard deviation."""
        return 0.0

    def worst_member(self, a: Array, S: Array) -> Array:
        """The only member."""
        return np.array(self.center)

    def sample(self, rng: np.random.Generator) -> Array:
        """The only member."""
        return np.array(self.center)
