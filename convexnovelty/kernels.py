r"""Kernels k(x, z): objects that evaluate, compare by value, pickle, and travel as recipes.

A kernel is made by a function with scikit-learn's parameter names:

>>> kernel = gaussian(width=2.0)  # exp(-||x - z||^2 / 2)
>>> kernel([[0.0], [2.0]], [[0.0]]).round(4).tolist()
[[1.0], [0.1353]]
>>> kernel.recipe()
{'name': 'gaussian', 'parameters': {'gamma': 0.5}}

The formulas are a line of NumPy each, so that this module costs no import of scikit-learn; the tests compare
each with scikit-learn's. What differs is stated at the kernel: Gaussian distances that do not cancel far from
the origin, and an automatic ``gamma="scale"`` that a large constant column cannot ruin.

A new kernel is one subclass of :class:`Kernel`, a frozen dataclass with a ``name`` and ``evaluate``.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from convexnovelty.columns import by_name, columns_as_rows, names_of
from convexnovelty.distances import laplacian_gamma, scale_gamma, squared_distances, squared_norms
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.sparse_rows import is_sparse, rows_of, sparse_products
from convexnovelty.validation import (
    EPS,
    SYMMETRY_TOLERANCE,
    Array,
    integer,
    number,
    points,
    positive,
    rounding_of,
    shown,
    squarable,
)

__all__ = [
    "Kernel",
    "all_kernels",
    "as_kernel",
    "from_callable",
    "gaussian",
    "laplacian",
    "linear",
    "polynomial",
    "precomputed",
    "sigmoid",
]

SYMMETRIC = 32  # points at which a function is tried in both orders

SCALE = "scale"  # the word for a gamma that is read off the training points


@dataclass(frozen=True, repr=False)
class Kernel(ABC):
    """A symmetric function k(x, z) of two points.

    Laws
    ----
    - ``k(X, Z) == k(Z, X).T`` up to rounding, and ``k(X)`` is symmetric to the last bit.
    - ``k.diagonal(Z) == np.diag(k(Z))`` up to rounding.
    - ``Kernel.from_recipe(k.recipe()) == k``, and likewise after pickling.
    - If ``k.semidefinite``, every ``k(X, X)`` is positive semidefinite.
    - ``k.features(X) @ k.features(Z).T == k(X, Z)`` up to rounding, where ``k.feature_count(p)`` is a number.
    - ``k.fitted(X)`` has numbers for all parameters, and ``k.fitted(X).fitted(Z) == k.fitted(X)``.
    """

    name: ClassVar[str]
    #: Whether ``evaluate`` takes sparse rows too, because the kernel is a function of inner products.
    takes_sparse: ClassVar[bool] = False

    @abstractmethod
    def evaluate(self, X: Array, Z: Array) -> Array:
        """k(x_i, z_j) of shape (n, m), for float64 arrays of shapes (n, p) and (m, p) that were checked before."""

    def rows(self, X: Any, name: str) -> Any:
        """Points, checked; sparse ones stay sparse where the kernel takes them, and are refused where it does not."""
        if self.takes_sparse:
            return rows_of(X, name)
        if is_sparse(X):
            raise InputError(
                f"{name}: a sparse matrix of shape {X.shape} was given, and the kernel {self.name!r} has no form for sparse "
                f"rows; use a linear, Gaussian or polynomial kernel, or pass {name}.toarray()"
            )
        return points(X, name)

    def known(self, X: Any) -> Any:
        """What is learnt from, as it was given, with the columns of a labelled Gram matrix in the order of its rows."""
        return X

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """k(x_i, z_j) of shape (n, m); ``Z`` left out means ``X``.

        Raises InputError for points that are not finite real matrices with equally many columns.
        """
        left = self.rows(X, "X")
        right = left if Z is None or Z is X else self.rows(by_name(Z, "Z", names_of(X), "X"), "Z")
        if left.shape[1] != right.shape[1]:
            raise InputError(f"Z: {right.shape[1]} columns were found where X has {left.shape[1]}; give equally many")
        return self.evaluate(left, right)

    def rounding(self, X: Array) -> float:
        """The rounding of values of this kernel at points, relative to the largest."""
        return EPS

    def diagonal(self, Z: Any) -> Array:
        """k(z_j, z_j) of shape (m,)."""
        right = points(Z, "Z")
        # Small blocks: the diagonal of a block of 32 rows costs 32 evaluations a point, and no loop over points.
        blocks = [np.diag(self.evaluate(part, part)) for part in _row_blocks(right, 32)]
        return np.concatenate(blocks)

    def feature_count(self, columns: int) -> int | None:
        """How many explicit features points with so many columns have; None where nothing is known of them."""
        return None

    def features(self, X: Array) -> Array:
        """Explicit features of shape (n, f), whose inner products are the kernel's values: what squares of them round off.

        Raises InputError for a kernel that has none.
        """
        raise InputError(f"kernel {self!r}: no explicit features are known; use values of the kernel")

    @property
    def semidefinite(self) -> bool:
        """Whether theory says that every Gram matrix of this kernel is positive semidefinite."""
        return True

    def fitted(self, X: Any) -> Kernel:
        """This kernel with every parameter that depends on the training points ``X`` replaced by its number.

        Raises InputError for a function that is not symmetric at these points.
        """
        self._refuse_asymmetric(X)
        return self

    def _refuse_asymmetric(self, X: Any) -> None:
        """A function of two points that depends on their order would be learnt from by one of its two values."""
        rows = self.rows(X, "X")
        few = rows[np.unique(np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], SYMMETRIC)).astype(int))]
        half = few.shape[0] // 2 or few.shape[0]
        # Not k(few): a function may look whether both arguments are one object.
        values, turned = self.evaluate(few[:half], few), self.evaluate(few, few[:half]).T
        if not (np.isfinite(values).all() and np.isfinite(turned).all()):
            return  # too large for float64, which is told by the name of what is too large
        apart = np.abs(values - turned)
        size = float(np.abs(values).max(initial=0.0))
        if not apart.max(initial=0.0) <= max(SYMMETRY_TOLERANCE, few.shape[0] * self.rounding(few)) * size:
            i, j = (int(k) for k in np.unravel_index(int(apart.argmax()), apart.shape))
            raise InputError(
                f"kernel: {self!r} gives {values[i, j]:.6g} for two points and {turned[i, j]:.6g} for the same in the other "
                "order; give a symmetric function, k(x, z) = k(z, x)"
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def recipe(self) -> dict[str, Any]:
        """Name and parameters, as plain data that JSON can hold; the way back is :meth:`from_recipe`."""
        return {"name": self.name, "parameters": self.parameters}

    @staticmethod
    def from_recipe(recipe: Mapping[str, Any]) -> Kernel:
        """The kernel that a recipe describes. Runs no code but the checks of the kernel's own parameters.

        Raises InputError for a name that no kernel has, and for parameters that this kernel does not take.
        """
        try:
            if not isinstance(recipe, Mapping):
                raise TypeError
            name, parameters = recipe["name"], dict(recipe["parameters"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"recipe: {shown(recipe)} was found; give a mapping with 'name' and 'parameters'"
            ) from error
        kinds = all_kernels()
        if name not in kinds:
            raise InputError(f"recipe: no kernel is called {name!r}; known are {', '.join(sorted(kinds))}")
        try:
            return kinds[name](**parameters)
        except TypeError as error:
            raise InputError(f"recipe: parameters {parameters!r} do not fit the kernel {name!r} ({error})") from error

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters.items())})"


def all_kernels() -> dict[str, type[Kernel]]:
    """Every kernel class that has a recipe, by name; a subclass of :class:`Kernel` is found by existing."""

    # Kernels that know moments live on a higher floor, and exist only once their file is read.
    importlib.import_module("convexnovelty.whitened_kernels")

    def walk(kind: Any) -> Iterator[type[Kernel]]:
        for child in kind.__subclasses__():
            yield child
            yield from walk(child)

    kinds = (kind for kind in walk(Kernel) if "name" in vars(kind) and kind is not FromCallable)
    return {kind.name: kind for kind in kinds}


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """k(x, z) = x'z."""

    name: ClassVar[str] = "linear"
    takes_sparse: ClassVar[bool] = True

    def evaluate(self, X: Array, Z: Array) -> Array:
        """See :meth:`Kernel.evaluate`."""
        return products(X, Z)

    def diagonal(self, Z: Any) -> Array:
        """The squared norms of the points."""
        return squared_norms(self.rows(Z, "Z"))

    def feature_count(self, columns: int) -> int | None:
        """The columns themselves."""
        return columns

    def features(self, X: Array) -> Array:
        """The points themselves."""
        return X


