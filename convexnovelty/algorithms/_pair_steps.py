"""Compiled loops of sequential minimal optimisation, in signed coordinates.

The program is min 1/2 b'Qb + p'b with lower <= b <= upper and, for the pair rules, a fixed sum of b. ``gradient`` is
always Qb + p, kept up to date in place together with b. Every loop returns (status, steps), status being one of the
four constants below.
"""

from __future__ import annotations

import numpy as np

from convexnovelty.algorithms._compile import compiled
from convexnovelty.validation import Array

__all__ = ["CONVERGED", "INDEFINITE", "STOPPED", "UNBOUNDED", "coordinates", "pairs", "scans"]

CONVERGED, STOPPED, INDEFINITE, UNBOUNDED = 0, 1, 2, 3

# Curvatures below FLAT times the diagonal are rounding. Such a pair (two copies of a row) takes a long step and stops
# at the box.
FLAT = 1e-12
# A curvature that is negative beyond what rounding makes of a positive semidefinite matrix.
NEGATIVE = -1e-9


def _pairs(
    Q: Array, gradient: Array, b: Array, lower: Array, upper: Array, tolerance: float, max_steps: int
) -> tuple[int, int]:
    """Pairs chosen by second-order information (Fan, Chen and Lin 2005), until the KKT gap is within ``tolerance``."""
    n = b.shape[0]
    diagonal = np.empty(n)
    for t in range(n):
        diagonal[t] = Q[t, t]
    for step in range(max_steps + 1):
        # i: the coordinate that may grow and gains most from it, to first order.
        i, smallest, largest = -1, np.inf, -np.inf
        for t in range(n):
            if b[t] < upper[t] and gradient[t] < smallest:
                i, smallest = t, gradient[t]
            if b[t] > lower[t] and gradient[t] > largest:
                largest = gradient[t]
        if not largest - smallest > tolerance:
            return CONVERGED, step
        if step == max_steps:
            break
        # j: the coordinate that may shrink with the largest decrease of the objective along e_i - e_j, box ignored.
        j, best, row, own = -1, -1.0, Q[i], diagonal[i]
        for t in range(n):
            slope = gradient[t] - smallest
            if b[t] > lower[t] and slope > 0.0:
                bend = own + diagonal[t] - 2.0 * row[t]
                gain = slope * slope / max(bend, FLAT * (own + diagonal[t]) + 1e-300)
                if gain > best:
                    j, best = t, gain
        bend = own + diagonal[j] - 2.0 * row[j]
        if bend < NEGATIVE * (own + diagonal[j]):
            return INDEFINITE, step
        change = (gradient[j] - smallest) / max(bend, FLAT * (own + diagonal[j]) + 1e-300)
        room_i, room_j = upper[i] - b[i], b[j] - lower[j]
        if change >= room_i or change >= room_j:
            change = min(room_i, room_j)
        if change > 1e200:
            return UNBOUNDED, step
        # A coordinate that meets its bound gets exactly that value, so that later comparisons with the bound are exact.
        b[i] = upper[i] if change == room_i else b[i] + change
        b[j] = lower[j] if change == room_j else b[j] - change
        other = Q[j]
        for t in range(n):
            gradient[t] += change * (row[t] - other[t])
    return STOPPED, max_steps


def _coordinates(
    Q: Array, gradient: Array, b: Array, lower: Array, upper: Array, tolerance: float, max_steps: int
) -> tuple[int, int]:
    """Single coordinates, each time the one that lowers the objective most, until the projected gradient is small."""
    n = b.shape[0]
    for step in range(max_steps + 1):
        i, best, move, violation = -1, -1.0, 0.0, 0.0
        for t in range(n):
            slope = gradient[t]
            if (slope > 0.0 and b[t] > lower[t]) or (slope < 0.0 and b[t] < upper[t]):
                violation = max(violation, abs(slope))
                bend = Q[t, t]
                target = -np.sign(slope) * np.inf if bend <= 0.0 else b[t] - slope / bend
                change = min(max(target, lower[t]), upper[t]) - b[t]
                if bend <= 0.0 and not np.isfinite(change):
                    return UNBOUNDED, step
                gain = -change * (slope + 0.5 * bend * change)
                if gain > best:
                    i, best, move = t, gain, change
        if violation <= tolerance:
            return CONVERGED, step
        if step == max_steps:
            break
        if Q[i, i] < 0.0:
            return INDEFINITE, step
        room = upper[i] - b[i] if move > 0.0 else lower[i] - b[i]
        b[i] = (upper[i] if move > 0.0 else lower[i]) if move == room else b[i] + move
        for t in range(n):
            gradient[t] += move * Q[i, t]
    return STOPPED, max_steps


