"""What a guarantee says is true of the sample it was read from, which is one of the distributions it speaks of."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

import convexnovelty as cn
from convexnovelty import persistence
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InputError
from convexnovelty.estimators import MomentClassifier, TwoClassMPM
from convexnovelty.factor_model import factor_model


def _correlated() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    z = np.where(rng.random(5000) < 0.1, 3.0, -1 / 3.0)
    negatives = np.repeat(z[:, None], 10, axis=1) + 0.1 * rng.normal(size=(5000, 10))
    return negatives, 2 + 0.3 * rng.normal(size=(30, 10))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_variances_alone_bound_the_negatives_of_the_fit_by_their_full_variance(form):
    negatives, positives = _correlated()
    y = np.repeat([0, 1], [len(negatives), len(positives)])
    machine = MomentClassifier(factors=0).fit(form(np.vstack([negatives, positives])), y)
    accepted = float((machine.predict(form(negatives)) == 1).mean())
    scores = negatives @ machine.score_.normal
    kappa = (machine.offset_ - scores.mean()) / scores.std()
    assert accepted > 0.1
    assert machine.guarantee_.bound == pytest.approx(1 / (1 + kappa**2), rel=1e-9)
    assert accepted <= machine.guarantee_.bound


@pytest.mark.parametrize("given", ["dense rows", "sparse rows", "moments"])
@pytest.mark.parametrize("tail", [None, "gaussian"])
@pytest.mark.parametrize(
    ("uncertainty", "nu", "radius"),
    [
        (sets.FrobeniusBall(0.5), 0.0, 0.5),
        (sets.SpectralBall(0.2), 0.0, 0.2),
        (sets.MeanEllipsoid(0.3), 0.3, 0.0),
        (sets.MeanEllipsoid(0.3) * sets.FrobeniusBall(0.5), 0.3, 0.5),
    ],
    ids=repr,
)
def test_variances_alone_bound_by_the_set_around_the_full_covariance(uncertainty, nu, radius, tail, given):
    """Of one direction the worst case is known by hand: the mean nu deviations nearer, the variance a radius larger."""
    negatives, positives = _correlated()
    negatives, positives, y = negatives[:300], positives + 3, np.repeat([0, 1], [300, 30])
    machine = MomentClassifier(factors=0, uncertainty=uncertainty, tail=tail)
    if given == "moments":
        machine.fit(positives, negative_moments=cn.Moments.estimate(negatives))
    else:
        rows = np.vstack([negatives, positives])
        machine.fit(sp.csr_array(rows) if given == "sparse rows" else rows, y)
    w = machine.score_.normal
    deviation = (w @ np.cov(negatives.T, bias=True) @ w + radius * w @ w) ** 0.5
    kappa = (machine.offset_ - negatives.mean(axis=0) @ w) / deviation - nu
    expected = 1 / (1 + kappa**2) if tail is None else norm.sf(kappa)
    assert machine.guarantee_.bound == pytest.approx(expected, rel=1e-8)
    assert "uncorrelated" not in machine.guarantee_ and "wherever mean and covariance lie in" in machine.guarantee_
    assert (machine.predict(negatives) == 1).mean() <= machine.guarantee_.bound or tail


def test_variances_alone_and_a_set_without_rows_say_that_columns_are_taken_for_uncorrelated():
    negatives, positives = _correlated()
    machine = MomentClassifier(factors=0, uncertainty=sets.FrobeniusBall(0.5), negative_moments=negatives)
    assert "uncorrelated columns" in machine.fit(positives + 3).guarantee_


def test_variances_alone_without_rows_say_that_columns_are_taken_for_uncorrelated():
    negatives, positives = _correlated()
    moments = cn.Moments.estimate(negatives, representation="diagonal")
    said = [
        MomentClassifier(negative_moments=moments).fit(positives).guarantee_,
        cn.single_class_mpm(cn.Moments.estimate(positives, representation="diagonal"), confidence=0.5)
        .solve()
        .guarantee,
        cn.two_class_mpm(moments, cn.Moments.estimate(positives)).solve().guarantee,
    ]
    assert all("uncorrelated columns" in guarantee for guarantee in said), said
    full = cn.two_class_mpm(cn.Moments.estimate(negatives), cn.Moments.estimate(positives)).solve().guarantee
    assert "uncorrelated" not in full


@pytest.mark.parametrize("factors", [None, 0, 1, 2])
@pytest.mark.parametrize("where", ["constructor", "fit"])
def test_given_moments_are_cut_to_the_factors_as_rows_are(factors, where):
    negatives, positives = _correlated()
    negatives = negatives * np.linspace(1, 2, 10)
    moments, y = cn.Moments.estimate(negatives), np.repeat([0, 1], [len(negatives), len(positives)])
    expected = MomentClassifier(factors=factors).fit(np.vstack([negatives, positives]), y)
    machine = MomentClassifier(factors=factors, negative_moments=moments if where == "constructor" else None)
    found = machine.fit(positives, negative_moments=moments if where == "fit" else None)
    np.testing.assert_allclose(
        found.decision_function(negatives[:9]), expected.decision_function(negatives[:9]), rtol=1e-5
    )
    # The moments that were given know all correlations, so that the bound needs no assumption.
    assert found.guarantee_.bound == pytest.approx(expected.guarantee_.bound, rel=1e-6)
    assert str(found.guarantee_).split(" for ")[1] == str(expected.guarantee_).split(" for ")[1]
    if factors is not None:
        full = MomentClassifier(negative_moments=moments).fit(positives)
        assert np.abs(found.score_.normal - full.score_.normal).max() > 1e-3 * np.abs(full.score_.normal).max()


def test_given_moments_that_need_no_cut_are_not_copied():
    alone = cn.Moments.diagonal(np.zeros(3), [1.0, 2.0, 3.0])
    two = cn.Moments.low_rank(np.zeros(3), np.eye(3)[:2], 0.5)
    assert MomentClassifier(factors=0)._cut(alone) is alone
    assert MomentClassifier(factors=2)._cut(two) is two
    assert MomentClassifier(factors=1)._cut(two).loadings.shape == (1, 3)
    with pytest.raises(InputError, match="factors: -1 was found"):
        MomentClassifier(factors=-1, negative_moments=alone).fit(np.ones((2, 3)) * [[3], [4]])


def _told(moments: cn.Moments, tail: cn.tails.Tail | str | None = None) -> str:
    return str(cn.single_class_mpm(moments, confidence=0.5, tail=tail).solve().guarantee)


def test_neither_other_axes_nor_more_points_make_variances_alone_a_covariance(tmp_path):
    positives = _correlated()[1]
    alone = cn.Moments.estimate(positives, representation="diagonal")
    full = cn.Moments.estimate(positives)
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 10)))[0]
    made = [
        alone.rotated(turned),
        alone + full,
        full + alone,
        alone.update(positives),
        (alone + cn.Moments.estimate(positives, rank=3)).truncated(4),
        alone.ridged(0.1),
        factor_model(alone, 2),
    ]
    assert all("uncorrelated columns" in _told(moments) for moments in made)
    given = cn.Moments.diagonal(alone.mean, alone.variances)  # a covariance that somebody knows to be diagonal
    for moments in (full, full.rotated(turned), full + full, full.ridged(0.1), given, factor_model(full, 2)):
        assert "uncorrelated" not in _told(moments)
    machine = MomentClassifier(negative_moments=alone + full).fit(positives + 3)
    assert "uncorrelated columns" in machine.guarantee_
    persistence.save(machine, tmp_path / "m.npz")
    assert persistence.load(tmp_path / "m.npz").negative_moments.forced_diagonal


def test_tails_in_other_words_say_that_columns_are_taken_for_uncorrelated():
    @dataclasses.dataclass(frozen=True)
    class Own(cn.tails.Chebyshev):
        @property
        def sentence(self) -> str:
            return "all that we have ever seen"

    moments = cn.Moments.estimate(_correlated()[1], representation="diagonal")
    for tail in (Own(), cn.tails.Symmetric(), cn.tails.Student()):
        assert "uncorrelated columns" in _told(moments, tail), tail


@pytest.mark.parametrize("factors", [None, 0])
def test_the_moment_classifier_says_how_many_positives_are_lost(factors):
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(40, 2)) + 2])
    y = np.repeat([0, 1], [200, 40])
    machine = MomentClassifier(slack_penalty=0.01, factors=factors).fit(X, y)
    lost = int((machine.predict(X[200:]) == 0).sum())
    assert lost > 0
    assert machine.guarantee_.endswith(f"; {lost} of 40 positive points are rejected")
    far = np.vstack([X[:200], X[200:] + 10])
    held = MomentClassifier(slack_penalty=1e3, factors=factors).fit(far, y)
    assert (held.predict(far[200:]) == 1).all(), "points on the boundary belong to the region"
    assert "rejected" not in held.guarantee_


@pytest.mark.parametrize("tail", ["gaussian", "symmetric_unimodal"])
def test_the_moment_classifier_without_a_program_bounds_by_the_tail_that_was_given(tail):
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(20, 2)) + 3])
    y = np.repeat([0, 1], [200, 20])
    fast, program, plain = (
        MomentClassifier(tail=tail, solver="auto").fit(X, y),
        MomentClassifier(tail=tail, solver="CLARABEL").fit(X, y),
        MomentClassifier().fit(X, y),
    )
    assert fast.guarantee_.bound == pytest.approx(program.guarantee_.bound, rel=1e-5)
    assert fast.guarantee_.claim == program.guarantee_.claim
    assert fast.guarantee_.bound < plain.guarantee_.bound / 2


def _flat_classes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of two classes of which one has one point, one distinct point or a constant column."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 4))
    flat, other = rng.normal(size=(int(rng.integers(1, 12)), columns)), rng.normal(size=(9, columns)) + 2
    if seed % 2:
        flat = np.repeat(flat[:1], 12, axis=0)
    else:
        flat = np.column_stack([flat, np.full(len(flat), 0.1)])
        other = np.column_stack([other, rng.normal(size=len(other))])
    unit = 10.0 ** rng.integers(-8, 9)
    return (flat + 10.0 ** rng.integers(0, 5)) * unit, (other + 10.0 ** rng.integers(0, 5)) * unit


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("first", [True, False])
def test_no_more_of_a_flat_class_is_misclassified_than_is_guaranteed(first, solver):
    """Without variance along the normal a class lies on the optimal boundary, where rounding would decide."""
    for seed in range(60 if solver == "auto" else 12):
        samples = _flat_classes(seed)[:: 1 if first else -1]
        labels = np.repeat([0, 1], [len(samples[0]), len(samples[1])])
        machine = TwoClassMPM(ridge=0, solver=solver).fit(np.vstack(samples), labels)
        for k, points in enumerate(samples):
            missed = float(np.mean(machine.predict(points) != k))
            assert missed <= machine.guarantee_.bound, (seed, k, missed, machine.guarantee_)
