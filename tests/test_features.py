"""Feature maps: coordinates reproduce the kernel, in every degenerate case, and bad matrices are refused."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm

from convexnovelty import datasets, estimators, kernel_learning, kernels, negative_data, one_class_svm
from convexnovelty.algorithms.smo import smo
from convexnovelty.cholesky import full_cholesky, partial_cholesky
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.features import Coordinates, FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.kernel_family import KernelFamily

SAMPLES = {
    "blob": datasets.blob(n=40).nominal,
    "duplicates": datasets.duplicates(n=30).nominal,
    "wide": datasets.wide().nominal,
    "one row": np.array([[1.0, -2.0]]),
    "all equal": np.full((5, 2), 3.0),
    "one column": np.arange(1.0, 9.0)[:, None],
    "integers": np.array([[1, -2], [0, 3], [2, 2]], dtype=np.int8),
    "ill conditioned": np.linspace(0.0, 1.0, 120)[:, None],
    "large unit": 1e8 * datasets.blob(n=20).nominal,
    "small unit": 1e-8 * datasets.blob(n=20).nominal,
}
KERNELS = [None, kernels.gaussian(), kernels.gaussian(gamma=3.0), kernels.polynomial(2, "scale"), kernels.laplacian()]


def maps(X: np.ndarray) -> list[FeatureMap]:
    return [LinearFeatures(X), *(KernelFeatures(X, kernel) for kernel in KERNELS)]


@pytest.mark.parametrize("sample", SAMPLES)
def test_laws(sample: str, rng: np.random.Generator) -> None:
    X = SAMPLES[sample]
    Z = np.asarray(X[: min(4, len(X))] + X.std() * rng.normal(size=(min(4, len(X)), X.shape[1])), dtype=float)
    for features in maps(X):
        C, scale = np.asarray(features.training), features.unit**2
        assert C.shape == (features.n, features.dimension)
        assert np.abs(C @ C.T - features.gram).max() <= 1e-12 * np.abs(features.gram).max()
        assert np.array_equal(features.gram, features.gram.T)
        again = features.coordinates(features.points)
        assert np.abs(np.asarray(again) - C).max() <= 1e-10 * features.unit
        for i in (0, features.n - 1):
            assert np.allclose(features.coordinates(features.points[i : i + 1]), C[i], atol=1e-10 * features.unit)
        coordinates = features.coordinates(Z)
        cross = features.cross_gram(Z)
        assert cross.shape == (len(Z), features.n)
        assert np.allclose(
            np.asarray(coordinates) @ C.T, cross, rtol=0, atol=1e-6 * scale + 1e-12 * np.abs(cross).max()
        )
        assert np.array_equal(coordinates.squared_norms, features.squared_norms(Z))
        assert np.allclose(features.squared_norms(), np.diag(features.gram), rtol=1e-13)
        outside = features.squared_norms(Z) - (np.asarray(coordinates) ** 2).sum(axis=1)
        assert outside.min() >= -1e-9 * max(scale, np.abs(features.squared_norms(Z)).max())
        assert features.unit == pytest.approx(np.sqrt(np.mean(np.diag(features.gram))), rel=1e-12)


def test_coordinates_agree_with_another_basis_of_the_span(rng: np.random.Generator) -> None:
    """The symmetric square root of K gives the same points up to a rotation, hence the same inner products."""
    X, Z = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    features = KernelFeatures(X, kernels.gaussian(gamma=1.5))
    inverse_root = np.linalg.inv(sqrtm(features.gram).real)
    reference = features.cross_gram(Z) @ inverse_root
    coordinates = np.asarray(features.coordinates(Z))
    assert np.allclose(coordinates @ coordinates.T, reference @ reference.T, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-8, 1e-3, 1e8])
def test_linear_kernel_is_homogeneous(factor: float) -> None:
    X = datasets.blob(n=15).nominal
    for one, scaled in zip(maps(X)[:2], maps(factor * X)[:2], strict=True):
        assert scaled.unit == pytest.approx(factor * one.unit, rel=1e-14)
        assert np.allclose(np.asarray(scaled.training), factor * np.asarray(one.training), rtol=1e-12)


def test_unit_of_zero_points_is_one() -> None:
    assert LinearFeatures(np.zeros((3, 2))).unit == 1.0


# --- rank


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_partial_factor_equals_the_leading_columns_of_the_full_one(kernel: Any) -> None:
    X = datasets.blob(n=40).nominal
    full = KernelFeatures(X, kernel)
    for rank in (1, 2, 5):
        cut = KernelFeatures(X, kernel, rank=rank)
        r = min(rank, full.dimension)
        assert cut.dimension == r
        assert cut.pivots.tolist() == full.pivots[:r].tolist()
        assert np.allclose(cut.training, np.asarray(full.training)[:, :r], atol=1e-11 * full.unit)
        leftover = np.diag(full.gram) - (np.asarray(cut.training) ** 2).sum(axis=1)
        assert np.allclose(cut.residuals, leftover, atol=1e-12 * full.unit**2)
        assert np.allclose(cut.coordinates(X), cut.training, atol=1e-10 * full.unit)


def test_rank_never_forms_the_gram_matrix() -> None:
    calls: list[tuple[int, int]] = []

    def counted(X: Any, Z: Any) -> Any:
        calls.append((len(X), len(Z)))
        return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))

    KernelFeatures(datasets.blob(n=200).nominal, counted, rank=4)
    off_diagonal = [call for call in calls if call[0] == 200]
    assert off_diagonal == [(200, 1)] * 4
    assert max(n * m for n, m in calls if n != 200) <= 32 * 32


def test_nystroem_projection_is_the_best_in_the_span(rng: np.random.Generator) -> None:
    """Coordinates of a cut basis are projections: K_zp K_pp^-1 K_pz, computed here by another route."""
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    features = KernelFeatures(X, kernels.gaussian(gamma=0.7), rank=6)
    pivots = X[features.pivots]
    cross = features.kernel(Z, pivots)
    reference = cross @ np.linalg.solve(features.kernel(pivots), cross.T)
    coordinates = np.asarray(features.coordinates(Z))
    assert np.allclose(coordinates @ coordinates.T, reference, atol=1e-10)


def test_b11_duplicates_and_zero_eigenvalues() -> None:
    X = np.array([[0.0], [0.0], [1.0]])
    features = KernelFeatures(X, kernels.gaussian(gamma=1.0))
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(features.gram)  # the fault
    assert features.dimension == 2
    C = np.asarray(features.training)
    assert np.abs(C @ C.T - features.gram).max() <= 1e-12
    assert np.array_equal(features.coordinates(X), features.training)
    assert np.array_equal(C[0], C[1])
    # Dual of the one-class machine at nu = 1/3: the copies share one weight, so a = (1/2 over the copies, 1/2).
    a = np.array([0.25, 0.25, 0.5])
    assert (C.T @ a) @ (C.T @ a) / 2 == pytest.approx((1 + np.exp(-1)) / 4, rel=1e-14)
    assert C @ (C.T @ a) == pytest.approx(np.full(3, (1 + np.exp(-1)) / 2), rel=1e-14)

    zero = KernelFeatures(np.zeros((4, 1)), kernels.gaussian(gamma=1.0), rank=4)
    assert zero.dimension == 1
    assert np.array_equal(np.asarray(zero.training), np.ones((4, 1)))
    assert np.array_equal(zero.coordinates(np.zeros((2, 1))), np.ones((2, 1)))


def test_b11_whole_kind_every_rank_from_one_to_n(rng: np.random.Generator) -> None:
    for r in range(1, 8):
        F = rng.normal(size=(9, r)) @ rng.normal(size=(r, 9))
        K = F @ F.T
        features = KernelFeatures(K, "precomputed")
        assert features.dimension == r
        assert np.abs(np.asarray(features.training) @ np.asarray(features.training).T - K).max() <= 1e-12 * K.max()
        assert KernelFeatures(K, "precomputed", rank=9).dimension == r


@pytest.mark.parametrize("rank", [None, 60])
def test_b11_whole_kind_copies_have_the_same_coordinates(rank: int | None) -> None:
    X = np.tile(np.linspace(0.0, 1.0, 60), 3)[:, None]
    C = np.asarray(KernelFeatures(X, kernels.gaussian(gamma=2.0), rank=rank).training)
    assert np.array_equal(C[:60], C[60:120])
    assert np.array_equal(C[:60], C[120:])


@pytest.mark.parametrize("rank", [None, 2])
def test_features_that_are_all_zero_are_refused(rank: int | None) -> None:
    with pytest.raises(InputError, match="zero"):
        KernelFeatures(np.zeros((4, 1)), "linear", rank=rank)


def test_minus_zero_is_the_same_point() -> None:
    features = KernelFeatures(np.array([[0.0, 1.0], [2.0, -0.0]]), kernels.gaussian(gamma=1.0))
    assert np.array_equal(features.coordinates([[-0.0, 1.0], [2.0, 0.0]]), features.training)


# --- definiteness


@pytest.mark.parametrize("rank", [None, 2])
def test_b26_indefinite_matrix_is_refused_with_its_eigenvalue(rank: int | None) -> None:
    with pytest.raises(IndefiniteError, match="-1") as caught:
        KernelFeatures([[1.0, 2.0], [2.0, 1.0]], "precomputed", rank=rank)
    assert caught.value.eigenvalue == pytest.approx(-1.0, abs=1e-14)


@pytest.mark.parametrize(
    "K",
    [
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        -np.eye(3),
        np.diag([1.0, -1e-6]),
        np.diag([1.0, 0.0, 0.0]) + 1e-5 * np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0.0]]),
    ],
)
def test_b26_whole_kind(K: np.ndarray) -> None:
    with pytest.raises(IndefiniteError) as caught:
        KernelFeatures(K, "precomputed")
    assert caught.value.eigenvalue == pytest.approx(np.linalg.eigvalsh(K)[0], rel=1e-9)


def test_random_indefinite_matrices_are_all_found(rng: np.random.Generator) -> None:
    for _ in range(200):
        n = int(rng.integers(2, 12))
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        values = rng.uniform(0.0, 1.0, size=n)
        values[0] = -(10.0 ** rng.uniform(-9, 0))
        K = (Q * values) @ Q.T
        with pytest.raises(IndefiniteError) as caught:
            KernelFeatures((K + K.T) / 2, "precomputed")
        assert caught.value.eigenvalue == pytest.approx(values[0], rel=1e-5)


def test_sigmoid_kernel_is_refused_where_it_is_indefinite() -> None:
    X = datasets.blob(n=20).nominal
    with pytest.raises(IndefiniteError):
        KernelFeatures(X, kernels.sigmoid(1.0, -1.0))


@pytest.mark.parametrize("rank", [None, 50])
def test_b25_matrices_that_only_rounding_makes_indefinite_pass(rank: int | None) -> None:
    v = np.arange(1, 6) / 10
    features = KernelFeatures(np.outer(v, v), "precomputed", rank=rank)
    assert features.dimension == 1
    # min 1/2 a'Ka over the simplex puts all weight on the least v.
    C = np.asarray(features.training)
    assert C[0] @ C[0] / 2 == pytest.approx(0.005, rel=1e-14)
    for n, unit in ((200, 1.0), (500, 1e-6)):
        identity = KernelFeatures(unit * np.eye(n), "precomputed", rank=None if rank is None else n)
        assert identity.dimension == n
        mean = np.asarray(identity.training).mean(axis=0)
        assert mean @ mean / 2 == pytest.approx(unit / (2 * n), rel=1e-12)


def test_b25_gaussian_gram_matrices_of_every_width_pass() -> None:
    X = np.linspace(-1.0, 1.0, 150)[:, None]
    for gamma in 10.0 ** np.arange(-6, 5):
        features = KernelFeatures(X, kernels.gaussian(gamma=gamma))
        C = np.asarray(features.training)
        assert np.abs(C @ C.T - features.gram).max() <= 1e-12


def test_a_matrix_in_single_precision_passes_with_a_tolerance(rng: np.random.Generator) -> None:
    F = rng.normal(size=(40, 5))
    K = (F @ F.T).astype(np.float32).astype(float)
    with pytest.raises(IndefiniteError, match="tolerance"):
        KernelFeatures(K, "precomputed")
    features = KernelFeatures(K, "precomputed", tolerance=1e-5)
    assert features.dimension == 5
    assert np.abs(np.asarray(features.training) @ np.asarray(features.training).T - K).max() <= 1e-4


@pytest.mark.filterwarnings("ignore:kernel_learning. values of precomputed.. reach 1:UserWarning")
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_rounding_of_its_type_is_no_negative_eigenvalue_of_a_gram_matrix(kind: Any) -> None:
    """As matrices come from graphics cards: they were refused for eigenvalues that are the rounding of their entries."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    Z = np.random.default_rng(1).standard_normal((20, 3))
    K, new = kernels.gaussian(gamma=0.05)(X), kernels.gaussian(gamma=0.05)(Z, X)
    rough, eps = K.astype(kind), float(np.finfo(kind).eps)
    rough[0, 1] *= 1 - eps
    least = np.linalg.eigvalsh(rough.astype(float))[0]
    assert least < -eps / 10
    values, vectors = np.linalg.eigh((rough.astype(float) + rough.T.astype(float)) / 2)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    frame = pd.DataFrame(rough)
    for given in (KernelFeatures(rough, "precomputed"), KernelFeatures(frame, "precomputed")):
        np.testing.assert_allclose(given.gram, nearest, rtol=0, atol=1e-12)
        np.testing.assert_allclose(given.training @ given.training.T, nearest, rtol=0, atol=1e-10)
        assert np.array_equal(given.coordinates(rough)[2:], given.training[2:])
    made = KernelFeatures(X, lambda left, right: kernels.gaussian(gamma=0.05)(left, right).astype(kind))
    np.testing.assert_allclose(made.gram, K, rtol=0, atol=eps)
    cut = KernelFeatures(rough, "precomputed", rank=55).training
    np.testing.assert_allclose(cut @ cut.T, K, rtol=0, atol=100 * eps)
    assert cut.shape[1] < 55
    machines: list[Any] = [estimators.OneClassSVM(0.2), estimators.MahalanobisSVM(0.2), estimators.SingleClassMPM(0.8)]
    for machine in machines:
        machine.kernel = kernels.precomputed()
        right = machine.fit(K).decision_function(new)
        found = machine.fit(rough).decision_function(new.astype(kind))
        np.testing.assert_allclose(found, right, rtol=0, atol=50 * eps * np.abs(right).max())
    other = kernels.laplacian(gamma=0.3)(X)
    right, found = (kernel_learning([part, other], 0.2).solve().objective for part in (K, rough))
    assert found == pytest.approx(right, rel=10 * eps)
    # What rounding does not explain is refused, and so is the same matrix where nothing says that it was rounded.
    with pytest.raises(IndefiniteError, match="least eigenvalue is -"):
        KernelFeatures((K - 2 * 60 * eps * np.eye(60)).astype(kind), "precomputed")
    double = (rough.astype(float) + rough.T) / 2
    with pytest.raises(IndefiniteError, match=r"if rounding explains this value, add .* to the diagonal") as caught:
        machines[0].fit(double)
    added = float(str(caught.value).split("add ")[1].split(" ")[0])
    assert -least <= added < -5 * least and machines[0].fit(double + added * np.eye(60))


