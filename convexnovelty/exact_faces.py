r"""Faces of semidefinite cones to rounding, where a program's equations or a known member tell them.

A solver's points know the directions that a face leaves out with half of their digits. The slack of a member is zero along all
of them, and shows them where it is zero along no others. And a multiplier :math:`(U_k)` of the cones is zero on all points of
the equations :math:`Ex = e` where :math:`\sum_kA_k'U_k` and :math:`\sum_kb_k'U_k` are those of one combination of them. Such
multipliers are a linear space: one that is positive semidefinite exposes a face, and proves it without a solver's word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from convexnovelty.cones import Block, smat, svec
from convexnovelty.conic import ConicProgram
from convexnovelty.facial import CANDIDATE, Face, candidate, exact, semidefinite_face
from convexnovelty.validation import Array

__all__ = ["SAME_BY_EQUATIONS", "exact_faces"]

WIDEST = 1000  # variables up to which equations are asked for faces
DEPENDENT = 1e-10  # share of their size up to which rows of length one are combinations of others
# Eigenvalues of a member's slack, beside the largest, that are none, and those that are some; and the angle to a solver's face.
NULL, SEEN, TILT = 1e-12, 1e-7, 1e-2
ROUNDS = 4  # times that a face is looked for among what the equations tell, each of which doubles its digits
# Least eigenvalue, of one, of a multiplier that exposes a face, and the share of it that rounding leaves of the others.
CLEAR, LEFT = 0.1, 1e-10
WEIGHT = 1e-3  # least share of one that a face known by a member has in a multiplier
SAME_BY_EQUATIONS = 1e-6  # as SAME, where no face is tilted


def exact_faces(
    programs: Sequence[ConicProgram], points: Sequence[Array], found: Sequence[Face], member: Array | None = None
) -> list[Face]:
    """The faces found, those of semidefinite cones to rounding where a known ``member`` or the equations tell them.

    Faces that ``points`` of the programs show, one each, and that no solver could prove, are added where the equations do.
    """
    refined = [_shown(face, programs[0], member) for face in found]
    known = {face.block.rows.start for face in found}
    open_ = [_guess(block, programs, points, member) for block in programs[0].blocks if block.rows.start not in known]
    guessed = [face for face in open_ if face is not None]
    while programs[0].c.size <= WIDEST:
        if shown := [face for face in guessed if face.exact]:
            guessed = [face for face in guessed if not face.exact]
            if _expose(shown, _beside_equations(programs, shown, exact(refined))):
                refined += shown
        asked = [face for face in refined if not face.exact and face.block.kind == "semidefinite"]
        told = _told(programs, asked, guessed, exact(refined)) or _told(programs, asked, [], exact(refined))
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
    face = candidate(block, np.asarray(sum(slacks)) / len(slacks))
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
    return semidefinite_face(block, np.asarray(np.linalg.svd(N)[0][:, N.shape[1] :]), N, exact=True)


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
