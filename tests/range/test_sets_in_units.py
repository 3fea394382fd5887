"""Sets that are derived from their membership, in units of 1e-9 to 1e9: the same value, and no untrue word of being empty."""

from __future__ import annotations

import warnings
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from set_laws import Transport

import convexnovelty as cn
from convexnovelty.conic import ConicProgram
from convexnovelty.methods.single_class_mpm import semi_infinite
from convexnovelty.uncertainty import (
    BuresBall,
    CovarianceHull,
    CovarianceSet,
    DiagonalBall,
    DiagonalBudget,
    Ellipsoid,
    EntrywiseInterval,
    FrobeniusBall,
    GelbrichBall,
    LoewnerInterval,
    MeanEllipsoid,
    MeanMetricEllipsoid,
    MeanSet,
    MomentHull,
    PointSet,
    SubspaceBall,
    WishartBall,
    adversary,
    evaluate_deviation,
    evaluate_loss,
    evaluate_support,
    gauge,
    worst_member,
)

POINTS = np.random.default_rng(0).standard_normal((40, 3)) @ np.diag([1.0, 2.0, 0.5]) + [1.0, 2.0, 3.0]


def made(kind, unit):
    wide, near = FrobeniusBall(0.3 * unit**2), FrobeniusBall(0.2 * unit**2)
    return {
        "ball": wide,
        "intersection": wide & near,
        "sum": wide + near,
        "hull": wide | near,
        "product": MeanEllipsoid(0.3) * (wide & near),
    }[kind]


#: The same sets by closed forms: the smaller ball, the sum of the radii, the larger ball.
CLOSED = {
    "ball": FrobeniusBall(0.3),
    "intersection": FrobeniusBall(0.2),
    "sum": FrobeniusBall(0.5),
    "hull": FrobeniusBall(0.3),
    "product": MeanEllipsoid(0.3) * FrobeniusBall(0.2),
}


@cache
def closed_value(kind):
    return cn.single_class_mpm(cn.Moments.estimate(POINTS), 0.8, CLOSED[kind]).solve().objective


@pytest.mark.parametrize("unit", [1e-9, 1e-5, 1e5, 1e9])
@pytest.mark.parametrize("kind", CLOSED)
def test_the_value_does_not_depend_on_the_unit(kind, unit):
    right = closed_value(kind)
    moments = cn.Moments.estimate(POINTS * unit)
    assert cn.single_class_mpm(moments, 0.8, made(kind, unit)).solve().objective == pytest.approx(right, rel=1e-6)
    assert semi_infinite(moments, 0.8, made(kind, unit)).objective == pytest.approx(right, rel=1e-6)


def test_bounds_that_differ_in_their_right_hand_side_alone_are_two():
    """Beside a coefficient of one, 2e-13 and 3e-13 would round to the same bound."""
    x = cp.Variable()
    program = ConicProgram.from_problem(cp.Problem(cp.Maximize(x), [x <= 3e-13, x <= 2e-13, 2 * x <= 4e-13]))
    assert sorted(program.without_repetition().b) == pytest.approx([2e-13, 3e-13])


class Divergence(CovarianceSet):
    """The WishartBall by its membership: logarithms are compiled beside a one, whatever the unit is."""

    def membership(self, S):
        C = self.center
        log_det = np.linalg.slogdet(C)[1]
        return [cp.trace(np.linalg.inv(C) @ S) - cp.log_det(S) + log_det - len(C) <= 2 * self.radius]


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e-2, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("radius", [0.01, 1.0])
def test_logarithms_in_the_unit_of_the_centre(radius, unit):
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    C = (Q * np.linspace(1, 0.3, 5)) @ Q.T
    moments, a = cn.Moments(np.full(5, 5.0 * unit), unit**2 * (C + C.T) / 2), rng.normal(size=5) / unit
    right = evaluate_deviation(WishartBall(radius).centred(moments), a)
    assert evaluate_deviation(Divergence(radius).centred(moments), a) == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e-2, 1e4, 1e9])
