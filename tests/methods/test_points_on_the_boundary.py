"""Which points lie outside, and where the threshold is, against optima in whole numbers and by closed forms."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.estimators import MahalanobisSVM, OneClassSVM, SoftBall
from convexnovelty.persistence import load, save

FORMS = ["dual", "primal"]


def _solved(rows, right):
    """The solution of square equations in fractions, or None where they have not one alone."""
    table = [[Fraction(v) for v in row] + [Fraction(b)] for row, b in zip(rows, right, strict=True)]
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for i in range(len(table)):
            if i != k and table[i][k]:
                table[i] = [v - table[i][k] * u for v, u in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]


def _optimum(gram, linear, upper):
    """The scores of the optimum of a'Ka/2 + p'a over the box and a sum of one, in fractions: every face is tried."""
    n = len(gram)
    for face in itertools.product((0, 1, 2), repeat=n):
        free = [i for i in range(n) if face[i] == 1]
        a = [upper if kind == 2 else Fraction(0) for kind in face]
        if not free:
            if sum(a) != 1:
                continue
        else:
            fixed = [sum(gram[i][j] * a[j] for j in range(n)) + linear[i] for i in free]
            rows = [[gram[i][j] for j in free] + [-1] for i in free] + [[1] * len(free) + [0]]
            found = _solved(rows, [-v for v in fixed] + [1 - sum(a)])
            if found is None:
                continue
            for i, value in zip(free, found, strict=False):
                a[i] = value
        if any(v < 0 or v > upper for v in a):
            continue
        scores = [sum(gram[i][j] * a[j] for j in range(n)) + linear[i] for i in range(n)]
        shrinks, grows = (
            [s for s, v in zip(scores, a, strict=True) if v > 0],
            [s for s, v in zip(scores, a, strict=True) if v < upper],
        )
        if not shrinks or not grows or max(shrinks) <= min(grows):
            return scores
    raise AssertionError("no face is optimal")


def _outside(scores, nu):
    """The points below the lowest optimal offset, the quantile of 8.6."""
    ordered = sorted(scores)
    level = next(s for k, s in enumerate(ordered, 1) if Fraction(k, len(scores)) >= nu)
    return [s < level for s in scores]


def _products(X):
    return [[sum(int(a) * int(b) for a, b in zip(x, z, strict=True)) for z in X] for x in X]


def _lattice(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(6, 2)) + 1
    return X[rng.integers(0, 6, 6)], Fraction(*[(1, 2), (1, 3), (2, 3), (5, 12)][seed % 4])


@pytest.mark.parametrize("form", FORMS)
def test_the_points_outside_are_those_of_the_optimum_in_fractions(form):
    boundary = 0
    for seed in range(25):
        X, nu = _lattice(seed)
        scores = _optimum(_products(X), [Fraction(0)] * 6, 1 / (nu * 6))
        out = _outside(scores, nu)
        boundary += sum(s == min(t for t, o in zip(scores, out, strict=True) if not o) for s in scores)
        solution = cn.one_class_svm(cn.LinearFeatures(X.astype(float)), float(nu), form).solve()
        assert (~solution.region.contains(X)).tolist() == out, seed
        assert solution.guarantee.startswith(f"{sum(out)} of 6 training points lie outside"), seed
        values = solution.region.decision_values(X) + solution.region.level
        assert values == pytest.approx([float(s) for s in scores], rel=1e-13)
    assert boundary > 60


@pytest.mark.parametrize("options", [{}, {"solver": "CLARABEL"}, {"rank": 2}])
def test_the_estimator_calls_outside_what_is_in_fractions(options):
    for seed in range(12):
        X, nu = _lattice(seed)
        out = _outside(_optimum(_products(X), [Fraction(0)] * 6, 1 / (nu * 6)), nu)
        machine = OneClassSVM(float(nu), kernel="linear", **options).fit(X)
        assert (machine.predict(X) == -1).tolist() == out, seed
        assert [machine.predict(row[None])[0] == -1 for row in X] == out, seed


@pytest.mark.parametrize("far", [1e4, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("form", FORMS)
def test_far_points_make_no_ties_of_near_ones(form, far):
    """On a line the smallest points come first: with nu n = 4.4 the weights give w = 12 / 4.4 and the offset 5 w."""
    X = np.r_[np.arange(1, 11.0), far * (1 + np.random.default_rng(0).random(30))][:, None]
    new = np.array([[0.0], [4.999], [5.0], [5.001]])
    solution = cn.one_class_svm(cn.LinearFeatures(X), 0.11, form).solve()
    assert solution.region.offset == pytest.approx(5 * 12 / 4.4, rel=1e-13)
    assert solution.region.contains(new).tolist() == [False, False, True, True]
    assert solution.guarantee.startswith("4 of 40 training points lie outside")


@pytest.mark.parametrize("far", [1e4, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("options", [{}, {"solver": "CLARABEL"}, {"rank": 1}])
def test_far_points_do_not_move_the_threshold_of_the_estimator(options, far, tmp_path):
    X = np.r_[np.arange(1, 11.0), far * (1 + np.random.default_rng(0).random(30))][:, None]
    new = np.array([[0.0], [4.999], [5.0], [5.001]])
    machine = OneClassSVM(0.11, kernel="linear", **options).fit(X)
    assert machine.offset_ == pytest.approx(5 * 12 / 4.4, rel=1e-12)
    assert machine.guarantee_.startswith("4 of 40 training points lie outside")
    save(machine, tmp_path / "m.npz")
    for judge in (machine, load(tmp_path / "m.npz")):
        assert judge.predict(new).tolist() == [-1, -1, 1, 1]


C = np.array(
    [[4, 3], [4, 7], [8, 3], [4, -1]]
)  # multipliers 1/4, 0, 0, 3/4 at nu = 1/3: w = (4, 0), all but one on the plane


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", FORMS)
def test_multipliers_at_a_bound_of_points_on_the_boundary(form, unit):
    X, y = unit * C, np.array([1, 1, -1, -1])
    plain = cn.one_class_svm(cn.LinearFeatures(X), 1 / 3, form).solve()
    signed = cn.negative_data(cn.LinearFeatures(X * y[:, None]), y, 1 / 3, form).solve()
    mean = unit * np.array([[3.0, 3.25]])
    moved = cn.separation_from_mean(
        cn.LinearFeatures(np.vstack([X + mean, mean])), 1 / 3, np.arange(5) == 4, form
    ).solve()
    assert plain.region.contains(X).all() and moved.region.contains(X + mean).all()
    for solution in (plain, signed, moved):
        assert solution.guarantee.startswith("0 of 4 training points lie")
    assert plain.region.contains(X - np.array([1e-9 * unit, 0.0])).tolist() == [False, False, True, False]


def test_multipliers_at_a_bound_in_every_class():
    X = np.vstack([C, C[:, ::-1]]).astype(float)
    solution = cn.class_recognisers(cn.LinearFeatures(X), [0] * 4 + [1] * 4, 1 / 3).solve()
    assert solution.region.contains(X).all()
    assert re.search(r"own region, 0 of class", solution.guarantee)
    below = [[4 - 1e-9, 3], [3, 4 - 1e-9]]
    assert not solution.region.contains(below).any()


@pytest.mark.parametrize("form", FORMS)
def test_a_polynomial_kernel_of_whole_numbers_about_the_mean_of_others(form):
    """Multipliers that are optimal in fractions: scores less the offset are 0 at (1, 0) and (0, 0), at whose bounds they are."""
    digits = [22, 20, 0, 1, 11, 22, 20, 0, 20, 0, 22, 2, 11, 1, 21, 11, 10, 20, 2, 0, 21, 10, 21, 2]
    X = np.column_stack(np.divmod(digits, 10))
    others = np.isin(np.arange(24), [1, 6, 7, 15, 18, 19])
    weights = {(2, 0): Fraction(1), (1, 0): Fraction(1), (0, 0): Fraction(1), (0, 1): Fraction(11, 32)}
    weights |= {(0, 2): Fraction(3, 4), (2, 1): Fraction(13, 48)}
    points, away = [[tuple(map(int, row)) for row in X[rows]] for rows in (~others, others)]

    def score(z):
        near = sum(weights.get(v, Fraction(0)) / 9 * (z[0] * v[0] + z[1] * v[1] + 1) ** 2 for v in points)
        return near - sum(Fraction((z[0] * v[0] + z[1] * v[1] + 1) ** 2, len(away)) for v in away)

    margin = {v: score(v) - score((0, 2)) for v in set(points)}
    assert sum(weights.get(v, 0) for v in points) == 9
    assert all(margin[v] == 0 for v, a in weights.items() if a < 1) and all(
        margin[v] <= 0 for v, a in weights.items() if a == 1
    )
    features = cn.KernelFeatures(X.astype(float), cn.kernels.polynomial(2, 1.0, 1.0))
    solution = cn.separation_from_mean(features, 0.5, others, form).solve()
    inside = solution.region.contains(features.training[~others])
    assert inside.tolist() == [margin[v] >= 0 for v in points]
    assert solution.guarantee.startswith("2 of 18 training points lie outside")


def _ball(X, nu):
    """Which points lie outside of the soft ball, in fractions: half its dual has the scores z'c - |z|^2 / 2."""
    gram = _products(X)
    return _outside(_optimum(gram, [-Fraction(gram[i][i], 2) for i in range(len(X))], 1 / (nu * len(X))), nu)


