"""Measure the block dual solver against scikit-learn's OneClassSVM: one thread, one process, the same true accuracy.

    python benchmarks/dual_solver.py                 # the whole grid, a quarter of an hour
    python benchmarks/dual_solver.py --sizes 500 2000 --no-large --out results

Figures are medians of CPU seconds with the two solvers taking turns; our input checks are included, as are the peer's.
Both KKT gaps are evaluated anew in float64, in libsvm's units, and stand beside the times. Writes ``dual_solver.json``
and ``dual_solver.md`` into ``--out`` and prints the latter.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.svm import OneClassSVM
from threadpoolctl import threadpool_limits

from convexnovelty.algorithms.block_dual import decision, dual_path, kkt_violation, solve_dual
from convexnovelty.kernels import gaussian

FRACTIONS = (0.01, 0.1, 0.5)
GOALS = {500: (1.5, 3.0, 6.0), 2000: (2.5, 7.0, 10.0), 5000: (4.0, 10.0, 15.0), 20000: (7.0, 18.0, 22.0)}


def clouds(n: int, seed: int = 0) -> np.ndarray:
    """A mixture of five Gaussians of different shapes in 10 dimensions."""
    rng = np.random.default_rng(seed)
    centers, shapes = 3 * rng.normal(size=(5, 10)), rng.normal(size=(5, 10, 10)) / 10**0.5
    which = rng.integers(5, size=n)
    X = rng.normal(size=(n, 10))
    for k in range(5):
        X[which == k] = X[which == k] @ shapes[k].T + centers[k]
    return X


def spectra(n: int, seed: int = 0) -> np.ndarray:
    """Noisy blends of 200 smooth curves with their neighbours, in 60 dimensions: few directions matter."""
    rng = np.random.default_rng(seed)
    curves = np.cumsum(rng.normal(size=(200, 60)), axis=1)
    curves = (curves - curves.min(axis=1, keepdims=True)) / np.ptp(curves, axis=1)[:, None]
    near = np.argsort(((curves[:, None] - curves[None]) ** 2).sum(axis=2), axis=1)[:, 1:6]
    i, share = rng.integers(200, size=n), rng.random((n, 1))
    blend = share * curves[i] + (1 - share) * curves[near[i, rng.integers(5, size=n)]]
    return blend + 0.15 * curves.std(axis=0) * rng.normal(size=(n, 60))


DATA: dict[str, Callable[..., np.ndarray]] = {"clouds, d=10": clouds, "spectra, d=60": spectra}


def seconds(task: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = task()
    return time.process_time() - start, result


def in_turns(tasks: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The median CPU seconds of each task, taken in turns so that a disturbance meets all of them."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    results = {}
    for _ in range(repeats):
        for name, task in tasks.items():
            elapsed, results[name] = seconds(task)
            times[name].append(elapsed)
    return {name: float(np.median(values)) for name, values in times.items()}, results


def peer_gap(X: np.ndarray, model: OneClassSVM, gamma: float, fraction: float) -> float:
    """The peer's KKT gap, from its multipliers alone."""
    n = len(X)
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_[0]
    f = decision(X, gaussian(gamma=gamma), a, X)
    return float(max(f[a > 0].max(initial=-np.inf) - f[a < 1.0].min(initial=np.inf), 0.0)) if n * fraction < n else 0.0


def fit_rows(sizes: list[int], repeats: int) -> list[dict[str, Any]]:
    """Fits: ours and the peer's at one tolerance, and ours to the accuracy of the machine."""
    rows = []
    for (name, make), n, width, fraction in itertools.product(DATA.items(), sizes, (1, 10), FRACTIONS):
        X = make(n)
        gamma = width / (X.shape[1] * X.var())
        for tolerance in (1e-3, 1e-6) if n <= 5000 else (1e-3,):

            def ours(accuracy: float, X: np.ndarray = X, gamma: float = gamma, fraction: float = fraction) -> Any:
                return solve_dual(X, gaussian(gamma=gamma), outlier_fraction=fraction, tolerance=accuracy)

            tasks = {
                "ours": lambda tolerance=tolerance: ours(tolerance),
                "exact": lambda: ours(1e-11),
                "peer": lambda X=X, g=gamma, nu=fraction, t=tolerance: OneClassSVM(gamma=g, nu=nu, tol=t).fit(X),
            }
            times, results = in_turns(tasks, repeats if n <= 5000 else min(repeats, 5))
            scale, bound = fraction * n, 1 / (fraction * n)
            row = {
                "data": name,
                "n": n,
                "width": width,
                "fraction": fraction,
                "tolerance": tolerance,
                **times,
                "ratio": times["peer"] / times["ours"],
                "exact_over_ours": times["exact"] / times["ours"],
                "gap": kkt_violation(X, results["ours"], bound) * scale,
                "exact_gap": kkt_violation(X, results["exact"], bound) * scale,
                "peer_gap": peer_gap(X, results["peer"], gamma, fraction),
                "support": int(results["ours"].support.size),
                "evaluations": results["ours"].columns * n,
            }
            rows.append(row)
            print(
                f"{name} n={n} gamma x{width} nu={fraction} tol={tolerance:g}: {row['ratio']:.1f} times "
                f"({times['peer'] * 1e3:.2f} / {times['ours'] * 1e3:.2f} ms), exact {row['exact_over_ours']:.2f}",
                file=sys.stderr,
                flush=True,
            )
    return rows


