"""Means, intervals, deviations and verdicts of reproductions, held against computations that share no code with them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import roc_curve

from convexnovelty.errors import InputError
from convexnovelty.reproductions import Cell, Result, Table
from convexnovelty.reproductions._rates import false_positives_at, halves, median_square, shared_out
from convexnovelty.reproductions._result import Answer, answer, half_width, summarised

DRAWN = [-0.3, 1.25, 0.5, 0.125, -2.0, 0.75, 1.0]


def _cell(mean: float, error: float, n: int, printed: float | None = None) -> Cell:
    return Cell("row", "column", printed, mean, error, n)


def _result(cells: list[Cell], answers: list[Answer], unit: str = "", over: int = 30) -> Result:
    return Result("name", "title", "source", unit, cells, answers, 7, 0, False, 30, over, 0.01, {"sonar": "sonar.csv"})


def test_mean_and_standard_error_are_scipys() -> None:
    mean, error, n = summarised(DRAWN)
    assert mean == pytest.approx(np.mean(DRAWN), rel=1e-15)
    assert error == pytest.approx(scipy.stats.sem(DRAWN), rel=1e-14)
    assert n == 7


def test_repetitions_without_a_value_are_left_out_and_counted() -> None:
    assert summarised([math.nan, *DRAWN, math.nan]) == summarised(DRAWN)
    mean, error, n = summarised([math.nan])
    assert math.isnan(mean)
    assert math.isnan(error)
    assert n == 0


def test_a_single_value_has_no_standard_error() -> None:
    mean, error, n = summarised([0.25])
    assert (mean, n) == (0.25, 1)
    assert math.isnan(error)
    assert math.isnan(half_width(error, n))


def test_the_interval_is_that_of_the_t_test() -> None:
    mean, error, n = summarised(DRAWN)
    expected = scipy.stats.ttest_1samp(DRAWN, 0.0).confidence_interval(0.95)
    assert _cell(mean, error, n).interval == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_a_deviation_counts_the_scatter_of_the_printed_mean_too() -> None:
    # The two-sample statistic with a common variance v: (a - b) / sqrt(v / n + v / N).
    mean, error, n = summarised(DRAWN)
    v = np.var(DRAWN, ddof=1)
    for over in (1, 10, 30):
        expected = (mean - 0.7) / math.sqrt(v / n + v / over)
        assert _cell(mean, error, n, 0.7).deviation(over) == pytest.approx(expected, rel=1e-12)


def test_deviations_of_equal_means_have_the_size_that_they_claim() -> None:
    random = np.random.default_rng(5)
    found = []
    for _ in range(2000):
        ours, printed = random.normal(3.0, 2.0, size=12), random.normal(3.0, 2.0, size=30).mean()
        found.append(_cell(*summarised(list(ours)), float(printed)).deviation(30))
    # Student's statistic of 11 degrees of freedom has the variance 11 / 9.
    assert np.var(found) == pytest.approx(11 / 9, rel=0.15)


def test_there_is_no_deviation_without_two_repetitions_and_a_printed_number() -> None:
    assert math.isnan(_cell(1.0, 0.1, 5).deviation(30))
    assert math.isnan(_cell(1.0, math.nan, 1, 0.5).deviation(30))


def test_a_difference_without_scatter_is_not_hidden() -> None:
    assert _cell(0.87, 0.0, 2, 0.47).deviation(10) == math.inf
    assert _cell(0.3, 0.0, 2, 0.47).deviation(10) == -math.inf
    assert _cell(0.47, 0.0, 2, 0.47).deviation(10) == 0.0


@pytest.mark.parametrize(
    ("contrasts", "random", "weak", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.05], True, False, "holds"),
        ([-1.0, -1.1, -0.9, -1.05], True, False, "does not hold"),
        ([1.0, -1.1, 0.9, -1.05], True, False, "not decided"),
        ([1.0, 1.1], True, False, "holds"),
        ([1.0, 1.6], True, False, "not decided"),  # two numbers, and Student's 12.7 standard errors
        ([0.5], True, False, "not decided"),
        ([0.5], False, False, "holds"),
        ([0.0], False, False, "does not hold"),
        ([0.0], False, True, "holds"),
        ([-0.1], False, True, "does not hold"),
        ([0.0, 0.0, 0.0], True, False, "does not hold"),
        ([0.0, 0.0, 0.0], True, True, "holds"),
        ([math.nan, math.nan], True, True, "not decided"),
    ],
)
def test_verdicts(contrasts: list[float], random: bool, weak: bool, verdict: str) -> None:
    assert answer("claim", contrasts, random=random, weak=weak).verdict == verdict


def test_a_contrast_of_zero_is_seldom_decided() -> None:
    random = np.random.default_rng(8)
    verdicts = [answer("claim", list(random.normal(size=5))).verdict for _ in range(2000)]
    assert np.mean([verdict != "not decided" for verdict in verdicts]) == pytest.approx(0.05, abs=0.015)


def test_verdicts_agree_with_the_t_test() -> None:
    random = np.random.default_rng(9)
    for shift in np.linspace(-1.5, 1.5, 40):
        drawn = random.normal(shift, 1.0, size=8)
        significant = scipy.stats.ttest_1samp(drawn, 0.0).pvalue < 0.05
        expected = "not decided" if not significant else "holds" if drawn.mean() > 0 else "does not hold"
        assert answer("claim", list(drawn)).verdict == expected


@pytest.mark.parametrize(
    ("mean", "error", "n", "agrees"),
    [
        (0.435, math.nan, 1, True),
        (0.434, math.nan, 1, False),
        (math.nan, math.nan, 0, False),
        (0.44 + 1.99 * 0.01 * math.sqrt(2), 0.01, 30, True),
        (0.44 - 2.01 * 0.01 * math.sqrt(2), 0.01, 30, False),
        (0.44, 0.0, 5, True),
        (0.4400001, 0.0, 5, False),
    ],
)
def test_agreement_is_two_standard_errors_or_rounding(mean: float, error: float, n: int, agrees: bool) -> None:
    result = _result([], [])
    assert result.agrees(_cell(mean, error, n, 0.44)) is agrees
    assert result.agrees(_cell(mean, error, n))


def test_json_holds_the_result_and_gives_it_back(tmp_path) -> None:
    result = _result(
        [_cell(0.5, 0.1, 7, 0.25), _cell(0.5, math.nan, 1), _cell(math.nan, math.nan, 0, 0.1)],
        [answer("claim", DRAWN), answer("single", [1.0])],
    )
    path = tmp_path / "result.json"
    result.write_json(path)
    read = Result.read_json(path)
    assert read.to_dict() == result.to_dict()
    assert read.cells[1].printed is None
    assert math.isnan(read.cells[1].standard_error)
    assert read.table() == result.table()
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": [], "answers": [], "x": 1}', '{"cells": [3], "answers": []}']
)
def test_other_json_is_refused(text: str, tmp_path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"other\.json: no result of a reproduction"):
        Result.read_json(path)


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("convexnovelty.reproductions._result.os.replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        _result([_cell(0.5, 0.1, 7)], []).write_json(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


def test_the_table_shows_percent_and_intervals() -> None:
    mean, error, n = 0.5, 0.01, 7
    told = _result([_cell(mean, error, n, 0.4)], [answer("it is so", [1.0, 1.1, 0.9])], unit="%", over=1).table()
    half = 100 * error * scipy.stats.t(6).ppf(0.975)
    line = next(line.split() for line in told.splitlines() if "40.0" in line)
    assert line[2:5] == ["40.0", "50.0", f"{half:.1f}"]
    assert line[-1] == f"{0.1 / (error * math.sqrt(8)):.1f}"
    assert "it is so" in told
    assert "holds" in told


def test_false_positives_are_read_off_the_curve() -> None:
    random = np.random.default_rng(2)
    inside, outside = random.normal(1.0, 1.0, size=23), random.normal(0.0, 1.0, size=40)
    missed = np.linspace(0.0, 1.0, 57)
    # scikit-learn calls an ordinary point positive: its true positives are those that are not missed.
    accepted, kept, _ = roc_curve(
        np.repeat([1, 0], [23, 40]), np.concatenate([inside, outside]), drop_intermediate=False
    )
    vertices = [(1 - share, rate) for share, rate in zip(kept, accepted, strict=True)]
    for level in missed:
        nodes = [rate for share, rate in vertices if math.isclose(share, level, abs_tol=1e-12)]
        found = false_positives_at(inside, outside, float(level))
        if nodes:
            assert min(nodes) - 1e-12 <= found <= max(nodes) + 1e-12
        below = max(share for share, _ in vertices if share <= level + 1e-12)
        above = min(share for share, _ in vertices if share >= level - 1e-12)
        rates = [rate for share, rate in vertices if share in (below, above)]
        assert min(rates) - 1e-12 <= found <= max(rates) + 1e-12
    assert false_positives_at(inside, outside, 1.0) == 0.0


def test_a_tie_with_the_threshold_is_accepted() -> None:
    # At the threshold 2 half of the ordinary points are missed and all of the novel ones that tie are accepted.
    inside, outside = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0.0, 2.0, 2.0, 0.0])
    assert false_positives_at(inside, outside, 0.5) == 0.5
    assert false_positives_at(inside, outside, 0.0) == 0.5
    assert false_positives_at(inside, outside, 0.75) == 0.25


def test_drawn_parts_are_disjoint_and_whole(rng: np.random.Generator) -> None:
    X = np.arange(21.0)[:, None]
    for first, second in (shared_out(X, 5, rng), halves(X, rng)):
        assert sorted([*first.ravel(), *second.ravel()]) == list(range(21))
    assert len(shared_out(X, 5, rng)[0]) == 5


def test_the_median_of_squared_distances(rng: np.random.Generator) -> None:
    X = rng.normal(size=(9, 3))
    brute = [float(np.sum((X[i] - X[j]) ** 2)) for i in range(9) for j in range(i)]
    assert median_square(X) == pytest.approx(np.median(brute), rel=1e-13)


@pytest.mark.parametrize("name", ["twonorm", "waveform"])
def test_generators_repeat_with_the_seed(name: str) -> None:
    from convexnovelty.reproductions import _readers

    draw: Callable[[int, np.random.Generator], Table] = getattr(_readers, name)
    first, again = (draw(50, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first.X, again.X)
    assert set(np.unique(first.y)) == {-1, 1}
