r"""A sample under an uncertain covariance: the worst metric, where there is one, and units to model in.

A Mahalanobis metric :math:`x'\Sigma^{-1}z` becomes the Euclidean one for whitened points :math:`\Sigma^{-1/2}x`.
Nothing here inverts a covariance: columns are scaled to variance one, so that their units cost no digits, and
directions without variance are left out, or refused where the sample's mean sticks out in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexnovelty import validation
from convexnovelty._lazy import cp
from convexnovelty.covariances import refuse_indefinite
from convexnovelty.errors import InputError, UnboundedError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures, middle_length
from convexnovelty.formulation import Quantity
from convexnovelty.frames import allowed_variances, far_beyond
from convexnovelty.moments import Moments
from convexnovelty.owned import read_only
from convexnovelty.uncertainty import CovarianceSet
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.spectral_ball import SpectralBall
from convexnovelty.validation import Array, integer, nonnegative

__all__ = ["Posed", "Sample", "Whitened", "whitened"]

EPS = float(np.finfo(np.float64).eps)
# Deviations below this share of the features' size are scaled as if they had it.
FLOOR = 1e-7
# Share of its terms up to which a coordinate may be what rounding has left of them.
CANCELLED = 1e-13
# Sets whose worst covariance is the nominal one plus r I.
RIDGES = (FrobeniusBall, SpectralBall)


@dataclass(frozen=True)
class Whitened:
    """Points in which the metric is Euclidean, and the matrices that take normals back (root) and forth (inverse)."""

    features: LinearFeatures
    root: Array
    inverse: Array

    def normal(self, alpha: Array) -> Array:
        r""":math:`w = \Sigma^{-1}X\alpha` of shape (p,), in the coordinates of the features."""
        return np.asarray(self.root @ (np.asarray(self.features.training).T @ alpha))

    def deviation(self, alpha: Array) -> float:
        r""":math:`\sqrt{w'\Sigma w}` for the same w."""
        return float(np.linalg.norm(np.asarray(self.features.training).T @ alpha))


def whitened(points: Array, covariance: Array) -> Whitened:
    r"""Points :math:`x \mapsto \Sigma^{-1/2}x`, on the range of a covariance of shape (p, p).

    Raises UnboundedError where the covariance is singular and the mean of the points lies outside of its range: a
    plane of no deviation then lies infinitely far from the origin; InputError for points and covariances of other shapes,
    and IndefiniteError for a matrix that is no covariance.
    """
    points = validation.points(points, "points")
    covariance = validation.symmetric(covariance, "covariance", points.shape[1])
    refuse_indefinite(covariance, "covariance")
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    divisor = np.where(deviations > 0, deviations, 1.0)
    values, vectors = np.linalg.eigh(covariance / divisor / divisor[:, None])
    return _in_axes(points, deviations, values, vectors)


def whitened_by_factor(points: Array, factor: Array) -> Whitened:
    r"""The same from a factor G of shape (k, p) with :math:`G'G` the covariance, which is never written out.

    The entries of a covariance are known to rounding of the largest one, in which variances that are 1e-12 of it drown;
    the factor knows them to rounding of their roots.
    """
    deviations = np.linalg.norm(factor, axis=0)
    divisor = np.where(deviations > 0, deviations, 1.0)
    _, sigma, axes = np.linalg.svd(factor / divisor, full_matrices=False)
    return _in_axes(points, deviations, sigma[::-1] ** 2, axes[::-1].T)


def _in_axes(points: Array, deviations: Array, values: Array, vectors: Array) -> Whitened:
    """Points whitened along the axes of a covariance whose columns were scaled to variance one, least variance first."""
    divisor = np.where(deviations > 0, deviations, 1.0)
    kept = values > values.size * EPS * max(float(values[-1]), 0.0)
    mean = points.mean(axis=0) / np.where(deviations > 0, deviations, float(np.abs(points).max()) or 1.0)
    outside = vectors[:, ~kept].T @ mean
    if not kept.any() or np.linalg.norm(outside) > 1e-8 * np.linalg.norm(mean):
        raise UnboundedError(
            "uncertainty: the worst covariance is singular and the sample's mean lies outside of its range, so that a "
            "plane of no deviation lies infinitely far from the origin; add a radius, for example "
            "FrobeniusBall(0.1 * features.unit**2)",
            "unbounded",
        )
    root = vectors[:, kept] / np.sqrt(values[kept]) / divisor[:, None]
    inverse = (vectors[:, kept] * np.sqrt(values[kept])).T * divisor
    return Whitened(LinearFeatures(points @ root), read_only(root), read_only(inverse))


@dataclass(frozen=True)
class Posed:
    r"""A program over w in axes and units in which worst deviations are of the order of one.

    ``w`` is the quantity :math:`w = \text{unit}\cdot By`; ``rows`` of shape (n, p) are the points with
    ``rows @ y * unit**2`` their scores; ``seen`` is :math:`By`, in the axes of ``moments``.
    """

    moments: Moments
    w: Quantity
    rows: Array
    seen: Any
    unit: float
    inverse: Array

    def in_unit(self, unit: float) -> Posed:
        """The same program over the same variable in another unit of lengths."""
        share, w = unit / self.unit, self.w
        moved = Quantity(w.variable, 1.0, share * w.axes, w.inverse / share, unseen=True)
        return replace(self, w=moved, rows=self.rows / share, unit=unit)

    def covariance(self, S: Any) -> Any:
        """The covariance in the user's axes and units, from one of the order of the identity."""
        return self.inverse.T @ S @ self.inverse


