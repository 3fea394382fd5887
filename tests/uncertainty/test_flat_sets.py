"""Sets without an inside, around the moments of tables in which columns follow from others."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws
from scipy.optimize import linprog

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty import uncertainty as sets
from convexnovelty.uncertainty.face import Face

METHOD = derivation.method("single_class_mpm")
RNG = np.random.default_rng(1)
X, Z, W = RNG.normal(3, 1, 60), RNG.normal(1, 1, 60), RNG.normal(2, 0.5, 60)


ONE, TWO = [X, X, Z], [X, Z, X, W, Z]
PAIRS = [
    (sets.MeanEllipsoid(0.1), ONE),
    (sets.MeanEllipsoid(0.1), TWO),
    (sets.LoewnerInterval(0.3, "nominal"), ONE),
    (sets.LoewnerInterval(0.3, "nominal"), TWO),
    (sets.DelageYe(0.02, 1.1), ONE),
    (sets.DelageYe(0.02, 1.1), TWO),
    (sets.DelageYe(0.02, 1.1) | sets.DelageYe(0.1, 0.9), ONE),
]


@pytest.mark.parametrize(
    ("recipe", "columns"), PAIRS, ids=lambda part: f"{len(part)}" if isinstance(part, list) else repr(part)
)
def test_a_column_twice_changes_no_derived_counterpart(recipe, columns):
    """A direction that no member sees is no direction in which a program may run away."""
    alone = np.unique(np.column_stack(columns), axis=1)
    expected = cn.single_class_mpm(cn.Moments.estimate(alone), 0.6, recipe).solve().objective
    moments = cn.Moments.estimate(np.column_stack(columns))
    found = METHOD.nodes["derived_counterpart"].function(moments, 0.6, recipe).solve().objective
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_means_that_are_rounding_along_null_directions_are_not_followed(seed):
    """Copies of columns differ by nothing in the mean, and what rounding leaves of that is no gain."""
    rng = np.random.default_rng(seed)
    X, Z, W = rng.normal(3, 1, 60), rng.normal(1, 1, 60), rng.normal(2, 0.5, 60)
    recipe = sets.DelageYe(0.02, 1.1)
    expected = cn.single_class_mpm(cn.Moments.estimate(np.column_stack([X, Z, W])), 0.6, recipe).solve().objective
    moments = cn.Moments.estimate(np.column_stack([X, Z, X, W, Z]))
    found = METHOD.nodes["derived_counterpart"].function(moments, 0.6, recipe).solve().objective
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dimension", [6, 30])
def test_null_directions_are_left_out_of_a_lift_of_any_width(dimension, rng):
    """In coordinates of the range alone, a'Sa = (down a)' (up' S up) (down a): a lift of three dimensions."""
    root, a = rng.standard_normal((dimension, 3)), rng.standard_normal(dimension)
    S = root @ root.T
    centred = sets.ExactCovariance().centred(cn.Moments(np.zeros(dimension), S))
    face = Face.of([sets.membership_of(centred)], dimension, centred.factor)
    assert face.down.shape == (3, dimension)
    assert face.slack == 0.0
    y = face.down @ a
    assert y @ (face.up.T @ S @ face.up) @ y == pytest.approx(a @ S @ a, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.9, 1.2])
def test_a_hull_of_two_sets_of_one_kind_keeps_its_means(gamma):
    """Two centres that differ by rounding say nothing of how far the mixtures reach from them."""
    recipe = sets.DelageYe(0.02, 1.1) | sets.DelageYe(0.1, gamma)
    nominal = cn.Moments.estimate(np.column_stack([X, Z]))
    laws.agrees(recipe, nominal, tried=[np.array([-0.3, 0.2]), np.array([1.0, 2.0])])
    centred = recipe.centred(nominal)
    a = np.array([-0.3, 0.2])
    parts = [sets.evaluate_loss(part, a, 1.0) for part in centred.parts().values()]
    assert sets.evaluate_loss(centred, a, 1.0) >= max(parts) - 1e-8


