r"""Coordinates in which a set is round: linear maps of rows and columns that bring a program around a point inside to size one.

Scaling rows and columns one by one, which is all that equilibration does, cannot help where a set is thin along
directions that are not the coordinates', as every set is that is written in the metric of an ill-conditioned
covariance: beside a variance of one a solver's tolerance passes for a variance of 1e-8. Two more maps leave the set what
it is. A semidefinite cone is its own image under a congruence, so that the slack of the point inside becomes the
identity. And the set's own variables may be turned, so that the ellipsoid of :math:`\|A v\| \le 1`, which lies within
the set once the slacks are identities (Dikin's), becomes a ball.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from convexnovelty.cones import Block, Cones, smat, svec_map
from convexnovelty.conic import ConicProgram
from convexnovelty.validation import Array

__all__ = [
    "NOTHING",
    "THIN",
    "Position",
    "congruence",
    "congruences",
    "depth",
    "evened_cones",
    "in_position",
    "is_crooked",
    "is_inside",
    "product",
    "thinnest_slack",
]

THIN = 1e-2  # share of the largest eigenvalue of a slack below which the smallest one asks for a congruence
CROOKED = 1e-3  # the same of what rows see of a direction, where no cone is thin
UNEVEN = 2.0**5  # ratio of what an exponential or a power cone compares from which it is brought to one
CANCELLED = 1e-15  # share of its terms up to which a sum may be rounding
NOTHING = 1e-13  # size below which an entry is rounding where slacks and reaches are ones
OUTSIDE = 1e-8  # violation up to which a solver's point counts, in a program in scale
ROUNDING = 1e-14  # share of the largest eigenvalue that is rounding
DEPENDENT = 1e-10  # share of the largest singular value below which equations do not determine a direction
FLAT = 1e-10  # share of the largest reach across the set's own variables that none of the cones sees
WIDEST = 400  # variables up to which a turn is worth its dense columns


def congruence(Q: Array) -> sp.csr_array:
    r"""The matrix of :math:`\mathrm{svec}(X) \mapsto \mathrm{svec}(Q'XQ)`."""
    factor = sp.csr_array(Q.T)
    return sp.csr_array(svec_map(Q.shape[1]).T @ sp.kron(factor, factor) @ svec_map(Q.shape[0]))


def product(*factors: sp.csr_array) -> sp.csr_array:
    """A product of matrices without what rounding leaves of terms that cancel: as entries they would count for data."""
    whole, terms = factors[-1], abs(factors[-1])
    for factor in reversed(factors[:-1]):
        whole, terms = factor @ whole, abs(factor) @ terms
    kept = sp.coo_array(whole)
    limit = sp.csr_array(terms)[kept.coords]
    told = np.abs(kept.data) > CANCELLED * np.asarray(limit).ravel()
    return sp.csr_array((kept.data[told], (kept.coords[0][told], kept.coords[1][told])), shape=kept.shape)


def depth(program: ConicProgram, x: Array) -> float:
    """The least eigenvalue of the semidefinite slacks of a point, each brought to ones on its diagonal; zero where it is no
    more than rounding, and outside of the set."""
    slack = program.b - program.A @ x
    if float(np.linalg.norm(program.cones.violations(slack))) > OUTSIDE:
        return 0.0
    return thinnest_slack(slack, program.cones)


def thinnest_slack(slack: Array, cones: Cones, among: Collection[int] | None = None) -> float:
    """The least eigenvalue of all semidefinite slacks, or those of some cones, each brought to ones on its diagonal."""
    blocks = [b for k, b in enumerate(cones.blocks()) if b.kind == "semidefinite" and (among is None or k in among)]
    return min((_thinnest(slack, block) for block in blocks), default=np.inf)


def is_inside(slack: Array, terms: Array, cones: Cones) -> bool:
    """Whether a slack lies inside of every cone by more than rounding of the terms that it is made of."""
    for block in cones.blocks():
        own, least = slack[block.rows], OUTSIDE * terms[block.rows]
        if block.kind == "nonnegative" and not (own > least).all():
            return False
        if block.kind == "second_order" and not own[0] - np.linalg.norm(own[1:]) > least[0]:
            return False
        if block.kind == "exponential" and not _holds_exponential(own + [1, 0, -1] * least, float(least.max())):
            return False
        if block.kind == "power" and not _holds_power(own[:-1] - least[:-1], abs(own[-1]) + least[-1], block.parameter):
            return False
    return thinnest_slack(slack, cones) > 0


def _holds_exponential(values: Array, least: float) -> bool:
    x, y, z = (float(value) for value in values)
    return y > least and z > 0 and x <= y * math.log(z / y)


def _holds_power(factors: Array, bound: float, exponents: Sequence[float]) -> bool:
    return bool((factors > 0).all() and float(np.prod(factors ** np.asarray(exponents))) >= bound)


def _thinnest(slack: Array, block: Block) -> float:
    """The least eigenvalue of a slack of ones on its diagonal; nothing for rounding."""
    whole = smat(slack[block.rows], block.parameter)
    size = np.sqrt(np.maximum(whole.diagonal(), 0.0))
    if not (size > 0).all():
        return 0.0
    values = np.linalg.eigvalsh(whole / np.outer(size, size))
    return float(values[0]) if values[0] > ROUNDING * values[-1] else 0.0


def congruences(slack: Array, cones: Cones) -> sp.csr_array:
    """The map of rows that makes thin slacks of semidefinite cones the identity."""
    parts = []
    for block in cones.blocks():
        rows = block.rows.stop - block.rows.start
        if block.kind == "semidefinite" and 0 < _thinnest(slack, block) < THIN:
            whole = smat(slack[block.rows], block.parameter)
            # In rows of size one first: the eigenvectors of a matrix know its small entries to rounding of the large ones.
            size = np.sqrt(whole.diagonal())
            values, vectors = np.linalg.eigh(whole / np.outer(size, size))
            parts.append(congruence(vectors / np.sqrt(values) / size[:, None]))
        else:
            parts.append(sp.csr_array(sp.eye_array(rows, format="csr")))
    return sp.csr_array(sp.block_diag(parts, format="csr"))


def evened_cones(slack: Array, cones: Cones) -> sp.csr_array | None:
    r"""The map of rows that brings a point to z = y in exponential cones :math:`y e^{x/y} \le z`, and to equal factors in power
    cones :math:`|z| \le \prod x_i^{\alpha_i}`; None where it changes nothing.

    With (x, y, z) the first holds :math:`(x - y\log k, y, z/k)`, and with (x, z) the second :math:`(x_i/k_i, z/\prod
    k_i^{\alpha_i})`. Where z, or a factor, is next to nothing, a solver's tolerance of it would be a larger one, by as much,
    of its logarithm and of the others.
    """
    A = sp.eye_array(slack.size, format="lil")
    for block in cones.blocks():
        at = np.arange(block.rows.start, block.rows.stop)
        if block.kind == "exponential" and slack[at[1:]].min() > 0:
            ratio = float(slack[at[2]] / slack[at[1]])
            if not 1 / UNEVEN < ratio < UNEVEN:
                A[at[0], at[1]], A[at[2], at[2]] = -math.log(ratio), 1.0 / ratio
        elif block.kind == "power" and (factors := slack[at[:-1]]).min() > 0:
            shares = factors / factors.max()
            if shares.min() < 1 / UNEVEN:
                A[at, at] = 1.0 / np.append(shares, np.prod(shares ** np.array(block.parameter)))
    changed = sp.csr_array(A - sp.eye_array(slack.size))
    changed.eliminate_zeros()
    return sp.csr_array(A) if changed.nnz else None


@dataclass(frozen=True)
class Position:
    """A program in round position: ``rows`` combines the rows that were given, ``frame`` takes the new coordinates to the
    old ones, and ``columns`` are the set's own among the new."""

    rows: sp.csr_array
    frame: sp.csr_array
    A: sp.csr_array
    cones: Cones
    columns: NDArray[np.intp]


