"""Single claims of the catalogue by hand: what a cone changes, sets without an inside, and bounds that are bounds."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.moments import Moments

ROUTES = ("best", "derived")


def test_entries_with_and_without_the_cone_have_different_worst_cases():
    """Centre I, entries within one of it: free entries reach (1 + 1, 0 + 1), which is [[2, -1], [-1, 2]] at (1, -1).

    That corner is positive semidefinite, so both agree in the plane at (1, -1). With three variables the corner of the
    signs (1, -1, -1) of an odd cycle is what the cone cuts off.
    """
    plane = Moments(np.zeros(2), np.eye(2))
    widths = np.ones((2, 2))
    for semidefinite in (True, False):
        wide = sets.EntrywiseInterval(1.0, widths, semidefinite=semidefinite).centred(plane)
        assert sets.evaluate_deviation(wide, [1.0, -1.0]) ** 2 == pytest.approx(6.0, rel=1e-7)


def test_the_cone_makes_a_wide_box_of_entries_smaller():
    """S0 with correlations r between all pairs but one of -r: |a|'D|a| with a = (1, 1, 1) asks for an indefinite corner."""
    S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    D = np.array([[0.0, 0.0, 0.9], [0.0, 0.0, 0.9], [0.9, 0.9, 0.0]])
    nominal, a = Moments(np.zeros(3), S0), np.array([1.0, -1.0, 1.0])
    cone = sets.EntrywiseInterval(1.0, D).centred(nominal)
    # By hand: S = [[1, .9, x], [.9, 1, y], [x, y, 1]] is semidefinite where (x - y)^2 / .1 + (x + y)^2 / 1.9 <= 2, and
    # a'Sa = 3 - 1.8 + 2 (x - y), largest at x = -y: (2x)^2 = .2, that is x - y = sqrt(.2).
    expected = 1.2 + 2 * np.sqrt(0.2)
    free = 1.2 + 2 * (0.9 + 0.9)
    for route in ROUTES:
        assert sets.evaluate_deviation(cone, a, route) ** 2 == pytest.approx(expected, rel=1e-7)
    assert sets.Adversary(cone)(a).value ** 2 == pytest.approx(expected, rel=1e-6)
    corner = S0 + np.sign(np.outer(a, a)) * D
    assert a @ corner @ a == pytest.approx(free) and np.linalg.eigvalsh(corner)[0] < -0.1
    # Without the cone, the convex bound is above what free entries reach, and that above what covariances do.
    loose = sets.EntrywiseInterval(1.0, D, semidefinite=False).centred(nominal)
    assert loose.exactness == "conservative" and cone.exactness == "exact"
    added = -np.linalg.eigvalsh(D)[0] * (a @ a)
    assert sets.evaluate_deviation(loose, a) ** 2 == pytest.approx(free + added, rel=1e-7)
    assert sets.evaluate_deviation(loose, a, "derived") ** 2 == pytest.approx(expected, rel=1e-7)


