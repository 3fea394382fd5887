"""Compiled programs: residuals by our own arithmetic, duals, scaling, cones; held against Clarabel and SCS."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import direct, solvers
from convexnovelty.attempts import DOUBTFUL
from convexnovelty.canonical import Canonical
from convexnovelty.cones import Cones, smat, svec, svec_map
from convexnovelty.conic import Boost, ConicProgram, Residuals
from convexnovelty.direct import attempts, minimum
from convexnovelty.facial import applied, faces
from convexnovelty.in_scale import InScale


def problems() -> dict[str, cp.Problem]:
    """One problem for each class, signed data, with the right-hand sides that make every multiplier matter."""
    rng = np.random.default_rng(0)
    x, A, c = cp.Variable(4), rng.standard_normal((6, 4)), rng.standard_normal(4)
    X, C = cp.Variable((3, 3), symmetric=True), rng.standard_normal((3, 3))
    return {
        "LP": cp.Problem(cp.Minimize(c @ x + 3), [cp.norm(x, 1) <= 1, A @ x <= 1]),
        "QP": cp.Problem(cp.Maximize(5 - cp.sum_squares(A @ x - 1) - x[0]), [x >= 0.1, cp.sum(x) == 1]),
        "QCQP": cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + 1), [cp.sum_squares(A @ x) <= 1]),
        "SOCP": cp.Problem(cp.Minimize(cp.norm(A @ x - 2) + 0.5 * cp.norm(x - c)), [cp.norm(x) <= 1]),
        "SDP": cp.Problem(
            cp.Minimize(cp.trace((C + C.T) @ X)), [X >> 0, cp.trace(X) == 1, cp.norm(X - np.eye(3) / 3, "nuc") <= 0.5]
        ),
        "EXP": cp.Problem(cp.Maximize(cp.sum(cp.entr(x))), [cp.sum(x) == 1, x[0] >= 0.5]),
        "POW": cp.Problem(
            cp.Minimize(cp.pnorm(x - np.array([1, 2, -3, 4]), 3, approx=False)),
            [cp.sum(x) == 1, cp.log_sum_exp(x) <= 2],
        ),
        "POW in four dimensions": cp.Problem(
            cp.Maximize(cp.geo_mean(x, [0.2, 0.3, 0.4, 0.1], approx=False)), [x[0] + 2 * x[1] + x[2] + x[3] <= 1]
        ),
    }


CASES = [pytest.param(problem, id=name) for name, problem in problems().items()]


def sign(problem: cp.Problem) -> float:
    return 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0


@pytest.mark.parametrize("problem", CASES)
def test_the_arrays_have_the_value_of_the_problem_with_its_constant(problem):
    program = ConicProgram.from_problem(problem)
    solution = program.solve()
    assert solution.status == "Solved"
    assert sign(problem) * program.objective(solution.x) == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-6)


@pytest.mark.parametrize("problem", CASES)
def test_the_dual_problem_has_the_same_value_on_two_solvers(problem):
    value = problem.solve(solver="CLARABEL")
    dual, variables = ConicProgram.from_problem(problem).dual_problem()
    assert dual.is_dcp()
    assert set(variables) <= {"x", "z"}
    assert sign(problem) * dual.solve(solver="CLARABEL") == pytest.approx(value, rel=1e-6, abs=1e-7)
    assert sign(problem) * dual.solve(solver="SCS", eps=1e-8) == pytest.approx(value, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("problem", CASES)
def test_residuals_are_small_at_a_solution_and_only_there(problem):
    program = ConicProgram.from_problem(problem)
    solution = program.solve(tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert program.residuals(solution.x, solution.z).worst < 1e-6
    assert program.residuals(solution.x, solution.z, solution.s).worst < 1e-6
    rng = np.random.default_rng(1)
    for x, z in (
        (solution.x + 0.01 * rng.standard_normal(solution.x.size), solution.z),
        (solution.x, solution.z + 0.01 * rng.standard_normal(solution.z.size)),
        (solution.x, -solution.z),
        (solution.x, np.zeros_like(solution.z)),
    ):
        assert program.residuals(x, z).worst > 1e-4


@pytest.mark.parametrize("problem", CASES)
def test_the_error_of_a_value_bounds_it_in_any_unit(problem):
    """Beside points whose slack, multiplier or stationarity is off by a known amount, the value is known to be right."""
    program = ConicProgram.from_problem(problem)
    solution = program.solve(tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    least = program.objective(solution.x)
    assert program.value_error(solution.x, solution.z) <= 1e-6 * (1 + abs(least))
    scaled, scale = program.equilibrated()
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = solution.x + 1e-4 * rng.standard_normal(solution.x.size)
        z = solution.z + 1e-4 * rng.standard_normal(solution.z.size)
        error = program.value_error(x, z)
        assert abs(program.objective(x) - least) <= 1.1 * error
        there = scale.objective * scaled.value_error(x / scale.columns, z / scale.rows)
        assert there == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(("raised", "stays"), [("PanicException", False), ("KeyboardInterrupt", True)])
def test_a_panic_of_compiled_code_is_no_point_and_an_interrupt_stays_one(monkeypatch, raised, stays):
    import clarabel

    kind = KeyboardInterrupt if stays else type(raised, (BaseException,), {})

    def fails(*arrays):
        raise kind("Eigval error: Eigen(1)")

    monkeypatch.setattr(clarabel, "DefaultSolver", fails)
    program = ConicProgram.from_problem(problems()["LP"])
    if stays:
        with pytest.raises(KeyboardInterrupt):
            program.solve()
        return
    found = program.solve()
    assert found.status == "Panicked" and np.isnan(found.x).all() and found.z.shape == program.b.shape
    assert minimum(program) is None


@pytest.mark.parametrize(("noise", "accepted"), [(1e-8, True), (1e-4, False)])
def test_a_minimum_counts_if_its_residuals_change_little_of_the_value(monkeypatch, noise, accepted):
    """A column of large entries whose multipliers cancel: small residuals in scale are large ones as it was posed."""
    x, y = cp.Variable(), cp.Variable()
    posed = cp.Problem(cp.Minimize(x), [x + 1e7 * y >= 3, x - 1e7 * y >= 3])
    program = ConicProgram.from_problem(posed)

    def rough(asked, tolerances):
        solution = asked.solve()
        pull = noise * np.random.default_rng(3).standard_normal(solution.z.size)
        yield type(solution)("Solved", solution.x, solution.z + pull, solution.s)

    monkeypatch.setattr(direct, "attempts", rough)
    found = minimum(program)
    assert found == pytest.approx(3.0, rel=1e-5) if accepted else found is None


@pytest.mark.parametrize("problem", CASES)
def test_a_point_of_scs_is_read_in_its_own_order(problem):
    try:
        data, chain, _ = problem.get_problem_data("SCS")
    except cp.SolverError:
        pytest.skip("SCS does not know this cone")
    raw = chain.solve_via_data(problem, data, solver_opts={"eps": 1e-8, "max_iters": 50_000})
    program = ConicProgram.from_data(data, "SCS")
    assert program.residuals(np.array(raw["x"]), program.from_solver_order(np.array(raw["y"]), "SCS")).worst < 1e-6


@pytest.mark.parametrize("problem", CASES)
@pytest.mark.parametrize("unit", [1.0, 1e-7, 1e9])
def test_equilibration_is_undone_by_its_scales(problem, unit):
    plain = ConicProgram.from_problem(problem)
    if plain.P is not None and unit != 1:
        pytest.skip("a quadratic objective does not scale with its right-hand side")
    program = ConicProgram(plain.c, plain.A, unit * plain.b, plain.cones, plain.P)
    scaled, scale = program.equilibrated()
    assert abs(scaled.A).max() <= 1.0 + 1e-2
    solution = scaled.solve()
    if solution.status == "Solved":
        x, z = scale.columns * solution.x, scale.rows * solution.z
        s = program.b - program.A @ x
        assert np.linalg.norm(program.cones.violations(s)) <= 1e-5 * (1e-12 + np.abs(program.b).max())
        stationary = (0 if program.P is None else program.P @ x) + program.A.T @ z + program.c
        assert np.linalg.norm(stationary) <= 1e-5 * (1 + np.linalg.norm(program.c))
        assert scaled.objective(solution.x) * scale.objective == pytest.approx(program.objective(x), rel=1e-6, abs=1e-9)


def test_a_program_knows_its_cones():
    kinds = {name: ConicProgram.from_problem(problem).cones for name, problem in problems().items()}
    assert kinds["SDP"].semidefinite and not kinds["SOCP"].semidefinite
    assert kinds["EXP"].exponential == 4
    assert kinds["POW in four dimensions"].power == ((0.2, 0.3, 0.4, 0.1),)
    assert kinds["LP"].second_order == ()


# -- cones -----------------------------------------------------------------------------------------------------------


def test_svec_keeps_inner_products_and_comes_back():
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, 5, 5))
    A, B = A + A.T, B + B.T
    assert svec(A) @ svec(B) == pytest.approx(np.trace(A @ B))
    assert np.allclose(smat(svec(A), 5), A)
    assert np.allclose((svec_map(5) @ svec(A)).reshape(5, 5, order="F"), A)


MEMBERS = [
    (Cones(nonnegative=2), [1.0, 0.0], [1.0, -0.3], 0.3),
    (Cones(zero=2), [0.0, 0.0], [3.0, 4.0], 5.0),
    (Cones(second_order=(3,)), [5.0, 3.0, -4.0], [4.0, 3.0, -4.0], 1.0),
    (Cones(semidefinite=(2,)), list(svec(np.array([[1.0, 1.0], [1.0, 1.0]]))), list(svec(np.diag([1.0, -2.0]))), 2.0),
    (Cones(exponential=1), [1.0, 2.0, 2 * math.exp(0.5)], [1.0, 2.0, 2 * math.exp(0.5) - 1e-3], 1e-3),
    (Cones(power=((0.3, 0.7),)), [1.0, 1.0, -1.0], [1.0, 1.0, 1.001], 1e-3),
]


@pytest.mark.parametrize("cones, inside, outside, distance", MEMBERS)
def test_distances_vanish_on_the_cone_and_bound_the_distance_outside(cones, inside, outside, distance):
    assert np.linalg.norm(cones.violations(np.array(inside))) == pytest.approx(0.0, abs=1e-12)
    measured = float(np.linalg.norm(cones.violations(np.array(outside))))
    v = cp.Variable(len(outside))
    nearest = cp.Problem(cp.Minimize(cp.norm(v - np.array(outside))), cones.constraints(v)).solve(solver="CLARABEL")
    assert nearest - 1e-7 <= measured <= distance + 1e-12


@pytest.mark.parametrize("cones", [case[0] for case in MEMBERS] + [Cones(power=((0.2, 0.5, 0.3),))])
def test_the_dual_cone_is_the_polar_of_the_cone(cones):
    """Random members of both have products that are not negative, and points off the dual have a bad partner."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        u, v = cp.Variable(cones.size), cp.Variable(cones.size)
        t, w = rng.standard_normal((2, cones.size))
        cp.Problem(cp.Minimize(cp.norm(u - t)), cones.constraints(u)).solve(solver="CLARABEL")
        cp.Problem(cp.Minimize(cp.norm(v - w)), cones.constraints(v, dual=True)).solve(solver="CLARABEL")
        assert u.value @ v.value >= -1e-6
        assert np.linalg.norm(cones.violations(u.value)) < 1e-5
        assert np.linalg.norm(cones.violations(v.value, dual=True)) < 1e-5
        if np.linalg.norm(v.value - w) > 1e-3:
            # Moreau: what projects to v on the dual leaves minus a member of the cone.
            assert np.linalg.norm(cones.violations(v.value - w)) < 1e-3


