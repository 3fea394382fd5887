"""The pair-step solver against libsvm, Clarabel, enumeration of the active sets, and facts derived by hand."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, OneClassSVM

from convexnovelty.algorithms._pair_steps import CONVERGED, _coordinates, _joint_step
from convexnovelty.algorithms.box import Box
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import IndefiniteError, InputError, SolverError, UnboundedError

RULES = ("second-order", "schoelkopf")
line4 = np.arange(1.0, 5.0)[:, None]
two = np.array([[0.0], [np.sqrt(np.log(2.0))]])


def kkt_gap(Q, p, y, a, upper, equality=True):
    """m(a) - M(a) from its definition, for a of either sign of y; written without the package."""
    gradient = Q @ a + p
    if not equality:
        return max([*gradient[a > 0], *-gradient[a < upper], 0.0])
    up = ((y > 0) & (a < upper)) | ((y < 0) & (a > 0))
    low = ((y > 0) & (a > 0)) | ((y < 0) & (a < upper))
    if not up.any() or not low.any():
        return 0.0
    return max((-y * gradient)[up].max() - (-y * gradient)[low].min(), 0.0)


def enumerated(Q, p, y, d, upper, equality):
    """The minimum over all splits into zero, at the bound, and free; for a handful of coordinates and a regular Q."""
    n, best = len(p), np.inf
    for pattern in product((0, 1, 2), repeat=n):
        free = np.array([k == 2 for k in pattern])
        a = np.where(np.array(pattern) == 1, upper, 0.0)
        if free.any():
            k = free.sum()
            right = -(p + Q @ a)[free]
            system = Q[np.ix_(free, free)]
            if equality:
                system = np.block([[system, y[free][:, None]], [y[free][None, :], np.zeros((1, 1))]])
                right = np.r_[right, d - y @ a]
            try:
                a[free] = np.linalg.solve(system, right)[:k]
            except np.linalg.LinAlgError:
                continue
        feasible = (a > -1e-9).all() and (a < upper + 1e-9).all() and (not equality or abs(y @ a - d) < 1e-9)
        if feasible:
            best = min(best, 0.5 * a @ Q @ a + p @ a)
    return best


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [2, 3, 17, 120, 400])
def test_agrees_with_libsvm(n, nu, rule):
    X = np.random.default_rng(n).normal(size=(n, 4))
    K = rbf_kernel(X, gamma=0.3)
    result = smo(K, upper=1 / (nu * n), rule=rule)
    peer = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-8).fit(K)
    assert peer.dual_coef_.sum() == pytest.approx(nu * n)
    a = np.zeros(n)
    a[peer.support_] = peer.dual_coef_[0] / (nu * n)
    assert result.objective == pytest.approx(0.5 * a @ K @ a, rel=1e-9)
    assert result.offset.lower - 1e-6 <= peer.offset_[0] / (nu * n) <= result.offset.upper + 1e-6
    assert kkt_gap(K, np.zeros(n), np.ones(n), result.multipliers, 1 / (nu * n)) <= 1e-11
    assert result.multipliers.sum() == pytest.approx(1.0, abs=1e-12)
    assert result.multipliers.min() >= 0
    assert result.multipliers.max() <= 1 / (nu * n)


def test_the_two_rules_agree_where_the_solution_is_unique():
    X = np.random.default_rng(5).normal(size=(90, 3))
    K = rbf_kernel(X, gamma=1.0)
    first, second = (smo(K, upper=1 / 9, rule=rule, seed=3) for rule in RULES)
    assert first.multipliers == pytest.approx(second.multipliers, abs=1e-10)
    assert first.objective == pytest.approx(second.objective, rel=1e-13)


def test_the_same_seed_gives_the_same_run():
    K = rbf_kernel(np.random.default_rng(6).normal(size=(60, 2)))
    runs = [smo(K, upper=0.05, rule="schoelkopf", seed=7) for _ in range(2)]
    assert runs[0].iterations == runs[1].iterations
    assert (runs[0].multipliers == runs[1].multipliers).all()


@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_agrees_with_clarabel_on_the_soft_ball_with_weights(nu):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3))
    K = X @ X.T
    upper = rng.uniform(0.5, 2.0, size=40) / (nu * 40)
    result = smo(2 * K, -np.diag(K), upper=upper)
    a = cp.Variable(40)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X.T @ a) - np.diag(K) @ a), [a >= 0, a <= upper, cp.sum(a) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert result.objective == pytest.approx(problem.value, rel=1e-9)
    assert kkt_gap(2 * K, -np.diag(K), np.ones(40), result.multipliers, upper) <= 1e-11


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_agrees_with_the_two_class_svm(C, kernel):
    rng = np.random.default_rng(9)
    X = np.vstack([rng.normal(size=(40, 3)), rng.normal(size=(50, 3)) + 1.5])
    y = np.repeat([-1.0, 1.0], [40, 50])
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    Q = np.outer(y, y) * K
    result = smo(Q, -np.ones(90), y, 0.0, C)
    peer = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    a = np.zeros(90)
    a[peer.support_] = np.abs(peer.dual_coef_[0])
    assert result.objective == pytest.approx(0.5 * a @ Q @ a - a.sum(), rel=1e-9)
    assert abs(y @ result.multipliers) <= 1e-11 * C * 90
    assert kkt_gap(Q, -np.ones(90), y, result.multipliers, C) <= 1e-11 * (np.abs(Q) @ a).max()
    # libsvm's own gap bounds how well its intercept is determined.
    assert result.offset.used == pytest.approx(-peer.intercept_[0], abs=1e-6 + 2 * kkt_gap(Q, -np.ones(90), y, a, C))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", [1, 3])
def test_a_margin_of_one_is_met_beside_products_of_raw_columns(seed, rule):
    """Incomes and ages: the terms of the gradient are 1e9, and the linear term, beside which a gap is small, is one."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.lognormal(10, 0.5, 20).round(), rng.integers(18, 90, 20)]
    Z = np.vstack([X, rng.uniform(X.min(0), X.max(0), size=X.shape)])
    y, middle, units = np.repeat([1.0, -1.0], 20), Z.mean(0), Z.std(0)
    w, b, slacks = cp.Variable(2), cp.Variable(), cp.Variable(40, nonneg=True)
    value = cp.sum_squares(cp.multiply(1 / units, w)) / 2 + 0.1 * cp.sum(slacks)
    problem = cp.Problem(cp.Minimize(value), [cp.multiply(y, (Z - middle) / units @ w - b) >= 1 - slacks])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    Q = Z @ Z.T * np.outer(y, y)
    result = smo(Q, -np.ones(40), y, 0.0, 0.1, rule=rule)
    assert -result.objective == pytest.approx(problem.value, rel=1e-7)
    assert kkt_gap(Q, -np.ones(40), y, result.multipliers, 0.1) <= 1e-5


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 6),
    equality=st.booleans(),
    mixed=st.booleans(),
    unit=st.sampled_from([1e-8, 1e-3, 1.0, 1e5, 1e8]),
)
def test_agrees_with_enumeration_of_active_sets(seed, n, equality, mixed, unit):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 1))
    Q = A @ A.T
    p = rng.normal(size=n) * rng.integers(0, 2)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if mixed else np.ones(n)
    upper = rng.uniform(0.2, 1.5, size=n)
    d = float(y @ (upper * rng.random(n)))
    reference = enumerated(Q, p, y, d, upper, equality)
    result = smo(unit * Q, unit * p, y, d, upper, equality=equality)
    scale = float((np.abs(Q) @ upper + np.abs(p)).max()) * upper.sum()
    assert result.objective / unit == pytest.approx(reference, abs=1e-10 * scale)
    assert kkt_gap(unit * Q, unit * p, y, result.multipliers, upper, equality) <= 1e-9 * unit * scale


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), rank=st.integers(1, 4), rule=st.sampled_from(RULES))
def test_singular_matrices_with_copies_of_rows(seed, n, rank, rule):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n, rank)), 2, axis=0)
    K = X @ X.T
    nu = rng.uniform(1 / n, 1.0)
    result = smo(K, upper=1 / (nu * 2 * n), rule=rule)
    assert kkt_gap(K, np.zeros(2 * n), np.ones(2 * n), result.multipliers, 1 / (nu * 2 * n)) <= 1e-9 * np.abs(K).max()
    # Weak duality with this offset is an equality: rho - sum of slacks/(nu n) - |w|^2/2 is the dual objective again.
    f = K @ result.multipliers
    primal = result.offset.used - np.maximum(result.offset.used - f, 0).sum() / (nu * 2 * n) - result.objective
    assert primal == pytest.approx(result.objective, abs=1e-9 * np.abs(K).max())


