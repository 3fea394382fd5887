r"""The one-class machine on points that are known only up to a set: each may lie anywhere around where it was seen.

The robust counterpart of equations 8.6 and 8.7 of Schölkopf and Smola (2001), chapter 8, with the constraint
:math:`\langle w, x_i + s_iu\rangle \ge \rho - \xi_i` for every :math:`u` of an uncertainty set of points. It is posed
through the support function of the set, and found again by cutting planes against the set's membership alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.cutting_planes import Robust, cutting_planes
from convexnovelty.algorithms.margin_unit import margin_unit, nearest
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError, SolverError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import (
    beyond_boundary,
    check_features,
    margin_reading,
    multipliers,
    nothing_separated,
    outlier_share,
    point_reading,
    quantile_interval,
    sample_shares,
    score_doubts,
    slack_price,
    span_gram,
    terms_apart,
)
from convexnovelty.regions import ROUNDING, HalfSpace
from convexnovelty.solution import Values
from convexnovelty.uncertainty import (
    Adversary,
    NormBall,
    PointSet,
    derived_twice,
    evaluate_support,
    membership_of,
    scaled,
    support,
    worst_member,
)
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.validation import Array, vector

METHOD = Method(
    "uncertain_points",
    title="One-class machine on uncertain points",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The one-class machine on points of which each may lie anywhere in a set around where it was seen.",
    takes="points",
    showcase=True,
    letters=("D4",),
)

MOVABLE = "can be moved outside within the set"


def uncertain_points(
    features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any = None
) -> Formulation:
    r"""The robust one-class support vector machine with any uncertainty set of points.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points. In the latter the set lies in feature space, around
        :math:`\Phi(x_i)`, in coordinates that the features choose, so that only sets that no rotation changes mean
        anything there.
    outlier_fraction : the paper's nu, in (0, 1].
    uncertainty : a set of points u around zero, for example ``NormBall(2, 0.1)``; None takes the points as exact.
    scales : by how much the set is enlarged at each point, of shape (n,), at least 0; None is 1 for every point.

    Returns
    -------
    A formulation whose ``outlier_fraction`` and radius can be set without compiling again. Its objective is that of
    8.6, its region :math:`\langle w, x\rangle \ge \rho` is for exact positions. The value ``t`` is the support
    :math:`\sup_u\langle -w, u\rangle`: a new point that is itself uncertain lies inside for certain if its decision
    value is at least t.

    Raises
    ------
    InputError : for a set whose meaning hangs on the data's own axes, together with kernel features.
    EmptySetError, UnboundedSetError : for a set that is empty or unbounded.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> from convexnovelty.uncertainty import NormBall
    >>> features = cn.LinearFeatures(np.array([[3.0, 4.0]]))
    >>> solution = cn.uncertain_points(features, 1.0, NormBall(2, 1.0)).solve()
    >>> round(float(np.linalg.norm(solution.region.normal)), 6)
    4.0
    """
    check_features(features)
    return robust(features, outlier_fraction, uncertainty, scales)


# -- what several nodes share ------------------------------------------------------------------------------------------


def _centred(features: FeatureMap, uncertainty: PointSet | None) -> PointSet:
    """The set around zero, or where its own recipe puts it."""
    recipe = NormBall(2, 0.0) if uncertainty is None else uncertainty
    if not isinstance(recipe, PointSet):
        raise InputError(
            f"uncertainty: {recipe!r} is no set of points; give one, for example cn.uncertainty.NormBall(2, 0.1)"
        )
    if recipe.basis_dependent and isinstance(features, KernelFeatures):
        raise InputError(
            f"uncertainty: {recipe!r} means something only along the axes of the data, and kernel features choose "
            f"their "
            "own; give a set that no rotation changes, for example NormBall(2, radius), or use LinearFeatures"
        )
    if recipe._center is not None:
        return recipe
    around: PointSet = recipe.centred(np.zeros(features.dimension))
    return around


def _scales(scales: Any, n: int) -> Array:
    if scales is None:
        return np.ones(n)
    given = vector(scales, "scales", n)
    wrong = np.flatnonzero(given < 0)
    if wrong.size:
        raise InputError(f"scales: {given[wrong[0]]:.6g} was found at position {wrong[0]}; give numbers of at least 0")
    return given


def _unit(features: FeatureMap, around: PointSet, nu: float, sizes: Array) -> float:
    """The unit in which the programs are posed: with the set added to it a hull is no farther from the origin than with a member."""
    points, shares = np.asarray(features.training), sample_shares(None, features.n)
    doubts = score_doubts(features, features.middle)
    unit = margin_unit(points, features.middle, doubts, nu, shares)
    if unit == features.middle:
        return unit
    mean = points.mean(axis=0)
    member = (np.asarray(worst_member(around, mean)) + np.asarray(worst_member(around, -mean))) / 2
    return margin_unit(points + sizes[:, None] * member, features.middle, doubts, nu, shares)


def _reading(
    features: FeatureMap,
    around: PointSet,
    normal: Array,
    spread: float,
    nu: float,
    sizes: Array,
    unit: float,
    beyond: Any = None,
) -> Reading:
    """What holds at an optimum of a program in a unit, in which what the set takes from the scores is ``spread``."""
    if nothing_separated(float(normal @ normal), unit, nu) is not None and normal.any():
        # What a solver takes for the spread of so short a normal is known to its tolerance, which proves nothing.
        spread = max(spread, evaluate_support(around, -normal))
    phi = np.asarray(features.training)
    return margin_reading(
        phi @ normal - sizes * spread,
        normal,
        nu,
        np.full(features.n, 1 / features.n),
        points=_enlarged(phi, normal, spread, sizes),
        rows=phi,
        unit=unit,
        outside=MOVABLE,
        origin="the origin once the set is added to it",
        theorem="proposition 8.3 for the worst positions",
        doubts=score_doubts(features, features.middle) + ROUNDING * sizes * abs(spread),
        beyond=beyond,
    )


def _at_optimum(
    features: FeatureMap, around: PointSet, values: Values, nu: float, sizes: Array, unit: float, beyond: Any
) -> Reading:
    """The reading of a program, with the support at its normal: its own t is known beside scores, which may be far larger than it."""
    w = values["w"]
    try:
        spread = evaluate_support(around, -w)
    except SolverError:
        spread = float(values["t"])
    return replace(_reading(features, around, w, spread, nu, sizes, unit, beyond), letters={"t": spread})


def _at_point(features: FeatureMap, values: Values, sizes: Array, unit: float) -> Reading:
    """What holds of any w, rho and t: the program keeps t above the support, but only an optimum brings it down to it."""
    w, shares = values["w"], sample_shares(None, features.n)
    phi, t, rho = np.asarray(features.training), float(values["t"]), values["rho"]
    scores = phi @ w - sizes * t
    apart = terms_apart(_enlarged(phi, w, t, sizes), w, scores, rho)
    return point_reading(scores, w, rho, shares, rows=phi, apart=apart, unit=unit, outside=MOVABLE, most=True)


def _enlarged(phi: Array, normal: Array, spread: float, sizes: Array) -> Array:
    """The points with what the set takes from their scores, as a length along the normal, in one more column."""
    length = float(np.linalg.norm(normal))
    return np.column_stack([phi, sizes * (spread / length if length > 0 else 0.0)])


def _solution(
    features: FeatureMap,
    around: PointSet,
    normal: Array,
    spread: float,
    nu: float,
    sizes: Array,
    how: str,
    iterations: int = 0,
) -> Solution:
    reading = _reading(features, around, normal, spread, nu, sizes, features.middle)
    scores = np.asarray(features.training) @ normal - sizes * spread
    rho = float(reading.offset.used) if reading.offset is not None else 0.0
    xi = np.maximum(rho - scores, 0.0)
    return Solution(
        float(normal @ normal) / 2 + float(xi.mean()) / nu - rho,
        {"w": normal, "xi": xi, "rho": rho, "t": spread},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


# -- the program -------------------------------------------------------------------------------------------------------


def _program(
    features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any, route: Any
) -> Formulation:
    nu, sizes = Tunable("outlier_fraction", outlier_fraction, outlier_share), _scales(scales, features.n)
    around = _centred(features, uncertainty)
    if route == "best":
        around = around.tunable()
    unit = _unit(features, around, nu.value, sizes)
    phi = np.asarray(features.training) / unit
    w, xi, rho = cp.Variable(phi.shape[1]), cp.Variable(features.n, nonneg=True), cp.Variable()
    t = cp.Variable()
    price = slack_price(nu, equal := sample_shares(None, features.n))
    worst = scaled(1 / unit, support(around, -w, route))
    margin = phi @ w - sizes * t >= rho - xi
    return Formulation(
        cp.Problem(
            cp.Minimize(cp.sum_squares(w) / 2 + price * (equal @ xi) - rho),
            [margin, worst.value <= t, *worst.constraints],
        ),
        {
            "w": Quantity(w, unit),
            "xi": Quantity(xi, unit**2),
            "rho": Quantity(rho, unit**2),
            "t": Quantity(t, unit**2),
        },
        objective_unit=unit**2,
        read=lambda values: _at_optimum(
            features, around, values, nu.value, sizes, unit, beyond_boundary(margin.dual_value, price.value * equal)
        ),
        composed=lambda values: _at_point(features, values, sizes, unit),
        tunables={"outlier_fraction": nu, **around.tunables()},
    )


@METHOD.node(
    "robust",
    source="equations 8.6 and 8.7 for every position, by the support function of the set",
    latex=(
        r"\min_{w,\xi,\rho}\ \tfrac12\|w\|^2+\tfrac1{\nu n}\sum_i\xi_i-\rho\quad\text{s.t.}"
        r"\quad\langle w,x_i\rangle-s_i\sup_{u\in\mathcal U}\langle-w,u\rangle\ge\rho-\xi_i,\ \xi_i\ge0"
    ),
)
def robust(
    features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any = None
) -> Formulation:
    """The margin is maximised over positions that are as bad as the set allows."""
    return _program(features, outlier_fraction, uncertainty, scales, "best")


@METHOD.node(
    "derived_counterpart",
    source="equations 8.6 and 8.7 for every position, by conic duality of the membership",
    latex=r"\sup_{u\in\mathcal U}\langle-w,u\rangle=\min_z\{b'z:A_v'z=-w,\ A_u'z=0,\ z\in\mathcal K^*\}",
    condition=lambda features: None if features.dimension <= 100 else "the dual of a set is left to smaller dimensions",
)
def derived_counterpart(
    features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any = None
) -> Formulation:
    """The same program with a support function that is derived from the set's membership alone."""
    return _program(features, outlier_fraction, uncertainty, scales, "derived")


