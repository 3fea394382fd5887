r"""The dual programs of kernel methods at any size: solve, score new points, and follow the outlier fraction.

.. math:: \min_a \tfrac12 \sum_{ij} a_i a_j y_i y_j k(x_i, x_j) + p'a
          \quad\text{s.t.}\quad y'a = d,\; 0 \le a \le C.

With y = 1, p = 0, d = 1, C = 1/(nu n) this is the one-class SVM (8.13)-(8.15); the soft ball (8.18)-(8.19) has
p_i = -k(x_i, x_i)/2, negative data have their signs in y (8.42)-(8.44), and weights of the points go into C.
The method is that of :mod:`convexnovelty.algorithms.blocks`; with a Gram matrix at hand and a few hundred points,
:func:`convexnovelty.algorithms.smo.smo` solves the same programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.algorithms.blocks import ROUNDING, State, minimise
from convexnovelty.algorithms.box import Box, Indices, Offset, extended, kkt_gap, kkt_offset
from convexnovelty.algorithms.gram import Gram, gram_of, indefinite_kernel, padded, weighted_kernels
from convexnovelty.algorithms.smo import refuse_indefinite
from convexnovelty.columns import by_name, names_of
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.kernels import Kernel, Precomputed, as_kernel
from convexnovelty.validation import Array, fraction, integer, listed, number, numeric, positive, shown, vector

__all__ = ["DualResult", "decision", "dual_path", "kkt_violation", "solve_dual"]

CHECKED = 2000  # points up to which a kernel that may be indefinite is checked by a factorisation


@dataclass(frozen=True)
class DualResult:
    """A solution of the dual program.

    multipliers: a, shape (n,). scores: f(x_i) = sum_j a_j y_j k(x_j, x_i), shape (n,). violation: the KKT gap m - M in
    float64, of the gradient that the method keeps by adding columns; :func:`kkt_violation` evaluates it anew.
    objective: a'Qa/2 + p'a. offset: the multiplier rho of the equality, so that a point with a = 0 has
    f(x_i) + y_i p_i >= rho; None without the equality. support: the points with a > 0. kernel: with its numbers.
    steps, rounds, columns: pair steps, working sets, and columns of the Gram matrix evaluated for all points.
    """

    multipliers: Array
    scores: Array
    violation: float
    objective: float
    offset: Offset | None
    support: Indices
    kernel: Kernel
    steps: int
    rounds: int
    columns: int


def solve_dual(
    points: Any,
    kernel: Any,
    *,
    outlier_fraction: float | None = None,
    upper: Any = None,
    linear: Any = None,
    y: Any = None,
    total: float | None = 1.0,
    tolerance: float = 1e-3,
    of_scores: float | None = None,
    threads: int = 1,
    max_rounds: int = 10_000,
) -> DualResult:
    """Minimise the dual program over the points (n, p) under a kernel, or under a Gram matrix (n, n) if precomputed.

    Sparse points stay sparse under kernels that are functions of inner products.
    Give ``outlier_fraction`` nu, for the bound total/(nu n) of every point, or ``upper``, one number or one a point.
    ``total`` None leaves the equality out. ``tolerance`` bounds the KKT gap in units of the largest bound times the
    largest k(x, x), or of the largest linear term where that is smaller: for SVMs of one class and of two classes this
    is libsvm's tolerance. Well below 1e-3, Newton steps make the solution exact to rounding of the largest k(x, x) in little
    more time.
    ``of_scores`` bounds the gap in units of the offset and of the quartiles' distance of the scores as well, as far as
    rounding lets it. Where k(x, x) differs by orders of magnitude, as for polynomial kernels and skewed columns, scores are
    by orders smaller than the largest of them; where the kernel is wide, they are nearly the same.

    Raises InputError for arguments out of range and boxes that cannot meet the total, IndefiniteError for a kernel that
    is not positive semidefinite where this shows, UnboundedError, and SolverError with the gap after ``max_rounds``.
    """
    program = _Program.of(points, kernel, linear, y, total, threads)
    box = Box.of(program.size, _bound(program.size, outlier_fraction, upper, total), y, program.total)
    share = None if of_scores is None else positive(of_scores, "of_scores")
    return program.solve(box, positive(tolerance, "tolerance"), integer(max_rounds, "max_rounds", 0), share=share)[0]


def dual_path(
    points: Any, kernel: Any, fractions: Sequence[float], *, tolerance: float = 1e-3, threads: int = 1
) -> list[DualResult]:
    """One-class SVMs for several outlier fractions, each started from the one before: little more than the largest.

    In units of the bound 1/(nu n), a larger fraction adds mass to the same solution, at the points that score lowest.
    """
    program = _Program.of(points, kernel, None, None, 1.0, threads)
    given = listed(fractions, "fractions", "a list of numbers in (0, 1]")
    checked = [fraction(nu, "fractions", one=True) for nu in given]
    results: dict[float, DualResult] = {}
    state: State | None = None
    for nu in sorted(set(checked)):
        box = Box.of(program.size, 1.0 / (nu * program.size), None, 1.0)
        results[nu], state = program.solve(box, positive(tolerance, "tolerance"), 10_000, state)
    return [results[nu] for nu in checked]


def decision(points: Any, kernel: Any, weights: Any, Z: Any, *, threads: int = 1) -> Array:
    """f(z) = sum_i weights_i k(x_i, z) for the rows of Z, shape (m,); the weights are y_i a_i, without an offset.

    For a precomputed kernel ``Z`` has the rows k(z, x_i) of shape (m, n), and of ``points`` the names alone are used, by
    which columns of a labelled ``Z`` are found.
    """
    kernel = as_kernel(kernel)
    rows = kernel.rows(by_name(Z, "Z", names_of(kernel.known(points)), "points"), "Z")
    if isinstance(kernel, Precomputed):
        return np.asarray(rows @ vector(weights, "weights", rows.shape[1]))
    if not numeric(weights, "weights").any():
        return np.zeros(rows.shape[0])
    known = kernel.rows(points, "points")
    if rows.shape[1] != known.shape[1]:
        raise InputError(f"Z: {rows.shape[1]} columns were found where points has {known.shape[1]}; give equally many")
    signed = vector(weights, "weights", known.shape[0])
    support = np.flatnonzero(signed)
    return weighted_kernels(known[support], kernel.fitted(known), signed[support], rows, integer(threads, "threads", 1))


def kkt_violation(points: Any, result: DualResult, upper: Any, *, linear: Any = None, y: Any = None) -> float:
    """The KKT gap of a result with every kernel value evaluated anew, in the units of the scores."""
    if not isinstance(result, DualResult):
        raise InputError(f"result: {shown(result)} was found; give what solve_dual or dual_path returns")
    signed = result.multipliers * (1.0 if y is None else vector(y, "y", result.multipliers.size))
    scores = decision(points, result.kernel, signed, points)
    box = Box.of(signed.size, upper, y, None if result.offset is None else float(signed.sum()))
    slope = np.zeros(signed.size) if linear is None else box.signs * vector(linear, "linear", signed.size)
    return kkt_gap(scores + slope, signed, box)


@dataclass(frozen=True)
class _Program:
    """What stays the same along a path: the points under their kernel, and the linear term in signed coordinates."""

    gram: Gram
    kernel: Kernel
    linear: Array
    total: float | None

    @classmethod
    def of(cls, points: Any, kernel: Any, linear: Any, y: Any, total: float | None, threads: int) -> _Program:
        X = as_kernel(kernel).rows(as_kernel(kernel).known(points), "points")
        fitted = as_kernel(kernel).fitted(X)
        gram = gram_of(X, fitted, integer(threads, "threads", 1))
        if isinstance(fitted, Precomputed) or not fitted.semidefinite:
            _refuse_indefinite(gram, fitted.rounding(X))
        slope = np.zeros(gram.size) if linear is None else vector(linear, "linear", gram.size)
        signs = 1.0 if y is None else vector(y, "y", gram.size)
        return cls(gram, fitted, signs * slope, None if total is None else number(total, "total"))

    @property
    def size(self) -> int:
        return self.gram.size

    def solve(
        self, box: Box, tolerance: float, rounds: int, previous: State | None = None, share: float | None = None
    ) -> tuple[DualResult, State]:
        """The solution in the caller's units, and the state in the method's, from which a larger box may start."""
        n, length = self.size, padded(self.size)
        diagonal = float(self.gram.diagonal()[:n].max()) or 1.0
        unit = _unit(box)
        scaled = Box(box.lower / unit, box.upper / unit, None if box.total is None else box.total / unit, box.signs)
        slope = extended(self.linear / unit, length)
        start = None if previous is None else _continued(self.gram, scaled.extended(length), previous)
        size = min(diagonal, float(np.abs(slope).max()) or diagonal)
        state = minimise(self.gram, slope, scaled.extended(length), tolerance * size, start, rounds)
        if share is not None:
            wanted = self._wanted(state, scaled, share)
            if kkt_gap(state.gradient[:n], state.b[:n], scaled) > wanted:
                state = minimise(self.gram, slope, scaled.extended(length), wanted, state, rounds)
        if not np.isfinite(state.gradient).all():
            raise InputError(
                f"kernel: {self.kernel!r} has values that are not finite on these points; rescale the points"
            )
        # Which bound a coordinate is at is read in the method's units, where bounds are met exactly, and written in the
        # caller's; products with the unit round.
        inner, slopes = state.b[:n], state.gradient[:n]
        b = np.where(inner == scaled.lower, box.lower, np.where(inner == scaled.upper, box.upper, inner * unit))
        gradient = slopes * unit
        gap, ends = kkt_offset(slopes, inner, scaled)
        result = DualResult(
            multipliers=np.abs(b),
            scores=gradient - self.linear,
            violation=gap * unit,
            objective=float(0.5 * b @ (gradient + self.linear)),
            offset=None if box.total is None else Offset(*(unit * end for end in ends)),
            support=np.flatnonzero(b),
            kernel=self.kernel,
            steps=state.steps,
            rounds=state.rounds,
            columns=state.columns,
        )
        return result, state

    def _wanted(self, state: State, box: Box, share: float) -> float:
        """A share of the offset, or of what tells the scores apart where that is smaller, as far as it is no rounding."""
        scores, b = state.gradient[: self.size], state.b[: self.size]
        low, high = np.percentile(scores, (25, 75))
        used = abs(kkt_offset(scores, b, box)[1].used)
        # Scores are sums of terms of this size, which cancel where nothing is separated.
        terms = float(np.abs(b) @ np.sqrt(np.maximum(self.gram.diagonal()[: self.size], 0.0)))
        rounding = ROUNDING * terms**2 / (float(np.abs(b).sum()) or 1.0)
        return max(share * min(used, float(high - low) or used), rounding)


def _refuse_indefinite(gram: Gram, rounding: float) -> None:
    """What can be seen before solving: a negative k(x, x), and for a few points a negative eigenvalue.

    With more points the pair steps look at the curvature of every pair that they take.
    """
    least = float(gram.diagonal()[: gram.size].min())
    if least < 0.0:
        raise IndefiniteError(f"kernel: the least k(x, x) is {least:.6g}; give a positive semidefinite kernel", least)
    if gram.size <= CHECKED:
        refuse_indefinite(gram.block(np.arange(gram.size)), indefinite_kernel, rounding)


def _continued(gram: Gram, box: Box, previous: State) -> State:
    """The last solution with what the larger total lacks given to the points that score lowest."""
    b = box.feasible(previous.b, np.argsort(previous.gradient))
    state = State(b, previous.gradient.copy())
    moved = np.flatnonzero(b - previous.b)
    gram.accumulate(state.gradient, moved, (b - previous.b)[moved])
    state.columns = moved.size
    return state


def _unit(box: Box) -> float:
    """The largest bound, or the total where no bound is finite or the total is smaller."""
    width = box.upper - box.lower
    finite = width[np.isfinite(width)]
    candidates = [float(finite.max(initial=0.0)), abs(box.total or 0.0)]
    return min((size for size in candidates if size > 0.0), default=1.0)


def _bound(size: int, outlier_fraction: float | None, upper: Any, total: float | None) -> Any:
    if (outlier_fraction is None) == (upper is None):
        raise InputError("outlier_fraction, upper: give exactly one of them")
    if outlier_fraction is None:
        return upper
    if total is None:
        raise InputError("outlier_fraction: it is a share of the total, and total is None; give upper in its place")
    return abs(number(total, "total")) / (fraction(outlier_fraction, "outlier_fraction", one=True) * size)
