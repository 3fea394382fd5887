"""Mutation tests: ``python tests/mutation {map,run,verify,page} ...``; see docs/mutation.md.

``map`` notes which test reaches which line (as far as one lets it run), ``run`` tries mutants, ``verify`` runs the tests
that killed on the original, ``page`` writes the page.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

TESTS = ("uncertainty", "methods", "algorithms", "checking", "properties", "theory", "estimators")
TOP = ("test_deviations.py", "test_formulation.py", "test_conic.py")


def noted_files() -> list[Path]:
    """The test files that are run against mutants."""
    return [
        *(path for folder in TESTS for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))),
        *(ROOT / "tests" / name for name in TOP),
    ]


def make_map(work: Path, jobs: int, seconds: float) -> None:
    """One process for each test file that is not noted yet."""
    (work / "map").mkdir(parents=True, exist_ok=True)
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = os.environ | one | {"PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}"}

    def note(path: Path) -> None:
        out = work / "map" / (str(path.relative_to(ROOT)).replace("/", "_") + ".json")
        if out.exists():
            return
        options = ["-o", "addopts=", "--import-mode=importlib", "-q", "-p", "recorder", "--record", str(out)]
        command = [sys.executable, "-m", "pytest", *options, str(path.relative_to(ROOT))]
        try:
            run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds)
            print(path.name, run.stdout.strip().splitlines()[-1:], flush=True)
        except subprocess.TimeoutExpired:
            print(path.name, f"takes more than {seconds:g} s: left out", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(note, noted_files()))


def difference(mutant: Any) -> list[str]:
    """The lines that a mutant changes, with their signs."""
    old, new = (ROOT / mutant.file).read_text().splitlines(), mutant.source().splitlines()
    return [
        line
        for line in difflib.unified_diff(old, new, lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()
    ]


def known_mutants(work: Path, folder: str) -> list[Any]:
    """All mutants of a folder in their order, kept for as long as its text is the same."""
    from mutants import Mutant, all_mutants

    texts = [path.read_bytes() for path in sorted((ROOT / "convexnovelty" / folder).glob("**/*.py"))]
    texts.append((HERE / "mutants.py").read_bytes())
    kept = work / f"{folder}-{hashlib.sha256(b''.join(texts)).hexdigest()[:16]}.json"
    if not kept.exists():
        kept.write_text(json.dumps([vars(mutant) for mutant in all_mutants(folder)]))
    return [Mutant(**fields) for fields in json.loads(kept.read_text())]


def run(work: Path, options: argparse.Namespace) -> None:
    """Try mutants that have no outcome yet; each is kept as soon as it is known, so that a run can be interrupted."""
    from mutants import FOLDERS
    from runner import run_all
    from selection import Selection

    kept = work / f"{options.label}.jsonl"
    done = (
        {json.loads(line)["name"]: json.loads(line) for line in kept.read_text().splitlines()} if kept.exists() else {}
    )
    folders = options.folders or FOLDERS
    by_folder = {folder: known_mutants(work, folder) for folder in folders}
    population = work / "population.json"
    known = json.loads(population.read_text()) if population.exists() else {}
    population.write_text(json.dumps(known | {folder: len(mutants) for folder, mutants in by_folder.items()}))
    count = None if options.all else options.sample
    turns = zip_longest(*(by_folder[folder][:count] for folder in folders))
    mutants = [mutant for mutant in chain.from_iterable(turns) if mutant is not None]
    named: dict[str, list[str]] = {}
    if options.again:
        for line in options.again.read_text().splitlines():
            name, _, tests = line.partition(" | ")
            named[name if name.startswith("convexnovelty/") else f"convexnovelty/{name}"] = tests.split(" ")
        mutants = [m for m in chain.from_iterable(by_folder.values()) if m.name in named]
    elif options.wide:
        mutants = [
            m for m in mutants if done.get(m.name, {}).get("outcome") == "survived" and done[m.name]["stage"] != "wide"
        ]
    else:
        mutants = [m for m in mutants if m.name not in done]
    print(f"{len(mutants)} mutants", flush=True)

    def note(mutant: Any, said: dict[str, Any]) -> None:
        entry = {"name": mutant.name, "folder": mutant.folder, "change": difference(mutant), **said}
        with kept.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(f"{said['outcome']:9} {said['seconds']:6.1f} s  {mutant.name}  {said['by']}", flush=True)

    passed = {m.name: set(done[m.name]["passed"]) if options.wide and m.name in done else set() for m in mutants}
    tried = [(m, passed[m.name], named.get(m.name, [])) for m in mutants]
    run_all(work, tried, Selection(work / "map"), min(options.jobs, max(len(mutants), 1)), options.wide, note)


def verify(work: Path, label: str) -> None:
    """A test that fails on the original as well has killed nothing: its verdicts are forgotten."""
    kept = work / f"{label}.jsonl"
    entries = [json.loads(line) for line in kept.read_text().splitlines()]
    killers = sorted({entry["by"] for entry in entries if "::" in entry["by"]})
    listed = work / "killers.txt"
    listed.write_text("\n".join(killers))
    options = ["-o", "addopts=", "--import-mode=importlib", "-q", "-rfE", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, f"@{listed}"]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    wrong = {name for name in killers if f"FAILED {name}" in run.stdout or f"ERROR {name}" in run.stdout}
    print(f"{len(killers)} tests: {run.stdout.strip().splitlines()[-1]}", *sorted(wrong), sep="\n")
    kept.write_text("".join(json.dumps(entry) + "\n" for entry in entries if entry["by"] not in wrong))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/mutation", description=__doc__)
    parser.add_argument("what", choices=("map", "run", "verify", "page"))
    parser.add_argument("--work", type=Path, default=Path("mutation-work"), help="folder for copies, map and outcomes")
    parser.add_argument("--label", default="outcomes", help="name of the file of outcomes in it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folders", nargs="+", help="some of the packages")
    parser.add_argument("--sample", type=int, default=100, help="mutants of each folder")
    parser.add_argument("--all", action="store_true", help="all mutants of each folder: days")
    parser.add_argument("--wide", action="store_true", help="run the dearer tests against those that survived")
    parser.add_argument(
        "--again",
        type=Path,
        metavar="FILE",
        help="mutants to be tried again: NAME | TEST_FILE::PATTERN ..., one a line",
    )
    parser.add_argument("--seconds", type=float, default=400.0, help="time limit of a test file of the map")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.what == "map":
        make_map(options.work, options.jobs, options.seconds)
    elif options.what == "run":
        run(options.work.resolve(), options)
    elif options.what == "verify":
        verify(options.work.resolve(), options.label)
    else:
        import mutation_page

        if (options.work / f"{options.label}.jsonl").exists():
            found = mutation_page.collected(options.work, options.label)
            mutation_page.OUTCOMES.write_text(json.dumps(found, indent=1) + "\n")
        mutation_page.write()


if __name__ == "__main__":
    main()
