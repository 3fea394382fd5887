"""Programs with whole numbers: no feasible point is better than the one that is called optimal."""

from __future__ import annotations

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize

import convexnovelty as cn
from convexnovelty import solvers
from convexnovelty.attempts import UNCLOSED, cone_class
from convexnovelty.errors import InputError
from convexnovelty.formulation import Formulation

N, KEPT = 36, 10
POINTS = np.random.default_rng(1).standard_normal((N, 2))


@cache
def _chosen(seed):
    """Ten of the points within five limits, at costs that differ by little: the problem, and a feasible point's value."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(1, 3, (5, N))
    limit, cost = np.round(0.27 * A.sum(1), 1), 100 - 3 * A.mean(0) + rng.random(N)
    problem = (
        cn.vector_quantization(POINTS, 100.0)
        .plus(lambda v: cost @ v["a"])
        .subject_to(lambda v: [v["a"] == cp.Variable(N, boolean=True), A @ v["a"] <= limit, cp.sum(v["a"]) == KEPT])
    )
    found = scipy.optimize.milp(
        1 + cost,
        constraints=[
            scipy.optimize.LinearConstraint(A, -np.inf, limit),
            scipy.optimize.LinearConstraint(np.ones((1, N)), KEPT, KEPT),
        ],
        integrality=np.ones(N),
        bounds=scipy.optimize.Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    point = np.round(found.x)
    assert point.sum() == KEPT
    assert (A @ point <= limit).all()
    return problem, float((1 + cost) @ point)


@pytest.mark.parametrize("named", ["HIGHS", None])
def test_no_feasible_point_is_better(named):
    problem, other = _chosen(5)
    solution = problem.solve(named)
    assert solution.objective <= other * (1 + 1e-8)
    assert solution.solver == "HIGHS"
    assert solution.attempts[-1].remark == ""


def test_the_gap_that_a_solver_takes_by_itself_is_told():
    problem, other = _chosen(5)
    solution = problem.solve("HIGHS", time_limit=30.0)
    assert solution.attempts[-1].remark == UNCLOSED
    assert solution.objective <= other * (1 + 2e-4)
    assert problem.solve("HIGHS", mip_rel_gap=1e-9).attempts[-1].remark == ""


def test_options_of_a_gap_stand_beside_others_of_their_kind():
    assert solvers.whole("SCIPY", 1e-9)[0] == (
        "SCIPY",
        {"scipy_options": {"mip_rel_gap": 1e-9}},
    )


def test_what_no_installed_solver_takes_is_refused_by_its_class():
    x = cp.Variable(2, boolean=True)
    formulation = Formulation(cp.Problem(cp.Minimize(cp.norm(x - 0.3)), [cp.sum(x) >= 1]), {"x": x})
    takers = [
        each for each in solvers.WHOLE if each in cp.installed_solvers() and each not in ("HIGHS", "SCIPY", "GLPK_MI")
    ]
    if takers:
        pytest.skip(f"{takers[0]} takes cones with whole numbers")
    with pytest.raises(InputError, match=r"solver: no installed one .* takes a MISOCP; .*install .*SCIP") as raised:
        formulation.solve()
    assert ("name ECOS_BB" in str(raised.value)) == ("ECOS_BB" in cp.installed_solvers())
    S = cp.Variable((2, 2), PSD=True)
    goal = cp.Minimize(cp.norm(x - 0.3) + cp.lambda_max(S))
    with pytest.raises(InputError, match=r"takes a MISDP; ") as raised:
        Formulation(cp.Problem(goal, [S[0, 0] >= x[0]]), {"x": x}).solve()
    assert "SCIP" not in str(raised.value) and "ECOS_BB" not in str(raised.value)
    with pytest.raises(InputError, match=r"solver: CLARABEL does not take a MISOCP .* name another one"):
        formulation.solve("CLARABEL")


def test_the_kind_of_a_program_with_whole_numbers_is_that_of_its_cones():
    x, S = cp.Variable(2, boolean=True), cp.Variable((2, 2), PSD=True)
    for term, kind in (
        (cp.sum(x), "MILP"),
        (cp.sum_squares(x), "MIQP"),
        (cp.norm(x - 0.3), "MISOCP"),
        (cp.lambda_max(S) + x[0], "MISDP"),
        (S[0, 0] + x[0], "MISDP"),
        (cp.sum(cp.exp(x)), "MIEXP"),
        (cp.sum(cp.exp(x)) + S[0, 1], "MISDP+EXP"),
        (-cp.geo_mean(x, [0.1, 0.9], approx=False), "MIPOW"),
    ):
        assert cone_class(cp.Problem(cp.Minimize(term), [cp.sum(x) >= 1])) == kind
        assert cone_class(cp.Problem(cp.Maximize(-term), [cp.sum(x) >= 1])) == kind
