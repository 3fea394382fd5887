"""Radii from data: the numbers of the laws, the radius at which a member enters, and coverage by simulation."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws
from scipy import stats
from scipy.optimize import brentq
from scipy.special import kl_div

from convexnovelty import uncertainty as sets
from convexnovelty.errors import InputError
from convexnovelty.moments import Moments


def test_b41_degrees_of_freedom_are_those_of_the_dimension():
    """Not the number of simulations, not p^2 free entries, and the law of the mean for the mean."""
    assert sets.chi_square_radius(2, 0.95) == pytest.approx(2.44774683, abs=5e-9)
    assert sets.chi_square_radius(2, 0.95) ** 2 == pytest.approx(5.99146455, abs=5e-9)
    assert sets.chi_square_radius(sets.free_entries(2), 0.95) == pytest.approx(2.79548348, abs=5e-9)
    assert sets.chi_square_radius(4, 0.95) == pytest.approx(3.0802, abs=5e-5)  # what p^2 entries would give
    for n in (10, 1000):
        assert sets.chi_square_radius(2, 0.95, n) * math.sqrt(n) == pytest.approx(2.44774683, abs=5e-9)


def test_b41_doubling_the_points_halves_the_squared_size():
    X = np.random.default_rng(0).standard_normal((100, 3))
    small, large = (sets.calibrate(sets.MeanEllipsoid(), np.tile(X, (k, 1)), law="chi-square").radius for k in (1, 2))
    assert small**2 == pytest.approx(2 * large**2, rel=1e-12)


@pytest.mark.parametrize("mean", [False, True])
def test_the_wishart_law_tends_to_that_of_the_likelihood_ratio(mean):
    """Divergences in both directions have one limit; ten thousand draws know the quantile to about 2 %."""
    degrees = sets.free_entries(3) + (3 if mean else 0)
    limit = 0.5 * sets.chi_square_radius(degrees, 0.9, 100_000) ** 2
    assert sets.wishart_radius(3, 0.9, 100_000, mean=mean) == pytest.approx(limit, rel=0.03)


def test_the_wishart_law_in_one_dimension():
    """There the divergence is (v - 1 + log(1 / v)) / 2 of the ratio v of the variances, whose law is known."""
    n, radius = 12, sets.wishart_radius(1, 0.9, 12)
    roots = [brentq(lambda v: v - 1 - math.log(v) - 2 * radius, *ends) for ends in ((1e-12, 1.0), (1.0, 1e3))]
    share = stats.chi2.cdf(n / roots[0], n - 1) - stats.chi2.cdf(n / roots[1], n - 1)
    assert share == pytest.approx(0.9, abs=0.012)  # four standard errors of ten thousand draws


def test_the_wishart_law_names_what_it_cannot_do():
    with pytest.raises(InputError, match="more points than dimensions"):
        sets.wishart_radius(3, 0.9, 3)
    with pytest.raises(InputError, match=r"confidence: 0\.999999 was found"):
        sets.wishart_radius(3, 0.999999, 30)


def test_hotelling_tends_to_chi_square_and_is_wider():
    exact = [sets.hotelling_radius(3, 0.9, n) * math.sqrt(n) for n in (10, 100, 100_000)]
    assert exact[0] > exact[1] > exact[2] > sets.chi_square_radius(3, 0.9)
    assert exact[2] == pytest.approx(sets.chi_square_radius(3, 0.9), rel=1e-3)
    with pytest.raises(InputError, match="more points than dimensions"):
        sets.hotelling_radius(3, 0.9, 3)


BALLS = [
    sets.FrobeniusBall(0.3), sets.SpectralBall(0.3), sets.NuclearBall(0.3), sets.BuresBall(0.3), sets.WishartBall(0.1),
    sets.EntrywiseInterval(0.2), sets.DiagonalBall(2, 0.5), sets.LoewnerInterval(0.3), sets.LoewnerInterval(0.5, "nominal"),
    sets.SubspaceBall("nominal", 0.4), sets.MeanEllipsoid(0.3), sets.MeanMetricEllipsoid(0.3),
    sets.MeanWithin(sets.NormBall(1, 0.3)), sets.GelbrichBall(0.3), sets.KLBall(0.1), sets.FactorModel(1, 0.2),
]  # fmt: skip


@pytest.mark.parametrize("recipe", BALLS, ids=repr)
def test_the_gauge_is_the_radius_at_which_a_member_enters(recipe):
    """A sampled member enters at no more than the radius, and just below its gauge it is outside."""
    nominal = laws.moments(3)
    uncertainty = recipe.centred(nominal)
    rng = np.random.default_rng(2)
    for _ in range(3):
        member = uncertainty.sample(rng)
        found = sets.gauge(uncertainty, member)
        assert found <= recipe.radius * (1 + 1e-5)
        if found < 1e-3 * recipe.radius:
            continue
        joint = uncertainty.uses_covariance if isinstance(uncertainty, sets.MeanSet) else False
        for factor, inside in ((1.0 + 1e-4, True), (0.97, False)):
            around = laws.centred(recipe.replaced(radius=found * factor), nominal)
            pair = (member, nominal.covariance) if joint else member
            assert (laws.distance(around, pair) < 1e-5) == inside, f"{recipe} at {factor} of {found}"


def test_the_gauge_of_a_users_set_is_found_by_a_program_or_by_halving():
    class Mine(sets.CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "nuc") <= self.radius]

    class Squared(sets.CovarianceSet):
        def membership(self, S):
            return [cp.sum_squares(S - self.center) <= float(self.radius) ** 2]

    nominal = laws.moments(3)
    member = nominal.covariance + np.diag([0.3, 0.1, 0.0])
    assert sets.gauge(Mine(5.0).centred(nominal), member) == pytest.approx(0.4, rel=1e-6)
    assert sets.gauge(Squared(0.01).centred(nominal), member) == pytest.approx(math.hypot(0.3, 0.1), rel=1e-4)


class Level(sets.PointSet):
    """A disc in the plane of the points with one sum."""

    def membership(self, u):
        return [cp.norm(u - self.center) <= self.radius, cp.sum(u - self.center) == 0]


class Shares(sets.CovarianceSet):
    """Covariances of parts that sum to a constant."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius, S @ np.ones(S.shape[0]) == 0]


