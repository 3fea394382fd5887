r"""The contract of an uncertainty set, checked on numbers.

For a centred set and a direction three values must agree: the class's own counterpart, the counterpart derived from
its membership, and what an adversary reaches within the membership. The first two are bounds from above and the
third is reached by a member, so that an error in any one of them shows. They share the arrays that the membership is
compiled into: it is solved as it is written, too. The worst member must be a member; no sampled
member may exceed the value. What else a class states of itself is in :mod:`convexnovelty.checking.set_laws`.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from convexnovelty import uncertainty as sets
from convexnovelty.checking import set_laws
from convexnovelty.checking.all_round import MEMBER, rows_all_round
from convexnovelty.checking.gaps import largest, shortfall
from convexnovelty.checking.report import Row
from convexnovelty.checking.set_values import (
    KAPPA,
    around,
    as_written,
    directions,
    distance,
    evaluator,
    law_row,
    nominal,
    value,
)
from convexnovelty.declare import Instance, Method
from convexnovelty.errors import ConvexNoveltyError
from convexnovelty.moments import Moments
from convexnovelty.pairs import SetPair
from convexnovelty.uncertainty import Adversary, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.validation import Array

__all__ = ["check_set", "contract_rows", "rows_of_users_sets"]

TOLERANCE = 1e-6
OWN_MOMENTS = 8  # dimension up to which a user's set is tried around the moments of the problem that holds it
WELL = 1e-6  # share of the largest variance below which no nominal variance may lie for that
UNTOLD = 2e-2  # up to which a gap may be the doing of a solver: a root of its tolerance


def contract_rows(dimension: int = 3) -> list[Row]:
    """The contract of every set of the catalogue and of the user's files, on its own examples."""
    rows: list[Row] = []
    for kind in {**sets.catalogue(), **sets.users()}.values():
        for example in kind.examples():
            rows += check_set(example, dimension=dimension)
    return rows


def rows_of_users_sets(instance: Instance, owner: Method | None = None) -> list[Row]:
    """The contracts of the sets among an instance's arguments, and of their parts, that are not of the catalogue."""
    given = [_each(value) for value in instance.arguments.values()]
    flat = [item for items in given for item in items]
    nominal_ones = [item for item in flat if isinstance(item, Moments)]
    if not nominal_ones and owner is not None:
        with contextlib.suppress(ConvexNoveltyError):  # of arguments that the method refuses, which its nodes tell
            nominal_ones = [made for made in [owner.nominal_of(instance.arguments)] if made is not None]
    size = next((d for item in flat if isinstance(d := getattr(item, "dimension", None), int)), 3)
    known = set(sets.catalogue().values())
    found: dict[int, tuple[UncertaintySet, Moments | None]] = {}
    for items in given:
        # Of a pair each set is placed round the moments of its own class.
        paired = nominal_ones if len(items) == len(nominal_ones) else nominal_ones[:1] * len(items)
        for item, moments in itertools.zip_longest(items, paired):
            for recipe in _with_parts(item) if isinstance(item, UncertaintySet) else ():
                found.setdefault(id(recipe), (recipe, moments))
    rows: list[Row] = []
    for recipe, moments in found.values():
        if type(recipe) not in known:
            rows += _in_reach(recipe, moments, size)
    return rows


def _each(value: Any) -> tuple[Any, ...]:
    """What an argument holds: both of a pair."""
    if isinstance(value, SetPair):
        return value.x, value.y
    return value if isinstance(value, tuple) else (value,)


def _with_parts(recipe: UncertaintySet) -> Iterator[UncertaintySet]:
    yield recipe
    if isinstance(recipe, Composite):
        for part in recipe.parts().values():
            yield from _with_parts(part)


def _in_reach(recipe: UncertaintySet, moments: Moments | None, size: int) -> list[Row]:
    """The contract around the problem's own moments, or around others where those are too large or too flat for it."""
    own = size <= OWN_MOMENTS
    if moments is not None and own and not isinstance(recipe, PointSet):
        spread = np.linalg.eigvalsh(np.asarray(moments.covariance))
        own = bool(spread[0] > WELL * spread[-1])
    if own and moments is not None:
        return check_set(recipe, moments=Moments(moments.mean, moments.covariance))
    try:
        sets.membership_of(around(recipe, nominal(recipe.size or (size if own else 3))))
    except Exception as error:  # of a column that there is in the problem alone, say
        reason = f"the set is tried in three dimensions, around other moments, where {error}"
        row = law_row(recipe, "membership", "contract", "what the class states of itself holds", math.nan, TOLERANCE)
        return [replace(row, verdict="not checked", reason=reason)]
    rows = check_set(recipe, dimension=size if own else 3)
    return rows if isinstance(recipe, PointSet) else [_of_its_own_centre(row) for row in rows]


