"""Points on the boundary are ordinary, sentences count as ``predict`` does, and weights are repetitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from convexnovelty.estimators import KernelLearningSVM, MahalanobisSVM, OneClassSVM, SoftBall
from convexnovelty.persistence import load, save


def _outside(machine, X):
    return int((machine.predict(X) == -1).sum())


def _grid(seed, n):
    return np.random.default_rng(seed).integers(0, 3, size=(n, 2)).astype(float)


@pytest.mark.parametrize("seed", range(2))
def test_points_with_equal_scores_are_ordinary(seed):
    assert _outside(KernelLearningSVM(0.5).fit(_grid(seed, 60)), _grid(seed, 60)) == 0
    assert _outside(MahalanobisSVM(0.1).fit(_grid(seed, 21)), _grid(seed, 21)) == 0


def test_equal_points_lie_in_the_ball_of_radius_zero():
    X = np.full((20, 2), 3.3)
    weights = np.random.default_rng(0).random(20)
    assert _outside(SoftBall(0.1, kernel="linear").fit(X, sample_weight=weights), X) == 0
    assert _outside(SoftBall(1.0, kernel="linear").fit(np.ones((20, 2))), np.ones((20, 2))) == 0


@pytest.mark.parametrize("kind", [OneClassSVM, MahalanobisSVM, SoftBall])
def test_the_sentence_counts_as_predict_does(kind):
    X = np.random.default_rng(0).normal(size=(80, 3))
    far = np.c_[X[:, 0] + 1e5, X[:, 1]]
    for rows, gamma in ((far, "scale"), (X, 1e-7), (X, 0.5)):
        machine = kind(0.1, gamma=gamma).fit(rows)
        assert machine.guarantee_.startswith(f"{_outside(machine, rows)} of 80 training points lie outside")
        assert _outside(machine, rows) <= 8


@pytest.mark.parametrize("kind", [OneClassSVM, SoftBall])
def test_weights_set_the_width_of_the_laplacian_kernel(kind):
    rng = np.random.default_rng(0)
    X, weights, new = rng.normal(size=(60, 3)) * [1, 2, 0.5], rng.integers(0, 4, 60), rng.normal(size=(20, 3))
    weighted = kind(kernel="laplacian").fit(X, sample_weight=weights)
    repeated = kind(kernel="laplacian").fit(np.repeat(X, weights, axis=0))
    assert weighted.decision_function(new) == pytest.approx(repeated.decision_function(new), abs=1e-9)


@pytest.mark.parametrize("mean", [True, False])
def test_a_scaler_that_does_not_scale_is_saved_and_loaded(tmp_path, mean):
    X = np.random.default_rng(0).normal(size=(40, 3))
    made = make_pipeline(StandardScaler(with_mean=mean, with_std=False), OneClassSVM()).fit(X)
    save(made, tmp_path / "m.npz")
    assert np.array_equal(load(tmp_path / "m.npz").decision_function(X), made.decision_function(X))
