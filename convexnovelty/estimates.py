r"""Estimates of mean and covariance from weighted points, dense or sparse, without cancellation.

Sparse points stay sparse: what is dense is never larger than the answer, or than the smaller Gram matrix where that
has no more than a few hundred rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from convexnovelty.covariances import EPS, leading
from convexnovelty.errors import InputError
from convexnovelty.validation import Array, nonnegative, points, squarable, vector

__all__ = [
    "FAR",
    "Estimate",
    "beyond_rounding",
    "estimate",
    "exact_sum",
    "moved",
    "nonnegative_vector",
    "sums_of_absent",
]

# A column whose squared mean exceeds its variance so many times loses digits in the mean of products, and is shifted.
FAR = 1e4

# Entries from which on the variances of a sparse matrix by rows are read in one compiled pass.
ONE_PASS = 2_000_000

# A column whose squared mean exceeds its variance so many times loses two digits in one pass, and is read once more: to
# pick a few columns out of a matrix by rows takes as long as the pass.
NEAR = 100.0

# Parts of some fifty digits in base two that numbers are cut into, whose sums are exact: more than their ranges differ by.
PARTS = 3

# The share of the largest singular value below which others have lost half of their digits where squares are computed.
BY_SQUARES = 1e-4

# The share of a variance up to which the square of what rounding took from the mean is rounding as well.
UNSEEN = 1e-15

# Sums of the smallest numbers that there are have few digits: weights below two to the minus so much are multiplied by two to
# it, which leaves every share as it is.
LIFT = 960

# Rows of sparse points that are turned into a few axes at once.
TURNED = 10_000

# Up to this many rows or columns a dense Gram matrix of them is quicker than iterations.
SMALL = 500


class Estimate(NamedTuple):
    """A mean, and a covariance F'F + diag(d), or dense if ``dense`` is not None.

    ``remainder`` is what rounding took from the mean, of shape (p,), or None where nobody knows it.
    """

    mean: Array
    loadings: Array
    specific: Array
    dense: Array | None
    remainder: Array | None = None


def estimate(
    X: Any, weights: Any, ddof: float, representation: str, rank: int | None, name: str = "X"
) -> tuple[Estimate, float]:
    """The moments of a sample in one of three representations, and the weight behind them.

    See :meth:`convexnovelty.moments.Moments.estimate`. Points are the numbers that they are: only the coordinates of a
    kernel, which are computed, have spreads that are nothing but rounding, and count as constant where they have.
    """
    computed = bool(getattr(X, "own_axes", False))
    sparse = hasattr(X, "nnz") and hasattr(X, "toarray")
    if sparse and representation == "diagonal" and (found := _one_pass(X, weights, ddof)) is not None:
        return found
    X = squarable(sparse_points(X, name) if sparse else points(X, name), name)
    w = np.ones(X.shape[0]) if weights is None else nonnegative_vector(weights, "weights", X.shape[0])
    if ddof == 0 and 0.0 < w.max(initial=0.0) < 2.0**-LIFT:
        lifted, total = estimate(X, np.ldexp(w, LIFT), ddof, representation, rank, name)
        return lifted, float(np.ldexp(total, -LIFT))
    if not w.all():
        X, w = (X.tocsr()[w > 0].tocsc() if sparse else X[w > 0]), w[w > 0]
    if w.size == 0:
        raise InputError("weights: all are zero; give at least one row a weight above zero")
    ddof, total = nonnegative(ddof, "ddof"), float(w.sum())
    # One row has no spread, whatever is subtracted; its covariance is zero, not 0/0.
    divisor = total - ddof if w.size > 1 else total
    if divisor <= 0:
        raise InputError(f"ddof: {ddof:.6g} was found where the weights add up to {total:.6g}; give less")
    p = X.shape[1]
    loadings, specific = np.zeros((0, p)), np.zeros(p)
    Y: Any
    if sparse:
        mean, variances, Y, remainder = sparse_scatter(X, w)
        rest = np.where(_far(mean, variances), remainder, mean)
    else:
        mean, Y, variances, remainder = dense_scatter(X, w, None if weights is None else np.sqrt(w))
        rest = np.zeros(p)
        if computed:
            constant = ~beyond_rounding(variances, mean)
            Y[:, constant], variances[constant] = 0.0, 0.0
    if representation == "diagonal":
        return Estimate(mean, loadings, variances * (total / divisor), None, remainder), total
    if representation == "dense":
        scatter = sparse_product(Y, w) - total * np.outer(rest, rest) if sparse else Y.T @ Y
        return Estimate(mean, loadings, specific, scatter / divisor, remainder), total
    if rank is None:
        factor = _all_axes(Y, rest, w, variances) / np.sqrt(divisor)
        return Estimate(mean, factor, specific, None, remainder), total
    count = min(rank + 1, *Y.shape)
    if sparse:
        values, axes = leading_axes(Y, rest, w, count)
    else:
        _, values, axes = np.linalg.svd(Y, full_matrices=False)
    loadings, added = leading(values / np.sqrt(divisor), axes, rank, max(Y.shape) * EPS)
    loadings[:, variances == 0] = 0.0
    return Estimate(mean, loadings, specific + added, None, remainder), total


def _one_pass(X: Any, weights: Any, ddof: float) -> tuple[Estimate, float] | None:
    """Mean and variances of a large sparse matrix by rows at the speed of memory, with nothing copied.

    None for other matrices and for what is wrong with one, which the way that looks at every entry reports. Sums of
    squares about zero serve columns that lie near it, as counts and weights of words do; the others are read again.
    """
    if getattr(X, "format", "") != "csr" or X.nnz < ONE_PASS or X.dtype != np.float64 or X.ndim != 2:
        return None
    n, p = X.shape
    w = np.ones(n) if weights is None else nonnegative_vector(weights, "weights", n)
    total, ddof = float(w.sum()), nonnegative(ddof, "ddof")
    divisor = total - ddof if np.count_nonzero(w) > 1 else total
    if divisor <= 0:
        return None
    # That module is a floor up, with the compiled loops: it is read when there is a use for it.
    from convexnovelty.algorithms._column_sums import column_sums

    sums = np.zeros((p, 2))
    if not column_sums(X.indptr, X.indices, X.data, w, sums) or not np.isfinite(sums).all():
        return None
    mean = sums[:, 0] / total
    variances = sums[:, 1] / total - mean**2
    remainder = np.zeros(p)
    far = np.flatnonzero(mean**2 > NEAR * variances)
    far = far[mean[far] != 0]
    if far.size:
        (again, _, rest, _, left), _ = estimate(X[:, far].tocsc(), w, 0.0, "diagonal", None)
        mean[far], variances[far], remainder[far] = again, rest, left
    return Estimate(mean, np.zeros((0, p)), np.maximum(variances, 0.0) * (total / divisor), None, remainder), total


def _all_axes(Y: Any, mean: Array, weights: Array, variances: Array) -> Array:
    """Rows F with F'F the whole scatter matrix: the centred points themselves, or fewer if there are more than p."""
    n, p = Y.shape
    if not variances.any():
        return np.zeros((0, p))
    if isinstance(Y, np.ndarray):
        rows = Y if n <= p else np.asarray(np.linalg.qr(Y, mode="r"))
    elif n <= p:
        rows = (Y.toarray() - mean) * np.sqrt(weights)[:, None]
    else:
        varying = np.flatnonzero(variances)
        scale = np.sqrt(variances[varying])
        scaled = Y[:, varying].multiply(1 / scale).tocsc()
        values, axes = leading_axes(scaled, mean[varying] / scale, weights, varying.size)
        factor = leading(values, axes, None, n * EPS)[0] * scale
        rows = np.zeros((len(factor), p))
        rows[:, varying] = factor
    rows[:, variances == 0] = 0.0
    return np.asarray(rows[rows.any(axis=1)])


