"""Sizes at which sets of one's own hold a member: in every unit of the data, in columns of their own, and at radii of any size.

The same constraints are solved by CVXPY itself in units in which everything is of the order of one.
"""

import math

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.uncertainty import CovarianceSet, MomentSet, PointSet, calibrate, coverage, gauge

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
CENTER = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
STEP = np.array([[0.3, -0.1, 0.05], [-0.1, 0.2, 0.0], [0.05, 0.0, -0.1]])
MEAN, SHIFT = np.array([3.0, -2.0, 5.0]), np.array([0.3, -0.04, 0.2])
EQUAL, OWN = np.ones(3), np.array([1.0, 100.0, 0.01])


def symmetric():
    return cp.Variable((3, 3), symmetric=True)


def split(S, at, r, g):
    """A part of bounded norm, and one that is sparse."""
    a, b = symmetric(), symmetric()
    gg = np.outer(g, g)
    return [S - at == a + b, cp.norm(a / gg, "fro") <= 0.5 * r, cp.sum(cp.abs(b / gg)) <= r]


def without_units(S, at, r, g):
    """A multiple of the centre, whose coefficients are variances in units of the data beside bounds of the order of one."""
    d, f, rest = cp.Variable(3), cp.Variable(), symmetric()
    bounds = [cp.norm(d / g**2) <= r, cp.abs(f) <= 0.3 * r, cp.max(cp.abs(rest / np.outer(g, g))) <= 0.2 * r]
    return [S - at == cp.diag(d) + f * at + rest, *bounds]


def signed(S, at, r, g):
    up, down = cp.Variable((3, 3), PSD=True), cp.Variable((3, 3), PSD=True)
    return [S - at == up - down, cp.trace((up + 2 * down) / np.outer(g, g)) <= r]


def between(S, at, r, g):
    E = symmetric()
    return [S == at + E, r * at >> E, E >> -r * at]


def squares(S, at, r, g):
    a, b = symmetric(), symmetric()
    gg = np.outer(g, g)
    return [S - at == a + b, cp.sum_squares(a / gg) <= r, cp.norm(b / gg, "fro") <= 0.5 * r]


def root(S, at, r, g):
    a, b = symmetric(), symmetric()
    gg = np.outer(g, g)
    return [S - at == a + b, cp.norm(a / gg, "fro") <= cp.sqrt(r), cp.norm(b / gg, 1) <= r]


def exponentials(S, at, r, g):
    d, rest = cp.Variable(3), symmetric()
    excess = cp.sum(cp.exp(d / g**2) - 1 - d / g**2)
    return [S - at == cp.diag(d) + rest, excess <= r, cp.norm(rest / np.outer(g, g), "fro") <= r]


def one_constraint(S, at, r, g):
    a, gg = symmetric(), np.outer(g, g)
    return cp.norm((S - at - a) / gg, "fro") + 0.5 * cp.norm(a / gg, "nuc") <= r


def own(kind, g, size):
    class Own(CovarianceSet):
        def membership(self, S):
            return kind(S, self.center, self.radius / size, g)

    return Own(size)


def solved(constraints, r):
    problem = cp.Problem(cp.Minimize(r), constraints if isinstance(constraints, list) else [constraints])
    problem.solve(solver="CLARABEL", **TIGHT)
    return float(r.value)


KINDS = [split, without_units, signed, between, squares, root, exponentials, one_constraint]


