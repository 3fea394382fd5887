"""Radii from 1e-12 to 1e12, confidence up to 1 - 1e-9, condition numbers of 1e12 and 2000 points, against exact values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation, solvers, tails
from convexnovelty.checking.checker import check_instance, standard_of
from convexnovelty.checking.instances import Knobs, families
from convexnovelty.declare import Instance, call
from convexnovelty.errors import ConvexNoveltyError
from convexnovelty.formulation import Formulation
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

RADII = (1e-12, 1e-6, 1.0, 1e6, 1e12)
DIGITS = 60
# Nodes in which whole covariances are variables, whose condition number a matrix inequality cannot resolve.
BY_MEMBERSHIP = {"derived_counterpart", "robust_dual", "semi_infinite", "worst_distance"}


def _value(made):
    return (made.solve() if isinstance(made, Formulation) else made).objective


def _exact(mean, covariance, radius):
    """m'(S + rI)^-1 m of the stored doubles."""
    with mpmath.workdps(DIGITS):
        C = mpmath.matrix(covariance.tolist()) + mpmath.mpf(radius) * mpmath.eye(len(mean))
        m = mpmath.matrix(mean.tolist())
        return (m.T * mpmath.lu_solve(C, m))[0]


@pytest.mark.parametrize("confidence", [0.5, 0.99, 1 - 1e-6, 1 - 1e-9])
@pytest.mark.parametrize("radius", RADII)
def test_single_class_mpm(radius, confidence):
    covariance = np.array([[1.0, 0.3, 0.0], [0.3, 4.0, 0.5], [0.0, 0.5, 2.0]])
    kappa = tails.Chebyshev().kappa(confidence)
    # The mean lies at about twice the distance that is needed.
    mean = np.array([1.0, 2.0, 2.0]) * (2 * kappa + 1) * np.sqrt(1 + radius)
    exact = float(1 / (mpmath.sqrt(_exact(mean, covariance, radius)) - kappa))
    moments, ball = cn.Moments(mean, covariance), FrobeniusBall(radius)
    assert cn.methods.single_class_mpm.closed_form(moments, confidence, ball).objective == pytest.approx(
        exact, rel=1e-9
    )
    assert cn.single_class_mpm(moments, confidence, ball).solve().objective == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("radius", RADII)
def test_two_class_mpm(radius):
    covariance = np.array([[1.0, 0.3], [0.3, 4.0]])
    x, y = cn.Moments([0.0, 0.0], covariance), cn.Moments([1.0, 2.0], covariance)
    exact = float(2 / mpmath.sqrt(_exact(y.mean - x.mean, covariance, radius)))
    found = cn.two_class_mpm(x, y, uncertainty=FrobeniusBall(radius)).solve().objective
    assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("nu", [0.0, 1e-12, 1e-3, 1e3, 1e12])
def test_a_mean_ellipsoid_of_any_radius(nu):
    covariance = np.array([[1.0, 0.3], [0.3, 4.0]])
    mean = np.array([3.0, 4.0]) * (1 + nu)
    zeta = mpmath.sqrt(_exact(mean, covariance, 0.0))
    exact = float(1 / (zeta - 1 - mpmath.mpf(nu)))
    found = cn.single_class_mpm(cn.Moments(mean, covariance), 0.5, MeanEllipsoid(nu)).solve().objective
    assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("spread", [1.0, 1e-6])
