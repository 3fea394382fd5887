r"""Conic programs as arrays: the compiled form of a problem, its residuals and its dual, by our own arithmetic.

A program is :math:`\min \tfrac12 x'Px + c'x` subject to :math:`Ax + s = b,\ s \in K`, which is what CVXPY hands to
Clarabel. Everything that the checker says about a point (feasibility, stationarity, complementarity, gap) is computed
here from these arrays, never taken from a solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.cones import Block, Cones, triangle
from convexnovelty.errors import is_panic
from convexnovelty.validation import Array

__all__ = ["Boost", "Cones", "ConicProgram", "ConicSolution", "Equilibration", "Residuals", "interior_scales"]

NOISE = 1e-12  # share of the largest entry of an equation below which another is rounding
FAINT = 1e-3  # share of its row below which a right-hand side in a semidefinite cone has no say in scales
ROUNDING = 1e-14  # share of the largest entry of a column below which an entry counts as zero
LOWER_TRIANGLE_SOLVERS = ("SCS", "DIFFCP")


@dataclass(frozen=True)
class Residuals:
    """How far a primal-dual point is from optimal, absolute and relative to one plus the size of the terms compared.

    ``primal``: :math:`Ax + s - b`; ``cone``: distance of :math:`s` from :math:`K`; ``dual``: :math:`Px + A'z + c`;
    ``dual_cone``: distance of :math:`z` from :math:`K^*`; ``gap``: :math:`x'Px + c'x + b'z`; ``complementarity``:
    :math:`s'z`. ``absolute`` holds the same six before division and, of a point that a solver gave, as ``value`` what they may
    change of the objective together, to first order.
    """

    primal: float
    cone: float
    dual: float
    dual_cone: float
    gap: float
    complementarity: float
    absolute: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest of the relative residuals; NaN if any of them is."""
        return float(np.max([self.primal, self.cone, self.dual, self.dual_cone, self.gap, self.complementarity]))

    @classmethod
    def of_model(cls, problem: cp.Problem) -> Residuals:
        """What a solved CVXPY problem itself shows, for solvers whose canonical point is not to be had.

        Constraint violations, and complementarity of the multipliers of inequalities; no stationarity.
        """
        violations, products = [0.0], 0.0
        value = problem.value if isinstance(problem.value, float) else float(np.asarray(problem.value))
        for constraint in problem.constraints:
            violations.append(float(np.max(np.abs(constraint.violation()), initial=0.0)))
            dual = getattr(constraint, "dual_value", None)
            if isinstance(constraint, cp.constraints.Inequality) and dual is not None:
                slack = np.asarray(constraint.expr.value, dtype=float)
                products += abs(float(np.sum(slack * np.asarray(dual, dtype=float))))
        violation = float(np.max(violations))  # NaN if any of them is
        scale = 1.0 + abs(value)
        absolute = {"cone": violation, "complementarity": products}
        return cls(0.0, violation / scale, 0.0, 0.0, 0.0, products / scale, absolute)


@dataclass(frozen=True)
class ConicSolution:
    """What Clarabel returned for a program: a point, or a certificate that there is none."""

    status: str
    x: Array
    z: Array
    s: Array
    iterations: int = 0


@dataclass(frozen=True)
class Equilibration:
    r"""Scales between a program and its equilibrated form: :math:`x = D \hat x`, :math:`z = E \hat z`, and the
    objective is ``objective`` times the scaled one."""

    columns: Array
    rows: Array
    objective: float


