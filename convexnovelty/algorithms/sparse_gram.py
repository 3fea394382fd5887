"""Gram matrices of sparse points, for kernels that are functions of inner products: nothing but blocks is dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.algorithms.box import Indices, extended
from convexnovelty.algorithms.gram import BLOCK, Gram, padded
from convexnovelty.distances import squared_norms
from convexnovelty.errors import InputError
from convexnovelty.kernels import Gaussian, Kernel, Linear
from convexnovelty.validation import Array

__all__ = ["SparseGram"]

SPREAD = 1e4  # gamma ||x||^2 beyond which distances from products lose more than four digits of sixteen


class SparseGram(Gram):
    """k(x_i, x_j) of rows of a sparse matrix; a block of columns is a product of few rows with the transpose."""

    def __init__(self, X: Any, kernel: Kernel) -> None:
        if not kernel.takes_sparse:
            kernel.rows(X, "points")  # says what to do
        self.X, self.kernel, self.size = X, kernel, int(X.shape[0])
        self.transposed = X.T.tocsr()  # rows of it are found by the few columns that a few points have
        self.norms = squared_norms(X)
        if not np.isfinite(self.norms).all():
            raise InputError("points: squared lengths beyond the range of numbers were found; rescale the points")

    def diagonal(self) -> Array:
        """See :meth:`Gram.diagonal`."""
        return extended(self.kernel.diagonal(self.X), padded(self.size), 1.0)

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        """See :meth:`Gram.accumulate`."""
        if isinstance(self.kernel, Linear):
            out[: self.size] += self.X @ (self.X[columns].T @ weights)
            return
        step = max(1, BLOCK // self.size)
        for first in range(0, columns.size, step):
            part = columns[first : first + step]
            out[: self.size] += weights[first : first + step] @ self._rows(part)

    def _rows(self, points: Indices) -> Array:
        """k(x_i, x_j) for some i and every j."""
        if not isinstance(self.kernel, Gaussian):
            return self.kernel.evaluate(self.X[points], self.X)
        gamma = float(self.kernel.gamma)
        if gamma * self.norms.max() > SPREAD:
            return self.kernel.evaluate(self.X[points], self.X)
        exponent: Array = (self.X[points] @ self.transposed).toarray()
        exponent *= 2.0 * gamma
        exponent -= gamma * self.norms
        exponent -= gamma * self.norms[points, None]
        exponent[np.arange(points.size), points] = 0.0
        return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)

    def block(self, points: Indices) -> Array:
        """See :meth:`Gram.block`."""
        part = self.X[points]
        return self.kernel.evaluate(part, part)

    def subset(self, points: Indices) -> SparseGram:
        """See :meth:`Gram.subset`."""
        return SparseGram(self.X[points], self.kernel)

    def remoteness(self) -> Array:
        """See :meth:`Gram.remoteness`."""
        # As for dense points: a linear machine leans on the shortest; for others lengths say nothing of remoteness.
        linear = isinstance(self.kernel, Linear)
        return extended(self.norms if linear else np.zeros(self.size), padded(self.size))