def test_a_gauge_is_the_norm_of_the_displacement_in_every_unit(unit):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    C = (Q * [1.0, 0.6, 0.2]) @ Q.T
    step = np.array([0.003, -0.001, 0.002])
    moments, size = cn.Moments(np.full(3, unit), unit**2 * (C + C.T) / 2), float(np.linalg.norm(step)) * unit**2
    moved = moments.covariance + unit**2 * np.diag(step)
    ball = DiagonalBall(radius=size)
    assert gauge(ball.centred(moments), moved) == pytest.approx(size, rel=1e-6)
    assert gauge(ball.image(np.eye(3)).centred(moments), moved) == pytest.approx(size, rel=1e-6)
    assert gauge((ball & DiagonalBall(radius=2 * size)).centred(moments), moved) == pytest.approx(1.0, rel=1e-6)


COMBINED = {
    "alone": lambda radius: Transport(radius),
    "intersection": lambda radius: Transport(radius) & Transport(2 * radius),
    "hull": lambda radius: Transport(radius) | Transport(radius / 2),
}


@pytest.mark.parametrize("unit", [1e-7, 1e-6, 1e-5, 1e-3, 1.0, 1e2, 1e6])
@pytest.mark.parametrize("combined", COMBINED)
def test_squares_beside_variances_in_every_unit(combined, unit):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    C = (Q * [1.0, 0.5, 0.1]) @ Q.T
    moments, a = cn.Moments(np.full(3, unit), unit**2 * (C + C.T) / 2), rng.normal(size=3) / unit
    right = unit * np.sqrt(a @ C @ a) + 0.1 * unit * np.linalg.norm(a)  # the coupling that stretches along a
    found = COMBINED[combined](0.1 * unit).centred(moments)
    assert evaluate_deviation(found, a) == pytest.approx(right, rel=2e-6)
    ball = GelbrichBall(0.1 * unit).centred(moments)
    assert evaluate_loss(found, a, 1.3) == pytest.approx(evaluate_loss(ball, a, 1.3), rel=2e-6)
    assert gauge(ball, worst_member(found, a, 1.3)) <= 0.1 * unit * (1 + 1e-4)


@pytest.mark.parametrize("unit", [1e-9, 1e-8, 1e-7, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("order, radius", [(1, 0.025), (1, 0.2), (3, 0.05), (3, 0.3)])
def test_a_method_with_squares_beside_variances(order, radius, unit):
    moments = cn.Moments(np.full(order, 3 * unit), np.diag([1.0, 0.5, 0.1][:order]) * unit**2)
    right = cn.single_class_mpm(
        cn.Moments(moments.mean / unit, moments.covariance / unit**2), 0.5, GelbrichBall(radius)
    )
    found = cn.single_class_mpm(moments, 0.5, Transport(radius * unit)).solve().objective
    assert found == pytest.approx(right.solve().objective, rel=1e-6)


@pytest.mark.parametrize("combined", COMBINED)
@pytest.mark.parametrize("radius", [1e-2, 3e-2])
def test_a_small_ball_round_columns_of_many_sizes(combined, radius):
    """Ball radii are shares of the largest deviation; the bound of the square is their square."""
    moments = cn.Moments(np.array([613.0, -208.0, 0.2, -0.07]), np.diag([1e4, 1.28e3, 164.0, 21.0]))
    a, found = np.array([0.01, -0.02, 0.05, -0.13]), COMBINED[combined](100 * radius).centred(moments)
    ball = GelbrichBall(100 * radius).centred(moments)
    assert evaluate_loss(found, a, 3.0) == pytest.approx(evaluate_loss(ball, a, 3.0), rel=1e-6)
    assert evaluate_deviation(found, a) == pytest.approx(evaluate_deviation(ball, a), rel=2e-6)


class Scatter(MeanSet):
    """The MeanEllipsoid by its membership, as a fraction of a vector and a matrix."""

    def membership(self, m, S):
        return [cp.matrix_frac(m - self.center, S) <= self.radius**2]


class Coupled(CovarianceSet):
    """The BuresBall by its membership."""

    def membership(self, S):
        Y = cp.Variable(self.center.shape)
        moved = cp.trace(S) + np.trace(self.center) - 2 * cp.trace(Y)
        return [cp.bmat([[S, Y], [Y.T, self.center]]) >> 0, moved <= self.radius**2]


def test_equations_of_which_one_says_nothing_new():
    """In its own size the rounding that is left of it would be an equation."""
    moments = cn.Moments(np.array([-8.9, -30.6]), np.diag([100.0, 61.4]))
    right = cn.single_class_mpm(moments, 0.5, MeanEllipsoid(0.0764) * BuresBall(0.598)).solve().objective
    hull = Scatter(0.0764) * (Coupled(0.598) | Coupled(0.299))
    assert cn.single_class_mpm(moments, 0.5, hull).solve().objective == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-7, 1e-5, 1.0, 1e5, 1e7])
