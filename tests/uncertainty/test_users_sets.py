"""Sets that a user writes by membership alone, in every form of class that people write."""

from __future__ import annotations

import dataclasses
import functools

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty import uncertainty as sets
from convexnovelty.as_meant import as_meant
from convexnovelty.declare import call
from convexnovelty.errors import InputError
from convexnovelty.moments import Moments


class Mine(sets.CovarianceSet):
    def membership(self, S):
        return [cp.norm(S - self.center, "nuc") <= self.radius, S >> 0]


@dataclasses.dataclass(frozen=True)
class TraceBand(sets.CovarianceSet):
    """A frozen dataclass: total variance within a band, every member above half of the nominal covariance."""

    share: float = 0.3

    def membership(self, S):
        total = float(np.trace(self.center))
        return [cp.abs(cp.trace(S) - total) <= self.share * total, S >> 0.5 * self.center]


class Asymmetric(sets.MeanSet):
    """No call of the base's __init__: a mean that may move further up than down, in nominal deviations."""

    def __init__(self, up, down):
        self.up, self.down = up, down

    def membership(self, m):
        deviations = np.sqrt(np.diag(self.covariance))
        return [m - self.center <= self.up * deviations, self.center - m <= self.down * deviations]


class MeanByWorstCovariance(sets.MeanSet):
    """A mean whose room grows with the trace of the covariance that comes with it."""

    def membership(self, m, S):
        return [cp.norm(m - self.center) <= self.radius + 0.1 * cp.trace(S)]


class Correlated(sets.MomentSet):
    """A joint set: far means only with covariances near the nominal one."""

    def membership(self, m, S):
        m0, S0 = self.center
        return [cp.norm(m - m0) / self.unit + cp.norm(S - S0, "fro") / self.unit**2 <= self.radius]


class LogBall(sets.PointSet):
    """A set of points that returns a single constraint, with an exponential cone."""

    def membership(self, u):
        return cp.sum(cp.exp(u - self.center)) + cp.norm(u - self.center, 1) <= self.dimension + self.radius


USERS = [
    Mine(0.3),
    TraceBand(),
    TraceBand(0.1),
    Asymmetric(0.5, 0.2),
    MeanByWorstCovariance(0.2),
    Correlated(0.4),
    LogBall(0.8),
]


@pytest.mark.parametrize("recipe", USERS, ids=lambda recipe: type(recipe).__name__)
@pytest.mark.parametrize("dimension", [2, 4])
def test_membership_alone_gives_a_proved_counterpart(recipe, dimension):
    laws.agrees(recipe, laws.moments(dimension))


@pytest.mark.parametrize("recipe", USERS, ids=lambda recipe: type(recipe).__name__)
def test_membership_alone_is_refused_where_it_would_be_maximised(recipe):
    laws.is_refused_when_maximised(laws.centred(recipe, laws.moments(3)), 3)


@pytest.mark.parametrize("recipe", USERS, ids=lambda recipe: type(recipe).__name__)
def test_numbers_of_a_users_set_change_without_compiling_again(recipe):
    laws.follows_its_numbers(recipe, laws.moments(3), "derived")


def test_a_number_in_the_right_hand_side_is_a_parameter():
    tunable = Mine(0.3).centred(laws.moments(3)).tunable()
    sets.worst_deviation(tunable, cp.Variable(3))
    assert list(tunable.tunables()) == ["radius"]
    tunable.tunables()["radius"].set(0.7)
    assert tunable.radius == 0.7
    with pytest.raises(InputError, match="radius"):
        tunable.tunables()["radius"].set(-1.0)
    assert tunable.radius == 0.7


class Remembering(sets.CovarianceSet):
    """A Frobenius ball that keeps what it computes from its radius and from its centre."""

    @functools.cached_property
    def squared(self):
        return self.radius**2

    @functools.cached_property
    def spread(self):
        return self.center / 1.0

    def membership(self, S):
        return [cp.norm(S - self.spread, "fro") <= np.sqrt(self.squared)]


class Beside(sets.CovarianceSet):
    """The same ball with the square computed when it is made."""

    def __init__(self, radius):
        super().__init__(radius)
        self.squared = radius**2

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= np.sqrt(self.squared)]


@pytest.mark.parametrize("kind", [Remembering, Beside])
def test_what_is_computed_from_a_number_or_a_centre_follows_them(kind):
    first, second = laws.moments(3), Moments([5.0, 4.0, 6.0], np.diag([1.0, 3.0, 2.0]))
    recipe = kind(0.3)
    for nominal in (first, second):
        centred = recipe.centred(nominal)
        a = np.array([1.0, -1.0, 0.5])
        for radius in (0.3, 0.7):
            ball = sets.FrobeniusBall(radius).centred(nominal)
            changed = centred.replaced(radius=radius)
            for made in (changed, changed.centred(nominal)):
                assert sets.gauge(made, sets.worst_member(ball, a)) == pytest.approx(radius, rel=1e-5)
        again = centred.centred(second)
        np.testing.assert_allclose(
            sets.worst_member(again, a), sets.worst_member(sets.FrobeniusBall(0.3).centred(second), a), atol=1e-4
        )
    problem, plain = (cn.single_class_mpm(first, 0.5, made(0.3)) for made in (kind, sets.FrobeniusBall))
    assert problem.solve().objective == pytest.approx(plain.solve().objective, rel=1e-6)
    for made in (problem, plain):
        made.set(radius=0.05)
    assert problem.solve().objective == pytest.approx(plain.solve().objective, rel=1e-6)
    tunable = kind(0.3).centred(first).tunable()
    tunable.retune("radius", 0.5)
    assert tunable.plain().squared == pytest.approx(0.25)
    assert "spread" not in tunable.numbers()


