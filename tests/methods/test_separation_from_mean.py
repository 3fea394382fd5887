"""Separation from the mean of another set: a translated machine, one-sided quantiles, and why not the own mean."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.errors import InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import separation_from_mean as module


def sets(n=30, t=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ (np.eye(3) + 0.4 * rng.standard_normal((3, 3))) + [5, -4, 3]
    return np.vstack([X, rng.normal(1, 1, (t, 3))]), np.arange(n + t) >= n


def routes(features, nu, others):
    yield cn.separation_from_mean(features, nu, others).solve()
    yield cn.separation_from_mean(features, nu, others, form="primal").solve()
    yield module.sequential(features, nu, others)


def test_the_checker_is_green():
    report = cn.check("separation_from_mean")
    assert report.passed, report.table()


def test_against_libsvm_on_the_centred_gram_matrix():
    """scikit-learn's KernelCenterer takes the mean of the other set out of the kernel; libsvm does the rest."""
    from sklearn.preprocessing import KernelCenterer

    points, others = sets()
    X, Z = points[~others], points[others]
    features = KernelFeatures(points, kernels.gaussian(gamma=0.1))
    k = features.kernel
    # Centred at the other set: the centerer is fitted to it, and moves X's kernel with it, row by row.
    moved = KernelCenterer().fit(k(Z, Z)).transform(k(X, Z))
    assert moved.shape == (30, 12)
    gram = k(X, X) - k(X, Z).mean(axis=1)[:, None] - k(X, Z).mean(axis=1)[None, :] + k(Z, Z).mean()
    nu = 0.23
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9).fit(gram)
    alpha = np.zeros(30)
    alpha[machine.support_] = machine.dual_coef_.ravel() / (nu * 30)
    probe = sets(seed=5)[0] * 1.2
    # Equation 8.48, in the expansion.
    outputs = (k(probe, X) - k(probe, Z).mean(axis=1)[:, None]) @ alpha - (
        k(X, Z).mean(axis=1) @ alpha - k(Z, Z).mean() * alpha.sum()
    )
    rho = -machine.offset_ * -1 / (nu * 30)
    for solution in routes(features, nu, others):
        assert abs(solution.objective) == pytest.approx(alpha @ gram @ alpha / 2, rel=1e-6)
        found = solution.region.decision_values(features.coordinates(probe))
        np.testing.assert_allclose(found, outputs - float(rho[0]), atol=1e-5 * np.abs(found).max())


def test_it_is_the_one_class_machine_after_a_translation():
    points, others = sets()
    mean = points[others].mean(axis=0)
    expected = cn.one_class_svm(LinearFeatures(points[~others] - mean), 0.23).solve()
    probe = sets(seed=2)[0]
    for solution in routes(LinearFeatures(points), 0.23, others):
        assert solution.region.decision_values(probe) == pytest.approx(
            expected.region.decision_values(probe - mean), abs=1e-5
        )


def test_the_origin_plays_no_part():
    points, others = sets()
    base = module.sequential(LinearFeatures(points), 0.23, others)
    for shift in (100.0, -1e4):
        moved = cn.separation_from_mean(LinearFeatures(points + shift), 0.23, others).solve()
        assert moved.objective == pytest.approx(base.objective, rel=1e-6)
        assert moved.region.normal == pytest.approx(base.region.normal, abs=1e-5)
        assert moved.region.contains(points + shift).sum() == base.region.contains(points).sum()


@pytest.mark.parametrize("nu", [0.05, 0.23, 0.5, 0.9])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_on_a_line_it_is_a_one_sided_quantile(nu, side, rng):
    """The region ends at the nu-quantile, on the side that is turned to the other points."""
    sample = np.sort(rng.standard_normal(31))
    points = np.append(sample, -50.0 * side)[:, None]
    solution = cn.separation_from_mean(LinearFeatures(points), nu, np.arange(32) == 31).solve()
    quantile = (side * sample)[np.argsort(side * sample)][int(np.ceil(nu * 31)) - 1]
    inside = solution.region.contains(sample[:, None])
    assert (inside == (side * sample >= quantile - 1e-9)).all()
    end = solution.region.offset / solution.region.normal[0]
    assert side * end == pytest.approx(quantile, abs=1e-6)


def test_the_own_mean_separates_nothing():
    """The special case of problem 8.11: equal multipliers are feasible for every nu, and give w = 0 and an optimum of 0."""
    points, _ = sets()
    for features in (LinearFeatures(points), KernelFeatures(points, kernels.gaussian(gamma=0.1))):
        for nu in (0.01, 0.3, 0.8, 1.0):
            for solution in routes(features, nu, None):
                assert abs(solution.objective) <= 1e-8 * features.unit**2
                assert "nothing is separated" in solution.guarantee
                assert solution.region.contains(features.training).all()
    # What helps: any other weights, for example the mean of a part of the sample.
    part = points[:, 0] < np.quantile(points[:, 0], 0.3)
    assert cn.separation_from_mean(LinearFeatures(points), 0.2, part).solve().objective > 0.1