# --- precomputed


def test_b13_precomputed() -> None:
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    features = KernelFeatures(K, kernels.precomputed())
    # The soft ball's centre is the mean of the two: ||phi(z) - c||^2 = k(z, z) - 2 * 0 + (1 + 2 * .5 + 1) / 4.
    center = np.asarray(features.training).mean(axis=0)
    for norm, distance in ((1.0, 1.75), (4.0, 4.75)):
        z = features.coordinates([[0.0, 0.0]], squared_norms=[norm])
        inside = ((np.asarray(z[0]) - center) ** 2).sum()
        assert inside + z.squared_norms[0] - (np.asarray(z[0]) ** 2).sum() == pytest.approx(distance, rel=1e-14)
    assert features.coordinates([[0.0, 0.0]]).squared_norms is None
    with pytest.raises(InputError, match="squared_norms"):
        features.squared_norms([[0.0, 0.0]])
    with pytest.raises(InputError, match=r"\(3, 2\)"):
        KernelFeatures(np.ones((3, 2)), "precomputed")
    with pytest.raises(InputError, match=r"0\.5.*0\.2"):
        KernelFeatures([[1.0, 0.5], [0.2, 1.0]], "precomputed")
    with pytest.raises(InputError, match=r"3 columns.*2"):
        features.coordinates(np.ones((1, 3)))
    with pytest.raises(InputError, match="squared_norms"):
        features.coordinates(np.zeros((2, 2)), squared_norms=[1.0])


