"""The two-class machine: brute force over directions, the paper's robust bound, units, and distributions that attain it."""

from __future__ import annotations

import math
import pickle
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import ortho_group
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import convexnovelty as cn
from convexnovelty import kernels, tails
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InfeasibleError, InputError, UnboundedError
from convexnovelty.estimators import TwoClassMPM
from convexnovelty.methods import two_class_mpm as module
from convexnovelty.metric_frame import worst_factor


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


def pair_of_moments(p=3, seed=0, distance=3.0):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, p, p + 2))
    direction = rng.standard_normal(p)
    x = cn.Moments(distance * direction, A @ A.T / p)
    return x, cn.Moments(-distance * direction + 0.3, B @ B.T / p)


def plane(count=200_001):
    angle = np.linspace(0.0, 2 * np.pi, count)
    return np.stack([np.cos(angle), np.sin(angle)])


def deviations(covariance, a):
    return np.sqrt(np.einsum("in,ij,jn->n", a, covariance, a))


def largest_kappa(x, y, nu=(0.0, 0.0), rho=(0.0, 0.0), reach=0.0):
    """By trying every direction of the plane; ``reach`` is the length by which each class's mean may come nearer."""
    a = plane()
    dx, dy = deviations(x.covariance + rho[0] * np.eye(2), a), deviations(y.covariance + rho[1] * np.eye(2), a)
    return float((((x.mean - y.mean) @ a - nu[0] * dx - nu[1] * dy - 2 * reach) / (dx + dy)).max())


def test_the_checker_is_green():
    report = cn.check("two_class_mpm")
    assert report.passed, report.table()
    assert {row.source for row in report.rows if row.verdict == "pass"} >= set(module.METHOD.nodes)


@pytest.mark.parametrize("seed", range(3))
def test_every_direction_of_the_plane(seed):
    x, y = pair_of_moments(2, seed)
    solution = cn.two_class_mpm(x, y).solve()
    assert 1 / solution.objective == pytest.approx(largest_kappa(x, y), rel=1e-7)
    assert module.scalar_root(x, y).objective == pytest.approx(solution.objective, rel=1e-8)
    a, b = solution.region.normal, solution.region.offset
    assert a @ (x.mean - y.mean) == pytest.approx(1.0, abs=1e-8)
    for moments, sign in ((x, 1.0), (y, -1.0)):
        reached = sign * (a @ moments.mean - b) / math.sqrt(a @ moments.covariance @ a)
        assert reached == pytest.approx(solution.values["kappa"], rel=1e-6)


@pytest.mark.parametrize("p", [1, 4, 25])
def test_equation_3_written_by_hand(p):
    x, y = pair_of_moments(p, 5)
    a = cp.Variable(p)
    roots = [np.linalg.cholesky(part.covariance).T for part in (x, y)]
    problem = cp.Problem(cp.Minimize(cp.norm(roots[0] @ a) + cp.norm(roots[1] @ a)), [a @ (x.mean - y.mean) == 1])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    assert cn.two_class_mpm(x, y).solve().objective == pytest.approx(problem.value, rel=1e-7)
    assert module.scalar_root(x, y).objective == pytest.approx(problem.value, rel=1e-7)


def test_the_papers_robust_bound():
    """Equation 3 with S + rho I, and 1 / (1 + max(0, kappa_* - nu)^2)."""
    x, y = pair_of_moments(4, 1)
    nu, rho = 0.3, 0.7
    solution = cn.two_class_mpm(x, y, sets.MeanEllipsoid(nu) * sets.FrobeniusBall(rho)).solve()
    ridge = rho * np.eye(4)
    plain = cn.two_class_mpm(cn.Moments(x.mean, x.covariance + ridge), cn.Moments(y.mean, y.covariance + ridge)).solve()
    assert solution.objective == pytest.approx(plain.objective, rel=1e-8)
    assert solution.region.normal == pytest.approx(plain.region.normal, abs=1e-6)
    assert solution.guarantee.bound == pytest.approx(1 / (1 + (1 / plain.objective - nu) ** 2), rel=1e-7)
    assert "MeanEllipsoid(radius=0.3) * FrobeniusBall(radius=0.7)" in solution.guarantee
    assert f"<= {solution.guarantee.bound:.6g}" in solution.guarantee


def test_uncertain_means_leave_the_hyperplane_and_change_the_bound():
    x, y = pair_of_moments(3, 2)
    plain = cn.two_class_mpm(x, y).solve()
    robust = cn.two_class_mpm(x, y, sets.MeanEllipsoid(0.5)).solve()
    assert robust.region.normal == pytest.approx(plain.region.normal, abs=1e-8)
    assert robust.region.offset == pytest.approx(plain.region.offset, abs=1e-8)
    assert robust.objective == pytest.approx(plain.objective, rel=1e-9)
    assert robust.guarantee.bound > plain.guarantee.bound


def test_too_much_uncertainty_in_the_means_bounds_nothing():
    """kappa_* <= nu: the machine still names its hyperplane, and says that the bound is 1."""
    x, y = cn.Moments([2.0, 0.0], np.eye(2)), cn.Moments([-2.0, 0.0], np.eye(2))
    problem = cn.two_class_mpm(x, y, sets.MeanEllipsoid(1.0))
    assert problem.solve().guarantee.bound == pytest.approx(0.5)
    for nu in (2.0 + 1e-9, 2.5, 40.0):
        solution = problem.set(radius=nu).solve()
        assert solution.guarantee.bound == 1.0
        assert "no hyperplane is safe" in solution.guarantee
        assert solution.region.normal == pytest.approx([0.25, 0.0], abs=1e-7)
        assert module.scalar_root(x, y, sets.MeanEllipsoid(nu)).guarantee.bound == 1.0
    assert problem.compilations == 1
    with pytest.raises(
        InfeasibleError, match=r"separates all means of .* by 1e-06 deviations or more, .* below 0.999999999999;"
    ):
        module.kappa_search(x, y, sets.MeanEllipsoid(2.5)).solve()
    with pytest.raises(InfeasibleError, match="separates all means"):
        module.semi_infinite(x, y, sets.MeanEllipsoid(2.5))


