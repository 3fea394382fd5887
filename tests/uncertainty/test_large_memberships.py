"""Sets whose memberships are handed to a splitting method: the same counterparts as with an interior-point method."""

import numpy as np
import pytest

from convexnovelty import Moments, solvers
from convexnovelty.methods import single_class_mpm
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.spectral_ball import SpectralBall

SETS = (FrobeniusBall(0.1), MeanEllipsoid(0.1) * SpectralBall(0.2), MeanEllipsoid(0.1) * FrobeniusBall(0.1))


@pytest.mark.parametrize("uncertainty", SETS, ids=repr)
def test_derived_counterparts_of_large_sets_are_those_of_small_ones(uncertainty, monkeypatch):
    monkeypatch.setattr(solvers, "LARGE_SEMIDEFINITE", 2)
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 8)) / 3
    moments = Moments(rng.standard_normal(4) + 2, root @ root.T)
    derived = single_class_mpm.derived_counterpart(moments, 0.5, uncertainty).solve()
    exact = single_class_mpm.closed_form(moments, 0.5, uncertainty)
    assert derived.objective == pytest.approx(exact.objective, rel=1e-5)
