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
    "SAME",
    "SAME_BY_EQUATIONS",
    "Face",
    "applied",
    "exact_faces",
    "faces",
    "leaves",
    "well_inside",
    "with_margins",
]

CANDIDATE = 1e-6  # share of the size of the slack below which an eigenvalue may be zero for all feasible points
# Sizes, beside its terms, of what may distinguish an equation from another, or from none; tried in this order.
SAME = (3e-5, 1e-3)
ZERO = 1e-9  # what is left of a slack that is zero, in a program that was scaled to size one
WIDEST = 1000  # variables up to which equations are asked for faces
DEPENDENT = 1e-10  # share of their size up to which rows of length one are combinations of others
# Eigenvalues of a member's slack, beside the largest, that are none, and those that are some; and the angle to a solver's face.
NULL, SEEN, TILT = 1e-12, 1e-7, 1e-2
ROUNDS = 4  # times that a face is looked for among what the equations tell, each of which doubles its digits
# Least eigenvalue, of one, of a multiplier that exposes a face, and the share of it that rounding leaves of the others.
CLEAR, LEFT = 0.1, 1e-10
WEIGHT = 1e-3  # least share of one that a face known by a member has in a multiplier
SAME_BY_EQUATIONS = 1e-6  # as SAME, where no face is tilted

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
        face, left = _candidate(block, slack), np.inf
        for _ in range(block.rows.stop - block.rows.start):
            if face is None:
                break
            furthest = [_furthest(p, face, minimise, _exact(found)) for p in programs]
            proved = [value <= ZERO for value, _ in furthest]
            if all(proved):
                found.append(face)
                break
            moved = [s for (_, s), done in zip(furthest, proved, strict=True) if not done]
            if any(s is None for s in moved):
                break
            slack = (slack + np.asarray(sum(s for s in moved if s is not None)) / len(moved)) / 2
            stated, before, left = face.equations.shape[0], left, max(value for value, _ in furthest)
            face = _candidate(block, slack)
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
        if block.kind in ("semidefinite", "second_order") and _candidate(block, part) is not None:
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
    return any(not _furthest(program, face, minimise, _exact(found[:k]))[0] <= ZERO for k, face in enumerate(found))


def _exact(found: Sequence[Face]) -> list[Face]:
    """Faces whose equations are rows of the program, with no tilt that a solver's points have."""
    return [face for face in found if face.exact]


def _candidate(block: Block, slack: Array) -> Face | None:
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
    return _semidefinite_face(block, vectors[:, used], vectors[:, ~used])


def _semidefinite_face(block: Block, Q: Array, N: Array, *, exact: bool = False) -> Face:
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


def exact_faces(
    programs: Sequence[ConicProgram], points: Sequence[Array], found: Sequence[Face], member: Array | None = None
) -> list[Face]:
    r"""The faces found, those of semidefinite cones to rounding where a known ``member`` or the programs' equations tell them.

    The slack of a member is zero along all that a face leaves out, and shows it where nothing else is zero.

    A multiplier :math:`(U_k)` of the cones is zero on all points of the equations, which are :math:`Ex = e`, where
    :math:`\sum_kA_k'U_k` and :math:`\sum_kb_k'U_k` are those of one combination of them. Such multipliers are a linear space. The
    nearest one to what ``points`` of the programs show exposes a face if it is positive semidefinite, and proves it: those that no
    solver could prove are added.
    """
    refined = [_shown(face, programs[0], member) for face in found]
    known = {face.block.rows.start for face in found}
    open_ = [_guess(block, programs, points, member) for block in programs[0].blocks if block.rows.start not in known]
    guessed = [face for face in open_ if face is not None]
    while programs[0].c.size <= WIDEST:
        if shown := [face for face in guessed if face.exact]:
            guessed = [face for face in guessed if not face.exact]
            if _expose(shown, _beside_equations(programs, shown, _exact(refined))):
                refined += shown
        asked = [face for face in refined if not face.exact and face.block.kind == "semidefinite"]
        told = _told(programs, asked, guessed, _exact(refined)) or _told(programs, asked, [], _exact(refined))
        if not told:
            break
        refined = [told.get(face.block.rows.start, face) for face in refined]
        refined += [told[face.block.rows.start] for face in guessed if face.block.rows.start in told]
        guessed = [face for face in guessed if face.block.rows.start not in told]
    return refined


