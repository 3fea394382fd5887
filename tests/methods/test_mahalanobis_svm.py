"""The Mahalanobis one-class machine against libsvm, a general minimiser and hand counts; its errata; its sets."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM

import convexnovelty as cn
from convexnovelty import datasets, kernels
from convexnovelty.algorithms import cutting_planes as planes
from convexnovelty.algorithms import woodbury
from convexnovelty.checking.instances import Case, Knobs
from convexnovelty.errors import InputError, SolverError, UnboundedError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import mahalanobis_svm as module
from convexnovelty.metrics import Sample
from convexnovelty.uncertainty import (
    Adversary,
    CovarianceHull,
    CovarianceSet,
    EntrywiseInterval,
    FrobeniusBall,
    LoewnerInterval,
    MeanEllipsoid,
    SubspaceBall,
    WishartBall,
)


def cloud(n=20, p=3, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.eye(p) + 0.4 * rng.standard_normal((p, p))
    return rng.standard_normal((n, p)) @ mixing + 3 * (-1.0) ** np.arange(p) + 1


def gaussian(n=16, gamma=0.15, seed=0):
    return KernelFeatures(cloud(n, seed=seed), kernels.gaussian(gamma=gamma))


def covariance(X, c=None, r=0.0):
    centred = X - X.mean(axis=0)
    return (1 / len(X) if c is None else c) * centred.T @ centred + r * np.eye(X.shape[1])


def tail(scores, nu):
    """The least slack cost over the offset, by trying every score as the offset."""
    return min(np.maximum(rho - scores, 0).sum() / (nu * scores.size) - rho for rho in scores)


def same(one, other, Z, rtol=1e-6):
    """Whether two solutions judge points alike, relative to the largest decision value."""
    ours, theirs = one.region.decision_values(Z), other.region.decision_values(Z)
    np.testing.assert_allclose(ours, theirs, atol=rtol * np.abs(theirs).max())


def test_the_checker_is_green_and_no_step_goes_unchecked():
    report = cn.check("mahalanobis_svm")
    assert report.passed, report.table()
    checked = {(row.source, row.target) for row in report.rows if row.verdict == "pass"}
    assert {(step.source_node, step.target_node) for step in module.METHOD.steps} <= checked


# -- references --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.15, 0.4, 0.85])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_against_libsvm_on_whitened_points(nu, form):
    """Products in the metric are plain products of whitened points; libsvm's coefficients sum to nu n."""
    X, Z = cloud(31), cloud(25, seed=5) * 1.4  # nu n is no whole number, so the offset is unique
    root = np.linalg.inv(np.linalg.cholesky(covariance(X, r=0.3)))
    machine = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X @ root.T)
    solution = cn.mahalanobis_svm(LinearFeatures(X), nu, FrobeniusBall(0.3), form=form).solve()
    expected = machine.decision_function(Z @ root.T) / (nu * len(X))
    np.testing.assert_allclose(solution.region.decision_values(Z), expected, atol=2e-6 * np.abs(expected).max())


def test_robust_program_against_a_general_minimiser():
    """Equation 5 as a function of w alone, with the largest w'Sw over four scenarios."""
    X, nu = cloud(15, 2), 0.3
    scenarios = [np.diag([1.0, 0.2]), np.diag([0.3, 1.5]), np.array([[0.8, 0.5], [0.5, 0.7]]), np.eye(2) * 0.6]

    def value(w):
        return max(w @ S @ w for S in scenarios) / 2 + tail(X @ w, nu)

    options = {"xatol": 1e-13, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000}
    best = min((minimize(value, w, method="Nelder-Mead", options=options) for w in np.eye(2) * 3), key=lambda r: r.fun)
    best = minimize(value, best.x, method="Nelder-Mead", options=options)
    solution = cn.mahalanobis_svm(LinearFeatures(X), nu, CovarianceHull(scenarios)).solve()
    assert solution.objective == pytest.approx(best.fun, rel=1e-7)
    assert solution.region.normal == pytest.approx(best.x, rel=1e-4)


def test_one_point_by_hand():
    """A single point x: Sigma = r I, w = x / r, rho = |x|^2 / r, value -|x|^2 / (2 r), at |x| / sqrt(r) deviations."""
    solution = cn.mahalanobis_svm(LinearFeatures([[3.0, 4.0]]), 0.7, FrobeniusBall(2.0)).solve()
    assert solution.objective == pytest.approx(-6.25, rel=1e-8)
    assert solution.region.normal == pytest.approx([1.5, 2.0], rel=1e-6)
    assert solution.offset.used == pytest.approx(12.5, rel=1e-6)
    assert solution.values["distance"] == pytest.approx(5 / np.sqrt(2), rel=1e-6)


def test_two_points_on_a_line_by_hand():
    """x = 1, 3, nu = 1/2: alpha = (1, 0) since both may be at most 1; Sigma = 1 + r, so w = 1/(1 + r), rho the same."""
    for r, ddof, variance in ((0.0, 0, 1.0), (0.5, 0, 1.0), (0.5, 1, 2.0)):
        solution = cn.mahalanobis_svm(LinearFeatures([[1.0], [3.0]]), 0.5, FrobeniusBall(r), ddof=ddof).solve()
        assert solution.region.normal == pytest.approx([1 / (variance + r)], rel=1e-6)
        assert solution.objective == pytest.approx(-0.5 / (variance + r), rel=1e-8)


