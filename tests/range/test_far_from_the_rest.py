"""Few points far from the rest, columns in mixed units, kernels that are wide, radii far from where a set was compiled.

Coefficients then differ by orders of magnitude while solvers know absolute tolerances: residuals of 1e-11 said nothing of
values that were per cents off. Optima are held against bounds from both sides that no solver decides.
"""

from __future__ import annotations

import math
import re
import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import estimators
from convexnovelty import uncertainty as sets
from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.attempts import DOUBTFUL, RESCALED, Attempts
from convexnovelty.errors import SolverError, UnboundedError
from convexnovelty.formulation import NO_DIGIT
from convexnovelty.methods import mahalanobis_svm, one_class_svm
from convexnovelty.modelling import score_doubts

NU = 0.1
A = np.array([1.0, -2.0, 0.5])


def bounds(K: np.ndarray, a: np.ndarray) -> tuple[float, float]:
    """What weak duality proves of min a'Ka/2 over the capped simplex, from any point of it."""
    cap, scores = 1.0 / (NU * len(K)), K @ a
    least, left = 0.0, 1.0
    for i in np.argsort(scores):
        share = min(cap, left)
        least, left = least + share * scores[i], left - share
    return least - a @ scores / 2, a @ scores / 2


def skewed(seed: int, sigma: float) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(0, sigma, size=(100, 3))


def cubes(X: np.ndarray) -> np.ndarray:
    return (X @ X.T / (X.shape[1] * X.var()) + 1.0) ** 3


