"""Values of expressions where their variables are tried at random points, and keep their own values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["ROUNDED", "anywhere", "tried"]

ROUNDED = 1e-12  # share of the terms of a sum, or of the entries of a matrix, up to which something is rounding of them


@contextlib.contextmanager
def tried(variables: Sequence[Any]) -> Iterator[Callable[[Any, Callable[[Any], Any]], Any]]:
    """A function from an expression and the entries of each variable to the value there; variables keep their own values."""
    before = [variable.value for variable in variables]

    def at(expression: Any, entries: Callable[[Any], Any]) -> Any:
        for variable in variables:
            variable.save_value(entries(variable))
        value = expression.value
        return np.asarray(value.toarray() if sp.issparse(value) else value)

    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield at
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.save_value(value)


def anywhere(variable: Any, rng: np.random.Generator) -> Any:
    """A random point of the span of what a variable may be.

    Its signs, bounds and whole numbers are left out: a point within them has entries that are zero, or equal, by chance.
    """
    kind, point = variable.attributes, rng.standard_normal(variable.shape)
    if variable.is_complex():
        point = 1j * point if variable.is_imag() else point + 1j * rng.standard_normal(variable.shape)
    if any(kind[name] for name in ("symmetric", "PSD", "NSD", "hermitian")):
        return point + np.conj(np.swapaxes(point, -2, -1))
    return point * np.eye(variable.shape[-1]) if kind["diag"] else point
