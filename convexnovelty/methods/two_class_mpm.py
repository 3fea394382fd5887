r"""The two-class minimax probability machine: the hyperplane with the least worst-case probability of an error.

Lanckriet, El Ghaoui and Jordan (2003), section 2. Points of class x are to lie where :math:`a'z \ge b` and those of
class y where :math:`a'z \le b`. Each class has moments and an uncertainty set of its own; the paper's :math:`\nu` and
:math:`\rho` are the radii of a mean ellipsoid and of a covariance ball.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty import datasets, kernels, tails
from convexnovelty._lazy import cp
from convexnovelty.algorithms.kappa_planes import Side, largest_kappa
from convexnovelty.algorithms.level_search import crossing
from convexnovelty.algorithms.sum_of_deviations import Axes, Direction, Spread, by_axes, by_factorisations
from convexnovelty.chance import (
    Multiplier,
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
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InfeasibleError, InputError, UnboundedError
from convexnovelty.extremal import largest_beyond, varies
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, remade_by
from convexnovelty.metric_frame import worst_factor
from convexnovelty.modelling import check_features
from convexnovelty.moments import Moments
from convexnovelty.pairs import SetPair
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Guarantee, HalfSpace, Interval
from convexnovelty.uncertainty import (
    MomentSet,
    UncertaintySet,
    as_counterpart,
    attainment,
    evaluate_loss,
    worst_deviation,
    worst_loss,
)
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.delage_ye import DelageYe
from convexnovelty.uncertainty.exact import Exact
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.exact_mean import ExactMean
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.product import Product
from convexnovelty.validation import Array, integer

METHOD = Method(
    "two_class_mpm",
    title="Two-class minimax probability machine",
    source="Lanckriet, El Ghaoui and Jordan (2003)",
    summary=(
        "The hyperplane whose worst-case probability of misclassification, over all distributions with these moments, "
        "is least."
    ),
    takes="moments",
    letters=("A1", "B4", "C1"),
)

Uncertainty = UncertaintySet | tuple[UncertaintySet | None, UncertaintySet | None] | SetPair | None


# -- what several nodes share -----------------------------------------------------------------------------------------


def _check_moments(moments_x: Any, moments_y: Any) -> None:
    for name, moments in (("moments_x", moments_x), ("moments_y", moments_y)):
        if not isinstance(moments, Moments):
            raise InputError(
                f"{name}: {type(moments).__name__} was found; give cn.Moments, for example cn.Moments.estimate(X)"
            )


def _matched(moments_x: Moments, moments_y: Moments) -> tuple[Moments, Moments]:
    """Both moments, with the columns of y in the order of x where both have names."""
    _check_moments(moments_x, moments_y)
    if moments_x.dimension != moments_y.dimension:
        raise InputError(
            f"moments_y: dimension {moments_y.dimension} was found where moments_x has {moments_x.dimension}"
        )
    return moments_x, moments_y.in_order(moments_x.names, "moments_y", "moments_x")


def _gap(moments_x: Moments, moments_y: Moments, pair: SetPair | None = None) -> Array:
    """The difference of the nominal means, or of means of the sets where the nominal ones are no members."""
    moments_x, moments_y = _matched(moments_x, moments_y)
    x, y = (moments_x.mean, moments_y.mean) if pair is None else _references(pair, moments_x, moments_y)
    if np.array_equal(x, moments_x.mean) and np.array_equal(y, moments_y.mean):
        gap, rounding = moments_x.mean_difference(moments_y)
    else:
        gap, rounding = np.asarray(x - y), 4 * np.finfo(float).eps * (np.abs(x) + np.abs(y))
    if (np.abs(gap) <= rounding).all():
        raise _inseparable("both classes have the same mean")
    return gap


def _references(pair: SetPair, moments_x: Moments, moments_y: Moments) -> tuple[Array, Array]:
    return reference(pair.x, moments_x), reference(pair.y, moments_y)


def _inseparable(why: str, bound: float = 1.0) -> InfeasibleError:
    return InfeasibleError(
        f"moments_x, moments_y: {why}, so no hyperplane has a worst-case probability of misclassification below {bound:.15g}; "
        "use a smaller uncertainty set or other features",
        limit=0.0,
    )


class _Relation:
    r"""How :math:`\kappa_*`, the reciprocal of the objective, and the kappa that all members grant depend on each other.

    Where both classes have means in ellipsoids of their covariances, the smaller :math:`\nu` is taken off
    :math:`\kappa_*` afterwards, as in the paper, and what the other class has beyond it is its ``excess``, which enters
    the program. Where both classes replace kappa by the same function of it, that function is inverted. A set whose
    means do not know of the covariance leaves kappa as it is.
    """

    def __init__(self, pair: SetPair, moments_x: Moments, moments_y: Moments) -> None:
        sides = ((pair.x, moments_x), (pair.y, moments_y))
        found = [multiplier(part, moments) for part, moments in sides]
        self.excess = [0.0, 0.0]
        self.multiplier: Multiplier | None = None
        self.joint = not all(
            one is not None or is_separate(part, moments) for one, (part, moments) in zip(found, sides, strict=True)
        )
        if (
            found[0] is not None
            and found[1] is not None
            and all(abs(found[0](k) - found[1](k)) <= 1e-12 * (1 + k) for k in PROBES)
        ):
            self.multiplier = found[0]
        elif any(one is not None and one.nu is None for one in found):
            self.joint = True
        else:
            shifts = [None if one is None else one.nu for one in found]
            common = 0.0 if None in shifts else min(shifts)  # type: ignore[type-var]
            self.multiplier = Multiplier(float, common)
            self.excess = [0.0 if nu is None else nu - common for nu in shifts]  # type: ignore[operator]

    def kappa(self, kappa_star: float) -> float:
        """What a value of kappa_* grants for every member."""
        return kappa_star if self.multiplier is None else self.multiplier.inverse(kappa_star)

    def kappa_star(self, kappa: float) -> float:
        """The kappa_* that stands for a granted kappa."""
        return kappa if self.multiplier is None else self.multiplier(kappa)


# At these kappas two multipliers are compared.
PROBES = (0.25, 1.0, 3.0)


def _guarantee(pair: SetPair, tail: tails.Tail, kappa: float, moments: tuple[Moments, ...] = ()) -> Guarantee:
    nominal = is_nominal(pair.x) and is_nominal(pair.y)
    claim = family(tail, nominal, "" if nominal else repr(pair), *moments)
    if kappa <= 0:
        return Guarantee(f"P(misclassified) <= 1: no hyperplane is safe for {claim}", bound=1.0, claim=claim)
    bound = tail.bound(kappa) if math.isfinite(kappa) else 0.0
    return Guarantee(f"P(misclassified) <= {bound:.6g} in each class for {claim}", bound=bound, claim=claim)


def _read(
    pair: SetPair,
    tail: tails.Tail,
    a: Array,
    kappa_star: float,
    kappa: float,
    lower: float,
    upper: float,
    distance: float = 1.0,
    *,
    moments: tuple[Moments, Moments],
    nearer: tuple[float, float] = (0.0, 0.0),
) -> Reading:
    """The region a'z >= b, with b between the two classes' worst cases, which meet at the optimum.

    ``distance`` is a'(m_x - m_y), by which the region is divided where it is above zero: nominal means need be no members of the
    sets, whose worst means a program puts at a distance of one. ``nearer`` is by how much the worst mean of each class is nearer
    than the nominal one whatever the covariance.
    """
    distance = distance if distance > 0 else 1.0
    low, high = min(lower, upper), max(lower, upper)
    b, kappa = _with_room(pair, a, (low + high) / 2, kappa, distance, moments, nearer)
    low, high = min(low, b), max(high, b)
    letters = {"b": b, "kappa": kappa, "kappa_star": kappa_star}
    # Decision values are measured in distances of the nominal means, whatever length the program gives to a.
    region = HalfSpace(a / distance, b / distance, scale=1.0)
    return Reading(
        region, _guarantee(pair, tail, kappa, moments), Interval(low / distance, high / distance, b / distance), letters
    )


# A sample's points reach farther from their mean than its deviations do, and rounding grows with them.
FARTHEST = 10.0


def _with_room(
    pair: SetPair,
    a: Array,
    b: float,
    kappa: float,
    distance: float,
    moments: tuple[Moments, Moments],
    nearer: tuple[float, float],
) -> tuple[float, float]:
    """The offset with room for ties and rounding before each mean, and the kappa that it grants.

    The points of a class that does not vary along the normal lie where its mean is, and so on the optimal boundary, where
    rounding would put them on either side. The boundary is taken off them by what rounding may be, at the cost of
    so much of the other class's distance.
    """
    if not 0 < kappa < math.inf:
        return b, kappa
    means = [float(a @ part.mean) for part in moments]
    rooms = []
    for part in moments:
        reach = np.abs(part.mean) + FARTHEST * np.sqrt(np.maximum(np.diag(part.covariance), 0.0))
        rooms.append(2 * (TIE_TOLERANCE * distance + ROUNDING * (float(np.abs(a) @ reach) + abs(b))))
    least, most = means[1] + nearer[1] + rooms[1], means[0] - nearer[0] - rooms[0]
    if sum(rooms) >= distance:
        size = max(float(np.abs(a) @ np.abs(part.mean)) for part in moments) / distance
        raise InputError(
            f"moments_x, moments_y: the means lie {size:.3g} times their difference from the origin, where scores are rounded to "
            f"{sum(rooms) / distance:.2g} of it and no boundary tells the classes apart; subtract a point near the means from all "
            "points first"
        )
    if least <= b <= most:
        return b, kappa
    # Where the sets' own means lie tells, and not where the nominal ones do, which need be no members.
    losses = [
        evaluate_loss(part.centred(known), sign * a, 0.0)
        for part, known, sign in zip((pair.x, pair.y), moments, (-1.0, 1.0), strict=True)
    ]
    least, most = losses[1] + rooms[1], -losses[0] - rooms[0]
    placed = min(max(b, least), most)
    if placed == b or least > most:
        return b, kappa
    side, sign = (0, -1.0) if placed > b else (1, 1.0)
    # The worst loss is convex in kappa: what it is to lose of its distance at kappa = 0, kappa loses as a share at most.
    own = sign * b - losses[side]
    return placed, max(kappa * (1 - abs(placed - b) / own), 0.0) if own > 0 else 0.0


def _solution(objective: float, reading: Reading, how: str, iterations: int = 0, **letters: Any) -> Solution:
    return Solution(
        objective,
        {**letters, **reading.letters},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


def _reciprocal(value: float) -> float:
    return 1 / value if value > 0 else math.inf


def _worst_covariances(pair: SetPair, moments_x: Moments, moments_y: Moments) -> tuple[Array, Array] | None:
    """The covariances that are worst in every direction, or None where a class has no such matrix."""
    sides = ((pair.x, moments_x), (pair.y, moments_y))
    if all(is_nominal(part) for part, _ in sides):
        return moments_x.covariance, moments_y.covariance
    found = [part.centred(moments).ellipsoidal(1.0) for part, moments in sides]
    return None if None in found else (np.asarray(found[0][1]), np.asarray(found[1][1]))


def _worst_spreads(pair: SetPair, moments_x: Moments, moments_y: Moments) -> tuple[Spread, Spread] | None:
    """The same covariances by their factors, which know small variances beside large ones."""
    sides = ((pair.x, moments_x), (pair.y, moments_y))
    found = [worst_factor(moments, part) for part, moments in sides]
    made = [
        Spread(rows, squared=moments.representation == "dense")
        for rows, (_, moments) in zip(found, sides, strict=True)
        if rows is not None
    ]
    return (made[0], made[1]) if len(made) == 2 else None


def _least_sum(pair: SetPair, moments_x: Moments, moments_y: Moments, gap: Array) -> Direction | None:
    """The direction with the least sum of the worst deviations, or None where a class has no worst covariance."""
    if all(part.representation == "dense" for part in (moments_x, moments_y)):
        worst = _worst_covariances(pair, moments_x, moments_y)
        quick = None if worst is None else by_factorisations(*worst, gap)
        if worst is None or quick is not None:
            return quick
    spreads = _worst_spreads(pair, moments_x, moments_y)
    return None if spreads is None else by_axes(*spreads, gap)


class _Frame:
    r"""Axes (p, r) and a unit for the direction, :math:`a = \text{unit}\cdot Vy`.

    The axes make the pooled worst covariance the identity, and both covariances diagonal, where each class has a worst
    covariance, else they scale the features to nominal variance one. The unit makes the coefficients of
    :math:`a'(m_x - m_y) = 1` a vector of length one.
    """

    def __init__(self, moments_x: Moments, moments_y: Moments, pair: SetPair) -> None:
        self.gap = _gap(moments_x, moments_y, pair)
        spreads = _worst_spreads(pair, moments_x, moments_y)
        if spreads is None:
            pooled = moments_x.covariance + moments_y.covariance
            deviations = np.sqrt(np.diag(pooled) + 1e-12 * (np.trace(pooled) + self.gap @ self.gap))
            self.axes, self.inverse = np.diag(1 / deviations), np.diag(deviations)
        else:
            common = Axes.of(*spreads)
            self.axes, self.inverse = common.matrix, common.inverse
            outside = common.null_direction(self.gap)
            if outside is not None:
                # A direction without any variance that tells the means apart is an axis of its own.
                beside = self.gap - common.inverse.T @ (common.matrix.T @ self.gap)
                self.axes = np.column_stack([self.axes, outside / (outside @ self.gap)])
                self.inverse = np.vstack([self.inverse, beside])
        self.unit = float(1 / np.linalg.norm(self.axes.T @ self.gap))
        self.y = cp.Variable(self.axes.shape[1], name="a")
        self.posed = self.axes @ self.y
        self.a = Quantity(self.y, self.unit, self.axes, self.inverse, unseen=True)
        self.distance = (self.unit * (self.axes.T @ self.gap)) @ self.y

    def deviation(self, factor: Array) -> Any:
        """The norm of factor @ a / unit, as a cone that is as small as the axes make it."""
        turned = factor @ self.axes
        gram = turned.T @ turned
        variances = gram.diagonal()
        if np.abs(gram - np.diag(variances)).max(initial=0.0) <= 1e-13 * self.axes.shape[1] * variances.max(
            initial=1e-300
        ):
            return cp.norm(cp.multiply(np.sqrt(variances), self.y))
        return cp.norm(turned @ self.y)


# -- the programs -----------------------------------------------------------------------------------------------------


def two_class_mpm(
    moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None, tail: tails.Tail | None = None
) -> Formulation:
    r"""The robust two-class minimax probability machine with any uncertainty sets and any tail.

    Parameters
    ----------
    moments_x, moments_y : nominal moments of the classes, in the same p coordinates; for a kernel machine those of the
        rows of ``features.training``, with :class:`~convexnovelty.KernelFeatures` of both samples together. Columns with
        names are matched by them, and stand in the order of ``moments_x`` in the sets and in the solution.
    uncertainty : a set of means, of covariances or of both that serves both classes, or a pair (x, y) of sets.
        Where the class states that a set replaces kappa by a function of it in the nominal loss, as MeanEllipsoid,
        DelageYe and KLBall do, the objective is the paper's, :math:`1/\kappa_*` before that function is undone for the
        guarantee; that of every other set is :math:`1/\kappa` of the guarantee, that of the same set written by its
        membership alone too, of which nobody knows the function. Half-space and bound are the same.
    tail : what is known of the distributions besides their moments; Chebyshev (nothing) by default.

    Returns
    -------
    A formulation whose radii can be set without compiling again. Its objective is :math:`1/\kappa_*`, its region
    :math:`\{z : a'z \ge b\}` with :math:`a'(m_x - m_y) = 1`, its guarantee the largest probability of
    misclassification in either class. Where :math:`\kappa_* \le \nu` no hyperplane is safe, and that bound is 1. Where
    means of a class move, that distance of the worst ones is at least 1, and more only where a term or a constraint that is
    added to the program pays for it.

    Raises
    ------
    InfeasibleError : no direction separates the nominal means, or all means of the sets.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> x, y = cn.Moments([3.0, 0.0], np.eye(2)), cn.Moments([-1.0, 0.0], np.eye(2))
    >>> solution = cn.two_class_mpm(x, y).solve()
    >>> round(solution.objective, 6), round(solution.guarantee.bound, 6), round(solution.region.offset, 6)
    (0.5, 0.2, 0.25)
    """
    pair = SetPair.of(uncertainty)
    given = pair if isinstance(uncertainty, (tuple, list)) else uncertainty
    _gap(moments_x, moments_y)
    joint = _joint(moments_x, moments_y, pair) is not None
    return remade_by(two_class_mpm, (kappa_search if joint else socp)(moments_x, moments_y, given, tail))


def _joint(moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None) -> str | None:
    pair = SetPair.of(uncertainty)
    joint = _Relation(pair, moments_x, moments_y).joint
    return f"kappa enters the counterpart of {pair!r} as more than a factor of the deviation" if joint else None


@METHOD.node(
    "socp",
    source="equation 3, robust by equations 4 to 9",
    latex=(
        r"\frac1{\kappa_*}=\min_a\ \sup_{S_x}\sqrt{a'S_xa}+\sup_{S_y}\sqrt{a'S_ya}\quad\text{s.t.}\quad\inf_{m_x,"
        r"m_y}a'(m_x-m_y)=1"
    ),
    condition=_joint,
)
def socp(
    moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None, tail: tails.Tail | None = None
) -> Formulation:
    """The least sum of the worst deviations for a given distance of the worst means; with the paper's set S + rho I."""
    tail, pair = tails.as_tail(tail), SetPair.of(uncertainty)
    moments_x, moments_y = _matched(moments_x, moments_y)
    frame = _Frame(moments_x, moments_y, pair)
    relation = _Relation(pair, moments_x, moments_y)
    if relation.joint:
        refusal = _joint(moments_x, moments_y, pair)
        raise InputError(f"uncertainty: {refusal}; use two_class_mpm, which then searches for kappa")
    robust = pair.tunable().centred(moments_x, moments_y)
    excess = [cp.Parameter(nonneg=True, value=value) for value in relation.excess]
    u = cp.Variable(2, name="u")
    constraints: list[Any] = []
    losses: list[Any] = []  # by how much the worst means of a class are nearer than the nominal one
    moved: dict[str, Any] = {}
    parts = ((pair.x, robust.x, moments_x, -frame.posed), (pair.y, robust.y, moments_y, frame.posed))
    for i, (recipe, part, moments, direction) in enumerate(parts):
        spread = (
            as_counterpart(frame.deviation(moments.factor))
            if _exact_covariance(recipe)
            else worst_deviation(part, direction)
        )
        constraints += [spread.value <= u[i], *spread.constraints]
        if multiplier(recipe, moments) is None:
            reach = reach_of(part, direction)
            moved[f"e_{'xy'[i]}"] = e = cp.Variable(name=f"e_{'xy'[i]}")
            # The large terms of both means cancel in the coefficients, before a solver sees them.
            constraints += [frame.unit * (reach.value - moments.mean @ direction) <= e, *reach.constraints]
            losses.append(e)
        elif not pair.shared and not _exact_mean(recipe):
            losses.append(frame.unit * (excess[i] * u[i]))
    constraints.append(frame.distance - sum(losses[1:], losses[0]) >= 1 if losses else frame.distance == 1)
    for part in (robust.x, robust.y):
        # What only the bound needs, as nu, can be set too: the loss is written once so that it registers its numbers.
        _ = (
            part.means.deviations
            if has_members_of(part, Product)
            else worst_loss(part, frame.posed, cp.Parameter(nonneg=True))
        )

    def current() -> SetPair:
        return pair.replaced(**robust.numbers())

    def admissible() -> None:
        for parameter, value in zip(excess, _Relation(current(), moments_x, moments_y).excess, strict=True):
            parameter.value = value

    def read(values: Any) -> Reading:
        a, deviations = values["a"], np.maximum(values["u"], 0.0)
        total = float(deviations.sum())
        # Along a direction without variance both deviations vanish and kappa is infinite, but their products are not.
        now = _Relation(current(), moments_x, moments_y)
        reach = (deviations / total if total > 0 else np.full(2, 0.5)) + np.array(now.excess) * deviations
        reach += [values.get("e_x", 0.0), values.get("e_y", 0.0)]
        lower, upper = float(a @ moments_y.mean + reach[1]), float(a @ moments_x.mean - reach[0])
        star = _reciprocal(total)
        return _read(
            current(),
            tail,
            a,
            star,
            now.kappa(star),
            lower,
            upper,
            float(a @ frame.gap),
            moments=(moments_x, moments_y),
            nearer=(values.get("e_x", 0.0), values.get("e_y", 0.0)),
        )

    return Formulation(
        cp.Problem(cp.Minimize(cp.sum(u)), constraints),
        {"a": frame.a, "u": Quantity(u, frame.unit), **moved},
        objective_unit=frame.unit,
        read=read,
        composed=read,  # a bound that the point itself grants
        tunables=robust.tunables(),
        admissible=admissible,
        diagnose=lambda: _inseparable(f"no direction separates all means of {current()!r}"),
    )