SAMPLES = {
    **{f"skewed {sigma:g}, {seed}": (skewed(seed, sigma), "linear") for sigma in (1.5, 3.0) for seed in (0, 3)},
    "a line, cubes": (np.random.default_rng(1).standard_t(2, size=(40, 1)), "poly"),
    "skewed, cubes": (skewed(1, 1.0), "poly"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_one_class_machines_are_solved_whatever_the_largest_length(name):
    X, kernel = SAMPLES[name]
    K = X @ X.T if kernel == "linear" else cubes(X)
    a = solve_dual(K, "precomputed", outlier_fraction=NU, tolerance=1e-6, of_scores=1e-12).multipliers
    low, high = bounds(K, a)
    assert high - low <= 1e-8 * high
    assert estimators.OneClassSVM(NU, kernel=kernel).fit(X).objective_ == pytest.approx(high, rel=1e-8)
    features = (
        cn.LinearFeatures(X)
        if kernel == "linear"
        else cn.KernelFeatures(X, cn.kernels.polynomial(3, 1 / (X.shape[1] * X.var()), 1.0))
    )
    for form, sign in (("primal", -1.0), ("dual", 1.0)):
        assert sign * cn.one_class_svm(features, NU, form=form).solve().objective == pytest.approx(high, rel=1e-6)


def _mixed_units():
    """Points, and the optimum of the program in columns of size one, in which both bounds agree."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(80, 3)) * 10.0 ** rng.uniform(-4, 4, 3) + 10.0 ** rng.uniform(-4, 4, 3) * 3, 0.08248323524


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_columns_in_mixed_units_are_solved_in_the_distance_of_their_hull(form):
    X, right = _mixed_units()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = cn.one_class_svm(cn.LinearFeatures(X), NU, form=form).solve()
    assert abs(solution.objective) == pytest.approx(right, rel=1e-6)
    assert not solution.attempts[-1].remark


def in_the_length_of_the_points(monkeypatch):
    """Programs are posed as where no distance of a hull is found."""
    monkeypatch.setattr(one_class_svm, "margin_unit", lambda points, unit, *rest, **named: unit)


def as_a_solver_leaves_it(monkeypatch):
    """No optimum is looked for from the solver's point, as beyond the number of points for which one is, nor in units of the cost."""
    in_the_length_of_the_points(monkeypatch)
    monkeypatch.setattr(Attempts, "_scales", [{RESCALED: True}])
    monkeypatch.setattr(one_class_svm, "polished_margin", lambda *given, **named: None)


def test_columns_in_mixed_units_are_solved_or_the_value_is_said_to_be_known_to_few_digits(monkeypatch):
    in_the_length_of_the_points(monkeypatch)
    X, right = _mixed_units()
    assert estimators.OneClassSVM(NU, kernel="linear").fit(X).objective_ == pytest.approx(right, rel=1e-6)
    for form, sign in (("primal", -1.0), ("dual", 1.0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution = cn.one_class_svm(cn.LinearFeatures(X), NU, form=form).solve()
        # What is told bounds the error; nothing is told of less than the share that is worth a warning.
        told = [re.search(r"known to a share of (\S+) of itself", str(w.message)) for w in caught]
        share = max((float(found[1]) for found in told if found), default=DOUBTFUL)
        assert sign * solution.objective == pytest.approx(right, rel=share)
        assert solution.attempts[-1].remark.startswith("its residuals may change the value by a share of")


@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_a_wide_kernel_tells_points_apart_as_its_limit_does(offset):
    """Means far apart make gamma="scale" small, where the machine is the ball of the points."""
    X = np.random.default_rng(0).normal(size=(100, 2)) + np.array([0.0, offset])
    limit = estimators.SoftBall(NU, kernel="linear").fit(X).decision_function(X)
    gamma = 1 / (2 * X.var())
    for kind, factor in ((estimators.OneClassSVM, 1), (estimators.SoftBall, 2)):
        found = kind(NU).fit(X).decision_function(X) / gamma / factor
        np.testing.assert_allclose(found, limit, rtol=0, atol=1e-4 * np.ptp(limit))
        assert ((found < 0) == (limit < 0)).all()


def test_scores_that_a_solver_cannot_tell_apart_are_said_to_be_alike():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.array([0.0, 1e5])
    with pytest.warns(UserWarning, match="the scores of the training points are alike to nearly the solver's accuracy"):
        estimators.OneClassSVM(NU, solver="CLARABEL").fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimators.OneClassSVM(NU).fit(X)
        estimators.OneClassSVM(NU).fit(np.ones((5, 2)))


def test_equal_scores_are_all_inside_where_an_algorithm_leaves_its_tolerance():
    rng = np.random.default_rng(25)
    X = rng.lognormal(0, rng.uniform(1, 3), size=(80, 3))
    family = [cn.kernels.polynomial(2), cn.kernels.gaussian(width=3.0)]
    machine = estimators.KernelLearningSVM(NU, kernels=family).fit(X)
    assert (machine.predict(X) == 1).all() and str(machine.guarantee_).startswith("0 of 80")


# -- sets ---------------------------------------------------------------------------------------------------------------


class Squared(sets.CovarianceSet):
    """The Frobenius ball, whose right-hand side falls with the square of the radius."""

    def membership(self, S):
        return [cp.sum_squares(S - self.center) <= self.radius**2]


@pytest.mark.parametrize("radius", [0.01, 0.003, 0.001])
def test_a_radius_set_far_below_the_one_compiled_keeps_its_digits(radius):
    F = np.array([[1, 0.3, 0], [0, 0.8, -0.2], [0.1, 0, 0.5]])
    moments = cn.Moments([3.0, 2.0, 1.5], 0.3 * F @ F.T)
    z = math.sqrt(moments.mean @ np.linalg.solve(moments.covariance + radius * np.eye(3), moments.mean))
    problem = cn.single_class_mpm(moments, 0.5, uncertainty=Squared(1.0))
    assert problem.set(radius=radius).solve().objective == pytest.approx(1 / (z - 1), rel=1e-6)
    (on_path,) = cn.single_class_mpm(moments, 0.5, uncertainty=Squared(1.0)).path(radius=[radius])
    assert on_path.objective == pytest.approx(1 / (z - 1), rel=1e-6)


@pytest.mark.parametrize("radius", [1e3, 1e5, 1e6])
def test_a_set_far_larger_than_its_centre_decides_the_units_of_its_program(radius):
    """The deviation lies between r|w| and (s + r)|w| with the largest nominal one s, and so does the optimum."""
    X = np.random.default_rng(0).normal(size=(12, 3)) + np.array([4.0, 3.0, 2.0])
    features, largest = cn.LinearFeatures(X), math.sqrt(np.linalg.eigvalsh(np.cov(X.T, ddof=0))[-1])
    plain = cn.one_class_svm(features, 0.3).solve().objective
    found = cn.mahalanobis_svm(features, 0.3, sets.BuresBall(radius)).solve().objective
    assert -plain / radius**2 * (1 + 1e-6) <= found <= -plain / (radius + largest) ** 2 * (1 - 1e-6)


@pytest.mark.parametrize("radius", [3e2, 1e4])
def test_a_large_set_of_covariances_puts_no_mean_into_the_hull(radius):
    """(1 + r)^2 times the least |w|^2, since the deviation of the unit covariance grows by r."""
    X = np.random.default_rng(0).normal(size=(12, 3)) + np.array([4.0, 3.0, 2.0])
    negatives = cn.Moments(np.zeros(3), np.eye(3))
    plain = cn.moment_classifier(X, negatives).solve().objective
    found = cn.moment_classifier(X, negatives, uncertainty=sets.BuresBall(radius)).solve().objective
    assert found == pytest.approx((1 + radius) ** 2 * plain, rel=1e-6)


@pytest.mark.parametrize("p, radius", [(1.01, 1e4), (1.001, 1.0), (1.001, 100.0)])
def test_exponents_near_one_have_dual_norms_of_a_large_order(p, radius):
    q = p / (p - 1)
    right = radius * 2 * np.sum((np.abs(A) / 2) ** q) ** (1 / q)
    for ball in (sets.NormBall(p, radius), sets.WeightedNormBall(np.ones(3), p, radius)):
        assert sets.evaluate_support(ball.centred(np.zeros(3)), A) == pytest.approx(right, rel=1e-9)
    moments = cn.Moments(np.zeros(3), np.eye(3))
    value = sets.evaluate_deviation(sets.DiagonalBall(p, radius).centred(moments), A)
    assert value == pytest.approx(math.sqrt(A @ A + radius * np.sum(np.abs(A / 2) ** (2 * q)) ** (1 / q) * 4), rel=1e-9)


@pytest.mark.parametrize("radius", [1e8, 1e12])
def test_closed_forms_have_no_limit_on_the_radius(radius):
    moments = cn.Moments(np.ones(3), np.eye(3))
    length = float(np.linalg.norm(A))
    assert sets.evaluate_deviation(sets.BuresBall(radius).centred(moments), A) == pytest.approx((1 + radius) * length)
    value = sets.evaluate_loss(sets.GelbrichBall(radius).centred(moments), A, 1.0)
    assert value == pytest.approx(A.sum() + (1 + math.sqrt(2) * radius) * length)


def test_the_gauge_of_what_lies_around_another_centre():
    """|u_1 - 3| <= t and |u_2| <= t hold the origin from t = 3 on."""
    recipe = 4 * sets.Box([1.0, 1.0]) + [3.0, 0.0]
    for member, size in (([0.0, 0.0], 3.0), ([1e-9, 0.0], 3.0), ([3.0, 0.5], 0.5), ([5.0, -1.0], 2.0)):
        assert sets.gauge(recipe.centred(np.zeros(2)), member) == pytest.approx(size, rel=5e-6)
    # Blown up after it was moved, a set may hold a member at some sizes alone, the least of which is meant.
    moved = 2 * (sets.Box([1.0, 1.0]) + np.array([3.0, 0.0]))
    for member, size in (([3.0, 0.0], 0.75), ([2.5, 0.0], 0.625), ([6.0, 0.0], 1.5)):
        assert sets.gauge(moved.centred(np.zeros(2)), member) == pytest.approx(size, rel=5e-6)
    assert sets.gauge(
        (2 * (sets.Box([1.0, 1.0]) + np.array([0.5, 0.0]))).centred(np.zeros(2)), [0.0, 0.0]
    ) == pytest.approx(0.0, abs=1e-6)
    ball, unit = sets.FrobeniusBall(1.0), cn.Moments(np.zeros(2), np.eye(2))
    for recipe, member, size in (
        (2 * (ball + 3 * np.eye(2)), 4 * np.eye(2), 3 / (3 + math.sqrt(0.5))),
        (5 * ball + 0.2 * np.eye(2), np.eye(2), 0.2 * math.sqrt(2)),
        (5 * ball + 2 * np.eye(2), np.eye(2), math.inf),  # no member is below the shift
    ):
        assert sets.gauge(recipe.centred(unit), member) == pytest.approx(size, rel=5e-6)
    turned = (4 * sets.Box([1.0, 1.0]) + [3.0, 0.0]).image(np.eye(2)).centred(np.zeros(2))
    assert sets.gauge(turned, [0.0, 0.0]) == pytest.approx(3.0, rel=5e-6)
    X = np.random.default_rng(0).normal(size=(30, 2)) + 5
    means = 4 * sets.MeanWithin(sets.Box([1.0, 1.0])) + [3.0, 0.0]
    assert sets.coverage(means, cn.Moments.estimate(X), X) == 1.0


def test_the_gauge_of_a_set_that_does_not_hold_its_smaller_ones():
    """Points of a simplex have one total each, so that no search over radii finds them: the program does."""
    simplex, member, origin = sets.Simplex(3.7), np.array([0.3, 0.5, 0.2]), np.zeros(3)
    for recipe in (simplex, simplex.image(np.eye(3)), simplex.preimage(np.eye(3)), simplex + origin):
        assert sets.gauge(recipe.centred(origin), member) == pytest.approx(1.0, rel=1e-6)
    means = sets.MeanWithin(simplex).centred(cn.Moments(origin, np.eye(3)))
    assert sets.gauge(means, member) == pytest.approx(1.0, rel=1e-6)


# -- gauges of what is made of dilations ----------------------------------------------------------------------------------


def test_gauges_of_what_is_made_of_a_dilation_are_its_multiples():
    ball, member = 4 * sets.FrobeniusBall(1.0), np.eye(3) + 0.3 * np.diag([1.0, 0.0, 0.0])
    moments = cn.Moments(np.zeros(3), np.eye(3))
    for recipe in (ball, ball.image(np.eye(3)), ball.preimage(np.eye(3)), ball + np.zeros((3, 3))):
        assert sets.gauge(recipe.centred(moments), member) == pytest.approx(0.3, rel=3e-6)
    shifted = (3 * sets.NormBall(2, 0.4) + np.array([0.5, 0.0])).centred(np.zeros(2))
    assert sets.gauge(shifted, [1.7, 0.0]) == pytest.approx(3.0, rel=3e-6)
    assert sets.gauge(shifted, [-1.2, 0.0]) == pytest.approx(4.25, rel=3e-6)


def test_a_calibration_does_not_depend_on_how_a_set_is_written():
    X = np.random.default_rng(0).normal(size=(40, 2))
    plain = 4 * sets.FrobeniusBall(1.0)
    found = [
        sets.calibrate(recipe, X, 0.9, resamples=10).numbers()["multiple"]
        for recipe in (plain, plain.image(np.eye(2)), plain.preimage(np.eye(2)))
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-4)
    within = sets.calibrate(sets.MeanWithin(4 * sets.NormBall(2, 1.0)), X, 0.9, resamples=10)
    assert within.numbers()["multiple"] == pytest.approx(
        sets.calibrate(sets.MeanWithin(sets.NormBall(2, 1.0)), X, 0.9, resamples=10).radius, rel=1e-4
    )


# -- memberships by sums of squares -----------------------------------------------------------------------------------------


class SquaredDisc(sets.PointSet):
    """A disc whose bound is compiled beside a one, far from which it was lost."""

    def membership(self, u):
        return [cp.sum_squares(u - self.center) <= self.radius**2]


@pytest.mark.parametrize("radius", [1e-8, 1e-3, 1e6, 1e10])
def test_a_sum_of_squares_is_a_ball_whatever_its_radius(radius):
    w = np.array([1.0, -2.0])
    disc = SquaredDisc(radius).centred(np.zeros(2))
    assert sets.evaluate_support(disc, w) == pytest.approx(radius * math.sqrt(5), rel=1e-6)
    assert sets.adversary(disc, w).value == pytest.approx(radius * math.sqrt(5), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1e-2, 1e3, 1e4])
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_a_sum_of_squares_is_the_frobenius_ball_in_every_unit(unit, share):
    a, nominal = np.array([1.0, -2.0]), np.array([[1.0, 0.3], [0.3, 0.8]])
    moments, radius = cn.Moments(np.array([3.0, 2.0]) * unit, nominal * unit**2), share * unit**2
    right = unit * math.sqrt(a @ (nominal + share * np.eye(2)) @ a)
    centred = Squared(radius).centred(moments)
    assert sets.evaluate_deviation(centred, a) == pytest.approx(right, rel=1e-6)
    assert sets.adversary(centred, a).value == pytest.approx(right, rel=1e-6)
    found, closed = (
        cn.single_class_mpm(moments, 0.3, uncertainty=kind(radius)).solve() for kind in (Squared, sets.FrobeniusBall)
    )
    assert found.objective == pytest.approx(closed.objective, rel=1e-5)


class InMetric(sets.MeanSet):
    """The ellipsoid of means in the metric of the covariance, by a matrix fraction."""

    def membership(self, m, S):
        return [cp.matrix_frac(m - self.center, S) <= self.radius**2]


def test_a_radius_set_far_above_the_one_compiled_keeps_its_digits():
    """The value that was left had nothing to do with the optimum: its residuals could change all of it."""
    S = np.diag([0.9, 0.8, 0.7, 1.0])
    mean = np.array([-2.586, 1.598, 1.36, 0.681])
    z, kappa = math.sqrt(mean @ np.linalg.solve(S, mean)), 0.1824
    problem = cn.single_class_mpm(cn.Moments(mean, S), kappa**2 / (1 + kappa**2), uncertainty=InMetric(3.25e-4))
    for radius in (3.0, z - kappa - 0.2):
        assert problem.set(radius=radius).solve().objective == pytest.approx(1 / (z - radius - kappa), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e3])
def test_a_gauge_that_is_found_by_halving_does_not_depend_on_the_unit(unit):
    """S <= S0 + r I from the largest eigenvalue of S - S0 on."""
    nominal, member = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[2.5, 0.1], [0.1, 1.9]])
    right = float(np.linalg.eigvalsh(member - nominal)[-1])
    interval = sets.LoewnerInterval(unit**2).centred(cn.Moments(np.zeros(2), nominal * unit**2))
    assert sets.gauge(interval, member * unit**2) / unit**2 == pytest.approx(right, rel=2e-6)