def test_nu_of_one_gives_the_direction_of_the_minimax_probability_machine():
    X = cloud(18)
    features, moments = LinearFeatures(X), cn.Moments.estimate(X)
    for uncertainty in (FrobeniusBall(0.4), EntrywiseInterval(0.3), None):
        ours = cn.mahalanobis_svm(features, 1.0, uncertainty).solve()
        theirs = cn.single_class_mpm(moments, 0.0, uncertainty).solve()
        assert ours.objective == pytest.approx(-0.5 / theirs.objective**2, rel=1e-6)
        assert ours.region.normal == pytest.approx(theirs.region.normal / theirs.objective**2, rel=2e-4, abs=1e-6)


# -- Woodbury and the kernel's form ------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [cloud(9, 2), cloud(5, 8), np.repeat(cloud(4), 3, axis=0)])
@pytest.mark.parametrize(("r", "c"), [(0.3, 0.1), (2.0, 1.0), (0.05, 0.0)])
def test_woodbury_steps_are_identities_of_matrices(points, r, c):
    K = points @ points.T
    direct = points @ np.linalg.inv(covariance(points, c, r)) @ points.T
    np.testing.assert_allclose(woodbury.metric_gram(K, r, c), direct, atol=1e-9 * direct.max())
    if c > 0:
        np.testing.assert_allclose(woodbury.metric_gram_of_shape(K / r, c), direct, atol=1e-9 * direct.max())
    v = np.linspace(-1, 1, len(K))
    np.testing.assert_allclose(K @ woodbury.expansion(K, v, r, c), direct @ v, atol=1e-9 * np.abs(direct @ v).max())
    regular = K + np.eye(len(K))
    inverse = woodbury.metric_gram_by_inverse(regular, r, c)
    np.testing.assert_allclose(inverse, woodbury.metric_gram(regular, r, c), atol=1e-9 * np.abs(inverse).max())


def test_general_shapes_by_woodbury():
    """Any positive definite Delta, signed and correlated, in every form of section II-B."""
    X, D = cloud(14), np.array([[0.5, 0.2, -0.1], [0.2, 0.3, 0.0], [-0.1, 0.0, 0.4]])
    features = LinearFeatures(X)
    uncertainty = LoewnerInterval(0.7, D)
    value = cn.mahalanobis_svm(features, 0.3, uncertainty).solve().objective
    metric = X @ np.linalg.inv(covariance(X) + 0.7 * D) @ X.T
    alpha = cp.Variable(14, nonneg=True)
    problem = cp.Problem(
        cp.Minimize(cp.quad_form(alpha, cp.psd_wrap(metric)) / 2), [alpha <= 1 / (0.3 * 14), cp.sum(alpha) == 1]
    )
    problem.solve(solver="CLARABEL")
    assert value == pytest.approx(-problem.value, rel=1e-6)
    for node in (module.shaped_dual, module.dual, module.primal, module.robust):
        assert abs(node(features, 0.3, uncertainty).solve().objective) == pytest.approx(-value, rel=1e-7)


def test_equation_nine_needs_an_invertible_gram_matrix():
    features = gaussian()
    for node in ("kernel_dual_inverse", "shaped_dual_inverse"):
        arguments = {"features": features, "outlier_fraction": 0.2, "uncertainty": FrobeniusBall(0.1)}
        assert module.METHOD.nodes[node].refusal(arguments) is None
        assert "not invertible" in module.METHOD.nodes[node].refusal({**arguments, "features": LinearFeatures(cloud())})


@pytest.mark.parametrize("c", [None, 0.0, 0.5])
def test_scores_of_new_points_need_the_kernel_alone(c):
    features, Z = gaussian(), cloud(9, seed=8)
    solution = cn.mahalanobis_svm(features, 0.25, FrobeniusBall(0.05), covariance_weight=c, form="dual").solve()
    scores = features.cross_gram(Z) @ solution.values["gamma"]
    coordinates = features.coordinates(Z)
    np.testing.assert_allclose(scores - solution.offset.used, solution.region.decision_values(coordinates), atol=1e-9)
    # The formula as it follows from equation 7, written out.
    K, n, alpha = features.gram, features.n, solution.values["alpha"]
    weight, H = (1 / n if c is None else c), np.eye(n) - 1 / n
    inner = np.linalg.solve(0.05 * np.eye(n) + weight * H @ K @ H, H @ K @ alpha)
    expected = features.cross_gram(Z) @ (alpha - weight * H @ inner) / 0.05
    np.testing.assert_allclose(scores, expected, atol=1e-8 * np.abs(expected).max())


def test_a_precomputed_gram_matrix_serves_as_well():
    X, Z, kernel = cloud(16), cloud(7, seed=3), kernels.gaussian(gamma=0.15)
    one = cn.mahalanobis_svm(KernelFeatures(X, kernel), 0.25, FrobeniusBall(0.05)).solve()
    features = KernelFeatures(kernel(X), "precomputed")
    other = cn.mahalanobis_svm(features, 0.25, FrobeniusBall(0.05)).solve()
    ours = other.region.decision_values(features.coordinates(kernel(Z, X)))
    theirs = one.region.decision_values(KernelFeatures(X, kernel).coordinates(Z))
    np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(theirs).max())


def test_a_rank_that_was_cut_short_is_one_set_of_features_throughout():
    features = KernelFeatures(cloud(30), kernels.gaussian(gamma=0.3), rank=5)
    values = [node(features, 0.2, FrobeniusBall(0.1)).solve().objective for node in (module.dual, module.kernel_dual)]
    assert values[0] == pytest.approx(values[1], rel=1e-8)
    assert cn.mahalanobis_svm(features, 0.2, FrobeniusBall(0.1)).solve().objective == pytest.approx(
        -values[0], rel=1e-6
    )


