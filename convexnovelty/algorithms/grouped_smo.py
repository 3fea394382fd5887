r"""Sequential minimal optimisation where multipliers come in groups, each with a sum of its own.

.. math:: \min_a \tfrac12 v'Qv + p'a \quad\text{s.t.}\quad v = \sum_k y_k a_k e_{r_k},\; 0 \le a \le C,\;
          \sum_{k \in g} a_k = d_g

for the groups g whose sum is fixed. Several multipliers may act on the same row of Q, as the three groups of the
modified one-class machine do (Tsang, Kwok and Li 2006, section III-A): points that hold the plane up, points at its
lower limit and points at its upper limit. A step moves a pair within a group, or one multiplier of a group whose sum
is free; Newton steps on the multipliers between their bounds end the iteration, as for one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from convexnovelty.algorithms.free_set import admissible_step, newton_direction
from convexnovelty.algorithms.smo import EXACT, PHASES, ROUGH, refuse_indefinite, refuse_ray
from convexnovelty.columns import columns_as_rows
from convexnovelty.errors import IndefiniteError, InputError, SolverError, UnboundedError
from convexnovelty.validation import Array, integer, nonnegative, positive, symmetric, vector

__all__ = ["Group", "GroupedResult", "grouped_smo"]

PATIENCE = 300  # steps for each row of Q before the active-set method takes over
STUCK = 40  # steps of that method in a row that may leave the gap as it is


@dataclass(frozen=True)
class Group:
    """Multipliers of one kind, one for each row of Q: their sign in v, linear term, upper bound and sum (or None)."""

    sign: float = 1.0
    linear: float = 0.0
    upper: float = float("inf")
    total: float | None = None


@dataclass(frozen=True)
class GroupedResult:
    """A solution.

    multipliers: one array of shape (n,) a group. combined: v, shape (n,). products: Qv. levels: for each group the
    multiplier of its sum, as an interval (lower, upper); (0, 0) where the sum is free. violation: the KKT gap in the
    units of the gradient, computed anew. iterations: steps of pairs and single multipliers. objective: v'Qv/2 + p'a.
    """

    multipliers: tuple[Array, ...]
    combined: Array
    products: Array
    levels: tuple[tuple[float, float], ...]
    violation: float
    iterations: int
    objective: float


def grouped_smo(
    Q: Any,
    groups: Sequence[Group],
    *,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    start: Sequence[Any] | None = None,
    semidefinite: bool = False,
) -> GroupedResult:
    """Minimise v'Qv/2 + sum of the groups' linear terms, over each group's box and sum.

    Q is positive semidefinite of shape (n, n). ``tolerance`` bounds the KKT gap relative to the size of the terms of
    the gradient, |Q||v| + |p|. ``start`` holds a first guess a group, which is moved into the feasible set.
    ``semidefinite`` says that Q is known to be so, as a sum of Gram matrices is, and spares the proof.

    Raises InputError for a box that cannot meet its sum and for values that are not finite, IndefiniteError with the
    eigenvalue, UnboundedError for an objective without a minimum, and SolverError with the gap if ``max_iterations``
    steps did not suffice.
    """
    matrix = symmetric(columns_as_rows(Q), "Q")
    n = len(matrix)
    tolerance = positive(tolerance, "tolerance")
    limit = max(1_000_000, 1000 * n) if max_iterations is None else integer(max_iterations, "max_iterations", 0)
    for group in groups:
        if group.total is not None and nonnegative(group.total, "total") > n * group.upper * (1 + 1e-12):
            raise InputError(
                f"upper: {n} multipliers of at most {group.upper:.6g} cannot sum to {group.total:.6g}; raise the upper "
                "bound (for a one-class SVM it is 1/(nu n), and nu is at most 1)"
            )
    if not semidefinite:
        refuse_indefinite(matrix)
    program = _Program(matrix, tuple(groups))
    guess = [np.zeros(n)] * len(groups) if start is None else [vector(g, "start", n) for g in start]
    a, steps = _minimise(program, program.feasible(guess), tolerance, limit)
    products = matrix @ program.combined(a)
    gap, asked = program.gap(a, products), program.attainable(a, tolerance)
    largest = float(np.abs(matrix).max()) or 1.0
    refuse_ray(
        a, program.upper, products[program.rows] / largest, program.linear / largest, gap / largest, "grouped_smo"
    )
    if gap > asked:
        raise SolverError(
            f"grouped_smo: the KKT gap is {gap:.3e} after {steps} steps, and {asked:.3e} was asked for; raise "
            "max_iterations or tolerance",
            status="max_iterations",
        )
    v = program.combined(a)
    return GroupedResult(
        multipliers=tuple(np.split(a, len(groups))),
        combined=v,
        products=products,
        levels=program.levels(a, products),
        violation=gap,
        iterations=steps,
        objective=float(0.5 * v @ products + program.linear @ a),
    )


class _Program:
    """The stacked multipliers: the k-th acts on row ``rows[k]`` with sign ``signs[k]``."""

    def __init__(self, matrix: Array, groups: tuple[Group, ...]) -> None:
        n = len(matrix)
        self.matrix = np.ascontiguousarray(matrix)
        self.groups = groups
        self.rows: NDArray[np.int64] = np.tile(np.arange(n), len(groups))
        self.signs = np.repeat([group.sign for group in groups], n).astype(float)
        self.linear = np.repeat([group.linear for group in groups], n).astype(float)
        self.upper = np.repeat([group.upper for group in groups], n).astype(float)
        self.starts: NDArray[np.int64] = n * np.arange(len(groups) + 1)
        self.tied = np.array([group.total is not None for group in groups])

    def combined(self, a: Array) -> Array:
        """v of shape (n,)."""
        return np.asarray((self.signs * a).reshape(len(self.groups), -1).sum(axis=0))

    def gradient(self, products: Array) -> Array:
        return np.asarray(self.signs * products[self.rows] + self.linear)

    def size(self, a: Array) -> float:
        """The largest sum of absolute terms in a component of the gradient: rounding is proportional to it."""
        terms = np.abs(self.matrix) @ np.abs(self.combined(a))
        return float(terms.max() + np.abs(self.linear).max())

    def attainable(self, a: Array, tolerance: float) -> float:
        """The gap that is asked for: relative to the gradient's terms, but not below the rounding of v, whose entries
        are differences of multipliers and may be far smaller than these."""
        together = np.abs(a).reshape(len(self.groups), -1).sum(axis=0)
        rounding = float((np.abs(self.matrix) @ together).max()) * float(np.finfo(float).eps)
        return max(tolerance * self.size(a), rounding)

    def feasible(self, guess: Sequence[Array]) -> Array:
        """The guess, clipped, with each sum put right by an equal share of the room that is left."""
        parts = []
        for group, part in zip(self.groups, guess, strict=True):
            part = np.clip(part, 0.0, group.upper)
            if group.total is not None:
                part = _with_sum(part, group.upper, group.total)
            parts.append(part)
        return np.concatenate(parts)

    def levels(self, a: Array, products: Array) -> tuple[tuple[float, float], ...]:
        gradient, found = self.gradient(products), []
        for g, tied in enumerate(self.tied):
            part = slice(self.starts[g], self.starts[g + 1])
            below = float(np.max(gradient[part][a[part] > 0], initial=-np.inf))
            above = float(np.min(gradient[part][a[part] < self.upper[part]], initial=np.inf))
            found.append((min(below, above), max(below, above)) if tied else (0.0, 0.0))
        return tuple(found)

    def gap(self, a: Array, products: Array) -> float:
        """The KKT gap: the spread of the gradient where multipliers may still move, or its size where the sum is free."""
        gradient, worst = self.gradient(products), 0.0
        for g, tied in enumerate(self.tied):
            part = slice(self.starts[g], self.starts[g + 1])
            shrinks = np.max(gradient[part][a[part] > 0], initial=-np.inf)
            grows = np.min(gradient[part][a[part] < self.upper[part]], initial=np.inf)
            worst = max(worst, shrinks - grows if tied else max(shrinks, -grows))
        return float(worst)

    def newton(self, a: Array, products: Array, free: NDArray[np.intp]) -> Array:
        """The step of the free multipliers that minimises over them, whatever their bounds, with each sum kept."""
        rows, signs = self.rows[free], self.signs[free]
        Q = self.matrix[np.ix_(rows, rows)] * signs * signs[:, None]
        gradient, even = self.gradient(products)[free], np.zeros(free.size)
        scale = float(np.max(np.diagonal(Q), initial=0.0))
        blocks = []
        for g, group in enumerate(self.groups):
            block = np.flatnonzero((free >= self.starts[g]) & (free < self.starts[g + 1]))
            if group.total is not None and block.size:
                blocks.append(block)
                even[block] = (group.total - float(a[self.starts[g] : self.starts[g + 1]].sum())) / block.size
        # Each sum is met by an even share; the rest of the step keeps the sums, where the matrix is centred by block.
        gradient = gradient + Q @ even
        for block in blocks:
            gradient[block] -= gradient[block].mean()
            Q[block] -= Q[block].mean(axis=0)
        for block in blocks:
            Q[:, block] -= Q[:, block].mean(axis=1, keepdims=True)
        for block in blocks:
            Q[np.ix_(block, block)] += scale / block.size
        delta = newton_direction((Q + Q.T) / 2, gradient, None)
        for block in blocks:
            delta[block] -= delta[block].mean()
        return delta + even

    def violators(self, a: Array, products: Array, free: NDArray[np.bool_]) -> list[int]:
        """Multipliers at a bound that gain most by leaving it; where a group has none between bounds, the best pair."""
        gradient, found, worst = self.gradient(products), list[int](), 0.0
        for g, tied in enumerate(self.tied):
            part = np.arange(self.starts[g], self.starts[g + 1])
            level = 0.0
            if tied:
                inside = part[free[part]]
                if inside.size == 0:
                    grows = part[a[part] < self.upper[part]]
                    shrinks = part[a[part] > 0]
                    if grows.size and shrinks.size:
                        i, j = grows[gradient[grows].argmin()], shrinks[gradient[shrinks].argmax()]
                        if gradient[j] - gradient[i] > worst:
                            found, worst = [int(i), int(j)], float(gradient[j] - gradient[i])
                    continue
                level = float(gradient[inside].mean())
            bound = part[~free[part]]
            gain = np.where(a[bound] > 0, gradient[bound] - level, level - gradient[bound])
            if bound.size and gain.max() > worst:
                found, worst = [int(bound[gain.argmax()])], float(gain.max())
        return found


def _with_sum(part: Array, upper: float, total: float) -> Array:
    for _ in range(part.size + 1):
        missing = total - float(part.sum())
        room = np.flatnonzero(part < upper) if missing > 0 else np.flatnonzero(part > 0)
        if abs(missing) <= 4 * np.finfo(float).eps * max(total, 1.0) or room.size == 0:
            break
        part[room] = np.clip(part[room] + missing / room.size, 0.0, upper)
    return part


def _minimise(program: _Program, a: Array, tolerance: float, limit: int) -> tuple[Array, int]:
    """Steps to a rough gap, then an active-set method; where that is stuck, again from a finer gap."""
    # Imported here: the compiler and its cache cost a quarter of a second, which reading this module should not.
    from convexnovelty.algorithms import _group_steps, _pair_steps

    done, target, budget = 0, max(tolerance, ROUGH), PATIENCE * len(program.matrix)
    for phase in range(PHASES):
        products, size = program.matrix @ program.combined(a), program.size(a)
        if phase == PHASES - 1:
            target, budget = tolerance, limit
        status, count = _group_steps.steps(
            program.matrix,
            products,
            a,
            program.rows,
            program.signs,
            program.linear,
            program.upper,
            program.starts,
            program.tied,
            target * size,
            min(budget, limit - done),
        )
        done += count
        if status == _pair_steps.INDEFINITE:
            least = float(np.linalg.eigvalsh(program.matrix)[0])
            raise IndefiniteError(f"Q: its least eigenvalue is {least:.6g}; give a positive semidefinite matrix", least)
        if status == _pair_steps.UNBOUNDED:
            raise UnboundedError(
                "grouped_smo: the objective falls without end, where Q is flat and a bound is infinite"
            )
        if done >= limit and status == _pair_steps.STOPPED:
            break
        a = _finished(program, a)
        gap = program.gap(a, program.matrix @ program.combined(a))
        if gap <= program.attainable(a, tolerance):
            break
        target = max(tolerance, 0.1 * min(target, gap / (program.size(a) or 1.0)))
        budget *= 4
    return a, done


def _finished(program: _Program, a: Array) -> Array:
    """An active-set method from a good start: minimise over the free multipliers, stop at the first bound, and let go
    of a bound where that gains. The objective falls with each step that moves, so only such steps may not be many."""
    best, least = a, np.inf
    free = (a > 0) & (a < program.upper)
    still, optimal = 0, False
    for _ in range(20 * len(a)):
        products = program.matrix @ program.combined(a)
        gap = program.gap(a, products)
        still = 0 if gap < least else still + 1
        if gap < least:
            best, least = a, gap
        if optimal or gap <= EXACT * program.size(a) or still > STUCK:
            break
        index = np.flatnonzero(free)
        whole = True
        if index.size:
            try:
                delta = program.newton(a, products, index)
            except LinAlgError:
                break
            a = a.copy()
            a[index], whole = admissible_step(a[index], delta, np.zeros(index.size), program.upper[index])
        free = free & (a > 0) & (a < program.upper)
        if whole:
            released = program.violators(a, program.matrix @ program.combined(a), free)
            free[released] = True
            optimal = not released
    return best
