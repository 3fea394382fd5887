"""Multiples of displacements from the centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.algebra import Operator, bracketed, register
from convexnovelty.uncertainty.base import (
    Counterpart,
    CovarianceSet,
    MeanSet,
    MomentSet,
    PointSet,
    UncertaintySet,
    scaled,
)
from convexnovelty.uncertainty.composite import claimed_by_parts
from convexnovelty.uncertainty.delage_ye import DelageYe
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.loewner_interval import LoewnerInterval
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.mean_within import MeanWithin
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.validation import positive

__all__ = ["CovarianceDilation", "MeanDilation", "MomentDilation", "PointDilation"]


class _Dilation(Operator):
    r"""A set blown up around its centre, :math:`\{c + t(u - c) : u \in A\}`.

    .. math:: \sigma_{tA}(w) = (1 - t)\,w'c + t\,\sigma_A(w)

    Covariances stay positive semidefinite, so that a large multiple of a set of covariances loses what leaves the cone.
    """

    exactness = "exact"
    rotation_invariant: Any = claimed_by_parts("rotation_invariant")
    source = "Rockafellar, Convex Analysis, section 13"
    part_names = ("part",)
    grows_by = "multiple"

    def __init__(self, part: Any, multiple: float) -> None:
        self.part = part
        self.multiple = positive(multiple, "multiple")
        self._inherit()

    def __repr__(self) -> str:
        return f"{self.multiple:g} * {bracketed(self.part)}"

    def validate(self) -> None:
        """The multiple is above zero."""
        super().validate()
        positive(self.multiple, "multiple")

    def membership(self, *member: Any) -> list[Any]:
        """The displacement divided by the multiple is one of the part's."""
        own, context = self.parted(member)
        # The displacement is a variable: taken from the centre it would bring rounding into the part's equations.
        steps = [cp.Variable(np.shape(center), symmetric=np.ndim(center) == 2) for center in self.origin]
        tied = [block == center + step for block, center, step in zip(own, self.origin, steps, strict=True)]
        back = [center + step / self.multiple for center, step in zip(self.origin, steps, strict=True)]
        # A larger set's displacements, divided, lead to mixtures of the centre and a covariance, which are covariances.
        cone = [] if self.multiple >= 1 else [block >> 0 for block in back if len(block.shape) == 2]
        return [*tied, *cone, *self.joined(self.part, back, context)]


class _LinearDilation(_Dilation):
    """A dilation whose worst case is linear in its members, so that the part's own counterpart serves."""

    def support(self, w: cp.Expression) -> Counterpart | None:
        """The part's worst case beyond the centre, times the multiple."""
        from convexnovelty.uncertainty.counterparts import support

        if self.uses_covariance:
            return None
        made = support(self.part, w)
        centre = self.center @ w  # type: ignore[attr-defined]
        grown = scaled(self.tuned("multiple"), Counterpart(made.value - centre, made.constraints))
        return Counterpart(centre + grown.value, grown.constraints)


@register("dilation", PointSet)
class PointDilation(_LinearDilation, PointSet):
    """Points whose displacement from the centre is a multiple of a member's, ``multiple * part``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A larger and a smaller set."""
        return [cls(NormBall(2, 1.0), 1.5), cls(NormBall(1, 1.2), 0.5)]


@register("dilation", MeanSet)
class MeanDilation(_LinearDilation, MeanSet):
    """Means whose displacement from the centre is a multiple of a member's, ``multiple * part``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A larger and a smaller set."""
        return [cls(MeanMetricEllipsoid(0.4), 1.5), cls(MeanWithin(NormBall(2, 0.3)), 0.5)]


@register("dilation", CovarianceSet)
class CovarianceDilation(_Dilation, CovarianceSet):
    """Covariances whose displacement from the centre is a multiple of a member's, ``multiple * part``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A larger and a smaller set."""
        return [cls(FrobeniusBall(0.4), 1.5), cls(LoewnerInterval(0.2), 0.5)]


@register("dilation", MomentSet)
class MomentDilation(_Dilation, MomentSet):
    """Pairs of mean and covariance whose displacement from the centre is a multiple of a member's, ``multiple * part``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A larger and a smaller set."""
        return [cls(GelbrichBall(0.3), 1.5), cls(DelageYe(0.1, 1.3), 0.5)]