def is_crooked(A: sp.csr_array) -> bool:
    """Whether the rows of a program in scale, equations among them, see some combination of columns next to not at all."""
    if A.shape[1] > WIDEST:
        return False
    seen = A.toarray()
    reach = np.linalg.norm(seen, axis=0)
    sizes = np.linalg.svd(seen[:, reach > 0] / reach[reach > 0], compute_uv=False)
    return bool(sizes.size and FLAT * sizes[0] < sizes[-1] < CROOKED * sizes[0])


def in_position(A: sp.csr_array, cones: Cones, columns: NDArray[np.intp]) -> Position:
    """The program of a set whose slacks are of size one, in coordinates in which it is round, its own among themselves."""
    rows, frame = sp.eye_array(A.shape[0], format="csr"), sp.eye_array(A.shape[1], format="csr")
    found = Position(sp.csr_array(rows), sp.csr_array(frame), A, cones, columns)
    if A.shape[1] > WIDEST:
        return found
    less = _eliminated(found)
    around = _turn(less)
    if around is None:
        return less
    even = _even_equations(product(less.A, around), less.cones)
    # Slacks and reaches are ones here, so that an entry next to nothing is what rounding has left.
    turned = product(even, less.A, around)
    turned = sp.csr_array(turned.multiply(abs(turned) > NOTHING))
    return Position(sp.csr_array(even @ less.rows), product(less.frame, around), turned, less.cones, less.columns)