@dataclass(frozen=True)
class ConicProgram:
    r"""The arrays of :math:`\min \tfrac12 x'Px + c'x + d` subject to :math:`Ax + s = b,\ s \in K`.

    ``P`` is None for a linear objective; ``offset`` is the constant :math:`d`, which no solver sees.
    """

    c: Array
    A: sp.csr_array
    b: Array
    cones: Cones
    P: sp.csr_array | None = None
    offset: float = 0.0

    @classmethod
    def from_problem(cls, problem: cp.Problem) -> ConicProgram:
        """Compile a CVXPY problem; a maximisation comes out as the minimisation of its negative."""
        data, _, _ = problem.get_problem_data("CLARABEL")
        return cls.from_data(data)

    @classmethod
    def from_data(cls, data: Mapping[str, Any], solver: str = "CLARABEL") -> ConicProgram:
        """From CVXPY's canonical data for a conic solver.

        SCS wants lower triangles where Clarabel wants upper ones: the rows are brought to one order.
        """
        cones = Cones.from_dimensions(data["dims"])
        A, b = sp.csr_array(data["A"]), np.asarray(data["b"], dtype=float)
        if solver.upper() in LOWER_TRIANGLE_SOLVERS:
            order = cones.lower_to_upper()
            A, b = sp.csr_array(A[order]), b[order]
        P = data.get("P")
        offset = 0.0
        if "param_prob" in data:
            offset = float(data["param_prob"].apply_parameters(quad_obj=P is not None)[-3])
        return cls(np.asarray(data["c"], dtype=float), A, b, cones, None if P is None else sp.csr_array(P), offset)

    @classmethod
    def from_split(cls, data: Mapping[str, Any]) -> ConicProgram | None:
        """From the data of a solver that is given equations and inequalities apart, as quadratic solvers and ECOS are.

        Quadratic solvers are given the equations with the other sign. Bounds of variables are no rows here. None where the
        rows are in an order that is the solver's own.
        """
        compiled = data["param_prob"]
        if data["dims"].exp:
            return None
        *squares, c, offset, A, b = compiled.apply_parameters(quad_obj="P" in data)
        cones = Cones.from_dimensions(data["dims"])
        sign = np.ones(cones.size)
        sign[: cones.zero] = -1.0 if "F" in data else 1.0
        folded = cones.from_entries
        if A.shape[0] == folded.shape[1]:
            A, b = folded @ sp.csr_array(A), folded @ np.ravel(b)
        elif A.shape[0] != cones.size:
            return None
        rows = sp.csr_array(sp.diags_array(-sign) @ A)
        level, cost = sign * np.asarray(b, dtype=float).ravel(), np.asarray(c, dtype=float).ravel()
        P = sp.csr_array(squares[0]) if squares else None
        return cls(cost, rows, level, cones, P, float(offset))

    def from_solver_order(self, values: Array, solver: str) -> Array:
        """A solver's slack or multiplier with its rows in this program's order."""
        return values[self.cones.lower_to_upper()] if solver.upper() in LOWER_TRIANGLE_SOLVERS else values

    # -- points ------------------------------------------------------------------------------------------------------

    def residuals(self, x: Array, z: Array, s: Array | None = None) -> Residuals:
        r"""Optimality residuals of a primal point and a multiplier; without ``s`` the slack is :math:`b - Ax`."""
        image = self.A @ x
        s = self.b - image if s is None else s
        curvature = np.zeros_like(x) if self.P is None else self.P @ x
        pull = self.A.T @ z
        quadratic, linear, value = float(x @ curvature), float(self.c @ x), float(self.b @ z)
        norm = np.linalg.norm
        absolute = {
            "primal": float(norm(image + s - self.b)),
            "cone": float(norm(self.cones.violations(s))),
            "dual": float(norm(curvature + pull + self.c)),
            "dual_cone": float(norm(self.cones.violations(z, dual=True))),
            "gap": abs(quadratic + linear + value),
            "complementarity": abs(float(s @ z)),
        }
        rows = 1.0 + max(float(norm(image)), float(norm(s)), float(norm(self.b)))
        columns = 1.0 + max(float(norm(curvature)), float(norm(pull)), float(norm(self.c)))
        terms = 1.0 + max(abs(quadratic), abs(linear), abs(value))
        scale = {
            "primal": rows,
            "cone": rows,
            "dual": columns,
            "dual_cone": 1.0 + float(norm(z)),
            "gap": terms,
            "complementarity": terms,
        }
        return Residuals(**{name: absolute[name] / scale[name] for name in absolute}, absolute=absolute)

    def value_error(self, x: Array, z: Array) -> float:
        r"""How far the objective at a point may lie from the least value, to first order, by a multiplier ``z``.

        Every residual is charged with what it can change of the value: a slack outside its cone with the multiplier of
        that cone, a multiplier outside the dual cone with the slack, an entry of :math:`Px + A'z + c` with the entry of
        x that it meets, and the gap with itself. The sum does not depend on the units of rows and columns, where the
        residuals themselves do. It says nothing of a point that is far from the optimum: residuals in scale do.
        """
        s = self.b - self.A @ x
        curvature = np.zeros_like(x) if self.P is None else self.P @ x
        pull = curvature + self.A.T @ z + self.c
        return float(
            abs(x @ curvature + self.c @ x + self.b @ z)
            + np.abs(pull) @ np.abs(x)
            + self.cones.work(s, z)
            + self.cones.work(z, s, dual=True)
        )

    def objective(self, x: Array) -> float:
        """The objective at ``x``, with the constant."""
        return self.value(x) + self.offset

    def value(self, x: Array) -> float:
        """The objective at ``x`` without the constant, beside which its digits could be lost."""
        return float(self.c @ x + (0.0 if self.P is None else 0.5 * (x @ (self.P @ x))))

    def solve(self, **settings: Any) -> ConicSolution:
        """Hand the arrays to Clarabel; ``settings`` are its own (``tol_gap_abs``, ...). Where it panics there is no point."""
        import clarabel

        options = clarabel.DefaultSettings()
        options.verbose = False
        for name, value in settings.items():
            setattr(options, name, value)
        size = self.c.size
        P = sp.csc_array((size, size)) if self.P is None else sp.csc_array(sp.triu(self.P))
        A = sp.csc_array(self.A)
        A.sort_indices()
        arrays = (sp.csc_matrix(P), self.c, sp.csc_matrix(A), self.b, self.cones.clarabel())
        try:
            found = clarabel.DefaultSolver(*arrays, options).solve()
        except BaseException as error:
            if not is_panic(error):
                raise
            nothing = np.full(self.b.size, np.nan)
            return ConicSolution("Panicked", np.full(size, np.nan), nothing, nothing.copy())
        return ConicSolution(
            str(found.status), np.array(found.x), np.array(found.z), np.array(found.s), int(found.iterations)
        )

    # -- the dual ----------------------------------------------------------------------------------------------------

    def dual_problem(self) -> tuple[cp.Problem, dict[str, cp.Variable]]:
        r"""The conic dual :math:`\max -\tfrac12 x'Px - b'z + d` subject to :math:`Px + A'z + c = 0,\ z \in K^*`.

        Returns the problem and its variables: ``z``, and ``x`` where the objective is quadratic.
        """
        z = cp.Variable(self.b.size, name="z")
        variables = {"z": z}
        value = -(self.b @ z) + self.offset
        pull = self.A.T @ z + self.c
        if self.P is not None and self.P.nnz:
            variables["x"] = x = cp.Variable(self.c.size, name="x")
            value = value - 0.5 * cp.quad_form(x, cp.psd_wrap(self.P))
            pull = pull + self.P @ x
        return cp.Problem(cp.Maximize(value), [pull == 0, *self.cones.constraints(z, dual=True)]), variables

    # -- scaling -----------------------------------------------------------------------------------------------------

    def equilibrated(
        self, sweeps: int = 16, rounding: float = ROUNDING, silent: NDArray[np.intp] | None = None
    ) -> tuple[ConicProgram, Equilibration]:
        r"""The same program with rows and columns of comparable size.

        Rows of the zero and nonnegative cones are scaled one by one, semidefinite cones by congruence with a diagonal
        matrix, every other cone by one number, since that is what keeps it the same cone; the right-hand side and the
        objective are brought to size one. An entry that is a smaller share than ``rounding`` of its row, beside the
        largest such share in its column, has no say. Nor have the ``silent`` rows of the zero and nonnegative cones, which are
        brought to size one by themselves.
        """
        # The right-hand side is scaled as one more column: it shows the size of rows whose entries do not.
        whole = sp.coo_array(sp.hstack([self.A, sp.csc_array(self.b[:, None])]))
        if silent is not None and silent.size:
            heard = ~np.isin(whole.coords[0], silent)
            whole = sp.coo_array((whole.data[heard], [index[heard] for index in whole.coords]), shape=whole.shape)
        rows, columns = _geometric_scales(whole, self.cones, sweeps, rounding)
        (i, j), magnitudes = whole.coords, np.abs(whole.data)
        for _ in range(sweeps // 2):
            size = _tied_maxima(_maxima(magnitudes * rows[i] * columns[j], i, rows.size), self.cones)
            rows = rows / np.sqrt(np.where(size > 0, size, 1.0))
            width = _maxima(magnitudes * rows[i] * columns[j], j, columns.size)
            columns = columns / np.sqrt(np.where(width > 0, width, 1.0))
        columns, reach = columns[:-1], 1.0 / columns[-1]
        if silent is not None and silent.size:
            sizes = abs(self.A[silent] @ sp.diags_array(columns)).max(axis=1).toarray().ravel()
            rows[silent] = 1.0 / _or_one(np.maximum(sizes, np.abs(self.b[silent]) / reach), 0.0)
        A = sp.csr_array(sp.diags_array(rows) @ self.A @ sp.diags_array(columns))
        columns = columns * reach
        cost = columns * self.c
        P = None if self.P is None else sp.csr_array(sp.diags_array(columns) @ self.P @ sp.diags_array(columns))
        height = max(float(np.max(np.abs(cost), initial=0.0)), 0.0 if P is None else float(abs(P).max())) or 1.0
        program = ConicProgram(
            cost / height,
            A,
            rows * self.b / reach,
            self.cones,
            None if P is None else sp.csr_array(P / height),
            self.offset / height,
        )
        return program, Equilibration(columns, rows * height / reach, height)

    def by_cost(self, sweeps: int = 16) -> tuple[ConicProgram, Equilibration]:
        r"""The same program with variables in units in which their quadratic cost is one, and rows and other variables of size one beside.

        In the equilibrated program a variable is as large as its rows can make it. Where a cost holds one at a billionth of that, as
        the sum of long points that nearly cancel, what the others cost is rounding there.
        """
        cost = np.zeros(self.c.size) if self.P is None else self.P.diagonal()
        priced, entries = cost > 0, sp.coo_array(self.A)
        (i, j), sizes = entries.coords, np.abs(entries.data)
        rows, columns = np.ones(self.b.size), 1.0 / np.sqrt(_or_one(cost, 0.0))
        for _ in range(sweeps):
            rows = rows / np.sqrt(self._reach(sizes * rows[i] * columns[j], i))
            width = _or_one(_maxima(sizes * rows[i] * columns[j], j, columns.size), 0.0)
            columns = np.where(priced, columns, columns / np.sqrt(width))
        rows = rows / self._reach(sizes * rows[i] * columns[j], i)
        A = sp.csr_array(sp.diags_array(rows) @ self.A @ sp.diags_array(columns))
        P = None if self.P is None else sp.csr_array(sp.diags_array(columns) @ self.P @ sp.diags_array(columns))
        program = ConicProgram(columns * self.c, A, rows * self.b, self.cones, P, self.offset)
        return program, Equilibration(columns, rows, 1.0)

    def _reach(self, sizes: Array, rows: NDArray[np.intp]) -> Array:
        """The largest of the entries of each row, and of its cone where that has one scale; one where there is none."""
        return _or_one(_tied_maxima(_maxima(sizes, rows, self.b.size), self.cones), 0.0)

    def without_repetition(self) -> ConicProgram:
        """The same program without what it says twice: a user's S >> 0 beside ours, or S == X entry by entry for
        symmetric matrices. Repeated rows leave the multipliers undetermined, which solvers pay for in digits."""
        seen: set[Any] = set()
        kept: list[Block] = []
        for block in self.blocks:
            rows = np.arange(block.rows.start, block.rows.stop)
            # Scalar cones come as one block, but their rows stand alone.
            units = rows[:, None] if block.kind in ("zero", "nonnegative") else rows[None, :]
            fresh = []
            for unit in units:
                key = (block.kind, block.parameter, *(self._key(row, block.kind) for row in unit))
                if key not in seen:
                    fresh.append(unit)
                seen.add(key)
            if fresh:
                kept.append(block._replace(rows=np.concatenate(fresh)))
        rows = np.concatenate([block.rows for block in kept]) if kept else np.zeros(0, dtype=int)
        if rows.size == self.b.size:
            return self
        cones = Cones.from_blocks(kept)
        return ConicProgram(self.c, sp.csr_array(self.A[rows]), self.b[rows], cones, self.P, self.offset)

    def _key(self, row: int, kind: str) -> Any:
        """What a row says, up to rounding (and up to its sign, if it is an equation).

        The right-hand side is rounded by itself: beside coefficients of one the bounds of 1e-13 and 2e-13 would be one.
        """
        entries = slice(self.A.indptr[row], self.A.indptr[row + 1])
        values, columns = self.A.data[entries], self.A.indices[entries]
        order = np.argsort(columns)
        size = float(np.abs(values).max(initial=0.0)) or 1.0
        if kind == "zero" and columns.size and values[order[0]] < 0:
            size = -size
        digits, right = np.round(values[order] / size, 12) + 0.0, f"{self.b[row] / size + 0.0:.12e}"
        # A scalar row means the same at any scale; the rows of a larger cone are tied to each other.
        return columns[order].tobytes(), digits.tobytes(), right, None if kind in ("zero", "nonnegative") else size

    @cached_property
    def blocks(self) -> list[Block]:
        """The cones with their rows."""
        return list(self.cones.blocks())


def interior_scales(
    A: sp.csr_array, slack: Array, cones: Cones, floor: float, tilt: float = 0.0
) -> tuple[Array, Array]:
    """Row and column scales that bring a program around an interior point to size one.

    Rows are scaled until the slack of the point is of size one in every cone, columns until a step of one moves some
    slack by about as much, which is as far as the feasible set reaches along that coordinate. Slacks below ``floor``
    are zero up to rounding, and are left alone; so are coordinates that the cones hold with less than the share ``tilt``
    of what the equations do, where cones are known that well, and with what rounding leaves everywhere.
    """
    rows = np.ones(slack.size)
    for block in cones.blocks():
        part = slack[block.rows]
        if block.kind == "zero":
            continue
        if block.kind == "semidefinite":
            first, second = triangle(block.parameter)
            size = np.sqrt(_or_one(part[first == second], floor))
            rows[block.rows] = 1.0 / (size[first] * size[second])
        elif block.kind == "nonnegative":
            rows[block.rows] = 1.0 / _or_one(part, floor)
        else:
            rows[block.rows] = 1.0 / _or_one(np.abs(part).max(keepdims=True), floor)
    moved = sp.csc_array(sp.diags_array(rows[cones.zero :]) @ A[cones.zero :])
    reach = np.sqrt(np.asarray(moved.multiply(moved).sum(axis=0)).ravel())
    stated = abs(sp.csr_array(A[: cones.zero]))
    if cones.zero:
        reach = np.where(reach > max(tilt, NOISE) * np.asarray(stated.max(axis=0).todense()).ravel(), reach, 0.0)
    columns = np.where(reach > 0, 1.0 / _or_one(reach, 0.0), 0.0)
    if cones.zero:
        columns = _through_equations(stated, columns)
        whole = sp.csr_array(stated @ sp.diags_array(columns))
        rows[: cones.zero] = 1.0 / _or_one(np.asarray(whole.max(axis=1).todense()).ravel(), 0.0)
    return rows, np.where(columns > 0, columns, 1.0)


def _through_equations(stated: sp.csr_array, columns: Array) -> Array:
    """Scales of the columns, with those that only equations know (zero so far) given the size that these give them."""
    known = columns > 0
    # What rounding leaves of a difference says nothing of the size of the other columns.
    largest = np.asarray(stated.max(axis=1).todense()).ravel()
    entries = sp.coo_array(stated)
    i, j = entries.coords
    clear = entries.data > NOISE * largest[i]
    while True:
        told = known[j] & clear
        size = _maxima(entries.data[told] * columns[j[told]], i[told], stated.shape[0])
        # An equation with one unknown column gives its size. With several, what is known in it may be next to nothing
        # beside them (the difference of two centres, say), so that others have to speak first.
        unknown = np.bincount(i[~known[j] & clear], minlength=size.size)
        used = ~known[j] & clear & (unknown[i] == 1) & (size[i] > 0)
        width = _maxima(entries.data[used] / size[i[used]], j[used], columns.size)
        if not np.any(width > 0):
            break
        columns = np.where(width > 0, 1.0 / _or_one(width, 0.0), columns)
        known = columns > 0
    width = _maxima(entries.data / _or_one(size, 0.0)[i], j, columns.size)
    return np.where(known, columns, 1.0 / _or_one(width, 0.0))


@dataclass(frozen=True)
class Boost:
    r"""The automorphism of the second-order cones that brings a point inside of them to their axes.

    With :math:`s = (s_0, s_1)` and :math:`u = s_1/\|s_1\|` it multiplies :math:`s_0 \pm u's_1` by
    :math:`e^{\mp\eta}`, where :math:`\tanh\eta = \|s_1\|/s_0`. A square is compiled beside a one, which this takes out
    again where the square is bounded by something small. Applied as :math:`x + C(Kx)`: sums and differences are taken
    before they are multiplied, so that what cancels does so exactly.
    """

    gather: sp.csr_array
    spread: sp.csr_array

    @classmethod
    def to_axes(cls, slack: Array, cones: Cones, least: float, most: float) -> Boost:
        r"""For the cones in which the factor :math:`e^\eta` lies between ``least`` and ``most``."""
        gather = sp.lil_array((2 * len(cones.second_order), slack.size))
        spread = sp.lil_array((slack.size, gather.shape[0]))
        for k, block in enumerate(b for b in cones.blocks() if b.kind == "second_order"):
            s = slack[block.rows]
            length = float(np.linalg.norm(s[1:]))
            inner, outer = float(s[0]) - length, float(s[0]) + length
            if not (inner > 0 and least**2 <= outer / inner <= most**2):
                continue
            factor, u = math.sqrt(outer / inner), s[1:] / length
            u[np.abs(u) < ROUNDING] = 0.0
            both = np.concatenate([[1.0], u]), np.concatenate([[1.0], -u])
            for j, (row, multiple) in enumerate(zip(both, (1 / factor, factor), strict=True)):
                gather[[2 * k + j], block.rows] = row[None, :]
                spread[block.rows, [2 * k + j]] = 0.5 * (multiple - 1.0) * row[:, None]
        return cls(sp.csr_array(gather), sp.csr_array(spread))

    def __call__(self, x: Any) -> Any:
        """The values, or the rows of a matrix, after the boost."""
        return x + self.spread @ (self.gather @ x)

    @property
    def trivial(self) -> bool:
        """Whether it leaves everything as it is."""
        return bool(self.spread.nnz == 0)


def _or_one(sizes: Array, floor: float) -> Array:
    return np.where(sizes > floor, sizes, 1.0)


def _geometric_scales(entries: sp.coo_array, cones: Cones, sweeps: int, rounding: float) -> tuple[Array, Array]:
    """Row and column scales that bring the logarithms of the entries as near to zero as least squares can.

    Scaling by the largest entries alone stops as soon as each row and column has an entry of size one, also when
    the others are 1e-12: where radii and centres of very different sizes meet, the logarithms must be balanced first.
    """
    # An entry that is nothing but the rounding of a difference must not decide the scale of its row. Rows may be in
    # different units, so that they are compared by what an entry is of its own row.
    i, j = entries.coords
    share = np.abs(entries.data) / _or_one(_maxima(np.abs(entries.data), i, entries.shape[0]), 0.0)[i]
    used = (share > rounding * _maxima(share, j, entries.shape[1])[j]) & ~_beside_diagonals(entries, cones)
    # Small covariances of a centre say nothing of how far members reach: they are right-hand sides off the diagonal of a cone.
    used &= ~((j == entries.shape[1] - 1) & (share < FAINT) & _in_semidefinite(cones, entries.shape[0])[i])
    i, j = i[used], j[used]
    size = np.log(np.abs(entries.data[used]))
    rows, columns = np.zeros(entries.shape[0]), np.zeros(entries.shape[1])
    row_count = np.bincount(i, minlength=rows.size).astype(float)
    column_count = np.maximum(np.bincount(j, minlength=columns.size), 1)
    for _ in range(sweeps):
        rows = _tied(-np.bincount(i, size + columns[j], minlength=rows.size), row_count, cones)
        columns = -np.bincount(j, size + rows[i], minlength=columns.size) / column_count
    return np.exp(rows), np.exp(columns)


def _in_semidefinite(cones: Cones, size: int) -> NDArray[np.bool_]:
    found = np.zeros(size, dtype=bool)
    for block in cones.blocks():
        if block.kind == "semidefinite":
            found[block.rows] = True
    return found


def _beside_diagonals(entries: sp.coo_array, cones: Cones) -> NDArray[np.bool_]:
    """Which entries are rounding in a semidefinite cone, beside the diagonal ones of the same column.

    An entry off the diagonal may stand in its row alone, where nothing else shows what it is a share of; congruences with
    diagonal matrices leave its share of the root of both diagonal entries as it is.
    """
    (rows, columns), sizes = entries.coords, np.abs(entries.data)
    noise, width = np.zeros(rows.size, dtype=bool), entries.shape[1]
    for block in cones.blocks():
        if block.kind != "semidefinite":
            continue
        first, second = triangle(block.parameter)
        start = block.rows.start
        inside = np.flatnonzero((rows >= start) & (rows < block.rows.stop))
        one, other = first[rows[inside] - start], second[rows[inside] - start]
        on = np.flatnonzero(one == other)
        keys = one[on].astype(np.int64) * width + columns[inside][on]
        order = np.argsort(keys)
        keys, levels = np.r_[keys[order], -1], np.r_[sizes[inside][on][order], 0.0]

        def diagonal(index: Any, keys: Any = keys, levels: Any = levels, at: Any = columns[inside]) -> Array:
            wanted = index.astype(np.int64) * width + at
            found = np.searchsorted(keys[:-1], wanted)
            return np.asarray(np.where(keys[found] == wanted, levels[found], 0.0))

        noise[inside] = (one != other) & (sizes[inside] <= NOISE * np.sqrt(diagonal(one) * diagonal(other)))
    return noise


def _tied(sums: Any, counts: Any, cones: Cones) -> Any:
    """Means of logarithms by row, made the same for the rows of a cone that must keep its shape.

    A semidefinite cone is kept by D X D as well, so that its row (i, j) may get the mean of those of (i, i) and (j, j).
    """
    means = sums / np.maximum(counts, 1)
    for block in cones.blocks():
        if block.kind in ("zero", "nonnegative"):
            continue
        rows = block.rows
        common = float(np.sum(sums[rows]) / max(float(np.sum(counts[rows])), 1.0))
        if block.kind == "semidefinite":
            first, second = triangle(block.parameter)
            diagonal = np.flatnonzero(first == second)
            own = np.where(counts[rows][diagonal] > 0, means[rows][diagonal], common)
            means[rows] = (own[first] + own[second]) / 2
        else:
            means[rows] = common
    return means


def _maxima(magnitudes: Array, index: Any, count: int) -> Array:
    """The largest number at each place of an index, zero where there is none."""
    found = np.zeros(count)
    np.maximum.at(found, index, magnitudes)
    return found


def _tied_maxima(sizes: Array, cones: Cones) -> Array:
    """One common number for the rows of a cone that must keep its shape."""
    for block in cones.blocks():
        if block.kind not in ("zero", "nonnegative"):
            sizes[block.rows] = sizes[block.rows].max()
    return sizes
