"""The benchmarks run from end to end on tiny sizes; no time that they measure decides anything here."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600, env=dict(os.environ)
    ).stdout


def test_every_part_runs_and_is_reported(tmp_path: Path) -> None:
    printed = run("--quick", "--out", str(tmp_path))
    report = json.loads((tmp_path / "performance.json").read_text())
    assert len(report["sections"]) == 5
    for section in report["sections"]:
        assert section["goals"], section["name"]
        assert section["tables"], section["name"]
        assert f"## {section['name']}" in printed
        for table in section["tables"]:
            assert {len(row) for row in table["rows"]} == {table["columns"].count(" | ") + 1}, table["title"]
    values = {goal["key"]: goal["value"] for section in report["sections"] for goal in section["goals"]}
    # Accuracy, unlike time, is the same on every machine.
    assert values["dual gap"] < 1e-9
    assert values["two-class value"] < 1e-6
    assert (tmp_path / "performance.svg").read_text().startswith("<?xml")
    again = run("--load", str(tmp_path / "performance.json"), "--out", str(tmp_path / "again"))
    assert again == printed


def test_every_target_has_a_remark_for_the_day_it_is_missed() -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.remarks import REMARKS
    finally:
        sys.path.remove(str(ROOT))
    text = "".join(path.read_text() for path in (ROOT / "benchmarks").glob("*.py") if path.name != "remarks.py")
    used = {
        part.split('"')[1]
        for part in text.replace("\n", " ").replace("            ", "").split("Goal(")[1:]
        if '"' in part
    }
    assert used <= set(REMARKS) | {"times"}, used - set(REMARKS)
