"""What the experiments of chapter 8 on handwritten digits share: images, their smoothing, labels, and the machine."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from convexnovelty.algorithms.block_dual import DualResult, solve_dual
from convexnovelty.kernels import gaussian
from convexnovelty.reproductions._data import Table
from convexnovelty.validation import Array

__all__ = ["KERNEL", "PIXELS", "SMOOTHED", "Trained", "images", "trained", "with_labels"]

PIXELS, SMOOTHED = "pixels", "smoothed"
KERNEL = gaussian(width=0.5 * 256)
TOLERANCE = 1e-8
COUNTED = 1e-9  # relative to the bound and to the scores: below it a multiplier, or a slack, is zero


def images(table: Table, kind: str) -> Array:
    """All images as rows of 256 grey values in [-1, 1]; smoothed by a Gaussian of deviation 0.75 pixels if asked for."""
    X = np.asarray(table.X, dtype=np.float64)
    if kind == PIXELS:
        return X
    from scipy.ndimage import gaussian_filter

    return np.asarray(gaussian_filter(X.reshape(-1, 16, 16), (0, 0.75, 0.75), mode="constant", cval=-1)).reshape(
        X.shape
    )


def with_labels(X: Array, y: Array) -> Array:
    """Ten more columns, +1 for the image's own class and -1 for the others."""
    return np.hstack([X, np.where(np.arange(10) == np.asarray(y)[:, None], 1.0, -1.0)])


@dataclass(frozen=True)
class Trained:
    """A one-class machine, with the fractions of outliers and of support vectors among its training points."""

    dual: DualResult
    offset: float
    outliers: float
    support: float
    seconds: float


def trained(X: Array, nu: float) -> Trained:
    """The one-class SVM of the block solver with the chapter's kernel, and the processor's time that it took."""
    start = time.process_time()
    dual = solve_dual(X, KERNEL, outlier_fraction=nu, tolerance=TOLERANCE)
    seconds = time.process_time() - start
    offset = 0.0 if dual.offset is None else dual.offset.used
    bound = 1 / (nu * len(X))
    return Trained(
        dual,
        offset,
        float(np.mean(dual.scores < offset * (1 - COUNTED))),
        float(np.mean(dual.multipliers > COUNTED * bound)),
        seconds,
    )
