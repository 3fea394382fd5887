r"""Facial reduction: cones of a program that hold no interior point are replaced by the face that is in use.

Where every feasible slack of a semidefinite cone is singular in the same directions (a covariance bounded by a singular
one, a ball of radius zero), the dual of the program need not be attained and interior-point methods lose half of
their digits. Inequalities that leave no member any room, such as those of a box of no width, are equations: as
inequalities they would leave the room of a solver's tolerance, which a multiple of the set makes larger. The slack of
a point in the relative interior shows the candidate directions; a second program proves that no feasible point leaves
them; then the cone is replaced by a smaller one and linear equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray

from convexnovelty.cones import Block, Cones, smat, svec, svec_map
from convexnovelty.conic import ConicProgram
from convexnovelty.round_position import congruence
from convexnovelty.validation import Array

__all__ = [
    "CANDIDATE",
    "SAME",
    "Face",
    "applied",
    "candidate",
    "exact",
    "faces",
    "leaves",
    "semidefinite_face",
    "well_inside",
    "with_margins",
]

CANDIDATE = 1e-6  # share of the size of the slack below which an eigenvalue may be zero for all feasible points
# Sizes, beside its terms, of what may distinguish an equation from another, or from none; tried in this order.
SAME = (3e-5, 1e-3)
ZERO = 1e-9  # what is left of a slack that is zero, in a program that was scaled to size one

Minimise = Callable[[ConicProgram], Array | None]


@dataclass(frozen=True)
class Face:
    """A block's rows in terms of its old ones: equations, nonnegative numbers and a smaller semidefinite cone.

    ``exposing`` is the multiplier whose product with every feasible slack is zero. A face is ``exact`` where equations tell it, and
    not a solver's point, which knows it with half of its digits.
    """

    block: Block
    exposing: Array
    equations: sp.csr_array
    nonnegative: sp.csr_array
    semidefinite: sp.csr_array
    order: int
    exact: bool = False


def faces(programs: Sequence[ConicProgram], points: Sequence[Array], minimise: Minimise) -> list[Face]:
    """Faces that hold the slacks of all the programs, which differ in their right-hand sides alone.

    ``points`` are feasible, as far inside as may be; ``minimise`` solves a program or returns None.
    """
    found: list[Face] = []
    first = programs[0]
    for block in first.blocks:
        if block.kind not in ("nonnegative", "semidefinite", "second_order"):
            continue
        slacks = [p.b[block.rows] - p.A[block.rows] @ x for p, x in zip(programs, points, strict=True)]
        slack = np.asarray(sum(slacks)) / len(slacks)
        face, left = candidate(block, slack), np.inf
        for _ in range(block.rows.stop - block.rows.start):
            if face is None:
                break
            furthest = [_furthest(p, face, minimise, exact(found)) for p in programs]
            proved = [value <= ZERO for value, _ in furthest]
            if all(proved):
                found.append(face)
                break
            moved = [s for (_, s), done in zip(furthest, proved, strict=True) if not done]
            if any(s is None for s in moved):
                break
            slack = (slack + np.asarray(sum(s for s in moved if s is not None)) / len(moved)) / 2
            stated, before, left = face.equations.shape[0], left, max(value for value, _ in furthest)
            face = candidate(block, slack)
            if face is not None and face.equations.shape[0] >= stated and left > before / 2:
                break  # what moves so little shows no smaller candidate, however often it is asked
    return found


def well_inside(program: ConicProgram, x: Array) -> bool:
    """Whether a feasible point lies so far inside of every cone that none of them can be in use by a face alone."""
    slack = program.b - program.A @ x
    for block in program.blocks:
        part = slack[block.rows]
        if block.kind == "nonnegative" and not float(part.min(initial=1.0)) > CANDIDATE:
            return False
        if block.kind in ("semidefinite", "second_order") and candidate(block, part) is not None:
            return False
    return not (program.cones.exponential or program.cones.power)


def with_margins(program: ConicProgram) -> ConicProgram:
    r"""The program whose optimum lies inside of every cone that has an inside.

    An interior-point method asked for any feasible point returns one from the interior; a splitting method returns
    one from the boundary, unless it maximises margins :math:`t_k \le 1` with :math:`s_k - t_k e_k \in K_k`. Their sum
    would trade one margin for another down to zero: the sum of their roots :math:`y_k \le \sqrt{t_k}` is maximised.
    """
    cones, width = program.cones, program.c.size
    inner: list[tuple[slice, Array]] = []
    for block in program.blocks:
        if block.kind == "nonnegative":
            inner += [(slice(row, row + 1), np.ones(1)) for row in range(block.rows.start, block.rows.stop)]
        elif block.kind == "second_order":
            inner.append((block.rows, np.eye(1, block.parameter).ravel()))
        elif block.kind == "semidefinite":
            inner.append((block.rows, svec(np.eye(block.parameter))))
    count = len(inner)
    units = sp.lil_array((program.b.size, count))
    for k, (rows, unit) in enumerate(inner):
        units[rows, [k]] = unit[:, None]
    nothing = sp.csr_array((program.b.size, count))
    single = [sp.csr_array(sp.eye_array(count, format="csr")[[k]]) for k in range(count)]
    empty = sp.csr_array((1, width))
    roots = [
        sp.block_array([[empty, -e, 0 * e], [empty, 0 * e, -2.0 * e], [empty, -e, 0 * e]], format="csr") for e in single
    ]
    A = sp.csr_array(sp.hstack([program.A, sp.csr_array(units), nothing]))
    bounds = sp.hstack([sp.csr_array((count, width)), sp.eye_array(count), sp.csr_array((count, count))])
    first, second = cones.zero, cones.zero + cones.nonnegative
    A = sp.csr_array(sp.vstack([A[:first], bounds, A[first:second], *roots, A[second:]]))
    right = np.tile([1.0, 0.0, -1.0], count)
    b = np.concatenate([program.b[:first], np.ones(count), program.b[first:second], right, program.b[second:]])
    wider = replace(cones, nonnegative=cones.nonnegative + count, second_order=(3,) * count + cones.second_order)
    return ConicProgram(np.concatenate([np.zeros(width + count), -np.ones(count)]), A, b, wider)


def leaves(program: ConicProgram, found: Sequence[Face], minimise: Minimise) -> bool:
    """Whether some feasible slack of a program lies outside of the faces of its cones."""
    return any(not _furthest(program, face, minimise, exact(found[:k]))[0] <= ZERO for k, face in enumerate(found))


def exact(found: Sequence[Face]) -> list[Face]:
    """Faces whose equations are rows of the program, with no tilt that a solver's points have."""
    return [face for face in found if face.exact]


