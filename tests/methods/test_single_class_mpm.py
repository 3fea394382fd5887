"""The single-class minimax probability machine against its closed form, an adversary, simulation and bad input."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import Moments, single_class_mpm
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.methods.single_class_mpm import (
    closed_form,
    kernel_closed_form,
    kernel_iterative,
    kernel_ridge,
    kernel_socp,
    semi_infinite,
)
from convexnovelty.uncertainty import (
    Adversary,
    CovarianceSet,
    FrobeniusBall,
    LoewnerInterval,
    MeanEllipsoid,
    SpectralBall,
    as_moment_set,
)

SETS = [
    None,
    MeanEllipsoid(0.3),
    FrobeniusBall(0.2),
    SpectralBall(0.2),
    MeanEllipsoid(0.2) * FrobeniusBall(0.4),
    LoewnerInterval(0.3),
]


@pytest.fixture
def moments() -> cn.Moments:
    mixing = np.array([[1.0, 0.4, 0.0], [0.0, 0.8, -0.3], [0.2, 0.0, 0.6]])
    return cn.Moments([4.0, -3.0, 5.0], mixing @ mixing.T)


class NuclearBall(CovarianceSet):
    """A user's set: membership and nothing else."""

    def membership(self, S):
        return [cp.norm(S - self.center, "nuc") <= self.radius, S >> 0]


# -- equivalents ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uncertainty", [None, FrobeniusBall(0.2), MeanEllipsoid(0.2) * FrobeniusBall(0.2)], ids=repr)
def test_the_checker_is_green(moments, uncertainty):
    """On one sample; the instances of the catalogue are those of the command."""
    report = cn.check(cn.single_class_mpm(moments, 0.7, uncertainty))
    assert report.passed, [row for row in report.rows if row.verdict == "fail"]
    assert report.count("pass") >= 9


@pytest.mark.parametrize("uncertainty", SETS, ids=repr)
def test_program_against_closed_form(moments, uncertainty):
    found = cn.single_class_mpm(moments, 0.7, uncertainty).solve()
    closed = closed_form(moments, 0.7, uncertainty)
    assert found.objective == pytest.approx(closed.objective, rel=1e-7)
    np.testing.assert_allclose(found.values["a"], closed.values["a"], rtol=1e-5)


def test_closed_form_against_high_precision(moments):
    """Equation 14 in fifty digits."""
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 50
    rho, nu, c = mpmath.mpf("0.4"), mpmath.mpf("0.2"), mpmath.mpf("0.7")
    S = mpmath.matrix(moments.covariance.tolist()) + rho * mpmath.eye(3)
    m = mpmath.matrix(moments.mean.tolist())
    direction = mpmath.lu_solve(S, m)
    zeta = mpmath.sqrt((m.T * direction)[0])
    value = 1 / (zeta - mpmath.sqrt(c / (1 - c)) - nu)
    assert closed_form(moments, 0.7, MeanEllipsoid(0.2) * FrobeniusBall(0.4)).objective == pytest.approx(
        float(value), rel=1e-13
    )


def test_users_set_runs_through_factory_and_checker(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=NuclearBall(0.3))
    # The nuclear ball has the same counterpart as the Frobenius ball of the same radius: its extreme points have rank one.
    assert problem.solve().objective == pytest.approx(closed_form(moments, 0.7, FrobeniusBall(0.3)).objective, rel=1e-6)
    report = cn.check(problem)
    assert report.passed
    assert ("semi_infinite", "socp") in {(row.source, row.target) for row in report.rows if row.verdict == "pass"}


