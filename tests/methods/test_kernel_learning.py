"""Kernel learning against the paper's programs written out, a search over weights, and hand counts."""

from __future__ import annotations

import pickle
import re
import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import datasets, kernels
from convexnovelty.algorithms import mixture
from convexnovelty.errors import IndefiniteError, InfeasibleError, InputError, SolverError, UnboundedError
from convexnovelty.estimators import KernelLearningSVM
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.kernel_family import KernelFamily
from convexnovelty.methods import kernel_learning as module

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def cloud(n=20, p=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + 1.5 * (-1.0) ** np.arange(p)


def family(n=20, gammas=(1.0, 0.2), seed=0):
    """Kernels of two kinds, of which more than one gets weight at the prices below."""
    chosen = [kernels.laplacian(gamma=gammas[0]), *(kernels.gaussian(gamma=gamma) for gamma in gammas[1:])]
    return KernelFamily.of_kernels(cloud(n, seed=seed), [*chosen, kernels.polynomial(degree=2, gamma=0.2)])


def inner_by_hand(K, nu, C, c):
    """Equation 13 with the matrix inverted as printed."""
    n = len(K)
    G = np.linalg.inv(np.linalg.inv(K) + c * (np.eye(n) - 1 / n))
    values, vectors = np.linalg.eigh((G + G.T) / 2)
    s, h, r = (cp.Variable(n, nonneg=True) for _ in range(3))
    v = cp.Variable(n)
    held = [v == s + h - r, s <= 1 / (nu * n), cp.sum(s) == 1, cp.sum(r) == C]
    square = cp.sum_squares((np.sqrt(np.maximum(values, 0))[:, None] * vectors.T) @ v)
    problem = cp.Problem(cp.Maximize(cp.sum(h) - square / 2), held)
    problem.solve(**TIGHT)
    return problem.value


def agree(one, other, coordinates, rtol=1e-5):
    ours, theirs = one.region.decision_values(coordinates), other.region.decision_values(coordinates)
    np.testing.assert_allclose(ours, theirs, atol=rtol * np.abs(theirs).max())


def test_the_checker_is_green_and_no_step_goes_unchecked():
    report = cn.check("kernel_learning")
    assert report.passed, report.table()
    checked = {(row.source, row.target) for row in report.rows if row.verdict == "pass"}
    assert {(step.source_node, step.target_node) for step in module.METHOD.steps} <= checked


# -- references --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("nu", "C", "c"), [(0.25, 2.0, 0.1), (0.7, 1.0, 0.0), (0.25, 0.5, 2.0)])
def test_no_other_weights_are_better_with_inverted_matrices(nu, C, c):
    """Equation 12 with equation 13 as printed inside: it is convex in the weights, so nearby ones suffice."""
    given = family(10, (1.0, 0.3))
    solution = cn.kernel_learning(given, nu, C, c).solve()
    mu = np.maximum(solution.values["mu"], 0)

    def value(weights):
        K = sum(w * gram for w, gram in zip(weights / weights.sum(), given.grams, strict=True))
        return inner_by_hand(K + 1e-9 * np.eye(10), nu, C, c)

    assert value(mu) == pytest.approx(solution.objective, abs=1e-5)
    for share in (0.03, 0.3):
        for corner in np.eye(len(given)):
            # The ridge that makes matrices invertible adds a little to the kernel.
            assert value((1 - share) * mu + share * corner) >= solution.objective - 1e-6


@pytest.mark.parametrize("c", [0.0, 0.3])
def test_against_the_program_after_equation_14_letter_by_letter(c):
    """With the paper's gamma, beta, lambda and symmetric roots, and its second-order cones."""
    given, nu, C, n = family(15), 0.3, 1.5, 15
    H = np.eye(n) - 1 / n
    g_s, g_h, g_r, beta = (cp.Variable(n, nonneg=True) for _ in range(4))
    l_s, l_r, t1, t2 = (cp.Variable() for _ in range(4))
    mu, tau = cp.Variable(len(given), nonneg=True), cp.Variable(len(given), nonneg=True)
    parts = [cp.Variable(n) for _ in given.grams]
    roots = []
    for K in given.grams:
        values, vectors = np.linalg.eigh(K)
        roots.append((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
    held = [
        g_s - beta + l_s == -g_r + l_r,
        g_s - beta + l_s == g_h + 1,
        sum(root @ part for root, part in zip(roots, parts, strict=True)) == g_s - beta + l_s,
        t1 >= cp.sum(tau),
        cp.sum(mu) == 1,
        *(cp.norm(cp.hstack([2 * part, mu[k] - tau[k]])) <= mu[k] + tau[k] for k, part in enumerate(parts)),
        cp.norm(cp.hstack([2 * (H @ (g_s - beta)), t2 - 1])) <= t2 + 1,
    ]
    objective = t1 / 2 + c / 2 * t2 + cp.sum(beta) / (nu * n) - l_s + C * l_r
    problem = cp.Problem(cp.Minimize(objective), held)
    problem.solve(solver="CLARABEL")
    solution = cn.kernel_learning(given, nu, C, c).solve()
    assert solution.objective == pytest.approx(problem.value, rel=1e-6)
    assert solution.values["mu"] == pytest.approx(mu.value, abs=1e-3)
    assert solution.values["rho"] == pytest.approx(float(l_s.value), abs=1e-3)
    assert solution.values["R"] == pytest.approx(float(l_r.value), abs=1e-3)


def test_two_points_by_hand():
    """K = [[1, a], [a, 1]]: equal scores t cost t^2/(1 + a) + (C - 1)t, so t = max(1, (1 - C)(1 + a)/2)."""
    for scale, C, t in ((1.0, 1.0, 1.0), (8.0, 0.5, 3.0), (8.0, 0.0, 6.0), (1.0, 0.0, 1.0)):
        K = scale * np.array([[1.0, 0.5], [0.5, 1.0]])
        solution = cn.kernel_learning(K, 0.7, C).solve()
        assert solution.objective == pytest.approx(t**2 / (1.5 * scale) + (C - 1) * t, rel=1e-7)
        assert solution.offset.used == pytest.approx(t, rel=1e-4)


def test_two_kernels_by_hand():
    """Block kernels that know one point each: 1/mu + 1/(1 - mu) is least at 1/2; a larger one needs less weight.

    K_1 = diag(a, 0), K_2 = diag(0, b) and all scores 1: 1/(a mu) + 1/(b (1 - mu)), so mu is proportional to 1/sqrt(a).
    """
    for a, b in ((1.0, 1.0), (1.0, 16.0), (0.1, 3.0)):
        grams = [np.diag([a, 0.0]), np.diag([0.0, b])]
        expected = (1 / np.sqrt(a)) / (1 / np.sqrt(a) + 1 / np.sqrt(b))
        for node in (module.socp, module.block_norm, module.qcqp):
            solution = node(grams, 0.7, 3.0).solve()
            assert solution.values["mu"] == pytest.approx([expected, 1 - expected], abs=1e-4)
            assert solution.objective == pytest.approx((1 / np.sqrt(a) + 1 / np.sqrt(b)) ** 2 / 2 + 2.0, rel=1e-6)
        for node in (module.line_search, module.semi_infinite_lp):
            assert node(grams, 0.7, 3.0).values["mu"] == pytest.approx([expected, 1 - expected], abs=1e-6)


@pytest.mark.parametrize("c", [0.0, 0.2])
def test_every_route_agrees(c):
    """Six routes for four kernels, in objective, weights and decision values at new points."""
    X, Z = cloud(24), cloud(30, seed=9) * 1.5
    chosen = [
        kernels.laplacian(gamma=0.8),
        kernels.gaussian(gamma=0.5),
        kernels.gaussian(gamma=0.1),
        kernels.polynomial(degree=2, gamma=0.2),
    ]
    given = KernelFamily.of_kernels(X, chosen)
    reference = module.semi_infinite_lp(given, 0.2, 1.5, c)
    assert (reference.values["mu"] > 1e-3).sum() >= 2
    routes = [module.socp(given, 0.2, 1.5, c), module.block_norm(given, 0.2, 1.5, c)]
    routes.append(module.qcqp_covariance(given, 0.2, 1.5, c) if c else module.qcqp(given, 0.2, 1.5))
    for problem in routes:
        solution = problem.solve()
        assert solution.objective == pytest.approx(reference.objective, rel=1e-7)
        assert solution.values["mu"] == pytest.approx(reference.values["mu"], abs=1e-4)
        agree(solution, reference, given.coordinates(Z), 2e-5)


def test_two_hundred_points_and_the_paper_s_four_widths():
    """Section IV: beta = 2, 1, 1/2 and 1/3 of one over the mean distance. Programs with factors solve it in seconds."""
    X = datasets.banana(n=200).nominal
    beta = 1 / np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)).mean()
    given = KernelFamily.of_kernels(X, [kernels.gaussian(gamma=f * beta) for f in (2.0, 1.0, 0.5, 1 / 3)])
    reference = module.semi_infinite_lp(given, 0.2, 2.0)
    for form in ("primal", "dual"):
        solution = cn.kernel_learning(given, 0.2, 2.0, form=form).solve()
        assert solution.objective == pytest.approx(reference.objective, rel=1e-7)
        assert solution.values["mu"] == pytest.approx(reference.values["mu"], abs=1e-4)
        agree(solution, reference, given.coordinates(datasets.banana(n=60, seed=1).novel), 2e-5)


# -- the weights are multipliers ---------------------------------------------------------------------------------------


def test_weights_are_the_multipliers_of_the_quadratic_constraints():
    """A kernel that is larger by a share e lowers the optimum by e mu_k a'K_k a / 2: a finite difference shows it."""
    given = family(16)
    solution = cn.kernel_learning(given, 0.3, 1.5, form="dual").solve()
    mu, gamma = solution.values["mu"], solution.values["gamma"]
    assert mu.sum() == pytest.approx(1.0, abs=1e-7)
    assert mu.min() > -1e-8
    base = module.semi_infinite_lp(given, 0.3, 1.5).objective
    for k, K in enumerate(given.grams):
        changed = [1.001 * gram if j == k else gram for j, gram in enumerate(given.grams)]
        moved = module.semi_infinite_lp(changed, 0.3, 1.5).objective
        assert (moved - base) / 1e-3 == pytest.approx(-mu[k] * (gamma @ K @ gamma) / 2, abs=2e-3)
        # No kernel with weight is shorter on the plane's coefficients than another (complementarity).
        assert gamma @ K @ gamma <= max(gamma @ other @ gamma for other in given.grams) * (1 + 1e-9)
        if mu[k] > 1e-4:
            assert gamma @ K @ gamma == pytest.approx(2 * solution.values["t"], rel=1e-5)


def test_the_derivative_of_the_inner_optimum():
    """-a'K_k a / 2 by differences, with a covariance too; and the plane below J touches it."""
    given = family(14)
    for c in (0.0, 0.3):
        machine = mixture.Machine(given, 0.3, 1.5, c)
        weights = np.array([0.3, 0.5, 0.2])
        inner = machine.solve(weights)
        assert inner.value == pytest.approx(inner_by_hand(given.gram(weights), 0.3, 1.5, c), rel=1e-6)
        for k in range(3):
            step = 1e-5 * (np.arange(3) == k)
            ends = [machine.solve(weights + sign * step).value for sign in (1, -1)]
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(inner.slopes[k], rel=1e-4, abs=1e-6)
        for other in np.random.default_rng(1).dirichlet(np.ones(3), 10):
            assert machine.solve(other).value >= inner.constant + inner.slopes @ other - 1e-9


def test_equal_kernels_share_one_weight_and_change_nothing():
    given = family(16)
    twice = KernelFamily([*given.members, given.members[0], given.members[2]])
    one, two = module.semi_infinite_lp(given, 0.3, 1.5), cn.kernel_learning(twice, 0.3, 1.5).solve()
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    merged = two.values["mu"][:3] + np.array([two.values["mu"][3], 0.0, two.values["mu"][4]])
    assert merged == pytest.approx(one.values["mu"], abs=1e-4)


def test_order_of_kernels_and_of_points_changes_nothing():
    given = family(16)
    order = np.random.default_rng(3).permutation(16)
    moved = [K[np.ix_(order, order)] for K in given.grams[::-1]]
    one, other = (cn.kernel_learning(g, 0.3, 1.5, 0.1).solve() for g in (given, moved))
    assert other.objective == pytest.approx(one.objective, rel=1e-8)
    assert other.values["mu"][::-1] == pytest.approx(one.values["mu"], abs=1e-4)


def test_a_kernel_that_is_of_no_use_gets_no_weight():
    """A very narrow Gaussian sees every point for itself: the origin is near, and the margin small."""
    given = KernelFamily.of_kernels(cloud(16), [kernels.gaussian(gamma=0.2), kernels.gaussian(gamma=200.0)])
    for solution in (cn.kernel_learning(given, 0.3, 0.5).solve(), module.line_search(given, 0.3, 0.5)):
        assert solution.values["mu"] == pytest.approx([1.0, 0.0], abs=1e-6)


# -- one kernel --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 0.3])
def test_one_kernel_is_the_modified_machine(c):
    given = KernelFamily.of_kernels(cloud(20), [kernels.gaussian(gamma=0.4)])
    expected = inner_by_hand(given.grams[0] + 1e-10 * np.eye(20), 0.25, 0.8, c)
    for node in (module.modified_primal, module.single_kernel, module.socp):
        assert node(given, 0.25, 0.8, c).solve().objective == pytest.approx(expected, rel=1e-6)
    assert module.sequential(given, 0.25, 0.8, c).objective == pytest.approx(expected, rel=1e-6)


def test_without_a_price_a_large_kernel_gives_the_plain_machine():
    """C = 0 and scores above 1 everywhere: no limit binds, and the objective is minus the one-class dual's."""
    kernel = kernels.gaussian(gamma=0.1)
    K = 30 * kernel(cloud(18))
    plain = cn.one_class_svm(KernelFeatures(K, "precomputed"), 0.3).solve()
    solution = cn.kernel_learning(K, 0.3, 0.0).solve()
    assert solution.objective == pytest.approx(-plain.objective, rel=1e-7)
    agree(solution, plain, np.asarray(KernelFeatures(K, "precomputed").training), 2e-5)


def test_without_a_limit_the_larger_of_two_kernels_would_always_win():
    """Why the machine is modified: blown up, any kernel has any margin. With limits the value stays above C - 1."""
    K = kernels.gaussian(gamma=0.3)(cloud(18))
    plain = [cn.one_class_svm(KernelFeatures(scale * K, "precomputed"), 0.3).solve().objective for scale in (1, 1e4)]
    assert plain[1] == pytest.approx(1e4 * plain[0], rel=1e-6)
    modified = [module.sequential(scale * K, 0.3, 2.0).objective for scale in (1, 1e4, 1e8)]
    assert modified[0] > modified[1] > modified[2] > 1.0
    assert modified[2] == pytest.approx(1.0, abs=1e-6)


def test_constant_scores_need_a_price_that_is_high_enough():
    given = KernelFamily.of_kernels(cloud(12), [kernels.gaussian(gamma=3.0)])
    gamma = np.linalg.solve(given.grams[0], np.ones(12))
    least = np.maximum(1 / 12 - gamma, 0).sum()
    solution = module.constant_scores(given, 0.3, least + 0.1, 0.4)
    assert solution.objective == pytest.approx(module.sequential(given, 0.3, least + 0.1, 0.4).objective, rel=1e-10)
    assert given.training @ solution.region.normal == pytest.approx(np.ones(12), abs=1e-9)
    with pytest.raises(InputError, match="scores are constant for a scale_penalty of"):
        module.constant_scores(given, 0.3, 0.5 * least)


# -- new points --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("c", [0.0, 0.2])
def test_new_points_are_scored_by_the_learned_kernel(form, c):
    given, Z = family(18), cloud(11, seed=7)
    solution = cn.kernel_learning(given, 0.3, 1.5, c, form=form).solve()
    mu, gamma = solution.values["mu"], solution.values["gamma"]
    by_kernel = given.cross_gram(Z, mu) @ gamma - solution.offset.used
    by_plane = solution.region.decision_values(given.coordinates(Z))
    np.testing.assert_allclose(by_kernel, by_plane, atol=1e-5 * solution.offset.used)
    learned = sum(m * member.kernel(Z, member.points) for m, member in zip(mu, given.members, strict=True))
    np.testing.assert_allclose(learned @ gamma - solution.offset.used, by_kernel, atol=1e-9)


def test_gram_matrices_and_features_are_the_same_to_it():
    given, Z = family(18), cloud(11, seed=7)
    grams = KernelFamily([member.kernel(member.points) for member in given.members])
    rows = [member.kernel(Z, member.points) for member in given.members]
    one, other = (cn.kernel_learning(g, 0.3, 1.5).solve() for g in (given, grams))
    ours = other.region.decision_values(grams.coordinates(rows))
    theirs = one.region.decision_values(given.coordinates(Z))
    np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())


