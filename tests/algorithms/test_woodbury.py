"""Woodbury's identities between matrices that are written out, and what happens where digits run out."""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty.algorithms import woodbury
from convexnovelty.errors import InputError

RNG = np.random.default_rng(4)
REGULAR = (lambda A: A @ A.T)(RNG.standard_normal((8, 8)))
SINGULAR = (lambda A: A @ A.T)(RNG.standard_normal((8, 3)))
H = np.eye(8) - 1 / 8


@pytest.mark.parametrize("K", [REGULAR, SINGULAR])
def test_centring(K):
    np.testing.assert_allclose(woodbury.centred(K), H @ K @ H, atol=1e-12)


@pytest.mark.parametrize(("r", "c"), [(1.0, 0.1), (0.3, 5.0), (20.0, 1e-3)])
def test_the_metric_is_the_inverse_of_what_equation_eight_says(r, c):
    printed = np.linalg.inv(r * np.linalg.inv(REGULAR) + c * H)
    np.testing.assert_allclose(woodbury.metric_gram(REGULAR, r, c), printed, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(woodbury.metric_gram_by_inverse(REGULAR, r, c), printed, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(r * woodbury.metric_gram_of_shape(REGULAR / r, c), r * printed, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("width", [3, 8, 11])
@pytest.mark.parametrize("c", [0.0, 0.2, 3.0])
def test_the_square_of_the_root_is_the_metric(width, c):
    F = np.random.default_rng(5).standard_normal((8, width)) + 2.0
    R = woodbury.metric_root(F, c)
    np.testing.assert_allclose(R @ R.T, woodbury.metric_gram(F @ F.T, 1.0, c), atol=1e-11)


@pytest.mark.parametrize("K", [REGULAR, SINGULAR])
@pytest.mark.parametrize("c", [0.0, 0.2, 3.0])
def test_an_expansion_solves_its_system(K, c):
    v = RNG.standard_normal(8)
    gamma = woodbury.expansion(K, v, 0.5, c)
    np.testing.assert_allclose(0.5 * gamma + c * H @ K @ gamma, v, atol=1e-11)
    np.testing.assert_allclose(K @ gamma, woodbury.metric_gram(K, 0.5, c) @ v, atol=1e-11)


def test_the_constant_costs_no_covariance():
    """H1 = 0: coefficients whose scores are constant are their own expansion, whatever c is."""
    gamma = np.linalg.solve(REGULAR, np.ones(8))
    np.testing.assert_allclose(woodbury.expansion(REGULAR, gamma, 1.0, 7.0), gamma, atol=1e-9)


def test_a_radius_below_rounding_is_refused():
    with pytest.raises(InputError, match=r"radius: 1e-30 was found, which is lost in the rounding"):
        woodbury.metric_gram(SINGULAR, 1e-30, 1.0)


def test_a_matrix_that_is_not_symmetric_is_refused():
    for c in (0.0, 1.0):
        with pytest.raises(InputError, match="K: "):
            woodbury.metric_gram(np.array([[1.0, 0.5], [0.0, 1.0]]), 1.0, c)


@pytest.mark.parametrize("function", [woodbury.metric_gram, woodbury.metric_gram_by_inverse])
@pytest.mark.parametrize(
    ("replaced", "named"),
    [
        ({name: value}, name)
        for name in "rc"
        for value in (None, "1", -1.0, np.nan, 10**400, [1.0], np.timedelta64(1, "s"))
    ]
    + [({"K": value}, "K") for value in (None, 1.0, np.ones((2, 3)), [[np.nan]], [["a"]])],
)
def test_numbers_out_of_range_are_named(function, replaced, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        function(**{"K": np.eye(3), "r": 1.0, "c": 1.0, **replaced})


def test_vectors_and_factors_out_of_range_are_named():
    for call, named in (
        (lambda: woodbury.expansion(np.eye(3), [1.0], 1.0, 1.0), "v"),
        (lambda: woodbury.expansion(np.eye(3), np.ones(3), 0.0, 1.0), "r"),
        (lambda: woodbury.metric_root(None, 1.0), "factor"),
        (lambda: woodbury.metric_gram_of_shape(np.eye(3), 0.0), "c"),
        (lambda: woodbury.centred("x"), "K"),
    ):
        with pytest.raises(InputError, match=f"^{named}: "):
            call()
