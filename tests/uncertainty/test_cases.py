"""Faults that were reported of other libraries, as tests of the sets here; named after the list of cases."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import EmptySetError, InputError, UnboundedSetError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import tools
from convexnovelty.uncertainty.linear_image import CovarianceImage, MeanImage, MomentImage, PointImage


class NearIdentity(sets.CovarianceSet):
    """A user's set that says S >> 0 of a matrix that the library makes symmetric."""

    def membership(self, S):
        return [cp.norm(S - np.eye(2), "fro") <= 1, S >> 0]


class UnitVariances(sets.CovarianceSet):
    """Unbounded off the diagonal, were the matrix not symmetric and semidefinite."""

    def membership(self, S):
        return [cp.diag(S) == 1]


def test_b27_a_covariance_is_symmetric_by_construction():
    """With a plain variable the worst S[0, 1] would be 1 and the worst covariance [[1, 1], [0, 1]]."""
    membership = sets.membership_of(NearIdentity().centred(laws.moments(2)))
    corner = sets.svec(np.array([[0.0, 0.5], [0.5, 0.0]]))
    value, worst = membership.maximise(corner)
    assert value == pytest.approx(1 / np.sqrt(2), rel=1e-7)
    assert worst == pytest.approx(sets.svec(np.array([[1.0, 0.5**0.5], [0.5**0.5, 1.0]])), abs=1e-5)
    assert sets.membership_of(UnitVariances().centred(laws.moments(2))).maximise(corner)[0] == pytest.approx(1.0)


def test_b36_an_empty_set_is_an_error_that_names_the_members():
    apart = sets.NormBall(2, 1) & (sets.NormBall(2, 1) + np.array([2.1, 0.0]))
    with pytest.raises(EmptySetError, match=r"NormBall\(p=2, radius=1\) & \(NormBall.*empty"):
        apart.centred(np.zeros(2))
    crossed = sets.ConicSet(lambda u: [u >= 1, u <= 0])
    with pytest.raises(EmptySetError, match="ConicSet"):
        sets.support(crossed, np.ones(2))

    class Negative(sets.CovarianceSet):
        def membership(self, S):
            return [S << -np.eye(2)]

    with pytest.raises(EmptySetError, match="Negative"):
        sets.worst_deviation(Negative().centred(laws.moments(2)), np.ones(2))
    with pytest.raises(EmptySetError, match="lower end"):
        sets.LoewnerInterval(0.1, lower=5 * np.eye(2)).centred(Moments(np.zeros(2), np.eye(2)))
    with pytest.raises(EmptySetError, match="coordinate 1"):
        sets.Interval([0.0, 2.0], [1.0, 1.0])