# -- errata ------------------------------------------------------------------------------------------------------------


def test_erratum_the_interval_reduces_to_the_ball_for_delta_r_times_identity():
    """The paper prints Delta = r I / (nu n), with which equation 9 is not equation 8."""
    features, nu, r = gaussian(), 0.25, 0.08
    ball = module.kernel_dual_inverse(features, nu, FrobeniusBall(r)).solve().objective
    right = module.shaped_dual_inverse(features, nu, LoewnerInterval(r)).solve().objective
    printed = module.shaped_dual_inverse(features, nu, LoewnerInterval(r / (nu * features.n))).solve().objective
    assert right == pytest.approx(ball, rel=1e-8)
    assert printed > 1.5 * ball


def test_erratum_only_the_worst_cases_are_equal_and_not_the_sets():
    """Sigma0 + r I belongs to the interval, at a Frobenius distance of r sqrt(p) from Sigma0 that the ball excludes."""
    sample = Sample.of(LinearFeatures(cloud()), LoewnerInterval(0.3))
    added = sample.centred.upper - sample.moments.covariance
    assert np.linalg.norm(added) == pytest.approx(0.3 * np.sqrt(3))
    ball = Sample.of(LinearFeatures(cloud()), FrobeniusBall(0.3))
    np.testing.assert_allclose(ball.worst, sample.worst)


def test_erratum_without_covariance_the_dual_is_the_plain_one_divided_by_r():
    """Program 6 with c = 0 is program 1 for r = 1 only; the multipliers are the same for every r."""
    features = gaussian()
    plain = cn.one_class_svm(features, 0.2).solve()
    for r in (0.1, 1.0, 7.0):
        solution = cn.mahalanobis_svm(features, 0.2, FrobeniusBall(r), covariance_weight=0.0, form="dual").solve()
        assert solution.objective == pytest.approx(plain.objective / r, rel=1e-7)
        assert solution.region.normal == pytest.approx(plain.region.normal / r, rel=1e-5, abs=1e-6 / r)


# -- sets --------------------------------------------------------------------------------------------------------------


class NuclearNeighbourhood(CovarianceSet):
    """What a user writes: membership alone."""

    def membership(self, S):
        return [cp.norm(S - self.center, "nuc") <= self.radius]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_feature_without_variance_is_checked_without_a_word_of_numpy():
    """Shares in per cent under a polynomial kernel: their sum is a feature that is the same in all rows."""
    X = np.round(np.random.default_rng(0).dirichlet([2, 3, 4], 16) * 100, 1)
    features = cn.KernelFeatures(X, cn.kernels.polynomial(2, 1 / 3))
    assert cn.check(cn.mahalanobis_svm(features, 0.5, FrobeniusBall(0.1 * X.var()))).passed


def test_a_user_s_set_is_solved_and_checked():
    features = LinearFeatures(cloud(12))
    problem = cn.mahalanobis_svm(features, 0.3, NuclearNeighbourhood(0.8))
    # All unitarily invariant norms that equal one at uu' have the worst case of the Frobenius ball.
    expected = cn.mahalanobis_svm(features, 0.3, FrobeniusBall(0.8)).solve()
    solution = problem.solve()
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    report = cn.check(problem)
    assert report.passed, report.table()
    assert {row.source for row in report.rows} >= {"semi_infinite", "derived_counterpart", "robust_dual"}


def test_a_conservative_counterpart_is_checked_as_a_bound():
    """Correlations that are free of each other cost more than those of a covariance."""
    X = cloud(12, seed=4)
    widths = 6.0 * np.outer(X.std(axis=0), X.std(axis=0)) * (1.0 - np.eye(X.shape[1]))
    loose = EntrywiseInterval(0.8, widths, semidefinite=False)
    problem = cn.mahalanobis_svm(LinearFeatures(X), 0.3, loose)
    exact = module.semi_infinite(LinearFeatures(X), 0.3, loose).objective
    assert problem.solve().objective >= exact * (1.0 + 1e-3)
    report = cn.check(problem)
    assert report.passed, report.table()
    row = next(
        row for row in report.rows if row.source == "semi_infinite" and row.verdict == "pass" and not row.theorem
    )
    assert row.relation == "<="


def test_cutting_planes_close_the_gap_from_both_sides():
    """The value of a member's own optimum never exceeds the robust one, and the worst member attains it."""
    features = LinearFeatures(cloud(14))
    for uncertainty in (FrobeniusBall(0.5), EntrywiseInterval(0.4)):
        solution = module.semi_infinite(features, 0.3, uncertainty)
        sample = Sample.of(features, uncertainty)
        member = Adversary(sample.centred)(solution.values["w"]).member
        metric = features.points @ np.linalg.inv(member) @ features.points.T
        alpha = cp.Variable(14, nonneg=True)
        held = [alpha <= 1 / (0.3 * 14), cp.sum(alpha) == 1]
        below = -cp.Problem(cp.Minimize(cp.quad_form(alpha, cp.psd_wrap(metric)) / 2), held).solve(solver="CLARABEL")
        assert below <= solution.objective + 1e-6 * abs(below)
        assert below == pytest.approx(solution.objective, rel=1e-3)


