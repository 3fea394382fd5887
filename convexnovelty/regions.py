r"""What a solution says about new points: a region with signed decision values, and what is guaranteed of it.

A region is a level set, :math:`f(z) = s(z) - \text{level} \ge 0`. Points on its boundary belong to it: the support
vectors of a solution lie there by construction, and rounding must not throw them out.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError
from convexnovelty.estimates import sparse_points
from convexnovelty.owned import owned
from convexnovelty.validation import Array, nonnegative, number, points, squarable, vector

__all__ = [
    "TIE_TOLERANCE",
    "Ball",
    "Guarantee",
    "HalfSpace",
    "Interval",
    "Region",
    "ScoreThreshold",
    "outside_span",
    "spread",
]

# Values above -TIE_TOLERANCE * scale count as zero: what a solver at its usual accuracy leaves on the boundary.
TIE_TOLERANCE = 1e-7

# Scores that are all alike differ by what an exact algorithm, or a conic solver, leaves of their common size.
EXACT, SOLVED = 1e-12, 1e-9

# Ties below its level within which a solver may leave points that lie on the boundary: an error of an optimum is a root of it in the point.
# On sixty benign samples Clarabel left up to 96, and the next points lay 200,000 off.
STRAY = 500.0

# What sums of shares are known to.
SHARE_ROUNDING = 1e-12

# How many times as much they may differ and still be alike: those of support vectors on the boundary are one number.
ALIKE = 1e3

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)

# Of k(z, z) - ||c(z)||^2, the share that is rounding of the factorisation and no distance from the sample's span.
OUTSIDE_SPAN = 1e-12


def spread(
    scores: Any,
    shares: Any = None,
    *,
    exact: bool = False,
    level: float | None = None,
    terms: Any = None,
    apart: Any = None,
    beyond: Any = None,
) -> float:
    """The scale of training scores, of which ``TIE_TOLERANCE`` is a tie: what tells most of them apart, and a little of their size.

    That is twice the shortest interval that holds more than half of the scores, at most their range; where these are alike,
    of three quarters and so on. A range would be the distance of the farthest score, and a single row that is far enough, as
    rows are that an outlier fraction is there for, would make ties of everything else. Sentences, regions and the
    thresholds of estimators all count with it: a point is outside for all of them or for none. ``shares`` (n,) are those of
    the points in the sample, equal ones by default; one without a share is none. Beside a ``level`` the tie covers what a solver's
    point has left below it of the boundary, up to ``STRAY`` ties, and no more where there is nothing. ``terms`` (n,) are the sizes of
    what each score is a sum of, of which that of the score at the level is the scale at most, however far most points are.
    ``apart`` (n,) are those of its difference from the score at the level: an error of the plane moves no difference by more than
    its share of these, and what all scores have in common, as those of points far from the origin do, is no size of theirs.
    ``beyond`` (n,) says of which points multipliers show that they lie below the level: none of these has strayed there.
    """
    given = np.asarray(scores, dtype=float).ravel()
    parts = np.full(given.size, 1.0) if shares is None else np.asarray(shares, dtype=float)
    counted = parts > 0
    given, parts = given[counted], parts[counted]
    may_stray = np.ones(given.size, dtype=bool) if beyond is None else ~np.asarray(beyond)[counted]
    if not given.size:
        return 0.0
    size, left = _middle(np.abs(given), parts), EXACT if exact else SOLVED
    if apart is not None:
        away = np.asarray(apart, dtype=float)[counted]
        # Copies of the point at the level say nothing of how far others are.
        size = min(size, _middle(away[away > 0], parts[away > 0]) if away.any() else 0.0)
    order = np.argsort(given, kind="stable")
    given, parts, may_stray = given[order], parts[order] / parts.sum(), may_stray[order]
    whole, without = float(given[-1] - given[0]), 0.5
    width = _shortest(given, parts, without)
    while without > parts.min() / 2 and width <= ALIKE * left * size:
        without /= 2
        width = _shortest(given, parts, without)
    scale = min(whole, 2.0 * width) + left / TIE_TOLERANCE * size
    if level is None:
        return scale
    if terms is not None:
        scale = min(scale, float(np.asarray(terms)[np.argmin(np.abs(np.asarray(scores) - level))]))
    strayed = given[may_stray & (given < level) & (given >= level - STRAY * TIE_TOLERANCE * scale)]
    return max(scale, (1 + SOLVED) * (level - float(strayed[0])) / TIE_TOLERANCE) if strayed.size else scale


def _middle(sizes: Array, parts: Array) -> float:
    """The size that half of the weight has at most."""
    order = np.argsort(sizes, kind="stable")
    upto = np.cumsum(parts[order] / parts.sum())
    return float(sizes[order[int(np.searchsorted(upto, 0.5 - SHARE_ROUNDING))]])


def _shortest(ordered: Array, parts: Array, without: float) -> float:
    """The length of the shortest interval whose scores have more than all of the weight but so much."""
    upto = np.cumsum(parts)
    wanted = upto - parts + 1.0 - without
    ends = np.searchsorted(upto, wanted + SHARE_ROUNDING, side="left")
    starts = np.flatnonzero(ends < ordered.size)
    return float((ordered[ends[starts]] - ordered[starts]).min()) if starts.size else float(ordered[-1] - ordered[0])


class Region(ABC):
    """A set of ordinary points, as the points with a decision value of at least zero.

    Laws
    ----
    - ``region.contains(Z) == (region.decision_values(Z) >= -tie)`` for a small tie that depends on no other row.
    - ``region.decision_values(Z) + region.level`` is the score s(z), larger for more ordinary points.
    - Rows are judged one by one: ``region.decision_values(Z)[i] == region.decision_values(Z[i:i + 1])[0]`` up to
      rounding.

    Attributes
    ----------
    tolerance : ties count as inside, up to ``tolerance * scale``.
    scale : the size of decision values that matters; None means ``|level|``. A method whose points lie far from
        the origin compared with their spread gives the spread of its decision values here.
    """

    tolerance: float
    scale: float | None

    @property
    @abstractmethod
    def level(self) -> float:
        """The threshold on the score."""

    @abstractmethod
    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """f(z) of shape (m,): at least zero inside, negative outside."""

    @abstractmethod
    def rounding(self, Z: Any) -> Array | float:
        """What rounding alone can do to each decision value."""

    def contains(self, Z: Any, squared_norms: Any = None) -> NDArray[np.bool_]:
        """Whether each row lies in the region, of shape (m,); points on the boundary do."""
        return np.asarray(self.decision_values(Z, squared_norms) >= -(self.tie + self.rounding(Z)))

    @property
    def tie(self) -> float:
        """How far below zero a decision value counts as zero, beside rounding."""
        return self.tolerance * (abs(self.level) if self.scale is None else self.scale)

    def _check(self) -> None:
        object.__setattr__(self, "tolerance", nonnegative(self.tolerance, "tolerance"))
        if self.scale is not None:
            object.__setattr__(self, "scale", nonnegative(self.scale, "scale"))


@dataclass(frozen=True, eq=False)
class HalfSpace(Region):
    r"""The half-space :math:`\{z : a'z \ge b\}` with normal a of shape (r,) and offset b; f(z) = a'z - b.

    Examples
    --------
    >>> HalfSpace([1.0, 1.0], 2.0).contains([[1.0, 1.0], [1.0, 0.0]]).tolist()
    [True, False]
    """

    normal: Array
    offset: float
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", owned(vector(self.normal, "normal")))
        object.__setattr__(self, "offset", number(self.offset, "offset"))
        self._check()

    @property
    def level(self) -> float:
        """The offset b."""
        return self.offset

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """a'z - b of shape (m,); ``squared_norms`` is not needed. ``Z`` may be scipy sparse, and is not expanded."""
        return np.asarray(_rows_or_sparse(Z, self.normal.size) @ self.normal - self.offset)

    def rounding(self, Z: Any) -> Array:
        """Proportional to the terms of the sum, which may be far larger than the sum."""
        terms = abs(_rows_or_sparse(Z, self.normal.size)) @ np.abs(self.normal)
        return np.asarray(ROUNDING * (terms + abs(self.offset)))


