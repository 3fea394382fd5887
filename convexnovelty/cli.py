"""The command line: check, detect, explain, graph, reproduce, solvers."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from convexnovelty import detect_arguments, reproduce_arguments
from convexnovelty.errors import ConvexNoveltyError, InputError

__all__ = ["main"]

Command = Callable[[argparse.Namespace], int]

QUIET = 10.0  # seconds between two lines of progress where nobody looks at a terminal
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="convexnovelty", description="Convex models of novelty detection, checked on numbers."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    check = commands.add_parser(
        "check",
        help="solve every formulation, walk the derivation graph, and say which steps hold",
        description="Solve every formulation of the catalogue and hold each against its equivalents. With FOLDER, run the "
        "worked problems in it instead: each is a Python file, and is RUN, in a process of its own. With --load, check what the "
        "file defines: the contracts of its sets, these in the methods that show their families (in all that take them "
        "with --full, in one with --method), and its methods.",
    )
    check.add_argument("folder", nargs="?", metavar="FOLDER", help="a folder of worked problems, or one of its files")
    check.add_argument("--method", metavar="NAME", help="one method only, with every set that it takes")
    check.add_argument("--full", action="store_true", help="try every set in every method that takes it (minutes)")
    check.add_argument(
        "--solver",
        metavar="NAME",
        default=None,
        help="solver to use (default: Clarabel); all, or several with commas between, to hold solvers against proved "
        "intervals, each in a process of its own; FILE.py:NAME for a solver of your own",
    )
    check.add_argument(
        "--only",
        metavar="PROBLEM",
        action="append",
        help="with solvers: one problem, METHOD/INSTANCE/NODE, as a report names it; may be repeated",
    )
    check.add_argument("--report", metavar="FILE", help="with solvers: write a report, .html or .md")
    check.add_argument(
        "--stream", metavar="FILE", help="with solvers: add each answer to a file of JSON lines, and go on from it"
    )
    check.add_argument("--seconds", type=float, metavar="S", default=20.0, help="time limit of one solve (default: 20)")
    check.add_argument("--memory", type=float, metavar="GB", default=4.0, help="memory limit of one solve (default: 4)")
    check.add_argument(
        "--tolerance", type=float, metavar="T", help="relative tolerance of objectives, in place of each step's own"
    )
    check.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        default=min(4, os.cpu_count() or 1),
        help="processes (default: one a core, at most 4)",
    )
    check.add_argument("--json", metavar="FILE", help="write the same as JSON")
    check.add_argument(
        "--load", metavar="FILE", action="append", default=[], help="a Python file with sets or methods of your own"
    )
    check.set_defaults(run=_check)

    detect = commands.add_parser(
        "detect",
        help="learn from a table of ordinary rows, and say which rows of another table are novel, and why",
        description="Learn from TRAIN, whose rows are ordinary, and say which rows of NEW are novel. CSV, Parquet or NPZ; "
        "columns are matched by name. With --model MODEL, which --save wrote, give NEW alone.",
    )
    detect_arguments.add_arguments(detect)
    detect.set_defaults(run=_detect)

    graph = commands.add_parser("graph", help="draw the derivation graph")
    graph.add_argument("--method", metavar="NAME", help="one method only")
    graph.add_argument("--format", default="text", metavar="FORMAT", help="text, mermaid, svg or json (default: text)")
    graph.add_argument(
        "--load", metavar="FILE", action="append", default=[], help="a Python file with methods of your own"
    )
    graph.set_defaults(run=_graph)

    solvers = commands.add_parser(
        "solvers", help="which solvers are installed, what they take, and how to get the rest"
    )
    solvers.add_argument("--json", action="store_true", help="print the same as JSON")
    solvers.set_defaults(run=_solvers)

    explain = commands.add_parser(
        "explain", help="a method's derivation in words and formulas, with numbers from a live run"
    )
    explain.add_argument("method", metavar="METHOD")
    explain.add_argument("--solver", metavar="NAME", default=None, help="solver to use (default: Clarabel)")
    explain.add_argument(
        "--load", metavar="FILE", action="append", default=[], help="a Python file with methods of your own"
    )
    explain.set_defaults(run=_explain)

    reproduce = commands.add_parser(
        "reproduce",
        help="make a table or figure of the papers again, beside the printed numbers",
        description="Run an experiment of the papers as printed, and print ours beside theirs with standard errors.",
    )
    reproduce_arguments.add_arguments(reproduce)
    reproduce.set_defaults(run=_reproduce)
    return parser


def _load(arguments: argparse.Namespace) -> None:
    from convexnovelty import enrolment

    for path in arguments.load:
        enrolment.load(path)


def _progress() -> Callable[[str], None]:
    """Names of instances on a terminal; in a pipe nothing for a while, and then a line now and again."""
    if sys.stderr.isatty():
        return lambda name: print(f"\r\033[K{name}", end="", file=sys.stderr, flush=True)
    last = time.monotonic()

    def tell(name: str) -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET:
            last = time.monotonic()
            print(name, file=sys.stderr, flush=True)

    return tell


@contextmanager
def _executor(jobs: int) -> Iterator[Executor | None]:
    """A pool of processes, each with one thread of linear algebra; none for one job."""
    if jobs <= 1:
        yield None
        return
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    except BaseException:
        # On Ctrl-C nobody waits for what is still running, and no process is left behind to finish it.
        # The pool's own thread stumbles over work that was cancelled before it broke, which is nothing to tell.
        told, threading.excepthook = threading.excepthook, lambda _: None
        try:
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            pool.shutdown()
        finally:
            threading.excepthook = told
        raise
    pool.shutdown()


def _is_cross_check(arguments: argparse.Namespace) -> bool:
    """Whether solvers are to be held against proved intervals, rather than the catalogue be checked with one."""
    solver = arguments.solver or ""
    several = solver.lower() == "all" or "," in solver or ":" in solver
    return bool(several or arguments.only or arguments.report or arguments.stream)


def _cross_check(arguments: argparse.Namespace) -> int:
    from convexnovelty.checking.cell import subject_named
    from convexnovelty.checking.cross_check import Limits, cross_check
    from convexnovelty.report import check_name, write_report

    if arguments.folder is not None:
        raise InputError(f"FOLDER: worked problems such as those in {arguments.folder} are run with one solver")
    if arguments.report:
        check_name(arguments.report)
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    subjects = [subject_named(key) for key in arguments.only] if arguments.only else arguments.method
    limits = Limits(arguments.seconds, int(arguments.memory * 1024**3))
    with _bar() as progress:
        report = cross_check(
            subjects,
            solver=arguments.solver or "all",
            limits=limits,
            jobs=arguments.jobs,
            stream=arguments.stream,
            progress=progress,
        )
    print(report.table(colour=sys.stdout.isatty()), end="")
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.report:
        write_report(report, arguments.report)
    return 0 if report.passed else 1


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """A progress bar on a terminal; silence in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name[:80])