@pytest.mark.parametrize("covariances", [WishartBall(0.9), FrobeniusBall(0.2)])
def test_a_fraction_of_a_vector_and_a_matrix_in_every_unit(covariances, unit):
    """The corner beside a covariance of 1e10 and a mean of 1e5 is a number of the order of one."""
    C = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]])
    if isinstance(covariances, FrobeniusBall):
        covariances = FrobeniusBall(0.2 * unit**2)
    moments = cn.Moments(np.array([3.0, 1.0, 2.0]) * unit, C * unit**2)
    right = cn.single_class_mpm(moments, 0.3, MeanEllipsoid(0.1) * covariances).solve().objective
    found = cn.single_class_mpm(moments, 0.3, Scatter(0.1) * covariances).solve().objective
    assert found == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("units", [[1.0, 1e-8, 1e-4], [1e4, 1.0, 1e-4], [1e-8, 1e8, 1.0]])
def test_columns_in_units_of_their_own(units):
    """Sets that are given by matrices are those of comparable columns, axis by axis: a small variance is no rounding."""
    D = np.diag(units)
    S = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]])
    other = np.array([[1.0, -0.4, 0.2], [-0.4, 2.0, 0.1], [0.2, 0.1, 1.5]])
    mean, a = np.array([3.0, 1.0, 2.0]), np.array([0.4, -1.0, 0.7])
    step = np.array([0.1, 0.2, -0.1])

    def values(T):
        moments = cn.Moments(T @ mean, T @ S @ T)
        w, own = a / np.diag(T), T @ other @ T
        pairs = [(T @ mean, own), (T @ (mean + step), T @ S @ T)]
        points = Ellipsoid(own, 0.5).centred(np.zeros(3))
        means, beside = MeanMetricEllipsoid(0.5, own).centred(moments), MeanEllipsoid(0.1).centred(moments)
        return [
            evaluate_deviation(CovarianceHull([T @ S @ T, own]).centred(moments), w),
            evaluate_deviation(LoewnerInterval(0.5, own).centred(moments), w),
            evaluate_loss(MomentHull(pairs).centred(moments), w, 1.3),
            evaluate_support(points, w),
            gauge(points, T @ step),
            evaluate_support(means, w),
            gauge(means, T @ (mean + step)),
            gauge(beside, (T @ (mean + step), own)),
            gauge(WishartBall(0.1).centred(moments), T @ (1.3 * S) @ T),
        ]

    assert values(D) == pytest.approx(values(np.eye(3)), rel=1e-6)


def _near(S, center, size):
    return [cp.abs(S - center) <= size]


#: Constraints in units of the data, homogeneous in a covariance, its centre and a size: what CVXPY compiles them to has other units.
ATOMS = {
    "geometric mean": lambda S, at, r: [cp.geo_mean(cp.diag(S)) >= 0.8 * r, cp.trace(S) <= 1.2 * np.trace(at)],
    "divergence": lambda S, at, r: [cp.sum(cp.kl_div(cp.diag(S), np.diag(at))) <= 0.2 * r, *_near(S, at, r)],
    "relative entropy": lambda S, at, r: [cp.sum(cp.rel_entr(cp.diag(S), np.diag(at))) <= 0.3 * r, *_near(S, at, r)],
    "entropy": lambda S, at, r: [cp.sum(cp.entr(cp.diag(S) / np.trace(at))) >= 1.05, *_near(S, at, r)],
    "largest entries": lambda S, at, r: [cp.sum_largest(cp.abs(cp.vec(S - at, order="C")), 4) <= r],
    "norm of order 3": lambda S, at, r: [cp.pnorm(cp.diag(S - at), 3) <= r, *_near(S, at, r)],
    "norm of order 3/2": lambda S, at, r: [cp.pnorm(cp.diag(S - at), 1.5) <= r, *_near(S, at, r)],
    "cubes": lambda S, at, r: [cp.sum(cp.power(cp.abs(cp.diag(S - at)), 3)) <= r**3, *_near(S, at, r)],
    "fourth powers": lambda S, at, r: [cp.sum(cp.power(cp.diag(S - at) / r, 4)) <= 1, *_near(S, at, r)],
    "determinant": lambda S, at, r: [
        cp.log_det(S) >= np.log(np.linalg.det(at)) - 0.3,
        cp.trace(S) <= 1.1 * np.trace(at),
    ],
    "inverses": lambda S, at, r: [cp.sum(cp.inv_pos(cp.diag(S))) <= 3.3 / r, cp.trace(S) <= 1.1 * np.trace(at)],
    "inverse matrix": lambda S, at, r: [cp.tr_inv(S) <= 4 / r, cp.trace(S) <= 1.1 * np.trace(at)],
    "harmonic mean": lambda S, at, r: [cp.harmonic_mean(cp.diag(S)) >= 0.95 * r, cp.trace(S) <= 1.1 * np.trace(at)],
    "Huber": lambda S, at, r: [cp.sum(cp.huber(cp.vec(S - at, order="C") / r, 0.3)) <= 1],
}
TAME = np.array([[1.0, 0.3, 0.1], [0.3, 1.2, 0.2], [0.1, 0.2, 0.9]])


