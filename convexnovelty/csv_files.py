"""Text files of numbers as people have them: separators, decimal commas, headers, labels and gaps are found, and said.

The reader of the standard library decides what a file says and in which line an error stands; pandas reads the same
numbers faster where a file is large, and wherever it stumbles the first reader takes over.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.validation import Array

__all__ = ["GROUPED", "MISSING", "UNNAMED", "Grid", "Layout", "fast_values", "layout_of", "number_of", "read_grid"]

MISSING = frozenset(
    [
        "",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "-nan",
        "null",
        "none",
        "nil",
        "?",
        "-",
        "--",
        "*",
        ".",
        "missing",
        "#n/a n/a",
        "<na>",
    ]
)
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
DIVIDING = ";\t|"  # what has hardly another meaning than to separate, unlike commas and blanks
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DECIMAL = re.compile(r"(?<![^\s;|])[+-]?\d+,\d+([eE][+-]?\d+)?(?![^\s;|])")  # between what separates
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}( \d{3})+([.,]\d*)?")  # one number whose thousands blanks separate
FRACTION = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")
UNNAMED = re.compile(
    r"|unnamed: 0|\.\.\.1", re.IGNORECASE
)  # what spreadsheets, pandas and R call a column without a name
HEAD = 200  # rows from which the layout is told
FAST = 2_000_000  # characters from which pandas is worth its second reading


@dataclass(frozen=True)
class Layout:
    """How a text file is written: separator, decimal mark, and whether its first row names the columns."""

    separator: str
    decimal: str
    header: bool
    label_first: bool  # a first column without a name, as spreadsheets, pandas and R write labels of rows
    short: bool = False  # rows have one cell more than there are names
    sure: bool = False  # such labels are quoted, as R does, or were asked for
    hashed: bool = False  # the row of names begins with the sign of a comment, as NumPy writes it

    def __str__(self) -> str:
        names = "names in the first row" if self.header else "no names of columns"
        if self.hashed:
            names = "names in the comment above the first row"
        mark = "decimal comma" if self.decimal == "," else "decimal point"
        return f"{SEPARATORS.get(self.separator, repr(self.separator))}-separated, {mark}, {names}"


@dataclass(frozen=True)
class Grid:
    """Cells of a text file: names of columns, rows of text with the line each begins in."""

    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    below: list[int] = field(default_factory=list)  # lines without a value at the end, which are no rows
    single: bool = False  # without a separator, so that a gap is a line with nothing in it


def number_of(text: str, decimal: str) -> float | None:
    """The number that a cell holds, NaN for a gap, None for text. Thousands are not separated in either style."""
    cell = text.strip()
    if decimal == "." and NUMBER.fullmatch(cell):  # nearly every cell
        return float(cell)
    if cell.lower() in MISSING:
        return float("nan")
    if decimal == ",":
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    if NUMBER.fullmatch(cell):
        return float(cell)
    word = cell.lower()
    if word in ("true", "false"):
        return float(word == "true")
    return {"inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf")}.get(word.replace("infinity", "inf"))


def layout_of(text: str, name: str, separator: str | None, decimal: str | None, header: bool | None) -> Layout:
    """The layout of a file from its first rows; what is given is not guessed.

    Every separator is tried with every decimal mark. The one is taken under which rows have equally many cells and
    most cells are numbers, less those in which other separators are left: beside "a;1,5" a comma leaves "a;1" and 5. Of
    equals the one with more numbers is taken, then the one that leaves fewer separators, then the one with more columns.
    """
    best: tuple[tuple[float, float, int, int], str, str, list[list[str]]] | None = None
    candidates = list(SEPARATORS) if separator is None else [separator]
    if separator is None and decimal == "," and "," not in DECIMAL.sub("", text[:1_000_000]):
        candidates.remove(",")  # each is said to be the mark of a number, and stands as one
    if separator is None and _is_tabbed(text):
        candidates.remove(" ")
    split = any(len(row) > 1 for c in candidates if c != " " for _, row in _head(text, c, 1))
    found = False
    for candidate in candidates:
        rows = [row for _, row in _head(text, candidate)]
        if not rows:
            continue
        found = True
        body = rows[1:] or rows
        widths = [len(row) for row in body]
        width = max(set(widths), key=lambda w: (widths.count(w), w))
        if width == 1 and split:
            continue  # "a,b" is a row of two, and no column of decimal commas
        shorter = len(rows) > 1 and _is_short(rows[0], width, text)
        even = sum(len(row) == width for row in body) + (len(rows[0]) == width or shorter)
        cells = [cell for row in body for cell in row]
        left = [sum(sign in cell for sign in DIVIDING if sign != candidate) for cell in cells]
        mixed = sum(map(bool, left))
        share = even / (len(body) + 1) / max(1, len(cells))
        for mark in ".," if decimal is None else decimal:
            numbers = sum(number_of(cell, mark) is not None for cell in cells)
            key = (round(share * max(numbers - mixed, 0), 9), round(share * numbers, 9), -sum(left), width)
            if best is None or key > best[0]:
                best = key, candidate, mark, rows
    if not found:
        raise InputError(f"{name}: no row was found; give a file with numbers in it")
    if best is None:
        raise InputError(f"{name}: no separator gives rows of equal length; give --separator, and check the first rows")
    _, chosen, mark, rows = best
    names = _has_names(rows, mark) if header is None else header
    above = _names_above(text, chosen, mark, rows[0]) if header is None and not names else []
    if above:
        names, rows = True, [above, *rows]
    body = rows[1:] if names else rows
    unnamed = bool(names and len(rows[0]) > 1 and UNNAMED.fullmatch(rows[0][0].strip()))
    # Separators at the ends of rows make a cell more too, which is empty throughout.
    short = bool(names and body and not unnamed and _is_short(rows[0], len(body[0]), text)) and any(
        len(row) > len(rows[0]) and row[-1].strip() for row in body
    )
    last = text[:100_000].replace("\r", "\n").rstrip("\n \t,;|").rpartition("\n")[2]
    return Layout(chosen, mark, names, short or unnamed, short, last.lstrip().startswith('"'), bool(above))


def _is_tabbed(text: str) -> bool:
    """Whether tabs alone separate: each row below the first has equally many, and no blank stands before a number.

    A whole number behind a word is part of a label: Store 1.
    """
    rows = [row for _, row in _head(text, "\t")]
    body = rows[1:] or rows
    if not body or len(body[0]) < 2 or any(len(row) != len(body[0]) for row in body):
        return False
    cells = [cell.split() for row in body for cell in row if not GROUPED.fullmatch(" ".join(cell.split()))]
    cells = [cell for cell in cells if len(cell) > 1]
    return not any(all(map(_is_figure, cell)) or any(map(FRACTION.fullmatch, cell[1:])) for cell in cells)


def _is_figure(cell: str) -> bool:
    """Whether a cell is a number under one of the decimal marks."""
    return number_of(cell, ".") is not None or number_of(cell, ",") is not None


def _names_above(text: str, separator: str, decimal: str, first: Sequence[str]) -> list[str]:
    """The cells of the comment above a first row without names, if they are names of its columns; words between blanks
    are hardly that, and a comment on an only column may say anything.
    """
    cells = [cell.strip() for cell in next(_rows(text[:1_000_000], separator, hashed=True))[1]]
    if separator == " " or len(first) < 2 or len(cells) != len(first) or len(set(cells)) < len(cells):
        return []
    return [] if any(number_of(cell, decimal) is not None for cell in cells) else cells


def _has_names(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    first, body = rows[0], rows[1:]
    numeric = [number_of(cell, decimal) is not None for cell in first]
    if not any(numeric):
        return True
    unnamed = first[0].strip().lower() in MISSING
    tail = [cell.strip() for cell in first[unnamed:]]
    if unnamed and len(first) > 1 and len(body) > 1 and (_counts(row[0] for row in body) or _are_words(body, decimal)):
        return True  # over numbers or labels of rows, which leave none of them out
    if body and len(first) > 2 and _counts(tail):
        return True  # 0, 1, 2, ...: columns that were numbered when they had no names
    for j, is_number in enumerate(numeric):
        below = [number_of(row[j], decimal) is not None for row in body if j < len(row)]
        if not is_number and below and sum(below) * 2 >= len(below):
            return True
    return False


def _are_words(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first cells of rows are neither gaps nor numbers."""
    return all(row[0].strip() and number_of(row[0], decimal) is None for row in rows)


