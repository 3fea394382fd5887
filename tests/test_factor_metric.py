"""Low rank plus a diagonal where parts of the diagonal are tiny or zero, against fifty digits and against fewer columns."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import factor_metric, streams
from convexnovelty.errors import InputError
from convexnovelty.estimators import SingleClassMPM
from convexnovelty.factor_model import factor_model
from convexnovelty.moments import Moments
from convexnovelty.whitening import Whitening

F = np.array([[2.0, 1.0, 0.0, 1.0], [0.0, 3.0, 1.0, -1.0], [1.0, 0.0, 2.0, 1.0]])
MEAN = np.array([3.0, 2.0, 4.0, 1.0])


def exact_products(loadings: Any, d: Any, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """x'S^-1 z of rows of shape (n, p), and S^-1 of the first one, with fifty digits."""
    with mpmath.workdps(50):
        wide = mpmath.matrix(np.asarray(loadings).tolist())
        S = wide.T * wide + mpmath.diag([mpmath.mpf(float(value)) for value in d])
        solved = [mpmath.lu_solve(S, mpmath.matrix(row.tolist())) for row in rows]
        products = [[float((mpmath.matrix(row.tolist()).T * x)[0]) for row in rows] for x in solved]
        return np.array(products), np.array([float(value) for value in solved[0]])


@pytest.mark.parametrize("small", [1e-8, 1e-12, 1e-14, 1e-15, 1e-16, 1e-17, 1e-40, 0.0])
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_column_with_nearly_nothing_of_its_own_costs_no_digits(small: float, unit: float) -> None:
    """The covariance has condition 37 whatever the smallest entry of the diagonal is."""
    units = np.array([unit, 1.0, 1 / unit, 1.0])
    d = np.array([small, 0.5, 0.5, 0.5]) * units**2
    moments = Moments.low_rank(MEAN * units, F * units, d)
    products, x = exact_products(F * units, d, (MEAN * units)[None, :])
    np.testing.assert_allclose(moments.solve(MEAN * units), x, rtol=1e-13)
    assert moments.null_direction(MEAN * units) is None
    assert len(moments.factor) == Whitening(moments).rank == 4
    # Equation 13 of the minimax machine: 1 / (m'S^-1 m)^(1/2) at confidence 0, less kappa.
    machine = SingleClassMPM(0.3, kernel="linear", ridge=0).fit(moments)
    assert machine.objective_ == pytest.approx(1 / (products[0, 0] ** 0.5 - (3 / 7) ** 0.5), rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_products_in_the_metric_lose_no_more_than_the_factor(seed: int, form: Any) -> None:
    rng = np.random.default_rng(seed)
    p, r = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    units = 10.0 ** rng.uniform(-6, 6, p)
    loadings = rng.normal(size=(r, p)) * units
    d = 10.0 ** rng.uniform(-16, 0, p) * units**2
    if seed % 3 == 0:
        d[rng.integers(p)] = 0.0
    m = rng.normal(size=p) * units
    moments = Moments.low_rank(m, loadings, d)
    rows = np.vstack([loadings, np.diag(np.sqrt(d))]) / np.sqrt(moments.variances)
    sigma = np.linalg.svd(rows, compute_uv=False)[:p]
    X = m + rng.normal(size=(4, r)) @ loadings + rng.normal(size=(4, p)) * np.sqrt(d)
    W = Whitening(moments)
    if p > len(loadings) + np.count_nonzero(d):
        assert W.rank == len(moments.factor) < p and not W.outside(form(X))
        return
    products, _ = exact_products(loadings, d, X - m)
    distances = products.diagonal()[:, None] + products.diagonal() - 2 * products
    # Where Woodbury's identity is used it may lose four digits, and a factor the root of the condition number.
    close: dict[str, Any] = {"rtol": 0, "atol": max(2e-12, 1e-14 * sigma[0] / sigma[-1]) * products.max()}
    np.testing.assert_allclose(W.inner(form(X)), products, **close)
    np.testing.assert_allclose(W.inner(form(X), X), products, **close)
    np.testing.assert_allclose(W.coordinates(form(X)) @ W.coordinates(X).T, products, **close)
    np.testing.assert_allclose(W.squared_norms(form(X)), products.diagonal(), **close)
    np.testing.assert_allclose(W.squared_distances(form(X)), distances, **close)
    np.testing.assert_allclose((X - m) @ W.solve((X - m).T), products, **close)
    assert (X[0] - m) @ moments.solve(X[0] - m) == pytest.approx(products[0, 0], abs=close["atol"])
    scaled = (moments.factor.T @ moments.factor - moments.covariance) / np.sqrt(moments.variances)
    np.testing.assert_allclose(scaled / np.sqrt(moments.variances)[:, None], 0, atol=1e-14)
    assert len(moments.factor) == W.rank == p


def sum_column(seed: int, n: int = 25) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3)) + np.array([3.0, 2.0, 1.0])
    return np.column_stack([X, X[:, 0] + X[:, 1]])


