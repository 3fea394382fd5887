"""The moment classifier: annex A by hand, the errata, factors, sparse points, kernels, and bounds that are attained."""

from __future__ import annotations

import itertools
import math
import pickle
import subprocess
import sys
import textwrap

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.special import ndtr
from scipy.stats import ortho_group
from sklearn.datasets import load_diabetes, load_iris
from sklearn.svm import SVC, OneClassSVM

import convexnovelty as cn
from convexnovelty import datasets, kernels, tails
from convexnovelty import uncertainty as sets
from convexnovelty.algorithms import cutting_planes as planes
from convexnovelty.errors import IndefiniteError, InfeasibleError, InputError, SolverError, UnboundedError
from convexnovelty.estimators import MomentClassifier
from convexnovelty.factor_model import factor_model
from convexnovelty.methods import moment_classifier as module
from convexnovelty.whitened_kernels import whitened
from convexnovelty.whitening import Whitening


class Gelbrich(sets.MomentSet):
    """A joint set of which kappa is no factor: f = m0'a + kappa sqrt(a'Sa) + r sqrt(1 + kappa^2) |a|."""

    def membership(self, m, S):
        cross = cp.Variable((self.dimension, self.dimension))
        linked = cp.bmat([[S, cross], [cross.T, self.center_covariance]])
        spread = cp.trace(S + self.center_covariance - 2 * cross)
        return [linked >> 0, cp.sum_squares(m - self.center_mean) + spread <= self.radius**2]

    def worst_loss(self, a, kappa):
        u = cp.Variable()
        value = self.center_mean @ a + kappa * cp.norm(self.factor @ a) + cp.norm(cp.hstack([u, kappa * u]))
        return sets.Counterpart(value, [cp.norm(self.tuned("radius") * a) <= u])


class Disc(sets.MeanSet):
    """Means in a disc, whatever the covariance."""

    def membership(self, m):
        return [cp.norm(m - self.center) <= self.radius]

    def support(self, a):
        return self.center @ a + cp.norm(self.tuned("radius") * a)


def classes(n=15, p=3, seed=0, distance=4.0):
    """Positive points, and the moments of a correlated negative class."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(p) + 0.4 * rng.standard_normal((p, p))
    direction = np.sign(rng.standard_normal(p)) / math.sqrt(p)
    negatives = rng.standard_normal((80, p)) @ mixing
    positives = 0.6 * rng.standard_normal((n, p)) + distance * direction
    return positives, cn.Moments.estimate(negatives)


def by_hand(X, moments, C=None, ridge=0.0, P=None):
    """Equations 3, 7 and 9 in CVXPY, with the offset."""
    p, n = moments.dimension, len(X)
    w, b, xi, eta = cp.Variable(p), cp.Variable(), cp.Variable(n, nonneg=True), cp.Variable(nonneg=True)
    root = np.linalg.cholesky(moments.covariance + ridge * np.eye(p)).T
    cost = cp.sum_squares(root @ w)
    constraints = [b - moments.mean @ w >= 1 - eta, X @ w - b >= -xi]
    cost = cost + (0 if C is None else C * cp.sum(xi)) + (0 if P is None else P * eta)
    constraints += [xi == 0] if C is None else []
    constraints += [eta == 0] if P is None else []
    problem = cp.Problem(cp.Minimize(cost), constraints)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return problem.value, w.value, b.value


def routes(X, moments, C=None, uncertainty=None):
    yield cn.moment_classifier(X, moments, C, uncertainty).solve()
    yield module.with_offset(X, moments, C, uncertainty).solve()
    yield module.dual(X, moments, C, uncertainty).solve()
    yield module.coordinate_descent(X, moments, C, uncertainty)
    yield module.nu_machine(X, moments, C, uncertainty)
    if C is None:
        yield module.projection(X, moments, C, uncertainty)


def test_the_checker_is_green():
    report = cn.check("moment_classifier")
    assert report.passed, report.table()
    reached = {row.source for row in report.rows if row.verdict == "pass"} | {
        row.target for row in report.rows if row.verdict == "pass"
    }
    assert reached >= set(module.METHOD.nodes)


def test_by_hand_in_the_plane():
    """Positives on the line x = 3, negatives standard: w = (1/3, 0), v = 1/9 and the bound is 1/10."""
    X = np.array([[3.0, 1.0], [3.0, -1.0], [4.0, 0.0]])
    for solution in routes(X, cn.Moments([0.0, 0.0], np.eye(2))):
        assert solution.objective == pytest.approx(1 / 9, rel=1e-7)
        assert solution.region.normal == pytest.approx([1 / 3, 0.0], abs=1e-6)
        assert solution.region.offset == pytest.approx(1.0, abs=1e-7)
        assert solution.guarantee.bound == pytest.approx(0.1, rel=1e-6)
        assert solution.region.contains(X).all()
    moved = module.projection(X + np.array([5.0, 7.0]), cn.Moments([5.0, 7.0], np.diag([4.0, 1.0])))
    assert moved.objective == pytest.approx(4 / 9, rel=1e-12)


@pytest.mark.parametrize("C", [None, 0.01, 0.3, 20.0])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_programs_written_by_hand(C, ridge):
    X, moments = classes(distance=4.0 if C is None else 1.0)
    value, w, b = by_hand(X, moments, C, ridge)
    uncertainty = sets.FrobeniusBall(ridge) if ridge else None
    for solution in routes(X, moments, C, uncertainty):
        assert solution.objective == pytest.approx(value, rel=1e-6)
        assert solution.region.normal == pytest.approx(w, abs=1e-5 * np.abs(w).max())
        assert solution.region.offset == pytest.approx(b, abs=1e-5)


def test_annex_a_the_projection_is_orthogonal_in_the_metric():
    X, moments = classes()
    found = module.projection(X, moments)
    point = found.values["weights"] @ X
    metric = np.linalg.inv(moments.covariance)
    away = point - moments.mean
    assert ((X - point) @ metric @ away).min() >= -1e-9
    squared = away @ metric @ away
    assert found.objective == pytest.approx(1 / squared, rel=1e-12)
    assert found.region.normal == pytest.approx(metric @ away / squared, rel=1e-9)


# -- bounds --------------------------------------------------------------------------------------------------------------


def test_chebyshev_gaussian_and_robust_bounds():
    X, moments = classes()
    plain = cn.moment_classifier(X, moments).solve()
    v = plain.objective
    assert plain.guarantee.bound == pytest.approx(v / (1 + v), rel=1e-8)
    gaussian = cn.moment_classifier(X, moments, tail=tails.Gaussian()).solve()
    assert gaussian.guarantee.bound == pytest.approx(1 - ndtr(1 / math.sqrt(v)), rel=1e-6)
    assert gaussian.guarantee.bound < plain.guarantee.bound
    nu, rho = 0.4, 0.3
    robust = cn.moment_classifier(X, moments, uncertainty=sets.MeanEllipsoid(nu) * sets.SpectralBall(rho)).solve()
    v = by_hand(X, moments, ridge=rho)[0]
    assert robust.objective == pytest.approx(v, rel=1e-6)
    assert robust.guarantee.bound == pytest.approx(1 / (1 + (1 / math.sqrt(v) - nu) ** 2), rel=1e-6)
    assert "MeanEllipsoid(radius=0.4) * SpectralBall(radius=0.3)" in robust.guarantee


def test_remark_4_uncertain_means_change_the_bound_alone():
    X, moments = classes()
    problem = cn.moment_classifier(X, moments, uncertainty=sets.MeanEllipsoid(0.1))
    first = problem.solve()
    second = problem.set(radius=1.0).solve()
    assert second.region.normal == pytest.approx(first.region.normal, abs=1e-9)
    assert second.guarantee.bound > first.guarantee.bound
    nothing = problem.set(radius=1.0 / math.sqrt(first.objective) + 1.0).solve()
    assert nothing.guarantee.bound == 1.0
    assert problem.compilations == 1


def test_erratum_equation_8_is_the_probability_of_the_other_side():
    """Printed, the bound is kappa^{-1}(1/sqrt(v) - nu): t^2/(1+t^2) grows with the distance from the negatives."""

    def printed(v, nu):
        t = max(0.0, 1 / math.sqrt(v) - nu)
        return t**2 / (1 + t**2)

    near, far = (classes(distance=d) for d in (4.0, 8.0))
    bounds, claims = [], []
    for X, moments in (near, far):
        solution = cn.moment_classifier(X, moments, uncertainty=sets.MeanEllipsoid(0.2)).solve()
        bounds.append(solution.guarantee.bound)
        claims.append(printed(solution.objective, 0.2))
        assert solution.guarantee.bound == pytest.approx(1 - claims[-1], rel=1e-6)
    assert bounds[1] < bounds[0]
    assert claims[1] > claims[0]


def test_remark_1_the_bound_holds_for_the_negatives_that_gave_the_moments(rng):
    negatives = rng.exponential(size=(400, 3)) @ np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]])
    positives = negatives.mean(axis=0) + [2.5, 2.0, 2.0] + 0.3 * rng.standard_normal((20, 3))
    for C in (None, 0.05):
        solution = cn.moment_classifier(positives, cn.Moments.estimate(negatives), C).solve()
        assert solution.region.contains(negatives).mean() <= solution.guarantee.bound


def test_the_guarantee_holds_and_is_attained(rng):
    X, moments = classes(distance=3.5)
    solution = cn.moment_classifier(X, moments).solve()
    bound, region, size = solution.guarantee.bound, solution.region, 40_000
    slack = 4 * math.sqrt(0.25 / size)
    root = np.linalg.cholesky(moments.covariance).T
    for white in (
        rng.standard_normal((size, 3)),
        rng.exponential(size=(size, 3)) - 1.0,
        rng.standard_t(3, size=(size, 3)) / math.sqrt(3.0),
    ):
        assert region.contains(moments.mean + white @ root).mean() <= bound + slack
    extremal = tails.extremal_distribution(moments.mean, moments.covariance, region.normal, region.offset)
    assert extremal.probability_outside == pytest.approx(bound, rel=1e-6)
    assert region.contains(extremal.sample(size, rng)).mean() == pytest.approx(bound, abs=slack)


def test_a_soft_margin_counts_the_positives_that_it_rejects():
    X, moments = classes(distance=1.0)
    solution = cn.moment_classifier(X, moments, 0.05).solve()
    rejected = int((~solution.region.contains(X)).sum())
    assert rejected > 0
    assert f"{rejected} of 15 positive points are rejected" in solution.guarantee
    deviation = math.sqrt(solution.region.normal @ moments.covariance @ solution.region.normal)
    assert solution.guarantee.bound == pytest.approx(deviation**2 / (1 + deviation**2), rel=1e-5)


# -- soft margins --------------------------------------------------------------------------------------------------------


def test_formulation_9_with_a_price_for_the_mean():
    X, moments = classes(distance=2.0)
    for C, P in ((0.3, 1.0), (0.3, 0.2), (5.0, 3.0), (0.3, 0.3 * 15)):
        value, _, b = by_hand(X, moments, C, P=P)
        solution = cn.moment_classifier(X, moments, C, mean_penalty=P).solve()
        assert solution.objective == pytest.approx(value, rel=1e-6)
        assert solution.region.offset == pytest.approx(b, abs=1e-4)
        ours = module.cost_sensitive_svm(X, moments, C, P)
        assert ours.objective == pytest.approx(value, rel=1e-5)
        ten = cn.moment_classifier(X, moments, C).solve().objective
        assert solution.objective <= ten * (1 + 1e-7)
        if P >= C * 15:
            assert solution.objective == pytest.approx(ten, rel=1e-7)


def test_cost_sensitive_machine_of_scikit_learn():
    """Equation 9 with S = I: a C-SVM on the points and the mean, with a cost for each class, has w twice ours."""
    X = classes(distance=0.8)[0]
    mean = np.array([0.2, -0.1, 0.1])
    C, P = 0.4, 2.0
    whole, labels = np.vstack([X, mean]), np.append(np.ones(15), -1.0)
    machine = SVC(kernel="linear", C=1.0, tol=1e-6).fit(whole, labels, sample_weight=np.append(np.full(15, C), P))
    solution = cn.moment_classifier(X, cn.Moments(mean, np.eye(3)), C, mean_penalty=P).solve()
    assert 2 * solution.region.normal == pytest.approx(machine.coef_[0], abs=1e-4)
    slacks = np.maximum(1 - labels * machine.decision_function(whole), 0.0) @ np.append(np.full(15, C), P)
    assert 2 * solution.objective == pytest.approx(machine.coef_[0] @ machine.coef_[0] / 2 + slacks, rel=1e-4)


def test_erratum_9c_a_slack_that_tightens():
    """Printed, x_i'w - b >= xi_i: no slack can ever pay, so that overlapping classes have no solution but w = 0."""
    X, moments = classes(distance=0.3, seed=3)
    w, b, xi, eta = cp.Variable(3), cp.Variable(), cp.Variable(15, nonneg=True), cp.Variable(nonneg=True)
    root = np.linalg.cholesky(moments.covariance).T
    cost = cp.sum_squares(root @ w) + 0.3 * cp.sum(xi) + 5.0 * eta
    printed = cp.Problem(cp.Minimize(cost), [b - moments.mean @ w >= 1 - eta, X @ w - b >= xi])
    printed.solve(solver="CLARABEL")
    assert xi.value == pytest.approx(np.zeros(15), abs=1e-6)
    assert printed.value == pytest.approx(5.0, rel=1e-6)  # the mean's slack pays for everything
    assert np.abs(w.value).max() < 1e-6
    solution = cn.moment_classifier(X, moments, 0.3, mean_penalty=5.0).solve()
    assert solution.objective < 4.5
    assert np.abs(solution.region.normal).max() > 1e-2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("radius", [0.0, 1e-11])
