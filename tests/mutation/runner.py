"""Run tests against mutants: each worker has a copy of the project of its own, and a process for each mutant.

A worker reads the big libraries once and forks: the child reads the mutated package from the copy, runs the chosen
tests and stops at the first that fails. Limits are on computing time, so that a busy machine turns no survivor into a
time-out. Bytecode is checked against the text of its source, and what numba keeps on disk is thrown away where a
compiled function or one that it calls is mutated: both caches would otherwise miss a change in the same second.
"""

from __future__ import annotations

import compileall
import importlib
import inspect
import json
import multiprocessing
import os
import py_compile
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from mutants import ROOT, Mutant
from selection import words_of

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # pyarrow, which pandas reads

# Read before the fork. None of them reads the package.
LIBRARIES = (
    "numpy", "scipy.sparse.linalg", "scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.spatial.distance", "scipy.special",
    "cvxpy", "clarabel", "scs", "sklearn.svm", "sklearn.covariance", "sklearn.model_selection", "sklearn.metrics",
    "sklearn.utils.estimator_checks", "sklearn.pipeline", "sklearn.neighbors", "numba", "networkx", "rich.table", "mpmath",
    "hypothesis.strategies", "_pytest.assertion.rewrite", "pytest",
)  # fmt: skip
COPIED = ("convexnovelty", "tests", "docs", "problems", "benchmarks", "pyproject.toml", "README.md")
NEAR = (4, 20.0)  # files and seconds of computing that a mutant is given at first
WIDE = (9, 90.0)  # and in a second attempt, without the tests that have passed
# Seconds beyond that after which a mutant counts as one that hangs: the longest test takes one and a half minutes.
SLACK = 120


def spent() -> float:
    """Seconds computed by this process and by those that it started and awaited."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Chosen:
    """A plugin that puts the tests in order, stops when the time is used up, and notes the first that fails."""

    def __init__(
        self, first: list[str], files: list[tuple[str, str]], rings: list[set[str]], without: set[str], seconds: float
    ) -> None:
        self.rings = [words_of(ring) for ring in rings]
        self.first = {name: index for index, name in enumerate(first)}
        self.files = {file: (index, pattern) for index, (file, pattern) in enumerate(files)}
        self.without, self.until = without, spent() + seconds
        self.killer, self.passed = "", list[str]()

    def ring(self, item: Any) -> int:
        """How directly the text of a test names what is mutated."""
        text = inspect.getsource(item.function)
        return next((index for index, words in enumerate(self.rings) if words.search(text)), len(self.rings))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Known ones first; then, in every file, what names the mutated function; then file by file, one case of each test."""
        seen: dict[str, int] = {}
        places: dict[int, tuple[Any, ...]] = {}
        for index, item in enumerate(items):
            file, _, name = item.nodeid.partition("::")
            rank, pattern = self.files.get(file, (len(self.files), ""))
            if item.nodeid in self.without:
                continue
            if item.nodeid in self.first:
                places[index] = (0, self.first[item.nodeid], 0, 0, 0)
            elif file in self.files and re.search(pattern, name):
                function = item.nodeid.partition("[")[0]
                seen[function] = seen.get(function, -1) + 1
                ring = self.ring(item)
                places[index] = (1 if ring == 0 else 2, rank, ring, seen[function], index)
        items[:] = [items[index] for index in sorted(places, key=places.__getitem__)]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.killer:
            self.killer = f"reading {report.nodeid}"

    def pytest_runtest_protocol(self, item: Any) -> None:
        if spent() > self.until:
            item.session.shouldstop = "the time is used up"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.killer:
            self.killer = report.nodeid
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)


