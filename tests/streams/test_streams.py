"""Every source gives the moments, features and scores that the same rows give in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexnovelty as cn
from convexnovelty import streams
from convexnovelty.errors import InputError
from convexnovelty.estimators import OneClassSVM, SingleClassMPM
from convexnovelty.features import KernelFeatures
from convexnovelty.moments import Moments

NAMES = ["a", "b", "c"]
TOLERANCE = 1e-10


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.normal(size=(1000, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.1]]) + [1e6, 0.0, -3.0]


def parquet_folder(X: np.ndarray, folder: Path) -> Path:
    target = folder / "parts"
    target.mkdir()
    for k, part in enumerate(np.array_split(X, 3)):
        pq.write_table(pa.table(dict(zip(NAMES, part.T, strict=True))), target / f"part{k}.parquet", row_group_size=70)
    return target


def npy_file(X: np.ndarray, folder: Path) -> Path:
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


SOURCES: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "array": lambda X, folder: X,
    "file": npy_file,
    "name of a file": lambda X, folder: str(npy_file(X, folder)),
    "memory map": lambda X, folder: np.load(npy_file(X, folder), mmap_mode="r"),
    "sparse": lambda X, folder: sp.csr_array(X),
    "sparse by columns": lambda X, folder: sp.csc_matrix(X),
    "pandas": lambda X, folder: pd.DataFrame(X, columns=NAMES),
    "pandas, numbered": lambda X, folder: pd.DataFrame(X),
    "polars": lambda X, folder: pl.DataFrame(dict(zip(NAMES, X.T, strict=True))),
    "list of blocks": lambda X, folder: [X[:10], X[10:11], X[11:]],
    "an empty block": lambda X, folder: [X[:0], X[:500], X[500:500], X[500:]],
    "iterator": lambda X, folder: iter(np.array_split(X, 13)),
    "function": lambda X, folder: lambda: iter(np.array_split(X, 13)),
    "iterator of frames": lambda X, folder: (pd.DataFrame(part, columns=NAMES) for part in np.array_split(X, 4)),
    "iterator of sparse": lambda X, folder: (sp.csr_array(part) for part in np.array_split(X, 4)),
    "Parquet folder": parquet_folder,
    "Parquet file": lambda X, folder: (
        pd.DataFrame(X, columns=NAMES).to_parquet(folder / "X.parquet", index=False) or folder / "X.parquet"
    ),
    "ParquetFile": lambda X, folder: (
        pd.DataFrame(X, columns=NAMES).to_parquet(folder / "X.pq", index=False) or pq.ParquetFile(folder / "X.pq")
    ),
    "dataset": lambda X, folder: pyarrow.dataset.dataset(parquet_folder(X, folder)),
    "table": lambda X, folder: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "Dask array": lambda X, folder: dask.array.from_array(X, chunks=(130, 2)),
    "Dask array of unknown lengths": lambda X, folder: (lambda D: D[D[:, 0] > 0])(dask.array.from_array(X, chunks=200)),
    "Dask frame": lambda X, folder: dask.dataframe.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=7),
    "Dask on Parquet": lambda X, folder: dask.dataframe.read_parquet(parquet_folder(X, folder)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_blocks_stack_to_the_points(name: str, X: np.ndarray, tmp_path: Path) -> None:
    source = SOURCES[name](X, tmp_path)
    blocks = [b.toarray() if sp.issparse(b) else b for b in streams.chunks(source, rows=100)]
    np.testing.assert_array_equal(np.vstack(blocks), X)
    if name in ("array", "memory map", "sparse", "pandas", "polars", "table"):
        assert len(blocks) == 10


@pytest.mark.parametrize("representation", ["dense", "diagonal", "low_rank"])
@pytest.mark.parametrize("name", SOURCES)
def test_moments_equal_those_in_memory(name: str, representation: str, X: np.ndarray, tmp_path: Path) -> None:
    found = streams.moments_of(SOURCES[name](X, tmp_path), representation=representation, ddof=1, rows=90)
    expected = Moments.estimate(X, representation=representation, ddof=1)
    assert (found.representation, found.count) == (representation, 1000)
    scale = np.sqrt(np.outer(expected.variances, expected.variances))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-15, atol=1e-14)
    assert np.abs((found.covariance - expected.covariance) / scale).max() < TOLERANCE


def test_what_is_subtracted_from_the_weight_is_subtracted_from_that_of_all() -> None:
    """A block, or a chunk that is added, may have less weight than that."""
    X, w = np.arange(12.0).reshape(6, 2) ** 1.5, np.array([0.3, 0.3, 0.3, 0.3, 0.3, 3.0])
    whole = {ddof: Moments.estimate(X, w, ddof=ddof).covariance for ddof in (1, 4)}
    for ddof, expected in whole.items():
        blocks = [(X[:3], w[:3]), (X[3:5], w[3:5]), (X[5:], w[5:])]
        np.testing.assert_allclose(streams.moments_of(iter(blocks), ddof=ddof).covariance, expected, rtol=1e-13)
        low = streams.moments_of(iter(blocks), ddof=ddof, representation="low_rank")
        np.testing.assert_allclose(low.covariance, expected, rtol=1e-12)
    for rows in (1, 2):
        found = streams.moments_of(X, rows=rows, ddof=2)
        np.testing.assert_allclose(found.covariance, np.cov(X.T, ddof=2), rtol=1e-13)
    for kind in ("dense", "diagonal", "low_rank"):
        begun = Moments.estimate(X[5:], w[5:], ddof=1, representation=kind)
        found = begun.update(X[:3], w[:3]).update(X[3:5], w[3:5])
        assert (found.ddof, found.count) == (1, pytest.approx(4.5))
        np.testing.assert_allclose(found.variances, whole[1].diagonal(), rtol=1e-13)
    table = pd.DataFrame(X, columns=["x", "y"]).assign(c=["a", "b", "a", "b", "a", "c"])
    found = streams.moments_by_class(table, "c", ddof=1, rows=1)
    np.testing.assert_allclose(found["a"].covariance, np.cov(X[[0, 2, 4]].T), rtol=1e-13)
    assert not found["c"].covariance.any()
    with pytest.raises(InputError, match="ddof: 6 was found where the weights add up to 6; give less"):
        streams.moments_of(X, rows=2, ddof=6)


def test_a_cut_is_that_of_the_whole(X: np.ndarray) -> None:
    found, expected = streams.moments_of(X, rank=2, rows=90), Moments.estimate(X, rank=2)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.specific_variances, expected.specific_variances, rtol=1e-9)


def test_many_columns_are_cut_at_each_merge_and_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams.results, "EXACT", 10)
    X = np.random.default_rng(0).normal(size=(300, 20)) * np.geomspace(10, 0.1, 20)
    found = streams.moments_of(sp.csr_array(X), rank=5, rows=50)
    assert found.loadings.shape[0] <= 5
    assert np.linalg.eigvalsh(found.covariance - Moments.estimate(X).covariance).min() > -1e-9


def test_weights_of_pairs_and_of_a_column(X: np.ndarray, tmp_path: Path) -> None:
    w = np.arange(1000.0) % 4
    expected = Moments.estimate(X, w)
    pairs = ((X[k : k + 100], w[k : k + 100]) for k in range(0, 1000, 100))
    frame = pd.DataFrame(X, columns=NAMES).assign(weight=w)
    frame.to_parquet(tmp_path / "w.parquet")
    for found in (
        streams.moments_of(pairs),
        streams.moments_of([(X[w == 0], w[w == 0]), (X, w)]),  # a block without any weight counts for nothing
        streams.moments_of(frame, weights="weight", rows=77),
        streams.moments_of(tmp_path / "w.parquet", weights="weight", columns=NAMES, rows=77),
        streams.moments_of(dask.dataframe.from_pandas(frame, npartitions=3), weights="weight"),
    ):
        assert found.count == w.sum()
        np.testing.assert_allclose(found.covariance, expected.covariance, rtol=TOLERANCE, atol=1e-9)


def test_columns_are_chosen_and_ordered_by_name(X: np.ndarray, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=NAMES).assign(who="x")
    frame.to_parquet(tmp_path / "t.parquet")
    expected = X[:, [2, 0]].mean(axis=0)
    for source in (frame, pl.from_pandas(frame), tmp_path / "t.parquet", dask.dataframe.from_pandas(frame)):
        np.testing.assert_allclose(streams.moments_of(source, columns=["c", "a"]).mean, expected, rtol=1e-12)


def test_classes_of_a_table(X: np.ndarray, tmp_path: Path) -> None:
    kind = np.where(np.arange(1000) < 900, "good", "bad")  # some blocks lack a class
    frame = pd.DataFrame(X, columns=NAMES).assign(kind=kind)
    frame.to_parquet(tmp_path / "k.parquet", index=False)
    for source in (frame, tmp_path / "k.parquet", dask.dataframe.from_pandas(frame, npartitions=5)):
        found = streams.moments_by_class(source, "kind", rows=100)
        assert list(found) == ["bad", "good"]
        for label in found:
            expected = Moments.estimate(X[kind == label])
            np.testing.assert_allclose(found[label].covariance, expected.covariance, rtol=TOLERANCE, atol=1e-9)


@pytest.mark.parametrize("name", ["array", "function", "Parquet folder", "Dask array"])
def test_features_of_a_sample_that_is_all_are_those_in_memory(name: str, X: np.ndarray, tmp_path: Path) -> None:
    source = SOURCES[name](X, tmp_path)
    found = streams.features_of(source, "gaussian", rank=20, sample=1000, rows=100)
    expected = KernelFeatures(X, "gaussian", rank=20)
    np.testing.assert_array_equal(found.points, X)
    np.testing.assert_allclose(found.kernel.gamma, expected.kernel.gamma, rtol=1e-10)
    np.testing.assert_array_equal(found.pivots, expected.pivots)


def test_moments_of_truncated_features_equal_those_in_memory(X: np.ndarray) -> None:
    features = streams.features_of(iter(np.array_split(X, 7)), "gaussian", rank=20, sample=200)
    found = streams.moments_of(X, features=features, rows=90)
    expected = Moments.estimate(features.coordinates(X))
    assert found.own_axes
    np.testing.assert_allclose(found.mean, expected.mean, atol=TOLERANCE)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=TOLERANCE)


def test_samples_are_reproducible_and_even(X: np.ndarray) -> None:
    rows = np.arange(1000.0)[:, None]
    drawn = [
        streams.features_of(rows, "gaussian", rank=5, sample=100, rows=90, random_state=k).points for k in range(40)
    ]
    again = streams.features_of(iter(np.split(rows, range(90, 1000, 90))), "gaussian", rank=5, sample=100).points
    np.testing.assert_array_equal(drawn[0], again)
    counts = np.histogram(np.concatenate(drawn), bins=10, range=(0, 1000))[0]
    assert abs(counts - 400).max() < 5 * np.sqrt(400 * 0.9)  # each tenth of the rows is drawn as often
    assert (np.diff(drawn[0].ravel()) > 0).all()


@pytest.mark.parametrize("name", [n for n in SOURCES if "sparse" not in n])
def test_scores_of_blocks_are_those_of_all_rows(name: str, X: np.ndarray, tmp_path: Path) -> None:
    detector = OneClassSVM(0.1).fit(X[:200])
    for method in ("decision_function", "predict", "score_samples"):
        found = np.concatenate(list(streams.score_chunks(detector, SOURCES[name](X, tmp_path), method=method, rows=90)))
        np.testing.assert_allclose(found, getattr(detector, method)(X), atol=1e-12)
        tmp_path = tmp_path / method
        tmp_path.mkdir()


@pytest.mark.filterwarnings("error")
def test_scores_go_by_the_names_of_columns(X: np.ndarray, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    detector = OneClassSVM(0.1).fit(frame[:200])
    moved = frame[["c", "a", "b"]].assign(note="text")
    moved.to_parquet(tmp_path / "moved.parquet")
    for source in (moved, pl.from_pandas(moved), tmp_path / "moved.parquet", dask.dataframe.from_pandas(moved)):
        found = np.concatenate(list(streams.score_chunks(detector, source, rows=90)))
        np.testing.assert_allclose(found, detector.decision_function(frame), atol=1e-12)
    with pytest.raises(InputError, match="none is called 'b'"):
        list(streams.score_chunks(detector, frame[["a", "c"]]))


@pytest.mark.parametrize("order", [["c", "a", "b"], ["b", "a", "c"]])
@pytest.mark.parametrize(
    "kind",
    [
        lambda frame: frame,
        pl.from_pandas,
        lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    ],
)
def test_the_blocks_of_a_stream_are_matched_by_name(kind: Any, order: list[str]) -> None:
    X, weights = np.random.default_rng(3).normal(size=(60, 3)) * [1, 5, 0.1] + [1, 2, 3], np.arange(1.0, 61.0)
    frame = pd.DataFrame(X, columns=list("abc"))
    first, later = kind(frame[:30]), kind(frame[30:][order])
    plain = Moments.estimate(X)
    for source in ([first, later], iter([first, later]), lambda: iter([first, later])):
        found = streams.moments_of(source)
        assert list(found.names or []) == ["a", "b", "c"]
        np.testing.assert_allclose(found.mean, plain.mean, rtol=1e-12)
        np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-12, atol=1e-14)
    found = streams.moments_of([(first, weights[:30]), (later, weights[30:])])
    np.testing.assert_allclose(found.mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
    weighted = [kind(frame[:30].assign(w=weights[:30])), kind(frame[30:].assign(w=weights[30:])[["w", *order]])]
    found = streams.moments_of(weighted, weights="w")
    np.testing.assert_allclose(found.mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
    back = streams.moments_of([later, first])
    np.testing.assert_allclose(back.mean, plain.mean[["abc".index(name) for name in order]], rtol=1e-12)
    machine = SingleClassMPM(kernel="linear").fit(lambda: iter([first, later]))
    np.testing.assert_allclose(
        machine.decision_function(X), SingleClassMPM(kernel="linear").fit(X).decision_function(X), rtol=1e-6, atol=1e-9
    )


def test_named_columns_may_stand_anywhere_in_each_block() -> None:
    first, second = pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"b": [4.0], "note": ["x"], "a": [3.0]})
    assert streams.moments_of([first, second], columns=["a", "b"]).mean.tolist() == [2.0, 3.0]
    with pytest.raises(InputError, match=r"block 1: columns: none is called 'c'"):
        streams.moments_of([first.assign(c=1.0), second], columns=["c", "b"])
    with pytest.raises(InputError, match=r"block 1: columns 2 were found where block 0 has 'a', 'b'"):
        streams.moments_of([first, np.ones((1, 2))], columns=["a", "b"])


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda frame: [frame], lambda frame: dask.dataframe.from_pandas(frame)])
def test_names_that_occur_twice_are_refused(kind: Any) -> None:
    twice = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=["a", "b", "a"])
    for columns in (["a"], ["b", "a"], None):
        with pytest.raises(InputError, match=r"columns: 2 are called 'a'; give each its own name"):
            streams.moments_of(kind(twice), columns=columns)
    assert streams.moments_of(kind(twice), columns=["b"]).mean.tolist() == [3.5]  # of those that are used
    with pytest.raises(InputError, match=r"columns: 'b' was found 2 times; give each name once"):
        streams.moments_of(kind(twice), columns=["b", "b"])
    mixed = pd.DataFrame([[1.0, 2.0]], columns=pd.Index([1, "1"], dtype=object))
    with pytest.raises(InputError, match=r"columns: 2 are called '1'"):
        streams.moments_of([mixed])


BAD = {
    "not a number": ([np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, np.nan]])], r"block 1: X: nan .* row 1, column 1"),
    "columns": ([np.ones((2, 2)), np.ones((2, 3))], r"block 1: columns 3 were found where block 0 has 2"),
    "names": (
        [pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1], "c": [2]})],
        r"block 1: columns 'b', 'c' were found where block 0 has 'a', 'b'",
    ),
    "numbers for names": (
        [pd.DataFrame({0: [1], 1: [2]}), pd.DataFrame({1: [1], 0: [2]})],
        r"block 1: columns '1', '0' were found where block 0 has '0', '1'",
    ),
    "words": ([np.array([["x", "y"]])], r"block 0: .*give real numbers"),
    "weights": ([(np.ones((2, 1)), [1.0, -1.0])], r"block 0: weights: -1 was found at position 1"),
    "nothing": (iter([]), "it has no block"),
    "no row": ([np.ones((0, 2))], "it has no row"),
    "a number": (3, "int was found"),
    "numbers": ([1.0, 2.0], "list was found"),
    "a wrong name": ("points.xyz", "str was found"),
    "a Dask bag": (__import__("dask.bag").bag.from_sequence([1, 2]), "Dask Bag was found"),
    "a Dask vector": (dask.array.ones(4), r"Dask array of shape \(4,\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_refused_with_its_place(name: str) -> None:
    source, message = BAD[name]
    with pytest.raises(InputError, match=message):
        streams.moments_of(source)


def test_a_dense_covariance_of_many_sparse_columns_is_refused() -> None:
    wide = sp.csr_array((np.ones(5), (np.arange(5), np.arange(5))), shape=(5, 50_000))
    with pytest.raises(InputError, match=r"covariance is dense and takes 20.0 GB"):
        streams.moments_of(wide)
    assert streams.moments_of(wide, representation="diagonal").dimension == 50_000
    assert streams.moments_of(wide, rank=2, rows=2).dimension == 50_000


@pytest.mark.parametrize("method", ["fit_predict", "fit", "set_params", "transform", 1])
def test_scores_are_asked_for_by_methods_that_learn_nothing(X: np.ndarray, method: Any) -> None:
    detector = OneClassSVM().fit(X)
    before = detector.decision_function(X)
    with pytest.raises(
        InputError, match=r"method: .* was found; give one of decision_function, predict, score_samples"
    ):
        list(streams.score_chunks(detector, X, method=method))
    np.testing.assert_array_equal(detector.decision_function(X), before)


CLASSES = {
    "None": (["u", None, "v"], "block 0: (None|nan) was found in row 1 of column 'k'; give every row a class"),
    "NaN": ([1.0, np.nan, 2.0], "block 0: nan was found in row 1 of column 'k'"),
    "NA": (pd.array(["u", pd.NA, "v"], dtype="string"), "block 0: (<NA>|None|nan) was found in row 1 of column 'k'"),
    "two types": (["u", 2, "v"], "classes: column 'k' has labels of types int, str; give labels of one type"),
    "two types that are equal": ([1, True, 0], "classes: column 'k' has labels of types bool, int; give labels of one"),
    "no labels": ([[1], [2], [1]], "classes: column 'k' has labels of types list; give labels of one type"),
}


@pytest.mark.parametrize("case", CLASSES)
@pytest.mark.parametrize("parquet", [False, True])
def test_rows_without_a_class_are_refused_by_name(case: str, parquet: bool, tmp_path: Path) -> None:
    labels, message = CLASSES[case]
    table: Any = pd.DataFrame({"a": [1.0, 2.0, 3.0], "k": labels})
    if parquet and case not in ("two types", "two types that are equal", "no labels"):  # which Parquet cannot hold
        table.to_parquet(tmp_path / "k.parquet")
        table = tmp_path / "k.parquet"
    with pytest.raises(InputError, match=message):
        streams.moments_by_class(table, "k")


def test_classes_of_two_types_in_two_blocks_are_refused_by_name() -> None:
    blocks = [pd.DataFrame({"a": [1.0, 2.0], "k": labels}) for labels in ([1, 2], ["u", "v"])]
    with pytest.raises(InputError, match="classes: column 'k' has labels of types int, str"):
        streams.moments_by_class(blocks, "k")
    blocks = [pd.DataFrame({"a": [1.0, 2.0], "k": labels}) for labels in ([0, 1], [False, True])]
    with pytest.raises(InputError, match="classes: column 'k' has labels of types bool, int"):
        streams.moments_by_class(blocks, "k")


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "Parquet"])
def test_classes_may_be_times_of_any_unit(kind: str, unit: str, tmp_path: Path) -> None:
    times = np.array([1500, 1501, 1500, 1501, 1501], dtype=f"datetime64[{unit}]")
    points = np.arange(10.0).reshape(5, 2) ** 2
    table: Any = pd.DataFrame(points, columns=["a", "b"]).assign(k=times)
    if kind == "polars":
        table = pl.from_pandas(table)
    if kind == "Parquet":
        table.to_parquet(tmp_path / "k.parquet")
        table = tmp_path / "k.parquet"
    found = streams.moments_by_class(table, "k", rows=2)
    assert [np.datetime64(label, unit) for label in found] == list(times[:2])
    for moments, rows in zip(found.values(), ([0, 2], [1, 3, 4]), strict=True):
        assert moments.count == len(rows)
        np.testing.assert_allclose(moments.mean, points[rows].mean(axis=0), rtol=1e-14)


def test_files_that_are_no_matrix_or_name_a_column_twice_are_refused_by_name(tmp_path: Path) -> None:
    np.save(tmp_path / "row.npy", np.arange(3.0))
    (tmp_path / "text.npy").write_text("a,b")
    pq.write_table(pa.table([[1.0, 2.0], [1.0, 2.0]], names=["a", "a"]), tmp_path / "twice.parquet")
    for name, message in (
        ("row.npy", r"row.npy holds an array of shape \(3,\); give one of two dimensions"),
        ("text.npy", "text.npy cannot be read as an array"),
        ("none.npy", "none.npy cannot be read as an array"),
        ("twice.parquet", "twice.parquet: columns of one name occur more than once; give each its own"),
    ):
        with pytest.raises(InputError, match=message):
            streams.moments_of(tmp_path / name)


def test_text_in_a_table_is_refused_by_name(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1.0], "who": ["me"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"column 'who': .*string was found"):
        streams.moments_of(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="none is called 'z'; found are 'a', 'who'"):
        streams.moments_of(tmp_path / "t.parquet", columns=["z"])
    with pytest.raises(InputError, match="ndarray has no names"):
        streams.moments_of(np.ones((2, 2)), columns=["z"])
    (tmp_path / "broken.parquet").write_text("no Parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        streams.moments_of(tmp_path / "broken.parquet")


def test_an_iterator_is_read_once() -> None:
    source = streams.as_source(iter([np.ones((2, 2))]))
    list(source.raw())
    with pytest.raises(InputError, match="give a function that returns one"):
        list(source.raw())


@pytest.mark.parametrize("name", SOURCES)
def test_exactly_one_kind_accepts_a_source(name: str, X: np.ndarray, tmp_path: Path) -> None:
    given = SOURCES[name](X, tmp_path)
    assert sum(kind.accepts(given) for kind in streams.source.kinds()) == 1


@pytest.mark.parametrize("given", [None, 3, "word", {"a": 1}, [[1.0, 2.0]], np.ones(3), object(), int, [], ()])
def test_other_objects_are_no_streams(given: Any) -> None:
    assert not streams.is_stream(given)


def test_optional_packages_are_imported_on_use_only() -> None:
    code = (
        "import sys, numpy as np; from convexnovelty import streams; streams.moments_of(np.ones((3, 2)));"
        "print([m for m in ('dask', 'pyarrow', 'pandas', 'cvxpy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_memory_stays_that_of_a_block(tmp_path: Path) -> None:
    import tracemalloc

    target = np.lib.format.open_memmap(tmp_path / "big.npy", mode="w+", shape=(400_000, 20))
    target[:] = np.arange(20.0)
    target.flush()
    del target
    tracemalloc.start()
    streams.moments_of(tmp_path / "big.npy", rows=10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6  # the file has 64 MB, a block 1.6


def _moved_columns():
    rng = np.random.default_rng(0)
    train, new = (
        pd.DataFrame(rng.standard_normal((n, 3)) * [1, 2, 0.5] + [3, 1, -2], columns=["x", "y", "w"]) for n in (60, 30)
    )
    return train, new, new[["w", "x", "y"]]


@pytest.mark.parametrize("make", [cn.LinearFeatures, lambda X: cn.KernelFeatures(X, cn.kernels.gaussian(gamma=0.3))])
@pytest.mark.parametrize("kind", ["frame", "list", "iterator", "function", "pairs", "parquet", "dask"])
def test_moments_in_the_coordinates_of_a_map_match_columns_by_name(kind, make, tmp_path):
    """The same points, whose columns stand in another order: `coordinates` of all of them at once is the other route."""
    train, new, moved = _moved_columns()
    features = make(train)
    wanted = cn.Moments.estimate(np.asarray(features.coordinates(new)))
    if kind == "parquet":
        source = tmp_path / "moved.parquet"
        moved.assign(extra=1.0).to_parquet(source)
    elif kind == "dask":
        source = pytest.importorskip("dask.dataframe").from_pandas(moved, npartitions=2)
    else:
        blocks = [moved[:12], moved[12:]]
        pairs = [(block, np.ones(len(block))) for block in blocks]
        source = {
            "frame": moved, "list": blocks, "iterator": iter(blocks), "function": lambda: iter(blocks), "pairs": pairs
        }[kind]  # fmt: skip
    columns = ["x", "w", "y"] if kind == "parquet" else None
    found = streams.moments_of(source, features=features, columns=columns)
    np.testing.assert_allclose(found.mean, wanted.mean, atol=1e-13)
    np.testing.assert_allclose(found.covariance, wanted.covariance, atol=1e-13)


def test_columns_that_a_map_does_not_know_are_refused():
    train, new, _ = _moved_columns()
    with pytest.raises(InputError, match="those of the feature map, and it lacks 'y'; has in addition 'z'"):
        streams.moments_of(new.rename(columns={"y": "z"}), features=cn.LinearFeatures(train))
    # Without names on either side columns are taken as they stand.
    assert streams.moments_of(new.to_numpy(), features=cn.LinearFeatures(train)).dimension == 3


@pytest.mark.parametrize("kind", ["frame", "list", "iterator", "parquet"])
def test_a_map_of_a_stream_knows_the_names_of_the_columns(kind, tmp_path):
    train, new, moved = _moved_columns()
    path = tmp_path / "train.parquet"
    train.assign(counts=1.0).to_parquet(path)
    weights = "counts" if kind == "parquet" else None
    source = {"frame": train, "list": [train[:20], train[20:]], "iterator": iter([train]), "parquet": path}[kind]
    features = streams.features_of(source, cn.kernels.gaussian(gamma=0.3), 20, weights=weights)
    assert features.names == ["x", "y", "w"]
    np.testing.assert_array_equal(features.coordinates(moved), features.coordinates(new.to_numpy()))
    assert streams.features_of(train.to_numpy(), rank=5).names is None


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_of_every_form_are_sources(form, kind):
    X = np.random.default_rng(0).integers(0, 3, (40, 4)).astype(float)
    made = getattr(sp, f"{form}_{kind}")(sp.csr_array(X))
    found = streams.moments_of(made, rows=7)
    assert found.covariance == pytest.approx(np.cov(X.T, bias=True), rel=1e-12)


@pytest.mark.parametrize("kind", ["array", "file", "frame", "Arrow", "Parquet", "blocks"])
def test_rows_of_single_precision_are_scored_as_such(kind: str, tmp_path: Path) -> None:
    """A scaler rounds to the precision that it is given: rows that tie in it would not in double precision."""
    rows = np.random.default_rng(3).poisson([1, 2], size=(400, 2)).astype(np.float32) / np.float32(3)
    frame = pd.DataFrame(rows, columns=["a", "b"])
    named = kind in ("frame", "Arrow", "Parquet")
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(0.1)).fit(frame if named else rows)
    np.save(tmp_path / "rows.npy", rows)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = {
        "array": rows,
        "file": tmp_path / "rows.npy",
        "frame": frame,
        "Arrow": pa.Table.from_pandas(frame),
        "Parquet": tmp_path / "rows.parquet",
        "blocks": [rows[:150], rows[150:]],
    }[kind]
    for method in ("decision_function", "predict"):
        whole = getattr(pipeline, method)(frame if named else rows)
        pieces = np.concatenate(list(streams.score_chunks(pipeline, source, rows=90, method=method)))
        np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-13)


def test_decimals_of_arrow_are_numbers(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([Decimal("1.25"), Decimal("2.50"), Decimal("4.00")]), "b": [1.0, 2.0, 4.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet", [table]):
        assert streams.moments_of(source).mean.tolist() == pytest.approx([7.75 / 3, 7 / 3], rel=1e-15)


def test_a_block_without_rows_has_no_weights() -> None:
    points, weights = np.arange(12.0).reshape(6, 2), np.arange(1.0, 7.0)
    blocks = [(points[:3], weights[:3]), (points[3:3], weights[3:3]), (points[3:], weights[3:])]
    found = streams.moments_of(blocks)
    np.testing.assert_allclose(found.covariance, Moments.estimate(points, weights).covariance, rtol=1e-14)
    with pytest.raises(InputError, match="block 0: weights"):
        streams.moments_of([(points[3:3], weights[:2]), (points, weights)])