def test_a_planted_fault_in_the_dual_cone_is_seen():
    """The exponential cone taken for its own dual gives another value: the check above is not idle."""
    problem = problems()["EXP"]
    program = ConicProgram.from_problem(problem)
    z = cp.Variable(program.b.size)
    wrong = cp.Problem(
        cp.Maximize(-(program.b @ z)),
        [
            program.A.T @ z + program.c == 0,
            *Cones(program.cones.zero).constraints(z[: program.cones.zero], dual=True),
            z[program.cones.zero] >= 0,
            *Cones(exponential=program.cones.exponential).constraints(z[program.cones.zero + 1 :]),
        ],
    )
    value = -wrong.solve(solver="CLARABEL")
    assert not value == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-3)


@pytest.mark.parametrize("unit", [1.0, 1e-8])
def test_what_a_value_may_be_off_by_is_seen_in_whatever_unit_its_objective_has(unit):
    x = cp.Variable(2)
    posed = cp.Problem(cp.Minimize(unit * cp.sum(x)), [x[0] >= 1, x[1] >= 2 * x[0]])
    in_scale = InScale(ConicProgram.from_problem(posed))
    solution = in_scale.program.solve()
    assert in_scale.value_error(solution.x + 0.01, solution.z) > 1e-3
    assert in_scale.value_error(np.array([1.0, 2.0]), unit * np.array([3.0, 1.0])) == pytest.approx(0, abs=1e-12)


