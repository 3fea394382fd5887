"""Which constraints to leave out: three searches against each other on programs whose values are known."""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty.algorithms import few_violations
from convexnovelty.algorithms.few_violations import enumerate_choices, greedy, hitting_sets, support_tree
from convexnovelty.errors import InputError, SolverError


def largest(values):
    """The program "minimise t with t >= v_i": its value is the largest, which supports it alone."""
    array = np.asarray(values, dtype=float)

    def solve(kept):
        best = int(kept[array[kept].argmax()])
        return float(array[best]), np.array([best]), np.ones(1)

    return solve


def smallest_interval(points):
    """The length of the interval that holds the points, supported by its two ends."""
    array = np.asarray(points, dtype=float)

    def solve(kept):
        ends = {int(kept[array[kept].argmin()]), int(kept[array[kept].argmax()])}
        return float(np.ptp(array[kept])), np.array(sorted(ends)), np.ones(len(ends))

    return solve


SEARCHES = (enumerate_choices, support_tree, hitting_sets)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_largest_go_first(search):
    for k in range(5):
        found = search(largest([3.0, 9.0, 1.0, 7.0, 5.0]), 5, k)
        assert found.value == sorted([3.0, 9.0, 1.0, 7.0, 5.0])[4 - k]
        assert len(found.left_out) == k


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", range(5))
def test_intervals_with_few_points_outside(search, seed):
    """n - k consecutive points of the sorted sample: a closed form."""
    points = np.random.default_rng(seed).standard_normal(14)
    for k in (0, 1, 3):
        ordered = np.sort(points)
        expected = min(ordered[i + 13 - k] - ordered[i] for i in range(k + 1))
        found = search(smallest_interval(points), 14, k)
        assert found.value == pytest.approx(expected, rel=1e-12)
        kept = np.delete(points, found.left_out)
        assert np.ptp(kept) == pytest.approx(expected, rel=1e-12)


def test_greedy_is_an_upper_bound_and_can_be_wrong():
    """Two pairs far out, on either side: leaving out one point at a time never sees that a pair must go."""
    points = [-10.0, -10.0, 0.0, 1.0, 9.0]
    exact = enumerate_choices(smallest_interval(points), 5, 2)
    quick = greedy(smallest_interval(points), 5, 2)
    assert exact.value == 9.0
    assert quick.value >= exact.value
    assert quick.value == 10.0 or quick.value == 9.0


def test_searches_that_are_cheaper_than_all_choices():
    points = np.random.default_rng(1).standard_normal(40)
    tree, integer = support_tree(smallest_interval(points), 40, 4), hitting_sets(smallest_interval(points), 40, 4)
    assert tree.value == integer.value
    assert tree.solved < 100  # of 91390 choices
    assert integer.solved < 1000


def test_infeasible_programs_have_infinite_values():
    def solve(kept):
        odd = kept[kept % 2 == 1]
        return (np.inf if odd.size else 1.0), (odd[:1] if odd.size else kept[:1]), np.ones(1)

    for search in SEARCHES:
        assert np.isinf(search(solve, 6, 2).value)
        found = search(solve, 6, 3)
        assert found.value == 1.0
        assert found.left_out.tolist() == [1, 3, 5]


@pytest.mark.parametrize("search", [*SEARCHES, greedy])
@pytest.mark.parametrize("k", [-1, 1.5, 5, 6, "x", None])
def test_bad_counts(search, k):
    with pytest.raises(InputError, match="k"):
        search(largest(range(5)), 5, k)


def test_limits_are_errors_and_never_results():
    with pytest.raises(InputError, match="choices of 5 out of 40"):
        enumerate_choices(smallest_interval(range(40)), 40, 5)
    with pytest.raises(SolverError, match="3 programs did not suffice"):
        support_tree(smallest_interval(range(40)), 40, 5, limit=3)
    with pytest.raises(SolverError, match="1 rounds did not suffice"):
        hitting_sets(smallest_interval(np.random.default_rng(0).standard_normal(30)), 30, 4, rounds=1)


def test_a_master_that_fails_is_an_error(monkeypatch):
    class Failed:
        status, x, message = 4, None, "planted"

    monkeypatch.setattr(few_violations, "milp", lambda *a, **k: Failed())
    with pytest.raises(SolverError, match="planted"):
        hitting_sets(largest(range(5)), 5, 2)


@pytest.mark.parametrize("search", [*SEARCHES, greedy])
def test_a_program_without_weights(search):
    """The value and its two ends alone: what is left is as short as with weights."""
    points = np.random.default_rng(3).standard_normal(12)
    weighed = smallest_interval(points)
    found = search(lambda kept: weighed(kept)[:2], 12, 3)
    assert found.value == search(weighed, 12, 3).value == pytest.approx(np.ptp(np.delete(points, found.left_out)))


@pytest.mark.parametrize("search", [*SEARCHES, greedy])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (3.0, r"solve: 3.0 was returned; give the value, the rows that support it and"),
        ((3.0,), r"solve: \(3.0,\) was returned; give the value"),
        ((3.0, [0], [1.0], 2), "give the value, the rows that support it"),
        ((np.nan, [0]), r"solve: \(nan, \[0\]\) was returned; give a number, rows among the"),
        ((3.0, [7]), r"solve: \(3.0, \[7\]\) was returned; give a number, rows among the"),
        ((3.0, [0, 1], [1.0]), "and a weight for each"),
        ((3.0, []), "solve: no row was returned that supports the value 3; give at least one"),
        ((np.inf, []), "solve: no row was returned that supports the value inf"),
    ],
)
def test_answers_that_say_too_little(search, answer, message):
    with pytest.raises(InputError, match=message):
        search(lambda kept: answer, 5, 1)