ALONG = np.array([1.0, -2.0, 0.5])


@cache
def largest_variance(atom):
    S = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Maximize(ALONG @ S @ ALONG), ATOMS[atom](S, TAME, 1.0)).solve(solver="CLARABEL")


# Deviations of 30 and 33 lie on either side of 32, up to which the unit is one.
@pytest.mark.parametrize("unit", [1e-8, 2e-4, 1e-3, 30.0, 1e3, 3e4, 1e8])
@pytest.mark.parametrize("atom", ATOMS)
def test_what_functions_are_compiled_to_has_the_unit_of_the_data(atom, unit):
    """The worst variance of one's own set, by CVXPY alone in the unit in which all is of the size of one."""
    a, largest = ALONG, largest_variance(atom)

    class Own(CovarianceSet):
        def membership(self, S):
            return ATOMS[atom](S, self.center, self.radius)

    own = Own(unit**2).centred(cn.Moments(unit * np.array([4.0, 5.0, -6.0]), unit**2 * TAME))
    assert evaluate_deviation(own, a) == pytest.approx(unit * np.sqrt(largest), rel=1e-6)
    assert adversary(own, a).value == pytest.approx(unit * np.sqrt(largest), rel=1e-6)


@pytest.mark.parametrize("p", [1.5, 3.0])
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_cones_of_powers_in_every_unit(p, unit):
    """Diagonal balls by their membership, against Hölder's inequality."""
    a, q = np.array([1.0, -2.0, 0.5]), p / (p - 1)
    ball = DiagonalBall(p, 0.3 * unit**2).centred(cn.Moments(np.ones(3), unit**2 * TAME))
    right = unit * np.sqrt(a @ TAME @ a + 0.3 * np.sum((a * a) ** q) ** (1 / q))
    assert evaluate_deviation(ball, a, "derived") == pytest.approx(right, rel=1e-6)
    assert adversary(ball, a).value == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1e-3, 1.0, 1e3, 1e8, 1e12])
def test_a_budget_of_variances_in_every_unit(unit):
    """The largest steps by sorting, and a method in which the budget was lost in large units."""
    a, widths = np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.5, 1.0])
    moments = cn.Moments(unit * np.array([4.0, 5.0, -6.0]), unit**2 * TAME)
    steps = np.sort(0.3 * widths * a * a)[::-1]
    right = unit * np.sqrt(a @ TAME @ a + steps[0] + 0.5 * steps[1])
    in_the_radius, in_the_widths = (
        DiagonalBudget(1.5, 0.3 * unit**2, widths),
        DiagonalBudget(1.5, 0.3, unit**2 * widths),
    )
    for given in (in_the_radius, in_the_widths):
        assert evaluate_deviation(given.centred(moments), a) == pytest.approx(right, rel=1e-8)
    plain = cn.single_class_mpm(cn.Moments(moments.mean / unit, TAME), 0.7, DiagonalBudget(1.5, 0.3, widths)).solve()
    assert cn.single_class_mpm(moments, 0.7, in_the_radius).solve().objective == pytest.approx(
        plain.objective, rel=1e-7
    )