POWERS = {
    "variances": lambda unit: sets.DiagonalBall(p=2, radius=0.2 * unit**2),
    "means": lambda unit: sets.MeanWithin(sets.NormBall(3, 0.2 * unit)),
}


@pytest.mark.parametrize("unit", [1e-8, 1e5, 1e8])
@pytest.mark.parametrize("name", POWERS)
def test_power_cones_see_no_units(name, unit):
    X = np.random.default_rng(1).normal(size=(14, 3)) + 3.0
    here, there = (
        cn.single_class_mpm(cn.Moments.estimate(X * u), 0.5, uncertainty=POWERS[name](u)).solve().objective
        for u in (1.0, unit)
    )
    assert there == pytest.approx(here, rel=1e-6)


@pytest.mark.parametrize("seed", [5, 6, 10])
@pytest.mark.parametrize("hull", [False, True])
def test_a_program_whose_value_is_no_longer_known_to_six_digits_is_made_anew(seed, hull):
    """A radius ten million times that of the program that was made; the truth is pair steps in the one metric."""
    features = cn.LinearFeatures(np.random.default_rng(seed).normal(size=(15, 2)) + 4)
    recipe = sets.SpectralBall(0.1)
    problem = cn.mahalanobis_svm(features, 0.4, recipe | sets.WishartBall(0.1) if hull else recipe)
    name = "first_radius" if hull else "radius"
    found = problem.set(**{name: 1e6}).solve()
    truth = mahalanobis_svm.block_dual(features, 0.4, sets.SpectralBall(1e6))
    assert found.objective == pytest.approx(-truth.objective, rel=1e-6)
    assert problem.parameters[name] == 1e6


