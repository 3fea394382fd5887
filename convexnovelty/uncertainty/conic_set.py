"""Points that satisfy constraints which the user writes in CVXPY."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import listed

__all__ = ["ConicSet"]


class ConicSet(PointSet):
    r"""Points :math:`u = c + v` where :math:`v` satisfies given constraints.

    .. math:: \sup_u w'u = w'c + \min_z\{b'z : A_v'z = w,\ A_u'z = 0,\ z \in K^*\}

    by conic duality of the compiled constraints. It is the short way to a set of one's own, where a class would be
    too much.

    Parameters
    ----------
    constraints : a function from a CVXPY vector to a list of constraints; further variables may occur.
    """

    exactness = "exact"
    basis_dependent = True
    source = "conic duality; Ben-Tal, El Ghaoui and Nemirovski, Robust Optimization, theorem 1.3.4"

    def __init__(self, constraints: Callable[[cp.Expression], Any]) -> None:
        if not callable(constraints):
            raise InputError(
                f"constraints: {constraints!r} was found; give a function from a vector to its constraints"
            )
        self.constraints = constraints

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set with an exponential cone: a bounded logarithm of a sum of exponentials, and a ball."""
        level = 1.5 + math.log(dimension / 3)  # above the logarithm at the centre in every dimension
        return [cls(lambda v: [cp.log_sum_exp(v) <= level, cp.norm(v) <= 2])]

    def membership(self, u: cp.Expression) -> list[Any]:
        """The user's constraints on the offset from the centre."""
        return listed(self.constraints(u - self.center))
