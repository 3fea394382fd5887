"""What a linear map takes into a set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import UnboundedSetError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.algebra import Operator, bracketed, register
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.composite import placed
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.uncertainty.tools import REGULAR, congruent, inverse
from convexnovelty.validation import Array, points

__all__ = ["CovariancePreimage", "MeanPreimage", "MomentPreimage", "PointPreimage"]


class _Preimage(Operator):
    r"""What a matrix takes into a set of the space that it maps to, :math:`\{u : Tu \in A\}`.

    .. math:: \sigma_{T^{-1}A}(w) = \min\{\sigma_A(y) : T'y = w\}

    The set is placed around what the matrix makes of the centre. It is bounded if the matrix has independent columns;
    otherwise it says nothing of some directions and is of use in an intersection. A set of means that depends on the
    covariance :math:`S` sees :math:`TST'`.

    The preimage under an invertible matrix is the image under its inverse, and has the part's worst cases at
    :math:`y = T^{-\top}w`. A tall matrix :math:`T = QR` is one of these within its range, where :math:`R` stands in place
    of it, if the part is ``hereditary``.
    """

    exactness = "exact"
    source = "Rockafellar, Convex Analysis, corollary 16.3.1"
    part_names = ("part",)

    def __init__(self, part: Any, matrix: Any) -> None:
        self.part = part
        self.matrix = points(matrix, "matrix")
        self._inherit()
        self.basis_dependent = True

    def __repr__(self) -> str:
        return f"{bracketed(self.part)}.preimage(array{self.matrix.shape})"

    @property
    def size(self) -> int:
        """The number of columns of the matrix."""
        return int(self.matrix.shape[1])

    def _around(self, around: Any, put: Callable[[Any, Any], Any]) -> dict[str, UncertaintySet]:
        return {"part": put(self.part, self._mapped(self.matrix, around))}

    def _mapped(self, T: Array, around: Any) -> Any:
        """What a matrix makes of the centre."""
        if isinstance(self, PointSet):
            return T @ around
        S = T @ around.covariance @ T.T
        return Moments(T @ around.mean, (S + S.T) / 2)

    def _require_bounded(self) -> None:
        if np.linalg.matrix_rank(self.matrix) < self.matrix.shape[1]:
            raise UnboundedSetError(
                f"{self!r} is unbounded: the matrix takes some directions to zero, and says nothing of these; bound it by "
                "another set, as in this & that"
            )
        super()._require_bounded()

    @property
    def _within(self) -> tuple[Any, Array, Array] | None:
        """The part in coordinates of the matrix's range, the invertible matrix that leads there, and its inverse."""
        return self.kept("within", self._find_within)  # type: ignore[no-any-return]

    def _find_within(self) -> tuple[Any, Array, Array] | None:
        rows, columns = self.matrix.shape
        tall = rows > columns
        if rows < columns or self.uses_covariance or (tall and not (self.part.hereditary and self.part.size is None)):
            return None
        R = np.linalg.qr(self.matrix).R if tall else self.matrix
        # What a triangle has in its last rows was computed beside the length of its columns, and is no smaller unit of its own.
        if (back := inverse(R)) is None or (tall and np.linalg.cond(R / np.linalg.norm(R, axis=0)) > REGULAR):
            return None
        given = self._center if isinstance(self, PointSet) else self._moments
        if not tall and given is not None:
            return self.part, R, back  # which lies around the matrix's image of the centre already
        return placed(self.part, self._mapped(R, self.center if isinstance(self, PointSet) else given)), R, back

    @property
    def elsewhere(self) -> tuple[Any, Array] | None:
        """The part, and the inverse of a square matrix; None for a class with other members."""
        rows, columns = self.matrix.shape
        # The numbers of a part that a tall one has moved into its range would not be followed.
        if self._moments is None or rows > columns or self._within is None:
            return None
        if type(self).membership is not _Preimage.membership:
            return None
        part, _, back = self._within
        return part, back

    def _of_part(self, name: str, w: Any, *rest: Any) -> Counterpart | None:
        """The part's worst case of that name at what the inverse makes of the direction."""
        from convexnovelty.uncertainty import counterparts

        if self._within is None:
            return None
        part, _, back = self._within
        made: Counterpart = getattr(counterparts, name)(part, back.T @ w, *rest)
        return made

    def _worst(self, w: Array, kappa: float | None = None) -> Any:
        """What the inverse makes of the part's worst member, as blocks; None where there is no inverse."""
        from convexnovelty.uncertainty.adversary import worst_member

        if self._within is None:
            return None
        part, _, back = self._within
        worst = worst_member(part, back.T @ w, kappa)
        blocks = worst if isinstance(worst, tuple) else (worst,)
        made = tuple(back @ block if np.ndim(block) == 1 else back @ block @ back.T for block in blocks)
        return made if isinstance(worst, tuple) else made[0]

    def membership(self, *member: Any) -> list[Any]:
        """What the matrix makes of the member is one of the part's."""
        own, context = self.parted(member)
        # In coordinates of the range, where no member lies at a wall for want of a dimension.
        part, T, _ = self._within if self._within is not None else (self.part, self.matrix, None)
        there = part.center
        tied, mapped = [], []
        for block, center, start in zip(own, self.origin, there if isinstance(there, tuple) else (there,), strict=True):
            # The displacement is a variable: taken from the centre it would bring rounding into the part's equations.
            step = cp.Variable(np.shape(center), symmetric=np.ndim(center) == 2)
            tied.append(block == center + step)
            mapped.append(start + (T @ step if len(block.shape) == 1 else congruent(T, step)))
        # A mean sees the covariance of its own coordinates, that around which the part is placed.
        return [*tied, *self.joined(part, mapped, tuple(congruent(T, S) for S in context))]


@register("preimage", PointSet)
class PointPreimage(_Preimage, PointSet):
    """Points that a linear map makes a member of, ``part.preimage(T)``.

    The part lies around what the matrix makes of the centre.
    """

    def support(self, w: cp.Expression) -> Counterpart | None:
        """The part's at what the inverse makes of the direction."""
        return self._of_part("support", w)

    def worst_member(self, w: Array) -> Array | None:
        """What the inverse makes of the part's worst member."""
        return self._worst(w)  # type: ignore[no-any-return]

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """More equations than coordinates, so that the set is bounded."""
        return [cls(NormBall(2, 1.0), np.random.default_rng(13).standard_normal((dimension + 1, dimension)))]


@register("preimage", MeanSet)
class MeanPreimage(_Preimage, MeanSet):
    """Means that a linear map makes a member of, ``part.preimage(T)``.

    The part lies around :math:`Tm_0`, so that the preimage lies around :math:`m_0`, and sees :math:`TST'` of the covariance
    :math:`S` beside the mean, which in a product is the one that the set of covariances chooses.
    """

    def support(self, a: cp.Expression) -> Counterpart | None:
        """The part's at what the inverse makes of the direction."""
        return self._of_part("support", a)

    def worst_member(self, a: Array, S: Array) -> Array | None:
        """What the inverse makes of the part's worst member."""
        return self._worst(a)  # type: ignore[no-any-return]

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """More equations than coordinates, so that the set is bounded."""
        return [cls(MeanMetricEllipsoid(0.4), np.random.default_rng(13).standard_normal((dimension + 1, dimension)))]


@register("preimage", CovarianceSet)
class CovariancePreimage(_Preimage, CovarianceSet):
    """Covariances that a linear map makes a member of, ``part.preimage(T)``.

    The part lies around :math:`TS_0T'`, so that the preimage lies around :math:`S_0`: ``WishartBall(0.2).preimage(T)``
    is ``WishartBall(0.2)`` itself for an invertible matrix.
    """

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The part's at what the inverse makes of the direction."""
        return self._of_part("worst_deviation", a)

    @property
    def states_deviation(self) -> bool:
        """For a matrix that is invertible within its range."""
        return self._within is not None

    def added_deviation(self, a: cp.Expression) -> Counterpart | cp.Expression | None:
        """What the part adds at what the inverse makes of the direction."""
        if self._within is None:
            return None
        part, _, back = self._within
        return part.added_deviation(back.T @ a)

    def worst_member(self, a: Array) -> Array | None:
        """What the inverse makes of the part's worst member."""
        return self._worst(a)  # type: ignore[no-any-return]

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """More equations than coordinates, so that the set is bounded."""
        return [cls(FrobeniusBall(0.4), np.random.default_rng(13).standard_normal((dimension + 1, dimension)))]


@register("preimage", MomentSet)
class MomentPreimage(_Preimage, MomentSet):
    """Pairs of mean and covariance that a linear map makes a member of, ``part.preimage(T)``.

    The part lies around :math:`(Tm_0, TS_0T')`, so that the preimage lies around the nominal pair.
    """

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart | None:
        """The part's at what the inverse makes of the direction."""
        return self._of_part("worst_loss", a, kappa)

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The part's at what the inverse makes of the direction."""
        return self._of_part("worst_deviation", a)

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array] | None:
        """What the inverse makes of the part's worst member."""
        return self._worst(a, kappa)  # type: ignore[no-any-return]

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """More equations than coordinates, so that the set is bounded."""
        return [cls(GelbrichBall(0.3), np.random.default_rng(13).standard_normal((dimension + 1, dimension)))]