def outside_span(rows: Array, squared_norms: Array) -> Array:
    """What k(z, z) has beyond the squared length of the coordinates, of shape (m,); rounding counts as nothing."""
    beyond = squared_norms - np.einsum("ij,ij->i", rows, rows)
    return np.asarray(np.where(beyond > OUTSIDE_SPAN * np.abs(squared_norms), beyond, 0.0))


@dataclass(frozen=True, eq=False)
class Ball(Region):
    r"""The ball :math:`\{z : \|z - c\|^2 \le R^2\}` with centre c of shape (r,); :math:`f(z) = R^2 - \|z - c\|^2`.

    In the feature space of a kernel a new point has a part outside the sample's span, which no coordinate shows, but
    which the distance contains: :math:`\|\varphi(z) - c\|^2 = \|c(z) - c\|^2 + k(z, z) - \|c(z)\|^2`. With
    ``needs_norms`` the values k(z, z) are asked for, in ``squared_norms`` or carried by the Coordinates.
    """

    center: Array
    squared_radius: float
    needs_norms: bool = False
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", owned(vector(self.center, "center")))
        object.__setattr__(self, "squared_radius", nonnegative(self.squared_radius, "squared_radius"))
        self._check()

    @property
    def level(self) -> float:
        """Minus the squared radius: the score is minus the squared distance."""
        return -self.squared_radius

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """R^2 - ||z - c||^2 of shape (m,).

        Raises InputError if k(z, z) is needed and neither given nor carried.
        """
        rows = squarable(_rows(Z, self.center.size), "Z", new=True)
        away = rows - self.center
        distances = np.einsum("ij,ij->i", away, away)
        if squared_norms is None and self.needs_norms:
            squared_norms = getattr(Z, "squared_norms", None)
            if squared_norms is None:
                raise InputError(
                    "squared_norms: None was found, but in a kernel's feature space the distance needs k(z, z); pass "
                    "squared_norms=features.squared_norms(Z), or the Coordinates that features.coordinates(Z) returns"
                )
        if squared_norms is not None:
            norms = vector(squared_norms, "squared_norms", rows.shape[0])
            distances += outside_span(rows, norms)
        return np.asarray(self.squared_radius - distances)

    def rounding(self, Z: Any) -> Array:
        """A rounding of the coordinates times the distance; with k(z, z), one of that too."""
        rows = _rows(Z, self.center.size)
        lengths = np.linalg.norm(rows, axis=1) + float(np.linalg.norm(self.center))
        error = ROUNDING * lengths * (np.linalg.norm(rows - self.center, axis=1) + ROUNDING * lengths)
        return np.asarray(error + ROUNDING * lengths**2) if self.needs_norms else np.asarray(error)


