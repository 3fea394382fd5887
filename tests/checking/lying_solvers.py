"""Solvers that lie, each in one way: what a cross-check must catch. Named by FILE.py:name, as a user's solver would be."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from convexnovelty.checking.mirror import Answer, ask
from convexnovelty.conic import ConicProgram


def _honest(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return ask("CLARABEL", program, {})


def honest(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return _honest(program, options)


def perturbed(program: ConicProgram, options: dict[str, Any]) -> Answer:
    """The right value with a point that is not the right one."""
    answer = _honest(program, options)
    return Answer("optimal", answer.x * 1.01, answer.z, answer.value)


def boasting(program: ConicProgram, options: dict[str, Any]) -> Answer:
    """The right point with a better value than it has."""
    answer = _honest(program, options)
    return Answer("optimal", answer.x, answer.z, answer.value - 0.01 * (1 + abs(answer.value)))


def suboptimal(program: ConicProgram, options: dict[str, Any]) -> Answer:
    """A feasible point that is no optimum, with its own value."""
    tilted = program.c - 3.0 * np.arange(program.c.size)
    moved = ConicProgram(tilted, program.A, program.b, program.cones, program.P)
    answer = _honest(moved, options)
    return Answer("optimal", answer.x, answer.z, program.objective(answer.x))


def says_infeasible(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return Answer("infeasible")


def says_unbounded(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return Answer("unbounded")


def always_optimal(program: ConicProgram, options: dict[str, Any]) -> Answer:
    """No infeasibility detection: some point, called optimal, whatever is asked."""
    x = np.zeros(program.c.size)
    return Answer("optimal", x, np.zeros(program.b.size), program.objective(x))


def nearly_optimal(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return Answer("optimal_inaccurate", np.zeros(program.c.size), np.zeros(program.b.size), 0.0)


def optimal_without_a_point(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return Answer("optimal")


def not_a_number(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return Answer("optimal", np.full(program.c.size, np.nan), None, float("nan"))


def hangs(program: ConicProgram, options: dict[str, Any]) -> Answer:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


def crashes(program: ConicProgram, options: dict[str, Any]) -> Answer:
    os.abort()


def leaves(program: ConicProgram, options: dict[str, Any]) -> Answer:
    os._exit(0)


def devours(program: ConicProgram, options: dict[str, Any]) -> Answer:
    hoard = [np.empty(10**8) for _ in range(10**4)]
    return Answer("optimal", hoard[0])


def raises(program: ConicProgram, options: dict[str, Any]) -> Answer:
    raise RuntimeError("licence has expired")


def wrong_type(program: ConicProgram, options: dict[str, Any]) -> Any:
    return 42


def stops(program: ConicProgram, options: dict[str, Any]) -> Answer:
    return Answer("user_limit", np.zeros(program.c.size), None, 0.0)
