r"""Sums of Gaussian kernels without a Gram matrix: compiled loops that keep kernel values in registers.

With s^2 = 2 gamma log2(e) and h_x = -|s x|^2 / 2 the kernel is

.. math:: \exp(-\gamma \|x - z\|^2) = 2^{\,(s x)'(s z) + h_x + h_z},

a product of matrices followed by a power of two. A value lives from its dot product to its place in the weighted sum
without being written to memory. The cost is d + 8 multiply-adds a value: the rate of a matrix product.

Points are packed into panels of WIDTH points, shape (d + 1, WIDTH), the last row being h: what a loop reads next is
what lies next in memory. Sources are packed likewise, SOURCES to a panel.
"""

from __future__ import annotations

import numpy as np

from convexnovelty.algorithms._compile import compiled
from convexnovelty.algorithms._lanes import LANES, add, exp2, fused, load, splat, spread, store
from convexnovelty.algorithms.box import Indices
from convexnovelty.validation import Array

__all__ = ["SOURCES", "WIDTH", "accumulate", "accumulate_both", "kernel_row", "kernel_rows", "pack", "take"]

WIDTH = 2 * LANES  # points in a panel: two registers, so that a number of a source is used twice when it is loaded
SOURCES = 6  # sources at a time: their twelve sums, two loads and a spread fill fifteen registers
# Panels of sources whose terms are summed apart: partial sums lose fewer bits than one long sum.
PARTIAL = 16


def _pack(X: Array, center: Array, scale: float, panels: Array) -> None:
    """Write the points scale (x - center) and their h into panels; what is missing in the last panel is zero."""
    n, d = X.shape
    for panel in range(panels.shape[0]):
        for lane in range(WIDTH):
            i = panel * WIDTH + lane
            height = 0.0
            for k in range(d):
                value = scale * (X[i, k] - center[k]) if i < n else 0.0
                panels[panel, k, lane] = value
                height += value * value
            panels[panel, d, lane] = -0.5 * height


def _take(panels: Array, rows: Indices, width: int, out: Array) -> None:
    """Write the points ``rows`` into panels of ``width`` points; what is missing in the last panel is zero."""
    for position in range(out.shape[0] * width):
        panel, lane = position // width, position % width
        for k in range(out.shape[1]):
            out[panel, k, lane] = (
                panels[rows[position] // WIDTH, k, rows[position] % WIDTH] if position < rows.size else 0.0
            )


def _accumulate(panels: Array, sources: Array, weights: Array, out: Array, first: int, last: int) -> None:
    """out_i += sum_j weights_j k(x_i, z_j) for the points of the panels first to last - 1.

    ``sources`` has panels of SOURCES points and ``weights`` SOURCES numbers a panel, zero where a point is missing.
    """
    d = panels.shape[1] - 1
    points, origin, height = panels.ravel(), sources.ravel(), d * SOURCES
    for panel in range(first, last):
        base = panel * (d + 1) * WIDTH
        total_left, total_right = load(out, panel * WIDTH), load(out, panel * WIDTH + LANES)
        left, right = splat(0.0), splat(0.0)
        left_height, right_height = load(points, base + d * WIDTH), load(points, base + d * WIDTH + LANES)
        for block in range(sources.shape[0]):
            z, w = block * (d + 1) * SOURCES, block * SOURCES
            # One variable a register: a tuple or an array here would go through memory.
            h = spread(origin, z + height)
            a0, b0 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 1)
            a1, b1 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 2)
            a2, b2 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 3)
            a3, b3 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 4)
            a4, b4 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 5)
            a5, b5 = add(h, left_height), add(h, right_height)
            for k in range(d):
                x, y = load(points, base + k * WIDTH), load(points, base + k * WIDTH + LANES)
                at = z + k * SOURCES
                v = spread(origin, at)
                a0, b0 = fused(v, x, a0), fused(v, y, b0)
                v = spread(origin, at + 1)
                a1, b1 = fused(v, x, a1), fused(v, y, b1)
                v = spread(origin, at + 2)
                a2, b2 = fused(v, x, a2), fused(v, y, b2)
                v = spread(origin, at + 3)
                a3, b3 = fused(v, x, a3), fused(v, y, b3)
                v = spread(origin, at + 4)
                a4, b4 = fused(v, x, a4), fused(v, y, b4)
                v = spread(origin, at + 5)
                a5, b5 = fused(v, x, a5), fused(v, y, b5)
            v = spread(weights, w)
            left, right = fused(v, exp2(a0), left), fused(v, exp2(b0), right)
            v = spread(weights, w + 1)
            left, right = fused(v, exp2(a1), left), fused(v, exp2(b1), right)
            v = spread(weights, w + 2)
            left, right = fused(v, exp2(a2), left), fused(v, exp2(b2), right)
            v = spread(weights, w + 3)
            left, right = fused(v, exp2(a3), left), fused(v, exp2(b3), right)
            v = spread(weights, w + 4)
            left, right = fused(v, exp2(a4), left), fused(v, exp2(b4), right)
            v = spread(weights, w + 5)
            left, right = fused(v, exp2(a5), left), fused(v, exp2(b5), right)
            if block % PARTIAL == 0:
                total_left, total_right = add(total_left, left), add(total_right, right)
                left, right = splat(0.0), splat(0.0)
        store(out, panel * WIDTH, add(total_left, left))
        store(out, panel * WIDTH + LANES, add(total_right, right))


