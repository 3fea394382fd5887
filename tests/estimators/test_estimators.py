"""The estimators agree with the factories, keep their promises, and behave as scikit-learn's users expect."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexnovelty as cn
from convexnovelty import estimators
from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.methods.mahalanobis_svm import sequential
from convexnovelty.uncertainty import CovarianceHull, FrobeniusBall, LoewnerInterval, MeanEllipsoid

DETECTORS = [
    "OneClassSVM",
    "SoftBall",
    "SingleClassMPM",
    "MahalanobisSVM",
    "KernelLearningSVM",
    "SemiSupervisedDetector",
]


@pytest.fixture
def X(rng) -> np.ndarray:
    return rng.standard_normal((60, 3)) * [1.0, 2.0, 0.5] + [3.0, -2.0, 4.0]


@pytest.fixture
def novel(rng) -> np.ndarray:
    return rng.standard_normal((20, 3)) * 4.0


# -- agreement with the factories ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
@pytest.mark.parametrize("name", ["OneClassSVM", "SoftBall"])
def test_kernel_machines_agree_with_the_factories(name, kernel, X, novel):
    ours = getattr(estimators, name)(0.15, kernel=kernel).fit(X)
    made = estimators.base.named_kernel(kernel, "scale", 3, 1.0)
    features = estimators.base.feature_map(X, made, None)
    factory = {"OneClassSVM": cn.one_class_svm, "SoftBall": cn.soft_ball}[name]
    solution = factory(features, 0.15).solve()
    assert ours.objective_ == pytest.approx(solution.objective, rel=1e-8)
    theirs = solution.region.decision_values(features.coordinates(novel))
    np.testing.assert_allclose(ours.decision_function(novel), theirs, atol=1e-5 * np.abs(theirs).max())
    by_solver = getattr(estimators, name)(0.15, kernel=kernel, solver="CLARABEL").fit(X)
    np.testing.assert_allclose(by_solver.decision_function(novel), theirs, atol=1e-6 * np.abs(theirs).max())
    assert by_solver.certificate_.worst < 1e-6


def test_single_class_mpm_agrees_with_the_factory(X, novel):
    uncertainty = MeanEllipsoid(0.1) * FrobeniusBall(0.2)
    solution = cn.single_class_mpm(cn.Moments.estimate(X), 0.6, uncertainty).solve()
    for solver in ("auto", "CLARABEL"):
        ours = estimators.SingleClassMPM(0.6, uncertainty=uncertainty, kernel="linear", solver=solver).fit(X)
        assert ours.objective_ == pytest.approx(solution.objective, rel=1e-8)
        np.testing.assert_allclose(ours.decision_function(novel), solution.region.decision_values(novel), atol=1e-6)
        assert ours.guarantee_.bound == pytest.approx(0.4)


def test_mahalanobis_and_two_class_agree_with_the_factories(X, novel, rng):
    ball = FrobeniusBall(0.5)
    solution = cn.mahalanobis_svm(cn.LinearFeatures(X), 0.2, ball).solve()
    ours = estimators.MahalanobisSVM(0.2, uncertainty=ball, kernel="linear").fit(X)
    theirs = solution.region.decision_values(novel)
    # A cone solver knows the plane to the root of its accuracy; the objective, and pair steps, know it to rounding.
    np.testing.assert_allclose(ours.decision_function(novel), theirs, atol=1e-5 * np.abs(theirs).max())
    assert ours.objective_ == pytest.approx(solution.objective, rel=1e-8)
    other = rng.standard_normal((50, 3))
    pair = cn.two_class_mpm(cn.Moments.estimate(X), cn.Moments.estimate(other), ball).solve()
    machine = estimators.TwoClassMPM(uncertainty=ball).fit(np.vstack([other, X]), np.repeat([0, 1], [50, 60]))
    assert machine.objective_ == pytest.approx(pair.objective, rel=1e-7)
    np.testing.assert_allclose(machine.decision_function(novel), pair.region.decision_values(novel), atol=1e-5)


@pytest.mark.parametrize("labels", [("a", "b"), ("b", "a"), (True, False)])
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_a_pair_of_sets_goes_with_the_sorted_classes(X, rng, labels, solver):
    """The bound that each class has by the closed form, with the set of its place in classes_."""
    ball, nu = 0.5, 0.3
    other, classes = 1.5 * rng.standard_normal((50, 3)) + X.mean(axis=0) + 3, sorted(labels)
    samples = dict(zip(labels, (X, other), strict=True))
    machine = estimators.TwoClassMPM(
        uncertainty=(FrobeniusBall(ball), MeanEllipsoid(nu) * FrobeniusBall(ball / 2)), solver=solver
    )
    by_points = machine.fit(np.vstack([X, other]), np.repeat(labels, [len(X), len(other)]))
    fits = [by_points]
    if labels[0] is not True:
        moments = {label: cn.Moments.estimate(points) for label, points in samples.items()}
        fits.append(estimators.TwoClassMPM(**machine.get_params()).fit(moments))
    for fitted in fits:
        assert fitted.classes_.tolist() == classes
        zero = float(fitted.decision_function(np.zeros((1, 3)))[0])
        normal = fitted.decision_function(np.eye(3)) - zero
        for label, sign, rho, deviations in ((classes[0], -1, ball, 0.0), (classes[1], 1, ball / 2, nu)):
            points = samples[label]
            variance = normal @ (np.cov(points.T, bias=True) + rho * np.eye(3)) @ normal
            kappa = sign * (normal @ points.mean(axis=0) + zero) / np.sqrt(variance) - deviations
            assert 1 / (1 + kappa**2) == pytest.approx(fitted.guarantee_.bound, rel=1e-5)
        shown = str(fitted.guarantee_)
        assert shown.index("radius=0.5") < shown.index("MeanEllipsoid(radius=0.3)")


@pytest.mark.parametrize(
    ("kernel", "uncertainty"),
    [
        ("linear", FrobeniusBall(0.05)),
        ("linear", LoewnerInterval(0.5, "nominal")),
        ("gaussian", FrobeniusBall(0.05)),
        ("gaussian", None),
    ],
)
def test_mahalanobis_agrees_with_pair_steps_to_rounding(X, novel, kernel, uncertainty):
    """The block routine on Woodbury's Gram matrix, and pair steps on whitened points, which share neither."""
    ours = estimators.MahalanobisSVM(0.2, uncertainty=uncertainty, kernel=kernel).fit(X)
    features = cn.LinearFeatures(X) if kernel == "linear" else cn.KernelFeatures(X, cn.kernels.gaussian(gamma="scale"))
    recipe = FrobeniusBall(0.1 * features.unit**2) if uncertainty is None else uncertainty
    theirs = sequential(features, 0.2, recipe)
    Z = np.vstack([X, novel])
    values = theirs.region.decision_values(features.coordinates(Z)) + theirs.region.level
    np.testing.assert_allclose(ours.score_samples(Z), values, atol=1e-8 * np.abs(values).max(), rtol=0)
    assert ours.objective_ == pytest.approx(-theirs.objective, rel=1e-8)


