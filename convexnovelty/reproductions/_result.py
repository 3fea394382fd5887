"""Means with standard errors beside the printed numbers, and the answers to the paper's claims."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from convexnovelty.errors import InputError

__all__ = ["Answer", "Cell", "Key", "Result", "answer", "half_width", "summarised"]

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

    @property
    def interval(self) -> tuple[float, float]:
        """Student's interval of 95 % for the mean; NaN for a single repetition."""
        doubt = half_width(self.standard_error, self.repetitions)
        return self.mean - doubt, self.mean + doubt

    def deviation(self, printed_over: int) -> float:
        r"""Ours less printed, in standard errors of the difference.

        A mean over :math:`N` printed repetitions has an error too, which papers leave out; it is taken to scatter as
        ours over :math:`n`, so that the difference has the error :math:`s\sqrt{1+n/N}`. NaN without a printed number
        or for a single repetition of ours; infinite where all of ours agree with each other and not with the paper.
        """
        if self.printed is None or math.isnan(self.standard_error):
            return math.nan
        difference = self.mean - self.printed
        error = self.standard_error * math.sqrt(1 + self.repetitions / printed_over)
        if error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / error


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
    """A reproduction that was run: ``repetitions`` times where ``in_full`` were asked for.

    A printed cell is a mean over ``printed_over`` repetitions of the paper, rounded to multiples of ``printed_to``.
    """

    name: str
    title: str
    source: str
    unit: str
    cells: list[Cell]
    answers: list[Answer]
    repetitions: int
    seed: int
    quick: bool
    in_full: int
    printed_over: int
    printed_to: float
    origins: dict[str, str] = field(default_factory=dict)

    def cell(self, row: str, column: str) -> Cell:
        """The cell of that row and column. Raises KeyError if there is none."""
        for cell in self.cells:
            if (cell.row, cell.column) == (row, column):
                return cell
        raise KeyError((row, column))

    def agrees(self, cell: Cell) -> bool:
        """Whether a cell is within two standard errors of print, or within rounding where it has no standard error."""
        if cell.printed is None:
            return True
        deviation = cell.deviation(self.printed_over)
        if math.isnan(deviation):
            return abs(cell.mean - cell.printed) <= self.printed_to / 2 * (1 + 1e-9)
        return abs(deviation) <= 2

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not finite become null."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def write_json(self, path: str | Path) -> None:
        """Write the result as JSON; the file appears whole or not at all."""
        target = Path(path)
        partial = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.partial")
        try:
            partial.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def read_json(cls, path: str | Path) -> Result:
        """A result that was written. Raises InputError for a file that holds none."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            cells = [Cell(**{key: _number_again(key, value) for key, value in cell.items()}) for cell in found["cells"]]
            answers = [Answer(**{key: _number_again(key, value) for key, value in a.items()}) for a in found["answers"]]
            return cls(**{**found, "cells": cells, "answers": answers})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}: no result of a reproduction was found ({type(error).__name__}: {error})"
            ) from error

    def table(self, width: int | None = None, *, colour: bool = False) -> str:
        """Ours beside the printed figures, and the claims with their answers, as text."""
        from rich.console import Console
        from rich.table import Table

        scale = 100.0 if self.unit == "%" else 1.0
        cells = Table(box=None, pad_edge=False, header_style="bold")
        cells.add_column("row", overflow="fold")
        cells.add_column("column", overflow="fold")
        for heading in ("printed", "ours", "± 95 %", "n", "ours - printed, in s.e."):
            cells.add_column(heading, justify="right", no_wrap=True)
        row = ""
        for cell in self.cells:
            cells.add_row(
                "" if cell.row == row else cell.row,
                cell.column,
                _number(cell.printed, scale),
                _number(cell.mean, scale),
                _number(half_width(cell.standard_error, cell.repetitions), scale),
                str(cell.repetitions),
                _number(cell.deviation(self.printed_over), 1.0, 1),
            )
            row = cell.row
        claims = Table(box=None, pad_edge=False, header_style="bold")
        claims.add_column("claim", overflow="fold")
        for heading in ("contrast", "± 95 %", "n"):
            claims.add_column(heading, justify="right", no_wrap=True)
        claims.add_column("answer", no_wrap=True)
        style = {"holds": "green", "does not hold": "red", "not decided": "yellow"}
        for found in self.answers:
            claims.add_row(
                found.text,
                _number(found.contrast, 1.0, 3),
                _number(half_width(found.standard_error, found.repetitions), 1.0, 3),
                str(found.repetitions),
                f"[{style[found.verdict]}]{found.verdict}[/]",
            )
        console = Console(width=width or 150, force_terminal=colour, no_color=not colour, highlight=False)
        with console.capture() as captured:
            console.print(f"[bold]{self.name}[/bold]: {self.title} ({self.source})", markup=True)
            console.print(self.heading, markup=False)
            console.print(cells)
            console.print("Claims; the contrast is positive where a claim holds, and its interval of 95 % decides.")
            console.print(claims)
        return captured.get()

    @property
    def heading(self) -> str:
        """How often, with which seed, on which data, in which unit."""
        shares = "cells in percent; " if self.unit == "%" else ""
        origins = "; ".join(f"{name}: {origin}" for name, origin in self.origins.items()) or "data: generated"
        quick = ", quick" if self.quick else ""
        return f"{shares}repetitions {self.repetitions} (in full {self.in_full}), seed {self.seed}{quick}; {origins}"


def summarised(drawn: Sequence[float]) -> tuple[float, float, int]:
    """Mean, standard error of the mean and number of the values that are not NaN."""
    values = np.asarray([value for value in drawn if not math.isnan(value)])
    if values.size == 0:
        return math.nan, math.nan, 0
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
    return float(values.mean()), error, int(values.size)


def half_width(standard_error: float, repetitions: int) -> float:
    r"""Half of Student's interval of 95 %: about two standard errors, and more where repetitions are few."""
    if repetitions < 2 or math.isnan(standard_error):
        return math.nan
    return float(stdtrit(repetitions - 1, 0.975)) * standard_error


def answer(text: str, contrasts: Sequence[float], *, random: bool = True, weak: bool = False) -> Answer:
    """Whether a contrast is positive, negative, or undecided at 95 %; a weak claim holds where it is zero, too.

    Where nothing scatters (``random`` is False, or all repetitions gave one number) the sign itself decides.
    """
    mean, error, n = summarised(contrasts)
    doubt = half_width(error, n) if random else 0.0
    verdict: Verdict = "not decided"
    if math.isnan(mean) or math.isnan(doubt):
        pass
    elif mean - doubt > 0 or (weak and mean - doubt == 0):
        verdict = "holds"
    elif mean + doubt < 0 or doubt == 0:
        verdict = "does not hold"
    return Answer(text, verdict, mean, error, n)


def _number(value: float | None, scale: float, digits: int | None = None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return f"{value:+}"
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


def _number_again(key: str, value: Any) -> Any:
    """A number that was not finite was written as null; only ``printed`` may be None."""
    return math.nan if value is None and key != "printed" else value
