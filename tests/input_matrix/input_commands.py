"""The command line against wrong calls: exit code 2, one line that names the argument, and no traceback."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from input_cells import Cell
from input_kinds import SAMPLE

from convexnovelty.cli import main

__all__ = ["COMMAND_CASES", "command_cell"]


def _table(folder: Path, name: str, rows: object = SAMPLE, text: str | None = None) -> str:
    path = folder / name
    if text is None:
        text = "first,second\n" + "\n".join(",".join(str(entry) for entry in row) for row in np.asarray(rows)) + "\n"
    path.write_text(text)
    return str(path)


def _detect(*options: str, train: str | None = None, new: str | None = None) -> Callable[[Path], list[str]]:
    def call(folder: Path) -> list[str]:
        tables = [_table(folder, "train.csv", np.tile(SAMPLE, (3, 1)), train), _table(folder, "new.csv", SAMPLE, new)]
        return ["detect", *tables, *options]

    return call


def _plain(*words: str) -> Callable[[Path], list[str]]:
    return lambda folder: list(words)


ROWS = "5.0,2.0\n6.0,3.0\n7.0,2.5\n"

# A call and what its message says was found; None for a call that must work.
COMMAND_CASES: dict[str, tuple[Callable[[Path], list[str]], str | None]] = {
    "detect, good tables": (_detect(), None),
    "detect, whole numbers": (_detect(new="first,second\n5,2\n6,3\n"), None),
    "detect, columns in another order": (_detect(new="second,first\n2,5\n3,6\n"), None),
    "detect, one new row": (_detect(new="first,second\n5,2\n"), None),
    "detect, no file": (_plain("detect", "absent.csv", "new.csv"), "absent.csv"),
    "detect, one file": (lambda folder: ["detect", _table(folder, "train.csv")], "TRAIN|NEW|FILE"),
    "detect, an empty file": (_detect(train=""), "train.csv"),
    "detect, a header without rows": (_detect(train="first,second\n"), "train.csv"),
    "detect, one row to learn from": (_detect(train="first,second\n5,2\n"), "row|train.csv"),
    "detect, a gap": (_detect(train=f"first,second\n{ROWS}8.0,\n"), "line 5|second"),
    "detect, NaN": (_detect(train=f"first,second\n{ROWS}8.0,nan\n"), "line 5|second"),
    "detect, infinity": (_detect(train=f"first,second\n{ROWS}8.0,inf\n"), "inf"),
    "detect, a word": (_detect(train=f"first,second\n{ROWS}8.0,high\n"), "high"),
    "detect, a row of another length": (_detect(train=f"first,second\n{ROWS}8.0\n"), "line 5"),
    "detect, other columns": (_detect(new="first,third\n5,2\n"), "second|third"),
    "detect, values of 1e300, in units of their own": (
        _detect(train="first,second\n1e300,2\n-1e300,1\n3e300,3\n2,2\n"),
        None,
    ),
    "detect, confidence 1": (_detect("--confidence", "1"), "confidence: 1"),
    "detect, confidence below 0": (_detect("--confidence", "-0.5"), "confidence: -0.5"),
    "detect, confidence NaN": (_detect("--confidence", "nan"), "confidence: nan"),
    "detect, confidence a word": (_detect("--confidence", "high"), "high"),
    "detect, outlier fraction 0": (
        _detect("--method", "one-class-svm", "--outlier-fraction", "0"),
        "outlier_fraction: 0",
    ),
    "detect, outlier fraction above 1": (
        _detect("--method", "one-class-svm", "--outlier-fraction", "1.5"),
        "outlier_fraction: 1.5",
    ),
    "detect, rank 0": (_detect("--kernel", "gaussian", "--rank", "0"), "rank: 0"),
    "detect, calibration at 0": (_detect("--calibrate", "0"), "0"),
    "detect, an unknown method": (_detect("--method", "magic"), "magic"),
    "detect, an unknown kernel": (_detect("--kernel", "magic"), "magic"),
    "detect, an output of another kind": (_detect("--out", "rows.txt"), "rows.txt|.txt"),
    "detect, a negative seed": (_detect("--seed", "-1"), "-1"),
    "detect, no rows in the table": (_detect("--top", "-1"), "-1"),
    "detect, a file limit of NaN": (_detect("--max-mb", "nan"), "nan"),
    "detect, a file beyond the limit": (_detect("--max-mb", "0.00001"), "train.csv"),
    "check, an unknown method": (_plain("check", "--method", "magic"), "magic"),
    "check, an unknown solver": (_plain("check", "--method", "hard_margin", "--solver", "magic"), "magic"),
    "check, no such folder": (_plain("check", "absent"), "absent"),
    "check, no such file to load": (_plain("check", "--load", "absent.py"), "absent.py"),
    "check, a tolerance of NaN": (
        _plain("check", "--method", "hard_margin", "--jobs", "1", "--tolerance", "nan"),
        "nan",
    ),
    "check, a negative tolerance": (
        _plain("check", "--method", "hard_margin", "--jobs", "1", "--tolerance", "-1"),
        "-1",
    ),
    "check, no seconds": (_plain("check", "--solver", "all", "--seconds", "0"), "seconds"),
    "check, no jobs": (_plain("check", "--method", "hard_margin", "--jobs", "0"), "jobs"),
    "graph, an unknown method": (_plain("graph", "--method", "magic"), "magic"),
    "graph, an unknown format": (_plain("graph", "--format", "magic"), "magic"),
    "explain, an unknown method": (_plain("explain", "magic"), "magic"),
    "explain, an unknown solver": (_plain("explain", "hard_margin", "--solver", "magic"), "magic"),
    "reproduce, an unknown name": (_plain("reproduce", "magic"), "magic"),
    "solvers": (_plain("solvers"), None),
    "no command": (_plain(), "COMMAND"),
    "an unknown command": (_plain("magic"), "magic"),
}


def command_cell(name: str, folder: Path) -> Cell:
    """Run one call in this process."""
    make, found = COMMAND_CASES[name]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: object = main(make(folder))
        except SystemExit as stop:  # argparse's own way
            code = stop.code
        except Exception as error:
            return Cell("convexnovelty", name, "refused", "", f"a traceback: {type(error).__name__} {error}")
    message = " ".join(err.getvalue().split()).replace(str(folder), "FOLDER")
    if found is None:
        fault = "" if code == 0 and out.getvalue() else f"exit code {code}: {message}"
        return Cell("convexnovelty", name, "works", "", fault)
    fault = "" if code == 2 else f"exit code {code} where 2 was expected: {message or out.getvalue()[:200]}"
    if not fault and not re.search(found, message):
        fault = f"the message does not say what was found: {message}"
    return Cell("convexnovelty", name, "refused", message, fault)
