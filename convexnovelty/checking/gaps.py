"""Gaps between numbers that ought to agree: what is not finite agrees with nothing.

A comparison with NaN is false and Python's ``max`` passes over it, so that a gap is made infinite where it is formed; NaN is left
to mean that there is nothing to compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["finite_or_infinite", "largest", "shortfall"]


def finite_or_infinite(gap: float) -> float:
    """The gap, infinite where it is no finite number."""
    return float(gap) if math.isfinite(gap) else math.inf


def largest(gaps: Iterable[float], default: float = 0.0) -> float:
    """The largest gap, infinite where any of them is no finite number; ``default`` where there is none."""
    return max((finite_or_infinite(gap) for gap in gaps), default=default)


def shortfall(difference: float, conservative: bool) -> float:
    """What is wrong with a value that is larger by ``difference`` than the exact one."""
    if not math.isfinite(difference):
        return math.inf
    return max(0.0, -difference) if conservative else abs(difference)
