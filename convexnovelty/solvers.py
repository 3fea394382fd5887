"""What is asked of each solver, and what may be expected of its answer: one table for the whole package.

A solve never leaves the choice of solver or of its tolerances to CVXPY, whose own defaults differ by problem
class and reach from 1e-8 down to 1e-5. ``ladder`` holds the option sets that are tried in turn, tightest first:
an interior-point method that stalls just short of 1e-10 is asked again for a little less before it is given up.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError

__all__ = [
    "DEFAULT_SOLVER",
    "SolverProfile",
    "admitted",
    "blocked",
    "check_options",
    "compiled",
    "fallbacks",
    "installed",
    "known",
    "ladder",
    "preferred",
    "profile",
    "takes_quadratics",
]

DEFAULT_SOLVER = "CLARABEL"
# Names the solver of every formulation that is solved without one: worked problems are run by a process of their own,
# which is told by it. Algorithms that call a solver for their own purposes go on choosing it themselves.
VARIABLE = "CONVEXNOVELTY_SOLVER"
# Order of a semidefinite cone beyond which a first-order method is asked first: an interior-point method factorises a
# matrix whose order grows with the square of it.
LARGE_SEMIDEFINITE = 50
# Order from which Clarabel's blocked factorisation is faster than its default one, which is made for sparse matrices.
BLOCKED_SEMIDEFINITE = 8
# What else Clarabel is told where it ends an order of magnitude before an optimum that lies on faces of semidefinite
# cones (shorter steps, then also less regularised systems), or breaks off at the first step (more regularised ones).
LAST_RESORTS: tuple[Mapping[str, float], ...] = (
    {"max_step_fraction": 0.9},
    {"static_regularization_constant": 1e-9, "max_step_fraction": 0.9},
    {"static_regularization_constant": 1e-7},
)
UNKNOWN_ACCURACY = 1e-4  # what is expected of a solver that the table does not know

Options = Mapping[str, Any]
Licence = Literal["permissive", "GPL", "commercial", "unknown"]


def _nothing(_: float) -> Options:
    return {}


@dataclass(frozen=True)
class SolverProfile:
    """Options and accuracy of one solver.

    Parameters
    ----------
    name : the name by which CVXPY knows the solver.
    ladder : option sets in the order in which they are tried.
    accuracy : relative error of the objective that a check has to allow when this solver computed it.
    package, licence : what pip calls it, and the kind of its licence.
    options : from a relative accuracy to the options that ask for it.
    tightest : the smallest accuracy that is worth asking for; below it the solver fails or gets worse.
    time_limit : from seconds to the options that set them as a limit; empty where the solver has none.
    gap : from a share of the value to the options that let no search for whole numbers end farther from the best value; empty
        where the solver ends at no distance by itself.
    iterations : the option that limits iterations.
    reads : for a solver that says nothing of options it does not know, those that it reads; else None.
    remark : what to know before its answers are used.
    """

    name: str
    ladder: tuple[Options, ...]
    accuracy: float
    package: str = ""
    licence: Licence = "unknown"
    options: Callable[[float], Options] = _nothing
    tightest: float = 1e-10
    time_limit: Callable[[float], Options] = _nothing
    gap: Callable[[float], Options] = _nothing
    iterations: str = ""
    reads: frozenset[str] | None = field(default=None, repr=False)
    remark: str = ""

    @property
    def extra(self) -> str:
        """The command that installs it."""
        return f"pip install {self.package}" if self.package else ""

    def asked(self, accuracy: float, seconds: float | None = None) -> dict[str, Any]:
        """The options for an accuracy, no tighter than is useful, and a time limit where there is one."""
        limit = self.time_limit(seconds) if seconds is not None else {}
        return {**self.options(max(accuracy, self.tightest)), **limit}


def _same(*names: str) -> Callable[[float], Options]:
    """One tolerance under several names."""
    return lambda tolerance: dict.fromkeys(names, tolerance)


def _inside(outer: str, *names: str) -> Callable[[float], Options]:
    """One number under several names inside of one option."""
    return lambda number: {outer: dict.fromkeys(names, number)}


GAPS = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
_INTERIOR = ("abstol", "reltol", "feastol")


def _clarabel(tolerance: float) -> Options:
    return {**_same(*GAPS)(tolerance), "max_iter": 200}


def _scs(tolerance: float) -> Options:
    return {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 20_000}


def _osqp(tolerance: float) -> Options:
    # CVXPY turns polishing off when it solves a problem again, unless it is asked for by name.
    return {"eps_abs": tolerance, "eps_rel": tolerance, "max_iter": 200_000, "polishing": True}


def _highs(tolerance: float) -> Options:
    # Its method for quadratic programs can cycle for ever, so that it never goes without a time limit. And CVXPY's
    # verbose=False leaves it its title, which would stand in the midst of what a command prints.
    tolerances = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), tolerance)
    return {**tolerances, "time_limit": 60.0, "output_flag": False}


def _row(
    name: str,
    package: str,
    licence: Licence,
    accuracy: float,
    options: Callable[[float], Options] = _nothing,
    steps: Sequence[float] = (),
    **more: Any,
) -> SolverProfile:
    ladder = more.pop("ladder", None) or (tuple(options(t) for t in steps) or (options(1e-8),))
    return SolverProfile(name, ladder, accuracy, package, licence, options, **more)


_INACCURATE = "its reports of an optimum are often inaccurate"
_NO_LIMIT = "has no time limit"

# Each row was run (the tests run those that are installed again): options accepted, tolerance that is still reached,
# what the status is on a limit, what it says of infeasible and unbounded problems.
_ROWS = (
    _row("CLARABEL", "clarabel", "permissive", 1e-8, _clarabel,
         ladder=(_clarabel(1e-10), _clarabel(1e-9), _clarabel(1e-8),
                 {**_clarabel(1e-9), "equilibrate_enable": False},
                 *({**_clarabel(1e-8), **more} for more in LAST_RESORTS)),
         time_limit=_same("time_limit"), iterations="max_iter", remark="the default"),
    # Below 1e-8 SCS gets worse instead of better on dense cones, so its ladder starts there and falls back
    # to runs without its adaptive scaling, which is what makes it stall.
    _row("SCS", "scs", "permissive", 2e-5, _scs, tightest=1e-8, time_limit=_same("time_limit_secs"),
         iterations="max_iters", remark="says optimal_inaccurate when it is stopped by a limit, however far it is",
         ladder=(_scs(1e-8), {**_scs(1e-8), "max_iters": 50_000, "adaptive_scale": False},
                 {**_scs(1e-6), "max_iters": 100_000})),
    _row("OSQP", "osqp", "permissive", 1e-6, _osqp, (1e-9,), time_limit=_same("time_limit"), iterations="max_iter",
         remark="slow to converge on linear programs"),
    _row("HIGHS", "highspy", "permissive", 1e-6, _highs, (1e-7,), time_limit=_same("time_limit"), gap=_same("mip_rel_gap"),
         iterations="qp_iteration_limit", remark="can cycle on quadratic programs: never without a time limit"),
    _row("MOREAU", "moreau", "permissive", 1e-7, _inside("ipm_settings", *GAPS), ladder=(
        _inside("ipm_settings", *GAPS)(1e-9), {}), time_limit=_same("time_limit"), iterations="max_iter",
        remark="derived from Clarabel, so no independent opinion; its time limit is not kept on quadratic programs"),
    _row("PIQP", "piqp", "permissive", 1e-6, _same("eps_abs", "eps_rel"), ladder=(
        _same("eps_abs", "eps_rel")(1e-9), {}), iterations="max_iter", remark=_NO_LIMIT),
    _row("DAQP", "daqp", "permissive", 1e-6, _same("primal_tol", "dual_tol"), ladder=({},), tightest=1e-12,
         iterations="iter_limit", reads=frozenset({"primal_tol", "dual_tol", "iter_limit", "zero_tol", "pivot_tol",
         "progress_tol", "cycle_tol", "sing_tol", "eps_prox", "eta_prox", "fval_bound", "rho_soft"}),
         remark=f"active set: small dense problems; {_NO_LIMIT}"),
    _row("ECOS", "ecos", "GPL", 1e-6, _same(*_INTERIOR), ladder=(_same(*_INTERIOR)(1e-9), {}),
         iterations="max_iters", remark=f"{_NO_LIMIT}; no wheels from Python 3.13 on"),
    _row("CVXOPT", "cvxopt", "GPL", 1e-6, _same(*_INTERIOR), tightest=1e-8, ladder=(
        _same(*_INTERIOR)(1e-8), {}), iterations="max_iters", reads=frozenset(
        {*_INTERIOR, "max_iters", "kktsolver", "refinement", "use_correction", "maxiters"}),
        remark=f"an error instead of a point when it is stopped; {_NO_LIMIT}"),
    _row("SCIPY", "scipy", "permissive", 1e-6, time_limit=lambda s: {"scipy_options": {"time_limit": s}},
         gap=_inside("scipy_options", "mip_rel_gap"), remark="HiGHS, by another door", ladder=({},)),
    _row("GLPK", "cvxopt", "GPL", 1e-6, ladder=({},)),
    _row("SCIP", "pyscipopt", "permissive", 1e-5, time_limit=_inside("scip_params", "limits/time"),
         ladder=(_inside("scip_params", "limits/time")(60.0),), remark="can hang: never without a time limit"),
    _row("CBC", "cylp", "permissive", 1e-6, ladder=({},), remark="ignores its time limit"),
    _row("QOCO", "qoco", "permissive", 1e-5, _same("abstol", "reltol"), iterations="max_iters",
         reads=frozenset({"abstol", "reltol", "abstol_inacc", "reltol_inacc", "max_iters", "verbose", "ruiz_iters",
                          "bisect_iters", "iter_ref_iters", "kkt_static_reg", "kkt_dynamic_reg"}),
         remark="does not detect infeasible or unbounded problems"),
    _row("PROXQP", "proxsuite", "permissive", 1e-5, _same("eps_abs", "eps_rel"), iterations="max_iter",
         reads=frozenset({"eps_abs", "eps_rel", "max_iter", "backend", "dense", "warm_start"}),
         remark="calls feasible linear programs infeasible"),
    _row("QPALM", "qpalm", "GPL", 1e-5, _same("eps_abs", "eps_rel"), time_limit=_same("time_limit"),
         iterations="max_iter", remark="may call a feasible linear program infeasible"),
    _row("SDPA", "sdpa-python", "GPL", 1e-4, ladder=({},), iterations="maxIteration", remark=_INACCURATE),
    _row("GLOP", "ortools", "permissive", 1e-5, ladder=({},), remark="calls an unbounded program infeasible"),
    _row("PDLP", "ortools", "permissive", 1e-4, ladder=({},), remark="does not tell infeasible from unbounded"),
    _row("MOSEK", "mosek", "commercial", 1e-7, ladder=({},),
         time_limit=_inside("mosek_params", "MSK_DPAR_OPTIMIZER_MAX_TIME"),
         gap=_inside("mosek_params", "MSK_DPAR_MIO_TOL_REL_GAP"), remark="needs a licence file"),
    _row("GUROBI", "gurobipy", "commercial", 1e-5, _same("BarConvTol", "BarQCPConvTol", "FeasibilityTol",
         "OptimalityTol"), tightest=1e-9, time_limit=_same("TimeLimit"), gap=_same("MIPGap"),
         remark="small problems without a licence; does not tell infeasible from unbounded"),
    _row("COPT", "coptpy", "commercial", 1e-5, _same("FeasTol", "DualTol", "RelGap"), tightest=1e-9,
         time_limit=_same("TimeLimit"), gap=_same("RelGap"),
         remark="says infeasible_inaccurate when it is stopped by a limit"),
    _row("CPLEX", "cplex", "commercial", 1e-6, ladder=({},), time_limit=_inside("cplex_params", "timelimit"),
         gap=_inside("cplex_params", "mip.tolerances.mipgap"),
         remark="small problems without a licence"),
    _row("XPRESS", "xpress", "commercial", 1e-6, _same("barGapStop", "feastol"), ladder=({},), gap=_same("miprelstop"),
         remark="small problems without a licence; ignores its time limit"),
)  # fmt: skip
_PROFILES = {row.name: row for row in _ROWS}
GAPS_OF_OTHERS = {"ECOS_BB": _same("mi_rel_eps")}  # of solvers of whole numbers alone, which no check calls


def preferred() -> str | None:
    """The solver that the environment variable ``CONVEXNOVELTY_SOLVER`` names, or None."""
    return os.environ.get(VARIABLE) or None


def known() -> dict[str, SolverProfile]:
    """The whole table by name, whether installed or not."""
    return dict(_PROFILES)


def installed() -> list[str]:
    """The solvers that CVXPY found when it was imported, which are those that it calls by name.

    Its own function tries to import all that are missing anew, which took milliseconds of every solve.
    """
    from cvxpy.reductions.solvers import defines

    return list(defines.INSTALLED_SOLVERS)


def profile(name: str | None = None) -> SolverProfile:
    """The row of the table for ``name`` (any capitals); a solver that is not in the table gets its own defaults.

    Raises InputError when CVXPY does not find the solver, with the names that it does find.
    """
    if name is not None and not isinstance(name, str):
        raise InputError(f"solver: {name!r} was found; give the name of a solver, as 'CLARABEL'")
    key = (DEFAULT_SOLVER if name is None else name).upper()
    there = installed()
    if key not in there:
        raise InputError(f"solver: {name!r} is not installed; installed are {', '.join(sorted(there))}")
    return _PROFILES.get(key, SolverProfile(key, ({},), UNKNOWN_ACCURACY, gap=GAPS_OF_OTHERS.get(key, _nothing)))


def check_options(row: SolverProfile, options: Options) -> None:
    """Raise InputError for an option that the solver would pass over without a word."""
    strange = sorted(set(options) - row.reads) if row.reads is not None else []
    if strange:
        raise InputError(
            f"options of {row.name}: {', '.join(strange)} would be ignored in silence; "
            f"it reads {', '.join(sorted(row.reads or ()))}"
        )


def blocked(order: int) -> Options:
    """What Clarabel is told of a semidefinite cone of that order, in one thread so that its digits do not depend on them."""
    return {"direct_solve_method": "faer", "max_threads": 1} if order > BLOCKED_SEMIDEFINITE else {}


def ladder(name: str, order: int = 0) -> list[tuple[str, Options]]:
    """Pairs of the solver and each of its option sets, for a problem whose largest semidefinite cone has that order."""
    row = profile(name)
    more = blocked(order) if row.name == DEFAULT_SOLVER else {}
    return [(row.name, {**options, **more}) for options in row.ladder]


# Who is asked for whole numbers where nobody is named, the first that takes the program.
WHOLE = ("HIGHS", "SCIP", "GUROBI", "MOSEK", "CPLEX", "XPRESS", "COPT", "GLPK_MI", "CBC", "SCIPY")


def takers(problem: cp.Problem) -> list[str]:
    """Who of the installed solvers takes a program with whole numbers, those that are asked unnamed first."""
    there = installed()
    known = [name for name in WHOLE if name in there]
    found = next((name for name in known if _takes(name, problem)), None)
    return [found] if found else [name for name in there if name not in known and _takes(name, problem)]


def able(cones: Collection[str]) -> list[str]:
    """Who of CVXPY's solvers, installed or not, takes whole numbers with second-order cones and with these, by CVXPY's names."""
    from cvxpy.reductions.solvers import defines

    known = {
        name: {cone.__name__ for cone in solver.MI_SUPPORTED_CONSTRAINTS}
        for name, solver in defines.SOLVER_MAP_CONIC.items()
        if solver.MIP_CAPABLE
    }
    return [name for name, taken in known.items() if {"SOC", *cones} <= taken]


def whole(name: str, gap: float) -> list[tuple[str, Options]]:
    """The same for a problem with whole numbers: first to a gap, and then, where time does not reach, to the solver's own."""
    closed = profile(name).gap(gap)
    plan = ladder(name)
    return [*((solver, _with_gap(options, closed)) for solver, options in plan if closed), *plan]


