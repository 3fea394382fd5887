r"""The checker: solve every node that an instance admits, walk the arrows, and say which hold.

For each step the source's objective is mapped and held against the target's, decision values are compared at probe
points, the mapped solution is tried in the target's own constraints, and the optimality residuals of both ends are
recomputed. For every formulation the conic dual is built and solved as a further, weaker, reference.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from convexnovelty import derivation, solvers
from convexnovelty.attempts import OPEN
from convexnovelty.checking.gaps import finite_or_infinite, largest
from convexnovelty.checking.report import Report, Row
from convexnovelty.class_regions import ClassRegions
from convexnovelty.codebooks import Codebook
from convexnovelty.declare import Claim, Instance, Method, Node, Property, Step, call
from convexnovelty.errors import InfeasibleError, InputError, SolverError, UnboundedError
from convexnovelty.formulation import Formulation, Solution
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Ball, HalfSpace, Region
from convexnovelty.uncertainty import UncertaintySet
from convexnovelty.validation import nonnegative
from convexnovelty.whitening import as_points, column_sizes

__all__ = ["Standard", "check", "check_instance", "claim_row", "probe_points", "report_of_claims", "standard_of"]

RESIDUAL_TOLERANCE = 1e-6
# Gaps of objectives are relative to the larger of the two, down to this share of the formulation's own unit.
SMALLEST_SCALE = 1e-6


@dataclass(frozen=True)
class _Answer:
    """What a node gave on an instance: a solution, or why there is none."""

    node: Node
    solution: Solution | None = None
    formulation: Formulation | None = None
    seconds: float = 0.0
    refusal: str = ""
    error: str = ""
    without: Literal["", "infeasible", "unbounded"] = ""  # which of both, where there is no optimum


@dataclass(frozen=True)
class Standard:
    """What rows are held to, given the solver."""

    solver: str
    accuracy: float
    tolerance: float | None

    def objective(self, step_tolerance: float) -> float:
        return max(self.tolerance if self.tolerance is not None else step_tolerance, self.accuracy)

    def decision(self, step_tolerance: float) -> float:
        # An error e in the objective of a strongly convex program is an error of the order sqrt(e) in its solution.
        return max(step_tolerance, math.sqrt(self.accuracy) if self.accuracy > 1e-7 else 0.0)

    @property
    def residual(self) -> float:
        return max(RESIDUAL_TOLERANCE, self.accuracy)


def standard_of(profile: solvers.SolverProfile, tolerance: float | None = None) -> Standard:
    """What rows are held to when this solver computes them."""
    return Standard(profile.name, profile.accuracy, tolerance)


def check(
    subject: Formulation | Instance | str | None = None,
    *,
    solver: str | None = None,
    tolerance: float | None = None,
    full: bool = False,
    loaded: bool = False,
    executor: Executor | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Check every equivalent that exists.

    Parameters
    ----------
    subject : a formulation made by a factory (all nodes are solved on its arguments, and a set that is not of the
        catalogue has its whole contract checked, a tail that is not its laws), an instance, the name of a method (all its instances, and one around
        each set that it takes), or None for the whole catalogue, with the contract of every set.
    solver : name of the solver; Clarabel by default.
    tolerance : relative tolerance of objectives, in place of each step's own; never below the solver's accuracy.
    full : try every set in every method that takes it, by default in one method of each family, and for sets of the
        catalogue also what their classes state beside membership and counterpart.
    loaded : check only what the user's loaded files define: their sets, by their contracts and in the named method or
        those that show their families, and their methods.
    executor : runs the catalogue's pieces, a ``concurrent.futures`` executor of any kind; in this process by default.
    progress : called with a line before each piece of the catalogue, such as "3 of 40: uncertainty sets: NormBall".

    Returns
    -------
    A report with ``passed`` and ``rows``.
    """
    from convexnovelty.checking.catalogue import pieces, pieces_of_files, run_pieces
    from convexnovelty.checking.contract import rows_of_users_sets
    from convexnovelty.checking.tail_laws import rows_of_users_tails

    if tolerance is not None:
        tolerance = nonnegative(tolerance, "tolerance")
    profile = solvers.profile(solver)
    began = time.perf_counter()
    if subject is None or isinstance(subject, str):
        work = pieces_of_files(subject, full=full) if loaded else pieces(subject, full=full)
        rows = run_pieces(work, profile.name, tolerance, executor=executor, progress=progress)
    else:
        owner, instance = _subject(subject)
        rows = check_instance(owner, instance, standard_of(profile, tolerance))
        rows += rows_of_users_sets(instance, owner) + rows_of_users_tails(instance)
    return Report(rows, solver=profile.name, seconds=time.perf_counter() - began)


