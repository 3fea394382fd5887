r"""The single-class minimax probability machine: a half-space that holds a given share of every distribution.

Lanckriet, El Ghaoui and Jordan (2003), section 3. The paper's :math:`\alpha` is ``confidence`` here, :math:`\nu` and
:math:`\rho` are the radii of a mean ellipsoid and of a covariance ball, and the half-space is :math:`a'z \ge 1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg

from convexnovelty import datasets, kernels, tails
from convexnovelty._lazy import cp
from convexnovelty.algorithms.cutting_planes import Robust, cutting_planes, deviations
from convexnovelty.algorithms.kernel_ridge import DENSE, RidgeSolution
from convexnovelty.algorithms.kernel_ridge import kernel_ridge as ridge_system
from convexnovelty.chance import family
from convexnovelty.conic import ConicProgram
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.direct import minimum
from convexnovelty.errors import InfeasibleError, InputError, SolverError
from convexnovelty.extremal import largest_beyond, varies_in_any_units
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable
from convexnovelty.frames import Frame
from convexnovelty.metric_frame import ridge_of, worst_factor
from convexnovelty.moments import Moments
from convexnovelty.regions import Guarantee, HalfSpace
from convexnovelty.uncertainty import (
    Adversary,
    MomentSet,
    UncertaintySet,
    as_moment_set,
    attainment,
    derived_twice,
    evaluate_loss,
    worst_deviation,
    worst_loss,
)
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.counterparts import Route
from convexnovelty.uncertainty.exact_mean import ExactMean
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.loewner_interval import LoewnerInterval
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.product import Product
from convexnovelty.uncertainty.spectral_ball import SpectralBall
from convexnovelty.validation import Array, fraction

METHOD = Method(
    "single_class_mpm",
    title="Single-class minimax probability machine",
    source="Lanckriet, El Ghaoui and Jordan (2003)",
    summary="The half-space farthest from the origin that holds a given share of every distribution with these moments.",
    takes="moments",
    showcase=True,
    letters=("A1", "B1", "B2", "B3", "B4", "C2", "C3"),
)

# A Gram matrix rounds at 1e-16 of its largest entry, so that smaller variances than this share of the largest are lost.
GRAM_CONDITION = 1e-9


# Relative accuracy of the largest feasible kappa where bisection has to find it.
EDGE = 1e-6
NEAR = 1e-3  # deviation of the scores, whose level is one, below which a solver leaves a noticeable share of it
FAR = 1e6  # kappa beyond which nobody asks for a limit


# -- what several nodes share --------------------------------------------------------------------------------------------


def _confidence(value: Any, name: str) -> float:
    return fraction(value, name, zero=True)


def _centred(uncertainty: UncertaintySet | None, moments: Moments) -> MomentSet:
    if not isinstance(moments, Moments):
        raise InputError(
            f"moments: {type(moments).__name__} was found; give cn.Moments, for example cn.Moments.estimate(features.training)"
        )
    centred: MomentSet = as_moment_set(uncertainty).centred(moments)
    return centred


def _guarantee(uncertainty: UncertaintySet | None, tail: tails.Tail, confidence: float, *moments: Moments) -> Guarantee:
    claim = family(tail, uncertainty is None, repr(uncertainty), *moments)
    return Guarantee(f"P(outside) <= {1 - confidence:.6g} for {claim}", bound=1 - confidence)


def _reading(
    a: Array,
    deviation: float,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail,
    confidence: float,
    *moments: Moments,
) -> Reading:
    """The half-space of a normal, of which the nominal ``deviation`` of the scores is the scale: they may all be near to one."""
    return Reading(HalfSpace(a, 1.0, scale=deviation), _guarantee(uncertainty, tail, confidence, *moments))


def _at_the_bound(a: Array, uncertainty: UncertaintySet | None, moments: Moments, kappa: float) -> Array:
    """A solver's normal at the length at which the chance constraint just holds, where that is next to nothing of it.

    Far from the origin all scores are near to one, which is what a solver knows them to a share of.
    """
    if _deviation(moments, a) > NEAR:
        return a
    try:
        margin = -evaluate_loss(_centred(uncertainty, moments), -a, kappa, "closed")
    except InputError:  # no closed form: a derived one would be known no better
        return a
    return a / margin if margin > 0 else a


def _deviation(moments: Moments, a: Array) -> float:
    """The nominal deviation of the scores a'z."""
    return float(np.sqrt(max(float(a @ moments.multiply(a)), 0.0)))


def _solution(
    a: Array,
    objective: float,
    moments: Moments,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail,
    confidence: float,
    how: str,
    **more: Any,
) -> Solution:
    reading = _reading(a, _deviation(moments, a), uncertainty, tail, confidence, moments)
    return Solution(objective, {"a": a, "u": objective, **more}, reading.region, reading.guarantee, solver=how)


def _refused(tail: tails.Tail, confidence: float, kappa_limit: float) -> InfeasibleError:
    if kappa_limit <= 0:
        return InfeasibleError(
            "confidence: no confidence is feasible, since no half-space that leaves out the origin holds every mean of the set; "
            "use a smaller uncertainty set or move the origin away from the data",
            limit=None,
        )
    limit = tail.confidence(kappa_limit)
    return InfeasibleError(
        f"confidence: {confidence:.12g} was found, which is not feasible: the largest feasible confidence is {limit:.12g} "
        f"(exclusive), where kappa reaches {kappa_limit:.12g}",
        limit=limit,
    )