def test_linear_features_may_stand_beside_kernels():
    X = cloud(15) + 4.0
    solution = cn.kernel_learning([LinearFeatures(X), KernelFeatures(X, kernels.gaussian(gamma=0.3))], 0.3, 1.5).solve()
    expected = module.line_search([X @ X.T, kernels.gaussian(gamma=0.3)(X)], 0.3, 1.5)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)


# -- units -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.3, 2.0])
@pytest.mark.parametrize("scale", [1e-8, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e8])
def test_kernels_of_any_size(scale, C):
    """The lower limit of 1 gives scores a size, so that another unit is another problem; all routes still agree."""
    grams = [scale * K for K in family(14).grams]
    reference = module.semi_infinite_lp(grams, 0.3, C)
    # Sixteen orders of magnitude apart, the limit of 1 and the margin leave one another no digits in a cone program.
    nodes = (module.socp, module.block_norm, module.qcqp) if 1e-7 < scale < 1e7 else (module.block_norm,)
    for node in nodes:
        solution = node(grams, 0.3, C).solve()
        assert solution.objective == pytest.approx(reference.objective, rel=1e-6)
    scores = sum(m * K for m, K in zip(reference.values["mu"], grams, strict=True)) @ reference.values["gamma"]
    assert scores.min() >= 1 - 1e-6