@pytest.mark.parametrize(("nu", "rho"), [((0.2, 0.2), (0.5, 0.1)), ((0.5, 0.1), (0.0, 0.4)), ((0.0, 0.6), (0.3, 0.0))])
def test_a_set_for_each_class(nu, rho):
    x, y = pair_of_moments(2, 3)
    pair = tuple(sets.MeanEllipsoid(n) * sets.FrobeniusBall(r) for n, r in zip(nu, rho, strict=True))
    solution = cn.two_class_mpm(x, y, pair).solve()
    assert solution.values["kappa"] == pytest.approx(largest_kappa(x, y, nu, rho), rel=1e-6)
    assert module.kappa_search(x, y, pair).solve().objective == pytest.approx(solution.objective, rel=1e-6)


def test_means_that_do_not_know_of_the_covariance():
    """A disc of means: each class comes nearer by its radius, whatever the direction."""
    x, y = pair_of_moments(2, 4)

    class Disc(sets.MeanSet):
        def membership(self, m):
            return [cp.norm(m - self.center) <= self.radius]

        def support(self, a):
            return self.center @ a + cp.norm(self.tuned("radius") * a)

    problem = cn.two_class_mpm(x, y, Disc(0.4))
    assert problem.solve().values["kappa"] == pytest.approx(largest_kappa(x, y, reach=0.4), rel=1e-6)
    assert problem.set(radius=0.2).solve().values["kappa"] == pytest.approx(largest_kappa(x, y, reach=0.2), rel=1e-6)
    assert problem.compilations == 1
    with pytest.raises(InfeasibleError, match="separates all means"):
        problem.set(radius=30.0).solve()


def test_a_joint_set_is_searched_with_one_compilation():
    """Every direction of the plane, and for each the root in kappa of the Gelbrich ball's loss."""
    x, y = pair_of_moments(2, 6)
    problem = cn.two_class_mpm(x, y, Gelbrich(0.3))
    a = plane(20_001)
    gap, spread = (x.mean - y.mean) @ a, deviations(x.covariance, a) + deviations(y.covariance, a)
    for radius in (0.3, 0.8, 0.1):
        low, high = 0.0, 100.0
        for _ in range(80):
            kappa = (low + high) / 2
            feasible = (gap - kappa * spread - 2 * radius * math.sqrt(1 + kappa**2) >= 0).any()
            low, high = (kappa, high) if feasible else (low, kappa)
        solution = problem.set(radius=radius).solve()
        assert solution.values["kappa"] == pytest.approx(low, rel=1e-6)
        assert 1 / solution.objective == pytest.approx(low, rel=1e-6)
        assert solution.guarantee.bound == pytest.approx(1 / (1 + low**2), rel=1e-5)
    assert problem.compilations == 1
    assert problem.parameters == {"radius": 0.1}
    with pytest.raises(InfeasibleError, match="separates all means"):
        problem.set(radius=20.0).solve()


def test_a_users_set_needs_membership_alone():
    class Bare(sets.MomentSet):
        def membership(self, m, S):
            return Gelbrich.membership(self, m, S)

    x, y = pair_of_moments(2, 6)
    bare = cn.two_class_mpm(x, y, Bare(0.3)).solve()
    closed = cn.two_class_mpm(x, y, Gelbrich(0.3)).solve()
    assert bare.objective == pytest.approx(closed.objective, rel=1e-6)


def test_a_hull_of_given_pairs_need_not_hold_the_nominal_pair():
    """The hull lies on the other side of y than the nominal mean of x: the direction must follow the hull."""
    pairs = [([5.0, 0.0], np.eye(2)), ([6.0, 1.0], 2 * np.eye(2))]
    x, y = cn.Moments([-9.0, 0.0], np.eye(2)), cn.Moments([0.0, 0.0], np.eye(2))
    solution = cn.two_class_mpm(x, y, (sets.MomentHull(pairs), None)).solve()
    assert solution.region.contains([[6.0, 0.0]]).all()
    assert not solution.region.contains([[-9.0, 0.0]]).any()
    reference = module.semi_infinite(x, y, (sets.MomentHull(pairs), None))
    assert reference.objective == pytest.approx(solution.objective, rel=1e-6)


def test_equal_covariances_give_fishers_discriminant(rng):
    mixing = rng.standard_normal((3, 3))
    base = rng.standard_normal((60, 3)) @ mixing
    base -= base.mean(axis=0)
    x, y = base + np.array([1.0, 2.0, 0.0]), base - np.array([1.0, -1.0, 2.0])
    solution = cn.two_class_mpm(cn.Moments.estimate(x), cn.Moments.estimate(y)).solve()
    machine = LinearDiscriminantAnalysis().fit(np.vstack([x, y]), np.repeat([1, 0], 60))
    cosine = machine.coef_[0] @ solution.region.normal
    cosine /= np.linalg.norm(machine.coef_) * np.linalg.norm(solution.region.normal)
    assert cosine == pytest.approx(1.0, abs=1e-9)
    assert solution.values["kappa"] == pytest.approx(
        math.sqrt((x - y)[0] @ np.linalg.solve(np.cov(base.T, ddof=0), (x - y)[0])) / 2, rel=1e-7
    )


