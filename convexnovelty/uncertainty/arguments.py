"""What the functions of sets check of their arguments: a set, a direction in its space, a member of its family."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.covariances import spectrum
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.uncertainty.base import MeanSet, PointSet, UncertaintySet
from convexnovelty.validation import Array, shown, symmetric, vector

__all__ = ["along", "blocks_of", "is_covariance", "known_set"]

ENROLS_NOTHING = "arguments of the functions of sets"

# What a set of each family is called, and one of them.
FAMILIES = {
    "points": ("points", "NormBall(2, 0.3).centred(point)"),
    "mean": ("means", "MeanEllipsoid(0.3).centred(moments)"),
    "covariance": ("covariances", "FrobeniusBall(0.3).centred(moments)"),
    "moments": ("pairs of mean and covariance", "GelbrichBall(0.3).centred(moments)"),
}


def known_set(uncertainty: Any, *families: str, name: str = "uncertainty", recipe: bool = False) -> None:
    """Raise InputError for what is no set of one of the families (any by default); a ``recipe`` has no centre yet."""
    wanted = families or tuple(FAMILIES)
    if isinstance(uncertainty, UncertaintySet) and uncertainty.family in wanted:
        return
    kinds, example = [FAMILIES[family][0] for family in wanted], FAMILIES[wanted[-1]][1]
    example = example.partition(".centred")[0] if recipe else example
    if uncertainty is None and "moments" in wanted:
        example = f"{example}, or Exact() around the moments for no uncertainty"
    *others, last = kinds
    listed = f"{', of '.join(others)} or of {last}" if others else last
    raise InputError(f"{name}: {shown(uncertainty)} was found; give a set of {listed}, such as {example}")


def along(uncertainty: Any, a: Any, name: str = "a") -> Array:
    """A direction in the space of a set."""
    around_nothing = isinstance(uncertainty, PointSet) and uncertainty._center is None
    return vector(a, name, uncertainty.size if around_nothing else uncertainty.dimension)


def blocks_of(uncertainty: Any, member: Any) -> list[Array]:
    """A vector, a symmetric matrix or both, as members of the set's family are; of a mean also what is beside it.

    Raises InputError for what has another shape, is not symmetric, or holds numbers that are not finite.
    """
    p, pair = uncertainty.dimension, isinstance(member, (tuple, list)) and len(member) == 2
    if uncertainty.family == "covariance":
        return [symmetric(member, "member", p)]
    if isinstance(uncertainty, MeanSet) and not (pair and np.ndim(member[1]) == 2):
        return [vector(member, "member", p)]
    if uncertainty.family == "points":
        return [vector(member, "member", p)]
    if not pair:
        shape = f"an array of shape {member.shape}" if isinstance(member, np.ndarray) else repr(member)
        raise InputError(
            f"member: {shape} was found; give a pair of a mean of length {p} and a covariance of shape ({p}, {p})"
        )
    return [vector(member[0], "member[0]", p), symmetric(member[1], "member[1]", p)]


def is_covariance(S: Array) -> bool:
    """Whether a symmetric matrix has no eigenvalue below zero that rounding does not explain."""
    try:
        spectrum(S)
    except IndefiniteError:
        return False
    return True
