"""The crossing of a level: known roots, few calls, and functions that never cross."""

from __future__ import annotations

import math

import numpy as np
import pytest

from convexnovelty.algorithms.level_search import crossing

CURVES = {
    "line": (lambda k: k / 7.3 - 1, 7.3),
    "steep line": (lambda k: 1e3 * k - 1, 1e-3),
    "square": (lambda k: k**2 / 50 - 1, math.sqrt(50)),
    "hyperbola": (lambda k: math.sqrt(1 + k * k) / 9 - 1, math.sqrt(80)),
    "kink": (lambda k: max(k / 10, 2 * k / 10 - 1) - 1, 10.0),
    "far": (lambda k: k / 1e6 - 1, 1e6),
    "concave": (lambda k: math.log1p(k) - 2, math.expm1(2)),
}


@pytest.mark.parametrize("guess", [1e-3, 1.0, 300.0])
@pytest.mark.parametrize("name", CURVES)
def test_known_roots(name, guess):
    function, root = CURVES[name]
    calls = []

    def counted(k):
        calls.append(k)
        return function(k)

    assert crossing(counted, guess) == pytest.approx(root, rel=1e-8)
    assert len(calls) <= 40
    assert len(set(calls)) == len(calls)
    assert min(calls) > 0


def test_a_line_is_found_at_once():
    calls = []
    crossing(lambda k: calls.append(k) or k / 7.3 - 1, 1.0)
    assert len(calls) <= 5


def test_no_crossing():
    assert crossing(lambda k: 1 + k) == -math.inf
    assert crossing(lambda k: -1 - 1 / (1 + k)) == math.inf
    assert crossing(lambda k: 0.5 - 0.2 / (1 + k)) == -math.inf


def test_noise_of_a_solver_does_not_keep_it_busy():
    rng = np.random.default_rng(0)
    calls = []

    def noisy(k):
        calls.append(k)
        return k / 3.7 - 1 + 1e-11 * rng.standard_normal()

    assert crossing(noisy, 1.0) == pytest.approx(3.7, rel=1e-9)
    assert len(calls) <= 12


@pytest.mark.parametrize("root", [1e-250, 1e-9, 1e-8, 1e-7, 1e8, 1e9, 1e12, 1e200])
def test_roots_of_every_size_are_found_from_one(root):
    calls = []
    found = crossing(lambda k: calls.append(k) or math.tanh(math.log(k) - math.log(root)), tolerance=0.0)
    assert found == pytest.approx(root, rel=1e-12)
    assert len(calls) <= 60


def test_a_range_ends_the_search():
    def curve(k):
        return math.tanh(math.log(k) - math.log(1e9))

    assert crossing(curve, highest=1e8) == math.inf and crossing(curve, lowest=1e10, guess=1e12) == -math.inf
    assert crossing(curve, lowest=1e8, highest=1e10) == pytest.approx(1e9)