def test_kernel_features_serve_the_same_factory(rng):
    x, y = rng.standard_normal((12, 2)), rng.standard_normal((15, 2)) + np.array([2.5, 0.0])
    features = cn.KernelFeatures(np.vstack([x, y]), kernels.gaussian(gamma=0.3))
    moments = [cn.Moments.estimate(features.training[:12]), cn.Moments.estimate(features.training[12:])]
    uncertainty = sets.MeanEllipsoid(0.05) * sets.FrobeniusBall(0.02)
    solution = cn.two_class_mpm(*moments, uncertainty).solve()
    expanded = module.kernel_socp(features, 12, *moments, uncertainty).solve()
    assert expanded.objective == pytest.approx(solution.objective, rel=1e-6)
    new = rng.standard_normal((7, 2))
    by_hand = features.cross_gram(new) @ expanded.values["gamma"] - expanded.region.offset
    assert solution.region.decision_values(features.coordinates(new)) == pytest.approx(by_hand, abs=1e-5)
    # The program of the paper's appendix in K alone, without coordinates.
    K, gamma = features.gram, cp.Variable(27)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(27)).T
    parts = []
    for rows in (K[:12], K[12:]):
        centred = (rows - rows.mean(axis=0)) / math.sqrt(len(rows))
        parts.append(cp.norm(np.vstack([centred, math.sqrt(0.02) * root]) @ gamma))
    gap = K[:12].mean(axis=0) - K[12:].mean(axis=0)
    problem = cp.Problem(cp.Minimize(parts[0] + parts[1]), [gap @ gamma == 1])
    problem.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(solution.objective, rel=1e-5)


# -- invariance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_b22_units_of_the_features(unit):
    x, y = pair_of_moments(3, 7)
    nu, rho = 0.2, 0.4
    base = cn.two_class_mpm(x, y, sets.MeanEllipsoid(nu) * sets.FrobeniusBall(rho)).solve()
    scaled = [cn.Moments(unit * m.mean, unit**2 * m.covariance) for m in (x, y)]
    for uncertainty in (sets.MeanEllipsoid(nu) * sets.FrobeniusBall(rho * unit**2),):
        solution = cn.two_class_mpm(*scaled, uncertainty).solve()
        assert solution.objective == pytest.approx(base.objective, rel=1e-7)
        assert unit * solution.region.normal == pytest.approx(base.region.normal, abs=1e-5)
    joint = cn.two_class_mpm(x, y, Gelbrich(0.3)).solve()
    assert cn.two_class_mpm(*scaled, Gelbrich(0.3 * unit)).solve().objective == pytest.approx(joint.objective, rel=1e-6)


def test_mixed_units_translation_order_rotation_and_exchange(rng):
    x, y = pair_of_moments(4, 8)
    base = cn.two_class_mpm(x, y).solve()
    D = np.logspace(-4, 4, 4)
    turn = ortho_group.rvs(4, random_state=1)
    order = [2, 0, 3, 1]
    for change in (np.diag(D), turn, np.eye(4)[order]):
        moved = [cn.Moments(change @ m.mean, change @ m.covariance @ change.T) for m in (x, y)]
        solution = cn.two_class_mpm(*moved).solve()
        assert solution.objective == pytest.approx(base.objective, rel=1e-6)
        assert change.T @ solution.region.normal == pytest.approx(base.region.normal, abs=1e-5)
    away = 1e6 * np.ones(4)
    shifted = cn.two_class_mpm(cn.Moments(x.mean + away, x.covariance), cn.Moments(y.mean + away, y.covariance)).solve()
    assert shifted.objective == pytest.approx(base.objective, rel=1e-6)
    assert shifted.region.offset - shifted.region.normal @ away == pytest.approx(base.region.offset, abs=1e-5)
    exchanged = cn.two_class_mpm(y, x).solve()
    assert exchanged.region.normal == pytest.approx(-base.region.normal, abs=1e-6)
    assert exchanged.region.offset == pytest.approx(-base.region.offset, abs=1e-6)


def test_sets_that_only_rescale_kappa_leave_the_direction():
    x, y = pair_of_moments(3, 9)
    plain = module.scalar_root(x, y).region.normal
    for uncertainty in (sets.MeanEllipsoid(0.4), sets.DelageYe(), sets.KLBall(0.1)):
        solution = cn.two_class_mpm(x, y, uncertainty).solve()
        assert solution.region.normal == pytest.approx(plain, abs=1e-5)
        searched = module.kappa_search(x, y, uncertainty).solve()
        assert searched.values["kappa"] == pytest.approx(solution.values["kappa"], rel=1e-6)
        assert searched.guarantee.bound == pytest.approx(solution.guarantee.bound, rel=1e-5)


# -- cases from the field ------------------------------------------------------------------------------------------------


