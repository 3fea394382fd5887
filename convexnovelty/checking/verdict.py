"""What an answer is worth, given what is proved of the problem: one word a cell, the loudest that applies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from convexnovelty.checking.certificate import size_of
from convexnovelty.checking.enclosure import Enclosure

__all__ = ["LOUD", "ORDER", "WORDS", "Verdict", "judge"]

# Relative error of an objective, or residual of a point, from which an answer called optimal is called wrong.
WRONG = 1e-4

WORDS = {
    "wrong optimal": "called optimal what is not: the objective is outside of the proved interval, or the point infeasible",
    "wrong infeasible": "called infeasible a problem that provably has a solution",
    "wrong unbounded": "called unbounded a problem whose optimum is proved",
    "not a number": "returned NaN or infinity in its point, its multipliers or its objective",
    "crash": "ended the process it ran in",
    "hang": "did not end within the time limit and had to be ended",
    "out of memory": "took more memory than it was allowed",
    "error": "raised an exception and gave no answer",
    "stopped": "stopped at a limit of its own without an optimum",
    "undecided": "said that the problem may be infeasible or unbounded, or that it does not know",
    "wrong multipliers": "the right objective, with multipliers that prove nothing of it",
    "inaccurate": "said itself that its answer is inaccurate",
    "short": "optimal, but less accurate than the table of solvers allows",
    "no reference": "no interval was proved, so that the answer cannot be judged",
    "right": "the right answer, to the accuracy that was asked",
    "out of scope": "the problem has integer variables, so that no dual proves its optimum",
    "not admitted": "the solver does not take problems of this class",
}
ORDER = {word: place for place, word in enumerate(WORDS)}
LOUD = ("wrong optimal", "wrong infeasible", "wrong unbounded", "not a number", "crash")


@dataclass(frozen=True)
class Verdict:
    """A word of :data:`WORDS`, the relative error of the objective (NaN without one), and why."""

    word: str
    error: float = math.nan
    reason: str = ""


def judge(answer: Mapping[str, Any], reference: Enclosure, unit: float, accuracy: float) -> Verdict:
    """What an answer is worth.

    Parameters
    ----------
    answer : ``status`` in CVXPY's words, ``objective`` of the returned point and ``reported`` by the solver, both in
        the user's units, the relative ``violation`` of the point, and the worst relative optimality ``residual`` of the
        point with its multipliers; None where there is none.
    reference, unit : what is proved, and the unit of the objective.
    accuracy : relative error that the solver's row of the table allows.
    """
    status = str(answer.get("status", ""))
    objective, reported, violation, residual = (
        answer.get(key) for key in ("objective", "reported", "violation", "residual")
    )
    if status in ("infeasible", "unbounded"):
        return _without_optimum(status, reference)
    if status in ("infeasible_or_unbounded", "infeasible_inaccurate", "unbounded_inaccurate", ""):
        return Verdict("undecided", reason=f"status {status or 'unknown'}")
    numbers = [v for v in (objective, reported, violation, residual) if v is not None]
    if any(not math.isfinite(v) for v in numbers):
        told = "" if residual is None else f", residual of the multipliers {residual}"
        return Verdict("not a number", reason=f"status {status}, objective {objective}{told}")
    if objective is None:
        claimed = status == "optimal"
        return Verdict("wrong optimal" if claimed else "stopped", reason=f"status {status} without a point")
    if reference.infeasible or reference.unbounded:
        truth = "infeasible" if reference.infeasible else "unbounded"
        word = {"optimal": "wrong optimal", "user_limit": "stopped"}.get(status, "inaccurate")
        return Verdict(word, reason=f"status {status} for a problem that is proved to be {truth}")
    if not reference.width < math.inf:
        return Verdict("no reference", reason=reference.remark)
    size = size_of(reference, unit)
    error = reference.distance(objective) / size
    lie = abs(objective - reported) / size if reported is not None else 0.0
    if status != "optimal":
        word = "stopped" if status == "user_limit" else "inaccurate"
        return Verdict(word, error, f"status {status}, {error:.1e} off")
    outside = violation or 0.0
    parts = {
        f"the objective is {error:.1e} outside of the interval": error,
        f"the reported objective is {lie:.1e} from that of the point": lie,
        f"the point violates its constraints by {outside:.1e}": outside,
    }
    worst = max(parts, key=lambda text: parts[text])
    if parts[worst] > WRONG:
        return Verdict("wrong optimal", error, worst)
    if residual is not None and residual > WRONG:
        return Verdict("wrong multipliers", error, f"the optimality residual of the multipliers is {residual:.1e}")
    # The interval's own width is no fault of the solver's: distances are measured from its ends.
    if parts[worst] > accuracy:
        return Verdict("short", error, worst)
    return Verdict("right", error)


def _without_optimum(status: str, reference: Enclosure) -> Verdict:
    if (reference.infeasible and status == "infeasible") or (reference.unbounded and status == "unbounded"):
        return Verdict("right")
    if reference.infeasible or reference.unbounded:
        truth = "infeasible" if reference.infeasible else "unbounded"
        return Verdict(f"wrong {status}", reason=f"called {status}, proved to be {truth}")
    # A proved lower bound excludes unboundedness, a feasible point (the upper bound) excludes infeasibility.
    refuted = reference.upper < math.inf if status == "infeasible" else reference.lower > -math.inf
    if refuted:
        told = f"a feasible point is proved, with objective {reference.upper:.12g}"
        if status == "unbounded":
            told = f"the optimum is proved to be at least {reference.lower:.12g}"
        return Verdict(f"wrong {status}", reason=told)
    return Verdict("no reference", reason=reference.remark)