def test_kernel_forms_agree_with_coordinates():
    rng = np.random.default_rng(1)
    features = cn.KernelFeatures(rng.standard_normal((30, 2)), cn.kernels.gaussian(width=2.0))
    moments = cn.Moments.estimate(features.training)
    uncertainty = MeanEllipsoid(0.1) * FrobeniusBall(0.02)
    new = features.coordinates(rng.standard_normal((40, 2)))
    reference = closed_form(moments, 0.6, uncertainty)
    values = reference.region.decision_values(new)
    for node in (kernel_closed_form, kernel_ridge, kernel_iterative):
        found = node(features, moments, 0.6, uncertainty)
        assert found.objective == pytest.approx(reference.objective, rel=1e-8)
        np.testing.assert_allclose(found.region.decision_values(new), values, atol=1e-7)
    program = kernel_socp(features, moments, 0.6, uncertainty).solve()
    assert program.objective == pytest.approx(reference.objective, rel=1e-7)
    # The score of a new point by the kernel alone, as the paper evaluates it.
    gamma = kernel_ridge(features, moments, 0.6, uncertainty).values["gamma"]
    Z = rng.standard_normal((5, 2))
    np.testing.assert_allclose(
        features.cross_gram(Z) @ gamma - 1, reference.region.decision_values(features.coordinates(Z)), atol=1e-9
    )


# -- theory: errata and bounds -------------------------------------------------------------------------------------------


def test_erratum_feasibility_is_strict(moments):
    """The paper allows kappa = zeta - nu; there the scale is infinite and no half-space attains it."""
    zeta = 1 / closed_form(moments, 0.0).objective
    limit = zeta**2 / (1 + zeta**2)
    with pytest.raises(InfeasibleError, match="largest feasible confidence") as caught:
        closed_form(moments, limit)
    assert caught.value.limit == pytest.approx(limit, rel=1e-12)
    assert closed_form(moments, limit - 1e-9).objective > 1e6


def test_erratum_worst_covariance_is_not_the_identity(moments):
    """Below equation 8 the paper takes Delta = I, whose Frobenius norm is sqrt(n): it lies outside of the ball."""
    centred = FrobeniusBall(0.4).centred(moments)
    a = np.array([1.0, -2.0, 0.5])
    printed = moments.covariance + 0.4 * np.eye(3)
    assert np.linalg.norm(printed - moments.covariance) > 0.4 + 1e-9
    worst = centred.worst_member(a)
    assert np.linalg.norm(worst - moments.covariance) <= 0.4 + 1e-12
    assert a @ worst @ a == pytest.approx(a @ printed @ a, rel=1e-12)


def test_erratum_multiplier_of_the_mean(moments):
    """Below equation 6: lambda = sqrt(a'Sa) / (2 nu) gives the maximiser; the printed sqrt(a'Sa / (4 nu)) does not."""
    a, nu, S = np.array([1.0, -2.0, 0.5]), 0.3, moments.covariance
    length = np.sqrt(a @ S @ a)

    def shifted(multiplier):
        return S @ a / (2 * multiplier)

    right, printed = shifted(length / (2 * nu)), shifted(np.sqrt(a @ S @ a / (4 * nu)))
    assert right @ np.linalg.solve(S, right) == pytest.approx(nu**2, rel=1e-12)
    assert abs(printed @ np.linalg.solve(S, printed) - nu**2) > 1e-2
    assert a @ right == pytest.approx(nu * length, rel=1e-12)


def test_guarantee_holds_by_simulation_and_is_attained(moments):
    """Chebyshev's bound is attained by the extremal distribution, and is not exceeded by others."""
    solution = cn.single_class_mpm(moments, confidence=0.8).solve()
    assert solution.guarantee.bound == pytest.approx(0.2)
    assert "P(outside) <= 0.2" in solution.guarantee
    extremal = cn.tails.extremal_distribution(
        moments.mean, moments.covariance, -solution.region.normal, -solution.region.offset
    )
    assert extremal.probability_outside == pytest.approx(0.2, rel=1e-6)
    rng = np.random.default_rng(3)
    root = np.linalg.cholesky(moments.covariance)
    outside = {
        "gaussian": rng.standard_normal((40_000, 3)),
        "signs": rng.choice([-1.0, 1.0], (40_000, 3)),
        "skew": rng.exponential(1.0, (40_000, 3)) - 1.0,
    }
    for name, standard in outside.items():
        points = moments.mean + standard @ root.T
        assert (~solution.region.contains(points)).mean() <= 0.2 + 3 * np.sqrt(0.16 / 40_000), name