@pytest.mark.parametrize(
    ("deviations", "rank", "seed"), [((0, -3, -5, -5), 2, 3), ((0, -4, -5, -5), 3, 5), ((0, -5, -5.5, -5.5), 2, 3)]
)
def test_factors_whose_covariance_is_thin_along_no_column(deviations, rank, seed, radius):
    """Conditions of 1e10 and more: the dual in points that singular values whiten, which a box alone bounds."""
    rng = np.random.default_rng(seed)
    turned = 10.0 ** np.array(deviations)[:, None] * np.linalg.qr(rng.normal(size=(4, 4)))[0]
    negatives = rng.normal(size=(40, 4)) @ turned
    X = negatives.mean(axis=0) + (rng.normal(size=(12, 4)) + 2 * rng.normal(size=4)) @ turned
    moments = cn.Moments.estimate(negatives, rank=rank)
    roots = np.diag(np.sqrt(moments.specific_variances + radius))
    _, sizes, axes = np.linalg.svd(np.vstack([moments.loadings, roots]), full_matrices=False)
    assert (sizes[0] / sizes[-1]) ** 2 > (1e9 if radius == 0 else 1e7)
    whitened = (X - moments.mean) @ axes.T / sizes
    beta = cp.Variable(12, nonneg=True)
    dual = cp.Problem(cp.Maximize(cp.sum(beta) - cp.sum_squares(whitened.T @ beta) / 4), [beta <= 1.0])
    dual.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    uncertainty = sets.FrobeniusBall(radius) if radius else None
    assert cn.moment_classifier(X, moments, 1.0, uncertainty).solve().objective == pytest.approx(dual.value, rel=1e-7)


def by_every_active_set(rows, C, P):
    """The dual of whitened points and both prices: the largest sum of beta less |D'beta|^2 / 4 in the box, summing to P at
    most, over all choices of what is at which bound. Each is a point that is allowed, and the optimum is one of them."""
    K, n, best = rows @ rows.T / 2, len(rows), -np.inf
    for choice in itertools.product((0, 1, 2), repeat=n):
        at = np.array(choice)
        for bound in (False, True):
            beta, free = np.where(at == 2, C, 0.0), at == 1
            border = np.ones((free.sum(), int(bound))) * K.max()
            system = np.block([[K[np.ix_(free, free)], border], [border.T, np.zeros((int(bound),) * 2)]])
            left = np.append(1 - K[free] @ beta, [(P - beta.sum()) * K.max()] * bound)
            if len(system) and np.linalg.matrix_rank(system) == len(system):
                beta[free] = np.linalg.solve(system, left)[: free.sum()]
            elif free.any():
                continue
            size = 1e-12 * np.abs(beta).max()
            if beta.min() >= -size and beta.max() <= C + size and beta.sum() <= P * (1 + 1e-12):
                best = max(best, beta.sum() - beta @ K @ beta / 2)
    return best


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("P", [1e-6, 1e-3, 1.0, 1e5])
@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e8])
def test_prices_far_apart(unit, P, C):
    """Either slack may leave next to nothing to the other: the value is of the size of the cheaper of both."""
    rng = np.random.default_rng(5)
    X, mean = rng.normal(size=(4, 2)) + np.array([0.5, 0.2]), np.zeros(2)
    moments = cn.Moments(mean, np.diag([1.0, 0.25]) * unit**2)
    expected = by_every_active_set(X / [1.0, 0.5], C, P)
    found = cn.moment_classifier(unit * X, moments, C, mean_penalty=P).solve()
    assert found.objective == pytest.approx(expected, rel=1e-6)
    try:
        known = module.cost_sensitive_svm(unit * X, moments, C, P).objective
    except SolverError as error:
        assert C >= 1e3 and "libsvm: the value lies between" in str(error)
    else:
        assert known == pytest.approx(expected, rel=1e-5)


