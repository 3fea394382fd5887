"""Tables of numbers from CSV, Parquet and NPZ files, with errors that name file, line and column.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder, "pumps.csv")
...     _ = path.write_text("pump;pressure;flow\\nA1;1,5;20\\nA2;1,7;22\\n")
...     table = read_table(path, FileLayout(index="pump"))
>>> table.names, table.values.tolist(), table.label(1)
(['pressure', 'flow'], [[1.5, 20.0], [1.7, 22.0]], 'A2 (line 3)')
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.validation import Array

if TYPE_CHECKING:
    from convexnovelty.array_files import Stored

__all__ = [
    "FileLayout",
    "Table",
    "array_table",
    "checked",
    "filled",
    "flag_found",
    "gap_found",
    "label_column",
    "limit",
    "listed",
    "matched",
    "printable",
    "read_table",
]

TEXT = (".csv", ".tsv", ".txt", ".dat", ".data")
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class FileLayout:
    """How files are read; None means that the file itself tells.

    ``index`` is the column that labels rows ("none" for no such column), ``ignore`` are columns to leave out, ``array``
    is the array of an NPZ file, and ``max_mb`` limits the size of a file, and of its content once it is unpacked.
    ``label`` and ``features`` are what was found in a file before: which column labels rows, where nothing else is said,
    and which do not; ``numeric`` are those that held other numbers than 0 and 1, ``mark`` is the decimal mark that
    was seen, and ``first`` is a first row that may have been one of names.
    """

    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    index: str | None = None
    ignore: tuple[str, ...] = ()
    array: str | None = None
    max_mb: float = 2048.0
    label: str | None = None
    features: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    mark: str = ""
    first: tuple[str, ...] = ()

    def knows(self, name: str) -> bool:
        """Whether every table may have this column: the rows learnt from have it, or are being read."""
        return not self.features or name in self.features or name == self.label


@dataclass(frozen=True)
class Table:
    """Numbers of shape (n, p) with NaN for gaps, names of columns, and where each row stands in its file.

    ``decimal`` is the decimal mark that its numbers show, or "" where none of them has one. ``first`` are the cells of
    the first row where they were taken for data and may be names, if another table begins with them too.
    """

    file: str
    names: list[str]
    values: Array = field(repr=False)
    places: Any = field(repr=False)
    place: str = "row"
    labels: list[str] | None = field(default=None, repr=False)
    labelled_by: str = ""
    layout: str = ""
    remarks: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    decimal: str = ""
    first: tuple[str, ...] = ()

    def where(self, i: int, j: int | None = None) -> str:
        """File, line and column of a cell, as messages name them."""
        column = "" if j is None else f", column {self.names[j]!r}"
        return f"{self.file}, {self.place} {self.places[i]}{column}"

    @property
    def numeric(self) -> list[str]:
        """The columns in which other numbers than 0 and 1 are."""
        flags = np.isnan(self.values) | (self.values == 0) | (self.values == 1)
        return [name for name, other in zip(self.names, ~flags.all(axis=0), strict=True) if other]

    def label(self, i: int) -> str:
        """What a reader finds row i by, fit to be shown; ``labels`` are those of the file to the letter."""
        place = f"{self.place} {self.places[i]}"
        return f"{printable(self.labels[i])} ({place})" if self.labels and self.labels[i] else place

    def taken(self, rows: Any) -> Table:
        """The table of some rows."""
        index = np.arange(len(self.values))[rows]
        labels = None if self.labels is None else [self.labels[i] for i in index]
        return replace(self, values=self.values[index], places=self.places[index], labels=labels)


def read_table(path: str | Path, reading: FileLayout | None = None) -> Table:
    """Read a table of numbers; the format is told by the ending of the name.

    Raises InputError naming file, line and column for text where a number is needed and for infinite values, for rows
    of uneven length, repeated names, and files larger than allowed. Gaps become NaN: see :func:`filled`.
    """
    source, how = Path(path), reading or FileLayout()
    kind = source.suffix.lower()
    if kind not in (*TEXT, *PARQUET, ".npz"):
        raise InputError(
            f"{source}: a name ending in {kind or 'nothing'!r} was found; give a file of type .csv, .tsv, .txt, "
            ".parquet or .npz (save a spreadsheet as CSV, unpack a packed file)"
        )
    try:
        size = source.stat().st_size
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror}); check the name and the folder") from error
    limit(source, size, how.max_mb, "in the file")
    try:
        if kind in TEXT:
            from convexnovelty.text_tables import read_text

            table = read_text(source, how)
        else:
            table = _read_arrays(source, how, kind)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or error})") from error
    return checked(table, how)


def checked(table: Table, how: FileLayout) -> Table:
    """A table as it was read, or a piece of one. Raises InputError for names that occur twice and infinite values."""
    from convexnovelty.row_labels import BESIDE, refused_short

    table = replace(table, ignored=tuple(name for name in how.ignore if name in table.ignored))
    if how.features and how.index is None:  # what was learnt from is known
        if table.labelled_by == BESIDE and how.label is None:
            raise refused_short(table.file, "the rows learnt from have no labels")
        if table.labels is None and how.label == BESIDE:
            raise refused_short("the rows learnt from", f"those of {table.file} have no labels")
    twice = sorted({name for name in table.names if table.names.count(name) > 1})
    if twice:
        raise InputError(
            f"{table.file}: columns {', '.join(map(repr, twice))} occur more than once; give each its own name"
        )
    if not table.names:
        raise InputError(f"{table.file}: no column of numbers is left; check --index and --ignore")
    bad = np.argwhere(np.isinf(table.values))
    if bad.size:
        i, j = bad[0]
        raise InputError(f"{table.where(i, j)}: an infinite value was found; correct it, or leave the cell empty")
    return table


def limit(source: Path, size: float, max_mb: float, what: str) -> None:
    """Raise InputError for a file that is larger than allowed."""
    if size > max_mb * 1024**2:
        raise InputError(f"{source}: {size / 1024**2:.0f} MB {what}, more than {max_mb:g}; raise --max-mb to read it")


def _read_arrays(source: Path, how: FileLayout, kind: str) -> Table:
    from convexnovelty import array_files

    read = array_files.read_npz if kind == ".npz" else array_files.read_parquet
    try:
        names, columns, stored = read(source, how.array, lambda size: limit(source, size, how.max_mb, "when unpacked"))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ConvexNoveltyError):
            raise
        raise InputError(f"{source}: is no {kind} file that can be read ({str(error)[:120]})") from error
    return array_table(source, how, names, columns, stored, 0)


def array_table(
    source: Path, how: FileLayout, names: list[str], columns: list[Any], stored: Stored | None, before: int
) -> Table:
    """A table of columns, of which ``before`` rows came before. Raises InputError naming a cell that is no number."""
    from convexnovelty import array_files
    from convexnovelty.row_labels import remark_on
    from convexnovelty.text_tables import told_label

    names = [printable(n) for n in names]
    by, labels = ("", None) if stored is None else (printable(stored[0]), stored[1])
    label: int | None = None
    remarks: tuple[str, ...] = ()
    if labels is None or how.index not in (None, by):
        label = label_column([*names, by] if by else names, how, False, str(source))
        if label is None and how.index is None:
            left_out = {j for j, name in enumerate(names) if name in how.ignore}
            label = told_label(names, lambda j: array_files.labels_of(columns[j]), left_out, how)
            remarks = () if label is None else (remark_on(names[label]),)
        by, labels = ("", None) if label is None else (names[label], array_files.labels_of(columns[label]))
    elif how.index is None:
        remarks = (f"the index in the file{f', {by!r},' if by else ''} labels the rows (--index none leaves it out)",)
    kept = [j for j in range(len(names)) if j != label and names[j] not in how.ignore]
    n = len(columns[0]) if columns else 0
    if n == 0:
        raise InputError(f"{source}: no row was found; give a file with numbers in it")
    values, places = np.empty((n, len(kept))), np.arange(before + 1, before + n + 1)
    table = Table(
        str(source), [names[j] for j in kept], values, places, "row", labels, by, remarks=remarks, ignored=tuple(names)
    )
    for k, j in enumerate(kept):
        table.values[:, k] = array_files.numbers(
            columns[j], partial(table.where, j=k), names[j], label=how.knows(names[j])
        )
        if names[j] in how.numeric and array_files.has_flags(columns[j]):
            raise flag_found(f"{source}, column {names[j]!r}", "true or false")
    return table


def label_column(names: Sequence[str], how: FileLayout, label_first: bool, file: str) -> int | None:
    """The position of the column that labels rows. Raises InputError for a name that no column has."""
    if how.index is None:
        return 0 if label_first else None
    if how.index in names:
        return list(names).index(how.index)
    if how.index != "none":
        raise InputError(f"{file}: no column is called {how.index!r} (--index); found are {listed(names)}")
    return None


def matched(table: Table, names: Sequence[str], learnt: str) -> Table:
    """The columns of a table in the order of ``names``. Raises InputError naming columns that are missing or extra."""
    missing = [name for name in names if name not in table.names]
    extra = [name for name in table.names if name not in names]
    parts = [f"missing {listed(missing)}"] * bool(missing) + [f"extra {listed(extra)} (--ignore leaves out)"] * bool(
        extra
    )
    if parts:
        raise InputError(f"{table.file}: columns are matched by name with {learnt}: {'; '.join(parts)}")
    return replace(table, names=list(names), values=table.values[:, [table.names.index(name) for name in names]])


def filled(table: Table, missing: str, means: Array | None = None) -> tuple[Table, NDArray[np.bool_]]:
    """The table without gaps, and the mask of the rows that are kept.

    ``missing`` is "error" to refuse gaps, "drop" to leave out rows with gaps, "mean" to fill them with ``means``, or
    with the means of the columns of the table itself.
    """
    gaps = np.isnan(table.values)
    kept: NDArray[np.bool_] = np.ones(len(table.values), dtype=bool)
    if not gaps.any():
        return table, kept
    i, j = np.argwhere(gaps)[0]
    if missing == "drop":
        kept = np.asarray(~gaps.any(axis=1))
        if not kept.any():
            raise InputError(f"{table.file}: every row has a gap, so --missing drop leaves none; try --missing mean")
        return table.taken(kept), kept
    if missing == "mean":
        empty = gaps.all(axis=0)
        if means is None and empty.any():
            column = table.names[int(np.flatnonzero(empty)[0])]
            raise InputError(
                f"{table.file}: column {column!r} is empty and has no mean; leave it out (--ignore {column!r})"
            )
        centre = np.nanmean(table.values, axis=0) if means is None else means
        return replace(table, values=np.where(gaps, centre, table.values)), kept
    raise gap_found(table.where(i, j), int(gaps.sum()), int(gaps.any(axis=1).sum()))


def gap_found(where: str, gaps: int, rows: int) -> InputError:
    """The error for gaps that nobody said what to do with."""
    return InputError(
        f"{where}: a value is missing, of {gaps} in {rows} rows; fill the gap, or give --missing drop or --missing mean"
    )


def flag_found(where: str, cell: str) -> InputError:
    """The error for true or false in a column of numbers, where it is hardly one or zero."""
    return InputError(f"{where}: {cell} was found in a column of numbers; write a number, or leave the cell empty")


def listed(names: Sequence[str]) -> str:
    """The first names of a list, as messages show them."""
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def printable(text: str, longest: int = 200) -> str:
    """Text from a file as it may be shown: no control characters, which would steer a terminal."""
    if text.isprintable():
        return text[:longest]
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)[:longest]