def _solvers(arguments: argparse.Namespace) -> int:
    from convexnovelty.checking.solver_list import solver_list, solver_table

    if arguments.json:
        import json

        print(json.dumps([vars(row) for row in solver_list()], indent=1))
    else:
        print(solver_table(colour=sys.stdout.isatty()), end="")
    return 0


def _check_numbers(arguments: argparse.Namespace) -> None:
    """Refuse numbers with which a check would pass, fail or stop for no reason of its own."""
    from convexnovelty.validation import integer, nonnegative, positive

    integer(arguments.jobs, "--jobs", 1)
    positive(arguments.seconds, "--seconds")
    positive(arguments.memory, "--memory")
    if arguments.tolerance is not None:
        nonnegative(arguments.tolerance, "--tolerance")


def _check(arguments: argparse.Namespace) -> int:
    _check_numbers(arguments)
    _load(arguments)
    if _is_cross_check(arguments):
        return _cross_check(arguments)
    if arguments.folder is not None:
        from convexnovelty.checking.problems import check_problems

        report = check_problems(Path(arguments.folder), solver=arguments.solver, progress=_progress())
    else:
        from convexnovelty.checking import check

        with _executor(arguments.jobs) as executor:
            report = check(
                arguments.method,
                solver=arguments.solver,
                tolerance=arguments.tolerance,
                full=arguments.full,
                loaded=bool(arguments.load),
                executor=executor,
                progress=_progress(),
            )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(report.table(colour=sys.stdout.isatty()), end="")
    if arguments.json:
        report.write_json(arguments.json)
    return 0 if report.passed else 1


def _detect(arguments: argparse.Namespace) -> int:
    from convexnovelty.findings import run

    try:
        findings = run(arguments, _progress())
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
    terminal = sys.stdout.isatty()
    width = max(80, shutil.get_terminal_size().columns) if terminal else 170
    print(findings.text(arguments.top, width=width, colour=terminal), end="")
    return 0


def _graph(arguments: argparse.Namespace) -> int:
    from convexnovelty import derivation

    _load(arguments)
    print(derivation.draw(arguments.method, arguments.format))
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    from convexnovelty.checking.explain import explain

    _load(arguments)
    print(explain(arguments.method, solver=arguments.solver))
    return 0


def _reproduce(arguments: argparse.Namespace) -> int:
    return reproduce_arguments.run(arguments, _executor, _bar)


@contextmanager
def _ending() -> Iterator[None]:
    """A SIGTERM that ends the command as an exception does, so that half-written files go with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ended(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0 when all is well, 1 when a check fails, 2 for a wrong call, 130 on Ctrl-C, 143 when it is told to end.
    """
    arguments = _parser().parse_args(argv)
    run: Command = arguments.run
    try:
        with _ending():
            return run(arguments)
    except ConvexNoveltyError as error:
        print(f"convexnovelty: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("convexnovelty: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
