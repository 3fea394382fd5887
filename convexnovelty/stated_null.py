r"""The null directions that the equations of a membership alone give to all of its covariances, without a solver's word.

Members of :math:`\{S : \exists u,\ A_v\,\mathrm{svec}(S) + A_u u = b, \dots\}`, as those of a factor model
:math:`S = F'XF` or the mixtures of singular scenarios are, lie in the span of a point of these equations and of what they
leave free. A direction that all matrices of the span take to zero is a null direction of every member. It is known to rounding
then, where a solver's points show it with half of their digits only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from convexnovelty.cones import Block, smat, triangle
from convexnovelty.conic import ConicProgram
from convexnovelty.round_position import congruence
from convexnovelty.validation import Array

__all__ = ["StatedFaces", "StatedNull"]

WIDEST = 1000  # unknowns up to which a basis of what equations leave free is formed
ROUNDS = 4  # times that matrices are looked at, each time in the lengths that they had before
ROUNDING = 1e-13  # share of its terms up to which something is rounding
WEAK = 1e-9  # share of the strongest equation below which another one is not relied on
# Shares of the largest singular value: up to NULL a direction is null, and a matrix of the span none. What lies between that
# and CLEAR, or SEEN, may be thin, and nothing is said.
NULL, CLEAR, SEEN = 5e-14, 1e-7, 1e-8
CANCELLED = 1e-12  # share of the terms of an equation that rounding may leave of one of its entries
HELD = 1e-11  # what members at other numbers may have along a direction that is null


@dataclass(frozen=True)
class StatedNull:
    """The common null directions of the covariances that ``columns`` of a program hold, by its equations.

    ``span`` holds matrices side by side in whose span all members are, in ``lengths`` that make them even; ``null`` the null
    directions as columns, and ``axes`` what is left, along which members are of size one, both in the units of the program.
    """

    columns: NDArray[np.intp]
    lengths: Array
    span: Array
    null: Array
    axes: Array

    @classmethod
    def of(cls, programs: Sequence[ConicProgram], columns: NDArray[np.intp], order: int) -> StatedNull | None:
        """Those of programs that differ in their right-hand sides alone; None where there are none, or none to be told."""
        lengths, sizes, first = np.ones(order), np.ones(order), programs[0]
        if not (order and first.cones.zero) or first.c.size > WIDEST:
            return None
        for _ in range(ROUNDS):
            lengths = lengths * sizes
            matrices = _span(programs, columns, lengths)
            if matrices is None or not len(matrices):
                return None
            squares = np.abs(np.einsum("kii->ki", matrices)).max(axis=0)
            # A column without variance has no length, and what rounding leaves of it is none.
            sizes = np.sqrt(np.where(squares > ROUNDING * squares.max(), squares, 1.0))
            span = _beside(matrices)
            null, axes = _split(span)
            if not null.size:
                return None
        if not _is_clear(_square(span)):
            return None
        return cls(columns, lengths, span, null / lengths[:, None], axes / lengths[:, None])

    def annihilates(self, null: Array, span: Array | None = None) -> bool:
        """Whether all members take some directions to zero, or the matrices that are given in their place."""
        span = self.span if span is None else span
        seen = np.linalg.qr(null * self.lengths[:, None])[0].T @ span
        return bool(np.linalg.norm(seen, 2) <= HELD * np.linalg.norm(span, 2))

    def holds(self, program: ConicProgram) -> bool:
        """Whether the null directions are those of members at another right-hand side too."""
        span = _span([program], self.columns, self.lengths)
        return span is not None and self.annihilates(self.null, _beside(span))

    @cached_property
    def whole(self) -> Array:
        """The axes, and the null directions behind them."""
        return np.hstack([self.axes, self.null])

    def evened(
        self, rows: Array, columns: Array, equations: sp.csr_array, frame: sp.csr_array, own: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Scales of a program in a frame, in which entries that are zero are as large as the others.

        In a size of their own, which no member shows, they would pass for the reach of the set.
        """
        first, second = triangle(len(self.null))
        null = np.zeros(frame.shape[0], dtype=bool)
        null[self.columns[np.maximum(first, second) >= self.axes.shape[1]]] = True
        entries = abs(sp.csr_array(frame @ sp.diags_array(columns)))
        behind, before = (np.asarray(entries[part].max(axis=0).todense()).ravel() for part in (null, ~null))
        held = np.zeros(columns.size, dtype=bool)
        held[own] = (behind[own] > 0) & (before[own] == 0)
        kept = np.setdiff1d(self.columns, np.flatnonzero(null))
        reach = float(abs(entries[kept]).max()) if entries[kept].nnz else 0.0
        if not reach:
            return rows, columns
        columns = np.where(held, columns * reach / np.where(held, behind, 1.0), columns)
        terms = abs(equations) @ sp.diags_array(columns)
        sizes, others = (
            np.asarray(part.max(axis=1).todense()).ravel() for part in (terms, terms @ sp.diags_array(~held * 1.0))
        )
        alone = (sizes > 0) & (others == 0)
        rows = rows.copy()
        rows[: sizes.size][alone] = 1.0 / sizes[alone]
        return rows, columns

    def outward(self, size: int) -> sp.csr_array:
        """The map from the variables of the reduced program to those of the given one, ``size`` of them."""
        return self._embedded(congruence(np.asarray(np.linalg.inv(self.whole), dtype=float)), size)

    def inward(self, size: int) -> sp.csr_array:
        """The map back."""
        return self._embedded(congruence(self.whole), size)

    def _embedded(self, own: sp.csr_array, size: int) -> sp.csr_array:
        pick = sp.csr_array(
            (np.ones(self.columns.size), (np.arange(self.columns.size), self.columns)), (own.shape[0], size)
        )
        others = np.ones(size)
        others[self.columns] = 0.0
        return sp.csr_array(sp.diags_array(others) + pick.T @ own @ pick)

    def reduced(self, program: ConicProgram) -> ConicProgram:
        """The same set in entries of covariances along the axes and the null directions, of which the latter are zero by equations
        that say nothing else, and cones of covariances those of the former, in which they may have an inside.

        Equations that tie the entries as they stand would tell further variables by those that are zero, of which solvers leave
        something.
        """
        identity = sp.eye_array(program.b.size, format="csr")
        rows, orders = [], []
        for block in program.blocks:
            own, order = identity[block.rows], block.parameter
            if block.kind == "zero":
                own = self._equations(program) @ own
            elif (scales := self._scales(program, block)) is not None:
                own, order = congruence(self.axes / scales[:, None]) @ own, self.axes.shape[1]
            rows.append(own)
            if block.kind == "semidefinite":
                orders.append(order)
        transform = sp.csr_array(sp.vstack(rows))
        cones = replace(program.cones, zero=rows[0].shape[0], semidefinite=tuple(orders))
        outward = self.outward(program.c.size)
        A, right = sp.coo_array(transform @ program.A @ outward), transform @ program.b
        terms = sp.csr_array(abs(transform) @ abs(program.A) @ abs(outward))[A.coords]
        # A thin direction may have as little in what it has in common with others, but not of the terms of one entry.
        told = np.abs(A.data) > CANCELLED * np.asarray(terms).ravel()
        A = sp.csr_array((A.data[told], (A.coords[0][told], A.coords[1][told])), shape=A.shape)
        rounding = CANCELLED * (abs(transform) @ np.abs(program.b))
        A, floor = self._cleared(A, right, cones.zero)
        rounding = np.maximum(rounding, floor)
        return replace(program, A=A, b=np.where(np.abs(right) > rounding, right, 0.0), cones=cones)

    def _cleared(self, A: sp.csr_array, right: Array, zero: int) -> tuple[sp.csr_array, Array]:
        """The matrix without what equations of null entries have as rounding of the null directions, and such rounding of their right side.

        Each number counts beside the largest one of its column, whatever the size of a variable.
        """
        null = triangle(len(self.null))[1] >= self.axes.shape[1]
        sizes = _largest(sp.csr_array(abs(A).T))
        even = abs(A) @ sp.diags_array(1.0 / np.where(sizes > 0, sizes, 1.0))
        own, behind = _largest(even[:, self.columns]), _largest(even[:, self.columns[null]])
        own[zero:] = behind[zero:] = 0.0
        stated = np.divide(np.abs(right), own, out=np.zeros(right.size), where=own > 0)
        entries = sp.coo_array(A)
        i, j = entries.coords
        told = np.abs(entries.data) > CANCELLED * behind[i] * sizes[j]
        cleared = sp.csr_array((entries.data[told], (i[told], j[told])), shape=A.shape)
        return cleared, CANCELLED * behind * float(stated.max(initial=0.0))

    def _equations(self, program: ConicProgram) -> sp.csr_array:
        """The map of equations in which each entry of the covariance stands alone to those of its parts."""
        zero, size = program.cones.zero, self.columns.size
        place = np.full(program.c.size, -1)
        place[self.columns] = np.arange(size)
        stated = sp.coo_array(program.A[:zero])
        i, j = stated.coords
        own = place[j] >= 0
        i, entry, factor = i[own], place[j[own]], stated.data[own]
        alone = np.bincount(i, minlength=zero)[i] == 1
        groups = []
        for k in range(size):
            groups.append(list(zip(i[alone & (entry == k)], factor[alone & (entry == k)], strict=True)))
        found = [list(group) for group in zip(*groups, strict=False)]
        turned = congruence(self.whole)
        null = triangle(len(self.null))[1] >= self.axes.shape[1]
        identity = sp.eye_array(zero, format="csr")
        others = sp.csr_array(program.A[:zero] @ sp.diags_array((place < 0).astype(float)))
        parts, used, said = [], np.zeros(zero, dtype=bool), np.zeros(size, dtype=bool)
        for group in found:
            at, sizes = np.array([row for row, _ in group]), np.array([size for _, size in group])
            used[at] = True
            made = sp.csr_array(turned @ sp.diags_array(1.0 / sizes)) @ identity[at]
            left, terms = abs(sp.csr_array(made @ others)), sp.csr_array(abs(made) @ abs(others))
            # That parts are zero need be said once; an equation that ties them to something else says more.
            alone = null & (_largest(left) <= CANCELLED * _largest(terms))
            parts.append(made[~(alone & said)])
            said |= alone
        return sp.csr_array(sp.vstack([identity[~used], *parts]))

    def _scales(self, program: ConicProgram, block: Block) -> Array | None:
        """The factors of rows and columns by which a cone holds the covariance, and nothing else; None where it does not."""
        if block.kind != "semidefinite" or block.parameter != self.null.shape[0] or program.b[block.rows].any():
            return None
        rows = program.A[block.rows]
        if not np.array_equal(np.diff(rows.indptr), np.ones(self.columns.size)):
            return None
        if not np.array_equal(rows.indices, self.columns) or not (rows.data < 0).all():
            return None
        first, second = triangle(block.parameter)
        return np.asarray(np.sqrt(-rows.data[first == second]))


