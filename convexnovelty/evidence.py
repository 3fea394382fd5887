r"""What two samples of scores say about the share of novelties, threshold by threshold.

For the classifier :math:`f_t(z) = 1 \iff s(z) > t` let :math:`L_t \le P_X(f_t = 1)` and :math:`U_t \ge P_0(f_t = 1)`
hold for all t at once with the stated confidence. Then

.. math:: L_t \le P_X(f_t = 1) \le (1-\pi) P_0(f_t = 1) + \pi \le (1-\pi) U_t + \pi
          \quad\Rightarrow\quad \pi \ge \frac{L_t - U_t}{1 - U_t} \quad\text{where } U_t < 1.

With one margin for all sets this is theorem 5 of Scott and Blanchard (2009): :math:`L = 1 - \hat R_X - \varepsilon_n`
and :math:`U = \hat R_0 + \varepsilon_m`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convexnovelty.algorithms.roc import exceedances
from convexnovelty.columns import by_name, names_of
from convexnovelty.deviations import Allots, Deviation
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.validation import Array, in_order, numeric, points, vector

__all__ = ["DIRECTIONS", "Direction", "Evidence", "ThresholdClassifier", "evidence"]

Direction = Literal["high", "low", "either"]
DIRECTIONS: tuple[Direction, ...] = ("high", "low", "either")

# How many ranks of nominal scores serve as thresholds where a finite class needs thresholds fixed beforehand.
RANKS = 20
# 1 - U below this is rounding of zero. L - U is then negative, so that nothing is lost by discarding the classifier.
NOTHING_LEFT = 1e-12
SMALLEST_ERROR = 1e-300
# Scores that differ by less than the first share of themselves, or the second of their median, are one score.
ONE_SCORE, ONE_NUMBER = 1e-12, 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ThresholdClassifier:
    """Calls novel what scores strictly above ``threshold``, or strictly below it if ``novel`` is "low".

    ``column`` is the column of scores that it looks at, where there are several.
    """

    threshold: float
    novel: Literal["high", "low"] = "high"
    column: int = 0

    def __call__(self, scores: Any) -> NDArray[np.bool_]:
        """Whether each score is called novel; a matrix of scores is read in the classifier's column."""
        array = numeric(scores, "scores")
        in_order(scores, "scores")
        chosen = array[:, self.column] if array.ndim == 2 else array
        return np.asarray(chosen > self.threshold if self.novel == "high" else chosen < self.threshold)


@dataclass(frozen=True, eq=False)
class _Group:
    """Thresholds of one column of scores in one direction, the bound that covers them and its share of the error."""

    column: int
    sign: float
    deviation: Deviation
    share: float
    thresholds: Array
    nominal: NDArray[np.int64]
    unlabelled: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts above every threshold that is looked at, and the bounds that they give at each probability of error.

    ``thresholds``, ``nominal_counts``, ``unlabelled_counts`` have shape (k,): all classifiers of all columns in a row.
    """

    groups: tuple[_Group, ...]
    nominal_size: int
    unlabelled_size: int
    thresholds: Array = field(init=False)
    nominal_counts: NDArray[np.int64] = field(init=False)
    unlabelled_counts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        for name, part in (
            ("thresholds", "thresholds"),
            ("nominal_counts", "nominal"),
            ("unlabelled_counts", "unlabelled"),
        ):
            joined = np.concatenate([getattr(group, part) for group in self.groups])
            object.__setattr__(self, name, read_only(joined))

    @property
    def claim(self) -> str:
        """For which classifiers the bounds hold."""
        claims = list(dict.fromkeys(group.deviation.claim for group in self.groups))
        return claims[0] if len(claims) == 1 else f"{len(claims)} classes of classifiers"

    def bounds(self, delta: float) -> tuple[Array, Array]:
        """L and U of shape (k,): below the unlabelled and above the nominal probability of "novel", all at once.

        ``delta`` is the probability that any of them fails. Half of it goes to each sample: both must hold.
        """
        lower, upper = [], []
        for group in self.groups:
            each = max(delta * group.share / 2, SMALLEST_ERROR)
            lower.append(group.deviation.lower(group.unlabelled, self.unlabelled_size, each))
            upper.append(group.deviation.upper(group.nominal, self.nominal_size, each))
        return np.concatenate(lower), np.concatenate(upper)

    def fractions(self, delta: float) -> tuple[Array, Array]:
        """Numerators L - U and denominators 1 - U of shape (k,); a discarded classifier has -1 and 0.

        The pair -1 and 0 keeps a discarded classifier out of the linear program: it costs, and counts for nothing.
        """
        lower, upper = self.bounds(delta)
        kept = 1 - upper > NOTHING_LEFT
        return np.where(kept, lower - upper, -1.0), np.where(kept, 1 - upper, 0.0)

    def ratios(self, delta: float) -> Array:
        """The bound of each classifier, of shape (k,); minus infinity where it is discarded."""
        numerators, denominators = self.fractions(delta)
        kept = denominators > 0
        return np.where(kept, numerators / np.where(kept, denominators, 1.0), -np.inf)

    def supremum(self, delta: float) -> float:
        """The largest bound of any classifier: theorem 5. Minus infinity when all are discarded."""
        return min(1.0, float(self.ratios(delta).max()))

    def best(self, ratios: Array) -> int:
        """Of the classifiers with the largest bound, the one that calls the fewest unlabelled points novel."""
        ties = np.flatnonzero(ratios >= ratios.max())
        return int(ties[np.lexsort((self.nominal_counts[ties], self.unlabelled_counts[ties]))[0]])

    def classifier(self, index: int) -> ThresholdClassifier:
        """The classifier of this index, in the user's direction."""
        for group in self.groups:
            if index < group.thresholds.size:
                return ThresholdClassifier(
                    float(group.sign * group.thresholds[index]), "high" if group.sign > 0 else "low", group.column
                )
            index -= group.thresholds.size
        raise IndexError(index)

    @property
    def columns(self) -> int:
        """How many columns of scores there are."""
        return 1 + max(group.column for group in self.groups)

    def p_value(self, proportion: float) -> float:
        """The smallest probability of error at which the bound exceeds ``proportion``; one if none does.

        The bound grows with the probability of error, so the two ends of an interval that holds the answer are brought
        together; the upper end is returned.
        """
        low, high = math.log(SMALLEST_ERROR), 0.0
        if not self.supremum(1.0) > proportion:
            return 1.0
        if self.supremum(math.exp(low)) > proportion:
            return math.exp(low)
        while high - low > 1e-13 * max(1.0, -high):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (low, middle) if self.supremum(math.exp(middle)) > proportion else (middle, high)
        return math.exp(high)


