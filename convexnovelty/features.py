r"""Feature maps: coordinates of points in which every kernel method is a linear method.

A kernel k has a feature map :math:`\varphi` with :math:`k(x, z) = \langle\varphi(x), \varphi(z)\rangle`. On the span
of a sample, :class:`KernelFeatures` gives :math:`\varphi(z)` in an orthonormal basis: with the pivoted Cholesky
factor :math:`P'KP = LL'` of the Gram matrix, the row :math:`c(z) = L_p^{-1} k(x_p, z)`, where :math:`x_p` are the
pivot points and :math:`L_p` their triangle. Then :math:`c(x)'c(z) = k(x, z)` for sample points, and what lies outside
the span has length :math:`k(z, z) - \|c(z)\|^2`. Nothing inverts a Gram matrix, and scale is a choice of rank.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np

from convexnovelty.cholesky import full_cholesky, nearest_semidefinite, partial_cholesky
from convexnovelty.columns import by_name, names_of
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.kernels import Kernel, Linear, Precomputed, as_kernel
from convexnovelty.owned import read_only
from convexnovelty.spans import spanning
from convexnovelty.validation import EPS, Array, integer, points, positive, rounding_of, squarable, symmetric, vector

__all__ = ["Coordinates", "FeatureMap", "KernelFeatures", "LinearFeatures", "middle_length"]

FAR = 3.0  # how much longer the root of the mean is where a few points decide it
TOLERANCE = 1e-13  # pivots below this share of the largest k(x, x) count as zero: a few hundred roundings
KNOWN = 1e-8  # share of the largest k(x, x) down to which the pivots of a Gram matrix have the digits of an answer
ENTRIES = 4 * 10**6  # numbers that explicit features of a sample may take: 32 MB, and some copies to factor them
ROUNDED = 4  # roundings of k(x, x), below which nothing is known from a Gram matrix

COUNTED = (
    float(np.finfo(np.float64).eps) ** 2
)  # share of a row's largest coordinate below which one changes no digit of any product


class Coordinates(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Rows of coordinates that remember k(z, z) of the points they came from, in ``squared_norms`` of shape (n,).

    Selecting rows (slice, boolean mask, integer array) keeps the matching norms. Columns, transposes and copies have
    ``squared_norms`` None, since then nobody knows them, and arithmetic gives plain arrays. Read-only, so that the
    two cannot drift apart. ``own_axes`` says that the columns are no features of the data but axes that a kernel's
    factorisation chose, in which a box, say, means nothing.
    """

    squared_norms: Array | None
    own_axes: bool = False

    def __new__(cls, values: Any, squared_norms: Any = None) -> Coordinates:
        """Coordinates of shape (n, r), with k(z, z) of shape (n,) if known."""
        array = np.array(points(values, "values")).view(cls)
        if squared_norms is not None:
            array.squared_norms = vector(squared_norms, "squared_norms", array.shape[0])
            read_only(array)
        return array

    def __array_finalize__(self, parent: Any) -> None:
        self.squared_norms = None
        self.own_axes = bool(getattr(parent, "own_axes", False))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, index: Any) -> Any:
        selected = super().__getitem__(index)
        if self.squared_norms is None or self.ndim != 2 or not _selects_rows(index):
            return selected
        if isinstance(selected, Coordinates) and selected.ndim == 2:
            selected.squared_norms = self.squared_norms[index]
            read_only(selected)
        return selected

    def __reduce__(self) -> Any:
        return _rebuild, (np.asarray(self), self.squared_norms, self.own_axes)

    def __deepcopy__(self, memo: Any) -> Coordinates:
        return _rebuild(np.array(self), self.squared_norms, self.own_axes)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.__reduce__()


def _rebuild(values: Array, squared_norms: Array | None, own_axes: bool = False) -> Coordinates:
    made = Coordinates(values, squared_norms) if squared_norms is not None else values.view(Coordinates)
    made.own_axes = own_axes
    return made


def _in_own_axes(values: Array, squared_norms: Array | None) -> Coordinates:
    made = Coordinates(values, squared_norms)
    made.own_axes = True
    return made


def _selects_rows(index: Any) -> bool:
    """Whether an index picks whole rows: a slice, a mask of rows, or an array of row numbers."""
    if isinstance(index, slice):
        return True
    if isinstance(index, (list, np.ndarray)):
        array = np.asarray(index)
        return array.ndim == 1 and (array.dtype.kind in "biu" or array.size == 0)
    return False