class AboveNominal(sets.CovarianceSet):
    """Members near the centre that exceed it by a tenth in every direction: none where the radius is too small."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius, S >> self.center + 0.1 * np.eye(self.dimension)]


class Segment(sets.PointSet):
    """A ball cut by a half-space that does not hold its centre."""

    def membership(self, u):
        return [cp.norm(u) <= self.radius, u[0] >= 0.5]


def test_b36_a_radius_at_which_a_compiled_set_is_empty_is_refused_and_changes_nothing():
    """The dual of an empty set is unbounded: every robust constraint would hold, and the optimum would be zero."""
    nominal = laws.moments(2)
    problem = cn.single_class_mpm(nominal, 0.5, AboveNominal(0.3))
    before = problem.solve().objective
    with pytest.raises(EmptySetError, match=r"AboveNominal\(radius=0.1\) is empty"):
        problem.set(radius=0.1)
    assert problem.parameters["radius"] == 0.3
    assert problem.solve().objective == pytest.approx(before, rel=1e-9)
    smallest = np.sqrt(2) * 0.1 * 1.01  # the distance of the nearest member is 0.1 |I|
    fresh = cn.single_class_mpm(nominal, 0.5, AboveNominal(smallest)).solve().objective
    assert problem.set(radius=smallest).solve().objective == pytest.approx(fresh, rel=1e-6)
    assert problem.compilations == 1


def test_b36_a_set_that_is_empty_at_a_smaller_radius_can_be_used_and_changed():
    """To find what depends on the radius the set is looked at for other radii, at which it may be empty."""
    features = cn.LinearFeatures(np.random.default_rng(0).standard_normal((20, 2)) * 0.3 + [4.0, 3.0])
    problem = cn.uncertain_points(features, 0.2, Segment(0.8))
    assert "radius" in problem.parameters
    for radius in (0.8, 0.55, 1.0):
        fresh = cn.uncertain_points(features, 0.2, Segment(radius)).solve().objective
        assert problem.set(radius=radius).solve().objective == pytest.approx(fresh, rel=1e-7)
    assert problem.compilations == 1
    with pytest.raises(EmptySetError, match=r"radius=0\.4"):
        problem.set(radius=0.4)


def test_b36_parts_that_no_longer_meet_are_refused():
    both = sets.NormBall(2, 1.0) & (sets.NormBall(2, 1.0) + np.array([1.5, 0.0]))
    features = cn.LinearFeatures(np.random.default_rng(0).standard_normal((20, 2)) * 0.3 + [4.0, 3.0])
    problem = cn.uncertain_points(features, 0.2, both)
    with pytest.raises(EmptySetError, match=r"NormBall.*&.*empty"):
        problem.set(first_radius=0.4)
    assert problem.parameters["first_radius"] == 1.0


def test_b36_sets_that_touch_are_not_empty():
    """The dual of this support is not attained; its value is that of the only common point."""
    touching = (sets.NormBall(2, 1) & (sets.NormBall(2, 1) + np.array([2.0, 0.0]))).centred(np.zeros(2))
    for w in laws.directions(laws.moments(2)):
        assert sets.evaluate_support(touching, w) == pytest.approx(w[0], rel=1e-5, abs=1e-5 * np.linalg.norm(w))
        assert sets.Adversary(touching)(w).value == pytest.approx(w[0], rel=1e-5, abs=1e-4 * np.linalg.norm(w))


@pytest.mark.parametrize(
    "unbounded",
    [
        sets.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]),
        sets.ConicSet(lambda u: [u[0] >= cp.norm(u[1:])]),
        sets.NormBall(2, 1).preimage([[1.0, 1.0]]),
    ],
)
def test_an_unbounded_set_is_an_error_that_names_it(unbounded):
    with pytest.raises(UnboundedSetError, match=type(unbounded).__name__.replace("PointPreimage", "preimage")):
        sets.evaluate_support(unbounded.centred(np.zeros(2)), np.array([1.0, 0.3]))


def test_an_unbounded_part_may_be_cut_off_by_another():
    strip = sets.NormBall(2, 0.5).preimage([[1.0, 1.0]])
    both = (strip & sets.Box(radius=1.0)).centred(np.zeros(2))
    assert sets.evaluate_support(both, [1.0, 1.0]) == pytest.approx(0.5, rel=1e-7)
    assert sets.evaluate_support(both, [1.0, -1.0]) == pytest.approx(2.0, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "part", [sets.WishartBall(0.3), sets.DiagonalBudget(2.1, 0.6), sets.EntrywiseInterval(0.3)], ids=repr
)
def test_covariances_of_fewer_combinations_than_columns_are_unbounded(part, seed):
    """Whatever a solver makes of a set with a ray; the centre is regular."""
    rng = np.random.default_rng(seed)
    root, T = rng.normal(size=(4, 9)), rng.normal(size=(3, 4))
    with pytest.raises(UnboundedSetError, match=r"takes some directions to zero.*this & that"):
        part.preimage(T).centred(cn.Moments(np.zeros(4), root @ root.T / 9))


def test_a_product_may_be_cut_off_by_another_set():
    """A variance of a total is known, and all else within a ball: by a program of its own."""
    total, S, a = np.ones(3), np.diag([1.0, 2.0, 0.5]) + 0.2, np.array([1.0, -1.0, 0.5])
    known = (sets.ExactMean() * sets.SpectralBall(0.3).preimage([total])) & (sets.ExactMean() * sets.FrobeniusBall(1.0))
    step = cp.Variable((3, 3), symmetric=True)
    within = [cp.abs(total @ step @ total) <= 0.3, cp.norm(step, "fro") <= 1.0, S + step >> 0]
    added = cp.Problem(cp.Maximize(a @ step @ a), within).solve(solver="CLARABEL")
    held = known.centred(cn.Moments(np.zeros(3), S))
    assert sets.evaluate_loss(held, a, 1.0) == pytest.approx(np.sqrt(a @ S @ a + added), rel=1e-6)


@pytest.mark.parametrize("route", ["best", "derived"])
def test_b39_a_budget_and_a_box_both_hold(route):
    """Two facets of 2^k would give 2 for the first, the budget alone 2.25 for the second."""
    one = sets.Budget(1.0).centred(np.zeros(2))
    assert sets.evaluate_support(one, [1.0, -1.0], route) == pytest.approx(1.0, rel=1e-8)
    half = sets.Budget(1.5, [0.5, 0.5, 0.5]).centred(np.zeros(3))
    assert sets.evaluate_support(half, [3.0, -2.0, 1.0], route) == pytest.approx(2.0, rel=1e-8)
    assert sets.evaluate_support(half, [-3.0, -2.0, 1.0], route) == pytest.approx(2.0, rel=1e-8)


def test_b39_a_polyhedron_keeps_every_row():
    """A known toolbox loses a term of the dual as soon as there are two rows."""
    A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    box = sets.Polyhedron(A, [0.5, 0.25, 1.0, 0.25]).centred(np.zeros(2))
    for route in ("best", "derived"):
        assert sets.evaluate_support(box, [1.0, -1.0], route) == pytest.approx(0.75, rel=1e-8)
        assert sets.evaluate_support(box, [-1.0, 1.0], route) == pytest.approx(1.25, rel=1e-8)


def test_b39_a_budget_of_the_dimension_is_the_box():
    nominal = laws.moments(4)
    box, budget = sets.Box(radius=1.0).centred(nominal.mean), sets.Budget(4.0).centred(nominal.mean)
    for w in laws.directions(nominal):
        assert sets.evaluate_support(budget, w) == pytest.approx(sets.evaluate_support(box, w), rel=1e-7)


@pytest.mark.parametrize("radius", [-0.1, float("nan"), float("inf")])
def test_b42_a_radius_is_checked_where_it_is_given(radius):
    for make in (sets.NormBall, sets.FrobeniusBall, sets.MeanEllipsoid, sets.GelbrichBall, sets.WishartBall):
        with pytest.raises(InputError, match="radius"):
            make(radius=radius)


def test_b42_the_constant_of_an_uncertain_objective_stays():
    ball = sets.NormBall(2, 0.2).centred(np.array([10.0, 0.0]))
    w = np.array([3.0, 4.0])
    for route in ("best", "derived"):
        made = sets.support(ball, w, route)
        value = cp.Problem(cp.Minimize(made.value + 7), made.constraints).solve(solver="CLARABEL")
        assert value == pytest.approx(38.0, rel=1e-7)
        assert sets.evaluate_support(ball, w, route) == pytest.approx(31.0, rel=1e-8)


def test_b42_a_square_is_not_a_radius():
    """The support of u'u <= 4 at (3, 4) is 2 * 5: not 5 (the radius ignored), not 20 (the square taken for it)."""
    w = np.array([3.0, 4.0])
    by_square = sets.ConicSet(lambda u: [cp.sum_squares(u) <= 4]).centred(np.zeros(2))
    for ball in (by_square, sets.Ellipsoid(np.eye(2), 2.0), sets.NormBall(2, 2.0)):
        assert sets.evaluate_support(ball, w, "derived") == pytest.approx(10.0, rel=1e-7)


