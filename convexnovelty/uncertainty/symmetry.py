"""Matrices in a membership that are symmetric up to rounding, made so to the last digit.

Functions of symmetric matrices are compiled with equations that say that their argument is its own transpose, where CVXPY
does not know it. Of ``L @ S @ L.T`` these equations are nothing but rounding, which in scale would cut a set to a subspace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp

__all__ = ["symmetrised"]

ENROLS_NOTHING = "what memberships are made of"

ROUNDED = 1e-12  # share of the entries of a matrix up to which it may differ from its transpose by rounding


def symmetrised(constraint: Any) -> Any:
    """The constraint, with arguments of its functions in place of what is symmetric up to rounding; itself where there are none."""
    if not isinstance(constraint, cp.Constraint) or not constraint.variables():
        return constraint
    rebuilt = [_rebuilt(side) for side in constraint.args]
    made = list(map(_symmetric, rebuilt)) if isinstance(constraint, cp.constraints.PSD) else rebuilt
    same = all(one is other for one, other in zip(made, constraint.args, strict=True))
    return constraint if same else constraint.copy(made)


def _rebuilt(node: Any) -> Any:
    if not node.args or node.is_constant():
        return node
    made = [_rebuilt(part) for part in node.args]
    if not isinstance(node, cp.atoms.affine.affine_atom.AffAtom):
        made = list(map(_symmetric, made))
    same = all(one is other for one, other in zip(made, node.args, strict=True))
    return node if same else node.copy(made)


def _symmetric(part: Any) -> Any:
    square = part.ndim == 2 and part.shape[0] == part.shape[1] > 1
    if (
        not square
        or part.is_constant()
        or part.is_symmetric()
        or not part.is_affine()
        or not _differs_by_rounding(part)
    ):
        return part
    return cp.atoms.affine.wraps.symmetric_wrap((part + part.T) / 2)


def _differs_by_rounding(part: Any) -> bool:
    """Whether an affine matrix and its transpose are the same wherever its variables are, by their values at random ones."""
    variables = part.variables()
    before = [variable.value for variable in variables]
    rng = np.random.default_rng(23)
    try:
        for variable in variables:
            variable.save_value(variable.project(rng.standard_normal(variable.shape)))
        found = np.asarray(part.value)
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.save_value(value)
    return bool(np.abs(found - found.T).max() <= ROUNDED * np.abs(found).max())