@dataclass(frozen=True)
class StatedFaces:
    """Semidefinite cones of a program, by the rows at which they start, and the axes along which equations leave slacks anything.

    Further variables have such cones too: a matrix that is :math:`F'XF` by equations, as the part of an image under a matrix with
    more columns than rows is, or a matrix with a singular one of numbers in a corner of it, which leaves nothing beside that
    corner's null directions. A solver's points would show the face with half of their digits.
    """

    own: NDArray[np.intp]
    corners: Mapping[int, Array]
    axes: Mapping[int, Array]

    @classmethod
    def of(cls, programs: Sequence[ConicProgram], own: NDArray[np.intp]) -> StatedFaces:
        """Those of programs that differ in their right-hand sides alone; ``own`` are the columns of the set's own variables."""
        corners = _corners(programs)
        programs = [_beside_corners(program, corners, own) for program in programs]
        return cls(own, corners, cls._axes(programs))

    @staticmethod
    def _axes(programs: Sequence[ConicProgram]) -> dict[int, Array]:
        first = programs[0]
        tied = np.unique(first.A[: first.cones.zero].indices)
        asked = [block for block in first.blocks if block.kind == "semidefinite" and block.parameter > 1]
        asked = [block for block in asked if np.isin(first.A[block.rows].indices, tied).any()]
        if not asked or first.c.size > WIDEST:
            return {}
        found = _solutions(programs, np.ones(first.c.size), np.zeros(0, dtype=np.intp))
        if found is None:
            return {}
        axes = {block.rows.start: _kept(programs, block, *found) for block in asked}
        return {start: kept for start, kept in axes.items() if kept is not None}

    def reduced(self, program: ConicProgram) -> ConicProgram:
        """The same set, whose cones are those of slacks along their axes."""
        program = _beside_corners(program, self.corners, self.own)
        if not self.axes:
            return program
        identity = sp.eye_array(program.b.size, format="csr")
        rows, orders = [], []
        for block in program.blocks:
            own, order, axes = identity[block.rows], block.parameter, self.axes.get(block.rows.start)
            if axes is not None:
                own, order = congruence(axes) @ own, axes.shape[1]
            rows.append(own)
            if block.kind == "semidefinite":
                orders.append(order)
        transform = sp.csr_array(sp.vstack(rows))
        cones = replace(program.cones, semidefinite=tuple(orders))
        return replace(program, A=sp.csr_array(transform @ program.A), b=transform @ program.b, cones=cones)

    def hold(self, program: ConicProgram) -> bool:
        """Whether equations leave slacks nothing else at another right-hand side."""
        if not self.corners and not self.axes:
            return True
        found = StatedFaces.of([program], self.own)
        others = found.axes
        corners = all(
            start in found.corners and found.corners[start].shape == null.shape for start, null in self.corners.items()
        )
        return corners and all(
            start in others
            and others[start].shape == axes.shape
            and np.linalg.matrix_rank(np.hstack([axes, others[start]]), SEEN) == axes.shape[1]
            for start, axes in self.axes.items()
        )