@dataclass(frozen=True, repr=False)
class Gaussian(Kernel):
    r"""k(x, z) = exp(-gamma ||x - z||^2), with squared distances that keep their relative accuracy everywhere.

    Source: chapter 8 of Learning with Kernels, section 8.2 (any semidefinite kernel; the value k(x, x) is constant).
    """

    gamma: float | str = SCALE
    name: ClassVar[str] = "gaussian"
    takes_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _set(self, gamma=_gamma(self.gamma))

    def rows(self, X: Any, name: str) -> Any:
        """See :meth:`Kernel.rows`; points whose squared distances would be differences of infinities are refused."""
        return squarable(super().rows(X, name), name, new=True)

    def evaluate(self, X: Array, Z: Array) -> Array:
        """See :meth:`Kernel.evaluate`."""
        exponent = squared_distances(X, Z)
        exponent *= -_resolved(self, self.gamma)
        return np.asarray(np.exp(exponent, out=exponent))

    def diagonal(self, Z: Any) -> Array:
        """All ones."""
        return np.ones(self.rows(Z, "Z").shape[0])

    def fitted(self, X: Any) -> Gaussian:
        """``gamma="scale"`` as 1 / (q * variance of the q columns that vary), by :func:`scale_gamma`."""
        return self if self.gamma != SCALE else Gaussian(scale_gamma(X))


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """k(x, z) = (gamma x'z + coef0)^degree; semidefinite for coef0 >= 0."""

    degree: int = 3
    gamma: float | str = 1.0
    coef0: float = 1.0
    name: ClassVar[str] = "polynomial"
    takes_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _set(
            self,
            degree=integer(self.degree, "degree", 1),
            gamma=_gamma(self.gamma),
            coef0=number(self.coef0, "coef0"),
        )

    def evaluate(self, X: Array, Z: Array) -> Array:
        """See :meth:`Kernel.evaluate`."""
        return np.asarray((_resolved(self, self.gamma) * products(X, Z) + self.coef0) ** self.degree)

    def diagonal(self, Z: Any) -> Array:
        """(gamma ||z||^2 + coef0)^degree."""
        norms = squared_norms(self.rows(Z, "Z"))
        return np.asarray((_resolved(self, self.gamma) * norms + self.coef0) ** self.degree)

    def feature_count(self, columns: int) -> int | None:
        """The number of monomials; None for coef0 < 0, where a feature would be imaginary."""
        variables = columns + (self.coef0 > 0)
        return math.comb(variables + self.degree - 1, self.degree) if self.coef0 >= 0 else None

    def features(self, X: Array) -> Array:
        """The monomials of degree d in the root of coef0 and the columns, each times the root of its multinomial coefficient."""
        if self.coef0 < 0:
            return super().features(X)
        variables = _resolved(self, self.gamma) ** 0.5 * X
        if self.coef0 > 0:
            variables = np.hstack([np.full((X.shape[0], 1), self.coef0**0.5), variables])
        chosen = list(itertools.combinations_with_replacement(range(variables.shape[1]), self.degree))
        counts = [math.prod(math.factorial(m) for m in Counter(one).values()) for one in chosen]
        found = np.tile(np.sqrt(math.factorial(self.degree) / np.array(counts, dtype=float)), (X.shape[0], 1))
        for factor in np.array(chosen).T:
            found *= variables[:, factor]
        return found

    @property
    def semidefinite(self) -> bool:
        """True for coef0 >= 0, where the power is a sum of products of semidefinite kernels; else not known."""
        return self.coef0 >= 0

    def fitted(self, X: Any) -> Polynomial:
        """``gamma="scale"`` as for the Gaussian kernel, so that gamma x'z does not depend on the unit of the points."""
        return self if self.gamma != SCALE else Polynomial(self.degree, scale_gamma(X), self.coef0)


