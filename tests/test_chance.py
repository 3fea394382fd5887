"""Whether the nominal moments belong to a set, in every unit and far from the origin, and what cutting planes make of it."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.chance import reference, some_member
from convexnovelty.methods import moment_classifier, two_class_mpm
from convexnovelty.uncertainty import FactorModel, MomentSet

RANDOM = np.random.default_rng(0)
NEGATIVES, POSITIVES = RANDOM.normal(size=(60, 2)), 0.5 * RANDOM.normal(size=(40, 2)) + [6.0, 5.0]
PLACES = [(1e-8, 0.0), (1.0, 0.0), (1e8, 0.0), (1.0, 1e4), (1e-8, 1e6), (1e8, 1e6)]


class Shrunk(MomentSet):
    """Covariances up to a quarter of the nominal one, which is none of them."""

    def membership(self, m, S):
        return [m == self.center_mean, S << 0.25 * self.center_covariance]


class Moved(MomentSet):
    """Means around one that lies three units off."""

    def __init__(self, unit):
        super().__init__(1.0)
        self.unit = unit

    def membership(self, m, S):
        return [cp.norm(m - self.center_mean - 3 * self.unit) <= self.unit, S << self.center_covariance]


class Relative(MomentSet):
    """Conditions in three units: of lengths, of their squares, and of neither."""

    def membership(self, m, S):
        C = self.center_covariance
        return [cp.norm(m - self.center_mean) <= self.radius, S << C, cp.trace(np.linalg.inv(C) @ S) >= 2.0]


@pytest.mark.parametrize(("unit", "far"), PLACES)
def test_the_nominal_pair_is_a_member_or_none(unit, far):
    moments = cn.Moments.estimate(unit * (NEGATIVES + far))
    mean, covariance = some_member(Shrunk(1.0), moments)
    assert np.linalg.eigvals(np.linalg.solve(moments.covariance, covariance)).real.max() <= 0.25 * (1 + 1e-4)
    off = reference(Moved(unit), moments) / unit - moments.mean / unit
    assert np.linalg.norm(off - 3) == pytest.approx(1.0, abs=1e-3)
    for recipe in (
        Relative(0.0),
        Relative(unit),
        cn.uncertainty.GelbrichBall(0.1 * unit),
        cn.uncertainty.DelageYe(0.0, 1.0),
    ):
        mean, covariance = some_member(recipe, moments)
        assert (mean == moments.mean).all() and (covariance == moments.covariance).all()


@pytest.mark.parametrize(("unit", "far"), PLACES)
def test_cutting_planes_begin_with_a_member(unit, far):
    """The worst covariance of the shrunk set is a quarter of the nominal one: a machine of exact moments has the value."""
    P, N = unit * (POSITIVES + far), unit * (NEGATIVES + far)
    positive, negative = cn.Moments.estimate(P), cn.Moments.estimate(N)
    quarter = cn.Moments(negative.mean, negative.covariance / 4)
    value = cn.two_class_mpm(quarter, positive).solve().objective
    found = two_class_mpm.semi_infinite(negative, positive, (Shrunk(1.0), None))
    assert found.objective == pytest.approx(value, rel=1e-6)
    soft = moment_classifier.semi_infinite(P, negative, 1.0, Shrunk(1.0))
    assert soft.objective == pytest.approx(cn.moment_classifier(P, quarter, 1.0).solve().objective, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize(("radius", "belongs"), [(0.01, False), (0.1, False), (0.2, False), (0.5, True)])
def test_a_membership_with_variables_of_its_own_knows_no_unit(radius, belongs, unit):
    """One factor leaves something of the correlations of three columns, which loadings that may move far take up."""
    mix = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 0.5]])
    covariance = np.cov((np.random.default_rng(0).normal(size=(50, 3)) @ mix).T)
    moments = cn.Moments(np.zeros(3), unit**2 * covariance)
    member = some_member(FactorModel(factors=1, radius=radius, growth=0.01), moments)[1]
    assert np.array_equal(member, moments.covariance) == belongs
