"""The comparison with an artificial class: scikit-learn on the points, offsets by hand, the box, and bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import datasets, kernels
from convexnovelty.errors import InputError
from convexnovelty.methods import uniform_class_svm as module


def test_the_checker_is_green():
    report = cn.check("uniform_class_svm")
    assert report.passed, report.table()


def test_scikit_learn_on_the_points_themselves():
    data = datasets.blob(n=30)
    kernel = kernels.gaussian(gamma=0.2)
    problem = cn.uniform_class_svm(data.nominal, 2.0, kernel, count=50, random_state=3)
    features = module.with_uniform_class(data.nominal, kernel, count=50, random_state=3)
    labels = np.repeat([1, -1], [30, 50])
    machine = SVC(kernel="rbf", gamma=0.2, C=2.0, tol=1e-6).fit(features.points, labels)
    for solution in (
        problem.solve(),
        cn.uniform_class_svm(data.nominal, 2.0, kernel, 50, 3, form="primal").solve(),
        module.sequential(features, 30, 2.0),
    ):
        values = solution.region.decision_values(features.coordinates(data.novel))
        assert values == pytest.approx(machine.decision_function(data.novel), abs=1e-4)
        outside = (~solution.region.contains(features.training[:30])).sum()
        assert f"{outside} of 30 ordinary points" in solution.guarantee


def test_the_artificial_class_fills_the_bounding_box():
    X = datasets.blob(n=25, dimension=3).nominal
    features = module.with_uniform_class(X, count=1000, random_state=1)
    artificial = features.points[25:]
    low, high = X.min(axis=0), X.max(axis=0)
    assert (artificial >= low).all()
    assert (artificial <= high).all()
    assert artificial.mean(axis=0) == pytest.approx((low + high) / 2, abs=0.1 * (high - low).max())
    assert artificial.std(axis=0) == pytest.approx((high - low) / np.sqrt(12), rel=0.1)
    same = module.with_uniform_class(X, count=1000, random_state=1)
    assert np.array_equal(same.points, features.points)


def test_two_points_by_hand():
    """+1 at x = 2 and -1 at x = 0: a = 1/2 each, w = 1, b = -1 once C is large; C bounds the multipliers before."""
    features = cn.LinearFeatures(np.array([[2.0], [0.0]]))
    for C, alpha in ((10.0, 0.5), (0.1, 0.1)):
        for solution in (
            module.dual(features, 1, C).solve(),
            module.primal(features, 1, C).solve(),
            module.sequential(features, 1, C),
        ):
            assert solution.region.normal == pytest.approx([2 * alpha], abs=1e-7)
            assert solution.objective == pytest.approx(2 * alpha - 2 * alpha**2, rel=1e-7)
    # With C = 0.1 both points have slack, and every offset between the kinks b = -1 and 1 - 0.4 = 0.6 is as good.
    assert (solution.offset.lower, solution.offset.upper) == pytest.approx((-0.6, 1.0))


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e8])
def test_units(unit):
    data = datasets.blob(n=20)
    base = cn.uniform_class_svm(data.nominal, 1.0, kernels.polynomial(2, "scale", 1.0)).solve()
    moved = cn.uniform_class_svm(unit * data.nominal, 1.0, kernels.polynomial(2, "scale", 1.0)).solve()
    assert moved.objective == pytest.approx(base.objective, rel=1e-6)
    linear = cn.uniform_class_svm(data.nominal, 1.0).solve()
    assert cn.uniform_class_svm(unit * data.nominal, unit**-2).solve().objective * unit**2 == pytest.approx(
        linear.objective, rel=1e-6
    )


def test_a_path_of_penalties_is_compiled_once():
    problem = cn.uniform_class_svm(datasets.blob(n=20).nominal, 0.1, kernels.gaussian(gamma=0.3))
    objectives = [solution.objective for solution in problem.path(slack_penalty=[0.1, 0.3, 1.0, 3.0])]
    assert objectives == sorted(objectives)
    assert problem.compilations == 1
    again = pickle.loads(pickle.dumps(problem))
    assert again.solve().objective == pytest.approx(objectives[-1], rel=1e-8)


def test_bad_input_names_the_argument():
    X = datasets.blob(n=10).nominal
    features = module.with_uniform_class(X)
    cases = [
        (lambda: cn.uniform_class_svm(X, 0.0), "slack_penalty: 0"),
        (lambda: cn.uniform_class_svm(X, np.nan), "slack_penalty: nan"),
        (lambda: cn.uniform_class_svm(X, 1.0, count=0), "count: 0"),
        (lambda: cn.uniform_class_svm(X[:1], 1.0), "positives: shape"),
        (lambda: cn.uniform_class_svm(np.where(X == X.max(), np.inf, X), 1.0), "positives: inf"),
        (lambda: cn.uniform_class_svm(X, 1.0, form="lagrangian"), "form: 'lagrangian'"),
        (lambda: module.dual(features, 20, 1.0), "count_x: 20"),
        (lambda: module.sequential(features, 10, -1.0), "slack_penalty: -1"),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=message):
            call()


def test_a_planted_fault_turns_the_checker_red(monkeypatch):
    right = module.smo
    monkeypatch.setattr(module, "smo", lambda Q, p, *more: right(1.01 * np.asarray(Q), p, *more))
    assert not cn.check("uniform_class_svm").passed
