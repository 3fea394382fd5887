"""Long work through any executor: here, through the workers of a cluster, with the answers of one process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
from dask.distributed import Client
from sklearn.model_selection import GridSearchCV

from convexnovelty import reproductions, uncertainty
from convexnovelty.checking import check
from convexnovelty.checking.cell import subject_named
from convexnovelty.checking.cross_check import cross_check
from convexnovelty.estimators import SingleClassMPM, TwoClassMPM
from convexnovelty.kernel_choice import chosen_kernel
from convexnovelty.moments import Moments

X = np.random.default_rng(2).normal(size=(80, 2)) + np.array([3.0, 1.0])


def test_cross_check_on_a_cluster(client: Client) -> None:
    subjects = [subject_named("one_class_svm/four points on a line/dual")]
    with client.get_executor() as executor:
        found = cross_check(subjects, solver="clarabel,scs", executor=executor)
    assert [(c.solver, c.word) for c in found.cells] == [("CLARABEL", "right"), ("SCS", "right")]


def test_the_check_of_a_method_on_a_cluster(client: Client) -> None:
    with client.get_executor() as executor:
        found = check("exact_outliers", executor=executor)
    assert found.passed
    assert found.rows


def test_a_reproduction_on_a_cluster(client: Client) -> None:
    chosen = reproductions.named("chapter-8-figure-8.6")
    data = reproductions.Data(None)
    with client.get_executor() as executor:
        found = chosen.run(data, repetitions=2, quick=True, executor=executor)
    expected = chosen.run(data, repetitions=2, quick=True)
    assert [cell.mean for cell in found.cells] == [cell.mean for cell in expected.cells]


def test_a_radius_by_cross_validation_on_a_cluster(client: Client) -> None:
    def score(recipe: Any, train: np.ndarray, held: np.ndarray) -> float:
        gap = Moments.estimate(held).covariance - Moments.estimate(train).covariance
        return -abs(recipe.radius - float(np.linalg.norm(gap)))

    radii = [0.05, 0.2, 0.8]
    ball = uncertainty.FrobeniusBall()
    expected = uncertainty.cross_validated(ball, X, radii, score)
    with client.get_executor() as executor:
        assert uncertainty.cross_validated(ball, X, radii, score, executor=executor).radius == expected.radius
    with ThreadPoolExecutor(2) as executor:
        assert uncertainty.cross_validated(ball, X, radii, score, executor=executor).radius == expected.radius


def test_a_calibrated_radius_and_a_chosen_kernel_on_a_cluster(client: Client) -> None:
    ball = uncertainty.FrobeniusBall()
    choice = (SingleClassMPM, "single-class-mpm", {}, "auto", 1, X, lambda text: None)
    with client.get_executor() as executor:
        found = uncertainty.calibrate(ball, X, 0.9, resamples=50, executor=executor)
        kernel = chosen_kernel(*choice, executor)
    assert found.radius == uncertainty.calibrate(ball, X, 0.9, resamples=50).radius
    assert kernel == chosen_kernel(*choice)
    assert "fails" not in kernel[1]


def test_a_kernel_by_cross_validation_on_a_cluster(client: Client) -> None:
    points = np.vstack([X, X[:40] - 3.0])
    labels = np.repeat([1, 0], [80, 40])
    grid = {"kernel": ["linear", "gaussian"], "rank": [10]}
    expected = GridSearchCV(TwoClassMPM(), grid, cv=3).fit(points, labels)
    with joblib.parallel_config("dask"):
        found = GridSearchCV(TwoClassMPM(), grid, cv=3, n_jobs=2).fit(points, labels)
    assert found.best_params_ == expected.best_params_
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
