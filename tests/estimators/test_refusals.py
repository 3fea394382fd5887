"""What other packages would refuse in their own words, or nobody would, is refused by the name of the argument."""

from __future__ import annotations

import datetime
import functools
import math
import re
import warnings

import numpy as np
import pytest
import sklearn

import convexnovelty as cn
from convexnovelty import streams
from convexnovelty.algorithms.block_dual import kkt_violation
from convexnovelty.bounds import margin_bound, slack_sum, solution_bound
from convexnovelty.distances import scale_gamma
from convexnovelty.errors import ConvexNoveltyError, IndefiniteError, InputError
from convexnovelty.estimators import (
    KernelLearningSVM,
    MahalanobisSVM,
    MomentClassifier,
    OneClassSVM,
    SemiSupervisedDetector,
    SingleClassMPM,
    SoftBall,
    TwoClassMPM,
)
from convexnovelty.evidence import ThresholdClassifier
from convexnovelty.extremal import extremal_distribution
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.kernels import Kernel, gaussian, precomputed
from convexnovelty.moments import Moments
from convexnovelty.novelty_scores import KernelDensity
from convexnovelty.tables import read_table
from convexnovelty.uncertainty import (
    CovarianceHull,
    FrobeniusBall,
    KLBall,
    LoewnerInterval,
    MeanEllipsoid,
    NormBall,
    WeightedNormBall,
    concentration_radii,
    cross_validated,
    delage_ye_sizes,
    free_entries,
    wishart_radius,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 2))


def test_a_series_is_no_set_of_points(X):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b"])
    detector = OneClassSVM().fit(frame)
    for use in (detector.fit, detector.decision_function):
        with pytest.raises(InputError, match=r"^X: .*2-dimensional"):
            use(frame["a"])
    with pytest.raises(InputError, match=r"^X: strings or categories were found"):
        detector.fit(pd.Series(["u", "v"]))


def test_names_of_digits_are_no_numbers_in_any_container(X):
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    codes, names = [["01234", "80331"][i % 2] for i in range(len(X))], ["01234", "80331"]
    polars = [pl.Series(codes).cast(kind) for kind in (pl.Enum(names), pl.Categorical(), pl.String, pl.Binary)]
    pandas = [
        pd.Series(codes, dtype=kind) for kind in ("category", "string", "object", pd.ArrowDtype(pa.large_string()))
    ]
    arrow = [pa.array(codes).dictionary_encode(), pa.array(codes), pa.array(codes, pa.large_string())]
    arrow += [pa.array([code.encode() for code in codes], kind) for kind in (pa.binary(), pa.binary(5))]
    arrow.append(pa.array(range(len(X))).dictionary_encode())  # as categories that numbers name are refused in pandas
    tables = [
        *(pl.DataFrame({"a": X[:, 0], "code": column}) for column in [*polars, pl.Series(codes, dtype=pl.Object)]),
        *(pd.DataFrame({"a": X[:, 0], "code": column}) for column in pandas),
        *(pa.table({"a": X[:, 0], "code": column}) for column in arrow),
        np.array([[code.encode(), 1.0] for code in codes], dtype=object),
    ]
    for table in tables:
        for detector in (OneClassSVM(), SemiSupervisedDetector()):
            with pytest.raises(InputError, match=r"^X: strings or categories were found"):
                detector.fit(table)
    OneClassSVM().fit(pa.table({"a": X[:, 0], "b": X[:, 1]}))


# -- dates -----------------------------------------------------------------------------------------------------------------


def days():
    return [datetime.date(2024, 1, k) for k in (1, 2, 3)]


def times():
    return [datetime.datetime(2024, 1, k) for k in (1, 2, 3)]


def spans():
    return [datetime.timedelta(days=k) for k in (1, 2, 3)]


def hours():
    return [datetime.time(k) for k in (1, 2, 3)]


def polars_frame(values):
    return pytest.importorskip("polars").DataFrame({"when": values, "x": [1.0, 2.0, 3.0]})


def pandas_frame(values, kind=None):
    pd = pytest.importorskip("pandas")
    if kind is not None:
        arrow = pytest.importorskip("pyarrow")
        values = pd.array(values, dtype=pd.ArrowDtype(getattr(arrow, kind[0])(*kind[1:])))
    return pd.DataFrame({"when": values, "x": [1.0, 2.0, 3.0]})


def periods():
    return pytest.importorskip("pandas").period_range("2024", "2026", freq="Y")


