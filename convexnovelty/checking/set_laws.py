r"""What the class of an uncertainty set states of itself beside its membership, held against the membership.

A class may name its gauge, the matrix of an ellipsoidal counterpart, closed forms for every value of its numbers, and
say that a radius of zero leaves the centre alone, that a rotation of the centre rotates the set, or that its members
within a subspace are the set of that subspace. Whatever it states is used somewhere, so that each statement has a row of its own.
"""

from __future__ import annotations

import functools
import math
import numbers
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from convexnovelty import uncertainty as sets
from convexnovelty._lazy import cp
from convexnovelty.checking.gaps import largest, shortfall
from convexnovelty.checking.report import Row
from convexnovelty.checking.set_values import KAPPA, around, distance, evaluator, joint, law_row, unit_of
from convexnovelty.errors import ConvexNoveltyError, EmptySetError, InputError, RecompilationError
from convexnovelty.membership import as_counterpart
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import Adversary, CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.uncertainty.constructed import signature_of
from convexnovelty.uncertainty.counterparts import evaluate
from convexnovelty.uncertainty.sizes import is_read, says_the_same
from convexnovelty.uncertainty.tools import unasked
from convexnovelty.validation import Array

__all__ = [
    "ABOVE",
    "AT_ZERO",
    "BELOW",
    "HELD",
    "UNSTATED",
    "apart_from",
    "exactness",
    "own_laws",
    "parts_of",
    "states",
    "tried_row",
    "without_dust",
]

WORDS = ("exact", "conservative")
# At these multiples of a number of the set its closed forms are held against what is derived: one on either side.
MULTIPLES = (0.37, 1.9)
# Shares of a gauge by which a set that is larger holds the member, and one that is smaller not.
ABOVE, BELOW = 1e-4, 5e-4
DUST = 1e-8  # share of the largest entries beside it of a displacement that counts as zero
AT_ZERO = ("radius 0", "centre")  # source and target of the law that radius zero leaves the centre alone
HELD = 1e-6  # distance, in units of the set, up to which a member of the boundary counts as held

FAMILIES = (CovarianceSet, MeanSet, MomentSet, PointSet)
UNSTATED = tuple(vars(family)[name] for family in FAMILIES for name in ("sample", "gauge", "worst_member"))


def exactness(recipe: UncertaintySet) -> list[Row]:
    """The row for a word that is none of the two; a word that is known is held against values."""
    if recipe.exactness in WORDS:
        return []
    reason = f"exactness = {recipe.exactness!r} was found; state 'exact' or 'conservative'"
    return [law_row(recipe, "exactness", "contract", "the class says exact or conservative", 0.0, 0.0, reason=reason)]


def own_laws(recipe: UncertaintySet, moments: Moments, tried: list[Array], tolerance: float) -> Iterator[Row]:
    """The rows on gauge, ellipsoidal form, added deviation, closed forms at other numbers, radius zero, rotation and subspaces, where stated."""
    if _states_gauge(recipe) or _has_size(recipe, moments):
        claim = "the gauge is the least radius at which the set holds a member"
        yield tried_row(recipe, "gauge", "membership", claim, lambda: _gauge_gap(recipe, moments, tried[0]), HELD)
    if _ellipsoidal(around(recipe, moments), tried[0]) is not None:
        claim = "the ellipsoidal form is the counterpart"
        yield tried_row(
            recipe, "ellipsoidal", "counterpart", claim, lambda: _ellipsoidal_gap(recipe, moments, tried), tolerance
        )
    if _added(around(recipe, moments), tried[0]) is not None:
        claim = "what the class adds to the nominal deviation makes the counterpart"
        yield tried_row(
            recipe, "added deviation", "counterpart", claim, lambda: _added_gap(recipe, moments, tried), tolerance
        )
    yield from _rows_at_other_numbers(recipe, moments, tried[0], tolerance)
    yield from _rows_of_changes(recipe, moments, tried[0], tolerance)
    sized = recipe.nominal_at_zero and "radius" in recipe.numbers() and not isinstance(recipe, Composite)
    if sized and is_read(around(recipe, moments), "radius"):
        yield _row_at_zero(recipe, moments, tried[0], tolerance)
    if recipe.rotation_invariant:
        claim = "the set of a rotated centre is the rotated set"
        yield tried_row(
            recipe, "rotation", "counterpart", claim, lambda: _turned_gap(recipe, moments, tried[0]), tolerance
        )
    if recipe.hereditary and recipe.size is None and not (isinstance(recipe, MeanSet) and recipe.uses_covariance):
        claim = "the members of a subspace are the set of the subspace"
        yield tried_row(
            recipe, "subspace", "counterpart", claim, lambda: _within_gap(recipe, moments, tried[0]), tolerance
        )


