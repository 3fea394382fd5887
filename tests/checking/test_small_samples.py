"""A check of small samples on which an optimum is zero, a hull is a point or a choice of outliers has several answers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.checking import checker
from convexnovelty.checking.instances import Case, Knobs
from convexnovelty.declare import Instance
from convexnovelty.methods import single_class_mpm
from convexnovelty.uncertainty import KLBall, LoewnerInterval, WishartBall

# Nothing is separated: points lie on both sides of the origin, or as far around it as the positions they may have, and w = 0.
ORIGIN_IN_THE_HULL = [
    ("mahalanobis_svm", Knobs(n=4, dimension=1, conditioning=1.8218540061712916, seed=751242)),
    ("mahalanobis_svm", Knobs(n=11, dimension=1, degeneracy=0.3, seed=354651, unit=1e3)),
    ("mahalanobis_svm", Knobs(n=5, dimension=1, seed=307306, unit=0.1)),
    ("mahalanobis_svm", Knobs(n=14, dimension=1, degeneracy=0.3, seed=863144, level=0.0, unit=1e-6)),
    (
        "uncertain_points",
        Knobs(n=10, dimension=3, conditioning=90.12242937121229, degeneracy=0.7, seed=422328, level=3.0, unit=0.1),
    ),
    ("uncertain_points", Knobs(n=14, dimension=1, degeneracy=0.3, seed=51131, level=3.0)),
]
# All points are one, or those that are kept, so that a ball has the radius zero and all scores are the offset.
ONE_POINT = [
    ("soft_ball", Knobs(n=5, dimension=4, conditioning=1297.7599152840207, degeneracy=0.7, seed=694488, unit=100.0)),
    ("soft_ball", Knobs(n=3, dimension=3, conditioning=23.79089803642411, degeneracy=0.5, seed=447865, unit=1e4)),
    ("soft_ball", Knobs(n=2, dimension=3, conditioning=638.2490362011902, degeneracy=0.5, seed=620021, unit=10.0)),
    ("exact_outliers", Knobs(n=2, dimension=1, degeneracy=0.5, seed=536986, level=1, unit=10.0)),
    (
        "exact_outliers",
        Knobs(n=5, dimension=3, conditioning=11078.448236782384, degeneracy=0.7, seed=756076, level=3, unit=0.01),
    ),
    (
        "uncertain_points",
        Knobs(n=2, dimension=2, conditioning=68459.54150944069, degeneracy=0.7, seed=690110, level=0.0, unit=1e5),
    ),
]
# Fewer points than directions: one class does not vary along the normal.
SINGULAR = [
    ("two_class_mpm", Knobs(n=9, dimension=4, conditioning=38.74947787745225, degeneracy=0.7, seed=191795, level=0.0)),
    ("two_class_mpm", Knobs(n=3, dimension=3, conditioning=184.61212931447804, seed=456177, level=0.0, unit=1e6)),
]
# Cuts that nearly coincide before the bounds meet.
CLOSE_CUTS = [
    (
        "single_class_mpm",
        Knobs(n=12, dimension=4, conditioning=623.1666160694409, degeneracy=0.3, seed=130021, level=0.6, unit=1e2),
    ),
    (
        "single_class_mpm",
        Knobs(n=13, dimension=4, conditioning=3806.121177149407, degeneracy=0.7, seed=748867, level=0.9, unit=0.01),
    ),
    (
        "two_class_mpm",
        Knobs(n=3, dimension=4, conditioning=606474.6776406241, degeneracy=0.3, seed=582469, level=0.1, unit=10.0),
    ),
    (
        "two_class_mpm",
        Knobs(n=5, dimension=4, conditioning=36834.54600976578, degeneracy=0.3, seed=279599, level=10.0, unit=1e2),
    ),
]
# A confidence of zero: the plane goes through the mean, to rounding.
NO_CONFIDENCE = [
    ("single_class_mpm", Knobs(n=9, dimension=1, degeneracy=0.3, seed=812629, level=0.0, unit=1e6)),
    (
        "single_class_mpm",
        Knobs(n=2, dimension=3, conditioning=2.0617452223528816, degeneracy=0.3, seed=813393, level=0.0, unit=1e-4),
    ),
]

# What is known to the root of a solver's accuracy: weights of kernels as multipliers, and planes by their values.
ROOTS = [
    (
        "mahalanobis_svm",
        Knobs(n=4, dimension=2, conditioning=3189.1548735971714, degeneracy=0.5, seed=691232, level=10.0, unit=1e-6),
    ),
    (
        "kernel_learning",
        Knobs(n=5, dimension=1, conditioning=9.491190464532025, degeneracy=0.3, seed=285450, unit=10.0),
    ),
    ("kernel_learning", Knobs(n=15, dimension=3, conditioning=2.351922023845361, seed=524625, level=0.1, unit=1e3)),
    (
        "kernel_learning",
        Knobs(n=11, dimension=3, conditioning=2362.188603420406, degeneracy=0.7, seed=490678, unit=1e-5),
    ),
    (
        "uncertain_points",
        Knobs(n=9, dimension=4, conditioning=40400.78791304267, degeneracy=0.3, seed=90595, level=0.1, unit=10.0),
    ),
    ("artificial_negatives", Knobs(n=15, dimension=2, conditioning=28349.216386231423, seed=822504, unit=1e5)),
    (
        "mahalanobis_svm",
        Knobs(n=11, dimension=3, conditioning=601.2987943591934, degeneracy=0.7, seed=258674, level=10.0, unit=10.0),
    ),
]

# Coefficients that are rounding in the axes of a covariance, or small in the units of the data, which decided the scale in which
# right points were judged.
ROUNDED = [
    ("uncertain_points", Knobs(n=3, dimension=4, conditioning=22.41406019815469, seed=949500, level=1.0, unit=1e-6)),
    (
        "uncertain_points",
        Knobs(n=9, dimension=4, conditioning=16563.373852515117, degeneracy=0.7, seed=648592, unit=1e-5),
    ),
    (
        "single_class_mpm",
        Knobs(n=10, dimension=3, conditioning=114.8441705849779, degeneracy=0.3, seed=342558, unit=0.01),
    ),
    ("single_class_mpm", Knobs(n=11, dimension=3, conditioning=878.5536761247604, seed=838952, unit=100.0)),
    (
        "mahalanobis_svm",
        Knobs(n=12, dimension=4, conditioning=152.37922893111022, degeneracy=0.3, seed=278594, level=0.0, unit=1e3),
    ),
]


@pytest.mark.parametrize(
    ("method", "knobs"),
    [*ORIGIN_IN_THE_HULL, *ONE_POINT, *SINGULAR, *CLOSE_CUTS, *NO_CONFIDENCE, *ROOTS, *ROUNDED],
    ids=str,
)
def test_a_check_holds(method, knobs):
    case = Case(method, knobs)
    report = cn.check(case.formulation(case.nodes()[0]))
    assert report.passed, report.table()


def test_ends_without_an_optimum_agree_where_both_say_the_same_or_are_a_program_and_its_dual(monkeypatch):
    """The mean lies outside of the covariance's range: the primal is unbounded, and so its dual is infeasible."""
    features = cn.LinearFeatures(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]) + np.array([0.0, 1.0]))
    report = cn.check(Instance("singular", {"features": features, "outlier_fraction": 0.4}, method="mahalanobis_svm"))
    found = {(row.source, row.target): row for row in report.rows}
    assert {row.verdict for row in report.rows} == {"not checked"}
    assert found["primal", "robust"].reason.startswith(
        "both ends are unbounded: UnboundedError: uncertainty: the worst"
    )
    # An end that is infeasible where the other is unbounded is wrong, unless it is the other's dual.
    answer = checker._answer

    def lying(node, *rest):
        found = answer(node, *rest)
        return dataclasses.replace(found, without="infeasible") if node.name in ("primal", "robust_dual") else found

    monkeypatch.setattr(checker, "_answer", lying)
    report = cn.check(Instance("singular", {"features": features, "outlier_fraction": 0.4}, method="mahalanobis_svm"))
    found = {(row.source, row.target): row for row in report.rows}
    assert found["primal", "robust"].verdict == "fail" and found["robust_dual", "robust"].verdict == "not checked"
    assert found["robust_dual", "robust"].reason.startswith("a program and its dual: UnboundedError")


