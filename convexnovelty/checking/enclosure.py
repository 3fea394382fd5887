r"""The optimum of a conic program between two numbers that are proved, whatever solver ran.

Any primal point that is exactly feasible bounds the minimum from above, and any exactly feasible dual point bounds it
from below: with :math:`Pw + A'z + c = 0` and :math:`z \in K^*`,

.. math:: f(x) - \Big(-\tfrac12 w'Pw - b'z + d\Big) = \tfrac12 (x-w)'P(x-w) + z's \;\ge\; 0.

Points that a solver computes are feasible only nearly. They are therefore computed a little inside of the cones, by
moving the right-hand side and the cost by a small multiple of interior points; then the equations are solved exactly
with proof (:mod:`~convexnovelty.checking.repair`), membership is verified in ball arithmetic, and the two values are
evaluated in it. A solver can make the interval wide, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty.checking.balls import Ball, in_cones, is_positive_semidefinite, product
from convexnovelty.checking.repair import distinct_rows, independent_rows, repaired
from convexnovelty.cones import Cones, smat, svec
from convexnovelty.conic import ConicProgram, Equilibration
from convexnovelty.validation import Array

__all__ = ["Enclosure", "dual_bound", "enclose", "primal_bound", "room_of"]

INSIDE = (
    0.0,
    1e-10,
    1e-9,
    1e-8,
    1e-7,
    1e-6,
    1e-5,
)  # how far inside of the cones points are looked for, in scaled units
NARROW = 1e-9  # relative width at which no narrower interval is looked for
WANTED = 1e-7  # relative width from which the numbers are moved to find a narrower one
BLENDS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # shares of the point inside
PINNED = 1e-6  # margin, of a possible one, below which a row is taken to have none
MOVED = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10)  # by how much, relative to the rows and columns


@dataclass(frozen=True)
class Enclosure:
    """The optimum lies in ``[lower, upper]``; a bound that could not be proved is infinite, with the reason.

    ``infeasible`` and ``unbounded`` are set by a certificate that was verified exactly. ``moved`` is zero when the
    statement is about the numbers as they are stored, else the relative size by which they had to be moved.
    """

    lower: float = -math.inf
    upper: float = math.inf
    infeasible: bool = False
    unbounded: bool = False
    moved: float = 0.0
    remark: str = ""

    @property
    def width(self) -> float:
        """Upper minus lower, relative to the larger of the two sizes."""
        size = max(abs(self.lower), abs(self.upper))
        return 0.0 if self.upper == self.lower else (self.upper - self.lower) / size if size < math.inf else math.inf

    @property
    def proved(self) -> bool:
        """Both bounds are finite, or a certificate says that there is no optimum."""
        return self.infeasible or self.unbounded or self.width < math.inf

    def contains(self, value: float, slack: float = 0.0) -> bool:
        """Whether a value lies between the bounds, to within ``slack``."""
        return self.lower - slack <= value <= self.upper + slack

    def distance(self, value: float) -> float:
        """How far a value is from the interval; zero inside, NaN for NaN."""
        return math.nan if math.isnan(value) else max(0.0, self.lower - value, value - self.upper)

    def scaled(self, factor: float, offset: float = 0.0) -> Enclosure:
        """The interval for ``factor`` times the optimum plus ``offset``, with the ends rounded outwards."""
        ends = []
        for end, side in ((self.lower, -math.inf), (self.upper, math.inf)):
            away = side if factor >= 0 else -side
            moved = math.nextafter(factor * end, away) if math.isfinite(end) else factor * end
            ends.append(math.nextafter(moved + offset, away) if offset else moved)
        return replace(self, lower=min(ends), upper=max(ends))


@dataclass(frozen=True)
class _Candidate:
    """A primal and a dual point, the rows to be held at exactly zero slack, and those at exactly zero multiplier."""

    x: Array
    z: Array
    held: NDArray[np.bool_]
    zero: NDArray[np.bool_]


def enclose(program: ConicProgram, x: Array | None = None, z: Array | None = None) -> Enclosure:
    """Prove bounds on the optimum of a program.

    ``x`` and ``z``, a candidate of any origin, are tried first. Where the numbers as stored have no interval, since a
    feasible set has no interior and 30 times the double 1/30 is not one, or since a Gram matrix was rounded to one with
    eigenvalues of -1e-17, the interval is that of numbers moved by the relative amount ``moved``, and says so.
    """
    tried: list[_Candidate] = []
    found = Enclosure()
    stages = (
        _given(program, x, z),
        _inside(program),
        _blends(tried),
        _inside(program, scaled=True),
        _pinned_inside(program),
        _blends(tried),
    )
    for stage in stages:
        found = _search(program, stage, 0.0, found, tried)
        if found.width <= WANTED:
            return found
    for size in MOVED:
        near = _search(program, tried, size, Enclosure(), [])
        if near.width <= WANTED or near.width < found.width / 10:
            found = near
        if found.width <= WANTED:
            break
    return found


def _search(
    program: ConicProgram, candidates: Iterable[_Candidate], size: float, known: Enclosure, store: list[_Candidate]
) -> Enclosure:
    """The narrowest interval that the candidates prove, for the program moved outwards by ``size``."""
    lower, upper, reasons = known.lower, known.upper, ["", ""]
    shift = np.zeros(program.b.size)
    moved = 0.0
    if size:
        program, shift, moved = _moved(program, size)
    for candidate in candidates:
        x, z = candidate.x, candidate.z
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
            continue
        store.append(candidate)
        if math.isinf(upper) or program.objective(x) < upper:
            value, reason = primal_bound(program, x, candidate.held)
            upper, reasons[0] = min(upper, value), reason or reasons[0]
        if math.isinf(lower) or _dual_value(program, x, z) > lower:
            value, reason = dual_bound(program, x, z, candidate.zero, shift=shift)
            lower, reasons[1] = max(lower, value), reason or reasons[1]
        if Enclosure(lower, upper).width <= NARROW:
            break
    told = [
        f"{side}: {reason}"
        for side, reason, end in zip(("upper", "lower"), reasons, (upper, lower), strict=True)
        if math.isinf(end)
    ]
    return Enclosure(lower, upper, moved=moved, remark="; ".join(told))


def _dual_value(program: ConicProgram, w: Array, z: Array) -> float:
    return float(program.offset - program.b @ z - (0.0 if program.P is None else 0.5 * (w @ (program.P @ w))))


def _moved(program: ConicProgram, size: float) -> tuple[ConicProgram, Array, float]:
    """The program with its cones and their duals enlarged, by how much multipliers grow, and the largest relative move."""
    inside, outside = _interiors(program.cones)
    # One row of zeros more, since a program without constraints has none to take the largest of.
    sizes = abs(sp.csr_array(sp.vstack([program.A, sp.csr_array((1, program.c.size))])))
    extent = np.maximum(np.asarray(sizes.max(axis=1).todense()).ravel()[:-1], np.abs(program.b))
    extent = np.where(extent > 0, extent, 1.0)
    shift = size * outside / extent
    cost = program.A.T @ shift
    columns = np.maximum(np.asarray(sizes.max(axis=0).todense()).ravel(), np.abs(program.c))
    move = max(size, float(np.max(np.abs(cost) / np.where(columns > 0, columns, 1.0), initial=0.0)))
    P = program.P
    if P is not None:
        used = (np.diff(sp.csc_array(P).indptr) > 0).astype(float)
        P = sp.csr_array(P + sp.diags_array(size * float(abs(P).max()) * used))
    return replace(program, c=program.c - cost, b=program.b + size * extent * inside, P=P), shift, move


# -- where points come from ------------------------------------------------------------------------------------------


def _given(program: ConicProgram, x: Array | None, z: Array | None) -> Iterator[_Candidate]:
    """The caller's point, as a vertex and as it is."""
    if x is not None and z is not None:
        yield from _both(program, x, z)


