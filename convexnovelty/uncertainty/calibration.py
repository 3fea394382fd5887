r"""How large a set must be to hold the true moments with a given confidence.

A set is centred on moments that were estimated from ``n`` points. Its size can come from the law of the estimates
(chi-square, Hotelling, Wishart), from resampling (bootstrap, for every set of moments), from an inequality that holds for every
distribution of bounded support (concentration), or from a score on points that were held out.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from numbers import Real
from typing import Any, Literal

import numpy as np

from convexnovelty.columns import by_name, names_of, rows
from convexnovelty.cones import svec
from convexnovelty.errors import InputError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.arguments import known_set
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.bures_ball import BuresBall
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.uncertainty.counterparts import MOMENTS
from convexnovelty.uncertainty.delage_ye import DelageYe
from convexnovelty.uncertainty.derived import membership_of
from convexnovelty.uncertainty.exact import Exact
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.exact_mean import ExactMean
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.gauges import gauge, resizable, size_name
from convexnovelty.uncertainty.gelbrich_ball import GelbrichBall
from convexnovelty.uncertainty.kl_ball import KLBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.mean_metric_ellipsoid import MeanMetricEllipsoid
from convexnovelty.uncertainty.mean_within import MeanWithin
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.uncertainty.nuclear_ball import NuclearBall
from convexnovelty.uncertainty.product import Product, as_moment_set
from convexnovelty.uncertainty.radii import (
    chi_square_radius,
    concentration_radii,
    delage_ye_sizes,
    hotelling_radius,
    wishart_radius,
)
from convexnovelty.uncertainty.sizes import is_read
from convexnovelty.uncertainty.spectral_ball import SpectralBall
from convexnovelty.uncertainty.wishart_ball import WishartBall
from convexnovelty.validation import Array, fraction, generator, integer, listed, number, points, positive, shown

__all__ = ["calibrate", "coverage", "cross_validated"]

ENROLS_NOTHING = "sizes from data"

LOT = 20  # resamples of one task: the same for every executor, and enough to outweigh sending the points

Law = Literal["chi-square", "hotelling", "wishart", "bootstrap", "concentration"]


def calibrate(
    recipe: Any,
    X: Any,
    confidence: float = 0.95,
    *,
    law: Law = "bootstrap",
    support_radius: float | None = None,
    resamples: int = 300,
    random_state: int | np.random.Generator | None = 0,
    executor: Executor | None = None,
) -> Any:
    r"""The recipe at a size at which it holds the true moments with a given confidence.

    Parameters
    ----------
    recipe : a set of moments, or a product of two: each part then gets half of the error. A set without a radius, and
        one that is made of several sets, is returned as a multiple of itself, ``t * recipe``; one whose class names another
        number in ``grows_by``, with that number. Means that see the
        covariance (:class:`MeanEllipsoid`) are judged beside the one in use: the estimated one where the set stands alone
        or beside an exact covariance, the true one beside a set that is to hold it.
    X : points of shape (n, p), from which the centre will be estimated too. Labelled scenarios are matched by the names of a
        frame's columns.
    confidence : between 0 and 1.
    law : where the size comes from.

        - "chi-square": normal points; for ellipsoids of means. Approximate, for many points; exact for a
          MeanEllipsoid beside a set of covariances.
        - "hotelling": normal points; exact for ellipsoids of means, and wide for a MeanEllipsoid beside a set of covariances.
        - "wishart": normal points; the law itself for WishartBall and KLBall, to the digits of the draws that
          :func:`wishart_radius` makes of it, and Hotelling's law for ellipsoids of means.
        - "concentration": every law of bounded support, with ``support_radius``; for means in norm balls, for
          Frobenius, spectral, nuclear, Bures and Gelbrich balls, and for DelageYe. Wide.
        - "bootstrap": every set; the quantile of the sizes at which sets centred on resampled moments hold the
          sample's own.
    support_radius : for "concentration", a length that no point exceeds, in units of the data, which the points given are held
        against; for DelageYe the largest length :math:`\|S^{-1/2}(x - m)\|` in the true moments.
    resamples, random_state : of the bootstrap. A confidence c needs at least c/(1-c) resamples: the largest of n sizes is a
        bound of the next with confidence n/(n+1).
    executor : any ``concurrent.futures`` executor, Dask's ``client.get_executor()`` too, for the resamples of the
        bootstrap; in this process by default. The answer does not depend on it.

    Raises InputError where the law says nothing of the set, and where a point is longer than ``support_radius``
    (of which nothing is known in the true metric, where DelageYe has it).
    """
    known_set(recipe, *MOMENTS, name="recipe", recipe=True)
    names, X = names_of(X), points(X, "X", minimum=2)
    confidence = fraction(confidence, "confidence")
    if has_members_of(recipe, Product):
        each = 1.0 - (1.0 - confidence) / 2.0
        rng = generator(random_state)
        uncertain = _is_uncertain(recipe.covariances)

        def part(given: Any) -> Any:
            if not given.numbers():
                return given
            return _calibrated(given, X, names, each, law, support_radius, resamples, rng, executor, uncertain)

        return Product(part(recipe.means), part(recipe.covariances))
    return _calibrated(recipe, X, names, confidence, law, support_radius, resamples, random_state, executor, False)


def _calibrated(
    recipe: Any,
    X: Array,
    names: Sequence[str] | None,
    confidence: float,
    law: Law,
    support_radius: float | None,
    resamples: int,
    random_state: Any,
    executor: Executor | None,
    uncertain: bool,
) -> Any:
    """One set at its size; ``uncertain`` says that it stands beside a set that is to hold the true covariance."""
    if law == "bootstrap":
        recipe, name = resizable(recipe, Moments.estimate(X).named(names))
        size = _bootstrapped(recipe, X, names, confidence, resamples, generator(random_state), executor, uncertain)
        return recipe.replaced(**{name: size})
    n, p = len(X), _dimensions(X)
    if law == "hotelling":
        numbers = _hotelling(recipe, n, p, confidence)
    elif law == "chi-square":
        numbers = _chi_square(recipe, n, p, confidence)
    elif law == "wishart":
        numbers = _wishart(recipe, n, p, confidence)
    else:
        numbers = _concentration(recipe, X, confidence, support_radius) if law == "concentration" else None
    if numbers is None:
        raise InputError(
            f"law: {law!r} is not known for {recipe!r}; use law='bootstrap', which serves every set of moments"
        )
    return recipe.replaced(**numbers)


def _dimensions(X: Array) -> int:
    """In how many dimensions points vary: fewer than they have columns where some are made of others, as one-hot ones are.

    As many as the points are, less one, says nothing of the law that they come from.
    """
    rank = len(Moments.estimate(X).factor)
    return max(rank, 1) if rank < min(len(X) - 1, X.shape[1]) else X.shape[1]


def _is_uncertain(covariances: Any) -> bool:
    """Whether a set of covariances may hold the true one, where the exact one is the estimate."""
    return not has_members_of(covariances, ExactCovariance)


def _is_ellipsoid(recipe: Any) -> bool:
    return has_members_of(recipe, MeanEllipsoid) or (
        has_members_of(recipe, MeanMetricEllipsoid) and isinstance(recipe.shape, str)
    )


def _hotelling(recipe: Any, n: int, p: int, confidence: float) -> dict[str, float] | None:
    return {"radius": hotelling_radius(p, confidence, n)} if _is_ellipsoid(recipe) else None


def _chi_square(recipe: Any, n: int, p: int, confidence: float) -> dict[str, float] | None:
    return {"radius": chi_square_radius(p, confidence, n)} if _is_ellipsoid(recipe) else None


def _wishart(recipe: Any, n: int, p: int, confidence: float) -> dict[str, float] | None:
    if has_members_of(recipe, WishartBall, KLBall):
        return {"radius": wishart_radius(p, confidence, n, mean=has_members_of(recipe, KLBall))}
    return _hotelling(recipe, n, p, confidence)


def _concentration(recipe: Any, X: Array, confidence: float, support_radius: float | None) -> dict[str, float] | None:
    r"""Sizes from bounds on the mean's length and the covariance's Frobenius norm.

    The spectral norm is at most the Frobenius norm, the nuclear norm at most :math:`\sqrt p` times it, and the squared
    distance of Bures at most the nuclear norm of the difference (Powers and Stormer, 1970). A norm of the mean with
    exponent :math:`q < 2` is at most :math:`p^{1/q-1/2}` times its length.
    """
    if support_radius is None:
        raise InputError("support_radius: None was found; law='concentration' needs a length that no point exceeds")
    n, p = X.shape
    if has_members_of(recipe, DelageYe):
        gamma1, gamma2 = delage_ye_sizes(support_radius, n, _dimensions(X), confidence)
        return {"gamma1": gamma1, "gamma2": gamma2}
    _refuse_longer(X, support_radius)
    if has_members_of(recipe, MeanWithin) and has_members_of(recipe.points, NormBall):
        wider = p ** max(1.0 / recipe.points.p - 0.5, 0.0)
        return {"radius": wider * concentration_radii(support_radius, n, confidence)[0]}
    if has_members_of(recipe, GelbrichBall):
        mean, frobenius = concentration_radii(support_radius, n, 1.0 - (1.0 - confidence) / 2.0)
        return {"radius": math.hypot(mean, math.sqrt(math.sqrt(p) * frobenius))}
    frobenius = concentration_radii(support_radius, n, confidence)[1]
    by_kind = {
        FrobeniusBall: frobenius,
        SpectralBall: frobenius,
        NuclearBall: math.sqrt(p) * frobenius,
        BuresBall: math.sqrt(math.sqrt(p) * frobenius),
    }
    return {"radius": by_kind[type(recipe)]} if type(recipe) in by_kind else None


def _refuse_longer(X: Array, support_radius: float) -> None:
    """Raise InputError where a point is longer than the law of the points is said to allow."""
    R = positive(support_radius, "support_radius", squared=True)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(X / R, axis=1)
    longest = int(np.argmax(lengths))
    if lengths[longest] > 1.0 + 1e-9:
        raise InputError(
            f"support_radius: {R:.6g} was found, and point {longest} is {lengths[longest]:.6g} times as long; give a length that "
            "no point exceeds, or points measured from a centre that was known before them"
        )


def _bootstrapped(
    recipe: Any,
    X: Array,
    names: Sequence[str] | None,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
    executor: Executor | None,
    uncertain: bool,
) -> float:
    """The quantile of the size over resamples, each of which plays the sample while the sample plays the truth."""
    truth = Moments.estimate(X)
    member: Any = {
        "mean": (truth.mean, truth.covariance if uncertain else None),
        "covariance": truth.covariance,
        "moments": (truth.mean, truth.covariance),
    }[recipe.family]
    resamples = integer(resamples, "resamples", 10)
    needed = math.ceil(confidence / (1.0 - confidence) - 1e-6)
    if resamples < needed:
        raise InputError(
            f"resamples: {resamples} was found, of which even the largest size has a confidence of {resamples / (resamples + 1):.6g}, "
            f"where {confidence:.9g} is needed; give {needed} or more, or a smaller confidence"
        )
    counts = [min(LOT, resamples - start) for start in range(0, resamples, LOT)]
    states = []
    for count in counts:  # each lot begins where the one before it ends, in whatever process it is drawn
        states.append(copy.deepcopy(rng))
        for _ in range(count):
            rng.integers(0, X.shape[0], X.shape[0])
    constant = ([given] * len(counts) for given in (recipe, member, X, names))
    lots = (map if executor is None else executor.map)(_sizes, *constant, states, counts)
    sizes = [size for lot in lots for size in lot]
    found = float(np.quantile(sizes, confidence, method="higher"))
    if not math.isfinite(found):
        missed = float(np.mean(np.isinf(sizes)))
        raise InputError(
            f"recipe: {recipe!r} holds the sample's moments at no size around {missed:.0%} of the resampled ones; use a "
            "set whose members differ from its centre in every direction, or more points if resamples are singular"
        )
    return found


def _sizes(
    recipe: Any, member: Any, X: Array, names: Sequence[str] | None, rng: np.random.Generator, count: int
) -> list[float]:
    """The sizes at which sets centred on resampled moments hold a member, for one lot of resamples.

    A mean without a covariance beside it is judged in that of the resample.
    """
    found = []
    for _ in range(count):
        moments = Moments.estimate(X[rng.integers(0, X.shape[0], X.shape[0])]).named(names)
        alone = isinstance(member, tuple) and member[1] is None
        found.append(float(gauge(recipe.centred(moments), (member[0], moments.covariance) if alone else member)))
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
    recipe : a set with a radius, or with the number that its class names in ``grows_by``.
    radii : the radii to try.
    score : a function of a recipe, training points and held-out points that returns a real number; large is good. The points are
        rows of X: frames where X is one with named columns, so that labelled scenarios find theirs, and arrays otherwise. NaN
        and None count for no score of that radius.
    folds : how often a part of the points is held out; at most once for each point.
    executor : any ``concurrent.futures`` executor, Dask's ``client.get_executor()`` too, to which ``score`` can be pickled;
        in this process by default. The answer does not depend on it.

    Raises InputError for a set whose members do not depend on that number, and for scores that are no numbers.
    """
    known_set(recipe, name="recipe", recipe=True)
    table, X = X, points(X, "X", minimum=2)
    table = X if names_of(table) is None else table
    folds = min(integer(folds, "folds", 2), X.shape[0])
    order = generator(random_state).permutation(X.shape[0])
    parts = np.array_split(order, folds)
    if not callable(score):
        raise InputError(f"score: {shown(score)} was found; give a function of a recipe, training and held-out points")
    tried = sorted(number(radius, "radii") for radius in listed(radii, "radii", "a list of numbers"))
    name = _tried_name(recipe, X)
    recipes = [recipe.replaced(**{name: radius}) for radius in tried]
    kept = [np.setdiff1d(np.arange(X.shape[0]), part) for part in parts]
    lots = [(rows(table, training), rows(table, part)) for training, part in zip(kept, parts, strict=True)]
    work = [(tried, training, held) for tried in recipes for training, held in lots]
    # Lists of one length: some executors take no endless iterator.
    columns = ([tried for tried, _, _ in work], [kept for _, kept, _ in work], [held for _, _, held in work])
    told = list((map if executor is None else executor.map)(score, *columns))
    scores = np.array([_score(value, tried) for value, tried in zip(told, columns[0], strict=True)])
    best, found = -math.inf, None
    for tried, mean in zip(recipes, scores.reshape(len(recipes), folds).mean(axis=1), strict=True):
        if mean > best:
            best, found = float(mean), tried
    if found is None:
        raise InputError("radii: none was found whose score is a number; give at least one radius")
    return found


