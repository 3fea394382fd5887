"""What a fitted estimator keeps: a score of new points, larger for more ordinary ones, that can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.algorithms.block_dual import decision
from convexnovelty.algorithms.gram import exponent_doubts
from convexnovelty.kernels import Kernel, Linear
from convexnovelty.regions import Region
from convexnovelty.sparse_rows import is_sparse, sparse_distances_to
from convexnovelty.validation import Array

__all__ = ["BallScore", "DistanceScore", "ExpansionScore", "LinearScore", "RegionScore", "Score"]


class Score:
    """A function from points to scores."""

    def __call__(self, Z: Array) -> Array:
        """Scores of shape (m,) for points of shape (m, p)."""
        raise NotImplementedError


@dataclass(frozen=True)
class LinearScore(Score):
    """w'z for points, dense or sparse."""

    normal: Array

    def doubts(self, Z: Any, scores: Array) -> Array:
        """Nothing beside rounding of the terms of each score."""
        return np.zeros_like(scores)

    def __call__(self, Z: Any) -> Array:
        """The score of each row."""
        return np.asarray(Z @ self.normal).ravel()


@dataclass(frozen=True)
class RegionScore(Score):
    """The score of a region in the coordinates of a feature map."""

    features: Any
    region: Region

    def __call__(self, Z: Array) -> Array:
        """The score of each row."""
        return np.asarray(self.region.decision_values(self.features.coordinates(Z)) + self.region.level)


@dataclass(frozen=True)
class DistanceScore(Score):
    """Minus the squared distance to a centre, for points, dense or sparse."""

    center: Array

    def __call__(self, Z: Any) -> Array:
        """The score of each row."""
        if is_sparse(Z):
            return -sparse_distances_to(Z, self.center)
        away = Z - self.center
        return np.asarray(-np.einsum("ij,ij->i", away, away))


@dataclass(frozen=True)
class ExpansionScore(Score):
    """sum_i c_i k(x_i, z) over the support vectors."""

    support: Array
    coefficients: Array
    kernel: Kernel

    @classmethod
    def of(cls, points: Array, coefficients: Array, kernel: Kernel) -> ExpansionScore | LinearScore:
        """Only points with a coefficient are kept; with a linear kernel only their sum is."""
        used = np.flatnonzero(coefficients)
        if isinstance(kernel, Linear):
            return LinearScore(points[used].T @ coefficients[used])
        return cls(points[used], coefficients[used], kernel.fitted(points))

    def doubts(self, Z: Array, scores: Array) -> Array:
        """What rounding of kernel values leaves unknown of the scores of rows, beside rounding of their terms."""
        return exponent_doubts(self.support, self.kernel, self.coefficients, Z, scores)

    def __call__(self, Z: Array) -> Array:
        """The score of each row."""
        return decision(self.support, self.kernel, self.coefficients, Z)


@dataclass(frozen=True)
class BallScore(Score):
    """Minus the squared distance in feature space to a centre that is an expansion."""

    inner: ExpansionScore | LinearScore
    squared_center: float
    kernel: Kernel

    def doubts(self, Z: Array, scores: Array) -> Array:
        """Twice those of the expansion."""
        inner = (scores + self.kernel.diagonal(Z) + self.squared_center) / 2
        return 2 * self.inner.doubts(Z, inner)

    def __call__(self, Z: Array) -> Array:
        """The score of each row."""
        return np.asarray(2 * self.inner(Z) - self.kernel.diagonal(Z) - self.squared_center)