@pytest.mark.parametrize("uncertainty", [FrobeniusBall(0.5), EntrywiseInterval(0.4)], ids=repr)
def test_a_solver_that_gives_up_on_a_plane_changes_no_result(uncertainty, monkeypatch):
    """The worst case that was found last has no multiplier then, and takes no part in the metric of the plane."""
    features, solve, rounds = LinearFeatures(cloud(14)), planes._solve, []
    expected = module.semi_infinite(features, 0.3, uncertainty)

    def solved(*arguments):
        rounds.append(arguments)
        if len(rounds) == 2:
            raise SolverError("no digits are left", "stalled")
        return solve(*arguments)

    monkeypatch.setattr(planes, "_solve", solved)
    monkeypatch.setattr(planes, "SUFFICIENT", np.inf)
    found = module.semi_infinite(features, 0.3, uncertainty)
    assert len(rounds) >= 2
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert found.values["w"] == pytest.approx(expected.values["w"], rel=1e-3, abs=1e-6)


def test_the_set_must_be_one_of_covariances():
    with pytest.raises(InputError, match=r"uncertainty: MeanEllipsoid.*set of covariances"):
        cn.mahalanobis_svm(LinearFeatures(cloud()), 0.2, MeanEllipsoid(0.1))


def test_a_set_in_the_data_s_own_axes_is_refused_in_a_kernel_s_features():
    with pytest.raises(InputError, match="means something only in the coordinates of the data"):
        cn.mahalanobis_svm(gaussian(), 0.2, EntrywiseInterval(0.1))


# -- invariances -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("node", [module.robust, module.primal, module.dual, module.kernel_dual, module.sequential])
def test_units_of_the_data_change_nothing(scale, node):
    """The objective has no unit when the radius is in squared units of the data (B22)."""
    X = cloud(16)
    made = node(LinearFeatures(scale * X), 0.3, FrobeniusBall(0.2 * scale**2))
    solution = made if node is module.sequential else made.solve()
    reference = module.sequential(LinearFeatures(X), 0.3, FrobeniusBall(0.2))
    assert abs(solution.objective) == pytest.approx(reference.objective, rel=1e-7)
    assert solution.region.normal * scale == pytest.approx(reference.region.normal, rel=1e-5)
    assert solution.values["distance"] == pytest.approx(reference.values["distance"], rel=1e-6)


def test_order_of_points_and_rotations_change_nothing():
    X, Z = cloud(18), cloud(9, seed=2)
    rng = np.random.default_rng(3)
    rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    base = cn.mahalanobis_svm(LinearFeatures(X), 0.3, FrobeniusBall(0.3)).solve()
    moved = cn.mahalanobis_svm(LinearFeatures(X[rng.permutation(18)] @ rotation), 0.3, FrobeniusBall(0.3)).solve()
    expected = base.region.decision_values(Z)
    np.testing.assert_allclose(moved.region.decision_values(Z @ rotation), expected, atol=1e-5 * np.abs(expected).max())


def test_an_exact_covariance_makes_the_machine_affinely_invariant():
    """Points at angles and in units of any kind: x -> A x leaves all decision values as they are."""
    X, Z = cloud(18), cloud(9, seed=2)
    A = np.array([[2e3, 1.0, 0.0], [0.0, 1e-3, 2e-4], [5.0, 0.0, 1.0]])
    base = cn.mahalanobis_svm(LinearFeatures(X), 0.3).solve()
    moved = cn.mahalanobis_svm(LinearFeatures(X @ A), 0.3).solve()
    expected = base.region.decision_values(Z)
    np.testing.assert_allclose(moved.region.decision_values(Z @ A), expected, atol=2e-5 * np.abs(expected).max())


def test_a_linear_kernel_is_the_linear_machine():
    X, Z = cloud(15), cloud(9, seed=2)
    kernel = KernelFeatures(X, kernels.linear())
    one = cn.mahalanobis_svm(LinearFeatures(X), 0.3, FrobeniusBall(0.3)).solve()
    other = cn.mahalanobis_svm(kernel, 0.3, FrobeniusBall(0.3)).solve()
    expected = one.region.decision_values(Z)
    np.testing.assert_allclose(
        other.region.decision_values(kernel.coordinates(Z)), expected, atol=1e-5 * np.abs(expected).max()
    )


def test_ddof_and_covariance_weight_are_two_ways_to_say_c():
    features = LinearFeatures(cloud(15))
    by_ddof = cn.mahalanobis_svm(features, 0.3, FrobeniusBall(0.3), ddof=1).solve().objective
    by_weight = cn.mahalanobis_svm(features, 0.3, FrobeniusBall(0.3), covariance_weight=1 / 14).solve().objective
    plain = cn.mahalanobis_svm(features, 0.3, FrobeniusBall(0.3)).solve().objective
    assert by_ddof == pytest.approx(by_weight, rel=1e-9)
    assert abs(by_ddof) < abs(plain)


# -- faults that users of such libraries reported ----------------------------------------------------------------------


def test_b18_fewer_rows_than_columns():
    """B18: the mean of two unit vectors is orthogonal to their spread, so that w = m / r for nu = 1, at sqrt(5)."""
    features = LinearFeatures(np.eye(3)[:2])
    with pytest.raises(UnboundedError, match=r"singular.*add a radius"):
        cn.mahalanobis_svm(features, 1.0).solve()
    solution = cn.mahalanobis_svm(features, 1.0, FrobeniusBall(0.1)).solve()
    assert solution.objective == pytest.approx(-2.5, rel=1e-7)
    assert solution.region.normal == pytest.approx([5.0, 5.0, 0.0], rel=1e-6, abs=1e-5)