def test_b42_a_radius_of_zero_is_nominal_in_a_product():
    nominal = laws.moments(3)
    a = np.array([1.0, -2.0, 0.5])
    none = sets.evaluate_loss(sets.as_moment_set(None).centred(nominal), a, 1.3)
    zero = (sets.MeanEllipsoid(0.0) * sets.FrobeniusBall(0.0)).centred(nominal)
    for route in ("best", "derived"):
        assert sets.evaluate_loss(zero, a, 1.3, route) == pytest.approx(none, rel=1e-6)


def test_a_worst_distribution_attains_its_own_robust_value():
    """A known library's worst distribution does not: 0.481 against 0.512."""
    nominal = laws.moments(3)
    for kind in sets.catalogue().values():
        for recipe in kind.examples(3):
            uncertainty = laws.centred(recipe, nominal)
            if uncertainty.exactness == "exact":
                a = np.array([0.7, -1.1, 0.4])
                member = sets.worst_member(uncertainty, a, 1.2)
                reached = laws.value_of(uncertainty, member, a, 1.2)
                size = laws.size_of(uncertainty, a)
                assert reached == pytest.approx(laws.evaluate(uncertainty, a, kappa=1.2), abs=1e-6 * size), repr(recipe)


def test_a_set_of_moments_is_shifted_by_a_pair():
    part = sets.Product(sets.MeanEllipsoid(0.1), sets.FrobeniusBall(0.1))
    with pytest.raises(InputError, match=r"shift: 1\.0 was found; give a pair"):
        sets.MomentTranslation(part, 1.0)


