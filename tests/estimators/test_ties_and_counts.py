"""Points on the boundary are ordinary, sentences count as ``predict`` does, and weights are repetitions."""

from __future__ import annotations

import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexnovelty as cn
from convexnovelty.algorithms.smo import smo
from convexnovelty.estimators import KernelLearningSVM, MahalanobisSVM, OneClassSVM, SingleClassMPM, SoftBall
from convexnovelty.false_positives import Calibration
from convexnovelty.persistence import load, save
from convexnovelty.uncertainty import FrobeniusBall


def _outside(machine, X):
    return int((machine.predict(X) == -1).sum())


def _grid(seed, n):
    return np.random.default_rng(seed).integers(0, 3, size=(n, 2)).astype(float)


@pytest.mark.parametrize("seed", range(2))
def test_points_with_equal_scores_are_ordinary(seed):
    assert _outside(KernelLearningSVM(0.5).fit(_grid(seed, 60)), _grid(seed, 60)) == 0
    assert _outside(MahalanobisSVM(0.1).fit(_grid(seed, 21)), _grid(seed, 21)) == 0


def test_equal_points_lie_in_the_ball_of_radius_zero():
    X = np.full((20, 2), 3.3)
    weights = np.random.default_rng(0).random(20)
    assert _outside(SoftBall(0.1, kernel="linear").fit(X, sample_weight=weights), X) == 0
    assert _outside(SoftBall(1.0, kernel="linear").fit(np.ones((20, 2))), np.ones((20, 2))) == 0


@pytest.mark.parametrize("kind", [OneClassSVM, MahalanobisSVM, SoftBall])
def test_the_sentence_counts_as_predict_does(kind):
    X = np.random.default_rng(0).normal(size=(80, 3))
    far = np.c_[X[:, 0] + 1e5, X[:, 1]]
    for rows, gamma in ((far, "scale"), (X, 1e-7), (X, 0.5)):
        machine = kind(0.1, gamma=gamma).fit(rows)
        assert machine.guarantee_.startswith(f"{_outside(machine, rows)} of 80 training points lie outside")
        assert _outside(machine, rows) <= 8


@pytest.mark.parametrize("kind", [OneClassSVM, SoftBall])
def test_weights_set_the_width_of_the_laplacian_kernel(kind):
    rng = np.random.default_rng(0)
    X, weights, new = rng.normal(size=(60, 3)) * [1, 2, 0.5], rng.integers(0, 4, 60), rng.normal(size=(20, 3))
    weighted = kind(kernel="laplacian").fit(X, sample_weight=weights)
    repeated = kind(kernel="laplacian").fit(np.repeat(X, weights, axis=0))
    assert weighted.decision_function(new) == pytest.approx(repeated.decision_function(new), abs=1e-9)


@pytest.mark.parametrize("mean", [True, False])
def test_a_scaler_that_does_not_scale_is_saved_and_loaded(tmp_path, mean):
    X = np.random.default_rng(0).normal(size=(40, 3))
    made = make_pipeline(StandardScaler(with_mean=mean, with_std=False), OneClassSVM()).fit(X)
    save(made, tmp_path / "m.npz")
    assert np.array_equal(load(tmp_path / "m.npz").decision_function(X), made.decision_function(X))


def _features(kind):
    X = np.random.default_rng(5).normal(size=(40, 2))
    if kind == "far off":  # scores that differ by a ten-millionth of their size
        return cn.LinearFeatures(X + 1e6)
    if kind == "alike":
        return cn.KernelFeatures(X, cn.kernels.gaussian(gamma=1e-7))
    return cn.KernelFeatures(np.vstack([X, X[:10]]), cn.kernels.gaussian(gamma=0.5))


