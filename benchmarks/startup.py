"""What a user waits for at first: the import and the first fit of a new process, compiled code being on the disk.

Every run is a process of its own. Its CPU seconds are those of the whole process, from the start of Python; runs of all
programs take turns, and a first fit of each, which may compile, does not count.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.timing import Goal, Roofs, Section, Table, say

DATA = "import numpy as np; X = np.random.default_rng(0).normal(size=(100, 10)); "
RUNS = 5
ONE_CLASS = "OneClassSVM", "SoftBall", "SingleClassMPM", "MahalanobisSVM", "KernelLearningSVM"
LABELLED = "TwoClassMPM", "MomentClassifier", "SemiSupervisedDetector"
OTHERS = (*ONE_CLASS[1:], *LABELLED)  # whose start is that of OneClassSVM and what they fit with: once
SOLVER = "from convexnovelty.algorithms.block_dual import solve_dual; from convexnovelty.kernels import gaussian; "
SOLVE = "solve_dual(X, gaussian(gamma='scale'), outlier_fraction=0.1, tolerance=1e-3)"

# What a start is made of: each program does what the one before it in its group does, and one thing more.
PIECES = {
    "Python": "pass",
    "NumPy": "import numpy",
    "NumPy, SciPy's linear algebra": "import scipy.linalg",
    "NumPy, numba": "import numba",
    "base of scikit-learn's estimators": "import sklearn.base",
    "the same where pandas is not installed": "import sys; sys.modules['pandas'] = None; import sklearn.base",
    "import of our solver": SOLVER,
    "import of our OneClassSVM": "from convexnovelty.estimators import OneClassSVM",
}

SPLIT = (
    "NumPy",
    "NumPy, numba",
    "base of scikit-learn's estimators",
    "import of our OneClassSVM",
)  # what a quick run takes


def programs() -> dict[str, str]:
    """First fits by name: our solver, our estimators, and the peer."""
    found = {
        "block solver, import and first solution": DATA + SOLVER + SOLVE,
        "peer: scikit-learn's OneClassSVM": DATA + "from sklearn.svm import OneClassSVM; OneClassSVM(nu=0.1).fit(X)",
    }
    for name in (*ONE_CLASS, *LABELLED):
        labels = ", np.repeat([0, 1], 50)" if name in LABELLED else ""
        found[name] = f"{DATA}from convexnovelty.estimators import {name}; {name}().fit(X{labels})"
    return found


def process_seconds(code: str) -> float:
    """CPU seconds of a new Python that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    root = str(Path(__file__).parents[1])
    subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r}); {code}"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(roofs: Roofs, quick: bool) -> Section:
    """The section of the report."""
    section = Section("Start: import and first fit in a new process")
    fits = programs()
    if quick:
        fits = {name: code for name, code in fits.items() if name.startswith(("block", "peer", "OneClassSVM"))}
    pieces = {name: code for name, code in PIECES.items() if not quick or name in SPLIT}
    tasks, repeats = {**pieces, **fits}, 1 if quick else RUNS
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for name in () if quick else fits:
        process_seconds(fits[name])  # which may compile
    for turn in range(repeats):
        for name, code in tasks.items():
            if name not in OTHERS or turn == 0:
                times[name].append(process_seconds(code))
        say(f"start: turn {turn}")
    found = {name: float(np.median(values)) for name, values in times.items()}
    peer = found["peer: scikit-learn's OneClassSVM"]
    alone = Table("What it is made of", "a process that does this alone | CPU s | runs")
    for name in pieces:
        alone.add(name, f"{found[name]:.2f}", str(repeats))
    whole = Table(
        "Import and first fit of 100 points in 10 dimensions, from the start of Python",
        "what | CPU s | against the peer | runs",
    )
    for name in fits:
        whole.add(name, f"{found[name]:.2f}", f"{found[name] / peer:.2f}", str(len(times[name])))
    base, ours = found["base of scikit-learn's estimators"], found["OneClassSVM"]
    rest = Table("The first fit of OneClassSVM, split", "part | CPU s")
    for name, value in (
        ("Python and NumPy", found["NumPy"]),
        ("scikit-learn's base, with SciPy (and pandas, where it is installed)", base - found["NumPy"]),
        ("our modules", found["import of our OneClassSVM"] - base),
        ("numba's import", found["NumPy, numba"] - found["NumPy"]),
        (
            "compiled code read from the disk, and the fit",
            ours - found["import of our OneClassSVM"] - found["NumPy, numba"] + found["NumPy"],
        ),
    ):
        rest.add(name, f"{value:.2f}")
    section.tables += [whole, rest, alone]
    solver = found["block solver, import and first solution"]
    section.goals += [
        Goal("start solver", "import and first solution (cached), block solver", 1.5, solver, "s", True, str(repeats)),
        Goal("start estimator", "import and first fit (cached), OneClassSVM", 1.5, ours, "s", True, str(repeats)),
    ]
    section.raw.append({"seconds": times})
    return section
