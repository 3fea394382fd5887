"""The single-class machine of a kernel against the paper's form and one factorisation; the two-class machine against CVXPY."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.dual_solver import DATA
from benchmarks.timing import Goal, Roofs, Section, Table, apart, exponent, in_turns, say
from convexnovelty.algorithms.kernel_ridge import kernel_ridge
from convexnovelty.estimators import SingleClassMPM
from convexnovelty.kernels import gaussian
from convexnovelty.methods import two_class_mpm
from convexnovelty.moments import Moments

RIDGE = 0.01


def papers_form(X: np.ndarray, kernel: Any) -> np.ndarray:
    """(L'L + rho K)^{-1} k, factorised, as equation 16 has it."""
    K = kernel(X)
    k = K.mean(axis=0)
    L = (K - k) / np.sqrt(len(X))
    matrix = L.T @ L
    matrix += RIDGE * K
    # Rounding makes the least eigenvalues negative; the paper's form has no ridge of its own to lift them.
    matrix.flat[:: len(X) + 1] += 1e-12 * len(X)
    return cho_solve(cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False), k)


def one_factorisation(X: np.ndarray, kernel: Any) -> np.ndarray:
    """(K + n rho I)^{-1} 1 by one Cholesky factorisation."""
    K = kernel(X)
    K.flat[:: len(X) + 1] += len(X) * RIDGE
    return cho_solve(cho_factor(K, lower=True, overwrite_a=True, check_finite=False), np.ones(len(X)))


SETUP = """
from benchmarks.moment_methods import *
X = DATA[{data!r}]({n})
kernel = gaussian(gamma="scale").fitted(X)
kernel_ridge(X[:1500], kernel, RIDGE)
"""


def single_class(section: Section, roofs: Roofs, quick: bool) -> None:
    table = Table(
        "Single-class minimax probability machine, Gaussian kernel, rho = 0.01 (kernel values and checks included)",
        "data | n | paper's form s | one Cholesky s | ours s | against the paper | against Cholesky | runs | products | "
        "residual | scores differ | limit s | ours/limit",
    )
    grid = [("clouds, d=10", 600), ("clouds, d=10", 1500)] if quick else []
    if not quick:
        grid = [("clouds, d=10", n) for n in (1000, 2000, 5000, 10_000)] + [("spectra, d=60", 10_000)]
    sizes: dict[str, list[float]] = {"paper": [], "cholesky": [], "ours": []}
    for data, n in grid:
        X = DATA[data](n)
        kernel = gaussian(gamma="scale").fitted(X)
        turns = in_turns(
            {
                "ours": lambda X=X, kernel=kernel: kernel_ridge(X, kernel, RIDGE),
                "cholesky": lambda X=X, kernel=kernel: one_factorisation(X, kernel),
                "paper": lambda X=X, kernel=kernel: papers_form(X, kernel),
            },
            1 if quick else 5,
        )
        ours, cholesky, paper = (turns[who].seconds for who in ("ours", "cholesky", "paper"))
        found = turns["ours"].result
        # What both give at the sample, K g = 1 - n rho g.
        difference = np.abs(turns["cholesky"].result - found.coefficients).max() * n * RIDGE
        limit = roofs.kernel(float(n) ** 2 / 2, X.shape[1])
        runs = ", ".join(str(turns[who].runs) for who in ("paper", "cholesky", "ours"))
        table.add(data, f"{n:,}", paper, cholesky, ours, f"**{paper / ours:.1f}**", f"**{cholesky / ours:.1f}**", runs)
        table.rows[-1] += [str(found.iterations + 1), f"{found.residual:.0e}", f"{difference / found.spread:.0e}"]
        table.rows[-1] += [f"{limit:.3g}", f"{ours / limit:.1f}"]
        section.raw.append({"data": data, "n": n, "ours": ours, "cholesky": cholesky, "paper": paper, "limit": limit})
        if data.startswith("clouds"):
            for who in sizes:
                sizes[who].append(turns[who].seconds)
        if n == 10_000:
            section.goals += [
                Goal(
                    "mpm paper", f"single-class machine, {data}, n = 10,000, against the paper's form", 15, paper / ours
                ),
                Goal("mpm cholesky", f"single-class machine, {data}, n = 10,000, against Cholesky", 4, cholesky / ours),
            ]
            for goal in section.goals[-2:]:
                goal.runs = runs
        say(f"single-class {data} n={n}: {paper:.2f} / {cholesky:.2f} / {ours:.2f} s")
    section.tables.append(table)
    points = [float(n) for data, n in grid if data.startswith("clouds")]
    slopes = Table("Growth exponents from the first to the last n", "paper's form | one Cholesky | ours")
    slopes.add(*(exponent(points, sizes[who]) for who in ("paper", "cholesky", "ours")))
    section.tables.append(slopes)
    for who, label in (("paper", "MPM, paper's form"), ("cholesky", "MPM, one Cholesky"), ("ours", "MPM, ours")):
        section.lines[label] = (points, sizes[who])


