"""Means with standard errors beside the printed numbers, and the answers to the paper's claims."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

__all__ = ["Answer", "Cell", "Key", "Result", "answer", "summarised"]

Key = tuple[str, str]
Verdict = Literal["holds", "does not hold", "not decided"]


@dataclass(frozen=True)
class Cell:
    """One cell: printed, and ours as mean, standard error of the mean, and number of repetitions that gave it.

    The standard error is NaN for a single repetition and where nothing is random.
    """

    row: str
    column: str
    printed: float | None
    mean: float
    standard_error: float
    repetitions: int

    def deviation(self, printed_repetitions: int) -> float:
        """Ours less printed in standard errors, with the printed mean taken to scatter as ours does.

        A paper prints no standard errors, but its mean over N repetitions has one too.
        """
        if self.printed is None or not self.standard_error > 0:
            return math.nan
        error = self.standard_error * math.sqrt(1 + self.repetitions / printed_repetitions)
        return (self.mean - self.printed) / error


@dataclass(frozen=True)
class Answer:
    """What the repetitions say of a claim: its contrast, which is positive where the claim holds."""

    text: str
    verdict: Verdict
    contrast: float
    standard_error: float
    repetitions: int


@dataclass(frozen=True)
class Result:
    """A reproduction that was run."""

    name: str
    title: str
    source: str
    unit: str
    cells: list[Cell]
    answers: list[Answer]
    repetitions: int
    seed: int
    quick: bool
    printed_repetitions: int
    origins: dict[str, str] = field(default_factory=dict)

    def cell(self, row: str, column: str) -> Cell:
        """The cell of that row and column. Raises KeyError if there is none."""
        for cell in self.cells:
            if (cell.row, cell.column) == (row, column):
                return cell
        raise KeyError((row, column))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not finite become null."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def write_json(self, path: str | Path) -> None:
        """Write the result as JSON; the file appears whole or not at all."""
        target = Path(path)
        partial = target.with_name(f".{target.name}.partial")
        partial.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(target)

    def table(self, width: int | None = None, *, colour: bool = False) -> str:
        """Ours beside the printed figures, and the claims with their answers, as text."""
        from rich.console import Console
        from rich.table import Table

        scale = 100.0 if self.unit == "%" else 1.0
        cells = Table(box=None, pad_edge=False, header_style="bold")
        cells.add_column("row", overflow="fold")
        cells.add_column("column", overflow="fold")
        for heading in ("printed", "ours", "± s.e.", "n", "ours - printed, in s.e."):
            cells.add_column(heading, justify="right", no_wrap=True)
        row = ""
        for cell in self.cells:
            cells.add_row(
                "" if cell.row == row else cell.row,
                cell.column,
                _number(cell.printed, scale),
                _number(cell.mean, scale),
                _number(cell.standard_error, scale),
                str(cell.repetitions),
                _number(cell.deviation(self.printed_repetitions), 1.0, 1),
            )
            row = cell.row
        claims = Table(box=None, pad_edge=False, header_style="bold")
        claims.add_column("claim", overflow="fold")
        for heading in ("contrast", "± s.e.", "n"):
            claims.add_column(heading, justify="right", no_wrap=True)
        claims.add_column("answer", no_wrap=True)
        style = {"holds": "green", "does not hold": "red", "not decided": "yellow"}
        for found in self.answers:
            claims.add_row(
                found.text,
                _number(found.contrast, 1.0, 3),
                _number(found.standard_error, 1.0, 3),
                str(found.repetitions),
                f"[{style[found.verdict]}]{found.verdict}[/]",
            )
        console = Console(width=width or 150, force_terminal=colour, no_color=not colour, highlight=False)
        with console.capture() as captured:
            console.print(f"[bold]{self.name}[/bold]: {self.title} ({self.source})", markup=True)
            console.print(self.heading, markup=False)
            console.print(cells)
            console.print("Claims; the contrast is positive where a claim holds, and two standard errors decide.")
            console.print(claims)
        return captured.get()

    @property
    def heading(self) -> str:
        """How often, with which seed, on which data, in which unit."""
        shares = "cells in percent; " if self.unit == "%" else ""
        origins = "; ".join(f"{name}: {origin}" for name, origin in self.origins.items()) or "data: generated"
        quick = ", quick" if self.quick else ""
        return f"{shares}repetitions {self.repetitions} (in full {self.printed_repetitions}), seed {self.seed}{quick}; {origins}"


def summarised(drawn: Sequence[float]) -> tuple[float, float, int]:
    """Mean, standard error of the mean and number of the values that are not NaN."""
    values = np.asarray([value for value in drawn if not math.isnan(value)])
    if values.size == 0:
        return math.nan, math.nan, 0
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
    return float(values.mean()), error, int(values.size)


def answer(text: str, contrasts: Sequence[float], *, random: bool = True) -> Answer:
    """Whether a contrast is positive, negative, or undecided at two standard errors."""
    mean, error, n = summarised(contrasts)
    doubt = 2 * error if random else 0.0
    verdict: Verdict = "not decided"
    if not math.isnan(mean) and not math.isnan(doubt):
        if mean - doubt > 0 or (mean >= 0 and not random):
            verdict = "holds"
        elif mean + doubt < 0:
            verdict = "does not hold"
    return Answer(text, verdict, mean, error, n)


def _number(value: float | None, scale: float, digits: int | None = None) -> str:
    if value is None or math.isnan(value):
        return "-"
    scaled = value * scale
    if digits is None:
        digits = 1 if scale > 1 else 3
    return f"{scaled:.{digits}f}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