def test_a_program_made_anew_counts_where_it_is_known_better_only(monkeypatch):
    """The program at hand, its numbers and its letters stay where the one made anew fails or is known to fewer digits."""
    features = cn.LinearFeatures(np.random.default_rng(5).normal(size=(15, 2)) + 4)
    problem = cn.mahalanobis_svm(features, 0.4, sets.SpectralBall(0.1)).set(radius=1e6)
    solved, made = type(problem)._solved, []

    def refused(self, solver, options, tried=()):
        made.append(self.problem)
        if tried:
            raise SolverError("the program made anew fails")
        return solved(self, solver, options, tried)

    monkeypatch.setattr(type(problem), "_solved", refused)
    before = problem.problem
    found = problem.solve()
    assert len(made) == 2 and made[1] is not before
    assert problem.problem is before
    assert problem.parameters["radius"] == 1e6
    np.testing.assert_allclose(problem.variables["w"].value, found.values["w"])


INTERSECTED = {
    "Wishart": (sets.WishartBall(0.05) & sets.WishartBall(0.1), sets.WishartBall(0.05)),
    "Kullback-Leibler": (sets.KLBall(0.05) & sets.KLBall(0.1), sets.KLBall(0.05)),
    "Delage and Ye": (sets.DelageYe(0.01, 1.2) & sets.DelageYe(0.02, 1.4), sets.DelageYe(0.01, 1.2)),
}