@pytest.mark.parametrize("kind", ["far off", "alike", "with copies"])
@pytest.mark.parametrize("factory", ["one_class_svm", "soft_ball", "mahalanobis_svm", "kernel_learning"])
def test_the_sentence_of_a_factory_counts_as_its_region_does(factory, kind):
    features = _features(kind)
    if factory == "mahalanobis_svm":
        given = (features, 0.2, FrobeniusBall(0.1 * features.unit**2))
    else:
        given = ([features] if factory == "kernel_learning" else features, 0.2)
    solution = getattr(cn, factory)(*given).solve()
    rows = features.training
    outside = int((~solution.region.contains(rows)).sum())
    assert solution.guarantee.startswith(f"{outside} of {features.n} training points lie outside")
    assert outside <= 0.2 * features.n


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_the_sentence_of_weights_counts_as_predict_does(solver):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 2)), rng.integers(1, 4, 60).astype(float)
    machine = OneClassSVM(0.2, solver=solver).fit(X, sample_weight=weights)
    out = machine.predict(X) == -1
    share = f"{weights[out].sum() / weights.sum():.6g} of the weight" if solver != "auto" else f"{out.sum()} of 60"
    assert share in machine.guarantee_


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("kind", [OneClassSVM, MahalanobisSVM])
def test_a_plane_of_rounding_is_none_and_says_so(kind, solver):
    X = np.random.default_rng(1).normal(size=(100, 3))
    with pytest.warns(UserWarning, match=f"{kind.__name__}: w = 0 to the solver's accuracy"):
        machine = kind(0.1, kernel="linear", solver=solver).fit(X - X.mean(axis=0))
    assert _outside(machine, X) == 0
    assert machine.guarantee_.bound == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apart = kind(0.1, kernel="linear", solver=solver).fit(X + 2)
    assert 0 < _outside(apart, X + 2) <= 10


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-4, 3e-5])
def test_a_plane_that_passes_near_the_origin_of_its_points_leaves_none_outside_by_rounding(distance):
    """All points have the first coordinate d: w = (d, 0), the offset is d^2, and every point lies on the plane."""
    y = np.random.default_rng(0).standard_normal(15)
    X = np.c_[np.full(30, distance), np.r_[y, -y]]
    detector = OneClassSVM(0.5, kernel="linear").fit(X)
    assert (detector.predict(X) == 1).all() and detector.guarantee_.startswith("0 of 30 training points")
    assert [detector.predict(row[None])[0] for row in X] == [1] * 30
    assert detector.predict([[distance / 2, 0.0], [2 * distance, 0.0]]).tolist() == [-1, 1]
    assert abs(detector.objective_) == pytest.approx(distance**2 / 2, rel=1e-6)


@pytest.mark.parametrize("detector", [OneClassSVM, SoftBall])
@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "polynomial", "gamma": 1.0, "coef0": 0.0}])
def test_no_more_than_the_fraction_lies_outside_where_scores_are_small_beside_their_terms(detector, kernel):
    """Proposition 8.3 on narrow strips beside the origin, in general position."""
    for seed in [27, 30, 145, *range(30)]:
        rng = np.random.default_rng(seed)
        n, distance, nu = int(rng.integers(10, 60)), 10 ** rng.uniform(-6, -1), rng.choice([0.1, 0.3, 0.5, 0.9])
        X = np.c_[distance * (1 + 0.3 * rng.random(n)), rng.standard_normal(n)]
        X = X @ np.linalg.qr(rng.standard_normal((2, 2)))[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where w = 0 to the accuracy, the estimator says so
            fitted = detector(nu, **kernel).fit(X)
        outside = int((fitted.predict(X) == -1).sum())
        assert outside <= nu * n + 1e-9, seed
        assert fitted.guarantee_.startswith((f"{outside} of {n} ", "w = 0"))


@pytest.mark.parametrize("far", [1e5, 99999999.0, 1e10])
def test_one_far_row_makes_no_ties_of_the_others(far):
    """On the half-line the dual fills the smallest points first: with nu n = 4.1 the edge is the fifth, wherever the last one is."""
    rng = np.random.default_rng(0)
    X = np.append(rng.normal(5, 1, 40), far)[:, None]
    edge = float(np.sort(X[:, 0])[4])
    new = np.array([edge - 1e-3, edge + 1e-3, 3.0, 0.1, -10.0])[:, None]
    truth = np.where(new[:, 0] >= edge, 1, -1).tolist()
    for machine in (OneClassSVM(0.1, kernel="linear"), OneClassSVM(0.1, kernel="linear", solver="CLARABEL")):
        assert machine.fit(X).predict(new).tolist() == truth
        assert machine.guarantee_.startswith("4 of 41") and _outside(machine, X) == 4
    found = cn.one_class_svm(cn.LinearFeatures(X), 0.1).solve()
    assert np.where(found.region.contains(new), 1, -1).tolist() == truth
    # The hard margin of all but two: the two smallest are left out.
    kept = cn.exact_outliers(cn.LinearFeatures(np.append(X[:6], [[far]], axis=0)), 2).solve()
    assert kept.guarantee.startswith("2 of 7")


@pytest.mark.parametrize("sigma", [2.0, 4.0])
def test_heavy_tails_make_no_ties(sigma):
    X = np.exp(sigma * np.random.default_rng(1).standard_normal(200))[:, None]
    for machine in (OneClassSVM(0.1025, kernel="linear"), OneClassSVM(0.1025, kernel="linear", solver="CLARABEL")):
        assert _outside(machine.fit(X), X) == 20


@pytest.mark.parametrize("far", [1e3, 1e4])
def test_a_far_row_of_little_weight_makes_no_ties_in_a_ball(far):
    """Against program 8.17 written in CVXPY, with the slack of the far row in closed form."""
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((40, 2)), 2 * rng.standard_normal((200, 2))
    weights = np.append(np.ones(40), 1e-4)
    shares = weights / weights.sum()
    c, R, xi = cp.Variable(2), cp.Variable(), cp.Variable(40, nonneg=True)
    beyond = cp.sum_squares(c) - 2 * c[0] * far + far**2 - R
    cost = R + shares[:40] @ xi / 0.2 + shares[40] / 0.2 * beyond
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(cp.square(X[i] - c)) <= R + xi[i] for i in range(40)])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    novel = ((new - c.value) ** 2).sum(axis=1) > float(R.value)
    machine = SoftBall(0.2, kernel="linear").fit(np.vstack([X, [[far, 0.0]]]), sample_weight=weights)
    assert ((machine.predict(new) == -1) == novel).all()


