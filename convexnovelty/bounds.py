r"""What is known of new points: calculators for the bounds of chapter 8 of Schölkopf and Smola (2001).

:func:`margin_bound` is theorem 8.6 (equations 8.34 to 8.36), a statement on a region that is a little larger than the
estimated one; :func:`leave_one_out_bound` is problem 8.13, on the region itself but only on average over samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.algorithms.smo import smo
from convexnovelty.columns import columns_as_rows
from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap
from convexnovelty.formulation import Solution
from convexnovelty.modelling import separates
from convexnovelty.regions import ROUNDING, Guarantee, HalfSpace
from convexnovelty.validation import Array, fraction, integer, nonnegative, number, positive, shown, symmetric, vector

__all__ = [
    "MarginBound",
    "leave_one_out_bound",
    "leave_one_out_errors",
    "margin_bound",
    "points_needed",
    "slack_sum",
    "solution_bound",
]

# The constant of the entropy numbers of linear functions, as the chapter gives it.
C = 103.0

# Multipliers below this share of the largest one count as zero: what an interior-point method leaves of zeros.
SUPPORT = 1e-6


def slack_sum(scores: Any, theta: float) -> float:
    r"""Equation 8.34: :math:`\mathcal D(X, f, \theta) = \sum_i \max\{0, \theta - f(x_i)\}` of the scores f(x_i)."""
    values, theta = vector(scores, "scores"), number(theta, "theta")
    return float(np.maximum(theta - values, 0.0).sum())


@dataclass(frozen=True)
class MarginBound:
    """Theorem 8.6 in numbers.

    Attributes
    ----------
    value : the bound on the probability of the outside, at most 1.
    formula : the right-hand side of 8.35, which may exceed 1; infinite where the theorem says nothing.
    complexity : the number k of equation 8.36.
    vacuous : whether the bound says nothing, which it does for all samples of ordinary size.
    guarantee : the sentence.
    """

    value: float
    formula: float
    complexity: float
    vacuous: bool
    guarantee: Guarantee


def margin_bound(
    m: int, slacks: float, gamma: float, norm: float, delta: float = 0.05, radius: float = 1.0
) -> MarginBound:
    r"""Theorem 8.6: with probability :math:`1-\delta` over the sample, for any :math:`\gamma > 0`,

    .. math:: P\{x : f_w(x) < \rho - \gamma\} \le \frac2m\Bigl(k + \log_2\frac{m^2}{2\delta}\Bigr), \qquad
        k = \frac{c_1\log_2(c_2\hat\gamma^2m)}{\hat\gamma^2}
          + \frac{2\mathcal D}{\gamma}\log_2\Bigl(e\Bigl(\frac{(2m-1)\gamma}{2\mathcal D}+1\Bigr)\Bigr) + 2

    with :math:`\hat\gamma = \gamma/(R\|w\|)`, :math:`c_1 = 16c^2`, :math:`c_2 = \ln 2/(4c^2)`, :math:`c = 103`.

    Three things differ from the print. The slacks are measured in the margin, :math:`\mathcal D/\gamma`, where 8.36 has
    :math:`\mathcal D/\hat\gamma`: the covering numbers are those of functions of norm one, whose slacks are
    :math:`\mathcal D/\|w\|`, and the print changes when w, rho and gamma are multiplied by one number although no
    region changes. The points may lie in a ball of any radius R instead of one. And where
    :math:`c_2\hat\gamma^2m \le e` nothing is claimed: there the printed first term grows with m, and below one it is
    negative, down to bounds below zero.

    Parameters
    ----------
    m : number of training points.
    slacks : the sum of the slacks, :math:`\mathcal D(X, f_w, \rho)` of :func:`slack_sum`, in units of the scores.
    gamma : by how much the region is enlarged, in units of the scores.
    norm : length of w.
    delta : one minus the confidence, in (0, 1).
    radius : the largest length of a point in feature space; 1 for a Gaussian kernel.

    Examples
    --------
    >>> from convexnovelty.bounds import margin_bound
    >>> margin_bound(10**8, slacks=0.0, gamma=1.0, norm=1.0).value < 0.5
    True
    >>> margin_bound(10**4, slacks=0.0, gamma=1.0, norm=1.0).vacuous
    True
    """
    m = integer(m, "m", 1)
    slacks, gamma, delta = nonnegative(slacks, "slacks"), positive(gamma, "gamma"), fraction(delta, "delta")
    margin = positive(
        gamma / positive(norm, "norm") / positive(radius, "radius"), "gamma / (norm radius)", squared=True
    )
    size = math.log(2) / (4 * C**2) * margin**2 * m
    share = 2 * slacks / gamma
    # x log(e (n/x + 1)) tends to zero with x.
    soft = share * (math.log2(math.e) + math.log2((2 * m - 1) / share + 1)) if share > 0 else 0.0
    complexity = 16 * C**2 / margin**2 * math.log2(size) + soft + 2 if size > math.e else math.inf
    formula = 2 / m * (complexity + 2 * math.log2(m) - 1 - math.log2(delta))
    value = min(formula, 1.0)
    said = (
        f"with probability {1 - delta:.6g} over the sample, P(f(x) < rho - {gamma:.6g}) <= {value:.6g} "
        f"for every distribution without discrete parts (theorem 8.6)"
    )
    if formula >= 1:
        said += "; it says nothing at this sample size"
    return MarginBound(value, formula, complexity, formula >= 1, Guarantee(said, bound=value))


def solution_bound(solution: Solution, features: FeatureMap, gamma: float, delta: float = 0.05) -> MarginBound:
    """Theorem 8.6 for a solution of the one-class machine, with the slacks and the radius of its training points.

    ``gamma`` is in units of the decision values. The radius is that of the sample: for a kernel with constant k(x, x)
    that of all points.
    """
    if not isinstance(solution, Solution):
        raise InputError(f"solution: {shown(solution)} was found; give what solve returns")
    if not isinstance(features, FeatureMap):
        raise InputError(f"features: {shown(features)} was found; give the features that the machine was made with")
    region = solution.region
    if not isinstance(region, HalfSpace):
        raise InputError(f"solution: its region is {type(region).__name__}; theorem 8.6 is about half-spaces")
    scores = np.asarray(features.training) @ region.normal
    return margin_bound(
        features.n,
        slack_sum(scores, region.offset),
        gamma,
        float(np.linalg.norm(region.normal)),
        delta,
        float(np.sqrt(features.squared_norms().max())),
    )


def points_needed(
    target: float, gamma: float, norm: float, delta: float = 0.05, radius: float = 1.0, slack: float = 0.0
) -> int:
    """The least number of points from which on theorem 8.6 promises ``target``, when each has ``slack`` on average.

    Raises InputError where no number suffices, since slacks alone keep the bound above the target, and where more than
    2**52 points would be needed.
    """
    target = fraction(target, "target")
    slack = nonnegative(slack, "slack")

    def enough(m: int) -> bool:
        return margin_bound(m, slack * m, gamma, norm, delta, radius).formula <= target

    high = 1
    while not enough(high):
        high *= 2
        if high > 2**52:  # the last power of two whose double is a whole number of points to every function here
            share = 2 * slack / gamma
            limit = 2 * share * (math.log2(math.e) + math.log2(2 / share + 1)) if share > 0 else 0.0
            told = (
                f"which slacks of {slack:.6g} a point keep out of reach"
                if limit >= target
                else "for which more than 2**52 points would be needed"
            )
            raise InputError(f"target: {target:.6g} was found, {told}; raise gamma or target")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def leave_one_out_bound(multipliers: Any) -> float:
    r"""Problem 8.13: :math:`E\,P(\text{outside}) \le E\,\#SV/m` for samples of size m - 1, as #SV/m of one sample.

    A point that is no support vector can be left out without any change, and lies inside; only support vectors can
    fall outside when they are left out. The upper bound on the multipliers must stay what it was, 1/(nu m) and not
    1/(nu (m - 1)): with the outlier fraction kept in its place, the solution does change.
    """
    alpha = vector(multipliers, "multipliers")
    if (alpha < -SUPPORT * np.abs(alpha).max()).any():
        raise InputError(f"multipliers: {alpha.min():.6g} was found; give multipliers, which are not negative")
    return float((alpha > SUPPORT * alpha.max(initial=0.0)).mean())


def leave_one_out_errors(gram: Any, upper: float) -> Array:
    """Which points fall outside when they are left out of the one-class machine, as zeros and ones of shape (m,).

    ``gram`` is the (m, m) Gram matrix, ``upper`` the bound on the multipliers, which is kept. A machine that separates
    nothing from the origin, w = 0 up to rounding, has every point inside.
    """
    matrix = symmetric(columns_as_rows(gram), "gram")
    n, upper = len(matrix), positive(upper, "upper")
    if upper * (n - 1) < 1:
        raise InputError(
            f"upper: {upper:.6g} was found, at which {n - 1} multipliers cannot sum to 1; "
            f"give at least {1 / max(n - 1, 1):.6g}"
        )
    errors = np.zeros(n)
    lengths = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    for i in range(n):
        kept = np.delete(np.arange(n), i)
        fit = smo(matrix[np.ix_(kept, kept)], upper=upper)
        nu = min(1.0, 1.0 / (upper * (n - 1)))
        if not separates(fit.gradient, lengths[kept], float(lengths[kept].max()), nu):
            continue  # the signs of its scores are rounding
        offset = fit.offset.used if fit.offset is not None else 0.0
        score = float(matrix[i, kept] @ fit.multipliers)
        known = ROUNDING * lengths[i] * float(fit.multipliers @ lengths[kept])
        errors[i] = score < offset - known - 1e-9 * max(abs(offset), float(np.median(np.abs(fit.gradient))))
    return errors