def arrow_table(values):
    return pytest.importorskip("pyarrow").table({"when": values, "x": [1.0, 2.0, 3.0]})


DATED = {
    "polars Date": lambda: polars_frame(days()),
    "polars Datetime": lambda: polars_frame(times()),
    "polars Duration": lambda: polars_frame(spans()),
    "polars Time": lambda: polars_frame(hours()),
    "polars, dates alone": lambda: polars_frame(days()).select("when"),
    "pandas datetime64": lambda: pandas_frame(times()),
    "pandas timedelta64": lambda: pandas_frame(pytest.importorskip("pandas").to_timedelta(spans())),
    "pandas, with a zone": lambda: pandas_frame(pytest.importorskip("pandas").to_datetime(times()).tz_localize("UTC")),
    "pandas period": lambda: pandas_frame(periods()),
    "pandas objects": lambda: pandas_frame(days()),
    "pandas and Arrow, date32": lambda: pandas_frame(days(), ("date32",)),
    "pandas and Arrow, timestamp": lambda: pandas_frame(times(), ("timestamp", "ms", "UTC")),
    "pandas and Arrow, duration": lambda: pandas_frame(spans(), ("duration", "s")),
    "pandas and Arrow, time32": lambda: pandas_frame(hours(), ("time32", "s")),
    "Arrow dates": lambda: arrow_table(days()),
    "Arrow timestamps": lambda: arrow_table(times()),
    "Arrow durations": lambda: arrow_table(spans()),
    "datetime64": lambda: np.array([days(), days()], dtype="datetime64[D]").T,
    "timedelta64": lambda: np.array([spans(), spans()], dtype="timedelta64[s]").T,
    "timedelta64 among objects": lambda: [[np.timedelta64(k, "D"), 1.0] for k in (1, 2, 3)],
    "datetime64 among objects": lambda: np.array([[np.datetime64("2024-01-01"), 1.0]] * 3, dtype=object),
    "datetime in lists": lambda: [[when, 1.0] for when in times()],
}

