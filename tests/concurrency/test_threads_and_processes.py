"""The same answers from threads, from processes and with any number of threads, and nothing left behind by Ctrl-C."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import cli, estimators
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import fits  # noqa: E402

sys.path.remove(str(HERE))


def _machine():
    moments = cn.Moments([3.0, -2.0, 1.0], np.array([[1.0, 0.2, 0.0], [0.2, 0.5, -0.1], [0.0, -0.1, 0.3]]))
    return cn.single_class_mpm(moments, 0.5, MeanEllipsoid(0.1) * FrobeniusBall(0.2))


@pytest.fixture
def restless():
    """Threads that change places as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_one_formulation_from_eight_threads(restless):
    problem = _machine()
    alone = problem.solve()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: problem.solve(), range(24)))
    assert {solution.objective for solution in found} == {alone.objective}
    assert all(np.array_equal(solution.values["a"], alone.values["a"]) for solution in found)


def test_paths_of_one_formulation_from_several_threads(restless):
    """Setting and solving are one turn of a path, so that no thread gets the answer to another's number."""
    problem = _machine()
    numbers = [0.3, 0.4, 0.5, 0.6]
    alone = {c: problem.set(confidence=c).solve().objective for c in numbers}
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda c: [s.objective for s in problem.path(confidence=[c] * 4)], numbers))
    for c, objectives in zip(numbers, found, strict=True):
        assert set(objectives) == {alone[c]}


def test_fits_in_eight_threads_are_those_of_one(restless):
    names = [name for name in estimators.__all__ for _ in range(2)]
    alone = {name: fits.decisions(name) for name in estimators.__all__}
    with ThreadPoolExecutor(8) as threads:
        for name, found in zip(names, threads.map(fits.decisions, names), strict=True):
            assert found == alone[name], name


def test_one_fitted_estimator_from_eight_threads(restless):
    X, _ = fits.sample()
    for name in estimators.__all__:
        model = fits.fitted(name)
        alone = model.decision_function(X)
        with ThreadPoolExecutor(8) as threads:
            assert all(
                np.array_equal(alone, f) for f in threads.map(lambda _, m=model: m.decision_function(X), range(16))
            )


@pytest.mark.parametrize("how", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
def test_formulations_and_estimators_go_to_other_processes(how, monkeypatch):
    X, _ = fits.sample()
    problem = _machine()
    models = {name: fits.fitted(name) for name in estimators.__all__}
    here = problem.solve().objective
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(how)) as pool:
        objective, values = pool.submit(fits.elsewhere, pickle.dumps((problem, models))).result(timeout=120)
    assert objective == here
    for name, model in models.items():
        assert values[name] == np.asarray(model.decision_function(X)).tobytes().hex(), name


def test_any_number_of_threads_gives_the_same_bits():
    """Two and one threads of BLAS, OpenMP and numba, in processes of their own."""
    found = []
    for count in ("1", "2"):
        limits = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), count
        )
        done = subprocess.run(
            [sys.executable, str(HERE / "fits.py")], env={**os.environ, **limits}, capture_output=True, check=True
        )
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]


def test_ctrl_c_ends_a_check_and_its_workers(tmp_path):
    """The signal goes to the command alone, as from another program: its workers end with it."""
    target = tmp_path / "report.json"
    command = [sys.executable, "-m", "convexnovelty.cli", "check", "--jobs", "2", "--json", str(target)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    children: set[int] = set()
    until = time.monotonic() + 90
    while len(children) < 3 and time.monotonic() < until and process.poll() is None:
        children = _children(process.pid)
        time.sleep(0.1)
    assert len(children) >= 3, "the workers and their resource tracker have started"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    # Waiting for what is running and queued takes half a minute and more.
    assert time.monotonic() - started < 15
    assert process.returncode == 130, said
    assert "convexnovelty: stopped" in said
    assert "InvalidStateError" not in said
    until = time.monotonic() + 20
    while any(map(_is_alive, children)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(_is_alive, children))
    assert list(tmp_path.iterdir()) == []


def _children(pid: int) -> set[int]:
    found = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found |= {int(word) for word in task.read_text().split()}
    return found


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("what", ["report", "model"])
def test_ctrl_c_while_writing_leaves_what_was_there(what, tmp_path, monkeypatch):
    target = tmp_path / "kept"
    target.write_text("what was there")
    model = fits.fitted("SingleClassMPM")
    report = cn.check(cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        if what == "report":
            report.write_json(target)
        else:
            from convexnovelty import persistence

            persistence.save(model, target, overwrite=True)
    assert target.read_text() == "what was there"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_an_interrupted_command_says_so(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_solvers", interrupt)
    assert cli.main(["solvers"]) == 130
    assert "stopped" in capsys.readouterr().err


def _peaks() -> dict[str, float]:
    """The MB of the page on limits, by estimator."""
    page = (HERE.parents[1] / "docs" / "limits.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): float(row[2]) for row in rows if row[1].strip(" `") in estimators.__all__}


@pytest.mark.parametrize("name", estimators.__all__)
def test_a_fit_takes_no_more_memory_than_the_page_says(name):
    rng = np.random.default_rng(2)
    y = np.arange(300) % 2
    X = rng.standard_normal((300, 5)) + 2.0 * y[:, None]
    model = fits.estimator(name)
    fits.fitted(name)  # what is compiled and imported once is not counted
    tracemalloc.start()
    try:
        model.fit(X, y) if name in ("TwoClassMPM", "MomentClassifier") else model.fit(X)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    print(name, round(peak, 1))
    assert peak <= _peaks()[name], f"{peak:.0f} MB"
