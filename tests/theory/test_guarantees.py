"""Guarantees hold on samples that nobody chose, and are tight where theory says so.

Those that speak of distributions (moments, unlabelled points) are simulated beside their methods; here are those that
count points, on twenty samples a method, and the one that speaks of new points on average.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.checking.instances import Case, Knobs
from convexnovelty.methods.artificial_negatives import dual, uniform_box

SEEDS = range(20)
FRACTIONS = {
    "one_class_svm": "dual",
    "soft_ball": "dual",
    "negative_data": "dual",
    "separation_from_mean": "dual",
    "mahalanobis_svm": "robust",
    "kernel_learning": "block_norm",
}


def solved(method, node, seed, n=40):
    case = Case(method, Knobs(n=n, seed=seed))
    arguments = case.instance().arguments
    features = arguments.get("features", arguments.get("features_or_grams"))
    solution = case.formulation(node).solve()
    values = solution.region.decision_values(features.training)
    if method == "negative_data":
        offset = solution.region.offset
        values = arguments["labels"] * (values + offset) - offset  # of the reflected points
    if method == "separation_from_mean":
        values = values[~arguments["others"]]
    return solution, np.asarray(values), arguments["outlier_fraction"]


@pytest.mark.parametrize("method", FRACTIONS)
def test_no_more_than_the_fraction_lies_outside_and_no_fewer_on_or_outside(method):
    for seed in SEEDS:
        solution, values, fraction = solved(method, FRACTIONS[method], seed)
        size = float(np.abs(values).max())
        outside, touched = int((values < -1e-6 * size).sum()), int((values <= 1e-6 * size).sum())
        assert solution.guarantee.bound == pytest.approx(fraction)
        assert outside <= fraction * values.size + 1e-9, seed
        # Tight: as many points as the fraction asks for have no room to spare (proposition 8.3, ii).
        assert touched >= fraction * values.size - 1e-9, seed
        said = re.search(r"(\d+) of (\d+) training points", solution.guarantee)
        assert said and int(said[2]) == values.size
        assert outside <= int(said[1]) <= touched, seed


def test_the_fraction_outside_approaches_what_was_asked_for_as_the_sample_grows():
    shares = []
    for n in (25, 100, 400):
        _, values, fraction = solved("one_class_svm", "dual", 1, n)
        shares.append(abs((values < -1e-7 * np.abs(values).max()).mean() - fraction))
    assert shares[0] > shares[2]
    assert shares[2] < 0.03


def test_points_that_move_within_their_sets_cost_no_more_than_the_fraction():
    rng = np.random.default_rng(0)
    for seed in SEEDS:
        case = Case("uncertain_points", Knobs(n=40, seed=seed))
        arguments = case.instance().arguments
        points, solution = np.asarray(arguments["features"].training), case.formulation("robust").solve()
        for _ in range(20):
            steps = rng.standard_normal(points.shape)
            steps *= arguments["uncertainty"].radius / np.linalg.norm(steps, axis=1, keepdims=True)
            moved = np.asarray(solution.region.decision_values(points + steps))
            assert (moved < -1e-7).mean() <= solution.guarantee.bound + 1e-9, seed


def test_the_mean_error_on_a_new_point_is_below_the_mean_share_that_is_said():
    # Leave-one-out: both sides are averages over samples, so that many small samples show it.
    rng = np.random.default_rng(1)
    errors, said = [], []
    for _ in range(60):
        X, new = rng.standard_normal((12, 2)), rng.standard_normal((50, 2))
        box, far = uniform_box(X, 12, rng), uniform_box(X, 50, rng)
        features = cn.KernelFeatures(np.vstack([X, box]), cn.kernels.gaussian(width=4.0))
        solution = dual(features, np.repeat([1.0, -1.0], 12), 1.0).solve()
        inside = solution.region.contains(features.coordinates(np.vstack([new, far])))
        missed = np.where(np.arange(100) < 50, ~inside, inside)
        errors.append(missed.mean())
        said.append(solution.guarantee.bound)
    assert np.mean(errors) <= np.mean(said) + 3 * np.std(errors) / np.sqrt(len(errors))


def test_all_points_lie_beyond_the_hard_plane_and_within_a_codebook():
    for seed in SEEDS:
        case = Case("hard_margin", Knobs(n=30, seed=seed))
        features = case.instance().arguments["features"]
        solution = case.formulation("dual").solve()
        values = np.asarray(solution.region.decision_values(features.training))
        assert values.min() >= -1e-7 * np.abs(values).max()
        assert values.min() <= 1e-6 * np.abs(values).max(), "the nearest points touch it"
        points = np.random.default_rng(seed).standard_normal((30, 2))
        found = cn.vector_quantization(points, 0.8).solve()
        distance = np.linalg.norm(points[:, None] - found.region.vectors[None], axis=2).min(axis=1)
        assert distance.max() <= 0.8 * (1 + 1e-9)