def _exact_mean(recipe: MomentSet) -> bool:
    return has_members_of(recipe, Exact) or (
        has_members_of(recipe, Product) and has_members_of(recipe.means, ExactMean)
    )


def _exact_covariance(recipe: MomentSet) -> bool:
    return has_members_of(recipe, Exact) or (
        has_members_of(recipe, Product) and has_members_of(recipe.covariances, ExactCovariance)
    )


@METHOD.node(
    "kappa_search",
    source="equation 4 at a fixed alpha, and a search for the largest kappa",
    latex=(
        r"\max\Big\{\kappa:\ \min_{a\ne0}\ \sup_{\mathcal X}\big(\kappa\sqrt{a'S_xa}-m_x'a\big)"
        r"+\sup_{\mathcal Y}\big(\kappa\sqrt{a'S_ya}+m_y'a\big)\le0\Big\}"
    ),
    condition=lambda moments_x, moments_y, uncertainty=None, around=False: (
        _certain(moments_x, moments_y, uncertainty)
        or (_joint(moments_x, moments_y, uncertainty) is None and not_needed(around))
        or _too_far(moments_x, moments_y, uncertainty)
        or None
    ),
)
def kappa_search(
    moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None, tail: tails.Tail | None = None
) -> Formulation:
    """The two robust chance constraints at a common kappa, which is a parameter of one compiled problem."""
    tail, pair = tails.as_tail(tail), SetPair.of(uncertainty)
    moments_x, moments_y = _matched(moments_x, moments_y)
    frame = _Frame(moments_x, moments_y, pair)
    robust = pair.tunable().centred(moments_x, moments_y)
    kappa = cp.Parameter(nonneg=True, value=1.0, name="kappa")
    # At the kappa that is sought the distance is one; the remainder makes the optimal value 1 / kappa_* there.
    remainder = cp.Parameter(value=0.0, name="remainder")
    losses = cp.Variable(2, name="losses")
    constraints: list[Any] = [cp.sum(losses) <= 1]
    means = _references(pair, moments_x, moments_y)
    sides = ((robust.x, means[0], -frame.posed), (robust.y, means[1], frame.posed))
    for i, (part, mean, direction) in enumerate(sides):
        loss = worst_loss(part, direction, kappa)
        constraints += [frame.unit * (loss.value - mean @ direction) <= losses[i], *loss.constraints]
    found = {"kappa": 1.0}

    def current() -> SetPair:
        return pair.replaced(**robust.numbers())

    def search(value: Callable[[], float]) -> None:
        def level(candidate: float) -> float:
            kappa.value = candidate
            try:
                distance = -value()
            except UnboundedError:
                return -1.0
            return 1 / distance - 1 if distance > NO_DISTANCE else 1 / NO_DISTANCE

        remainder.value = 0.0
        found["kappa"] = crossing(level, float(kappa.value), lowest=SEARCHED[0], highest=SEARCHED[1])
        if found["kappa"] < 0:
            raise _inseparable(
                f"no direction separates all means of {current()!r} by {SEARCHED[0]:.0e} deviations or more",
                1.0 - SEARCHED[0] ** 2,
            )
        if math.isinf(found["kappa"]):
            raise UnboundedError(
                f"kappa: it is larger than {SEARCHED[1]:.0e}, the end of the search, or {CERTAIN}; use exact moments, or "
                f"add a radius to the covariances"
            )
        kappa.value = at = found["kappa"]
        remainder.value = 1 / _Relation(current(), moments_x, moments_y).kappa_star(at) + 1

    def read(values: Any) -> Reading:
        a, (loss_x, loss_y) = values["a"], values["losses"]
        lower, upper = float(a @ means[1] + loss_y), float(a @ means[0] - loss_x)
        star = _Relation(current(), moments_x, moments_y).kappa_star(found["kappa"])
        return _read(
            current(),
            tail,
            a,
            star,
            found["kappa"],
            lower,
            upper,
            float(a @ frame.gap),
            moments=(moments_x, moments_y),
        )

    return Formulation(
        cp.Problem(cp.Minimize(remainder - frame.distance), constraints),
        {"a": frame.a, "losses": losses},
        read=read,
        composed=read,  # a bound that the point itself grants
        tunables=robust.tunables(),
        search=search,
    )