REDUCED = {
    "dense": lambda X: Moments.estimate(X, rank=3),
    "sparse": lambda X: Moments.estimate(sp.csr_array(X), rank=3),
    "wide sparse": lambda X: Moments.estimate(sp.csr_array(X[:4]), rank=3),
    "stream": lambda X: streams.moments_of([X[:12], X[12:]], rank=3),
    "truncated": lambda X: Moments.estimate(X, representation="low_rank").truncated(3),
    "factor model": lambda X: factor_model(X, 3),
    "factor model, sparse": lambda X: factor_model(sp.csr_array(X), 3),
    "factor model of moments": lambda X: factor_model(Moments.estimate(X, representation="low_rank"), 3),
}


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("seed", range(6))
def test_as_many_factors_as_the_covariance_has_rank_leave_no_variance_to_rounding(name: str, seed: int) -> None:
    X = sum_column(seed)
    moments = REDUCED[name](X)
    rows = X[:4] if name == "wide sparse" else X
    assert moments.specific_variances.max() == 0
    assert len(moments.factor) == Whitening(moments).rank == 3
    v = moments.multiply(np.ones(4))
    np.testing.assert_allclose(moments.multiply(moments.solve(v)), v, rtol=1e-12)
    # The shortest solution is orthogonal to (1, 1, 0, -1), along which the points do not vary.
    assert abs(moments.solve(v) @ [1.0, 1.0, 0.0, -1.0]) <= 1e-12 * np.abs(moments.solve(v)).max()
    step = np.array([0.0, 0.0, 0.0, 1.0])
    away = moments.null_direction(moments.mean + step)
    assert away is not None and np.abs(away / away[0] - [1.0, 1.0, 0.0, -1.0]).max() < 1e-7
    assert Whitening(moments).outside(rows + step) and not Whitening(moments).outside(rows)
    # The fourth column adds nothing: the machine of the first three columns.
    expected = SingleClassMPM(0.2, kernel="linear", ridge=0).fit(Moments.estimate(rows[:, :3])).objective_
    assert SingleClassMPM(0.2, kernel="linear", ridge=0).fit(moments).objective_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_bound_stays_one_for_columns_that_rounding_of_the_others_hides(form: Any) -> None:
    """Two factors hold all but a column that is smaller than what rounding makes of the largest."""
    X = np.random.default_rng(3).normal(size=(30, 3)) * [1.0, 1.0, 1e-18]
    moments = Moments.estimate(form(X), rank=2)
    assert moments.variances[2] >= X[:, 2].var() * (1 - 1e-9)


