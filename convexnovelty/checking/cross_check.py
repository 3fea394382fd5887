"""Every installed solver on every problem, each answer judged by what is proved of the problem.

A cell is one solver on one problem, in a process of its own with a limit on time and memory, so that a crash, a hang or
a shortage of memory ends that cell only. Cells are written to a file of JSON lines as they come, and a run that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from convexnovelty import enrolment, solvers
from convexnovelty.checking import cell, sandbox
from convexnovelty.checking.cell import Subject, all_subjects
from convexnovelty.checking.enclosure import Enclosure
from convexnovelty.checking.verdict import LOUD, ORDER, judge
from convexnovelty.errors import InputError
from convexnovelty.validation import listed

__all__ = ["Cell", "CrossReport", "Exemption", "Limits", "available", "cross_check"]

# Solvers that only make sense with integer variables, which no case has.
QUIET = ("right", "not admitted", "out of scope")
INTEGER_ONLY = ("GLPK_MI", "ECOS_BB")
# Tolerances bound gaps and residuals, and an objective may be off by a multiple of them.
FACTOR = 100.0
PREPARE = 300.0  # seconds for making a problem and proving its interval


@dataclass(frozen=True)
class Limits:
    """What each cell may use, and the accuracy that every solver is asked for."""

    seconds: float = 20.0
    memory: int = 4 * 1024**3
    accuracy: float = 1e-8


@dataclass(frozen=True)
class Exemption:
    """A known limit of a solver: cells whose solver, subject and word match are expected, for a reason.

    ``subject`` is a regular expression. An exemption that no cell needed, although cells of its solver and subject were
    run, is a failure of its own: what no longer happens must not be excused.
    """

    solver: str
    subject: str
    word: str
    reason: str
    certain: bool = True

    def covers(self, cell: Cell) -> bool:
        """Whether it speaks of this cell's solver and subject."""
        return self.solver == cell.solver and re.search(self.subject, cell.subject) is not None


@dataclass(frozen=True)
class Cell:
    """One solver on one problem. Times are in seconds; numbers that do not exist are None."""

    subject: str
    solver: str
    word: str
    reason: str = ""
    kind: str = ""
    status: str = ""
    error: float | None = None
    residual: float | None = None
    violation: float | None = None
    objective: float | None = None
    iterations: int = 0
    build: float = 0.0
    compile: float = 0.0
    solve: float = 0.0
    total: float = 0.0
    lower: float | None = None
    upper: float | None = None
    variables: int = 0
    rows: int = 0
    run: str = ""

    @property
    def command(self) -> str:
        """What reproduces the cell."""
        return f"convexnovelty check --solver {self.solver} --only {self.subject!r}"


