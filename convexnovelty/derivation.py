"""The derivation graph: what the methods' files declare, collected and drawn.

Nodes are formulations, closed forms and algorithms; an edge is a step with its claim and its equation. The graph
holds the very objects that the checker runs.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from convexnovelty import enrolment
from convexnovelty.declare import Method, Node, Step
from convexnovelty.errors import EnrolmentError, InputError

if TYPE_CHECKING:
    import networkx

__all__ = ["FORMATS", "draw", "graph", "method", "methods", "order", "users"]

FORMATS = ("text", "mermaid", "svg", "json")


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


def users() -> set[str]:
    """The names of the methods that the files which a user loaded define."""
    declared = [getattr(module, "METHOD", None) for module in enrolment.loaded()]
    return {theirs.name for theirs in declared if isinstance(theirs, Method)}


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
    if form == "svg":
        from convexnovelty.svg import picture

        return picture({owner: graph(owner) for owner in ([name] if name else methods())})
    return {"text": _text, "mermaid": _mermaid, "json": _json}[form](graph(name))


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