def _ellipsoidal(uncertainty: UncertaintySet | None, moments: Moments, kappa: float) -> tuple[float, Array] | None:
    """The multiplier kappa + nu and the worst covariance, where the counterpart has the form of equation 9."""
    found = _centred(uncertainty, moments).ellipsoidal(kappa)
    return None if found is None else (float(found[0]), found[1])


def _not_ellipsoidal(moments: Moments, uncertainty: UncertaintySet | None = None) -> str | None:
    if _ellipsoidal(uncertainty, moments, 1.0) is None:
        return f"{uncertainty!r} names no worst covariance that serves every direction (ellipsoidal), so the optimum has no closed form"
    return None


def _regularisation(moments: Moments, uncertainty: UncertaintySet | None) -> float | None:
    """The paper's rho, where the worst covariance is S + rho I; None where it is another matrix."""
    found = _ellipsoidal(uncertainty, moments, 1.0)
    if found is None:
        return None
    added = found[1] - moments.covariance
    rho = float(np.trace(added)) / moments.dimension
    isotropic = np.abs(added - rho * np.eye(moments.dimension)).max() <= 1e-12 * max(
        np.abs(found[1]).max(), moments.unit**2
    )
    return max(rho, 0.0) if isotropic else None


def _not_regularised(features: FeatureMap, moments: Moments, uncertainty: UncertaintySet | None = None) -> str | None:
    if moments.dimension != features.dimension or not np.allclose(
        moments.mean, np.asarray(features.training).mean(axis=0), rtol=1e-9, atol=0
    ):
        return "the moments are not the sample's own, which the expansion in the sample presumes"
    spread = moments.eigen[0]
    if _regularisation(moments, uncertainty) == 0 and spread[-1] < GRAM_CONDITION * spread[0]:
        return f"the covariance's eigenvalues reach from {spread[0]:.0e} down to {spread[-1]:.0e}, which a Gram matrix in double precision does not hold"
    return (
        None
        if _regularisation(moments, uncertainty) is not None
        else f"the worst covariance over {uncertainty!r} is not S + rho I"
    )


def _not_ridge(features: FeatureMap, moments: Moments, uncertainty: UncertaintySet | None = None) -> str | None:
    refusal = _not_regularised(features, moments, uncertainty)
    if refusal is None and not _regularisation(moments, uncertainty):
        return "without a covariance radius there is no ridge"
    return refusal


# -- the program ---------------------------------------------------------------------------------------------------------


