"""Columns with names: two tables that are used together are matched by them, wherever their columns stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexnovelty.errors import InputError

__all__ = ["agree", "by_name", "in_places", "names_of"]

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
