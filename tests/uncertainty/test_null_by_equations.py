"""Sets whose covariances are all singular by their own equations, as those of factor models and of singular scenarios are."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_wine

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import RecompilationError
from convexnovelty.uncertainty.face import Face

REACH = np.sqrt(1.3)


class Factors(sets.CovarianceSet):
    """S = F'XF for a matrix X within 0.3 of the identity, so that the worst deviation along a is sqrt(1.3) |Fa|."""

    def __init__(self, F, radius=0.3):
        self.F, self.radius = np.asarray(F), radius

    def membership(self, S):
        k = len(self.F)
        X = cp.Variable((k, k), symmetric=True)
        return [S == self.F.T @ X @ self.F, cp.norm(X - np.eye(k), "fro") <= self.radius, X >> 0]


class Shock(sets.CovarianceSet):
    """S = t ff' for 0 <= t <= 0.3: one shock that all columns share."""

    def __init__(self, f, radius=0.3):
        self.f, self.radius = np.asarray(f), radius

    def membership(self, S):
        t = cp.Variable(nonneg=True)
        return [S == t * np.outer(self.f, self.f), t <= self.radius]


class BelowShock(Shock):
    """The same by an inequality, which leaves no room but says so by no equation."""

    def membership(self, S):
        return [S << self.radius * np.outer(self.f, self.f)]


class Pairs(sets.MomentSet):
    """Moments in coordinates of the centre, in which those are within a radius of what they are there."""

    def membership(self, m, S):
        values, axes = np.linalg.eigh(self.center_covariance)
        kept = values > 1e-9 * values[-1]
        F = (axes[:, kept] * np.sqrt(values[kept])).T
        k = len(F)
        T, z = cp.Variable((k, k), symmetric=True), cp.Variable(k)
        return [
            S == F.T @ T @ F,
            m == self.center_mean + F.T @ z,
            cp.norm(T - np.eye(k), "fro") <= self.radius,
            cp.norm(z) <= self.radius,
        ]


class Two(sets.CovarianceSet):
    """S = t ff' + s gg' with t <= 1, and s <= the radius: of rank one where that is zero."""

    def __init__(self, f, g, radius=0.3):
        self.f, self.g, self.radius = np.asarray(f), np.asarray(g), radius

    def membership(self, S):
        t, s = cp.Variable(nonneg=True), self.radius
        return [S == t * np.outer(self.f, self.f) + s * np.outer(self.g, self.g), t <= 1]


def _by_hand(deviations, mean):
    """The two-class machine with one class of mean zero, by a second-order program."""
    a = cp.Variable(mean.size)
    return cp.Problem(cp.Minimize(deviations(a)), [a @ mean == 1]).solve(solver="CLARABEL")


@pytest.mark.parametrize("seed", [1014, 1089, 1082])
def test_a_machine_against_a_factor_model(seed):
    """Against the program written out with |Fa|: null directions read off a solver's points made it up to 2.6e-3 too large."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 16))
    k = int(rng.integers(max(1, p // 2), p))
    F = rng.normal(size=(k, p)) * 10.0 ** rng.uniform(-1, 2, size=(k, 1))
    G = rng.normal(size=(2 * p, p))
    moments = cn.Moments(rng.normal(size=p) + 4, G.T @ G / p)
    variance = 10 ** rng.uniform(-2, 2)
    other = cn.Moments(np.zeros(p), variance * np.eye(p))
    expected = _by_hand(lambda a: REACH * cp.norm(F @ a) + np.sqrt(variance) * cp.norm(a), moments.mean)
    found = cn.two_class_mpm(moments, other, (Factors(F), None)).solve()
    assert found.objective == pytest.approx(expected, rel=2e-7)


def test_a_machine_whose_direction_no_member_sees():
    """With n = null(F) and a class that is round, a = n / n'm is the best one where |n| is small: the set adds nothing."""
    F, mean = np.array([[0.3, -1.0, 0.2], [1.0, 0.5, 3.0]]), np.array([4.0, 2.0, -1.0])
    F = F @ (np.eye(3) - np.outer(mean, mean) / (mean @ mean))
    moments, other = cn.Moments(mean, np.eye(3)), cn.Moments(np.zeros(3), np.eye(3))
    found = cn.two_class_mpm(moments, other, (Factors(F), None)).solve()
    assert found.objective == pytest.approx(1 / np.linalg.norm(mean), rel=2e-7)


