r"""Radii from data: how large a set must be to hold the true moments with a given confidence.

A set is centred on moments that were estimated from ``n`` points. Its radius can come from the law of the estimates
(chi-square, Hotelling), from resampling (bootstrap, for every set that has a radius), from an inequality that holds
for every distribution of bounded support (concentration), or from a score on points that were held out.

The law of the *mean* has the covariance :math:`S/n`, not :math:`S`; a covariance has :math:`p(p+1)/2` free entries,
not :math:`p^2`; and no number of simulations enters a degree of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
from scipy import stats

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.cones import svec
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.base import MeanSet, MomentSet, UncertaintySet
from convexnovelty.uncertainty.derived import membership_of
from convexnovelty.uncertainty.kl_ball import KLBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.product import Product, as_moment_set
from convexnovelty.uncertainty.tools import listed
from convexnovelty.uncertainty.wishart_ball import WishartBall
from convexnovelty.validation import Array, fraction, integer, points, positive

__all__ = [
    "calibrate",
    "chi_square_radius",
    "concentration_radii",
    "coverage",
    "cross_validated",
    "delage_ye_sizes",
    "free_entries",
    "gauge",
    "hotelling_radius",
]

ENROLS_NOTHING = "radii of the sets that have one"

Law = Literal["chi-square", "hotelling", "bootstrap"]


# -- laws of the estimates -------------------------------------------------------------------------------------------


def free_entries(dimension: int) -> int:
    """The number of free entries of a symmetric matrix, p(p+1)/2."""
    return dimension * (dimension + 1) // 2


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


def concentration_radii(support_radius: float, count: int, confidence: float) -> tuple[float, float]:
    r"""Radii for the mean (Euclidean) and the covariance (Frobenius) that hold for every law of bounded support.

    .. math::

        \|\hat m - m\| \le \frac{R}{\sqrt n}\Big(2 + \sqrt{2\ln\tfrac1\delta}\Big), \qquad
        \|\hat S - S\|_F \le \frac{2R^2}{\sqrt n}\Big(2 + \sqrt{2\ln\tfrac2\delta}\Big)

    each with probability :math:`1 - \delta`, for points of length at most :math:`R` (Shawe-Taylor and Cristianini,
    2003). Each is given the confidence asked for; for both together ask for half of the error.

    Raises InputError where there are too few points for the second inequality.
    """
    R, n = positive(support_radius, "support_radius"), integer(count, "count", 1)
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

    Raises InputError where there are too few points for the bound to say anything.
    """
    R, n, p = positive(support_radius, "support_radius"), integer(count, "count", 1), integer(dimension, "dimension", 1)
    error = 1.0 - fraction(confidence, "confidence")
    beta = R**2 / n * (2.0 + math.sqrt(2.0 * math.log(4.0 / error))) ** 2
    alpha = R**2 / math.sqrt(n) * (math.sqrt(max(1.0 - p / R**4, 0.0)) + math.sqrt(math.log(8.0 / error)))
    if alpha + beta >= 1.0:
        raise InputError(
            f"count: with {n} points alpha + beta = {alpha + beta:.3g} is not below 1; the bound of Delage and Ye needs "
            "more points, or calibrate by the bootstrap"
        )
    return beta / (1.0 - alpha - beta), (1.0 + beta) / (1.0 - alpha - beta)


# -- the radius at which a member enters -----------------------------------------------------------------------------


def gauge(uncertainty: UncertaintySet, member: Any, *, largest: float = 1e6) -> float:
    """The least radius at which a centred set holds a member, by the class's own formula or by a convex program.

    Parameters
    ----------
    uncertainty : a centred set with a ``radius``; for a set of means a pair may be given, whose covariance it sees.
    member : a point, a mean, a covariance, or a pair of mean and covariance.
    largest : where the search ends, in units of the set's present radius; infinity is returned beyond.
    """
    blocks = [np.asarray(block) for block in (member if isinstance(member, tuple) else (member,))]
    if isinstance(uncertainty, MeanSet) and len(blocks) == 1:
        blocks.append(np.asarray(uncertainty.covariance))
    own = uncertainty.gauge(*blocks)  # type: ignore[attr-defined]
    if own is not None:
        return float(own)
    if "radius" not in uncertainty.numbers():
        raise InputError(f"{uncertainty!r}: it has no number called radius, so that nothing can be calibrated")
    if isinstance(uncertainty, MeanSet) and not uncertainty.uses_covariance:
        blocks = blocks[:1]
    found = _by_program(uncertainty, blocks)
    return found if found is not None else _by_halving(uncertainty, blocks, largest)


