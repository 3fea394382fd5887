"""Means within any set of points around the nominal one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import Counterpart, MeanSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.box import Box
from convexnovelty.uncertainty.composite import Composite, claimed_by_parts
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.uncertainty.scenario_hull import ScenarioHull
from convexnovelty.validation import Array

__all__ = ["MeanWithin"]


class MeanWithin(Composite, MeanSet):
    r"""Means that a set of points, centred on the nominal mean, holds.

    .. math:: \sup_m a'm = \sup_{u \in U} a'u

    so that every set of points (norm ball, box, budget, polyhedron, hull of scenarios) serves as a set of means, with
    its own counterpart.

    Parameters
    ----------
    points : a PointSet.
    """

    exactness = "exact"
    rotation_invariant: Any = claimed_by_parts("rotation_invariant")
    hereditary: Any = claimed_by_parts("hereditary")
    source = "the set of points' own"
    part_names = ("points",)

    def __init__(self, points: PointSet) -> None:
        if not isinstance(points, PointSet):
            raise InputError(f"points: {points!r} was found; give a set of points, such as NormBall(1, 0.2)")
        self.points = points
        self._inherit()

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A ball, a box and a hull."""
        rows = 0.3 * np.random.default_rng(10).standard_normal((dimension + 1, dimension))
        return [cls(NormBall(2, 0.3)), cls(Box(radius=0.2)), cls(ScenarioHull(rows))]

    def _around(self, moments: Any, put: Callable[[Any, Any], Any]) -> dict[str, UncertaintySet]:
        return {"points": put(self.points, moments.mean)}

    def membership(self, m: cp.Expression) -> Any:
        """The mean is one of the points."""
        from convexnovelty.uncertainty.derived import stated

        return stated(self.points, [m])

    def support(self, a: cp.Expression) -> Counterpart | None:
        """The points' own, at a direction of the order of one: those of moments are of one over their unit.

        What is to be derived is derived of the means, of whose directions the size is known.
        """
        from convexnovelty.uncertainty.counterparts import states_support, support

        if not states_support(self.points):
            return None
        unit = float(self.unit) or 1.0
        made = support(self.points, unit * a)
        return Counterpart(made.value / unit, made.constraints)

    def worst_member(self, a: Array, S: Array) -> Array | None:
        """The worst point."""
        return self.points.worst_member(a)

    def sample(self, rng: np.random.Generator) -> Array | None:
        """A random point."""
        return self.points.sample(rng)

    def gauge(self, m: Array, S: Array) -> float | None:
        """The points' own."""
        return self.points.gauge(m)
