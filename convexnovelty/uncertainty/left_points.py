"""What a size of zero leaves one point of a set that is none itself, as weights that a divergence keeps at their centre.

A solver that is told so by a divergence, or by a norm, keeps a root of its tolerance there, of which covariances that follow from
the weights make more; equations are exact, and leave it an inside. Each block of a member, and what a class has beside it, is
looked at by itself, with the constraints that speak of nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.errors import is_panic
from convexnovelty.validation import Array

__all__ = ["LeftPoints", "left_points"]

ENROLS_NOTHING = "what a size of zero leaves of every set"

TOLERANCES = (1e-8, 1e-6)  # that are asked of the solver, one after the other: round a point it may not reach them
LARGE = 500  # unknowns up to which slopes are taken along each
STEPS = 4  # of Newton's, each of which leaves a thousandth of the slope
POINT = 1e-3  # size, as a share of the point's, up to which a set that a solver sees may be one point
STEP = 1e-3  # the same of a step off the point
SHARP = 1e-8  # what a bound is over by after it, beside half of a whole one: 4e-6 for a square
HELD = 1e-12  # the same at the point: a square that has so much to spare reaches a millionth of a step
NEARLY = 1e-6  # distance, beside its size, up to which a block is the centre's


@dataclass(frozen=True)
class LeftPoints:
    """The places of the constraints that equations replace, and values of blocks and of further variables by theirs."""

    replaced: frozenset[int] = frozenset()
    blocks: tuple[tuple[int, Array], ...] = ()
    beside: tuple[tuple[int, Array], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.replaced)

    def applied(self, constraints: list[Any], member: list[Any]) -> list[Any]:
        """The constraints on a list of blocks with equations in the place of those that leave one point."""
        if not self:
            return constraints
        further = _further(constraints, member)
        kept = [one for i, one in enumerate(constraints) if i not in self.replaced]
        equations = [member[k] == value for k, value in self.blocks] + [further[k] == value for k, value in self.beside]
        return [*kept, *equations]


def left_points(constraints: list[Any], member: list[Any], center: list[Array]) -> LeftPoints:
    """What constraints on a list of variables leave one point, which is that of ``center`` for a block where this is meant."""
    further = _further(constraints, member)
    found: dict[int, Array] = {}
    for group in (*([block] for block in member), further):
        ids = {variable.id for variable in group}
        own = [one for one in constraints if (held := {x.id for x in one.variables()}) and held <= ids]
        for variable in group if own else ():
            if (value := _only_value(variable, own)) is not None:
                found[variable.id] = value
    replaced = {
        i for i, one in enumerate(constraints) if one.variables() and all(x.id in found for x in one.variables())
    }
    if not replaced:
        return LeftPoints()
    blocks = [(k, _meant(found[x.id], center[k])) for k, x in enumerate(member) if x.id in found]
    beside = [(k, found[x.id]) for k, x in enumerate(further) if x.id in found]
    return LeftPoints(frozenset(replaced), tuple(blocks), tuple(beside))


def _further(constraints: list[Any], member: list[Any]) -> list[Any]:
    """The variables of constraints that are none of a member's, in their order."""
    own = {x.id for block in member for x in (block.variables() if isinstance(block, cp.Expression) else [])}
    return list({x.id: x for one in constraints for x in one.variables() if x.id not in own}.values())


def _only_value(variable: Any, constraints: list[Any]) -> Array | None:
    """The only value that constraints leave a variable, None where they leave several or it cannot be told."""
    curved = [one for one in constraints if _is_curved(one)]
    if not curved:
        return None
    straight = [one for one in constraints if not any(one is other for other in curved)]
    direction = np.random.default_rng(24).standard_normal(variable.shape)
    along, least = cp.sum(cp.multiply(direction, variable)), cp.Variable()
    lower, upper = (_point(cost, constraints) for cost in (along, -along))
    middle = _point(least, [*straight, *(one.args[0] - one.args[1] <= least for one in curved)])
    if lower is None or upper is None or middle is None:
        return None
    if len(curved) == 1 and curved[0].expr.is_scalar():
        equations = [one for one in straight if isinstance(one, cp.constraints.Zero | cp.constraints.Equality)]
        middle = _turning_point(curved[0].expr, equations, middle)
    value: Array = middle[variable.id]
    size = float(np.linalg.norm(value)) or 1.0
    if max(float(np.linalg.norm(end[variable.id] - value)) for end in (lower, upper)) > POINT * size:
        return None
    # What straight constraints leave a solver knows as it is. Others leave a root of its tolerance: they have to hold with
    # nothing to spare, and to bend.
    off = _point(along, [*straight, cp.abs(variable - value) <= size / variable.size**0.5])
    if off is None or float(np.linalg.norm(off[variable.id] - value)) <= POINT * size:
        return None

    def over(share: float) -> float:
        """By how much the worst of the others is over its bound at a share of the way off, below zero where none is."""
        _put({name: at + share * (off.get(name, at) - at) for name, at in middle.items()}, constraints)
        return max(float(np.max(one.args[0].value - one.args[1].value)) for one in curved)

    here, near, far = over(0.0), over(STEP), over(0.5)
    return value if abs(here) <= HELD * far and SHARP * far <= near and 0 < far < np.inf else None