class Kept(sets.CovarianceSet):
    """Up to a matrix above the centre, which the constructor scales by the radius, and of which it keeps no more."""

    def __init__(self, shape, radius=0.1):
        super().__init__(radius)
        self.extra = radius * np.asarray(shape)

    def membership(self, S):
        return [S - self.center << self.extra]


class Scaled(Kept):
    """The same with another argument before the radius, which has a default."""

    def __init__(self, radius=0.1, scale=1.0):
        super().__init__(scale * SHAPE, radius)


class Lists(Kept):
    """A list under the name of the argument that it was computed from."""

    def __init__(self, shape, radius=0.1):
        sets.CovarianceSet.__init__(self, radius)
        self.shape = [radius * np.asarray(shape)]

    @property
    def extra(self):
        return self.shape[0]


class Renamed(Kept):
    """A radius that is called otherwise where it is given."""

    def __init__(self, shape, *, size):
        super().__init__(shape, radius=size)


class Function(Kept):
    """A function that knows the radius."""

    def __init__(self, shape, radius=0.1):
        sets.CovarianceSet.__init__(self, radius)
        self.bound = lambda: radius * shape

    @property
    def extra(self):
        return self.bound()


SHAPE = np.diag([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "make, factor",
    [
        (lambda radius: Kept(SHAPE, radius), 1.0),
        (lambda radius: Scaled(radius, 3.0), 3.0),
        (lambda radius: Scaled(scale=2.0, radius=radius), 2.0),
        (lambda radius: Lists(SHAPE, radius), 1.0),
        (lambda radius: Renamed(SHAPE, size=radius), 1.0),
        (lambda radius: Function(SHAPE, radius), 1.0),
    ],
    ids=["kept", "scaled", "by name", "lists", "renamed", "function"],
)
def test_a_constructor_is_asked_again_where_a_number_changes(make, factor):
    nominal = laws.moments(3)
    a = laws.directions(nominal)[0]

    def plain(radius):
        return sets.LoewnerInterval(radius, factor * SHAPE)

    recipe = make(0.1)
    for radius in (0.4, 0.1, 0.02):
        recipe = recipe.replaced(radius=radius)  # of one that was replaced before
        truth = sets.evaluate_deviation(plain(radius).centred(nominal), a)
        assert sets.evaluate_deviation(recipe.centred(nominal), a) == pytest.approx(truth, rel=1e-6)
        assert sets.evaluate_deviation(recipe.centred(nominal).replaced(radius=radius), a) == pytest.approx(
            truth, rel=1e-6
        )
    problem = cn.single_class_mpm(nominal, 0.4, make(0.1))
    for radius in (0.1, 0.05):
        truth = cn.single_class_mpm(nominal, 0.4, plain(radius)).solve().objective
        assert problem.set(radius=radius).solve().objective == pytest.approx(truth, rel=1e-6)
    shape = SHAPE.copy()
    own = Kept(shape, 0.1)
    shape[:] = 0.0  # the caller's array is no part of the set
    np.testing.assert_allclose(own.replaced(radius=0.4).extra, 0.4 * SHAPE)


def test_what_was_assigned_to_a_set_stays_and_what_cannot_be_followed_is_refused():
    class Two(Kept):
        def __init__(self, shape, radius=0.1):
            super().__init__(shape, radius)
            self.slack = 2.0

    recipe = Two(SHAPE, 0.1)
    recipe.slack = 3.0
    assert recipe.replaced(radius=0.2).slack == 3.0
    recipe.radius = 0.3
    np.testing.assert_allclose(recipe.replaced(radius=0.5).extra, 0.5 * SHAPE)

    class Squared(Kept):
        def __init__(self, squared):
            super().__init__(SHAPE, np.sqrt(squared))

    with pytest.raises(InputError, match="radius comes from no argument of its constructor"):
        Squared(0.04).replaced(radius=0.3)

    class Once(Kept):
        def __init__(self, shape, radius=0.1):
            super().__init__(next(shape), radius)

    with pytest.raises(InputError, match="its constructor, asked again for a set with another number, failed"):
        Once(iter([SHAPE]), 0.1).replaced(radius=0.3)


class Joint(sets.MomentSet):
    """Balls of means and covariances of one radius, with a worst loss that takes it as the number that it is."""

    def membership(self, m, S):
        near = cp.norm(S - self.center_covariance, "fro") <= self.radius
        return [cp.norm(m - self.center_mean) <= self.radius, near]

    def worst_loss(self, a, kappa):
        wide = cp.norm(cp.hstack([self.factor @ a, np.sqrt(self.radius) * a]))
        return self.center_mean @ a + self.radius * cp.norm(a) + kappa * wide


class HalfTuned(Joint):
    """One that takes the radius as it stands in one term, and as a parameter in the other."""

    def worst_loss(self, a, kappa):
        wide = cp.norm(cp.hstack([self.factor @ a, np.sqrt(self.radius) * a]))
        return self.center_mean @ a + self.tuned("radius") * cp.norm(a) + kappa * wide


@pytest.mark.parametrize("kind", [Joint, HalfTuned])
def test_a_number_that_one_worst_case_takes_as_it_stands_and_another_as_a_parameter_is_followed_by_both(kind):
    """The class states its worst loss alone, and its worst deviation is derived with the radius as a parameter."""
    nominal = laws.moments(3)
    moved = Moments(-nominal.mean, nominal.covariance)
    points = np.random.default_rng(3).normal(nominal.mean, 0.5, size=(20, 3))

    def plain(radius):
        return sets.MeanWithin(sets.NormBall(2, radius)) * sets.FrobeniusBall(radius)

    for make in (
        lambda recipe: cn.single_class_mpm(nominal, 0.5, recipe),
        lambda recipe: cn.moment_classifier(points, moved, 1.0, recipe),
        lambda recipe: cn.two_class_mpm(nominal, moved, recipe),
    ):
        truth = make(plain(0.2)).solve().objective
        problem = make(kind(0.05))
        assert problem.solve().objective == pytest.approx(make(plain(0.05)).solve().objective, rel=1e-6)
        assert problem.set(radius=0.2).solve().objective == pytest.approx(truth, rel=1e-6)
        assert [s.objective for s in make(kind(0.05)).path(radius=[0.2])] == pytest.approx([truth], rel=1e-6)


class InMetric(sets.MeanSet):
    """The ellipsoid of means in the metric of the covariance, by a function that takes a matrix."""

    def membership(self, m, S):
        return [cp.matrix_frac(m - self.center, S) <= self.radius**2]


class WithVolume(sets.CovarianceSet):
    """Covariances near the centre whose determinants are no smaller than a share of its own."""

    def membership(self, S):
        least = np.linalg.slogdet(self.center)[1] - self.radius
        return [cp.norm(S - self.center, "fro") <= 2 * self.radius, cp.log_det(S) >= least]


def test_maps_of_sets_show_matrices_that_are_symmetric_to_the_last_digit():
    nominal = laws.moments(3)
    T = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]])
    for a in laws.directions(nominal)[:3]:
        for move in ("image", "preimage"):
            losses = [
                sets.evaluate_loss((getattr(kind(0.2), move)(T) * sets.FrobeniusBall(0.1)).centred(nominal), a, 1.3)
                for kind in (InMetric, sets.MeanEllipsoid)
            ]
            assert losses[0] == pytest.approx(losses[1], rel=1e-6)
        # An image of an invertible matrix is the set in other coordinates.
        back = np.linalg.inv(T)
        inside = Moments(back @ nominal.mean, back @ nominal.covariance @ back.T)
        moved = sets.evaluate_deviation(WithVolume(0.2).image(T).centred(nominal), a)
        assert moved == pytest.approx(sets.evaluate_deviation(WithVolume(0.2).centred(inside), T.T @ a), rel=1e-6)


