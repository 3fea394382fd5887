"""Sets that inequalities leave no room in some directions, and sets that are small beside one around zero.

The right values are by hand: the support function of a hull is the larger one, that of a sum the sum.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import Moments
from convexnovelty import uncertainty as sets
from convexnovelty.uncertainty import (
    BlockNormBall,
    Box,
    ConicSet,
    CovarianceSet,
    Interval,
    NormBall,
    PointSet,
    adversary,
    evaluate_deviation,
    evaluate_support,
    worst_member,
)

TURN = np.array([[1.0, 2.0], [3.0, -1.0]])


class Line(PointSet):
    """A segment, flat by an inequality: along (3, -2), as far as the first coordinate may go."""

    def membership(self, u):
        return [cp.abs(2 * u[0] + 3 * u[1]) <= 0, cp.abs(u[0]) <= self.radius]


def of_line(w, radius=0.7):
    return radius * abs(w[0] - 2 * w[1] / 3)


def values(uncertainty, w):
    centred = uncertainty.centred(np.zeros(w.size))
    found = adversary(centred, w)
    member = worst_member(centred, w)
    routes = [evaluate_support(centred, w), evaluate_support(centred, w, "derived"), found.value, member @ w]
    return np.array(routes)


FLAT = {
    "preimage": (Box([0.0, 1.0]).preimage(TURN), lambda w: abs(np.linalg.solve(TURN.T, w)[1])),
    "image": (Box([0.0, 0.3]).image(TURN), lambda w: 0.3 * abs(TURN.T @ w)[1]),
    "thin image": (NormBall(1, 1.0).image(np.outer([1.0, -2.0], [0.5, 3.0])), lambda w: 3.0 * abs(w[0] - 2 * w[1])),
    "own": (Line(0.7), of_line),
    "interval": (Interval([0.0, 0.0], [0.0, 1.0]), lambda w: max(w[1], 0.0)),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_flat_part_keeps_its_length_in_hulls_and_sums(name):
    rng = np.random.default_rng(len(name))
    flat, of_flat = FLAT[name]
    shift, w = rng.normal(size=2), rng.normal(size=2)
    ball, of_ball = NormBall(2, 0.8) + shift, 0.8 * np.linalg.norm(w) + shift @ w
    larger = max(of_flat(w), of_ball)
    assert values(flat | ball, w) == pytest.approx(larger, abs=1e-7)
    assert values((flat | ball) & NormBall(2, 50.0), w) == pytest.approx(larger, abs=1e-6)
    assert values(2 * (flat | ball) + ball, w) == pytest.approx(2 * larger + of_ball, abs=1e-6)
    both = flat | flat.image(np.diag([-1.0, 2.0]))
    assert values(both, w) == pytest.approx(max(of_flat(w), of_flat(w * [-1.0, 2.0])), abs=1e-7)


def test_flat_parts_of_the_catalogue_deep_in_an_expression():
    w, far = np.array([-1.0, -0.5, 0.3]), NormBall(2, 0.1) + np.array([1.0, 1.0, -1.0])
    blocks = BlockNormBall([[0], [1, 2]], 2, 2, 1.0) & Box([0.0, 5.0, 0.0])
    disc = NormBall(2, 1.0) & Box([0.0, 5.0, 0.0])
    assert values(0.5 * (2 * (blocks | far) & NormBall(1, 99.0)), w) == pytest.approx(0.5, abs=1e-6)
    assert values(((disc & NormBall(2, 50.0)) | far) + NormBall(2, 0.0), w) == pytest.approx(0.5, abs=1e-6)


class FixedVariance(CovarianceSet):
    """A ball in which the first variance has no room, by an inequality."""

    def membership(self, S):
        return [cp.abs(S[0, 0] - self.center[0, 0]) <= 0, cp.norm(S - self.center, "fro") <= self.radius]


def test_a_variance_without_room_in_a_hull():
    nominal, a = Moments(np.zeros(2), np.diag([1.0, 2.0])), np.array([0.6, -1.1])
    # Off the first entry the ball has the directions (0, 1; 1, 0) / root 2 and (0, 0; 0, 1), of length one.
    worst = a @ nominal.covariance @ a + 0.5 * np.hypot(np.sqrt(2) * a[0] * a[1], a[1] ** 2)
    hull = (FixedVariance(0.5) | FixedVariance(0.1)).centred(nominal)
    for route in ("best", "derived"):
        assert evaluate_deviation(hull, a, route) == pytest.approx(np.sqrt(worst), rel=1e-7)
    assert adversary(hull, a).value == pytest.approx(np.sqrt(worst), rel=1e-7)


@pytest.mark.parametrize("r", [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e12])
def test_a_set_around_zero_is_measured_in_its_own_unit(r):
    """A solver is content with any point where costs are below its tolerance: 5.99 for 5 at 1e-6."""
    w, z = np.array([3.0, 4.0]), np.zeros(2)
    cut = ConicSet(lambda v: [cp.norm(v, 1) <= r, v[0] <= 0.5 * r]).centred(z)
    assert evaluate_support(cut, w) / r == pytest.approx(4.0, rel=1e-8)
    assert evaluate_support(NormBall(2, r).centred(z), w, "derived") / r == pytest.approx(5.0, rel=1e-8)
    half = ConicSet(lambda v: [cp.norm(v) <= r, cp.sum(v) <= 0.5 * r]).centred(z)
    # On the circle at the bound: v = (1, 1) / 4 + t (-1, 1) with |v| = 1.
    across = np.sqrt((1.0 - 0.125) / 2)
    assert evaluate_support(half, w) / r == pytest.approx(1.75 + across, rel=1e-8)


@pytest.mark.parametrize("factors", [1, 2, 3])
@pytest.mark.parametrize("growth", [0.0, 0.4])
def test_loadings_that_cannot_move_leave_the_specific_variances_alone(factors, growth):
    """A radius of zero in an intersection, whose counterpart is derived; by the eigenvalues of the covariance."""
    points = np.random.default_rng(3).normal(size=(20, 3)) @ np.array(
        [[2.0, 0.3, 0.1], [0.0, 1.0, 0.2], [0.1, 0.0, 0.7]]
    )
    moments, a = cn.Moments.estimate(points + 4.0), np.array([1.0, -0.7, 0.4])
    values, vectors = np.linalg.eigh(moments.covariance)
    common = (vectors[:, -factors:] * values[-factors:]) @ vectors[:, -factors:].T
    worst = a @ common @ a + (1 + growth) * np.maximum(np.diag(moments.covariance - common), 0.0) @ a**2
    recipe = sets.FactorModel(factors, 0.0, growth) & sets.SpectralBall(1e3)
    for centred in (recipe.centred(moments), sets.FactorModel(factors, 0.0, growth).centred(moments)):
        for route in ("best", "derived"):
            found = sets.evaluate_deviation(centred, a, route)
            assert found == pytest.approx(np.sqrt(worst), rel=1e-7), (centred, route)


def test_a_radius_of_zero_of_a_factor_model_is_right_by_set_and_anew():
    """In one dimension one factor explains the variance wholly, so that the set is the nominal one."""
    for seed in (4, 8, 11):
        features = cn.LinearFeatures(np.random.default_rng(seed).normal(size=(12, 1)) + 5)
        truth = cn.mahalanobis_svm(features, 0.6).solve().objective
        problem = cn.mahalanobis_svm(features, 0.6, sets.DiagonalBall(1, 0.05) & sets.FactorModel(1, 0.2, 0.4))
        assert problem.set(second_radius=0.0).solve().objective == pytest.approx(truth, rel=1e-7)
        anew = cn.mahalanobis_svm(features, 0.6, sets.DiagonalBall(1, 0.05) & sets.FactorModel(1, 0.0, 0.4))
        assert anew.solve().objective == pytest.approx(truth, rel=1e-7)


class Ball(CovarianceSet):
    """The ball of the Frobenius norm as a user may write it."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]