def test_precomputed_equals_the_kernel_it_was_computed_with(rng: np.random.Generator) -> None:
    X, Z = rng.normal(size=(12, 2)), rng.normal(size=(3, 2))
    kernel = kernels.polynomial(2)
    direct = KernelFeatures(X, kernel)
    given = KernelFeatures(kernel(X), "precomputed")
    assert np.allclose(given.training, direct.training)
    assert np.allclose(given.coordinates(kernel(Z, X), kernel.diagonal(Z)), direct.coordinates(Z))
    assert np.allclose(given.cross_gram(kernel(Z, X)), direct.cross_gram(Z))


def test_labelled_gram_matrices_are_matched_by_their_points(rng: np.random.Generator) -> None:
    X, Z, kernel = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), kernels.gaussian(gamma=0.5)
    names, turned = list("abcdef"), list("cafbed")
    gram, cross = pd.DataFrame(kernel(X), names, names), pd.DataFrame(kernel(Z, X), columns=names)
    direct, features = KernelFeatures(X, kernel), KernelFeatures(gram, "precomputed")
    assert np.allclose(features.coordinates(cross[turned]), direct.coordinates(Z))
    assert np.array_equal(features.cross_gram(cross[turned]), kernel(Z, X))
    assert np.array_equal(KernelFeatures(gram[turned], "precomputed").gram, gram)
    assert np.array_equal(KernelFeatures(gram.loc[turned], "precomputed").gram, gram.loc[turned, turned])
    with pytest.raises(InputError, match="lacks 'a'; has in addition 'z'"):
        features.coordinates(cross.rename(columns={"a": "z"}))
    other = KernelFeatures(gram.loc[turned, turned], "precomputed")
    with pytest.raises(InputError, match="in another order, were found; give all of them in the order of the first"):
        KernelFamily([features, other])