def _corners(programs: Sequence[ConicProgram]) -> dict[int, Array]:
    """Null directions, as columns, of principal parts of semidefinite slacks that no variable enters, by the rows at which these start.

    In a positive semidefinite matrix such a direction is one of the whole.
    """
    first, found = programs[0], {}
    for block in first.blocks:
        if block.kind != "semidefinite" or block.parameter < 2 or first.c.size > WIDEST:
            continue
        entered = np.zeros(block.rows.stop - block.rows.start)
        np.add.at(entered, (rows := sp.coo_array(first.A[block.rows])).coords[0], np.abs(rows.data))
        moved = smat(entered, block.parameter) != 0
        at = np.flatnonzero(~np.diag(moved))
        if not at.size or at.size == block.parameter or moved[np.ix_(at, at)].any():
            continue
        parts = [smat(program.b[block.rows], block.parameter)[np.ix_(at, at)] for program in programs]
        lengths = np.sqrt(np.abs([np.diag(part) for part in parts]).max(axis=0))
        lengths = np.where(lengths > 0, lengths, 1.0)
        span = _beside(np.array([part / np.outer(lengths, lengths) for part in parts]))
        if not span.any():
            null = np.eye(at.size)
        elif _is_clear(_square(span)):
            null = _split(span)[0]
        else:
            continue
        if null.size:
            whole = np.zeros((block.parameter, null.shape[1]))
            whole[at] = null / lengths[:, None]
            found[block.rows.start] = whole
    return found