def three_points():
    """A linear kernel that may be inverted, one that may not, and the least cost of constant scores by fractions.

    For Gram matrices K and L of whole numbers it is 1'(mu K + (1 - mu) L)^{-1}1 / 2, by Cramer's rule, which is convex in
    mu: the least of a thousand steps, and thirds of the interval about it.
    """
    X, Y = np.array([[3, 1, 0], [1, 2, 2], [2, 0, 3]]), np.array([[2], [1], [3]])
    K, L = ([[Fraction(int(k)) for k in row] for row in A @ A.T] for A in (X, Y))

    def determinant(M):
        return sum(
            M[0][i] * (M[1][(i + 1) % 3] * M[2][(i + 2) % 3] - M[1][(i + 2) % 3] * M[2][(i + 1) % 3]) for i in range(3)
        )

    def cost(mu):
        M = [[mu * k + (1 - mu) * j for k, j in zip(*rows, strict=True)] for rows in zip(K, L, strict=True)]
        ones = [[[Fraction(1) if c == i else M[r][c] for c in range(3)] for r in range(3)] for i in range(3)]
        return sum(determinant(one) for one in ones) / determinant(M) / 2

    best = min(range(1, 1001), key=lambda k: cost(Fraction(k, 1000)))
    low, high = Fraction(max(best - 1, 1), 1000), Fraction(min(best + 1, 1000), 1000)
    for _ in range(60):
        third = (high - low) / 3
        left, right = (low + third).limit_denominator(10**12), (high - third).limit_denominator(10**12)
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return X.astype(float), Y.astype(float), float(cost(low)), float(low)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("c", [0.0, 0.3])
@pytest.mark.parametrize("unit", [1e2, 1e4, 1e5, 1e6])
def test_a_price_and_a_gain_that_cancel_leave_the_cost_of_the_plane(unit, c):
    """With C = 1 scores of 1 cost nothing: the value falls with the square of the unit, and the terms do not."""
    X, Y, cost, weight = three_points()
    given = [LinearFeatures(unit * X), LinearFeatures(unit * Y)]
    routes = [cn.kernel_learning(given, 0.5, 1.0, c, form) for form in ("primal", "dual")]
    for made in (*routes, module.block_norm(given, 0.5, 1.0, c)):
        solution = made.solve()
        assert solution.objective * unit**2 == pytest.approx(cost, rel=1e-6)
        assert solution.values["mu"][0] == pytest.approx(weight, abs=1e-4)
        assert solution.values.get("rho", 1.0) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.filterwarnings("error")