@pytest.mark.parametrize("form", FORMS)
def test_the_points_outside_of_a_ball_are_those_of_the_optimum_in_fractions(form):
    for seed in range(25):
        X, nu = _lattice(seed)
        out = _ball(X, nu)
        solution = cn.soft_ball(cn.LinearFeatures(X.astype(float)), float(nu), form).solve()
        assert (~solution.region.contains(X)).tolist() == out, seed
        assert solution.guarantee.startswith(f"{sum(out)} of 6 training points lie outside"), seed


# The multipliers of (0, 2) and (3, 0) are at their bound for nu = 1/2; the centre (3/2, 1/2) has 5/2 to all others but three inside.
SPHERE = np.array([[2, 0], [3, 1], [1, 2], [3, 0], [0, 0], [3, 0], [0, 1], [1, 1], [0, 2], [2, 2], [0, 0]], dtype=float)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", FORMS)
def test_multipliers_at_a_bound_of_points_on_the_sphere(form, unit):
    center, squared = np.array([1.5, 0.5]), 2.5
    outside = ((SPHERE - center) ** 2).sum(axis=1) > squared
    for features in (cn.LinearFeatures(unit * SPHERE), cn.KernelFeatures(unit * SPHERE, cn.kernels.linear())):
        solution = cn.soft_ball(features, 0.5, form).solve()
        assert solution.region.squared_radius == pytest.approx(squared * unit**2, rel=1e-13)
        assert (~solution.region.contains(features.training)).tolist() == outside.tolist()
        assert solution.guarantee.startswith("1 of 11 training points lie outside")


