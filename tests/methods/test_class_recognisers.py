"""One recogniser a class: classes by themselves, comparable scores, novelty, and labels of any kind."""

from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import datasets, kernels
from convexnovelty.checking import checker
from convexnovelty.class_regions import ClassRegions
from convexnovelty.declare import Instance
from convexnovelty.errors import InputError, SolverError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import class_recognisers as module


def three_blobs(n=25, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[4.0, 0.0], [0.0, 4.0], [-3.0, -3.0]])
    return np.vstack([c + rng.standard_normal((n, 2)) for c in centres]), np.repeat(["a", "b", "c"], n)


def test_the_checker_is_green():
    report = cn.check("class_recognisers")
    assert report.passed, report.table()


@pytest.mark.parametrize("comparison", ["distance", "ratio", "raw"])
def test_each_class_is_its_own_one_class_machine(comparison):
    X, y = three_blobs()
    features = KernelFeatures(X, kernels.gaussian(gamma=0.1))
    solution = cn.class_recognisers(features, y, 0.23, comparison).solve()
    probe = three_blobs(seed=4)[0] * 1.3
    scores = solution.region.scores(features.coordinates(probe))
    total = 0.0
    for c, name in enumerate("abc"):
        own = KernelFeatures(X[y == name], kernels.gaussian(gamma=0.1))
        alone = cn.one_class_svm(own, 0.23).solve()
        total += alone.objective
        values = alone.region.decision_values(own.coordinates(probe))
        divisor = {
            "distance": np.linalg.norm(alone.region.normal),
            "ratio": alone.region.offset,
            "raw": 1.0,
        }[comparison]
        np.testing.assert_allclose(scores[:, c], values / divisor, atol=1e-5 * np.abs(values / divisor).max())
    assert solution.objective == pytest.approx(total, rel=1e-7)
    assert solution.region.decision_values(features.coordinates(probe)) == pytest.approx(scores.max(axis=1))


def test_comparable_scores_classify_better_than_raw_outputs():
    """Ten digits that are spread out unequally: a class with a short w has small outputs, for its own points too."""
    parts = [datasets.digits(digit=d).nominal for d in range(10)]
    train, new = np.vstack([part[:50] for part in parts]), np.vstack([part[50:120] for part in parts])
    features = KernelFeatures(train, kernels.gaussian(gamma=0.002))
    coordinates, truth = features.coordinates(new), np.repeat(np.arange(10), 70)
    right = {
        how: float((_region(features, how).classify(coordinates) == truth).mean())
        for how in ("distance", "ratio", "raw")
    }
    assert right["distance"] > right["raw"] + 0.01
    assert right["ratio"] > right["raw"] + 0.01
    assert right["ratio"] > 0.9


def _region(features, comparison):
    return module.separate(features, np.repeat(np.arange(10), 50), 0.3, comparison).region


def test_digits_are_told_apart_and_others_are_novel():
    train = [datasets.digits(digit=d).nominal[:80] for d in (0, 1, 4)]
    features = KernelFeatures(np.vstack(train), kernels.gaussian(gamma=0.0005))
    solution = cn.class_recognisers(features, np.repeat([0, 1, 4], 80), 0.1).solve()
    for digit in (0, 1, 4):
        fresh = features.coordinates(datasets.digits(digit=digit).nominal[80:160])
        assert (solution.region.classify(fresh) == digit).mean() > 0.95
        assert solution.region.contains(fresh).mean() > 0.4
    others = features.coordinates(datasets.digits(digit=7).nominal[:150])
    assert solution.region.contains(others).mean() < 0.05


def test_no_class_leaves_out_more_than_nu():
    X, y = three_blobs(33)
    features = KernelFeatures(X, kernels.gaussian(gamma=0.1))
    for nu in (0.05, 0.3, 0.8):
        region = cn.class_recognisers(features, y, nu).solve().region
        scores = region.scores(features.training)
        for c, name in enumerate("abc"):
            assert (scores[y == name, c] < -1e-6).mean() <= nu
        # The union holds what its parts hold.
        assert region.contains(features.training).mean() >= 1 - nu


