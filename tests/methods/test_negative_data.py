"""Negative data: reflected points, the sign that equation 8.46 lacks, and what a binary machine does differently."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.errors import InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import negative_data as module


def two_classes(n=30, m=10, seed=0):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal([3, 2], 1, (n, 2)), rng.normal([-2, -2], 1, (m, 2))])
    return X, np.repeat([1.0, -1.0], [n, m])


def routes(features, labels, nu):
    yield cn.negative_data(features, labels, nu).solve()
    yield cn.negative_data(features, labels, nu, form="primal").solve()
    yield module.sequential(features, labels, nu)
    yield module.libsvm(features, labels, nu)


def test_the_checker_is_green():
    report = cn.check("negative_data")
    assert report.passed, report.table()


def test_by_hand():
    """Points 1 and 2, and the novel point -1: reflected they are 1, 2 and 1, so that w = 1 and rho = 1."""
    features = LinearFeatures([[1.0], [2.0], [-1.0]])
    for solution in routes(features, [1, 1, -1], 0.2):
        assert solution.region.normal == pytest.approx([1.0], abs=1e-6)
        assert solution.region.offset == pytest.approx(1.0, abs=1e-6)
        assert solution.region.contains([[1.0], [0.9], [-1.0]]).tolist() == [True, False, False]


def test_all_routes_agree():
    X, y = two_classes()
    features = KernelFeatures(X, kernels.gaussian(gamma=0.1))
    probe = features.coordinates(two_classes(seed=3)[0] * 1.4)
    solutions = list(routes(features, y, 0.23))
    expected = solutions[2].region.decision_values(probe)
    for solution in solutions:
        assert abs(solution.objective) == pytest.approx(solutions[2].objective, rel=1e-6)
        np.testing.assert_allclose(solution.region.decision_values(probe), expected, atol=1e-5 * np.abs(expected).max())
    # Equation 8.45, in the expansion.
    rebuilt = features.cross_gram(two_classes(seed=3)[0] * 1.4) @ (solutions[2].values["alpha"] * y)
    np.testing.assert_allclose(rebuilt - solutions[2].offset.used, expected, atol=1e-9)


def test_equation_8_46_lacks_the_label():
    """At a novel point on its margin <w, Phi(x)> is minus rho: the printed formula gives the wrong sign there."""
    X, y = two_classes()
    features = KernelFeatures(X, kernels.gaussian(gamma=0.3))
    nu = 0.35
    solution = module.sequential(features, y, nu)
    alpha, rho = solution.values["alpha"], solution.offset.used
    outputs = np.asarray(features.training) @ solution.region.normal
    free = (alpha > 1e-6) & (alpha < (1 - 1e-6) / (nu * len(y)))
    assert (free & (y < 0)).any()
    assert (y * outputs)[free] == pytest.approx(np.full(free.sum(), rho), rel=1e-7)
    printed = outputs[free & (y < 0)]
    assert (np.abs(printed - rho) > 1.9 * rho).all()


def test_without_negative_data_it_is_the_one_class_machine():
    X, _ = two_classes()
    features = KernelFeatures(X, kernels.gaussian(gamma=0.1))
    one, other = cn.negative_data(features, np.ones(40), 0.23).solve(), cn.one_class_svm(features, 0.23).solve()
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    assert one.values["alpha"] == pytest.approx(other.values["alpha"], abs=1e-6)


def test_the_rarer_class_does_not_move_the_hyperplane():
    """The hyperplane in the middle passes through the origin; a binary machine's threshold goes where the rows are."""
    X, y = two_classes(n=60, m=20)
    few = np.r_[0:60, 60:62]
    thresholds = [SVC(kernel="linear", C=0.01).fit(X[rows], y[rows]).intercept_[0] for rows in (np.arange(80), few)]
    assert abs(thresholds[1] - thresholds[0]) > 0.1
    for rows in (np.arange(80), few):
        solution = cn.negative_data(LinearFeatures(X[rows]), y[rows], 0.1).solve()
        assert solution.region.decision_values([[0.0, 0.0]])[0] == pytest.approx(-solution.region.offset)
    mirrored = cn.negative_data(LinearFeatures(-X), -y, 0.1).solve()
    whole = cn.negative_data(LinearFeatures(X), y, 0.1).solve()
    assert mirrored.region.normal == pytest.approx(whole.region.normal, abs=1e-6)


