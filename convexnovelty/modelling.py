r"""Pieces of models that several methods share, written so that CVXPY stays cheap.

CVXPY's own test of positive semidefiniteness fails on Gaussian Gram matrices and a dense factor doubles the
solver's work, so the quadratic form of a Gram matrix is built here, once, from features that have already been
found positive semidefinite.
"""

from __future__ import annotations

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.features import FeatureMap
from convexnovelty.regions import Interval
from convexnovelty.validation import Array

__all__ = ["gram_form", "quantile_interval"]

# Below this share of n a factor of the Gram matrix is cheaper for an interior-point method than the matrix itself.
FACTOR_SHARE = 1 / 3


def gram_form(multipliers: cp.Expression, features: FeatureMap, unit: float) -> cp.Expression:
    r"""The quadratic form :math:`\alpha'K\alpha/\text{unit}^2` of the features' Gram matrix, convex by construction."""
    n, rank = features.training.shape
    if rank < FACTOR_SHARE * n:
        return cp.sum_squares((np.asarray(features.training).T / unit) @ multipliers)
    return cp.quad_form(multipliers, cp.psd_wrap(features.gram / unit**2))


def quantile_interval(scores: Array, fraction: float) -> Interval:
    r"""All minimisers over rho of :math:`-\rho + \frac{1}{\nu n}\sum_i (\rho - s_i)_+`: the nu-quantiles of the scores.

    They are the optimal offsets for a given weight vector. When nu n is a whole number they fill an interval, any
    point of which is equally good, and solvers return different ones; the lower end, which leaves the fewest points
    outside, is the one that is used. For nu = 1 the interval has no upper end.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    count = fraction * ordered.size
    whole = round(count)
    if whole >= 1 and abs(count - whole) <= 1e-9 * ordered.size:
        upper = float(ordered[whole]) if whole < ordered.size else float("inf")
        return Interval(float(ordered[whole - 1]), upper, float(ordered[whole - 1]))
    value = float(ordered[int(np.ceil(count)) - 1])
    return Interval(value, value, value)
