"""Figure 1 of Tsang, Kwok and Li (2006): the regions of the learned kernel and of its base kernels on a banana.

The figure is twenty pictures, of which the text says that the learned kernel "can obtain a good data description". In their
place stand two shares for each region: how much of the banana's band (two deviations of the noise on each side of the arc)
it covers, and how much of the box outside of the banana it takes.

As printed: 50 training points of a banana; four kernels exp(-beta |x - y|^2) with beta of 2, 1, 1/2 and 1/3 times beta0,
1/beta0 being the mean distance between points; nu of 0.1 to 0.4.

Left open by the paper, and chosen here: the banana and its box as for table I; C of 1, 10 and 100 as for table II; no
covariance; 50 draws where the figure shows one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexnovelty.reproductions._bananas import KERNELS, LEARNED, NOISE, NU, detectors, toy
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables, Values
from convexnovelty.reproductions._result import Key
from convexnovelty.validation import Array

__all__ = ["REPRODUCTION"]

COVERED, TAKEN = "banana covered", "outside taken"
NARROWEST, WIDEST = "beta = 2 beta0", "beta = beta0 / 3"


def _row(nu: float, kernel: str) -> str:
    return f"nu = {nu:g}, {kernel}"


def _band(random: np.random.Generator) -> Array:
    angle = random.uniform(-0.3 * np.pi, 0.9 * np.pi, size=1000)
    radius = 2 + random.uniform(-2 * NOISE, 2 * NOISE, size=1000)
    return np.column_stack([radius * np.cos(angle) - 1, radius * np.sin(angle) + 0.5])


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """One draw under every nu and kernel."""
    drawn, band = toy(random), _band(random)
    values: dict[Key, float] = {}
    for nu in NU:
        for name, detector in detectors(drawn.train, nu).items():
            values[_row(nu, name), COVERED] = float(np.mean(detector.predict(band) > 0))
            values[_row(nu, name), TAKEN] = float(np.mean(detector.predict(drawn.outliers) > 0))
    return values


def _tighter(learned: str) -> Callable[[Values], float]:
    return lambda v: float(np.mean([v[_row(nu, WIDEST), TAKEN] - v[_row(nu, learned), TAKEN] for nu in NU]))


def _covering(learned: str) -> Callable[[Values], float]:
    return lambda v: float(np.mean([v[_row(nu, learned), COVERED] - v[_row(nu, NARROWEST), COVERED] for nu in NU]))


REPRODUCTION = Reproduction(
    name="mahalanobis-figure-1",
    title="regions of a learned kernel and of its base kernels, on a banana",
    source="Tsang, Kwok and Li (2006), figure 1",
    printed=tuple(Printed(_row(nu, name), column) for nu in NU for name in KERNELS for column in (COVERED, TAKEN)),
    claims=(
        *(
            Claim(f"the learned kernel takes less of the outside than the widest base kernel ({name})", _tighter(name))
            for name in LEARNED
        ),
        *(
            Claim(f"it covers as much of the banana as the narrowest, or more ({name})", _covering(name), weak=True)
            for name in LEARNED
        ),
    ),
    pieces=("banana",),
    repetition=repetition,
    needs=lambda piece: (),
    repetitions=50,
    quick=3,
)
