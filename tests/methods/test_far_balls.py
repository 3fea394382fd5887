"""The ball of points that lie far from the origin is the ball of the same points near it, moved."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.estimators import SoftBall
from convexnovelty.estimators.scores import DistanceScore
from convexnovelty.methods import soft_ball

X = np.random.default_rng(3).standard_normal((20, 3)) + np.array([4.0, 3.0, 2.0])
NU = 0.3
FORMS = {
    "primal": lambda features, nu: soft_ball.primal(features, nu).solve(),
    "dual": lambda features, nu: soft_ball.dual(features, nu).solve(),
    "smo": soft_ball.sequential,
    "hard_ball": lambda features, nu: soft_ball.hard_ball(features).solve(),
}


def by_hand(hard: bool) -> tuple[float, np.ndarray]:
    """Equation 8.17 in CVXPY on the points near the origin: the optimum and the centre."""
    c, R2, xi = cp.Variable(3), cp.Variable(nonneg=True), cp.Variable(20, nonneg=True)
    inside = [cp.sum_squares(x - c) <= R2 + xi[i] for i, x in enumerate(X)]
    price = 1.0 / (NU * len(X))
    problem = cp.Problem(cp.Minimize(R2 + price * cp.sum(xi)), [*inside, *([xi == 0] if hard else [])])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value), c.value


# Coordinates out of a Gram matrix have half of the digits of the points, which leaves none at 1e8.
@pytest.mark.parametrize(
    ("kernel", "shift"), [(None, 0.0), (None, 1e4), (None, -1e8), ("linear", 0.0), ("linear", 1e4)]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_far_ball_is_the_near_one(form, kernel, shift):
    features = cn.KernelFeatures(X + shift, cn.kernels.linear()) if kernel else cn.LinearFeatures(X + shift)
    found = FORMS[form](features, NU)
    right, center = by_hand(form == "hard_ball")
    objective = found.objective**2 if form == "hard_ball" else abs(found.objective)
    assert objective == pytest.approx(right, rel=1e-6)
    if kernel is None:
        np.testing.assert_allclose(found.region.center - shift, center, atol=1e-5)
        if "c" in found.values:
            np.testing.assert_allclose(found.values["c"], found.region.center, rtol=1e-12)
    expected = {"hard_ball": 20}.get(form, 16)
    assert int(found.region.contains(features.training, features.squared_norms()).sum()) == expected


@pytest.mark.parametrize("shift", [1e4, 1e8])
def test_the_detector_of_far_points(shift):
    near, far = (SoftBall(NU, kernel="linear").fit(X + by) for by in (0.0, shift))
    Z = np.random.default_rng(4).standard_normal((50, 3)) * 2 + [4.0, 3.0, 2.0]
    np.testing.assert_allclose(far.decision_function(Z + shift), near.decision_function(Z), atol=1e-6)
    assert str(far.guarantee_) == str(near.guarantee_)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)


def test_a_detector_of_points_takes_sparse_rows_too():
    sparse = pytest.importorskip("scipy.sparse")
    machine = SoftBall(NU, kernel="linear").fit(X)
    Z = np.where(np.abs(X) > 2.5, X, 0.0)
    np.testing.assert_allclose(
        machine.decision_function(sparse.csr_array(Z)), machine.decision_function(Z), rtol=1e-12, atol=1e-12
    )
    alike = SoftBall(NU, kernel="linear").fit(sparse.csr_array(X))
    np.testing.assert_allclose(alike.decision_function(Z), machine.decision_function(Z), atol=1e-6)


@pytest.mark.parametrize("far", [1e5, 1e6, 1e8])
@pytest.mark.parametrize("columns", [2, 12], ids=["full", "mostly zero"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_detector_of_far_sparse_points(columns, far, weighted):
    rng = np.random.default_rng(16)
    near, new = (np.zeros((n, columns)) for n in (30, 8))
    near[:, :2], new[:, :2] = rng.integers(-8, 8, size=(30, 2)) / 4.0, rng.integers(-16, 16, size=(8, 2)) / 4.0
    for rows in (near, new):  # in quarters, so that they are exact as they are moved
        rows[:, 2:] = np.where(rng.random(rows[:, 2:].shape) < 0.05, 1.25, 0.0)
    shift = np.array([far, far] + [0.0] * (columns - 2))
    weights = rng.random(30) + 0.1 if weighted else None
    expected = SoftBall(0.2, kernel="linear").fit(near, sample_weight=weights)
    machine = SoftBall(0.2, kernel="linear").fit(sp.csr_array(near + shift), sample_weight=weights)
    scores = expected.decision_function(new)
    assert machine.objective_ == pytest.approx(expected.objective_, rel=1e-7)
    assert str(machine.guarantee_) == str(expected.guarantee_)
    for points in (sp.csr_array(new + shift), new + shift):
        np.testing.assert_allclose(machine.decision_function(points), scores, rtol=0, atol=1e-7 * np.abs(scores).max())


@pytest.mark.parametrize("far", [0.0, 1e5, 1e9])
def test_distances_of_sparse_rows_to_a_far_centre_have_all_digits(far):
    rng = np.random.default_rng(2)
    center = rng.normal(size=9) * np.logspace(-6, 3, 9) + np.where(np.arange(9) % 4 == 0, far, 0.0)
    Z = np.where(rng.random((40, 9)) < 0.5, center + rng.normal(size=(40, 9)), 0.0)
    Z[:, [0, 4, 8]] = center[[0, 4, 8]] + rng.normal(size=(40, 3))
    Z[0], Z[1] = 0.0, center
    exact = [float(sum((Fraction(z) - Fraction(c)) ** 2 for z, c in zip(row, center, strict=True))) for row in Z]
    stored = sp.csr_array(Z)
    zeros = sp.csr_array(np.ones(Z.shape))
    zeros.data[:] = Z.ravel()
    halves = sp.csr_array(
        (np.repeat(stored.data / 2, 2), np.repeat(stored.indices, 2), 2 * stored.indptr), shape=stored.shape
    )
    for rows in (stored, zeros, halves, sp.coo_array(stored), sp.csc_matrix(stored)):
        np.testing.assert_allclose(DistanceScore(center)(rows), -np.array(exact), rtol=1e-13)
    assert halves.nnz == 2 * stored.nnz  # what was given is left alone


def test_a_constraint_on_the_centre_speaks_of_the_users_own_coordinates():
    shift = 1e5
    problem = cn.soft_ball(cn.LinearFeatures(X + shift), NU, form="primal")
    free = problem.solve().values["c"]
    moved = problem.subject_to(lambda v: v["c"][0] >= free[0] + 0.5).solve()
    assert moved.values["c"][0] == pytest.approx(free[0] + 0.5, abs=1e-6)