def _subject(subject: Formulation | Instance) -> tuple[Method, Instance]:
    if isinstance(subject, Instance):
        return derivation.method(subject.method), subject
    if not isinstance(subject, Formulation):
        raise InputError(
            f"check: {type(subject).__name__} was found; give a formulation, an instance or the name of a method"
        )
    if subject.recipe is None or not subject.recipe.method:
        raise InputError(
            "check: this formulation was not made by a method's factory alone, so no equivalent of it is known"
        )
    recipe = subject.recipe
    return derivation.method(recipe.method), Instance(
        subject.name, recipe.derived or recipe.arguments, method=recipe.method
    )


def check_instance(
    owner: Method, instance: Instance, standard: Standard, steps: Iterable[Step] | None = None
) -> list[Row]:
    """The rows of one method on one instance; with ``steps`` only those arrows, and no duals or theorems."""
    answers: dict[str, _Answer] = {}

    def answer(end: str) -> _Answer:
        if end not in answers:
            answers[end] = _answer(_node(owner, end), instance, standard.solver)
        return answers[end]

    chosen = owner.steps if steps is None else list(steps)
    rows = [
        _row(owner, step, instance, answer(step.source_node), answer(step.target_node), standard) for step in chosen
    ]
    if steps is not None:
        return rows
    rows += [
        _dual_row(owner, instance, a, standard)
        for name in owner.nodes
        if (a := answer(name)).formulation is not None and a.solution is not None
    ]
    for theorem in owner.properties:
        if (refusal := theorem.refusal(instance.arguments)) is not None:
            rows.append(_unfit(owner, instance, theorem, refusal))
            continue
        before, asked = len(rows), []
        for name in owner.nodes:
            if (solution := answer(name).solution) is not None:
                asked.append(name)
                try:
                    claims = call(theorem.function, instance.arguments, solution)
                except Exception as error:  # a theorem may ask a user's set, which raises whatever it raises
                    rows.append(
                        _failed(owner, instance, name, theorem.name, theorem.source, f"{type(error).__name__}: {error}")
                    )
                    continue
                rows += [
                    claim_row(owner.name, instance.name, name, theorem.name, claim, standard.accuracy)
                    for claim in claims
                ]
        if asked and len(rows) == before:
            reason = f"it claims nothing of the solutions of {', '.join(asked)}"
            rows.append(_unfit(owner, instance, theorem, reason))
    return rows


def _node(owner: Method, end: str) -> Node:
    if "/" not in end:
        return owner.nodes[end]
    other, _, short = end.partition("/")
    return derivation.method(other).nodes[short]


def _answer(node: Node, instance: Instance, solver: str) -> _Answer:
    began = time.perf_counter()
    try:
        if (refusal := node.refusal(instance.arguments)) is not None:
            return _Answer(node, refusal=refusal)
        made = call(node.function, instance.arguments)
        formulation = made if isinstance(made, Formulation) else None
        solution = made.solve(solver) if isinstance(made, Formulation) else made
    except Exception as error:  # a node of a user's method raises whatever it raises, and the others are checked
        if node.kind == "other library" and type(error) is SolverError:
            return _Answer(node, refusal=f"the other library has no answer: {error}")
        return _Answer(
            node,
            seconds=time.perf_counter() - began,
            error=f"{type(error).__name__}: {error}",
            without=_kind(error),
        )
    return _Answer(node, solution, formulation, time.perf_counter() - began)


def _kind(error: Exception) -> Literal["", "infeasible", "unbounded"]:
    if isinstance(error, InfeasibleError):
        return "infeasible"
    return "unbounded" if isinstance(error, UnboundedError) else ""


def _turns(step: Step, instance: Instance) -> bool:
    """Whether a step maps larger values to smaller ones, as one between a program and its dual does."""
    if step.objective is None:
        return False
    return bool(call(step.objective, instance.arguments, 2.0) < call(step.objective, instance.arguments, 1.0))


