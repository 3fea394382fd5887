r"""Pieces of models that several methods share, written so that CVXPY stays cheap.

CVXPY's own test of positive semidefiniteness fails on Gaussian Gram matrices and a dense factor doubles the
solver's work, so the quadratic form of a Gram matrix is built here, once, from features that have already been
found positive semidefinite.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap, KernelFeatures
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Guarantee, HalfSpace, Interval, spread
from convexnovelty.validation import Array, fraction, vector

if TYPE_CHECKING:  # estimators that need no program read their thresholds here, and start sooner without it
    from convexnovelty.formulation import Quantity, Reading, Tunable

__all__ = [
    "LIBSVM_STEPS",
    "NOTHING",
    "NO_DIRECTION",
    "beyond_boundary",
    "boundary_tie",
    "fitted_by_libsvm",
    "gram_form",
    "hidden_lengths",
    "hidden_square",
    "least_share",
    "libsvm_rounding",
    "libsvm_share",
    "margin_letters",
    "margin_reading",
    "mean_of_lowest",
    "multipliers",
    "not_hard",
    "nothing_separated",
    "outlier_share",
    "plane_doubts",
    "point_reading",
    "printed_bound",
    "product_doubt",
    "proves_separation",
    "quantile_interval",
    "sample_shares",
    "score_doubts",
    "separates",
    "signs",
    "slack_price",
    "untold_by_products",
]

# Below this share of n a factor of the Gram matrix is cheaper for an interior-point method than the matrix itself.
FACTOR_SHARE = 1 / 3

# Squared length of most points, in the unit of a program, above which their products have lost digits of its optimum.
LONG = 100.0

# Shares of the weight that differ by less are equal: what rounding leaves of sums of n weights.
SHARE_ROUNDING = 1e-9

# Share of the largest score by which a point may lie above the offset and be a term of w.
ON_MARGIN = 1e-7

# Share of its bound by which a solver's multiplier of a point beyond the boundary may miss it. Clarabel left 1e-4 at slacks of a tie.
AT_BOUND = 2e-4

# How the sentence on a solution begins that separates nothing.
NOTHING = "w = 0 to the solver's accuracy"

# Steps after which libsvm has no more to find: its kernel values of single precision may lead it round in circles.
LIBSVM_STEPS = 1_000_000

# Of the optimum, what rounding of points' products may change where pairwise steps are held to it.
OF_OPTIMUM = 1e-6

# Of the features' squared unit, the squared length of w that a solver cannot tell from zero.
NO_DIRECTION = 1e-9


# -- what a user hands over --------------------------------------------------------------------------------------------


def check_features(features: Any) -> None:
    """Raise InputError where something else than features was handed over, such as the points themselves."""
    if not isinstance(features, FeatureMap):
        raise InputError(
            f"features: {type(features).__name__} was found; give cn.LinearFeatures(X) or cn.KernelFeatures(X, kernel)"
        )


def outlier_share(value: Any, name: str) -> float:
    """The papers' nu: a number in (0, 1]."""
    return fraction(value, name, one=True)


def libsvm_rounding(features: FeatureMap) -> float:
    """What libsvm's kernel values, of single precision, leave unknown of a score whose coefficients sum to one.

    Each value is off by a half of a last digit of k(x, x) at most, and so is a sum of them with such coefficients; where its
    multipliers are free, libsvm holds the sums of its own values equal, and the offset is one of them.
    """
    return float(np.finfo(np.float32).eps * np.max(features.squared_norms()))


def untold_by_products(features: FeatureMap, unit: float) -> str | None:
    r"""Why products of points do not tell a reduced hull at this distance from the origin, or None where they do.

    Steps that know the points by these alone know :math:`\tfrac12\|w\|^2` to what rounding leaves of them.
    """
    if ROUNDING * float(np.max(features.squared_norms())) <= OF_OPTIMUM * unit**2:
        return None
    return "rounding of the points' products does not tell this reduced hull from the origin"