def _counts(cells: Iterable[str]) -> bool:
    """Whether cells count from 0 or from 1."""
    found = [cell.strip() for cell in cells]
    return any(found == [str(k + start) for k in range(len(found))] for start in (0, 1))


def _is_short(header: Sequence[str], width: int, text: str) -> bool:
    """Whether names lack the first column, as R writes it; of one name alone that is believed where there are quotes."""
    return len(header) == width - 1 and (len(header) > 1 or '"' in text)


def _head(text: str, separator: str, count: int = HEAD) -> list[tuple[int, list[str]]]:
    found = []
    for row in _rows(text[:1_000_000], separator):
        if not row[1]:
            continue
        found.append(row)
        if len(found) == count:
            break
    else:
        if len(text) > 1_000_000:
            found.pop()  # it was cut
    return found


def _rows(text: str, separator: str, *, hashed: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they begin in, without blank lines and comments before the first; blank lines below have no cell.

    ``hashed`` says that the comment above the first row is one as well. If all lines are comments, those from the first one
    with numbers are rows whose labels begin like one.

    A quoted cell with nothing in it, as tables of one column write a gap, is no blank line, and an end of line with a
    second carriage return, which Windows makes of one that has one already, is no line of its own.
    """
    if separator == " ":
        text = "\n".join(" ".join(line.split()) for line in text.replace("\r\n", "\n").split("\n"))
    above = read = ""

    def noted() -> Iterator[str]:
        nonlocal above, read
        for line in io.StringIO(text, newline=""):
            above, read = read, line
            yield line

    reader = csv.reader(noted(), delimiter=separator, skipinitialspace=separator != "\t")
    line, started = 1, False
    comments: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            begun, line = line, reader.line_num + 1
            if not row or (len(row) == 1 and not row[0].strip() and '"' not in read):
                if started and not (read == "\r\n" and above.endswith("\r")):
                    yield begun, []
                continue
            if not started and row[0].lstrip().startswith("#"):
                comments.append((begun, row))
                continue
            if not started and row[0].lstrip().lower().startswith("sep="):
                continue  # the line by which spreadsheets tell one another the separator
            if not started and hashed:
                yield from _uncommented(comments, begun)
            started = True
            yield begun, row
        first = next((k for k, (_, row) in enumerate(comments) if _measured(row)), None)
        if not started and first is not None:
            if hashed:
                yield from _uncommented(comments[:first], comments[first][0])
            yield from comments[first:]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: cannot be read ({error}); check its quotes") from error


def _uncommented(comments: Sequence[tuple[int, list[str]]], below: int) -> Iterator[tuple[int, list[str]]]:
    """The last of the comments without its sign, if it stands right above the line ``below``."""
    for line, row in comments[-1:]:
        if line == below - 1:
            yield line, [row[0].lstrip().lstrip("#").strip(), *row[1:]]


def _measured(row: Sequence[str]) -> bool:
    """Whether there is nothing but numbers and gaps behind a label that begins like a comment, and a number."""
    if not re.match(r"\s*#\w", row[0]):
        return False
    found = [(number_of(cell, "."), number_of(cell, ",")) for cell in row[1:]]
    return all(pair != (None, None) for pair in found) and any(
        value == value for pair in found for value in pair if value is not None
    )


def read_grid(text: str, name: str, layout: Layout) -> Grid:
    """All cells of a file. Raises InputError naming the line for a row with too many or too few cells."""
    rows, lines, names = [], [], None
    below: list[int] = []
    try:
        for line, row in _rows(text, layout.separator, hashed=layout.hashed):
            if layout.header and names is None:
                names, first = [cell.strip() for cell in row], line
                continue
            rows.append(row)
            lines.append(line)
    except InputError as error:
        raise InputError(f"{name}, {error}") from error
    single = max(map(len, [*rows, names or []]), default=0) == 1
    if not single:
        lines = [line for line, row in zip(lines, rows, strict=True) if row]
        rows = [row for row in rows if row]
    while rows and not (single and rows[-1]) and not any(cell.strip() for cell in rows[-1]):
        rows.pop()  # lines of separators alone, which spreadsheets leave below a table, or blank ones
        below.insert(0, lines.pop())
    rows = [row or [""] for row in rows]
    if not rows:
        raise InputError(f"{name}: no row was found below the names of columns; give a file with numbers in it")
    if names is None:
        names, first = [f"column {j + 1}" for j in range(len(rows[0]))], lines[0]
    if layout.short:
        names = ["", *names]
    while names and not names[-1] and not (layout.label_first and len(names) == 1):
        if any(len(row) >= len(names) and row[len(names) - 1].strip() for row in rows):
            break
        names.pop()  # separators at the ends of lines
    for line, row in zip(lines, rows, strict=True):
        while len(row) > len(names) and not row[-1].strip():
            row.pop()
        if len(row) != len(names):
            raise InputError(
                f"{name}, line {line}: {len(row)} cells were found where line {first} has {len(names)}; "
                "check separators and quotes in that line, or give --separator"
            )
    return Grid(names, rows, lines, below, single)


def fast_values(
    text: str,
    layout: Layout,
    width: int,
    labels: Sequence[int],
    *,
    numeric: Sequence[int] = (),
    least: int | None = None,
) -> tuple[Array, dict[int, list[str]], Any] | None:
    """The numbers of a large file by pandas, with labels of rows and lines; None where only the slow reader will do.

    That is so too where ``numeric`` columns, which held other numbers before, may be nothing but true and false now.
    """
    if (
        len(text) < (FAST if least is None else least)
        or layout.separator == " "
        or text.lstrip().lower().startswith(("#", "sep="))
    ):
        return None
    below = text.find("\n") if layout.header else 0  # quotes round names are no matter, if each ends in its line
    if text.find('"', max(below, 0)) >= 0 or text.count('"', 0, max(below, 0)) % 2:
        return None
    import pandas as pd

    words = [form for word in MISSING for form in (word, word.upper(), word.capitalize())] + ["NaN", "N/A", "#N/A"]
    kinds: dict[int, Any] = {j: str if j in labels else np.float64 for j in range(width)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of options that later releases drop: then the slow reader reads
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=layout.separator,
                decimal=layout.decimal,
                header=None,
                names=list(range(width)),
                skiprows=int(layout.header),
                index_col=False,
                dtype=kinds,
                keep_default_na=False,
                na_values={j: words for j in range(width) if j not in labels},
                skip_blank_lines=False,
                float_precision="round_trip",
            )
    except (ValueError, TypeError, pd.errors.ParserWarning):
        return None
    columns = [j for j in range(width) if j not in labels]
    values = frame[columns].to_numpy(np.float64)
    kept = _kept(text, layout, values, width)
    if kept is None:
        return None
    # pandas reads a column of them as numbers, though not one in which they are among numbers.
    held = values[:, [columns.index(j) for j in numeric]]
    if ((held == 0) | (held == 1) | np.isnan(held)).all(axis=0).any() and re.search("(?i:true|false)", text):
        return None
    # Blanks behind a separator are no part of a cell to the other reader, unless the separator is one itself.
    blank = "" if layout.separator == "\t" else " "
    words_of = {j: [cell.lstrip(blank) for cell in frame[j][kept].tolist()] for j in labels}
    return values[kept], words_of, np.flatnonzero(kept) + 1 + int(layout.header)


def _kept(text: str, layout: Layout, values: Array, width: int) -> Any:
    """Which rows that pandas read are rows: those without numbers may be blank lines, and those with NaN short ones.

    None where the slow reader has to look: for infinite values, short rows, ends of tables, and words that are no gaps.
    """
    kept = np.ones(len(values), dtype=bool)
    if np.isfinite(values).all():
        return kept
    if np.isinf(values).any() or text.count("\r") != text.count("\r\n"):
        return None
    gaps = np.isnan(values)
    lines = text.split("\n")[int(layout.header) :]
    if len(lines) - (not lines[-1]) != len(values):  # then a row is not a line
        return None
    # A sign is the only thing that pandas reads as NaN and this file does not; all else that is missing is a missing cell.
    if "+n" in text.lower():
        return None
    for i in np.flatnonzero(gaps.any(axis=1)).tolist():
        count = lines[i].count(layout.separator)
        if count == 0 < width - 1 and not lines[i].strip():
            kept[i] = False
        elif count != width - 1:
            return None
    if width == 1 and gaps[0] and not layout.header:
        return None  # a blank line above the first row is none, where one below it is a gap
    # Rows of separators alone at the end of a table are left out, which takes looking at the whole.
    return None if not kept.any() or gaps[np.flatnonzero(kept)[-1]].all() else kept
