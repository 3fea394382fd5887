"""Centres whose variances are zero up to rounding, sets that dwarf their centre, and what a set remembers of centres."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws
from test_catalogue import examples

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import EmptySetError, InputError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import tools
from convexnovelty.uncertainty.base import REMEMBERED
from convexnovelty.uncertainty.composite import Composite

# What a product of factors makes of a variance of zero: sixteen digits below the others, and below zero.
BELOW = np.diag([1.0, 1.0, -1e-17])
AXIS = np.array([0.0, 0.0, 2.0])


@pytest.mark.parametrize("recipe", [r for r in examples(3) if not isinstance(r.values[0], Composite)])
def test_a_variance_that_rounding_made_negative_counts_as_zero(recipe):
    """Worst cases, worst members and samples along it are those of a variance of zero, and no root of it is taken."""
    flat, rounded = (
        laws.centred(recipe, Moments(np.array([1.0, 2.0, 3.0]), S)) for S in (np.abs(np.round(BELOW)), BELOW)
    )
    close = 1e-6 * laws.size_of(flat, AXIS)
    assert laws.evaluate(rounded, AXIS) == pytest.approx(laws.evaluate(flat, AXIS), abs=close)
    members = [sets.worst_member(rounded, AXIS, 1.5), rounded.sample(np.random.default_rng(0))]
    for member in members:
        for block in member if isinstance(member, tuple) else (member,):
            assert block is None or np.isfinite(block).all()
    value, worst = laws.value_of(rounded, members[0], AXIS, 1.5), laws.evaluate(flat, AXIS, kappa=1.5)
    # A member that a solver found has a variance that is zero to eleven digits, of which this is the root.
    assert value <= worst + 10.0 * close
    if recipe.exactness == "exact":
        assert value >= worst - close


def test_tools_take_no_root_of_rounding():
    axis, S = np.array([0.0, 0.0, 1.0]), BELOW
    np.testing.assert_allclose(tools.pushed_covariance(S, axis, 0.5), np.diag([1.0, 1.0, 0.25]), atol=1e-15)
    assert np.isfinite(tools.pushed_covariance(-S, np.eye(3)[0], 0.5)).all(), "a trace below zero"
    np.testing.assert_allclose(tools.square_root(S), np.diag([1.0, 1.0, 0.0]))
    assert tools.range_factor(S).shape == (2, 3) and tools.transport_distance(S, S) == pytest.approx(0.0, abs=1e-7)
    assert tools.range_factor(-1e-20 * np.eye(2)).shape == (0, 2)
    least = np.diag([-1e-17, -1e-17])
    assert np.isfinite(tools.bures_step(least, 0.5, np.random.default_rng(0))).all()


@pytest.mark.parametrize("radius", [1e4, 1e7])
def test_a_set_that_dwarfs_its_centre_keeps_its_value_in_every_family(radius):
    nominal = Moments(np.array([1.0, -1.0]), np.diag([1.0, 0.5]))
    a = np.array([3.0, 4.0])
    spread = math.sqrt(a @ nominal.covariance @ a)
    points = sets.NormBall(2, radius).centred(nominal.mean)
    means = sets.MeanWithin(sets.NormBall(2, radius)).centred(nominal)
    for route in ("best", "derived"):
        for uncertainty in (points, means):
            assert sets.evaluate_support(uncertainty, a, route) == pytest.approx(5.0 * radius - 1.0, rel=1e-6)
        covariances = sets.FrobeniusBall(radius).centred(nominal)
        expected = math.sqrt(spread**2 + 25.0 * radius)
        assert sets.evaluate_deviation(covariances, a, route) == pytest.approx(expected, rel=1e-6)
        pairs = (sets.MeanWithin(sets.NormBall(2, radius)) * sets.FrobeniusBall(radius)).centred(nominal)
        loss = sets.evaluate_loss(pairs, a, 2.0, route)
        assert loss == pytest.approx(5.0 * radius - 1.0 + 2.0 * expected, rel=1e-6)
        assert sets.evaluate_deviation(pairs, a, route) == pytest.approx(expected, rel=1e-6)
    for uncertainty in (points, means):
        assert sets.adversary(uncertainty, a).value == pytest.approx(5.0 * radius - 1.0, rel=1e-6)


def test_a_set_is_kept_for_centres_that_are_equal_and_for_the_last_few():
    mean, covariance = np.array([1.0, 2.0]), np.diag([1.0, 3.0])
    recipe = sets.FrobeniusBall(0.3)
    first = recipe.centred(Moments(mean, covariance))
    assert recipe.centred(Moments(mean.copy(), covariance.copy())) is first, "equal numbers are one centre"
    others = [Moments(mean, covariance + np.diag([0.0, 0.1])), Moments(mean + 1e-3, covariance)]
    assert all(recipe.centred(other) is not first for other in others)
    diagonal = Moments.diagonal(mean, np.diag(covariance))
    kept = recipe.centred(diagonal)
    assert kept is not first and recipe.centred(diagonal) is kept
    assert recipe.centred(Moments.diagonal(mean, np.diag(covariance))) is not kept, "other forms are told by identity"
    for i in range(REMEMBERED):
        recipe.centred(Moments(mean + i + 1.0, covariance))
    assert recipe.centred(Moments(mean, covariance)) is not first, "what was met long ago is let go"


def test_sizes_of_delage_and_ye_are_those_of_their_inequalities():
    """R = 3, n = 60,000, p = 2, delta = 0.1, computed with thirty digits."""
    from mpmath import log, mp, mpf, sqrt

    with mp.workdps(30):
        for R, n, p in ((3, 60_000, 2), (3, 60_000, 9), (mpf(1), 60_000, 1)):
            beta = mpf(R) ** 2 / n * (2 + sqrt(2 * log(mpf(40)))) ** 2
            alpha = mpf(R) ** 2 / sqrt(n) * (sqrt(max(1 - mpf(p) / mpf(R) ** 4, mpf(0))) + sqrt(log(mpf(80))))
            expected = float(beta / (1 - alpha - beta)), float((1 + beta) / (1 - alpha - beta))
            assert sets.delage_ye_sizes(float(R), n, p, 0.9) == pytest.approx(expected, rel=1e-12)
    factor = 2.0 + math.sqrt(2.0 * math.log(20.0))
    needed = math.ceil(factor**2)
    assert sets.concentration_radii(1.0, needed, 0.9)[1] == pytest.approx(2.0 * factor / math.sqrt(needed))
    with pytest.raises(InputError, match=f"needs {needed} points"):
        sets.concentration_radii(1.0, needed - 1, 0.9)


@pytest.mark.parametrize("correlation", [1e-12, 1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_round_columns_that_are_uncorrelated_but_for_a_little(correlation, seed):
    """The norm's matrix inequality has the centre's small covariances for right-hand sides, which say nothing of its size."""
    N = np.random.default_rng(seed).standard_normal((3, 3))
    moments = Moments(np.arange(1.0, 4.0), np.eye(3) + correlation * (N + N.T) / 2)
    a, kappa = np.random.default_rng(50 + seed).standard_normal(3), 1.5
    pairs = sets.MeanMetricEllipsoid(0.2) * sets.SpectralBall(0.3)
    both = (pairs & pairs).centred(moments)
    variance = a @ moments.covariance @ a
    expected = a @ moments.mean + 0.2 * np.sqrt(variance) + kappa * np.sqrt(variance + 0.3 * a @ a)
    assert sets.evaluate_loss(both, a, kappa) == pytest.approx(expected, rel=1e-6)
    assert sets.adversary(both, a, kappa).value == pytest.approx(expected, rel=1e-6)


CORRELATED = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]])
SLANT = np.array([1.0, -2.0, 0.5])


class FreeVariances(sets.CovarianceSet):
    """Known covariances and variances that share a budget; entries that do not depend on the member are off by ``noise``."""

    def __init__(self, radius=0.3, noise=()):
        self.radius, self.noise = radius, noise

    def off(self):
        """The diagonal of the known matrix, in the unit of the largest variance."""
        return np.diag(np.array(self.noise or (0.0, 0.0, 0.0)) * self.center.max())

    def known(self, S):
        return [S - cp.diag(cp.diag(S)) == self.center - np.diag(np.diag(self.center)) + self.off()]

    def membership(self, S):
        variances = np.diag(self.center)
        return [*self.known(S), cp.sum(cp.abs(cp.diag(S) - variances) / variances) <= self.radius]


class BetweenBounds(FreeVariances):
    """The same by two inequalities."""

    def known(self, S):
        rest, R = S - cp.diag(cp.diag(S)), self.center - np.diag(np.diag(self.center))
        return [rest <= R - np.abs(self.off()), rest >= R + np.abs(self.off())]


class Masked(FreeVariances):
    """The same with zeros for coefficients."""

    def known(self, S):
        mask = 1.0 - np.eye(3)
        return [cp.multiply(mask, S) == mask * self.center + self.off()]


ROUNDINGS = [(1e-16, 0.0, 0.0), (-1e-16, 1e-17, 0.0), (2.0**-52, 0.0, -(2.0**-53)), (1e-300, 0.0, 0.0)]


def worst_with_free_variances(a, S, radius=0.3):
    """All of the budget goes to the variance that counts most."""
    return math.sqrt(a @ S @ a + radius * (a * a * np.diag(S)).max())


@pytest.mark.parametrize("kind", [FreeVariances, BetweenBounds, Masked])
@pytest.mark.parametrize("noise", ROUNDINGS)
@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (1e-6, 1e-6, 1e-6), (1e3, 1.0, 1e-3)])
def test_rounding_in_entries_that_no_member_has_a_part_in_is_no_statement(kind, noise, units):
    units = np.array(units)
    S, a = units[:, None] * CORRELATED * units, SLANT / units
    held = kind(noise=noise).centred(Moments(units, S))
    right = worst_with_free_variances(a, S)
    assert sets.evaluate_deviation(held, a) == pytest.approx(right, rel=1e-7)
    assert sets.adversary(held, a).value == pytest.approx(right, rel=1e-7)


@pytest.mark.parametrize("kind", [FreeVariances, Masked])
def test_rounding_is_told_beside_the_member_where_the_other_numbers_are_zero(kind):
    held = kind(noise=(1e-17, 0.0, 0.0)).centred(Moments(np.ones(3), np.eye(3)))
    assert sets.evaluate_deviation(held, SLANT) == pytest.approx(worst_with_free_variances(SLANT, np.eye(3)), rel=1e-7)


def test_rounding_in_such_entries_is_no_statement_in_combinations_and_of_gauges():
    """Against the set without it; in a sum members are further variables."""
    moments = Moments(np.array([3.0, 2.0, 1.0]), CORRELATED)
    T = np.diag([1.0, 2.0, 3.0])
    combined = [
        lambda part: part + sets.FrobeniusBall(0.1),
        lambda part: part & sets.FrobeniusBall(10.0),
        lambda part: part | sets.FrobeniusBall(0.01),
        lambda part: 2 * part,
        lambda part: part.image(T),
        lambda part: part.preimage(T),
    ]
    for combine in combined:
        one, other = (combine(FreeVariances(noise=noise)).centred(moments) for noise in (ROUNDINGS[0], ()))
        right = sets.evaluate_deviation(other, SLANT)
        assert sets.evaluate_deviation(one, SLANT) == pytest.approx(right, rel=1e-9)
        assert sets.adversary(one, SLANT).value == pytest.approx(right, rel=1e-6)
    held = FreeVariances(noise=ROUNDINGS[0]).centred(moments)
    assert sets.gauge(held, CORRELATED + np.diag([0.1, 0.0, 0.0])) == pytest.approx(0.1, rel=1e-6)
    program = cn.single_class_mpm(moments, 0.5, FreeVariances(noise=ROUNDINGS[0]))
    for radius in (0.3, 0.5, 0.0):
        program.set(radius=radius)
        right = cn.single_class_mpm(moments, 0.5, FreeVariances(radius)).solve().objective
        assert program.solve().objective == pytest.approx(right, rel=1e-7)
    assert cn.check(program).passed


@pytest.mark.parametrize(
    "kind, sign", [(FreeVariances, "== 1e-09"), (BetweenBounds, "<= -1e-09"), (Masked, "== 1e-09")]
)
def test_more_than_rounding_in_such_entries_is_named(kind, sign):
    held = kind(noise=(1e-9, 0.0, 0.0)).centred(Moments(np.ones(3), CORRELATED))
    told = rf"is empty: an entry of some constraint does not depend on the member and reads 0 {sign}, .* leave the entry out"
    with pytest.raises(EmptySetError, match=told):
        sets.evaluate_deviation(held, SLANT)


def test_an_infinite_bound_makes_no_other_number_small():
    class Bounded(FreeVariances):
        def known(self, S):
            bound = np.where(np.eye(3), -self.off(), np.inf)
            return [S - cp.diag(cp.diag(S)) <= bound, S << 10.0 * np.eye(3)]

    held = Bounded(noise=(0.01, 0.0, 0.0)).centred(Moments(np.ones(3), CORRELATED))
    with pytest.raises(EmptySetError, match=r"reads 0 <= -0\.01, "):
        sets.evaluate_deviation(held, SLANT)


def test_a_number_that_makes_such_an_entry_untrue_is_refused():
    class Shifted(FreeVariances):
        shift: float

        def __init__(self, radius=0.3, shift=0.0):
            super().__init__(radius)
            self.shift = shift

        def off(self):
            return self.shift * np.eye(3)

    program = cn.single_class_mpm(Moments(np.array([3.0, 2.0, 1.0]), CORRELATED), 0.5, Shifted())
    before = program.solve().objective
    program.set(shift=1e-16)
    assert program.solve().objective == pytest.approx(before, rel=1e-9)
    with pytest.raises(EmptySetError, match=r"reads 0 == 0\.01, "):
        program.set(shift=0.01)
        program.solve()
