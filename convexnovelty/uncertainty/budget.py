"""Points of which only some coordinates may be at their worst."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import Counterpart, PointSet, UncertaintySet, convex
from convexnovelty.validation import Array, nonnegative, vector

__all__ = ["Budget"]


class Budget(PointSet):
    r"""Points with :math:`u_i = c_i + d_iz_i,\ |z_i| \le 1,\ \sum_i|z_i| \le \Gamma`.

    .. math:: \sup_u w'u = w'c + \text{the sum of the } \Gamma \text{ largest } d_i|w_i|

    the last one in part where :math:`\Gamma` is no whole number; as a program
    :math:`\min_{q\ge0} \Gamma q + \sum_i (d_i|w_i| - q)_+`.

    Parameters
    ----------
    budget : :math:`\Gamma`, how many coordinates may deviate fully.
    half_widths : :math:`d`; ones by default.
    """

    exactness = "exact"
    basis_dependent = True
    source = "Bertsimas and Sim (2004), The price of robustness"

    def __init__(self, budget: float = 1.0, half_widths: Any = None) -> None:
        self.budget = nonnegative(budget, "budget")
        self.half_widths = None if half_widths is None else vector(half_widths, "half_widths")
        if self.half_widths is not None and self.half_widths.min() < 0:
            raise InputError(f"half_widths: {self.half_widths.min():.6g} was found; give numbers that are not negative")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A whole and a broken budget."""
        return [cls(1.0), cls(1.5, np.linspace(0.2, 1.0, dimension))]

    def validate(self) -> None:
        """The budget is not negative."""
        nonnegative(self.budget, "budget")

    @property
    def size(self) -> int | None:
        """The number of half-widths, if any were given."""
        return None if self.half_widths is None else int(self.half_widths.size)

    @property
    def _widths(self) -> Array:
        return np.ones(self.dimension) if self.half_widths is None else self.half_widths

    def membership(self, u: cp.Expression) -> list[Any]:
        """Deviations within their bounds, and within the budget together."""
        z = cp.Variable(self.dimension)
        inside = [cp.norm(z, "inf") <= 1, cp.norm(z, 1) <= self.budget]
        return [u - self.center == cp.multiply(self._widths, z), *inside]

    def support(self, w: cp.Expression) -> Counterpart:
        """The largest deviations, as many as the budget pays for."""
        q = cp.Variable(nonneg=True)
        above = cp.sum(cp.pos(cp.multiply(self._widths, cp.abs(w)) - q))
        return Counterpart(self.center @ w + self.tuned("budget") * convex(q) + above)

    def worst_member(self, w: Array) -> Array:
        """The largest deviations first, until the budget is spent."""
        gains = self._widths * np.abs(w)
        order = np.argsort(-gains, kind="stable")
        z = np.zeros(w.size)
        z[order] = np.clip(self.budget - np.arange(w.size), 0.0, 1.0)
        return np.asarray(self.center + self._widths * z * np.where(w < 0, -1.0, 1.0))

    def sample(self, rng: np.random.Generator) -> Array:
        """Random deviations, shrunk into the budget."""
        z = rng.uniform(-1.0, 1.0, self.dimension)
        z *= min(1.0, self.budget / float(np.abs(z).sum()))
        return np.asarray(self.center + self._widths * z)
