"""What a size of zero leaves one point of a set that is none itself, as weights that a divergence keeps at their centre.

A solver that is told so by a divergence, or by a norm, keeps a root of its tolerance there, of which covariances that follow from
the weights make more; equations are exact, and leave it an inside. Each block of a member, and what a class has beside it, is
looked at by itself, with the constraints that speak of nothing else.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.errors import is_panic
from convexnovelty.validation import Array
from convexnovelty.violations import with_domains

__all__ = ["LeftPoints", "left_points"]

Marks = NDArray[np.bool_]
Known = tuple[int, Array, Marks]
Describe = Callable[[list[Any]], list[Any]]

ENROLS_NOTHING = "what a size of zero leaves of every set"

TOLERANCES = (1e-8, 1e-6)  # that are asked of the solver, one after the other: round a point it may not reach them
LARGE = 500  # unknowns up to which slopes are taken along each
STEPS = 4  # of Newton's, each of which leaves a thousandth of the slope
POINT = 1e-3  # size, as a share of the point's, up to which a set that a solver sees may be one point
STEP = 1e-3  # the same of a step off the point
SHARP = 1e-8  # what a bound is over by after it, beside half of a whole one: 4e-6 for a square
HELD = 1e-12  # the same at the point: a square that has so much to spare reaches a millionth of a step
OFF = 0.7  # share of a unit by which a block is tried to either side: a whole variance less is none, but for rounding
HALVINGS = 40  # of a step that leaves the domain of a function
PUSHES = 1e-2, 1e-4  # forces along a random line, beside what bounds are over by at distance one
NEARER = 0.75  # share of the way that is left with the smaller one at most: 0.66 for a twelfth power, one where a line is free
LONGEST = 20  # power of four up to which lengths are looked for


@dataclass(frozen=True)
class LeftPoints:
    """The places of the constraints that equations replace, and values of blocks and of further variables by theirs.

    Those entries alone are fixed that are marked. ``several`` where more than the centre is known to be left.
    """

    replaced: frozenset[int] = frozenset()
    blocks: tuple[Known, ...] = ()
    beside: tuple[Known, ...] = ()
    several: bool = False

    def __bool__(self) -> bool:
        return bool(self.replaced)

    def applied(self, constraints: list[Any], member: list[Any]) -> list[Any]:
        """The constraints on a list of blocks with equations in the place of those that leave one point."""
        if not self:
            return constraints
        further = _further(constraints, member)
        kept = [one for i, one in enumerate(constraints) if i not in self.replaced]
        equations = [
            terms[k] == value if marks.all() else cp.multiply(marks.astype(float), terms[k] - value) == 0
            for terms, known in ((member, self.blocks), (further, self.beside))
            for k, value, marks in known
        ]
        return [*kept, *equations]


def left_points(describe: Describe, center: list[Array], units: list[Array]) -> LeftPoints:
    """What constraints leave one point: of a block the centre's, of what stands beside the blocks any.

    ``describe`` makes the constraints on a list of blocks, and ``units`` are sizes of their entries.
    """
    member = [_variable(block) for block in center]
    constraints = describe(member)
    found = _of_groups(lambda group: _centre_alone(describe, center, group, units), len(center))
    replaced = set().union(*(each.places for each in found))
    blocks = [(k, center[k], marks) for each in found for k, marks in each.marks.items()]
    further = _further(constraints, member)
    ids = {variable.id for variable in further}
    places = [i for i, one in enumerate(constraints) if (held := {x.id for x in one.variables()}) and held <= ids]
    among = [constraints[i] for i in places]
    beside, seen = _beside(among, further)
    known = {further[k].id for k, _, marks in beside if marks.all()}
    replaced |= {places[i] for i, one in enumerate(among) if i in seen or {x.id for x in one.variables()} <= known}
    several = len(center) == 1 and not further and found[0].several
    return LeftPoints(frozenset(replaced), tuple(blocks), tuple(beside), several)


def _of_groups(find: Callable[[tuple[int, ...]], _Centre], count: int) -> list[_Centre]:
    """What is found of each block, and of all together where nothing was of one."""
    found = [find((k,)) for k in range(count)]
    if count > 1 and not any(each.places for each in found):
        found.append(find(tuple(range(count))))
    return found


def _beside(constraints: list[Any], further: list[Any]) -> tuple[list[Known], set[int]]:
    """What constraints on further variables leave of these: zeros, as of displacements, or some other point.

    And the places of those that leave zeros.
    """
    if not constraints:
        return [], set()
    origin = [np.zeros(x.shape) for x in further]
    units = [np.ones(x.shape) for x in further]
    zeros = _of_groups(lambda group: _centre_alone(lambda _: constraints, origin, group, units, further), len(further))
    marked = {k: marks for each in zeros for k, marks in each.marks.items()}
    found: list[Known] = [(k, origin[k], marks) for k, marks in marked.items()]
    for k, x in enumerate(further):
        if k not in marked and (value := _only_value(x, constraints)) is not None:
            found.append((k, value, np.ones(x.shape, dtype=bool)))
    return found, set().union(*(each.places for each in zeros))


@dataclass(frozen=True)
class _Centre:
    """The places of constraints that leave of some entries of blocks the centre's alone, and the marks of these entries.

    ``several`` where the constraints on the blocks are known to hold of more than the centre.
    """

    places: frozenset[int] = frozenset()
    marks: Mapping[int, Marks] = field(default_factory=dict)
    several: bool = False


def _variable(block: Array) -> Any:
    return cp.Variable(block.shape, symmetric=True) if block.ndim == 2 else cp.Variable(block.shape)


def _centre_alone(
    describe: Describe, center: list[Array], group: tuple[int, ...], units: list[Array], held: list[Any] | None = None
) -> _Centre:
    """What constraints leave of some blocks, where all others are the centre's; ``held`` are variables that they have already.

    Those that leave the centre alone have nothing to spare there, and where they are weighed against a push the entries that they
    see come the nearer to the centre the less this is.
    """
    member = held or [_variable(block) if k in group else cp.Constant(block) for k, block in enumerate(center)]
    own, all_of_them = _curved_of(describe, member, center, group, units)
    if not own:
        return _Centre()
    asked = [_Excess(one) for one in own.values()]

    def over(step: Array) -> Array:
        for k, moved in zip(group, _blocks(step, center, group), strict=True):
            member[k].save_value(moved)
        return np.array([excess() for excess in asked])

    def either(step: Array) -> Array:
        return np.maximum(over(step), over(-step))

    steps = _axes(group, units)
    spare = over(0.0 * steps[:, 0])
    if not np.isfinite(spare).all():
        return _Centre()
    axes = np.array([_defined(step, either) for step in steps.T]).T
    far = np.array([either(axis) for axis in axes.T])
    rounding = HELD * np.abs(far).max(axis=0)
    tight = spare >= -rounding
    if not tight.any() or (spare > rounding).any():
        return _Centre(several=all_of_them and bool((spare < -rounding).all()))
    sees = (far != spare)[:, tight].any(axis=1)
    level = float(far[sees][:, tight].max(axis=1).min(initial=np.inf))
    unseen = over(_defined(7.0 * axes[:, ~sees].sum(axis=1), either))[tight]
    if not 0 < level < np.inf or (unseen != spare[tight]).any():
        return _Centre()

    def length(step: Array) -> float:
        return _length(lambda t: float(either(t * step)[tight].max()), level)

    basis = axes[:, sees] * [length(axis) for axis in axes[:, sees].T]
    places = frozenset(place for place, is_tight in zip(own, tight, strict=True) if is_tight)
    for _ in range(basis.shape[1] + 1):
        reached = _reached(describe, center, group, basis, places, level, held)
        if reached is None:
            return _Centre()
        ends = np.abs(reached).max(axis=-1)
        if not (stay := ends[1] > np.maximum(NEARER * ends[0], POINT)).any():
            entries = np.any(basis != 0, axis=1).astype(float)
            marks = [moved != 0 for moved in _blocks(entries, [0.0 * block for block in center], group)]
            return _Centre(places, dict(zip(group, marks, strict=True)))
        # A line along which what is tight hardly rises may be a long one, in whose unit it comes nearer too.
        line = reached[1][stay][0] / np.linalg.norm(reached[1][stay][0])
        longer = length(basis @ line)
        if longer <= 1 or longer >= 4.0**LONGEST:
            break
        basis = basis + (longer - 1.0) * np.outer(basis @ line, line)
    return _Centre(several=True)


def _reached(
    describe: Describe,
    center: list[Array],
    group: tuple[int, ...],
    basis: Array,
    places: frozenset[int],
    level: float,
    held: list[Any] | None,
) -> Array | None:
    """Where blocks come to either side under each force, of shape (forces, sides, unknowns), in a basis of steps.

    None where a solver cannot say.
    """
    n = basis.shape[1]
    d, bound, push = cp.Variable(n), cp.Variable(), np.random.default_rng(25).standard_normal(n)
    moved: list[Any] = [*map(cp.Constant, center)]
    for k, block in zip(group, _blocks(basis @ d, center, group), strict=True):
        moved[k] = cp.atoms.affine.wraps.symmetric_wrap(block) if block.ndim == 2 else block
    said = describe(moved)
    ties = {} if held is None else {k: held[k] for k in group}
    tied = [variable == moved[k] for k, variable in ties.items()]
    ids = {variable.id for variable in ties.values()} or {d.id}

    def put(at: Array) -> None:
        d.save_value(at)
        for k, variable in ties.items():
            variable.save_value(moved[k].value)

    beside = [one for i, one in enumerate(said) if i not in places and {v.id for v in one.variables()} <= ids]
    others = [one for one in beside if one.variables() and _binds(one, put, push)]
    tight = [(said[i].args[0] - said[i].args[1]) / level <= bound for i in places]
    found = [
        [_point(bound - side * force * (push @ d), [*tight, *others, *tied, cp.abs(d) <= 1]) for side in (1.0, -1.0)]
        for force in PUSHES
    ]
    if any(point is None for row in found for point in row):
        return None
    return np.array([[point[d.id] for point in row if point is not None] for row in found])


def _binds(constraint: Any, put: Callable[[Array], None], far: Any) -> bool:
    """Whether a constraint has nothing to spare where the unknowns are zero: another one is only the end of a long line."""
    if not isinstance(constraint, cp.constraints.Inequality):
        return isinstance(constraint, cp.constraints.Zero | cp.constraints.Equality)
    values, excess = [], _Excess(constraint)
    for at in (0.0 * far, far):
        put(at)
        values.append(excess())
    return values[0] >= -HELD * abs(values[1])


def _blocks(step: Any, center: list[Array], group: tuple[int, ...]) -> list[Any]:
    """The centre's blocks moved by a vector of steps of their entries, one block after the other."""
    moved, begin = [], 0
    for k in group:
        part = step[begin : begin + center[k].size]
        shaped = (
            part.reshape(center[k].shape) if isinstance(part, np.ndarray) else cp.reshape(part, center[k].shape, "C")
        )
        moved.append(center[k] + shaped)
        begin += center[k].size
    return moved


