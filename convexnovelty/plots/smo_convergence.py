"""How a pair-by-pair algorithm comes to the optimum: a gap that falls, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.plots._style import FAINT, axes, colour, dashes, labelled
from convexnovelty.validation import positive, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["smo_convergence"]


def smo_convergence(
    gaps: Any, *, tolerance: float | None = None, ylabel: str = "KKT gap", ax: Axes | None = None
) -> Axes:
    """The gap after each step on a logarithmic axis.

    Parameters
    ----------
    gaps : the gap before the first step and after each one, of shape (steps + 1,), or a mapping from labels to these.
        Gaps of zero end the curve.
    tolerance : a gap that is small enough, drawn as a line.

    Raises
    ------
    InputError : for gaps that are not finite, and a tolerance that is not positive.
    """
    ax = axes(ax)
    runs = labelled(gaps)
    for position, (label, values) in enumerate(runs.items()):
        gap = vector(values, "gaps")
        shown = np.where(gap > 0, gap, np.nan)
        style = {"color": colour(position), "linestyle": dashes(position)}
        text = f"{label} ({gap.size - 1} steps)" if label else None
        ax.semilogy(np.arange(gap.size), shown, linewidth=1.4, label=text, **style)
    if tolerance is not None:
        limit = positive(tolerance, "tolerance")
        ax.axhline(limit, color=FAINT, linewidth=0.9)
        ax.annotate("tolerance", (0.01, limit), xycoords=("axes fraction", "data"), fontsize="small", va="bottom")
    ax.set(xlabel="steps", ylabel=ylabel)
    if any(runs):
        ax.legend(fontsize="small")
    return ax
