"""What all pictures share: axes to draw on, and colours with markers and line styles of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.validation import Array, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DASHES", "FAINT", "FILL", "INK", "MARKERS", "PALETTE", "axes", "colour", "dashes", "labelled", "planar"]

# Okabe and Ito (2008): told apart with every common form of colour vision. Yellow is left out, being pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)), (0, (9, 3)), (0, (3, 2, 1, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, FAINT, FILL = "#222222", "#8A8A8A", "#DCEAF4"


def axes(ax: Axes | None, width: float = 5.6, height: float = 4.2) -> Axes:
    """The axes that were given, or those of a new figure with a size in inches.

    Raises ConvexNoveltyError where matplotlib is not installed, with the command that installs it.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ConvexNoveltyError(
            'plots: matplotlib is not installed; run: python -m pip install "convexnovelty[plot]"'
        ) from error
    made: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return made


def colour(position: int) -> str:
    """The colour at a place of the palette, which begins anew after its end."""
    return PALETTE[position % len(PALETTE)]


def dashes(position: int) -> Any:
    """The line style that goes with the colour at this place."""
    return DASHES[position % len(DASHES)]


def labelled(things: Any) -> dict[str, Any]:
    """Things to compare, by label: a mapping as it is, and a single thing under the empty label."""
    return dict(things) if isinstance(things, Mapping) else {"": things}


def planar(Z: Any, name: str) -> Array:
    """Points of a plane, of shape (n, 2). Raises InputError for another dimension."""
    rows = points(Z, name)
    if rows.shape[1] != 2:
        raise InputError(f"{name}: {rows.shape[1]} columns were found; a picture of a plane takes points with 2")
    return np.asarray(rows)
