"""What ``convexnovelty detect`` says and writes: a report, a file of all rows, a picture."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from convexnovelty import persistence
from convexnovelty._optional import needed
from convexnovelty.detect_arguments import check, reading_of, request_of
from convexnovelty.detection import Model, held_out, learn, load_model, save_model
from convexnovelty.errors import InputError
from convexnovelty.explanation import drivers, legend
from convexnovelty.pieces import Piece, Whole, pieces
from convexnovelty.tables import FileLayout, Table, filled, listed, matched, printable, read_table
from convexnovelty.validation import Array

__all__ = ["Counts", "Findings", "count_of", "csv_text", "gaps_filled", "rows_read", "run", "sets_apart", "told"]

USEFUL = 0.2  # a bound above which a reader is told of a smaller one
LONGEST = 2000  # characters of a line; text of a model file is shown without what would steer a terminal


def told(scores: Array) -> Array:
    """Scores without what is rounding: beyond the reach of a kernel all are the same but for that."""
    return np.array([float(f"{score:.10g}") for score in scores])


@dataclass(frozen=True)
class Counts:
    """What is said of all rows: how many have a score, how many are novel, how many share the lowest score but for rounding."""

    judged: int
    novel: int
    tied: int


@dataclass(frozen=True)
class Findings:
    """Scores of all rows of a table, NaN for rows that were left out, and the model they come from.

    Of a table that was read in pieces only the most novel rows are here, with the ``counts`` of all, and for a picture
    all scores as ``drawn``.
    """

    model: Model
    table: Table = field(repr=False)
    scores: Array = field(repr=False)
    remarks: tuple[tuple[str, str], ...] = ()
    counts: Counts | None = None
    drawn: Array | None = field(default=None, repr=False)

    @property
    def judged(self) -> int:
        """How many rows have a score."""
        return int(np.isfinite(self.scores).sum()) if self.counts is None else self.counts.judged

    @property
    def novel(self) -> Any:
        """Whether each row is novel, of shape (m,)."""
        return self.scores < 0

    @property
    def most_novel(self) -> Any:
        """Rows with a score by their score, the lowest first; of those whose scores are the same but for rounding, the
        farthest from the mean of the training rows first."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.linalg.norm((self.table.values - self.model.centre) / self.model.units, axis=1)
        return np.lexsort((-far, self._told))[: self.judged]

    @cached_property
    def _told(self) -> Array:
        return told(self.scores)

    def text(self, top: int = 10, *, width: int = 170, colour: bool = False) -> str:
        """The report: what was read, what was learnt and why, what is guaranteed, which rows are novel."""
        from rich.console import Console
        from rich.text import Text

        console = Console(width=width, force_terminal=colour, no_color=not colour, highlight=False)
        with console.capture() as captured:
            for word, said in [*self.remarks, *self._summary()]:
                line = Text(f"{word:<11}", style="bold")
                line.append(printable(said, LONGEST), style="not bold")
                console.print(line, soft_wrap=True)
            if top and self.judged:
                console.print()
                console.print(self._table(top))
                console.print(Text(f"\n{legend(self.model)}", style="dim"))
        return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"

    def _summary(self) -> list[tuple[str, str]]:
        model, counts = self.model, self.counts
        if counts is None:
            tied = int((self._told == np.nanmin(self._told)).sum()) if self.judged else 0
            counts = Counts(self.judged, int(self.novel.sum()), tied)
        found, tied = counts.novel, counts.tied
        outside, n = int((model.training_scores < 0).sum()), model.training_scores.size
        units = " (columns in units of their standard deviation)" if (model.units != 1).any() else ""
        return [
            ("method", f"{model.method}, {model.settings}{units}"),
            ("kernel", f"{model.kernel or 'none'}: {model.why}"),
            ("guarantee", str(model.detector.guarantee_ or "none is stated by this method")),
            *(("", hint) for hint in self._hints()),
            ("training", f"{outside} of {n} training rows ({outside / n:.1%}) are outside"),
            (
                "result",
                f"{found} of {self.judged} rows of {self.table.file} ({found / max(1, self.judged):.1%}) are novel",
            ),
            *([("", f"{tied} rows share the lowest score; the farthest from the mean come first")] if tied > 1 else []),
        ]

    def _hints(self) -> list[str]:
        """What a reader of the guarantee may take it for, and what would say more."""
        guarantee, taken = self.model.detector.guarantee_, self.model.detector.get_params()
        found: list[str] = []
        if guarantee is None:
            return found
        if "covariance" in guarantee and self.model.kernel not in ("", "linear"):
            found.append("mean and covariance are those of the kernel's features, not of the columns")
        if guarantee.bound > USEFUL and taken.get("false_alarm_rate", 1.0) is None:
            found.append("a smaller bound, on false alarms of held-out rows: --calibrate 0.05")
        return found

    def _table(self, top: int) -> Any:
        from rich.table import Table as Grid
        from rich.text import Text

        rows = self.most_novel[:top]
        reasons = [drivers(self.model, self.table.values[i]) for i in rows]
        near = any(nearest for _, nearest in reasons)
        grid = Grid(box=None, pad_edge=False, header_style="bold")
        grid.add_column("row", overflow="fold")
        grid.add_column("score", justify="right", no_wrap=True)
        grid.add_column("verdict", no_wrap=True)
        grid.add_column("features that drive it", overflow="fold", ratio=2 if near else None)
        if near:
            grid.add_column("nearest ordinary rows of training", overflow="fold", ratio=1)
        for i, (reason, nearest) in zip(rows, reasons, strict=True):
            verdict = Text("novel", style="red") if self.novel[i] else Text("ordinary", style="green")
            texts = [Text(printable(text, LONGEST)) for text in (reason, nearest)]
            cells = [Text(self.table.label(int(i))), Text(f"{self.scores[i]:.4g}"), verdict]
            grid.add_row(*cells, *(texts if near else texts[:1]))
        return grid

    def frame(self) -> Any:
        """All rows with place, label, score and verdict."""
        pandas = needed("pandas")
        verdicts = np.where(self.novel, "novel", np.where(np.isfinite(self.scores), "ordinary", "not judged"))
        columns: dict[str, Any] = {self.table.place: self.table.places}
        if self.table.labels is not None:
            columns["label"] = self.table.labels
        return pandas.DataFrame({**columns, "score": self.scores, "verdict": verdicts})

    def write(self, path: Path, *, overwrite: bool = False) -> None:
        """The frame of all rows, as CSV or Parquet by the name's ending."""
        frame = self.frame()
        if path.suffix.lower() == ".parquet":
            needed("pyarrow")
        with persistence.written(path, overwrite=overwrite) as file:
            if path.suffix.lower() == ".parquet":
                frame.to_parquet(file, index=False)
            else:
                file.write(csv_text(frame).encode("utf-8"))

    def draw(self, path: Path, *, overwrite: bool = False) -> None:
        """A histogram of the scores of training and new rows with the threshold, as PNG, SVG or PDF."""
        from convexnovelty.plots._style import DASHES, INK, PALETTE

        figure = needed("matplotlib.figure", "plot").Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        scores = self.scores if self.drawn is None else self.drawn
        new = scores[np.isfinite(scores)]
        edges = np.histogram_bin_edges(np.concatenate([self.model.training_scores, new]), bins=40)
        for k, (values, name) in enumerate(((self.model.training_scores, "training"), (new, "new"))):
            weights = np.full(values.size, 1 / max(1, values.size))
            axes.hist(
                values, edges, weights=weights, color=PALETTE[k], alpha=0.55, label=f"{name} ({values.size} rows)"
            )
        axes.axvline(0.0, color=INK, linestyle=DASHES[1], label="threshold: novel to the left")
        axes.set(
            xlabel="score", ylabel="share of rows", title=f"{self.model.method}, {self.model.kernel or 'no'} kernel"
        )
        axes.legend(frameon=False)
        with persistence.written(path, overwrite=overwrite) as file:
            figure.savefig(file, format=path.suffix.lower()[1:])


