"""Differences of decision values in the checker, where one end counts in other units and offsets are intervals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.checking import checker
from convexnovelty.declare import Instance, Step
from convexnovelty.regions import Ball, HalfSpace, Interval, ScoreThreshold
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall

PROBE = np.array([[1.0], [2.0], [-4.0]])
SOLVED = cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5).solve()
INSTANCE = Instance("i", {}, method="m", probe=PROBE)


def end(factor: float, shift: float = 0.0, width: float = 0.0):
    """A solution with the decision values ``factor * (z - shift)`` whose offset is known up to a width."""
    offset = Interval(factor * shift, factor * shift + width, factor * shift)
    return dataclasses.replace(SOLVED, region=HalfSpace(np.array([factor]), factor * shift), offset=offset)


def step(factor) -> Step:
    return Step("a", "b", "c", "e", "theory", decision=factor)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_decision_values_are_compared_in_the_units_of_the_target(factor):
    """The factor leads from the source's values to the target's; a shift of one is a fifth of the largest value."""
    for source, target, gap in (
        (end(1.0), end(factor), 0.0),
        (end(1.0), end(factor, 1.0), 0.2),
        (end(1.0), end(2.0 * factor), 0.5),
    ):
        assert checker._decision_gap(step(factor), INSTANCE, source, target) == (pytest.approx(gap), "")
        assert checker._decision_gap(step(lambda: factor), INSTANCE, source, target)[0] == pytest.approx(gap)


@pytest.mark.parametrize("factor", [-1e-4, 1e-4, 1.0, 1e4])
def test_a_loose_offset_lets_values_differ_by_a_constant_and_a_tight_one_does_not(factor):
    """An interval is loose from a millionth of the values on, each end's in its own units."""
    for width, loose in ((4e-5, True), (4e-7, False), (0.0, False)):
        expected = 0.0 if loose else 0.2
        for source, target in (
            (end(1.0, 0.0, width), end(factor, 1.0)),
            (end(1.0), end(factor, 1.0, width * abs(factor))),
        ):
            gap, _ = checker._decision_gap(step(factor), INSTANCE, source, target)
            assert gap == pytest.approx(expected, abs=1e-12)


def test_what_cannot_be_compared_says_why():
    nowhere = Instance("i", {}, method="m")
    assert np.isnan(checker._decision_gap(step("no values"), INSTANCE, end(1.0), end(1.0))[0])
    assert checker._decision_gap(step("no values"), INSTANCE, end(1.0), end(1.0))[1] == "no values"
    assert checker._decision_gap(step(1.0), nowhere, end(1.0), end(1.0))[1] == "no probe points"
    without = dataclasses.replace(SOLVED, region=None)
    for pair in ((without, end(1.0)), (end(1.0), without)):
        found = checker._decision_gap(step(1.0), INSTANCE, *pair)
        assert np.isnan(found[0]) and found[1] == ""


AROUND = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


@pytest.mark.parametrize("noise", [1e-15, 1e-11, 3e-8])
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_values_that_are_all_zero_are_compared_in_the_size_of_their_terms(noise, factor):
    """Four points on a circle and three on a line; another boundary has values with a size, beside which zero is one off."""
    on_line = np.array([[1.0, -1.0], [3.0, -3.0], [0.5, -0.5]])
    regions = {
        "ball": (AROUND, 1.0, Ball([0.0, 0.0], 1.0), lambda shift: Ball([0.0, 0.0], 1.0 + shift)),
        "plane": (
            on_line,
            factor,
            HalfSpace([1.0, 1.0], 0.0),
            lambda shift: HalfSpace([factor, factor], factor * shift),
        ),
    }
    for probe, mapped, here, there in regions.values():
        instance = Instance("i", {}, method="m", probe=probe)
        source, near, far = (
            dataclasses.replace(SOLVED, region=part, offset=None) for part in (here, there(noise), there(1e-5))
        )
        assert checker._decision_gap(step(mapped), instance, source, near)[0] <= noise
        assert checker._decision_gap(step(mapped), instance, source, far)[0] == pytest.approx(1.0, abs=0.05)
        assert checker._decision_gap(step(1 / mapped), instance, far, source)[0] == pytest.approx(1.0, abs=0.05)


def test_values_of_points_far_from_the_origin_keep_their_own_size():
    """Terms are as large as the points are apart, not as they are far: a shift of a thousandth of the values shows."""
    instance = Instance("i", {}, method="m", probe=1e8 + np.array([[0.0], [1.0], [3.0]]))
    here, there = (dataclasses.replace(SOLVED, region=HalfSpace([1.0], 1e8 + b), offset=None) for b in (1.0, 1.004))
    assert checker._decision_gap(step(1.0), instance, here, there)[0] == pytest.approx(2e-3, rel=0.01)


def test_of_a_score_nothing_is_known_but_its_values():
    instance = Instance("i", {}, method="m", probe=AROUND)
    here, there = (
        dataclasses.replace(SOLVED, region=ScoreThreshold(lambda Z, c=c: c * Z[:, 0], 0.0), offset=None)
        for c in (1e-9, 2e-9)
    )
    assert checker._decision_gap(step(1.0), instance, here, there)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_programs_with_every_point_on_the_boundary_are_sound(shift):
    """A narrow kernel and less than one point outside: each point is a support vector, and no multiplier is at its bound."""
    points = shift + np.arange(6.0)[:, None] ** 1.5
    features = cn.KernelFeatures(points, cn.kernels.gaussian(gamma=1.0))
    for made in (
        cn.hard_margin(features),
        cn.soft_ball(features, 0.1),
        cn.one_class_svm(features, 0.1),
        cn.mahalanobis_svm(features, outlier_fraction=0.1, uncertainty=FrobeniusBall(0.1)),
    ):
        report = cn.check(made)
        assert report.passed, report.table()
        assert sum(row.verdict == "pass" for row in report.rows) >= 5