def tried_row(
    recipe: UncertaintySet, source: str, target: str, claim: str, gap: Callable[[], float], tolerance: float
) -> Row:
    """The row for a law whose gap is computed by the user's own functions, which may raise anything."""
    began, found, reason = time.perf_counter(), math.nan, ""
    try:
        with unasked():
            found = gap()
    except Exception as error:  # a class that cannot do what it states fails its law, whatever it raises
        reason = f"{type(error).__name__}: {error}"
    return law_row(recipe, source, target, claim, found, tolerance, time.perf_counter() - began, reason)


# -- the gauge -------------------------------------------------------------------------------------------------------


def states(recipe: Any, name: str) -> bool:
    """Whether the class of a set says something itself that families leave open."""
    return getattr(type(recipe), name) not in UNSTATED and not isinstance(recipe, Composite)


def _states_gauge(recipe: Any) -> bool:
    return states(recipe, "gauge") and recipe.grows_by in vars(recipe)


def _has_size(recipe: Any, moments: Moments) -> bool:
    """Whether a convex program finds the gauge by a number of the set that can be smaller and larger.

    Where more follows from that number, the gauge is searched for in sets that have another one, as it would be here.
    """
    name = recipe.grows_by
    number = vars(recipe).get(name)
    if not number or isinstance(recipe, Composite) or (isinstance(recipe, MeanSet) and recipe.uses_covariance):
        return False
    if not is_read(around(recipe, moments), name):
        return False
    try:
        with unasked():
            sets.membership_of(around(recipe.replaced(**{name: 0.5 * number}), moments))
    except EmptySetError:
        pass
    except Exception:  # of a number that must be whole, whatever the class raises
        return False
    return bool(recipe.is_plain(name))


def _gauge_gap(recipe: Any, moments: Moments, a: Array) -> float:
    """How far some members are from sets that are just large enough by the gauge.

    They are the worst member of one direction, a point on its way, and a mixture of the worst members of several: worst
    members alone are corners, or differ from the centre by rank one, where other norms have the same value. Of a gauge that the
    class does not state, but the library finds, a point on the way to the opposite worst member will do.
    """
    centred = around(recipe, moments)
    alone = recipe.centred(np.zeros(moments.dimension) if isinstance(recipe, PointSet) else moments)
    size = float(recipe.numbers()[recipe.grows_by])
    centres = centred.center if isinstance(centred.center, tuple) else (centred.center,)
    stated = _states_gauge(recipe)
    worst = [parts_of(Adversary(centred)(w, KAPPA).member) for w in (_around(a) if stated else [a, -a])]
    if size == 0:
        return _gauge_at_zero(recipe, alone, worst[0], moments)
    steps = [tuple(without_dust(b - c) for b, c in zip(member, centres, strict=True)) for member in worst]
    mixed = tuple(sum(parts) / len(steps) for parts in zip(*steps, strict=True))
    between = tuple(0.75 * one + 0.25 * other for one, other in zip(steps[0], steps[1], strict=True))
    gaps = []
    for share, step in ((0.5, steps[0]), (1.0, steps[0]), (1.0, mixed)) if stated else ((1.0, between),):
        member = tuple(c + share * s for c, s in zip(centres, step, strict=True))
        given = (
            (*member, np.asarray(moments.covariance)) if isinstance(recipe, MeanSet) and len(member) == 1 else member
        )
        told = float(alone.gauge(*given) if stated else sets.gauge(alone, given if len(given) > 1 else given[0]))
        if not 0 <= told <= size * (1 + ABOVE):
            raise InputError(f"a member of the set of size {size:.6g} has the gauge {told:.6g}")
        for bound, inside in ((told * (1 + ABOVE) + 1e-6 * size, True), (told * (1 - BELOW), False)):
            if not inside and told <= 1e-3 * size:
                continue
            apart = apart_from(recipe, bound, member, moments)
            if inside and apart > HELD and not stated:
                apart = apart_from(recipe, told, member, moments)  # a set need not lie within the larger ones
            if not math.isfinite(apart):
                raise InputError(f"the distance of a member from the set of size {bound:.6g} is not finite")
            if inside:
                gaps.append(apart)
            elif apart <= HELD and _shows(apart_from(recipe, told / 2, member, moments)):
                raise InputError(f"the gauge of a member is {told:.6g}, and the set of size {bound:.6g} holds it")
            if inside and apart > HELD:
                raise InputError(
                    f"the gauge of a member is {told:.6g}, and the set of size {bound:.6g} does not hold it"
                )
    return largest(gaps)


