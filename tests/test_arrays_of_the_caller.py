"""What a caller does with an array afterwards changes nothing that was made of it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.novelty_scores import KernelDensity
from convexnovelty.uncertainty import MeanEllipsoid

POINTS = np.random.default_rng(0).normal(size=(20, 2)) + 2
NEW = POINTS[:3] + 0.5


@pytest.mark.parametrize("made", [cn.LinearFeatures, lambda X: cn.KernelFeatures(X, cn.kernels.gaussian(gamma=0.5))])
def test_features(made):
    given = POINTS.copy()
    features = made(given)
    given -= given.mean(axis=0)
    assert features.cross_gram(POINTS) == pytest.approx(features.gram)
    assert features.cross_gram(NEW) == pytest.approx(made(POINTS).cross_gram(NEW))


def test_codebooks():
    given = POINTS.copy()
    problem = cn.vector_quantization(given, 1.0)
    given *= 10
    assert problem.solve().region.contains(POINTS).all()


def test_translations():
    shift, moments = np.array([0.1, 0.2]), cn.Moments.estimate(POINTS)
    recipe = MeanEllipsoid(0.1) + shift
    before = cn.single_class_mpm(moments, 0.3, recipe).solve().objective
    shift *= 7
    assert cn.single_class_mpm(moments, 0.3, recipe).solve().objective == before


def test_densities():
    given, units = POINTS.copy(), np.ones(2)
    density = KernelDensity(given, 0.5, units)
    before = density.log_density(NEW)
    given += 5
    units *= 3
    assert np.array_equal(density.log_density(NEW), before)


RISING = np.arange(20.0) + 1
HALVES = np.repeat([0, 1], 10)
CLOSE = np.exp(-((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=-1))


def _family(points, weights, labels, gram):
    return cn.kernel_learning([gram, POINTS @ POINTS.T], 0.3)


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda X, w, y, K: cn.one_class_svm(cn.LinearFeatures(X), 0.3, weights=w), {"form": "primal"}),
        (lambda X, w, y, K: cn.one_class_svm(cn.LinearFeatures(X), 0.3, weights=w.tolist()), {"form": "primal"}),
        (lambda X, w, y, K: cn.soft_ball(cn.LinearFeatures(X), 0.3, weights=w), {"form": "primal"}),
        (lambda X, w, y, K: cn.class_recognisers(cn.LinearFeatures(X), y, 0.3), {"comparison": "raw"}),
        (lambda X, w, y, K: cn.negative_data(cn.LinearFeatures(X), 2 * y - 1, 0.3), {"form": "primal"}),
        (lambda X, w, y, K: cn.separation_from_mean(cn.LinearFeatures(X), 0.3, y == 0), {"form": "primal"}),
        (lambda X, w, y, K: cn.vector_quantization(X, 1.0, 0.4), {"radius": 0.5}),
        (lambda X, w, y, K: cn.vector_quantization(pd.DataFrame(X), 1.0, 0.4), {"radius": 0.5}),
        (lambda X, w, y, K: cn.moment_classifier(X, cn.Moments.estimate(-POINTS), 0.1), {"slack_penalty": None}),
        (lambda X, w, y, K: cn.moment_classifier(sp.csr_array(X), cn.Moments.estimate(-POINTS), 0.1), {"slack_penalty": None}),
        (_family, {"form": "dual"}),
    ],
)  # fmt: skip
def test_formulations_are_made_anew_of_the_arrays_as_they_were(make, change):
    """Solved, changed by what is no parameter, and sent to another process: as of arrays that nobody touched."""
    wanted = make(POINTS, RISING, HALVES, CLOSE)
    truth = wanted.solve().objective, wanted.set(**change).solve().objective
    given = [part.copy() for part in (POINTS, RISING, HALVES, CLOSE)]
    problem = make(*given)
    before = pickle.loads(pickle.dumps(problem))
    given[0] *= np.linspace(0.2, 4, 20)[:, None]
    given[1][:], given[2][:], given[3][:] = 1.0, np.tile([0, 1], 10), np.eye(20)
    sent = pickle.loads(pickle.dumps(problem))
    found = problem.solve().objective, problem.set(**change).solve().objective
    assert found == pytest.approx(truth, rel=1e-7)
    assert [p.solve().objective for p in (before, sent)] == pytest.approx([truth[0]] * 2, rel=1e-7)


def test_labels_of_a_detector_are_found_in_the_points_as_they_were():
    rng = np.random.default_rng(0)
    N, U = rng.standard_normal((40, 2)), rng.standard_normal((40, 2)) + np.repeat([[0], [4]], 20, axis=0)
    H = rng.standard_normal((30, 2))
    wanted = cn.semi_supervised(N, U, 0.3, held_out=H)
    nominal, unlabelled, held = N.copy(), U.copy(), H.copy()
    detector = cn.semi_supervised(nominal, unlabelled, 0.3, held_out=held)
    nominal *= 9
    unlabelled *= 0.1
    held += 3
    np.testing.assert_array_equal(detector.labels, wanted.labels)
    np.testing.assert_array_equal(detector.p_values, wanted.p_values)
    for found in (detector.labels, detector.p_values):
        with pytest.raises(ValueError, match="read-only"):
            found[:] = 0


@pytest.mark.parametrize(
    "gram",
    [
        lambda: cn.LinearFeatures(POINTS).gram,
        lambda: cn.KernelFeatures(POINTS, "gaussian").gram,
        lambda: cn.KernelFeatures(POINTS, "gaussian", rank=5).gram,
        lambda: cn.KernelFeatures(CLOSE, "precomputed").gram,
        lambda: cn.KernelFamily.of([cn.KernelFeatures(POINTS, "gaussian"), CLOSE]).grams[1],
    ],
)
def test_gram_matrices_cannot_be_changed_in_place(gram):
    """A number added to the diagonal of what looks like a result would change every later answer."""
    with pytest.raises(ValueError, match="read-only"):
        np.fill_diagonal(gram(), 2.0)
    assert (gram() + np.eye(20)).flags.writeable
