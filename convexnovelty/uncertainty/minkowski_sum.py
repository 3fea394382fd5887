"""Sums of displacements from the centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.algebra import Operator, adds, alike, hypotenuse, moved_above, register
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.composite import claimed_by_parts
from convexnovelty.uncertainty.delage_ye import DelageYe
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.loewner_interval import LoewnerInterval
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.mean_within import MeanWithin
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.validation import Array

__all__ = ["CovarianceSum", "MeanSum", "MomentSum", "PointSum"]


class _Sum(Operator):
    r"""The Minkowski sum of displacements, :math:`\{c + (u - c) + (v - c) : u \in A,\ v \in B\}`.

    .. math:: \sigma_{A+B}(w) = \sigma_A(w) + \sigma_B(w) - w'c

    For covariances the worst variances add in this way where the worst members of both sets are at least the centre;
    the cone can only make the worst case smaller, which the derived counterpart takes into account.
    """

    exactness = "exact"
    rotation_invariant: Any = claimed_by_parts("rotation_invariant")
    source = "Rockafellar, Convex Analysis, section 13"
    part_names = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        alike("+", first, second)
        self.first, self.second = first, second
        self._inherit()

    def __repr__(self) -> str:
        return f"({self.first!r} + {self.second!r})"

    def membership(self, *member: Any) -> list[Any]:
        """A member of the first set, and one of the second that makes up the rest."""
        own, context = self.parted(member)
        one, other = self.fresh(), self.fresh()
        blocks = zip(own, one, other, self.origin, strict=True)
        tied = [block == u + v - center for block, u, v, center in blocks]
        return [*tied, *self.joined(self.first, one, context), *self.joined(self.second, other, context)]


class _LinearSum(_Sum):
    """A sum whose worst case is linear in its members, so that the parts' own counterparts add."""

    def support(self, w: cp.Expression) -> Counterpart | None:
        """The sum of the parts' worst cases, the centre counted once."""
        from convexnovelty.uncertainty.counterparts import support

        if self.uses_covariance:
            return None
        one, other = support(self.first, w), support(self.second, w)
        value = one.value + other.value - self.center @ w  # type: ignore[attr-defined]
        return Counterpart(value, [*one.constraints, *other.constraints])


@register("sum", PointSet)
class PointSum(_LinearSum, PointSet):
    """Points that are displaced from the centre as a member of either set is, ``first + second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets of different shapes."""
        return [cls(NormBall(2, 1.0), NormBall(1, 1.2))]


@register("sum", MeanSet)
class MeanSum(_LinearSum, MeanSet):
    """Means that are displaced from the centre as a member of either set is, ``first + second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets of different shapes."""
        return [cls(MeanMetricEllipsoid(0.4), MeanWithin(NormBall(2, 0.3)))]


@register("sum", CovarianceSet)
class CovarianceSum(_Sum, CovarianceSet):
    r"""Covariances that are displaced from the centre as a member of either set is, ``first + second``.

    Where the worst members of one part lie nowhere below the centre, a worst member of the other and what they have more are a
    covariance together, so that :math:`\sup_S a'Sa` is the other's supremum and the square that the one adds.
    """

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The norm of one part's worst deviation and of what the other adds, where one of the two classes says what that is."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        for part, other in self._ordered():
            if (added := other.added_deviation(a)) is not None:
                return hypotenuse(worst_deviation(part, a), added)
        return None

    @property
    def states_deviation(self) -> bool:
        """Where one of the parts states what it adds."""
        return adds(self.first) or adds(self.second)

    def added_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The norm of what both parts add."""
        one, other = (part.added_deviation(a) for part in (self.first, self.second))
        return None if one is None or other is None else hypotenuse(one, other)

    def worst_member(self, a: Array) -> Array | None:
        """A worst member of one part, displaced as that of the other is."""
        from convexnovelty.uncertainty.adversary import worst_member

        for part, other in self._ordered():
            if (more := moved_above(other, a)) is not None:
                return np.asarray(worst_member(part, a) + more)
        return None

    def _ordered(self) -> list[tuple[Any, Any]]:
        """The parts in both orders."""
        return [(self.first, self.second), (self.second, self.first)]

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets of different shapes."""
        return [cls(FrobeniusBall(0.4), LoewnerInterval(0.2))]


@register("sum", MomentSet)
class MomentSum(_Sum, MomentSet):
    """Pairs of mean and covariance that are displaced from the centre as a member of either set is, ``first + second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets of different shapes."""
        return [cls(GelbrichBall(0.3), DelageYe(0.1, 1.3))]