CERTAIN = "along some direction neither class varies and the means differ, so that no number of deviations is too large"


def _certain(moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None) -> str | None:
    moments_x, moments_y = _matched(moments_x, moments_y)
    spreads = _worst_spreads(SetPair.of(uncertainty), moments_x, moments_y)
    gap = _gap(moments_x, moments_y)
    return None if spreads is None or Axes.of(*spreads).null_direction(gap) is None else CERTAIN


def _too_far(moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None) -> str | None:
    """Between the distance in pooled deviations and its share of 0.7 lies the nominal kappa."""
    apart = 1 / _Frame(moments_x, moments_y, SetPair.of(uncertainty)).unit
    return f"the means are {apart:.1e} deviations apart, more than a search resolves" if apart > FARTHEST else None


SEARCHED = 1e-6, 1e8  # the numbers of deviations among which a search looks for the largest
FARTHEST = 1e5  # deviations between the means up to which the programs of a search keep six digits


# The distance that losses of one buy falls towards zero, without reaching it, where the worst means meet.
NO_DISTANCE = 1e-6


# -- its equivalents --------------------------------------------------------------------------------------------------


def has_scalar_root(moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None) -> bool:
    """Whether :func:`scalar_root` is exact for the set."""
    return _not_one_scale(moments_x, moments_y, uncertainty) is None


