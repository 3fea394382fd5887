"""Pages of the uncertainty sets, the tails and the solvers."""

from __future__ import annotations

from collections.abc import Iterator

from convexnovelty import solvers, tails, uncertainty
from convexnovelty._lazy import cp
from convexnovelty.uncertainty import UncertaintySet
from text import first_paragraph, plain, table

FAMILIES = {
    "mean": "Means",
    "covariance": "Covariances",
    "moments": "Pairs of mean and covariance",
    "points": "Points",
}

SET = """{name}
{underline}

{facts}

.. autoclass:: {module}.{name}
   :members:
   :no-index:
"""

TAILS = r"""# Tails

A tail turns a confidence into the number of deviations that the offset keeps from the mean. The more it assumes, the
smaller that number. The classes are in {{py:mod}}`convexnovelty.tails`.

{table}
{parts}
"""

SOLVERS = """# Solvers

Every solve names its solver and its tolerances. The table lists the solvers that were installed when this site was
built: the options of the first attempt, how many attempts are made, and the relative error of an objective that a
check then has to allow. The default is `{default}`; `python -m pip install -e ".[solvers]"` brings further ones.

{table}
"""


def families() -> Iterator[tuple[str, dict[str, type[UncertaintySet]]]]:
    """The heading of each family that has members, with its sets by name."""
    catalogue = uncertainty.catalogue()
    for family, heading in FAMILIES.items():
        found = {name: kind for name, kind in catalogue.items() if kind.family == family}
        if found:
            yield heading, found


def set_page(name: str, kind: type[UncertaintySet]) -> str:
    """The page of one set: its docstring, and what it declares."""
    facts = [
        ("Family", FAMILIES[kind.family]),
        ("Counterpart", kind.exactness),
        ("Turns with its centre", "yes" if kind.examples()[0].rotation_invariant else "no"),
        ("Source", kind.source),
        ("Examples that are checked", ", ".join(f"``{example!r}``" for example in kind.examples())),
    ]
    listing = "\n".join(f":{label}: {text}" for label, text in facts)
    return SET.format(name=name, underline="=" * len(name), facts=listing, module=kind.__module__)


def pages() -> Iterator[tuple[str, str]]:
    """All pages of this module."""
    parts, entries = ["# Uncertainty sets", ""], []
    for heading, found in families():
        rows = []
        for name, kind in found.items():
            rows.append((f"[{name}](sets/{name}.rst)", first_paragraph(kind.__doc__), kind.exactness))
            entries.append(f"sets/{name}")
            yield f"sets/{name}.rst", set_page(name, kind)
        parts += [f"## {heading}", "", table(("Set", "Members", "Counterpart"), rows), ""]
    yield "sets.md", "\n".join([*parts, "```{toctree}\n:hidden:\n", *entries, "```\n"])
    yield "tails.md", tail_page()
    yield "solvers.md", solver_page()


def tail_page() -> str:
    """The tails: for whom each holds, its formula, and their multipliers side by side."""
    confidences = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
    rows, parts = [], []
    for kind in tails.all_tails().values():
        tail = kind.examples()[0]
        rows.append((f"`{tail!r}`", *(f"{tail.kappa(confidence):.3f}" for confidence in confidences)))
        parts.append(f"## {kind.__name__}\n\nFor {plain(tail.sentence)}.\n\n$$\n{tail.latex}\n$$\n")
    headings = ("Tail", *(rf"$\kappa({confidence})$" for confidence in confidences))
    return TAILS.format(table=table(headings, rows), parts="\n".join(parts))


def solver_page() -> str:
    """What each installed solver is asked for, and what is expected of its answer."""
    rows = []
    for name in sorted(cp.installed_solvers()):
        profile = solvers.profile(name)
        options = ", ".join(f"`{key}={value}`" for key, value in profile.ladder[0].items()) or "its own defaults"
        rows.append((f"`{name}`", options, str(len(profile.ladder)), f"{profile.accuracy:.0e}"))
    listing = table(("Solver", "First attempt", "Attempts", "Accuracy"), rows)
    return SOLVERS.format(default=solvers.DEFAULT_SOLVER, table=listing)
