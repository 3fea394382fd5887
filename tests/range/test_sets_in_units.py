"""Sets that are derived from their membership, in units of 1e-9 to 1e9: the same value, and no untrue word of being empty."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.conic import ConicProgram
from convexnovelty.methods.single_class_mpm import semi_infinite
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

POINTS = np.random.default_rng(0).standard_normal((40, 3)) @ np.diag([1.0, 2.0, 0.5]) + [1.0, 2.0, 3.0]


def made(kind, unit):
    wide, near = FrobeniusBall(0.3 * unit**2), FrobeniusBall(0.2 * unit**2)
    return {
        "ball": wide,
        "intersection": wide & near,
        "sum": wide + near,
        "hull": wide | near,
        "product": MeanEllipsoid(0.3) * (wide & near),
    }[kind]


#: The same sets by closed forms: the smaller ball, the sum of the radii, the larger ball.
CLOSED = {
    "ball": FrobeniusBall(0.3),
    "intersection": FrobeniusBall(0.2),
    "sum": FrobeniusBall(0.5),
    "hull": FrobeniusBall(0.3),
    "product": MeanEllipsoid(0.3) * FrobeniusBall(0.2),
}


@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1e-5, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("kind", CLOSED)
def test_the_value_does_not_depend_on_the_unit(kind, unit):
    right = cn.single_class_mpm(cn.Moments.estimate(POINTS), 0.8, CLOSED[kind]).solve().objective
    moments = cn.Moments.estimate(POINTS * unit)
    assert cn.single_class_mpm(moments, 0.8, made(kind, unit)).solve().objective == pytest.approx(right, rel=1e-6)
    assert semi_infinite(moments, 0.8, made(kind, unit)).objective == pytest.approx(right, rel=1e-6)


def test_bounds_that_differ_in_their_right_hand_side_alone_are_two():
    """Beside a coefficient of one, 2e-13 and 3e-13 would round to the same bound."""
    x = cp.Variable()
    program = ConicProgram.from_problem(cp.Problem(cp.Maximize(x), [x <= 3e-13, x <= 2e-13, 2 * x <= 4e-13]))
    assert sorted(program.without_repetition().b) == pytest.approx([2e-13, 3e-13])