def _not_one_scale(moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None) -> str | None:
    pair = SetPair.of(uncertainty)
    if _worst_covariances(pair, moments_x, moments_y) is None:
        return f"{pair!r} has no worst covariances that serve every direction, so there is no scalar equation"
    relation = _Relation(pair, moments_x, moments_y)
    if relation.joint or any(relation.excess):
        return f"{pair!r} multiplies the deviations of the two classes by different numbers"
    return None


@METHOD.node(
    "scalar_root",
    kind="algorithm",
    source="stationarity of equation 3",
    latex=r"a\sim(S_x+tS_y)^{-1}(m_x-m_y),\quad t=\sqrt{a'S_xa}\big/\sqrt{a'S_ya}",
    condition=_not_one_scale,
)
def scalar_root(
    moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None, tail: tails.Tail | None = None
) -> Solution:
    """The direction from the root of one scalar equation, for sets with a worst covariance in each class."""
    tail, pair = tails.as_tail(tail), SetPair.of(uncertainty)
    moments_x, moments_y = _matched(moments_x, moments_y)
    gap = _gap(moments_x, moments_y)
    found = _least_sum(pair, moments_x, moments_y, gap)
    if found is None:
        raise InputError(f"uncertainty: {_not_one_scale(moments_x, moments_y, pair)}; use the program")
    share = np.array([found.first, found.second]) * found.kappa if found.value > 0 else np.full(2, 0.5)
    lower, upper = float(found.a @ moments_y.mean + share[1]), float(found.a @ moments_x.mean - share[0])
    kappa = _Relation(pair, moments_x, moments_y).kappa(found.kappa)
    reading = _read(pair, tail, found.a, found.kappa, kappa, lower, upper, moments=(moments_x, moments_y))
    return _solution(found.value, reading, "scalar root", a=found.a, u=np.array([found.first, found.second]), t=found.t)


