"""The feasible set that the dual solvers share, in signed coordinates b = y a, and what optimality means on it.

With signs y of -1 and 1 the constraints y'a = d, 0 <= a <= C become a fixed sum of b between a lower and an upper
bound, and the sign disappears from every algorithm. The objective's matrix becomes the plain Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError
from convexnovelty.validation import Array, numeric, vector

__all__ = ["Box", "Indices", "Offset", "extended", "kkt_gap", "kkt_offset", "unexplained_gap"]

Indices = NDArray[np.intp]

SUM_ROUNDING = 1e-12  # relative: how far n copies of 1/(nu n) may be from their exact sum


class Offset(NamedTuple):
    """The values of the equality's multiplier rho that optimality admits, and the one that is used.

    With a coordinate between its bounds both ends agree (8.16). Without one, every value of the interval is optimal;
    used is the lower end, the largest f over the support vectors with which the chapter starts its iteration, so that
    the fewest training points lie below.
    """

    lower: float
    upper: float
    used: float


@dataclass(frozen=True)
class Box:
    """lower <= b <= upper, with the sum of b equal to ``total`` unless that is None."""

    lower: Array
    upper: Array
    total: float | None
    signs: Array

    @classmethod
    def of(cls, size: int, upper: Any, y: Any = None, total: float | None = None) -> Box:
        """The box of 0 <= a <= upper and y'a = total; refuses bounds that are negative and totals out of reach."""
        bound = _upper(upper, size)
        if y is None:
            box = cls(np.zeros(size), bound, total, np.ones(size))
        else:
            signs = vector(y, "y", size)
            wrong = signs[np.abs(signs) != 1.0]
            if wrong.size:
                raise InputError(f"y: {wrong[0]:.6g} was found; give entries -1 and 1 only")
            box = cls(np.where(signs > 0, 0.0, -bound), np.where(signs > 0, bound, 0.0), total, signs)
        box._reachable()
        return box

    def _reachable(self) -> None:
        if self.total is None:
            return
        least, most = float(self.lower.sum()), float(self.upper.sum())
        slack = SUM_ROUNDING * sum(abs(end) for end in (least, most) if np.isfinite(end))
        if not least - slack <= self.total <= most + slack:
            raise InputError(
                f"upper: y'a lies between {least:.6g} and {most:.6g} for 0 <= a <= upper, and d = {self.total:.6g} was "
                "asked for; raise the upper bounds (for a one-class SVM they are 1/(nu n), and nu is at most 1)"
            )

    def feasible(self, guess: Array, order: Indices) -> Array:
        """The guess clipped to the box, then changed coordinate by coordinate in this order until the sum is right."""
        b = np.clip(guess, self.lower, self.upper)
        if self.total is None:
            return b
        missing = self.total - float(b.sum())
        if missing == 0.0:
            return b
        bound = self.upper if missing > 0 else self.lower
        room = np.abs(bound - b)[order]
        reached = np.cumsum(room)
        count = int(np.searchsorted(reached, abs(missing)))
        b[order[:count]] = bound[order[:count]]
        if count < order.size:
            rest = abs(missing) - (float(reached[count - 1]) if count else 0.0)
            last = order[count]
            moved = np.clip(b[last] + np.copysign(rest, missing), self.lower[last], self.upper[last])
            # What rounding leaves between a coordinate and its bound would pass for room to move in.
            dust = order.size * np.finfo(float).eps * abs(missing)
            if rest > dust:
                b[last] = bound[last] if abs(bound[last] - moved) <= dust else moved
        return b

    def threshold(self, score: Array) -> Array:
        """The point that optimality asks for if ``score`` were the gradient, with its multiplier chosen for the sum.

        Coordinates are at their upper bound below a threshold and at their lower bound above it. Bounds are finite.
        """
        width = self.upper - self.lower
        missing = (self.total or 0.0) - float(self.lower.sum())
        least = width.min()
        if least > 0.0 and least == width.max():
            # Equal widths, the usual case: a selection in place of a sort.
            count = min(int(missing / least), score.size - 1)
            order = np.argpartition(score, count)[: count + 1]
        else:
            order = np.argsort(score)
            order = order[: int(np.searchsorted(np.cumsum(width[order]), missing)) + 1]
        b = self.lower.copy()
        b[order[:-1]] = self.upper[order[:-1]]
        last = order[-1]
        b[last] = min(self.lower[last] + missing - float(width[order[:-1]].sum()), self.upper[last])
        return b

    def part(self, points: Indices) -> Box:
        """The box of some of the coordinates, as wide as needed for the same total: a model of the whole."""
        lower, upper = self.lower[points], self.upper[points]
        factor = len(self.lower) / len(points)
        if self.total is not None and self.total != 0.0:
            reach = float((upper if self.total > 0 else lower).sum())
            factor = max(factor, self.total / reach if reach else 1.0)
        # Where there is no width nothing grows: 0 stays 0 and infinity stays infinity.
        return Box(factor * lower, factor * upper, self.total, self.signs[points])

    def extended(self, length: int) -> Box:
        """The box with coordinates added that are fixed at zero, up to ``length``."""
        return Box(
            extended(self.lower, length), extended(self.upper, length), self.total, extended(self.signs, length, 1.0)
        )

    def free(self, b: Array) -> Indices:
        """The coordinates strictly between their bounds."""
        return np.flatnonzero((b > self.lower) & (b < self.upper))

    def movable(self, b: Array, gradient: Array, rho: float, tolerance: float) -> Indices:
        """The free coordinates, and those at a bound that would leave it by more than the tolerance."""
        return np.flatnonzero(
            ((b > self.lower) & ((b < self.upper) | (gradient > rho + tolerance)))
            | ((b < self.upper) & (gradient < rho - tolerance))
        )


