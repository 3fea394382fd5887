"""Points between two bounds that need not be centred."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import EmptySetError
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.validation import Array, vector

__all__ = ["Interval"]


class Interval(PointSet):
    r"""Points with :math:`c + l \le u \le c + h`, coordinate by coordinate.

    .. math:: \sup_u w'u = w'c + h'w_+ - l'w_-

    with the positive and negative parts :math:`w_+, w_-` of the direction. Around the origin these are plain bounds.

    Parameters
    ----------
    lower, upper : :math:`l` and :math:`h`, offsets from the centre.
    """

    exactness = "exact"
    basis_dependent = True
    source = "definition"

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower = vector(lower, "lower")
        self.upper = vector(upper, "upper", self.lower.size)
        worst = int(np.argmin(self.upper - self.lower))
        if self.upper[worst] < self.lower[worst]:
            raise EmptySetError(
                f"Interval is empty: in coordinate {worst} the lower end {self.lower[worst]:.6g} lies above the upper "
                f"end {self.upper[worst]:.6g}"
            )

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Bounds that do not hold the centre in the middle, nor inside at all in one coordinate."""
        return [cls(np.linspace(-1.0, 0.2, dimension), np.linspace(0.1, 1.0, dimension))]

    @property
    def size(self) -> int:
        """The number of bounds."""
        return int(self.lower.size)

    def membership(self, u: cp.Expression) -> list[Any]:
        """Between the bounds."""
        return [u - self.center >= self.lower, u - self.center <= self.upper]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The middle's value and the half-widths against the sizes of the coordinates."""
        middle, half = (self.upper + self.lower) / 2, (self.upper - self.lower) / 2
        return (self.center + middle) @ w + half @ cp.abs(w)

    def worst_member(self, w: Array) -> Array:
        """The corner that the signs name."""
        return np.asarray(self.center + np.where(w < 0, self.lower, self.upper))

    def sample(self, rng: np.random.Generator) -> Array:
        """Uniform over the interval."""
        return np.asarray(self.center + rng.uniform(self.lower, self.upper))
