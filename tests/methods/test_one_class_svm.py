"""The one-class support vector machine against libsvm, against closed forms, and against faults that users met elsewhere."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import OneClassSVM

import convexnovelty as cn
from convexnovelty import kernels
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import IndefiniteError, InputError, SolverError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.methods import one_class_svm as module

TWO = np.array([[0.0], [np.sqrt(np.log(2))]])
LINE4 = np.arange(1.0, 5.0)[:, None]
LINE5 = np.arange(1.0, 6.0)[:, None]


def gaussian(X, gamma=1.0):
    return KernelFeatures(X, kernels.gaussian(gamma=gamma))


def cloud(n, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + 4 * (-1.0) ** np.arange(p)


def routes(features, nu, weights=None):
    """The same machine by every route that has multipliers."""
    yield cn.one_class_svm(features, nu, weights=weights).solve()
    yield module.sequential(features, nu, weights)
    yield module.sequential_schoelkopf(features, nu, weights)


def test_the_checker_is_green():
    report = cn.check("one_class_svm")
    assert report.passed, report.table()


# -- another library -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [20, 60, 150, 400])
@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
def test_objective_and_decision_values_of_libsvm(n, kernel):
    X, Z = cloud(n, seed=n), cloud(50, seed=1) * 1.5
    parameters = {
        "gaussian": {"kernel": "rbf", "gamma": 0.2},
        "linear": {"kernel": "linear"},
        "polynomial": {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0},
    }[kernel]
    ours = {
        "gaussian": kernels.gaussian(gamma=0.2),
        "linear": kernels.linear(),
        "polynomial": kernels.polynomial(degree=2, gamma=0.1, coef0=1.0),
    }[kernel]
    nu = 0.173  # nu n is never whole, so that the offset is unique
    reference = OneClassSVM(nu=nu, tol=1e-8, **parameters).fit(X)
    features = KernelFeatures(X, ours)
    solution = cn.one_class_svm(features, nu).solve()
    alpha = reference.dual_coef_.ravel() / (nu * n)
    value = float(alpha @ ours(reference.support_vectors_, reference.support_vectors_) @ alpha) / 2
    assert solution.objective == pytest.approx(value, rel=1e-6)
    expected = reference.decision_function(Z) / (nu * n)
    found = solution.region.decision_values(features.coordinates(Z))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    assert module.sequential(features, nu).objective == pytest.approx(solution.objective, rel=1e-6)
    assert cn.one_class_svm(features, nu, form="primal").solve().objective == pytest.approx(-value, rel=1e-6)


def test_the_reflected_sample_is_a_binary_problem():
    """Proposition 8.2 with slacks: scikit-learn's C-SVC on the sample and its mirror image."""
    from sklearn.svm import SVC

    features, nu = gaussian(cloud(40), 0.1), 0.23
    solution = cn.one_class_svm(features, nu).solve()
    rho = solution.offset.used
    gram = features.gram
    machine = SVC(kernel="precomputed", C=1 / (2 * nu * 40 * rho), tol=1e-9)
    machine.fit(np.block([[gram, -gram], [-gram, gram]]), np.repeat([1, -1], 40))
    beta = np.zeros(80)
    beta[machine.support_] = machine.dual_coef_.ravel()
    normal = np.asarray(features.training).T @ (beta[:40] - beta[40:])
    np.testing.assert_allclose(normal * rho, solution.region.normal, atol=1e-6 * np.abs(normal).max())
    assert abs(machine.intercept_[0]) < 1e-7


# -- faults that users of such libraries reported --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "features",
    [
        gaussian(TWO),
        LinearFeatures(np.ones((5, 2))),
        LinearFeatures([[1.0, 2.0]]),
        LinearFeatures(np.repeat([[1.0], [2.0]], [9, 1], axis=0)),
    ],
    ids=["two", "ones", "single", "nine and one"],
)
def test_b01_points_on_the_margin_are_no_outliers(features):
    for solution in [*routes(features, 0.5), cn.one_class_svm(features, 0.5, form="primal").solve()]:
        assert solution.region.contains(features.training).all()
        if "alpha" in solution.values:
            assert (solution.values["alpha"] > 1e-7).mean() >= 0.5