@pytest.mark.parametrize("columns", [EQUAL, OWN])
@pytest.mark.parametrize("unit, size", [(1e-8, 1e-9), (1e-8, 1e9), (1e-3, 1.0), (1e3, 1.0), (1e8, 1e-9), (1e8, 1e9)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gauge_of_a_set_with_further_variables_in_every_unit(kind, unit, size, columns):
    g = unit * columns
    gg = np.outer(g, g)
    r = cp.Variable(nonneg=True)
    right = solved(kind(cp.Constant(CENTER + STEP), CENTER, r, EQUAL), r)
    around = own(kind, g, size).centred(cn.Moments(g * MEAN, gg * CENTER))
    assert gauge(around, gg * (CENTER + STEP)) == pytest.approx(right * size, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-8, 1e3, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("columns", [EQUAL, OWN])
def test_the_gauge_of_points_and_of_pairs_in_every_unit(unit, columns):
    g = unit * columns

    class Points(PointSet):
        def membership(self, u):
            a, b = cp.Variable(3), cp.Variable(3)
            return [u - self.center == a + b, cp.norm(a / g) <= 0.5 * self.radius, cp.norm_inf(b / g) <= self.radius]

    class Pairs(MomentSet):
        def membership(self, m, S):
            a, E = cp.Variable(3), symmetric()
            own = [m - self.center_mean == a, S - self.center_covariance == E]
            return [*own, cp.norm(a / g) + cp.norm(E / np.outer(g, g), "fro") <= self.radius]

    a, r = cp.Variable(3), cp.Variable(nonneg=True)
    right = solved([cp.norm(a) <= 0.5 * r, cp.norm_inf(SHIFT - a) <= r], r)
    assert gauge(Points(1.0).centred(g * MEAN), g * (MEAN + SHIFT)) == pytest.approx(right, rel=1e-6)
    pairs = Pairs(1.0).centred(cn.Moments(g * MEAN, np.outer(g, g) * CENTER))
    member = (g * (MEAN + SHIFT), np.outer(g, g) * (CENTER + STEP))
    assert gauge(pairs, member) == pytest.approx(np.linalg.norm(SHIFT) + np.linalg.norm(STEP), rel=1e-6)


def diagonal(S, at, r, g):
    d = cp.Variable(3)
    return [S - at == cp.diag(d), cp.norm(d / g**2) <= r]


@pytest.mark.parametrize("unit, size", [(1e-8, 1e9), (1.0, 1.0), (1e8, 1e-9)])
@pytest.mark.parametrize("columns", [EQUAL, OWN])
def test_what_no_size_holds_has_the_size_infinity_in_every_unit(unit, size, columns):
    gg = np.outer(unit * columns, unit * columns)
    around = own(diagonal, unit * columns, size).centred(cn.Moments(unit * columns * MEAN, gg * CENTER))
    for share in (1.0, 1e-6):
        assert gauge(around, gg * (CENTER + share * STEP)) == math.inf
    along = np.diag(np.diag(STEP))
    assert gauge(around, gg * (CENTER + along)) == pytest.approx(size * np.linalg.norm(along), rel=1e-6)


class Relative(CovarianceSet):
    """A radius that is a share of the total variance."""

    def membership(self, S):
        a, b, total = symmetric(), symmetric(), np.trace(self.center)
        bounds = [cp.norm(a, "fro") <= 0.5 * self.radius * total, cp.sum(cp.abs(b)) <= self.radius * total]
        return [S - self.center == a + b, *bounds]


def test_coverage_and_calibration_by_a_share_of_the_total_variance_in_every_unit():
    X = np.random.default_rng(3).normal(MEAN, [1.0, 0.5, 0.8], size=(60, 3)) @ np.linalg.cholesky(CENTER)
    S = 1.3 * cn.Moments.estimate(X).covariance
    r, a, share = cp.Variable(nonneg=True), symmetric(), 0.3 * S / np.trace(S)
    right = solved([cp.norm(a, "fro") <= 0.5 * r, cp.sum(cp.abs(share - a)) <= r], r)
    calibrated = []
    for unit in (1.0, 1e-8, 1e7, 1e8):
        found = cn.Moments.estimate(unit * X)
        truth = cn.Moments(found.mean, unit**2 * S)
        assert gauge(Relative(0.1).centred(found), truth.covariance) == pytest.approx(right, rel=1e-6)
        assert not coverage(Relative(0.999 * right), truth, unit * X)
        assert coverage(Relative(1.001 * right), truth, unit * X)
        calibrated.append(calibrate(Relative(0.1), unit * X, 0.9, resamples=20).radius)
    np.testing.assert_allclose(calibrated, calibrated[0], rtol=1e-6)


# -- sizes that are no part of a convex program ------------------------------------------------------------------------


class Squared(PointSet):
    def membership(self, u):
        return cp.sum_squares(u - self.center) <= self.radius**2


class Reciprocal(CovarianceSet):
    def membership(self, S):
        return [(S - self.center) / self.radius << self.center, (S - self.center) / self.radius >> -self.center]


class SquaredWithFurther(PointSet):
    def membership(self, u):
        a = cp.Variable(3)
        return [u - self.center == a, cp.sum_squares(a) <= self.radius**2]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("present", [1e-9, 1.0, 1e9])
def test_a_size_that_enters_squared_may_lie_far_from_the_present_one(unit, present):
    right = unit * float(np.linalg.norm(SHIFT))
    found = gauge(Squared(present).centred(unit * MEAN), unit * (MEAN + SHIFT), largest=1e20)
    assert found == pytest.approx(right, rel=1e-7)


def test_a_size_far_below_the_present_one_is_no_power_of_two_of_that():
    right = float(np.linalg.norm(1e-6 * SHIFT))
    assert gauge(Squared(1e3).centred(0 * MEAN), 1e-6 * SHIFT) == pytest.approx(right, rel=1e-7)
    assert gauge(SquaredWithFurther(1e3).centred(0 * MEAN), 1e-6 * SHIFT) == pytest.approx(right, rel=1e-6)
    assert gauge(Squared(1e-3).centred(0 * MEAN), 1e6 * SHIFT) == pytest.approx(1e12 * right, rel=1e-7)
    assert gauge(Squared(1e-3).centred(0 * MEAN), SHIFT, largest=0.5) == math.inf


@pytest.mark.parametrize("columns", [EQUAL, OWN, 1e-8 * OWN, 1e8 * OWN])
def test_a_size_in_a_denominator(columns):
    gg = np.outer(columns, columns)
    inverse = np.linalg.inv(np.linalg.cholesky(CENTER))
    right = float(np.abs(np.linalg.eigvalsh(inverse @ STEP @ inverse.T)).max())
    around = Reciprocal(1.0).centred(cn.Moments(columns * MEAN, gg * CENTER))
    assert gauge(around, gg * (CENTER + STEP)) == pytest.approx(right, rel=1e-7)


class SplitSquared(CovarianceSet):
    def membership(self, S):
        a, b = symmetric(), symmetric()
        return [S - self.center == a + b, cp.sum_squares(a) <= self.radius**2, cp.norm(b, "nuc") / self.radius <= 0.5]


@pytest.mark.parametrize("unit, present", [(1e-6, 1e-3), (1.0, 0.01), (1.0, 100.0), (1e6, 1e3)])
def test_a_size_that_enters_squared_beside_further_variables(unit, present):
    r, a = cp.Variable(nonneg=True), symmetric()
    right = solved([cp.norm(a, "fro") <= r, cp.norm(STEP - a, "nuc") <= 0.5 * r], r) * unit**2
    around = SplitSquared(present * unit**2).centred(cn.Moments(unit * MEAN, unit**2 * CENTER))
    assert gauge(around, unit**2 * (CENTER + STEP)) == pytest.approx(right, rel=3e-7)


class Widened(PointSet):
    """What is a member at every size has the size zero."""

    def membership(self, u):
        a, b = cp.Variable(3), cp.Variable(3)
        return [u - self.center == a + b, cp.norm(a) <= 0.5, cp.norm(b) <= self.radius]


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_a_member_at_every_size_has_the_size_zero(unit):
    around = Widened(unit).centred(MEAN)
    assert gauge(around, MEAN + SHIFT) <= 1e-8
    right = float(np.linalg.norm(2 * SHIFT)) - 0.5
    assert gauge(around, MEAN + 2 * SHIFT) == pytest.approx(right, rel=1e-6)


class Entropic(PointSet):
    def membership(self, u):
        a = cp.Variable(3)
        return [u - self.center == a, cp.sum(cp.kl_div(1 + a, 1)) <= self.radius]


def test_a_size_that_is_a_small_difference_of_large_terms_comes_with_a_warning():
    """Beside terms of the size of the step a half of its square is known to as many digits fewer."""
    step = 0.01 * SHIFT
    right = float(np.sum((1 + step) * np.log1p(step) - step))
    assert gauge(Entropic(1.0).centred(MEAN), MEAN + step) == pytest.approx(right, rel=1e-4)
    with pytest.warns(UserWarning, match="known to a share of .* of itself only, since its membership states a small"):
        found = gauge(Entropic(1.0).centred(MEAN), MEAN + 0.03 * step)
    assert found == pytest.approx(0.0009 * right, rel=0.1)


# -- sets that are made of others --------------------------------------------------------------------------------------


def blocks(S, at, r, g):
    """A ball of the spectral norm."""
    a, G = symmetric(), np.diag(1 / g)
    return [S - at == a, cp.bmat([[r * np.eye(3), G @ a @ G], [G @ a @ G, r * np.eye(3)]]) >> 0]


MADE = {
    "dilation": lambda ball: 2 * ball(1.0),
    "intersection": lambda ball: ball(1.0) & ball(3.0),
    "hull": lambda ball: ball(1.0) | ball(0.3),
    "sum": lambda ball: ball(0.6) + ball(0.4),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("kind", [split, blocks, one_constraint])
@pytest.mark.parametrize("radius", [1e-3, 1e-4, 1e-6])
def test_sets_that_are_small_beside_their_centre_are_not_moved_with_their_middle(kind, radius, made):
    r = cp.Variable(nonneg=True)
    right = solved(kind(cp.Constant(CENTER + STEP), CENTER, r, EQUAL), r) / radius
    around = MADE[made](lambda share: own(kind, EQUAL, 1.0).replaced(radius=share * radius))
    found = gauge(around.centred(cn.Moments(MEAN, CENTER)), CENTER + STEP)
    assert found == pytest.approx(right, rel=1e-6)
