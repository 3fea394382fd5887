"""What is asked of each solver, and what may be expected of its answer: one table for the whole package.

A solve never leaves the choice of solver or of its tolerances to CVXPY, whose own defaults differ by problem
class and reach from 1e-8 down to 1e-5. ``ladder`` holds the option sets that are tried in turn, tightest first:
an interior-point method that stalls just short of 1e-10 is asked again for a little less before it is given up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError

__all__ = ["DEFAULT_SOLVER", "SolverProfile", "profile"]

DEFAULT_SOLVER = "CLARABEL"

Options = Mapping[str, Any]


@dataclass(frozen=True)
class SolverProfile:
    """Options and accuracy of one solver.

    Parameters
    ----------
    name : the name by which CVXPY knows the solver.
    ladder : option sets in the order in which they are tried.
    accuracy : relative error of the objective that a check has to allow when this solver computed it.
    """

    name: str
    ladder: tuple[Options, ...]
    accuracy: float


def _clarabel(tolerance: float) -> Options:
    return {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance, "max_iter": 200}


# Below 1e-8 SCS gets worse instead of better on dense cones, so its ladder starts there and falls back
# to runs without its adaptive scaling, which is what makes it stall.
_PROFILES = {
    "CLARABEL": SolverProfile("CLARABEL", tuple(_clarabel(t) for t in (1e-10, 1e-9, 1e-8)), 1e-8),
    "SCS": SolverProfile(
        "SCS",
        (
            {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 20_000},
            {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 50_000, "adaptive_scale": False},
            {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 100_000},
        ),
        2e-5,
    ),
    "OSQP": SolverProfile("OSQP", ({"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000, "polishing": True},), 1e-6),
    "HIGHS": SolverProfile("HIGHS", ({"time_limit": 60.0},), 1e-6),
    "ECOS": SolverProfile("ECOS", ({"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}, {}), 1e-6),
    "MOREAU": SolverProfile(
        "MOREAU", ({"ipm_settings": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}}, {}), 1e-7
    ),
    "PIQP": SolverProfile("PIQP", ({"eps_abs": 1e-9, "eps_rel": 1e-9}, {}), 1e-6),
    "DAQP": SolverProfile("DAQP", ({},), 1e-6),
    "CVXOPT": SolverProfile("CVXOPT", ({"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}, {}), 1e-6),
    "SCIPY": SolverProfile("SCIPY", ({},), 1e-6),
    "SCIP": SolverProfile("SCIP", ({"scip_params": {"limits/time": 60.0}},), 1e-5),
}


def profile(name: str | None = None) -> SolverProfile:
    """The row of the table for ``name`` (any capitals); a solver that is not in the table gets its own defaults.

    Raises InputError when CVXPY does not find the solver, with the names that it does find.
    """
    key = (name or DEFAULT_SOLVER).upper()
    installed = cp.installed_solvers()
    if key not in installed:
        raise InputError(f"solver: {name!r} is not installed; installed are {', '.join(sorted(installed))}")
    return _PROFILES.get(key, SolverProfile(key, ({},), 1e-4))
