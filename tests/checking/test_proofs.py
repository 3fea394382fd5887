"""What a proof is made of, piece by piece: radii that are as large as the errors and no larger, and cones at their edge."""

from __future__ import annotations

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from convexnovelty.checking import balls, certificate, enclosure, repair
from convexnovelty.checking.balls import Ball, in_cones, is_positive_semidefinite, product, solution_of
from convexnovelty.checking.certificate import (
    Certificate,
    block_residuals,
    proves_infeasible,
    proves_unbounded,
    size_of,
)
from convexnovelty.checking.enclosure import Enclosure, dual_bound, primal_bound, room_of
from convexnovelty.checking.repair import distinct_rows, repaired
from convexnovelty.cones import Cones, svec
from convexnovelty.conic import ConicProgram

U = 2.0**-53


def ball(mid, rad):
    return Ball(np.asarray(mid, dtype=float), np.asarray(rad, dtype=float))


# -- balls ---------------------------------------------------------------------------------------------------------------


def test_radii_of_sums_and_products_are_those_of_the_formulas():
    """Each term of each radius decides in turn: the inputs' radii, their product, and the rounding of the midpoint."""
    for a, r, b, s in [(3.0, 0.25, -5.0, 0.5), (3.0, 0.0, -5.0, 0.5), (3.0, 0.25, 0.0, 2.0), (0.0, 1.0, 0.0, 4.0)]:
        x, y = ball([a], [r]), ball([b], [s])
        for found, mid in ((x + y, a + b), (x - y, a - b)):
            assert found.mid[0] == mid and r + s <= found.rad[0] <= (r + s) * (1 + 1e-8) + 1e-15
        found, rad = x * y, abs(a) * s + r * abs(b) + r * s
        assert found.mid[0] == a * b and rad <= found.rad[0] <= rad * (1 + 1e-8) + 2e-15
    third = Ball.exact([1 / 3])
    for found in (third + third + third, third * third, third - Ball.exact([7.0])):
        assert U * abs(found.mid[0]) <= found.rad[0] <= 2.1 * U * abs(found.mid[0])
    assert ((-x).mid, (-x).rad) == (-x.mid, x.rad)
    assert Ball.exact([1e-200]) * Ball.exact([1e-200]) != 0.0 and (Ball.exact([1e-200]) * Ball.exact([1e-200])).rad > 0
    some = ball([1.0, 2.0, 3.0], [0.1, 0.2, 0.3])[1:]
    assert (some.mid.tolist(), some.rad.tolist()) == ([2.0, 3.0], [0.2, 0.3])
    edge = ball([1.0], [0.5])
    assert edge.lower[0] == math.nextafter(0.5, 0) and edge.upper[0] == math.nextafter(1.5, 2)
    assert ball([3.0, -4.0], [0.0, 0.0]).norm_upper() == pytest.approx(5.0, rel=1e-13) and edge.norm_upper() >= 1.5
    assert ball([0.0, -4.0], [3.0, 0.0]).norm_upper() == pytest.approx(5.0, rel=1e-13)
    both = ball([1.0, 2.0], [0.1, 0.0]).dot(ball([3.0, 4.0], [0.0, 0.5]))
    assert both.mid == 11.0 and both.rad == pytest.approx(0.1 * 3 + 2 * 0.5, rel=1e-8)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_radii_of_matrix_products(make):
    A = np.array([[1.0, -2.0, 0.0], [0.0, 0.5, 0.0]])
    found = product(make(A), ball([1.0, 2.0, 3.0], [0.1, 0.2, 0.7]))
    assert found.mid.tolist() == [-3.0, 1.0]
    np.testing.assert_allclose(found.rad, [0.1 + 0.4, 0.1], rtol=1e-8)
    # What rounding may add: twice (n + 2) u of the sizes of the terms, n being the longest row.
    longest = 2 if make is sp.csr_array else 3
    exact = product(make(A), Ball.exact([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(exact.rad, 2 * (longest + 2) * U * np.array([5.0, 1.0]), rtol=1e-8)
    if make is np.array:
        known = product(A, ball([1.0, -2.0, 3.0], [0.5, 0.0, 0.0]), np.array([[0.1, 0.0, 0.2], [0.0, 0.0, 0.3]]))
        np.testing.assert_allclose(known.rad, [0.5 + 0.1 * 1.5 + 0.2 * 3, 0.3 * 3], rtol=1e-8)


def test_semidefinite_up_to_the_radius():
    """Eigenvalues 1 to 5 with every entry off by r: r times the order is the most that an eigenvalue can lose."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    M = Q @ np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) @ Q.T
    for rad, expected in ((0.0, True), (0.05, True), (0.1, True), (0.21, False), (1.0, False), (math.inf, False)):
        assert is_positive_semidefinite(ball(M, np.full((5, 5), rad))) is expected
    # The distance to the boundary is told to a few units of the last place of the trace.
    for shift, expected in ((1e-12, True), (1e-14, True), (-1e-14, False)):
        middle = Q @ np.diag([shift, 2.0, 3.0, 4.0, 5.0]) @ Q.T
        exact = np.diag([shift, 2.0, 3.0, 4.0, 5.0])
        assert is_positive_semidefinite(Ball.exact((middle + middle.T) / 2)) is expected or abs(shift) < 1e-13
        assert is_positive_semidefinite(Ball.exact(exact)) is (expected and shift > 1e-13)
    # One entry of a pair is off: the middle of the two is what the eigenvalues are of.
    askew = np.array([[1.0, 0.9], [1.05, 1.0]])
    assert not is_positive_semidefinite(Ball.exact(askew)) and is_positive_semidefinite(
        Ball.exact(askew * [[2, 1], [1, 2]])
    )
    assert is_positive_semidefinite(Ball.exact(np.zeros((0, 0))))
    for value, rad, expected in ((1.0, 0.5, True), (0.5, 0.75, False), (-1.0, 0.0, False)):
        assert is_positive_semidefinite(ball([[value]], [[rad]])) is expected
    assert not is_positive_semidefinite(Ball.exact([[1.0, 2.0], [2.0, 1.0]]))


def test_solutions_of_systems_hold_what_their_right_hand_side_may_be():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    exact = solution_of(M, Ball.exact([3.0, 4.0]))
    assert exact.mid == pytest.approx([1.0, 1.0], abs=1e-14) and exact.rad.max() < 1e-13
    wide = solution_of(sp.csr_array(M), ball([3.0, 4.0], [0.5, 0.0]))
    # The inverse is [[3, -1], [-1, 2]] / 5.
    np.testing.assert_allclose(wide.rad, [0.3, 0.1], rtol=1e-6)
    started = solution_of(M, Ball.exact([3.0, 4.0]), np.array([1e3, -1e3]))
    assert started.mid == pytest.approx([1.0, 1.0], abs=1e-12) and started.rad.max() < 1e-9
    assert solution_of(np.array([[1.0, np.inf], [0.0, 1.0]]), Ball.exact([1.0, 1.0])) is None
    assert solution_of(np.zeros((0, 0)), Ball.exact([])).mid.size == 0
    hilbert = scipy.linalg.hilbert(7)
    found = solution_of(hilbert, Ball.exact(np.ones(7)))
    truth = [int(v) for v in scipy.linalg.invhilbert(7, exact=True).sum(axis=1)]
    assert found.mid == pytest.approx(truth, rel=1e-6), "the matrix is the rounded one, whose solution is near"


KINDS = {
    "nonnegative": (Cones(nonnegative=2), [1.0, 2.0], 1.0),
    "second_order": (Cones(second_order=(3,)), [7.0, 3.0, 4.0], 1.0),
    "semidefinite": (Cones(semidefinite=(2,)), svec(np.diag([1.0, 3.0])), 0.6),
    "exponential": (Cones(exponential=1), [0.0, 1.0, 2.0], 0.4),
    "power": (Cones(power=((0.5, 0.5),)), [4.0, 1.0, 1.0], 0.5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_ball_lies_in_a_cone_if_all_of_it_does(kind):
    """The middle is inside by about the given distance, and beyond twice it no proof is possible."""
    cones, middle, room = KINDS[kind]
    size = len(middle)
    for factor, inside in ((0.0, True), (0.3, True), (2.0, False)):
        assert (in_cones(cones, ball(middle, np.full(size, factor * room))) == "") is inside, factor
    for bad in (np.nan, np.inf):
        assert in_cones(cones, ball(middle, np.full(size, bad))) != ""
        assert in_cones(cones, ball(np.full(size, bad), np.zeros(size))) != ""
    assert in_cones(cones, ball(np.zeros(size), np.zeros(size)), dual=True) == ""
    only = np.zeros(size)
    only[-1] = 1e-9
    assert (in_cones(cones, ball(np.zeros(size), only)) == "") is False


def test_cones_are_looked_through_one_by_one():
    cones = Cones(zero=1, nonnegative=1, second_order=(1, 2))
    good = [0.0, 1.0, 2.0, 3.0, 1.0]
    assert in_cones(cones, Ball.exact(good)) == ""
    for place, value, told in [
        (0, 1e-300, "zero cone in rows 0 to 0"),
        (1, -1e-300, "nonnegative cone in rows 1 to 1"),
        (2, -1.0, "second_order cone in rows 2 to 2"),
        (4, 4.0, "second_order cone in rows 3 to 4"),
    ]:
        values = np.array(good)
        values[place] = value
        assert in_cones(cones, Ball.exact(values)) == told
        assert in_cones(cones, Ball.exact(values), dual=True) == ("" if place == 0 else told)
    assert in_cones(cones, ball(good, [1e-300, 0, 0, 0, 0])) != ""
    assert in_cones(cones, ball(good, [0, 1.0, 2.0, 0, 0])) == "", (
        "a number that its radius just reaches is not negative"
    )


@pytest.mark.parametrize("exponents", [(0.3, 0.7), (0.2, 0.3, 0.5)])
def test_power_cones_and_their_duals_at_their_edges(exponents):
    rng, weights = np.random.default_rng(1), np.array(exponents)
    cones = Cones(power=(exponents,))
    for _ in range(5):
        heads = rng.uniform(0.1, 4.0, weights.size)
        for dual in (False, True):
            edge = math.prod(((heads / weights) if dual else heads) ** weights)
            for sign in (-1, 1):
                for factor, inside in ((1 - 1e-12, True), (1 + 1e-12, False)):
                    told = in_cones(cones, Ball.exact([*heads, sign * factor * edge]), dual=dual)
                    assert (told == "") is inside
        assert in_cones(cones, Ball.exact([*-heads, 0.0])) != ""


def test_exponential_cones_and_their_duals_at_their_edges():
    cones, rng = Cones(exponential=1), np.random.default_rng(2)
    for _ in range(5):
        x, y = rng.standard_normal(), rng.uniform(0.3, 2.0)
        edge, u = y * math.exp(x / y), -y
        dual_edge = -u * math.exp(x / u) / math.e
        for factor, inside in ((1 + 1e-12, True), (1 - 1e-12, False)):
            assert (in_cones(cones, Ball.exact([x, y, factor * edge])) == "") is inside
            assert (in_cones(cones, Ball.exact([u, x, factor * dual_edge]), dual=True) == "") is inside
        assert (
            in_cones(cones, Ball.exact([x, -y, edge])) != ""
            and in_cones(cones, Ball.exact([y, x, 9.0]), dual=True) != ""
        )


# -- intervals -----------------------------------------------------------------------------------------------------------


def test_what_an_interval_knows_of_itself():
    found = Enclosure(1.0, 4.0)
    assert (found.width, Enclosure(-4.0, -2.0).width, Enclosure(0.0, 0.0).width) == (0.75, 0.5, 0.0)
    assert Enclosure().width == Enclosure(1.0).width == Enclosure(-math.inf, 3.0).width == math.inf
    assert found.proved and not Enclosure(lower=1.0).proved and not Enclosure().proved
    assert Enclosure(infeasible=True).proved and Enclosure(unbounded=True).proved
    assert [found.contains(v) for v in (0.9, 1.0, 2.0, 4.0, 4.1)] == [False, True, True, True, False]
    assert [found.contains(v, 0.5) for v in (0.4, 0.5, 4.5, 4.6)] == [False, True, True, False]
    assert [found.distance(v) for v in (0.5, 1.0, 3.0, 4.0, 6.0)] == [0.5, 0.0, 0.0, 0.0, 2.0]
    for factor in (0.1, -0.1, 3.0, -7.0):
        for offset in (0.0, 0.3, -1e-3):
            moved = Enclosure(0.1, 0.7).scaled(factor, offset)
            ends = sorted(Fraction(factor) * Fraction(end) + Fraction(offset) for end in (0.1, 0.7))
            assert Fraction(moved.lower) <= ends[0] and ends[1] <= Fraction(moved.upper)
            assert moved.width == pytest.approx(float((ends[1] - ends[0]) / max(map(abs, ends))), rel=1e-12)
    half = Enclosure(-math.inf, 2.0, remark="so")
    assert (half.scaled(-2.0).lower, half.scaled(-2.0).upper) == (pytest.approx(-4.0), math.inf)
    assert half.scaled(2.0).remark == "so" and half.scaled(2.0).lower == -math.inf


def test_interiors_lie_well_inside_of_each_cone_and_of_its_dual():
    cones = Cones(zero=2, nonnegative=3, second_order=(1, 4), semidefinite=(2, 3), exponential=1, power=((0.2, 0.8),))
    first, second = enclosure._interiors(cones)
    assert not first[:2].any() and not second[:2].any()
    small = np.where(np.arange(cones.size) < 2, 0.0, 0.05)
    assert in_cones(cones, ball(first, small)) == "" and in_cones(cones, ball(second, small), dual=True) == ""
    assert in_cones(cones, ball(first, 20 * small)) != ""


def test_complementary_rows_by_hand():
    """Slack against multiplier: the smaller is taken for zero; cones as a whole, with a factor of a thousand."""
    cones = Cones(zero=1, nonnegative=3, second_order=(2, 2, 2))
    slack = np.array([0.0, 1e-9, 2.0, 1.0, 1e-4, 0.0, 1.0, 0.0, 1.0, 0.0])
    z = np.array([5.0, 3.0, 1e-9, 1.0, 1.0, 0.0, 1e-4, 0.0, 1e-2, 0.0])
    program = ConicProgram(np.zeros(1), sp.csr_array((10, 1)), slack, cones)
    held, zero = enclosure._complementary(program, np.zeros(1), z)
    assert held.tolist() == [False, True, False, False, True, True, False, False, False, False]
    assert zero.tolist() == [False, False, True, True, False, False, True, True, False, False]


def test_the_callers_point_is_tried_as_a_vertex_and_as_it_is():
    program = lp([1, 2], [[1, 1], [-1, 0], [0, -1]], [3, 0, 0], zero=1)
    x, z = np.array([3.0, 0.0]), np.array([-1.0, 0.0, 1.0])
    vertex, plain = enclosure._given(program, x, z)
    assert vertex.held.tolist() == [False, False, True] and vertex.zero.tolist() == [False, True, False]
    assert not plain.held.any() and not plain.zero.any()
    assert vertex.x is plain.x is x and vertex.z is plain.z is z
    assert not list(enclosure._given(program, None, z)) and not list(enclosure._given(program, x, None))
    # A vertex that is handed in proves its value, whatever else is tried.
    found = enclosure._search(program, [vertex], 0.0, Enclosure(), kept := [])
    assert found.contains(3.0) and found.width < 1e-14 and found.remark == "" and kept == [vertex]
    outside = enclosure._Candidate(np.array([9.0, -6.0]), z, plain.held, plain.zero)
    lost = enclosure._search(program, [outside], 0.0, Enclosure(), [])
    assert lost.upper == math.inf and lost.remark.startswith("upper: no point") and "lower" not in lost.remark
    known = enclosure._search(program, [outside], 0.0, Enclosure(-1.0, 3.5), [])
    assert known.upper == 3.5 and known.lower == pytest.approx(3.0)
    wrong = enclosure._Candidate(np.array([np.nan, 0.0]), z, plain.held, plain.zero)
    assert enclosure._search(program, [wrong], 0.0, Enclosure(), kept := []).width == math.inf and not kept


def test_room_is_measured_in_every_cone():
    cones = Cones(nonnegative=1, semidefinite=(2,), exponential=1)
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    room = room_of(cones, np.array([-3.0, *svec(matrix), 1.0, 2.0, -50.0]))
    assert room == pytest.approx([0.0, 1.0, 1.0, 1.0, 5e-7, 5e-7, 5e-7])
    assert room_of(Cones(semidefinite=(2,)), svec(np.array([[1.0, 2.0], [2.0, 1.0]]))).tolist() == [0.0, 0.0, 0.0]


def lp(c, A, b, zero=0, P=None, offset=0.0):
    cones = Cones(zero=zero, nonnegative=len(b) - zero)
    P = None if P is None else sp.csr_array(np.array(P, dtype=float))
    return ConicProgram(
        np.array(c, float), sp.csr_array(np.array(A, float)), np.array(b, float), cones, P=P, offset=offset
    )


def test_bounds_from_single_points_by_hand():
    """min x + 2y + 10 over x + y = 3, x >= 0, y >= 0: 13 at (3, 0), with the multipliers -1 and (0, 1)."""
    program = lp([1, 2], [[1, 1], [-1, 0], [0, -1]], [3, 0, 0], zero=1, offset=10.0)
    assert primal_bound(program, np.array([3.0, 0.0]), np.array([False, False, True]))[0] == pytest.approx(
        13.0, abs=1e-12
    )
    assert primal_bound(program, np.array([2.0, 1.0]))[0] == pytest.approx(14.0, abs=1e-12)
    assert primal_bound(program, np.array([2.0, 0.7]))[0] == pytest.approx(14.15, abs=0.5)
    outside, reason = primal_bound(program, np.array([5.0, -2.0]))
    assert outside == math.inf and "nonnegative cone" in reason
    x, z = np.zeros(2), np.array([-1.0, 0.0, 1.0])
    assert dual_bound(program, x, z, np.array([False, True, False]))[0] == pytest.approx(13.0, abs=1e-12)
    assert dual_bound(program, x, np.array([0.0, 1.0, 2.0]))[0] == pytest.approx(10.0, abs=1e-12)
    assert dual_bound(program, x, np.array([-2.0, -1.0, 0.0]))[0] == -math.inf
    lower = dual_bound(
        program, x, np.array([-1.0, 0.0, 0.5]), np.array([False, True, False]), shift=np.array([0, 0, 0.5])
    )
    assert lower[0] == pytest.approx(13.0, abs=1e-12)
    wrong = lp([1, 2], [[1, 1], [1, 1]], [3, 4], zero=2)
    assert primal_bound(wrong, np.array([1.0, 2.0])) == (math.inf, "the equations could not be solved with proof")


def test_bounds_with_curvature_by_hand():
    """min x^2 + 2y^2 - 2x over y >= 1: 1 at (1, 1), the multiplier being 4; at (1, 2) the value is 7."""
    program = lp([-2, 0], [[0, -1]], [-1], P=[[2, 0], [0, 4]])
    assert primal_bound(program, np.array([1.0, 2.0]))[0] == pytest.approx(7.0, abs=1e-12)
    assert primal_bound(program, np.array([1.0, 1.0]), np.array([True]))[0] == pytest.approx(1.0, abs=1e-12)
    assert dual_bound(program, np.array([1.0, 1.0]), np.array([4.0]))[0] == pytest.approx(1.0, abs=1e-12)
    # With the multiplier 8 the point below is y = 2: -1 - 8 + 8 = -1.
    assert dual_bound(program, np.array([1.0, 2.0]), np.array([8.0]), None)[0] == pytest.approx(-1.0, abs=1e-9)
    assert enclosure._dual_value(program, np.array([1.0, 1.0]), np.array([4.0])) == pytest.approx(1.0)
    concave = lp([0, 0], [[0, -1]], [-1], P=[[2, 0], [0, -4]])
    assert dual_bound(concave, np.zeros(2), np.array([-4.0]))[0] == -math.inf


def test_bounds_that_rows_state_on_single_variables():
    """2x = 3; y <= 4 and -y <= 1 and y <= 5; x + y <= 1 and a row of nothing say nothing of one variable."""
    A = [[2, 0], [0, 1], [0, -1], [0, 2], [1, 1], [0, 0]]
    low, high = enclosure._bounds(lp([0, 0], A, [3, 4, 1, 10, 1, 1], zero=1))
    assert (low, high) == (pytest.approx([1.5, -1.0]), pytest.approx([1.5, 4.0]))
    assert low[0] < 1.5 < high[0] and low[1] < -1 and high[1] > 4, "rounded outwards"
    low, high = enclosure._bounds(lp([0, 0], [[-2, 0], [0, -1]], [3, 1], zero=1))
    assert (low[0], high[0], low[1], high[1]) == (
        pytest.approx(-1.5),
        pytest.approx(-1.5),
        pytest.approx(-1.0),
        math.inf,
    )


def test_the_defect_of_a_rounded_gram_matrix_by_hand():
    def defect(P, b=(1.0, 1.0, 1.0, 1.0)):
        program = lp([0, 0], [[1, 0], [0, 1], [-1, 0], [0, -1]], list(b), P=P)
        return enclosure._curvature_defect(program, Ball.exact(np.zeros(2)))

    assert defect([[1, 0], [0, 2]]) == defect([[2, 1], [1, 2]]) == 0.0
    assert defect([[1, 0], [0, -1]]) == defect([[1, 2], [2, 1]]) == defect([[1, 1], [0, 1]]) == math.inf
    # Rank one: a multiple of eps times the trace, over a box whose corners are at distance sqrt(2) and 2 sqrt(2).
    eps = np.finfo(float).eps
    one, two = defect([[1, 1], [1, 1]]), defect([[1, 1], [1, 1]], (2.0, 2.0, 2.0, 2.0))
    assert one in [pytest.approx(0.5 * factor * eps * 2 * 2) for factor in (1, 4, 16, 256)]
    assert two == pytest.approx(4 * one, rel=1e-6)
    assert defect([[1, 1], [1, 1]], (1.0, 1.0, 3.0, 1.0)) == pytest.approx(5 * one, rel=1e-6)


def test_rows_without_room_are_found():
    """x <= 1 and -x <= -1 pin x; y may vary. The multipliers of rows that never bind are zero."""
    A, b = [[1, 0], [-1, 0], [0, 1], [0, -1]], [1, -1, 2, 0]
    assert enclosure._pinned(lp([1, 1], A, b)).tolist() == [True, True, False, False]
    assert enclosure._pinned(lp([1, 1], [[1, 0], *A[2:]], [1, 2, 0], zero=1)).tolist() == [False, False, False]
    assert not enclosure._pinned(lp([1, 0], [[1, 0]], [1], zero=1)).any()
    # min x over x >= 0 and y <= 1: the multiplier of y's row has to be zero, the other one has to be one.
    program = lp([1, 0], [[-1, 0], [0, 1]], [0, 1])
    assert enclosure._pinned_multipliers(program).tolist() == [False, True]
    candidates = list(enclosure._pinned_inside(lp([1, 1], A, b)))
    assert candidates and all(c.held.tolist() == [True, True, False, False] for c in candidates)
    assert all(c.x[0] == pytest.approx(1.0, abs=1e-4) for c in candidates)
    assert not list(enclosure._pinned_inside(lp([1, 1], A, [1, 0, 2, 0])))


# -- exact points ---------------------------------------------------------------------------------------------------------


def test_distinct_rows_are_those_that_say_something_new():
    A = sp.csr_array(np.array([[0, 0], [1, 2], [-1, -2], [1, 2], [2, 4], [0, 0], [0, -3.0]]))
    assert distinct_rows(A, np.array([0.0, 1, -1, 2, 2, 5, 0])).tolist() == [1, 3, 4, 5, 6]
    stored = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    assert distinct_rows(stored, np.zeros(2)).tolist() == [1], "a stored zero is none"


def test_scales_are_powers_of_two_that_bring_rows_and_columns_to_one():
    rng = np.random.default_rng(3)
    system = rng.standard_normal((4, 4)) * 10.0 ** rng.integers(-6, 6, (4, 1)) * 10.0 ** rng.integers(-6, 6, 4)
    rows, columns = repair._scales(system)
    for scale in (rows, columns):
        assert np.log2(scale).tolist() == np.round(np.log2(scale)).tolist()
    scaled = np.abs(rows[:, None] * system * columns)
    assert ((scaled.max(axis=0) >= 0.7) & (scaled.max(axis=0) <= 1.5)).all()
    assert repair._scales(np.array([[0.0, 0.0], [0.0, 8.0]]))[0].tolist() == [1.0, 0.125]


def test_entries_that_one_equation_alone_has_take_up_its_error():
    """x + s = 1 and x + y + t = 2 with room for s and little for t; 2u = 3 with a sign."""
    E = sp.csr_array(np.array([[1.0, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 0, 0, -2]]))
    near = np.array([0.25, 1.0, 0.7, 0.8, -1.4])
    found = repaired(E, Ball.exact([1.0, 2.0, 3.0]), near, np.array([0.0, 0.0, 10.0, 10.0, 10.0]))
    assert found.mid == pytest.approx([0.25, 1.0, 0.75, 0.75, -1.5]) and found.rad.max() < 1e-14
    columns = sp.csc_array(E)
    single, rows = repair._singles(columns, np.array([0.05, 0.05, 0.2]), np.array([1.0, 1, 60, 40, 101]))
    assert (single.tolist(), rows.tolist()) == ([2, 4], [0, 2])
    # Of two in the same equation the one with more room is taken.
    both = sp.csc_array(np.array([[1.0, 4.0]]))
    assert repair._singles(both, np.zeros(1), np.array([3.0, 1.0]))[0].tolist() == [1]
    assert repair._singles(both, np.zeros(1), np.array([5.0, 1.0]))[0].tolist() == [0]
    quotient = repair._quotient(ball([1.0, -3.0], [0.5, 0.0]), np.array([-4.0, 3.0]))
    assert quotient.mid.tolist() == [-0.25, -1.0]
    assert quotient.rad == pytest.approx([0.125, 8 * U], rel=1e-8)


def test_columns_with_the_most_room_are_solved_for():
    part = sp.csr_array(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]))
    none = np.zeros(0, dtype=int)
    assert sorted(repair._basis(part, none, np.array([1.0, 5.0, 3.0]), np.zeros(3))) == [1, 2]
    assert sorted(repair._basis(part, none, np.array([9.0, 5.0, 0.0]), np.zeros(3))) == [0, 1]
    assert sorted(repair._basis(part, none, np.array([np.inf, 5.0, 3.0]), np.array([50.0, 0, 0]))) != [1, 2]
    assert repair._basis(part, np.array([1]), np.array([1.0, 5.0, 0.0]), np.zeros(3)) is None
    assert repair._basis(sp.csr_array((1, 3)), none, np.ones(3), np.zeros(3)) is None


# -- certificates ----------------------------------------------------------------------------------------------------------


def test_residuals_of_each_cone_by_hand():
    cones = Cones(zero=1, nonnegative=1, second_order=(2,))
    program = ConicProgram(np.zeros(1), sp.csr_array((4, 1)), np.array([3.0, -2.0, 0.0, 5.0]), cones)
    z = np.array([1.0, -4.0, 0.0, 2.0])
    found = block_residuals(program, np.zeros(1), z)
    assert [(b.kind, b.first, b.size) for b in found] == [("zero", 0, 1), ("nonnegative", 1, 1), ("second_order", 2, 2)]
    assert [b.cone for b in found] == pytest.approx([3.0, 2.0, 5.0])
    assert [b.dual_cone for b in found] == pytest.approx([0.0, 4.0, 2.0])
    assert [b.complementarity for b in found] == pytest.approx([3.0, 8.0, 10.0])
    assert found[1].relative == pytest.approx({"cone": 2 / 3, "dual_cone": 4 / 5, "complementarity": 8 / 15})
    assert found[0].relative == pytest.approx({"cone": 3 / 4, "dual_cone": 0.0, "complementarity": 3 / 8})


def test_errors_are_relative_to_the_larger_end_or_to_a_millionth_of_the_unit():
    assert size_of(Enclosure(-3.0, 2.0), 1.0) == 3.0 and size_of(Enclosure(1.0, 2.0), -1.0) == 2.0
    assert size_of(Enclosure(0.0, 0.0), -1e3) == pytest.approx(1e-3) and size_of(Enclosure(1e-9, 1e-9), 0.1) == 1e-7
    program = lp([1], [[-1]], [-1])
    assert Certificate(Enclosure(1.0, 2.0), program, objective=3.0).error == 0.5
    assert math.isnan(Certificate(Enclosure(1.0, 2.0), program).error)
    assert math.isnan(Certificate(Enclosure(1.0), program, objective=3.0).error)


def test_infeasibility_is_proved_by_a_multiplier_and_by_nothing_less():
    """x >= 1 and x <= 0: the multiplier (1, 1) separates, in any unit; x <= 2 leaves a point."""
    for unit in (1e-12, 1.0, 1e12):
        z = unit * np.array([1.0, 1.0 + 1e-13])
        assert proves_infeasible(lp([0], [[-1], [1]], [-1, 0]), z)
        assert not proves_infeasible(lp([0], [[-1], [1]], [-1, 2]), z)
        assert not proves_infeasible(lp([0], [[-1], [1]], [-1, 1]), z), "zero is not below zero"
        assert not proves_infeasible(lp([0], [[-1], [1]], [-1, 0]), -z), "outside of the dual cone"
    assert not proves_infeasible(lp([0], [[-1], [1]], [-1, 0]), np.array([np.inf, 1.0]))
    noisy = np.array([1.0, 1.0, 1e-12])
    assert proves_infeasible(lp([0, 0], [[-1, 0], [1, 0], [0, 1]], [-1, 0, 1]), noisy), "noise is taken to be zero"
    cone = ConicProgram(
        np.zeros(1), sp.csr_array(np.array([[-1.0], [1.0], [0.0], [1.0]])), np.array([-1.0, 0, 0, 0]),
        Cones(nonnegative=2, second_order=(2,)),
    )  # fmt: skip
    assert proves_infeasible(cone, np.array([1.0, 1.0, 1e-12, 1e-12]))


def test_unboundedness_is_proved_by_a_direction_and_by_nothing_less():
    """min -x - y over x = y, x >= 0: along (1, 1); with curvature along it, or a bound, or a cost, never."""
    rows, direction = [[1, -1], [-1, 0]], np.array([1.0, 1.0])
    for unit in (1e-12, 1.0, 1e12):
        assert proves_unbounded(lp([-1, -1], rows, [0, 0], zero=1), unit * direction)
        assert not proves_unbounded(lp([1, -1], rows, [0, 0], zero=1), unit * direction)
        assert not proves_unbounded(lp([-1, -1], [[1, -1], [1, 0]], [0, 3], zero=1), unit * direction)
        assert not proves_unbounded(lp([-1, -1], rows, [0, 0], zero=1, P=[[1, 1], [1, 1]]), unit * direction)
        assert proves_unbounded(lp([-1, -1], rows, [0, 0], zero=1, P=[[1, -1], [-1, 1]]), unit * direction)
        assert not proves_unbounded(lp([-1, -1], rows, [0, 0], zero=1), -unit * direction)
    assert not proves_unbounded(lp([-1, -1], rows, [0, 0], zero=1), np.zeros(2))
    assert not proves_unbounded(lp([-1, -1], rows, [0, 0], zero=1), np.array([np.nan, 1.0]))


def test_a_certificate_speaks_in_the_units_and_the_sense_of_the_user():
    x = cp.Variable()
    for objective, unit, optimum in ((cp.Minimize(2 * x), 1.0, 2.0), (cp.Maximize(-2 * x), -3.0, -6.0)):
        program = ConicProgram.from_problem(cp.Problem(objective, [x >= 1]))
        found = certificate.certify_program(program, unit, "CLARABEL")
        assert found.enclosure.contains(optimum, 1e-9) and found.objective == pytest.approx(optimum, rel=1e-6)
        assert found.error < 1e-7 and found.status == "optimal" and found.solver == "CLARABEL"
    plain = certificate.certify_program(program)
    assert (
        plain.residuals is None
        and plain.blocks == ()
        and plain.objective is None
        and plain.status == plain.solver == ""
    )
    assert balls.UNIT == U


def test_an_entry_with_too_little_room_does_not_take_up_an_error():
    """x + s = 1 and x + y = 2: s may move by a thousandth and the first equation is off by 0.05, so that x moves."""
    E = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    near, right = np.array([0.25, 0.7, 1.0]), Ball.exact([1.0, 2.0])
    found = repaired(E, right, near, np.array([np.inf, 1e-3, np.inf]))
    assert found.mid == pytest.approx([0.3, 0.7, 1.7]) and found.mid[1] == 0.7
    assert repaired(E, right, near, np.array([np.inf, 1e3, np.inf])).mid == pytest.approx([0.25, 0.75, 1.75])
