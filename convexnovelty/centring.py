r"""The analytic centre of the feasible set of a conic program, by Newton's method on the logarithmic barrier.

At the least value of the barrier a set lies between the ellipsoid of the barrier's second derivative and a multiple of it by
the cones' parameter, in whatever coordinates it was written: no other point says as well how far the set reaches along each
direction. An interior-point solver's point has that property in exact arithmetic, and next to none of it where the set is
thin beside its coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from convexnovelty.cones import Block, smat, svec, triangle
from convexnovelty.conic import ConicProgram
from convexnovelty.round_position import is_inside
from convexnovelty.validation import Array

__all__ = ["analytic_centre"]

WIDEST = 250  # columns and rows up to which steps are worth their dense factorisations
STEPS = 60  # of Newton's method
ROUNDING = 1e-4  # of what a solver may leave of a slack, as its share that may be rounding
WORTH = 10.0  # what the barrier must fall by: a solver's point at which it is less is one inside by any measure
NEAR = 0.3  # decrement from which on the ellipsoid is that of the centre but for a third
DEPENDENT = 1e-12  # share of the largest singular value below which equations or steps are none


def analytic_centre(program: ConicProgram, inside: Array) -> Array:
    """The analytic centre, from a point inside; that point itself where the centre is no better, or where one of the two lies
    next to a wall by rounding.

    Equations are kept as they are met there. Where the set has no end there is no centre, and no other point is looked for.
    """
    blocks, A, zero = [b for b in program.blocks if b.kind != "zero"], program.A.toarray(), program.cones.zero
    if not blocks or max(A.shape) > WIDEST or not _is_inside(program, inside):
        return inside
    x, height = inside, _height(blocks, program.b - A @ inside)
    first, decrement = height, math.inf
    for _ in range(STEPS):  # as many as a set without an end would take for ever
        step, decrement = _newton(blocks, A, zero, program.b - A @ x)
        further, lower = _further(program, blocks, A, x, step, height, 1.0 / (1.0 + decrement))
        if not lower < height:
            break
        x, height = further, lower
        if decrement < NEAR:
            break
    else:
        return inside
    return x if first - height > WORTH and _is_inside(program, x) else inside


def _is_inside(program: ConicProgram, x: Array) -> bool:
    terms = np.abs(program.b) + abs(program.A) @ np.abs(x)
    return is_inside(program.b - program.A @ x, ROUNDING * terms, program.cones)


def _newton(blocks: list[Block], A: Array, zero: int, slack: Array) -> tuple[Array, float]:
    """Newton's step along the equations, and its length in the metric of the barrier."""
    pieces = [_local(block, slack[block.rows]) for block in blocks]
    seen = np.vstack([root @ A[block.rows] for block, (root, _) in zip(blocks, pieces, strict=True)])
    wanted = np.concatenate([pull for _, pull in pieces])
    reach = np.linalg.norm(seen, axis=0)
    columns = 1.0 / np.where(reach > 0, reach, 1.0)
    equations = A[:zero] * columns
    along = _free(equations)
    step = along @ np.linalg.lstsq(seen * columns @ along, -wanted, rcond=DEPENDENT)[0]
    if zero:  # along a thin direction a step is long beside what it changes
        step = step - np.linalg.lstsq(equations, equations @ step, rcond=DEPENDENT)[0]
    return columns * step, float(np.linalg.norm(seen @ (columns * step)))


def _further(
    program: ConicProgram, blocks: list[Block], A: Array, x: Array, step: Array, height: float, share: float
) -> tuple[Array, float]:
    """The point at a share of a step, doubled as long as that lowers the barrier, and the barrier there."""
    best, lowest = x, height
    for _ in range(60):
        further = x + share * step
        lower = _height(blocks, program.b - A @ further)
        if not lower < lowest:
            break
        best, lowest, share = further, lower, 2.0 * share
    return best, lowest


def _free(equations: Array) -> Array:
    """A basis of what equations leave free."""
    size = np.linalg.norm(equations, axis=1, keepdims=True)
    _, values, rows = np.linalg.svd(equations / np.where(size > 0, size, 1.0), full_matrices=True)
    return np.asarray(rows[int(np.sum(values > DEPENDENT * values.max(initial=0.0))) :].T)


def _height(blocks: list[Block], slack: Array) -> float:
    """The barrier of a slack, infinite outside of the cones."""
    with np.errstate(all="ignore"):
        height = sum(_barrier(block, slack[block.rows]) for block in blocks)
    return float(height) if math.isfinite(height) else math.inf