@pytest.mark.parametrize("seed", range(4))
def test_an_equation_holds_up_to_the_rounding_of_its_terms(seed):
    rng = np.random.default_rng(seed)
    center, step = rng.standard_normal((2, 5)) * 10.0 ** rng.uniform(-3, 3, (2, 1))
    step -= step.mean()
    level = Level(1.0).centred(center)
    assert sets.gauge(level, center + step) == pytest.approx(np.linalg.norm(step), rel=1e-6)
    assert sets.gauge(level, center + step + 1e-6 * np.abs(step).max()) == math.inf

    parts = rng.dirichlet(np.ones(4), 60)
    nominal, found = Moments.estimate(parts), Moments.estimate(parts[:40])
    truth = np.linalg.norm(found.covariance - nominal.covariance)
    assert sets.gauge(Shares(1.0).centred(nominal), found.covariance) == pytest.approx(truth, rel=1e-6)
    assert sets.coverage(Shares(2 * truth), nominal, parts[:40])
    assert not sets.coverage(Shares(truth / 2), nominal, parts[:40])
    plain = sets.calibrate(sets.FrobeniusBall(1.0), parts, resamples=20).radius
    assert sets.calibrate(Shares(1.0), parts, resamples=20).radius == pytest.approx(plain, rel=1e-6)


class InCloth(sets.CovarianceSet):
    """A Frobenius ball whose eigenvalues grow by half of its radius at most; ``cut`` keeps that half in some form."""

    def __init__(self, radius, cut):
        super().__init__(radius)
        self.cut = cut
        self.most = cut(radius / 2)

    def membership(self, S):
        most = self.most() if callable(self.most) else np.ravel(self.most)[0]
        return [cp.norm(S - self.center, "fro") <= self.radius, S - self.center << most * np.eye(S.shape[0])]


@pytest.mark.parametrize(
    "cut",
    [lambda most: most, lambda most: [most], lambda most: np.array([most]), lambda most: lambda: most],
    ids=["number", "list", "array", "function"],
)
def test_the_gauge_follows_what_a_constructor_computes_from_the_size(cut):
    nominal = laws.moments(3)
    member = nominal.covariance + np.diag([0.3, 0.0, 0.0])
    for radius in (0.2, 1.0, 5.0):
        recipe = InCloth(radius, cut)
        assert sets.gauge(recipe.centred(nominal), member) == pytest.approx(0.6, rel=2e-6)
        assert sets.gauge((2 * recipe).centred(nominal), member) == pytest.approx(0.6 / radius, rel=2e-6)


PLANE = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
ACROSS = np.cross(PLANE[:, 0], PLANE[:, 1]) / np.linalg.norm(np.cross(PLANE[:, 0], PLANE[:, 1]))


@pytest.mark.parametrize("off", [0.3, 1e-3, 1e-5])
@pytest.mark.parametrize(
    "part, size",
    [
        (sets.Interval([-1, -1], [1, 2]), 0.3),
        (sets.Box([1, 2.0], 1.0) | sets.NormBall(2, 0.5), 0.3),
        (sets.ScenarioHull([[1.0, 0], [0, 1], [-1, -1]]), 0.5),
        (sets.Budget(1.6, [1.0, 2.0]) & sets.NormBall(2, 1.0), math.hypot(0.3, 0.2)),
    ],
    ids=["interval", "hull", "scenarios", "intersection"],
)
def test_a_point_off_the_plane_of_a_flat_set_is_held_at_no_size(part, size, off):
    """In the plane the point is T(.3, .2), whose size is read off the part; ended in an error of the solver beside it."""
    for center in (np.zeros(3), np.array([1.0, -2.0, 0.5])):
        image, inside = part.image(PLANE).centred(center), center + PLANE @ [0.3, 0.2]
        assert sets.gauge(image, inside) == pytest.approx(size, rel=1e-6)
        assert sets.gauge(image, inside + off * ACROSS) == math.inf


def test_a_point_off_the_line_of_a_segment_is_held_at_no_size():
    image = (sets.Box([0.967], 2.0) | sets.NormBall(math.inf, 0.5)).image([[-0.834], [-1.801]]).centred([0.07, 1.63])
    for step in np.random.default_rng(0).normal(size=(60, 2)).round(2) / 2:
        assert sets.gauge(image, image.center + step, largest=10.0) == math.inf
    assert sets.gauge(image, image.center + 0.967 * np.array([0.834, 1.801])) == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-4])
def test_a_worst_member_stays_where_half_widths_are_zero(unit):
    """Correlations alone are uncertain there: no variance may be off by what a solver leaves of it."""
    for seed in range(3):
        nominal = laws.moments(3, unit=unit, seed=seed)
        widths = unit**2 * (1.0 - np.eye(3))
        around = sets.EntrywiseInterval(0.3, widths, semidefinite=False).centred(nominal)
        worst = sets.worst_member(around, np.array([0.3, -1.0, 0.7]))
        assert np.array_equal(np.diag(worst), np.diag(nominal.covariance))
        assert sets.gauge(around, worst) == pytest.approx(0.3, rel=1e-6)
        moved = worst + 1e-3 * unit**2 * np.diag([1.0, 0, 0])
        assert sets.gauge(around, moved) == math.inf


def test_rounding_of_a_sum_passes_for_no_step():
    """A third is no binary number, so that the point and the centre add up to other last digits in the flat coordinate."""
    center = np.array([1e6 / 3, 1.0])
    around = sets.Box([0.0, 1.0]).centred(center)
    point = np.array([center[0] * (1 + 2e-16), 1.0 + 1e-9])
    assert point[0] != center[0]
    assert sets.gauge(around, point) == pytest.approx(1e-9, rel=1e-6)
    assert sets.gauge(around, center + np.array([1e-6, 0.5])) == math.inf
    assert sets.gauge(around, center + np.array([1e-6, 0.0])) == math.inf


def test_the_last_digit_of_a_coordinate_that_is_certain_makes_no_member_impossible():
    """Four in widths of 0.2 is 20, whatever rounding a sum leaves beside; and nothing moves by rounding alone."""
    interval = sets.Interval([0.0, 0.0, 0.0], [0.0, 0.0, 0.2]).centred([-0.2, 0.9, 1.9])
    assert sets.gauge(interval, interval.center + np.array([0.0, -2.3e-15, 4.0])) == pytest.approx(20.0, rel=1e-6)
    assert sets.gauge(interval, interval.center + np.array([0.0, -2e-6, 4.0])) == math.inf
    assert sets.gauge(interval, interval.center - np.array([0.0, 0.0, 3e-16])) == 0.0


