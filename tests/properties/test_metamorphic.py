"""What must not change an answer, what must change it by a known factor, and which answers are ordered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexnovelty as cn
from convexnovelty import tails, uncertainty
from convexnovelty.methods import one_class_svm, single_class_mpm, soft_ball
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid, NormBall, evaluate_deviation, evaluate_support

PROFILE = settings(derandomize=True, max_examples=6, deadline=None, database=None)

SEEDS = st.integers(0, 10**6)
SHARES = st.sampled_from([0.1, 0.3, 0.5, 0.9])


def _points(seed: int, n: int = 14, p: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.standard_normal((n, p)) * [1.0, 2.0, 0.5] + [3.0, 2.0, 1.0]


def _svm(X: np.ndarray, nu: float) -> float:
    return one_class_svm.sequential(cn.LinearFeatures(X), nu).objective


def _ball(X: np.ndarray, nu: float) -> float:
    return soft_ball.sequential(cn.LinearFeatures(X), nu).objective


def _mpm(X: np.ndarray, confidence: float = 0.3) -> float:
    return single_class_mpm.closed_form(cn.Moments.estimate(X), confidence, FrobeniusBall(0.01)).objective


def _rotation(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


@PROFILE
@given(SEEDS, SHARES)
def test_the_order_of_rows_and_columns_does_not_matter(seed: int, nu: float) -> None:
    X, random = _points(seed), np.random.default_rng(seed + 1)
    for made in (X[random.permutation(len(X))], X[:, random.permutation(3)]):
        assert _svm(made, nu) == pytest.approx(_svm(X, nu), rel=1e-7)
        assert _ball(made, nu) == pytest.approx(_ball(X, nu), rel=1e-7)
        assert _mpm(made) == pytest.approx(_mpm(X), rel=1e-7)


@PROFILE
@given(SEEDS, SHARES)
def test_a_rotation_changes_nothing_and_a_translation_no_ball(seed: int, nu: float) -> None:
    X, Q = _points(seed), _rotation(seed)
    assert _svm(X @ Q, nu) == pytest.approx(_svm(X, nu), rel=1e-7)
    assert _ball(X @ Q + [7.0, -3.0, 2.0], nu) == pytest.approx(_ball(X, nu), rel=1e-6)
    assert _mpm(X @ Q) == pytest.approx(_mpm(X), rel=1e-7)


@PROFILE
@given(SEEDS, SHARES, st.sampled_from([1e-6, 1e-2, 8.0, 1e5]))
def test_optima_scale_as_squares_of_the_unit(seed: int, nu: float, unit: float) -> None:
    X = _points(seed)
    assert _svm(unit * X, nu) == pytest.approx(unit**2 * _svm(X, nu), rel=1e-7)
    assert _ball(unit * X, nu) == pytest.approx(unit**2 * _ball(X, nu), rel=1e-7)


@PROFILE
@given(SEEDS, SHARES)
def test_a_sample_twice_is_the_sample(seed: int, nu: float) -> None:
    X = _points(seed)
    twice = np.vstack([X, X])
    assert _svm(twice, nu) == pytest.approx(_svm(X, nu), rel=1e-7)
    assert _ball(twice, nu) == pytest.approx(_ball(X, nu), rel=1e-7)
    assert _mpm(twice) == pytest.approx(_mpm(X), rel=1e-7)


@PROFILE
@given(SEEDS)
def test_a_point_inside_changes_no_hard_region(seed: int) -> None:
    X = _points(seed)
    more = np.vstack([X, X.mean(axis=0)])
    small = 1 / (2 * len(more))
    assert _ball(more, small) == pytest.approx(_ball(X, small), rel=1e-7)
    assert _svm(more, small) == pytest.approx(_svm(X, small), rel=1e-7)


@PROFILE
@given(SEEDS, st.lists(st.integers(0, 300).map(lambda k: k / 1000), min_size=2, max_size=4))
def test_a_larger_set_is_never_better(seed: int, radii: list[float]) -> None:
    moments = cn.Moments.estimate(_points(seed))
    found = [single_class_mpm.closed_form(moments, 0.3, FrobeniusBall(r)).objective for r in sorted(radii)]
    assert all(one <= other * (1 + 1e-12) for one, other in itertools.pairwise(found))


@PROFILE
@given(SEEDS, st.floats(0.0, 0.4), st.floats(0.0, 0.4))
def test_a_larger_confidence_never_lowers_the_optimum(seed: int, one: float, other: float) -> None:
    moments = cn.Moments.estimate(_points(seed))
    low, high = sorted((one, other))
    first, last = (single_class_mpm.closed_form(moments, c, FrobeniusBall(0.01)).objective for c in (low, high))
    assert first <= last * (1 + 1e-12)


@PROFILE
@given(st.floats(0.51, 0.999999))
def test_tails_are_ordered_by_what_they_know(confidence: float) -> None:
    kinds = tails.all_tails()
    gaussian, symmetric_unimodal, symmetric, unimodal, chebyshev = (
        kinds[name]().kappa(confidence)
        for name in ("gaussian", "symmetric_unimodal", "symmetric", "unimodal", "chebyshev")
    )
    assert gaussian <= symmetric_unimodal <= min(symmetric, unimodal)
    assert max(symmetric, unimodal) <= chebyshev


@settings(PROFILE, max_examples=1)
@given(SEEDS)
def test_a_radius_of_zero_is_no_set(seed: int) -> None:
    moments = cn.Moments.estimate(_points(seed))
    a = np.random.default_rng(seed).standard_normal(3)
    nominal = float(np.sqrt(a @ moments.covariance @ a))
    for kind in uncertainty.catalogue().values():
        example = kind.examples()[0]
        if kind.family == "covariance" and list(example.numbers()) == ["radius"] and example.nominal_at_zero:
            found = evaluate_deviation(example.replaced(radius=0.0).centred(moments), a)
            assert found == pytest.approx(nominal, rel=1e-6), kind.__name__


@settings(PROFILE, max_examples=2)
@given(SEEDS)
def test_the_algebra_has_its_neutral_elements(seed: int) -> None:
    w = np.random.default_rng(seed).standard_normal(3)
    ball = NormBall(1.5, 0.7)
    plain = evaluate_support(ball, w)
    assert evaluate_support(ball | ball, w) == pytest.approx(plain, rel=1e-6)
    assert evaluate_support(ball & ball, w) == pytest.approx(plain, rel=1e-5)
    assert evaluate_support(ball + np.zeros(3), w) == pytest.approx(plain, rel=1e-6)
    assert evaluate_support(ball + NormBall(2, 0.0), w) == pytest.approx(plain, rel=1e-6)
    assert evaluate_support(1.0 * ball, w) == pytest.approx(plain, rel=1e-6)


def test_the_dual_of_the_dual_is_the_program_itself() -> None:
    problem = cn.one_class_svm(cn.LinearFeatures(_points(0)), 0.5)
    value = problem.solve().objective
    assert problem.dual().dual().solve().objective == pytest.approx(value, rel=1e-6)


def test_means_that_do_not_move_are_no_set() -> None:
    moments = cn.Moments.estimate(_points(1))
    exact = single_class_mpm.closed_form(moments, 0.3, None).objective
    assert single_class_mpm.closed_form(moments, 0.3, MeanEllipsoid(0.0)).objective == pytest.approx(exact, rel=1e-9)