def _barrier(block: Block, s: Array) -> float:
    if block.kind == "nonnegative":
        return -float(np.log(s).sum()) if (s > 0).all() else math.inf
    if block.kind == "second_order":
        rest = float(s[0] - np.linalg.norm(s[1:]))
        return -math.log(rest) - math.log(s[0] + np.linalg.norm(s[1:])) if rest > 0 else math.inf
    if block.kind == "semidefinite":
        factor = _factor(s, block.parameter)
        return math.inf if factor is None else -2.0 * float(np.log(factor.diagonal()).sum())
    if block.kind == "exponential":
        x, y, z = s
        if not min(y, z) > 0 or not y * math.log(z / y) - x > 0:
            return math.inf
        return -math.log(y * math.log(z / y) - x) - math.log(y) - math.log(z)
    exponents, factors = np.array(block.parameter), s[:-1]
    if not factors.min() > 0:
        return math.inf
    rest = math.exp(2.0 * float(exponents @ np.log(factors))) - s[-1] ** 2
    return -math.log(rest) - float((1.0 - exponents) @ np.log(factors)) if rest > 0 else math.inf


def _factor(s: Array, order: int) -> Array | None:
    """Cholesky's factor of a slack, taken with ones on the diagonal; None where it has none."""
    whole = smat(s, order)
    if not whole.diagonal().min() > 0:
        return None
    size = np.sqrt(whole.diagonal())
    try:
        return np.asarray(size[:, None] * np.linalg.cholesky(whole / np.outer(size, size)))
    except np.linalg.LinAlgError:
        return None


def _local(block: Block, s: Array) -> tuple[Array, Array]:
    r"""A root R of the barrier's second derivative, R'R, at a slack, and :math:`-R^{-\prime}` of its first."""
    if block.kind == "nonnegative":
        return np.diag(1.0 / s), np.ones(s.size)
    if block.kind == "semidefinite":
        inverse = np.linalg.inv(_factor(s, block.parameter))  # type: ignore[arg-type]
        first, second = triangle(block.parameter)
        units = np.zeros((s.size, block.parameter, block.parameter))
        weight = np.where(first == second, 1.0, math.sqrt(0.5))
        units[np.arange(s.size), first, second] = units[np.arange(s.size), second, first] = weight
        root = np.column_stack([svec(inverse @ unit @ inverse.T) for unit in units])
        return root, svec(np.eye(block.parameter))
    slope, curve = _derivatives(block, s)
    size = np.sqrt(curve.diagonal())
    values, vectors = np.linalg.eigh(curve / np.outer(size, size))
    root = np.sqrt(np.maximum(values, 1e-16 * values[-1]))
    return (root[:, None] * vectors.T) * size, -(vectors.T @ (slope / size)) / root


def _derivatives(block: Block, s: Array) -> tuple[Array, Array]:
    """The first and the second derivative of the barriers that have no simple root."""
    if block.kind == "second_order":
        rest = (s[0] - np.linalg.norm(s[1:])) * (s[0] + np.linalg.norm(s[1:]))
        mirrored = np.append(s[0], -s[1:])
        turn = np.diag(np.append(1.0, -np.ones(s.size - 1)))
        return -2.0 * mirrored / rest, 4.0 * np.outer(mirrored, mirrored) / rest**2 - 2.0 * turn / rest
    if block.kind == "exponential":
        x, y, z = s
        rest = y * math.log(z / y) - x
        inner = np.array([-1.0, math.log(z / y) - 1.0, y / z])
        bend = np.array([[0.0, 0.0, 0.0], [0.0, -1.0 / y, 1.0 / z], [0.0, 1.0 / z, -y / z**2]])
        slope = -inner / rest - np.array([0.0, 1.0 / y, 1.0 / z])
        return slope, np.outer(inner, inner) / rest**2 - bend / rest + np.diag([0.0, 1.0 / y**2, 1.0 / z**2])
    exponents, factors = np.array(block.parameter), s[:-1]
    product = math.exp(2.0 * float(exponents @ np.log(factors)))
    rest, pull = product - s[-1] ** 2, 2.0 * exponents / factors
    inner = np.append(product * pull, -2.0 * s[-1])
    bend = np.zeros((s.size, s.size))
    bend[:-1, :-1] = product * (np.outer(pull, pull) - np.diag(pull / factors))
    bend[-1, -1] = -2.0
    slope = -inner / rest - np.append((1.0 - exponents) / factors, 0.0)
    curve = np.outer(inner, inner) / rest**2 - bend / rest
    return slope, curve + np.diag(np.append((1.0 - exponents) / factors**2, 0.0))