@pytest.mark.parametrize("unit", [1e-9, 3e-8, 1e-4, 1e4, 1e8])
def test_a_gauge_by_a_convex_program_in_every_unit(unit):
    """Steps that the nominal factor carries, measured by NumPy in its coordinates."""
    other = 1.1 * TAME + 0.05
    inverse = np.linalg.inv(np.linalg.cholesky(TAME))
    size = np.linalg.norm(inverse @ (other - TAME) @ inverse.T)
    ball = SubspaceBall("nominal", 0.3).centred(cn.Moments(unit * np.ones(3), unit**2 * TAME))
    assert gauge(ball, unit**2 * other) == pytest.approx(size, rel=1e-6)
    assert gauge(ball, worst_member(ball, np.array([1.0, -2.0, 0.5]))) == pytest.approx(0.3, rel=1e-6)


class HeldTrace(CovarianceSet):
    """A ball of covariances with one total variance, which its members have to the last digits."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius, cp.trace(S) == np.trace(self.center)]


@pytest.mark.parametrize("kind", [HeldTrace(0.2), DiagonalBall(2, 0.2), DiagonalBall(3, 0.2), DiagonalBudget(1.5, 0.2)])
def test_a_member_that_equations_hold_to_its_last_digits_has_a_size(kind):
    moments = cn.Moments(np.array([4.0, 5.0, -6.0]), TAME)
    found = adversary(kind.centred(moments), np.array([1.0, -2.0, 0.5])).member
    assert gauge(kind.centred(moments), found) == pytest.approx(0.2, rel=1e-6)
    off = found + 1e-6 * np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert gauge(kind.centred(moments), off) == np.inf


@pytest.mark.parametrize("radius", [1e-10, 1e-4, 1.0, 1e2, 1e4, 1e6, 1e8])
def test_steps_that_are_far_larger_than_the_nominal_variances(radius):
    """Counterparts that are programs, against the formulas of their worst members, at one direction."""
    a, moments = np.array([1.0, -2.0, 0.5]), cn.Moments(np.array([4.0, 5.0, -6.0]), TAME)
    one = DiagonalBudget(1.0, radius, np.ones(3)).centred(moments)
    assert evaluate_deviation(one, a) == pytest.approx(np.sqrt(a @ TAME @ a + radius * 4), rel=1e-8)
    entries = EntrywiseInterval(radius, np.ones((3, 3))).centred(moments)
    assert evaluate_deviation(entries, a) == pytest.approx(
        np.sqrt(a @ TAME @ a + radius * np.abs(a).sum() ** 2), rel=1e-8
    )


TAME_FOUR = 0.7 * np.eye(4) + 0.3

# Memberships of a centre's difference D with squares in them, by the variances v at the centre and the radius r; the first three
# hold each entry, the others the length of D.
SQUARES = {
    "each": lambda D, v, r: [cp.square(D) <= r**2 * np.outer(v, v)],
    "fourth power": lambda D, v, r: [cp.power(D, 4) <= r**4 * np.outer(v, v) ** 2],
    "weighted": lambda D, v, r: [cp.multiply(1 / np.outer(v, v), cp.square(D)) <= r**2],
    "sum": lambda D, v, r: [cp.sum(cp.square(D)) <= (r * v.sum()) ** 2],
    "rows": lambda D, v, r: [cp.sum([cp.sum_squares(D[i]) for i in range(4)]) <= (r * v.sum()) ** 2],
    "beside": lambda D, v, r: [
        cp.maximum(cp.sum_squares(D), 0) <= (r * v.sum()) ** 2,
        cp.square(D[1, 1]) + cp.sum_squares(D[0]) <= 1e8 * v.sum() ** 2,
    ],
}


@pytest.mark.parametrize("radius", [100.0, 1e-3, 1e-5])
@pytest.mark.parametrize("stated", SQUARES)
def test_squares_that_are_bounded_by_numbers_have_the_size_of_their_bounds(stated, radius):
    """Beside columns of units of their own, whatever the unit: the worst cases have closed forms."""

    class Own(CovarianceSet):
        def membership(self, S):
            return SQUARES[stated](S - self.center, np.diag(self.center), self.radius)

    deviations = np.array([0.5, 0.7, 0.2, 200.0])
    for unit in (1e-8, 10**-3.5, 10**-1.5, 1e3):
        S = unit**2 * TAME_FOUR * np.outer(deviations, deviations)
        a, v = np.array([1.0, -2.0, 1.0, 0.5]) / (unit * deviations), np.diag(S)
        added = (np.abs(a) @ np.sqrt(v)) ** 2 if stated in ("each", "fourth power", "weighted") else v.sum() * (a @ a)
        around = Own(radius).centred(cn.Moments(np.zeros(4), S))
        # The centre and a multiple of a rank-one matrix attain it, which is a covariance.
        assert evaluate_deviation(around, a) == pytest.approx(np.sqrt(a @ S @ a + radius * added), rel=1e-6)


def test_bounds_on_squares_follow_a_radius_without_another_compilation():
    class Own(CovarianceSet):
        def membership(self, S):
            v = np.diag(self.center)
            return [cp.square(S - self.center) <= self.radius**2 * np.outer(v, v)]

    deviations = np.array([0.5, 0.7, 0.2, 200.0]) * 1e-3
    moments = cn.Moments(np.array([3.0, 4.0, -2.0, 5.0]) * deviations, TAME_FOUR * np.outer(deviations, deviations))
    problem = cn.single_class_mpm(moments, 0.6, Own(0.1))
    for radius in (0.1, 0.15, 0.05):
        right = cn.single_class_mpm(moments, 0.6, EntrywiseInterval(radius)).solve().objective
        assert problem.set(radius=radius).solve().objective == pytest.approx(right, rel=1e-6)
    assert problem.compilations == 1


SCALES = np.array([500.0, 7e-3, 2e-3, 0.3])


class Cubes(MeanSet):
    """Cubes of steps in deviations: by Hölder's inequality its support is the norm of order 3/2."""

    def membership(self, m):
        return [cp.sum(cp.power(cp.abs(cp.multiply(m - self.center, 1 / SCALES)), 3)) <= self.radius]