def test_b16_b18_a_direction_without_variance_separates_for_certain():
    """The second column is 5 in one class and 4 in the other: no doubt is left, with or without the first."""
    x = cn.Moments.estimate(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    y = cn.Moments.estimate(np.array([[1.5, 4.0], [2.5, 4.0], [3.0, 4.0]]))
    for solution in (cn.two_class_mpm(x, y).solve(), module.scalar_root(x, y)):
        assert solution.objective == pytest.approx(0.0, abs=1e-9)
        assert solution.guarantee.bound == pytest.approx(0.0, abs=1e-9)
        assert solution.region.contains([[2.0, 5.0]]).all()
        assert not solution.region.contains([[2.0, 4.0]]).any()
    # Fewer rows than columns: the means differ off the range of both covariances.
    eye = np.eye(3)
    few = cn.two_class_mpm(cn.Moments.estimate(eye[:2]), cn.Moments.estimate(eye[1:] + eye[2])).solve()
    assert few.objective == pytest.approx(0.0, abs=1e-9)


def test_b21_one_column():
    """kappa_* = |m_x - m_y| / (s_x + s_y)."""
    x, y = cn.Moments.estimate(np.arange(1.0, 4.0)[:, None]), cn.Moments.estimate(np.array([[9.0], [11.0]]))
    solution = cn.two_class_mpm(x, y).solve()
    assert 1 / solution.objective == pytest.approx(8 / (math.sqrt(2 / 3) + 1), rel=1e-8)
    assert module.scalar_root(x, y).objective == pytest.approx(solution.objective, rel=1e-8)


def test_b21_one_row_has_no_spread():
    x, y = cn.Moments.estimate(np.array([[1.0, 2.0]])), cn.Moments.estimate(np.array([[3.0, 5.0]]))
    assert cn.two_class_mpm(x, y).solve().guarantee.bound == pytest.approx(0.0, abs=1e-9)
    one = cn.two_class_mpm(x, cn.Moments([3.0, 5.0], np.eye(2))).solve()
    assert 1 / one.objective == pytest.approx(math.sqrt(13.0), rel=1e-7)


def test_b30_a_column_is_a_vector():
    x = cn.Moments(np.array([[1.0], [2.0], [3.0]]), np.eye(3))
    y = cn.Moments(np.array([[0.0, 0.0, 0.0]]), np.eye(3))
    assert 1 / cn.two_class_mpm(x, y).solve().objective == pytest.approx(math.sqrt(14.0) / 2, rel=1e-8)


def test_b33_formulations_travel_as_recipes():
    x, y = pair_of_moments(3, 10)
    for uncertainty in (None, (sets.FrobeniusBall(0.2), sets.MeanEllipsoid(0.1)), Gelbrich(0.2)):
        problem = cn.two_class_mpm(x, y, uncertainty)
        first = problem.solve()
        again = pickle.loads(pickle.dumps(problem)).solve()
        assert again.objective == pytest.approx(first.objective, rel=1e-9)


def test_b46_one_bound_for_all_callers():
    """m = +-2, s = 1: kappa = 2 and 1 / (1 + 2^2) = 0.2 by the program, the scalar root, cutting planes and the tail."""
    x, y = cn.Moments([2.0], [[1.0]]), cn.Moments([-2.0], [[1.0]])
    for solution in (cn.two_class_mpm(x, y).solve(), module.scalar_root(x, y), module.semi_infinite(x, y)):
        assert solution.guarantee.bound == pytest.approx(0.2, rel=1e-6)
    assert tails.Chebyshev().bound(2.0) == 0.2


# -- changing numbers ----------------------------------------------------------------------------------------------------


def test_numbers_of_both_sets_change_without_compiling_again():
    x, y = pair_of_moments(3, 11)
    problem = cn.two_class_mpm(x, y, (sets.MeanEllipsoid(0.1) * sets.FrobeniusBall(0.2), sets.FrobeniusBall(0.3)))
    assert set(problem.parameters) == {"means_radius", "covariances_radius", "radius"}
    problem.solve()
    solution = problem.set(means_radius=0.4, covariances_radius=0.6, radius=0.1).solve()
    fresh = cn.two_class_mpm(x, y, (sets.MeanEllipsoid(0.4) * sets.FrobeniusBall(0.6), sets.FrobeniusBall(0.1))).solve()
    assert solution.objective == pytest.approx(fresh.objective, rel=1e-8)
    assert solution.guarantee.bound == pytest.approx(fresh.guarantee.bound, rel=1e-7)
    assert problem.compilations == 1
    assert pickle.loads(pickle.dumps(problem)).solve().objective == pytest.approx(fresh.objective, rel=1e-8)
    alike = cn.two_class_mpm(x, y, (sets.FrobeniusBall(0.2), sets.FrobeniusBall(0.3)))
    assert alike.parameters == {"x_radius": 0.2, "y_radius": 0.3}
    shared = cn.two_class_mpm(x, y, sets.FrobeniusBall(0.2)).set(radius=0.5).solve()
    both = alike.set(x_radius=0.5, y_radius=0.5).solve()
    assert shared.objective == pytest.approx(both.objective, rel=1e-8)


def test_a_refused_number_changes_nothing():
    x, y = pair_of_moments(3, 11)
    problem = cn.two_class_mpm(x, y, sets.FrobeniusBall(0.2))
    for value in (-1.0, float("nan"), "1"):
        with pytest.raises(InputError):
            problem.set(radius=value)
    assert problem.parameters == {"radius": 0.2}
    with pytest.raises(InputError, match="there is no"):
        problem.set(width=1.0)


def test_a_tail_can_be_swapped():
    x, y = pair_of_moments(3, 12)
    problem = cn.two_class_mpm(x, y)
    kappa = problem.solve().values["kappa"]
    solution = problem.set(tail=tails.Gaussian()).solve()
    assert solution.guarantee.bound == pytest.approx(float(ndtr(-kappa)), rel=1e-6)
    assert "Gaussian" in solution.guarantee


def test_further_constraints():
    x, y = pair_of_moments(3, 13)
    for uncertainty in (None, Gelbrich(0.2)):
        free = cn.two_class_mpm(x, y, uncertainty)
        held = free.subject_to(lambda v: v["a"][0] == 0).solve()
        assert held.region.normal[0] == pytest.approx(0.0, abs=1e-8)
        assert held.objective > free.solve().objective
    with pytest.raises(InputError, match="crosses a level"):
        cn.two_class_mpm(x, y, Gelbrich(0.2)).plus(lambda v: v["a"][0])
    # Not that no direction separates the means: one does.
    with pytest.raises(InfeasibleError, match="with further constraints: at some number that the search tried"):
        cn.two_class_mpm(x, y, Gelbrich(0.2)).subject_to(lambda v: v["a"] == 0).solve()


def test_another_solver_agrees():
    x, y = pair_of_moments(3, 14)
    for uncertainty in (None, Gelbrich(0.2)):
        problem = cn.two_class_mpm(x, y, uncertainty)
        assert problem.solve("SCS").objective == pytest.approx(problem.solve().objective, rel=1e-5)


# -- bad input -----------------------------------------------------------------------------------------------------------


def test_bad_input_names_the_argument():
    x, y = pair_of_moments(3)
    cases = [
        (lambda: cn.two_class_mpm(np.zeros((3, 3)), y), InputError, "moments_x: ndarray"),
        (lambda: cn.two_class_mpm(x, None), InputError, "moments_y: NoneType"),
        (lambda: cn.two_class_mpm(x, pair_of_moments(2)[1]), InputError, "moments_y: dimension 2"),
        (lambda: cn.two_class_mpm(x, y, (None,)), InputError, "uncertainty: 1 sets"),
        (lambda: cn.two_class_mpm(x, y, sets.NormBall(1.0)), InputError, "uncertainty: NormBall"),
        (lambda: cn.two_class_mpm(x, y, "ball"), InputError, "uncertainty: 'ball'"),
        (lambda: cn.two_class_mpm(x, y, tail="none"), InputError, "tail: 'none'"),
        (lambda: cn.two_class_mpm(x, x), InfeasibleError, "the same mean"),
        (lambda: module.socp(x, y, Gelbrich(0.1)), InputError, "use two_class_mpm"),
        (lambda: cn.Moments([np.nan, 0.0], np.eye(2)), InputError, "mean: nan"),
        (lambda: sets.FrobeniusBall(-0.1), InputError, "radius: -0.1"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


# -- what is guaranteed --------------------------------------------------------------------------------------------------


def test_the_guarantee_holds_and_is_attained(rng):
    """Gaussian, skewed and heavy-tailed classes stay below the bound; the extremal laws of both reach it at once."""
    x, y = pair_of_moments(3, 15, distance=1.8)
    solution = cn.two_class_mpm(x, y).solve()
    bound, region = solution.guarantee.bound, solution.region
    assert 0.05 < bound < 0.5
    size = 40_000
    slack = 4 * math.sqrt(0.25 / size)
    laws = {
        "gaussian": rng.standard_normal((size, 3)),
        "exponential": rng.exponential(size=(size, 3)) - 1.0,
        "heavy": rng.standard_t(3, size=(size, 3)) / math.sqrt(3.0),
    }
    for white in laws.values():
        errors = (
            1 - region.contains(x.mean + white @ np.linalg.cholesky(x.covariance).T).mean(),
            region.contains(y.mean + white @ np.linalg.cholesky(y.covariance).T).mean(),
        )
        assert max(errors) <= bound + slack
    for moments, sign in ((x, -1.0), (y, 1.0)):
        # Moved beyond the boundary by a hair, since points on it count as ordinary.
        extremal = tails.extremal_distribution(
            moments.mean, moments.covariance, sign * region.normal, sign * region.offset + 1e-6
        )
        sample = extremal.sample(size, rng)
        inside = region.contains(sample).mean()
        error = 1 - inside if sign < 0 else inside
        assert error == pytest.approx(bound, abs=slack)


def test_the_robust_guarantee_holds_for_members(rng):
    """Means and covariances drawn from the sets, and worst cases: none has a kappa below the granted one."""
    x, y = pair_of_moments(3, 16)
    uncertainty = sets.MeanEllipsoid(0.3) * sets.FrobeniusBall(0.5)
    solution = cn.two_class_mpm(x, y, uncertainty).solve()
    a, b, kappa = solution.region.normal, solution.region.offset, solution.values["kappa"]
    for moments, sign in ((x, 1.0), (y, -1.0)):
        centred = uncertainty.centred(moments)
        members = [centred.sample(rng) for _ in range(200)]
        margins = [sign * (a @ m - b) / math.sqrt(a @ S @ a) for m, S in members]
        assert min(margins) >= kappa * (1 - 1e-6)
        m, S = centred.worst_member(-sign * a, kappa)
        assert sign * (a @ m - b) / math.sqrt(a @ S @ a) == pytest.approx(kappa, rel=1e-5)


# -- variances of one class that are small beside the rounding of the other's ------------------------------------------------


def on_a_plane(spread, seed=7, n=12):
    """Two samples: the first varies by ``spread`` in all directions, the second not at all along (0.3, 0, -1)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * spread + np.array([1.0, 0.0, 2.0])
    Y = rng.normal(size=(n, 3))
    Y[:, 2] = 0.3 * Y[:, 0]
    normal = np.array([0.3, 0.0, -1.0])
    # Where the spread is small the direction is the one without variance in y: the value is what x has along it, which
    # the points less one of them tell exactly, and their mean only to rounding.
    along = (X - X[0]) @ normal
    return X, Y, float(np.std(along)) / abs(float((X.mean(axis=0) - Y.mean(axis=0)) @ normal))


@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-6, 1e-7])
def test_a_class_without_variance_along_a_direction_leaves_the_other_its_digits(spread):
    X, Y, value = on_a_plane(spread)
    # Coordinates that differ by 1e-7 are known to 1e-9 of that.
    close = {"rel": max(1e-8, 1e-15 / spread)}
    for kind in ("dense", "low_rank"):
        x, y = (cn.Moments.estimate(Z, representation=kind) for Z in (X, Y))
        assert module.scalar_root(x, y).objective == pytest.approx(value, **close)
        assert cn.two_class_mpm(x, y).solve().objective == pytest.approx(value, **close)
        assert module.scalar_root(y, x).objective == pytest.approx(value, **close)
        longer = math.sqrt(sets.WishartBall(0.2).centred(x).ellipsoidal()[0, 0] / x.variances[0])
        stretched = module.scalar_root(x, y, sets.WishartBall(0.2)).objective
        assert stretched == pytest.approx(longer * value, **close)
    machine = TwoClassMPM(ridge=0).fit(np.vstack([X, Y]), np.repeat([0, 1], [len(X), len(Y)]))
    assert machine.objective_ == pytest.approx(value, **close)
    # The boundary is moved off the plane of the second class by a tie, at the cost of as much of the bound.
    assert machine.guarantee_.bound == pytest.approx(value**2 / (1 + value**2), rel=1e-6)


@pytest.mark.parametrize("radius", [0.0, 1e-14, 1e-9, 1e-3])
@pytest.mark.parametrize("kind", [sets.FrobeniusBall, sets.NuclearBall])
def test_a_small_radius_is_added_to_what_a_factor_knows(kind, radius):
    """By hand: both covariances diagonal in turned axes, in which the second vanishes along the first."""
    turn = ortho_group.rvs(3, random_state=4)
    F, G = np.diag([1e-6, 2e-6, 3e-6]) @ turn, np.diag([0.0, 1.0, 2.0]) @ turn
    x, y = cn.Moments.low_rank(turn[0], F), cn.Moments.low_rank(np.zeros(3), G)
    value = math.sqrt(1e-12 + radius) + math.sqrt(radius)
    assert module.scalar_root(x, y, kind(radius)).objective == pytest.approx(value, rel=1e-8)
    assert cn.two_class_mpm(x, y, kind(radius)).solve().objective == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("representation", ["dense", "low_rank"])
def test_factors_of_worst_covariances_are_those_of_the_ellipsoidal_forms(representation):
    points = np.random.default_rng(8).standard_normal((3, 4)) * np.array([1.0, 1e-2, 1.0, 1e2])
    moments = cn.Moments.estimate(points, representation=representation)
    stated = 0
    recipes = [recipe for made in sets.catalogue().values() for recipe in made.examples(4) if recipe.family != "points"]
    for recipe in [None, *recipes]:
        given = sets.as_moment_set(recipe)
        found, rows = given.centred(moments).ellipsoidal(1.0), worst_factor(moments, given)
        assert (found is None) == (rows is None)
        if found is not None:
            stated += 1
            np.testing.assert_allclose(rows.T @ rows, found[1], rtol=1e-9, atol=1e-14)
    assert stated >= 10


# -- the checker sees faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["direction", "bound", "kernel"])
def test_a_planted_fault_turns_the_checker_red(monkeypatch, fault):
    if fault == "direction":
        right = module.by_factorisations

        def wrong(first, second, difference):
            found = right(first, second, difference)
            tilted = found.a * np.linspace(1.0, 1.01, found.a.size)
            return type(found)(tilted / (tilted @ difference), found.first * 1.01, found.second, found.t)

        monkeypatch.setattr(module, "by_factorisations", wrong)
    elif fault == "bound":
        monkeypatch.setattr(module.Multiplier, "inverse", lambda self, factor: 1.01 * (factor - (self.nu or 0.0)))
    else:
        monkeypatch.setattr(module, "_ridges", lambda *_, **__: (0.02, 0.02))
    name = "digits, gaussian kernel" if fault == "kernel" else "two blobs, the paper's set"
    instance = next(i for i in module.METHOD.instances() if i.name == name)
    assert not cn.check(instance).passed


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_expansion_in_the_sample_asks_for_the_samples_own_means(unit):
    """A mean that is off by a thousandth of the points is not theirs, in any unit; what rounding leaves of one is."""
    points = unit * np.random.default_rng(3).standard_normal((12, 2))
    features = cn.LinearFeatures(points)
    x, y = cn.Moments.estimate(points[:6]), cn.Moments.estimate(points[6:])
    assert module._not_expanded(features, 6, x, y, sets.FrobeniusBall(0.1 * unit**2)) is None
    for shift, told in ((1e-3, True), (1e-14, False)):
        first, second = (cn.Moments.estimate(part + shift * unit) for part in (points[:6], points[6:]))
        for pair in ((first, y), (x, second)):
            found = module._not_expanded(features, 6, *pair, sets.FrobeniusBall(0.1 * unit**2))
            assert ("not the sample's own" in (found or "")) is told


@pytest.mark.parametrize("distance", [1e4, 1e7, 1e9])
def test_classes_far_apart_are_checked_by_what_resolves_them(distance):
    x, y = cn.Moments([0.0, 0.0], np.eye(2)), cn.Moments([distance, 0.0], np.diag([4.0, 1.0]))
    formulation = cn.two_class_mpm(x, y)
    assert 1 / formulation.solve().objective == pytest.approx(distance / 3, rel=1e-6)
    report = cn.check(formulation)
    assert report.passed, report.table()
    searched = {row.verdict for row in report.rows if "kappa_search" in (row.source, row.target)}
    assert ("pass" in searched) is (distance < 1e5)


def test_a_search_says_where_it_ends():
    x, y = cn.Moments([0.0, 0.0], np.eye(2)), cn.Moments([1e9, 0.0], np.eye(2))
    with pytest.raises(UnboundedError, match=r"kappa: it is larger than 1e\+08, the end of the search, or along"):
        module.kappa_search(x, y).solve()


@pytest.mark.parametrize("flat_first", [True, False])
@pytest.mark.parametrize(
    ("around", "loss"),
    [
        (None, lambda kappa: kappa),
        (sets.MeanEllipsoid(0.2), lambda kappa: kappa + 0.2),
        (sets.MeanWithin(sets.NormBall(2, 0.4)), lambda kappa: kappa + 0.4),
        (sets.GelbrichBall(0.3), lambda kappa: kappa + 0.3 * math.hypot(1, kappa)),
    ],
    ids=["nominal", "means", "points", "pairs"],
)
def test_room_before_a_class_that_does_not_vary_is_taken_off_the_bound(around, loss, flat_first):
    """One class is at 0 for certain, the other has mean 3 and variance 1 on a line: the boundary lies just beside 0."""
    classes, given = (cn.Moments([0.0], [[0.0]]), cn.Moments([3.0], [[1.0]])), (None, around)
    if not flat_first:
        classes, given = classes[::-1], given[::-1]
    solution = cn.two_class_mpm(*classes, given).solve()
    region, kappa = solution.region, float(solution.values["kappa"])
    at = region.offset / region.normal[0]
    assert 0 < at < 1e-5
    assert bool(region.contains([[0.0]])[0]) == flat_first
    assert loss(kappa) <= 3 - at + 1e-9  # a solver's accuracy, of a room of 6e-7
    assert loss(kappa) == pytest.approx(3, abs=1e-5)
    assert solution.guarantee.bound == pytest.approx(1 / (1 + kappa**2), rel=1e-12)


class SecondMoments(sets.MomentSet):
    """The pairs of DelageYe by membership alone."""

    def membership(self, m, S):
        d = cp.reshape(m - self.center_mean, (m.size, 1), order="F")
        return [
            cp.bmat([[self.center_covariance, d], [d.T, np.array([[0.1]])]]) >> 0,
            cp.bmat([[1.3 * self.center_covariance - S, d], [d.T, np.eye(1)]]) >> 0,
        ]


def test_a_joint_set_by_its_class_and_by_its_membership_has_one_half_space_and_one_bound():
    """In a plane of deviations one and two; the objectives are reciprocals of kappa before and after what the set adds."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 2)) + 3
    x, y = cn.Moments.estimate(points), cn.Moments([0.0, 0.0], [[1.0, 0.3], [0.3, 0.6]])
    stated, derived = (cn.two_class_mpm(x, y, given).solve() for given in (sets.DelageYe(0.1, 1.3), SecondMoments()))
    # The formula of the docstring of DelageYe, in units of the worst deviation.
    kappa = float(stated.values["kappa"])
    grown = (
        (math.sqrt(0.1) + kappa * math.sqrt(1.2)) if 0.1 <= 1.3 / (1 + kappa**2) else math.sqrt(1.3 * (1 + kappa**2))
    )
    assert 1 / stated.objective == pytest.approx(grown / math.sqrt(1.3), rel=1e-6)
    assert 1 / derived.objective == pytest.approx(kappa, rel=1e-5)
    assert derived.guarantee.bound == pytest.approx(stated.guarantee.bound, rel=1e-5)
    np.testing.assert_allclose(derived.region.normal, stated.region.normal, atol=1e-4)
    hard = [
        cn.moment_classifier(points, y, None, given).solve() for given in (sets.DelageYe(0.1, 1.3), SecondMoments())
    ]
    assert hard[1].guarantee.bound == pytest.approx(hard[0].guarantee.bound, rel=1e-5)
    for given in (sets.DelageYe(0.1, 1.3), SecondMoments()):
        soft = cn.moment_classifier(points, y, 1.0, given).solve()
        normal, kappa = soft.region.normal, math.sqrt(1 / soft.guarantee.bound - 1)
        worst = sets.evaluate_loss(sets.DelageYe(0.1, 1.3).centred(y), normal, kappa)
        assert worst <= soft.region.offset + 1e-6


def test_classes_that_rounding_of_their_scores_confuses_are_refused_and_without_their_offset_told_apart():
    """Means of 2**52 + 3.5 and 2**52 + 5.5: a bound would be one on scores that nobody can compute."""
    first, second = np.arange(8.0).repeat(5)[:, None], np.array([5.0, 6.0] * 5)[:, None]
    X, y = np.vstack([first, second]), np.repeat([0, 1], [40, 10])
    with pytest.raises(
        InputError, match=r"moments_x, moments_y: the means lie 2.25e\+15 times their difference .* subtract a"
    ):
        TwoClassMPM(ridge=0).fit(X + 2.0**52, y)
    bound = TwoClassMPM(ridge=0).fit(X, y).guarantee_.bound
    kappa = 2.0 / (5.25**0.5 + 0.5)
    assert bound == pytest.approx(1 / (1 + kappa**2), rel=1e-6)


def test_whole_numbers_whose_last_digits_differ_give_the_bound_of_their_differences():
    """At 2**45 scores have seven digits, and the bound has all of its own: moments are those of the doubles."""
    rng = np.random.default_rng(0)
    X, y = np.floor(rng.normal(size=(60, 1)) * 20), np.repeat([0, 1], 30)
    X[y == 1] += 50
    near, far = (TwoClassMPM(ridge=0).fit(X + shift, y) for shift in (0.0, 2.0**45))
    assert far.guarantee_.bound == pytest.approx(near.guarantee_.bound, rel=1e-9)
    assert all((far.predict(X[y == c] + 2.0**45) != c).mean() <= far.guarantee_.bound for c in (0, 1))


JOINT = [
    sets.GelbrichBall(0.3) & sets.KLBall(0.1),
    sets.GelbrichBall(0.2) | sets.KLBall(0.1),
    sets.GelbrichBall(0.2) + sets.KLBall(0.1),
]


def joint_pair(z, which):
    one, apart = np.array([[1.0, 0.3, 0.1], [0.3, 1.2, 0.2], [0.1, 0.2, 0.9]]), np.array([3.0, 1.0, -2.0])
    return cn.Moments(z + apart, one), cn.Moments(z - apart / 3, np.diag([1.0, 0.5, 0.8])), JOINT[which]


@cache
def joint_reference(which):
    return module.semi_infinite(*joint_pair(np.zeros(3), which)).objective


@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("which", range(3), ids=lambda which: repr(JOINT[which]))
def test_joint_sets_of_two_divergences_go_with_the_data(which, far):
    """The reference meets the sets by their worst members alone, at the origin."""
    moved = cn.two_class_mpm(*joint_pair(far * np.array([0.4, 0.5, 0.6]), which)).solve()
    assert moved.objective == pytest.approx(joint_reference(which), rel=2e-6)


def test_a_mean_set_that_inverts_a_singular_covariance():
    """Whether the nominal pair is a member is asked of the cone of such an atom, which has no value there."""

    class OwnEllipsoid(cn.uncertainty.MeanSet):
        def membership(self, m, S):
            return [cp.matrix_frac(m - self.center, S) <= self.radius**2]

    covariance = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 2.0], [1.0, 2.0, 3.0]])  # the third column is the total
    x, y = (cn.Moments([first, 2.0, first + 2.0], covariance) for first in (3.0, -1.0))
    found = cn.two_class_mpm(x, y, OwnEllipsoid(0.1)).solve()
    # The means are 4 deviations apart, half of them for either class, of which the ellipsoids take a tenth each.
    assert found.objective == pytest.approx(1 / (4 / 2 - 0.1), rel=1e-6)


