"""What a check found: one row a step, a summary, and the same as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

__all__ = ["Report", "Row"]

Verdict = Literal["pass", "fail", "not checked"]


@dataclass(frozen=True)
class Row:
    """One step on one instance.

    Gaps are relative; NaN where there is nothing of the kind to compare. ``residual`` is the worst recomputed
    optimality residual of the two ends. ``tolerance`` is what the objective's gap was held to,
    ``decision_tolerance`` what the decision values were held to. A row that is not checked says why in ``reason``
    and never counts as passed. ``theorem`` marks claims about a solution, as opposed to steps between two.
    """

    method: str
    instance: str
    source: str
    target: str
    claim: str
    equation: str
    relation: str
    reference: str
    verdict: Verdict
    objective_gap: float = math.nan
    decision_gap: float = math.nan
    mapped_gap: float = math.nan
    residual: float = math.nan
    seconds: float = 0.0
    tolerance: float = math.nan
    decision_tolerance: float = math.nan
    reason: str = ""
    theorem: bool = False


class Report:
    """The rows of a check.

    ``passed`` is true when no row failed and at least one was checked.
    """

    def __init__(self, rows: Iterable[Row], *, solver: str = "", seconds: float = 0.0) -> None:
        self.rows = tuple(rows)
        self.solver = solver
        self.seconds = seconds

    def count(self, verdict: Verdict) -> int:
        """How many rows ended with this verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def passed(self) -> bool:
        """No failed row, and at least one row that was checked."""
        return self.count("fail") == 0 and self.count("pass") > 0

    @property
    def summary(self) -> str:
        """One line: how many steps held, failed and were not checked, with which solver, in what time."""
        return (
            f"{self.count('pass')} steps hold, {self.count('fail')} fail, {self.count('not checked')} not checked; "
            f"solver {self.solver or 'none'}, {self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"Report({self.summary})"

    def __str__(self) -> str:
        return self.table()

    def table(self, width: int | None = None, *, colour: bool = False) -> str:
        """The rows as a table of text, grouped by method and instance."""
        from rich.console import Console
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("from", "to", "claim", "source equation"):
            table.add_column(heading, overflow="fold")
        for heading in ("objective", "decision", "residual", "held to", "ms"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("", no_wrap=False)
        group = ""
        for row in _folded(self.rows):
            if (heading := f"{row.method}: {row.instance}") != group:
                group = heading
                table.add_section()
                table.add_row(f"[bold]{heading}[/bold]")
            table.add_row(
                row.source,
                row.target,
                row.claim,
                row.equation,
                _number(row.objective_gap),
                _number(row.decision_gap),
                _number(row.residual),
                _number(row.tolerance),
                f"{1e3 * row.seconds:.0f}",
                _verdict(row),
            )
        console = Console(width=width or 170, force_terminal=colour, no_color=not colour, highlight=False)
        with console.capture() as captured:
            console.print(table)
            console.print(self.summary)
        return captured.get()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data; numbers that are not finite become null, as JSON has none."""
        rows = [{key: _plain(value) for key, value in asdict(row).items()} for row in self.rows]
        return {
            "passed": self.passed,
            "summary": {
                "hold": self.count("pass"),
                "fail": self.count("fail"),
                "not checked": self.count("not checked"),
            },
            "solver": self.solver,
            "seconds": self.seconds,
            "rows": rows,
        }

    def write_json(self, path: str | Path) -> None:
        """Write the report as JSON; the file appears whole or not at all."""
        target = Path(path)
        partial = target.with_name(f".{target.name}.partial")
        try:
            partial.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def _folded(rows: Iterable[Row]) -> list[Row]:
    """Claims of one theorem on one solution as one row, its worst; whatever does not hold keeps a row of its own."""
    folded: list[Row] = []
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for row in rows:
        key = (row.method, row.instance, row.source, row.target)
        if row.theorem and row.verdict == "pass" and key in groups:
            place, count = groups[key]
            worst = max(folded[place], row, key=lambda r: r.objective_gap / max(r.tolerance, 1e-300))
            groups[key] = [place, count + 1]
            folded[place] = replace(worst, claim=f"{count + 1} claims", seconds=0.0)
            continue
        if row.theorem and row.verdict == "pass":
            groups[key] = [len(folded), 1]
        folded.append(row)
    return folded


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0e}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _verdict(row: Row) -> str:
    if row.verdict == "pass":
        return "[green]holds[/green]"
    return f"[red]FAILS[/red] {row.reason}" if row.verdict == "fail" else f"[yellow]not checked[/yellow]: {row.reason}"