def csv_text(frame: Any, header: bool = True) -> str:
    """A frame of :meth:`Findings.frame` as CSV. A lone carriage return is quoted too, which not every csv writer does."""
    odd = "label" in frame and any("\r" in label for label in frame["label"])
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    return str(frame.to_csv(index=False, header=header, lineterminator="\n", quoting=quoting))


def run(arguments: argparse.Namespace, progress: Callable[[str], None] | None = None) -> Findings:
    """What the command does, from its arguments: read, learn or load, judge, write."""
    say = progress or (lambda text: None)
    files = [Path(name) for name in arguments.files]
    check(arguments, files)
    reading = reading_of(arguments)
    remarks: list[tuple[str, str]] = []
    model = load_model(arguments.model, max_mb=arguments.max_mb) if arguments.model else None
    tables: list[Table] = []
    if model is None:
        tables.append(_read(files[0], reading, remarks, say))
    learnt, names = (model.learnt, model.names) if model else (tables[0].file, tables[0].names)
    labelled_by = (model or tables[0]).labelled_by
    numeric = model.numeric if model else tables[0].numeric
    mark = (model or tables[0]).decimal
    reading = replace(reading, label=labelled_by or None, features=tuple(names), numeric=tuple(numeric), mark=mark)
    reading = replace(reading, first=tables[0].first if tables else ())
    if model is not None:
        remarks.insert(0, ("model", f"{arguments.model}, learnt from {model.learnt}"))
    try:
        # What is wrong with the new rows is said before minutes of learning, of a large file with the first of them.
        found = pieces(files[-1], reading)
        first = next(found, None)
        if first is None:
            raise Whole
        _all_ignored(arguments.ignore, [*tables, first.table])
        matched(first.table, names, learnt)
    except Whole:
        return _whole(arguments, files[-1], reading, tables, model, remarks, say)
    if model is None:
        complete, means, _ = _learnable(tables[0], arguments, remarks)
        tables[0] = tables[0].taken(slice(0, 0))  # the rows are not needed beside a large table
        model = learn(complete, request_of(arguments), means=means, progress=say)
        del complete
    try:
        return _in_pieces(arguments, model, chain([first], found), learnt, remarks, say)
    except Whole:
        return _whole(arguments, files[-1], reading, tables, model, remarks, say)


