"""What a report says, before it is drawn: counts, accuracies, and performance profiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convexnovelty.checking.cross_check import Cell, CrossReport

__all__ = ["CLASSES", "Profile", "classes_of", "digits_of", "label", "profiles", "time_of"]

CLASSES = ("LP", "QP", "SOCP", "SDP", "EXP", "POW")
SMALLEST = 1e-16  # error that is shown for an objective inside of its interval
FASTEST = 1e-4  # seconds below which times say nothing


@dataclass(frozen=True)
class Profile:
    """A performance profile: the share of problems that a solver got right within each multiple of the best time."""

    solver: str
    ratios: tuple[float, ...]
    shares: tuple[float, ...]
    problems: int


def label(solver: str) -> str:
    """A solver's short name: of ``FILE.py:name`` the name."""
    return solver.rpartition(":")[2]


def classes_of(cell: Cell) -> str:
    """The class that a cell counts under: quadratically constrained programs go with second-order cone programs."""
    kind = cell.kind.removeprefix("MI")
    return {"QCQP": "SOCP", "SDP+EXP": "SDP"}.get(kind, kind)


def digits_of(cell: Cell) -> float | None:
    """Right digits of the objective, from its relative error; None where there is no error to speak of."""
    if cell.error is None or cell.word in ("not admitted", "no reference", "out of scope"):
        return None
    return -math.log10(max(cell.error, SMALLEST))


def time_of(cell: Cell) -> float:
    """Seconds that the solver took, without compiling."""
    return max(cell.solve, FASTEST)


def profiles(cells: Iterable[Cell], solvers: Sequence[str]) -> list[Profile]:
    r"""Performance profiles of Dolan and Moré (2002) at equal accuracy.

    :math:`\rho_s(\tau)` is the share of the problems, among those that any solver got right, that solver :math:`s` got
    right in at most :math:`\tau` times the time of the fastest. An answer that is not right took infinitely long.
    """
    times: dict[str, dict[str, float]] = {}
    seen: set[str] = set()
    for cell in cells:
        if cell.word in ("not admitted", "out of scope"):
            continue
        seen.add(cell.solver)
        if cell.word == "right":
            times.setdefault(cell.subject, {})[cell.solver] = time_of(cell)
    found = []
    for solver in (s for s in solvers if s in seen):
        ratios = sorted(t[solver] / min(t.values()) for t in times.values() if solver in t)
        shares = [(i + 1) / len(times) for i in range(len(ratios))]
        found.append(Profile(solver, tuple(ratios), tuple(shares), len(times)))
    return found


def solvers_of(report: CrossReport) -> list[str]:
    """The solvers of a report in the order in which they were asked for."""
    named = list(report.environment.get("solvers", ()))
    return [s for s in named if any(c.solver == s for c in report.cells)]
