"""The moment classifier where the negatives hardly vary, or do not vary, in some directions: against programs written out."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.errors import InputError
from convexnovelty.estimators import MomentClassifier
from convexnovelty.methods import moment_classifier as module

FORMS = [np.asarray, sp.csr_array]


def dual_value(moments: cn.Moments, positives: np.ndarray, price: float) -> float:
    """max sum beta - ||sum beta_i D_i||^2 / 4 over 0 <= beta <= price, D the whitened points by a singular value
    decomposition of factors and diagonal together."""
    rows = np.vstack([moments.loadings, np.diag(np.sqrt(moments.specific_variances))])
    _, sigma, axes = np.linalg.svd(rows, full_matrices=False)
    D = (positives - moments.mean) @ axes.T / sigma
    beta = cp.Variable(len(D), nonneg=True)
    program = cp.Problem(cp.Maximize(cp.sum(beta) - cp.sum_squares(D.T @ beta) / 4), [beta <= price])
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    return float(program.solve("CLARABEL", **tight))


def two_classes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(25, 3)), rng.normal(size=(20, 3)) + np.array([1.0, 1.0, 2.0])])
    return X, np.repeat([0, 1], [25, 20])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [2, 6, 7, 8, 12, 14])
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_a_column_that_is_the_sum_of_two_others_changes_nothing(form: Any, seed: int, solver: str) -> None:
    X, y = two_classes(seed)
    wide = np.column_stack([X, X[:, 0] + X[:, 1]])
    true = dual_value(cn.Moments.estimate(X[y == 0], representation="low_rank"), X[y == 1], 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = MomentClassifier(factors=3, solver=solver).fit(form(wide), y)
    assert machine.objective_ == pytest.approx(true, rel=1e-7)
    scores = wide @ machine.score_.normal
    kappa = (machine.offset_ - scores[y == 0].mean()) / scores[y == 0].std()
    assert machine.guarantee_.bound == pytest.approx(1 / (1 + kappa**2), rel=1e-6)
    assert machine.predict(form(wide[y == 0])).mean() <= machine.guarantee_.bound


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_one_hot_columns_are_those_without_the_first_one(form: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.eye(4)[rng.integers(0, 4, 60)], rng.normal(size=(60, 2))])
    y = (rng.random(60) < 0.3).astype(int)
    X[y == 1, 4:] += 2
    machine = MomentClassifier(factors=5).fit(form(X), y)
    true = dual_value(cn.Moments.estimate(X[y == 0, 1:], representation="low_rank"), X[y == 1, 1:], 0.1)
    assert machine.objective_ == pytest.approx(true, rel=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("factors", [1, 2, 3])
@pytest.mark.parametrize("exponents", [(0, -5, -5.5, -5.5), (0, -2, -5.9, -6), (0, -1, -3, -5.9)], ids=str)
def test_factors_keep_their_digits_at_condition_numbers_of_1e12(form: Any, factors: int, exponents: Any) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        axes = 10.0 ** np.array(exponents)[:, None] * np.linalg.qr(rng.normal(size=(4, 4)))[0]
        N = rng.normal(size=(40, 4)) @ axes
        P = N.mean(axis=0) + (rng.normal(size=(12, 4)) + 2 * rng.normal(size=4)) @ axes
        X, y = np.vstack([N, P]), np.repeat([0, 1], [40, 12])
        machine = MomentClassifier(slack_penalty=1.0, factors=factors).fit(form(X), y)
        assert machine.objective_ == pytest.approx(dual_value(cn.Moments.estimate(N, rank=factors), P, 1.0), rel=1e-8)


def few_negatives() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three of each class in thirty columns, and a normal along which no negative varies and each positive lies at one."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6, 30)) + 0.5, np.repeat([0, 1], 3)
    mean = X[:3].mean(axis=0)
    a = np.linalg.lstsq(X - mean, np.repeat([0.0, 1.0], 3), rcond=None)[0]
    assert (X[:3] @ a).var() < 1e-28 and np.allclose((X[3:] - mean) @ a, 1)
    return X, y, mean


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{"factors": 2}, {"ridge": 0}], ids=str)
def test_fewer_negatives_than_columns_are_told_for_certain(options: Any, form: Any, solver: str) -> None:
    X, y, mean = few_negatives()
    machine = MomentClassifier(**options, solver=solver).fit(form(X), y)
    assert machine.objective_ < 1e-12 and machine.guarantee_.bound < 1e-12
    assert machine.predict(X).tolist() == y.tolist()
    given = cn.Moments.low_rank(mean, (X[:3] - mean) / np.sqrt(3))
    machine = MomentClassifier(ridge=0, solver=solver).fit(form(X[3:]), negative_moments=given)
    assert machine.objective_ < 1e-12 and (machine.predict(X) == y).all()


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("factors", [None, 0])
@pytest.mark.parametrize("level", [0.0, 1.0, 1e6])
def test_a_constant_column_of_the_negatives_tells_positives_for_certain(
    level: float, factors: int | None, form: Any, solver: str
) -> None:
    X, y, _ = few_negatives()
    X[:3, 0] = level
    X[3:, 0] += level
    machine = MomentClassifier(factors=factors, ridge=0, solver=solver).fit(form(X), y)
    # w = e_0 / (x_0 - level) up to signs: each positive differs there, and slacks cost nothing in columns that vary.
    assert machine.objective_ < 1e-8 and machine.guarantee_.bound < 1e-8
    assert machine.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", FORMS)
def test_no_unit_of_a_constant_column_hides_what_differs_in_it(unit: float, form: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    X[:, 2] = unit * (5 + y)
    machine = MomentClassifier(ridge=0).fit(form(X), y)
    assert machine.objective_ < 1e-8 and (machine.predict(X) == y).all()


@pytest.mark.parametrize("node", ["coordinate_descent", "nu_machine", "dual"])
def test_nodes_that_need_whitened_points_refuse_those_that_have_none(node: str) -> None:
    X, _, mean = few_negatives()
    moments = cn.Moments.low_rank(mean, (X[:3] - mean) / np.sqrt(3))
    with pytest.raises(InputError, match=r"negative_moments: the covariance is singular and some .* add a ridge"):
        getattr(module, node)(X[3:], moments, 0.1)


@pytest.mark.parametrize("form", FORMS)
def test_slacks_so_dear_that_coordinates_creep_are_left_to_the_program(form: Any) -> None:
    rng = np.random.default_rng(1)
    N, P = rng.normal(size=(40, 4)), rng.normal(size=(30, 4)) * 1.5 + 0.4
    moments = cn.Moments.estimate(N)
    machine = MomentClassifier(slack_penalty=1e4, ridge=0).fit(form(P), negative_moments=moments)
    assert machine.objective_ == pytest.approx(dual_value(moments, P, 1e4), rel=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("factors", [0, 1, 2])
def test_a_ridge_is_added_beside_factors_too(form: Any, factors: int) -> None:
    X, y = two_classes(0)
    model = cn.Moments.estimate(X[y == 0], rank=factors or 1)
    if factors == 0:
        model = cn.Moments.diagonal(model.mean, X[y == 0].var(axis=0))
    for ridge in (0.0, 0.01, 1.0):
        d = model.specific_variances + ridge * (model.variances.sum() + model.mean @ model.mean)
        true = dual_value(cn.Moments.low_rank(model.mean, model.loadings, d), X[y == 1], 0.1)
        found = MomentClassifier(factors=factors, ridge=ridge).fit(form(X), y).objective_
        assert found == pytest.approx(true, rel=1e-8)
        if ridge == 0 and factors:
            assert MomentClassifier(factors=factors).fit(form(X), y).objective_ == found
