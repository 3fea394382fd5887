"""Points within a distance of a centre, in any norm of the p-family."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Claim, PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import conjugate, dual_vector, exponent, norm, p_norm
from convexnovelty.validation import Array

__all__ = ["NormBall"]


class NormBall(PointSet):
    r"""Points with :math:`\|u - c\|_p \le \rho`.

    .. math:: \sup_u w'u = w'c + \rho\|w\|_q, \qquad \tfrac1p + \tfrac1q = 1

    by Hölder's inequality, attained where :math:`u_i - c_i` is proportional to
    :math:`\mathrm{sign}(w_i)|w_i|^{q-1}`.

    Parameters
    ----------
    p : from 1 to infinity (``float("inf")`` or ``"inf"``).
    radius : :math:`\rho`, in units of the data.
    """

    exactness = "exact"
    exponents = ("p",)
    rotation_invariant: Any = Claim(lambda self: self.p == 2)
    hereditary: Any = Claim(lambda self: self.p == 2)
    source = "Hölder's inequality; Ben-Tal, El Ghaoui and Nemirovski, Robust Optimization, section 1.3"

    def __init__(self, p: Any = 2.0, radius: float = 1.0) -> None:
        super().__init__(radius)
        self.p = exponent(p)
        self.basis_dependent = self.p != 2

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """The three polyhedral and round balls, and one in between."""
        return [cls(2, 0.5), cls(1, 0.5), cls(math.inf, 0.5), cls(3, 0.5)]

    def membership(self, u: cp.Expression) -> list[Any]:
        """The distance is at most the radius."""
        return [p_norm(u - self.center, self.p) <= self.radius]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The centre's value and the radius times the dual norm."""
        return self.center @ w + self.tuned("radius") * p_norm(w, conjugate(self.p))

    def worst_member(self, w: Array) -> Array:
        """The point of the ball that Hölder's equality names."""
        return np.asarray(self.center + self.radius * dual_vector(w, self.p))

    def sample(self, rng: np.random.Generator) -> Array:
        """A random direction at a random part of the radius."""
        u = rng.standard_normal(self.dimension) * rng.random(self.dimension) ** 2
        return np.asarray(self.center + self.radius * rng.random() * u / norm(u, self.p))

    def gauge(self, u: Array) -> float:
        """The distance."""
        return norm(u - self.center, self.p)