def evidence(
    scores_nominal: Any, scores_unlabelled: Any, deviation: Allots, thresholds: Any = None, novel: Direction = "high"
) -> Evidence:
    """Count both samples at every threshold that the deviation bound covers.

    A bound for all thresholds is asked at every distinct score. A finite class needs classifiers that were chosen
    beforehand: the ``thresholds`` that are given, or else fixed ranks of the nominal sample. Of the latter the bounds
    hold as well, for the probability of exceeding the k-th smallest of m points has the law of which Clopper and
    Pearson's limit for m - k exceedances is a quantile; and given the nominal sample they are fixed for the other one.

    Frames of several scores are matched by the names of their columns.

    Scores that agree but for rounding count as equal: the same point scored in two batches must not seem two points.
    """
    if not isinstance(novel, str) or novel not in DIRECTIONS:
        raise InputError(f"novel: {novel!r} was found; give 'high' if larger scores are more novel, 'low', or 'either'")
    names = names_of(scores_nominal)
    if names is not None and len(names) > 1:  # one column is that of the other, whatever it is called
        scores_unlabelled = by_name(scores_unlabelled, "scores_unlabelled", names, "scores_nominal")
    nominal, unlabelled = _columns(scores_nominal, "scores_nominal"), _columns(scores_unlabelled, "scores_unlabelled")
    if nominal.shape[1] != unlabelled.shape[1]:
        raise InputError(
            f"scores_unlabelled: {unlabelled.shape[1]} column(s) were found where scores_nominal has {nominal.shape[1]}"
        )
    if isinstance(deviation, type) or not hasattr(deviation, "allotments"):
        raise InputError(f"deviation: {deviation!r} was found; give a deviation bound such as DKW()")
    given = None if thresholds is None else vector(thresholds, "thresholds")
    if given is not None and nominal.shape[1] > 1:
        raise InputError("thresholds: they belong to one score; give one column of scores, or no thresholds")
    signs = {"high": (1.0,), "low": (-1.0,), "either": (1.0, -1.0)}[novel]
    groups = []
    for column, (bound, share) in enumerate(deviation.allotments(nominal.shape[1])):
        for sign in signs:
            ours, theirs = _tied(sign * nominal[:, column], sign * unlabelled[:, column])
            groups.append(
                _group(column, sign, bound, share / len(signs), ours, theirs, None if given is None else sign * given)
            )
    return Evidence(tuple(groups), nominal.shape[0], unlabelled.shape[0])


def _tied(nominal: Array, unlabelled: Array) -> tuple[Array, Array]:
    """Both samples with each run of scores that rounding alone tells apart replaced by the largest of the run.

    The thresholds that are left are some of those that were there, between runs, so that no bound becomes false.
    """
    values = np.unique(np.concatenate([nominal, unlabelled]))
    if values.size < 2:
        return nominal, unlabelled
    least = ONE_NUMBER * float(np.median(np.abs(values)))
    apart = np.diff(values) > np.maximum(ONE_SCORE * np.maximum(np.abs(values[1:]), np.abs(values[:-1])), least)
    last = np.append(apart, True)
    ends = values[last]
    return ends[np.searchsorted(ends, nominal)], ends[np.searchsorted(ends, unlabelled)]


def _columns(scores: Any, name: str) -> Array:
    try:
        shape = np.shape(scores)
    except ValueError:  # rows of unequal length: `vector` says so in the package's words
        shape = ()
    found = points(scores, name) if len(shape) == 2 and shape[1] > 1 else vector(scores, name)[:, None]
    in_order(scores, name)
    return found


def _group(
    column: int, sign: float, bound: Deviation, share: float, nominal: Array, unlabelled: Array, given: Array | None
) -> _Group:
    if given is not None:
        thresholds = np.unique(given)
        counts = exceedances(nominal, thresholds)
    elif bound.finite:
        counts = _ranks(nominal.size, getattr(bound, "size", None) or RANKS)
        # The count is that of the rank, also where ties leave fewer points above the threshold: the rank is what was
        # fixed beforehand, and how many ties there are was not.
        thresholds = np.sort(nominal)[nominal.size - 1 - counts]
    else:
        thresholds = np.unique(np.concatenate([nominal, unlabelled]))
        counts = exceedances(nominal, thresholds)
    return _Group(
        column, sign, bound.over(thresholds.size), share, thresholds, counts, exceedances(unlabelled, thresholds)
    )


def _ranks(size: int, number: int) -> NDArray[np.int64]:
    """Numbers of exceedances from 0 to below ``size``, evenly spaced where a binomial's rates are equally uncertain."""
    angles = np.arange(number) * (np.pi / 2 / number)
    return np.unique(np.minimum(np.round(size * np.sin(angles) ** 2), size - 1)).astype(np.int64)
