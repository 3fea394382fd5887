"""Counts with ties, the area under the curve and the concave hull, against scikit-learn, SciPy and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from sklearn.metrics import roc_auc_score

from convexnovelty.algorithms.roc import area_under_curve, concave_hull, exceedances
from convexnovelty.errors import InputError

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


@given(SCORES, SCORES)
def test_exceedances_count_strictly_above(scores: list[int], thresholds: list[int]) -> None:
    found = exceedances(np.array(scores, dtype=float), np.array(thresholds, dtype=float))
    assert found.tolist() == [sum(s > t for s in scores) for t in thresholds]


@given(SCORES, SCORES)
def test_area_counts_ties_half(nominal: list[int], novel: list[int]) -> None:
    pairs = [1.0 if a < b else 0.5 if a == b else 0.0 for a in nominal for b in novel]
    assert area_under_curve(nominal, novel) == pytest.approx(float(np.mean(pairs)), abs=1e-14)


def test_area_agrees_with_scikit_learn(rng: np.random.Generator) -> None:
    nominal, novel = np.round(rng.normal(size=300), 1), np.round(rng.normal(0.5, 2, size=200), 1)
    labels = np.repeat([0, 1], [300, 200])
    assert area_under_curve(nominal, novel) == pytest.approx(roc_auc_score(labels, np.concatenate([nominal, novel])))


def test_scores_of_one_value_have_area_one_half() -> None:
    assert area_under_curve(np.full(7, 3.0), np.full(4, 3.0)) == 0.5


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=15))
def test_hull_is_the_least_concave_function_above_the_points(points: list[tuple[int, int]]) -> None:
    x, y = np.array(points).T
    corners = concave_hull(x, y)
    assert (np.diff(x[corners]) > 0).all()
    slopes = np.diff(y[corners]) / np.diff(x[corners])
    assert (np.diff(slopes) < 0).all()  # strictly: points inside an edge are no corners
    assert (y <= np.interp(x, x[corners], y[corners]) + 1e-12).all()
    assert {x[corners][0], x[corners][-1]} == {x.min(), x.max()}


def test_hull_agrees_with_scipy(rng: np.random.Generator) -> None:
    x, y = np.sort(rng.random(80)), np.sort(rng.random(80))
    upper = [i for i in ConvexHull(np.column_stack([x, y])).vertices if i in set(concave_hull(x, y).tolist())]
    lower = [i for i in ConvexHull(np.column_stack([x, y])).vertices if i not in upper]
    assert sorted(upper) == sorted(concave_hull(x, y).tolist())
    assert all(y[i] <= np.interp(x[i], [x[0], x[-1]], [y[0], y[-1]]) for i in lower)


@pytest.mark.parametrize("wrong", [[], [np.nan], [[1, 2], [3, 4]], ["a"]])
def test_bad_scores_are_named(wrong: list[object]) -> None:
    with pytest.raises(InputError, match=r"^scores_nominal:"):
        area_under_curve(wrong, [1.0])
    with pytest.raises(InputError, match=r"^scores_novel:"):
        area_under_curve([1.0], wrong)


def test_whole_numbers_that_would_tie_are_refused() -> None:
    with pytest.raises(InputError, match="scores_novel: 9007199254740993 was found"):
        area_under_curve([2**53], [2**53 + 1])
    assert area_under_curve([2**53], [2**53 + 2]) == 1.0
