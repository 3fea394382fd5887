"""The file that the guide shows is a method that the command line takes, and that fails when it is made wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "hull_distance.py"


def check(file: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker on a file, in a process of its own, since a loaded file stays enrolled."""
    command = [sys.executable, "-m", "convexnovelty.cli", "check", "--load", str(file), "--method", "hull_distance"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_example_is_green() -> None:
    done = check(EXAMPLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 steps hold, 0 fail, 0 not checked" in done.stdout


def test_one_per_cent_turns_it_red(tmp_path: Path) -> None:
    right = "1 / (4 * value)"
    text = EXAMPLE.read_text()
    assert text.count(right) == 1
    wrong = tmp_path / "hull_distance.py"
    wrong.write_text(text.replace(right, "1.01 / (4 * value)"))
    assert check(wrong).returncode == 1
