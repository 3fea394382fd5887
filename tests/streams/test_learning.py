"""Estimators that learn from moments and from sources give what they give in memory."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import pytest

from convexnovelty import persistence, streams
from convexnovelty.cli import main
from convexnovelty.errors import InputError
from convexnovelty.estimators import MomentClassifier, SingleClassMPM, TwoClassMPM
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import MeanEllipsoid

RNG = np.random.default_rng(8)
X = RNG.normal(size=(600, 3)) * [1.0, 2.0, 0.5] + [3.0, -2.0, 4.0]
NEGATIVE = RNG.normal(size=(400, 3)) @ np.diag([2.0, 1.0, 1.0])
NEW = RNG.normal(size=(50, 3)) * 4.0


@pytest.mark.parametrize("uncertainty", [None, MeanEllipsoid(0.1)])
def test_half_spaces_from_sources_are_those_in_memory(uncertainty: Any, tmp_path: Path) -> None:
    machine = SingleClassMPM(0.6, kernel="linear", uncertainty=uncertainty)
    expected = machine.fit(X).decision_function(NEW)
    np.save(tmp_path / "X.npy", X)
    w = np.arange(600.0) % 3
    for source in (tmp_path / "X.npy", iter(np.array_split(X, 7)), Moments.estimate(X)):
        found = machine.fit(source)
        np.testing.assert_allclose(found.decision_function(NEW), expected, rtol=1e-9, atol=1e-7)
        assert found.n_features_in_ == 3
    weighted = machine.fit([(X[:300], w[:300]), (X[300:], w[300:])]).decision_function(NEW)
    np.testing.assert_allclose(weighted, machine.fit(X, sample_weight=w).decision_function(NEW), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("mean", [3.0, 1e3, 1e5, 1e7])
def test_the_threshold_from_a_source_is_that_in_memory_however_far_points_lie(mean: float) -> None:
    """Rows are told apart by what they are in fractions, and thresholds by the deviation of their scores."""
    rows = np.random.default_rng(0).normal(size=(400, 3)) + mean
    memory = SingleClassMPM(0.5, kernel="linear", ridge=0).fit(rows)
    for source in ([rows[:200], rows[200:]], Moments.estimate(rows)):
        blocks = SingleClassMPM(0.5, kernel="linear", ridge=0).fit(source)
        deviation = float(np.std(blocks.score_samples(rows)))
        assert abs(blocks.offset_ - memory.offset_) <= 1e-7 * deviation
        assert 0 <= 1.0 - blocks.offset_ <= 1e-6 * deviation
        normal = [Fraction(v) for v in blocks.score_.normal.tolist()]
        exact = [sum(a * Fraction(b) for a, b in zip(normal, row, strict=True)) for row in rows.tolist()]
        assert (blocks.predict(rows) < 0).tolist() == [score < 1 for score in exact]
        assert (blocks.predict(rows) < 0).sum() > 50


@pytest.mark.filterwarnings("error")
def test_names_of_columns_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "X.parquet")
    for source in (tmp_path / "X.parquet", dask.dataframe.from_pandas(frame)):
        machine = SingleClassMPM(0.6, kernel="linear").fit(source)
        assert machine.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names"):
            machine.predict(frame[["b", "a", "c"]])
    assert not hasattr(machine.fit(Moments.estimate(X)), "feature_names_in_")


def test_kernels_of_fixed_rank_from_a_source() -> None:
    machine = SingleClassMPM(0.5, kernel="gaussian", rank=30)
    expected = machine.fit(X).decision_function(NEW)
    # The sample of 2,000 rows is all there is, so that the features are those in memory too.
    found = machine.fit(lambda: iter(np.array_split(X, 7)))
    np.testing.assert_allclose(found.decision_function(NEW), expected, rtol=1e-7, atol=1e-6)
    assert found.n_features_in_ == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_a_rank_that_moves_scores_too_far_is_refused_of_a_source_as_in_memory(weighted: bool) -> None:
    w = np.arange(600.0) % 3 if weighted else np.ones(600)
    blocks = list(zip(np.array_split(X, 7), np.array_split(w, 7), strict=True)) if weighted else np.array_split(X, 7)
    for rank in (3, 10):
        said = []
        for fit in (
            lambda machine: machine.fit(X, sample_weight=w if weighted else None),
            lambda machine: machine.fit(lambda: iter(blocks)),
        ):
            with pytest.raises(InputError, match=rf"rank: {rank} was found, at which .* give a larger rank") as refusal:
                fit(SingleClassMPM(0.2, kernel="gaussian", rank=rank))
            said.append(str(refusal.value))
        assert said[0].startswith(said[1]) and said[0].endswith("or rank=None, which is exact")
    machine = SingleClassMPM(0.2, kernel="gaussian", rank=40)
    inside = machine.fit(X, sample_weight=w if weighted else None).certificate_.error
    assert machine.fit(lambda: iter(blocks)).certificate_.error == pytest.approx(inside, rel=1e-3)


def test_a_rank_is_judged_in_the_rows_that_were_drawn_of_a_long_source() -> None:
    long = np.random.default_rng(1).normal([3.0, 1.0, 2.0], size=(4000, 3))
    machine = SingleClassMPM(0.2, kernel="gaussian", gamma=0.05)
    with pytest.raises(InputError, match="rank: 3 was found"):
        machine.set_params(rank=3).fit(iter_of(long))
    exact = machine.set_params(rank=None).fit(long).score_samples(long[:1000])
    for rank in (20, 40):
        found = machine.set_params(rank=rank).fit(iter_of(long))
        missed = np.sqrt(np.mean((found.score_samples(long[:1000]) - exact) ** 2)) / exact.std()
        assert missed < found.certificate_.error < 5 * missed


def iter_of(points: np.ndarray) -> Any:
    """A function that starts a new iterator over blocks."""
    return lambda: iter(np.array_split(points, 5))


def test_a_machine_that_learnt_from_a_source_is_saved(tmp_path: Path) -> None:
    machine = SingleClassMPM(0.5, kernel="gaussian", rank=40).fit(lambda: iter(np.array_split(X, 7)))
    persistence.save(machine, tmp_path / "m.npz")
    again = persistence.load(tmp_path / "m.npz")
    assert (again.decision_function(NEW) == machine.decision_function(NEW)).all()


def test_two_classes_from_their_moments(tmp_path: Path) -> None:
    both, labels = np.vstack([X, NEGATIVE]), np.repeat(["yes", "no"], [600, 400])
    machine = TwoClassMPM()
    expected = machine.fit(both, labels)
    frame = pd.DataFrame(both, columns=["a", "b", "c"]).assign(kind=labels)
    frame.to_parquet(tmp_path / "both.parquet")
    for source in (frame, tmp_path / "both.parquet", dask.dataframe.from_pandas(frame, npartitions=4)):
        found = TwoClassMPM().fit(streams.moments_by_class(source, "kind", rows=130))
        assert found.classes_.tolist() == ["no", "yes"]
        np.testing.assert_allclose(found.decision_function(NEW), expected.decision_function(NEW), rtol=1e-6, atol=1e-8)
        assert (found.predict(NEW) == expected.predict(NEW)).all()


def test_negatives_from_a_source() -> None:
    both, labels = np.vstack([NEGATIVE, X[:30]]), np.repeat([0, 1], [400, 30])
    expected = MomentClassifier().fit(both, labels).decision_function(NEW)
    found = MomentClassifier(negative_moments=iter(np.array_split(NEGATIVE, 5))).fit(both, labels)
    np.testing.assert_allclose(found.decision_function(NEW), expected, rtol=1e-8, atol=1e-8)


REFUSED = {
    "weights beside": (lambda: SingleClassMPM(kernel="linear").fit(iter([X]), sample_weight=[1.0]), "pairs of points"),
    "held-out rows": (lambda: SingleClassMPM(kernel="linear", false_alarm_rate=0.1).fit(iter([X])), "are held out"),
    "kernel of moments": (lambda: SingleClassMPM().fit(Moments.estimate(X)), "moments know no points"),
    "rank of moments": (
        lambda: SingleClassMPM(kernel="linear", rank=1).fit(Moments.estimate(X)),
        "rank: 1 was found, but moments know no points to choose from; leave rank None",
    ),
    "rank of moments of classes": (
        lambda: TwoClassMPM(rank=1).fit({0: Moments.estimate(X), 1: Moments.estimate(NEGATIVE)}),
        "rank: 1 was found, but moments know no points to choose from; leave rank None",
    ),
    "kernel and rank of moments": (
        lambda: SingleClassMPM(rank=1).fit(Moments.estimate(X)),
        "kernel: 'gaussian' was found, but moments know no points; give kernel='linear' and rank=None",
    ),
    "kernel without rank": (lambda: SingleClassMPM().fit(iter([X])), "give a number to read"),
    "one pass for two": (lambda: SingleClassMPM(rank=5).fit(iter([X])), "function that returns one"),
    "labels twice": (
        lambda: TwoClassMPM().fit({0: Moments.estimate(X), 1: Moments.estimate(X)}, [0, 1]),
        "leave y out",
    ),
    "one class": (lambda: TwoClassMPM().fit({0: Moments.estimate(X)}), "0: Moments was found"),
    "points": (lambda: TwoClassMPM().fit({0: X, 1: X}), "0: ndarray, 1: ndarray was found"),
    "dimensions": (
        lambda: TwoClassMPM().fit({0: Moments.estimate(X), 1: Moments.estimate(X[:, :2])}),
        "dimensions 3 and 2",
    ),
    "kernel of two": (
        lambda: TwoClassMPM(kernel="gaussian").fit({0: Moments.estimate(X), 1: Moments.estimate(X)}),
        "moments know no points",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_source_cannot_serve_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_a_model_of_detect_scores_a_file_beyond_memory(kernel: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "train.csv", index=False)
    new = pd.DataFrame(NEW, columns=["a", "b", "c"])
    new.to_csv(tmp_path / "new.csv", index=False)
    calls = [
        "detect",
        str(tmp_path / "train.csv"),
        str(tmp_path / "new.csv"),
        "--kernel",
        kernel,
        "--confidence",
        "0.3",
    ]
    assert main([*calls, "--save", str(tmp_path / "m.npz"), "--out", str(tmp_path / "out.csv")]) == 0
    # The same rows from Parquet, with the columns in another order and one more, a few at a time.
    new[["c", "a", "b"]].assign(who="x").to_parquet(tmp_path / "new.parquet")
    model = persistence.load(tmp_path / "m.npz")
    scores = np.concatenate(list(streams.score_chunks(model, tmp_path / "new.parquet", rows=7)))
    np.testing.assert_allclose(scores, pd.read_csv(tmp_path / "out.csv")["score"], rtol=1e-9, atol=1e-9)