@dataclass
class CrossReport:
    """All cells of a run, and what surrounded it."""

    cells: list[Cell]
    environment: dict[str, Any]
    seconds: float = 0.0
    exemptions: Sequence[Exemption] = ()

    def with_word(self, *words: str) -> list[Cell]:
        """The cells that ended with one of these words, the loudest first."""
        return sorted((c for c in self.cells if c.word in words), key=lambda c: (ORDER[c.word], c.solver, c.subject))

    @property
    def disagreements(self) -> list[Cell]:
        """Whatever is neither right, nor outside of what the solver takes, the loudest first."""
        return self.with_word(*(word for word in ORDER if word not in QUIET))

    def excuse(self, cell: Cell) -> Exemption | None:
        """The exemption that expects this cell, if any."""
        return next((e for e in self.exemptions if e.word == cell.word and e.covers(cell)), None)

    @property
    def unexplained(self) -> list[Cell]:
        """Wrong answers and crashes that no exemption expects."""
        return [c for c in self.with_word(*LOUD) if self.excuse(c) is None]

    @property
    def unneeded(self) -> list[Exemption]:
        """Certain exemptions of which no cell made use, although such cells were run."""
        return [
            e
            for e in self.exemptions
            if e.certain
            and any(e.covers(c) for c in self.cells)
            and not any(e.covers(c) and c.word == e.word for c in self.cells)
        ]

    @property
    def passed(self) -> bool:
        """Some cell was judged, nothing loud is unexplained, and no exemption is left over."""
        return any(c.word == "right" for c in self.cells) and not self.unexplained and not self.unneeded

    @property
    def summary(self) -> str:
        """One line: how many cells ended with each word, the loudest first."""
        counts = {word: sum(c.word == word for c in self.cells) for word in ORDER}
        told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"{len(self.cells)} cells in {self.seconds:.0f} s: {told or 'none'}"

    def __repr__(self) -> str:
        return f"CrossReport({self.summary})"

    def table(self, width: int | None = None, *, colour: bool = False) -> str:
        """Counts by solver, and the disagreements with what reproduces them, as text."""
        from rich.console import Console
        from rich.table import Table

        words = [word for word in ORDER if any(c.word == word for c in self.cells)]
        counts = Table(box=None, pad_edge=False, header_style="bold")
        counts.add_column("solver")
        for word in words:
            counts.add_column(word, justify="right")
        for solver in dict.fromkeys(c.solver for c in self.cells):
            numbers = [sum(c.solver == solver and c.word == word for c in self.cells) for word in words]
            counts.add_row(solver, *(str(n or "") for n in numbers))
        told = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("verdict", "solver", "problem", "why"):
            told.add_column(heading, overflow="fold")
        for found in self.disagreements:
            excuse = self.excuse(found)
            style = "green" if excuse else "red" if found.word in LOUD else "yellow"
            why = found.reason + (f" (known: {excuse.reason})" if excuse else "")
            told.add_row(f"[{style}]{found.word}[/{style}]", found.solver, found.subject, escape(why))
        console = Console(width=width or 170, force_terminal=colour, no_color=not colour, highlight=False)
        with console.capture() as captured:
            console.print(counts)
            if told.rows:
                console.print()
                console.print(told)
                console.print("reproduce one: convexnovelty check --solver SOLVER --only 'PROBLEM'")
            for exemption in self.unneeded:
                console.print(f"no longer needed: the exemption of {exemption.solver} on {exemption.subject}")
            console.print(self.summary)
        return captured.get()

    def write_json(self, path: str | Path) -> None:
        """Write the report as JSON; the file appears whole or not at all."""
        target = Path(path)
        fields = [{k: _plain(v) if isinstance(v, float) else v for k, v in asdict(c).items()} for c in self.cells]
        content = {
            "passed": self.passed,
            "summary": self.summary,
            "environment": self.environment,
            "cells": [{**f, "command": c.command} for f, c in zip(fields, self.cells, strict=True)],
        }
        partial = target.with_name(f".{target.name}.partial")
        try:
            partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def available(names: str | Sequence[str] = "all") -> list[str]:
    """The solvers of a cross-check: those named, or every installed one that is not for integers only.

    One that is installed without a licence, or that fails to load, is left out of "all".
    """
    installed = solvers.installed()
    if isinstance(names, str) and names.lower() == "all":
        return [name for name in sorted(installed) if name not in INTEGER_ONLY and solvers.admitted(name)]
    chosen = names.split(",") if isinstance(names, str) else list(names)
    found = []
    for name in (c.strip() for c in chosen):
        if ":" in name:
            cell.resolve(name)
            found.append(name)
        else:
            found.append(solvers.profile(name).name)
    return found


def cross_check(
    subjects: Iterable[Subject] | str | None = None,
    *,
    solver: str | Sequence[str] = "all",
    limits: Limits | None = None,
    executor: Executor | None = None,
    jobs: int = 2,
    stream: str | Path | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    exemptions: Sequence[Exemption] | None = None,
) -> CrossReport:
    """Run solvers on problems and judge every answer.

    Parameters
    ----------
    subjects : the problems, the name of a method for all of its own, or None for everything.
    solver : "all", or names: of CVXPY, or ``FILE.py:name`` and ``module:name`` for a function or a CVXPY solver object.
    limits : of each cell.
    executor : any ``concurrent.futures`` executor, Dask's ``client.get_executor()`` too; threads by default, since the work is
        done in processes of their own.
    jobs : how many threads, without an executor.
    stream : a file of JSON lines that is added to; cells that it holds from a run with the same versions, limits and code of
        the user's are not run again. That code is each solver's file with the Python files beside it, or its whole package,
        and the files that were loaded for their methods and sets.
    progress : called with the number of problems done, their total, and the name of the last one.
    exemptions : known limits that are expected; by default those of
        :mod:`~convexnovelty.checking.known_limits`.

    Returns
    -------
    A report with ``cells``, ``disagreements`` and ``passed``.
    """
    from convexnovelty.checking.known_limits import KNOWN

    limits = limits or Limits()
    began = time.perf_counter()
    chosen = available(solver)
    if subjects is None or isinstance(subjects, str):
        work = all_subjects(subjects)
    else:
        work = listed(subjects, "subjects", "the name of a method, or a list of problems")
    if not chosen or not work:
        raise InputError("cross_check: no solver or no problem was chosen")
    environment = environment_of(chosen, limits)
    done = _read(stream, environment["run"]) if stream is not None else {}
    files = tuple(str(module.__file__) for module in enrolment.loaded())
    left = [
        (s, [n for n in chosen if (s.key, n) not in done]) for s in work if any((s.key, n) not in done for n in chosen)
    ]
    cells = [done[s.key, n] for s in work for n in chosen if (s.key, n) in done]
    finished = len(work) - len(left)
    with ThreadPoolExecutor(max(1, jobs)) as threads:
        arguments = ([s for s, _ in left], [n for _, n in left])
        # Lists of one length, since not every executor takes an endless iterator.
        constant = ([limits] * len(left), [files] * len(left), [environment["run"]] * len(left))
        for found in (executor or threads).map(_cells_of, *arguments, *constant):
            cells += found
            finished += 1
            if stream is not None:
                _append(stream, found)
            if progress is not None:
                progress(finished, len(work), found[0].subject)
    known = KNOWN if exemptions is None else exemptions
    return CrossReport(cells, environment, time.perf_counter() - began, known)


