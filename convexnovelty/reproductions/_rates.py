"""Rates of detectors on test points, and the draws that several reproductions share."""

from __future__ import annotations

import numpy as np

from convexnovelty.validation import Array

__all__ = ["false_positives_at", "halves", "median_square", "shared_out"]


def false_positives_at(inside: Array, outside: Array, missed: float) -> float:
    """The share of novel points that are accepted where the share ``missed`` of ordinary points is not.

    Scores are larger for more ordinary points. Between two thresholds the curve is taken to be straight.
    """
    thresholds = np.concatenate([[-np.inf], np.unique(np.concatenate([inside, outside])), [np.inf]])
    missing = np.searchsorted(np.sort(inside), thresholds, side="left") / inside.size
    accepted = 1 - np.searchsorted(np.sort(outside), thresholds, side="left") / outside.size
    return float(np.interp(missed, missing, accepted))


def halves(X: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Two halves of the rows in random order."""
    return shared_out(X, len(X) // 2, random)


def shared_out(X: Array, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    """``count`` random rows, and the rest."""
    order = random.permutation(len(X))
    return X[order[:count]], X[order[count:]]


def median_square(X: Array) -> float:
    """The median squared distance between two rows, a first guess of a Gaussian kernel's width."""
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(X, "sqeuclidean")))
