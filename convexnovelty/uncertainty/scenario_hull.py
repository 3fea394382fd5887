"""The convex hull of scenarios."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.validation import Array, points

__all__ = ["ScenarioHull"]


class ScenarioHull(PointSet):
    r"""The convex hull of :math:`c + x_1, \dots, c + x_n`.

    .. math:: \sup_u w'u = w'c + \max_i w'x_i

    Parameters
    ----------
    scenarios : rows :math:`x_i`, offsets from the centre.
    """

    exactness = "exact"
    basis_dependent = True
    source = "a linear function attains its maximum over a polytope at a vertex"

    def __init__(self, scenarios: Any) -> None:
        self.scenarios = points(scenarios, "scenarios")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Signed scenarios, more than the dimension and fewer."""
        rows = np.random.default_rng(4).standard_normal((dimension + 2, dimension))
        return [cls(0.5 * rows), cls(0.5 * rows[:2])]

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.scenarios.shape[1])

    def membership(self, u: cp.Expression) -> list[Any]:
        """A mixture of the scenarios."""
        weights = cp.Variable(self.scenarios.shape[0], nonneg=True)
        return [u - self.center == self.scenarios.T @ weights, cp.sum(weights) == 1]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The worst scenario."""
        return self.center @ w + cp.max(self.scenarios @ w)

    def worst_member(self, w: Array) -> Array:
        """The worst scenario."""
        return np.asarray(self.center + self.scenarios[int(np.argmax(self.scenarios @ w))])

    def sample(self, rng: np.random.Generator) -> Array:
        """A random mixture."""
        weights = rng.dirichlet(np.full(self.scenarios.shape[0], 0.5))
        return np.asarray(self.center + weights @ self.scenarios)
