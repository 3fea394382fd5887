"""Run all benchmarks in one process: ``python -m benchmarks [--quick] [--only PART] [--out FOLDER] [--page]``."""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

for name in ("OMP", "OPENBLAS", "MKL"):  # before NumPy is read: a second thread in one of two peers compares nothing
    os.environ[f"{name}_NUM_THREADS"] = "1"

DOCS = Path(__file__).parents[1] / "docs"
PARTS = ("dual_solver", "moment_methods", "imbalanced", "modelling", "startup")


def measured(parts: list[str], quick: bool, out: Path) -> dict[str, Any]:
    """The report; what is measured so far is kept in ``out`` after each part."""
    import importlib

    from benchmarks.timing import Roofs, machine

    start = time.perf_counter()
    report: dict[str, Any] = {"machine": machine(), "quick": quick, "sections": []}
    roofs = Roofs.measured()
    report["roofs"] = asdict(roofs)
    for part in parts:
        section = importlib.import_module(f"benchmarks.{part}").measured(roofs, quick)
        made = asdict(section)
        for goal, entry in zip(section.goals, made["goals"], strict=True):
            entry["reached"] = bool(goal.reached)
        report["sections"].append(made)
        report["seconds"] = time.perf_counter() - start
        out.mkdir(parents=True, exist_ok=True)
        (out / "performance.json").write_text(json.dumps(report, indent=1) + "\n")
    return report


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="some parts")
    parser.add_argument(
        "--out", type=Path, default=Path("performance"), help="folder for JSON, Markdown and the picture"
    )
    parser.add_argument("--load", type=Path, help="take the figures of an earlier run from its JSON file")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md and its picture too")
    options = parser.parse_args(arguments)

    from benchmarks.report import markdown, pictures, written

    report = (
        json.loads(options.load.read_text()) if options.load else measured(options.only, options.quick, options.out)
    )
    written(report, options.out)
    if options.page:
        (DOCS / "performance.md").write_text(markdown(report, "_static/performance.svg"))
        (DOCS / "_static" / "performance.svg").write_text(pictures(report))
    print(markdown(report, None))


if __name__ == "__main__":
    main()
