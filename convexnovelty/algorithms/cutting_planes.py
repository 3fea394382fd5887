r"""Adversarial cutting planes: a semi-infinite program solved against the membership constraints alone.

A master program holds the worst cases found so far; an adversary looks for a worse one half of the way from the master's
point to the best feasible one; it is added and the master solved again. Nothing here knows a counterpart, so that the result is an independent reference
for every one of them. The master bounds the optimum from below; a point that is scaled or shifted until no adversary
can hurt it bounds it from above, and the gap of the two is what the caller gets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.attempts import OPEN, Attempts
from convexnovelty.covariances import own_root
from convexnovelty.errors import InfeasibleError, SolverError, UnboundedError
from convexnovelty.solution import Attempt
from convexnovelty.validation import Array

__all__ = ["CuttingPlanesResult", "Robust", "cutting_planes", "deviations"]

Values = Mapping[str, Any]

# Relative gap of the bounds that is good enough when the master can be solved no further.
SUFFICIENT = 1e-7
# Cuts that nearly coincide, as they do at the end, keep a solver from the tolerances it is asked for. A point of the master with
# residuals below this will do, whatever its status; what they may change of its value is no part of the bound.
ACCURATE = 1e-6
# By which the master's value may exceed that of a feasible point: both know it to a solver's accuracy only, and the point by
# members that a solver found.
CROSSED = 1e-6
THINNED = 3  # times that the older half of the cuts is left out
ZERO = 1e-12  # share of the size of the master's objective below which an optimum is zero, however well it is known


@dataclass(frozen=True)
class Robust:
    """One robust requirement.

    ``attack(values)`` returns a worst member at a point; ``cuts(members)`` the constraints that make the
    master respect all that have been found, in one block where that can be: CVXPY compiles each by itself.
    """

    attack: Callable[[Values], Any]
    cuts: Callable[[list[Any]], Sequence[Any]]


class Master(NamedTuple):
    """The value of a master program, the size below which it is not told from zero, and by how much it may be too large."""

    value: float
    zero: float
    short: float = 0.0


@dataclass(frozen=True)
class CuttingPlanesResult:
    """Values of the letters at the best point, the bounds on the optimum, and the number of rounds and of cuts.

    ``lower`` is the value of the best master, as exactly as its solver knows it, less what the residuals may change of it where
    the solver calls its point inaccurate, and never above ``upper``.
    """

    values: Values
    lower: float
    upper: float
    rounds: int
    cuts: int

    @property
    def gap(self) -> float:
        """The relative gap of the bounds."""
        return (self.upper - self.lower) / max(abs(self.upper), abs(self.lower), 1e-300)


def cutting_planes(
    objective: cp.Expression,
    variables: Mapping[str, Any],
    requirements: Sequence[Robust],
    repair: Callable[[Values], tuple[float, Values] | None],
    *,
    constraints: Sequence[Any] = (),
    seeds: Sequence[Sequence[Any]] | None = None,
    tolerance: float = 1e-7,
    rounds: int = 300,
    solver: str | None = None,
) -> CuttingPlanesResult:
    """Minimise ``objective`` subject to requirements that hold for every member of their sets.

    Parameters
    ----------
    variables : the letters, CVXPY variables or quantities with ``value``.
    requirements : each with its adversary and its cuts.
    repair : from the master's values to a truly feasible point, as (objective, values), or None when there is none.
    constraints : what holds besides.
    seeds : members to start with, one list a requirement.
    tolerance : relative gap of the bounds at which to stop.

    Raises
    ------
    InfeasibleError : the master, which is a relaxation, is infeasible, and so is the robust program.
    SolverError : the gap did not close in so many rounds, or the master's value came out above that of a feasible point.
    """
    profile = solvers.profile(solver)
    members: list[list[Any]] = [list(given) for given in seeds or [[] for _ in requirements]]
    cuts = 0
    best: tuple[float, Values] | None = None
    lower, zero, thinned = float("-inf"), 0.0, 0
    for round_number in range(1, rounds + 1):
        held = list(constraints)
        for requirement, found in zip(requirements, members, strict=True):
            held += requirement.cuts(found) if found else []
        try:
            master = _solve(cp.Problem(cp.Minimize(objective), held), profile)
        except SolverError as error:
            # Cuts that nearly coincide, as they do at the end, leave the master no digits: what stands is returned
            # with its bounds if they are close, and else the older ones are left out, of which few are still tight.
            if best is not None and _meet(lower, best[0], SUFFICIENT, zero):
                return CuttingPlanesResult(best[1], lower, best[0], round_number, cuts)
            if best is None:
                raise
            if thinned == THINNED:
                bounds = f"the optimum is known to lie between {lower:.10g} and {best[0]:.10g} in the program's unit"
                raise SolverError(f"{error}; {bounds}", error.status) from error
            members, thinned = [found[len(found) // 2 :] for found in members], thinned + 1
            continue
        lower, zero = max(lower, master.value - master.short), master.zero
        values = {name: variable.value for name, variable in variables.items()}
        best = _better(best, repair(values))
        halfway = _between(values, best)
        if halfway is not values:
            best = _better(best, repair(halfway))
        if best is not None:
            lower = _below(lower, best[0], zero)
            # A master that knows its value no better cannot be asked for more than that it meets the other bound.
            ended = master.short > 0.0 and _meet(master.value, best[0], tolerance, zero)
            if _meet(lower, best[0], SUFFICIENT if ended else tolerance, zero):
                return CuttingPlanesResult(best[1], lower, best[0], round_number, cuts)
        for requirement, found in zip(requirements, members, strict=True):
            found.append(requirement.attack(halfway))
            cuts += 1
    reached = "no feasible point" if best is None else f"bounds {lower:.10g} and {best[0]:.10g}"
    raise SolverError(
        f"cutting planes: {reached} after {rounds} rounds; allow more rounds or a larger tolerance", "user_limit"
    )


def _better(best: tuple[float, Values] | None, other: tuple[float, Values] | None) -> tuple[float, Values] | None:
    return other if best is None or (other is not None and other[0] < best[0]) else best


def _between(values: Values, best: tuple[float, Values] | None) -> Values:
    """The point half of the way to the best one.

    The worst members there cut the master's point off, or that point is feasible and its value halves the gap. The master's
    own points go from one end of what the cuts leave to another, and need about twice as many rounds.
    """
    return values if best is None else {name: (value + best[1][name]) / 2 for name, value in values.items()}


def _meet(lower: float, upper: float, tolerance: float, zero: float) -> bool:
    """Whether bounds are within a share of their value, or neither is told from zero, which has no share."""
    return upper - lower <= tolerance * abs(upper) or _is_zero(lower, upper, zero)


def _is_zero(lower: float, upper: float, zero: float) -> bool:
    return max(abs(lower), abs(upper)) <= zero


def _below(lower: float, upper: float, zero: float) -> float:
    """The lower bound, cut off at the upper one where it exceeds it by no more than the solver's accuracy."""
    if lower - upper > CROSSED * abs(upper) and not _is_zero(lower, upper, zero):
        raise SolverError(
            f"cutting planes: the master's value {lower:.10g} lies above {upper:.10g}, that of a feasible point; give the "
            f"program in units in which its objective is of the size of one",
            "inaccurate",
        )
    return min(lower, upper)