def _by_program(uncertainty: UncertaintySet, blocks: list[Array]) -> float | None:
    """The least radius as a convex program, where the membership is convex in member and radius together."""
    radius = cp.Variable(nonneg=True)
    try:
        posed = uncertainty._copy(radius=radius, _tuner=None)
        constraints = listed(posed.membership(*(cp.Constant(block) for block in blocks)))
        problem = cp.Problem(cp.Minimize(radius), constraints)
        if not problem.is_dcp():
            return None
        for options in solvers.profile().ladder[1:]:
            problem.solve(solver=solvers.DEFAULT_SOLVER, **options)
            if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                return float(np.asarray(radius.value))
            if problem.status == cp.INFEASIBLE:
                return math.inf
    except (ConvexNoveltyError, cp.SolverError, TypeError, ValueError):
        pass  # a membership that treats its radius as a number, or squares it
    return None


def _by_halving(uncertainty: UncertaintySet, blocks: list[Array], largest: float) -> float:
    flat = np.concatenate([svec(block) if block.ndim == 2 else block for block in blocks])
    low, high = 0.0, max(uncertainty.radius, 1e-6)

    def holds(radius: float) -> bool:
        return membership_of(uncertainty.replaced(radius=radius)).distance(flat) < 1e-6

    while not holds(high):
        low, high = high, 2.0 * high
        if high > largest * max(uncertainty.radius, 1e-6):
            return math.inf
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# -- calibration -----------------------------------------------------------------------------------------------------


