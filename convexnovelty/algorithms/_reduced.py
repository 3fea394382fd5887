"""Compiled pair steps on a working set, with kernel rows that are evaluated when they are first needed.

The loop is the one of ``_pair_steps`` in two passes of a few instructions a point. Rows of the matrix lie in a cache of
``rows.shape[0]`` rows, ``slot[i]`` being the place of row i or -1; the oldest gives way. For a Gaussian kernel a
missing row is evaluated from ``panels``; for any other kernel all rows are there from the start.

All vectors have the length of a row of the cache, a multiple of LANES. What fills them up can neither grow nor shrink.
"""

from __future__ import annotations

import numpy as np

from convexnovelty.algorithms._compile import compiled
from convexnovelty.algorithms._gaussian import kernel_row
from convexnovelty.algorithms._lanes import (
    LANES,
    add,
    fused,
    greater,
    load,
    multiply,
    quotient,
    splat,
    spread,
    store,
    subtract,
)
from convexnovelty.algorithms._pair_steps import CONVERGED, FLAT, INDEFINITE, NEGATIVE, STOPPED, UNBOUNDED
from convexnovelty.algorithms.box import Indices
from convexnovelty.validation import Array

__all__ = ["reduced_coordinates", "reduced_pairs", "survey"]


def _fetch(i: int, keep: int, panels: Array, rows: Array, slot: Indices, owner: Indices) -> int:
    """The place of row i in the cache, evaluated if need be; ``keep`` is a row that must stay.

    The last entry of ``owner`` is the place that gives way next.
    """
    if slot[i] >= 0:
        return int(slot[i])
    capacity = rows.shape[0]
    place = int(owner[capacity])
    if owner[place] == keep:
        place = (place + 1) % capacity
    if owner[place] >= 0:
        slot[owner[place]] = -1
    owner[place], slot[i] = i, place
    owner[capacity] = (place + 1) % capacity
    kernel_row(panels, i, rows[place])
    return int(place)


fetch = compiled(_fetch)


def _advance(
    gradient: Array, grow: Array, shrink: Array, change: float, row: Array, other: Array, best: Array
) -> tuple[int, float, float]:
    """gradient += change (row - other); then the place and value of its least entry that may grow, and the largest
    that may shrink."""
    step, place, width = splat(change), load(best, 0), splat(float(LANES))
    least, largest, at = splat(np.inf), splat(-np.inf), place
    for t in range(0, gradient.shape[0], LANES):
        g = fused(step, subtract(load(row, t), load(other, t)), load(gradient, t))
        store(gradient, t, g)
        up, down = add(g, load(grow, t)), add(g, load(shrink, t))
        at = greater(least, up, place, at)
        least = greater(least, up, up, least)
        largest = greater(down, largest, down, largest)
        place = add(place, width)
    store(best, LANES, at)
    store(best, 2 * LANES, least)
    store(best, 3 * LANES, largest)
    i, low, high = 0, np.inf, -np.inf
    for lane in range(LANES):
        if best[2 * LANES + lane] < low:
            i, low = int(best[LANES + lane]), best[2 * LANES + lane]
        high = max(high, best[3 * LANES + lane])
    return i, low, high


def _partner(gradient: Array, shrink: Array, diagonal: Array, row: Array, i: int, low: float, best: Array) -> int:
    """The coordinate that may shrink for which a pair step with i lowers the objective most, bounds ignored."""
    base, own, flat, twice = splat(low), spread(diagonal, i), splat(FLAT), splat(-2.0)
    place, width, zero = load(best, 0), splat(float(LANES)), splat(0.0)
    most, at = splat(-1.0), place
    for t in range(0, gradient.shape[0], LANES):
        slope = subtract(add(load(gradient, t), load(shrink, t)), base)
        scale = add(own, load(diagonal, t))
        bend, floor = fused(twice, load(row, t), scale), multiply(flat, scale)
        gain = quotient(multiply(slope, slope), greater(bend, floor, bend, floor))
        gain = greater(slope, zero, gain, splat(-2.0))
        at = greater(gain, most, place, at)
        most = greater(gain, most, gain, most)
        place = add(place, width)
    store(best, LANES, at)
    store(best, 2 * LANES, most)
    j, gain_of_j = -1, -1.0
    for lane in range(LANES):
        if best[2 * LANES + lane] > gain_of_j:
            j, gain_of_j = int(best[LANES + lane]), best[2 * LANES + lane]
    return j


