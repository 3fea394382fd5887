"""Large tables in pieces: what is read, said and written is what reading the whole gives, in memory that does not grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from convexnovelty import findings, pieces
from convexnovelty.cli import main
from convexnovelty.pieces import Whole
from convexnovelty.tables import FileLayout, read_table

RNG = np.random.default_rng(5)
NAMES = ["flow", "load", "heat"]
TRAIN = pd.DataFrame(RNG.normal(size=(60, 3)) + 4, columns=NAMES)
NEW = pd.DataFrame(RNG.normal(size=(300, 3)) * 1.7 + 4, columns=["heat", "flow", "load"])
NEW.insert(0, "pump", [f"P{k}" for k in range(300)])
NEW.iloc[[7, 250], 1:] = 60.0  # two rows alike, whose order is that of the file


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which files are large from a byte on, and a piece is about 30 rows."""
    monkeypatch.chdir(tmp_path)
    TRAIN.assign(pump=[f"T{k}" for k in range(60)]).to_csv("train.csv", index=False)
    monkeypatch.setattr(pieces, "LARGE", 1)
    monkeypatch.setattr(pieces, "PIECE", 2000)
    return tmp_path


def written(frame: pd.DataFrame, kind: str) -> str:
    name = f"new.{kind}"
    if kind == "csv":
        frame.to_csv(name, index=False)
    elif kind == "parquet":
        frame.to_parquet(name, index=False)
    else:
        np.savez(name, X=np.ascontiguousarray(frame[NAMES]), columns=np.array(NAMES))
    return name


def both(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str, out: str = "out.csv"
) -> tuple[list[str], list[bytes]]:
    """What the command prints and writes in pieces, and reading the whole; it is seen that each way was taken."""
    texts, files, used = [], [], []
    real = findings._whole
    monkeypatch.setattr(findings, "_whole", lambda *given: used.append(True) or real(*given))
    for large in (1, 2**60):
        monkeypatch.setattr(pieces, "LARGE", large)
        assert main(["detect", *arguments, "--out", out, "--force"]) == 0
        texts.append(capsys.readouterr().out)
        files.append(Path(out).read_bytes())
    monkeypatch.setattr(findings, "_whole", real)
    assert used == [True]
    return texts, files


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("method", ["single-class-mpm", "one-class-svm"])
def test_pieces_say_what_the_whole_says(kind: str, method: str, small: Path, capsys: Any, monkeypatch: Any) -> None:
    train = "train.csv"
    if kind == "npz":
        TRAIN.to_csv("bare.csv", index=False)
        train = "bare.csv"
    arguments = (train, written(NEW, kind), "--method", method, *(() if kind == "npz" else ("--index", "pump")))
    texts, files = both(capsys, monkeypatch, *arguments, "--top", "7")
    assert texts[0] == texts[1]
    assert "2 rows share the lowest score" in texts[0] or method == "single-class-mpm"
    tables = [pd.read_csv(pd.io.common.BytesIO(content)) for content in files]
    np.testing.assert_allclose(tables[0].score, tables[1].score, rtol=0, atol=1e-12)
    pd.testing.assert_frame_equal(tables[0].drop(columns="score"), tables[1].drop(columns="score"))
    assert len(tables[0]) == 300


def test_a_file_of_parquet_has_the_same_rows(small: Path, capsys: Any, monkeypatch: Any) -> None:
    both(capsys, monkeypatch, "train.csv", written(NEW, "csv"), "--index", "pump", out="out.parquet")
    whole = pd.read_parquet("out.parquet")
    monkeypatch.setattr(pieces, "LARGE", 1)
    assert main(["detect", "train.csv", "new.csv", "--index", "pump", "--out", "out.parquet", "--force"]) == 0
    found = pd.read_parquet("out.parquet")
    assert found.label.tolist() == [f"P{k}" for k in range(300)]
    pd.testing.assert_frame_equal(found, whole, atol=1e-12, rtol=0)


