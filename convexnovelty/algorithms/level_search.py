r"""The number at which an increasing function crosses a level: what bisection on :math:`\kappa` asks for.

Each value costs a cone program, so that the bracket is narrowed by Brent's method, which bisects only where
interpolation fails. Zero itself is never asked for: there the programs degenerate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["crossing"]

FLOOR, CEILING = 1e-6, 1e8  # a crossing outside of this range is none


def crossing(function: Callable[[float], float], guess: float = 1.0, tolerance: float = 1e-10) -> float:
    """The root of a non-decreasing function of a positive number.

    Parameters
    ----------
    function : continuous, with values of the order of one; each call is taken to be expensive.
    guess : where the root is expected.
    tolerance : values within it count as zero, since a solver knows no better.

    Returns
    -------
    The root; -inf where the function is above zero all the way down, and inf where it stays below zero.
    """
    from scipy.optimize import brentq

    known: dict[float, float] = {}

    def rounded(x: float) -> float:
        if x not in known:
            value = function(x)
            known[x] = 0.0 if abs(value) <= tolerance else value
        return known[x]

    low = high = min(max(guess, FLOOR), CEILING)
    while rounded(high) < 0:
        if high >= CEILING:
            return math.inf
        low, high = high, min(_beyond(known, high), 10 * high, CEILING)
    while rounded(low) > 0:
        if low <= FLOOR:
            return -math.inf
        low, high = max(low / 4, FLOOR), low
    if rounded(low) == 0:
        return low
    if rounded(high) == 0:
        return high
    return float(brentq(rounded, low, high, xtol=1e-13 * high, rtol=1e-13))


def _beyond(known: dict[float, float], x: float) -> float:
    """Beyond the root that a convex function through the origin of its values would have, by the last secant."""
    others = [y for y in known if y < x]
    slope = (known[x] - known[max(others)]) / (x - max(others)) if others else 0.0
    return x + max(-1.2 * known[x] / slope if slope > 0 else x, 0.05 * x)