def _quadratic():
    x, y = cp.Variable(3), cp.Variable()
    held = [cp.sum(x) == 1, x[0] - 2 * x[1] <= y, x >= [-1.0, 0.1, 0.2]]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - [1.0, 0.0, 2.0]) + 3 * y + 7), held)


def _linear():
    x = cp.Variable(3)
    return cp.Problem(cp.Maximize(x[0] + 2 * x[1] + 5), [x <= [3.0, 2.0, 1.0], x[0] + x[1] == x[2], x[1] - x[0] <= 4])


def _cone():
    x, t = cp.Variable(3), cp.Variable()
    return cp.Problem(cp.Minimize(t + x[0]), [cp.norm(x - 1) <= t, cp.sum(x) == 0.5, x[1] >= 0.4])


def _bounded():
    x, u = cp.Variable(3, bounds=[[-1.0, -np.inf, 0.0], [np.inf, 0.25, 2.0]]), cp.Variable(2, nonneg=True)
    held = [cp.sum(x) == 1, x[0] + x[1] >= 0.3 - u[0], x[2] <= u[1] + 0.6]
    return cp.Problem(cp.Minimize(cp.sum_squares(x[:2] - 2) + cp.sum(u) + x[2]), held)


def _box():
    x, y = cp.Variable(3, nonneg=True), cp.Variable(2, bounds=[-1, 2.5])
    held = [cp.sum(x) == 1, x[2] <= 0.4, y[0] + x[0] <= 1.2]
    return cp.Problem(cp.Maximize(0.3 * x[0] - x[1] + cp.sum(y)), held)


