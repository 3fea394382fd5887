"""Figure 8.10 of Schölkopf and Smola (2001): how training time grows with the size of the sample.

As printed: subsets of the USPS test set, c = 0.5 * 256, the chapter's pair steps (section 8.4); both axes in logarithms,
and the exponents read from the slopes: about 1 for nu up to 5 %, about 2.5 for large nu.

Left open by the chapter, and chosen here: subsets of 125, 250, 500, 1000 and 2000 random images, the same for every nu,
drawn anew in each of 5 repetitions; nu of 5 % and 70 %; slopes by least squares over the five sizes; a tolerance of 1e-3.
The printed exponents are read by eye from one run. A quick run has sizes up to 500.

Beside the printed exponents stands the work of the pair steps with the chapter's own rule: their number times the size of
the sample, since a step changes two multipliers and every output. Times of the processor are shown too, of the same
routine, whose check that the matrix is positive semidefinite takes longer than the steps themselves, and of the block
solver. The Gram matrix of the former is made beforehand, and not timed.
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
WORK, PAIRS, BLOCKS = "pair steps: work", "pair steps, checked input: time", "block solver: time"


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
            logs.append(np.log([middle - start, end - middle, max(result.iterations, 1) * m]))
        slopes = np.polyfit(np.log(sizes), np.array(logs[1:]), 1)[0]  # the first size only compiles
        values |= {(_row(nu), key): float(s) for key, s in zip((PAIRS, BLOCKS, WORK), slopes, strict=True)}
    return values


REPRODUCTION = Reproduction(
    name="chapter-8-figure-8.10",
    title="exponents of training work and time in the size of the sample",
    source="Schölkopf and Smola (2001), figure 8.10",
    printed=tuple(
        Printed(_row(nu), column, value if column == WORK else None)
        for nu, value in FRACTIONS.items()
        for column in (WORK, PAIRS, BLOCKS)
    ),
    claims=(
        Claim("work grows faster for a large nu", lambda v: v[_row(0.7), WORK] - v[_row(0.05), WORK]),
        Claim("work grows less than cubically for a large nu", lambda v: 3 - v[_row(0.7), WORK]),
        Claim("work grows at most quadratically for a small nu", lambda v: 2 - v[_row(0.05), WORK], weak=True),
        Claim(
            "the block solver's time, too, grows faster for a large nu",
            lambda v: v[_row(0.7), BLOCKS] - v[_row(0.05), BLOCKS],
        ),
        Claim("it grows less than cubically for a large nu", lambda v: 3 - v[_row(0.7), BLOCKS]),
        Claim("it grows at most quadratically for a small nu", lambda v: 2 - v[_row(0.05), BLOCKS], weak=True),
    ),
    pieces=("USPS",),
    repetition=repetition,
    needs=lambda piece: ("usps",),
    repetitions=5,
    quick=2,
    printed_over=1,
    unit="",
)