def nonnegative_vector(values: Any, name: str, size: int) -> Array:
    """A vector without negative entries; the error names the position of the first one."""
    array = vector(values, name, size)
    if (array < 0).any():
        i = int(np.flatnonzero(array < 0)[0])
        raise InputError(f"{name}: {array[i]:.6g} was found at position {i}; give numbers that are not negative")
    return array


def sparse_product(Y: Any, weights: Array) -> Array:
    """Y' diag(w) Y, dense of shape (p, p)."""
    weighted = Y.multiply(np.sqrt(weights)[:, None]).tocsc()
    return np.asarray((weighted.T @ weighted).toarray())


def dense_scatter(X: Array, weights: Array, roots: Array | None) -> tuple[Array, Array, Array, Array]:
    r"""Mean of shape (p,), centred rows :math:`\sqrt{w_i}(x_i - m)` of shape (n, p), variances and the mean's remainder (p,).

    Sums start at a row, from which others differ exactly where they lie near it: points far from the origin keep their
    digits, and constant columns, and no others, give zeros. It is the row of most weight, beside which an outlier of little
    weight counts little. ``roots`` are those of the weights, None where all are one: the rows are then not passed over to
    multiply by it.
    """
    total = weights.sum()
    anchor = X[int(np.argmax(weights))]
    rows = X - anchor
    mean, remainder = exact_sum(anchor, weights @ rows / total)
    np.subtract(X, mean, out=rows)
    if roots is not None:
        rows *= roots[:, None]
    variances = np.einsum("ij,ij->j", rows, rows) / total
    # Beside a mean of 1e18 a spread of 1e4 is one of a few last digits, of which the mean has lost its share.
    off = remainder**2 > UNSEEN * variances
    if off.any():
        rows[:, off] -= remainder[off] if roots is None else np.outer(roots, remainder[off])
        variances[off] = np.einsum("ij,ij->j", rows[:, off], rows[:, off]) / total
    return mean, rows, variances, remainder


def exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as float64 has it, and what rounding took from the sum, exactly (Knuth's TwoSum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def sparse_points(X: Any, name: str = "X") -> Any:
    """A sparse matrix by columns, float64, checked like dense points; the stored entries are neither copied nor
    expanded unless the format asks for it."""
    from scipy.sparse import csc_array

    if X.ndim != 2 or X.shape[0] < 1 or X.shape[1] < 1:
        raise InputError(f"{name}: shape {X.shape} was found; at least one row and one column are needed")
    if X.dtype.kind not in "biuf":
        raise InputError(f"{name}: entries of type {X.dtype} were found; give real numbers")
    matrix = csc_array(X, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        entries = matrix.tocoo()
        k = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        raise InputError(
            f"{name}: {entries.data[k]} was found at row {entries.row[k]}, column {entries.col[k]}; "
            "all entries must be finite, drop or fill it first"
        )
    return matrix


def sparse_scatter(X: Any, weights: Array) -> tuple[Array, Array, Any, Array]:
    r"""Mean and variances, both (p,), the points shifted to ``Y``, and the mean's remainder (p,).

    The variances are sums of squares about the mean, zeros included, hence without cancellation. The shift is the
    mean in columns that lie far from zero, whose remainder is the mean of ``Y``, and zero elsewhere.
    """
    p = X.shape[1]
    total = weights.sum()
    columns = np.repeat(np.arange(p), np.diff(X.indptr))
    stored = weights[X.indices]
    zeros = sums_of_absent(X.T, weights)
    # Sums start at an entry of a column that is mostly stored, as those of dense rows do, and elsewhere at zero.
    starts = np.minimum(X.indptr[:-1], max(X.nnz - 1, 0))
    anchor = np.where((np.diff(X.indptr) > 0) & (2 * zeros < total), X.data[starts] if X.nnz else 0.0, 0.0)
    away = X.data - anchor[columns]
    mean, remainder = exact_sum(anchor, (np.bincount(columns, stored * away, p) - zeros * anchor) / total)
    away = (X.data - mean[columns]) - remainder[columns]
    correction = (np.bincount(columns, stored * away, p) - zeros * (mean + remainder)) / total
    mean, remainder = exact_sum(mean, remainder + correction)
    away -= correction[columns]
    variances = (np.bincount(columns, stored * away**2, p) + zeros * mean**2) / total
    return mean, variances, moved(X, np.where(_far(mean, variances), mean, 0.0)), remainder


def beyond_rounding(variances: Array, mean: Array) -> Any:
    """The columns whose spread is more than rounding of computed numbers of their size."""
    return variances > (4.0 * EPS * np.abs(mean)) ** 2


def _far(mean: Array, variances: Array) -> Any:
    """The columns that lie so far from zero that products of their entries lose digits."""
    return mean**2 > FAR * variances


def moved(X: Any, shift: Array) -> Any:
    """Sparse points less ``shift`` of shape (p,), in their own format.

    A column with a shift is written out. Hardly any entry of a column that lies far from zero is zero, so that it is as
    long dense as it was sparse, and products of its entries no longer cancel.
    """
    from scipy.sparse import csc_array

    far = np.flatnonzero(shift)
    if far.size == 0:
        return X
    n, p = X.shape
    lengths = np.zeros(p + 1, dtype=np.int64)
    lengths[far + 1] = n
    parts = (np.repeat(shift[far], n), np.tile(np.arange(n), far.size), np.cumsum(lengths))
    return X - csc_array(parts, shape=(n, p))


def sums_of_absent(stored: Any, values: Array) -> Array:
    """Of each row of a sparse matrix by rows the sum of the values, none negative, in the columns that it does not store.

    The sum of all less those of the stored ones would be rounding where a row lacks little. So values are cut into parts
    whose sums are exact in any order: what is left is exact too, and zero to the last bit for a row that lacks nothing.
    """
    from scipy.sparse import csr_array

    ones = csr_array((np.ones(stored.nnz), stored.indices, stored.indptr), shape=stored.shape)
    found, rest = np.zeros(stored.shape[0]), values
    for _ in range(PARTS):
        if not rest.any():
            break
        unit = 4.0 * np.spacing(rest.sum())
        part = np.floor(rest / unit) * unit
        found += part.sum() - ones @ part
        rest = rest - part
    return found


def leading_axes(Y: Any, mean: Array, weights: Array, count: int) -> tuple[Array, Array]:
    r"""The ``count`` largest singular values, falling, and right vectors (count, p) of :math:`\sqrt{w_i}(y_i - m)`.

    ``Y`` is sparse and stays so: the smaller of its two Gram matrices if that is small, else Lanczos iterations
    from a fixed start. These are squares, of which the axes are taken; small values are those of the points along them.
    """
    from scipy.sparse.linalg import LinearOperator, svds

    roots = np.sqrt(weights)
    n, p = Y.shape
    small = min(n, p)
    if small > SMALL and count < small:
        operator = LinearOperator(
            shape=(n, p),
            dtype=np.float64,
            matvec=lambda v: roots * (Y @ np.ravel(v) - mean @ np.ravel(v)),
            rmatvec=lambda u: Y.T @ (roots * np.ravel(u)) - mean * (roots @ np.ravel(u)),
        )
        _, values, axes = svds(operator, k=count, v0=np.random.default_rng(0).normal(size=small))
        order = np.argsort(values)[::-1]
        return np.asarray(values[order]), np.ascontiguousarray(axes[order])
    if p <= n:
        squares, vectors = np.linalg.eigh(sparse_product(Y, weights) - weights.sum() * np.outer(mean, mean))
        values, axes = np.sqrt(np.maximum(squares[::-1], 0.0)), np.ascontiguousarray(vectors[:, ::-1].T)
        if values[count - 1] <= BY_SQUARES * values[0]:
            # All axes are turned, since among small ones their squares do not tell which are the larger.
            _, values, turn = np.linalg.svd(_turned(Y, mean, roots, axes))
            axes = turn @ axes
        return values[:count], np.ascontiguousarray(axes[:count])
    # n x n: G = R (Y - 1m')(Y - 1m')' R with R = diag(roots)
    inner = Y @ mean
    G = (Y @ Y.T).toarray() - inner[:, None] - inner + mean @ mean
    _, left = np.linalg.eigh(roots[:, None] * G * roots)
    scaled = left[:, ::-1][:, :count] * roots[:, None]
    _, values, axes = np.linalg.svd((Y.T @ scaled).T - np.outer(scaled.sum(axis=0), mean), full_matrices=False)
    return values, axes


def _turned(Y: Any, mean: Array, roots: Array, axes: Array) -> Array:
    r"""R of shape (k, k) or less with R'R = B'B, where B has the rows :math:`\sqrt{w_i}(y_i - m)` along the k axes."""
    rows, along, made = Y.tocsr(), axes @ mean, np.zeros((0, len(axes)))
    for start in range(0, rows.shape[0], TURNED):
        part = slice(start, start + TURNED)
        block = roots[part, None] * (np.asarray(rows[part] @ axes.T) - along)
        made = np.asarray(np.linalg.qr(np.vstack([made, block]), mode="r"))
    return made