def _matrix():
    X = cp.Variable((3, 3), PSD=True)
    weights = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, 1.5]])
    held = [X[0, 1] == 0.3, cp.norm(X[2], 2) <= 3, X[2, 2] >= 1, X[0, 2] + X[1, 2] >= 0.2]
    return cp.Problem(cp.Minimize(cp.trace(weights @ X)), held)


SOLVERS = ("CLARABEL", "SCS", "OSQP", "HIGHS", "SCIPY", "ECOS", "MOREAU", "PIQP", "DAQP", "CVXOPT", "GLPK")
FORMS = (_linear, _box, _quadratic, _bounded, _cone, _matrix)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", FORMS, ids=lambda form: form.__name__[1:])
def test_points_of_every_solver_are_judged_alike(make, solver):
    """All six residuals vanish at their points and multipliers, and a point beside is found, with what it is off by."""
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    problem = make()
    options = dict(solvers.ladder(solver)[0][1])
    try:
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
    except cp.SolverError as error:
        pytest.skip(f"{solver} does not take it: {error}")
    canonical = Canonical.of(data, solver)
    raw = chain.solve_via_data(problem, data, solver_opts=dict(options))
    x, z = canonical.point(raw, chain.solver, inverse[-1])
    least = make().solve("CLARABEL") * (-1 if isinstance(problem.objective, cp.Maximize) else 1)
    judged = canonical.in_scale
    assert canonical.program.objective(x) == pytest.approx(least, rel=1e-6)
    assert judged.residuals(x, z).worst < 1e-6 and judged.value_share(x, z) < DOUBTFUL
    for beside in ((x + 0.1, z), (x, z + 0.1), (x, -z)):
        assert judged.residuals(*beside).worst > 1e-3