def _row(owner: Method, step: Step, instance: Instance, source: _Answer, target: _Answer, standard: Standard) -> Row:
    if step.bound is not None and _is_conservative(instance):
        step = replace(
            step, relation=step.bound, decision="a bound on the objective says nothing of the region", values=None
        )
    tolerance, decision = standard.objective(step.tolerance), standard.decision(step.decision_tolerance)
    base: dict[str, Any] = {
        "method": owner.name,
        "instance": instance.name,
        "source": step.source_node,
        "target": step.target_node,
        "claim": step.claim,
        "equation": step.equation,
        "relation": step.relation,
        "reference": step.reference,
        "seconds": source.seconds + target.seconds,
        "tolerance": tolerance,
        "decision_tolerance": decision,
    }
    refusal = step.refusal(instance.arguments) or source.refusal or target.refusal
    if refusal:
        return Row(**base, verdict="not checked", reason=refusal)
    if source.without and target.without and (source.without == target.without or _turns(step, instance)):
        ends = f"both ends are {target.without}" if source.without == target.without else "a program and its dual"
        return Row(**base, verdict="not checked", reason=f"{ends}: {target.error}")
    if source.solution is None or target.solution is None:
        return Row(**base, verdict="fail", reason="; ".join(filter(None, (source.error, target.error))))
    try:
        expected = (
            call(step.objective, instance.arguments, source.solution.objective)
            if step.objective
            else source.solution.objective
        )
        unit = abs(target.formulation.objective_unit) if target.formulation is not None else 1.0
        mapping = step.objective or (lambda value: value)
        missed = abs(call(mapping, instance.arguments, source.solution.objective + _missed(source)) - expected)
        both = _is_zero(source, expected, _missed(target), missed) and _is_zero(
            target, target.solution.objective, missed
        )
        least = 1.0 if both else SMALLEST_SCALE
        smallest = least * unit
        if both and step.at_zero:
            step = replace(step, decision=step.at_zero)
        if both and source.formulation is not None:
            # Either end's zero is one in its own unit: a difference of large numbers leaves what rounding does to them.
            away = source.solution.objective + abs(source.formulation.objective_unit)
            smallest = max(smallest, abs(call(mapping, instance.arguments, away) - expected))
        doubt = call(step.doubt, instance.arguments, source.solution) if step.doubt else 0.0
        found = target.solution.objective
        objective = _objective_gap(expected, found, step.relation, smallest, doubt)
        # An end without multipliers is as far from the optimum as from the other end, and that one's miss, at most.
        apart = abs(expected - found) + 2 * max(missed, _missed(target))
        zero = max(TIE_TOLERANCE, standard.accuracy)
        difference, remark = _decision_gap(step, instance, source.solution, target.solution, apart, zero)
        mapped, violation = _mapped_gap(step, instance, source.solution, target, least, doubt)
    except Exception as error:  # maps of a step raise whatever they raise
        return Row(**base, verdict="fail", reason=f"{type(error).__name__}: {error}")
    residual = _residual(source.solution, target.solution)
    broken = [
        f"{what} {gap:.1e} exceeds {limit:.0e}" + (", since a number is not finite" if math.isinf(gap) else "")
        for what, gap, limit in (
            ("objective gap", objective, tolerance),
            ("decision gap", difference, decision),
            ("objective of the mapped solution is off by", mapped, decision),
            ("violation by the mapped solution", violation, decision),
            ("KKT residual", residual, standard.residual),
        )
        if not math.isnan(gap) and not gap <= limit
    ]
    return Row(
        **base,
        verdict="fail" if broken else "pass",
        objective_gap=objective,
        decision_gap=difference,
        mapped_gap=np.fmax(mapped, violation),
        residual=residual,
        reason="; ".join(broken) or remark,
    )


def _is_conservative(instance: Instance) -> bool:
    """Whether an uncertainty set of the instance only bounds its worst case."""
    given = [
        part for value in instance.arguments.values() for part in (value if isinstance(value, tuple) else (value,))
    ]
    return any(isinstance(part, UncertaintySet) and part.exactness == "conservative" for part in given)


def _is_zero(answer: _Answer, value: float | None = None, beside: float = 0.0, missed: float | None = None) -> bool:
    """Whether the value of an optimum is not told from zero by the residuals of its own point.

    Such values are noise, and have no relative gap: they are compared in the program's unit. ``value`` is what a step makes of it,
    of which the residuals leave ``missed`` open: a difference of two that are equal is noise, too. A point without multipliers has
    no residuals; its value is noise where the other end, which leaves ``beside`` of the optimum open, could not tell it.
    """
    solution = answer.solution
    known = solution.objective if value is None and solution is not None else value
    if known is None or solution is None or solution.residuals is None or answer.formulation is None:
        return known is not None and abs(known) <= OPEN * beside
    return abs(known) <= OPEN * (_missed(answer) if missed is None else missed)


