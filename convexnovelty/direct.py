"""Conic programs handed to a solver as arrays, for programs that are solved by the hundred and need no modelling.

An interior-point method factorises a dense matrix of the order of the squared order of a semidefinite cone, which
costs a second at order 50 and half a minute at order 100; a splitting method pays for one eigenvalue decomposition an
iteration. Large semidefinite programs therefore go to SCS first, whose answer counts only if the residuals that we
compute ourselves are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty import solvers
from convexnovelty.conic import ConicProgram, ConicSolution
from convexnovelty.in_scale import InScale

__all__ = ["attempts", "by_splitting", "is_large", "minimum", "minimum_and_error", "splits"]

PRECISE, TOLERATED = 1e-9, 1e-6  # residuals with which a search for better answers ends, and with which it fails
IN_SCALE = 1e-4  # the same in the program's own scale, where a point that has nothing to do with the optimum has one
DIGITS = 1e-7  # the same up to which a program is not asked in its own scale too
VALUE = 1e-5  # what residuals may change of the value, as a share of it
SPLITTING = 1e-9  # tolerance asked of SCS
ACCEPTED = 2e-8  # largest relative residual with which its answer counts


def is_large(program: ConicProgram) -> bool:
    """Whether an interior-point method would be slow on the program's semidefinite cones."""
    return max(program.cones.semidefinite, default=0) > solvers.LARGE_SEMIDEFINITE


def splits(program: ConicProgram) -> bool:
    """Whether the splitting method knows all of the program's cones."""
    return all(len(exponents) == 2 for exponents in program.cones.power)


def attempts(program: ConicProgram, tolerances: Sequence[float]) -> Iterator[ConicSolution]:
    """Answers to a program, one after the other, until the caller finds one that will do.

    Statuses are Clarabel's words: "Solved", "PrimalInfeasible", "DualInfeasible" and others that mean failure.
    """
    if is_large(program) and splits(program):
        yield by_splitting(program)
    for tolerance in tolerances:
        settings: dict[str, Any] = dict.fromkeys(solvers.GAPS, tolerance)
        settings |= {"max_iter": 200, **solvers.blocked(max(program.cones.semidefinite, default=0))}
        yield program.solve(**settings)
        # The solver's own scaling can spoil a program that is in scale already, above all with exponential cones.
        yield program.solve(**settings, equilibrate_enable=False)
    for more in solvers.LAST_RESORTS:
        yield program.solve(**{**settings, **dict.fromkeys(solvers.GAPS, 1e-8)}, **more)


def minimum(program: ConicProgram) -> float | None:
    """The least value of a program, from the answer with the smallest residuals; None where none is small."""
    found = minimum_and_error(program)
    return None if found is None else found[0]


def minimum_and_error(program: ConicProgram) -> tuple[float, float] | None:
    """The same with what residuals may change of it.

    Residuals are looked at in the program's own scale too: a solver is content with any point of a program whose
    costs are smaller than its tolerance. And where units differ so much that no point has small residuals in both
    scales, one whose residuals are as small in the program's own will do if they are shown to change little of the value.
    """
    best: tuple[float, float] | None = None
    error, in_scale = np.inf, InScale(program)
    for posed in (program, in_scale.scaled):
        for solution in attempts(posed, (1e-10, 1e-9, 1e-8)):
            if solution.status not in ("Solved", "AlmostSolved"):
                continue
            x, z = (solution.x, solution.z) if posed is program else in_scale.unscaled(solution.x, solution.z)
            residual, beside = program.residuals(x, z).worst, in_scale.residuals(x, z).worst
            value = program.objective(x)
            charged = program.value_error(x, z)
            if beside <= TOLERATED < residual:
                # Relative to the value alone: one that is zero has no error in units of its own.
                share = charged / abs(value) if value else np.inf
                residual = min(residual, TOLERATED * share / VALUE)
            if residual <= TOLERATED and beside <= IN_SCALE and max(residual, beside) < error:
                best, error = (value, charged), max(residual, beside)
            if residual <= PRECISE and beside <= TOLERATED:
                return value, charged
        if best is not None and best[1] <= DIGITS * abs(best[0]):
            break
    return best


def by_splitting(program: ConicProgram, iterations: int = 4_000) -> ConicSolution:
    """SCS's answer after so many iterations at most, "Inaccurate" unless our own residuals are small."""
    import scs

    order = program.cones.lower_to_upper()
    back = np.argsort(order)
    cones = program.cones
    data = {"A": sp.csc_matrix(program.A[back]), "b": program.b[back], "c": program.c}
    if program.P is not None:
        data["P"] = sp.csc_matrix(sp.triu(program.P))
    sizes = {
        "z": cones.zero,
        "l": cones.nonnegative,
        "q": list(cones.second_order),
        "s": list(cones.semidefinite),
        "ep": cones.exponential,
        "p": [exponents[0] for exponents in cones.power],
    }
    found = scs.SCS(
        data, sizes, eps_abs=SPLITTING, eps_rel=SPLITTING, eps_infeas=SPLITTING, max_iters=iterations, verbose=False
    ).solve()
    x, z, s = np.array(found["x"]), np.array(found["y"])[order], np.array(found["s"])[order]
    # Its own word for an early stop says nothing of the point: 2 can be as good as 1.
    words = {1: "Solved", 2: "Solved", -1: "DualInfeasible", -2: "PrimalInfeasible"}
    status = words.get(found["info"]["status_val"], "Failed")
    if status == "Solved" and not program.residuals(x, z).worst <= ACCEPTED:
        status = "Inaccurate"
    return ConicSolution(status, x, z, s)
