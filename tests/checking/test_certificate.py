"""Certificates: ball arithmetic holds rounding errors, repaired points are exact, intervals hold the optimum."""

from __future__ import annotations

from fractions import Fraction
from operator import mul

import cvxpy as cp
import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.checking import enclosure
from convexnovelty.checking.balls import Ball, in_cones, is_positive_semidefinite, product, solution_of
from convexnovelty.checking.certificate import certify, certify_program, proves_infeasible, proves_unbounded
from convexnovelty.checking.enclosure import Enclosure, dual_bound, enclose, primal_bound
from convexnovelty.checking.mirror import Mirror
from convexnovelty.checking.repair import independent_rows, repaired
from convexnovelty.cones import Cones, svec
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import InputError
from convexnovelty.uncertainty import FrobeniusBall


def _exact(values):
    return [Fraction(float(v)) for v in np.ravel(values)]


def _holds(ball, values):
    """Whether rational numbers lie in a ball, entry by entry, in exact arithmetic."""
    mids, rads = _exact(ball.mid), _exact(ball.rad)
    return all(abs(v - m) <= r for v, m, r in zip(values, mids, rads, strict=True))


# -- ball arithmetic -------------------------------------------------------------------------------------------------


def test_products_and_sums_hold_the_exact_values(rng):
    for scale in (1.0, 1e-12, 1e12):
        A = rng.standard_normal((7, 40)) * 10.0 ** rng.integers(-9, 9, (7, 40))
        x = scale * rng.standard_normal(40)
        truth = [sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, x, strict=True)) for row in A]
        assert _holds(product(A, Ball.exact(x)), truth)
        assert _holds(product(sp.csr_array(A), Ball.exact(x)), truth)
        both = Ball.exact(x) + Ball.exact(A[0])
        assert _holds(both, [a + b for a, b in zip(_exact(x), _exact(A[0]), strict=True)])
        assert _holds(Ball.exact(x) * Ball.exact(A[1]), [a * b for a, b in zip(_exact(x), _exact(A[1]), strict=True)])


def test_a_ball_without_its_rounding_errors_would_be_wrong(rng):
    A, x = rng.standard_normal((1, 60)), rng.standard_normal(60)
    truth = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(A[0], x, strict=True))
    ball = product(A, Ball.exact(x))
    assert _holds(ball, [truth])
    assert not _holds(Ball(ball.mid, np.zeros(1)), [truth]), "the rounded product is not the exact one"


def test_the_solution_of_a_system_is_held_exactly(rng):
    M, g = rng.integers(-9, 9, (5, 5)).astype(float), rng.integers(-9, 9, 5).astype(float)
    ball = solution_of(M, Ball.exact(g))
    with mpmath.workdps(60):
        exact = mpmath.lu_solve(mpmath.matrix(M.tolist()), mpmath.matrix(g.tolist()))
        for i in range(5):
            assert abs(exact[i] - mpmath.mpf(float(ball.mid[i]))) <= mpmath.mpf(float(ball.rad[i]))
    assert np.max(ball.rad) < 1e-10
    assert solution_of(np.ones((2, 2)), Ball.exact(np.ones(2))) is None, "a singular system proves nothing"


def test_semidefinite_is_proved_only_of_semidefinite_matrices(rng):
    F = rng.standard_normal((6, 6))
    M = F @ F.T
    assert is_positive_semidefinite(Ball.exact(M + 1e-9 * np.eye(6)))
    low = np.linalg.eigvalsh(M)[0]
    assert not is_positive_semidefinite(Ball.exact(M - (low + 1e-9) * np.eye(6)))
    assert not is_positive_semidefinite(Ball(M, np.full((6, 6), low)))
    assert not is_positive_semidefinite(Ball.exact(np.array([[1.0, np.nan], [np.nan, 1.0]])))


CONES = {
    "nonnegative": (Cones(nonnegative=2), [1.0, 1e-300], [1.0, -1e-300]),
    "second_order": (Cones(second_order=(3,)), [5.0 + 1e-13, 3.0, 4.0], [5.0 - 1e-13, 3.0, 4.0]),
    "semidefinite": (
        Cones(semidefinite=(2,)),
        svec(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])),
        svec(np.array([[1.0, 1.0], [1.0, 1.0 - 1e-12]])),
    ),
    "exponential": (Cones(exponential=1), [1.0, 1.0, np.e + 1e-14], [1.0, 1.0, np.e - 1e-14]),
    "power": (Cones(power=((0.25, 0.75),)), [16.0, 1.0, 2.0 - 1e-14], [16.0, 1.0, 2.0 + 1e-14]),
}