def _curved_of(
    describe: Describe, member: list[Any], center: list[Array], group: tuple[int, ...], units: list[Array]
) -> tuple[dict[int, Any], bool]:
    """Curved constraints on the variables among blocks, by their places, of which the other blocks change nothing.

    And whether there are no other constraints.
    """
    own = {member[k].id for k in group}
    for k in group:
        # Near the centre, where functions are defined, with something everywhere.
        step = 0.1 * units[k]
        member[k].save_value(center[k] + (step + 2.0 * np.diag(np.diagonal(step)) if step.ndim == 2 else step))
    said = describe(member)
    elsewhere = describe([block if k in group else 1.7 * block for k, block in enumerate(member)])
    found = {
        i: one
        for i, (one, other) in enumerate(zip(said, elsewhere, strict=True))
        if {v.id for v in one.variables()} == own and _is_curved(one) and _Excess(one)() == _Excess(other)() < np.inf
    }
    return found, len(found) == len(said)


def _defined(axis: Array, over: Callable[[Array], Array]) -> Array:
    """A step, or as much of it as stays where functions are defined, to either side."""
    for _ in range(HALVINGS):
        if np.isfinite(over(axis)).all():
            break
        axis = axis / 2.0
    return axis


def _axes(group: tuple[int, ...], units: list[Array]) -> Array:
    """Steps along the entries of vectors and of symmetric matrices, of the sizes of their units, as columns."""
    found = []
    for k in group:
        for place in np.ndindex(units[k].shape):
            if list(place) == sorted(place):
                axes = [np.zeros(units[i].shape) for i in group]
                axis = axes[group.index(k)]
                axis[place] = axis[place[::-1]] = OFF * units[k][place]
                found.append(np.concatenate([each.ravel() for each in axes]))
    return np.array(found).T


