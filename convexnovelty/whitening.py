r"""Points in the metric of a covariance, :math:`\hat x = S^{-1/2}(x - m)`, and kernels of them, without a square root.

Methods and kernels need inner products alone,

.. math:: \hat x'\hat z = (x - m)'S^{-1}(z - m),

which for low rank plus a diagonal, :math:`S = D + F'F`, follow from Woodbury's identity: with the singular values
:math:`s` and the right vectors :math:`V` of :math:`FD^{-1/2}`,

.. math:: S^{-1} = D^{-1/2}\Big(I - V\,\mathrm{diag}\frac{s^2}{1+s^2}\,V'\Big)D^{-1/2}.

Nothing of size p x p is formed then, and sparse points are never expanded: they are moved by the mean only in columns that
lie far from zero, where hardly an entry is zero, and elsewhere it is subtracted from products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from convexnovelty.covariances import spectrum, spectrum_of_factor
from convexnovelty.distances import squared_distances
from convexnovelty.errors import InputError
from convexnovelty.estimates import FAR, moved, sparse_points
from convexnovelty.moments import RANGE_TOLERANCE, Moments
from convexnovelty.validation import Array, points

__all__ = ["Whitening", "as_points", "far_mean", "is_sparse"]

COMPILED = 10_000  # entries of sparse rows from which on their Gram matrix is worth a compiled loop


def is_sparse(X: Any) -> bool:
    """Whether ``X`` is a scipy sparse matrix."""
    return hasattr(X, "nnz") and hasattr(X, "toarray")


def as_points(X: Any, name: str, columns: int | None = None) -> Any:
    """Points as a dense float64 matrix, or as a sparse one by rows if they were given sparse."""
    made = _by_rows(X, name) if is_sparse(X) else points(X, name)
    if columns is not None and made.shape[1] != columns:
        raise InputError(f"{name}: {made.shape[1]} columns were found where {columns} are needed, as the moments have")
    return made


def far_mean(moments: Moments, added: float = 0.0) -> Array:
    """The mean in columns in which it is far larger than the deviation, and zero in the others.

    Products of points that are not moved by it would be as much larger than what tells them apart. ``added`` is a variance
    that every column has in addition.
    """
    return np.where(moments.mean**2 > FAR * (moments.variances + added), moments.mean, 0.0)


def _by_rows(X: Any, name: str) -> Any:
    """Sparse points by rows; those that are in order already are not sorted by columns and back."""
    ready = X.format == "csr" and X.ndim == 2 and X.dtype == np.float64 and 0 not in X.shape
    if ready and X.has_canonical_format and np.isfinite(X.data).all():
        return csr_array(X)
    return sparse_points(X, name).tocsr()


class Whitening:
    r"""Inner products, coordinates and solutions in the metric :math:`S^{-1}` around the mean m.

    Laws
    ----
    - ``W.coordinates(X) @ W.coordinates(Z).T == W.inner(X, Z)``
    - ``W.inner(X, Z) == (X - m) @ W.solve((Z - m).T)``
    - ``moments.covariance @ W.solve(V) == V`` for V in the range of S.

    Parameters
    ----------
    moments : mean and covariance, in any representation; a singular S counts on its range.
    """

    def __init__(self, moments: Moments) -> None:
        if not isinstance(moments, Moments):
            raise InputError(
                f"moments: {type(moments).__name__} was found; give cn.Moments, for example cn.Moments.estimate(X)"
            )
        self.moments = moments
        specific = moments.specific_variances
        self.structured = moments.representation != "dense" and bool((specific > 0).all())
        if self.structured:
            self._scale = np.sqrt(specific)
            _, values, axes = np.linalg.svd(moments.loadings / self._scale, full_matrices=False)
            self._axes, self._shares = axes, values**2 / (1 + values**2)
            return
        loose = moments.representation == "low_rank" and not specific.any()
        scale, sigma, rows = spectrum_of_factor(moments.loadings) if loose else spectrum(moments.covariance)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._constant = scale == 0
        self._axes, self._sigma = rows * (scale > 0), sigma

    @property
    def rank(self) -> int:
        """The number of coordinates."""
        return self.moments.dimension if self.structured else self._sigma.size

    def _scaled(self, X: Any) -> tuple[Any, Array]:
        """Points over the scale, less the mean where that does not fill them, and what is left of the mean to subtract."""
        if is_sparse(X):
            shift = far_mean(self.moments)
            return moved(X, shift).multiply(1 / self._scale).tocsr(), (self.moments.mean - shift) / self._scale
        return (X - self.moments.mean) / self._scale, np.zeros(self.moments.dimension)

    def coordinates(self, X: Any) -> Array:
        r"""The whitened points of shape (n, r), dense, with :math:`\hat x'\hat z` as inner products."""
        X = as_points(X, "X", self.moments.dimension)
        rows, mean = self._scaled(X)
        along = np.asarray(rows @ self._axes.T) - mean @ self._axes.T
        if not self.structured:
            return np.asarray(along / self._sigma)
        dense = (rows.toarray() if is_sparse(rows) else rows) - mean
        return np.asarray(dense - (along * (1 - np.sqrt(1 - self._shares))) @ self._axes)

    def inner(self, X: Any, Z: Any = None) -> Array:
        """The inner products of the whitened points, of shape (n, m)."""
        left = as_points(X, "X", self.moments.dimension)
        right = left if Z is None else as_points(Z, "Z", self.moments.dimension)
        if not self.structured:
            return np.asarray(self.coordinates(left) @ self.coordinates(right).T)
        product, along = self._products(left, right)
        return np.asarray(product - (along[0] * self._shares) @ along[1].T)

    def _products(self, left: Any, right: Any) -> tuple[Array, tuple[Array, Array]]:
        """Inner products in the metric of the diagonal, and the coordinates along the factors."""
        rows, mean = self._scaled(left)
        others, other_mean = (rows, mean) if right is left else self._scaled(right)
        if right is left and is_sparse(rows) and rows.nnz >= COMPILED:
            # That module is a floor up, with the compiled loops: it is read when there is a use for it.
            from convexnovelty.algorithms._sparse_products import gram_of_rows

            product = gram_of_rows(rows)
        else:
            product = rows @ others.T
            product = product.toarray() if is_sparse(product) else np.asarray(product)
        # Of sparse points the mean is subtracted from the products: from the points it would fill them.
        product = (
            product - np.asarray(rows @ other_mean)[:, None] - np.asarray(others @ mean)[None, :] + mean @ other_mean
        )
        sides = tuple(
            np.asarray(side @ self._axes.T) - part @ self._axes.T for side, part in ((rows, mean), (others, other_mean))
        )
        return product, (sides[0], sides[1])

    def squared_distances(self, X: Any, Z: Any = None) -> Array:
        r""":math:`(x - z)'S^{-1}(x - z)` of shape (n, m), from differences where points are close to one another."""
        left = as_points(X, "X", self.moments.dimension)
        right = left if Z is None else as_points(Z, "Z", self.moments.dimension)
        if not self.structured:
            mine = self.coordinates(left)
            return squared_distances(mine, mine if Z is None else self.coordinates(right))
        if is_sparse(left) or is_sparse(right):
            mine, others = (self._scaled(csr_array(side))[0] for side in (left, right))
        else:
            mine, others = left / self._scale, right / self._scale
        plain = squared_distances(mine, others)
        if not self._shares.size:
            return plain
        turn = self._axes.T * np.sqrt(self._shares)
        return np.asarray(np.maximum(plain - squared_distances(mine @ turn, others @ turn), 0.0))

    def squared_norms(self, X: Any) -> Array:
        r""":math:`\hat x'\hat x` of shape (n,)."""
        X = as_points(X, "X", self.moments.dimension)
        rows, mean = self._scaled(X)
        along = np.asarray(rows @ self._axes.T) - mean @ self._axes.T
        if not self.structured:
            return np.asarray(((along / self._sigma) ** 2).sum(axis=1))
        squares = rows.multiply(rows).sum(axis=1) if is_sparse(rows) else np.einsum("ij,ij->i", rows, rows)
        plain = np.asarray(squares).ravel() - 2 * np.asarray(rows @ mean) + mean @ mean
        return np.asarray(plain - (along**2) @ self._shares)

    def solve(self, V: Any) -> Array:
        """S^{-1} V of shape (p,) or (p, m), on the range of S."""
        scale = self._scale if np.ndim(V) == 1 else self._scale[:, None]
        scaled = V / scale
        along = self._axes @ scaled
        if self.structured:
            shares = self._shares if np.ndim(V) == 1 else self._shares[:, None]
            return np.asarray((scaled - self._axes.T @ (shares * along)) / scale)
        squares = self._sigma**2 if np.ndim(V) == 1 else self._sigma[:, None] ** 2
        return np.asarray((self._axes.T @ (along / squares)) / scale)

    def axes(self, X: Any) -> tuple[Array, Array]:
        r"""Axes V of shape (p, q) in which S is the identity, then those without variance along which some x - m has a
        part; and the matrix of shape (q, p) that takes Vy back to y. For a covariance without structure.
        """
        rows, divisor = self._axes, self._scale
        matrix, inverse = (rows / self._sigma[:, None] / divisor).T, self._sigma[:, None] * rows * divisor
        if not self.outside(X):
            return np.asarray(matrix), np.asarray(inverse)
        scaled = (as_points(X, "X", self.moments.dimension) - self.moments.mean) / divisor
        rest = scaled - (scaled @ rows.T) @ rows
        _, values, null = np.linalg.svd(rest, full_matrices=False)
        kept = values > RANGE_TOLERANCE * values[0]
        size = values[0] / np.sqrt(len(scaled))
        flat = null[kept]
        return np.column_stack([matrix, (flat / divisor).T / size]), np.vstack([inverse, size * flat * divisor])

    def outside(self, X: Any) -> bool:
        """Whether some x - m leaves the range of S, so that it has no whitened point."""
        if self.structured or self.rank == self.moments.dimension:
            return False
        X = as_points(X, "X", self.moments.dimension)
        rows, mean = self._scaled(X)
        if is_sparse(rows):
            squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() - 2 * np.asarray(rows @ mean) + mean @ mean
        else:
            squares = np.einsum("ij,ij->i", rows, rows)
        along = np.asarray(rows @ self._axes.T) - mean @ self._axes.T
        rest = squares - (along**2).sum(axis=1)
        return bool((rest > RANGE_TOLERANCE * np.maximum(squares, np.finfo(float).tiny)).any())
