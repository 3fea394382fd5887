"""Classes that are derived from sets of the catalogue and say themselves who their members are.

What the class before them states of its members (closed forms, worst members, gauges, samples, rotations) is true of other members.
"""

import inspect
import math
import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.uncertainty.base import STATED

S0 = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]])
MOMENTS = cn.Moments([3.0, 2.0, 1.0], S0)
DIRECTION = np.array([1.0, -2.0, 0.5])
FAMILIES = (sets.CovarianceSet, sets.MeanSet, sets.MomentSet, sets.PointSet)


class Wide(sets.FrobeniusBall):
    """A ball of three times the radius."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= 3 * self.radius]


class WideAgain(Wide):
    """The same class by another name."""


class Cube(sets.NormBall):
    """A cube, in place of a ball of the Euclidean norm."""

    def membership(self, u):
        return [cp.norm(u - self.center, "inf") <= self.radius]


class Budgeted(sets.Product):
    """Mean and covariance that share one budget, where their product would let each have its own."""

    def membership(self, m, S):
        step = cp.norm(m - self.center_mean) + cp.norm(S - self.center_covariance, "fro")
        return [*super().membership(m, S), step <= 0.3]


class Diamond(sets.MeanEllipsoid):
    """Means of which no more is known than a sum of steps, whatever the covariance."""

    def membership(self, m):
        return [cp.norm(m - self.center, 1) <= self.radius]


def ball(radius, a=DIRECTION):
    """The worst deviation of a Frobenius ball."""
    return math.sqrt(a @ S0 @ a + radius * a @ a)


@pytest.mark.parametrize("kind", sets.catalogue().values(), ids=lambda kind: kind.__name__)
def test_a_class_with_a_membership_of_its_own_inherits_no_statement_on_members(kind):
    class Own(kind):
        def membership(self, *member):
            return super().membership(*member)

    family = next(base for base in FAMILIES if issubclass(kind, base))
    for name in STATED:
        if hasattr(family, name):
            assert inspect.getattr_static(Own, name) is inspect.getattr_static(family, name), name
    recipe = kind.examples(3)[0]
    recipe.__class__ = Own
    assert not recipe.rotation_invariant and not recipe.hereditary


@pytest.mark.parametrize("kind", [Wide, WideAgain])
def test_values_of_a_derived_class_are_those_of_its_membership(kind):
    """At three times the radius the ball of the catalogue has the same members, and a closed form."""
    own, same = kind(0.1), sets.FrobeniusBall(0.3)
    found, right = (cn.single_class_mpm(MOMENTS, 0.8, recipe).solve() for recipe in (own, same))
    assert found.objective == pytest.approx(right.objective, rel=1e-6)
    assert found.guarantee.bound == pytest.approx(right.guarantee.bound, rel=1e-6)
    held = own.centred(MOMENTS)
    worst = sets.worst_member(held, DIRECTION)
    assert DIRECTION @ worst @ DIRECTION == pytest.approx(ball(0.3) ** 2, rel=1e-6)
    assert sets.gauge(held, S0 + np.diag([0.3, 0.0, 0.0])) == pytest.approx(0.1, rel=1e-6)
    assert cn.check(cn.single_class_mpm(MOMENTS, 0.8, own)).passed


def test_a_number_of_a_derived_class_is_followed():
    program = cn.single_class_mpm(MOMENTS, 0.7, Wide(0.1))
    for radius in (0.1, 0.2):
        program.set(radius=radius)
        right = cn.single_class_mpm(MOMENTS, 0.7, sets.FrobeniusBall(3 * radius)).solve().objective
        assert program.solve().objective == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize(
    "recipe, radius",
    [
        (Wide(0.1) + Wide(0.1), 0.6),
        (Wide(0.1) + sets.FrobeniusBall(0.1), 0.4),
        (Wide(0.1) & sets.FrobeniusBall(0.4), 0.3),
        (Wide(0.1) | sets.FrobeniusBall(0.2), 0.3),
        (2 * Wide(0.1), 0.6),
        (Wide(0.1).image(np.eye(3)), 0.3),
        (Wide(0.1).preimage(np.eye(3)), 0.3),
    ],
    ids=str,
)
def test_combinations_of_a_derived_class_are_those_of_its_membership(recipe, radius):
    held = recipe.centred(MOMENTS)
    assert sets.evaluate_deviation(held, DIRECTION) == pytest.approx(ball(radius), rel=1e-6)
    assert sets.adversary(held, DIRECTION).value == pytest.approx(ball(radius), rel=1e-6)


def test_a_claim_that_a_constructor_makes_is_not_that_of_a_derived_class():
    """A cube is no ball in other coordinates: what a tall matrix takes into it is a linear program."""
    held, w = Cube(radius=0.4).centred(np.zeros(3)), DIRECTION
    assert sets.NormBall(radius=0.4).hereditary and not held.hereditary and not held.rotation_invariant
    assert sets.evaluate_support(held, w) == pytest.approx(0.4 * np.abs(w).sum(), rel=1e-7)
    assert w @ sets.worst_member(held, w) == pytest.approx(0.4 * np.abs(w).sum(), rel=1e-6)
    assert sets.gauge(held, [0.1, -0.3, 0.2]) == pytest.approx(0.3, rel=1e-6)
    T = np.array([[1.0, 0.5], [-0.5, 1.0], [0.3, 2.0]])
    right = -linprog([-1.0, -0.7], np.vstack([T, -T]), np.full(6, 0.4), bounds=(None, None)).fun
    within = Cube(radius=0.4).preimage(T).centred(np.zeros(2))
    assert sets.evaluate_support(within, [1.0, 0.7]) == pytest.approx(right, rel=1e-6)


def test_a_product_with_a_membership_of_its_own_is_no_product():
    """By hand: t of the budget moves the mean, the rest the covariance."""
    recipe = Budgeted(sets.MeanWithin(sets.NormBall(2, 0.3)), sets.FrobeniusBall(0.3))
    held, kappa = recipe.centred(MOMENTS), 1.5
    length = float(np.linalg.norm(DIRECTION))

    def loss(t):
        return MOMENTS.mean @ DIRECTION + t * length + kappa * ball(0.3 - t)

    right = -minimize_scalar(lambda t: -loss(t), bounds=(0.0, 0.3), method="bounded", options={"xatol": 1e-12}).fun
    for route in ("best", "derived"):
        assert sets.evaluate_loss(held, DIRECTION, kappa, route) == pytest.approx(right, rel=1e-6)
    assert sets.adversary(held, DIRECTION, kappa).value == pytest.approx(right, rel=1e-6)
    assert not held.rotation_invariant and not held.hereditary
    separate = sets.Product(recipe.means, recipe.covariances)
    assert separate.rotation_invariant and separate.hereditary


def test_means_with_a_membership_of_their_own_have_no_deviations_of_the_covariance():
    held = Diamond(0.2).centred(MOMENTS)
    right = MOMENTS.mean @ DIRECTION + 0.2 * np.abs(DIRECTION).max()
    assert sets.evaluate_support(held, DIRECTION) == pytest.approx(right, rel=1e-7)
    pair = (Diamond(0.2) * Wide(0.1)).centred(MOMENTS)
    assert sets.evaluate_loss(pair, DIRECTION, 2.0) == pytest.approx(right + 2.0 * ball(0.3), rel=1e-6)
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(cn.errors.InputError, match="'hotelling' is not known for Diamond"):
        sets.calibrate(Diamond(), X, confidence=0.9, law="hotelling")


def test_what_a_class_states_beside_its_membership_is_kept():
    """Its own statements, those that it takes over by name, and those of a class that has no membership."""

    class Measured:
        def gauge(self, S):
            return float(np.linalg.norm(S - self.center)) / 3

    class Stated(Measured, sets.FrobeniusBall):
        membership = Wide.membership
        worst_deviation = sets.FrobeniusBall.worst_deviation
        hereditary = True

        def sample(self, rng):
            return super().sample(rng)

    held = Stated(0.1).centred(MOMENTS)
    assert sets.evaluate_deviation(held, DIRECTION) == pytest.approx(ball(0.1), rel=1e-12)
    assert sets.evaluate_deviation(held, DIRECTION, "derived") == pytest.approx(ball(0.3), rel=1e-6)
    assert held.hereditary and not held.rotation_invariant
    assert held.gauge(S0 + np.diag([0.3, 0.0, 0.0])) == pytest.approx(0.1, rel=1e-12)
    assert held.sample(np.random.default_rng(0)).shape == (3, 3) and held.worst_member(DIRECTION) is None


def test_a_class_that_is_derived_without_a_membership_keeps_what_is_stated():
    class Named(sets.FrobeniusBall):
        pass

    class Turned(sets.NormBall):
        rotation_invariant = False

    assert Named(0.3).centred(MOMENTS).gauge(S0 + 0.1 * np.eye(3)) == pytest.approx(0.1 * math.sqrt(3), rel=1e-12)
    assert Named.hereditary and Named.worst_deviation is sets.FrobeniusBall.worst_deviation
    assert not Turned(radius=0.4).rotation_invariant and Turned(radius=0.4).hereditary


def test_a_membership_that_comes_from_a_class_beside_is_another_one_too():
    class Tripled:
        membership = Wide.membership

    class Own(Tripled, sets.FrobeniusBall):
        pass

    assert sets.evaluate_deviation(Own(0.1).centred(MOMENTS), DIRECTION) == pytest.approx(ball(0.3), rel=1e-6)


def test_a_derived_class_is_shown_and_travels_as_before():
    assert repr(Wide(0.1)) == "Wide(radius=0.1)" and repr(Cube(radius=0.4)) == "Cube(p=2, radius=0.4)"
    held = pickle.loads(pickle.dumps(Wide(0.1).centred(MOMENTS)))
    assert sets.evaluate_deviation(held, DIRECTION) == pytest.approx(ball(0.3), rel=1e-6)
    held = pickle.loads(pickle.dumps(sets.NormBall(2, 0.4)))
    assert held.rotation_invariant and held.hereditary
