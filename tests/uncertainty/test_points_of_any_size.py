"""Sets of points and means that a user writes, from 1e-6 to 1e6: nothing but their constraints tells how large they are."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.uncertainty import MeanSet, NormBall, PointSet, adversary, evaluate_support, gauge

LENGTHS = 10.0 ** np.arange(-6, 7, 2)
W = np.array([1.0, -2.0, 2.0])
POINTS = np.random.default_rng(0).normal(size=(40, 3)) * 0.5 + 2
COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.2], [0.0, -0.2, 0.5]])


def schur(shape, v, level):
    column = cp.reshape(v, (3, 1), order="F")
    return [cp.bmat([[shape, column], [column.T, np.array([[level]])]]) >> 0]


class Fourth(PointSet):
    """|u - c|_4 <= r, whose support is r |w|_{4/3}."""

    def membership(self, u):
        return [cp.sum(cp.power(u - self.center, 4)) <= self.radius**4]


class Complement(PointSet):
    """The Euclidean ball by Schur's complement."""

    def membership(self, u):
        return schur(np.eye(3), u - self.center, self.radius**2)


class Ellipsoid(MeanSet):
    """(m - c)' C^-1 (m - c) <= r^2 by Schur's complement, with the matrix in the unit of the data."""

    def __init__(self, radius=1.0, unit=1.0):
        self.radius, self.unit = radius, unit

    def membership(self, m):
        return schur(self.unit**2 * COVARIANCE, m - self.center, self.radius**2)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("kind", "dual"), [(Fourth, 4 / 3), (Complement, 2)])
def test_supports_are_as_many_radii_at_every_radius(kind, dual, length):
    truth = float(np.sum(np.abs(W) ** dual) ** (1 / dual))
    for center in (np.zeros(3), 20 * length * np.ones(3)):
        held = kind(length).centred(center)
        assert evaluate_support(held, W) - W @ center == pytest.approx(length * truth, rel=1e-6)
        assert adversary(held, W).value - W @ center == pytest.approx(length * truth, rel=1e-6)
        assert gauge(held, center + 0.5 * length * np.eye(3)[0]) == pytest.approx(0.5 * length, rel=1e-5)


@pytest.mark.parametrize("length", [1e-6, 1e-4, 1e4, 1e6])
@pytest.mark.parametrize(("kind", "p"), [(Fourth, 4), (Complement, 2)])
def test_machines_are_those_of_the_ball_of_the_catalogue(kind, p, length):
    features = cn.LinearFeatures(10 * length * POINTS)
    found, known = (cn.uncertain_points(features, 0.2, held).solve() for held in (kind(length), NormBall(p, length)))
    assert found.objective == pytest.approx(known.objective, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e-5, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("radius", [1e-5, 0.1, 1.0])
def test_ellipsoids_by_their_matrix_inequality(unit, radius):
    held = Ellipsoid(radius, unit).centred(cn.Moments(50 * unit * np.ones(3), unit**2 * COVARIANCE))
    truth = radius * unit * np.sqrt(W @ COVARIANCE @ W)
    # A support is a distance from the origin, of which rounding is a share.
    room = 1e-6 * truth + 1e-11 * 50 * unit * abs(W.sum())
    assert evaluate_support(held, W) - 50 * unit * W.sum() == pytest.approx(truth, abs=room)
