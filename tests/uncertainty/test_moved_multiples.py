"""Multiples of sets that do not hold their centre, which hold some members at no size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.uncertainty import Box, Ellipsoid, FrobeniusBall, MeanWithin, NormBall, gauge


def of_ball(shift: Any, radius: float, step: Any) -> float:
    """The least t >= 0 with |step - t shift| <= t radius, by the quadratic in t."""
    a, b, c = shift @ shift - radius**2, -2.0 * step @ shift, step @ step
    inside = b * b - 4.0 * a * c
    return (-b - math.sqrt(inside)) / (2.0 * a) if inside >= 0 and b < 0 else math.inf


def of_box(shift: Any, half: Any, step: Any) -> float:
    """The least t >= 0 with |step - t shift| <= t half, entry by entry."""
    least, most = 0.0, math.inf
    for low, high, u in zip(shift - half, shift + half, step, strict=True):
        for end, sign in ((high, 1.0), (low, -1.0)):
            # sign u <= sign t end; drawn ends are never zero
            if sign * end > 0:
                least = max(least, u / end)
            else:
                most = min(most, u / end)
    return least if least <= most else math.inf


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(12))
def test_multiples_of_moved_sets_hold_a_member_at_the_least_size_or_at_none(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 6))
    center, shift, step = rng.standard_normal(p) + 3.0, rng.standard_normal(p), rng.standard_normal(p)
    step = step if seed % 3 else shift + 0.1 * step
    F = rng.standard_normal((2 * p, p))
    moments = cn.Moments(center, F.T @ F / (2 * p))
    radius, half = rng.uniform(0.1, 0.9) * np.linalg.norm(shift), np.abs(shift) * rng.uniform(0.1, 0.9, p)
    right = of_ball(shift, radius, step)
    found = gauge((1.0 * (Ellipsoid(np.eye(p), radius) + shift)).centred(center), center + step)
    assert found == pytest.approx(right, rel=1e-6)
    mean = MeanWithin(NormBall(2, radius)) + shift
    assert gauge((1.0 * mean).centred(moments), center + step) == pytest.approx(right, rel=1e-6)
    box = gauge((1.0 * (Box(half) + shift)).centred(center), center + step)
    assert box == pytest.approx(of_box(shift, half, step), rel=1e-6)
    D, U = 0.3 * np.outer(shift, shift), 0.02 * (np.outer(step, shift) + np.outer(shift, step))
    beside = max(right, of_ball(D.ravel(), 0.5 * np.linalg.norm(D), U.ravel()))
    if np.linalg.eigvalsh(moments.covariance + U)[0] > 1e-3 and math.isinf(beside):
        pair = (center + step, moments.covariance + U)
        assert gauge((1.0 * (mean * (FrobeniusBall(0.5 * np.linalg.norm(D)) + D))).centred(moments), pair) == math.inf