# -- its equivalents ---------------------------------------------------------------------------------------------------


@METHOD.node(
    "semi_infinite",
    kind="algorithm",
    source="equations 8.6 and 8.7 for every position, by cutting planes",
    latex=r"\langle w,x_i+s_iu\rangle\ge\rho-\xi_i\quad\forall u\in\mathcal U",
    condition=lambda features: None if features.dimension <= 12 else "cutting planes are left to smaller dimensions",
)
def semi_infinite(
    features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any = None
) -> Solution:
    """The semi-infinite program: positions are added one by one, the worst first; only the membership is used."""
    nu, sizes = outlier_share(outlier_fraction, "outlier_fraction"), _scales(scales, features.n)
    around = _centred(features, uncertainty)
    unit = _unit(features, around, nu, sizes)
    adversary = Adversary(around)
    phi = np.asarray(features.training) / unit
    w, xi, rho, t = cp.Variable(phi.shape[1]), cp.Variable(features.n, nonneg=True), cp.Variable(), cp.Variable()
    price = min(1 / (nu * features.n), 2.0)  # a larger one changes nothing, see slack_price

    def repair(values: Any) -> tuple[float, Any] | None:
        # Everything but |w|^2 is homogeneous: the best length along the master's direction is known, and its value.
        scores = phi @ values["w"] - sizes * (adversary(-values["w"]).value / unit)
        offset = quantile_interval(scores, nu).used
        gain = offset - float(np.maximum(offset - scores, 0.0).mean()) / nu
        squared = float(values["w"] @ values["w"])
        length = max(gain, 0.0) / squared if squared > 0 else 0.0
        return -gain * length / 2, {"w": length * values["w"]}

    def cuts(members: list[Array]) -> list[Any]:
        return [-(np.array(members) / unit) @ w <= t]

    found = cutting_planes(
        cp.sum_squares(w) / 2 + price * cp.sum(xi) - rho,
        {"w": w},
        [Robust(lambda values: adversary(-values["w"]).member, cuts)],
        repair,
        constraints=[phi @ w - sizes * t >= rho - xi],
        seeds=[[adversary(sign * phi.mean(axis=0)).member for sign in (-1.0, 1.0)]],
        tolerance=1e-10,
    )
    normal = unit * found.values["w"]
    return _solution(features, around, normal, adversary(-normal).value, nu, sizes, "cutting planes", found.rounds)