def _shows(apart: float) -> bool:
    """Whether a set that is a little smaller does not hold a member, as far as the distance from one of half the size tells.

    Members of small gauge may lie next to the boundary of every smaller set, whose own size is another one.
    """
    return apart <= HELD or 2 * BELOW * apart > 2 * HELD


def apart_from(recipe: Any, size: float, member: tuple[Array, ...], moments: Moments, center: Any = None) -> float:
    """How far a member is from the set of a size, round another centre if one is given."""
    sized = recipe.replaced(**{recipe.grows_by: size})
    held: Any = around(sized, moments) if center is None else joint(sized).centred(center)  # type: ignore[attr-defined]
    return distance(held, member if len(member) > 1 else member[0])


def parts_of(member: Any) -> tuple[Array, ...]:
    """A member as a tuple: a pair of moments has two parts, anything else one."""
    return member if isinstance(member, tuple) else (member,)


def _around(a: Array) -> list[Array]:
    """A direction, and beside it as many others as span the space."""
    return [a, *(a + float(np.linalg.norm(a)) * axis for axis in np.eye(a.size))]


def _gauge_at_zero(recipe: Any, alone: Any, blocks: tuple[Array, ...], moments: Moments) -> float:
    """The gauge of the only member beside that of one as far off as the centre is large: rounding is all that is left of it."""
    moved = tuple(block + (np.diag(np.diag(block)) if block.ndim == 2 else _along(block)) for block in blocks)
    beside = (np.asarray(moments.covariance),) if isinstance(recipe, MeanSet) and len(blocks) == 1 else ()
    told, far = (float(alone.gauge(*member, *beside)) for member in (blocks, moved))
    if not told >= 0:
        raise InputError(f"a member of the set of size 0 has the gauge {told:.6g}")
    if math.isnan(far):
        raise InputError("the gauge of a point beside the set of size 0 is not a number")
    return told / far if 0 < far < math.inf else told


def _along(block: Array) -> Array:
    """A vector of the size of another one, and of one where that is zero."""
    return np.full(block.size, (float(np.linalg.norm(block)) or 1.0) / math.sqrt(block.size))


def without_dust(step: Array) -> Array:
    """A displacement without what a solver left of zeros: no set of width zero holds it at any size.

    Columns have units of their own: an entry of a matrix counts beside the largest ones of its row and column.
    """
    sizes = np.abs(step).max(axis=0, initial=0.0)
    beside = np.sqrt(np.outer(sizes, sizes)) if step.ndim == 2 else sizes
    return np.where(np.abs(step) > DUST * beside, step, 0.0)


# -- closed forms ----------------------------------------------------------------------------------------------------


def _ellipsoidal(centred: Any, a: Array) -> tuple[float, float] | None:
    """The worst loss (or deviation) and the worst deviation by the ellipsoidal form, where the class states one."""
    if isinstance(centred, MomentSet):
        found = centred.ellipsoidal(KAPPA)
        if found is None:
            return None
        deviation = math.sqrt(max(float(a @ found[1] @ a), 0.0))
        return float(centred.center_mean @ a) + float(found[0]) * deviation, deviation
    if isinstance(centred, CovarianceSet) and (matrix := centred.ellipsoidal()) is not None:
        deviation = math.sqrt(max(float(a @ matrix @ a), 0.0))
        return deviation, deviation
    if isinstance(centred, MeanSet) and centred.deviations is not None:
        deviation = math.sqrt(max(float(a @ centred.covariance @ a), 0.0))
        loss = float(centred.center @ a) + float(centred.deviations) * deviation
        return loss, loss
    return None


def _ellipsoidal_gap(recipe: UncertaintySet, moments: Moments, tried: list[Array]) -> float:
    centred, gaps = around(recipe, moments), []
    route = "best" if recipe.exactness == "conservative" else "derived"
    for a in tried:
        told = _ellipsoidal(centred, a)
        if told is None:
            continue
        gaps.append(_relative(told[0], evaluator(centred)(a, route), centred, a))
        if isinstance(centred, MomentSet):
            gaps.append(_relative(told[1], sets.evaluate_deviation(centred, a), centred, a))
    return largest(gaps)


def _added(centred: Any, a: Array) -> float | None:
    """The worst deviation by what the class adds to the nominal one, where it states that."""
    added = centred.added_deviation(cp.Constant(a)) if isinstance(centred, CovarianceSet) else None
    if added is None:
        return None
    return math.hypot(float(np.linalg.norm(centred.factor @ a)), float(as_counterpart(added).value.value))