def white(S, center):
    """A covariance in coordinates in which the centre is the identity; CVXPY does not see that it is symmetric."""
    back = np.linalg.inv(np.linalg.cholesky(center))
    return back @ S @ back.T


SPECTRAL = {
    "largest eigenvalue": lambda A, n: [cp.lambda_max(A) <= 1.4],
    "least eigenvalue": lambda A, n: [cp.lambda_min(A) >= 0.7, cp.trace(A) <= 1.2 * n],
    "sum of the largest": lambda A, n: [cp.lambda_sum_largest(A, 2) <= 2.5],
    "inverse": lambda A, n: [cp.matrix_frac(np.ones(n), A) <= 1.5 * n, cp.trace(A) <= 1.2 * n],
    "determinant": lambda A, n: [cp.log_det(A) >= -0.3, cp.trace(A) <= 1.2 * n],
    "matrix inequality": lambda A, n: [A << 1.4 * np.eye(n), A >> 0.6 * np.eye(n)],
}


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("stated", SPECTRAL.values(), ids=SPECTRAL)
def test_functions_of_a_matrix_that_is_symmetric_up_to_rounding(stated, unit):
    """Against CVXPY in coordinates in which the centre is the identity, where the matrix is the variable."""

    class Whitened(sets.CovarianceSet):
        def membership(self, S):
            return stated(white(S, self.center), S.shape[0])

    plain = laws.moments(4)
    a = laws.directions(plain)[1]
    seen, W = np.linalg.cholesky(plain.covariance).T @ a, cp.Variable((4, 4), PSD=True)
    problem = cp.Problem(cp.Maximize(cp.trace(np.outer(seen, seen) @ W)), stated(W, 4))
    problem.solve(solver="CLARABEL")
    uncertainty = Whitened().centred(Moments(unit * plain.mean, unit**2 * plain.covariance))
    truth = unit * np.sqrt(problem.value)
    assert sets.evaluate_deviation(uncertainty, a) == pytest.approx(truth, rel=1e-6)
    assert sets.adversary(uncertainty, a).value == pytest.approx(truth, rel=1e-6)


class SmallScores(sets.PointSet):
    """Small scores at a centred design, which sum to zero of themselves; ``said`` says so again."""

    def __init__(self, design, said, radius=1.0):
        super().__init__(radius)
        self.design, self.said = design, said

    def membership(self, u):
        scores = self.design @ (u - self.center)
        return [cp.norm(scores) <= self.radius, *self.said(scores)]


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize(
    "said",
    [
        lambda scores: [cp.sum(scores) == 0],
        lambda scores: [cp.sum(scores) <= 0],
        lambda scores: [
            scores - cp.sum(scores) / 30 == scores,
            cp.hstack([cp.sum(scores), scores[0]]) <= np.array([0, 9.0]),
        ],
    ],
    ids=["equation", "inequality", "rows"],
)
def test_rows_that_are_nothing_but_rounding_bind_nobody(said, unit):
    rng = np.random.default_rng(0)
    design = rng.standard_normal((30, 5))
    design -= design.mean(axis=0)
    a = rng.standard_normal(5)
    recipe = SmallScores(design / unit, said)
    around = recipe.centred(unit * np.arange(5.0))
    truth = unit * (a @ np.arange(5.0) + np.sqrt(a @ np.linalg.solve(design.T @ design, a)))
    assert sets.evaluate_support(around, a) == pytest.approx(truth, rel=1e-6)
    assert sets.adversary(around, a).value == pytest.approx(truth, rel=1e-6)
    # An equation that binds, however small what it binds is beside its other terms, is one.
    line = SmallScores(design / unit, lambda scores: [1e-9 * scores[0] + 1e-3 * cp.sum(scores) == 0]).centred(
        np.zeros(5)
    )
    across = np.linalg.svd(design[:1])[2][1:].T
    shown = design @ across
    small = unit * np.sqrt(a @ across @ np.linalg.solve(shown.T @ shown, across.T @ a))
    assert sets.evaluate_support(line, a) == pytest.approx(small, rel=1e-5)