def test_a_price_of_the_mean_beside_pairs_that_are_known_together():
    """A hard margin searches the largest kappa, where the mean has no slack: the price is refused, and with slacks it is used."""
    X, moments, joint = (
        np.random.default_rng(4).normal(size=(12, 2)) + 6.0,
        cn.Moments(np.zeros(2), np.eye(2)),
        sets.GelbrichBall(0.2),
    )
    with pytest.raises(
        InputError, match=r"mean_penalty: 2.0 was found, where kappa enters the counterpart of GelbrichBall.*give None"
    ):
        cn.moment_classifier(X, moments, None, joint, mean_penalty=2.0)
    problem = cn.moment_classifier(X, moments, None, joint)
    with pytest.raises(InputError, match=r"mean_penalty: 3\.0 was found"):
        problem.set(mean_penalty=3.0)
    dear, cheap = (cn.moment_classifier(X, moments, 1.0, joint, mean_penalty=P).solve() for P in (1e3, 1e-3))
    assert dear.objective == pytest.approx(cn.moment_classifier(X, moments, 1.0, joint).solve().objective, rel=1e-6)
    # Without slacks of the points the half-space t of the way to a margin of one costs v t^2 + P (1 - t).
    v, P = cn.moment_classifier(X, moments, 1e3, joint).solve().objective, 1e-3
    assert cheap.objective == pytest.approx(P - P**2 / (4 * v), rel=1e-6)


def test_erratum_10a_is_a_minimum():
    """Printed as a maximum, the objective has no bound: any large w that keeps the margins is better."""
    X, moments = classes()
    w = module.margins(X, moments).solve().region.normal
    assert ((X - moments.mean) @ (100 * w) >= 1).all()
    assert (100 * w) @ moments.covariance @ (100 * w) > 1000 * (w @ moments.covariance @ w)


def test_the_dual_has_a_box_and_no_equality():
    X, moments = classes(distance=1.0)
    for C in (0.05, 1.0):
        found = module.coordinate_descent(X, moments, C)
        beta, w = found.values["beta"], found.region.normal
        assert (beta >= 0).all()
        assert (beta <= C).all()
        margins = (X - moments.mean) @ w
        assert margins[beta == 0].min(initial=1.0) >= 1 - 1e-9
        assert margins[beta == C].max(initial=1.0) <= 1 + 1e-9
        free = (beta > 0) & (beta < C)
        assert margins[free] == pytest.approx(np.ones(free.sum()), abs=1e-9)
        assert beta.sum() > 0
        gram = Whitening(moments).inner(X)
        assert found.objective == pytest.approx(beta.sum() - beta @ gram @ beta / 4, rel=1e-10)


@pytest.mark.parametrize("nu", [0.1, 0.37, 0.8, 1.0])
def test_the_map_to_the_one_class_machine(nu):
    """C = 2 / (nu n rho): the classifier is scikit-learn's one-class machine on the whitened points, over its offset."""
    X, moments = classes(n=20, distance=2.0, seed=4)
    C = module.penalty_of(nu, X, moments)
    solution = cn.moment_classifier(X, moments, C).solve()
    rows = Whitening(moments).coordinates(X)
    ours = cn.one_class_svm(cn.LinearFeatures(rows), nu).solve()
    rho, u = ours.region.offset, ours.region.normal
    assert (X - moments.mean) @ solution.region.normal == pytest.approx(rows @ u / rho, abs=1e-4)
    assert solution.objective == pytest.approx(2 * (rho - u @ u / 2) / rho**2, rel=1e-6)
    assert module.coordinate_descent(X, moments, C).values["outlier_fraction"] == pytest.approx(nu, rel=1e-6)
    if nu < 1 and abs(nu * 20 - round(nu * 20)) > 1e-6:
        theirs = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(rows)
        assert rows @ theirs.coef_[0] / theirs.offset_[0] == pytest.approx(rows @ u / rho, abs=1e-5)


def test_an_outlier_fraction_without_a_penalty():
    """Positives around the negative mean: the machine's offset is zero at small fractions."""
    X = np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, -1.0], [0.1, 1.0]])
    with pytest.raises(InputError, match=r"outlier_fraction: 0\.1"):
        module.penalty_of(0.1, X, cn.Moments([0.0, 0.0], np.eye(2)))


# -- sets ----------------------------------------------------------------------------------------------------------------


def test_means_that_do_not_know_of_the_covariance():
    X, moments = classes()
    problem = cn.moment_classifier(X, moments, uncertainty=Disc(0.5))
    w = cp.Variable(3)
    root = np.linalg.cholesky(moments.covariance).T
    reference = cp.Problem(cp.Minimize(cp.sum_squares(root @ w)), [(X - moments.mean) @ w - 0.5 * cp.norm(w) >= 1])
    reference.solve(solver="CLARABEL")
    solution = problem.solve()
    assert solution.objective == pytest.approx(reference.value, rel=1e-5)
    assert solution.guarantee.bound == pytest.approx(solution.objective / (1 + solution.objective), rel=1e-6)
    assert solution.region.contains(X).all()
    # The region keeps every mean of the disc outside by the number of deviations that the bound stands for.
    a, b = solution.region.normal, solution.region.offset
    reached = (b - a @ moments.mean - 0.5 * np.linalg.norm(a)) / math.sqrt(a @ moments.covariance @ a)
    assert reached == pytest.approx(solution.values["kappa"], rel=1e-5)


@pytest.mark.parametrize("gap", [1e-2, 2e-4, 1e-5, 2e-6])
def test_means_that_come_near_the_hull_leave_it_apart(gap):
    """The nearest point of the segment is (3, 0), and the worst variance one and a half, so that v = 1.5 / gap^2."""
    positives, negatives = np.array([[3.0, 1.0], [3.0, -1.0]]), cn.Moments([0.0, 0.0], np.eye(2))
    near = sets.MeanWithin(sets.NormBall(2, 3.0 - gap)) * sets.FrobeniusBall(0.5)
    far = cn.moment_classifier(positives, negatives, uncertainty=near.replaced(**{"means_radius": 0.5}))
    set_near = far.set(**{"means_radius": 3.0 - gap})
    for problem in (cn.moment_classifier(positives, negatives, uncertainty=near), set_near):
        solution = problem.solve()
        assert solution.objective * gap**2 == pytest.approx(1.5, rel=1e-6)
        assert solution.guarantee.bound == pytest.approx(1 / (1 + gap**2 / 1.5), rel=1e-12)
        normal = solution.region.normal / np.linalg.norm(solution.region.normal)
        assert normal == pytest.approx([1.0, 0.0], abs=1e-6)
    alone = cn.moment_classifier(np.array([[1.0], [1.5]]), cn.Moments([-1.0], [[1.0]]), uncertainty=Disc(2.0 - gap))
    assert alone.solve().objective * gap**2 == pytest.approx(1.0, rel=1e-6)


def test_how_near_the_hull_a_mean_is_called_a_part_of_it():
    positives, negatives = np.array([[1.0], [1.5]]), cn.Moments([-1.0], [[1.0]])
    for radius in (2.0, 2.5):
        with pytest.raises(
            InfeasibleError, match=r"in the convex hull of the positive points, or within 2.25e-08 deviations"
        ):
            cn.moment_classifier(positives, negatives, uncertainty=Disc(radius)).solve()
        with pytest.raises(InfeasibleError, match=r"or within 1e-06 deviations of it, .* below 0\.999999999999; give"):
            cn.moment_classifier(positives, negatives, uncertainty=Gelbrich(radius)).solve()


