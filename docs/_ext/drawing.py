"""The derivation graph of a method as a picture whose boxes and arrows are links.

Nodes stand in rows, each above what it leads to, and a row that would be too wide for a page is broken in two. An
arrow bears the number of its step. Colours come from the style sheet, so that the picture follows the page's theme.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

import networkx

from convexnovelty import derivation
from convexnovelty.declare import Method, Node, Step

BOX, PASSAGE = (164, 46), 34  # size of a box; width that a passing arrow takes in a row
GAP, ROW = 16, 104  # between neighbours in a row; from the top of one row to the top of the next
LONGEST = 4  # boxes in a row
SWEEPS = 8


@dataclass
class Place:
    """A box, or a point at which a long arrow passes through a row."""

    key: str
    row: int
    node: Node | None = None
    x: float = 0.0
    above: list[Place] = field(default_factory=list)
    below: list[Place] = field(default_factory=list)

    @property
    def width(self) -> float:
        """What it takes of its row."""
        return BOX[0] if self.node else PASSAGE

    @property
    def y(self) -> float:
        """Its upper edge."""
        return self.row * ROW + 8


def rows(graph: networkx.DiGraph) -> dict[str, int]:
    """The row of each node, counted from the top; every arrow points down, and cycles are cut at one arrow."""
    graph = networkx.DiGraph(graph)
    while not networkx.is_directed_acyclic_graph(graph):
        graph.remove_edge(*networkx.find_cycle(graph)[-1][:2])
    # Counted from the ends of the arrows, so that a node stands directly above what it leads to.
    layers = [sorted(layer) for layer in networkx.topological_generations(graph.reverse())]
    broken: list[list[str]] = []
    for layer in layers:
        pieces = -(-len(layer) // LONGEST)
        size = -(-len(layer) // pieces)
        # Nodes to which nothing leads go up first: they add no crossing.
        layer.sort(key=lambda key: graph.in_degree(key) == 0)
        broken += [layer[start : start + size] for start in range(0, len(layer), size)]
    return {key: len(broken) - 1 - height for height, layer in enumerate(broken) for key in layer}


def places(graph: networkx.MultiDiGraph) -> tuple[list[list[Place]], dict[tuple[str, str], list[Place]]]:
    """The rows with everything at its position, and the places that each arrow visits from source to target."""
    row = rows(graph)
    boxes = {key: Place(key, row[key], data["node"]) for key, data in graph.nodes(data=True)}
    layout: list[list[Place]] = [[] for _ in range(max(row.values()) + 1)]
    for box in boxes.values():
        layout[box.row].append(box)
    ways: dict[tuple[str, str], list[Place]] = {}
    for source, target in dict.fromkeys((source, target) for source, target, _ in graph.edges):
        step = 1 if row[target] >= row[source] else -1
        passing = [Place(f"{source}>{target}", between) for between in range(row[source] + step, row[target], step)]
        for place in passing:
            layout[place.row].append(place)
        way = [boxes[source], *passing, boxes[target]]
        ways[source, target] = way
        for upper, lower in pairwise(way if step > 0 else way[::-1]):
            upper.below.append(lower)
            lower.above.append(upper)
    _order(layout)
    return layout, ways


def _order(layout: list[list[Place]]) -> None:
    """Sort each row by where its neighbours stand, down and up in turn, and set the row's middle to the page's."""
    for layer in layout:
        layer.sort(key=lambda place: place.key)
    for sweep in range(SWEEPS):
        for layer in layout if sweep % 2 == 0 else layout[::-1]:
            _spread(layer)
            goals = {id(place): _goal(place, place.above if sweep % 2 == 0 else place.below) for place in layer}
            layer.sort(key=lambda place, goals=goals: goals[id(place)])
            _spread(layer)


def _goal(place: Place, near: list[Place]) -> float:
    """The middle of the neighbours in the next row."""
    return sum(other.x for other in near) / len(near) if near else place.x


def _spread(layer: list[Place]) -> None:
    width = sum(place.width for place in layer) + GAP * (len(layer) - 1)
    left = -width / 2
    for place in layer:
        place.x = left + place.width / 2
        left += place.width + GAP


def _ports(ways: dict[tuple[str, str], list[Place]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Where each arrow leaves its source and reaches its target: side by side along the edge of the box."""
    found: dict[tuple[str, str], list[float]] = {arrow: [0.0, 0.0] for arrow in ways}
    for end, beside in ((0, 1), (-1, -2)):
        by_side: dict[tuple[str, bool], list[tuple[float, tuple[str, str]]]] = {}
        for arrow, way in ways.items():
            upward = way[beside].row < way[end].row
            by_side.setdefault((way[end].key, upward), []).append((way[beside].x, arrow))
        for arrows in by_side.values():
            for position, (_, arrow) in enumerate(sorted(arrows)):
                share = (position + 1) / (len(arrows) + 1) - 0.5
                found[arrow][end] = ways[arrow][end].x + share * BOX[0]
    return {arrow: (start, stop) for arrow, (start, stop) in found.items()}