def test_the_mean_of_the_others_is_outside_and_few_points_are():
    points, others = sets(60, 20)
    features = KernelFeatures(points, kernels.gaussian(gamma=0.1))
    for nu in (0.07, 0.31, 0.7):
        solution = cn.separation_from_mean(features, nu, others).solve()
        mean = np.asarray(features.training)[others].mean(axis=0)
        assert solution.region.decision_values(mean[None, :])[0] < 0
        out = int((~solution.region.contains(features.training[~others])).sum())
        assert out <= nu * 60
        assert str(solution.guarantee).startswith(f"{out} of 60 training points lie outside")


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_units(unit):
    points, others = sets()
    base = module.sequential(LinearFeatures(points), 0.23, others).region
    for solution in routes(LinearFeatures(unit * points), 0.23, others):
        assert solution.region.normal / unit == pytest.approx(base.normal, abs=1e-5 * np.abs(base.normal).max())
        assert solution.region.offset / unit**2 == pytest.approx(base.offset, abs=1e-5 * abs(base.offset))


def test_order_changes_nothing(rng):
    points, others = sets()
    order = rng.permutation(42)
    base = cn.separation_from_mean(LinearFeatures(points), 0.23, others).solve().region
    moved = cn.separation_from_mean(LinearFeatures(points[order]), 0.23, others[order]).solve().region
    assert moved.normal == pytest.approx(base.normal, abs=1e-6)
    assert moved.offset == pytest.approx(base.offset, abs=1e-6)


def test_one_compilation_serves_a_path_and_pickles():
    points, others = sets()
    features = KernelFeatures(points, kernels.gaussian(gamma=0.1))
    for form in ("primal", "dual"):
        formulation = cn.separation_from_mean(features, 0.5, others, form=form)
        for nu, solution in zip((0.6, 0.31, 0.02), formulation.path(outlier_fraction=[0.6, 0.31, 0.02]), strict=True):
            expected = module.sequential(features, nu, others).objective
            assert abs(solution.objective) == pytest.approx(expected, rel=1e-6)
        assert formulation.compilations == 1
        assert pickle.loads(pickle.dumps(formulation.set(outlier_fraction=0.02))).solve().objective == pytest.approx(
            solution.objective, rel=1e-9
        )


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([True, False], r"others: shape \(2,\) was found where 3 rows"),
        ([False, False, False], "no row belongs to the other set"),
        ([True, True, True], "every row belongs to the other set"),
        ([0, 1, 2], "others: 2 was found"),
        ([0.0, np.nan, 1.0], "others: nan"),
        ("abc", "others"),
        (np.eye(3, dtype=bool), "others: shape"),
    ],
)
def test_bad_masks(others, words):
    for form in ("primal", "dual"):
        with pytest.raises(InputError, match=words):
            cn.separation_from_mean(LinearFeatures([[1.0], [2.0], [3.0]]), 0.5, others, form=form)


def test_masks_of_zeros_and_ones_and_columns():
    features = LinearFeatures([[1.0], [2.0], [4.0]])
    expected = cn.separation_from_mean(features, 0.5, [True, False, False]).solve().objective
    for mask in ([1, 0, 0], np.array([[True], [False], [False]]), np.array([1.0, 0.0, 0.0])):
        assert cn.separation_from_mean(features, 0.5, mask).solve().objective == expected


@pytest.mark.parametrize("nu", [0, 1.01, -1, float("nan"), "half"])
def test_bad_outlier_fractions(nu):
    with pytest.raises(InputError, match="outlier_fraction"):
        cn.separation_from_mean(LinearFeatures([[1.0], [2.0]]), nu, [False, True])
    with pytest.raises(InputError, match="form"):
        cn.separation_from_mean(LinearFeatures([[1.0], [2.0]]), 0.5, [False, True], form="third")


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_theorem_is_claimed_in_any_units(unit):
    """Three claims that hold, of a solution whose offset is of the order of the squared unit; none of the moved points."""
    points, others = sets(12, 5)
    features = LinearFeatures(unit * points)
    solution = cn.separation_from_mean(features, 0.3, others).solve()
    claims = module.nu_property(solution, features, 0.3, others)
    assert len(claims) == 3
    assert all(claim.gap <= claim.tolerance for claim in claims)
    moved = module.moved_points(features, 0.3, others).solve()
    assert module.nu_property(moved, features, 0.3, others) == []


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (np.ma.array([True, False, True, False], mask=[True, False, False, False]), "1 entries are masked"),
        ([[1, 0], [1]], "not a rectangular array"),
    ],
)
def test_masks_that_are_hidden_or_ragged_are_refused(others, told):
    features = cn.LinearFeatures([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    with pytest.raises(InputError, match=f"^others: {told}"):
        cn.separation_from_mean(features, 0.5, others)