def calibrate(
    recipe: Any,
    X: Any,
    confidence: float = 0.95,
    *,
    law: Law = "bootstrap",
    resamples: int = 300,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    r"""The recipe with a radius at which it holds the true moments with a given confidence.

    Parameters
    ----------
    recipe : a set of moments with a radius, or a product of two: each part then gets half of the error.
    X : points of shape (n, p), from which the centre will be estimated too.
    confidence : between 0 and 1.
    law : "chi-square" for means, WishartBall and KLBall (the radius of the latter two is half of a likelihood-ratio
        statistic over n, with p(p+1)/2 degrees of freedom, and p more for the mean), "hotelling" for ellipsoids of
        means, "bootstrap" for every set: the quantile of the radii at which sets centred on resampled moments hold the
        sample's own.
    resamples, random_state : of the bootstrap.

    Raises InputError where the law says nothing of the set.
    """
    X = points(X, "X", minimum=2)
    confidence = fraction(confidence, "confidence")
    if isinstance(recipe, Product):
        each = 1.0 - (1.0 - confidence) / 2.0
        rng = np.random.default_rng(random_state)

        def part(given: Any) -> Any:
            if not given.numbers():
                return given
            return calibrate(given, X, each, law=law, resamples=resamples, random_state=rng)

        return Product(part(recipe.means), part(recipe.covariances))
    if law == "bootstrap":
        return recipe.replaced(
            radius=_bootstrapped(recipe, X, confidence, resamples, np.random.default_rng(random_state))
        )
    n, p = X.shape
    ellipsoid = isinstance(recipe, MeanEllipsoid) or (
        isinstance(recipe, MeanMetricEllipsoid) and isinstance(recipe.shape, str)
    )
    if law == "hotelling" and ellipsoid:
        return recipe.replaced(radius=hotelling_radius(p, confidence, n))
    if law == "chi-square":
        if ellipsoid:
            return recipe.replaced(radius=chi_square_radius(p, confidence, n))
        degrees = {WishartBall: free_entries(p), KLBall: free_entries(p) + p}.get(type(recipe))
        if degrees is not None:
            return recipe.replaced(radius=0.5 * chi_square_radius(degrees, confidence, n) ** 2)
    raise InputError(
        f"law: {law!r} is not known for {recipe!r}; use law='bootstrap', which serves every set with a radius"
    )


def _bootstrapped(recipe: Any, X: Array, confidence: float, resamples: int, rng: np.random.Generator) -> float:
    """The quantile of the radius over resamples, each of which plays the sample while the sample plays the truth."""
    truth = Moments.estimate(X)
    member: Any = {
        "mean": (truth.mean, truth.covariance),
        "covariance": truth.covariance,
        "moments": (truth.mean, truth.covariance),
    }.get(recipe.family)
    if member is None:
        raise InputError(
            f"recipe: {recipe!r} is a set of {recipe.family}; give a set of means, of covariances or of both"
        )
    radii = []
    for _ in range(integer(resamples, "resamples", 10)):
        rows = rng.integers(0, X.shape[0], X.shape[0])
        radii.append(gauge(recipe.centred(Moments.estimate(X[rows])), member))
    found = float(np.quantile(radii, confidence, method="higher"))
    if not math.isfinite(found):
        raise InputError(
            f"recipe: {recipe!r} never holds the moments of a resample, whose covariance is singular; give more points or "
            "a set that does not depend on the range of the centre"
        )
    return found


def cross_validated(
    recipe: Any,
    X: Any,
    radii: Iterable[float],
    score: Callable[[Any, Array, Array], float],
    *,
    folds: int = 5,
    random_state: int | np.random.Generator | None = 0,
    executor: Executor | None = None,
) -> Any:
    """The recipe with the radius whose mean score on held-out points is the largest; the smallest radius among ties.

    Parameters
    ----------
    recipe : a set with a radius.
    radii : the radii to try.
    score : a function of a recipe, training points and held-out points; large is good.
    folds : how often a part of the points is held out.
    executor : any ``concurrent.futures`` executor, Dask's ``client.get_executor()`` too, to which ``score`` can be pickled;
        in this process by default. The answer does not depend on it.
    """
    X = points(X, "X", minimum=2)
    folds = min(integer(folds, "folds", 2), X.shape[0])
    order = np.random.default_rng(random_state).permutation(X.shape[0])
    parts = np.array_split(order, folds)
    recipes = [recipe.replaced(radius=radius) for radius in sorted(float(r) for r in radii)]
    work = [(tried, np.delete(X, part, axis=0), X[part]) for tried in recipes for part in parts]
    # Lists of one length: some executors take no endless iterator.
    columns = ([tried for tried, _, _ in work], [kept for _, kept, _ in work], [held for _, _, held in work])
    scores = np.array(list((map if executor is None else executor.map)(score, *columns)), dtype=float)
    best, found = -math.inf, None
    for tried, mean in zip(recipes, scores.reshape(len(recipes), folds).mean(axis=1), strict=True):
        if mean > best:
            best, found = float(mean), tried
    if found is None:
        raise InputError("radii: none was found whose score is a number; give at least one radius")
    return found


def coverage(recipe: Any, moments: Moments, X: Any) -> bool:
    """Whether the set centred on the moments of ``X`` holds the true ones."""
    centred = recipe.centred(Moments.estimate(X))
    if isinstance(recipe, Product):
        return coverage(recipe.means, moments, X) and coverage(recipe.covariances, moments, X)
    if not recipe.numbers():
        return True
    pair = (moments.mean, moments.covariance)
    member = moments.covariance if recipe.family == "covariance" else pair
    if isinstance(recipe, MomentSet) and "radius" not in recipe.numbers():
        flat = np.concatenate([pair[0], svec(pair[1])])
        return membership_of(as_moment_set(centred)).distance(flat) < 1e-6
    return bool(gauge(centred, member) <= recipe.radius * (1.0 + 1e-9))
