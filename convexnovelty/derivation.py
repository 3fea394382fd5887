"""The derivation graph: what the methods' files declare, collected and drawn.

Nodes are formulations, closed forms and algorithms; an edge is a step with its claim and its equation. The graph
holds the very objects that the checker runs.
"""

from __future__ import annotations

import importlib
import json
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from convexnovelty import enrolment
from convexnovelty.declare import Method, Node, Step
from convexnovelty.errors import EnrolmentError, InputError

if TYPE_CHECKING:
    import networkx

__all__ = ["FORMATS", "draw", "graph", "method", "methods", "order"]

FORMATS = ("text", "mermaid", "svg", "json")

_COLOURS = {"formulation": "#cfe3f7", "closed form": "#d5efd8", "algorithm": "#fbe6c8", "other library": "#e8e2f3"}


def methods() -> dict[str, Method]:
    """Every method of the package and of the files that were loaded, by name.

    Raises EnrolmentError for a file of the package that declares no METHOD, or too little to be checked.
    """
    found: dict[str, Method] = {}
    for module in enrolment.walk("convexnovelty.methods"):
        declared = _declared(module)
        found[declared.name] = declared
    for module in enrolment.loaded():
        if isinstance(theirs := getattr(module, "METHOD", None), Method):
            found[theirs.name] = theirs
    for declared in found.values():
        declared.validate()
    return found


def method(name: str) -> Method:
    """The method of that name; InputError with the known names otherwise. No other method's file is imported."""
    for module in enrolment.loaded():
        if isinstance(theirs := getattr(module, "METHOD", None), Method) and theirs.name == name:
            theirs.validate()
            return theirs
    if name not in enrolment.names("convexnovelty.methods"):
        raise InputError(f"method: there is no {name!r}; known are {', '.join(methods())}")
    declared = _declared(importlib.import_module(f"convexnovelty.methods.{name}"))
    declared.validate()
    return declared


def _declared(module: ModuleType) -> Method:
    declared = getattr(module, "METHOD", None)
    if not isinstance(declared, Method):
        raise EnrolmentError(f"{module.__name__}: the file defines no METHOD, so nothing of it is checked")
    return declared


def _key(owner: Method, end: str) -> str:
    return end if "/" in end else f"{owner.name}/{end}"


def graph(name: str | None = None) -> networkx.MultiDiGraph:
    """The derivation graph of one method or of all.

    Each node carries its :class:`~convexnovelty.declare.Node` as ``node``; each edge its Step as ``step``.
    """
    import networkx

    chosen = [method(name)] if name else list(methods().values())
    drawn = networkx.MultiDiGraph()
    for owner in chosen:
        for node in owner.nodes.values():
            drawn.add_node(node.key, node=node)
    for owner in chosen:
        for step in owner.steps:
            ends = [_key(owner, step.source_node), _key(owner, step.target_node)]
            for end in ends:
                if end not in drawn:
                    other, _, short = end.partition("/")
                    drawn.add_node(end, node=method(other).nodes[short])
            drawn.add_edge(*ends, step=step, method=owner.name)
    return drawn


def order(name: str) -> list[Node]:
    """The nodes of a method, each before those that are derived from it as far as the arrows allow."""
    import networkx

    drawn = graph(name)
    condensed = networkx.condensation(networkx.DiGraph(drawn))
    sorted_parts = networkx.lexicographical_topological_sort(
        condensed, key=lambda part: min(condensed.nodes[part]["members"])
    )
    return [drawn.nodes[key]["node"] for part in sorted_parts for key in sorted(condensed.nodes[part]["members"])]


def edges(drawn: networkx.MultiDiGraph) -> Iterator[tuple[Node, Node, Step]]:
    """The arrows as (source, target, step)."""
    for source, target, data in drawn.edges(data=True):
        yield drawn.nodes[source]["node"], drawn.nodes[target]["node"], data["step"]


def draw(name: str | None = None, form: str = "text") -> str:
    """The graph as text, as a Mermaid flowchart, as a self-contained SVG picture, or as JSON."""
    if form not in FORMATS:
        raise InputError(f"format: {form!r} was found; give one of {', '.join(FORMATS)}")
    drawn = graph(name)
    return {"text": _text, "mermaid": _mermaid, "svg": _svg, "json": _json}[form](drawn)


def _text(drawn: networkx.MultiDiGraph) -> str:
    lines: list[str] = []
    owner = ""
    for key in drawn.nodes:
        node = drawn.nodes[key]["node"]
        if node.method != owner:
            owner = node.method
            lines += [*([""] if lines else []), owner]
        lines.append(f"  {node.name}  [{node.kind}]  {node.source}")
        for _, target, data in drawn.out_edges(key, data=True):
            step = data["step"]
            there = drawn.nodes[target]["node"]
            shown = there.name if there.method == owner else there.key
            lines.append(f"    {step.relation} {shown}: {step.claim} ({step.equation})")
    return "\n".join(lines)


def _mermaid(drawn: networkx.MultiDiGraph) -> str:
    names = {key: f"n{i}" for i, key in enumerate(drawn.nodes)}
    lines = ["flowchart TD"]
    for key, short in names.items():
        node = drawn.nodes[key]["node"]
        lines.append(f'    {short}["{node.key}<br/><small>{node.kind}, {_plain(node.source)}</small>"]')
    lines += [f'    {names[s]} -- "{_plain(d["step"].equation)}" --> {names[t]}' for s, t, d in drawn.edges(data=True)]
    return "\n".join(lines)


