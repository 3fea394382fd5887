r"""A conic program handed to any solver that CVXPY knows, so that its canonical primal and dual point can be read.

Most interfaces hide the point that their solver found behind the user's variables. The mirror of a program is a CVXPY
problem whose one variable is the canonical :math:`x` and whose constraints are the rows of :math:`b - Ax \in K`,
one kind at a time; its dual values, put back in their rows, are the canonical :math:`z`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.cones import svec, svec_map
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import InputError
from convexnovelty.validation import Array

__all__ = ["Answer", "Mirror", "ask", "check_part", "kinds_needed"]


@dataclass(frozen=True)
class Answer:
    """What a solver said of a conic program: its word, its point, and what it cost.

    ``status`` is one of CVXPY's words. ``x`` and ``z`` are None where it gave none; ``value`` is the objective that
    it reports, without which that of ``x`` is taken.
    """

    status: str
    x: Array | None = None
    z: Array | None = None
    value: float | None = None
    iterations: int = 0
    times: Mapping[str, float] = field(default_factory=dict)
    message: str = ""


class Mirror:
    """The CVXPY problem of a conic program, and its multipliers in the program's own rows."""

    def __init__(self, program: ConicProgram) -> None:
        self.program = program
        self.x = cp.Variable(program.c.size, name="x")
        self._readers: list[tuple[Any, Callable[[Any], None]]] = []
        self._z = np.full(program.b.size, np.nan)
        constraints = list(self._constraints())
        objective = program.c @ self.x + program.offset
        if program.P is not None and program.P.nnz:
            objective = objective + 0.5 * cp.quad_form(self.x, cp.psd_wrap(program.P))
        self.problem = cp.Problem(cp.Minimize(objective), constraints)

    def _constraints(self) -> list[Any]:
        program, x = self.program, self.x
        made: list[Any] = []

        def slack(rows: Any) -> Any:
            return program.b[rows] - program.A[rows] @ x

        def plain(constraint: Any, rows: Any) -> None:
            made.append(constraint)

            def read(dual: Any) -> None:
                self._z[rows] = np.ravel(dual)

            self._readers.append((constraint, read))

        sizes: dict[int, list[int]] = {}
        triples: list[int] = []
        for kind, rows, parameter in program.blocks:
            if kind == "zero":
                plain(program.A[rows] @ x == program.b[rows], rows)
            elif kind == "nonnegative":
                plain(slack(rows) >= 0, rows)
            elif kind == "second_order":
                sizes.setdefault(parameter, []).append(rows.start)
            elif kind == "exponential":
                triples.append(rows.start)
            elif kind == "semidefinite":
                self._semidefinite(made, slack(rows), rows, parameter)
            else:
                self._power(made, slack(rows), rows, parameter)
        for size, starts in sizes.items():
            self._second_order(made, slack, size, np.array(starts))
        if triples:
            self._exponential(made, slack, np.array(triples))
        return made

    def _semidefinite(self, made: list[Any], slack: Any, rows: slice, order: int) -> None:
        constraint = cp.reshape(svec_map(order) @ slack, (order, order), order="F") >> 0
        made.append(constraint)

        def read(dual: Any) -> None:
            matrix = np.asarray(dual, dtype=float).reshape(order, order)
            self._z[rows] = svec((matrix + matrix.T) / 2)

        self._readers.append((constraint, read))

    def _second_order(self, made: list[Any], slack: Callable[[Any], Any], size: int, starts: Array) -> None:
        if size == 1:
            constraint = slack(starts) >= 0
            made.append(constraint)

            def single(dual: Any) -> None:
                self._z[starts] = np.ravel(dual)

            self._readers.append((constraint, single))
            return
        rest = starts[None, :] + 1 + np.arange(size - 1)[:, None]
        vectors = cp.reshape(slack(rest.ravel()), rest.shape, order="C")
        constraint = cp.SOC(slack(starts), vectors, axis=0)
        made.append(constraint)

        def read(dual: Any) -> None:
            self._z[starts] = np.ravel(dual[0])
            self._z[rest] = np.reshape(dual[1], rest.shape)

        self._readers.append((constraint, read))

    def _exponential(self, made: list[Any], slack: Callable[[Any], Any], starts: Array) -> None:
        constraint = cp.ExpCone(slack(starts), slack(starts + 1), slack(starts + 2))
        made.append(constraint)

        def read(dual: Any) -> None:
            for i in range(3):
                self._z[starts + i] = np.ravel(dual[i])

        self._readers.append((constraint, read))

    def _power(self, made: list[Any], slack: Any, rows: slice, exponents: tuple[float, ...]) -> None:
        if len(exponents) == 2:
            constraint = cp.PowCone3D(slack[0], slack[1], slack[2], exponents[0])
        else:
            constraint = cp.PowConeND(slack[:-1], slack[-1], np.array(exponents))
        made.append(constraint)

        def read(dual: Any) -> None:
            self._z[rows] = np.concatenate([np.ravel(part) for part in dual])

        self._readers.append((constraint, read))

    @property
    def multipliers(self) -> Array | None:
        """The multipliers after a solve, or None where the solver gave none."""
        self._z[:] = np.nan
        for constraint, read in self._readers:
            dual = constraint.dual_value
            if dual is None or (isinstance(dual, (list, tuple)) and any(part is None for part in dual)):
                return None
            read(dual)
        return self._z.copy()

    def solve(self, solver: Any, options: Mapping[str, Any]) -> Answer:
        """One call of a solver through CVXPY, with the time that each part took.

        Whatever the solver raises passes through.
        """
        problem = self.problem
        began = time.perf_counter()
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=dict(options))
        compiled = time.perf_counter()
        raw = chain.solve_via_data(problem, data, warm_start=False, verbose=False, solver_opts=dict(options))
        solved = time.perf_counter()
        with warnings.catch_warnings():
            # An inaccurate answer is told by its status, which the caller sees.
            warnings.simplefilter("ignore", UserWarning)
            problem.unpack_results(raw, chain, inverse)
        times = {"compile": compiled - began, "solve": solved - compiled}
        x = None if self.x.value is None else np.asarray(self.x.value, dtype=float)
        iterations = int(getattr(problem.solver_stats, "num_iters", 0) or 0)
        value = None if problem.value is None else float(np.real(problem.value))
        return Answer(str(problem.status), x, self.multipliers, value, iterations, times)