def _eliminated(found: Position) -> Position:
    """The program whose equations have been solved for the columns that are not the set's own, which then come last.

    An equation that ties a thin matrix to another one knows small variances to rounding of the large ones, and so do the
    two until one of them is gone.
    """
    A, columns, zero = found.A, found.columns, found.cones.zero
    inner = np.setdiff1d(np.arange(A.shape[1]), columns)
    stated, rest = A[:zero], A[zero:]
    # Columns that were solved for before may have rounding in what is left: taken for entries it would be solved for again.
    held = _without_rounding(stated)[:, inner]
    if not held.nnz:
        return found
    inverse, apart, along = _solved(held)
    solved, rank = sp.csr_array(inverse), zero - apart.shape[1]
    others = sp.eye_array(rest.shape[0], format="csr")
    stays = sp.csr_array((zero - rank, rest.shape[0]))
    rows = sp.block_array([[sp.csr_array(apart.T), stays], [-(rest[:, inner] @ solved), others]])
    own, free = columns.size, inner.size - rank
    frame = np.zeros((A.shape[1], own + free))
    frame[columns, np.arange(own)] = 1.0
    frame[inner, :own] = -(solved @ stated[:, columns]).toarray()
    frame[inner, own:] = along
    combined, turned = sp.csr_array(rows), sp.csr_array(frame)
    less = replace(found.cones, zero=zero - rank)
    left_over = product(combined, A, turned)
    # Of an equation that says nothing new rounding is left, which in its own size would say something else.
    terms = np.asarray((abs(combined) @ abs(A) @ abs(turned)).sum(axis=1)).ravel()
    says = np.asarray(abs(left_over).sum(axis=1)).ravel() > NOTHING * terms
    says[less.zero :] = True
    told = sp.csr_array(sp.diags_array(says.astype(float)) @ left_over)
    told.eliminate_zeros()
    return Position(combined, turned, told, less, np.arange(own))