def test_b01_nine_ordinary_points():
    features = LinearFeatures(np.repeat([[1.0], [2.0]], [9, 1], axis=0))
    for solution in routes(features, 0.5):
        assert solution.region.normal == pytest.approx([1.0], abs=1e-8)
        assert solution.region.offset == pytest.approx(1.0, abs=1e-8)


def test_b03_the_offset_is_an_interval_when_nu_n_is_whole():
    for solution in routes(LinearFeatures(LINE4), 0.5):
        assert (solution.offset.lower, solution.offset.upper) == pytest.approx((3.0, 4.5), abs=1e-7)
        assert solution.offset.end == "lower"
        assert (~solution.region.contains(LINE4)).sum() == 1
        assert (LINE4 @ solution.region.normal < solution.offset.upper - 1e-6).sum() == 2
    primal = cn.one_class_svm(LinearFeatures(LINE4), 0.5, form="primal").solve()
    assert primal.objective == pytest.approx(-1.125, abs=1e-8)
    assert primal.offset.lower - 1e-6 <= primal.values["rho"] <= primal.offset.upper + 1e-6


def test_b03_one_more_row_makes_it_unique():
    for solution in routes(LinearFeatures(LINE5), 0.5):
        assert solution.values["alpha"] == pytest.approx([0.4, 0.4, 0.2, 0.0, 0.0], abs=1e-6)
        assert solution.region.normal == pytest.approx([1.8], abs=1e-7)
        assert solution.offset.end == "unique"
        assert solution.offset.used == pytest.approx(5.4, abs=1e-6)


def test_b04_the_decision_function_can_be_rebuilt():
    features, Z = gaussian(TWO), np.array([[0.2], [5.0]])
    reference = OneClassSVM(kernel="rbf", gamma=1.0, nu=0.5, tol=1e-9).fit(TWO).decision_function(Z) / (0.5 * 2)
    for solution in routes(features, 0.5):
        found = solution.region.decision_values(features.coordinates(Z))
        rebuilt = features.cross_gram(Z) @ solution.values["alpha"] - solution.offset.used
        assert found == pytest.approx([0.0655127, -0.75], abs=1e-7)
        assert found == pytest.approx(rebuilt, abs=1e-12)
        assert found == pytest.approx(reference, abs=1e-7)


def test_b05_a_limit_is_an_error_with_the_gap_and_never_a_solution():
    features = LinearFeatures(LINE4)
    with pytest.raises(SolverError, match="gap is"):
        smo(features.gram, upper=0.5, max_iterations=1, start=[0.0, 0.0, 0.5, 0.5], tolerance=1e-14)
    for form in ("primal", "dual"):
        with pytest.raises(SolverError):
            cn.one_class_svm(features, 0.5, form=form).solve(max_iter=1)
    assert cn.one_class_svm(features, 0.5, form="primal").solve(max_iter=1000).objective == pytest.approx(-9 / 8)
    assert cn.one_class_svm(features, 0.5).solve(max_iter=1000).objective == pytest.approx(9 / 8)


def test_b06_the_automatic_width_follows_the_units():
    X, Z = np.arange(6.0).reshape(3, 2), np.array([[1.0, 1.0], [9.0, 2.0]])
    values = []
    for unit, gamma in ((1.0, 6 / 35), (10.0, 6 / 3500)):
        features = KernelFeatures(unit * X, kernels.gaussian(gamma="scale"))
        assert features.kernel.parameters["gamma"] == pytest.approx(gamma, rel=1e-12)
        solution = cn.one_class_svm(features, 0.5).solve()
        values.append(solution.region.decision_values(features.coordinates(unit * Z)))
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_b06_a_constant_column_does_not_ruin_the_width():
    column = np.arange(4.0)[:, None]
    both = np.c_[column, np.full(4, 1e6)]
    far = np.array([[1000.0, 1e6]])
    features = KernelFeatures(both, kernels.gaussian(gamma="scale"))
    solution = cn.one_class_svm(features, 0.5).solve()
    assert solution.region.decision_values(features.coordinates(far))[0] == pytest.approx(-solution.offset.used)


