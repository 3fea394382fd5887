"""Points that lie far from the origin beside their spread: ties are a share of what tells scores apart, never of their level."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.estimators import KernelLearningSVM
from convexnovelty.regions import TIE_TOLERANCE, spread
from convexnovelty.uncertainty import BuresBall, NormBall

FAR = [1e5, 1e7]


def _blob(mean, n=60, p=2):
    return np.random.default_rng(0).normal(size=(n, p)) + 5.0 + mean


def _scores(normal, Z):
    """The products of a normal with rows, in fractions."""
    w = [Fraction(v) for v in np.asarray(normal).tolist()]
    return [sum((a * Fraction(b) for a, b in zip(w, row, strict=True)), Fraction(0)) for row in np.asarray(Z).tolist()]


def _below(scores, nu):
    """How many scores lie below the least offset that is optimal for them."""
    ordered = sorted(scores)
    return sum(s < ordered[math.ceil(nu * len(scores)) - 1] for s in scores)


def _mpm(X):
    return cn.single_class_mpm(cn.Moments.estimate(X), 0.5).solve()


MACHINES = {
    "single_class_mpm": _mpm,
    "single_class_mpm, closed form": lambda X: cn.methods.single_class_mpm.closed_form(cn.Moments.estimate(X), 0.5),
    "hard_margin": lambda X: cn.hard_margin(cn.LinearFeatures(X)).solve(),
    "hard_margin, dual": lambda X: cn.hard_margin(cn.LinearFeatures(X), form="dual").solve(),
    "hard_margin, Wolfe": lambda X: cn.methods.hard_margin.wolfe(cn.LinearFeatures(X)),
    "uncertain_points": lambda X: cn.uncertain_points(cn.LinearFeatures(X), 0.1, NormBall(2, 0.1)).solve(),
    "one_class_svm": lambda X: cn.one_class_svm(cn.LinearFeatures(X), 0.1).solve(),
    "mahalanobis_svm": lambda X: cn.mahalanobis_svm(cn.LinearFeatures(X), 0.1, BuresBall(0.1)).solve(),
    "exact_outliers": lambda X: cn.exact_outliers(cn.LinearFeatures(X), 1).solve(),
}


@pytest.mark.filterwarnings("ignore:mahalanobis_svm .*is known to a share")
@pytest.mark.parametrize("mean", FAR)
@pytest.mark.parametrize("name", MACHINES)
def test_rows_below_the_offset_lie_outside(name, mean):
    X = _blob(mean, 40)
    region = MACHINES[name](X).region
    new = np.vstack([X, X - 0.5, X - 2.0])
    values = [float(s - Fraction(region.offset)) for s in _scores(region.normal, new)]
    told = np.abs(values) > 1e-4 * np.std(values)
    assert told.sum() > 110
    assert region.contains(new)[told].tolist() == (np.array(values) > 0)[told].tolist()


@pytest.mark.parametrize("mean", [0.0, 1e3, *FAR])
@pytest.mark.parametrize("p", [1, math.inf])
@pytest.mark.parametrize("equal", [True, False])
def test_points_that_can_be_moved_outside_are_counted_in_fractions(mean, p, equal):
    """The worst position in a box or a cross-polytope is a sum or a largest of the normal's numbers, which fractions hold."""
    X, sizes = _blob(mean), np.ones(60) if equal else 1.0 + np.arange(60) % 3
    solution = cn.uncertain_points(cn.LinearFeatures(X), 0.3, NormBall(p, 0.3), None if equal else sizes).solve()
    w = [abs(Fraction(v)) for v in solution.region.normal.tolist()]
    worst = Fraction(0.3) * (max(w) if p == 1 else sum(w))
    robust = [s - Fraction(k) * worst for s, k in zip(_scores(solution.region.normal, X), sizes.tolist(), strict=True)]
    assert solution.guarantee.startswith(f"{_below(robust, 0.3)} of 60 training points can be moved outside")
    assert solution.values["t"] == pytest.approx(float(worst), rel=1e-14)


