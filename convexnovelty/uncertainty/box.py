"""Points whose coordinates are bounded one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import largest_ratio
from convexnovelty.validation import Array, vector

__all__ = ["Box"]


class Box(PointSet):
    r"""Points with :math:`|u_i - c_i| \le \rho\,d_i`.

    .. math:: \sup_u w'u = w'c + \rho\sum_i d_i|w_i|

    Parameters
    ----------
    half_widths : :math:`d`; ones by default.
    radius : :math:`\rho`, which multiplies all of them.
    """

    exactness = "exact"
    basis_dependent = True
    source = "Soyster (1973); Ben-Tal and Nemirovski (1998)"

    def __init__(self, half_widths: Any = None, radius: float = 1.0) -> None:
        super().__init__(radius)
        self.half_widths = None if half_widths is None else vector(half_widths, "half_widths")
        if self.half_widths is not None and self.half_widths.min() < 0:
            raise InputError(f"half_widths: {self.half_widths.min():.6g} was found; give numbers that are not negative")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A cube, and a box that is flat in one coordinate."""
        return [cls(radius=0.5), cls(np.linspace(0.0, 1.0, dimension), 0.5)]

    @property
    def size(self) -> int | None:
        """The number of half-widths, if any were given."""
        return None if self.half_widths is None else int(self.half_widths.size)

    @property
    def _widths(self) -> Array:
        return np.ones(self.dimension) if self.half_widths is None else self.half_widths

    def membership(self, u: cp.Expression) -> list[Any]:
        """Each coordinate is within its bound."""
        return [cp.abs(u - self.center) <= self.radius * self._widths]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The centre's value and the half-widths against the sizes of the coordinates."""
        return self.center @ w + self.tuned("radius") * (self._widths @ cp.abs(w))

    def worst_member(self, w: Array) -> Array:
        """The corner that the signs name."""
        return np.asarray(self.center + self.radius * self._widths * np.where(w < 0, -1.0, 1.0))

    def sample(self, rng: np.random.Generator) -> Array:
        """Uniform over the box."""
        return np.asarray(self.center + self.radius * self._widths * rng.uniform(-1.0, 1.0, self.dimension))

    def gauge(self, u: Array) -> float:
        """The largest offset in half-widths."""
        return largest_ratio(u - self.center, self._widths, self.center)
