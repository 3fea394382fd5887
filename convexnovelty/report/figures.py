"""The figures of the HTML report, as SVG that follows the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from convexnovelty.checking.cross_check import Cell
from convexnovelty.report.summary import FASTEST, SMALLEST, Profile, label, time_of

__all__ = ["accuracy_against_time", "legend", "profile_chart", "style_of"]

WIDTH, HEIGHT = 460, 290
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 40
DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 4", "12 4", "4 2 1 2", "6 6", "3 1", "10 2 2 2 2 2")
MARKS = 8


def style_of(place: int) -> tuple[str, str]:
    """The colour (a CSS variable) and the dashes of the solver at a place; no two of the first hundred share both."""
    return f"var(--s{place % 10})", DASHES[(place + place // 10) % len(DASHES)]


def _mark(place: int, x: float, y: float, size: float = 3.2) -> str:
    """One of eight shapes, so that colour is not the only way to tell solvers apart."""
    color = style_of(place)[0]
    kind = place % MARKS
    if kind == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{color}"/>'
    if kind == 4:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="none" stroke="{color}" stroke-width="1.4"/>'
    shapes: dict[int, list[tuple[float, float]]] = {
        1: [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        2: [(0, -1.3), (1.2, 1), (-1.2, 1)],
        3: [(0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)],
        5: [(0, 1.3), (1.2, -1), (-1.2, -1)],
    }
    corners = shapes.get(kind)
    if corners is not None:
        points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
        return f'<polygon points="{points}" fill="{color}"/>'
    lines = [(-1, -1, 1, 1), (-1, 1, 1, -1)] if kind == 6 else [(-1.2, 0, 1.2, 0), (0, -1.2, 0, 1.2)]
    path = "".join(
        f"M{x + size * a:.1f} {y + size * b:.1f}L{x + size * c:.1f} {y + size * d:.1f}" for a, b, c, d in lines
    )
    return f'<path d="{path}" stroke="{color}" stroke-width="1.6" fill="none"/>'


def legend(solvers: Sequence[str]) -> str:
    """Names with their line and mark."""
    parts = []
    for place, solver in enumerate(solvers):
        color, dash = style_of(place)
        line = f'<line x1="1" y1="8" x2="33" y2="8" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>'
        svg = f'<svg width="34" height="16" aria-hidden="true">{line}{_mark(place, 17, 8, 3.6)}</svg>'
        parts.append(f"<li>{svg} {escape(label(solver))}</li>")
    return f'<ul class="legend">{"".join(parts)}</ul>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _frame(title: str, across: str, up: str, ticks_x: list[tuple[float, str]], ticks_y: list[tuple[float, str]]) -> str:
    parts = [f"<title>{escape(title)}</title>"]
    for share, text in ticks_x:
        x = _x(share)
        parts.append(f'<line x1="{x:.1f}" y1="{_y(0):.1f}" x2="{x:.1f}" y2="{_y(1):.1f}" class="grid"/>')
        anchor = "end" if share == 1 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{_y(0) + 14:.1f}" text-anchor="{anchor}">{text}</text>')
    for share, text in ticks_y:
        y = _y(share)
        parts.append(f'<line x1="{_x(0):.1f}" y1="{y:.1f}" x2="{_x(1):.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    parts.append(f'<text x="{_x(0.5):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(across)}</text>')
    parts.append(f'<text transform="translate(13 {_y(0.5):.1f}) rotate(-90)" text-anchor="middle">{escape(up)}</text>')
    return "".join(parts)


def _svg(title: str, inside: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{inside}</svg>'


def profile_chart(title: str, found: Sequence[Profile], solvers: Sequence[str]) -> str:
    """Performance profiles of one class."""
    widest = max((p.ratios[-1] for p in found if p.ratios), default=10.0)
    decades = max(1, math.ceil(math.log10(max(widest, 1.0001))))
    ticks_x = [(i / decades, f"{10**i:g}") for i in range(decades + 1)]
    ticks_y = [(i / 4, f"{25 * i} %") for i in range(5)]
    parts = [_frame(title, "time, as a multiple of the fastest", "share of problems right", ticks_x, ticks_y)]
    for profile in found:
        color, dash = style_of(list(solvers).index(profile.solver))
        if not profile.ratios:
            continue
        path, share = f"M{_x(0):.1f} {_y(0):.1f}", 0.0
        for ratio, following in zip(profile.ratios, profile.shares, strict=True):
            x = _x(math.log10(ratio) / decades)
            path += f"L{x:.1f} {_y(share):.1f}L{x:.1f} {_y(following):.1f}"
            share = following
        path += f"L{_x(1):.1f} {_y(share):.1f}"
        parts.append(
            f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}">'
            f"<title>{escape(label(profile.solver))}: right on {share:.0%} of {profile.problems}</title></path>"
        )
    return _svg(title, "".join(parts))


def accuracy_against_time(cells: Sequence[Cell], solvers: Sequence[str]) -> str:
    """Each answer with an objective as a point: how long it took, and how far it is from the interval."""
    title = "accuracy against time"
    points = [c for c in cells if c.error is not None and c.solver in solvers and c.word != "not admitted"]
    slowest = max((time_of(c) for c in points), default=1.0)
    low, high = math.log10(FASTEST), max(0.0, math.ceil(math.log10(slowest)))
    deep = -math.log10(SMALLEST)
    ticks_x = [((i - low) / (high - low), f"{10.0**i:g}") for i in range(int(low), int(high) + 1)]
    ticks_y = [(1 - i / deep, "inside" if i == deep else f"1e-{i}" if i else "1") for i in range(0, int(deep) + 1, 4)]
    parts = [_frame(title, "seconds in the solver", "relative error", ticks_x, ticks_y)]
    for cell in points:
        error = min(max(cell.error or 0.0, SMALLEST), 1.0)
        x, y = _x((math.log10(time_of(cell)) - low) / (high - low)), _y(1 + math.log10(error) / deep)
        mark = _mark(list(solvers).index(cell.solver), x, y)
        told = f"{label(cell.solver)}, {cell.subject}: {cell.error:.1e} in {cell.solve:.3g} s"
        parts.append(f"<g><title>{escape(told)}</title>{mark}</g>")
    return _svg(title, "".join(parts))
