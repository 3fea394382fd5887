"""Uncertain points: the robust constraint against every position, closed forms, sets of the user's own, and doors."""

from __future__ import annotations

import math
import pickle

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.errors import EmptySetError, InputError, UnboundedSetError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import one_class_svm
from convexnovelty.methods import uncertain_points as module
from convexnovelty.uncertainty import Box, FrobeniusBall, NormBall, PointSet


class Diamond(PointSet):
    """A user's set, given by its membership alone."""

    def membership(self, u):
        return [cp.norm1(u) + 2 * cp.norm(u, "inf") <= self.radius]


class Shifted(PointSet):
    """A set that does not hold zero: every point was seen too far to the left."""

    def membership(self, u):
        return [u[0] >= 0.2, cp.norm(u) <= self.radius]


class Empty(PointSet):
    def membership(self, u):
        return [u[0] >= 1, u[0] <= 0]


class Ray(PointSet):
    def membership(self, u):
        return [u >= 0]


def cloud(n=24, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + 5 * (-1.0) ** np.arange(p)


SETS = [NormBall(2, 0.5), NormBall(1, 0.7), NormBall(math.inf, 0.3), NormBall(3, 0.4), Diamond(1.0), Shifted(0.6)]


def test_the_checker_is_green():
    report = cn.check("uncertain_points")
    assert report.passed, report.table()


@pytest.mark.parametrize("uncertainty", SETS, ids=repr)
def test_every_equivalent_for_any_set(uncertainty):
    features = LinearFeatures(cloud())
    report = cn.check(cn.uncertain_points(features, 0.2, uncertainty))
    assert report.passed, report.table()
    checked = {row.source for row in report.rows if row.verdict == "pass" and row.target == "robust"}
    assert {"semi_infinite", "nearest_sum"} <= checked
    # Where a set gives no counterpart of its own there is nothing to hold the derived one against.
    assert ("derived_counterpart" in checked) == isinstance(uncertainty, NormBall)


@pytest.mark.parametrize(
    ("uncertainty", "corners"),
    [
        (NormBall(math.inf, 0.3), 0.3 * np.array([[a, b] for a in (-1, 1) for b in (-1, 1)])),
        (NormBall(1, 0.7), 0.7 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])),
    ],
    ids=["box", "cross-polytope"],
)
def test_against_a_program_with_every_corner(uncertainty, corners):
    """A polytope's worst positions are its corners: all of them as constraints of their own, without a counterpart."""
    X, nu = cloud(20, 2), 0.23
    w, xi, rho = cp.Variable(2), cp.Variable(20, nonneg=True), cp.Variable()
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(xi) / (nu * 20) - rho),
        [(X + corner) @ w >= rho - xi for corner in corners],
    )
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    solution = cn.uncertain_points(LinearFeatures(X), nu, uncertainty).solve()
    assert solution.objective == pytest.approx(problem.value, rel=1e-7)
    assert solution.region.normal == pytest.approx(w.value, abs=1e-5)


def test_points_of_unequal_uncertainty():
    X, nu, rng = cloud(20, 2), 0.23, np.random.default_rng(3)
    scales = rng.integers(0, 3, size=20).astype(float)
    corners = 0.3 * np.array([[a, b] for a in (-1, 1) for b in (-1, 1)])
    w, xi, rho = cp.Variable(2), cp.Variable(20, nonneg=True), cp.Variable()
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(xi) / (nu * 20) - rho),
        [(X + scales[:, None] * corner) @ w >= rho - xi for corner in corners],
    )
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    features, box = LinearFeatures(X), NormBall(math.inf, 0.3)
    solution = cn.uncertain_points(features, nu, box, scales).solve()
    assert solution.objective == pytest.approx(problem.value, rel=1e-7)
    assert module.semi_infinite(features, nu, box, scales).objective == pytest.approx(problem.value, rel=1e-6)
    # A scale on all points is a scale of the set.
    twice = cn.uncertain_points(features, nu, box, np.full(20, 2.0)).solve()
    assert twice.objective == pytest.approx(
        cn.uncertain_points(features, nu, NormBall(math.inf, 0.6)).solve().objective
    )


def test_a_euclidean_ball_shortens_w_and_turns_nothing():
    for features in (LinearFeatures(cloud()), KernelFeatures(cloud(), kernels.gaussian(gamma=0.1))):
        plain = cn.one_class_svm(features, 0.23).solve()
        length = float(np.linalg.norm(plain.region.normal))
        for share in (0.1, 0.6):
            robust = cn.uncertain_points(features, 0.23, NormBall(2, share * length)).solve()
            assert robust.region.normal == pytest.approx((1 - share) * plain.region.normal, abs=1e-5 * length)
            assert robust.objective == pytest.approx(-(((1 - share) * length) ** 2) / 2, rel=1e-6)
        gone = cn.uncertain_points(features, 0.23, NormBall(2, 1.1 * length)).solve()
        assert gone.objective == pytest.approx(0.0, abs=1e-8 * length**2)
        assert "nothing is separated" in gone.guarantee


