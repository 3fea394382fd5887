"""Members of two sets at once."""

from __future__ import annotations

from typing import Any

from convexnovelty.uncertainty.algebra import Operator, alike, register
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.composite import claimed_by_parts
from convexnovelty.uncertainty.delage_ye import DelageYe
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.loewner_interval import LoewnerInterval
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.mean_within import MeanWithin
from convexnovelty.uncertainty.norm_ball import NormBall

__all__ = ["CovarianceIntersection", "MeanIntersection", "MomentIntersection", "PointIntersection"]


class _Intersection(Operator):
    r"""What two sets have in common.

    .. math:: \sigma_{A\cap B}(w) = \min_{w_1+w_2=w} \sigma_A(w_1) + \sigma_B(w_2)

    where the sets meet in their relative interiors: the infimal convolution, which the derived counterpart writes out.
    The smaller of the two worst cases is only a bound, and no convex one.
    """

    exactness = "exact"
    rotation_invariant: Any = claimed_by_parts("rotation_invariant")
    source = "Rockafellar, Convex Analysis, corollary 16.4.1; Ben-Tal, den Hertog and Vial (2015)"
    part_names = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        alike("&", first, second)
        self.first, self.second = first, second
        self._inherit()

    def __repr__(self) -> str:
        return f"({self.first!r} & {self.second!r})"

    def membership(self, *member: Any) -> list[Any]:
        """Both memberships."""
        own, context = self.parted(member)
        return [*self.joined(self.first, own, context), *self.joined(self.second, own, context)]


@register("intersection", PointSet)
class PointIntersection(_Intersection, PointSet):
    """Points that are members of two sets, ``first & second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(NormBall(2, 1.0), NormBall(1, 1.2))]


@register("intersection", MeanSet)
class MeanIntersection(_Intersection, MeanSet):
    """Means that are members of two sets, ``first & second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(MeanMetricEllipsoid(0.4), MeanWithin(NormBall(2, 0.3)))]


@register("intersection", CovarianceSet)
class CovarianceIntersection(_Intersection, CovarianceSet):
    """Covariances that are members of two sets, ``first & second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(FrobeniusBall(0.4), LoewnerInterval(0.2))]


@register("intersection", MomentSet)
class MomentIntersection(_Intersection, MomentSet):
    """Pairs of mean and covariance that are members of two sets, ``first & second``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Two sets neither of which holds the other."""
        return [cls(GelbrichBall(0.3), DelageYe(0.1, 1.3))]
