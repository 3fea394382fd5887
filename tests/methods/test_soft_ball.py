"""The soft ball against a general solver, geometry and other people's faults; where it is and is not the half-space."""

from __future__ import annotations

import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import InputError, SolverError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import one_class_svm, soft_ball

TWO = np.array([[0.0], [np.sqrt(np.log(2))]])
LINE4 = np.arange(1.0, 5.0)[:, None]


def cloud(n, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + 4 * (-1.0) ** np.arange(p)


def gaussian(X, gamma=1.0):
    return KernelFeatures(X, kernels.gaussian(gamma=gamma))


def test_the_checker_is_green():
    report = cn.check("soft_ball")
    assert report.passed, report.table()


# -- references ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.13, 0.4, 0.9])
def test_against_a_general_minimiser(nu):
    """Equation 8.17 over the centre alone: radius and slacks are a function of it."""
    X = cloud(24, 2)

    def value(c):
        squares = np.sort(((X - c) ** 2).sum(axis=1))[::-1]
        return min(r + np.maximum(squares - r, 0).sum() / (nu * 24) for r in [0.0, *squares])

    starts = [X.mean(axis=0), np.median(X, axis=0)]
    options = {"xatol": 1e-12, "fatol": 1e-14, "maxiter": 4000}
    best = min((minimize(value, c, method="Nelder-Mead", options=options) for c in starts), key=lambda r: r.fun)
    features = LinearFeatures(X)
    solution = cn.soft_ball(features, nu, form="primal").solve()
    assert solution.objective == pytest.approx(best.fun, rel=1e-6)
    assert solution.region.center == pytest.approx(best.x, abs=1e-3)


@pytest.mark.parametrize("n", [20, 60, 150, 400])
def test_dual_against_smo(n):
    features = KernelFeatures(cloud(n, seed=n), kernels.polynomial(degree=2, gamma=0.1, coef0=1.0))
    solution, reference = cn.soft_ball(features, 0.137).solve(), soft_ball.sequential(features, 0.137)
    assert solution.objective == pytest.approx(reference.objective, rel=1e-6)
    probe = features.coordinates(cloud(40, seed=1) * 1.5)
    expected = reference.region.decision_values(probe)
    found = solution.region.decision_values(probe)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_three_corners_of_a_triangle():
    """Smallest enclosing balls by hand: the circumcircle of an equilateral triangle, the longest side of an obtuse one."""
    equilateral = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    obtuse = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 0.5]])
    for X, center, squared in ((equilateral, [0.5, np.sqrt(1 / 12)], 1 / 3), (obtuse, [2.0, 0.0], 4.0)):
        features = LinearFeatures(X)
        for solution in (
            cn.soft_ball(features, 0.1).solve(),
            cn.soft_ball(features, 0.1, form="primal").solve(),
            soft_ball.sequential(features, 0.1),
        ):
            assert solution.region.center == pytest.approx(center, abs=1e-5)
            assert solution.region.squared_radius == pytest.approx(squared, rel=1e-6)
            assert solution.region.contains(X).all()
        # A ball of radius R that holds the points has its centre within root R^2 - R*^2 of the smallest one's: a solver
        # that knows R to ten digits knows the centre to five.
        hard = soft_ball.hard_ball(features, 0.1).solve()
        reach = float(((X - hard.region.center) ** 2).sum(axis=1).max())
        assert reach == pytest.approx(squared, rel=1e-8) and hard.objective**2 == pytest.approx(squared, rel=1e-8)
        assert ((hard.region.center - center) ** 2).sum() <= reach - squared + 1e-14
        assert hard.region.squared_radius == pytest.approx(squared, rel=1e-6)
        assert hard.region.contains(X).all()


def test_two_points_have_a_quarter():
    for solution in (cn.soft_ball(gaussian(TWO), 0.5).solve(), soft_ball.sequential(gaussian(TWO), 0.5)):
        assert solution.region.squared_radius == pytest.approx(0.25, abs=1e-8)
        assert solution.values["alpha"] == pytest.approx([0.5, 0.5], abs=1e-7)


# -- the half-space --------------------------------------------------------------------------------------------------------


