"""Whether a number of a set has a part in saying who is a member.

Every set has a ``radius``, which the constructor that it inherits keeps. A class that measures its members by a number of
another name, or by none, leaves it unread, and no value of it makes the set larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.constructed import beside
from convexnovelty.uncertainty.tools import listed, unasked

__all__ = ["is_read", "says_the_same"]

ENROLS_NOTHING = "the numbers of sets"

UNSTATED = tuple(family.gauge for family in (CovarianceSet, MeanSet, MomentSet, PointSet))


def is_read(uncertainty: Any, name: str) -> bool:
    """Whether the membership of a centred set is another one where its number ``name`` is.

    A class that states by which number it grows, or its gauge, is taken at its word of that number; so is one of which nothing
    can be told, as it has no centre yet.
    """
    kind = type(uncertainty)
    stated = kind.grows_by != UncertaintySet.grows_by or kind.gauge not in UNSTATED
    if name == kind.grows_by and stated:
        return True
    if not isinstance(uncertainty, PointSet) and uncertainty._moments is None:
        return True
    known: bool = uncertainty.kept(f"reads {name}", lambda: _differs(uncertainty, name))
    return known


def _differs(uncertainty: Any, name: str) -> bool:
    for other in beside(uncertainty._number(name)):
        with unasked():
            try:
                changed = uncertainty.replaced(**{name: other})
            except Exception:  # the class takes no such number, whatever it raises
                continue
            if not says_the_same(uncertainty.plain(), changed):
                return True
    return False


def says_the_same(one: Any, other: Any) -> bool:
    """Whether two centred sets of one kind write the same membership, number by number; not where one cannot be written."""
    try:
        member = _variables(one)
        first, second = listed(one.membership(*member)), listed(other.membership(*member))
    except Exception:  # what a user's membership raises, which is told wherever the set is used
        return False
    return len(first) == len(second) and all(map(_is_same, first, second))


def _variables(uncertainty: Any) -> list[Any]:
    p = uncertainty.dimension
    mean, covariance = cp.Variable(p), cp.Variable((p, p), symmetric=True)
    return {
        "points": [mean],
        "mean": [mean, covariance] if getattr(uncertainty, "uses_covariance", False) else [mean],
        "covariance": [covariance],
        "moments": [mean, covariance],
    }[uncertainty.family]


def _is_same(one: Any, other: Any) -> bool:
    """Whether two terms are written alike, with constants and parameters of the same values; each has further variables of its own."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, (cp.Expression, cp.Constraint)):
        return bool(np.array_equal(one, other))
    if isinstance(one, (cp.Constant, cp.Parameter)):
        first, second = one.value, other.value
        return bool(one.shape == other.shape and (first is second or abs(first - second).max() == 0))
    if isinstance(one, cp.Variable):
        return bool(one.shape == other.shape)
    # The identity of a constraint is part of its data.
    said = (
        [] if isinstance(one, cp.Constraint) else list(zip(one.get_data() or [], other.get_data() or [], strict=True))
    )
    if not all(_is_same(*pair) for pair in said) or len(one.args) != len(other.args):
        return False
    return all(map(_is_same, one.args, other.args))
