"""The randomised likelihood-ratio test against a linear-programming solver and its own lemma."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from convexnovelty.algorithms.likelihood_ratio import distributions, likelihood_ratio_test
from convexnovelty.errors import InputError

COUNTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8).filter(
    lambda pairs: sum(a for a, _ in pairs) > 0 and sum(b for _, b in pairs) > 0
)


def two(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array(pairs, dtype=float)
    return counts[:, 0] / counts[:, 0].sum(), counts[:, 1] / counts[:, 1].sum()


@given(COUNTS, st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0]))
def test_no_test_is_better(pairs: list[tuple[int, int]], alpha: float) -> None:
    p0, px = two(pairs)
    test = likelihood_ratio_test(p0, px, alpha)
    best = linprog(-px, A_ub=p0[None], b_ub=[alpha], bounds=(0, 1), method="highs")
    assert test.false_negative_rate == pytest.approx(1 + best.fun, abs=1e-9)
    assert test.false_positive_rate <= alpha + 1e-12


@given(COUNTS, st.floats(0, 1))
def test_the_test_depends_on_the_ratio_alone(pairs: list[tuple[int, int]], alpha: float) -> None:
    p0, px = two(pairs)
    test = likelihood_ratio_test(p0, px, alpha)
    for i in range(p0.size):
        for j in range(p0.size):
            if px[i] * p0[j] > px[j] * p0[i] * (1 + 1e-9):
                assert test.novel[i] >= test.novel[j] - 1e-12 or p0[j] == px[j] == 0
            elif p0[i] * p0[j] > 0 and px[i] * p0[j] == px[j] * p0[i]:
                assert test.novel[i] == pytest.approx(test.novel[j])


def test_rate_is_used_up_when_anything_is_left_to_gain() -> None:
    test = likelihood_ratio_test([0.5, 0.5], [0.9, 0.1], 0.2)
    assert test.novel.tolist() == [0.4, 0.0]
    assert (test.threshold, test.randomisation) == (1.8, 0.4)


def test_values_without_nominal_probability_are_novel_at_rate_zero() -> None:
    test = likelihood_ratio_test([0.5, 0.5, 0.0], [0.3, 0.3, 0.4], 0.0)
    assert test.novel.tolist() == [0.0, 0.0, 1.0]
    assert test.false_negative_rate == pytest.approx(0.6)


def test_probabilities_from_1e_minus_300_are_kept() -> None:
    p0 = np.array([1.0, 1e-300, 1e-12])
    px = np.array([0.5, 0.5, 1e-300])
    test = likelihood_ratio_test(p0, px / px.sum(), 1e-20)
    assert test.novel[1] == 1.0 and test.false_negative_rate == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("nominal", "unlabelled", "named"),
    [
        ([0.5, -0.5, 1.0], [0.2, 0.3, 0.5], "nominal_probabilities"),
        ([0.5, 0.6], [0.5, 0.5], "nominal_probabilities"),
        ([0.5, 0.5], [0.2, 0.3, 0.5], "unlabelled_probabilities"),
        ([0.5, 0.5], [0.5, np.nan], "unlabelled_probabilities"),
        ([], [], "nominal_probabilities"),
        (["a", "b"], [0.5, 0.5], "nominal_probabilities"),
    ],
)
def test_bad_distributions_are_named(nominal: object, unlabelled: object, named: str) -> None:
    with pytest.raises(InputError, match=f"^{named}:"):
        distributions(nominal, unlabelled)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, np.nan, "0.5", True])
def test_bad_rate_is_named(alpha: object) -> None:
    with pytest.raises(InputError, match=r"^false_positive_rate:"):
        likelihood_ratio_test([1.0], [1.0], alpha)  # type: ignore[arg-type]
