"""What the columns of a table are: names, by which two tables are matched wherever they stand, and types, none of them dates."""

from __future__ import annotations

import datetime
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from convexnovelty.errors import ArgumentTypeError, InputError

__all__ = [
    "DATES",
    "agree",
    "by_name",
    "columns_as_rows",
    "dated",
    "entries_by_name",
    "in_places",
    "is_category",
    "is_date",
    "is_text",
    "names_of",
    "names_of_entries",
    "places",
    "refuse_dates",
    "refuse_two_orders",
    "rows",
    "rows_as_columns",
    "types_of",
]

DATES = "dates were found; give numbers, for example days since a date that matters"

# How dates, times, spans and periods are called by NumPy, pandas, polars and Arrow, which keeps pandas' periods as extensions.
DATED = re.compile(r"(extension<pandas\.)?(date|time|duration|period|month_day_nano)", re.IGNORECASE)

CATEGORIES = "category|categorical|enum|dictionary"
# How text, bytes and categories are called by the same, with what may follow: Arrow's types of values, polars' categories.
TEXT = re.compile(
    rf"((large_)?(str|string|utf8|binary)(_view)?|fixed_size_binary|{CATEGORIES})\b",
    re.IGNORECASE,
)

SHOWN = 8  # names in a message


def names_of(table: Any) -> list[str] | None:
    """The names of a frame's columns; None for anything else, and, as in scikit-learn, for a frame not all named by words."""
    columns = getattr(table, "columns", None)
    if columns is None or isinstance(columns, (str, bytes)):
        return None
    return _words(columns)


def rows(table: Any, chosen: Any) -> Any:
    """The chosen rows of an array, or of a frame of pandas or polars as a frame."""
    return table.iloc[chosen] if hasattr(table, "iloc") else table[chosen]


def names_of_entries(vector: Any) -> list[str] | None:
    """The names of a labelled vector's entries, of a frame of one row or one column too; None where they are not all words."""
    shape: tuple[int, ...] = getattr(vector, "shape", ())
    if len(shape) == 2 and shape[0] == 1:
        return names_of(vector)
    return _words(getattr(vector, "index", None)) if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1) else None


def _words(labels: Any) -> list[str] | None:
    try:
        names = list(labels)
    except TypeError:
        return None
    return [str(name) for name in names] if names and all(isinstance(name, str) for name in names) else None


def in_places(table: Any, name: str) -> None:
    """Raise InputError for a frame whose columns are numbered, and stand in another order than their numbers.

    Numbers are no names, so that columns with numbers are taken as they stand; where they have been moved, that may not be
    what is meant. Nor may it be where words stand among them: scikit-learn refuses such a frame too.
    """
    columns = getattr(table, "columns", None)
    if columns is None or isinstance(columns, (str, bytes)) or getattr(table, "ndim", 2) != 2:
        return
    _refuse_moved(list(columns), name, "columns")


def _refuse_moved(labels: list[Any], name: str, what: str) -> None:
    words = [label for label in labels if isinstance(label, str)]
    if words and len(words) < len(labels):
        raise ArgumentTypeError(
            f"{name}: string names are needed for all of its {what} or for none, and {_listed(labels)} were found; give "
            f"{what} that all have words for names, or an array to have them taken as they stand"
        )
    if labels and all(isinstance(label, numbers.Real) for label in labels) and labels != sorted(labels):
        raise InputError(
            f"{name}: its {what} are numbered {_listed(labels)}, and whether they are meant by number or by place cannot be "
            "told; sort them, or give them words for names, or an array to have them taken as they stand"
        )


def types_of(table: Any) -> list[Any]:
    """The types of an array's entries or of a frame's columns, each once, as NumPy, pandas, polars and Arrow tell them."""
    found = [getattr(table, "dtype", None), getattr(table, "type", None)]
    for types in (getattr(table, "dtypes", None), getattr(getattr(table, "schema", None), "types", None)):
        found.extend(types if isinstance(types, Iterable) else ())  # a Series has one for all
    return [kind for kind in dict.fromkeys(found) if kind is not None]


def is_date(kind: Any) -> bool:
    """Whether a type of columns is that of dates, times of the day, spans of time or periods."""
    return getattr(kind, "kind", "") in ("M", "m") or DATED.match(str(kind)) is not None


def is_text(kind: Any) -> bool:
    """Whether a type of columns is that of text, or of categories, which text names: digits in it need not be a number."""
    return getattr(kind, "kind", "") in ("U", "S") or TEXT.match(str(kind)) is not None


def is_category(kind: Any) -> bool:
    """The same of categories alone."""
    return re.match(rf"({CATEGORIES})\b", str(kind), re.IGNORECASE) is not None


