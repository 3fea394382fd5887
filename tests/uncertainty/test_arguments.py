"""What is no set, no direction of its space and no member of its family, at every function that takes one."""

from __future__ import annotations

import math
import re

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InputError

S0 = np.array([[1.0, 0.3], [0.3, 2.0]])
MOMENTS = cn.Moments([1.0, 2.0], S0)
INDEFINITE = np.array([[-1.0, 0.3], [0.3, 2.0]])
SKEW = np.array([[1.0, 0.5], [0.3, 2.0]])
X = np.random.default_rng(0).standard_normal((20, 2))

BALL = sets.FrobeniusBall(0.3)
COVARIANCES = [
    BALL, sets.SpectralBall(0.3), sets.NuclearBall(0.3), sets.DiagonalBall(2, 0.3), sets.EntrywiseInterval(0.3),
    sets.LoewnerInterval(0.3), sets.SubspaceBall(np.eye(2), 0.3), sets.DiagonalBudget(1.0, 0.3), sets.BuresBall(0.3),
    sets.WishartBall(0.3), sets.CovarianceHull([S0]), sets.ExactCovariance(), sets.FactorModel(1), BALL & sets.SpectralBall(0.3),
    BALL | sets.BuresBall(0.1), 2 * BALL, BALL + sets.ExactCovariance(), BALL.image(np.eye(2)), BALL.preimage(np.eye(2)),
]  # fmt: skip
PRODUCT = sets.MeanWithin(sets.NormBall(2, 0.3)) * BALL
PAIRS = [PRODUCT, sets.GelbrichBall(0.3), sets.DelageYe(0.1, 1.3), sets.KLBall(0.3), PRODUCT & sets.GelbrichBall(0.5)]
MEANS = [sets.MeanEllipsoid(0.3), sets.MeanMetricEllipsoid(0.3), sets.ExactMean(), sets.MeanWithin(sets.Box(None, 0.3))]
POINTS = [
    sets.NormBall(2, 0.3), sets.NormBall(1, 0.3), sets.Box(None, 0.3), sets.Budget(1.0), sets.Ellipsoid(np.eye(2)),
    sets.Simplex(1.0), sets.ScenarioHull(np.eye(2)), sets.WeightedNormBall(np.eye(2)), sets.Interval([-1, -1], [1, 1]),
    sets.BlockNormBall([[0], [1]]), sets.NormBall(2, 0.3) & sets.Box(None, 0.3),
]  # fmt: skip
ALL = [recipe.centred(MOMENTS) for recipe in COVARIANCES + PAIRS + MEANS] + [
    recipe.centred([1.0, 2.0]) for recipe in POINTS
]


def member(uncertainty, vector, matrix):
    return {"covariance": matrix, "moments": (vector, matrix)}.get(uncertainty.family, vector)


@pytest.mark.parametrize("recipe", COVARIANCES + PAIRS + MEANS, ids=repr)
def test_no_set_holds_an_indefinite_matrix_at_any_size(recipe):
    around = recipe.centred(MOMENTS)
    given = INDEFINITE if around.family == "covariance" else ([1.0, 2.0], INDEFINITE)
    assert sets.gauge(around, given) == math.inf


@pytest.mark.parametrize("around", ALL, ids=repr)
def test_a_gauge_takes_members_of_the_sets_own_family_alone(around):
    S, m = np.array(S0), np.array([1.0, 2.0])
    wrong = [(np.full(2, np.nan), np.full((2, 2), np.nan), "nan was found"), (np.ones(3), np.eye(3), r"3.* was found")]
    wrong += [(3.0, 2.0, r"(shape \(\)|2\.0) was found"), (np.array([np.inf, 1.0]), np.diag([np.inf, 1.0]), "inf was")]
    if around.family in ("covariance", "moments"):
        wrong += [(m, SKEW, r"not symmetric, entry \(0, 1\) is 0.5"), (m, m, r"shape \(2,\) was found")]
    for vector, matrix, told in wrong:
        with pytest.raises(InputError, match=told) as error:
            sets.gauge(around, member(around, vector, matrix))
        assert str(error.value).startswith("member")
    if around.family == "moments":
        with pytest.raises(InputError, match=r"member: an array of shape \(2, 2\) was found; give a pair of a mean"):
            sets.gauge(around, S)