@pytest.mark.parametrize("share", [0.95, 0.99, 1.0001, 1.001, 1.05])
@pytest.mark.parametrize("norm", [lambda D: cp.norm(D, "fro"), cp.abs])
def test_a_radius_of_zero_around_another_centre_leaves_that(norm, share):
    """Whether a set at radius zero is the nominal covariance is a question to its membership, at the covariance itself."""

    class Inflated(sets.CovarianceSet):
        def membership(self, S):
            return [norm(S - share * self.center) <= self.radius]

    nominal = Moments([3.0, 2.0, 1.0], np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 2.0]]))
    moved = Moments(nominal.mean, share * nominal.covariance)
    truth = cn.single_class_mpm(moved, 0.6).solve().objective
    a = np.array([1.0, -2.0, 0.5])
    for recipe in (Inflated(0.0), Inflated(0.0) + sets.FrobeniusBall(0.0)):
        around = recipe.centred(nominal)
        assert sets.evaluate_deviation(around, a) == pytest.approx(np.sqrt(a @ moved.covariance @ a), rel=1e-6)
    assert cn.single_class_mpm(nominal, 0.6, Inflated(0.0)).solve().objective == pytest.approx(truth, rel=1e-6)


def test_a_matrix_that_is_not_symmetric_is_refused_where_symmetry_would_be_asked_for():
    """The equations by which a function asks for symmetry would bind the members; rounding alone is none."""
    v = cp.Variable(2)
    skew = cp.bmat([[v[0], v[1]], [0.0, v[0]]])
    constraint = cp.lambda_max(skew) <= 1
    v.value = [3.0, 4.0]
    with pytest.raises(InputError, match="CVXPY asks the matrix of lambda_max to be symmetric"):
        as_meant(constraint)
    known = cp.lambda_max(np.array([[1.0, 0.1], [0.1 + 1e-17, 1.0]]) * v[0] + v[1] * np.eye(2)) <= 1
    assert as_meant(known).args[0].value == pytest.approx(known.args[0].value)
    assert v.value.tolist() == [3.0, 4.0]
    # What is left of terms that cancel is rounding of theirs, and no sign of what else the matrix may be.
    S0 = np.array([[56.75, 138.04, 3.1], [138.04, 870.2, -12.7], [3.1, -12.7, 0.93]])
    D = np.diag(1 / np.sqrt(np.diag(S0)))
    R = np.outer(np.diag(D), np.diag(D)) * S0
    assert (left := D @ S0 @ D - R).any() and not np.array_equal(left, left.T)
    as_meant(cp.lambda_max(D @ cp.Constant(S0) @ D - R) <= v[0])
    with pytest.raises(InputError, match="CVXPY asks the matrix of lambda_max to be symmetric"):
        as_meant(cp.lambda_max(D @ cp.Constant(S0) - R) <= v[0])


def test_a_number_in_the_matrix_is_not_a_parameter():
    class Cone(sets.PointSet):
        slope = 1.0

        def __init__(self, slope):
            self.slope = slope

        def membership(self, u):
            return [cp.norm(u[1:]) <= self.slope * u[0], u[0] <= 1]

    tunable = Cone(0.5).centred(np.zeros(3)).tunable()
    sets.support(tunable, cp.Variable(3))
    assert tunable.numbers() == {"slope": 0.5} and not tunable.tunables()


def test_users_sets_take_part_in_the_algebra():
    nominal = laws.moments(3)
    for recipe in (
        Mine(0.3) & TraceBand(0.2),
        0.5 * Mine(0.6) + sets.SpectralBall(0.1),
        Mine(0.2) | sets.WishartBall(0.1),
        Asymmetric(0.5, 0.2) * (Mine(0.4) & sets.FrobeniusBall(0.3)),
        MeanByWorstCovariance(0.1) * Mine(0.3),
        (Correlated(0.3) & sets.GelbrichBall(0.4)),
    ):
        laws.agrees(recipe, nominal, tried=laws.directions(nominal)[:3])


def test_what_a_membership_may_not_return():
    nominal = laws.moments(2)

    class Truth(sets.CovarianceSet):
        def membership(self, S):
            return [True]

    class Concave(sets.CovarianceSet):
        def membership(self, S):
            return [cp.norm(S) >= 1]

    class Whole(sets.PointSet):
        def membership(self, u):
            return [u == cp.Variable(2, integer=True), cp.norm(u) <= 3]

    with pytest.raises(InputError, match=r"Truth.*list of CVXPY constraints"):
        sets.worst_deviation(Truth().centred(nominal), np.ones(2))
    with pytest.raises(InputError, match=r"Concave.*DCP"):
        sets.worst_deviation(Concave().centred(nominal), np.ones(2))
    with pytest.raises(InputError, match="Whole"):
        sets.support(Whole().centred(np.zeros(2)), np.ones(2))
    with pytest.raises(NotImplementedError, match="membership"):
        sets.worst_deviation(sets.CovarianceSet(0.3).centred(nominal), np.ones(2))
    with pytest.raises(InputError, match="centred"):
        sets.worst_deviation(Mine(0.3), np.ones(2))


def test_a_wrong_closed_form_is_found_by_both_routes():
    """Planted faults: a dual norm, a lost term, a factor. Each must differ from the derived value and the adversary."""

    class WrongNorm(sets.NormBall):
        """The norm itself in the place of its dual."""

        def support(self, w):
            return self.center @ w + self.radius * cp.norm(w, 1)

    class LostTerm(sets.GelbrichBall):
        """Kappa left out of the radius."""

        def worst_loss(self, a, kappa):
            return self.center_mean @ a + kappa * cp.norm(self.factor @ a) + self.radius * cp.norm(a)

    class WrongFactor(sets.FrobeniusBall):
        """One per cent too much."""

        def worst_deviation(self, a):
            return 1.01 * super().worst_deviation(a)

    class NoMember(sets.FrobeniusBall):
        """The printed maximiser of the paper."""

        def worst_member(self, a):
            return self.center + self.radius * np.eye(self.dimension)

    for recipe in (WrongNorm(1, 0.5), LostTerm(0.4), WrongFactor(0.3), NoMember(0.3)):
        with pytest.raises(AssertionError):
            laws.agrees(recipe, laws.moments(3))