class Spectral(CovarianceSet):
    """That of the largest singular value."""

    def membership(self, S):
        return [cp.sigma_max(S - self.center) <= self.radius]


UNEVEN = np.array([-2.09248726e-03, -2.45425575e-02, -1.16980191, 30.9308208, -156.820742])


def balls(radius):
    """One ball in four ways."""
    half, twice = sets.FrobeniusBall(radius / 2), sets.FrobeniusBall(2 * radius)
    return [Ball(radius), Spectral(radius), sets.FrobeniusBall(radius) & twice, half + half]


@pytest.mark.parametrize("way", range(4))
@pytest.mark.parametrize("share", [1e-11, 1e-10, 1.2e-9, 1.5e-9, 1e-8, 1e-6])
def test_a_ball_of_covariances_that_is_next_to_nothing_beside_its_centre(share, way):
    """Of rank one, in columns from 1e-3 to 1e2. The worst member adds the radius along the direction."""
    size = float(UNEVEN @ UNEVEN)
    held = balls(share * size)[way].centred(Moments(UNEVEN, np.outer(UNEVEN, UNEVEN)))
    rng = np.random.default_rng(1)
    for a in [*np.eye(5)[::2], rng.normal(size=5), rng.normal(size=5) / np.abs(UNEVEN)]:
        right = np.hypot(a @ UNEVEN, np.sqrt(share * size * (a @ a)))
        assert evaluate_deviation(held, a, "derived") == pytest.approx(right, rel=2e-6)
        assert adversary(held, a).value == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("way", range(3))
def test_small_balls_round_fewer_points_than_columns(way):
    """A machine's guarantee holds of the member that is worst for its own direction."""
    rng = np.random.default_rng(0)
    units = 10.0 ** np.linspace(-2.5, 2.5, 6)
    X = (rng.normal(size=(4, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(4, 6))) * units + 3 * units
    moments, radius = Moments.estimate(X), 2e-5
    right = cn.single_class_mpm(moments, 0.7, sets.FrobeniusBall(radius)).solve()
    found = cn.single_class_mpm(moments, 0.7, balls(radius)[way]).solve()
    assert found.objective == pytest.approx(right.objective, rel=1e-6)
    w = found.region.normal
    away = (w @ moments.mean - found.region.offset) / np.sqrt(w @ moments.covariance @ w + radius * (w @ w))
    assert 1 / (1 + away**2) <= found.guarantee.bound + 1e-6
