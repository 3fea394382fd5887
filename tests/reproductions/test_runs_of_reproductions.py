"""Reproductions run: from the command line, with any executor, interrupted, and piece by piece on the data sets."""

from __future__ import annotations

import json
import math
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convexnovelty.cli import main
from convexnovelty.errors import InputError
from convexnovelty.reproductions import Claim, Data, Printed, Reproduction, Result, catalogue
from convexnovelty.reproductions._data import SOURCES

KNOWN = catalogue()
GENERATED = [name for name, found in KNOWN.items() if not any(found.needs(piece) for piece in found.pieces)]


def throw(piece: str, tables: Any, random: np.random.Generator, quick: bool) -> dict[tuple[str, str], float]:
    """Two dice, the second of which does not always land."""
    second = float(random.integers(1, 7))
    return {(piece, "one"): float(random.integers(1, 7)), (piece, "two"): math.nan if second == 6 else second}


def stop(piece: str, tables: Any, random: np.random.Generator, quick: bool) -> dict[tuple[str, str], float]:
    """Ctrl-C in the middle of the work."""
    raise KeyboardInterrupt


def _dice(*pieces: str, repetition: Any = throw) -> Reproduction:
    return Reproduction(
        name="dice",
        title="dice",
        source="Nobody (1654), table 1",
        printed=tuple(Printed(piece, column, 3.5) for piece in pieces for column in ("one", "two")),
        claims=(Claim("above zero", lambda v: v[pieces[0], "one"]),),
        pieces=pieces,
        repetition=repetition,
        needs=lambda piece: (),
        repetitions=12,
        quick=3,
        unit="",
    )


class Backwards(Executor):
    """Runs what it was given when the first answer is asked for, and the last task first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Keep the task for later."""
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def map(self, fn: Any, *iterables: Any, timeout: float | None = None, chunksize: int = 1) -> Iterator[Any]:
        """Submit all, run all from the last to the first, and answer in the order of the arguments."""
        futures = [self.submit(fn, *arguments) for arguments in zip(*iterables, strict=True)]
        for future, task in reversed(self.waiting):
            future.set_result(task())
        return iter([future.result() for future in futures])


@pytest.mark.parametrize("name", GENERATED)
def test_generated_sets_run_from_end_to_end(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    assert main(["reproduce", name, "--quick", "--repetitions", "1", "--json", str(path)]) == 0
    told = capsys.readouterr()
    found, read = KNOWN[name], json.loads(path.read_text())
    assert told.err == ""
    assert found.title in " ".join(told.out.split())
    assert [(cell["row"], cell["column"], cell["printed"]) for cell in read["cells"]] == [
        (cell.row, cell.column, cell.value) for cell in found.printed
    ]
    assert [answer["text"] for answer in read["answers"]] == [claim.text for claim in found.claims]
    assert all(cell["repetitions"] == 1 and 0 <= cell["mean"] <= 1 for cell in read["cells"])
    assert (read["seed"], read["quick"], read["repetitions"], read["in_full"]) == (0, True, 1, found.repetitions)
    assert Result.read_json(path).name == name


def test_there_are_reproductions_without_data() -> None:
    assert len(GENERATED) >= 5


def test_the_seed_gives_the_numbers() -> None:
    first, again, other = (_dice("a", "b").run(Data(), seed=seed).to_dict() for seed in (3, 3, 4))
    assert first == again
    assert first["cells"] != other["cells"]


def test_means_are_those_of_the_draws() -> None:
    result = _dice("a").run(Data(), repetitions=40)
    assert result.cell("a", "one").repetitions == 40
    assert 20 < result.cell("a", "two").repetitions < 40
    assert abs(result.cell("a", "one").deviation(12)) < 4


def test_another_piece_changes_no_number() -> None:
    alone, both = _dice("a").run(Data()), _dice("b", "a").run(Data())
    assert alone.cell("a", "one") == both.cell("a", "one")
    assert both.cell("b", "one").mean != both.cell("a", "one").mean


def test_more_repetitions_begin_with_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []
    for count in (4, 7):
        drawn: list[float] = []
        one = _dice("a")
        kept = replace(one, claims=(Claim("kept", lambda v, drawn=drawn: drawn.append(v["a", "one"]) or 1.0),))
        kept.run(Data(), repetitions=count)
        seen.append(drawn)
    assert seen[1][:4] == seen[0]


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(3), Backwards], ids=["threads", "backwards"])
def test_executors_give_the_serial_numbers(make: Callable[[], Executor]) -> None:
    serial = _dice("a", "b").run(Data(), seed=5)
    steps: list[tuple[int, int]] = []
    with make() as executor:
        run = _dice("a", "b").run(
            Data(), seed=5, executor=executor, progress=lambda done, total, _: steps.append((done, total))
        )
    assert run.to_dict() == serial.to_dict()
    assert steps == [(k, 24) for k in range(1, 25)]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_processes_give_the_serial_numbers() -> None:
    # Forked, so that no second process compiles what this one has compiled; the command line spawns.
    found = KNOWN["chapter-8-figure-8.5"]
    serial = found.run(Data(), seed=7, repetitions=3)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        run = found.run(Data(), seed=7, repetitions=3, executor=pool)
    assert run.to_dict() == serial.to_dict()


def test_a_cluster_gives_the_serial_numbers() -> None:
    distributed = pytest.importorskip("distributed")
    serial = KNOWN["chapter-8-figure-8.5"].run(Data(), seed=2, repetitions=3)
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None, silence_logs=50
    ) as client:
        run = KNOWN["chapter-8-figure-8.5"].run(Data(), seed=2, repetitions=3, executor=client.get_executor())
    assert run.to_dict() == serial.to_dict()