DOORS = {
    "fit": lambda X: OneClassSVM().fit(X),
    "predict": lambda X: OneClassSVM().fit(np.eye(3)[:, :2]).predict(X),
    "two classes": lambda X: TwoClassMPM().fit(X, [0, 1, 1]),
    "Moments.estimate": Moments.estimate,
    "Moments.update": lambda X: Moments([0.0, 0.0], np.eye(2), 3).update(X),
    "LinearFeatures": LinearFeatures,
    "KernelFeatures": lambda X: KernelFeatures(X, "gaussian"),
    "coordinates": lambda X: KernelFeatures(np.eye(3)[:, :2], "gaussian").coordinates(X),
    "kernel": lambda X: gaussian(gamma=1.0)(X),
    "width": scale_gamma,
    "stream": lambda X: streams.moments_of(np.array(X, dtype=object) if isinstance(X, list) else X),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", DATED)
def test_dates_are_refused_whatever_holds_them(kind, door):
    given = DATED[kind]()
    with pytest.raises(InputError, match=r"dates were found; give numbers, for example days since a date that matters"):
        DOORS[door](given)


@pytest.mark.parametrize("kind", [kind for kind in DATED if kind.startswith(("polars", "pandas", "Arrow"))])
def test_dates_are_no_weights(kind):
    when = DATED[kind]()["when"]
    for use in (
        lambda: OneClassSVM().fit(np.eye(3), sample_weight=when),
        lambda: Moments.estimate(np.eye(3), when),
    ):
        with pytest.raises(InputError, match=r"weights?: dates were found"):
            use()


@pytest.mark.parametrize("values", [days, times, spans, hours, periods], ids=lambda values: values.__name__)
def test_dates_in_parquet_are_refused_by_the_name_of_their_column(values, tmp_path):
    file = tmp_path / "t.parquet"
    pandas_frame(values()).to_parquet(file)
    told = (
        r"column 'when' of type .*: dates were found; give numbers, for example days since a date that matters, or name"
    )
    with pytest.raises(InputError, match=told):
        streams.moments_of(file)
    with pytest.raises(InputError, match="dates were found"):
        streams.moments_of(file, columns=["x"], weights="when")
    assert streams.moments_of(file, columns=["x"]).mean.tolist() == [2.0]
    assert len(streams.moments_by_class(file, "when", columns=["x"])) == 3
    with pytest.raises(InputError, match=r"row 1, column 'when': .* was found where a number is needed"):
        read_table(file)


def test_spans_in_npz_files_are_no_numbers(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array([[1, 2], [3, 4]], dtype="timedelta64[D]"))
    with pytest.raises(InputError, match=r"'1 days' was found where a number is needed"):
        read_table(tmp_path / "t.npz")


def test_numbers_of_any_frame_are_taken():
    for frame in (polars_frame([1, 2, 3]), pandas_frame([1, 2, 3]), pandas_frame([1, 2, 3], ("int64",))):
        assert Moments.estimate(frame).mean.tolist() == [2.0, 2.0]
        OneClassSVM().fit(frame)
    assert streams.moments_of(arrow_table([1, 2, 3])).mean.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("kind", [TwoClassMPM, MomentClassifier])
@pytest.mark.parametrize(
    "labels", [[2.5, 5.5], [None, "a"], [1, "a"]], ids=["fractions", "None beside text", "number beside text"]
)
def test_labels_that_are_no_classes_are_refused_by_name(X, kind, labels):
    y = np.array(labels, dtype=float if labels[0] == 2.5 else object)[np.arange(30) % 2]
    told = "a label to every row" if labels[0] is None else "two whole numbers or two names as labels"
    with pytest.raises(InputError, match=rf"^y: .* give {told}"):
        kind().fit(X, y)


@pytest.mark.parametrize("kind", [TwoClassMPM, MomentClassifier])
@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "int64[pyarrow]", "boolean"])
def test_labels_come_back_as_they_were_given(X, kind, dtype):
    pd = pytest.importorskip("pandas")
    pair = [True, False] if dtype == "boolean" else [2**53 + 1, 7]
    y = pd.Series([pair[i % 2] for i in range(30)], dtype=dtype)
    for given in (y, pd.DataFrame({"k": y})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's, of a column where a vector is meant
            machine = kind().fit(X + 3 * (np.arange(30) % 2)[:, None], given)
        assert machine.classes_.tolist() == sorted(pair)
        found = machine.predict(X).tolist()
        assert set(found) <= set(pair)
        assert {type(label) for label in found} == {type(pair[0])}


def test_classes_of_recognisers_are_the_labels_as_they_were_given(X):
    pd = pytest.importorskip("pandas")
    for pair, kind in (([2**53 + 1, 7], "Int64"), ([2**63, -1], None), ([True, False], "boolean")):
        y = [pair[i % 2] for i in range(30)]
        given = y if kind is None else pd.Series(y, dtype=kind)
        region = cn.class_recognisers(LinearFeatures(X + 3), given, 0.5).solve().region
        assert region.classes.tolist() == sorted(pair)
    with pytest.raises(InputError, match=r"^labels: 1 labels are masked"):
        cn.class_recognisers(LinearFeatures(X), np.ma.array(np.arange(30) % 2, mask=np.arange(30) == 3), 0.5)


@pytest.mark.parametrize("kind", [TwoClassMPM, MomentClassifier])
def test_labels_that_are_hidden_or_missing_are_refused(X, kind):
    pd = pytest.importorskip("pandas")
    hidden = np.ma.array(np.arange(30) % 2, mask=np.arange(30) == 3)
    with pytest.raises(InputError, match=r"^y: 1 labels are masked"):
        kind().fit(X, hidden)
    with pytest.raises(InputError, match=r"^y: no label was found at position 0, of 1 such rows"):
        kind().fit(X, pd.Series([None, *[0, 1] * 14, 1], dtype="Int64"))


@pytest.mark.parametrize("value", [3, 0.5, True, "gaussian", object(), float, {"gaussian": 1}])
def test_one_kernel_is_no_list_of_kernels(X, value):
    with pytest.raises(InputError, match=r"^kernels: .* was found; give a list of kernels"):
        KernelLearningSVM(kernels=value).fit(X)


@pytest.mark.parametrize("value", [np.timedelta64(1, "s"), np.ma.masked, np.ma.array([0.3], mask=[True])])
def test_spans_of_time_and_masked_numbers_are_no_numbers(X, value):
    with pytest.raises(InputError, match=r"^outlier_fraction: .* was found; give a real number"):
        OneClassSVM(value).fit(X)


@pytest.mark.parametrize(
    "made",
    [
        lambda rate: OneClassSVM(false_alarm_rate=rate),
        lambda rate: SemiSupervisedDetector(rate),
        lambda rate: SemiSupervisedDetector(rate, confidence=0.9),
    ],
    ids=["on average", "nominal and unlabelled", "with confidence"],
)
@pytest.mark.parametrize(("rate", "needed"), [(1e-320, "more than 1e308"), (1e-300, r"\d[.\d]*e\+\d+")])
def test_rates_that_no_number_of_points_keeps_are_refused(X, made, rate, needed):
    with pytest.raises(InputError, match=rf"needs at least {needed} of them, or a larger rate"):
        made(rate).fit(X)


def test_a_function_of_two_vectors_is_no_kernel(X):
    with pytest.raises(InputError, match=r"^kernel from_callable.*ValueError was raised .* returns shape \(15, 30\)"):
        OneClassSVM(kernel=lambda a, b: a @ b).fit(X)
    with pytest.raises(InputError, match=r"^kernel from_callable.*TypeError was raised"):
        OneClassSVM(kernel=lambda a: a).fit(X)


def test_what_a_kernel_function_refuses_itself_is_passed_on(X):
    def refuse(a, b):
        raise IndefiniteError("mine", -1.0)

    with pytest.raises(ConvexNoveltyError, match=r"^mine$") as caught:
        OneClassSVM(kernel=refuse).fit(X)
    assert isinstance(caught.value, IndefiniteError)


# -- scores that are the same at all points ------------------------------------------------------------------------------

NO_VARIANCE = {
    "no ridge": {"ridge": 0},
    "no ridge, named solver": {"ridge": 0, "solver": "CLARABEL"},
    "polynomial": {"ridge": 0, "kernel": "poly", "gamma": 1.0},
    "rank of the sample": {"ridge": 0, "gamma": 5.0, "rank": 30},
    "mean": {"uncertainty": MeanEllipsoid(0.05)},
    "multiples": {"uncertainty": LoewnerInterval(0.1, "nominal")},
    "divergence": {"uncertainty": KLBall(0.01)},
}


@pytest.mark.parametrize("options", NO_VARIANCE.values(), ids=NO_VARIANCE)
def test_a_kernel_without_added_variance_is_refused(X, options):
    argument = "uncertainty" if "uncertainty" in options else "ridge"
    with pytest.raises(InputError, match=rf"^{argument}: .* every point lies on the boundary.*FrobeniusBall"):
        SingleClassMPM(0.8, **options).fit(X + 4)


def test_points_in_a_plane_are_refused_by_the_linear_kernel_too(X):
    wide = np.random.default_rng(1).normal(size=(20, 40))
    for points in (wide, np.c_[X, 2 * X[:, 0] + 0.3], lambda: iter([wide])):
        with pytest.raises(InputError, match=r"^ridge: 0 was found"):
            SingleClassMPM(0.5, kernel="linear", ridge=0).fit(points)


ENOUGH = {
    "least ridge": {"ridge": 1e-12},
    "rank": {"ridge": 0, "rank": 10},
    "set": {"uncertainty": FrobeniusBall(1e-9)},
    "product": {"uncertainty": MeanEllipsoid(0.05) * FrobeniusBall(0.01)},
}


@pytest.mark.parametrize("options", ENOUGH.values(), ids=ENOUGH)
def test_what_adds_variance_or_cuts_the_kernel_keeps_the_promise_to_the_sample(X, options):
    detector = SingleClassMPM(0.3, gamma=0.5, **options).fit(X)
    assert np.ptp(detector.decision_function(X)) > 0
    assert (detector.predict(X) == -1).mean() <= detector.guarantee_.bound


def test_points_far_away_of_unlike_units_or_equal_are_not_refused(X):
    for points in (X + 1e8, (X + 4) * [1e-7, 1e7], np.full((20, 2), 3.3)):
        detector = SingleClassMPM(0.5, kernel="linear", ridge=0).fit(points)
        assert (detector.predict(points) == -1).mean() <= 0.5
    assert (SingleClassMPM(0.5, ridge=0).fit(np.ones((20, 2))).predict(np.ones((20, 2))) == 1).all()


def test_held_out_points_set_a_threshold_without_a_ridge():
    X = np.random.default_rng(2).normal(size=(100, 2))
    detector = SingleClassMPM(0.5, ridge=0, gamma=0.5, false_alarm_rate=0.2, random_state=0).fit(X[:60])
    assert np.ptp(detector.score_samples(X[60:])) > 0.01
    assert "held-out" in detector.guarantee_


def test_a_precomputed_kernel_is_that_of_its_points_or_refused_by_name(X):
    kernel, Z = gaussian(gamma=0.5), np.random.default_rng(1).normal(size=(9, 2))
    expected = OneClassSVM(0.2, kernel=kernel).fit(X).decision_function(Z)
    found = OneClassSVM(0.2, kernel=precomputed()).fit(kernel(X)).decision_function(kernel(Z, X))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    with pytest.raises(InputError, match=r"^kernel: a precomputed one was found, but a distance needs k\(z, z\)"):
        SoftBall(kernel=precomputed()).fit(kernel(X))
    for kind in (OneClassSVM, SingleClassMPM, MahalanobisSVM):
        with pytest.raises(InputError, match=r"^false_alarm_rate: 0.2 was found with a precomputed kernel"):
            kind(kernel=precomputed(), false_alarm_rate=0.2, random_state=0).fit(kernel(X))
    for kind in (OneClassSVM, SingleClassMPM):
        with pytest.raises(InputError, match=r"^sample_weight: zeros were found with a precomputed kernel"):
            kind(kernel=precomputed()).fit(kernel(X), sample_weight=np.arange(30) > 0)
    classes, weights = np.arange(30) % 2, np.arange(30) % 3
    with pytest.raises(
        InputError, match=r"^sample_weight: zeros were found with a precomputed kernel, .*give the matrix of"
    ):
        TwoClassMPM(ridge=1e-3, kernel=precomputed()).fit(kernel(X), classes, weights)
    weighed = TwoClassMPM(ridge=1e-3, kernel=precomputed()).fit(kernel(X), classes, weights + 1)
    same = TwoClassMPM(ridge=1e-3, kernel=kernel).fit(X, classes, weights + 1)
    np.testing.assert_allclose(weighed.decision_function(kernel(Z, X)), same.decision_function(Z), atol=1e-6)


@pytest.mark.parametrize("unit", [1e-148, 1e100])
def test_points_whose_ridge_is_no_number_are_refused_in_their_own_name(X, unit):
    for machine in (SingleClassMPM(kernel="linear"), TwoClassMPM()):
        with pytest.raises(InputError, match=r"^X: points of length .* give points in a unit"):
            machine.fit((X + 3) * unit, np.repeat([0, 1], 15))


def test_a_kernel_that_is_one_sided_far_out_is_not_called_indefinite_by_a_positive_number():
    # Symmetric at the 32 points where a function is tried in both orders, and nowhere else.
    X = np.arange(400.0)[:, None]
    tried = set(np.linspace(0, 399, 32).astype(int).tolist())

    def one_sided(A, B):
        K = np.exp(-np.abs(A - B.T) / 3)
        odd = ~np.isin(A.ravel(), list(tried))
        return K * np.where(odd[:, None] & (B.ravel() > A), 0.2, 1.0)

    with pytest.raises(IndefiniteError, match="the Gram matrix is not symmetric, entries differ") as refusal:
        KernelFeatures(X, one_sided, rank=300)
    assert refusal.value.eigenvalue >= 0


@pytest.mark.parametrize(
    "weights, told",
    [
        ([1.0, 2.0], r"shape == \(2,\)"),
        ([math.nan] * 30, "NaN"),
        (np.zeros(30), "non-zero"),
        (np.ones((30, 1)), "1D array"),
    ],
)
def test_weights_that_are_none_are_refused_by_their_name(X, weights, told):
    with pytest.raises(InputError, match=f"^sample_weight: .*{told}.*give one finite number for each of the 30 rows"):
        OneClassSVM().fit(X, sample_weight=weights)


def test_functions_that_are_no_kernels_are_told_what_they_return(X):
    with pytest.raises(InputError, match=r"values of shape \(3,\) were returned for .* return shape"):
        OneClassSVM(kernel=lambda A, B: np.ones(3)).fit(X)
    with pytest.raises(IndefiniteError, match=r"^kernel: the mean of k\(x, x\) is -"):
        SingleClassMPM(kernel=lambda A, B: -A @ B.T).fit(X)


@pytest.mark.parametrize(
    "state",
    [np.random.default_rng(0), np.random.RandomState(0), 2**40, 7, None],
    ids=["generator", "state", "large", "seed", "none"],
)
def test_every_kind_of_random_state_is_taken(X, state):
    assert OneClassSVM(false_alarm_rate=0.3, random_state=state).fit(X).guarantee_ is not None
    assert SemiSupervisedDetector(0.2, random_state=state).fit(X, unlabelled=X + 1.0).predict(X).shape == (30,)


def test_a_function_that_separates_nothing_calls_everything_ordinary(X):
    X = X - X.mean(axis=0)
    with pytest.warns(UserWarning, match="nothing is separated"):
        detector = OneClassSVM(kernel=lambda A, B: A @ B.T).fit(X)
    assert (detector.predict(X) == 1).all()


@pytest.mark.parametrize(
    "labels, told",
    [
        ((7, 2**63 + 5), "no array holds as they are"),
        ((2**53 + 1, 0.5), "no array holds as they are"),
        ((("a", 1), ("b", 2)), "no array holds as they are"),
        ((0, "x"), "which have no order"),
    ],
)
def test_labels_of_moments_that_an_array_would_change_are_refused(X, labels, told):
    moments = [Moments.estimate(X), Moments.estimate(X + 5.0)]
    with pytest.raises(InputError, match=told):
        TwoClassMPM().fit(dict(zip(labels, moments, strict=True)))
    assert TwoClassMPM().fit(dict(zip("ab", moments, strict=True))).classes_.tolist() == ["a", "b"]


# -- what is of no kind that counts, at doors of their own ----------------------------------------------------------------


def _machine(X):
    return cn.one_class_svm(LinearFeatures(X + 3), 0.3)


def _ball(X):
    return cn.single_class_mpm(Moments.estimate(X + 3), 0.3, FrobeniusBall(0.1))


def test_a_path_of_sets_tells_where_it_is(X):
    told = []
    _ball(X).path(uncertainty=[FrobeniusBall(0.1), FrobeniusBall(0.2)], confidence=[0.3, 0.4], progress=told.append)
    assert [line.split(", objective")[0] for line in told] == [
        "1 of 2: uncertainty = FrobeniusBall(radius=0.1), confidence = 0.3",
        "2 of 2: uncertainty = FrobeniusBall(radius=0.2), confidence = 0.4",
    ]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda X: cn.certify(X), r"formulation: .* was found; give what a factory returns"),
        (lambda X: cn.certify(None), r"formulation: None was found; give what a factory returns"),
        (lambda X: Kernel.from_recipe(np.array([0.3, 0.4])), r"recipe: .* give a mapping with 'name' and 'parameters'"),
        (lambda X: Kernel.from_recipe("gaussian"), r"recipe: .* give a mapping with 'name' and 'parameters'"),
        (lambda X: streams.moments_of(lambda x: x), r"source: function was found; give an array"),
        (lambda X: streams.moments_of(gaussian(gamma=1.0)), r"source: Gaussian was found; give an array"),
        (lambda X: streams.moments_of(X, columns=3), r"columns: 3 was found; give a list of names"),
        (lambda X: streams.moments_of(X, representation=X), r"representation: .* was found; give one of dense"),
        (lambda X: list(streams.score_chunks(OneClassSVM().fit(X), X, method=X)), r"method: .* was found; give one of"),
        (lambda X: Moments.estimate(X, representation=X), r"representation: .* was found; give one of dense"),
        (lambda X: Moments.estimate(X, representation=""), r"representation: '' was found; give one of dense"),
        (lambda X: Moments.estimate(X, representation=X, rank=1), r"representation: .* was found; give one of dense"),
        (lambda X: Moments.estimate(X).named(3), r"names: 3 was found; give a list with a name for each column"),
        (lambda X: Moments.estimate(X).named("ab"), r"names: 'ab' was found; give a list with a name for each column"),
        (lambda X: cn.semi_supervised(X, X, 0.3, replace=X), r"replace: .* was found; give True or False"),
        (lambda X: cn.semi_supervised(X, X, 0.3, replace="False"), r"replace: 'False' was found; give True or False"),
        (lambda X: cn.semi_supervised(X, X, 0.3, held_out=[[1, 2], [3]]), r"held_out: not a rectangular array"),
        (lambda X: Moments.low_rank([0.0, 0.0], X, [[1, 2], [3]]), r"diagonal: not a rectangular array"),
        (lambda X: cn.class_recognisers(LinearFeatures(X), [[1, 2], [3]], 0.5), r"labels: not a rectangular array"),
        (
            lambda X: _machine(X).path(outlier_fraction=0.3),
            r"outlier_fraction: 0.3 was found; give a list of the values",
        ),
        (
            lambda X: _ball(X).path(radius=[0.1], confidence=[0.3, 0.4]),
            r"path: 1 of radius, 2 of confidence were found",
        ),
        (lambda X: _machine(X).evaluate(3), r"values: 3 was found; give values by the letters"),
        (
            lambda X: _machine(X).evaluate({"strange": 1.0}),
            r"values: strange was found; give values by the letters alpha",
        ),
        (lambda X: _machine(X).subject_to(3), r"constraints: 3 was found; give CVXPY constraints"),
        (lambda X: _machine(X).subject_to(lambda values: None), r"constraints: None was found; give CVXPY constraints"),
        (lambda X: _machine(X).plus(None), r"term: None was found; give a real number"),
        (lambda X: _machine(X).plus(lambda values: "x"), r"term: 'x' was found; give a real number"),
        (lambda X: cn.persistence.load(3), r"path: 3 was found; give the name of a model file"),
        (lambda X: cn.cross_check(3), r"subjects: 3 was found; give the name of a method, or a list of problems"),
        (lambda X: FrobeniusBall(0.1).centred(3), r"moments: 3 was found; give cn.Moments"),
        (lambda X: ThresholdClassifier(1.0)(np.ma.array([1.0, 2.0], mask=[1, 0])), r"scores: 1 entries are masked"),
        (lambda X: ThresholdClassifier(1.0)(["1", "2"]), r"scores: entries of type <U1 were found"),
        (lambda X: cn.certify(_machine(X), ""), r"solver: '' is not installed"),
        (lambda X: cn.certify(_machine(X), float), r"solver: <class 'float'> was found; give a name"),
        (
            lambda X: streams.moments_of(lambda: 1),
            r"source: the function returned 1; give one that returns an iterator",
        ),
        (lambda X: streams.moments_of(X, features=X), r"features: .* was found; give a feature map"),
        (lambda X: streams.moments_of(X, weights=X), r"weights: .* was found; give the name of a column"),
        (lambda X: streams.moments_of(X, columns=[["a"]]), r"block 0: columns: "),
        (lambda X: streams.moments_by_class(X, None), r"classes: None was found; give the name of the column"),
        (lambda X: streams.as_source(X, columns=["a"]), r"columns: \['a'\] was found; give streams.Columns"),
        (lambda X: streams.Block.of(0, X, X), r"columns: .* was found; give streams.Columns"),
        (
            lambda X: gaussian(gamma=1.0)(1e200 * X),
            r"X: .* was found at row \d+, column \d, whose square is beyond float64",
        ),
        (lambda X: gaussian(gamma=1.0)(X, 1e200 * X), r"Z: .* was found at row \d+, column \d, whose square is beyond"),
        (lambda X: KernelDensity(X, 1.0, [1, 1]).log_density(1e200 * X), r"Z: .* whose square is beyond float64"),
        (lambda X: kkt_violation(X, X, 0.5), r"result: .* was found; give what solve_dual or dual_path returns"),
        (lambda X: solution_bound(None, LinearFeatures(X), 1.0), r"solution: None was found; give what solve returns"),
        (lambda X: solution_bound(_machine(X).solve(), X, 1.0), r"features: .* was found; give the features"),
        (lambda X: free_entries(np.nan), r"dimension: nan was found; give a finite number"),
        (lambda X: free_entries(2.5), r"dimension: 2.5 was found; give a whole number"),
        (lambda X: wishart_radius(2, 0.9, 30, mean="no"), r"mean: 'no' was found; give True or False"),
        (lambda X: NormBall(10**400, 0.1), r"p: a number beyond the range of float64 was found"),
        (lambda X: NormBall(np.timedelta64(2, "s"), 0.1), r"p: .* was found; give a real number"),
        (lambda X: NormBall(np.nan, 0.1), r"p: nan was found; give a finite number"),
        (lambda X: CovarianceHull([[1, 2], [3]]), r"scenarios\[0\]: shape \(2,\) was found; give a square matrix"),
        (lambda X: CovarianceHull(3), r"scenarios: 3 was found; give a list of covariances"),
        (lambda X: WeightedNormBall([[1, 2], [3]], 2, 0.1), r"weights: not a rectangular array"),
        (
            lambda X: extremal_distribution([0, 0], np.eye(2), [1, 0], 5).sample(3, "seed"),
            r"rng: 'seed' was found; give",
        ),
        (lambda X: cross_validated(3, X, [0.5], max), r"recipe: 3 was found; give a set of points, of means"),
        (
            lambda X: cross_validated(FrobeniusBall, X, [0.5], max),
            r"recipe: .* was found; give a set of points, of means",
        ),
        (lambda X: cross_validated(FrobeniusBall(1.0), X, [0.5], 3), r"score: 3 was found; give a function"),
        (lambda X: cross_validated(FrobeniusBall(1.0), X, 0.5, max), r"radii: 0.5 was found; give a list of numbers"),
        (lambda X: cross_validated(FrobeniusBall(1.0), X, ["0.5"], max), r"radii: '0.5' was found; give a real number"),
        (lambda X: concentration_radii(1e308, 100, 0.9), r"support_radius: 1e\+308 was found, whose square float64"),
        (lambda X: delage_ye_sizes(1e-160, 100, 2, 0.9), r"support_radius: 1e-160 was found, whose square float64"),
        (lambda X: delage_ye_sizes(1e140, 100, 2, 0.9), r"count: with 100 points"),
        (lambda X: delage_ye_sizes(1.7, 100, 3, 0.9), r"support_radius: 1.7 was found, and no law in 3 dimensions"),
        (lambda X: slack_sum([1.0], None), r"theta: None was found; give a real number"),
        (lambda X: margin_bound(100, 1.0, 1e308, 1e-308), r"gamma / \(norm radius\): inf was found"),
        (lambda X: margin_bound(100, 1.0, 1e-320, 1e300), r"gamma / \(norm radius\): 0 was found"),
    ],
)
def test_what_is_of_no_kind_that_counts_is_named(X, call, told):
    with pytest.raises(InputError, match=f"^{told}"):
        call(X)


