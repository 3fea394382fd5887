"""The Gram matrix of the Gaussian kernel, evaluated in registers by the loops of ``_gaussian``.

The product form of the kernel cancels for two points that are close to one another and far from the centre. Such points
are rare, a few gross outliers as a rule: they are told by their size, and their values among themselves are evaluated
by the kernel itself, which does not cancel. Between a far point and a near one the kernel is zero in either form.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from convexnovelty.algorithms._gaussian import SOURCES, WIDTH, accumulate, accumulate_both, kernel_rows, pack, take
from convexnovelty.algorithms.box import Indices
from convexnovelty.algorithms.gram import Gram, KernelGram, Rows, padded
from convexnovelty.distances import squared_norms
from convexnovelty.errors import InputError
from convexnovelty.kernels import Gaussian
from convexnovelty.validation import Array

__all__ = ["GaussianGram", "RemoteGram", "exponent_sizes", "gaussian_gram", "gaussian_sums"]

CHUNK = 2**14  # new points that are packed at a time
THREADED = 10_000_000  # kernel values below which starting threads costs more than they save
TILE = 24  # panels whose points, a multiple of SOURCES, stay in the cache while all sources pass by
SPREAD = 1e4  # gamma |x - centre|^2 beyond which the product form loses more than four digits of sixteen
MIDDLE = 256  # points whose median is the centre where the mean is not a good one


class GaussianGram(Gram):
    """exp(-gamma |x - z|^2) of points that are packed in panels."""

    whole = 3000  # rows are evaluated on demand

    def __init__(self, panels: Array, size: int, threads: int) -> None:
        self.panels, self.size, self.threads = panels, size, threads

    def diagonal(self) -> Array:
        return np.ones(padded(self.size))

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        if columns.size:
            _add_columns(self.panels, _taken(self.panels, columns, SOURCES), weights, out, self.threads)

    def product(self, weights: Array) -> Array:
        # The matrix is symmetric: below the tiles on its diagonal each value is evaluated once, for a row and a column.
        sources = _taken(self.panels, np.arange(self.size), SOURCES)
        filled = np.zeros(max(padded(self.size), sources.shape[0] * SOURCES))
        filled[: self.size] = weights
        out, count = np.zeros(filled.size), self.panels.shape[0]
        starts = range(0, count, TILE)
        workers = self.threads if self.size**2 >= THREADED else 1

        def rows(worker: int) -> Array:
            columns = np.zeros(filled.size)
            for first in starts[worker::workers]:
                last, middle = min(first + TILE, count), first * WIDTH // SOURCES
                accumulate_both(self.panels, sources, filled, out, columns, first, last, middle)
                inner = slice(middle, min(-(-last * WIDTH // SOURCES), sources.shape[0]))
                part = filled[middle * SOURCES : inner.stop * SOURCES]
                accumulate(self.panels, sources[inner], part, out, first, last)
            return columns

        if workers == 1:
            return (out + rows(0))[: self.size]
        with ThreadPoolExecutor(workers) as pool:
            parts = list(pool.map(rows, range(workers)))
        return (out + sum(parts))[: self.size]

    def block(self, points: Indices) -> Array:
        values = np.empty((points.size, padded(points.size)))
        kernel_rows(self.subset(points).panels, values)
        return values[:, : points.size]

    def subset(self, points: Indices) -> GaussianGram:
        return GaussianGram(_taken(self.panels, points, WIDTH), points.size, self.threads)

    def remoteness(self) -> Array:
        return self.panels[:, -1].reshape(-1).copy()

    def rows(self, room: Array) -> Rows:
        length = padded(self.size)
        capacity = max(2, min(self.size, room.size // length))
        owner = np.full(capacity + 1, -1)
        owner[capacity] = 0
        return Rows(self.panels, room[: capacity * length].reshape(capacity, length), np.full(length, -1), owner)


class RemoteGram(Gram):
    """The same with some points so far away that the kernel itself has to evaluate them among themselves."""

    def __init__(self, near: GaussianGram, exact: KernelGram, remote: Indices) -> None:
        self.near, self.exact, self.size = near, exact, near.size
        self.remote = np.zeros(near.size, dtype=bool)
        self.remote[remote] = True

    def diagonal(self) -> Array:
        return self.near.diagonal()

    def accumulate(self, out: Array, columns: Indices, weights: Array) -> None:
        rows = np.flatnonzero(self.remote)
        before = out[rows]
        self.near.accumulate(out, columns, weights)
        far = columns[self.remote[columns]]
        # What the product form made of these rows is dropped; near points add nothing to them.
        out[rows] = before
        if far.size:
            X, kernel = self.exact.X, self.exact.kernel
            out[rows] += kernel.evaluate(X[rows], X[far]) @ weights[self.remote[columns]]

    def block(self, points: Indices) -> Array:
        return self.exact.block(points) if self.remote[points].any() else self.near.block(points)

    def subset(self, points: Indices) -> Gram:
        return self.exact.subset(points) if self.remote[points].any() else self.near.subset(points)

    def remoteness(self) -> Array:
        return self.near.remoteness()

    def rows(self, room: Array) -> Rows:
        return self.exact.rows(room)


def gaussian_gram(X: Array, kernel: Gaussian, threads: int = 1) -> Gram:
    """The Gram matrix of the rows of X."""
    panels, _, remote = _packed(X, kernel)
    near = GaussianGram(panels, len(X), threads)
    return near if remote.size == 0 else RemoteGram(near, KernelGram(X, kernel), remote)


def gaussian_sums(X: Array, kernel: Gaussian, weights: Array, Z: Array, threads: int) -> Array:
    """sum_i weights_i k(x_i, z) for the rows of Z, shape (m,)."""
    panels, center, remote = _packed(X, kernel)
    sources = _taken(panels, np.arange(len(X)), SOURCES)
    out = np.zeros(padded(len(Z)))
    for first in range(0, len(Z), CHUNK):
        part = Z[first : first + CHUNK]
        targets = _panels(part, center, kernel)
        _add_columns(targets, sources, weights, out[first : first + padded(len(part))], threads)
        far = _remote(targets, len(part))
        if far.size:
            out[first + far] = kernel.evaluate(part[far], X[remote]) @ weights[remote] if remote.size else 0.0
    return out[: len(Z)]


def exponent_sizes(X: Array, kernel: Gaussian, Z: Array) -> Array:
    """gamma |z - centre|^2 of the rows of Z, shape (m,), of which the exponents of :func:`gaussian_sums` are differences.

    It is infinite for remote rows, whose values are those of the kernel itself.
    """
    sizes = float(kernel.gamma) * squared_norms(Z - _packed(X, kernel)[1])
    return np.where(sizes <= SPREAD, sizes, np.inf)


def _packed(X: Array, kernel: Gaussian) -> tuple[Array, Array, Indices]:
    """The points in panels about a centre, that centre, and which of them are remote."""
    center = X.mean(axis=0)
    panels = _panels(X, center, kernel)
    remote = _remote(panels, len(X))
    if remote.size:
        # A few gross outliers draw the mean away from all the others, but not the median.
        center = np.median(X[:: -(-len(X) // MIDDLE)], axis=0)
        panels = _panels(X, center, kernel)
        remote = _remote(panels, len(X))
    return panels, center, remote


def _panels(X: Array, center: Array, kernel: Gaussian) -> Array:
    if isinstance(kernel.gamma, str):
        raise InputError(f"kernel: {kernel!r} was found; its gamma must be a number here, use kernel.fitted(points)")
    panels = np.empty((padded(len(X)) // WIDTH, X.shape[1] + 1, WIDTH))
    # gamma |x - z|^2 log2(e) = |s x - s z|^2 / 2: the scale s makes the kernel a power of two.
    pack(np.require(X, requirements=["C", "W"]), center, (2.0 * kernel.gamma * np.log2(np.e)) ** 0.5, panels)
    return panels


def _remote(panels: Array, size: int) -> Indices:
    """The points at which the product form of the kernel is not accurate."""
    heights = panels[:, -1]
    if -heights.min() <= SPREAD * np.log2(np.e):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(~(-heights.reshape(-1)[:size] <= SPREAD * np.log2(np.e)))


def _taken(panels: Array, points: Indices, width: int) -> Array:
    """Some of the points, in panels of this width; as many panels of full width as their padded number asks for."""
    size = padded(points.size) if width == WIDTH else points.size
    out = np.empty((-(-size // width), panels.shape[1], width))
    take(panels, points, width, out)
    return out


def _add_columns(panels: Array, sources: Array, weights: Array, out: Array, threads: int) -> None:
    """out += sum_j weights_j k(., z_j) over the panels, split between threads where that pays.

    Each sum is formed in the same order whatever the number of threads: the result is the same to the last bit.
    """
    filled = np.zeros(sources.shape[0] * SOURCES)
    filled[: weights.size] = weights
    end = panels.shape[0]
    if threads == 1 or weights.size * out.size < THREADED:
        accumulate(panels, sources, filled, out, 0, end)
        return
    edges = [end * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        tasks = [pool.submit(accumulate, panels, sources, filled, out, first, last) for first, last in pairwise(edges)]
        for task in tasks:
            task.result()
