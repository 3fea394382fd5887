"""What a caller does with an array afterwards changes nothing that was made of it."""

from __future__ import annotations

import array
import collections
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.kernel_family import KernelFamily
from convexnovelty.metrics import whitened
from convexnovelty.novelty_scores import KernelDensity
from convexnovelty.owned import owned
from convexnovelty.uncertainty import CovarianceHull, Ellipsoid, MeanEllipsoid, MomentHull, NormBall

POINTS = np.random.default_rng(0).normal(size=(20, 2)) + 2
NEW = POINTS[:3] + 0.5
SIGNS = np.where(np.arange(20) < 15, 1.0, -1.0)
REFLECTED = cn.LinearFeatures((POINTS + 3) * SIGNS[:, None])
APART = cn.Moments.estimate(-POINTS)
GRAM = np.exp(-((POINTS[:, None] - POINTS[None]) ** 2).sum(-1))


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


# -- formulations, which read their arguments again ----------------------------------------------------------------------

# A factory of one array, the array, what its owner makes of it, and a change of the formulation that makes it anew.
FORMULATIONS: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "weights of a machine": (
        lambda w: cn.one_class_svm(cn.LinearFeatures(POINTS), 0.3, weights=w),
        np.arange(20.0) + 1,
        np.ones(20),
        {"form": "primal"},
    ),
    "weights of a ball": (
        lambda w: cn.soft_ball(cn.LinearFeatures(POINTS), 0.3, weights=w),
        np.arange(20.0) + 1,
        np.ones(20),
        {"form": "primal"},
    ),
    "labels of classes": (
        lambda y: cn.class_recognisers(cn.LinearFeatures(POINTS), y, 0.3),
        np.repeat([0, 1], 10),
        np.tile([0, 1], 10),
        {"comparison": "raw"},
    ),
    "labels of negative points": (
        lambda y: cn.negative_data(REFLECTED, y, 0.3),
        SIGNS,
        np.where(np.arange(20) < 12, 1.0, -1.0),
        {"form": "primal"},
    ),
    "others": (
        lambda mask: cn.separation_from_mean(cn.LinearFeatures(POINTS + 3 * (SIGNS < 0)[:, None]), 0.3, mask),
        SIGNS < 0,
        SIGNS > 0,
        {"form": "primal"},
    ),
    "scales": (
        lambda scales: cn.uncertain_points(cn.LinearFeatures(POINTS), 0.3, NormBall(2, 0.1), scales=scales),
        np.linspace(0, 2, 20),
        np.full(20, 1.7),
        {},
    ),
    "points of a codebook": (lambda X: cn.vector_quantization(X, 1.0, 0.4), POINTS, POINTS * 4, {"radius": 0.5}),
    "positive points": (
        lambda X: cn.moment_classifier(X, APART, 0.1),
        POINTS,
        POINTS * np.linspace(0.2, 4, 20)[:, None],
        {"slack_penalty": None},
    ),
    "Gram matrices": (
        lambda G: cn.kernel_learning([G, POINTS @ POINTS.T], 0.3),
        GRAM,
        np.eye(20),
        {"form": "dual"},
    ),
    "scores": (
        lambda s: cn.novelty_proportion(s, POINTS[:, 0] + 3, 0.5).formulation,
        POINTS[:, 0],
        POINTS[:, 0] * 9,
        {},
    ),
    "pairs of moments": (
        lambda m: cn.single_class_mpm(APART, 0.1, MomentHull([(m, np.eye(2)), (-POINTS[0], np.eye(2) / 2)])),
        -POINTS[1],
        -POINTS[1] / 2,
        {},
    ),
}


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("kind", [np.array, list], ids=["array", "list"])
def test_formulations_are_made_anew_of_what_was_given(name, kind):
    make, before, after, change = FORMULATIONS[name]
    truth = make(before.copy()).set(**change).solve().objective
    # The owner's change matters: a formulation of the changed array has another value.
    assert make(after.copy()).set(**change).solve().objective != pytest.approx(truth, rel=1e-3)
    given = kind(before)
    formulation = make(given)
    for i, part in enumerate(after):
        given[i] = part
    assert pickle.loads(pickle.dumps(formulation)).set(**change).solve().objective == pytest.approx(truth, rel=1e-6)
    assert formulation.set(**change).solve().objective == pytest.approx(truth, rel=1e-6)


def test_a_proportion_is_asked_late_for_its_program():
    scores = POINTS[:, 0].copy()
    found = cn.novelty_proportion(scores, POINTS[:, 0] + 3, 0.5)
    scores *= 9
    assert found.formulation.solve().objective == pytest.approx(found.supremum, abs=1e-6)


def test_frames_of_a_formulation():
    frame = pd.DataFrame(POINTS, columns=["a", "b"])
    formulation = cn.vector_quantization(frame, 1.0, 0.4)
    frame *= 4
    assert formulation.set(radius=0.5).solve().objective == pytest.approx(
        cn.vector_quantization(POINTS, 0.5, 0.4).solve().objective
    )


def test_another_array_that_is_set():
    weights = np.arange(20.0) + 1
    formulation = cn.one_class_svm(cn.LinearFeatures(POINTS), 0.3).set(weights=weights)
    truth = formulation.solve().objective
    weights[:] = 1
    assert -formulation.set(form="primal").solve().objective == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("confidence", [None, 0.5])
