"""Constraints that a user writes, without what is nothing but rounding of the numbers in them.

``cp.sum(X @ u) == 0`` holds of every u where the columns of X are centred. What rounding leaves of its coefficients is an
equation to a solver that looks at it in scale, and would cut what is allowed to a subspace. So do the equations with which
functions of symmetric matrices are compiled where CVXPY does not know that their argument, as ``L @ S @ L.T``, is symmetric.
Where nothing of u is left at all, as on the diagonal of ``S - cp.diag(cp.diag(S)) == R``, rounding of R would allow nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.quadratic_forms import in_squares
from convexnovelty.refused import refuse_approximated
from convexnovelty.trial_points import ROUNDED, anywhere, tried

__all__ = ["as_meant"]

FAR = 1e50  # the size of variables beside which constants, however large, do not hide coefficients in their rounding


def as_meant(constraint: Any, typical: bool = False, name: str = "membership") -> Any:
    """The constraint with zeros in place of rows, and symmetric matrices in place of ones, that are so but for rounding.

    It comes back itself where there are none, and where parameters, whose values may change, are in it, but for forms in a matrix of
    numbers, which become sums of squares in either case. ``typical`` says that
    variables which have values have such as are to be expected: what they cancel with may be rounded as they are. ``name`` is
    that of the argument in errors.
    """
    if isinstance(constraint, cp.Constraint):
        refuse_approximated(constraint, name)
        constraint = in_squares(constraint)
    if not isinstance(constraint, cp.Constraint) or not constraint.variables() or constraint.parameters():
        return constraint
    return _without_cancelled(_symmetrised(constraint), typical)


def _without_cancelled(constraint: Any, typical: bool) -> Any:
    if not isinstance(constraint, (cp.constraints.Equality, cp.constraints.Inequality)):
        return constraint
    row = constraint.expr
    if not row.is_affine() or not row.variables():
        return constraint
    kept = ~_cancels(row, typical)
    if kept.all():
        return constraint
    left = cp.multiply(kept.astype(float), row)
    return left == 0 if isinstance(constraint, cp.constraints.Equality) else left <= 0


def _cancels(row: Any, typical: bool) -> Any:
    """Which entries of an affine expression have coefficients, and a constant, that are rounding of the terms they are made of."""
    terms, variables = _sizes(row), row.variables()
    valued = [(variable.id, variable.value) for variable in variables if variable.value is not None]
    expected = {key: _largest(value) for key, value in valued if typical}
    with tried(variables) as at:
        constant, largest = at(row, _zeros), at(terms, _zeros)
        rng = np.random.default_rng(29)
        moved = at(row, lambda variable: FAR * anywhere(variable, rng))
        summed = np.abs(at(terms, lambda variable: FAR * _ones(variable)))
        # Entries of a matrix are known to rounding of its largest.
        known = at(terms, lambda variable: np.full(variable.shape, expected.get(variable.id, 0.0)))
        cancelled = np.abs(moved - constant) <= ROUNDED * (summed - np.abs(largest))
    small = np.abs(constant) <= ROUNDED * _largest(known)
    return cancelled & small & ((summed > np.abs(largest)) | (constant != 0))


def _ones(variable: Any) -> Any:
    return np.full(variable.shape, 1.0 + 1.0j if variable.is_complex() else 1.0)


def _largest(values: Any) -> float:
    """The size of the largest entry; an infinite bound is none, beside which all would be small."""
    entries = np.abs(values.data if sp.issparse(values) else np.asarray(values))
    return float(np.max(entries, initial=0.0, where=np.isfinite(entries)))


def _zeros(variable: Any) -> Any:
    return np.zeros(variable.shape)


def _sizes(node: Any) -> Any:
    """The same sum with all of its terms positive: constants by their size, and nothing subtracted."""
    affine = isinstance(node, cp.atoms.affine.affine_atom.AffAtom)
    if isinstance(node, cp.Constant) or not (affine or node.variables()):
        return cp.Constant(abs(node.value))
    if not node.args:
        return node
    made = list(map(_sizes, node.args))
    if isinstance(node, cp.atoms.affine.unary_operators.NegExpression):
        return made[0]
    return node.copy(made)


def _symmetrised(constraint: Any) -> Any:
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
    rng, variables = np.random.default_rng(23), part.variables()
    points = {variable.id: anywhere(variable, rng) for variable in variables}
    with tried(variables) as at:
        near = at(part, lambda variable: points[variable.id])
        far = at(part, lambda variable: FAR * points[variable.id])
    return all(np.abs(matrix - matrix.T).max() <= ROUNDED * np.abs(matrix).max() for matrix in (near, far))
