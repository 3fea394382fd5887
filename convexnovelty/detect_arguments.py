"""The arguments of ``convexnovelty detect``: what they are, what they mean, and which of them cannot be."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from convexnovelty._optional import needed
from convexnovelty.errors import InputError

if TYPE_CHECKING:
    from convexnovelty.detection import Request
    from convexnovelty.tables import FileLayout

__all__ = ["add_arguments", "check", "reading_of", "request_of"]

PICTURES = (".png", ".svg", ".pdf")
RECORDS = (".csv", ".parquet")


def add_arguments(detect: argparse.ArgumentParser) -> None:
    """Add the arguments to a parser."""
    detect.add_argument("files", nargs="+", metavar="FILE", help="TRAIN and NEW")
    learning = detect.add_argument_group("learning")
    learning.add_argument("--method", metavar="NAME", help="estimator (default: single-class-mpm); one-class-svm, ...")
    learning.add_argument("--confidence", type=float, metavar="P", help="share of ordinary rows that must lie inside")
    learning.add_argument("--outlier-fraction", type=float, metavar="P", help="largest share of TRAIN outside")
    learning.add_argument("--kernel", metavar="NAME", help="linear, gaussian or auto (default: auto, and says which)")
    learning.add_argument("--rank", type=int, metavar="N", help="use a basis of so many points (default: 500 if large)")
    learning.add_argument(
        "--calibrate",
        type=float,
        metavar="RATE",
        help="set the threshold on held-out rows of TRAIN, so that at most this share of ordinary rows is called novel",
    )
    learning.add_argument("--no-units", action="store_true", help="do not divide columns by their standard deviation")
    learning.add_argument("--seed", type=int, metavar="N", help="of random splits (default: 0)")
    reading = detect.add_argument_group("reading")
    reading.add_argument("--missing", choices=["error", "drop", "mean"], default="error", help="gaps (default: error)")
    reading.add_argument("--index", metavar="COLUMN", help="the column that names the rows; none for no such column")
    reading.add_argument("--ignore", metavar="COLUMN", action="append", default=[], help="leave out; may be repeated")
    reading.add_argument("--separator", metavar="C", help="comma, semicolon, tab, space, bar or a character")
    reading.add_argument("--decimal", choices=["point", "comma"], help="decimal mark (default: as the file shows)")
    reading.add_argument("--header", choices=["yes", "no"], help="whether the first row has names (default: it shows)")
    reading.add_argument("--array", metavar="NAME", help="the array of an NPZ file (default: X, or the only matrix)")
    reading.add_argument("--max-mb", type=float, metavar="MB", default=2048.0, help="largest file (default: 2048)")
    writing = detect.add_argument_group("writing")
    writing.add_argument("--top", type=int, metavar="N", default=10, help="rows in the table (default: 10)")
    writing.add_argument("--out", metavar="FILE", help="write all rows with score and verdict, .csv or .parquet")
    writing.add_argument("--plot", metavar="FILE", help="draw a histogram of scores, .png, .svg or .pdf")
    writing.add_argument("--save", metavar="MODEL", help="write the model (no pickle)")
    writing.add_argument("--model", metavar="MODEL", help="use a model that --save wrote")
    writing.add_argument("--force", action="store_true", help="replace files that are there already")


def request_of(arguments: argparse.Namespace) -> Request:
    """What to learn."""
    from convexnovelty.detection import Request

    default = Request()
    return Request(
        arguments.method or default.method,
        arguments.confidence,
        arguments.outlier_fraction,
        arguments.kernel or default.kernel,
        arguments.rank,
        arguments.calibrate,
        not arguments.no_units,
        default.seed if arguments.seed is None else arguments.seed,
    )


def reading_of(arguments: argparse.Namespace) -> FileLayout:
    """How to read files."""
    from convexnovelty.tables import FileLayout

    return FileLayout(
        _separator(arguments.separator),
        {"point": ".", "comma": ",", None: None}[arguments.decimal],
        {"yes": True, "no": False, None: None}[arguments.header],
        arguments.index,
        tuple(arguments.ignore),
        arguments.array,
        arguments.max_mb,
    )


def check(arguments: argparse.Namespace, files: list[Path]) -> None:
    """Raise InputError for whatever can be known to fail, before the work begins."""
    if len(files) != (1 if arguments.model else 2):
        wanted = "NEW alone, since --model was learnt before" if arguments.model else "TRAIN and NEW"
        raise InputError(f"detect: {len(files)} file(s) were found; give {wanted}")
    from convexnovelty.tables import PARQUET
    from convexnovelty.validation import integer, positive

    integer(arguments.top, "--top", 0)
    if arguments.seed is not None and integer(arguments.seed, "--seed", 0) >= 2**32:
        raise InputError(f"--seed: {arguments.seed} was found; give a whole number below 2^32")
    positive(arguments.max_mb, "--max-mb")
    if arguments.array is not None and not any(file.suffix.lower() == ".npz" for file in files):
        raise InputError(f"--array: no .npz file is read, of which {arguments.array!r} could be an array; leave it out")
    as_text = [f"--{flag}" for flag in ("separator", "decimal", "header") if getattr(arguments, flag) is not None]
    if as_text and all(file.suffix.lower() in (*PARQUET, ".npz") for file in files):
        raise InputError(f"{', '.join(as_text)}: no text is read, since {files[0]} has its own columns; leave it out")
    for flag, endings in (("out", RECORDS), ("plot", PICTURES), ("save", None)):
        name = getattr(arguments, flag)
        if not name:
            continue
        target = Path(name)
        if endings and target.suffix.lower() not in endings:
            raise InputError(f"--{flag}: {name!r} was found; give a name that ends in {', '.join(endings)}")
        if any(target.exists() and file.exists() and os.path.samefile(target, file) for file in files):
            raise InputError(f"--{flag}: {name!r} is a file that is read; give another name")
        if target.exists() and not arguments.force:
            raise InputError(f"--{flag}: {name!r} is there already; give another name, or --force to replace it")
        if not target.absolute().parent.is_dir():
            raise InputError(f"--{flag}: there is no folder {str(target.parent)!r}; make it first")
    outputs = [str(Path(name).absolute()) for name in (arguments.out, arguments.plot, arguments.save) if name]
    if len(set(outputs)) < len(outputs):
        raise InputError("--out, --plot, --save: one name was found twice; give each its own")
    if arguments.plot:
        needed("matplotlib", "plot")
    learning = ("method", "confidence", "outlier_fraction", "kernel", "rank", "calibrate", "seed", "save")
    given = [f"--{flag.replace('_', '-')}" for flag in learning if getattr(arguments, flag) is not None]
    given += ["--no-units"] * arguments.no_units
    if arguments.model and given:
        raise InputError(f"{', '.join(given)}: the model of --model is learnt already; leave it out, or learn anew")


def _separator(given: str | None) -> str | None:
    words = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " ", "bar": "|"}
    found = words.get(given or "", given)
    if found is not None and len(found) != 1:
        raise InputError(f"--separator: {given!r} was found; give one character, or one of {', '.join(words)}")
    return found