@dataclass(frozen=True, eq=False)
class ScoreThreshold(Region):
    """The points whose score is at least a threshold; ``score`` maps (m, p) to (m,), larger for ordinary points."""

    score: Callable[[Any], Any] = field(repr=False)
    threshold: float
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.score):
            raise InputError(f"score: {self.score!r} was found; give a function from points to scores")
        object.__setattr__(self, "threshold", number(self.threshold, "threshold"))
        self._check()

    @property
    def level(self) -> float:
        """The threshold."""
        return self.threshold

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """Score minus threshold, of shape (m,)."""
        rows = points(Z, "Z")
        return vector(self.score(Z if isinstance(Z, np.ndarray) else rows), "score(Z)", rows.shape[0]) - self.threshold

    def rounding(self, Z: Any) -> float:
        """That of the threshold; nothing is known of how the score is computed."""
        return ROUNDING * abs(self.threshold)


class Guarantee(str):
    """A sentence on a solution that holds for certain, with the number in it.

    Attributes
    ----------
    bound : the number, for example the largest probability of the outside.
    claim : for whom it holds, for example "every distribution with this mean and covariance".
    """

    bound: float
    claim: str

    def __new__(cls, text: str, bound: float = math.nan, claim: str = "") -> Guarantee:
        """The sentence ``text``; without ``claim`` the sentence itself is the claim."""
        guarantee = super().__new__(cls, text)
        guarantee.bound = float(bound)
        guarantee.claim = claim or str(text)
        return guarantee

    @classmethod
    def outside(cls, bound: float, claim: str) -> Guarantee:
        """The guarantee "P(outside) <= bound for claim"."""
        return cls(f"P(outside) <= {bound:.6g} for {claim}", bound, claim)

    @property
    def counts(self) -> bool:
        """Whether the sentence counts the training points outside, of whose weight ``bound`` is then the largest share."""
        return self.recounted(0, 0.0) is not self

    def recounted(self, outside: int, weight: float | None = None) -> Guarantee:
        """The same sentence with another number of training points outside, or share of their weight; else as it is."""
        text, found = re.subn(r"^\d+(?= of \d+ training points lie outside)", str(outside), str(self))
        if weight is not None and not found:
            share = r"(?<=^training points of )\S+(?= of the weight lie outside)"
            text, found = re.subn(share, f"{weight:.6g}", str(self))
        claim = text if self.claim == str(self) else self.claim
        return Guarantee(text, self.bound, claim) if found else self

    def __getnewargs__(self) -> tuple[str, float, str]:  # type: ignore[override]
        return str(self), self.bound, self.claim