def test_an_interrupted_run_leaves_no_file(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("convexnovelty.reproductions.named", lambda name: _dice("a", repetition=stop))
    assert main(["reproduce", "dice", "--json", str(tmp_path / "result.json")]) == 130
    assert "Traceback" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_cell_that_no_repetition_gives_is_an_error() -> None:
    wrong = replace(_dice("a"), printed=(Printed("a", "three"),))
    with pytest.raises(InputError, match=r"dice: no repetition gave the cell \('a', 'three'\)"):
        wrong.run(Data(), repetitions=2)


def test_a_claim_of_a_cell_that_is_not_there_is_an_error() -> None:
    wrong = replace(_dice("a"), claims=(Claim("nothing", lambda v: v["a", "three"]),))
    with pytest.raises(KeyError):
        wrong.run(Data(), repetitions=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no NAME was given; --list shows"),
        (["minimax"], "there is no 'minimax'"),
        (
            ["mahalanobis-table-1", "--repetitions", "0"],
            "--repetitions: 0 was found; give a whole number of at least 1",
        ),
        (["mahalanobis-table-1", "--seed", "-3"], "--seed: -3 was found"),
        (["mahalanobis-table-1", "--jobs", "0"], "--jobs: 0 was found"),
        (["mahalanobis-table-1", "--data", "no/folder"], "--data: no/folder is not a folder"),
        (["mahalanobis-table-1", "--json", "no/folder/r.json"], "--json: there is no folder 'no/folder'"),
        (["moments-tables", "--data", "."], "there is no adbench"),
    ],
)
def test_wrong_calls_are_answered(arguments, message, monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "mammography", replace(SOURCES["mammography"], openml=None))
    assert main(["reproduce", *arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""


def test_a_file_is_replaced_only_by_force(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("convexnovelty.reproductions.named", lambda name: _dice("a"))
    path = tmp_path / "result.json"
    path.write_text("mine")
    assert main(["reproduce", "dice", "--json", str(path)]) == 2
    assert "is there already; give another name, or --force" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["reproduce", "dice", "--json", str(path), "--force"]) == 0
    assert json.loads(path.read_text())["name"] == "dice"
    assert main(["reproduce", "dice", "--json", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_tuning_sees_no_point_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    from convexnovelty.reproductions import minimax_table_1 as module

    seen: list[np.ndarray] = []
    scored: list[np.ndarray] = []

    def tuning(fit: Any, grid: Any, partitions: Any, novel: np.ndarray) -> Any:
        seen.extend([novel, *(part for pair in partitions for part in pair)])
        return grid[0]

    def machine(train: np.ndarray, width: float, nu: float) -> Any:
        seen.append(train)
        return lambda Z: scored.append(Z) or Z.sum(axis=1), 0.0

    # With the tuning replaced, the one-class machine scores test points and nothing else.
    monkeypatch.setattr(module, "_tuned", tuning)
    monkeypatch.setattr(module, "_one_class", machine)
    module.repetition("twonorm +1", {}, np.random.default_rng(0), True)
    assert len(seen) == 3 * 9 + 4
    assert {len(Z) for Z in scored} == {30, 75}
    known = {tuple(np.round(row, 9)) for rows in seen for row in rows}
    tested = {tuple(np.round(row, 9)) for rows in scored for row in rows}
    assert len(tested) == 30 + 75
    assert not known & tested


# One piece of each reproduction that needs data, the quickest.
PIECES = {
    "minimax-table-1": "sonar +1",
    "mahalanobis-table-3": "sonar -1",
    "unlabelled-figure-1": "banana",
    "moments-tables": "vowels",
    "chapter-8-figure-8.7": "pixels",
    "chapter-8-figure-8.9": "smoothed",
    "chapter-8-figure-8.10": "USPS",
    "chapter-8-table-8.1": "smoothed",
}


def test_every_reproduction_is_run_here() -> None:
    assert PIECES.keys() | set(GENERATED) == KNOWN.keys()


@pytest.mark.parametrize("name", PIECES)
def test_a_piece_on_its_data(name: str, data_file: Callable[[str], Path]) -> None:
    found, piece = KNOWN[name], PIECES[name]
    folder = {data_file(SOURCES[need].file).parent for need in found.needs(piece)}.pop()
    tables = {need: Data(folder).table(need) for need in found.needs(piece)}
    values = found.repetition(piece, tables, np.random.default_rng(0), True)
    declared = {(cell.row, cell.column) for cell in found.printed}
    assert values.keys() & declared
    if found.unit == "%":
        assert all(0 <= value <= 1 for value in values.values() if not math.isnan(value))
    if name != "minimax-table-1":  # which gives some numbers for claims alone
        assert values.keys() <= declared


def test_splits_under_imbalance_keep_classes_and_share_no_row() -> None:
    from convexnovelty.reproductions.moments_tables import _parts

    y = np.repeat([0, 1], [4000, 200])
    parts = _parts(y, np.random.default_rng(0), None)
    assert [len(part) for part in parts] == [2100, 840, 1260]
    assert sorted(np.concatenate(parts)) == list(range(4200))
    assert [int(y[part].sum()) for part in parts] == [100, 40, 60]
    few = _parts(y, np.random.default_rng(0), 500.0)
    assert [int(y[part].sum()) for part in few] == [4, 40, 60]
    assert len(np.unique(np.concatenate(few))) == sum(map(len, few)) == 4200 - 96
