"""By how much values miss the constraints of a problem, and what its variables were declared to be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.validation import Array, numeric

__all__ = ["shaped", "undeclared", "violation", "with_domains"]

LEAST = 1e-12  # what squares are over where an optimum brings the number to zero, in the solver's units


def shaped(value: Any, name: str, shape: tuple[int, ...]) -> Array:
    """A value in its letter's shape: beside another one CVXPY would repeat it, or count other sums."""
    found = numeric(value.toarray() if sp.issparse(value) else value, f"values: {name}", finite=False)

    def sides(given: tuple[int, ...]) -> list[int]:
        return [side for side in given if side != 1]

    if found.shape != shape and (sides(found.shape) != sides(shape) or len(sides(shape)) > 1):
        raise InputError(f"values: {name}: shape {found.shape} was found where {shape} is needed")
    return found.reshape(shape)


def violation(constraint: Any) -> float:
    """The largest violation of a constraint at its present point; infinite where a term of it is not finite."""
    if not all(np.isfinite(term.value).all() for term in constraint.args):
        return _violation_in_the_limit(constraint)
    found = float(np.max(np.abs(constraint.violation()), initial=0.0))
    return found if math.isfinite(found) else math.inf


def with_domains(constraints: Iterable[Any], *terms: Any) -> list[Any]:
    """Constraints, and what they and further terms are defined on: beyond, functions have values still, of another function."""
    found = list(constraints)
    return found + [one for term in (*(part for held in found for part in held.args), *terms) for one in term.domain]


def undeclared(variable: cp.Variable, value: Any) -> float:
    """By how much a value misses what its variable was declared to be, which is no constraint of the problem's."""
    missed = [violation(constraint) for constraint in variable.domain]
    entries, declared = np.atleast_1d(np.asarray(value, dtype=float)), variable.attributes
    if len(variable.boolean_idx):
        chosen = entries[tuple(variable.boolean_idx)]
        missed.append(_largest(chosen - np.clip(np.round(chosen), 0.0, 1.0)))
    if len(variable.integer_idx):
        chosen = entries[tuple(variable.integer_idx)]
        missed.append(_largest(chosen - np.round(chosen)))
    if declared["symmetric"] or declared["PSD"] or declared["NSD"]:
        missed.append(_largest(entries - np.swapaxes(entries, -2, -1)))
    if declared["diag"]:
        missed.append(_largest(entries - np.diag(np.diag(entries))))
    if variable.sparse_idx is not None:
        # CVXPY keeps nothing of the entries beside the pattern.
        beside = entries.copy()
        beside[tuple(variable.sparse_idx)] = 0.0
        missed.append(_largest(beside))
    return max(missed, default=0.0)


def _violation_in_the_limit(constraint: Any) -> float:
    """The same where squares over a number that an optimum brings to zero are the terms: with the least one in its place."""
    if not isinstance(constraint, cp.constraints.Inequality):
        return math.inf
    smaller, larger = (_in_the_limit(term) for term in constraint.args)
    found = float(np.max(smaller - larger, initial=0.0))
    return max(found, LEAST) if math.isfinite(found) else math.inf


def _in_the_limit(term: Any) -> Any:
    if not term.args:
        return np.asarray(term.value)
    values = [_in_the_limit(each) for each in term.args]
    if isinstance(term, cp.quad_over_lin):
        values[1] = np.maximum(values[1], LEAST)
    return np.asarray(term.numeric(values))


def _largest(entries: Any) -> float:
    return float(np.max(np.abs(entries), initial=0.0))
