"""Points within a weighted distance of a centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import conjugate, dual_vector, exponent, norm, p_norm
from convexnovelty.validation import Array, dimensions, square, vector

__all__ = ["WeightedNormBall"]


class WeightedNormBall(PointSet):
    r"""Points with :math:`\|W(u - c)\|_p \le \rho` for an invertible :math:`W`.

    .. math:: \sup_u w'u = w'c + \rho\,\|W^{-\top}w\|_q, \qquad \tfrac1p + \tfrac1q = 1

    by the substitution :math:`v = W(u - c)`.

    Parameters
    ----------
    weights : :math:`W`, a matrix, or the positive diagonal of one.
    p : from 1 to infinity.
    radius : :math:`\rho`.
    """

    exactness = "exact"
    exponents = ("p",)
    basis_dependent = True
    source = "Hölder's inequality after a change of variables; Ben-Tal, El Ghaoui and Nemirovski, Robust Optimization"

    def __init__(self, weights: Any, p: Any = 2.0, radius: float = 1.0) -> None:
        super().__init__(radius)
        self.p = exponent(p)
        self.weights = (
            np.diag(vector(weights, "weights")) if dimensions(weights, "weights") < 2 else square(weights, "weights")
        )
        if np.linalg.matrix_rank(self.weights) < self.weights.shape[0]:
            raise InputError("weights: the matrix is singular, so that the ball is unbounded; give an invertible one")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Unequal axes, and a matrix."""
        axes = np.linspace(0.5, 2.0, dimension)
        return [cls(axes, 1, 0.5), cls(np.diag(axes) + np.tri(dimension, k=-1), 2, 0.5)]

    @property
    def size(self) -> int:
        """The order of the weights."""
        return int(self.weights.shape[0])

    def membership(self, u: cp.Expression) -> list[Any]:
        """The weighted distance is at most the radius."""
        return [p_norm(self.weights @ (u - self.center), self.p) <= self.radius]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The centre's value and the radius times the dual norm in the other weights."""
        inverse = np.linalg.inv(self.weights)
        return self.center @ w + self.tuned("radius") * p_norm(inverse.T @ w, conjugate(self.p))

    def worst_member(self, w: Array) -> Array:
        """The worst point of the plain ball, carried back."""
        inverse = np.linalg.inv(self.weights)
        return np.asarray(self.center + self.radius * (inverse @ dual_vector(inverse.T @ w, self.p)))

    def sample(self, rng: np.random.Generator) -> Array:
        """A random direction at a random part of the radius."""
        v = rng.standard_normal(self.dimension)
        v *= rng.random() / norm(v, self.p)
        return np.asarray(self.center + self.radius * np.linalg.solve(self.weights, v))