def single_class_large(section: Section, roofs: Roofs) -> None:
    table = Table(
        "The same in a process of its own, once, two threads (memory beside the data; estimator with its checks)",
        "data | n | way | wall s | CPU s | MB | error of scores | limit s (two threads) | ours/limit",
    )
    estimator = "SingleClassMPM(0.3, ridge=RIDGE).fit(X)"
    ways = [
        ("clouds, d=10", 10_000, "one Cholesky", "one_factorisation(X, kernel)", "0"),
        ("clouds, d=10", 10_000, "estimator", estimator, "result.certificate_.error"),
        ("clouds, d=10", 50_000, "estimator", estimator, "result.certificate_.error"),
        ("spectra, d=60", 50_000, "estimator", estimator, "result.certificate_.error"),
    ]
    for data, n, way, task, more in ways:
        run = apart(SETUP.format(data=data, n=n), task, more)
        limit = roofs.kernel(float(n) ** 2 / 2, 10 if data.startswith("clouds") else 60) / 2
        table.add(
            data, f"{n:,}", way, run.wall, run.cpu, f"{run.memory:.0f}", f"{run.more:.0e}", limit, run.wall / limit
        )
        section.raw.append({"data": data, "n": n, "way": way, "wall": run.wall, "cpu": run.cpu, "memory": run.memory})
        if n == 50_000:
            section.goals.append(Goal("mpm large", f"exact, {data}, n = 50,000", 30, run.wall, "s", True, "1"))
        say(f"single-class {data} n={n} {way}: {run.wall:.1f} s, {run.memory:.0f} MB")
    section.tables.append(table)


def two_class(section: Section, roofs: Roofs, quick: bool) -> None:
    table = Table(
        "Two-class machine, exact moments",
        "d | plain CVXPY + Clarabel ms | our program ms | scalar root ms | against plain | against our program | runs | "
        "values differ | limit ms (one Cholesky) | ours/limit",
    )
    for d in (5, 10) if quick else (10, 60, 200, 500):
        rng = np.random.default_rng(d)
        roots = [rng.standard_normal((d, 2 * d)) / (2 * d) ** 0.5 for _ in range(2)]
        moments = [Moments(rng.standard_normal(d) + shift, R @ R.T) for R, shift in zip(roots, (0, 1), strict=True)]

        def plain(moments: list[Moments] = moments, d: int = d) -> float:
            a = cp.Variable(d)
            deviations = [cp.norm(np.linalg.cholesky(part.covariance).T @ a) for part in moments]
            problem = cp.Problem(cp.Minimize(sum(deviations)), [(moments[0].mean - moments[1].mean) @ a == 1])
            return float(problem.solve(solver="CLARABEL"))

        turns = in_turns(
            {
                "ours": lambda moments=moments: two_class_mpm.scalar_root(*moments),
                "plain": plain,
                "program": lambda moments=moments: two_class_mpm.two_class_mpm(*moments).solve(),
            },
            1 if quick else 7,
        )
        ours, peer, program = (turns[who].seconds for who in ("ours", "plain", "program"))
        difference = abs(turns["ours"].result.objective / turns["plain"].result - 1)
        limit = d**3 / 3 / roofs.flops
        table.add(str(d), peer * 1e3, program * 1e3, ours * 1e3, f"**{peer / ours:.0f}**", f"{program / ours:.0f}")
        table.rows[-1] += [str(turns["ours"].runs), f"{difference:.0e}", f"{limit * 1e3:.2g}", f"{ours / limit:.1f}"]
        section.goals.append(
            Goal("two-class", f"two-class machine, d = {d}", 20, peer / ours, runs=str(turns["ours"].runs))
        )
        section.raw.append({"d": d, "ours": ours, "plain": peer, "program": program, "difference": difference})
    section.goals.append(
        Goal(
            "two-class value",
            "its value, largest difference",
            1e-8,
            max(r.get("difference", 0) for r in section.raw),
            "",
            True,
        )
    )
    section.tables.append(table)


def measured(roofs: Roofs, quick: bool) -> Section:
    """The section of the report."""
    section = Section("Moment methods: the single-class and the two-class machine")
    kernel_ridge(DATA["clouds, d=10"](1500), gaussian(gamma=0.1), RIDGE)
    SingleClassMPM(0.3).fit(DATA["clouds, d=10"](50))
    single_class(section, roofs, quick)
    if not quick:
        single_class_large(section, roofs)
    two_class(section, roofs, quick)
    return section
