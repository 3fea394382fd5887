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


class OwnTransport(sets.CovarianceSet):
    """A transport ball as the literature states it, with the centre as one block of a matrix; ``first`` says which."""

    def __init__(self, radius: float = 1.0, first: bool = False) -> None:
        super().__init__(radius)
        self.first = first

    def membership(self, S):
        C = np.asarray(self.center)
        Y = cp.Variable(C.shape)
        block = cp.bmat([[C, Y], [Y.T, S]]) if self.first else cp.bmat([[S, Y], [Y.T, C]])
        return [block >> 0, cp.trace(S) + np.trace(C) - 2 * cp.trace(Y) <= self.radius**2]


def _singular(kind: str, seed: int) -> cn.Moments:
    X = np.random.default_rng(seed).normal(size=(200, 4)) * [1.0, 5.0, 2.0, 0.3]
    one = (X[:, 0] > 0.0).astype(float)
    extra = {"constant": np.ones(200), "copy": X[:, 0], "difference": X[:, 1] - X[:, 2], "one-hot": np.c_[one, 1 - one]}
    return cn.Moments.estimate(np.c_[X, extra[kind]])


@pytest.mark.parametrize("kind", ["constant", "copy", "difference", "one-hot"])
@pytest.mark.parametrize("first", [False, True])
def test_a_transport_ball_of_ones_own_round_a_singular_centre(kind, first):
    """The worst deviation is that of the centre and radius |a|. What the singular block leaves of the rest was read off a solver's
    point, and worst cases were up to half of what the set adds too small."""
    rng = np.random.default_rng(3)
    for seed, radius in ((1, 5.0), (2, 0.5)):
        moments = _singular(kind, seed)
        ball, a = OwnTransport(radius, first).centred(moments), rng.normal(size=moments.dimension)
        right = np.sqrt(a @ moments.covariance @ a) + radius * np.linalg.norm(a)
        assert sets.evaluate_deviation(ball, a) == pytest.approx(right, rel=1e-6)
        assert sets.adversary(ball, a).value == pytest.approx(right, rel=1e-6)


def test_a_machine_with_such_a_ball_is_that_with_the_built_in_one():
    moments = _singular("constant", 3)
    own, built = (
        cn.single_class_mpm(cn.Moments(moments.mean + 1.0, moments.covariance), 0.5, recipe)
        for recipe in (OwnTransport(0.5), sets.BuresBall(0.5))
    )
    assert own.solve().objective == pytest.approx(built.solve().objective, rel=1e-6)
    assert own.set(radius=0.4).solve().objective == pytest.approx(built.set(radius=0.4).solve().objective, rel=1e-6)
    # Where the normal is the constant column, its size is what the set adds along it: the program was called infeasible.
    shifted = moments.mean + np.array([0.1, 0.1, 0.1, 0.1, 6.0])
    own, built = (
        cn.single_class_mpm(cn.Moments(shifted, moments.covariance), 0.5, recipe).solve().objective
        for recipe in (OwnTransport(0.15), sets.BuresBall(0.15))
    )
    assert own == pytest.approx(built, rel=1e-5)


class Grown(sets.CovarianceSet):
    """The centre and any covariance of a bounded trace."""

    def membership(self, S):
        A = cp.Variable(S.shape, PSD=True)
        return [S == self.center + A, cp.trace(A) <= self.radius]


@pytest.mark.parametrize(
    "recipe",
    [
        2.0 * sets.NuclearBall(1.65e7),
        0.5 * sets.FrobeniusBall(6.6e7),
        0.3 * sets.SpectralBall(1.1e8),
        Grown(3.3e7),
        2.0 * Grown(1.65e7),
    ],
)
@pytest.mark.parametrize("rows", [200, 4])
def test_multiples_of_balls_round_money_and_a_total(recipe, rows):
    """A ball of t r where a ball of r is taken t times, round a singular centre: a point next to the walls was taken for the middle."""
    rng = np.random.default_rng(312679)
    age, salary, bonus = rng.normal(45, 12, rows), rng.lognormal(10.3, 0.5, rows), rng.lognormal(8, 0.6, rows)
    moments = cn.Moments.estimate(
        np.c_[age, salary, bonus, rng.normal(5, 1, rows), rng.normal(38, 5, rows), salary + bonus]
    )
    ball = recipe.centred(moments)
    for a in rng.normal(size=(3, 6)):
        right = np.sqrt(a @ moments.covariance @ a + 3.3e7 * a @ a)
        assert sets.evaluate_deviation(ball, a) == pytest.approx(right, rel=1e-6)
        assert sets.adversary(ball, a).value == pytest.approx(right, rel=1e-6)