@dataclass(frozen=True)
class Interval:
    """All optimal values of an offset, which may be many, and the one that is ``used``.

    Both ends are equally optimal where they differ, so two solvers that return different offsets in it agree. The
    upper end may be infinite.
    """

    lower: float
    upper: float
    used: float

    def __post_init__(self) -> None:
        if any(math.isnan(value) for value in (self.lower, self.upper, self.used)):
            raise InputError(f"interval: {self.lower}, {self.upper}, {self.used} were found; NaN is no offset")
        slack = 1e-9 * max((abs(v) for v in (self.lower, self.upper, self.used) if math.isfinite(v)), default=0.0)
        if not (self.lower - slack <= self.used <= self.upper + slack):
            raise InputError(f"interval: {self.used} was found as the value used in [{self.lower}, {self.upper}]")

    @property
    def width(self) -> float:
        """The length of the interval; 0 for a unique offset."""
        return max(0.0, self.upper - self.lower)

    @property
    def end(self) -> str:
        """Which value is used: "unique", "lower", "upper" or "inside"."""
        if self.lower == self.upper:
            return "unique"
        return {self.lower: "lower", self.upper: "upper"}.get(self.used, "inside")

    def contains(self, value: float, tolerance: float = 1e-8) -> bool:
        """Whether a value is optimal too, up to ``tolerance`` relative to the larger finite end."""
        scale = max((abs(v) for v in (self.lower, self.upper) if math.isfinite(v)), default=0.0)
        return bool(self.lower - tolerance * scale <= value <= self.upper + tolerance * scale)

    def __float__(self) -> float:
        return float(self.used)


def _rows(Z: Any, columns: int) -> Array:
    rows = points(Z, "Z")
    if rows.shape[1] != columns:
        raise InputError(f"Z: {rows.shape[1]} columns were found where the region has {columns} coordinates")
    return rows


def _rows_or_sparse(Z: Any, columns: int) -> Any:
    """Rows as they are: a half-space of 50,000 features judges sparse points without expanding them."""
    if not (hasattr(Z, "nnz") and hasattr(Z, "toarray")):
        return _rows(Z, columns)
    if Z.shape[1] != columns:
        raise InputError(f"Z: {Z.shape[1]} columns were found where the region has {columns} coordinates")
    return sparse_points(Z, "Z").tocsr()
