"""Equivalents of the first three methods stay equal as samples grow from 20 to 400 points."""

from __future__ import annotations

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import datasets
from convexnovelty.methods import one_class_svm, single_class_mpm, soft_ball
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

SIZES = [20, 80, 400]


@pytest.mark.parametrize("n", SIZES)
def test_closed_form_against_program(n):
    points = datasets.blob(n=n, dimension=4).nominal
    features = cn.KernelFeatures(points, cn.kernels.gaussian(gamma="scale"), rank=min(n - 1, 40))
    moments = cn.Moments.estimate(features.training)
    for uncertainty in (FrobeniusBall(0.01), MeanEllipsoid(0.05) * FrobeniusBall(0.01)):
        closed = single_class_mpm.closed_form(moments, 0.6, uncertainty)
        program = cn.single_class_mpm(moments, 0.6, uncertainty).solve()
        assert program.objective == pytest.approx(closed.objective, rel=1e-7)
        np.testing.assert_allclose(
            program.region.decision_values(features.training),
            closed.region.decision_values(features.training),
            atol=1e-5,
        )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("module", [one_class_svm, soft_ball], ids=["plane", "ball"])
def test_dual_against_pair_steps(module, n):
    features = cn.KernelFeatures(datasets.blob(n=n, dimension=4).nominal, cn.kernels.gaussian(gamma="scale"))
    for fraction in (0.05, 0.4):
        dual = module.dual(features, fraction).solve()
        steps = module.sequential(features, fraction)
        assert steps.objective == pytest.approx(dual.objective, rel=1e-6)
        ours, theirs = (s.region.decision_values(features.training) for s in (steps, dual))
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * max(1.0, np.abs(theirs).max()))