@pytest.mark.parametrize("radius", RADII)
def test_every_node_of_the_mahalanobis_machine(radius, spread):
    """With every point outside the multipliers are equal, and the optimum is minus half of m'(S + rI)^-1 m."""
    rng = np.random.default_rng(5)
    X = (rng.standard_normal((12, 3)) + 2.0) * np.array([1.0, np.sqrt(spread), spread])
    X = X @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    with mpmath.workdps(DIGITS):
        rows = mpmath.matrix(X.tolist())
        mean = (mpmath.ones(1, 12) * rows / 12).T
        centred = rows - mpmath.ones(12, 1) * mean.T
        C = centred.T * centred / 12 + mpmath.mpf(radius) * mpmath.eye(3)
        exact = float((mean.T * mpmath.lu_solve(C, mean))[0] / 2)
    arguments = {
        "features": cn.LinearFeatures(X),
        "outlier_fraction": 1.0,
        "uncertainty": FrobeniusBall(radius),
        "ddof": 0,
    }
    owner, held = derivation.method("mahalanobis_svm"), []
    for node in owner.nodes.values():
        if node.refusal(arguments) is not None or node.name in BY_MEMBERSHIP:
            continue
        try:
            found = abs(_value(call(node.function, arguments)))
        except ConvexNoveltyError:
            continue
        assert found == pytest.approx(exact, rel=1e-6), (node.name, radius)
        held.append(node.name)
    assert {"robust", "dual", "smo"} <= set(held)


def test_moments_as_a_factor_keep_the_least_variances():
    """Variances 1, 1e-6 and 1e-12 along axes that are not the coordinates', of which no matrix of doubles knows the last."""
    rng = np.random.default_rng(5)
    X = (rng.standard_normal((12, 3)) + 2.0) * [1.0, 1e-3, 1e-6] @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    with mpmath.workdps(DIGITS):
        rows = mpmath.matrix(X.tolist())
        mean = (mpmath.ones(1, 12) * rows / 12).T
        centred = rows - mpmath.ones(12, 1) * mean.T
        zeta = mpmath.sqrt((mean.T * mpmath.lu_solve(centred.T * centred / 12, mean))[0])
    exact = float(1 / (zeta - tails.Chebyshev().kappa(0.3)))
    moments = cn.Moments.estimate(X, representation="low_rank")
    assert cn.methods.single_class_mpm.closed_form(moments, 0.3).objective == pytest.approx(exact, rel=1e-6)
    assert cn.single_class_mpm(moments, 0.3).solve().objective == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in derivation.methods() if name in families()])
def test_a_condition_number_of_1e12_leaves_every_algorithm_in_agreement(name):
    owner = derivation.method(name)
    own = [
        step
        for step in owner.steps
        if "/" not in step.source_node + step.target_node
        and "semi_infinite" not in (step.source_node, step.target_node)
        and not {step.source_node, step.target_node} & BY_MEMBERSHIP
        and step.reference in ("closed form", "algorithm", "other library", "formulation")
    ]
    instance = Instance("condition 1e12", families()[name](Knobs(conditioning=1e12)), method=name)
    rows = check_instance(owner, instance, standard_of(solvers.profile(None)), own)
    assert [f"{r.source} -> {r.target}: {r.reason}" for r in rows if r.verdict == "fail"] == []


def test_two_thousand_points_are_a_hundred_copies_of_twenty():
    """Copies change no optimum, so that a sample of 20 tells what that of 2000 must be."""
    few = np.random.default_rng(3).standard_normal((20, 3)) + 2.0
    many, probe = np.repeat(few, 100, axis=0), np.random.default_rng(4).standard_normal((50, 3)) + 1.0
    for kind, options in (
        (cn.estimators.OneClassSVM, {"outlier_fraction": 0.23}),
        (cn.estimators.SoftBall, {"outlier_fraction": 0.23}),
        (cn.estimators.SingleClassMPM, {"confidence": 0.8}),
    ):
        one, other = kind(gamma=0.3, **options).fit(few), kind(gamma=0.3, **options).fit(many)
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-6), kind.__name__
        values = one.decision_function(probe)
        np.testing.assert_allclose(other.decision_function(probe), values, atol=1e-5 * np.abs(values).max())


def test_a_price_beyond_what_a_solver_resolves_is_refused():
    family = families()["kernel_learning"](Knobs())["features_or_grams"]
    with pytest.raises(cn.errors.InputError, match=r"scale_penalty: 1e\+06 was found"):
        cn.kernel_learning(family, 0.2, 1e6)
    problem = cn.kernel_learning(family, 0.2, 1.0)
    with pytest.raises(cn.errors.InputError, match="scale_penalty"):
        problem.set(scale_penalty=1e9)
    assert problem.parameters["scale_penalty"] == 1.0
