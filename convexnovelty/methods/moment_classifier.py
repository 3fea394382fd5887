r"""The moment classifier: positive points, and a negative class of which mean and covariance are all that is known.

Leclère, Grave and El Ghaoui (2016). Ordinary points are the positive ones, :math:`w'x \ge b`. The negative class has
the paper's :math:`\bar x` and :math:`\Sigma` in ``negative_moments``; :math:`\nu` and :math:`\rho` of its robust
version are the radii of a mean ellipsoid and of a ball of covariances, and ``slack_penalty`` is the factor
:math:`1/(\nu n)` of the sum of the slacks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty import datasets, kernels, tails
from convexnovelty._lazy import cp
from convexnovelty.algorithms.cutting_planes import Robust, cutting_planes, deviations
from convexnovelty.algorithms.kappa_planes import Side, largest_kappa
from convexnovelty.algorithms.level_search import crossing
from convexnovelty.algorithms.min_norm_point import min_norm_point
from convexnovelty.algorithms.smo import smo
from convexnovelty.chance import (
    adversary_of,
    attack_of,
    family,
    is_nominal,
    is_separate,
    multiplier,
    not_needed,
    not_small,
    reach_of,
    reference,
    some_member,
)
from convexnovelty.columns import by_name
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import IndefiniteError, InfeasibleError, InputError, SolverError, UnboundedError
from convexnovelty.extremal import largest_beyond, varies
from convexnovelty.factor_model import factor_model
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.methods import one_class_svm
from convexnovelty.metric_frame import MetricFrame, worst_moments
from convexnovelty.modelling import NOTHING, fitted_by_libsvm
from convexnovelty.moments import Moments
from convexnovelty.regions import Guarantee, HalfSpace
from convexnovelty.uncertainty import (
    Adversary,
    MomentSet,
    UncertaintySet,
    as_moment_set,
    attainment,
    evaluate_deviation,
    worst_loss,
)
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.product import Product
from convexnovelty.validation import Array, fraction, positive, squarable
from convexnovelty.whitened_kernels import whitened
from convexnovelty.whitening import Whitening, as_points

METHOD = Method(
    "moment_classifier",
    title="Moment-based imbalanced binary classifier",
    source="Leclère, Grave and El Ghaoui (2016)",
    summary=(
        "Holds the positive points and rejects as much as possible of every distribution with the negatives' moments."
    ),
    takes="moments",
    letters=("F1", "F2", "F3", "F4", "F5"),
)


Slack = float | None
Set = UncertaintySet | None
Tail = tails.Tail | None


# -- what several nodes share -----------------------------------------------------------------------------------------


def _points(positives: Any, moments: Moments) -> Any:
    if not isinstance(moments, Moments):
        raise InputError(
            f"negative_moments: {type(moments).__name__} was found; give cn.Moments, for example "
            f"cn.Moments.estimate(negatives)"
        )
    positives = by_name(positives, "positives", moments.names, "negative_moments")
    return squarable(as_points(positives, "positives", moments.dimension), "positives")


def _penalty(value: Any, name: str) -> float:
    return positive(value, name)


def _joint(negative_moments: Moments, uncertainty: Set = None, slack_penalty: Slack = None) -> str | None:
    if slack_penalty is None and not is_separate(as_moment_set(uncertainty), negative_moments):
        return f"kappa enters the counterpart of {uncertainty!r} as more than a factor of the deviation"
    return None


def _soft(slack_penalty: Slack = None) -> str | None:
    return None if slack_penalty is None else "the margin is hard only without a slack_penalty"


def _hard(slack_penalty: Slack = None) -> str | None:
    return "a hard margin has no slacks" if slack_penalty is None else None


# The share of the price of the negative mean that a plane has to save, beside what it costs, to be told from none.
SAVED = 1e-9
# The price of slacks, beside that of the plane's variance, that solvers resolve where classes overlap.
DEAREST = 1e6

OFF_RANGE = "the covariance is singular and some positive point lies off its range, so that it has no whitened image"


def _metric(positives: Any, negative_moments: Moments, uncertainty: Set = None) -> Whitening:
    found = worst_moments(negative_moments, as_moment_set(uncertainty))
    if found is None:
        raise InputError(f"uncertainty: {_no_metric(positives, negative_moments, uncertainty)}; use the program")
    metric = Whitening(found)
    if metric.outside(positives):
        raise InputError(f"negative_moments: {OFF_RANGE}; use the program, or add a ridge")
    return metric


def _no_metric(positives: Any, negative_moments: Moments, uncertainty: Set = None) -> str | None:
    recipe = as_moment_set(uncertainty)
    found = worst_moments(negative_moments, recipe)
    if found is None:
        return f"{uncertainty!r} has no worst covariance that serves every direction, so there is no metric"
    if multiplier(recipe, negative_moments) is None:
        return f"the worst loss over {uncertainty!r} is no multiple of its deviation"
    if Whitening(found).outside(positives):
        return OFF_RANGE
    return None


def _guarantee(
    uncertainty: MomentSet, moments: Moments, tail: tails.Tail, kappa: float, rejected: int, count: int
) -> Guarantee:
    return bounded(kappa, tail, family(tail, is_nominal(uncertainty), repr(uncertainty), moments), rejected, count)


def bounded(kappa: float, tail: tails.Tail, claim: str, rejected: int, count: int) -> Guarantee:
    """The sentence on negatives whose mean lies ``kappa`` deviations off, and on the positives that are lost for it."""
    bound = 1.0 if kappa <= 0 else tail.bound(kappa) if math.isfinite(kappa) else 0.0
    lost = f"; {rejected} of {count} positive points are rejected" if rejected else ""
    return Guarantee(f"P(negative accepted) <= {bound:.6g} for {claim}{lost}", bound=bound, claim=claim)


def _read(
    positives: Any,
    moments: Moments,
    uncertainty: MomentSet,
    tail: tails.Tail,
    w: Array,
    margin: float,
    kappa: float,
    per: float = 1.0,
    **more: Any,
) -> Reading:
    """The region w'x >= b, where b exceeds w'm by ``margin``, and the bound at the number ``kappa`` of deviations.

    The region is divided by ``per``, so that it lies one beyond the nominal mean where the worst one is nearer; where the nominal one
    is no member, and lies on the other side, it stays as it is.
    """
    b, per = float(w @ moments.mean) + margin, per if per > 0 else 1.0
    region = HalfSpace(w / per, b / per, scale=abs(margin / per) or None)
    rejected = int((~region.contains(positives)).sum())
    return Reading(
        region,
        _guarantee(uncertainty, moments, tail, kappa, rejected, positives.shape[0]),
        letters={"b": b, "kappa": kappa, **more},
    )


def _nothing(positives: Any, mean_penalty: float, distance: float, cost: float) -> Reading | None:
    """What there is to say where a plane at that distance from the mean saves no more of its price than it costs; else None.

    w = 0 costs the price itself, and what a solver leaves of it has a direction that says nothing.
    """
    if mean_penalty * distance - cost > SAVED * mean_penalty:
        return None
    said = (
        f"{NOTHING}: a mean_penalty of {mean_penalty:.6g} is less than what any plane costs, so nothing is separated and every point "
        "is inside"
    )
    region = HalfSpace(np.zeros(positives.shape[1]), 0.0, scale=1.0)
    return Reading(region, Guarantee(said, bound=1.0), letters={"b": 0.0, "kappa": 0.0})


def _kappa(margin: float, deviation: float, uncertainty: MomentSet, moments: Moments) -> float:
    """The kappa that a distance from the worst mean grants; infinite along a direction without variance."""
    if deviation <= 0:
        return math.inf if margin > 0 else 0.0
    found = multiplier(uncertainty, moments)
    return margin / deviation if found is None else found.inverse(margin / deviation)


def guarantee_around(
    moments: Moments, uncertainty: Set, tail: Tail, normal: Array, level: float, rejected: int, count: int
) -> Guarantee:
    """What the half-space normal'x > level grants against a set with a worst covariance around moments, whatever it was
    learnt from."""
    recipe = as_moment_set(uncertainty)
    deviation = evaluate_deviation(recipe.centred(moments), normal)
    kappa = _kappa(level - float(normal @ moments.mean), deviation, recipe, moments)
    return _guarantee(recipe, moments, tails.as_tail(tail), kappa, rejected, count)


def _star(kappa: float, uncertainty: MomentSet, moments: Moments) -> float:
    """The number of worst deviations that stands for a granted kappa, whose square is one over the optimum."""
    found = multiplier(uncertainty, moments)
    return kappa if found is None else found(kappa)


def _inseparable(uncertainty: MomentSet, within: float | None = None) -> InfeasibleError:
    means = "its mean" if is_nominal(uncertainty) else f"a mean of {uncertainty!r}"
    near = "" if within is None else f", or within {within:.3g} deviations of it"
    below = 1.0 if within is None else 1.0 - within**2
    return InfeasibleError(
        f"negative_moments: {means} lies in the convex hull of the positive points{near}, so no half-space that holds them "
        f"all has a worst-case probability of accepting a negative below {below:.15g}; give a slack_penalty",
        limit=0.0,
    )


def _unresolved(unit: float, price: float) -> SolverError:
    if price > DEAREST * unit:
        return SolverError(
            f"slack_penalty: {price:.6g} was found, beside which what the plane's variance costs is below what a solver resolves "
            f"where slacks are left; give at most {DEAREST * unit:.3g}"
        )
    return SolverError(
        "positives: the solver found no point where slacks always leave one, since the positives' distance from the "
        f"negative mean is {unit**-0.5:.3g} deviations, more than it resolves; give a slack_penalty of its inverse square"
    )


# -- the programs -----------------------------------------------------------------------------------------------------


def moment_classifier(
    positives: Any,
    negative_moments: Moments,
    slack_penalty: Slack = None,
    uncertainty: Set = None,
    tail: Tail = None,
    mean_penalty: Slack = None,
) -> Formulation:
    r"""The half-space of positive points that is least likely to accept a negative, whatever the distribution.

    Parameters
    ----------
    positives : (n, p) ordinary points, dense or scipy sparse; sparse points are never expanded. The columns of a frame are matched
        by their names with those of the moments, in whose order they stand in the sets and in the solution.
    negative_moments : mean and covariance of the negative class, in any representation.
    slack_penalty : the factor of the sum of the slacks, the paper's 1/(nu n); None for a hard margin, which holds every
        positive point.
    uncertainty : a set of means, of covariances or of both around the negative moments; None takes them as exact.
        A MeanEllipsoid is the paper's: its number of deviations is taken off the guarantee and changes no program. So is
        what DelageYe and KLBall make of kappa, of which their classes state that it does not depend on the direction.
        Every other set enters the margins by its worst mean, the same ellipsoid as a MeanMetricEllipsoid and the same
        pairs by their membership alone too, so that with slacks the two are different trades, and a bound that adds the
        worst mean of pairs to their worst deviation holds but may be wide; without, they have one half-space and one
        bound, and the objective is that of the program which was solved.
    tail : what is known of the negatives besides their moments; Chebyshev (nothing) by default.
    mean_penalty : the factor of the slack of the negative mean, the paper's 1/nu^- of formulation 9; None keeps the
        mean outside by the full margin, as does a hard margin beside pairs of moments that are known together.

    Returns
    -------
    A formulation of :math:`\min w'\Sigma w + C\sum\xi_i` with :math:`(x_i-\bar x)'w \ge 1-\xi_i`. Penalties and radii
    can be set without compiling again. Its region is :math:`w'x \ge b`, its guarantee bounds the probability of
    accepting a negative: v/(1+v) at the optimum v of a hard margin with exact moments.

    Raises
    ------
    InfeasibleError : a hard margin, and the negative mean in the convex hull of the positive points.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> negatives = cn.Moments([0.0, 0.0], np.eye(2))
    >>> solution = cn.moment_classifier(np.array([[3.0, 1.0], [3.0, -1.0], [4.0, 0.0]]), negatives).solve()
    >>> round(solution.objective, 6), round(solution.guarantee.bound, 6)  # 1/9 and (1/9)/(1 + 1/9)
    (0.111111, 0.1)
    """
    if (joint := _joint(negative_moments, uncertainty, slack_penalty)) is not None:
        if mean_penalty is not None:
            raise InputError(
                f"mean_penalty: {mean_penalty!r} was found, where {joint}, so that the largest kappa is searched at a mean "
                "without slack; give None, or a slack_penalty beside it"
            )
        made = kappa_search(positives, negative_moments, slack_penalty, uncertainty, tail)
    elif mean_penalty is not None:
        made = with_offset(positives, negative_moments, slack_penalty, uncertainty, tail, mean_penalty)
    else:
        made = margins(positives, negative_moments, slack_penalty, uncertainty, tail)
    return remade_by(moment_classifier, made, mean_penalty=mean_penalty)


@METHOD.node(
    "margins",
    source="equations 4, 7 and 10 (10a is a minimum)",
    latex=(
        r"\min_{w,\xi\ge0}\ \sup_\Sigma w'\Sigma w+\tfrac1{\nu n}\sum_i\xi_i\quad\text{s.t.}\quad(x_i-\bar "
        r"x)'w\ge1-\xi_i"
    ),
    condition=_joint,
)
def margins(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Formulation:
    """The variance of the negative class along w, where the positive points lie a distance of one beyond its mean."""
    return _program(positives, negative_moments, slack_penalty, None, uncertainty, tail, offset=False)


@METHOD.node(
    "with_offset",
    source="equations 3, 7 and 9 (9c has the slack with a minus sign)",
    latex=(
        r"\min_{w,b,\xi\ge0,\eta\ge0}\ \sup_\Sigma w'\Sigma "
        r"w+\tfrac1{\nu^+n}\sum_i\xi_i+\tfrac\eta{\nu^-}\quad\text{s.t.}\quad b-\bar x'w\ge1-\eta,\ x_i'w-b\ge-\xi_i"
    ),
    condition=lambda negative_moments, uncertainty=None, slack_penalty=None, around=False: (
        not_needed(around) or _joint(negative_moments, uncertainty, slack_penalty)
    ),
)
def with_offset(
    positives: Any,
    negative_moments: Moments,
    slack_penalty: Slack = None,
    uncertainty: Set = None,
    tail: Tail = None,
    mean_penalty: Slack = None,
) -> Formulation:
    """The same with the offset as a variable, here c = b - m'w, and a slack for the mean m if it has a price."""
    return _program(positives, negative_moments, slack_penalty, mean_penalty, uncertainty, tail, offset=True)


