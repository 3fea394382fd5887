"""Uncertainty sets: a set is its membership constraints, and everything else is derived from them.

Each file of this folder holds one class; being in the folder is being enrolled. A user derives from one of
:class:`CovarianceSet`, :class:`MeanSet`, :class:`MomentSet`, :class:`PointSet` and writes ``membership``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from convexnovelty import enrolment
from convexnovelty.cones import svec
from convexnovelty.errors import EnrolmentError
from convexnovelty.uncertainty.adversary import Adversary, Worst, adversary, worst_member
from convexnovelty.uncertainty.algebra import Operator
from convexnovelty.uncertainty.base import (
    Counterpart,
    CovarianceSet,
    MeanSet,
    MomentSet,
    PointSet,
    UncertaintySet,
    as_counterpart,
    attainment,
    convex,
    epigraph,
    scaled,
)
from convexnovelty.uncertainty.calibration import calibrate, coverage, cross_validated
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.uncertainty.counterparts import (
    derived_twice,
    evaluate_deviation,
    evaluate_loss,
    evaluate_support,
    support,
    worst_deviation,
    worst_loss,
)
from convexnovelty.uncertainty.derived import derived_deviation, derived_loss, derived_support, membership_of
from convexnovelty.uncertainty.gauges import gauge
from convexnovelty.uncertainty.product import as_moment_set
from convexnovelty.uncertainty.radii import (
    chi_square_radius,
    concentration_radii,
    delage_ye_sizes,
    free_entries,
    hotelling_radius,
    wishart_radius,
)

_BASES = (UncertaintySet, CovarianceSet, MeanSet, MomentSet, PointSet, Composite, Operator)


def _walk() -> dict[str, type[UncertaintySet]]:
    """The set classes that are defined in the files of this folder."""
    found: dict[str, type[UncertaintySet]] = {}
    for entry in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{entry.name}")
        own = {
            name: item
            for name, item in vars(module).items()
            if inspect.isclass(item) and issubclass(item, UncertaintySet) and item.__module__ == module.__name__
            if item not in _BASES and not name.startswith("_")
        }
        excused = bool(getattr(module, "ENROLS_NOTHING", ""))
        if bool(own) == excused:
            raise EnrolmentError(
                f"{module.__name__}: the file defines {', '.join(own) or 'no set'} and "
                f"{'says' if excused else 'does not say'} ENROLS_NOTHING; every other file of the folder holds a set"
            )
        found |= own
    return found


_CLASSES = _walk()
globals().update(_CLASSES)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"convexnovelty.uncertainty has no {name!r}; its sets are {', '.join(sorted(_CLASSES))}")


def enrolled(kind: type[UncertaintySet]) -> type[UncertaintySet]:
    """The class, found fit for the catalogue: documented, with a claim of exactness, examples and a source.

    Raises EnrolmentError naming what is missing. Only the catalogue demands this; a user's set needs ``membership``.
    """
    missing = []
    if not (vars(kind).get("__doc__") or "").strip():
        missing.append("a docstring of its own")
    if kind.exactness not in ("exact", "conservative") or not any(
        "exactness" in vars(base) for base in kind.__mro__ if base not in _BASES
    ):
        missing.append("exactness = 'exact' or 'conservative'")
    if not kind.source:
        missing.append("a source")
    try:
        examples = kind.examples()
    except TypeError as error:
        examples = []
        missing.append(f"examples() ({error})")
    else:
        if not examples:
            missing.append("examples()")
    if missing:
        raise EnrolmentError(f"{kind.__module__}.{kind.__name__}: the set lacks {', '.join(missing)}")
    return kind


def catalogue() -> dict[str, type[UncertaintySet]]:
    """All sets of the package by name, each fit to be checked.

    Raises EnrolmentError for a class that declares too little.
    """
    return {name: enrolled(kind) for name, kind in sorted(_CLASSES.items())}


# What a method that takes a family accepts: moments may be uncertain in either part or in both.
_ACCEPTED = {"moments": ("mean", "covariance", "moments"), "covariance": ("covariance",), "points": ("points",)}


def users() -> dict[str, type[UncertaintySet]]:
    """The set classes of the files that a user loaded, by name; ``membership`` is all that is asked of them."""
    found: dict[str, type[UncertaintySet]] = {}
    for module in enrolment.loaded():
        for name, item in vars(module).items():
            if inspect.isclass(item) and issubclass(item, UncertaintySet) and item.__module__ == module.__name__:
                found[name] = item
    return found


def of_family(takes: str) -> list[type[UncertaintySet]]:
    """The set classes of the catalogue, and of the user's files, that a method accepts which takes this family.

    Raises EnrolmentError for a user's class that cannot be made without arguments and has no ``examples``.
    """
    chosen = [kind for kind in {**catalogue(), **users()}.values() if kind.family in _ACCEPTED[takes]]
    for kind in chosen:
        try:
            kind.examples()
        except TypeError as error:
            raise EnrolmentError(
                f"{kind.__name__}: no example could be made ({error}); give the constructor defaults "
                "or write the classmethod examples()"
            ) from error
    return chosen


__all__ = [
    "Adversary",
    "Counterpart",
    "CovarianceSet",
    "MeanSet",
    "MomentSet",
    "PointSet",
    "UncertaintySet",
    "Worst",
    "adversary",
    "as_counterpart",
    "as_moment_set",
    "attainment",
    "calibrate",
    "catalogue",
    "chi_square_radius",
    "concentration_radii",
    "convex",
    "coverage",
    "cross_validated",
    "delage_ye_sizes",
    "derived_deviation",
    "derived_loss",
    "derived_support",
    "derived_twice",
    "enrolled",
    "epigraph",
    "evaluate_deviation",
    "evaluate_loss",
    "evaluate_support",
    "free_entries",
    "gauge",
    "hotelling_radius",
    "membership_of",
    "of_family",
    "scaled",
    "support",
    "svec",
    "users",
    "wishart_radius",
    "worst_deviation",
    "worst_loss",
    "worst_member",
]

__all__.extend(_CLASSES)