def _path(way: list[Place], start: float, stop: float) -> tuple[str, tuple[float, float]]:
    """The curve of an arrow, and the point for its number."""
    down = way[-1].row >= way[0].row
    points = [(start, way[0].y + (BOX[1] if down else 0))]
    for place in way[1:-1]:
        points += (
            [(place.x, place.y), (place.x, place.y + BOX[1])]
            if down
            else [(place.x, place.y + BOX[1]), (place.x, place.y)]
        )
    points.append((stop, way[-1].y + (0 if down else BOX[1])))
    if way[0].row == way[-1].row:  # a cut cycle within a row: a bow below both boxes
        points = [(start, way[0].y + BOX[1]), (stop, way[-1].y + BOX[1])]
    curve = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x, y), (u, v) in pairwise(points):
        bend = (v - y) / 2 if way[0].row != way[-1].row else 30
        curve += (
            f"C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend if way[0].row != way[-1].row else v + bend:.0f} {u:.0f} {v:.0f}"
        )
    (x, y), (u, v) = points[:2]
    return curve, ((x + u) / 2, (y + v) / 2)


def _box(place: Place, node: Node, owner: Method, link: str) -> str:
    words = node.source if node.method == owner.name else f"of {node.method}"
    kind = node.kind.replace(" ", "-") + ("" if node.method == owner.name else " other-method")
    x, y = place.x - BOX[0] / 2, place.y
    return (
        f'<a href={quoteattr(link)} class="node {kind}"><title>{escape(node.summary)}</title>'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="6"/>'
        f'<text x="{place.x:.0f}" y="{y + 19:.0f}" class="name">{escape(node.name)}</text>'
        f'<text x="{place.x:.0f}" y="{y + 35:.0f}">{escape(textwrap.shorten(words, 30, placeholder=" …"))}</text></a>'
    )


def _arrow(curve: str, middle: tuple[float, float], number: int, step: Step, link: str) -> str:
    words = escape(f"{number}. {step.claim} ({step.equation})")
    x, y = middle
    return (
        f'<a href={quoteattr(link)} class="step"><title>{words}</title><path d="{curve}" marker-end="url(#arrow)"/>'
        f'<path d="{curve}" class="target"/><circle cx="{x:.0f}" cy="{y:.0f}" r="9"/>'
        f'<text x="{x:.0f}" y="{y + 3.5:.0f}">{number}</text></a>'
    )


def draw(owner: Method, node_link: Callable[[Node], str], step_link: Callable[[Method, Step], str]) -> str:
    """The picture of one method as a figure for a page, in one block of HTML without an empty line."""
    graph = derivation.graph(owner.name)
    layout, ways = places(graph)
    ports = _ports(ways)
    left = min(place.x - place.width / 2 for layer in layout for place in layer) - 8
    right = max(place.x + place.width / 2 for layer in layout for place in layer) + 8
    height = len(layout) * ROW - (ROW - BOX[1]) + 16
    arrows, drawn = [], dict.fromkeys(ways, 0)
    for source, target, data in graph.edges(data=True):
        curve, (x, y) = _path(ways[source, target], *ports[source, target])
        # Several steps between the same two nodes share their curve and stand in line on it.
        middle = (x + 20 * drawn[source, target], y)
        drawn[source, target] += 1
        step = data["step"]
        arrows.append(_arrow(curve, middle, owner.steps.index(step) + 1, step, step_link(owner, step)))
    boxes = [_box(place, place.node, owner, node_link(place.node)) for layer in layout for place in layer if place.node]
    return "\n".join(
        [
            '<figure class="drawing">',
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} 0 {right - left:.0f} {height:.0f}" '
            f'width="{right - left:.0f}" role="group"><title>Derivation graph of {escape(owner.title)}</title>',
            '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0L10 5L0 10z"/></marker></defs>',
            *arrows,
            *boxes,
            "</svg>",
            "</figure>\n",
        ]
    )
