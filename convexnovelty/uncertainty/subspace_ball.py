"""Covariances that are uncertain within a subspace only."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import Claim, CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, random_symmetric, semidefinite_step
from convexnovelty.validation import Array, points

__all__ = ["SubspaceBall"]


class SubspaceBall(CovarianceSet):
    r"""Covariances :math:`S_0 + BXB'` with :math:`\|X\|_F \le \rho` and :math:`S \succeq 0`.

    .. math:: \sup_S a'Sa = a'S_0a + \rho\|B'a\|^2

    attained at :math:`X = \rho\,vv'` with :math:`v = B'a/\|B'a\|`. With :math:`B = W^{-1/2}` it is the ball of the
    weighted norm :math:`\|W^{1/2}(S - S_0)W^{1/2}\|_F`; with :math:`B` a factor of :math:`S_0` itself the ball that
    every linear change of coordinates preserves, which acts on kappa alone.

    Parameters
    ----------
    basis : :math:`B` of shape (p, k), or "nominal" for a factor of the nominal covariance.
    radius : :math:`\rho`.
    """

    exactness = "exact"
    rotation_invariant: Any = Claim(lambda self: isinstance(self.basis, str))
    hereditary: Any = Claim(lambda self: isinstance(self.basis, str))
    source = "Cauchy-Schwarz inequality in the coordinates of the basis"

    def __init__(self, basis: Any = "nominal", radius: float = 1.0) -> None:
        super().__init__(radius)
        if isinstance(basis, str) and basis != "nominal":
            raise InputError(
                f"basis: {basis!r} was found; give 'nominal' or a matrix with one column for each direction"
            )
        self.basis = basis if isinstance(basis, str) else points(basis, "basis")
        self.basis_dependent = not isinstance(basis, str)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """The nominal factor, and a plane that is no coordinate plane."""
        return [cls("nominal", 0.4), cls(np.random.default_rng(6).standard_normal((dimension, 2)), 0.4)]

    @property
    def size(self) -> int | None:
        """The number of rows of the basis."""
        return None if isinstance(self.basis, str) else int(self.basis.shape[0])

    @property
    def _basis(self) -> Array:
        return np.asarray(self.factor).T if isinstance(self.basis, str) else self.basis

    def membership(self, S: cp.Expression) -> list[Any]:
        """A difference that the basis carries."""
        B = self._basis
        if B.shape[1] == 0:
            return [S == self.center]
        X = cp.Variable((B.shape[1], B.shape[1]), symmetric=True)
        return [S == self.center + B @ X @ B.T, cp.norm(X, "fro") <= self.radius]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The nominal deviation with the radius added to each variance within the subspace."""
        return cp.norm(cp.hstack([self.factor @ a, self.tuned("radius", np.sqrt) * (self._basis.T @ a)]))

    def added_deviation(self, a: cp.Expression) -> cp.Expression:
        """The root of the radius times the length of the direction's part in the subspace."""
        return cp.norm(self.tuned("radius", np.sqrt) * (self._basis.T @ a))

    def worst_member(self, a: Array) -> Array:
        """The nominal covariance moved along the part of the direction in the subspace."""
        if self._basis.shape[1] == 0:
            return np.array(self.center)
        v = self._basis @ direction(self._basis.T @ a)
        return np.asarray(self.center + self.radius * np.outer(v, v))

    def ellipsoidal(self) -> Array:
        """The nominal covariance with the radius added within the subspace."""
        return np.asarray(self.center + self.radius * self._basis @ self._basis.T)

    def sample(self, rng: np.random.Generator) -> Array:
        """A random step within the subspace, shortened where it would leave the cone."""
        B = self._basis
        if B.shape[1] == 0:
            return np.array(self.center)
        step = random_symmetric(B.shape[1], rng)
        return semidefinite_step(self.center, self.radius * rng.random() / np.linalg.norm(step) * (B @ step @ B.T))