def _guess(
    block: Block, programs: Sequence[ConicProgram], points: Sequence[Array], member: Array | None
) -> Face | None:
    """The face of a semidefinite cone that a member's slack shows, or the mean of those of points; None for neither."""
    if block.kind != "semidefinite":
        return None
    slacks = [p.b[block.rows] - p.A[block.rows] @ x for p, x in zip(programs, points, strict=True)]
    face = _candidate(block, np.asarray(sum(slacks)) / len(slacks))
    return None if face is None else _shown(face, programs[0], member)


def _told(
    programs: Sequence[ConicProgram], proved: Sequence[Face], guessed: Sequence[Face], known: Sequence[Face]
) -> dict[int, Face]:
    """Exact faces by the rows at which their blocks start: of as many dimensions as those that are proved, of any where they are guessed."""
    asked = [*proved, *guessed]
    if not asked:
        return {}
    left = _beside_equations(programs, asked, known)
    ranks = [face.block.parameter - face.order for face in proved] + [None] * len(guessed)
    null = [_kernel(face, part, rank) for face, part, rank in zip(asked, left, ranks, strict=True)]
    if all(N is None for N in null):
        null = _exposed(asked, left, ranks)
    return {
        face.block.rows.start: _exactly(face.block, N) for face, N in zip(asked, null, strict=True) if N is not None
    }


def _exactly(block: Block, N: Array) -> Face:
    return _semidefinite_face(block, np.asarray(np.linalg.svd(N)[0][:, N.shape[1] :]), N, exact=True)


def _shown(face: Face, program: ConicProgram, member: Array | None) -> Face:
    """The face that leaves out what the slack of a member has no part in, if it is the same as far as solvers can tell."""
    if member is None or face.block.kind != "semidefinite":
        return face
    order, rows = face.block.parameter, face.block.rows
    values, vectors = np.linalg.eigh(smat(program.b[rows] - program.A[rows] @ member, order))
    k, largest = order - face.order, float(np.abs(values).max())
    none = np.abs(values[:k]).max() <= NULL * largest
    if k == order or largest <= CANDIDATE or not none or values[k] <= SEEN * largest:
        return face
    N, guessed = vectors[:, :k], _left_out(face)
    return _exactly(face.block, N) if np.linalg.norm(guessed - N @ (N.T @ guessed)) <= TILT else face


def _beside_equations(programs: Sequence[ConicProgram], asked: Sequence[Face], known: Sequence[Face]) -> list[Array]:
    """The rows of each face's slacks and their right-hand sides, less what equations and ``known`` faces say of them, in one size."""
    whole = np.column_stack([programs[0].A.toarray(), *(program.b for program in programs)])
    reach = np.abs(whole).max(axis=0)
    whole = whole / np.where(reach > 0, reach, 1.0)
    stated = np.vstack([whole[: programs[0].cones.zero], *(face.equations @ whole[face.block.rows] for face in known)])
    lengths = np.linalg.norm(stated, axis=1, keepdims=True)
    turned, upper, _ = scipy.linalg.qr((stated / np.where(lengths > 0, lengths, 1.0)).T, mode="economic", pivoting=True)
    basis = turned[:, np.abs(np.diag(upper)) > DEPENDENT]
    held = [whole[face.block.rows] for face in asked]
    size = max((float(np.linalg.norm(part)) for part in held), default=1.0) or 1.0
    return [(part - (part @ basis) @ basis.T) / size for part in held]


