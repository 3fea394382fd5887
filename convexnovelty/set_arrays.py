"""A membership as compiled: the function of a set that states its constraints, turned into arrays, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import EmptySetError, InputError
from convexnovelty.refused import divides_by_zero
from convexnovelty.units import in_units, with_even_constants, with_even_squares
from convexnovelty.validation import Array
from convexnovelty.violations import with_domains

__all__ = ["SHARED", "Arrays", "implied", "reaches_from"]

LEFT_OUT = ("symmetric", "PSD", "NSD", "diag", "sparsity", "complex", "hermitian", "imag")  # attributes of variables
SHARED = "multiple of a member in round coordinates"  # the name of variables whose size is one already

DOUBLINGS = 256  # powers of two, up and down from one, among which the size of a set is looked for
SMALLEST = 1e-14  # share of a centre below which a step from it is rounding
LINES = 4  # directions in which it is
LONGER = 64.0  # times as far as along such a line that an axis reaches which has a unit of its own
FINE = 1e-6  # to which the power of two of its reach is known

Description = Callable[[Any], Any]


@dataclass(frozen=True)
class Arrays:
    """A membership as compiled, the columns that belong to its vector, the units that they count, and from where.

    ``shown`` are values of its further variables in the middle of the set, NaN where nobody knows one, and ``untrue`` is what a
    constraint says in which no variable is left and which does not hold, in words.
    """

    program: ConicProgram
    columns: Any
    units: Array
    shown: Array
    at: Array
    untrue: str = ""

    @classmethod
    def compiled(
        cls,
        description: Description,
        size: int,
        name: str,
        units: Array | None = None,
        at: Array | None = None,
        middle: Array | None = None,
    ) -> Arrays:
        """From a function that turns a CVXPY vector of length ``size`` into constraints on it and further variables.

        ``name`` is what an error message calls the set; ``units`` are sizes that the entries of the vector are expected to
        have, ones by default, ``at`` is where they are counted from, the origin by default, and ``middle`` a point that is
        expected to be a member.
        """
        v = cp.Variable(size)
        at = np.zeros(size) if at is None else at
        weights = np.arange(1.0, size + 1.0)
        units = np.ones(size) if units is None else units
        try:
            # Beside a right-hand side of 1e16 a coefficient of one passes for rounding, in CVXPY's arrays and in ours.
            step = v if (units == 1.0).all() else cp.multiply(units, v)
            # What is rounding shows beside the numbers of a member.
            v.value = None if middle is None else (middle - at) / units
            # A distance from a far centre is a difference of large numbers, which cancel here and nowhere else.
            constraints = description(at + step if at.any() else step)
            v.value = None
        except (AttributeError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{name}: its membership failed on a CVXPY variable ({str(error).rstrip('.')}); the centre is self.center, "
                "an array of the variable's shape"
            ) from error
        constraints = list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]
        for constraint in constraints:
            if not isinstance(constraint, cp.Constraint):
                raise InputError(
                    f"{name}: membership returned {constraint!r}; return a list of CVXPY constraints on what it was given"
                )
        problem = cp.Problem(cp.Minimize(weights @ v), constraints)
        for constraint in constraints:
            _refuse_misleading(constraint, v, name)
        if not problem.is_dcp():
            wrong = next(c for c in constraints if not c.is_dcp())
            raise InputError(
                f"{name}: the membership is not convex by the rules of DCP in {wrong}; rewrite it, or lift it"
            )
        try:
            data, _, _ = problem.get_problem_data("CLARABEL")
            program = ConicProgram.from_data(data)
        except (cp.SolverError, ValueError) as error:
            raise InputError(
                f"{name}: the membership is no conic constraint ({str(error).rstrip('.')}); use real variables and "
                "functions that are convex with these numbers"
            ) from error
        program = _without_infinite_bounds(program, name)
        untrue = _untrue(program)
        found = np.flatnonzero(program.c)
        columns = found[np.argsort(program.c[found], kind="stable")]
        if columns.size != size or not np.array_equal(program.c[columns], weights):
            raise InputError(
                f"{name}: the compiled membership does not show its variable; state it without side effects"
            )
        program = replace(program, c=np.zeros_like(program.c))
        sizes, shown = np.zeros(program.c.size), np.full(program.c.size, np.nan)
        for variable in problem.variables():
            # Of a symmetric matrix, say, fewer columns come out than it has entries.
            whole = not any(variable.attributes.get(kind) for kind in LEFT_OUT)
            if whole and variable.id in (starts := data["param_prob"].var_id_to_col):
                own = slice(starts[variable.id], starts[variable.id] + variable.size)
                sizes[own] = float(variable.name() == SHARED)
                if variable.value is not None:
                    shown[own] = np.ravel(variable.value, order="F")
        if (units == 1.0).all():
            program = with_even_constants(with_even_squares(program))
        else:
            sizes[columns] = units
            inside = None if middle is None else (middle - at) / units
            program, scales = in_units(program, columns, sizes, inside)
            shown = shown / scales
        return cls(program.without_repetition(), columns, units, shown, at, untrue)

    def refuse_untrue(self, name: str) -> None:
        """Raise EmptySetError where a constraint cannot hold whatever the member is."""
        if self.untrue:
            raise EmptySetError(
                f"{name} is empty: an entry of some constraint does not depend on the member and reads {self.untrue}, which is more "
                "than rounding of the numbers beside it; give both sides the same number there, or leave the entry out"
            )

    def moves_to(self, other: Arrays) -> bool:
        """Whether the other differs in its right-hand side alone, so that a parameter can follow."""
        one, two = self.program, other.program
        if not (np.array_equal(self.units, other.units) and np.array_equal(self.at, other.at)):
            return False
        return one.A.shape == two.A.shape and one.cones == two.cones and (one.A != two.A).nnz == 0


def implied(arrays: Arrays) -> list[int]:
    """Cones that hold nothing but entries of the set's own vector, where equations tie that to further variables.

    They are what is asked of every covariance, and of one that is made of a semidefinite matrix it is true anyhow.
    """
    program, inner = arrays.program, np.ones(arrays.program.c.size, dtype=bool)
    inner[arrays.columns] = False
    if not program.A[: program.cones.zero][:, np.flatnonzero(inner)].nnz:
        return []
    found = []
    for k, block in enumerate(program.blocks):
        rows = program.A[block.rows]
        alone = (np.diff(rows.indptr) == 1).all() and not inner[rows.indices].any() and not program.b[block.rows].any()
        if block.kind == "semidefinite" and alone:
            found.append(k)
    return found


def reaches_from(description: Description, at: Array) -> Array | None:
    """How far a set reaches from a member along random lines, to a power of two, or along each axis where one is far longer than these.

    The values of its constraints alone tell: no unit has to be known for that. None where the point is no member to
    the last digit, or next to none, where further variables have a say, and where the set does not end.
    """
    try:
        return _reaches(description, at)
    except cp.SolverError:  # the value of a support function is that of a program, which fails far away
        return None


def _reaches(description: Description, at: Array) -> Array | None:
    v = cp.Variable(at.size, value=at)
    stated = description(v)
    constraints = list(stated) if isinstance(stated, (list, tuple)) else [stated]
    if not all(isinstance(one, cp.Constraint) and [x.id for x in one.variables()] == [v.id] for one in constraints):
        return None
    if any(one.parameters() for one in constraints):  # of which more is said where they are compiled
        return None

    constraints = with_domains(constraints)

    def holds(point: Array) -> bool:
        v.value = point
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # far away, and where cones end
            return not any(np.any(one.violation()) for one in constraints)

    def last(step: Array, low: float, high: float, within: float) -> float:
        """The power of two up to which multiples of a step are members."""
        while high - low > within:
            middle = (low + high) // 2 if within >= 1 else (low + high) / 2
            low, high = (middle, high) if holds(at + 2.0**middle * step) else (low, middle)
        return low

    reach = 0.0
    for line in np.random.default_rng(22).standard_normal((LINES, at.size)):
        step = line / np.linalg.norm(line)
        if not holds(at) or holds(at + 2.0**DOUBLINGS * step):
            return None
        reach = max(reach, 2.0 ** last(step, -DOUBLINGS, DOUBLINGS, 1))
    # Of a flat set no line holds more than its member.
    if reach <= max(2.0**-DOUBLINGS, SMALLEST * float(np.abs(at).max(initial=0.0))):
        return None
    # A line reaches little farther than the shortest axis, however long others are.
    axes = [(axis, -axis) for axis in np.eye(at.size)]
    if not any(holds(at + LONGER * reach * step) for steps in axes for step in steps):
        return np.full(at.size, reach)
    ends = [[2.0 ** last(step, -DOUBLINGS, DOUBLINGS, FINE) for step in steps] for steps in axes]
    reaches = np.max(ends, axis=1)
    return np.asarray(np.where(reaches < 2.0 ** (DOUBLINGS - 1), reaches, reaches.min()))


def _refuse_misleading(constraint: cp.Constraint, v: cp.Variable, name: str) -> None:
    """Raise InputError for what CVXPY would compile into something else than what the reader sees."""
    if isinstance(constraint, cp.constraints.FiniteSet):  # which calls itself convex and is compiled as its hull
        raise InputError(
            f"{name}: its membership holds FiniteSet, values one by one, between which nothing is a member; give a convex set, "
            "or its hull by bounds"
        )
    if constraint.parameters():
        held = ", ".join(parameter.name() for parameter in constraint.parameters())
        raise InputError(
            f"{name}: its membership holds the CVXPY parameter {held}, whose later values would not be seen; make it a "
            "plain number of the set, such as radius: problems have numbers of sets for parameters"
        )
    # Identifiers of CVXPY count upwards, so that what is older than v was not made for this call.
    older = [variable.name() for variable in constraint.variables() if variable.id < v.id]
    if older:
        raise InputError(
            f"{name}: its membership uses the CVXPY variable {older[0]}, made outside of it, which would tie all copies "
            "of the set together; make the variable inside of membership"
        )
    if divides_by_zero(constraint):
        raise InputError(f"{name}: its membership divides by zero; multiply the other side of the constraint instead")


def _untrue(program: ConicProgram) -> str:
    """What an equation or inequality without variables says that is not so, as a formula; of several, what is farthest off."""
    zero, end = program.cones.zero, program.cones.zero + program.cones.nonnegative
    empty = np.asarray(abs(program.A[:end]).sum(axis=1)).ravel() == 0
    off = np.where(empty, np.append(np.abs(program.b[:zero]), -program.b[zero:end]), 0.0)
    worst = int(np.argmax(off)) if end else 0
    if not end or off[worst] <= 0:
        return ""
    return f"0 {'==' if worst < zero else '<='} {program.b[worst]:.3g}"


def _without_infinite_bounds(program: ConicProgram, name: str) -> ConicProgram:
    """The program without inequalities whose right-hand side is infinite, which bound nothing."""
    inequalities = np.zeros(program.b.size, dtype=bool)
    inequalities[program.cones.zero :][: program.cones.nonnegative] = True
    unbounded = inequalities & (program.b == np.inf)
    if not (np.isfinite(program.A.data).all() and np.isfinite(program.b[~unbounded]).all()):
        raise InputError(f"{name}: its membership holds NaN or infinite numbers; give finite ones")
    if not unbounded.any():
        return program
    cones = replace(program.cones, nonnegative=program.cones.nonnegative - int(unbounded.sum()))
    return replace(program, A=sp.csr_array(program.A[~unbounded]), b=program.b[~unbounded], cones=cones)