def _program(
    positives: Any,
    moments: Moments,
    slack_penalty: Slack,
    mean_penalty: float | None,
    uncertainty: Set,
    tail: Tail,
    *,
    offset: bool,
    letters_read: dict[str, Any] | None = None,
) -> Formulation:
    tail, recipe, X = tails.as_tail(tail), as_moment_set(uncertainty), _points(positives, moments)
    if (refusal := _joint(moments, uncertainty, slack_penalty)) is not None:
        raise InputError(f"uncertainty: {refusal}; use moment_classifier, which then searches for kappa")
    price = None if slack_penalty is None else Tunable("slack_penalty", slack_penalty, _penalty)
    mean_price = None if mean_penalty is None else Tunable("mean_penalty", mean_penalty, _penalty)
    prices = (None if given is None else given.value for given in (price, mean_price))
    own_means = multiplier(recipe, moments) is None
    apart, none = _distance(X, moments, recipe) if own_means and price is None else (0.0, 0.0)
    frame = MetricFrame(X, moments, recipe, *prices, distance=apart if none < apart < math.inf else None)
    robust = recipe.tunable().centred(moments)
    variance, constraints, extra = frame.variance(robust, recipe)
    objective = variance
    margin, more = frame.margins()
    constraints = [*constraints, *more]
    letters: dict[str, Any] = {"w": frame.w, **extra}
    if own_means:
        # Where the worst mean does not depend on kappa it is subtracted here; a nu only enters the bound (remark 4).
        reach = reach_of(robust, frame.posed)
        letters["e"] = e = cp.Variable(name="e")
        constraints += [frame.scale * (reach.value - moments.mean @ frame.posed) <= e, *reach.constraints]
        margin = margin - e
    else:
        # What only the bound needs, as nu, can be set too: the loss is written once so that it registers its numbers.
        _ = (
            robust.means.deviations
            if has_members_of(robust, Product)
            else worst_loss(robust, frame.posed, cp.Parameter(nonneg=True))
        )
    slack: Any = 0.0
    if price is not None:
        xi, letters["xi"], cost = _slack(price, frame.unit, "xi", X.shape[0])
        slack, objective = letters["xi"].unit * xi, objective + cost * cp.sum(xi)
    if offset:
        letters["c"] = c = cp.Variable(name="c")
        constraints.append(margin - c >= -slack)
        if mean_price is not None:
            eta, letters["eta"], cost = _slack(mean_price, frame.unit, "eta")
            objective = objective + cost * eta
            constraints.append(c >= 1 - letters["eta"].unit * eta)
        else:
            constraints.append(c >= 1)
    else:
        constraints.append(margin >= 1 - slack)

    def current() -> MomentSet:
        changed: MomentSet = recipe.replaced(**robust.numbers()) if robust.numbers() else recipe
        return changed

    def read(values: Any) -> Reading:
        deviation = math.sqrt(max(frame.unit * float(np.asarray(variance.value)), 0.0))
        distance = float(values.get("c", 1.0))
        if mean_price is not None:
            slacks = 0.0 if price is None else price.value * float(np.sum(values["xi"]))
            if (nothing := _nothing(X, mean_price.value, distance, deviation**2 + slacks)) is not None:
                return nothing
        nearer = float(values.get("e", 0.0))
        if price is None and float((X @ values["w"]).min() - values["w"] @ moments.mean) - nearer < distance / 2:
            # Where nothing varies a program has no unit, and a point that a solver takes for feasible in it need not be.
            raise _nearly(X, moments, current())
        kappa = _kappa(distance, deviation, current(), moments)
        more = letters_read or {}
        return _read(X, moments, current(), tail, values["w"], distance + nearer, kappa, 1 + nearer / distance, **more)

    def settled(values: Any) -> Reading:
        found = None if price is None or mean_price is not None else _settled(X, moments, price.value, current(), tail)
        return read(values) if found is None else _told(found, "w", "xi", "b", "kappa", **(letters_read or {}))

    def suspect() -> InfeasibleError | None:
        if price is not None:
            return None
        if own_means:
            found = _nearly(X, moments, current())
            return found if isinstance(found, InfeasibleError) else None
        if _no_metric(X, moments, current()) is not None:
            return None
        rows = _metric(X, moments, current()).coordinates(X)
        return _inseparable(current()) if _touches(rows) else None

    return Formulation(
        cp.Problem(cp.Minimize(objective), constraints),
        letters,
        objective_unit=frame.unit,
        read=settled,
        composed=read,  # a bound that the point itself grants
        tunables={t.name: t for t in (price, mean_price) if t is not None} | robust.tunables(),
        diagnose=lambda: _unresolved(frame.unit, price.value) if price is not None else _nearly(X, moments, current()),
        suspect=suspect,
    )


