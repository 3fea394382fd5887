"""Tables whose columns have names are matched by them, in whatever order they stand; never by position."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pytest

import convexnovelty as cn
from convexnovelty import estimators, persistence, streams
from convexnovelty.columns import names_of
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.methods import two_class_mpm
from convexnovelty.novelty_scores import held_out_scores
from convexnovelty.uncertainty import Box, CovarianceHull, FrobeniusBall, MeanEllipsoid, MeanWithin

pd = pytest.importorskip("pandas")
NAMES, TURNED = ["a", "b", "c"], ["c", "a", "b"]
AWAY = np.array([5.0, 0.0, 0.0])


def frame(n: int = 120, seed: int = 0):
    """Columns in units so different that another order is another world."""
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)) * [1, 5, 0.1] + [4, -1, 10], columns=NAMES)


def frames(kind: str):
    """A function from a pandas frame to one of the given library."""
    return pytest.importorskip("polars").from_pandas if kind == "polars" else lambda table: table


LIBRARIES = pytest.mark.parametrize("library", ["pandas", "polars"])


@LIBRARIES
def test_unlabelled_points_are_matched_by_name(library):
    given, new = frames(library), frame(100, 1)
    new.iloc[60:] += AWAY
    X = given(frame())
    same, turned = given(new), given(new[TURNED])
    first, second = (estimators.SemiSupervisedDetector(0.1).fit(X, unlabelled=table) for table in (same, turned))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    one, two = (cn.semi_supervised(X, table, 0.1) for table in (same, turned))
    np.testing.assert_array_equal(one.novel(same), two.novel(same))
    np.testing.assert_array_equal(one.novel(turned), one.novel(same))
    held = given(frame(40, 2)[TURNED])
    calibrated = cn.semi_supervised(X, turned, 0.1, held_out=held)
    assert calibrated.threshold == cn.semi_supervised(X, same, 0.1, held_out=held[NAMES]).threshold
    for left, right in zip(held_out_scores(X, same), held_out_scores(X, turned), strict=True):
        np.testing.assert_array_equal(left, right)


def negatives(kind: str, table, folder):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(folder / "negatives.parquet")
        return str(folder / "negatives.parquet")
    return {"frame": table, "blocks": [table[:70], table[70:]], "pairs": [(table, np.ones(len(table)))]}[kind]


@pytest.mark.parametrize("kind", ["frame", "blocks", "pairs", "parquet"])
@pytest.mark.parametrize("by", ["constructor", "fit"])
def test_negatives_are_matched_by_name(kind, by, tmp_path):
    X, table = frame(20, 3) + AWAY, frame()
    expected = estimators.MomentClassifier(negative_moments=table).fit(X)
    given = negatives(kind, table[TURNED], tmp_path)
    made = estimators.MomentClassifier(negative_moments=given if by == "constructor" else None)
    found = made.fit(X, negative_moments=given if by == "fit" else None)
    assert found.guarantee_.bound == pytest.approx(expected.guarantee_.bound, rel=1e-9)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-6)


def test_an_iterator_of_negatives_in_another_order_is_refused():
    table = frame()
    blocks = (table[TURNED][k : k + 40] for k in range(0, 120, 40))
    with pytest.raises(InputError, match="negative_moments: columns c, a, b were found where X has a, b, c"):
        estimators.MomentClassifier(negative_moments=blocks).fit(frame(20, 3))
    again = (table[k : k + 40] for k in range(0, 120, 40))
    assert estimators.MomentClassifier(negative_moments=again).fit(frame(20, 3) + AWAY).guarantee_.bound < 1


def test_columns_that_are_not_the_same_are_refused_by_name():
    X = frame()
    other = X.rename(columns={"b": "d"})
    wrong = r"it lacks 'b'; has in addition 'd'; give the same columns"
    with pytest.raises(InputError, match=rf"unlabelled: .* those of X, and {wrong}"):
        estimators.SemiSupervisedDetector(0.1).fit(X, unlabelled=other)
    with pytest.raises(InputError, match=rf"unlabelled: .* those of nominal, and {wrong}"):
        cn.semi_supervised(X, other, 0.1)
    with pytest.raises(InputError, match=rf"negative_moments: .*{wrong}"):
        estimators.MomentClassifier(negative_moments=other).fit(X)
    with pytest.raises(InputError, match=r"Z: .* has more than once 'a'"):
        cn.features.LinearFeatures(X).coordinates(X[["a", "b", "c", "a"]])


def test_tables_without_names_stand_as_they_are():
    X = frame()
    plain = pd.DataFrame(X.to_numpy())  # columns 0, 1, 2: numbers, which are no names to scikit-learn either
    assert names_of(plain) is None and names_of(X.to_numpy()) is None and names_of(X) == NAMES
    expected = estimators.MomentClassifier(negative_moments=X).fit(X + AWAY).guarantee_.bound
    for table in (plain, X.to_numpy()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert estimators.MomentClassifier(negative_moments=table).fit(X + AWAY).guarantee_.bound == expected


@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_features_and_kernels_match_new_frames_by_name(kernel):
    X, Z = frame(30), frame(7, 1)
    chosen = cn.kernels.gaussian(gamma=0.1) if kernel else cn.kernels.linear()
    features = cn.features.KernelFeatures(X, chosen) if kernel else cn.features.LinearFeatures(X)
    for method in (features.coordinates, features.cross_gram, features.squared_norms):
        np.testing.assert_array_equal(method(Z[TURNED]), method(Z))
        np.testing.assert_array_equal(method(Z), method(Z.to_numpy()))
    np.testing.assert_array_equal(chosen(X, Z[TURNED]), chosen(X, Z))


@pytest.mark.parametrize("representation", ["dense", "diagonal", "low_rank"])
def test_moments_are_merged_by_name(representation):
    X, Z = frame(), frame(50, 1)

    def of(table):
        return cn.Moments.estimate(table, representation=representation)

    same = of(X) + of(Z)
    assert same.names == tuple(NAMES)
    for merged in (of(X) + of(Z[TURNED]), of(X).update(Z[TURNED]), of(X).update(Z), of(X) + of(Z.to_numpy())):
        assert merged.names == tuple(NAMES)
        np.testing.assert_allclose(merged.mean, same.mean, rtol=1e-14)
        np.testing.assert_allclose(merged.covariance, same.covariance, rtol=1e-12, atol=1e-12)
    assert (of(X.to_numpy()) + of(Z)).names == tuple(NAMES) and (of(X.to_numpy()) + of(Z.to_numpy())).names is None
    other = Z.rename(columns={"b": "d"})
    for merge in (lambda: of(X) + of(other), lambda: of(X).update(other)):
        with pytest.raises(InputError, match=r"matched by name with those of .* it lacks 'b'; has in addition 'd'"):
            merge()


def test_moments_of_sources_have_names(tmp_path):
    X = frame()
    X.to_parquet(tmp_path / "x.parquet")
    for source in (X, [X[:50], X[50:]], iter([X[:50], X[50:]]), tmp_path / "x.parquet"):
        assert streams.moments_of(source).names == tuple(NAMES)
    assert streams.moments_of(X, columns=TURNED).names == tuple(TURNED)
    assert streams.moments_of(X.to_numpy()).names is None
    found = streams.moments_by_class(X.assign(k=np.arange(len(X)) % 2), "k")
    assert [found[label].names for label in (0, 1)] == [tuple(NAMES)] * 2


def test_moments_with_names_are_used_by_them(tmp_path):
    X, table = frame(20, 3) + AWAY, frame()
    moments, turned = cn.Moments.estimate(table), cn.Moments.estimate(table[TURNED])
    right = cn.moment_classifier(X, moments).solve().objective
    assert cn.moment_classifier(X[TURNED], moments).solve().objective == pytest.approx(right, rel=1e-9)
    for factors in (None, 0, 1):
        machine = estimators.MomentClassifier(factors=factors, negative_moments=turned).fit(X)
        expected = estimators.MomentClassifier(factors=factors, negative_moments=moments).fit(X)
        assert machine.guarantee_.bound == pytest.approx(expected.guarantee_.bound, rel=1e-9)
        np.testing.assert_allclose(machine.decision_function(X), expected.decision_function(X), rtol=1e-6)
    with pytest.raises(InputError, match=r"moments_y: .* it lacks 'b'; has in addition 'd'"):
        cn.two_class_mpm(cn.Moments.estimate(X), cn.Moments.estimate(table.rename(columns={"b": "d"})))
    two = estimators.TwoClassMPM().fit({0: moments, 1: cn.Moments.estimate(X[TURNED])})
    expected = estimators.TwoClassMPM().fit({0: moments, 1: cn.Moments.estimate(X)})
    names = two.feature_names_in_.tolist()
    assert sorted(names) == NAMES
    np.testing.assert_allclose(two.decision_function(X[names]), expected.decision_function(X), rtol=1e-9)
    single = estimators.SingleClassMPM(kernel="linear").fit(moments)
    assert single.feature_names_in_.tolist() == NAMES
    scores = np.concatenate(list(streams.score_chunks(single, X[TURNED])))
    np.testing.assert_allclose(scores, single.decision_function(X), rtol=1e-9)
    persistence.save(estimators.MomentClassifier(negative_moments=turned).fit(X), tmp_path / "m.npz")
    assert persistence.load(tmp_path / "m.npz").negative_moments.names == tuple(TURNED)


@pytest.mark.parametrize("iterator", [False, True])
def test_blocks_that_are_frames_leave_their_names(iterator):
    X = frame()
    blocks = [X[:50], X[50:]]
    machine = estimators.SingleClassMPM(kernel="linear").fit(iter(blocks) if iterator else blocks)
    assert machine.feature_names_in_.tolist() == NAMES
    expected = machine.decision_function(X)
    for table in (X[TURNED], [X[TURNED][:30], X[TURNED][30:]], [(X[TURNED], np.ones(len(X)))]):
        scores = np.concatenate(list(streams.score_chunks(machine, table)))
        np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_names_that_an_estimator_never_knew_are_warned_of():
    X = frame()
    machine = estimators.SingleClassMPM(kernel="linear").fit(X.to_numpy())
    with pytest.warns(UserWarning, match="SingleClassMPM was fitted without feature names"):
        list(streams.score_chunks(machine, X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(streams.score_chunks(machine, X.to_numpy()))


# Each is refused after the points were read.
DETECTORS = {
    "OneClassSVM": {"false_alarm_rate": 1e-6},
    "SoftBall": {"outlier_fraction": -1.0},
    "SingleClassMPM": {"confidence": 0.9999999, "kernel": "linear"},
    "MahalanobisSVM": {"false_alarm_rate": 1e-6},
    "KernelLearningSVM": {"false_alarm_rate": 1e-6},
    "SemiSupervisedDetector": {"false_positive_rate": 1e-6},
}


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_a_refit_that_fails_leaves_the_old_model_whole(name):
    X = frame(40)
    machine = getattr(estimators, name)().fit(X)
    expected = machine.decision_function(X)
    with pytest.raises(ConvexNoveltyError):
        machine.set_params(**DETECTORS[name]).fit(X[TURNED])
    assert machine.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(machine.decision_function(X), expected)
    with pytest.raises(ConvexNoveltyError):
        machine.fit(X[["a", "b"]])
    assert machine.n_features_in_ == 3
    fresh = type(machine)(**machine.get_params())
    with pytest.raises(ConvexNoveltyError):
        fresh.fit(X)
    assert not hasattr(fresh, "feature_names_in_") and not hasattr(fresh, "n_features_in_")


def test_a_function_that_is_not_symmetric_is_no_kernel():
    def one_sided(X, Z):
        squares = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
        return np.exp(-squares / 2) * (1 + np.tanh(X[:, None, 0] - Z[None, :, 0]))

    X = np.random.default_rng(0).normal(size=(30, 2))
    for name in ("OneClassSVM", "SoftBall", "SingleClassMPM", "MahalanobisSVM"):
        with pytest.raises(InputError, match=r"gives .* and .* for the same in the other order; give a symmetric"):
            getattr(estimators, name)(kernel=one_sided).fit(X)
    for rank in (None, 10):
        with pytest.raises(InputError, match="give a symmetric function"):
            cn.features.KernelFeatures(X, one_sided, rank=rank)
    with pytest.raises(InputError, match="give a symmetric function"):
        estimators.TwoClassMPM(kernel=one_sided).fit(X, np.repeat([0, 1], 15))


USES = {
    "moments": cn.Moments.estimate,
    "features": cn.LinearFeatures,
    "coordinates": lambda table: cn.LinearFeatures(np.eye(3)).coordinates(table),
    "fit": estimators.OneClassSVM(0.1).fit,
    "predict": lambda table: estimators.OneClassSVM(0.1).fit(np.eye(3)).predict(table),
    "stream": lambda table: streams.moments_of([table]),
}


@pytest.mark.parametrize("use", USES)
def test_columns_that_are_numbered_are_taken_as_they_stand_in_order_and_refused_out_of_it(use):
    """Numbers are no names, but a table of moved numbers may have been meant by them."""
    table = frame().set_axis([0, 1, 2], axis=1)
    USES[use](table)
    USES[use](table.set_axis([3, 5, 9], axis=1))
    with pytest.raises(InputError, match=r"its columns are numbered 2, 0, 1, and .* sort them"):
        USES[use](table[[2, 0, 1]])
    USES[use](table[[2, 0, 1]].to_numpy())
    waves = frame().set_axis([400.5, 401.0, 401.5], axis=1)
    USES[use](waves)
    with pytest.raises(InputError, match=r"its columns are numbered 401.5, 401.0, 400.5, and .* sort them"):
        USES[use](waves[[401.5, 401.0, 400.5]])


@pytest.mark.parametrize(
    "uncertainty",
    [None, FrobeniusBall(0.2), (FrobeniusBall(0.2), MeanWithin(Box([0.1, 0.2, 0.3]))), CovarianceHull([np.eye(3)])],
    ids=repr,
)
@pytest.mark.parametrize("node", ["socp", "kappa_search", "scalar_root", "semi_infinite", "two_class_mpm"])
def test_moments_of_two_classes_are_matched_by_the_names_of_their_columns(node, uncertainty):
    """The truth is the second class's moments with the columns of the first, turned by the frame itself."""
    rng = np.random.default_rng(4)
    other = pd.DataFrame(rng.normal(size=(20, 3)) @ np.diag([1.0, 2.0, 0.5]) + [4.0, 1.0, -3.0], columns=NAMES)
    x, y, turned = (cn.Moments.estimate(table) for table in (frame(), other, other[TURNED]))
    if two_class_mpm.METHOD.nodes.get(node) is not None:
        refusal = two_class_mpm.METHOD.nodes[node].refusal({"moments_x": x, "moments_y": y, "uncertainty": uncertainty})
        if refusal is not None:
            pytest.skip(refusal)
    made = [getattr(two_class_mpm, node)(x, given, uncertainty) for given in (y, turned)]
    right, found = (one.solve() if isinstance(one, cn.Formulation) else one for one in made)
    assert found.objective == pytest.approx(right.objective, rel=1e-7)
    # A solver knows a direction to the root of its accuracy; another order of columns is another world.
    np.testing.assert_allclose(found.region.normal, right.region.normal, atol=1e-5 * np.abs(right.region.normal).max())
    assert found.guarantee.bound == pytest.approx(right.guarantee.bound, rel=1e-7)


