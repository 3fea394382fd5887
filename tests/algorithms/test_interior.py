"""The interior point for level dual programs, against a general solver, and the programs that pair steps do not bring to an end."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from convexnovelty import kernels
from convexnovelty.algorithms.block_dual import kkt_violation, solve_dual
from convexnovelty.algorithms.interior import interior_point


@pytest.mark.parametrize("total", [None, 3.0])
@pytest.mark.parametrize("ends", ["both", "lower", "upper", "mixed"])
@pytest.mark.parametrize("rank", [3, 12])
def test_the_minimiser_is_that_of_a_general_solver(rank, ends, total):
    rng = np.random.default_rng(5)
    F, p = rng.normal(size=(rank, 12)), rng.normal(size=12)
    p = p if rank == 12 else F.T @ rng.normal(size=rank)
    lower, upper = -rng.uniform(0.1, 1.0, 12), rng.uniform(0.1, 1.0, 12)
    upper[0] = 3.0
    if ends in ("lower", "mixed"):
        upper[1 if ends == "mixed" else 0 :: 2] = np.inf
    if ends in ("upper", "mixed"):
        lower[::3] = -np.inf
    x = cp.Variable(12)
    bounds = [x[np.isfinite(lower)] >= lower[np.isfinite(lower)], x[np.isfinite(upper)] <= upper[np.isfinite(upper)]]
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(F @ x) / 2 + p @ x), bounds + ([cp.sum(x) == total] if total else [])
    )
    best = problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    found = interior_point(F.T @ F, p, lower, upper, total)
    assert (found >= lower - 1e-12).all() and (found <= upper + 1e-12).all()
    if total is not None:
        assert found.sum() == pytest.approx(total, abs=1e-12)
    assert np.sum((F @ found) ** 2) / 2 + p @ found == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("outlier", [False, True])
def test_points_on_a_circle_have_a_machine(outlier):
    """Hours of a day as they come, on a circle: ten thousand rounds of pair steps and Newton steps ended in an error, after minutes."""
    angles = 2 * np.pi * np.random.default_rng(0).random(200)
    X = np.c_[np.cos(angles), np.sin(angles)]
    X = np.r_[X, [[3.0, 3.0]]] if outlier else X
    kernel, bound = kernels.gaussian(gamma=1.0), 1 / (0.5 * len(X))
    result = solve_dual(X, kernel, outlier_fraction=0.5, tolerance=1e-6, of_scores=1e-9)
    assert kkt_violation(X, result, bound) < 1e-12
    assert result.rounds < 100
    # Its value is that of any point on the boundary of what a general solver finds.
    K = kernels.gaussian(gamma=1.0).evaluate(X, X)
    values, vectors = np.linalg.eigh(K)
    F = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    a = cp.Variable(len(X), nonneg=True)
    best = cp.Problem(cp.Minimize(cp.sum_squares(F @ a) / 2), [cp.sum(a) == 1, a <= bound]).solve(solver="CLARABEL")
    assert result.objective == pytest.approx(best, rel=1e-7)
