"""Distances under a metric, and how much of each may be rounding of the coordinates.

Every allowance has the unit of the distance that it is taken from: a length beside lengths, a square beside squares, a number
beside metrics that are ratios and know no unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial import distance as spatial_distance
from scipy.spatial.distance import cdist

from convexnovelty.errors import InputError
from convexnovelty.regions import ROUNDING
from convexnovelty.validation import Array

__all__ = ["ROOM", "Distances", "Metric", "StandardizedMetric", "distances", "fitted"]

EPS = float(np.finfo(np.float64).eps)

# The share of itself up to which a coordinate counts as rounded: two points of one size have ROUNDING of it together.
COORDINATE = ROUNDING / 2

# The most that rounding is granted, as a share of the radius: beyond, the numbers that were given decide.
ROOM = 1e-4

# Changes of a coordinate, as shares of it, by which functions of one's own are asked. What the small one changes is what rounding
# does. The large one changes 2^30 times as much where the function has a slope; where it jumps both change the same, of
# which JUMP is granted.
SMALL, LARGE, JUMP = COORDINATE, 2.0**-20, 2.0**-20


@dataclass(frozen=True, eq=False)
class StandardizedMetric:
    """Euclidean distance in units of a sample's deviations: scipy's "seuclidean" or "mahalanobis", with its variances kept.

    Scipy takes the variances of whatever rows it is handed, so that a distance would depend on the rows asked beside.

    Attributes
    ----------
    name : scipy's name.
    center : (p,) the mean of the sample.
    factor : (p, p) the matrix W with distance ||W'(x - z)||, so that WW' is the inverse of the sample's covariance.
    doubt : the share of every distance that rounding of the sample's coordinates may change through its deviations.
    """

    name: str
    center: Array
    factor: Array
    doubt: float = 0.0

    @classmethod
    def of_sample(cls, name: str, sample: Array) -> StandardizedMetric:
        """The metric of the sample's variances (divisor n - 1); InputError where they leave a direction without any."""
        n, p = sample.shape
        center = sample.mean(axis=0)
        away = sample - center
        # A constant column keeps what rounding leaves of its mean.
        floor = n * EPS * np.abs(sample).max(axis=0, initial=0.0)
        spread = np.abs(away).max(axis=0, initial=0.0)
        flat = np.flatnonzero(spread <= floor)
        if n < 2 or flat.size:
            told = "a single point has none" if n < 2 else f"columns {flat.tolist()} do not vary"
            raise InputError(f"metric: {name!r} divides by the variances of the points, but {told}; {_OTHERWISE}")
        deviations = spread * np.sqrt(np.square(away / spread).sum(axis=0) / (n - 1))
        if name == "seuclidean":
            return cls._known(name, center, np.diag(1 / deviations), sample)
        _, values, vectors = np.linalg.svd(away / deviations / math.sqrt(n - 1), full_matrices=False)
        rank = int((values > max(n, p) * EPS * values[0]).sum())
        if rank < p:
            raise InputError(
                f"metric: {name!r} inverts the covariance of the points, but they vary in {rank} of {p} directions only; "
                f"{_OTHERWISE}"
            )
        return cls._known(name, center, (vectors.T / values) / deviations[:, None], sample)

    @classmethod
    def _known(cls, name: str, center: Array, factor: Array, sample: Array) -> StandardizedMetric:
        doubt = float(cls(name, center, factor).roundings(sample).max())
        return cls(name, center, factor, doubt)

    def coordinates(self, Z: Array) -> Array:
        """Coordinates of shape (m, p) in which the distance is Euclidean."""
        return np.asarray((Z - self.center) @ self.factor)

    def roundings(self, Z: Array) -> Array:
        """How far rounding may move each row in these coordinates, of shape (m,)."""
        terms = (np.abs(Z) + np.abs(self.center)) @ np.abs(self.factor)
        return np.asarray(_moved(Z) * np.linalg.norm(terms, axis=1))


_OTHERWISE = 'leave them out, or give another metric, for example "euclidean"'

