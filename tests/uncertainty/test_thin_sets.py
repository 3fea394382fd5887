"""Sets that are thin along directions that are no coordinates: the metric of an ill-conditioned covariance, in sets of one's own.

The truth of each is a closed form: around a centre C all of these sets reach to (1 + r)C along every direction, and ellipsoids
of means take the radius off the distance.
"""

from __future__ import annotations

import itertools
import math
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.cones import Cones
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import SolverError
from convexnovelty.methods.single_class_mpm import semi_infinite
from convexnovelty.round_position import evened_cones, in_position, product
from convexnovelty.uncertainty.derived import membership_of

CONFIDENCE = 0.7
KAPPA = math.sqrt(CONFIDENCE / (1 - CONFIDENCE))
AXES = np.linalg.qr(np.array([[1.0, 2.0, 3.0], [-1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]))[0]


def thin(least):
    """A mean ten deviations off, in equal parts along the three axes of a covariance with this least variance."""
    covariance = AXES @ np.diag([1.0, 0.5, least]) @ AXES.T
    return cn.Moments(AXES @ np.array([5.0, 5.0, 5.0 * math.sqrt(least)]), (covariance + covariance.T) / 2)


class Norm(sets.CovarianceSet):
    """A ball of a norm, in the metric of the centre."""

    kind: int | str = "fro"

    def membership(self, S):
        values, vectors = np.linalg.eigh(self.center)
        G = (vectors / np.sqrt(values)).T
        return [cp.norm(G @ (S - self.center) @ G.T, self.kind) <= self.radius]


class Spectral(Norm):
    """The same with the largest eigenvalue."""

    kind = 2


class Nuclear(Norm):
    """The same with the sum of the eigenvalues' sizes, which brings variables of its own."""

    kind = "nuc"


class Between(sets.CovarianceSet):
    """Between two multiples of the centre."""

    def membership(self, S):
        return [S << (1 + self.radius) * self.center, S >> (1 - self.radius) * self.center]


class Remainder(sets.CovarianceSet):
    """Below a multiple of the centre, by an equation with a remainder."""

    def membership(self, S):
        rest = cp.Variable(self.center.shape, PSD=True)
        return [S + rest == (1 + self.radius) * self.center]


class Ellipsoid(sets.MeanSet):
    """Means by a linear matrix inequality."""

    def membership(self, m, S):
        step = cp.reshape(m - self.center, (m.size, 1), order="F")
        return [cp.bmat([[S, step], [step.T, np.array([[self.radius**2]])]]) >> 0]


class Wide(sets.MomentSet):
    """Delage and Ye's pairs, by linear matrix inequalities."""

    def membership(self, m, S):
        C, step = self.center_covariance, cp.reshape(m - self.center_mean, (m.size, 1), order="F")
        near = cp.bmat([[C, step], [step.T, np.array([[0.1]])]]) >> 0
        return [near, cp.bmat([[1.3 * C - S, step], [step.T, np.eye(1)]]) >> 0]


REACHING = [
    Norm(0.3),
    Spectral(0.3),
    Nuclear(0.3),
    Between(0.3),
    Remainder(0.3),
    Between(0.3) & Norm(0.4),
    Between(0.3) | Norm(0.1),
]


@pytest.mark.parametrize("least", [1e-3, 1e-7])
@pytest.mark.parametrize("uncertainty", REACHING, ids=repr)
def test_covariances_in_the_metric_of_the_centre(uncertainty, least):
    moments = thin(least)
    # zeta = 10 / sqrt(1.3) deviations of the worst covariance, and the objective is 1 / (zeta - kappa).
    right = 1 / (10 / math.sqrt(1.3) - KAPPA)
    for node in (cn.single_class_mpm, semi_infinite):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = node(moments, confidence=CONFIDENCE, uncertainty=uncertainty)
            found = found.solve() if hasattr(found, "solve") else found
        assert found.objective == pytest.approx(right, rel=2e-6), node


@pytest.mark.parametrize("least", [1e-3, 1e-5, 1e-7, 1e-9, 1e-10])
def test_means_and_pairs_in_the_metric_of_the_centre(least):
    moments = thin(least)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cn.single_class_mpm(moments, CONFIDENCE, Ellipsoid(0.3)).solve().objective
        assert found == pytest.approx(1 / (10 - KAPPA - 0.3), rel=1e-6)
        pairs = cn.single_class_mpm(moments, CONFIDENCE, Wide()).solve().objective
    assert pairs == pytest.approx(
        cn.single_class_mpm(moments, CONFIDENCE, sets.DelageYe(0.1, 1.3)).solve().objective, rel=1e-6
    )


@pytest.mark.parametrize("least", [1e-12, 1e-13])
@pytest.mark.parametrize("uncertainty", [Ellipsoid(0.3), Wide()], ids=["means", "pairs"])
def test_what_is_hidden_by_rounding_is_refused(uncertainty, least):
    with pytest.raises(SolverError, match=r"variances are comparable|could not be found"):
        cn.single_class_mpm(thin(least), CONFIDENCE, uncertainty).solve()


@pytest.mark.parametrize("seed", [6, 7, 8])
@pytest.mark.parametrize("moved", ["image", "preimage"])
def test_pairs_under_a_matrix_of_condition_1e4(seed, moved):
    """Delage and Ye's set is the same in all coordinates, so that neither map changes its worst loss."""
    rng = np.random.default_rng(seed)
    root, mean, a = rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal(3)
    moments = cn.Moments(mean, root @ root.T + 0.05 * np.eye(3))
    left, right = (np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2))
    T = left @ np.diag([1.0, 1.0, 1e-4]) @ right
    base = sets.DelageYe(0.1, 1.3)
    truth = sets.evaluate_loss(base.centred(moments), a, 10.0)
    there = getattr(base, moved)(T)
    assert sets.evaluate_loss(there.centred(moments), a, 10.0, "derived") == pytest.approx(truth, rel=1e-6)
    assert sets.evaluate_loss((there & there).centred(moments), a, 10.0) == pytest.approx(truth, rel=1e-6)


