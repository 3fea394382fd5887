"""Further constraints and terms: regions and guarantees of points that are no optimum of the paper's own problem.

Nothing here is read off the package's readings: points are counted with the values of the variables, and bounds are
computed anew from the normal, the offset and the moments.
"""

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import KernelFeatures, LinearFeatures, Moments, kernels
from convexnovelty.as_meant import as_meant
from convexnovelty.errors import InfeasibleError, InputError, SolveError
from convexnovelty.uncertainty import CovarianceSet, FrobeniusBall, NormBall

X = np.random.default_rng(3).normal([4.0, 3.0], size=(20, 2))
Y = np.repeat([1.0, -1.0], [15, 5])
LINEAR = LinearFeatures(X)
GAUSSIAN = KernelFeatures(X, kernels.gaussian(width=2.0))
BOTH = LinearFeatures(np.vstack([X, X - 5.0]))
OTHERS = np.arange(40) >= 20
WEIGHTS = np.linspace(0.5, 2.0, 20)
NEAR, FAR = Moments.estimate(X), Moments.estimate(-X)

# Per case: the formulation, what binds it, the points and what each has to hold against the value rho.
SCORES = {
    "one_class_svm": (cn.one_class_svm(LINEAR, 0.3, form="primal"), "rho", lambda v: X @ v["w"]),
    "weights": (cn.one_class_svm(LINEAR, 0.3, form="primal", weights=WEIGHTS), "rho", lambda v: X @ v["w"]),
    "kernel": (cn.one_class_svm(GAUSSIAN, 0.3, form="primal"), "rho", lambda v: np.asarray(GAUSSIAN.training) @ v["w"]),
    "hard one_class_svm": (cn.methods.one_class_svm.hard_margin(LINEAR), "rho", lambda v: X @ v["w"]),
    "negative_data": (
        cn.negative_data(LinearFeatures(Y[:, None] * X), Y, 0.3, form="primal"),
        "rho",
        lambda v: X @ v["w"],
    ),
    "separation_from_mean": (
        cn.separation_from_mean(BOTH, 0.3, OTHERS, form="primal"),
        "rho",
        lambda v: (X - (X - 5.0).mean(axis=0)) @ v["w"],
    ),
    "mahalanobis_svm": (cn.mahalanobis_svm(LINEAR, 0.3, FrobeniusBall(0.1)), "rho", lambda v: X @ v["w"]),
    "metric_primal": (
        cn.methods.mahalanobis_svm.metric_primal(LINEAR, 0.3, FrobeniusBall(0.1)),
        "rho",
        lambda v: X @ v["w"],
    ),
    "derived mahalanobis": (
        cn.methods.mahalanobis_svm.derived_counterpart(LINEAR, 0.3, FrobeniusBall(0.1)),
        "rho",
        lambda v: X @ v["w"],
    ),
    "kernel_learning": (cn.kernel_learning([GAUSSIAN.gram, LINEAR.gram], 0.3, 1.0), "rho", lambda v: v["s"]),
}


def lower(formulation, name, factor):
    """The formulation with the variable below a part of its optimum, and with a term that pulls it down."""
    optimum = formulation.solve().values[name]
    return (
        formulation.subject_to(lambda v: v[name] <= factor * optimum).solve(),
        formulation.plus(lambda v: 0.5 * v[name]).solve(),
    )


@pytest.mark.parametrize("case", SCORES)
def test_a_half_space_has_the_offset_of_the_solution_and_its_points_are_counted(case):
    formulation, name, scored = SCORES[case]
    free = formulation.solve()
    for solution in lower(formulation, name, 0.4):
        rho, scores = solution.values["rho"], scored(solution.values)
        missed = scores < rho - 1e-6 * np.ptp(scores)
        shares = WEIGHTS / WEIGHTS.sum() if case == "weights" else np.full(20, 0.05)
        assert rho < free.values["rho"]
        shift = 0.0 if case != "separation_from_mean" else (X - 5.0).mean(axis=0) @ solution.values["w"]
        assert solution.region.offset == pytest.approx(rho + shift, rel=1e-9)
        assert solution.offset is None
        assert solution.guarantee.bound == pytest.approx(shares[missed].sum(), abs=1e-9)
        assert "at most" not in solution.guarantee and "proposition" not in solution.guarantee
        if "mahalanobis" in case or case == "metric_primal":
            w = solution.values["w"]
            distance = rho / np.sqrt(w @ (Moments.estimate(X).covariance + 0.1 * np.eye(2)) @ w)
            said = float(solution.guarantee.split("at least ")[1].split()[0])
            assert said <= distance * (1 + 1e-5), "at least so many deviations"
            assert said >= distance * (1 - 1e-3) or case == "derived mahalanobis"


