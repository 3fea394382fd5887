"""Worked problems as checks: each file is run in a process of its own, and its claims become rows.

A worked problem is a Python file that leaves a list ``CLAIMS`` of :class:`~convexnovelty.declare.Claim` behind. It
is code and it is run: give only files that you trust.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from convexnovelty import solvers
from convexnovelty.checking.checker import claim_row
from convexnovelty.checking.report import Report, Row
from convexnovelty.declare import Claim
from convexnovelty.errors import InputError

__all__ = ["check_problems", "problem_files"]

TIME_LIMIT = 300.0  # seconds for one problem; a worked problem is meant to take less than 20


def problem_files(place: Path) -> list[Path]:
    """The worked problems at a place: one file, or every Python file below a folder that is not private.

    Raises InputError when there is none.
    """
    if place.is_file():
        return [place]
    found = sorted(path for path in place.rglob("*.py") if not path.name.startswith("_")) if place.is_dir() else []
    if not found:
        raise InputError(
            f"FOLDER: {place} holds no worked problem; give a folder of Python files, for example problems"
        )
    return found


def check_problems(place: Path, *, solver: str | None = None, progress: Callable[[str], None] | None = None) -> Report:
    """Run the worked problems at a place and report their claims.

    A problem that raises, that runs too long, or that claims nothing is a failed row: silence is not success.
    """
    began = time.perf_counter()
    profile = solvers.profile(solver)
    rows: list[Row] = []
    for file in problem_files(place):
        if progress is not None:
            progress(file.stem)
        rows += _rows(file, solver, profile.accuracy)
    return Report(rows, solver=profile.name, seconds=time.perf_counter() - began)


def _rows(file: Path, solver: str | None, accuracy: float) -> list[Row]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "claims.json"
        command = [sys.executable, "-m", "convexnovelty.checking.problems", str(file), str(answer)]
        environment = {**os.environ, "MPLBACKEND": "Agg", **({solvers.VARIABLE: solver} if solver else {})}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIME_LIMIT, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            return [_failed(file, f"ran for more than {TIME_LIMIT:.0f} s")]
        if done.returncode != 0 or not answer.is_file():
            story = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            return [_failed(file, f"ended with code {done.returncode}: {story}")]
        claims = [Claim(**fields) for fields in json.loads(answer.read_text(encoding="utf-8"))]
    if not claims:
        return [_failed(file, "left no CLAIMS behind")]
    seconds = (time.perf_counter() - began) / len(claims)
    rows = [claim_row("problems", file.stem, claim.kind, "claim", claim, accuracy) for claim in claims]
    # Each claim of a problem is a sentence of its own, so that none is folded away.
    return [Row(**{**asdict(row), "theorem": False, "seconds": seconds}) for row in rows]


def _failed(file: Path, reason: str) -> Row:
    return Row(
        "problems",
        file.stem,
        "problem",
        "claim",
        "the problem runs and states its claims",
        "",
        "=",
        "theory",
        "fail",
        reason=reason,
    )


def _claims(namespace: dict[str, Any]) -> list[dict[str, Any]]:
    claims = namespace.get("CLAIMS", [])
    strangers = [type(claim).__name__ for claim in claims if not isinstance(claim, Claim)]
    if strangers:
        raise InputError(f"CLAIMS: {', '.join(sorted(set(strangers)))} was found; give convexnovelty.Claim objects")
    return [
        {key: float(value) if hasattr(value, "dtype") else value for key, value in asdict(claim).items()}
        for claim in claims
    ]


def _main(file: str, answer: str) -> None:
    namespace = runpy.run_path(file, run_name="__main__")
    Path(answer).write_text(json.dumps(_claims(namespace)), encoding="utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:3])