def path_rows(repeats: int) -> list[dict[str, Any]]:
    """Twenty outlier fractions at n = 10,000."""
    rows, fractions = [], np.geomspace(0.01, 0.5, 20)
    for (name, make), width in itertools.product(DATA.items(), (1, 10)):
        X = make(10_000)
        gamma = width / (X.shape[1] * X.var())
        peer = sum(seconds(lambda nu=nu: OneClassSVM(gamma=gamma, nu=nu).fit(X))[0] for nu in fractions)  # noqa: B023
        times, results = in_turns({"ours": lambda: dual_path(X, gaussian(gamma=gamma), fractions)}, repeats)  # noqa: B023
        gap = max(
            kkt_violation(X, r, 1 / (nu * 1e4)) * nu * 1e4 for nu, r in zip(fractions, results["ours"], strict=True)
        )
        rows.append(
            {
                "data": name,
                "width": width,
                "ours": times["ours"],
                "peer": peer,
                "ratio": peer / times["ours"],
                "gap": gap,
            }
        )
    return rows


def prediction_rows(repeats: int) -> list[dict[str, Any]]:
    """Scores of 10,000 new points."""
    rows = []
    for (name, make), fraction in itertools.product(DATA.items(), FRACTIONS):
        X, Z = make(10_000), make(10_000, seed=1)
        gamma = 1 / (X.shape[1] * X.var())
        model = OneClassSVM(gamma=gamma, nu=fraction, tol=1e-3).fit(X)
        weights = np.zeros(10_000)
        weights[model.support_] = model.dual_coef_[0]
        tasks = {
            "ours": lambda: decision(X, gaussian(gamma=gamma), weights, Z),  # noqa: B023
            "peer": lambda: model.score_samples(Z),  # noqa: B023
        }
        times, results = in_turns(tasks, repeats)
        difference = float(np.abs(results["ours"] / results["peer"] - 1).max())
        rows.append(
            {"data": name, "support": int(model.support_.size), **times, "ratio": times["peer"] / times["ours"]}
            | {"difference": difference, "nanoseconds": times["ours"] / model.support_.size / 1e4 * 1e9}
        )
    return rows


MEMORY = """
import resource, sys
sys.path.insert(0, {here!r})
from dual_solver import *
threadpool_limits(1)
X = clouds({n})
gamma = 1 / (10 * X.var())
solve_dual(X[:500], gaussian(gamma=gamma), outlier_fraction=0.1)
OneClassSVM(gamma=gamma, nu=0.1).fit(X[:500])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
elapsed, _ = seconds(lambda: {task})
print(elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def apart(n: int, task: str) -> tuple[float, float]:
    """CPU seconds and growth of the resident memory in MB of one fit in a process of its own."""
    code = MEMORY.format(here=str(Path(__file__).parent), n=n, task=task)
    words = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return float(words[0]), float(words[1]) / 1e3


def large_rows() -> list[dict[str, Any]]:
    """Memory at n = 20,000 against the peer's, and sizes at which the peer is not run."""
    rows = []
    for n, fraction in ((20_000, 0.1), (100_000, 0.1), (1_000_000, 0.01)):
        ours = f"solve_dual(X, gaussian(gamma=gamma), outlier_fraction={fraction})"
        row: dict[str, Any] = {"n": n, "fraction": fraction}
        row["ours"], row["memory"] = apart(n, ours)
        if n == 20_000:
            row["peer"], row["peer_memory"] = apart(n, f"OneClassSVM(gamma=gamma, nu={fraction}).fit(X)")
        rows.append(row)
    return rows


