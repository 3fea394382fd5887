"""The region of a codebook: the points within a radius of one of its vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from convexnovelty.errors import InputError
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Region
from convexnovelty.validation import Array, points

__all__ = ["Codebook", "Metric", "distances"]

# A name that scipy.spatial.distance.cdist knows, or a function of two vectors.
Metric = str | Callable[[Array, Array], float]


def distances(Z: Array, X: Array, metric: Metric) -> Array:
    """The distances of the rows of Z from those of X, of shape (m, n); InputError where the metric gives none."""
    try:
        found: Array = np.asarray(cast(Any, cdist)(Z, X, metric), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"metric: {metric!r} gives no distances ({error}); give a name that scipy's cdist knows or a function "
            f"of two vectors"
        ) from error
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"metric: {metric!r} gives distances that are negative or not finite; give a metric")
    return found


@dataclass(frozen=True, eq=False)
class Codebook(Region):
    """The points within ``radius`` of a codebook vector; the decision value is the radius less the distance.

    Attributes
    ----------
    vectors : (c, p) the codebook.
    radius : in units of the metric.
    metric : as for :func:`distances`.
    rows : (c,) the numbers of the training points that the vectors are.
    """

    vectors: Array
    radius: float
    metric: Metric
    rows: NDArray[np.intp]
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        self._check()

    @property
    def level(self) -> float:
        """Minus the radius: the score is minus the distance."""
        return -self.radius

    def nearest(self, Z: Any) -> NDArray[np.intp]:
        """The number of the codebook vector that each point is replaced by, of shape (m,)."""
        if self.rows.size == 0:
            raise InputError("codebook: it has no vectors, since every point was left out; raise slack_penalty")
        return np.asarray(self._distances(Z).argmin(axis=1))

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """The radius less the distance from the nearest codebook vector, of shape (m,); minus infinity without any."""
        return np.asarray(self.radius - self._distances(Z).min(axis=1, initial=np.inf))

    def rounding(self, Z: Any) -> Array:
        """Proportional to the size of the coordinates, which differences of far-off points lose."""
        size = float(np.abs(self.vectors).max(initial=0.0))
        return np.asarray(ROUNDING * (np.abs(points(Z, "Z")).max(axis=1) + size))

    def _distances(self, Z: Any) -> Array:
        rows = points(Z, "Z")
        if rows.shape[1] != self.vectors.shape[1]:
            raise InputError(
                f"Z: {rows.shape[1]} columns were found where the codebook has {self.vectors.shape[1]} coordinates"
            )
        return distances(rows, self.vectors, self.metric)
