"""The bounds of chapter 8: their formulas in many digits, what is wrong in the print, and that they hold."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import bounds
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import InputError


def in_many_digits(m, slacks, gamma, norm, delta, radius):
    with mpmath.workdps(60):
        m, slacks, gamma, norm, delta, radius = (mpmath.mpf(x) for x in (m, slacks, gamma, norm, delta, radius))
        c = mpmath.mpf(103)
        margin = gamma / (norm * radius)
        k = 16 * c**2 / margin**2 * mpmath.log(mpmath.log(2) / (4 * c**2) * margin**2 * m, 2) + 2
        if slacks > 0:
            k += 2 * slacks / gamma * mpmath.log(mpmath.e * ((2 * m - 1) * gamma / (2 * slacks) + 1), 2)
        return float(k), float(2 / m * (k + mpmath.log(m**2 / (2 * delta), 2)))


def printed(m, slacks, gamma, norm, delta):
    """Equations 8.35 and 8.36 to the letter."""
    c = 103.0
    margin = gamma / norm
    k = 16 * c**2 * math.log2(math.log(2) / (4 * c**2) * margin**2 * m) / margin**2 + 2
    k += 2 * slacks / margin * math.log2(math.e * ((2 * m - 1) * margin / (2 * slacks) + 1))
    return 2 / m * (k + math.log2(m**2 / (2 * delta)))


@pytest.mark.parametrize(
    ("m", "slacks", "gamma", "norm", "delta", "radius"),
    [
        (10**7, 0.0, 1.0, 1.0, 0.05, 1.0),
        (10**9, 12.5, 0.3, 0.7, 0.01, 1.0),
        (10**8, 1e-12, 2.0, 3.0, 0.5, 1.5),
        (3 * 10**9, 400.0, 1e-4, 1e-3, 1e-9, 2.0),
    ],
)
def test_the_formula_in_many_digits(m, slacks, gamma, norm, delta, radius):
    k, formula = in_many_digits(m, slacks, gamma, norm, delta, radius)
    found = bounds.margin_bound(m, slacks, gamma, norm, delta, radius)
    assert found.complexity == pytest.approx(k, rel=1e-12)
    assert found.formula == pytest.approx(formula, rel=1e-12)
    assert found.value == min(found.formula, 1.0)
    assert found.vacuous == (found.formula >= 1)
    assert found.guarantee.bound == found.value


def test_the_print_agrees_where_it_is_right():
    """With |w| = 1 and points in the unit ball the two ways to measure slacks are one."""
    assert bounds.margin_bound(10**8, 3.0, 0.5, 1.0).formula == pytest.approx(printed(10**8, 3.0, 0.5, 1.0, 0.05))


@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_the_printed_slack_term_depends_on_how_the_hyperplane_is_written(factor):
    """Multiplying w, rho and gamma by a number changes no region: 8.36 must not change, and as printed it does."""
    arguments = (10**8, 2e5, 0.4, 0.8)
    scaled = (10**8, factor * 2e5, factor * 0.4, factor * 0.8)
    assert bounds.margin_bound(*arguments).formula == pytest.approx(bounds.margin_bound(*scaled).formula, rel=1e-12)
    assert abs(printed(*arguments, 0.05) / printed(*scaled, 0.05) - 1) > 1e-3


@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_units_of_the_points(unit):
    """Points times a number: w times it, scores times its square, and the same regions."""
    base = bounds.margin_bound(10**8, 2e5, 0.4, 0.8, radius=1.3)
    other = bounds.margin_bound(10**8, unit**2 * 2e5, unit**2 * 0.4, unit * 0.8, radius=unit * 1.3)
    assert base.formula == pytest.approx(other.formula, rel=1e-12)


def test_the_print_falls_below_zero_for_ordinary_samples():
    """Where c_2 gamma^2 m is below one the printed bound is negative: nothing is claimed there instead."""
    assert printed(200, 1.0, 0.5, 1.0, 0.05) < 0
    found = bounds.margin_bound(200, 1.0, 0.5, 1.0)
    assert found.vacuous
    assert found.value == 1.0
    assert math.isinf(found.formula)
    assert "says nothing" in found.guarantee
    # Just above one it is small without a reason: it rises when points are added.
    edge = 4 * 103**2 / math.log(2)
    low, high = (printed(round(f * edge), 1e-9, 1.0, 1.0, 0.05) for f in (1.02, 1.1))
    assert 0 < low < high < 1
    assert bounds.margin_bound(round(1.02 * edge), 0.0, 1.0, 1.0).vacuous


def test_more_points_a_larger_margin_and_smaller_slacks_help():
    m = np.geomspace(1e5, 1e12, 60)
    values = [bounds.margin_bound(round(x), 0.0, 0.7, 1.0).formula for x in m]
    assert all(b <= a for a, b in pairwise(values))
    assert values[-1] < 1e-3
    by_gamma = [bounds.margin_bound(10**9, 10.0, g, 1.0).formula for g in np.geomspace(0.2, 3, 20)]
    assert all(b <= a for a, b in pairwise(by_gamma))
    by_slack = [bounds.margin_bound(10**9, s, 0.7, 1.0).formula for s in (0.0, 1e-9, 1.0, 1e4, 1e8)]
    assert all(b >= a for a, b in pairwise(by_slack))


def test_how_many_points_are_needed():
    needed = bounds.points_needed(0.5, gamma=1.0, norm=1.0)
    assert bounds.margin_bound(needed, 0.0, 1.0, 1.0).formula <= 0.5
    assert bounds.margin_bound(needed - 1, 0.0, 1.0, 1.0).formula > 0.5
    assert needed > 10**6
    with pytest.raises(InputError, match="target"):
        bounds.points_needed(0.01, gamma=0.1, norm=1.0, slack=0.5)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"m": 0}, "m"),
        ({"m": 1.5}, "m"),
        ({"slacks": -1.0}, "slacks"),
        ({"gamma": 0.0}, "gamma"),
        ({"norm": 0.0}, "norm"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"radius": -1.0}, "radius"),
        ({"gamma": float("nan")}, "gamma"),
        ({"m": "many"}, "m"),
    ],
)
def test_bad_numbers_are_named(changes, name):
    arguments = {"m": 100, "slacks": 0.0, "gamma": 1.0, "norm": 1.0, **changes}
    with pytest.raises(InputError, match=rf"^{name}: "):
        bounds.margin_bound(**arguments)


def test_sum_of_slacks():
    assert bounds.slack_sum([0.5, 2.0, -1.0], 1.0) == 2.5
    assert bounds.slack_sum([0.5], -3.0) == 0.0


def test_the_bound_of_a_solution():
    X = np.random.default_rng(1).standard_normal((50, 3)) + 5
    features = cn.LinearFeatures(X)
    solution = cn.one_class_svm(features, 0.3).solve()
    w, rho = solution.region.normal, solution.region.offset
    found = bounds.solution_bound(solution, features, gamma=rho / 2)
    expected = bounds.margin_bound(
        50,
        float(np.maximum(rho - X @ w, 0).sum()),
        rho / 2,
        float(np.linalg.norm(w)),
        radius=float(np.linalg.norm(X, axis=1).max()),
    )
    assert found == expected
    with pytest.raises(InputError, match="half-spaces"):
        bounds.solution_bound(cn.soft_ball(features, 0.3).solve(), features, 1.0)


# -- leave one out ---------------------------------------------------------------------------------------------------------


def test_only_support_vectors_fall_outside_when_left_out(rng):
    for n, nu in ((15, 0.03), (25, 0.21), (30, 0.5)):
        X = rng.standard_normal((n, 2)) + 3
        gram = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        alpha = smo(gram, upper=1 / (nu * n)).multipliers
        errors = bounds.leave_one_out_errors(gram, 1 / (nu * n))
        assert not errors[alpha == 0].any()
        assert errors.mean() <= bounds.leave_one_out_bound(alpha)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5])
def test_where_nothing_is_separated_no_point_falls_outside(nu, rng):
    """With w = 0 the objective -rho + max(rho, 0)(m - 1)/(nu m) is least at rho = 0, and every score is zero."""
    X = rng.standard_normal((20, 2))
    assert not bounds.leave_one_out_errors(X @ X.T, 1 / (nu * 20)).any()
    # Where the origin is separated by little, points before the plane and behind it are told apart.
    line = np.array([[1e-3 * k, (-1.0) ** k] for k in range(1, 6)])
    errors = bounds.leave_one_out_errors(line @ line.T, 1.0)
    refitted = [cn.one_class_svm(cn.LinearFeatures(np.delete(line, i, axis=0)), 0.25).solve() for i in range(5)]
    assert errors.tolist() == [float(not fit.region.contains(line[[i]])[0]) for i, fit in enumerate(refitted)]
    assert 0 < errors.sum() < 5


def test_the_share_of_outliers_may_not_be_kept_in_place_of_the_bound_on_multipliers():
    """With nu kept, 1/(nu (m - 1)) replaces 1/(nu m): the solution changes when a point that supports nothing goes."""
    X = np.arange(1.0, 6.0)
    gram = np.outer(X, X)
    whole = smo(gram, upper=1 / (0.5 * 5))
    assert whole.multipliers[4] == 0
    kept = smo(gram[:4, :4], upper=1 / (0.5 * 5))
    changed = smo(gram[:4, :4], upper=1 / (0.5 * 4))
    assert kept.objective == pytest.approx(whole.objective, rel=1e-12)
    assert changed.objective < 0.9 * whole.objective


def test_the_bound_is_attained_on_a_line():
    """A hard margin on the half-line has one support vector: the chance of a new minimum among m points is 1/m."""
    rng, m = np.random.default_rng(8), 8
    outside, supports = [], []
    for _ in range(4000):
        X = 1 + rng.random(m)
        outside.append(X[-1] < X[:-1].min())
    for _ in range(20):
        X = 1 + rng.random(m)
        supports.append(bounds.leave_one_out_bound(smo(np.outer(X, X), upper=10.0).multipliers))
    assert supports == [1 / m] * 20
    assert np.mean(outside) == pytest.approx(1 / m, abs=4 * math.sqrt(1 / m / 4000))


def test_the_bound_holds_on_average_in_the_plane():
    rng, m, nu = np.random.default_rng(9), 20, 0.2
    outside, shares = [], []
    for _ in range(150):
        X = rng.standard_normal((m, 2))
        gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        shares.append(bounds.leave_one_out_bound(smo(gram, upper=1 / (nu * m)).multipliers))
        fit = smo(gram[:-1, :-1], upper=1 / (nu * m))
        new = rng.standard_normal((200, 2))
        scores = np.exp(-0.5 * ((new[:, None] - X[None, :-1]) ** 2).sum(axis=2)) @ fit.multipliers
        outside.append(float((scores < fit.offset.used).mean()))
    assert np.mean(outside) <= np.mean(shares) + 3 * np.std(outside) / math.sqrt(150)


def test_too_few_multipliers_are_refused():
    with pytest.raises(InputError, match="upper"):
        bounds.leave_one_out_errors(np.eye(3), 0.4)


@pytest.mark.parametrize("delta", [1e-280, 1e-291, 1e-300, 5e-324])
def test_small_errors_do_not_overflow(delta):
    found = bounds.margin_bound(10**9, 0.0, 1.0, 1.0, delta)
    assert found.formula == pytest.approx(in_many_digits(10**9, 0.0, 1.0, 1.0, delta, 1.0)[1], rel=1e-12)
    assert not found.vacuous
    least = bounds.points_needed(0.5, 1.0, 1.0, delta=delta)
    at, before = (in_many_digits(m, 0.0, 1.0, 1.0, delta, 1.0)[1] for m in (least, least - 1))
    assert at <= 0.5 * (1 + 1e-12) and before >= 0.5 * (1 - 1e-12)


def test_a_target_out_of_reach_says_whether_slacks_or_the_number_of_points_keep_it_there():
    with pytest.raises(
        InputError, match=r"target: 1e-09 was found, for which more than 2\*\*52 points would be needed"
    ):
        bounds.points_needed(1e-9, 1.0, 1.0)
    # With slacks of 0.001 a point the bound tends to 0.004 log2(1000 e + e) = 0.0456.
    limit = in_many_digits(10**40, 1e37, 1.0, 1.0, 0.05, 1.0)[1]
    with pytest.raises(InputError, match=r"slacks of 0.001 a point keep out of reach"):
        bounds.points_needed(limit * (1 - 1e-9), 1.0, 1.0, slack=1e-3)
    assert bounds.points_needed(limit * 1.01, 1.0, 1.0, slack=1e-3) > 10**6


def test_multipliers_are_not_negative():
    with pytest.raises(InputError, match="multipliers: -1 was found"):
        bounds.leave_one_out_bound([-1.0, 2.0])
    assert bounds.leave_one_out_bound([-1e-9, 2.0]) == 0.5