def test_free_entries_are_exact_where_their_half_widths_are_semidefinite():
    """No corner is indefinite then: the centre, and the half-widths with signs before rows and columns."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        B = rng.random((3, 3))
        loose, tight = (
            sets.EntrywiseInterval(1.0, B @ B.T, semidefinite=s).centred(laws.moments(3)) for s in (False, True)
        )
        assert loose.exactness == tight.exactness == "exact"
        a = rng.standard_normal(3)
        corner = loose.center + np.outer(np.sign(a), np.sign(a)) * (B @ B.T)
        assert np.linalg.eigvalsh(corner)[0] > 0
        for free in (loose, tight):
            assert sets.evaluate_deviation(free, a) ** 2 == pytest.approx(a @ corner @ a, rel=1e-7)


def test_a_conservative_class_is_never_below_and_passes_it_on():
    found = []
    for kind in sets.catalogue().values():
        for recipe in kind.examples(3):
            if recipe.exactness == "exact":
                continue
            found.append(recipe)
            uncertainty = laws.centred(recipe, laws.moments(3))
            attack, rng = sets.Adversary(uncertainty), np.random.default_rng(0)
            gaps = []
            for a in rng.standard_normal((25, 3)):
                reached = attack(a, laws.KAPPA).value
                gaps.append((laws.evaluate(uncertainty, a) - reached) / reached)
            assert min(gaps) >= -1e-7, recipe
            assert max(gaps) > 0.01, f"{recipe} is said to be conservative, and nothing shows it"
            assert (sets.MeanEllipsoid(0.1) * recipe).exactness == "conservative"
            assert (recipe & sets.FrobeniusBall(0.3)).exactness == "conservative"
    assert found


def test_an_ellipsoid_of_lower_rank_has_no_reach_outside_of_its_range():
    shape = np.array([[4.0, 2.0], [2.0, 1.0]])  # rank one, along (2, 1)
    flat = sets.Ellipsoid(shape, 0.5).centred(np.array([1.0, -1.0]))
    for route in ROUTES:
        assert sets.evaluate_support(flat, [1.0, -2.0], route) == pytest.approx(3.0, abs=1e-6)
        assert sets.evaluate_support(flat, [1.0, 1.0], route) == pytest.approx(0.5 * 3.0, rel=1e-7)
    assert flat.worst_member(np.array([1.0, 1.0])) == pytest.approx([2.0, -0.5])
    assert laws.distance(flat, np.array([1.0, -1.0]) + 0.1 * np.array([1.0, -2.0])) > 0.1


class Segment(sets.PointSet):
    """The matrix [[u_0, u_1], [u_1, 0]] is semidefinite, which leaves u_1 = 0: its multipliers grow without end."""

    def membership(self, u):
        corner = cp.reshape(u[0], (1, 1), order="F")
        off = cp.reshape(u[1], (1, 1), order="F")
        return [cp.bmat([[corner, off], [off, np.zeros((1, 1))]]) >> 0, u[0] <= 1]


def test_a_support_whose_dual_is_not_attained_has_the_value_of_the_members():
    segment = Segment().centred(np.zeros(2))
    for w, value in (([1.0, 0.0], 1.0), ([0.0, 1.0], 0.0), ([1.0, 5.0], 1.0), ([-1.0, 3.0], 0.0)):
        assert sets.evaluate_support(segment, w, "derived") == pytest.approx(value, abs=1e-4)
        assert sets.Adversary(segment)(w).value == pytest.approx(value, abs=1e-4)


class Flat(sets.CovarianceSet):
    """Covariances of which one coordinate has no variance, whatever else they are: no member is definite."""

    def membership(self, S):
        return [S[0, 0] == 0, cp.norm(S - self.center, "fro") <= 3.0]


def test_covariances_without_an_inside_have_an_attained_counterpart():
    nominal = Moments(np.zeros(3), np.diag([1.0, 2.0, 3.0]))
    flat = Flat().centred(nominal)
    # The first row vanishes, which costs 1 of the squared radius 9: sqrt(8) is left for the others.
    for a in (np.array([5.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]), np.array([-3.0, 2.0, -1.0])):
        b = a[1:]
        expected = np.sqrt(b @ np.diag([2.0, 3.0]) @ b + np.sqrt(8.0) * b @ b)
        assert sets.evaluate_deviation(flat, a) == pytest.approx(expected, rel=2e-6)
        assert sets.Adversary(flat)(a).value == pytest.approx(expected, rel=2e-6)
    assert sets.evaluate_deviation(flat, np.array([1.0, 0.0, 0.0])) == pytest.approx(0.0, abs=1e-4)


def rows_of(uncertainty):
    moments = laws.moments(2)
    report = cn.check(cn.single_class_mpm(moments, 0.3, uncertainty))
    assert report.passed, report.table()
    return {row.source: row for row in report.rows if row.target == "socp"}


def test_the_checker_holds_a_conservative_counterpart_against_members_as_a_bound():
    off = np.array([[0.0, 1.0], [1.0, 0.0]])
    for free, relation in ((off, "<="), (np.ones((2, 2)), "=")):
        found = rows_of(sets.EntrywiseInterval(0.3, free, semidefinite=False))
        for source in ("semi_infinite", "derived_counterpart"):
            assert found[source].relation == relation and found[source].verdict == "pass"


def test_the_checker_holds_a_conservative_set_of_positions_against_the_nearest_point_as_a_bound():
    class Ball(sets.PointSet):
        """A Euclidean ball whose support is a norm of the direction; only that with p = 2 is exact."""

        exactness = "conservative"
        p, factor = 1, 1.0

        def membership(self, u):
            return [cp.norm(u - self.center) <= self.radius]

        def support(self, w):
            return self.center @ w + self.factor * self.radius * cp.norm(w, self.p)

    class Below(Ball):
        p, factor = 2, 0.9

    points = cn.LinearFeatures(np.random.default_rng(0).normal(size=(8, 3)) + 3)
    for uncertainty, holds in ((Ball(0.3), True), (Below(0.3), False)):
        report = cn.check(cn.uncertain_points(points, 0.2, uncertainty))
        (row,) = [row for row in report.rows if (row.source, row.target) == ("nearest_sum", "robust")]
        assert (row.verdict, row.relation) == ("pass" if holds else "fail", "<=")
        assert report.passed == holds, report.table()


def test_the_checker_does_not_hold_a_derived_counterpart_against_itself():
    class Own(sets.CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "nuc") <= self.radius]

    for uncertainty, compared in (
        (Own(0.1), False),
        (sets.ExactMean() * Own(0.1), False),
        (sets.FrobeniusBall(0.1) & Own(0.1), False),
        (sets.MeanEllipsoid(0.1) * Own(0.1), True),
        (sets.NuclearBall(0.1), True),
    ):
        row = rows_of(uncertainty)["derived_counterpart"]
        assert (row.verdict == "pass") == compared
        assert compared or "gives no counterpart of its own" in row.reason


@pytest.mark.parametrize("recipe", [sets.FactorModel(1, 0.0), sets.FactorModel(2, 0.0, 0.0)], ids=repr)
def test_what_a_cone_pins_to_zero_stays_there(recipe):
    """A zero bound on a diagonal takes its rows with it. The face is known to the root of a solver's accuracy, and its
    tilt must not pass for room in the coordinates that the face has removed: that cost a fifth of the value."""
    uncertainty = recipe.centred(laws.moments(3))
    attack = sets.Adversary(uncertainty)
    for a in laws.directions(laws.moments(3)):
        expected = sets.evaluate_deviation(uncertainty, a)
        assert sets.evaluate_deviation(uncertainty, a, "derived") == pytest.approx(expected, rel=3e-5)
        assert attack(a).value == pytest.approx(expected, rel=3e-5)