class Wide(sets.CovarianceSet):
    """Sums of singular values, by a semidefinite cone of twice the dimension that no closed form takes away."""

    def membership(self, S):
        return [cp.norm(S - self.center, "nuc") <= self.radius]


def test_a_small_set_around_a_wide_spectrum_is_posed_in_scale():
    # The cone is of order 32; a point on its boundary as the point inside would spoil the scales by nine orders.
    spread = np.diag(np.geomspace(5e-4, 6e-2, 16))
    nominal = cn.Moments(np.full(16, 0.1), spread)
    derived = cn.single_class_mpm(nominal, 0.8, Wide(0.003)).solve().objective
    exact = cn.single_class_mpm(nominal, 0.8, sets.FrobeniusBall(0.003)).solve().objective
    assert derived == pytest.approx(exact, rel=1e-6)


class SmallSquare(sets.MeanSet):
    """A square that is bounded by something tiny: it is compiled beside a one."""

    def membership(self, m):
        return [cp.sum_squares(m - self.center) <= self.radius**2]


@pytest.mark.parametrize("radius", [1.0, 1e-2, 1e-4])
def test_a_square_below_a_small_bound_keeps_its_digits(radius):
    nominal = cn.Moments(np.array([3.0, -2.0, 1.0]), np.eye(3))
    a = np.array([1.0, 2.0, -0.5])
    member = SmallSquare(radius).centred(nominal)
    shift = sets.evaluate_support(member, a) - nominal.mean @ a
    assert shift == pytest.approx(radius * np.linalg.norm(a), rel=1e-6)


# -- in every method, with no other code ------------------------------------------------------------------------------


class SpectralBox(sets.CovarianceSet):
    """All variances of the members, along whatever axis, between two multiples of the identity around the trace."""

    def membership(self, S):
        level = np.trace(self.center) / self.dimension
        return [S >> 0.2 * level * np.eye(self.dimension), S << (3 + self.radius) * level * np.eye(self.dimension)]


class DriftingMean(sets.MeanSet):
    """Means that drift along one known direction only: a segment, which has no inside."""

    def membership(self, m):
        return [m == self.center + self.radius * cp.Variable(bounds=[-1, 1]) * np.linspace(-1, 1, self.dimension)]


class Entropic(sets.CovarianceSet):
    """Covariances whose log-determinant is not far below that of the nominal one, with its trace."""

    def membership(self, S):
        here = np.linalg.slogdet(self.center)[1]
        return [cp.log_det(S) >= here - self.radius, cp.trace(S) == np.trace(self.center)]


class Shared(sets.MomentSet):
    """A joint budget: what the mean uses up of it is not there for the covariance."""

    def membership(self, m, S):
        m0, S0 = self.center
        return [cp.sum_squares(m - m0) + cp.norm(S - S0, "nuc") <= self.radius**2]


class Capped(sets.PointSet):
    """Displacements of a bounded sum, each of which is bounded from one side."""

    def membership(self, u):
        return [cp.abs(cp.sum(u - self.center)) <= self.radius / 2, u <= self.center + self.radius, cp.norm(u) <= 1]


WHEREVER = [Mine(0.2), TraceBand(0.2), SpectralBox(0.4), Entropic(0.3), Asymmetric(0.3, 0.1), DriftingMean(0.2),
            MeanByWorstCovariance(0.05), Correlated(0.05), Shared(0.3), LogBall(0.3), Capped(0.2)]  # fmt: skip
FAMILIES = {"covariance": ("covariance",), "moments": ("mean", "covariance", "moments"), "points": ("points",)}
TAKERS = [method for method in derivation.methods().values() if method.takes is not None]