def test_directions_without_variance_lie_beside_columns_with_some_of_their_own() -> None:
    """Columns 0 and 1 are one factor in two units, column 2 is constant, and 3 and 4 have variances of their own."""
    loadings = np.array([[1.0, 2.0, 0.0, 1.0, 0.5]])
    moments = Moments.low_rank(np.zeros(5), loadings, [0.0, 0.0, 0.0, 0.5, 2.0])
    W = Whitening(moments)
    assert W.rank == len(moments.factor) == 3 and W.structured
    for form in (np.asarray, sp.csr_array):
        X = np.array([[1.0, 2.0, 0.0, -3.0, 5.0]])
        assert not W.outside(form(X))
        # Column 0 tells the factor, so that the others are left with what is their own: 1 + 4^2 / 0.5 + 4.5^2 / 2.
        assert W.squared_norms(form(X)) == pytest.approx([43.125], rel=1e-13)
        assert W.outside(form(X + 1e-3 * np.eye(5)[[1]])) and W.outside(form(X + 1e-9 * np.eye(5)[[2]]))
    v = moments.multiply([1.0, -1.0, 3.0, 2.0, 1.0])
    np.testing.assert_allclose(moments.solve(v), np.linalg.pinv(moments.covariance) @ v, atol=1e-12)
    with pytest.raises(InputError, match="column 2 of v is 1 along a direction without variance"):
        moments.solve([0.0, 0.0, 1.0, 0.0, 0.0])
    a = moments.null_direction([0.0, 1.0, 0.0, 0.0, 0.0])
    assert a is not None and np.abs(moments.multiply(a)).max() <= 1e-15 and a[1] > 0


def test_more_columns_than_can_be_taken_apart_keep_what_the_identity_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    loadings, v = rng.normal(size=(2, 6)), rng.normal(size=6)
    monkeypatch.setattr(factor_metric, "LARGEST", 2)
    d = np.array([1e-14, 1e-6, 1e-13, 1e-5, 1e-6, 1.0])
    v = Moments.low_rank(v, loadings, d).multiply(rng.normal(size=6))
    products, _ = exact_products(loadings, d, v[None, :])
    assert v @ Moments.low_rank(v, loadings, d).solve(v) == pytest.approx(products[0, 0], rel=1e-8)
    d[1] = 1e-15
    with pytest.raises(
        InputError, match=r"covariance: 3 columns .* less than the share 1e-12 is their own, where 2 can"
    ):
        Moments.low_rank(v, loadings, d).solve(v)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("options", [{"rank": 3}, {"representation": "low_rank"}], ids=str)
def test_the_spread_that_rounding_of_a_far_mean_makes_is_none(options: Any, form: Any, seed: int, far: float) -> None:
    """The sum of two columns is known to the last digit of its mean, and no direction gets a variance from that."""
    X = sum_column(seed)[:, :3] + np.array([far, far, 0.0])
    moments = Moments.estimate(form(np.column_stack([X, X[:, 0] + X[:, 1]])), **options)
    expected = SingleClassMPM(0.2, kernel="linear", ridge=0).fit(Moments.estimate(X)).objective_
    found = SingleClassMPM(0.2, kernel="linear", ridge=0).fit(moments).objective_
    assert found == pytest.approx(expected, rel=1e-13 * far)


@pytest.mark.parametrize("shape", [(40, 4), (4, 40), (700, 600)])
@pytest.mark.parametrize("options", [{"rank": 3}, {"representation": "low_rank"}], ids=str)
def test_small_factors_of_sparse_points_are_those_of_dense_ones(options: Any, shape: tuple[int, int]) -> None:
    """Deviations from 1 to 1e-7 along axes that are not the columns': squares of the last ones are rounding of the first."""
    n, p = shape
    rng = np.random.default_rng(2)
    axes = np.linalg.qr(rng.normal(size=(p, 4)))[0].T * np.array([1.0, 1e-3, 1e-6, 1e-7])[:, None]
    X = rng.normal(size=(n, 4)) @ axes
    sparse, dense = (Moments.estimate(form(X), **options) for form in (sp.csr_array, np.asarray))
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:4] / n**0.5
    kept = min(4, n - 1, len(sparse.loadings))
    found = np.linalg.svd(sparse.loadings, compute_uv=False)[:kept]
    np.testing.assert_allclose(found, values[:kept], rtol=1e-6)
    np.testing.assert_allclose(sparse.specific_variances, dense.specific_variances, rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("options", [{"rank": 1}, {"representation": "low_rank"}], ids=str)
def test_points_that_do_not_vary_have_no_factor(options: Any, form: Any) -> None:
    moments = Moments.estimate(form(np.full((5, 2), 3.0)), **options)
    assert moments.loadings.shape == (0, 2) and not moments.variances.any() and Whitening(moments).rank == 0
