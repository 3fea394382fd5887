"""The exact number of outliers: enumeration, by hand, and what the convex machine cannot do."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_wine

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.checking import checker
from convexnovelty.declare import Instance
from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import exact_outliers as module


def cloud(n, p=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + 3 * (-1.0) ** np.arange(p)


def routes(features, k):
    yield cn.exact_outliers(features, k).solve()
    yield module.enumeration(features, k)
    yield module.tree(features, k)


def test_the_checker_is_green():
    report = cn.check("exact_outliers")
    assert report.passed, report.table()


def test_by_hand():
    """On a half-line the smallest points go, one by one."""
    features = LinearFeatures([[0.5], [4.0], [2.0], [8.0]])
    for k, least in enumerate((0.5, 2.0, 4.0, 8.0)):
        for solution in routes(features, k):
            assert solution.objective == pytest.approx(1 / least**2 / 2, rel=1e-6)
            assert solution.region.contains([[least]])[0]
            assert solution.region.offset == 1.0
            assert int(solution.values["z"].sum()) == k


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "polynomial"])
def test_against_quadratic_programs_over_every_choice(seed, kernel):
    """An enumeration of its own: the primal of 8.38 for each choice, by another solver than the search uses."""
    k, n = 2, 9
    X = cloud(n, seed=seed)
    made = {
        "linear": kernels.linear(),
        "gaussian": kernels.gaussian(gamma=0.1),
        "polynomial": kernels.polynomial(degree=2, gamma=0.2, coef0=1.0),
    }[kernel]
    features = KernelFeatures(X, made)
    phi = np.asarray(features.training)
    w, keep = cp.Variable(phi.shape[1]), cp.Parameter(n)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [phi @ w >= keep])
    best = np.inf
    for choice in combinations(range(n), k):
        keep.value = np.where(np.isin(np.arange(n), choice), -1e3, 1.0)
        problem.solve(solver="CLARABEL")
        best = min(best, problem.value) if problem.status == "optimal" else best
    for solution in routes(features, k):
        assert solution.objective == pytest.approx(best, rel=1e-5)


def test_an_outlier_near_the_origin_is_found():
    """The convex machine's hyperplane is turned by a point near the origin, which 8.38 simply leaves out."""
    X = np.vstack([cloud(14), [[0.05, 0.02]]])
    features = LinearFeatures(X)
    exact = cn.exact_outliers(features, 1).solve()
    assert exact.values["z"][14] == 1.0
    assert exact.objective == pytest.approx(cn.exact_outliers(LinearFeatures(X[:14]), 0).solve().objective, rel=1e-7)
    soft = cn.one_class_svm(features, 1 / 15).solve()
    assert soft.objective / soft.region.offset**2 >= exact.objective * (1 - 1e-9)


def test_more_outliers_never_shrink_the_margin():
    features = KernelFeatures(cloud(12), kernels.gaussian(gamma=0.05))
    values = [cn.exact_outliers(features, k).solve().objective for k in range(5)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(cn.hard_margin(features).solve().objective, rel=1e-7)


def test_points_that_keep_the_origin_inside_are_left_out():
    X = np.vstack([cloud(8), [[-3.0, 3.0]]])
    features = LinearFeatures(X)
    with pytest.raises(InfeasibleError, match="whichever 0 points are left out"):
        cn.exact_outliers(features, 0).solve()
    solution = cn.exact_outliers(features, 1).solve()
    assert solution.values["z"][8] == 1.0
    circle = np.c_[np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)]
    for made in (
        lambda: cn.exact_outliers(LinearFeatures(circle), 3).solve(),
        lambda: module.tree(LinearFeatures(circle), 3),
        lambda: module.enumeration(LinearFeatures(circle), 3),
    ):
        with pytest.raises(InfeasibleError, match="outliers: 3 was found"):
            made()
    assert cn.exact_outliers(LinearFeatures(circle), 7).solve().region.contains(circle).sum() == 5


def test_the_formulation_is_the_printed_program():
    """With z free and w given, the model's own constraints are those of 8.38 at every choice."""
    features = LinearFeatures(cloud(8))
    formulation = cn.exact_outliers(features, 2)
    assert formulation.kind == "MIQP"
    assert "MIQP" in repr(formulation)
    solution = formulation.solve()
    objective, violation = formulation.evaluate({"w": solution.values["w"], "z": solution.values["z"]})
    assert objective == pytest.approx(solution.objective, rel=1e-9)
    assert violation < 1e-7
    for choice in combinations(range(8), 2):
        z = np.isin(np.arange(8), choice).astype(float)
        alone = cn.hard_margin(LinearFeatures(cloud(8)[z == 0])).solve()
        objective, violation = formulation.evaluate({"w": alone.region.normal, "z": z})
        assert violation < 1e-6 or objective > solution.objective * 1.001


