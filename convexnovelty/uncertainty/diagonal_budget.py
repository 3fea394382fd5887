"""Covariances of which only some variances may be at their worst."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, UncertaintySet, convex
from convexnovelty.uncertainty.tools import semidefinite_step
from convexnovelty.validation import Array, nonnegative, vector

__all__ = ["DiagonalBudget"]


class DiagonalBudget(CovarianceSet):
    r"""Covariances :math:`S_0 + \mathrm{diag}(\rho\,d_iz_i)` with :math:`|z_i| \le 1`, :math:`\sum|z_i| \le \Gamma`.

    .. math:: \sup_S a'Sa = a'S_0a + \text{the sum of the } \Gamma \text{ largest } \rho\,d_ia_i^2

    and, since a square root of a supremum is no convex program as it stands, the deviation is the least :math:`t` with
    :math:`a'S_0a/t + \Gamma q + \sum_i(\rho d_ir_i - q)_+ \le t` and :math:`r_i \ge a_i^2/t`.

    Parameters
    ----------
    budget : :math:`\Gamma`, how many variances may deviate fully.
    radius : :math:`\rho`, which multiplies all half-widths.
    half_widths : :math:`d`, in squared units of the data; the nominal variances by default.
    """

    exactness = "exact"
    basis_dependent = True
    source = "Bertsimas and Sim (2004), The price of robustness, for variances"

    def __init__(self, budget: float = 1.0, radius: float = 0.5, half_widths: Any = None) -> None:
        super().__init__(radius)
        self.budget = nonnegative(budget, "budget")
        self.half_widths = None if half_widths is None else vector(half_widths, "half_widths")
        if self.half_widths is not None and self.half_widths.min() < 0:
            raise InputError(f"half_widths: {self.half_widths.min():.6g} was found; give numbers that are not negative")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A whole and a broken budget."""
        return [cls(1.0, 0.5), cls(1.5, 0.3, np.linspace(0.2, 1.0, dimension))]

    def validate(self) -> None:
        """Neither number is negative."""
        super().validate()
        nonnegative(self.budget, "budget")

    @property
    def size(self) -> int | None:
        """The number of half-widths, if any were given."""
        return None if self.half_widths is None else int(self.half_widths.size)

    @property
    def _widths(self) -> Array:
        return np.maximum(np.diag(self.center), 0.0) if self.half_widths is None else self.half_widths

    @property
    def _unit_of_widths(self) -> float:
        """The largest half-width, in variances of its own column where there is one, and in all of them otherwise."""
        variances = np.maximum(np.diag(self.center), 0.0)
        own = variances > 0
        shares = self._widths[own] / variances[own]
        if shares.any():
            return float(shares.max())
        return float(self._widths.max() / (variances.max() or 1.0)) or 1.0

    def membership(self, S: cp.Expression) -> list[Any]:
        """The difference is diagonal, within its bounds, and within the budget together."""
        z = cp.Variable(self.dimension)
        inside = [cp.norm(z, "inf") <= self.radius, cp.norm(z, 1) <= self.budget * self.radius]
        return [S == self.center + cp.diag(cp.multiply(self._widths, z)), *inside]

    def worst_deviation(self, a: cp.Expression) -> Counterpart:
        """The least level whose square pays for the largest variances."""
        level, q, r = cp.Variable(), cp.Variable(nonneg=True), cp.Variable(self.dimension)
        # Each step holds its own width, so that coordinates of very different units are of one size, and counts in the unit
        # in which that is the level's, whether the nominal variances or the steps decide it.
        unit = 1.0 / max(1.0 / self._unit_of_widths, self.radius)
        roots = np.sqrt(self._widths / unit)
        steps = cp.hstack([cp.quad_over_lin(root * a[i], level) for i, root in enumerate(roots)])
        largest = cp.sum(cp.pos(self.tuned("radius", lambda radius: radius * unit) * r - q))
        paid = cp.quad_over_lin(self.factor @ a, level) + self.tuned("budget") * q + largest
        return Counterpart(convex(level), [paid <= level, steps <= r])

    def worst_member(self, a: Array) -> Array:
        """The largest variances first, until the budget is spent."""
        gains = self._widths * (a / (np.abs(a).max() or 1.0)) ** 2
        z = np.zeros(a.size)
        z[np.argsort(-gains, kind="stable")] = np.clip(self.budget - np.arange(a.size), 0.0, 1.0)
        return np.asarray(self.center + self.radius * np.diag(self._widths * z))

    def sample(self, rng: np.random.Generator) -> Array:
        """Random changes of the variances, shrunk into the budget and the cone."""
        z = rng.uniform(-1.0, 1.0, self.dimension)
        z *= min(1.0, self.budget / float(np.abs(z).sum()))
        return semidefinite_step(self.center, self.radius * np.diag(self._widths * z))
