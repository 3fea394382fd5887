"""The supporting hyperplane: geometry by hand, scikit-learn's SVC on reflected data, and samples without one."""

from __future__ import annotations

import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import hard_margin as module


def cloud(n, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + 6 * (-1.0) ** np.arange(p)


def routes(features, offset=1.0, labels=None):
    yield cn.hard_margin(features, offset, labels).solve()
    yield cn.hard_margin(features, offset, labels, form="dual").solve()
    yield module.nearest_point(features, offset, labels)
    yield module.wolfe(features, offset, labels)
    yield module.sequential(features, offset, labels)
    yield module.reflection(features, offset, labels).solve()
    yield module.svc(features, offset, labels)


def test_the_checker_is_green():
    report = cn.check("hard_margin")
    assert report.passed, report.table()


def test_by_hand():
    """The hull of (3, 4) and (3, 9) is nearest to the origin at (3, 4); that of (2, 1) and (2, -1) at (2, 0)."""
    for X, point in (([[3.0, 4.0], [3.0, 9.0]], [3.0, 4.0]), ([[2.0, 1.0], [2.0, -1.0]], [2.0, 0.0])):
        for rho in (1.0, 7.5):
            for solution in routes(LinearFeatures(X), rho):
                d2 = float(np.dot(point, point))
                assert solution.region.normal == pytest.approx(rho * np.array(point) / d2, abs=1e-6)
                assert solution.region.offset == rho
                assert solution.objective == pytest.approx(rho**2 / d2 / 2, rel=1e-6)
                assert solution.region.contains(X).all()


def test_reflection_is_a_binary_machine_through_the_origin():
    """Proposition 8.2 (i) with scikit-learn on the coordinates themselves, not on a Gram matrix."""
    X = cloud(25)
    machine = SVC(kernel="linear", C=1e6, tol=1e-8).fit(np.vstack([X, -X]), np.repeat([1, -1], 25))
    assert machine.intercept_[0] == pytest.approx(0.0, abs=1e-6)
    solution = cn.hard_margin(LinearFeatures(X)).solve()
    assert solution.region.normal == pytest.approx(machine.coef_[0], abs=1e-5 * np.abs(machine.coef_).max())
    assert module.reflection(LinearFeatures(X)).solve().values["b"] == pytest.approx(0.0, abs=1e-7)


def test_labelled_points_have_the_optimal_hyperplane_through_the_origin():
    """Proposition 8.2 (ii): against the program with labels, without a threshold."""
    X, rng = cloud(20), np.random.default_rng(1)
    y = np.where(rng.random(20) < 0.5, -1.0, 1.0)
    X = X * y[:, None]
    w = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [cp.multiply(y, X @ w) >= 1])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    for solution in routes(LinearFeatures(X), labels=y):
        assert solution.objective == pytest.approx(problem.value, rel=1e-6)
        assert solution.region.normal == pytest.approx(w.value, abs=1e-5)
    assert "reflection of those with label -1" in solution.guarantee


def test_identities_8_41():
    """rho^2 / d^2 = |w|^2 = 2 W, with d measured from the hyperplane and W from the multipliers."""
    features, rho = KernelFeatures(cloud(30), kernels.gaussian(gamma=0.1)), 3.0
    solution = cn.hard_margin(features, rho, form="dual").solve()
    alpha, w = solution.values["alpha"], solution.region.normal
    dual = rho * alpha.sum() - alpha @ features.gram @ alpha / 2
    distance = rho / np.linalg.norm(w)
    closest = (np.asarray(features.training) @ w).min() / np.linalg.norm(w)
    assert closest == pytest.approx(distance, rel=1e-6)
    assert w @ w == pytest.approx(2 * dual, rel=1e-7)
    assert (rho / distance) ** 2 == pytest.approx(2 * dual, rel=1e-7)


