"""Figure 8.5 of Schölkopf and Smola (2001): how nu and the kernel's width shape the region of a toy problem.

As printed: points in [-1, 1]^2, kernel exp(-|x - y|^2 / c); nu = c = 0.5, then nu = 0.1, then c = 0.1 with nu = 0.5. The
points themselves are not given, so that no number of ours has a printed one beside it; the caption makes the claims.

Chosen here: a cluster of 60 points at (0.25, -0.25) with deviation 0.25, and three more in the upper left corner, at
(-0.8, 0.8) with deviation 0.05, drawn anew in each of 50 repetitions. Influence of the corner is measured as the share of
the square [-1, 1]^2, on a grid of 41 by 41 points, whose answer changes when the three points are left out; "almost no
influence" is less than 5 %.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexnovelty.estimators import OneClassSVM
from convexnovelty.kernels import gaussian
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables, Values
from convexnovelty.reproductions._result import Key
from convexnovelty.validation import Array

__all__ = ["REPRODUCTION"]

# (nu, c) of the pictures two to four.
SETTINGS = ((0.5, 0.5), (0.1, 0.5), (0.5, 0.1))
COLUMNS = ("points in the region", "corner points in the region", "square that the corner changes")
ALMOST_NONE = 0.05
AXIS = np.linspace(-1.0, 1.0, 41)
GRID = np.array(np.meshgrid(AXIS, AXIS)).reshape(2, -1).T


def _row(nu: float, c: float) -> str:
    return f"nu = {nu:g}, c = {c:g}"


def _accepted(X: Array, nu: float, c: float, Z: Array) -> Array:
    return np.asarray(OneClassSVM(nu, kernel=gaussian(width=c)).fit(X).predict(Z) > 0)


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """One sample under the three settings."""
    cluster = np.array([0.25, -0.25]) + 0.25 * random.standard_normal((60, 2))
    corner = np.array([-0.8, 0.8]) + 0.05 * random.standard_normal((3, 2))
    X = np.vstack([cluster, corner])
    values: dict[Key, float] = {}
    for nu, c in SETTINGS:
        inside = _accepted(X, nu, c, X)
        changed = _accepted(X, nu, c, GRID) != _accepted(cluster, nu, c, GRID)
        found = (inside.mean(), inside[len(cluster) :].mean(), changed.mean())
        values |= {(_row(nu, c), column): float(value) for column, value in zip(COLUMNS, found, strict=True)}
    return values


def _enough(v: Values) -> float:
    return min(v[_row(nu, c), COLUMNS[0]] - (1 - nu) for nu, c in SETTINGS)


def _more(column: int, setting: tuple[float, float]) -> Callable[[Values], float]:
    return lambda v: v[_row(*setting), COLUMNS[column]] - v[_row(*SETTINGS[0]), COLUMNS[column]]


REPRODUCTION = Reproduction(
    name="chapter-8-figure-8.5",
    title="regions of a toy problem under nu and the kernel's width",
    source="Schölkopf and Smola (2001), figure 8.5",
    printed=tuple(Printed(_row(*setting), column) for setting in SETTINGS for column in COLUMNS),
    claims=(
        Claim("at least a fraction 1 - nu of all points is in the region", _enough, weak=True),
        Claim(
            "nu = 0.5: the corner has almost no influence",
            lambda v: ALMOST_NONE - v[_row(*SETTINGS[0]), COLUMNS[2]],
        ),
        Claim("nu = 0.1: the corner's influence is larger", _more(2, SETTINGS[1])),
        Claim("nu = 0.1: more of the corner is in the region", _more(1, SETTINGS[1])),
        Claim("c = 0.1: more of the corner is in the region", _more(1, SETTINGS[2])),
    ),
    pieces=("toy",),
    repetition=repetition,
    needs=lambda piece: (),
    repetitions=50,
    quick=5,
)