def test_b16_a_constant_column_separates_for_certain():
    """B16: along a column that never varies the deviation is zero and the distance infinite; a radius makes it finite."""
    X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    with pytest.raises(UnboundedError, match="infinitely far"):
        cn.mahalanobis_svm(LinearFeatures(X), 0.5).solve()
    solution = cn.mahalanobis_svm(LinearFeatures(X), 1.0, FrobeniusBall(0.25)).solve()
    assert solution.objective == pytest.approx(-0.5 * (4 / (2 / 3 + 0.25) + 25 / 0.25), rel=1e-7)
    zero = cn.mahalanobis_svm(LinearFeatures(X * [1.0, 0.0]), 1.0).solve()  # constant at the origin: of no consequence
    assert zero.objective == pytest.approx(-0.5 * 4 / (2 / 3), rel=1e-7)


def test_b03_the_offset_is_an_interval_where_nu_n_is_whole():
    """B03: x = 1, ..., 4 and nu = 1/2: every offset between the second and the third score is optimal."""
    solution = cn.mahalanobis_svm(LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5).solve()
    w = 1.5 / 1.25
    assert (solution.offset.lower, solution.offset.upper) == pytest.approx((2 * w, 3 * w), rel=1e-6)
    assert solution.offset.end == "lower"


def test_b21_one_row_and_one_column():
    """B21: one row has no covariance, one column a scalar one."""
    with pytest.raises(InputError, match=r"ddof: 1 was found where the sample has 1 point"):
        cn.mahalanobis_svm(LinearFeatures([[1.0, 2.0]]), 0.5, FrobeniusBall(1.0), ddof=1)
    solution = cn.mahalanobis_svm(LinearFeatures(np.arange(1.0, 4.0)[:, None]), 1.0).solve()
    assert solution.objective == pytest.approx(-0.5 * 6, rel=1e-8)  # m^2 / s^2 = 4 / (2/3)