def _cells_of(subject: Subject, names: Sequence[str], limits: Limits, files: Sequence[str], run: str) -> list[Cell]:
    """All cells of one problem; the process that calls this does nothing that could fail."""
    with tempfile.TemporaryDirectory(prefix="convexnovelty-") as folder:
        path = str(Path(folder) / "program")
        made = sandbox.run("convexnovelty.checking.cell:prepare", (subject, files, path), seconds=PREPARE)
        if made.kind != "done":
            return [Cell(subject.key, name, "no reference", made.story, run=run) for name in names]
        if "skip" in made.value:
            return [Cell(subject.key, name, "out of scope", made.value["skip"], run=run) for name in names]
        return [_cell(subject.key, name, made.value, path, limits, files, run) for name in names]


def _cell(
    key: str, name: str, made: Mapping[str, Any], path: str, limits: Limits, files: Sequence[str], run: str
) -> Cell:
    reference = Enclosure(**made["enclosure"])
    ends = [end if math.isfinite(end) else None for end in (reference.lower, reference.upper)]
    common: dict[str, Any] = {
        "kind": made["kind"],
        "build": made["build"],
        "lower": ends[0],
        "upper": ends[1],
        "variables": made["variables"],
        "rows": made["rows"],
        "run": run,
    }
    row = solvers.known().get(name, solvers.SolverProfile(name, ({},), solvers.UNKNOWN_ACCURACY))
    if ":" not in name and not set(made["needed"]) <= solvers.admitted(name):
        return Cell(key, name, "not admitted", f"takes no {', '.join(made['needed'])}", **common)
    options = row.asked(limits.accuracy, limits.seconds)
    outcome = sandbox.run(
        "convexnovelty.checking.cell:answer_of",
        (path, name, options, made["unit"]),
        # A solver's own limit comes first where it has one and keeps it; the process is ended a little later.
        seconds=limits.seconds * 1.25 + 1.0,
        memory=limits.memory,
    )
    common["total"] = outcome.seconds
    if outcome.kind != "done":
        return Cell(key, name, outcome.kind, outcome.story, **common)
    answer = outcome.value
    verdict = judge(answer, reference, made["unit"], max(row.accuracy, FACTOR * limits.accuracy))
    kept = {k: answer[k] for k in ("status", "objective", "violation", "residual", "iterations", "compile", "solve")}
    return Cell(key, name, verdict.word, verdict.reason, error=_plain(verdict.error), **common, **kept)


def _plain(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


# -- what surrounds a run --------------------------------------------------------------------------------------------


def environment_of(names: Sequence[str], limits: Limits) -> dict[str, Any]:
    """Versions, machine and limits, and a short mark of all that the cells depend on."""
    packages = {"convexnovelty", "cvxpy", "numpy", "scipy"}
    packages |= {row.package for name, row in solvers.known().items() if name in names and row.package}
    versions = {}
    for package in sorted(packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    written = {name: _mark(cell.sources(name)) for name in names if ":" in name}
    written |= {str(module.__file__): _mark([Path(str(module.__file__))]) for module in enrolment.loaded()}
    stamp = json.dumps([versions, asdict(limits), written], sort_keys=True)
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "versions": versions,
        "limits": asdict(limits),
        "solvers": list(names),
        "code": written,
        "run": hashlib.sha256(stamp.encode()).hexdigest()[:12],
    }


def _mark(files: Iterable[Path]) -> str:
    """A short mark of what the files hold."""
    found = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:12]


def _append(stream: str | Path, cells: Sequence[Cell]) -> None:
    """Add the cells of one problem in one write, so that an interrupted run leaves at most one broken line."""
    fields = [{k: _plain(v) if isinstance(v, float) else v for k, v in asdict(c).items()} for c in cells]
    with Path(stream).open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(f, ensure_ascii=False) + "\n" for f in fields))


def _read(stream: str | Path, run: str) -> dict[tuple[str, str], Cell]:
    """The cells that a stream holds from runs with the same mark; broken lines are passed over."""
    path = Path(stream)
    found: dict[tuple[str, str], Cell] = {}
    if not path.is_file():
        return found
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        # A line that was cut off must not swallow the next one.
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
    for line in _lines(text):
        if line.get("run") == run:
            found[line["subject"], line["solver"]] = Cell(**line)
    return found


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            fields = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(fields, dict) and fields.keys() == Cell.__dataclass_fields__.keys():
            yield fields
