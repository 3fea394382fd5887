"""Rows of a membership in which everything cancels but for rounding.

``cp.sum(X @ u) == 0`` holds of every u where the columns of X are centred. What rounding leaves of its coefficients is an
equation to a solver that looks at it in scale, and would cut the set to a subspace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp

__all__ = ["without_cancelled"]

ENROLS_NOTHING = "what memberships are made of"

ROUNDED = 1e-12  # share of what the terms of a sum are together up to which it may be rounding


def without_cancelled(constraint: Any) -> Any:
    """The equations or inequalities, with zeros in place of rows that are nothing but rounding; itself where there are none."""
    if not isinstance(constraint, (cp.constraints.Equality, cp.constraints.Inequality)):
        return constraint
    row = constraint.expr
    if not row.is_affine() or not row.variables():
        return constraint
    kept = ~_cancels(row)
    if kept.all():
        return constraint
    left = cp.multiply(kept.astype(float), row)
    return left == 0 if isinstance(constraint, cp.constraints.Equality) else left <= 0


def _cancels(row: Any) -> Any:
    """Which entries of an affine expression have coefficients, and a constant, that are rounding of the terms they are made of."""
    terms, variables = _sizes(row), row.variables()
    before = [variable.value for variable in variables]
    rng = np.random.default_rng(29)

    def at(expression: Any, entries: Any) -> Any:
        for variable in variables:
            variable.save_value(entries(variable))
        return np.asarray(expression.value)

    try:
        constant, largest = at(row, _zeros), at(terms, _zeros)
        moved = at(row, lambda variable: variable.project(rng.standard_normal(variable.shape)))
        summed = at(terms, lambda variable: np.ones(variable.shape))
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.save_value(value)
    cancelled = np.abs(moved - constant) <= ROUNDED * (summed - largest)
    return cancelled & (summed > largest) & (np.abs(constant) <= ROUNDED * largest)


def _zeros(variable: Any) -> Any:
    return np.zeros(variable.shape)


def _sizes(node: Any) -> Any:
    """The same sum with all of its terms positive: constants by their size, and nothing subtracted."""
    if isinstance(node, cp.Constant):
        return cp.Constant(abs(node.value))
    if not node.args:
        return node
    made = list(map(_sizes, node.args))
    if isinstance(node, cp.atoms.affine.unary_operators.NegExpression):
        return made[0]
    return node.copy(made)
