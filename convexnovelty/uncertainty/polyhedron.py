"""Points that satisfy linear inequalities."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Counterpart, PointSet, UncertaintySet, convex
from convexnovelty.validation import points, vector

__all__ = ["Polyhedron"]


class Polyhedron(PointSet):
    r"""Points with :math:`A(u - c) \le b`.

    .. math:: \sup_u w'u = w'c + \min_{y \ge 0}\{b'y : A'y = w\}

    by duality of linear programming: one multiplier for every row, all of them in the objective.

    Parameters
    ----------
    A : of shape (rows, p).
    b : of length rows.

    The set must be bounded and not empty, which is found out when it is used.
    """

    exactness = "exact"
    basis_dependent = True
    source = "duality of linear programming; Ben-Tal and Nemirovski (1999)"

    def __init__(self, A: Any, b: Any) -> None:
        self.A = points(A, "A")
        self.b = vector(b, "b", self.A.shape[0])

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A simplex-like body that is not symmetric, with more rows than it needs."""
        A = np.vstack([np.eye(dimension), -np.ones((1, dimension)), np.tri(dimension)])
        return [cls(A, np.concatenate([np.full(dimension, 0.4), [0.6], np.full(dimension, 5.0)]))]

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.A.shape[1])

    def membership(self, u: cp.Expression) -> list[Any]:
        """All the inequalities."""
        return [self.A @ (u - self.center) <= self.b]

    def support(self, w: cp.Expression) -> Counterpart:
        """The dual linear program."""
        from convexnovelty.uncertainty.derived import membership_of

        # An empty or unbounded polyhedron makes the dual program unbounded or infeasible without a word.
        membership_of(self.plain())
        y = cp.Variable(self.b.size, nonneg=True)
        return Counterpart(self.center @ w + convex(self.b @ y), [self.A.T @ y == w])