def test_a_joint_set_is_searched_with_one_compilation():
    X, moments = classes(p=2, distance=5.0)
    problem = cn.moment_classifier(X, moments, uncertainty=Gelbrich(0.3))
    angle = np.linspace(0, 2 * np.pi, 200_001)
    a = np.stack([np.cos(angle), np.sin(angle)])
    margin = ((X - moments.mean) @ a).min(axis=0)
    spread = np.sqrt(np.einsum("in,ij,jn->n", a, moments.covariance, a))
    for radius in (0.3, 1.0, 0.1):
        low, high = 0.0, 100.0
        for _ in range(60):
            kappa = (low + high) / 2
            feasible = (margin - kappa * spread - radius * math.sqrt(1 + kappa**2) >= 0).any()
            low, high = (kappa, high) if feasible else (low, kappa)
        solution = problem.set(radius=radius).solve()
        assert solution.values["kappa"] == pytest.approx(low, rel=1e-6)
        assert solution.objective == pytest.approx(1 / low**2, rel=1e-6)
        assert solution.region.contains(X).all()
    assert problem.compilations == 1
    with pytest.raises(InfeasibleError, match="slack_penalty"):
        problem.set(radius=20.0).solve()


def test_a_soft_margin_with_a_joint_set_bounds_from_above():
    """The worst mean and the worst covariance are taken apart there, so that the stated kappa is at most the true one."""
    X, moments = classes(p=2, distance=2.0)
    problem = cn.moment_classifier(X, moments, 0.2, Gelbrich(0.3))
    solution = problem.solve()
    a, b = solution.region.normal, solution.region.offset
    low, high = 0.0, 100.0
    for _ in range(60):
        kappa = (low + high) / 2
        loss = a @ moments.mean + kappa * math.sqrt(a @ moments.covariance @ a)
        loss += 0.3 * math.sqrt(1 + kappa**2) * np.linalg.norm(a)
        low, high = (kappa, high) if loss <= b else (low, kappa)
    assert solution.values["kappa"] <= low * (1 + 1e-6)
    assert module.semi_infinite(X, moments, 0.2, Gelbrich(0.3)).objective == pytest.approx(solution.objective, rel=1e-6)
    assert problem.set(slack_penalty=0.4).solve().objective > solution.objective
    assert problem.compilations == 1


# -- factors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [None, 0.5])
def test_the_model_is_told_with_a_hard_and_a_soft_margin(C):
    P, negatives = classes()
    assert module.with_factors(P, negatives, 1, C).solve().values["model"] is not None


def test_factor_model_bounds_and_its_erratum(rng):
    """w'FF'w <= w'Sw <= w'(D + FF')w; with the printed 1/N in F the upper bound fails."""
    X = rng.standard_normal((60, 8)) * np.logspace(-2, 2, 8) @ (np.eye(8) + 0.3 * rng.standard_normal((8, 8)))
    moments = cn.Moments.estimate(X)
    for scaled in (True, False):
        for k in (0, 1, 3, 8):
            model = factor_model(X, k, scaled=scaled)
            assert model.loadings.shape[0] <= k
            w = rng.standard_normal((8, 500)) / np.sqrt(moments.variances)[:, None]
            variance = np.einsum("in,ij,jn->n", w, moments.covariance, w)
            factors = ((model.loadings @ w) ** 2).sum(axis=0)
            whole = factors + model.specific_variances @ w**2
            assert (factors <= variance * (1 + 1e-9)).all()
            assert (variance <= whole * (1 + 1e-9)).all()
            same = factor_model(moments, k, scaled=scaled)
            assert same.covariance == pytest.approx(
                model.covariance, rel=1e-8, abs=1e-10 * np.abs(model.covariance).max()
            )
    centred = X - X.mean(axis=0)
    _, s, rows = np.linalg.svd(centred, full_matrices=False)
    printed = (s[:3, None] * rows[:3]) / 60  # F' = (U_k S_k / N)'
    w = rows[0]
    assert w @ moments.covariance @ w > ((printed @ w) ** 2).sum() + s[3] ** 2 / 60


def test_a_change_of_units_changes_the_scaled_model_by_these_units(rng):
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5))
    D = np.logspace(-4, 4, 5)
    model, scaled = factor_model(X, 2), factor_model(X * D, 2)
    assert scaled.covariance == pytest.approx(model.covariance * np.outer(D, D), rel=1e-8)
    plain = factor_model(X * D, 2, scaled=False).covariance
    assert not np.allclose(plain / np.outer(D, D), factor_model(X, 2, scaled=False).covariance, rtol=1e-2)


def test_remark_6_without_factors_features_are_normalised(rng):
    X, moments = classes(p=4)
    model = factor_model(moments, 0)
    ratio = model.variances / moments.variances
    assert ratio == pytest.approx(np.full(4, ratio[0]), rel=1e-10)
    w = module.margins(X, model).solve().region.normal
    rows = (X - moments.mean) / np.sqrt(moments.variances)
    plain = module.margins(rows, cn.Moments(np.zeros(4), np.eye(4))).solve().region.normal
    assert w * np.sqrt(moments.variances) == pytest.approx(plain, abs=1e-6)


def test_the_factor_model_bounds_the_error_from_above():
    X, moments = classes(p=6, n=10, seed=2)
    exact = cn.moment_classifier(X, moments).solve()
    previous = math.inf
    for k in (0, 2, 4, 6):
        upper = module.with_factors(X, moments, k).solve()
        assert upper.objective >= exact.objective * (1 - 1e-7)
        assert upper.objective <= previous * (1 + 1e-7)
        assert upper.objective == pytest.approx(module.with_woodbury(X, moments, k).objective, rel=1e-7)
        previous = upper.objective
    assert upper.objective == pytest.approx(exact.objective, rel=1e-6)


def sparse_classes(seed=0, p=60):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((200, p)) < 0.1, rng.random((200, p)), 0.0)
    dense[:15, :6] += rng.random((15, 6)) + 0.5
    return sp.csr_array(dense[:15]), sp.csr_array(dense[15:]), dense


@pytest.mark.parametrize("representation", ["diagonal", "low_rank"])
@pytest.mark.parametrize("C", [None, 0.5])
def test_sparse_points_give_what_dense_points_give(representation, C):
    positives, negatives, _ = sparse_classes()
    moments = (
        cn.Moments.estimate(negatives, representation="diagonal")
        if representation == "diagonal"
        else factor_model(negatives, 4)
    )
    # A feature that no negative has leaves room for certainty; a ridge closes it.
    ridge = sets.FrobeniusBall(0.01)
    full = cn.Moments(moments.mean, moments.covariance)
    reference = cn.moment_classifier(positives.toarray(), full, C, ridge).solve()
    for X in (positives, positives.tocsc(), sp.csr_matrix(positives), positives.toarray()):
        solution = cn.moment_classifier(X, moments, C, ridge).solve()
        assert solution.objective == pytest.approx(reference.objective, rel=1e-6)
        assert solution.region.normal == pytest.approx(
            reference.region.normal, abs=1e-4 * np.abs(reference.region.normal).max()
        )
        assert module.coordinate_descent(X, moments, C, ridge).objective == pytest.approx(reference.objective, rel=1e-6)
    problem = cn.moment_classifier(positives, moments, C, ridge)
    problem.solve()
    wider = problem.set(radius=0.1).solve()
    assert problem.compilations == 1
    fresh = cn.moment_classifier(positives.toarray(), full, C, sets.FrobeniusBall(0.1)).solve()
    assert wider.objective == pytest.approx(fresh.objective, rel=1e-6)


@pytest.mark.parametrize("far", [1e6, 1e8])
@pytest.mark.parametrize("arguments", [{"factors": 1}, {"factors": 0, "ridge": 0.0}, {"ridge": 0.0}], ids=str)
def test_sparse_points_far_from_the_origin_are_those_near_it(arguments, far):
    rng = np.random.default_rng(16)
    X, Z = rng.integers(-8, 8, size=(30, 3)) / 4.0, rng.integers(-16, 16, size=(8, 3)) / 4.0  # exact as they are moved
    X[15:] += 3
    X[:, 2] *= rng.random(30) < 0.4
    y, shift = np.repeat([0, 1], 15), np.array([far, far, 0.0])
    near = MomentClassifier(**arguments).fit(X, y)
    moved = MomentClassifier(**arguments).fit(sp.csr_array(X + shift), y)
    assert moved.guarantee_.bound == pytest.approx(near.guarantee_.bound, rel=1e-7)
    np.testing.assert_allclose(
        moved.score_.normal, near.score_.normal, rtol=0, atol=2e-8 * abs(near.score_.normal).max()
    )
    expected = near.decision_function(Z)
    found = moved.decision_function(sp.csr_array(Z + shift))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * abs(expected).max())


