r"""Arithmetic with balls: every number is a midpoint and a radius, and the true value provably lies between.

Sums, products and matrix products are formed in floating point, and the radius takes in every rounding error by the
bounds that hold in any order of summation, with or without fused operations:
:math:`|\mathrm{fl}(x'y) - x'y| \le \gamma_n\,|x|'|y|` with :math:`\gamma_n = nu/(1 - nu)` and :math:`u = 2^{-53}`
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). So whatever BLAS is installed, a statement that
is read off a ball is a theorem about the numbers that went in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty.cones import Block, Cones, smat
from convexnovelty.validation import Array

__all__ = ["Ball", "in_cones", "is_positive_semidefinite", "product", "solution_of"]

UNIT = 2.0**-53
TINY = 1e-290  # takes in underflow, also of sums of many products
# A radius is itself computed in floating point, from sums of at most a million nonnegative terms.
GROWN = 1.0 + 1e-9


@dataclass(frozen=True)
class Ball:
    """Numbers known to within ``rad`` of ``mid``, entry by entry."""

    mid: Array
    rad: Array

    @classmethod
    def exact(cls, values: Any) -> Ball:
        """Floating point numbers as they are."""
        array = np.asarray(values, dtype=float)
        return cls(array, np.zeros_like(array))

    @property
    def lower(self) -> Array:
        """No number of the ball is below."""
        return np.nextafter(self.mid - self.rad, -np.inf)

    @property
    def upper(self) -> Array:
        """No number of the ball is above."""
        return np.nextafter(self.mid + self.rad, np.inf)

    def __add__(self, other: Ball) -> Ball:
        mid = self.mid + other.mid
        return Ball(mid, (self.rad + other.rad + UNIT * np.abs(mid)) * GROWN + TINY)

    def __sub__(self, other: Ball) -> Ball:
        return self + Ball(-other.mid, other.rad)

    def __mul__(self, other: Ball) -> Ball:
        mid = self.mid * other.mid
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad) + UNIT * np.abs(mid)
        return Ball(mid, rad * GROWN + TINY)

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __getitem__(self, index: Any) -> Ball:
        return Ball(self.mid[index], self.rad[index])

    def dot(self, other: Ball) -> Ball:
        """The inner product of two vectors."""
        return product(self.mid[None, :], other, self.rad[None, :])[0]

    def norm_upper(self) -> float:
        """A number that the Euclidean norm does not exceed."""
        largest = np.abs(self.mid) + self.rad
        return float(np.linalg.norm(largest)) * (1.0 + (largest.size + 8) * 4 * UNIT) + TINY


def product(matrix: Any, values: Ball, rad: Any = None) -> Ball:
    """A matrix (dense or sparse, known to within ``rad``) times a vector or matrix of balls."""
    terms = matrix.shape[1]
    if sp.issparse(matrix):
        terms = int(np.max(np.diff(sp.csr_array(matrix).indptr), initial=0))
    size = abs(matrix)
    mid = matrix @ values.mid
    spread = size @ values.rad + (2 * (terms + 2) * UNIT) * (size @ np.abs(values.mid))
    if rad is not None:
        spread = spread + rad @ (np.abs(values.mid) + values.rad)
    return Ball(np.asarray(mid), np.asarray(spread) * GROWN + TINY)


def is_positive_semidefinite(matrix: Ball) -> bool:
    r"""Whether every symmetric matrix of the ball provably has no negative eigenvalue.

    With :math:`L` the computed Cholesky factor of :math:`M - cI`, the matrix is :math:`LL' + cI + E`; it is positive
    semidefinite where :math:`\|E\|_\infty \le c`. Nothing is assumed about the factorisation.
    """
    order = matrix.mid.shape[0]
    if order == 0:
        return True
    middle = (matrix.mid + matrix.mid.T) / 2
    spread = float(np.max(np.sum(matrix.rad + np.abs(matrix.mid - middle), axis=1))) * GROWN
    trace = float(np.sum(np.abs(np.diag(middle))))
    shift = 1.5 * spread + 8.0 * (order + 4) * UNIT * trace + TINY
    if not math.isfinite(shift):
        return False
    if order == 1:
        return bool(matrix.lower[0, 0] >= 0)
    try:
        factor = np.linalg.cholesky(middle - shift * np.eye(order))
    except np.linalg.LinAlgError:
        return False
    error = Ball(middle, np.zeros_like(middle)) - product(factor, Ball.exact(factor.T))
    error = error - Ball(shift * np.eye(order), np.zeros_like(middle))
    left = float(np.max(np.sum(np.abs(error.mid) + error.rad, axis=1))) * GROWN + spread
    return bool(left <= shift)


def solution_of(matrix: Any, right: Ball, start: Array | None = None) -> Ball | None:
    r"""A ball around the solution of a square system that is thereby proved to be regular, or None.

    With :math:`R \approx M^{-1}` and :math:`\|I - RM\|_\infty \le \beta < 1` the matrix is regular, and the solution
    differs from :math:`x_0 + R(g - Mx_0)` by at most :math:`\beta/(1-\beta)` times the largest entry of the correction.
    """
    dense = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    if dense.shape[0] == 0:
        return Ball(np.zeros(0), np.zeros(0))
    try:
        inverse = np.linalg.inv(dense)
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.isfinite(inverse)):
        return None
    defect = Ball(np.eye(dense.shape[0]), np.zeros_like(dense)) - product(inverse, Ball.exact(dense))
    beta = float(np.max(np.sum(np.abs(defect.mid) + defect.rad, axis=1))) * GROWN
    if not beta < 0.1:
        return None
    point = np.zeros(dense.shape[0]) if start is None else start
    for _ in range(2):
        point = point + inverse @ (right.mid - dense @ point)
    correction = product(inverse, right - product(dense, Ball.exact(point)))
    most = float(np.max(np.abs(correction.mid) + correction.rad)) * GROWN
    rest = most * beta / (1.0 - beta) * GROWN + TINY
    return Ball.exact(point) + Ball(correction.mid, correction.rad + rest)


# -- cones -----------------------------------------------------------------------------------------------------------


def in_cones(cones: Cones, values: Ball, *, dual: bool = False) -> str:
    """The empty string if all of the ball provably lies in the cones (or their duals), else the first that it may leave."""
    for block in cones.blocks():
        if not _inside(block, values[block.rows], dual):
            return f"{block.kind} cone in rows {block.rows.start} to {block.rows.stop - 1}"
    return ""


def _inside(block: Block, v: Ball, dual: bool) -> bool:
    if block.kind == "zero":
        return dual or not (np.any(v.mid) or np.any(v.rad))
    if not np.all(np.isfinite(v.mid)) or not np.all(np.isfinite(v.rad)):
        return False
    if not (np.any(v.mid) or np.any(v.rad)):
        return True  # zero lies in every cone
    if block.kind == "nonnegative":
        # mid >= rad is the exact comparison of two floating point numbers.
        return bool(np.all(v.mid >= v.rad))
    if block.kind == "second_order":
        return bool(v.lower[0] >= v[1:].norm_upper()) if v.mid.size > 1 else bool(v.mid[0] >= v.rad[0])
    if block.kind == "semidefinite":
        order = block.parameter
        middle = smat(v.mid, order)
        # The scale 1/sqrt(2) of the off-diagonal entries is rounded, and its product with the entry too.
        spread = smat(v.rad, order) * (1.0 + 1e-12) + 4 * UNIT * np.abs(middle) + TINY
        return is_positive_semidefinite(Ball(middle, spread))
    if block.kind == "exponential":
        return _in_exponential(v, dual)
    return _in_power(v, block.parameter, dual)


def _intervals(v: Ball) -> list[Any]:
    from mpmath import iv

    return [iv.mpf([float(low), float(high)]) for low, high in zip(v.lower, v.upper, strict=True)]


def _not_above(first: Any, second: Any) -> bool:
    """Whether no number of one interval exceeds any of the other; mpmath raises where two of them overlap."""
    return bool(first.b <= second.a)


def _in_exponential(v: Ball, dual: bool) -> bool:
    """Interior points by interval arithmetic: y exp(x/y) <= z with y > 0, or the dual's -u exp(w/u) <= e t with u < 0."""
    from mpmath import iv

    x, y, z = _intervals(v)
    if dual:
        return bool(x.b < 0) and _not_above(-x * iv.exp(y / x), iv.e * z)
    return bool(y.a > 0) and _not_above(y * iv.exp(x / y), z)


def _in_power(v: Ball, exponents: tuple[float, ...], dual: bool) -> bool:
    """Interior points by interval arithmetic; the last exponent is one minus the others, as the cone demands."""
    from mpmath import iv

    *heads, tail = _intervals(v)
    if not all(bool(head.a > 0) for head in heads):
        return False
    weights = [iv.mpf(a) for a in exponents[:-1]]
    weights.append(1 - sum(weights, iv.mpf(0)))
    logarithm = sum((w * iv.log(head / w if dual else head) for w, head in zip(weights, heads, strict=True)), iv.mpf(0))
    return _not_above(abs(tail), iv.exp(logarithm))