@pytest.mark.filterwarnings("ignore:SoftBall. the scores of the training points are alike")
@pytest.mark.parametrize("options", [{}, {"solver": "CLARABEL"}, {"rank": 2}])
def test_the_estimator_of_a_ball_counts_as_in_fractions(options, tmp_path):
    machine = SoftBall(0.5, kernel="linear", **options).fit(SPHERE)
    save(machine, tmp_path / "m.npz")
    for judge in (machine, load(tmp_path / "m.npz")):
        assert judge.predict(SPHERE).tolist() == [1] * 8 + [-1, 1, 1]
        assert [judge.predict(row[None])[0] for row in SPHERE] == [1] * 8 + [-1, 1, 1]
    assert machine.guarantee_.startswith("1 of 11 training points lie outside")
    for seed in range(12):
        X, nu = _lattice(seed)
        assert (SoftBall(float(nu), kernel="linear", **options).fit(X).predict(X) == -1).tolist() == _ball(X, nu), seed


@pytest.mark.parametrize("far", [1e4, 1e7])
@pytest.mark.parametrize("options", [{}, {"solver": "CLARABEL"}])
def test_far_points_of_no_ball_do_not_move_its_radius(options, far):
    """nu n = 4.5: the far points have 4 parts of it and cancel, 11 has the half that is left: centre 11/9, radius 88/9."""
    X = np.r_[np.arange(1, 12.0), far * np.array([1.0, -1.0, 1.5, -1.5])][:, None]
    machine = SoftBall(0.3, kernel="linear", **options).fit(X)
    new = np.array([[1.0], [11.0], [11 + 1e-6], [-77 / 9 - 1e-6], [-77 / 9 + 1e-6]])
    assert machine.predict(new).tolist() == [1, 1, -1, -1, 1]
    assert machine.guarantee_.startswith("4 of 15 training points lie outside")


