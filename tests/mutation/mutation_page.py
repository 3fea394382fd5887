"""The stored outcomes of a sample, and the page that is made of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "outcomes.json"
REMARKS = HERE / "remarks.json"
PAGE = HERE.parents[1] / "docs" / "mutation.md"
KINDS = {
    "equivalent": "no input tells it from the original",
    "speed": "only time, memory or the number of iterations changes",
    "text": "only what is written to a reader changes",
    "tolerance": "a threshold between two accuracies moves, and any in a wide range is right",
    "choice": "one of several choices that serve alike is made instead of another",
    "gap": "a test was missing",
}
GOAL = 0.85


def interval(killed: int, count: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a proportion."""
    if count == 0:
        return 0.0, 1.0
    z, p = 1.959964, killed / count
    middle, half = p + z**2 / (2 * count), z * math.sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return max(0.0, (middle - half) / (1 + z**2 / count)), min(1.0, (middle + half) / (1 + z**2 / count))


def collected(work: Path, label: str) -> dict[str, Any]:
    """What a run has found, the later outcome of a mutant over an earlier one.

    ``first`` is the outcome before the tests were written whose names ``written.txt`` in the folder of the run lists. Of
    what is stored from a sample of another seed, the rates are kept and the survivors.
    """
    from mutants import EXCLUDED, OPERATORS, SEED

    listed = work / "written.txt"
    written = set(listed.read_text().split()) if listed.exists() else set()
    found: dict[str, dict[str, Any]] = {}
    for line in (work / f"{label}.jsonl").read_text().splitlines():
        entry = json.loads(line)
        for key in ("passed", "seconds"):
            entry.pop(key)
        entry.pop("stage")
        new = entry["by"].split("::")[-1].split("[")[0] in written
        entry["first"] = "survived" if new else entry["outcome"]
        found[entry["name"]] = entry
    stored = json.loads(OUTCOMES.read_text())
    if stored["seed"] == SEED:
        earlier, lasting = stored["earlier"], stored["lasting"]
    else:
        folders = {m["folder"] for m in stored["mutants"]}
        parts = {folder: [m for m in stored["mutants"] if m["folder"] == folder] for folder in sorted(folders)}
        rates = {folder: [rate(part, "first"), rate(part, "outcome")] for folder, part in parts.items()}
        earlier = [*stored["earlier"], {"seed": stored["seed"], "commit": stored["commit"], "rates": rates}]
        lasting = [*stored["lasting"], *(m for m in stored["mutants"] if m["outcome"] == "survived")]
    return {
        "seed": SEED,
        "commit": (work / "commit.txt").read_text().strip() if (work / "commit.txt").exists() else "",
        "operators": len(OPERATORS),
        "excluded": list(EXCLUDED),
        "population": json.loads((work / "population.json").read_text()),
        "earlier": earlier,
        "lasting": lasting,
        "mutants": sorted(found.values(), key=lambda entry: (entry["folder"], entry["name"])),
    }


def counted(mutants: list[dict[str, Any]], key: str) -> dict[str, int]:
    """How many there are of each outcome."""
    return {
        kind: sum(m[key] == kind for m in mutants) for kind in ("killed", "timeout", "survived", "no program", "error")
    }


def rate(mutants: list[dict[str, Any]], key: str) -> str:
    """Noticed of those that ran, with its interval."""
    count = counted(mutants, key)
    caught = count["killed"] + count["timeout"]
    total = caught + count["survived"]
    low, high = interval(caught, total)
    return f"{100 * caught / max(total, 1):.1f} % ({100 * low:.0f} to {100 * high:.0f})"