@dataclass(frozen=True, repr=False)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma x'z + coef0), which is indefinite in general: its Gram matrix has to be checked.

    :class:`~convexnovelty.features.KernelFeatures` refuses a Gram matrix with a negative eigenvalue and states it.
    """

    gamma: float | str = 1.0
    coef0: float = 0.0
    name: ClassVar[str] = "sigmoid"
    takes_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _set(self, gamma=_gamma(self.gamma), coef0=number(self.coef0, "coef0"))

    def evaluate(self, X: Array, Z: Array) -> Array:
        """See :meth:`Kernel.evaluate`."""
        return np.asarray(np.tanh(_resolved(self, self.gamma) * products(X, Z) + self.coef0))

    def diagonal(self, Z: Any) -> Array:
        """tanh(gamma ||z||^2 + coef0)."""
        return np.asarray(np.tanh(_resolved(self, self.gamma) * squared_norms(self.rows(Z, "Z")) + self.coef0))

    @property
    def semidefinite(self) -> bool:
        """False: there are points for which the Gram matrix has a negative eigenvalue."""
        return False

    def fitted(self, X: Any) -> Sigmoid:
        """``gamma="scale"`` as for the Gaussian kernel, so that gamma x'z does not depend on the unit of the points."""
        return self if self.gamma != SCALE else Sigmoid(scale_gamma(X), self.coef0)


