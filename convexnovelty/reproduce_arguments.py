"""``convexnovelty reproduce``: the arguments, and what is printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path

from convexnovelty.errors import InputError

__all__ = ["add_arguments", "listing", "run"]

Bar = Callable[[], AbstractContextManager[Callable[[int, int, str], None] | None]]
Pool = Callable[[int], AbstractContextManager[Executor | None]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a table or figure, as --list names it")
    parser.add_argument("--list", action="store_true", help="list what can be reproduced, and from which data")
    parser.add_argument("--data", metavar="DIR", help="a folder with the data files; else OpenML, or a generator")
    parser.add_argument(
        "--repetitions", type=int, metavar="N", help="repetitions (default: as printed, or as --choices says)"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions, and less tuning: a first look")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all draws (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="write cells and answers as JSON")
    parser.add_argument("--force", action="store_true", help="replace the file of --json if it is there already")
    parser.add_argument(
        "--choices", action="store_true", help="print the protocol and what was chosen, and run nothing"
    )


def listing() -> str:
    """One line for each reproduction, with the data that it needs."""
    from convexnovelty.reproductions import catalogue
    from convexnovelty.reproductions._data import SOURCES

    def lines() -> Iterator[str]:
        known = catalogue()
        width = max(map(len, known))
        for name, found in known.items():
            files = dict.fromkeys(SOURCES[need].file for piece in found.pieces for need in found.needs(piece))
            yield f"{name:{width}}  {found.title}"
            runs = f"{found.repetitions} repetitions in full, {found.quick} with --quick" if found.random else "one run"
            yield f"{'':{width}}  {found.source}; {runs}; data: {', '.join(files) or 'generated'}"

    return "\n".join(lines()) + "\n"


def run(arguments: argparse.Namespace, pool: Pool, bar: Bar) -> int:
    """List, or reproduce one table or figure. Raises InputError for a wrong call and for data that cannot be had."""
    from convexnovelty.reproductions import Data, named
    from convexnovelty.validation import integer

    if arguments.list:
        print(listing(), end="")
        return 0
    if arguments.name is None:
        raise InputError("reproduce: no NAME was given; --list shows what can be reproduced")
    found = named(arguments.name)
    if arguments.choices:
        print(f"{found.title} ({found.source})\n\n{found.choices}")
        return 0
    target = _target(arguments)
    integer(arguments.jobs, "--jobs", 1)
    with pool(arguments.jobs) as executor, bar() as progress:
        result = found.run(
            Data(arguments.data),
            seed=arguments.seed,
            repetitions=arguments.repetitions,
            quick=arguments.quick,
            executor=executor,
            progress=progress,
        )
    print(result.table(colour=sys.stdout.isatty()), end="")
    if target is not None:
        result.write_json(target)
    return 0


def _target(arguments: argparse.Namespace) -> Path | None:
    """The file to write. Raises InputError, before the work begins, if it is there already or its folder is not."""
    if not arguments.json:
        return None
    target = Path(arguments.json)
    if target.is_dir():
        raise InputError(f"--json: {str(target)!r} is a folder; give the name of a file")
    if target.exists() and not arguments.force:
        raise InputError(f"--json: {str(target)!r} is there already; give another name, or --force to replace it")
    if not target.absolute().parent.is_dir():
        raise InputError(f"--json: there is no folder {str(target.parent)!r}; make it first")
    return target