@pytest.mark.parametrize("C", [None, 0.5])
def test_the_program_of_sparse_points_far_from_the_origin_keeps_its_digits(C):
    positives, negatives, _ = sparse_classes()
    shift = np.zeros(60)
    shift[:4] = 1e8
    found = []
    for by in (np.zeros(60), shift):
        near = factor_model(negatives, 4)
        moments = cn.Moments.low_rank(np.round(near.mean * 64) / 64 + by, near.loadings, near.specific_variances + 0.01)
        X = np.round(positives.toarray() * 64) / 64 + by
        found.append(cn.moment_classifier(sp.csr_array(X), moments, C).solve())
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-7)
    assert found[1].guarantee.bound == pytest.approx(found[0].guarantee.bound, rel=1e-7)
    normals = [each.region.normal for each in found]
    np.testing.assert_allclose(normals[1], normals[0], rtol=0, atol=1e-6 * abs(normals[0]).max())


def test_new_sparse_points_are_judged_as_they_are():
    positives, negatives, dense = sparse_classes()
    region = cn.moment_classifier(positives, factor_model(negatives, 4), 0.5).solve().region
    assert region.decision_values(sp.csr_array(dense)) == pytest.approx(region.decision_values(dense))
    assert np.array_equal(region.contains(sp.csc_matrix(dense)), region.contains(dense))
    with pytest.raises(InputError, match="Z: 59 columns"):
        region.decision_values(sp.csr_array(dense[:, 1:]))


def test_sets_that_need_dense_moments_say_so():
    positives, negatives, _ = sparse_classes()
    moments = cn.Moments.estimate(negatives, representation="diagonal")
    with pytest.raises(InputError, match="give a mean ellipsoid with a Frobenius or spectral ball"):
        cn.moment_classifier(positives, moments, 1.0, sets.LoewnerInterval(0.3))


