r"""The number at which an increasing function crosses a level: what bisection on :math:`\kappa` asks for.

Each value costs a cone program, so that the bracket is narrowed by Brent's method, which bisects only where
interpolation fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["crossing"]

CEILING = 1e8  # a crossing beyond this many standard deviations is no crossing


def crossing(function: Callable[[float], float], guess: float = 1.0, tolerance: float = 1e-10) -> float:
    """The root of a non-decreasing function of a number that is not negative.

    Parameters
    ----------
    function : continuous, with values of the order of one; each call is taken to be expensive.
    guess : where the root is expected.
    tolerance : values within it count as zero, since a solver knows no better.

    Returns
    -------
    The root; -inf where the function is above zero at 0 already, and inf where it stays below zero.
    """
    from scipy.optimize import brentq

    def rounded(x: float) -> float:
        value = function(x)
        return 0.0 if abs(value) <= tolerance else value

    low, at_low = 0.0, rounded(0.0)
    if at_low >= 0:
        return 0.0 if at_low == 0 else -math.inf
    high = guess
    while (at_high := rounded(high)) < 0:
        if high >= CEILING:
            return math.inf
        # The secant through the last two values, stretched so that it falls beyond the root of a convex function.
        slope = (at_high - at_low) / (high - low)
        step = 1.5 * -at_high / slope if slope > 0 else high
        low, at_low, high = high, at_high, min(high + max(step, 0.01 * high), 10 * high, CEILING)
    if at_high == 0:
        return high
    known = {low: at_low, high: at_high}
    return float(brentq(lambda x: known[x] if x in known else rounded(x), low, high, xtol=1e-13 * high, rtol=1e-13))