@pytest.mark.parametrize("wrapped", [lambda part: part, lambda part: part + np.array([0.0]), sets.MeanWithin])
def test_a_simplex_of_one_coordinate_is_the_point_at_its_total(wrapped):
    """That is c + r, which no size moves below the centre."""
    recipe = wrapped(sets.Simplex(1.0))
    around = recipe.centred([0.2] if recipe.family == "points" else Moments([0.2], [[1.0]]))
    assert sets.gauge(around, np.array([0.9])) == pytest.approx(0.7, rel=1e-6)
    assert sets.gauge(around, np.array([-0.9])) == math.inf


@pytest.mark.parametrize("seed", range(50, 54))
def test_multiples_of_worst_members_of_a_plane_across_the_coordinates(seed):
    """A dilation's middle is known to a solver's digits; parts of it at the centre would leave the plane."""
    rng = np.random.default_rng(seed)
    one, other, plane = rng.normal(size=(2, 2)), rng.normal(size=(2, 1)), rng.normal(size=(4, 2))
    part = sets.NormBall(1.5, 0.5).preimage(one) + sets.Interval([0.0], [0.0]).image(other)
    recipe, center = part.image(plane), rng.normal(size=4).round(1)
    worst = center + plane @ np.linalg.solve(one, [0.5, 0.0])
    around = (1.0 * recipe).centred(center)
    for multiple in (1.0, 3.0):
        assert sets.gauge(around, center + multiple * (worst - center)) == pytest.approx(multiple, rel=1e-6)


def test_a_set_that_is_one_point_holds_it_to_the_digits_that_it_is_known_to():
    """The image of the exact covariance under an invertible matrix is that covariance."""
    matrix = np.array([[0.79909415, -2.41708156], [0.62393959, -1.9554236]])
    nominal = Moments(np.zeros(2), [[0.7, 1.1], [1.1, 5.1]])
    around = (1.0 * sets.ExactCovariance().image(matrix)).centred(nominal)
    assert sets.gauge(around, nominal.covariance * (1 + 1e-11)) == 0.0
    assert sets.gauge(around, nominal.covariance * (1 + 1e-7)) == math.inf


def test_coverage_of_a_set_without_numbers_is_membership():
    """Nothing is said of what is exact; scenarios hold what lies between them."""
    X = np.random.default_rng(2).standard_normal((200, 2))
    hull = sets.CovarianceHull([np.eye(2), 3 * np.eye(2)])
    for scale, held in ((2.0, True), (1.0, True), (5.0, False), (0.5, False)):
        truth = Moments(np.zeros(2), scale * np.eye(2))
        assert sets.coverage(hull, truth, X) == held
        assert sets.coverage(sets.ExactMean() * hull, truth, X) == held
        assert sets.coverage(sets.ExactCovariance(), truth, X)


def covered(recipe, make, truth, n, repetitions, **options):
    """The share of samples on whose moments the calibrated set holds the true ones."""
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(repetitions):
        X = make(rng, n)
        hits += sets.coverage(sets.calibrate(recipe, X, 0.9, random_state=rng, **options), truth, X)
    return hits / repetitions


ROOT = np.array([[1.0, 0.0], [0.7, 0.5]])
NORMAL = Moments(np.array([1.0, -2.0]), ROOT @ ROOT.T)


def normal(rng, n):
    return NORMAL.mean + rng.standard_normal((n, 2)) @ ROOT.T


@pytest.mark.parametrize(
    "recipe, law, n",
    [
        (sets.MeanMetricEllipsoid(), "hotelling", 12),
        (sets.MeanMetricEllipsoid(), "chi-square", 200),
        (sets.WishartBall(), "wishart", 12),
        (sets.KLBall(), "wishart", 12),
    ],
)
def test_the_laws_cover_as_often_as_they_say(recipe, law, n):
    share = covered(recipe, normal, NORMAL, n, 600, law=law)
    # Three standard errors of 600 draws are 0.037; a wrong degree of freedom would be off by 0.04 and more.
    assert share == pytest.approx(0.9, abs=0.037)


@pytest.mark.parametrize(
    ("recipe", "law"),
    [
        (sets.MeanEllipsoid(), "hotelling"),
        (sets.MeanMetricEllipsoid(), "chi-square"),
        (sets.WishartBall(), "wishart"),
        (sets.KLBall(), "wishart"),
        (sets.WishartBall(), "bootstrap"),
        (sets.KLBall(), "bootstrap"),
    ],
)
@pytest.mark.parametrize(("seed", "n"), [(0, 250), (1, 300), (6, 1000)])
def test_a_column_that_others_make_leaves_the_size_as_it_is(recipe, law, seed, n):
    """One-hot columns sum to one: without the last, the set is the same one in other coordinates."""
    rng = np.random.default_rng(1000 + seed)
    X = np.c_[rng.normal(45, 12, n).round(), rng.beta(2, 5, n).round(3), np.eye(3)[rng.integers(0, 3, n)]]
    sizes = [sets.calibrate(recipe, each, 0.9, law=law, resamples=60).radius for each in (X, X[:, :-1])]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)