@pytest.mark.parametrize("deviations", [300.0, 3000.0])
@pytest.mark.parametrize("name", INTERSECTED)
def test_a_mean_many_deviations_off_says_nothing_of_the_size_of_covariances(name, deviations):
    """The smaller of two sets is their intersection, and its closed form knows no solver."""
    whole, smaller = INTERSECTED[name]
    mean = np.array([0.6, -0.5, 0.4, 0.48]) * deviations
    moments = cn.Moments(mean, np.eye(4))
    found, truth = (cn.single_class_mpm(moments, 0.3, recipe).solve().objective for recipe in (whole, smaller))
    assert found == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize(("seed", "exponent"), [(2, 4.7), (4, 6.55), (5, 6.2)])
@pytest.mark.parametrize("representation", ["dense", "low_rank"])
def test_thin_sets_around_far_means_keep_their_digits(seed, exponent, representation):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    F = np.logspace(0, -exponent / 2, 6)[:, None] * axes.T
    mean, radius = 3 * rng.standard_normal(6), 10 ** rng.uniform(-2, 0)
    moments = cn.Moments(mean, F.T @ F) if representation == "dense" else cn.Moments.low_rank(mean, F)
    both = sets.WishartBall(radius) & sets.WishartBall(2 * radius)
    found = cn.single_class_mpm(moments, 0.3, both).solve().objective
    # min w|y| with m'y - kappa w|y| = 1 in coordinates in which the covariance is the identity.
    kappa, w = math.sqrt(0.3 / 0.7), sets.tools.stein_root(radius)
    distance = float(np.linalg.norm(np.linalg.solve(F.T, mean))) / w
    assert found == pytest.approx(1 / (distance - kappa), rel=2e-6)