def dated(kind: type) -> bool:
    """The same of the class of a single entry."""
    known = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return issubclass(kind, known) or kind.__name__ in ("Period", "NaTType")


def refuse_dates(table: Any, name: str) -> None:
    """Raise ArgumentTypeError for a table or an array with dates.

    As numbers they would be counts of a unit that the table chose, and every result would depend on it.
    """
    if isinstance(table, np.ndarray) and table.dtype.kind in "biufc":
        return  # the names of types, which tell the others, take longer than all else that is asked of a short vector
    types = types_of(table)
    found = any(map(is_date, types))
    if not found and any(str(kind).lower() == "object" for kind in types):
        found = any(map(dated, set(map(type, np.asarray(table, dtype=object).flat))))
    if found:
        raise ArgumentTypeError(f"{name}: {DATES}")


def by_name(table: Any, name: str, names: Sequence[str] | None, learnt: str) -> Any:
    """A table with its columns in the order of ``names``, where both have names; as it is where one has none.

    ``name`` is the argument and ``learnt`` says what has ``names``. Raises InputError for columns that are not the same.
    """
    found = names_of(table)
    if found is None or names is None or found == list(names):
        return table
    agree(found, name, names, learnt)
    return table[list(names)]


def entries_by_name(values: np.ndarray, table: Any, name: str, names: Sequence[str] | None, learnt: str) -> np.ndarray:
    """The entries of the labelled vector ``table``, which ``values`` holds, in the order of ``names``; otherwise as :func:`by_name`.

    Numbers are no names, and out of order they are refused, as those of columns are.
    """
    if len(getattr(table, "shape", ())) == 1 and isinstance(getattr(table, "index", None), Iterable):
        _refuse_moved(list(table.index), name, "entries")
    found = names_of_entries(table)
    if found is None or names is None or found == list(names):
        return values
    agree(found, name, names, learnt)
    return values[[found.index(entry) for entry in names]]


def rows_as_columns(table: Any) -> Any:
    """A covariance whose rows have the names of its columns, with its rows in the order of its columns."""
    return table.loc[names_of(table)] if _in_two_orders(table) else table


def columns_as_rows(table: Any) -> Any:
    """A Gram matrix whose columns have the names of its rows, with its columns in the order of its rows.

    Rows are points in any table, and labels, weights and other kernels are given in their order.
    """
    return table[_words(table.index)] if _in_two_orders(table) else table


def refuse_two_orders(table: Any, name: str, vector: Any, beside: str) -> None:
    """Raise InputError for a covariance whose rows and columns stand in two orders beside a vector without names.

    It may have either order.
    """
    if names_of_entries(vector) is None and _in_two_orders(table):
        raise InputError(
            f"{name}: its rows stand in another order than its columns, {_listed(_words(table.index) or [])} and "
            f"{_listed(names_of(table) or [])}, and which of them the entries of {beside} have cannot be told; give {beside} "
            "with names, or rows and columns in one order"
        )


def _in_two_orders(table: Any) -> bool:
    """Whether rows and columns of a frame have the same names, each once, in different orders."""
    columns, rows = names_of(table), _words(getattr(table, "index", None))
    if columns is None or rows is None or rows == columns:
        return False
    return len(set(rows)) == len(rows) and sorted(rows) == sorted(columns)


def places(found: Sequence[str] | None, names: Sequence[str] | None, name: str, learnt: str) -> list[int] | None:
    """Where each of ``names`` stands among those found; None where one side has none, or they stand in one order.

    ``name`` is the argument and ``learnt`` says what has ``names``. Raises InputError for columns that are not the same.
    """
    if found is None or names is None or list(found) == list(names):
        return None
    agree(found, name, names, learnt)
    return [list(found).index(entry) for entry in names]


def agree(found: Sequence[str], name: str, names: Sequence[str], learnt: str) -> None:
    """Raise InputError unless both lists hold the same names, each once."""
    lacking = [entry for entry in names if entry not in found]
    strange = [entry for entry in found if entry not in names]
    twice = sorted({entry for entry in found if found.count(entry) > 1})
    if lacking or strange or twice:
        parts = (("lacks", lacking), ("has in addition", strange), ("has more than once", twice))
        told = "; ".join(f"{verb} {_listed(entries)}" for verb, entries in parts if entries)
        raise InputError(
            f"{name}: columns are matched by name with those of {learnt}, and it {told}; give the same columns"
        )


def _listed(entries: Sequence[Any]) -> str:
    more = len(entries) - SHOWN
    return ", ".join(map(repr, entries[:SHOWN])) + (f" and {more} more" if more > 0 else "")
