"""The threshold at a false-positive rate: its guarantee holds, is attained, and says so when it cannot be given."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from convexnovelty.errors import InputError
from convexnovelty.false_positives import Calibration, threshold_rank


@pytest.mark.parametrize("percent", range(1, 100))
def test_rank_of_a_mean_rate_is_the_smallest_that_keeps_it(percent: int) -> None:
    for size in range(1, 240):
        flagged = percent * (size + 1) // 100  # whole numbers: 0.29 * 100 is not 29 in floating point
        if flagged == 0:
            with pytest.raises(InputError, match=f"at least {math.ceil(100 / percent) - 1} "):
                threshold_rank(size, percent / 100)
        else:
            assert threshold_rank(size, percent / 100) == size + 1 - flagged


@pytest.mark.parametrize("alpha", [1e-3, 0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 1 - 1e-9])
def test_rank_with_a_confidence_is_the_smallest_that_keeps_it(alpha: float, confidence: float) -> None:
    delta = 1 - confidence
    needed = next(n for n in range(1, 10**6) if (1 - alpha) ** n <= delta * (1 + 1e-9))
    if needed > 1:
        with pytest.raises(InputError, match=f"at least {needed} "):
            threshold_rank(needed - 1, alpha, confidence)
    for size in (needed, needed + 1, 3 * needed + 5):
        rank = threshold_rank(size, alpha, confidence)
        failing = stats.binom.cdf(size - np.arange(1, size + 1), size, alpha)
        assert rank == 1 + int(np.argmax(failing <= delta * (1 + 1e-9)))


@pytest.mark.parametrize("size", [None, "9", math.nan, math.inf, 9.5, [10], -1])
def test_a_number_of_held_out_points_is_a_whole_number(size: object) -> None:
    with pytest.raises(InputError, match=r"size: .* was found"):
        threshold_rank(size, 0.2)  # type: ignore[arg-type]


@given(
    st.lists(st.integers(0, 4), min_size=4, max_size=30),
    st.sampled_from([0.2, 0.25, 0.3, 0.5, 0.77]),
    st.lists(st.integers(-1, 5), min_size=1, max_size=9),
)
def test_a_point_is_novel_exactly_when_its_p_value_is_at_most_the_rate(
    held: list[int], alpha: float, new: list[int]
) -> None:
    calibration = Calibration(held, alpha)  # type: ignore[arg-type]
    p_values = calibration.p_values(new)
    assert calibration.novel(new).tolist() == (p_values <= alpha * (1 + 1e-12)).tolist()
    by_hand = [(1 + sum(h >= s for h in held)) / (len(held) + 1) for s in new]
    assert p_values == pytest.approx(by_hand)


@pytest.mark.parametrize(("size", "alpha"), [(9, 0.1), (40, 0.1), (99, 0.05), (23, 0.3)])
def test_mean_rate_is_the_guarantee_without_ties(size: int, alpha: float, rng: np.random.Generator) -> None:
    draws = 20_000
    scores = rng.normal(size=(draws, size + 1))
    rank = threshold_rank(size, alpha)
    flagged = float((scores[:, -1] > np.sort(scores[:, :-1], axis=1)[:, rank - 1]).mean())
    bound = Calibration(scores[0, :-1], alpha).bound
    assert bound <= alpha
    assert flagged == pytest.approx(bound, abs=4 * math.sqrt(alpha / draws))


def test_mean_rate_is_kept_with_ties(rng: np.random.Generator) -> None:
    scores = rng.integers(0, 3, size=(20_000, 20))
    rank = threshold_rank(19, 0.2)
    flagged = float((scores[:, -1] > np.sort(scores[:, :-1], axis=1)[:, rank - 1]).mean())
    assert flagged <= 0.2


@pytest.mark.parametrize("continuous", [True, False])
def test_rate_of_the_threshold_is_kept_with_the_confidence(continuous: bool, rng: np.random.Generator) -> None:
    size, alpha, confidence, draws = 80, 0.1, 0.9, 20_000
    uniform = rng.random((draws, size))
    rank = threshold_rank(size, alpha, confidence)
    threshold = np.sort(uniform if continuous else np.ceil(uniform * 8) / 8, axis=1)[:, rank - 1]
    failed = float((1 - threshold > alpha).mean())
    assert failed <= 1 - confidence
    if continuous:
        exact = stats.binom.cdf(size - rank, size, alpha)  # the largest probability that is at most 1 - confidence
        assert failed == pytest.approx(exact, abs=0.01)
        assert stats.binom.cdf(size - rank + 1, size, alpha) > 1 - confidence


def test_guarantee_is_a_sentence_with_its_number() -> None:
    plain = Calibration(np.arange(19.0), 0.1)
    assert plain.guarantee.bound == plain.bound == 0.1
    assert "0.1" in plain.guarantee and "19 held-out" in plain.guarantee
    sure = Calibration(np.arange(200.0), 0.1, 0.99)
    assert sure.guarantee.bound == 0.1 and "confidence 0.99" in sure.guarantee
    assert sure.threshold > Calibration(np.arange(200.0), 0.1).threshold


def test_order_and_monotone_units_do_not_matter(rng: np.random.Generator) -> None:
    scores = rng.normal(size=50)
    first = Calibration(scores, 0.1)
    for unit in (1e-8, 1e8):
        moved = Calibration(rng.permutation(scores) * unit, 0.1)
        assert moved.threshold == pytest.approx(first.threshold * unit, rel=1e-12) and moved.rank == first.rank


def test_calibration_leaves_its_input_and_travels() -> None:
    scores = np.array([3.0, 1.0, 2.0])
    calibration = pickle.loads(pickle.dumps(Calibration(scores, 0.4)))
    assert scores.tolist() == [3.0, 1.0, 2.0]
    assert calibration.threshold == 3.0 + calibration.slack and calibration.rank == 3
    assert 0 < calibration.slack < 1e-6


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([], 0.1), "scores"),
        (([1.0, np.nan], 0.5), "scores"),
        (([[1.0, 2.0], [3.0, 4.0]], 0.5), "scores"),
        (([1.0, 2.0], 0.0), "false_positive_rate"),
        (([1.0, 2.0], 1.0), "false_positive_rate"),
        (([1.0, 2.0], float("nan")), "false_positive_rate"),
        (([1.0, 2.0], 1e-300), "false_positive_rate"),
        (([1.0, 2.0], 1e-300, 0.9), "false_positive_rate"),
        (([1.0, 2.0], 0.5, 1.0), "confidence"),
        (([1.0, 2.0], 0.5, 0.0), "confidence"),
    ],
)
def test_bad_input_is_named(arguments: tuple, named: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=f"^{named}:"):
        Calibration(*arguments)