def _in_pieces(
    arguments: argparse.Namespace,
    model: Model,
    found: Iterator[Piece],
    learnt: str,
    remarks: list[tuple[str, str]],
    say: Callable[[str], None],
) -> Findings:
    """Judge a large table, of which one piece is in memory at a time; what is written appears at the end, or not at all."""
    from convexnovelty.judging import judged_pieces, records_of

    with ExitStack() as stack:
        records = records_of(arguments.out, arguments.force, stack)
        findings, said = judged_pieces(
            model,
            found,
            learnt,
            missing=arguments.missing,
            top=arguments.top,
            records=records,
            all_scores=bool(arguments.plot),
            say=say,
        )
        # As of a table that is read whole: files first, then what was left out of them.
        reads = [entry for entry in remarks if entry[0] != "missing"] + [e for e in said if e[0] != "missing"]
        gaps = [entry for entry in [*remarks, *said] if entry[0] == "missing"]
        findings = replace(findings, remarks=(*reads, *gaps))
        if arguments.save:
            save_model(model, arguments.save, overwrite=arguments.force)
    if arguments.plot:
        findings.draw(Path(arguments.plot), overwrite=arguments.force)
    return findings


def _whole(
    arguments: argparse.Namespace,
    file: Path,
    reading: FileLayout,
    tables: list[Table],
    model: Model | None,
    remarks: list[tuple[str, str]],
    say: Callable[[str], None],
) -> Findings:
    """Judge a table that is read at once; the training table is the first of ``tables`` unless the model is learnt."""
    trained = [entry for entry in remarks if entry[0] == "missing"]
    remarks = [entry for entry in remarks if entry[0] != "missing"]
    new = _read(file, reading, remarks, say)
    _all_ignored(arguments.ignore, [*tables, new])
    new = matched(new, *((tables[0].names, tables[0].file) if model is None else (model.names, model.learnt)))
    if model is None:
        complete, means, held = _learnable(tables[0], arguments, trained)
    else:
        complete, means, held = new, model.means, sets_apart(model)
    remarks += trained
    judged, kept = _complete(new, arguments.missing, means, remarks, held)
    if model is None:
        model = learn(complete, request_of(arguments), means=means, progress=say)
    say(f"judging {len(judged.values)} rows")
    scores = np.full(len(new.values), np.nan)
    scores[kept] = model.scores(judged.values)
    for i in np.flatnonzero(kept & ~np.isfinite(scores))[:1]:
        raise InputError(f"{new.where(i)}: too far from the training rows for a score; look for a slip in its numbers")
    full = new if len(judged.values) < len(new.values) else judged
    findings = Findings(model, full, scores, tuple(remarks))
    if arguments.save:
        save_model(model, arguments.save, overwrite=arguments.force)
    if arguments.out:
        findings.write(Path(arguments.out), overwrite=arguments.force)
    if arguments.plot:
        findings.draw(Path(arguments.plot), overwrite=arguments.force)
    return findings