def test_points_of_a_labelled_gram_matrix_stand_in_the_order_of_its_rows(rng: np.random.Generator) -> None:
    names, turned, kernel = list("abcdef"), list("cafbed"), kernels.gaussian(gamma=0.5)
    X = pd.DataFrame(rng.normal(size=(6, 2)), names)
    labels, weights = pd.Series([1, 1, 1, 1, -1, -1], names), pd.Series(np.arange(1.0, 7.0), names)
    gram = pd.DataFrame(kernel(X), names, names)
    root, a = np.linalg.cholesky(gram), cp.Variable(6, nonneg=True)

    def least(signs: Any, upper: Any) -> float:
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(root.T @ cp.multiply(signs, a)) / 2), [cp.sum(a) == 1, a <= upper]
        )
        return float(problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11))

    features = KernelFeatures(gram.loc[turned], "precomputed")
    found = negative_data(features, labels[turned].to_numpy(), 0.4).solve().objective
    assert found == pytest.approx(least(labels, 1 / (0.4 * 6)), rel=1e-6)
    weighted = one_class_svm(features, 0.4, weights=weights[turned].to_numpy()).solve().objective
    assert weighted == pytest.approx(least(1, weights / (0.4 * weights.sum())), rel=1e-6)
    assert np.array_equal(features.names, turned)
    upper = weights / weights.sum() / 0.4
    for found in (smo(gram.loc[turned], upper=upper[turned], d=1.0), smo(gram[turned], upper=upper, d=1.0)):
        assert found.objective == pytest.approx(least(1, upper), rel=1e-6)