def test_scans_end_where_rounding_leaves_coordinates_beside_their_bounds():
    # Four support vectors at 1/4 and a linear kernel: pairs of coordinates of size 1e-17 once exchanged places for ever.
    X = np.random.default_rng(0).normal(size=(400, 5)) + 3
    result = smo(X @ X.T, upper=0.25, rule="schoelkopf", max_iterations=10_000)
    assert result.objective == pytest.approx(smo(X @ X.T, upper=0.25).objective, rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scale", [1e-8, 1e-6, 1e-4, 1.0, 1e4, 1e6, 1e8])
def test_offset_is_an_interval_when_every_support_vector_is_at_its_bound(scale, rule):
    X = scale * line4
    result = smo(X @ X.T, upper=0.5, rule=rule)
    assert result.multipliers == pytest.approx([0.5, 0.5, 0, 0], abs=1e-13)
    assert result.objective == pytest.approx(1.125 * scale**2, rel=1e-13)
    assert result.offset.lower == pytest.approx(3 * scale**2, rel=1e-13)
    assert result.offset.upper == pytest.approx(4.5 * scale**2, rel=1e-13)
    assert result.offset.used == result.offset.lower


def test_offset_is_one_number_with_a_free_support_vector():
    X = np.arange(1.0, 6.0)[:, None]
    result = smo(X @ X.T, upper=0.4)
    assert result.multipliers == pytest.approx([0.4, 0.4, 0.2, 0, 0], abs=1e-13)
    assert result.offset == pytest.approx((5.4, 5.4, 5.4), rel=1e-13)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("nu", [0.01, 0.25, 0.5])
def test_two_points(nu, rule):
    result = smo(rbf_kernel(two, gamma=1.0), upper=1 / (2 * nu), rule=rule)
    assert result.multipliers == pytest.approx([0.5, 0.5], abs=1e-13)
    assert result.objective == pytest.approx(3 / 8, rel=1e-13)
    assert result.offset.used == pytest.approx(3 / 4, rel=1e-13)


def test_copies_of_a_point_leave_the_gradient_unique():
    K = rbf_kernel(np.array([[0.0], [0.0], [1.0]]), gamma=1.0)
    result = smo(K, upper=1.0)
    assert result.objective == pytest.approx((1 + np.exp(-1)) / 4, rel=1e-12)
    assert result.gradient == pytest.approx(np.full(3, (1 + np.exp(-1)) / 2), rel=1e-12)


def test_a_point_of_weight_zero_changes_nothing():
    X = np.r_[line4, [[100.0]]]
    result = smo(X @ X.T, upper=[0.5] * 4 + [0.0])
    assert result.multipliers == pytest.approx([0.5, 0.5, 0, 0, 0], abs=1e-13)
    assert result.offset.upper == pytest.approx(4.5)


def test_integer_weights_equal_repeated_rows():
    X = np.array([[1.0], [3.0]])
    weighted = smo(X @ X.T, upper=np.array([2.0, 1.0]) / 2)
    Z = np.array([[1.0], [1.0], [3.0]])
    repeated = smo(Z @ Z.T, upper=0.5)
    assert weighted.objective == pytest.approx(0.5, rel=1e-13)
    assert repeated.objective == pytest.approx(0.5, rel=1e-13)


def test_every_point_at_its_bound_is_the_parzen_estimator():
    K = rbf_kernel(np.random.default_rng(1).normal(size=(30, 2)))
    result = smo(K, upper=1 / 30)
    assert result.multipliers == pytest.approx(np.full(30, 1 / 30))
    assert result.offset.upper == np.inf
    assert result.offset.used == pytest.approx(K.mean(axis=1).max())


def test_hard_margin_needs_no_upper_bound():
    K = rbf_kernel(np.random.default_rng(2).normal(size=(25, 2)))
    result = smo(K)
    bounded = smo(K, upper=1.0)
    assert result.objective == pytest.approx(bounded.objective, rel=1e-12)


def test_one_coordinate():
    assert smo([[2.0]], [-1.0], upper=3.0).multipliers == pytest.approx([1.0])
    assert smo([[2.0]], [-1.0], upper=3.0, equality=False).multipliers == pytest.approx([0.5])
    assert smo([[2.0]], [-1.0], upper=0.3, equality=False).multipliers == pytest.approx([0.3])


def test_no_curvature_at_all_is_a_linear_program():
    result = smo(np.zeros((3, 3)), [3.0, 1.0, 2.0], upper=0.6)
    assert result.multipliers == pytest.approx([0.0, 0.6, 0.4])
    assert result.offset.used == pytest.approx(2.0)
    with pytest.raises(UnboundedError):
        smo(np.zeros((2, 2)), [1.0, -1.0], equality=False)


def test_box_only_agrees_with_bounded_least_squares():
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(4)
    A, t = rng.normal(size=(60, 30)), rng.normal(size=60)
    reference = lsq_linear(A, t, bounds=(0, 0.1), tol=1e-14, method="bvls")
    result = smo(A.T @ A, -A.T @ t, upper=0.1, equality=False)
    assert result.offset is None
    assert result.multipliers == pytest.approx(reference.x, abs=1e-9)


def test_a_start_is_used_and_repaired():
    K = rbf_kernel(np.random.default_rng(3).normal(size=(50, 2)))
    cold = smo(K, upper=0.1)
    warm = smo(K, upper=0.1, start=cold.multipliers)
    assert warm.iterations <= 2
    assert smo(K, upper=0.1, start=np.full(50, 7.0)).objective == pytest.approx(cold.objective, rel=1e-13)


def test_indefinite_matrices_are_refused_with_the_eigenvalue():
    with pytest.raises(IndefiniteError, match="-1") as caught:
        smo([[1.0, 2.0], [2.0, 1.0]])
    assert caught.value.eigenvalue == pytest.approx(-1.0)
    with pytest.raises(IndefiniteError):
        smo([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("rule", RULES)
def test_stopping_early_is_an_error_with_the_gap(rule):
    K = rbf_kernel(np.random.default_rng(3).normal(size=(50, 2)))
    with pytest.raises(SolverError, match=r"gap is .* after 1 steps"):
        smo(K, upper=0.1, max_iterations=1, rule=rule)
    # Already optimal at the start: no step is needed, so none is missing.
    assert smo(line4 @ line4.T, upper=0.5, max_iterations=1).objective == pytest.approx(1.125)


def test_newton_steps_spare_an_ill_conditioned_program_most_pair_steps():
    """Pair steps to the last digit take 380,000 steps here; a simplex's minimum is 1/(2 1'Q^-1 1) on its support."""
    n = 150
    vectors, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((n, n)))
    Q = (vectors * np.geomspace(1.0, 1e-6, n)) @ vectors.T
    result = smo(Q, max_iterations=150_000)
    support = np.flatnonzero(result.multipliers > 0)
    shares = np.linalg.solve(Q[np.ix_(support, support)], np.ones(support.size))
    assert (shares > 0).all()
    assert result.objective == pytest.approx(0.5 / shares.sum(), rel=1e-8)
    assert (Q[:, support] @ shares >= 1.0 - 1e-8).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(Q=np.eye(4), upper=0.2), r"0\.8"),
        (dict(Q=np.eye(2), upper=[-1.0, 1.0]), "position 0"),
        (dict(Q=np.eye(2), upper=np.nan), "upper"),
        (dict(Q=np.eye(2), upper=[1.0, 1.0, 1.0]), "length 3"),
        (dict(Q=np.eye(2), upper="x"), "upper"),
        (dict(Q=[[1.0, np.nan], [np.nan, 1.0]]), "Q"),
        (dict(Q=[[1.0, 0.5], [0.2, 1.0]]), "not symmetric"),
        (dict(Q=np.eye(2), p=[np.nan, 1.0]), "p"),
        (dict(Q=np.eye(2), y=[1.0, 0.0]), "y"),
        (dict(Q=np.eye(2), d=np.nan), "d"),
        (dict(Q=np.eye(2), d=-1.0), "d = -1"),
        (dict(Q=np.eye(2), tolerance=0.0), "tolerance"),
        (dict(Q=np.eye(2), rule="none"), "rule"),
        (dict(Q=np.eye(2), rule="schoelkopf", equality=False), "equality"),
        (dict(Q=np.eye(2), start=[1.0]), "start"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(InputError, match=words):
        smo(**arguments)


def test_inputs_are_not_written_to():
    K = rbf_kernel(line4)
    K.flags.writeable = False
    p = np.zeros(4)
    p.flags.writeable = False
    smo(K, p, np.array([1, -1, 1, 1]), upper=1.0)


def test_importing_the_solver_costs_no_compiler():
    import subprocess
    import sys

    code = "import sys, convexnovelty.algorithms.smo; print('numba' in sys.modules, 'cvxpy' in sys.modules)"
    words = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert words == ["False", "False"]


def test_without_a_place_for_the_cache_the_answer_is_the_same(tmp_path):
    import subprocess
    import sys

    code = (
        "import warnings, numpy as np; warnings.simplefilter('always')\n"
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "from convexnovelty.algorithms.smo import smo\n"
        "print(smo(np.eye(2), upper=1.0).objective)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(run.stdout) == pytest.approx(0.25)
    assert "NUMBA_CACHE_DIR" in run.stderr


def test_movable_coordinates_are_the_free_ones_and_those_that_would_leave_their_bound():
    """At rho = 1, tolerance 1/4: a lower bound is left below 3/4, an upper one above 5/4, a fixed coordinate never."""
    box = Box(np.zeros(7), np.array([1.0, 1, 1, 1, 1, 1, 0]), 1.0, np.ones(7))
    b = np.array([0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    gradient = np.array([1.0, 0.5, 1.125, 1.5, 1.5, 1.125, 0.0])
    assert box.movable(b, gradient, 1.0, 0.25).tolist() == [0, 1, 4]


def test_a_joint_step_that_is_cut_ends_exactly_at_the_bound():
    """Not beside it by a rounding: differences of sevenths and tenths are not exact. Steps in both directions."""
    rng = np.random.default_rng(4)
    ended = set()
    for _ in range(2000):
        upper = rng.integers(1, 9, 2) / 7
        b, lower, gradient = (
            upper * rng.integers(1, 10, 2) / 10,
            np.zeros(2),
            50.0 * rng.choice([-1, 1]) * np.array([1, -1]),
        )
        before = b.sum()
        assert _joint_step(np.eye(2), gradient, b, lower, upper, 0, 1, 0.0) == 1
        assert b.sum() == pytest.approx(before, rel=1e-14)
        ends = [(i, "lower") for i in range(2) if b[i] == 0.0] + [(i, "upper") for i in range(2) if b[i] == upper[i]]
        assert ends and np.all((b >= 0) & (b <= upper))
        ended.update(ends)
    assert len(ended) == 4


def test_a_single_step_that_is_cut_ends_exactly_at_the_bound():
    rng = np.random.default_rng(7)
    for _ in range(100):
        upper = rng.integers(1, 9, 3) / 7
        b, gradient = upper * rng.integers(1, 10, 3) / 10, 50.0 * rng.choice([-1, 1], 3)
        wanted = np.where(gradient > 0, 0.0, upper)  # the curvature is one, so that every coordinate is cut
        assert _coordinates(np.eye(3), gradient, b, np.zeros(3), upper, 1e-9, 10) == (CONVERGED, 3)
        assert b.tolist() == wanted.tolist()


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("linear", [1e-7, 1e-6, 1e-3])
@pytest.mark.parametrize("equality", [True, False])
def test_flat_matrices_with_a_small_linear_term(rank, linear, equality):
    """Pairs zigzag along directions that the matrix does not see, where only the linear term says how far to go."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, p = rng.normal(size=(10, rank)), rng.normal(size=10)
        y = np.where(rng.random(10) < 0.5, 1.0, -1.0)
        found = smo(np.outer(y, y) * (X @ X.T), linear * p, y, 0.0, 1.0, equality=equality)
        a = cp.Variable(10)
        held = [a >= 0, a <= 1, *([y @ a == 0] if equality else [])]
        cost = cp.sum_squares((X.T * y) @ a) / 2
        # In units of the linear term the other one is small where it counts, and a solver resolves both.
        problem = cp.Problem(cp.Minimize(cost / linear + p @ a), held)
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        # The objective is convex, and from a to the optimum multipliers move by ten in all.
        above = found.objective / linear - problem.value
        assert -1e-5 <= above <= 10 * found.violation / linear + 1e-5, seed
        assert abs(y @ found.multipliers) <= 1e-9 or not equality
        assert found.multipliers.min() >= 0 and found.multipliers.max() <= 1
