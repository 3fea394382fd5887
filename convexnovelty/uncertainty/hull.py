"""The convex hull of two sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.cones import svec_map
from convexnovelty.errors import InputError
from convexnovelty.membership import as_counterpart
from convexnovelty.uncertainty.algebra import Operator, alike, register
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

__all__ = ["CovarianceSetHull", "MeanSetHull", "MomentSetHull", "PointSetHull"]


class _Hull(Operator):
    r"""The convex hull of the union of two sets.

    .. math:: \sigma_{A\cup B}(w) = \max\{\sigma_A(w), \sigma_B(w)\}

    A member is a sum of :math:`\lambda` times a member of one and :math:`1-\lambda` times one of the other, which the
    compiled form of both memberships states without a product of variables.
    """

    exactness = "exact"
    rotation_invariant: Any = claimed_by_parts("rotation_invariant")
    source = "Rockafellar, Convex Analysis, corollary 16.5.1"
    part_names = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        alike("|", first, second)
        for part in (first, second):
            if getattr(part, "uses_covariance", False):
                raise InputError(
                    f"hull: {part!r} depends on the covariance, and mixtures of its means and others are not convex in mean "
                    "and covariance together; take the hull of pairs, (A * C) | (B * C), which holds them all"
                )
        self.first, self.second = first, second
        self._inherit()

    def __repr__(self) -> str:
        return f"({self.first!r} | {self.second!r})"

    def membership(self, *member: Any) -> list[Any]:
        """A mixture of a member of either set."""
        from convexnovelty.uncertainty.derived import membership_of

        share = cp.Variable(value=0.5)
        own, _ = self.parted(member)
        flat = cp.hstack([_flat(block) for block in own])
        one, first = membership_of(self.first.plain()).multiple(share)
        other, second = membership_of(self.second.plain()).multiple(1 - share)
        return [flat == one + other, share >= 0, share <= 1, *first, *second]


class _LinearHull(_Hull):
    """A hull whose worst case is linear in its members."""

    def support(self, w: cp.Expression) -> Counterpart:
        """The worse of the two worst cases."""
        from convexnovelty.uncertainty.counterparts import support

        return _worse(support(self.first, w), support(self.second, w))


class _CovarianceHull(_Hull):
    """A hull of covariances: the variance is linear in them, and its root grows with it."""

    def worst_deviation(self, a: cp.Expression) -> Counterpart:
        """The worse of the two worst deviations."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        return _worse(worst_deviation(self.first, a), worst_deviation(self.second, a))


def _worse(one: Counterpart, other: Counterpart) -> Counterpart:
    return Counterpart(cp.maximum(one.value, other.value), [*one.constraints, *other.constraints])


def _flat(block: Any) -> Any:
    if len(block.shape) == 1:
        return block
    return svec_map(block.shape[0]).T @ cp.vec(block, order="F")


@register("hull", PointSet)
class PointSetHull(_LinearHull, PointSet):
    """Points that are mixtures of members of two sets, ``first | second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(NormBall(2, 1.0), NormBall(1, 1.2))]


@register("hull", MeanSet)
class MeanSetHull(_LinearHull, MeanSet):
    """Means that are mixtures of members of two sets, ``first | second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(MeanMetricEllipsoid(0.4), MeanWithin(NormBall(2, 0.3)))]


@register("hull", CovarianceSet)
class CovarianceSetHull(_CovarianceHull, CovarianceSet):
    """Covariances that are mixtures of members of two sets, ``first | second``."""

    @property
    def states_deviation(self) -> bool:
        """Always."""
        return True

    def added_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The more of what the parts add."""
        one, other = (part.added_deviation(a) for part in (self.first, self.second))
        return None if one is None or other is None else _worse(as_counterpart(one), as_counterpart(other))

    def worst_member(self, a: Array) -> Array:
        """The worse of the two worst members."""
        from convexnovelty.uncertainty.adversary import worst_member

        both = [np.asarray(worst_member(part, a)) for part in (self.first, self.second)]
        return max(both, key=lambda S: float(a @ S @ a))

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(FrobeniusBall(0.4), LoewnerInterval(0.2))]


@register("hull", MomentSet)
class MomentSetHull(_Hull, MomentSet):
    """Pairs of mean and covariance that are mixtures of members of two sets, ``first | second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(GelbrichBall(0.3), DelageYe(0.1, 1.3))]
