"""Images and preimages of intersections, met by their membership.

The truth of each is a small program in the coordinates of the part, or a closed form: with the centre :math:`S_0 = TY_0T'` the members
of an image are :math:`TYT'`, and :math:`a'TYT'a` is the variance of Y along :math:`T'a`.
"""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.methods.single_class_mpm import derived_counterpart
from convexnovelty.uncertainty.derived import membership_of


def deviations(uncertainty, a):
    """By the class's own form, by the membership, and by a member that attains it."""
    return [
        sets.evaluate_deviation(uncertainty, a),
        sets.evaluate_deviation(uncertainty, a, "derived"),
        sets.adversary(uncertainty, a).value,
    ]


def drawn(seed, order):
    """A covariance and a number generator that goes on from there."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(order, order))
    return A @ A.T + 0.1 * np.eye(order), rng


def largest(centre, b, member, constraints):
    """The largest deviation of a member along b, by a program in coordinates in which the centre is the identity."""
    added = cp.Problem(cp.Maximize(b @ member @ b), constraints).solve(solver="CLARABEL")
    return math.sqrt(b @ centre @ b + added)


@pytest.mark.parametrize("seed", [8, 13, 16, 39, 133, 210, 225, 260])
def test_image_of_a_ball_within_a_plane_and_an_interval_of_its_own_image(seed):
    """Worst deviations by membership lay up to 27 per cent below those of members, or no member could be found."""
    S, rng = drawn(seed, 3)
    B, T, inner, a = rng.normal(size=(3, 2)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    part = sets.SubspaceBall(B, 0.1) & sets.FrobeniusBall(0.2) & sets.LoewnerInterval(0.6, "nominal").image(inner)
    held = part.image(T).centred(cn.Moments(np.ones(3), S))
    back = np.linalg.inv(T)
    Y0, b, X = back @ S @ back.T, T.T @ a, cp.Variable((2, 2), symmetric=True)
    q = np.linalg.solve(np.linalg.cholesky(Y0), B)
    step, share = B @ X @ B.T, q @ X @ q.T
    within = [cp.norm(X, "fro") <= 0.1, cp.norm(step, "fro") <= 0.2, share << 0.6 * np.eye(3), share >> -np.eye(3)]
    right = largest(Y0, b, step, within)
    assert right >= math.sqrt(a @ S @ a)
    assert deviations(held, a) == pytest.approx([right] * 3, rel=2e-6)


@pytest.mark.parametrize(
    ("seed", "twice"),
    [(1, False), (10, False), (45, False), (53, False), (1, True), (5, True), (39, True), (51, True)],
)
def test_image_of_covariances_that_differ_in_their_diagonal(seed, twice):
    """The centre is a member of all of them, which were called empty, or in which no member could be found."""
    S, rng = drawn(seed, 4)
    T = rng.normal(size=(4, 4))
    part = sets.DiagonalBall(1, 0.4) & sets.LoewnerInterval(0.3, "nominal")
    image = part.image(T).image(T.T) if twice else part.image(T)
    T = T.T @ T if twice else T
    held, a = image.centred(cn.Moments(np.ones(4), S)), np.ones(4)
    back = np.linalg.inv(T)
    Y0, b, delta = back @ S @ back.T, T.T @ a, cp.Variable(4)
    root = np.linalg.inv(np.linalg.cholesky(Y0))
    share = root @ cp.diag(delta) @ root.T
    within = [cp.norm(delta, 1) <= 0.4, share << 0.3 * np.eye(4), share >> -np.eye(4)]
    right = largest(Y0, b, cp.diag(delta), within)
    assert deviations(held, a) == pytest.approx([right] * 3, rel=2e-6)


@pytest.mark.parametrize(("largest_variance", "seed"), [(1e4, 19), (1e6, 19), (1e6, 34)])
def test_an_interval_by_its_image_is_no_point(largest_variance, seed):
    """All that members do was less than rounding of further variables in units of their own, and the set counted as its centre."""
    rng = np.random.default_rng(seed)
    axes, T = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=(3, 3))
    S = axes @ np.diag([largest_variance, 0.3, 0.05]) @ axes.T
    # The ball is wider than what the interval leaves along the middle axis, half of its variance more.
    part = sets.LoewnerInterval(0.5, "nominal").image(T) & sets.FrobeniusBall(0.6)
    held = part.centred(cn.Moments(np.ones(3), (S + S.T) / 2))
    assert not membership_of(held).is_point
    assert deviations(held, axes[:, 1]) == pytest.approx([math.sqrt(1.5 * 0.3)] * 3, rel=2e-6)


def flattened(condition):
    """A matrix whose axes are of uneven length, which makes what is round thin along a direction that is no coordinate."""
    rng = np.random.default_rng(4)
    one, other = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    return one @ np.diag([1.0, condition**-0.5, 1.0 / condition]) @ other


BESIDE = np.diag([1.0, 2.0, 0.5])
OPERATIONS = {
    "image": lambda part, T: part.image(T),
    "preimage": lambda part, T: part.preimage(np.linalg.inv(T)),
    "image of an image": lambda part, T: part.image(BESIDE).image(T @ np.linalg.inv(BESIDE)),
    "image of a preimage": lambda part, T: part.preimage(BESIDE).image(T @ BESIDE),
}
DIRECTIONS = [np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([0.6, 0, 0.8])]
ROUND = np.array([[2.0, 0.6, 0.3], [0.6, 1.5, -0.4], [0.3, -0.4, 1.0]])


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("condition", [1e2, 1e4, 1e5])
def test_worst_deviations_of_an_image_are_found_where_it_is_round(operation, condition):
    """The ball has all digits where the part lies, and beside a variance of 1e-10 worst cases by membership were up to 61 per cent off."""
    T = flattened(condition)
    back = np.linalg.inv(T)
    part = sets.FrobeniusBall(0.3) & sets.SpectralBall(0.5)
    held = OPERATIONS[operation](part, T).centred(cn.Moments(np.zeros(3), T @ ROUND @ T.T))
    for b in DIRECTIONS:
        right = b @ ROUND @ b + 0.3
        assert deviations(held, back.T @ b) == pytest.approx([math.sqrt(right)] * 3, rel=2e-6)
        member = back @ sets.adversary(held, back.T @ b).member @ back.T
        assert b @ member @ b == pytest.approx(right, rel=2e-5)
        assert np.linalg.norm(member - ROUND) <= 0.3 + 2e-5


@pytest.mark.parametrize("operation", OPERATIONS)
def test_worst_losses_of_an_image_are_found_where_it_is_round(operation):
    """The same of pairs, whose means are off by 0.2 of the centre's deviations."""
    T, kappa, mean = flattened(1e4), 1.5, np.array([1.0, 2.0, 3.0])
    back = np.linalg.inv(T)
    part = sets.MeanMetricEllipsoid(0.2) * (sets.FrobeniusBall(0.3) & sets.SpectralBall(0.5))
    held = OPERATIONS[operation](part, T).centred(cn.Moments(T @ mean, T @ ROUND @ T.T))
    for b in DIRECTIONS:
        shifted, deviation = b @ mean + 0.2 * math.sqrt(b @ ROUND @ b), math.sqrt(b @ ROUND @ b + 0.3)
        a, right = back.T @ b, shifted + kappa * deviation
        worst = sets.adversary(held, a, kappa)
        found = [worst.value, *(sets.evaluate_loss(held, a, kappa, route) for route in ("best", "derived"))]
        assert found == pytest.approx([right] * 3, rel=2e-6)
        assert a @ worst.member[0] == pytest.approx(shifted, rel=1e-6)
        assert sets.Adversary(held).deviation(a).value == pytest.approx(deviation, rel=2e-6)
        assert sets.evaluate_deviation(held, a, "derived") == pytest.approx(deviation, rel=2e-6)


