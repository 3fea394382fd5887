"""The largest feasible confidence that a refusal names: it does not depend on what was asked, and lies at the edge."""

from __future__ import annotations

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InfeasibleError
from convexnovelty.methods import single_class_mpm

MOMENTS = cn.Moments([4.0, 3.0], [[2.0, 0.3], [0.3, 1.0]])
RECIPES = [
    None,
    sets.MeanEllipsoid(0.1) * sets.FrobeniusBall(0.2),
    sets.GelbrichBall(0.5),
    sets.DelageYe(0.1, 1.5),
    sets.KLBall(0.2),
    sets.GelbrichBall(0.3) & sets.GelbrichBall(0.5),
]


def refused(confidence: float, recipe) -> float:
    with pytest.raises(InfeasibleError, match="the largest feasible confidence is") as caught:
        cn.single_class_mpm(MOMENTS, confidence, recipe).solve()
    return caught.value.limit


@pytest.mark.parametrize("recipe", RECIPES, ids=repr)
def test_the_limit_is_where_the_program_ends(recipe):
    limit = refused(0.999, recipe)
    assert refused(min(limit + 0.02, 0.99), recipe) == pytest.approx(limit, abs=1e-6)
    assert np.isfinite(cn.single_class_mpm(MOMENTS, limit - 1e-4, recipe).solve().objective)
    assert refused(limit + 1e-4, recipe) == pytest.approx(limit, abs=1e-6)


def test_the_limit_of_a_joint_set_by_hand():
    """Delage and Ye: zeta against root gamma1 + kappa root(gamma2 - gamma1), or root gamma2 (1 + kappa^2) where that binds."""
    gamma1, gamma2 = 0.1, 1.5
    squared = float(MOMENTS.mean @ np.linalg.solve(MOMENTS.covariance, MOMENTS.mean))
    kappa = np.sqrt(squared / gamma2 - 1.0)
    if gamma1 <= gamma2 / (1.0 + kappa**2):
        kappa = (np.sqrt(squared) - np.sqrt(gamma1)) / np.sqrt(gamma2 - gamma1)
    right = kappa**2 / (1.0 + kappa**2)
    assert refused(0.999, sets.DelageYe(gamma1, gamma2)) == pytest.approx(right, abs=1e-9)
    with pytest.raises(InfeasibleError) as caught:
        single_class_mpm.closed_form(MOMENTS, 0.95, sets.DelageYe(gamma1, gamma2))
    assert caught.value.limit == pytest.approx(right, abs=1e-9)


class Between(sets.CovarianceSet):
    """The SpectralBall by its membership."""

    def membership(self, S):
        width = self.radius * np.eye(self.dimension)
        return [S - self.center << width, S - self.center >> -width]


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize(
    "made",
    [
        lambda radius: Between(radius),
        lambda radius: sets.SpectralBall(radius) & sets.SpectralBall(2 * radius),
        lambda radius: 2 * sets.SpectralBall(radius / 2),
        lambda radius: sets.FrobeniusBall(40 * radius) & sets.SpectralBall(radius),
        lambda radius: sets.SpectralBall(radius) | sets.SpectralBall(radius / 3),
    ],
    ids=["own", "intersection", "dilation", "two_balls", "hull"],
)
def test_the_limit_of_a_set_that_is_met_by_its_membership(made, unit):
    """All have the worst covariance S + rI, and the largest kappa is the norm of the mean in it."""
    rng = np.random.default_rng(1)
    X = unit * (rng.normal(size=(60, 4)) @ np.diag([1.0, 0.7, 0.5, 0.3]) + [1.0, 0.5, 0.8, 0.2])
    moments, radius = cn.Moments.estimate(X), 0.2 * unit**2
    squared = float(moments.mean @ np.linalg.solve(moments.covariance + radius * np.eye(4), moments.mean))
    with pytest.raises(InfeasibleError, match="the largest feasible confidence is") as caught:
        cn.single_class_mpm(moments, 0.8, made(radius)).solve()
    assert caught.value.limit == pytest.approx(squared / (1.0 + squared), rel=1e-6)
