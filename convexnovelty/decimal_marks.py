"""Digits behind a comma or a point that are decimals to some and thousands to others: refused where nothing tells."""

from __future__ import annotations

import re

from convexnovelty.csv_files import Grid, number_of
from convexnovelty.errors import InputError

__all__ = ["check_commas"]

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


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