def test_b08_weights_are_repeated_rows():
    weighted, repeated = LinearFeatures([[1.0], [3.0]]), LinearFeatures([[1.0], [1.0], [3.0]])
    for one, other in zip(routes(weighted, 2 / 3, [2, 1]), routes(repeated, 2 / 3), strict=True):
        for solution in (one, other):
            assert solution.objective == pytest.approx(0.5, abs=1e-8)
            assert solution.region.normal == pytest.approx([1.0], abs=1e-8)
        assert one.region.offset == pytest.approx(other.region.offset, abs=1e-7)


@pytest.mark.parametrize("nu", [0.11, 0.3, 0.77, 1.0])
def test_b08_whole_kind_integer_weights(nu, rng):
    X, weights = cloud(25), rng.integers(0, 4, size=25)
    many = np.repeat(X, weights, axis=0)
    Z = cloud(20, seed=3) * 1.4
    one, other = gaussian(X, 0.1), gaussian(many, 0.1)
    for form in ("primal", "dual"):
        a = cn.one_class_svm(one, nu, form=form, weights=weights).solve()
        b = cn.one_class_svm(other, nu, form=form).solve()
        assert a.objective == pytest.approx(b.objective, rel=1e-7)
        assert a.region.decision_values(one.coordinates(Z)) == pytest.approx(
            b.region.decision_values(other.coordinates(Z)), abs=1e-6
        )


def test_b08_a_weight_of_zero_is_as_good_as_no_row():
    with_row = LinearFeatures(np.vstack([LINE4, [[100.0]]]))
    for solution in routes(with_row, 0.5, [1, 1, 1, 1, 0]):
        assert solution.objective == pytest.approx(1.125, rel=1e-6)
        assert solution.values["alpha"][4] == pytest.approx(0.0, abs=1e-9)
        assert (solution.offset.lower, solution.offset.upper) == pytest.approx((3.0, 4.5), rel=1e-6)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -1, 1, 1], r"weights: -1 was found at position 1"),
        ([0, 0, 0, 0], "all of them are 0"),
        ([1, np.nan, 1, 1], "weights: nan was found at position 1"),
        ([1, 1, 1], "length 3 was found where 4 is needed"),
        (np.ones((4, 4)), r"weights: shape \(4, 4\)"),
        ("abcd", "weights"),
    ],
)
def test_b08_bad_weights(weights, words):
    with pytest.raises(InputError, match=words):
        cn.one_class_svm(LinearFeatures(LINE4), 0.5, weights=weights)


def test_b09_far_points_saturate_and_equal_points_have_equal_finite_scores():
    features = gaussian(TWO)
    solution = cn.one_class_svm(features, 0.5).solve()
    far = solution.region.decision_values(features.coordinates([[1e3], [1e6]]))
    assert far == pytest.approx([-0.75, -0.75], abs=1e-9)
    assert far[0] == far[1]
    same = cn.one_class_svm(LinearFeatures(np.ones((5, 2))), 0.5).solve().region.decision_values(np.ones((5, 2)))
    assert np.isfinite(same).all()
    assert np.ptp(same) == 0


def test_b11_copies_of_a_point():
    features = gaussian(np.array([[0.0], [0.0], [1.0]]))
    assert features.dimension == 2
    for solution in routes(features, 1 / 3):
        assert solution.objective == pytest.approx((1 + np.exp(-1)) / 4, abs=1e-9)
        assert solution.offset.used == pytest.approx((1 + np.exp(-1)) / 2, abs=1e-7)
        # How the multiplier is split between the copies is free: K alpha is not.
        assert features.gram @ solution.values["alpha"] == pytest.approx([(1 + np.exp(-1)) / 2] * 3, abs=1e-7)


