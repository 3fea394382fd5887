"""Analytic centres against closed forms and SciPy's minimiser, and the barriers' derivatives against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from convexnovelty import centring
from convexnovelty.centring import analytic_centre
from convexnovelty.cones import Block, Cones, svec
from convexnovelty.conic import ConicProgram


def program(A, b, **cones):
    A = np.asarray(A, dtype=float)
    return ConicProgram(np.zeros(A.shape[1]), sp.csr_array(A), np.asarray(b, dtype=float), Cones(**cones))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e7])
@pytest.mark.parametrize("start", [0.5, 1e-4, 1e-7])
def test_the_middle_of_a_box_from_next_to_its_wall(unit, start):
    """0 <= x <= (unit, 1), from a point that is nearly in the corner."""
    box = program(np.vstack([-np.eye(2), np.eye(2)]), [0, 0, unit, 1], nonnegative=4)
    found = analytic_centre(box, np.array([unit, 1.0]) * start)
    assert found / [unit, 1.0] == pytest.approx([0.5, 0.5], abs=0.05)


def test_a_triangle_that_is_thin_along_no_axis():
    """The centre of x, y, z >= 0, x + y + z = 1 is its middle; so is that of its image under a matrix next to singular."""
    image = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-3, 0.0], [0.0, 0.3, 1.0]])
    back = np.linalg.inv(image)
    thin = program(np.vstack([np.ones(3) @ back, -back]), [1, 0, 0, 0], zero=1, nonnegative=3)
    found = analytic_centre(thin, image @ [1e-4, 1 - 2e-4, 1e-4])
    assert back @ found == pytest.approx(np.full(3, 1 / 3), abs=0.05)
    assert np.ones(3) @ back @ found == pytest.approx(1.0, abs=1e-9)


def test_matrices_of_trace_one():
    """The determinant of D X D with trace(X) = 1 is largest at X = I / 3, whatever D is."""
    lengths = np.array([1.0, 1e-4, 1e3])
    weights = svec(np.outer(lengths, lengths)) / svec(np.ones((3, 3)))
    trace = svec(np.eye(3)) / weights
    matrices = program(np.vstack([trace, -np.eye(6)]), np.append(1.0, np.zeros(6)), zero=1, semidefinite=(3,))
    start = 0.999 * np.outer([1, 0.1, 0.05], [1, 0.1, 0.05]) / 1.0125 + 0.001 * np.eye(3) / 3
    found = analytic_centre(matrices, weights * svec(start))
    assert found / weights == pytest.approx(svec(np.eye(3) / 3), abs=0.03)


BALLS = {
    "second_order": ({"second_order": (3,)}, np.vstack([np.zeros(2), -np.eye(2)]), np.array([1.0, 3.0, -2.0])),
    # y e^(x/y) <= z with z = 2 and a wall at x >= -3.
    "exponential": (
        {"nonnegative": 1, "exponential": 1},
        np.array([[-1.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]]),
        np.array([3.0, 0.0, 0.0, 2.0]),
    ),
    "power": (
        {"nonnegative": 1, "power": ((0.3, 0.7),)},
        np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, -1.0]]),
        np.array([2.0, 0.0, 1.5, 0.0]),
    ),
}


@pytest.mark.parametrize("kind", BALLS)
def test_curved_cones_against_scipy(kind):
    """The barriers as textbooks have them, minimised by differences alone, from the middle of a coarse net."""
    cones, A, b = BALLS[kind]

    def barrier(x):
        s = b - A @ x
        with np.errstate(all="ignore"):
            if kind == "second_order":
                return -math.log(rest) if s[0] > 0 and (rest := s[0] ** 2 - s[1:] @ s[1:]) > 0 else math.inf
            wall, s = s[0], s[1:]
            if not wall > 0:
                return math.inf
            if kind == "exponential":
                inside = s[1] * np.log(s[2] / s[1]) - s[0] if min(s[1:]) > 0 else -1.0
                return -math.log(wall * inside * s[1] * s[2]) if inside > 0 else math.inf
            inside = s[0] ** 0.6 * s[1] ** 1.4 - s[2] ** 2 if min(s[:2]) > 0 else -1.0
            return -math.log(wall * inside * s[0] ** 0.7 * s[1] ** 0.3) if inside > 0 else math.inf

    net = np.array(np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-4, 4, 41))).reshape(2, -1).T + 0.013
    inner = [x for x in net if math.isfinite(barrier(x))]
    right = scipy.optimize.minimize(
        barrier, inner[len(inner) // 2], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}
    ).x
    tried = 0
    for turn in np.linspace(0, 6, 7):
        towards, reach = np.array([math.cos(turn), math.sin(turn)]), np.array([0.0, 10.0])
        while reach[1] - reach[0] > 1e-7:
            middle = reach.mean()
            reach[0 if math.isfinite(barrier(right + middle * towards)) else 1] = middle
        at_the_wall = right + (reach[0] - 1e-6) * towards
        found = analytic_centre(program(A, b, **cones), at_the_wall)
        if barrier(at_the_wall) - barrier(right) > centring.WORTH + 0.1:
            tried += 1
            assert barrier(found) - barrier(right) < 0.05
    assert tried >= 4
    assert analytic_centre(program(A, b, **cones), right) == pytest.approx(right, abs=1e-5)


@pytest.mark.parametrize(
    ("block", "s"),
    [
        (Block("nonnegative", slice(0, 3)), [0.3, 2.0, 5.0]),
        (Block("second_order", slice(0, 3), 3), [2.0, 0.4, -1.2]),
        (Block("semidefinite", slice(0, 6), 3), svec(np.array([[2.0, 0.3, 0.1], [0.3, 0.7, -0.2], [0.1, -0.2, 1.4]]))),
        (Block("exponential", slice(0, 3)), [-0.4, 0.8, 1.9]),
        (Block("power", slice(0, 3), (0.3, 0.7)), [0.9, 1.7, -0.6]),
        (Block("power", slice(0, 4), (0.2, 0.3, 0.5)), [0.9, 1.7, 0.8, 0.4]),
    ],
)
def test_derivatives_are_those_of_the_barrier(block, s):
    s, step = np.asarray(s, dtype=float), 1e-4
    root, pull = centring._local(block, s)
    axes = step * np.eye(s.size)
    height = {(i, j): 0.0 for i in range(s.size) for j in range(s.size)}
    slope = [(centring._barrier(block, s + e) - centring._barrier(block, s - e)) / (2 * step) for e in axes]
    for i, j in height:
        ends = [a * b * centring._barrier(block, s + a * axes[i] + b * axes[j]) for a in (1, -1) for b in (1, -1)]
        height[i, j] = sum(ends) / (4 * step**2)
    assert -root.T @ pull == pytest.approx(np.array(slope), abs=1e-5)
    assert (root.T @ root).ravel() == pytest.approx(np.array(list(height.values())), rel=1e-4, abs=1e-4)


def test_a_point_on_the_wall_stays():
    box = program(np.vstack([-np.eye(2), np.eye(2)]), [0, 0, 1, 1], nonnegative=4)
    assert analytic_centre(box, np.array([0.0, 0.5])).tolist() == [0.0, 0.5]


def test_equations_alone_have_no_walls():
    point = program(np.eye(2), [0.3, 0.4], zero=2)
    assert analytic_centre(point, np.array([0.3, 0.4])).tolist() == [0.3, 0.4]


def test_a_set_without_an_end_has_no_centre():
    """x >= 0 and |y| <= 1, from next to the wall."""
    ray = program([[-1, 0], [0, 1], [0, -1]], [0, 1, 1], nonnegative=3)
    start = np.array([1e-9, 0.3])
    assert analytic_centre(ray, start).tolist() == start.tolist()