def _with_gap(options: Options, closed: Options) -> Options:
    """Options with those of a gap, which may be inside of one that is there."""
    inside = {key: {**options.get(key, {}), **value} for key, value in closed.items() if isinstance(value, dict)}
    return {**options, **closed, **inside}


def compiled(problem: cp.Problem, solver: str, options: Options | None = None) -> tuple[Any, Any, Any]:
    """What CVXPY hands to a solver, the chain that leads there, and what takes its answer back.

    For solvers that take bounds of variables CVXPY infers some for those that it adds, from what they stand for. No program
    needs them, and wrong ones come out where a matrix with a zero meets a variable without a bound.
    """
    given, cache = dict(options or {}), problem._cache
    key = cache.make_key(solver.upper(), False, False, given.get("use_quad_obj"))
    if cache.key != key or cache.solving_chain.solver_context.solver_supports_bounds:
        chain = problem._construct_chain(solver=solver, solver_opts=given)
        chain.solver_context.solver_supports_bounds = False
        # As CVXPY itself keeps a chain, so that parameters are followed without compiling again.
        cache.invalidate()
        cache.key, cache.solving_chain, problem._solver_cache = key, chain, {}
        problem.solver_context = chain.solver_context
    found: tuple[Any, Any, Any] = problem.get_problem_data(solver, solver_opts=given)
    return found