@pytest.mark.parametrize("features", [LINEAR, GAUSSIAN], ids=["linear", "gaussian"])
def test_a_ball_has_the_radius_of_the_solution(features):
    for formulation, name, power in (
        (cn.soft_ball(features, 0.3, form="primal"), "R2", 1),
        (cn.methods.soft_ball.hard_ball(features), "R", 2),
    ):
        low = formulation.solve().values[name]
        bound = (lambda v: v["R2"] <= 0.3 * low) if power == 1 else (lambda v: v["R"] >= 1.5 * low)  # noqa: B023
        solution = formulation.subject_to(bound).solve()
        c, squared = solution.values["c"], solution.values[name] ** power
        inside = features.squared_norms() - 2 * np.asarray(features.training) @ c + c @ c <= squared * (1 + 1e-6)
        assert solution.region.squared_radius == pytest.approx(squared, rel=1e-9)
        assert solution.region.contains(features.training, features.squared_norms()).tolist() == inside.tolist()
        assert solution.guarantee == f"{20 - inside.sum()} of 20 training points lie outside"
        assert solution.guarantee.bound == pytest.approx(1 - inside.mean())
    assert 0 < inside.mean() or power == 2


def test_no_farther_plane_is_denied_where_there_is_one():
    for node in (cn.methods.hard_margin.primal, cn.methods.hard_margin.reflection):
        formulation = node(LINEAR)
        solution = formulation.subject_to(lambda v: v["w"][0] <= 0.05).solve()
        w = solution.values["w"]
        assert (X @ w >= 1 - 1e-6).all() and solution.region.contains(X).all()
        said = f"all 20 training points lie beyond a hyperplane at the distance {1 / np.linalg.norm(w):.6g} from"
        assert solution.guarantee == f"{said} the origin"
        assert "none that is farther" in formulation.solve().guarantee


@pytest.mark.parametrize("t", [0.0, 3.0])
def test_points_that_can_be_moved_outside_are_no_more_than_said(t):
    solution = cn.uncertain_points(LINEAR, 0.3, NormBall(2, 0.3)).subject_to(lambda v: v["t"] >= t).solve()
    w, rho = solution.values["w"], solution.values["rho"]
    movable = (X @ w - 0.3 * np.linalg.norm(w) < rho - 1e-6).sum()
    assert solution.region.offset == pytest.approx(rho)
    said = int(solution.guarantee.removeprefix("at most ").split()[0])
    assert movable <= said and (t > 0 or movable == said)


def test_a_codebook_is_that_of_the_weights_and_is_not_called_smallest():
    formulation = cn.vector_quantization(X, 1.0)
    free = formulation.solve()
    kept = int(np.argmin(free.values["a"]))
    solution = formulation.subject_to(lambda v: [v["a"][kept] >= 1, cp.sum(v["a"]) >= 12]).solve()
    assert kept in solution.region.rows
    assert set(solution.region.rows) == set(np.flatnonzero(solution.values["a"] > 1e-6))
    near = np.linalg.norm(X[:, None] - solution.region.vectors[None], axis=2).min(axis=1) <= 1.0 + 1e-9
    assert solution.guarantee.startswith(f"{near.sum()} of 20") and "fewer" not in solution.guarantee
    assert "fewer" in free.guarantee


def deviation(moments, a, radius):
    return float(np.sqrt(a @ moments.covariance @ a + radius * a @ a))


@pytest.mark.parametrize("change", ["subject_to", "plus", "loose"])
def test_bounds_on_probabilities_hold_for_the_region_that_is_given(change):
    def made(formulation, name):
        if change == "plus":
            return formulation.plus(lambda v: 0.3 * cp.norm1(v[name])).solve()
        first = formulation.solve().values
        if change == "loose" and "u" in first:
            return formulation.subject_to(lambda v: v["u"] >= 2 * np.max(first["u"])).solve()
        return formulation.subject_to(lambda v: v[name][0] <= 0.5 * first[name][0]).solve()

    ball = FrobeniusBall(0.1)
    single = made(cn.single_class_mpm(NEAR, 0.6, ball), "a")
    a, b = single.region.normal, single.region.offset
    kappa = (a @ NEAR.mean - b) / deviation(NEAR, a, 0.1)
    assert 1 / (1 + kappa**2) <= single.guarantee.bound * (1 + 1e-6) and single.guarantee.bound == pytest.approx(0.4)

    two = made(cn.two_class_mpm(NEAR, FAR, ball), "a")
    a, b = two.region.normal, two.region.offset
    kappas = ((a @ NEAR.mean - b) / deviation(NEAR, a, 0.1), (b - a @ FAR.mean) / deviation(FAR, a, 0.1))
    assert 1 / (1 + min(kappas) ** 2) <= two.guarantee.bound * (1 + 1e-6)

    for penalty in (None, 0.3):
        moments = made(cn.moment_classifier(X, FAR, penalty, ball), "w")
        w, b = moments.region.normal, moments.region.offset
        kappa = (b - w @ FAR.mean) / deviation(FAR, w, 0.1)
        assert 1 / (1 + kappa**2) == pytest.approx(moments.guarantee.bound, rel=1e-5)
        rejected = int((X @ w < b - 1e-6).sum())
        assert (f"{rejected} of 20" in moments.guarantee) == (rejected > 0)


