"""What is printed wrongly in the papers about uncertain moments, shown failing beside what is right."""

from __future__ import annotations

import numpy as np
import pytest
import set_laws as laws

from convexnovelty import uncertainty as sets

NOMINAL = laws.moments(4)
DIRECTIONS = laws.directions(NOMINAL)[:4]


@pytest.mark.parametrize("a", DIRECTIONS)
def test_the_maximiser_over_the_frobenius_ball_is_not_the_identity(a):
    """Below equation 8 of the first paper: Delta = I attains the value, but is no member (its norm is sqrt(n))."""
    ball = sets.FrobeniusBall(0.5).centred(NOMINAL)
    printed = NOMINAL.covariance + ball.radius * np.eye(4)
    right = ball.worst_member(a)
    value = sets.evaluate_deviation(ball, a, "derived")
    assert np.sqrt(a @ right @ a) == pytest.approx(value, rel=1e-6)
    assert np.sqrt(a @ printed @ a) == pytest.approx(value, rel=1e-6)
    assert laws.distance(ball, right) < 1e-6
    assert laws.distance(ball, printed) > 1e-2
    assert np.linalg.norm(printed - NOMINAL.covariance) == pytest.approx(0.5 * np.sqrt(4))


@pytest.mark.parametrize("a", DIRECTIONS)
def test_over_the_spectral_ball_the_identity_is_a_maximiser(a):
    """The same matrix is a member of the spectral ball, for which the printed sentence would be right."""
    ball = sets.SpectralBall(0.5).centred(NOMINAL)
    assert laws.distance(ball, ball.worst_member(a)) < 1e-6
    assert sets.evaluate_deviation(ball, a) == pytest.approx(
        sets.evaluate_deviation(sets.FrobeniusBall(0.5).centred(NOMINAL), a)
    )


@pytest.mark.parametrize("a", DIRECTIONS)
@pytest.mark.parametrize("nu", [0.3, 1.0, 4.0])
def test_the_multiplier_of_the_mean_ellipsoid(a, nu):
    """Below equation 6 of the first paper: lambda = sqrt(a'Sa) / (2 nu); printed sqrt(a'Sa / (4 nu)).

    The Lagrangian a'm - lambda (q(m) - nu^2) is stationary at the worst mean for the first and not for the second,
    unless nu = 1, where they coincide.
    """
    S, m0 = NOMINAL.covariance, NOMINAL.mean
    worst = sets.MeanEllipsoid(nu).centred(NOMINAL).worst_member(a, S)

    def stationarity(multiplier: float) -> float:
        return float(np.linalg.norm(a - 2 * multiplier * np.linalg.solve(S, worst - m0)) / np.linalg.norm(a))

    assert stationarity(np.sqrt(a @ S @ a) / (2 * nu)) < 1e-10
    printed = stationarity(np.sqrt(a @ S @ a / (4 * nu)))
    assert printed < 1e-10 if nu == 1.0 else printed > 0.1
    assert a @ worst == pytest.approx(a @ m0 + nu * np.sqrt(a @ S @ a))


@pytest.mark.parametrize("a", DIRECTIONS)
def test_the_loewner_interval_is_not_the_frobenius_ball(a):
    """The support vector paper says that its II-B reduces to II-A when D = rI: the worst cases agree, the sets do not."""
    interval, ball = sets.LoewnerInterval(0.5).centred(NOMINAL), sets.FrobeniusBall(0.5).centred(NOMINAL)
    assert sets.evaluate_deviation(interval, a) == pytest.approx(sets.evaluate_deviation(ball, a))
    assert laws.distance(interval, np.zeros((4, 4))) < 1e-6
    assert laws.distance(ball, np.zeros((4, 4))) > 0.1


@pytest.mark.parametrize("kappa", [0.0, 0.5, 3.0])
def test_the_naive_form_of_delage_ye_is_conservative(kappa):
    """sqrt(g1) + kappa sqrt(g2) adds two worst cases that no pair attains at once."""
    a = DIRECTIONS[0]
    joint = sets.DelageYe(0.4, 1.5).centred(NOMINAL)
    s = np.sqrt(a @ NOMINAL.covariance @ a)
    naive = NOMINAL.mean @ a + s * (np.sqrt(0.4) + kappa * np.sqrt(1.5))
    right = sets.evaluate_loss(joint, a, kappa)
    assert right == pytest.approx(sets.Adversary(joint)(a, kappa).value, rel=1e-6)
    assert naive >= right - 1e-9 and (kappa == 0.0 or naive > right + 0.01 * s)


def test_the_vertices_of_a_hull_of_pairs_are_not_enough():
    """The maximum over the pairs is unsafe: a mixture of a bad mean and a bad covariance is worse than both."""
    a = np.array([1.0, 0.0])
    pairs = [(np.array([1.0, 0.0]), np.zeros((2, 2))), (np.zeros(2), np.eye(2))]
    hull = sets.MomentHull(pairs).centred(laws.moments(2))
    vertices = max(m @ a + np.sqrt(a @ S @ a) for m, S in pairs)
    value = sets.evaluate_loss(hull, a, 1.0)
    # Over the mixture t of the second pair: 1 - t + sqrt(t), largest at t = 1/4.
    assert value == pytest.approx(1.25, rel=1e-7) and vertices == pytest.approx(1.0)
    assert sets.Adversary(hull)(a, 1.0).value == pytest.approx(1.25, rel=1e-6)


def test_the_metric_of_the_mean_matters():
    """An ellipsoid in the unknown covariance and one in the nominal covariance are different numbers beside a ball."""
    a = DIRECTIONS[0]
    s0 = np.sqrt(a @ NOMINAL.covariance @ a)
    s = np.sqrt(a @ NOMINAL.covariance @ a + 2.0 * a @ a)
    unknown = sets.MeanEllipsoid(0.7) * sets.FrobeniusBall(2.0)
    known = sets.MeanMetricEllipsoid(0.7) * sets.FrobeniusBall(2.0)
    nominal = NOMINAL.mean @ a
    for route in ("best", "derived"):
        loss = [sets.evaluate_loss(x.centred(NOMINAL), a, 1.3, route) for x in (unknown, known)]
        assert loss == pytest.approx([nominal + 2.0 * s, nominal + 0.7 * s0 + 1.3 * s], rel=1e-6)