def test_constant_diagonal_makes_the_ball_the_half_space():
    features = gaussian(cloud(40), 0.2)
    ball, half = cn.soft_ball(features, 0.17).solve(), cn.one_class_svm(features, 0.17).solve()
    probe = features.coordinates(cloud(60, seed=2) * 1.5)
    inner, outer = ball.region.decision_values(probe), 2 * half.region.decision_values(probe)
    np.testing.assert_allclose(inner, outer, atol=1e-6 * np.abs(outer).max())
    assert ball.objective == pytest.approx(2 * half.objective - 1, rel=1e-8)


def test_without_it_they_differ():
    """A polynomial kernel: another objective, another set of ordinary points, and other support vectors."""
    features = KernelFeatures(cloud(40), kernels.polynomial(degree=2, gamma=0.1, coef0=1.0))
    ball, half = cn.soft_ball(features, 0.17).solve(), cn.one_class_svm(features, 0.17).solve()
    probe = features.coordinates(cloud(200, seed=2) * 1.5)
    assert (ball.region.contains(probe) != half.region.contains(probe)).mean() > 0.05
    assert np.abs(ball.values["alpha"] - half.values["alpha"]).max() > 0.01
    squares = features.squared_norms()
    assert abs(ball.objective - (2 * half.objective - squares.mean())) > 0.01 * abs(ball.objective)
    rows = [row for row in cn.check(cn.soft_ball(features, 0.17)).rows if row.source == "one_class_svm"]
    assert any("k(x, x) varies" in row.reason for row in rows)


# -- faults that users of such libraries reported --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [np.ones((5, 2)), [[1.0, 2.0]], np.repeat([[1.0], [2.0]], [9, 1], axis=0), TWO],
    ids=["ones", "single", "nine and one", "two"],
)
def test_b01_points_on_the_sphere_are_no_outliers(X):
    for features in (LinearFeatures(X), gaussian(X)):
        for solution in (
            cn.soft_ball(features, 0.4).solve(),
            cn.soft_ball(features, 0.4, form="primal").solve(),
            soft_ball.sequential(features, 0.4),
        ):
            assert solution.region.contains(features.training).sum() >= 0.6 * features.n
            if features.n != 10:
                assert solution.region.contains(features.training).all()


def test_b03_the_squared_radius_is_an_interval_when_nu_n_is_whole():
    features = LinearFeatures(np.array([[-3.0], [-1.0], [1.0], [3.0]]))
    for solution in (cn.soft_ball(features, 0.5).solve(), soft_ball.sequential(features, 0.5)):
        assert solution.region.center == pytest.approx([0.0], abs=1e-6)
        assert (solution.offset.lower, solution.offset.upper) == pytest.approx((1.0, 9.0), abs=1e-5)
        # The larger end leaves the fewest points outside.
        assert solution.region.squared_radius == pytest.approx(9.0, abs=1e-5)


@pytest.mark.parametrize("nu", [0.11, 0.3, 0.77])
def test_b08_weights_are_repeated_rows(nu, rng):
    X, weights = cloud(25), rng.integers(0, 4, size=25)
    one, other = LinearFeatures(X), LinearFeatures(np.repeat(X, weights, axis=0))
    probe = cloud(20, seed=3) * 1.4
    # The centre is known to the square root of what the objective is, which the primal's cone feels most.
    for form, accuracy in (("primal", 1e-4), ("dual", 1e-6)):
        a = cn.soft_ball(one, nu, form=form, weights=weights).solve()
        b = cn.soft_ball(other, nu, form=form).solve()
        assert a.objective == pytest.approx(b.objective, rel=1e-7)
        expected = b.region.decision_values(probe)
        assert a.region.decision_values(probe) == pytest.approx(expected, abs=accuracy * np.abs(expected).max())
    with pytest.raises(InputError, match="weights: -1 was found at position 2"):
        cn.soft_ball(one, nu, weights=np.where(np.arange(25) == 2, -1.0, 1.0))


