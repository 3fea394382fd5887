"""What may be handed over in the place of a number or of an object, and which of it each parameter admits.

The parameters are read off the signatures, so that a new one is in the matrix as soon as it exists; it must say here, by
its name, what it admits.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["VALUES", "Domain", "Value", "domain_of"]

POINTS = 12  # of the sample


@dataclass(frozen=True)
class Value:
    """One column of the matrix of parameters; ``plain`` is the Python number that a number of another type equals."""

    name: str
    made: Callable[[], Any]
    plain: float | None = None


class Nothing:
    """An object that is no argument of anything."""


VALUES = (
    Value("negative", lambda: -1.0),
    Value("NaN", lambda: math.nan),
    Value("infinity", lambda: math.inf),
    Value("minus infinity", lambda: -math.inf),
    Value("0", lambda: 0.0),
    Value("1", lambda: 1.0),
    Value("1.5", lambda: 1.5),
    Value("1/(2n)", lambda: 1 / (2 * POINTS)),
    Value("1e-300", lambda: 1e-300),
    Value("1e300", lambda: 1e300),
    Value("float32", lambda: np.float32(0.5), 0.5),
    Value("NumPy integer", lambda: np.int64(1), 1),
    Value("array without dimension", lambda: np.array(0.5), 0.5),
    Value("array of one entry", lambda: np.array([0.5])),
    Value("boolean", lambda: True),
    Value("string of a number", lambda: "0.5"),
    Value("None", lambda: None),
    Value("complex", lambda: 0.5 + 0.5j),
    Value("list", lambda: [0.5]),
    Value("array of another shape", lambda: np.full((2, 3), 0.5)),
    Value("object", Nothing),
)


@dataclass(frozen=True)
class Domain:
    """The numbers that a parameter admits: an interval with its ends, whole numbers only or all."""

    words: str
    lower: float = -math.inf
    upper: float = math.inf
    closed: tuple[bool, bool] = (True, True)
    whole: bool = False
    none: bool = False
    also: Callable[[Any], bool] = lambda value: False

    def admits(self, value: Any) -> bool:
        """Whether the value is one of them."""
        if value is None:
            return self.none
        if self.also(value):
            return True
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            return False
        above = value >= self.lower if self.closed[0] else value > self.lower
        below = value <= self.upper if self.closed[1] else value < self.upper
        return above and below and (not self.whole or value == int(value))


NOTHING = {"lower": 1.0, "upper": 0.0}  # no number at all


def _fraction(zero: bool, one: bool) -> Domain:
    return Domain(f"{'[' if zero else '('}0, 1{']' if one else ')'}", 0.0, 1.0, (zero, one))


def _is_exponent(value: Any) -> bool:
    return isinstance(value, float) and value == math.inf


def _is_seed(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


FINITE = Domain("a finite number")
POSITIVE = Domain("a number above zero", 0.0, closed=(False, True))
NONNEGATIVE = Domain("a number that is not negative", 0.0)
OBJECT = Domain("an object of its own kind", **NOTHING)
ROW = Domain("a vector", **NOTHING, also=lambda value: isinstance(value, list) or np.ndim(value) == 1)
MATRIX = Domain("a matrix", **NOTHING, also=lambda value: isinstance(value, np.ndarray) and value.ndim == 2)


def _whole(minimum: int, maximum: float = math.inf) -> Domain:
    return Domain(f"a whole number of at least {minimum}", minimum, maximum, whole=True)


DOMAINS: dict[str, Domain] = {
    "A": MATRIX,
    "b": ROW,
    "basis": OBJECT,
    "blocks": OBJECT,
    "budget": NONNEGATIVE,
    "calibration_share": _fraction(False, False),
    "coef0": FINITE,
    "comparison": OBJECT,
    "confidence": _fraction(True, False),
    "constraints": OBJECT,
    "count": _whole(1),
    "covariance_weight": NONNEGATIVE,
    "covariances": OBJECT,
    "ddof": Domain("a whole number below n", 0, POINTS - 1, whole=True),
    "degree": _whole(1),
    "deviation": OBJECT,
    "dof": Domain("a number above two", 2.0, closed=(False, True)),
    "factors": _whole(0),
    "false_alarm_rate": _fraction(False, False),
    "false_positive_rate": _fraction(False, False),
    "features": OBJECT,
    "features_or_grams": OBJECT,
    "first": OBJECT,
    "folds": _whole(2),
    "form": OBJECT,
    "gamma": POSITIVE,
    "gamma1": NONNEGATIVE,
    "gamma2": POSITIVE,
    "growth": NONNEGATIVE,
    "half_widths": ROW,
    "held_out": _fraction(False, False),
    "kernel": Domain("a kernel, its name or a function", **NOTHING, none=True),
    "labels": OBJECT,
    "lower": ROW,
    "matrix": MATRIX,
    "mean_penalty": POSITIVE,
    "means": OBJECT,
    "metric": OBJECT,
    "moments": OBJECT,
    "moments_x": OBJECT,
    "moments_y": OBJECT,
    "multiple": POSITIVE,
    "negative_moments": OBJECT,
    "novel": OBJECT,
    "novelty_score": OBJECT,
    "offset": POSITIVE,
    "others": OBJECT,
    "outlier_fraction": _fraction(False, True),
    "outliers": _whole(0, POINTS - 1),
    "p": Domain("an exponent of at least 1, or infinity", 1.0, also=_is_exponent),
    "pairs": OBJECT,
    "part": OBJECT,
    "points": OBJECT,
    "r": Domain("an exponent of at least 1, or infinity", 1.0, also=_is_exponent),
    "radius": NONNEGATIVE,
    "random_state": Domain("a whole number, as an integer", **NOTHING, none=True, also=_is_seed),
    "rank": _whole(1),
    "replace": Domain("True or False", **NOTHING, also=lambda value: isinstance(value, bool)),
    "ridge": NONNEGATIVE,
    "scale_penalty": NONNEGATIVE,
    "scales": ROW,
    "scenarios": MATRIX,
    "score": OBJECT,
    "second": OBJECT,
    "semidefinite": Domain("True or False", **NOTHING, also=lambda value: isinstance(value, bool)),
    "shape": OBJECT,
    "share": _fraction(False, True),
    "shift": ROW,
    "slack_penalty": POSITIVE,
    "solver": OBJECT,
    "tail": Domain("a tail or its name", **NOTHING, none=True),
    "thresholds": ROW,
    "uncertainty": OBJECT,
    "uniform_share": _fraction(True, False),
    "upper": ROW,
    "weights": ROW,
    "width": POSITIVE,
}


# A name that means something else at one door.
ELSEWHERE: dict[tuple[str, str], Domain] = {
    ("cn.novelty_proportion", "confidence"): _fraction(False, False),
    ("cn.semi_supervised", "confidence"): _fraction(False, False),
    ("SemiSupervisedDetector", "confidence"): _fraction(False, False),
    ("MahalanobisSVM", "ridge"): POSITIVE,
    ("SubspaceBall", "basis"): MATRIX,
    ("uncertainty.FactorModel", "factors"): _whole(1),
}


def domain_of(name: str, optional: bool, door: str = "") -> Domain:
    """What a parameter of that name admits; KeyError for one that does not say so."""
    found = ELSEWHERE.get((door, name), DOMAINS[name])
    return replace(found, none=optional or found.none)