def candidate(block: Block, slack: Array) -> Face | None:
    """The face of a cone that a slack lies in, or so near to that it may; None for one that lies inside."""
    rows = slack.size
    nothing = sp.csr_array((0, rows))
    if block.kind == "nonnegative":
        tight = slack <= CANDIDATE
        each = sp.eye_array(rows, format="csr")
        return Face(block, tight.astype(float), each[tight], each[~tight], nothing, 0, True) if tight.any() else None
    if block.kind == "second_order":
        length = float(np.linalg.norm(slack[1:]))
        if slack[0] <= CANDIDATE:  # how far inside of the cone such a slack is says nothing
            exposing = np.eye(rows)[0]
            return Face(block, exposing, sp.eye_array(rows, format="csr"), nothing, nothing, 0)
        if slack[0] - length > CANDIDATE * slack[0]:
            return None
        axis = slack[1:] / length
        equations = sp.csr_array(np.hstack([-axis[:, None], np.eye(rows - 1)]))
        return Face(block, np.concatenate([[1.0], -axis]), equations, sp.csr_array(np.eye(rows)[:1]), nothing, 0)
    values, vectors = np.linalg.eigh(smat(slack, block.parameter))
    used = values > CANDIDATE * max(float(values[-1]), CANDIDATE)
    if used.all():
        return None
    return semidefinite_face(block, vectors[:, used], vectors[:, ~used])


def semidefinite_face(block: Block, Q: Array, N: Array, *, exact: bool = False) -> Face:
    """Slacks that vary along the columns of Q alone, and not along those of N."""
    whole = svec_map(block.parameter)
    mixed = sp.csr_array(sp.kron(sp.csr_array(Q.T), sp.csr_array(N.T)) @ whole)
    nothing = sp.csr_array((0, block.rows.stop - block.rows.start))
    return Face(
        block,
        svec(N @ N.T),
        sp.csr_array(sp.vstack([mixed, congruence(N)])),
        nothing,
        congruence(Q) if Q.size else nothing,
        Q.shape[1],
        exact,
    )


