"""The region of a codebook: the points within a radius of one of its vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError
from convexnovelty.owned import owned
from convexnovelty.point_distances import Distances, Metric, StandardizedMetric, distances
from convexnovelty.regions import TIE_TOLERANCE, Region
from convexnovelty.validation import Array, points

__all__ = ["Codebook", "Metric", "StandardizedMetric"]


@dataclass(frozen=True, eq=False)
class Codebook(Region):
    """The points within ``radius`` of a codebook vector; the decision value is the radius less the distance.

    Attributes
    ----------
    vectors : (c, p) the codebook.
    radius : in units of the metric.
    metric : as for :func:`~convexnovelty.point_distances.distances`; what it estimates is that of the training points, see
        :func:`~convexnovelty.point_distances.fitted`.
    rows : (c,) the numbers of the training points that the vectors are.
    """

    vectors: Array
    radius: float
    metric: Metric
    rows: NDArray[np.intp]
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("vectors", "rows"):
            object.__setattr__(self, name, owned(getattr(self, name)))
        self._check()

    @property
    def level(self) -> float:
        """Minus the radius: the score is minus the distance."""
        return -self.radius

    def nearest(self, Z: Any) -> NDArray[np.intp]:
        """The number of the codebook vector that each point is replaced by, of shape (m,); of several as near, the first."""
        if self.rows.size == 0:
            raise InputError("codebook: it has no vectors, since every point was left out; raise slack_penalty")
        distances = self._distances(Z)
        # Distances that are equal but for rounding tie: which is less would depend on the other points of the call.
        return np.asarray((distances.known <= distances.found.min(axis=1, keepdims=True)).argmax(axis=1))

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """The radius less the distance from the nearest codebook vector, of shape (m,); minus infinity without any."""
        return np.asarray(self.radius - self._distances(Z).found.min(axis=1, initial=np.inf))

    def rounding(self, Z: Any) -> Array:
        """How much nearer each point may be, in units of the metric, of shape (m,)."""
        if self.rows.size == 0:
            return np.zeros(len(points(Z, "Z")))
        distances = self._distances(Z)
        return np.asarray(distances.found.min(axis=1) - distances.known.min(axis=1))

    def contains(self, Z: Any, squared_norms: Any = None) -> NDArray[np.bool_]:
        """Whether each row lies within the radius of a vector, of shape (m,); points at the radius do."""
        return np.asarray(self._distances(Z).known.min(axis=1, initial=np.inf) <= self.radius + self.tie)

    def _distances(self, Z: Any) -> Distances:
        rows = points(Z, "Z")
        if rows.shape[1] != self.vectors.shape[1]:
            raise InputError(
                f"Z: {rows.shape[1]} columns were found where the codebook has {self.vectors.shape[1]} coordinates"
            )
        return distances(rows, self.vectors, self.metric, self.radius)
