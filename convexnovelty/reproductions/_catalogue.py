"""The reproductions of this folder and of the user's files, by name."""

from __future__ import annotations

import difflib

from convexnovelty import enrolment
from convexnovelty.errors import EnrolmentError, InputError
from convexnovelty.reproductions._declare import Reproduction

__all__ = ["catalogue", "named"]


def catalogue() -> dict[str, Reproduction]:
    """Every reproduction, by name. Raises EnrolmentError for a file without one and for a name that is used twice."""
    found: dict[str, Reproduction] = {}
    for module in enrolment.walk("convexnovelty.reproductions"):
        declared = getattr(module, "REPRODUCTION", None)
        if not isinstance(declared, Reproduction):
            raise EnrolmentError(f"{module.__name__} defines no REPRODUCTION; define one, or start its name with _")
        if declared.name in found:
            raise EnrolmentError(f"{module.__name__}: the name {declared.name!r} is taken; choose another")
        found[declared.name] = declared
    return found


def named(name: str) -> Reproduction:
    """The reproduction of that name. Raises InputError with the nearest names."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "--list shows all names"
    raise InputError(f"reproduce: there is no {name!r}; {hint}")
