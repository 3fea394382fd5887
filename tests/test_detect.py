"""``convexnovelty detect``: what it prints, writes, keeps and refuses, on real data in files."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import OutlierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from convexnovelty import estimators, persistence, pieces
from convexnovelty.cli import main
from convexnovelty.detection import Request, held_out, load_model, methods
from convexnovelty.estimators import OneClassSVM, SemiSupervisedDetector, SingleClassMPM
from convexnovelty.explanation import column_weights, drivers
from convexnovelty.novelty_scores import column_units, constant_columns, held_out_scores

RAW = load_breast_cancer(as_frame=True)
DATA = RAW.data.iloc[:, :8].rename(columns=lambda name: name.removeprefix("mean "))
BENIGN, MALIGNANT = DATA[RAW.target == 1], DATA[RAW.target == 0]
TRAIN, NEW = BENIGN.iloc[:200], pd.concat([BENIGN.iloc[200:230], MALIGNANT.iloc[:30]])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with train.csv and new.csv, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    TRAIN.to_csv("train.csv", index=False)
    NEW.to_csv("new.csv", index=False)
    return tmp_path


def detect(capsys: Any, *arguments: str) -> str:
    """What the command prints where all is well."""
    code = main(["detect", *arguments])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return str(printed.out)


def refused(capsys: Any, *arguments: str) -> str:
    """What it says where it refuses."""
    assert main(["detect", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("convexnovelty: ")
    assert printed.err.count("\n") == 1
    return str(printed.err)


def line(text: str, word: str) -> str:
    return next(row for row in text.splitlines() if row.startswith(word))


def test_the_methods_are_the_estimators_that_need_no_labels() -> None:
    kinds = [getattr(estimators, name) for name in estimators.__all__]
    assert set(methods().values()) == {kind for kind in kinds if issubclass(kind, OutlierMixin)}
    assert {"single-class-mpm", "one-class-svm", "soft-ball", "mahalanobis-svm"} <= set(methods())


COMMAND = re.compile(r"^```text\nconvexnovelty detect ([^\n]*)\n```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_walk_prints_what_its_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[1] / "docs" / "detect.md").read_text()
    exec(re.search(r"^```text\n(from sklearn.*?)^```", page, re.DOTALL | re.MULTILINE)[1], {})
    walked = COMMAND.findall(page)
    assert len(walked) == 2
    for arguments, shown in walked:
        printed = detect(capsys, *arguments.split())
        for said in shown.split("\n\nrow ")[0].splitlines():  # the table below is as wide as the terminal
            assert said in printed


def test_one_command_says_all_that_a_newcomer_needs(files: Path, capsys: Any) -> None:
    text = detect(capsys, "train.csv", "new.csv", "--top", "3")
    assert "train.csv: 200 rows, 8 columns (comma-separated, decimal point, names in the first row)" in text
    assert "single-class-mpm, confidence 0.5 (columns in units of their standard deviation)" in line(text, "method")
    assert "gaussian: it scores more often an unseen ordinary row" in line(text, "kernel")
    assert "linear 0." in line(text, "kernel")
    assert "mean and covariance are those of the kernel's features" in text and "--calibrate 0.05" in text
    assert text.rstrip().endswith(
        "nearest ordinary row of training; sd: how far off, in standard deviations of the column"
    )
    assert "P(outside) <= 0.5 for every distribution" in line(text, "guarantee")
    assert "of 200 training rows" in line(text, "training")
    mean, deviation = TRAIN.mean(), TRAIN.std(ddof=0)
    estimator = SingleClassMPM().fit((TRAIN - mean) / deviation)
    count = int((estimator.predict((NEW - mean) / deviation) == -1).sum())
    assert f"{count} of 60 rows of new.csv ({count / 60:.1%}) are novel" in line(text, "result")
    table = text.split("\n\n")[1].splitlines()
    assert table[0].split() == "row score verdict features that drive it nearest ordinary rows of training".split()
    assert sum(row.startswith("line ") for row in table) == 3
    assert " sd)" in text


@pytest.mark.parametrize("name", sorted(methods()))
def test_every_method_finds_malignant_rows_and_comes_back_from_a_file(name: str, files: Path, capsys: Any) -> None:
    first = detect(
        capsys, "train.csv", "new.csv", "--method", name, "--calibrate", "0.1", "--save", "m.npz", "--out", "a.csv"
    )
    assert "P(an ordinary point is called novel) <= 0.0" in line(first, "guarantee")
    found = pd.read_csv("a.csv")
    assert found.columns.tolist() == ["line", "score", "verdict"]
    novel = (found.verdict == "novel").to_numpy()
    assert (novel == (found.score < 0)).all()
    assert novel[30:].mean() > novel[:30].mean() + 0.2
    second = detect(capsys, "new.csv", "--model", "m.npz", "--out", "b.csv")
    assert "learnt from train.csv (200 rows)" in line(second, "model")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    for word in ("method", "kernel", "guarantee", "training", "result", "row", "line"):
        assert line(first, word) == line(second, word)


def test_a_saved_model_is_a_pipeline_for_python(files: Path, capsys: Any) -> None:
    detect(capsys, "train.csv", "new.csv", "--save", "m.npz", "--out", "scores.csv")
    model = persistence.load("m.npz")
    scores = pd.read_csv("scores.csv").score
    np.testing.assert_allclose(model.decision_function(NEW), scores, rtol=1e-12)
    assert model.feature_names_in_.tolist() == list(NEW.columns)


# Kernels, and why a row is novel.


def test_linear_contributions_add_up_to_the_score(files: Path, capsys: Any) -> None:
    arguments = ("train.csv", "new.csv", "--method", "one-class-svm", "--kernel", "linear")
    text = detect(capsys, *arguments, "--save", "m.npz", "--outlier-fraction", "0.2")
    assert "one-class-svm, outlier_fraction 0.2" in line(text, "method")
    assert "linear: as asked for" in line(text, "kernel")
    assert "at most the fraction 0.2" in line(text, "guarantee")
    model = load_model("m.npz")
    weights = model.detector.score_.normal / model.units
    row = NEW.to_numpy()[35]
    parts = (row - model.centre) * weights
    scores = model.scores(np.vstack([row, model.centre]))
    assert parts.sum() == pytest.approx(scores[0] - scores[1])
    reason, nearest = drivers(model, row)
    assert nearest == ""
    assert reason.startswith(DATA.columns[int(np.argmin(parts))])


@pytest.mark.parametrize(
    "detector",
    [
        estimators.OneClassSVM(kernel="linear"),
        estimators.OneClassSVM(kernel="linear", solver="CLARABEL"),
        estimators.OneClassSVM(kernel="linear", rank=3),
        estimators.SingleClassMPM(kernel="linear"),
        estimators.MahalanobisSVM(kernel="linear"),
        estimators.SoftBall(kernel="linear"),
        estimators.SoftBall(kernel="linear", solver="CLARABEL"),
        estimators.SoftBall(kernel="linear", rank=3),
        estimators.SoftBall(),
    ],
    ids=str,
)
def test_weights_of_columns_give_the_score(detector: Any, rng: np.random.Generator) -> None:
    X = rng.normal([3.0, -1.0, 2.0], 1.0, (40, 3))
    found = column_weights(detector.fit(X))
    if detector.kernel != "linear" or (detector.rank and isinstance(detector, estimators.SoftBall)):
        assert found is None
        return
    assert found is not None
    kind, weights = found
    scores = detector.decision_function(X)
    parts = X @ weights if kind == "plane" else -((X - weights) ** 2).sum(axis=1)
    assert kind == ("ball" if isinstance(detector, estimators.SoftBall) else "plane")
    np.testing.assert_allclose(scores - scores[0], parts - parts[0], rtol=1e-6, atol=1e-9 * np.abs(parts).max())


def test_the_columns_that_lie_far_from_the_centre_of_a_ball_are_named(tmp_path: Path, capsys: Any) -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal([10, 20, 30], 1, (60, 3)), columns=["a", "b", "c"])
    rows.to_csv(tmp_path / "train.csv", index=False)
    rows[:3].assign(b=[20.0, 90.0, 21.0]).to_csv(tmp_path / "new.csv", index=False)
    files = (str(tmp_path / "train.csv"), str(tmp_path / "new.csv"))
    text = detect(capsys, *files, "--method", "soft-ball", "--kernel", "linear", "--top", "1")
    assert re.search(r"novel +b 90 \(ordinary (19|20)", text)
    assert "the value in the centre of the ball" in text and "nearest" not in text


def test_a_kernel_that_is_not_taken_warns_of_nothing(tmp_path: Path, capsys: Any, rng: np.random.Generator) -> None:
    """Around the origin the linear candidate separates nothing, and says so only where it is asked for."""
    files = tmp_path / "train.csv", tmp_path / "new.csv"
    for file, rows in zip(files, (40, 7), strict=True):
        pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc")).to_csv(file, index=False)
    arguments = *map(str, files), "--method", "one-class-svm", "--top", "0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "gaussian: it scores more often" in detect(capsys, *arguments)
    with pytest.warns(UserWarning, match="w = 0 to the solver's accuracy"):
        detect(capsys, *arguments, "--kernel", "linear")


def test_the_odd_column_of_a_row_is_named(tmp_path: Path, capsys: Any, rng: np.random.Generator) -> None:
    ordinary = rng.normal(5.0, 1.0, (80, 4))
    strange = ordinary[:5].copy()
    strange[3, 2] += 20.0
    strange[4, 1] -= 4.9
    for name, rows in (("t.csv", ordinary), ("n.csv", strange)):
        pd.DataFrame(rows, columns=list("abcd")).to_csv(tmp_path / name)
    train, new = str(tmp_path / "t.csv"), str(tmp_path / "n.csv")
    for method in ("single-class-mpm", "soft-ball", "semi-supervised-detector"):
        text = detect(capsys, train, new, "--method", method, "--top", "1")
        [row] = text.split("\n\n")[1].splitlines()[1:2]
        assert row.startswith("3 (line 5)")
        assert " novel " in row
        assert " c 2" in row.replace("  ", " ").split("novel")[1][:6]
    text = detect(capsys, train, new, "--method", "one-class-svm", "--kernel", "linear", "--top", "1")
    assert text.split("\n\n")[1].splitlines()[1].startswith("4 (line 6)")
    assert "novel    b " in text


def test_the_choice_of_a_kernel_is_explained(tmp_path: Path, capsys: Any, rng: np.random.Generator) -> None:
    corner = np.hypot(*rng.standard_normal((2, 100)))[:, None] * [1.0, 1.0] + [[9.0, 9.0]]
    pd.DataFrame(corner, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    train = str(tmp_path / "t.csv")
    asked = detect(capsys, train, train, "--kernel", "gaussian")
    assert line(asked, "kernel") == "kernel     gaussian: as asked for"
    pd.DataFrame(corner[:10], columns=["a", "b"]).to_csv(tmp_path / "few.csv", index=False)
    few = detect(capsys, str(tmp_path / "few.csv"), train)
    assert line(few, "kernel") == "kernel     gaussian: of 10 rows none can be spared to compare kernels"
    none = detect(capsys, train, train, "--method", "semi-supervised-detector")
    assert line(none, "kernel").startswith("kernel     none: ")


def test_columns_have_equal_say_whatever_their_units(files: Path, capsys: Any) -> None:
    plain = detect(capsys, "train.csv", "new.csv", "--out", "a.csv")
    for name, table in (("train2.csv", TRAIN), ("new2.csv", NEW)):
        (table * [1e-6, 1e6, 1, 1, 1e3, 1, 1, 1]).to_csv(name, index=False)
    scaled = detect(capsys, "train2.csv", "new2.csv", "--out", "b.csv")
    np.testing.assert_allclose(pd.read_csv("a.csv").score, pd.read_csv("b.csv").score, atol=1e-6)
    assert line(plain, "method") == line(scaled, "method")
    raw = detect(capsys, "train.csv", "new.csv", "--no-units")
    assert "units" not in line(raw, "method")


def test_means_far_from_zero_do_not_hide_what_is_novel(tmp_path: Path, capsys: Any, rng: np.random.Generator) -> None:
    """Columns about 20, 1000 and 45: their common spread says nothing of how far a row is out."""
    ordinary = rng.normal([20.0, 1000.0, 45.0], [1.0, 5.0, 4.0], (300, 3))
    pd.DataFrame(ordinary, columns=list("tph")).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame([[35.0, 1000.0, 45.0], [20.0, 900.0, 45.0], [20.0, 1000.0, 45.0]], columns=list("tph")).to_csv(
        tmp_path / "n.csv", index=False
    )
    for name in sorted(methods()):
        arguments = (str(tmp_path / "t.csv"), str(tmp_path / "n.csv"), "--method", name, "--calibrate", "0.05")
        text = detect(capsys, *arguments, "--out", str(tmp_path / "o.csv"), "--force")
        assert pd.read_csv(tmp_path / "o.csv").verdict.tolist() == ["novel", "novel", "ordinary"], name
        assert "t 35 (ordinary " in text
        assert "p 900 (ordinary " in text


def test_calibration_keeps_its_rate_on_rows_never_seen(tmp_path: Path, capsys: Any) -> None:
    """Over many splits the share of false alarms stays below the bound, although units and kernel are learnt too."""
    alarms = []
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(len(BENIGN))
        BENIGN.iloc[order[:120]].to_csv(tmp_path / "t.csv", index=False)
        BENIGN.iloc[order[120:]].to_csv(tmp_path / "n.csv", index=False)
        arguments = (str(tmp_path / "t.csv"), str(tmp_path / "n.csv"), "--method", "one-class-svm", "--seed", str(seed))
        text = detect(capsys, *arguments, "--calibrate", "0.1", "--top", "0")
        alarms.append(float(line(text, "result").split("(")[1].split("%")[0]) / 100)
    assert np.mean(alarms) <= 0.081 + 3 * np.std(alarms) / np.sqrt(len(alarms))  # 0.081 = 3/37, what 36 rows can keep


@pytest.mark.parametrize("method", ["one-class-svm", "semi-supervised-detector"])
def test_rows_that_set_the_threshold_fill_no_gaps(
    method: str, tmp_path: Path, capsys: Any, rng: np.random.Generator
) -> None:
    """A held-out row that moves far away moves no score but its own; a row that is learnt from does."""
    train = pd.DataFrame(rng.normal(size=(40, 3)) + 5, columns=list("abc"))
    train.iloc[::4, 1] = train.iloc[1::4, 2] = np.nan
    new = pd.DataFrame([[5.0, np.nan, 5.0], [4.0, 5.0, np.nan], [6.0, 4.0, 5.0]], columns=list("abc"))
    new.to_csv(tmp_path / "n.csv", index=False)
    held = held_out(Request(method, calibrate=0.2, seed=3), 40)
    kernel = ["--kernel", "linear"] if method == "one-class-svm" else []

    def scores(row: int | None) -> tuple[Any, Any]:
        moved = train.copy()
        if row is not None:
            moved.iloc[row, :] = [9.0, 9.5, 9.25]
        moved.to_csv(tmp_path / "t.csv", index=False)
        paths = [str(tmp_path / name) for name in ("t.csv", "n.csv", "s.csv", "m.npz")]
        options = ("--method", method, "--calibrate", "0.2", "--seed", "3", *kernel, "--missing", "mean", "--force")
        said = detect(capsys, *paths[:2], *options, "--out", paths[2], "--save", paths[3])
        assert "n.csv: 2 gaps filled with means of the training rows that are not held out" in said
        model = load_model(paths[3])
        # What the scores would be at any threshold, and the means that are kept for tomorrow's rows.
        return np.diff(pd.read_csv(paths[2]).score), model.means

    differences, means = scores(None)
    np.testing.assert_allclose(means, train[~held].mean())
    for row in np.flatnonzero(held)[:3]:
        found = scores(int(row))
        np.testing.assert_array_equal(found[1], means)
        np.testing.assert_allclose(found[0], differences, rtol=1e-9, atol=1e-12)
    found = scores(int(np.flatnonzero(~held)[0]))
    assert (found[1] != means).all() and not np.allclose(found[0], differences, rtol=1e-3)


def test_a_column_without_values_where_it_is_learnt_from_is_refused(tmp_path: Path, capsys: Any) -> None:
    train = pd.DataFrame(np.arange(80.0).reshape(40, 2) % 7, columns=["a", "b"])
    train.loc[~held_out(Request("one-class-svm", calibrate=0.2), 40), "b"] = np.nan
    paths = str(tmp_path / "t.csv"), str(tmp_path / "n.csv")
    train.to_csv(paths[0], index=False)
    (tmp_path / "n.csv").write_text("a,b\n1,2\n")
    options = ("--method", "one-class-svm", "--missing", "mean")
    assert "column 'b' has no value in the rows that are not held out" in refused(
        capsys, *paths, *options, "--calibrate", "0.2"
    )
    assert "gaps filled with means of the training rows\n" in detect(capsys, *paths, *options)


# Files that are written.


def test_every_row_is_written_with_its_label(files: Path, capsys: Any) -> None:
    NEW.set_axis([f"p{i}" for i in range(60)]).to_csv("named.csv")
    gappy = NEW.copy()
    gappy.iloc[3, 2] = np.nan
    gappy.to_parquet("gappy.parquet")
    detect(capsys, "train.csv", "named.csv", "--out", "a.parquet")
    whole = pd.read_parquet("a.parquet")
    assert whole.label.tolist() == [f"p{i}" for i in range(60)]
    assert whole.line.tolist() == list(range(2, 62))
    text = detect(capsys, "train.csv", "gappy.parquet", "--missing", "drop", "--out", "b.csv")
    assert "gappy.parquet: 1 row with gaps left out" in line(text, "missing")
    assert " of 59 rows" in line(text, "result")
    dropped = pd.read_csv("b.csv")
    assert dropped.verdict[3] == "not judged"
    assert dropped.score.isna().sum() == 1
    np.testing.assert_allclose(dropped.score.drop(3), whole.score.drop(3))
    text = detect(capsys, "train.csv", "gappy.parquet", "--missing", "mean", "--out", "c.csv")
    assert "gappy.parquet: 1 gap filled with means of the training rows" in line(text, "missing")
    filled = NEW.copy()
    filled.iloc[3, 2] = TRAIN.iloc[:, 2].mean()
    filled.to_csv("filled.csv", index=False)
    detect(capsys, "train.csv", "filled.csv", "--out", "d.csv")
    np.testing.assert_allclose(pd.read_csv("c.csv").score, pd.read_csv("d.csv").score, rtol=1e-9)


@pytest.mark.parametrize("large", [1, 2**60])
def test_labels_are_written_to_the_letter(
    large: int, files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "LARGE", large)
    labels = ["x\ny", "x\ty", "x\ry", "x\r\ny", 'a "b", c', " x"]
    NEW.iloc[:6].set_axis(pd.Index(labels, name="id")).to_parquet("named.parquet")
    for name in ("a.csv", "a.parquet"):
        text = detect(capsys, "train.csv", "named.parquet", "--out", name)
        assert "x\N{REPLACEMENT CHARACTER}y (row 1)" in text
    with open("a.csv", encoding="utf-8", newline="") as file:
        assert [row[1] for row in csv.reader(file)][1:] == labels
    assert pd.read_parquet("a.parquet").label.tolist() == labels


@pytest.mark.parametrize("missing", ["error", "drop", "mean"])
@pytest.mark.parametrize("count", [1, 3])
def test_lines_of_separators_below_a_table_are_said_to_be_no_rows(
    missing: str, count: int, files: Path, capsys: Any
) -> None:
    with open("new.csv", "a") as file:
        file.write(f"{',' * 7}\n" * count)
    text = detect(capsys, "train.csv", "new.csv", "--missing", missing)
    assert "new.csv: 60 rows" in text
    said = "line 62, the last, has separators alone and is no row"
    assert (said if count == 1 else "3 lines at the end, 62 to 64, have separators alone and are no rows") in text
    NEW.to_csv("new.csv", index=False)
    assert "separators alone" not in detect(capsys, "train.csv", "new.csv")


def test_options_of_text_are_refused_where_no_text_is_read(files: Path, capsys: Any) -> None:
    TRAIN.to_parquet("train.parquet")
    np.savez("new.npz", X=NEW.to_numpy(), columns=list(NEW.columns))
    said = refused(capsys, "train.parquet", "new.npz", "--separator", "tab", "--decimal", "comma", "--header", "no")
    assert "--separator, --decimal, --header: no text is read" in said
    for option in ("--separator", "comma"), ("--decimal", "point"), ("--header", "yes"):
        assert f"{option[0]}: no text is read" in refused(capsys, "train.parquet", "new.npz", *option)
        detect(capsys, "train.csv", "new.npz", *option)


@pytest.mark.parametrize("large", [1, 2**60])
def test_what_is_said_of_columns_of_parquet_can_be_followed(
    large: int, files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "LARGE", large)
    pq = pytest.importorskip("pyarrow.parquet")
    TRAIN.to_parquet("train.parquet")
    table = pq.read_table("train.parquet")
    pq.write_table(table.append_column("area", table["area"]), "twice.parquet")
    for pair in (("train.parquet", "twice.parquet"), ("twice.parquet", "train.parquet")):
        assert "twice.parquet: columns 'area' occur more than once; give each its own name" in refused(capsys, *pair)
    NEW.assign(pump="A").to_parquet("pump.parquet")
    NEW.assign(pump="A b").to_csv("pump.csv", index=False)
    for name in ("pump.parquet", "pump.csv"):
        said = refused(capsys, "train.parquet", name)
        assert "--ignore 'pump'" in said and "--index" not in said  # a column that train.parquet has not
        detect(capsys, "train.parquet", name, "--ignore", "pump")
    assert "--index 'pump'" in refused(capsys, "pump.parquet", "train.parquet")


def test_years_that_both_tables_begin_with_are_not_learnt_from(tmp_path: Path, capsys: Any) -> None:
    for name in ("t.csv", "n.csv"):
        rows = np.random.default_rng(0).normal(size=(20, 2)).round(3)
        (tmp_path / name).write_text("1990,2000\n" + "".join(f"{a},{b}\n" for a, b in rows))
    paths = str(tmp_path / "t.csv"), str(tmp_path / "n.csv")
    assert "n.csv, line 1: the first row is '1990, 2000'" in refused(capsys, *paths)
    assert "t.csv: 20 rows, 2 columns" in detect(capsys, *paths, "--header", "yes", "--top", "0")


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_picture_is_drawn(ending: str, start: bytes, files: Path, capsys: Any) -> None:
    detect(capsys, "train.csv", "new.csv", "--plot", f"scores{ending}")
    assert Path(f"scores{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize("flag", ["--out", "--plot", "--save"])
def test_nothing_is_overwritten_without_force(flag: str, files: Path, capsys: Any) -> None:
    name = {"--out": "x.csv", "--plot": "x.png", "--save": "x.npz"}[flag]
    Path(name).write_text("mine")
    said = refused(capsys, "train.csv", "new.csv", flag, name)
    assert said == f"convexnovelty: {flag}: {name!r} is there already; give another name, or --force to replace it\n"
    assert Path(name).read_text() == "mine"
    detect(capsys, "train.csv", "new.csv", flag, name, "--force")
    assert Path(name).read_bytes() != b"mine"
    assert not [path for path in files.iterdir() if "partial" in path.name]


# What is refused.

REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "one file": (("train.csv",), "1 file(s) were found; give TRAIN and NEW"),
    "three files": (("train.csv", "new.csv", "new.csv"), "3 file(s) were found"),
    "no such file": (("train.csv", "none.csv"), "none.csv: cannot be read (No such file or directory); check the name"),
    "an unknown method": (
        ("train.csv", "new.csv", "--method", "x"),
        "'x' was found; give one of kernel-learning-svm, ",
    ),
    "a method with labels": (("train.csv", "new.csv", "--method", "two-class-mpm"), "give one of"),
    "an option of other methods": (
        ("train.csv", "new.csv", "--outlier-fraction", "0.1"),
        "--outlier-fraction: single-class-mpm does not take it; it takes --kernel, --confidence, --rank, --calibrate",
    ),
    "a kernel for a method without": (
        ("train.csv", "new.csv", "--method", "kernel-learning-svm", "--kernel", "linear"),
        "--kernel: kernel-learning-svm does not take one",
    ),
    "an unknown kernel": (
        ("train.csv", "new.csv", "--kernel", "rbf"),
        "'rbf' was found; give linear, gaussian or auto",
    ),
    "a confidence above one": (("train.csv", "new.csv", "--confidence", "2"), "confidence: 2 was found"),
    "too small a rate": (
        ("train.csv", "new.csv", "--calibrate", "0.001"),
        "needs at least 999 of them, or a larger rate",
    ),
    "an output of another type": (
        ("train.csv", "new.csv", "--out", "a.txt"),
        "give a name that ends in .csv, .parquet",
    ),
    "a picture of another type": (
        ("train.csv", "new.csv", "--plot", "a.bmp"),
        "give a name that ends in .png, .svg, .pdf",
    ),
    "an input as output": (("train.csv", "new.csv", "--out", "new.csv", "--force"), "'new.csv' is a file that is read"),
    "one name for two": (("train.csv", "new.csv", "--out", "a.csv", "--save", "a.csv"), "one name was found twice"),
    "no folder": (("train.csv", "new.csv", "--out", "none/a.csv"), "there is no folder 'none'; make it first"),
    "a column that is not there": (
        ("train.csv", "new.csv", "--ignore", "colour"),
        "no column is called 'colour'; found",
    ),
    "a negative count": (("train.csv", "new.csv", "--top", "-1"), "--top"),
    "a negative seed": (("train.csv", "new.csv", "--seed", "-1"), "--seed: -1 was found"),
    "a seed too large": (("train.csv", "new.csv", "--seed", "4294967296"), "give a whole number below 2^32"),
    "a size of zero": (("train.csv", "new.csv", "--max-mb", "0"), "--max-mb"),
    "a small limit": (("train.csv", "new.csv", "--max-mb", "0.001"), "train.csv: 0 MB in the file, more than 0.001"),
    "no model": (("new.csv", "--model", "none.npz"), "none.npz: no such model file"),
    "a table as model": (("new.csv", "--model", "train.csv"), "train.csv: not a model that can be used"),
    "a model and a method": (
        ("new.csv", "--model", "m.npz", "--method", "x"),
        "--method: the model of --model is learnt",
    ),
    "a model and units": (("new.csv", "--model", "m.npz", "--no-units"), "--no-units: the model of --model is learnt"),
    "a model and a seed": (("new.csv", "--model", "m.npz", "--seed", "0"), "--seed: the model of --model is learnt"),
    "an array of no file": (("train.csv", "new.csv", "--array", "X"), "--array: no .npz file is read"),
    "a model and two files": (("train.csv", "new.csv", "--model", "m.npz"), "give NEW alone"),
    "a separator of two characters": (
        ("train.csv", "new.csv", "--separator", "::"),
        "give one character, or one of comma",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_calls_are_refused_before_any_work(name: str, files: Path, capsys: Any) -> None:
    arguments, message = REFUSED[name]
    assert message in refused(capsys, *arguments)
    assert sorted(path.name for path in files.iterdir()) == ["new.csv", "train.csv"]


def test_columns_that_do_not_fit_are_named(files: Path, capsys: Any) -> None:
    NEW.drop(columns="area").assign(diagnosis=1).to_csv("other.csv", index=False)
    said = refused(capsys, "train.csv", "other.csv")
    assert "other.csv: columns are matched by name with train.csv: missing 'area'; extra 'diagnosis' (--ignore" in said
    detect(capsys, "train.csv", "new.csv", "--save", "m.npz")
    assert "with train.csv (200 rows): missing 'area'" in refused(capsys, "other.csv", "--model", "m.npz")
    NEW[NEW.columns[::-1]].assign(diagnosis="M").to_csv("turned.csv", index=False)
    turned = detect(capsys, "train.csv", "turned.csv", "--ignore", "diagnosis", "--out", "a.csv")
    assert " of 60 rows" in turned
    detect(capsys, "train.csv", "new.csv", "--out", "b.csv")
    np.testing.assert_array_equal(pd.read_csv("a.csv").score, pd.read_csv("b.csv").score)


def test_both_files_are_read_alike(files: Path, capsys: Any) -> None:
    NEW.iloc[:1].assign(radius="big").to_csv("text.csv", index=False)  # in one row alone every word is unique
    said = refused(capsys, "train.csv", "text.csv")
    assert "text.csv, line 2, column 'radius': 'big' was found where a number is needed" in said
    plain = detect(capsys, "train.csv", "new.csv")
    # Rows that are numbered: the numbers of the training rows rise, those of the new rows do not.
    TRAIN.to_csv("t.csv", index_label="sample")
    NEW.iloc[::-1].set_axis([7] * len(NEW)).to_csv("n.csv", index_label="sample")
    text = detect(capsys, "t.csv", "n.csv", "--save", "m.npz")
    assert "t.csv: column 'sample' labels the rows (--index none makes it a feature)" in text
    assert line(text, "result").replace("n.csv", "new.csv") == line(plain, "result")
    assert "7 (line " in text
    assert line(detect(capsys, "n.csv", "--model", "m.npz"), "result") == line(text, "result")
    assert "9 columns" in detect(capsys, "t.csv", "n.csv", "--index", "none")


def test_true_is_no_number_where_numbers_were(files: Path, capsys: Any) -> None:
    TRAIN.assign(area=TRAIN.area > 500).to_csv("flags.csv", index=False)
    NEW.assign(area=True).to_csv("true.csv", index=False)
    detect(capsys, "train.csv", "new.csv", "--save", "m.npz")
    detect(capsys, "flags.csv", "true.csv", "--save", "flags.npz")
    detect(capsys, "true.csv", "--model", "flags.npz")
    for arguments in (("train.csv", "true.csv"), ("true.csv", "--model", "m.npz")):
        said = refused(capsys, *arguments)
        assert "true.csv, line 2, column 'area': 'True' was found in a column of numbers" in said


def test_no_column_moves_by_one(files: Path, capsys: Any) -> None:
    plain = detect(capsys, "train.csv", "new.csv", "--save", "m.npz")
    rows = NEW.to_csv(index=False).splitlines()
    Path("ends.csv").write_text("\n".join([rows[0], *(f"{row}," for row in rows[1:])]))
    ends = detect(capsys, "train.csv", "ends.csv")
    assert line(ends, "result") == line(plain, "result").replace("new.csv", "ends.csv")
    Path("comma.csv").write_text("\n".join([rows[0], *(row.replace(".", ",", 1) for row in rows[1:])]))
    for arguments in (("train.csv", "comma.csv"), ("comma.csv", "--model", "m.npz"), ("comma.csv", "new.csv")):
        assert "comma.csv: rows have one cell more than there are names" in refused(capsys, *arguments)
    Path("words.csv").write_text("\n".join([rows[0], *(f"a{k},{row}" for k, row in enumerate(rows[1:]))]))
    assert "the rows learnt from have no labels" in refused(capsys, "words.csv", "--model", "m.npz")
    detect(capsys, "words.csv", "words.csv", "--save", "labelled.npz")
    assert "those of new.csv have no labels" in refused(capsys, "new.csv", "--model", "labelled.npz")


def test_gaps_in_new_rows_are_said_before_learning(files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    NEW.assign(area=np.nan).to_csv("gaps.csv", index=False)

    def never(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("convexnovelty.findings.learn", never)
    said = refused(capsys, "train.csv", "gaps.csv")
    assert "gaps.csv, line 2, column 'area': a value is missing, of 60 in 60 rows" in said


def test_models_of_other_making_are_refused(files: Path, capsys: Any) -> None:
    persistence.save(OneClassSVM().fit(TRAIN), "plain.npz")
    assert "a model without the notes of detect was found" in refused(capsys, "new.csv", "--model", "plain.npz")
    detect(capsys, "train.csv", "new.csv", "--save", "m.npz")
    pipeline, notes = persistence.read("m.npz")
    for key, value in (("means", np.ones(3)), ("names", ["a"]), ("why", 7), ("ordinary", np.ones((2, 8)))):
        persistence.save(pipeline, "bad.npz", notes={**notes, key: value}, overwrite=True)
        assert "bad.npz: " in refused(capsys, "new.csv", "--model", "bad.npz")
    persistence.save(pipeline, "bad.npz", notes={**notes, "why": "\x1b]0;evil\x07"}, overwrite=True)
    assert "\x1b" not in detect(capsys, "new.csv", "--model", "bad.npz")
    damaged = bytearray(Path("m.npz").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    Path("m.npz").write_bytes(damaged)
    assert "m.npz: not a model that can be used" in refused(capsys, "new.csv", "--model", "m.npz")


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
def test_every_type_of_file_gives_the_same_verdicts(kind: str, files: Path, capsys: Any) -> None:
    for name, table in (("train", TRAIN), ("new", NEW)):
        if kind == "parquet":
            table.to_parquet(f"{name}.parquet", index=False)
        elif kind == "npz":
            np.savez(f"{name}.npz", X=table, columns=list(table.columns))
        else:
            table.to_csv(f"{name}.{kind}", index=False, sep=";", decimal=",")
    detect(capsys, f"train.{kind}", f"new.{kind}", "--out", "a.csv")
    TRAIN.to_csv("t.csv", index=False)
    NEW.to_csv("n.csv", index=False)
    detect(capsys, "t.csv", "n.csv", "--out", "b.csv")
    np.testing.assert_array_equal(pd.read_csv("a.csv").score, pd.read_csv("b.csv").score)


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 1e300])
def test_units_beyond_squares_make_no_difference(unit: float, files: Path, capsys: Any, recwarn: Any) -> None:
    detect(capsys, "train.csv", "new.csv", "--out", "a.csv")
    for name, table in (("t.csv", TRAIN), ("n.csv", NEW)):
        table.assign(area=table.area / 1000 * unit).to_csv(name, index=False)
    text = detect(capsys, "t.csv", "n.csv", "--out", "b.csv")
    np.testing.assert_allclose(pd.read_csv("a.csv").score, pd.read_csv("b.csv").score, atol=1e-6)
    assert max(map(len, text.splitlines())) < 200
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_rows_beyond_the_reach_of_a_kernel_come_by_their_distance(files: Path, capsys: Any) -> None:
    """Their scores differ by rounding alone, which says nothing of which is more novel."""
    far = NEW.assign(area=np.linspace(1e4, 3e4, len(NEW))).sample(frac=1.0, random_state=3)
    far.to_csv("far.csv", index=False)
    text = detect(capsys, "train.csv", "far.csv", "--top", "3", "--index", "none")
    assert f"{len(NEW)} rows share the lowest score; the farthest from the mean come first" in text
    order = [int(word.removeprefix("line ")) - 2 for word in re.findall(r"^line \d+", text, re.MULTILINE)]
    units = TRAIN.std(ddof=0)
    distances = np.linalg.norm((far - TRAIN.mean()) / units, axis=1)
    assert order == np.argsort(-distances)[:3].tolist()


def test_a_row_beyond_all_numbers_gets_no_silent_verdict(files: Path, capsys: Any) -> None:
    NEW.assign(area=[1e308] + [500.0] * 59).to_csv("far.csv", index=False)
    TRAIN.assign(area=TRAIN.area * 1e-200).to_csv("small.csv", index=False)
    said = refused(capsys, "small.csv", "far.csv")
    assert "far.csv, line 2: too far from the training rows for a score" in said


def test_equal_rows_make_everything_else_novel(files: Path, capsys: Any) -> None:
    pd.concat([TRAIN.iloc[:1]] * 30).to_csv("equal.csv", index=False)
    pd.concat([TRAIN.iloc[:1], NEW.iloc[:3]]).to_csv("n.csv", index=False)
    text = detect(capsys, "equal.csv", "n.csv", "--out", "o.csv")
    assert line(text, "kernel").startswith("kernel     gaussian")
    verdicts = pd.read_csv("o.csv").verdict.tolist()
    assert verdicts[0] == "ordinary"


def test_a_constant_column_and_two_rows(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,5\n2,5\n3,5\n4,5\n")
    (tmp_path / "n.csv").write_text("a,b\n2,5\n2,90\n")
    text = detect(capsys, str(tmp_path / "t.csv"), str(tmp_path / "n.csv"), "--method", "soft-ball")
    assert "b 90 (ordinary 5, constant in training)" in text
    (tmp_path / "t.csv").write_text("a,b\n1,5\n")
    assert "1 row was found; learning needs at least 2" in refused(
        capsys, str(tmp_path / "t.csv"), str(tmp_path / "n.csv")
    )


@pytest.mark.parametrize(
    ("centre", "unit", "value", "ordinary"),
    [(1e15, 1.0, "1000000000000009", "100000000000000"), (1e8, 1.0, "100000009", "1000000"), (0.0, 1.0, "9", "")],
)
def test_a_reason_tells_the_value_from_the_ordinary_one(
    centre: float, unit: float, value: str, ordinary: str, tmp_path: Path, capsys: Any, rng: np.random.Generator
) -> None:
    train, new = tmp_path / "t.csv", tmp_path / "n.csv"
    pd.DataFrame({"a": centre + unit * rng.normal(size=60), "b": rng.normal(size=60)}).to_csv(train, index=False)
    pd.DataFrame({"a": [centre + 9 * unit], "b": [0.0]}).to_csv(new, index=False)
    text = detect(capsys, str(train), str(new), "--method", "soft-ball", "--kernel", "gaussian")
    found = re.search(r" a (\S+) \(ordinary (\S+), \+(\S+) sd\)", text)
    assert found and found[1] == value and found[2].startswith(ordinary)
    # What is shown is apart by what is said, in units of the deviation, which is one but for a sample of 60.
    assert float(found[1]) - float(found[2]) == pytest.approx(float(found[3]) * unit, rel=0.3)


@pytest.mark.parametrize("method", ["semi-supervised-detector", "single-class-mpm"])
def test_a_constant_column_of_decimals_says_as_much_as_one_of_binary_fractions(
    method: str, tmp_path: Path, capsys: Any
) -> None:
    rng = np.random.default_rng(0)
    ordinary = pd.DataFrame({"temp": rng.normal(20, 2, 100), "flow": rng.normal(5, 1, 100)})
    new = pd.DataFrame({"temp": [20.0, 20.0, 30.0], "flow": 5.0})
    kernel = ("--kernel", "linear") if method == "single-class-mpm" else ()

    def told(constant: Any, beside: float) -> str:
        ordinary.assign(volt=constant).to_csv(tmp_path / "t.csv", index=False)
        new.assign(volt=[beside, 1.01 * beside, beside]).to_csv(tmp_path / "n.csv", index=False)
        given = (str(tmp_path / "t.csv"), str(tmp_path / "n.csv"), "--method", method, *kernel, "--top", "9")
        shown = detect(capsys, *given).partition("row ")[2]
        return shown.replace(f"volt {1.01 * beside:g} (ordinary {beside:g}", "volt off (")

    expected = told(0.25, 0.25)
    assert told(0.23, 0.23) == expected
    assert told(np.array([0.3, 0.1 + 0.2] * 50), 0.3) == expected


@pytest.mark.parametrize("constant", [0.23, 0.1, 99.9, 12345.6])
def test_a_constant_column_that_was_centred_is_one_of_zeros(constant: float) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(20, 2, 100), rng.normal(5, 1, 100), np.full(100, constant)])
    new = np.array([[20.0, 5.0, constant + 1e-3], [30.0, 5.0, constant]])
    made = make_pipeline(StandardScaler(), SemiSupervisedDetector(random_state=0)).fit(X)
    alone = make_pipeline(StandardScaler(), SemiSupervisedDetector(random_state=0)).fit(X - [0.0, 0.0, constant])
    np.testing.assert_allclose(
        made.decision_function(new), alone.decision_function(new - [0.0, 0.0, constant]), rtol=1e-9
    )


def test_roundings_of_one_number_in_two_centred_tables_are_no_difference() -> None:
    rng = np.random.default_rng(0)
    A, B = (np.column_stack([rng.normal(20, 2, 300), rng.normal(5, 1, 300), np.full(300, c)]) for c in (0.3, 0.1 + 0.2))
    plain, centred = (
        held_out_scores(A, B, random_state=0),
        held_out_scores(A - A.mean(0), B - A.mean(0), random_state=0),
    )
    for one, other in zip(plain, centred, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    # Columns that are small in their own right, centred or not, count.
    small = rng.standard_normal((300, 2)) * [1.0, 1e-12]
    assert column_units(small)[1] == pytest.approx(small[:, 1].std())
    assert column_units(np.column_stack([5 + small[:, 0], 1e-9 * small[:, 1]]))[1] == pytest.approx(
        1e-9 * small[:, 1].std()
    )


def test_a_column_is_constant_where_the_score_takes_it_for_one() -> None:
    columns = np.column_stack([7 + 1e-14 * np.arange(50), np.full(50, 0.1), np.array([0.3, 0.1 + 0.2] * 25)])
    assert constant_columns(columns).tolist() == [False, True, True]
    assert column_units(columns)[0] == pytest.approx(1e-14 * np.arange(50).std(), rel=0.1)
    assert column_units(columns)[1:].tolist() == [0.1, 0.3]


def test_an_interrupted_run_leaves_no_file(files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **keywords: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    assert main(["detect", "train.csv", "new.csv", "--out", "a.csv"]) == 130
    assert capsys.readouterr().err == "convexnovelty: stopped\n"
    assert sorted(path.name for path in files.iterdir()) == ["new.csv", "train.csv"]


def test_the_command_in_a_process_of_its_own(files: Path) -> None:
    command = [sys.executable, "-m", "convexnovelty.cli", "detect", "train.csv"]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run([*command, "new.csv"], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    done = subprocess.run([*command, "no.csv"], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("convexnovelty: no.csv: cannot be read")


def test_other_commands_do_not_import_what_detect_needs() -> None:
    code = "import sys; from convexnovelty.cli import _parser; _parser(); print([m for m in sys.modules if m in ('pandas', 'sklearn')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _marks(folder: Path, train: str, new: str) -> tuple[str, str]:
    rng = np.random.default_rng(0)
    rows = "".join(f"{a:.2f};{b:.2f}\n" for a, b in rng.normal(2.0, 0.2, size=(30, 2)))
    (folder / "t.csv").write_text("a;b\n" + (rows.replace(".", train)))
    (folder / "n.csv").write_text("a;b\n" + new)
    return str(folder / "t.csv"), str(folder / "n.csv")


def test_new_rows_are_read_with_the_decimal_mark_of_the_rows_learnt_from(tmp_path: Path, capsys: Any) -> None:
    # Alone, 2,104 and 1,998 may as well be thousands, and are refused.
    commas = _marks(tmp_path, ",", "2,104;1,998\n1,900;2,010\n")
    assert "decimal comma" in line(detect(capsys, *commas, "--kernel", "gaussian"), "read")
    detect(capsys, commas[0], commas[1], "--kernel", "gaussian", "--save", str(tmp_path / "m.npz"))
    assert "ordinary" in detect(capsys, commas[1], "--model", str(tmp_path / "m.npz"))
    whole = _marks(tmp_path, ",", "2;2\n3;1\n")  # which show no mark at all
    assert "decimal comma, names" in detect(capsys, *whole).split("n.csv")[1]


@pytest.mark.parametrize(
    ("train", "new", "cell"),
    [(",", "2,1;1.998\n", "'1.998'"), (",", "2.104;1.998\n", "'2.104'"), (".", "2,5;2,25\n", "'2,5'")],
)
def test_another_decimal_mark_than_that_of_the_rows_learnt_from_is_refused(
    train: str, new: str, cell: str, tmp_path: Path, capsys: Any
) -> None:
    said = refused(capsys, *_marks(tmp_path, train, new))
    assert "n.csv, line 2, column" in said
    assert cell in said
    assert "decimal" in said


INTERRUPTED = """
import os, signal, sys
import pandas
from convexnovelty.cli import main

