"""Text files as tables: which column labels the rows, and what to say of a cell that holds no number."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from convexnovelty import csv_files, row_labels
from convexnovelty._optional import needed
from convexnovelty.decimal_marks import check_blanks, check_commas, check_learnt, check_points, check_split
from convexnovelty.errors import InputError
from convexnovelty.tables import FileLayout, Table, flag_found, label_column, printable

__all__ = ["Opened", "labelled", "opened", "read_text", "told_label"]

# Digits in groups of three: 1,234.5 and 1.234,5, 1,234,567 and 1.234.567, 1'234 and 1 234,5.
THOUSANDS = re.compile(
    r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:\.\d{3})+,\d*|(?:,\d{3}){2,}|(?:\.\d{3}){2,}|(?:[' \u00a0\u202f]\d{3})+(?:[.,]\d*)?)"
)
APART = re.compile(r'^[^#\n].*(?:(?:"|[^\S\r\n]),|,(?:"|[^\S\r\n]))', re.MULTILINE)  # a comma that is in no number
HASHED = re.compile(r"#\w+")
COUNTED = 20  # rows from which a column that counts upwards is believed to be no accident


@dataclass(frozen=True)
class Opened:
    """What the first rows of a text say: how it is written, its columns, and which of them is no feature."""

    layout: csv_files.Layout
    said: str
    grid: csv_files.Grid
    names: list[str]
    left_out: set[int]
    label: int | None
    told: bool
    remarks: tuple[str, ...] = ()
    first: tuple[str, ...] = ()


def opened(text: str, file: str, how: FileLayout, encoding: str = "") -> Opened:
    """Look at a text, of a large one at the first rows. Raises InputError naming file and line."""
    layout = csv_files.layout_of(text, file, how.separator, how.decimal, how.header)
    rows = _first_lines(text) if len(text) > csv_files.FAST else text
    grid = csv_files.read_grid(rows, file, layout)
    named = set(how.features) <= {printable(cell.strip()) for cell in grid.rows[0]}
    if how.header is None and not layout.header and how.features and named:
        # Numbers, such as name the columns that were learnt from.
        layout = csv_files.layout_of(text, file, how.separator, how.decimal, True)
        grid = csv_files.read_grid(rows, file, layout)
    said = f"{layout}{', ' + encoding if encoding else ''}"
    first = _first_row(grid, layout, how, file)
    unsaid = how.separator is None and how.decimal is None and not layout.header
    split = unsaid and layout.separator == "," and not APART.search(text[: csv_files.FAST])
    remarks = check_split(grid, file, how.mark, bool(how.features)) if split else ()
    if layout.separator == " " and not layout.header and how.separator is None:
        remarks = check_blanks(grid, file)
    if how.decimal is None and how.mark:
        pass  # the rows learnt from have told, and what contradicts them is looked for below
    elif how.decimal is None and layout.decimal == ",":
        check_commas(grid, file)
    elif how.decimal is None and (
        layout.separator != "," or grid.single
    ):  # who separates by commas has a decimal point
        remarks += check_points(grid, file)
    if layout.label_first:
        layout = replace(layout, sure=layout.sure or how.index == "")
        if how.index is None:
            row_labels.check_short(grid, layout, file)
        elif how.index not in ("", "none", grid.names[0]) and grid.names[0] not in how.ignore:
            what = "rows have one cell more than there are names" if layout.short else "the first column has no name"
            raise InputError(
                f"{file}: {what}, and beside --index {how.index!r} it would be a feature; leave it out "
                f"(--ignore {grid.names[0]!r}), or give it a name"
            )
    names = [printable(name) for name in grid.names]
    left_out = {j for j, name in enumerate(names) if name in how.ignore}
    label = label_column(names, how, layout.label_first, file)
    told = label is None and how.index is None
    if told:
        label = told_label(names, partial(_cells, grid), left_out, how)
    if how.decimal is None and how.mark and layout.decimal != how.mark:
        features = [j for j in range(len(names)) if j != label and j not in left_out]
        check_learnt(grid, file, layout.decimal, how.mark, features)
        layout = replace(layout, decimal=how.mark)
        said = f"{layout}{', ' + encoding if encoding else ''}"
    return Opened(layout, said, grid, names, left_out, label, told, remarks, first)


def _first_row(grid: csv_files.Grid, layout: csv_files.Layout, how: FileLayout, file: str) -> tuple[str, ...]:
    """The first row where it was taken for data and yet may name columns: whole numbers, none twice, such as years, or the
    number of an only column.

    Raises InputError where that is likely: where the rows learnt from begin with the same cells, where the numbers
    count evenly and those of no other row do, or where its label is unlike all others.
    """
    if how.header is not None or layout.header:
        return ()
    cells = tuple(cell.strip() for cell in grid.rows[0])
    numbers = [cell for cell in cells if csv_files.number_of(cell, layout.decimal) is not None]
    # One column without a name is written as 0 or 1, over numbers that are not whole.
    alone = cells in (("0",), ("1",)) and not any(row[0].strip().isdecimal() for row in grid.rows[1:])
    # A number beside a label may be the name of an only column.
    labelled = len(numbers) == 1 < len(cells)
    if not alone and not labelled and len(set(numbers)) < max(len(numbers), 2):
        return ()
    if not all(map(str.isdecimal, numbers)) or not numbers:
        return ()
    why = ""
    if sorted(cells) == sorted(how.first):
        why = "so does the table of the rows learnt from"
    elif _evenly(numbers) and not any(_evenly(row) for row in grid.rows[1:]):
        why = "in no other row the numbers count so evenly"
    elif _unlike(grid.rows, layout.decimal):
        why = "it has no label such as those of all other rows"
    if why:
        shown = printable(", ".join(cells), 60)
        raise InputError(
            f"{file}, line {grid.lines[0]}: the first row is {shown!r}, and {why}; give --header yes if these are names of "
            "columns, --header no if they are numbers to judge by"
        )
    # A value that comes again in its column is hardly a name.
    columns = range(len(cells))
    again = all(any(row[j].strip() == cells[j] for row in grid.rows[1:]) for j in columns)
    return () if again else cells


def _unlike(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether labels of all rows but the first are written in one way, with digits, which the first has none of."""
    for first, *others in zip(*rows, strict=False):
        if others and csv_files.number_of(first, decimal) is None and not re.search(r"\d", first):
            written = {re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", cell.strip())) for cell in others}
            if len(written) == 1 and "0" in min(written) and csv_files.number_of(others[0], decimal) is None:
                return True
    return False


def _evenly(cells: Sequence[str]) -> bool:
    """Whether three or more whole numbers of at least three digits have equal steps, as years and wavelengths have."""
    if len(cells) < 3 or not all(cell.strip().isdecimal() and len(cell.strip()) > 2 for cell in cells):
        return False
    steps = {int(b) - int(a) for a, b in pairwise(cells)}
    return len(steps) == 1 and (len(cells) > 4 or steps <= {-1, 1}) and steps != {0}


def read_text(source: Path, how: FileLayout) -> Table:
    """The table in a text file. Raises InputError naming file, line and column."""
    needed("pandas")
    text, encoding = _decoded(source)
    file = str(source)
    head = opened(text, file, how, encoding)
    layout, said, grid, names, left_out = head.layout, head.said, head.grid, head.names, head.left_out
    label, told = head.label, head.told
    if len(text) > csv_files.FAST:
        texts = left_out if label is None else left_out | {label}
        held = [j for j, name in enumerate(names) if name in how.numeric and j not in texts]
        fast = csv_files.fast_values(text, layout, len(names), sorted(texts), numeric=held)
        if fast is not None and (not told or label is None or len(set(fast[1][label])) == len(fast[0])):
            kept = [name for j, name in enumerate(names) if j not in texts]
            fractions = layout.decimal in text and bool((fast[0] % 1 != 0).any())
            table = Table(file, kept, fast[0], fast[2], "line", None, layout=said, ignored=tuple(names))
            table = replace(table, decimal=layout.decimal if fractions else "", remarks=head.remarks, first=head.first)
            return table if label is None else labelled(table, names[label], fast[1][label], told, layout)
        grid = csv_files.read_grid(text, file, layout)
        if told:
            label = told_label(names, partial(_cells, grid), left_out, how)
    kept_columns = [j for j in range(len(names)) if j != label and j not in left_out]
    values = np.empty((len(grid.rows), len(kept_columns)))
    table = Table(
        file,
        [names[j] for j in kept_columns],
        values,
        np.array(grid.lines),
        "line",
        None,
        layout=said,
        ignored=tuple(names),
    )
    for i, row in enumerate(grid.rows):
        for k, j in enumerate(kept_columns):
            found = csv_files.number_of(row[j], layout.decimal)
            if found is None:
                raise InputError(_text_found(table, i, k, grid, names, layout.decimal, how))
            values[i, k] = found
    _check_flags(table, grid, kept_columns, how)
    table = replace(table, remarks=(*head.remarks, *_ended(grid)), first=head.first)
    if any(layout.decimal in row[j].strip(".") for row in grid.rows for j in kept_columns):
        table = replace(table, decimal=layout.decimal)
    return table if label is None else labelled(table, names[label], [row[label] for row in grid.rows], told, layout)


def _ended(grid: csv_files.Grid) -> tuple[str, ...]:
    """What is said of lines below the table that were left out."""
    if not grid.below:
        return ()
    first, last = grid.below[0], grid.below[-1]
    found = "nothing in them" if grid.single else "separators alone"
    if first == last:
        return (f"line {first}, the last, has {found.replace('them', 'it')} and is no row",)
    return (f"{len(grid.below)} lines at the end, {first} to {last}, have {found} and are no rows",)


def _check_flags(table: Table, grid: csv_files.Grid, columns: Sequence[int], how: FileLayout) -> None:
    """Refuse true and false among other numbers than 0 and 1, in this table or in what was learnt from."""
    for k, j in enumerate(columns):
        column = table.values[:, k]
        flags = (column == 0) | (column == 1)
        if table.names[k] not in how.numeric and (flags | np.isnan(column)).all():
            continue
        for i in np.flatnonzero(flags).tolist():
            cell = grid.rows[i][j].strip()
            if cell.isalpha():
                raise flag_found(table.where(i, k), repr(cell))


def labelled(table: Table, name: str, labels: Sequence[str], told: bool, layout: csv_files.Layout) -> Table:
    """The table with a column of labels. Raises InputError for labels without a name that look like measurements."""
    remarks = (row_labels.remark_on(name),) if told else ()
    by = name
    if layout.label_first and csv_files.UNNAMED.fullmatch(name):
        row_labels.check_labels(labels, table.places, layout, table.file)
        remarks = (row_labels.remark_on(name, layout),)
        by = name or (row_labels.BESIDE if layout.short else row_labels.NAMELESS)
    return replace(table, labels=list(labels), labelled_by=by, remarks=(*table.remarks, *remarks))


def _decoded(source: Path) -> tuple[str, str]:
    raw = source.read_bytes()
    if raw[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return raw.decode("utf-32", errors="replace"), "UTF-32"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace"), "UTF-16"
    if b"\0" in raw[:65536]:
        raise InputError(f"{source}: bytes that are no text were found; is it a spreadsheet or packed? save it as CSV")
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "Windows-1252"


def _first_lines(text: str) -> str:
    end = text.rfind("\n", 0, csv_files.FAST)
    return text if end < 0 else text[: end + 1]


def told_label(
    names: Sequence[str], cells_of: Callable[[int], Sequence[str]], left_out: Collection[int], how: FileLayout
) -> int | None:
    """The column that labels rows of a file that was read before; or one that would do harm as a feature.

    That is a column without a value twice that is called like a key, or stands first and holds words or counts upwards.
    """
    if how.label is not None and how.label in names:
        return list(names).index(how.label)
    for j, name in enumerate(names):
        is_key = row_labels.KEY.fullmatch(name)
        if j in left_out or name in how.features or len(names) == 1 or not (is_key or j == 0):
            continue
        cells = cells_of(j)
        if len(set(cells)) == len(cells) and (is_key or all(map(_is_word, cells)) or _counts(cells)):
            return j
    return None


def _cells(grid: csv_files.Grid, j: int) -> list[str]:
    return [row[j] for row in grid.rows]


def _counts(cells: Sequence[str]) -> bool:
    """Whether cells are whole numbers that rise from row to row, as only numbers of rows do."""
    if len(cells) < COUNTED or not all(cell.strip().isdecimal() for cell in cells):
        return False
    return all(int(a) < int(b) for a, b in pairwise(cells))


def _is_word(cell: str) -> bool:
    """Whether a cell is a name: "5,000" or "2 kg" want correcting, and a line break is the trace of an open quote."""
    named = cell[:1].isalpha() or HASHED.fullmatch(cell)
    return bool(named) and "\n" not in cell and csv_files.number_of(cell, ".") is None


def _text_found(
    table: Table, i: int, k: int, grid: csv_files.Grid, names: Sequence[str], decimal: str, how: FileLayout
) -> str:
    name = table.names[k]
    cell = grid.rows[i][names.index(name)].strip()
    texts = [n for n in table.names if _is_text([row[names.index(n)] for row in grid.rows], decimal)]
    if THOUSANDS.fullmatch(cell):
        do = "thousands are separated in it: write the number without, in the whole column"
    elif csv_files.number_of(cell, "," if decimal == "." else ".") is not None:
        other = "point" if decimal == "." else "comma"
        if any(decimal in text and csv_files.number_of(text, decimal) is not None for row in grid.rows for text in row):
            do = f"other cells have a decimal {other}: correct the cell, or give --decimal"
        else:
            do = f"numbers are read with a decimal {other}: write it so, without marks of thousands, or give --decimal"
    elif name in texts:
        flags = " ".join(f"--ignore {text!r}" for text in texts)
        do = f"it is a column of text: leave it out ({flags})"
        if how.knows(name):
            do += f", or label the rows by it (--index {name!r})"
    else:
        do = "write a plain number, or leave the cell empty and use --missing drop"
    return f"{table.where(i, k)}: {cell[:40]!r} was found where a number is needed; {do}"


def _is_text(column: Sequence[str], decimal: str) -> bool:
    return 2 * sum(csv_files.number_of(cell, decimal) is None for cell in column) > len(column)