@pytest.mark.parametrize("around", ALL, ids=repr)
@pytest.mark.parametrize("a", [[1.0], [1.0, 2.0, 3.0]], ids=["short", "long"])
def test_a_direction_has_the_length_of_the_set(around, a):
    """One that is too short was broadcast."""
    told = f"length {len(a)} was found where 2 is needed"
    functions = [sets.adversary, sets.worst_member]
    functions += [sets.evaluate_support] if around.family in ("points", "mean") else []
    functions += [sets.evaluate_deviation] if around.family != "points" else []
    functions += [lambda s, v: sets.evaluate_loss(s, v, 1.0)] if around.family != "points" else []
    for function in functions:
        if function is not sets.evaluate_support and getattr(around, "uses_covariance", False):
            continue  # such means have worst cases in a product
        with pytest.raises(InputError, match=rf"^[aw]: {told}"):
            function(around, a)


def test_a_direction_in_a_program_has_the_length_of_the_set():
    points, variable = sets.NormBall(2, 0.3).centred([1.0, 2.0]), cp.Variable(3)
    for stated in (
        lambda: sets.support(points, variable),
        lambda: sets.support(sets.Box([1.0, 2.0]), variable),
        lambda: sets.worst_deviation(BALL.centred(MOMENTS), variable),
        lambda: sets.worst_loss(PRODUCT.centred(MOMENTS), variable, 1.0),
    ):
        with pytest.raises(InputError, match="length 3 was found where 2 is needed"):
            stated()


@pytest.mark.parametrize("given", [None, "ball", sets.FrobeniusBall, 0.3], ids=repr)
def test_what_is_no_set_is_named(given):
    found = re.escape(f"{given!r} was found; give a set of ")
    for function in (
        lambda: sets.gauge(given, S0),
        lambda: sets.adversary(given, [1.0, 2.0]),
        lambda: sets.worst_member(given, [1.0, 2.0]),
        lambda: sets.evaluate_loss(given, [1.0, 2.0], 1.0),
        lambda: sets.evaluate_deviation(given, [1.0, 2.0]),
        lambda: sets.evaluate_support(given, [1.0, 2.0]),
    ):
        with pytest.raises(InputError, match=f"uncertainty: {found}"):
            function()
    for function in (
        lambda: sets.calibrate(given, X),
        lambda: sets.coverage(given, MOMENTS, X),
        lambda: sets.cross_validated(given, X, [0.1], lambda *_: 0.0),
    ):
        with pytest.raises(InputError, match=f"recipe: {found}"):
            function()


def test_sets_of_another_family_are_named():
    points = sets.NormBall(2, 0.3)
    with pytest.raises(
        InputError, match=r"uncertainty: FrobeniusBall.*; give a set of means or of points, such as Norm"
    ):
        sets.evaluate_support(BALL.centred(MOMENTS), [1.0, 2.0])
    with pytest.raises(InputError, match=r"uncertainty: NormBall.*; give a set of means, of covariances or of pairs"):
        sets.evaluate_deviation(points.centred([1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(InputError, match=r"recipe: NormBall.*such as GelbrichBall\(0.3\)$"):
        sets.coverage(points, MOMENTS, X)
    with pytest.raises(InputError, match=r"None was found.*or Exact\(\) around the moments"):
        sets.evaluate_deviation(None, [1.0, 2.0])


def test_coverage_takes_moments_of_the_points_dimension():
    with pytest.raises(InputError, match="moments: 'M' was found; give the true ones"):
        sets.coverage(BALL, "M", X)
    with pytest.raises(InputError, match="moments: they are of dimension 3 where X has 2 columns"):
        sets.coverage(BALL, cn.Moments(np.zeros(3), np.eye(3)), X)