@pytest.mark.parametrize("spread", [0.0, 1.5])
@pytest.mark.parametrize(("p", "k"), [(2, 1), (5, 3), (8, 2), (13, 7)])
def test_the_worst_deviation_of_a_factor_model(p, k, spread, rng):
    """sqrt(1.3) |Fa|, for columns of any units."""
    units = 10.0 ** (spread * rng.standard_normal(p))
    F, G = rng.normal(size=(k, p)) * units, rng.normal(size=(2 * p, p)) * units
    centred = Factors(F).centred(cn.Moments(rng.normal(size=p) * units, G.T @ G / p))
    for _ in range(3):
        a = rng.normal(size=p) / units
        expected = REACH * np.linalg.norm(F @ a)
        assert sets.evaluate_deviation(centred, a) == pytest.approx(expected, rel=1e-7)
        assert sets.adversary(centred, a).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("member", [Shock, BelowShock])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1000.0])
def test_a_centre_that_is_no_member_is_not_called_thin(member, scale):
    """sqrt(0.3) |f'a|; the identity is no member, and its variance along the null directions of f no small one."""
    f, a = scale * np.array([1.0, -2.0, 0.5]), np.array([1.0, 1.0, 1.0])
    centred = member(f).centred(cn.Moments([4.0, 4, 4], np.eye(3)))
    expected = np.sqrt(0.3) * abs(f @ a)
    # By inequality alone a solver's points tell the null directions.
    assert sets.evaluate_deviation(centred, a) == pytest.approx(expected, rel=1e-7 if member is Shock else 5e-4)


def test_a_direction_that_hardly_sees_a_shock():
    """One thousandth of f: what a null direction adds of its own would be a multiple of it."""
    f, a = np.ones(6), np.array([1.0, -1.0, 2.0, -2.0, 0.3, -0.299])
    centred = Shock(f).centred(cn.Moments(np.arange(6.0), np.eye(6)))
    assert sets.evaluate_deviation(centred, a) == pytest.approx(np.sqrt(0.3) * abs(f @ a), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_singular_scenarios_within_a_ball_that_holds_them_all(seed):
    """max |F_i a|, by hand; the ball does nothing but make the set one that is met by its membership."""
    rng = np.random.default_rng(seed + 33)
    p, k = 6, 2
    roots = [rng.normal(size=(k, p)) * 10 ** rng.uniform(-1, 1) for _ in range(3 - seed % 2)]
    moments, other = cn.Moments(rng.normal(size=p) + 4, np.eye(p)), cn.Moments(np.zeros(p), np.eye(p))
    recipe = sets.CovarianceHull([F.T @ F for F in roots]) & sets.FrobeniusBall(1e4)

    def deviations(a):
        return cp.max(cp.hstack([cp.norm(F @ a) for F in roots])) + cp.norm(a)

    found = cn.two_class_mpm(moments, other, (recipe, None)).solve()
    assert found.objective == pytest.approx(_by_hand(deviations, moments.mean), rel=2e-7)


@pytest.mark.parametrize("scaled", [True, False], ids=["standardised", "raw"])
@pytest.mark.parametrize(("p", "n"), [(5, 4), (13, 8)])
def test_pairs_in_coordinates_of_a_sample_that_is_smaller_than_its_dimension(p, n, scaled):
    """(r + kappa sqrt(1 + r)) q = 1 with the nominal optimum q; the raw set holds its centre and was called empty."""
    rows, labels = load_wine(return_X_y=True)
    Z = rows / rows.std(axis=0) if scaled else rows
    one, two, r = Z[labels == 0][:n, :p], Z[labels == 1][:n, :p], 0.2
    first, second = cn.Moments.estimate(one), cn.Moments.estimate(two)
    F = [(X - X.mean(axis=0)) / np.sqrt(n) for X in (one, two)]
    units = Z[:, :p].std(axis=0)
    apart = (first.mean - second.mean) / units
    nominal = _by_hand(lambda a: sum(cp.norm((G / units) @ a) for G in F), apart)
    kappa = (1 / nominal - r) / np.sqrt(1 + r)
    assert cn.two_class_mpm(first, second, Pairs(r)).solve().objective == pytest.approx(1 / kappa, rel=2e-7)
    a = np.random.default_rng(0).normal(size=p) / units
    worst = first.mean @ a + (r + 1.5 * np.sqrt(1 + r)) * np.linalg.norm(F[0] @ a)
    assert sets.evaluate_loss(Pairs(r).centred(first), a, 1.5) == pytest.approx(worst, rel=1e-7)


@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4])
def test_a_thin_direction_is_no_null_direction(size):
    """F = (f, size g): variances of size**2 beside those along f count along a direction that f does not see."""
    F = np.array([[1.0, 1.0, 1.0, 1.0], [size, -size, 0.0, 0.0]])
    centred = Factors(F).centred(cn.Moments(np.zeros(4), np.eye(4)))
    face = Face.of([sets.membership_of(centred)], 4, centred.factor)
    assert face.stated.shape[1] == 2
    a = np.array([1.0, -1.0, 0.0, 0.0])
    assert sets.evaluate_deviation(centred, a) == pytest.approx(REACH * np.linalg.norm(F @ a), rel=1e-6)