@pytest.mark.parametrize("missing", ["drop", "mean"])
def test_gaps_count_over_all_pieces(missing: str, small: Path, capsys: Any, monkeypatch: Any) -> None:
    holes = NEW.copy()
    holes.loc[[40, 41, 200], "flow"] = np.nan
    texts, _ = both(capsys, monkeypatch, "train.csv", written(holes, "csv"), "--index", "pump", "--missing", missing)
    assert texts[0] == texts[1]
    assert ("3 rows with gaps left out" if missing == "drop" else "3 gaps filled") in texts[0]


def test_errors_are_those_of_the_whole_and_nothing_is_left(small: Path, capsys: Any, monkeypatch: Any) -> None:
    holes, typed, far = NEW.copy(), NEW.astype({"load": object}), NEW.copy()
    holes.loc[[40, 200], "flow"] = np.nan
    typed.loc[250, "load"] = "0.06x"
    far.loc[260, "heat"] = 1e200
    for frame, line in ((holes, 42), (typed, 252), (far, 262)):
        said = []
        for large in (1, 2**60):
            monkeypatch.setattr(pieces, "LARGE", large)
            name = written(frame, "csv")
            assert main(["detect", "train.csv", name, "--index", "pump", "--out", "out.csv"]) == 2
            said.append(capsys.readouterr().err)
        assert said[0] == said[1]
        assert f"line {line}" in said[0]
        assert sorted(path.name for path in small.iterdir()) == ["new.csv", "train.csv"]


def test_the_pieces_are_the_rows_in_their_order(small: Path) -> None:
    how = FileLayout(index="pump", features=tuple(NAMES))
    for kind in ("csv", "parquet"):
        name = written(NEW, kind)
        whole, found = read_table(name, how), [piece.table for piece in pieces.pieces(Path(name), how)]
        assert len(found) > 3
        np.testing.assert_array_equal(np.vstack([table.values for table in found]), whole.values)
        np.testing.assert_array_equal(np.concatenate([table.places for table in found]), whole.places)
        assert [label for table in found for label in table.labels or []] == whole.labels
        assert {tuple(table.names) for table in found} == {tuple(whole.names)}


def test_one_missing_label_leaves_those_of_its_piece_alone(small: Path) -> None:
    ids = pd.Series(2**60 + np.arange(300), dtype="Int64")
    ids[41] = None
    name = written(NEW.assign(pump=ids), "parquet")
    found = [piece.table for piece in pieces.pieces(Path(name), FileLayout(index="pump", features=tuple(NAMES)))]
    assert len(found) > 3
    labels = [label for table in found for label in table.labels or []]
    assert labels == ["" if k == 41 else str(2**60 + k) for k in range(300)]


@pytest.mark.parametrize(
    "text",
    [
        'flow,load\n1,"2"\n3,4\n',
        "flow,load,other\n1,2,3\n",
        "flow,load\n1,True\n3,True\n",
        "flow,load\n1,2\n\n,\n",
        "flow;load\n1,5;2\n1,234;é".encode("cp1252"),
    ],
)
def test_what_only_the_whole_tells_is_read_whole(text: Any, small: Path) -> None:
    Path("odd.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Whole):
        list(pieces.pieces(Path("odd.csv"), FileLayout(features=("flow", "load"), numeric=("load",))))


MEASURED = """
import sys
from convexnovelty import pieces
from convexnovelty.cli import main

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

pieces.PIECE, pieces.LARGE = 2**20, float(sys.argv[1])
peaks = []
for name in ("small.npz", "one.npz", "six.npz"):
    assert main(["detect", name, "--model", "m.npz", "--top", "3", "--out", "out.parquet", "--force"]) == 0
    peaks.append(peak())
print("peaks", *peaks)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X = RNG.normal(size=(100_000, 8)) + 4
    for name, rows in (("train", X[:100]), ("small", X[:40_000]), ("one", X), ("six", np.tile(X, (6, 1)))):
        np.savez(f"{name}.npz", X=rows)
    arguments = ["train.npz", "small.npz", "--kernel", "linear", "--method", "one-class-svm", "--save", "m.npz"]
    assert main(["detect", *arguments]) == 0
    command = [sys.executable, "-c", MEASURED, "1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "of 600000 rows" in printed
    _, one, six = map(float, printed.rpartition("peaks")[2].split())
    # The numbers alone of the larger table are 38 MB, of which reading it whole keeps several copies.
    assert six - one < 12, printed[-60:]