def _added_gap(recipe: UncertaintySet, moments: Moments, tried: list[Array]) -> float:
    centred = around(recipe, moments)
    route = "best" if recipe.exactness == "conservative" else "derived"
    told = [(_added(centred, a), a) for a in tried]
    return largest(_relative(d, evaluator(centred)(a, route), centred, a) for d, a in told if d is not None)


def _relative(one: float, other: float, centred: UncertaintySet, a: Array) -> float:
    return abs(one - other) / max(abs(one), abs(other), unit_of(centred, a), 1e-300)


def _rows_at_other_numbers(recipe: UncertaintySet, moments: Moments, a: Array, tolerance: float) -> list[Row]:
    """Closed and ellipsoidal forms against the derived counterpart at other values of the number that makes the set larger."""
    name = recipe.grows_by
    number = recipe.numbers().get(name)
    if not number or isinstance(recipe, Composite):
        return []
    others = []
    for multiple in MULTIPLES:
        try:
            with unasked():
                other = around(recipe.replaced(**{name: multiple * number}), moments)
                sets.membership_of(other)
        except Exception:  # of a number that must be whole, or below one, whatever the class raises
            continue
        others.append(other)
    with unasked():
        told = [_told(other, a) for other in others]
    if not any(told):
        return []

    def gap() -> float:
        gaps = []
        for other, values in zip(others, told, strict=True):
            derived = evaluator(other)(a, "derived")
            for stated in values:
                wrong = shortfall(stated - derived, recipe.exactness == "conservative")
                gaps.append(wrong / max(abs(stated), abs(derived), unit_of(other, a), 1e-300))
        return largest(gaps)

    claim = f"the closed forms hold at other values of {name}"
    return [tried_row(recipe, "closed form", "derived counterpart", claim, gap, tolerance)]


def _rows_of_changes(recipe: UncertaintySet, moments: Moments, a: Array, tolerance: float) -> list[Row]:
    """A set with another number against one that is made with it, and a counterpart in which that number is set."""
    rows: list[Row] = []
    for name in [] if isinstance(recipe, Composite) else _own_numbers(recipe):
        claim = f"with another {name} it is the set that is made with it"
        try:
            changed, anew = _changed(recipe, name, moments)
        except InputError as error:
            row = law_row(recipe, "replaced", "constructor", claim, math.nan, tolerance)
            rows.append(replace(row, verdict="not checked", reason=str(error)))
            continue
        if anew is not None:
            gap = functools.partial(_anew_gap, changed, anew, moments, a)
            rows.append(tried_row(recipe, "replaced", "constructor", claim, gap, tolerance))
        if recipe.is_plain(name) and not _told(around(recipe, moments), a):
            continue  # the counterpart is derived from a membership that the number enters as it stands
        claim = f"a counterpart in which {name} is set is that of the set made with it"
        gap = functools.partial(_set_gap, recipe, changed, name, moments, a)
        rows.append(tried_row(recipe, "set", "counterpart", claim, gap, tolerance))
    return rows


def _own_numbers(recipe: UncertaintySet) -> list[str]:
    """The numbers that a user gives: those that the constructor takes, and the one by which the set grows."""
    try:
        taken = set(signature_of(type(recipe)).parameters)
    except (TypeError, ValueError):
        taken = set()
    return [name for name in recipe.numbers() if name in taken | {recipe.grows_by}]


def _changed(recipe: Any, name: str, moments: Moments) -> tuple[Any, Any]:
    """The set with another value of a number, and the one that the constructor makes with it, None where it does not take it.

    Raises InputError where the class takes none of those that are tried.
    """
    present = recipe._number(name)
    whole = isinstance(present, numbers.Integral)
    refused = "it is the same number"
    for value in (present + 1, present - 1) if whole else (m * present for m in reversed(MULTIPLES)):
        if value == present:
            continue
        try:
            with unasked():
                changed = recipe.replaced(**{name: value})
                sets.membership_of(around(changed, moments))
                return changed, _anew(recipe, name, changed._number(name))
        except Exception as error:  # a class takes what it takes, a column or a share, and raises what it raises
            refused = f"{name} = {value:.6g} gives {type(error).__name__}: {error}"
    raise InputError(f"the class takes none of the values of {name} that are tried ({refused})")


def _anew(recipe: Any, name: str, value: Any) -> Any:
    """The set that the constructor makes with the number, where it takes that by its name; None where it does not."""
    try:
        parameters = signature_of(type(recipe)).parameters
        bound = signature_of(type(recipe)).bind(*recipe._made_with[0], **recipe._made_with[1])
    except (TypeError, ValueError):
        return None
    if name not in parameters or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return None
    bound.apply_defaults()  # a number that was left to its default may be another one since
    known = {key: recipe._number(key) for key in recipe.numbers()}
    arguments = {key: known.get(key, held) for key, held in bound.arguments.items()}
    return type(recipe)(**{**arguments, name: value})


