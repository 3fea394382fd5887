r"""Kernels of whitened points as kernels of the points themselves: the table of the moment classifier's section 3.3.

.. math:: \hat K(x, z) = K\big(S^{-1/2}(x - m),\ S^{-1/2}(z - m)\big)

The usual kernels ask for inner products or distances alone, which need no whitened point:

========== =================================== ====================================================================
kernel     of whitened points                  of the points
========== =================================== ====================================================================
polynomial (gamma x'z + c)^d                   (gamma (x - m)' S^-1 (z - m) + c)^d
gaussian   exp(-gamma ||x - z||^2)             exp(-gamma (x - z)' S^-1 (x - z))
sigmoid    tanh(gamma x'z + c)                 tanh(gamma (x - m)' S^-1 (z - m) + c)
========== =================================== ====================================================================

The sigmoid kernel is indefinite in general, whitened or not: features refuse its Gram matrix where it has a negative
eigenvalue, and state it. Source: Leclère, Grave and El Ghaoui (2016), figure 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.kernels import Gaussian, Kernel, Linear, Polynomial, Sigmoid, as_kernel
from convexnovelty.moments import Moments
from convexnovelty.validation import Array, points
from convexnovelty.whitening import Whitening

__all__ = ["Whitened", "whitened"]


@dataclass(frozen=True, repr=False, eq=False)
class Whitened(Kernel):
    r"""A kernel of the whitened points :math:`S^{-1/2}(x - m)`, evaluated at the points x.

    Parameters
    ----------
    kernel : the kernel of whitened points, as a Kernel, a name, or its recipe. Other kernels than those of the table
        are given the whitened coordinates.
    moments : mean and covariance of the metric, as Moments or as the plain numbers of a recipe.
    """

    kernel: Any = None
    moments: Any = None
    name: ClassVar[str] = "whitened"

    def __post_init__(self) -> None:
        kernel = Kernel.from_recipe(self.kernel) if isinstance(self.kernel, dict) else as_kernel(self.kernel)
        moments = _moments(self.moments) if isinstance(self.moments, dict) else self.moments
        if not isinstance(moments, Moments):
            raise InputError(f"moments: {moments!r} was found; give the Moments whose metric the kernel takes")
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "moments", moments)

    @cached_property
    def whitening(self) -> Whitening:
        """The metric."""
        return Whitening(self.moments)

    def evaluate(self, X: Array, Z: Array) -> Array:
        """See :meth:`Kernel.evaluate`."""
        base, same = self.kernel, X is Z
        if isinstance(base, Gaussian) and not isinstance(base.gamma, str):
            return np.asarray(np.exp(-base.gamma * self.whitening.squared_distances(X, None if same else Z)))
        if isinstance(base, (Linear, Polynomial, Sigmoid)) and not isinstance(getattr(base, "gamma", 1.0), str):
            inner = self.whitening.inner(X, None if same else Z)
            return _of_inner(base, (inner + inner.T) / 2 if same else inner)
        left = self.whitening.coordinates(X)
        return np.asarray(base.evaluate(left, left if same else self.whitening.coordinates(Z)))

    def diagonal(self, Z: Any) -> Array:
        """K of each whitened point with itself."""
        rows = points(Z, "Z")
        if isinstance(self.kernel, (Linear, Polynomial, Sigmoid)) and not isinstance(
            getattr(self.kernel, "gamma", 1.0), str
        ):
            return _of_inner(self.kernel, self.whitening.squared_norms(rows))
        return np.asarray(self.kernel.diagonal(self.whitening.coordinates(rows)))

    @property
    def semidefinite(self) -> bool:
        """Whether the kernel of whitened points is."""
        return bool(self.kernel.semidefinite)

    def fitted(self, X: Any) -> Whitened:
        """With ``gamma="scale"`` read off the whitened points."""
        rows = points(X, "X")
        base = (
            self.kernel.fitted(self.whitening.coordinates(rows))
            if isinstance(getattr(self.kernel, "gamma", 1.0), str)
            else self.kernel
        )
        return self if base is self.kernel else Whitened(base, self.moments)

    @property
    def parameters(self) -> dict[str, Any]:
        """The kernel's recipe and the numbers of the moments, as plain data."""
        return {"kernel": self.kernel.recipe(), "moments": _numbers(self.moments)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whitened) and self.recipe() == other.recipe()

    def __hash__(self) -> int:
        return hash((self.kernel, self.moments.mean.tobytes()))

    def __repr__(self) -> str:
        return f"whitened({self.kernel!r}, {self.moments!r})"


def whitened(kernel: Any, moments: Moments) -> Whitened:
    """The kernel of points in the metric of ``moments``, for example of the negative class.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty import Moments, kernels
    >>> kernel = whitened(kernels.gaussian(gamma=1.0), Moments([0.0, 0.0], np.diag([4.0, 1.0])))
    >>> round(float(kernel(np.array([[2.0, 0.0]]), np.array([[0.0, 0.0]]))[0, 0]), 6)  # exp(-2^2 / 4)
    0.367879
    """
    return Whitened(kernel, moments)


def _of_inner(base: Kernel, inner: Array) -> Array:
    """The value of a kernel that is a function of the inner product."""
    if isinstance(base, Polynomial):
        return np.asarray((float(base.gamma) * inner + base.coef0) ** base.degree)
    if isinstance(base, Sigmoid):
        return np.asarray(np.tanh(float(base.gamma) * inner + base.coef0))
    return inner


def _numbers(moments: Moments) -> dict[str, Any]:
    # The last digits of a sample's mean are told where there are any: given moments and earlier releases know none.
    known = {} if moments.remainder is None else {"remainder": moments.remainder.tolist()}
    if moments.representation == "dense":
        return {"mean": moments.mean.tolist(), "covariance": moments.covariance.tolist(), **known}
    numbers: dict[str, Any] = {
        "mean": moments.mean.tolist(),
        "loadings": moments.loadings.tolist(),
        "specific_variances": moments.specific_variances.tolist(),
        **known,
    }
    return numbers if moments.count is None else numbers | {"count": moments.count}


def _moments(numbers: dict[str, Any]) -> Moments:
    try:
        if "covariance" in numbers:
            return Moments(numbers["mean"], numbers["covariance"]).with_remainder(numbers.get("remainder"))
        mean = np.asarray(numbers["mean"], dtype=float)
        loadings = np.asarray(numbers["loadings"], dtype=float).reshape(-1, mean.size)
        made = Moments.low_rank(mean, loadings, numbers["specific_variances"], numbers.get("count"))
        return made.with_remainder(numbers.get("remainder"))
    except KeyError as error:
        raise InputError(f"moments: {sorted(numbers)} were found; {error} is missing") from error