@METHOD.node(
    "semi_infinite",
    kind="algorithm",
    source="equation 4",
    latex=(
        r"\max_{\alpha,a\ne0,b}\alpha\quad\text{s.t.}\quad\inf_{x\sim(m_x,S_x)}P\{a'x\ge b\}\ge\alpha\ "
        r"\forall(m_x,S_x)\in\mathcal X,\quad\inf_{y\sim(m_y,S_y)}P\{a'y\le b\}\ge\alpha\ \forall(m_y,S_y)\in\mathcal Y"
    ),
    condition=lambda moments_x, moments_y: not_small(moments_x) or not_small(moments_y),
)
def semi_infinite(
    moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None, tail: tails.Tail | None = None
) -> Solution:
    """Cutting planes in both classes at once, which meet the sets only through their membership."""
    tail, pair = tails.as_tail(tail), SetPair.of(uncertainty)
    moments_x, moments_y = _matched(moments_x, moments_y)
    frame = _Frame(moments_x, moments_y, pair)
    sides = [
        _side(given, moments, sign)
        for given, moments, sign in zip(_given(uncertainty), (moments_x, moments_y), (-1.0, 1.0), strict=True)
    ]
    found = largest_kappa(frame.axes, sides, equal=frame.gap)
    if found.kappa <= 0:
        raise _inseparable(f"no direction separates all means of {pair!r}")
    kappa_star = _Relation(pair, moments_x, moments_y).kappa_star(found.kappa)
    lower, upper = float(found.a @ sides[1].mean) + found.losses[1], float(found.a @ sides[0].mean) - found.losses[0]
    reading = _read(pair, tail, found.a, kappa_star, found.kappa, lower, upper, moments=(moments_x, moments_y))
    return _solution(1 / kappa_star, reading, "cutting planes", found.rounds, a=found.a)