@pytest.mark.parametrize("solver", ["HIGHS", "PIQP", "DAQP", "MOREAU", "SCIPY"])
def test_bounds_and_cones_over_variables_are_rows_as_any_other(solver):
    """A point beyond a bound that a solver keeps apart from its rows is as infeasible as one that breaks a row."""
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    problem = _box()
    data, chain, inverse = problem.get_problem_data(solver, solver_opts={})
    canonical = Canonical.of(data, solver)
    assert canonical.program.b.size > canonical.given.b.size
    x, z = canonical.point(chain.solve_via_data(problem, data, solver_opts={}), chain.solver, inverse[-1])
    assert canonical.program.residuals(x, z).absolute["cone"] < 1e-6
    assert canonical.program.residuals(x + 4.0, z).absolute["cone"] > 1.0


def test_integers_and_rows_in_an_order_of_the_solvers_own_are_not_judged_by_rows():
    whole, x = cp.Variable(2, integer=True), cp.Variable(2)
    integers = cp.Problem(cp.Minimize(cp.sum(whole)), [whole >= 0.5])
    assert Canonical.of(integers.get_problem_data("HIGHS")[0], "HIGHS") is None
    if "ECOS" in cp.installed_solvers():
        entropy = cp.Problem(cp.Minimize(cp.log_sum_exp(x)), [x[0] - x[1] == 1])
        assert Canonical.of(entropy.get_problem_data("ECOS")[0], "ECOS") is None


def test_a_bound_that_is_broken_within_a_tolerance_is_charged_though_its_multiplier_is_zero():
    """min x1 + x2 over 1e-7 <= x: a solver that keeps bounds to 1e-6 may stop at 0, without a multiplier."""
    program = ConicProgram(np.ones(2), -sp.csr_array(np.eye(2)), np.full(2, -1e-7), Cones(nonnegative=2))
    judged = InScale(program)
    assert judged.value_error(np.full(2, 1e-7), np.ones(2)) == pytest.approx(0, abs=1e-15)
    # The true multipliers are one; the second says nothing of the row that it breaks.
    assert judged.value_error(np.array([1e-7, 0.0]), np.array([1.0, 0.0])) >= 1e-7


def test_residuals_of_a_model_without_a_canonical_point():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, x[0] + x[1] <= 5])
    problem.solve(solver="HIGHS")
    assert Residuals.of_model(problem).worst < 1e-8
    x.value = np.array([0.5, 1.0])
    assert Residuals.of_model(problem).worst > 0.1


# -- what is said twice, and faces -----------------------------------------------------------------------------------


def test_what_a_program_says_twice_is_said_once():
    v = cp.Variable(6)
    S = cp.reshape(svec_map(3) @ v, (3, 3), order="F")
    problem = cp.Problem(cp.Minimize(np.arange(1.0, 7.0) @ v), [S >> 0, S == np.eye(3), S >> 0, v[0] >= -1, v[0] >= -1])
    program = ConicProgram.from_problem(problem)
    once = program.without_repetition()
    assert program.cones.semidefinite == (3, 3) and once.cones.semidefinite == (3,)
    assert program.cones.zero == 9 and once.cones.zero == 6
    assert once.cones.nonnegative == 1
    assert once.objective(once.solve().x) == pytest.approx(program.objective(program.solve().x), rel=1e-7)