@pytest.mark.parametrize("kind", CONES)
def test_cones_tell_inside_from_outside_by_a_hair(kind):
    cones, inside, outside = CONES[kind]
    assert in_cones(cones, Ball.exact(np.array(inside))) == ""
    assert kind in in_cones(cones, Ball.exact(np.array(outside)))
    assert in_cones(cones, Ball.exact(np.zeros(cones.size))) == ""


def test_dual_cones_are_the_duals(rng):
    exponential = Cones(exponential=1)
    assert in_cones(exponential, Ball.exact(np.array([-1.0, -1.0, 1.0 + 1e-14])), dual=True)[:0] == ""
    edge = np.array([-1.0, 1.0, 1.0])  # -u exp(w/u) = exp(-1) <= e t
    assert in_cones(exponential, Ball.exact(edge), dual=True) == ""
    assert in_cones(exponential, Ball.exact(np.array([-1.0, 1.0, 0.1353])), dual=True) != ""  # e^-2 = 0.13534
    assert in_cones(exponential, Ball.exact(np.array([-1.0, 1.0, 0.1354])), dual=True) == ""
    power = Cones(power=((0.3, 0.7),))
    corner = np.array([0.3, 0.7, 1.0])
    assert in_cones(power, Ball.exact(corner * np.array([1, 1, 1 - 1e-12])), dual=True) == ""
    assert in_cones(power, Ball.exact(corner * np.array([1, 1, 1 + 1e-12])), dual=True) != ""


def test_repaired_points_solve_their_equations_exactly(rng):
    E = sp.csr_array(np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, -1.0, 3.0]]))
    g = np.array([1.0, -0.1])
    near = np.array([0.3, 0.3, 0.4, 0.0]) + 1e-6 * rng.standard_normal(4)
    near[3] = 0.0
    ball = repaired(E, Ball.exact(g), near, np.array([1.0, 1.0, 1.0, 0.0]))
    assert ball.mid[3] == ball.rad[3] == 0.0, "an entry without room stays"
    left = product(E, ball) - Ball.exact(g)
    assert np.all(np.abs(left.mid) <= left.rad)
    assert np.max(np.abs(ball.mid - near)) < 1e-5
    assert np.max(ball.rad) < 1e-12


# -- intervals -------------------------------------------------------------------------------------------------------


def _program(problem):
    return ConicProgram.from_problem(problem)


def _problems(rng):
    """One problem of each class with its optimum to 30 digits."""
    x, t, S = cp.Variable(3), cp.Variable(), cp.Variable((3, 3), symmetric=True)
    third = mpmath.mpf(1) / 3
    with mpmath.workdps(40):
        yield "LP", cp.Problem(cp.Minimize(x[0]), [3 * x[0] >= 1, x[1:] == 0]), third
        yield "QP", cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) == 1]), third
        yield "SOCP", cp.Problem(cp.Minimize(t), [cp.norm(x) <= t, cp.sum(x) == 1]), 1 / mpmath.sqrt(3)
        yield "SDP", cp.Problem(cp.Maximize(S[0, 1]), [S >> 0, cp.trace(S) == 1]), mpmath.mpf("0.5")
        yield "EXP", cp.Problem(cp.Minimize(t), [cp.exp(x[0]) <= t, x[0] == 1, x[1:] == 0]), mpmath.e
        yield "POW", cp.Problem(cp.Minimize(t), [cp.PowCone3D(t, 1.0, x[0], 0.25), x[0] == 3, x[1:] == 0]), 81


def test_intervals_hold_the_closed_form_and_are_narrow(rng):
    for kind, problem, truth in _problems(rng):
        sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        found = enclose(_program(problem)).scaled(sign)
        with mpmath.workdps(40):
            assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper), (kind, found)
        assert found.width < 1e-7, (kind, found)
        assert found.moved == 0.0, (kind, found)


def test_any_candidate_only_makes_the_interval_wider(rng):
    problem = cp.Problem(cp.Minimize(cp.norm(x := cp.Variable(4))), [rng.standard_normal((2, 4)) @ x == [1.0, 2.0]])
    problem.solve(solver="CLARABEL")
    program = _program(problem)
    for _ in range(5):
        noise = 10.0 ** rng.integers(-8, 1)
        x, z = noise * rng.standard_normal(program.c.size), noise * rng.standard_normal(program.b.size)
        upper, _ = primal_bound(program, x)
        lower, _ = dual_bound(program, x, z)
        assert lower <= problem.value + 1e-8
        assert upper >= problem.value - 1e-8
        assert enclose(program, x, z).contains(problem.value, 1e-8)