@pytest.mark.parametrize(
    ("method", "recipe"),
    [
        pytest.param(method, recipe, id=f"{method.name}-{type(recipe).__name__}")
        for method in TAKERS
        for recipe in WHEREVER
        if recipe.family in FAMILIES[method.takes]
    ],
)
def test_membership_alone_serves_every_method(method, recipe):
    """The program that the factory makes of it agrees with cutting planes against the membership."""
    arguments = method.instance_around(recipe).arguments
    found = call(getattr(cn, method.name), arguments).solve()
    planes = call(method.nodes["semi_infinite"].function, arguments)
    name = "kappa" if "kappa" in found.values else None
    values = [s.values[name] if name else s.objective for s in (found, planes)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert found.residuals.worst < 1e-6


class Narrow(sets.CovarianceSet):
    """Compares with a matrix of another order."""

    def membership(self, S):
        return [cp.norm(S - np.eye(2)) <= self.radius]


class Misspelt(sets.CovarianceSet):
    """Asks for an attribute that no set has."""

    def membership(self, S):
        return [cp.norm(S - self.centre) <= self.radius]


@pytest.mark.parametrize("kind, said", [(Narrow, r"\(3, 3\).*\(2, 2\)"), (Misspelt, "no attribute 'centre'")])
def test_a_membership_that_fails_is_named(kind, said):
    with pytest.raises(InputError, match=rf"{kind.__name__}\(radius=1\): its membership failed .*{said}.*self\.center"):
        sets.membership_of(kind().centred(laws.moments(3)))


class QuadraticRoot(sets.CovarianceSet):
    """A right formula, in words that DCP does not follow."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]

    def worst_deviation(self, a):
        return cp.sqrt(cp.quad_form(a, self.center + self.radius * np.eye(self.dimension)))


class LongSum(sets.MeanSet):
    """The same for a mean."""

    def membership(self, m):
        return [cp.norm(m - self.center) <= self.radius]

    def support(self, a):
        return self.center @ a + self.radius * cp.sqrt(cp.sum_squares(a))


class PlainNumber(LongSum):
    """No expression at all."""

    def support(self, a):
        return 1.0


class Raises(LongSum):
    """NumPy on a CVXPY variable."""

    def support(self, a):
        return float(a)


@pytest.mark.parametrize(
    "kind, said",
    [
        (QuadraticRoot, r"worst_deviation is not convex by the rules of DCP in .*cp\.norm\(factor @ a\)"),
        (LongSum, r"support is not convex by the rules of DCP"),
        (PlainNumber, r"support returned 1\.0; return a CVXPY expression"),
        (Raises, r"support failed on a CVXPY expression"),
    ],
)
def test_a_closed_form_that_no_program_can_take_is_named(kind, said):
    with pytest.raises(InputError, match=rf"{kind.__name__}\(radius=0\.1\): {said}"):
        cn.single_class_mpm(laws.moments(3), 0.3, kind(0.1))


@pytest.mark.filterwarnings("ignore:Forming a nonconvex expression")
def test_an_indefinite_quadratic_form_is_named():
    class Saddle(sets.PointSet):
        def membership(self, u):
            return [cp.quad_form(u, cp.psd_wrap(np.diag([1.0, -1.0]))) <= 0.1, cp.abs(u) <= 1]

    with pytest.raises(InputError, match=r"Saddle\(radius=1\): the membership .*indefinite"):
        sets.evaluate_support(Saddle().centred(np.zeros(2)), np.ones(2))


@pytest.mark.parametrize("power", [1.5, 3])
def test_a_radius_of_zero_is_the_same_by_set_and_anew(power):
    """A power of a norm leaves a root of the solver's tolerance where the compiled program is only moved."""

    class Power(sets.CovarianceSet):
        def membership(self, S):
            return [cp.power(cp.norm(S - self.center, "fro"), power) <= self.radius]

    nominal = cn.Moments([3.0, 4.0], [[1.0, 0.2], [0.2, 0.8]])
    problem = cn.single_class_mpm(nominal, 0.5, Power(0.1))
    before, exact = problem.solve().objective, cn.single_class_mpm(nominal, 0.5).solve().objective
    assert problem.set(radius=0.0).solve().objective == pytest.approx(exact, rel=1e-7)
    assert problem.set(radius=0.1).solve().objective == pytest.approx(before, rel=1e-7)
    assert problem.path(radius=[0.1, 0.0])[1].objective == pytest.approx(exact, rel=1e-7)
    assert problem.solve().objective == pytest.approx(before, rel=1e-7)


class BesideCovariance(sets.MeanSet):
    """A mean ellipsoid by membership: of the covariance beside the mean, and a share of the nominal one."""

    def __init__(self, radius=1.0, share=0.0):
        super().__init__(radius)
        self.share = share

    def membership(self, m, S):
        d = cp.reshape(m - self.center, (m.size, 1), order="F")
        return [cp.bmat([[S + self.share * self.covariance, d], [d.T, np.array([[self.radius**2]])]]) >> 0]


MOMENTS = cn.Moments([1.0, 2.0], [[1.0, 0.2], [0.2, 1.0]])


@pytest.mark.parametrize("route", ["best", "derived"])
def test_a_centred_part_alone_has_a_worst_loss(route):
    """Means that see the covariance, and covariances, without their partner in a product; by the closed forms."""
    a, kappa = np.array([1.0, -2.0]), 2.0
    variance, nominal = a @ MOMENTS.covariance @ a, a @ MOMENTS.mean
    means, covariances = BesideCovariance(0.3).centred(MOMENTS), Mine(0.3).centred(MOMENTS)
    assert sets.evaluate_loss(means, a, kappa, route) == pytest.approx(nominal + 2.3 * np.sqrt(variance), rel=1e-7)
    worst = sets.FrobeniusBall(0.3).centred(MOMENTS)
    assert sets.evaluate_loss(covariances, a, kappa, route) == pytest.approx(
        nominal + kappa * sets.evaluate_deviation(worst, a), rel=1e-7
    )


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("covariance", [MOMENTS.covariance, np.array([[3.0, 0.5], [0.5, 2.0]])], ids=["own", "other"])
def test_the_gauge_of_means_beside_a_given_covariance(share, covariance):
    member = np.array([1.4, 1.5])
    displaced = member - MOMENTS.mean
    truth = np.sqrt(displaced @ np.linalg.solve(covariance + share * MOMENTS.covariance, displaced))
    recipe = BesideCovariance(0.3, share)
    assert sets.gauge(recipe.centred(MOMENTS), (member, covariance)) == pytest.approx(truth, rel=1e-5)
    summed = (recipe + BesideCovariance(0.1, share)).centred(MOMENTS)
    assert sets.gauge(summed, (member, covariance)) == pytest.approx(truth / 0.4, rel=1e-5)
    assert sets.gauge(recipe.centred(MOMENTS), (MOMENTS.mean, covariance)) == 0.0


class Disordered(sets.CovarianceSet):
    """Covariances of at least so much entropy: an atom that asks CVXPY whether its matrix is symmetric."""

    def membership(self, S):
        return [cp.von_neumann_entr(S) >= 0.5 - self.radius, cp.trace(S) <= 1.2 * np.trace(self.center)]


def test_the_matrix_of_a_membership_is_known_to_be_symmetric():
    moments, a = cn.Moments([3.0, 2.0, 1.0], np.diag([1.0, 0.5, 0.3])), np.ones(3)
    S = cp.Variable((3, 3), symmetric=True)
    held = [S >> 0, cp.von_neumann_entr(S) >= 0.4, cp.trace(S) <= 1.2 * 1.8]
    right = cp.Problem(cp.Maximize(a @ S @ a), held).solve(solver="CLARABEL")
    found = sets.evaluate_deviation(Disordered(0.1).centred(moments), a)
    assert found == pytest.approx(np.sqrt(right), rel=1e-6)


class Shown(sets.CovarianceSet):
    """The FrobeniusBall by a symmetric matrix of its own, whose value says where the middle is."""

    def membership(self, S):
        X = cp.Variable(S.shape, symmetric=True, value=np.zeros(S.shape))
        return [S == self.center + X, cp.norm(X, "fro") <= self.radius]


@pytest.mark.parametrize("unit", [1e-5, 1.0])
def test_values_of_variables_that_are_fewer_than_their_entries_are_left_alone(unit):
    moments, a = cn.Moments([3.0, 2.0, 1.0], unit**2 * np.diag([1.0, 0.5, 0.3])), np.ones(3)
    right = unit * np.sqrt(1.8 + 3 * 0.1)
    for recipe in (Shown(0.1 * unit**2), Shown(0.1 * unit**2) | Shown(0.05 * unit**2)):
        assert sets.evaluate_deviation(recipe.centred(moments), a) == pytest.approx(right, rel=1e-6)


ALONG = np.array([1.0, -2.0, 0.5])
# Constraints on a step and how far they let one go along that: dual norms, and for Huber's function the point (0.1, -2.56875, 0.05),
# whose slopes (0.2, -0.4, 0.1) are a fifth of the direction.
FAR_KINDS = {
    "fourth powers": (lambda v: [cp.sum(cp.power(v, 4)) <= 1], float(np.linalg.norm(ALONG, 4 / 3))),
    "cubes": (lambda v: [cp.sum(cp.power(cp.abs(v), 3)) <= 1], float(np.linalg.norm(ALONG, 3 / 2))),
    "huber": (lambda v: [cp.sum(cp.huber(v, 0.2)) <= 1], 5.2625),
}


@pytest.mark.parametrize("far", [0.0, 1e2, 1e4, 1e5, 1e7])
@pytest.mark.parametrize("kind", ["fourth powers", "cubes", "huber"])
def test_steps_from_a_far_centre_are_measured_from_it(kind, far):
    """Constants of a far centre drown what is of size one, unless steps are counted from there and in their own length."""
    stated, reach = FAR_KINDS[kind]
    center = far * np.array([0.4, 0.5, 0.6])

    class Means(sets.MeanSet):
        def membership(self, m):
            return stated(m - self.center)

    nominal = Moments(center, np.eye(3))
    close = 3e-6 * reach + 1e-14 * far
    means = Means().centred(nominal)
    points = sets.ConicSet(stated).centred(center)
    for found in (
        sets.evaluate_support(means, ALONG),
        sets.evaluate_support(points, ALONG),
        sets.adversary(points, ALONG).value,
        sets.evaluate_loss((Means() * sets.ExactCovariance()).centred(nominal), ALONG, 0.0, "derived"),
    ):
        assert found - center @ ALONG == pytest.approx(reach, abs=close)


@pytest.mark.parametrize("far", [1e2, 1e6, 1e7])
@pytest.mark.parametrize(
    "recipe",
    [
        sets.MeanEllipsoid(0.2) + np.array([0.1, 0.0, 0.2]),
        sets.MeanEllipsoid(0.1) + sets.MeanWithin(sets.NormBall(1, 0.2)),
        sets.MeanMetricEllipsoid(0.3) & sets.MeanWithin(sets.NormBall(1, 0.3)),
        sets.MeanMetricEllipsoid(0.3) | sets.MeanWithin(sets.Box(None, 0.2)),
        sets.MeanWithin(sets.Polyhedron(np.vstack([np.eye(3), -np.eye(3)]), 0.2 * np.ones(6))),
    ],
    ids=repr,
)
def test_a_machine_of_means_goes_with_the_data_wherever_they_are_moved(recipe, far):
    rng = np.random.default_rng(0)
    X, middle = rng.normal(size=(12, 3)) + np.array([3.0, 1.0, -2.0]), np.array([-1.0, -1 / 3, 2 / 3])
    near, away = (
        cn.moment_classifier(X + z, Moments(middle + z, np.diag([1.0, 0.5, 0.8])), 0.05, recipe).solve()
        for z in (np.zeros(3), far * np.array([0.4, 0.5, 0.6]))
    )
    assert away.objective == pytest.approx(near.objective, rel=2e-6 + 1e-13 * far)
    assert away.guarantee.bound == pytest.approx(near.guarantee.bound, abs=1e-5)


class Dictionary(sets.CovarianceSet):
    """A ball in the metric of the centre, whose root is kept in a dictionary, as one does with what is slow."""

    def __init__(self, radius=0.3):
        self.radius, self.roots, self.seen = radius, {}, []

    def membership(self, S):
        if "root" not in self.roots:
            self.roots["root"] = np.linalg.inv(np.linalg.cholesky(self.center))
            self.seen.append(len(self.center))
        G = self.roots["root"]
        return [cp.norm(G @ (S - self.center) @ G.T, "fro") <= self.radius]


def test_what_a_set_puts_into_its_dictionary_is_of_one_centre():
    one = Dictionary(0.3)
    a = np.array([1.0, -0.3])
    held = None
    for covariance in (np.eye(2), np.diag([4.0, 9.0]), np.array([[2.0, 1.0], [1.0, 5.0]])):
        moments = cn.Moments([3.0, 4.0], covariance)
        for centred in (one.centred(moments), held.centred(moments) if held else one.centred(moments)):
            right = np.sqrt(1.3 * (a @ covariance @ a))
            assert sets.evaluate_deviation(centred, a) == pytest.approx(right, rel=1e-6)
            wider = sets.evaluate_deviation(centred.replaced(radius=0.6), a)
            assert wider == pytest.approx(np.sqrt(1.6 * (a @ covariance @ a)), rel=1e-6)
        held = centred
        problem = cn.single_class_mpm(moments, 0.5, one)
        for radius in (0.3, 0.6):
            right = cn.single_class_mpm(moments, 0.5, Forgetful(radius)).solve().objective
            assert problem.set(radius=radius).solve().objective == pytest.approx(right, rel=1e-6)
    assert not one.roots and not one.seen


class Forgetful(Dictionary):
    """The same without a memory."""

    def membership(self, S):
        G = np.linalg.inv(np.linalg.cholesky(self.center))
        return [cp.norm(G @ (S - self.center) @ G.T, "fro") <= self.radius]


def test_what_was_put_into_a_container_before_a_set_is_centred_stays():
    class Listed(sets.CovarianceSet):
        def __init__(self):
            self.bounds = []

        def membership(self, S):
            return [S << factor * self.center for factor in self.bounds]

    listed = Listed()
    listed.bounds.append(1.5)
    moments = cn.Moments([3.0, 4.0], np.diag([4.0, 9.0]))
    a = np.array([1.0, 1.0])
    assert sets.evaluate_deviation(listed.centred(moments), a) == pytest.approx(np.sqrt(1.5 * 13), rel=1e-6)
    listed.bounds.append(1.2)
    assert sets.evaluate_deviation(
        Listed.centred(listed, cn.Moments([3.0, 4.0], np.diag([4.0, 9.1]))), a
    ) == pytest.approx(np.sqrt(1.2 * 13.1), rel=1e-6)


@pytest.mark.parametrize("exponent", [2.0001, np.e])
def test_an_exponent_that_would_be_rounded_is_refused(exponent):
    class Rounded(sets.PointSet):
        def membership(self, u):
            return [cp.pnorm(u - self.center, exponent) <= self.radius]

    class Exact(sets.PointSet):
        def membership(self, u):
            return [cp.pnorm(u - self.center, exponent, approx=False) <= self.radius]

    w = np.array([1.0, -2.0, 0.5])
    with pytest.raises(InputError, match=r"rounds an exponent of pnorm .* give approx=False"):
        sets.evaluate_support(Rounded(0.5).centred(np.zeros(3)), w)
    expected = 0.5 * np.linalg.norm(w, exponent / (exponent - 1))
    assert sets.evaluate_support(Exact(0.5).centred(np.zeros(3)), w) == pytest.approx(expected, rel=1e-7)


class Fourth(sets.MeanSet):
    """Means by a sum of fourth powers, of which a solver keeps the fourth root of its tolerance at zero."""

    def membership(self, m):
        return [cp.sum(cp.power(m - self.center, 4)) <= self.radius]


class Bounded(sets.CovarianceSet):
    """A ball whose size has a name of its own."""

    grows_by = "bound"

    def __init__(self, bound: float = 0.2) -> None:
        self.bound = bound
        super().__init__()

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.bound, cp.lambda_max(S - self.center) <= 0.5 * self.bound]


