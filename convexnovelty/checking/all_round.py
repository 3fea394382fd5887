r"""What a class states of its set in every direction: closed form, worst member and gauge, held against an adversary.

A slip may show in half of all directions only, for one part of a pair, or round no centre but the origin, as where an interval has
two ends of different lengths, or a support lacks the centre. Each statement is tried along both ends of the axes and of
random directions; a set of points is tried round a point that is not the origin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from convexnovelty import uncertainty as sets
from convexnovelty.checking.gaps import largest, shortfall
from convexnovelty.checking.report import Row
from convexnovelty.checking.set_laws import (
    ABOVE,
    BELOW,
    HELD,
    apart_from,
    parts_of,
    states,
    tried_row,
    without_dust,
)
from convexnovelty.checking.set_values import KAPPA, distance, evaluator, joint, unit_of, value
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import Adversary, MeanSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.adversary import Worst
from convexnovelty.validation import Array

__all__ = ["MEMBER", "rows_all_round"]

AXES, DRAWN = 6, 6  # axes, and random directions, both ends of which are tried
MEMBER = 1e-5  # distance, in units of the set, up to which something counts as a member


def rows_all_round(recipe: UncertaintySet, moments: Moments, tolerance: float, seed: int) -> list[Row]:
    """A row for each of the three that the class states."""
    center = moments.mean if isinstance(recipe, PointSet) else moments
    centred: Any = joint(recipe).centred(center)  # type: ignore[attr-defined]
    tried = list(_both_ends(moments.dimension, seed))
    closed = _has_closed_form(centred, tried[0])
    if not (closed or states(recipe, "worst_member") or states(recipe, "gauge")):
        return []
    adversary = Adversary(centred)
    worst = [adversary(a, KAPPA) for a in tried]
    scales = [max(abs(w.value), unit_of(centred, a), 1e-300) for a, w in zip(tried, worst, strict=True)]
    rows = []
    if closed:

        def away() -> float:
            told = (evaluator(centred)(a, "closed") for a in tried)
            over = (t - w.value for t, w in zip(told, worst, strict=True))
            return largest(
                shortfall(o, recipe.exactness == "conservative") / s for o, s in zip(over, scales, strict=True)
            )

        claim = "the closed form holds in every direction, round any centre"
        rows.append(tried_row(recipe, "closed form", "adversary", claim, away, 2 * tolerance))
    if states(recipe, "worst_member"):

        def missed() -> float:
            members = [sets.worst_member(centred, a, KAPPA) for a in tried]
            if (outside := largest(distance(centred, member) for member in members)) > MEMBER:
                raise InputError(f"a worst member is {outside:.1e} away from the set, in units of its own")
            reached = (value(centred, member, a) for member, a in zip(members, tried, strict=True))
            return largest(abs(r - w.value) / s for r, w, s in zip(reached, worst, scales, strict=True))

        claim = "the worst member is one in every direction, round any centre"
        rows.append(tried_row(recipe, "worst member", "adversary", claim, missed, 2 * tolerance))
    if states(recipe, "gauge") and recipe.numbers().get(recipe.grows_by):
        claim = "the gauge tells members from others in every direction, round any centre"
        rows.append(
            tried_row(
                recipe, "gauge", "membership", claim, lambda: _gauge_gap(recipe, center, centred, moments, worst), HELD
            )
        )
    return rows


def _both_ends(dimension: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng([seed, 1])
    for axis in np.eye(dimension)[rng.permutation(dimension)[:AXES]]:
        yield from (axis, -axis)
    for drawn in rng.standard_normal((DRAWN, dimension)):
        yield from (drawn, -drawn)


def _has_closed_form(centred: UncertaintySet, a: Array) -> bool:
    try:
        evaluator(centred)(a, "closed")
    except ConvexNoveltyError:
        return False
    return True


def _gauge_gap(recipe: Any, center: Any, centred: Any, moments: Moments, worst: list[Worst]) -> float:
    """How far members are from sets that are just large enough by the gauge: worst ones, and what each part of a pair makes of them."""
    alone, size = recipe.centred(center), float(recipe.numbers()[recipe.grows_by])
    centres = parts_of(centred.center)
    gaps = []
    for member in _moved(centres, worst):
        beside = (np.asarray(moments.covariance),) if isinstance(recipe, MeanSet) and len(member) == 1 else ()
        told = float(alone.gauge(*member, *beside))
        if not 0 <= told <= size * (1 + ABOVE):
            raise InputError(f"a member of the set of size {size:.6g} has the gauge {told:.6g}")
        if told >= size * (1 - BELOW) and len(centres) == 1:
            continue  # the set of this size holds it, and a smaller one, whose worst case is not as bad, does not
        apart = apart_from(recipe, told * (1 + ABOVE) + 1e-6 * size, member, moments, center)
        if not math.isfinite(apart) or apart > HELD:
            raise InputError(f"the gauge of a member is {told:.6g}, and the set of that size does not hold it")
        gaps.append(apart)
    return largest(gaps)


def _moved(centres: tuple[Array, ...], worst: list[Worst]) -> Iterator[tuple[Array, ...]]:
    """The worst members; of pairs, those in which one part alone is moved, as far as the other allows."""
    for found in worst:
        steps = [without_dust(b - c) for b, c in zip(parts_of(found.member), centres, strict=True)]
        if len(steps) == 1:
            yield (centres[0] + steps[0],)
            continue
        for k in range(len(steps)):
            yield tuple(c + (s if j == k else 0.0) for j, (c, s) in enumerate(zip(centres, steps, strict=True)))