def _of_its_own_centre(row: Row) -> Row:
    """A row round moments that are not the problem's, round which a set that is made of matrices need not close at radius zero."""
    if (row.source, row.target, row.verdict) != (*set_laws.AT_ZERO, "fail"):
        return row
    reason = f"the set is tried around other moments than the problem's, which need not be its centre: {row.reason}"
    return replace(row, verdict="not checked", reason=reason)


def check_set(
    recipe: UncertaintySet,
    *,
    moments: Moments | None = None,
    dimension: int = 3,
    tolerance: float = TOLERANCE,
    seed: int = 5,
    own: bool | None = None,
) -> list[Row]:
    """Rows for one set: closed form against derived, derived against adversary, worst member, samples, and its own laws.

    Parameters
    ----------
    recipe : the set, not yet centred.
    moments : nominal moments; signed random ones of the given dimension by default.
    tolerance : relative, for two conic programs that state the same number.
    own : whether what the class states beside its membership is tried too (gauge, closed forms at other numbers, radius
        zero, rotation), which takes as long again; by default for sets that are not of the catalogue.
    """
    if isinstance(recipe, PointSet) and recipe.size is not None and moments is None:
        dimension = recipe.size
    moments = moments or nominal(dimension)
    own = type(recipe) not in sets.catalogue().values() if own is None else own
    rows: list[Row] = []
    try:
        for row in _rows(recipe, moments, tolerance, seed, own):
            rows.append(row)
    except Exception as error:  # a class that cannot be asked for what it states does not state it, whatever it raises
        reason, claim = f"{type(error).__name__}: {error}", "what the class states of itself can be asked for"
        rows.append(law_row(recipe, "membership", "contract", claim, math.nan, tolerance, 0.0, reason))
    return rows


def _rows(recipe: UncertaintySet, moments: Moments, tolerance: float, seed: int, own: bool) -> Iterator[Row]:
    tried = directions(moments.dimension, seed)
    began = time.perf_counter()
    try:
        centred: UncertaintySet = around(recipe, moments)
        found = [_at(centred, a) for a in tried]
    except Exception as error:  # what a user's class raises
        reason = f"{type(error).__name__}: {error}"
        yield law_row(recipe, "membership", "counterpart", "the set can be used", math.nan, tolerance, 0.0, reason)
        return
    seconds = (time.perf_counter() - began) / 3
    gap = largest(abs(f["derived"] - f["adversary"]) / f["scale"] for f in found)
    claim = "no member does worse than the derived counterpart, and one does as badly"
    yield law_row(recipe, "adversary", "derived counterpart", claim, gap, tolerance, seconds)
    yield from set_laws.exactness(recipe)
    closed = [f for f in found if "closed" in f]
    conservative = recipe.exactness == "conservative"
    if closed:
        gap = largest(shortfall(f["closed"] - f["derived"], conservative) / f["scale"] for f in closed)
        claim = "the closed form is never below" if conservative else "the closed form is exact"
        yield law_row(recipe, "closed form", "derived counterpart", claim, gap, tolerance, seconds)
    if isinstance(centred, MomentSet):
        gap = largest(_deviation_gap(centred, a) for a in tried)
        claim = "the counterpart of the deviation alone is exact"
        yield law_row(recipe, "worst deviation", "adversary", claim, gap, tolerance)
    yield _as_written_row(recipe, centred, tried[0], found[0], tolerance)
    yield from _worst_member_rows(recipe, centred, tried, found, tolerance)
    yield from _sample_rows(recipe, centred, tried, found, tolerance, seed)
    if own:
        yield from set_laws.own_laws(recipe, moments, tried, tolerance)
        yield from rows_all_round(recipe, moments, tolerance, seed)


def _deviation_gap(centred: MomentSet, a: Array) -> float:
    """The class's worst standard deviation (closed form if it has one) against the adversary's."""
    stated, reached = sets.evaluate_deviation(centred, a), Adversary(centred).deviation(a).value
    return shortfall(stated - reached, centred.exactness == "conservative") / max(abs(stated), abs(reached), 1e-12)


