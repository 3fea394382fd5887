"""Points that share a total."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.validation import Array

__all__ = ["Simplex"]


class Simplex(PointSet):
    r"""Points with :math:`u - c \ge 0` and :math:`\sum_i (u_i - c_i) = \rho`.

    .. math:: \sup_u w'u = w'c + \rho\,\max_i w_i

    Parameters
    ----------
    radius : :math:`\rho`, the total.
    """

    exactness = "exact"
    basis_dependent = True
    source = "a linear function attains its maximum over a polytope at a vertex"

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A total below one."""
        return [cls(0.7)]

    def membership(self, u: cp.Expression) -> list[Any]:
        """Not negative, with the given total."""
        return [u - self.center >= 0, cp.sum(u - self.center) == self.radius]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The total at the largest coordinate."""
        return self.center @ w + self.tuned("radius") * cp.max(w)

    def worst_member(self, w: Array) -> Array:
        """All of the total at the largest coordinate."""
        return np.asarray(self.center + self.radius * np.eye(w.size)[int(np.argmax(w))])

    def sample(self, rng: np.random.Generator) -> Array:
        """The total in random shares."""
        return np.asarray(self.center + self.radius * rng.dirichlet(np.full(self.dimension, 0.5)))