def test_gaussian_tail_is_tight_for_gaussians(moments):
    solution = cn.single_class_mpm(moments, confidence=0.9, tail=cn.tails.Gaussian()).solve()
    points = np.random.default_rng(4).multivariate_normal(moments.mean, moments.covariance, 200_000)
    assert (~solution.region.contains(points)).mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 200_000))


def test_tails_are_ordered(moments):
    values = [
        cn.single_class_mpm(moments, 0.9, tail=tail).solve().objective
        for tail in (cn.tails.Gaussian(), cn.tails.SymmetricUnimodal(), cn.tails.Unimodal(), cn.tails.Chebyshev())
    ]
    assert values == sorted(values)


# -- invariances ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-8, 1e-6, 1e-4, 1e4, 1e6, 1e8])
def test_units(moments, unit):
    scaled = cn.Moments(unit * moments.mean, unit**2 * moments.covariance)
    for make in (lambda r: FrobeniusBall(0.3 * r), lambda r: MeanEllipsoid(0.2), lambda r: NuclearBall(0.3 * r)):
        plain = cn.single_class_mpm(moments, 0.7, make(1.0)).solve()
        found = cn.single_class_mpm(scaled, 0.7, make(unit**2)).solve()
        assert found.objective == pytest.approx(plain.objective, rel=1e-6)
        np.testing.assert_allclose(unit * found.values["a"], plain.values["a"], rtol=1e-4)


def test_permutation_and_rotation(moments):
    rng = np.random.default_rng(2)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    plain = cn.single_class_mpm(moments, 0.7, FrobeniusBall(0.3)).solve()
    turned = cn.single_class_mpm(
        cn.Moments(rotation @ moments.mean, rotation @ moments.covariance @ rotation.T), 0.7, FrobeniusBall(0.3)
    ).solve()
    np.testing.assert_allclose(turned.values["a"], rotation @ plain.values["a"], atol=1e-6)
    order = [2, 0, 1]
    moved = cn.single_class_mpm(
        cn.Moments(moments.mean[order], moments.covariance[np.ix_(order, order)]), 0.7, NuclearBall(0.3)
    ).solve()
    nuclear = cn.single_class_mpm(moments, 0.7, NuclearBall(0.3)).solve()
    np.testing.assert_allclose(moved.values["a"], nuclear.values["a"][order], atol=2e-5)


def test_affine_invariant_sets_leave_the_direction_alone(moments):
    """A mean ellipsoid only replaces kappa; a Frobenius ball turns the direction."""
    plain = cn.single_class_mpm(moments, 0.7).solve().values["a"]
    shifted = cn.single_class_mpm(moments, 0.7, MeanEllipsoid(0.5)).solve().values["a"]
    turned = cn.single_class_mpm(moments, 0.7, FrobeniusBall(0.5)).solve().values["a"]

    def angle(b):
        return np.arccos(np.clip(plain @ b / np.linalg.norm(plain) / np.linalg.norm(b), -1, 1))

    assert angle(shifted) < 1e-6
    assert angle(turned) > 1e-2


def test_larger_sets_and_confidences_cost_more(moments):
    objectives = [cn.single_class_mpm(moments, 0.7, FrobeniusBall(r)).solve().objective for r in (0.0, 0.1, 0.5)]
    assert objectives == sorted(objectives)
    assert objectives[0] == pytest.approx(cn.single_class_mpm(moments, 0.7).solve().objective, rel=1e-8), (
        "radius 0 is no set"
    )
    path = cn.single_class_mpm(moments, 0.5, FrobeniusBall(0.1)).path(confidence=[0.5, 0.6, 0.7, 0.8])
    assert [s.objective for s in path] == sorted(s.objective for s in path)


# -- cases from the field ------------------------------------------------------------------------------------------------


