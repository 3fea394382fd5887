"""What becomes of every cell: it works with the right number, or it is refused in words that help.

The same verdicts are asserted by the tests and printed by the documentation.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from input_doors import Door
from input_kinds import KINDS, Kind
from input_numbers import VALUES, Value, domain_of
from input_subjects import Subject

from convexnovelty.errors import ConvexNoveltyError

__all__ = ["Cell", "door_cells", "point_cells"]

# What would do: every refusal says it in one of these words.
HELP = re.compile(
    r"\b(give|needed|required|pass|use|must|drop|expected|larger|are|is|instead|smaller|leave|supported|name|failed)\b",
    re.I,
)

# Numbers at the ends of float64, which a door may take or refuse by name: no theory asks for them.
ENDS = {"1e-300", "1e300"}

# Admitted numbers that the rest of the call may rule out: the refusal names what they would need.
CONDITIONS: dict[tuple[str, str], str] = {
    ("cn.semi_supervised", "held_out"): "a share that holds out too few points for the rate is refused",
    ("cn.semi_supervised", "false_positive_rate"): "a rate that needs more held-out points than there are is refused",
    ("SemiSupervisedDetector", "held_out"): "a share that holds out too few points for the rate is refused",
    (
        "SemiSupervisedDetector",
        "false_positive_rate",
    ): "a rate that needs more held-out points than there are is refused",
    ("MahalanobisSVM", "ridge"): "without a ridge the covariance is singular in the features",
    ("SingleClassMPM", "ridge"): "with a large ridge no half-space holds the share",
    ("SingleClassMPM", "rank"): "one basis point may leave nothing to separate",
    ("SingleClassMPM", "confidence"): "a confidence above the largest feasible one is refused with that limit",
    ("cn.single_class_mpm", "confidence"): "a confidence above the largest feasible one is refused with that limit",
    ("kernels.polynomial", "coef0"): "a negative one makes an indefinite kernel",
    ("kernels.sigmoid", "coef0"): "the kernel is indefinite on most samples",
    ("kernels.sigmoid", "gamma"): "the kernel is indefinite on most samples",
}
# Operations on sets: their refusals quote the call, as ``A.preimage(array(2, 3))``.
QUOTED = ("image", "preimage")

# Where the other way is known to lose its digits, the number by hand stands in for it.
BY_HAND = {
    # One factor of variance 2, and specific variances 1 and 1/2 that may grow by a half, in the direction (1, -2, 1/2).
    ("uncertainty.FactorModel", "radius", "0"): math.sqrt(4 * 2 + 1.5 * (1 + 0.5 / 4)),
}
REFERRED = {"0", "1"}  # for sets, whose other way is a solve
SAMPLES = {"calibration_share", "false_alarm_rate"}  # both decide how many points are held out


# Faults of the package that stand, each with what is wrong: a cell that works again fails until its line is gone.
KNOWN_FAULTS: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Cell:
    """One cell and what became of it; ``fault`` says what is wrong with that, and is empty in a good library."""

    subject: str
    kind: str
    verdict: Literal["works", "refused"]
    message: str = ""
    fault: str = ""
    argument: str = ""


def _tried(answer: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(answer(), dtype=float), None
        except Exception as error:
            return None, error


def _words(error: BaseException, names: tuple[str, ...]) -> str:
    """What a refusal lacks, or nothing."""
    if not isinstance(error, ConvexNoveltyError):
        return f"a foreign {type(error).__name__}: {error}"
    text = str(error)
    if not any(name in text if not name.isidentifier() else re.search(rf"\b{name}\b", text) for name in names):
        return f"the message names none of {', '.join(names)}: {text}"
    return "" if HELP.search(text) else f"the message does not say what would do: {text}"


NOTHING = (
    1e-24  # of points of size one, an optimum of zero: a square of rounding, which another layout sums in another order
)


def _unequal(found: Any, wanted: Any, tolerance: float, floor: float = 1e-300) -> str:
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    if not np.isfinite(found).all():
        return f"the answer is not finite: {found.ravel()[:3]}"
    size = max(float(np.abs(wanted).max(initial=0.0)), floor)
    if found.shape != wanted.shape or float(np.abs(found - wanted).max(initial=0.0)) > tolerance * size:
        return f"the answer {found.ravel()[:3]} is not {wanted.ravel()[:3]}"
    return ""


def faults(cells: list[Cell]) -> str:
    """What is wrong with cells, a line each."""
    return "\n".join(f"{cell.argument or 'points'}, {cell.kind}: {cell.fault}" for cell in cells if cell.fault)


# -- points ------------------------------------------------------------------------------------------------------------


def point_cells(subject: Subject) -> Iterator[Cell]:
    """A row of the table of points."""
    plain: dict[bytes, tuple[Any, BaseException | None]] = {}
    for kind in KINDS:
        found, error = _tried(lambda kind=kind: subject.answer(kind.made()))
        cell = _point_cell(subject, kind, found, error, plain)
        known = KNOWN_FAULTS.get((subject.name, kind.name))
        if known is not None:
            cell = replace(
                cell, message=known, fault="" if cell.fault else "the known fault is gone: take its line out"
            )
        yield cell


def _point_cell(subject: Subject, kind: Kind, found: Any, error: BaseException | None, plain: Any) -> Cell:
    names = (subject.argument, *subject.others)
    if error is not None:
        message, fault = str(error), _words(error, names)
        if not fault and kind.group == "same":
            # The same numbers as float64 must be refused for the same reason.
            _, theirs = _plain(subject, kind, plain)
            fault = "" if str(theirs) == message else "the plain array is not refused so"
        elif not fault and kind.group == "nonsense" and not re.search(kind.found, message):
            fault = f"the message does not say what was found: {message}"
        elif not fault and kind.group == "edge" and kind.name not in subject.refuses:
            fault = f"refused, and nothing says why it should be: {message}"
        elif not fault and kind.group == "sparse" and subject.sparse:
            fault = f"sparse points are refused: {message}"
        return Cell(subject.name, kind.name, "refused", message, fault)
    if kind.group == "nonsense" or (kind.group == "sparse" and not subject.sparse):
        fault = f"accepted, with the answer {found.ravel()[:3]}"
    elif kind.name in subject.refuses:
        fault = "accepted where a refusal is declared"
    elif kind.group in ("same", "sparse"):
        wanted, theirs = _plain(subject, kind, plain)
        fault = (
            f"the plain array is refused: {theirs}"
            if theirs is not None
            else _unequal(_levelled(subject, kind, found, wanted), wanted, 1e-6, NOTHING)
        )
    else:
        wanted, problem = _tried(lambda: subject.reference(kind.made()))
        fault = (
            f"no reference: {problem}"
            if problem is not None
            else _unequal(found, wanted, subject.tolerance, _floor(subject, kind))
        )
    return Cell(subject.name, kind.name, "works", "", fault)


def _levelled(subject: Subject, kind: Kind, found: Any, wanted: Any) -> Any:
    """Decision values of a detector of points in single precision, whose level is lower by what rounding of these moves it."""
    if kind.name != "float32" or subject.room is None or found.shape != wanted.shape:
        return found
    room = float(np.min(found - wanted))
    # The difference of two scores of the order of one is known to 1e-16, a share of 1e-9 of what is a millionth.
    return found - room if 0 <= room <= subject.room(kind.made()) * (1 + 1e-9) else found


def _floor(subject: Subject, kind: Kind) -> float:
    """Below this size an answer counts as zero."""
    if subject.power < 0:
        return 1e-300
    return float(subject.floor * (float(np.abs(kind.plain()).max()) or 1.0) ** subject.power)


def _plain(subject: Subject, kind: Kind, known: dict[bytes, Any]) -> Any:
    array = np.asarray(kind.plain(), dtype=float)
    if array.tobytes() not in known:
        known[array.tobytes()] = _tried(lambda: subject.answer(array))
    return known[array.tobytes()]


# -- parameters --------------------------------------------------------------------------------------------------------


def door_cells(door: Door) -> Iterator[Cell]:
    """The rows of a call in the table of parameters."""
    plain: dict[float, Any] = {}
    for name, optional in door.parameters.items():
        for value in VALUES:
            yield _door_cell(door, name, optional, value, plain)
        plain.clear()


def _door_cell(door: Door, name: str, optional: bool, value: Value, plain: dict[float, Any]) -> Cell:
    made = value.made()
    given = {**door.arguments, name: made}
    admitted = domain_of(name, optional, door.name).admits(made)
    found, error = _tried(lambda: door.answer(given))
    fault = ""
    if error is not None:
        fault = _words(error, (name, repr(made), *door.names, *QUOTED))
        free = value.name in ENDS or name in SAMPLES or (door.name, name) in CONDITIONS or not _is_number(made)
        if admitted and not fault and not free:
            fault = f"an admitted value is refused: {error}"
        return Cell(door.name, value.name, "refused", str(error), fault, name)
    if not admitted:
        fault = f"accepted, with the answer {found.ravel()[:3]}"
    elif not np.isfinite(found).all():
        fault = f"the answer is not finite: {found.ravel()[:3]}"
    elif value.plain is not None:
        if value.plain not in plain:
            plain[value.plain] = _tried(lambda: door.answer({**door.arguments, name: value.plain}))
        wanted, theirs = plain[value.plain]
        fault = f"the plain number is refused: {theirs}" if theirs is not None else _unequal(found, wanted, 1e-6, 1e-3)
    elif (door.name, name, value.name) in BY_HAND:
        fault = _unequal(found, [BY_HAND[door.name, name, value.name]], door.tolerance)
    elif (
        door.reference is not None
        and value.name not in ENDS
        and (door.group != "set" or value.name in REFERRED)
        and _is_number(made)
    ):
        pair, problem = _reference(door, given)
        fault = problem if pair is None else _unequal(pair[0], pair[1], door.tolerance, 1e-3)
    return Cell(door.name, value.name, "works", "", fault, name)


def _reference(door: Door, given: Any) -> tuple[Any, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pair = door.reference(given) if door.reference is not None else None
        except Exception as error:
            return None, f"no reference: {type(error).__name__} {error}"
    return pair, ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)