class FeatureMap(ABC):
    """Points as rows of coordinates whose inner products are the kernel's values.

    Laws, with K = ``features.gram``, C = ``features.training`` and ``residuals`` = diag(K) - row norms of C squared
    ---------------------------------------------------------------------------------------------------------
    - ``C @ C.T == K`` where the residuals are zero, which is everywhere unless ``rank`` cut the basis short.
    - ``features.coordinates(features.points) == C`` to 1e-10 of ``features.unit``.
    - ``features.coordinates(Z) @ C.T == features.cross_gram(Z)``, under the same condition.
    - ``features.coordinates(Z).squared_norms == features.squared_norms(Z)``.
    """

    points: Array
    kernel: Kernel
    training: Coordinates
    #: The names of the columns, where the points came as a frame: new frames are matched by them. Those of a Gram matrix are points.
    names: list[str] | None = None

    @abstractmethod
    def coordinates(self, Z: Any, squared_norms: Any = None) -> Coordinates:
        """The coordinates of new points, of shape (m, r)."""

    @abstractmethod
    def cross_gram(self, Z: Any) -> Array:
        """k(z_j, x_i) of shape (m, n)."""

    @abstractmethod
    def squared_norms(self, Z: Any = None) -> Array:
        """k(z, z) of shape (m,); of the training points if ``Z`` is left out."""

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix k(x_i, x_j) of shape (n, n), computed once."""
        return read_only(self.kernel(self.points))

    @property
    def explicit(self) -> bool:
        """Whether the coordinates are made of features with units of their own, whose sizes may lie far apart."""
        return False

    @property
    def hidden(self) -> Array:
        """Squared lengths of what rounding may hide of the training points from their coordinates, of shape (n,)."""
        return np.zeros(self.n)

    @property
    def n(self) -> int:
        """The number of training points."""
        return int(self.training.shape[0])

    @property
    def dimension(self) -> int:
        """The number r of coordinates."""
        return int(self.training.shape[1])

    @cached_property
    def unit(self) -> float:
        """The root of the mean of k(x, x), the scale of the features; 1 if all are zero."""
        return float(np.sqrt(np.mean(self.squared_norms()))) or 1.0

    @cached_property
    def middle(self) -> float:
        """The :func:`middle_length` of the features, in which programs are posed."""
        return middle_length(self.squared_norms())


def middle_length(squares: Array) -> float:
    """The root of the mean of squared lengths, or of their median where a few far points decide the mean; 1 if all are zero.

    What is small beside the unit of a program is small beside a solver's tolerances.
    """
    mean, median = float(np.sqrt(np.mean(squares))), float(np.sqrt(np.median(squares)))
    return median if 0 < FAR * median < mean else mean or 1.0


class LinearFeatures(FeatureMap):
    """The points themselves: coordinates in R^p, with the linear kernel.

    Parameters
    ----------
    X : (n, p) points.
    """

    def __init__(self, X: Any) -> None:
        self.points = read_only(np.array(squarable(points(X, "X"), "X")))  # nobody else's, as the Gram matrix is
        self.names = names_of(X)
        self.kernel = Linear()
        self.training = Coordinates(self.points, self.kernel.diagonal(self.points))

    @property
    def explicit(self) -> bool:
        """True: the columns of the points."""
        return True

    def coordinates(self, Z: Any, squared_norms: Any = None) -> Coordinates:
        """The points ``Z`` of shape (m, p), checked; ``squared_norms`` is not needed."""
        Z = self._checked(Z)
        return Coordinates(Z, self.kernel.diagonal(Z))

    def cross_gram(self, Z: Any) -> Array:
        """z_j'x_i of shape (m, n)."""
        return self.kernel(self._checked(Z), self.points)

    def squared_norms(self, Z: Any = None) -> Array:
        """The squared lengths of the points, of shape (m,)."""
        return self.kernel.diagonal(self.points if Z is None else self._checked(Z))

    def _checked(self, Z: Any) -> Array:
        Z = points(by_name(Z, "Z", self.names, "X"), "Z")
        return _with_columns(squarable(Z, "Z", new=True), self.points.shape[1])