def _given(uncertainty: Uncertainty) -> tuple[Any, Any]:
    """The set of each class, as the very object that was given, by which its adversary is remembered."""
    if isinstance(uncertainty, SetPair):
        return uncertainty.x, uncertainty.y
    if isinstance(uncertainty, (tuple, list)):
        return uncertainty[0], uncertainty[1]
    return uncertainty, uncertainty


def _side(uncertainty: UncertaintySet | None, moments: Moments, sign: float) -> Side:
    attack = attack_of(uncertainty, moments)
    mean, first = reference(uncertainty, moments), some_member(uncertainty, moments)
    return Side(mean, first, sign, lambda a, kappa: attack(sign * a, kappa))


# -- in the expansion coefficients of the sample ----------------------------------------------------------------------


# A Gram matrix rounds at 1e-16 of its largest entry, so that smaller variances than this share of the largest are lost.
GRAM_CONDITION = 1e-9


def _not_expanded(
    features: FeatureMap, count_x: int, moments_x: Moments, moments_y: Moments, uncertainty: Uncertainty = None
) -> str | None:
    moments_x, moments_y = _matched(moments_x, moments_y)
    training = np.asarray(features.training)
    for moments, rows in ((moments_x, training[:count_x]), (moments_y, training[count_x:])):
        if moments.dimension != features.dimension or not np.allclose(
            moments.mean, rows.mean(axis=0), rtol=1e-9, atol=1e-12 * features.unit
        ):
            return "the moments are not the sample's own, which the expansion in the sample presumes"
    ridges = _ridges(SetPair.of(uncertainty), moments_x, moments_y)
    if ridges is None:
        return f"the worst covariances over {uncertainty!r} are not S + rho I"
    spread = (moments_x + moments_y).eigen[0]
    if min(ridges) == 0 and spread[-1] < GRAM_CONDITION * spread[0]:
        return (
            f"variances reach from {spread[0]:.0e} down to {spread[-1]:.0e}, which a Gram matrix in double precision "
            f"does not hold"
        )
    return None


def _ridges(pair: SetPair, moments_x: Moments, moments_y: Moments) -> tuple[float, float] | None:
    """The rho of each class where the worst covariance is S + rho I and both classes multiply it alike; else None."""
    worst = _worst_covariances(pair, moments_x, moments_y)
    relation = _Relation(pair, moments_x, moments_y)
    if worst is None or relation.joint or any(relation.excess):
        return None
    ridges = []
    for matrix, moments in zip(worst, (moments_x, moments_y), strict=True):
        added = matrix - moments.covariance
        rho = float(np.trace(added)) / moments.dimension
        if np.abs(added - rho * np.eye(moments.dimension)).max() > 1e-12 * max(
            np.abs(matrix).max(), np.finfo(float).tiny
        ):
            return None
        ridges.append(max(rho, 0.0))
    return ridges[0], ridges[1]