def test_next_to_null_is_not_called_null():
    """Variances of 1e-10 beside one cannot be told from a solver's rounding, and equations are not to call them none."""
    f, g = np.array([1.0, 1.0, 1.0]), np.array([1.0, -1.0, 0.0])
    S = np.outer(f, f) + 1e-10 * np.outer(g, g)

    class Line(sets.CovarianceSet):
        def membership(self, C):
            t = cp.Variable(nonneg=True)
            return [C == t * S, t <= 1]

    membership = sets.membership_of(Line().centred(cn.Moments(np.zeros(3), np.eye(3))))
    assert membership.null is None or np.linalg.norm(S @ membership.null) <= 1e-13


def test_equations_that_repeat_each_other(rng):
    """S == F'XF twice, once from the other side and in another size, says what it says once."""
    F = rng.normal(size=(3, 5))

    class Twice(Factors):
        def membership(self, S):
            X = cp.Variable((3, 3), symmetric=True)
            return [
                S == self.F.T @ X @ self.F,
                7.0 * (self.F.T @ X @ self.F) == 7.0 * S,
                cp.norm(X - np.eye(3), "fro") <= self.radius,
            ]

    centred = Twice(F).centred(cn.Moments(np.zeros(5), np.eye(5)))
    null = sets.membership_of(centred).null
    assert null.shape == (5, 2)
    assert np.linalg.norm(F @ null) <= 1e-13 * np.linalg.norm(F) * np.linalg.norm(null)


def test_numbers_at_which_null_directions_are_others():
    """t ff' alone at zero, and s gg' beside it elsewhere: set() gives what a fresh problem does."""
    f, g = np.array([1.0, 2.0, 0.0, 1.0]), np.array([0.0, 1.0, -1.0, 0.5])
    moments, other = cn.Moments([3.0, 1.0, 2.0, -1.0], np.eye(4)), cn.Moments(np.zeros(4), np.eye(4))

    def by_hand(s):
        return _by_hand(lambda a: cp.norm(cp.hstack([f @ a, np.sqrt(s) * (g @ a)])) + cp.norm(a), moments.mean)

    machine = cn.two_class_mpm(moments, other, (Two(f, g, 0.3), None))
    for s in (0.3, 0.0, 2.0, 0.3):
        machine.set(radius=s)
        # Compiled for two directions, at zero it has one of them too many.
        assert machine.solve().objective == pytest.approx(by_hand(s), rel=2e-7 if s else 5e-6)


def test_a_face_of_equations_is_left_with_an_error_or_not_at_all(rng):
    """A set whose equations have another null space may not go by the problem that was compiled for the first."""
    f, g = rng.normal(size=4), rng.normal(size=4)
    centre = cn.Moments(np.zeros(4), np.eye(4))
    face = Face.of([sets.membership_of(Shock(f).centred(centre))], 4)
    face.require(sets.membership_of(Shock(-2 * f).centred(centre)))
    with pytest.raises(RecompilationError, match="directions that the compiled problem left out"):
        face.require(sets.membership_of(Shock(f + 1e-6 * g).centred(centre)))


@pytest.mark.parametrize("size", [1e-4, 1e-2, 1e2, 1e4])
def test_a_factor_model_that_is_far_larger_or_smaller_than_its_centre(size):
    """Entries that are zero have no size, and none of theirs may pass for the reach of the set."""
    F, a = size * np.random.default_rng(0).normal(size=(2, 4)), np.array([1.0, -0.5, 2.0, 0.3])
    expected = REACH * np.linalg.norm(F @ a)
    for recipe in (Factors(F), Factors(F) & sets.FrobeniusBall(10 * max(1.0, size**2))):
        centred = recipe.centred(cn.Moments(np.zeros(4), np.eye(4)))
        assert sets.evaluate_deviation(centred, a) == pytest.approx(expected, rel=1e-7)
        assert sets.adversary(centred, a).value == pytest.approx(expected, rel=1e-7)
    plain = Factors(F).centred(cn.Moments(np.zeros(4), np.eye(4)))
    assert sets.membership_of(plain).widths.max() <= 1e2 * np.abs(F.T @ F).max()


@pytest.mark.parametrize("seed", range(5))
def test_null_directions_that_both_classes_share(seed):
    """2 sqrt(1.3) / |z| for means that differ by F'z: along the null directions of F they differ by rounding alone."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 9))
    k = int(rng.integers(1, p))
    F, z, away = rng.normal(size=(k, p)), rng.normal(size=k), 10 * rng.normal(size=p)
    one, two = cn.Moments(away + F.T @ z, F.T @ F), cn.Moments(away, F.T @ F)
    found = cn.two_class_mpm(one, two, Factors(F)).solve()
    assert found.objective == pytest.approx(2 * REACH / np.linalg.norm(z), rel=2e-7)
    assert np.linalg.norm(found.region.normal) <= 1e2