def test_labels_of_any_kind_and_unequal_classes():
    X, _ = three_blobs(4)
    features = LinearFeatures(X)
    names = np.array(["b", "b", "a", "a", "a", "a", "a", "a", "a", "a", "c", "a"])
    numbers = np.array([2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1])
    one, other = (cn.class_recognisers(features, labels, 0.5).solve() for labels in (names, numbers))
    assert one.objective == other.objective
    assert one.region.classes.tolist() == ["a", "b", "c"]
    assert other.region.classes.tolist() == [1, 2, 3]
    assert cn.class_recognisers(features, names[:, None].tolist(), 0.5).solve().objective == one.objective
    assert cn.class_recognisers(features, numbers > 1, 0.5).solve().region.classes.tolist() == [False, True]


def test_one_class_is_the_one_class_machine():
    features = KernelFeatures(three_blobs()[0], kernels.gaussian(gamma=0.1))
    one, other = cn.class_recognisers(features, np.zeros(75), 0.2).solve(), cn.one_class_svm(features, 0.2).solve()
    assert one.objective == pytest.approx(other.objective, rel=1e-8)
    probe = features.coordinates(three_blobs(seed=3)[0])
    assert (one.region.contains(probe) == other.region.contains(probe)).all()


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_units_and_order(unit, rng):
    X, y = three_blobs()
    base = cn.class_recognisers(LinearFeatures(X), y, 0.23).solve().region
    order = rng.permutation(75)
    scaled = cn.class_recognisers(LinearFeatures(unit * X[order]), y[order], 0.23).solve().region
    probe = three_blobs(seed=5)[0]
    assert scaled.scores(unit * probe) / unit == pytest.approx(base.scores(probe), abs=1e-5)
    assert (scaled.classify(unit * probe) == base.classify(probe)).all()


def test_one_compilation_serves_a_path_and_pickles():
    X, y = three_blobs()
    features = KernelFeatures(X, kernels.gaussian(gamma=0.1))
    formulation = cn.class_recognisers(features, y, 0.5, "ratio")
    for nu, solution in zip((0.6, 0.31, 0.02), formulation.path(outlier_fraction=[0.6, 0.31, 0.02]), strict=True):
        assert solution.objective == pytest.approx(module.separate(features, y, nu).objective, rel=1e-6)
    assert formulation.compilations == 1
    again = pickle.loads(pickle.dumps(formulation.set(outlier_fraction=0.02))).solve()
    assert again.objective == pytest.approx(solution.objective, rel=1e-9)
    assert again.region.comparison == "ratio"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", "b"], r"labels: shape \(2,\) was found where 3 points"),
        ([1.0, np.nan, 2.0], "labels: nan was found"),
        (np.eye(3), "labels: shape"),
        (np.array([1, "a", "b"], dtype=object), "cannot be sorted"),
        (np.array([1, "a", None], dtype=object), "no label was found at position 2"),
        ([], "labels: shape"),
    ],
)
def test_bad_labels(labels, words):
    with pytest.raises(InputError, match=words):
        cn.class_recognisers(LinearFeatures([[1.0], [2.0], [3.0]]), labels, 0.5)


def test_other_doors():
    features = LinearFeatures([[1.0], [2.0], [3.0]])
    for nu in (0, 1.2, float("nan"), "x"):
        with pytest.raises(InputError, match="outlier_fraction"):
            cn.class_recognisers(features, [1, 1, 2], nu)
    with pytest.raises(InputError, match="comparison: 'length' was found"):
        cn.class_recognisers(features, [1, 1, 2], 0.5, "length")
    region = cn.class_recognisers(features, [1, 1, 2], 0.5).solve().region
    with pytest.raises(InputError, match="2 columns were found"):
        region.scores([[1.0, 2.0]])


def test_laws_of_the_region(rng):
    region = ClassRegions(np.array([0, 1]), rng.standard_normal((2, 3)), np.array([0.3, -0.2]), "distance", scale=1.0)
    Z = rng.standard_normal((20, 3))
    values = region.decision_values(Z)
    assert (region.contains(Z) == (values >= -1e-7)).all()
    assert [region.decision_values(z[None])[0] for z in Z] == pytest.approx(values, abs=1e-12)
    assert region.level == 0.0
    # w = 0 divides by one instead of by nothing.
    flat = ClassRegions(np.array([0]), np.zeros((1, 3)), np.array([0.0]))
    assert flat.decision_values(Z) == pytest.approx(np.zeros(20))
    assert flat.contains(Z).all()


def test_the_machine_of_one_class_stands_for_one_class_only():
    features = LinearFeatures(np.array([[1.0], [2.0], [4.0]]))
    assert module._several(features, ["a", "a", "a"]) is None
    assert module._several(features, ["a", "b", "a"]) == "there are 2 classes"


