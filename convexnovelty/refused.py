"""What a problem, a constraint or a term may not hold: each is refused with what was found, before a solver sees something else."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.trial_points import ROUNDED, anywhere, tried
from convexnovelty.validation import SHOWN, shown

__all__ = ["divides_by_zero", "refuse_approximated", "refuse_division", "refuse_not_convex", "refuse_unlimited"]

EXPONENT = 1e-9  # what an exponent may be off by
LOGARITHM, APART = 1e-6, 1e4  # what a logarithm may be off by at this ratio of eigenvalues
FEW = 64  # entries of an array that may be part of such a function
APPROXIMATE = ("loggamma", "log_normcdf")  # functions of CVXPY that stand for pieces fitted to what they are called


def refuse_not_convex(problem: Any, name: str) -> None:
    """Raise InputError for what is no problem of CVXPY, or none that is convex by its rules, with the term that is not."""
    if not isinstance(problem, cp.Problem):
        raise InputError(f"problem: {shown(problem)} was found; give a cvxpy.Problem")
    if problem.is_dcp():
        return
    wrong = next((term for term in (problem.objective, *problem.constraints) if not term.is_dcp()), problem)
    raise InputError(
        f"problem: {name} has {_written(wrong)}, which is not convex by the rules of CVXPY; "
        "write it with functions that are, or solve it by CVXPY with a solver that asks for no convexity"
    )


def divides_by_zero(term: Any) -> bool:
    """Whether a constraint or an expression has something over zero in it, which CVXPY leaves out without a word."""
    left = [term]
    while left:
        node = left.pop()
        left += node.args
        if isinstance(node, cp.atoms.affine.binary_operators.DivExpression) and np.any(node.args[1].value == 0):
            return True
    return False


def refuse_division(given: Any, name: str) -> None:
    """Raise InputError where a constraint or a term would be lost, or become infinite, over a zero."""
    if isinstance(given, (cp.Constraint, cp.Expression)) and divides_by_zero(given):
        raise InputError(
            f"{name}: {_written(given)} divides by zero, where CVXPY leaves terms out; multiply "
            "the other side instead, or leave the entry out"
        )


def refuse_unlimited(given: Any, name: str) -> None:
    """Raise InputError for a constraint or a term with a number in it that is not finite: a solver takes none."""
    for constant in given.constants() if isinstance(given, (cp.Constraint, cp.Expression)) else ():
        entries = constant.value.data if sp.issparse(constant.value) else np.asarray(constant.value)
        if not np.isfinite(entries).all():
            written = " ".join(str(given).split())
            found = entries[~np.isfinite(entries)].flat[0]
            raise InputError(
                f"{name}: {found} was found in {written}; give finite numbers, and leave out bounds that are none"
            )


def refuse_approximated(term: Any, name: str) -> None:
    """Raise InputError where CVXPY puts something else, that is off by more than a solver, in place of what is written."""
    numbers = _numbers(term)
    for function, own in _fitted().items():
        if own <= numbers:
            raise InputError(
                f"{name}: CVXPY's {function} is a fit to that function, which is up to 1e-2 off; bound what it is a function of, "
                "or state pieces of your own by cp.maximum"
            )
    left = [term]
    while left:
        atom = left.pop()
        left += atom.args
        error = float(np.max(getattr(atom, "approx_error", 0.0)))
        if error > EXPONENT:
            kind = type(atom).__name__.removesuffix("Approx").lower()
            raise InputError(
                f"{name}: CVXPY rounds an exponent of {kind} to a fraction, which is {error:.1g} off, and the set or program would be "
                "another one; give approx=False, with which it takes power cones"
            )
        if _is_halved(atom):
            raise InputError(
                f"{name}: CVXPY's power({_written(atom.args[0])}, {float(atom.p_used):g}) is one of numbers that are not negative, which it asks them "
                "to be; of others give power(abs(...)), which is the same for an even exponent"
            )
        if (matrix := _of_eigenvalues(atom)) is not None and not _is_symmetric(matrix):
            raise InputError(
                f"{name}: CVXPY asks the matrix of {type(atom).__name__} to be symmetric, which {_written(matrix)} is not, and the set or "
                "program would be another one; give a symmetric one with the same eigenvalues: L.T @ S @ L for inv(S0) @ S, where "
                "inv(S0) = L @ L.T"
            )
        nodes = getattr(atom, "quad_approx", ())
        if nodes and (error := _error_of_logarithm(*nodes)) > LOGARITHM:
            raise InputError(
                f"{name}: CVXPY approximates the logarithm in {type(atom).__name__} with quad_approx={tuple(nodes)}, which is {error:.1g} off "
                f"for eigenvalues {APART:.0e} apart; give quad_approx=(4, 6)"
            )


def _written(term: Any) -> str:
    text = " ".join(str(term).split())
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _is_halved(atom: Any) -> bool:
    """Whether a power is even and yet means numbers that are not negative: powers of two alone are taken of all."""
    if not isinstance(atom, cp.atoms.elementwise.power.Power) or atom.p_used is None or atom.args[0].is_nonneg():
        return False
    exponent = float(atom.p_used)
    return exponent > 2 and exponent % 2 == 0 and math.log2(exponent) % 1 != 0


def _of_eigenvalues(atom: Any) -> Any:
    """The matrix of which an atom is a function of the eigenvalues, or None."""
    if isinstance(atom, (cp.log_det, cp.lambda_max, cp.tr_inv)):
        return atom.args[0]
    return atom.args[1] if isinstance(atom, cp.MatrixFrac) else None


def _is_symmetric(matrix: Any) -> bool:
    """Whether a matrix is symmetric wherever the square variables in it are, by its value at one such place."""
    if matrix.is_hermitian() or any(parameter.value is None for parameter in matrix.parameters()):
        return True
    rng, variables = np.random.default_rng(23), matrix.variables()

    def symmetric(variable: Any) -> Any:
        point = anywhere(variable, rng)
        square = point.ndim == 2 and point.shape[0] == point.shape[1]
        return point + np.conj(point.T) if square else point

    with tried(variables) as at:
        found = at(matrix, symmetric)
        # Where terms cancel, what is left of them is rounding of theirs.
        size = max(float(np.abs(at(term, symmetric)).max(initial=0.0)) for term in _summands(matrix))
    return bool(np.abs(found - np.conj(found.T)).max(initial=0.0) <= ROUNDED * size)


def _summands(matrix: Any) -> list[Any]:
    kinds = cp.atoms.affine.add_expr.AddExpression, cp.atoms.affine.unary_operators.NegExpression
    return [term for part in matrix.args for term in _summands(part)] if isinstance(matrix, kinds) else [matrix]


def _numbers(term: Any) -> set[float]:
    """The numbers in a constraint or an expression, but those of its long arrays."""
    values = [constant.value for constant in term.constants() if constant.size <= FEW]
    return {float(v) for value in values for v in np.unique(np.real(value.toarray() if sp.issparse(value) else value))}


@cache
def _fitted() -> dict[str, set[float]]:
    """The numbers that show functions which CVXPY writes out in pieces: nothing else is left of their names."""
    written = {name: [getattr(cp, name)(cp.Variable(size)) for size in (1, FEW)] for name in APPROXIMATE}
    return {name: _numbers(one) & _numbers(many) for name, (one, many) in written.items()}


def _error_of_logarithm(nodes: int, roots: int) -> float:
    """What a quadrature of so many nodes for the root of order 2^roots has for a logarithm, less the logarithm."""
    at, weights = np.polynomial.legendre.leggauss(nodes)
    beyond = APART ** (2.0**-roots) - 1
    return abs(float(2.0**roots * np.sum(weights / 2 * beyond / ((at + 1) / 2 * beyond + 1)) - np.log(APART)))