def _joint_step(
    Q: Array, gradient: Array, b: Array, lower: Array, upper: Array, i: int, j: int, least_move: float
) -> int:
    """The pair step (8.24)-(8.26): 1 if the pair moved, 0 if it could not, -1 if its curvature chi is negative."""
    if i == j:
        return 0
    scale = Q[i, i] + Q[j, j]
    chi = scale - 2.0 * Q[i, j]
    if chi < NEGATIVE * scale:
        return -1
    change = (gradient[j] - gradient[i]) / max(chi, FLAT * scale + 1e-300)
    high, low = min(upper[i] - b[i], b[j] - lower[j]), max(lower[i] - b[i], b[j] - upper[j])
    change = min(max(change, low), high)
    # A coordinate that rounding left beside its bound can only make moves like this one: no progress, next heuristic.
    if abs(change) <= least_move:
        return 0
    room = upper[i] - b[i] if change > 0.0 else lower[i] - b[i]
    b[i] = (upper[i] if change > 0.0 else lower[i]) if change == room else b[i] + change
    room = b[j] - lower[j] if change > 0.0 else b[j] - upper[j]
    b[j] = (lower[j] if change > 0.0 else upper[j]) if change == room else b[j] - change
    for t in range(b.shape[0]):
        gradient[t] += change * (Q[i, t] - Q[j, t])
    return 1


joint_step = compiled(_joint_step)


def _scans(
    Q: Array,
    gradient: Array,
    b: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
    rho: float,
    state: int,
) -> tuple[int, int]:
    """The scans of the chapter's section 8.4; O_i of the text is ``gradient[i]``.

    A scan (i) over all points is followed by scans (ii) over the points not at a bound until those find no violator;
    (8.28) chooses the second point; when that pair cannot move, all points not at a bound and then all points are tried
    from a random place on.
    """
    n, steps, everything = b.shape[0], 0, True
    least_move = 0.0
    for t in range(n):
        width = upper[t] - lower[t]
        least_move = max(least_move, 1e-14 * (width if np.isfinite(width) else abs(b[t])))
    while steps < max_steps:
        moved_any = False
        for i in range(n):
            if not everything and not lower[i] < b[i] < upper[i]:
                continue
            excess = gradient[i] - rho
            if not ((excess > tolerance and b[i] > lower[i]) or (-excess > tolerance and b[i] < upper[i])):
                continue
            j, distance = -1, -1.0
            for t in range(n):
                if lower[t] < b[t] < upper[t] and abs(gradient[i] - gradient[t]) > distance:
                    j, distance = t, abs(gradient[i] - gradient[t])
            outcome = joint_step(Q, gradient, b, lower, upper, i, j, least_move) if j >= 0 else 0
            for inside in (True, False):
                if outcome != 0:
                    break
                state = (1103515245 * state + 12345) % 2147483648
                for k in range(n):
                    j = (state + k) % n
                    if inside and not lower[j] < b[j] < upper[j]:
                        continue
                    outcome = joint_step(Q, gradient, b, lower, upper, i, j, least_move)
                    if outcome != 0:
                        break
            if outcome < 0:
                return INDEFINITE, steps
            if outcome > 0:
                moved_any, steps = True, steps + 1
                # (8.16) holds at whichever of the two is now off its bounds.
                if lower[i] < b[i] < upper[i]:
                    rho = gradient[i]
                elif lower[j] < b[j] < upper[j]:
                    rho = gradient[j]
                else:
                    rho = 0.5 * (gradient[i] + gradient[j])
                if steps == max_steps:
                    break
        if moved_any:
            everything = False
            continue
        if not everything:
            everything = True
            continue
        # No violator of this rho can move. With every point at a bound rho is not determined by (8.16) and may be
        # stale: the optimality test is the gap between the two sides, and the middle of it is the next rho.
        floor, ceiling = -np.inf, np.inf
        for t in range(n):
            if b[t] > lower[t]:
                floor = max(floor, gradient[t])
            if b[t] < upper[t]:
                ceiling = min(ceiling, gradient[t])
        if not floor - ceiling > 2.0 * tolerance:
            return CONVERGED, steps
        if rho == 0.5 * (floor + ceiling):
            return STOPPED, steps
        rho = 0.5 * (floor + ceiling)
    return STOPPED, steps


pairs = compiled(_pairs)
coordinates = compiled(_coordinates)
scans = compiled(_scans)
