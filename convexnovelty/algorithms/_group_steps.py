"""The compiled loop of sequential minimal optimisation with several groups of multipliers.

The program is min 1/2 v'Qv + p'a over 0 <= a <= upper, where v collects the multipliers by sign and row, and the sum of
each group is fixed or free. ``products`` is always Qv, kept up to date in place together with ``a``. The loop returns
(status, steps), status being one of the constants of the loop for one group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexnovelty.algorithms._compile import compiled
from convexnovelty.algorithms._pair_steps import CONVERGED, FLAT, INDEFINITE, NEGATIVE, STOPPED, UNBOUNDED
from convexnovelty.validation import Array

__all__ = ["steps"]

Integers = NDArray[np.int64]


def _steps(
    Q: Array,
    products: Array,
    a: Array,
    rows: Integers,
    signs: Array,
    p: Array,
    upper: Array,
    starts: Integers,
    tied: NDArray[np.bool_],
    tolerance: float,
    max_steps: int,
) -> tuple[int, int]:
    """In each group the best pair, or the best single multiplier where the sum is free; of these the best is moved."""
    n, groups = products.shape[0], tied.shape[0]
    for step in range(max_steps + 1):
        first, second, best, move, violation = -1, -1, -1.0, 0.0, 0.0
        for g in range(groups):
            if tied[g]:
                # i may grow and gains most from it to first order; j may shrink with the largest gain to second order.
                i, smallest, largest = -1, np.inf, -np.inf
                for k in range(starts[g], starts[g + 1]):
                    slope = signs[k] * products[rows[k]] + p[k]
                    if a[k] < upper[k] and slope < smallest:
                        i, smallest = k, slope
                    if a[k] > 0.0 and slope > largest:
                        largest = slope
                if not largest - smallest > 0.0:
                    continue
                violation = max(violation, largest - smallest)
                ri, own = rows[i], Q[rows[i], rows[i]]
                for k in range(starts[g], starts[g + 1]):
                    slope = signs[k] * products[rows[k]] + p[k] - smallest
                    if a[k] > 0.0 and slope > 0.0:
                        scale = own + Q[rows[k], rows[k]]
                        bend = scale - 2.0 * signs[i] * signs[k] * Q[ri, rows[k]]
                        if bend < NEGATIVE * scale:
                            return INDEFINITE, step
                        change = min(slope / max(bend, FLAT * scale + 1e-300), upper[i] - a[i], a[k])
                        gain = change * (slope - 0.5 * bend * change)
                        if gain > best:
                            first, second, best, move = i, k, gain, change
            else:
                for k in range(starts[g], starts[g + 1]):
                    slope = signs[k] * products[rows[k]] + p[k]
                    if (slope > 0.0 and a[k] > 0.0) or (slope < 0.0 and a[k] < upper[k]):
                        violation = max(violation, abs(slope))
                        bend = Q[rows[k], rows[k]]
                        change = -slope / bend if bend > 0.0 else -np.sign(slope) * np.inf
                        change = min(max(change, -a[k]), upper[k] - a[k])
                        if not np.isfinite(change):
                            return UNBOUNDED, step
                        gain = -change * (slope + 0.5 * bend * change)
                        if gain > best:
                            first, second, best, move = k, -1, gain, change
        if violation <= tolerance:
            return CONVERGED, step
        if step == max_steps or first < 0:
            break
        if abs(move) > 1e200:
            return UNBOUNDED, step
        # A multiplier that meets its bound gets exactly that value, so that later comparisons with it are exact.
        if move >= upper[first] - a[first]:
            move = upper[first] - a[first]
            a[first] = upper[first]
        elif move <= -a[first]:
            move = -a[first]
            a[first] = 0.0
        else:
            a[first] += move
        row = Q[rows[first]]
        for t in range(n):
            products[t] += signs[first] * move * row[t]
        if second >= 0:
            a[second] = 0.0 if move >= a[second] else a[second] - move
            row = Q[rows[second]]
            for t in range(n):
                products[t] -= signs[second] * move * row[t]
    return STOPPED, max_steps


steps = compiled(_steps)
