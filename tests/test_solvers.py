"""The table of solvers: every row that can be run is run; fallbacks and large semidefinite cones."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import solvers
from convexnovelty.errors import InputError, SolverError
from convexnovelty.formulation import Formulation

INSTALLED = [name for name in cp.installed_solvers() if name in solvers.known()]


def _quadratic():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1.0, -2.0, 3.0]))), [x >= 0, cp.sum(x) == 1]), 9.0


def _linear():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(np.array([3.0, 1.0, 2.0]) @ x), [x >= 0, cp.sum(x) == 1]), 1.0


@pytest.mark.parametrize("name", INSTALLED)
def test_options_of_each_row_are_accepted_and_reach_their_accuracy(name):
    row = solvers.known()[name]
    kinds = solvers.admitted(name)
    for kind, made in (("LP", _linear), ("QP", _quadratic)):
        if kind not in kinds:
            continue
        for options in (*row.ladder, row.asked(1e-8, 30.0), row.asked(1e-30)):
            problem, _ = made()
            problem.solve(solver=name, warm_start=False, **options)
            assert problem.status == "optimal", (name, kind, options)
        problem, _ = made()
        problem.solve(solver=name, **row.asked(1e-8))
        truth, _ = made()
        truth.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        assert problem.value == pytest.approx(truth.value, rel=max(row.accuracy, 1e-6), abs=1e-6), (name, kind)


def test_the_accuracy_that_is_asked_is_never_tighter_than_is_useful():
    assert solvers.known()["SCS"].asked(1e-12)["eps_abs"] == 1e-8
    assert solvers.known()["CLARABEL"].asked(1e-6)["tol_feas"] == 1e-6
    assert solvers.known()["CLARABEL"].asked(1e-6, 3.0)["time_limit"] == 3.0


def test_classes_are_found_by_trying():
    assert solvers.admitted("CLARABEL") == {"LP", "QP", "SOCP", "SDP", "EXP", "POW"}
    assert solvers.admitted("OSQP") == {"LP", "QP"}
    assert solvers.admitted("NOSUCH") == frozenset()


def test_an_option_that_would_be_ignored_is_refused():
    x = cp.Variable()
    problem = Formulation(cp.Problem(cp.Minimize(x**2), [x >= 1]), {"x": x})
    if "DAQP" in cp.installed_solvers():
        with pytest.raises(InputError, match="tolerance would be ignored in silence; it reads"):
            problem.solve("DAQP", tolerance=1e-3)
    with pytest.raises(InputError, match="options of CLARABEL"):
        problem.solve("CLARABEL", tolerance=1e-3)


@pytest.mark.parametrize(
    ("needed", "order", "first", "last"),
    [
        ({"QP"}, 0, "CLARABEL", "HIGHS"),
        ({"LP"}, 0, "CLARABEL", "OSQP"),
        ({"SOCP"}, 0, "CLARABEL", "SCS"),
        ({"EXP"}, 0, "CLARABEL", "SCS"),
        ({"SDP"}, 50, "CLARABEL", "SCS"),
        ({"SDP"}, 51, "SCS", "CLARABEL"),
    ],
)
def test_the_order_of_attempts_by_class(needed, order, first, last):
    plan = [name for name, _ in solvers.fallbacks(needed, order)]
    assert plan[0] == first
    assert plan[-1] == last
    assert set(plan) <= set(cp.installed_solvers())
    assert all(needed <= solvers.admitted(name) for name in plan)


def test_a_large_semidefinite_cone_goes_to_scs():
    n = 52
    rng = np.random.default_rng(1)
    C = rng.standard_normal((n, n))
    C = C + C.T
    X = cp.Variable((n, n), PSD=True)
    formulation = Formulation(cp.Problem(cp.Minimize(cp.trace(C @ X)), [cp.trace(X) == 1]), {"X": X})
    solution = formulation.solve()
    assert solution.solver == "SCS"
    assert [a.solver for a in solution.attempts] == ["SCS"]
    assert solution.objective == pytest.approx(np.linalg.eigvalsh(C)[0], rel=1e-5)
    assert solution.residuals.worst < 1e-6


def test_a_second_attempt_is_recorded_and_named_solvers_stay_alone(monkeypatch):
    features = cn.LinearFeatures(np.arange(1.0, 5.0)[:, None])
    broken = solvers.SolverProfile("CLARABEL", ({"max_iter": 1},), 1e-8)
    monkeypatch.setitem(solvers._PROFILES, "CLARABEL", broken)
    solution = cn.one_class_svm(features, 0.5).solve()
    # Once more on the program in each of two scales, then the second solver.
    assert [a.solver for a in solution.attempts] == ["CLARABEL", "CLARABEL", "CLARABEL", "OSQP"]
    assert all("user_limit" in attempt.remark for attempt in solution.attempts[:3])
    assert solution.solver == "OSQP"
    assert solution.objective == pytest.approx(1.125, rel=1e-6)
    with pytest.raises(SolverError, match="user_limit"):
        cn.one_class_svm(features, 0.5).solve("CLARABEL")
