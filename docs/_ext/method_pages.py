"""One page a method: its drawing, its nodes with their formulas, and every step with the numbers of a live run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import drawing as drawings
from convexnovelty import derivation
from convexnovelty.checking import Row
from convexnovelty.declare import Method, Node, Step
from text import first_paragraph, folded, plain, prose, table

HEAD = """# {title}

{summary} {source}.

The factory is `cn.{name}`; the file is `convexnovelty/methods/{name}.py`. In the drawing, a box leads to its
formulation and a number to the claim of its arrow.

{drawing}
## Nodes
"""

GRAPH = """# Derivation graph

A box leads to its formulation, a number to the claim of its arrow and to what the live run found. Blue boxes are
programs for a solver, green ones closed forms, orange ones algorithms, and violet ones other libraries; a box with a
broken outline belongs to another method.

{pictures}"""

METHODS = """# Methods

{table}
```{{toctree}}
:hidden:

{entries}
```
"""


def node_anchor(node: Node) -> str:
    """The anchor of a node on its method's page."""
    return f"node-{node.method}-{node.name}".replace("_", "-")


def step_anchor(owner: Method, step: Step) -> str:
    """The anchor of a step on its method's page."""
    return f"step-{owner.name}-{owner.steps.index(step) + 1}".replace("_", "-")


def drawing(owner: Method, home: str) -> str:
    """The picture of a method; ``home`` is the path from the page to the folder of the method pages."""
    return drawings.draw(
        owner,
        lambda node: f"{home}{node.method}.html#{node_anchor(node)}",
        lambda method, step: f"{home}{method.name}.html#{step_anchor(method, step)}",
    )


def number(value: float) -> str:
    """A gap with one digit, or a dash where there is nothing to compare."""
    return "–" if math.isnan(value) else f"{value:.0e}"


def verdict(row: Row) -> str:
    """How a row ended."""
    words = {"pass": "holds", "fail": "**fails**"}.get(row.verdict, "not checked")
    return f"{words}: {plain(row.reason)}" if row.reason else words


def cells(row: Row) -> tuple[str, ...]:
    """A row of the report as cells of a table."""
    gaps = (row.objective_gap, row.decision_gap, row.residual, row.tolerance)
    return (plain(row.instance), *(number(gap) for gap in gaps), verdict(row))


def numbers(rows: list[Row]) -> str:
    """What the live run found: a sentence, and the rows behind it."""
    if not rows:
        return "Not run.\n"
    held = [row for row in rows if row.verdict == "pass"]
    failed = [row for row in rows if row.verdict == "fail"]
    skipped = len(rows) - len(held) - len(failed)
    gaps = [row.objective_gap for row in held if not math.isnan(row.objective_gap)]
    parts = [f"holds on {len(held)} of {len(rows)} instances" if held else "holds on no instance"]
    if gaps:
        parts.append(f"largest gap {number(max(gaps))}")
    if failed:
        parts.append(f"**fails on {len(failed)}**")
    if skipped:
        parts.append(f"not checked on {skipped}, for the reason that the row gives")
    listing = table(("Instance", "Objective", "Decision", "Residual", "Held to", ""), map(cells, rows))
    return f"Live: {', '.join(parts)}.\n\n{folded('The rows', listing)}"


def _node(node: Node, owner: Method) -> str:
    lines = [
        f"({node_anchor(node)})=",
        f"### {plain(node.name)}",
        "",
        prose(node.summary),
        "",
        f"$$\n{node.latex}\n$$",
        "",
    ]
    leaving = [step for step in owner.steps if step.source_node in (node.name, node.key)]
    arriving = [step for step in owner.steps if step.target_node in (node.name, node.key)]
    lines.append(f"{node.kind.capitalize()}; {plain(node.source)}.")
    for word, found, end in (("Leads to", leaving, "target_node"), ("Reached from", arriving, "source_node")):
        if found:
            links = ", ".join(f"[{plain(getattr(step, end))}](#{step_anchor(owner, step)})" for step in found)
            lines.append(f"{word} {links}.")
    return "\n".join(lines) + "\n"


def _step(step: Step, owner: Method, rows: list[Row]) -> str:
    ends = (step.source_node, step.target_node, step.claim)
    means = {"=": "equal to", "<=": "at most", ">=": "at least"}[step.relation]
    return "\n".join(
        [
            f"({step_anchor(owner, step)})=",
            f"### {owner.steps.index(step) + 1}. {plain(step.source_node)} → {plain(step.target_node)}",
            "",
            f"{plain(step.claim[:1].upper() + step.claim[1:])} ({plain(step.equation)}).",
            "",
            f"The mapped objective is {means} the target's; kind of reference: {step.reference}.",
            "",
            numbers([row for row in rows if (row.source, row.target, row.claim) == ends]),
        ]
    )


def _theorems(owner: Method, rows: list[Row]) -> str:
    if not owner.properties:
        return ""
    lines = ["## Theorems, checked on every solution", ""]
    for theorem in owner.properties:
        own = [row for row in rows if row.target == theorem.name]
        summary = first_paragraph(theorem.function.__doc__)
        lines += [f"### {plain(theorem.name)}", "", f"{summary} ({plain(theorem.source)})", ""]
        for claim in dict.fromkeys(row.claim for row in own):
            found = [row for row in own if row.claim == claim]
            held = sum(row.verdict == "pass" for row in found)
            lines.append(f"- {plain(claim)}: holds on {held} of {len(found)} solutions")
        lines.append("")
    return "\n".join(lines)


def _duals(rows: list[Row]) -> str:
    own = [row for row in rows if row.target == "conic dual"]
    if not own:
        return ""
    what = "The dual of each formulation, built from its compiled data and solved as a program of its own."
    return f"## Conic duals\n\n{what} {numbers(own)}"


def page(owner: Method, rows: list[Row]) -> str:
    """The page of one method."""
    head = HEAD.format(
        title=plain(owner.title),
        summary=prose(owner.summary),
        source=plain(owner.source),
        name=owner.name,
        drawing=drawing(owner, ""),
    )
    nodes = [_node(node, owner) for node in owner.nodes.values()]
    steps = [_step(step, owner, rows) for step in owner.steps]
    return "\n".join([head, *nodes, "## Steps\n", *steps, _theorems(owner, rows), _duals(rows)])


def pages(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """The page of every method, the page that lists them, and the whole graph."""
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row.method, []).append(row)
    methods = derivation.methods()
    listing = []
    for name, owner in methods.items():
        yield f"methods/{name}.md", page(owner, by_method.get(name, []))
        sizes = (str(len(owner.nodes)), str(len(owner.steps)))
        listing.append((f"[{plain(owner.title)}](methods/{name}.md)", *sizes, plain(owner.source)))
    entries = "\n".join(f"methods/{name}" for name in methods)
    yield "methods.md", METHODS.format(table=table(("Method", "Nodes", "Steps", "Source"), listing), entries=entries)
    pictures = (f"## {plain(owner.title)}\n\n{drawing(owner, 'methods/')}" for owner in methods.values())
    yield "graph.md", GRAPH.format(pictures="\n".join(pictures))