@pytest.mark.parametrize("kind", [OneClassSVM, SingleClassMPM, TwoClassMPM])
@pytest.mark.parametrize(
    "weights",
    [
        np.ma.array(np.ones(30), mask=np.arange(30) == 3),
        ["1.0"] * 30,
        [10**400] * 30,
        10**400,
        [np.timedelta64(1, "s")] * 30,
        [None] * 30,
        [1j] * 30,
        {},
    ],
    ids=["masked", "words", "beyond float64", "one beyond", "spans", "None", "complex", "mapping"],
)
def test_weights_of_no_kind_that_counts_are_named(X, kind, weights):
    y = np.arange(30) % 2 if kind is TwoClassMPM else None
    with pytest.raises(InputError, match=r"^sample_weight: "):
        kind().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("points", [10**400, [[10**400, 1]] * 30], ids=["a number", "rows"])
def test_points_beyond_float64_are_named(X, points):
    detector = OneClassSVM().fit(X)
    for use in (OneClassSVM().fit, SemiSupervisedDetector(0.3).fit, detector.predict, detector.score_samples):
        with pytest.raises(InputError, match=r"^X: int too large to convert to float; give finite numbers"):
            use(points)


def test_functions_that_need_no_arguments_are_sources(X):
    for function in (lambda: iter([X]), lambda rows=None: iter([X]), functools.partial(iter, [X])):
        assert streams.moments_of(function).mean.tolist() == Moments.estimate(X).mean.tolist()