def test_problem_8_3_a_sample_around_the_origin():
    """With an offset above zero there is no hyperplane and multipliers diverge; with a free one there is a solution."""
    X = np.array([[1.0, 0.0], [-1.0, 0.2], [-0.5, -1.0]])
    features = LinearFeatures(X)
    for made in (
        lambda: cn.hard_margin(features).solve(),
        lambda: cn.hard_margin(features, form="dual").solve(),
        lambda: module.nearest_point(features),
        lambda: module.wolfe(features),
        lambda: module.sequential(features),
        lambda: module.svc(features),
    ):
        with pytest.raises(InfeasibleError, match="hull of the sample holds the origin"):
            made()
    assert cn.one_class_svm(features, 0.1).solve().objective == pytest.approx(0.0, abs=1e-9)
    assert cn.hard_margin(features, labels=[1, -1, -1]).solve().objective > 0
    # In between: multipliers grow as the hull comes closer to the origin.
    sums = [
        module.nearest_point(LinearFeatures(np.array([[h, 1.0], [h, -1.0]]))).values["alpha"].sum()
        for h in (1.0, 0.1, 0.01)
    ]
    assert sums == pytest.approx([1.0, 100.0, 10_000.0], rel=1e-8)


def test_problem_8_3_the_sum_of_the_multipliers():
    """Requiring rho >= 0 turns sum alpha = 1 into sum alpha >= 1, which changes nothing where the margin is positive."""
    features = KernelFeatures(cloud(20), kernels.gaussian(gamma=0.1))
    alpha = cp.Variable(20, nonneg=True)
    upper = 1 / (0.3 * 20)
    problem = cp.Problem(
        cp.Minimize(cp.quad_form(alpha, cp.psd_wrap(features.gram)) / 2), [alpha <= upper, cp.sum(alpha) >= 1]
    )
    problem.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(cn.one_class_svm(features, 0.3).solve().objective, rel=1e-6)
    assert alpha.value.sum() == pytest.approx(1.0, abs=1e-6)


def test_the_one_class_machine_has_the_same_hyperplane():
    features = KernelFeatures(cloud(25), kernels.gaussian(gamma=0.2))
    hard, soft = cn.hard_margin(features).solve(), cn.one_class_svm(features, 0.01).solve()
    assert hard.region.normal == pytest.approx(soft.region.normal / soft.region.offset, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e8])
@pytest.mark.parametrize("rho", [1e-8, 1.0, 1e8])
def test_units_of_points_and_of_the_offset(unit, rho):
    X = cloud(15)
    base = module.nearest_point(LinearFeatures(X)).region.normal
    for solution in routes(LinearFeatures(unit * X), rho):
        assert solution.region.normal * unit / rho == pytest.approx(base, abs=1e-5 * np.abs(base).max())


def test_order_rotation_and_repetition_change_nothing(rng):
    X = cloud(20)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    base = cn.hard_margin(LinearFeatures(X)).solve().region.normal
    assert cn.hard_margin(LinearFeatures(X[::-1])).solve().region.normal == pytest.approx(base, abs=1e-7)
    assert cn.hard_margin(LinearFeatures(np.vstack([X, X]))).solve().region.normal == pytest.approx(base, abs=1e-7)
    assert cn.hard_margin(LinearFeatures(X @ turn)).solve().region.normal == pytest.approx(base @ turn, abs=1e-7)


def test_a_new_offset_and_a_pickle():
    formulation = cn.hard_margin(LinearFeatures(cloud(15)), 2.0)
    first = formulation.solve()
    assert formulation.set(offset=6.0).solve().objective == pytest.approx(9 * first.objective, rel=1e-9)
    assert pickle.loads(pickle.dumps(formulation)).solve().region.offset == 6.0
    # Further constraints are in the user's units whatever the offset.
    held = formulation.subject_to(lambda v: v["w"][0] == 1.0).solve()
    assert held.region.normal[0] == pytest.approx(1.0, abs=1e-7)


def test_b29_no_gram_matrix_for_many_rows():
    features = LinearFeatures(np.linspace(1, 2, 50_000)[:, None])
    solution = cn.hard_margin(features).solve()
    assert solution.region.normal == pytest.approx([1.0], abs=1e-6)
    assert "gram" not in vars(features)


def test_the_guarantee_has_the_distance():
    solution = cn.hard_margin(LinearFeatures([[3.0, 4.0]])).solve()
    assert "all 1 training points lie beyond a hyperplane at the distance 5 from the origin" in solution.guarantee
    assert solution.guarantee.bound == 0.0


