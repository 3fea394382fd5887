"""Frames: axes that reach every direction, and units that bring deviations to the order of one."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import convexnovelty as cn
from convexnovelty.errors import InputError
from convexnovelty.frames import Frame
from convexnovelty.uncertainty import CovarianceHull, FrobeniusBall, GelbrichBall, LoewnerInterval, MomentHull

WIDE = np.random.default_rng(0).standard_normal((3, 6)) + 1


@pytest.mark.parametrize("rotate", [True, False])
@pytest.mark.parametrize("points", [WIDE, np.random.default_rng(1).standard_normal((20, 4)) * [1e-3, 1, 1, 1e3]])
def test_every_direction_has_its_place_in_the_frame(rotate, points):
    moments = cn.Moments.estimate(points)
    frame = Frame.of(moments, rotate=rotate)
    a = frame.direction()
    wanted = np.linspace(-1, 1, moments.dimension)
    a.assign(wanted)
    np.testing.assert_allclose(a.value, wanted, atol=1e-9)
    seen = np.asarray(frame.posed(a).value)
    covariance = frame.moments.covariance
    assert seen @ covariance @ seen == pytest.approx(wanted @ moments.covariance @ wanted, rel=1e-9)
    assert frame.moments.mean @ seen == pytest.approx(moments.mean @ wanted, rel=1e-9, abs=1e-12)


def test_fewer_points_than_columns_with_a_set_that_allows_rotation():
    """A direction without nominal variance may be the best one: here it was once left out, and the answer infeasible."""
    moments = cn.Moments.estimate(WIDE)
    solution = cn.single_class_mpm(moments, 0.5, GelbrichBall(0.3)).solve()
    a, radius = solution.region.normal, 0.3
    deviation = np.sqrt(max(a @ moments.covariance @ a, 0.0))  # the best direction may have none, up to rounding
    assert moments.mean @ a - 1 == pytest.approx(deviation + radius * np.sqrt(2) * np.linalg.norm(a), rel=1e-6)
    assert solution.objective == pytest.approx(deviation + radius * np.linalg.norm(a), rel=1e-6)


@pytest.mark.parametrize("mean", [[3.0, 2.0, 1.0], [0.1257302, -0.1321049, 0.6404227]])
def test_axes_without_variance_have_none_in_the_frame(mean):
    """What the rotation leaves of it would be the unit in which a set is compiled: the ball was called unbounded."""
    factor = np.array([[0.1257302, -0.1321049, 0.6404227]])
    frame = Frame.of(cn.Moments(mean, factor.T @ factor), rotate=True)
    assert not frame.moments.covariance[1:].any()
    assert frame.moments.eigen[0].size == 1


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("other", ["ball", "interval", "sum"])
def test_sets_around_one_line_that_does_not_hold_the_mean(seed, other):
    """The worst covariances written out, with no set of the library."""
    factor, mean = np.random.default_rng(seed).standard_normal((1, 3)), np.array([3.0, 2.0, 1.0])
    ball, interval = FrobeniusBall(0.1), LoewnerInterval(0.3, "nominal")
    recipe = {"ball": ball | FrobeniusBall(0.05), "interval": ball | interval, "sum": ball + interval}[other]
    a, kappa = cp.Variable(3), np.sqrt(0.3 / 0.7)
    line, round_part = factor @ a, np.sqrt(0.1) * a
    beside = cp.norm(cp.hstack([line, round_part]))
    deviation = {
        "ball": beside,
        "interval": cp.maximum(beside, np.sqrt(1.3) * cp.norm(line)),
        "sum": cp.norm(cp.hstack([np.sqrt(1.3) * line, round_part])),
    }[other]
    right = cp.Problem(cp.Minimize(deviation), [mean @ a - 1 >= kappa * deviation]).solve(solver="CLARABEL")
    found = cn.single_class_mpm(cn.Moments(mean, factor.T @ factor), 0.3, recipe).solve()
    assert found.objective == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("order", [list("abc"), list("cab")])
def test_scenarios_stand_in_the_order_of_the_moments_columns(order):
    """Hulls whose scenarios are frames are sets of these columns, whatever their order is."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((60, 3)) * [1, 0.2, 3] + [3, 2, 9], columns=list("abc"))
    moments, halves = cn.Moments.estimate(table), (table[:30], table[30:])
    plain = CovarianceHull([half.cov().to_numpy() for half in halves])
    expected = cn.single_class_mpm(moments, 0.6, plain).solve().objective
    named = CovarianceHull([half.cov().loc[order, order] for half in halves])
    assert cn.single_class_mpm(moments, 0.6, named).solve().objective == pytest.approx(expected, rel=1e-9)
    pairs = MomentHull([(half.mean(), half.cov()) for half in halves]).centred(moments)
    moved = MomentHull([(half.mean()[order], half.cov().loc[order, order]) for half in halves]).centred(moments)
    for mine, theirs in zip(moved.pairs, pairs.pairs, strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(mine, theirs, strict=True))
    assert named.centred(moments) is named.centred(moments)


@pytest.mark.parametrize("kind", ["scenarios", "pairs"])
def test_scenarios_of_other_columns_are_refused(kind):
    moments = cn.Moments.estimate(pd.DataFrame(np.eye(3), columns=list("abc")))
    table = pd.DataFrame(np.eye(3), columns=list("abd"), index=list("abd"))
    given = CovarianceHull([table]) if kind == "scenarios" else MomentHull([(np.zeros(3), table)])
    with pytest.raises(InputError, match=kind):
        given.centred(moments)


def test_entries_that_are_numbered_out_of_order_are_refused():
    """A mean that was sorted by its values beside a covariance whose columns stand in order."""
    covariance = pd.DataFrame(np.diag([1.0, 2.0, 3.0]), index=[1, 2, 3], columns=[1, 2, 3])
    mean = pd.Series([3.0, 1.0, 2.0], index=[1, 2, 3])
    assert cn.Moments(mean, covariance).mean.tolist() == [3.0, 1.0, 2.0]
    with pytest.raises(InputError, match=r"mean: its entries are numbered 2, 3, 1, .* sort them"):
        cn.Moments(mean.sort_values(), covariance)