@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma ||x - z||_1)."""

    gamma: float | str = SCALE
    name: ClassVar[str] = "laplacian"

    def __post_init__(self) -> None:
        _set(self, gamma=_gamma(self.gamma))

    def evaluate(self, X: Array, Z: Array) -> Array:
        """See :meth:`Kernel.evaluate`."""
        from scipy.spatial.distance import cdist

        return np.asarray(np.exp(-_resolved(self, self.gamma) * cdist(X, Z, "cityblock")))

    def diagonal(self, Z: Any) -> Array:
        """All ones."""
        return np.ones(points(Z, "Z").shape[0])

    def fitted(self, X: Any) -> Laplacian:
        """``gamma="scale"`` as 1 / (p s), where s^2 is the mean of the column variances: a distance, not a square."""
        if self.gamma != SCALE:
            return self
        return Laplacian(laplacian_gamma(X))


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """The kernel of a Gram matrix that the user computed: there are no points, so nothing can be evaluated here."""

    name: ClassVar[str] = "precomputed"

    def known(self, X: Any) -> Any:
        """See :meth:`Kernel.known`."""
        return columns_as_rows(X)

    def evaluate(self, X: Array, Z: Array) -> Array:
        """Raises InputError, since there is no formula."""
        raise InputError(
            "kernel: 'precomputed' has no formula to evaluate; pass the matrix of kernel values where points are asked"
        )

    def fitted(self, X: Any) -> Precomputed:
        """Itself: the matrix is checked where it is read."""
        return self

    def diagonal(self, Z: Any) -> Array:
        """Raises InputError, since a matrix of values k(z, x_i) does not tell k(z, z)."""
        raise InputError("squared_norms: k(z, z) cannot be computed for a precomputed kernel; pass squared_norms=")


@dataclass(frozen=True, repr=False)
class FromCallable(Kernel):
    """k(X, Z) = function(X, Z) for a user's function from (n, p) and (m, p) to (n, m), as scikit-learn takes it.

    A function is code, so this kernel has no recipe and its models cannot be saved; a subclass of
    :class:`Kernel` can. Whether it pickles is the function's affair (a lambda does not).
    """

    function: Callable[[Array, Array], Any]
    name: ClassVar[str] = "callable"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"kernel: {self.function!r} was found; give a function of (X, Z)")

    @property
    def semidefinite(self) -> bool:
        """False: nothing is known of a user's function, so that its Gram matrices have to be checked."""
        return False

    def evaluate(self, X: Array, Z: Array) -> Array:
        """The function's values, checked for shape, kind and finiteness."""
        found = self._values(X, Z)
        return np.array(points(found, f"kernel {self!r}"))  # a function may return the same array again, filled anew

    def rounding(self, X: Array) -> float:
        """That of the type in which the function gives its values."""
        return rounding_of(self._values(X[:1], X[:1]))

    def _values(self, X: Array, Z: Array) -> Any:
        label = f"kernel {self!r}"
        # Points of its own, since compiled functions may want arrays that can be written to.
        own = np.array(X)
        try:
            found = self.function(own, own if Z is X else np.array(Z))
        except ConvexNoveltyError:
            raise
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"{label}: {type(error).__name__} was raised for arrays of shapes {X.shape} and {Z.shape} ({error}); "
                f"give a function of two sets of points that returns shape {(X.shape[0], Z.shape[0])}"
            ) from error
        if np.shape(found) != (X.shape[0], Z.shape[0]):
            raise InputError(
                f"{label}: values of shape {np.shape(found)} were returned for {X.shape[0]} and {Z.shape[0]} points; "
                f"return shape {(X.shape[0], Z.shape[0])}"
            )
        return found

    def recipe(self) -> dict[str, Any]:
        """Raises InputError, naming the function."""
        raise InputError(
            f"kernel {self!r}: a function has no recipe and cannot be saved; "
            "write it as a subclass of convexnovelty.kernels.Kernel with a name"
        )

    def __repr__(self) -> str:
        return f"from_callable({getattr(self.function, '__qualname__', repr(self.function))})"


