"""Machines whose reduced hull comes near to the origin: what they are about is small beside the length of their points."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction

import cvxpy as cp
import mpmath as mp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import convexnovelty as cn
from convexnovelty.methods import negative_data

Y = np.random.default_rng(0).standard_normal(30)
TWO = np.tile([1.0, -1.0], 30)


def _strip(h):
    """Points (+-y, h): w = (0, h), rho = h^2 and the optimum is h^2 / 2 for every fraction, with all points on the plane."""
    return np.c_[np.r_[Y, -Y], np.full(60, h)]


def _machine(method, X, form):
    if method == "negative_data":
        return cn.negative_data(cn.LinearFeatures(X * TWO[:, None]), TWO, 0.1, form)
    if method == "separation_from_mean":
        mean = np.array([[64.0, -32.0]])
        return cn.separation_from_mean(cn.LinearFeatures(np.vstack([X + mean, mean])), 0.1, np.arange(61) == 60, form)
    return cn.one_class_svm(cn.LinearFeatures(X), 0.1, form)


CLOSE = [(1e-2, 1.0), (1e-4, 1.0), (1e-5, 1.0), (1e-6, 1.0), (1e-2, 1e-6), (1e-6, 1e-6)]


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize(
    ("method", "h", "unit"),
    [
        *(("negative_data", h, unit) for h, unit in CLOSE),
        *(("one_class_svm", h, unit) for h, unit in CLOSE),
        *(("separation_from_mean", h, unit) for h, unit in CLOSE[:3]),  # a mean leaves nearer points no digits
    ],
)
def test_a_strip_near_the_origin_by_hand(method, form, h, unit):
    probe = unit * np.array([[0.0, 2 * h], [0.0, h / 2], [0.0, -h]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = _machine(method, unit * _strip(h), form).solve()
    shift = [64.0, -32.0] if method == "separation_from_mean" else [0.0, 0.0]
    assert abs(solution.objective) == pytest.approx((unit * h) ** 2 / 2, rel=1e-6)
    assert np.linalg.norm(solution.region.normal - [0.0, unit * h]) <= 1e-3 * unit * h
    assert solution.guarantee.startswith("0 of 60 training points lie")
    assert solution.region.contains(probe + shift).tolist() == [True, False, False]


def _exact(X, y, gamma, nu, alpha):
    """Bounds on the optimum in 40 digits, by multipliers that need not be optimal, and the scores of their normal."""
    with mp.workdps(40):
        rows = [[mp.mpf(float(v)) for v in row] for row in X]
        g, n = mp.mpf(float(gamma)), len(X)
        gram = np.array(
            [[mp.exp(-g * sum((a - b) ** 2 for a, b in zip(p, q, strict=True))) for q in rows] for p in rows]
        )
        upper = 1 / (mp.mpf(str(nu)) * n)
        weights = np.array([min(max(mp.mpf(float(a)), mp.mpf(0)), upper) for a in alpha])
        weights = weights / weights.sum()
        scores = y.astype(int) * (gram @ (y.astype(int) * weights))
        squared, lowest, left = weights @ scores, mp.mpf(0), mp.mpf(1)
        for score in sorted(scores):
            taken = min(left, upper)
            lowest, left = lowest + taken * score, left - taken
        return float(lowest**2 / squared / 2), float(squared / 2), np.array([float(s / squared) for s in scores])


def _raw(table, n, novel):
    X = table().data[:n]
    return X, np.where(novel(np.arange(n)), -1.0, 1.0)


RAW = {
    "wine, every third": (load_wine, 40, lambda k: k % 3 == 0, 0.3),
    "iris, every third": (load_iris, 40, lambda k: k % 3 == 0, 0.3),
    "wine, the first": (load_wine, 60, lambda k: k < 15, 0.13),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_tables_under_a_wide_kernel_in_forty_digits(name):
    """Values of the kernel are alike to 1e-8, and |w|^2 is of that size."""
    table, n, novel, nu = RAW[name]
    X, y = _raw(table, n, novel)
    features = cn.KernelFeatures(X, cn.kernels.gaussian())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dual = cn.negative_data(features, y, nu).solve()
        primal = cn.negative_data(features, y, nu, "primal").solve()
    low, high, scores = _exact(X, y, cn.kernels.scale_gamma(X), nu, dual.values["alpha"])
    assert high < 2e-8
    assert high == pytest.approx(low, rel=1e-6)
    free = (dual.values["alpha"] > 1e-3 / n) & (dual.values["alpha"] < (1 - 1e-3) / (nu * n))
    level = float(np.median(scores[free]))
    short = int((scores < level * (1 - 1e-3)).sum())
    for solution in (dual, primal):
        assert abs(solution.objective) == pytest.approx(high, rel=1e-6)
        assert np.linalg.norm(solution.region.normal) ** 2 / 2 == pytest.approx(high, rel=1e-6)
        assert solution.guarantee.startswith(f"{short} of {n} training points lie on the wrong side")
        inside = solution.region.contains(features.training)
        assert inside.tolist() == (y * scores >= level * (1 - 1e-3)).tolist()


@pytest.mark.parametrize("name", RAW)
def test_the_checker_is_green_on_raw_tables(name):
    table, n, novel, nu = RAW[name]
    X, y = _raw(table, n, novel)
    report = cn.check(cn.negative_data(cn.KernelFeatures(X, cn.kernels.gaussian()), y, nu))
    assert report.passed, report.table()
    (row,) = [row for row in report.rows if row.source == "libsvm"]
    assert "single precision" in row.reason


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_another_fraction_brings_another_unit(form):
    X, y = _raw(*RAW["wine, the first"][:3])
    features = cn.KernelFeatures(X, cn.kernels.gaussian())
    machine = cn.negative_data(features, y, 0.9, form)
    moved = machine.set(outlier_fraction=0.13).solve()
    fresh = cn.negative_data(features, y, 0.13, form).solve()
    assert moved.objective == pytest.approx(fresh.objective, rel=1e-6)
    assert moved.guarantee == fresh.guarantee


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_kernel_that_hardly_tells_points_apart_is_said(form):
    """|w|^2 is 2e-13, and a factor of the Gram matrix leaves out 6e-14."""
    X, y = _raw(load_wine, 40, lambda k: k % 3 == 0)
    gamma = 0.01 * cn.kernels.scale_gamma(X)
    features = cn.KernelFeatures(X, cn.kernels.gaussian(gamma=gamma))
    with pytest.warns(UserWarning, match="of itself only.*the kernel tells the points apart by little more") as said:
        solution = cn.negative_data(features, y, 0.3, form).solve()
    alpha = negative_data.sequential(features, y, 0.3).values["alpha"]
    low, high, _ = _exact(X, y, gamma, 0.3, alpha)
    share = float(re.search(r"share of (\S+) of", str(said[0].message)).group(1))
    assert low * (1 - share) <= abs(solution.objective) <= high * (1 + share)
    assert 0.1 < share < 1


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_value_below_what_is_left_out_is_said_where_it_does_not_count_as_zero(form):
    """|w|^2 is 3e-14, less than a factor of the Gram matrix leaves out."""
    X, y = _raw(load_wine, 40, lambda k: k % 3 == 0)
    features = cn.KernelFeatures(X, cn.kernels.gaussian(gamma=0.005 * cn.kernels.scale_gamma(X)))
    with pytest.warns(UserWarning, match="known to a share of [1-9]e\\+00 of itself only"):
        solution = cn.negative_data(features, y, 0.3, form).solve()
    assert not solution.guarantee.startswith("w = 0") and solution.region.normal.any()


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_one_point_with_both_labels_is_not_separated_and_nothing_warns(form):
    X = load_iris().data[:20]
    features = cn.KernelFeatures(np.vstack([X, X]), cn.kernels.gaussian())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = cn.negative_data(features, np.repeat([1, -1], 20), 0.5, form).solve()
    assert solution.guarantee.startswith("w = 0 to the solver's accuracy")
    assert not solution.region.normal.any()


def test_a_class_near_the_origin_is_recognised_through_its_gram_matrix():
    X = np.vstack([_strip(1e-5), np.random.default_rng(1).normal(size=(20, 2)) + 4])
    for features in (cn.LinearFeatures(X), cn.KernelFeatures(X, cn.kernels.linear())):
        solution = cn.class_recognisers(features, np.repeat([0, 1], [60, 20]), 0.1).solve()
        lengths = np.linalg.norm(solution.region.normals, axis=1)
        assert lengths[0] == pytest.approx(1e-5, rel=1e-3)
        assert "w = 0" not in solution.guarantee


@pytest.mark.parametrize("factor", [1.0, 0.1, 0.01])
def test_pair_steps_end_at_a_share_of_the_value(factor):
    """Their tolerance is a share of k(x, x), which is 1e13 times the value here."""
    X, y = _raw(load_wine, 40, lambda k: k % 3 == 0)
    gamma = factor * cn.kernels.scale_gamma(X)
    found = negative_data.sequential(cn.KernelFeatures(X, cn.kernels.gaussian(gamma=gamma)), y, 0.3)
    low, high, _ = _exact(X, y, gamma, 0.3, found.values["alpha"])
    assert high == pytest.approx(low, rel=1e-3 if factor < 0.1 else 1e-6)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_raw_columns_in_exact_arithmetic(nu):
    """Thirty columns of sixty points, a quarter of them reflected: the squared distance is 1e-12 of that of the points."""
    X, y = _raw(load_breast_cancer, 60, lambda k: k % 4 == 0)
    dual, primal = (cn.negative_data(cn.LinearFeatures(X), y, nu, form).solve() for form in ("dual", "primal"))
    upper = 1 / (Fraction(str(nu)) * 60)
    weights = [min(max(Fraction(float(a)), Fraction(0)), upper) for a in dual.values["alpha"]]
    normal = [sum(a * Fraction(float(x)) for a, x in zip(weights, y * column, strict=True)) for column in X.T]
    highest = float(sum(x * x for x in normal) / sum(weights) ** 2 / 2)
    scores = [
        sum(Fraction(float(w)) * Fraction(float(x)) for w, x in zip(primal.values["w"], row, strict=True))
        for row in y[:, None] * X
    ]
    lowest, left = Fraction(0), Fraction(1)
    for score in sorted(scores):
        lowest, left = lowest + min(left, upper) * score, left - min(left, upper)
    least = float(
        lowest - sum(Fraction(float(w)) ** 2 for w in primal.values["w"]) / 2
    )  # 8.6 of the plane, at its best offset
    assert highest == pytest.approx(least, rel=1e-6)
    assert dual.objective == pytest.approx(highest, rel=1e-6)
    assert -primal.objective == pytest.approx(highest, rel=1e-6)
    assert dual.guarantee == primal.guarantee


def _stamps(seed, middle, spread):
    """A column far from the origin beside the hour of the day, which alone tells novel rows, by night, from ordinary ones."""
    rng = np.random.default_rng(seed)
    novel = np.arange(18) < 7
    hours = np.where(novel, rng.integers(0, 6, 18), rng.integers(8, 19, 18))
    return np.c_[np.round(middle + spread * rng.standard_normal(18)), hours], np.where(novel, -1.0, 1.0)


def _about(X, y, nu):
    """The plane in plain CVXPY, its far column in units of its middle m: with b = m w_0 scores are b + w'(x - m)."""
    n, m = len(X), float(np.round(X[:, 0].mean()))
    b, v, xi, rho = cp.Variable(), cp.Variable(), cp.Variable(n, nonneg=True), cp.Variable()
    scores = cp.multiply(y, b * (1 + (X[:, 0] - m) / m) + v * X[:, 1])
    cost = cp.sum_squares(cp.hstack([b / m, v])) / 2 + cp.sum(xi) / (nu * n) - rho
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = cp.Problem(cp.Minimize(cost), [scores >= rho - xi]).solve("CLARABEL", **tight)
    return -value, np.array([b.value / m, v.value]), float(rho.value)