def _distances(P, Q):
    return np.sqrt(((P[:, None] - Q[None]) ** 2).sum(-1))


@pytest.mark.parametrize("kernel", ["sigmoid", _distances, lambda P, Q: np.round(3 * P @ Q.T)])
@pytest.mark.parametrize("kind", [OneClassSVM, SoftBall, SingleClassMPM, MahalanobisSVM])
def test_an_indefinite_kernel_is_named_with_its_least_eigenvalue(kind, kernel):
    X = np.random.default_rng(1).normal([4, 2, 1], 1.0, (40, 3))
    given = kernel if callable(kernel) else cn.kernels.sigmoid(gamma="scale", coef0=kind().coef0).fitted(X)
    least = np.linalg.eigvalsh(given(X, X))[0]
    told = r"^(X, )?kernel: the Gram matrix is not positive semidefinite, its least eigenvalue is (?P<least>-[0-9.]+);"
    with pytest.raises(IndefiniteError, match=told) as caught:
        kind(0.5, kernel=kernel).fit(X)
    assert float(re.match(told, str(caught.value))["least"]) == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_weights_are_finite_where_scikit_learn_takes_that_for_granted(wrong):
    weights = np.ones(30)
    weights[4] = wrong
    with sklearn.config_context(assume_finite=True), pytest.raises(InputError, match=r"sample_weight: .* at index 4"):
        OneClassSVM(0.2).fit(np.random.default_rng(0).standard_normal((30, 2)), sample_weight=weights)
