r"""Which k constraints to leave out, so that a convex program gains most: exact searches for small programs.

The program is known through one function, ``solve(kept)``: its value v over the constraints that are kept, the
constraints that support it, a subset whose own value is v already, and, where it has them, a weight above zero for each
of these. Values never rise when a constraint is left out. Then a choice can only be better than v if it leaves out one of
the supporting constraints, which is all that the searches use (Matoušek, On geometric optimization with few violated
constraints, 1995).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from convexnovelty.errors import InputError, SolverError
from convexnovelty.validation import Array, integer

__all__ = ["FewViolations", "Solve", "enumerate_choices", "greedy", "hitting_sets", "support_tree"]

Rows = NDArray[np.intp]
# From the rows that are kept: the value, infinite where nothing is feasible, and the rows that support it, each with
# a weight above zero that says how much it matters; all matter alike where there are none.
Solve = Callable[[Rows], tuple[float, Rows, Array] | tuple[float, Rows]]
Weighed = Callable[[Rows], tuple[float, Rows, Array]]

# Values that differ by less, relative to the larger, are equal.
EQUAL = 1e-9


@dataclass(frozen=True)
class FewViolations:
    """The best value, the rows left out, and how many programs were solved to find out."""

    value: float
    left_out: Rows
    solved: int


def _count(k: int, n: int) -> int:
    k = integer(k, "k", 0)
    if k >= n:
        raise InputError(f"k: {k} was found for {n} constraints; give a number below {n}, so that one is left")
    return k


def _asked(solve: Solve) -> Weighed:
    """The program's answers with a weight each; InputError for one that is neither a pair nor three parts of one length."""

    def answered(kept: Rows) -> tuple[float, Rows, Array]:
        answer: Any = solve(kept)
        if not isinstance(answer, tuple) or len(answer) not in (2, 3):
            raise InputError(
                f"solve: {answer!r} was returned; give the value, the rows that support it and, optionally, their weights"
            )
        support = np.atleast_1d(np.asarray(answer[1], dtype=int))
        weights = np.asarray(answer[2], dtype=float) if len(answer) == 3 else np.ones(support.size)
        if np.isnan(value := float(answer[0])) or not np.isin(support, kept).all() or weights.shape != support.shape:
            raise InputError(
                f"solve: {answer!r} was returned; give a number, rows among the {len(kept)} that are kept, and a weight for each"
            )
        if not support.size:
            raise InputError(f"solve: no row was returned that supports the value {value:.6g}; give at least one")
        return value, support, weights

    return answered


def _without(n: int, left_out: Sequence[int]) -> Rows:
    return np.setdiff1d(np.arange(n), np.asarray(left_out, dtype=int))


def _completed(left_out: Sequence[int], k: int, n: int) -> Rows:
    """Exactly k rows: those found, and the last of the others, which may be left out without harm."""
    found = list(left_out)
    found += [i for i in range(n - 1, -1, -1) if i not in set(found)][: k - len(found)]
    return np.array(sorted(found), dtype=int)


def enumerate_choices(solve: Solve, n: int, k: int, limit: int = 20_000) -> FewViolations:
    """Every choice of k out of n constraints; InputError above ``limit`` choices."""
    k, asked = _count(k, n), _asked(solve)
    if comb(n, k) > limit:
        raise InputError(
            f"k: {comb(n, k)} choices of {k} out of {n} are more than {limit}; use a search in place of all"
        )
    best, chosen = np.inf, np.arange(k)
    for choice in combinations(range(n), k):
        value = asked(_without(n, choice))[0]
        if value < best:
            best, chosen = value, np.array(choice, dtype=int)
    return FewViolations(float(best), chosen, comb(n, k))


