r"""Rates of threshold classifiers, with ties counted as they are.

The classifier of a threshold t calls novel what scores strictly above it, :math:`f_t(z) = 1 \iff s(z) > t`. Points
with equal scores fall on the same side of every threshold, so only distinct values are thresholds, and counts are
whole numbers until they are divided at the very end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from convexnovelty.validation import Array, scores

__all__ = ["area_under_curve", "areas_under_curves", "concave_hull", "exceedances"]

Counts = NDArray[np.int64]


def exceedances(scores: Array, thresholds: Array) -> Counts:
    """How many scores lie strictly above each threshold."""
    ordered = np.sort(scores)
    return np.asarray(ordered.size - np.searchsorted(ordered, thresholds, side="right"), dtype=np.int64)


def area_under_curve(scores_nominal: Any, scores_novel: Any) -> float:
    """P(nominal < novel) + P(nominal = novel) / 2 over all pairs: the area under the ROC curve, ties at half.

    Examples
    --------
    >>> area_under_curve([0, 1], [1, 2])
    0.875
    """
    nominal, novel = scores(scores_nominal, "scores_nominal"), scores(scores_novel, "scores_novel")
    together = np.concatenate([nominal, novel])
    return float(areas_under_curves(together[:, None], np.arange(together.size) >= nominal.size)[0])


def areas_under_curves(columns: Array, novel: NDArray[np.bool_]) -> Array:
    """The same of each column of finite scores, of which ``novel`` tells the rows that are novel."""
    above, count = stats.rankdata(columns, axis=0)[novel].sum(axis=0), int(novel.sum())
    return np.asarray((above - count * (count + 1) / 2) / (count * (novel.size - count)))


def concave_hull(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """Indices of the corners of the least concave function above the points (x, y), from left to right.

    Whole numbers are compared without rounding as long as their products fit into 64 bits.
    """
    corners: list[int] = []
    for i in np.lexsort((y, x)):
        while corners and x[corners[-1]] == x[i]:  # the same place, not higher: lexsort puts the highest last
            corners.pop()
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (x[b] - x[a]) * (y[i] - y[a]) < (y[b] - y[a]) * (x[i] - x[a]):
                break  # b lies above the line from a to i
            corners.pop()
        corners.append(int(i))
    return np.asarray(corners, dtype=np.intp)