@pytest.mark.parametrize(("middle", "spread"), [(1e8, 10.0), (1.7e9, 7e5)])
@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_a_column_far_from_the_origin_leaves_the_plane_its_digits(middle, spread, nu):
    X, y = _stamps(0, middle, spread)
    value, normal, rho = _about(X, y, nu)
    for form in ("dual", "primal"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution = cn.negative_data(cn.LinearFeatures(X), y, nu, form).solve()
        assert abs(solution.objective) == pytest.approx(value, rel=1e-6)
        assert solution.region.normal == pytest.approx(normal, rel=1e-5)
        assert solution.region.offset == pytest.approx(rho, rel=1e-5)
        assert re.match(r"\d of 18 training points lie on the wrong side", solution.guarantee)
        away = X @ normal - rho
        told = np.abs(away) > 1e-3  # hours that tie are told apart by the far column's millionths alone
        assert solution.region.contains(X[told]).tolist() == (away[told] > 0).tolist()


def test_columns_of_both_signs_leave_a_small_one_its_digits():
    rng = np.random.default_rng(0)
    X = np.c_[np.round(1e8 * rng.standard_normal(16), 2), np.round(rng.uniform(1, 5, 16), 1)]
    t, a = cp.Variable(), cp.Variable(16, nonneg=True)
    rows = [cp.sum(a) == 1, a <= 1 / 3.2, (X[:, 0] / 1e8) @ a == t / 1e8]
    problem = cp.Problem(cp.Minimize((cp.square(t) + cp.square(X[:, 1] @ a)) / 2), rows)
    value = problem.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    for form in ("dual", "primal"):
        solution = cn.one_class_svm(cn.LinearFeatures(X), 0.2, form).solve()
        assert abs(solution.objective) == pytest.approx(value, rel=1e-6)
        assert re.match(r"\d of 16 training points lie outside", solution.guarantee)


def test_a_hull_that_holds_the_origin_has_the_value_zero_wherever_its_points_lie():
    rng = np.random.default_rng(2)
    X, y = np.c_[20240000.0 + rng.integers(101, 1231, 18), rng.integers(0, 24, 18)], np.where(np.arange(18) < 7, -1, 1)
    for form in ("dual", "primal"):
        solution = cn.negative_data(cn.LinearFeatures(X), y, 0.5, form).solve()
        assert abs(solution.objective) <= 1e-15
        assert solution.guarantee.startswith("w = 0")


def test_the_checker_passes_machines_of_dates_as_numbers():
    rng = np.random.default_rng(2)
    X = np.c_[20240000.0 + rng.integers(101, 1231, 18), rng.integers(0, 24, 18)]
    novel, features = np.arange(18) < 7, cn.LinearFeatures(X)
    stamps, y = _stamps(0, 1e8, 10.0)
    for made in (
        cn.negative_data(features, np.where(novel, -1, 1), 0.5),
        cn.separation_from_mean(features, 0.5, novel),
        cn.negative_data(cn.LinearFeatures(stamps), y, 0.3),
    ):
        report = cn.check(made)
        assert report.passed, report.table()