def _missed(answer: _Answer) -> float:
    """What the residuals of a solver's point may change of its value."""
    if answer.solution is None or answer.formulation is None:
        return 0.0
    return _left_open(answer.solution, answer.formulation)


def _left_open(solution: Solution, formulation: Formulation) -> float:
    """What the residuals of a point may change of its value: all of them, or their gap where no more is known."""
    if solution.residuals is None:
        return 0.0
    found = solution.residuals.absolute
    return abs(formulation.objective_unit) * float(found.get("value", found.get("gap", 0.0)))


def _residual(*solutions: Solution) -> float:
    """The worst residual of some solutions; NaN where none of them has multipliers."""
    return largest((s.residuals.worst for s in solutions if s.residuals is not None), default=math.nan)


def _objective_gap(expected: float, found: float, relation: str, least: float, doubt: float = 0.0) -> float:
    if not all(map(math.isfinite, (expected, found, doubt))):
        return math.inf
    scale = max(abs(expected), abs(found), least)
    difference = math.copysign(max(abs(expected - found) - doubt, 0.0), expected - found) / scale
    return {"=": abs(difference), "<=": max(0.0, difference), ">=": max(0.0, -difference)}[relation]


def _decision_gap(
    step: Step,
    instance: Instance,
    source: Solution,
    target: Solution,
    apart: float = 0.0,
    zero: float = TIE_TOLERANCE,
) -> tuple[float, str]:
    """Largest difference of decision values over the probe points, relative to their size, and a remark if any.

    ``apart`` is what the two values may miss of the optimum together: their difference, and what their residuals show.
    Where all points lie on both boundaries, decision values are what a solver leaves of their terms, up to the share ``zero``,
    and have no size of their own: they are compared in that of the terms.
    """
    if isinstance(step.decision, str):
        return math.nan, step.decision
    if source.region is None or target.region is None:
        return math.nan, ""
    several = None if step.several is None else call(step.several, instance.arguments, source, target)
    if several:
        return math.nan, several
    factor = call(step.decision, instance.arguments) if callable(step.decision) else step.decision
    probe = probe_points(instance)
    if probe is None:
        return math.nan, "no probe points"
    if not math.isfinite(factor):
        return math.inf, ""
    ours, theirs = (factor * source.region.decision_values(probe), target.region.decision_values(probe))
    sizes = np.array([np.abs(ours).max(), np.abs(theirs).max()])
    terms = np.array([abs(factor) * _terms(source.region, probe), _terms(target.region, probe)])
    scale = max(float((terms if (sizes <= zero * terms).all() else sizes).max()), np.finfo(float).tiny)
    if _loose(source, scale / max(abs(factor), 1e-300)) or _loose(target, scale):
        # The offset is an interval here and each end may have picked another point of it: shapes are compared.
        ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    # What rounding alone can do to a value is no difference: a function that is zero has no size of its own.
    noise = abs(factor) * source.region.rounding(probe) + target.region.rounding(probe)
    if step.known is not None:
        noise = noise + call(step.known, instance.arguments, apart)
    if not np.isfinite(noise).all():
        return math.inf, ""
    return finite_or_infinite(float(np.maximum(np.abs(ours - theirs) - noise, 0.0).max()) / scale), ""


def _terms(region: Region, probe: Any) -> float:
    """The size of the terms that a decision value is the difference of, wherever the origin lies; zero where it is unknown."""
    if isinstance(region, Ball):
        return region.squared_radius
    if isinstance(region, Codebook):
        return region.radius
    if isinstance(region, (HalfSpace, ClassRegions)):
        rows = as_points(probe, "probe")
        mean = np.asarray(rows.mean(axis=0)).ravel()
        sizes, far = column_sizes(rows, mean), np.abs(mean)
        # Points that are one and the same have no size about themselves.
        sizes = sizes if (sizes > ROUNDING * far).any() else far
        if isinstance(region, HalfSpace):
            return float(sizes @ np.abs(region.normal))
        return float((np.abs(region.normals) @ sizes / region.divisors).max())
    return 0.0


def _loose(solution: Solution, scale: float) -> bool:
    return solution.offset is not None and solution.offset.upper - solution.offset.lower > 1e-6 * scale


def probe_points(instance: Instance) -> Any:
    """Coordinates at which decision values are compared: the instance's own, the sample, or points around the mean."""
    if instance.probe is not None:
        return instance.probe
    if (features := instance.arguments.get("features")) is not None:
        return features.training
    if (moments := instance.arguments.get("moments")) is not None:
        spread = np.random.default_rng(0).standard_normal((50, moments.dimension))
        # Each column in its own size: at a length of the largest one a small one is a million deviations away.
        sizes = np.sqrt(moments.variances + moments.mean**2)
        return moments.mean + np.where(sizes > 0, sizes, moments.unit) * spread
    return None