class Huber(MeanSet):
    """Steps of at most one deviation, where Huber's function is the square."""

    def membership(self, m):
        return [cp.sum(cp.huber(cp.multiply(m - self.center, 1 / SCALES), 1.0)) <= self.radius]


class Quartic(PointSet):
    def membership(self, u):
        return [cp.norm(cp.square(cp.multiply(u, 1 / SCALES))) <= self.radius]


@pytest.mark.parametrize("radius", [0.02, 0.9])
@pytest.mark.parametrize("seed", range(2))
def test_means_and_points_in_columns_with_units_of_their_own(radius, seed):
    d = np.random.default_rng(seed).standard_normal(4)
    w, center = d / SCALES, np.array([900.0, 0.06, 4e-3, 1.0])
    moments = cn.Moments(center, np.diag(SCALES**2))

    def of_order(p):
        return float((np.abs(d) ** p).sum() ** (1 / p))

    for around, truth in (
        (Cubes(radius).centred(moments), radius ** (1 / 3) * of_order(1.5)),
        (Huber(radius).centred(moments), radius**0.5 * of_order(2)),
        (Quartic(radius).centred(np.zeros(4)), radius**0.5 * of_order(4 / 3)),
    ):
        at = w @ np.asarray(around.center)
        assert evaluate_support(around, w) - at == pytest.approx(truth, rel=1e-7)
        found = adversary(around, w)
        assert found.value - at == pytest.approx(truth, rel=1e-5)
        assert w @ found.member == pytest.approx(found.value, rel=1e-9)


def test_a_radius_moves_such_a_set_without_another_compilation():
    X = np.random.default_rng(5).normal(size=(30, 4)) * SCALES + 4 * SCALES
    made = cn.single_class_mpm(cn.Moments.estimate(X), 0.4, Cubes(0.3))
    made.solve()
    for radius in (0.1, 0.7, 1.3):
        fresh = cn.single_class_mpm(cn.Moments.estimate(X), 0.4, Cubes(radius)).solve()
        assert made.set(radius=radius).solve().objective == pytest.approx(fresh.objective, rel=1e-7)
    assert made.compilations == 1


class Factors(MeanSet):
    """Means that factors move, by a function of the factors: further variables say what a member is."""

    function = staticmethod(lambda z: cp.sum(cp.huber(z, 1.0)))
    scales = np.ones(4)

    def membership(self, m):
        z = cp.Variable(4)
        return [m == self.center + cp.multiply(self.scales, z), self.function(z) <= self.radius]


