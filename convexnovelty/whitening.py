r"""Points in the metric of a covariance, :math:`\hat x = S^{-1/2}(x - m)`, and kernels of them, without a square root.

Methods and kernels need inner products alone,

.. math:: \hat x'\hat z = (x - m)'S^{-1}(z - m),

which for low rank plus a diagonal, :math:`S = D + F'F`, follow from Woodbury's identity: with the singular values
:math:`s` and the right vectors :math:`V` of :math:`FD^{-1/2}`,

.. math:: S^{-1} = D^{-1/2}\Big(I - V\,\mathrm{diag}\frac{s^2}{1+s^2}\,V'\Big)D^{-1/2},

in all columns but those with nearly nothing of their own (:mod:`convexnovelty.factor_metric`).

Nothing of size p x p is formed then, and sparse points are never expanded: they are moved by the mean only in columns that
lie far from zero, where hardly an entry is zero, and elsewhere it is subtracted from products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from convexnovelty.covariances import EPS
from convexnovelty.distances import squared_distances
from convexnovelty.errors import InputError
from convexnovelty.estimates import FAR, moved, sparse_points
from convexnovelty.moments import RANGE_TOLERANCE, Moments
from convexnovelty.validation import Array, points

__all__ = ["Whitening", "as_points", "column_sizes", "far_mean", "is_sparse"]

ROUNDING = 8 * EPS  # the share of its mean that the spread of a constant column may be, and rounding of the mean
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
        self._metric = moments.metric
        self.structured = bool(self._metric.roots.any())
        # The mean of sparse points is subtracted from products, which are in the metric of d where Woodbury's identity is
        # used. A column whose mean exceeds its deviation has few zeros, and may be written out too.
        own = np.where(self._metric.roots > 0, moments.specific_variances, moments.variances)
        self._far = np.where(moments.mean**2 > np.maximum(FAR * own, moments.variances), moments.mean, 0.0)

    @property
    def rank(self) -> int:
        """The number of coordinates."""
        return self._metric.rank

    def _centred(self, X: Any) -> tuple[Any, Array]:
        """Points less the mean where that does not fill them, and what is left of the mean to subtract."""
        if is_sparse(X):
            return moved(X, self._far), -self.moments.centred(self._far[None, :])[0]
        return self.moments.centred(X), np.zeros(self.moments.dimension)

    def _rest(self, centred: tuple[Any, Array]) -> Array:
        """The coordinates, of shape (n, k), that Woodbury's identity leaves to a factor."""
        rows, mean = centred
        return np.asarray(rows @ self._metric.rest.T) - mean @ self._metric.rest.T

    def coordinates(self, X: Any) -> Array:
        r"""The whitened points of shape (n, r), dense, with :math:`\hat x'\hat z` as inner products."""
        rows, mean = self._centred(as_points(X, "X", self.moments.dimension))
        rest = self._rest((rows, mean))
        if not self.structured:
            return rest
        metric, columns = self._metric, self._metric.roots > 0
        scaled, mean = _times(rows, metric.roots), mean * metric.roots
        along = np.asarray(scaled @ metric.axes.T) - mean @ metric.axes.T
        dense = (scaled.toarray() if is_sparse(scaled) else scaled) - mean
        dense -= (along * (1 - np.sqrt(1 - metric.shares))) @ metric.axes
        return np.hstack([dense[:, columns], rest]) if rest.shape[1] or not columns.all() else np.asarray(dense)

    def inner(self, X: Any, Z: Any = None) -> Array:
        """The inner products of the whitened points, of shape (n, m)."""
        left = as_points(X, "X", self.moments.dimension)
        right = left if Z is None else as_points(Z, "Z", self.moments.dimension)
        mine = self._centred(left)
        others = mine if right is left else self._centred(right)
        along = self._rest(mine)
        product = along @ (along if right is left else self._rest(others)).T
        return product + self._products(mine, others) if self.structured else product

    def _products(self, left: tuple[Any, Array], right: tuple[Any, Array]) -> Array:
        """Inner products by Woodbury's identity, in the columns that it serves."""
        metric, same = self._metric, right is left
        rows, mean = _times(left[0], metric.roots), left[1] * metric.roots
        others, other_mean = (rows, mean) if same else (_times(right[0], metric.roots), right[1] * metric.roots)
        if same and is_sparse(rows) and rows.nnz >= COMPILED:
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
        sides = [
            np.asarray(side @ metric.axes.T) - part @ metric.axes.T
            for side, part in ((rows, mean), (others, other_mean))
        ]
        return np.asarray(product - (sides[0] * metric.shares) @ sides[1].T)

    def squared_distances(self, X: Any, Z: Any = None) -> Array:
        r""":math:`(x - z)'S^{-1}(x - z)` of shape (n, m), from differences where points are close to one another."""
        left = as_points(X, "X", self.moments.dimension)
        right = left if Z is None else as_points(Z, "Z", self.moments.dimension)
        metric, same = self._metric, right is left
        if is_sparse(left) or is_sparse(right):
            left, right = csr_array(left), csr_array(right)
        mine = self._centred(left)
        others = mine if same else self._centred(right)
        found = np.zeros((left.shape[0], right.shape[0]))
        if len(metric.rest):
            rest = self._rest(mine)
            found = squared_distances(rest, rest if same else self._rest(others))
        if not self.structured:
            return found
        left, right = _times(mine[0], metric.roots), _times(others[0], metric.roots)
        plain = squared_distances(left, right)
        if metric.shares.size:
            turn = metric.axes.T * np.sqrt(metric.shares)
            plain = np.maximum(plain - squared_distances(left @ turn, right @ turn), 0.0)
        return np.asarray(found + plain)

    def squared_norms(self, X: Any) -> Array:
        r""":math:`\hat x'\hat x` of shape (n,)."""
        rows, mean = self._centred(as_points(X, "X", self.moments.dimension))
        found = (self._rest((rows, mean)) ** 2).sum(axis=1)
        if not self.structured:
            return np.asarray(found)
        metric = self._metric
        rows, mean = _times(rows, metric.roots), mean * metric.roots
        along = np.asarray(rows @ metric.axes.T) - mean @ metric.axes.T
        return np.asarray(found + _squares(rows, mean) - (along**2) @ metric.shares)

    def solve(self, V: Any) -> Array:
        """S^{-1} V of shape (p,) or (p, m), on the range of S."""
        return self._metric.solve(np.asarray(V, dtype=float))

    def axes(self, X: Any) -> tuple[Array, Array]:
        r"""Axes V of shape (p, q) in which S is the identity, then those without variance along which some x - m has a
        part; and the matrix of shape (q, p) that takes Vy back to y. They are dense, whatever the covariance is made of.
        """
        metric = self.moments.spanned
        rows = metric.spanning
        divisor = metric.divisor
        matrix, inverse = metric.rest.T, metric.sigma[:, None] * rows * divisor
        if not self.outside(X):
            return np.asarray(matrix), np.asarray(inverse)
        flat = self.moments.variances == 0
        sizes = column_sizes(as_points(X, "X", self.moments.dimension), self.moments.mean)
        divisor[flat] = np.where(sizes > 0, sizes, 1.0)[flat]
        scaled = (as_points(X, "X", self.moments.dimension) - self.moments.mean) / divisor
        beside = scaled - (scaled @ rows.T) @ rows
        _, values, null = np.linalg.svd(beside, full_matrices=False)
        kept = values > RANGE_TOLERANCE * values[0]
        size = values[0] / np.sqrt(len(scaled))
        added = null[kept]
        return np.column_stack([matrix, (added / divisor).T / size]), np.vstack([inverse, size * added * divisor])

    def outside(self, X: Any) -> bool:
        """Whether some x - m leaves the range of S, so that it has no whitened point."""
        metric = self._metric
        if metric.rank == self.moments.dimension:
            return False
        X = as_points(X, "X", self.moments.dimension)
        flat = np.flatnonzero(self.moments.variances == 0)
        if flat.size and _differ(X[:, flat], self.moments.mean[flat]):
            return True
        rows, mean = self._centred(X)
        # Columns with a variance of their own, which Woodbury's identity serves, lie in the range.
        scale = np.where((metric.roots > 0) | (self.moments.variances == 0), 0.0, 1 / metric.divisor)
        rows, mean = _times(rows, scale), mean * scale
        along = np.asarray(rows @ metric.spanning.T) - mean @ metric.spanning.T
        squares = _squares(rows, mean)
        beside = squares - (along**2).sum(axis=1)
        return bool((beside > RANGE_TOLERANCE * np.maximum(squares, np.finfo(float).tiny)).any())