def test_a_set_in_round_position_is_the_same_set():
    """The support function of the arrays in position, by both of the membership's routes, against an ellipsoid's own."""
    rng = np.random.default_rng(3)
    held = membership_of(Between(0.3).centred(thin(1e-8)))
    assert held.thin
    worst = 1.3 * thin(1e-8).covariance
    for _ in range(5):
        a = np.linalg.solve(np.linalg.cholesky(worst).T, rng.standard_normal(3))
        w = np.outer(a, a)
        entries = np.concatenate(
            [[w[j, j] if i == j else math.sqrt(2) * w[i, j] for i in range(j + 1)] for j in range(3)]
        )
        value, member = held.maximise(entries)
        assert value == pytest.approx(a @ worst @ a, rel=1e-6)
        assert held.distance(member) <= 1e-6  # what rounding of its entries is, beside variances of 1e-8
        made = held.support(entries)
        assert cp.Problem(cp.Minimize(made.value), made.constraints).solve(solver="CLARABEL") == pytest.approx(
            value, rel=1e-6
        )


def test_position_keeps_what_it_combines():
    """Rows and columns of the new program are the old ones through the two maps."""
    S = cp.Variable((2, 2), symmetric=True)
    rest = cp.Variable((2, 2), PSD=True)
    C = np.array([[1.0, 0.999], [0.999, 1.0]])
    program = ConicProgram.from_problem(cp.Problem(cp.Minimize(cp.trace(S)), [S + rest == C, S >> 0]))
    columns = np.flatnonzero(abs(program.A[: program.cones.zero]).sum(axis=0) > 0)[:3]
    found = in_position(program.A, program.cones, columns)
    assert found.A.toarray() == pytest.approx((found.rows @ program.A @ found.frame).toarray(), abs=1e-10)
    assert found.cones.zero < program.cones.zero
    assert product(found.rows, program.A, found.frame).toarray() == pytest.approx(found.A.toarray(), abs=1e-10)


