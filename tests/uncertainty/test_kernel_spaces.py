"""Every set in the feature space of a kernel: it runs in every method, or the error says why it means nothing there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty import uncertainty as sets
from convexnovelty.declare import call
from convexnovelty.errors import InputError

METHODS = {method.name: method for method in derivation.methods().values() if method.takes is not None}
SAMPLE = np.random.default_rng(5).standard_normal((9, 2)) + np.array([2.0, -1.0])
RANK = 3


def in_feature_space(method: Any, recipe: Any) -> Any:
    """The method's program in the coordinates that a kernel's factorisation chose."""
    features = cn.KernelFeatures(SAMPLE, cn.kernels.polynomial(degree=2), rank=RANK)
    far = features.coordinates(SAMPLE - 2.0 * SAMPLE.mean(axis=0))
    moments = cn.Moments.estimate(features.training)
    arguments = {
        "features": features,
        "moments": moments,
        "moments_x": moments,
        "moments_y": cn.Moments.estimate(far),
        "positives": np.asarray(far),
        "negative_moments": moments,
        "slack_penalty": 1.0,
        "confidence": 0.1,
        "outlier_fraction": 0.4,
        "uncertainty": (recipe, None) if method.name == "two_class_mpm" else recipe,
    }
    return call(getattr(cn, method.name), arguments)


def anywhere() -> list[Any]:
    """(method, set) for one example of each class, small enough that every method has a solution."""
    found = []
    for method in METHODS.values():
        for kind in sets.of_family(method.takes):
            found.append(pytest.param(method, kind.examples(RANK)[0], id=f"{method.name}-{kind.__name__}"))
    return found


@pytest.mark.parametrize(("method", "recipe"), anywhere())
def test_a_set_runs_in_a_kernels_features_or_says_why_not(method, recipe):
    if recipe.basis_dependent:
        with pytest.raises(InputError, match=r"means something only .* the data, and .*kernel.* their own"):
            in_feature_space(method, recipe)
        return
    found = in_feature_space(method, recipe).solve()
    assert np.isfinite(found.objective)
    assert found.residuals is None or found.residuals.worst < 1e-5


def test_sets_without_a_meaning_are_refused_wherever_they_stand():
    method = METHODS["single_class_mpm"]
    box = sets.MeanWithin(sets.Box(radius=0.1))
    for recipe in (
        sets.EntrywiseInterval(0.2),
        box * sets.FrobeniusBall(0.1),
        sets.FrobeniusBall(0.1) & sets.EntrywiseInterval(0.2),
        2 * sets.DiagonalBall(2, 0.1),
    ):
        with pytest.raises(InputError, match="coordinates of the data"):
            in_feature_space(method, recipe)
    # The same numbers as a plain array are coordinates that the user answers for.
    features = cn.KernelFeatures(SAMPLE, cn.kernels.polynomial(degree=2), rank=RANK)
    assert cn.Moments.estimate(features.training).own_axes and cn.Moments.estimate(features.training[:4]).own_axes
    assert not cn.Moments.estimate(np.asarray(features.training)).own_axes
    merged = cn.Moments.estimate(features.training[:4]) + cn.Moments.estimate(features.training[4:])
    assert merged.own_axes and not cn.Moments.estimate(cn.LinearFeatures(SAMPLE).training).own_axes


TILTED = np.diag([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("recipe", "dependent"),
    [
        (sets.Ellipsoid(0.01 * TILTED), True),
        (sets.MeanWithin(sets.Ellipsoid(0.01 * TILTED)), True),
        (sets.LoewnerInterval(0.02, TILTED), True),
        (sets.LoewnerInterval(0.02, lower=1e-6 * TILTED), True),
        (sets.Ellipsoid(0.01 * np.eye(3)), False),
        (sets.LoewnerInterval(0.02, 2.0 * np.eye(3)), False),
        (sets.LoewnerInterval(0.02, "nominal"), False),
    ],
    ids=repr,
)
def test_a_matrix_means_something_in_the_coordinates_of_the_data_alone(recipe, dependent):
    """A kernel's features would have it depend on the order of the rows; multiples of the identity are the same in any."""
    assert recipe.basis_dependent is dependent