def _anew_gap(changed: Any, anew: Any, moments: Moments, a: Array) -> float:
    one, other = around(changed, moments), around(anew, moments)
    gaps = [_relative(*told, other, a) for told in zip(_told(one, a), _told(other, a), strict=True)]
    if not says_the_same(one, other):
        gaps.append(_relative(evaluator(one)(a, "derived"), evaluator(other)(a, "derived"), other, a))
    return largest(gaps)


def _set_gap(recipe: Any, changed: Any, name: str, moments: Moments, a: Array) -> float:
    """How far the worst case of a counterpart, whose number is set after it was made, is from that of the changed set."""
    center = np.zeros(moments.dimension) if isinstance(recipe, PointSet) else moments
    posed: Any = joint(recipe).tunable()
    robust = posed.centred(center)
    made = {
        "points": lambda: sets.support(robust, a),
        "mean": lambda: sets.support(robust, a),
        "covariance": lambda: sets.worst_deviation(robust, a),
        "moments": lambda: sets.worst_loss(robust, a, KAPPA),
    }[robust.family]()
    held = next((known for known in robust.tunables() if known in (name, f"means_{name}")), None)
    if held is None:
        return 0.0  # no parameter follows it: whoever sets it makes the program anew
    try:
        robust.tunables()[held].set(changed._number(name))
    except RecompilationError:
        return 0.0
    there = around(changed, moments)
    return _relative(evaluate(made), evaluator(there)(a, "best"), there, a)


def _told(centred: UncertaintySet, a: Array) -> list[float]:
    """The values that the class states in closed form."""
    found = _ellipsoidal(centred, a)
    told = [] if found is None else [found[0]]
    try:
        told.append(evaluator(centred)(a, "closed"))
    except ConvexNoveltyError:
        pass
    return told


# -- what it says of its centre --------------------------------------------------------------------------------------


def _row_at_zero(recipe: UncertaintySet, moments: Moments, a: Array, tolerance: float) -> Row:
    claim = "a radius of zero leaves the centre alone"
    try:
        with unasked():
            zero = around(recipe.replaced(radius=0.0), moments)
            if not isinstance(zero, MeanSet) or not zero.uses_covariance:
                sets.membership_of(zero)
    except Exception as error:
        # A membership that is not made for it (one that divides by the radius) refuses it loudly wherever it is used.
        row = law_row(recipe, *AT_ZERO, claim, math.nan, tolerance)
        return replace(row, verdict="not checked", reason=f"the set cannot be used with radius 0: {error}")
    return tried_row(recipe, *AT_ZERO, claim, lambda: _left_at_zero(zero, moments, a), tolerance)


def _left_at_zero(zero: UncertaintySet, moments: Moments, a: Array) -> float:
    """How far a worst case at radius zero is from the value at the centre, on either route."""
    spread = math.sqrt(max(float(a @ moments.covariance @ a), 0.0))
    mean = float(a @ moments.mean)
    centre = {"points": 0.0, "mean": mean, "covariance": spread, "moments": mean + KAPPA * spread}[zero.family]
    evaluate = evaluator(zero)
    derived = _relative(evaluate(a, "derived"), centre, zero, a)
    best = evaluate(a, "best")
    bound = zero.exactness == "conservative" and centre <= best < math.inf
    return derived if bound else largest((derived, _relative(best, centre, zero, a)))


def _turned_gap(recipe: UncertaintySet, moments: Moments, a: Array) -> float:
    turn, _ = np.linalg.qr(np.random.default_rng(8).standard_normal((a.size, a.size)))
    here = around(recipe, moments)
    # A set of points is that around the origin, which no rotation moves.
    there = around(recipe, Moments(turn.T @ moments.mean, turn.T @ moments.covariance @ turn))
    return _relative(evaluator(there)(turn.T @ a, "derived"), evaluator(here)(a, "derived"), here, a)


def _within_gap(recipe: UncertaintySet, moments: Moments, a: Array) -> float:
    """How far the worst case over the members of a subspace of one dimension more is from that of the set itself."""
    basis, _ = np.linalg.qr(np.random.default_rng(9).standard_normal((a.size + 1, a.size)))
    # Taken for one that may be not, the set is met in all dimensions.
    here, within = around(recipe, moments), around(recipe._copy(hereditary=False).preimage(basis), moments)
    return _relative(evaluator(within)(a, "derived"), evaluator(here)(a, "derived"), here, a)