def test_negative_data_help():
    """Where novel points are known, more of their kind are kept out than by the one-class machine."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 2)) * [1.0, 0.3] + [2, 0]
    bad = rng.standard_normal((20, 2)) * 0.2 + [2, 1.0]
    features = KernelFeatures(np.vstack([X, bad]), kernels.gaussian(gamma=1.0))
    labels = np.repeat([1, -1], [80, 20])
    fresh = features.coordinates(rng.standard_normal((300, 2)) * 0.2 + [2, 1.0])
    with_them = cn.negative_data(features, labels, 0.1).solve().region.contains(fresh).mean()
    alone = KernelFeatures(X, kernels.gaussian(gamma=1.0))
    without = cn.one_class_svm(alone, 0.1).solve().region
    assert with_them < 0.5 * without.contains(alone.coordinates(fresh_points(rng))).mean()


def fresh_points(rng):
    return rng.standard_normal((300, 2)) * 0.2 + [2, 1.0]


def test_nu_property_counts_both_kinds():
    X, y = two_classes(60, 20)
    for features in (LinearFeatures(X), KernelFeatures(X, kernels.gaussian(gamma=0.2))):
        for nu in (0.07, 0.31, 0.72):
            solution = cn.negative_data(features, y, nu).solve()
            scores = y * (np.asarray(features.training) @ solution.region.normal)
            wrong = int((scores < solution.offset.used - 1e-6 * np.abs(scores).max()).sum())
            assert wrong <= nu * 80 <= (solution.values["alpha"] > 1e-8).sum()
            assert str(solution.guarantee).startswith(f"{wrong} of 80 training points lie on the wrong side")


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_units(unit):
    X, y = two_classes()
    base = module.sequential(LinearFeatures(X), y, 0.23).region
    for solution in routes(LinearFeatures(unit * X), y, 0.23):
        assert solution.region.normal / unit == pytest.approx(base.normal, abs=1e-5 * np.abs(base.normal).max())
        assert solution.region.offset / unit**2 == pytest.approx(base.offset, rel=1e-5)


def test_order_and_rotation_change_nothing(rng):
    X, y = two_classes()
    order, turn = rng.permutation(40), np.linalg.qr(rng.standard_normal((2, 2)))[0]
    base = cn.negative_data(LinearFeatures(X), y, 0.23).solve().region
    for other, labels, back in ((X[order], y[order], np.eye(2)), (X @ turn, y, turn.T)):
        region = cn.negative_data(LinearFeatures(other), labels, 0.23).solve().region
        assert region.normal @ back == pytest.approx(base.normal, abs=1e-6)
        assert region.offset == pytest.approx(base.offset, rel=1e-6)


def test_one_compilation_serves_a_path_and_pickles():
    X, y = two_classes()
    features = KernelFeatures(X, kernels.gaussian(gamma=0.1))
    for form in ("primal", "dual"):
        formulation = cn.negative_data(features, y, 0.5, form=form)
        for nu, solution in zip((0.6, 0.31, 0.02), formulation.path(outlier_fraction=[0.6, 0.31, 0.02]), strict=True):
            assert abs(solution.objective) == pytest.approx(module.sequential(features, y, nu).objective, rel=1e-6)
        assert formulation.compilations == 1
        assert pickle.loads(pickle.dumps(formulation.set(outlier_fraction=0.02))).solve().objective == pytest.approx(
            solution.objective, rel=1e-9
        )


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1, 0, 1], "labels: 0 was found at position 1"),
        ([1, -1], "labels: length 2 was found where 3 is needed"),
        ([1, 1, 2], "labels: 2 was found at position 2"),
        (["in", "out", "in"], "labels"),
        (np.ones((3, 3)), r"labels: shape \(3, 3\)"),
        ([1, np.nan, -1], "labels: nan was found at position 1"),
    ],
)
def test_bad_labels(labels, words):
    for form in ("primal", "dual"):
        with pytest.raises(InputError, match=words):
            cn.negative_data(LinearFeatures([[1.0], [2.0], [-1.0]]), labels, 0.5, form=form)


def test_b30_labels_in_a_column():
    features = LinearFeatures([[1.0], [2.0], [-1.0]])
    column = np.array([[1], [1], [-1]])
    assert (
        cn.negative_data(features, column, 0.5).solve().objective
        == cn.negative_data(features, [1, 1, -1], 0.5).solve().objective
    )


@pytest.mark.parametrize("nu", [0, 1.01, -1, float("nan"), "half"])
def test_bad_outlier_fractions(nu):
    with pytest.raises(InputError, match="outlier_fraction"):
        cn.negative_data(LinearFeatures([[1.0]]), [1], nu)
    with pytest.raises(InputError, match="form"):
        cn.negative_data(LinearFeatures([[1.0]]), [1], 0.5, form="neither")


def test_points_on_their_margin_are_looked_at():
    """A claim of its own, made where a multiplier lies strictly between its bounds."""
    rng = np.random.default_rng(8)
    points, labels = np.vstack([rng.normal(4, 1, (12, 2)), rng.normal(-4, 1, (3, 2))]), np.repeat([1, -1], [12, 3])
    features = LinearFeatures(points)
    solution = cn.negative_data(features, labels, 0.37).solve()
    claims = module.nu_property(solution, features, labels, 0.37)
    assert [claim.text.split()[0] for claim in claims] == ["outliers", "support", "points"]
    assert all(claim.gap <= claim.tolerance for claim in claims)


def test_the_machine_without_negative_data_stands_where_there_are_none():
    features = LinearFeatures(np.array([[1.0], [2.0], [4.0]]))
    assert module._no_negatives(features, [1, 1, 1]) is None
    assert module._no_negatives(features, [1, -1, 1]) == "some points are labelled as novel"


@pytest.mark.parametrize("seed", [1, 3, 4, 6, 7])
def test_the_checker_takes_small_samples_round_the_origin_as_they_are(seed):
    """Ordinary points and negative ones in a few columns of their own units: half of them are not separated at all."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    X = rng.normal(size=(n, 2)) * [5.0, 0.5] + rng.choice([0.0, 1.0])
    labels = np.where(np.arange(n) % 3 == 1, -1, 1)
    for features in (LinearFeatures(X), KernelFeatures(X, kernels.gaussian(gamma=0.05 / np.var(X)))):
        for report in (cn.check(cn.negative_data(features, labels, 0.05)), cn.check(cn.one_class_svm(features, 0.2))):
            assert report.passed, report.table()


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_what_libsvm_rounds_is_no_fault_of_the_optimum(kernel):
    """Years beside a measurement: the optimum is a millionth of k(x, x), of which single precision keeps seven digits."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(1990, 2024, 24), rng.normal(50, 9, 24)].astype(float)
    labels = np.where(rng.random(24) < 0.7, 1, -1)
    report = cn.check(cn.negative_data(cn.KernelFeatures(X, kernel), labels, 0.2))
    row = next(row for row in report.rows if row.source == "libsvm" and row.target == "dual")
    assert row.verdict != "fail", row
    assert report.count("fail") == 0
