r"""The contract of an uncertainty set, checked on numbers.

For a centred set and a direction three values must agree: the class's own counterpart, the counterpart derived from
its membership, and what an adversary reaches within the membership. The first two are bounds from above and the
third is reached by a member, so that an error in any one of them shows. The worst member must be a member; no sampled
member may exceed the value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty import uncertainty as sets
from convexnovelty.checking.report import Row
from convexnovelty.errors import ConvexNoveltyError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import Adversary, MomentSet, PointSet, UncertaintySet
from convexnovelty.validation import Array

__all__ = ["check_set", "contract_rows"]

KAPPA = 1.5
TOLERANCE = 1e-6
Evaluate = Callable[[Array, str], float]


def contract_rows(dimension: int = 3) -> list[Row]:
    """The contract of every set of the catalogue and of the user's files, on its own examples."""
    rows: list[Row] = []
    for kind in {**sets.catalogue(), **sets.users()}.values():
        for example in kind.examples():
            rows += check_set(example, dimension=dimension)
    return rows


def nominal(dimension: int, seed: int = 3) -> Moments:
    """Signed, correlated nominal moments."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((dimension, dimension)) / math.sqrt(dimension) + 0.5 * np.eye(dimension)
    return Moments(rng.standard_normal(dimension) + 1.0, mixing @ mixing.T)


def directions(dimension: int, seed: int = 5) -> list[Array]:
    """Signed random directions, an axis, and one with zeros: positive random numbers would let faults pass."""
    rng = np.random.default_rng(seed)
    axis = np.zeros(dimension)
    axis[-1] = -1.0
    return [rng.standard_normal(dimension), -rng.standard_normal(dimension) * 10.0, axis]


def check_set(
    recipe: UncertaintySet,
    *,
    moments: Moments | None = None,
    dimension: int = 3,
    tolerance: float = TOLERANCE,
    seed: int = 5,
) -> list[Row]:
    """Rows for one set: closed form against derived, derived against adversary, membership of the worst member, samples.

    Parameters
    ----------
    recipe : the set, not yet centred.
    moments : nominal moments; signed random ones of the given dimension by default.
    tolerance : relative, for two conic programs that state the same number.
    """
    if isinstance(recipe, PointSet) and recipe.size is not None:
        dimension = recipe.size
    moments = moments or nominal(dimension)
    began = time.perf_counter()
    try:
        centred: UncertaintySet = _joint(recipe).centred(  # type: ignore[attr-defined]
            np.zeros(moments.dimension) if isinstance(recipe, PointSet) else moments
        )
        found = [_at(centred, a) for a in directions(moments.dimension, seed)]
    except ConvexNoveltyError as error:
        return [
            _row(
                recipe,
                "membership",
                "counterpart",
                "the set can be used",
                math.nan,
                tolerance,
                0.0,
                f"{type(error).__name__}: {error}",
            )
        ]
    seconds = (time.perf_counter() - began) / 3
    derived_gap = max(abs(f["derived"] - f["adversary"]) / f["scale"] for f in found)
    rows = [
        _row(
            recipe,
            "adversary",
            "derived counterpart",
            "no member does worse than the derived counterpart, and one does as badly",
            derived_gap,
            tolerance,
            seconds,
        )
    ]
    closed = [f for f in found if not math.isnan(f["closed"])]
    if closed and recipe.exactness == "exact":
        gap = max(abs(f["closed"] - f["derived"]) / f["scale"] for f in closed)
        rows.append(
            _row(recipe, "closed form", "derived counterpart", "the closed form is exact", gap, tolerance, seconds)
        )
    elif closed:
        gap = max(max(0.0, f["derived"] - f["closed"]) / f["scale"] for f in closed)
        rows.append(
            _row(
                recipe, "closed form", "derived counterpart", "the closed form is never below", gap, tolerance, seconds
            )
        )
    if isinstance(centred, MomentSet):
        gaps = [_deviation_gap(centred, a) for a in directions(moments.dimension, seed)]
        rows.append(
            _row(
                recipe,
                "worst deviation",
                "adversary",
                "the counterpart of the deviation alone is exact",
                max(gaps),
                tolerance,
                0.0,
            )
        )
    members = max(f["distance"] for f in found)
    if not math.isnan(members):
        rows.append(
            _row(
                recipe,
                "worst member",
                "membership",
                "the worst member is a member",
                members,
                max(tolerance, 1e-5),
                seconds,
            )
        )
        attained = max(abs(f["attained"] - f["adversary"]) / f["scale"] for f in found)
        if recipe.exactness == "exact":
            rows.append(
                _row(
                    recipe,
                    "worst member",
                    "adversary",
                    "the worst member attains the worst case",
                    attained,
                    tolerance,
                    seconds,
                )
            )
    excess = _sampled_excess(centred, found, directions(moments.dimension, seed), seed)
    if not math.isnan(excess):
        rows.append(
            _row(
                recipe,
                "samples",
                "derived counterpart",
                "no sampled member exceeds the value",
                max(0.0, excess),
                tolerance,
                seconds,
            )
        )
    return rows


def _deviation_gap(joint: MomentSet, a: Array) -> float:
    """The class's worst standard deviation (closed form if it has one) against the adversary's."""
    value, reached = sets.evaluate_deviation(joint, a), Adversary(joint).deviation(a).value
    gap = (value - reached) / max(abs(value), abs(reached), 1e-12)
    return abs(gap) if joint.exactness == "exact" else max(0.0, -gap)


def _evaluator(centred: UncertaintySet) -> Evaluate:
    if centred.family in ("points", "mean"):
        return lambda a, route: sets.evaluate_support(centred, a, route)  # type: ignore[arg-type]
    if centred.family == "covariance":
        return lambda a, route: sets.evaluate_deviation(centred, a, route)  # type: ignore[arg-type]
    return lambda a, route: sets.evaluate_loss(centred, a, KAPPA, route)  # type: ignore[arg-type]


def _joint(recipe: UncertaintySet) -> UncertaintySet:
    """A mean set that depends on the covariance is met together with the nominal covariance."""
    return sets.as_moment_set(recipe) if getattr(recipe, "uses_covariance", False) else recipe


def _value(joint: UncertaintySet, member: Any, a: Array) -> float:
    """What a member does to the direction."""
    if isinstance(joint, MomentSet):
        m, S = member
        return float(a @ m + KAPPA * math.sqrt(max(float(a @ S @ a), 0.0)))
    if joint.family == "covariance":
        return math.sqrt(max(float(a @ member @ a), 0.0))
    return float(a @ member)


def _at(centred: UncertaintySet, a: Array) -> dict[str, float]:
    evaluate = _evaluator(centred)
    derived = evaluate(a, "derived")
    worst = Adversary(centred)(a, KAPPA)
    # A worst case of zero has no digits of its own: the size of the members gives the unit.
    size = float(np.linalg.norm(worst.member)) if centred.family == "points" else float(centred.unit)  # type: ignore[attr-defined]
    scale = max(abs(derived), abs(worst.value), 1e-3 * float(np.linalg.norm(a)) * size, 1e-300)
    try:
        closed = evaluate(a, "closed")
    except ConvexNoveltyError:
        closed = math.nan
    member = sets.worst_member(centred, a, KAPPA)
    return {
        "derived": derived,
        "adversary": worst.value,
        "closed": closed,
        "scale": scale,
        "attained": _value(centred, member, a),
        "distance": _distance(centred, member),
    }


def _distance(joint: UncertaintySet, member: Any) -> float:
    if isinstance(joint, MomentSet):
        flat = np.concatenate([member[0], sets.svec(member[1])])
    else:
        flat = sets.svec(member) if joint.family == "covariance" else np.asarray(member)
    return sets.membership_of(joint).distance(flat)


def _sampled_excess(centred: UncertaintySet, found: list[dict[str, float]], tried: list[Array], seed: int) -> float:
    rng = np.random.default_rng(seed)
    worst = math.nan
    for _ in range(20):
        member = centred.sample(rng)  # type: ignore[attr-defined]
        if member is None:
            return math.nan
        for a, f in zip(tried, found, strict=True):
            worst = np.fmax(worst, (_value(centred, member, a) - f["derived"]) / f["scale"])
    return float(worst)


def _row(
    recipe: UncertaintySet,
    source: str,
    target: str,
    claim: str,
    gap: float,
    tolerance: float,
    seconds: float,
    reason: str = "",
) -> Row:
    holds = gap <= tolerance and not reason
    return Row(
        method="uncertainty sets",
        instance=repr(recipe),
        source=source,
        target=target,
        claim=claim,
        equation=recipe.source or "the user's own membership",
        relation="=",
        reference="adversary" if "adversary" in (source, target) else "formulation",
        verdict="pass" if holds else "fail",
        objective_gap=gap,
        seconds=seconds,
        tolerance=tolerance,
        reason="" if holds else (reason or f"gap {gap:.1e} exceeds {tolerance:.0e}"),
    )
