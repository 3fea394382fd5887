"""Points whose reduced hull all but holds the origin: scores are small beside the terms that they are sums of."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.estimators import OneClassSVM
from convexnovelty.estimators.base import Learned, NoveltyEstimator
from convexnovelty.estimators.scores import LinearScore
from convexnovelty.modelling import mean_of_lowest, separates
from convexnovelty.regions import Guarantee


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _strip(seed):
    """A strip that passes the origin closely, in general position, and the fraction of it that may lie outside."""
    rng = np.random.default_rng(seed)
    n, d, nu = int(rng.integers(10, 60)), 10 ** rng.uniform(-6, -1), float(rng.choice([0.1, 0.3, 0.5, 0.9]))
    X = np.c_[d * (1 + 0.3 * rng.random(n)), rng.standard_normal(n)]
    return X @ np.linalg.qr(rng.standard_normal((2, 2)))[0], nu


def _exact(X, nu):
    """Half the squared distance of the reduced hull in the plane, and who lies outside, in fractions and by trying all pairs."""
    rows = [(Fraction(x), Fraction(y)) for x, y in X.tolist()]
    most = 1 / (Fraction(nu).limit_denominator(1000) * len(rows))
    for i, j in itertools.combinations(range(len(rows)), 2):
        across = (rows[i][1] - rows[j][1], rows[j][0] - rows[i][0])
        for w in (across, (-across[0], -across[1])):
            scores = [w[0] * x + w[1] * y for x, y in rows]
            out = [k for k in range(len(rows)) if scores[k] < scores[i]]
            left = 1 - most * len(out)
            if not 0 < left <= 2 * most:
                continue
            base = [most * sum(rows[k][c] for k in out) + left * rows[j][c] for c in (0, 1)]
            step = [left * (rows[i][c] - rows[j][c]) for c in (0, 1)]
            t = -(base[0] * step[0] + base[1] * step[1]) / (step[0] ** 2 + step[1] ** 2)
            nearest = [base[c] + t * step[c] for c in (0, 1)]
            # Optimal: it is a point of the reduced hull, and no other one scores less in its own direction.
            inside = 0 <= left * t <= most and 0 <= left * (1 - t) <= most
            if inside and nearest[0] * w[0] + nearest[1] * w[1] > 0:
                return float(nearest[0] ** 2 + nearest[1] ** 2) / 2, out
    raise AssertionError("the optimum has other than two points on the plane")


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("seed", [27, 30, 145])
def test_a_strip_near_the_origin_has_the_plane_of_exact_arithmetic(seed, kernel):
    X, nu = _strip(seed)
    value, out = _exact(X, nu)
    machine = OneClassSVM(nu, kernel=kernel, degree=1, gamma=1.0, coef0=0.0).fit(X)
    assert machine.objective_ == pytest.approx(value, rel=1e-6)
    assert np.flatnonzero(machine.predict(X) == -1).tolist() == out
    assert machine.guarantee_.startswith(f"{len(out)} of {len(X)} training points lie outside")
    assert len(out) <= nu * len(X)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("degree", [1, 3])
def test_no_strip_leaves_out_more_than_the_fraction(kernel, degree):
    for seed in range(0, 60):
        X, nu = _strip(seed)
        outside = (OneClassSVM(nu, kernel=kernel, degree=degree, gamma=1.0, coef0=0.0).fit(X).predict(X) == -1).mean()
        assert outside <= nu + 1e-9


def _plane(d, n=15):
    y = np.random.default_rng(0).standard_normal(n)
    return np.c_[np.full(2 * n, d), np.r_[y, -y]]


@pytest.mark.parametrize("d", [1e-1, 1e-3, 3e-5, 1e-5, 1e-6])
@pytest.mark.parametrize("unit", [1.0, 1e-8, 1e8])
def test_points_of_a_plane_near_the_origin_lie_on_the_boundary(d, unit):
    """x1 = d for all: w = (d, 0), rho = d^2, the optimum is d^2 / 2, and nobody lies outside."""
    X = unit * _plane(d)
    machine = OneClassSVM(0.5, kernel="linear").fit(X)
    assert machine.objective_ == pytest.approx((unit * d) ** 2 / 2, rel=1e-6)
    assert machine.guarantee_.startswith("0 of 30 training points lie outside")
    assert machine.predict(X).min() == 1
    assert machine.predict(unit * np.array([[0.0, 0.0], [-1.0, 0.0], [2 * d, 0.0]])).tolist() == [-1, -1, 1]


@pytest.mark.parametrize("d", [1e-2, 1e-4])
@pytest.mark.parametrize("seed", range(3))
def test_long_points_of_a_plane_lie_on_the_boundary_too(d, seed):
    """Their scores are sums of longer terms than those of the points that make the plane."""
    y = np.random.default_rng(seed).standard_normal(15) * np.where(np.arange(15) < 3, 1e3, 1.0)
    X = np.c_[np.full(30, d), np.r_[y, -y]]
    machine = OneClassSVM(0.5, kernel="linear").fit(X)
    assert machine.predict(X).min() == 1
    assert machine.predict([[0.0, 0.0], [2 * d, 0.0]]).tolist() == [-1, 1]


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("d", [1e-4, 1e-5])
def test_a_factory_separates_a_plane_near_the_origin(d, form):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = cn.one_class_svm(cn.LinearFeatures(_plane(d)), 0.5, form=form).solve()
    assert abs(solution.objective) == pytest.approx(d**2 / 2, rel=1e-4)
    assert "w = 0" not in solution.guarantee
    assert solution.region.contains([[0.0, 0.0], [-1.0, 0.0], [2 * d, 0.0]]).tolist() == [False, False, True]


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("depth", [0.0, 1e-9, 1e-5, 1e-1])
def test_a_hull_that_holds_the_origin_is_never_separated(depth, form):
    """Two such planes, one on either side of the origin."""
    X = np.vstack([_plane(depth), _plane(-depth)])
    solution = cn.one_class_svm(cn.LinearFeatures(X), 0.5, form=form).solve()
    assert solution.guarantee.startswith("w = 0 to the solver's accuracy")
    assert solution.guarantee.bound == 1.0
    with pytest.warns(UserWarning, match=r"holds the origin to that accuracy, so nothing is separated"):
        assert OneClassSVM(0.5, kernel="linear").fit(X).predict(X).min() == 1


def test_scores_are_those_of_the_multipliers_however_many_steps_were_taken():
    for seed in (27, 30, 145):
        X, nu = _strip(seed)
        found = solve_dual(X, "linear", outlier_fraction=nu, tolerance=1e-6, of_scores=1e-9)
        assert np.abs(found.scores - X @ (X.T @ found.multipliers)).max() <= 1e-15


def test_the_mean_of_the_lowest_scores_is_the_least_of_the_reduced_hull():
    scores, weights = np.array([3.0, -1.0, 2.0, 5.0]), np.array([1.0, 2.0, 4.0, 1.0]) / 8
    assert mean_of_lowest(scores, 0.25) == -1.0
    assert mean_of_lowest(scores, 0.375) == pytest.approx((-1.0 * 0.25 + 2.0 * 0.125) / 0.375)
    assert mean_of_lowest(scores, 1.0) == pytest.approx(2.25)
    assert mean_of_lowest(scores, 0.5, weights) == pytest.approx((-1.0 * 0.25 + 2.0 * 0.25) / 0.5)
    assert separates(np.array([1e-6, 2e-6]), np.ones(2), 1.0, 1.0)
    assert not separates(np.array([1e-16, 2e-16]), np.ones(2), 1.0, 1.0)
    assert not separates(np.array([-1e-6, 2e-6]), np.ones(2), 1.0, 0.5)


class _Rounded(NoveltyEstimator):
    """A machine that knows its scores less well than they are evaluated."""

    def _learn(self, X, weights):
        said = f"0 of {len(X)} training points lie outside, at most the fraction 0.2 of them"
        return Learned(LinearScore(np.ones(1)), 4.0, Guarantee(said, bound=0.2))


def test_no_sentence_states_a_fraction_that_its_own_count_exceeds():
    X = np.arange(10.0)[:, None]
    machine = _Rounded().fit(X)
    assert (machine.predict(X) == -1).sum() == 1
    assert machine.guarantee_.startswith("1 of 10 training points lie outside, at most the fraction 0.2")
    assert machine.offset_ == pytest.approx(1.0, abs=1e-5)  # the lower end of the quantiles from 1 to 2
