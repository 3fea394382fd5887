"""Gram matrices that are multiplied by without being stored: what the block solver asks of a kernel.

A :class:`Gram` adds a few columns, weighted, to a vector, and hands out the rows of a small working set. The Gaussian
and the linear kernel have ways of their own; every other kernel is evaluated a block of columns at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from convexnovelty.algorithms.box import Indices, extended
from convexnovelty.errors import InputError
from convexnovelty.kernels import Gaussian, Kernel, Linear, Precomputed
from convexnovelty.validation import Array, symmetric

__all__ = ["Gram", "Rows", "gram_of", "padded", "weighted_kernels"]

BLOCK = 2**20  # kernel values held at once by kernels that are evaluated in blocks: 8 MB
CHUNK = 2**14  # new points that are packed at a time
PADDING = 16  # vectors are this multiple long: two registers of the widest processor
THREADED = 10_000_000  # kernel values below which starting threads costs more than they save
# Beyond this size of gamma |x - mean|^2 the product form of the Gaussian loses more than four digits of sixteen.
SPREAD = 1e4


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


class GaussianGram(Gram):
    """exp(-gamma |x - z|^2), evaluated in registers by the loops of ``_gaussian``."""

    whole = 3000  # rows are evaluated on demand

    def __init__(self, panels: Array, size: int, threads: int) -> None:
        self.panels, self.size, self.threads = panels, size, threads

    @classmethod
    def of(cls, X: Array, gamma: float, threads: int) -> GaussianGram | None:
        """The Gram matrix of the rows of X, or None where they are too far apart for the product form."""
        panels = pack(X, X.mean(axis=0), gamma)
        return cls(panels, len(X), threads) if _near(panels) else None

    def diagonal(self) -> Array:
        return np.ones(padded(self.size))

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        from convexnovelty.algorithms import _gaussian

        if columns.size:
            sources = self._packed(columns, _gaussian.SOURCES, columns.size)
            add_columns(self.panels, sources, weights, out, self.threads)

    def block(self, points: Indices) -> Array:
        from convexnovelty.algorithms import _gaussian

        part = self.subset(points)
        values = np.empty((points.size, padded(points.size)))
        _gaussian.kernel_rows(part.panels, values)
        return values[:, : points.size]

    def subset(self, points: Indices) -> GaussianGram:
        packed = self._packed(points, self.panels.shape[2], padded(points.size))
        return GaussianGram(packed, points.size, self.threads)

    def remoteness(self) -> Array:
        return self.panels[:, -1].reshape(-1).copy()

    def rows(self, room: Array) -> Rows:
        length = padded(self.size)
        capacity = max(2, min(self.size, room.size // length))
        owner = np.full(capacity + 1, -1)
        owner[capacity] = 0
        return Rows(self.panels, room[: capacity * length].reshape(capacity, length), np.full(length, -1), owner)

    def _packed(self, points: Indices, width: int, size: int) -> Array:
        from convexnovelty.algorithms import _gaussian

        out = np.empty((-(-size // width), self.panels.shape[1], width))
        _gaussian.take(self.panels, points, width, out)
        return out


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
    if isinstance(kernel, Linear):
        return LinearGram(X)
    if isinstance(kernel, Gaussian):
        fast = GaussianGram.of(X, _number(kernel), threads)
        if fast is not None:
            return fast
    return KernelGram(X, kernel)


def weighted_kernels(X: Array, kernel: Kernel, weights: Array, Z: Array, threads: int) -> Array:
    """sum_i weights_i k(x_i, z) for the rows of Z, shape (m,), a chunk of rows at a time."""
    if isinstance(kernel, Linear):
        return np.asarray(Z @ (X.T @ weights))
    out = np.zeros(padded(len(Z)))
    center = X.mean(axis=0) if len(X) else np.zeros(X.shape[1])
    sources = _sources(X, kernel, center)
    step = padded(CHUNK) if sources is not None else max(1, BLOCK // max(len(X), 1))
    for first in range(0, len(Z), step):
        part = Z[first : first + step]
        if isinstance(kernel, Gaussian) and sources is not None:
            panels = pack(part, center, _number(kernel))
            if _near(panels):
                add_columns(panels, sources, weights, out[first : first + padded(len(part))], threads)
                continue
        out[first : first + len(part)] = kernel.evaluate(part, X) @ weights
    return out[: len(Z)]


def _sources(X: Array, kernel: Kernel, center: Array) -> Array | None:
    """The points in panels of sources, if this kernel has a fast sum for them."""
    if not isinstance(kernel, Gaussian) or not len(X):
        return None
    panels = pack(X, center, _number(kernel))
    if not _near(panels):
        return None
    from convexnovelty.algorithms import _gaussian

    sources = np.empty((-(-len(X) // _gaussian.SOURCES), panels.shape[1], _gaussian.SOURCES))
    _gaussian.take(panels, np.arange(len(X)), _gaussian.SOURCES, sources)
    return sources


def _near(panels: Array) -> bool:
    """Whether the packed points are close enough to one another for the product form of the Gaussian."""
    return bool(-panels[:, -1].min() <= SPREAD * np.log2(np.e))


def pack(X: Array, center: Array, gamma: float) -> Array:
    """The rows of X about ``center``, in the panels of ``_gaussian`` and in the scale of a Gaussian kernel."""
    from convexnovelty.algorithms import _gaussian

    panels = np.empty((padded(len(X)) // _gaussian.WIDTH, X.shape[1] + 1, _gaussian.WIDTH))
    # gamma |x - z|^2 log2(e) = |s x - s z|^2 / 2: the scale s makes the kernel a power of two.
    _gaussian.pack(np.require(X, requirements=["C", "W"]), center, (2.0 * gamma * np.log2(np.e)) ** 0.5, panels)
    return panels


def add_columns(panels: Array, sources: Array, weights: Array, out: Array, threads: int) -> None:
    """out += sum_j weights_j k(., z_j) over the panels, split between threads where that pays.

    Each sum is formed in the same order whatever the number of threads, so that the result is the same to the last bit.
    """
    from convexnovelty.algorithms import _gaussian

    filled = np.zeros(sources.shape[0] * _gaussian.SOURCES)
    filled[: weights.size] = weights
    end = panels.shape[0]
    if threads == 1 or weights.size * out.size < THREADED:
        _gaussian.accumulate(panels, sources, filled, out, 0, end)
        return
    edges = [end * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        tasks = [
            pool.submit(_gaussian.accumulate, panels, sources, filled, out, first, last)
            for first, last in pairwise(edges)
        ]
        for task in tasks:
            task.result()


def _number(kernel: Gaussian) -> float:
    if isinstance(kernel.gamma, str):
        raise InputError(f"kernel: {kernel!r} was found; its gamma must be a number here, use kernel.fitted(points)")
    return kernel.gamma


def _ones_beyond(values: Array) -> Array:
    return extended(values, padded(values.size), 1.0)