@METHOD.node(
    "kernel_socp",
    source="section 2, last paragraph: the kernel version",
    latex=(
        r"\min_\gamma\ \sqrt{\gamma'(L_x'L_x+\rho K)\gamma}+\sqrt{\gamma'(L_y'L_y+\rho "
        r"K)\gamma}\quad\text{s.t.}\quad\gamma'(k_x-k_y)=1"
    ),
    condition=_not_expanded,
)
def kernel_socp(
    features: FeatureMap,
    count_x: int,
    moments_x: Moments,
    moments_y: Moments,
    uncertainty: Uncertainty = None,
    tail: tails.Tail | None = None,
) -> Formulation:
    """The program in the coefficients of both samples: K, and in each class the mean and the centred rows of K.

    ``features`` hold the points of class x in their first ``count_x`` rows and those of class y after them.
    """
    tail, pair = tails.as_tail(tail), SetPair.of(uncertainty)
    moments_x, moments_y = _matched(moments_x, moments_y)
    check_features(features)
    count_x = integer(count_x, "count_x", 1)
    if count_x >= features.n:
        raise InputError(f"count_x: {count_x} was found of {features.n} points in all; leave one for class y")
    ridges = _ridges(pair, moments_x, moments_y)
    if ridges is None:
        raise InputError(f"uncertainty: {_not_expanded(features, count_x, moments_x, moments_y, pair)}")
    gram = features.gram / features.unit**2
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-13 * values.size * values[-1]
    # gamma = V D y with D = diag(values)^(-1/2), so that the norm of y is that of a.
    roots = np.sqrt(values[kept])
    axes = vectors[:, kept] / roots
    rows = [gram[:count_x] @ axes, gram[count_x:] @ axes]
    means = [part.mean(axis=0) for part in rows]
    unit = float(1 / np.linalg.norm(means[0] - means[1]))
    y, u = cp.Variable(roots.size, name="gamma"), cp.Variable(2, name="u")
    factors = [
        np.vstack([(part - mean) / np.sqrt(len(part)), np.sqrt(rho) / features.unit * np.eye(roots.size)])
        for part, mean, rho in zip(rows, means, ridges, strict=True)
    ]
    constraints = [cp.norm(np.linalg.qr(factor, mode="r") @ y) <= u[i] for i, factor in enumerate(factors)]
    training = np.asarray(features.training)

    def read(values: Any) -> Reading:
        a, deviations = training.T @ values["gamma"], np.maximum(values["u"], 0.0)
        share = deviations / deviations.sum()
        star = _reciprocal(float(deviations.sum()))
        kappa = _Relation(pair, moments_x, moments_y).kappa(star)
        lower, upper = float(a @ moments_y.mean + share[1]), float(a @ moments_x.mean - share[0])
        return _read(pair, tail, a, star, kappa, lower, upper, moments=(moments_x, moments_y))

    return Formulation(
        cp.Problem(cp.Minimize(cp.sum(u)), [*constraints, unit * (means[0] - means[1]) @ y == 1]),
        {"gamma": Quantity(y, unit / features.unit**2, axes, (vectors[:, kept] * roots).T), "u": Quantity(u, unit)},
        objective_unit=unit,
        read=read,
        composed=read,  # a bound that the point itself grants
    )


# -- the arrows -------------------------------------------------------------------------------------------------------

METHOD.step(
    "scalar_root",
    "socp",
    claim="the optimal direction is (S_x + t S_y)^-1 (m_x - m_y) with t the ratio of the deviations",
    equation="equation 3",
    reference="algorithm",
    tolerance=1e-7,
    # The direction of a solution of a cone program is known to about the root of the solver's accuracy.
    decision_tolerance=1e-4,
    values=lambda solution: {"a": solution.values["a"], "u": solution.values["u"]},
)
METHOD.step(
    "scalar_root",
    "kappa_search",
    claim="sets that only replace kappa by a function of it leave the direction where it is",
    equation="equations 3 and 9",
    reference="algorithm",
    tolerance=1e-7,
    decision_tolerance=1e-4,
)
METHOD.step(
    "kappa_search",
    "socp",
    claim="the largest kappa at which both chance constraints hold is the reciprocal of the least sum of deviations",
    equation="equations 2 to 4",
    reference="formulation",
    decision_tolerance=1e-4,
)
METHOD.step(
    "semi_infinite",
    "kappa_search",
    claim="the chance constraints for every member of both sets are two cone constraints",
    equation="equations 4, 1 and 9",
    reference="adversary",
    bound="<=",
    tolerance=1e-6,
    decision_tolerance=1e-3,
)
METHOD.step(
    "semi_infinite",
    "socp",
    claim="the chance constraints for every member of both sets are worst means and worst deviations",
    equation="equations 4, 1 and 9",
    reference="adversary",
    bound="<=",
    tolerance=1e-6,
    decision_tolerance=1e-3,
)
METHOD.step(
    "kernel_socp",
    "socp",
    claim="the optimal direction lies in the span of both samples: a = sum of gamma_i phi(z_i)",
    equation="section 2, last paragraph",
    reference="formulation",
)


@METHOD.property("attained bound", source="equations 1 and 2")
def attained(
    solution: Solution,
    moments_x: Moments,
    moments_y: Moments,
    uncertainty: Uncertainty = None,
    tail: tails.Tail | None = None,
) -> list[Claim]:
    """In each class a distribution with the worst moments is misclassified exactly as often as the bound says."""
    moments_x, moments_y = _matched(moments_x, moments_y)
    region, guarantee = solution.region, solution.guarantee
    if not isinstance(tails.as_tail(tail), tails.Chebyshev) or not isinstance(region, HalfSpace) or guarantee is None:
        return []
    if (
        solution.residuals is None
        or not_small(moments_x)
        or not_small(moments_y)
        or solution.objective <= 1e-9
        or guarantee.bound == 1
    ):
        return []
    given, kappa, claims = _given(uncertainty), float(solution.values["kappa"]), []
    for name, part, moments, sign in (("x", given[0], moments_x, -1.0), ("y", given[1], moments_y, 1.0)):
        normal, offset = sign * region.normal, region.offset
        mean, covariance = attack_of(part, moments)(normal, kappa)
        if not varies(covariance, normal):
            continue  # all of the class lies where its mean does, on its own side: nothing of it is misclassified
        if solution.offset is not None:
            # Either end of the interval of offsets is where the bound of one class is attained.
            offset = solution.offset.upper if sign < 0 else solution.offset.lower
        claims.append(
            Claim(
                f"the bound is attained by a distribution of class {name}",
                largest_beyond(mean, covariance, normal, sign * offset),
                guarantee.bound,
                attainment(part),
                tolerance=1e-5,
                kind="adversary",
                source="equations 1 and 2",
                because="the solver's accuracy in the constraint, through the derivative of the bound",
            )
        )
    return claims