# --- coordinates


@pytest.fixture
def coordinates() -> Coordinates:
    return LinearFeatures(np.arange(12.0).reshape(4, 3) - 5.0).training


def test_rows_keep_their_norms(coordinates: Coordinates) -> None:
    norms = coordinates.squared_norms
    assert norms is not None
    picks: list[Any] = [
        slice(1, 3),
        slice(None, None, -2),
        np.array([True, False, True, True]),
        np.array([3, 0, 0]),
        [2, 1],
        [True, False, False, True],
        slice(0, 0),
    ]
    for pick in picks:
        chosen = coordinates[pick]
        assert isinstance(chosen, Coordinates)
        assert chosen.squared_norms is not None
        assert np.array_equal(chosen.squared_norms, norms[pick])
        assert np.array_equal(np.asarray(chosen), np.asarray(coordinates)[pick])
    assert np.array_equal(coordinates[1:][coordinates[1:, 0] > 0].squared_norms, norms[1:][[False, True, True]])


def test_anything_else_forgets_them(coordinates: Coordinates) -> None:
    others: list[Any] = [
        coordinates[0],
        coordinates[:, :2],
        coordinates[1:3, 0],
        coordinates[[0, 1], [0, 1]],
        coordinates[None],
        coordinates[...],
        coordinates[np.asarray(coordinates) > 0],
        coordinates.T,
        coordinates.copy(),
        coordinates.reshape(2, 6),
        coordinates * 2.0,
        -coordinates,
        coordinates @ np.ones((3, 3)),
        np.vstack([coordinates, coordinates]),
        coordinates.astype(np.float32),
    ]
    for other in others:
        assert getattr(other, "squared_norms", None) is None
    assert type(coordinates @ np.ones(3)) is np.ndarray
    assert type(coordinates.sum()) is np.float64


