"""What the columns of a table are: names, by which two tables are matched wherever they stand, and types, none of them dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from convexnovelty.errors import ArgumentTypeError, InputError

__all__ = ["DATES", "agree", "by_name", "dated", "in_places", "is_date", "names_of", "refuse_dates", "types_of"]

DATES = "dates were found; give numbers, for example days since a date that matters"

# How dates, times, spans and periods are called by NumPy, pandas, polars and Arrow, which keeps pandas' periods as extensions.
DATED = re.compile(r"(extension<pandas\.)?(date|time|duration|period|month_day_nano)", re.IGNORECASE)

SHOWN = 8  # names in a message


def names_of(table: Any) -> list[str] | None:
    """The names of a frame's columns; None for anything else, and, as in scikit-learn, for a frame not all named by words."""
    columns = getattr(table, "columns", None)
    if columns is None or isinstance(columns, (str, bytes)):
        return None
    try:
        names = list(columns)
    except TypeError:
        return None
    return [str(name) for name in names] if names and all(isinstance(name, str) for name in names) else None


def in_places(table: Any, name: str) -> None:
    """Raise InputError for a frame whose columns are numbered, and stand in another order than their numbers.

    Numbers are no names, so that columns with numbers are taken as they stand; where they have been moved, that may not be
    what is meant.
    """
    columns = getattr(table, "columns", None)
    if columns is None or isinstance(columns, (str, bytes)) or getattr(table, "ndim", 2) != 2:
        return
    labels = list(columns)
    whole = [label for label in labels if isinstance(label, (int, np.integer)) and not isinstance(label, bool)]
    if whole and len(whole) == len(labels) and labels != sorted(labels):
        raise InputError(
            f"{name}: its columns are numbered {_listed(labels)}, and whether they are meant by number or by place cannot be "
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


def dated(kind: type) -> bool:
    """The same of the class of a single entry."""
    known = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return issubclass(kind, known) or kind.__name__ in ("Period", "NaTType")


def refuse_dates(table: Any, name: str) -> None:
    """Raise ArgumentTypeError for a table or an array with dates.

    As numbers they would be counts of a unit that the table chose, and every result would depend on it.
    """
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
