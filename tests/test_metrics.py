"""Samples under an uncertain covariance: whitened points, c and r, and programs in units of order one."""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty.errors import IndefiniteError, InputError, UnboundedError
from convexnovelty.features import LinearFeatures
from convexnovelty.metrics import Sample, whitened
from convexnovelty.uncertainty import EntrywiseInterval, FrobeniusBall, LoewnerInterval

RNG = np.random.default_rng(2)
X = RNG.standard_normal((15, 3)) @ RNG.standard_normal((3, 3)) + [3.0, -2.0, 1.0]
S = np.cov(X.T, bias=True)


@pytest.mark.parametrize("units", [[1, 1, 1], [1e-6, 1.0, 1e6], [1e4, 1e-4, 1]])
def test_products_of_whitened_points_are_those_of_the_metric(units):
    points, covariance = X * units, S * np.outer(units, units)
    found = whitened(points, covariance)
    expected = X @ np.linalg.inv(S) @ X.T
    np.testing.assert_allclose(found.features.gram, expected, atol=1e-9 * expected.max())
    alpha = np.linspace(0, 1, 15)
    w = found.normal(alpha)
    np.testing.assert_allclose(points @ w, expected @ alpha, atol=1e-8 * np.abs(expected @ alpha).max())
    assert found.deviation(alpha) == pytest.approx(np.sqrt(alpha @ expected @ alpha), rel=1e-9)
    np.testing.assert_allclose(found.inverse @ found.root, np.eye(3), atol=1e-10)


def test_a_singular_covariance_is_whitened_on_its_range():
    flat = X - X.mean(axis=0)
    flat[:, 2] = flat[:, 0] + flat[:, 1]
    flat += [1.0, 2.0, 3.0]  # on the plane through the origin in which they vary
    found = whitened(flat, np.cov(flat.T, bias=True))
    expected = flat @ np.linalg.pinv(np.cov(flat.T, bias=True)) @ flat.T
    assert found.features.dimension == 2
    np.testing.assert_allclose(found.features.gram, expected, atol=1e-8 * expected.max())
    with pytest.raises(UnboundedError, match="lies outside of its range"):
        whitened(flat + np.array([0.0, 0.0, 1.0]), np.cov(flat.T, bias=True))


@pytest.mark.parametrize(("c", "ddof", "factor"), [(None, 0, 1.0), (None, 1, 15 / 14), (0.2, 0, 3.0), (0.0, 0, 0.0)])
def test_the_covariance_is_c_times_the_scatter(c, ddof, factor):
    sample = Sample.of(LinearFeatures(X), FrobeniusBall(0.4), c, ddof)
    np.testing.assert_allclose(sample.moments.covariance, factor * S, atol=1e-12)
    assert sample.radius == pytest.approx(0.4)
    np.testing.assert_allclose(sample.worst, factor * S + 0.4 * np.eye(3), atol=1e-12)


def test_only_some_sets_have_a_radius_or_a_worst_covariance():
    assert Sample.of(LinearFeatures(X), LoewnerInterval(0.3)).radius == pytest.approx(0.3)
    nominal = Sample.of(LinearFeatures(X), LoewnerInterval(0.3, "nominal"))
    assert nominal.radius is None and nominal.worst is not None
    assert Sample.of(LinearFeatures(X), EntrywiseInterval(0.3)).worst is None
    assert Sample.of(LinearFeatures(X)).radius == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "uncertainty", [None, FrobeniusBall(0.3), LoewnerInterval(0.5, "nominal"), EntrywiseInterval(0.2)]
)
@pytest.mark.parametrize("units", [[1, 1, 1], [1e-3, 1.0, 1e3]])
def test_a_posed_program_has_units_of_order_one(uncertainty, units):
    sample = Sample.of(LinearFeatures(X * units), uncertainty)
    posed = sample.posed()
    assert np.sqrt((posed.rows**2).sum(axis=1)).mean() == pytest.approx(1.0, abs=0.3)
    y = np.array([0.3, -0.5, 0.2])
    posed.w.variable.save_value(y)
    np.testing.assert_allclose(sample.points @ posed.w.value, posed.unit**2 * posed.rows @ y, rtol=1e-9)
    posed.w.assign(posed.w.value)
    np.testing.assert_allclose(posed.w.variable.value, y, rtol=1e-9)
    back = posed.covariance(np.eye(3))
    assert posed.w.value @ back @ posed.w.value == pytest.approx(posed.unit**2 * y @ y, rel=1e-9)


@pytest.mark.parametrize(
    ("points", "covariance", "named"),
    [
        (None, np.eye(2), "points"),
        ([1.0, 2.0], np.eye(2), "points"),
        ([[np.nan, 2.0]], np.eye(2), "points"),
        ([["a", "b"]], np.eye(2), "points"),
        ([[1.0, 2.0]], None, "covariance"),
        ([[1.0, 2.0]], 1.0, "covariance"),
        ([[1.0, 2.0]], np.eye(3), "covariance"),
        ([[1.0, 2.0]], [[1.0, np.inf], [np.inf, 1.0]], "covariance"),
        ([[1.0, 2.0]], [[1.0, 0.5], [0.0, 1.0]], "covariance"),
    ],
)
def test_what_cannot_be_whitened_is_named(points, covariance, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        whitened(points, covariance)


def test_a_matrix_that_is_no_covariance_is_refused_with_its_eigenvalue():
    with pytest.raises(IndefiniteError, match=r"^covariance: not positive semidefinite, .* -1 ") as caught:
        whitened([[1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]])
    assert caught.value.eigenvalue == pytest.approx(-1.0)
