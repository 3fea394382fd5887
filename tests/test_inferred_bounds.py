"""Programs for solvers that take bounds of variables, which CVXPY infers wrongly where a matrix meets a variable without one."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import solvers
from convexnovelty.features import LinearFeatures
from convexnovelty.formulation import Formulation
from convexnovelty.uncertainty import Box, Budget

TURN, WIDTHS = np.array([[1.0, 0.3], [0.0, 1.0]]), np.array([0.3, 0.9])
POINTS = np.random.default_rng(0).standard_normal((13, 2)) + 4
TAKING = [name for name in ("HIGHS", "DAQP", "PIQP") if name in cp.installed_solvers()]

TERMS = {
    "largest": lambda w: cp.max(2 * (TURN.T @ w)),
    "largest of weighted sizes": lambda w: 2 * cp.max(cp.multiply(WIDTHS, cp.abs(TURN.T @ w))),
    "norm": lambda w: 2 * cp.norm((TURN.T @ w) / WIDTHS, "inf"),
    "positive parts": lambda w: cp.sum(cp.pos(cp.multiply(WIDTHS, cp.abs(TURN.T @ w)) - 0.5)),
    "maximum": lambda w: cp.sum(cp.maximum(cp.multiply(WIDTHS, TURN.T @ w), 0.2)),
}


@pytest.mark.parametrize("solver", TAKING)
@pytest.mark.parametrize("term", TERMS)
def test_terms_against_a_solver_that_takes_none(term, solver):
    def made():
        w = cp.Variable(2)
        return Formulation(cp.Problem(cp.Minimize(cp.sum_squares(w - 3) + TERMS[term](w))), {"w": w})

    right = made().solve("OSQP").objective
    assert made().solve(solver).objective == pytest.approx(right, rel=1e-6)
    after = made()
    after.solve()  # values of variables were out of the bounds that were inferred
    assert after.solve(solver).objective == pytest.approx(right, rel=1e-6)
    compiled = made()
    with np.errstate(invalid="ignore"):
        compiled.problem.get_problem_data(solver)
    assert compiled.solve(solver).objective == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("solver", TAKING)
def test_images_of_a_budget(solver):
    """The support by hand: the q largest of the weighted entries of T'w, with a part of the next."""
    features = LinearFeatures(POINTS)
    found = cn.uncertain_points(features, 0.3, Budget(2.0, WIDTHS).image(TURN)).solve(solver).objective
    w, rho, slack = cp.Variable(2), cp.Variable(), cp.Variable(13, nonneg=True)
    objective = 0.5 * cp.sum_squares(w) - rho + cp.sum(slack) / (0.3 * 13)
    worst = WIDTHS @ cp.abs(TURN.T @ w)  # a budget of two lets both coordinates go to their ends
    plain = cp.Problem(cp.Minimize(objective), [POINTS @ w - worst >= rho - slack]).solve(solver="CLARABEL")
    assert found == pytest.approx(plain, rel=1e-6)
    added = cn.uncertain_points(features, 0.3, Box(radius=0.01)).subject_to(
        lambda v: [cp.sum(cp.pos(cp.multiply(WIDTHS, cp.abs(TURN.T @ v["w"])) - 0.5)) <= 0.5]
    )
    assert added.solve(solver).objective == pytest.approx(added.solve("SCS").objective, rel=1e-5)


@pytest.mark.parametrize("soft", [False, True])
def test_whole_numbers_by_enumeration(soft):
    def problem(chosen):
        w, slack = cp.Variable(2), cp.Variable(3, nonneg=True)
        z = cp.Variable(3, boolean=True) if chosen is None else np.array(chosen, dtype=float)
        cost = TERMS["largest of weighted sizes"](w) + 0.1 * cp.sum(z) + 3.0 * soft * cp.sum(slack)
        held = [POINTS[:3] @ w >= 1 - z - soft * slack, cp.sum(z) <= 1]
        return cp.Problem(cp.Minimize(cost), held), w

    made, w = problem(None)
    few = [chosen for chosen in itertools.product((0, 1), repeat=3) if sum(chosen) <= 1]
    right = min(problem(chosen)[0].solve(solver="CLARABEL") for chosen in few)
    assert Formulation(made, {"w": w}).solve().objective == pytest.approx(right, rel=1e-6)


def test_parameters_are_followed_without_compiling_again():
    w, price = cp.Variable(2), cp.Parameter(nonneg=True, value=1.0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w - 3) + price * cp.max(2 * (TURN.T @ w))))
    first = solvers.compiled(problem, "HIGHS")[0]["param_prob"]
    price.value = 2.0
    assert solvers.compiled(problem, "HIGHS")[0]["param_prob"] is first
