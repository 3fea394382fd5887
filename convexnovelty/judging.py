"""Verdicts on a table of which one piece is in memory at a time: counts, the most novel rows, and a file of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from convexnovelty._optional import needed
from convexnovelty.detection import Model
from convexnovelty.errors import InputError
from convexnovelty.findings import Counts, Findings, count_of, csv_text, gaps_filled, rows_read, sets_apart, told
from convexnovelty.pieces import Piece
from convexnovelty.tables import Table, gap_found, matched
from convexnovelty.validation import Array

__all__ = ["Records", "judged_pieces", "records_of"]

NEAR = 1e-8  # relative; scores that are told to ten digits and look the same differ by less


class Records:
    """All rows with place, label, score and verdict, written piece by piece as CSV or Parquet."""

    def __init__(self, file: IO[bytes], ending: str, stack: ExitStack) -> None:
        self.file, self.ending, self.stack = file, ending, stack
        self.writer: Any = None
        self.begun = False

    def add(self, frame: Any) -> None:
        """Write the rows of a frame below those that are there."""
        if self.ending == ".parquet":
            arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
            table = arrow.Table.from_pandas(frame, preserve_index=False)
            if self.writer is None:
                self.writer = self.stack.enter_context(parquet.ParquetWriter(self.file, table.schema))
            self.writer.write_table(table)
        else:
            self.file.write(csv_text(frame, header=not self.begun).encode("utf-8"))
        self.begun = True


class _Tally:
    """What is kept of all pieces: counts, the most novel rows, and, for a picture alone, the scores."""

    def __init__(self, model: Model, top: int, all_scores: bool) -> None:
        self.model, self.top = model, top
        self.rows = self.judged = self.novel = self.gaps = self.gap_rows = self.tied = 0
        self.lowest = float("inf")
        self.first_gap = ""
        self.best: tuple[Table, Array] | None = None
        self.scores: list[Array] | None = [] if all_scores else None

    def add(self, table: Table, scores: Array) -> None:
        self.rows += len(scores)
        found = scores[np.isfinite(scores)]
        if self.scores is not None:
            self.scores.append(scores)
        if not found.size:
            return
        self.judged += found.size
        self.novel += int((found < 0).sum())
        # Leaving out the last digits keeps the order, so only scores near the lowest can look like it.
        shown = told(found[found <= _above(found.min())])
        if shown.min() < self.lowest:
            self.lowest, self.tied = float(shown.min()), 0
        self.tied += int((shown == self.lowest).sum())
        if not self.top:
            return
        if found.size > self.top:
            limit = _above(np.partition(found, self.top - 1)[self.top - 1])
        else:
            limit = float(found.max())
        near = np.flatnonzero(scores <= limit)
        some, values = table.taken(near), scores[near]
        if self.best is not None:
            some, values = _joined(self.best[0], some), np.concatenate([self.best[1], values])
        order = Findings(self.model, some, values).most_novel[: self.top]
        self.best = some.taken(order), values[order]


def judged_pieces(
    model: Model,
    found: Iterable[Piece],
    learnt: str,
    *,
    missing: str,
    top: int,
    records: Records | None,
    all_scores: bool,
    say: Callable[[str], None],
) -> tuple[Findings, list[tuple[str, str]]]:
    """Score the pieces of a table: what a report says of the whole, and the remarks on how it was read.

    Raises InputError as the reading of the whole does.
    """
    tally, shell = _Tally(model, top, all_scores), None
    for piece in found:
        shell = replace(piece.table, values=piece.table.values[:0], places=piece.table.places[:0], labels=None)
        table = matched(piece.table, model.names, learnt)
        gaps = np.isnan(table.values)
        kept: Any = ~gaps.any(axis=1)
        if not kept.all():
            if not tally.gaps:
                i, j = np.argwhere(gaps)[0]
                tally.first_gap = table.where(i, j)
            tally.gaps += int(gaps.sum())
            tally.gap_rows += int((~kept).sum())
            if missing == "error":
                continue  # the rest is only counted, for the error to say how much there is to mend
            if missing == "mean":
                table, kept = replace(table, values=np.where(gaps, model.means, table.values)), np.ones_like(kept)
        if tally.gaps and missing == "error":
            continue
        scores = np.full(len(kept), np.nan)
        if kept.any():
            scores[kept] = model.scores(table.values[kept])
        for i in np.flatnonzero(kept & ~np.isfinite(scores))[:1]:
            raise InputError(
                f"{table.where(i)}: too far from the training rows for a score; look for a slip in its numbers"
            )
        if records is not None:
            records.add(Findings(model, table, scores).frame())
        tally.add(table, scores)
        say(f"judging {table.file}: {tally.rows} rows, {piece.share:.0%}")
    if shell is None:
        raise InputError("NEW: no row was found; give a file with numbers in it")
    return _findings(tally, shell, missing)


def _findings(tally: _Tally, shell: Table, missing: str) -> tuple[Findings, list[tuple[str, str]]]:
    if tally.gaps and missing == "error":
        raise gap_found(tally.first_gap, tally.gaps, tally.gap_rows)
    if not tally.judged:
        raise InputError(f"{shell.file}: every row has a gap, so --missing drop leaves none; try --missing mean")
    remarks = rows_read(shell, tally.rows)
    if tally.gaps and missing == "drop":
        remarks.append(("missing", f"{shell.file}: {count_of(tally.gap_rows, 'row')} with gaps left out"))
    elif tally.gaps:
        remarks.append(gaps_filled(shell.file, tally.gaps, sets_apart(tally.model)))
    table, scores = tally.best or (shell, np.zeros(0))
    counts = Counts(tally.judged, tally.novel, tally.tied)
    drawn = None if tally.scores is None else np.concatenate(tally.scores)
    return Findings(tally.model, table, scores, counts=counts, drawn=drawn), remarks


def _above(score: float) -> float:
    """A score that no other exceeds which is told as this one is."""
    return float(score + NEAR * abs(score))


def _joined(first: Table, second: Table) -> Table:
    labels = None if first.labels is None or second.labels is None else [*first.labels, *second.labels]
    return replace(
        first,
        values=np.vstack([first.values, second.values]),
        places=np.concatenate([first.places, second.places]),
        labels=labels,
    )


def records_of(path: str | None, overwrite: bool, stack: ExitStack) -> Records | None:
    """The file of all rows, which appears under its name when the stack is left without an error."""
    from convexnovelty import persistence

    if not path:
        return None
    needed("pandas")
    file = stack.enter_context(persistence.written(path, overwrite=overwrite))
    return Records(file, Path(path).suffix.lower(), stack)
