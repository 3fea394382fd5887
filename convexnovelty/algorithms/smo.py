r"""Sequential minimal optimisation for the quadratic programs of this package, with a stored matrix.

.. math:: \min_a \tfrac12 a'Qa + p'a \quad\text{s.t.}\quad y'a = d,\; 0 \le a \le C,

and the same without the equality. It serves the one-class SVM (8.13)-(8.15), the soft ball (8.18)-(8.19), negative data
(8.42)-(8.44), the C-SVM, and the box-constrained dual of the moment classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from convexnovelty.algorithms.box import Box, Offset, kkt_gap, kkt_offset
from convexnovelty.algorithms.free_set import admissible_step, newton_direction
from convexnovelty.columns import columns_as_rows
from convexnovelty.errors import IndefiniteError, InputError, SolverError, UnboundedError
from convexnovelty.validation import EPS, Array, choice, flag, integer, number, positive, symmetric, vector

__all__ = ["Offset", "SMOResult", "smo"]

Rule = Literal["second-order", "schoelkopf"]

ROUGH = 1e-6  # relative gap at which pair steps hand over to Newton steps
EXACT = 1e-14  # relative gap below which nothing but rounding is left
PHASES = 12  # changes between pair steps and Newton steps, before pair steps alone must reach the tolerance
FLAT = 1e-5  # products beside multipliers, in units of Q, below which Q does not see a direction
FEW = 1000  # coordinates up to which the free ones are exchanged one by one where pair steps do not come to an end
EXCHANGES = 20  # exchanges a coordinate, before they are given up
STUCK = 1  # exchanges a coordinate that leave the gap as it is, after which nothing but rounding is left of one that was met
STAYS = 0.1  # the gap, as a share of the linear term, that is no slow convergence


@dataclass(frozen=True)
class SMOResult:
    """A solution of the quadratic program.

    multipliers: a, shape (n,). gradient: Qa + p. violation: the KKT gap m(a) - M(a) in the units of the gradient,
    computed anew from Q, a and p in float64 (without the equality: the largest projected gradient). iterations: pair
    steps. objective: a'Qa/2 + p'a. offset: the multiplier rho of the equality, Qa + p = rho y where a is between its
    bounds; None without the equality. converged: whether the gap met the tolerance, true for every result returned.
    """

    multipliers: Array
    gradient: Array
    violation: float
    iterations: int
    objective: float
    offset: Offset | None
    rule: Rule
    converged: bool


def smo(
    Q: Any,
    p: Any = None,
    y: Any = None,
    d: float = 1.0,
    upper: Any = np.inf,
    *,
    equality: bool = True,
    rule: Rule = "second-order",
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    start: Any = None,
    seed: int = 0,
    semidefinite: bool = False,
) -> SMOResult:
    """Minimise a'Qa/2 + p'a over 0 <= a <= upper with y'a = d, or without that equality.

    Q is positive semidefinite of shape (n, n), y has entries -1 and 1 (all 1 if not given), ``upper`` is one number or
    one a coordinate, infinity allowed. ``tolerance`` bounds the KKT gap relative to the size of the terms of the
    gradient, |Q||a| + |p|, so that it means the same in every unit. Newton steps on the free coordinates usually end
    far below it. Where products cancel down to a linear term that is far smaller, as a margin of one is beside raw columns,
    it is the same share of that term which is looked for, up to a thousand coordinates and as far as it is no rounding.

    ``rule="second-order"`` chooses pairs as libsvm does (Fan, Chen and Lin, JMLR 6, 2005); ``rule="schoelkopf"`` is
    section 8.4 of the chapter: a random start (seeded), scans over all points and over those off their bounds, and
    the second choice (8.28). ``start`` is a first guess; it is moved into the feasible set. ``semidefinite`` says
    that Q is known to be so, as a matrix of inner products is, and leaves out the factorisation that shows it.

    Raises InputError for a box that cannot meet the equality and for values that are not finite, IndefiniteError with
    the eigenvalue, UnboundedError for an objective without a minimum, and SolverError with the gap if
    ``max_iterations`` pair steps did not suffice. Without that number, an active-set method goes on where pair steps hardly
    move, as on flat matrices with a small linear term.
    """
    choice(rule, "rule", ("second-order", "schoelkopf"))
    equality, semidefinite = flag(equality, "equality"), flag(semidefinite, "semidefinite")
    seed = integer(seed, "seed", 0)
    if rule == "schoelkopf" and not equality:
        raise InputError("rule: 'schoelkopf' moves pairs along the equality; without it give 'second-order'")
    matrix = symmetric(columns_as_rows(Q), "Q")
    n = len(matrix)
    linear = np.zeros(n) if p is None else vector(p, "p", n)
    tolerance, total = positive(tolerance, "tolerance"), number(d, "d")
    limit = max(1_000_000, 100 * n) if max_iterations is None else integer(max_iterations, "max_iterations", 0)
    box = Box.of(n, upper, y, total if equality else None)
    guess = np.zeros(n) if start is None else box.signs * vector(start, "start", n)
    if not semidefinite:
        refuse_indefinite(matrix)

    # In signed coordinates and in units of the largest diagonal entry: of a positive semidefinite matrix, no entry is
    # larger than that one.
    unit = float(np.diagonal(matrix).max()) or 1.0
    if (box.signs < 0).any():
        matrix *= np.outer(box.signs, box.signs)
    matrix /= unit
    program = _Program(matrix, box.signs * linear / unit, box)
    order = np.random.default_rng(seed).permutation(n) if rule == "schoelkopf" else np.arange(n)
    b, steps = _minimise(program, box.feasible(guess, order), rule, tolerance, limit, seed)

    if max_iterations is None and n <= FEW:
        b = _exchanged(program, b, tolerance)
    gradient = program.gradient(b)
    gap, asked = kkt_gap(gradient, b, box), tolerance * program.size(b)
    refuse_ray(b, np.where(b < 0, -box.lower, box.upper), gradient - program.linear, program.linear, gap, "smo")
    if gap > asked:
        raise SolverError(
            f"smo: the KKT gap is {gap * unit:.3e} after {steps} steps, and {asked * unit:.3e} was asked for; "
            "raise max_iterations or tolerance",
            status="max_iterations",
        )
    offset = Offset(*(unit * end for end in kkt_offset(gradient, b, box)[1])) if equality else None
    return SMOResult(
        multipliers=np.abs(b),
        gradient=box.signs * gradient * unit,
        violation=gap * unit,
        iterations=steps,
        objective=float(0.5 * b @ (gradient + program.linear)) * unit,
        offset=offset,
        rule=rule,
        converged=True,
    )


def refuse_ray(a: Array, room: Array, products: Array, linear: Array, gap: float, name: str) -> None:
    """Raise UnboundedError where multipliers have gone along a direction that Q does not see and that pays without end.

    ``products`` are Qa and ``gap`` is what is left of the gradient, which there stays as large as the linear term.
    """
    size = float(np.abs(a).max(initial=0.0))
    if gap <= STAYS * float(np.abs(linear).max(initial=0.0)) or float(np.abs(products).max()) > FLAT * size:
        return
    if linear @ a < 0 and not np.isfinite(room[np.abs(a) > FLAT * size]).any():
        raise UnboundedError(f"{name}: the objective falls without end, where Q is flat and a bound is infinite")


def refuse_indefinite(
    matrix: Array, error: Callable[[float], IndefiniteError] | None = None, rounding: float = EPS
) -> None:
    """Raise IndefiniteError if the symmetric matrix has an eigenvalue below zero by more than rounding.

    A Cholesky factorisation of the matrix, shifted by rounding, is a cheap proof that it has none; eigenvalues are
    computed only where that fails. ``error`` makes it of the least eigenvalue, where the caller's matrix is no Q, and
    ``rounding`` is that of the type its entries had.
    """
    scale = float(np.abs(matrix).max()) or 1.0
    shifted = matrix.copy()
    shifted.flat[:: len(matrix) + 1] += 1e-12 * len(matrix) * scale
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least < -max(1e-9 * len(matrix) ** 0.5, rounding * len(matrix)) * scale:
            raise (error or _indefinite)(least) from None


def _indefinite(least: float) -> IndefiniteError:
    return IndefiniteError(
        f"Q: its least eigenvalue is {least:.6g}; give a positive semidefinite matrix, for no other is this convex",
        least,
    )


@dataclass(frozen=True)
class _Program:
    """min b'Qb/2 + p'b over a box."""

    matrix: Array
    linear: Array
    box: Box

    def gradient(self, b: Array) -> Array:
        return np.asarray(self.matrix @ b + self.linear)

    def size(self, b: Array) -> float:
        """The largest sum of absolute terms in a component of the gradient: rounding is proportional to it."""
        return float((np.abs(self.matrix) @ np.abs(b) + np.abs(self.linear)).max())

    def share(self, b: Array, tolerance: float) -> float:
        """The gap that is the tolerance of the linear term where products cancel down to it, as far as that is no rounding of them."""
        size, linear = self.size(b), float(np.abs(self.linear).max())
        return min(tolerance * size, max(tolerance * linear, EXACT * size)) if linear else tolerance * size


def _minimise(program: _Program, b: Array, rule: Rule, tolerance: float, limit: int, seed: int) -> tuple[Array, int]:
    """Pair steps to a rough gap, then Newton steps; where the free set was not yet right, again from a finer gap."""
    # Imported here: the compiler and its cache cost a quarter of a second, which reading this module should not.
    from convexnovelty.algorithms import _pair_steps as compiled

    matrix, box, steps = program.matrix, program.box, 0
    target = max(tolerance, ROUGH)
    for phase in range(PHASES):
        gradient, size = program.gradient(b), program.size(b)
        if phase == PHASES - 1:
            target = tolerance
        if rule == "schoelkopf":
            rho = kkt_offset(gradient, b, box)[1].used
            status, count = compiled.scans(
                matrix, gradient, b, box.lower, box.upper, 0.5 * target * size, limit - steps, rho, seed
            )
        else:
            loop = compiled.coordinates if box.total is None else compiled.pairs
            status, count = loop(matrix, gradient, b, box.lower, box.upper, target * size, limit - steps)
        steps += count
        if status == compiled.INDEFINITE:
            raise _indefinite(float(np.linalg.eigvalsh(matrix)[0]))
        if status == compiled.UNBOUNDED:
            raise UnboundedError("smo: the objective falls without end, where Q is flat and upper is infinite")
        if status == compiled.STOPPED and steps >= limit:
            break
        b = _polished(program, b)
        relative = kkt_gap(program.gradient(b), b, box) / (program.size(b) or 1.0)
        if relative <= tolerance:
            break
        target = max(tolerance, 0.1 * min(target, relative))
    return b, steps


def _polished(program: _Program, b: Array) -> Array:
    """Newton steps on the free coordinates for as long as the KKT gap falls, or a bound cuts them."""
    box, best, least = program.box, b, np.inf
    cut = True
    while True:
        gradient = program.gradient(b)
        gap = kkt_gap(gradient, b, box)
        if gap < least:
            best, least = b, gap
        elif not cut:
            return best
        free = box.free(b)
        if gap <= EXACT * program.size(b) or free.size == 0:
            return best
        missing = None if box.total is None else box.total - float(b.sum())
        try:
            delta = newton_direction(program.matrix[np.ix_(free, free)], gradient[free], missing)
        except LinAlgError:
            return best
        b = b.copy()
        # Every step that is cut makes the free set smaller, so there are finitely many of them.
        b[free], whole = admissible_step(b[free], delta, box.lower[free], box.upper[free])
        cut = not whole


def _exchanged(program: _Program, b: Array, tolerance: float) -> Array:
    """Newton steps on the free coordinates and the two that violate optimality most: an active-set method, and its best point.

    Along a direction that the matrix hardly sees, pairs zigzag between coordinates that it does see, while a step of all
    free coordinates reaches a bound at once.
    """
    box, best, least, still = program.box, b, np.inf, 0
    for _ in range(EXCHANGES * b.size):
        gradient = program.gradient(b)
        gap = kkt_gap(gradient, b, box)
        still = 0 if gap < least else still + 1
        if gap < least:
            best, least = b, gap
        if gap <= program.share(b, tolerance) or (still > STUCK * b.size and least <= tolerance * program.size(best)):
            break
        working = np.zeros(b.size, dtype=bool)
        working[box.free(b)] = True
        grows, shrinks = np.where(b < box.upper, gradient, np.inf), np.where(b > box.lower, -gradient, np.inf)
        working[
            [grows.argmin(), shrinks.argmin()] if box.total is not None else [np.minimum(grows, shrinks).argmin()]
        ] = True
        moved = _moved_within(program, b, gradient, working)
        if moved is None:
            break
        b = moved
    return best


def _moved_within(program: _Program, b: Array, gradient: Array, working: NDArray[np.bool_]) -> Array | None:
    """The Newton step on the working coordinates, cut at the box, or None where it moves nothing."""
    box = program.box
    while working.any():
        rows = np.flatnonzero(working)
        missing = None if box.total is None else box.total - float(b.sum())
        try:
            delta = newton_direction(program.matrix[np.ix_(rows, rows)], gradient[rows], missing)
        except LinAlgError:
            return None
        here = b[rows]
        out = ((delta > 0) & (here >= box.upper[rows])) | ((delta < 0) & (here <= box.lower[rows]))
        if not out.any():
            moved = b.copy()
            moved[rows] = admissible_step(here, delta, box.lower[rows], box.upper[rows])[0]
            return None if (moved == b).all() else moved
        working[rows[out]] = False
    return None