# A name that scipy.spatial.distance.cdist knows, or a function of two vectors.
Metric = str | Callable[[Array, Array], float] | StandardizedMetric

# The metrics whose parameters scipy estimates from the rows it is given, under all names that it knows them by.
_ESTIMATED = dict.fromkeys(("seuclidean", "se", "s"), "seuclidean") | dict.fromkeys(
    ("mahalanobis", "mahal", "mah"), "mahalanobis"
)


def fitted(metric: Metric, sample: Array) -> Metric:
    """The metric with all that it estimates taken from ``sample``, of shape (n, p); any other metric as it is."""
    name = _ESTIMATED.get(_name(metric))
    return metric if name is None else StandardizedMetric.of_sample(name, sample)


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of shape (m, n) from one set of rows to another, and the least that each may be but for rounding.

    Attributes
    ----------
    found : (m, n) as computed from the numbers given.
    least : (m, n) the least that rounding of the coordinates, and of what is computed of them, leaves of them.
    radius : beside which they are asked.
    """

    found: Array
    least: Array
    radius: float

    @property
    def known(self) -> Array:
        """The least that counts, of shape (m, n): rounding takes no more than ``ROOM`` of the radius, unless that is zero."""
        if self.radius == 0:
            return self.least
        return np.asarray(np.maximum(self.least, self.found - ROOM * self.radius))

    @property
    def within(self) -> NDArray[np.bool_]:
        """Which pairs lie within the radius, of shape (m, n): those at the radius but for rounding do."""
        return np.asarray(self.known <= self.radius)

    @property
    def drowned(self) -> NDArray[np.bool_]:
        """Which pairs count as farther than the radius, though rounding does not tell them from it."""
        return np.asarray((self.least <= self.radius) & ~self.within)


def distances(Z: Array, X: Array, metric: Metric, radius: float) -> Distances:
    """The distances of the rows of Z from those of X, (m, p) and (n, p); InputError where the metric gives none."""
    measure = _measure(metric)
    try:
        found, least = measure(Z, X) if measure else _asked(Z, X, metric, radius)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"metric: {metric!r} gives no distances ({error}); give a name that scipy's cdist knows or a function "
            f"of two vectors"
        ) from error
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"metric: {metric!r} gives distances that are negative or not finite; give a metric")
    return Distances(found, least, radius)


def _name(metric: Any) -> str:
    """The name by which scipy knows a metric, in small letters; empty for functions of one's own."""
    if callable(metric):
        name = str(getattr(metric, "__name__", ""))
        return name if getattr(spatial_distance, name, None) is metric else ""
    return metric.lower() if isinstance(metric, str) else ""


# -- the metrics by name -----------------------------------------------------------------------------------------------

_Measure = Callable[[Array, Array], tuple[Array, Array]]


def _share(Z: Array) -> float:
    """What a sum over the coordinates, and the few operations before and after it, are rounded by."""
    return ROUNDING + int(Z.shape[1]) * EPS


def _moved(Z: Array) -> float:
    """How far rounding moves a point whose length is one."""
    return COORDINATE + int(Z.shape[1]) * EPS


def _shorter(found: Array, share: float, ends: Array, others: Array) -> Array:
    """The least lengths between points whose ends rounding moves so far, (m,) and (n,)."""
    return np.asarray(np.maximum(found * (1 - share) - ends[:, None] - others, 0.0))


def _lengths(name: str, order: float, Z: Array, X: Array) -> tuple[Array, Array]:
    """A norm of the difference, which rounding changes by at most the norm of what it moves either point by."""
    found = _cdist(Z, X, name)
    ends, others = (COORDINATE * np.linalg.norm(rows, order, axis=1) for rows in (Z, X))
    return found, _shorter(found, _share(Z), ends, others)


def _squares(Z: Array, X: Array) -> tuple[Array, Array]:
    found = _cdist(Z, X, "sqeuclidean")
    ends, others = (COORDINATE * np.linalg.norm(rows, axis=1) for rows in (Z, X))
    return found, _shorter(np.sqrt(found), _share(Z), ends, others) ** 2


