"""What modelling costs: derived counterparts against closed forms, and paths of one number against Clarabel alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.dual_solver import clouds
from benchmarks.timing import Goal, Roofs, Section, Table, in_turns, say, seconds
from convexnovelty.conic import ConicProgram
from convexnovelty.features import KernelFeatures
from convexnovelty.kernels import gaussian
from convexnovelty.methods import one_class_svm, single_class_mpm
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid


def moments(d: int) -> Moments:
    rng = np.random.default_rng(d)
    root = rng.standard_normal((d, 2 * d)) / (2 * d) ** 0.5
    return Moments(rng.standard_normal(d) + 2, root @ root.T)


def counterparts(section: Section, roofs: Roofs, quick: bool) -> None:
    table = Table(
        "Counterparts derived from membership alone: set up and solved, from nothing",
        "set | d | CPU s | of these set-up | runs | closed form ms | objectives differ | solver | order of the matrix inequality",
    )
    for uncertainty in (FrobeniusBall(0.1), MeanEllipsoid(0.1) * FrobeniusBall(0.1)):
        for d in (4,) if quick else (10, 50):
            given = moments(d)
            runs, parts = [], []
            for _ in range(1 if quick else 3 if d >= 50 else 5):
                # New moments each time: what a membership was found to be is kept with its centre.
                fresh = Moments(given.mean, given.covariance)
                before, made = seconds(
                    lambda fresh=fresh, u=uncertainty: single_class_mpm.derived_counterpart(fresh, 0.5, u)
                )
                after, found = seconds(made.solve)
                runs.append(before + after)
                parts.append(before)
            closed, exact = seconds(lambda: single_class_mpm.closed_form(given, 0.5, uncertainty))  # noqa: B023
            cpu = float(np.median(runs))
            table.add(f"`{uncertainty!r}`", str(d), cpu, float(np.median(parts)), str(len(runs)), closed * 1e3)
            table.rows[-1] += [f"{abs(found.objective / exact.objective - 1):.0e}", found.solver, str(d + 1)]
            section.raw.append({"set": repr(uncertainty), "d": d, "seconds": runs, "set-up": parts})
            say(f"derived {uncertainty!r} d={d}: {cpu:.2f} s")
            if d == 50:
                what = f"derived counterpart, `{uncertainty!r}`, d = 50"
                section.goals.append(Goal("derived", what, 5, cpu, "s", True, str(len(runs))))
    section.tables.append(table)


def clarabel_alone(formulation: Any, name: str, values: Any) -> Callable[[], list[Any]]:
    """The same programs handed over as arrays that were made before, to the same tolerances."""
    programs, settings = [], dict(formulation.solve().attempts[0].options)
    for value in values:
        formulation.set(**{name: value})
        programs.append(ConicProgram.from_problem(formulation.problem))
    return lambda: [program.solve(**settings) for program in programs]


def paths(section: Section, quick: bool) -> None:
    table = Table(
        "Paths of twenty values, with residuals, region and guarantee of each, against Clarabel alone on the same arrays",
        "program | path s | Clarabel s | ratio | more a solve ms | runs",
    )
    values, grid = np.linspace(0.05, 0.5, 3 if quick else 20), []
    for d in (4,) if quick else (10, 50, 200):
        formulation = single_class_mpm.single_class_mpm(moments(d), 0.5, FrobeniusBall(0.1))
        grid.append((f"single-class machine, d = {d}", formulation, "radius"))
    for n in (30,) if quick else (200, 800):
        features = KernelFeatures(clouds(n), gaussian(gamma="scale"), rank=50)
        grid.append(
            (f"one-class SVM, n = {n}, rank 50", one_class_svm.one_class_svm(features, 0.1), "outlier_fraction")
        )
    for label, formulation, name in grid:
        alone = clarabel_alone(formulation, name, values)
        formulation.path(**{name: values[:2]})
        turns = in_turns(
            {"ours": lambda f=formulation, k=name: f.path(**{k: values}), "alone": alone}, 1 if quick else 5
        )
        ours, clarabel = turns["ours"].seconds, turns["alone"].seconds
        table.add(label, ours, clarabel, f"**{ours / clarabel:.2f}**", (ours - clarabel) / len(values) * 1e3)
        table.rows[-1].append(str(turns["ours"].runs))
        section.goals.append(Goal("paths", f"path against Clarabel, {label}", 1.3, ours / clarabel, most=True))
        section.raw.append({"program": label, "ours": ours, "clarabel": clarabel})
        say(f"path {label}: {ours / clarabel:.2f}")
    section.tables.append(table)


def measured(roofs: Roofs, quick: bool) -> Section:
    """The section of the report."""
    section = Section("Modelling: derived counterparts and paths")
    counterparts(section, roofs, quick)
    paths(section, quick)
    return section
