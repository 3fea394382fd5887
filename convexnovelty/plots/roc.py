"""The ROC curve of a detector, with what its guarantee promises of false alarms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.algorithms.roc import area_under_curve, exceedances
from convexnovelty.errors import InputError
from convexnovelty.plots._style import FAINT, INK, PALETTE, axes, colour, dashes, labelled
from convexnovelty.validation import Array, fraction, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["roc"]


def roc(
    nominal: Any,
    novel: Any,
    *,
    threshold: float | None = 0.0,
    guarantee: Any = None,
    bound: Callable[[float], float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Share of novelties found against the share of false alarms, over all thresholds.

    Parameters
    ----------
    nominal, novel : decision values of ordinary and of novel points, larger for more ordinary ones, of shape (n,) and
        (m,); or two mappings with the same labels, to compare detectors.
    threshold : points below it are called novel; the rates there are marked. None marks none.
    guarantee : a Guarantee with ``bound``, or the number itself: the largest share of false alarms that it allows. What
        it rules out is hatched.
    bound : from a threshold to the largest share of false alarms that is guaranteed there. The rates that it
        promises are drawn as a second curve, to the right of the first as long as the guarantee holds.

    Raises
    ------
    InputError : for values that are not finite, labels that only one of the two has, and a bound outside of [0, 1].
    """
    ordinary, strange = labelled(nominal), labelled(novel)
    if set(ordinary) != set(strange):
        raise InputError(
            f"novel: labels {sorted(map(str, strange))} were found beside {sorted(map(str, ordinary))} of nominal; "
            "give both the same"
        )
    ax = axes(ax, 4.8, 4.6)
    for position, label in enumerate(ordinary):
        first, second = vector(ordinary[label], "nominal"), vector(strange[label], "novel")
        thresholds = np.concatenate([[-np.inf], np.unique(np.concatenate([first, second])), [np.inf]])
        alarms, found = rates(first, second, thresholds)
        area = area_under_curve(-first, -second)
        text = f"{label}, area {area:.3f}" if label else f"observed, area {area:.3f}"
        shade = colour(position)
        ax.plot(alarms, found, color=shade, linestyle=dashes(position), linewidth=1.8, label=text)
        if bound is not None:
            finite = thresholds[1:-1]
            promised = [fraction(bound(float(t)), "bound(threshold)", zero=True, one=True) for t in finite]
            ax.plot(promised, found[1:-1], color=shade, linewidth=1.2, linestyle=":", label="guaranteed")
        if threshold is not None:
            at = rates(first, second, np.array([float(threshold)]))
            ax.plot(*at, marker="o", color=shade, markersize=7, markeredgecolor="white", linestyle="none", zorder=4)
    if guarantee is not None:
        limit = fraction(getattr(guarantee, "bound", guarantee), "guarantee", zero=True, one=True)
        ax.axvspan(limit, 1.0, facecolor="none", edgecolor=FAINT, hatch="//", linewidth=0, alpha=0.35)
        ax.axvline(limit, color=PALETTE[1], linewidth=1.2, label=f"false alarms ≤ {limit:.3g}")
    ax.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false alarms", ylabel="novelties found")
    ax.set_aspect("equal")
    ax.legend(fontsize="small", loc="lower right", framealpha=0.95, labelcolor=INK)
    return ax


def rates(nominal: Array, novel: Array, thresholds: Array) -> tuple[Array, Array]:
    """Shares of nominal and of novel values strictly below each threshold."""
    alarms = exceedances(-nominal, -thresholds) / nominal.size
    found = exceedances(-novel, -thresholds) / novel.size
    return alarms, found