def test_a_width_of_zero_that_is_kept_is_no_ratio():
    """The gauge of a box without width in one column: 2 over 1 where that column is met, infinite where it is not."""
    box = sets.Box([0.0, 1.0]).centred(np.zeros(2))
    assert box.gauge(np.array([0.0, 2.0])) == 2.0
    assert box.gauge(np.array([1e-9, 2.0])) == np.inf


def test_laws_around_a_point_are_that_point():
    """A nominal covariance of zero leaves no other law at a finite divergence."""
    ball = sets.KLBall(0.5).centred(Moments(np.array([1.0, -2.0]), np.zeros((2, 2))))
    for mean, covariance in (ball.sample(np.random.default_rng(0)), ball.worst_member(np.ones(2), 1.5)):
        assert mean.tolist() == [1.0, -2.0] and not covariance.any()


def test_loadings_are_the_best_approximation_of_their_rank():
    """By the singular values (Eckart and Young), for one factor, two, and as many as there are columns."""
    nominal = laws.moments(4)
    for factors in (1, 2, 4):
        loadings = sets.FactorModel(factors).centred(nominal).loadings
        U, values, V = np.linalg.svd(nominal.covariance)
        assert loadings.shape == (factors, 4)
        assert loadings.T @ loadings == pytest.approx((U[:, :factors] * values[:factors]) @ V[:factors], abs=1e-12)


def test_what_is_kept_is_made_anew_for_other_numbers_only():
    ball, made = sets.FrobeniusBall(0.5).centred(laws.moments(2)), []
    for radius in (0.5, 0.5, 0.7, 0.7, 0.3, 0.3):
        object.__setattr__(ball, "radius", radius)
        assert ball.kept("radius", lambda: made.append(ball.radius) or ball.radius) == radius
    assert made == [0.5, 0.7, 0.3]


def test_a_divergence_of_zero_leaves_the_nominal_law_to_the_last_digits():
    nominal = laws.moments(3)
    mean, covariance = sets.KLBall(0.0).centred(nominal).worst_member(np.array([1.0, -2.0, 0.5]), 1.5)
    assert mean == pytest.approx(nominal.mean, rel=1e-14)
    assert covariance == pytest.approx(nominal.covariance, rel=1e-14)


@pytest.mark.parametrize("radius", [1e-12, 1e-9, 1e-8, 1e-4, 0.1, 3.0])
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.5, 40.0])
def test_what_a_small_divergence_buys_is_right_beside_itself(radius, kappa):
    """In fifty digits: the whole divergence is spent, and neither shift nor stretch is the better buy at the margin."""
    nominal = laws.moments(3)
    ball, a = sets.KLBall(radius).centred(nominal), np.array([1.0, -2.0, 0.5])
    deviation = np.sqrt(a @ nominal.covariance @ a)
    loss = sets.evaluate_loss(ball, a, kappa)
    with localcontext() as context:
        context.prec = 50
        rho, k = Decimal(radius), Decimal(kappa)
        bought = Decimal((loss - nominal.mean @ a) / deviation) - k

        def gain(x):
            """What stretching by x buys when the rest of the divergence is spent on the shift."""
            left = 2 * rho - ((1 + x) ** 2 - 1 - 2 * (1 + x).ln())
            return left.sqrt() + k * x if left >= 0 else Decimal(-1)

        low, high = Decimal(0), rho.sqrt() + (2 * rho).sqrt()
        for _ in range(150):  # gain is concave in x
            one, two = low + (high - low) / 3, high - (high - low) / 3
            low, high = (one, high) if gain(one) < gain(two) else (low, two)
        # The nominal part is as large as 1e6 of it, and leaves the loss so many digits fewer.
        assert float(bought / gain(low) - 1) == pytest.approx(0.0, abs=1e-9 + 1e-14 * (kappa + 10) / np.sqrt(radius))
    mean, covariance = ball.worst_member(a, kappa)
    assert mean @ a + kappa * np.sqrt(a @ covariance @ a) == pytest.approx(loss, rel=1e-13)


