"""Frames: axes that reach every direction, and units that bring deviations to the order of one."""

from __future__ import annotations

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.frames import Frame
from convexnovelty.uncertainty import GelbrichBall

WIDE = np.random.default_rng(0).standard_normal((3, 6)) + 1


@pytest.mark.parametrize("rotate", [True, False])
@pytest.mark.parametrize("points", [WIDE, np.random.default_rng(1).standard_normal((20, 4)) * [1e-3, 1, 1, 1e3]])
def test_every_direction_has_its_place_in_the_frame(rotate, points):
    moments = cn.Moments.estimate(points)
    frame = Frame.of(moments, rotate=rotate)
    a = frame.direction()
    wanted = np.linspace(-1, 1, moments.dimension)
    a.assign(wanted)
    np.testing.assert_allclose(a.value, wanted, atol=1e-9)
    seen = np.asarray(frame.posed(a).value)
    covariance = frame.moments.covariance
    assert seen @ covariance @ seen == pytest.approx(wanted @ moments.covariance @ wanted, rel=1e-9)
    assert frame.moments.mean @ seen == pytest.approx(moments.mean @ wanted, rel=1e-9, abs=1e-12)


def test_fewer_points_than_columns_with_a_set_that_allows_rotation():
    """A direction without nominal variance may be the best one: here it was once left out, and the answer infeasible."""
    moments = cn.Moments.estimate(WIDE)
    solution = cn.single_class_mpm(moments, 0.5, GelbrichBall(0.3)).solve()
    a, radius = solution.region.normal, 0.3
    deviation = np.sqrt(max(a @ moments.covariance @ a, 0.0))  # the best direction may have none, up to rounding
    assert moments.mean @ a - 1 == pytest.approx(deviation + radius * np.sqrt(2) * np.linalg.norm(a), rel=1e-6)
    assert solution.objective == pytest.approx(deviation + radius * np.linalg.norm(a), rel=1e-6)