def test_a_mixture_of_classifiers_bounds_from_below_and_a_raised_share_says_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400), np.concatenate([rng.normal(size=200), rng.normal(4.0, 1.0, 200)])
    problem = cn.novelty_proportion(*scores, confidence=0.9).formulation
    best = problem.solve()
    held = problem.subject_to(lambda v: v["y"][int(np.argmax(best.values["y"]))] == 0).solve()
    assert 0 < held.guarantee.bound == pytest.approx(held.objective) and held.guarantee.bound <= best.guarantee.bound
    arguments = problem.recipe.arguments
    raised = cn.methods.novelty_proportion.smallest_proportion(**arguments).subject_to(lambda v: v["pi"] >= 0.9).solve()
    assert raised.objective == pytest.approx(0.9) and raised.guarantee is None and raised.region is None


@pytest.mark.parametrize(
    "formulation",
    [
        cn.one_class_svm(LINEAR, 0.3),
        cn.soft_ball(LINEAR, 0.3),
        cn.hard_margin(LINEAR, form="dual"),
        cn.mahalanobis_svm(LINEAR, 0.3, FrobeniusBall(0.1), form="dual"),
        cn.class_recognisers(LINEAR, Y, 0.3),
        cn.methods.artificial_negatives.dual(LINEAR, Y, 1.0),
    ],
    ids=lambda formulation: formulation.name,
)
def test_multipliers_give_no_offset(formulation):
    solution = (
        formulation.plus(lambda v: 0.01 * v["alpha"][0] * formulation.objective_unit).solve()
        if (isinstance(formulation.problem.objective, cp.Minimize))
        else formulation.subject_to(lambda v: v["alpha"][0] <= 0.01).solve()
    )
    assert solution.region is None and solution.guarantee is None and solution.offset is None
    assert formulation.solve().region is not None


def test_errors_of_a_bound_machine_are_counted():
    formulation = cn.methods.artificial_negatives.primal(LINEAR, Y, 1.0)
    solution = formulation.subject_to(lambda v: v["w"][0] == 0).solve()
    wrong = (np.sign(X @ solution.values["w"] - solution.values["b"]) != Y).sum()
    assert solution.guarantee.startswith(f"{wrong} of 20 points") and solution.guarantee.bound == wrong / 20
    assert solution.region.offset == solution.values["b"]


def test_the_price_of_slacks_is_the_printed_one_beside_a_further_constraint():
    """Alone the program may pay any price above one for a multiplier's bound; not so where rho or R is held."""
    nu = 0.01  # nu n = 0.2
    ball = cn.soft_ball(LINEAR, nu, form="primal")
    held = ball.subject_to(lambda v: v["R2"] <= 0.5)
    for value in (nu, 0.02):
        c, xi = cp.Variable(2), cp.Variable(20, nonneg=True)
        inside = [cp.sum_squares(x - c) <= 0.5 + slack for x, slack in zip(X, xi, strict=True)]
        right = 0.5 + cp.Problem(cp.Minimize(cp.sum(xi) / (20 * value)), inside).solve("CLARABEL")
        assert held.set(outlier_fraction=value).solve().objective == pytest.approx(right, rel=1e-6)
    S = Moments.estimate(X).covariance
    for made, quadratic in (
        (cn.one_class_svm(LINEAR, nu, form="primal"), np.eye(2)),
        (cn.mahalanobis_svm(LINEAR, nu), S),
        (cn.methods.mahalanobis_svm.metric_primal(LINEAR, nu), S),
    ):
        rho = 3 * made.solve().values["rho"]
        w, xi = cp.Variable(2), cp.Variable(20, nonneg=True)
        cost = cp.quad_form(w, quadratic) / 2 + cp.sum(xi) / (20 * nu) - rho
        right = cp.Problem(cp.Minimize(cost), [X @ w >= rho - xi]).solve("CLARABEL")
        found = made.subject_to(lambda v: v["rho"] == rho).solve()  # noqa: B023
        assert found.objective == pytest.approx(right, rel=1e-6)


def test_a_program_whose_constants_rest_on_its_optimum_takes_nothing_more():
    problem = cn.exact_outliers(LINEAR, 1)
    with pytest.raises(InputError, match="subject_to: the constants M"):
        problem.subject_to(lambda v: v["w"][0] >= 0.01)
    with pytest.raises(InputError, match="plus: the constants M"):
        problem.plus(lambda v: v["w"][0])


def test_a_sentence_names_the_radius_of_the_solve():
    for problem in (
        cn.single_class_mpm(NEAR, 0.6, FrobeniusBall(0.1)),
        cn.mahalanobis_svm(LINEAR, 0.3, FrobeniusBall(0.1)),
    ):
        assert "radius=0.2" in problem.set(radius=0.2).solve().guarantee