def markdown(report: dict[str, Any], remarks: dict[str, dict[str, str]]) -> str:
    """The page."""
    mutants, population = report["mutants"], report["population"]
    folders = list(population)
    of = {folder: [m for m in mutants if m["folder"] == folder] for folder in folders}
    same = {m["name"] for m in mutants if remarks.get(m["name"], {}).get("kind") == "equivalent"}
    lines = [
        "# Mutation tests",
        "",
        "A mutant is the library with one small slip: a plus that became a minus, a bound that moved by one, a condition that was",
        "turned round. A test that fails for it kills it; one that lives shows either that the slip changes nothing, or that a test is",
        f"missing. {sum(population.values()):,} mutants of the four packages can be made; a random sample of {len(mutants)} was tried, the",
        f"first ones of an order that seed {report['seed']} decides, folder by folder, on the sources of commit {report['commit'] or '?'}.",
        "`python tests/mutation run --all` tries them all: days of computing.",
        "",
        "| folder | mutants | sampled | killed | time-out | survived | no verdict | noticed by the tests as they stood | now | now, equivalent ones aside |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for folder in folders:
        count = counted(of[folder], "outcome")
        told = [m for m in of[folder] if m["name"] not in same]
        lines.append(
            f"| `{folder}/` | {population[folder]:,} | {len(of[folder])} | {count['killed']} | {count['timeout']} | {count['survived']} | "
            f"{count['error'] + count['no program']} | {rate(of[folder], 'first')} | {rate(of[folder], 'outcome')} | {rate(told, 'outcome')} |"
        )
    lines += [
        "",
        "Rates are killed and timed-out mutants in per cent of those with a verdict, with Wilson's interval of 95 % in brackets; the",
        f"goal is {100 * GOAL:.0f} %. *As they stood* is the honest figure: the sample was drawn after these tests were written. It errs",
        "downwards, since a mutant counts as alive after a limited time of the nearest tests, where the whole suite may notice it.",
        "*Now* is after the tests that the survivors of this very sample asked for, and errs upwards.",
        "",
        "Earlier samples, of other mutants on older sources, are what the tests were written from:",
        "",
        "| seed | commit | folder | noticed at first | after the tests written for it |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {sample['seed']} | {sample['commit']} | `{folder}/` | {before} | {after} |"
            for sample in report["earlier"]
            for folder, (before, after) in sample["rates"].items()
        ),
        "",
        "## What is mutated",
        "",
        f"{report['operators']} operators of cosmic-ray. A replacement that makes nearly every program stop with a `TypeError` is left out,",
        "since it flatters the rate. Left out as well:",
        "",
        *(f"- {what};" for what in report["excluded"][:-1]),
        f"- {report['excluded'][-1]}.",
        "",
        "## How a mutant is tried",
        "",
        "Each worker has a copy of the project, and each mutant a process of its own with its own limit of computing time. Tests run in",
        "order of how near they are: those known to reach the line, those that name the mutated function, then file by file the test file of",
        "the same name, the laws of the catalogue for a set, the list of defaults for a default, and test files that name what the module",
        "makes public. The first failure ends it. What survives a first attempt of twenty seconds gets a second one of 90, by `--wide` with",
        "the tests that are left, or with tests that are named by hand. A mutant of compiled code is compiled anew, with all that holds its",
        "code: numba's cache does not notice a change in a function that another file calls. A test that was said to kill is run on the",
        "original too, and has to pass.",
        "",
        "```text",
        'python -m pip install -e ".[test,mutation]"',
        "python tests/mutation map              # optional: which test reaches which line",
        "python tests/mutation run --sample 100 # or --all; can be interrupted and goes on",
        "python tests/mutation run --sample 100 --wide",
        "python tests/mutation verify           # killers must pass on the original",
        "python tests/mutation page             # this page",
        "```",
        "",
        "## Survivors",
        "",
    ]
    closed = [m for m in mutants if m["first"] == "survived" and m["outcome"] != "survived"]
    alive = [m for m in mutants if m["outcome"] == "survived"]
    lines += [
        f"{len(alive)} are alive; {len(closed)} more were until a test was written for them. The {len(report['lasting'])} that lived in",
        "earlier samples are listed with them, at the lines of their own commits.",
    ]
    for kind, said in KINDS.items():
        of_kind = [m for m in [*alive, *report["lasting"]] if remarks[m["name"]]["kind"] == kind]
        if of_kind:
            lines += ["", f"### {kind.capitalize()}: {said} ({len(of_kind)})", ""]
            lines += [line for m in of_kind for line in shown(m, remarks[m["name"]]["why"])]
    if closed:
        lines += ["", f"## Gaps that were closed ({len(closed)})", ""]
        lines += [line for m in closed for line in shown(m, f"Now noticed by `{m['by'].split('::')[-1]}`.")]
    return "\n".join(lines) + "\n"


def shown(mutant: dict[str, Any], why: str) -> list[str]:
    """One mutant: where, what, and why it lives."""
    place = mutant["name"].split(" ")[0].removeprefix("convexnovelty/")
    return [
        f"- `{place}`: {why}",
        "",
        "  ```diff",
        *(f"  {line[0]} {line[1:].strip()}" for line in mutant["change"]),
        "  ```",
        "",
    ]


def write() -> None:
    """Make the page of what is stored."""
    PAGE.write_text(markdown(json.loads(OUTCOMES.read_text()), json.loads(REMARKS.read_text())))