@pytest.mark.parametrize("mean", FAR)
def test_more_points_than_a_gram_matrix_is_formed_for(mean):
    """Beyond 2000 points the plane is a solver's."""
    X = _blob(mean, 2001, 3)
    solution = cn.one_class_svm(cn.LinearFeatures(X), 0.1, form="primal").solve()
    expected = _below(_scores(solution.region.normal, X), 0.1)
    assert solution.guarantee.startswith(f"{expected} of 2001 training points lie outside")
    assert int((~solution.region.contains(X)).sum()) == expected
    region = cn.hard_margin(cn.LinearFeatures(X)).solve().region
    assert region.contains(X).all()
    least = min(_scores(region.normal, X))
    assert float(least / Fraction(region.offset)) == pytest.approx(1.0, rel=1e-14)
    assert not region.contains(X - 5.0).any()


@pytest.mark.parametrize("gamma", [1e-6, 1e-7, 1e-8])
def test_wide_kernels_count_the_points_below_their_own_offset(gamma):
    """A kernel that is wide beside the data has values that are nearly alike, and so are all scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(52, 2)) + np.repeat([[4.0, 2.0], [0.0, -1.0]], [40, 12], axis=0)
    features = cn.KernelFeatures(X, kernels.gaussian(gamma=gamma))
    learned = cn.kernel_learning([features], 0.2).solve()
    uncertain = cn.uncertain_points(features, 0.2, NormBall(2, 0.05 * gamma**0.5)).solve()
    for solution in (learned, uncertain):
        expected = _below(_scores(solution.region.normal, features.training), 0.2)
        assert solution.guarantee.startswith(f"{expected} of 52 training points")
    assert (~learned.region.contains(features.training)).sum() == 10
    machine = KernelLearningSVM(0.2, kernels=[kernels.gaussian(gamma=gamma)]).fit(X)
    assert 8 <= (machine.predict(X) < 0).sum() <= 10


@pytest.mark.parametrize("mean", FAR)
def test_points_outside_of_a_composed_program_are_those_below_its_offset(mean):
    X = _blob(mean)
    problem = cn.one_class_svm(cn.LinearFeatures(X), 0.3, form="primal")
    solution = problem.subject_to(lambda v: v["w"][0] >= v["w"][1]).solve()
    scores, offset = _scores(solution.region.normal, X), Fraction(solution.region.offset)
    room = Fraction(1e-5 * float(np.std([float(s - offset) for s in scores])))
    least, most = (sum(s < offset + sign * room for s in scores) for sign in (-1, 1))
    assert least <= int((~solution.region.contains(X)).sum()) <= most


def test_the_scale_of_a_tie_knows_nothing_of_what_scores_have_in_common():
    """By hand: the middle length of the differences is two, and the shortest interval of more than half is one long."""
    scores, apart = 1e9 + np.array([0.0, 1.0, 2.0, 10.0]), np.array([0.0, 2.0, 2.0, 20.0])
    assert spread(scores, level=1e9 + 1.0) > 10.0 / TIE_TOLERANCE * 1e-3
    near = spread(scores, level=1e9 + 2.0, apart=apart)
    assert near == pytest.approx(4.0 + 1e-2 * 2.0)
    assert spread(scores - 1e9, level=2.0, apart=apart) == pytest.approx(4.0 + 1e-2 * 1.0)


@pytest.mark.parametrize("mean", [1e3, 1e5, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_the_guarantee_of_a_minimax_half_space_is_attained_wherever_the_points_are(mean, radius):
    """In exact fractions: with confidence 1/2 the level lies one worst deviation from the mean, where the bound is 1/2."""
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(30, 2)) + 5 + mean
        rows = [[Fraction(float(entry)) for entry in row] for row in X]
        center = [sum(row[j] for row in rows) / 30 for j in (0, 1)]
        uncertainty = cn.uncertainty.FrobeniusBall(radius) if radius else None
        region = cn.single_class_mpm(cn.Moments.estimate(X), 0.5, uncertainty).solve().region
        a, offset = [Fraction(float(entry)) for entry in region.normal], Fraction(float(region.offset))
        scores = [sum(w * (x - c) for w, x, c in zip(a, row, center, strict=True)) for row in rows]
        variance = sum(score * score for score in scores) / 30 + Fraction(radius) * sum(w * w for w in a)
        level = sum(w * c for w, c in zip(a, center, strict=True)) - offset
        assert level > 0
        assert float(level * level / variance) == pytest.approx(1.0, rel=1e-6 if mean == 1e8 else 1e-7)