def test_a_constraint_that_holds_of_every_direction_but_for_rounding_changes_nothing():
    points = np.random.default_rng(4).normal([3, 2, 4], [1, 2, 0.5], size=(40, 3))
    centred, moments = points - points.mean(axis=0), cn.Moments.estimate(points)
    for problem, name in (
        (cn.single_class_mpm(moments, 0.6), "a"),
        (cn.mahalanobis_svm(cn.LinearFeatures(points), 0.2), "w"),
        (cn.one_class_svm(cn.LinearFeatures(points), 0.2, form="primal"), "w"),
    ):
        free = problem.solve().objective
        for said in (
            lambda v, name=name: [cp.sum(centred @ v[name]) == 0],
            lambda v, name=name: cp.sum(centred @ v[name]) <= 0,
        ):
            assert problem.subject_to(said).solve().objective == pytest.approx(free, rel=1e-7)
        # One that binds in the same terms.
        bound = problem.subject_to(lambda v, name=name: [cp.sum(centred[:20] @ v[name]) == 0]).solve()
        assert bound.objective > free + 1e-4 * abs(free)
        assert abs((centred[:20] @ bound.values[name]).sum()) < 1e-6 * np.abs(centred[:20] @ bound.values[name]).sum()


# What leaves a point out, or gives two of them one weight, in words without a number.
WITHOUT_A_NUMBER = {
    "zero": lambda alpha: alpha[3] == 0,
    "at most zero": lambda alpha: alpha[3] <= 0,
    "times a number": lambda alpha: 1e6 * alpha[3] == 0,
    "equal": lambda alpha: alpha[3] == alpha[5],
    "several": lambda alpha: [alpha[[3, 4]] == 0, alpha[6:9] == alpha[9:12]],
}


@pytest.mark.parametrize("features", [LINEAR, GAUSSIAN], ids=["linear", "gaussian"])
@pytest.mark.parametrize("said", WITHOUT_A_NUMBER.values(), ids=WITHOUT_A_NUMBER)
def test_multipliers_are_bound_by_constraints_without_a_number(features, said):
    points, alpha = np.asarray(features.training), cp.Variable(20)
    hull = [alpha >= 0, alpha <= 1 / (0.3 * 20), cp.sum(alpha) == 1]
    about = points - points.mean(axis=0)
    squares = (about**2).sum(axis=1) + np.maximum(features.squared_norms() - (points**2).sum(axis=1), 0.0)
    for factory, objective in (
        (cn.one_class_svm, cp.sum_squares(points.T @ alpha) / 2),
        (cn.soft_ball, cp.sum_squares(about.T @ alpha) - squares @ alpha),
    ):
        formulation = factory(features, 0.3)
        added = said(alpha)
        right = cp.Problem(cp.Minimize(objective), hull + (added if isinstance(added, list) else [added]))
        found = formulation.subject_to(lambda v: said(v["alpha"])).solve()
        assert found.objective == pytest.approx(right.solve("CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11), rel=1e-6)
        assert found.values["alpha"] == pytest.approx(alpha.value, abs=1e-3)


VARIABLES = {
    "nonneg": {"nonneg": True},
    "nonpos": {"nonpos": True},
    "above": {"bounds": [5.0, 6.0]},
    "infinite": {"bounds": [-np.inf, -1.0]},
    "boolean": {"boolean": True},
    "integer": {"integer": True},
    "complex": {"complex": True},
    "imag": {"imag": True},
}


@pytest.mark.parametrize("kind", VARIABLES)
def test_no_sign_or_bound_of_a_variable_makes_a_constraint_rounding(kind):
    x = cp.Variable(12, **VARIABLES[kind])
    places = [(i, j) for i in range(12) for j in range(i)]
    stated = [x[i] == x[j] for i, j in places] + [x[i] == 0 for i in range(12)] + [3 * x == 1e-9 * x[::-1]]
    if not x.is_complex():
        stated += [x[i] - x[j] <= 0 for i, j in places] + [x <= 0, x[1:] >= x[:-1]]
    elif not x.is_imag():
        stated += [cp.real(x) == 0, cp.imag(x) == 0, cp.real(x[0]) == cp.imag(x[1])]
    stated.append(cp.exp(cp.Constant(-25.0)) * x[0] == 0)
    assert all(as_meant(constraint) is constraint for constraint in stated)
    rounded = as_meant(x[0] + 1e-15 * x[1] - x[0] == 0)
    assert not rounded.args[0].args[0].value.any()


@pytest.mark.parametrize("kind", ["symmetric", "PSD", "NSD", "hermitian", "diag"])
def test_matrices_are_bound_entry_by_entry(kind):
    S = cp.Variable((4, 4), **{kind: True})
    stated = [S[i, i] == 0 for i in range(4)] + [cp.trace(S) == 0, S[0, 0] == S[1, 1]]
    if kind != "diag":
        stated += [S[0, 1] == 0, S[0, 1] == S[2, 3], cp.real(S[0, 0]) <= cp.real(S[0, 1])]
    assert all(as_meant(constraint) is constraint for constraint in stated)


def test_a_large_number_beside_a_coefficient_does_not_make_it_rounding():
    x, y = cp.Variable(nonneg=True), cp.Variable()
    equal = as_meant(x + 1e17 - 1e17 == y)
    assert cp.Problem(cp.Minimize(y), [equal, x >= 2]).solve("CLARABEL") == pytest.approx(2)
    # A function of a matrix asks it to be symmetric: the entries off the diagonal are two variables.
    level = 1e14
    M = cp.bmat([[cp.Constant(level), x], [y, cp.Constant(level)]])
    for stated in (cp.lambda_max(M) <= 2 * level, cp.lambda_max(M / level) <= 2):
        assert as_meant(stated) is stated


@pytest.mark.parametrize("radius", [None, 1e-3])
def test_a_column_that_others_make_does_not_carry_constraints_away(radius):
    """Along it neither mean nor deviation change; the normal ran to 1e14, where the rounding of a[0] - a[1] meets any constraint."""
    rows = np.random.default_rng(0).normal(size=(60, 3)) @ np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 1.0]])
    points = np.column_stack([rows + np.array([3.0, 4.0, 2.0]), rows[:, 0] + rows[:, 1] + 7])
    moments, set_ = Moments.estimate(points), None if radius is None else FrobeniusBall(radius)
    factor = np.vstack([points - points.mean(axis=0), np.sqrt(60 * (radius or 0.0)) * np.eye(4)]) / np.sqrt(60)
    free = cn.single_class_mpm(moments, 0.6, set_).solve().objective
    for said in (
        lambda a: [a[0] == a[1]],
        lambda a: [a[0] - a[1] == 0.01],
        lambda a: [a[0] >= a[1] + 0.02, a[2] <= 0.05],
        lambda a: [a[3] == 0, a[0] == 0.5 * a[1]],
    ):
        a = cp.Variable(4)
        deviation = cp.norm(factor @ a)
        kept = [points.mean(axis=0) @ a - 1 >= np.sqrt(1.5) * deviation, *said(a)]
        right = cp.Problem(cp.Minimize(deviation), kept).solve("CLARABEL")
        bound = cn.single_class_mpm(moments, 0.6, set_).subject_to(lambda v: said(v["a"]))  # noqa: B023
        found = bound.solve()
        assert found.objective == pytest.approx(right, rel=1e-6) and right > free * (1 + 1e-3)
        assert all(np.abs(c.violation()).max() < 1e-8 for c in said(cp.Constant(found.values["a"])))


