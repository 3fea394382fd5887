"""The report as JSON, Markdown and pictures, all of it from one dictionary."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from benchmarks.remarks import INTRODUCTION, LIMITS, REMARKS

__all__ = ["markdown", "pictures", "written"]


def number(value: float, unit: str) -> str:
    if unit == "times":
        return f"{value:.1f}"
    return f"{value:.1e}" if value and abs(value) < 1e-3 else f"{value:.3g}"


def goals(report: dict[str, Any]) -> list[str]:
    """One row for each target, and what stands in the way of those that are missed."""
    rows = [goal for section in report["sections"] for goal in section["goals"]]
    lines = [
        f"{sum(goal['reached'] for goal in rows)} of {len(rows)} targets are reached.",
        "",
        "| figure | target | measured | reached | runs |",
        "| --- | --- | --- | --- | --- |",
    ]
    for goal in rows:
        sign, unit = ("at most" if goal["most"] else "at least"), goal["unit"]
        lines.append(
            f"| {goal['what']} | {sign} {goal['goal']:g} {unit} | {number(goal['value'], unit)} {unit} | "
            f"{'yes' if goal['reached'] else '**no**'} | {goal['runs'] or 'as below'} |"
        )
    missed: dict[str, list[str]] = {}
    for goal in rows:
        if not goal["reached"]:
            missed.setdefault(goal["key"], []).append(goal["what"])
    if missed:
        lines += ["", "### What is not reached, and why", ""]
        for key, figures in missed.items():
            named = "; ".join(figures[:2]) + (f"; and {len(figures) - 2} more" if len(figures) > 2 else "")
            lines.append(f"- *{named}.* {REMARKS.get(key, 'Not looked into yet.')}")
    return lines


def markdown(report: dict[str, Any], picture: str | None) -> str:
    """The page."""
    roofs = report["roofs"]
    lines = ["# Performance", "", *INTRODUCTION.strip().splitlines(), ""]
    lines += [
        f"Measured on {report['machine']}. One thread unless a row says otherwise. One thread reaches "
        f"{roofs['flops'] / 1e9:.0f} GFlop/s in a product of matrices and reads {roofs['bytes'] / 1e9:.1f} GB/s; the limits below "
        "are these rates times the operations or bytes that cannot be avoided. "
        f"The whole run took {report['seconds'] / 60:.0f} minutes."
        + ("" if not report["quick"] else " It was a quick one, on sizes that say nothing."),
        "",
        *([report["note"], ""] if "note" in report else []),
        "## Targets",
        "",
        *goals(report),
    ]
    lines += ["", "## How the limits are counted", "", *LIMITS.strip().splitlines()]
    if picture is not None:
        lines += ["", "## Growth", "", f"![Seconds against the number of points]({picture})"]
    for section in report["sections"]:
        lines += ["", f"## {section['name']}"]
        for table in section["tables"]:
            count = table["columns"].count(" | ") + 1
            lines += ["", f"### {table['title']}", "", f"| {table['columns']} |", "|" + " --- |" * count]
            lines += [f"| {' | '.join(row)} |" for row in table["rows"]]
    return "\n".join(lines) + "\n"


def pictures(report: dict[str, Any]) -> str:
    """Lines of all sections in one row of double logarithmic axes, as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "performance"
    from matplotlib import pyplot

    drawn = [section for section in report["sections"] if section["lines"]]
    figure, axes = pyplot.subplots(1, max(len(drawn), 1), figsize=(6 * max(len(drawn), 1), 4.5), squeeze=False)
    for axis, section in zip(axes[0], drawn, strict=False):
        for name, (sizes, values) in section["lines"].items():
            if "fraction" in name and "0.1" not in name:
                continue
            axis.loglog(sizes, values, "o-", label=name, linewidth=1.2, markersize=3)
        axis.set(xlabel="points", ylabel="CPU seconds", title=section["name"].split(":")[0])
        axis.grid(True, which="major", linewidth=0.3)
        axis.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def written(report: dict[str, Any], out: Path) -> None:
    """JSON, Markdown and the picture in one folder."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "performance.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / "performance.svg").write_text(pictures(report))
    (out / "performance.md").write_text(markdown(report, "performance.svg"))