class Rest(sets.MeanSet):
    """A ball that keeps a hundredth at a radius of zero, whatever its class says of it."""

    def membership(self, m):
        return [cp.sum(cp.power(m - self.center, 4)) <= self.radius + 1e-8]


def test_a_size_of_zero_leaves_the_centre_where_values_say_so():
    moments = cn.Moments([3.0, -2.0, 1.0], np.diag([1.0, 2.0, 0.5]))
    a = np.array([1.0, -0.5, 0.3])
    nominal = cn.single_class_mpm(moments, 0.5).solve().objective
    for recipe in (Fourth(0.0), Bounded(0.0), Bounded(0.0) & sets.WishartBall(0.1)):
        machine = cn.single_class_mpm(moments, 0.5, recipe)
        assert machine.solve().objective == pytest.approx(nominal, rel=1e-8)
    path = cn.single_class_mpm(moments, 0.5, Fourth(0.1)).path(radius=[0.0, 0.1])
    assert path[0].objective == pytest.approx(nominal, rel=1e-8) and path[1].objective > 1.01 * nominal
    right = moments.mean @ a + 0.01 * np.linalg.norm(a, 4 / 3) + np.sqrt(a @ moments.covariance @ a)
    assert sets.evaluate_loss(Rest(0.0).centred(moments), a, 1.0) == pytest.approx(right, rel=1e-6)


