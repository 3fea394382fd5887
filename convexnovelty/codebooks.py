"""The region of a codebook: the points within a radius of one of its vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance as spatial_distance
from scipy.spatial.distance import cdist

from convexnovelty.errors import InputError
from convexnovelty.owned import owned
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Region
from convexnovelty.validation import Array, points

__all__ = ["Codebook", "Metric", "StandardizedMetric", "distances", "fitted", "sizes"]


@dataclass(frozen=True, eq=False)
class StandardizedMetric:
    """Euclidean distance in units of a sample's deviations: scipy's "seuclidean" or "mahalanobis", with its variances kept.

    Scipy takes the variances of whatever rows it is handed, so that a distance would depend on the rows asked beside.

    Attributes
    ----------
    name : scipy's name.
    center : (p,) the mean of the sample.
    factor : (p, p) the matrix W with distance ||W'(x - z)||, so that WW' is the inverse of the sample's covariance.
    """

    name: str
    center: Array
    factor: Array

    @classmethod
    def of_sample(cls, name: str, sample: Array) -> StandardizedMetric:
        """The metric of the sample's variances (divisor n - 1); InputError where they leave a direction without any."""
        n, p = sample.shape
        center = sample.mean(axis=0)
        away = sample - center
        # A constant column keeps what rounding leaves of its mean.
        floor = n * np.finfo(float).eps * np.abs(sample).max(axis=0, initial=0.0)
        spread = np.abs(away).max(axis=0, initial=0.0)
        flat = np.flatnonzero(spread <= floor)
        if n < 2 or flat.size:
            told = "a single point has none" if n < 2 else f"columns {flat.tolist()} do not vary"
            raise InputError(f"metric: {name!r} divides by the variances of the points, but {told}; {_OTHERWISE}")
        deviations = spread * np.sqrt(np.square(away / spread).sum(axis=0) / (n - 1))
        if name == "seuclidean":
            return cls(name, center, np.diag(1 / deviations))
        _, values, vectors = np.linalg.svd(away / deviations / math.sqrt(n - 1), full_matrices=False)
        rank = int((values > max(n, p) * np.finfo(float).eps * values[0]).sum())
        if rank < p:
            raise InputError(
                f"metric: {name!r} inverts the covariance of the points, but they vary in {rank} of {p} directions only; "
                f"{_OTHERWISE}"
            )
        return cls(name, center, (vectors.T / values) / deviations[:, None])

    def coordinates(self, Z: Array) -> Array:
        """Coordinates of shape (m, p) in which the distance is Euclidean."""
        return np.asarray((Z - self.center) @ self.factor)

    def sizes(self, Z: Array) -> Array:
        """The size of the terms of each row's coordinates, of shape (m,)."""
        return np.asarray((np.abs(Z - self.center) @ np.abs(self.factor)).max(axis=1, initial=0.0))


_OTHERWISE = 'leave them out, or give another metric, for example "euclidean"'

# A name that scipy.spatial.distance.cdist knows, or a function of two vectors.
Metric = str | Callable[[Array, Array], float] | StandardizedMetric

# The metrics whose parameters scipy estimates from the rows it is given, under all names that it knows them by.
_ESTIMATED = dict.fromkeys(("seuclidean", "se", "s"), "seuclidean") | dict.fromkeys(
    ("mahalanobis", "mahal", "mi"), "mahalanobis"
)


def fitted(metric: Metric, sample: Array) -> Metric:
    """The metric with all that it estimates taken from ``sample``, of shape (n, p); any other metric as it is."""
    known = _name_of_scipys(metric) if callable(metric) else metric
    name = _ESTIMATED.get(known.lower()) if isinstance(known, str) else None
    return metric if name is None else StandardizedMetric.of_sample(name, sample)


def sizes(Z: Array, metric: Metric) -> Array:
    """What rounding of each row's distances is a share of, of shape (m,)."""
    if isinstance(metric, StandardizedMetric):
        return metric.sizes(Z)
    return np.asarray(np.abs(Z).max(axis=1, initial=0.0))


def distances(Z: Array, X: Array, metric: Metric) -> Array:
    """The distances of the rows of Z from those of X, of shape (m, n); InputError where the metric gives none."""
    asked: Any = metric
    if isinstance(metric, StandardizedMetric):
        Z, X, asked = metric.coordinates(Z), metric.coordinates(X), "euclidean"
    elif callable(metric) and not _name_of_scipys(metric):
        # Under no name: a function called like a metric of scipy's would be handed that metric's parameters.
        asked = partial(metric)
    try:
        found: Array = np.asarray(cast(Any, cdist)(Z, X, asked), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"metric: {metric!r} gives no distances ({error}); give a name that scipy's cdist knows or a function "
            f"of two vectors"
        ) from error
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"metric: {metric!r} gives distances that are negative or not finite; give a metric")
    return found


def _name_of_scipys(metric: Callable[[Array, Array], float]) -> str:
    """The name of a function that scipy itself offers as a metric, else an empty one."""
    name = str(getattr(metric, "__name__", ""))
    return name if getattr(spatial_distance, name, None) is metric else ""


@dataclass(frozen=True, eq=False)
class Codebook(Region):
    """The points within ``radius`` of a codebook vector; the decision value is the radius less the distance.

    Attributes
    ----------
    vectors : (c, p) the codebook.
    radius : in units of the metric.
    metric : as for :func:`distances`; what it estimates is that of the training points, see :func:`fitted`.
    rows : (c,) the numbers of the training points that the vectors are.
    """

    vectors: Array
    radius: float
    metric: Metric
    rows: NDArray[np.intp]
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("vectors", "rows"):
            object.__setattr__(self, name, owned(getattr(self, name)))
        self._check()

    @property
    def level(self) -> float:
        """Minus the radius: the score is minus the distance."""
        return -self.radius

    def nearest(self, Z: Any) -> NDArray[np.intp]:
        """The number of the codebook vector that each point is replaced by, of shape (m,)."""
        if self.rows.size == 0:
            raise InputError("codebook: it has no vectors, since every point was left out; raise slack_penalty")
        return np.asarray(self._distances(Z).argmin(axis=1))

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """The radius less the distance from the nearest codebook vector, of shape (m,); minus infinity without any."""
        return np.asarray(self.radius - self._distances(Z).min(axis=1, initial=np.inf))

    def rounding(self, Z: Any) -> Array:
        """Proportional to the size of the coordinates, which differences of far-off points lose."""
        size = float(sizes(self.vectors, self.metric).max(initial=0.0))
        return np.asarray(ROUNDING * (sizes(points(Z, "Z"), self.metric) + size))

    def _distances(self, Z: Any) -> Array:
        rows = points(Z, "Z")
        if rows.shape[1] != self.vectors.shape[1]:
            raise InputError(
                f"Z: {rows.shape[1]} columns were found where the codebook has {self.vectors.shape[1]} coordinates"
            )
        return distances(rows, self.vectors, self.metric)
