"""Sets moved by a fixed shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.covariances import own_root
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.uncertainty.algebra import ROUNDING, Operator, hypotenuse, register
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.validation import Array, symmetric, vector

__all__ = ["CovarianceTranslation", "MeanTranslation", "MomentTranslation", "PointTranslation"]


class _Translation(Operator):
    r"""A set moved by a shift, :math:`\{u + s : u \in A\}`.

    .. math:: \sigma_{A+s}(w) = \sigma_A(w) + w's

    The shift is a vector for points and means, a symmetric matrix for covariances, and a pair of both for joint sets.
    """

    exactness = "exact"
    source = "Rockafellar, Convex Analysis, section 13"
    part_names = ("part",)

    def __init__(self, part: Any, shift: Any) -> None:
        self.part = part
        self._check_parts()
        blocks = {"points": "v", "mean": "v", "covariance": "S", "moments": "vS"}[part.family]
        if len(blocks) == 2 and not (isinstance(shift, (tuple, list)) and len(shift) == 2):
            raise InputError(f"shift: {shift!r} was found; give a pair of a mean and a covariance")
        given = shift if len(blocks) == 2 else (shift,)
        self.shift = [
            read_only(np.array(vector(x, "shift") if kind == "v" else symmetric(x, "shift")))
            for kind, x in zip(blocks, given, strict=True)
        ]
        self._inherit()
        self.basis_dependent = True
        self.nominal_at_zero = False

    def __repr__(self) -> str:
        return f"({self.part!r} + shift)"

    @property
    def size(self) -> int:
        """The length of the shift."""
        return int(self.shift[0].shape[0])

    def membership(self, *member: Any) -> list[Any]:
        """What is left without the shift is a member of the part."""
        own, context = self.parted(member)
        back = [block - s for block, s in zip(own, self.shift, strict=True)]
        cone = [block >> 0 for block in back if len(block.shape) == 2]
        return [*cone, *self.joined(self.part, back, context)]


class _LinearTranslation(_Translation):
    """A translation whose worst case is linear in its members."""

    def support(self, w: cp.Expression) -> Counterpart | None:
        """The part's worst case and that of the shift."""
        from convexnovelty.uncertainty.counterparts import support

        if self.uses_covariance:
            return None
        made = support(self.part, w)
        return Counterpart(made.value + self.shift[0] @ w, made.constraints)


@register("translation", PointSet)
class PointTranslation(_LinearTranslation, PointSet):
    """Points that are a member and a fixed shift, ``part + shift``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set away from the centre."""
        return [cls(NormBall(2, 1.0), 0.5 * np.ones(dimension))]


@register("translation", MeanSet)
class MeanTranslation(_LinearTranslation, MeanSet):
    """Means that are a member and a fixed shift, ``part + shift``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set away from the centre."""
        return [cls(MeanMetricEllipsoid(0.4), -0.3 * np.arange(1.0, dimension + 1.0))]


@register("translation", CovarianceSet)
class CovarianceTranslation(_Translation, CovarianceSet):
    r"""Covariances that are a member and a fixed shift, ``part + shift``.

    A shift :math:`D` that is positive semidefinite leads out of the cone nowhere, so that :math:`\sup_S a'Sa` is that of the part
    and :math:`a'Da`. Elsewhere the cone may decide, and the counterpart is derived.
    """

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The part's, and the deviation of the shift."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        return None if self._root is None else hypotenuse(worst_deviation(self.part, a), cp.norm(self._root @ a))

    @property
    def states_deviation(self) -> bool:
        """For a shift that leads out of the cone nowhere."""
        return self._root is not None

    def added_deviation(self, a: cp.Expression) -> Counterpart | None:
        """What the part adds, and the deviation of the shift."""
        added = None if self._root is None else self.part.added_deviation(a)
        return None if added is None else hypotenuse(added, cp.norm(self._root @ a))

    def worst_member(self, a: Array) -> Array | None:
        """A worst member of the part, moved."""
        from convexnovelty.uncertainty.adversary import worst_member

        return None if self._root is None else np.asarray(worst_member(self.part, a) + self.shift[0])

    @property
    def _root(self) -> Array | None:
        """A factor F of the shift F'F; None for one that has a negative eigenvalue."""
        shift = self.shift[0]
        F = own_root(shift)
        size = np.sqrt(np.outer(np.diagonal(shift), np.diagonal(shift)).clip(0.0))
        return F if (np.abs(F.T @ F - shift) <= ROUNDING * size).all() else None

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Sets away from the centre, on either side."""
        return [cls(FrobeniusBall(0.4), D * np.eye(dimension)) for D in (0.2, -0.1)]


@register("translation", MomentSet)
class MomentTranslation(_Translation, MomentSet):
    """Pairs of mean and covariance that are a member and a fixed shift, ``part + shift``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set away from the centre."""
        return [cls(GelbrichBall(0.3), (0.3 * np.ones(dimension), 0.2 * np.eye(dimension)))]