def test_a_class_around_the_origin_is_named_in_the_guarantee():
    points = np.array([[2.0, 0.0], [3.0, 0.5], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    solution = cn.class_recognisers(LinearFeatures(points), ["far"] * 2 + ["round"] * 4, 0.9).solve()
    assert "; of class round w = 0 to the solver's accuracy: the reduced hull" in solution.guarantee
    assert "class far w = 0" not in solution.guarantee


def test_no_class_around_the_origin_is_cut_by_what_is_left_of_its_normal():
    """On a line the reduced hull at nu = 4/5 runs between the means of the lowest and of the highest 4/5."""
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(24)
        features, labels = LinearFeatures(x[:, None]), np.repeat(["a", "b"], 12)
        parts = [[Fraction(float(v)) for v in np.sort(x[:12])], [Fraction(float(v)) for v in np.sort(x[12:])]]
        weights = [Fraction(1)] * 9 + [Fraction(3, 5)] + [Fraction(0)] * 2  # 12 * 4/5 = 9.6 points
        held = [
            sum(w * v for w, v in zip(weights, part, strict=True)) < 0 < sum(w * v for w, v in zip(weights, part[::-1], strict=True))
            for part in parts
        ]  # fmt: skip
        assert any(held)
        for solution in (
            cn.class_recognisers(features, labels, 0.8).solve(),
            module.separate(features, labels, 0.8),
            module.libsvm(features, labels, 0.8),
        ):
            assert (~solution.region.normals.any(axis=1)).tolist() == held
            assert [f"class {name} w = 0" in solution.guarantee for name in "ab"] == held
            assert solution.region.contains(x[:, None]).all(), "a class with w = 0 claims every point"


def test_whole_numbers_that_float64_does_not_hold_are_classes_of_their_own():
    points = np.random.default_rng(0).standard_normal((12, 2)) + 2
    labels = [2**60] * 4 + [2**60 + 1] * 4 + [0.5] * 4  # of which NumPy makes two classes
    solution = cn.class_recognisers(LinearFeatures(points), labels, 0.3).solve()
    named = cn.class_recognisers(LinearFeatures(points), ["b"] * 4 + ["c"] * 4 + ["a"] * 4, 0.3).solve()
    assert solution.region.classes.tolist() == [0.5, 2**60, 2**60 + 1]
    assert solution.objective == pytest.approx(named.objective, rel=1e-9)


def test_labels_of_several_types_are_refused():
    with pytest.raises(InputError, match="labels: 1 was found among words; give labels of one type"):
        cn.class_recognisers(LinearFeatures(np.eye(2)), [1, "a"], 0.5)
    assert cn.class_recognisers(LinearFeatures(np.eye(2)), [1, 2], 0.5).solve().region.classes.tolist() == [1, 2]


@pytest.mark.parametrize("ratio", [1.0, 1e-2, 1e-4, 1e-6])
def test_a_class_near_the_origin_is_solved_to_its_own_size(ratio):
    """The classes do not know of each other: the machine of one alone is that in its own units, which scales with it."""
    rng = np.random.default_rng(0)
    near, far = rng.standard_normal((30, 2)) * [0.2, 1] + [2, 1], rng.standard_normal((30, 2)) * 0.3 + [6, 5]
    alone = cn.one_class_svm(LinearFeatures(near), 0.2).solve()
    features, labels = LinearFeatures(np.vstack([ratio * near, far])), np.repeat(["near", "far"], 30)
    solution = cn.class_recognisers(features, labels, 0.2).solve()
    for found in (solution, module.libsvm(features, labels, 0.2), module.separate(features, labels, 0.2)):
        k = list(found.region.classes).index("near")
        np.testing.assert_allclose(found.region.normals[k] / ratio, alone.region.normal, rtol=1e-6)
        assert found.region.offsets[k] / ratio**2 == pytest.approx(alone.region.offset, rel=1e-6)
        assert "w = 0" not in found.guarantee
    alpha = solution.values["alpha"]
    assert alpha[:30].sum() == pytest.approx(1.0) and alpha.min() >= 0 and alpha[:30].max() <= 1 / (0.2 * 30) + 1e-9


def _near_and_far(ratio):
    rng = np.random.default_rng(0)
    near = ratio * (rng.standard_normal((30, 2)) * [0.2, 1] + [2, 1])
    return near, rng.standard_normal((30, 2)) * 0.3 + [6, 5], np.repeat(["near", "far"], 30)


@pytest.mark.parametrize("ratio", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("comparison", ["distance", "raw"])
def test_a_class_near_the_origin_is_solved_in_its_own_unit(ratio, comparison):
    """The classes do not know of each other, so that the near one is its own machine in units of the ratio."""
    near, far, labels = _near_and_far(ratio)
    alone = cn.one_class_svm(LinearFeatures(near / ratio), 0.2).solve()
    other = cn.one_class_svm(LinearFeatures(far), 0.2).solve()
    formulation = cn.class_recognisers(LinearFeatures(np.vstack([near, far])), labels, 0.2, comparison)
    solution = formulation.solve()
    region, k = solution.region, list(solution.region.classes).index("near")
    np.testing.assert_allclose(region.normals[k] / ratio, alone.region.normal, rtol=1e-6)
    assert region.offsets[k] / ratio**2 == pytest.approx(alone.region.offset, rel=1e-6)
    assert solution.objective == pytest.approx(other.objective + ratio**2 * alone.objective, rel=1e-7)
    assert solution.objective == pytest.approx(formulation.evaluate(solution.values)[0], rel=1e-12)
    assert "w = 0" not in solution.guarantee
    probe = np.random.default_rng(1).standard_normal((200, 2)) * 2
    claimed = region.scores(ratio * probe)[:, k] >= 0
    np.testing.assert_array_equal(claimed, alone.region.decision_values(probe) >= 0)
    # What is a tie of the far class is more than the near one: nobody is claimed by that one for it.
    union = alone.region.contains(probe) | other.region.contains(ratio * probe)
    np.testing.assert_array_equal(region.contains(ratio * probe), union)


def test_other_fractions_and_named_solvers_reach_a_class_near_the_origin_too():
    near, far, labels = _near_and_far(1e-4)
    formulation = cn.class_recognisers(LinearFeatures(np.vstack([near, far])), labels, 0.2)
    for nu in (0.5, 0.1):
        alone = cn.one_class_svm(LinearFeatures(near), nu).solve()
        for solver in (None, "CLARABEL", "SCS"):
            solution = formulation.set(outlier_fraction=nu).solve(solver)
            normal = solution.region.normals[list(solution.region.classes).index("near")]
            np.testing.assert_allclose(normal, alone.region.normal, rtol=1e-3 if solver == "SCS" else 1e-6)


def test_the_point_of_all_classes_stays_where_a_class_fails_by_itself(monkeypatch):
    near, far, labels = _near_and_far(1e-4)
    formulation = cn.class_recognisers(LinearFeatures(np.vstack([near, far])), labels, 0.2)
    solved = type(formulation)._solved

    def failing(self, *given):
        if self is not formulation:
            raise SolverError("none")
        return solved(self, *given)

    monkeypatch.setattr(type(formulation), "_solved", failing)
    with pytest.warns(UserWarning, match="the value is known to a share of"):
        formulation.solve()


@pytest.mark.parametrize("comparison", ["distance", "ratio", "raw"])
@pytest.mark.parametrize("far", [1e4, 1e7, 1e9])
def test_a_far_row_makes_no_ties_of_the_others(far, comparison):
    """A row beyond its plane has no multiplier, wherever it lies: all verdicts on the others stay, as does the sentence."""
    X = np.abs(np.random.default_rng(0).normal(size=(40, 2))) + 1
    labels = np.repeat(["a", "b"], 20)
    moved, beyond = X.copy(), int(X[:20].sum(axis=1).argmax())
    moved[beyond] *= far
    new = np.vstack([X, [[0.3, 0.3], [0.01, 0.01]], 0.9 * X])
    one, other = (cn.class_recognisers(LinearFeatures(Z), labels, 0.2, comparison).solve() for Z in (X, moved))
    assert other.region.scores(new) == pytest.approx(one.region.scores(new), abs=1e-5)
    assert (other.region.contains(new) == one.region.contains(new)).all()
    assert not other.region.contains([[0.3, 0.3]])[0] and other.region.contains(moved[beyond][None])[0]
    assert str(other.guarantee) == str(one.guarantee)
    # The sentence counts with the ties of the region.
    rows = {"a": moved[:20], "b": moved[20:]}
    outside = [
        float(np.mean(other.region.scores(rows[name])[:, c] < -other.region._ties[c])) for c, name in enumerate("ab")
    ]
    assert f"{max(outside):.6g} of class" in other.guarantee and max(outside) >= 0.1
    assert other.region.tie == pytest.approx(one.region.tie, rel=1e-3)


@pytest.mark.parametrize("comparison", ["distance", "ratio", "raw"])
@pytest.mark.parametrize("copies", [1, 5])
def test_classes_whose_points_all_lie_on_the_boundary_pass_the_check(comparison, copies):
    """All decision values are rounding there, and have no size but that of the terms of their sums."""
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 10)) + 3, copies, axis=0)
    y = np.repeat([0, 1, 0, 1, 0, 1], copies)
    features = KernelFeatures(X, kernels.gaussian(gamma="scale"))
    problem = cn.class_recognisers(features, y, 0.5, comparison)
    solution, right = problem.solve(), 0.0
    for c in (0, 1):
        rows = np.flatnonzero(y == c)[::copies]
        level = np.linalg.solve(features.gram[np.ix_(rows, rows)], np.ones(3))
        assert (level > 0).all() and (level / level.sum() < 1 / 1.5).all()  # all equal scores, inside of the box
        right += 0.5 / level.sum()
    assert solution.objective == pytest.approx(right, rel=1e-9)
    assert np.abs(solution.region.decision_values(features.training)).max() < 1e-12
    report = cn.check(problem)
    assert report.passed, report.table()


