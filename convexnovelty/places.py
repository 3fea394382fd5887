r"""Points, extents and rays of the feasible set of a conic program, by Clarabel's answers and our own arithmetic.

Programs are those of sets, scaled to size one: a point that is inside, how far others lie from it, and proofs that there is none
or that there is no end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray

from convexnovelty.cones import Cones, triangle
from convexnovelty.conic import ConicProgram, ConicSolution
from convexnovelty.direct import attempts
from convexnovelty.facial import with_margins
from convexnovelty.round_position import is_inside, thinnest_slack
from convexnovelty.validation import Array

__all__ = [
    "CERTIFICATE",
    "DEPENDENT",
    "DONE",
    "FAR",
    "INSIDE",
    "LADDER",
    "MARGIN",
    "RESCALE",
    "ROUNDING",
    "SMALL",
    "completed",
    "completed_inside",
    "extent_along",
    "further_in",
    "goes_on",
    "halfway",
    "has_no_ray",
    "has_room",
    "holds",
    "inserted",
    "is_ray",
    "least_change",
    "minimiser",
    "onto_equations",
    "proves_empty",
    "with_root",
]

CERTIFICATE = 1e-6  # relative size up to which the residual of an infeasibility certificate passes for zero
MARGIN = 1e-3  # change that leaves the multiplier of size one inside of every dual cone
ROUNDING = 1e-9  # size below which a set that was scaled to size one counts as a point
FAR = 1e4  # a set that reaches so many times its scale holds a ray
INSIDE = 1e-8  # violation up to which a point of another number is one of this number too
RESCALE = 100.0  # how much scales must differ to be worth a second look
DEPENDENT = 1e-6  # share of the largest singular value below which equations that faces added repeat others
SMALL = 400  # unknowns up to which a basis of what equations leave free is formed
DONE = ("Solved", "AlmostSolved")
CURVED = ("second_order", "semidefinite", "exponential", "power")  # kinds of cones that are no half-lines
LADDER = (1e-11, 1e-9, 1e-8, 1e-6)  # tolerances of the maximisation, tightest first


def onto_equations(program: ConicProgram, x: Array) -> Array:
    """A point moved onto the equations by the least step."""
    equations, right = program.A[: program.cones.zero], program.b[: program.cones.zero]
    if not right.size or x.size > SMALL:
        return x
    for _ in range(2):
        x = x + np.linalg.lstsq(equations.toarray(), right - equations @ x, rcond=DEPENDENT)[0]
    return x


def completed(program: ConicProgram, columns: NDArray[np.intp], target: Array) -> Array:
    """A point whose own columns are ``target``, with what the equations alone say of its further variables."""
    x = np.zeros(program.c.size)
    x[columns] = target
    zero, inner = program.cones.zero, np.setdiff1d(np.arange(x.size), columns)
    if zero and inner.size:
        equations = program.A[:zero]
        left = program.b[:zero] - equations @ x
        x[inner] = scipy.sparse.linalg.lsqr(equations[:, inner], left, atol=1e-15, btol=1e-15)[0]
    return x


def completed_inside(program: ConicProgram, columns: NDArray[np.intp], target: Array) -> Array:
    """The same, with further variables that no equation holds where a solver puts them, with room on all sides."""
    x, zero = completed(program, columns, target), program.cones.zero
    free = np.ones(x.size, dtype=bool)
    free[columns] = False
    free[program.A[:zero].indices] = False
    A = sp.csr_array(program.A[:, np.flatnonzero(free)])
    seen = np.diff(A.indptr) > 0
    blocks = [block for block in program.blocks if block.kind not in ("zero", "nonnegative") and seen[block.rows].any()]
    lower = zero + np.flatnonzero(seen[zero : zero + program.cones.nonnegative])
    if not (lower.size or blocks):
        return x
    rows = np.concatenate([lower, *(np.arange(block.rows.start, block.rows.stop) for block in blocks)])
    kinds = {kind: [block.parameter for block in blocks if block.kind == kind] for kind in CURVED}
    cones = Cones(
        nonnegative=lower.size,
        second_order=tuple(kinds["second_order"]),
        semidefinite=tuple(kinds["semidefinite"]),
        exponential=len(kinds["exponential"]),
        power=tuple(kinds["power"]),
    )
    left = ConicProgram(np.zeros(A.shape[1]), sp.csr_array(A[rows]), (program.b - program.A @ x)[rows], cones)
    scaled, scale = left.equilibrated()
    x[free] = scale.columns * next(attempts(with_margins(scaled), LADDER)).x[: A.shape[1]]
    return x


def holds(program: ConicProgram, x: Array, violation: float = INSIDE) -> bool:
    """Whether a point satisfies the constraints, in a program that was scaled to size one."""
    return float(np.linalg.norm(program.cones.violations(program.b - program.A @ x))) <= violation


def has_room(program: ConicProgram, x: Array, least: float) -> bool:
    """Whether a point of a program in scale lies inside of every cone by a share ``least``; exponential ones are not asked."""
    slack = program.b - program.A @ x
    for block in program.blocks:
        own = slack[block.rows]
        if block.kind == "nonnegative" and not (own > least).all():
            return False
        if block.kind == "second_order" and not own[0] - np.linalg.norm(own[1:]) > least * max(1.0, own[0]):
            return False
    return thinnest_slack(slack, program.cones) > least


def extent_along(program: ConicProgram, columns: NDArray[np.intp]) -> float | None:
    """How far a program's points reach along a generic direction of some columns; None where no solver tells."""
    cost = np.zeros(program.c.size)
    cost[columns] = np.random.default_rng(21).standard_normal(columns.size) / np.sqrt(columns.size)
    ends = [minimiser(replace(program, c=sign * cost)) for sign in (1.0, -1.0)]
    return None if ends[0] is None or ends[1] is None else float(cost @ (ends[1] - ends[0]))


