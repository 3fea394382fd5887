"""The unit of a machine's program: the length of the points, or the distance of a reduced hull that comes near to the origin."""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty.algorithms import margin_unit as module
from convexnovelty.algorithms import polish
from convexnovelty.algorithms.margin_unit import margin_unit

Y = np.random.default_rng(0).standard_normal(15)


def _strip(h):
    """Points (+-y, h), whose nearest point is (0, h) for every fraction."""
    return np.c_[np.r_[Y, -Y], np.full(30, h)]


def _unit(points, nu=0.3, shares=None, doubt=1e-15, unit=1.0):
    shares = np.full(len(points), 1 / len(points)) if shares is None else shares
    return margin_unit(points, unit, np.full(len(points), doubt), nu, shares)


@pytest.mark.parametrize("h", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("nu", [0.01, 0.3, 1.0])
def test_a_hull_near_the_origin_gives_its_distance(h, nu):
    assert _unit(_strip(h), nu) == pytest.approx(h, rel=1e-6)


def test_a_hull_that_is_not_near_gives_the_length_of_the_points():
    assert _unit(_strip(0.1)) == 1.0
    assert _unit(_strip(0.1), unit=7.0) == pytest.approx(0.1)


def test_a_hull_that_is_far_beside_most_points_gives_a_bound_of_its_distance():
    points = np.r_[np.full(6, 1.0), np.full(4, 1e6)][:, None]
    distance = (0.6 * 1 + 0.2 * 1e6) / 0.8  # the fraction 0.8 takes two of the far points
    assert _unit(points, nu=0.8) == pytest.approx(distance)
    assert _unit(points, nu=0.5) == 1.0


@pytest.mark.parametrize("depth", [0.0, 1e-5])
def test_a_hull_that_holds_the_origin_gives_the_length_of_the_points(depth):
    assert _unit(np.vstack([_strip(depth), _strip(-depth)])) == 1.0


def test_a_distance_below_what_the_scores_are_known_to_is_none():
    assert _unit(_strip(1e-6), doubt=1e-13) == pytest.approx(1e-6)
    assert _unit(_strip(1e-6), doubt=1e-11) == 1.0


def test_points_without_weight_do_not_count():
    points = np.vstack([_strip(1e-3), [[0.0, -5.0]]])
    assert _unit(points, shares=np.r_[np.full(30, 1 / 30), 0.0]) == pytest.approx(1e-3)


@pytest.mark.parametrize("h", [1e-2, 1e-4, 1e-6])
def test_no_matrix_is_formed_of_many_points(monkeypatch, h):
    monkeypatch.setattr(polish, "GRAM_LIMIT", 29)
    monkeypatch.setattr(module, "nearest", None)
    assert _unit(_strip(h)) == pytest.approx(h, rel=1e-6)