def test_what_is_divided_by_zero_is_refused_and_not_left_out():
    problem = cn.one_class_svm(LINEAR, 0.3, form="primal")
    for said in (lambda v: v["w"][0] / np.array(0.0) <= 1, lambda v: [v["w"] / np.array([1.0, 0.0]) <= 1]):
        with pytest.raises(InputError, match=r"constraints: .* divides by zero, .* multiply the other side instead"):
            problem.subject_to(said)
    with pytest.raises(InputError, match=r"term: .* divides by zero"):
        problem.plus(lambda v: v["w"][0] / 0)
    halved = problem.subject_to(lambda v: v["w"] / np.array([1.0, 2.0]) <= 1).solve()
    assert (halved.values["w"] <= np.array([1.0, 2.0]) + 1e-7).all()


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_truths_are_constraints(kind):
    problem = cn.one_class_svm(LINEAR, 0.3, form="primal")
    free = problem.solve().objective
    assert problem.subject_to(lambda v: kind(True)).solve().objective == pytest.approx(free, rel=1e-8)
    with pytest.raises(InfeasibleError):
        problem.subject_to(lambda v: [kind(False)]).solve()


ROWS = np.random.default_rng(0).normal(size=(60, 3)) @ np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 1.0]])
TOTAL = np.column_stack([ROWS + np.array([3.0, 4.0, 2.0]), ROWS[:, 0] + ROWS[:, 1] + 7.0])
SHIFTED = TOTAL[:25] * 0.8 - np.array([5.0, 5.0, 4.0, 10.0])
CENTRED = [(rows - rows.mean(axis=0)) / np.sqrt(len(rows)) for rows in (TOTAL, SHIFTED)]
SAID = [
    lambda w: [w[3] == 0],
    lambda w: [w[0] == 0, w[3] <= 10],
    lambda w: [w[0] == w[1]],
    lambda w: [w[3] >= 0.5 * w[2] + 0.01],
    lambda w: [cp.norm1(w) <= 5],
]


def nothing(w):
    return 0.0


def least(w, cost, kept, said):
    return cp.Problem(cp.Minimize(cost), [*kept, *said(w)]).solve("CLARABEL")


