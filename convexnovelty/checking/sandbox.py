"""A call in a process of its own, with a limit on time and on memory, so that its end is its own affair.

Starting Python and CVXPY costs seconds. A server process therefore loads them once and forks for every call; the forked
process limits itself and runs the call, and the kernel ends it when its time is over, whatever the solver's code is
doing. Where there is no fork (Windows), each call starts a process from scratch and its memory is not limited.

Functions are named by ``module:name``, and arguments and results travel as files of a temporary folder.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = ["Outcome", "run"]

FORKS = hasattr(os, "fork")
GRACE = 5.0  # seconds after which a process that outlived its own alarm is ended from outside
# What the runtimes of C++, Rust and Python say when memory is refused.
NO_MEMORY = ("bad_alloc", "memory allocation of", "MemoryError", "Cannot allocate memory", "out of memory")


@dataclass(frozen=True)
class Outcome:
    """How a call ended: with a value, an exception, or the end of its process; ``story`` says it in words."""

    kind: Literal["done", "error", "crash", "hang", "out of memory"]
    value: Any = None
    story: str = ""
    seconds: float = 0.0


def run(function: str, arguments: tuple[Any, ...], *, seconds: float, memory: int | None = None) -> Outcome:
    """Call ``module:name`` in a process of its own.

    Parameters
    ----------
    function, arguments : what is called; the arguments are pickled.
    seconds : after which the process is ended.
    memory : bytes that it may take beyond what the loaded packages take; None for no limit.
    """
    with tempfile.TemporaryDirectory(prefix="convexnovelty-") as folder:
        request = Path(folder) / "request"
        request.write_bytes(pickle.dumps((function, arguments, seconds, memory)))
        began = time.perf_counter()
        code = _forked(request, seconds) if FORKS else _afresh(request, seconds)
        took = time.perf_counter() - began
        answer, errors = request.with_suffix(".answer"), request.with_suffix(".errors")
        told = errors.read_text(encoding="utf-8", errors="replace") if errors.is_file() else ""
        if answer.is_file():
            kind, value, story = pickle.loads(answer.read_bytes())
            if kind == "error" and any(word in story for word in NO_MEMORY):
                kind = "out of memory"
            return Outcome(kind, value, story, took)
    if code in (-signal.SIGALRM, None) if FORKS else code is None:
        return Outcome("hang", None, f"did not end within {seconds:g} s", took)
    if any(word in told for word in NO_MEMORY):
        return Outcome("out of memory", None, told.strip().splitlines()[-1][:300], took)
    last = told.strip().splitlines()[-1][:300] if told.strip() else "it said nothing"
    how = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
    return Outcome("crash", None, f"ended by {how}: {last}", took)


# -- inside of the process -------------------------------------------------------------------------------------------


def _perform(request: Path) -> None:
    """Read a request, obey its limits, call, and leave the answer; runs in the process that may be lost."""
    function, arguments, seconds, memory = pickle.loads(request.read_bytes())
    errors = os.open(request.with_suffix(".errors"), os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(errors, 2)
    # Solvers print where nobody reads, and standard output belongs to the server.
    os.dup2(errors, 1)
    if FORKS:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        if memory is not None:
            _limit(memory)
    module, name = function.split(":")
    try:
        answer = ("done", getattr(importlib.import_module(module), name)(*arguments), "")
    except MemoryError as error:
        answer = ("out of memory", None, f"MemoryError: {error}")
    except BaseException as error:  # whatever a solver raises ends this call only
        answer = ("error", None, f"{type(error).__name__}: {error}"[:500])
    partial = request.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(answer))
    partial.replace(request.with_suffix(".answer"))


def _limit(memory: int) -> None:
    import resource

    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # a system without /proc: its packages are counted too
        taken = 0
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = taken + memory if hard == resource.RLIM_INFINITY else min(taken + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _serve() -> None:
    """Load the packages, then fork for each request that comes in a line, and say how its process ended."""
    from convexnovelty import derivation, solvers

    derivation.methods()
    importlib.import_module("convexnovelty.checking.cell")
    for name in solvers.installed():
        # Compiling once for each solver loads what it takes; solving would start threads, which do not survive a fork.
        solvers.admitted(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller's interrupt ends this process by closing its input
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _perform(Path(json.loads(line)))
            finally:
                os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _forked(request: Path, seconds: float) -> int | None:
    with _borrowed() as server:
        return server.call(request, seconds)


def _afresh(request: Path, seconds: float) -> int | None:
    command = [sys.executable, "-m", "convexnovelty.checking.sandbox", str(request)]
    try:
        return subprocess.run(command, timeout=seconds + 30.0, check=False, capture_output=True).returncode
    except subprocess.TimeoutExpired:
        return None


# -- servers ----------------------------------------------------------------------------------------------------------


class _Server:
    """A process that forks on request."""

    def __init__(self) -> None:
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = {**dict.fromkeys(threads, "1"), **os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "convexnovelty.checking.sandbox"],
            bufsize=0,  # a line that waits in a buffer of ours would not be seen by select
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        atexit.register(self.close)

    def call(self, request: Path, seconds: float) -> int | None:
        """The exit code of the process for a request; negative for a signal, None where it had to be ended."""
        if self.process.stdin is None:
            return None
        self.process.stdin.write(json.dumps(str(request)).encode() + b"\n")
        child = int(self._line(None) or -1)
        code = self._line(seconds + GRACE)
        if code is None:
            os.kill(child, signal.SIGKILL)
            self._line(None)
            return None
        return int(code)

    def _line(self, seconds: float | None) -> bytes | None:
        """A line of the server's output; None when none comes in time."""
        output = self.process.stdout
        if output is None or not select.select([output], [], [], seconds)[0]:
            return None
        return output.readline()

    def close(self) -> None:
        """Let the process end by closing its input."""
        if self.process.poll() is None and self.process.stdin is not None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()


_lock = threading.Lock()
_idle: list[_Server] = []
_owner = os.getpid()


@contextmanager
def _borrowed() -> Iterator[_Server]:
    """A server that nobody else talks to meanwhile; it is kept for the next call."""
    global _owner
    with _lock:
        if _owner != os.getpid():
            # After a fork of the caller the parent's servers are not ours to talk to.
            _idle.clear()
            _owner = os.getpid()
        server = _idle.pop() if _idle else None
    if server is None or server.process.poll() is not None:
        server = _Server()
    yield server
    # Not given back where an exception or an interrupt cut the conversation off: its next line would be an old one.
    with _lock:
        _idle.append(server)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _perform(Path(sys.argv[1]))
    else:
        _serve()