def test_duplicates_and_identical_rows():
    X = np.ones((6, 2)) * [1.0, -2.0]
    solution = cn.mahalanobis_svm(LinearFeatures(X), 0.3, FrobeniusBall(0.5)).solve()
    assert solution.region.contains(X).all()
    assert solution.objective == pytest.approx(-0.5 * 5 / 0.5, rel=1e-7)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0, -0.1, 1.5, np.nan, "0.5", None])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_outlier_fractions_out_of_range(nu, form):
    with pytest.raises(InputError, match="outlier_fraction"):
        cn.mahalanobis_svm(LinearFeatures(cloud()), nu, FrobeniusBall(0.2), form=form)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": cloud()}, "features: ndarray was found"),
        ({"ddof": 0.5}, "ddof"),
        ({"ddof": -1}, "ddof"),
        ({"ddof": 20}, "ddof: 20 was found where the sample has 20"),
        ({"covariance_weight": -1.0}, "covariance_weight: -1"),
        ({"covariance_weight": np.nan}, "covariance_weight"),
        ({"uncertainty": 0.3}, r"uncertainty: 0.3 was found"),
        ({"form": "both"}, "form: 'both'"),
        ({"form": "dual", "uncertainty": None}, "uncertainty: the worst covariance over ExactCovariance"),
        ({"form": "dual", "uncertainty": EntrywiseInterval(0.2)}, "use the primal form"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {
        "features": LinearFeatures(cloud()),
        "outlier_fraction": 0.2,
        "uncertainty": FrobeniusBall(0.2),
        **change,
    }
    with pytest.raises(InputError, match=message):
        cn.mahalanobis_svm(**arguments)


@pytest.mark.parametrize("radius", [-0.1, np.nan, np.inf, "1"])
def test_bad_radii(radius):
    with pytest.raises(InputError, match="radius"):
        FrobeniusBall(radius)
    problem = cn.mahalanobis_svm(LinearFeatures(cloud()), 0.2, FrobeniusBall(0.2))
    before = problem.solve().objective
    with pytest.raises(InputError, match="radius"):
        problem.set(radius=radius)
    assert problem.solve().objective == before


def test_a_radius_set_to_zero_is_caught_where_it_matters():
    problem = cn.mahalanobis_svm(LinearFeatures(cloud(3, 5)), 0.5, FrobeniusBall(0.2))
    problem.solve()
    with pytest.raises(UnboundedError, match="singular"):
        problem.set(radius=0.0).solve()


@pytest.mark.parametrize("make", [lambda X: X.astype(int), lambda X: X.tolist(), lambda X: np.asfortranarray(X)])
def test_kinds_of_arrays(make):
    X = np.round(3 * cloud())
    expected = cn.mahalanobis_svm(LinearFeatures(X), 0.2, FrobeniusBall(0.2)).solve().objective
    assert cn.mahalanobis_svm(LinearFeatures(make(X)), 0.2, FrobeniusBall(0.2)).solve().objective == expected


# -- compiling, pickling -----------------------------------------------------------------------------------------------


def test_numbers_change_without_another_compilation():
    features = LinearFeatures(cloud())
    problem = cn.mahalanobis_svm(features, 0.2, FrobeniusBall(0.2))
    problem.solve()
    for nu, r in ((0.5, 0.2), (0.5, 2.0), (0.1, 0.01)):
        found = problem.set(outlier_fraction=nu, radius=r).solve()
        fresh = cn.mahalanobis_svm(features, nu, FrobeniusBall(r)).solve()
        assert found.objective == pytest.approx(fresh.objective, rel=1e-7)
        same(found, fresh, cloud(9, seed=1), 1e-5)
        assert f"{nu:.6g}" in found.guarantee
    assert problem.compilations == 1
    assert problem.set(covariance_weight=0.5).solve().objective == pytest.approx(
        cn.mahalanobis_svm(features, 0.1, FrobeniusBall(0.01), 0.5).solve().objective, rel=1e-7
    )
    path = cn.mahalanobis_svm(features, 0.2, FrobeniusBall(0.2), form="dual")
    path.path(outlier_fraction=[0.2, 0.4, 0.6])
    assert path.compilations == 1


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_formulation_travels_by_its_recipe(form):
    problem = cn.mahalanobis_svm(gaussian(), 0.2, FrobeniusBall(0.2), form=form)
    value = problem.solve().objective
    assert pickle.loads(pickle.dumps(problem)).solve().objective == pytest.approx(value, rel=1e-9)
    assert problem.kind in ("QP", "SOCP")


# -- guarantees --------------------------------------------------------------------------------------------------------


def test_at_most_the_fraction_nu_lies_outside_and_hardly_less():
    """On any sample; and in p dimensions at most p + 1 points on the plane keep it from being exactly nu n."""
    rng = np.random.default_rng(12)
    for _ in range(60):
        n, p, nu = int(rng.integers(5, 40)), int(rng.integers(1, 5)), float(rng.uniform(0.05, 1.0))
        X = rng.standard_t(3, (n, p)) + 2 * rng.standard_normal(p)
        solution = module.sequential(LinearFeatures(X), nu, FrobeniusBall(float(rng.uniform(0.01, 2.0))))
        outside = int((~solution.region.contains(X)).sum())
        assert outside <= nu * n + 1e-9
        if abs(solution.objective) <= 1e-12:  # the theorem wants an offset other than zero: w = 0 holds every point
            assert solution.guarantee.startswith("w = 0 ")
            assert (outside, solution.guarantee.bound) == (0, 1.0)
            continue
        assert outside >= nu * n - (p + 1) - 1e-9
        assert solution.guarantee.bound == nu
        assert solution.guarantee.startswith(f"{outside} of {n} training points")


def test_the_share_of_new_points_outside_tends_to_nu():
    rng = np.random.default_rng(5)
    X, Z = (rng.standard_normal((n, 2)) @ [[1.0, 0.5], [0.0, 0.7]] + [3.0, -2.0] for n in (600, 20_000))
    solution = module.sequential(LinearFeatures(X), 0.2, FrobeniusBall(0.1))
    assert (~solution.region.contains(Z)).mean() == pytest.approx(0.2, abs=0.04)


def test_no_member_brings_the_plane_nearer_than_is_claimed_and_one_attains_it():
    rng = np.random.default_rng(6)
    for uncertainty in (FrobeniusBall(0.5), EntrywiseInterval(0.3), LoewnerInterval(0.4, "nominal")):
        solution = cn.mahalanobis_svm(LinearFeatures(cloud(14)), 0.3, uncertainty).solve()
        sample = Sample.of(LinearFeatures(cloud(14)), uncertainty)
        w, rho = solution.region.normal, solution.offset.used
        drawn = [rho / np.sqrt(w @ sample.centred.sample(rng) @ w) for _ in range(300)]
        assert min(drawn) >= solution.values["distance"] * (1 - 1e-6)
        attained = rho / np.sqrt(w @ Adversary(sample.centred)(w).member @ w)
        assert attained == pytest.approx(solution.values["distance"], rel=1e-5)
        assert f"{solution.values['distance']:.6g} deviations" in solution.guarantee


# -- the checker is checked --------------------------------------------------------------------------------------------


def small(uncertainty=None):
    features = LinearFeatures(datasets.blob(n=12, dimension=3).nominal)
    return cn.mahalanobis_svm(features, 0.3, FrobeniusBall(0.3) if uncertainty is None else uncertainty)


@pytest.mark.parametrize("name", ["metric_gram", "metric_gram_of_shape", "expansion"])
def test_a_woodbury_step_that_is_one_per_cent_wrong_is_found(monkeypatch, name):
    right = getattr(woodbury, name)
    monkeypatch.setattr(woodbury, name, lambda *arguments: 1.01 * right(*arguments))
    report = cn.check(small())
    assert not report.passed


def test_a_counterpart_that_is_one_per_cent_wrong_is_found(monkeypatch):
    right = FrobeniusBall.worst_deviation
    monkeypatch.setattr(FrobeniusBall, "worst_deviation", lambda self, a: 1.01 * right(self, a))
    report = cn.check(small())
    assert {row.source for row in report.rows if row.verdict == "fail"} >= {"semi_infinite", "robust_dual", "primal"}


def test_a_worst_covariance_that_is_one_per_cent_wrong_is_found(monkeypatch):
    right = FrobeniusBall.ellipsoidal
    monkeypatch.setattr(FrobeniusBall, "ellipsoidal", lambda self: 1.01 * right(self))
    assert not cn.check(small()).passed


def test_a_plane_that_is_a_little_off_is_found(monkeypatch):
    """The normal, not the objective, is wrong: decision values and the mapped solution show it."""
    right = module.Whitened.normal
    monkeypatch.setattr(module.Whitened, "normal", lambda self, alpha: right(self, alpha) * (1 + 1e-3 * np.arange(3)))
    report = cn.check(small())
    assert any("decision gap" in row.reason for row in report.rows if row.verdict == "fail")


def test_the_minimax_machine_is_another_form_at_one_fraction_and_one_confidence_only():
    assert module._no_moment_machine(1.0, 0.0) is None
    for fraction, confidence in ((1.0, 0.5), (0.5, 0.0), (0.5, 0.5), (1.0, None)):
        assert "for outlier_fraction = 1 only" in module._no_moment_machine(fraction, confidence)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e7])