def _beside_corners(program: ConicProgram, corners: Mapping[int, Array], own: NDArray[np.intp]) -> ConicProgram:
    """The program with the equations that slacks take null directions of their corners to zero.

    Further variables are turned so that such an equation tells one of them, and solvers need not tell a difference. Those that the
    set is ``own`` of stay.
    """
    rows, right = [], []
    for block in program.blocks:
        null = corners.get(block.rows.start)
        if null is None:
            continue
        size = block.rows.stop - block.rows.start
        images = np.array([smat(entry, block.parameter) @ null for entry in np.eye(size)])
        seen = sp.csr_array(images[:, ~null.any(axis=1)].reshape(size, -1).T)
        rows.append(sp.csr_array(seen @ program.A[block.rows]))
        right.append(seen @ program.b[block.rows])
    if not rows:
        return program
    stated, left = sp.csr_array(sp.vstack(rows)), np.concatenate(right)
    sizes = _largest(abs(stated))
    told = sizes > 0
    stated, left = sp.csr_array(sp.diags_array(1 / sizes[told]) @ stated[told]), left[told] / sizes[told]
    turn = _turn(stated, own)
    A, zero, stated = sp.csr_array(program.A @ turn), program.cones.zero, sp.csr_array(stated @ turn)
    stated.data[np.abs(stated.data) < ROUNDING] = 0.0
    stated.eliminate_zeros()
    return replace(
        program,
        A=sp.csr_array(sp.vstack([A[:zero], stated, A[zero:]])),
        b=np.concatenate([program.b[:zero], left, program.b[zero:]]),
        cones=replace(program.cones, zero=zero + left.size),
    )


