r"""Mean and covariance as an object: dense, diagonal, or low rank plus diagonal; estimated, merged, never inverted.

.. math:: S \quad\text{or}\quad S = \mathrm{diag}(d) \quad\text{or}\quad S = F'F + \mathrm{diag}(d)

What consumers need is a factor with :math:`F'F = S` (``factor``), the products ``multiply`` and ``solve``, and a
``unit`` to divide by. Estimates carry their weight and merge like sums, so that data larger than memory are read in
chunks and chunks are read in parallel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from convexnovelty.columns import agree, by_name, entries_by_name, names_of, names_of_entries, refuse_two_orders
from convexnovelty.covariances import EPS, Spectrum, factored, leading, spectrum, stacked
from convexnovelty.errors import InputError
from convexnovelty.estimates import Estimate, estimate, exact_sum, nonnegative_vector
from convexnovelty.factor_metric import FactorMetric
from convexnovelty.owned import read_only
from convexnovelty.validation import (
    Array,
    choice,
    dimensions,
    integer,
    listed,
    nonnegative,
    points,
    positive,
    symmetric,
    vector,
)

__all__ = ["Moments"]

# A vector counts as in the range of S if what is outside is below this share of it, both in columns of variance 1.
RANGE_TOLERANCE = 1e-8

SPREAD = 4 * EPS  # of what columns of a sample cancel to, beside their means, up to which it is rounding

REPRESENTATIONS = ("dense", "diagonal", "low_rank")


class Moments:
    r"""A mean m of shape (p,) and a positive semidefinite covariance S of shape (p, p).

    Laws
    ----
    - ``M.factor.T @ M.factor == M.covariance``, with as many rows as S has rank.
    - ``M.loadings.T @ M.loadings + np.diag(M.specific_variances) == M.covariance``.
    - ``M.multiply(M.solve(v)) == v`` for every v in the range of S.
    - ``Moments.estimate(A) + Moments.estimate(B) == Moments.estimate(np.vstack([A, B]))``, dense and diagonal.
    - ``Moments.estimate(c * X).unit == abs(c) * Moments.estimate(X).unit``.

    Parameters
    ----------
    mean : (p,); the entries of a labelled one are matched with the columns of a frame ``covariance`` by name.
    covariance : (p, p), symmetric and positive semidefinite; singular is fine. A frame whose rows and columns stand in two
        orders needs a labelled mean.
    count : the weight of the sample behind it, for merging; None if there is none.
    ddof : what an estimate subtracted from the weight (0 divides by n).

    Attributes
    ----------
    representation : "dense", "diagonal" or "low_rank".
    own_axes : whether they are those of a kernel's coordinates, where a set that depends on the basis means nothing.
    forced_diagonal : whether correlations of a sample were left out, of all of it or of a part that was merged; a
        count beside variances alone says so, and neither other axes nor more points undo it.
    names : those of the columns, where the points were a frame; None otherwise. Moments with names are merged with others,
        and used beside points and other moments, by them.

    Examples
    --------
    >>> both = Moments.estimate([[1.0, 5.0], [3.0, 5.0]]) + Moments.estimate([[2.0, 8.0]])
    >>> both
    Moments(dimension=2, representation='dense', count=3)
    >>> both.mean.tolist()
    [2.0, 6.0]
    >>> both.variances.round(4).tolist()
    [0.6667, 2.0]

    Raises
    ------
    IndefiniteError for a covariance with a negative eigenvalue, which it states; InputError for other faults.
    """

    own_axes: bool = False
    forced_diagonal: bool = False
    names: tuple[str, ...] | None = None
    # Whether mean and remainder together are the mean to rounding of the spread, and not of the mean.
    _summed: bool = False

    def __init__(self, mean: Any, covariance: Any, count: Any = None, ddof: Any = 0) -> None:
        centre = vector(mean, "mean")
        refuse_two_orders(covariance, "covariance", mean, "mean")
        dense = symmetric(covariance, "covariance", centre.size)
        names = names_of(covariance)
        centre = entries_by_name(centre, mean, "mean", names, "the covariance")
        self._fill(Estimate(centre, np.zeros((0, centre.size)), np.zeros(centre.size), dense), "dense", count, ddof)
        self.named(names or names_of_entries(mean))
        _ = self._spectrum  # judges definiteness here, where the argument is known by its name

    @classmethod
    def diagonal(cls, mean: Any, variances: Any, count: Any = None, ddof: Any = 0) -> Moments:
        """Moments with covariance diag(variances), held as p numbers."""
        centre = vector(mean, "mean")
        specific = nonnegative_vector(variances, "variances", centre.size)
        names = names_of_entries(mean)
        specific = entries_by_name(specific, variances, "variances", names, "the mean")
        parts = Estimate(centre, np.zeros((0, centre.size)), specific, None)
        return cls._made(parts, "diagonal", count, ddof).named(names or names_of_entries(variances))

    @classmethod
    def low_rank(cls, mean: Any, factor: Any, diagonal: Any = 0.0, count: Any = None, ddof: Any = 0) -> Moments:
        """Moments with covariance F'F + diag(d), for a factor F of shape (r, p) and d of shape (p,) or a number.

        Source: the factor model, section 3.2 of the probabilistic one-class classifier, whose F is the transpose.
        """
        centre = vector(mean, "mean")
        names = names_of(factor) or names_of_entries(mean)
        loadings = points(factor, "factor", minimum=0)
        if loadings.shape[1] != centre.size:
            raise InputError(f"factor: {loadings.shape[1]} columns were found where the mean has length {centre.size}")
        centre = entries_by_name(centre, mean, "mean", names, "the factor")
        if dimensions(diagonal, "diagonal") == 0:
            specific = np.full(centre.size, nonnegative(diagonal, "diagonal"))
        else:
            specific = nonnegative_vector(diagonal, "diagonal", centre.size)
            specific = entries_by_name(specific, diagonal, "diagonal", names, "the factor")
        return cls._made(Estimate(centre, loadings, specific, None), "low_rank", count, ddof).named(names)

    @classmethod
    def estimate(
        cls,
        X: Any,
        weights: Any = None,
        ddof: Any = 0,
        representation: str | None = None,
        rank: int | None = None,
    ) -> Moments:
        r"""The weighted moments of a sample.

        .. math:: m = \sum w_i x_i / W, \qquad S = \sum w_i (x_i - m)(x_i - m)' / (W - \mathrm{ddof})

        Parameters
        ----------
        X : (n, p) points, dense or scipy sparse. Of sparse points nothing is expanded but the answer: a dense
            covariance is p x p, low rank without ``rank`` is min(n, p) x p. A single row has covariance zero.
        weights : (n,) not negative; weight 2 counts as two equal rows, weight 0 as none.
        representation : "dense" (the default), "diagonal" (variances only), or "low_rank".
        rank : the number k of factors, implies "low_rank": S ~ F'F + s I, where F holds the k leading axes and s is
            the next eigenvalue of S, so that w'F'Fw <= w'Sw <= w'(F'F + s I)w for every w. None represents S exactly.

        Raises
        ------
        InputError for points or weights that cannot be used, with the row.
        """
        if rank is not None:
            rank = integer(rank, "rank", 1)
            if representation is not None and choice(representation, "representation", REPRESENTATIONS) != "low_rank":
                raise InputError(f"rank: {rank} was found with the representation {representation!r}; use 'low_rank'")
        if representation is None:
            representation = "dense" if rank is None else "low_rank"
        choice(representation, "representation", REPRESENTATIONS)
        found, total = estimate(X, weights, ddof, representation, rank)
        made = cls._made(found, representation, total, ddof)
        made.own_axes, made._summed = bool(getattr(X, "own_axes", False)), True
        return made.named(names_of(X))

    def _fill(self, parts: Estimate, representation: str, count: Any, ddof: Any) -> None:
        mean, loadings, specific, dense, remainder = parts
        if loadings.shape[0] > mean.size:
            loadings = np.asarray(np.linalg.qr(loadings, mode="r"))  # R'R = F'F with no more than p rows
        self.representation = representation
        self.mean = _kept(mean)
        self._remainder = np.zeros(mean.size) if remainder is None else _kept(remainder)
        self.count: float | None = None if count is None else positive(count, "count")
        self.ddof: float = nonnegative(ddof, "ddof")
        self._loadings, self._specific = _kept(loadings), _kept(specific)
        self._dense: Array | None = None if dense is None else _kept((dense + dense.T) / 2.0)
        self.forced_diagonal = representation == "diagonal" and count is not None and mean.size > 1

    @classmethod
    def _made(cls, parts: Estimate, representation: str, count: Any, ddof: Any) -> Moments:
        """Moments of parts that need no check of definiteness, because they are sums of squares."""
        made = cls.__new__(cls)
        made._fill(parts, representation, count, ddof)
        return made

    def _after(self, *before: Moments) -> Moments:
        """These moments with what is known of those that they were made from."""
        self.own_axes = any(part.own_axes for part in before)
        self.forced_diagonal = any(part.forced_diagonal for part in before)
        self._summed = all(part._summed for part in before)
        return self

    def named(self, names: Sequence[str] | None) -> Moments:
        """The same moments, whose columns have these names from now on; None leaves them as they are."""
        if names is not None:
            names = listed(names, "names", "a list with a name for each column")
            if len(names) != self.dimension:
                raise InputError(f"names: {len(names)} were found for {self.dimension} columns; give one for each")
            self.names = tuple(names)
        return self

    def with_remainder(self, remainder: Any) -> Moments:
        """The same moments, with a :attr:`remainder` of their mean from now on; None leaves them as they are."""
        if remainder is not None:
            self._remainder, self._summed = _kept(vector(remainder, "remainder", self.dimension)), True
        return self

    @property
    def remainder(self) -> Array | None:
        """What rounding took from the mean of a sample, of shape (p,): it is ``mean`` and this together. None for given means."""
        return self._remainder if self._summed else None

    def in_order(self, names: Sequence[str] | None, name: str, learnt: str) -> Moments:
        """The moments with their columns in the order of ``names``, as they are where either has no names.

        ``name`` is the argument and ``learnt`` says what has ``names``. Raises InputError for columns that are not the same.
        """
        if names is None or self.names is None:
            return self
        names = listed(names, "names", "a list with a name for each column")
        if self.names == tuple(names):
            return self
        agree(self.names, name, names, learnt)
        order = [self.names.index(entry) for entry in names]
        dense = None if self._dense is None else self._dense[np.ix_(order, order)]
        remainder = self._remainder[order]
        parts = Estimate(self.mean[order], self._loadings[:, order], self._specific[order], dense, remainder)
        return Moments._made(parts, self.representation, self.count, self.ddof)._after(self).named(names)

    @property
    def dimension(self) -> int:
        """The number p of columns."""
        return int(self.mean.size)

    @cached_property
    def covariance(self) -> Array:
        """S as a dense matrix of shape (p, p)."""
        if self._dense is not None:
            return self._dense
        return _kept(self._loadings.T @ self._loadings + np.diag(self._specific))

    @property
    def loadings(self) -> Array:
        """F of shape (r, p) in S = F'F + diag(d); of a dense covariance its factor, and of a diagonal one no rows."""
        return self._loadings if self._dense is None else self.factor

    @property
    def specific_variances(self) -> Array:
        """d of shape (p,) in S = F'F + diag(d); zero for a dense covariance."""
        return self._specific

    @cached_property
    def variances(self) -> Array:
        """The diagonal of S, of shape (p,)."""
        if self._dense is not None:
            return _kept(self._dense.diagonal())
        return _kept(np.einsum("ij,ij->j", self._loadings, self._loadings) + self._specific)

    @cached_property
    def unit(self) -> float:
        r"""The root mean square length of a point, :math:`\sqrt{\mathrm{tr} S + \|m\|^2}`; 1 if that is zero.

        Moments divided by it have entries of at most 1. It costs p operations, and is the scale to model in.
        """
        return float(np.sqrt(max(self.variances.sum(), 0.0) + self.mean @ self.mean)) or 1.0

    @cached_property
    def _spectrum(self) -> Spectrum:
        if self._dense is not None:
            return spectrum(self._dense, mean=self.mean)
        if self.representation == "diagonal":
            kept = np.flatnonzero(self._specific > 0)
            return np.sqrt(self._specific), np.ones(kept.size), np.eye(self.dimension)[kept]
        metric = self.metric
        rows = metric.on_range(stacked(self._loadings, self._specific) / metric.divisor)
        _, sigma, axes = np.linalg.svd(rows, full_matrices=False)
        return metric.deviations, sigma[: metric.rank], axes[: metric.rank]

    @cached_property
    def metric(self) -> FactorMetric:
        """The inverse of S on its range, which decides the rank for everything that is asked of these moments."""
        if self._dense is not None:
            return FactorMetric.of_spectrum(self._spectrum)
        # A sum of columns is known to rounding of its mean; numbers that were given are what they are.
        rounding = np.zeros(self.dimension) if self.count is None else SPREAD * np.abs(self.mean)
        return FactorMetric(self._loadings, self._specific, rounding)

    @property
    def spanned(self) -> FactorMetric:
        """The same inverse by axes of the whole range, which low rank plus a diagonal is taken apart for: p^3 operations."""
        return FactorMetric.of_spectrum(self._spectrum)

    @cached_property
    def factor(self) -> Array:
        """F of shape (r, p) with F'F = S and r the rank of S.

        The rank is judged in columns scaled to variance 1: eigenvalues of the correlation matrix above 10 p eps times
        the largest count. With low rank plus a diagonal the singular values do, which tell more, but none that rounding
        of an estimate's mean explains. A change of units of the columns changes F by the same units, and never r.
        """
        scale, sigma, axes = self._spectrum
        return _kept(sigma[:, None] * axes * scale)

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """The r eigenvalues of S above zero, falling, and their eigenvectors as the columns of a (p, r) matrix.

        They come from the singular values of ``factor``, and r is its number of rows.
        """
        if self.representation == "diagonal":
            order = np.argsort(-self.variances, kind="stable")[: int((self.variances > 0).sum())]
            return self.variances[order], np.eye(self.dimension)[:, order]
        _, sigma, axes = np.linalg.svd(self.factor, full_matrices=False)
        return _kept(sigma**2), _kept(axes.T)

    def centred(self, X: Any) -> Array:
        """The rows of X of shape (n, p) less the mean, which an estimate knows beyond the last digit that ``mean`` shows.

        A frame's columns are matched by name with those of the moments, in whose order the columns come out.
        """
        X = by_name(X, "X", self.names, "the moments")
        return np.asarray((points(X, "X") - self.mean) - self._remainder)

    def mean_difference(self, other: Moments) -> tuple[Array, Array]:
        """The mean less that of other moments with the same columns, and how much of it may be rounding, both (p,).

        Means of samples are known to rounding of the spread, wherever they lie, and others to that of their last digit.
        Columns are matched by name where both have names, and come out in the order of these moments.
        """
        other = other.in_order(self.names, "other", "the moments")
        gap = (self.mean - other.mean) + (self._remainder - other._remainder)
        errors = [np.sqrt(part.variances) if part._summed else np.abs(part.mean) for part in (self, other)]
        return np.asarray(gap), np.asarray(SPREAD * (errors[0] + errors[1]))

    def multiply(self, v: Any) -> Array:
        """S v of shape (p,)."""
        v = vector(v, "v", self.dimension)
        if self._dense is not None:
            return np.asarray(self._dense @ v)
        return np.asarray(self._loadings.T @ (self._loadings @ v) + self._specific * v)

    def solve(self, v: Any) -> Array:
        """The shortest x with S x = v, that is S^+ v, of shape (p,).

        Low rank plus a diagonal is solved by Woodbury's identity in all columns but those with nearly no variance of
        their own. Raises InputError if v does not lie in the range of S, naming the column that shows it.
        """
        v = vector(v, "v", self.dimension)
        outside = self.null_direction(v)
        if outside is not None:
            worst = int(np.abs(outside * v).argmax())
            raise InputError(
                f"v: not in the range of the covariance, since column {worst} of v is {v[worst]:.6g} along a direction "
                "without variance; add a ridge to the covariance, or use null_direction(v), which separates v from 0"
            )
        x = self.metric.solve(v)
        if self.representation == "low_rank":
            x = x + self.metric.solve(v - self.multiply(x))  # once more, since the identity's difference cancels
        return self.metric.shortest(x)

    def null_direction(self, v: Any) -> Array | None:
        """A direction a with S a = 0 and a'v > 0, or None if v lies in the range of S (to 1e-8 of v).

        Along such a direction points with these moments do not vary at all, so it tells v from 0 for certain.
        """
        v = vector(v, "v", self.dimension)
        constant = self.variances == 0
        missed = np.where(constant, v, 0.0)
        if np.abs(missed).max() > RANGE_TOLERANCE * np.abs(v).max():
            return missed
        residual, scaled = self.metric.beyond(np.where(constant, 0.0, v))
        if np.linalg.norm(residual) <= RANGE_TOLERANCE * np.linalg.norm(scaled):
            return None
        return np.asarray(residual / self.metric.divisor)

    def rotated(self, axes: Any) -> Moments:
        """The moments V'm and V'SV of the points in the axes V of shape (p, q), one a column; dense.

        An axis along which nothing varies has no variance, whatever rounding leaves of it.
        """
        V = points(axes, "axes")
        if V.shape[0] != self.dimension:
            raise InputError(f"axes: {V.shape[0]} rows were found where the moments have dimension {self.dimension}")
        if self._dense is not None:
            covariance, share = V.T @ self._dense @ V, self.dimension * EPS
        else:
            turned, share = self._loadings @ V, (self.dimension * EPS) ** 2
            covariance = turned.T @ turned + V.T @ (self._specific[:, None] * V)
        still = covariance.diagonal() <= share * (np.abs(V).T @ np.sqrt(np.maximum(self.variances, 0.0))) ** 2
        covariance[still], covariance[:, still] = 0.0, 0.0
        parts = Estimate(V.T @ self.mean, np.zeros((0, V.shape[1])), np.zeros(V.shape[1]), covariance)
        made = Moments._made(parts, "dense", self.count, self.ddof)._after(self)
        made._summed = False
        return made

    def ridged(self, added: Any) -> Moments:
        """The same with a variance ``added`` >= 0 in every direction, in the same representation."""
        added = nonnegative(added, "added")
        if self._dense is None:
            parts = Estimate(self.mean, self._loadings, self._specific + added, None, self._remainder)
        else:
            dense = self._dense + added * np.eye(self.dimension)
            parts = Estimate(self.mean, self._loadings, self._specific, dense, self._remainder)
        return Moments._made(parts, self.representation, self.count, self.ddof)._after(self).named(self.names)

    def truncated(self, rank: Any) -> Moments:
        """Low rank plus diagonal with ``rank`` factors, at least S in every direction: what is cut is bounded by the
        next eigenvalue, which goes on the diagonal. Keeps a stream of merges short."""
        rank = integer(rank, "rank", 1)
        if self.representation == "diagonal":
            return self
        values, axes = factored(self.loadings)
        loadings, added = leading(values, axes, rank, max(self.loadings.shape) * EPS)
        parts = Estimate(self.mean, loadings, self._specific + added, None, self._remainder)
        return Moments._made(parts, "low_rank", self.count, self.ddof)._after(self).named(self.names)

    def update(self, chunk: Any, weights: Any = None) -> Moments:
        """New moments with more points merged in, in the same representation."""
        chunk = by_name(chunk, "chunk", self.names, "the moments")
        found, total = estimate(chunk, weights, 0.0, self.representation, None, "chunk")
        added = Moments._made(found, self.representation, total, 0.0)
        added.own_axes, added._summed = bool(getattr(chunk, "own_axes", False)), True
        # A chunk may have less weight than is subtracted from that of all.
        return (self.with_ddof(0.0) + added.named(names_of(chunk))).with_ddof(self.ddof)

    def with_ddof(self, ddof: Any) -> Moments:
        """The moments of the same sample with another number subtracted from its weight; S is that many times larger.

        Raises InputError for moments without a count, and where the count leaves nothing to divide by.
        """
        ddof = nonnegative(ddof, "ddof")
        if ddof == self.ddof:
            return self
        if self.count is None:
            raise InputError("moments: no count was found, and so no weight to subtract ddof from; give count=")
        divisor = self.count - ddof
        # A single row has no spread, whatever is subtracted.
        if divisor <= 0 and self.variances.any():
            raise InputError(f"ddof: {ddof:.6g} was found where the weights add up to {self.count:.6g}; give less")
        factor = max(self.count - self.ddof, 0.0) / divisor if divisor > 0 else 0.0
        dense = None if self._dense is None else factor * self._dense
        parts = Estimate(self.mean, math.sqrt(factor) * self._loadings, factor * self._specific, dense, self._remainder)
        return Moments._made(parts, self.representation, self.count, ddof)._after(self).named(self.names)

    def __add__(self, other: Any) -> Moments:
        """The moments of two samples together, from their moments alone (Chan, Golub and LeVeque 1983).

        Exact for dense, and for two diagonal estimates, of which the variances of the union are kept. Low rank parts
        are stacked, so that the sum represents what the two represent and has more factors; see ``truncated``.
        """
        if not isinstance(other, Moments):
            return NotImplemented
        other = other.in_order(self.names, "moments", "those that they are merged with")
        return self._merged(other)._after(self, other).named(self.names or other.names)

    def _merged(self, other: Moments) -> Moments:
        if self.dimension != other.dimension:
            raise InputError(f"moments: dimensions {self.dimension} and {other.dimension} cannot be merged")
        if self.count is None or other.count is None or self.ddof != other.ddof:
            raise InputError(
                f"moments: counts {self.count} and {other.count}, ddof {self.ddof:g} and {other.ddof:g} were found; "
                "merging needs both counts and equal ddof, as estimates have them"
            )
        total = self.count + other.count
        # With a mean of 1e8 the last digit that a mean can show is 1e-8, and gaps are of means that lie close to one
        # another. So what rounding takes from a mean travels along, and a sum of many parts is as good as one estimate.
        gap, _ = other.mean_difference(self)
        mean, remainder = exact_sum(self.mean, self._remainder + gap * (other.count / total))
        divisor = total - self.ddof
        if divisor <= 0:
            raise InputError(f"ddof: {self.ddof:g} was found where the counts add up to {total:g}; give less")
        # A part with count <= ddof is a single row, whose covariance is zero anyway.
        mine, others = (max(part.count - self.ddof, 0.0) / divisor for part in (self, other) if part.count is not None)
        between = (self.count / total) * (other.count / divisor)  # products of tiny weights would be none
        kinds = {self.representation, other.representation}
        specific = mine * self._specific + others * other._specific
        if "dense" in kinds:
            covariance = mine * self.covariance + others * other.covariance + between * np.outer(gap, gap)
            parts = Estimate(mean, np.zeros((0, mean.size)), np.zeros(mean.size), covariance, remainder)
            return Moments._made(parts, "dense", total, self.ddof)
        if kinds == {"diagonal"}:
            parts = Estimate(mean, np.zeros((0, mean.size)), specific + between * gap**2, None, remainder)
            return Moments._made(parts, "diagonal", total, self.ddof)
        stacked = [np.sqrt(mine) * self._loadings, np.sqrt(others) * other._loadings, np.sqrt(between) * gap[None, :]]
        return Moments._made(
            Estimate(mean, np.vstack(stacked), specific, None, remainder), "low_rank", total, self.ddof
        )

    def __radd__(self, other: Any) -> Moments:
        """Makes ``sum(parts)`` work, which starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self) -> str:
        count = "" if self.count is None else f", count={self.count:g}"
        return f"Moments(dimension={self.dimension}, representation={self.representation!r}{count})"


def _kept(array: Array) -> Array:
    return read_only(np.array(array, dtype=np.float64))
