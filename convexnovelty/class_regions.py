"""One half-space a class, with scores that may be compared between classes: the region of several recognisers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError
from convexnovelty.owned import owned, read_only
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Region
from convexnovelty.validation import Array, choice, nonnegative, points, vector

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
    scale : the size of scores of which ties are a share, one number or one a class, of shape (k,).
    """

    classes: NDArray[Any]
    normals: Array
    offsets: Array
    comparison: Comparison = "distance"
    tolerance: float = TIE_TOLERANCE
    scale: Any = None

    def __post_init__(self) -> None:
        choice(self.comparison, "comparison", COMPARISONS)
        for name in ("classes", "normals", "offsets"):
            object.__setattr__(self, name, owned(getattr(self, name)))
        object.__setattr__(self, "tolerance", nonnegative(self.tolerance, "tolerance"))
        if self.scale is not None:
            given = vector(np.broadcast_to(self.scale, self.offsets.shape), "scale")
            object.__setattr__(self, "scale", read_only(np.array([nonnegative(size, "scale") for size in given])))

    @classmethod
    def of_outputs(cls, classes: Any, normals: Any, offsets: Any, comparison: Comparison, scales: Any) -> ClassRegions:
        """The regions whose ties are shares of ``scales``, of shape (k,), in units of the outputs <w, z> themselves."""
        bare = cls(classes, normals, offsets, comparison)
        return cls(classes, normals, offsets, comparison, scale=np.asarray(scales) / bare.divisors)

    @property
    def tie(self) -> float:
        """The largest tie of a class; :meth:`contains` takes each class's own."""
        return float(self._ties.max(initial=0.0))

    @property
    def _ties(self) -> Array:
        return np.asarray(self.tolerance * (np.zeros(self.offsets.size) if self.scale is None else self.scale))

    @property
    def level(self) -> float:
        """Zero: each class's score has its own threshold subtracted."""
        return 0.0

    @property
    def divisors(self) -> Array:
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
        return np.asarray((rows @ self.normals.T - self.offsets) / self.divisors)

    def decision_values(self, Z: Any, squared_norms: Any = None) -> Array:
        """The largest score over the classes, of shape (m,): at least zero where some class claims the point."""
        return np.asarray(self.scores(Z).max(axis=1))

    def classify(self, Z: Any) -> NDArray[Any]:
        """The class with the largest score for each point, of shape (m,), whether or not it claims the point; of several the first.

        Scores tie that differ by no more than both are known to, as those of classes do that share the rows on their boundaries.
        """
        scores, doubt = self.scores(Z), self._ties + self._roundings(Z)
        best = scores.argmax(axis=1)[:, None]
        surely = np.take_along_axis(scores - doubt, best, axis=1)
        return np.asarray(self.classes[(scores + doubt >= surely).argmax(axis=1)])

    def contains(self, Z: Any, squared_norms: Any = None) -> NDArray[np.bool_]:
        """Whether some class claims each row, of shape (m,); points on the boundary of a class are its own."""
        return np.asarray(self.claims(Z).any(axis=1))

    def claims(self, Z: Any) -> NDArray[np.bool_]:
        """Which classes claim each row, of shape (m, k)."""
        return np.asarray(self.scores(Z) >= -(self._ties + self._roundings(Z)))

    def rounding(self, Z: Any) -> Array:
        """The largest over the classes, each proportional to the terms of its sum."""
        return np.asarray(self._roundings(Z).max(axis=1))

    def _roundings(self, Z: Any) -> Array:
        terms = np.abs(points(Z, "Z")) @ np.abs(self.normals).T + np.abs(self.offsets)
        return np.asarray(ROUNDING * terms / self.divisors)
