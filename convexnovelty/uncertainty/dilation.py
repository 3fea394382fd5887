"""Multiples of displacements from the centre."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import RecompilationError
from convexnovelty.uncertainty.algebra import Operator, adds, bracketed, hypotenuse, moved_above, register
from convexnovelty.uncertainty.base import (
    Counterpart,
    CovarianceSet,
    MeanSet,
    MomentSet,
    PointSet,
    UncertaintySet,
    scaled,
)
from convexnovelty.uncertainty.bures_ball import BuresBall
from convexnovelty.uncertainty.composite import claimed_by_parts
from convexnovelty.uncertainty.delage_ye import DelageYe
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.loewner_interval import LoewnerInterval
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.mean_within import MeanWithin
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.validation import Array, positive

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
    r"""Covariances whose displacement from the centre is a multiple of a member's, ``multiple * part``.

    .. math:: \sup_S a'Sa = (1 - t)\,a'S_0a + t \sup_{S \in A} a'Sa

    for multiples :math:`t` up to one, which lead to mixtures of a member and the centre, and for larger ones where a worst
    member of the part lies nowhere below the centre. Elsewhere the cone decides, and the counterpart is derived.
    """

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The norm of the nominal deviation and of what the multiple adds, or of the shares of centre and part."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        nominal = self.factor @ a
        if (added := self.added_deviation(a)) is not None:
            return hypotenuse(cp.norm(nominal), added)
        if self.multiple > 1:
            return None
        self.watch("multiple", _require_mixture)
        rest = self.tuned("multiple", lambda multiple: math.sqrt(max(1.0 - multiple, 0.0)))
        return hypotenuse(
            cp.norm(rest * nominal), scaled(self.tuned("multiple", math.sqrt), worst_deviation(self.part, a))
        )

    @property
    def states_deviation(self) -> bool:
        """For mixtures with the centre, and where the part states what it adds."""
        return self.multiple <= 1 or adds(self.part)

    def added_deviation(self, a: cp.Expression) -> Counterpart | None:
        """What the part adds, times the root of the multiple."""
        added = self.part.added_deviation(a)
        return None if added is None else scaled(self.tuned("multiple", math.sqrt), added)

    def worst_member(self, a: Array) -> Array | None:
        """The displacement of a worst member of the part, times the multiple."""
        from convexnovelty.uncertainty.adversary import worst_member

        more = moved_above(self.part, a)
        if more is None and self.multiple <= 1:
            more = worst_member(self.part, a) - self.part.center
        return None if more is None else np.asarray(self.center + self.multiple * more)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Larger and smaller sets."""
        return [cls(FrobeniusBall(0.4), 1.5), cls(LoewnerInterval(0.2), 0.5), cls(BuresBall(0.3), 0.7)]


def _require_mixture(changed: Any) -> None:
    """Raise RecompilationError for a multiple that leads beyond the part's members."""
    if changed.multiple > 1:
        raise RecompilationError(f"{changed!r}: for multiples above one the cone may decide; make the problem anew")


@register("dilation", MomentSet)
class MomentDilation(_Dilation, MomentSet):
    """Pairs of mean and covariance whose displacement from the centre is a multiple of a member's, ``multiple * part``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A larger and a smaller set."""
        return [cls(GelbrichBall(0.3), 1.5), cls(DelageYe(0.1, 1.3), 0.5)]
