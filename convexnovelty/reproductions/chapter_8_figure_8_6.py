"""Figure 8.6 of Schölkopf and Smola (2001): estimators between the one-class SVM and Parzen windows.

As printed: kernel exp(-|x - y|^2 / c) with c = 0.5 in [-1, 1]^2, nu of 0.1, 0.2, 0.4 and 1; the offset is moved until a
fraction 0.1 of the points lies outside. The points are not given. Printed numbers beside ours are the caption's "roughly
a fraction nu of kernels".

Chosen here: 100 points on an arc of radius 0.6, three quarters of a circle, with deviation 0.08, drawn anew in each of 50
repetitions. How well a region models the shape is the share of the square [-1, 1]^2 that it takes to hold nine tenths of
the points: less is better. "Roughly" is within 0.05.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexnovelty.algorithms.block_dual import decision, solve_dual
from convexnovelty.kernels import gaussian
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables, Values
from convexnovelty.reproductions._result import Key

__all__ = ["REPRODUCTION"]

FRACTIONS = (0.1, 0.2, 0.4, 1.0)
KERNEL = gaussian(width=0.5)
AXIS = np.linspace(-1.0, 1.0, 41)
GRID = np.array(np.meshgrid(AXIS, AXIS)).reshape(2, -1).T
KERNELS, AREA = "kernels that are used", "square that the region takes"


def _row(nu: float) -> str:
    return f"nu = {nu:g}"


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """One sample under the four fractions, with one and the same share of points outside."""
    angle = random.uniform(0.0, 1.5 * np.pi, size=100)
    X = 0.6 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.08 * random.standard_normal((100, 2))
    values: dict[Key, float] = {}
    for nu in FRACTIONS:
        dual = solve_dual(X, KERNEL, outlier_fraction=nu, tolerance=1e-8)
        offset = np.sort(dual.scores)[10]  # ten of a hundred points lie below
        values[_row(nu), KERNELS] = float(np.mean(dual.multipliers > 1e-9 / (nu * len(X))))
        values[_row(nu), AREA] = float(np.mean(decision(X, KERNEL, dual.multipliers, GRID) >= offset))
    return values


def _roughly(nu: float) -> Callable[[Values], float]:
    return lambda v: 0.05 - abs(v[_row(nu), KERNELS] - nu)


REPRODUCTION = Reproduction(
    name="chapter-8-figure-8.6",
    title="one-class SVMs with a moved offset, up to Parzen windows",
    source="Schölkopf and Smola (2001), figure 8.6",
    printed=tuple(
        Printed(_row(nu), column, nu if column == KERNELS else None) for nu in FRACTIONS for column in (KERNELS, AREA)
    ),
    claims=(
        *(Claim(f"nu = {nu:g}: roughly a fraction nu of kernels is used", _roughly(nu), weak=True) for nu in FRACTIONS),
        Claim(
            "Parzen windows (nu = 1) model the shape less well than nu = 0.1",
            lambda v: v[_row(1.0), AREA] - v[_row(0.1), AREA],
        ),
    ),
    pieces=("toy",),
    repetition=repetition,
    needs=lambda piece: (),
    repetitions=50,
    quick=5,
    printed_over=1,
)
