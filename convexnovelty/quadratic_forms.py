r"""Quadratic forms with a matrix of numbers as sums of squares that keep all of its directions.

CVXPY factors the matrix of :math:`x'Px` and :math:`x'P^{-1}x` as it stands and leaves out what is below 2e-10 of its largest part:
of raw columns, whose squares differ by more, whole directions, along which a constraint or a term then says nothing. Here rows and
columns are brought to a diagonal of ones before, so that what is left out is rounding in any units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.validation import Array

__all__ = ["in_squares", "loses_nothing"]

SPAN = (
    1e6  # ratio of a diagonal's entries, squares of columns' units, from where on what CVXPY leaves out may be a column
)
INDEFINITE = 1e-9  # share of the largest eigenvalue up to which one of the other sign is rounding of a matrix that is called semidefinite
# Share of the largest eigenvalue, times the dimension, up to which one is zero.
ROUNDING = 16 * float(np.finfo(np.float64).eps)


def in_squares(term: Any) -> Any:
    """A constraint or an expression with sums of squares in place of forms whose matrix is constant; itself where there are none."""
    if not getattr(term, "args", None) or (isinstance(term, cp.Expression) and term.is_constant()):
        return term
    args = [in_squares(part) for part in term.args]
    if isinstance(term, (cp.QuadForm, cp.MatrixFrac)) and (factor := _factor(term)) is not None:
        sign, rows = factor
        return sign * cp.sum_squares(rows @ args[0]) if rows.size else cp.Constant(0.0)
    same = all(one is other for one, other in zip(args, term.args, strict=True))
    return term if same else term.copy(args)


def loses_nothing(objective: Any) -> bool:
    """Whether an objective may stay as it is: a quadratic one, which most solvers get as it is, of forms whose diagonals are of a size.

    For a solver that takes cones alone it is put in squares when it is solved.
    """
    return bool(objective.is_quadratic()) and not _out_of_proportion(objective)


def _out_of_proportion(term: Any) -> bool:
    if isinstance(term, cp.QuadForm) and term.args[1].is_constant() and not term.args[1].parameters():
        matrix = term.args[1].value
        sizes = np.abs(matrix.diagonal() if sp.issparse(matrix) else np.diag(matrix))
        return bool(sizes.max(initial=0.0) > SPAN * sizes.min(initial=np.inf, where=sizes > 0))
    return any(_out_of_proportion(part) for part in term.args)


def _factor(form: Any) -> tuple[float, Array] | None:
    """The sign of a form and rows F with form = sign ||F x||^2; None where the matrix is not constant, not real or has no such rows."""
    x, matrix = form.args
    if not matrix.is_constant() or matrix.parameters() or matrix.is_complex() or x.is_complex():
        return None
    P = np.asarray(matrix.value.toarray() if sp.issparse(matrix.value) else matrix.value, dtype=float)
    sizes = np.sqrt(np.abs(np.diag(P)))
    sizes[sizes == 0] = 1.0
    values, vectors = np.linalg.eigh((P + P.T) / 2 / sizes / sizes[:, None])
    least = ROUNDING * len(P) * float(np.abs(values).max(initial=0.0))
    if isinstance(form, cp.MatrixFrac):
        return (1.0, (vectors / np.sqrt(values)).T / sizes) if values.size and values[0] > least else None
    above, below = max(float(values.max(initial=0.0)), 0.0), max(float(-values.min(initial=0.0)), 0.0)
    if min(above, below) > INDEFINITE * max(above, below):
        return None
    sign, kept = (1.0, values > least) if above >= below else (-1.0, values < -least)
    return sign, (vectors[:, kept] * np.sqrt(np.abs(values[kept]))).T * sizes
