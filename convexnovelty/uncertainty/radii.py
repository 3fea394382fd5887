r"""Radii that follow from a sample's size: laws of the estimates of normal points, and inequalities for bounded ones.

The law of the *mean* has the covariance :math:`S/n`, not :math:`S`; a covariance has :math:`p(p+1)/2` free entries,
not :math:`p^2`; and no number of simulations enters a degree of freedom.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import stats

from convexnovelty.errors import InputError
from convexnovelty.validation import flag, fraction, integer, positive

__all__ = [
    "chi_square_radius",
    "concentration_radii",
    "delage_ye_sizes",
    "free_entries",
    "hotelling_radius",
    "wishart_radius",
]

ENROLS_NOTHING = "numbers for the sets that have one"

BEYOND = 20  # how many simulated values are wanted above a quantile
LEAST, MOST = 10_000, 1_000_000  # simulated values
ENTRIES = 4_000_000  # numbers in memory at a time


def free_entries(dimension: int) -> int:
    """The number of free entries of a symmetric matrix, p(p+1)/2."""
    p = integer(dimension, "dimension", 0)
    return p * (p + 1) // 2


def chi_square_radius(degrees: int, confidence: float, count: int = 1) -> float:
    r"""The radius :math:`\sqrt{\chi^2_d(c)/n}` of a ball that holds a standard normal vector over :math:`\sqrt n`.

    For the mean in the metric of the covariance :math:`S` of single points the degrees are the dimension; with
    ``count=1`` the metric is :math:`S/n`, that of the mean itself.
    """
    degrees, count = integer(degrees, "degrees", 1), integer(count, "count", 1)
    return math.sqrt(float(stats.chi2.ppf(fraction(confidence, "confidence"), degrees)) / count)


def hotelling_radius(dimension: int, confidence: float, count: int) -> float:
    r"""The radius of the mean's ellipsoid in the metric of the estimated covariance (with ddof=0), for normal points.

    .. math:: (\hat m - m)'\hat S^{-1}(\hat m - m) \le \frac{p}{n-p}F_{p,\,n-p}(c)

    with confidence :math:`c`; it takes into account that the metric was estimated too, and tends to
    :func:`chi_square_radius`. Raises InputError where there are no more points than dimensions.
    """
    p, n = integer(dimension, "dimension", 1), integer(count, "count", 1)
    if n <= p:
        raise InputError(
            f"count: {n} points in {p} dimensions were found; Hotelling's law needs more points than dimensions"
        )
    quantile = float(stats.f.ppf(fraction(confidence, "confidence"), p, n - p))
    return math.sqrt(p / (n - p) * quantile)


def wishart_radius(dimension: int, confidence: float, count: int, *, mean: bool = False) -> float:
    r"""The radius at which a :class:`WishartBall` around the estimate (with ddof=0) of normal points holds the truth.

    With :math:`\hat S = S^{1/2}WS^{1/2}` the divergence of the truth from the estimate is

    .. math:: \tfrac12\big(\mathrm{tr}\,W^{-1} + \log\det W - p\big) \quad\big[{} + \tfrac1{2n}z'W^{-1}z\big],

    whose law knows nothing of the truth: :math:`nW` is Wishart's with :math:`n-1` degrees of freedom, and with ``mean``
    (for :class:`KLBall`) :math:`z` is standard normal. Its quantile is that of 10,000 values or more, drawn by
    Bartlett's decomposition from a fixed seed; where few lie beyond it, of more. Half of a chi-square over n, the law of
    the likelihood ratio, measures the divergence in the other direction and is far too small in many dimensions.

    Raises InputError where there are no more points than dimensions, or too few of 1,000,000 values beyond the quantile.
    """
    p, n = integer(dimension, "dimension", 1), integer(count, "count", 1)
    error, mean = 1.0 - fraction(confidence, "confidence"), flag(mean, "mean")
    if n <= p:
        raise InputError(f"count: {n} points in {p} dimensions were found; the law needs more points than dimensions")
    draws = max(LEAST, math.ceil(BEYOND / error))
    if draws > MOST:
        raise InputError(f"confidence: {confidence!r} was found; the simulated law serves up to {1 - BEYOND / MOST:g}")
    return _wishart_quantile(p, n, error, draws, mean)


@functools.lru_cache(maxsize=64)
def _wishart_quantile(p: int, n: int, error: float, draws: int, mean: bool) -> float:
    rng = np.random.default_rng(41)
    below = np.tri(p, k=-1, dtype=bool)
    values = []
    block = max(1, ENTRIES // p**2)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        root = np.zeros((size, p, p))
        diagonal = np.sqrt(rng.chisquare(n - 1 - np.arange(p), (size, p)))
        root[:, np.arange(p), np.arange(p)] = diagonal
        root[:, below] = rng.standard_normal((size, int(below.sum())))
        inverse = np.linalg.inv(root)
        value = n * np.sum(inverse**2, axis=(1, 2)) + 2.0 * np.sum(np.log(diagonal), axis=1) - p * (math.log(n) + 1.0)
        if mean:
            value += np.sum((inverse @ rng.standard_normal((size, p, 1))) ** 2, axis=(1, 2))
        values.append(value)
    return 0.5 * float(np.quantile(np.concatenate(values), 1.0 - error, method="higher"))


def concentration_radii(support_radius: float, count: int, confidence: float) -> tuple[float, float]:
    r"""Radii for the mean (Euclidean) and the covariance (Frobenius) that hold for every law of bounded support.

    .. math::

        \|\hat m - m\| \le \frac{R}{\sqrt n}\Big(2 + \sqrt{2\ln\tfrac1\delta}\Big), \qquad
        \|\hat S - S\|_F \le \frac{2R^2}{\sqrt n}\Big(2 + \sqrt{2\ln\tfrac2\delta}\Big)

    each with probability :math:`1 - \delta`, for points of length at most :math:`R` (Shawe-Taylor and Cristianini,
    2003). Each is given the confidence asked for; for both together ask for half of the error.

    Raises InputError where there are too few points for the second inequality.
    """
    R, n = positive(support_radius, "support_radius", squared=True), integer(count, "count", 1)
    error = 1.0 - fraction(confidence, "confidence")
    factor = 2.0 + math.sqrt(2.0 * math.log(2.0 / error))
    if n < factor**2:
        raise InputError(f"count: {n} was found; at this confidence the inequality needs {math.ceil(factor**2)} points")
    mean = R / math.sqrt(n) * (2.0 + math.sqrt(2.0 * math.log(1.0 / error)))
    return mean, 2.0 * R**2 / math.sqrt(n) * factor


def delage_ye_sizes(support_radius: float, count: int, dimension: int, confidence: float) -> tuple[float, float]:
    r"""The numbers :math:`\gamma_1, \gamma_2` of a :class:`DelageYe` set that hold for every law of bounded support.

    With :math:`R` the largest length :math:`\|S^{-1/2}(x - m)\|` of a point in the true moments and
    :math:`\beta = \frac{R^2}n\big(2 + \sqrt{2\ln(4/\delta)}\big)^2`,
    :math:`\alpha = \frac{R^2}{\sqrt n}\big(\sqrt{1 - p/R^4} + \sqrt{\ln(8/\delta)}\big)`:
    :math:`\gamma_1 = \beta/(1-\alpha-\beta),\ \gamma_2 = (1+\beta)/(1-\alpha-\beta)`.

    Lengths in the true moments have the mean square :math:`p`, so that no law has an :math:`R` below :math:`\sqrt p`.

    Raises InputError for such an R, and where there are too few points for the bound to say anything.
    """
    R = positive(support_radius, "support_radius", squared=True)
    n, p = integer(count, "count", 1), integer(dimension, "dimension", 1)
    if R**2 < p * (1.0 - 1e-9):
        raise InputError(
            f"support_radius: {R:.6g} was found, and no law in {p} dimensions has a largest length in its own metric below "
            f"sqrt({p}) = {math.sqrt(p):.6g}; give that of S^(-1/2)(x - m), whatever the unit of the data is"
        )
    error = 1.0 - fraction(confidence, "confidence")
    beta = R**2 / n * (2.0 + math.sqrt(2.0 * math.log(4.0 / error))) ** 2
    alpha = R**2 / math.sqrt(n) * (math.sqrt(max(1.0 - p / R**2 / R**2, 0.0)) + math.sqrt(math.log(8.0 / error)))
    if alpha + beta >= 1.0:
        raise InputError(
            f"count: with {n} points alpha + beta = {alpha + beta:.3g} is not below 1; the bound of Delage and Ye needs "
            "more points, or calibrate by the bootstrap"
        )
    return beta / (1.0 - alpha - beta), (1.0 + beta) / (1.0 - alpha - beta)
