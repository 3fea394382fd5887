"""The ridge system of the constant one: against extended precision, against the paper's form, and where it must refuse."""

import numpy as np
import pytest

from convexnovelty import kernels
from convexnovelty.algorithms import gaussian_gram
from convexnovelty.algorithms.gram import gram_of
from convexnovelty.algorithms.kernel_ridge import RidgeSolution, kernel_ridge, low_rank_error, random_pivots
from convexnovelty.errors import IndefiniteError, InputError, SolverError
from convexnovelty.estimators import SingleClassMPM
from convexnovelty.features import KernelFeatures
from convexnovelty.methods import single_class_mpm
from convexnovelty.moments import Moments
from convexnovelty.persistence import load, save
from convexnovelty.uncertainty.bures_ball import BuresBall
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.spectral_ball import SpectralBall


def cloud(n, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.standard_normal(p)


def extended_solution(X, gamma, rho, weights):
    """h and f by Gaussian elimination in extended precision, from kernel values in extended precision."""
    X, w = X.astype(np.longdouble), np.asarray(weights, dtype=np.longdouble)
    K = np.exp(-np.longdouble(gamma) * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    q = np.sqrt(w / w.sum())
    A = q[:, None] * K * q + np.longdouble(rho) * np.eye(len(X))
    h = q.copy()
    for i in range(len(A)):
        factors = A[i + 1 :, i] / A[i, i]
        A[i + 1 :] -= factors[:, None] * A[i]
        h[i + 1 :] -= factors * h[i]
    for i in range(len(A) - 1, -1, -1):
        h[i] = (h[i] - A[i, i + 1 :] @ h[i + 1 :]) / A[i, i]
    return q * h, K @ (q * h)


@pytest.mark.parametrize("direct", [0, 1000], ids=["iterations", "factorisation"])
@pytest.mark.parametrize("rho", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_solution_is_that_of_extended_precision(direct, rho, weighted):
    X = cloud(90)
    weights = np.random.default_rng(1).random(90) if weighted else np.ones(90)
    found = kernel_ridge(
        X, kernels.gaussian(gamma=0.1), rho, weights=weights if weighted else None, tolerance=1e-12, direct=direct
    )
    c, f = extended_solution(X, 0.1, rho, weights)
    assert np.abs(found.coefficients - c).max() <= 2e-12 / rho * np.abs(c).max()
    assert np.abs(found.scores - f).max() <= 1e-11
    assert found.residual <= 1e-12 if direct == 0 else found.residual <= 1e-13
    # The certificate bounds the error that there is.
    shares = weights / weights.sum()
    error = float(np.sqrt(shares @ (found.scores - f).astype(float) ** 2))
    assert error <= found.certificate.error * found.spread + 1e-14


@pytest.mark.parametrize("kernel", [kernels.gaussian(gamma=0.05), kernels.laplacian(gamma=0.2), kernels.polynomial(2)])
@pytest.mark.parametrize("nu", [0.0, 0.2])
def test_iterations_agree_with_the_papers_form(kernel, nu):
    X = cloud(150, seed=3)
    features = KernelFeatures(X, kernel)
    uncertainty = MeanEllipsoid(nu) * FrobeniusBall(0.02 * features.unit**2)
    moments = Moments.estimate(features.training)
    paper = single_class_mpm.kernel_closed_form(features, moments, 0.4, uncertainty)
    for direct in (0, 1000):
        ours = single_class_mpm.expansion(X, kernel, 0.4, uncertainty, tolerance=1e-12, direct=direct)
        assert ours.objective == pytest.approx(paper.objective, rel=1e-9)
        scale = np.abs(paper.values["gamma"]).max()
        assert ours.coefficients == pytest.approx(paper.values["gamma"], abs=1e-7 * scale)
        assert ours.guarantee.bound == paper.guarantee.bound


def test_a_seed_gives_one_answer_and_any_number_of_threads_the_same():
    X = cloud(1600, seed=5)
    one, again, threads = (
        kernel_ridge(X, kernels.gaussian(gamma=0.1), 0.01, seed=7, threads=k, direct=0) for k in (1, 1, 2)
    )
    assert np.array_equal(one.coefficients, again.coefficients)
    assert one.coefficients == pytest.approx(threads.coefficients, rel=1e-9)
    other = kernel_ridge(X, kernels.gaussian(gamma=0.1), 0.01, seed=8, direct=0)
    assert one.scores == pytest.approx(other.scores, abs=1e-9)
    assert one.rank > 0 and one.iterations < 12


def test_drawn_columns_reproduce_the_matrix_that_they_span():
    X = cloud(400, p=2, seed=2)
    kernel = kernels.gaussian(gamma=0.02)

    K = kernel(X)
    factor = random_pivots(gram_of(X, kernel), lambda chosen: K[:, chosen], 400, 1e-9)
    assert factor.shape[1] < 400
    assert np.abs(factor @ factor.T - K).max() <= 1e-8


def test_the_error_of_a_low_rank_answer_bounds_what_it_is():
    X = cloud(300, seed=4)
    kernel = kernels.gaussian(gamma=0.1)
    exact = kernel_ridge(X, kernel, 0.01)
    for rank in (5, 20, 80):
        features = KernelFeatures(X, kernel, rank=rank)
        C = np.asarray(features.training)
        error = low_rank_error(X, kernel, C, 0.01)
        h = np.linalg.solve(C @ C.T / 300 + 0.01 * np.eye(300), np.full(300, 300**-0.5))
        approximate = C @ (C.T @ h) / 300**0.5
        true = np.sqrt(np.mean((approximate - exact.scores) ** 2)) / approximate.std()
        assert true <= error * (1 + 1e-9)
        assert error <= 50 * true + 1e-9


def test_the_estimator_refuses_a_rank_that_is_not_safe_and_takes_one_that_is():
    X = cloud(400, seed=6)
    wide, narrow = kernels.gaussian(gamma=0.01), kernels.gaussian(gamma=3.0)
    exact = SingleClassMPM(0.4, kernel=wide).fit(X)
    cut = SingleClassMPM(0.4, kernel=wide, rank=60).fit(X)
    assert cut.certificate_.error < 1e-2
    assert cut.score_samples(X) == pytest.approx(exact.score_samples(X), abs=3e-2)
    for options in ({"kernel": narrow, "ridge": 0.03}, {"kernel": kernels.gaussian(gamma=0.2), "ridge": 1e-7}):
        with pytest.raises(InputError, match="rank: 20 was found"):
            SingleClassMPM(0.0, rank=20, **options).fit(X)


@pytest.mark.parametrize("uncertainty", [None, FrobeniusBall(0.05), MeanEllipsoid(0.1) * SpectralBall(0.05)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_estimator_is_the_machine_in_coordinates(uncertainty, weighted, tmp_path):
    X, Z = cloud(80, seed=8), cloud(40, seed=9)
    weights = np.random.default_rng(2).integers(1, 4, 80).astype(float) if weighted else None
    kernel = kernels.gaussian(gamma=0.1)
    ours = SingleClassMPM(0.4, kernel=kernel, uncertainty=uncertainty).fit(X, sample_weight=weights)
    features = KernelFeatures(X, kernel)
    moments = Moments.estimate(features.training, weights=weights)
    solution = single_class_mpm.closed_form(moments, 0.4, uncertainty or FrobeniusBall(0.03 * moments.unit**2))
    assert ours.objective_ == pytest.approx(solution.objective, rel=1e-8)
    expected = solution.region.decision_values(features.coordinates(Z))
    assert ours.score_samples(Z) - 1 == pytest.approx(expected, abs=1e-8)
    save(ours, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.certificate_ == ours.certificate_
    assert np.array_equal(again.decision_function(Z), ours.decision_function(Z))


def test_sets_without_a_constant_ridge_take_the_general_way():
    X = cloud(40, seed=10)
    assert single_class_mpm.constant_ridge(BuresBall(0.1)) is None
    assert single_class_mpm.constant_ridge(None) is None
    detector = SingleClassMPM(0.3, kernel=kernels.gaussian(gamma=0.1), uncertainty=BuresBall(0.1)).fit(X)
    assert not hasattr(detector.certificate_, "error")
    with pytest.raises(InputError, match="uncertainty: BuresBall"):
        single_class_mpm.expansion(X, "gaussian", 0.3, BuresBall(0.1))


def test_what_cannot_be_solved_is_refused():
    X = cloud(50)
    with pytest.raises(InputError, match="ridge"):
        kernel_ridge(X, "gaussian", 0.0)
    with pytest.raises(InputError, match="weights: between -1"):
        kernel_ridge(X, "gaussian", 0.1, weights=-np.ones(50))
    for direct in (0, 100):
        with pytest.raises(IndefiniteError):
            kernel_ridge(X, kernels.from_callable(lambda A, B: -(A @ B.T)), 0.1, direct=direct)
    with pytest.raises(SolverError, match=r"ridge: 1e-12 was found, at which 2 products"):
        kernel_ridge(X, kernels.gaussian(gamma=5.0), 1e-12, rank=1, max_iterations=2, direct=0)


@pytest.mark.parametrize("n", [1, 7, 383, 384, 391, 1000])
@pytest.mark.parametrize("threads", [1, 2])
def test_products_that_evaluate_one_triangle_are_products(n, threads, monkeypatch):
    monkeypatch.setattr(gaussian_gram, "THREADED", 0)
    X, v = cloud(n, p=3, seed=11), np.random.default_rng(12).standard_normal(n)
    for kernel in (kernels.gaussian(gamma=0.05), kernels.laplacian(gamma=0.1), kernels.linear()):
        gram = gram_of(X, kernel, threads)
        K = kernel(X)
        assert np.abs(gram.product(v) - K @ v).max() <= 1e-13 * np.abs(K).max() * np.abs(v).sum()


def test_products_with_a_point_far_from_all_others():
    X = cloud(500, p=3, seed=13)
    X[:2] = 1e4
    X[1, 0] += 0.5
    kernel = kernels.gaussian(gamma=0.1)
    v = np.random.default_rng(14).standard_normal(500)
    assert gram_of(X, kernel).product(v) == pytest.approx(kernel(X) @ v, rel=1e-9, abs=1e-12)


def test_a_share_that_rounding_makes_negative_is_none():
    """q'Ah is not negative; where it is zero its computed value may be. Then no positive kappa is feasible."""
    none = RidgeSolution(np.zeros(1), np.zeros(1), 0.0, 2.0, 0.5, -1e-17, 0.0, kernels.linear(), 0, 0)
    some = RidgeSolution(np.zeros(1), np.zeros(1), 0.0, 2.0, 0.5, 0.09, 0.0, kernels.linear(), 0, 0)
    assert (none.zeta, some.zeta) == (0.0, pytest.approx(0.3))


@pytest.mark.parametrize("multiplier", [0.3, 0.33, np.inf, np.nan])
def test_there_is_no_machine_from_zeta_on(multiplier):
    some = RidgeSolution(np.zeros(1), np.zeros(1), 0.0, 2.0, 0.5, 0.09, 0.0, kernels.linear(), 0, 0)
    with pytest.raises(InputError, match=r"multiplier: .* give a number below zeta = 0.3"):
        some.scale(some.zeta if multiplier == 0.3 else multiplier)
    assert some.scale(0.1) > 0
