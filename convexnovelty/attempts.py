"""The attempts at one program: solver after solver, until the point of one is shown to be a solution.

What a solver says of its own point is not taken: the optimality residuals are computed again, in the program's units
and in a scale of its own.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.canonical import Canonical
from convexnovelty.conic import ConicProgram, Residuals
from convexnovelty.errors import InputError, is_panic
from convexnovelty.quadratic_forms import in_squares
from convexnovelty.solution import Attempt

__all__ = ["DOUBTFUL", "KNOWN", "OPEN", "RESCALED", "TOLD", "Attempts", "Rung", "cone_class"]

# A point whose recomputed optimality residual is larger than this is not a solution, whatever the status says.
RESIDUAL_LIMIT = 1e-4
# A point of the rescaled program is solved for there, and has to be better than that in the units in which it was posed.
RESCALED_LIMIT = 1e-6
# What the residuals of a point may change of the value, as a share of it, before tighter tolerances and another scale are tried.
COARSE = 1e-7
SHARP = 1e-12  # the tolerance that is asked for then
KNOWN = 1e-6  # the share beyond which a program whose numbers were set is made anew
TOLD = 1e-5  # the share of Clarabel's value that is worth a warning: to first order, more is charged than is changed
DOUBTFUL = 1e-4  # the share of that of other solvers
SHARE = "its residuals may change the value by a share of {:.0e}"
UNTOLD = "its residuals do not tell the value from zero"
TOLERANCES = 3  # with which Clarabel tries the program as it was posed
# Times what its residuals may change of a value, up to which it is not told from zero: they are charged to first order only.
OPEN = 4.0
# The option under which an attempt is recorded that hands the solver the program in another scale, and what it is where that has
# variables in units of their cost.
RESCALED = "rescaled"
BY_COST = "by cost"
GAP = 1e-9  # share of the value within which a search for whole numbers ends
UNCLOSED = "its search for whole numbers ends at a gap of its own, 1e-4 of the value with most solvers"
UNSHOWN = "its interface shows no multipliers: that its point is optimal is the solver's word"

Rung = tuple[str, Mapping[str, Any]]  # a solver and its options


# CVXPY's names of the cones that are more than second-order ones.
CONES = {"PSD": "semidefinite", "ExpCone": "exponential", "PowCone3D": "power", "PowConeND": "power"}


class Attempts:
    """How a problem is tried, with what is found once for all of its solves: its compiled form and its cones.

    A point that its solver calls inaccurate counts where no residual, as posed or in scale, exceeds ``inaccurate``. Where ``sized``
    are the variables that are of size one, others are given units in which points are judged.
    """

    def __init__(self, problem: cp.Problem, inaccurate: float = 0.0, sized: Sequence[cp.Variable] = ()) -> None:
        self.problem = problem
        self.sized = sized
        self._inaccurate = inaccurate
        self.compilations = 0
        self._compiled: Any = None
        self._squared: cp.Problem | None = None
        self._cones: set[str] | None = None
        self._quadratic = False
        self._order = 0
        self._answer: tuple[Any, ...] = ()
        self._share = self._error = 0.0
        self.height: float | None = None  # the size of the objective in the program's own scale, once it is compiled

    def rungs(self, solver: str | None) -> Sequence[Rung]:
        """What is tried, by the solver's name or by the cones alone, which are found once."""
        default = solvers.DEFAULT_SOLVER
        if self.problem.is_mixed_integer():
            return solvers.whole(solver or self._taker(), GAP)
        if solver not in (None, default):
            return solvers.ladder(solver or default)
        if self._cones is None:
            data, _, _ = solvers.compiled(self.problem, default)
            dims = data["dims"]
            self._quadratic = quadratic = data.get("P") is not None and data["P"].nnz > 0
            cones = {"SOCP": dims.soc, "SDP": dims.psd, "EXP": dims.exp, "POW": list(dims.p3d) + list(dims.pnd)}
            self._cones = {kind for kind, there in cones.items() if there} or ({"QP"} if quadratic else {"LP"})
            self._order = max(dims.psd, default=0)
        plan = solvers.ladder(solver, self._order) if solver else solvers.fallbacks(self._cones, self._order)
        return _with_rescaled(plan, self._scales)

    @property
    def _scales(self) -> list[Mapping[str, Any]]:
        """The options of other scales in which the program is tried."""
        return [{RESCALED: True}, {RESCALED: BY_COST}] if self._quadratic else [{RESCALED: True}]

    def _taker(self) -> str:
        """The solver that is asked for whole numbers where none is named. Raises InputError where there is none."""
        takers = solvers.takers(self.problem)
        asked = [name for name in takers if name in solvers.WHOLE]
        if asked:
            return asked[0]
        able = [name for name in solvers.able(_cones_of_whole(self.problem)) if name not in takers]
        ways = [f"name {' or '.join(takers)}"] * bool(takers) + [f"install one of {', '.join(able)}"] * bool(able)
        raise InputError(
            f"solver: no installed one that is asked for whole numbers unnamed takes a {cone_class(self.problem)}; "
            f"{', or '.join(ways) or 'CVXPY calls none that does, so write it with other cones'}"
        )

    def climb(self, rungs: Sequence[Rung], attempts: list[Attempt], timing: dict[str, float]) -> Residuals | None:
        """The residuals of the first point that counts, or None; each attempt is noted in ``attempts``."""
        for solver, rung in rungs:
            point = self._attempt(solver, rung, attempts, timing)
            if point is not None:
                # Options of the user's own are all that is tried.
                return self._sharper(solver, rung, point, attempts, timing) if len(rungs) > 1 else point
            self._clear()
            if attempts[-1].status in (cp.INFEASIBLE, cp.UNBOUNDED) and not attempts[-1].doubtful:
                break
        return None

    def with_second_word(self, attempts: Sequence[Attempt]) -> Sequence[Attempt]:
        """The attempts, and after another solver's claim without a proof those of the default one, which shows what it says."""
        last = attempts[-1]
        if not last.doubtful or last.solver == solvers.DEFAULT_SOLVER or self.problem.is_mixed_integer():
            return attempts
        more: list[Attempt] = []
        if self.climb(self.rungs(solvers.DEFAULT_SOLVER), more, {}) is not None:
            self._clear()
            more[-1] = replace(more[-1], remark="it has an optimum")
        return [*attempts, *more]

    def _clear(self) -> None:
        """Leave nothing in the variables that somebody could take for a solution, and no NaN, which would stop the next compilation."""
        for variable in self.problem.variables():
            variable.save_value(None)

    @property
    def share(self) -> float:
        """What the residuals of the last point may change of the value, as a share of it.

        A value that is not told from zero has no share, which is 0 then, and is what many a program ends with: a small one,
        beside the coefficients of the program and in its own scale, whichever of the two has the larger unit.
        """
        told = self._share < 1.0 or DOUBTFUL < self._error < np.inf
        return self._share if told and self._share < np.inf else 0.0

    @property
    def told(self) -> bool:
        """Whether the residuals of the last point tell the value from zero."""
        return self._share < 1.0

    def _sharper(
        self,
        solver: str,
        options: Mapping[str, Any],
        point: Residuals,
        attempts: list[Attempt],
        timing: dict[str, float],
    ) -> Residuals:
        """The point of an attempt that counts, or a better one to tighter tolerances or of the program in scale.

        Tolerances are absolute. Where the value is small beside the coefficients, as where a few of many points are far
        from the rest, residuals that are small say little of its digits.
        """
        best, answer, share, error = point, self._answer, self._share, self._error
        if not COARSE < share < np.inf:
            return point
        if solver != solvers.DEFAULT_SOLVER or options.get(RESCALED):
            return point
        noted = attempts.pop()
        tight = {name: min(SHARP, float(options.get(name, SHARP))) for name in solvers.GAPS}
        for more in ({}, *self._scales):
            found = self._attempt(solver, {**options, **tight, **more}, attempts, timing)
            if found is None:
                continue
            said = attempts.pop()
            if self._share < share:
                said, noted = noted, said
                best, answer, share, error = found, self._answer, self._share, self._error
            attempts.append(said)
            if share <= COARSE:
                break
        attempts.append(noted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            self._unpack(*answer)
        self._share, self._error = share, error
        return best

    def _posed(self, solver: str, options: Mapping[str, Any]) -> cp.Problem:
        """The problem as a solver gets it: for one that takes cones alone CVXPY would leave directions of a quadratic objective out."""
        if solvers.takes_quadratics(solver) and options.get("use_quad_obj", True):
            return self.problem
        if self._squared is None:
            goal = self.problem.objective
            squared = in_squares(goal.expr)
            same = squared is goal.expr
            self._squared = self.problem if same else cp.Problem(type(goal)(squared), self.problem.constraints)
        return self._squared

    def _unpack(self, problem: cp.Problem, raw: Any, chain: Any, inverse: Any) -> None:
        """Give the variables what a solver has found of the problem as it was posed."""
        problem.unpack_results(raw, chain, inverse)
        if problem is not self.problem:
            self.problem.unpack(problem.solution)

    def _attempt(
        self, solver: str, options: Mapping[str, Any], attempts: list[Attempt], timing: dict[str, float]
    ) -> Residuals | None:
        """One call of the solver; the residuals of the point, or None with the reason noted in ``attempts``."""
        started = time.perf_counter()
        given = {name: value for name, value in options.items() if name != RESCALED}
        problem = self._posed(solver, given)
        try:
            data, chain, inverse = solvers.compiled(problem, solver, given)
        except cp.SolverError as error:
            # CVXPY says so before any solve, with an error of its own kind.
            kind = cone_class(self.problem)
            raise InputError(f"solver: {solver} does not take a {kind} ({error}); name another one") from error
        timing["compile"] = time.perf_counter() - started
        if data.get("param_prob") is not self._compiled or self._compiled is None:
            self._compiled = data.get("param_prob", data)
            self.compilations += 1
        started = time.perf_counter()
        canonical = Canonical.of(data, solver, self.sized, chain)
        in_scale = None if canonical is None else canonical.in_scale
        try:
            if options.get(RESCALED) and in_scale is not None:
                raw = in_scale.solve(given, options[RESCALED] == BY_COST)
            else:
                # A warm start would make the digits depend on what was solved before.
                raw = chain.solve_via_data(problem, data, warm_start=False, verbose=False, solver_opts=dict(given))
            with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
                # CVXPY warns of an inaccurate point; here the status and the residuals decide.
                warnings.simplefilter("ignore", UserWarning)
                self._unpack(problem, raw, chain, inverse)
            status = str(self.problem.status)
        except BaseException as error:  # solvers raise kinds of their own (mosek.Error, pydantic's, a panic of Rust)
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            if isinstance(error, (TypeError, ValueError)) and any(
                word in str(error).lower() for word in ("option", "setting", "keyword argument")
            ):
                raise InputError(f"options of {solver}: {error}") from error
            attempts.append(Attempt(solver, options, "failed", f"{type(error).__name__}: {error}"))
            return None
        finally:
            timing["solve"] = time.perf_counter() - started
        rough = status == cp.OPTIMAL_INACCURATE and self._inaccurate > 0.0
        if status != cp.OPTIMAL and not rough:
            doubt = _doubt(status, raw, canonical)
            attempts.append(
                Attempt(solver, options, status, f"the solver ended with status {status}{doubt}", bool(doubt))
            )
            return None
        # Where an interface hides its canonical point, what the model itself shows is measured instead.
        point = None if canonical is None else canonical.point(raw, chain.solver, inverse[-1])
        self._answer, self._share, self._error = (problem, raw, chain, inverse), 0.0, 0.0
        remark = ""
        if in_scale is None or point is None:
            residuals, worst, where = Residuals.of_model(self.problem), 0.0, ""
            remark = UNSHOWN if not self.problem.is_mixed_integer() else "" if _closes(solver, options) else UNCLOSED
        else:
            seen = in_scale.seen(raw, *point)
            residuals, scaled = in_scale.program.residuals(*point), in_scale.residuals(*point, seen)
            worst, where = scaled.worst, " in the program's own scale"
            if in_scale.in_units:
                # As it was posed, the multiplier of what is small is large, and nothing of it is known there.
                residuals = replace(scaled, absolute=residuals.absolute)
            self.height = in_scale.height
            self._share, self._error = in_scale.value_share(*point, seen), in_scale.value_error(*point, seen)
            residuals = replace(residuals, absolute={**residuals.absolute, "value": in_scale.charge(*point, seen)})
        if residuals.worst > worst or np.isnan(residuals.worst):
            worst, where = residuals.worst, ""
        limit = RESCALED_LIMIT if options.get(RESCALED) else RESIDUAL_LIMIT
        if not worst <= (min(limit, self._inaccurate) if rough else limit) or (rough and point is None):
            attempts.append(
                Attempt(solver, options, status, f"the worst optimality residual of its point is {worst:.1e}{where}")
            )
            return None
        if self._share > COARSE:
            remark = _said(self._share)
        attempts.append(Attempt(solver, options, status, remark))
        return residuals


def _closes(solver: str, options: Mapping[str, Any]) -> bool:
    """Whether a search for whole numbers ends at no distance from the best value, or at one that is asked for."""
    return all(
        _names(key, value) <= _names(key, options.get(key)) for key, value in solvers.profile(solver).gap(GAP).items()
    )


def _names(key: str, value: Any) -> set[str]:
    return set() if value is None else set(value) if isinstance(value, Mapping) else {key}


def _with_rescaled(rungs: Sequence[Rung], scales: Sequence[Mapping[str, Any]]) -> Sequence[Rung]:
    """The plan with more attempts after Clarabel's own tolerances: the same question in other scales."""
    places = [k for k, (solver, _) in enumerate(rungs) if solver == solvers.DEFAULT_SOLVER][:TOLERANCES]
    if not places:
        return rungs
    (solver, options), last = rungs[places[0]], places[-1] + 1
    return [*rungs[:last], *((solver, {**options, **scale}) for scale in scales), *rungs[last:]]


def _doubt(status: str, raw: Any, canonical: Canonical | None) -> str:
    """What is wrong with a claim that a program has no optimum; nothing where it is proved, or none is made.

    A search for whole numbers has no certificate that a program is infeasible. That it is unbounded has to be shown.
    """
    ray = None if canonical is None else canonical.ray(raw)
    if canonical is None or ray is None:
        claims = (cp.UNBOUNDED,) if canonical is None else (cp.UNBOUNDED, cp.INFEASIBLE)
        return ", of which it shows no certificate" if status in claims else ""
    proved = {cp.INFEASIBLE: lambda: canonical.in_scale.proves_infeasible(ray[1])}
    proved[cp.UNBOUNDED] = lambda: canonical.in_scale.proves_unbounded(ray[0])
    return "" if status not in proved or proved[status]() else ", which its certificate does not prove"


def cone_class(problem: cp.Problem) -> str:
    """The smallest class of the ladder LP < QP < QCQP < SOCP < SDP that holds the problem, or EXP, POW."""
    prefix = "MI" if problem.is_mixed_integer() else ""
    if prefix:
        cones = {CONES[name] for name in _cones_of_whole(problem)}
    else:
        cones = ConicProgram.from_problem(problem).cones.kinds
    if "power" in cones:
        return prefix + "POW"
    if "exponential" in cones:
        return prefix + ("EXP" if "semidefinite" not in cones else "SDP+EXP")
    if "semidefinite" in cones:
        return prefix + "SDP"
    if problem.is_lp():
        return prefix + "LP"
    if problem.is_qp():
        return prefix + "QP"
    quadratic = all(argument.is_quadratic() or argument.is_pwl() for c in problem.constraints for argument in c.args)
    if quadratic and problem.objective.expr.is_quadratic():
        return prefix + "QCQP"
    return prefix + "SOCP"


def _cones_of_whole(problem: cp.Problem) -> set[str]:
    """CVXPY's names of the cones in a program with whole numbers, which no solver that takes every cone takes."""
    from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr
    from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone

    height = cp.Variable()
    goal = problem.objective
    beside = goal.expr <= height if isinstance(goal, cp.Minimize) else height <= goal.expr
    posed = cp.Problem(cp.Minimize(0), [*problem.constraints, beside])
    for reduction in (CvxAttr2Constr(), Dcp2Cone()):
        posed, _ = reduction.apply(posed)
    return {type(constraint).__name__ for constraint in posed.constraints} & CONES.keys()


def _said(share: float) -> str:
    """The remark on a point whose residuals may change its value by a share of itself."""
    return SHARE.format(share) if share < 1.0 else UNTOLD