MEMORY = """
import resource
import numpy as np
import scipy.sparse as sp
import cvxpy
import convexnovelty as cn
from convexnovelty.methods import moment_classifier as module

rng = np.random.default_rng(0)
features, rows, filled = 50_000, 100_000, 100
columns = np.sort(rng.integers(0, features, size=(rows, filled), dtype=np.int32), axis=1)
negatives = sp.csr_array((rng.random(rows * filled), columns.ravel(), np.arange(0, rows * filled + 1, filled)), shape=(rows, features))
where = rng.integers(0, features, size=(100, filled))
where[:, :20] = 7 * np.arange(20)
positives = sp.csr_array((rng.random(100 * filled) + 0.2, where.ravel(), np.arange(0, 100 * filled + 1, filled)), shape=(100, features))
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
# A request beyond the cap fails at once: one dense row block of 4000 x 50,000 numbers would.
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 3 * 2**29, size + 3 * 2**29))
moments = cn.Moments.estimate(negatives, representation="diagonal")
program = cn.moment_classifier(positives, moments, slack_penalty=0.01).solve()
descent = module.coordinate_descent(positives, moments, 0.01)
assert abs(program.objective / descent.objective - 1) < 1e-6, (program.objective, descent.objective)
assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used) < 3 * 2**29
print("extra MiB", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the cap on memory and its reading are those of Linux")
def test_large_sparse_classes_stay_below_a_cap_of_memory():
    """50,000 features and 100,000 negatives of 100 entries: dense they would take 40 GB, the cap is 1.5 GiB."""
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(MEMORY)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


# -- kernels -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.polynomial(degree=3, gamma=0.4, coef0=1.0),
        kernels.gaussian(gamma=0.2),
        kernels.sigmoid(gamma=0.1, coef0=-0.3),
    ],
)
def test_figure_2_customised_kernels(kernel, rng):
    """The formulas as the figure prints them, against the kernel of whitened points."""
    X, moments = classes(p=3)
    metric = np.linalg.inv(moments.covariance)
    shift = metric @ moments.mean
    inner = X @ metric @ X.T - (X @ shift)[:, None] - (X @ shift)[None, :] + moments.mean @ shift
    if isinstance(kernel, kernels.Polynomial):
        printed = (0.4 * inner + 1.0) ** 3
    elif isinstance(kernel, kernels.Gaussian):
        away = X[:, None, :] - X[None, :, :]
        printed = np.exp(-0.2 * np.einsum("ijk,kl,ijl->ij", away, metric, away))
    else:
        printed = np.tanh(0.1 * inner - 0.3)
    assert whitened(kernel, moments)(X) == pytest.approx(printed, rel=1e-9)
    assert kernel(Whitening(moments).coordinates(X)) == pytest.approx(printed, rel=1e-9)


def test_the_sigmoid_kernel_is_indefinite():
    X, moments = classes(distance=0.0)
    kernel = whitened(kernels.sigmoid(gamma=0.5, coef0=-0.5), moments)
    assert not kernel.semidefinite
    assert np.linalg.eigvalsh(kernel(X))[0] < -1e-3
    with pytest.raises(IndefiniteError, match="eigenvalue"):
        cn.KernelFeatures(X, kernel)


def test_a_customised_kernel_serves_the_one_class_machine(rng):
    X, moments = classes(n=25)
    kernel = whitened(kernels.gaussian(gamma=0.3), moments)
    machine = cn.one_class_svm(features := cn.KernelFeatures(X, kernel), 0.3).solve()
    metric = Whitening(moments)
    plain = cn.one_class_svm(
        other := cn.KernelFeatures(metric.coordinates(X), kernels.gaussian(gamma=0.3)), 0.3
    ).solve()
    Z = rng.standard_normal((6, 3))
    assert machine.region.decision_values(features.coordinates(Z)) == pytest.approx(
        plain.region.decision_values(other.coordinates(metric.coordinates(Z))), abs=1e-6
    )


# -- invariance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("C", [None, 0.1])
def test_b22_units_of_the_features(unit, C):
    X, moments = classes(distance=4.0 if C is None else 1.0)
    scaled = cn.Moments(unit * moments.mean, unit**2 * moments.covariance)
    for base, other in (
        (
            sets.MeanEllipsoid(0.2) * sets.FrobeniusBall(0.4),
            sets.MeanEllipsoid(0.2) * sets.FrobeniusBall(0.4 * unit**2),
        ),
        (sets.LoewnerInterval(0.3, "nominal"), sets.LoewnerInterval(0.3, "nominal")),
        (Disc(0.1), Disc(0.1 * unit)),
    ):
        first = cn.moment_classifier(X, moments, C, base).solve()
        second = cn.moment_classifier(unit * X, scaled, C, other).solve()
        assert second.objective == pytest.approx(first.objective, rel=1e-6)
        assert unit * second.region.normal == pytest.approx(
            first.region.normal, abs=1e-4 * np.abs(first.region.normal).max()
        )


def test_mixed_units_translation_order_rotation_and_repetition():
    X, moments = classes(p=4)
    for C in (None, 0.2):
        base = cn.moment_classifier(X, moments, C).solve()
        for change in (np.diag(np.logspace(-4, 4, 4)), ortho_group.rvs(4, random_state=1), np.eye(4)[[2, 0, 3, 1]]):
            moved = cn.Moments(change @ moments.mean, change @ moments.covariance @ change.T)
            solution = cn.moment_classifier(X @ change.T, moved, C).solve()
            assert solution.objective == pytest.approx(base.objective, rel=1e-6)
            assert change.T @ solution.region.normal == pytest.approx(base.region.normal, abs=1e-5)
        away = 1e5 * np.ones(4)
        shifted = cn.moment_classifier(X + away, cn.Moments(moments.mean + away, moments.covariance), C).solve()
        assert shifted.objective == pytest.approx(base.objective, rel=1e-6)
        assert cn.moment_classifier(X[::-1], moments, C).solve().objective == pytest.approx(base.objective, rel=1e-8)
    twice = cn.moment_classifier(np.vstack([X, X]), moments, 0.1).solve()
    assert twice.objective == pytest.approx(cn.moment_classifier(X, moments, 0.2).solve().objective, rel=1e-7)


@pytest.mark.parametrize("C", [1e-8, 1e-4, 1e4, 1e8])
def test_extreme_penalties(C):
    X, moments = classes()
    program, descent = cn.moment_classifier(X, moments, C).solve(), module.coordinate_descent(X, moments, C)
    assert program.objective == pytest.approx(descent.objective, rel=1e-6)
    if C >= 1e4:
        assert program.objective == pytest.approx(module.projection(X, moments).objective, rel=1e-6)
    if C <= 1e-4:
        assert descent.values["outlier_fraction"] == pytest.approx(1.0, rel=1e-9)


# -- cases from the field ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e5, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("data", ["diabetes", "iris"])
def test_dear_slacks_of_classes_that_overlap(C, data):
    """The value lies above the least sum of slacks, a linear program's, and below that plus what its plane's variance costs."""
    if data == "iris":
        X, positive = load_iris().data[50:, :2], np.arange(100) >= 50
    else:
        X, positive = load_diabetes().data, load_diabetes().target > 150
    machine = MomentClassifier(slack_penalty=C).fit(X, positive)
    P, N = X[positive], X[~positive]
    mean, S = N.mean(axis=0), np.cov(N.T, bias=True)
    S = S + 1e-6 * (mean @ mean + np.trace(S)) * np.eye(len(S))
    root, (n, p) = np.linalg.inv(np.linalg.cholesky(S)).T, P.shape
    D = (P - mean) @ root
    found = linprog(
        np.append(np.zeros(p), np.ones(n)),
        -np.hstack([D, np.eye(n)]),
        -np.ones(n),
        bounds=[(None, None)] * p + [(0, None)] * n,
    )
    least, v = C * found.fun, found.x[:p]
    # In whitened coordinates the variance is the squared length.
    assert least * (1 - 1e-9) <= machine.objective_ <= (least + v @ v) * (1 + 1e-9)
    w = machine.score_.normal
    slacks = np.maximum(1 - (P - mean) @ w, 0)
    assert w @ S @ w + C * slacks.sum() == pytest.approx(machine.objective_, rel=1e-7)
    lost = int((P @ w < mean @ w + 1 - 1e-7).sum())
    assert (machine.predict(P) == 0).sum() == lost
    assert f"{lost} of {n} positive points are rejected" in str(machine.guarantee_)


def test_slacks_that_are_dear_beyond_rounding_are_refused_by_coordinates():
    """Multipliers of 1e13 leave a value unknown, which the message brackets; of 1e12 it is that of the program."""
    P, N = load_iris().data[100:, :2], cn.Moments.estimate(load_iris().data[50:100, :2])
    n, p = P.shape
    rows, bounds = np.hstack([P - N.mean, np.eye(n)]), [(None, None)] * p + [(0, None)] * n
    least = linprog(np.append(np.zeros(p), np.ones(n)), -rows, -np.ones(n), bounds=bounds)
    w = least.x[:p]
    found = module.coordinate_descent(P, N, 1e12).objective
    assert 1e12 * least.fun * (1 - 1e-12) <= found <= (1e12 * least.fun + w @ N.covariance @ w) * (1 + 1e-12)
    with pytest.raises(SolverError, match=r"the value lies between .* slacks are so dear"):
        module.coordinate_descent(P, N, 1e13)


@pytest.mark.parametrize("seed", [10, 14, 5])
@pytest.mark.parametrize("added", ["ridge", "category"])
def test_one_hot_columns_of_negatives_leave_a_direction_free(added, seed):
    """Columns that sum to one, which positives do not: a ridge, and a category that is dropped, decide what no variance does."""
    rng, n = np.random.default_rng(seed), 200
    X = np.c_[rng.normal(45, 12, n).round() / 10, rng.beta(2, 5, n).round(3), np.eye(3)[rng.integers(0, 3, n)]]
    negatives, mean, sizes = cn.Moments.estimate(X), X.mean(axis=0), X.std(axis=0)
    positives = mean + 2 * sizes * rng.choice([-1, 1], size=5) + 0.5 * sizes * rng.normal(size=(12, 5))
    for uncertainty, grown in ((None, 1.0), (sets.LoewnerInterval(0.05, "nominal"), 1.05)):
        w = cp.Variable(5)
        cost = grown * cp.sum_squares((X - mean) @ w) / n
        held = [(positives - mean) @ w >= 1]
        machine = cn.moment_classifier(positives, negatives, uncertainty=uncertainty)
        if added == "ridge":
            cost, made = (
                cost + 0.3 * cp.sum_squares(cp.multiply(sizes, w)),
                machine.plus(lambda v: 0.3 * cp.sum_squares(cp.multiply(sizes, v["w"]))),
            )
        else:
            held, made = [*held, w[4] == 0], machine.subject_to(lambda v: [v["w"][4] == 0])
        right = cp.Problem(cp.Minimize(cost), held).solve(solver="CLARABEL")
        assert made.solve().objective == pytest.approx(right, rel=1e-6, abs=1e-9)


def test_a_price_that_no_solver_resolves_is_named():
    """The price is at fault, and not the distance of ordinary data."""
    X, positive = load_diabetes().data, load_diabetes().target > 150
    problem = cn.moment_classifier(X[positive], cn.Moments.estimate(X[~positive]), 1e10)
    with pytest.raises(SolverError, match=r"slack_penalty: 1e\+10 was found.*give at most") as refused:
        problem.solve()
    limit = float(str(refused.value).rpartition("give at most ")[2])
    assert cn.moment_classifier(X[positive], cn.Moments.estimate(X[~positive]), limit).solve().status == "optimal"


@pytest.mark.parametrize("share", [0.3, 0.999, 1.001, 3.0])
def test_a_price_of_the_mean_below_what_any_plane_costs_separates_nothing(share):
    """In one dimension w' = t w costs t^2 w^2 + C sum max(0, t - x w t) and saves t of the price: none pays below C sum max(0, 1 - x w)."""
    x, C = np.array([-1.0, -0.5, 2.0]), 0.4  # the mean 0 lies in their hull; w > 0 pays least per unit of the distance
    least = min(C * np.maximum(0, 1 - x * w).sum() for w in np.linspace(-40, 40, 160_001))
    moments, price = cn.Moments([0.0], [[1.0]]), share * least
    for node in ("with_offset", "cost_sensitive_svm"):
        found = getattr(module, node)(x[:, None], moments, C, mean_penalty=price)
        solution = found.solve() if node == "with_offset" else found
        nothing = str(solution.guarantee).startswith("w = 0 to the solver's accuracy: a mean_penalty of")
        assert nothing == (share < 1)
        if share < 1:
            assert solution.guarantee.bound == 1
            assert solution.region.contains([[-9.0], [0.0], [9.0]]).all()
            assert solution.objective == pytest.approx(price, rel=1e-6)


@pytest.mark.parametrize("center", [(-2.0, -1.0, -2.0), (2.0, 9.0, 2.0), (8.0, 9.0, 8.0), (20.0, 1.0, 0.0)])
@pytest.mark.parametrize("options", [{}, {"slack_penalty": 0.5}, {"slack_penalty": 0.5, "mean_penalty": 50.0}], ids=str)
def test_a_set_of_means_that_does_not_hold_the_nominal_one(center, options):
    """The half-space keeps the mean of the set outside and the positives inside, on whatever side the nominal mean lies."""
    positives = np.random.default_rng(0).standard_normal((12, 3)) + 3
    nominal, center = np.array([0.0, 1.0, 0.0]), np.array(center)
    recipe = sets.MeanWithin(sets.NormBall(2, 0.2)) + (center - nominal)
    solution = cn.moment_classifier(
        positives, cn.Moments(nominal, 2 * np.eye(3)), uncertainty=recipe, **options
    ).solve()
    w, b = solution.region.normal, solution.region.offset
    worst = (b - w @ center - 0.2 * np.linalg.norm(w)) / (np.sqrt(2) * np.linalg.norm(w))
    assert worst > 0 and 1 / (1 + worst**2) == pytest.approx(solution.guarantee.bound, rel=1e-5)
    assert solution.region.contains(positives).all()


