"""One half-space a class, with scores that may be compared between classes: the region of several recognisers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Region
from convexnovelty.validation import Array, choice, points

__all__ = ["COMPARISONS", "ClassRegions", "Comparison"]

Comparison = Literal["distance", "ratio", "raw"]

COMPARISONS = ("distance", "ratio", "raw")


@dataclass(frozen=True, eq=False)
class ClassRegions(Region):
    r"""The union of half-spaces :math:`\langle w_c, z\rangle \ge \rho_c`, one a class, and the class of each point.

    Attributes
    ----------
    classes : (k,) the names of the classes.
    normals : (k, r) the vectors w.
    offsets : (k,) the numbers rho.
    comparison : what makes a class's output comparable with another's. "distance" is
        :math:`(\langle w_c, z\rangle - \rho_c)/\|w_c\|`, a length in feature space, the same unit for all classes;
        "ratio" is :math:`\langle w_c, z\rangle/\rho_c - 1`, in units of the class's own margin; "raw" is the output
        itself, whose size depends on how spread out the class is.
    """

    classes: NDArray[Any]
    normals: Array
    offsets: Array
    comparison: Comparison = "distance"
    tolerance: float = TIE_TOLERANCE
    scale: float | None = None

    def __post_init__(self) -> None:
        choice(self.comparison, "comparison", COMPARISONS)
        self._check()

    @property
    def level(self) -> float:
        """Zero: each class's score has its own threshold subtracted."""
        return 0.0

    @property
    def _divisors(self) -> Array:
        """What each class's output is divided by."""
        if self.comparison == "raw":
            return np.ones(self.offsets.size)
        sizes = np.linalg.norm(self.normals, axis=1) if self.comparison == "distance" else np.abs(self.offsets)
        # A recogniser with w = 0 separates nothing, and has no scale of its own.
        return np.asarray(np.where(sizes > 0, sizes, 1.0))

    def scores(self, Z: Any) -> Array:
        """The comparable score of each point in each class, of shape (m, k); at least zero inside."""
        rows = points(Z, "Z")
        if rows.shape[1] != self.normals.shape[1]:
            raise InputError(
                f"Z: {rows.shape[1]} columns were found where the region has {self.normals.shape[1]} coordinates"
            )
        return np.asarray((rows @ self.normals.T - self.offsets) / self._divisors)

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """The largest score over the classes, of shape (m,): at least zero where some class claims the point."""
        return np.asarray(self.scores(Z).max(axis=1))

    def classify(self, Z: Any) -> NDArray[Any]:
        """The class with the largest score for each point, of shape (m,), whether or not it claims the point."""
        return np.asarray(self.classes[self.scores(Z).argmax(axis=1)])

    def rounding(self, Z: Any) -> Array:
        """The largest over the classes, each proportional to the terms of its sum."""
        terms = np.abs(points(Z, "Z")) @ np.abs(self.normals).T + np.abs(self.offsets)
        return np.asarray(ROUNDING * (terms / self._divisors).max(axis=1))