# -- instances --------------------------------------------------------------------------------------------------------


def _instance(name: str, features: FeatureMap, count_x: int, uncertainty: Uncertainty, probe: Any) -> Instance:
    training = np.asarray(features.training)
    arguments = {
        "features": features,
        "count_x": count_x,
        "moments_x": Moments.estimate(training[:count_x]),
        "moments_y": Moments.estimate(training[count_x:]),
        "uncertainty": uncertainty,
        "tail": tails.Chebyshev(),
    }
    return Instance(name, arguments, features.coordinates(probe))


@METHOD.instance("two blobs, the paper's set")
def blobs() -> Instance:
    """Three dimensions, mean ellipsoid and Frobenius ball."""
    first, second = datasets.blob(n=50, dimension=3), datasets.blob(n=40, dimension=3, seed=1)
    points = np.vstack([first.nominal, second.nominal + np.array([6.0, -3.0, 2.0])])
    return _instance(
        "two blobs, the paper's set", LinearFeatures(points), 50, MeanEllipsoid(0.1) * FrobeniusBall(0.3), first.novel
    )


@METHOD.instance("two blobs, a set a class")
def blobs_apart() -> Instance:
    """One class has uncertain means and covariances, the other only uncertain means."""
    first, second = datasets.blob(n=50, dimension=3), datasets.blob(n=40, dimension=3, seed=1)
    points = np.vstack([first.nominal, second.nominal + np.array([6.0, -3.0, 2.0])])
    uncertainty = (MeanEllipsoid(0.3) * FrobeniusBall(0.2), MeanEllipsoid(0.1))
    return _instance("two blobs, a set a class", LinearFeatures(points), 50, uncertainty, first.novel)


@METHOD.instance("two blobs, one multiplier")
def blobs_alike() -> Instance:
    """A joint set for both classes that replaces kappa by a function of it: the scalar equation still decides."""
    first, second = datasets.blob(n=50, dimension=3), datasets.blob(n=40, dimension=3, seed=1)
    points = np.vstack([first.nominal, second.nominal + np.array([6.0, -3.0, 2.0])])
    return _instance("two blobs, one multiplier", LinearFeatures(points), 50, DelageYe(), first.novel)


@METHOD.instance("breast cancer, linear")
def breast_cancer() -> Instance:
    """Benign against malignant cases: thirty features that span six orders of magnitude, exact moments."""
    data = datasets.breast_cancer()
    points = np.vstack([data.nominal, data.novel])
    return _instance("breast cancer, linear", LinearFeatures(points), len(data.nominal), None, points[::10])


@METHOD.instance("badly scaled")
def badly_scaled() -> Instance:
    """Features in units from 1e-4 to 1e4."""
    data = datasets.badly_scaled()
    points = np.vstack([data.nominal, data.novel + 2.0 * np.abs(data.nominal).max(axis=0)])
    return _instance("badly scaled", LinearFeatures(points), len(data.nominal), None, points[::3])


@METHOD.instance("digits, gaussian kernel")
def digits() -> Instance:
    """Images of two digits in the feature space of a Gaussian kernel."""
    zeros, ones = datasets.digits(digit=0), datasets.digits(digit=1)
    features = KernelFeatures(np.vstack([zeros.nominal[:25], ones.nominal[:25]]), kernels.gaussian(gamma="scale"))
    return _instance("digits, gaussian kernel", features, 25, FrobeniusBall(0.01), zeros.nominal[25:55])


@METHOD.instance("more features than points")
def wide() -> Instance:
    """Duplicated points and fewer of them than features: singular covariances, well posed by the radius."""
    data = datasets.wide()
    points = np.vstack([data.nominal[:6], data.nominal[:2], data.nominal[6:]])
    features = LinearFeatures(points)
    return _instance(
        "more features than points",
        features,
        8,
        FrobeniusBall(0.05 * features.unit**2 / features.dimension),
        data.novel,
    )


@METHOD.swap
def around(uncertainty: UncertaintySet) -> Instance:
    """Three dimensions, signed and correlated, some deviations apart: any set around one class, none around the other."""
    rng = np.random.default_rng(11)
    x = np.array([5.0, -3.0, 2.0]) + rng.standard_normal((60, 3)) @ np.array(
        [[0.9, 0.3, 0], [0, 0.7, 0], [0.2, 0, 0.8]]
    )
    y = np.array([-4.0, 4.0, -3.0]) + rng.standard_normal((50, 3)) @ np.array(
        [[0.6, -0.2, 0], [0.1, 0.8, 0], [0, 0.3, 0.5]]
    )
    arguments = {
        "moments_x": Moments.estimate(x),
        "moments_y": Moments.estimate(y),
        # One class has the set and the other exact moments: half the work, and a hull of pairs as they are fits too.
        "uncertainty": (uncertainty, None),
        "around": True,
    }
    return Instance(f"{uncertainty!r}", arguments, np.vstack([x[:20], y[:20]]))