def ask(solver: Any, program: ConicProgram, options: Mapping[str, Any]) -> Answer:
    """What a solver says of a program.

    ``solver`` is the name of one that CVXPY knows, an object that CVXPY takes in its place, or a function from a
    :class:`~convexnovelty.conic.ConicProgram` and the options to an :class:`Answer`.
    """
    if isinstance(solver, str) or hasattr(solver, "solve_via_data"):
        return Mirror(program).solve(solver, options)
    if not callable(solver) or isinstance(solver, type):
        raise InputError(f"solver: {solver!r} was found; give a name, a CVXPY solver or a function")
    began = time.perf_counter()
    answer = solver(program, dict(options))
    if not isinstance(answer, Answer):
        raise InputError(
            f"solver: the function returned {type(answer).__name__}; return a convexnovelty.testing.Answer"
        )
    for name, size, what in (("x", program.c.size, "variables"), ("z", program.b.size, "rows")):
        check_part(getattr(answer, name), name, size, what)
    if answer.times:
        return answer
    fields = {**vars(answer), "times": {"compile": 0.0, "solve": time.perf_counter() - began}}
    return Answer(**fields)


def check_part(part: Any, name: str, size: int, what: str) -> None:
    """NaN and infinity are left to whoever judges; numbers that would be read as others, or not at all, are refused."""
    if part is None:
        return
    try:
        array = np.asarray(part)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or array.shape != (size,):
        raise InputError(
            f"{name}: an array of shape {array.shape} of type {array.dtype} was found; give {size} real numbers, one for "
            f"each of the program's {what}"
        )


def kinds_needed(program: ConicProgram) -> frozenset[str]:
    """The problem classes that a solver has to admit to be given this program."""
    cones = program.cones
    needed = {
        "SOCP": bool(cones.second_order),
        "SDP": bool(cones.semidefinite),
        "EXP": bool(cones.exponential),
        "POW": bool(cones.power),
    }
    found = {kind for kind, there in needed.items() if there}
    if not found:
        found = {"QP"} if program.P is not None and program.P.nnz else {"LP"}
    return frozenset(found)