def _both(program: ConicProgram, x: Array, z: Array) -> Iterator[_Candidate]:
    held, zero = _complementary(program, x, z)
    none = np.zeros_like(held)
    yield _Candidate(x, z, held, zero)
    yield _Candidate(x, z, none, none)


def _complementary(program: ConicProgram, x: Array, z: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows whose slack is zero at the optimum, and rows whose multiplier is, as far as one can see."""
    slack = program.b - program.A @ x
    held, zero = np.zeros(slack.size, dtype=bool), np.zeros(slack.size, dtype=bool)
    for block in program.blocks:
        rows = block.rows
        if block.kind == "nonnegative":
            held[rows] = slack[rows] < z[rows]
            zero[rows] = ~held[rows]
        elif block.kind != "zero":
            size, pull = np.linalg.norm(slack[rows]), np.linalg.norm(z[rows])
            held[rows], zero[rows] = size < 1e-3 * pull, pull < 1e-3 * size
    return held, zero


def _inside(program: ConicProgram, *, scaled: bool = False) -> Iterator[_Candidate]:
    """Points of the program with its cones made smaller, less and less near to the optimum."""
    inside, outside = _interiors(program.cones)
    posed, scale = program.equilibrated() if scaled else (program, _unscaled(program))
    for step in INSIDE:
        found = _shrunk(posed, step * inside, step * outside)
        if found is not None:
            with np.errstate(over="ignore"):
                x, z = scale.columns * found[0], scale.rows * found[1]
            yield from _both(program, x, z)


def _blends(tried: list[_Candidate]) -> Iterator[_Candidate]:
    """Points between one that is nearly optimal and one that lies well inside."""
    if not tried:
        return
    near, far = tried[0], tried[-1]
    for share in BLENDS:
        x, z = near.x + share * (far.x - near.x), near.z + share * (far.z - near.z)
        yield _Candidate(x, z, far.held, far.zero)


def _unscaled(program: ConicProgram) -> Equilibration:
    return Equilibration(np.ones(program.c.size), np.ones(program.b.size), 1.0)


def _shrunk(program: ConicProgram, inside: Array, outside: Array) -> tuple[Array, Array] | None:
    """The solution of a program whose slacks and multipliers are held this far inside of their cones."""
    step = max(float(np.max(inside, initial=0.0)), float(np.max(outside, initial=0.0)))
    tolerance = min(1e-10, step / 10) or 1e-10
    posed = replace(program, c=program.c + program.A.T @ outside, b=program.b - inside)
    found = posed.solve(tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance, max_iter=200)
    if not (np.all(np.isfinite(found.x)) and np.all(np.isfinite(found.z))):
        return None
    return found.x, found.z + outside


def _pinned_inside(program: ConicProgram) -> Iterator[_Candidate]:
    """The same where some rows have no room at all: these are held at zero, and only the others are moved inside."""
    held, zero = _pinned(program), _pinned_multipliers(program)
    if not (np.any(held) or np.any(zero)):
        return
    inside, outside = _interiors(program.cones)
    for step in INSIDE:
        found = _shrunk(program, step * inside * ~held, step * outside * ~zero)
        if found is not None:
            yield _Candidate(found[0], found[1], held, zero)


def _pinned(program: ConicProgram) -> NDArray[np.bool_]:
    """Rows of the nonnegative cone that hold with equality at every feasible point, to the solver's accuracy."""
    first, count = program.cones.zero, program.cones.nonnegative
    pinned = np.zeros(program.b.size, dtype=bool)
    if not count:
        return pinned
    # Each of these rows may hold back a margin between zero and one, and as much of it as possible.
    take = sp.csr_array((np.ones(count), (first + np.arange(count), np.arange(count))), shape=(program.b.size, count))
    limits = sp.block_array(
        [[sp.csr_array((2 * count, program.c.size)), sp.vstack([sp.eye_array(count), -sp.eye_array(count)])]]
    )
    A = sp.csr_array(sp.hstack([program.A, take]))
    middle = first + count
    posed = ConicProgram(
        np.concatenate([np.zeros(program.c.size), -np.ones(count)]),
        sp.csr_array(sp.vstack([A[:middle], limits, A[middle:]])),
        np.concatenate([program.b[:middle], np.ones(count), np.zeros(count), program.b[middle:]]),
        replace(program.cones, nonnegative=3 * count),
    )
    margins = posed.solve(max_iter=200).x[program.c.size :]
    pinned[first:middle] = ~(margins > PINNED)
    return pinned


def _pinned_multipliers(program: ConicProgram) -> NDArray[np.bool_]:
    """Rows of the nonnegative cone whose multiplier is zero at every dual feasible point."""
    cones, size = program.cones, program.c.size
    pinned = np.zeros(program.b.size, dtype=bool)
    if cones.exponential or cones.power or not cones.nonnegative:
        return pinned
    # The dual's own rows: the equations of the cost, and every multiplier that lives in a cone.
    free = cones.zero
    select = -sp.eye_array(program.b.size, format="csr")[free:]
    curved = sp.csr_array((size, 0)) if program.P is None else program.P
    top = sp.hstack([sp.csr_array(program.A.T), curved])
    bottom = sp.hstack([select, sp.csr_array((select.shape[0], curved.shape[1]))])
    A = sp.csr_array(sp.vstack([top, bottom]))
    b = np.concatenate([-program.c, np.zeros(select.shape[0])])
    posed = ConicProgram(np.zeros(A.shape[1]), A, b, replace(cones, zero=size))
    pinned[free : free + cones.nonnegative] = _pinned(posed)[size : size + cones.nonnegative]
    return pinned


def _interiors(cones: Cones) -> tuple[Array, Array]:
    """A point inside of each cone and one inside of its dual, zero on equations."""
    first, second = np.zeros(cones.size), np.zeros(cones.size)
    for block in cones.blocks():
        rows = block.rows
        if block.kind == "nonnegative":
            first[rows] = second[rows] = 1.0
        elif block.kind == "second_order":
            first[rows.start] = second[rows.start] = 1.0
        elif block.kind == "semidefinite":
            first[rows] = second[rows] = svec(np.eye(block.parameter))
        elif block.kind == "exponential":
            first[rows], second[rows] = (-1.0, 1.0, 1.0), (-1.0, 0.0, 1.0)
        elif block.kind == "power":
            first[rows.start : rows.stop - 1] = second[rows.start : rows.stop - 1] = 1.0
    return first, second


def room_of(cones: Cones, values: Array) -> Array:
    """How far each entry can move before its cone is left, roughly."""
    room = np.full(values.size, np.inf)
    for block in cones.blocks():
        part = values[block.rows]
        if block.kind == "nonnegative":
            room[block.rows] = np.maximum(part, 0.0)
        elif block.kind == "second_order":
            room[block.rows] = max(float(part[0] - np.linalg.norm(part[1:])), 0.0)
        elif block.kind == "semidefinite":
            room[block.rows] = max(float(np.linalg.eigvalsh(smat(part, block.parameter))[0]), 0.0)
        elif block.kind != "zero":
            room[block.rows] = 1e-8 * float(np.max(np.abs(part)))
    return room


# -- above -----------------------------------------------------------------------------------------------------------


def primal_bound(program: ConicProgram, x: Array, held: NDArray[np.bool_] | None = None) -> tuple[float, str]:
    """An upper bound of the minimum by a feasible point near ``x``, or infinity and the reason.

    The rows ``held`` are solved as equations.
    """
    cones = program.cones
    equal = np.arange(program.b.size) < cones.zero
    if held is not None:
        equal |= held
    rows = np.flatnonzero(equal)
    if held is not None and np.any(held):
        # Where more rows meet in a vertex than there are variables, the others must hold by themselves.
        rows = rows[independent_rows(sp.csr_array(program.A[rows]), cones.zero)]
    part = sp.csr_array(program.A[rows])
    kept = distinct_rows(part, program.b[rows])
    point = repaired(sp.csr_array(part[kept]), Ball.exact(program.b[rows][kept]), x, np.full(x.size, np.inf))
    if point is None:
        return math.inf, "the equations could not be solved with proof"
    slacks = Ball.exact(program.b) - product(program.A, point)
    slacks.mid[rows] = slacks.rad[rows] = 0.0
    outside = in_cones(cones, slacks)
    if outside:
        return math.inf, f"no point was proved to lie inside of the {outside}"
    value = Ball.exact(program.c).dot(point) + Ball.exact(program.offset)
    if program.P is not None:
        value = value + Ball.exact(0.5) * product(program.P, point).dot(point)
    return float(value.upper), ""


# -- below -----------------------------------------------------------------------------------------------------------


def dual_bound(
    program: ConicProgram,
    w: Array,
    z: Array,
    zero: NDArray[np.bool_] | None = None,
    *,
    shift: Array | float = 0.0,
) -> tuple[float, str]:
    """A lower bound of the minimum by a feasible dual point near ``(w, z)``, or minus infinity and the reason.

    The multipliers of the rows ``zero`` are held at zero; ``shift`` is added to all of them.
    """
    cones, size = program.cones, program.c.size
    z = z.copy() if zero is None else np.where(zero, 0.0, z)
    z = z + shift
    room = room_of(cones, z)
    pull = sp.csr_array(program.A.T)
    if program.P is None:
        equations, start, room = pull, z, room
    else:
        curved = np.diff(sp.csc_array(program.P).indptr) > 0
        equations = sp.csr_array(sp.hstack([program.P, pull], format="csr"))
        start = np.concatenate([np.where(curved, w, 0.0), z])
        room = np.concatenate([np.where(curved, np.inf, 0.0), room])
    kept = distinct_rows(equations, program.c)
    found = repaired(sp.csr_array(equations[kept]), -Ball.exact(program.c[kept]), start, room)
    if found is None:
        return -math.inf, "the equations could not be solved with proof"
    multiplier = found[found.mid.size - z.size :]
    outside = in_cones(cones, multiplier, dual=True)
    if outside:
        return -math.inf, f"no multiplier was proved to lie inside of the {outside}"
    value = Ball.exact(program.offset) - Ball.exact(program.b).dot(multiplier)
    if program.P is not None:
        point = found[:size]
        value = value - Ball.exact(0.5) * product(program.P, point).dot(point)
        defect = _curvature_defect(program, point)
        if math.isinf(defect):
            return -math.inf, "the quadratic part could not be proved convex"
        value = value - Ball.exact(defect)
    return float(value.lower), ""


def _curvature_defect(program: ConicProgram, w: Ball) -> float:
    r"""What a quadratic part that is convex only up to rounding can take from the bound.

    A Gram matrix that was rounded to doubles may have eigenvalues of :math:`-10^{-17}`. With
    :math:`P + \delta I \succeq 0` the bound loses at most :math:`\tfrac\delta2\|x-w\|^2`, where the rows of the program
    itself bound :math:`x`.
    """
    if program.P is None:
        return 0.0
    P = sp.csr_array(program.P)
    if (P != P.T).nnz:
        return math.inf
    used = np.flatnonzero(np.diff(P.indptr))
    entries = sp.coo_array(P)
    if np.all(entries.coords[0] == entries.coords[1]):
        return 0.0 if np.all(entries.data >= 0) else math.inf
    dense = P[used][:, used].toarray()
    trace = float(np.trace(dense))
    for factor in (0.0, 1.0, 4.0, 16.0, 256.0):
        delta = factor * used.size * np.finfo(float).eps * trace / max(used.size, 1)
        if is_positive_semidefinite(Ball.exact(dense) + Ball.exact(delta * np.eye(used.size))):
            break
    else:
        return math.inf
    if delta == 0.0:
        return 0.0
    low, high = _bounds(program)
    reach = np.maximum(np.abs(high[used] - w.mid[used]), np.abs(w.mid[used] - low[used])) + w.rad[used]
    return float(0.5 * delta * np.sum(reach**2) * (1.0 + 1e-9))


def _bounds(program: ConicProgram) -> tuple[Array, Array]:
    """Bounds on single variables that rows of the nonnegative and zero cones state."""
    low, high = np.full(program.c.size, -np.inf), np.full(program.c.size, np.inf)
    A = sp.csr_array(program.A)
    for i in range(program.cones.zero + program.cones.nonnegative):
        part = slice(A.indptr[i], A.indptr[i + 1])
        if part.stop - part.start != 1:
            continue
        j, entry = A.indices[part.start], A.data[part.start]
        if entry == 0:
            continue
        edge = program.b[i] / entry
        if entry > 0 or i < program.cones.zero:
            high[j] = min(high[j], np.nextafter(edge, np.inf))
        if entry < 0 or i < program.cones.zero:
            low[j] = max(low[j], np.nextafter(edge, -np.inf))
    return low, high
