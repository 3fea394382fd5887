"""Points that miss the boundary by as little as a solver may leave of points on it: they lie outside, and are counted there."""

from __future__ import annotations

import re

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.features import LinearFeatures
from convexnovelty.methods import mahalanobis_svm, negative_data, one_class_svm, separation_from_mean, soft_ball
from convexnovelty.methods import uncertain_points as points
from convexnovelty.uncertainty import Box, BuresBall, CovarianceSet, DiagonalBall, FrobeniusBall, NormBall

# In one dimension the order of scores is that of the points: at nu n = 2.5 the third lies on the boundary, and two beyond it.
NU = 0.25


class Own(CovarianceSet):
    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]


def _line(miss):
    return np.array([1.0, 1 + miss, 1 + 2 * miss, 2, 3, 4, 5, 6, 7, 8])[:, None]


def _two_kernels(x):
    return [x @ x.T, np.exp(-((x - x.T) ** 2) / 10)]


MACHINES = {
    "points in a ball": lambda x: cn.uncertain_points(LinearFeatures(x), NU, NormBall(2, 0.01)),
    "points in a box": lambda x: cn.uncertain_points(LinearFeatures(x), NU, Box(radius=0.01)),
    "points, derived": lambda x: points.derived_counterpart(LinearFeatures(x), NU, NormBall(2, 0.01)),
    "points, nearest sum": lambda x: points.nearest_sum(LinearFeatures(x), NU, NormBall(2, 0.01)),
    "Bures ball": lambda x: cn.mahalanobis_svm(LinearFeatures(x), NU, BuresBall(0.5)),
    "diagonal ball": lambda x: cn.mahalanobis_svm(LinearFeatures(x), NU, DiagonalBall(2, 0.5)),
    "own set": lambda x: cn.mahalanobis_svm(LinearFeatures(x), NU, Own(0.5)),
    "metric": lambda x: mahalanobis_svm.primal(LinearFeatures(x), NU, FrobeniusBall(0.5)),
    "metric, derived": lambda x: mahalanobis_svm.derived_counterpart(LinearFeatures(x), NU, FrobeniusBall(0.5)),
    "two kernels": lambda x: cn.kernel_learning(_two_kernels(x), NU),
    "two kernels, dual": lambda x: cn.kernel_learning(_two_kernels(x), NU, form="dual"),
    "kernel with covariance": lambda x: cn.kernel_learning([x @ x.T], NU, covariance_weight=0.1),
}


def _counted(solution):
    found = re.match(r"(\d+) of 10 ", str(solution.guarantee))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("miss", [1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_points_that_narrowly_miss_the_boundary_of_a_solvers_plane_are_counted(make, miss):
    assert _counted(make(_line(miss)).solve()) == 2


@pytest.mark.parametrize("uncertainty", [BuresBall(0.5), DiagonalBall(2, 0.5), Own(0.5)], ids=repr)
def test_the_region_leaves_them_out(uncertainty):
    X = _line(1e-5)
    region = cn.mahalanobis_svm(LinearFeatures(X), NU, uncertainty).solve().region
    assert region.contains(X).tolist() == [False, False] + [True] * 8


# What is brought to rounding of its optimum up to a number of points is a solver's plane beyond.
LARGE = {
    "one_class_svm": (one_class_svm, "polished_margin", lambda x, f: cn.one_class_svm(LinearFeatures(x), NU, form=f)),
    "negative_data": (
        negative_data,
        "polished_margin",
        lambda x, f: cn.negative_data(LinearFeatures(x), np.ones(10), NU, form=f),
    ),
    "separation_from_mean": (
        separation_from_mean,
        "polished_margin",
        lambda x, f: cn.separation_from_mean(
            LinearFeatures(np.vstack([x, [[0.0]]])), NU, [False] * 10 + [True], form=f
        ),
    ),
    "soft_ball": (
        soft_ball,
        "polished",
        # One lies beyond each end, and the other two ends are the sphere.
        lambda x, f: cn.soft_ball(LinearFeatures(np.vstack([x[:3], x[3:7] + 1, x[:3] + 7])), NU, form=f),
    ),
    "mahalanobis_svm": (
        mahalanobis_svm,
        "polished",
        lambda x, f: cn.mahalanobis_svm(LinearFeatures(x), NU, FrobeniusBall(0.5), form=f),
    ),
}


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("method", LARGE)
def test_large_samples_count_them_as_well(method, form, monkeypatch):
    module, name, make = LARGE[method]
    monkeypatch.setattr(module, name, lambda *arguments, **options: None)
    miss = 3e-7 if method == "soft_ball" else 1e-6  # most of its points lie near the sphere, and ties are small
    assert _counted(make(_line(miss), form).solve()) == 2
