"""Sets moved by a fixed shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.uncertainty.algebra import Operator, register
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.validation import symmetric, vector

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
    """Covariances that are a member and a fixed shift, ``part + shift``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set away from the centre."""
        return [cls(FrobeniusBall(0.4), 0.2 * np.eye(dimension))]


@register("translation", MomentSet)
class MomentTranslation(_Translation, MomentSet):
    """Pairs of mean and covariance that are a member and a fixed shift, ``part + shift``."""

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set away from the centre."""
        return [cls(GelbrichBall(0.3), (0.3 * np.ones(dimension), 0.2 * np.eye(dimension)))]