def test_only_sets_without_one_metric_pose_a_program(X, monkeypatch):
    """The default fit of both machines of the metric poses none; a set that has no single worst covariance does."""

    def refused(*_):
        raise AssertionError("a program was posed")

    monkeypatch.setattr("convexnovelty.formulation.Formulation.solve", refused)
    estimators.MahalanobisSVM().fit(X)
    estimators.KernelLearningSVM().fit(X)
    hull = CovarianceHull([np.eye(3), np.diag([3.0, 1.0, 0.5])])
    with pytest.raises(AssertionError, match="program"):
        estimators.MahalanobisSVM(uncertainty=hull, kernel="linear").fit(X)


@pytest.mark.parametrize("more", [{}, {"covariance_weight": 0.5}, {"outlier_fraction": 0.4}])
def test_kernel_learning_agrees_with_the_program(X, novel, more):
    ours = estimators.KernelLearningSVM(**more).fit(X)
    program = estimators.KernelLearningSVM(**more, solver="CLARABEL").fit(X)
    assert ours.objective_ == pytest.approx(program.objective_, rel=1e-8)
    np.testing.assert_allclose(ours.kernel_weights_, program.kernel_weights_, atol=1e-5)
    theirs = program.decision_function(novel)
    np.testing.assert_allclose(ours.decision_function(novel), theirs, atol=1e-5 * np.abs(theirs).max())