@pytest.mark.parametrize("recipe", [sets.WishartBall(0.1), sets.KLBall(0.1)])
def test_divergences_of_one_hot_tables_have_the_range_of_their_data(recipe):
    """Whether a null direction counts must not hang on the last digits of a sample: it does in none."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tables = [np.c_[rng.normal(size=n), np.eye(3)[rng.integers(0, 3, n)]] for n in (250, 90)]
        full, fewer = ([Moments.estimate(X[:, :columns]) for X in tables] for columns in (4, 3))
        assert full[0].factor.shape[0] == 3
        member = [(m.mean, m.covariance) if recipe.family == "moments" else m.covariance for _, m in (full, fewer)]
        found, right = (sets.gauge(recipe.centred(m), S) for (m, _), S in zip((full, fewer), member, strict=True))
        assert found == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_a_multiple_of_a_ball_stays_among_covariances(seed):
    """Income beside a rate: a ball of the trace holds all that is near, but a step that is divided must lead to a covariance."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([12, 40, 200]))
    X = np.c_[rng.normal(45, 12, n).round(), np.exp(rng.normal(10.5, 0.6, n)).round(-2), rng.beta(2, 5, n).round(3)]
    center, S = np.cov(X.T, ddof=0), np.cov(X[rng.integers(0, n, n)].T, ddof=0)
    lengths, radius = np.sqrt(np.diag(center)), float(np.trace(center))
    root = np.linalg.inv(np.linalg.cholesky(center / np.outer(lengths, lengths)))
    step = root @ ((S - center) / np.outer(lengths, lengths)) @ root.T
    right = max(-np.linalg.eigvalsh(step)[0], np.linalg.norm(S - center) / radius)
    for recipe in (1.0 * sets.FrobeniusBall(radius), sets.FrobeniusBall(radius) + sets.ExactCovariance()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of digits that the program itself has not
            found = sets.gauge(recipe.centred(Moments.estimate(X)), S)
        assert found == pytest.approx(right, rel=1e-6)


def test_the_chi_square_law_is_too_narrow_for_a_small_sample():
    assert covered(sets.MeanMetricEllipsoid(), normal, NORMAL, 8, 600, law="chi-square") < 0.85


def within(m, S, radius, truth) -> bool:
    """Whether the true mean lies in the ellipsoid round m with the shape S, by the definition."""
    away = truth.mean - m
    return bool(away @ np.linalg.solve(S, away) <= radius**2)


@pytest.mark.parametrize(
    "recipe, law, n, least, most",
    [
        (sets.MeanEllipsoid(), "hotelling", 12, 0.863, 0.937),
        (sets.MeanEllipsoid() * sets.ExactCovariance(), "hotelling", 12, 0.92, 0.98),  # half of the error is the mean's
        (sets.MeanEllipsoid(), "bootstrap", 40, 0.8, 0.98),
        (sets.MeanEllipsoid() * sets.WishartBall(), "chi-square", 12, 0.92, 0.98),
    ],
    ids=["alone", "exact covariance", "bootstrap", "beside covariances"],
)
def test_an_ellipsoid_of_means_is_judged_in_the_covariance_that_is_used(recipe, law, n, least, most):
    """The estimated one, unless a set of covariances is to hold the true one."""
    rng, draws = np.random.default_rng(11), 50 if law == "bootstrap" else 600
    beside = isinstance(recipe, sets.Product) and isinstance(recipe.covariances, sets.WishartBall)
    hits = 0
    for _ in range(draws):
        X = normal(rng, n)
        if beside:  # no law of both: the parts are given theirs one by one
            radius = sets.calibrate(sets.MeanMetricEllipsoid(), X, 0.95, law=law).radius
            found = sets.MeanEllipsoid(radius) * sets.WishartBall(1e6)
        else:
            found = sets.calibrate(recipe, X, 0.9, law=law, random_state=rng, resamples=100)
        means = found.means if isinstance(found, sets.Product) else found
        moments = Moments.estimate(X)
        inside = within(moments.mean, NORMAL.covariance if beside else moments.covariance, means.radius, NORMAL)
        assert sets.coverage(found, NORMAL, X) is inside
        hits += inside
    assert least <= hits / draws <= most


def test_the_wishart_law_holds_in_many_dimensions():
    """The divergences are computed from their formula here; half of a chi-square would cover 0.64 of the samples."""
    n, p, radius = 200, 15, sets.wishart_radius(15, 0.95, 200)
    S = stats.wishart.rvs(n - 1, np.eye(p), size=1000, random_state=5) / n
    values = np.linalg.eigvalsh(S)
    divergence = 0.5 * np.sum(1 / values + np.log(values) - 1, axis=1)
    assert np.mean(divergence <= radius) == pytest.approx(0.95, abs=0.021)
    assert np.mean(divergence <= 0.5 * sets.chi_square_radius(sets.free_entries(p), 0.95, n) ** 2) < 0.7


@pytest.mark.parametrize("recipe", [sets.FrobeniusBall(), sets.GelbrichBall(), sets.MeanMetricEllipsoid()], ids=repr)
def test_the_bootstrap_covers_nearly_as_often_as_it_says(recipe):
    assert covered(recipe, normal, NORMAL, 150, 120, law="bootstrap", resamples=120) >= 0.8


def test_a_product_shares_the_error_between_its_parts():
    X = normal(np.random.default_rng(1), 200)
    both = sets.calibrate(sets.MeanMetricEllipsoid() * sets.FrobeniusBall(), X, 0.9, resamples=200)
    alone = sets.calibrate(sets.FrobeniusBall(), X, 0.9, resamples=200)
    assert both.covariances.radius > alone.radius > 0
    product = sets.MeanMetricEllipsoid() * sets.WishartBall()
    # The parts of a normal sample are independent, so that both hold with probability 0.95 squared.
    assert covered(product, normal, NORMAL, 12, 600, law="wishart") == pytest.approx(0.9025, abs=0.037)


SUMS = sets.FrobeniusBall(0.4) + sets.FrobeniusBall(0.2)
COMPOSITES = [
    (2.0 * sets.FrobeniusBall(0.4), sets.FrobeniusBall(), 0.4),
    (0.5 * sets.FrobeniusBall(0.4), sets.FrobeniusBall(), 0.4),
    (sets.FrobeniusBall(0.4) & sets.FrobeniusBall(0.3), sets.FrobeniusBall(), 0.3),
    (sets.FrobeniusBall(0.4) | sets.FrobeniusBall(0.3), sets.FrobeniusBall(), 0.4),
    (SUMS, sets.FrobeniusBall(), 0.6),
    (1.5 * SUMS, sets.FrobeniusBall(), 0.6),
    (1.5 * sets.MeanMetricEllipsoid(0.3), sets.MeanMetricEllipsoid(), 0.3),
    (1.5 * sets.MeanEllipsoid(0.3), sets.MeanEllipsoid(), 0.3),
    (sets.MeanWithin(sets.NormBall(2, 0.4)) & sets.MeanWithin(sets.NormBall(2, 0.3)), sets.MeanWithin(sets.NormBall(2)), 0.3),
]  # fmt: skip


@pytest.mark.parametrize("composite, plain, radius", COMPOSITES, ids=lambda value: repr(value)[:60])
def test_a_set_without_a_radius_is_measured_by_multiples_of_itself(composite, plain, radius):
    """Balls show it: what enters at the multiple t of a ball enters the ball at t times its radius."""
    nominal = laws.moments(3)
    rng = np.random.default_rng(8)
    around = composite.centred(nominal)
    for _ in range(3):
        # Members near the centre, where the cone of covariances takes no part.
        S = nominal.covariance + 0.05 * nominal.covariance @ laws.centred(sets.FrobeniusBall(0.3), nominal).sample(rng)
        S = nominal.covariance + 0.02 * (S + S.T - 2 * nominal.covariance)
        m = nominal.mean + nominal.covariance @ rng.standard_normal(3)
        member = S if composite.family == "covariance" else (m, nominal.covariance)
        expected = sets.gauge(plain.centred(nominal), member) / radius
        assert sets.gauge(around, member) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_the_number_that_is_calibrated_is_the_sets_own():
    """Not a number of a part: the multiple of a dilation, whatever the radius of what it multiplies."""
    X = normal(np.random.default_rng(1), 60)
    ball = sets.calibrate(sets.FrobeniusBall(), X, 0.9, resamples=10)
    for composite in (3.0 * sets.FrobeniusBall(0.25), sets.FrobeniusBall(0.25) & sets.FrobeniusBall(0.7)):
        found = sets.calibrate(composite, X, 0.9, resamples=10)
        assert found.multiple * 0.25 == pytest.approx(ball.radius, rel=1e-6)
    image = sets.FrobeniusBall(0.25).preimage(np.diag([2.0, 2.0]))
    assert sets.calibrate(image, X, 0.9, resamples=10).radius == pytest.approx(4.0 * ball.radius, rel=1e-6)


def test_the_multiple_of_a_joint_set_against_its_inequalities():
    """DelageYe's two conditions in plain NumPy, and the multiple by halving."""
    nominal, rng = laws.moments(3), np.random.default_rng(12)
    root = np.linalg.inv(np.linalg.cholesky(nominal.covariance))
    around = sets.DelageYe(0.3, 1.4).centred(nominal)
    for _ in range(3):
        m = nominal.mean + 0.3 * nominal.covariance @ rng.standard_normal(3)
        S = nominal.covariance * rng.uniform(0.8, 1.6) + 0.1 * np.outer(m, m)

        def holds(t, d=root @ (m - nominal.mean), X=root @ (S - nominal.covariance) @ root.T):
            second = np.eye(3) + X / t + np.outer(d, d) / t**2
            return d @ d / t**2 <= 0.3 and np.linalg.eigvalsh(second)[-1] <= 1.4

        low, high = 1e-3, 1e3
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if holds(middle) else (middle, high)
        assert sets.gauge(around, (m, S)) == pytest.approx(high, rel=1e-6)


def test_a_composite_shows_the_radius_of_its_part():
    assert (sets.FrobeniusBall(0.3) + np.eye(2)).radius == 0.3
    assert sets.MeanWithin(sets.NormBall(2, 0.2)).radius == 0.2
    with pytest.raises(AttributeError, match="first_radius"):
        _ = (sets.FrobeniusBall(0.3) & sets.NuclearBall(0.2)).radius


def test_a_set_that_never_holds_the_truth_says_how_often_it_does_not():
    X = normal(np.random.default_rng(4), 40)
    for recipe in (sets.DiagonalBall(), sets.FrobeniusBall(0.1).image(np.ones((2, 1))), sets.Exact()):
        with pytest.raises(InputError, match=r"at no size around 100% of the resampled ones"):
            sets.calibrate(recipe, X, 0.9, resamples=10)


BOUNDED = [
    sets.MeanWithin(sets.NormBall(1, 1)), sets.MeanWithin(sets.NormBall(2, 1)), sets.MeanWithin(sets.NormBall("inf", 1)),
    sets.FrobeniusBall(), sets.SpectralBall(), sets.NuclearBall(), sets.BuresBall(), sets.GelbrichBall(),
    sets.MeanWithin(sets.NormBall(2, 1)) * sets.FrobeniusBall(), sets.DelageYe(),
]  # fmt: skip


def corners(rng, n):
    """Points at the corners of a square, the widest spread of a bounded support, most of them at one of two."""
    return rng.choice([-1.0, 1.0], (n, 2), p=[0.9, 0.1])


@pytest.mark.parametrize("recipe", BOUNDED, ids=repr)
def test_concentration_sizes_every_ball_for_every_bounded_law(recipe):
    truth = Moments(np.array([-0.8, -0.8]), 0.36 * np.eye(2))
    joint = isinstance(recipe, sets.DelageYe)
    # The longest whitened point is the corner (1, 1), at sqrt(2) * 1.8 / 0.6.
    R, n = (math.sqrt(2) * 3.0, 60_000) if joint else (math.sqrt(2), 300)
    rng = np.random.default_rng(9)
    for _ in range(3 if joint else 40):
        X = corners(rng, n)
        found = sets.calibrate(recipe, X, 0.9, law="concentration", support_radius=R)
        assert sets.coverage(found, truth, X)


def test_the_inequalities_behind_the_concentration_sizes():
    """Spectral <= Frobenius, nuclear <= sqrt(p) Frobenius, squared Bures <= nuclear: attained, and never exceeded."""
    rng = np.random.default_rng(11)
    p = 3
    X = rng.uniform(-1, 1, (400, p))
    size = {
        kind: sets.calibrate(kind(), X, 0.9, law="concentration", support_radius=2.0).radius
        for kind in (sets.FrobeniusBall, sets.SpectralBall, sets.NuclearBall, sets.BuresBall)
    }
    F = size[sets.FrobeniusBall]
    for _ in range(200):
        A, B = (g @ g.T for g in rng.standard_normal((2, p, rng.integers(1, p + 1))))
        gap = F / np.linalg.norm(A - B)
        A, B = gap * A, gap * B
        assert np.linalg.norm(A - B, 2) <= size[sets.SpectralBall] * (1 + 1e-12)
        assert np.linalg.norm(A - B, "nuc") <= size[sets.NuclearBall] * (1 + 1e-12)
        squared = np.trace(A + B) - 2 * np.sqrt(np.maximum(np.linalg.eigvals(A @ B).real, 0)).sum()
        assert squared <= size[sets.BuresBall] ** 2 * (1 + 1e-9)


def test_concentration_asks_for_what_it_needs():
    X = np.random.default_rng(4).uniform(-1, 1, (400, 2))
    with pytest.raises(InputError, match="support_radius: None was found"):
        sets.calibrate(sets.FrobeniusBall(), X, law="concentration")
    with pytest.raises(InputError, match="'concentration' is not known for WishartBall"):
        sets.calibrate(sets.WishartBall(), X, law="concentration", support_radius=2.0)


def test_concentration_covers_every_bounded_law_and_is_wide():
    rng = np.random.default_rng(3)
    truth = Moments(np.zeros(2), np.eye(2) / 3)
    n, R = 400, math.sqrt(2)
    mean, frobenius = sets.concentration_radii(R, n, 0.9)
    recipe = sets.MeanWithin(sets.NormBall(2, mean)) * sets.FrobeniusBall(frobenius)
    assert all(sets.coverage(recipe, truth, rng.uniform(-1, 1, (n, 2))) for _ in range(50))
    with pytest.raises(InputError, match="needs"):
        sets.concentration_radii(1.0, 5, 0.95)
    gamma1, gamma2 = sets.delage_ye_sizes(math.sqrt(6), 4000, 2, 0.9)
    assert 0 < gamma1 < 1 < gamma2
    joint = sets.DelageYe(gamma1, gamma2)
    assert all(sets.coverage(joint, truth, rng.uniform(-1, 1, (4000, 2))) for _ in range(5))
    with pytest.raises(InputError, match="more points"):
        sets.delage_ye_sizes(math.sqrt(6), 50, 2, 0.9)


def test_cross_validation_takes_the_radius_with_the_best_score():
    X = normal(np.random.default_rng(4), 60)
    seen = []

    def score(recipe, train, test):
        seen.append((train.shape[0], test.shape[0]))
        return -abs(recipe.radius - 0.3)

    found = sets.cross_validated(sets.FrobeniusBall(), X, [0.1, 0.3, 1.0], score, folds=4)
    assert found.radius == 0.3 and set(seen) == {(45, 15)}
    flat = sets.cross_validated(sets.FrobeniusBall(), X, [1.0, 0.1, 0.3], lambda *_: 0.0)
    assert flat.radius == 0.1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_cross_validation_gives_a_score_rows_of_a_frame_as_frames(library):
    """Labelled scenarios find their columns. Rows were arrays, in which they were taken by position."""
    frames, X = pytest.importorskip(library), normal(np.random.default_rng(4), 60)
    table = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    seen = []

    def score(recipe, train, test):
        assert list(train.columns) == list(test.columns) == ["a", "b"]
        seen.append(np.r_[train.to_numpy(), test.to_numpy()])
        return recipe.radius

    assert sets.cross_validated(sets.FrobeniusBall(), table, [0.1, 0.3], score, folds=4).radius == 0.3
    for whole in seen:
        np.testing.assert_array_equal(whole[np.lexsort(whole.T)], X[np.lexsort(X.T)])


class Named(sets.CovarianceSet):
    """A Frobenius ball of a size that is no radius; the constructor that it inherits leaves one, which nothing reads."""

    def __init__(self, bound=0.5):
        self.bound = bound
        super().__init__()

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.bound]


