"""Differences of decision values in the checker, where one end counts in other units and offsets are intervals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.checking import checker
from convexnovelty.declare import Instance, Step
from convexnovelty.regions import HalfSpace, Interval

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
