"""Quadratic forms with matrices of numbers whose columns have units of their own: no direction is lost."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.formulation import Formulation
from convexnovelty.quadratic_forms import in_squares
from convexnovelty.uncertainty import (
    Ellipsoid,
    MeanMetricEllipsoid,
    MeanSet,
    MomentSet,
    PointSet,
    adversary,
    evaluate_support,
)

S = np.array([500.0, 7e-3, 2e-3])  # deviations as of areas beside fractal dimensions
R = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])
C = R * np.outer(S, S)
M = cn.Moments(np.array([900.0, 0.06, 4e-3]), C)
DIRECTIONS = np.vstack([np.eye(3), [[1.0, -1.0, 0.5], [0.3, 0.2, -2.0]]]) / S


class Hotelling(MeanSet):
    """The ellipsoid of means, in a box that bounds nothing of it."""

    def membership(self, m):
        return [cp.matrix_frac(m - self.center, C) <= self.radius**2, cp.abs(m - self.center) <= 3 * S]


class Precision(MeanSet):
    P = np.linalg.inv(R) / np.outer(S, S)

    def membership(self, m):
        return [cp.quad_form(m - self.center, (self.P + self.P.T) / 2) <= self.radius**2]


class DelageYe(MomentSet):
    def membership(self, m, covariance):
        mean, known = self.center
        return [cp.matrix_frac(m - mean, known) <= self.radius**2, covariance == known]


class Axes(PointSet):
    def membership(self, u):
        return [cp.quad_form(u, sp.csc_array(np.diag(1 / S**2))) <= self.radius**2, cp.abs(u) <= 3 * S]


@pytest.mark.parametrize("recipe", [Hotelling, Precision])
def test_ellipsoids_of_means_have_their_closed_form(recipe):
    around = recipe(0.3).centred(M)
    for a in DIRECTIONS:
        truth = a @ M.mean + 0.3 * np.sqrt(a @ C @ a)
        assert evaluate_support(around, a) == pytest.approx(truth, rel=1e-8)
        assert adversary(around, a).value == pytest.approx(truth, rel=1e-7)
    found = cn.single_class_mpm(M, 0.4, recipe(0.3)).solve().objective
    assert found == pytest.approx(cn.single_class_mpm(M, 0.4, MeanMetricEllipsoid(0.3)).solve().objective, rel=1e-7)


def test_sets_of_moments_and_of_points_too():
    found = cn.single_class_mpm(M, 0.4, DelageYe(0.3)).solve().objective
    assert found == pytest.approx(cn.single_class_mpm(M, 0.4, MeanMetricEllipsoid(0.3)).solve().objective, rel=1e-7)
    points = np.random.default_rng(0).normal(size=(20, 3)) * S + M.mean
    features = cn.LinearFeatures(points)
    found = cn.uncertain_points(features, 0.2, Axes(0.1)).solve().objective
    truth = cn.uncertain_points(features, 0.2, Ellipsoid(np.diag(S**2), 0.1)).solve().objective
    assert found == pytest.approx(truth, rel=1e-6)


def _deviation(constraints, term=0.0):
    """The machine of equation 11 in columns of deviation one, by two solvers: a'x-bar - kappa |a| >= 1 with kappa = 1/2."""
    root, b = np.linalg.cholesky(R).T, cp.Variable(3)
    posed = [b @ (M.mean / S) - 0.5 * cp.norm(root @ b) >= 1, *constraints(b)]
    problem = cp.Problem(cp.Minimize(cp.norm(root @ b) + (term(b) if term else 0.0)), posed)
    found = [problem.solve(solver="CLARABEL"), problem.solve(solver="SCS", eps=1e-9)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    return found[0]


# Of another sample: the same columns, by themselves.
D = np.diag([0.5, 2.0, 1.0]) * np.outer(S, S)


def test_constraints_and_terms():
    made = cn.single_class_mpm(M, 0.2)
    a = made.solve().values["a"]
    cap, root = 0.7 * float(a @ D @ a), np.sqrt([0.5, 2.0, 1.0])
    capped = made.subject_to(lambda v: cp.quad_form(v["a"], D) <= cap).solve()
    assert capped.values["a"] @ D @ capped.values["a"] == pytest.approx(cap, rel=1e-6)
    truth = _deviation(lambda b: [cp.norm(cp.multiply(root, b)) <= np.sqrt(cap)])
    assert capped.objective == pytest.approx(truth, rel=1e-6)
    paid = made.plus(lambda v: 3 * cp.maximum(cp.quad_form(v["a"], D), 0)).solve()
    truth = _deviation(lambda b: [], lambda b: 3 * cp.sum_squares(cp.multiply(root, b)))
    assert paid.objective == pytest.approx(truth, rel=1e-6)


def test_problems_of_ones_own():
    a, t = cp.Variable(3), cp.Variable()
    problem = cp.Problem(cp.Minimize(t), [cp.quad_form(a, D) <= t, a @ M.mean >= 1])
    solution = Formulation(problem, {"a": a, "t": t}).solve()
    assert solution.objective == pytest.approx(1 / (M.mean @ np.linalg.solve(D, M.mean)), rel=1e-6)


RNG = np.random.default_rng(3)
THIN = RNG.normal(size=(3, 2))


@pytest.mark.parametrize(
    ("make", "P"),
    [
        (cp.quad_form, C),
        (cp.quad_form, -C),
        (cp.quad_form, THIN @ THIN.T),
        (cp.quad_form, np.diag([1.0, 0.0, 1e-9])),
        (cp.quad_form, np.zeros((3, 3))),
        (cp.matrix_frac, C),
        (lambda x, P: cp.matrix_frac(cp.vstack([x, 2 * x]).T, cp.Constant(P)), C),
        (lambda x, P: cp.quad_form(x, cp.psd_wrap(P)), C),
    ],
)
def test_values_stay_what_they_are(make, P):
    x = cp.Variable(3)
    form = make(x, P)
    made = in_squares(2 * form + 1)
    for z in RNG.normal(size=(5, 3)) / np.sqrt(np.abs(np.diag(P)) + (np.diag(P) == 0)):
        x.value = z
        assert made.value == pytest.approx(2 * form.value + 1, rel=1e-10)
    assert made.is_convex() == (2 * form + 1).is_convex()
    assert not [atom for atom in (cp.QuadForm, cp.MatrixFrac) if made.atoms() and atom in made.atoms()]


def test_forms_of_parameters_and_of_no_sign_are_left_alone():
    x, P = cp.Variable(2), cp.Parameter((2, 2), PSD=True)
    told = cp.quad_form(x, cp.psd_wrap(np.diag([1.0, -1e-6])))  # which it is not: CVXPY says so
    for form in (cp.quad_form(x, P), cp.quad_form(x, np.diag([1.0, -1.0])), told, cp.sum_squares(x)):
        assert in_squares(form) is form
    constraint = cp.norm(x) <= 1
    assert in_squares(constraint) is constraint


@pytest.mark.parametrize("solver", [None, "SCS", "OSQP", "ECOS"])
def test_objectives_keep_their_directions_with_every_solver(solver):
    """Solvers of cones alone get a factor of the matrix."""
    if solver is not None and solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, C)), [M.mean @ x >= 1, cp.abs(x) <= 1e3])
    solution = Formulation(problem, {"x": x}).solve(solver)
    assert solution.objective == pytest.approx(1 / (M.mean @ np.linalg.solve(C, M.mean)), rel=1e-6)


def test_objectives_in_one_unit_stay_as_they_are():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, R)), [cp.sum(x) >= 1])
    assert Formulation(problem, {"x": x}).problem is problem


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
@pytest.mark.parametrize("term", [False, True])
def test_a_dual_form_has_its_optimum_where_a_solver_gets_cones_alone(solver, term):
    """As ECOS and CVXOPT do. CVXPY's own factor of a Gram matrix with equal eigenvalues left directions of it out: -10.40 for -11.06."""
    X = np.eye(4)[np.random.default_rng(36).integers(0, 4, 33)]
    program = cn.artificial_negatives(X, 1.0, "gaussian")
    if term:
        program = program.plus(lambda letters: 0.3 * cp.sum_squares(letters["alpha"]))
        right = program.solve().objective
    else:
        right = -cn.artificial_negatives(X, 1.0, "gaussian", form="primal").solve().objective
    solution = program.solve(solver, use_quad_obj=False)
    assert solution.objective == pytest.approx(right, rel=1e-6)
    value, violated = program.evaluate(solution.values)
    assert value == pytest.approx(right, rel=1e-6) and violated < 1e-6
