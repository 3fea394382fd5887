"""The weights of base kernels, one group of bars for each kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.plots._style import INK, axes, colour, labelled
from convexnovelty.validation import vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["kernel_weights"]

HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo")


def kernel_weights(weights: Any, names: Sequence[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Bars with their values.

    Parameters
    ----------
    weights : of shape (k,), or a mapping from labels to these.
    names : of the k kernels; numbered by default.

    Raises
    ------
    InputError : for weights of different lengths, or another number of names.
    """
    groups = {label: vector(values, "weights") for label, values in labelled(weights).items()}
    sizes = {values.size for values in groups.values()}
    if len(sizes) != 1:
        raise InputError(f"weights: {sorted(sizes)} weights were found; give each group one weight a kernel")
    (count,) = sizes
    titles = [f"kernel {position + 1}" for position in range(count)] if names is None else [str(name) for name in names]
    if len(titles) != count:
        raise InputError(f"names: {len(titles)} names were found for {count} weights")

    ax = axes(ax, 5.6, 1.4 + 0.45 * count)
    height = 0.8 / len(groups)
    rows = np.arange(count)
    for position, (label, values) in enumerate(groups.items()):
        places = rows + (position - (len(groups) - 1) / 2) * height
        bars = ax.barh(
            places,
            values,
            0.9 * height,
            color=colour(position),
            edgecolor="white",
            hatch=HATCHES[position % len(HATCHES)],
            label=label or None,
        )
        ax.bar_label(bars, labels=[f"{value:.2f}" for value in values], padding=3, fontsize="small", color=INK)
    ax.set_yticks(rows, titles)
    ax.invert_yaxis()  # the first kernel on top, as in a list
    ax.set(xlabel="weight", xlim=(min(0.0, *(float(v.min()) for v in groups.values())), None))
    ax.margins(x=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    if any(groups):
        ax.legend(fontsize="small")
    return ax
