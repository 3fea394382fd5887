"""Intervals of covariances whose ends agree, or nearly so, along some directions; by the class, and as a user may write them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import SolverError


def case(seed: int, thin: float = 0.0):
    rng = np.random.default_rng(seed)
    p = 2 + seed % 3
    v, a = rng.standard_normal(p), rng.standard_normal(p)
    return cn.Moments(np.ones(p), np.outer(v, v) + thin * np.eye(p)), a


COMBINED = {
    "alone": (lambda part: part, 1.0, 0.0),
    "intersection": (lambda part: part & sets.FrobeniusBall(1e3), 1.0, 0.0),
    "sum": (lambda part: part + part, 1.0, 0.0),
    "hull": (lambda part: part | part, 1.0, 0.0),
    "sum with a ball": (lambda part: part + sets.FrobeniusBall(0.1), 1.0, 0.1),
}


@pytest.mark.parametrize("thin", [0.0, 1e-11])
@pytest.mark.parametrize("seed", [2, 11, 16])
@pytest.mark.parametrize("name", COMBINED)
def test_the_upper_end_is_attained(name, seed, thin):
    """a'S0a by hand; with the ball of radius r, a'S0a + r|a|^2. The values were 8 to 59 % too small.

    In units of the terms of a'S0a, which nearly cancel where a is nearly orthogonal to the one long axis.
    """
    combine, share, radius = COMBINED[name]
    moments, a = case(seed, thin)
    centred = combine(sets.LoewnerInterval(0.0)).centred(moments)
    right = np.sqrt(share * (a @ moments.covariance @ a) + radius * (a @ a))
    close = 1e-5 * float(np.linalg.norm(a)) * moments.unit
    for route in ("derived", "best"):
        assert sets.evaluate_deviation(centred, a, route) == pytest.approx(right, abs=close)
    member = sets.worst_member(centred, a)
    assert np.sqrt(a @ member @ a) == pytest.approx(right, abs=close)


def test_ends_that_agree_leave_that_one_covariance():
    moments, a = case(4)
    centred = sets.LoewnerInterval(0.0, lower=moments.covariance).centred(moments)
    right = np.sqrt(a @ moments.covariance @ a)
    assert sets.evaluate_deviation(centred, a, "derived") == pytest.approx(right, rel=1e-6)


def test_a_lower_end_that_agrees_along_one_direction():
    """L <= S <= U with U - L of rank one: U is attained."""
    rng = np.random.default_rng(7)
    root, v, a = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal(3)
    low = root @ root.T
    upper = low + np.outer(v, v)
    centred = sets.LoewnerInterval(0.0, lower=low).centred(cn.Moments(np.zeros(3), upper))
    assert sets.evaluate_deviation(centred, a, "derived") == pytest.approx(np.sqrt(a @ upper @ a), rel=1e-6)


class Below(sets.CovarianceSet):
    """What a user may write: nothing tells that a singular centre leaves no inside."""

    def membership(self, S):
        return [self.center - S >> 0]


@pytest.mark.parametrize("seed", [*range(9), 22, 23, 26, 32, 44, 47])
def test_a_flat_set_of_a_user_is_right_or_refused(seed):
    """Directions that a solver found are known to about 1e-5: the value is, or the set is refused with what would do."""
    moments, a = case(seed)
    right = np.sqrt(a @ moments.covariance @ a)
    try:
        centred = Below().centred(moments)
        values = [sets.evaluate_deviation(centred, a, "derived"), sets.adversary(centred, a).value]
    except SolverError as error:
        assert "write its membership in coordinates" in str(error) or "could not" in str(error)
        return
    assert values == pytest.approx([right, right], abs=1e-4 * float(np.linalg.norm(a)) * moments.unit)


def test_the_same_set_in_coordinates_of_its_own():
    class InCoordinates(sets.CovarianceSet):
        def membership(self, S):
            F = np.asarray(self.factor)
            X = cp.Variable((F.shape[0], F.shape[0]), symmetric=True)
            return [S == F.T @ X @ F, X >> 0, np.eye(F.shape[0]) - X >> 0]

    for seed in range(9):
        moments, a = case(seed)
        centred = InCoordinates().centred(moments)
        right = np.sqrt(a @ moments.covariance @ a)
        assert sets.evaluate_deviation(centred, a, "derived") == pytest.approx(right, rel=1e-6)


class UpTo(sets.CovarianceSet):
    """LoewnerInterval(0.3, "nominal") as a user may write it."""

    def membership(self, S):
        return [S << 1.3 * self.center]


class Band(sets.CovarianceSet):
    def membership(self, S):
        return [S << 1.3 * self.center, S >> 0.7 * self.center]


def samples(seed, column):
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((3, 3))
    X, Y = rng.standard_normal((40, 3)) @ mix + [1.0, 0.0, 1.0], rng.standard_normal((35, 3)) @ mix.T
    return [np.c_[Z, column(Z)] for Z in (X, Y)]


COLUMNS = {"total": lambda Z: Z[:, 0] + Z[:, 1], "second unit": lambda Z: 9 / 5 * Z[:, 0] + 32}


@pytest.mark.parametrize("own", [UpTo, Band])
@pytest.mark.parametrize(("seed", "column"), [(0, "total"), (1, "second unit"), (2, "total")])
def test_a_column_that_others_make_changes_no_machine_of_a_users_set(seed, own, column):
    """The null direction of the covariance is known, and none that is off by an angle deviates by nothing in its place."""
    X, Y = samples(seed, COLUMNS[column])
    E = cn.Moments.estimate
    machines = (
        lambda A, B: cn.moment_classifier(A, E(B), 0.1, own()).solve(),
        lambda A, B: cn.two_class_mpm(E(A), E(B), own()).solve(),
    )
    for machine in machines:
        right, found = machine(X[:, :3], Y[:, :3]), machine(X, Y)
        assert found.objective == pytest.approx(right.objective, rel=1e-4)
    # However long the part of a direction is that no member sees, its deviation is not below that of the rest.
    null = np.array([1.0, 1.0, 0.0, -1.0] if column == "total" else [9 / 5, 0.0, 0.0, -1.0])
    centred, right = own().centred(E(Y)), np.sqrt(1.3 * np.var(Y[:, 2]))
    for length in (0.0, 1e2, 1e5):
        value = sets.evaluate_deviation(centred, length * null + np.eye(4)[2], "derived")
        assert right * (1 - 1e-6) <= value <= right + 1e-4 * (1 + length * np.linalg.norm(null))


class Joint(sets.MomentSet):
    """(m - m0)(m - m0)' <= 1.3 S0 - S, which ties the means to the covariances' null direction."""

    def membership(self, m, S):
        step = cp.reshape(m - self.center_mean, (m.shape[0], 1), order="F")
        return [cp.bmat([[1.3 * self.center_covariance - S, step], [step.T, np.ones((1, 1))]]) >> 0]


@pytest.mark.parametrize("seed", range(3))
def test_nor_of_one_that_ties_means_to_covariances(seed):
    X, Y = samples(seed, COLUMNS["total"])
    right, found = (
        cn.moment_classifier(A, cn.Moments.estimate(B), 0.1, Joint()).solve() for A, B in ((X[:, :3], Y[:, :3]), (X, Y))
    )
    assert found.objective == pytest.approx(right.objective, rel=1e-4)


@pytest.mark.parametrize("deviation", [50.0, 1e3, 5e3, 1e5])
@pytest.mark.parametrize("beside", [True, False])
def test_the_upper_end_in_raw_columns_that_are_nearly_one(beside, deviation):
    """sqrt(a'(S0 + rD)a), which the size of a unit does not change. The two columns' difference counted as none where a third was large."""
    correlation = np.eye(3)
    pair, apart = ((1, 2), [0.3, 100.0, -100.0]) if beside else ((0, 1), [100.0, -100.0, 0.3])
    correlation[pair] = correlation[pair[::-1]] = 1 - 1e-4
    units = np.array([deviation, 1.0, 1.0])
    S, D, a = correlation * np.outer(units, units), 1e-4 * np.diag(units**2), np.array(apart) / units
    interval = sets.LoewnerInterval(0.6, D)
    right = np.sqrt(a @ (S + 0.6 * D) @ a)
    for combined in (
        interval,
        1.0 * interval,
        interval | sets.ExactCovariance(),
        interval & sets.LoewnerInterval(9.0, "nominal"),
    ):
        held = combined.centred(cn.Moments(np.ones(3), S))
        assert sets.evaluate_deviation(held, a, "derived") == pytest.approx(right, rel=2e-6)
        assert sets.adversary(held, a).value == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("width", [1e-1, 1e-2, 1e-4])
def test_entries_of_no_width_beside_columns_that_are_nearly_one(width):
    """Variances alone are uncertain: sqrt(a'(S0 + rW)a), which needs no solver to see how little the others vary."""
    S = np.eye(3)
    S[0, 1] = S[1, 0] = 0.999
    a = np.array([1.0, -1.0, 0.3])
    held = (1.0 * sets.EntrywiseInterval(0.6, width * np.eye(3))).centred(cn.Moments(np.zeros(3), S))
    right = np.sqrt(a @ S @ a + 0.6 * width * (a @ a))
    assert sets.evaluate_deviation(held, a) == pytest.approx(right, rel=2e-6)
    assert sets.adversary(held, a).value == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize(("deviation", "known"), [(30.0, True), (1000.0, True), (5000.0, False), (1e5, False)])
def test_a_nuclear_ball_beside_a_large_column_is_right_or_an_error(deviation, known):
    """Alone and combined it adds r|a|^2, as a spectral ball does, which any solver knows."""
    S = np.diag([deviation**2, 1.0, 1.0])
    S[1, 2] = S[2, 1] = 0.9
    moments, a = cn.Moments(np.ones(3), S), np.array([0.3 / deviation, 1.0, -1.0])
    right = np.sqrt(a @ S @ a + 0.06 * (a @ a))
    for other in (sets.ExactCovariance(), sets.SpectralBall(0.01)):
        spectral = (sets.SpectralBall(0.06) | other).centred(moments)
        assert sets.evaluate_deviation(spectral, a, "derived") == pytest.approx(right, rel=2e-6)
        nuclear = sets.NuclearBall(0.06) | other
        if known:
            assert sets.evaluate_deviation(nuclear.centred(moments), a, "derived") == pytest.approx(right, rel=2e-6)
            assert sets.adversary(nuclear.centred(moments), a).value == pytest.approx(right, rel=2e-6)
        else:
            assert sets.evaluate_deviation(nuclear.centred(moments), a) == pytest.approx(right, rel=1e-9)
            with pytest.raises(SolverError, match=r"radius is \de-\d+ of the largest variance.*SpectralBall"):
                sets.evaluate_deviation(nuclear.centred(moments), a, "derived")
    assert sets.evaluate_deviation(sets.NuclearBall(0.06).centred(moments), a) == pytest.approx(right, rel=1e-9)