def _all_ignored(names: list[str], tables: list[Table]) -> None:
    found = {name for table in tables for name in table.ignored}
    for name in names:
        if name not in found:
            raise InputError(f"--ignore: no column is called {name!r}; found are {listed(tables[0].names)}")


def _read(file: Path, reading: FileLayout, remarks: list[tuple[str, str]], say: Callable[[str], None]) -> Table:
    say(f"reading {file}")
    table = read_table(file, reading)
    remarks.extend(rows_read(table, len(table.values)))
    return table


def rows_read(table: Table, rows: int) -> list[tuple[str, str]]:
    """What is said of a table once it is read."""
    layout = f" ({table.layout})" if table.layout else ""
    size = f"{count_of(rows, 'row')}, {count_of(len(table.names), 'column')}"
    return [("read", f"{table.file}: {size}{layout}"), *(("", f"{table.file}: {said}") for said in table.remarks)]


def _means(values: Array) -> Array:
    counts = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    return np.asarray(np.nansum(values, axis=0) / counts)


def _learnable(
    table: Table, arguments: argparse.Namespace, remarks: list[tuple[str, str]]
) -> tuple[Table, Array, bool]:
    """The training table without gaps, the means that fill gaps of new rows, and whether rows are held out.

    They are means of the rows that are learnt from alone. A held-out row whose own value is part of what fills a gap is
    no longer exchangeable with a new row, and on that the bound on false alarms rests.
    """
    request, gaps, missing = request_of(arguments), np.isnan(table.values), arguments.missing
    rows = ~gaps.any(axis=1) if missing == "drop" else np.ones(len(gaps), dtype=bool)
    apart = np.zeros(len(gaps), dtype=bool)
    if missing != "error" or not gaps.any():
        apart[rows] = held_out(request, int(rows.sum()))
    everywhere = gaps.all(axis=0)
    empty = gaps[~apart].all(axis=0) & ~everywhere
    if missing == "mean" and empty.any():
        name = table.names[int(np.flatnonzero(empty)[0])]
        raise InputError(
            f"{table.file}: column {name!r} has no value in the rows that are not held out to set the threshold, and "
            f"so no mean; leave it out (--ignore {name!r}), or give another --seed"
        )
    means, held = _means(table.values[~apart]), bool(apart.any())
    fill = means if held and not everywhere.any() else None  # a column without any value is refused there
    return _complete(table, missing, fill, remarks, held)[0], means, held


def sets_apart(model: Model) -> bool:
    """Whether some training rows only set the threshold of a model."""
    taken = model.detector.get_params()
    return any(taken.get(rate) is not None for rate in ("false_alarm_rate", "false_positive_rate"))


def gaps_filled(file: str, gaps: int, held: bool) -> tuple[str, str]:
    """What is said of gaps that were filled."""
    which = " that are not held out" if held else ""
    return "missing", f"{file}: {count_of(gaps, 'gap')} filled with means of the training rows{which}"


def _complete(
    table: Table, missing: str, means: Array | None, remarks: list[tuple[str, str]], held: bool
) -> tuple[Table, Any]:
    gaps = int(np.isnan(table.values).sum())
    complete, kept = filled(table, missing, means)
    if gaps and missing == "drop":
        remarks.append(("missing", f"{table.file}: {count_of(int((~kept).sum()), 'row')} with gaps left out"))
    elif gaps:
        remarks.append(gaps_filled(table.file, gaps, held))
    return complete, kept


def count_of(number: int, word: str) -> str:
    """A number of things in words."""
    return f"{number} {word}{'' if number == 1 else 's'}"