def test_moment_classifier_takes_sparse_points_and_given_moments(rng):
    negatives, positives = rng.standard_normal((300, 5)), rng.standard_normal((30, 5)) + 2.0
    Z, y = np.vstack([negatives, positives]), np.repeat([0, 1], [300, 30])
    dense = estimators.MomentClassifier(slack_penalty=0.05).fit(Z, y)
    sparse = estimators.MomentClassifier(slack_penalty=0.05).fit(sp.csr_array(Z), y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(Z)), dense.decision_function(Z), atol=1e-6)
    given = cn.Moments.estimate(negatives)
    shared = estimators.MomentClassifier(slack_penalty=0.05, negative_moments=given).fit(Z, y)
    np.testing.assert_allclose(shared.decision_function(Z), dense.decision_function(Z), atol=1e-8)
    program = estimators.MomentClassifier(slack_penalty=0.05, solver="CLARABEL").fit(Z, y)
    np.testing.assert_allclose(program.decision_function(Z), dense.decision_function(Z), atol=1e-5)
    with pytest.raises(InputError, match="negative_moments: dimension 2"):
        estimators.MomentClassifier(negative_moments=cn.Moments([0.0, 0.0], np.eye(2))).fit(Z, y)


# -- promises ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["OneClassSVM", "SingleClassMPM"])
def test_calibrated_threshold_keeps_its_rate(name):
    """The conformal threshold: the mean false-alarm rate over 60 draws stays below the bound, and is close to it."""
    rng = np.random.default_rng(11)
    rates, bounds = [], []
    for draw in range(60):
        detector = getattr(estimators, name)(false_alarm_rate=0.1, random_state=draw).fit(rng.standard_normal((100, 2)))
        rates.append((detector.predict(rng.standard_normal((400, 2))) < 0).mean())
        bounds.append(detector.guarantee_.bound)
    error = np.std(rates) / np.sqrt(60)
    assert np.mean(rates) <= np.mean(bounds) + 3 * error
    assert np.mean(rates) >= 0.4 * np.mean(bounds), "the threshold is not trivially lax"
    assert max(bounds) <= 0.1


def test_b01_points_on_the_boundary_are_ordinary():
    two = np.array([[0.0], [np.sqrt(np.log(2))]])
    cases = [
        (two, {"gamma": 1.0}),
        (np.ones((5, 2)), {}),
        (np.repeat([[1.0], [2.0]], [9, 1], axis=0), {"kernel": "linear"}),
    ]
    for points, parameters in cases:
        detector = estimators.OneClassSVM(0.5, **parameters).fit(points)
        assert (detector.predict(points) == 1).all()


def test_b48_columns_by_name(X):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    for name in DETECTORS:
        detector = getattr(estimators, name)().fit(frame)
        assert list(detector.feature_names_in_) == ["a", "b"]
        with pytest.raises(
            ValueError, match=r"(?s)feature names.*give the columns of the fit in their order: 'a', 'b'$"
        ):
            detector.predict(frame[["b", "a"]])
        with pytest.raises(
            ValueError, match=r"1 features, but .*give points with as many columns as those of the fit$"
        ):
            getattr(estimators, name)().fit(X).predict(X[:, :1])


@pytest.mark.parametrize("name", DETECTORS)
def test_b51_sign_and_threshold(name, X, novel):
    detector = getattr(estimators, name)().fit(X)
    values = detector.decision_function(novel)
    np.testing.assert_allclose(values, detector.score_samples(novel) - detector.offset_, atol=1e-12)
    np.testing.assert_array_equal(detector.predict(novel), np.where(values >= 0, 1, -1))
    assert detector.guarantee_
    assert 0 <= detector.guarantee_.bound <= 1


