"""Covariances between two matrices in the order of positive semidefinite matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.covariances import own_axes
from convexnovelty.errors import EmptySetError, IndefiniteError, InputError
from convexnovelty.uncertainty.base import Claim, CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import has_axes, range_factor
from convexnovelty.validation import Array, symmetric

__all__ = ["LoewnerInterval"]


# Shares of the largest eigenvalue of what lies between the ends: below the first a solver hardly sees an eigenvalue, and
# below the second, which is less than its tolerance, none at all.
THIN, LEVEL = 1e-7, 1e-10
COMPARABLE = 32.0  # ratio of the columns' deviations up to which the matrix is taken apart as it stands


class LoewnerInterval(CovarianceSet):
    r"""Covariances with :math:`L \preceq S \preceq S_0 + \rho D`.

    .. math:: \sup_S a'Sa = a'(S_0 + \rho D)a

    attained by the upper end for every direction. With :math:`D = I` the worst case is that of the Frobenius ball;
    erratum: the support vector paper says "reduces to II-A when D = rI" for its section II-B, and the two sets agree
    in their worst case only. With :math:`D = S_0` every direction's variance grows by the same factor, so that the
    set acts on kappa alone.

    Parameters
    ----------
    radius : :math:`\rho`, how much of ``shape`` is added.
    shape : :math:`D`: "identity", "nominal" (for :math:`S_0`) or a positive semidefinite matrix.
    lower : :math:`L`, a matrix; zero by default.
    """

    exactness = "exact"
    rotation_invariant: Any = Claim(lambda self: isinstance(self.shape, str) and self.lower is None)
    hereditary: Any = Claim(lambda self: isinstance(self.shape, str) and self.lower is None)
    source = "interval model of the Mahalanobis one-class SVM, section II-B; El Ghaoui, Oks and Oustry (2003)"

    def __init__(self, radius: float = 1.0, shape: Any = "identity", lower: Any = None) -> None:
        super().__init__(radius)
        if isinstance(shape, str) and shape not in ("identity", "nominal"):
            raise InputError(f"shape: {shape!r} was found; give 'identity', 'nominal' or a matrix")
        self.shape = shape if isinstance(shape, str) else symmetric(shape, "shape")
        self.lower = None if lower is None else symmetric(lower, "lower")
        self.basis_dependent = any(has_axes(M) for M in (self.shape, self.lower) if isinstance(M, np.ndarray))
        if isinstance(self.shape, np.ndarray):
            least = float(np.linalg.eigvalsh(self.shape)[0])
            if least < -1e-12 * float(np.abs(self.shape).max()):
                raise IndefiniteError(f"shape: its least eigenvalue is {least:.6g}; give a semidefinite matrix", least)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Growth by the identity, and by a factor."""
        return [cls(0.3), cls(0.5, "nominal")]

    def validate(self) -> None:
        """The interval holds something: its lower end is below the upper one."""
        super().validate()
        if self._moments is not None and self.lower is not None:
            symmetric(self.lower, "lower", self.dimension)
            least = float(np.linalg.eigvalsh(self.upper - self.lower)[0])
            if least < -1e-12 * float(np.abs(self.upper).max()):
                raise EmptySetError(
                    f"{self!r} is empty: upper minus lower end has the eigenvalue {least:.6g}; lower the lower end"
                )

    @property
    def excess(self) -> Array:
        """The matrix that the radius multiplies."""
        if isinstance(self.shape, str):
            return np.eye(self.dimension) if self.shape == "identity" else np.array(self.center)
        return symmetric(self.shape, "shape", self.dimension)

    @property
    def upper(self) -> Array:
        """The upper end of the interval."""
        return np.asarray(self.center + self.radius * self.excess)

    def membership(self, S: cp.Expression) -> list[Any]:
        """Between the two ends."""
        below = [] if self.lower is None else [S - self.lower >> 0]
        F = np.asarray(self.factor)
        if isinstance(self.shape, str) and self.shape == "nominal" and F.shape[0]:
            # In coordinates in which the nominal covariance is the identity: a singular one leaves room inside.
            X = cp.Variable((F.shape[0], F.shape[0]), symmetric=True)
            return [S == F.T @ X @ F, (1.0 + self.radius) * np.eye(F.shape[0]) - X >> 0, *below]
        low = np.zeros_like(self.upper) if self.lower is None else self.lower
        values, vectors, size, used = _apart(self.upper - low)
        if not used.all() or values[0] < THIN * values[-1]:
            # The ends agree along some directions, or nearly so: in coordinates of their distance none is thin.
            G = (vectors[:, used] * np.sqrt(values[used])).T * size
            X = cp.Variable((G.shape[0], G.shape[0]), symmetric=True)
            return [S == low + G.T @ X @ G, X >> 0, np.eye(G.shape[0]) - X >> 0] if G.shape[0] else [S == low]
        return [self.upper - S >> 0, *below]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The deviation of the upper end."""
        return cp.norm(cp.hstack([self.factor @ a, self._added(a)]))

    def added_deviation(self, a: cp.Expression) -> cp.Expression:
        """What the upper end has more than the centre."""
        return cp.norm(self._added(a))

    def _added(self, a: cp.Expression) -> cp.Expression:
        root = self.tuned("radius", np.sqrt)
        if isinstance(self.shape, str):
            return root * a if self.shape == "identity" else root * (self.factor @ a)
        return root * (range_factor(self.excess) @ a)

    def worst_member(self, a: Array) -> Array:
        """The upper end."""
        return self.upper

    def ellipsoidal(self) -> Array:
        """The upper end."""
        return self.upper

    def sample(self, rng: np.random.Generator) -> Array:
        """The lower end plus a random part of the way to the upper one."""
        low = np.zeros_like(self.upper) if self.lower is None else self.lower
        factor = range_factor(self.upper - low)
        rank = factor.shape[0]
        vectors, _ = np.linalg.qr(rng.standard_normal((rank, rank)))
        return np.asarray(low + factor.T @ (vectors * rng.random(rank)) @ vectors.T @ factor)


def _apart(M: Array) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Eigenvalues, rising, and vectors of what lies between the ends, the units of columns in which they are, and which count.

    As the matrix stands, rounding is of the size of its largest entry, and in units of its own a column may be nothing else: these
    are taken where columns differ by so much that their correlations would drown. What is thin in these counts if it does in both.
    """
    values, vectors = np.linalg.eigh(M)
    least = LEVEL * max(float(values[-1]), 0.0)
    own, turned, size = own_axes(M)
    if size.max() < COMPARABLE * size.min():
        return values, vectors, np.ones_like(size), values > least
    return own, turned, size, (own > THIN * own[-1]) | ((own > LEVEL * own[-1]) & (values > least))
