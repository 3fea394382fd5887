"""What a linear map makes of a set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.covariances import EPS
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.algebra import Operator, adds, bracketed, hypotenuse, moved_above, register
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.uncertainty.tools import congruent, inverse
from convexnovelty.validation import Array, points

__all__ = ["CovarianceImage", "MeanImage", "MomentImage", "PointImage"]


class _Image(Operator):
    r"""Displacements that a matrix makes of those of a set in other coordinates.

    The set is placed around what the pseudo-inverse makes of the centre, :math:`y_0 = T^+c`, and its members :math:`y`
    give :math:`c + T(y - y_0)`; covariances :math:`Y` give :math:`S_0 + T(Y - Y_0)T'` with :math:`Y_0 = T^+S_0T^{+\prime}`.
    For a square invertible matrix that is the set in other coordinates, and for a tall one a set that is uncertain
    within a subspace. A set of means that depends on the covariance :math:`S` sees :math:`T^+ST^{+\prime}`.

    .. math:: \sigma_{TA}(w) = w'c - w'Ty_0 + \sigma_A(T'w)

    For an invertible matrix the worst deviation and the worst loss at :math:`a` are those of the part at :math:`T'a`.
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
        return f"{bracketed(self.part)}.image(array{self.matrix.shape})"

    @property
    def size(self) -> int:
        """The number of rows of the matrix."""
        return int(self.matrix.shape[0])

    def _around(self, around: Any, put: Callable[[Any, Any], Any]) -> dict[str, Any]:
        back = self._back
        mean, factor = back @ around.mean, around.factor @ back.T
        axes = _axes(factor) if self.part.rotation_invariant else None
        if axes is None:
            return {"part": put(self.part, Moments(mean, _round(back @ around.covariance @ back.T)))}
        # Along axes of its own the part's centre lacks variance to the last digit, and a set that keeps to its range is flat there.
        vectors, variances = axes
        turned = self.matrix @ vectors
        lengths = np.linalg.norm(turned, axis=0)
        lost = lengths <= EPS * lengths.size * float(lengths.max())
        return {
            "part": put(self.part, Moments(vectors.T @ mean, np.diag(variances))),
            "matrix": np.where(lost, 0.0, turned),
        }

    @property
    def _start(self) -> list[Any]:
        center: Any = self.part.center
        return list(center) if isinstance(center, tuple) else [center]

    def membership(self, *member: Any) -> list[Any]:
        """The displacement is what the matrix makes of a member's."""
        own, context = self.parted(member)
        T = self.matrix
        tied, inner = [], []
        for block, center, start in zip(own, self.origin, self._start, strict=True):
            # The displacement is the variable: computed from the centres it would bring rounding into an equation.
            step = cp.Variable(np.shape(start), symmetric=np.ndim(start) == 2)
            inner.append(start + step)
            tied.append(block == center + (T @ step if len(block.shape) == 1 else congruent(T, step)))
        cone = [block >> 0 for block in inner if len(block.shape) == 2]
        # A mean sees the covariance of its own coordinates, that around which the part is placed.
        back = self._back
        return [*tied, *cone, *self.joined(self.part, inner, tuple(congruent(back, S) for S in context))]

    @property
    def elsewhere(self) -> tuple[Any, Array] | None:
        """The part, and the matrix where it is invertible; None for a class with other members."""
        return (self.part, self.matrix) if self._invertible and type(self).membership is _Image.membership else None

    @property
    def _back(self) -> Array:
        """The inverse of the matrix where it has one, else its pseudo-inverse."""
        exact = self._inverse
        return np.asarray(np.linalg.pinv(self.matrix)) if exact is None else exact

    @property
    def _inverse(self) -> Array | None:
        return self.kept("inverse", lambda: inverse(self.matrix))  # type: ignore[no-any-return]

    @property
    def _invertible(self) -> bool:
        """Whether the centre is what the matrix makes of the part's, to more digits than a solver has."""
        return self._inverse is not None


class _PointImage(_Image):
    """An image of points: the part is placed around the origin of its own space."""

    def _around(self, around: Any, put: Callable[[Any, Any], Any]) -> dict[str, Any]:
        return {"part": put(self.part, np.zeros(self.matrix.shape[1]))}

    def support(self, w: cp.Expression) -> Counterpart:
        """The part's worst case at what the transposed matrix makes of the direction."""
        from convexnovelty.uncertainty.counterparts import support

        made = support(self.part, self.matrix.T @ w)
        return Counterpart(self.center @ w + made.value, made.constraints)  # type: ignore[attr-defined]


def _round(S: Any) -> Any:
    return (S + S.T) / 2


def _axes(factor: Array) -> tuple[Array, Array] | None:
    """Axes of F'F, as columns, and its variances along them; None where none of these is zero."""
    _, deviations, rows = np.linalg.svd(factor)
    deviations = np.append(deviations, np.zeros(len(rows) - deviations.size))
    seen = deviations > EPS * len(rows) * float(deviations.max(initial=0.0))
    return None if seen.all() else (rows.T, np.where(seen, deviations, 0.0) ** 2)


@register("image", PointSet)
class PointImage(_PointImage, PointSet):
    """Points that are what a linear map makes of a member, ``part.image(T)``.

    The part lies around the origin of its own space, and what the matrix makes of its members is added to the centre.
    """

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set of the plane in space."""
        return [cls(NormBall(2, 1.0), np.random.default_rng(12).standard_normal((dimension, 2)))]


@register("image", MeanSet)
class MeanImage(_Image, MeanSet):
    r"""Means moved from the nominal one by what a linear map makes of a member's step, ``part.image(T)``.

    The part lies around :math:`y_0 = T^+m_0` and sees :math:`T^+ST^{+\prime}` of the covariance :math:`S` beside the mean,
    which in a product is the one that the set of covariances chooses; the members are :math:`m_0 + T(y - y_0)`. Where the
    rows of T are independent these are :math:`Ty`; elsewhere the image lies around :math:`m_0` all the same, and what that
    has outside of the range of T stays.
    """

    def support(self, a: cp.Expression) -> Counterpart | None:
        """The part's worst case beyond its centre at what the transposed matrix makes of the direction."""
        from convexnovelty.uncertainty.counterparts import support

        if self.uses_covariance:
            return None
        direction = self.matrix.T @ a
        made = support(self.part, direction)
        return Counterpart(self.center @ a - self.part.center @ direction + made.value, made.constraints)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set of the plane in space."""
        return [cls(MeanMetricEllipsoid(0.4), np.random.default_rng(12).standard_normal((dimension, 2)))]


@register("image", CovarianceSet)
class CovarianceImage(_Image, CovarianceSet):
    r"""Covariances moved from the nominal one by what a linear map makes of a member's step, ``part.image(T)``.

    The part lies around :math:`Y_0 = T^+S_0T^{+\prime}`, and the positive semidefinite ones of the matrices
    :math:`S_0 + T(Y - Y_0)T'` are members, for the members :math:`Y` of the part. Where the rows of T are independent these
    are :math:`TYT'`, for :math:`Y` around :math:`Y_0` and not around :math:`S_0`: so ``WishartBall(0.2).image(T)`` is, for an
    invertible matrix, ``WishartBall(0.2)`` itself, whose divergence no change of coordinates changes. Elsewhere what
    :math:`S_0` has outside of the range of T stays: the image under zero is :math:`S_0` alone, where :math:`TYT'` is zero.
    """

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set of the plane in space, and one in other coordinates."""
        rng = np.random.default_rng(12)
        matrices = [rng.standard_normal((dimension, width)) for width in (2, dimension)]
        return [cls(FrobeniusBall(0.4), T) for T in matrices]

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The part's at what the transposed matrix makes of the direction, or the nominal one and what the part adds there."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        if self._invertible:
            return worst_deviation(self.part, self.matrix.T @ a)
        added = self.added_deviation(a)
        return None if added is None else hypotenuse(cp.norm(self.factor @ a), added)

    @property
    def states_deviation(self) -> bool:
        """For an invertible matrix, and where the part states what it adds."""
        return self._invertible or adds(self.part)

    def added_deviation(self, a: cp.Expression) -> Counterpart | cp.Expression | None:
        """What the part adds at what the transposed matrix makes of the direction."""
        return self.part.added_deviation(self.matrix.T @ a)

    def worst_member(self, a: Array) -> Array | None:
        """What the matrix makes of the part's worst member, or of its displacement."""
        from convexnovelty.uncertainty.adversary import worst_member

        if not self._invertible:
            more = moved_above(self.part, self.matrix.T @ a)
            return None if more is None else np.asarray(self.center + self.matrix @ more @ self.matrix.T)
        return np.asarray(self.matrix @ worst_member(self.part, self.matrix.T @ a) @ self.matrix.T)


@register("image", MomentSet)
class MomentImage(_Image, MomentSet):
    r"""Pairs moved from the nominal one by what a linear map makes of a member's step, ``part.image(T)``.

    The part lies around :math:`(y_0, Y_0) = (T^+m_0,\ T^+S_0T^{+\prime})`, and the pairs
    :math:`(m_0 + T(y - y_0),\ S_0 + T(Y - Y_0)T')` with a positive semidefinite covariance are members. Where the rows of
    T are independent these are :math:`(Ty, TYT')`; elsewhere what the nominal pair has outside of the range of T stays.
    """

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A set of the plane in space, and one in other coordinates."""
        tall = np.random.default_rng(12).standard_normal((dimension, 2))
        # Of moderate condition: its square multiplies that of the centre.
        return [cls(GelbrichBall(0.3), T) for T in (tall, np.eye(dimension) + 0.3 * np.eye(dimension, k=1))]

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart | None:
        """The part's at what the transposed matrix makes of the direction."""
        from convexnovelty.uncertainty.counterparts import worst_loss

        return worst_loss(self.part, self.matrix.T @ a, kappa) if self._invertible else None

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The part's at what the transposed matrix makes of the direction."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        return worst_deviation(self.part, self.matrix.T @ a) if self._invertible else None

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array] | None:
        """What the matrix makes of the part's worst member."""
        from convexnovelty.uncertainty.adversary import worst_member

        if not self._invertible:
            return None
        T = self.matrix
        m, S = worst_member(self.part, T.T @ a, kappa)
        return self.center_mean + T @ (m - self.part.center_mean), T @ S @ T.T