@pytest.mark.parametrize(("c", "r"), [(10**6, 1e-4), (1.5, 1e-9), (10**7, 1e-6), (1e-3, 1e-10)])
def test_a_radius_that_is_lost_beside_the_covariance(unit, c, r):
    """Woodbury's identity subtracts two numbers of the size of c K / r; with nu = 1 the value is m'S^{-1}m / 2, by fractions."""
    points = [(3, 1), (1, 2), (4, 5), (2, 2), (7, 3)]
    weight, radius, n = Fraction(c), Fraction(r), len(points)
    mean = [Fraction(sum(x[k] for x in points), n) for k in (0, 1)]
    centred = [[x[k] - mean[k] for k in (0, 1)] for x in points]
    S = [[weight * sum(x[i] * x[j] for x in centred) + radius * (i == j) for j in (0, 1)] for i in (0, 1)]
    determinant = S[0][0] * S[1][1] - S[0][1] * S[1][0]
    value = (S[1][1] * mean[0] ** 2 - 2 * S[0][1] * mean[0] * mean[1] + S[0][0] * mean[1] ** 2) / determinant / 2
    normal = [S[1][1] * mean[0] - S[0][1] * mean[1], S[0][0] * mean[1] - S[0][1] * mean[0]]
    features = cn.LinearFeatures(unit * np.array(points, dtype=float))
    ball = cn.uncertainty.FrobeniusBall(r * unit**2)
    solution = cn.mahalanobis_svm(features, 1.0, ball, covariance_weight=c, form="dual").solve()
    assert solution.objective == pytest.approx(float(value), rel=1e-7)
    direction = solution.region.normal / solution.region.normal[0]
    assert direction[1] == pytest.approx(float(normal[1] / normal[0]), rel=1e-6)
    others = (module.block_dual, module.libsvm) if c > 1 else (module.block_dual,)
    for node in others:
        nu = 1.0 if node is module.block_dual else 0.9
        found = node(features, nu, ball, c).objective
        dual = cn.mahalanobis_svm(features, nu, ball, covariance_weight=c, form="dual").solve().objective
        assert [found, dual] == pytest.approx(
            [cn.mahalanobis_svm(features, nu, ball, c).solve().objective * -1] * 2, rel=1e-6
        )


