"""A method's derivation in words and formulas, each arrow with its numbers from a live run."""

from __future__ import annotations

import math
import textwrap

from convexnovelty import derivation, solvers
from convexnovelty.checking.checker import check_instance, standard_of
from convexnovelty.checking.report import Row

__all__ = ["explain"]

WIDTH = 100


def explain(name: str, *, solver: str | None = None) -> str:
    """The chain of a method: its nodes in order, and for every step the claim, the equation and what came out.

    A step is shown on the first of the method's instances to which it applies.
    """
    owner = derivation.method(name)
    standard = standard_of(solvers.profile(solver))
    rows: dict[tuple[str, str, str], Row] = {}
    for instance in owner.instances():
        for row in check_instance(owner, instance, standard):
            key = (row.source, row.target, row.claim)
            if key not in rows or rows[key].verdict == "not checked":
                rows[key] = row
        if all(
            (s.source_node, s.target_node, s.claim) in rows
            and rows[s.source_node, s.target_node, s.claim].verdict != "not checked"
            for s in owner.steps
        ):
            break
    lines = [owner.title, "=" * len(owner.title), *_wrapped(f"{owner.summary} ({owner.source})"), ""]
    for node in derivation.order(name):
        lines += [f"{node.key}  [{node.kind}; {node.source}]", *_wrapped(node.summary, "    "), f"    {node.latex}"]
        for step in owner.steps:
            if step.source_node in (node.name, node.key):
                lines += _wrapped(f"{step.relation} {step.target_node}: {step.claim} ({step.equation})", "  -> ")
                found = rows.get((step.source_node, step.target_node, step.claim))
                lines += _wrapped("not run" if found is None else numbers(found), "     ")
        lines.append("")
    theorems = [
        row
        for row in rows.values()
        if row.reference in ("theory", "algorithm", "simulation") and row.target not in owner.nodes
    ]
    if theorems:
        lines.append("Theorems, on every solution:")
        lines += [
            line
            for row in theorems
            for line in _wrapped(f"{row.target} at {row.source}: {row.claim}: {numbers(row)}", "  - ")
        ]
    return "\n".join(lines).rstrip()


def numbers(row: Row) -> str:
    """What a row found, in words."""
    if row.verdict == "not checked":
        return f"not checked: {row.reason}"
    parts = [
        f"{what} {value:.1e}"
        for what, value in (
            ("objective gap", row.objective_gap),
            ("decision gap", row.decision_gap),
            ("KKT residual", row.residual),
        )
        if not math.isnan(value)
    ]
    verdict = "holds" if row.verdict == "pass" else f"FAILS ({row.reason})"
    return f"{verdict} on {row.instance}: {', '.join(parts)}, held to {row.tolerance:.0e}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