class Grows(Named):
    grows_by = "bound"


class Fixed(sets.CovarianceSet):
    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= 0.5]


class Means(sets.MeanSet):
    def __init__(self, bound=0.5):
        super().__init__()
        self.bound = bound

    def membership(self, m, S):
        return [cp.matrix_frac(m - self.center, S) <= self.bound**2]


class Pairs(sets.MomentSet):
    def __init__(self, bound=0.5):
        super().__init__()
        self.bound = bound

    def membership(self, m, S):
        return [cp.norm(m - self.center_mean) <= self.bound, cp.norm(S - self.center_covariance, "fro") <= self.bound]


class Points(sets.PointSet):
    def __init__(self, bound=0.5):
        super().__init__()
        self.bound = bound

    def membership(self, u):
        return [cp.norm(u - self.center) <= self.bound]


class Both(Named):
    """The radius that it inherits is one, and read."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.bound * self.radius]


@pytest.mark.parametrize(
    ("kind", "unit"), [(Named, 0.5), (Fixed, 0.5), (Both, 0.5), (Grows, 1.0), (Means, 0.5), (Pairs, 0.5), (Points, 0.5)]
)
@pytest.mark.parametrize("distance", [0.1, 0.3, 0.6])
def test_a_set_of_a_size_of_another_name_is_measured_by_multiples_of_itself(kind, unit, distance):
    """Balls by hand: a member at a distance lies in the multiple distance / bound, or at the bound that the class names."""
    nominal, step = laws.moments(3), np.array([1.0, 2.0, -2.0]) / 3.0
    centred = kind().centred(np.zeros(3) if kind is Points else nominal)
    member = {
        "covariance": nominal.covariance + distance * np.outer(step, step),
        "mean": nominal.mean + distance * np.linalg.cholesky(nominal.covariance) @ step,
        "moments": (nominal.mean + distance * step, nominal.covariance + 0.5 * distance * np.outer(step, step)),
        "points": distance * step,
    }[centred.family]
    assert sets.gauge(centred, member) == pytest.approx(distance / unit, rel=1e-6)
    if kind is Named:
        image = kind().preimage(np.eye(3)).centred(nominal)
        assert sets.gauge(image, member) == pytest.approx(distance / unit, rel=1e-6)
    if kind is not Points:
        held = sets.coverage(kind(), Moments(*_pair(nominal, member)), _sample_with(nominal))
        assert held is (distance <= 0.5)


def _pair(nominal, member):
    if isinstance(member, tuple):
        return member
    return (nominal.mean, member) if member.ndim == 2 else (member, nominal.covariance)


def _sample_with(nominal):
    """Points whose sample moments are the nominal ones."""
    X = np.random.default_rng(2).normal(size=(12, 3))
    X -= X.mean(axis=0)
    root = np.linalg.cholesky(nominal.covariance) @ np.linalg.inv(np.linalg.cholesky(X.T @ X / 12))
    return X @ root.T + nominal.mean


def test_a_set_of_a_size_of_another_name_is_calibrated_by_it_or_as_a_multiple():
    X = np.random.default_rng(3).normal([4, 3, 5], [1, 0.5, 0.8], size=(60, 3))
    ball = sets.calibrate(sets.FrobeniusBall(), X, 0.9, resamples=20).radius
    assert sets.calibrate(Grows(5.0), X, 0.9, resamples=20).bound == pytest.approx(ball, rel=1e-6)
    for recipe in (Named(), Fixed()):
        found = sets.calibrate(recipe, X, 0.9, resamples=20)
        assert found.part is recipe and found.multiple * 0.5 == pytest.approx(ball, rel=1e-6)
    assert sets.calibrate(Both(), X, 0.9, resamples=20).radius * 0.5 == pytest.approx(ball, rel=1e-6)


def test_cross_validation_tries_the_number_that_a_class_names():
    X = normal(np.random.default_rng(4), 60)
    found = sets.cross_validated(Grows(), X, [0.1, 0.3, 1.0], lambda recipe, *_: -abs(recipe.bound - 0.3))
    assert found.bound == 0.3
    for recipe in (Named(), Fixed(), 2.0 * Named(), sets.ExactMean() * Fixed()):
        with pytest.raises(InputError, match=r"members do not depend on its radius; let the class of .* as grows_by"):
            sets.cross_validated(recipe, X, [0.1, 0.3], lambda *_: 0.0)


@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), "a", 1j, [1.0], np.complex128(2.0), {}])
def test_a_score_that_is_no_number_is_named(value):
    X = normal(np.random.default_rng(4), 60)
    with pytest.raises(
        InputError, match=r"score: .* was returned for FrobeniusBall\(radius=0.1\); let it return one real"
    ):
        sets.cross_validated(sets.FrobeniusBall(1.0), X, [0.2, 0.1], lambda *_: value)


def test_scores_that_are_numbers_of_any_kind_count():
    X = normal(np.random.default_rng(4), 60)
    for kind in (float, np.float32, np.array, lambda value: np.array([value]), lambda value: value > -0.05):
        found = sets.cross_validated(
            sets.FrobeniusBall(), X, [0.1, 0.3], lambda r, *_, kind=kind: kind(-abs(r.radius - 0.3))
        )
        assert found.radius == 0.3
    for value in (math.nan, None):
        found = sets.cross_validated(
            sets.FrobeniusBall(), X, [0.1, 0.3], lambda r, *_, value=value: 1.0 if r.radius == 0.3 else value
        )
        assert found.radius == 0.3


@pytest.mark.parametrize(("confidence", "needed"), [(0.9999, 9999), (0.999, 999), (0.99, 99), (0.98, 49), (0.975, 39)])
def test_a_confidence_that_resamples_do_not_reach_is_refused(confidence, needed):
    """The largest of n exchangeable sizes is at least another one with probability n / (n + 1)."""
    X = normal(np.random.default_rng(4), 60)
    with pytest.raises(
        InputError, match=rf"resamples: {needed - 1} was found, .* give {needed} or more, or a smaller confidence"
    ):
        sets.calibrate(sets.FrobeniusBall(), X, confidence, resamples=needed - 1)
    if needed < 100:
        assert sets.calibrate(sets.FrobeniusBall(), X, confidence, resamples=needed).radius > 0


def test_no_law_is_shorter_in_its_own_metric_than_the_root_of_its_dimension():
    """The mean of the squared lengths is the trace of the identity; points at the corners of a cube all have that length."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    assert np.linalg.norm(corners, axis=1) == pytest.approx(np.full(8, math.sqrt(3.0)))
    assert np.cov(corners.T, bias=True) == pytest.approx(np.eye(3))
    assert sets.delage_ye_sizes(math.sqrt(3.0), 100_000, 3, 0.9)[0] > 0
    for call in (
        lambda: sets.delage_ye_sizes(1.0, 100_000, 3, 0.9),
        lambda: sets.calibrate(
            sets.DelageYe(), normal(np.random.default_rng(4), 60), 0.9, law="concentration", support_radius=1.0
        ),
    ):
        with pytest.raises(
            InputError, match=r"support_radius: 1 was found, and no law in [23] dimensions .* below sqrt"
        ):
            call()