@pytest.mark.parametrize("radius", [1e-12, 1e-9, 1e-8])
def test_a_program_over_a_small_divergence_is_solved_as_the_one_that_is_retuned(radius):
    nominal = laws.moments(3)
    found = cn.single_class_mpm(nominal, 0.5, sets.KLBall(radius)).solve()
    walked = cn.single_class_mpm(nominal, 0.5, sets.KLBall(0.01)).set(radius=radius).solve()
    closed = cn.methods.single_class_mpm.closed_form(nominal, 0.5, sets.KLBall(radius))
    assert found.objective == pytest.approx(closed.objective, rel=1e-9)
    assert walked.objective == pytest.approx(closed.objective, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_vector_outside_of_the_range_has_no_length_in_it(unit):
    """Of w with 2 w_1 = v_1 and 0 = v_2: a half of v_1, and none where v_2 is not zero, in any unit."""
    rows = np.array([[2.0, 0.0]])
    assert tools.range_norm(rows, unit * np.array([3.0, 0.0])) == pytest.approx(1.5 * unit)
    assert tools.range_norm(rows, unit * np.array([3.0, 1e-10])) == pytest.approx(1.5 * unit)
    for outside in ([0.0, 1.0], [3.0, 1e-3]):
        assert tools.range_norm(rows, unit * np.array(outside)) == math.inf
    assert tools.range_norm(np.zeros((0, 2)), np.zeros(2)) == 0.0


def test_rows_and_columns_are_vectors_and_matrices_are_none():
    x = cp.Variable((3, 1))
    for given in (x, x.T, cp.Variable(3), [1.0, 2.0, 3.0]):
        assert tools.as_expression(given).shape == (3,)
    x.value = np.array([[1.0], [2.0], [3.0]])
    assert tools.as_expression(x).value.tolist() == tools.as_expression(x.T).value.tolist() == [1.0, 2.0, 3.0]
    for wrong in (cp.Variable((2, 2)), cp.Variable((2, 3)), cp.Variable()):
        with pytest.raises(InputError, match="give a vector"):
            tools.as_expression(wrong)


@pytest.mark.parametrize("T", [np.diag([1.0, 0.0]), np.zeros((2, 2)), np.array([[1.0, 0.5], [2.0, 1.0]]), np.eye(2)])
def test_images_are_added_to_the_centre(T):
    """By hand: what the matrix makes of a member alone has no variance outside of its range, and the image has that of S_0."""
    S0, m0 = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([5.0, -3.0])
    moments, a = cn.Moments(m0, S0), np.array([1.0, -0.5])
    along = T.T @ a
    found = sets.evaluate_deviation(sets.FrobeniusBall(0.3).image(T).centred(moments), a)
    assert found**2 == pytest.approx(a @ S0 @ a + 0.3 * along @ along, rel=1e-6)
    box = sets.MeanWithin(sets.Box([1.0, 2.0])).image(T).centred(moments)
    assert sets.evaluate_loss(box, a, 0.0) == pytest.approx(a @ m0 + np.abs(along) @ [1.0, 2.0], rel=1e-6)
    pair = sets.GelbrichBall(0.3).image(T).centred(moments)
    assert sets.evaluate_loss(pair, a, 0.0) == pytest.approx(a @ m0 + 0.3 * np.linalg.norm(along), rel=1e-6)


def test_images_say_that_they_are_added_to_the_centre():
    for kind, formula in (
        (MeanImage, "m_0 + T(y - y_0)"),
        (CovarianceImage, "S_0 + T(Y - Y_0)T'"),
        (MomentImage, "(m_0 + T(y - y_0),\\ S_0 + T(Y - Y_0)T')"),
        (PointImage, "added to the centre"),
    ):
        assert formula in kind.__doc__