def takes_quadratics(solver: str) -> bool:
    """Whether CVXPY hands a solver a quadratic objective as it is."""
    from cvxpy.reductions.solvers import defines

    name = solver.upper()
    return name in defines.SOLVER_MAP_QP or (
        name in defines.SOLVER_MAP_CONIC and defines.SOLVER_MAP_CONIC[name].supports_quad_obj()
    )


def _takes(name: str, problem: cp.Problem) -> bool:
    try:
        compiled(problem, name)
    except Exception:  # a solver without a licence raises a kind of its own
        return False
    return True


def fallbacks(needed: Collection[str], order: int = 0) -> list[tuple[str, Options]]:
    """What is tried for a cone class when the user named no solver: pairs of a solver and its options, in order.

    ``needed`` holds the classes of :func:`admitted` that the problem has, ``order`` is that of its largest semidefinite
    cone. Solvers that are not installed or do not take the problem are left out; the last one comes with CVXPY.
    """
    first = ladder(DEFAULT_SOLVER, order)
    splitting = [("SCS", _scs(1e-7)), ("SCS", {**_scs(1e-7), "max_iters": 50_000, "adaptive_scale": False})]
    if order:
        plan = splitting + first if order > LARGE_SEMIDEFINITE else first + splitting
    elif "QP" in needed:
        plan = [*first, ("OSQP", _osqp(1e-8)), ("HIGHS", _highs(1e-7))]
    elif "LP" in needed:
        # A simplex method is at home on the degenerate programs on which interior-point methods go round.
        plan = [*first, ("HIGHS", _highs(1e-7)), ("OSQP", _osqp(1e-8))]
    else:
        plan = [*first, *((name, _PROFILES[name].ladder[0]) for name in ("MOREAU", "ECOS")), *splitting]
    there = installed()
    return [(name, options) for name, options in plan if name in there and set(needed) <= admitted(name)]