def linear() -> Linear:
    """k(x, z) = x'z."""
    return Linear()


def gaussian(width: float | None = None, gamma: float | str | None = None) -> Gaussian:
    """k(x, z) = exp(-||x - z||^2 / width) = exp(-gamma ||x - z||^2).

    Parameters
    ----------
    width : positive number, in squared units of the points; chapter 8 of Learning with Kernels writes c.
    gamma : positive number, 1 / width; or "scale", the default, for 1 / (q * variance of all entries together), of
        the q columns that vary.

    Raises
    ------
    InputError if both are given, or one is not positive.
    """
    if width is not None and gamma is not None:
        raise InputError(f"width, gamma: both were given ({width!r} and {gamma!r}); give one, since gamma = 1 / width")
    if width is not None:
        return Gaussian(positive(1.0 / positive(width, "width"), "1 / width"))
    return Gaussian(SCALE if gamma is None else gamma)


def polynomial(degree: int = 3, gamma: float | str = 1.0, coef0: float = 1.0) -> Polynomial:
    """k(x, z) = (gamma x'z + coef0)^degree."""
    return Polynomial(degree, gamma, coef0)


def sigmoid(gamma: float | str = 1.0, coef0: float = 0.0) -> Sigmoid:
    """k(x, z) = tanh(gamma x'z + coef0), which may be indefinite."""
    return Sigmoid(gamma, coef0)


def laplacian(gamma: float | str = SCALE) -> Laplacian:
    """k(x, z) = exp(-gamma ||x - z||_1)."""
    return Laplacian(gamma)


def precomputed() -> Precomputed:
    """The kernel whose values the user passes in place of points."""
    return Precomputed()


def from_callable(function: Callable[[Array, Array], Any]) -> FromCallable:
    """The kernel of a function that takes (n, p) and (m, p) and returns (n, m)."""
    return FromCallable(function)


_SYNONYMS = {"rbf": "gaussian", "poly": "polynomial"}  # scikit-learn's words


def as_kernel(kernel: Kernel | str | Callable[[Array, Array], Any] | None) -> Kernel:
    """A kernel from whatever a user may pass: a Kernel, its name (scikit-learn's names too), a function, or None.

    None is the linear kernel. Raises InputError for anything else.
    """
    if kernel is None:
        return Linear()
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        kinds = all_kernels()
        name = _SYNONYMS.get(kernel, kernel)
        if name not in kinds:
            known = ", ".join(sorted([*kinds, *_SYNONYMS]))
            raise InputError(f"kernel: {kernel!r} was found; give one of {known}, a Kernel or a function of (X, Z)")
        return kinds[name]()
    if callable(kernel) and not isinstance(kernel, type):
        return FromCallable(kernel)
    raise InputError(f"kernel: {kernel!r} was found; give a Kernel, a name, or a function of (X, Z)")


def products(X: Any, Z: Any) -> Array:
    """x_i'z_j of shape (n, m), dense, of rows that may be sparse."""
    return sparse_products(X, Z) if is_sparse(X) or is_sparse(Z) else np.asarray(X @ Z.T)


def _row_blocks(Z: Array, size: int) -> Iterator[Array]:
    for start in range(0, Z.shape[0], size):
        yield Z[start : start + size]


def _gamma(gamma: Any) -> float | str:
    if isinstance(gamma, str):
        if gamma != SCALE:
            raise InputError(f"gamma: {gamma!r} was found; give a number above zero, or 'scale'")
        return gamma
    return positive(gamma, "gamma")


def _resolved(kernel: Kernel, gamma: float | str) -> float:
    if isinstance(gamma, str):
        raise InputError(
            f"kernel {kernel!r}: 'scale' is read off training points; use kernel.fitted(X) first, or give a number"
        )
    return gamma


def _set(kernel: Kernel, **values: Any) -> None:
    """Write checked parameters into a frozen dataclass, which Python allows in ``__post_init__`` only this way."""
    for name, value in values.items():
        object.__setattr__(kernel, name, value)
