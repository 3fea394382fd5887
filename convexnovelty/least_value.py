"""The least value of one variable under conic constraints, to a share of itself, whatever its size is.

A solver's tolerances are absolute, and such a value may be 1e-18 or 1e18, beside coefficients of any other size. It is known by
what residuals may change of it, and the program is posed anew until that is little.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from convexnovelty.conic import ConicProgram
from convexnovelty.direct import attempts
from convexnovelty.places import DONE, proves_empty
from convexnovelty.units import in_own_units, in_units_of
from convexnovelty.validation import Array

__all__ = ["LeastValue", "least_value", "rough_value"]

TOLERANCES = (1e-10, 1e-9, 1e-8)  # that are asked of the solver, one after the other
TIGHT = 1e-12  # that is asked where they leave too much
RESIDUAL = 1e-6  # largest one of a point that counts, in scale
PRECISE = 1e-8  # share of a value that residuals may change with which the search ends
ENOUGH = (1e-6, 1e-4)  # those with which no other tolerances are asked
ROUGH = 1e-3  # share of a value of which a few digits are asked
AGAIN = 2  # times that a program is posed in units of the best point so far
AGREED = 2  # ways of posing a program in which a solver has to prove that it has no point
NOTHING = 1e-9  # a value that is none, in units in which the right-hand side is one


@dataclass(frozen=True)
class LeastValue:
    """A value, and what residuals may change of it, as a share of it."""

    value: float
    share: float


@dataclass(frozen=True)
class _Point:
    """A solver's point of a program in scale, its value there and what residuals may change of it, and the value's unit."""

    program: ConicProgram
    x: Array
    value: float
    error: float
    unit: float

    @property
    def told(self) -> LeastValue:
        share = self.error / max(abs(self.value), self.error) if self.error else 0.0
        return LeastValue(self.value * self.unit, share)


def least_value(program: ConicProgram) -> LeastValue | None:
    """The least value of the program's objective, one variable: infinity where nothing is feasible, None if no solver can say."""
    best, proofs = None, list[ConicProgram]()
    for found in _values(program, proofs):
        if best is None or found.share < best.share:
            best = found
        if best.share <= PRECISE:
            break
    if best is None and all(_is_empty(posed) for posed, _ in in_own_units(program)):
        return LeastValue(math.inf, 0.0)
    if (
        best is not None
        and math.isfinite(best.value)
        and proofs
        and _is_empty(_at(program, best.value * (1.0 + ROUGH)))
    ):
        return LeastValue(math.inf, 0.0)
    return best


def rough_value(program: ConicProgram) -> float | None:
    """The same to a few digits, by one solve where that tells them; None where no solver has a point of which they are known."""
    for posed, unit in in_own_units(program):
        found = next(attempts(posed, TOLERANCES[-1:]))
        value = posed.objective(found.x)
        if found.status in DONE and posed.value_error(found.x, found.z) <= ROUGH * abs(value):
            return value * unit
    return None


def _values(program: ConicProgram, proofs: list[ConicProgram]) -> Iterator[LeastValue]:
    """Solvers' answers to a program that is posed in several ways.

    A value that is small beside everything else is looked for again in the units of the point that was found with it, and
    is none where that does not tell it from zero. Where a solver proves that there is no point, what it took for one was none;
    ways of posing the program in which it does are put into ``proofs``.
    """
    points: list[_Point] = []

    def is_empty() -> bool:
        """Whether solvers prove in two ways of posing it that there is no point, where none was found that tells its value."""
        if min((point.told.share for point in points), default=math.inf) <= ENOUGH[1] or not (points or proofs):
            return False
        agreed = len({id(posed) for posed in proofs})
        return agreed + sum(map(_is_empty, (program, program.equilibrated()[0])) if agreed < AGREED else ()) >= AGREED

    def asked(posed: ConicProgram, unit: float, tolerances: Sequence[float], most: int | None) -> Iterator[LeastValue]:
        for found in itertools.islice(attempts(posed, tolerances), most):
            if found.status in DONE and posed.residuals(found.x, found.z).worst <= RESIDUAL:
                error = posed.value_error(found.x, found.z)
                points.append(_Point(posed, found.x, posed.objective(found.x), error, unit))
                yield points[-1].told
            elif "PrimalInfeasible" in found.status and proves_empty(posed, found):
                proofs.append(posed)

    for posed, unit in in_own_units(program):
        yield from asked(posed, unit, TOLERANCES[:1], 2)
    first = tuple(points)
    for _ in range(AGAIN if points else 0):
        near = min(points, key=lambda point: point.told.share)
        posed, factor = in_units_of(near.program, near.x)
        yield from asked(posed, near.unit * factor, TOLERANCES[:1], 2)
    nothing = [LeastValue(p.told.value, 0.0) for p in first if abs(p.value) + p.error <= NOTHING]
    if not proofs:
        yield from nothing
    for tolerances, most, enough in (((TIGHT,), 2, ENOUGH[0]), (TOLERANCES, None, ENOUGH[1])):
        if min((point.told.share for point in points), default=math.inf) <= enough:
            return
        for posed, unit in in_own_units(program):
            yield from asked(posed, unit, tolerances, most)
    if is_empty():
        yield LeastValue(math.inf, 0.0)
    else:
        yield from nothing


def _at(program: ConicProgram, value: float) -> ConicProgram:
    """The program with the one variable that is minimised at a value, in scale."""
    own = np.flatnonzero(program.c)
    fixed = program.b - program.A[:, own] @ np.full(own.size, value)
    A = sp.csr_array(program.A, copy=True)
    A.data *= np.isin(A.indices, own, invert=True)
    return replace(program, A=A, b=np.asarray(fixed), c=np.zeros(program.c.size)).equilibrated()[0]


def _is_empty(program: ConicProgram) -> bool:
    """Whether a solver proves that a program has no point."""
    found = attempts(program, TOLERANCES[-1:])
    return any("PrimalInfeasible" in answer.status and proves_empty(program, answer) for answer in found)