def test_b13_precomputed_kernels():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    features = KernelFeatures(K, kernels.precomputed())
    region = cn.soft_ball(features, 0.5).solve().region
    row = np.array([[0.0, 0.0]])
    for norm, distance in ((1.0, 1.75), (4.0, 4.75)):
        value = region.decision_values(features.coordinates(row, squared_norms=[norm]))[0]
        assert region.squared_radius - value == pytest.approx(distance, abs=1e-7)
    with pytest.raises(InputError, match="squared_norms"):
        region.decision_values(features.coordinates(row))
    with pytest.raises(InputError, match=r"\(3, 2\)"):
        KernelFeatures(np.ones((3, 2)), kernels.precomputed())
    with pytest.raises(InputError, match=r"0\.5.*0\.2"):
        KernelFeatures(np.array([[1.0, 0.5], [0.2, 1.0]]), kernels.precomputed())


@pytest.mark.parametrize("nu", [1.5, 0, -0.1, float("nan"), "0.5", None])
def test_b15_an_impossible_nu_is_refused_before_any_solver(nu, monkeypatch):
    monkeypatch.setattr(cp.Problem, "get_problem_data", lambda *a, **k: pytest.fail("a solver was asked"))
    for form in ("primal", "dual"):
        with pytest.raises(ValueError, match="outlier_fraction"):
            cn.soft_ball(LinearFeatures(LINE4), nu, form=form)
    with pytest.raises(InputError, match="outlier_fraction"):
        soft_ball.sequential(LinearFeatures(LINE4), nu)


def test_b15_a_box_that_is_too_small_is_refused():
    with pytest.raises(InputError, match="upper"):
        smo(LINE4 @ LINE4.T, p=-(LINE4.ravel() ** 2), upper=0.2)


@pytest.mark.parametrize("s", [1e-8, 1e-6, 1e-4, 1.0, 1e4, 1e6, 1e8])
def test_b22_units(s):
    features = LinearFeatures(s * LINE4)
    for form, sign in (("dual", -1), ("primal", 1)):
        solution = cn.soft_ball(features, 0.2, form=form).solve()
        assert sign * solution.objective / s**2 == pytest.approx(2.25, rel=1e-6)
        assert solution.region.center / s == pytest.approx([2.5], rel=1e-5)
        assert solution.region.squared_radius / s**2 == pytest.approx(2.25, rel=1e-5)
        assert solution.region.contains(s * LINE4).all()


def test_b24_a_point_that_is_not_optimal_never_passes():
    with pytest.raises(SolverError, match="SCS"):
        cn.soft_ball(LinearFeatures(LINE4), 0.5).solve("SCS", max_iters=5)


def test_b33_a_formulation_travels_as_its_recipe():
    formulation = cn.soft_ball(LinearFeatures(LINE4), 0.9, weights=[1, 2, 1, 1]).set(outlier_fraction=0.2)
    value = formulation.solve().objective
    assert pickle.loads(pickle.dumps(formulation)).solve().objective == value


def test_b35_the_same_problem_gives_the_same_digits():
    formulation = cn.soft_ball(gaussian(np.arange(6.0)[:, None], 0.5), 0.5)
    assert len({formulation.solve("SCS").objective for _ in range(3)}) == 1


# -- theory, invariances, paths --------------------------------------------------------------------------------------------


def test_nu_property_and_its_sentence():
    """Problem 8.8: at most nu outside, at least nu support vectors; the sentence has the number."""
    features = LinearFeatures(cloud(47))
    for nu in (0.05, 0.3, 0.8):
        solution = cn.soft_ball(features, nu).solve()
        out = int((~solution.region.contains(features.training)).sum())
        assert out <= nu * 47 <= (solution.values["alpha"] > 1e-7).sum()
        assert str(solution.guarantee).startswith(f"{out} of 47 training points lie outside")


def test_nu_property_is_tight_asymptotically():
    features = LinearFeatures(np.random.default_rng(3).standard_normal((800, 2)))
    solution = soft_ball.sequential(features, 0.2)
    out = float((~solution.region.contains(features.training)).mean())
    assert 0.2 - 0.01 <= out <= 0.2 <= float((solution.values["alpha"] > 0).mean()) <= 0.21