told = getattr(signal, sys.argv.pop(1))
made = pandas.DataFrame.to_csv
def stopped(frame, *args, **options):
    os.kill(os.getpid(), told)  # between the opening of the file and its last byte
    return made(frame, *args, **options)
pandas.DataFrame.to_csv = stopped
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("told", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_an_end_while_rows_are_written_leaves_what_was_there(told: str, code: int, files: Path) -> None:
    (files / "out.csv").write_text("mine\n")
    command = [sys.executable, "-c", INTERRUPTED, told, "detect", "train.csv", "new.csv", "--kernel", "gaussian"]
    done = subprocess.run([*command, "--out", "out.csv", "--force"], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (files / "out.csv").read_text() == "mine\n"
    left = {path.name for path in files.iterdir()} - {"train.csv", "new.csv", "out.csv"}
    # Nobody can clean up after SIGKILL; what it leaves has a name of its own, and stops no later run.
    assert all(name.endswith(".partial") for name in left) if told == "SIGKILL" else not left
    assert main(["detect", "train.csv", "new.csv", "--kernel", "gaussian", "--out", "out.csv", "--force"]) == 0
    assert len(pd.read_csv("out.csv")) == len(NEW)


@pytest.mark.parametrize("large", [1, 2**60])
def test_the_index_of_a_parquet_file_is_called_by_its_name(
    large: int, files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "LARGE", large)
    for name, rows in (("a", TRAIN), ("b", NEW)):
        rows.set_axis(pd.Index([f"{name}{k}" for k in range(len(rows))], name="sample")).to_parquet(f"{name}.parquet")
    plain = detect(capsys, "a.parquet", "b.parquet")
    assert "the index in the file, 'sample', labels the rows (--index none leaves it out)" in plain
    named = detect(capsys, "a.parquet", "b.parquet", "--index", "sample")
    assert "labels the rows" not in named
    first = re.compile(r"^.*\(row \d+\).*$", re.MULTILINE)
    assert first.findall(named) == first.findall(plain) != []
    without = detect(capsys, "a.parquet", "b.parquet", "--index", "none")
    assert not first.findall(without) and "row 31" in without
    said = refused(capsys, "a.parquet", "b.parquet", "--index", "pump")
    assert "no column is called 'pump' (--index)" in said


@pytest.mark.parametrize("large", [1, 2**60])
def test_an_index_of_consecutive_numbers_labels_the_rows_if_it_has_a_name(
    large: int, files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pandas keeps its first number in the file's own words alone: labels were lost, and the name was that of no column."""
    monkeypatch.setattr(pieces, "LARGE", large)
    monkeypatch.setattr(pieces, "PIECE", 8 * NEW.shape[1] * 7)  # seven rows at a time
    for name, rows, first in (("a", TRAIN, 100), ("b", NEW, 5000)):
        index = pd.RangeIndex(first, first + 2 * len(rows), 2, name="customer")
        rows.set_axis(index).to_parquet(f"{name}.parquet")
    detect(capsys, "a.parquet", "b.parquet", "--index", "customer", "--out", "o.csv", "--force")
    assert pd.read_csv("o.csv").label.tolist() == [5000 + 2 * k for k in range(len(NEW))]
    assert "the index in the file, 'customer', labels the rows" in detect(capsys, "a.parquet", "b.parquet")
    NEW.set_axis(pd.RangeIndex(5, 5 + len(NEW))).to_parquet("b.parquet")
    plain = detect(capsys, "train.csv", "b.parquet")
    assert "labels the rows" not in plain and "(row " not in plain


@pytest.mark.parametrize("index", [None, ["A", "B"]])
def test_an_index_without_one_name_labels_the_rows_too(index: Any, files: Path, capsys: Any) -> None:
    rows = NEW.iloc[:6].set_axis([f"r{k}" for k in range(6)])
    if index:
        rows = rows.set_axis(pd.MultiIndex.from_product([["u", "v"], [1, 2, 3]], names=index))
    rows.to_parquet("b.parquet")
    text = detect(capsys, "train.csv", "b.parquet")
    assert "the index in the file labels the rows" in text and ("('u', 1) (row 1)" if index else "r0 (row 1)") in text


def test_a_saved_model_judges_single_precision_as_the_command_does(files: Path, capsys: Any) -> None:
    """Counts in single precision tie with the threshold, in Python as in the file."""
    rng = np.random.default_rng(3)
    for name, rows in (("train", 400), ("new", 2000)):
        counts = {"stops": rng.poisson(1, rows), "calls": rng.poisson(2, rows)}
        pd.DataFrame(counts).astype(np.float32).to_parquet(f"{name}.parquet", index=False)
    learnt = ["--method", "one-class-svm", "--calibrate", "0.05", "--top", "0", "--save", "m.npz", "--out", "found.csv"]
    detect(capsys, "train.parquet", "new.parquet", *learnt)
    novel = (pd.read_csv("found.csv").verdict == "novel").to_numpy()
    frame, model = pd.read_parquet("new.parquet"), persistence.load("m.npz")
    assert ((model.predict(frame) < 0) == novel).all()
    single = make_pipeline(StandardScaler(), *[step for _, step in model.steps[1:]])
    single.steps[0][1].__dict__.update(vars(model[0]))
    assert ((single.predict(frame) < 0) != novel).any()  # what scikit-learn's own scaler makes of the same rows