@pytest.mark.parametrize("center", [-8.0, 4.0, 8.0, 20.0])
def test_pairs_that_do_not_hold_the_nominal_one_have_their_own_boundary(center):
    """In one unit of distance, x lies at center (1, 1, 1) and y at the nominal mean: both sides are lost alike at the optimum."""
    x, y = cn.Moments(np.full(3, 3.0), np.eye(3)), cn.Moments([0.0, 1.0, 0.0], 2 * np.eye(3))
    there = np.full(3, center)
    pairs = sets.MomentHull([(there, np.eye(3)), (there, 0.5 * np.eye(3))])
    solution = cn.two_class_mpm(x, y, (pairs, None)).solve()
    gap = there - y.mean
    kappa = np.linalg.norm(gap) / (1 + np.sqrt(2))
    assert solution.guarantee.bound == pytest.approx(1 / (1 + kappa**2), rel=1e-5)
    w, b = solution.region.normal, solution.region.offset
    assert (w @ there - b) / np.linalg.norm(w) == pytest.approx(kappa, rel=1e-4)
    assert (b - w @ y.mean) / (np.sqrt(2) * np.linalg.norm(w)) == pytest.approx(kappa, rel=1e-4)


def test_means_on_the_other_side_of_the_nominal_one_are_no_matter_of_rounding():
    x, y = cn.Moments(np.full(3, 3.0), np.eye(3)), cn.Moments([0.0, 1.0, 0.0], 2 * np.eye(3))
    moved = np.full(3, -8.0)
    solution = cn.two_class_mpm(x, y, (sets.MeanWithin(sets.NormBall(2, 0.2)) + moved, None)).solve()
    distance = np.linalg.norm(x.mean + moved - y.mean) - 0.2
    assert solution.objective == pytest.approx((1 + np.sqrt(2)) / distance, rel=1e-6)
    assert solution.region.contains((x.mean + moved)[None, :]).all()
    assert not solution.region.contains(y.mean[None, :]).any()