def test_b22_agreement_of_solvers_proves_nothing_an_interval_does():
    # Three solvers agree on 3.125e-12 for this problem in small units, where the optimum is 1.125e-12.
    K = np.outer(x := 1e-6 * np.arange(1.0, 5.0), x)
    a = cp.Variable(4)
    raw = cp.Problem(cp.Minimize(0.5 * cp.quad_form(a, cp.psd_wrap(K))), [a >= 0, a <= 0.5, cp.sum(a) == 1])
    found = enclose(_program(raw))
    assert found.lower <= 1.125e-12 <= found.upper < 2e-12
    problem = cn.one_class_svm(cn.LinearFeatures(1e-6 * np.arange(1.0, 5.0)[:, None]), 0.5)
    certificate = certify(problem, "CLARABEL")
    assert certificate.enclosure.width < 1e-7
    assert certificate.enclosure.contains(1.125e-12, 1e-26)
    assert certificate.error < 1e-8


def test_a_perturbed_point_is_told_by_its_own_residuals():
    problem = cn.single_class_mpm(cn.Moments([3.0, 4.0], np.eye(2)), 0.5, FrobeniusBall(0.1))
    program = _program(problem.problem)
    mirror = Mirror(program)
    answer = mirror.solve("CLARABEL", {})
    good = certify(problem, candidate=(answer.x, answer.z))
    assert good.residuals.worst < 1e-7
    assert [block.kind for block in good.blocks] == [block.kind for block in program.blocks]
    bad = certify(problem, candidate=(answer.x * 1.001, answer.z))
    assert bad.residuals.worst > 1e-5
    assert bad.enclosure.width < 1e-6, "the interval does not depend on the candidate"
    assert bad.error > 1e-5


def test_a_gram_matrix_with_an_eigenvalue_below_zero_is_not_called_convex():
    a = cp.Variable(2)
    wrong = cp.Problem(
        cp.Minimize(0.5 * cp.quad_form(a, cp.psd_wrap(np.array([[1.0, 2.0], [2.0, 1.0]])))), [a >= 0, cp.sum(a) == 1]
    )
    found = enclose(_program(wrong))  # case B26: the minimum is 1/2 at a vertex, 3/4 is a maximum
    assert not found.lower > 0.5


def test_numbers_that_have_no_exact_solution_say_so():
    # Thirty times the double 1/30 is more than one by a rounding error: only moved numbers have a solution.
    n = 49
    a = cp.Variable(n)
    assert Fraction(1.0 / n) * n != 1
    program = _program(cp.Problem(cp.Minimize(np.arange(1.0, n + 1) @ a), [a >= 0, a <= 1.0 / n, cp.sum(a) == 1]))
    found = enclose(program)
    assert found.contains((n + 1) / 2, 1e-9)
    assert found.width < 1e-9
    assert found.moved > 0 or Fraction(1.0 / n) * n > 1


def test_infeasible_and_unbounded_are_proved(rng):
    x = cp.Variable(2)
    empty = cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= 1, x[0] + x[1] >= 1.5])
    assert certify_program(_program(empty)).enclosure.infeasible
    ray = cp.Problem(cp.Minimize(x[0] - x[1]), [x >= 0])
    assert certify_program(_program(ray)).enclosure.unbounded
    fine = _program(cp.Problem(cp.Minimize(x[0]), [x >= 1]))
    assert not proves_infeasible(fine, np.array([1.0, 1.0]))
    assert not proves_infeasible(fine, np.zeros(2))
    assert not proves_unbounded(fine, np.array([-1.0, 0.0]))


def test_a_multiplier_with_entries_below_zero_proves_that_nothing_is_feasible():
    """Multipliers of equations and of matrices have entries of both signs, and all of them count."""
    rng = np.random.default_rng(3)
    root = rng.standard_normal((4, 4))
    S = cp.Variable((4, 4), symmetric=True)
    matrices = cp.Problem(cp.Minimize(S[0, 0]), [S >> 0, cp.trace(root @ root.T @ S) <= -1])  # S = 0 is the least
    E, y, x = rng.standard_normal((3, 4)), np.array([1.0, -2.0, 0.5]), cp.Variable(4)
    E += np.outer(y, np.maximum(-y @ E, 0.0) + 0.1) / (y @ y)  # y'E > 0, so that y'Ex = -1 has no x >= 0
    equations = cp.Problem(cp.Minimize(x[0]), [x >= 0, E @ x == -y / (y @ y)])
    for problem in (matrices, equations):
        assert certify_program(_program(problem)).enclosure.infeasible