class Backwards(ThreadPoolExecutor):
    """Runs the last task first, so that an answer that depends on the order of tasks differs."""

    def map(self, function, *columns, **options):
        work = list(zip(*columns, strict=True))
        return reversed([function(*arguments) for arguments in reversed(work)])


@pytest.mark.parametrize("made", [lambda: Backwards(1), lambda: ThreadPoolExecutor(2)])
def test_the_bootstrap_is_the_same_on_every_executor(made):
    X = normal(np.random.default_rng(6), 40)
    recipe = sets.MeanMetricEllipsoid() * sets.FrobeniusBall()
    alone = sets.calibrate(recipe, X, 0.9, resamples=50, random_state=3)
    with made() as executor:
        found = sets.calibrate(recipe, X, 0.9, resamples=50, random_state=3, executor=executor)
    assert (found.means.radius, found.covariances.radius) == (alone.means.radius, alone.covariances.radius)
    rng = np.random.default_rng(3)
    truth = Moments.estimate(X)
    rows = [rng.integers(0, 40, 40) for _ in range(50)]
    sizes = [np.linalg.norm(Moments.estimate(X[row]).covariance - truth.covariance) for row in rows]
    ball = sets.calibrate(sets.FrobeniusBall(), X, 0.9, resamples=50, random_state=3)
    assert ball.radius == pytest.approx(np.quantile(sizes, 0.9, method="higher"), rel=1e-6)


