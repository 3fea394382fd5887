"""Where searches end: with one free multiplier, and where rounding hides the gap that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from convexnovelty import kernels
from convexnovelty.algorithms import blocks, smo
from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.algorithms.box import Box, kkt_gap
from convexnovelty.algorithms.gram import exponent_doubts, gram_of, padded, weighted_kernels
from convexnovelty.regions import ROUNDING


@pytest.mark.parametrize("free", [0, 1, 2])
def test_a_polished_point_is_exact_with_any_number_of_free_coordinates(free):
    """min b'b/2 - p'b over [0, 1]: the clipped p, from a start that misses it in the free coordinates."""
    p = np.array([0.25, 0.5, 3.0, -2.0])
    p[free:2] = 5.0
    wanted = np.clip(p, 0.0, 1.0)
    start = wanted.copy()
    start[:free] += 1e-3
    program = smo._Program(np.eye(4), -p, Box.of(4, 1.0))
    assert smo._polished(program, start) == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_no_gap_is_asked_for_that_the_last_bits_of_the_gradient_hide(size):
    """A linear term of any size: the search ends, and at a gap that is small beside it."""
    X = np.random.default_rng(1).standard_normal((40, 2))
    gram = gram_of(X, kernels.laplacian(gamma=0.5))
    length = padded(40)
    linear = np.zeros(length)
    linear[:40] = size * (1.0 + np.random.default_rng(2).random(40))
    box = Box.of(40, 0.2, None, 1.0)
    state = blocks.minimise(gram, linear, box.extended(length), 1e-14, rounds=200)
    gradient = kernels.laplacian(gamma=0.5)(X) @ state.b[:40] + linear[:40]
    assert kkt_gap(gradient, state.b[:40], box) <= 1e-13 * max(1.0, float(np.abs(gradient).max()))


def test_a_point_whose_free_block_has_no_curvature_is_left_as_it_is():
    """No Newton step is defined there: pair steps move it to a bound."""
    start = np.array([0.5, 0.25, 0.0])
    curved = np.diag([0.0, 0.0, 1.0])
    for total in (None, 0.75):
        found = smo._polished(smo._Program(curved, np.array([1.0, -1.0, 0.5]), Box.of(3, 1.0, None, total)), start)
        assert found.tolist() == start.tolist()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_no_gap_is_asked_for_that_terms_hide_where_they_cancel(seed, unit):
    """The hull holds the origin: all scores are sums of terms that cancel, and their own last bits tell nothing."""
    x = unit * (np.random.default_rng(seed).normal(size=(59, 1)) + 1)
    assert x.min() < 0 < x.max()
    found = solve_dual(x, kernels.linear(), upper=1.0, tolerance=1e-6, of_scores=1e-9, max_rounds=200)
    assert found.multipliers.sum() == pytest.approx(1.0, abs=1e-14) and (found.multipliers >= 0).all()
    assert abs(found.multipliers @ x).item() <= 1e-13 * np.abs(x).max()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_sums_of_gaussians_are_known_to_what_is_said_of_them(sparse, gamma, far):
    """Differences of whole numbers are exact, and so are these exponents but for their last bit."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (80, 2)) + far * (np.arange(80) % 7 == 0)[:, None]
    weights = rng.random(80) / 40
    kernel = kernels.gaussian(gamma=gamma)
    truth = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2)) @ weights
    points = csr_array(X) if sparse else X
    sums = weighted_kernels(points, kernel, weights, points, 1)
    doubts = exponent_doubts(points, kernel, weights, points, sums)
    assert (np.abs(sums - truth) <= doubts + ROUNDING * weights.sum()).all()
    assert doubts.max() <= 1e-10 * weights.sum()
