"""Where searches end: first and last admissible numbers, and what is reported of the end, on instances by hand."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from convexnovelty.algorithms.level_search import crossing
from convexnovelty.algorithms.likelihood_ratio import distributions, likelihood_ratio_test
from convexnovelty.algorithms.min_norm_point import min_norm_point
from convexnovelty.algorithms.roc import area_under_curve, concave_hull, exceedances
from convexnovelty.errors import InputError, SolverError


@pytest.mark.parametrize("unit", [1e-3, 1.0, 40.0])
def test_rounds_of_wolfes_algorithm_are_counted_and_its_gap_has_the_unit_of_a_square(unit):
    P = unit * np.array([[2.0, 1.0], [2.0, -1.0]])
    found = min_norm_point(P, max_iterations=2)
    assert (found.iterations, found.gap) == (2, 0.0)
    # At the first point the products are 5 and 3: the gap is 2 in squared units.
    with pytest.raises(SolverError, match=re.escape(f"the gap is {2 * unit**2:.3e} after 1 rounds")):
        min_norm_point(P, max_iterations=1)


@pytest.mark.parametrize(("value", "root"), [(9e-11, True), (1.1e-10, False)])
def test_a_value_within_the_tolerance_is_zero(value, root):
    calls = []
    found = crossing(lambda k: calls.append(k) or (value if k >= 1 else k - 1))
    assert (len(calls) == 1) == root
    assert not root or found == 1.0


def test_searches_for_a_crossing_ask_for_nothing_outside_of_their_range():
    for guess, (lowest, highest) in itertools.product((1e-9, 1.0, 1e12), ((1e-6, 1e8), (1e-300, 1e300))):
        for sign, end, said in ((1, lowest, -math.inf), (-1, highest, math.inf)):
            calls = []
            range_ = {} if lowest == 1e-300 else {"lowest": lowest, "highest": highest}
            assert crossing(lambda k, calls=calls, sign=sign: calls.append(k) or float(sign), guess, **range_) == said
            assert calls[-1] == end and len(calls) <= 25
            assert min(calls) >= lowest and max(calls) <= highest


@pytest.mark.parametrize(("excess", "taken"), [(9e-7, True), (1.1e-6, False), (-9e-7, True), (-1.1e-6, False)])
def test_sums_of_probabilities_may_miss_one_by_a_millionth(excess, taken):
    nominal = [0.25, 0.75 + excess]
    if taken:
        assert distributions(nominal, [0.5, 0.5])[0].sum() == pytest.approx(1.0, abs=1e-15)
    else:
        with pytest.raises(InputError, match="nominal_probabilities: the sum is"):
            distributions(nominal, [0.5, 0.5])


@pytest.mark.parametrize(("rate", "novel", "threshold", "gamma"), [
    (0.0, [0, 0, 0], 2.5, 0.0), (0.1, [0, 0, 0.5], 2.5, 0.5), (0.35, [0, 0.5, 1], 1.0, 0.5),
    (0.75, [0.5, 1, 1], 0.4, 0.5), (1.0, [1, 1, 1], 0.4, 1.0),
])  # fmt: skip
def test_every_number_of_a_randomised_test(rate, novel, threshold, gamma):
    test = likelihood_ratio_test([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], rate)
    assert test.novel == pytest.approx(novel)
    assert (test.threshold, test.randomisation) == pytest.approx((threshold, gamma))
    assert test.false_positive_rate == pytest.approx(rate)
    assert test.false_negative_rate == pytest.approx(1 - np.dot([0.2, 0.3, 0.5], novel))


def test_rates_and_areas_against_counts_of_all_pairs():
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 6, 13).astype(float), rng.integers(2, 9, 7).astype(float)
    assert exceedances(low, np.arange(-1.0, 8.0)).tolist() == [(low > t).sum() for t in np.arange(-1.0, 8.0)]
    pairs = (low[:, None] < high).mean() + (low[:, None] == high).mean() / 2
    assert area_under_curve(low, high) == pytest.approx(pairs, rel=1e-14)


def test_corners_of_a_hull_lie_above_all_chords():
    x, y = np.array([0, 0, 1, 2, 2, 3, 4]), np.array([0, 1, 3, 2, 5, 5, 5])
    assert concave_hull(x, y).tolist() == [1, 4, 6]