def _accumulate_both(
    panels: Array, sources: Array, weights: Array, out: Array, columns: Array, first: int, last: int, end: int
) -> None:
    """out_i += sum_j weights_j k(x_i, z_j) and columns_j += sum_i weights_i k(x_i, z_j), each value evaluated once.

    The points i are those of the panels first to last - 1, the sources j those of the panels 0 to end - 1; both are
    the same sample, of which ``weights`` has a number for each, zero where a point is missing.
    """
    d = panels.shape[1] - 1
    points, origin, height = panels.ravel(), sources.ravel(), d * SOURCES
    lanes = np.empty(SOURCES * LANES)
    for block in range(end):
        z, w = block * (d + 1) * SOURCES, block * SOURCES
        sum0, sum1, sum2 = splat(0.0), splat(0.0), splat(0.0)
        sum3, sum4, sum5 = splat(0.0), splat(0.0), splat(0.0)
        for panel in range(first, last):
            base = panel * (d + 1) * WIDTH
            left_height, right_height = load(points, base + d * WIDTH), load(points, base + d * WIDTH + LANES)
            h = spread(origin, z + height)
            a0, b0 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 1)
            a1, b1 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 2)
            a2, b2 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 3)
            a3, b3 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 4)
            a4, b4 = add(h, left_height), add(h, right_height)
            h = spread(origin, z + height + 5)
            a5, b5 = add(h, left_height), add(h, right_height)
            for k in range(d):
                x, y = load(points, base + k * WIDTH), load(points, base + k * WIDTH + LANES)
                at = z + k * SOURCES
                v = spread(origin, at)
                a0, b0 = fused(v, x, a0), fused(v, y, b0)
                v = spread(origin, at + 1)
                a1, b1 = fused(v, x, a1), fused(v, y, b1)
                v = spread(origin, at + 2)
                a2, b2 = fused(v, x, a2), fused(v, y, b2)
                v = spread(origin, at + 3)
                a3, b3 = fused(v, x, a3), fused(v, y, b3)
                v = spread(origin, at + 4)
                a4, b4 = fused(v, x, a4), fused(v, y, b4)
                v = spread(origin, at + 5)
                a5, b5 = fused(v, x, a5), fused(v, y, b5)
            left, right = load(out, panel * WIDTH), load(out, panel * WIDTH + LANES)
            left_weight, right_weight = load(weights, panel * WIDTH), load(weights, panel * WIDTH + LANES)
            a0, b0, v = exp2(a0), exp2(b0), spread(weights, w)
            left, right = fused(v, a0, left), fused(v, b0, right)
            sum0 = fused(b0, right_weight, fused(a0, left_weight, sum0))
            a1, b1, v = exp2(a1), exp2(b1), spread(weights, w + 1)
            left, right = fused(v, a1, left), fused(v, b1, right)
            sum1 = fused(b1, right_weight, fused(a1, left_weight, sum1))
            a2, b2, v = exp2(a2), exp2(b2), spread(weights, w + 2)
            left, right = fused(v, a2, left), fused(v, b2, right)
            sum2 = fused(b2, right_weight, fused(a2, left_weight, sum2))
            a3, b3, v = exp2(a3), exp2(b3), spread(weights, w + 3)
            left, right = fused(v, a3, left), fused(v, b3, right)
            sum3 = fused(b3, right_weight, fused(a3, left_weight, sum3))
            a4, b4, v = exp2(a4), exp2(b4), spread(weights, w + 4)
            left, right = fused(v, a4, left), fused(v, b4, right)
            sum4 = fused(b4, right_weight, fused(a4, left_weight, sum4))
            a5, b5, v = exp2(a5), exp2(b5), spread(weights, w + 5)
            left, right = fused(v, a5, left), fused(v, b5, right)
            sum5 = fused(b5, right_weight, fused(a5, left_weight, sum5))
            store(out, panel * WIDTH, left)
            store(out, panel * WIDTH + LANES, right)
        store(lanes, 0 * LANES, sum0)
        store(lanes, 1 * LANES, sum1)
        store(lanes, 2 * LANES, sum2)
        store(lanes, 3 * LANES, sum3)
        store(lanes, 4 * LANES, sum4)
        store(lanes, 5 * LANES, sum5)
        for source in range(SOURCES):
            for lane in range(LANES):
                columns[w + source] += lanes[source * LANES + lane]