def exponents(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Slopes of log time over log n for both solvers, for each line of the grid."""
    slopes = []
    keys = sorted({(r["data"], r["width"], r["fraction"]) for r in rows})
    for data, width, fraction in keys:
        line = [
            r
            for r in rows
            if (r["data"], r["width"], r["fraction"], r["tolerance"]) == (data, width, fraction, 1e-3)
            and r["n"] >= 2000
        ]
        if len(line) > 1:
            n = np.log([r["n"] for r in line])
            slope = {who: float(np.polyfit(n, np.log([r[who] for r in line]), 1)[0]) for who in ("ours", "peer")}
            slopes.append({"data": data, "width": width, "fraction": fraction, **slope})
    return slopes


def markdown(report: dict[str, Any]) -> str:
    """The tables."""
    fits = report["fits"]
    lines = ["# Dual solver against scikit-learn's OneClassSVM", "", report["machine"], ""]
    ratios = np.array([r["ratio"] for r in fits])
    within = np.mean([r["exact_over_ours"] <= 1.5 for r in fits if r["tolerance"] == 1e-3])
    lines += [
        f"{len(fits)} cells: geometric mean {np.exp(np.log(ratios).mean()):.1f} times faster, least {ratios.min():.1f}, "
        f"most {ratios.max():.1f}. Accuracy of the machine within 1.5 of the time at 1e-3 in {within:.0%} of the cells; "
        f"largest true gap then {max(r['exact_gap'] for r in fits):.1e}.",
        "",
        "| data | gamma | tolerance | fraction | n | peer ms | ours ms | times faster | goal | gap | peer gap | exact ms | x |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in fits:
        goal = (
            GOALS.get(r["n"], (0, 0, 0))[FRACTIONS.index(r["fraction"])]
            if (r["width"], r["tolerance"]) == (1, 1e-3)
            else 1.5
        )
        lines.append(
            f"| {r['data']} | x{r['width']} | {r['tolerance']:g} | {r['fraction']} | {r['n']} | {r['peer'] * 1e3:.2f} | "
            f"{r['ours'] * 1e3:.2f} | **{r['ratio']:.1f}** | {goal:g}{'' if r['ratio'] >= goal else ' (missed)'} | "
            f"{r['gap']:.0e} | {r['peer_gap']:.0e} | {r['exact'] * 1e3:.2f} | {r['exact_over_ours']:.2f} |"
        )
    lines += [
        "",
        "Growth exponents of the time from n = 2,000 on:",
        "",
        "| data | gamma | fraction | ours | peer |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['data']} | x{r['width']} | {r['fraction']} | {r['ours']:.2f} | {r['peer']:.2f} |"
        for r in report["exponents"]
    ]
    if "paths" in report:
        lines += [
            "",
            "Twenty fractions from 0.01 to 0.5 at n = 10,000 (the peer once):",
            "",
            "| data | gamma | peer s | ours s | times faster | gap |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {r['data']} | x{r['width']} | {r['peer']:.2f} | {r['ours']:.3f} | **{r['ratio']:.0f}** | {r['gap']:.0e} |"
            for r in report["paths"]
        ]
        lines += [
            "",
            "Scores of 10,000 points:",
            "",
            "| data | support vectors | peer ms | ours ms | times faster | ns a value | largest difference |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {r['data']} | {r['support']} | {r['peer'] * 1e3:.1f} | {r['ours'] * 1e3:.2f} | **{r['ratio']:.0f}** "
            f"| {r['nanoseconds']:.2f} | {r['difference']:.0e} |"
            for r in report["predictions"]
        ]
    if "large" in report:
        lines += [
            "",
            "Large problems, each once in a process of its own (memory beside the data):",
            "",
            "| n | fraction | ours s | MB | peer s | MB |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {r['n']:,} | {r['fraction']} | {r['ours']:.2f} | {r['memory']:.0f} | "
            + (f"{r['peer']:.2f} | {r['peer_memory']:.0f} |" if "peer" in r else "not run | |")
            for r in report["large"]
        ]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """What was measured on."""
    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor()
    )
    return (
        f"{model}, one thread, Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn "
        f"{sklearn.__version__}; load average when it started {os.getloadavg()[0]:.1f}."
    )


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000, 5000, 20000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--no-paths", action="store_true", help="leave out the path and the prediction")
    parser.add_argument("--no-large", action="store_true", help="leave out memory and the large problems")
    parser.add_argument("--out", type=Path, default=Path("."))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"machine": machine()}
    # Compilation, or reading it from the cache, is paid once and is not part of any figure.
    solve_dual(clouds(4000), gaussian(gamma=0.1), outlier_fraction=0.1, tolerance=1e-10)
    threadpool_limits(1)  # a benchmark of one thread with a second one in BLAS would measure neither
    report["fits"] = fit_rows(options.sizes, options.repeats)
    report["exponents"] = exponents(report["fits"])
    if not options.no_paths:
        report["paths"] = path_rows(options.repeats)
        report["predictions"] = prediction_rows(options.repeats)
    if not options.no_large:
        report["large"] = large_rows()
    text = markdown(report)
    (options.out / "dual_solver.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "dual_solver.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