def test_labels_of_a_detector_are_found_late(confidence):
    rng = np.random.default_rng(1)
    given = [rng.normal(size=(40, 2)), np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 4])]
    held = rng.normal(size=(30, 2))
    late, at_once = (
        cn.semi_supervised(*sample, 0.3, held_out=kept, confidence=confidence)
        for sample, kept in (((given[0], given[1]), held), ([each.copy() for each in given], held.copy()))
    )
    given[0] *= 9
    given[1] *= 0.1
    held += 5
    assert np.array_equal(late.labels, at_once.labels)
    assert np.array_equal(late.p_values, at_once.p_values)


def test_a_kernel_function_may_fill_one_array_again():
    kept = np.empty((20, 20))

    def kernel(X, Z):
        found = kept[: len(X), : len(Z)]
        found[...] = X @ Z.T
        return found

    features = cn.KernelFeatures(POINTS, kernel)
    features.cross_gram(POINTS * 3)
    assert features.gram == pytest.approx(POINTS @ POINTS.T)


# -- what is a copy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "change"),
    [
        (np.arange(3.0), lambda v: v.fill(7)),
        ([1.0, 2.0], lambda v: v.append(3.0)),
        ((np.arange(3.0), 1), lambda v: v[0].fill(7)),
        ({"a": [np.arange(3.0)]}, lambda v: v["a"][0].fill(7)),
        (collections.namedtuple("Pair", "first second")(np.arange(2.0), 1), lambda v: v.first.fill(7)),
        (np.ma.masked_array([1.0, 2.0], [False, True]), lambda v: v.__setitem__(0, 7)),
        (pd.DataFrame({"a": [1.0, 2.0]}), lambda v: v.__setitem__("a", 7.0)),
        (pd.Series([1.0, 2.0]), lambda v: v.__setitem__(0, 7.0)),
        (sp.csr_array(np.eye(2)), lambda v: v.data.fill(7)),
        (array.array("d", [1.0, 2.0]), lambda v: v.append(7.0)),
        (collections.deque([1.0, 2.0]), lambda v: v.append(7.0)),
        (memoryview(array.array("d", [1.0, 2.0])), lambda v: v.__setitem__(0, 7.0)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_copies(given, change):
    before, kept = pickle.dumps(as_plain(given)), owned(given)
    change(given)
    assert pickle.dumps(as_plain(kept)) == before
    assert pickle.dumps(as_plain(given)) != before


def as_plain(value):
    if isinstance(value, dict):
        return {key: as_plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(part) for part in value]
    if isinstance(value, np.ma.MaskedArray):
        return [value.filled(-1).tolist(), value.mask.tolist()]
    value = value.toarray() if hasattr(value, "toarray") else value
    return np.asarray(value).tolist()


def test_what_owns_its_arrays_is_no_copy():
    for kept in (
        cn.LinearFeatures(POINTS),
        APART,
        MeanEllipsoid(0.1),
        "a name",
        3.0,
        np.float64(3),
        None,
        np.linalg.norm,
    ):
        assert owned(kept) is kept


def test_coordinates_stay_what_they_are():
    training = cn.KernelFeatures(POINTS, "gaussian").training
    kept = owned(training)
    assert kept is not training
    assert kept.own_axes
    assert np.array_equal(kept.squared_norms, training.squared_norms)


# -- what is handed out --------------------------------------------------------------------------------------------------


def _handed_out():
    linear, kernel = cn.LinearFeatures(POINTS), cn.KernelFeatures(POINTS, "gaussian")
    low, gram = cn.KernelFeatures(POINTS, "gaussian", rank=4), cn.KernelFeatures(GRAM, "precomputed")
    family = KernelFamily.of([kernel, POINTS @ POINTS.T])
    detector = cn.semi_supervised(POINTS, POINTS + 1, 0.3)
    regions = [
        cn.one_class_svm(linear, 0.3).solve().region,
        cn.soft_ball(kernel, 0.3).solve().region,
        cn.vector_quantization(POINTS, 1.0).solve().region,
        cn.class_recognisers(linear, np.repeat([0, 1], 10), 0.3).solve().region,
    ]
    sets = [
        CovarianceHull([np.eye(2)]).centred(APART),
        Ellipsoid(np.eye(2)).centred(POINTS[0]),
        MomentHull([(POINTS[0], np.eye(2))]).centred(APART),
        (MeanEllipsoid(0.1) + POINTS[0]).centred(APART),
    ]
    others = [APART, APART.metric, detector, detector.calibration, KernelDensity(POINTS, 0.5, np.ones(2))]
    evidence = cn.novelty_proportion(POINTS[:, 0], POINTS[:, 1], 0.5).evidence
    return [linear, kernel, low, gram, family, evidence, whitened(POINTS, np.eye(2)), *regions, *sets, *others]


def _arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _arrays(part)


@pytest.mark.parametrize("thing", _handed_out(), ids=lambda thing: type(thing).__name__)
def test_arrays_that_are_handed_out_cannot_be_written_into(thing):
    seen = 0
    for name in dir(thing):
        if name.startswith("_") or callable(getattr(type(thing), name, None)):
            continue
        for first, second in zip(_arrays(getattr(thing, name)), _arrays(getattr(thing, name)), strict=True):
            seen += 1
            # What is computed at each look is the caller's own.
            assert not first.flags.writeable or not np.shares_memory(first, second), name
    assert seen


def test_a_jitter_in_place_is_refused():
    features = cn.KernelFeatures(POINTS, "gaussian")
    gram = features.gram
    with pytest.raises(ValueError, match="read-only"):
        gram += 0.5 * np.eye(20)
    with pytest.raises(ValueError, match="read-only"):
        KernelFamily.of([features]).grams[0][...] = 0