def support_tree(solve: Solve, n: int, k: int, limit: int = 100_000) -> FewViolations:
    """Branch over the supporting constraints, k levels deep; SolverError after ``limit`` programs."""
    k, asked = _count(k, n), _asked(solve)
    seen: set[frozenset[int]] = set()
    best: list[float] = [np.inf]
    chosen: list[tuple[int, ...]] = [()]

    def visit(left_out: frozenset[int]) -> None:
        if left_out in seen:
            return
        if len(seen) >= limit:
            raise SolverError(f"support_tree: {limit} programs did not suffice; leave out fewer points", "user_limit")
        seen.add(left_out)
        value, support, _ = asked(_without(n, tuple(left_out)))
        if value < best[0] * (1 - EQUAL) or not np.isfinite(best[0]):
            best[0], chosen[0] = value, tuple(left_out)
        if len(left_out) < k:
            for i in support:
                visit(left_out | {int(i)})

    visit(frozenset())
    return FewViolations(best[0], _completed(chosen[0], k, n), len(seen))


def greedy(solve: Solve, n: int, k: int) -> FewViolations:
    """Leave out, one by one, the supporting constraint whose loss gains most: an upper bound, not the optimum."""
    k, asked = _count(k, n), _asked(solve)
    left_out: list[int] = []
    value, support, weights = asked(np.arange(n))
    solved = 1
    for _ in range(k):
        trials = [(*asked(_without(n, [*left_out, int(i)])), int(i)) for i in support]
        solved += len(trials)
        # Where no trial is feasible, the heaviest supporting constraint goes.
        pick = min(range(len(trials)), key=lambda j: (trials[j][0], -weights[j]))
        value, support, weights, row = trials[pick]
        left_out.append(row)
    return FewViolations(value, np.array(sorted(left_out), dtype=int), solved)


def hitting_sets(solve: Solve, n: int, k: int, rounds: int = 5000) -> FewViolations:
    """Integer programming: choose k constraints that hit every supporting set found so far, until none can.

    The master program has one binary variable a constraint and one row a supporting set, and is solved by HiGHS. It is
    infeasible exactly when no choice can be better than the best one found. A supporting set is first made smaller,
    as far as its value alone stays at least the best one: the fewer rows it has, the more choices it rules out.
    """
    k, asked = _count(k, n), _asked(solve)
    start = greedy(solve, n, k)
    best, chosen = start.value, _completed(start.left_out.tolist(), k, n)
    rows: list[Array] = [np.ones(n)]
    wish, solved = np.zeros(n), start.solved
    for _ in range(rounds):
        choice = _chosen(np.array(rows), k, wish)
        if choice is None:
            return FewViolations(best, chosen, solved)
        value, support, weights = asked(_without(n, choice.tolist()))
        if value < best * (1 - EQUAL) or (np.isfinite(value) and not np.isfinite(best)):
            best, chosen = value, choice
        support, spent = _shrunk(asked, support, weights, best)
        solved += 1 + spent
        row = np.zeros(n)
        row[support] = 1.0
        rows.append(row)
        wish += row / support.size
    raise SolverError(f"hitting_sets: {rounds} rounds did not suffice; leave out fewer points", "user_limit")


def _shrunk(solve: Weighed, support: Rows, weights: Array, best: float) -> tuple[Rows, int]:
    """A subset of the supporting rows whose own value is no better than the best, and the programs solved for it."""
    kept, solved = support, 0
    for i in support[np.argsort(weights, kind="stable")]:
        fewer = kept[kept != i]
        if fewer.size == 0:
            break
        value = solve(fewer)[0]
        solved += 1
        if value >= best * (1 - EQUAL):
            kept = fewer
    return kept, solved


def _chosen(rows: Array, k: int, wish: Array) -> Rows | None:
    """k rows that hit every supporting set, those first that lie in many small ones; None where there are none."""
    n = rows.shape[1]
    lower = np.concatenate([[k], np.ones(len(rows) - 1)])
    upper = np.concatenate([[k], np.full(len(rows) - 1, np.inf)])
    found = milp(
        -wish, constraints=LinearConstraint(rows, lower, upper), integrality=np.ones(n, dtype=int), bounds=Bounds(0, 1)
    )
    if found.status == 2:
        return None
    if found.x is None:
        raise SolverError(f"hitting_sets: the master program was not solved ({found.message})", str(found.status))
    return np.flatnonzero(found.x > 0.5)
