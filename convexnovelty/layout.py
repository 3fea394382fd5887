"""Where the boxes and arrows of a derivation graph stand in a picture.

Nodes stand in rows, each above what it leads to, and a row that would be too wide is broken in two. Long arrows pass
between the boxes of the rows on their way. Lengths are in the unit of a picture of which a box is 164 wide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from convexnovelty.declare import Node

if TYPE_CHECKING:
    import networkx

__all__ = ["BOX", "ROW", "Place", "bends", "places", "ports", "rows"]

Point = tuple[float, float]
Ways = dict[tuple[str, str], list["Place"]]

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
    import networkx

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


def places(graph: networkx.MultiDiGraph) -> tuple[list[list[Place]], Ways]:
    """The rows with everything at its position, and the places that each arrow visits from source to target."""
    row = rows(graph)
    boxes = {key: Place(key, row[key], data["node"]) for key, data in graph.nodes(data=True)}
    layout: list[list[Place]] = [[] for _ in range(max(row.values()) + 1)]
    for box in boxes.values():
        layout[box.row].append(box)
    ways: Ways = {}
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
            layer.sort(key=lambda place: goals[id(place)])
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


def ports(ways: Ways) -> dict[tuple[str, str], tuple[float, float]]:
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


def bends(way: list[Place], start: float, stop: float) -> list[tuple[Point, Point, Point, Point]]:
    """The cubic curves of an arrow, one after another: each as its first point, two handles and its last point."""
    first, last = way[0], way[-1]
    down = last.row >= first.row
    if first.row == last.row:  # a cut cycle within a row: a bow below both boxes
        low = first.y + BOX[1]
        return [((start, low), (start, low + 30), (stop, low + 30), (stop, low))]
    points = [(start, first.y + (BOX[1] if down else 0))]
    for place in way[1:-1]:
        ends = [(place.x, place.y), (place.x, place.y + BOX[1])]
        points += ends if down else ends[::-1]
    points.append((stop, last.y + (0 if down else BOX[1])))
    return [((x, y), (x, y + (v - y) / 2), (u, v - (v - y) / 2), (u, v)) for (x, y), (u, v) in pairwise(points)]