# Positives around a mean of 0, the variance, the price, the minimum w of v w^2 + C sum max(0, 1 - x w), and how many are lost.
KINKS = [
    ([2.8, 2.0], 2.0, 1.0, 0.5, 0),
    ([17, 11, 7, 11, 23, 1, 28, 7, 26, 10, 13], 1.0, 2.0, 1.0, 0),
    ([4, 16, -5, 24, 19, 22, 12, 26, 10, 25, 24, 25, -5, -1, 4, 4, 1], 4.0, 1.0, 0.25, 4),
]


@pytest.mark.parametrize(("x", "variance", "C", "w", "lost"), KINKS)
@pytest.mark.parametrize("node", ["moment_classifier", "with_offset", "dual"])
def test_points_on_the_boundary_are_not_lost(node, x, variance, C, w, lost):
    """Where a multiplier just reaches its bound, a solver knows the boundary to the root of its tolerance only."""
    x = np.array(x, dtype=float)
    slopes = [2 * variance * w - C * x[keep].sum() for keep in (x * w <= 1, x * w < 1)]
    assert slopes[0] <= 0 <= slopes[1]  # w is the minimum, in numbers that doubles hold
    build = getattr(module, node)
    solution = build(x[:, None], cn.Moments([0.0], [[variance]]), C).solve()
    assert (~solution.region.contains(x[:, None])).sum() == lost
    assert np.asarray(solution.values["w"]).item() == pytest.approx(w, rel=1e-14)
    assert (f"{lost} of" in str(solution.guarantee)) == (lost > 0)


def test_b16_b18_a_feature_that_negatives_never_have():
    """The second column is 5 for every negative and 6 for the positives: they are told apart for certain."""
    negatives = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    X = np.array([[1.5, 6.0], [2.5, 6.0]])
    moments = cn.Moments.estimate(negatives)
    solution = cn.moment_classifier(X, moments).solve()
    assert solution.objective == pytest.approx(0.0, abs=1e-9)
    assert solution.guarantee.bound == pytest.approx(0.0, abs=1e-9)
    assert solution.region.contains(X).all()
    assert not solution.region.contains(negatives).any()
    for node in ("projection", "dual", "coordinate_descent", "nu_machine"):
        refusal = module.METHOD.nodes[node].refusal({"positives": X, "negative_moments": moments})
        assert "off its range" in refusal
    ridge = cn.moment_classifier(X, moments, uncertainty=sets.FrobeniusBall(0.1)).solve()
    assert ridge.objective == pytest.approx(by_hand(X, moments, ridge=0.1)[0], rel=1e-6)
    # Fewer rows than columns.
    wide = datasets.wide()
    few = cn.moment_classifier(wide.nominal, cn.Moments.estimate(wide.novel[:5])).solve()
    assert few.objective == pytest.approx(0.0, abs=1e-9)


def test_b21_one_column_and_one_row():
    X = np.array([[4.0], [6.0]])
    solution = cn.moment_classifier(X, cn.Moments.estimate(np.arange(1.0, 4.0)[:, None])).solve()
    assert solution.objective == pytest.approx((2 / 3) / 4, rel=1e-8)
    single = cn.moment_classifier(X[:1], cn.Moments([0.0], [[1.0]])).solve()
    assert single.objective == pytest.approx(1 / 16, rel=1e-8)


def test_duplicates_and_equal_rows():
    X, moments = classes(n=4)
    base = module.projection(X, moments).objective
    for rows in (np.repeat(X, 5, axis=0), np.vstack([X, X[:1]])):
        for solution in routes(rows, moments):
            assert solution.objective == pytest.approx(base, rel=1e-6)
    same = np.tile(X[0], (6, 1))
    for solution in routes(same, moments):
        away = X[0] - moments.mean
        assert solution.objective == pytest.approx(1 / (away @ np.linalg.solve(moments.covariance, away)), rel=1e-6)


def test_b33_formulations_travel_as_recipes():
    X, moments = classes(distance=4.0)
    for problem in (
        cn.moment_classifier(X, moments, 0.3, sets.MeanEllipsoid(0.1) * sets.FrobeniusBall(0.2)),
        cn.moment_classifier(X, moments, 0.3, mean_penalty=1.0),
        cn.moment_classifier(X, moments, uncertainty=Gelbrich(0.2)),
        module.with_factors(X, moments, 1),
    ):
        first = problem.solve()
        again = pickle.loads(pickle.dumps(problem)).solve()
        assert again.objective == pytest.approx(first.objective, rel=1e-9)


# -- changing numbers ----------------------------------------------------------------------------------------------------


def test_numbers_change_without_compiling_again():
    X, moments = classes(distance=1.0)
    problem = cn.moment_classifier(X, moments, 0.1, sets.MeanEllipsoid(0.1) * sets.FrobeniusBall(0.2), mean_penalty=5.0)
    assert set(problem.parameters) == {"slack_penalty", "mean_penalty", "means_radius", "covariances_radius"}
    problem.solve()
    for C, P, nu, rho in ((0.2, 1.0, 0.3, 0.0), (3.0, 50.0, 0.0, 1.0)):
        solution = problem.set(slack_penalty=C, mean_penalty=P, means_radius=nu, covariances_radius=rho).solve()
        fresh = cn.moment_classifier(
            X, moments, C, sets.MeanEllipsoid(nu) * sets.FrobeniusBall(rho), mean_penalty=P
        ).solve()
        assert solution.objective == pytest.approx(fresh.objective, rel=1e-6)
        assert solution.guarantee.bound == pytest.approx(fresh.guarantee.bound, rel=1e-4)
    assert problem.compilations == 1
    path = cn.moment_classifier(X, moments, 0.1).path(slack_penalty=[0.05, 0.1, 0.2, 0.4])
    assert [s.objective for s in path] == sorted(s.objective for s in path)


def test_further_constraints_on_w():
    X, moments = classes()
    free = cn.moment_classifier(X, moments)
    held = free.subject_to(lambda v: v["w"][0] == 0).solve()
    assert held.region.normal[0] == pytest.approx(0.0, abs=1e-8)
    assert held.objective > free.solve().objective


def test_another_solver_agrees():
    X, moments = classes(distance=1.0)
    problem = cn.moment_classifier(X, moments, 0.3)
    assert problem.solve("OSQP").objective == pytest.approx(problem.solve().objective, rel=1e-5)
    robust = cn.moment_classifier(X, moments, 0.3, Disc(0.1))
    assert robust.solve("SCS").objective == pytest.approx(robust.solve().objective, rel=1e-4)


# -- bad input -----------------------------------------------------------------------------------------------------------