def columns_of_their_own(seed, least):
    """Moments of columns with deviations from 1e-2 to 1e2, a random direction, and the one along which they are thin."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    covariance = axes @ np.diag([1.0, 0.8, 0.5, least]) @ axes.T
    deviations = 10.0 ** rng.uniform(-2, 2, 4) / np.sqrt(np.diag(covariance))
    covariance = deviations[:, None] * covariance * deviations
    thin_one = axes[:, 3] / deviations
    return cn.Moments(deviations, (covariance + covariance.T) / 2), (rng.normal(size=4) / deviations, thin_one)


def stretch(radius):
    """What a ball of Stein's loss adds to the nominal variance, by the root of w^2 - 1 - 2 log w = 2 radius."""
    return scipy.optimize.brentq(lambda w: w * w - 1 - 2 * math.log(w) - 2 * radius, 1, 9, xtol=1e-15) ** 2 - 1


DIVERGENCES = [
    (sets.WishartBall(0.01) + sets.LoewnerInterval(0.3, "nominal"), stretch(0.01) + 0.3),
    (sets.WishartBall(0.01) + sets.WishartBall(0.1), stretch(0.01) + stretch(0.1)),
    (sets.WishartBall(0.01) | sets.LoewnerInterval(0.3, "nominal"), 0.3),
    (sets.WishartBall(5.0) & sets.LoewnerInterval(0.3, "nominal"), 0.3),
]


@pytest.mark.parametrize("seed, least", [(2, 1e-6), (4, 1e-6), (6, 1e-6), (7, 3e-7), (6, 1e-4)])
@pytest.mark.parametrize("uncertainty, more", DIVERGENCES, ids=[repr(u) for u, _ in DIVERGENCES])
def test_divergences_combined_round_a_thin_centre(uncertainty, more, seed, least):
    """Worst variances of a sum add, and all of these sets have the shape of the centre."""
    moments, directions = columns_of_their_own(seed, least)
    held = uncertainty.centred(moments)
    for a in directions:
        right = math.sqrt((1 + more) * float(a @ moments.covariance @ a))
        assert sets.evaluate_deviation(held, a) == pytest.approx(right, rel=2e-6)
        assert sets.adversary(held, a).value == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("axis", range(5))
def test_two_divergences_round_measurements_of_cells(axis):
    """Radius, perimeter, area, texture and compactness of nuclei, of which the first three nearly tell each other."""
    X = pytest.importorskip("sklearn.datasets").load_breast_cancer().data[:200][:, [0, 2, 3, 1, 5]]
    moments = cn.Moments.estimate(X)
    deviations = np.sqrt(np.diag(moments.covariance))
    a = np.linalg.eigh(moments.covariance / np.outer(deviations, deviations))[1][:, axis] / deviations
    for one, other in ((0.01, 0.1), (0.01, 0.5), (0.001, 0.01)):
        held = (sets.WishartBall(one) + sets.WishartBall(other)).centred(moments)
        right = math.sqrt((1 + stretch(one) + stretch(other)) * float(a @ moments.covariance @ a))
        assert sets.evaluate_deviation(held, a) == pytest.approx(right, rel=2e-6)
        assert sets.adversary(held, a).value == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("direction", [[1.0, 1, 1, 1, 1], [1.0, -1, 1, 1, 1], [0.0, 0, 1, 0, 0]], ids=repr)
def test_sums_beside_columns_of_much_smaller_variance(direction):
    """Deviations from 7e-3 to 350. The suprema of both parts add, and so do the members that attain them."""
    X = pytest.importorskip("sklearn.datasets").load_breast_cancer().data[:, [0, 2, 3, 9, 4]]
    moments, a = cn.Moments.estimate(X), np.array(direction)
    top = float(np.linalg.eigvalsh(moments.covariance)[-1])
    shift, radius = 0.3 * math.sqrt(top), 0.1 * top
    q, length = float(a @ moments.covariance @ a), float(np.linalg.norm(a))
    for uncertainty, right in (
        (sets.BuresBall(shift) + sets.WishartBall(0.2), (math.sqrt(q) + shift * length) ** 2 + stretch(0.2) * q),
        (sets.WishartBall(0.2) + sets.FrobeniusBall(radius), (1 + stretch(0.2)) * q + radius * length**2),
        (
            sets.NuclearBall(radius) + sets.SpectralBall(radius) + sets.WishartBall(0.2),
            (1 + stretch(0.2)) * q + 2 * radius * length**2,
        ),
    ):
        held = uncertainty.centred(moments)
        assert sets.evaluate_deviation(held, a) == pytest.approx(math.sqrt(right), rel=1e-12)
        member = sets.worst_member(held, a)
        assert a @ member @ a == pytest.approx(right, rel=1e-12)
        assert np.linalg.eigvalsh(member)[0] >= -1e-9 * top


