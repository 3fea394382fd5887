"""What is added to programs over a table whose columns follow from others: its weights have a direction that no point sees."""

from __future__ import annotations

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import Moments


def _money(seed: int, means: tuple[float, float]) -> np.ndarray:
    """Two columns of money, and their total."""
    parts = np.random.default_rng(seed).normal(means, [1e6, 5e5], (60, 2))
    return np.c_[parts, parts.sum(axis=1)]


def _programs() -> dict[str, tuple[cn.Formulation, str]]:
    ordinary, negatives = _money(0, (5e6, 4e6)), _money(1, (3e6, 2e6))
    return {
        "moment_classifier": (cn.moment_classifier(ordinary, Moments.estimate(negatives)), "w"),
        "two_class_mpm": (cn.two_class_mpm(Moments.estimate(ordinary), Moments.estimate(negatives)), "a"),
        "single_class_mpm": (cn.single_class_mpm(Moments.estimate(ordinary), 0.8), "a"),
        "mahalanobis_svm": (cn.mahalanobis_svm(cn.LinearFeatures(ordinary), 0.1), "w"),
    }


CASES = [
    (name, asked) for name in _programs() for asked in (1e-3, 0.05, 10.0) if (name, asked) != ("mahalanobis_svm", 10.0)
]


@pytest.mark.parametrize(("name", "asked"), CASES)
def test_a_constraint_on_the_weight_of_a_total_costs_nothing(name, asked):
    """The same scores have weights with any number for the total. At 0.05 values were 1e5 times too large, at 10 there was an error."""
    alone, letter = _programs()[name]
    held = alone.subject_to(lambda letters: letters[letter][2] >= asked)
    dual, solution, right = held.dual(), held.solve(), alone.solve().objective
    assert solution.objective == pytest.approx(right, rel=1e-6)
    assert solution.values[letter][2] >= asked - 1e-6
    assert dual.solve().objective == pytest.approx(right, rel=1e-5)
    value, _ = alone.evaluate(solution.values)
    assert value == pytest.approx(right, rel=1e-6)
    # The walls stand where they stood for the next program, and a point beyond them is one like any other.
    assert alone.solve().objective == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("name", ["moment_classifier", "single_class_mpm"])
def test_weights_at_the_last_wall_are_told(name):
    """A reward for the weight of the total is unbounded, which no wall can say."""
    program, letter = _programs()[name]
    with pytest.warns(UserWarning, match="as far out as they may along columns that follow from others"):
        program.plus(lambda letters: -letters[letter][2]).solve()