def _tried_name(recipe: Any, X: Array) -> str:
    """The number whose values are tried."""
    name = "radius" if isinstance(recipe, Composite) or recipe.grows_by not in vars(recipe) else str(recipe.grows_by)
    if recipe.family == "points":
        return name
    owner, inner = recipe.centred(Moments.estimate(X)), name
    while isinstance(owner, Composite):
        part, inner = owner._route(inner)
        if not part:
            return name
        owner = owner.parts()[part]
    if inner in vars(owner) and not is_read(owner, inner):
        raise InputError(
            f"recipe: {recipe!r} was found, whose members do not depend on its radius; let the class of {owner!r} name the number "
            "that makes it larger, as grows_by"
        )
    return name


def _score(value: Any, recipe: Any) -> float:
    """A score as a number; NaN, which none is, for None."""
    value = value.item() if isinstance(value, (np.ndarray, np.generic)) and value.size == 1 else value
    if value is None:
        return math.nan
    if not isinstance(value, Real):
        raise InputError(f"score: {shown(value)} was returned for {recipe!r}; let it return one real number")
    return float(value)


def coverage(recipe: Any, moments: Moments, X: Any) -> bool:
    """Whether the set centred on the moments of ``X`` holds the true ones.

    Means that see the covariance are judged beside the one in use, as in :func:`calibrate`. What is said to be exact is
    not judged. A frame's columns are matched by name with those of the moments.
    """
    known_set(recipe, *MOMENTS, name="recipe", recipe=True)
    if not isinstance(moments, Moments):
        raise InputError(f"moments: {shown(moments)} was found; give the true ones, such as Moments(mean, covariance)")
    found = Moments.estimate(by_name(X, "X", moments.names, "the moments"))
    if found.mean.size != moments.mean.size:
        raise InputError(
            f"moments: they are of dimension {moments.mean.size} where X has {found.mean.size} columns; give both the same"
        )
    if has_members_of(recipe, Product):
        beside = _is_uncertain(recipe.covariances)
        return _covers(recipe.means, moments, found, beside) and _covers(recipe.covariances, moments, found, True)
    return _covers(recipe, moments, found, recipe.family != "mean")


def _covers(recipe: Any, moments: Moments, found: Moments, uncertain: bool) -> bool:
    """Whether one set around the moments that were found holds the true ones, beside the true covariance or the one found."""
    centred = recipe.centred(found)
    if has_members_of(recipe, Exact, ExactMean, ExactCovariance):
        return True
    pair = (moments.mean, moments.covariance if uncertain else found.covariance)
    member = moments.covariance if recipe.family == "covariance" else pair
    name = size_name(centred)
    if name is None:
        if recipe.family == "covariance":
            return membership_of(centred).distance(svec(moments.covariance)) < 1e-6
        if recipe.family == "mean":
            centred = as_moment_set(recipe).centred(Moments(np.asarray(found.mean), pair[1]))
        return membership_of(centred).distance(np.concatenate([pair[0], svec(pair[1])])) < 1e-6
    return bool(gauge(centred, member) <= recipe.numbers()[name] * (1.0 + 1e-9))