def test_a_solver_leaves_no_support_vector_outside_by_what_it_rounds():
    """Points on the margin of the exact algorithm are ordinary for a solver's point too: benign data of all sizes."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, nu = rng.standard_normal((int(rng.integers(20, 60)), int(rng.integers(1, 6)))), float(rng.uniform(0.05, 0.9))
        features = cn.KernelFeatures(X, cn.kernels.gaussian())
        upper = 1 / (nu * len(X))
        exact = smo(features.gram, upper=upper, tolerance=1e-14)
        free = (exact.multipliers > 1e-9 * upper) & (exact.multipliers < upper * (1 - 1e-9))
        below = exact.gradient[free].mean() - exact.gradient
        if free.any() and not ((below > 1e-12) & (below < 1e-5 * np.ptp(below))).any():
            for form in ("primal", "dual"):
                found = cn.one_class_svm(features, nu, form=form).solve()
                assert (~found.region.contains(features.training)).sum() == (below > 1e-12).sum()


def test_a_gross_row_among_those_held_out_leaves_the_threshold():
    scores = np.random.default_rng(0).standard_normal(50)
    plain = Calibration(scores, 0.1)
    for gross in (1e5, 1e9):
        found = Calibration(np.append(np.delete(scores, np.argmax(scores)), gross), 0.1)
        assert found.threshold == pytest.approx(plain.threshold, abs=1e-6)
        assert found.bound == plain.bound


@pytest.mark.parametrize("seed", [17, 20])
def test_a_value_that_a_solver_does_not_tell_from_zero_is_warned_of(seed):
    """Positive numbers over thirteen orders of magnitude: the dual fills the smallest first, so that the optimum is a sum of them."""
    x, nu = np.exp(6.0 * np.random.default_rng(seed).normal(size=80)), 0.05
    ordered, upper = np.sort(x), 1.0 / (nu * 80)
    alpha = np.append(np.full(int(1 / upper), upper), 0.0)
    alpha[-1] = 1.0 - alpha.sum()
    truth = 0.5 * float(alpha @ ordered[: alpha.size]) ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OneClassSVM(nu, kernel="linear").fit(x[:, None]).objective_ == pytest.approx(truth, rel=1e-6)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        by_name = OneClassSVM(nu, kernel="linear", solver="CLARABEL").fit(x[:, None])
    said = [str(one.message) for one in told if "do not tell the value" in str(one.message)]
    assert bool(said) is not (by_name.objective_ == pytest.approx(truth, rel=1e-3))
    assert all(message.startswith("OneClassSVM: the residuals of CLARABEL") for message in said)
    assert all("bring columns and points to comparable sizes, or leave solver='auto'" in message for message in said)


@pytest.mark.parametrize("kind", [OneClassSVM, SoftBall, MahalanobisSVM, KernelLearningSVM, SingleClassMPM])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_value_that_a_solver_knows_is_not_warned_of(kind, unit):
    X = unit * np.random.default_rng(0).normal([4.0, 3.0], 1.0, size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind(solver="CLARABEL").fit(X).objective_ != 0.0


def test_where_nothing_is_separated_that_alone_is_said():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        OneClassSVM(0.1, kernel="linear", solver="CLARABEL").fit(X)
    assert [("w = 0" in str(one.message), "do not tell" in str(one.message)) for one in told] == [(True, False)]


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_a_learned_kernel_that_is_a_constant_says_that_nothing_is_separated(solver):
    X = np.random.default_rng(15).normal([1.0, 0.0], 1.0, (30, 2))
    gaussian = [cn.kernels.gaussian(gamma=0.05), cn.kernels.gaussian(gamma=1.0)]
    with pytest.warns(UserWarning, match=r"^KernelLearningSVM: .* so nothing is separated; .*coef0") as told:
        machine = KernelLearningSVM(0.1, kernels=[*gaussian, cn.kernels.polynomial(2, gamma=0.1)], solver=solver).fit(X)
    assert told[0].filename == __file__
    assert (machine.predict([[1e3, 1e3], [-1e3, 5.0]]) == 1).all()  # since the constant is the best of these kernels
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelLearningSVM(0.1, kernels=gaussian, solver=solver).fit(X)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_program_of_a_learned_kernel_that_is_a_constant_says_so_too(form):
    X = np.random.default_rng(15).normal([1.0, 0.0], 1.0, (30, 2))
    constant, gaussian = (cn.KernelFeatures(X, k) for k in (cn.kernels.polynomial(2), cn.kernels.gaussian(gamma=1.0)))
    with pytest.warns(UserWarning, match=r"^kernel_learning: .* so nothing is separated; .*coef0"):
        cn.kernel_learning([constant, gaussian], 0.1, form=form).solve()
    with pytest.warns(UserWarning, match=r"^kernel_learning: .* so nothing is separated"):
        cn.kernel_learning(constant, 0.1, form=form).solve()
    for told in (gaussian, gaussian.gram, constant.gram):  # a matrix does not show what lies between the points
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cn.kernel_learning(told, 0.1, form=form).solve()
    with pytest.warns(UserWarning) as said:
        KernelLearningSVM(0.1, kernels=[cn.kernels.polynomial(2)], solver="CLARABEL").fit(X)
    assert [str(one.message).split(":")[0] for one in said] == ["KernelLearningSVM"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_a_plane_on_which_all_points_lie_is_no_constant(solver):
    """Twice a point scores twice as much."""
    X = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    machine = KernelLearningSVM(0.5, kernels=[cn.kernels.linear()], solver=solver).fit(X)
    assert np.ptp(machine.score_samples(X)) < 1e-9
    assert machine.score_samples([[2.0, 0.0]]) == pytest.approx(2 * machine.score_samples(X[:1]))


@pytest.mark.parametrize("points", [np.arange(6.0)[:, None], np.ones((6, 2))], ids=["far apart", "one point"])
def test_equal_scores_of_a_sample_are_no_constant_where_points_between_have_others(points):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = KernelLearningSVM(1.0, kernels=[cn.kernels.gaussian(gamma=200.0)]).fit(points)
    assert np.ptp(machine.score_samples(points)) < 1e-9
    assert machine.predict(points[:1] + 0.5) == -1


@pytest.mark.parametrize("kind", [OneClassSVM, SoftBall])
@pytest.mark.parametrize("width, nu", [(100.0, 0.07), (100.0, 0.3), (10.0, 0.1), (3.0, 0.05)])
def test_points_whose_multipliers_are_between_their_bounds_are_inside(kind, width, nu):
    """They lie on the boundary, whatever order their kernel values are added in."""
    X = pytest.importorskip("sklearn.datasets").load_wine().data[:100]
    kernel = cn.kernels.gaussian(gamma=width / X.var())
    features = cn.KernelFeatures(X, kernel)
    detector = kind(nu, kernel=kernel).fit(X)
    problem = cn.one_class_svm(features, nu) if kind is OneClassSVM else cn.soft_ball(features, nu)
    solution = problem.solve()
    np.testing.assert_array_equal(detector.predict(X) > 0, solution.region.contains(features.training))
    assert str(detector.guarantee_)[:3] == str(solution.guarantee)[:3]
    # To rounding the optimum of the dual tells which multipliers lie between their bounds.
    alpha = cn.one_class_svm(features, nu, form="dual").solve().values["alpha"]
    between = (alpha > 1e-6 / (nu * 100)) & (alpha < (1 - 1e-6) / (nu * 100))
    assert (detector.predict(X[between]) > 0).all()


def _ring(n):
    angles = 2 * np.pi * np.arange(n) / n
    return np.c_[np.cos(angles), np.sin(angles)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kind, n, copies, nu, gamma",
    [
        (OneClassSVM, 60, 1, 0.5, 1.0),
        (OneClassSVM, 105, 1, 0.31, 0.12),
        (OneClassSVM, 100, 1, 0.58, 7.3),
        (OneClassSVM, 24, 10, 0.85, 0.14),
        (SoftBall, 60, 1, 0.7, "scale"),
        (MahalanobisSVM, 60, 1, 1.0, 1.0),
        (MahalanobisSVM, 100, 1, 1.0, 7.3),
    ],
)
def test_points_that_rotations_map_to_one_another_are_ordinary(kind, n, copies, nu, gamma):
    """One normal is optimal, so that a rotation of the sample leaves it, and all scores are one number: the offset."""
    X = np.repeat(_ring(n), copies, axis=0)
    machine = kind(nu, gamma=gamma).fit(X)
    assert machine.predict(X).tolist() == [1] * len(X)
    assert machine.guarantee_.startswith(f"0 of {len(X)} training points lie outside")
    # The score has a slope across the ring: to one side of it points are novel, however near.
    near = [machine.predict(X[:1] * (1 + away))[0] for away in (1e-9, -1e-9)]
    assert sorted(near) == [-1, 1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [OneClassSVM, SoftBall])
@pytest.mark.parametrize("n", [3, 30, 200])
def test_points_that_a_narrow_kernel_tells_apart_have_one_score(kind, n):
    """The Gram matrix is the identity to the last bit, and with nu = 1 every score is 1/n."""
    X = np.arange(float(n))[:, None]
    kernel = cn.kernels.gaussian(gamma=1e3)
    assert (kernel(X) == np.eye(n)).all()
    machine = kind(1.0, kernel=kernel).fit(X)
    assert machine.predict(X).tolist() == [1] * n
    assert machine.guarantee_.startswith(f"0 of {n} training points lie outside")
    # A shift e takes about gamma e^2 of the score.
    assert machine.predict(X + 3e-6).tolist() == [-1] * n


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("mean", [1e5, 1e7])
def test_a_solver_leaves_the_threshold_of_a_minimax_machine_where_it_is(mean, solver):
    """Rows are told apart by their scores in fractions: none lies on the boundary but by chance."""
    X = np.random.default_rng(0).normal(size=(200, 2)) + 5.0 + mean
    machine = SingleClassMPM(0.3, kernel="linear", ridge=0, solver=solver).fit(X)
    normal = [Fraction(v) for v in machine.score_.normal.tolist()]
    scores = [sum(a * Fraction(b) for a, b in zip(normal, row, strict=True)) for row in X.tolist()]
    assert (machine.predict(X) < 0).tolist() == [s < 1 for s in scores]


@pytest.mark.parametrize("gamma", [1e-7, 1e-8])
def test_the_threshold_of_a_minimax_machine_with_a_wide_kernel_is_its_level(gamma):
    """Without confidence the half-space ends at the mean of the scores, of which some are below."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    machine = SingleClassMPM(0.0, gamma=gamma, ridge=1e-6).fit(X)
    scores = machine.score_samples(X)
    assert machine.offset_ == pytest.approx(float(np.mean(scores)), abs=1e-4 * float(np.std(scores)))
    assert 50 < (machine.predict(X) < 0).sum() == (scores < 1).sum()