def _fewer_points(seed):
    rng = np.random.default_rng(seed)
    dimension = int(rng.integers(3, 8))
    points = rng.normal(size=(int(rng.integers(3, dimension + 1)), dimension)) * rng.uniform(0.1, 10.0, dimension) + 3.0
    return points, cn.Moments.estimate(points)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "recipe", [None, WishartBall(0.2), KLBall(0.1), WishartBall(0.2) & LoewnerInterval(0.1)], ids=repr
)
def test_fewer_points_than_columns_are_told_apart_for_certain(recipe, seed):
    """No member varies along a normal that is orthogonal to all differences of points: the optimum is zero, by cutting planes too."""
    points, moments = _fewer_points(seed)
    solution = cn.single_class_mpm(moments, 0.8, recipe).solve()
    assert np.abs((points - points.mean(axis=0)) @ solution.values["a"]).max() <= 1e-6
    assert single_class_mpm.semi_infinite(moments, 0.8, recipe).objective <= 1e-7


@pytest.mark.parametrize("recipe", [None, WishartBall(0.2)], ids=repr)
def test_a_check_of_fewer_points_than_columns_compares_no_regions(recipe):
    """Any multiple of such a normal separates as well, and so do others beside it."""
    report = cn.check(cn.single_class_mpm(_fewer_points(1)[1], 0.8, recipe))
    assert not [(row.claim, row.reason) for row in report.rows if row.verdict == "fail"]
    steps = [row for row in report.rows if row.source == "semi_infinite"]
    assert steps and all(np.isnan(row.decision_gap) for row in steps)
    assert all("whose multiples separate as well" in row.reason for row in steps)
