"""What the laws of a set are checked with: nominal moments, directions, the value of a member, rows of the report."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty import uncertainty as sets
from convexnovelty._lazy import cp
from convexnovelty.checking.report import Row
from convexnovelty.conic import ConicProgram
from convexnovelty.direct import minimum_and_error
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import listed
from convexnovelty.validation import Array

__all__ = [
    "KAPPA",
    "around",
    "as_written",
    "directions",
    "distance",
    "evaluator",
    "joint",
    "law_row",
    "nominal",
    "unit_of",
    "value",
]

KAPPA = 1.5
Evaluate = Callable[[Array, str], float]


def nominal(dimension: int, seed: int = 3) -> Moments:
    """Signed, correlated nominal moments."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((dimension, dimension)) / math.sqrt(dimension) + 0.5 * np.eye(dimension)
    return Moments(rng.standard_normal(dimension) + 1.0, mixing @ mixing.T)


def directions(dimension: int, seed: int = 5) -> list[Array]:
    """Signed random directions, an axis, and one with zeros: positive random numbers would let faults pass."""
    rng = np.random.default_rng(seed)
    axis = np.zeros(dimension)
    axis[-1] = -1.0
    return [rng.standard_normal(dimension), -rng.standard_normal(dimension) * 10.0, axis]


def joint(recipe: UncertaintySet) -> UncertaintySet:
    """A mean set that depends on the covariance is met together with the nominal covariance."""
    return sets.as_moment_set(recipe) if getattr(recipe, "uses_covariance", False) else recipe


def around(recipe: UncertaintySet, moments: Moments) -> Any:
    """The set as it is met, around the moments; a set of points around the origin."""
    center = np.zeros(moments.dimension) if isinstance(recipe, PointSet) else moments
    return joint(recipe).centred(center)  # type: ignore[attr-defined]


def evaluator(centred: UncertaintySet) -> Evaluate:
    """The worst case of a centred set as a function of a direction and a route."""
    if centred.family in ("points", "mean"):
        return lambda a, route: sets.evaluate_support(centred, a, route)  # type: ignore[arg-type]
    if centred.family == "covariance":
        return lambda a, route: sets.evaluate_deviation(centred, a, route)  # type: ignore[arg-type]
    return lambda a, route: sets.evaluate_loss(centred, a, KAPPA, route)  # type: ignore[arg-type]


def as_written(centred: UncertaintySet, a: Array) -> tuple[float, float]:
    """The worst case over the constraints that the class returns, as CVXPY alone compiles them; NaN where it is not found.

    And what residuals of the solver's point may change of it.

    The derived counterpart and the adversary share the arrays that a membership is compiled into, scaled and reduced to.
    """
    p = a.size
    objective: Any
    if centred.family in ("points", "mean"):
        u = cp.Variable(p)
        objective, constraints = a @ u, centred.membership(u)  # type: ignore[attr-defined]
    else:
        # In the deviations of the centre, of which raw columns have very different ones.
        deviations = np.linalg.norm(np.asarray(centred.factor), axis=0)  # type: ignore[attr-defined]
        unit = np.where(deviations > 0, deviations, float(centred.unit))  # type: ignore[attr-defined]
        R, sizes = cp.Variable((p, p), symmetric=True), np.outer(unit, unit)
        S = cp.atoms.affine.wraps.symmetric_wrap(cp.multiply(sizes, R))
        objective = cp.sum(cp.multiply(np.outer(a, a) * sizes, R))
        if centred.family == "covariance":
            constraints = centred.membership(S)  # type: ignore[attr-defined]
        else:
            m = cp.multiply(unit, cp.Variable(p))
            objective, constraints = a @ m + KAPPA * cp.sqrt(objective), centred.membership(m, S)  # type: ignore[attr-defined]
        constraints = [R >> 0, *listed(constraints)]
    # The size of a direction along which members are small is not left to a solver's tolerance.
    variance = centred.family == "covariance"
    size = (1e3 * unit_of(centred, a)) ** (2 if variance else 1)
    problem = cp.Problem(cp.Minimize(-objective / size), listed(constraints))
    least = minimum_and_error(ConicProgram.from_problem(problem))
    if least is None:
        return math.nan, math.nan
    found, error = -least[0] * size, least[1] * size
    if not variance:
        return found, error
    deviation = math.sqrt(max(found, 0.0))
    return deviation, math.sqrt(max(found, 0.0) + error) - deviation


def value(centred: UncertaintySet, member: Any, a: Array) -> float:
    """What a member does to the direction."""
    if isinstance(centred, MomentSet):
        m, S = member
        return float(a @ m + KAPPA * math.sqrt(max(float(a @ S @ a), 0.0)))
    if centred.family == "covariance":
        return math.sqrt(max(float(a @ member @ a), 0.0))
    return float(a @ member)


def distance(centred: UncertaintySet, member: Any) -> float:
    """How far a member is from the membership, in units of the set."""
    if isinstance(centred, MomentSet):
        flat = np.concatenate([member[0], sets.svec(np.asarray(member[1]))])
    else:
        flat = sets.svec(np.asarray(member)) if centred.family == "covariance" else np.asarray(member)
    if not np.isfinite(flat).all():
        return math.inf
    found = sets.membership_of(centred).distance(flat)
    return math.inf if math.isnan(found) else found


def unit_of(centred: UncertaintySet, a: Array) -> float:
    """The size below which differences of values along a direction say nothing."""
    size = 1.0 if centred.family == "points" else float(centred.unit)  # type: ignore[attr-defined]
    return 1e-3 * float(np.linalg.norm(a)) * size


def law_row(
    recipe: UncertaintySet,
    source: str,
    target: str,
    claim: str,
    gap: float,
    tolerance: float,
    seconds: float = 0.0,
    reason: str = "",
) -> Row:
    """A row of the report on a set; it fails for a gap beyond the tolerance, and for a reason."""
    holds = gap <= tolerance and not reason
    return Row(
        method="uncertainty sets",
        instance=repr(recipe),
        source=source,
        target=target,
        claim=claim,
        equation=recipe.source or "the user's own membership",
        relation="=",
        reference="adversary" if "adversary" in (source, target) else "formulation",
        verdict="pass" if holds else "fail",
        objective_gap=gap,
        seconds=seconds,
        tolerance=tolerance,
        reason="" if holds else (reason or f"gap {gap:.1e} exceeds {tolerance:.0e}"),
    )