def fitted_by_libsvm(machine: Any, *arguments: Any, **weights: Any) -> Any:
    """A machine of scikit-learn's, fitted in so many steps as end where there is anything to find."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what is left then is rounding, which the checker counts
        return machine.set_params(max_iter=LIBSVM_STEPS).fit(*arguments, **weights)


def libsvm_share(value: Any, name: str) -> float:
    """A share below one: at one every multiplier is at its bound, which leaves libsvm's offset infinite."""
    share = fraction(value, name, one=True)
    if share == 1:
        raise InputError(f"{name}: 1 was found, where libsvm's offset is infinite; give less, or use another node")
    return share


def sample_shares(weights: Any, n: int) -> Array:
    """The share of each point in the sample, of shape (n,) and with sum one; 1/n each without weights.

    Raises InputError for a negative weight, naming its position, and where no weight is above zero.
    """
    if weights is None:
        return np.full(n, 1 / n)
    given = vector(weights, "weights", n)
    wrong = np.flatnonzero(given < 0)
    if wrong.size:
        raise InputError(f"weights: {given[wrong[0]]:.6g} was found at position {wrong[0]}; give weights of at least 0")
    largest = float(given.max())
    if largest == 0:
        raise InputError("weights: all of them are 0, so no point counts; give at least one above 0")
    scaled = given / largest  # the sum of weights of 1e308 would overflow
    return np.asarray(scaled / scaled.sum())


def weights_differ(shares: Array) -> bool:
    """Whether some points count more than others."""
    return float(np.ptp(shares)) > SHARE_ROUNDING / shares.size


def least_share(weights: Any, n: int) -> float:
    """The smallest share above zero: an outlier fraction below it leaves no point outside."""
    shares = sample_shares(weights, n)
    return float(shares[shares > 0].min())