def _solved(held: sp.csr_array) -> tuple[Array, Array, Array]:
    """The pseudo-inverse of the equations' part in some columns, and orthonormal bases of the combinations of its rows and of its
    columns that vanish.

    Equations without a variable in common are solved apart: singular vectors of both together are mixed by rounding, of which
    a thin one makes a part of its variables in what the other holds, and that would pass for how far the set reaches there.
    """
    shape, matrix = held.shape, held.toarray()
    _, labels = connected_components(sp.block_array([[None, abs(held)], [abs(held).T, None]]), directed=False)
    parts = []
    for label in np.unique(labels):
        i, j = np.flatnonzero(labels[: shape[0]] == label), np.flatnonzero(labels[shape[0] :] == label)
        within = matrix[np.ix_(i, j)]
        parts.append((i, j, *(np.linalg.svd(within) if within.size else (np.eye(i.size), np.zeros(0), np.eye(j.size)))))
    largest = max(float(sizes.max(initial=0.0)) for *_, sizes, _ in parts)
    inverse, apart, along = np.zeros(shape[::-1]), list[Array](), list[Array]()
    for i, j, left, sizes, right in parts:
        rank = int(np.sum(sizes > DEPENDENT * largest))
        inverse[np.ix_(j, i)] = (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
        for size, own, vectors, found in ((shape[0], i, left[:, rank:], apart), (shape[1], j, right[rank:].T, along)):
            whole = np.zeros((size, vectors.shape[1]))
            whole[own] = vectors
            found.append(whole)
    return inverse, np.hstack(apart), np.hstack(along)


def _without_rounding(rows: sp.csr_array) -> sp.csr_array:
    """Rows without entries that are next to nothing beside their largest."""
    entries = sp.coo_array(rows)
    largest = np.asarray(abs(rows).max(axis=1).todense()).ravel()
    told = np.abs(entries.data) > NOTHING * largest[entries.coords[0]]
    i, j = (coords[told] for coords in entries.coords)
    return sp.csr_array((entries.data[told], (i, j)), shape=rows.shape)


def _turn(found: Position) -> sp.csr_array | None:
    """New coordinates in which the cones see all directions alike; those of the set's own columns stay among themselves.

    The other columns are first moved along with these, to where the cones see the least of both. None where no direction is
    thin.
    """
    size, columns = found.A.shape[1], found.columns
    inner = np.setdiff1d(np.arange(size), columns)
    seen = found.A[found.cones.zero :].toarray()
    along, sides = seen[:, columns], seen[:, inner]
    follows = -np.linalg.lstsq(sides, along, rcond=DEPENDENT)[0]
    turned = [_round(along + sides @ follows), _round(sides)]
    if all(thin is None for thin in turned):
        return None
    own, free = (
        np.eye(part.size) if thin is None else thin for part, thin in zip((columns, inner), turned, strict=True)
    )
    whole = np.zeros((size, size))
    whole[np.ix_(columns, columns)] = own
    whole[np.ix_(inner, columns)] = follows @ own
    whole[np.ix_(inner, inner)] = free
    return sp.csr_array(whole)


def _round(seen: Array) -> Array | None:
    """Coordinates in which the columns of a matrix are orthonormal, those apart that are next to nothing; None if they nearly are."""
    if not seen.size:
        return None
    reach = np.linalg.norm(seen, axis=0)
    # A column that equations alone hold is of no size, which rounding is not to be taken for.
    reach = np.where(reach > NOTHING * reach.max(), reach, 0.0)
    scale = np.where(reach > 0, reach, 1.0)
    _, sizes, axes = np.linalg.svd(np.where(reach > 0, seen, 0.0) / scale, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(reach.size - sizes.size)])
    told = sizes > FLAT * float(sizes[0])
    if not told.any() or float(sizes[told].min()) > THIN * float(sizes[0]):
        return None
    return np.asarray((axes.T / np.where(told, sizes, 1.0)) / scale[:, None])


def _even_equations(A: sp.csr_array, cones: Cones) -> sp.csr_array:
    """The map of rows that makes equations orthonormal ones, as far as they are independent."""
    others = sp.eye_array(A.shape[0] - cones.zero, format="csr")
    if not cones.zero:
        return sp.csr_array(others)
    left, sizes, _ = np.linalg.svd(A[: cones.zero].toarray(), full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(cones.zero - sizes.size)])
    told = sizes > ROUNDING * max(float(sizes[0]), 1e-300)
    return sp.csr_array(sp.block_diag([left.T / np.where(told, sizes, 1.0)[:, None], others], format="csr"))