class Halved(sets.CovarianceImage):
    """A class of one's own with fewer members than what it is derived from."""

    def membership(self, S):
        return [*super().membership(S), cp.norm(S - self.center, "fro") <= 0.15]


def test_a_class_that_is_derived_from_images_is_asked_for_its_members():
    held = Halved(sets.FrobeniusBall(0.3), np.eye(3)).centred(cn.Moments(np.zeros(3), np.eye(3)))
    a = np.array([1.0, 0.0, 0.0])
    assert sets.evaluate_deviation(held, a, "derived") == pytest.approx(math.sqrt(1.15), rel=2e-6)
    assert sets.adversary(held, a).value == pytest.approx(math.sqrt(1.15), rel=2e-6)


@pytest.mark.parametrize("method", [derived_counterpart, cn.single_class_mpm])
def test_a_number_of_an_images_part_is_followed(method):
    """A radius is changed in the compiled program; an image under an invertible matrix has the worst cases of a ball's."""
    T = flattened(10.0)
    moments = cn.Moments(T @ np.array([3.0, 1.0, 2.0]), T @ T.T)
    program = method(moments, 0.7, (sets.FrobeniusBall(0.3) & sets.SpectralBall(2.0)).image(T))
    there = cn.Moments(np.array([3.0, 1.0, 2.0]), np.eye(3))
    for radius in (0.3, 0.6):
        program.set(first_radius=radius)
        right = cn.single_class_mpm(there, 0.7, sets.FrobeniusBall(radius)).solve().objective
        assert program.solve().objective == pytest.approx(right, rel=2e-6)


class Grown(sets.CovarianceSet):
    """S = F'XF for X up to (1 + radius) I, as a user writes it, who claims nothing of what a change of coordinates does."""

    def membership(self, S):
        X = cp.Variable((len(self.factor), len(self.factor)), symmetric=True)
        return [S == self.factor.T @ X @ self.factor, (1 + self.radius) * np.eye(len(self.factor)) - X >> 0]