def test_b16_constant_column_is_certain_at_every_confidence():
    data = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    for confidence in (0.8, 0.9):
        found = closed_form(cn.Moments.estimate(data), confidence)
        assert found.objective == 0.0
        assert found.values["a"][0] == 0.0
        assert found.values["a"][1] >= 1 / 5
        assert cn.single_class_mpm(cn.Moments.estimate(data), confidence).solve().objective == pytest.approx(
            0.0, abs=1e-7
        )
    alone = cn.Moments.estimate(data[:, :1])
    assert closed_form(alone, 0.8).objective == pytest.approx(1 / (np.sqrt(6) - 2), rel=1e-12)
    assert cn.single_class_mpm(alone, 0.8).solve().objective == pytest.approx(2.22474487, rel=1e-7)
    with pytest.raises(InfeasibleError) as caught:
        cn.single_class_mpm(alone, 6 / 7).solve()
    assert caught.value.limit == pytest.approx(6 / 7, rel=1e-12)


def test_b18_fewer_rows_than_columns():
    moments = cn.Moments.estimate(np.eye(3)[:2])
    assert closed_form(moments, 0.8).objective == 0.0
    ridge = FrobeniusBall(0.1)
    assert closed_form(moments, 0.8, ridge).objective == pytest.approx(2 + np.sqrt(5), rel=1e-12)
    assert cn.single_class_mpm(moments, 0.8, ridge).solve().objective == pytest.approx(4.23606798, rel=1e-7)
    with pytest.raises(InfeasibleError) as caught:
        cn.single_class_mpm(moments, 5 / 6, ridge).solve()
    assert caught.value.limit == pytest.approx(5 / 6, rel=1e-9)


def test_b21_one_column_and_one_row():
    one = cn.Moments.estimate(np.arange(1.0, 4.0)[:, None])
    assert one.covariance.shape == (1, 1)
    assert closed_form(one, 0.0).objective == pytest.approx(1 / np.sqrt(6), rel=1e-12)
    assert cn.single_class_mpm(one, 0.5).solve().objective == pytest.approx(1 / (np.sqrt(6) - 1), rel=1e-7)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_b23_the_edge_of_feasibility(solver):
    moments = cn.Moments([3.0, 4.0], np.eye(2))
    assert cn.single_class_mpm(moments, 0.96).solve(solver).objective == pytest.approx(5 + 2 * np.sqrt(6), rel=1e-4)
    for confidence in (25 / 26, 0.97):
        with pytest.raises(InfeasibleError, match=r"largest feasible confidence is 0\.96153846") as caught:
            cn.single_class_mpm(moments, confidence).solve(solver)
        assert caught.value.limit == pytest.approx(25 / 26, rel=1e-12)
    kappa = np.sqrt((25 / 26 - 1e-9) / (1 / 26 + 1e-9))
    assert closed_form(moments, 25 / 26 - 1e-9).objective == pytest.approx(1 / (5 - kappa), rel=1e-6)
    assert closed_form(moments, 25 / 26 - 1e-9).objective == pytest.approx(1.4793e7, rel=1e-4)


def test_b30_column_vectors_are_ravelled():
    column = cn.Moments(np.array([[3.0], [4.0]]), np.eye(2))
    assert column.mean.shape == (2,)
    assert cn.single_class_mpm(column, 0.5).solve().objective == pytest.approx(1 / 4, rel=1e-8)


def test_limit_for_a_set_without_closed_form(moments):
    with pytest.raises(InfeasibleError, match="largest feasible confidence") as caught:
        cn.single_class_mpm(moments, 0.9999, NuclearBall(0.3)).solve()
    reference = closed_form(moments, 0.0, FrobeniusBall(0.3))
    zeta = 1 / reference.objective
    assert caught.value.limit == pytest.approx(zeta**2 / (1 + zeta**2), rel=1e-5)


def test_no_confidence_is_feasible_at_the_origin():
    with pytest.raises(InfeasibleError, match="no confidence is feasible"):
        cn.single_class_mpm(cn.Moments([0.0, 0.0], np.eye(2)), 0.0).solve()


# -- bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.0, 1.5, -0.1, float("nan"), float("inf"), "0.9", None, [0.5]])
def test_bad_confidence(moments, value):
    with pytest.raises(InputError, match="confidence"):
        cn.single_class_mpm(moments, value)


