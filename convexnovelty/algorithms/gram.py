"""Gram matrices that are multiplied by without being stored: what the block solver asks of a kernel.

A :class:`Gram` adds a few columns, weighted, to a vector, and hands out the rows of a small working set. The Gaussian
and the linear kernel have ways of their own; every other kernel is evaluated a block of columns at a time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from convexnovelty.algorithms.box import Indices, extended
from convexnovelty.distances import CANCELLATION, squared_norms
from convexnovelty.errors import IndefiniteError
from convexnovelty.kernels import Gaussian, Kernel, Linear, Precomputed
from convexnovelty.regions import ROUNDING
from convexnovelty.sparse_rows import is_sparse
from convexnovelty.validation import Array, symmetric

__all__ = ["Gram", "Rows", "exponent_doubts", "gram_of", "indefinite_kernel", "padded", "weighted_kernels"]

BLOCK = 2**20  # kernel values held at once by kernels that are evaluated in blocks: 8 MB
PADDING = 16  # vectors are this multiple long: two registers of the widest processor


@dataclass(frozen=True)
class Rows:
    """Rows of a Gram matrix, evaluated already or on demand, as the loops of ``_reduced`` take them."""

    panels: Array
    rows: Array
    slot: Indices
    owner: Indices


def padded(size: int) -> int:
    """The least multiple of PADDING that is not below ``size``."""
    return -(-size // PADDING) * PADDING


class Gram(ABC):
    """The matrix k(x_i, x_j) of ``size`` points; its vectors have length ``padded(size)`` and are idle beyond them."""

    size: int
    whole: int = 1500  # points up to which one working set should hold them all, with all its rows evaluated

    @abstractmethod
    def diagonal(self) -> Array:
        """k(x_i, x_i), with ones beyond the points."""

    @abstractmethod
    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        """out += K[:, columns] @ weights, in place."""

    def product(self, weights: Array) -> Array:
        """K @ weights, shape (n,)."""
        out = np.zeros(padded(self.size))
        self.accumulate(out, np.arange(self.size), weights)
        return out[: self.size]

    @abstractmethod
    def block(self, points: Indices) -> Array:
        """K[points, points]."""

    @abstractmethod
    def subset(self, points: Indices) -> Gram:
        """The Gram matrix of some of the points."""

    def remoteness(self) -> Array:
        """A number for each point that is low for points far from the others; a guess of who supports the boundary."""
        return np.zeros(padded(self.size))

    def rows(self, room: Array) -> Rows:
        """All rows of this matrix, for pair steps over all its points; ``room`` is memory that may be used."""
        length = padded(self.size)
        matrix = np.zeros((self.size, length))
        everything = np.arange(self.size)
        matrix[:, : self.size] = self.block(everything)
        slot = np.full(length, -1)
        slot[: self.size] = everything
        return Rows(np.zeros((1, 1, PADDING)), matrix, slot, np.zeros(1, dtype=np.intp))


class LinearGram(Gram):
    """x'z: a column costs nothing, since K b = X (X'b)."""

    def __init__(self, X: Array) -> None:
        self.X, self.size = X, len(X)

    def diagonal(self) -> Array:
        return _ones_beyond(np.einsum("ij,ij->i", self.X, self.X))

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        out[: self.size] += self.X @ (self.X[columns].T @ weights)

    def block(self, points: Indices) -> Array:
        part = self.X[points]
        return np.asarray(part @ part.T)

    def subset(self, points: Indices) -> LinearGram:
        return LinearGram(self.X[points])

    def remoteness(self) -> Array:
        # The origin is what a linear one-class SVM separates from: the shortest points support the hyperplane.
        return extended(self.diagonal()[: self.size], padded(self.size))


class KernelGram(Gram):
    """Any kernel, evaluated in blocks of columns."""

    def __init__(self, X: Array, kernel: Kernel) -> None:
        self.X, self.kernel, self.size = X, kernel, len(X)

    def diagonal(self) -> Array:
        return _ones_beyond(self.kernel.diagonal(self.X))

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        step = max(1, BLOCK // self.size)
        for first in range(0, columns.size, step):
            part = slice(first, first + step)
            out[: self.size] += self.kernel.evaluate(self.X, self.X[columns[part]]) @ weights[part]

    def block(self, points: Indices) -> Array:
        part = self.X[points]
        return self.kernel.evaluate(part, part)

    def subset(self, points: Indices) -> KernelGram:
        return KernelGram(self.X[points], self.kernel)


class StoredGram(Gram):
    """A matrix that was given, or some rows and columns of it."""

    def __init__(self, K: Array, points: Indices) -> None:
        self.K, self.points, self.size = K, points, points.size

    def diagonal(self) -> Array:
        return _ones_beyond(self.K[self.points, self.points])

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        # Rows of a symmetric matrix are its columns, and are contiguous.
        out[: self.size] += (weights @ self.K[self.points[columns]])[self.points]

    def block(self, points: Indices) -> Array:
        chosen = self.points[points]
        return np.asarray(self.K[np.ix_(chosen, chosen)])

    def subset(self, points: Indices) -> StoredGram:
        return StoredGram(self.K, self.points[points])


def gram_of(X: Array, kernel: Kernel, threads: int = 1) -> Gram:
    """The Gram matrix of the rows of X under a kernel whose parameters are numbers; X itself if it is precomputed."""
    if isinstance(kernel, Precomputed):
        return StoredGram(symmetric(X, "points"), np.arange(len(X)))
    if is_sparse(X):
        # That module is a floor up, as is the next one.
        from convexnovelty.algorithms.sparse_gram import SparseGram

        return SparseGram(X, kernel)
    if isinstance(kernel, Linear):
        return LinearGram(X)
    if isinstance(kernel, Gaussian):
        # That module is a floor up, with the compiled loops: it is read when there is a use for it.
        from convexnovelty.algorithms.gaussian_gram import gaussian_gram

        return gaussian_gram(X, kernel, threads)
    return KernelGram(X, kernel)


def weighted_kernels(X: Array, kernel: Kernel, weights: Array, Z: Array, threads: int) -> Array:
    """sum_i weights_i k(x_i, z) for the rows of Z, shape (m,), a chunk of rows at a time."""
    if isinstance(kernel, Linear):
        return np.asarray(Z @ (X.T @ weights))
    sparse = is_sparse(X) or is_sparse(Z)
    if isinstance(kernel, Gaussian) and X.shape[0] and not sparse:
        from convexnovelty.algorithms.gaussian_gram import gaussian_sums

        return gaussian_sums(X, kernel, weights, Z, threads)
    out = np.zeros(Z.shape[0])
    step = max(1, BLOCK // max(X.shape[0], 1))
    for first in range(0, Z.shape[0], step):
        part = slice(first, first + step)
        out[part] = kernel.evaluate(Z[part], X) @ weights
    return out


def exponent_doubts(X: Array, kernel: Kernel, weights: Array, Z: Array, sums: Array) -> Array:
    """What rounding of exponents leaves unknown of the sums that :func:`weighted_kernels` has, shape (m,).

    The exponent of a Gaussian is a difference of terms h_x + h_z, to rounding of which it is known. As h_x is at most
    2 h_z + 2 log(1 / k), a value k times these is 3 k h_z + 2 / e at most. Where values that cancel are evaluated again, the
    terms are so many times log(1 / k) at most, and k log(1 / k) is 1 / e at most. Other kernels have no such terms.
    """
    if not isinstance(kernel, Gaussian) or not X.shape[0]:
        return np.zeros(Z.shape[0])
    unit, sparse = float(np.abs(weights).sum()) / math.e, is_sparse(X) or is_sparse(Z)
    if sparse:
        heights = float(kernel.gamma) * squared_norms(Z)
    else:
        from convexnovelty.algorithms.gaussian_gram import exponent_sizes

        heights = exponent_sizes(X, kernel, Z)
    again, finite = unit / CANCELLATION, np.isfinite(heights)
    terms = 3.0 * np.where(finite, heights, 0.0) * np.abs(sums)
    terms = np.minimum(terms, again) if sparse else np.where(finite, terms, again)
    return np.asarray(ROUNDING * (terms + 2.0 * unit))


def _ones_beyond(values: Array) -> Array:
    return extended(values, padded(values.size), 1.0)


def indefinite_kernel(value: float, bound: str = "") -> IndefiniteError:
    """The error for a Gram matrix with this least eigenvalue, or with one that is ``bound`` ("at most ") this."""
    return IndefiniteError(
        f"kernel: the Gram matrix is not positive semidefinite, its least eigenvalue is {bound}{value:.6g}; "
        "give a positive semidefinite kernel",
        value,
    )