def two_classes(said, radius, term=nothing):
    a, root = cp.Variable(4), np.sqrt(radius or 0.0) * np.eye(4)
    deviations = [cp.norm(np.vstack([factor, root]) @ a) for factor in CENTRED]
    return least(a, sum(deviations) + term(a), [(TOTAL - SHIFTED.mean(axis=0)).mean(axis=0) @ a == 1], said)


def one_class(said, radius, term=nothing, points=TOTAL):
    n, p = points.shape
    w, xi, rho = cp.Variable(p), cp.Variable(n, nonneg=True), cp.Variable()
    variance = cp.sum_squares((points - points.mean(axis=0)) @ w) / n + (radius or 0.0) * cp.sum_squares(w)
    return least(w, variance / 2 + cp.sum(xi) / (0.3 * n) - rho + term(w), [points @ w >= rho - xi], said)


def beside_moments(said, radius, term=nothing, penalty=None):
    w, xi = cp.Variable(4), cp.Variable(60, nonneg=True)
    variance = cp.sum_squares(CENTRED[1] @ w) + (radius or 0.0) * cp.sum_squares(w)
    kept = [(TOTAL - SHIFTED.mean(axis=0)) @ w >= 1 - xi, *([xi == 0] if penalty is None else [])]
    return least(w, variance + (penalty or 0.0) * cp.sum(xi) + term(w), kept, said)


# Per case: the formulation for a set, its letter, and the value of the paper's program in the data's own columns.
COLLINEAR = {
    "two_class_mpm": (
        lambda set_: cn.two_class_mpm(Moments.estimate(TOTAL), Moments.estimate(SHIFTED), set_),
        "a",
        two_classes,
    ),
    "kappa_search": (
        lambda set_: cn.methods.two_class_mpm.kappa_search(Moments.estimate(TOTAL), Moments.estimate(SHIFTED), set_),
        "a",
        two_classes,
    ),
    "mahalanobis_svm": (lambda set_: cn.mahalanobis_svm(LinearFeatures(TOTAL), 0.3, set_), "w", one_class),
    "mahalanobis primal": (
        lambda set_: cn.methods.mahalanobis_svm.primal(LinearFeatures(TOTAL), 0.3, set_),
        "w",
        one_class,
    ),
    "moment_classifier": (
        lambda set_: cn.moment_classifier(TOTAL, Moments.estimate(SHIFTED), uncertainty=set_),
        "w",
        beside_moments,
    ),
    "factors": (
        lambda set_: cn.moment_classifier(
            TOTAL, Moments.estimate(SHIFTED, representation="low_rank"), 0.01, uncertainty=set_
        ),
        "w",
        lambda said, radius, term=nothing: beside_moments(said, radius, term, 0.01),
    ),
}


@pytest.mark.parametrize("radius", [None, 1e-2])
@pytest.mark.parametrize("name", COLLINEAR)
def test_normals_are_free_along_columns_that_others_make(name, radius):
    """The program's own axes leave that direction out: with `w[3] == 0` the optimum was that of a smaller problem."""
    made, letter, value = COLLINEAR[name]
    problem = made(None if radius is None else FrobeniusBall(radius))
    for said in SAID if name != "kappa_search" else SAID[:3]:
        found = problem.subject_to(lambda v: said(v[letter])).solve()  # noqa: B023
        assert found.objective == pytest.approx(value(said, radius), rel=2e-6)
        assert all(np.abs(c.violation()).max() < 1e-8 for c in said(cp.Constant(found.values[letter])))


@pytest.mark.parametrize("name", [name for name in COLLINEAR if name != "kappa_search"])
def test_terms_choose_among_normals_along_columns_that_others_make(name):
    made, letter, value = COLLINEAR[name]
    problem = made(None)
    for term in (lambda w: 0.02 * cp.norm1(w), lambda w: 0.02 * cp.sum_squares(w)):
        found = problem.plus(lambda v: term(v[letter])).solve()  # noqa: B023
        assert found.objective == pytest.approx(value(lambda w: [], None, term), rel=2e-6)


@pytest.mark.parametrize("name", COLLINEAR)
def test_what_the_axes_leave_out_belongs_to_programs_with_additions_alone(name):
    made, letter, value = COLLINEAR[name]
    problem = made(None)
    before = problem.solve().values[letter]
    # Written on the formulation's own variables, the constraint shares them with it.
    bound = problem.subject_to(problem.variables[letter][3] == 0)
    assert bound.solve().objective == pytest.approx(value(SAID[0], None), rel=1e-6)
    np.testing.assert_allclose(problem.variables[letter].value[3], 0.0, atol=1e-12)
    after = problem.solve().values[letter]
    np.testing.assert_allclose(after, before, rtol=1e-9)
    np.testing.assert_allclose(problem.variables[letter].value, before, rtol=1e-9)
    again = problem.subject_to(lambda v: v[letter][3] == 0).subject_to(lambda v: v[letter][1] >= 0)
    assert again.solve().objective == pytest.approx(value(lambda w: [w[3] == 0, w[1] >= 0], None), rel=1e-6)