def minimiser(program: ConicProgram) -> Array | None:
    """A point of the least value; None where no solver ends with one."""
    for solution in attempts(program, LADDER[:3]):
        if solution.status == "Solved":
            return solution.x
    return None


def proves_empty(program: ConicProgram, solution: ConicSolution) -> bool:
    """Whether a multiplier shows by our own arithmetic that no point is feasible: A'z = 0, z in K*, b'z < 0."""
    value = float(program.b @ solution.z)
    residual = float(np.linalg.norm(program.A.T @ solution.z))
    outside = float(np.linalg.norm(program.cones.violations(solution.z, dual=True)))
    return value < 0 and residual + outside <= CERTIFICATE * -value


def least_change(program: ConicProgram) -> float:
    """The least norm of a change of the right-hand side that makes the program feasible.

    A certificate of infeasibility is read up to the solver's tolerance, and coordinates of a large size can hide
    behind it; this program has a solution whatever the set is.
    """
    rows, width = program.b.size, program.c.size
    identity = sp.eye_array(rows, format="csr")
    A = sp.csr_array(sp.hstack([program.A, identity, sp.csr_array((rows, 1))]))
    level = sp.csr_array(([-1.0], ([0], [width + rows])), shape=(1, width + rows + 1))
    change = sp.hstack([sp.csr_array((rows, width)), identity, sp.csr_array((rows, 1))])
    relaxed = inserted(replace(program, A=A), sp.csr_array(sp.vstack([level, change])), np.zeros(rows + 1))
    cost = np.append(np.zeros(width + rows), 1.0)
    for solution in attempts(replace(relaxed, c=cost), LADDER[1:]):
        if solution.status in DONE:
            return float(np.linalg.norm(solution.x[width : width + rows]))
    return float("inf")


def goes_on(program: ConicProgram, cost: Array) -> bool:
    """Whether the feasible set goes on for many times its scale: a ray is read up to the solver's tolerance."""
    line = sp.csr_array(cost[None, :])
    A = sp.csr_array(sp.vstack([line, program.A]))
    cones = replace(program.cones, zero=program.cones.zero + 1)
    further = ConicProgram(program.c, A, np.concatenate([[-FAR], program.b]), cones)
    return any(solution.status in DONE for solution in attempts(further, LADDER[2:3]))


def further_in(program: ConicProgram, inside: Array, far: Array | None) -> Array:
    """A point with larger slacks, where that makes a difference: any point inside will do for a solver, and in a set that
    is large beside its centre it finds one next to a wall."""
    if far is None:
        return inside
    middle = (inside + far) / 2
    sizes = [
        np.array([np.linalg.norm(slack[block.rows]) for block in program.blocks if block.kind != "zero"])
        for slack in (program.b - program.A @ point for point in (inside, middle))
    ]
    grown = np.max(sizes[1] / np.maximum(sizes[0], ROUNDING), initial=0.0) > RESCALE
    if not (grown and np.isfinite(middle).all() and holds(program, middle, ROUNDING)):
        return inside
    # Both ends may lie at the wall of one cone, and then all between them does: margins are shares of the slacks out there.
    rows = np.ones(program.b.size)
    for block, size in zip((block for block in program.blocks if block.kind != "zero"), sizes[1], strict=True):
        rows[block.rows] = 1.0 / max(float(size), ROUNDING)
    A = sp.csr_array(sp.diags_array(rows) @ program.A)
    columns = 1.0 / np.maximum(scipy.sparse.linalg.norm(A, axis=0), ROUNDING)
    scaled = replace(program, A=sp.csr_array(A @ sp.diags_array(columns)), b=rows * program.b)
    solution = next(attempts(with_margins(scaled), LADDER[3:]))
    deep = solution.x[: columns.size]
    return columns * deep if solution.status in DONE and holds(scaled, deep, ROUNDING) else middle