def _at(centred: UncertaintySet, a: Array) -> dict[str, float]:
    evaluate = evaluator(centred)
    derived = evaluate(a, "derived")
    worst = Adversary(centred)(a, KAPPA)
    # A worst case of zero has no digits of its own: the size of the members gives the unit.
    size = _size(centred, worst.member)
    scale = max(abs(derived), abs(worst.value), 1e-3 * float(np.linalg.norm(a)) * size, 1e-300)
    values = {"derived": derived, "adversary": worst.value, "scale": scale}
    try:
        return {**values, "closed": evaluate(a, "closed")}
    except ConvexNoveltyError:
        return values


def _size(centred: UncertaintySet, member: Any) -> float:
    """The size of the members; one for a point at the origin, of whose members rounding is all that is left."""
    if centred.family != "points":
        return float(centred.unit)  # type: ignore[attr-defined]
    return 1.0 if _is_of_size_zero(centred) else float(np.linalg.norm(member))


def _is_of_size_zero(centred: UncertaintySet) -> bool:
    return centred.nominal_at_zero and centred.numbers().get(centred.grows_by) == 0


def _as_written_row(
    recipe: UncertaintySet, centred: UncertaintySet, a: Array, found: dict[str, float], tolerance: float
) -> Row:
    blurred = [0.0]

    def gap() -> float:
        reached, error = as_written(centred, a)
        # At a size of zero a solver keeps a root of its tolerance beyond the set, which its residuals do not show to first order.
        kept = _is_of_size_zero(centred) and reached > found["adversary"]
        blurred.append(UNTOLD if kept else error / found["scale"])
        return abs(reached - found["adversary"]) / found["scale"]

    claim = "the membership as it is written, compiled by CVXPY alone, has the same worst case"
    row = set_laws.tried_row(recipe, "membership", "adversary", claim, gap, tolerance)
    if math.isnan(row.objective_gap) and "Error" not in row.reason:
        return replace(row, verdict="not checked", reason="no solver shows the answer to the program as it is written")
    if row.verdict == "fail" and tolerance < row.objective_gap <= blurred[-1] <= UNTOLD:
        return replace(
            row, verdict="not checked", reason="no solver shows that many digits of the program as it is written"
        )
    return row


def _worst_member_rows(
    recipe: UncertaintySet, centred: UncertaintySet, tried: list[Array], found: list[dict[str, float]], tolerance: float
) -> list[Row]:
    members: list[Any] = []

    def apart() -> float:
        members.extend(sets.worst_member(centred, a, KAPPA) for a in tried)
        return largest(distance(centred, member) for member in members)

    def missed() -> float:
        values = [value(centred, member, a) for member, a in zip(members, tried, strict=True)]
        return largest(abs(v - f["adversary"]) / f["scale"] for v, f in zip(values, found, strict=True))

    return [
        set_laws.tried_row(recipe, "worst member", "membership", "the worst member is a member", apart, MEMBER),
        set_laws.tried_row(
            recipe, "worst member", "adversary", "the worst member attains the worst case", missed, tolerance
        ),
    ]


def _sample_rows(
    recipe: UncertaintySet,
    centred: UncertaintySet,
    tried: list[Array],
    found: list[dict[str, float]],
    tolerance: float,
    seed: int,
) -> list[Row]:
    rng = np.random.default_rng(seed)
    if type(centred).sample in set_laws.UNSTATED:  # type: ignore[attr-defined]
        return []
    with contextlib.suppress(Exception):  # which the rows below tell
        if centred.sample(rng) is None:  # type: ignore[attr-defined]
            return []

    def outside() -> float:
        return largest(distance(centred, centred.sample(rng)) for _ in range(3))  # type: ignore[attr-defined]

    def excess() -> float:
        members = [centred.sample(rng) for _ in range(20)]  # type: ignore[attr-defined]
        pairs = zip(tried, found, strict=True)
        return max(
            0.0, *(largest((value(centred, m, a) - f["derived"]) / f["scale"] for m in members) for a, f in pairs)
        )

    return [
        set_laws.tried_row(recipe, "samples", "membership", "samples are members", outside, MEMBER),
        set_laws.tried_row(
            recipe, "samples", "derived counterpart", "no sampled member exceeds the value", excess, tolerance
        ),
    ]