def extended(values: Array, length: int, filling: float = 0.0) -> Array:
    """The vector with entries added at its end; a plain function because ``np.pad`` costs as much as a small solve."""
    if values.size == length:
        return values
    longer = np.full(length, filling)
    longer[: values.size] = values
    return longer


def kkt_gap(gradient: Array, b: Array, box: Box) -> float:
    """The violation of the optimality conditions in the units of the gradient; zero exactly at a minimum.

    With the equality: the largest gradient of a coordinate that may shrink less the least of one that may grow, m - M
    of the SVM literature. Without it: the largest projected gradient.
    """
    return kkt_offset(gradient, b, box)[0]


def unexplained_gap(gradient: Array, a: Array, upper: Any, rounding: Array) -> float:
    """The gap of multipliers between zero and ``upper`` beyond what ``rounding`` (n,) of the gradient explains."""
    low = float((gradient - rounding)[a > 0].max(initial=-np.inf))
    high = float((gradient + rounding)[a < upper].min(initial=np.inf))
    return max(low - high, 0.0)


def kkt_offset(gradient: Array, b: Array, box: Box) -> tuple[float, Offset]:
    """The KKT gap and the interval of the multiplier of the sum; within a positive gap the ends are exchanged.

    Without the equality the multiplier is zero.
    """
    shrinks, grows = b > box.lower, b < box.upper
    low = float(gradient[shrinks].max(initial=-np.inf))
    high = float(gradient[grows].min(initial=np.inf))
    if box.total is None:
        return max(low, -high, 0.0), Offset(0.0, 0.0, 0.0)
    free = gradient[shrinks & grows]
    if free.size:
        used = float(free.mean())
    else:
        # Nothing can shrink: the only finite end is the other one. Nothing can move at all: any number will do.
        used = low if np.isfinite(low) else high if np.isfinite(high) else 0.0
    return max(low - high, 0.0), Offset(min(low, high), max(low, high), used)


def _upper(upper: Any, size: int) -> Array:
    """Upper bounds as a vector; infinity is allowed, and a negative one is named by its position."""
    values = numeric(upper, "upper", finite=False)
    if values.ndim and values.size != size:
        raise InputError(f"upper: length {values.size} was found where {size} is needed; or give one number for all")
    bound = values.ravel().copy() if values.ndim else np.full(size, values)
    if not bound.min(initial=0.0) >= 0.0:
        wrong = np.flatnonzero(~(bound >= 0.0))
        raise InputError(f"upper: {bound[wrong[0]]:.6g} was found at position {wrong[0]}; give numbers of at least 0")
    return bound