# -- what a solver admits ----------------------------------------------------------------------------------------------


def _probes() -> dict[str, Callable[[], cp.Problem]]:
    """The smallest problem of each class."""

    def linear() -> cp.Problem:
        x = cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])

    def quadratic() -> cp.Problem:
        x = cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(np.eye(2)))), [x >= 1])

    def of(cone: Callable[[Any], Any]) -> Callable[[], cp.Problem]:
        def made() -> cp.Problem:
            x = cp.Variable(3)
            return cp.Problem(cp.Minimize(cp.sum(x)), [cone(x), x >= -1])

        return made

    return {
        "LP": linear,
        "QP": quadratic,
        "SOCP": of(lambda x: cp.SOC(x[0], x[1:])),
        "SDP": of(lambda x: cp.bmat([[x[0], x[1]], [x[1], x[2]]]) >> 0),
        "EXP": of(lambda x: cp.ExpCone(x[0], x[1], x[2])),
        "POW": of(lambda x: cp.PowCone3D(x[0], x[1], x[2], 0.3)),
    }


@functools.lru_cache(maxsize=64)
def admitted(name: str) -> frozenset[str]:
    """The problem classes that CVXPY hands to an installed solver, found by trying; empty if even that fails."""
    found = []
    for kind, make in _probes().items():
        try:
            compiled(make(), name)
        except Exception:  # a solver without a licence raises a kind of its own
            continue
        found.append(kind)
    return frozenset(found)
