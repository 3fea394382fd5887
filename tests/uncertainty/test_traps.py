"""Memberships that CVXPY would compile into another set than the one that the reader sees, and arrays that change."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from convexnovelty import Moments, single_class_mpm
from convexnovelty.errors import InputError, UnboundedSetError
from convexnovelty.membership import Membership
from convexnovelty.set_arrays import Arrays
from convexnovelty.uncertainty import (
    Box,
    ConicSet,
    CovarianceSet,
    Ellipsoid,
    FrobeniusBall,
    NormBall,
    adversary,
    evaluate_deviation,
    evaluate_support,
)

MOMENTS = Moments(np.array([3.0, 4.0]), np.eye(2))


def objective(uncertainty):
    return single_class_mpm(MOMENTS, 0.5, uncertainty).solve().objective


class DividedByRadius(CovarianceSet):
    def membership(self, S):
        return [cp.norm((S - self.center) / self.radius, "fro") <= 1, cp.lambda_max(S) <= 3]


class VariableOfTheConstructor(CovarianceSet):
    def __init__(self, radius=1.0):
        super().__init__(radius)
        self.displacement = cp.Variable((2, 2), symmetric=True)

    def membership(self, S):
        return [S == self.center + self.displacement, cp.norm(self.displacement, "fro") <= self.radius]


class ComputedInTheConstructor(CovarianceSet):
    def __init__(self, radius=1.0):
        super().__init__(radius)
        self.bound = radius**2

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.bound]


class ScaledByASample(CovarianceSet):
    def __init__(self, radius=1.0, sample=()):
        if not len(sample):
            raise ValueError("sample: an empty one has no unit")
        super().__init__(radius * float(np.std(sample)))

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]


def test_division_by_a_radius_of_zero_is_refused():
    # CVXPY drops a term divided by zero, and lambda_max alone would give 0.53 where radius 0 means 0.25.
    with pytest.raises(InputError, match=r"DividedByRadius\(radius=0\).*divides by zero"):
        objective(DividedByRadius(0.0))
    problem = single_class_mpm(MOMENTS, 0.5, DividedByRadius(0.5))
    with pytest.raises(InputError, match="divides by zero"):
        list(problem.path(radius=[0.5, 0.0]))
    assert objective(DividedByRadius(1e-9)) == pytest.approx(objective(None), abs=1e-6)


def test_values_one_by_one_are_no_convex_set():
    # CVXPY takes them for a convex constraint, and Clarabel is given the interval: 2.158 where 1.870 is reached.
    recipe = ConicSet(lambda v: [cp.constraints.FiniteSet(v[0], [0, 1, 2]), cp.norm(v) <= 1.9])
    with pytest.raises(InputError, match=r"holds FiniteSet, values one by one.*give a convex set"):
        evaluate_support(recipe.centred(np.zeros(3)), [1.0, 0.5, 0.2])


def test_a_variable_made_outside_of_the_membership_is_refused():
    # Two parts of a sum would share it: the bound came out as 0.3046 instead of 0.3244.
    with pytest.raises(InputError, match=r"made outside of it.*make the variable inside"):
        objective(VariableOfTheConstructor(0.5))


def test_a_users_own_parameter_is_refused():
    bound = cp.Parameter(value=0.1, name="bound")
    uncertainty = ConicSet(lambda u: [cp.norm(u) <= bound]).centred(np.zeros(2))
    with pytest.raises(InputError, match=r"CVXPY parameter bound.*plain number"):
        evaluate_support(uncertainty, np.ones(2))


def test_what_the_constructor_computes_follows_the_number():
    problem = single_class_mpm(MOMENTS, 0.7, ComputedInTheConstructor(0.1))
    expected = single_class_mpm(MOMENTS, 0.7, FrobeniusBall(0.09)).solve().objective
    assert problem.set(radius=0.3).solve().objective == pytest.approx(expected, abs=1e-7)
    assert ComputedInTheConstructor(0.1).replaced(radius=0.3).bound == pytest.approx(0.09)


def test_a_number_changes_without_what_the_constructor_took_beside_it():
    recipe = ScaledByASample(0.1, sample=[1.0, 3.0, 5.0, 7.0])  # a deviation of the root of 5
    assert recipe.radius == pytest.approx(0.1 * 5**0.5)
    assert recipe.replaced(radius=0.3).radius == 0.3
    expected = single_class_mpm(MOMENTS, 0.7, FrobeniusBall(0.3)).solve().objective
    assert single_class_mpm(MOMENTS, 0.7, recipe).set(radius=0.3).solve().objective == pytest.approx(expected, abs=1e-7)


def test_an_infinite_bound_bounds_nothing():
    uncertainty = ConicSet(lambda u: [cp.norm(u) <= 1, u <= np.array([0.2, np.inf])]).centred(np.zeros(2))
    assert evaluate_support(uncertainty, np.array([1.0, 0.5])) == pytest.approx(0.2 + 0.5 * np.sqrt(0.96), abs=1e-7)


@pytest.mark.parametrize(
    "constraint",
    [
        lambda u: u <= np.array([0.2, -np.inf]),
        lambda u: u <= np.array([0.2, np.nan]),
        lambda u: cp.multiply(u, np.array([0.2, np.nan])) <= 1,
        lambda u: cp.multiply(u, np.array([0.2, np.inf])) <= 1,
    ],
)
def test_numbers_that_are_not_finite_are_refused(constraint):
    uncertainty = ConicSet(lambda u: [cp.norm(u) <= 1, constraint(u)]).centred(np.zeros(2))
    with pytest.raises(InputError, match=r"ConicSet.*NaN or infinite"):
        evaluate_support(uncertainty, np.ones(2))


def test_an_indefinite_form_is_refused_by_name():
    form = cp.psd_wrap(np.diag([1.0, -1.0]))
    uncertainty = ConicSet(lambda u: [cp.quad_form(u, form) <= 0.1, cp.abs(u) <= 1]).centred(np.zeros(2))
    with pytest.raises(InputError, match=r"ConicSet.*indefinite"), pytest.warns(UserWarning, match="nonconvex"):
        evaluate_support(uncertainty, np.ones(2))


def test_later_changes_of_an_array_leave_the_set_as_it_was():
    w = np.array([1.0, 0.5])
    matrix, widths, centre = np.eye(2), np.ones(2), np.zeros(2)
    image, box, placed = NormBall(2, 1.0).image(matrix), Box(widths, 1.0), Box(np.ones(2), 1.0).centred(centre)
    matrix *= 5
    widths *= 9
    centre += 9
    assert evaluate_support(image.centred(np.zeros(2)), w) == pytest.approx(np.linalg.norm(w))
    assert evaluate_support(box.centred(np.zeros(2)), w) == pytest.approx(1.5)
    assert evaluate_support(placed, w) == pytest.approx(1.5)


# -- boundedness by one multiplier ------------------------------------------------------------------------------------


def membership(description, size=2):
    return Membership(Arrays.compiled(description, size, "the set"), "the set")


def test_a_set_is_bounded_though_its_further_variables_are_not():
    free = membership(lambda v: [cp.norm(v) <= 1, cp.Variable(nonneg=True) >= v[0]])
    value, _ = free.maximise(np.array([3.0, 4.0]))
    assert value == pytest.approx(5.0, abs=1e-6)


@pytest.mark.parametrize(
    "description",
    [
        lambda v: [v[0] >= 0, v[0] <= 1],
        lambda v: [v[0] + v[1] == 1],
        lambda v: [cp.SOC(v[0], v[1:])],
        lambda v: [cp.exp(v[0]) <= v[1]],
        lambda v: [v[0] == cp.Variable(), v[1] == 0],
        lambda v: [cp.geo_mean(v) >= 1],
    ],
)
def test_every_kind_of_ray_is_found(description):
    with pytest.raises(UnboundedSetError):
        membership(description)


@pytest.mark.parametrize(
    "description, largest",
    [
        (lambda v: [cp.exp(v[0]) <= v[1], v[1] <= 2, v[0] >= -1], 2 + np.log(2)),
        (lambda v: [cp.geo_mean(v) >= 1, cp.sum(v) <= 3], 3.0),
        (lambda v: [cp.norm1(v) <= 1e6], 1e6),
        (lambda v: [cp.norm1(v) <= 1e-6], 1e-6),
    ],
)
def test_a_bounded_set_passes(description, largest):
    value, _ = membership(description).maximise(np.ones(2))
    assert value == pytest.approx(largest, rel=1e-6)


# -- sets that are much larger than their centre -----------------------------------------------------------------------


class Ball(CovarianceSet):
    """A Frobenius ball without a closed form."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]