def _one_size(features: FeatureMap, scales: Any = None) -> str | None:
    return None if float(np.ptp(_scales(scales, features.n))) == 0 else "the points are not all equally uncertain"


@METHOD.node(
    "nearest_sum",
    source="the dual of 8.6 and 8.7 for every position: equations 8.13 to 8.15 with a member of the set",
    latex=(
        r"\min_{\alpha,u}\ \tfrac12\Bigl\|\sum_i\alpha_ix_i+su\Bigr\|^2"
        r"\quad\text{s.t.}\quad u\in\mathcal U,\ 0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1"
    ),
    condition=_one_size,
)
def nearest_sum(
    features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any = None
) -> Formulation:
    """Reduced hull plus set: the point of their sum that is nearest to the origin, by the membership alone."""
    nu, sizes = Tunable("outlier_fraction", outlier_fraction, outlier_share), _scales(scales, features.n)
    around = _centred(features, uncertainty)
    unit = _unit(features, around, nu.value, sizes)
    phi = np.asarray(features.training) / unit
    u, w = cp.Variable(features.dimension), cp.Variable(phi.shape[1])
    price = slack_price(nu, equal := sample_shares(None, features.n))
    letter = multipliers(phi, nu.value, equal)
    alpha = letter.expression
    # The membership as arrays in a scale of its own: in the units of the data a radius of 1e-8 is near a solver's tolerance.
    member, held = membership_of(around).multiple(1.0)
    constraints = [
        w == phi.T @ alpha + float(sizes[0]) * u,
        u == member / unit,
        alpha <= price * equal,
        cp.sum(alpha) == 1,
        *held,
    ]
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), constraints),
        {"alpha": letter, "u": Quantity(u, unit), "w": Quantity(w, unit)},
        objective_unit=unit**2,
        read=lambda values: _reading(
            features,
            around,
            values["w"],
            -float(values["w"] @ values["u"]),
            nu.value,
            sizes,
            unit,
            beyond_boundary(values["alpha"], price.value * equal),
        ),
        tunables={"outlier_fraction": nu},
    )