def test_what_cannot_be_calibrated_says_so():
    X = normal(np.random.default_rng(4), 20)
    with pytest.raises(InputError, match="bootstrap"):
        sets.calibrate(sets.FrobeniusBall(), X, law="chi-square")
    with pytest.raises(InputError, match=r"recipe: NormBall.* was found; give a set of means"):
        sets.calibrate(sets.NormBall(2, 1), X)
    with pytest.raises(InputError, match="confidence"):
        sets.calibrate(sets.FrobeniusBall(), X, 1.2)


def test_coverage_of_a_set_without_a_gauge_is_membership():
    """A mean four deviations away leaves the set of two numbers, the nominal one does not."""
    X = np.random.default_rng(2).standard_normal((200, 2))
    nominal = Moments.estimate(X)
    recipe = sets.DelageYe(0.1, 1.5)
    assert sets.coverage(recipe, nominal, X)
    assert not sets.coverage(recipe, Moments(nominal.mean + 4.0, nominal.covariance), X)


def test_a_distance_of_both_moments_has_half_of_the_error_for_each():
    """Error 0.1 is 0.05 for the mean and 0.05 for the covariance, each with its own bound."""
    X, R, p = np.random.default_rng(0).uniform(-1, 1, (500, 2)), 2.0, 2
    mean, frobenius = sets.concentration_radii(R, 500, 0.95)
    found = sets.calibrate(sets.GelbrichBall(), X, 0.9, law="concentration", support_radius=R)
    assert found.radius == pytest.approx(math.sqrt(mean**2 + math.sqrt(p) * frobenius), rel=1e-12)


def test_concentration_radii_are_those_of_the_printed_inequalities():
    """R = 2, n = 400, confidence 0.9: 2/20 (2 + sqrt(2 ln 10)) for the mean and 8/20 (2 + sqrt(2 ln 20)) for the covariance."""
    mean, covariance = sets.concentration_radii(2.0, 400, 0.9)
    assert mean == pytest.approx(0.1 * (2 + np.sqrt(2 * np.log(10))), rel=1e-12)
    assert covariance == pytest.approx(0.4 * (2 + np.sqrt(2 * np.log(20))), rel=1e-12)


