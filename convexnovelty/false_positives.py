r"""A threshold that calls few ordinary points novel, from the scores of ordinary points that were held out.

Let :math:`s_{(1)} \le \dots \le s_{(n)}` be the scores of n ordinary points that took no part in making the score. A
new ordinary point scores above :math:`s_{(k)}` with a probability that is at most that of a uniform variable above the
k-th of n uniform ones, whatever the distribution, and equal to it when scores have no ties:

.. math:: \mathbb E\,R_0 \le 1 - \frac{k}{n+1},\qquad
          \mathbb P\{R_0 > \alpha\} \le \mathbb P\{\text{Bin}(n, 1-\alpha) \ge k\}.

A score depends a little on the rows that are scored with it: products of matrices of other shapes round in another
order. Where points tie, as whole numbers do, that would make a point novel beside its own copy. Each held-out score is
therefore taken for larger by a slack, a tie of :func:`~convexnovelty.regions.spread`: 1e-7 of what tells most scores
apart and 1e-9 of their size. A higher threshold only calls fewer points novel, so that both statements remain true.

The first is a statement about the next point (conformal prediction), the second one about the threshold that was found
(Neyman-Pearson classification with a prescribed confidence).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from convexnovelty import validation
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.regions import SOLVED, TIE_TOLERANCE, Guarantee, spread
from convexnovelty.validation import Array, fraction, integer, nonnegative, number

__all__ = ["Calibration", "threshold_rank"]

# What rounding can do to alpha (n + 1) when it ought to be a whole number, as 0.29 * 100 = 28.999999999999996.
WHOLE = 1e-12


def threshold_rank(
    size: int, false_positive_rate: float, confidence: float | None = None, *, name: str = "false_positive_rate"
) -> int:
    r"""The smallest k for which the k-th smallest of ``size`` held-out scores keeps the rate.

    Parameters
    ----------
    size : n, how many ordinary points were held out.
    false_positive_rate : alpha, in (0, 1).
    confidence : None for a rate that holds on average over held-out points; a number in (0, 1) for a rate that holds
        for the threshold itself with this probability over the held-out points.
    name : what errors call the rate.

    Raises
    ------
    InputError when there are too few points for any threshold, with the number that would do, and for arguments that are none.

    Examples
    --------
    >>> threshold_rank(99, 0.05), threshold_rank(99, 0.05, confidence=0.95)
    (95, 98)
    """
    size, alpha = integer(size, "size", 0), fraction(false_positive_rate, name)
    if confidence is None:
        flagged = math.floor(alpha * (size + 1) * (1 + WHOLE))
        if flagged < 1:
            raise _too_few(name, size, alpha, _ceiling((1 - WHOLE) / alpha) - 1, "")
        return size + 1 - flagged
    delta = min((1 - fraction(confidence, "confidence")) * (1 + WHOLE), 1.0)
    needed = _needed(alpha, delta)
    if size < needed:
        raise _too_few(name, size, alpha, needed, f" with confidence {confidence:.6g}")
    rank = max(int(stats.binom.isf(delta, size, 1 - alpha)) + 1, 1)
    # The quantile comes from rounded tails; the tails themselves decide.
    while rank > 1 and exceeding(rank - 1, size, alpha) <= delta:
        rank -= 1
    while rank < size and exceeding(rank, size, alpha) > delta:
        rank += 1
    return rank


def exceeding(rank: int, size: int, alpha: float) -> float:
    """The probability that the threshold of this rank has a rate above alpha, for scores without ties."""
    return float(stats.binom.cdf(size - rank, size, alpha))


def _needed(alpha: float, delta: float) -> float:
    """The smallest n with (1 - alpha)^n <= delta: the largest score is then high enough."""
    n = max(1, _ceiling(math.log(delta) / math.log1p(-alpha) - 1e-6))
    return n if n > 10**12 or exceeding(int(n), int(n), alpha) <= delta else n + 1


def _ceiling(x: float) -> float:
    """The least whole number from x on, which is infinite where x has left float64."""
    return math.ceil(x) if x < math.inf else x


def _too_few(name: str, size: int, alpha: float, needed: float, how: str) -> InputError:
    told = f"{needed}" if needed < 10**9 else f"{needed:.3g}" if needed < math.inf else "more than 1e308"
    return InputError(
        f"{name}: {alpha:.6g} was found with {size} held-out nominal point(s); a threshold that keeps "
        f"it{how} needs at least {told} of them, or a larger rate"
    )


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""A threshold on scores at a false-positive rate. A point is called novel when it scores strictly above it.

    Parameters
    ----------
    scores : (n,) scores of held-out ordinary points, larger for more novel ones. Ties are welcome. The attribute has
        them in rising order.
    false_positive_rate, confidence : as in :func:`threshold_rank`.
    scale : of what else the slack must be a tie: the spread of the scores learnt from, where that is known.

    Attributes
    ----------
    slack : what rounding may do to a score; held-out scores count as larger by it.
    rank : k; the threshold is the k-th smallest score and the slack.
    threshold : the score above which a point is called novel.
    bound : what is guaranteed: the mean rate 1 - k / (n + 1), or alpha when a confidence was asked for.

    Examples
    --------
    >>> calibration = Calibration([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5, 8.0], 0.2)
    >>> round(calibration.threshold, 5), calibration.bound
    (8.0, 0.2)
    >>> calibration.p_values([8.0, 8.5, 10.0])
    array([0.3, 0.2, 0.1])
    """

    scores: Array = field(repr=False)
    false_positive_rate: float
    confidence: float | None = None
    scale: float = 0.0
    slack: float = field(init=False)
    rank: int = field(init=False)
    threshold: float = field(init=False)

    def __post_init__(self) -> None:
        ordered = np.sort(validation.scores(self.scores, "scores"))
        apart = max(spread(ordered, exact=True), nonnegative(self.scale, "scale"))
        slack = TIE_TOLERANCE * apart + SOLVED * float(np.median(np.abs(ordered)))
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "scores", read_only(ordered))
        for name in ("false_positive_rate", "confidence"):
            given = getattr(self, name)
            object.__setattr__(self, name, given if given is None else number(given, name))
        rank = threshold_rank(ordered.size, self.false_positive_rate, self.confidence)
        object.__setattr__(self, "rank", rank)
        object.__setattr__(self, "threshold", float(ordered[rank - 1] + slack))

    @property
    def size(self) -> int:
        """n, how many ordinary points were held out."""
        return int(self.scores.size)

    @property
    def bound(self) -> float:
        """The guaranteed rate of false positives."""
        return (
            (self.size + 1 - self.rank) / (self.size + 1)
            if self.confidence is None
            else float(self.false_positive_rate)
        )

    @property
    def guarantee(self) -> Guarantee:
        """What holds of new ordinary points, as a sentence."""
        if self.confidence is None:
            return Guarantee(
                f"P(an ordinary point is called novel) <= {self.bound:.6g}, over {self.size} held-out ordinary points "
                f"and the new one",
                self.bound,
                "every distribution of ordinary points",
            )
        return Guarantee(
            f"with confidence {self.confidence:.6g} over {self.size} held-out ordinary points, P(an ordinary point is "
            f"called novel) <= {self.bound:.6g}",
            self.bound,
            "every distribution of ordinary points",
        )

    def novel(self, scores: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which scores are called novel; those up to the threshold, which has the slack, are not."""
        return np.asarray(validation.scores(scores, "scores") > self.threshold)

    def p_values(self, scores: Any) -> Array:
        r"""(1 + number of held-out scores that are, with the slack, at least s) / (n + 1) for each score s.

        For an ordinary point it is at most p with probability at most p. Without a confidence a point is called novel
        exactly when its p-value is at most alpha.
        """
        given = validation.scores(scores, "scores")
        at_least = self.size - np.searchsorted(self.scores + self.slack, given, side="left")
        return np.asarray((1.0 + at_least) / (self.size + 1))