def _turn(equations: sp.csr_array, own: NDArray[np.intp]) -> sp.csr_array:
    """A rotation of variables, of those that equations share with one another, in which each equation tells as many as it has equals."""
    width = equations.shape[1]
    turn = sp.lil_array(sp.eye_array(width))
    count, groups = connected_components(abs(equations).T @ abs(equations), directed=False)
    used = np.zeros(width, dtype=bool)
    used[equations.indices] = True
    for group in range(count):
        members = np.flatnonzero((groups == group) & used)
        if members.size and not np.isin(members, own).any():
            among = equations[:, members].toarray()
            among = among[among.any(axis=1)]
            turn[np.ix_(members, members)] = np.linalg.qr(among.T, mode="complete")[0]
    return sp.csr_array(turn)


def _kept(
    programs: Sequence[ConicProgram], block: Block, free: Array, points: Sequence[Array], reach: Array
) -> Array | None:
    """Axes, as columns, of what slacks of a semidefinite cone have; None where that is everything, or not to be told."""
    A, order = sp.csr_array(programs[0].A[block.rows] @ sp.diags_array(1.0 / reach)), block.parameter
    slacks = [np.asarray(A @ free)]
    for program, point in zip(programs, points, strict=True):
        b = program.b[block.rows]
        slack = b - A @ point
        size = float(np.linalg.norm(slack))
        # What rounding of a point of any size leaves of a slack is none.
        if size > ROUNDING * float(np.linalg.norm(b) + sp.linalg.norm(A) * np.linalg.norm(point)):
            slacks.append(slack[:, None] / size)
    shown = np.concatenate(slacks, axis=1)
    if not shown.shape[1]:
        return None
    matrices = np.array([smat(slack, order) for slack in shown.T])
    lengths = sizes = np.ones(order)
    for _ in range(ROUNDS):
        lengths = lengths * sizes
        even = matrices / np.outer(lengths, lengths)
        squares = np.abs(np.einsum("kii->ki", even)).max(axis=0)
        if not squares.any():
            return None
        sizes = np.sqrt(np.where(squares > ROUNDING * squares.max(), squares, 1.0))
        span = _beside(even)
        null, axes = _split(span)
        if not null.size:
            return None
    # What is left out is asked of no member, so that it may be rounding of what a matrix of an image has multiplied.
    return np.asarray(axes / lengths[:, None]) if _is_clear(_square(span), null=HELD) else None


