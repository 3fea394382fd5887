"""The derivation graph as one self-contained SVG picture: a drawing a method, and its steps in words below it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from convexnovelty.declare import Node
from convexnovelty.layout import BOX, ROW, Place, bends, places, ports

if TYPE_CHECKING:
    import networkx

__all__ = ["picture"]

COLOURS = {"formulation": "#cfe3f7", "closed form": "#d5efd8", "algorithm": "#fbe6c8", "other library": "#e8e2f3"}
MARGIN, HEADING, LINE, COLUMNS = 16, 44, 17, 100


def picture(graphs: Mapping[str, networkx.MultiDiGraph]) -> str:
    """The graphs of several methods, one below the other, each under its title."""
    parts: list[str] = []
    top, width = 0.0, 0.0
    for title, graph in graphs.items():
        part, right, height = _method(title, graph, top)
        parts.append(part)
        top, width = top + height, max(width, right)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {top:.0f}" width="{width:.0f}" '
            f'height="{top:.0f}" font-family="sans-serif" font-size="12" role="img"><title>Derivation graph</title>',
            '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{top:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )


def _method(title: str, graph: networkx.MultiDiGraph, top: float) -> tuple[str, float, float]:
    """One drawing, its width and its height; ``top`` is where it begins."""
    layout, ways = places(graph)
    ends = ports(ways)
    left = min(place.x - place.width / 2 for layer in layout for place in layer) - MARGIN
    right = max(place.x + place.width / 2 for layer in layout for place in layer) + MARGIN
    below = len(layout) * ROW - (ROW - BOX[1]) + 2 * LINE
    arrows, words = [], []
    drawn = dict.fromkeys(ways, 0)
    for number, (source, target, data) in enumerate(graph.edges(data=True), start=1):
        curves = bends(ways[source, target], *ends[source, target])
        (x, y), *_, (u, v) = curves[0]
        curve = f"M{x:.0f} {y:.0f}" + "".join("C" + " ".join(f"{a:.0f} {b:.0f}" for a, b in h) for _, *h in curves)
        # Several steps between the same two nodes share their curve and stand in line on it.
        middle = ((x + u) / 2 + 20 * drawn[source, target], (y + v) / 2)
        drawn[source, target] += 1
        arrows.append(
            f'<path d="{curve}" fill="none" stroke="#555" marker-end="url(#arrow)"/>'
            f'<circle cx="{middle[0]:.0f}" cy="{middle[1]:.0f}" r="9" fill="#fff" stroke="#555"/>'
            f'<text x="{middle[0]:.0f}" y="{middle[1] + 4:.0f}" text-anchor="middle" font-size="11">{number}</text>'
        )
        step = data["step"]
        words += textwrap.wrap(f"{number}. {step.claim} ({step.equation})", COLUMNS, subsequent_indent="    ")
    boxes = [_box(place, place.node, title) for layer in layout for place in layer if place.node is not None]
    legend = [
        f'<text x="{left + MARGIN:.0f}" y="{below + LINE * line:.0f}" xml:space="preserve">{escape(text)}</text>'
        for line, text in enumerate(words)
    ]
    height = HEADING + below + LINE * len(words) + MARGIN
    width = max(right - left, 6.6 * COLUMNS + 2 * MARGIN)
    head = f'<text x="{MARGIN}" y="{top + 28:.0f}" font-size="17" font-weight="bold">{escape(title)}</text>'
    body = "\n".join([*arrows, *boxes, *legend])
    return f'{head}<g transform="translate({-left:.0f} {top + HEADING:.0f})">{body}</g>', width, height


def _box(place: Place, node: Node, title: str) -> str:
    words = node.source if node.method == title else f"of {node.method}"
    x, y = place.x - BOX[0] / 2, place.y
    return (
        f"<g><title>{escape(node.summary)}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="6" fill="{COLOURS[node.kind]}" stroke="#446"/>'
        f'<text x="{place.x:.0f}" y="{y + 19:.0f}" text-anchor="middle" font-weight="bold">{escape(node.name)}</text>'
        f'<text x="{place.x:.0f}" y="{y + 35:.0f}" text-anchor="middle" font-size="10">'
        f"{escape(textwrap.shorten(words, 30, placeholder=' …'))}</text></g>"
    )