def single_class_mpm(
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> Formulation:
    r"""The robust single-class minimax probability machine with any uncertainty set and any tail.

    Parameters
    ----------
    moments : nominal mean and covariance of the ordinary points, in any coordinates.
    confidence : the paper's alpha in [0, 1): the share of every distribution that the half-space must hold.
    uncertainty : a set of means, of covariances, or of both; None takes the moments as exact.
    tail : what is known of the distributions besides their moments; Chebyshev (nothing) by default.

    Returns
    -------
    A formulation whose ``confidence`` and radii can be set without compiling again. Its region is
    :math:`\{z : a'z \ge 1\}`, its objective the worst-case standard deviation :math:`\sup\sqrt{a'Sa}`.

    Raises
    ------
    InfeasibleError : on solving, with the largest feasible confidence.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> problem = cn.single_class_mpm(cn.Moments([3.0, 4.0], np.eye(2)), confidence=0.96)
    >>> round(problem.solve().objective, 6)
    9.898979
    """
    return socp(moments, confidence, uncertainty, tail)


@METHOD.node(
    "socp",
    source="equation 11",
    latex=r"\min_a\ \sup_{S}\sqrt{a'Sa}\quad\text{s.t.}\quad\inf_{(m,S)}\ a'm-\kappa(\alpha)\sqrt{a'Sa}\ \ge\ 1",
)
def socp(
    moments: Moments, confidence: float, uncertainty: UncertaintySet | None = None, tail: tails.Tail | None = None
) -> Formulation:
    """The robust counterpart: with the paper's set, (kappa + nu) sqrt(a'(S + rho I)a) <= a'm - 1."""
    return _program(moments, confidence, uncertainty, tail, route=None)


@METHOD.node(
    "derived_counterpart",
    source="equation 10, by conic duality of the membership constraints",
    latex=(
        r"\sup_{(m,S)\in\mathcal U}m'a+\kappa\sqrt{a'Sa}=\min_{M,s}\ \sigma_{\mathcal U}(a,\tfrac\kappa2M)+\tfrac\kappa2s"
        r"\quad\text{s.t.}\quad\begin{pmatrix}M&a\\a'&s\end{pmatrix}\succeq0"
    ),
    condition=lambda moments: (
        None
        if moments.dimension <= 12
        else f"the matrix inequality of dimension {moments.dimension} is left to smaller instances"
    ),
)
def derived_counterpart(
    moments: Moments, confidence: float, uncertainty: UncertaintySet | None = None, tail: tails.Tail | None = None
) -> Formulation:
    """The same program with a counterpart that is derived from the set's membership alone."""
    return _program(moments, confidence, uncertainty, tail, route="derived")


def _program(
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail | None,
    *,
    route: Route,
) -> Formulation:
    tail = tails.as_tail(tail)
    alpha = Tunable("confidence", confidence, _confidence)
    kappa = alpha.parameter(tail.kappa, nonneg=True)
    recipe = as_moment_set(uncertainty)
    nominal = _centred(uncertainty, moments)
    spread = nominal.ellipsoidal(1.0)
    frame = Frame.of(
        moments, rotate=recipe.rotation_invariant, spread=_least_added(spread, moments), uncertainty=nominal
    )
    robust = recipe.tunable().centred(frame.moments)

    a = frame.direction(unit := frame.length())
    u = cp.Variable(name="u")
    deviation = worst_deviation(robust, frame.posed(a), route=route)
    # A closed form is as short as the letter for it.
    loss = worst_loss(robust, -frame.posed(a), kappa, route=route, spread=u if deviation.constraints else None)
    constraints = [
        deviation.value <= u,
        unit * loss.value + 1 <= 0,
        *deviation.constraints,
        *loss.constraints,
        *(wall.constraint for wall in a.within),
    ]

    def read(values: Any) -> Reading:
        now = None if uncertainty is None else _renumbered(uncertainty, robust)
        a = _at_the_bound(values["a"], now, moments, tail.kappa(alpha.value))
        return _reading(a, _deviation(moments, a), now, tail, alpha.value, moments)

    def limit() -> float:
        return _kappa_limit(moments, uncertainty, robust.numbers())

    def suspect() -> InfeasibleError | None:
        largest = limit()
        return _refused(tail, alpha.value, largest) if tail.kappa(alpha.value) >= largest * (1 - EDGE) else None

    def admissible() -> None:
        now = _renumbered(recipe, robust)
        found = _centred(now, moments).ellipsoidal(tail.kappa(alpha.value))
        if found is not None and _reaches(float(found[0]), _zeta(moments, found[1], now)):
            raise _refused(tail, alpha.value, _edge(now, moments, tail.kappa(alpha.value)))

    return Formulation(
        cp.Problem(cp.Minimize(u), constraints),
        {"a": a, "u": Quantity(u, unit)},
        objective_unit=unit,
        read=read,
        composed=read,  # the chance constraint holds at every feasible point
        tunables={"confidence": alpha, **robust.tunables()},
        admissible=admissible,
        diagnose=suspect,
        suspect=suspect,
    )


def _renumbered(recipe: Any, robust: MomentSet) -> Any:
    """The recipe with the numbers that the tunable set has now."""
    return recipe.replaced(**robust.numbers()) if robust.numbers() else recipe


def _least_added(found: tuple[Any, Array] | None, moments: Moments) -> float:
    """A variance that the set adds in every direction, to scale the program by."""
    if found is None:
        return 0.0
    return max(0.0, float(np.linalg.eigvalsh(found[1] - moments.covariance)[0]))


def _zeta(moments: Moments, covariance: Array, uncertainty: UncertaintySet | None) -> float:
    """The paper's zeta = sqrt(m'C^{-1}m); infinite when the mean has a component outside the range of C."""
    direction, exact = _direction(moments, covariance, uncertainty)
    return float("inf") if exact else float(np.sqrt(max(float(moments.mean @ direction), 0.0)))


def _edge(uncertainty: UncertaintySet | None, moments: Moments, beyond: float) -> float:
    """The supremum of feasible kappa in closed form, below one that is not; 0 where none is.

    Kappa stands inside of the counterpart of a joint set: what such a set adds to it depends on it.
    """
    robust = _centred(uncertainty, moments)

    def room(kappa: float) -> float:
        multiplier, covariance = cast(tuple[float, Array], robust.ellipsoidal(kappa))
        return _zeta(moments, covariance, uncertainty) - float(multiplier)

    if room(0.0) <= 0:
        return 0.0
    return float(scipy.optimize.brentq(room, 0.0, beyond, xtol=1e-15, rtol=1e-14)) if room(beyond) < 0 else beyond


def _reaches(multiplier: float, zeta: float) -> bool:
    """Whether kappa + nu is at or beyond zeta; what rounding left of their difference does not count as room."""
    return multiplier >= zeta * (1 - 1e-13)


def _direction(moments: Moments, covariance: Array, uncertainty: UncertaintySet | None) -> tuple[Array, bool]:
    """C^{-1} m on the range of C; or, where the mean leaves that range, a direction without variance and True."""
    mean, recipe, rows = moments.mean, as_moment_set(uncertainty), None
    if moments.representation == "dense":
        nominal = np.array_equal(covariance, moments.covariance)
    else:
        nominal = ridge_of(recipe) == 0
        rows = None if nominal else worst_factor(moments, recipe)
    # The nominal covariance keeps its own factor: its entries know variances to rounding of the largest one only.
    worst = moments if nominal else Moments(mean, covariance) if rows is None else Moments.low_rank(mean, rows)
    outside = worst.null_direction(mean)
    return (worst.solve(mean), False) if outside is None else (outside, True)


def _kappa_limit(moments: Moments, uncertainty: UncertaintySet | None, numbers: dict[str, float]) -> float:
    """The supremum of feasible kappa: the largest robust margin of a direction with the worst deviation one, or where kappa
    stands inside of the counterpart of a joint set, bisection on whether there is any."""
    recipe = as_moment_set(uncertainty)
    recipe = recipe.replaced(**numbers) if numbers else recipe
    robust = recipe.centred(moments)
    frame = Frame.of(moments, rotate=recipe.rotation_invariant)
    a = frame.direction()
    kappa, u = cp.Parameter(nonneg=True, value=0.0), cp.Variable()
    deviation = worst_deviation(robust, frame.posed(a))
    loss = worst_loss(robust, -frame.posed(a), kappa, spread=u if deviation.constraints else None)
    bounded = [deviation.value <= u, u <= 1, cp.norm(a.variable) <= 1e6]
    problem = cp.Problem(cp.Minimize(loss.value), [*bounded, *loss.constraints, *deviation.constraints])

    def margin(value: float) -> float:
        kappa.value = value
        found = minimum(ConicProgram.from_problem(problem))
        if found is None:
            raise SolverError(f"confidence: the largest feasible one was not found (at kappa = {value:.6g})", "failed")
        return -found

    low, high = 0.0, margin(0.0)
    if high <= 1e-9:
        return 0.0
    if has_members_of(robust, Product) and robust.separate:
        return high
    while high < FAR and margin(high) > 1e-9 * high:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if margin(middle) > 1e-9 else (low, middle)
        if high - low <= 1e-9 * high:
            break
    return low


# -- its equivalents -----------------------------------------------------------------------------------------------------


@METHOD.node(
    "closed_form",
    kind="closed form",
    source="equation 14",
    latex=r"a_*=\frac{(S+\rho I)^{-1}m}{\zeta^2-(\kappa(\alpha)+\nu)\zeta},\quad\zeta=\sqrt{m'(S+\rho I)^{-1}m}",
    condition=_not_ellipsoidal,
)
def closed_form(
    moments: Moments, confidence: float, uncertainty: UncertaintySet | None = None, tail: tails.Tail | None = None
) -> Solution:
    """The optimum for sets with one worst covariance; feasible if and only if kappa + nu < zeta, strictly."""
    tail = tails.as_tail(tail)
    alpha = _confidence(confidence, "confidence")
    found = _ellipsoidal(uncertainty, moments, tail.kappa(alpha))
    if found is None:
        raise InputError(f"uncertainty: {uncertainty!r} has no closed form; use the program")
    multiplier, covariance = found
    direction, exact = _direction(moments, covariance, uncertainty)
    if exact:
        # A combination of the coordinates that never varies separates for certain: the optimum is zero at every confidence.
        return _solution(direction / (moments.mean @ direction), 0.0, moments, uncertainty, tail, alpha, "closed form")
    zeta = float(np.sqrt(max(float(moments.mean @ direction), 0.0)))
    if _reaches(multiplier, zeta):
        raise _refused(tail, alpha, _edge(uncertainty, moments, tail.kappa(alpha)))
    scale = zeta**2 - multiplier * zeta
    return _solution(direction / scale, zeta / scale, moments, uncertainty, tail, alpha, "closed form")


@METHOD.node(
    "semi_infinite",
    kind="algorithm",
    source="equation 10",
    latex=r"\max_{a\ne0}\min_{(m,S)\in\mathcal X}\frac1{\sqrt{a'Sa}}\quad\text{s.t.}\quad\inf_{y\sim(m,S)}P\{a'y\ge1\}\ge\alpha\quad\forall(m,S)\in\mathcal X",
    condition=lambda moments: (
        None
        if moments.dimension <= 12
        else f"cutting planes in dimension {moments.dimension} are left to smaller instances"
    ),
)
def semi_infinite(
    moments: Moments, confidence: float, uncertainty: UncertaintySet | None = None, tail: tails.Tail | None = None
) -> Solution:
    """The semi-infinite program by adversarial cutting planes: the set is met only through its membership."""
    tail = tails.as_tail(tail)
    alpha = _confidence(confidence, "confidence")
    kappa = tail.kappa(alpha)
    robust = _centred(uncertainty, moments)
    adversary = Adversary(robust)
    frame = Frame.of(moments, rotate=False)
    a = frame.direction(unit := frame.length())
    u, posed, whole = cp.Variable(name="u"), frame.posed(a), np.eye(moments.dimension)

    def loss_cuts(members: list[tuple[Array, Array]]) -> list[Any]:
        means, covariances = np.array([mean for mean, _ in members]), [S for _, S in members]
        return [deviations(covariances, unit * kappa * whole, posed, unit * means @ posed - 1)]

    def deviation_cuts(members: list[tuple[Array, Array]]) -> list[Any]:
        return [deviations([S for _, S in members], whole, posed, cp.hstack([u] * len(members)))]

    def repair(values: Any) -> tuple[float, Any] | None:
        # The program is homogeneous: a direction whose worst loss is negative is feasible at the right length.
        def level(a: Array) -> tuple[float, Any] | None:
            loss = adversary(-a, kappa).value
            return None if loss >= 0 else (adversary.deviation(a).value / -loss / unit, {"a": a / -loss})

        found, seen = level(values["a"]), frame.seen(values["a"])
        if found is None or seen is values["a"]:
            return found
        # Where no member sees more than the nominal moments do, the shortest of the optimal normals is the answer.
        shorter = level(seen)
        return shorter if shorter is not None and shorter[0] <= found[0] * (1 + EDGE) else found

    # The nominal moments need not be a member (a factor model of the covariance is not): the first cut is one.
    first = adversary(-moments.mean / moments.unit**2, kappa).member
    try:
        found = cutting_planes(
            u,
            {"a": a},
            [
                Robust(lambda values: adversary(-values["a"], kappa).member, loss_cuts),
                Robust(lambda values: adversary.deviation(values["a"]).member, deviation_cuts),
            ],
            repair,
            constraints=[u >= 0, *(wall.constraint for wall in a.within)],
            seeds=[[first], [first]],
            tolerance=1e-9,
        )
    except InfeasibleError as error:
        raise _refused(tail, alpha, _kappa_limit(moments, uncertainty, {})) from error
    return _solution(found.values["a"], unit * found.upper, moments, uncertainty, tail, alpha, "cutting planes")


# -- in the expansion coefficients of the sample -------------------------------------------------------------------------


def _expansion(features: FeatureMap) -> tuple[Array, Array, Array]:
    """The paper's K, k and L in units of the features' own size."""
    gram = features.gram / features.unit**2
    mean = gram.mean(axis=0)
    return gram, mean, (gram - mean[None, :]) / np.sqrt(features.n)


def _range(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a Gram-sized matrix on its numerical range: what rounding left is no direction."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-13 * values.size * values[-1]
    return values[kept], vectors[:, kept]


def _outside(vectors: Array, k: Array) -> Array | None:
    """The part of k outside of the span of orthonormal vectors, or None where that is rounding."""
    outside = k - vectors @ (vectors.T @ k)
    return outside if np.linalg.norm(outside) > 1e-9 * np.linalg.norm(k) else None


def _expansion_reading(
    features: FeatureMap, gamma: Array, uncertainty: UncertaintySet | None, tail: tails.Tail, alpha: float
) -> Reading:
    phi = np.asarray(features.training)
    a = phi.T @ gamma
    return _reading(a, float(np.std(phi @ a)), uncertainty, tail, alpha)


def _expanded(
    features: FeatureMap,
    gamma: Array,
    objective: float,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail,
    alpha: float,
    how: str,
) -> Solution:
    reading = _expansion_reading(features, gamma, uncertainty, tail, alpha)
    return Solution(objective, {"gamma": gamma, "u": objective}, reading.region, reading.guarantee, solver=how)


def _kernel_numbers(
    features: FeatureMap,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail | None,
) -> tuple[tails.Tail, float, float, float]:
    """Tail, confidence, nu and rho in the features' unit."""
    tail = tails.as_tail(tail)
    alpha = _confidence(confidence, "confidence")
    rho = _regularisation(moments, uncertainty)
    found = _ellipsoidal(uncertainty, moments, 1.0)
    if rho is None or found is None:
        raise InputError(
            f"uncertainty: the worst covariance over {uncertainty!r} is not S + rho I, which the expansion presumes"
        )
    return tail, alpha, found[0] - 1.0, rho / features.unit**2


@METHOD.node(
    "kernel_socp",
    source="equation 15",
    latex=r"\min_\gamma\ \sqrt{\gamma'(L'L+\rho K)\gamma}\quad\text{s.t.}\quad\gamma'k-1\ge(\kappa(\alpha)+\nu)\sqrt{\gamma'(L'L+\rho K)\gamma}",
    condition=_not_regularised,
)
def kernel_socp(
    features: FeatureMap,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> Formulation:
    """The program in the coefficients of the sample, with K, L and k as the paper prints them."""
    tail, _, nu, rho = _kernel_numbers(features, moments, confidence, uncertainty, tail)
    tunable = Tunable("confidence", confidence, _confidence)
    multiplier = tunable.parameter(lambda value: tail.kappa(value) + nu, nonneg=True)
    gram, k, L = _expansion(features)
    # The cone's matrix is whitened once, gamma = V D y with D = diag(values)^(-1/2): the solver then sees |y| <= u.
    values, vectors = _range(L.T @ L + rho * gram)
    axes, inverse = vectors / np.sqrt(values), (vectors * np.sqrt(values)).T
    if (outside := _outside(vectors, k)) is not None:
        # Coefficients without deviation that tell the mean from the origin are an axis of their own, which the cone does not see.
        axes, inverse = np.column_stack([axes, outside / (k @ outside)]), np.vstack([inverse, outside])
    y, u = cp.Variable(len(inverse), name="gamma"), cp.Variable(name="u")
    gamma = Quantity(y, features.unit**-2, axes, inverse, unseen=True)

    def read(values: Any) -> Reading:
        return _expansion_reading(features, values["gamma"], uncertainty, tail, tunable.value)

    def admissible() -> None:
        found = _ellipsoidal(uncertainty, moments, tail.kappa(tunable.value))
        if found is not None and _reaches(found[0], zeta := _zeta(moments, found[1], uncertainty)):
            raise _refused(tail, tunable.value, zeta - nu)

    return Formulation(
        cp.Problem(cp.Minimize(u), [cp.norm(y[: values.size]) <= u, (k @ axes) @ y - 1 >= multiplier * u]),
        {"gamma": gamma, "u": u},
        read=read,
        composed=read,
        tunables={"confidence": tunable},
        admissible=admissible,
    )


@METHOD.node(
    "kernel_closed_form",
    kind="closed form",
    source="equation 16",
    latex=r"\gamma_*=\frac{(L'L+\rho K)^{-1}k}{\zeta^2-(\kappa(\alpha)+\nu)\zeta},\quad\zeta=\sqrt{k'(L'L+\rho K)^{-1}k}",
    condition=_not_regularised,
)
def kernel_closed_form(
    features: FeatureMap,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> Solution:
    """The optimal coefficients, on the range of L'L + rho K."""
    tail, alpha, nu, rho = _kernel_numbers(features, moments, confidence, uncertainty, tail)
    gram, k, L = _expansion(features)
    values, vectors = _range(L.T @ L + rho * gram)
    along = vectors.T @ k
    if (outside := _outside(vectors, k)) is not None:
        return _expanded(
            features, outside / (k @ outside) / features.unit**2, 0.0, uncertainty, tail, alpha, "closed form"
        )
    return _scaled(features, vectors @ (along / values), k, nu, uncertainty, tail, alpha, "closed form")


def _scaled(
    features: FeatureMap,
    direction: Array,
    k: Array,
    nu: float,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail,
    alpha: float,
    how: str,
    squared: float | None = None,
) -> Solution:
    """A direction proportional to the optimal coefficients, brought to the length of equation 16."""
    zeta = float(np.sqrt(k @ direction if squared is None else squared))
    multiplier = tail.kappa(alpha) + nu
    if _reaches(multiplier, zeta):
        raise _refused(tail, alpha, zeta - nu)
    scale = zeta**2 - multiplier * zeta
    return _expanded(features, direction / scale / features.unit**2, zeta / scale, uncertainty, tail, alpha, how)


def _from_ridge(
    features: FeatureMap,
    g: Array,
    rho: float,
    nu: float,
    uncertainty: UncertaintySet | None,
    tail: tails.Tail,
    alpha: float,
    how: str,
) -> Solution:
    r"""Coefficients from :math:`g = (K + n\rho I)^{-1}1`.

    With :math:`L'L = KK/n - kk'` and :math:`k = K1/n` one has :math:`(L'L+\rho K)g = (1 - k'g)k`, so that
    :math:`(L'L+\rho K)^{-1}k = g/(1-k'g)`; and :math:`1 - k'g = \rho 1'g` without cancellation.
    """
    gap = rho * float(g.sum())
    k = features.gram.mean(axis=0) / features.unit**2
    return _scaled(features, g / gap, k, nu, uncertainty, tail, alpha, how, squared=float(k @ g) / gap)


@METHOD.node(
    "kernel_ridge",
    kind="closed form",
    source="not in the paper: equation 16 with L'L + rho K = K(K/n + rho I) - kk'",
    latex=r"\gamma_*\propto(K+n\rho I)^{-1}\mathbf 1",
    condition=_not_ridge,
)
def kernel_ridge(
    features: FeatureMap,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> Solution:
    """Kernel ridge regression of the constant one: the same coefficients from one well-conditioned system."""
    tail, alpha, nu, rho = _kernel_numbers(features, moments, confidence, uncertainty, tail)
    if rho <= 0:
        raise InputError(f"uncertainty: {_not_ridge(features, moments, uncertainty)}; give one, or use kernel_socp")
    shifted = features.gram / features.unit**2 + features.n * rho * np.eye(features.n)
    g = scipy.linalg.solve(shifted, np.ones(features.n), assume_a="pos")
    return _from_ridge(features, g, rho, nu, uncertainty, tail, alpha, "closed form")


@METHOD.node(
    "kernel_iterative",
    kind="algorithm",
    source="section 3, last paragraph: solve the system iteratively",
    latex=r"(K+n\rho I)g=\mathbf 1\ \text{by conjugate gradients}",
    condition=_not_ridge,
)
def kernel_iterative(
    features: FeatureMap,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> Solution:
    """The ridge system by conjugate gradients instead of a factorisation."""
    tail, alpha, nu, rho = _kernel_numbers(features, moments, confidence, uncertainty, tail)
    if rho <= 0:
        raise InputError(f"uncertainty: {_not_ridge(features, moments, uncertainty)}; give one, or use kernel_socp")
    gram = features.gram / features.unit**2
    operator = scipy.sparse.linalg.LinearOperator(
        gram.shape, matvec=lambda v: gram @ v + features.n * rho * v, dtype=float
    )
    g, left = scipy.sparse.linalg.cg(operator, np.ones(features.n), rtol=1e-13, atol=0.0, maxiter=20 * features.n)
    if left > 0 and np.linalg.norm(operator @ g - 1) > 1e-9 * np.sqrt(features.n):
        raise InputError(
            f"uncertainty: rho is too small for conjugate gradients to converge in {20 * features.n} steps; use the closed form"
        )
    return _from_ridge(features, g, rho, nu, uncertainty, tail, alpha, "conjugate gradients")


@dataclass(frozen=True)
class Expansion:
    """The machine in the coefficients of the sample: a'z = sum_i coefficients_i k(x_i, z), accepted from 1 on.

    scores: a'z at the sample, shape (n,). objective: the worst standard deviation u. ridge: what was solved.
    """

    coefficients: Array
    scores: Array
    objective: float
    guarantee: Guarantee
    ridge: RidgeSolution


def constant_ridge(uncertainty: UncertaintySet | None) -> tuple[float, float] | None:
    """nu and rho of a set whose worst case is kappa + nu and S + rho I around any moments; None for all other sets."""
    nu, covariances = 0.0, uncertainty
    if has_members_of(uncertainty, Product):
        if not has_members_of(uncertainty.means, MeanEllipsoid, ExactMean):
            return None
        nu = float(uncertainty.means.radius) if has_members_of(uncertainty.means, MeanEllipsoid) else 0.0
        covariances = uncertainty.covariances
    if type(covariances) not in (FrobeniusBall, SpectralBall):
        return None
    return nu, float(covariances.radius)  # type: ignore[union-attr]


def expansion(
    points: Any,
    kernel: Any,
    confidence: float,
    uncertainty: UncertaintySet,
    tail: tails.Tail | None = None,
    *,
    weights: Any = None,
    tolerance: float = 1e-10,
    seed: int = 0,
    threads: int = 1,
    direct: int = DENSE,
) -> Expansion:
    r"""The machine of any number of points in a kernel's feature space, without a Gram matrix.

    .. math:: \gamma_* \propto (K + n\rho I)^{-1}\mathbf 1

    Parameters
    ----------
    points, kernel : (n, p) points and a kernel; only products with the Gram matrix are formed.
    confidence, tail : as for :func:`single_class_mpm`.
    uncertainty : a Frobenius or spectral ball, alone or beside a mean ellipsoid (see :func:`constant_ridge`).
    weights, tolerance, seed, threads, direct : as for :func:`convexnovelty.algorithms.kernel_ridge.kernel_ridge`.

    Raises
    ------
    InputError for another set or a radius of zero, InfeasibleError with the largest feasible confidence, SolverError
    where conjugate gradients end above the tolerance.
    """
    tail, alpha, found = tails.as_tail(tail), _confidence(confidence, "confidence"), constant_ridge(uncertainty)
    if found is None or not found[1]:
        raise InputError(
            f"uncertainty: {uncertainty!r} was found; give a FrobeniusBall with a radius above zero, alone or as "
            "MeanEllipsoid(nu) * FrobeniusBall(rho), or use the closed form of the moments"
        )
    nu, rho = found
    ridge = ridge_system(
        points, kernel, rho, weights=weights, tolerance=tolerance, seed=seed, threads=threads, direct=direct
    )
    multiplier = tail.kappa(alpha) + nu
    if _reaches(multiplier, ridge.zeta):
        raise _refused(tail, alpha, ridge.zeta - nu)
    scale = ridge.scale(multiplier)
    objective = 1 / (ridge.zeta - multiplier)
    guarantee = _guarantee(uncertainty, tail, alpha)
    return Expansion(scale * ridge.coefficients, scale * ridge.scores, objective, guarantee, ridge)


@METHOD.node(
    "kernel_preconditioned",
    kind="algorithm",
    source="not in the paper: conjugate gradients with a randomly pivoted Cholesky factor F",
    latex=r"(K+n\rho I)g=\mathbf 1\ \text{by conjugate gradients in the metric of}\ FF'+n\rho I,\quad FF'\approx K",
    condition=lambda features, moments, uncertainty=None: (
        _not_ridge(features, moments, uncertainty)
        or (None if constant_ridge(uncertainty) else f"{uncertainty!r} has other worst cases around other moments")
    ),
)
def kernel_preconditioned(
    features: FeatureMap,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> Solution:
    """The ridge system without a Gram matrix, as it is solved for large samples."""
    tail, alpha, _, _ = _kernel_numbers(features, moments, confidence, uncertainty, tail)
    if uncertainty is None:
        raise InputError("uncertainty: None was found; the ridge system needs a radius of the covariance")
    found = expansion(features.points, features.kernel, alpha, uncertainty, tail, tolerance=1e-12, direct=0)
    return _expanded(
        features, found.coefficients, found.objective, uncertainty, tail, alpha, "preconditioned conjugate gradients"
    )


# -- the arrows ----------------------------------------------------------------------------------------------------------

CERTAIN = "the optimum is zero: no member varies along the normal, whose multiples separate as well"

METHOD.step(
    "semi_infinite",
    "socp",
    claim="the chance constraint for every member of the set is one cone constraint",
    equation="equations 1, 6 to 9 and 11",
    reference="adversary",
    bound="<=",
    tolerance=1e-6,
    # The bounds of the cutting planes meet to 1e-9, or to 1e-7 where the master can be solved no further; the direction
    # is known to about the root of that.
    decision_tolerance=4e-4,
    at_zero=CERTAIN,
)
METHOD.step(
    "derived_counterpart",
    "socp",
    claim="the set's closed-form counterpart is what conic duality derives from its membership",
    equation="equations 6 to 9",
    reference="formulation",
    bound="<=",
    condition=derived_twice,
    tolerance=1e-6,
    # A matrix inequality is solved to 1e-8 at worst (the last rung of the solver's ladder), its direction to the root of
    # that, 1e-4, times the condition of the covariance's root, which is below 5 on these instances.
    decision_tolerance=5e-4,
    at_zero=CERTAIN,
)
METHOD.step(
    "closed_form",
    "socp",
    claim="the optimal direction is (S + rho I)^-1 m",
    equation="equations 12 to 14",
    reference="closed form",
    tolerance=1e-7,
    at_zero=CERTAIN,
)
METHOD.step(
    "kernel_socp",
    "socp",
    claim="the optimal direction lies in the span of the sample: a = sum of gamma_i phi(x_i)",
    equation="equation 15",
    reference="formulation",
    tolerance=1e-6,
    at_zero=CERTAIN,
)
METHOD.step(
    "kernel_closed_form",
    "kernel_socp",
    claim="the optimal coefficients are (L'L + rho K)^-1 k",
    equation="equation 16",
    reference="closed form",
    tolerance=1e-7,
    values=lambda solution: {"gamma": solution.values["gamma"], "u": solution.values["u"]},
    at_zero=CERTAIN,
)
METHOD.step(
    "kernel_ridge",
    "kernel_closed_form",
    claim="the coefficients are those of kernel ridge regression of the constant one",
    equation="equation 16 with L'L + rho K = K(K/n + rho I) - kk'",
    reference="closed form",
    tolerance=1e-7,
    at_zero=CERTAIN,
)
METHOD.step(
    "kernel_iterative",
    "kernel_ridge",
    claim="conjugate gradients reach the solution of the factorised system",
    equation="section 3, last paragraph",
    reference="algorithm",
    tolerance=1e-7,
    at_zero=CERTAIN,
)
METHOD.step(
    "kernel_preconditioned",
    "kernel_ridge",
    claim="products with a Gram matrix that is never stored, and a preconditioner from drawn columns, reach it too",
    equation="equation 16 with L'L + rho K = K(K/n + rho I) - kk'",
    reference="algorithm",
    tolerance=1e-7,
    at_zero=CERTAIN,
)


@METHOD.property("attained bound", source="equation 1 (A1)")
def attained(
    solution: Solution,
    moments: Moments,
    confidence: float,
    uncertainty: UncertaintySet | None = None,
    tail: tails.Tail | None = None,
) -> list[Claim]:
    """The extremal distribution with the worst moments leaves exactly 1 - alpha outside the half-space."""
    region = solution.region
    if (
        not isinstance(tails.as_tail(tail), tails.Chebyshev)
        or not isinstance(region, HalfSpace)
        or moments.dimension > 12
        or solution.objective == 0
    ):
        return []
    mean, covariance = Adversary(_centred(uncertainty, moments))(
        -region.normal, tails.as_tail(tail).kappa(confidence)
    ).member
    if not varies_in_any_units(covariance, region.normal):
        return []  # all of every member lies where its mean does, inside
    return [
        Claim(
            "the bound is attained by a distribution of the set",
            largest_beyond(mean, covariance, -region.normal, -region.offset),
            1 - confidence,
            attainment(uncertainty),
            tolerance=1e-5,
            kind="adversary",
            source="equation 1",
            because="the solver's accuracy in the constraint, through the derivative of the bound",
        )
    ]


def _instance(
    name: str, features: FeatureMap, confidence: float, uncertainty: UncertaintySet | None, probe: Any
) -> Instance:
    moments = Moments.estimate(features.training)
    arguments = {
        "features": features,
        "moments": moments,
        "confidence": confidence,
        "uncertainty": uncertainty,
        "tail": tails.Chebyshev(),
    }
    return Instance(name, arguments, features.coordinates(probe))


@METHOD.instance("blob, linear, the paper's set")
def blob() -> Instance:
    """Three dimensions, mean ellipsoid and Frobenius ball."""
    data = datasets.blob(n=60, dimension=3)
    return _instance(
        "blob, linear, the paper's set",
        LinearFeatures(data.nominal),
        0.8,
        MeanEllipsoid(0.1) * FrobeniusBall(0.3),
        data.novel,
    )


@METHOD.instance("digits, gaussian kernel")
def digits() -> Instance:
    """Images of one digit in the feature space of a Gaussian kernel."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(data.nominal[:80], kernels.gaussian(gamma="scale"))
    return _instance(
        "digits, gaussian kernel", features, 0.7, MeanEllipsoid(0.05) * FrobeniusBall(0.01), data.novel[:60]
    )


@METHOD.instance("breast cancer, linear")
def breast_cancer() -> Instance:
    """Thirty features that span six orders of magnitude, and exact moments."""
    data = datasets.breast_cancer()
    return _instance("breast cancer, linear", LinearFeatures(data.nominal), 0.9, None, data.novel[:60])


@METHOD.instance("units from 1e-4 to 1e4")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart; an interval in proportion to the covariance keeps all of them in play."""
    data = datasets.badly_scaled()
    uncertainty = MeanEllipsoid(0.1) * LoewnerInterval(0.2, shape="nominal")
    return _instance("units from 1e-4 to 1e4", LinearFeatures(data.nominal), 0.6, uncertainty, data.novel)


@METHOD.instance("more features than points")
def wide() -> Instance:
    """Fewer points than features: the covariance is singular and the radius makes the problem well posed."""
    data = datasets.wide()
    features = LinearFeatures(data.nominal)
    rho = 0.05 * features.unit**2 / features.dimension
    return _instance("more features than points", features, 0.6, FrobeniusBall(rho), data.novel)


@METHOD.swap
def around(uncertainty: UncertaintySet) -> Instance:
    """Three dimensions, signed and correlated, for any set."""
    rng = np.random.default_rng(7)
    mixing = np.array([[1.0, 0.4, 0.0], [0.0, 0.8, -0.3], [0.2, 0.0, 0.6]])
    points = np.array([4.0, -3.0, 5.0]) + rng.standard_normal((80, 3)) @ mixing
    moments = Moments.estimate(points)
    arguments = {"moments": moments, "confidence": 0.7, "uncertainty": uncertainty, "tail": tails.Chebyshev()}
    return Instance(f"{uncertainty!r}", arguments)