def test_coverage_of_parts_that_are_combined_is_that_of_each_by_its_own_gauge():
    """What is combined has no gauge: an intersection holds the truth where both parts do, hull and sum where one does."""
    rng = np.random.default_rng(0)
    truth, found = Moments([3.0, 2.0], np.eye(2)), set()
    ball, diamond = (sets.MeanWithin(sets.NormBall(p, 0.3)) for p in (2, 1))
    for _ in range(6):
        X = rng.normal([3.0, 2.0], 1.0, size=(20, 2))
        for one, two in (
            (sets.SpectralBall(0.35), sets.NuclearBall(0.5)),
            (ball, diamond),
            (sets.MeanEllipsoid(0.3), ball),
        ):
            parts = [sets.coverage(part, truth, X) for part in (one, two)]
            assert sets.coverage(one & two, truth, X) == all(parts)
            if one is not ball and one.family == "mean":
                continue  # hulls and sums are of means that know of no covariance
            for larger in (one | two, one + two):
                assert sets.coverage(larger, truth, X) or not any(parts)
            found.add((one.family, all(parts)))
        assert sets.coverage(sets.MeanEllipsoid(9.0) * (sets.SpectralBall(9.0) & sets.NuclearBall(9.0)), truth, X)
    assert len(found) == 4, "some hold the truth and some do not"


def test_coverage_matches_points_and_moments_by_the_names_of_their_columns():
    """The moments of the very points are held by every set around them."""
    import pandas as pd

    frame = pd.DataFrame(
        np.random.default_rng(0).standard_normal((60, 3)) * [1, 2, 0.5] + [3, 1, -2], columns=list("xyw")
    )
    recipe = sets.MeanEllipsoid(0.01) * sets.FrobeniusBall(0.01)
    moments = Moments.estimate(frame)
    assert sets.coverage(recipe, moments, frame) and sets.coverage(recipe, moments, frame[["w", "x", "y"]])
    assert not sets.coverage(recipe, moments, frame[["w", "x", "y"]].to_numpy())


@pytest.mark.parametrize(
    "recipe", [sets.FrobeniusBall(), sets.GelbrichBall(), sets.MeanWithin(sets.NormBall(2, 1))], ids=repr
)
def test_a_support_radius_is_held_against_the_points(recipe):
    X = np.random.default_rng(4).uniform(-1, 1, (400, 2))
    X[17] = 3.0, 4.0
    assert sets.calibrate(recipe, X, law="concentration", support_radius=5.0)
    with pytest.raises(
        InputError, match=r"support_radius: 4 was found, and point 17 is 1\.25 times as long; give a length"
    ):
        sets.calibrate(recipe, X, law="concentration", support_radius=4.0)
    with pytest.raises(InputError, match="point 0 is inf times as long"):
        sets.calibrate(recipe, 1e100 * X, law="concentration", support_radius=1e-150)


def test_calibrate_matches_labelled_scenarios_with_a_frame():
    """As with the scenarios in the order of its columns. By position it was an error here, and another size elsewhere."""
    import pandas as pd

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 5.0], columns=["a", "b"])
    S, tie = np.diag([1.0, 25.0]), np.array([[0.0, 2.0], [2.0, 0.0]])
    scenarios = [3.0 * S, 0.2 * S, S + np.diag([0.9, 0.0]), S + tie, S - tie]
    labelled = [pd.DataFrame(one, ["a", "b"], ["a", "b"]).loc[["b", "a"], ["b", "a"]] for one in scenarios]
    plain, named = (sets.calibrate(sets.CovarianceHull(given), X, 0.8, resamples=10) for given in (scenarios, labelled))
    assert named.numbers() == plain.numbers()


@pytest.mark.parametrize("recipe", [sets.BuresBall(0.3), sets.GelbrichBall(0.3), sets.FrobeniusBall(0.3)])
def test_an_image_under_one_column_holds_nothing_off_its_line(recipe):
    """No member moves off the line, so that the gauge is infinite; it was an error of a ball of radius 3e5. On the line it is finite."""
    T, X = np.array([[1.0], [2.0], [0.5]]), np.random.default_rng(0).normal([2.0, 1.0, 0.0], size=(100, 3))
    moments = Moments.estimate(X)
    held = recipe.image(T).centred(moments)

    def member(covariance):
        return (moments.mean, covariance) if isinstance(recipe, sets.MomentSet) else covariance

    assert sets.gauge(held, member(moments.covariance + np.diag([0.1, 0.0, 0.0]))) == math.inf
    assert 0 < sets.gauge(held, member(moments.covariance + 0.1 * T @ T.T)) < 1


class RelativeEntropy(sets.MeanSet):
    """Means whose steps, in units of the radius, have at most this entropy relative to none."""

    def membership(self, m):
        return [cp.sum(cp.kl_div(1 + (m - self.center) / self.radius, np.ones(3))) <= 0.5]


class Cubes(sets.MeanSet):
    """The same with cubes, which are meant of what is not negative."""

    def membership(self, m):
        step = (m - self.center) / self.radius
        return [cp.sum(cp.power(1 + step, 3)) <= 4, step <= 1]


@pytest.mark.parametrize("step", [(-0.2, -0.1, -0.3), (-0.4, 0.1, 0.1), (0.1, 0.2, 0.1)])
def test_beyond_what_functions_are_defined_on_nothing_is_a_member(step):
    """A set of a small radius holds nothing far off: the value of a function beyond its domain was taken for one, and gauges were 0."""
    d = np.array(step)
    moments = Moments(np.array([3.0, 2.0, 1.0]), np.eye(3))
    least = max(-d.min(), 1e-12)

    def size(excess):
        return least if excess(least) <= 0 else brentq(excess, least, 100.0, xtol=1e-13)

    entropy = size(lambda r: kl_div(np.maximum(1 + d / r, 0.0), 1.0).sum() - 0.5)
    cubes = max(size(lambda r: (np.maximum(1 + d / r, 0.0) ** 3).sum() - 4.0), d.max())
    for recipe, right in ((RelativeEntropy(1.0), entropy), (Cubes(1.0), cubes)):
        assert sets.gauge(recipe.centred(moments), moments.mean + d) == pytest.approx(right, rel=1e-6)
        far = recipe.replaced(radius=0.5 * right)
        sample = np.vstack([moments.mean + np.eye(3), moments.mean - np.eye(3)])
        assert not sets.coverage(far, Moments(moments.mean + d, np.eye(3)), sample)