def _kernel(face: Face, slacks: Array, rank: int | None) -> Array | None:
    """What all slacks of a face, the columns, take to zero, if it is what solvers see, of the given rank."""
    order, guessed = face.block.parameter, _left_out(face)
    along = scipy.linalg.qr(np.vstack([smat(slack, order) for slack in slacks.T]), mode="r")[0][:order]
    _, sizes, axes = np.linalg.svd(along)
    N = np.asarray(axes[np.append(sizes, np.zeros(order - sizes.size)) <= DEPENDENT].T)
    seen = N.size > 0 and np.linalg.norm(N - guessed @ (guessed.T @ N)) <= TILT
    return N if seen and rank in (None, N.shape[1]) else None


def _expose(shown: Sequence[Face], left: Sequence[Array]) -> bool:
    """Whether equations tell that slacks are zero along all that faces leave out, whose directions a member shows."""
    null = [_left_out(face) for face in shown]
    spans = [
        np.array([svec(N @ smat(e, N.shape[1]) @ N.T) for e in np.eye(N.shape[1] * (N.shape[1] + 1) // 2)])
        for N in null
    ]
    _, sizes, axes = np.linalg.svd(np.hstack([part.T @ span.T for part, span in zip(left, spans, strict=True)]))
    free = axes[np.append(sizes, np.zeros(len(axes) - sizes.size)) <= DEPENDENT]
    nearest = free.T @ (free @ np.concatenate([svec(np.eye(N.shape[1])) for N in null]))
    parts = np.split(nearest, np.cumsum([len(span) for span in spans])[:-1])
    return all(
        float(np.linalg.eigvalsh(smat(part, N.shape[1]))[0]) > WEIGHT for part, N in zip(parts, null, strict=True)
    )


def _exposed(asked: Sequence[Face], left: Sequence[Array], ranks: Sequence[int | None]) -> list[Array | None]:
    """Directions, as columns, that slacks of faces take to zero by what is left of them beside equations; None where none are told."""
    held = list(range(len(asked)))
    while held:
        found = _nearest([_left_out(asked[k]) for k in held], [left[k] for k in held], [ranks[k] for k in held])
        if all(N is not None for N in found):
            told = dict(zip(held, found, strict=True))
            return [told.get(k) for k in range(len(asked))]
        held = [k for k, N in zip(held, found, strict=True) if N is not None]  # the others say nothing of these
    return [None] * len(asked)


def _nearest(null: list[Array], left: list[Array], ranks: list[int | None]) -> list[Array | None]:
    """The directions of the multiplier that is nearest to that of some directions; None where it is none of that rank."""
    turned, sizes, _ = np.linalg.svd(np.vstack(left))
    free = turned[:, np.append(sizes, np.zeros(len(turned) - sizes.size)) <= DEPENDENT]
    starts = np.cumsum([0, *(len(part) for part in left)])
    for _ in range(ROUNDS):
        nearest = free @ (free.T @ np.concatenate([svec(N @ N.T) for N in null]))
        split = [
            _columns(smat(nearest[start:stop], len(N)), rank)
            for start, stop, N, rank in zip(starts[:-1], starts[1:], null, ranks, strict=True)
        ]
        null = [N for N, _ in split]
    return [N if exact else None for N, exact in split]


def _left_out(face: Face) -> Array:
    """The directions, as columns, that a face of a semidefinite cone leaves out."""
    order = face.block.parameter
    return _columns(smat(face.exposing, order), order - face.order)[0]


def _columns(matrix: Array, rank: int | None) -> tuple[Array, bool]:
    """The range of the part of a symmetric matrix of that rank with the largest eigenvalues, and whether there is no other part.

    Without a rank it is the number of eigenvalues that are of the order of one.
    """
    values, vectors = np.linalg.eigh(matrix)
    rank = max(1, int(np.sum(values > CLEAR))) if rank is None else rank
    others = values.size - rank
    exact = values[others] > CLEAR and np.abs(values[:others]).max(initial=0.0) <= LEFT * values[others]
    return vectors[:, others:], bool(exact)


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