def halfway(program: ConicProgram, inside: Array, member: Array) -> Array:
    """A point inside, moved halfway to a member that has far more room in some cone: next to a wall there, it would take the
    set for as small as that room."""
    middle = (inside + member) / 2
    near, far, slack = (program.b - program.A @ point for point in (inside, member, middle))
    if not (_rooms(far, program) > RESCALE * np.maximum(_rooms(near, program), ROUNDING)).any():
        return inside
    terms, equations = np.abs(program.b) + abs(program.A) @ np.abs(middle), slice(program.cones.zero)
    met = (np.abs(slack[equations]) <= ROUNDING * terms[equations]).all()
    return middle if met and is_inside(slack, terms, program.cones) else inside


def _rooms(slack: Array, program: ConicProgram) -> Array:
    """How far each inequality, second-order cone and axis of a semidefinite one is from its wall."""
    found = []
    for block in program.blocks:
        own = slack[block.rows]
        if block.kind == "nonnegative":
            found.append(own)
        elif block.kind == "second_order":
            found.append(own[:1] - np.linalg.norm(own[1:]))
        elif block.kind == "semidefinite":
            first, second = triangle(block.parameter)
            found.append(own[first == second])
    return np.concatenate(found) if found else np.zeros(0)


def has_no_ray(program: ConicProgram, columns: Array, direction: Array) -> tuple[bool, Array | None]:
    """Whether a multiplier shows by our own arithmetic that no direction is feasible for ever, and the point of the
    largest slacks that comes with it.

    For a ray :math:`x`, :math:`-Ax \\in K`, so that :math:`A'z = 0` with :math:`z` inside of :math:`K^*` leaves
    :math:`Ax = 0` only, and the columns must have a part in no such :math:`x`. Sets without it may be bounded still:
    directions of their further variables, which nobody sees, can go on for ever.
    """
    inside = program.cones.dual_interior()
    solution = next(attempts(replace(program, c=program.A.T @ inside), LADDER[3:]))
    if solution.status not in DONE:
        return False, None
    multiplier = solution.z + inside
    # In a program of many rows the solver's residual adds up; what takes it away leaves the multiplier inside of the cone.
    away = scipy.sparse.linalg.lsqr(program.A.T, program.A.T @ multiplier, atol=1e-12, btol=1e-12)[0]
    moved = float(np.linalg.norm(away[program.cones.zero :]))
    moved += float(np.linalg.norm(program.cones.violations(solution.z, dual=True)))
    left = float(np.linalg.norm(program.A.T @ (multiplier - away)))
    wanted = np.zeros(program.c.size)
    wanted[columns] = direction / np.linalg.norm(direction)
    share = scipy.sparse.linalg.lsqr(program.A.T, wanted, atol=CERTIFICATE / 10, btol=CERTIFICATE / 10)[0]
    proved = left <= CERTIFICATE and moved <= MARGIN
    return bool(proved and np.linalg.norm(program.A.T @ share - wanted) <= CERTIFICATE), solution.x


def is_ray(program: ConicProgram, solution: ConicSolution, cost: Array) -> bool:
    """Whether a direction keeps every feasible point feasible for ever: -Ax in K, c'x < 0."""
    value = float(cost @ solution.x)
    outside = float(np.linalg.norm(program.cones.violations(-(program.A @ solution.x))))
    return value < 0 and outside <= CERTIFICATE * -value


def inserted(program: ConicProgram, rows: sp.csr_array, b: Array) -> ConicProgram:
    """The program with one more second-order cone, put where the order of kinds wants it."""
    cones = program.cones
    place = cones.zero + cones.nonnegative
    A = sp.vstack([program.A[:place], rows, program.A[place:]], format="csr")
    wider = replace(cones, second_order=(rows.shape[0], *cones.second_order))
    right = np.concatenate([program.b[:place], b, program.b[place:]])
    return ConicProgram(np.zeros(A.shape[1]), sp.csr_array(A), right, wider)


def with_root(
    program: ConicProgram, columns: Array, cost: Array, slope: Array, constant: float
) -> tuple[ConicProgram, Array]:
    r"""The program with a variable :math:`y \le \sqrt r` for an affine :math:`r`: :math:`\|(2y, r - 1)\| \le r + 1`."""
    width = program.c.size
    line = sp.csr_array((slope, (np.zeros(columns.size, dtype=int), columns)), shape=(1, width + 1))
    single = sp.csr_array(([-2.0], ([0], [width])), shape=(1, width + 1))
    rows = sp.vstack([-line, single, -line], format="csr")
    A = sp.hstack([program.A, sp.csr_array((program.b.size, 1))], format="csr")
    right = np.array([constant + 1, 0.0, constant - 1])
    widened = inserted(replace(program, A=sp.csr_array(A)), sp.csr_array(rows), right)
    return widened, np.concatenate([cost, [0.0]])