def _round(features: FeatureMap, uncertainty: PointSet | None, scales: Any = None) -> str | None:
    around = _centred(features, uncertainty)
    if not (has_members_of(around, NormBall) and around.p == 2 and not around.center.any()):
        return f"{uncertainty!r} is no Euclidean ball around zero"
    return _one_size(features, scales)


@METHOD.node(
    "shrunk",
    kind="closed form",
    source="equations 8.6 and 8.7 for every position in a Euclidean ball",
    latex=r"w=\Bigl(1-\frac{sr}{\|w_0\|}\Bigr)_+w_0",
    condition=_round,
)
def shrunk(features: FeatureMap, outlier_fraction: float, uncertainty: PointSet | None, scales: Any = None) -> Solution:
    """A Euclidean ball of radius r turns nothing: the machine's own w_0, shorter by r."""
    nu, sizes = outlier_share(outlier_fraction, "outlier_fraction"), _scales(scales, features.n)
    around = _centred(features, uncertainty)
    found = nearest(span_gram(features), 1 / (nu * features.n))
    normal = np.asarray(features.training).T @ found.multipliers
    length = float(np.linalg.norm(normal))
    left = max(length - float(sizes[0]) * around.radius, 0.0)
    normal = normal * (left / length if length > 0 else 0.0)
    return _solution(
        features, around, normal, around.radius * left, nu, sizes, "closed form, from SMO", found.iterations
    )


# -- the arrows --------------------------------------------------------------------------------------------------------


def _letters(solution: Solution) -> dict[str, Any]:
    return {name: solution.values[name] for name in ("w", "xi", "rho", "t")}