def _mapped_gap(
    step: Step, instance: Instance, source: Solution, target: _Answer, least: float, doubt: float = 0.0
) -> tuple[float, float]:
    """Objective gap and violation of the source's solution, mapped, in the target's own program, beside what is in doubt of it."""
    if step.values is None or target.formulation is None or target.solution is None:
        return math.nan, math.nan
    given = call(step.values, instance.arguments, source)
    if isinstance(given, Mapping) and not given:
        letters = ", ".join(target.formulation.variables)
        raise InputError(
            f"values: the map gives no letter of {target.node.name}, which has {letters}; give what it has of them"
        )
    tried = target.formulation.evaluate(given)
    if tried is None:
        return math.nan, math.nan
    smallest = least * abs(target.formulation.objective_unit)
    return _objective_gap(tried[0], target.solution.objective, "=", smallest, doubt), tried[1]


def _dual_row(owner: Method, instance: Instance, answer: _Answer, standard: Standard) -> Row:
    """Strong duality of one formulation with the conic dual that is built from its compiled data."""
    tolerance = standard.objective(1e-6)
    base: dict[str, Any] = {
        "method": owner.name,
        "instance": instance.name,
        "source": answer.node.name,
        "target": "conic dual",
        "claim": "strong duality",
        "equation": answer.node.source,
        "relation": "=",
        "reference": "conic dual",
        "tolerance": tolerance,
    }
    formulation, solution = answer.formulation, answer.solution
    if formulation is None or solution is None:
        return Row(**base, verdict="fail", reason=answer.error)
    began = time.perf_counter()
    try:
        dual = formulation.dual().solve(standard.solver)
    except Exception as error:  # the compiled program is the user's, of which CVXPY may raise what it likes
        return Row(
            **base, verdict="fail", seconds=time.perf_counter() - began, reason=f"{type(error).__name__}: {error}"
        )
    both = all(abs(end.objective) <= OPEN * _left_open(end, formulation) for end in (solution, dual))
    least = (1.0 if both else SMALLEST_SCALE) * abs(formulation.objective_unit)
    gap = _objective_gap(dual.objective, solution.objective, "=", least)
    residual = _residual(dual, solution)
    broken = [f"objective gap {gap:.1e} exceeds {tolerance:.0e}"] if not gap <= tolerance else []
    if residual > standard.residual:
        broken.append(f"KKT residual {residual:.1e} exceeds {standard.residual:.0e}")
    return Row(
        **base,
        verdict="fail" if broken else "pass",
        objective_gap=gap,
        residual=residual,
        seconds=time.perf_counter() - began,
        reason="; ".join(broken),
    )


def claim_row(method: str, instance: str, subject: str, theorem: str, claim: Claim, accuracy: float = 0.0) -> Row:
    """A claim as a row of the report."""
    limit = max(claim.tolerance, accuracy if claim.tolerance >= 1e-9 and claim.relation == "=" else 0.0)
    holds = math.isfinite(claim.gap) and claim.gap <= limit
    return Row(
        method=method,
        instance=instance,
        source=subject,
        target=theorem,
        claim=claim.text,
        equation=claim.source,
        relation=claim.relation,
        reference=claim.kind,
        verdict="pass" if holds else "fail",
        objective_gap=max(0.0, finite_or_infinite(claim.gap)),
        tolerance=limit,
        theorem=True,
        reason="" if holds else f"computed {claim.computed:.10g} {claim.relation} {claim.reference:.10g} does not hold",
    )


def _unfit(owner: Method, instance: Instance, theorem: Property, reason: str) -> Row:
    base = (owner.name, instance.name, "solutions", theorem.name, "", theorem.source, "=", "theory")
    return Row(*base, "not checked", reason=reason)


def _failed(owner: Method, instance: Instance, source: str, target: str, equation: str, reason: str) -> Row:
    return Row(owner.name, instance.name, source, target, "", equation, "=", "theory", "fail", reason=reason)


def report_of_claims(title: str, claims: Mapping[str, Iterable[Claim]], *, solver: str = "") -> Report:
    """A report of claims alone, as the worked problems state them."""
    rows = [claim_row(title, name, "problem", claim.kind, claim) for name, some in claims.items() for claim in some]
    return Report(rows, solver=solver)