def _standardized(metric: StandardizedMetric, Z: Array, X: Array) -> tuple[Array, Array]:
    found = _cdist(metric.coordinates(Z), metric.coordinates(X), "euclidean")
    return found, _shorter(found, _share(Z) + metric.doubt, metric.roundings(Z), metric.roundings(X))


def _angles(centred: bool, Z: Array, X: Array) -> tuple[Array, Array]:
    """One minus the cosine, as half of the squared chord: the difference itself loses the digits of small angles."""
    (ends, moved), (others, moved_others) = _directions(Z, centred), _directions(X, centred)
    chords = _cdist(ends, others, "euclidean")
    return chords**2 / 2, _shorter(chords, ROUNDING, moved, moved_others) ** 2 / 2


def _directions(rows: Array, centred: bool) -> tuple[Array, Array]:
    """Rows, less their mean if ``centred``, of length one, and how far rounding moves each of them on the sphere, (m,)."""
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(float).tiny)
    away = scaled
    for _ in range(2 if centred else 0):  # the mean of the first differences is what rounding left of the mean
        away = away - away.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(away, axis=1)
    moved = _moved(rows) * np.linalg.norm(scaled, axis=1)
    if (lengths <= moved).any():
        without = np.flatnonzero(lengths <= moved)[:5].tolist()
        told = "'correlation' compares how the entries of a row vary, but those of rows {} do not"
        if not centred:
            told = "'cosine' compares directions, but rows {} are zero"
        raise InputError(f"metric: {told.format(without)}; {_OTHERWISE}")
    return away / lengths[:, None], moved / lengths


def _braycurtis(Z: Array, X: Array) -> tuple[Array, Array]:
    """A quotient of two lengths, each of which rounding changes by a share of all that is added."""
    found = _cdist(Z, X, "braycurtis")
    moved = COORDINATE * (np.abs(Z).sum(axis=1)[:, None] + np.abs(X).sum(axis=1))
    apart, together = _cdist(Z, X, "cityblock"), _cdist(Z, -X, "cityblock")
    least = np.maximum(apart - moved, 0.0) / np.maximum(together + moved, np.finfo(float).tiny)
    return found, least * (1 - 2 * _share(Z))


def _canberra(Z: Array, X: Array) -> tuple[Array, Array]:
    """A sum of p quotients t, each of which rounding of the coordinates changes by their share of 1 + t at most."""
    found = _cdist(Z, X, "canberra")
    return found, np.maximum(found * (1 - COORDINATE - _share(Z)) - COORDINATE * Z.shape[1], 0.0)


def _jensenshannon(Z: Array, X: Array) -> tuple[Array, Array]:
    """The distance is a metric: rounding changes it by what it moves either row by, less than the share that each entry is off by."""
    ends, others = _shares(Z), _shares(X)
    found = np.array([_divergences(row, others) for row in ends]).reshape(len(Z), len(X))
    return found, _shorter(found, _share(Z), np.full(len(Z), _moved(Z)), np.full(len(X), _moved(X)))


def _shares(rows: Array) -> Array:
    if (rows < 0).any():
        i, j = (int(k) for k in np.argwhere(rows < 0)[0])
        raise InputError(
            f"metric: 'jensenshannon' compares shares of a whole, but {rows[i, j]:.6g} was found at row {i}, column {j}; "
            f"{_OTHERWISE}"
        )
    with np.errstate(invalid="ignore"):  # a row of zeros has no shares, and its distances are refused
        scaled = rows / rows.max(axis=1, keepdims=True)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def _divergences(row: Array, others: Array) -> Array:
    r"""The root of half of :math:`\sum p\ln(p/m)+q\ln(q/m)`, m the mean of p and q.

    Near shares have terms of first order in a sum of second order. With t = (p - q)/(p + q) they are
    :math:`m(2t\,\mathrm{artanh}\,t+\ln(1-t^2))`, in which nothing cancels.
    """
    whole = row + others
    t = (row - others) / np.where(whole > 0, whole, 1.0)
    near = np.abs(t) < 0.5
    small = np.where(near, t, 0.0)
    bent = whole / 2 * (2 * small * np.arctanh(small) + np.log1p(-(small**2)))
    halved = np.where(whole > 0, whole / 2, 1.0)
    straight = special.xlogy(row, row / halved) + special.xlogy(others, others / halved)
    return np.asarray(np.sqrt(np.where(near, bent, straight).sum(axis=1) / 2))