def test_bad_moments_and_sets(moments):
    with pytest.raises(InputError, match=r"moments: ndarray was found; give cn\.Moments"):
        cn.single_class_mpm(np.zeros((3, 2)), 0.5)
    with pytest.raises(InputError, match="uncertainty"):
        cn.single_class_mpm(moments, 0.5, uncertainty="frobenius")
    with pytest.raises(InputError, match="tail"):
        cn.single_class_mpm(moments, 0.5, tail="nonsense")
    for radius in (-1.0, float("nan")):
        with pytest.raises(InputError, match="radius"):
            cn.single_class_mpm(moments, 0.5, FrobeniusBall(radius))


def test_attack_of_the_solution_does_not_succeed(moments):
    """Brute force: no sampled member of the set breaks the constraint at the optimum."""
    uncertainty = MeanEllipsoid(0.2) * FrobeniusBall(0.4)
    solution = cn.single_class_mpm(moments, 0.7, uncertainty).solve()
    a, kappa = solution.values["a"], cn.tails.Chebyshev().kappa(0.7)
    robust = as_moment_set(uncertainty).centred(moments)
    rng = np.random.default_rng(5)
    for _ in range(200):
        m, S = robust.sample(rng)
        assert a @ m - kappa * np.sqrt(a @ S @ a) >= 1 - 1e-7
    worst = Adversary(robust)(-a, kappa)
    assert worst.value == pytest.approx(-1.0, abs=1e-6), "and the worst member attains it"


def test_cutting_planes_bound_from_both_sides(moments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = semi_infinite(moments, 0.7, FrobeniusBall(0.3))
    assert found.objective == pytest.approx(closed_form(moments, 0.7, FrobeniusBall(0.3)).objective, rel=1e-7)


@pytest.mark.parametrize(("count", "radius"), [(8, 0.01), (30, 0.1), (30, 0.01)])
def test_cutting_planes_meet_where_many_nearly_coincide(count, radius):
    """In twelve dimensions, with fewer points and with more, the master's solver ends short of its tolerances."""
    columns = pytest.importorskip("sklearn.datasets").load_breast_cancer().data[:, :12]
    moments = cn.Moments.estimate((columns / columns.std(0))[:count])
    # The largest covariance of the ball is that of every direction: zeta^2 = m'(S + rho I)^-1 m.
    kappa, worst = np.sqrt(0.7 / 0.3), moments.covariance + radius * np.eye(12)
    zeta = np.sqrt(moments.mean @ np.linalg.solve(worst, moments.mean))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = semi_infinite(moments, 0.7, FrobeniusBall(radius))
    assert found.objective == pytest.approx(1 / (zeta - kappa), rel=1e-7)
    a = found.values["a"]
    assert a @ moments.mean - kappa * np.sqrt(a @ worst @ a) >= 1 - 1e-7


@pytest.mark.parametrize("uncertainty", [None, MeanEllipsoid(0.2) * LoewnerInterval(0.3, shape="nominal")], ids=repr)
def test_columns_in_other_units_are_the_same_problem(uncertainty):
    # The direction scales against the columns, and the objective not at all. With units from 1e-4 to 1e4 the variances
    # differ by 1e16, and a program posed in the axes of the largest would not see the others.
    rng = np.random.default_rng(3)
    points = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4)) + 3.0
    units = np.array([1e-4, 1e-1, 1e2, 1e4])
    here = cn.single_class_mpm(cn.Moments.estimate(points), 0.6, uncertainty).solve()
    there = cn.single_class_mpm(cn.Moments.estimate(points * units), 0.6, uncertainty).solve()
    closed = closed_form(cn.Moments.estimate(points * units), 0.6, uncertainty)
    assert there.objective == pytest.approx(here.objective, rel=1e-7)
    assert closed.objective == pytest.approx(here.objective, rel=1e-7)
    np.testing.assert_allclose(there.values["a"] * units, here.values["a"], rtol=1e-4)
    np.testing.assert_allclose(closed.values["a"] * units, here.values["a"], rtol=1e-5)


