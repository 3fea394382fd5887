"""What a caller does with an array afterwards changes nothing that was made of it."""

from __future__ import annotations

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.novelty_scores import KernelDensity
from convexnovelty.uncertainty import MeanEllipsoid

POINTS = np.random.default_rng(0).normal(size=(20, 2)) + 2
NEW = POINTS[:3] + 0.5


@pytest.mark.parametrize("made", [cn.LinearFeatures, lambda X: cn.KernelFeatures(X, cn.kernels.gaussian(gamma=0.5))])
def test_features(made):
    given = POINTS.copy()
    features = made(given)
    given -= given.mean(axis=0)
    assert features.cross_gram(POINTS) == pytest.approx(features.gram)
    assert features.cross_gram(NEW) == pytest.approx(made(POINTS).cross_gram(NEW))


def test_codebooks():
    given = POINTS.copy()
    problem = cn.vector_quantization(given, 1.0)
    given *= 10
    assert problem.solve().region.contains(POINTS).all()


def test_translations():
    shift, moments = np.array([0.1, 0.2]), cn.Moments.estimate(POINTS)
    recipe = MeanEllipsoid(0.1) + shift
    before = cn.single_class_mpm(moments, 0.3, recipe).solve().objective
    shift *= 7
    assert cn.single_class_mpm(moments, 0.3, recipe).solve().objective == before


def test_densities():
    given, units = POINTS.copy(), np.ones(2)
    density = KernelDensity(given, 0.5, units)
    before = density.log_density(NEW)
    given += 5
    units *= 3
    assert np.array_equal(density.log_density(NEW), before)
