"""Bounds that a user adds for safety, far beyond any solution: the value is that of the problem without them, in as many digits."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.uncertainty import BuresBall, FrobeniusBall, NormBall

RNG = np.random.default_rng(0)
SHAPED = RNG.normal(size=(40, 3)) * np.array([1.0, 3.0, 0.5]) + 2
OTHER = RNG.normal(size=(40, 3)) * 2

MADE = {
    "one_class_svm": lambda X: (cn.one_class_svm(cn.LinearFeatures(X), 0.2, form="primal"), "w"),
    "uncertain_points": lambda X: (cn.uncertain_points(cn.LinearFeatures(X), 0.2, NormBall(2, 0.1)), "w"),
    "mahalanobis_svm": lambda X: (cn.mahalanobis_svm(cn.LinearFeatures(X), 0.2, BuresBall(0.1)), "w"),
    "single_class_mpm": lambda X: (cn.single_class_mpm(cn.Moments.estimate(X), 0.5, FrobeniusBall(0.1)), "a"),
    "two_class_mpm": lambda X: (cn.two_class_mpm(cn.Moments.estimate(X), cn.Moments.estimate(OTHER)), "a"),
    "soft_ball": lambda X: (cn.soft_ball(cn.LinearFeatures(X), 0.2, form="primal"), "c"),
}
# each with the power of the bound that it is compared with
ATOMS = {
    "entries": (lambda a: a, 1),
    "norm": (cp.norm, 1),
    "absolute values": (cp.norm1, 1),
    "sum of squares": (cp.sum_squares, 2),
}


@pytest.mark.parametrize("method", MADE)
@pytest.mark.parametrize("atom", ATOMS)
def test_the_problem_is_what_it_was(method, atom):
    made, letter = MADE[method](SHAPED + 1e3)
    free = made.solve()
    size = np.abs(free.values[letter]).max()
    (measure, power) = ATOMS[atom]
    for times in (1e3, 1e9):
        bounded = made.subject_to(
            lambda v, measure=measure, cap=(times * size) ** power: measure(v[letter]) <= cap
        ).solve()
        assert bounded.objective == pytest.approx(free.objective, rel=1e-6)
        assert bounded.values[letter] == pytest.approx(free.values[letter], abs=1e-4 * size)


@pytest.mark.parametrize("times", [1e5, 1e9])
@pytest.mark.parametrize("mean", [1e3, 1e5])
def test_a_half_space_far_from_the_origin_stays_where_it_is(times, mean):
    X = RNG.normal(size=(60, 2)) * 3 + 5 + mean
    made = cn.mahalanobis_svm(cn.LinearFeatures(X), 0.21, FrobeniusBall(0.1))
    free = made.solve()
    least = -times * abs(free.values["w"][0])
    bounded = made.subject_to(lambda v: v["w"][0] >= least).solve()
    values = free.region.decision_values(X)
    assert bounded.region.decision_values(X) == pytest.approx(values, abs=1e-4 * values.std())


def test_such_a_bound_may_bind_all_the_same():
    """Where nothing but it bounds the optimum: the longest step along a direction, a million times the size of the others."""
    made = cn.one_class_svm(cn.LinearFeatures(SHAPED + 3), 0.2, form="primal")
    size = float(np.abs(made.solve().values["w"]).max())
    extra = cp.Variable()
    bounded = made.subject_to(lambda v: [extra <= 1e6 * size, extra <= v["w"][0] + 2e6 * size]).plus(
        lambda v: -1e-6 * extra
    )
    solution = bounded.solve()
    assert float(extra.value) == pytest.approx(1e6 * size, rel=1e-6)
    assert solution.objective == pytest.approx(made.solve().objective - size, rel=1e-6)