METHOD.step(
    "semi_infinite",
    "robust",
    known=one_class_svm.known_scores,
    claim="a constraint for every position is one constraint with the support function of the set",
    equation="equation 8.7 for every position",
    reference="adversary",
    bound="<=",
    values=_letters,
)
METHOD.step(
    "derived_counterpart",
    "robust",
    known=one_class_svm.known_scores,
    claim="the set's closed-form support is what conic duality derives from its membership",
    equation="equation 8.7 for every position",
    reference="formulation",
    bound="<=",
    condition=derived_twice,
)
METHOD.step(
    "nearest_sum",
    "robust",
    known=one_class_svm.known_scores,
    claim="the primal's optimum is minus half the squared distance of the origin from the sum of reduced hull and set",
    equation="equations 8.9 to 8.15 for every position",
    reference="formulation",
    bound="<=",
    objective=lambda value: -value,
)
METHOD.step(
    "shrunk",
    "robust",
    known=one_class_svm.known_scores,
    claim="a Euclidean ball shortens w by its radius and turns nothing",
    equation="equation 8.7 for every position",
    reference="closed form",
    values=_letters,
)


@METHOD.property("robust nu-property", source="proposition 8.3 for the worst positions")
def nu_property(
    solution: Solution,
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: PointSet | None,
    scales: Any = None,
) -> list[Claim]:
    """Points that some member of the set moves outside are at most the fraction nu; the objective is -|w|^2 / 2."""
    region = solution.region
    if not isinstance(region, HalfSpace) or "rho" not in solution.values or math.isnan(solution.objective):
        return []
    sizes = _scales(scales, features.n)
    member = worst_member(_centred(features, uncertainty), -region.normal)
    moved = np.asarray(features.training) + sizes[:, None] * member
    values = region.decision_values(moved)
    scale = max(float(np.abs(values).max()), abs(region.offset), np.finfo(float).tiny)
    squared = float(region.normal @ region.normal)
    return [
        Claim(
            "points that can be moved outside are at most the fraction nu",
            float((values < -1e-6 * scale).mean()),
            outlier_fraction,
            "<=",
            1e-9,
            kind="adversary",
            source="proposition 8.3",
            because="a count, so exact up to rounding",
        ),
        Claim(
            "the optimum is -|w|^2 / 2, since all but |w|^2 is homogeneous",
            solution.objective / features.middle**2,
            -squared / 2 / features.middle**2,
            source="equation 8.41 for every position",
        ),
    ]


def _instance(
    name: str, features: FeatureMap, nu: float, uncertainty: PointSet | None, probe: Any, scales: Any = None
) -> Instance:
    arguments = {"features": features, "outlier_fraction": nu, "uncertainty": uncertainty, "scales": scales}
    return Instance(name, arguments, features.coordinates(probe))


@METHOD.instance("digits, gaussian kernel, a ball in feature space")
def digits() -> Instance:
    """Images of one digit, each known up to a ball around its place in feature space."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(data.nominal[:60], kernels.gaussian(gamma="scale"))
    name = "digits, gaussian kernel, a ball in feature space"
    return _instance(name, features, 0.2, NormBall(2, 0.2), data.novel[:40])


@METHOD.instance("units from 1e-4 to 1e4, unequally uncertain")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart; every third point is exact, and others are known up to a box."""
    data = datasets.badly_scaled(n=40)
    name = "units from 1e-4 to 1e4, unequally uncertain"
    ball = NormBall(math.inf, 500.0)
    return _instance(name, LinearFeatures(data.nominal), 0.2, ball, data.novel, scales=np.arange(40) % 3)


@METHOD.instance("duplicates, fewer points than columns")
def repeated() -> Instance:
    """Every point twice, in more dimensions than there are points, each known up to a cross-polytope."""
    data = datasets.wide(n=8, dimension=12)
    features = LinearFeatures(np.repeat(data.nominal, 2, axis=0))
    return _instance("duplicates, fewer points than columns", features, 0.3, NormBall(1, 1.0), data.novel)


@METHOD.swap
def around(uncertainty: PointSet) -> Instance:
    """Two dozen points away from the origin, correlated and with signs, for any set."""
    p = uncertainty.size or 3
    rng = np.random.default_rng(11)
    mean = 4.0 * (-1.0) ** np.arange(p) + np.arange(p)
    points = mean + rng.standard_normal((24, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p)))
    features = LinearFeatures(points)
    arguments = {"features": features, "outlier_fraction": 0.2, "uncertainty": uncertainty, "scales": None}
    return Instance(f"{uncertainty!r}", arguments)