@pytest.mark.parametrize("far", [1e3, 1e5])
def test_points_that_are_left_out_lie_outside_however_far_most_points_are(far):
    """On a line the four smallest are left out, and 5 has the product one."""
    X = np.r_[np.arange(1, 11.0), far * (1 + np.random.default_rng(0).random(30))][:, None]
    solution = cn.exact_outliers(cn.LinearFeatures(X), 4).solve()
    assert solution.region.normal == pytest.approx([0.2], rel=1e-14)
    assert solution.region.contains([[1.0], [4.0], [4.999999], [5.0]]).tolist() == [False, False, False, True]
    assert solution.guarantee.startswith("4 of 40 training points lie outside, and 4 were allowed to")


def test_support_vectors_of_an_exact_number_of_outliers_are_those_of_the_hull_in_fractions():
    for seed in range(12):
        X = _lattice(seed)[0]
        solution = cn.exact_outliers(cn.LinearFeatures(X.astype(float)), 1).solve()
        kept = np.delete(X, np.argmax(solution.values["z"]), axis=0)
        scores = _optimum(_products(kept), [Fraction(0)] * 5, Fraction(2))
        squared = min(scores)  # of the nearest point, whose product with the points that support it that is
        assert solution.region.decision_values(kept) + 1 == pytest.approx(
            [float(s / squared) for s in scores], rel=1e-13
        )
        assert solution.region.contains(kept).all()
        assert solution.objective == pytest.approx(float(1 / (2 * squared)), rel=1e-13)


@pytest.mark.filterwarnings("ignore:mahalanobis_svm .*is known to a share")
@pytest.mark.parametrize("far", [2e4, 5e4])
def test_far_points_make_no_ties_of_near_ones_in_a_metric(far):
    """On a line a metric is a unit: the plane is that of the one-class machine, at the fifth point."""
    X = np.r_[np.arange(1, 11.0), far * (1 + np.random.default_rng(0).random(30))][:, None]
    ball = cn.uncertainty.FrobeniusBall(0.1 * float(np.mean(X**2)))
    for form in FORMS:
        solution = cn.mahalanobis_svm(cn.LinearFeatures(X), 0.11, ball, form=form).solve()
        assert solution.region.offset / solution.region.normal == pytest.approx([5.0], rel=1e-12)
        assert solution.guarantee.startswith("4 of 40 training points lie outside")
    for solver in ("auto", "CLARABEL"):
        machine = MahalanobisSVM(0.11, uncertainty=ball, kernel="linear", solver=solver).fit(X)
        assert machine.predict([[4.0], [4.999999], [5.0]]).tolist() == [-1, -1, 1]


@pytest.mark.parametrize("form", FORMS)
def test_multipliers_at_a_bound_of_points_on_the_boundary_in_a_metric(form):
    """Without the sample's covariance the ball of radius one is the plain metric."""
    features, ball = cn.LinearFeatures(C.astype(float)), cn.uncertainty.FrobeniusBall(1.0)
    solution = cn.mahalanobis_svm(features, 1 / 3, ball, covariance_weight=0.0, form=form).solve()
    assert solution.region.contains(C).all()
    assert solution.guarantee.startswith("0 of 4 training points lie outside")


@pytest.mark.parametrize("far", [2e4, 1e5])
def test_far_points_make_no_ties_of_near_ones_where_a_kernel_is_learned(far):
    """With a linear kernel alone the plane is at the fifth point of a line."""
    X = np.r_[np.arange(1, 11.0), far * (1 + np.random.default_rng(0).random(30))][:, None]
    solution = cn.kernel_learning([cn.LinearFeatures(X)], 0.11).solve()
    assert solution.region.contains([[4.0], [4.999], [5.0]]).tolist() == [False, False, True]
    assert solution.guarantee.startswith("4 of 40 training points lie outside")