def test_the_weights_of_a_price_beside_which_the_plane_costs_nothing():
    """With C = 3 the plane is 1e-11 of the value; the weights are its own all the same."""
    X, Y, cost, weight = three_points()
    given = [LinearFeatures(1e6 * X), LinearFeatures(1e6 * Y)]
    for form in ("primal", "dual"):
        solution = cn.kernel_learning(given, 0.5, 3.0, 0.0, form).solve()
        assert solution.objective == pytest.approx(2 + cost * 1e-12, rel=1e-9)
        assert solution.values["mu"][0] == pytest.approx(weight, abs=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_price_that_is_set_to_where_it_cancels(form):
    """The compiled program is in units of the price that it was made for, in which the rest could not be seen."""
    X, Y, cost, _ = three_points()
    problem = cn.kernel_learning([LinearFeatures(1e5 * X), LinearFeatures(1e5 * Y)], 0.5, 0.2, 0.3, form)
    problem.solve()
    assert problem.set(scale_penalty=1.0).solve().objective * 1e10 == pytest.approx(cost, rel=1e-6)
    assert problem.parameters["scale_penalty"] == 1.0


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_price_a_little_below_one(form):
    """Scores t of a plane whose least cost is a have the value a t^2 - (1 - C) t: what would do does, and the rest is refused."""
    X = three_points()[0]
    cost = three_by_cramer(X) / 1e12
    given = LinearFeatures(1e6 * X)
    with pytest.raises(
        InputError, match=r"scale_penalty: 0.999999999 was found, so little below 1.*give 1, or at most"
    ) as e:
        cn.kernel_learning(given, 0.5, 1 - 1e-9, form=form)
    most = float(str(e.value).split()[-1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cn.kernel_learning(given, 0.5, most, form=form).solve().objective
    assert found == pytest.approx(-((1 - most) ** 2) / (4 * cost), rel=1e-6) and not caught
    near = cn.kernel_learning(LinearFeatures(X), 0.5, 1 - 1e-9, form=form).solve().objective
    assert near == pytest.approx(three_by_cramer(X) - 1e-9, rel=1e-9)


@pytest.mark.parametrize("unit", [1e2, 1e4, 1e5, 1e6])
def test_pair_steps_beside_large_kernels(unit):
    """Multipliers of the order of one, whose differences are what the plane is made of: right, or an error that says why."""
    X, Y, cost, _ = three_points()
    alone = three_by_cramer(X)
    for node, given, C, expected in (
        (module.line_search, [X, Y], 1.0, cost),
        (module.semi_infinite_lp, [X, Y], 1.0, cost),
        (module.sequential, [X], 1.0, alone),
        (module.constant_scores, [X], 1.0, alone),
        (module.single_kernel, [X], 1.0, alone),
        (module.modified_primal, [X], 1.0, alone),
    ):
        try:
            found = node([LinearFeatures(unit * part) for part in given], 0.5, C)
        except SolverError as error:
            assert unit >= 1e5 and "which is all that rounding leaves of multipliers beside such large kernels" in str(
                error
            )
            assert node in (module.line_search, module.semi_infinite_lp, module.sequential)
            continue
        value = (found.solve() if hasattr(found, "solve") else found).objective
        assert value * unit**2 == pytest.approx(expected, rel=1e-6), node


def three_by_cramer(X):
    """1'(X X')^{-1}1 / 2 for a matrix of whole numbers with three rows: half the squared length of X^{-1}1."""
    a, b, c = (Fraction(int(x)) for x in np.round(np.linalg.det(X) * np.linalg.solve(X, np.ones(3))))
    return float((a * a + b * b + c * c) / Fraction(int(np.round(np.linalg.det(X)))) ** 2 / 2)


@pytest.mark.parametrize(
    ("seed", "n", "unit", "C", "c"), [(3, 5, 2.6e2, 1.0, 1e3), (4, 8, 4e4, 1e5, 1.0), (5, 7, 3e5, 0.9, 0.0)]
)
def test_more_points_than_features_beside_large_kernels(seed, n, unit, C, c):
    """Gram matrices of low rank, against the program in the coordinates of the points, counted from scores of 1."""
    X = np.random.default_rng(seed).normal(size=(n, 2)) + 1.5
    w, rho, R, xi = cp.Variable(2), cp.Variable(), cp.Variable(), cp.Variable(n, nonneg=True)
    nearest = np.linalg.lstsq(X, np.ones(n))[0]
    above = X @ w + (X @ nearest - 1)
    cost = c / 2 * cp.sum_squares(above - cp.sum(above) / n) + cp.sum(xi) / (0.4 * n) - rho + C * R
    length = cp.sum_squares(w + nearest) / 2 / unit**2
    direct = cp.Problem(cp.Minimize(length + cost), [above >= 0, above >= rho - xi, above <= R])
    direct.solve(**TIGHT)
    given = LinearFeatures(unit * X)
    for node in (module.modified_primal, module.single_kernel, module.sequential, module.semi_infinite_lp):
        try:
            found = node(given, 0.4, C, c)
        except (SolverError, UnboundedError):
            assert node in (module.sequential, module.semi_infinite_lp)
            continue
        value = (found.solve() if hasattr(found, "solve") else found).objective
        assert value == pytest.approx(direct.value + C - 1, rel=1e-6), node


def plane_points(seed):
    """Ordinary points of the plane, at most thirty, with numbers of the machine: a Gram matrix of rank two."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 2)) + rng.choice([1, 2, 3])
    numbers = float(rng.uniform(0.1, 0.9)), *(float(rng.choice(some)) for some in ([0, 0.05, 0.3, 1], [0, 0.1, 1]))
    return X, *(numbers[i] for i in (0, 2, 1))


def in_the_plane(X, nu, C, c):
    """The machine in the two coordinates of the points, as a quadratic program."""
    w, rho, R, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(), cp.Variable(len(X), nonneg=True)
    s = X @ w
    cost = cp.sum_squares(w) / 2 + c / 2 * cp.sum_squares(s - cp.sum(s) / len(X)) + cp.sum(xi) / (nu * len(X)) - rho
    held = [s >= 1, s >= rho - xi, *([s <= R] if C else [])]
    problem = cp.Problem(cp.Minimize(cost + (C * R if C else 0)), held)
    problem.solve(**TIGHT)
    return problem.value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [1, 2, 8, 31, 32, 53, 59, 99, 267, 384])
def test_few_features_of_many_points(seed):
    """The range of the Gram matrix holds no constant: a unit that is taken from its inverse there is none at all."""
    X, *numbers = plane_points(seed)
    expected = in_the_plane(X, *numbers)
    found = {form: cn.kernel_learning(X @ X.T, *numbers, form).solve().objective for form in ("primal", "dual")}
    for node in (module.block_norm, module.modified_primal, module.single_kernel):
        found[node] = node(X @ X.T, *numbers).solve().objective
    assert found == pytest.approx(dict.fromkeys(found, expected), rel=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_nearest_point_of_many_points_in_few_features(form):
    """Pair steps on the Gram matrix of these points go on for a million steps, since many weights are nearly optimal."""
    rng = np.random.default_rng(1000386)
    n, p = int(rng.integers(3, 40)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.choice([1, 2, 3, 10]) * rng.normal(size=p)
    X *= 1e3
    found = cn.kernel_learning(X @ X.T, 0.13, 10.0, 1.0, form).solve()
    assert found.objective == pytest.approx(in_the_plane(X, 0.13, 10.0, 1.0), rel=1e-6)


def test_the_program_is_posed_in_the_size_of_its_terms():
    for seed in (1, 2, 8, 31, 53, 99):
        X, nu, C, c = plane_points(seed)
        problem = cn.kernel_learning(X @ X.T, nu, C, c)
        found = problem.solve().values
        terms = [
            float(found["tau"].sum()) / 2,
            abs(found["rho"]),
            found["xi"].sum() / (nu * len(X)),
            C * found.get("R", 0),
        ]
        assert 0.1 < sum(terms) / problem.objective_unit < 10


@pytest.mark.parametrize(
    ("seed", "form", "unit"), [(99, "primal", 82799129.65), (267, "dual", 6010181.617), (384, "dual", 3367966.94)]
)
def test_a_unit_far_above_the_value_is_told(monkeypatch, seed, form, unit):
    """Whichever solver comes through: an error, or a warning, or a remark that bounds what the value is off by."""
    X, *numbers = plane_points(seed)
    expected = in_the_plane(X, *numbers)
    far = module._Units(KernelFamily.of(X @ X.T).unit, 0.0, 1.0, unit, unit, unit)
    monkeypatch.setattr(module._Units, "of", classmethod(lambda cls, machine, **changed: far))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            solution = cn.kernel_learning(X @ X.T, *numbers, form).solve()
        except SolverError as error:
            assert "in the program's own scale" in str(error)
            return
    share = abs(solution.objective / expected - 1)
    told = re.search("by a share of (.*)", solution.attempts[-1].remark)
    assert share <= (float(told[1]) if told else 1e-6)
    assert share <= 1e-4 or any("the value is known to a share of" in str(w.message) for w in caught)


def test_planes_between_the_shortest_and_the_constant_one():
    """Each has the least score 1; none is shorter than the first, and the last has equal scores where these exist."""
    for X in (cloud(12) + 3.0, np.hstack([cloud(12) + 3.0, np.ones((12, 1))])):
        planes = mixture.Machine(KernelFamily.of(X @ X.T), 0.3, 1.0, 0.0).planes
        w = cp.Variable(X.shape[1])
        shortest = cp.Problem(cp.Minimize(cp.sum_squares(w)), [X @ w >= 1])
        shortest.solve(**TIGHT)
        assert planes[0].squared == pytest.approx(shortest.value, rel=1e-6)
        for plane in planes:
            normal = np.linalg.lstsq(X, plane.scores)[0]
            assert plane.scores == pytest.approx(X @ normal, abs=1e-9) and plane.scores.min() == pytest.approx(1.0)
            assert plane.squared == pytest.approx(normal @ normal, rel=1e-6)
            assert plane.squared >= planes[0].squared * (1 - 1e-9)
    assert planes[-1].scores == pytest.approx(np.ones(12), abs=1e-6)
    assert mixture.Machine(KernelFamily.of(LinearFeatures(np.vstack([X, -X]))), 0.3, 1.0, 0.0).planes == ()


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_the_origin_in_the_hull_of_the_points():
    """No plane has points on both sides of the origin on one side of it, whatever the weights."""
    X = np.vstack([cloud(10), -cloud(10)])
    for problem in (
        cn.kernel_learning(LinearFeatures(X), 0.3),
        cn.kernel_learning([LinearFeatures(X)] * 2, 0.3, form="dual"),
    ):
        with pytest.raises(InfeasibleError, match="origin lies in the hull"):
            problem.solve()
    for algorithm in (module.semi_infinite_lp, module.line_search):
        with pytest.raises(InfeasibleError, match="add a kernel that is positive"):
            algorithm([LinearFeatures(X), LinearFeatures(2 * X)], 0.3, 1.0)
    saved = cn.kernel_learning([LinearFeatures(X), KernelFeatures(X, kernels.gaussian(gamma=0.3))], 0.3).solve()
    assert saved.values["mu"][1] > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features_or_grams": []}, "empty list"),
        ({"features_or_grams": [np.eye(3), np.eye(4)]}, "members of 3, 4 points"),
        ({"features_or_grams": [np.array([[1.0, 0.5], [0.2, 1.0]])]}, "not symmetric"),
        ({"features_or_grams": [np.full((2, 2), np.inf)]}, "inf"),
        ({"features_or_grams": [np.zeros((2, 2))]}, "all zero"),
        ({"outlier_fraction": 0.0}, "outlier_fraction: 0"),
        ({"outlier_fraction": 1.2}, "outlier_fraction: 1.2"),
        ({"outlier_fraction": np.nan}, "outlier_fraction"),
        ({"outlier_fraction": "0.5"}, "outlier_fraction"),
        ({"scale_penalty": -1.0}, "scale_penalty: -1"),
        ({"scale_penalty": np.inf}, "scale_penalty"),
        ({"covariance_weight": -0.1}, "covariance_weight: -0.1"),
        ({"covariance_weight": np.nan}, "covariance_weight"),
        ({"form": "both"}, "form: 'both'"),
    ],
)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_bad_arguments(change, message, form):
    arguments = {"features_or_grams": family(8), "outlier_fraction": 0.3, "form": form, **change}
    with pytest.raises(InputError, match=message):
        cn.kernel_learning(**arguments)


def test_b26_an_indefinite_gram_matrix_is_refused():
    """B26: the eigenvalue -1 is stated, and no maximum passes for a minimum."""
    with pytest.raises(IndefiniteError) as caught:
        cn.kernel_learning([np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])], 0.5)
    assert caught.value.eigenvalue == pytest.approx(-1.0)


def test_programs_for_one_or_two_kernels_say_so():
    for node, given in (
        (module.modified_primal, family(8)),
        (module.single_kernel, family(8)),
        (module.sequential, family(8)),
        (module.line_search, family(8)),
    ):
        with pytest.raises(InputError, match=r"kernel.*, and there are 3"):
            node(given, 0.3, 1.0)
    with pytest.raises(InputError, match="covariance_weight: 0"):
        module.qcqp_covariance(family(8), 0.3, 1.0, 0.0)


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_points(n):
    """One point scores 1 or its optimum alone: t^2/(2k) - (1 - C)t."""
    solution = cn.kernel_learning([4.0 * np.eye(n)], 1.0, 0.0).solve()
    t = 4.0 / n  # n points at right angles: t^2 n/8 - t
    assert solution.objective == pytest.approx(t**2 * n / 8 - t, rel=1e-7)


def test_duplicated_points():
    X = np.repeat(cloud(5), 4, axis=0)
    given = KernelFamily.of_kernels(X, [kernels.gaussian(gamma=0.5), kernels.laplacian(gamma=0.5)])
    reference = module.semi_infinite_lp(given, 0.3, 1.5, 0.1)
    solution = cn.kernel_learning(given, 0.3, 1.5, 0.1).solve()
    assert solution.objective == pytest.approx(reference.objective, rel=1e-7)


# -- compiling, pickling -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_numbers_change_without_another_compilation(form):
    given = family(14)
    problem = cn.kernel_learning(given, 0.3, 1.5, form=form)
    problem.solve()
    for nu, C in ((0.6, 1.5), (0.2, 0.5), (0.2, 4.0)):
        found = problem.set(outlier_fraction=nu, scale_penalty=C).solve()
        assert found.objective == pytest.approx(module.semi_infinite_lp(given, nu, C).objective, rel=1e-6)
    assert problem.compilations == 1
    with pytest.raises(InputError, match="scale_penalty"):
        problem.set(scale_penalty=-2.0)


def test_the_weight_of_the_covariance_changes_without_another_compilation():
    given = family(14)
    problem = cn.kernel_learning(given, 0.3, 1.5, 0.1)
    for c in (0.1, 1.0, 0.02):
        found = problem.set(covariance_weight=c).solve()
        assert found.objective == pytest.approx(module.semi_infinite_lp(given, 0.3, 1.5, c).objective, rel=1e-6)
    assert problem.compilations == 1


def test_a_price_that_was_zero_can_be_set():
    given = family(14)
    problem = cn.kernel_learning(given, 0.3, 0.0)
    problem.solve()
    found = problem.set(scale_penalty=1.5, covariance_weight=0.2).solve()
    assert found.objective == pytest.approx(module.semi_infinite_lp(given, 0.3, 1.5, 0.2).objective, rel=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_covariance_may_come_and_go(form):
    """Two programs in the dual, of which a weight of zero takes one and any other the other."""
    given = family(14)
    problem = cn.kernel_learning(given, 0.3, 1.5, form=form)
    problem.solve()
    for c in (0.2, 0.0, 1.0):
        found = pickle.loads(pickle.dumps(problem.set(covariance_weight=c, outlier_fraction=0.4))).solve()
        expected = module.semi_infinite_lp(given, 0.4, 1.5, c).objective
        assert [found.objective, problem.solve().objective] == pytest.approx([expected] * 2, rel=1e-6)
    path = problem.path(covariance_weight=[0.0, 0.3])
    assert [s.objective for s in path] == pytest.approx(
        [module.semi_infinite_lp(given, 0.4, 1.5, c).objective for c in (0.0, 0.3)], rel=1e-6
    )
    assert problem.solve().objective == pytest.approx(expected, rel=1e-6)
    assert cn.check(problem).passed
    with pytest.raises(InputError, match="covariance_weight: -1"):
        problem.set(covariance_weight=-1.0)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_formulation_travels_by_its_recipe(form):
    problem = cn.kernel_learning(family(12), 0.3, 1.5, 0.2, form=form)
    value = problem.solve().objective
    assert pickle.loads(pickle.dumps(problem)).solve().objective == pytest.approx(value, rel=1e-9)
    assert problem.kind in ("SOCP", "QCQP")


# -- guarantees --------------------------------------------------------------------------------------------------------


def test_at_most_the_fraction_nu_lies_outside():
    """On any sample and with any weights; the offset is a quantile of the scores."""
    rng = np.random.default_rng(7)
    for _ in range(25):
        n, nu, C = int(rng.integers(6, 25)), float(rng.uniform(0.1, 1.0)), float(rng.uniform(0.0, 2.0))
        X = rng.standard_t(3, (n, 2))
        given = KernelFamily.of_kernels(X, [kernels.gaussian(gamma=0.3), kernels.laplacian(gamma=0.5)])
        solution = module.semi_infinite_lp(given, nu, C, float(rng.choice([0.0, 0.2])))
        outside = int((~solution.region.contains(given.training)).sum())
        assert outside <= nu * n + 1e-9
        assert solution.guarantee.startswith(f"{outside} of {n} training points")
        assert (solution.values["alpha_s"] > 0).mean() >= nu - 1e-9
        scores = given.training @ solution.region.normal
        assert scores.min() >= 1 - 1e-7
        assert f"{scores.max() / scores.min():.4g}" in solution.guarantee


def test_without_limits_that_bind_hardly_less_than_nu_lies_outside():
    """In the plane of the plain machine at most rank + 1 points keep the fraction from being exact."""
    X = np.random.default_rng(8).standard_normal((300, 2)) + 4.0
    solution = module.sequential(LinearFeatures(X), 0.2, 0.0)
    outside = int((~solution.region.contains(X)).sum())
    assert 60 - 4 <= outside <= 60


# -- the checker is checked --------------------------------------------------------------------------------------------


def problem():
    return cn.kernel_learning(
        KernelFamily.of_kernels(cloud(10), [kernels.gaussian(gamma=0.5), kernels.laplacian(gamma=1.0)]), 0.3, 2.0, 0.1
    )


def test_the_whole_chain_is_checked_on_a_user_s_formulation():
    report = cn.check(problem())
    assert report.passed, report.table()
    assert {"qcqp_covariance", "block_norm", "semi_infinite_lp", "line_search"} <= {row.source for row in report.rows}


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (mixture.woodbury, "metric_gram", lambda right: lambda *a: 1.01 * right(*a)),
        (mixture.woodbury, "expansion", lambda right: lambda *a: 1.01 * right(*a)),
        (KernelFamily, "normal", lambda right: lambda self, mu, gamma: right(self, np.roll(mu, 1), gamma)),
        (module, "quantile_interval", lambda right: lambda s, nu: right(s + 0.01, nu)),
    ],
)
def test_planted_faults_are_found(monkeypatch, owner, name, wrong):
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    assert not cn.check(problem()).passed


def test_a_closed_form_that_is_one_per_cent_wrong_is_found(monkeypatch):
    right = mixture.Machine.constant_expansion.func
    monkeypatch.setattr(mixture.Machine.constant_expansion, "func", lambda self: 1.01 * right(self))
    report = cn.check(cn.kernel_learning(KernelFamily.of_kernels(cloud(10), [kernels.gaussian(gamma=5.0)]), 0.3, 3.0))
    assert any(row.source == "constant_scores" for row in report.rows if row.verdict == "fail")


@pytest.mark.parametrize("unit", [1e2, 1e5, 1e8])
def test_kernels_of_very_different_sizes(unit):
    """A linear kernel that is u^2 times as large as a Gaussian one: its part costs next to nothing, and the optimum tends
    to that of a linear kernel that is free. Beyond a millionth the pair steps on a sum of both would see one alone."""
    X = np.random.default_rng(3).normal(size=(8, 2)) + 2.0
    kernels = [LinearFeatures(unit * X), KernelFeatures(X, "gaussian")]
    values = [getattr(module, name)(kernels, 0.5, 1.0).solve().objective for name in ("socp", "block_norm", "qcqp")]
    assert values[1:] == pytest.approx(values[:1] * 2, rel=2e-6)
    free = [LinearFeatures(1e2 * X), KernelFeatures(X, "gaussian")]
    limit = module.semi_infinite_lp(free, 0.5, 1.0).objective
    assert values[0] == pytest.approx(limit, rel=1e-2)
    for algorithm in (module.line_search, module.semi_infinite_lp):
        if unit == 1e2:
            assert algorithm(kernels, 0.5, 1.0).objective == pytest.approx(values[0], rel=1e-7)
        else:
            with pytest.raises(
                InputError, match=r"features_or_grams: the kernels' mean values k\(x, x\) differ by a factor"
            ):
                algorithm(kernels, 0.5, 1.0)


@pytest.mark.parametrize("node", [module.socp, module.qcqp, module.block_norm])
@pytest.mark.parametrize("seed", range(4))
def test_weights_and_scores_are_known_to_the_digits_of_the_program(node, seed):
    """K(mu) gamma = s and parts of one length, whichever program gave them; the pair steps find the weights without one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 2)) + 2
    X[4:] = X[:2]
    family = cn.KernelFamily.of_kernels(X, [kernels.gaussian(gamma=g) for g in (0.1, 0.5, 2.0)])
    solution, pairs = node(family, 0.2, 2.0).solve(), module.semi_infinite_lp(family, 0.2, 2.0)
    mu, gamma = solution.values["mu"], solution.values["gamma"]
    scores = family.training @ solution.region.normal
    assert scores.min() >= 1 - 1e-8
    np.testing.assert_allclose(family.gram(mu) @ gamma, scores, rtol=1e-8)
    lengths = np.array([gamma @ K @ gamma for K in family.grams])[mu > 1e-4]
    np.testing.assert_allclose(lengths, lengths.max(), rtol=1e-8)
    np.testing.assert_allclose(mu, pairs.values["mu"], atol=1e-7)


RAW = np.linspace(143.0, 2500.0, 30)[:, None]  # a column in its own unit, such as an area


def test_what_rounding_of_a_gram_matrix_may_hide_is_told():
    """The constant function has norm 1 and gives every point the score 1, for an objective of 1/2; beside values of 4e13, of
    which a double knows 0.004, no matrix tells it."""
    hiding = kernels.polynomial(2)(RAW)
    for form in ("primal", "dual"):
        with pytest.warns(UserWarning, match="values of precomputed.* reach 3.9e\\+13.* centre and scale the columns"):
            assert cn.kernel_learning([hiding], 0.1, form=form).solve().objective > 0.51
    with pytest.warns(UserWarning, match="centre and scale the columns"):
        KernelLearningSVM(0.1, kernels=[lambda X, Z: (X @ Z.T + 1) ** 2]).fit(RAW)
    telling = kernels.polynomial(2)((RAW - RAW.mean()) / RAW.std())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cn.kernel_learning([telling], 0.1).solve().objective == pytest.approx(0.5, rel=1e-6)


MIXED = np.random.default_rng(8).lognormal([6.5, 4.5, -2.0], 0.3, size=(25, 3))  # columns of areas, lengths and shares


@pytest.mark.parametrize("degree", [2, 3])
def test_polynomials_of_raw_columns_are_learned_to_all_digits(degree):
    """Held against monomials in units of their own, in CVXPY: kernel values reach 1e13 and 1e20, and the matrix of degree 2
    has 7 of 10 features left. The constant function alone costs 1/2."""
    Phi = kernels.polynomial(degree).features(MIXED)
    unit = np.abs(Phi).max(axis=0)
    u, R, rho, xi = cp.Variable(Phi.shape[1]), cp.Variable(), cp.Variable(), cp.Variable(25, nonneg=True)
    length, scores = cp.sum_squares(cp.multiply(1 / unit, u)), (Phi / unit) @ u
    problem = cp.Problem(
        cp.Minimize(length / 2 + R - rho + cp.sum(xi) / 2.5), [scores >= 1, scores <= R, scores >= rho - xi]
    )
    problem.solve(**TIGHT)
    for form in ("primal", "dual"):
        found = cn.kernel_learning([KernelFeatures(MIXED, kernels.polynomial(degree))], 0.1, form=form).solve()
        assert found.objective == pytest.approx(problem.value, rel=1e-6)
    assert KernelLearningSVM(0.1, kernels=[kernels.polynomial(degree)]).fit(MIXED).objective_ == pytest.approx(
        problem.value, rel=1e-6
    )


def test_the_constant_function_is_found_beside_large_columns():
    """It gives every point the score 1 and costs 1/2; new points have the score 1 too."""
    for X in (RAW, 1e3 * np.random.default_rng(0).normal(size=(40, 2))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings(
                "ignore", message=".*so nothing is separated; leave out kernels that hold a constant"
            )
            made = KernelLearningSVM(0.1, kernels=[kernels.polynomial(2)]).fit(X)
        assert made.objective_ == pytest.approx(0.5, rel=1e-6)
        np.testing.assert_allclose(made.score_samples(2 * X), 1.0, atol=1e-3)  # the root of the objective's error


@pytest.mark.parametrize("far", [1e7, 1e8])
def test_a_far_point_does_not_bring_the_origin_into_the_hull(far):
    """w = 1/4 gives 4, 5, 6 and any larger point a score of 1 or more. Without a price the least of -4w + w^2/2 is -8, with
    C = 1 the price of the largest score presses w onto 1/4."""
    given = [LinearFeatures(np.array([[4.0], [5.0], [6.0], [far]]))]
    for form in ("primal", "dual"):
        assert cn.kernel_learning(given, 0.1, 0.0, form=form).solve().objective == pytest.approx(-8.0, rel=1e-6)
    expected = 1 / 32 + far / 4 - 1
    assert cn.kernel_learning(given, 0.1, 1.0).solve().objective == pytest.approx(expected, rel=1e-6)
    with pytest.raises(InfeasibleError, match=r"origin lies in the hull of the points .* or comes within 1e-07"):
        cn.kernel_learning([LinearFeatures(np.array([[-4.0], [5.0], [far]]))], 0.1, 1.0).solve()


@pytest.mark.parametrize("sigma", [3.0, 4.0])
def test_the_constant_of_one_kernel_is_found_beside_skewed_columns_of_another(sigma):
    """Columns over ten orders of magnitude: the constant of the polynomial kernel gives each the score 1, for 1/2."""
    X = np.exp(sigma * np.random.default_rng(0).normal(size=(60, 2)))
    for form in ("primal", "dual"):
        made = cn.kernel_learning(KernelFamily.of_kernels(X, [kernels.linear(), kernels.polynomial(2)]), 0.1, form=form)
        assert made.solve().objective == pytest.approx(0.5, rel=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("seed", "n", "nu", "c"), [(2, 22, 0.1, 0.0), (5, 19, 0.25, 0.1)])
def test_years_leave_the_value_what_their_plane_costs(seed, n, nu, c):
    """Scores are 1 up to 0.002, of which years of 2022 make the 1 and their differences the rest: with the least score at 1, the
    plane of either program costs the value, as its length and scores add up."""
    rng = np.random.default_rng(seed)
    X = np.c_[2020 + rng.integers(0, 5, n), rng.integers(1, 13, n), rng.integers(1, 29, n)].astype(float)
    family, values = KernelFamily.of_kernels(X, [kernels.linear(), kernels.gaussian(gamma=1e-4)]), []
    for form in ("primal", "dual"):
        solution = cn.kernel_learning(family, nu, 1.0, c, form).solve()
        normal = solution.region.normal / min(float((family.training @ solution.region.normal).min()), 1.0)
        scores, length = family.training @ normal, sum(np.linalg.norm(normal[block]) for block in family.blocks)
        outliers = min(np.maximum(rho - scores, 0.0).sum() / (nu * n) - rho for rho in scores)
        cost = length**2 / 2 + c / 2 * np.sum((scores - scores.mean()) ** 2) + outliers + scores.max()
        assert solution.objective == pytest.approx(cost, rel=2e-7)
        values.append(solution.objective)
    assert values[0] == pytest.approx(values[1], rel=1e-8)


@pytest.mark.parametrize("degree", [1, 3, 4])
def test_powers_that_span_twenty_orders_of_magnitude(degree):
    """Half of the points have negative columns, so that odd powers alone separate nothing; the constant costs 1/2."""
    X = 1e4 * np.random.default_rng(7).normal(size=(40, 2))
    given = [KernelFeatures(X, kernels.polynomial(degree)), LinearFeatures(kernels.polynomial(degree).features(X))]
    assert cn.kernel_learning(given[1:], 0.1).solve().objective == pytest.approx(0.5, rel=1e-6)
    found = cn.kernel_learning(given[:1], 0.1).solve()
    assert found.objective == pytest.approx(0.5, rel=1e-6)
    inside = found.region.decision_values(KernelFeatures(X, kernels.polynomial(degree)).training)
    np.testing.assert_allclose(inside, 0.0, atol=1e-3)


def test_a_point_so_far_that_no_solver_finds_a_plane_is_no_proof_that_there_is_none():
    given = [LinearFeatures(np.array([[4.0], [5.0], [6.0], [1e12]]))]
    with pytest.raises(SolverError, match=r"planes that give all points a score of 1 .* centre and scale"):
        cn.kernel_learning(given, 0.1, 1.0).solve()


def test_polynomials_with_too_many_features_tell_what_their_values_hide(monkeypatch):
    monkeypatch.setattr("convexnovelty.features.ENTRIES", 50)
    with pytest.warns(UserWarning, match=r"values of polynomial\(degree=2.* centre and scale the columns"):
        cn.kernel_learning([KernelFeatures(RAW, kernels.polynomial(2))], 0.1).solve()


@pytest.mark.parametrize(("seed", "nu"), [(5, 1.0), (1, 0.7), (4, 0.2)])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_scores_that_the_price_presses_onto_one_leave_nothing_outside(seed, nu, form):
    """Whole numbers, many of them alike: the plane on which every score is 1 costs no more than the optimum, and is it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(15, 50)), 1)).round(0)
    gamma = kernels.gaussian().fitted(X).gamma
    members = [kernels.gaussian(gamma=times * gamma) for times in (0.25, 1, 4)]
    solution = cn.kernel_learning([KernelFeatures(X, member) for member in members], nu, form=form).solve()
    points = np.unique(X)[:, None]

    def cost(share):
        return (
            0.5
            * np.linalg.solve(share * members[0](points) + (1 - share) * members[2](points), np.ones(len(points))).sum()
        )

    assert min(map(cost, np.linspace(0, 1, 401))) <= solution.objective * (1 + 1e-4)
    rows = KernelFamily.of_kernels(X, members).training
    assert rows @ solution.region.normal == pytest.approx(np.ones(len(X)), abs=1e-5)
    assert str(solution.guarantee).startswith(f"0 of {len(X)} training points lie outside")
    assert solution.region.contains(rows).all()