def not_hard(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> str | None:
    """Why some point may lie outside, or None where the outlier fraction is too small for that."""
    least = least_share(weights, features.n)
    return None if outlier_fraction < least else f"no point may lie outside only for outlier_fraction < {least:.6g}"


def signs(labels: Any, n: int) -> Array:
    """Labels as a vector of -1 and 1 of shape (n,); InputError names the first entry that is neither."""
    given = vector(labels, "labels", n)
    wrong = np.flatnonzero(~np.isin(given, (-1.0, 1.0)))
    if wrong.size:
        raise InputError(
            f"labels: {given[wrong[0]]:.6g} was found at position {wrong[0]}; give 1 for ordinary and -1 for novel "
            f"points"
        )
    return given


def slack_price(nu: Tunable, shares: Array) -> cp.Parameter:
    r"""The number :math:`1/\nu` as a parameter; times the shares it is the price of the slacks and bounds multipliers.

    Multipliers sum to one, so that no bound above one binds. Below the outlier fraction at which all bounds are two
    the price therefore stays what it is there: the solution is the same, and a fraction of 1e-12 asks no solver to mix
    numbers of size one and of size :math:`10^{12}`. Beside a further constraint or term multipliers may sum to
    anything, and the price is the printed one.
    """
    most = 2 / float(shares[shares > 0].min())
    return nu.parameter(lambda value: min(1 / value, most), lambda value: 1 / value, nonneg=True)


def printed_bound(n: int) -> Callable[[float], float]:
    r"""The number :math:`1/(\nu n)` as it is printed, from nu."""
    return lambda nu: 1 / (nu * n)


def slack_bound(nu: float, n: int) -> float:
    r"""The number :math:`1/(\nu n)`, or two where it is larger: see :func:`slack_price`."""
    return min(1 / (nu * n), 2.0) if nu * n > 0 else 2.0


# -- expressions -------------------------------------------------------------------------------------------------------


def span_gram(features: FeatureMap) -> Array:
    """The Gram matrix of the coordinates: the kernel's own, unless ``rank`` cut the basis short."""
    if getattr(features, "rank", None) is None:
        return features.gram
    phi = np.asarray(features.training)
    return np.asarray(phi @ phi.T)


def multipliers(coordinates: Array, nu: float, shares: Array, **named: str) -> Quantity:
    r"""The letter of a reduced hull's multipliers, which are at least 0, one for each row of coordinates in a program's unit.

    At least the fraction ``nu`` of the points have some. Those of points that are far longer than so many are posed in their
    lengths: :math:`\alpha_ix_i` is then of one size, and a solver does not take for all there is what has no part in a hull near
    the origin. Long points that cancel, as all of a hull may, keep multipliers of the order of one.
    """
    from convexnovelty.formulation import Quantity

    variable = cp.Variable(len(coordinates), nonneg=True, **named)
    lengths = np.linalg.norm(coordinates, axis=1)
    sizes = np.maximum(lengths / max(1.0, quantile_interval(lengths, nu, shares).used), 1.0)
    if sizes.max() ** 2 <= LONG:
        return Quantity(variable)
    return Quantity(variable, axes=sp.diags_array(1 / sizes), inverse=sp.diags_array(sizes))


def gram_form(alpha: Quantity, features: FeatureMap, unit: float) -> cp.Expression:
    r"""The quadratic form :math:`\alpha'K\alpha/\text{unit}^2` of the features' Gram matrix, convex by construction."""
    return squared_length(alpha, np.asarray(features.training) / unit, lambda: span_gram(features) / unit**2)


def squared_length(alpha: Quantity, coordinates: Array, gram: Callable[[], Array] | None = None) -> cp.Expression:
    r"""The squared length :math:`\|C'\alpha\|^2` for coordinates C of shape (n, r), as a factor or as a matrix.

    ``gram`` gives CC' where the caller knows it better; it is not asked where the factor is cheaper.
    """
    n, rank = coordinates.shape
    sizes = np.ones(n) if alpha.inverse is None else np.asarray(alpha.inverse.diagonal())
    rows = coordinates / sizes[:, None]
    if rank < FACTOR_SHARE * n or np.median(np.einsum("ij,ij->i", coordinates, coordinates)) > LONG:
        form: cp.Expression = cp.sum_squares(rows.T @ alpha.variable)
        return form
    matrix = rows @ rows.T if gram is None else gram() / np.outer(sizes, sizes)
    form = cp.quad_form(alpha.variable, cp.psd_wrap(matrix))
    return form


# -- what a solution means ---------------------------------------------------------------------------------------------


def quantile_interval(scores: Array, share: float, shares: Array | None = None) -> Interval:
    r"""All minimisers over rho of :math:`-\rho + \frac{1}{\nu}\sum_i p_i(\rho - s_i)_+`, the nu-quantiles of scores s.

    They are the optimal offsets for a given weight vector; p are the points' shares, 1/n each by default. When a set
    of lowest scores has a share of exactly nu (nu n is a whole number), they fill an interval, any point of which is
    equally good, and solvers return different ones; the lower end, which leaves the fewest points outside, is the one
    that is used. For nu = 1 the interval has no upper end.
    """
    given = np.asarray(scores, dtype=float)
    parts = np.full(given.size, 1 / given.size) if shares is None else shares
    order = np.argsort(given, kind="stable")
    order = order[parts[order] > 0]
    ordered, reached = given[order], np.cumsum(parts[order])
    first = min(int(np.searchsorted(reached, share - SHARE_ROUNDING)), ordered.size - 1)
    lower = float(ordered[first])
    if reached[first] > share + SHARE_ROUNDING:
        return Interval(lower, lower, lower)
    return Interval(lower, float(ordered[first + 1]) if first + 1 < ordered.size else float("inf"), lower)


def boundary_tie(scores: Array, level: float, doubts: Array) -> float:
    """What is not known of the scores that may be the level, which is one of them: no other point has a part in it."""
    at = int(np.argmin(np.abs(scores - level)))
    return float(doubts[np.abs(scores - level) <= doubts + doubts[at]].max(initial=0.0))


def below(scores: Array, offset: float, slack: float) -> NDArray[np.bool_]:
    """Which scores lie below the offset by more than a share ``slack`` of the largest."""
    scale = max(float(np.abs(scores).max()), float(np.finfo(float).tiny))
    return np.asarray(scores < offset - slack * scale)


def terms_apart(points: Array, normal: Array, scores: Array, level: float) -> Array:
    """The sizes of what the score of each point (n, r) differs by from that at a level, of shape (n,).

    An error of the normal is a share of its length, and moves the difference of two scores by as much of the points' distance:
    where all points lie far from the origin that is little beside the scores themselves.
    """
    away = points - points[int(np.argmin(np.abs(scores - level)))]
    return np.asarray(np.linalg.norm(normal) * np.linalg.norm(away, axis=1))


def beyond_boundary(multipliers: Any, bounds: Any) -> NDArray[np.bool_] | None:
    """Which points a solver's multipliers (n,) show to lie beyond the boundary, those at their ``bounds``; None where they do not tell.

    That is where the solver shows none, and where all are at a bound, which shows no point to be on the boundary.
    A near miss of the boundary and the error of a point on it may be of one size in scores, and are not in multipliers: a product of
    slack and what is left to the bound is nothing at an optimum.
    """
    if multipliers is None:
        return None
    found, most = np.ravel(multipliers), np.asarray(bounds)
    within = (found > AT_BOUND * most) & (found < (1 - AT_BOUND) * most)
    return np.asarray(found >= (1 - AT_BOUND) * most) if within.any() else None


def boundary_scale(
    scores: Array,
    level: float,
    apart: Array,
    shares: Array | None = None,
    doubts: Array | None = None,
    beyond: NDArray[np.bool_] | None = None,
) -> float:
    """The scale of scores w'x of training points, (n,), of which ties with a level are a share.

    ``apart`` (n,) as in :func:`terms_apart`, ``doubts`` (n,) as in :func:`score_doubts`, ``beyond`` (n,) as in :func:`beyond_boundary`.
    """
    scale = spread(scores, shares, level=level, apart=apart, beyond=beyond)
    if doubts is None:
        return scale
    # What the scores of points on the boundary are not known to is a tie as well.
    return max(scale, float(doubts[np.abs(scores - level) <= doubts].max(initial=0.0)) / TIE_TOLERANCE)


def beyond_tie(scores: Array, offset: float, region: HalfSpace, rows: Array) -> NDArray[np.bool_]:
    """Which scores lie below an offset by more than the region takes for a tie in these rows, (n, r)."""
    return np.asarray(scores - offset < -(region.tie + region.rounding(rows)))


def mean_of_lowest(scores: Array, share: float, shares: Array | None = None) -> float:
    r"""The mean of the scores over the lowest ``share`` of the weight: the least score w'v of a point v of the reduced hull."""
    given = np.asarray(scores, dtype=float)
    parts = np.full(given.size, 1 / given.size) if shares is None else shares
    order = np.argsort(given, kind="stable")
    before = np.cumsum(parts[order]) - parts[order]
    taken = np.clip(share - before, 0.0, parts[order])
    return float(taken @ given[order] / taken.sum())


def score_doubts(features: FeatureMap, unit: float) -> Array:
    r"""What the score w'x of each point is not known to, of shape (n,), where w is a sum of terms of size ``unit``.

    That is rounding, and for coordinates from a factorisation the products of points that it leaves out.
    """
    left_out = hidden_lengths(features)
    return np.asarray(ROUNDING * unit * np.sqrt(features.squared_norms()) + left_out * left_out.max())


def plane_doubts(features: FeatureMap, normal: Array) -> Array:
    """What the score w'x of each point is not known to, of shape (n,), for a w that is taken as it is.

    That is rounding of the sum, and of coordinates from a factorisation.
    """
    rounding = ROUNDING * (np.abs(np.asarray(features.training)) @ np.abs(normal))
    return np.asarray(rounding + hidden_lengths(features) * float(np.linalg.norm(normal)))


def hidden_lengths(features: FeatureMap) -> Array:
    """Lengths of what coordinates may lack of the points, of shape (n,): products of two lack the product of theirs at most.

    Nothing where points are their own coordinates, or where ``rank`` says that the coordinates are the features. Each point has
    a length of its own: rounding of the farthest says nothing of the near ones, of which the plane is made.
    """
    if not isinstance(features, KernelFeatures) or features.rank is not None:
        return np.zeros(features.n)
    return np.asarray(np.sqrt(features.residuals + ROUNDING * features.squared_norms()))


def product_doubt(features: FeatureMap) -> float:
    """What products of any two points' coordinates may differ by from the kernel's exact values."""
    return float(hidden_lengths(features).max()) ** 2


def hidden_square(hidden: Array, scores: Array, nu: float, shares: Array) -> float:
    """The squared length of what coordinates may lack of a w: its terms are points whose score is at most the offset.

    ``hidden`` are the lengths of what they lack of each point, and ``scores`` those of w.
    """
    level = quantile_interval(scores, nu, shares).used + ON_MARGIN * float(np.abs(scores).max())
    terms = scores - hidden * hidden.max() <= level
    return float(hidden[terms & (shares > 0)].max()) ** 2


def separates(scores: Array, lengths: Array, unit: float, nu: float, shares: Array | None = None) -> bool:
    r"""Whether scores w'x prove by themselves that the reduced hull does not hold the origin, however near to it it comes.

    A w that is a sum of terms of size ``unit`` leaves the score of a point as long as ``lengths`` unknown by rounding.
    """
    return proves_separation(scores, ROUNDING * unit * lengths, nu, shares)


def proves_separation(scores: Array, doubts: Array, nu: float, shares: Array | None = None) -> bool:
    """The same for scores that are known to within ``doubts``.

    Whatever w is, no point of the reduced hull has a score below ``mean_of_lowest``, and the origin has the score zero.
    """
    return mean_of_lowest(scores - doubts, nu, shares) > 0


def nothing_separated(squared: float, unit: float, nu: float, origin: str = "the origin") -> Guarantee | None:
    r"""What there is to say where :math:`\|w\|^2` is zero to a solver beside features of size ``unit``; else None."""
    if squared > NO_DIRECTION * unit**2:
        return None
    return Guarantee(
        f"{NOTHING}: the reduced hull of the sample at the fraction {nu:.6g} holds {origin} to that accuracy, "
        "so nothing is separated and every point is inside",
        bound=1.0,
    )


def point_reading(
    scores: Array,
    normal: Array,
    offset: float,
    shares: Array,
    *,
    rows: Array,
    apart: Array,
    unit: float | None,
    squared: float | None = None,
    shift: float = 0.0,
    outside: str = "lie outside",
    most: bool = False,
) -> Reading:
    r"""The half-space :math:`\langle w, z\rangle \ge \rho + \text{shift}` of any w and rho, and how many points it leaves out.

    It asks for no optimality: rho is taken as it is, and points are counted. Arguments are those of
    :func:`margin_reading`; ``offset`` is rho, ``apart`` (n,) as in :func:`terms_apart` at it, ``unit`` None takes every w as it
    is, ``squared`` is the squared length of w in the metric of the unit where that is not the plain one, and ``most`` says that
    scores are known from below only.
    """
    from convexnovelty.formulation import Reading

    scale = spread(scores, shares, apart=apart)
    squared = float(normal @ normal) if squared is None else squared
    if unit is not None and nothing_separated(squared, unit, 1.0) is not None:
        # What a solver left of w is rounding: all points lie on one side, that of minus rho, or on the plane where rho is rounding too.
        scores, normal, scale, shift = np.zeros_like(scores), np.zeros_like(normal), unit**2, 0.0
        offset = 0.0 if abs(offset) <= TIE_TOLERANCE * scale else offset
    region = HalfSpace(normal, offset + shift, scale=scale)
    out = beyond_tie(scores, offset, region, rows) & (shares > 0)
    share, counted = float(shares[out].sum()), "at most " if most else ""
    if weights_differ(shares):
        said = f"training points of {counted}{share:.6g} of the weight {outside}"
    else:
        said = f"{counted}{int(out.sum())} of {scores.size} training points {outside}"
    return Reading(region, Guarantee(said, bound=share), vanishing=() if unit is None else ("w", "rho", "xi"))


def margin_reading(
    scores: Array,
    normal: Array,
    nu: float,
    shares: Array,
    *,
    points: Array,
    rows: Array | None = None,
    unit: float,
    shift: float = 0.0,
    theorem: str = "proposition 8.3",
    outside: str = "lie outside",
    origin: str = "the origin",
    doubts: Array | None = None,
    known: Array | None = None,
    beyond: NDArray[np.bool_] | None = None,
) -> Reading:
    r"""The half-space :math:`\langle w, z\rangle \ge \rho + \text{shift}` of a maximal margin, and its nu-property.

    Parameters
    ----------
    scores : (n,) what each training point has to hold against the offset rho.
    normal : (r,) the vector w.
    nu, shares : the outlier fraction and the points' shares of the sample.
    points : (n, r) what differences of the scores are products of w with differences of.
    rows : (n, r) the training points as the region judges them; the ``points`` by default.
    unit : the size of the features, against which w is found to be zero.
    shift : what the offset of the region exceeds rho by.
    theorem, outside, origin : words of the guarantee.
    doubts : (n,) what the scores are not known to where they are those of a linear function, which may prove that the origin
        is separated where w is zero to a solver; None where they are not.
    known : of a w that is the optimum to rounding, what the scores are not known to (n,), which is all that ties are then; None
        for a solver's w.
    beyond : of a solver's w, the points (n,) of :func:`beyond_boundary`.
    """
    from convexnovelty.formulation import Reading

    interval = quantile_interval(scores, nu, shares)
    nothing = nothing_separated(float(normal @ normal), unit, nu, origin)
    if nothing is not None and (
        doubts is None or not proves_separation(scores, doubts if known is None else known, nu, shares)
    ):
        # What a solver left of w is rounding, and would cut through the sample at random.
        return Reading(HalfSpace(np.zeros_like(normal), 0.0), nothing, interval)
    if known is not None:
        scale = boundary_tie(scores, interval.used, known) / TIE_TOLERANCE
    else:
        apart = terms_apart(points, normal, scores, interval.used)
        scale = boundary_scale(scores, interval.used, apart, shares, doubts, beyond)
    region = HalfSpace(normal, interval.used + shift, scale=scale)
    out = beyond_tie(scores, interval.used, region, points if rows is None else rows) & (shares > 0)
    counted = int(out.sum())
    if weights_differ(shares):
        said = (
            f"training points of {float(shares[out].sum()):.6g} of the weight {outside}, at most the fraction {nu:.6g} "
            f"of it ({theorem})"
        )
    else:
        said = (
            f"{counted} of {scores.size} training points {outside}, at most the fraction {nu:.6g} of them ({theorem})"
        )
    return Reading(region, Guarantee(said, bound=nu), interval, separates=True)


def margin_letters(made: Reading, points: Array, multipliers: Array, *names: str) -> Reading:
    """A reading at an optimum to rounding with the letters of these names there: zeros but for the multipliers where nothing is separated."""
    region = made.region
    if made.offset is None or not isinstance(region, HalfSpace):
        return made
    rho = made.offset.used if region.normal.any() else 0.0
    known = {
        "alpha": multipliers,
        "w": region.normal,
        "rho": rho,
        "xi": np.maximum(rho - points @ region.normal, 0.0),
    }
    return replace(made, letters={name: known[name] for name in names}, settled=True)