COMBINED = {
    "alone": lambda image: image,
    "hull": lambda image: image | sets.ExactCovariance(),
    "sum": lambda image: image + sets.ExactCovariance(),
    "intersection": lambda image: image & sets.LoewnerInterval(50.0, "nominal"),
}
KEPT = {
    "interval": (sets.LoewnerInterval(0.5, "nominal"), 1.5),
    "ball": (sets.SubspaceBall(radius=0.5), 1.5),
    "own": (Grown(radius=0.5), 1.5),
}


@pytest.mark.parametrize("combination", COMBINED)
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize(("seed", "rank"), [(1, 3), (3, 3), (24, 3), (20, 2), (27, 1)])
def test_a_matrix_with_more_columns_than_rows_or_a_singular_centre(seed, rank, name, combination):
    """These sets are their own images: a'Sa grows by the factor alone. The part's centre is singular, in directions that are no columns'."""
    part, factor = KEPT[name]
    rng = np.random.default_rng(seed)
    root, a, T = rng.normal(size=(3, rank)) @ rng.normal(size=(rank, 6)), rng.normal(size=3), rng.normal(size=(3, 5))
    S = root @ root.T / 6
    held = COMBINED[combination](part.image(T)).centred(cn.Moments(np.ones(3), S))
    assert deviations(held, a) == pytest.approx([math.sqrt(factor * (a @ S @ a))] * 3, rel=2e-6)


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_pairs_under_a_matrix_with_more_columns_than_rows(seed):
    """The mean's ellipsoid and the interval are their own images: m'a + (kappa + nu) times the root of the factor. Off by 67 per cent."""
    rng = np.random.default_rng(seed)
    root, m, a, T = rng.normal(size=(3, 6)), rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 4))
    S = root @ root.T / 6
    image = (sets.MeanEllipsoid(0.5) * sets.LoewnerInterval(0.5, "nominal")).image(T)
    held = (image | sets.Exact()).centred(cn.Moments(m, S))
    right = m @ a + 1.5 * math.sqrt(1.5 * (a @ S @ a))
    for found in (sets.evaluate_loss(held, a, 1.0), sets.adversary(held, a, 1.0).value):
        assert found == pytest.approx(right, abs=2e-6 * math.sqrt(a @ S @ a))


def test_a_radius_of_an_image_that_is_flat_moves_without_compiling_again():
    """The reduced cones are those of other radii too."""
    rng = np.random.default_rng(3)
    root, T = rng.normal(size=(3, 6)), rng.normal(size=(3, 5))
    moments = cn.Moments(rng.normal(size=3) + 3.0, root @ root.T / 6)
    image = sets.LoewnerInterval(0.5, "nominal").image(T) | sets.ExactCovariance()
    problem = cn.single_class_mpm(moments, 0.8, uncertainty=image)
    for radius in (0.5, 0.2, 0.9):
        problem.set(radius=radius)
        alone = cn.single_class_mpm(moments, 0.8, uncertainty=sets.LoewnerInterval(radius, "nominal"))
        assert problem.solve().objective == pytest.approx(alone.solve().objective, rel=1e-6)


@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_an_image_that_leaves_out_a_constant_column_beside_a_transport_ball(radius):
    """In the columns that vary it is the intersection of two balls there, which a program of its own has. The second was lost."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + np.array([3.0, 5.0, 7.0, 5.0])
    X[:, 0] = 3.25
    moments, a = cn.Moments.estimate(X), np.array([0.1, 1.0, -1.0, 0.5])
    S0 = moments.covariance[1:, 1:]
    S, Y = cp.Variable((3, 3), symmetric=True), cp.Variable((3, 3))
    within = [cp.norm(S - S0, "fro") <= 0.4, cp.bmat([[S, Y], [Y.T, S0]]) >> 0]
    within.append(cp.trace(S) + np.trace(S0) - 2 * cp.trace(Y) <= radius**2)
    right = math.sqrt(cp.Problem(cp.Maximize(a[1:] @ S @ a[1:]), within).solve(solver="CLARABEL"))
    held = (sets.FrobeniusBall(0.4).image(np.eye(4)[:, 1:]) & sets.BuresBall(radius)).centred(moments)
    assert deviations(held, a) == pytest.approx([right] * 3, rel=2e-6)


@pytest.mark.parametrize(
    "T", [np.eye(2), np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0]])]
)
def test_a_preimage_of_points_lies_round_the_origin_until_it_is_centred(T):
    recipe, a = sets.NormBall(2, 1.5).preimage(T), np.array([1.0, -0.5])
    # The longest member along a of those that T takes into the ball.
    right = 1.5 * np.sqrt(a @ np.linalg.solve(T.T @ T, a))
    for placed in (recipe, recipe.centred(np.zeros(2))):
        assert sets.adversary(placed, a).value == pytest.approx(right, rel=1e-7)
        assert sets.evaluate_support(placed, a) == pytest.approx(right, rel=1e-7)
        assert sets.gauge(placed, a) == pytest.approx(np.linalg.norm(T @ a), rel=1e-6)