def _counts(name: str, Z: Array, X: Array) -> tuple[Array, Array]:
    """Ratios of numbers of coordinates, which rounding of these does not change. Scipy's "dice" is none: it multiplies them."""
    found = _cdist(Z, X, name)
    return found, found * (1 - ROUNDING)


def _cdist(Z: Array, X: Array, asked: Any) -> Array:
    return np.asarray(cast(Any, cdist)(Z, X, asked), dtype=np.float64)


# All names by which scipy knows them.
_MEASURES: dict[str, _Measure] = {
    **dict.fromkeys(("euclidean", "euclid", "eu", "e"), partial(_lengths, "euclidean", 2)),
    **dict.fromkeys(("minkowski", "mi", "m", "pnorm"), partial(_lengths, "minkowski", 2)),
    **dict.fromkeys(("cityblock", "cblock", "cb", "c"), partial(_lengths, "cityblock", 1)),
    **dict.fromkeys(("chebyshev", "chebychev", "cheby", "cheb", "ch"), partial(_lengths, "chebyshev", math.inf)),
    **dict.fromkeys(("sqeuclidean", "sqeuclid", "sqe"), _squares),
    **dict.fromkeys(("cosine", "cos"), partial(_angles, False)),
    **dict.fromkeys(("correlation", "co"), partial(_angles, True)),
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    **dict.fromkeys(("jensenshannon", "js"), _jensenshannon),
    **{
        name: partial(_counts, name)
        for name in ("hamming", "hamm", "ha", "h", "matching", "jaccard", "jacc", "ja", "j")
    },
    **{
        name: partial(_counts, name)
        for name in ("rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")
    },
}


def _measure(metric: Metric) -> _Measure | None:
    if isinstance(metric, StandardizedMetric):
        return partial(_standardized, metric)
    return _MEASURES.get(_name(metric))


# -- functions of one's own --------------------------------------------------------------------------------------------


def _asked(Z: Array, X: Array, metric: Any, radius: float) -> tuple[Array, Array]:
    """What a function says, and where that is a little more than the radius, what it says of coordinates that rounding moved.

    Its values count as right to rounding of themselves elsewhere.
    """
    # Under no name: a function called like a metric of scipy's would be handed that metric's parameters.
    asked = partial(metric) if callable(metric) and not _name(metric) else metric
    found = _cdist(Z, X, asked)
    least = found * (1 - ROUNDING)
    for i, j in np.argwhere((found > radius) & (found <= (1 + ROOM) * radius)):
        least[i, j] -= _rounded(Z[i], X[j], asked, float(found[i, j]))
    return found, least


def _rounded(z: Array, x: Array, asked: Any, found: float) -> float:
    """How much rounding of the coordinates of two points changes a function, to first order."""
    try:
        small, large = (np.abs(_moved_apart(z, x, asked, share) - found) for share in (SMALL, LARGE))
    except Exception:  # a function may know nothing but the points of its sample
        return 0.0
    small, large = (np.nan_to_num(change, posinf=0.0).max(axis=1) for change in (small, large))
    return float(np.minimum(small, JUMP * large).sum())


def _moved_apart(z: Array, x: Array, asked: Any, share: float) -> Array:
    """What a function says where a coordinate of either point is larger or smaller by a share of it: shape (2, 2, p)."""
    there, back = (
        rows + share * np.vstack([steps, -steps]) for rows, steps in ((v, np.diag(np.abs(v))) for v in (z, x))
    )
    said = np.concatenate([_cdist(there, x[None], asked)[:, 0], _cdist(z[None], back, asked)[0]])
    return said.reshape(2, 2, z.size)