def child(tree: Path, chosen: Chosen, files: list[str], cache: Path, out: Path) -> None:
    """Runs in the fork and never returns."""
    code = 70
    try:
        os.setsid()
        devnull = os.open(os.devnull, os.O_RDWR)
        log = os.open(str(out.with_suffix(".log")), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(devnull, 0), os.dup2(log, 1), os.dup2(log, 2)
        os.chdir(tree)
        sys.path[:] = [str(tree), *(p for p in sys.path if not p.endswith("tests/mutation"))]
        os.environ |= {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        import numba
        import pytest

        numba.config.CACHE_DIR = str(cache)
        options = ["-o", "addopts=", "--import-mode=importlib", "-q", "-p", "no:cacheprovider", "--tb=line", "-x"]
        code = int(pytest.main([*options, *files], plugins=[chosen]))
        out.write_text(json.dumps({"code": code, "killer": chosen.killer, "passed": chosen.passed}))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code if code < 64 else 70)


class Worker:
    """One copy of the project and what is run in it."""

    def __init__(self, work: Path, number: int, selection: Any) -> None:
        self.tree, self.selection = work / f"worker{number}" / "main", selection
        self.cache, self.fresh = work / f"worker{number}" / "numba", work / f"worker{number}" / "numba_fresh"
        self.out = work / f"worker{number}" / "out.json"
        for name in COPIED:
            source = ROOT / name
            for file in [source] if source.is_file() else sorted(source.rglob("*")):
                mirrored = self.tree / file.relative_to(ROOT)
                if not file.is_file() or {"__pycache__", "_build"} & set(file.parts):
                    continue
                # What an interrupted run left mutated is put right; what is the same keeps its time, by which numba goes.
                if not mirrored.is_file() or mirrored.read_bytes() != file.read_bytes():
                    mirrored.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, mirrored)
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.tree / "convexnovelty", quiet=2, invalidation_mode=mode)
        for name in LIBRARIES:
            importlib.import_module(name)
        count = len(os.listdir("/proc/self/task"))
        if count > 1:  # a lock that another thread holds is never released in a fork, and the child waits for ever
            raise RuntimeError(f"{count} threads run before the fork; read the library that starts them later")

    def attempt(self, mutant: Mutant, cache: Path, wide: bool, without: set[str], named: list[str]) -> dict[str, Any]:
        """Run tests in a fork within limits."""
        count, seconds = WIDE if wide or named else NEAR
        first, files = self.selection.tests(mutant), self.selection.files(mutant)[:count]
        if named:
            first, files = [], [(file, name) for file, _, name in (each.partition("::") for each in named)]
        read = list(dict.fromkeys([*(file for file, _ in files), *(name.split("::")[0] for name in first)]))
        limit = seconds + SLACK + (60.0 if cache is self.fresh else 0.0)
        self.out.unlink(missing_ok=True)
        start = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            child(
                self.tree, Chosen(first, files, self.selection.rings(mutant), without, seconds), read, cache, self.out
            )
        status, used = None, 0.0
        while status is None:
            done, code, usage = os.wait4(pid, os.WNOHANG)
            if done:
                status, used = code, usage.ru_utime + usage.ru_stime
            elif time.perf_counter() - start > 6.0 * limit:  # waits for something that never comes
                os.killpg(pid, signal.SIGKILL)
                _, _, usage = os.wait4(pid, 0)
                return {"outcome": "timeout", "by": "waits", "passed": [], "seconds": usage.ru_utime}
            else:
                time.sleep(0.05)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            outcome = "timeout" if number in (signal.SIGXCPU, signal.SIGKILL) else "killed"
            return {"outcome": outcome, "by": signal.Signals(number).name, "passed": [], "seconds": used}
        said = json.loads(self.out.read_text()) if self.out.exists() else {"code": 70, "killer": "", "passed": []}
        outcome = {0: "survived", 1: "killed", 2: "killed", 3: "killed"}.get(said["code"], "error")
        if said["code"] in (2, 5) and not said["killer"]:  # stopped because the time is used up, or nothing left to run
            outcome = "survived"
        return {"outcome": outcome, "by": said["killer"], "passed": said["passed"], "seconds": used}

    def run(self, mutant: Mutant, wide: bool, without: set[str], named: list[str]) -> dict[str, Any]:
        """The outcome for one mutant."""
        place = self.tree / mutant.file
        original, times = place.read_text(), place.stat()
        cache = self.cache
        stale = self.selection.compiled_with(mutant.file)
        if stale:  # what numba kept of the file itself and of those that compiled its functions into theirs
            cache = self.fresh
            shutil.rmtree(cache, ignore_errors=True)
            if self.cache.exists():
                shutil.copytree(self.cache, cache)
                for kept in cache.glob("*/*.nb*"):
                    if kept.name.split(".")[0] in stale:
                        kept.unlink()
        source = mutant.source()
        try:
            compile(source, mutant.file, "exec")
        except SyntaxError:
            return {"outcome": "no program", "by": "", "passed": [], "seconds": 0.0}
        place.write_text(source)
        try:
            return self.attempt(mutant, cache, wide, without, named)
        finally:
            place.write_text(original)
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))


def work_through(work: Path, number: int, selection: Any, queue: Any, results: Any, wide: bool) -> None:
    """A worker's life: take a mutant, report on it."""
    worker = Worker(work, number, selection)
    for mutant, without, named in iter(queue.get, None):
        try:
            said = worker.run(mutant, wide, without, named)
        except Exception as error:
            said = {"outcome": "error", "by": repr(error), "passed": [], "seconds": 0.0}
        results.put((mutant, {**said, "stage": "named" if named else "wide" if wide else "near"}))
    results.put(None)


def run_all(
    work: Path, mutants: list[tuple[Mutant, set[str], list[str]]], selection: Any, jobs: int, wide: bool, note: Any
) -> None:
    """All mutants in turn by several workers; ``note`` hears of each outcome.

    With each mutant come tests that have passed already, and tests to be run instead of those that are chosen.
    """
    first = 10 if any(named for _, _, named in mutants) else 0  # another run may be at work in the usual copies
    context = multiprocessing.get_context("fork")
    queue, results = context.Queue(), context.Queue()
    for mutant in mutants:
        queue.put(mutant)
    for _ in range(jobs):
        queue.put(None)
    workers = [
        context.Process(target=work_through, args=(work, number, selection, queue, results, wide))
        for number in range(first, first + jobs)
    ]
    for process in workers:
        process.start()
    running = jobs
    while running:
        said = results.get()
        if said is None:
            running -= 1
        else:
            note(*said)
    for process in workers:
        process.join()