def test_a_hull_that_holds_the_origin_is_named_where_the_solver_fails():
    """A kernel so narrow that most points are orthogonal to both pivots: half of the features are below 1e-17."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    features = KernelFeatures(X, kernels.gaussian(gamma=30), rank=2)
    points = np.asarray(features.training)
    assert (
        np.sort(np.linalg.norm(points, axis=1))[7] < 1e-30
    )  # the mean of the eight shortest, a fifth of the sample, is in the reduced hull
    for nu in (0.2, 0.5):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                solution = cn.mahalanobis_svm(features, nu, FrobeniusBall(0.1)).solve()
        except SolverError as error:
            assert f"features: the reduced hull of the sample at the outlier_fraction {nu} comes within" in str(error)
            assert "where the optimum is 0 at w = 0" in str(error) and "cn.one_class_svm" in str(error)
        else:
            said = [solution.guarantee, *(str(one.message) for one in caught)]
            assert abs(solution.objective) < 1e-9
            assert any("w = 0" in words or "no digit of the value is known" in words for words in said)
        # The mean of the shortest is in the reduced hull, and what it is from the origin is known to all digits.
        nearest = points[np.argsort(np.linalg.norm(points, axis=1))[: round(nu * 40)]].mean(axis=0)
        assert 0.0 < cn.one_class_svm(features, nu).solve().objective <= (1 + 1e-6) * nearest @ nearest / 2


NODES = [
    (module.robust, {}),
    (module.derived_counterpart, {}),
    (module.semi_infinite, {}),
    (module.robust_dual, {}),
    (module.primal, {}),
    (module.metric_primal, {}),
    (module.dual, {}),
    (module.sequential, {}),
    (module.block_dual, {}),
    (module.kernel_dual, {}),
    (module.shaped_dual, {}),
    (module.libsvm, {}),
    (cn.mahalanobis_svm, {"form": "dual"}),
]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize(("node", "how"), NODES)
def test_every_node_says_so_where_the_reduced_hull_holds_the_origin(node, how, unit):
    """On a line the reduced hull at nu = 1/2 runs from the mean of the lower half to that of the upper one."""
    nu = Fraction(1, 2)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(24) * unit
        exact = sorted(Fraction(float(value)) for value in x)
        assert sum(exact[:12]) < 0 < sum(exact[12:])
        features = LinearFeatures(x[:, None])
        made = node(features, float(nu), FrobeniusBall(0.3 * unit**2), **how)
        solution = made.solve() if hasattr(made, "solve") else made
        assert solution.guarantee.startswith("w = 0 to the solver's accuracy") and solution.guarantee.bound == 1.0
        assert solution.region.contains(features.training).all() and not solution.region.normal.any()


@pytest.mark.parametrize(("node", "how"), NODES)
def test_a_hull_that_comes_near_the_origin_without_holding_it_is_separated(node, how):
    """Its distance is a thousandth of the points': the plane's is that over the deviation, and no point is lost."""
    x = np.r_[np.linspace(-1.0, 1.0, 11), np.linspace(-1.0, 1.0, 11)] + 1e-3
    features = LinearFeatures(x[:, None])
    made = node(features, 1.0 if node is not module.libsvm else 0.5, FrobeniusBall(0.3), **how)
    if node is module.libsvm:
        assert made.guarantee.startswith("w = 0")  # below one the hull holds the origin
        return
    solution = made.solve() if hasattr(made, "solve") else made
    distance = 1e-3 / np.sqrt(np.var(x) + 0.3)
    assert "w = 0" not in solution.guarantee
    found = -solution.objective if node is module.derived_counterpart else np.sqrt(2 * abs(solution.objective))
    assert float(found) == pytest.approx(distance, rel=1e-6)


def test_the_dual_of_a_covariance_that_is_known_is_feasible_though_its_axes_are_rounded():
    """In the axes of the covariance it is the identity up to rounding, which once decided the scale it was judged in."""
    case = Case(
        "mahalanobis_svm",
        Knobs(n=12, dimension=4, conditioning=152.37922893111022, degeneracy=0.3, seed=278594, level=0.0, unit=1e3),
    )
    arguments = case.instance().arguments
    mean = module.sequential(**arguments)
    assert module.robust_dual(**arguments).solve().objective == pytest.approx(mean.objective, rel=1e-7)


@pytest.mark.parametrize("node", [module.robust, module.derived_counterpart, module.robust_dual])
def test_points_that_are_one_are_infinitely_far_without_a_radius(node):
    problem = node(LinearFeatures(np.full((5, 2), 3.0)), 0.4, FrobeniusBall(0.0))
    with pytest.raises(UnboundedError, match="the worst covariance is singular"):
        problem.solve()


def test_a_bound_on_w_makes_no_plane_of_what_a_solver_leaves_of_zero():
    """A constraint that holds at w = 0 with room to spare leaves it optimal."""
    x = np.random.default_rng(0).standard_normal(24)
    for node in (module.robust, module.primal, module.metric_primal):
        made = node(LinearFeatures(x[:, None]), 0.5, FrobeniusBall(0.3))
        solution = made.subject_to(
            lambda v, name="v" if node is module.metric_primal else "w": cp.norm(v[name]) <= 5
        ).solve()
        assert not solution.region.normal.any() and "deviations" not in solution.guarantee


@cache
def without_the_column(node, uncertainty):
    made = node(LinearFeatures(cloud(14) + 4), 0.3, uncertainty)
    return (made.solve() if hasattr(made, "solve") else made).objective


@pytest.mark.parametrize("uncertainty", [None, WishartBall(0.1), SubspaceBall("nominal", 0.2)], ids=repr)
@pytest.mark.parametrize("node", [module.robust, module.semi_infinite, module.derived_counterpart])
@pytest.mark.parametrize("column", ["total", "copy"])
def test_a_column_that_others_make_changes_nothing(column, node, uncertainty):
    """Mahalanobis distances do not depend on the coordinates, and the points lie in the range of the singular covariance."""
    X = cloud(14) + 4
    more = X.sum(axis=1) * 0.7 if column == "total" else X[:, 0] * 1.1 / 1.1
    made = node(LinearFeatures(np.column_stack([X, more])), 0.3, uncertainty)
    found = made.solve() if hasattr(made, "solve") else made
    assert found.objective == pytest.approx(without_the_column(node, uncertainty), rel=1e-6)


def test_a_point_next_to_the_boundary_is_counted_alike_by_programs_and_the_estimator():
    """Twenty-six of ninety wines lie below the plane whose multipliers are all at a bound, one of them by 3e-6 of the offset."""
    X = pytest.importorskip("sklearn.datasets").load_wine().data[:90]
    kernel = kernels.gaussian(gamma="scale")
    features, ball = KernelFeatures(X, kernel), FrobeniusBall(0.1)
    made = [cn.mahalanobis_svm(features, 0.3, ball, form=form).solve() for form in ("primal", "dual")]
    made += [module.block_dual(features, 0.3, ball)]
    counts = {str(solution.guarantee).split(" of ")[0] for solution in made}
    detector = cn.estimators.MahalanobisSVM(0.3, kernel=kernel, uncertainty=ball).fit(X)
    inside = [solution.region.contains(features.training) for solution in made] + [detector.predict(X) > 0]
    assert all((one == inside[0]).all() for one in inside)
    assert counts == {str((~inside[0]).sum())} == {"26"}


@pytest.mark.parametrize("deviation", [0.0, 1e-4, 1e-3])
@pytest.mark.parametrize("radius", [0.003, 0.1])
def test_a_column_that_hardly_varies_has_the_size_that_the_set_gives_it(deviation, radius):
    """A Frobenius ball of one's own has the closed form of the catalogue's, S + r I, and that program is written down in CVXPY."""

    class Own(CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius]

    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(30, 3)) * [deviation, 1, 1] + np.array([4.0, 3.0, 5.0])
        w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(30, nonneg=True)
        worst = np.cov(X.T, bias=True) + radius * np.eye(3)
        objective = cp.quad_form(w, worst) / 2 - b + cp.sum(xi) / 9
        truth = cp.Problem(cp.Minimize(objective), [X @ w >= b - xi]).solve(solver="CLARABEL")
        found = cn.mahalanobis_svm(cn.LinearFeatures(X), 0.3, Own(radius)).solve()
        assert found.objective == pytest.approx(truth, rel=2e-6)


@pytest.mark.parametrize("value", [3.0, 3.1, 0.1, 7.7])
def test_the_value_of_a_column_that_never_varies_is_no_variance(value):
    """The mean of thirty numbers 3.1 is another number, and what that leaves was taken for a deviation of 1e-15."""

    class Own(CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius]

    X = np.c_[np.full(30, value), np.random.default_rng(0).normal(size=30) + 2]
    features = cn.LinearFeatures(X)
    assert Sample.of(features, Own(0.5)).moments.variances[0] == 0.0
    known = cn.mahalanobis_svm(features, 0.3, FrobeniusBall(0.5)).solve().objective
    assert cn.mahalanobis_svm(features, 0.3, Own(0.5)).solve().objective == pytest.approx(known, rel=1e-6)
