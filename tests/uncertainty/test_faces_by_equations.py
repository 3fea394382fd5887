"""Faces of cones that a membership's equations tell, beside what a solver's points show of them."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.uncertainty import evaluate_deviation, evaluate_loss
from convexnovelty.uncertainty.derived import membership_of


def few_rows(seed, rows=6, columns=6, ratio=100.0):
    """Moments of fewer rows than columns, whose deviations in the range differ by a factor."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((columns, columns)))[0] for _ in range(2))
    deviations = np.append(np.geomspace(1.0, 1.0 / ratio, rows - 1), np.zeros(columns - rows + 1))
    X = np.vstack([np.eye(columns)[: rows - 1], -np.ones(columns) * (np.arange(columns) < rows - 1)])
    return cn.Moments.estimate(X @ left.T * deviations @ right.T + rng.standard_normal(columns))


# A set within a large one of another kind is their intersection, and has a closed form.
INSIDE = [
    (sets.KLBall(0.2), sets.GelbrichBall(10.0)),
    (sets.KLBall(0.2), sets.GelbrichBall(100.0)),
    (sets.DelageYe(0.1, 1.3), sets.GelbrichBall(10.0)),
]


@pytest.mark.parametrize(("small", "large"), INSIDE, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_fewer_rows_than_columns_beside_a_transport_ball(small, large, seed):
    moments, rng = few_rows(seed), np.random.default_rng(seed)
    both, alone = (small & large).centred(moments), small.centred(moments)
    for kappa in (0.5, 3.0):
        a = rng.standard_normal(6)
        assert evaluate_loss(both, a, kappa) == pytest.approx(evaluate_loss(alone, a, kappa), rel=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_covariances_of_fewer_rows_than_columns_beside_a_transport_ball(seed):
    moments, a = few_rows(seed), np.random.default_rng(seed).standard_normal(6)
    both = (sets.WishartBall(0.2) & sets.BuresBall(10.0)).centred(moments)
    expected = evaluate_deviation(sets.WishartBall(0.2).centred(moments), a)
    assert evaluate_deviation(both, a) == pytest.approx(expected, rel=2e-6)
    assert not membership_of(both.plain()).tilted


@pytest.mark.parametrize("radius", [2.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_column_without_variance_beside_a_transport_ball(radius, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((3, 3)) * [0.2, 0.5, 0.03], np.full(3, -1.3154442950077403)])
    moments, a = cn.Moments.estimate(X), rng.standard_normal(4)
    both = (sets.WishartBall(0.2) & sets.BuresBall(radius)).centred(moments)
    expected = evaluate_deviation(sets.WishartBall(0.2).centred(moments), a)
    assert evaluate_deviation(both, a) == pytest.approx(expected, rel=2e-6)


def test_the_bound_of_two_classes_of_few_rows():
    """The guarantee of the intersection is that of the smaller set; a face that was off by an angle made it twenty times as large."""
    data, labels = load_breast_cancer(return_X_y=True)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    x, y = (cn.Moments.estimate(data[labels == k][7:stop, :4]) for k, stop in ((0, 10), (1, 11)))
    expected = cn.two_class_mpm(x, y, sets.KLBall(0.2)).solve().guarantee.bound
    found = cn.two_class_mpm(x, y, sets.KLBall(0.2) & sets.GelbrichBall(10.0)).solve().guarantee.bound
    assert found == pytest.approx(expected, rel=1e-5)


class Relative(sets.CovarianceSet):
    """Between two multiples of the centre, which says by inequalities alone that null directions stay so."""

    def membership(self, S):
        return [S << (1 + self.radius) * self.center, S >> (1 - self.radius) * self.center]


@pytest.mark.parametrize("seed", range(4))
def test_between_two_multiples_of_a_singular_centre(seed):
    """The worst member is the larger multiple, and a box of correlations that large bounds nothing."""
    moments, rng = few_rows(seed, ratio=10.0), np.random.default_rng(seed)
    for recipe in (Relative(0.3), Relative(0.3) & sets.EntrywiseInterval(20.0)):
        centred, a = recipe.centred(moments), rng.standard_normal(6)
        expected = np.sqrt(1.3 * a @ moments.covariance @ a)
        assert evaluate_deviation(centred, a) == pytest.approx(expected, rel=1e-6)
        found = sets.adversary(centred, a)
        assert found.value == pytest.approx(expected, rel=1e-6)
        assert a @ found.member @ a == pytest.approx(expected**2, rel=2e-6)
        assert not membership_of(centred.plain()).tilted


@cache
def between_multiples():
    moments = few_rows(1, ratio=10.0)
    return moments, (Relative(0.3) & sets.EntrywiseInterval(20.0)).centred(moments)


@pytest.mark.parametrize("times", [1.3, 1.15, 1.03, 0.8])
def test_the_gauge_between_two_multiples_of_a_singular_centre(times):
    moments, centred = between_multiples()
    assert sets.gauge(centred, times * moments.covariance) == pytest.approx(abs(times - 1) / 0.3, rel=1e-6)