ADDING = {
    "frobenius": (sets.FrobeniusBall(0.1), lambda a, C: 0.1 * a @ a),
    "spectral": (sets.SpectralBall(0.2), lambda a, C: 0.2 * a @ a),
    "nuclear": (sets.NuclearBall(0.15), lambda a, C: 0.15 * a @ a),
    "wishart": (sets.WishartBall(0.1), lambda a, C: stretch(0.1) * a @ C @ a),
    "loewner": (sets.LoewnerInterval(0.3, "nominal"), lambda a, C: 0.3 * a @ C @ a),
    "subspace": (sets.SubspaceBall(np.eye(3)[:, :2], 0.25), lambda a, C: 0.25 * a[:2] @ a[:2]),
    "diagonal": (sets.DiagonalBall(1, 0.4), lambda a, C: 0.4 * (a**2).max()),
}


@pytest.mark.parametrize("parts", list(itertools.product(ADDING, repeat=3))[::10], ids="-".join)
def test_a_sum_may_be_bracketed_either_way(parts):
    """The squares add, whichever two parts come first."""
    (one, f), (two, g), (three, h) = (ADDING[name] for name in parts)
    moments, a = cn.Moments([4.0, 3.0, 2.0], np.diag([1.0, 4.0, 0.5]) + 0.2), np.array([1.0, -2.0, 0.5])
    C = moments.covariance
    right = a @ C @ a + f(a, C) + g(a, C) + h(a, C)
    for uncertainty in (one + (two + three), (one + two) + three):
        held = uncertainty.centred(moments)
        assert sets.evaluate_deviation(held, a) == pytest.approx(math.sqrt(right), rel=1e-6)
        member = sets.worst_member(held, a)
        assert a @ member @ a == pytest.approx(right, rel=1e-6)
        assert np.linalg.eigvalsh(member)[0] > 0


def test_sums_within_sums_follow_their_numbers():
    """The suprema of balls add up to one of all radii, before and after one of them changes."""
    moments = cn.Moments([4.0, 3.0, 2.0], np.diag([1.0, 4.0, 0.5]) + 0.2)
    nested = sets.FrobeniusBall(0.1) + (sets.SpectralBall(0.2) + (sets.NuclearBall(0.3) + sets.FrobeniusBall(0.4)))
    program = cn.single_class_mpm(moments, CONFIDENCE, nested)
    for radius in (0.3, 1.2):
        program.set(second_first_radius=radius)
        right = cn.single_class_mpm(moments, CONFIDENCE, sets.FrobeniusBall(0.7 + radius)).solve().objective
        assert program.solve().objective == pytest.approx(right, rel=1e-6)


class Capped(sets.CovarianceSet):
    """A ball whose members reach to half of its radius, above the centre along a direction and below it elsewhere."""

    def membership(self, S):
        step = S - self.center
        return [cp.norm(step, "fro") <= self.radius, self.radius / 2 * np.eye(3) - step >> 0]

    def added_deviation(self, a):
        return cp.norm(np.sqrt(self.radius / 2) * a)


class Below(Capped):
    """The same ball, of which a class says nothing, and names a member far below the centre."""

    added_deviation = sets.CovarianceSet.added_deviation

    def worst_member(self, a):
        half = self.radius / 2
        return self.center + np.diag([half, -half, -half])


