"""The derivation of a method as a picture, and which of its steps held in a check."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from convexnovelty import derivation
from convexnovelty.declare import Method, Node
from convexnovelty.layout import BOX, bends, places, ports
from convexnovelty.plots._style import FAINT, INK, PALETTE, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from convexnovelty.checking.report import Report

__all__ = ["derivation_graph"]

# Kinds of nodes are told apart by shade and by frame, verdicts by colour and by dashes.
KINDS: dict[str, tuple[str, Any]] = {
    "formulation": ("#DCEAF4", "-"),
    "closed form": ("#E3F2E8", (0, (6, 2))),
    "algorithm": ("#FBEFD9", (0, (2, 1.5))),
    "other library": ("#F3E6EF", (0, (6, 2, 1.5, 2))),
}
VERDICTS: dict[str, tuple[str, Any]] = {
    "pass": (PALETTE[0], "-"),
    "fail": (PALETTE[1], (0, (4, 2))),
    "not checked": (FAINT, (0, (1.2, 1.6))),
}
WORDS = {"pass": "holds", "fail": "fails", "not checked": "not checked"}


def derivation_graph(name: str, report: Report | None = None, *, ax: Axes | None = None) -> Axes:
    """Formulations, closed forms and algorithms as boxes, steps as numbered arrows.

    Parameters
    ----------
    name : of the method.
    report : of a check; each step takes the colour of its worst verdict there. Without one all arrows are alike.

    Raises
    ------
    InputError : for a method that does not exist.
    """
    owner = derivation.method(name)
    graph = derivation.graph(name)
    layout, ways = places(graph)
    ends = ports(ways)
    # A hundred units of the layout to an inch: the names of nodes then fit into their boxes at nine points.
    width = max(place.x + place.width / 2 for layer in layout for place in layer) - min(
        place.x - place.width / 2 for layer in layout for place in layer
    )
    height = max(place.y for layer in layout for place in layer) + BOX[1]
    ax = axes(ax, width / 100 + 0.4, height / 100 + 0.7)
    drawn = dict.fromkeys(ways, 0)
    seen: dict[str, Any] = {}
    for source, target, data in graph.edges(data=True):
        step = data["step"]
        verdict = "pass" if report is None else _verdict(report, owner, step)
        line = _arrow(ax, bends(ways[source, target], *ends[source, target]), verdict)
        seen.setdefault(verdict, line)
        (x, y), *_, (u, v) = bends(ways[source, target], *ends[source, target])[0]
        _number(ax, (x + u) / 2 + 22 * drawn[source, target], (y + v) / 2, owner.steps.index(step) + 1)
        drawn[source, target] += 1
    for layer in layout:
        for place in layer:
            if place.node is not None:
                _box(ax, place.node, place.x, place.y, owner)
    ax.set(xlim=(-width / 2 - 12, width / 2 + 12), ylim=(height + 16, -8))
    ax.set_aspect("equal")
    ax.set_axis_off()
    if report is not None:
        order = [verdict for verdict in VERDICTS if verdict in seen]
        handles = [ax.plot([], [], color=VERDICTS[v][0], linestyle=VERDICTS[v][1])[0] for v in order]
        ax.legend(
            handles, [WORDS[v] for v in order], fontsize="small", ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0)
        )
    return ax


def _verdict(report: Report, owner: Method, step: Any) -> str:
    """The worst verdict that a step got in a report."""
    found = {
        row.verdict
        for row in report.rows
        if (row.method, row.source, row.target, row.claim)
        == (owner.name, step.source_node, step.target_node, step.claim)
    }
    return "fail" if "fail" in found else "pass" if "pass" in found else "not checked"


def _arrow(ax: Axes, curves: Any, verdict: str) -> Any:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    points, codes = [curves[0][0]], [Path.MOVETO]
    for _, *handles in curves:
        points += handles
        codes += [Path.CURVE4] * 3
    shade, dash = VERDICTS[verdict]
    return ax.add_patch(
        FancyArrowPatch(
            path=Path(points, codes),
            arrowstyle="-|>",
            mutation_scale=9,
            color=shade,
            linestyle=dash,
            linewidth=1.2,
            zorder=1,
        )
    )


def _number(ax: Axes, x: float, y: float, number: int) -> None:
    ring = {"boxstyle": "circle,pad=0.22", "facecolor": "white", "edgecolor": FAINT, "linewidth": 0.7}
    ax.text(x, y, str(number), fontsize=7, ha="center", va="center", color=INK, bbox=ring, zorder=3)


def _box(ax: Axes, node: Node, x: float, y: float, owner: Method) -> None:
    from matplotlib.patches import FancyBboxPatch

    shade, dash = KINDS[node.kind]
    width, height = BOX
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2 + 4, y + 4),
            width - 8,
            height - 8,
            boxstyle="round,pad=4,rounding_size=6",
            facecolor=shade,
            edgecolor=INK,
            linestyle=dash,
            linewidth=0.8,
            zorder=2,
        )
    )
    below = node.source if node.method == owner.name else f"of {node.method}"
    ax.text(x, y + 18, node.name, fontsize=8.5, ha="center", va="center", color=INK, zorder=4)
    ax.text(
        x,
        y + 34,
        textwrap.shorten(below, 30, placeholder=" …"),
        fontsize=6.5,
        ha="center",
        va="center",
        color=INK,
        zorder=4,
    )