def test_a_solver_of_the_whole_program_agrees_if_one_is_there():
    pytest.importorskip("pyscipopt", reason="SCIP, which takes mixed-integer quadratic programs, is not installed")
    features = LinearFeatures(cloud(10))
    formulation = cn.exact_outliers(features, 2)
    assert formulation.solve("SCIP").objective == pytest.approx(formulation.solve().objective, rel=1e-5)


def test_the_dual_is_that_of_the_program_with_z_fixed():
    formulation = cn.exact_outliers(LinearFeatures(cloud(10)), 2)
    assert formulation.dual().solve().objective == pytest.approx(formulation.solve().objective, rel=1e-7)


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_units(unit):
    base = module.tree(LinearFeatures(cloud(10)), 2)
    for solution in routes(LinearFeatures(unit * cloud(10)), 2):
        assert solution.objective * unit**2 == pytest.approx(base.objective, rel=1e-6)
        assert solution.region.normal * unit == pytest.approx(base.region.normal, abs=1e-5)


def test_order_copies_and_repetition(rng):
    X, order = cloud(10), rng.permutation(10)
    base = cn.exact_outliers(LinearFeatures(X), 2).solve().objective
    assert cn.exact_outliers(LinearFeatures(X[order]), 2).solve().objective == pytest.approx(base, rel=1e-7)
    twice = LinearFeatures(np.vstack([X, X]))
    assert module.tree(twice, 4).objective == pytest.approx(base, rel=1e-7)
    assert {cn.exact_outliers(LinearFeatures(X), 2).solve().objective for _ in range(2)} == {base}


def test_another_number_of_outliers_and_a_pickle():
    formulation = cn.exact_outliers(LinearFeatures(cloud(10)), 1)
    expected = cn.exact_outliers(LinearFeatures(cloud(10)), 3).solve().objective
    assert formulation.set(outliers=3).solve().objective == expected
    assert pickle.loads(pickle.dumps(formulation)).solve().objective == expected


def test_the_guarantee_counts():
    solution = cn.exact_outliers(LinearFeatures(cloud(12)), 2).solve()
    out = int((~solution.region.contains(cloud(12))).sum())
    assert str(solution.guarantee).startswith(f"{out} of 12 training points lie outside, and 2 were allowed to")
    assert solution.guarantee.bound == pytest.approx(2 / 12)


@pytest.mark.parametrize(
    ("outliers", "words"),
    [
        (-1, "outliers"),
        (1.5, "outliers"),
        (3, "outliers: 3 was found for 3 points; give a number below 3"),
        (float("nan"), "outliers"),
        ("two", "outliers"),
        (None, "outliers"),
        (True, "outliers"),
    ],
)
def test_bad_numbers_of_outliers(outliers, words):
    for made in (cn.exact_outliers, module.tree, module.enumeration):
        with pytest.raises(InputError, match=words):
            made(LinearFeatures([[1.0], [2.0], [3.0]]), outliers)


def test_one_point_and_equal_points():
    assert cn.exact_outliers(LinearFeatures([[2.0]]), 0).solve().objective == pytest.approx(1 / 8, rel=1e-7)
    assert cn.exact_outliers(LinearFeatures(np.full((5, 2), 2.0)), 3).solve().objective == pytest.approx(1 / 16)
    with pytest.raises(InfeasibleError):
        cn.exact_outliers(LinearFeatures(np.zeros((3, 2))), 1).solve()


def test_the_checker_compares_no_regions_of_several_optima():
    angles = np.arange(8) * np.pi / 4
    made = cn.exact_outliers(KernelFeatures(np.c_[np.cos(angles), np.sin(angles)], kernels.gaussian(gamma=0.5)), 1)
    report = cn.check(made)
    assert report.passed, report.table()
    # A region that is wrong of the same choice is found.
    step = next(s for s in cn.derivation.method("exact_outliers").steps if s.source_node == "tree")
    solution = module.tree(made.recipe.arguments["features"], 1)
    moved = replace(solution, region=replace(solution.region, offset=2 * solution.region.offset))
    instance = Instance("i", made.recipe.arguments, probe=made.recipe.arguments["features"].training)
    assert checker._decision_gap(step, instance, moved, solution)[0] > step.decision_tolerance


def test_kernel_values_as_small_as_numbers_are_count_for_nothing():
    features = KernelFeatures(load_wine().data[:10], kernels.gaussian(gamma=0.5))
    gram = features.gram
    assert 0 < gram[gram > 0].min() < 1e-280
    # All multipliers are above zero, so that the least of a'Ka is 1 / (1'K^-1 1).
    left = [np.linalg.solve(gram[np.ix_(kept, kept)], np.ones(9)) for kept in combinations(range(10), 9)]
    assert min(weights.min() for weights in left) > 0
    for solution in routes(features, 1):
        assert solution.objective == pytest.approx(min(weights.sum() for weights in left) / 2, rel=1e-6)
