"""Labels of rows without a name: told from measurements, which a comma between digits may have put in their place.

Spreadsheets, pandas and R write such labels. A row with one cell more than there are names is written the same way
where a decimal comma, or one between thousands, was taken for a separator, and then every value is in the next column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from convexnovelty.csv_files import Grid, Layout, number_of
from convexnovelty.decimal_marks import PADDED
from convexnovelty.errors import InputError

__all__ = ["BESIDE", "KEY", "NAMELESS", "check_labels", "check_short", "refused_short", "remark_on"]

#: What stands for the name of labels that have none: cells beside those with names, or a column whose name is empty.
BESIDE, NAMELESS = "cells without a name", "first column without a name"
KEY = re.compile(r"(?i:(?:.*[ _-])?(?:id|index|idx|row|rowid|no|nr|key|uuid))|.*[a-z]I[dD]|__index_level_\d+__")


def remark_on(name: str, layout: Layout | None = None) -> str:
    """What is said of labels for which no name was given."""
    if layout is not None and layout.short:
        return (
            "rows have one cell more than there are names: the first labels the row (--index none makes it a feature)"
        )
    what = f"column {name!r}" if name else "the first column, which has no name,"
    return f"{what} labels the rows (--index none makes it a feature)"


def check_short(grid: Grid, layout: Layout, file: str) -> None:
    """Refuse rows with a cell too many whose other cells speak against a label: digits from behind a comma, or a key."""
    if not layout.short or layout.sure:
        return
    for line, row in zip(grid.lines, grid.rows, strict=True):
        for cell in row[1:]:
            if PADDED.fullmatch(cell.strip()):
                raise refused_short(file, f"line {line} has {cell.strip()!r}, as behind a comma between digits")
    if len(grid.names) > 1 and KEY.fullmatch(grid.names[1]) and all(_is_number(row[0]) for row in grid.rows):
        raise refused_short(file, f"{grid.names[1]!r} is the name of labels already")


def check_labels(labels: Sequence[str], lines: Sequence[int], layout: Layout, file: str) -> None:
    """Refuse labels that look like measurements. Raises InputError with the first line that tells.

    Numbers are labels where they are whole; in cells beside those with names only if they rise from row to row too.
    """
    if layout.sure:
        return
    cells = [label.strip() for label in labels]
    numbers = [i for i, cell in enumerate(cells) if _is_number(cell)]
    odd = [i for i in (range(len(cells)) if layout.short and numbers else numbers) if not cells[i].isdecimal()]
    if odd:
        found = f"line {lines[odd[0]]} has {cells[odd[0]][:40]!r}"
        if layout.short:
            raise refused_short(file, f"{found}, no whole number")
        raise InputError(
            f"{file}: the first column has no name and would label the rows, but {found}, which looks like a "
            "measurement; give --index none to make it a feature, --index '' if these are labels, or a name"
        )
    if layout.short and numbers:
        for i, (a, b) in enumerate(pairwise(cells)):
            if int(a) >= int(b):
                raise refused_short(file, f"{b!r} follows {a!r} in line {lines[i + 1]}, as in measurements")


def refused_short(file: str, why: str) -> InputError:
    """The error for rows with one cell more than there are names, where that cell is no label for certain."""
    return InputError(
        f"{file}: rows have one cell more than there are names, and the first would label them, but {why}; was a comma "
        "between digits taken for a separator? write numbers without, or, if it is a label, name its column"
    )


def _is_number(cell: str) -> bool:
    found = [number_of(cell, mark) for mark in ".,"]
    return any(value is not None and value == value for value in found)
