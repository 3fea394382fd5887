"""Sparse points and weights in the estimators: the same results as dense rows and as repeated rows, or a refusal."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import estimators, kernels, persistence
from convexnovelty.errors import InputError
from convexnovelty.estimators import OneClassSVM, SingleClassMPM, SoftBall, TwoClassMPM

RNG = np.random.default_rng(4)
X = sp.random_array(
    (150, 30), density=0.2, format="csr", random_state=RNG, data_sampler=lambda size: RNG.uniform(0.5, 2, size)
)
Y = np.repeat([0, 1], 75)
Z = sp.random_array(
    (20, 30), density=0.2, format="csr", random_state=RNG, data_sampler=lambda size: RNG.uniform(0.5, 2, size)
)

TAKEN: list[Any] = [
    *(kind(0.2, kernel=kernel) for kind in (OneClassSVM, SoftBall) for kernel in ("linear", "gaussian", "poly")),
    OneClassSVM(0.2, kernel=kernels.gaussian(width=3.0)),
    OneClassSVM(0.2, false_alarm_rate=0.1, random_state=0),
    SingleClassMPM(0.3, kernel="linear"),
    TwoClassMPM(),
]


@pytest.mark.parametrize("estimator", TAKEN, ids=repr)
def test_sparse_points_give_what_dense_ones_give(estimator: Any) -> None:
    dense = estimator.fit(X.toarray(), Y).decision_function(Z.toarray())
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        fitted = estimator.fit(form(X), Y)
        scale = np.abs(dense).max()
        np.testing.assert_allclose(fitted.decision_function(form(Z)), dense, rtol=1e-6, atol=1e-5 * scale)
        np.testing.assert_allclose(fitted.decision_function(Z.toarray()), dense, rtol=1e-6, atol=1e-5 * scale)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.decision_function(Z) == fitted.decision_function(Z)).all()


@pytest.mark.parametrize("estimator", TAKEN[:2] + TAKEN[-2:], ids=repr)
def test_models_of_sparse_points_are_saved(estimator: Any, tmp_path: Any) -> None:
    fitted = estimator.fit(X, Y)
    persistence.save(fitted, tmp_path / "m.npz")
    again = persistence.load(tmp_path / "m.npz")
    assert (again.decision_function(Z) == fitted.decision_function(Z)).all()


REFUSED: list[Any] = [
    OneClassSVM(kernel="laplacian"),
    OneClassSVM(rank=5),
    OneClassSVM(solver="CLARABEL"),
    SingleClassMPM(),
    TwoClassMPM(kernel="gaussian"),
    estimators.MahalanobisSVM(),
    estimators.KernelLearningSVM(),
    estimators.SemiSupervisedDetector(),
]


@pytest.mark.parametrize("estimator", REFUSED, ids=repr)
def test_what_would_write_sparse_points_out_refuses_them(estimator: Any) -> None:
    assert not estimator.__sklearn_tags__().input_tags.sparse
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        estimator.fit(X, Y)


@pytest.mark.parametrize("estimator", [SingleClassMPM(kernel="linear"), TwoClassMPM()], ids=repr)
def test_covariances_that_are_too_large_are_refused(estimator: Any) -> None:
    wide = sp.csr_array((np.ones(20), (np.arange(20), np.arange(20))), shape=(20, 50_000))
    with pytest.raises(
        InputError, match=r"50000 sparse columns were found, whose covariance is dense and takes 20.0 GB"
    ):
        estimator.fit(wide, np.repeat([0, 1], 10))


WEIGHTED: list[Any] = [
    OneClassSVM(0.2),
    OneClassSVM(0.2, kernel="linear"),
    SoftBall(0.3),
    SingleClassMPM(0.3),
    SingleClassMPM(0.3, kernel="linear"),
    TwoClassMPM(),
    TwoClassMPM(kernel="gaussian", ridge=0.01),
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("estimator", WEIGHTED, ids=repr)
def test_whole_weights_are_repetitions(estimator: Any, sparse: bool) -> None:
    if sparse and not estimator.__sklearn_tags__().input_tags.sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            estimator.fit(X, Y)
        return
    weights = np.random.default_rng(0).integers(0, 4, 150)
    rows = X if sparse else X.toarray()
    weighted = estimator.fit(rows, Y, sample_weight=weights).decision_function(Z.toarray())
    repeated = estimator.fit(rows[np.repeat(np.arange(150), weights)], np.repeat(Y, weights))
    expected = repeated.decision_function(Z.toarray())
    np.testing.assert_allclose(weighted, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_no_other_estimator_takes_weights() -> None:
    from sklearn.utils.validation import has_fit_parameter

    taking = {name for name in estimators.__all__ if has_fit_parameter(getattr(estimators, name)(), "sample_weight")}
    assert taking == {type(estimator).__name__ for estimator in WEIGHTED}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        *(kind(0.2, kernel=kernel) for kind in (OneClassSVM, SoftBall) for kernel in ("linear", "gaussian", "poly")),
        OneClassSVM(0.2, kernel="laplacian"),
        SingleClassMPM(0.3, kernel="linear"),
        SingleClassMPM(0.3),
        TwoClassMPM(),
        TwoClassMPM(kernel="gaussian"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_count_by_their_shares_whatever_their_size(estimator: Any, sparse: bool) -> None:
    """A power of two changes no share: not a bit of the model may follow it, where sums of the weights overflow either."""
    if sparse and not estimator.__sklearn_tags__().input_tags.sparse:
        pytest.skip("it takes dense points")
    points = X if sparse else X.toarray()
    weights = np.random.default_rng(5).integers(1, 4, 150).astype(float)
    expected = estimator.fit(points, Y, sample_weight=weights)
    values, said = expected.decision_function(points), str(expected.guarantee_)
    for exponent in (1018, 600, -900, -1074):
        fitted = estimator.fit(points, Y, sample_weight=np.ldexp(weights, exponent))
        np.testing.assert_array_equal(fitted.decision_function(points), values)
        assert str(fitted.guarantee_) == said