@pytest.mark.parametrize(
    ("pair", "rho"), [((None, None), (0.0, 0.0)), ((sets.FrobeniusBall(0.2), sets.FrobeniusBall(0.1)), (0.2, 0.1))]
)
def test_a_pair_of_covariances_keeps_the_distance_of_the_means_beside_what_is_added(pair, rho):
    rng = np.random.default_rng(3)
    x = cn.Moments.estimate(rng.standard_normal((20, 3)) @ rng.standard_normal((3, 3)) + [3.0, 2.0, 1.0])
    y = cn.Moments.estimate(rng.standard_normal((30, 3)))
    a = cp.Variable(3)
    roots = [np.linalg.cholesky(m.covariance + r * np.eye(3)).T for m, r in zip((x, y), rho, strict=True)]
    spreads = cp.norm(roots[0] @ a) + cp.norm(roots[1] @ a)
    for added in (lambda v: [cp.sum(v["a"]) == 0.7], lambda v: [v["a"][0] >= 0.4]):
        right = cp.Problem(cp.Minimize(spreads), [(x.mean - y.mean) @ a == 1, *added({"a": a})]).solve(
            solver="CLARABEL"
        )
        solution = cn.two_class_mpm(x, y, pair).subject_to(added).solve()
        assert solution.objective == pytest.approx(right, rel=1e-6)
        assert solution.values["a"] @ (x.mean - y.mean) == pytest.approx(1.0, rel=1e-6)
