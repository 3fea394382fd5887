"""The laws of a tail that is not of the catalogue: its bound, its kappa and its confidence are held against each other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from convexnovelty import tails
from convexnovelty.checking.gaps import largest
from convexnovelty.checking.report import Row
from convexnovelty.declare import Instance

__all__ = ["rows_of_users_tails"]

CONFIDENCES = (0.01, 0.1, 0.3, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, 0.999)
DISTANCES = np.linspace(0.0, 8.0, 81)
# Of 1 - c, by which the bound may miss it; and of kappa, by which a smaller one is tried.
TOLERANCE = 1e-6


def rows_of_users_tails(instance: Instance) -> list[Row]:
    """The laws of the tail among an instance's arguments, where it is not of the catalogue."""
    if (given := instance.arguments.get("tail")) is None:
        return []
    tail = tails.as_tail(given)
    if type(tail).__module__ == tails.__name__:
        return []
    least = "kappa(c) is the least distance at which the bound leaves 1 - c"
    asked = [c for c in {*CONFIDENCES, instance.arguments.get("confidence")} if isinstance(c, float) and 0 < c < 1]
    return [
        _row(tail, "kappa", "bound", least, lambda: largest(_inverse_gap(tail, c) for c in sorted(asked))),
        _row(tail, "bound", "bound", "the bound is a probability that does not increase", lambda: _rise(tail)),
        _row(tail, "confidence", "bound", "confidence(t) is what the bound leaves of one", lambda: _untold(tail)),
    ]


def _inverse_gap(tail: tails.Tail, c: float) -> float:
    """By what share of 1 - c the bound exceeds it at kappa, or lies below it just before; a bound may jump there."""
    t = tail.kappa(c)
    if not t >= 0:
        return math.inf
    before = tail.bound(t * (1 - TOLERANCE)) if t > 0 else math.inf
    return max(tail.bound(t) / (1 - c) - 1, 1 - before / (1 - c), 0.0)


def _rise(tail: tails.Tail) -> float:
    bounds = np.array([tail.bound(t) for t in DISTANCES])
    return largest([0.0, *np.diff(bounds), bounds[0] - 1, -bounds[-1]])


def _untold(tail: tails.Tail) -> float:
    """By how much the confidence misses what the bound leaves of one, of which the largest feasible one is told."""
    return largest(abs(tail.confidence(t) - (1.0 - tail.bound(t))) for t in DISTANCES)


def _row(tail: tails.Tail, source: str, target: str, claim: str, gap: Callable[[], float]) -> Row:
    began, found, reason = time.perf_counter(), math.nan, ""
    try:
        found = gap()
    except Exception as error:  # a class that cannot do what it states fails its law, whatever it raises
        reason = f"{type(error).__name__}: {error}"
    holds = found <= TOLERANCE
    return Row(
        method="tails",
        instance=repr(tail),
        source=source,
        target=target,
        claim=claim,
        equation="the user's own bound",
        relation="=" if target != source else ">=",
        reference="theory",
        verdict="pass" if holds else "fail",
        objective_gap=found,
        seconds=time.perf_counter() - began,
        tolerance=TOLERANCE,
        reason="" if holds else (reason or f"gap {found:.1e} exceeds {TOLERANCE:.0e}"),
    )