def test_b51_every_parameter_changes_a_checked_number():
    line = np.arange(1.0, 5.0)[:, None]
    assert estimators.OneClassSVM(0.5, kernel="linear").fit(line).objective_ == pytest.approx(1.125, rel=1e-9)
    assert estimators.OneClassSVM(1.0, kernel="linear").fit(line).objective_ == pytest.approx(3.125, rel=1e-9)


def test_b08_weights():
    rows, repeated = np.array([[1.0], [3.0]]), np.array([[1.0], [1.0], [3.0]])
    weighted = estimators.OneClassSVM(2 / 3, kernel="linear").fit(rows, sample_weight=[2, 1])
    plain = estimators.OneClassSVM(2 / 3, kernel="linear").fit(repeated)
    assert weighted.objective_ == pytest.approx(0.5, rel=1e-9)
    assert plain.objective_ == pytest.approx(0.5, rel=1e-9)
    with pytest.raises(InputError, match=r"sample_weight: -1 was found at index 1"):
        estimators.OneClassSVM().fit(rows, sample_weight=[1, -1])


@pytest.mark.parametrize("name", DETECTORS)
def test_b33_b50_fitted_estimators_travel(name, X, novel):
    detector = getattr(estimators, name)().fit(X)
    values = detector.decision_function(novel)
    for there in (pickle.loads(pickle.dumps(detector)), copy.deepcopy(detector)):
        np.testing.assert_array_equal(there.decision_function(novel), values)
    np.testing.assert_array_equal(clone(detector).fit(X).decision_function(novel), values)


def test_pipeline_and_grid_search_in_two_processes(X, rng):
    y = np.ones(len(X))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), estimators.OneClassSVM()),
        {"oneclasssvm__outlier_fraction": [0.05, 0.3]},
        scoring="accuracy",
        cv=3,
        n_jobs=2,
    )
    assert search.fit(X, y).best_params_ == {"oneclasssvm__outlier_fraction": 0.05}


# -- bad input -----------------------------------------------------------------------------------------------------------


def test_errors_name_the_argument(X):
    cases = [
        (estimators.OneClassSVM(0.0), "outlier_fraction: 0"),
        (estimators.OneClassSVM(kernel="nonsense"), "kernel: 'nonsense' was found; give one of"),
        (estimators.OneClassSVM(solver=3), "solver: 3 was found"),
        (estimators.SingleClassMPM(ridge=-1.0), "ridge: -1"),
        (estimators.SingleClassMPM(1.5), r"confidence: 1\.5"),
        (estimators.OneClassSVM(false_alarm_rate=0.001), "false_alarm_rate: 0.001"),
        (estimators.SemiSupervisedDetector(novelty_score="density_ratio"), "unlabelled: None was found"),
    ]
    for estimator, message in cases:
        with pytest.raises(InputError, match=message):
            estimator.fit(X)


def test_infeasible_confidence_names_its_limit(X):
    with pytest.raises(InfeasibleError, match="largest feasible confidence") as caught:
        estimators.SingleClassMPM(0.9999).fit(X)
    limit = caught.value.limit
    assert estimators.SingleClassMPM(limit - 1e-6).fit(X).guarantee_.bound == pytest.approx(1 - limit, abs=1e-5)


def test_a_sample_around_the_origin_is_not_cut_at_random_by_a_linear_kernel():
    # What the solver leaves of w is 1e-17 here; its signs would call a fifth of the sample novel.
    X = np.random.default_rng(1).standard_normal((60, 3))
    with pytest.warns(UserWarning, match="nothing is separated"):
        detector = estimators.OneClassSVM(kernel="linear").fit(X)
    assert (detector.predict(X) == 1).all()
    assert detector.guarantee_.bound == 1.0
    # Beside a point that is a hundred times as near to the origin as the others, rounding of theirs is larger than all of w.
    x = np.random.default_rng(0).normal(size=(59, 1)) + 1
    with pytest.warns(UserWarning, match="nothing is separated"):
        detector = estimators.OneClassSVM(1 / 59, kernel="linear").fit(x)
    assert (detector.predict(x) == 1).all() and detector.guarantee_.bound == 1.0