def _kernel_row(panels: Array, i: int, out: Array) -> None:
    """out_t = k(x_i, x_t) for all points of the panels, those that fill up the last panel included."""
    size = panels.shape[1] * WIDTH
    last = size - WIDTH
    points = panels.ravel()
    origin = (i // WIDTH) * size + i % WIDTH
    h = spread(points, origin + last)
    for panel in range(0, panels.shape[0], 2):
        # Two panels at once, since a sum waits for its last term: four sums hide that. An odd last panel is done twice.
        second = min(panel + 1, panels.shape[0] - 1)
        p, q = panel * size, second * size
        a, b = add(h, load(points, p + last)), add(h, load(points, p + last + LANES))
        c, e = add(h, load(points, q + last)), add(h, load(points, q + last + LANES))
        for k in range(0, last, WIDTH):
            v = spread(points, origin + k)
            a, b = fused(v, load(points, p + k), a), fused(v, load(points, p + k + LANES), b)
            c, e = fused(v, load(points, q + k), c), fused(v, load(points, q + k + LANES), e)
        store(out, panel * WIDTH, exp2(a))
        store(out, panel * WIDTH + LANES, exp2(b))
        store(out, second * WIDTH, exp2(c))
        store(out, second * WIDTH + LANES, exp2(e))


pack = compiled(_pack, nogil=True)
take = compiled(_take)
accumulate = compiled(_accumulate, nogil=True)
accumulate_both = compiled(_accumulate_both, nogil=True)
kernel_row = compiled(_kernel_row)


def _kernel_rows(panels: Array, out: Array) -> None:
    """Row i of ``out`` is that of point i, for as many points as ``out`` has rows."""
    for i in range(out.shape[0]):
        kernel_row(panels, i, out[i])


kernel_rows = compiled(_kernel_rows)