@pytest.mark.parametrize("name", ["two_class_mpm", "mahalanobis_svm", "mahalanobis primal", "moment_classifier"])
def test_values_along_columns_that_others_make_are_judged_as_they_are(name):
    made, letter, _ = COLLINEAR[name]
    problem = made(None)
    bound, found = problem.subject_to(lambda v: v[letter][3] == 0), problem.solve()
    moved = {**found.values, letter: found.values[letter] + np.array([2.0, 2.0, 0.0, -2.0])}
    objective, violation = problem.evaluate(moved)
    assert objective == pytest.approx(found.objective, rel=1e-9) and violation < 1e-8
    assert bound.evaluate(moved)[1] == pytest.approx(abs(moved[letter][3]), rel=1e-9)


def test_constraints_hold_for_fewer_points_than_columns():
    points = np.random.default_rng(5).normal(size=(6, 9)) + 2.0
    problem = cn.mahalanobis_svm(LinearFeatures(points), 0.3, FrobeniusBall(0.05))
    for said in (lambda w: [w[3] == 0], lambda w: [w[0] == w[1], w[8] <= 0], lambda w: [cp.norm_inf(w) <= 0.5]):
        right = one_class(said, 0.05, points=points)
        assert problem.subject_to(lambda v: said(v["w"])).solve().objective == pytest.approx(right, rel=1e-6)  # noqa: B023


def test_a_constant_column_that_a_constraint_takes_away_leaves_a_plane():
    """Along it no deviation bounds the plane but the constraint does; values were off by millions (2e7 for -6.9)."""
    points = np.column_stack([TOTAL, np.full(60, 5.0)])
    problem = cn.mahalanobis_svm(LinearFeatures(points), 0.3)
    for said in (lambda w: [w[4] == 0, w[0] == 0], lambda w: [cp.norm(w) <= 3.0]):
        right = one_class(said, None, points=points)
        assert problem.subject_to(lambda v: said(v["w"])).solve().objective == pytest.approx(right, rel=1e-6)  # noqa: B023
    with pytest.raises(SolveError):
        problem.subject_to(lambda v: v["w"][0] >= v["w"][1]).solve()


def test_columns_without_deviation_that_tell_the_means_apart_keep_constraints():
    x, y = (np.column_stack([rows, np.full(len(rows), level)]) for rows, level in ((TOTAL, 5.0), (SHIFTED, 2.0)))
    problem = cn.two_class_mpm(Moments.estimate(x), Moments.estimate(y))
    a = cp.Variable(5)
    deviation = cp.norm(CENTRED[0] @ a[:4]) + cp.norm(CENTRED[1] @ a[:4])
    kept = [(x.mean(axis=0) - y.mean(axis=0)) @ a == 1, a[4] == 0.1, a[3] == 0]
    found = problem.subject_to(lambda v: [v["a"][4] == 0.1, v["a"][3] == 0]).solve()
    assert found.objective == pytest.approx(cp.Problem(cp.Minimize(deviation), kept).solve("CLARABEL"), rel=1e-6)
    assert found.values["a"] @ (x.mean(axis=0) - y.mean(axis=0)) == pytest.approx(1.0, rel=1e-9)


def test_coefficients_of_points_that_stand_twice_are_free_against_each_other():
    """Of two equal points either may carry the coefficient: one of them at zero was counted as both (20.0 for 8.8)."""
    points = np.vstack([TOTAL[:20], TOTAL[:2]])
    features = KernelFeatures(points, kernels.gaussian(width=1.6))
    problem = cn.methods.single_class_mpm.kernel_socp(
        features, Moments.estimate(features.training), 0.3, FrobeniusBall(0.01)
    )
    free = problem.solve().objective
    for place in (0, 21):
        found = problem.subject_to(lambda v: v["gamma"][place] == 0).solve()  # noqa: B023
        assert found.objective == pytest.approx(free, rel=1e-8) and abs(found.values["gamma"][place]) < 1e-12
    assert problem.subject_to(lambda v: [v["gamma"][0] == 0, v["gamma"][20] == 0]).solve().objective > free * 1.01


def test_coefficients_without_deviation_tell_the_mean_from_the_origin():
    """In the span of their features points vary in n - 1 directions; along the last one all score alike, without a deviation."""
    features = KernelFeatures(TOTAL[:20], kernels.gaussian(width=1.6))
    problem = cn.methods.single_class_mpm.kernel_socp(features, Moments.estimate(features.training), 0.6)
    found = problem.solve()
    assert found.objective == pytest.approx(0.0, abs=1e-9)
    scores = features.gram @ found.values["gamma"]
    np.testing.assert_allclose(scores, scores.mean(), rtol=1e-6)
    assert scores.mean() >= 1 - 1e-9


class Relative(CovarianceSet):
    """Entries by the deviations of the centre; a radius of zero leaves a point, which is another program."""

    def membership(self, S):
        deviations = np.sqrt(np.diag(self.center))
        return [cp.norm((S - self.center) / np.outer(deviations, deviations), "fro") <= self.radius]


