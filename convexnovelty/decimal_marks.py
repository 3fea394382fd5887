"""Digits behind a comma or a point that are decimals to some and thousands to others: refused where nothing tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convexnovelty.csv_files import Grid, number_of
from convexnovelty.errors import InputError

__all__ = ["PADDED", "check_commas", "check_learnt", "check_points", "check_split"]

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
WHOLE = re.compile(r"[+-]?\d+")
PADDED = re.compile(r"0\d+")  # as digits behind a decimal mark are
BEHIND = re.compile(r"\d+([eE][+-]?\d+)?")


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


def check_split(grid: Grid, name: str) -> tuple[str, ...]:
    """What is to be said of commas that were taken for separators of two numbers and may be decimal commas of one: 3,5.

    Refused are those before a zero that further digits follow: 3,05. Raises InputError with the first such row.
    """
    written = []
    for line, row in zip(grid.lines, grid.rows, strict=True):
        cells = [cell.strip() for cell in row]
        if len(cells) != 2 or not WHOLE.fullmatch(cells[0]) or not BEHIND.fullmatch(cells[1]):
            return ()
        written.append((line, ",".join(cells), PADDED.match(cells[1])))
    for line, text, padded in written:
        if padded:
            raise InputError(
                f"{name}, line {line}: {text!r} may be one number with a comma between its digits, or two; give "
                "--separator ';' if it is one, --separator ',' if it is two"
            )
    line, text, _ = written[0]
    return (f"line {line}: {text!r} is read as two numbers (give --separator ';' if it is one with a decimal comma)",)


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
