"""A size of zero that leaves one point of a part of a set alone, as weights of a sample, against the moments that follow from it."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.uncertainty import MomentSet, evaluate_loss


def divergence(kind: str, w: Any, q: Any, radius: Any) -> list[Any]:
    n = len(q)
    return {
        "Kullback-Leibler": lambda: [w >= 0, cp.sum(cp.kl_div(w, q)) <= radius],
        "entropy": lambda: [cp.sum(cp.entr(w)) >= float(-q @ np.log(q)) - radius],
        "chi square": lambda: [w >= 0, cp.sum_squares(n * w - n * q) / n <= radius],
        "total variation": lambda: [w >= 0, cp.norm1(w - q) <= radius],
    }[kind]()


class Reweighted(MomentSet):
    """Moments of laws on the sample, with a covariance that is at most theirs; ``tilt`` makes the weights unequal."""

    def __init__(self, X: Any, kind: str, radius: float, tilt: float = 0.0) -> None:
        super().__init__(radius)
        self.X, self.kind, self.tilt = np.asarray(X, dtype=float), kind, tilt

    @property
    def weights(self) -> Any:
        q = 1.0 + self.tilt * np.linspace(-1.0, 1.0, len(self.X))
        return q / q.sum()

    def membership(self, m: Any, S: Any) -> list[Any]:
        q = self.weights
        away, w = self.X - q @ self.X, cp.Variable(len(q))
        step = cp.reshape(m - q @ self.X, (S.shape[0], 1), order="F")
        around = cp.bmat([[away.T @ cp.diag(w) @ away - S, step], [step.T, np.ones((1, 1))]])
        return [
            cp.sum(w) == 1,
            m == q @ self.X + away.T @ w,
            around >> 0,
            *divergence(self.kind, w, q, self.radius),
        ]


def sample(seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((14, 2)) @ rng.standard_normal((2, 2)) + [4.0, -3.0]


@pytest.mark.parametrize(
    ("kind", "tilt"),
    [
        ("Kullback-Leibler", 0.0),
        ("Kullback-Leibler", 0.6),
        ("entropy", 0.0),
        ("chi square", 0.6),
        ("total variation", 0.0),
    ],
)
def test_weights_that_a_divergence_of_zero_leaves_are_exact(kind, tilt):
    recipe = Reweighted(sample(), kind, 0.0, tilt)
    moments = cn.Moments.estimate(recipe.X, weights=len(recipe.X) * recipe.weights)
    a = np.array([0.7, -0.4])
    right = moments.mean @ a + 1.3 * np.sqrt(a @ moments.covariance @ a)
    assert evaluate_loss(recipe.centred(moments), a, 1.3) == pytest.approx(right, rel=1e-7)
    exact = cn.single_class_mpm(moments, 0.4).solve().objective
    problem = cn.single_class_mpm(moments, 0.4, recipe)
    assert problem.solve().objective == pytest.approx(exact, rel=1e-7)
    anew = cn.single_class_mpm(moments, 0.4, Reweighted(recipe.X, kind, 0.02, tilt)).solve().objective
    assert anew > 1.001 * exact
    walked = [found.objective for found in problem.path(radius=[0.02, 0.0])]
    assert walked == pytest.approx([anew, exact], rel=1e-6)


class Beside(MomentSet):
    """Means within a distance that a size of zero leaves, far from the origin, and a covariance that grows with the size."""

    def membership(self, m: Any, S: Any) -> list[Any]:
        return [cp.norm(m - self.center_mean) <= 0.05, S << (1.0 + self.radius) * self.center_covariance]


def test_what_a_size_of_zero_leaves_more_than_a_point_stays():
    moments = cn.Moments([3000.0, -1000.0], np.diag([4.0, 1.0]))
    a = np.array([0.6, 0.8])
    right = moments.mean @ a + 0.05 + np.sqrt(a @ moments.covariance @ a)
    assert evaluate_loss(Beside(0.0).centred(moments), a, 1.0) == pytest.approx(right, abs=1e-6)