def test_a_cone_without_interior_is_replaced_by_its_face():
    """0 <= S <= vv' leaves multiples of vv': its dual is attained after the reduction, and its value is right."""
    v = cp.Variable(6)
    S = cp.reshape(svec_map(3) @ v, (3, 3), order="F")
    top = np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0])
    program = ConicProgram.from_problem(cp.Problem(cp.Minimize(np.ones(6) @ v), [S >> 0, top - S >> 0]))

    def solved(posed: ConicProgram) -> np.ndarray | None:
        return next((s.x for s in attempts(posed, (1e-10, 1e-8)) if s.status == "Solved"), None)

    inside = solved(ConicProgram(np.zeros(6), program.A, program.b, program.cones))
    found = faces([program], [inside], solved)
    transform, cones = applied(program, found)
    assert cones.semidefinite == (1, 1)
    reduced = ConicProgram(program.c, sp.csr_array(transform @ program.A), transform @ program.b, cones)
    exact = min(0.0, float(np.ones(6) @ svec(top)))
    assert reduced.objective(solved(reduced)) == pytest.approx(exact, abs=1e-7)


def test_a_boost_is_an_automorphism_that_brings_a_point_to_the_axis():
    # The second cone is on its axis already and stays as it is.
    cones = Cones(nonnegative=1, second_order=(3, 2))
    point = np.array([1.0, 1.0 + 1e-8, 1.0 - 1e-8, 1e-6, 2.0, 0.1])
    boost = Boost.to_axes(point, cones, 10.0, 1e12)
    there = boost(point)
    np.testing.assert_allclose(there[[0, 4, 5]], point[[0, 4, 5]])
    assert abs(there[2]) + abs(there[3]) < 1e-3 * there[1]

    def determinant(s):
        return (s[1] - s[2]) * (s[1] + s[2]) - s[3] ** 2

    assert determinant(there) == pytest.approx(determinant(point), rel=1e-6)
    matrix = boost(np.eye(6))
    other = np.linalg.inv(matrix).T  # what the multipliers go through
    rng = np.random.default_rng(0)
    for _ in range(50):
        s, z = rng.standard_normal(6), rng.standard_normal(6)
        s[1], z[1] = np.linalg.norm(s[2:4]) + rng.random(), np.linalg.norm(z[2:4]) + rng.random()
        assert determinant(matrix @ s) >= 0
        assert (other @ z)[1] >= np.linalg.norm((other @ z)[2:4]) * (1 - 1e-6)


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1e-6, 1e3)])
def test_rounding_off_a_diagonal_decides_no_scale(sizes):
    """A matrix bound whose constant is diagonal up to rounding, in rows that hold nothing else."""
    rng = np.random.default_rng(0)
    scale = np.diag(np.geomspace(*sizes, 4))
    noise = rng.normal(size=(4, 4)) * 3e-16
    points = rng.normal(size=(8, 4)) @ scale + 0.5 * scale.diagonal()
    programs = []
    for S in (scale @ scale, scale @ (np.eye(4) + noise + noise.T) @ scale):
        alpha = cp.Variable(8, nonneg=True)
        problem = cp.Problem(cp.Minimize(cp.matrix_frac(points.T @ alpha, S)), [cp.sum(alpha) == 1, alpha <= 0.3])
        programs.append(ConicProgram.from_problem(problem))
    (_, clean), (_, rounded) = (program.equilibrated() for program in programs)
    for name in ("rows", "columns", "objective"):
        np.testing.assert_allclose(getattr(rounded, name), getattr(clean, name), rtol=1e-6)
