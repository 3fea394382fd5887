"""Sets of radius zero, or next to it, as parts of hulls, sums and intersections."""

from __future__ import annotations

import math
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from set_laws import Transport

import convexnovelty as cn
from convexnovelty.checking.contract import check_set
from convexnovelty.uncertainty import (
    Box,
    BuresBall,
    CovarianceSet,
    DiagonalBall,
    Exact,
    ExactCovariance,
    ExactMean,
    FactorModel,
    FrobeniusBall,
    GelbrichBall,
    Interval,
    KLBall,
    MeanMetricEllipsoid,
    MeanSet,
    MeanWithin,
    NuclearBall,
    PointSet,
    SpectralBall,
    WishartBall,
    adversary,
    evaluate_deviation,
    evaluate_loss,
    evaluate_support,
    gauge,
)
from convexnovelty.uncertainty.norm_ball import NormBall

ROOT = np.random.default_rng(3).standard_normal((5, 3)) / math.sqrt(3)
MOMENTS = cn.Moments([2.0, 3.0, 1.0], ROOT.T @ ROOT)
CONFIDENCE = 0.4


MADE = {
    "Frobenius": FrobeniusBall,
    "nuclear": NuclearBall,
    "spectral": SpectralBall,
    "Bures": BuresBall,
    "Wishart": WishartBall,
    "diagonal": lambda radius: DiagonalBall(radius=radius),
    "Gelbrich": GelbrichBall,
    "Kullback-Leibler": KLBall,
    "transport": Transport,
    "metric": MeanMetricEllipsoid,
    "cubes": lambda radius: MeanWithin(NormBall(3, radius)),
}
CLOSED = {**MADE, "transport": GelbrichBall}
SIGNS = {"|": lambda A, B: A | B, "+": lambda A, B: A + B, "&": lambda A, B: A & B}


def optimum(recipe):
    return cn.single_class_mpm(MOMENTS, CONFIDENCE, recipe).solve().objective


@cache
def closed_optimum(kind, radius):
    return optimum(None if kind is None else CLOSED[kind](radius))


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("kind", MADE)
def test_a_point_adds_nothing_and_leaves_nothing(kind, sign):
    """Hull and sum with the centre are the other set, the intersection is the centre: closed forms, or no set at all.

    Every kind and every sign has the point on either side of it, by turns.
    """
    side = (list(MADE).index(kind) + list(SIGNS).index(sign)) % 2
    for radii in ((0.2, 0.0)[:: 1 - 2 * side], (0.0, 0.0)):
        left = min(radii) if sign == "&" else max(radii)
        made = SIGNS[sign](*(MADE[kind](radius) for radius in radii))
        assert optimum(made) == pytest.approx(closed_optimum(kind if left else None, left), rel=2e-6)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_part_that_becomes_a_point_and_grows_again(sign):
    formulation = cn.single_class_mpm(MOMENTS, CONFIDENCE, SIGNS[sign](NuclearBall(0.1), NuclearBall(0.2)))
    for radius in (0.0, 0.3, 0.0):
        truth = {"|": max(0.1, radius), "+": 0.1 + radius, "&": min(0.1, radius)}[sign]
        found = formulation.set(uncertainty=SIGNS[sign](NuclearBall(0.1), NuclearBall(radius))).solve().objective
        assert found == pytest.approx(optimum(NuclearBall(truth) if truth else None), rel=2e-6)


@pytest.mark.parametrize("radius", [1e-12, 1e-9, 1e-7, 1e-4, 0.2, 3.0])
@pytest.mark.parametrize("factors", [1, 2])
def test_small_loadings_move_by_no_more_than_their_radius(factors, radius):
    """The closed form, within an intersection that a far larger ball leaves alone."""
    model, a = FactorModel(factors, radius, 0.3), np.array([0.3, -1.0, 0.7])
    whole = model & FrobeniusBall(1e3)
    found, truth = (evaluate_deviation(recipe.centred(MOMENTS), a) for recipe in (whole, model))
    assert found == pytest.approx(truth, rel=1e-6)


class Ball(CovarianceSet):
    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]

    def gauge(self, S):
        return float(np.linalg.norm(S - self.center))


class Means(MeanSet):
    def membership(self, m):
        return [cp.norm(m - self.center) <= self.radius]

    def gauge(self, m, S):
        return float(np.linalg.norm(m - self.center))


class Points(PointSet):
    def membership(self, u):
        return [cp.norm(u - self.center) <= self.radius]

    def gauge(self, u):
        return float(np.linalg.norm(u - self.center))


class FromNowhere(Ball):
    """A gauge that forgets the centre."""

    def gauge(self, S):
        return float(np.linalg.norm(S))


