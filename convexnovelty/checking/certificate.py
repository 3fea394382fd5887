r"""Certificates: what is true of a formulation's optimum and of a candidate solution, whatever solver computed it.

The residuals are our own arithmetic on the compiled program, each cone for itself. The interval is proved: see
:mod:`~convexnovelty.checking.enclosure`. Of a problem without a solution, the multiplier that shows it is repaired
to exactness in the same way:

.. math:: A'z = 0,\quad z \in K^*,\quad b'z < 0 \;\Longrightarrow\; \{x : b - Ax \in K\} = \emptyset .
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.checking.balls import Ball, in_cones, product
from convexnovelty.checking.enclosure import Enclosure, enclose, room_of
from convexnovelty.checking.mirror import Answer, ask, check_part
from convexnovelty.checking.repair import distinct_rows, repaired
from convexnovelty.conic import ConicProgram, Residuals
from convexnovelty.errors import InputError
from convexnovelty.formulation import Formulation
from convexnovelty.validation import Array, shown

__all__ = [
    "BlockResidual",
    "Certificate",
    "block_residuals",
    "certify",
    "certify_program",
    "proves_infeasible",
    "proves_unbounded",
]


@dataclass(frozen=True)
class BlockResidual:
    """One cone: its kind and rows, and how far slack and multiplier are from it, absolute and relative to their sizes."""

    kind: str
    first: int
    size: int
    cone: float
    dual_cone: float
    complementarity: float
    relative: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """What is known of a formulation and of a candidate.

    ``enclosure`` holds the optimum in the user's units, ``unit`` and ``sign`` lead there from the program's own;
    ``residuals`` and ``blocks`` are of the candidate, None and empty without one.
    """

    enclosure: Enclosure
    program: ConicProgram
    unit: float = 1.0
    residuals: Residuals | None = None
    blocks: tuple[BlockResidual, ...] = ()
    objective: float | None = None
    solver: str = ""
    status: str = ""

    @property
    def error(self) -> float:
        """How far the candidate's objective is from the interval, relative to the size of the optimum; NaN without one."""
        if self.objective is None or not self.enclosure.width < math.inf:
            return math.nan
        return self.enclosure.distance(self.objective) / size_of(self.enclosure, self.unit)

    def __str__(self) -> str:
        found = self.enclosure
        if found.infeasible or found.unbounded:
            return f"the problem is {'infeasible' if found.infeasible else 'unbounded'}: proved"
        about = f", of numbers moved by {found.moved:.0e}" if found.moved else ""
        told = f"the optimum{about} is in [{found.lower:.17g}, {found.upper:.17g}]"
        if found.remark:
            told += f" ({found.remark})"
        if self.objective is not None and self.residuals is not None:
            told += (
                f"; {self.solver or 'the candidate'} is {self.error:.1e} off, worst residual {self.residuals.worst:.1e}"
            )
        return told


# Of the formulation's own unit, the least size that errors are taken relative to.
SMALLEST = 1e-6
NOTHING = 1e-9  # share of the largest entry of a certificate below which an entry is taken to be zero


def size_of(enclosure: Enclosure, unit: float) -> float:
    """What errors of an objective are divided by."""
    return max(abs(enclosure.lower), abs(enclosure.upper), SMALLEST * abs(unit))


