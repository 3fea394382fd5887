r"""The block method for the family's dual programs: large, exact, and without a stored Gram matrix.

.. math:: \min_b \tfrac12 b'Kb + p'b \quad\text{s.t.}\quad \textstyle\sum_i b_i = d,\; l \le b \le u.

1. Start. The program on a sample of the points, solved by the same method, gives a score for every point. Those that
   score lowest get their upper bound, as optimality would ask if the score were the gradient.
2. Blocks. The few hundred points that violate optimality most, and those nearest to it, form a program of their own.
   Pair steps solve it with rows of K that are evaluated when first needed. One pass over K updates all gradients.
3. Finish. Newton steps on the free coordinates give the accuracy of the machine.

The cost is little more than that of evaluating the gradient once: one kernel value for each point and support vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from convexnovelty.algorithms.box import Box, Indices, extended, kkt_gap, kkt_offset
from convexnovelty.algorithms.free_set import admissible_step, newton_direction, projected_step
from convexnovelty.algorithms.gram import Gram, Rows, padded
from convexnovelty.algorithms.interior import interior_point
from convexnovelty.errors import IndefiniteError, SolverError, UnboundedError
from convexnovelty.validation import Array

__all__ = ["State", "minimise"]

SMALL, FEW = 200, 32  # points, and points at their bound, up to which the solution on a sample is not worth its while
SAMPLE = 8  # one point in so many is in the sample
EMBEDDED = 0.7  # share of the sample's solution that must fit into the box for it to be the start itself
WORKING_SET, LARGEST_SET = 512, 2048
INNER = 0.02  # share of the gap at which a working set is left: the next pass over all points pays for more than that
CACHE = 3 * 2**20  # kernel values held in rows of the working set: 24 MB
CUTS = 25  # Newton steps that a bound may cut, before pair steps do better
NEWTON = 3000  # free coordinates up to which a dense factorisation is made
# The gap at which Newton steps take over from pair steps. A factorisation of many free coordinates is dear, and one
# is enough if pair steps have found the right ones.
ROUGH, FINE, MANY = 1e-4, 1e-6, 100
ROUNDING = 4e-15  # relative to the gradient: what its last bits may add up to
PATIENCE = 20  # working sets after which a gap that rounding explains is one that nothing will close
FUTILE = (
    3  # sets that neither pair steps nor Newton steps bring to an end, after which a point within the box is sought
)
REFRESHED = 10  # columns a support vector beyond which the gradient is evaluated anew at the end
CLOSE = 100.0  # times the last bits of a score: a gap below that is seen in a gradient that is evaluated anew alone
GOLDEN = 0.5 * 5.0**0.5 - 0.5


@dataclass
class State:
    """Where the iteration is: b, the gradient K b + p, and what it has cost."""

    b: Array
    gradient: Array
    steps: int = 0
    rounds: int = 0
    columns: int = 0


def minimise(
    gram: Gram, linear: Array, box: Box, tolerance: float, start: State | None = None, rounds: int = 10_000
) -> State:
    """Minimise b'Kb/2 + p'b over the box until the KKT gap is at most ``tolerance``, or rounding.

    All vectors have the padded length of ``gram``. The units are such that the bounds and the diagonal of K are of
    order one, which is how a rough solution is told. ``start`` has to be feasible with its gradient, and is changed.

    Raises IndefiniteError, UnboundedError, and SolverError with the gap after so many ``rounds``.
    """
    solver = _Solver(np.empty(min(CACHE, padded(gram.size) ** 2)), rounds)
    state = solver.solve(gram, linear, box, tolerance, start)
    many = state.columns > REFRESHED * np.count_nonzero(state.b)
    if many or tolerance < CLOSE * _rounding(gram, state.b):
        # The rounding of all columns that were added may show; to evaluate the gradient anew costs little beside them.
        solver.renew(gram, linear, state)
        state = solver.solve(gram, linear, box, tolerance, state)
    return state


class _Solver:
    """The method, with the memory that its working sets share."""

    def __init__(self, room: Array, rounds: int) -> None:
        self.room, self.limit = room, rounds

    def solve(self, gram: Gram, linear: Array, box: Box, tolerance: float, start: State | None = None) -> State:
        state = self.start(gram, linear, box, tolerance) if start is None else start
        target = max(tolerance, ROUGH)
        self.descend(gram, linear, box, state, target)
        if target > tolerance and box.free(state.b).size > MANY:
            target = max(tolerance, FINE)
            self.descend(gram, linear, box, state, target)
        # No gap can be told from zero that is smaller than what the last bits of the gradient add up to.
        tolerance = max(tolerance, ROUNDING * float(np.abs(state.gradient).max()))
        while target > tolerance and self.finish(gram, box, state, tolerance) > tolerance:
            # The free set was not yet the right one: pair steps exchange its members, Newton steps do the rest.
            target = max(tolerance, 0.1 * min(target, kkt_gap(state.gradient, state.b, box)))
            self.descend(gram, linear, box, state, target)
        return state

    def start(self, gram: Gram, linear: Array, box: Box, tolerance: float) -> State:
        """A feasible point from the solution on a sample, with its gradient."""
        widest = float((box.upper - box.lower).max())
        few = 2 * FEW if gram.size <= gram.whole else FEW
        if gram.size <= SMALL or box.total is None or abs(box.total) <= few * widest < np.inf:
            order = np.argsort(gram.remoteness(), kind="stable")
            return self.state(gram, linear, box.feasible(np.zeros(box.lower.size), order))
        # One point of each stretch of the data, at a place in it that follows no period.
        size = padded(max(gram.size // SAMPLE, SMALL // 2))
        places = np.arange(size)
        sample = ((places + (places * GOLDEN) % 1.0) * gram.size / size).astype(np.intp)
        # Multipliers, gradients and gaps of the sample are as many times larger as it is smaller.
        rough = max(tolerance, 0.01) * gram.size / size
        solved = self.solve(gram.subset(sample), linear[sample], box.part(sample), rough)

        guess, weights = np.zeros(box.lower.size), np.zeros(box.lower.size)
        weights[sample] = solved.b
        scored = self.state(gram, linear, weights)
        guess[sample] = np.clip(solved.b, box.lower[sample], box.upper[sample])
        if np.abs(guess).sum() < EMBEDDED * np.abs(weights).sum():
            state = self.state(gram, linear, box.threshold(scored.gradient))
            state.columns += scored.columns
            return state
        scored.b = box.feasible(guess, np.argsort(scored.gradient))
        self.add(gram, scored, np.arange(guess.size), scored.b - weights)
        return scored

    def state(self, gram: Gram, linear: Array, b: Array) -> State:
        state = State(b, linear)
        self.renew(gram, linear, state)
        return state

    def add(self, gram: Gram, state: State, points: Indices, change: Array) -> None:
        """Bring the gradient up to date with a change of b at ``points``."""
        moved = np.flatnonzero(change)
        gram.accumulate(state.gradient, points[moved], change[moved])
        state.columns += moved.size

    def renew(self, gram: Gram, linear: Array, state: State) -> None:
        """Evaluate the gradient anew."""
        state.gradient = linear.copy()
        self.add(gram, state, np.arange(state.b.size), state.b)

    def descend(self, gram: Gram, linear: Array, box: Box, state: State, target: float) -> None:
        """Working sets until the gap is at most ``target``; all points are one if they are few."""
        from convexnovelty.algorithms import _reduced

        size, began, futile = WORKING_SET, state.rounds, 0
        while True:
            high, low, free = _reduced.survey(state.gradient, state.b, box.lower, box.upper)
            gap = high - low if box.total is not None else max(high, -low)
            if not gap > target:
                return
            if state.rounds - began >= PATIENCE and gap <= _rounding(gram, state.b):
                return
            if state.rounds >= self.limit:
                raise SolverError(
                    f"the KKT gap is {gap:.3e} after {state.rounds} rounds, and {target:.3e} was asked for",
                    status="max_rounds",
                )
            state.rounds += 1
            if futile >= FUTILE:
                self.centre(gram, linear, box, state)
                futile = 0
                continue
            if gram.size <= gram.whole:
                rows = gram.rows(self.room)
                done = self.pairs(rows, gram.diagonal(), state, state.gradient, state.b, box, target)
            else:
                size = min(max(size, 2 * free), LARGEST_SET)
                chosen = _most_violating(state, box, size)
                done = self.improve(gram, box, state, chosen, max(0.5 * target, INNER * gap))
            futile += not done and self.finish(gram, box, state, target) > target

    def improve(self, gram: Gram, box: Box, state: State, chosen: Indices, target: float) -> bool:
        """Minimise over the chosen coordinates, the others held fast."""
        part, length = gram.subset(chosen), padded(chosen.size)
        gradient, b, lower, upper = (
            extended(values[chosen], length) for values in (state.gradient, state.b, box.lower, box.upper)
        )
        inner = Box(lower, upper, box.total, np.ones(length))
        done = self.pairs(part.rows(self.room), part.diagonal(), state, gradient, b, inner, target)
        change = b[: chosen.size] - state.b[chosen]
        state.b[chosen] = b[: chosen.size]
        self.add(gram, state, chosen, change)
        return done

    def centre(self, gram: Gram, linear: Array, box: Box, state: State) -> None:
        """Minimise from within over the points, or those that violate optimality most, where pair steps do not come to an end.

        What rounding has left of so many steps is a slope that no point of a level program is optimal for.
        """
        self.renew(gram, linear, state)
        if gram.size <= gram.whole:
            chosen = np.flatnonzero(box.lower < box.upper)
        else:
            chosen = _most_violating(state, box, LARGEST_SET)
        block, old = gram.block(chosen), state.b[chosen]
        lower, upper = box.lower[chosen], box.upper[chosen]
        total = None if box.total is None else box.total - float(state.b.sum() - old.sum())
        slope = state.gradient[chosen] - block @ old
        moved = interior_point(block, slope, lower, upper, total)
        inner = Box(lower, upper, total, np.ones(chosen.size))
        moved = inner.feasible(moved, np.argsort(np.minimum(moved - lower, upper - moved))[::-1])
        if kkt_gap(slope + block @ moved, moved, inner) < kkt_gap(state.gradient[chosen], old, inner):
            state.b[chosen] = moved
            self.add(gram, state, chosen, moved - old)

    def pairs(
        self, rows: Rows, diagonal: Array, state: State, gradient: Array, b: Array, box: Box, target: float
    ) -> bool:
        """Pair steps in place until the gap is at most ``target``: whether that took no more steps than it should."""
        from convexnovelty.algorithms import _pair_steps, _reduced

        loop = _reduced.reduced_pairs if box.total is not None else _reduced.reduced_coordinates
        limit = 50 * b.size + 10_000
        status, steps = loop(
            rows.panels, rows.rows, rows.slot, rows.owner, diagonal, gradient, b, box.lower, box.upper, target, limit
        )
        state.steps += steps
        if status == _pair_steps.INDEFINITE:
            raise IndefiniteError(
                "kernel: its Gram matrix has a negative eigenvalue on these points; give another kernel"
            )
        if status == _pair_steps.UNBOUNDED:
            raise UnboundedError("the objective falls without end, where the kernel is flat and upper is infinite")
        return bool(status == _pair_steps.CONVERGED)

    def finish(self, gram: Gram, box: Box, state: State, target: float) -> float:
        """Newton steps on the free coordinates for as long as they lower the gap by half; returns the gap."""
        gap, rho = kkt_gap(state.gradient, state.b, box), None
        while gap > target:
            # After a step all free coordinates have the gradient rho, and what is wrong at a bound is seen exactly.
            chosen = box.free(state.b) if rho is None else box.movable(state.b, state.gradient, rho, target)
            if not 0 < chosen.size <= NEWTON:
                break
            missing = None if box.total is None else box.total - float(state.b.sum())
            old = state.b[chosen]
            moved = _newton(gram.block(chosen), state.gradient[chosen], old, box, chosen, missing)
            self.add(gram, state, chosen, moved - old)
            state.b[chosen] = moved
            before, (gap, offset) = gap, kkt_offset(state.gradient, state.b, box)
            rho = offset.used
            if not gap < 0.5 * before:
                break
        return gap


def _rounding(gram: Gram, b: Array) -> float:
    """What the last bits of a score may add up to: its terms are larger than their sum where nothing is separated."""
    lengths = np.sqrt(np.maximum(gram.diagonal()[: gram.size], 0.0))
    return ROUNDING * float(lengths.max() * (np.abs(b[: gram.size]) @ lengths))


def _newton(block: Array, gradient: Array, b: Array, box: Box, free: Indices, missing: float | None) -> Array:
    """The minimiser over the free coordinates alone, their box included.

    All coordinates that a step would take out of the box are put to their bounds at once: few factorisations. That may
    fail to lower the objective, and then the step is cut at the first bound each time, which cannot.
    """
    lower, upper = box.lower[free], box.upper[free]
    moved, whole = _active_set(block, gradient, b, lower, upper, missing, projected_step)
    change = moved - b
    if whole and gradient @ change + 0.5 * change @ (block @ change) <= 0.0:
        return moved
    return _active_set(block, gradient, b, lower, upper, missing, admissible_step)[0]


def _active_set(
    block: Array,
    gradient: Array,
    b: Array,
    lower: Array,
    upper: Array,
    missing: float | None,
    step: Callable[[Array, Array, Array, Array], tuple[Array, bool]],
) -> tuple[Array, bool]:
    """Newton steps of one kind over a shrinking set of coordinates, and whether the last one was whole."""
    b, inside, part = b.copy(), np.arange(b.size), block
    for _ in range(CUTS):
        try:
            delta = newton_direction(part, gradient[inside], missing)
        except LinAlgError:
            break
        moved, whole = step(b[inside], delta, lower[inside], upper[inside])
        change = moved - b[inside]
        b[inside] = moved
        if whole:
            return b, True
        gradient = gradient + block[:, inside] @ change
        missing = None if missing is None else missing - float(change.sum())
        inside = inside[(moved > lower[inside]) & (moved < upper[inside])]
        if inside.size == 0:
            break
        part = block[np.ix_(inside, inside)]
    return b, False


def _most_violating(state: State, box: Box, size: int) -> Indices:
    """Half of the set from those that should shrink first, half from those that should grow first, and what is free.

    Free coordinates violate little, but give way to the others: without them an ill-conditioned program hardly moves.
    """
    half = min(size // 2, state.b.size - 1)
    shrinks, grows = state.b > box.lower, state.b < box.upper
    chosen = shrinks & grows
    if np.count_nonzero(chosen) > LARGEST_SET:
        chosen[:] = False
    for able, key in ((shrinks, -state.gradient), (grows, state.gradient)):
        chosen[np.argpartition(np.where(able, key, np.inf), half)[:half]] = True
    return np.flatnonzero(chosen & (box.lower < box.upper))