def deviations(covariances: Sequence[Array], linear: Array, direction: cp.Expression, bounds: Any) -> Any:
    r"""The constraint :math:`\sqrt{d'L'S_iLd} \le b_i` for each covariance :math:`S_i`, the matrix L, direction d, bounds b."""
    roots = []
    for covariance in covariances:
        roots.append(own_root(covariance) @ linear)
    shape = (linear.shape[0], len(roots))
    return cp.SOC(bounds, cp.reshape(np.vstack(roots) @ direction, shape, order="F"), axis=0)


def _solve(problem: cp.Problem, profile: solvers.SolverProfile) -> Master:
    """The least value of a master program by a point that is shown to be optimal."""
    tried: list[Attempt] = []
    plan = Attempts(problem, inaccurate=ACCURATE)
    residuals = plan.climb(plan.rungs(profile.name), tried, {})
    if residuals is not None:
        size = 1.0 if plan.height is None else plan.height
        charge = float(residuals.absolute.get("value", 0.0))
        # What a point leaves open of the value, unless that is more than would do for bounds.
        zero = max(ZERO * size, min(OPEN * charge, SUFFICIENT * size))
        return Master(float(problem.value), zero, 0.0 if problem.status == cp.OPTIMAL else charge)
    status, doubtful = tried[-1].status, tried[-1].doubtful
    if status == cp.INFEASIBLE and not doubtful:
        raise InfeasibleError("cutting planes: the worst cases found so far already leave no feasible point", status)
    if status == cp.UNBOUNDED and not doubtful:
        raise UnboundedError("cutting planes: the master program is unbounded; start from more members", status)
    reasons = "; ".join(dict.fromkeys(attempt.remark or attempt.status for attempt in tried))
    raise SolverError(f"cutting planes: the master program was not solved ({reasons})", status)