def _plain(text: str) -> str:
    return text.replace('"', "'").replace("<", "&lt;").replace(">", "&gt;")


def _json(drawn: networkx.MultiDiGraph) -> str:
    nodes = [
        {
            "key": n.key,
            "method": n.method,
            "name": n.name,
            "kind": n.kind,
            "source": n.source,
            "latex": n.latex,
            "summary": n.summary,
        }
        for n in (drawn.nodes[key]["node"] for key in drawn.nodes)
    ]
    arrows = [
        {
            "from": s.key,
            "to": t.key,
            "claim": e.claim,
            "equation": e.equation,
            "relation": e.relation,
            "reference": e.reference,
        }
        for s, t, e in edges(drawn)
    ]
    return json.dumps({"nodes": nodes, "steps": arrows}, indent=1, ensure_ascii=False)


def _layers(drawn: networkx.MultiDiGraph) -> list[list[str]]:
    """Nodes by their longest path from a source, so that every arrow points down (cycles are cut at one arrow)."""
    import networkx

    simple = networkx.DiGraph(drawn)
    simple.remove_edges_from(list(networkx.selfloop_edges(simple)))
    while not networkx.is_directed_acyclic_graph(simple):
        simple.remove_edge(*networkx.find_cycle(simple)[-1][:2])
    return [sorted(layer) for layer in networkx.topological_generations(simple)]


BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y = 210, 56, 40, 84


def _svg(drawn: networkx.MultiDiGraph) -> str:
    """One row of boxes a generation, one column of generations a method, arrows with their equations."""
    place: dict[str, tuple[float, float]] = {}
    left = 20.0
    height = 0.0
    owners = list(dict.fromkeys(drawn.nodes[key]["node"].method for key in drawn.nodes))
    for owner in owners:
        part = drawn.subgraph([key for key in drawn.nodes if drawn.nodes[key]["node"].method == owner])
        layers = _layers(part)
        width = max(len(layer) for layer in layers) * (BOX_WIDTH + GAP_X)
        for row, layer in enumerate(layers):
            indent = (width - len(layer) * (BOX_WIDTH + GAP_X)) / 2
            for column, key in enumerate(layer):
                place[key] = (left + indent + column * (BOX_WIDTH + GAP_X), 50 + row * (BOX_HEIGHT + GAP_Y))
        height = max(height, 50 + len(layers) * (BOX_HEIGHT + GAP_Y))
        left += width + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left:.0f} {height:.0f}" width="{left:.0f}" height="{height:.0f}" '
        'font-family="sans-serif" font-size="12" role="img"><title>Derivation graph</title>',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">'
        '<path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>',
        f'<rect width="{left:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for owner in owners:
        x = min(place[key][0] for key in place if key.startswith(f"{owner}/"))
        parts.append(f'<text x="{x:.0f}" y="30" font-size="16" font-weight="bold">{escape(owner)}</text>')
    for source, target, step in edges(drawn):
        parts.append(_arrow(place[source.key], place[target.key], step))
    for key, (x, y) in place.items():
        parts.append(_box(drawn.nodes[key]["node"], x, y))
    return "\n".join([*parts, "</svg>"])


def _arrow(source: tuple[float, float], target: tuple[float, float], step: Step) -> str:
    down = target[1] > source[1]
    level = target[1] == source[1]
    side = 1 if target[0] >= source[0] else -1
    if level:
        start = (source[0] + (BOX_WIDTH if side > 0 else 0), source[1] + BOX_HEIGHT / 2)
        end = (target[0] + (0 if side > 0 else BOX_WIDTH), target[1] + BOX_HEIGHT / 2)
    else:
        start = (source[0] + BOX_WIDTH / 2, source[1] + (BOX_HEIGHT if down else 0))
        end = (target[0] + BOX_WIDTH / 2, target[1] + (0 if down else BOX_HEIGHT))
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    lines = textwrap.wrap(step.equation, 34)[:2]
    label = "".join(
        f'<text x="{middle[0]:.0f}" y="{middle[1] - 6 + 12 * i:.0f}" text-anchor="middle" font-size="10" fill="#333" '
        f'stroke="#fff" stroke-width="3" paint-order="stroke">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g><title>{escape(step.claim)}</title><line x1="{start[0]:.0f}" y1="{start[1]:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}" '
        f'stroke="#555" marker-end="url(#arrow)"/>{label}</g>'
    )


def _box(node: Node, x: float, y: float) -> str:
    source = textwrap.shorten(node.source, 38, placeholder=" …")
    return (
        f'<g><title>{escape(node.summary)}</title><rect x="{x:.0f}" y="{y:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="{_COLOURS[node.kind]}" stroke="#446"/><text x="{x + BOX_WIDTH / 2:.0f}" y="{y + 22:.0f}" text-anchor="middle" '
        f'font-weight="bold">{escape(node.name)}</text><text x="{x + BOX_WIDTH / 2:.0f}" y="{y + 41:.0f}" text-anchor="middle" '
        f'font-size="10">{escape(source)}</text></g>'
    )


def describe(anything: Any) -> str:
    """One line about a node or a step, for messages."""
    return (
        f"{anything.key} ({anything.source})"
        if isinstance(anything, Node)
        else f"{anything.source_node} -> {anything.target_node}: {anything.claim}"
    )