def column_sizes(X: Any, mean: Array) -> Array:
    """The root mean square of each column of points less its mean, of shape (p,)."""
    rows = moved(X, mean) if is_sparse(X) else X - mean
    squares = rows.multiply(rows) if is_sparse(rows) else rows**2
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=0)).ravel() / X.shape[0]))


def _differ(X: Any, mean: Array) -> bool:
    """Whether an entry differs from the mean of its column by more than rounding, in whatever unit the column has."""
    away = moved(X, mean) if is_sparse(X) else X - mean
    largest = abs(away).max(axis=0)
    largest = largest.toarray().ravel() if is_sparse(largest) else largest
    return bool((largest > ROUNDING * np.abs(mean)).any())


def _times(rows: Any, factors: Array) -> Any:
    """Each column times its factor; where that is zero nothing is stored."""
    if not is_sparse(rows):
        return rows * factors
    scaled = rows.multiply(factors).tocsr()
    if not factors.all():
        scaled.eliminate_zeros()
    return scaled


def _squares(rows: Any, mean: Array) -> Array:
    """The squared lengths of shape (n,) of points less a mean that was not subtracted from them."""
    squares = rows.multiply(rows).sum(axis=1) if is_sparse(rows) else np.einsum("ij,ij->i", rows, rows)
    return np.asarray(np.asarray(squares).ravel() - 2 * np.asarray(rows @ mean) + mean @ mean)