@pytest.mark.parametrize("recipe", [Ball(0.0), Means(0.0), Points(0.0), NormBall(1, 0.0)], ids=repr)
def test_a_set_of_radius_zero_keeps_its_laws_up_to_rounding(recipe):
    assert [row.source for row in check_set(recipe) if row.verdict == "fail"] == []


def test_a_gauge_that_is_not_zero_at_the_centre_is_found_at_radius_zero():
    assert [row.source for row in check_set(FromNowhere(0.0)) if row.verdict == "fail"] == ["gauge"]


@pytest.mark.parametrize("tilt", [0.0, 0.02, 0.7])
@pytest.mark.parametrize(
    "recipe",
    [
        ExactCovariance().preimage([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) & BuresBall(0.05),
        ExactCovariance() & (DiagonalBall(2, 1.0) | BuresBall(0.05)),
        ExactCovariance().preimage([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) & FrobeniusBall(0.3),
    ],
    ids=["preimage", "hull", "ball"],
)
def test_equations_that_leave_one_covariance_of_rank_one(recipe, tilt):
    """Balls around it leave a solver's multipliers free where nothing varies; the deviation is that of the only member."""
    v, a = np.array([tilt, 1.0]), np.array([1.0, -2.0])
    moments = cn.Moments(5 * v, np.outer(v, v))
    around = recipe.centred(moments)
    assert evaluate_deviation(around, a) == pytest.approx(abs(a @ v), rel=1e-6)
    assert adversary(around, a).value == pytest.approx(abs(a @ v), rel=1e-6)
    objective = cn.single_class_mpm(moments, 0.8, recipe).solve().objective
    assert objective == pytest.approx(1 / (5 - 2), rel=1e-6)  # a'm - 2 |a'v| = 1 along v, where kappa is 2


@pytest.mark.parametrize("seed", range(4))
def test_hulls_of_flat_parts_round_means_that_are_not_zero(seed):
    """Parts agree in the coordinates that neither moves along; what a solver leaves between them is no extent."""
    rng = np.random.default_rng(seed)
    m, B = rng.normal(size=3).round(1), rng.normal(size=(3, 3)).round(1)
    moments, w = cn.Moments(m, B @ B.T + 0.2 * np.eye(3)), np.ones(3)
    first = MeanWithin(Box([0.5, 0, 0])) * ExactCovariance()
    second = MeanWithin(Box([0, 0.5, 0])) * ExactCovariance()
    nominal = m @ w + 2 * math.sqrt(w @ moments.covariance @ w)
    assert evaluate_loss((first | (first + second)).centred(moments), w, 2.0) == pytest.approx(nominal + 1, rel=1e-6)
    wide = ExactMean() * FrobeniusBall(0.3)
    inner, outer = (first | wide).centred(moments), (Exact() | (first | wide)).centred(moments)
    assert evaluate_loss(outer, w, 2.0) == pytest.approx(evaluate_loss(inner, w, 2.0), rel=1e-6)
    points = (Box([0.5, 0, 0]) | (Box([0.5, 0, 0]) + Box([0, 0.3, 0]))).centred(m)
    v = np.array([0.3, -1.3, 0.4])
    assert adversary(points, v).value == pytest.approx(v @ m + 0.15 + 0.39, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_inequalities_that_leave_the_centre_alone_add_nothing_to_a_hull(seed):
    """Bounds that meet state no equation, and a point of theirs lies where the centre does: the rest is a diamond."""
    rng = np.random.default_rng(seed)
    c, step, w = rng.normal(size=2).round(1), rng.normal(size=2).round(2), rng.normal(size=2).round(1)
    point, flat = Interval([0, 0], [0, 0]), (Box([0.5, 0]), Box([0, 0.3]))
    farthest = w @ c + max(0.5 * abs(w[0]), 0.3 * abs(w[1]))
    for recipe in ((flat[0] | flat[1]) | point, point | (flat[0] | flat[1])):
        around = recipe.centred(c)
        assert gauge(around, c + step) == pytest.approx(abs(step[0]) / 0.5 + abs(step[1]) / 0.3, rel=1e-6)
        assert evaluate_support(around, w, "derived") == pytest.approx(farthest, abs=1e-6)
        assert adversary(around, w).value == pytest.approx(farthest, abs=1e-6)
        pairs = (MeanWithin(recipe) * ExactCovariance()).centred(cn.Moments(c, np.eye(2)))
        assert evaluate_loss(pairs, w, 1.0, "derived") == pytest.approx(farthest + np.linalg.norm(w), abs=1e-6)