def test_a_worst_member_of_a_sum_within_a_sum_is_a_covariance():
    """What the inner sum's part names no worst member for may lie below the centre where the others do."""
    moments, a = cn.Moments(np.zeros(3), np.diag([1.0, 0.26, 0.26])), np.array([1.0, 0.0, 0.0])
    held = (Below(0.5) + (sets.FrobeniusBall(0.2) + Capped(0.5))).centred(moments)
    member = sets.worst_member(held, a)
    assert a @ member @ a == pytest.approx(1.7, rel=1e-6)
    assert np.linalg.eigvalsh(member)[0] >= -1e-9


def test_a_class_that_is_derived_from_one_that_says_what_it_adds_is_asked_for_its_members():
    class Narrower(sets.FrobeniusBall):
        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius / 4]

        def worst_deviation(self, a):
            return None

    held = (Narrower(0.4) + Narrower(0.4)).centred(cn.Moments(np.ones(2), np.eye(2)))
    assert sets.evaluate_deviation(held, [1.0, 0.0]) == pytest.approx(math.sqrt(1.2), rel=1e-6)


class Coordinates(sets.CovarianceSet):
    """Covariances that are diagonal in coordinates of the centre's own, with one bound on the diagonal."""

    bound: str = "inverses"

    def constraints(self, x):
        few = x.size + self.radius
        return {
            "inverses": [cp.sum(x) <= few, cp.sum(cp.inv_pos(x)) <= x.size],
            "logarithms": [cp.sum(x) <= few, cp.sum(cp.log(x)) >= 0],
            "powers": [cp.sum(cp.power(x, 2.5, approx=False)) <= x.size * (1 + self.radius), x >= 0.5],
            "squares": [cp.sum(cp.power(x, 2.5)) <= x.size * (1 + self.radius), x >= 0.5],
        }[self.bound]

    def membership(self, S):
        F = np.asarray(self.factor)
        x = cp.Variable(F.shape[0])
        return [S == F.T @ cp.diag(x) @ F, *self.constraints(x)]


@pytest.mark.parametrize("bound", ["inverses", "logarithms", "powers", "squares"])
@pytest.mark.parametrize("seed, least", [(6, 1e-6), (4, 1e-6), (6, 1e-7)])
def test_variables_of_a_thin_membership_have_the_size_that_they_have_at_the_centre(bound, seed, least):
    moments, directions = columns_of_their_own(seed, least)
    held = type(bound, (Coordinates,), {"bound": bound})(0.3).centred(moments)
    for a in directions:
        weights = (np.asarray(held.factor) @ a) ** 2
        x = cp.Variable(4)
        best = cp.Problem(cp.Maximize(weights / weights.max() @ x), held.constraints(x)).solve(solver="CLARABEL")
        right = math.sqrt(best * weights.max())
        assert sets.evaluate_deviation(held, a) == pytest.approx(right, rel=2e-6)
        assert sets.adversary(held, a).value == pytest.approx(right, rel=2e-6)


def test_cones_are_evened_by_maps_that_keep_them():
    """Members stay members and others stay others, as the cones' definitions have it, and the point that is given is level."""
    rng = np.random.default_rng(11)
    cones = Cones(exponential=2, power=((0.3, 0.7),))
    at = np.array([-14.0, 1.0, 2e-6, 0.0, 1.0, 1.5, 1e-8, 2.0, 6e-3])
    A = evened_cones(at, cones)
    level = A @ at
    assert level[2] == pytest.approx(level[1])
    assert level[5] == 1.5  # a ratio near one stays as it is
    assert level[6] == pytest.approx(level[7])

    def inside(s):
        two = [s[k + 1] * math.exp(s[k] / s[k + 1]) <= s[k + 2] for k in (0, 3)]
        return [*two, abs(s[8]) <= s[6] ** 0.3 * s[7] ** 0.7]

    seen = set()
    for _ in range(200):
        s = at * np.exp(rng.normal(size=9)) * np.where(np.arange(9) == 0, 0.3, 1.0)
        assert inside(A @ s) == inside(s)
        seen |= set(enumerate(inside(s)))
    assert {(0, True), (0, False), (2, True), (2, False)} <= seen
    assert evened_cones(level, cones) is None