def test_no_uncertainty_is_the_one_class_machine():
    features = LinearFeatures(cloud())
    expected = one_class_svm.sequential(features, 0.23)
    for uncertainty in (None, NormBall(2, 0.0), NormBall(1, 0.0)):
        solution = cn.uncertain_points(features, 0.23, uncertainty).solve()
        assert solution.objective == pytest.approx(-expected.objective, rel=1e-6)
        assert solution.region.normal == pytest.approx(expected.region.normal, abs=1e-5)
    exact = cn.uncertain_points(features, 0.23, NormBall(1, 5.0), scales=np.zeros(24)).solve()
    assert exact.objective == pytest.approx(-expected.objective, rel=1e-6)


@pytest.mark.parametrize("uncertainty", [s for s in SETS if isinstance(s, NormBall)], ids=repr)
def test_the_guarantee_holds_for_sampled_positions_and_is_attained(uncertainty):
    """No draw of positions throws more than nu n points out; the worst one reaches the hyperplane itself."""
    features, nu, rng = LinearFeatures(cloud(40)), 0.2, np.random.default_rng(6)
    solution = cn.uncertain_points(features, nu, uncertainty).solve()
    region, around = solution.region, uncertainty.centred(np.zeros(3))
    for _ in range(200):
        moved = cloud(40) + np.array([around.sample(rng) for _ in range(40)])
        assert (~region.contains(moved)).sum() <= nu * 40
    worst = cloud(40) + around.worst_member(-region.normal)
    values = region.decision_values(worst)
    assert (values < -1e-6 * np.abs(values).max()).sum() <= nu * 40
    assert np.abs(values).min() <= 1e-5 * np.abs(values).max()
    out = int((values < -1e-6 * np.abs(values).max()).sum())
    assert str(solution.guarantee).startswith(f"{out} of 40 training points can be moved outside")
    # An uncertain new point is inside for certain if its value is at least t.
    assert solution.values["t"] == pytest.approx(float(-region.normal @ around.worst_member(-region.normal)), rel=1e-5)


def test_a_larger_set_has_a_smaller_margin():
    features = LinearFeatures(cloud())
    formulation = cn.uncertain_points(features, 0.2, NormBall(1, 0.1))
    values = [s.objective for s in formulation.path(radius=[0.0, 0.1, 0.5, 1.5])]
    assert values == sorted(values)


@pytest.mark.parametrize("part", [NormBall(2, 0.5), Box(radius=0.5), NormBall(2, 0.5) + np.array([0.1, 0.0, 0.2])])
def test_a_path_of_two_numbers_is_that_of_problems_made_anew(part):
    """What is evaluated for the region of one value must not keep another number from changing."""
    features, numbers = LinearFeatures(cloud(14) + 4), {"radius": [2.0, 0.1, 0.5], "multiple": [0.3, 1.0, 0.5]}
    name = next(one for one in part.numbers() if one.endswith("radius"))
    numbers[name] = numbers.pop("radius")
    walked = cn.uncertain_points(features, 0.3, 2.0 * part).path(**numbers)
    for solution, multiple, radius in zip(walked, numbers["multiple"], numbers[name], strict=True):
        fresh = cn.uncertain_points(features, 0.3, multiple * part.replaced(**{name: radius})).solve()
        assert solution.objective == pytest.approx(fresh.objective, rel=1e-6)


@pytest.mark.parametrize("uncertainty", [NormBall(2, 0.5), NormBall(math.inf, 0.3), Diamond(1.0)], ids=repr)
def test_one_compilation_serves_radii_and_fractions(uncertainty):
    features = LinearFeatures(cloud())
    formulation = cn.uncertain_points(features, 0.2, uncertainty)
    assert {"outlier_fraction", "radius"} <= formulation.parameters.keys()
    for nu, radius in ((0.2, 0.3), (0.4, 0.6), (0.05, 0.1)):
        found = formulation.set(outlier_fraction=nu, radius=radius).solve()
        fresh = cn.uncertain_points(features, nu, uncertainty.replaced(radius=radius)).solve()
        assert found.objective == pytest.approx(fresh.objective, rel=1e-6)
        assert found.guarantee == fresh.guarantee
    assert formulation.compilations == 1
    assert pickle.loads(pickle.dumps(formulation)).solve().objective == pytest.approx(found.objective, rel=1e-8) or (
        not isinstance(uncertainty, NormBall)
    )


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_units(unit):
    base = cn.uncertain_points(LinearFeatures(cloud()), 0.2, NormBall(1, 0.5)).solve().region
    scaled = cn.uncertain_points(LinearFeatures(unit * cloud()), 0.2, NormBall(1, 0.5 * unit)).solve().region
    assert scaled.normal / unit == pytest.approx(base.normal, abs=1e-5 * np.abs(base.normal).max())
    assert scaled.offset / unit**2 == pytest.approx(base.offset, rel=1e-5)
    derived = module.derived_counterpart(LinearFeatures(unit * cloud()), 0.2, NormBall(1, 0.5 * unit)).solve().region
    assert derived.normal / unit == pytest.approx(base.normal, abs=1e-5 * np.abs(base.normal).max())


