"""Slips of a class that show in half of all directions, for one part of a pair, or round no centre but the origin."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.checking.contract import check_set
from convexnovelty.uncertainty import CovarianceSet, MeanSet, MomentSet, PointSet

MOMENTS = cn.Moments.estimate(np.random.default_rng(0).normal([4, 3, 1], size=(60, 3)))


def refused(recipe, **options):
    """The claims that fail, of a set of one's own."""
    return {row.claim for row in check_set(recipe, **options) if row.verdict == "fail"}


FORM, MEMBER, GAUGE = (
    "the closed form holds in every direction, round any centre",
    "the worst member is one in every direction, round any centre",
    "the gauge tells members from others in every direction, round any centre",
)


class Ball(PointSet):
    """An honest Euclidean ball that states all three."""

    def membership(self, u):
        return [cp.norm(u - self.center) <= self.radius]

    def support(self, w):
        return self.center @ w + self.radius * cp.norm(w)

    def worst_member(self, w):
        return self.center + self.radius * w / np.linalg.norm(w)

    def gauge(self, u):
        return float(np.linalg.norm(u - self.center))


class HonestPair(MomentSet):
    """Means in a ball cut off on one side, and covariances in another, with the gauge that has them all."""

    def membership(self, m, S):
        away = m - self.center_mean
        return [
            cp.norm(away) <= self.radius,
            cp.norm(S - self.center_covariance, "fro") <= self.radius,
            away[0] <= 0.2 * self.radius,
        ]

    def gauge(self, m, S):
        away = m - self.center_mean
        return max(np.linalg.norm(away), np.linalg.norm(S - self.center_covariance), away[0] / 0.2)


@pytest.mark.parametrize("recipe", [Ball(0.3), HonestPair(0.3)], ids=repr)
def test_honest_classes_pass(recipe):
    rows = check_set(recipe, moments=MOMENTS)
    assert all(row.verdict == "pass" for row in rows), [row.reason for row in rows]
    assert GAUGE in {row.claim for row in rows}


def test_a_class_that_states_nothing_has_no_row_on_it():
    class Plain(PointSet):
        def membership(self, u):
            return [cp.norm(u - self.center) <= self.radius]

    assert not {FORM, MEMBER, GAUGE} & {row.claim for row in check_set(Plain(0.3))}


def test_an_interval_with_two_ends_is_asked_for_both():
    class Delay(PointSet):
        def membership(self, u):
            return [u - self.center >= -self.radius, u - self.center <= 3 * self.radius]

        def support(self, w):
            return self.center @ w + self.radius * cp.norm(w, 1)

    assert refused(Delay(0.3)) == {FORM}
    assert refused(type("Wide", (Delay,), {"membership": Delay.membership, "support": Delay.support,
                                           "exactness": "conservative"})(0.3)) == {FORM}  # fmt: skip


@pytest.mark.parametrize("tilt", [0.0, 0.5])
def test_half_a_ball_has_not_the_support_of_the_whole(tilt):
    class Half(PointSet):
        def membership(self, u):
            return [cp.norm(u - self.center) <= self.radius, u[0] - self.center[0] <= tilt * self.radius]

        support, worst_member = Ball.support, Ball.worst_member

    assert refused(Half(0.3)) >= {FORM, MEMBER}


def test_covariances_that_may_only_become_more_correlated():
    class Correlated(CovarianceSet):
        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.radius, S[0, 1] >= self.center[0, 1]]

        def worst_deviation(self, a):
            return cp.norm(np.linalg.cholesky(self.center + self.radius * np.eye(len(self.center))).T @ a)

    assert FORM in refused(Correlated(0.5), moments=MOMENTS)


def test_worst_members_and_gauges_that_are_wrong_on_one_side():
    class Short(Ball):
        membership, support, gauge = Ball.membership, Ball.support, Ball.gauge

        def worst_member(self, w):
            return self.center + (0.5 if w[0] > 0 else 1.0) * self.radius * w / np.linalg.norm(w)

    class Small(Ball):
        membership, support, worst_member = Ball.membership, Ball.support, Ball.worst_member

        def gauge(self, u):
            return (0.5 if (u - self.center)[0] > 0 else 1.0) * float(np.linalg.norm(u - self.center))

    assert MEMBER in refused(Short(0.3))
    assert GAUGE in refused(Small(0.3))


def test_what_forgets_the_centre_is_right_round_the_origin_only():
    class Forgets(PointSet):
        membership = Ball.membership

        def support(self, w):
            return self.radius * cp.norm(w)

        def worst_member(self, w):
            return self.radius * w / np.linalg.norm(w)

        def gauge(self, u):
            return float(np.linalg.norm(u))

    assert refused(Forgets(0.3)) == {FORM, MEMBER, GAUGE}


def test_the_gauge_of_a_pair_has_all_of_its_constraints():
    class Lacks(HonestPair):
        membership = HonestPair.membership

        def gauge(self, m, S):
            return max(np.linalg.norm(m - self.center_mean), np.linalg.norm(S - self.center_covariance))

    assert GAUGE in refused(Lacks(0.3), moments=MOMENTS)


def test_means_are_tried_on_both_sides():
    class OneSided(MeanSet):
        def membership(self, m):
            return [cp.abs(m - self.center) <= self.radius, m - self.center <= 0.5 * self.radius]

        def support(self, w):
            return self.center @ w + self.radius * cp.norm(w, 1)

    assert FORM in refused(OneSided(0.2), moments=MOMENTS)