def lasso(variables):
    return cp.quad_form(variables["a"], np.diag([1.0, 2.0])) + 0.1 * cp.norm1(variables["a"])


def bounded(variables):
    return [variables["a"][-1] >= 0.02]


def both_added(moments, confidence, uncertainty, tail="chebyshev"):
    return cn.single_class_mpm(moments, confidence, uncertainty, tail=tail).plus(lasso).subject_to(bounded)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("radius", [0.0, 0.1, 0.0, 0.2]),
        ("confidence", [0.2, 0.4]),
        ("moments", [FAR, NEAR]),
        ("tail", ["gaussian", "chebyshev"]),
        ("uncertainty", [FrobeniusBall(0.2), None, Relative(0.0)]),
    ],
)
def test_what_was_added_stays_whatever_is_set(name, values):
    """Against the problem made at each value."""
    given = {"moments": NEAR, "confidence": 0.3, "uncertainty": Relative(0.1)}
    problem = both_added(**given)
    found = [solution.objective for solution in problem.path(**{name: values})]
    other = [Relative(value) if name == "radius" else value for value in values]
    anew = [both_added(**{**given, "uncertainty" if name == "radius" else name: value}) for value in other]
    np.testing.assert_allclose(found, [each.solve().objective for each in anew], rtol=1e-7)
    assert problem.solve().objective == pytest.approx(both_added(**given).solve().objective, rel=1e-7)


def test_what_was_added_is_refused_where_it_does_not_fit():
    problem = cn.one_class_svm(LINEAR, 0.3, form="primal").subject_to(lambda v: v["w"][-1] >= 0.1)
    before = problem.solve().objective
    with pytest.raises(InputError, match=r"what was added to .* speaks of variables that it does not have"):
        problem.set(form="dual")
    three = LinearFeatures(np.column_stack([X, X[:, 0]]))
    with pytest.raises(
        InputError, match=r"is written for w of the shape \(2,\), which has \(3,\) now; make the problem anew"
    ):
        problem.set(features=three)
    with pytest.raises(InputError, match="there is no nonsense here; known are "):
        problem.set(nonsense=1)
    assert problem.solve().objective == before


def _mixed_labels(seed):
    """Incomes, ages and answers of people who were labelled at random, so that no plane tells the labels apart."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 40))
    X = np.column_stack([rng.lognormal(10.5, 0.6, n).round(), rng.integers(18, 80, n), rng.random(n) < 0.4])
    y = np.where(rng.random(n) < 0.6, 1, -1)
    y[:2] = 1, -1
    return X, y


ADDED_AT_ZERO = {
    "a price on columns": lambda posed: posed.plus(lambda v: 0.1 * cp.norm1(v["w"])),
    "signs": lambda posed: posed.subject_to(lambda v: v["w"] >= 0),
    "columns alike": lambda posed: posed.subject_to(lambda v: v["w"][0] == v["w"][1]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("added", ADDED_AT_ZERO)
def test_where_nothing_is_separated_plane_values_and_verdicts_are_one(added):
    """w = 0 costs nothing, so that no optimum is above zero; what a solver leaves of w in raw columns is not another plane."""
    for seed in range(12):
        X, y = _mixed_labels(seed)
        solution = ADDED_AT_ZERO[added](cn.negative_data(cn.LinearFeatures(X), y, 0.2, "primal")).solve()
        assert solution.objective <= 0.0
        values, region = solution.values, solution.region
        decisions = region.decision_values(X)
        assert decisions == pytest.approx(X @ values["w"] - values["rho"], abs=1e-6 * max(1.0, abs(solution.objective)))
        assert not (decisions[region.contains(X)] < -1e-6 * np.abs(X @ values["w"]).max(initial=1.0)).any()
        wrong = y * (X @ values["w"]) - values["rho"] < -(region.tie + region.rounding(X))
        assert str(solution.guarantee).startswith(f"{int(wrong.sum())} of {len(y)} training points")
        if solution.objective == 0.0:
            assert not values["w"].any() and not decisions.any() and region.contains(X).all()


def test_a_plane_that_has_to_be_one_stays_where_it_separates_nothing():
    """A constraint that excludes w = 0 keeps the solver's point, whatever it costs."""
    X, y = _mixed_labels(3)
    posed = cn.negative_data(cn.LinearFeatures(X), y, 0.2, "primal").subject_to(lambda v: v["w"][2] >= 2.0)
    solution = posed.solve()
    assert solution.objective > 0.0
    assert solution.values["w"][2] >= 2.0 - 1e-6


def test_a_letter_of_another_form_is_named():
    posed = cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 7.0)[:, None]), 0.3)
    with pytest.raises(
        InputError, match=r"one_class_svm \(dual\): there is no letter 'w'; it has 'alpha'.*form='primal'"
    ):
        posed.plus(lambda v: cp.norm1(v["w"]))