FUNCTIONS = {
    "huber": lambda z: cp.sum(cp.huber(z, 1.0)),
    "cubes": lambda z: cp.sum(cp.power(cp.abs(z), 3)),
    "exponentials": lambda z: cp.sum(cp.exp(z) - 1 - z),
    "powers": lambda z: cp.sum(cp.power(cp.abs(z), 1.5)),
}


@pytest.mark.parametrize(("far", "wide"), [(1.0, 1.0), (1e3, 0.0), (1e3, 1.0)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_means_that_further_variables_move_far_from_the_origin(name, wide, far):
    d, z = np.array([1.0, -0.5, 0.3, -1.2]), cp.Variable(4)
    kind = type("Moved", (Factors,), {"function": staticmethod(FUNCTIONS[name]), "scales": SCALES**wide})
    moments = cn.Moments(far * kind.scales * np.arange(1, 5), np.diag(kind.scales**2))
    a = d / kind.scales
    for radius in (0.05, 5.0):
        truth = cp.Problem(cp.Maximize(d @ z), [FUNCTIONS[name](z) <= radius]).solve(
            solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10
        )
        around = kind(radius).centred(moments)
        assert evaluate_support(around, a) - a @ moments.mean == pytest.approx(truth, rel=2e-6)
        assert adversary(around, a).value - a @ moments.mean == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("wide", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("further", [False, True])
def test_covariances_in_columns_that_differ_by_little_and_by_much(wide, further):
    """Huber's function of correlations, where it is the square: the closed form of a Frobenius ball of correlations."""
    s = SCALES[:3] ** wide
    correlations = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])
    d, unit = np.array([1.0, -0.5, 0.8]), np.outer(s, s)

    class Own(CovarianceSet):
        def membership(self, S):
            if not further:
                return [cp.sum(cp.huber(cp.multiply(S - self.center, 1 / unit), 1.0)) <= self.radius]
            z = cp.Variable((3, 3), symmetric=True)
            return [S == self.center + cp.multiply(unit, z), cp.sum(cp.huber(z, 1.0)) <= self.radius]

    moments = cn.Moments(np.zeros(3), correlations * unit)
    for radius in (1e-5, 1e-4, 0.1):
        truth = np.sqrt(d @ correlations @ d + np.sqrt(radius) * d @ d)
        assert evaluate_deviation(Own(radius).centred(moments), d / s) == pytest.approx(truth, rel=2e-6)


def test_a_membership_by_a_support_function_or_a_cone_is_measured_in_silence():
    """The polar of the cross-polytope is the box, and a cone with a constant bound a ball."""
    w = np.array([1.0, -2.0, 0.7])

    class Polar(PointSet):
        def membership(self, u):
            x = cp.Variable(3)
            return [cp.suppfunc(x, [cp.norm1(x) <= 1])(u) <= self.radius]

    class Cone(PointSet):
        def membership(self, u):
            return [cp.SOC(cp.Constant(self.radius), u)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate_support(Polar(1.0).centred(np.zeros(3)), w) == pytest.approx(np.abs(w).sum(), rel=1e-8)
        assert evaluate_support(Cone(1.0).centred(np.zeros(3)), w) == pytest.approx(np.linalg.norm(w), rel=1e-8)


@pytest.mark.parametrize("radius", [5.0, 9.64, 20.0, 80.0])
@pytest.mark.parametrize("digits", [1, 4])
def test_a_multiple_that_is_much_larger_than_a_short_column_is_bounded(radius, digits):
    """Beside a column of deviation 0.05 the ball of half the largest variance was taken for one that holds a ray."""
    d = np.array([8.954, 7.039, 0.051, 0.21])
    correlations = np.eye(4)
    correlations[np.triu_indices(4, 1)] = np.round([0.3660, -0.5719, -0.4169, -0.1228, 0.1549, -0.3085], digits)
    C = np.triu(correlations, 1) + np.triu(correlations, 1).T + np.eye(4)
    moments = cn.Moments([37.62, -30.56, -0.01, -1.03], C * np.outer(d, d))
    assert np.linalg.eigvalsh(C)[0] > 0.01
    twice = cn.single_class_mpm(moments, 0.3, 2 * FrobeniusBall(radius)).solve()
    closed = cn.single_class_mpm(moments, 0.3, FrobeniusBall(2 * radius)).solve()
    assert twice.objective == pytest.approx(closed.objective, rel=1e-6)