class KernelFeatures(FeatureMap):
    r"""Coordinates of :math:`\varphi(z)` in an orthonormal basis of a sample's span, by pivoted Cholesky.

    .. math:: K_{pp} = L_p L_p', \qquad c(z) = L_p^{-1} k(x_p, z)

    Values of a kernel are squares, of which features shorter than :math:`10^{-6}` of the longest are rounding, as a constant is
    beside powers of columns in the thousands. The basis of a linear or a polynomial kernel is then found from its explicit features.

    Parameters
    ----------
    X : (n, p) points; for ``kernel="precomputed"`` their (n, n) Gram matrix, which must be symmetric. The points of one whose
        rows and columns have the same names stand in the order of its rows.
    kernel : a Kernel, a name, a function, or None for the linear kernel; ``gamma="scale"`` is read off ``X``.
    rank : at most so many coordinates. Then the Gram matrix is never stored: the columns of the chosen pivots are
        computed on demand (pivoted Nystroem), and ``residuals`` says what was left out. None keeps all.
    tolerance : a pivot below ``tolerance * max k(x, x)`` ends the factorisation, but for rows that are small beside the
        largest, which go on to this share of their own; the rank is the number of pivots.

    Kernel values in float32 or float16 are rounded, and their matrix may have eigenvalues down to minus n roundings of the largest:
    then ``gram`` is the semidefinite matrix nearest to it.

    Attributes
    ----------
    training : (n, r) Coordinates of the sample.
    pivots : (r,) the row numbers of the sample points that span the basis.
    residuals : (n,) squared lengths of what the basis does not hold, k(x, x) - ||c(x)||^2.
    hidden : (n,) squared lengths of what rounding of kernel values may hide from the basis.

    Examples
    --------
    >>> features = KernelFeatures([[0.0], [0.0], [1.0]], "gaussian")
    >>> features.dimension  # two of the three points are equal
    2
    >>> bool(abs(features.training @ features.training.T - features.gram).max() < 1e-12)
    True

    Raises
    ------
    IndefiniteError with the most negative eigenvalue, if the Gram matrix is not positive semidefinite. With ``rank``
    only the computed columns are judged. InputError if every k(x, x) is zero: such features have no scale.
    """

    #: Axes (f, r) of the span among the explicit features of the kernel, where these tell more than its values.
    _axes: Array | None = None

    def __init__(self, X: Any, kernel: Any = None, rank: int | None = None, tolerance: float = TOLERANCE) -> None:
        kernel = as_kernel(kernel)
        X = kernel.known(X)
        self.names = names_of(X)
        self.tolerance = positive(tolerance, "tolerance")
        self.rank = None if rank is None else integer(rank, "rank", 1)
        if isinstance(kernel, Precomputed):
            self._rounding = rounding_of(X)
            self.points = read_only(np.array(symmetric(points(X, "X"), "X", rounding=self._rounding)))
        else:
            self.points = read_only(np.array(squarable(points(X, "X"), "X")))  # nobody else's, as the Gram matrix is
            self._rounding = kernel.rounding(self.points)
        self.kernel = kernel.fitted(self.points)
        self._norms = read_only(
            np.array(np.diag(self.points) if self._precomputed else self.kernel.diagonal(self.points))
        )
        if not np.isfinite(self._norms).all():
            raise InputError(
                f"kernel: {self.kernel!r} of a point with itself is beyond float64; give smaller parameters or points"
            )
        if self.rank is None:
            factor, self.pivots = self._factored()
        else:
            # Columns are all there is, and smaller pivots would spread the rounding of their entries.
            least = self.tolerance if self._rounding <= EPS else max(self.tolerance, ROUNDED * self._rounding)
            factor, self.pivots = partial_cholesky(self._column, self._norms, self.rank, least, self._rounding)
        few = self._count is not None and len(self.points) * self._count <= ENTRIES
        if few and self.tolerance <= TOLERANCE and not self._is_known(factor[self.pivots]):
            self._axes, factor, self.pivots = spanning(self.kernel.features(self.points), self.rank)
        else:
            factor = _counted(factor)
        if self.pivots.size == 0:
            raise InputError("X: k(x, x) = 0 at every point, so the features are all zero; give points that are not")
        self.residuals = read_only(np.maximum(self._norms - np.einsum("ij,ij->i", factor, factor), 0.0))
        self.pivots = read_only(np.asarray(self.pivots))
        self._triangle = factor[self.pivots]
        self._pivot_points = self.points[self.pivots]
        self._row_of: dict[bytes, int] = {}
        first = [self._row_of.setdefault(key, i) for i, key in enumerate(_row_keys(self.points))]
        self.training = _in_own_axes(factor[first], self._norms)

    def _factored(self) -> tuple[Array, Any]:
        """The factor of the Gram matrix, or of the nearest semidefinite one where its type explains that it is none."""
        try:
            return full_cholesky(self.gram, self.tolerance)
        except IndefiniteError as error:
            self.gram = read_only(nearest_semidefinite(self.gram, error, self._rounding))
            self._norms = read_only(np.array(np.diag(self.gram)))
            return full_cholesky(self.gram, self.tolerance)

    @cached_property
    def _count(self) -> int | None:
        """How many explicit features the points have, if any are known."""
        return self.kernel.feature_count(self.points.shape[1])

    def _is_known(self, triangle: Array) -> bool:
        """Whether a Gram matrix tells all of so many explicit features, or the rank that is asked for, to the digits of an answer."""
        full = min(self._count or 0, len(self.points))
        if self.rank is not None and self.rank < full:
            return len(triangle) == self.rank
        return len(triangle) == full > 0 and bool(triangle[-1, -1] ** 2 >= KNOWN * self._norms.max())

    @property
    def explicit(self) -> bool:
        """See :attr:`FeatureMap.explicit`."""
        return self._axes is not None

    @property
    def hidden(self) -> Array:
        """What the tolerance dropped, and rounding of k(x, x); what ``rank`` cut off was not hidden but left out."""
        if self._axes is not None or (self._count is not None and self._is_known(self._triangle)):
            return np.zeros(self.n)
        return ROUNDED * self._rounding * self._norms + (self.residuals if self.rank is None else 0.0)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix k(x_i, x_j) of shape (n, n): exact, also where ``rank`` cut the coordinates short."""
        return self.points if self._precomputed else read_only(self.kernel(self.points))

    def cross_gram(self, Z: Any) -> Array:
        """k(z_j, x_i) of shape (m, n); for a precomputed kernel ``Z`` is this matrix itself and is only checked."""
        Z = self._checked(Z)
        return Z if self._precomputed else self.kernel(Z, self.points)

    def coordinates(self, Z: Any, squared_norms: Any = None) -> Coordinates:
        r"""The coordinates :math:`L_p^{-1} k(x_p, z)` of new points, of shape (m, r); a sample point gets its own back.

        Parameters
        ----------
        Z : (m, p) points; for a precomputed kernel the rows k(z, x_i) of shape (m, n).
        squared_norms : (m,) k(z, z). Only for a precomputed kernel, where nothing else tells them; without them
            the coordinates carry none, half-spaces work, and a ball that needs them says so.
        """
        from scipy.linalg import solve_triangular

        Z = self._checked(Z)
        if self._precomputed:
            values = Z[:, self.pivots]
            norms = None if squared_norms is None else vector(squared_norms, "squared_norms", Z.shape[0])
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # what they say is said below
                values = (
                    self.kernel.evaluate(Z, self._pivot_points)
                    if self._axes is None
                    else self.kernel.features(Z) @ self._axes
                )
            if not np.isfinite(values).all():
                raise InputError(
                    f"kernel: {self.kernel!r} has values that are not finite on new points; give points that are nearer to "
                    "those of the fit"
                )
            norms = self.kernel.diagonal(Z)
        if self._axes is None:
            values = _counted(np.ascontiguousarray(solve_triangular(self._triangle, values.T, lower=True).T))
        # The last pivots may be as small as the tolerance, and divide a rounding of 1e-16 by its root: 1e-9 at worst.
        # Sample points are therefore recognised, and give their training coordinates to the last bit.
        for j, key in enumerate(_row_keys(Z)):
            i = self._row_of.get(key)
            if i is not None and np.array_equal(Z[j], self.points[i]):
                values[j] = self.training[i]
        return _in_own_axes(values, norms)

    def squared_norms(self, Z: Any = None) -> Array:
        """k(z, z) of shape (m,). Raises InputError for new points of a precomputed kernel, which cannot know it."""
        return self._norms if Z is None else self.kernel.diagonal(self._checked(Z))

    def _column(self, i: int) -> Array:
        """Column i of the Gram matrix."""
        return self.points[:, i] if self._precomputed else self.kernel.evaluate(self.points, self.points[[i]])[:, 0]

    def _checked(self, Z: Any) -> Array:
        Z = points(by_name(Z, "Z", self.names, "X"), "Z")
        return _with_columns(squarable(Z, "Z", new=True), self.points.shape[1])


def _counted(coordinates: Array) -> Array:
    """Coordinates from a factorisation, with zeros for what counts for nothing beside the largest of its row.

    Kernel values of far points may be as small as numbers are, and what is divided by one, as a column's scale is, no number.
    """
    sizes = np.abs(coordinates)
    return np.where(sizes >= COUNTED * sizes.max(axis=1, keepdims=True, initial=0.0), coordinates, 0.0)


def _row_keys(Z: Array) -> list[bytes]:
    """A digest for each row, the same in every process; adding zero makes -0.0 and 0.0 the same point."""
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in Z + 0.0]


def _with_columns(Z: Array, columns: int) -> Array:
    if Z.shape[1] != columns:
        raise InputError(f"Z: {Z.shape[1]} columns were found where {columns} are needed, as in training")
    return Z