def test_b12_bytes_do_not_wrap_around():
    X = np.array([[200], [100]], dtype=np.uint8)
    solution = cn.one_class_svm(LinearFeatures(X), 0.4).solve()
    assert solution.objective == pytest.approx(100.0**2 / 2, rel=1e-8)


@pytest.mark.parametrize("nu", [1.5, 0, 0.0, -0.1, float("nan"), float("inf"), "0.5", None, True, [0.1]])
def test_b15_an_impossible_nu_is_refused_before_any_solver(nu, monkeypatch):
    monkeypatch.setattr(cp.Problem, "get_problem_data", lambda *a, **k: pytest.fail("a solver was asked"))
    for form in ("primal", "dual"):
        with pytest.raises(InputError, match="outlier_fraction"):
            cn.one_class_svm(LinearFeatures(LINE4), nu, form=form)
    with pytest.raises(InputError, match="outlier_fraction"):
        module.sequential(LinearFeatures(LINE4), nu)


@pytest.mark.parametrize("s", [1e-8, 1e-6, 1e-4, 1.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_b22_units(s, solver):
    features = LinearFeatures(s * LINE4)
    tight = {"abs": 1e-7} if solver == "CLARABEL" else {"abs": 1e-4}
    dual = cn.one_class_svm(features, 0.5).solve(solver)
    assert dual.values["alpha"] == pytest.approx([0.5, 0.5, 0.0, 0.0], **tight)
    assert dual.objective / s**2 == pytest.approx(1.125, **tight)
    primal = cn.one_class_svm(features, 0.5, form="primal").solve(solver)
    assert primal.objective / s**2 == pytest.approx(-1.125, **tight)
    for solution in (dual, primal, module.sequential(features, 0.5)):
        assert solution.offset.lower / s**2 == pytest.approx(3.0, abs=1e-3)
        assert solution.offset.upper / s**2 == pytest.approx(4.5, abs=1e-3)
    assert primal.values["rho"] / s**2 == pytest.approx(3.75, abs=0.751)


@pytest.mark.parametrize("s", [1e-8, 1e8])
def test_b22_whole_kind_kernels(s):
    X, Z = cloud(30), cloud(20, seed=2) * 1.3
    one, other = gaussian(X, 0.2), gaussian(s * X, 0.2 / s**2)
    a, b = cn.one_class_svm(one, 0.17).solve(), cn.one_class_svm(other, 0.17).solve()
    assert a.objective == pytest.approx(b.objective, rel=1e-9)
    assert a.region.decision_values(one.coordinates(Z)) == pytest.approx(
        b.region.decision_values(other.coordinates(s * Z)), abs=1e-8
    )


def test_b24_a_point_that_is_not_optimal_never_passes():
    for form in ("primal", "dual"):
        with pytest.raises(SolverError, match="SCS"):
            cn.one_class_svm(LinearFeatures(LINE4), 0.5, form=form).solve("SCS", max_iters=5)


@pytest.mark.parametrize(
    ("gram", "nu", "value"),
    [
        (np.outer(np.arange(1, 6) / 10, np.arange(1, 6) / 10), 0.2, 0.005),
        (np.outer(np.arange(1, 6) / 10, np.arange(1, 6) / 10), 0.05, 0.005),
        (np.eye(200), 0.5, 0.0025),
        (1e-6 * np.eye(500), 0.1, 1e-9),
    ],
    ids=["rank one", "rank one, hard", "identity", "small identity"],
)
def test_b25_rounding_is_not_indefiniteness(gram, nu, value):
    features = KernelFeatures(gram, kernels.precomputed())
    for solution in (cn.one_class_svm(features, nu).solve(), module.sequential(features, nu)):
        assert solution.objective == pytest.approx(value, rel=1e-7)


def test_b26_an_indefinite_matrix_is_refused_with_its_eigenvalue():
    with pytest.raises(IndefiniteError, match="-1"):
        KernelFeatures(np.array([[1.0, 2.0], [2.0, 1.0]]), kernels.precomputed())
    with pytest.raises(IndefiniteError) as raised:
        smo(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert raised.value.eigenvalue == pytest.approx(-1.0)


def test_b29_two_hundred_thousand_rows_need_no_gram_matrix():
    features = LinearFeatures(np.linspace(1, 2, 200_000)[:, None])
    solution = module.hard_margin(features, 1e-6).solve()
    assert "gram" not in vars(features)
    assert solution.region.normal == pytest.approx([1.0], abs=1e-6)
    assert solution.region.offset == pytest.approx(1.0, abs=1e-6)
    assert solution.objective == pytest.approx(-0.5, abs=1e-6)


def test_b30_column_vectors_are_ravelled_and_matrices_refused():
    features, weights = LinearFeatures(LINE4), np.array([2.0, 1.0, 1.0, 3.0])
    flat = cn.one_class_svm(features, 0.4, weights=weights).solve().objective
    assert cn.one_class_svm(features, 0.4, weights=weights[:, None]).solve().objective == flat
    assert cn.one_class_svm(features, 0.4, weights=weights[None, :]).solve().objective == flat
    with pytest.raises(InputError, match=r"shape \(4,\) was found"):
        LinearFeatures(np.arange(1.0, 5.0))


def test_b31_the_offset_is_plus_three_quarters_however_it_is_written():
    features = gaussian(TWO)
    for solution in [*routes(features, 0.5), cn.one_class_svm(features, 0.5, form="primal").solve()]:
        assert solution.offset.used == pytest.approx(0.75, abs=1e-7)
    assert smo(features.gram, upper=1.0).offset.used == pytest.approx(0.75, abs=1e-9)
    # By its meaning: the derivative of the optimum in the right-hand side of sum alpha = 1.
    h = 1e-4
    ends = [smo(features.gram, d=1 + sign * h, upper=1.0).objective for sign in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(0.75, abs=1e-7)
    # What the modelling layer returns for the same three statements has the other sign in all of them.
    alpha = cp.Variable(2, nonneg=True)
    form = cp.quad_form(alpha, cp.psd_wrap(features.gram)) / 2
    for objective, tie in (
        (cp.Minimize(form), cp.sum(alpha) == 1),
        (cp.Maximize(-form), cp.sum(alpha) == 1),
        (cp.Minimize(form), 1 == cp.sum(alpha)),
    ):
        problem = cp.Problem(objective, [alpha <= 1, tie])
        problem.solve(solver="CLARABEL")
        assert abs(tie.dual_value) == pytest.approx(0.75, abs=1e-6)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_b32_data_that_are_not_finite_are_named(value, word):
    X = np.ones((3, 2))
    X[1, 0] = value
    for make in (LinearFeatures, gaussian):
        with pytest.raises(ValueError, match=rf"X: {word} was found at row 1, column 0"):
            make(X)
    features = LinearFeatures(LINE4)
    # No upper bound at all is the hard margin; a bound that is not a number is refused.
    assert smo(features.gram, upper=np.inf).objective == pytest.approx(0.5, rel=1e-9)
    with pytest.raises(InputError, match="upper"):
        smo(features.gram, upper=np.nan)
    with pytest.raises(InputError, match="tolerance"):
        smo(features.gram, tolerance=np.nan)


FRESH = """
import pickle, sys
import cvxpy as cp
formulation = pickle.loads(sys.stdin.buffer.read())
v = cp.Variable(3)
print(formulation.solve().objective, formulation.plus(cp.sum_squares(v - 5)).solve().objective)
"""


@pytest.mark.parametrize("solved", [False, True])
def test_b33_a_formulation_travels_to_a_fresh_process(solved):
    formulation = cn.one_class_svm(LinearFeatures(LINE4), 0.9).set(outlier_fraction=0.5)
    if solved:
        formulation.solve()
    done = subprocess.run(
        [sys.executable, "-c", FRESH], input=pickle.dumps(formulation), capture_output=True, check=True
    )
    first, second = (float(word) for word in done.stdout.split())
    assert first == pytest.approx(1.125, abs=1e-7)
    assert second == pytest.approx(1.125, abs=1e-6)
    again = copy.deepcopy(formulation)
    assert again.parameters == {"outlier_fraction": 0.5}
    assert again.solve().objective == formulation.solve().objective


def test_b34_what_is_printed_has_the_value_of_what_is_meant():
    a, b = cp.Variable(name="a"), cp.Variable(name="b")
    for expression, value in ((-(a - b), -2.0), (2 * (a + b), 16.0), ((a - b) * 3, 6.0), (a - (b - 2 * a), 12.0)):
        assert eval(str(expression), {"a": 5.0, "b": 3.0}) == value
    text = repr(cn.one_class_svm(LinearFeatures(LINE4), 0.5))
    assert "QP" in text
    assert "equations 8.13 to 8.15" in text
    assert "outlier_fraction = 0.5" in text


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
def test_b35_the_same_problem_gives_the_same_digits(solver):
    features = gaussian(np.arange(6.0)[:, None], 0.5)
    formulation = cn.one_class_svm(features, 0.5)
    digits = {formulation.solve(solver).objective for _ in range(3)}
    digits.add(cn.one_class_svm(features, 0.5).solve(solver).objective)
    assert len(digits) == 1
    alphas = {tuple(module.sequential_schoelkopf(features, 0.5).values["alpha"]) for _ in range(3)}
    assert len(alphas) == 1


def test_b51_every_parameter_counts_and_scores_have_one_sign():
    features = LinearFeatures(LINE4)
    assert cn.one_class_svm(features, 0.5).solve().objective == pytest.approx(1.125, rel=1e-7)
    assert cn.one_class_svm(features, 1.0).solve().objective == pytest.approx(3.125, rel=1e-7)
    solution = cn.one_class_svm(gaussian(TWO), 0.5).solve()
    Z = gaussian(TWO).coordinates(np.linspace(-1, 2, 13)[:, None])
    values = solution.region.decision_values(Z)
    assert (solution.region.contains(Z) == (values >= -1e-7)).all()
    level = solution.region.level
    assert values + level == pytest.approx(np.asarray(Z) @ solution.region.normal, abs=1e-12)
    assert solution.region.decision_values(gaussian(TWO).training) == pytest.approx([0.0, 0.0], abs=1e-8)


# -- theory ----------------------------------------------------------------------------------------------------------------


def test_a_check_holds_every_solution_to_proposition_8_3():
    report = cn.check(cn.one_class_svm(LinearFeatures(cloud(12)), 0.3))
    for claim in ("outliers are at most the fraction nu", "support vectors are at least the fraction nu"):
        found = {row.source: row.verdict for row in report.rows if row.claim == claim}
        assert found.keys() >= {"dual", "smo", "smo_schoelkopf", "libsvm"}
        assert set(found.values()) == {"pass"}


def test_nu_property_is_tight_asymptotically():
    """Proposition 8.3 (iii): for a density and an analytic kernel both fractions tend to nu."""
    rng, nu = np.random.default_rng(5), 0.2
    gaps = []
    for n in (60, 900):
        features = gaussian(rng.standard_normal((n, 2)), 0.05)
        solution = module.sequential(features, nu)
        out = float((~solution.region.contains(features.training)).mean())
        support = float((solution.values["alpha"] > 0).mean())
        assert out <= nu <= support
        gaps.append(support - out)
    assert gaps[1] < 0.02
    assert gaps[1] < gaps[0]


def test_guarantee_counts_what_it_says(rng):
    features = gaussian(cloud(47), 0.3)
    for nu in (0.05, 0.3, 0.8):
        solution = cn.one_class_svm(features, nu).solve()
        out = int((~solution.region.contains(features.training)).sum())
        assert str(solution.guarantee).startswith(f"{out} of 47 training points lie outside")
        assert solution.guarantee.bound == nu
        assert out <= nu * 47


def test_no_margin_is_said_in_the_guarantee():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    solution = cn.one_class_svm(LinearFeatures(X), 0.5).solve()
    assert "nothing is separated" in solution.guarantee
    assert solution.region.contains(X).all()


def test_resistance_and_the_range_of_movement():
    """Proposition 8.4: the hyperplane stays for delta < xi / |w|^2. The print has xi / |w|, which is too far for |w| > 1."""
    X, nu = 10.0 * np.array([[1.0, 1.0], [1.2, 0.9], [0.9, 1.3], [1.1, 1.4], [0.3, 0.35]]), 0.3
    before = module.sequential(LinearFeatures(X), nu)
    w, rho = before.region.normal, before.offset.used
    slack = rho - X[4] @ w
    length = float(np.linalg.norm(w))
    assert slack > 0
    assert length > 1

    def direction(delta):
        moved = X.copy()
        moved[4] += delta * w
        after = module.sequential(LinearFeatures(moved), nu).region.normal
        return float(after @ w / np.linalg.norm(after) / length)

    for share in (0.9, -0.5, 0.3):
        assert direction(share * slack / length**2) == pytest.approx(1.0, abs=1e-9)
    printed = 0.9 * slack / length
    assert printed > slack / length**2
    assert direction(printed) < 1 - 1e-4


def test_pair_step_and_the_objective_before_it():
    """Equation 8.26 is right; the objective printed above 8.24 lacks a factor of two before c_i - c_j."""
    rng = np.random.default_rng(2)
    B = rng.standard_normal((5, 4))
    K, alpha = B @ B.T, rng.random(5)
    alpha /= alpha.sum()
    i, j = 1, 3
    f, chi = K @ alpha, K[1, 1] + K[3, 3] - 2 * K[1, 3]
    step = alpha[i] + (f[j] - f[i]) / chi
    gamma = alpha[i] + alpha[j]
    grid = np.linspace(step - 1, step + 1, 20001)
    others = np.delete(np.arange(5), [i, j])
    c = K[:, others] @ alpha[others]

    def whole(a):
        b = alpha.copy()
        b[i], b[j] = a, gamma - a
        return 0.5 * b @ K @ b

    true = np.array([whole(a) for a in grid[::100]])
    assert grid[::100][true.argmin()] == pytest.approx(step, abs=0.01)
    printed = grid**2 * chi + grid * (c[i] - c[j] + 2 * gamma * (K[i, j] - K[j, j]))
    corrected = grid**2 * chi + grid * (2 * (c[i] - c[j]) + 2 * gamma * (K[i, j] - K[j, j]))
    assert grid[corrected.argmin()] == pytest.approx(step, abs=1e-3)
    assert abs(grid[printed.argmin()] - step) > 0.01


# -- invariances, paths, doors ---------------------------------------------------------------------------------------------


def test_order_rotation_and_repetition_change_nothing(rng):
    X, Z = cloud(30), cloud(15, seed=4) * 1.3
    order = rng.permutation(30)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for make in (LinearFeatures, lambda X: gaussian(X, 0.15)):
        base = make(X)
        expected = cn.one_class_svm(base, 0.22).solve().region.decision_values(base.coordinates(Z))
        scale = np.abs(expected).max()
        for other, probe in ((make(X[order]), Z), (make(X @ turn), Z @ turn), (make(np.vstack([X, X])), Z)):
            found = cn.one_class_svm(other, 0.22).solve().region.decision_values(other.coordinates(probe))
            assert found == pytest.approx(expected, abs=1e-6 * scale)


def test_one_compilation_serves_a_path():
    features = gaussian(cloud(30), 0.2)
    for form in ("primal", "dual"):
        formulation = cn.one_class_svm(features, 0.5, form=form)
        solutions = formulation.path(outlier_fraction=[0.5, 0.31, 0.12, 0.02])
        assert formulation.compilations == 1
        assert formulation.problem.is_dpp()
        for nu, solution in zip((0.5, 0.31, 0.12, 0.02), solutions, strict=True):
            assert solution.objective == pytest.approx(cn.one_class_svm(features, nu, form=form).solve().objective)
        formulation.set(outlier_fraction=0.02)
        with pytest.raises(InputError, match="outlier_fraction"):
            formulation.set(outlier_fraction=1.2)
        assert formulation.parameters["outlier_fraction"] == 0.02


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4], [2, 2]],
        np.array([[True, False], [True, True]]),
        np.array([[1.0, 2.0]]),
        np.array([[1.0], [2.0], [5.0]]),
        np.full((4, 3), 7.0),
        np.c_[np.arange(1.0, 5.0), np.full(4, 3.0), 2 * np.arange(1.0, 5.0)],
        np.random.default_rng(0).standard_normal((3, 9)) + 3,
        np.zeros((3, 2)),
    ],
    ids=["integers", "booleans", "one row", "one column", "equal rows", "collinear", "wide", "zeros"],
)
def test_unusual_data_have_the_value_of_smo(X):
    features = LinearFeatures(X)
    before = np.array(X, copy=True)
    for nu in (0.3, 1.0):
        expected = module.sequential(features, nu).objective
        for form, sign in (("dual", 1), ("primal", -1)):
            found = cn.one_class_svm(features, nu, form=form).solve()
            assert sign * found.objective == pytest.approx(expected, rel=1e-6, abs=1e-9 * features.unit**2)
            assert np.isfinite(found.region.decision_values(features.training)).all()
    assert (np.asarray(X) == before).all()


