"""What every method calls: the counterpart of a worst case, by the closed form of its class or derived."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Literal

import numpy as np

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.cones import smat
from convexnovelty.conic import ConicProgram
from convexnovelty.direct import minimum
from convexnovelty.errors import ConvexNoveltyError, InputError, SolverError
from convexnovelty.membership import Counterpart, as_counterpart
from convexnovelty.uncertainty.algebra import elsewhere
from convexnovelty.uncertainty.arguments import along, known_set
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet, has_members_of
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.uncertainty.constructed import beside
from convexnovelty.uncertainty.derived import derived_deviation, derived_loss, derived_support, membership_of
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.exact_mean import ExactMean
from convexnovelty.uncertainty.product import Product, as_moment_set
from convexnovelty.uncertainty.tools import as_expression, unasked
from convexnovelty.validation import Array, nonnegative

__all__ = [
    "derived_twice",
    "evaluate",
    "evaluate_deviation",
    "evaluate_loss",
    "evaluate_support",
    "states_support",
    "support",
    "worst_deviation",
    "worst_loss",
]

ENROLS_NOTHING = "the functions that methods call"

# Shares of a far centre between which what a set adds to it is computed once more in its own size.
LEFT, BESIDE = 1e-12, 1e-2

Route = Literal["best", "closed", "derived"] | None

# Families with a worst loss, and with a support.
MOMENTS, LINEAR = ("mean", "covariance", "moments"), ("mean", "points")


def worst_loss(
    uncertainty: UncertaintySet | None, a: Any, kappa: Any, route: Route = "best", *, spread: Any = None
) -> Counterpart:
    r"""The counterpart of :math:`\sup_{(m,S)\in U} m'a + \kappa\sqrt{a'Sa}`.

    Parameters
    ----------
    uncertainty : a centred set of moments.
    a : any affine CVXPY expression, or an array, of shape (p,).
    kappa : a nonnegative number or CVXPY parameter.
    route : "best" (or None) takes the class's closed form if it has one; "derived" uses the membership alone;
        "closed" refuses to derive.
    spread : what the program holds already that is at least :func:`worst_deviation` in this direction or its opposite. Where
        mean and covariance do not know of each other it serves here too: the same derived again would be half of the program.
    """
    pair, kappa = as_moment_set(uncertainty), _factor(kappa)
    a = as_expression(a, size=pair.dimension)

    def derive() -> Counterpart:
        if (other := elsewhere(pair)) is not None:
            return worst_loss(other[0], other[1].T @ a, kappa, "derived", spread=spread)
        if has_members_of(pair, Product) and not pair.means.uses_covariance:
            # Two small programs instead of one in the product, each in units of its own.
            shift = _in_units(lambda direction: derived_support(pair.means, direction), a, pair.means)
            if spread is not None:
                return Counterpart(shift.value + kappa * spread, shift.constraints)
            beside = worst_deviation(pair, a, route="derived")
            return Counterpart(shift.value + kappa * beside.value, [*shift.constraints, *beside.constraints])
        return _in_units(lambda direction: derived_loss(pair, direction, kappa), a, pair)

    if route == "derived":
        return derive()
    beside = pair.beside(a, kappa, spread) if spread is not None and has_members_of(pair, Product) else None
    return _closed_or(pair, "worst_loss", (a, kappa), route, derive) if beside is None else beside


def worst_deviation(uncertainty: UncertaintySet | None, a: Any, route: Route = "best") -> Counterpart:
    r"""The counterpart of :math:`\sup_{S} \sqrt{a'Sa}` over a set of covariances, or those of a joint set."""
    given = as_moment_set(uncertainty) if not isinstance(uncertainty, CovarianceSet) else uncertainty
    a = as_expression(a, size=given.dimension)
    if route == "derived":
        if has_members_of(given, Product) and not given.means.uses_covariance:
            given = given.covariances

    def derive() -> Counterpart:
        if (other := elsewhere(given)) is not None:
            return worst_deviation(other[0], other[1].T @ a, "derived")
        return _in_units(lambda direction: derived_deviation(given, direction), a, given)

    return derive() if route == "derived" else _closed_or(given, "worst_deviation", (a,), route, derive)


def support(uncertainty: MeanSet | PointSet, w: Any, route: Route = "best") -> Counterpart:
    r"""The counterpart of :math:`\sup_{u\in U} w'u` over a set of points, or of means that stand alone."""
    known_set(uncertainty, *LINEAR)
    if isinstance(uncertainty, PointSet) and uncertainty._center is None:
        w = as_expression(w, "w", uncertainty.size)
        uncertainty = uncertainty.centred(np.zeros(w.size))
    w = as_expression(w, "w", uncertainty.dimension)

    def derive() -> Counterpart:
        return _in_units(lambda direction: derived_support(uncertainty, direction), w, uncertainty)

    return derive() if route == "derived" else _closed_or(uncertainty, "support", (w,), route, derive)


def derived_twice(uncertainty: UncertaintySet | None = None) -> str | None:
    """Why a derived counterpart says nothing new of a set, or None: the class gives none of its own to compare it with."""
    if _has_own(uncertainty):
        return None
    return f"{uncertainty!r} gives no counterpart of its own, so that both sides are derived from its membership"


def states_support(points: UncertaintySet) -> bool:
    """Whether the class of a set of points, and that of every part of it, gives a support of its own."""
    parts = points.parts().values() if isinstance(points, Composite) else ()
    return (
        isinstance(points, PointSet)
        and type(points).support is not PointSet.support
        and all(map(states_support, parts))
    )


def _has_own(uncertainty: UncertaintySet | None) -> bool:
    """Whether the class gives a counterpart in closed form; of a product, some part that is more than one point."""
    if has_members_of(uncertainty, Product):
        parts = [p for p in uncertainty.parts().values() if not has_members_of(p, ExactMean, ExactCovariance)]
        return not parts or any(map(_has_own, parts))
    if (other := elsewhere(uncertainty)) is not None:
        return _has_own(other[0])
    for base, names in _OWN.items():
        if isinstance(uncertainty, base):
            return any(getattr(type(uncertainty), name) is not getattr(base, name) for name in names)
    return uncertainty is None


_OWN: dict[type[UncertaintySet], tuple[str, ...]] = {
    CovarianceSet: ("worst_deviation",),
    MeanSet: ("support", "deviations"),
    MomentSet: ("worst_loss",),
    PointSet: ("support",),
}


def _in_units(derive: Any, a: Any, uncertainty: Any) -> Counterpart:
    """A derived counterpart with inner variables of the order of one, for a direction whose losses are of that order.

    Such a direction is of the size of one over the set's unit: the deviation, where there is one, which is what the lift of
    a square is made of. Worst cases are homogeneous, so that the direction is brought to size one, and its counterpart back.
    """
    unit = _spread(uncertainty) if isinstance(uncertainty, (CovarianceSet, MomentSet)) else _size(uncertainty)
    if isinstance(a, cp.Expression) and a.is_constant() and not a.parameters() and np.any(a.value):
        # A set may be much larger than its centre shows; a direction that is known has seen to it.
        unit = max(unit, 1.0 / float(np.max(np.abs(a.value))))
    made: Counterpart = derive(unit * a)
    return Counterpart(made.value / unit, made.constraints)


def _closed_or(
    uncertainty: UncertaintySet, name: str, given: tuple[Any, ...], route: Route, derive: Any
) -> Counterpart:
    closed = _stated(uncertainty, name, given)
    if closed is not None:
        return closed
    if route == "closed":
        raise InputError(f"{uncertainty!r}: the class gives no closed form; use route='derived'")
    made: Counterpart = derive()
    return made


def _stated(uncertainty: UncertaintySet, name: str, given: tuple[Any, ...]) -> Counterpart | None:
    """What the class states in closed form, found to be something that may be bounded from above in a convex program."""
    told = f"{uncertainty!r}: {name}"
    before = uncertainty.followed()
    try:
        stated = getattr(uncertainty, name)(*given)
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, ConvexNoveltyError):
            raise
        raise InputError(
            f"{told} failed on a CVXPY expression ({str(error).rstrip('.')}); build its value with CVXPY's functions, or "
            "return None to have it derived from membership"
        ) from error
    if stated is None:
        return None
    made = as_counterpart(stated)
    if not isinstance(made.value, cp.Expression) or made.value.size != 1:
        raise InputError(
            f"{told} returned {made.value!r}; return a CVXPY expression of size one, a Counterpart, or None"
        )
    wrong = [constraint for constraint in made.constraints if not constraint.is_dcp()]
    if not made.value.is_convex() or wrong:
        raise InputError(
            f"{told} is not convex by the rules of DCP in {_cut(wrong[0] if wrong else made.value)}; write it by norms, "
            "cp.norm(factor @ a) for the root of a quadratic form, or return None to have it derived from membership"
        )
    if uncertainty._tuner is not None:
        now, ours = uncertainty.followed(), type(uncertainty).__module__.startswith(__name__.partition(".")[0] + ".")
        for number in uncertainty.numbers().keys() & vars(uncertainty).keys():
            watched = now.get(number) != before.get(number)
            if not (watched and ours) and not _follows(uncertainty, name, given, number):
                uncertainty.fix(number)
    return made


def _follows(uncertainty: UncertaintySet, name: str, given: tuple[Any, ...], number: str) -> bool:
    """Whether what a class states has the value of a set made anew once a number is another; no where that cannot be seen.

    A class may take a number as it stands, in all of what it states or beside a parameter that holds the number.
    """
    plain = uncertainty.plain()
    rng, present = np.random.default_rng(5), plain._number(number)
    size = _size(uncertainty)
    direction = [rng.standard_normal(x.shape) / size if getattr(x, "shape", ()) else 1.0 for x in given]
    for other in beside(present) if np.isfinite(present) else ():
        try:
            with unasked():
                anew = evaluate(_stated_at(plain.replaced(**{number: other}), name, direction))
                tunable = plain.tunable()
                stated = _stated_at(tunable, name, direction)
                tunable.retune(number, other)
                found = evaluate(stated)
        except Exception:  # a user's class raises what it raises
            continue
        return abs(found - anew) <= 1e-7 * abs(anew)
    return False


def _stated_at(uncertainty: UncertaintySet, name: str, direction: list[Any]) -> Counterpart:
    return as_counterpart(getattr(uncertainty, name)(*map(cp.Constant, direction)))


def _cut(expression: Any, length: int = 150) -> str:
    """An expression as text on one line, without the numbers of large matrices."""
    text = " ".join(str(expression).split())
    return text if len(text) <= length else f"{text[:length]}..."


def _factor(kappa: Any) -> Any:
    """Kappa as it may stand before a convex expression: a nonnegative number, or a parameter that is declared so."""
    if isinstance(kappa, cp.Expression):
        if not kappa.is_nonneg():
            raise InputError(f"kappa: {kappa} may be negative; declare the parameter with nonneg=True")
        return kappa
    return nonnegative(kappa, "kappa")


# -- numbers ---------------------------------------------------------------------------------------------------------


def evaluate(counterpart: Counterpart) -> float:
    """The value of a counterpart whose only variables are its own: with inner variables it has no value until it is
    minimised."""
    if not counterpart.constraints and not counterpart.value.variables():
        return float(np.asarray(counterpart.value.value))
    problem = cp.Problem(cp.Minimize(counterpart.value), counterpart.constraints)
    found = minimum(ConicProgram.from_problem(problem))
    if found is not None:
        return found
    # Interior-point methods may circle on degenerate linear programs, where a simplex method is at home.
    solver = "HIGHS" if problem.is_lp() else "SCS"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            options = solvers.profile(solver).ladder[0]
            solvers.compiled(problem, solver, options)
            problem.solve(solver=solver, warm_start=False, **options)
        except Exception as error:  # interfaces fall over numbers beyond their solver's range in ways of their own
            raise SolverError(f"counterpart: {solver} failed ({error}); give numbers nearer to one") from error
    if problem.status != cp.OPTIMAL:
        raise SolverError(f"counterpart: it could not be minimised (status {problem.status})", str(problem.status))
    return float(np.asarray(problem.value))


def _size(uncertainty: Any) -> float:
    """The size of a set's members, as far as its centre shows it."""
    if isinstance(uncertainty, PointSet):
        return float(np.max(np.abs(uncertainty.center), initial=0.0)) or 1.0
    if isinstance(uncertainty, CovarianceSet):
        return _spread(uncertainty)
    return max(float(np.max(np.abs(uncertainty.mean), initial=0.0)), float(uncertainty.unit)) or 1.0


