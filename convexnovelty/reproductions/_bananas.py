"""The toy problem of Tsang, Kwok and Li (2006): a banana of ordinary points, outliers round it, and four kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from convexnovelty import datasets
from convexnovelty.estimators import KernelLearningSVM, OneClassSVM
from convexnovelty.estimators.base import NoveltyEstimator
from convexnovelty.kernels import Gaussian, gaussian
from convexnovelty.validation import Array

__all__ = ["BASES", "KERNELS", "LEARNED", "NU", "Toy", "accuracy", "base_kernels", "detectors", "first_beta", "toy"]

NOISE = 0.2  # of the crescent, in its units
BASES = {"beta = 2 beta0": 2.0, "beta = beta0": 1.0, "beta = beta0 / 2": 1 / 2, "beta = beta0 / 3": 1 / 3}
# The price C of the largest score, which the paper does not print: three decades of it are shown, and none is chosen.
LEARNED = {f"learned, C = {price:g}": price for price in (1.0, 10.0, 100.0)}
KERNELS = (*LEARNED, *BASES)
NU = (0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True, eq=False)
class Toy:
    """50 points to learn from; 200 ordinary points and 200 outliers to test on."""

    train: Array
    ordinary: Array
    outliers: Array


def toy(random: np.random.Generator) -> Toy:
    """A draw of the library's crescent; outliers are uniform on its box, three deviations of the noise or more off it."""
    train = datasets.banana(50, int(random.integers(2**31))).nominal
    ordinary = datasets.banana(200, int(random.integers(2**31))).nominal
    angle = np.linspace(-0.3 * np.pi, 0.9 * np.pi, 200)
    arc = np.column_stack([2 * np.cos(angle) - 1, 2 * np.sin(angle) + 0.5])
    low, high = arc.min(axis=0) - 1.0, arc.max(axis=0) + 1.0
    uniform = random.uniform(low, high, size=(2000, 2))
    off = np.linalg.norm(uniform[:, None, :] - arc[None, :, :], axis=2).min(axis=1) >= 3 * NOISE
    return Toy(train, ordinary, uniform[off][:200])


def first_beta(X: Array) -> float:
    """beta0, with 1 / beta0 the mean distance between points, as the paper says it (and no square of it)."""
    return 1 / float(pdist(X).mean())


def base_kernels(X: Array) -> dict[str, Gaussian]:
    """The four kernels by their names."""
    return {name: gaussian(gamma=factor * first_beta(X)) for name, factor in BASES.items()}


def detectors(X: Array, nu: float) -> dict[str, NoveltyEstimator]:
    """The machine that learns its kernel under each price, and a one-class SVM for each kernel, fitted."""
    kernels = base_kernels(X)
    fitted: dict[str, NoveltyEstimator] = {
        name: KernelLearningSVM(nu, kernels=list(kernels.values()), scale_penalty=price).fit(X)
        for name, price in LEARNED.items()
    }
    return fitted | {name: OneClassSVM(nu, kernel=kernel).fit(X) for name, kernel in kernels.items()}


def accuracy(detector: NoveltyEstimator, ordinary: Array, outliers: Array) -> float:
    """The share of test points that are on their own side."""
    right = np.concatenate([detector.predict(ordinary) > 0, detector.predict(outliers) < 0])
    return float(right.mean())
