"""Worst cases against CVXPY alone, on the membership as it is written.

The derived counterpart and the adversary share the arrays that a membership is compiled into, scaled and reduced to;
here nothing of that is used. A mixture, whose membership is stated by those arrays, is taken apart by hand.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws

from convexnovelty import Moments
from convexnovelty import uncertainty as sets
from convexnovelty.checking.contract import check_set
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.tools import listed

KAPPA = 1.3


def solved(objective, constraints):
    problem = cp.Problem(cp.Maximize(objective), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    return float(problem.value)


def as_written(uncertainty, a):
    """The largest w'u, a'Sa or m'a + kappa root a'Sa over the constraints that the class returns."""
    p = a.size
    if uncertainty.family in ("points", "mean"):
        u = cp.Variable(p)
        return solved(a @ u, listed(uncertainty.membership(u)))
    S = cp.Variable((p, p), symmetric=True)
    variance = cp.sum(cp.multiply(np.outer(a, a), S))
    if uncertainty.family == "covariance":
        return solved(variance, [S >> 0, *listed(uncertainty.membership(S))])
    m = cp.Variable(p)
    return solved(a @ m + KAPPA * cp.sqrt(variance), [S >> 0, *listed(uncertainty.membership(m, S))])


def taken_apart(uncertainty, a):
    """The same, with what operations make of linear worst cases written out, down to sets that hold no mixture."""
    name = type(uncertainty).__name__
    if name.endswith("SetHull") and uncertainty.family != "moments":
        return max(taken_apart(uncertainty.first, a), taken_apart(uncertainty.second, a))
    if name == "PointSum":
        return taken_apart(uncertainty.first, a) + taken_apart(uncertainty.second, a) - uncertainty.center @ a
    if name == "PointDilation":
        share = uncertainty.multiple
        return (1 - share) * (uncertainty.center @ a) + share * taken_apart(uncertainty.part, a)
    if name == "PointTranslation":
        return taken_apart(uncertainty.part, a) + uncertainty.shift[0] @ a
    if name == "PointImage":
        return uncertainty.center @ a + taken_apart(uncertainty.part, uncertainty.matrix.T @ a)
    return as_written(uncertainty, a)


def recipes(dimension):
    return [
        pytest.param(recipe, id=f"{name}{i}")
        for name, kind in sets.catalogue().items()
        if name != "MomentSetHull"  # its membership is stated by compiled arrays
        for i, recipe in enumerate(kind.examples(dimension))
    ]


@pytest.mark.parametrize("recipe", recipes(3))
def test_the_catalogue_as_it_is_written(recipe):
    nominal = laws.moments(3)
    uncertainty = laws.centred(recipe, nominal)
    a = np.random.default_rng(4).standard_normal(3)
    right = taken_apart(uncertainty, a)
    found = sets.adversary(uncertainty, a, KAPPA).value
    found = found**2 if uncertainty.family == "covariance" else found
    assert found == pytest.approx(right, rel=1e-6, abs=1e-6)


class Thin(sets.PointSet):
    """Flat by an inequality, along a direction that is no axis."""

    def membership(self, u):
        return [cp.abs(2 * u[0] + 3 * u[-1]) <= 0, cp.norm(u) <= self.radius]


def leaf(rng, p):
    flat = np.zeros(p)
    flat[rng.integers(p)] = rng.random()
    return [
        sets.NormBall(2, rng.random()),
        sets.NormBall(1, 2 * rng.random()),
        sets.Box(flat),
        sets.Box(rng.random(p)),
        sets.NormBall(2, 1e-3 * rng.random()),
        sets.Ellipsoid(np.outer(flat, flat), 1.0),
        Thin(rng.random()),
        sets.NormBall(1.5, rng.random()),
    ][rng.integers(8)]


def tree(rng, p, depth):
    """A random expression; intersections hold no mixture, so that each is posed as it is written."""
    if depth == 0:
        return leaf(rng, p)
    left = tree(rng, p, depth - 1)
    kind = rng.integers(6)
    if kind == 0:
        return left | tree(rng, p, depth - 1)
    if kind == 1:
        return left + tree(rng, p, depth - 1)
    if kind == 2:
        return leaf(rng, p) & (3 * leaf(rng, p + 1).preimage(rng.standard_normal((p + 1, p))))
    if kind == 3:
        return float(rng.uniform(0.2, 3.0)) * left
    if kind == 4:
        return left + rng.standard_normal(p)
    return left.image(rng.standard_normal((p, p)))


@pytest.mark.parametrize("seed", range(14))
def test_random_expressions_of_points(seed):
    rng = np.random.default_rng([7, seed])
    uncertainty = tree(rng, 3, 3).centred(np.zeros(3))
    a = rng.standard_normal(3)
    right = taken_apart(uncertainty, a)
    for route in ("best", "derived"):
        assert sets.evaluate_support(uncertainty, a, route) == pytest.approx(right, rel=1e-6, abs=1e-6)
    assert sets.adversary(uncertainty, a).value == pytest.approx(right, rel=1e-6, abs=1e-6)


def covariance_leaf(rng, p):
    widths = np.zeros((p, p))
    widths[0, 0] = 1.0
    return [
        sets.FrobeniusBall(0.4 * rng.random()),
        sets.EntrywiseInterval(0.5 * rng.random(), widths),
        sets.LoewnerInterval(0.3 * rng.random()),
        sets.EntrywiseInterval(0.5, widths) & sets.FrobeniusBall(0.3),
        sets.FrobeniusBall(0.0),
        sets.NuclearBall(0.3 * rng.random()),
        sets.FrobeniusBall(0.2).preimage(rng.standard_normal((p + 1, p))),
    ][rng.integers(7)]


@pytest.mark.parametrize("seed", range(8))
def test_random_mixtures_of_covariances(seed):
    rng = np.random.default_rng([8, seed])
    nominal = laws.moments(3, rank=2 if seed % 3 == 0 else None, seed=seed)
    parts = [covariance_leaf(rng, 3) for _ in range(3)]
    uncertainty = (parts[0] | parts[1]).centred(nominal)
    summed = ((parts[0] | parts[1]) + sets.FrobeniusBall(0.0)).centred(nominal)
    inside = ((parts[0] | parts[1]) & sets.FrobeniusBall(100.0)).centred(nominal)
    a = rng.standard_normal(3)
    right = np.sqrt(taken_apart(uncertainty, a))
    for around in (uncertainty, summed, inside):
        assert sets.evaluate_deviation(around, a, "derived") == pytest.approx(right, rel=1e-6)
        assert sets.adversary(around, a).value == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_sees_the_covariance_of_its_own_coordinates(seed):
    """The ellipsoid of the covariance is the same in all coordinates, also in more of them than there are."""
    rng = np.random.default_rng([9, seed])
    nominal, a = laws.moments(2, seed=seed), rng.standard_normal(2)
    T, square = rng.standard_normal((3, 2)), rng.standard_normal((2, 2))
    beside = [sets.ExactCovariance(), sets.FrobeniusBall(0.1)][seed % 2]
    plain = sets.MeanEllipsoid(0.2)
    right = sets.evaluate_loss((plain * beside).centred(nominal), a, KAPPA)
    for means in (plain.preimage(T), plain.preimage(square), plain.image(square)):
        around = (means * beside).centred(nominal)
        assert sets.evaluate_loss(around, a, KAPPA) == pytest.approx(right, rel=1e-6)
        assert as_written(around, a) == pytest.approx(right, rel=1e-5)


def test_a_mixture_of_means_that_see_the_covariance_is_refused():
    with pytest.raises(InputError, match=r"hull: MeanEllipsoid\(radius=0.1\) depends on the covariance.*\(A \* C\)"):
        sets.MeanEllipsoid(0.1) | sets.MeanWithin(sets.Box(radius=0.2))


@pytest.mark.parametrize("holds", [True, False])
def test_coverage_of_sets_of_two_parts(holds):
    X = np.random.default_rng(0).normal(size=(50, 2))
    truth, size = Moments(np.zeros(2), np.eye(2)), 1.0 if holds else 1e-3
    spread = sets.NuclearBall(2 * size) & sets.SpectralBall(size)
    mean = sets.MeanEllipsoid(size) & sets.MeanWithin(sets.Box(radius=size))
    for recipe in (spread, sets.NuclearBall(size) + sets.SpectralBall(size), mean, mean * spread):
        assert sets.coverage(recipe, truth, X) is holds


class OfRows(sets.CovarianceSet):
    """Covariances by the largest sum of a row, in deviations."""

    def membership(self, S):
        size = np.sqrt(np.outer(np.diag(self.center), np.diag(self.center)))
        return [cp.max(cp.sum(cp.abs(cp.multiply(1.0 / size, S - self.center)), axis=1)) <= self.radius]


def test_a_check_compiles_what_is_written_in_raw_columns_in_their_deviations():
    deviations = np.array([39.5, 395.0, 101.6, 5.3])
    R = np.array([[1.0, 0.217, 0.497, 0.047], [0.0, 1.0, -0.156, 0.191], [0.0, 0.0, 1.0, 0.128], [0.0, 0.0, 0.0, 1.0]])
    moments = Moments([295.0, 535.0, 347.0, 21.0], (R + R.T - np.eye(4)) * np.outer(deviations, deviations))
    (row,) = (row for row in check_set(OfRows(0.2), moments=moments) if "as it is written" in row.claim)
    assert row.verdict == "pass" and row.objective_gap < 1e-8
