r"""The number at which an increasing function crosses a level: what bisection on :math:`\kappa` asks for.

Each value costs a cone program, so that the bracket is narrowed by Brent's method, which bisects only where
interpolation fails. Zero itself is never asked for: there the programs degenerate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["crossing"]

LOWEST, HIGHEST = 1e-300, 1e300
# A bracket whose ends differ by more than this factor is halved on the scale of logarithms: Brent's method would take the
# larger end for the size of the root.
WIDE = 16.0


def crossing(
    function: Callable[[float], float],
    guess: float = 1.0,
    tolerance: float = 1e-10,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
) -> float:
    """The root of a non-decreasing function of a positive number.

    Parameters
    ----------
    function : continuous, with values of the order of one; each call is taken to be expensive.
    guess : where the root is expected.
    tolerance : values within it count as zero, since a solver knows no better.
    lowest, highest : the range that is searched; steps towards its ends grow, so that a far root takes few calls.

    Returns
    -------
    The root; -inf where the function is above zero down to ``lowest``, and inf where it is below zero up to ``highest``.
    """
    from scipy.optimize import brentq

    known: dict[float, float] = {}

    def rounded(x: float) -> float:
        if x not in known:
            value = function(x)
            known[x] = 0.0 if abs(value) <= tolerance else value
        return known[x]

    low = high = min(max(guess, lowest), highest)
    # Secants first; where the first few of them fall short, steps whose ratio is squared each time.
    secants, step = 4, 2.0
    while rounded(high) < 0:
        if high >= highest:
            return math.inf
        secants, step = secants - 1, step if secants > 0 else step * step
        least = high if secants >= 0 else step * high
        low, high = high, min(max(min(_beyond(known, high), 10 * high), least), highest)
    step = 4.0
    while rounded(low) > 0:
        if low <= lowest:
            return -math.inf
        low, high = max(low / step, lowest), low
        step = step * step
    while high > WIDE * low and rounded(low) < 0 < rounded(high):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if rounded(middle) < 0 else (low, middle)
    if rounded(low) == 0:
        return low
    if rounded(high) == 0:
        return high
    return float(brentq(rounded, low, high, xtol=1e-13 * low, rtol=1e-13))


def _beyond(known: dict[float, float], x: float) -> float:
    """Beyond the root that a convex function through the origin of its values would have, by the last secant."""
    others = [y for y in known if y < x]
    slope = (known[x] - known[max(others)]) / (x - max(others)) if others else 0.0
    return x + max(-1.2 * known[x] / slope if slope > 0 else x, 0.05 * x)