def test_the_plane_of_a_coordinate_that_never_varies_goes_through_its_scale():
    """Means (1, 2), variances (1, 0): a = (0, 1/2) has a'm = 1 and no deviation, at every confidence."""
    found = closed_form(cn.Moments(np.array([1.0, 2.0]), np.diag([1.0, 0.0])), 0.99)
    assert found.objective == 0.0
    assert found.region.normal / found.region.offset == pytest.approx([0.0, 0.5], abs=1e-12)


# -- columns of which one follows from others ---------------------------------------------------------------------------

REDUNDANT = {
    "twice": lambda X: np.c_[X, X[:, 0]],
    "doubled": lambda X: np.c_[X, 2 * X[:, 0]],
    "total": lambda X: np.c_[X, X.sum(axis=1)],
    "units": lambda X: np.c_[X, 1e5 * X[:, 0]],
}


@pytest.mark.parametrize("uncertainty", [None, sets.MeanEllipsoid(0.05), sets.KLBall(0.01)], ids=repr)
@pytest.mark.parametrize("redundant", REDUNDANT)
def test_a_redundant_column_changes_nothing(redundant, uncertainty):
    """The mean of 1e-16 along a direction without variance was stretched to one: 1e-10 for 0.45, said to be optimal."""
    X = np.random.default_rng(1).normal([3.0, 1.0], 1.0, size=(60, 2))
    wider = REDUNDANT[redundant](X)
    expected = single_class_mpm(Moments.estimate(X), 0.7, uncertainty).solve()
    found = single_class_mpm(Moments.estimate(wider), 0.7, uncertainty).solve()
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    assert np.abs(found.region.normal).max() < 1.0
    points = REDUNDANT[redundant](X + 0.1)
    assert found.region.decision_values(points) == pytest.approx(expected.region.decision_values(X + 0.1), abs=1e-5)


def test_a_mean_in_the_range_of_a_singular_covariance():
    direction = np.array([1.0, 2.0, 0.0])
    moments = Moments([3.0, 6.0, 1.0], np.outer(direction, direction) + np.diag([0.0, 0.0, 1.0]))
    found = single_class_mpm(moments, 0.8).solve()
    assert found.objective == pytest.approx(1 / (np.sqrt(10) - 2), rel=1e-8)
    assert np.abs(found.region.normal).max() < 1.0


@pytest.mark.parametrize("radius", [1e-5, 1e-6, 1e-8])
def test_a_mean_many_deviations_off_is_posed_in_its_own_length(radius):
    """Features of a kernel lie thousands of deviations off: the deviation sought is 1e-3, which took a solver's digits."""
    X = np.random.default_rng(1).normal(size=(25, 2))
    features = cn.KernelFeatures(X, cn.kernels.gaussian(gamma="scale"))
    moments = Moments.estimate(features.training)
    solution = single_class_mpm(moments, 0.6, FrobeniusBall(radius)).solve("CLARABEL")
    expected = closed_form(moments, 0.6, FrobeniusBall(radius))
    assert solution.objective == pytest.approx(expected.objective, rel=1e-7)
    assert len(solution.attempts) == 1


@pytest.mark.parametrize("least", [1e-4, 1e-6, 1e-8])
def test_the_closed_form_keeps_the_digits_of_a_factor_under_a_set(least):
    """By hand: in turned axes with deviations as small as 1e-8, of which the matrix does not know the first."""
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    deviations, along = np.array([least, 1.0, 2.0]), np.array([5.0 * least, 0.2, 0.3])
    moments = cn.Moments.low_rank(turn.T @ along, deviations[:, None] * turn)
    kappa, radius = 1.0, 1e-2 * least**2
    stretch = sets.WishartBall(0.2).centred(moments).ellipsoidal()[0, 0] / moments.variances[0]
    for uncertainty, variances in (
        (sets.WishartBall(0.2), stretch * deviations**2),
        (sets.FrobeniusBall(radius), deviations**2 + radius),
    ):
        zeta = float(np.sqrt((along**2 / variances).sum()))
        expected = pytest.approx(1 / (zeta - kappa), rel=1e-7)
        assert closed_form(moments, 0.5, uncertainty).objective == expected
        assert cn.single_class_mpm(moments, 0.5, uncertainty).solve().objective == expected