def certify(
    formulation: Formulation,
    solver: Any = None,
    *,
    candidate: tuple[Array, Array] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Certificate:
    """Prove an interval for the optimum of a formulation, and measure a candidate.

    Parameters
    ----------
    formulation : any; its numbers are taken as they stand now.
    solver : computes the candidate, see :func:`~convexnovelty.checking.mirror.ask`; none by default.
    candidate : canonical primal point and multiplier to be measured in place of a solver's.
    options : the solver's; by default those of the package's table.

    Returns
    -------
    A :class:`Certificate` in the user's units. It speaks of the compiled program, whose numbers are doubles.

    Examples
    --------
    >>> import convexnovelty as cn
    >>> problem = cn.single_class_mpm(cn.Moments([2.0], [[1.0]]), confidence=0.5)
    >>> certificate = certify(problem)
    >>> certificate.enclosure.contains(1.0), certificate.enclosure.width < 1e-8
    (True, True)
    """
    if not isinstance(formulation, Formulation):
        raise InputError(
            f"formulation: {shown(formulation)} was found; give what a factory returns, for example cn.one_class_svm(features, 0.1)"
        )
    if formulation.problem.is_mixed_integer():
        raise InputError(
            f"certify: {formulation.name} has integer variables, so that no dual proves its optimum; certify one with them fixed"
        )
    compiled = formulation.compiled()
    # In units, which are exact but for exponentials, what is added to a program is not lost beside numbers that it is compiled with.
    given = candidate is not None or solver is not None or compiled.posed.cones.exponential
    program = compiled.program if given else compiled.posed
    sign = 1.0 if isinstance(formulation.problem.objective, cp.Minimize) else -1.0
    return certify_program(program, sign * formulation.objective_unit, solver, candidate=candidate, options=options)


def certify_program(
    program: ConicProgram,
    unit: float = 1.0,
    solver: Any = None,
    *,
    candidate: tuple[Array, Array] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Certificate:
    """The same for arrays; the objective in the user's units is ``unit`` times the program's."""
    answer = None if candidate is None else _answer(candidate, program)
    if answer is None and solver is not None:
        asked = options if options is not None else solvers.profile(solver).ladder[0] if isinstance(solver, str) else {}
        answer = ask(solver, program, asked)
    x, z = (None, None) if answer is None else (_floats(answer.x), _floats(answer.z))
    found = enclose(program, x, z)
    if not found.proved:
        found = _without_solution(program, found)
    certificate = Certificate(found.scaled(unit), program, unit, solver=str(solver or ""))
    if answer is None or x is None or z is None:
        return replace(certificate, status="" if answer is None else answer.status)
    return replace(
        certificate,
        residuals=program.residuals(x, z),
        blocks=tuple(block_residuals(program, x, z)),
        objective=unit * program.objective(x),
        status=answer.status,
    )


def _answer(candidate: Any, program: ConicProgram) -> Answer:
    if not isinstance(candidate, (tuple, list)) or len(candidate) != 2:
        raise InputError(
            f"candidate: {type(candidate).__name__} was found; give a pair of {program.c.size} numbers, the point, and "
            f"{program.b.size}, the multipliers"
        )
    for part, name, size, what in zip(
        candidate, "xz", (program.c.size, program.b.size), ("variables", "rows"), strict=True
    ):
        check_part(part, f"candidate {name}", size, what)
    return Answer("", *candidate)


def _floats(part: Any) -> Array | None:
    return None if part is None else np.asarray(part, dtype=float)


def block_residuals(program: ConicProgram, x: Array, z: Array) -> list[BlockResidual]:
    """The residuals of each cone for itself, in the order of the rows."""
    slack = program.b - program.A @ x
    primal, dual = program.cones.violations(slack), program.cones.violations(z, dual=True)
    found = []
    for block, outside, pulled in zip(program.blocks, primal, dual, strict=True):
        s, y = slack[block.rows], z[block.rows]
        product_size = abs(float(s @ y))
        right = 1.0 + float(np.linalg.norm(program.b[block.rows]))
        left = 1.0 + float(np.linalg.norm(y))
        relative = {
            "cone": float(outside) / right,
            "dual_cone": float(pulled) / left,
            "complementarity": product_size / (right * left),
        }
        size = block.rows.stop - block.rows.start
        found.append(
            BlockResidual(block.kind, block.rows.start, size, float(outside), float(pulled), product_size, relative)
        )
    return found


# -- problems without a solution -----------------------------------------------------------------------------------------


def _without_solution(program: ConicProgram, found: Enclosure) -> Enclosure:
    scaled, scale = program.equilibrated()
    for tolerance in (1e-8, 1e-10):
        answer = scaled.solve(tol_infeas_abs=tolerance, tol_infeas_rel=tolerance, max_iter=200)
        if "PrimalInfeasible" in answer.status and proves_infeasible(program, scale.rows * answer.z):
            return Enclosure(math.inf, math.inf, infeasible=True)
        if "DualInfeasible" in answer.status and proves_unbounded(program, scale.columns * answer.x):
            return Enclosure(-math.inf, -math.inf, unbounded=True)
    return found


def proves_infeasible(program: ConicProgram, z: Array) -> bool:
    """Whether a multiplier near ``z`` exactly separates the right-hand side from every slack: no point is feasible."""
    size = float(np.max(np.abs(z), initial=0.0))
    if not 0.0 < size < math.inf:
        return False
    z = z / size
    cones = program.cones
    for block in cones.blocks():
        if block.kind == "nonnegative":
            z[block.rows] = np.where(z[block.rows] < NOTHING, 0.0, z[block.rows])
        elif block.kind != "zero" and np.linalg.norm(z[block.rows]) < NOTHING:
            z[block.rows] = 0.0
    pull = sp.csr_array(program.A.T)
    zeros = np.zeros(pull.shape[0])
    kept = distinct_rows(pull, zeros)
    found = repaired(sp.csr_array(pull[kept]), Ball.exact(zeros[kept]), z, room_of(cones, z))
    if found is None or in_cones(cones, found, dual=True):
        return False
    return bool(Ball.exact(program.b).dot(found).upper < 0)


def proves_unbounded(program: ConicProgram, x: Array) -> bool:
    """Whether a direction near ``x`` provably stays feasible and improves the objective for ever.

    A feasible point to start from is not proved by it.
    """
    size = float(np.max(np.abs(x), initial=0.0))
    if not 0.0 < size < math.inf:
        return False
    x = np.where(np.abs(x) < NOTHING * size, 0.0, x / size)
    cones = program.cones
    rows = sp.csr_array(program.A[: cones.zero])
    if program.P is not None and program.P.nnz:
        rows = sp.csr_array(sp.vstack([rows, program.P]))
    kept = distinct_rows(rows, np.zeros(rows.shape[0]))
    room = np.where(x == 0.0, 0.0, np.inf)
    found = repaired(sp.csr_array(rows[kept]), Ball.exact(np.zeros(kept.size)), x, room)
    if found is None:
        return False
    slack = -product(program.A, found)
    # Rows that the direction does not touch stay exactly where they are.
    untouched = (abs(program.A) @ (np.abs(found.mid) + found.rad)) == 0.0
    untouched[: cones.zero] = True
    slack.mid[untouched] = slack.rad[untouched] = 0.0
    return not in_cones(cones, slack) and bool(Ball.exact(program.c).dot(found).upper < 0)