# At fewer deviations between a mean and the hull the bound is one to all digits of a double.
NEAR = 1e-8


def _distance(positives: Any, moments: Moments, uncertainty: MomentSet) -> tuple[float, float]:
    r"""The largest margin beyond every mean of a set that one worst deviation buys, and what a solver takes for none.

    .. math:: \max_w\ \min_i x_i'w-\sup_m m'w\quad\text{s.t.}\quad\sup_S w'Sw\le1

    It has a solution whether or not the hull holds a mean, and where it does not, v is one over its square. Beside a worst mean
    that is near, v exceeds by orders of magnitude what the distance of the nominal one makes of it. It is infinite where no
    deviation bounds it, and not a number where no solver finds it.
    """
    frame, robust = MetricFrame(positives, moments, uncertainty, None), uncertainty.centred(moments)
    variance, constraints, _ = frame.variance(robust, uncertainty)
    margin, more = frame.margins()
    reach, level = reach_of(robust, frame.posed), cp.Variable(name="level")
    nearer = frame.scale * (reach.value - moments.mean @ frame.posed)
    constraints = [*constraints, *more, *reach.constraints, variance <= 1, margin - nearer >= level]
    none = NEAR * max(1.0, 1.0 / frame.scale)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the unit of a program needs no digits
            found = Formulation(cp.Problem(cp.Maximize(level), constraints), {"t": level}).solve().objective
    except UnboundedError:
        return math.inf, none
    except SolverError:
        return math.nan, none
    return max(found / frame.scale, 0.0), none


def _nearly(positives: Any, moments: Moments, uncertainty: MomentSet) -> InfeasibleError | SolverError:
    """What is wrong where a solver finds no half-space: a mean in the hull, or one that is near it beside the program's unit."""
    if multiplier(uncertainty, moments) is not None:
        return _inseparable(uncertainty)
    found, none = _distance(positives, moments, uncertainty)
    if found <= none:
        return _inseparable(uncertainty, none)
    beside = f"{found:.3g} deviations beside" if math.isfinite(found) else "beside"
    return SolverError(
        f"negative_moments: a mean of {uncertainty!r} lies in the hull of the positive points or {beside} it, and the solver "
        "found no half-space between them; give a slack_penalty, or a smaller set"
    )


def _slack(price: Tunable, unit: float, name: str, *shape: int) -> tuple[cp.Variable, Quantity, Any]:
    """A slack, the letter that it stands for, and its cost: in the size at which it costs one, if that is less than one.

    A price far above the optimum leaves next to nothing of it.
    """
    variable, size = cp.Variable(shape, nonneg=True, name=name), min(1.0, unit / price.value)
    return variable, Quantity(variable, size), price.parameter(lambda value: size * value / unit, nonneg=True)