class _Excess:
    """By how much an inequality's smaller side is over the other one, below zero where it is not.

    Infinite where it is not defined: beyond their domains functions have values still, of another function.
    """

    def __init__(self, constraint: Any) -> None:
        self._sides = constraint.args
        self._domain = with_domains([constraint])[1:]

    def __call__(self) -> float:
        try:
            with np.errstate(all="ignore"):
                if any(map(_is_outside, self._domain)):
                    return math.inf
                found = float(np.max(self._sides[0].value - self._sides[1].value))
        except Exception:  # of a point at which a function has no value, for which CVXPY raises what it likes
            return math.inf
        return math.inf if math.isnan(found) else found


def _is_outside(bound: Any) -> bool:
    """Whether a point misses the bound of a domain by more than rounding."""
    size = max(float(np.max(np.abs(side.value), initial=0.0)) for side in bound.args)
    return float(np.max(bound.violation(), initial=0.0)) > HELD * size


def _length(over: Callable[[float], float], level: float) -> float:
    """The power of four at which a rising function passes a level, or the last one."""
    low, high = -LONGEST, LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if over(4.0**middle) >= level else (middle, high)
    return 4.0**high


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

    excesses = [_Excess(one) for one in curved]

    def over(share: float) -> float:
        """By how much the worst of the others is over its bound at a share of the way off, below zero where none is."""
        _put({name: at + share * (off.get(name, at) - at) for name, at in middle.items()}, constraints)
        return max(excess() for excess in excesses)

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
