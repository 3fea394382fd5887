"""A path of fifty radii compiles once, with closed forms and with derived counterparts, in every method."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty import uncertainty as sets
from convexnovelty.declare import call
from convexnovelty.errors import InputError

METHODS = {method.name: method for method in derivation.methods().values() if method.takes is not None}


class Ball(sets.CovarianceSet):
    """By membership alone."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]


class Points(sets.PointSet):
    """By membership alone."""

    def membership(self, u):
        return [cp.norm(u - self.center, 1) <= self.radius]


def made(method: Any, recipe: Any) -> cn.Formulation:
    return call(getattr(cn, method.name), method.instance_around(recipe).arguments)


@pytest.mark.parametrize("route", ["closed", "derived"])
@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_many_radii_compile_once(method, route):
    closed, derived = (sets.NormBall(1, 0.1), Points(0.1)) if method.takes == "points" else (
        sets.FrobeniusBall(0.1), Ball(0.1)
    )  # fmt: skip
    recipe = closed if route == "closed" else derived
    problem, lines = made(method, recipe), []
    radii = np.linspace(0.02, 0.4, 15)
    name = next(name for name in problem.parameters if name.endswith("radius"))
    solutions = problem.path(**{name: radii}, progress=lines.append)
    assert problem.compilations == 1
    assert len(solutions) == len(lines) == 15
    assert lines[0].startswith(f"1 of 15: {name} = 0.02, objective ") and lines[-1].startswith("15 of 15: ")
    objectives = np.array([solution.objective for solution in solutions])
    assert (np.diff(objectives) > 0).all()  # a larger set is never better, and here it is worse
    for i in (0, 7, 14):
        fresh = made(method, closed.replaced(radius=radii[i])).solve().objective
        assert objectives[i] == pytest.approx(fresh, rel=1e-6)


def test_a_path_upwards_and_downwards_is_the_same():
    method = METHODS["single_class_mpm"]
    radii = [0.3, 0.1, 0.02, 0.0, 0.02, 0.1, 0.3]
    there = [solution.objective for solution in made(method, Ball(0.3)).path(radius=radii)]
    assert there[:3] == pytest.approx(there[:3:-1], rel=1e-6)
    assert there[3] == pytest.approx(made(method, None).solve().objective, rel=1e-6)


def test_several_numbers_are_walked_together():
    method = METHODS["single_class_mpm"]
    problem, lines = made(method, sets.FrobeniusBall(0.1)), []
    found = problem.path(radius=[0.1, 0.2], confidence=[0.5, 0.6], progress=lines.append)
    assert lines[1].startswith("2 of 2: radius = 0.2, confidence = 0.6")
    arguments = method.instance_around(sets.FrobeniusBall(0.2)).arguments
    assert found[1].objective == pytest.approx(
        cn.single_class_mpm(arguments["moments"], 0.6, sets.FrobeniusBall(0.2)).solve().objective, rel=1e-7
    )
    with pytest.raises(ValueError, match=r"^path: 2 of radius, 1 of confidence were found"):
        problem.path(radius=[0.1, 0.2], confidence=[0.5])


NORMS: list[Any] = [
    lambda p: sets.NormBall(p, 0.2),
    lambda p: sets.WeightedNormBall(np.diag([1.0, 2.0, 3.0]), p, 0.2),
    lambda p: sets.BlockNormBall([[0], [1, 2]], p, np.inf, 0.2),
    lambda p: sets.BlockNormBall([[0], [1, 2]], 2, p, 0.2),
    lambda p: 2.0 * sets.NormBall(p, 0.1),
    lambda p: sets.MeanWithin(sets.NormBall(p, 0.2)),
    lambda p: sets.DiagonalBall(p, 0.2),
]


@pytest.mark.parametrize("ball", NORMS)
def test_an_exponent_goes_to_infinity_and_back(ball):
    X = np.random.default_rng(4).normal([4.0, 3.0, 5.0], 1.0, (30, 3))

    def posed(exponent: float) -> cn.Formulation:
        if isinstance(ball(2), sets.PointSet):
            return cn.uncertain_points(cn.LinearFeatures(X), 0.2, ball(exponent))
        return cn.single_class_mpm(cn.Moments.estimate(X), 0.4, uncertainty=ball(exponent))

    (name,) = {"p", "r"} & {key for key, value in ball(3).numbers().items() if value == 3}
    anew = [posed(exponent).solve().objective for exponent in (2.0, np.inf, 3.0)]
    walked = [found.objective for found in posed(1.0).path(**{name: [2.0, np.inf, 3.0]})]
    np.testing.assert_allclose(walked, anew, rtol=1e-6)
    assert posed(np.inf).set(**{name: 2}).solve().objective == pytest.approx(anew[0], rel=1e-6)
    assert ball(np.inf).numbers()[name] == np.inf
    for wrong in (0.5, -np.inf, np.nan):
        with pytest.raises(InputError, match=f"{name}: "):
            ball(2).replaced(**{name: wrong})