def test_a_class_is_told_from_the_origin_by_a_column_that_is_small_beside_another():
    rng = np.random.default_rng(0)
    X = np.c_[np.round(1e8 * rng.standard_normal(16), 2), np.round(rng.uniform(1, 5, 16), 1)]
    labels = np.where(np.arange(16) % 2, "a", "b")
    made = cn.class_recognisers(LinearFeatures(X), labels, 0.4)
    solution, value = made.solve(), 0.0
    for name in ("a", "b"):
        rows, t, alpha = X[labels == name], cp.Variable(), cp.Variable(8, nonneg=True)
        hull = [cp.sum(alpha) == 1, alpha <= 1 / 3.2, (rows[:, 0] / 1e8) @ alpha == t / 1e8]
        own = cp.Problem(cp.Minimize((cp.square(t) + cp.square(rows[:, 1] @ alpha)) / 2), hull)
        value += own.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    assert solution.objective == pytest.approx(value, rel=1e-6)
    assert "w = 0" not in solution.guarantee
    report = cn.check(made)
    assert report.passed, report.table()


@pytest.mark.parametrize("seed", [1, 7, 17, 25])
@pytest.mark.parametrize("comparison", ["distance", "ratio", "raw"])
def test_libsvm_is_held_to_what_its_digits_tell_of_the_outputs(seed, comparison):
    """Points near to each other have outputs that are small beside k(x, x); an offset that is moved is still found."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 16)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, 2)) * 10 ** rng.uniform(-3, 0) + 3 * rng.normal(size=2)
    labels, nu = np.arange(n) % k, float(rng.uniform(0.15, 0.95))
    features = KernelFeatures(X, kernels.gaussian(gamma=0.05))
    report = cn.check(cn.class_recognisers(features, labels, nu, comparison))
    assert report.passed, report.table()
    theirs, ours = module.libsvm(features, labels, nu, comparison), module.separate(features, labels, nu, comparison)
    step = next(s for s in cn.derivation.method("class_recognisers").steps if s.source_node == "libsvm")
    arguments = {"features": features, "labels": labels, "outlier_fraction": nu, "comparison": comparison}
    instance = Instance("i", arguments, method="class_recognisers", probe=features.training)
    moved = dataclasses.replace(theirs.region, offsets=theirs.region.offsets * (1 - 1e-4))
    for region, wrong in ((theirs.region, False), (moved, True)):
        gap, _ = checker._decision_gap(step, instance, dataclasses.replace(theirs, region=region), ours)
        assert (gap > step.decision_tolerance) == wrong


@pytest.mark.parametrize("comparison", ["distance", "ratio", "raw"])
def test_scores_that_tie_give_the_first_class_whatever_is_asked_beside(comparison):
    """Two classes of the same rows in another order have one plane: which of both scores is larger is rounding."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        counts = rng.poisson(3, (6, 3)) + 1.0
        order = rng.permutation(12)
        features = cn.LinearFeatures(np.vstack([counts, counts])[order])
        region = cn.class_recognisers(features, np.repeat(["a", "b"], 6)[order], 0.1, comparison).solve().region
        new = rng.poisson(3, (40, 3)) + 1.0
        assert set(region.classify(new)) == {"a"}
        assert all(region.classify(row[None])[0] == "a" for row in new)