@pytest.mark.parametrize("offset", [0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_bad_offsets(offset):
    with pytest.raises(InputError, match="offset"):
        cn.hard_margin(LinearFeatures([[1.0]]), offset)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1, 0], "labels: 0 was found at position 1; give 1 for ordinary and -1 for novel"),
        ([1, -1, 1], "labels: length 3 was found where 2 is needed"),
        ([1, np.nan], "labels: nan"),
        (["a", "b"], "labels"),
        (np.eye(2), r"labels: shape \(2, 2\)"),
    ],
)
def test_bad_labels(labels, words):
    with pytest.raises(InputError, match=words):
        cn.hard_margin(LinearFeatures([[1.0], [2.0]]), labels=labels)


def test_b30_labels_in_a_column():
    features = LinearFeatures([[1.0, 2.0], [-2.0, -1.0]])
    flat = cn.hard_margin(features, labels=[1, -1]).solve().objective
    assert cn.hard_margin(features, labels=np.array([[1], [-1]])).solve().objective == flat


def test_a_wrong_form_is_named():
    with pytest.raises(InputError, match="form: 'soft' was found"):
        cn.hard_margin(LinearFeatures([[1.0]]), form="soft")


def test_a_hull_that_all_but_holds_the_origin_is_called_inseparable():
    """Everything cancels there, and pair steps met no tolerance of its size."""
    x = [3.92, 4.92, 6.28492704, 5.28, 5.17, 5.25, 4.78, 4.81, 6.36, 6.46, 5.64, 7.28, 4.52, 6.28396582]
    y = np.array([-1, -1, 1, -1, -1, -1, -1, 1, 1, -1, 1, -1, -1, -1])
    features = cn.KernelFeatures(np.array(x)[:, None], cn.kernels.polynomial(2, 1.0, 1.0))
    with pytest.raises(InfeasibleError, match="no hyperplane separates them"):
        cn.hard_margin(features, labels=y).solve()


FLAT = np.array(
    "-.5 10.8 1.4 -3.9 1 -2.7 1.1 -3.8 3 2.4 1.9 1.9 5.3 -7.8 2.3 -4.8 10.3 -.9 .5 -1 -4.6 3.2 .9 5.5 -14.4 1 .5 3.3 "
    "-16.8 -1 1.1 -3.5 9.3 2 1.6 3.9 -7.2 -3.7 .9 3.2 8.2 -3.2 .6 -1.4".split(),
    dtype=float,
).reshape(11, 4)


def test_the_checker_charges_single_precision_of_another_library_to_nobody():
    """libsvm's value is 1e-5 off here, where every other route agrees: the allowance is what its own point misses."""
    features = LinearFeatures(FLAT)
    exact, other = module.wolfe(features), module.svc(features)
    assert exact.objective == pytest.approx(cn.hard_margin(features).solve().objective, rel=1e-9)
    missed = abs(other.objective - exact.objective)
    assert 2e-6 * exact.objective < missed <= module._doubt(other, features) < 1e-4 * exact.objective
    report = cn.check(cn.hard_margin(features))
    assert report.passed, report.table()


def test_the_checker_takes_values_of_points_that_all_lie_on_the_plane_for_zero():
    """A polynomial kernel of degree two has room for a plane through these points: w is the least one with Xw = 1."""
    plane = [[1, 0], [1, 3], [1, 0], [1, -1], [0, 1], [0, 0], [0, 0], [1, 1], [1, 1], [1, 2], [1, 2]]
    X = np.hstack([plane, np.ones((11, 2))])
    features = KernelFeatures(X, kernels.polynomial(2, "scale", 1.0))
    through = np.linalg.lstsq(np.asarray(features.training), np.ones(11), rcond=None)[0]
    report = cn.check(cn.hard_margin(features))
    assert report.passed, report.table()
    assert cn.hard_margin(features).solve().objective <= through @ through / 2 * (1 + 1e-6)


@pytest.mark.parametrize("near", [1e-3, 1e-4, 3e-5, 1e-5])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_dual_of_a_hull_near_the_origin_has_the_value_of_its_distance(near, unit):
    """The hull of (1, d), (-1, d) and (0.3, 2 d) is d from the origin, and the optimum is 1 / (2 d^2)."""
    features = LinearFeatures(unit * np.array([[1.0, near], [-1.0, near], [0.3, 2 * near]]))
    for form in ("primal", "dual"):
        found = cn.hard_margin(features, form=form).solve()
        assert found.objective == pytest.approx(0.5 / (unit * near) ** 2, rel=1e-6)
        assert found.region.normal * unit * near == pytest.approx([0.0, 1.0], abs=1e-6)