@pytest.mark.parametrize("radius", [1e6, 1e10, 1e12, 1e13])
def test_a_set_far_larger_than_its_centre_keeps_its_value(radius):
    """The derived value lay a quarter below the truth, without a word; the truth is the centre's and the radius'."""
    covariance, a = np.diag([1.0, 0.5, 2.0]), np.array([1.0, -1.0, 0.5])
    uncertainty = Ball(radius).centred(Moments(np.zeros(3), covariance))
    expected = np.sqrt(a @ covariance @ a + radius * (a @ a))
    assert evaluate_deviation(uncertainty, a) == pytest.approx(expected, rel=1e-6)
    assert adversary(uncertainty, a).value == pytest.approx(expected, rel=1e-6)


def test_a_bounded_set_is_not_said_to_hold_a_ray():
    with pytest.raises(UnboundedSetError, match="or so large beside its centre that float64 cannot tell"):
        evaluate_deviation(Ball(1e20).centred(MOMENTS), np.ones(2))


@pytest.mark.parametrize("seed", range(3))
def test_the_hull_of_flat_ellipsoids(seed):
    """Members of one are known through chains of equations, and rounding must not give them their scale."""
    rng = np.random.default_rng(seed)
    one, two, w = rng.normal(size=(1, 3)), rng.normal(size=(1, 3)), rng.normal(size=3)
    hull = (Ellipsoid(one.T @ one, 1.0) | Ellipsoid(two.T @ two, 0.3)).centred(np.zeros(3))
    expected = max(abs(float(one[0] @ w)), 0.3 * abs(float(two[0] @ w)))
    assert evaluate_support(hull, w, route="derived") == pytest.approx(expected, rel=1e-7)
    assert adversary(hull, w).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("power", [1.5, 3])
def test_a_radius_of_zero_leaves_the_centre_alone_however_it_is_said(power):
    """A power of a norm that must be zero: solvers keep a root of their tolerance, and the worst case was 7 % off."""

    class Power(CovarianceSet):
        def membership(self, S):
            return [cp.power(cp.norm(S - self.center, "fro"), power) <= self.radius]

    assert objective(Power(0.0)) == pytest.approx(objective(None), rel=1e-7)
    expected = objective(FrobeniusBall(0.1 ** (1 / power)))
    assert objective(Power(0.1)) == pytest.approx(expected, rel=1e-5)


def test_a_set_that_is_more_than_its_centre_at_zero_is_kept():
    class Plus(CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius + 0.1]

    assert objective(Plus(0.0)) == pytest.approx(objective(FrobeniusBall(0.1)), rel=1e-6)