def _spread(uncertainty: Any) -> float:
    """The size of the deviations at a set's centre, which its mean says nothing of: it may lie a thousand of them off."""
    return float(np.linalg.norm(uncertainty.factor)) or float(uncertainty.unit) or 1.0


def evaluate_loss(uncertainty: UncertaintySet, a: Any, kappa: float, route: Route = "best") -> float:
    """The number that :func:`worst_loss` stands for at a fixed ``a``."""
    uncertainty = _as_it_stands(uncertainty, *MOMENTS)
    a = along(uncertainty, a)
    central = float(uncertainty.mean @ a) if isinstance(uncertainty, (MeanSet, MomentSet)) else 0.0
    return _evaluated(uncertainty, a, lambda direction: worst_loss(uncertainty, direction, kappa, route), central)


def evaluate_deviation(uncertainty: UncertaintySet, a: Any, route: Route = "best") -> float:
    """The number that :func:`worst_deviation` stands for at a fixed ``a``."""
    uncertainty = _as_it_stands(uncertainty, *MOMENTS)
    return _evaluated(
        uncertainty, along(uncertainty, a), lambda direction: worst_deviation(uncertainty, direction, route)
    )


def evaluate_support(uncertainty: MeanSet | PointSet, w: Any, route: Route = "best") -> float:
    """The number that :func:`support` stands for at a fixed ``w``."""
    uncertainty = _as_it_stands(uncertainty, *LINEAR)
    w = along(uncertainty, w, "w")
    if isinstance(uncertainty, PointSet) and uncertainty._center is None:
        uncertainty = uncertainty.centred(np.zeros(w.size))
    central = float((uncertainty.center if isinstance(uncertainty, PointSet) else uncertainty.mean) @ w)
    return _evaluated(uncertainty, w, lambda direction: support(uncertainty, direction, route), central)