def test_coordinates_cannot_drift_from_their_norms(coordinates: Coordinates) -> None:
    with pytest.raises(ValueError, match="read-only"):
        coordinates[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        coordinates[[0, 1]][0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        coordinates += 1.0


def test_coordinates_pickle_with_their_norms(coordinates: Coordinates) -> None:
    again = pickle.loads(pickle.dumps(coordinates))
    assert isinstance(again, Coordinates)
    assert np.array_equal(again, coordinates)
    assert np.array_equal(again.squared_norms, coordinates.squared_norms)
    assert pickle.loads(pickle.dumps(coordinates.T)).squared_norms is None


def test_feature_maps_pickle() -> None:
    for features in maps(datasets.blob(n=10).nominal):
        again = pickle.loads(pickle.dumps(features))
        assert np.array_equal(again.training, features.training)
        assert np.array_equal(again.coordinates(features.points), features.training)


# --- bad input


@pytest.mark.parametrize("bad", [[], [[]], [1.0, 2.0], [["a"]], [[np.nan]], [[1.0], [np.inf]], [[1j]], None])
def test_bad_points_are_refused(bad: Any) -> None:
    for make in (LinearFeatures, KernelFeatures, lambda X: LinearFeatures([[1.0]]).coordinates(X)):
        with pytest.raises(InputError):
            make(bad)


@pytest.mark.parametrize(
    "settings", [{"rank": 0}, {"rank": 1.5}, {"tolerance": 0}, {"tolerance": np.nan}, {"kernel": 3}]
)
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        KernelFeatures(np.eye(3), **settings)


def test_columns_of_new_points_are_counted() -> None:
    for features in maps(datasets.blob(n=10).nominal):
        for method in (features.coordinates, features.cross_gram, features.squared_norms):
            with pytest.raises(InputError, match=r"3 columns.*2"):
                method(np.ones((1, 3)))


def test_input_is_left_alone_and_may_be_read_only() -> None:
    X = datasets.blob(n=10).nominal.copy()
    before = X.copy()
    X.setflags(write=False)
    for features in maps(X):
        features.coordinates(X)
        _ = features.gram
    assert np.array_equal(X, before)


def test_full_and_partial_cholesky_agree_with_numpy(rng: np.random.Generator) -> None:
    F = rng.normal(size=(6, 6))
    K = F @ F.T
    for factor, pivots in (
        full_cholesky(K, 1e-13),
        partial_cholesky(lambda i: K[:, i], np.diag(K).copy(), 6, 1e-13),
    ):
        reference = np.linalg.cholesky(K[np.ix_(pivots, pivots)])
        assert np.allclose(factor[pivots], reference, atol=1e-10)
        assert np.array_equal(np.triu(factor[pivots], 1), np.zeros((6, 6)))


def test_training_points_are_recognised_in_another_process():
    # Python salts its hashes anew in every process.
    code = (
        "import pickle, sys, numpy as np; made, X = pickle.load(sys.stdin.buffer);"
        "print(int(np.array_equal(np.asarray(made.coordinates(X)), np.asarray(made.training))))"
    )
    X = np.random.default_rng(0).standard_normal((12, 3))
    made = KernelFeatures(X, kernels.gaussian(gamma=0.5))
    told = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((made, X)), capture_output=True, check=True, timeout=120
    )
    assert told.stdout.strip() == b"1"


# --- what squares round off

RAW = np.round(np.random.default_rng(5).lognormal([6.5, 4.0, 2.0], 0.6, size=(9, 3)))  # columns in units of their own


def exact_gram(X: Any, Z: Any, degree: int) -> list[list[Fraction]]:
    """(x'z + 1)^degree of the very numbers."""
    rows, others = ([[Fraction(float(v)) for v in row] for row in np.asarray(part)] for part in (X, Z))
    return [[(1 + sum(a * b for a, b in zip(x, z, strict=True))) ** degree for z in others] for x in rows]


def squared_length_of_equal_scores(K: list[list[Fraction]]) -> Fraction:
    """1'K^-1 1 by elimination in exact arithmetic: the squared length of the shortest w whose scores are all 1."""
    n = len(K)
    rows = [[*row, Fraction(1)] for row in K]
    for i in range(n):
        rows[i:] = sorted(rows[i:], key=lambda row: row[i] == 0)
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return sum((row[n] for row in rows), Fraction(0))


@pytest.mark.parametrize("degree", [2, 3])
def test_raw_columns_keep_the_features_that_are_rounding_of_their_squares(degree: int) -> None:
    """Nine points of columns in the hundreds have nine independent features; their values reach 1e13 and 1e20."""
    features = KernelFeatures(RAW, kernels.polynomial(degree))
    C, new = np.asarray(features.training), np.asarray(features.coordinates(RAW[:4] + 0.5))
    assert features.dimension == 9
    for rows, points in ((C, RAW), (new, RAW[:4] + 0.5)):
        exact = np.array(exact_gram(points, RAW, degree), dtype=float)
        lengths = np.outer(kernels.polynomial(degree).diagonal(points), features.squared_norms()) ** 0.5
        assert np.abs((rows @ C.T - exact) / lengths).max() <= 1e-14
    w = np.linalg.solve(C, np.ones(9))
    assert w @ w == pytest.approx(float(squared_length_of_equal_scores(exact_gram(RAW, RAW, degree))), rel=1e-6)
    assert not features.hidden.any()


def test_features_that_span_everything_are_the_coordinates() -> None:
    X = RAW[:, :1] * 1e3
    for degree in (2, 3):
        features = KernelFeatures(X, kernels.polynomial(degree))
        assert features.dimension == degree + 1
        expected = np.column_stack([math.comb(degree, m) ** 0.5 * X[:, 0] ** m for m in range(degree + 1)])
        np.testing.assert_allclose(features.training, expected, rtol=1e-14)
        np.testing.assert_allclose(
            features.coordinates([[1e-3]])[0],
            np.sqrt([math.comb(degree, m) * 1e-6**m for m in range(degree + 1)]),
            rtol=1e-14,
        )


@pytest.mark.parametrize("rank", [None, 3])
def test_small_rows_keep_their_directions_beside_a_far_one(rank: int | None) -> None:
    X = np.array([[4.0, 1.0], [5.0, -1.0], [1e8, 0.0]])
    for made in (
        KernelFeatures(X, "linear", rank=rank),
        KernelFeatures(X @ X.T, "precomputed", rank=rank),
        KernelFeatures(X, lambda left, right: left @ right.T, rank=rank),
    ):
        C = np.asarray(made.training)
        assert made.dimension == 2
        np.testing.assert_allclose(C @ C.T, X @ X.T, rtol=1e-14)
    with_noise = KernelFeatures(np.vstack([X, X + 1e-9]) @ np.vstack([X, X + 1e-9]).T, "precomputed", rank=rank)
    assert with_noise.dimension == 2


def test_copies_and_dependent_columns_have_no_direction_of_their_own() -> None:
    x = RAW[:, :1]
    features = KernelFeatures(np.vstack([np.hstack([x, 3 * x]), np.hstack([x, 3 * x])]), kernels.polynomial(2))
    assert features.dimension == 3
    assert np.array_equal(features.training[:9], features.training[9:])
    assert KernelFeatures(1e3 * RAW, kernels.polynomial(2), rank=4).dimension == 4
    assert KernelFeatures(1e3 * RAW, kernels.polynomial(2), rank=20).dimension == 9


def test_what_is_hidden_is_said_where_no_features_are_known() -> None:
    given = KernelFeatures(kernels.polynomial(2)(RAW), "precomputed")
    assert (given.hidden >= given.residuals).all() and given.hidden.min() > 0
    assert not LinearFeatures(RAW).hidden.any()
    assert not KernelFeatures(RAW / RAW.max(axis=0), kernels.linear()).hidden.any()