TWO_SIDES = np.array([[8.1162592e-01, 1.15588482e-06], [-1.25123081, 7.86641985e-07]])


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_two_points_either_side_of_the_origin_by_hand(form):
    """The optimum is half the squared distance of the line through both, which is 1e-6 of their size."""
    (a, b), (c, d) = TWO_SIDES
    right = (a * d - b * c) ** 2 / ((a - c) ** 2 + (b - d) ** 2) / 2
    solution = cn.one_class_svm(cn.LinearFeatures(TWO_SIDES), 0.45, form=form).solve()
    assert abs(solution.objective) == pytest.approx(right, rel=1e-6)
    assert solution.guarantee.startswith("0 of 2 training points lie outside")
    assert solution.region.contains([[0.0, 0.0], [0.0, 2e-6]]).tolist() == [False, True]


def test_a_value_that_is_not_told_from_zero_is_said_to_be_none(monkeypatch):
    as_a_solver_leaves_it(monkeypatch)
    solution = cn.one_class_svm(cn.LinearFeatures(TWO_SIDES), 0.45, form="primal").solve()
    assert "w = 0 to the solver's accuracy" in solution.guarantee
    assert solution.attempts[-1].remark == "its residuals do not tell the value from zero"
    assert not any("share of 1e+" in attempt.remark for attempt in solution.attempts)


def in_kernel_coordinates(X):
    """The same points by every door through which a linear kernel comes as a kernel."""
    yield cn.KernelFeatures(X, "linear")
    yield cn.KernelFeatures(X, "linear", rank=2)
    yield cn.KernelFeatures(X @ X.T, "precomputed")
    yield cn.KernelFeatures(X, lambda left, right: left @ right.T)


def test_a_far_row_leaves_the_other_directions_of_a_linear_kernel():
    """Beside a row of length 1e8 the rest, which tells the machines apart, was below the tolerance of the basis."""
    X = np.vstack([np.random.default_rng(0).normal([5.0, 3.0], size=(40, 2)), [[1e8, 0.0]]])
    near = X[:40]
    w, rho, xi = cp.Variable(2), cp.Variable(), cp.Variable(41, nonneg=True)
    rows = np.vstack([near, [[1e3, 0.0]]])  # on the right side of the plane, however far it is
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 - rho + cp.sum(xi) / 4.1), [rows @ w >= rho - xi])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    shortest = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [near @ w >= 1])
    shortest.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    for features in in_kernel_coordinates(X):
        found = cn.one_class_svm(features, NU, form="dual").solve()
        assert found.objective == pytest.approx(-problem.value, rel=1e-6)
        assert cn.hard_margin(features).solve().objective == pytest.approx(shortest.value, rel=1e-6)
        confidence = cn.single_class_mpm(cn.Moments.estimate(features.training), 0.2).solve()
        expected = cn.single_class_mpm(cn.Moments.estimate(X), 0.2).solve()
        assert confidence.objective == pytest.approx(expected.objective, rel=1e-6)


