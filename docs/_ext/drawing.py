"""The derivation graph of a method as a picture whose boxes and arrows are links.

An arrow bears the number of its step. Colours come from the style sheet, so that the picture follows the page's theme.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

from convexnovelty import derivation
from convexnovelty.declare import Method, Node, Step
from convexnovelty.layout import BOX, ROW, Place, bends, places, ports, rows

__all__ = ["draw", "places", "rows"]


def _path(way: list[Place], start: float, stop: float) -> tuple[str, tuple[float, float]]:
    """The curve of an arrow, and the point for its number."""
    curves = bends(way, start, stop)
    (x, y), *_, (u, v) = curves[0]
    curve = f"M{x:.0f} {y:.0f}" + "".join(
        "C" + " ".join(f"{a:.0f} {b:.0f}" for a, b in handles) for _, *handles in curves
    )
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
    ends = ports(ways)
    left = min(place.x - place.width / 2 for layer in layout for place in layer) - 8
    right = max(place.x + place.width / 2 for layer in layout for place in layer) + 8
    height = len(layout) * ROW - (ROW - BOX[1]) + 16
    arrows, drawn = [], dict.fromkeys(ways, 0)
    for source, target, data in graph.edges(data=True):
        curve, (x, y) = _path(ways[source, target], *ends[source, target])
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
