"""What is said of a plane that is not an optimum, and of which solutions a theorem speaks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.methods import one_class_svm
from convexnovelty.uncertainty import FrobeniusBall

X = np.random.default_rng(3).standard_normal((20, 2)) + np.array([4.0, 3.0])
FEATURES = cn.LinearFeatures(X)


@pytest.mark.parametrize("deviation", [0.25, 1.0, 8.0])
def test_a_bound_plane_is_as_many_deviations_from_the_origin_as_it_says(deviation):
    """Beside a further constraint the distance of the plane is its offset in worst deviations."""
    solution = (
        cn.mahalanobis_svm(FEATURES, 0.3, FrobeniusBall(0.1), form="primal")
        .subject_to(lambda v: v["w"][0] == 0.1 * deviation, lambda v: v["u"] <= deviation)
        .solve()
    )
    w, rho = solution.values["w"], solution.values["rho"]
    S = np.cov(X.T, ddof=0) + 0.1 * np.eye(2)
    distance = rho / solution.values["u"]
    assert rho > 0 and solution.values["u"] >= math.sqrt(w @ S @ w) * (1 - 1e-6)
    assert f"the plane is at least {distance:.6g} deviations from the origin" in solution.guarantee
    assert solution.values["distance"] == pytest.approx(distance) and math.isfinite(distance)


def test_leaving_one_out_is_claimed_of_the_plain_search_alone():
    """The other solvers' multipliers are near zero where those of the search are zero, so that they count too many."""
    few = cn.LinearFeatures(X)
    plain = one_class_svm.sequential(few, 0.33)
    claims = one_class_svm.leave_one_out(plain, few, 0.33)
    assert len(claims) == 1 and claims[0].computed <= claims[0].reference <= 1 and claims[0].gap <= 0
    assert one_class_svm.leave_one_out(cn.one_class_svm(few, 0.33, form="dual").solve(), few, 0.33) == []
    # Of one support vector at most nothing is left once it is gone.
    assert one_class_svm.leave_one_out(plain, few, 1.0) == [] != one_class_svm.leave_one_out(plain, few, 0.9)
    assert one_class_svm.leave_one_out(plain, few, 0.33, np.ones(20)) == []
    many = cn.LinearFeatures(np.vstack([X, X + 0.1, X - 0.1, X[:1]]))
    assert one_class_svm.leave_one_out(one_class_svm.sequential(many, 0.33), many, 0.33) == []
    # Six of twenty at their bound and none below it: the offset is an interval, of whose middle nothing is claimed.
    several = one_class_svm.sequential(few, 0.3)
    assert several.offset.width > 0 and one_class_svm.leave_one_out(several, few, 0.3) == []


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5])
def test_the_chapters_choice_of_pairs_ends_where_all_points_may_be_at_a_bound(nu):
    """The start left a multiplier of 1e-16, which passed for one that may fall and could not."""
    plain = one_class_svm.sequential(FEATURES, nu)
    scans = one_class_svm.sequential_schoelkopf(FEATURES, nu)
    assert scans.objective == pytest.approx(plain.objective, rel=1e-9)