@pytest.mark.parametrize("rank", [0, 1])
def test_a_wishart_ball_keeps_to_the_range_of_its_centre(rank, rng):
    """S0 = 4 vv' leaves multiples of vv' alone, with the divergence (s - 1 - ln s)/2 at s S0; S0 = 0 leaves nothing."""
    v = np.array([0.6, 0.0, 0.8])
    center = 4.0 * rank * np.outer(v, v)
    centred = sets.WishartBall(0.3).centred(cn.Moments(np.zeros(3), center))
    samples = [centred.sample(rng) for _ in range(5)]
    shares = [float(v @ S @ v) / 4.0 for S in samples]
    for share, S in zip(shares, samples, strict=True):
        assert pytest.approx(4.0 * share * np.outer(v, v), abs=1e-12) == S
    if rank:
        assert len(set(shares)) == len(shares)
        assert all((s - 1 - np.log(s)) / 2 <= 0.3 for s in shares)
    worst = centred.worst_member(np.array([1.0, -2.0, 0.5]))
    share = float(v @ worst @ v) / 4.0
    assert worst == pytest.approx(4.0 * share * np.outer(v, v), abs=1e-12)
    assert share == 0.0 if rank == 0 else (share - 1 - np.log(share)) / 2 == pytest.approx(0.3)


CORNERS = [
    ([[-0.3, -0.5], [1.1, -0.1], [0.7, 1.0], [0.9, -1.3]], [[-0.3, -0.5], [1.3, 2.0], [0.8, 2.0]], [-0.8, 1.8]),
    ([[-1.3, -0.7], [-1.9, 1.9], [-1.8, 1.9]], [[-1.3, -0.7], [1.8, 1.5], [1.9, 0.2], [-1.1, 1.9]], [1.0, 2.0]),
    ([[-1.8, 2.0], [1.2, 0.3], [0.5, 1.6]], [[-1.8, 2.0], [-0.5, 1.1], [1.9, -0.9]], [1.5, 1.0]),
]


@pytest.mark.parametrize(("one", "other", "w"), CORNERS)
def test_two_hulls_with_one_corner_in_common_hold_it_alone(one, other, w):
    """By a linear program in the weights, whose vertices are exact. A solver left weights of 1e-9, which became units of a size."""
    one, other, w = np.array(one), np.array(other), np.array(w)
    equal = np.vstack([np.hstack([one.T, -other.T]), np.repeat(np.eye(2), [len(one), len(other)], axis=1)])
    for sign in (1.0, -1.0):
        price = np.r_[sign * (one @ w), np.zeros(len(other))]
        best = linprog(-price, A_eq=equal, b_eq=[0.0, 0.0, 1.0, 1.0], method="highs-ds")
        assert -best.fun == pytest.approx(sign * (one[0] @ w), abs=1e-9)
    held = (sets.ScenarioHull(one) & sets.ScenarioHull(other)).centred(np.zeros(2))
    for found in (sets.evaluate_support(held, w), sets.adversary(held, w).value):
        assert found == pytest.approx(one[0] @ w, abs=1e-6 * np.linalg.norm(w))


@pytest.mark.parametrize("seed", range(6))
def test_two_hulls_of_covariances_with_the_nominal_one_in_common(seed):
    """Scenarios with less variance along the first axis in one hull, and with more in the other, have no mixture in common."""
    rng = np.random.default_rng(seed)
    S, a = np.array([[2.0, 0.5], [0.5, 1.0]]), rng.standard_normal(2)

    def moved(sign):
        step = rng.normal(size=(2, 2)) * 0.1
        return S + step + step.T + np.diag([sign * (0.5 + rng.random()), 0.0]) - np.diag([2 * step[0, 0], 0.0])

    less, more = ([S, *(moved(sign) for _ in range(3))] for sign in (-1.0, 1.0))
    held = (sets.CovarianceHull(less) & sets.CovarianceHull(more)).centred(cn.Moments(np.zeros(2), S))
    for found in (sets.evaluate_deviation(held, a), sets.adversary(held, a).value):
        assert found == pytest.approx(np.sqrt(a @ S @ a), rel=1e-6)


class Nominal(sets.CovarianceSet):
    """The centre alone, beside a matrix that equations make zero."""

    def membership(self, S):
        X = cp.Variable((self.dimension, self.dimension), symmetric=True)
        return [S == self.center, X == 0, X >> 0]


def test_a_further_variable_that_is_zero_is_no_cone():
    moments, a = cn.Moments(np.ones(3), np.diag([1.0, 2.0, 0.5])), np.array([1.0, -1.0, 2.0])
    for made in (Nominal(), Nominal() | sets.ExactCovariance()):
        assert sets.evaluate_deviation(made.centred(moments), a) == pytest.approx(np.sqrt(5.0), rel=1e-9)