def _put(values: Mapping[int, Array], terms: Sequence[Any]) -> None:
    for x in (x for one in terms for x in one.variables()):
        x.save_value(values[x.id])


def _turning_point(expression: Any, equations: Sequence[Any], start: Mapping[int, Array]) -> dict[int, Array]:
    """A least point to more digits than a solver's, by Newton's steps along the plane of the equations.

    The point itself where they do not bring the slope down, as at a kink.
    """
    variables = list({x.id: x for one in (expression, *equations) for x in one.variables()}.values())

    def slope(term: Any, at: Array) -> Array:
        """The derivatives of the entries of a term, of shape (entries, unknowns)."""
        _put(spread(at), [expression, *equations])
        parts = {x.id: part for x, part in term.grad.items()}
        rows = [sp.csc_array(parts[x.id]) if x.id in parts else sp.csc_array((x.size, term.size)) for x in variables]
        return np.asarray(sp.vstack(rows).toarray().T)

    def spread(at: Array) -> dict[int, Array]:
        pieces = np.split(at, np.cumsum([x.size for x in variables])[:-1])
        return {
            **start,
            **{x.id: piece.reshape(x.shape, order="F") for x, piece in zip(variables, pieces, strict=True)},
        }

    at = np.concatenate([np.ravel(start[x.id], order="F") for x in variables])
    if at.size > LARGE:
        return dict(start)
    try:
        rows = np.vstack([np.zeros((0, at.size)), *(slope(one.expr, at) for one in equations)])
        missed = np.concatenate([np.zeros(0), *(np.ravel(one.expr.value, order="F") for one in equations)])
        at = at - np.linalg.lstsq(rows, missed, rcond=None)[0]
        plane = scipy.linalg.null_space(rows) if len(rows) else np.eye(at.size)
        step = STEP * (float(np.linalg.norm(at)) or 1.0) / at.size**0.5
        here = slope(expression, at)[0] @ plane
        bend = np.array([(slope(expression, at + step * axis)[0] @ plane - here) / step for axis in plane.T])
        for _ in range(STEPS):
            moved = at - plane @ np.linalg.lstsq((bend + bend.T) / 2, here, rcond=None)[0]
            there = slope(expression, moved)[0] @ plane
            if not np.linalg.norm(there) < np.linalg.norm(here):
                break
            at, here = moved, there
    except Exception:  # of what has no slope there, or none that CVXPY knows, of which it raises what it likes
        return dict(start)
    return spread(at)


def _is_curved(constraint: Any) -> bool:
    """Whether a constraint is an inequality of CVXPY between functions that are not affine."""
    return isinstance(constraint, cp.constraints.Inequality) and not constraint.expr.is_affine()


def _point(cost: Any, constraints: list[Any]) -> dict[int, Array] | None:
    """Where a cost is least, by the variables; None where no solver can say."""
    problem = cp.Problem(cp.Minimize(cost), constraints)
    for tolerance in TOLERANCES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                problem.solve(solver=solvers.DEFAULT_SOLVER, **dict.fromkeys(solvers.GAPS, tolerance))
            except BaseException as error:  # of any kind, since it comes from a solver
                if not isinstance(error, Exception) and not is_panic(error):
                    raise
                continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return {x.id: np.asarray(x.value) for x in problem.variables()}
    return None


def _meant(value: Array, center: Array) -> Array:
    """The centre's block where a solver's point is that to its digits."""
    size = float(np.linalg.norm(center)) or 1.0
    return center if float(np.linalg.norm(value - center)) <= NEARLY * size else value
