"""A check of small samples on which an optimum is zero, a hull is a point or a choice of outliers has several answers."""

from __future__ import annotations

import pytest

import convexnovelty as cn
from convexnovelty.checking.instances import Case, Knobs

# Nothing is separated: points lie on both sides of the origin, and w = 0.
ORIGIN_IN_THE_HULL = [
    ("mahalanobis_svm", Knobs(n=4, dimension=1, conditioning=1.8218540061712916, seed=751242)),
    ("mahalanobis_svm", Knobs(n=11, dimension=1, degeneracy=0.3, seed=354651, unit=1e3)),
    ("mahalanobis_svm", Knobs(n=5, dimension=1, seed=307306, unit=0.1)),
    ("mahalanobis_svm", Knobs(n=14, dimension=1, degeneracy=0.3, seed=863144, level=0.0, unit=1e-6)),
]
# All points are one, so that a ball has the radius zero.
ONE_POINT = [
    ("soft_ball", Knobs(n=5, dimension=4, conditioning=1297.7599152840207, degeneracy=0.7, seed=694488, unit=100.0)),
    ("soft_ball", Knobs(n=3, dimension=3, conditioning=23.79089803642411, degeneracy=0.5, seed=447865, unit=1e4)),
    ("soft_ball", Knobs(n=2, dimension=3, conditioning=638.2490362011902, degeneracy=0.5, seed=620021, unit=10.0)),
]


@pytest.mark.parametrize(("method", "knobs"), [*ORIGIN_IN_THE_HULL, *ONE_POINT], ids=str)
def test_a_check_holds(method, knobs):
    case = Case(method, knobs)
    report = cn.check(case.formulation(case.nodes()[0]))
    assert report.passed, report.table()
