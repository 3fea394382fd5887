"""For authors of solvers: the problem set of this package as a suite that a solver's own continuous integration can call.

>>> import convexnovelty as cn
>>> report = cn.testing.run_suite("CLARABEL", problems=["one_class_svm/four points on a line/dual"])
>>> report.passed
True

A solver is given by the name under which CVXPY knows it, as ``FILE.py:name`` or ``module:name``. The object may be a
solver class of CVXPY's own kind, already made, or simply a function from a
:class:`~convexnovelty.conic.ConicProgram` and a dictionary of options to an :class:`Answer`: it needs no CVXPY then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from convexnovelty.checking.cell import Subject, all_subjects, subject_named
from convexnovelty.checking.cross_check import Cell, CrossReport, Exemption, Limits, cross_check
from convexnovelty.checking.mirror import Answer
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import ConvexNoveltyError, InputError

__all__ = ["Answer", "Cell", "ConicProgram", "Exemption", "Limits", "SuiteFailure", "problems", "run_suite"]


class SuiteFailure(ConvexNoveltyError, AssertionError):
    """A solver gave answers that are neither right nor exempted; ``report`` holds all cells."""

    def __init__(self, message: str, report: CrossReport) -> None:
        super().__init__(message)
        self.report = report


def problems(method: str | None = None) -> list[str]:
    """The names of all problems, or of one method's, as ``run_suite`` takes them."""
    return [subject.key for subject in all_subjects(method)]


def run_suite(
    solver: str,
    *,
    problems: Sequence[str | Subject] | str | None = None,
    exempt: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    strict: bool = True,
    executor: Executor | None = None,
    jobs: int = 2,
    stream: str | Path | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> CrossReport:
    """Run one solver on the problems and raise unless every answer is right.

    Parameters
    ----------
    solver : see the module.
    problems : their names (``method/instance/node``), the name of one method, or None for all. Problems of a class that
        a CVXPY solver does not take are skipped and counted as such, never as passed.
    exempt : from a regular expression on problem names to the reason why the solver may fail there. An exemption that no
        failure needed is a failure itself, and one without a reason is refused.
    limits : of time, memory and accuracy.
    strict : without it, answers that the solver itself marks as inaccurate, or that fall short of the accuracy, pass. That
        accuracy is the one of the solver's row in the table of solvers; a solver that has none is told of no tolerance, and
        its objective, its constraints and the optimality of its multipliers are held to 1e-4 relative. Multipliers that are
        not given are not judged.
    executor, jobs, stream, progress : as :func:`~convexnovelty.checking.cross_check.cross_check` takes them.

    Returns
    -------
    The report of all cells.

    Raises
    ------
    SuiteFailure : with what failed, the loudest first, and the command that reproduces it.
    """
    reasons = dict(exempt or {})
    empty = [pattern for pattern, reason in reasons.items() if not reason.strip()]
    if empty:
        raise InputError(f"exempt: {', '.join(empty)} has no reason; say why the solver may fail there")
    chosen: Sequence[Subject] | str | None
    if problems is None or isinstance(problems, str):
        chosen = problems
    else:
        chosen = [subject_named(p) if isinstance(p, str) else p for p in problems]
    report = cross_check(
        chosen,
        solver=[solver],
        limits=limits,
        executor=executor,
        jobs=jobs,
        stream=stream,
        progress=progress,
        exemptions=(),
    )
    pardoned = ("no reference", *(() if strict else ("short", "inaccurate")))
    failed = [cell for cell in report.disagreements if cell.word not in pardoned]
    used: set[str] = set()
    left = []
    for cell in failed:
        exemption = next((p for p in reasons if Exemption(cell.solver, p, "", "").covers(cell)), None)
        if exemption is None:
            left.append(cell)
        else:
            used.add(exemption)
    lines = [f"{cell.word}: {cell.subject}: {cell.reason}\n    {cell.command}" for cell in left]
    lines += [f"the exemption {p!r} ({reason}) was not needed" for p, reason in reasons.items() if p not in used]
    if not any(cell.word == "right" for cell in report.cells):
        lines.append("not one answer is right, so that nothing was tested")
    if lines:
        raise SuiteFailure(f"{solver}: {report.summary}\n" + "\n".join(lines), report)
    return report