@dataclass(frozen=True)
class Sample:
    r"""A sample, its covariance :math:`cXHX'`, and a set of covariances around it.

    Parameters
    ----------
    features : n points.
    recipe : the set, before it is centred.
    weight : the number c.
    """

    features: FeatureMap
    recipe: CovarianceSet
    weight: float

    @classmethod
    def of(cls, features: Any, uncertainty: Any = None, covariance_weight: Any = None, ddof: Any = 0) -> Sample:
        """The sample of a method's arguments, each of which is checked; c is 1/(n - ddof) unless it is given."""
        if not isinstance(features, FeatureMap):
            raise InputError(
                f"features: {type(features).__name__} was found; give cn.LinearFeatures(X) or "
                "cn.KernelFeatures(X, kernel)"
            )
        ddof = integer(ddof, "ddof", 0)
        if covariance_weight is None and features.n <= ddof:
            raise InputError(
                f"ddof: {ddof} was found where the sample has {features.n} point(s); give ddof=0 or a covariance_weight"
            )
        recipe = ExactCovariance() if uncertainty is None else uncertainty
        if not isinstance(recipe, CovarianceSet):
            raise InputError(
                f"uncertainty: {recipe!r} was found; give a set of covariances, since no mean enters this method"
            )
        if recipe.basis_dependent and isinstance(features, KernelFeatures):
            raise InputError(
                f"uncertainty: {recipe!r} means something only in the coordinates of the data, and a kernel's features "
                "choose their own; give a set that any basis keeps, or LinearFeatures"
            )
        given = None if covariance_weight is None else nonnegative(covariance_weight, "covariance_weight")
        return cls(features, recipe, 1 / (features.n - ddof) if given is None else given)

    @property
    def points(self) -> Array:
        """The coordinates of the points, of shape (n, p)."""
        return np.asarray(self.features.training)

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix of the coordinates, of shape (n, n), so that it agrees with a rank that was cut short."""
        return read_only(self.points @ self.points.T)

    @cached_property
    def moments(self) -> Moments:
        """Mean and nominal covariance, as a factor of n rows."""
        # Of a column that never varies the mean is its value, from which rounding of a sum of such leaves no deviation.
        first, n = self.points[0], self.features.n
        mean = np.where((self.points == first).all(axis=0), first, self.points.mean(axis=0))
        if self.weight == 0:
            made = Moments.diagonal(mean, np.zeros(mean.size), count=n)
        else:
            made = Moments.low_rank(mean, np.sqrt(self.weight) * (self.points - mean), count=n)
        return made.named(None if isinstance(self.features, KernelFeatures) else self.features.names)

    @cached_property
    def centred(self) -> CovarianceSet:
        """The set around the nominal covariance."""
        made: CovarianceSet = self.recipe.centred(self.moments)
        return made

    @cached_property
    def worst(self) -> Array | None:
        """The covariance that is worst for every direction at once, or None where the set has none."""
        return self.centred.ellipsoidal()

    @property
    def radius(self) -> float | None:
        """The number r, where the worst covariance is the nominal one plus r I; else None."""
        if self._ridge is not None:
            return self._ridge
        if self.worst is None:
            return None
        added = self.worst - self.moments.covariance
        r = float(np.trace(added)) / len(added)
        rounding = 1e-12 * max(float(np.abs(self.worst).max()), EPS * self.features.unit**2)
        return max(r, 0.0) if np.abs(added - r * np.eye(len(added))).max() <= rounding else None

    def metric(self) -> Whitened:
        """The points in the worst metric. Raises InputError where the set has none."""
        if self.worst is None:
            raise InputError(
                f"uncertainty: {self.recipe!r} has no covariance that is worst for every direction; use the primal form"
            )
        r = self._ridge
        if r is None:
            return whitened(self.points, self.worst)
        scatter = np.sqrt(self.weight) * (self.points - self.moments.mean)
        return whitened_by_factor(self.points, np.vstack([scatter, np.sqrt(r) * np.eye(self.points.shape[1])]))

    @property
    def _ridge(self) -> float | None:
        """The number r as it was given, where the worst covariance is the nominal one plus r I."""
        return float(self.recipe.radius) if isinstance(self.recipe, RIDGES) else None

    def _along(self, axes: Array) -> Array:
        """The coordinates of the points along some axes, those zero in which all points are rounding.

        Where columns depend on each other no point has a part along the axis on which no covariance puts a deviation, and in
        its scale what rounding has left would pass for one.
        """
        along, terms = self.points @ axes, np.abs(self.points) @ np.abs(axes)
        return np.where((np.abs(along) <= CANCELLED * terms).all(axis=0), 0.0, along)

    def _principal(self) -> tuple[Moments, Array]:
        """The moments in the axes of the program, and these: principal ones, whose cone is sparse, where the set allows them."""
        moments, p = self.moments, self.moments.dimension
        if not self.recipe.rotation_invariant:
            return moments, np.eye(p)
        # All p axes, also those without variance, in which the set may add some.
        _, sigma, basis = np.linalg.svd(np.vstack([moments.factor, np.zeros((1, p))]), full_matrices=True)
        variances = np.zeros(p)
        variances[: min(sigma.size, p)] = np.where(sigma > CANCELLED * sigma[0], sigma, 0.0)[:p] ** 2
        return Moments.diagonal(basis @ moments.mean, variances, count=moments.count), basis.T

    def _variances(self, nominal: Array, axes: Array) -> tuple[Array, Array]:
        """The worst variances along axes, those to be posed in, and along which axes no member has any."""
        flat = nominal == 0
        if self.worst is not None:
            variances = np.einsum("ij,ik,kj->j", axes, self.worst, axes)
        else:
            variances = allowed_variances(self.centred, axes, nominal)
        if self._ridge is not None:
            return variances, flat & (self._ridge == 0)
        flat = flat & (variances <= FLOOR**2 * variances.max())
        return variances + (far_beyond(self.centred, axes, variances) if self.worst is None else 0.0), flat

    def posed(self) -> Posed:
        """The program in axes that the set allows, and scales that make deviations one."""
        moments, axes = self._principal()
        variances, flat = self._variances(np.array(moments.variances), axes)
        along, size = self._along(axes), self.features.unit
        parts = np.sqrt((along**2).mean(axis=0))
        # Along an axis in which neither a point has a part nor a member a deviation, w may have any; it has none. Where points
        # have parts, these are the axis's unit.
        hidden = flat & (parts <= CANCELLED * size)
        scales = 1 / np.where(flat & ~hidden, parts, np.sqrt(np.maximum(variances, (FLOOR * size) ** 2)))
        rows = np.where(hidden, 0.0, along * scales)
        unit, inverse = middle_length(np.einsum("ij,ij->i", rows, rows)), (axes / scales).T
        y = cp.Variable(scales.size, name="w")
        there = np.where(hidden, 0.0, unit * scales), np.where(hidden, 0.0, 1 / (unit * scales))
        w = Quantity(y, 1.0, axes * there[0], (axes * there[1]).T, unseen=True)
        return Posed(moments, w, rows / unit, cp.multiply(scales, y), unit, inverse)
