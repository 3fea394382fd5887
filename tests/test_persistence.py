"""Models in files: every estimator comes back the same, and whatever is not such a file is refused."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from convexnovelty import estimators, kernels, persistence, uncertainty
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.moments import Moments
from convexnovelty.whitened_kernels import whitened

DATA, LABEL = load_breast_cancer(return_X_y=True)
X, NEW = DATA[LABEL == 1][:60, :5] / DATA[:, :5].std(axis=0), DATA[LABEL == 0][:40, :5] / DATA[:, :5].std(axis=0)
TWO = np.vstack([X, NEW]), np.repeat(["benign", "malignant"], [len(X), len(NEW)])
E = estimators

CASES: dict[str, Any] = {
    "SingleClassMPM": E.SingleClassMPM(),
    "SingleClassMPM linear": E.SingleClassMPM(kernel="linear", random_state=np.random.RandomState(0)),
    "SingleClassMPM set, rank": E.SingleClassMPM(uncertainty=uncertainty.FrobeniusBall(0.01), rank=20),
    "SingleClassMPM calibrated": E.SingleClassMPM(false_alarm_rate=0.1, random_state=0),
    "OneClassSVM": E.OneClassSVM(),
    "OneClassSVM polynomial": E.OneClassSVM(kernel="poly"),
    "OneClassSVM kernel object": E.OneClassSVM(kernel=kernels.laplacian()),
    "OneClassSVM linear by CVXPY": E.OneClassSVM(kernel="linear", solver="CLARABEL"),
    "OneClassSVM whitened": E.OneClassSVM(kernel=whitened("gaussian", Moments.estimate(X))),
    "SoftBall": E.SoftBall(),
    "SoftBall linear": E.SoftBall(kernel="linear"),
    "SoftBall by CVXPY": E.SoftBall(solver="CLARABEL", rank=15),
    "MahalanobisSVM": E.MahalanobisSVM(),
    "KernelLearningSVM": E.KernelLearningSVM(),
    "KernelLearningSVM polynomial of large columns": E.KernelLearningSVM(kernels=[kernels.polynomial(2, 1e6)]),
    "SemiSupervisedDetector": E.SemiSupervisedDetector(),
    "TwoClassMPM": E.TwoClassMPM(),
    "TwoClassMPM gaussian": E.TwoClassMPM(kernel="gaussian", ridge=1e-3),
    "MomentClassifier": E.MomentClassifier(),
    "MomentClassifier moments": E.MomentClassifier(negative_moments=Moments.estimate(X)),
}


def fitted(estimator: Any) -> Any:
    return estimator.fit(*TWO) if is_classifier(estimator) else estimator.fit(X)


def test_every_estimator_has_a_case() -> None:
    assert set(E.__all__) == {name.split()[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_decides_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    made = fitted(CASES[name])
    persistence.save(made, tmp_path / "model.npz")
    loaded = persistence.load(tmp_path / "model.npz")
    points = np.vstack([X, NEW, X[::2] + 1e-3])
    assert type(loaded) is type(made)
    np.testing.assert_array_equal(loaded.decision_function(points), made.decision_function(points))
    np.testing.assert_array_equal(loaded.predict(points), made.predict(points))
    assert str(loaded.guarantee_) == str(made.guarantee_)
    if made.guarantee_ is not None:
        assert loaded.guarantee_.bound == made.guarantee_.bound
    assert (loaded.certificate_ is None) == (made.certificate_ is None)
    persistence.save(loaded, tmp_path / "again.npz")
    assert persistence.load(tmp_path / "again.npz").n_features_in_ == 5


def test_the_unlabelled_kind_of_the_detector_is_saved(tmp_path: Path) -> None:
    made = E.SemiSupervisedDetector().fit(X, unlabelled=NEW)
    persistence.save(made, tmp_path / "model.npz")
    found = persistence.load(tmp_path / "model.npz").decision_function(NEW)
    np.testing.assert_array_equal(found, made.decision_function(NEW))


def test_a_pipeline_with_units_and_names_is_saved(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(DATA[:80, :3], columns=["radius", "Länge", "c"])
    made = make_pipeline(StandardScaler(with_mean=False), E.OneClassSVM()).fit(frame)
    persistence.save(made, tmp_path / "m.npz", notes={"seen": ["a", 1, None], "rows": X})
    loaded, notes = persistence.read(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.decision_function(frame), made.decision_function(frame))
    assert loaded.feature_names_in_.tolist() == ["radius", "Länge", "c"]
    assert notes["seen"] == ["a", 1, None]
    np.testing.assert_array_equal(notes["rows"], X)


@pytest.mark.filterwarnings("error::UserWarning")
def test_what_a_scaler_puts_out_is_kept(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(DATA[:80, :3], columns=["radius", "Länge", "c"])
    for kind in ("pandas", "default"):
        made = make_pipeline(StandardScaler().set_output(transform=kind), E.OneClassSVM()).fit(frame)
        persistence.save(made, tmp_path / "m.npz", overwrite=True)
        loaded = persistence.load(tmp_path / "m.npz")
        assert type(loaded[0].transform(frame)) is type(made[0].transform(frame))
        np.testing.assert_array_equal(loaded.decision_function(frame), made.decision_function(frame))


@pytest.mark.parametrize("unit", ["D", "ns", "15m"])
def test_classes_may_be_dates(unit: str, tmp_path: Path) -> None:
    days = np.array(["2020-02-29", "1950-01-01"], f"datetime64[{unit}]")
    made = E.TwoClassMPM().fit(TWO[0], np.repeat(days, [len(X), len(NEW)]))
    persistence.save(made, tmp_path / "m.npz")
    found = persistence.load(tmp_path / "m.npz").predict(TWO[0])
    assert found.dtype == days.dtype
    np.testing.assert_array_equal(found, made.predict(TWO[0]))
    assert set(found.astype("datetime64[D]").astype(str)) == {"2020-02-29", "1950-01-01"}


def test_the_same_model_gives_the_same_bytes_and_numpy_reads_them(tmp_path: Path) -> None:
    made = E.OneClassSVM().fit(X)
    for name in "ab":
        persistence.save(made, tmp_path / f"{name}.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert archive["a0"].shape[1] == 5


def test_a_set_is_kept_as_text_and_asked_for_on_fitting(tmp_path: Path) -> None:
    made = E.SingleClassMPM(uncertainty=uncertainty.FrobeniusBall(0.01)).fit(X)
    persistence.save(made, tmp_path / "m.npz")
    loaded = persistence.load(tmp_path / "m.npz")
    assert repr(loaded.uncertainty) == "<not saved: FrobeniusBall(radius=0.01)>"
    wanted = r"^uncertainty: FrobeniusBall\(radius=0.01\) was not saved, .*with set_params\(uncertainty=...\)$"
    with pytest.raises(ConvexNoveltyError, match=wanted):
        loaded.fit(X)
    with pytest.raises(ConvexNoveltyError, match=wanted):
        loaded.fit(Moments.estimate(X))
    loaded.set_params(uncertainty=made.uncertainty).fit(X)
    np.testing.assert_array_equal(loaded.decision_function(NEW), made.decision_function(NEW))


@pytest.mark.parametrize(
    "made",
    [
        E.MomentClassifier(uncertainty=uncertainty.FrobeniusBall(0.01)),
        E.TwoClassMPM(uncertainty=uncertainty.FrobeniusBall(0.01)),
        E.MahalanobisSVM(uncertainty=uncertainty.FrobeniusBall(0.01)),
    ],
    ids=lambda made: type(made).__name__,
)
def test_every_estimator_says_that_its_file_does_not_hold_the_set(made: Any, tmp_path: Path) -> None:
    persistence.save(made.fit(*TWO), tmp_path / "m.npz")
    loaded = persistence.load(tmp_path / "m.npz")
    with pytest.raises(
        ConvexNoveltyError, match=r"^uncertainty: .* was not saved, since a model file holds the text alone"
    ):
        loaded.fit(*TWO)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (E.OneClassSVM(), "OneClassSVM was found, which is not fitted; call fit first"),
        (LogisticRegression().fit(*TWO), "LogisticRegression was found"),
        (make_pipeline(MinMaxScaler(), E.OneClassSVM()).fit(X), "MinMaxScaler was found, which a model file"),
        (E.OneClassSVM(kernel=lambda A, B: A @ B.T + 1).fit(X), "a function has no recipe and cannot be saved"),
        (E.SemiSupervisedDetector(novelty_score=LogisticRegression()).fit(X, unlabelled=NEW), "_Fitted was found"),
    ],
    ids=["not fitted", "of another library", "another step", "a function", "a classifier inside"],
)
def test_what_cannot_be_saved_is_said(made: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        persistence.save(made, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def test_files_are_not_overwritten_unless_asked(tmp_path: Path) -> None:
    target = tmp_path / "m.npz"
    target.write_text("mine")
    made = E.OneClassSVM().fit(X)
    with pytest.raises(InputError, match="is there already"):
        persistence.save(made, target)
    assert target.read_text() == "mine"
    persistence.save(made, target, overwrite=True)
    persistence.load(target)
    with pytest.raises(InputError, match="a folder was found"):
        persistence.save(made, tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        persistence.save(made, tmp_path / "none" / "m.npz")


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "m.npz"
    target.write_text("mine")
    with pytest.raises(KeyboardInterrupt), persistence.written(target, overwrite=True) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]
    assert target.read_text() == "mine"


# What a forger can do: the sums are right, the parts are not.


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.npz"
    persistence.save(E.OneClassSVM().fit(X[:12]), path)
    return path


def forged(model: Path, target: Path, change: Any) -> Path:
    """The model with a changed header or changed members and a SHA-256 that fits."""
    with zipfile.ZipFile(model) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("header.json"))
    del header["sha256"]
    change(header, members)
    header["sha256"] = persistence._sum(header, list(members.values()))
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("header.json", persistence._canonical(header))
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


class Trap:
    def __reduce__(self) -> Any:
        return os.mkdir, ("trapped",)


def _giant(header: Any, members: Any) -> None:
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 5), }"
    body = text + " " * (117 - len(text)) + "\n"
    members["a0.npy"] = b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body.encode()
    header["arrays"][0]["shape"] = [10**12, 5]


def _score(header: Any, **fields: Any) -> None:
    header["model"]["fitted"]["score_"]["fields"].update(fields)


FORGERIES: dict[str, Any] = {
    "another format": lambda h, m: h.update(format="other"),
    "a later version": lambda h, m: h.update(version=2),
    "an unknown class": lambda h, m: h["model"].update(name="os.system"),
    "a class that is no estimator": lambda h, m: h["model"].update(name="Trap"),
    "an unknown kind": lambda h, m: h["model"].update({"$": "eval"}),
    "a parameter too many": lambda h, m: h["model"]["parameters"].update(evil=1),
    "a method replaced": lambda h, m: h["model"]["fitted"].update(fit="x"),
    "a dunder": lambda h, m: h["model"]["fitted"].update(__class__="x"),
    "an unknown kernel": lambda h, m: _score(h, kernel={"$": "kernel", "recipe": {"$": "mapping", "items": {}}}),
    "no kernel": lambda h, m: _score(h, kernel="gaussian?"),
    "no support": lambda h, m: _score(h, support=None),
    "text as coefficients": lambda h, m: _score(h, coefficients="abc"),
    "support and coefficients of other sizes": lambda h, m: _score(h, coefficients={"$": "array", "index": 0}),
    "an array that is not there": lambda h, m: _score(h, support={"$": "array", "index": 99}),
    "a negative index": lambda h, m: _score(h, support={"$": "array", "index": -1}),
    "other columns": lambda h, m: h["model"]["fitted"].update(n_features_in_=10**12),
    "an offset that is no number": lambda h, m: h["model"]["fitted"].update(offset_=None),
    "an infinite offset": lambda h, m: h["model"]["fitted"].update(offset_={"$": "number", "text": "inf"}),
    "names that do not fit": lambda h, m: h["model"]["fitted"].update(
        feature_names_in_={"$": "strings", "object": True, "items": ["a"]}
    ),
    "a pickle": lambda h, m: m.update({"a0.npy": _npy(np.array([Trap()], dtype=object))}),
    "a huge shape": _giant,
    "an array of NaN": lambda h, m: m.update({"a0.npy": _npy(np.full(h["arrays"][0]["shape"], np.nan))}),
    "a path outside": lambda h, m: m.update({"../../evil.npy": b"x"}),
    "an absolute path": lambda h, m: m.update({"/tmp/evil.npy": b"x"}),
    "a member too many": lambda h, m: m.update({"setup.py": b"raise SystemExit"}),
    "a member missing": lambda h, m: m.pop("a0.npy"),
    "deep nesting": lambda h, m: h.update(notes=_deep()),
    "notes that are no mapping": lambda h, m: h.update(notes=1),
    "nothing fitted": lambda h, m: h["model"].update(fitted={}),
    "no estimator": lambda h, m: h.update(model=7),
    "an output of no scaler": lambda h, m: h["model"].update(output="pandas"),
    "times of another type": lambda h, m: h["model"]["fitted"].update(
        seen_={"$": "times", "type": "O,<i8", "counts": 1}
    ),
    "numbers beyond their type": lambda h, m: h["model"]["fitted"].update(
        offset_={"$": "narrow", "type": "|u1", "numbers": {"$": "array", "index": 0}}
    ),
    "numbers of another type": lambda h, m: h["model"]["fitted"].update(
        offset_={"$": "narrow", "type": "O", "numbers": {"$": "array", "index": 0}}
    ),
    "times without counts": lambda h, m: h["model"]["fitted"].update(
        seen_={"$": "times", "type": "<M8[D]", "counts": "abc"}
    ),
}


def _deep() -> Any:
    node: Any = 1
    for _ in range(400):
        node = {"$": "list", "items": [node]}
    return node


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_files_are_refused_and_run_nothing(name: str, model: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    target = forged(model, tmp_path / "forged.npz", FORGERIES[name])
    if name == "deep nesting":  # either an error of the package or a harmless model
        try:
            persistence.load(target)
        except InputError:
            pass
        return
    with pytest.raises(InputError, match=r"forged.npz: not a model that can be used"):
        persistence.load(target)
    assert [path.name for path in tmp_path.iterdir()] == ["forged.npz"]


def test_compressed_members_are_refused(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "bomb.npz"
    with zipfile.ZipFile(model) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            copy.writestr(name, archive.read(name))
    with pytest.raises(InputError, match="compressed or encrypted"):
        persistence.load(target)


def test_other_files_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such model file"):
        persistence.load(tmp_path / "none.npz")
    with pytest.raises(InputError, match="bytes were found where at most 100 are allowed"):
        persistence.load(model, max_bytes=100)
    for content in (b"", b"hello", b"PK\x03\x04", _npy(X)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(InputError, match="not a model"):
            persistence.load(tmp_path / "other")
    np.savez(tmp_path / "other.npz", X=X)
    with pytest.raises(InputError, match=r"header\.json and arrays belong"):
        persistence.load(tmp_path / "other.npz")
    with pytest.raises(InputError, match="model"):
        persistence.load(tmp_path)


@settings(max_examples=300)
@given(data=st.data())
def test_a_flipped_bit_is_found_or_changes_nothing(data: st.DataObject, model: Path) -> None:
    content = bytearray(model.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    _same_or_refused(bytes(content), model)


@settings(max_examples=100)
@given(data=st.data())
def test_a_file_cut_short_or_grown_is_found_or_the_same(data: st.DataObject, model: Path) -> None:
    content = model.read_bytes()
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    _same_or_refused(cut + data.draw(st.binary(max_size=40)), model)
    _same_or_refused(content + data.draw(st.binary(max_size=40)), model)


def _same_or_refused(content: bytes, model: Path) -> None:
    changed = model.with_name("changed.npz")
    changed.write_bytes(content)
    try:
        loaded = persistence.load(changed)
    except InputError:
        return
    np.testing.assert_array_equal(loaded.decision_function(NEW), persistence.load(model).decision_function(NEW))


def test_labels_beyond_the_whole_numbers_of_a_file_are_refused(tmp_path: Path) -> None:
    """They came back as negative numbers, and with them other classes."""
    X = np.vstack([np.eye(3), np.eye(3) + 4.0])
    machine = estimators.TwoClassMPM().fit(X, np.repeat(np.array([7, 2**63 + 5], dtype=np.uint64), 3))
    assert machine.predict(X)[-1] == 2**63 + 5
    with pytest.raises(InputError, match=r"9223372036854775813 was found, .* give strings"):
        persistence.save(machine, tmp_path / "m.npz")


@pytest.mark.parametrize("kind", ["float32", "float16", ">f8", "int8", "uint32", ">i4", "uint64"])
def test_labels_keep_their_type(kind: str, tmp_path: Path) -> None:
    X = np.vstack([np.eye(3), np.eye(3) + 4.0])
    labels = np.repeat(np.array([1, 2], dtype=kind), 3)
    machine = estimators.TwoClassMPM().fit(X, labels)
    persistence.save(machine, tmp_path / "m.npz")
    loaded = persistence.load(tmp_path / "m.npz")
    assert loaded.predict(X).dtype == np.dtype(kind).newbyteorder("=")
    assert loaded.predict(X).tolist() == labels.tolist()
