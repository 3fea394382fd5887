"""Table I of Tsang, Kwok and Li (2006): accuracy of the Mahalanobis one-class SVM against the weight of the covariance.

As printed: 50 training points of a banana, 200 more and 200 outliers outside of it; kernel exp(-beta |x - y|^2) with
1/beta the mean distance between points; nu = 0.25; the metric is that of rI + cXHX'; 50 repetitions.

Left open by the paper, and chosen here: the banana (the library's crescent, radius 2, noise 0.2) and the outliers (uniform
on its box widened by 1, at least three deviations of the noise off the arc). Only c/r matters; r is 1, the size of k(x, x).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.features import KernelFeatures
from convexnovelty.kernels import gaussian
from convexnovelty.methods.mahalanobis_svm import sequential
from convexnovelty.reproductions._bananas import first_beta, toy
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables
from convexnovelty.reproductions._result import Key
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall

__all__ = ["REPRODUCTION"]

NU = 0.25
# n c / r, and the accuracy.
TABLE = {0: 0.8607, 1: 0.8609, 10: 0.8611, 100: 0.8656, 1000: 0.9129, 10000: 0.8998}


def _row(weight: float) -> str:
    return f"c/r = {weight:g}/n"


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """One draw under every weight."""
    drawn = toy(random)
    features = KernelFeatures(drawn.train, gaussian(gamma=first_beta(drawn.train)))
    ordinary, outliers = features.coordinates(drawn.ordinary), features.coordinates(drawn.outliers)
    values: dict[Key, float] = {}
    for weight in TABLE:
        region: Any = sequential(features, NU, FrobeniusBall(1.0), weight / features.n).region
        right = np.concatenate([region.contains(ordinary), ~region.contains(outliers)])
        values[_row(weight), "accuracy"] = float(right.mean())
    return values


REPRODUCTION = Reproduction(
    name="mahalanobis-table-1",
    title="accuracy against the weight of the covariance, on a banana",
    source="Tsang, Kwok and Li (2006), table I",
    printed=tuple(Printed(_row(weight), "accuracy", value) for weight, value in TABLE.items()),
    claims=(
        Claim(
            "covariance information improves the accuracy (1000/n against 0)",
            lambda v: v[_row(1000), "accuracy"] - v[_row(0), "accuracy"],
        ),
        Claim(
            "a little of it improves hardly (100/n gains less than 0.01)",
            lambda v: 0.01 - (v[_row(100), "accuracy"] - v[_row(0), "accuracy"]),
        ),
        Claim(
            "too much of it loses again (10000/n against 1000/n)",
            lambda v: v[_row(1000), "accuracy"] - v[_row(10000), "accuracy"],
        ),
    ),
    pieces=("banana",),
    repetition=repetition,
    needs=lambda piece: (),
    repetitions=50,
    quick=5,
)