def test_rotation_and_order(rng):
    X, turn, order = cloud(), np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.permutation(24)
    base = cn.uncertain_points(LinearFeatures(X), 0.2, NormBall(2, 0.5)).solve().region.normal
    turned = cn.uncertain_points(LinearFeatures(X @ turn), 0.2, NormBall(2, 0.5)).solve().region.normal
    assert turned @ turn.T == pytest.approx(base, abs=1e-6)
    for uncertainty in (NormBall(1, 0.5), NormBall(2, 0.5)):
        one = cn.uncertain_points(LinearFeatures(X), 0.2, uncertainty).solve().region.normal
        other = cn.uncertain_points(LinearFeatures(X[order]), 0.2, uncertainty).solve().region.normal
        assert other == pytest.approx(one, abs=1e-6)


class Anywhere(PointSet):
    def membership(self, u):
        return []


class Waiting(PointSet):
    """A bound by a parameter that has no value yet."""

    def membership(self, u):
        return [cp.norm(u) <= cp.Parameter(nonneg=True, name="later")]


def test_sets_that_state_nothing_or_wait_for_a_value():
    features = LinearFeatures(cloud() + 4)
    with pytest.raises(UnboundedSetError, match="it holds a ray"):
        cn.uncertain_points(features, 0.3, Anywhere())
    with pytest.raises(InputError, match="holds the CVXPY parameter later, whose later values would not be seen"):
        cn.uncertain_points(features, 0.3, Waiting())


def test_b36_empty_and_unbounded_sets_are_refused():
    features = LinearFeatures(cloud())
    with pytest.raises(EmptySetError):
        cn.uncertain_points(features, 0.2, Empty())
    with pytest.raises(UnboundedSetError):
        cn.uncertain_points(features, 0.2, Ray())


@pytest.mark.parametrize(
    ("uncertainty", "words"),
    [
        (FrobeniusBall(0.1), "is no set of points"),
        (0.3, "is no set of points"),
        ("ball", "is no set of points"),
        (NormBall(2, 0.1).centred([0.0, 0.0]), "2"),
    ],
)
def test_what_is_no_set_of_points_in_this_space(uncertainty, words):
    with pytest.raises((InputError, ValueError), match=words):
        cn.uncertain_points(LinearFeatures(cloud()), 0.2, uncertainty)


def test_sets_along_the_axes_are_refused_in_feature_space():
    features = KernelFeatures(cloud(), kernels.gaussian(gamma=0.1))
    with pytest.raises(InputError, match="axes of the data, and kernel features choose their own"):
        cn.uncertain_points(features, 0.2, NormBall(1, 0.1))
    cn.uncertain_points(features, 0.2, NormBall(2, 0.1)).solve()


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ([1.0, -2.0, 1.0], "scales: -2 was found at position 1"),
        ([1.0, 2.0], "scales: length 2 was found where 3 is needed"),
        ([1.0, np.nan, 1.0], "scales: nan"),
        (np.eye(3), r"scales: shape \(3, 3\)"),
    ],
)
def test_bad_scales(scales, words):
    with pytest.raises(InputError, match=words):
        cn.uncertain_points(LinearFeatures([[1.0], [2.0], [3.0]]), 0.5, NormBall(2, 0.1), scales)


@pytest.mark.parametrize("nu", [0, 1.01, -1, float("nan"), "half"])
def test_bad_outlier_fractions(nu):
    with pytest.raises(InputError, match="outlier_fraction"):
        cn.uncertain_points(LinearFeatures([[1.0], [2.0]]), nu, NormBall(2, 0.1))


@pytest.mark.parametrize("radius", [-0.1, float("nan")])
def test_b42_bad_radii(radius):
    with pytest.raises(InputError):
        cn.uncertain_points(LinearFeatures([[1.0], [2.0]]), 0.5, NormBall(2, radius))
    formulation = cn.uncertain_points(LinearFeatures([[1.0], [2.0]]), 0.5, NormBall(2, 0.1))
    with pytest.raises(InputError):
        formulation.set(radius=radius)
    assert formulation.parameters["radius"] == 0.1
