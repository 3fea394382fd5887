"""Figure 8.10 of Schölkopf and Smola (2001): how training time grows with the size of the sample.

As printed: subsets of the USPS test set, c = 0.5 * 256, the chapter's pair steps (section 8.4); both axes in logarithms,
and the exponents read from the slopes: about 1 for nu up to 5 %, about 2.5 for large nu.

Left open by the chapter, and chosen here: subsets of 125, 250, 500, 1000 and 2000 random images, the same for every nu,
drawn anew in each of 5 repetitions; nu of 5 % and 70 %; slopes by least squares over the five sizes. Timed are the pair
steps of the library with the chapter's own rule, and its block solver; the Gram matrix of the former is made
beforehand, and not timed. Times are of the processor, as printed. The tolerance is 1e-3. The printed exponents are read
by eye from one run. A quick run has sizes up to 500.
"""

from __future__ import annotations

import time

import numpy as np

from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.algorithms.smo import smo
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables
from convexnovelty.reproductions._result import Key
from convexnovelty.reproductions._usps import KERNEL, PIXELS, images

__all__ = ["REPRODUCTION"]

SIZES = (125, 250, 500, 1000, 2000)
FRACTIONS = {0.05: 1.0, 0.7: 2.5}
PAIRS, BLOCKS = "pair steps: exponent", "block solver: exponent"
STEPS = "pair steps: exponent of their number"


def _row(nu: float) -> str:
    return f"nu = {nu:.0%}"


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """Slopes on one chain of subsets."""
    table = tables["usps"]
    test = images(table, PIXELS)[table.training :]
    order = random.permutation(len(test))
    sizes = SIZES[:3] if quick else SIZES
    values: dict[Key, float] = {}
    for nu in FRACTIONS:
        logs = []
        for m in (50, *sizes):
            X = test[order[:m]]
            gram, bound = KERNEL(X, X), 1 / (nu * m)
            start = time.process_time()
            result = smo(gram, upper=bound, rule="schoelkopf", tolerance=1e-3)
            middle = time.process_time()
            solve_dual(X, KERNEL, outlier_fraction=nu, tolerance=1e-3)
            end = time.process_time()
            logs.append(np.log([middle - start, end - middle, max(result.iterations, 1)]))
        slopes = np.polyfit(np.log(sizes), np.array(logs[1:]), 1)[0]  # the first size only compiles
        values |= {(_row(nu), key): float(s) for key, s in zip((PAIRS, BLOCKS, STEPS), slopes, strict=True)}
    return values


REPRODUCTION = Reproduction(
    name="chapter-8-figure-8.10",
    title="exponents of training time in the size of the sample",
    source="Schölkopf and Smola (2001), figure 8.10",
    printed=tuple(
        Printed(_row(nu), column, value if column == PAIRS else None)
        for nu, value in FRACTIONS.items()
        for column in (PAIRS, STEPS, BLOCKS)
    ),
    claims=(
        Claim("times grow faster for a large nu", lambda v: v[_row(0.7), PAIRS] - v[_row(0.05), PAIRS]),
        Claim("growth is less than cubic for a large nu", lambda v: 3 - v[_row(0.7), PAIRS]),
        Claim("growth is at most quadratic for a small nu", lambda v: 2 - v[_row(0.05), PAIRS]),
    ),
    pieces=("USPS",),
    repetition=repetition,
    needs=lambda piece: ("usps",),
    repetitions=5,
    quick=2,
    printed_over=1,
    unit="",
)
