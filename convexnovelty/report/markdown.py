"""The report as Markdown: counts, disagreements with the commands that reproduce them, and the environment."""

from __future__ import annotations

from collections.abc import Sequence

from convexnovelty.checking.cross_check import CrossReport
from convexnovelty.checking.verdict import ORDER, WORDS
from convexnovelty.report.summary import classes_of, digits_of, label, solvers_of

__all__ = ["counts", "page"]


def counts(report: CrossReport) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: how many cells of each solver ended with each word."""
    words = [word for word in ORDER if any(c.word == word for c in report.cells)]
    rows = []
    for solver in solvers_of(report):
        cells = [c for c in report.cells if c.solver == solver]
        least = min(
            (d for c in cells if c.word in ("right", "short") and (d := digits_of(c)) is not None), default=None
        )
        seconds = sum(c.solve for c in cells)
        numbers = [str(sum(c.word == word for c in cells) or "") for word in words]
        rows.append([label(solver), *numbers, "" if least is None else f"{least:.1f}", f"{seconds:.1f}"])
    return ["solver", *words, "fewest digits", "seconds"], rows


def page(report: CrossReport) -> str:
    """The whole report."""
    parts = ["# Solver cross-check", report.summary + "."]
    parts.append(_table(*counts(report)))
    parts.append("## Disagreements")
    found = report.disagreements
    if not found:
        parts.append("None: every answer is right.")
    else:
        rows = []
        for cell in found:
            excuse = report.excuse(cell)
            told = cell.reason + (f" (known: {excuse.reason})" if excuse else "")
            rows.append([cell.word, label(cell.solver), classes_of(cell), cell.subject, told, f"`{cell.command}`"])
        parts.append(_table(["verdict", "solver", "class", "problem", "why", "reproduce"], rows))
        used = dict.fromkeys(cell.word for cell in found)
        parts.append("\n".join(f"- **{word}**: {WORDS[word]}." for word in used))
    for exemption in report.unneeded:
        parts.append(f"An exemption is no longer needed: {exemption.solver}, {exemption.subject} ({exemption.reason}).")
    environment = report.environment
    parts.append("## Environment")
    rows = [[name, version] for name, version in environment.get("versions", {}).items()]
    rows += [
        [key, str(environment[key])] for key in ("python", "system", "machine", "processors") if key in environment
    ]
    rows += [[f"limit: {key}", str(value)] for key, value in environment.get("limits", {}).items()]
    parts.append(_table(["what", "value"], rows))
    return "\n\n".join(parts) + "\n"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in row) + " |" for row in lines
    )