class Corner(sets.CovarianceSet):
    """One variance, that of a column that a whole number names, may be larger."""

    def __init__(self, column=0, radius=0.5):
        self.column = column
        super().__init__(radius)

    def membership(self, S):
        more = cp.Variable(nonneg=True)
        unit = np.zeros(np.shape(self.center))
        unit[self.column, self.column] = 1.0
        return [self.center + more * unit == S, more <= self.radius]


def test_a_column_of_a_set_round_a_singular_centre_is_changed_in_a_program():
    """The optimum is 1 / (sqrt(m'S^-1 m) - kappa) for the one worst covariance, and kappa is a half at a confidence of a fifth."""
    mean, variances = np.array([3.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.0])
    problem = cn.single_class_mpm(cn.Moments(mean, np.diag(variances)), 0.2, Corner())
    for column in (0, 1, 0):
        worst = variances + 0.5 * np.eye(3)[column]
        truth = 1 / (np.sqrt((mean[:2] ** 2 / worst[:2]).sum()) - 0.5)
        assert problem.set(column=column).solve().objective == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize(
    "name",
    [
        "kept",
        "plain",
        "numbers",
        "size",
        "watch",
        "factor",
        "center",
        "gauge",
        "worst_member",
        "ellipsoidal",
        "exponents",
        "dimension",
    ],
)
def test_an_attribute_with_the_name_of_what_every_set_has_is_refused(name):
    class Ball(sets.CovarianceSet):
        def __init__(self, radius):
            super().__init__(radius)
            setattr(self, name, 3.0)

        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius]

    with pytest.raises(InputError, match=rf"^Ball\.{name}: 3\.0 was found, .*; call the attribute otherwise$"):
        Ball(0.1)