@pytest.mark.parametrize("degree", [2, 3])
def test_the_constant_of_a_polynomial_kernel_varies_nowhere_in_any_unit(degree):
    """The constant function is 1 at every point: half-spaces hold any share of every distribution with such moments, and
    planes without deviation lie as far from the origin as one likes."""
    X = 300 * np.random.default_rng(0).normal(size=(60, 2))
    features = cn.KernelFeatures(X, cn.kernels.polynomial(degree))
    moments = cn.Moments.estimate(features.training)
    for confidence in (0.5, 0.999):
        assert cn.single_class_mpm(moments, confidence).solve().objective == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(UnboundedError):
        cn.mahalanobis_svm(features, NU).solve()


# -- a group near the origin, and most points far off -------------------------------------------------------------------

# The fraction 0.11 of forty points are 4.4: the plane's lowest points are 1, 2, 3, 4 and two fifths of 5, of mean 12 / 4.4.
SHARE, MEAN = 0.11, 12 / 4.4


def two_groups(far: float, copies: int = 1) -> np.ndarray:
    return np.repeat(np.r_[np.arange(1, 11.0), far * (1 + np.random.default_rng(0).random(30))], copies)


FEATURES = {
    "points": cn.LinearFeatures,
    "kernel": cn.KernelFeatures,
    "two columns": lambda x: cn.KernelFeatures(_slanted(x)),
}


def _slanted(x: np.ndarray) -> np.ndarray:
    """The same products of points, in two columns."""
    return x @ np.array([[0.6, 0.8]])


