"""The region of ordinary points in the plane, or the boundaries of several regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.plots._style import FAINT, FILL, INK, PALETTE, axes, colour, dashes, labelled, planar
from convexnovelty.validation import Array, integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["decision_regions"]


def decision_regions(
    found: Any,
    features: Any = None,
    *,
    nominal: Any = None,
    novel: Any = None,
    box: Any = None,
    resolution: int = 160,
    ax: Axes | None = None,
) -> Axes:
    """Where decision values are positive.

    One region is filled, with level lines of its decision values; several are told apart by their boundaries.

    Parameters
    ----------
    found : a Solution or a region, or a mapping from labels to these.
    features : whose ``coordinates`` take points of the plane to those of the region, such as KernelFeatures; None
        where the region itself lies in the plane. A mapping with the same labels where each region has its own.
    nominal, novel : points to draw, of shape (n, 2) and (m, 2): dots, and crosses.
    box : ``(left, right, bottom, top)``; by default what holds the points, with a margin.
    resolution : values computed along each side.

    Raises
    ------
    InputError : for points that are not in the plane, and where neither points nor a box are given.
    """
    regions = {label: getattr(item, "region", item) for label, item in labelled(found).items()}
    shown = {
        name: planar(Z, name) for name, Z in (("nominal", nominal), ("novel", novel)) if Z is not None and len(Z) > 0
    }
    left, right, bottom, top = _box(shown, box)
    steps = integer(resolution, "resolution", 2)
    x, y = np.meshgrid(np.linspace(left, right, steps), np.linspace(bottom, top, steps))
    grid = np.column_stack([x.ravel(), y.ravel()])

    ax = axes(ax)
    handles = []
    for position, (label, region) in enumerate(regions.items()):
        own = features[label] if isinstance(features, dict) else features
        values = _values(region, own, grid).reshape(x.shape)
        if len(regions) == 1:
            highest = max(float(values.max()), 0.0)
            if highest > 0:
                ax.contourf(x, y, values, levels=[0.0, np.inf], colors=[FILL])
                ax.contour(x, y, values, levels=highest * np.array([0.25, 0.5, 0.75]), colors=[FAINT], linewidths=0.6)
        shade, dash = colour(position), dashes(position)
        ax.contour(x, y, values, levels=[0.0], colors=[shade], linestyles=[dash], linewidths=1.8)
        if label:
            # A line without points stands in the legend for the contour, whose own entry forgets its dashes.
            handles.append((ax.plot([], [], color=shade, linestyle=dash, linewidth=1.8)[0], label))
    _points(ax, shown, handles)
    ax.set(xlim=(left, right), ylim=(bottom, top))
    if handles:
        ax.legend(*zip(*handles, strict=True), fontsize="small", framealpha=0.9)
    return ax


def _values(region: Any, features: Any, grid: Array) -> Array:
    return np.asarray(region.decision_values(grid if features is None else features.coordinates(grid)))


def _box(shown: dict[str, Array], box: Any) -> tuple[float, float, float, float]:
    if box is not None:
        left, right, bottom, top = (float(side) for side in box)
        return left, right, bottom, top
    if not shown:
        raise InputError("box: None was found, and no points either; give box=(left, right, bottom, top)")
    together = np.vstack(list(shown.values()))
    low, high = together.min(axis=0), together.max(axis=0)
    margin = 0.12 * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = low - margin, high + margin
    return float(left), float(right), float(bottom), float(top)


def _points(ax: Axes, shown: dict[str, Array], handles: list[tuple[Any, str]]) -> None:
    styles: dict[str, dict[str, Any]] = {
        "nominal": {"s": 16, "color": INK, "label": "ordinary"},
        "novel": {"s": 26, "color": PALETTE[1], "marker": "x", "linewidths": 1.2, "label": "novel"},
    }
    for name, Z in shown.items():
        style = styles[name]
        drawn = ax.scatter(Z[:, 0], Z[:, 1], zorder=3, **style)
        if len(shown) > 1 or handles:
            handles.append((drawn, style["label"]))