def test_translation_rotation_and_order_move_the_ball_along(rng):
    X, Z = cloud(30), cloud(15, seed=4) * 1.3
    turn, shift = np.linalg.qr(rng.standard_normal((3, 3)))[0], np.array([3.0, -100.0, 20.0])
    expected = cn.soft_ball(LinearFeatures(X), 0.22).solve().region.decision_values(Z)
    order = rng.permutation(30)
    for other, probe in ((X[order], Z), (X @ turn, Z @ turn), (X + shift, Z + shift)):
        found = cn.soft_ball(LinearFeatures(other), 0.22).solve().region.decision_values(probe)
        assert found == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


def test_translation_leaves_the_ball_but_not_the_half_space():
    X = cloud(30)
    values = [one_class_svm.sequential(LinearFeatures(X + t), 0.2).objective for t in (0.0, 10.0)]
    balls = [soft_ball.sequential(LinearFeatures(X + t), 0.2).region.squared_radius for t in (0.0, 10.0)]
    assert balls[0] == pytest.approx(balls[1], rel=1e-8)
    assert values[1] > 2 * values[0]


def test_one_compilation_serves_a_path():
    features = gaussian(cloud(30), 0.2)
    for form in ("primal", "dual"):
        formulation = cn.soft_ball(features, 0.5, form=form)
        solutions = formulation.path(outlier_fraction=[0.5, 0.31, 0.12])
        assert formulation.compilations == 1
        for nu, solution in zip((0.5, 0.31, 0.12), solutions, strict=True):
            fresh = cn.soft_ball(features, nu, form=form).solve()
            assert solution.objective == pytest.approx(fresh.objective, rel=1e-7)


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4], [2, 2]],
        np.array([[True, False], [True, True]]),
        np.array([[1.0], [2.0], [5.0]]),
        np.full((4, 3), 7.0),
        np.c_[np.arange(1.0, 5.0), np.full(4, 3.0), 2 * np.arange(1.0, 5.0)],
        np.random.default_rng(0).standard_normal((3, 9)),
        np.zeros((3, 2)),
    ],
    ids=["integers", "booleans", "one column", "equal rows", "collinear", "wide", "zeros"],
)
def test_unusual_data_have_the_value_of_smo(X):
    features = LinearFeatures(X)
    for nu in (0.3, 1.0):
        expected = soft_ball.sequential(features, nu).objective
        for form, sign in (("dual", 1), ("primal", -1)):
            found = cn.soft_ball(features, nu, form=form).solve()
            assert sign * found.objective == pytest.approx(expected, rel=1e-6, abs=1e-8 * features.unit**2)


def test_a_basis_cut_short_is_one_problem_for_all_routes():
    """What the basis does not hold of a point counts towards its distance in every form."""
    features = KernelFeatures(cloud(60), kernels.gaussian(gamma=0.1), rank=8)
    values = [
        cn.soft_ball(features, 0.01).solve().objective,
        -cn.soft_ball(features, 0.01, form="primal").solve().objective,
        soft_ball.sequential(features, 0.01).objective,
        -(soft_ball.hard_ball(features, 0.01).solve().objective ** 2),
    ]
    assert values == pytest.approx([values[0]] * 4, rel=1e-6)


def test_a_wrong_form_is_named():
    with pytest.raises(InputError, match="form: 3 was found"):
        cn.soft_ball(LinearFeatures(LINE4), 0.5, form=3)


@pytest.mark.parametrize("seed", range(6))
def test_the_checker_lets_centres_differ_by_the_root_of_what_values_miss(seed):
    """Few points, of which none may lie outside: the centre of the smallest ball is known to half of the radius' digits."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5 + seed, 3)) * [5.0, 0.5, 1.0]
    report = cn.check(cn.soft_ball(cn.KernelFeatures(X, kernels.gaussian()), 0.05))
    assert report.passed, report.table()


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_most_points_at_the_mean_are_no_unit(form, shift):
    """In tenths the mean of these is two tenths up to rounding, of which the median length would be 1e-17."""
    tenths = np.array([2, 2, 0, 2, 3, 2, 2, 2, 3, 3, 2, 1, 2])
    found = cn.soft_ball(cn.LinearFeatures(0.1 * tenths[:, None] + shift), 2 / 13, form=form).solve()
    # The two farthest points, 0 and 3 tenths, lie on the sphere round their middle.
    assert abs(found.objective) == pytest.approx(0.15**2, rel=1e-9)
    assert "0 of 13" in str(found.guarantee)