def _largest(entries: sp.csr_array) -> Array:
    """The largest entry of each row."""
    return np.asarray(entries.max(axis=1).todense()).ravel()


def _split(span: Array) -> tuple[Array, Array]:
    """Orthonormal axes of what all matrices that stand side by side take to zero, or next to it, and of the rest."""
    left, sizes, _ = np.linalg.svd(_square(span))
    told = sizes > CLEAR * sizes[0]
    # A column by itself is told from the others: along it anything goes, of which rounding elsewhere would be seen.
    left = np.where(np.abs(left) > ROUNDING, left, 0.0)
    return left[:, ~told], left[:, told]


def _square(span: Array) -> Array:
    """A matrix of few columns with the same singular values and left vectors."""
    return np.asarray(scipy.linalg.qr(span.T, mode="economic")[1].T)


def _is_clear(span: Array, clear: float = CLEAR, null: float = NULL) -> bool:
    """Whether singular values are null or far from it."""
    sizes = np.linalg.svd(span, compute_uv=False)
    return not ((sizes > null * sizes[0]) & (sizes < clear * sizes[0])).any()


def _beside(matrices: Array) -> Array:
    return np.concatenate(list(matrices), axis=1)


def _span(programs: Sequence[ConicProgram], columns: NDArray[np.intp], lengths: Array) -> Array | None:
    """Matrices, in some lengths of their rows, in whose span those of all points of the equations are; None where none is told."""
    first, second = triangle(lengths.size)
    sizes = np.ones(programs[0].c.size)
    sizes[columns] = lengths[first] * lengths[second]
    found = _solutions(programs, sizes, columns)
    if found is None:
        return None
    points = [found[0]]
    for point in found[1]:
        # In a size of its own, beside which constants of further variables may have any.
        size = float(np.linalg.norm(point[columns]))
        if size > ROUNDING * float(np.linalg.norm(point)):
            points.append(point[:, None] / size)
    seen = np.concatenate(points, axis=1)[columns]
    if not seen.any() or not _is_clear(seen, SEEN):
        return None
    return np.array([smat(point, lengths.size) for point in seen.T])


def _solutions(
    programs: Sequence[ConicProgram], sizes: Array, together: NDArray[np.intp]
) -> tuple[Array, list[Array], Array] | None:
    """A basis of what the equations leave free and a point of each program, as columns; None where a program has none.

    Variables are in the given sizes, divided by how much of them the equations have at most, which is returned: one number for
    those that count ``together``.
    """
    stated = programs[0].A[: programs[0].cones.zero].toarray() * sizes
    rows = np.abs(stated).max(axis=1)
    told = rows > ROUNDING * rows.max(initial=0.0)
    stated, rows = stated[told] / rows[told, None], rows[told]
    reach = np.abs(stated).max(axis=0, initial=0.0)
    reach[together] = reach[together].max(initial=0.0)
    reach = np.where(reach > 0, reach, 1.0)
    stated /= reach
    turned, upper, order = scipy.linalg.qr(stated.T, pivoting=True)
    values = np.abs(np.diag(upper))
    rank = int(np.sum(values > WEAK * values.max(initial=0.0)))
    points = []
    for program in programs:
        right = (program.b[: program.cones.zero][told] / rows)[order]
        share = scipy.linalg.solve_triangular(upper[:rank, :rank], right[:rank], trans="T")
        terms = np.abs(right).max(initial=0.0)
        if (np.abs(upper[:rank, rank:].T @ share - right[rank:]) > WEAK * terms).any():
            return None
        points.append(turned[:, :rank] @ share)
    return turned[:, rank:], points, reach
