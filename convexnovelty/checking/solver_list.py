"""Which solvers there are: what is installed, what it takes, and how to get the rest."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

from convexnovelty import solvers

__all__ = ["SolverRow", "solver_list", "solver_table"]

# Classes of solvers that are not installed and can therefore not be asked; from their documentation.
DOCUMENTED = {
    "LP": ("SCIP", "CBC", "QOCO", "PROXQP", "QPALM", "SDPA", "GLOP", "PDLP", "MOSEK", "GUROBI", "COPT", "CPLEX", "XPRESS"),
    "QP": ("SCIP", "QOCO", "PROXQP", "QPALM", "SDPA", "MOSEK", "GUROBI", "COPT", "CPLEX", "XPRESS"),
    "SOCP": ("SCIP", "QOCO", "SDPA", "MOSEK", "GUROBI", "COPT", "CPLEX", "XPRESS"),
    "SDP": ("SDPA", "MOSEK", "COPT"),
    "EXP": ("MOSEK", "COPT"),
    "POW": ("MOSEK",),
}  # fmt: skip
BUNDLED = ("clarabel", "scs", "osqp", "highspy", "scipy")
EXTRAS = {"solvers": ("moreau", "piqp", "daqp"), "solvers-gpl": ("cvxopt", "ecos")}


@dataclass(frozen=True)
class SolverRow:
    """One solver: whether it is installed, its version, licence and classes, the command that gets it, a remark."""

    name: str
    installed: bool
    version: str
    licence: str
    classes: str
    get: str
    remark: str


def solver_list() -> list[SolverRow]:
    """The whole table and whatever else CVXPY finds, the installed ones first."""
    installed = solvers.installed()
    table = solvers.known()
    rows = []
    for name in dict.fromkeys([*table, *installed]):
        profile = table.get(name) or solvers.SolverProfile(name, ({},), solvers.UNKNOWN_ACCURACY)
        there = name in installed
        if there:
            found = solvers.admitted(name)
            classes = " ".join(kind for kind in DOCUMENTED if kind in found) or "none: is it licensed?"
        else:
            classes = " ".join(kind for kind, names in DOCUMENTED.items() if name in names)
        get = "" if there else _extra(profile.package) or profile.extra
        rows.append(SolverRow(name, there, _version(profile.package), profile.licence, classes, get, profile.remark))
    return sorted(rows, key=lambda row: not row.installed)


def _extra(package: str) -> str:
    return next((f"pip install 'convexnovelty[{extra}]'" for extra, names in EXTRAS.items() if package in names), "")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package) if package else ""
    except importlib.metadata.PackageNotFoundError:
        return ""


def solver_table(*, width: int | None = None, colour: bool = False) -> str:
    """The list as text."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("solver", "version", "licence", "classes", "how to get it", "remark"):
        table.add_column(heading, overflow="fold")
    for row in solver_list():
        name = f"[bold]{row.name}[/bold]" if row.installed else f"[dim]{row.name}[/dim]"
        table.add_row(
            name, row.version if row.installed else "not installed", row.licence, row.classes, row.get, row.remark
        )
    console = Console(width=width or 150, force_terminal=colour, no_color=not colour, highlight=False, markup=True)
    with console.capture() as captured:
        console.print(table)
        console.print(f"\nThe default is {solvers.DEFAULT_SOLVER}; a solve never leaves the choice to CVXPY.")
    return captured.get()