def test_b23_past_the_edge_of_feasibility_is_proved():
    edge = cn.single_class_mpm(cn.Moments([3.0, 4.0], np.eye(2)), 0.5)
    for confidence, infeasible in ((0.96, False), (0.97, True)):
        kappa = (confidence / (1 - confidence)) ** 0.5
        y, u = cp.Variable(2), cp.Variable()
        problem = cp.Problem(cp.Minimize(u), [cp.norm(y) <= u, 3 * y[0] + 4 * y[1] - 1 >= kappa * u])
        found = certify_program(_program(problem)).enclosure
        assert found.infeasible == infeasible
        if not infeasible:
            with mpmath.workdps(40):
                truth = 1 / (5 - mpmath.mpf(kappa))
                assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
    assert edge.solve().objective == pytest.approx(1 / 4)


def test_an_interval_scales_outwards():
    found = Enclosure(1.0, 2.0).scaled(-3.0, 0.5)
    assert (found.lower, found.upper) == pytest.approx((-5.5, -2.5))
    assert found.lower <= -5.5
    assert found.upper >= -2.5
    assert Enclosure(-np.inf, 1.0).scaled(-1.0).upper == np.inf
    assert Enclosure(1.0, 2.0).distance(2.5) == 0.5
    assert np.isnan(Enclosure(1.0, 2.0).distance(np.nan))


def test_integers_are_refused():
    features = cn.LinearFeatures(np.array([[0.5], [2.0], [4.0]]))
    with pytest.raises(InputError, match="integer variables"):
        certify(cn.exact_outliers(features, outliers=1))


def test_blends_lie_on_the_segment_between_the_two_points():
    rng = np.random.default_rng(5)
    none = np.zeros(3, dtype=bool)
    near, far = (enclosure._Candidate(rng.standard_normal(4), rng.standard_normal(3), none, none) for _ in range(2))
    shares = []
    for blend in enclosure._blends([near, far]):
        for point, start, end in ((blend.x, near.x, far.x), (blend.z, near.z, far.z)):
            share = (point - start) @ (end - start) / ((end - start) @ (end - start))
            assert 0.0 < share < 1.0
            assert point == pytest.approx((1 - share) * start + share * end, abs=1e-14)
            shares.append(share)
    assert len(shares) == 2 * len(enclosure.BLENDS) and min(shares) < 1e-5


@pytest.mark.parametrize("order", [4, 9, 13, 14])
def test_a_solution_is_proved_where_the_inverse_is_near_enough_in_exact_arithmetic(order):
    """Pascal's matrices are integer with determinant one: the solution is known, and so is how far RM is from I."""
    matrix, right = scipy.linalg.pascal(order).astype(float), np.eye(order)[0]
    inverse = [[Fraction(x) for x in row] for row in np.linalg.inv(matrix).tolist()]
    columns = [[Fraction(x) for x in column] for column in matrix.T.tolist()]
    defect = max(
        sum(abs((i == j) - sum(map(mul, row, column))) for j, column in enumerate(columns))
        for i, row in enumerate(inverse)
    )
    found = solution_of(matrix, Ball.exact(right))
    if defect > Fraction(1, 10):
        assert found is None
    elif defect < Fraction(1, 1000):
        exact = [int(value) for value in scipy.linalg.invpascal(order, exact=True)[:, 0]]
        assert all(abs(Fraction(m) - e) <= Fraction(r) for m, r, e in zip(found.mid, found.rad, exact, strict=True))
    assert (order < 13) == (defect < Fraction(1, 1000))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_numbers_are_moved_by_no_more_than_is_said(unit):
    """Relative to the largest number of the row or the column, whatever the units of the rows."""
    x = cp.Variable(2)
    rows = unit * np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -1.0]])
    program = ConicProgram.from_problem(cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [rows @ x <= unit, x >= -3]))
    moved, _, move = enclosure._moved(program, 1e-6)
    A, slack = abs(program.A.toarray()), 1.0 + 1e-9  # the differences themselves are rounded
    assert np.all(np.abs(moved.b - program.b) <= slack * move * np.maximum(A.max(axis=1), np.abs(program.b)))
    assert np.all(np.abs(moved.c - program.c) <= slack * move * np.maximum(A.max(axis=0), np.abs(program.c)))
    assert 1e-6 <= move < 1e-5


