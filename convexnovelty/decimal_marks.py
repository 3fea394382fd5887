"""Digits behind a comma or a point that are decimals to some and thousands to others: refused where nothing tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from convexnovelty.csv_files import GROUPED, Grid, number_of
from convexnovelty.errors import InputError
from convexnovelty.tables import printable

__all__ = ["PADDED", "check_blanks", "check_commas", "check_learnt", "check_points", "check_split"]

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
LEADING = re.compile(r"[+-]?\d{1,3}")
THREE = re.compile(r"\d{3}([.,]\d*)?")
WHOLE = re.compile(r"[+-]?\d+")
PADDED = re.compile(r"0\d+")  # as digits behind a decimal mark are
# One comma between digits, with a label on either side of the number or none.
SPLIT = re.compile(r"(?P<before>.*\s)?(?P<whole>[+-]?\d+),(?P<behind>\d+)([eE][+-]?\d+)?(?P<after>\s.*)?", re.DOTALL)


def check_commas(grid: Grid, name: str) -> None:
    """Refuse a decimal comma that was guessed where every comma may as well separate thousands: 1,234 is 1234 to many.

    Raises InputError with the first such cell.
    """
    first = ""
    for line, row in zip(grid.lines, grid.rows, strict=True):
        for cell in row:
            if "," in cell and number_of(cell, ",") is not None:
                if not THOUSANDS.fullmatch(cell.strip()):
                    return
                first = first or f"line {line}: {cell.strip()!r}"
    if first:
        raise InputError(f"{name}, {first} may have a decimal comma or thousands; give --decimal comma, or write 1234")


def check_split(grid: Grid, name: str, mark: str, learnt: bool) -> tuple[str, ...]:
    """What is to be said of commas that were taken for separators and may be decimal commas: 3,5 and, with a label, pump 3,5.

    Refused are those before a zero that further digits follow (3,05), and all where the rows learnt from have decimal
    commas. Beside labels those are too that nothing tells from decimal commas: "pump 3" is believed to be a label where
    "pump" does not tell rows apart. ``learnt`` says that rows learnt from, which told that better, were accepted.
    Raises InputError with the first such row.
    """
    written = []
    for line, row in zip(grid.lines, grid.rows, strict=True):
        text = ",".join(cell.strip() for cell in row)
        found = SPLIT.fullmatch(text)
        if len(row) != 2 or found is None:
            return ()
        written.append((line, text, found))
    labels = [f"{found['before'] or ''}{found['after'] or ''}".strip() for *_, found in written]
    labelled = any(labels)
    numbers = [int(found["whole"]) for *_, found in written]
    behind = [found["behind"] for *_, found in written]
    numbered = labelled and len(set(labels)) < len(labels) == len(set(zip(labels, numbers, strict=True)))
    counted = numbered and len(numbers) > 2 and all(b - a == 1 for a, b in pairwise(numbers))
    doubtful = [not counted and bool(PADDED.fullmatch(digits)) for digits in behind]
    if mark == "," or (labelled and not learnt and not numbered and _are_decimals(behind)):
        doubtful[0] = True
    line, text, _ = written[doubtful.index(True) if any(doubtful) else 0]
    do = "give --separator space" if labelled else "give --separator ';'"
    if labelled and len({len(text.split()) for _, text, _ in written}) > 1:
        do = "put a semicolon between label and number"  # with so many blanks in some labels, no blank separates
    shown = repr(printable(text, 60))
    if any(doubtful):
        raise InputError(
            f"{name}, line {line}: {shown} may {'hold' if labelled else 'be'} one number with a comma between its digits, or "
            f"two; {do} if it is one, give --separator ',' if it is two"
        )
    read = " and ".join(repr(printable(cell, 40)) for cell in text.split(",")) if labelled else "two numbers"
    one = "one number" if labelled else "one"
    return (f"line {line}: {shown} is read as {read} ({do} if it is {one} with a decimal comma)",)


def check_blanks(grid: Grid, name: str) -> tuple[str, ...]:
    """What is to be said of blanks that were taken for separators and may separate thousands: 3 115.

    Refused are three digits of which some begin with a zero, behind one to three others in all rows: 3 015. Raises
    InputError with the first such row.
    """
    columns = [[cell.strip() for cell in column] for column in zip(*grid.rows, strict=True)]
    for before, behind in pairwise(columns):
        if not all(map(LEADING.fullmatch, before)) or not all(map(THREE.fullmatch, behind)):
            continue
        i = next((i for i, cell in enumerate(behind) if cell.startswith("0")), None)
        if i is not None:
            raise InputError(
                f"{name}, line {grid.lines[i]}: '{before[i]} {behind[i]}' may be one number whose thousands a blank separates, or "
                "two; write it without the blank if it is one, give --separator space if it is two"
            )
    texts = [" ".join(row) for row in zip(*columns, strict=True)]
    if not all(map(GROUPED.fullmatch, texts)):
        return ()
    whole = texts[0].replace(" ", "")
    return (f"line {grid.lines[0]}: {texts[0]!r} is read as {len(columns)} numbers (write {whole} if it is one)",)


def _are_decimals(behind: Sequence[str]) -> bool:
    """Whether digits are as programs write them behind a decimal mark: equally many, or as many as are needed."""
    return len(set(map(len, behind))) == 1 or not any(len(digits) > 1 and digits.endswith("0") for digits in behind)


def check_points(grid: Grid, name: str) -> tuple[str, ...]:
    """What is to be said of points that were read as decimal points and may as well separate thousands: 12.111.

    Refused are such points beside whole numbers below a thousand in the same column: 999 and 1.003.
    A program that writes three decimals writes 999.000, and one that writes as many as are needed soon has 1.25.
    Raises InputError with the first such cell.
    """
    first: dict[int, tuple[int, str]] = {}
    small: set[int] = set()
    large: set[int] = set()
    for line, row in zip(grid.lines, grid.rows, strict=True):
        for j, text in enumerate(row):
            cell = text.strip()
            if WHOLE.fullmatch(cell):
                (small if abs(int(cell)) < 1000 else large).add(j)
            elif "." in cell and number_of(cell, ".") == number_of(cell, "."):
                if not THOUSANDS.fullmatch(cell):
                    return ()
                first.setdefault(j, (line, cell))
    for j in sorted(first.keys() & small - large):
        line, cell = first[j]
        raise InputError(
            f"{name}, line {line}, column {grid.names[j]!r}: {cell!r} may have a decimal point or thousands, beside whole "
            "numbers; give --decimal point, or write 1234"
        )
    if not first:
        return ()
    j, (line, cell) = min(first.items())
    whole = cell.replace(".", "")
    return (
        f"line {line}, column {grid.names[j]!r}: {cell!r} is read with a decimal point (write {whole} if it separates "
        "thousands, or give --decimal point)",
    )


def check_learnt(grid: Grid, name: str, found: str, learnt: str, columns: Sequence[int]) -> None:
    """Refuse numbers with another decimal mark than those that were learnt from: 1.234 is 1234 beside 0,5.

    Raises InputError with the first such cell of the columns that are features.
    """
    marks = {".": "point", ",": "comma"}
    for line, row in zip(grid.lines, grid.rows, strict=True):
        for j in columns:
            cell = row[j].strip()
            value = number_of(cell, found)
            if found in cell and value is not None and value == value:
                raise InputError(
                    f"{name}, line {line}, column {grid.names[j]!r}: {cell!r} was found where the rows learnt from have a "
                    f"decimal {marks[learnt]}; write the numbers of both alike (or give --decimal, if both have the same)"
                )
