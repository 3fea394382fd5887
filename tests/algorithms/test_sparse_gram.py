"""Sparse rows give the kernels, Gram matrices and duals of the same rows written out, and are never written out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from convexnovelty import kernels
from convexnovelty.algorithms.block_dual import decision, kkt_violation, solve_dual
from convexnovelty.algorithms.gram import gram_of
from convexnovelty.distances import scale_gamma, squared_distances
from convexnovelty.errors import InputError

KERNELS = [
    kernels.linear(),
    kernels.gaussian(),
    kernels.gaussian(gamma=0.3),
    kernels.gaussian(gamma=1e6),
    kernels.polynomial(3, gamma="scale"),
    kernels.sigmoid(0.1),
]


def points(n: int = 60, p: int = 40, seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    X = sp.random_array(
        (n, p), density=0.1, format="lil", random_state=rng, data_sampler=lambda size: rng.normal(size=size)
    )
    X[3] = X[7]  # equal points
    X[5] = 0.0  # a row without entries
    return sp.csr_array(X)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_matrix, sp.csr_matrix])
def test_kernels_of_sparse_rows(kernel: kernels.Kernel, form: type) -> None:
    X, Z = form(points()), form(points(20, seed=1))
    dense, others = X.toarray(), Z.toarray()
    fitted = kernel.fitted(X)
    assert repr(fitted).split("=")[0] == repr(kernel.fitted(dense)).split("=")[0]
    for left, right in ((X, Z), (X, others), (dense, Z)):
        np.testing.assert_allclose(fitted(left, right), fitted(dense, others), rtol=1e-12, atol=1e-14)
    K = fitted(X)
    np.testing.assert_allclose(K, fitted(dense), rtol=1e-12, atol=1e-14)
    assert (K == K.T).all()
    np.testing.assert_allclose(fitted.diagonal(X), fitted.diagonal(dense), rtol=1e-14)


@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e100]))
def test_widths_of_sparse_rows(seed: int, scale: float) -> None:
    X = points(seed=seed) * scale
    weights = np.random.default_rng(seed).uniform(size=60)
    assert scale_gamma(X) == pytest.approx(scale_gamma(X.toarray()), rel=1e-10)
    assert scale_gamma(X, weights) == pytest.approx(scale_gamma(X.toarray(), weights), rel=1e-10)
    assert scale_gamma(sp.csr_array((3, 2))) == 1.0


@pytest.mark.parametrize("far", [1e5, 1e7, 1e9])
def test_a_width_of_weighted_sparse_rows_does_not_depend_on_where_they_lie(far: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-8, 8, size=(30, 3)) / 4.0  # exact as they are moved
    for weights in (rng.random(30) + 0.1, np.full(30, 0.1)):
        found = scale_gamma(sp.csr_array(X + far), weights)
        near = np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
        between = np.average(X, axis=0, weights=weights).var()
        assert found == pytest.approx(1 / (3 * (near.mean() + between)), rel=1e-6)


def test_near_points_far_away_keep_their_distance() -> None:
    X = sp.csr_array(np.array([[1e8, 0.0, 1.0], [1e8, 0.0, 1.5], [0.0, 0.0, 2.0]]))
    found = squared_distances(X, X)
    assert found[0, 1] == 0.25 and (found.diagonal() == 0).all()


@pytest.mark.parametrize("kernel", KERNELS[:5], ids=repr)
def test_gram_matrices_are_those_of_dense_rows(kernel: kernels.Kernel) -> None:
    X = points()
    fitted = kernel.fitted(X)
    sparse, dense = gram_of(X, fitted), gram_of(X.toarray(), fitted)
    chosen, weights = np.array([3, 7, 50, 5]), np.array([1.0, -2.0, 0.5, 3.0])
    results = []
    for gram in (sparse, dense, sparse.subset(np.arange(60))):
        out = np.zeros(gram.diagonal().size)
        gram.accumulate(out, chosen, weights)
        results.append(out[:60])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(results[2], results[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.block(chosen), dense.block(chosen), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.diagonal(), dense.diagonal(), rtol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS[:5], ids=repr)
@pytest.mark.parametrize("nu", [0.1, 0.7])
def test_duals_are_those_of_dense_rows(kernel: kernels.Kernel, nu: float) -> None:
    X = points(200)
    found = solve_dual(X, kernel, outlier_fraction=nu, tolerance=1e-8)
    expected = solve_dual(X.toarray(), kernel, outlier_fraction=nu, tolerance=1e-8)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert kkt_violation(X, found, 1 / (nu * 200)) < 1e-6
    Z = points(30, seed=2)
    ours = decision(X, found.kernel, found.multipliers, Z)
    np.testing.assert_allclose(ours, decision(X, found.kernel, found.multipliers, Z.toarray()), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        ours, decision(X.toarray(), found.kernel, found.multipliers, Z.toarray()), rtol=1e-9, atol=1e-13
    )


def test_kernels_without_a_sparse_form_say_so() -> None:
    for kernel in (kernels.laplacian(), kernels.from_callable(lambda X, Z: X @ Z.T), kernels.precomputed()):
        with pytest.raises(InputError, match=r"has no form for sparse rows; .* or pass points.toarray"):
            solve_dual(points(), kernel, outlier_fraction=0.5)


@pytest.mark.parametrize("kernel", [kernels.linear(), kernels.gaussian()], ids=repr)
def test_a_matrix_that_would_take_80_gigabytes_is_not_written_out(kernel: kernels.Kernel) -> None:
    rng = np.random.default_rng(0)
    n, p, stored = 200_000, 50_000, 10
    X = sp.csr_array(
        (rng.uniform(0.5, 1.5, n * stored), rng.integers(0, p, n * stored), np.arange(0, n * stored + 1, stored)),
        shape=(n, p),
    )
    tracemalloc.start()
    found = solve_dual(X, kernel, outlier_fraction=0.001, tolerance=1e-2)
    scores = decision(X, found.kernel, found.multipliers, X[:1000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6
    np.testing.assert_allclose(scores, found.scores[:1000], atol=1e-9)