def planes(features, x: np.ndarray, form: str):
    """Each machine that separates these points by one plane through the same support, and its value."""
    signs, n = np.where(np.arange(x.size) % 2, 1.0, -1.0), x.size
    value = MEAN**2 / 2
    yield cn.one_class_svm(features(x[:, None]), SHARE, form), value
    yield cn.negative_data(features((signs * x)[:, None]), signs, SHARE, form), value
    away = np.r_[np.zeros(n, bool), np.ones(2, bool)]
    for moved in (0.0, 100.0):
        others = cn.separation_from_mean(features(np.r_[x, -0.5, 0.5][:, None] + moved), SHARE, away, form)
        yield others, value
    yield cn.class_recognisers(features(x[:, None]), np.zeros(n), SHARE), value
    yield cn.class_recognisers(features(np.r_[x, 3 * x][:, None]), np.repeat([0, 1], n), SHARE), 10 * value


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("far", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", FEATURES)
def test_a_group_near_the_origin_keeps_its_plane_whatever_lies_far_off(kind, far, form):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for problem, value in planes(FEATURES[kind], two_groups(far), form):
            solution = problem.solve()
            assert abs(solution.objective) == pytest.approx(value, rel=1e-6), problem.name
            assert "w = 0" not in solution.guarantee


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", ["points", "kernel"])
def test_more_points_than_a_gram_matrix_is_formed_of_are_no_different(kind, far, form):
    x = two_groups(far, copies=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = cn.one_class_svm(FEATURES[kind](x[:, None]), SHARE, form).solve()
    assert abs(solution.objective) == pytest.approx(MEAN**2 / 2, rel=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
def test_a_hull_that_a_few_far_points_make_is_solved_in_its_own_distance(far, form):
    """Of ten points six are near, and the fraction 0.8 takes two of the others."""
    x = np.r_[np.arange(1.0, 7.0), far * np.arange(1.0, 5.0)]
    mean = (x[:6].sum() + far + 2 * far) / 8
    for kind in ("points", "kernel"):
        solution = cn.one_class_svm(FEATURES[kind](x[:, None]), 0.8, form).solve()
        assert abs(solution.objective) == pytest.approx(mean**2 / 2, rel=1e-6)


def test_a_value_that_is_not_told_from_zero_and_is_not_zero_is_warned_of(monkeypatch):
    as_a_solver_leaves_it(monkeypatch)
    features = cn.LinearFeatures(two_groups(1e8)[:, None])
    with pytest.warns(UserWarning, match="do not tell .* from zero, which it is not") as told:
        solution = cn.one_class_svm(features, SHARE, "primal").solve()
    assert [NO_DIGIT in str(one.message) for one in told] == [True]
    assert solution.attempts[-1].remark == "its residuals do not tell the value from zero"
    with pytest.warns(UserWarning, match="OneClassSVM: the residuals of CLARABEL do not tell") as told:
        estimators.OneClassSVM(SHARE, kernel=cn.kernels.precomputed()).fit(features.gram)
    assert not any(NO_DIGIT in str(one.message) for one in told)


def test_rounding_of_the_farthest_point_says_nothing_of_the_others():
    """Their scores are known to rounding of their own length, and of the longest point's."""
    x = two_groups(1e8)
    doubts = score_doubts(cn.KernelFeatures(x[:, None]), 1.0)
    assert (doubts <= 1e-14 * x * x.max()).all()


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("radius", [0.0, 0.1, 2.7, 3.0])
def test_a_group_near_the_origin_may_be_uncertain(radius, kind, far):
    """A ball shortens the plane's distance by its radius, and nothing is left of it from there on."""
    features, left = FEATURES[kind](two_groups(far)[:, None]), max(MEAN - radius, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = cn.uncertain_points(features, SHARE, sets.NormBall(2, radius)).solve()
    assert abs(solution.objective) == pytest.approx(left**2 / 2, rel=1e-6, abs=1e-8)
    assert ("w = 0" in solution.guarantee) is (left == 0)


def test_a_set_that_moves_points_away_from_the_origin_has_no_small_unit():
    x = two_groups(1e4)
    moved = sets.Box([0.1]) + np.array([1e4])
    solution = cn.uncertain_points(cn.LinearFeatures(x[:, None]), SHARE, moved).solve()
    assert abs(solution.objective) == pytest.approx((1e4 + MEAN - 0.1) ** 2 / 2, rel=1e-6)


BALLS = {
    "Frobenius": (lambda x: sets.FrobeniusBall(0.1 * np.mean(x**2)), lambda x: np.var(x) + 0.1 * np.mean(x**2)),
    "spectral": (lambda x: sets.SpectralBall(0.1 * np.mean(x**2)), lambda x: np.var(x) + 0.1 * np.mean(x**2)),
    "Bures": (lambda x: sets.BuresBall(0.3 * np.std(x)), lambda x: 1.69 * np.var(x)),
}


@pytest.mark.parametrize("far", [1e3, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("kind", ["points", "kernel"])
@pytest.mark.parametrize("ball", BALLS)
def test_a_group_near_the_origin_keeps_its_plane_in_a_metric(ball, kind, far):
    """On a line the metric is a unit of length: the value is that of the machine over the worst variance."""
    x = two_groups(far)
    made, worst = BALLS[ball]
    features, value = FEATURES[kind](x[:, None]), MEAN**2 / 2 / worst(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [cn.mahalanobis_svm(features, SHARE, made(x)).solve()]
        if ball != "Bures":
            found.append(cn.mahalanobis_svm(features, SHARE, made(x), form="dual").solve())
            assert features.cross_gram([[3.0]]) @ found[1].values["gamma"] == pytest.approx(6 / MEAN * value, rel=1e-5)
    for solution in found:
        assert abs(solution.objective) == pytest.approx(value, rel=2e-6)
        assert "w = 0" not in solution.guarantee
        # rho is five times the slope of w, and |w| in the metric the root of twice the value.
        assert solution.values["distance"] == pytest.approx(math.sqrt(2 * value) * 5 / MEAN, rel=1e-5)


@pytest.mark.parametrize("far", [1e4, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("kernel", ["linear", cn.kernels.as_kernel(lambda left, right: left @ right.T)])
def test_the_estimator_in_a_metric_says_nothing_of_the_origin(kernel, far):
    x = two_groups(far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = estimators.MahalanobisSVM(SHARE, kernel=kernel).fit(x[:, None])
    assert machine.objective_ == pytest.approx(-(MEAN**2) / 2 / (np.var(x) + 0.1 * np.mean(x**2)), rel=1e-9)
    assert "w = 0" not in machine.guarantee_
    assert machine.decision_function([[4.0], [6.0]]) * machine.offset_ == pytest.approx(
        np.array([-0.2, 0.2]) * machine.offset_**2, rel=1e-5
    )


@pytest.mark.parametrize("far", [1e4, 1e6])
def test_the_checker_is_green_on_two_groups(far):
    x = two_groups(far)
    problem = cn.mahalanobis_svm(cn.LinearFeatures(x[:, None]), SHARE, sets.FrobeniusBall(0.1 * np.mean(x**2)))
    report = cn.check(problem)
    assert report.passed, report.table()
    (row,) = [row for row in report.rows if row.source == "shaped_dual" and "beside which" in row.reason][:1]
    assert "of the size of its points to the origin, beside which their Gram matrix has too few digits" in row.reason