def test_equations_of_entries_that_cannot_move_hold_or_nothing_is_proved():
    """x held at 1 does not solve x = 0; held at 0 it does, and the equation beside it is solved for y alone."""
    zero = Ball.exact(np.zeros(1))
    assert repaired(sp.csr_array([[1.0]]), zero, np.ones(1), np.zeros(1)) is None
    both = Ball.exact(np.array([0.0, 3.0]))
    found = repaired(sp.csr_array([[1.0, 0.0], [1.0, 2.0]]), both, np.array([0.0, 1.4]), np.array([0.0, np.inf]))
    assert found is not None and found.mid.tolist() == [0.0, 1.5]


def test_room_in_a_cone_is_the_way_to_its_boundary():
    """(5, 3, 4) is on the boundary of its cone, (5, 0, 3) two away from it; 0.25 and -1 in the orthant."""
    cones = Cones(zero=1, nonnegative=2, second_order=(3, 3))
    values = np.array([7.0, 0.25, -1.0, 5.0, 3.0, 4.0, 5.0, 0.0, 3.0])
    assert enclosure.room_of(cones, values).tolist() == [np.inf, 0.25, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0]


def test_a_quadratic_part_that_is_not_diagonal_is_enclosed():
    """x'Px/2 - x_1 - x_2 with P = [[2, 1], [1, 2]] is least at (1/3, 1/3), with -1/3; and a rounded Gram matrix of rank one."""
    P, x = np.array([[2.0, 1.0], [1.0, 2.0]]), cp.Variable(2)
    program = ConicProgram.from_problem(cp.Problem(cp.Minimize(cp.quad_form(x, P) / 2 - cp.sum(x)), [x >= 0, x <= 1]))
    found = enclose(program)
    assert found.contains(-1 / 3) and found.width < 1e-7
    b = np.array([0.1, 0.7, -0.3])
    gram, y = np.outer(b, b) * 3.0, cp.Variable(3)
    rank_one = cp.Problem(cp.Minimize(cp.quad_form(y, cp.psd_wrap(gram)) / 2 - y[0]), [y >= -1, y <= 1])
    found = enclose(ConicProgram.from_problem(rank_one))
    # y_1 = 1 costs most; the other two bring b'y to zero, so that the value is -1.
    assert found.contains(-1.0, 1e-12) and found.width < 1e-6


def test_rows_that_are_independent():
    """None of none; the first ones always; of three multiples of two rows, two."""
    assert independent_rows(sp.csr_array((0, 3)), 0).size == 0
    rows = sp.csr_array(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0]]))
    assert independent_rows(rows, 0).size == 2
    assert independent_rows(rows, 2).tolist() == [0, 1, 2]


def test_candidates_that_are_no_numbers_are_measured_and_prove_nothing():
    formulation = cn.one_class_svm(cn.LinearFeatures(np.random.default_rng(0).normal(3.0, 1.0, (6, 2))), 0.5)
    truth = certify(formulation).enclosure
    program = certify(formulation).program
    x, z = np.full(program.c.size, np.nan), np.full(program.b.size, np.nan)
    for told in ({"candidate": (x, z)}, {"solver": lambda program, options: cn.testing.Answer("optimal", x, z)}):
        found = certify(formulation, **told)
        assert found.enclosure == truth
        assert not np.isfinite(found.residuals.worst) and not np.isfinite(found.error)
        assert len(found.blocks) == len(program.blocks)
    for candidate, words in (
        (
            (np.ones(3), np.ones(2)),
            r"candidate x: an array of shape \(3,\) .* give 6 real numbers, one for each of the",
        ),
        ((x * 1j, z), "candidate x: .* complex128 was found"),
        ((x, z[:-1]), r"candidate z: .* give 13 real numbers, one for each of the program's rows"),
        (np.ones(3), "candidate: ndarray was found; give a pair of 6 numbers, the point, and 13"),
    ):
        with pytest.raises(InputError, match=words):
            certify(formulation, candidate=candidate)


def test_a_program_without_constraints_is_judged_too():
    x = cp.Variable(2)
    for last, unbounded in ((1 - 1e-9, True), (2.0, False)):
        curvature = cp.psd_wrap(np.array([[1.0, 1.0], [1.0, last]]))
        problem = cp.Problem(cp.Minimize(cp.quad_form(x, curvature) + (0 if unbounded else x[0])))
        found = certify_program(ConicProgram.from_problem(problem)).enclosure
        if unbounded:
            assert found.lower == -np.inf
        else:
            # The least value of x'Px + x_1 is -(P^-1)_11 / 4, and P^-1 has 2 there.
            assert found.contains(-0.5) and found.width < 1e-8