@pytest.mark.parametrize("nu", [1e-3, 1e-9, 1e-12, 1e-300])
def test_below_one_nth_the_outlier_fraction_does_not_count(nu):
    features = LinearFeatures(cloud(30))
    expected = cn.hard_margin(features).solve().objective
    for form, sign in (("dual", 1), ("primal", -1)):
        formulation = cn.one_class_svm(features, 0.5, form=form)
        value = sign * formulation.set(outlier_fraction=nu).solve().objective
        assert 1 / (4 * value) == pytest.approx(expected, rel=1e-7)
        assert formulation.compilations == 1


def test_a_read_only_sample_is_left_alone():
    X = cloud(10)
    X.setflags(write=False)
    cn.one_class_svm(gaussian(X), 0.3).solve()


def test_a_basis_cut_short_is_one_problem_for_all_routes():
    features = KernelFeatures(cloud(60), kernels.gaussian(gamma=0.1), rank=8)
    values = [solution.objective for solution in routes(features, 0.2)]
    values.append(-cn.one_class_svm(features, 0.2, form="primal").solve().objective)
    assert values == pytest.approx([values[0]] * 4, rel=1e-7)


def test_a_wrong_form_is_named():
    with pytest.raises(InputError, match="form: 'both' was found"):
        cn.one_class_svm(LinearFeatures(LINE4), 0.5, form="both")


def test_further_constraints_and_terms():
    features = LinearFeatures(LINE4)
    held = cn.one_class_svm(features, 0.5).subject_to(lambda v: v["alpha"][0] <= 0.25).solve()
    assert held.values["alpha"] == pytest.approx([0.25, 0.5, 0.25, 0.0], abs=1e-6)
    priced = cn.one_class_svm(features, 0.5).plus(lambda v: 100 * v["alpha"][0]).solve()
    assert priced.values["alpha"] == pytest.approx([0.0, 0.5, 0.5, 0.0], abs=1e-6)