def _furthest(
    program: ConicProgram, face: Face, minimise: Minimise, known: Sequence[Face] = ()
) -> tuple[float, Array | None]:
    """The largest product of a feasible slack with the exposing multiplier, and that slack.

    What ``known`` faces say is stated as equations: a norm below a number that is zero is one only to the digits of an
    inequality.
    """
    part, there = program.A[face.block.rows], program.b[face.block.rows]
    slope = np.asarray(part.T @ face.exposing)
    program = _stating(program, known)
    stated, right = program.A[: program.cones.zero], program.b[: program.cones.zero]
    if stated.shape[0]:
        # Where the equations alone say it nothing need be optimised, over a set that has no inside at that.
        share = scipy.sparse.linalg.lsqr(stated.T, slope, atol=1e-14, btol=1e-14, conlim=0.0)[0]
        if np.linalg.norm(stated.T @ share - slope) <= ZERO * np.linalg.norm(slope):
            value = float(face.exposing @ there - share @ right)
            if value <= ZERO:
                return value, None
    x = minimise(replace(program, c=slope))
    if x is None:
        return float("inf"), None
    slack = there - part @ x
    return float(face.exposing @ slack), slack


def _stating(program: ConicProgram, known: Sequence[Face]) -> ConicProgram:
    """The program with the equations of faces in front of its own."""
    if not known:
        return program
    A = sp.vstack([*(face.equations @ program.A[face.block.rows] for face in known), program.A])
    b = np.concatenate([*(face.equations @ program.b[face.block.rows] for face in known), program.b])
    return ConicProgram(
        program.c, sp.csr_array(A), b, replace(program.cones, zero=program.cones.zero + b.size - program.b.size)
    )


def applied(program: ConicProgram, found: Sequence[Face], same: float = SAME[0]) -> tuple[sp.csr_array, Cones]:
    """The rows of the reduced program as combinations of the old ones, and its cones."""
    if not found:
        return sp.eye_array(program.b.size, format="csr"), program.cones
    by_start = {face.block.rows.start: face for face in found}
    identity = sp.eye_array(program.b.size, format="csr")
    parts: dict[str, list[sp.csr_array]] = {kind: [] for kind in KINDS}
    orders: dict[str, list[tuple[int, ...]]] = {kind: [] for kind in KINDS}
    for block in program.blocks:
        own = identity[block.rows]
        face = by_start.get(block.rows.start)
        if face is None:
            parts[block.kind].append(own)
            orders[block.kind].append(block.parameter)
            continue
        if face.nonnegative.shape[0]:
            parts["nonnegative"].append(face.nonnegative @ own)
        if face.order:
            parts["semidefinite"].append(face.semidefinite @ own)
            orders["semidefinite"].append(face.order)  # type: ignore[arg-type]
    stated = identity[: program.cones.zero]
    derived = sp.csr_array(sp.vstack([face.equations @ identity[face.block.rows] for face in found]))
    # Columns of a flat set may be scaled to next to nothing, which is no reason to take what they say for rounding.
    width = np.asarray(abs(program.A).max(axis=0).todense()).ravel()
    even = sp.csr_array(program.A @ sp.diags_array(1.0 / np.where(width > 0, width, 1.0)))
    sizes = np.concatenate([_terms(face.equations, even[face.block.rows]) for face in found])
    parts["zero"] = [stated, derived[_further(stated @ even, derived @ even, sizes, same)]]
    rows = [part for kind in KINDS for part in parts[kind]]
    cones = Cones(
        sum(part.shape[0] for part in parts["zero"]),
        sum(part.shape[0] for part in parts["nonnegative"]),
        tuple(orders["second_order"]),  # type: ignore[arg-type]
        tuple(orders["semidefinite"]),  # type: ignore[arg-type]
        len(orders["exponential"]),
        tuple(orders["power"]),
    )
    return sp.csr_array(sp.vstack(rows)), cones


KINDS = ("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power")


def _terms(equations: sp.csr_array, rows: sp.csr_array) -> Array:
    """The size of the terms of each equation, which may cancel in it."""
    terms = abs(equations) @ abs(rows)
    return np.asarray(np.sqrt(terms.multiply(terms).sum(axis=1)), dtype=float).ravel()


def _further(stated: sp.csr_array, derived: sp.csr_array, sizes: Array, same: float) -> NDArray[np.intp]:
    """Indices of derived equations that say more than the stated ones, and than each other.

    Faces come from a solver's points, and a semidefinite constraint hardly sees a small tilt of its null space: a
    derived equation may be off by the root of the solver's tolerance. Where the program states the same thing itself,
    in an exact equation, that one is kept; and where all terms of an equation cancel but for the tilt, it says nothing.
    """
    rest = (derived.toarray() / np.where(sizes > 0, sizes, 1.0)[:, None]).T
    if stated.shape[0]:
        basis = scipy.linalg.orth(stated.toarray().T)
        rest = rest - basis @ (basis.T @ rest)
    _, upper, order = scipy.linalg.qr(rest, mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(upper)) > same))
    return np.sort(order[:rank])
