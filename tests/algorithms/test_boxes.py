"""Boxes with a fixed sum: ends of their ranges, and their points of optimality against those by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from convexnovelty.algorithms.box import Box, extended, kkt_gap, kkt_offset, unexplained_gap
from convexnovelty.errors import InputError


@pytest.mark.parametrize(("total", "within"), [(-2.0, True), (3.0, True), (-2.0 - 1e-9, False), (3.0 + 1e-9, False)])
def test_the_last_sums_that_can_be_reached(total, within):
    if within:
        assert Box.of(3, [1.0, 2.0, 2.0], [1.0, -1.0, 1.0], total).total == total
    else:
        with pytest.raises(InputError, match="between -2 and 3"):
            Box.of(3, [1.0, 2.0, 2.0], [1.0, -1.0, 1.0], total)


@pytest.mark.parametrize("upper", [0.4, [0.1, 0.9, 0.3, 0.5, 0.2]])
@pytest.mark.parametrize("total", [0.05, 0.75, 1.3])
def test_the_threshold_point_solves_its_linear_program(upper, total):
    score = np.array([0.3, -1.0, 2.0, 0.1, -0.4])
    box = Box.of(5, upper, total=total)
    b = box.threshold(score)
    best = linprog(score, A_eq=np.ones((1, 5)), b_eq=[total], bounds=list(zip(box.lower, box.upper, strict=True)))
    assert b.sum() == pytest.approx(total, rel=1e-14)
    assert (b >= box.lower).all() and (b <= box.upper).all()
    assert score @ b == pytest.approx(best.fun, rel=1e-9)
    assert kkt_gap(score, b, box) == 0.0


def test_a_guess_is_moved_in_the_order_that_is_given():
    box = Box.of(4, 1.0, total=2.5)
    assert box.feasible(np.zeros(4), np.array([2, 0, 3, 1])).tolist() == [1.0, 0.0, 1.0, 0.5]
    assert box.feasible(np.full(4, 7.0), np.array([1, 3, 0, 2])).tolist() == [1.0, 0.0, 1.0, 0.5]
    assert Box.of(2, 1.0).feasible(np.array([-1.0, 3.0]), np.arange(2)).tolist() == [0.0, 1.0]


def test_gaps_and_intervals_by_hand():
    gradient, box = np.array([1.0, 4.0, 2.0]), Box.of(3, 1.0, total=1.0)
    assert kkt_offset(gradient, np.array([1.0, 0.0, 0.0]), box) == (0.0, (1.0, 2.0, 1.0))
    assert kkt_offset(gradient, np.array([0.0, 1.0, 0.0]), box) == (3.0, (1.0, 4.0, 4.0))
    assert kkt_offset(gradient, np.array([0.5, 0.0, 0.5]), box) == (1.0, (1.0, 2.0, 1.5))
    assert kkt_gap(np.array([-3.0, 2.0]), np.array([0.0, 0.5]), Box.of(2, 1.0)) == 3.0


def test_added_and_chosen_coordinates():
    longer = Box.of(2, [0.5, 2.0], [1.0, -1.0], 0.25).extended(4)
    assert [v.tolist() for v in (longer.lower, longer.upper, longer.signs)] == [
        [0.0, -2.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, 1.0],
    ]  # fmt: skip
    assert extended(np.ones(2), 3).tolist() == [1.0, 1.0, 0.0]
    part = Box.of(4, [0.1, 1.0, 1.0, 1.0], total=1.0).part(np.array([0, 1]))
    assert part.upper.tolist() == [0.2, 2.0]
    assert Box.of(4, [0.1, 1.0, 1.0, 1.0], total=1.0).part(np.array([0])).upper.tolist() == [1.0]


@pytest.mark.parametrize("size", [3, 20, 97])
def test_a_feasible_point_leaves_no_rounding_between_a_coordinate_and_its_bound(size):
    """Whole numbers of coordinates at a bound of one in k: every other one stays exactly at zero."""
    for k in range(1, size + 1):
        for sign in (1.0, -1.0):
            box = Box.of(size, 1.0 / k, np.full(size, sign), sign)
            b = box.feasible(np.zeros(size), np.random.default_rng(k).permutation(size))
            assert np.abs(b[b != 0.0]).tolist() == [1.0 / k] * k
            assert b.sum() == pytest.approx(sign, rel=1e-14)


def test_the_gap_that_rounding_does_not_explain():
    """By hand: the first may shrink, the last may grow, the second both."""
    gradient, a = np.array([3.0, 2.0, 1.0]), np.array([1.0, 0.5, 0.0])
    assert unexplained_gap(gradient, a, 1.0, np.zeros(3)) == kkt_gap(gradient, a, Box.of(3, 1.0, None, 1.5)) == 2.0
    assert unexplained_gap(gradient, a, 1.0, np.array([0.25, 0.0, 0.5])) == 1.25
    assert unexplained_gap(gradient, a, 1.0, np.ones(3)) == 0.0
    assert unexplained_gap(gradient, np.ones(3), 1.0, np.zeros(3)) == 0.0