advance = compiled(_advance)
partner = compiled(_partner)


def _reduced_pairs(
    panels: Array,
    rows: Array,
    slot: Indices,
    owner: Indices,
    diagonal: Array,
    gradient: Array,
    b: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
) -> tuple[int, int]:
    """Second-order pair steps until the KKT gap within the working set is at most ``tolerance``."""
    size = gradient.shape[0]
    grow, shrink, best = np.empty(size), np.empty(size), np.zeros(4 * LANES)
    for t in range(size):
        grow[t] = 0.0 if b[t] < upper[t] else np.inf
        shrink[t] = 0.0 if b[t] > lower[t] else -np.inf
    for lane in range(LANES):
        best[lane] = lane
    i, low, high = advance(gradient, grow, shrink, 0.0, diagonal, diagonal, best)
    for step in range(max_steps):
        if not high - low > tolerance:
            return CONVERGED, step
        row = rows[fetch(i, -1, panels, rows, slot, owner)]
        j = partner(gradient, shrink, diagonal, row, i, low, best)
        if j < 0:
            return STOPPED, step
        other = rows[fetch(j, i, panels, rows, slot, owner)]
        scale = diagonal[i] + diagonal[j]
        bend = scale - 2.0 * row[j]
        if bend < NEGATIVE * scale:
            return INDEFINITE, step
        change = (gradient[j] - low) / max(bend, FLAT * scale + 1e-300)
        room_i, room_j = upper[i] - b[i], b[j] - lower[j]
        if change >= room_i or change >= room_j:
            change = min(room_i, room_j)
        if change > 1e200:
            return UNBOUNDED, step
        # A coordinate that meets its bound gets exactly that value, so that later comparisons with it are exact.
        b[i] = upper[i] if change == room_i else b[i] + change
        b[j] = lower[j] if change == room_j else b[j] - change
        grow[i], shrink[i] = 0.0 if b[i] < upper[i] else np.inf, 0.0
        grow[j], shrink[j] = 0.0, 0.0 if b[j] > lower[j] else -np.inf
        i, low, high = advance(gradient, grow, shrink, change, row, other, best)
    return STOPPED, max_steps


def _reduced_coordinates(
    panels: Array,
    rows: Array,
    slot: Indices,
    owner: Indices,
    diagonal: Array,
    gradient: Array,
    b: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
) -> tuple[int, int]:
    """Without the equality: each time the coordinate that lowers the objective most on its own."""
    size = gradient.shape[0]
    for step in range(max_steps):
        i, best, change, violation = -1, 0.0, 0.0, 0.0
        for t in range(size):
            slope = gradient[t]
            if (slope > 0.0 and b[t] > lower[t]) or (slope < 0.0 and b[t] < upper[t]):
                violation = max(violation, abs(slope))
                bend = max(diagonal[t], 1e-300)
                move = min(max(b[t] - slope / bend, lower[t]), upper[t]) - b[t]
                gain = -move * (slope + 0.5 * bend * move)
                if gain > best:
                    i, best, change = t, gain, move
        if violation <= tolerance:
            return CONVERGED, step
        if i < 0:
            return STOPPED, step
        if abs(change) > 1e200:
            return UNBOUNDED, step
        room = upper[i] - b[i] if change > 0.0 else lower[i] - b[i]
        b[i] = (upper[i] if change > 0.0 else lower[i]) if change == room else b[i] + change
        row = rows[fetch(i, -1, panels, rows, slot, owner)]
        for t in range(size):
            gradient[t] += change * row[t]
    return STOPPED, max_steps


def _survey(gradient: Array, b: Array, lower: Array, upper: Array) -> tuple[float, float, int]:
    """The largest gradient of a coordinate that may shrink, the least of one that may grow, and how many are free."""
    high, low, free = -np.inf, np.inf, 0
    for t in range(b.shape[0]):
        down, up = b[t] > lower[t], b[t] < upper[t]
        if down and gradient[t] > high:
            high = gradient[t]
        if up and gradient[t] < low:
            low = gradient[t]
        if up and down:
            free += 1
    return high, low, free


reduced_pairs = compiled(_reduced_pairs)
reduced_coordinates = compiled(_reduced_coordinates)
survey = compiled(_survey)