@METHOD.node(
    "kappa_search",
    source="equation 5 at a fixed probability, and a search for the largest kappa",
    latex=(
        r"\max\Big\{\kappa:\ \min_w\ \sup_{(\bar x,\Sigma)\in\mathcal Q}\big(\bar x'w+\kappa\sqrt{w'\Sigma "
        r"w}\big)-\min_ix_i'w\le0\Big\}"
    ),
    condition=lambda positives, negative_moments, slack_penalty=None, uncertainty=None, around=False: (
        _soft(slack_penalty)
        or _not_dense(negative_moments)
        or _certain(positives, negative_moments, uncertainty)
        or (_joint(negative_moments, uncertainty, slack_penalty) is None and not_needed(around))
        or None
    ),
)
def kappa_search(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Formulation:
    """The robust chance constraint and a hard margin at a kappa that is a parameter of one compiled problem."""
    if slack_penalty is not None:
        raise InputError(f"slack_penalty: {slack_penalty!r} was found; a search for kappa has a hard margin, give None")
    tail, recipe, X = tails.as_tail(tail), as_moment_set(uncertainty), _points(positives, negative_moments)
    mean = reference(uncertainty, negative_moments)
    frame = MetricFrame(X, Moments(mean, negative_moments.covariance), recipe, None)
    robust = recipe.tunable().centred(negative_moments)
    kappa = cp.Parameter(nonneg=True, value=1.0, name="kappa")
    # At the kappa that is sought the margin is one; the remainder makes the optimal value 1 / kappa_*^2 there.
    remainder = cp.Parameter(value=0.0, name="remainder")
    t = cp.Variable(name="t")
    worst = worst_loss(robust, frame.posed, kappa)
    margin, more = frame.margins()
    loss = frame.scale * (worst.value - mean @ frame.posed)
    constraints = [loss <= 1, margin >= t, *worst.constraints, *more]
    found = {"kappa": 1.0}

    def current() -> MomentSet:
        changed: MomentSet = recipe.replaced(**robust.numbers()) if robust.numbers() else recipe
        return changed

    def search(value: Callable[[], float]) -> None:
        def level(candidate: float) -> float:
            kappa.value = candidate
            try:
                reach = -value()
            except UnboundedError:
                return -1.0
            return 1 / reach - 1 if reach > NO_MARGIN else 1 / NO_MARGIN

        remainder.value = 0.0
        found["kappa"] = crossing(level, float(kappa.value), lowest=SEARCHED[0], highest=SEARCHED[1])
        if found["kappa"] < 0:
            raise _inseparable(current(), SEARCHED[0])
        if math.isinf(found["kappa"]):
            raise UnboundedError(
                f"kappa: it is larger than {SEARCHED[1]:.0e}, the end of the search, or {CERTAIN}; use exact moments, or "
                f"add a radius to the covariances"
            )
        kappa.value = at = found["kappa"]
        remainder.value = _star(at, current(), negative_moments) ** -2 + 1

    def read(values: Any) -> Reading:
        margin = float(values["w"] @ (mean - negative_moments.mean)) + 1.0
        return _read(X, negative_moments, current(), tail, values["w"], margin, found["kappa"])

    return Formulation(
        cp.Problem(cp.Minimize(remainder - t), constraints),
        {"w": frame.w, "t": t},
        read=read,
        composed=read,  # a bound that the point itself grants
        tunables=robust.tunables(),
        search=search,
        diagnose=lambda: _inseparable(current(), SEARCHED[0]),
    )


SEARCHED = 1e-6, 1e8  # the numbers of deviations among which a search looks for the largest
CERTAIN = "some positive point lies where the negatives never do, so that no number of deviations may be too large"


def _certain(positives: Any, negative_moments: Moments, uncertainty: Set = None) -> str | None:
    found = worst_moments(negative_moments, as_moment_set(uncertainty))
    return CERTAIN if found is not None and Whitening(found).outside(positives) else None


# The margin that a loss of one buys falls towards zero, without reaching it, where a mean meets the hull.
NO_MARGIN = 1e-6


def _not_dense(negative_moments: Moments | None) -> str | None:
    if negative_moments is None or negative_moments.representation == "dense":
        return None
    return "the counterparts of sets are written for dense moments"


# -- the dual, and algorithms for it ----------------------------------------------------------------------------------


# Relative gaps of the coordinates' optimality that are asked for one after the other: multipliers that are large at dear slacks
# make the first one more than the value is wanted to, which is CONFIRMED.
TOLERANCES, CONFIRMED = (1e-10, 1e-13), 1e-7
FEW = 2000  # points up to which a program's region is that of the optimum to rounding
RANK = 1e-12  # share of the largest singular value below which points on the boundary depend on each other


def _solution(
    positives: Any,
    moments: Moments,
    uncertainty: Set,
    tail: Tail,
    objective: float,
    w: Array,
    deviation: float,
    how: str,
    *,
    margin: float = 1.0,
    iterations: int = 0,
    **letters: Any,
) -> Solution:
    recipe = as_moment_set(uncertainty)
    reading = _read(
        positives, moments, recipe, tails.as_tail(tail), w, margin, _kappa(margin, deviation, recipe, moments)
    )
    return Solution(
        objective,
        {"w": w, **letters, **reading.letters},
        reading.region,
        reading.guarantee,
        solver=how,
        iterations=iterations,
    )


def _from_multipliers(
    positives: Any,
    moments: Moments,
    uncertainty: Set,
    tail: Tail,
    slack_penalty: Slack,
    beta: Array,
    how: str,
    iterations: int = 0,
    on_boundary: NDArray[np.intp] | None = None,
) -> Solution:
    r""":math:`w = \tfrac12\Sigma^{-1}\sum_i\beta_i(x_i-\bar x)`, and the outlier fraction the penalty stands for.

    Points ``on_boundary`` score 1, which says of w what rounding of large multipliers leaves out.
    """
    metric = _metric(positives, moments, uncertainty)
    pull = np.asarray(positives.T @ beta) - beta.sum() * moments.mean
    w = metric.solve(pull) / 2
    variance = max(float(w @ pull) / 2, 0.0)
    objective = float(beta.sum()) - variance
    if on_boundary is not None and on_boundary.size:
        held = positives[on_boundary]
        lacks = 1 - (np.asarray(held @ w) - moments.mean @ w)
        further = np.linalg.lstsq(metric.inner(held) / 2, lacks, rcond=RANK)[0]
        w = w + metric.solve(np.asarray(held.T @ further) - further.sum() * moments.mean) / 2
    letters: dict[str, Any] = {"beta": beta}
    if slack_penalty is not None:
        scores = np.asarray(positives @ w) - moments.mean @ w
        letters["xi"] = np.maximum(1 - scores, 0.0)
        letters["outlier_fraction"] = float(beta.sum()) / (slack_penalty * positives.shape[0])
    return _solution(
        positives, moments, uncertainty, tail, objective, w, math.sqrt(variance), how, iterations=iterations, **letters
    )


@METHOD.node(
    "dual",
    source="Lagrangian dual of equation 10; without upper bounds that of equation 4",
    latex=(
        r"\max_\beta\ \sum_i\beta_i-\tfrac14\beta'G\beta\quad\text{s.t.}\quad0\le\beta_i\le\tfrac1{\nu n},\qquad "
        r"G_{ij}=(x_i-\bar x)'\Sigma^{-1}(x_j-\bar x)"
    ),
    condition=lambda positives, negative_moments, uncertainty=None, around=False: (
        not_needed(around) or _no_metric(positives, negative_moments, uncertainty)
    ),
)
def dual(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Formulation:
    """Box constraints and no equality, since the offset is bound to the negative mean."""
    X = _points(positives, negative_moments)
    price = None if slack_penalty is None else Tunable("slack_penalty", slack_penalty, _penalty)
    gram = _metric(X, negative_moments, uncertainty).inner(X)
    factor = _factor_of(gram)
    middle = factor.mean(axis=0)
    unit = 1 / max(float(middle @ middle), 1e-300)
    if price is not None:
        unit = min(unit, price.value * X.shape[0])
    beta = cp.Variable(X.shape[0], nonneg=True, name="beta")
    constraints = [] if price is None else [beta <= price.parameter(lambda value: value / unit, nonneg=True)]
    objective = cp.sum(beta) - cp.sum_squares((0.5 * math.sqrt(unit) * factor.T) @ beta)

    def read(values: Any) -> Reading:
        penalty = None if price is None else price.value
        made = None if penalty is None else _settled(X, negative_moments, penalty, uncertainty, tail)
        if made is None:
            made = _from_multipliers(X, negative_moments, uncertainty, tail, penalty, values["beta"], "dual")
        return _told(made, *(name for name in made.values if name != "beta"))

    return Formulation(
        cp.Problem(cp.Maximize(objective), constraints),
        {"beta": Quantity(beta, unit)},
        objective_unit=unit,
        read=read,
        tunables={} if price is None else {"slack_penalty": price},
        suspect=lambda: _inseparable(as_moment_set(uncertainty)) if price is None and _touches(factor) else None,
    )


def _touches(rows: Array, distance: float | None = None) -> bool:
    """Whether the hull of whitened points holds the origin, up to rounding."""
    reached = min_norm_point(rows).distance if distance is None else distance
    return reached <= 1e-9 * float(np.sqrt((rows**2).sum(axis=1).max()))


def _factor_of(gram: Array) -> Array:
    """Rows whose inner products are the Gram matrix, on its numerical range."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > 1e-14 * values.size * values[-1]
    factor: Array = vectors[:, kept] * np.sqrt(values[kept])
    return factor


@METHOD.node(
    "coordinate_descent",
    kind="algorithm",
    source="dual of equation 10, coordinate by coordinate",
    latex=r"\beta_i\leftarrow\min\Big(\max\Big(\beta_i+\frac{2-(G\beta)_i}{G_{ii}},0\Big),\tfrac1{\nu n}\Big)",
    condition=_no_metric,
)
def coordinate_descent(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Solution:
    """The dual without a solver: single coordinates, each moved to its best value in the box, and Newton steps.

    The covariance is met through inner products alone: with low rank plus a diagonal they are Woodbury's.
    """
    X = _points(positives, negative_moments)
    upper = np.inf if slack_penalty is None else _penalty(slack_penalty, "slack_penalty")
    gram = _metric(X, negative_moments, uncertainty).inner(X)
    if slack_penalty is None and _touches(_factor_of(gram)):
        # The dual has no bound then, and coordinates would grow without end.
        raise _inseparable(as_moment_set(uncertainty))
    beta, steps = np.zeros(X.shape[0]), 0
    for tolerance in TOLERANCES:
        # Inner products: a factorisation to show that they are semidefinite would cost as much as the steps.
        result = smo(
            (gram + gram.T) / 4,
            -np.ones(X.shape[0]),
            upper=upper,
            equality=False,
            start=beta,
            tolerance=tolerance,
            semidefinite=True,
        )
        beta, steps = result.multipliers, steps + result.iterations
        between = np.flatnonzero((beta > 0) & (beta < upper))
        made = _from_multipliers(
            X, negative_moments, uncertainty, tail, slack_penalty, beta, "coordinate descent", steps, between
        )
        if (gap := _cost(X, negative_moments, made, upper) - made.objective) <= CONFIRMED * abs(made.objective):
            return made
    raise SolverError(
        f"coordinate descent: the value lies between {made.objective:.10g} and {made.objective + gap:.10g}, since slacks are so dear "
        "that rounding of multipliers shows; give a smaller slack_penalty, or use the program",
        "rounding",
    )


def _cost(positives: Any, moments: Moments, made: Solution, upper: float) -> float:
    """What the plane of some multipliers costs in the program, or a multiple that leaves no slacks; either bounds the value."""
    beta, w = made.values["beta"], made.values["w"]
    variance, scores = float(beta.sum()) - made.objective, np.asarray(positives @ w) - moments.mean @ w
    least, slacks = float(scores.min()), float(np.maximum(1 - scores, 0.0).sum())
    soft = variance + upper * slacks if slacks else variance
    length = math.sqrt(max(variance, 0.0)) / least if least > 0 else math.inf  # squares of what is tiny would be zero
    return min(soft, length * length)


def _settled(positives: Any, moments: Moments, slack_penalty: float, uncertainty: Set, tail: Tail) -> Solution | None:
    """The optimum with a soft margin to rounding, which tells points on the boundary from those that are lost; None for large samples.

    A solver's point knows scores there to the root of its tolerance only where a multiplier just reaches its bound.
    """
    if positives.shape[0] > FEW or _no_metric(positives, moments, uncertainty) is not None:
        return None
    try:
        return coordinate_descent(positives, moments, slack_penalty, uncertainty, tail)
    except (IndefiniteError, SolverError):
        return None


def _told(made: Solution, *letters: str, **more: Any) -> Reading:
    return Reading(made.region, made.guarantee, letters={**{name: made.values[name] for name in letters}, **more})


def sequential(
    positives: Any, negative_moments: Moments, slack_penalty: float, uncertainty: Set = None, tail: Tail = None
) -> Solution | None:
    """Coordinate descent where it is exact; None where only the program is.

    That is where a positive point has no whitened image, since the negatives do not vary in a direction in which it lies off
    their mean, and where slacks are so dear that single coordinates creep.
    """
    X = _points(positives, negative_moments)
    if _no_metric(X, negative_moments, uncertainty) is not None:
        return None
    try:
        return coordinate_descent(X, negative_moments, slack_penalty, uncertainty, tail)
    except (IndefiniteError, SolverError):
        return None


@METHOD.node(
    "projection",
    kind="algorithm",
    source="annex A",
    latex=(
        r"w=\frac{\Sigma^{-1}(p-\bar x)}{\delta^2},\quad v=\frac1{\delta^2},\qquad "
        r"p=\arg\min_{p\in\mathrm{conv}\{x_i\}}(p-\bar x)'\Sigma^{-1}(p-\bar x)=:\delta^2"
    ),
    condition=lambda positives, negative_moments, slack_penalty=None, uncertainty=None: (
        _soft(slack_penalty) or _no_metric(positives, negative_moments, uncertainty)
    ),
)
def projection(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Solution:
    """The negative mean projected on the hull of the positive points, in the metric of the inverse covariance."""
    X = _points(positives, negative_moments)
    metric = _metric(X, negative_moments, uncertainty)
    rows = _factor_of(metric.inner(X)) if metric.structured else metric.coordinates(X)
    found = min_norm_point(rows)
    squared = found.distance**2
    if _touches(rows, found.distance):
        raise _inseparable(as_moment_set(uncertainty))
    weights = found.weights
    w = metric.solve(np.asarray(X.T @ weights) - negative_moments.mean) / squared
    return _solution(
        X,
        negative_moments,
        uncertainty,
        tail,
        1 / squared,
        w,
        found.distance / squared,
        "Wolfe's algorithm",
        iterations=found.iterations,
        weights=weights,
    )


@METHOD.node(
    "nu_machine",
    kind="algorithm",
    source="section 2.2 and after equation 10: a one-class machine on whitened points",
    latex=(
        r"\hat x_i=\Sigma^{-1/2}(x_i-\bar x),\quad\nu=\frac{\sum_i\beta_i}{nC},\quad\rho=\frac2{\sum_i\beta_i},\quad "
        r"w=\Sigma^{-1/2}\frac u\rho,\quad C=\frac2{\nu n\rho}"
    ),
    condition=lambda positives, negative_moments, uncertainty=None, around=False: (
        not_needed(around) or _no_metric(positives, negative_moments, uncertainty)
    ),
)
def nu_machine(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Solution:
    r"""The one-class machine on the whitened points, at the outlier fraction that the penalty amounts to.

    Its primal value is :math:`\tfrac{\rho^2}2v-\rho` for the optimum v here, in which rho is 2 over the sum of the
    multipliers; where the machine's offset is an interval, so is the penalty that the fraction stands for.
    """
    X = _points(positives, negative_moments)
    metric = _metric(X, negative_moments, uncertainty)
    beta = coordinate_descent(X, negative_moments, slack_penalty, uncertainty, tail).values["beta"]
    n, rho = X.shape[0], 2 / float(beta.sum())
    nu = 0.5 / n if slack_penalty is None else min(1.0, 1 / (rho * n * slack_penalty) * 2)
    features = LinearFeatures(metric.coordinates(X))
    machine = one_class_svm.dual(features, nu).solve()
    u = np.asarray(features.training).T @ machine.values["alpha"]
    squared = float(u @ u)
    if slack_penalty is None:
        rho = squared
    objective = 2 * (1 - machine.objective / rho) / rho
    # u is a combination of whitened points, so that w is the same combination of solutions with the covariance.
    pull = np.asarray(X.T @ machine.values["alpha"]) - negative_moments.mean
    w = metric.solve(pull) / rho
    return _solution(
        X,
        negative_moments,
        uncertainty,
        tail,
        objective,
        w,
        math.sqrt(squared) / rho,
        "one-class machine",
        nu=nu,
        rho=rho,
    )


def penalty_of(outlier_fraction: float, positives: Any, negative_moments: Moments, uncertainty: Set = None) -> float:
    r"""The slack penalty C at which the classifier is the one-class machine with this outlier fraction.

    .. math:: C = \frac2{\nu n\rho}

    with the offset rho of the machine on the whitened points; where that is an interval, its lower end.

    Parameters
    ----------
    outlier_fraction : nu in (0, 1].
    positives, negative_moments, uncertainty : as for :func:`moment_classifier`.

    Raises
    ------
    InputError : the offset is not positive, which no penalty corresponds to.
    """
    nu = fraction(outlier_fraction, "outlier_fraction", one=True)
    X = _points(positives, negative_moments)
    features = LinearFeatures(_metric(X, negative_moments, uncertainty).coordinates(X))
    offset = one_class_svm.sequential(features, nu).region.offset  # type: ignore[union-attr]
    if offset <= 0:
        raise InputError(
            f"outlier_fraction: {nu:.6g} was found, at which the machine's offset is {offset:.6g}; give a larger "
            f"fraction, "
            "since no penalty corresponds to an offset that is not positive"
        )
    return float(2 / (nu * X.shape[0] * offset))


# The share of the value to which libsvm's answers are held.
LIBSVM = 1e-5


@METHOD.node(
    "cost_sensitive_svm",
    kind="other library",
    source="section 3.1: equation 9 is a cost-sensitive support vector machine",
    latex=(
        r"\tfrac12\min_{u,b}\ \tfrac12\|u\|^2+C\sum_i(1-u'\hat x_i+b)_++\tfrac1{\nu^-}(1-b)_+,\qquad\hat "
        r"x_i=\Sigma^{-1/2}(x_i-\bar x),\ u=2\Sigma^{1/2}w"
    ),
    condition=lambda positives, negative_moments, slack_penalty=None, uncertainty=None, mean_penalty=None: (
        _hard(slack_penalty)
        or (None if mean_penalty is not None else "the negative mean has a slack only with a mean_penalty")
        or _no_metric(positives, negative_moments, uncertainty)
    ),
)
def cost_sensitive_svm(
    positives: Any,
    negative_moments: Moments,
    slack_penalty: float,
    mean_penalty: float,
    uncertainty: Set = None,
    tail: Tail = None,
) -> Solution:
    """scikit-learn's machine on the whitened points, one negative example at the origin, and a cost a class."""
    from sklearn.svm import SVC

    X = _points(positives, negative_moments)
    slack_penalty, mean_penalty = _penalty(slack_penalty, "slack_penalty"), _penalty(mean_penalty, "mean_penalty")
    metric = _metric(X, negative_moments, uncertainty)
    rows = metric.coordinates(X)
    labels = np.append(np.ones(len(rows)), -1.0)
    costs = np.append(np.full(len(rows), slack_penalty), mean_penalty)
    whole = np.vstack([rows, np.zeros(rows.shape[1])])
    # libsvm holds kernel values in single precision: asked for more digits than these give, it would never end.
    machine = fitted_by_libsvm(SVC(kernel="precomputed", C=1.0, tol=1e-7), whole @ whole.T, labels, sample_weight=costs)
    signed = np.zeros(len(whole))
    signed[machine.support_] = machine.dual_coef_.ravel()
    u = whole.T @ signed
    scores = whole @ u
    # libsvm's offset is one of an interval where no multiplier is free: the best one is found among the kinks.
    offsets = np.append(scores[:-1] - 1, 1.0)
    slack = np.maximum(1 - labels * (scores[None, :] - offsets[:, None]), 0.0) @ costs
    value = float(u @ u / 2 + slack.min())
    # What its multipliers grant from below: beside large costs the seven digits of its kernel values leave them few or none.
    lower = float(np.abs(signed).sum() - u @ u / 2)
    if not value - lower <= LIBSVM * abs(value):
        raise SolverError(
            f"libsvm: the value lies between {lower / 2:.10g} and {value / 2:.10g}, since its kernel values have seven digits "
            "and the costs are large beside them; use the program, or give lower penalties",
            "inaccurate",
        )
    level = float(offsets[int(slack.argmin())])
    distance, length = (1 + level) / 2, float(u @ u) / 4
    slacks = slack_penalty * float(np.maximum(distance - scores[:-1] / 2, 0.0).sum())
    if (nothing := _nothing(X, mean_penalty, distance, length + slacks)) is not None:
        letters = {"w": np.zeros(X.shape[1]), **nothing.letters}
        return Solution(value / 2, letters, nothing.region, nothing.guarantee, solver="libsvm")
    pull = np.asarray(X.T @ signed[:-1]) - signed[:-1].sum() * negative_moments.mean
    w = metric.solve(pull) / 2
    return _solution(
        X,
        negative_moments,
        uncertainty,
        tail,
        value / 2,
        w,
        math.sqrt(length),
        "libsvm",
        margin=distance,
    )


# -- the set through its membership alone -----------------------------------------------------------------------------


@METHOD.node(
    "semi_infinite",
    kind="algorithm",
    source="equation 5",
    latex=(
        r"\max_{w,b}\ \inf_{(\bar x,\Sigma)\in\mathcal Q}\ \inf_{x\sim(\bar x,\Sigma)}P(w'x\le b)\quad\text{s.t.}\quad "
        r"w'x_i-b\ge0"
    ),
    condition=lambda negative_moments: not_small(negative_moments),
)
def semi_infinite(
    positives: Any, negative_moments: Moments, slack_penalty: Slack = None, uncertainty: Set = None, tail: Tail = None
) -> Solution:
    """Cutting planes: the worst moments of the set are met only through its membership."""
    X, recipe = _points(positives, negative_moments), as_moment_set(uncertainty)
    slack_penalty = None if slack_penalty is None else _penalty(slack_penalty, "slack_penalty")
    frame = MetricFrame(X, negative_moments, recipe, slack_penalty)
    if slack_penalty is not None:
        return _soft_planes(
            X, negative_moments, slack_penalty, uncertainty, tail, frame, adversary_of(uncertainty, negative_moments)
        )
    mean, first = reference(uncertainty, negative_moments), some_member(uncertainty, negative_moments)
    side = Side(mean, first, 1.0, attack_of(uncertainty, negative_moments))
    try:
        found = largest_kappa(frame.axes, [side], least=X - mean)
    except InfeasibleError as error:
        raise _inseparable(recipe) from error
    if found.kappa <= 0:
        raise _inseparable(recipe)
    margin = float(found.a @ (mean - negative_moments.mean)) + found.losses[0]
    reading = _read(X, negative_moments, recipe, tails.as_tail(tail), found.a, margin, found.kappa)
    objective = _star(found.kappa, recipe, negative_moments) ** -2
    return Solution(
        objective,
        {"w": found.a, **reading.letters},
        reading.region,
        reading.guarantee,
        solver="cutting planes",
        iterations=found.rounds,
    )


def _soft_planes(
    X: Array,
    moments: Moments,
    slack_penalty: float,
    uncertainty: Set,
    tail: Tail,
    frame: MetricFrame,
    adversary: Adversary,
) -> Solution:
    """The largest variance, and the mean nearest to the positives where no nu stands for it, are cut one by one."""
    shifted = multiplier(as_moment_set(uncertainty), moments) is not None
    n, price = X.shape[0], slack_penalty / frame.unit
    u, e, xi = cp.Variable(nonneg=True, name="u"), cp.Variable(name="e"), cp.Variable(n, nonneg=True, name="xi")
    margin, more = frame.margins()
    rows = X - moments.mean
    first = some_member(uncertainty, moments)

    def reach(w: Array) -> tuple[float, Array]:
        mean = moments.mean if shifted else adversary(w, 0.0).member[0]
        return float((mean - moments.mean) @ w), mean

    def spread_cuts(members: list[tuple[Array, Array]]) -> list[Any]:
        return [deviations([S for _, S in members], frame.axes, frame.y, cp.hstack([u] * len(members)))]

    def mean_cuts(means: list[Array]) -> list[Any]:
        return [(frame.scale * (np.array(means) - moments.mean) @ frame.axes) @ frame.y <= e]

    def repair(values: Any) -> tuple[float, Any]:
        w = values["w"]
        shift = reach(w)[0]
        slack = np.maximum(1 + shift - rows @ w, 0.0)
        variance = adversary.deviation(w).value ** 2
        return variance / frame.unit + price * float(slack.sum()), {
            "w": w,
            "xi": slack,
            "e": shift,
            "variance": variance,
        }

    found = cutting_planes(
        cp.square(u) + price * cp.sum(xi),
        {"w": frame.w},
        [
            Robust(lambda values: adversary.deviation(values["w"]).member, spread_cuts),
            Robust(lambda values: reach(values["w"])[1], mean_cuts),
        ],
        repair,
        constraints=[margin - e >= 1 - xi, *more],
        seeds=[[first], [moments.mean if shifted else first[0]]],
        tolerance=1e-8,
    )
    values = found.values
    recipe = as_moment_set(uncertainty)
    kappa = _kappa(1.0, math.sqrt(values["variance"]), recipe, moments)
    nearer = values["e"]
    reading = _read(X, moments, recipe, tails.as_tail(tail), values["w"], 1.0 + nearer, kappa, 1 + nearer)
    return Solution(
        found.upper * frame.unit,
        {**values, **reading.letters},
        reading.region,
        reading.guarantee,
        solver="cutting planes",
        iterations=found.rounds,
    )


# -- a few factors in place of the covariance -------------------------------------------------------------------------


@METHOD.node(
    "factor_model",
    source="equation 11 and the program after it (F has the factor 1/sqrt(N))",
    latex=r"\min_{w,z}\ w'Dw+z'z+\tfrac1{\nu n}\sum_i\xi_i\quad\text{s.t.}\quad w'(x_i-\bar x)\ge1-\xi_i,\ F'w=z",
)
def with_factors(
    positives: Any,
    negative_moments: Moments,
    rank: int,
    slack_penalty: Slack = None,
    tail: Tail = None,
) -> Formulation:
    """The covariance replaced by rank factors and a diagonal that exceed it in every direction: an upper bound."""
    model = factor_model(negative_moments, rank)
    return _program(positives, model, slack_penalty, None, None, tail, offset=False, letters_read={"model": model})


@METHOD.node(
    "woodbury",
    kind="algorithm",
    source="equation 11 with Woodbury's identity in place of whitening",
    latex=r"(D+FF')^{-1}=D^{-1}-D^{-1}F(I+F'D^{-1}F)^{-1}F'D^{-1}",
    condition=lambda negative_moments: (
        None
        if (negative_moments.variances > 0).all()
        else "a feature without variance has no place in the diagonal's inverse"
    ),
)
def with_woodbury(
    positives: Any,
    negative_moments: Moments,
    rank: int,
    slack_penalty: Slack = None,
    tail: Tail = None,
) -> Solution:
    """The factor model by coordinate descent, with k x k systems and no whitened point."""
    return coordinate_descent(positives, factor_model(negative_moments, rank), slack_penalty, None, tail)


# -- kernels of whitened points ---------------------------------------------------------------------------------------


def _kernel_machine(features: KernelFeatures, nu: float, how: str) -> Solution:
    found = one_class_svm.sequential(features, nu)
    return Solution(
        found.objective,
        {"alpha": found.values["alpha"]},
        guarantee=found.guarantee,
        solver=how,
        iterations=found.iterations,
    )


@METHOD.node(
    "kernel_of_whitened",
    kind="algorithm",
    source="section 3.3",
    latex=r"K(\hat x_i,\hat x_j),\quad\hat x_i=\Sigma^{-1/2}(x_i-\bar x)",
)
def kernel_of_whitened(
    positives: Any, negative_moments: Moments, kernel: kernels.Kernel, outlier_fraction: float
) -> Solution:
    """The kernel one-class machine on whitened points."""
    rows = Whitening(negative_moments).coordinates(_points(positives, negative_moments))
    return _kernel_machine(KernelFeatures(rows, kernel), outlier_fraction, "SMO on whitened points")


@METHOD.node(
    "customised_kernel",
    kind="algorithm",
    source="section 3.3, figure 2",
    latex=r"\hat K(x_i,x_j)=K(\hat x_i,\hat x_j)\ \text{from}\ (x_i-\bar x)'\Sigma^{-1}(x_j-\bar x)",
)
def customised_kernel(
    positives: Any, negative_moments: Moments, kernel: kernels.Kernel, outlier_fraction: float
) -> Solution:
    """The kernel one-class machine on the points themselves, with the kernel that knows the moments."""
    features = KernelFeatures(_points(positives, negative_moments), whitened(kernel, negative_moments))
    return _kernel_machine(features, outlier_fraction, "SMO with a customised kernel")


# -- the arrows -------------------------------------------------------------------------------------------------------

NO_DECISION = "the two programs have different solutions; only their values are ordered"
# The normal of a solution of a cone program is known to about the root of the solver's accuracy.
NORMAL = 1e-4

METHOD.step(
    "with_offset",
    "margins",
    claim=(
        "the offset is the margin of one beyond the mean, and the mean's slack is zero where its price is at least "
        "that of all others"
    ),
    equation="equations 3 and 4, 9 and 10",
    reference="formulation",
    condition=lambda positives, slack_penalty=None, mean_penalty=None: (
        None
        if mean_penalty is None or (slack_penalty is not None and mean_penalty >= slack_penalty * positives.shape[0])
        else "the mean's slack is cheaper than those of the points"
    ),
    decision_tolerance=NORMAL,
    values=lambda solution: {name: solution.values[name] for name in ("w", "xi", "e") if name in solution.values},
)
METHOD.step(
    "with_offset",
    "margins",
    claim="a slack for the mean can only lower the optimum",
    equation="equations 9 and 10",
    reference="formulation",
    relation="<=",
    decision=NO_DECISION,
)
METHOD.step(
    "projection",
    "margins",
    claim=(
        "w is orthogonal, in the metric of the inverse covariance, to the mean's projection on the hull; v = 1 / "
        "distance^2"
    ),
    equation="annex A",
    reference="algorithm",
    tolerance=1e-7,
    decision_tolerance=NORMAL,
    values=lambda solution: {"w": solution.values["w"]},
)
METHOD.step(
    "dual",
    "margins",
    claim="the dual has a box and no equality, and w is half the solution of Sigma w = sum of beta_i (x_i - mean)",
    equation="dual of equation 10",
    reference="conic dual",
    decision_tolerance=NORMAL,
    values=lambda solution: {name: solution.values[name] for name in ("w", "xi") if name in solution.values},
)
METHOD.step(
    "coordinate_descent",
    "margins",
    claim="the multipliers of coordinate descent give the program's optimum and its normal",
    equation="dual of equation 10",
    reference="algorithm",
    decision_tolerance=NORMAL,
    values=lambda solution: {name: solution.values[name] for name in ("w", "xi") if name in solution.values},
)
METHOD.step(
    "coordinate_descent",
    "dual",
    claim="coordinate steps end at the optimum of the dual",
    equation="dual of equation 10",
    reference="algorithm",
    tolerance=1e-7,
    decision_tolerance=NORMAL,
    values=lambda solution: {"beta": solution.values["beta"]},
)
METHOD.step(
    "nu_machine",
    "margins",
    claim=(
        "a one-class machine on the whitened points with outlier fraction sum of beta_i / (n C), scaled by its offset"
    ),
    equation="sections 2.2 and 3.1",
    reference="algorithm",
    decision_tolerance=NORMAL,
    values=lambda solution, positives, negative_moments, slack_penalty=None: {
        "w": (w := solution.values["w"]),
        **(
            {}
            if slack_penalty is None
            else {"xi": np.maximum(1 - (np.asarray(positives @ w) - negative_moments.mean @ w), 0.0)}
        ),
    },
)
METHOD.step(
    "cost_sensitive_svm",
    "with_offset",
    claim=(
        "twice the objective is that of a cost-sensitive machine on whitened points with the mean as the only negative"
    ),
    equation="section 3.1, after equation 9",
    reference="other library",
    # libsvm's kernel values have seven digits, and its normal about half of them.
    tolerance=LIBSVM,
    decision_tolerance=1e-3,
)
METHOD.step(
    "kappa_search",
    "margins",
    claim="the hard margin's optimum is one over the square of the largest kappa that all members grant",
    equation="equations 2, 5 and 7",
    reference="formulation",
    decision_tolerance=NORMAL,
)
METHOD.step(
    "semi_infinite",
    "kappa_search",
    claim="the chance constraint for every member of the set is one cone constraint",
    equation="equations 5 and 6",
    reference="adversary",
    bound="<=",
    decision_tolerance=1e-3,
)
METHOD.step(
    "semi_infinite",
    "margins",
    claim="the worst variance and the worst mean over the set are the program's",
    equation="equations 6, 7 and 10",
    reference="adversary",
    bound="<=",
    decision_tolerance=1e-3,
)
METHOD.step(
    "margins",
    "factor_model",
    claim="factors and the diagonal exceed the covariance in every direction, so their optimum is an upper bound",
    equation="equation 11",
    reference="formulation",
    relation="<=",
    decision=NO_DECISION,
    condition=lambda uncertainty=None: (
        None if uncertainty is None else "the factor model is that of the nominal covariance"
    ),
)
METHOD.step(
    "woodbury",
    "factor_model",
    claim="inner products by Woodbury's identity give the optimum of the factor model without whitening",
    equation="equation 11",
    reference="algorithm",
    decision_tolerance=NORMAL,
    values=lambda solution: {name: solution.values[name] for name in ("w", "xi") if name in solution.values},
)
METHOD.step(
    "kernel_of_whitened",
    "customised_kernel",
    claim="a kernel of whitened points is a kernel of the points that knows mean and covariance",
    equation="figure 2",
    reference="algorithm",
    tolerance=1e-8,
    decision="the two machines live in different coordinates of one feature space; their values are compared",
)


@METHOD.property("attained bound", source="lemma 1, remark 2 and equation 8")
def attained(
    solution: Solution,
    positives: Any,
    negative_moments: Moments,
    uncertainty: Set = None,
    tail: Tail = None,
) -> list[Claim]:
    """A negative class with the worst moments is accepted exactly as often as the bound says."""
    region, guarantee = solution.region, solution.guarantee
    if not isinstance(tails.as_tail(tail), tails.Chebyshev) or not isinstance(region, HalfSpace) or guarantee is None:
        return []
    if solution.residuals is None or not_small(negative_moments) or not 1e-9 < guarantee.bound < 1:
        return []
    separate = is_separate(as_moment_set(uncertainty), negative_moments)
    if "model" in solution.values or (not separate and "e" in solution.values):
        return []  # factors exceed the covariance, and the worst mean and covariance need not be one pair's
    kappa = float(solution.values["kappa"])
    mean, covariance = attack_of(uncertainty, negative_moments)(region.normal, kappa)
    if not varies(covariance, region.normal):
        return []  # all of the class lies where its mean does, on its own side: nothing of it is accepted
    return [
        Claim(
            "the bound is attained by a distribution of the set",
            largest_beyond(mean, covariance, region.normal, region.offset),
            guarantee.bound,
            attainment(uncertainty),
            tolerance=1e-5,
            kind="adversary",
            source="lemma 1",
            because="the solver's accuracy in the constraint, through the derivative of the bound",
        )
    ]


@METHOD.property("bounds by factors", source="the inequality after equation 11")
def between_factors(solution: Solution, negative_moments: Moments) -> list[Claim]:
    """Along the normal the variance lies between that of the factors and that of factors and diagonal."""
    if (model := solution.values.get("model")) is None:
        return []
    w = np.asarray(solution.values["w"])
    factors, variance = float(((model.loadings @ w) ** 2).sum()), float(w @ negative_moments.multiply(w))
    whole = factors + float(model.specific_variances @ w**2)
    return [
        Claim(
            "factors alone fall short of the variance",
            factors / whole,
            variance / whole,
            "<=",
            1e-9,
            source="after equation 11",
        ),
        Claim(
            "factors and diagonal exceed the variance", 1.0, variance / whole, ">=", 1e-9, source="after equation 11"
        ),
    ]


# -- instances --------------------------------------------------------------------------------------------------------


def _instance(name: str, positives: Any, negatives: Any, uncertainty: Set = None, **more: Any) -> Instance:
    moments = Moments.estimate(negatives)
    arguments = {
        "positives": positives,
        "negative_moments": moments,
        "uncertainty": uncertainty,
        "tail": tails.Chebyshev(),
        **more,
    }
    rows = np.vstack([positives[:40], negatives[:40]])
    return Instance(name, arguments, rows)


@METHOD.instance("blob, hard margin, the paper's set")
def blob() -> Instance:
    """Three dimensions, mean ellipsoid and Frobenius ball."""
    data = datasets.blob(n=30, dimension=3)
    negatives = datasets.blob(n=80, dimension=3, seed=2).nominal + np.array([7.0, -4.0, 3.0])
    return _instance(
        "blob, hard margin, the paper's set", data.nominal, negatives, MeanEllipsoid(0.1) * FrobeniusBall(0.3), rank=1
    )


@METHOD.instance("blob, soft margin, the paper's set")
def blob_soft() -> Instance:
    """Overlapping classes, slacks and the same set."""
    data = datasets.blob(n=30, dimension=3)
    negatives = datasets.blob(n=80, dimension=3, seed=2).nominal + np.array([1.0, -1.0, 1.0])
    uncertainty = MeanEllipsoid(0.1) * FrobeniusBall(0.3)
    return _instance(
        "blob, soft margin, the paper's set", data.nominal, negatives, uncertainty, slack_penalty=0.2, mean_penalty=2.0
    )


@METHOD.instance("breast cancer, soft margin")
def breast_cancer() -> Instance:
    """Sixty benign cases against the moments of all malignant ones: features that span six orders of magnitude."""
    data = datasets.breast_cancer()
    arguments: dict[str, Any] = {
        "slack_penalty": 1.0,
        "mean_penalty": 60.0,
        "rank": 5,
        "kernel": kernels.gaussian(gamma=0.02),
        "outlier_fraction": 0.1,
    }
    return _instance("breast cancer, soft margin", data.nominal[:60], data.novel, **arguments)


@METHOD.instance("digits, singular covariance")
def digits() -> Instance:
    """Images of one digit against the moments of few others, some pixels of which never change: v may vanish."""
    data = datasets.digits(digit=0)
    kernel = kernels.polynomial(degree=2, gamma=0.01, coef0=1.0)
    return _instance(
        "digits, singular covariance",
        data.nominal[:40],
        data.novel[:40],
        FrobeniusBall(4.0),
        slack_penalty=0.01,
        kernel=kernel,
    )


@METHOD.instance("badly scaled, hard margin")
def badly_scaled() -> Instance:
    """Features in units from 1e-4 to 1e4, and duplicated positive points."""
    data = datasets.badly_scaled()
    positives = np.vstack([data.nominal[:20], data.nominal[:5]])
    negatives = data.novel + 2.0 * np.abs(data.nominal).max(axis=0)
    return _instance("badly scaled, hard margin", positives, negatives, rank=2)


@METHOD.instance("low rank, sparse points")
def sparse_points() -> Instance:
    """Sparse positive points, and negative moments of low rank plus a diagonal."""
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((120, 40)) < 0.2, rng.random((120, 40)), 0.0)
    dense[:20, :8] += rng.random((20, 8))
    moments = factor_model(sp.csr_array(dense[20:]), 3)
    ridge = MeanEllipsoid(0.2) * FrobeniusBall(0.01)
    arguments = {
        "positives": sp.csr_array(dense[:20]),
        "negative_moments": moments,
        "uncertainty": ridge,
        "tail": tails.Chebyshev(),
        "slack_penalty": 2.0,
    }
    return Instance("low rank, sparse points", arguments, dense)


@METHOD.swap
def around(uncertainty: UncertaintySet) -> Instance:
    """Three dimensions, signed and correlated, a hard margin some deviations from the negatives, for any set."""
    rng = np.random.default_rng(13)
    mixing = np.array([[0.7, -0.2, 0.0], [0.1, 0.8, 0.0], [0.0, 0.3, 0.6]])
    positives = np.array([1.5, 0.0, 1.0]) + rng.standard_normal((12, 3)) @ (0.7 * mixing)
    negatives = np.array([-4.0, 4.0, -2.0]) + rng.standard_normal((60, 3)) @ mixing
    arguments = {
        "positives": positives,
        "negative_moments": Moments.estimate(negatives),
        "uncertainty": uncertainty,
        "around": True,
    }
    return Instance(f"{uncertainty!r}", arguments, np.vstack([positives, negatives[:20]]))
