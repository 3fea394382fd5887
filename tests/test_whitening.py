"""Whitened points and their kernels: dense, diagonal, low rank and sparse against plain linear algebra."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import kernels
from convexnovelty.errors import InputError
from convexnovelty.kernels import Kernel
from convexnovelty.moments import Moments
from convexnovelty.whitened_kernels import Whitened, whitened
from convexnovelty.whitening import Whitening


def moments_of(kind, p=6, seed=0):
    rng = np.random.default_rng(seed)
    mean, F, d = rng.standard_normal(p), rng.standard_normal((2, p)), rng.random(p) + 0.1
    return {
        "dense": lambda: Moments(mean, F.T @ F + np.diag(d)),
        "diagonal": lambda: Moments.diagonal(mean, d),
        "low rank": lambda: Moments.low_rank(mean, F, d),
        "factors": lambda: Moments.low_rank(mean, rng.standard_normal((p + 2, p))),
    }[kind]()


KINDS = ["dense", "diagonal", "low rank", "factors"]
KERNELS = [
    kernels.linear(),
    kernels.polynomial(3, 0.3, 1.0),
    kernels.gaussian(gamma=0.2),
    kernels.sigmoid(0.3, -0.2),
    kernels.laplacian(0.2),
    kernels.gaussian(),
]


def points(seed=1, n=7, p=6):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, p)) < 0.5, rng.standard_normal((n, p)), 0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_inner_products_distances_and_solutions(kind, form):
    moments, X, Z = moments_of(kind), points(1), points(2, 5)
    W, inverse = Whitening(moments), np.linalg.inv(moments.covariance)
    expected = (X - moments.mean) @ inverse @ (Z - moments.mean).T
    assert W.inner(form(X), form(Z)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert W.inner(form(X)) == pytest.approx((X - moments.mean) @ inverse @ (X - moments.mean).T, rel=1e-9, abs=1e-9)
    assert W.coordinates(form(X)) @ W.coordinates(Z).T == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert W.squared_norms(form(X)) == pytest.approx(np.diag(W.inner(X)), rel=1e-9)
    away = X[:, None, :] - Z[None, :, :]
    assert W.squared_distances(form(X), form(Z)) == pytest.approx(
        np.einsum("ijk,kl,ijl->ij", away, inverse, away), rel=1e-8, abs=1e-9
    )
    assert W.solve(Z.T) == pytest.approx(inverse @ Z.T, rel=1e-8, abs=1e-9)
    assert W.solve(Z[0]) == pytest.approx(inverse @ Z[0], rel=1e-8, abs=1e-9)
    assert not W.outside(form(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("far", [1e5, 1e8])
def test_sparse_points_far_from_the_origin_keep_the_digits_of_their_differences(kind, far):
    near = moments_of(kind)
    mean = np.round(near.mean * 4) / 4  # sums with ``far`` are exact
    shift = np.array([far, 0.0, -far, 0.0, far, 0.0])
    if kind == "dense":
        low, high = (Moments(m, near.covariance) for m in (mean, mean + shift))
    else:
        low, high = (Moments.low_rank(m, near.loadings, near.specific_variances) for m in (mean, mean + shift))
    X, Z = (np.round(points(seed) * 4) / 4 for seed in (1, 2))
    Z[0] = X[0] + [0.0, 0.0, 0.25, 0.0, 0.0, 0.0]
    W, V = Whitening(low), Whitening(high)
    left, right = sp.csr_array(X + shift), sp.csr_array(Z + shift)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(V.inner(left, right), W.inner(X, Z), **close)
    np.testing.assert_allclose(V.inner(left), W.inner(X), **close)
    np.testing.assert_allclose(V.coordinates(left), W.coordinates(X), **close)
    np.testing.assert_allclose(V.squared_norms(left), W.squared_norms(X), **close)
    np.testing.assert_allclose(V.squared_distances(left, right), W.squared_distances(X, Z), **close)
    np.testing.assert_allclose(V.squared_distances(left, Z + shift), W.squared_distances(X, Z), **close)


def test_sparse_points_far_from_their_mean_keep_their_distances():
    moments = Moments.low_rank([0.0, 0.0, 0.0], [[1.0, 1.0, 0.0]], [1.0, 1.0, 1.0])
    X = np.array([[1e8, 0.0, 1.0], [1e8, 0.0, 1.5], [0.0, 0.0, 2.0]])
    found = Whitening(moments).squared_distances(sp.csr_array(X))
    assert found[0, 1] == 0.25 and (found.diagonal() == 0).all()


def test_a_constant_column_far_from_the_origin_has_no_outside_of_rounding():
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 1] = 1e8 + 0.25
    moments = Moments.estimate(sp.csr_array(X))
    assert not Whitening(moments).outside(sp.csr_array(X))
    X[3, 1] += 0.25
    assert Whitening(moments).outside(sp.csr_array(X))


def test_distances_of_near_points_keep_their_digits():
    moments = moments_of("low rank")
    x = 1e3 * np.ones((1, 6))
    z = x + 1e-5
    away = z - x
    expected = float((away @ np.linalg.solve(moments.covariance, away.T))[0, 0])
    for kind in ("low rank", "dense"):
        same = moments if kind == "low rank" else Moments(moments.mean, moments.covariance)
        assert Whitening(same).squared_distances(x, z)[0, 0] == pytest.approx(expected, rel=1e-4)


def test_a_singular_covariance_counts_on_its_range():
    S = np.diag([4.0, 0.0, 1.0])
    W = Whitening(Moments([0.0, 5.0, 0.0], S))
    assert W.rank == 2
    assert not W.outside(np.array([[2.0, 5.0, 3.0]]))
    assert W.outside(np.array([[2.0, 5.0, 3.0], [2.0, 6.0, 3.0]]))
    assert W.outside(sp.csr_array([[2.0, 6.0, 3.0]]))
    assert W.inner(np.array([[2.0, 5.0, 3.0]])) == pytest.approx(np.array([[10.0]]))
    X = np.array([[2.0, 6.0, 3.0], [1.0, 5.0, 0.0]])
    axes, inverse = W.axes(X)
    assert axes.shape == (3, 3)
    assert inverse @ axes == pytest.approx(np.eye(3), abs=1e-12)
    assert axes.T @ S @ axes == pytest.approx(np.diag([1.0, 1.0, 0.0]), abs=1e-12)
    assert (X - W.moments.mean) @ axes[:, 2] != pytest.approx(np.zeros(2))


def test_columns_are_counted():
    with pytest.raises(InputError, match="X: 5 columns were found where 6 are needed"):
        Whitening(moments_of("dense")).inner(np.zeros((2, 5)))
    with pytest.raises(InputError, match="moments: ndarray"):
        Whitening(np.eye(2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_whitened_kernel_is_the_kernel_of_whitened_points(kind, kernel):
    moments, X, Z = moments_of(kind), points(1), points(2, 5)
    W = Whitening(moments)
    customised = whitened(kernel, moments).fitted(X)
    base = kernel.fitted(W.coordinates(X))
    assert customised(X, Z) == pytest.approx(base(W.coordinates(X), W.coordinates(Z)), rel=1e-8, abs=1e-10)
    K = customised(X)
    assert np.array_equal(K, K.T)
    assert customised.diagonal(X) == pytest.approx(np.diag(K), rel=1e-10)
    assert customised.semidefinite == kernel.semidefinite
    assert customised.fitted(Z) == customised
    assert Kernel.from_recipe(json.loads(json.dumps(customised.recipe()))) == customised
    again = pickle.loads(pickle.dumps(customised))
    assert again == customised
    assert hash(again) == hash(customised)
    assert again(X) == pytest.approx(K)


def test_another_process_knows_the_recipe():
    recipe = whitened(kernels.gaussian(gamma=0.5), moments_of("diagonal", p=2)).recipe()
    code = f"from convexnovelty.kernels import Kernel\nprint(Kernel.from_recipe({recipe!r}).name)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "whitened", run.stderr


def test_a_whitened_kernel_needs_moments():
    for make in (lambda: Whitened(), lambda: Whitened(kernels.linear()), lambda: whitened("gaussian", None)):
        with pytest.raises(InputError, match="moments: None was found"):
            make()
    with pytest.raises(InputError, match="missing"):
        Whitened(kernels.linear(), {"mean": [0.0]})
    with pytest.raises(InputError, match="kernel: 'none'"):
        whitened("none", moments_of("dense"))
