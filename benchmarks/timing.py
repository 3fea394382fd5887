"""Clocks, turns, roofs of the machine, and what a report is made of."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

LONG = 20.0  # seconds of one run beyond which it is not repeated
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "cvxpy", "clarabel")


@dataclass
class Goal:
    """A target and what was measured: ``value`` should be at least ``goal``, or at most where ``most`` is true."""

    key: str
    what: str
    goal: float
    value: float
    unit: str = "times"
    most: bool = False
    runs: str = ""

    @property
    def reached(self) -> bool:
        return self.value <= self.goal if self.most else self.value >= self.goal


@dataclass
class Table:
    """Rows of text under a title; the names of the columns with bars between."""

    title: str
    columns: str
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        self.rows.append([cell if isinstance(cell, str) else f"{cell:.3g}" for cell in cells])


@dataclass
class Section:
    """What one module measured: goals, tables, lines of a plot as {name: (x, y)}, and raw numbers."""

    name: str
    goals: list[Goal] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    lines: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    raw: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Turns:
    """Median seconds of a task, its last result, and how often it ran."""

    seconds: float
    result: Any
    runs: int


def seconds(task: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    start = clock()
    result = task()
    return clock() - start, result


def in_turns(tasks: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Turns]:
    """Each task in its turn, so that a disturbance meets all of them; CPU seconds.

    A task that takes longer than ``LONG`` runs once.
    """
    times: dict[str, list[float]] = {name: [] for name in tasks}
    results: dict[str, Any] = {}
    for _ in range(repeats):
        for name, task in tasks.items():
            if times[name] and times[name][0] > LONG:
                continue
            elapsed, results[name] = seconds(task)
            times[name].append(elapsed)
    return {name: Turns(float(np.median(values)), results[name], len(values)) for name, values in times.items()}


def exponent(sizes: list[float], values: list[float]) -> float:
    """The slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else float("nan")


@dataclass(frozen=True)
class Roofs:
    """Rates of one thread: floating-point operations of a matrix product, and bytes read from memory, a second."""

    flops: float
    bytes: float

    @classmethod
    def measured(cls) -> Roofs:
        A = np.random.default_rng(0).standard_normal((1200, 1200))
        long = np.ones(40_000_000)
        products = [seconds(lambda: A @ A, time.perf_counter)[0] for _ in range(5)]
        reads = [seconds(lambda: long @ long, time.perf_counter)[0] for _ in range(5)]
        return cls(2 * 1200.0**3 / min(products), 8.0 * long.size / min(reads))

    def kernel(self, values: float, dimension: int) -> float:
        """Seconds that so many Gaussian kernel values take at that rate: a dot product and eight multiply-adds each."""
        return values * 2 * (dimension + 8) / self.flops


APART = """
import sys, time
sys.path.insert(0, {root!r})
{setup}

def peak():
    # The kernel's own mark: what getrusage says of a child begins with the peak of its parent.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

before = peak()
wall, cpu = time.perf_counter(), time.process_time()
result = {task}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(wall, cpu, peak() - before, {more})
"""


@dataclass(frozen=True)
class Apart:
    """One run in a process of its own: seconds by both clocks, growth of resident memory in MB, and a number more."""

    wall: float
    cpu: float
    memory: float
    more: float


def apart(setup: str, task: str, more: str = "0") -> Apart:
    """Run ``setup``, then ``task`` under the clocks; ``more`` is evaluated with its ``result``."""
    code = APART.format(root=str(Path(__file__).parents[1]), setup=setup, task=task, more=more)
    words = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return Apart(float(words[0]), float(words[1]), float(words[2]) / 1e3, float(words[3]))


def machine() -> str:
    """What was measured on, in general words."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores, {model}; Python {platform.python_version()}, {versions}; load average at the start "
        f"{os.getloadavg()[0]:.1f}"
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
