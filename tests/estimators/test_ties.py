"""Rows that tie get one verdict, however they are cut into batches, and weights never make a bound false."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from convexnovelty import novelty_proportion, streams
from convexnovelty.errors import InputError
from convexnovelty.estimators import OneClassSVM, SemiSupervisedDetector, SingleClassMPM, SoftBall
from convexnovelty.false_positives import Calibration

ATOMS = np.random.default_rng(5).random((3, 6)).round(1) + 0.1
KINDS: list[Any] = [
    SingleClassMPM(kernel="linear", false_alarm_rate=0.1),
    SingleClassMPM(kernel="polynomial", false_alarm_rate=0.1),
    OneClassSVM(kernel="linear", false_alarm_rate=0.1),
    OneClassSVM(kernel="polynomial", false_alarm_rate=0.1),
    SoftBall(kernel="laplacian", false_alarm_rate=0.1),
]


def _sample(seed: int) -> Any:
    return ATOMS[np.random.default_rng(seed).choice(3, 60, p=[0.97, 0.015, 0.015])]


@pytest.mark.parametrize("detector", KINDS, ids=repr)
def test_a_row_has_the_verdict_that_it_has_among_others(detector: Any) -> None:
    for seed in range(6):
        X = _sample(seed)
        fitted = detector.set_params(random_state=seed).fit(X)
        alone = np.concatenate([fitted.predict(X[i : i + 1]) for i in range(0, 60, 7)])
        np.testing.assert_array_equal(alone, fitted.predict(X)[::7])
        cut = np.concatenate(list(streams.score_chunks(fitted, X, method="predict", rows=1)))
        np.testing.assert_array_equal(cut, fitted.predict(X))


def test_a_classifier_says_the_same_of_a_row_alone() -> None:
    for seed in range(4):
        X, U = _sample(seed), np.vstack([_sample(seed + 50), ATOMS[[1, 2]]])
        detector = SemiSupervisedDetector(0.2, novelty_score=LogisticRegression(), random_state=seed)
        fitted = detector.fit(X, unlabelled=U)
        alone = np.concatenate([fitted.predict(row[None]) for row in X[::5]])
        np.testing.assert_array_equal(alone, fitted.predict(X)[::5])


def test_the_slack_covers_rounding_and_p_values_agree_with_verdicts() -> None:
    scores = np.repeat([1.0, 2.0], [17, 2])
    found = Calibration(scores, 0.1)
    near = np.array([2.0, np.nextafter(2.0, 3.0), 2.0 + 1e-12, 2.001])
    assert found.novel(near).tolist() == [False, False, False, True]
    np.testing.assert_array_equal(found.novel(near), found.p_values(near) <= 0.1)
    assert found.p_values(near)[1] == found.p_values([2.0])[0] == 3 / 20


@pytest.mark.parametrize("novel", ["high", "low", "either"])
def test_copies_that_differ_by_rounding_prove_no_novelties(novel: Any) -> None:
    scores = np.repeat([0.3, 0.7], [95, 5])
    for moved in (np.nextafter(scores, 1.0), np.nextafter(scores, 0.0)):
        assert novelty_proportion(scores, moved, 0.9, novel=novel).vacuous
    # Runs end where a score differs by more than rounding, so that real differences of small scores count.
    assert not novelty_proportion(scores * 1e-9, (scores + 0.5) * 1e-9, 0.9, novel="high").vacuous


def test_points_without_weight_are_none_of_the_held_out_ones(rng: np.random.Generator) -> None:
    A = rng.standard_normal((60, 2))
    X, weights = np.vstack([A, rng.standard_normal((140, 2)) * 0.01]), np.repeat([1.0, 0.0], [60, 140])
    detector = OneClassSVM(false_alarm_rate=0.1, random_state=0)
    expected = detector.fit(A).decision_function(A)
    fitted = detector.fit(X, sample_weight=weights)
    assert "18 held-out" in fitted.guarantee_
    np.testing.assert_allclose(fitted.decision_function(A), expected, atol=1e-9)
    with pytest.raises(InputError, match=r"^sample_weight: weights from 1 to 2"):
        detector.fit(A, sample_weight=np.repeat([1.0, 2.0], 30))


@pytest.mark.parametrize(
    "made",
    [OneClassSVM(0.1), SoftBall(0.1), OneClassSVM(0.1, false_alarm_rate=0.1, random_state=0)],
    ids=["OneClassSVM", "SoftBall", "held out"],
)
@pytest.mark.parametrize(
    "step", [PCA(10, random_state=0), StandardScaler(), Normalizer()], ids=lambda step: type(step).__name__
)
def test_points_that_a_transformer_rounds_to_single_precision_tie_as_double_ones_do(step, made):
    """A row alone is rounded otherwise than among others: those on the boundary are ordinary in both."""
    rows = load_digits().data[:200]
    single, double = (
        make_pipeline(clone(step), clone(made)).fit(rows.astype(kind)) for kind in (np.float32, np.float64)
    )
    novel = single.predict(rows.astype(np.float32)) < 0
    assert (novel == (double.predict(rows) < 0)).all()
    closest = np.argsort(np.abs(single.decision_function(rows.astype(np.float32))))[:40]
    assert [single.predict(rows[[i]].astype(np.float32))[0] < 0 for i in closest] == novel[closest].tolist()
    # What lies beyond the boundary by more than rounding is novel as before.
    level, room = double[-1].offset_, abs(single[-1].offset_ - double[-1].offset_)
    assert 0 < room < 1e-4 * abs(level)
