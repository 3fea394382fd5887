"""What a solve or an algorithm gives back: the values, what they mean, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from convexnovelty.conic import Residuals
from convexnovelty.regions import Guarantee, Interval, Region

__all__ = ["Attempt", "Reading", "Solution", "Values"]

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """What a solution means: the region in which points are ordinary, and what is guaranteed of it.

    ``letters`` are those of the paper that can be read off a solution of the program: what is no variable of it, such as
    multipliers, and variables that are known better than the solver's point has them. They are ``settled`` where they are
    those of the optimum to rounding. ``separates`` says that the optimum is certain not to be zero, as it is where nothing is
    separated alone: where residuals do not tell the value from zero, it has no digit then. Letters that are ``vanishing`` are zero
    where that satisfies every constraint and is no worse than the solver's point.
    """

    region: Region | None = None
    guarantee: Guarantee | None = None
    offset: Interval | None = None
    letters: Values = field(default_factory=dict)
    separates: bool = False
    settled: bool = False
    vanishing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """One call of a solver: its name, its options, its status and why it did or did not count.

    The option ``rescaled`` is ours: the solver got the equilibrated program. ``doubtful`` is a claim that a program is
    infeasible or unbounded whose certificate proves nothing in the program's own scale.
    """

    solver: str
    options: Mapping[str, Any]
    status: str
    remark: str = ""
    doubtful: bool = False


@dataclass(frozen=True)
class Solution:
    """What a solve or an algorithm found, in the user's units.

    ``objective`` is the paper's own; ``values`` holds the paper's letters; ``residuals`` are recomputed from the
    solver's point and never taken from the solver; ``time`` is in seconds and ``timing`` splits it.
    """

    objective: float
    values: Values
    region: Region | None = None
    guarantee: Guarantee | None = None
    residuals: Residuals | None = None
    offset: Interval | None = None
    time: float = 0.0
    timing: Mapping[str, float] = field(default_factory=dict)
    solver: str = "closed form"
    status: str = "optimal"
    iterations: int = 0
    attempts: tuple[Attempt, ...] = ()

    def __repr__(self) -> str:
        worst = "" if self.residuals is None else f", worst KKT residual {self.residuals.worst:.1e}"
        said = "" if self.guarantee is None else f"\n  {self.guarantee}"
        return f"Solution({self.status} by {self.solver}, objective {self.objective:.10g}{worst}, {1e3 * self.time:.1f} ms){said}"
