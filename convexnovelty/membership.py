r"""A convex set as arrays, read off its membership constraints, with its support function by conic duality.

A set is given by a function that turns a CVXPY vector :math:`v` into constraints. Compiling "minimise
:math:`w'v` subject to these" with distinct weights :math:`w` gives the normal form

.. math:: U = \{v : \exists u,\ A_v v + A_u u + s = b,\ s \in K\},

the weights showing in the objective which columns belong to :math:`v`. Conic duality then gives

.. math:: \sup_{v \in U} w'v = \min_z \{ b'z : A_v'z = w,\ A_u'z = 0,\ z \in K^* \},

which is convex in :math:`w` and enters any CVXPY problem. Rows and columns are equilibrated and the origin is moved
into the set first, so that radii and centres of any size may be mixed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.centring import analytic_centre
from convexnovelty.cones import Cones, triangle
from convexnovelty.conic import Boost, ConicProgram, interior_scales
from convexnovelty.direct import attempts, by_splitting, is_large, splits
from convexnovelty.errors import EmptySetError, RecompilationError, SolverError, UnboundedSetError
from convexnovelty.exact_faces import SAME_BY_EQUATIONS, exact_faces
from convexnovelty.facial import SAME, applied, faces, leaves, well_inside, with_margins
from convexnovelty.places import (
    CERTIFICATE,
    DEPENDENT,
    DONE,
    LADDER,
    RESCALE,
    ROUNDING,
    SMALL,
    completed,
    completed_inside,
    extent_along,
    further_in,
    goes_on,
    halfway,
    has_no_ray,
    has_room,
    holds,
    inserted,
    is_ray,
    least_change,
    minimiser,
    onto_equations,
    proves_empty,
    with_root,
)
from convexnovelty.round_position import (
    NOTHING,
    THIN,
    congruences,
    depth,
    evened_cones,
    in_position,
    is_crooked,
    is_inside,
    product,
    thinnest_slack,
)
from convexnovelty.set_arrays import SHARED, Arrays, implied
from convexnovelty.stated_null import StatedFaces, StatedNull
from convexnovelty.units import evened, squares, with_even_rows
from convexnovelty.validation import Array

__all__ = ["Counterpart", "Membership", "as_counterpart", "convex"]

EARLY = 500  # iterations after which a splitting method's point is looked at
AGAIN = 2  # times that a thin set is posed once more, around the point inside that the last position shows
POINTS = 4  # how many known points are tried before another one is looked for
LEFT = 1e-7  # slack that a solver's first point may have of none; as a unit it would hide that there is none
TILT = 1e-4  # angle up to which a face, read off a solver's points, may be off
BOOST = 10.0  # how far from its axis the point in a second-order cone must be to be worth one
PRECISE, TOLERATED = 1e-8, 1e-5  # residuals of a worst member that is good, and of one that is returned at all
SHARES = tuple(10.0 ** np.arange(-14.0, -5.5, 0.5))  # of the way to the origin that a solver's point may be moved
# Share of a set's width by which its middle may be off the known centre, to be put there where sets are combined.
SNAPPED = 1e-7
BESIDE = 1e-10  # share of a set's width up to which a coordinate of a point inside passes for zero
# How many times the least entry of a program the largest may be where its rays alone are looked for: of a ball 1e24 times larger
# than its centre a worst case was a tenth off, and raw columns have entries 1e9 times apart.
IN_PROPORTION = 1e12
EXACT = 1e-12  # violation of what is called a member without a solver's word
SEEN = 1e-7  # share of a slack's largest eigenvalue below which a smallest one that is left says nothing
BLURRED = 1e-5  # the same below which a point beside the centre is looked for
ROUNDED = 1e-10  # share of a variance below which another passes for none
UNSEEN = 1e-6  # share of a variance beside which a solver's point says nothing of it
DROWNED = 1e-6  # share of the one with which it is compiled below which the bound of a square gets a unit of its own
# By how much the extent of a set may change where its flat cones are reduced: solvers see it dimly.
REACH, NARROW = 1e-2, 1e-3
DIGITS = 4.0 * float(np.finfo(float).eps)  # share of a number that rounding may have changed
QUARTERS = 26  # steps of a quarter in which a point beside a centre is looked for
FLAT = 1e-9  # extent of a set along a direction, as a share of its largest, that is none


@dataclass(frozen=True)
class Counterpart:
    """What stands in a program for a supremum over a set: a convex expression and the constraints that tie it.

    Minimised, or bounded from above, ``value`` equals the supremum. It is an expression that CVXPY knows to be
    convex, so that it is refused where it would be maximised.
    """

    value: cp.Expression
    constraints: list[Any] = field(default_factory=list)


def as_counterpart(value: Any) -> Counterpart:
    """A Counterpart as it is; an expression alone as one without constraints."""
    return value if isinstance(value, Counterpart) else Counterpart(value, [])


def convex(value: cp.Expression) -> cp.Expression:
    """The same number with its curvature in sight: DCP takes an affine epigraph value for something that one may
    maximise, and would then answer wrongly without a word."""
    return cp.max(cp.hstack([value])) if value.is_affine() else value


class Membership:
    r"""The set of the vectors that some arrays describe, found to be non-empty and bounded.

    Parameters
    ----------
    arrays : the compiled constraints.
    name : what an error message calls the set.
    known : a vector that is expected to be a member, such as the centre; it shows how thin the set is where a solver's own
        point has no digits for that.
    thinnest : the least eigenvalue of that centre's correlations, zero where they are singular: what is next to singular round
        another one is thin, and not flat.
    inward : directions from a centre into the cone of covariances.
    order : the order of the covariances whose triangle is the last part of each vector, zero where there are none.
    others : the set at other values of its numbers, by arrays that differ in their right-hand sides alone. What
        differs becomes a CVXPY parameter, which :meth:`move` sets.

    Raises
    ------
    EmptySetError : no vector satisfies the constraints (a certificate was found and verified).
    UnboundedSetError : the set holds a ray.
    """

    def __init__(
        self,
        arrays: Arrays,
        name: str = "the set",
        others: Sequence[Arrays] = (),
        known: Array | None = None,
        thinnest: float = 0.0,
        inward: Sequence[Array] = (),
        order: int = 0,
    ) -> None:
        arrays.refuse_untrue(name)
        self.size = arrays.columns.size
        self.name = name
        self._known = known
        #: Whether semidefinite slacks are thin along directions that are no coordinates.
        self.thin, self._hidden, self._thinnest, self._order = False, False, thinnest, order
        self._arrays, self.columns = arrays, arrays.columns
        given = [arrays.program, *(other.program for other in others)]
        self._stated = StatedNull.of(given, arrays.columns[self.size - order * (order + 1) // 2 :], order)
        raws = [self._without_null(program) for program in given]
        self._stated_faces = StatedFaces.of(raws, arrays.columns)
        raws = [self._stated_faces.reduced(program) for program in raws]
        self._raw = raws[0]
        flat = slice(self._raw.cones.zero)
        self._moving = any(not np.array_equal(raw.b[flat], self._raw.b[flat]) for raw in raws)
        self._asked = [k for k in range(len(self._raw.blocks)) if k not in implied(arrays)]
        self._inward = [self._turned_in(direction / arrays.units) for direction in inward]
        member = None if known is None else self._turned_in((known - arrays.at) / arrays.units)
        scaled, frame, inside = self._looked_at(raws, member)
        unseen = self.tilted or thinnest_slack(scaled.b - scaled.A @ inside, scaled.cones) < BLURRED
        if unseen and member is not None and (middle := self._beside(member)) is not None:
            scaled, frame, inside = self._looked_at(raws, member, middle)
        transform, cones = self._reduction()
        # From here on the origin lies inside of the set, to the last digit: where a set is a point, what rounding
        # leaves outside of the cones would make the dual programs unbounded. And the set is of size one.
        A, right = sp.csr_array(transform @ scaled.A), transform @ scaled.b
        if not self.tilted:
            inside = onto_equations(ConicProgram(scaled.c, A, right, cones), inside)
        slack = cones.projected(right - A @ inside)
        rows, columns = interior_scales(A, slack, cones, ROUNDING, TILT if self.tilted else 0.0)
        if self._stated is not None:
            rows, columns = self._stated.evened(rows, columns, A[: cones.zero], frame, self.columns)
        self._transform = sp.csr_array(sp.diags_array(rows) @ transform)
        self._shift = rows * (right - slack)
        units = np.ones(frame.shape[0])
        units[arrays.columns] = arrays.units
        outward = self._outward(units.size)
        self._origin = units * (outward @ (self._start + frame @ inside))
        self._origin[arrays.columns] += arrays.at
        whole = sp.csr_array(sp.diags_array(units) @ outward @ frame @ sp.diags_array(columns))
        self._frame = sp.csr_array(whole[arrays.columns][:, self.columns])
        A = sp.csr_array(sp.diags_array(rows) @ A @ sp.diags_array(columns))
        there = rows * slack
        # An identity that was computed has entries beside its diagonal, which would count for data in all scales.
        there = np.where(np.abs(there) > NOTHING, there, 0.0) if self._turned else there
        self._program = ConicProgram(np.zeros(A.shape[1]), A, there, cones)
        if self._thinnest > ROUNDED and not self._found:
            self._hidden |= thinnest_slack(there, cones, self._asked) < SEEN
        right = [self._right(raw) for raw in raws]
        self._varying = np.flatnonzero(np.any([self._differ(b, right[0]) for b in right], axis=0))
        self.parameter = cp.Parameter(self._varying.size, value=right[0][self._varying]) if self._varying.size else None

    def _without_null(self, program: ConicProgram) -> ConicProgram:
        """The program in which covariances have no null directions that equations tell, of which no solver shows all digits."""
        return program if self._stated is None else self._stated.reduced(program)

    def _outward(self, size: int) -> sp.csr_array:
        """The map from the variables of the program as posed to those that were compiled."""
        return sp.csr_array(sp.eye_array(size)) if self._stated is None else self._stated.outward(size)

    def _turned_in(self, own: Array) -> Array:
        """A vector of the set's own variables as compiled in those of the program as posed."""
        if self._stated is None:
            return own
        x = np.zeros(self._arrays.program.c.size)
        x[self._arrays.columns] = own
        return np.asarray((self._stated.inward(x.size) @ x)[self._arrays.columns], dtype=float)

    @property
    def null(self) -> Array | None:
        """Directions, as columns, that every covariance of the set takes to zero, by equations; None where none are known."""
        return None if self._stated is None else self._stated.null / self._lengths[:, None]

    def annihilates(self, null: Array) -> bool:
        """Whether equations say that every covariance of the set takes some directions to zero."""
        return self._stated is not None and self._stated.annihilates(null * self._lengths[:, None])

    @property
    def _lengths(self) -> Array:
        """The units of the columns of covariances."""
        first, second = triangle(self._order)
        units = self._arrays.units[self.size - first.size :]
        return np.asarray(np.sqrt(units[first == second]))

    def _require_seen(self) -> None:
        """Raise SolverError where members vary along a direction by less than can be told, which counts in a worst case."""
        if not self._hidden:
            return
        raise SolverError(
            f"{self.name}: members vary so little along some direction that no solver's point shows by how much; give points, "
            "moments and matrices in coordinates in which variances are comparable (whitened ones, say)",
            "thin",
        )

    def _reduction(self) -> tuple[sp.csr_array, Cones]:
        """The rows and cones in which the set has an inside, shown to be of the same extent.

        Faces come from a solver's points: where two cones hold one flat set, equations of both differ by their tilt, and
        taken for two they would leave a point of it.
        """
        program = self._scaled
        whole = extent_along(program, self.columns) if self.tilted else None
        for same in SAME if self.tilted else (SAME_BY_EQUATIONS,):
            transform, cones = applied(program, self._found, same)
            if whole is None:
                return transform, cones
            A = sp.csr_array(transform @ program.A)
            extent = extent_along(ConicProgram(program.c, A, transform @ program.b, cones), self.columns)
            if extent is not None and abs(extent - whole) <= NARROW + REACH * max(extent, whole):
                return transform, cones
        raise SolverError(
            f"{self.name}: the set is flat, and in which directions cannot be told to enough digits; write its membership in "
            "coordinates in which it is not, such as S == F.T @ X @ F with constraints on X",
            "flat",
        )

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _looked_at(
        self, raws: Sequence[ConicProgram], known: Array | None, around: Array | None = None
    ) -> tuple[ConicProgram, sp.csr_array, Array]:
        """The program as posed, and which of its cones are flat, at all of the set's numbers."""
        scaled, frame, inside = self._posed(known, around)
        programs = [replace(scaled, b=self._entered(raw)) for raw in raws]
        held, self._points = [scaled], [inside]
        for program in programs[1:]:
            try:
                point = inside if holds(program, inside) and well_inside(program, inside) else self._inside(program)
            except (EmptySetError, SolverError):  # at some other number, which nobody has asked for
                continue
            held.append(program)
            self._points.append(point)
        self._scaled = scaled
        member = None if known is None else completed(scaled, self.columns, self._entering(frame, known))
        if member is not None and not holds(scaled, member, EXACT):
            member = None
        self._found = exact_faces(held, self._points, faces(held, self._points, minimiser), member)
        return scaled, frame, inside

    def _entering(self, frame: sp.csr_array, known: Array) -> Array:
        """A vector of the set's variables as compiled in the coordinates of a frame."""
        own = sp.csc_array(frame[self._arrays.columns][:, self.columns])
        return np.asarray(scipy.sparse.linalg.spsolve(own, known - self._start[self._arrays.columns]))

    def _posed(self, known: Array | None, around: Array | None) -> tuple[ConicProgram, sp.csr_array, Array]:
        """The program in scale, what takes its coordinates to those that came in, and a point inside of it.

        With ``around`` that is the point which everything is posed around.

        Scales that suit the centre need not suit the set: a ball of radius 1 around a matrix of size 1e8 is one. The
        program is scaled again around the first point inside, where that makes a difference.
        """
        self.thin, self._hidden, self.columns = False, False, self._arrays.columns
        self._start = np.zeros(self._raw.c.size)
        self._steps: list[Callable[[Any], Any]] = []
        middle = self._middle() if around is None else around
        if middle is not None:
            middle = self._centred(self._raw, middle)
            self.thin = (self._thinnest > 0 or around is not None) and depth(self._raw, middle) < THIN
            # What is inside by our own arithmetic has no slack that is rounding.
            floor = ROUNDING if around is None else 0.0
            posed = self._posed_around(self._raw, sp.csr_array(sp.eye_array(middle.size)), middle, floor)
            self._furthest(posed[0])
            return posed
        first, scale = self._raw.equilibrated()
        frame = sp.csr_array(sp.diags_array(scale.columns))
        self._steps.append(partial(_scaled_rows, scale.rows))
        inside = self._first_point(first, None if known is None else known / scale.columns[self.columns])
        posed = self._posed_around(first, frame, inside, LEFT)
        if self._evened and not self.thin and known is not None:
            posed = self._posed_again(*posed, known)
        for _ in range(AGAIN):
            if not self.thin or posed[0].cones.zero >= self.size or has_room(posed[0], posed[2], THIN):
                return posed
            posed = self._posed_around(*posed)
        self._hidden |= not has_room(posed[0], posed[2], SEEN)
        return posed

    def _posed_again(
        self, program: ConicProgram, frame: sp.csr_array, inside: Array, known: Array
    ) -> tuple[ConicProgram, sp.csr_array, Array]:
        """The same where exponentials and powers have been brought into proportion.

        Before, a solver's first point had no digits that would show how thin the set is.
        """
        self._hidden = False
        point = self._first_point(program, self._entering(frame, known))
        return self._posed_around(program, frame, point) if self.thin else (program, frame, inside)

    def _posed_around(
        self, program: ConicProgram, frame: sp.csr_array, inside: Array, floor: float = ROUNDING
    ) -> tuple[ConicProgram, sp.csr_array, Array]:
        """The program in scale around a point of it, whose origin is that point if it is well inside."""
        cones = program.cones
        slack = cones.projected(program.b - program.A @ inside)
        boost = Boost.to_axes(slack, cones, BOOST, 1 / ROUNDING)
        steps: list[Callable[[Any], Any]] = [boost]
        if self.thin:
            steps.append(congruences(slack, cones).__matmul__)
        even = evened_cones(slack, cones)
        self._evened = even is not None
        if even is not None:
            steps.append(even.__matmul__)
        turned = program.A
        for step in steps:
            turned, slack = sp.csr_array(step(turned)), step(slack)
        rows, columns = interior_scales(turned, slack, cones, floor)
        # A square that is bounded by next to nothing has no digits beside the one with which it was compiled.
        around = ConicProgram(program.c, turned, slack, cones)
        if drowned := [square for square in squares(around) if square.disproportion(columns) < DROWNED]:
            factors = [square.disproportion(columns) ** 0.5 for square in drowned]
            steps += (further := [step.forward.__matmul__ for step in evened(drowned, factors, slack.size)])
            for step in further:
                turned, slack = sp.csr_array(step(turned)), step(slack)
            rows, columns = interior_scales(turned, slack, cones, floor)
        A = sp.csr_array(sp.diags_array(rows) @ turned @ sp.diags_array(columns))
        self._turned = self.thin or (self._thinnest > 0 and is_crooked(A))
        if (
            boost.trivial
            and even is None
            and not drowned
            and not self._turned
            and max(_range(rows), _range(columns)) < RESCALE
        ):
            return program, frame, inside
        self._start, self._steps = self._start + frame @ inside, [*self._steps, *steps, partial(_scaled_rows, rows)]
        frame = sp.csr_array(frame @ sp.diags_array(columns))
        if self._turned:
            found = in_position(A, cones, self.columns)
            self._steps.append(found.rows.__matmul__)
            A, frame, cones, self.columns = found.A, product(frame, found.frame), found.cones, found.columns
        second = ConicProgram(np.zeros(A.shape[1]), A, self._entered(self._raw), cones)
        origin = np.zeros(A.shape[1])
        held = holds(second, origin)
        if held and well_inside(second, origin):
            return second, frame, origin
        try:
            return second, frame, self._inside(second)
        except SolverError:
            if not held:
                raise
            return second, frame, origin

    def _middle(self) -> Array | None:
        """The point that values of all further variables make by the equations, if it is inside by our own arithmetic."""
        program, middle = self._raw, self._arrays.shown.copy()
        middle[self.columns] = 0.0
        if np.isnan(middle).any() or self._stated_faces.corners:
            return None
        equations = program.A[: program.cones.zero]
        left = program.b[: program.cones.zero] - equations @ middle
        own = sp.csr_array(equations[:, self.columns])
        middle[self.columns] = scipy.sparse.linalg.lsqr(own, left, atol=1e-15, btol=1e-15)[0]
        return middle if self._is_inside(middle) else None

    def _beside(self, known: Array) -> Array | None:
        """The centre if it is inside by our own arithmetic, or a point beside it that is, along a known direction; None for neither.

        A small set round a large centre is a point to a solver, or some face.
        """
        program, columns = self._raw, self._arrays.columns
        if self._is_inside(x := completed_inside(program, columns, known)):
            return x
        for direction in self._inward:
            # Beside the centre a small step off the equations would pass for rounding.
            if not self._meets(completed(program, columns, known + direction)):
                continue
            for quarters in range(QUARTERS):
                x = completed_inside(program, columns, known + 0.25**quarters * direction)
                if self._is_inside(x):
                    further = completed_inside(program, columns, known + 0.25 ** (quarters + 1) * direction)
                    return further if self._is_inside(further) else x
        return None

    def _is_inside(self, x: Array) -> bool:
        """Whether a point of the program as compiled meets the equations and lies inside of every cone, by our own arithmetic."""
        program = self._raw
        slack, terms = program.b - program.A @ x, np.abs(program.b) + abs(program.A) @ np.abs(x)
        return self._meets(x) and is_inside(slack, terms, program.cones)

    def _meets(self, x: Array) -> bool:
        """Whether a point of the program as compiled meets its equations up to rounding."""
        program = self._raw
        A, b = program.A[: program.cones.zero], program.b[: program.cones.zero]
        return bool((np.abs(b - A @ x) <= EXACT * (np.abs(b) + abs(A) @ np.abs(x))).all())

    def _first_point(self, program: ConicProgram, known: Array | None) -> Array:
        """A point inside, as far from the walls as a solver's and a known member's show; notes whether the set is thin."""
        member = None if known is None else completed(program, self.columns, known)
        try:
            inside = self._inside(program)
        except (EmptySetError, SolverError):
            # What is a member by our own arithmetic shows that a set too thin for a solver holds something.
            if member is None or not holds(program, member, EXACT):
                raise
            inside = member
        inside = further_in(program, inside, self._furthest(program))
        inside = inside if member is None else halfway(program, inside, member)
        deep = partial(depth, program)
        if member is not None and deep(inside) < THIN:
            # What a solver leaves of an equation would move a thin set by a share of itself.
            inside, member = (onto_equations(program, point) for point in (inside, member))
            deepest = max((inside, (inside + member) / 2, member), key=deep)
            # Round a singular centre one could not tell a thin cone from a flat one.
            self.thin = self._thinnest > 0 and deep(deepest) > 0
            self._hidden = not self.thin and ROUNDED < self._thinnest < UNSEEN
            inside = deepest if self.thin else inside
        centre = self._centred(program, inside)
        # A set may be thin beside one of its points alone.
        self.thin &= centre is inside or deep(centre) < THIN
        return centre

    def _centred(self, program: ConicProgram, inside: Array) -> Array:
        """The analytic centre, where a point next to the walls would take the set for as small as its room there.

        Round a singular centre a set may be flat, and has no inside but what a solver leaves of its equations: there the
        centre counts where no semidefinite slack is thin.
        """
        if self._thinnest:
            return analytic_centre(program, inside)
        if not self._order:
            return inside
        centre = analytic_centre(program, inside)
        return centre if depth(program, centre) > BLURRED else inside

    def _entered(self, raw: ConicProgram) -> Array:
        """The right-hand side in scale, with coordinates that begin at the start."""
        right = raw.b - raw.A @ self._start
        for step in self._steps:
            right = step(right)
        return np.asarray(right)

    def _inside(self, program: ConicProgram, name: str = "") -> Array:
        """A point inside the set, or the proof that there is none."""
        posed = with_margins(program) if is_large(program) else program
        if posed is not program and splits(posed):
            # Margins need not be the largest: any point with some, by our own arithmetic, will do, and most have them soon.
            early = by_splitting(posed, EARLY).x[: program.c.size]
            if np.isfinite(early).all() and well_inside(program, early) and holds(program, early, ROUNDING):
                return early
        for solution in attempts(posed, LADDER[1:]):
            if (
                "PrimalInfeasible" in solution.status
                and proves_empty(posed, solution)
                and least_change(program) > CERTIFICATE
            ):
                raise EmptySetError(
                    f"{name or self.name} is empty: nothing satisfies all of its constraints; relax one"
                )
            if solution.status == "Solved":
                return solution.x[: program.c.size]
        raise SolverError(f"{name or self.name}: no member could be found ({solution.status})", solution.status)

    def _furthest(self, program: ConicProgram) -> Array | None:
        """A point far from the walls, where the proof that the set is bounded has one; raises UnboundedSetError."""
        # A generic direction and its opposite suffice: a ray that is level in it would be a coincidence of
        # probability zero.
        direction = np.random.default_rng(20).standard_normal(self.size)
        bounded, far = has_no_ray(program, self.columns, direction)
        if bounded:
            return far
        # A ray knows nothing of right-hand sides, beside which axes along which the set is much larger than its centre are short.
        entries = np.abs(program.A.data[program.A.data != 0])
        if entries.size and entries.max() < IN_PROPORTION * entries.min():
            free = replace(program, b=np.zeros(program.b.size), c=np.zeros(program.c.size))
            if has_no_ray(free.equilibrated()[0], self.columns, direction)[0]:
                return None
        ends = []
        for sign in (1.0, -1.0):
            cost = np.zeros(program.c.size)
            cost[self.columns] = sign * direction / np.linalg.norm(direction)
            solution = next(attempts(replace(program, c=cost), LADDER[2:]))
            if "DualInfeasible" in solution.status and is_ray(program, solution, cost) and goes_on(program, cost):
                # Of a bound that is far away its own scale leaves next to nothing.
                if is_ray(with_even_rows(program), solution, cost):
                    raise UnboundedSetError(
                        f"{self.name} is unbounded: it holds a ray, so that a worst case over it is infinite; bound it"
                    )
                raise UnboundedSetError(
                    f"{self.name} is unbounded, or so large beside its centre that float64 cannot tell; bound it, or give "
                    "numbers that are nearer to each other"
                )
            ends.append(solution.x)
        return np.asarray(sum(ends)) / len(ends)

    @property
    def tilted(self) -> bool:
        """Whether the set is flat in directions that were read off a solver's points, which know them to :data:`TILT`."""
        return any(not face.exact for face in self._found)

    # -- a radius as a parameter -------------------------------------------------------------------------------------

    def move(self, arrays: Arrays, name: str = "") -> None:
        """Give the parameter the values of the set that ``arrays`` describe, by its name there.

        Raises RecompilationError where the compiled program cannot follow, because its matrix or the cones in use differ, and
        EmptySetError where nothing is a member any more: every bound would hold for nothing.
        """
        if self._stated is not None and not self._stated.holds(arrays.program):
            raise RecompilationError(
                f"{self.name}: at these numbers the covariances have other null directions; make the problem anew"
            )
        raw = self._without_null(arrays.program)
        if not self._stated_faces.hold(raw):
            raise RecompilationError(f"{self.name}: at these numbers other cones are flat; make the problem anew")
        raw = self._stated_faces.reduced(raw)
        right = self._right(raw) if self._arrays.moves_to(arrays) else None
        if right is None or np.any(np.delete(self._differ(right, self._right(self._raw)), self._varying)):
            raise RecompilationError(f"{self.name}: this change needs the problem to be made anew")
        arrays.refuse_untrue(name)
        program = replace(self._scaled, b=self._entered(raw))
        if not any(holds(program, point) for point in self._points):
            self._points = [*self._points[-POINTS:], self._inside(program, name)]
        if leaves(program, self._found, minimiser):
            raise RecompilationError(
                f"{self.name}: at these numbers the set has directions that the compiled problem left out; make it anew"
            )
        if self.parameter is not None:
            self.parameter.value = right[self._varying]

    def _right(self, raw: ConicProgram) -> Array:
        return np.asarray(self._transform @ self._entered(raw) - self._shift)

    def _differ(self, one: Array, other: Array) -> Array:
        """Which entries of two right-hand sides differ; what rounding left of a face makes no equation another one."""
        apart = np.abs(one - other)
        limits = np.zeros_like(apart)
        limits[: self._program.cones.zero] = ROUNDING * float(np.max(apart, initial=0.0))
        return np.asarray(apart > limits)

    # -- its support function ----------------------------------------------------------------------------------------

    @property
    def centre(self) -> Array:
        """A point in or near the set."""
        columns = self._arrays.columns
        if not self.is_point:
            return np.asarray(self._origin[columns])
        flat, units, only = self._raw.cones.zero, self._arrays.units, self._origin[columns]
        if self._is_stated:
            only = np.linalg.lstsq(self._raw.A[:flat].toarray(), self._raw.b[:flat])[0]
            only = (self._outward(only.size) @ only)[columns] * units + self._arrays.at
        # A variance below zero by rounding would have a lift without a minimum: the centre itself has none.
        return np.asarray(self._known if self._near_known(only).all() else only)

    def _near_known(self, v: Array) -> NDArray[np.bool_]:
        """Which coordinates differ from those of the known centre by no more than rounding."""
        if self._known is None:
            return np.zeros(v.size, dtype=bool)
        sizes = np.maximum(self._arrays.units, np.abs(self._known - self._arrays.at))
        return np.asarray(np.abs(v - self._known) <= ROUNDING * sizes + DIGITS * np.abs(self._known))

    @cached_property
    def is_point(self) -> bool:
        """Whether nothing but one point is left, whatever further variables and the set's numbers may be."""
        if self._moving:
            return False
        reduced = self._program.cones.size == self._program.cones.zero and not self._varying.size
        return reduced or self._is_stated

    @cached_property
    def _is_stated(self) -> bool:
        """Whether the membership's own equations leave one point, and not what its inequalities were reduced to."""
        raw = self._raw
        if self._moving or not raw.cones.zero or raw.c.size > SMALL:
            return False
        # In scale: beside further variables in units of their own all that members do may be less than their rounding.
        stated = raw.equilibrated()[0].A[: raw.cones.zero]
        free = scipy.linalg.null_space(stated.toarray(), rcond=FLAT)
        return bool(np.linalg.norm(free[self._arrays.columns]) <= FLAT)

    @cached_property
    def _free(self) -> Array | None:
        """What the equations leave free, in the set's own coordinates: columns that span it, None where they are no help."""
        stated = self._program.A[: self._program.cones.zero]
        if not stated.shape[0] or stated.shape[1] > SMALL:
            return None
        free = scipy.linalg.null_space(stated.toarray(), rcond=FLAT)
        return np.asarray(self._frame @ free[self.columns])

    @cached_property
    def _flat(self) -> NDArray[np.bool_]:
        """The coordinates in which all members agree, by equations."""
        if self._free is None:
            return np.zeros(self.size, dtype=bool)
        return np.asarray(np.linalg.norm(self._free, axis=1) <= FLAT * self.widths)

    @cached_property
    def _extents(self) -> Array:
        """How far members differ in each coordinate, which equations with further variables may make less than its width."""
        return self.widths if self._free is None else np.minimum(self.widths, np.linalg.norm(self._free, axis=1))

    @cached_property
    def _is_across(self) -> bool:
        """Whether members keep to a plane, by equations, that is none of the planes along coordinates."""
        if self._free is None:
            return False
        seen = np.linalg.svd(self._free / self.widths[:, None], compute_uv=False)
        return bool(int(np.sum(seen > FLAT * seen.max(initial=0.0))) < int(np.sum(~self._flat)))

    def span(self, origin: Array) -> Array | None:
        """Orthonormal axes of the steps that members make from an origin, in widths; None where equations do not show them.

        Of pairs an origin of means alone asks for the steps of the means.
        """
        if self._free is None or self.tilted:
            return None
        own = slice(origin.size)
        within = np.column_stack([self._free[own], self._shared_centre[own] - origin]) / self.widths[own, None]
        sizes = np.linalg.norm(within, axis=0)
        used = sizes > ROUNDING * sizes.max()
        left, values, _ = np.linalg.svd(within[:, used] / sizes[used], full_matrices=False)
        return np.asarray(left[:, values > FLAT * values.max(initial=0.0)])

    @property
    def widths(self) -> Array:
        """The size of each coordinate over the set, as the scaling found it."""
        return np.asarray(scipy.sparse.linalg.norm(self._frame, axis=1))

    def support(
        self,
        w: Any,
        unit: float | None = None,
        reach: float | None = None,
        *,
        unseen: bool = True,
        through: sp.csr_array | None = None,
    ) -> Counterpart:
        r"""The counterpart of :math:`\sup_{v\in U} w'v` divided by ``unit``, by conic duality.

        ``w`` is any affine expression, of what ``through`` is multiplied by where that is given; ``unit`` is the expected
        size of the supremum, that of the set by default (then the value is multiplied back). ``reach`` is the expected size of
        what the supremum has beyond the centre, which makes the multipliers of size one: where a set is small beside its
        centre they would drown in its unit. ``unseen`` is whether ``w`` may have any part that no member sees, which costs
        the program its sparsity.
        """
        self._require_seen()
        if self.is_point:
            only = (self.centre if through is None else self.centre @ through) / (unit or 1.0)
            return Counterpart(convex(only @ w), [])
        program = self._program
        if unit is None:
            unit = max(float(np.max(self.widths)), float(np.max(np.abs(self.centre - self._arrays.at)))) or 1.0
            made = self.support(w, unit, reach, unseen=unseen, through=through)
            return Counterpart(unit * made.value, made.constraints)
        reach = (float(np.max(self.widths)) if reach is None else reach) or unit
        # Halfway between the two: along some directions a small set is all that there is.
        reach = unit if reach == unit else float(np.sqrt(reach) * np.sqrt(unit))
        z = cp.Variable(program.b.size)
        inner = np.setdiff1d(np.arange(program.c.size), self.columns)
        pull = sp.csr_array(program.A.T)
        fixed = program.b.copy()
        fixed[self._varying] = 0.0
        beyond = fixed @ z
        if self.parameter is not None:
            beyond = beyond + self.parameter @ z[self._varying]
        seen = sp.csr_array(self._frame.T)
        weights = sp.csr_array((seen if through is None else product(seen, through)) / reach) @ w
        along = self._along() if unseen else None
        if along is not None:
            # N'(A'z - w) = 0 in place of A'z = w: the multipliers of the equations are gone, which cost nothing.
            everything, seen = along
            constraints = [sp.csr_array(everything.T @ pull) @ z == seen.T @ weights]
            constraints.append(z[: program.cones.zero] == 0)
        else:
            constraints = [pull[self.columns] @ z == weights]
            if inner.size:
                constraints.append(pull[inner] @ z == 0)
        middle = self.centre / unit if through is None else (self.centre / unit) @ through
        beyond = beyond if reach == unit else (reach / unit) * beyond
        # Beside what a far centre adds it would drown in one variable with that.
        far = self._arrays.at.any()
        value = middle @ w + convex(beyond) if far else convex(middle @ w + beyond)
        return Counterpart(value, constraints + program.cones.constraints(z, dual=True))

    def _along(self) -> tuple[Array, Array] | None:
        """A basis N of what the equations leave free, for a set without an inside, and its part in the set's coordinates.

        Where a set is flat, the direction whose worst case is asked for may have a part that no member sees. It and the
        multipliers of the equations would make up for each other at any size, and a solver would not know where to stop.
        None for sets with an inside.
        """
        program, flat = self._program, self._program.cones.zero
        if not flat or program.c.size > SMALL or (self._varying.size and self._varying[0] < flat):
            return None
        # Of length one, so that beside a long equation none of the others passes for a combination.
        stated = program.A[:flat].toarray()
        lengths = np.linalg.norm(stated, axis=1, keepdims=True)
        _, values, rows = np.linalg.svd(stated / np.where(lengths > 0, lengths, 1.0), full_matrices=True)
        along = rows[int(np.sum(values > DEPENDENT * max(float(values[0]), 1e-300))) :].T
        left, sizes, right = np.linalg.svd(along[self.columns], full_matrices=False)
        seen = sizes > FLAT * max(float(sizes[0]) if sizes.size else 0.0, 1e-300)
        if not seen.any() or int(seen.sum()) == self.size:
            return None
        # What rounding leaves of a direction without extent would count beside a weight of any size.
        shown = (left[:, seen] * sizes[seen]) @ right[seen]
        return along, np.where(np.abs(shown) > FLAT * np.abs(shown).max(), shown, 0.0)

    def multiple(self, share: Any) -> tuple[Any, list[Any]]:
        """``share`` times a member, for a share that is not negative, and the constraints that make it one.

        The arrays are homogeneous in the right-hand side, so that no product of variables occurs; a bounded set has
        nothing but zero at the share zero.
        """
        self._require_seen()
        program = self._program
        if self.is_point:
            # Equations alone bound nothing but a point. Variables that are zero have no size, and any would be a wrong one.
            return share * self.centre, []
        # In its own coordinates the set lies around the origin.
        x = cp.Variable(program.c.size, name=SHARED, value=np.zeros(program.c.size))
        slack = share * program.b - program.A @ x
        moving = sp.csr_array(sp.diags_array(np.where(self._flat, 0.0, 1.0)) @ self._frame)
        moving.eliminate_zeros()
        v = share * self._shared_centre + moving @ x[self.columns]
        return v, program.cones.constraints(slack)

    @property
    def _shared_centre(self) -> Array:
        """The centre without what a solver left of it: where the known one is zero, or that of another part of a hull.

        That would pass for the size of a coordinate in what it becomes a part of.
        """
        centre, known = self.centre, np.zeros(self.size) if self._known is None else self._known
        for exact, left in ((known, np.where(self._flat, TOLERATED, SNAPPED)), (0.0, BESIDE)):
            sizes = np.maximum(self.widths, np.abs(exact - np.where(exact == 0, 0.0, self._arrays.at)))
            # Beside its distance from the origin a middle may be nearer to the centre than a small set reaches.
            sizes = np.where(self._flat, sizes, self._extents)
            near = np.abs(centre - exact) <= left * sizes + DIGITS * np.abs(exact)
            # Some coordinates of a point in a plane that is across them, moved without the others, leave the plane.
            near &= self._flat | (near.all() or not self._is_across)
            centre = np.where(near, exact, centre)
        return np.asarray(centre)

    def maximise(
        self, w: Array, root: Array | None = None, kappa: float = 0.0, *, settle: bool = True
    ) -> tuple[float, Array]:
        r"""The largest :math:`w'v + \kappa\sqrt{r'v}` over the set, and a member that attains it.

        The primal program is solved, so that the value is reached by a member and owes nothing to :meth:`support`.
        Without ``settle`` the point is the solver's own, a member up to its tolerance.
        """
        self._require_seen()
        program = self._program
        if self.is_point:
            only = self.centre
            return float(w @ only) + (0.0 if root is None else kappa * math.sqrt(max(float(root @ only), 0.0))), only
        cost = np.zeros(program.c.size)
        cost[self.columns] = -(self._frame.T @ w)
        cost = self._seen(cost)
        scale = float(np.linalg.norm(cost)) or 1.0
        if root is not None and kappa > 0:
            across = self._frame.T @ root
            deviation = float(np.sqrt(max(float(root @ self.centre), float(np.linalg.norm(across))))) or 1.0
            scale = scale if np.any(cost) else kappa * deviation
            slope, constant = across / deviation**2, float(root @ self.centre) / deviation**2
            program, cost = with_root(program, self.columns, cost / scale, slope, constant)
            cost[-1] = -kappa * deviation / scale
        else:
            cost = cost / scale
        program = replace(program, c=cost)
        statuses, best, error = [], None, TOLERATED
        for solution in attempts(program, LADDER):
            statuses.append(solution.status)
            # A solver's word is not enough: with coordinates of very different sizes its own scaled residuals deceive.
            residual = program.residuals(solution.x, solution.z).worst if solution.status in DONE else np.inf
            if residual < error:
                best, error = solution.x, residual
            if error <= PRECISE:
                break
        if best is not None:
            found = best[: self._program.c.size]

            def value(x: Array) -> float:
                v = self._member(x)
                more = kappa * float(np.sqrt(max(float(root @ v), 0.0))) if root is not None and kappa > 0 else 0.0
                return float(w @ v) + more

            if not settle:
                return value(found), self._member(found)
            settled = self._settled(found)
            # Where members are far from the solver's point its value is the better one. Where they are near, what the
            # point has more is the root of a variance that a solver takes for zero.
            near = float(np.linalg.norm((settled - found)[self.columns])) <= ROUNDING and holds(
                self._program, settled, EXACT
            )
            alike = value(found) - value(settled) <= PRECISE * max(scale, abs(value(found)))
            kept = settled if near or alike else found
            return value(kept), self._member(kept)
        raise SolverError(f"{self.name}: the worst member could not be found ({', '.join(statuses)})", statuses[-1])

    def _seen(self, cost: Array) -> Array:
        """The cost without what equations make a constant of, where that would drown the rest in a cost of size one."""
        equations = self._program.A[: self._program.cones.zero]
        if not equations.shape[0]:
            return cost
        constant = equations.T @ scipy.sparse.linalg.lsqr(equations.T, cost, atol=1e-15, btol=1e-15)[0]
        left, size = cost - constant, float(np.linalg.norm(cost))
        return left if ROUNDING * size < float(np.linalg.norm(left)) < size / RESCALE else cost

    def _member(self, x: Array) -> Array:
        found = self.centre + self._frame @ x[self.columns]
        # Where no member moves, none is to be off the centre by what a solver left of it.
        exact = self._flat & self._near_known(found)
        return np.asarray(np.where(exact, self._known, found) if exact.any() else found)

    def _settled(self, x: Array) -> Array:
        """A solver's point moved by the little that makes it a member: onto the equations, then towards the origin.

        Where a cone is met in a point or an edge, as a singular matrix is, members lie further from a point than the
        root of what the point lacks; the origin lies inside, so that the share of a step towards it is enough.
        """
        A, b, cones = self._program.A, self._program.b, self._program.cones
        equations = A[: cones.zero]
        if cones.zero:
            left = equations @ x - b[: cones.zero]
            met = x - scipy.sparse.linalg.lsqr(equations, left, atol=1e-15, btol=1e-15)[0]
        else:
            met = x
        slack = b - A @ met
        slack[: cones.zero] = 0.0
        inside = np.append(np.zeros(cones.zero), b[cones.zero :])
        for share in (0.0, *SHARES):
            if not cones.violations((1 - share) * slack + share * inside).any():
                return np.asarray((1 - share) * met)
        return x

    def distance(self, v: Array) -> float:
        """How far ``v`` is from the set, in units of the set's own coordinates (their size is about one)."""
        self._require_seen()
        program = self._program
        target = scipy.sparse.linalg.spsolve(sp.csc_array(self._frame), v - self.centre)
        size, width = self.size, program.c.size
        pick = sp.csr_array((np.ones(size), (np.arange(size), self.columns)), shape=(size, width))
        block = sp.block_array([[sp.csr_array((1, width)), sp.csr_array([[-1.0]])], [pick, None]], format="csr")
        A = sp.hstack([program.A, sp.csr_array((program.b.size, 1))], format="csr")
        widened = inserted(replace(program, A=A), block, np.concatenate([[0.0], target]))
        cost = np.zeros(width + 1)
        cost[-1] = 1.0
        # Where the distance is zero its kink can stop the solver; the squared distance has none, and fewer digits.
        squared = replace(program, c=-np.asarray(pick.T @ target), P=sp.csr_array(pick.T @ pick))
        nearest = self._apart(completed(program, self.columns, target), target)
        if nearest > CERTIFICATE:
            nearest = min(nearest, self._apart(self._shrunk(target), target))
        if nearest <= CERTIFICATE:
            return nearest
        for solution in itertools.chain(attempts(replace(widened, c=cost), LADDER), attempts(squared, LADDER)):
            # Whatever the solver says of its point, a member that it leads to bounds the distance.
            nearest = min(nearest, self._apart(solution.x[:width], target))
            if solution.status == "Solved":
                nearest = min(nearest, float(np.linalg.norm(solution.x[self.columns] - target)))
            if nearest <= CERTIFICATE or solution.status == "Solved":
                return nearest
        return nearest if np.isfinite(nearest) else float("nan")

    def _shrunk(self, target: Array) -> Array:
        """The last point of the set on the way from the origin to ``target``, as a solver finds it by the gauge.

        One number is minimised there, where a distance has the digits of a whole vector, fewer of them.
        """
        program = self._program
        inner = np.setdiff1d(np.arange(program.c.size), self.columns)
        A = sp.hstack([program.A[:, inner], sp.csr_array(-program.b[:, None])], format="csr")
        cost = np.zeros(inner.size + 1)
        cost[-1] = 1.0
        held = ConicProgram(cost, sp.csr_array(A), -(program.A[:, self.columns] @ target), program.cones)
        solution = next(attempts(held, LADDER))
        size = max(float(solution.x[-1]), 1.0)
        x = np.zeros(program.c.size)
        x[self.columns], x[inner] = target / size, solution.x[:-1] / size
        return x

    def _apart(self, x: Array, target: Array) -> float:
        """The distance from a target to the member that a point leads to, infinite where it leads to none."""
        if not np.isfinite(x).all():
            return float("inf")
        settled = self._settled(x)
        held = holds(self._program, settled, EXACT)
        return float(np.linalg.norm(settled[self.columns] - target)) if held else float("inf")


def _scaled_rows(scales: Array, values: Array) -> Array:
    return np.asarray(scales * values)


def _range(scales: Array) -> float:
    return float(scales.max(initial=0.0) / scales.min(initial=np.inf))