def test_bad_input_names_the_argument():
    X, moments = classes()
    sparse = sp.csr_array(X)
    broken = sparse.copy()
    broken.data[2] = np.inf
    cases = [
        (lambda: cn.moment_classifier(X[:, :2], moments), InputError, "positives: 2 columns"),
        (lambda: cn.moment_classifier(X[0], moments), InputError, "positives: shape"),
        (lambda: cn.moment_classifier(X[:0], moments), InputError, "positives: shape"),
        (lambda: cn.moment_classifier(np.where(X == X.max(), np.nan, X), moments), InputError, "positives: nan"),
        (lambda: cn.moment_classifier(broken, moments), InputError, "positives: inf was found at row 0, column 2"),
        (lambda: cn.moment_classifier([["a"] * 3], moments), InputError, "positives"),
        (lambda: cn.moment_classifier(X, X), InputError, "negative_moments: ndarray"),
        (lambda: cn.moment_classifier(X, moments, 0.0), InputError, "slack_penalty: 0"),
        (lambda: cn.moment_classifier(X, moments, -1.0), InputError, "slack_penalty: -1"),
        (lambda: cn.moment_classifier(X, moments, math.nan), InputError, "slack_penalty: nan"),
        (lambda: cn.moment_classifier(X, moments, "1"), InputError, "slack_penalty: '1'"),
        (lambda: cn.moment_classifier(X, moments, 1.0, mean_penalty=-2.0), InputError, "mean_penalty: -2"),
        (lambda: module.coordinate_descent(X, moments, -1.0), InputError, "slack_penalty: -1"),
        (lambda: cn.moment_classifier(X, moments, uncertainty=sets.NormBall(1.0)), InputError, "uncertainty: NormBall"),
        (lambda: cn.moment_classifier(X, moments, tail="none"), InputError, "tail: 'none'"),
        (lambda: module.penalty_of(1.5, X, moments), InputError, "outlier_fraction: 1.5"),
        (lambda: factor_model(moments, -1), InputError, "rank: -1"),
        (lambda: whitened(kernels.linear(), X), InputError, "moments"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


def test_integers_and_read_only_points_are_fine():
    X = np.array([[3, 1], [3, -1], [4, 0]])
    X.setflags(write=False)
    assert cn.moment_classifier(X, cn.Moments([0, 0], np.eye(2))).solve().objective == pytest.approx(1 / 9, rel=1e-8)


def test_a_mean_inside_the_hull():
    """A hard margin has no solution, and says what has one; a soft one has."""
    X = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    moments = cn.Moments([0.0, 0.0], np.eye(2))
    for make in (
        lambda: cn.moment_classifier(X, moments).solve(),
        lambda: module.with_offset(X, moments).solve(),
        lambda: module.coordinate_descent(X, moments),
        lambda: module.projection(X, moments),
        lambda: module.kappa_search(X, moments).solve(),
        lambda: module.semi_infinite(X, moments),
    ):
        with pytest.raises(InfeasibleError, match="convex hull of the positive points"):
            make()
    assert cn.moment_classifier(X, moments, 1.0).solve().objective <= 3.0


# -- the checker sees faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["projection", "woodbury", "multipliers"])
def test_a_planted_fault_turns_the_checker_red(monkeypatch, fault):
    name = "blob, hard margin, the paper's set"
    if fault == "projection":
        right = module.min_norm_point

        def wrong(points):
            found = right(points)
            return type(found)(1.01 * found.point, found.weights, found.gap, found.iterations)

        monkeypatch.setattr(module, "min_norm_point", wrong)
    elif fault == "woodbury":
        inner = Whitening.inner

        def lost(self, X, Z=None):
            found = inner(self, X, Z)
            return found * 1.01 if self.structured else found

        monkeypatch.setattr(Whitening, "inner", lost)
    else:
        name = "blob, soft margin, the paper's set"
        right = module.smo
        monkeypatch.setattr(module, "smo", lambda Q, p, **more: right(1.01 * np.asarray(Q), p, **more))
    instance = next(i for i in module.METHOD.instances() if i.name == name)
    assert not cn.check(instance).passed


def test_the_order_of_the_points_does_not_matter_to_the_machine_of_scikit_learn():
    """Its offset is the best of the kinks, each of which belongs to one point: any of them may be the last one."""
    X, moments = classes(n=5, p=2, distance=1.5, seed=2)
    costs = (1e-5, 2.4e-5)  # so cheap that every multiplier is at its bound
    expected = module.moment_classifier(X, moments, costs[0], mean_penalty=costs[1]).solve().objective
    for k in range(5):
        found = module.cost_sensitive_svm(np.roll(X, k, axis=0), moments, *costs)
        assert found.objective == pytest.approx(expected, rel=1e-5)


def test_cutting_planes_stop_when_their_bounds_meet():
    X, moments = classes(n=6, p=2, seed=1)
    solution = module.semi_infinite(X, moments, 0.5)
    assert solution.iterations < 100 < 300  # the limit of rounds, at which nothing would be known of the gap


def test_a_master_that_fails_at_the_end_leaves_the_best_point_so_far(monkeypatch):
    """Its bounds are near enough by then (here anything is): the answer is a feasible point, so not below the optimum."""
    X, moments = classes(n=6, p=2, seed=1)
    recipe, solve, calls = sets.FrobeniusBall(0.5), planes._solve, []
    whole = module.semi_infinite(X, moments, 0.5, recipe)

    def tired(problem, profile):
        calls.append(problem)
        if len(calls) == whole.iterations:
            raise SolverError("tired")
        return solve(problem, profile)

    monkeypatch.setattr(planes, "_solve", tired)
    monkeypatch.setattr(planes, "SUFFICIENT", 1.0)
    found = module.semi_infinite(X, moments, 0.5, recipe)
    assert found.iterations == whole.iterations > 1
    assert found.objective >= whole.objective * (1 - 1e-6)


@pytest.mark.parametrize("variance", [0.0, 1e-12, 1e-6])
@pytest.mark.parametrize("price", [None, 1.0])
def test_a_column_in_which_negatives_hardly_vary_has_the_size_that_the_set_gives_it(variance, price):
    """A Bures ball of radius 1 adds |w| to the deviation, and a Frobenius ball of one's own |w|^2 to the variance: written down in CVXPY."""

    class Own(sets.CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius]

    positives, root = np.array([[3.5, 0.5], [4.5, 0.8], [2.5, 0.6]]), np.diag([2.0, np.sqrt(variance)])
    moments = cn.Moments(np.zeros(2), root**2)
    w, xi = cp.Variable(2), cp.Variable(3, nonneg=True)
    slack = 0 if price is None else xi
    cost = 0 if price is None else price * cp.sum(xi)
    worst = {
        sets.BuresBall(1.0): cp.square(cp.norm(root @ w) + cp.norm(w)),
        Own(1.0): cp.sum_squares(root @ w) + cp.sum_squares(w),
    }
    for recipe, variances in worst.items():
        problem = cp.Problem(cp.Minimize(variances + cost), [positives @ w >= 1 - slack])
        truth = [problem.solve("CLARABEL"), problem.solve("SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=200_000)]
        assert truth[0] == pytest.approx(truth[1], rel=1e-6)
        found = cn.moment_classifier(positives, moments, price, recipe).solve()
        assert found.objective == pytest.approx(truth[0], rel=1e-6)


@pytest.mark.parametrize("members", [[[[0.0]]], [[[0.0]], [[0.0]]]])
def test_a_hard_margin_that_no_half_space_has_is_refused_where_nothing_varies(members):
    """Negatives that are 2 without a doubt, between positives 1 and 3: the program has no unit, and a solver found a point of it."""
    exact, points = sets.MeanWithin(sets.Interval([0.0], [0.0])), np.array([[1.0], [3.0]])
    with pytest.raises(
        InfeasibleError, match=r"negative_moments: a mean of .* lies in the convex hull of the positive points"
    ):
        cn.moment_classifier(
            points, cn.Moments([2.0], [[0.0]]), uncertainty=exact * sets.CovarianceHull(members)
        ).solve()
    beyond = cn.moment_classifier(
        points + 2, cn.Moments([2.0], [[1.0]]), uncertainty=exact * sets.CovarianceHull([[[1.0]]])
    )
    assert beyond.solve().objective == pytest.approx(1.0, rel=1e-7)


def _beside_ones():
    """Income and balance of negatives and positives, and a column of ones, whose weight is free of the objective and of the margins."""
    rng = np.random.default_rng(1)
    income = [rng.lognormal(10.3 + 0.6 * k, 0.5, n) for k, n in ((0, 60), (1, 12))]
    balance = [rng.normal(2e6 * (1 + k), 8e5, n) for k, n in ((0, 60), (1, 12))]
    negatives, positives = (np.c_[one, other, np.ones(len(one))] for one, other in zip(income, balance, strict=True))
    return cn.Moments.estimate(negatives), positives


@pytest.mark.parametrize(
    "constraint",
    [
        lambda w, P, m: w[2] == 1,
        lambda w, P, m: P.mean(axis=0) @ w == 1,
        lambda w, P, m: P @ w >= 5,
        lambda w, P, m: m @ w == 100,
    ],
    ids=["weight", "mean score", "scores", "score of the mean"],
)
def test_a_constraint_that_the_weight_of_a_constant_column_meets_costs_nothing(constraint):
    """The optimum without it is that with it. A bound in the unit of the other columns made values up to 4000 times too large."""
    moments, positives = _beside_ones()
    alone = cn.moment_classifier(positives, moments, 0.1)
    held = alone.subject_to(lambda letters: constraint(letters["w"], positives, moments.mean)).solve()
    assert held.objective == pytest.approx(alone.solve().objective, rel=1e-6)
    w = held.values["w"]
    assert constraint(cp.Variable(3, value=w), positives, moments.mean).violation() == pytest.approx(0.0, abs=1e-5)


def test_a_price_of_the_weight_of_a_constant_column_is_unbounded():
    moments, positives = _beside_ones()
    with pytest.raises(UnboundedError):
        cn.moment_classifier(positives, moments, 0.1).plus(lambda letters: 0.01 * letters["w"][2]).solve()