def _as_it_stands(uncertainty: Any, *families: str) -> Any:
    """The set with its numbers as they stand: what is made for one value is not to follow them, nor to keep them from changing."""
    known_set(uncertainty, *families)
    return uncertainty.plain()


def _evaluated(uncertainty: Any, a: Array, counterpart: Any, central: float = 0.0) -> float:
    """A worst case at ``a``, of which the centre's point or mean makes ``central``, computed at the direction in which losses are
    of the order of one.

    Solvers know absolute tolerances: along a short axis of the moments the size of the direction alone would leave
    few digits.
    """
    length = (float(np.linalg.norm(a)) or 1.0) * _size(uncertainty)
    size = max(_nominal(uncertainty, a), 1e-6 * length)
    made = counterpart(a / size)
    if not made.constraints and not made.value.variables() and np.isfinite(value := size * evaluate(made)):
        return value  # a formula, which no solver's tolerance touches
    try:
        value = size * evaluate(made)
    except SolverError:
        value = np.inf
    if abs(value) > 100.0 * size:  # the set is much larger than its centre, or a solver thought so
        size = max(size, _reach(uncertainty, a))
        value = size * evaluate(counterpart(a / size))
    beyond = abs(value - central)
    if LEFT * size < beyond < BESIDE * size:  # a far centre has taken digits of what the set adds to it
        with contextlib.suppress(SolverError):
            value = beyond * evaluate(counterpart(a / beyond))
    return value


def _reach(uncertainty: Any, a: Array) -> float:
    """The size of the worst case as the membership shows it, with the scaling that was found for it."""
    alone = not isinstance(uncertainty, MeanSet)  # a mean may depend on the covariance that it comes with
    held = membership_of(uncertainty if alone else as_moment_set(uncertainty).centred(uncertainty._moments))
    sizes, direction = np.abs(held.centre) + held.widths, np.abs(a)
    if isinstance(uncertainty, PointSet):
        return float(direction @ sizes)
    triangle = a.size * (a.size + 1) // 2
    deviation = float(np.sqrt(direction @ smat(sizes[-triangle:], a.size) @ direction))
    return max(deviation, float(direction @ sizes[: a.size])) if sizes.size > triangle else deviation


def _nominal(uncertainty: Any, a: Array) -> float:
    """The size of the terms of the worst case at the centre."""
    if isinstance(uncertainty, PointSet):
        return float(np.abs(a) @ np.abs(uncertainty.center))
    deviation = float(np.linalg.norm(np.asarray(uncertainty.factor) @ a)) if uncertainty.factor.size else 0.0
    if isinstance(uncertainty, CovarianceSet):
        return deviation
    return max(deviation, float(np.abs(a) @ np.abs(uncertainty.mean)))