def test_names_of_which_some_are_numbers_are_refused_with_what_would_do():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), columns=["a", 1, "c"])
    with pytest.raises(TypeError, match=r"string names.*give columns that all have words for names"):
        estimators.OneClassSVM().fit(frame)
    assert estimators.OneClassSVM().fit(frame.rename(columns=str)).n_features_in_ == 3


def test_moments_and_features_refuse_them_too():
    """Neither names nor places match two frames whose columns are named in part by words."""
    mixed = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=["a", 1, 2])
    calls = (lambda: cn.Moments.estimate(mixed), lambda: cn.KernelFeatures(mixed, cn.kernels.Gaussian(0.5)))
    for call in calls:
        with pytest.raises(InputError, match=r"for all of its columns or for none, and 'a', 1, 2 were found; give"):
            call()
    entries = pd.Series([1.0, 2.0, 3.0], index=["a", 1, 2])
    with pytest.raises(InputError, match="for all of its entries or for none"):
        cn.Moments(entries, np.eye(3))


@pytest.mark.parametrize("beside", [None, "intersection", "product"])
def test_estimators_match_labelled_scenarios_with_their_frames(beside):
    """The same two covariances, without names in the frame's order and with names in another one."""
    rng, order = np.random.default_rng(0), list("cab")
    first, second = (
        pandas.DataFrame(rng.normal(size=(60, 3)) * [1, 5, 0.1] + middle, columns=list("abc"))
        for middle in ([3, 30, 3], [0, 20, 3.5])
    )
    scenarios, both, y = [first.cov(), second.cov()], pandas.concat([first, second]), [1] * 60 + [0] * 60

    def hull(given):
        made = CovarianceHull(given)
        return {None: made, "intersection": made & FrobeniusBall(100.0), "product": MeanEllipsoid(0.1) * made}[beside]

    plain, named = hull([S.to_numpy() for S in scenarios]), hull([S.loc[order, order] for S in scenarios])
    fits = [
        lambda given: estimators.TwoClassMPM(uncertainty=given).fit(both, y),
        lambda given: estimators.MomentClassifier(uncertainty=given).fit(both, y),
        lambda given: estimators.SingleClassMPM(0.5, uncertainty=given, kernel="linear").fit(first),
    ]
    if beside != "product":
        fits.append(lambda given: estimators.MahalanobisSVM(0.2, uncertainty=given, kernel="linear").fit(first))
        found = [cn.mahalanobis_svm(cn.LinearFeatures(first), 0.2, each).solve().objective for each in (named, plain)]
        assert found[0] == pytest.approx(found[1], rel=1e-9)
    for fit in fits:
        one, other = fit(named), fit(plain)
        assert one.guarantee_.bound == pytest.approx(other.guarantee_.bound, rel=1e-9)
        assert one.decision_function(both) == pytest.approx(other.decision_function(both), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("kind", ["OneClassSVM", "SingleClassMPM", "TwoClassMPM"])
def test_labelled_gram_matrices_are_matched_by_their_points(kind):
    """Learnt from points by the formula of their kernel, and from a frame of its values in any order of columns."""
    names, kernel, rng = [f"p{i}" for i in range(14)], cn.kernels.gaussian(gamma=0.3), np.random.default_rng(0)
    turned, y = list(rng.permutation(names)), [0, 1] * 7
    X, Z = rng.normal(size=(14, 2)) + np.array([y, y]).T, rng.normal(size=(5, 2))
    gram, cross = pd.DataFrame(kernel(X), names, names)[turned], pd.DataFrame(kernel(Z, X), columns=names)
    made = [getattr(estimators, kind)(kernel=each) for each in (kernel, cn.kernels.precomputed())]
    direct, given = made[0].fit(X, y), made[1].fit(gram, y)
    for rows, points in ((gram, X), (cross, Z), (cross[turned], Z)):
        assert given.decision_function(rows) == pytest.approx(direct.decision_function(points), rel=1e-5, abs=1e-6)
    with pytest.raises(InputError, match="lacks 'p0'; has in addition 'z'"):
        given.predict(cross.rename(columns={"p0": "z"}))
