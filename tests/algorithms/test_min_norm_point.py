"""Wolfe's algorithm: faces by hand, a quadratic program, duplicates, and hulls that hold the origin."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexnovelty.algorithms.min_norm_point import min_norm_point
from convexnovelty.errors import InputError, SolverError


def optimal(P, found, tolerance=1e-12):
    """Weights make the point, and no point lies on its near side: that proves it to be the nearest."""
    x = found.point
    size = np.linalg.norm(P, axis=1).max()
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.weights @ P == pytest.approx(x, abs=1e-12 * size)
    assert (P @ x).min() >= x @ x - tolerance * size * max(np.linalg.norm(x), 1e-3 * size)


def test_by_hand():
    assert min_norm_point([[3.0, 4.0]]).point == pytest.approx([3.0, 4.0])
    assert min_norm_point([[2.0, 1.0], [2.0, -1.0]]).point == pytest.approx([2.0, 0.0])
    assert min_norm_point([[1.0, 0.0], [0.0, 1.0]]).weights == pytest.approx([0.5, 0.5])
    corner = min_norm_point([[0.0, 2.0], [3.0, 0.0], [-2.0, 1.0]])  # Wolfe's own example
    optimal(np.array([[0.0, 2.0], [3.0, 0.0], [-2.0, 1.0]]), corner)


@pytest.mark.parametrize(
    ("n", "r", "offset"), [(5, 2, 3.0), (60, 3, 2.0), (120, 30, 1.0), (40, 60, 1.0), (300, 20, 4.0)]
)
def test_against_a_quadratic_program(n, r, offset):
    P = np.random.default_rng(n).standard_normal((n, r)) + offset
    found = min_norm_point(P)
    optimal(P, found)
    weights = cp.Variable(n, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(P.T @ weights)), [cp.sum(weights) == 1])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    assert found.distance**2 == pytest.approx(problem.value, rel=1e-7)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 6))
def test_any_small_hull(seed, n, r):
    rng = np.random.default_rng(seed)
    P = rng.integers(-3, 4, size=(n, r)).astype(float)  # many ties, duplicates and degenerate faces
    optimal(P, min_norm_point(P), 1e-9)


def test_duplicates_and_collinear_points():
    P = np.repeat([[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]], 4, axis=0)
    found = min_norm_point(P)
    assert found.point == pytest.approx([1.0, 1.0])
    line = np.outer(np.linspace(-1.0, 2.0, 7), [1.0, 1.0]) + np.array([0.0, 2.0])
    optimal(line, min_norm_point(line))


def test_the_origin_in_the_hull():
    P = np.random.default_rng(1).standard_normal((50, 4))
    found = min_norm_point(P)
    assert found.distance <= 1e-12
    assert min_norm_point(np.zeros((3, 2))).distance == 0.0


@pytest.mark.parametrize("unit", [1e-150, 1e-8, 1e8, 1e150])
def test_units(unit):
    P = np.random.default_rng(2).standard_normal((30, 5)) + 1.0
    base = min_norm_point(P)
    moved = min_norm_point(unit * P)
    assert moved.point / unit == pytest.approx(base.point, rel=1e-10)
    assert moved.weights == pytest.approx(base.weights, abs=1e-10)


def test_bad_input():
    with pytest.raises(InputError, match="P: shape"):
        min_norm_point(np.zeros((0, 2)))
    with pytest.raises(InputError, match="P: nan"):
        min_norm_point([[np.nan, 1.0]])
    with pytest.raises(SolverError, match="after 1 rounds"):
        min_norm_point([[2.0, 1.0], [2.0, -1.0]], max_iterations=1)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_distances_whose_squares_are_no_numbers(unit):
    found = min_norm_point(np.array([[3.0, 4.0], [6.0, 8.0]]) * unit)
    assert found.distance == pytest.approx(5.0 * unit, rel=1e-14)
