"""Pair steps with several groups against Clarabel, the solver with one group, and programs solved by hand."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from convexnovelty.algorithms.grouped_smo import Group, grouped_smo
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import IndefiniteError, InputError, SolverError, UnboundedError


def gaussian(n=30, gamma=0.5, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def machine(n, nu=0.3, C=0.7):
    """The three groups of the modified one-class machine."""
    return [Group(upper=1 / (nu * n), total=1.0), Group(linear=-1.0), Group(sign=-1.0, total=C)]


def reference(Q, groups):
    """The same program by a general solver, from an eigenvalue factor."""
    n = len(Q)
    values, vectors = np.linalg.eigh(Q)
    factor = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    parts = [cp.Variable(n, nonneg=True) for _ in groups]
    held = [part <= g.upper for part, g in zip(parts, groups, strict=True) if np.isfinite(g.upper)]
    held += [cp.sum(part) == g.total for part, g in zip(parts, groups, strict=True) if g.total is not None]
    v = sum(g.sign * part for part, g in zip(parts, groups, strict=True))
    linear = sum(g.linear * cp.sum(part) for part, g in zip(parts, groups, strict=True))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(factor @ v) / 2 + linear), held)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value


def check(Q, groups, result, tolerance=1e-9):
    """Feasibility, and optimality as its definition has it, group by group."""
    v = sum(g.sign * a for g, a in zip(groups, result.multipliers, strict=True))
    np.testing.assert_allclose(result.combined, v)
    np.testing.assert_allclose(result.products, Q @ v, atol=1e-12 * max(1.0, np.abs(Q @ v).max()))
    size = (np.abs(Q) @ np.abs(v)).max() + 1
    for g, a, (low, high) in zip(groups, result.multipliers, result.levels, strict=True):
        assert (a >= 0).all() and (a <= g.upper).all()
        gradient = g.sign * (Q @ v) + g.linear
        if g.total is not None:
            assert a.sum() == pytest.approx(g.total, abs=1e-12)
        level = 0.0 if g.total is None else (low + high) / 2 if np.isfinite(low + high) else max(low, min(high, 0))
        assert (gradient[a > 0] <= level + tolerance * size).all()
        assert (gradient[a < g.upper] >= level - tolerance * size).all()


@pytest.mark.parametrize("n", [3, 20, 60])
@pytest.mark.parametrize(("nu", "C"), [(0.2, 0.0), (0.2, 0.5), (0.7, 1.0), (1.0, 3.0)])
def test_three_groups_against_a_general_solver(n, nu, C):
    Q, groups = gaussian(n, seed=n), machine(n, nu, C)
    result = grouped_smo(Q, groups)
    assert result.objective == pytest.approx(reference(Q, groups), rel=1e-7, abs=1e-8)
    check(Q, groups, result)


@pytest.mark.parametrize("seed", range(6))
def test_random_groups(seed):
    """Any signs, linear terms, bounds and sums; singular matrices and repeated rows too."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((12, 12 if seed % 2 else 5))
    factor[3] = factor[7]
    groups = [
        Group(
            sign=float(rng.choice([-1, 1])), linear=float(rng.normal()), upper=float(rng.uniform(0.3, 2)), total=total
        )
        for total in (1.5, None, 0.0, 2.0)
    ]
    Q = factor @ factor.T
    result = grouped_smo(Q, groups)
    assert result.objective == pytest.approx(reference(Q, groups), rel=1e-6, abs=1e-7)
    check(Q, groups, result, 1e-8)


def test_one_group_is_the_plain_solver():
    Q = gaussian(40)
    one = grouped_smo(Q, [Group(upper=0.1, total=1.0)])
    plain = smo(Q, upper=0.1)
    assert one.objective == pytest.approx(plain.objective, rel=1e-12)
    np.testing.assert_allclose(one.products, plain.gradient, atol=1e-10)
    assert one.levels[0] == pytest.approx(plain.offset[:2], rel=1e-9)


def test_two_multipliers_by_hand():
    """min v^2/2 - h over s = 1 and h >= 0 with v = s + h: v = 1, so h = 0; and with v = h - s: h = 2, value -3/2."""
    s, h = grouped_smo([[1.0]], [Group(total=1.0), Group(linear=-1.0)]).multipliers
    assert (s[0], h[0]) == pytest.approx((1.0, 0.0))
    result = grouped_smo([[1.0]], [Group(sign=-1.0, total=1.0), Group(linear=-1.0)])
    assert result.multipliers[1][0] == pytest.approx(2.0)
    assert result.objective == pytest.approx(-1.5)


def test_a_start_changes_the_way_and_not_the_end():
    Q, groups = gaussian(40), machine(40)
    cold = grouped_smo(Q, groups)
    warm = grouped_smo(Q, groups, start=cold.multipliers)
    wild = grouped_smo(Q, groups, start=[np.full(40, 5.0)] * 3)
    assert warm.iterations <= 5 < cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)
    assert wild.objective == pytest.approx(cold.objective, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_the_matrix_and_of_the_linear_terms(scale):
    """With Q and p in another unit the multipliers stay and the objective scales."""
    Q, groups = gaussian(20), machine(20)
    scaled = [Group(g.sign, g.linear * scale, g.upper, g.total) for g in groups]
    one, other = grouped_smo(Q, groups), grouped_smo(scale * Q, scaled)
    assert other.objective == pytest.approx(scale * one.objective, rel=1e-9)


def test_the_arguments_are_left_alone():
    Q, start = gaussian(10), [np.zeros(10)] * 3
    kept = Q.copy()
    Q.setflags(write=False)
    grouped_smo(Q, machine(10), start=start)
    np.testing.assert_array_equal(Q, kept)
    assert not np.any(start)


def test_failures_say_what_is_wrong():
    with pytest.raises(InputError, match=r"upper: 4 multipliers of at most 0.2 cannot sum to 1"):
        grouped_smo(np.eye(4), [Group(upper=0.2, total=1.0)])
    with pytest.raises(InputError, match="Q"):
        grouped_smo([[1.0, np.nan], [np.nan, 1.0]], machine(2))
    with pytest.raises(InputError, match="not symmetric"):
        grouped_smo([[1.0, 0.5], [0.2, 1.0]], machine(2, nu=1.0))
    with pytest.raises(IndefiniteError) as caught:
        grouped_smo([[1.0, 2.0], [2.0, 1.0]], machine(2, nu=1.0))
    assert caught.value.eigenvalue == pytest.approx(-1.0)
    with pytest.raises(UnboundedError, match="falls without end"):
        grouped_smo(np.zeros((2, 2)), machine(2, nu=1.0))
    with pytest.raises(SolverError, match="KKT gap"):
        grouped_smo(gaussian(40), machine(40), max_iterations=3)
    with pytest.raises(InputError, match="tolerance"):
        grouped_smo(np.eye(2), machine(2, nu=1.0), tolerance=0.0)


@pytest.mark.parametrize("flat", [[1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 2.0]])
def test_a_direction_that_pays_without_end_is_no_minimum(flat):
    """Q sees everything but the direction; multipliers of 1e14 along it had a value, and a gap as large as the linear term."""
    d = np.array(flat)
    Q = np.eye(len(d)) - np.outer(d, d) / (d @ d)
    with pytest.raises(UnboundedError, match="falls without end"):
        grouped_smo(Q, [Group(1.0, -1.0)])
    with pytest.raises(UnboundedError, match="falls without end"):
        smo(Q, -np.ones(len(d)), equality=False)
    assert grouped_smo(Q, [Group(1.0, -1.0, upper=2.0)]).violation < 1e-9
