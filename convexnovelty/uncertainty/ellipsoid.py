"""Points within an ellipsoid, which may be flat."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import IndefiniteError
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, has_axes, range_factor, range_norm
from convexnovelty.validation import Array, symmetric

__all__ = ["Ellipsoid"]


class Ellipsoid(PointSet):
    r"""Points :math:`c + \rho F'v` with :math:`\|v\| \le 1` and :math:`F'F = C`.

    .. math:: \sup_u w'u = w'c + \rho\sqrt{w'Cw}

    For an invertible :math:`C` these are the points with :math:`(u-c)'C^{-1}(u-c) \le \rho^2`; a singular one gives a
    flat ellipsoid within its range. :math:`u'u \le 4` is the identity with radius 2, not 4.

    Parameters
    ----------
    shape : :math:`C`, symmetric and positive semidefinite.
    radius : :math:`\rho`.
    """

    exactness = "exact"
    source = "Ben-Tal and Nemirovski (1998), Robust convex optimization"

    def __init__(self, shape: Any, radius: float = 1.0) -> None:
        super().__init__(radius)
        self.shape = symmetric(shape, "shape")
        least = float(np.linalg.eigvalsh(self.shape)[0])
        if least < -1e-12 * float(np.abs(self.shape).max()):
            raise IndefiniteError(f"shape: its least eigenvalue is {least:.6g}; give a semidefinite matrix", least)
        self._factor = range_factor(self.shape)
        self.basis_dependent = has_axes(self.shape)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A full ellipsoid and a flat one."""
        mixing = np.tri(dimension) - 0.5 * np.eye(dimension)
        return [cls(mixing @ mixing.T, 0.5), cls(mixing[:, 1:] @ mixing[:, 1:].T, 0.5)]

    @property
    def size(self) -> int:
        """The order of the shape."""
        return int(self.shape.shape[0])

    def membership(self, u: cp.Expression) -> list[Any]:
        """A point of the ball that the factor carries to ``u``."""
        v = cp.Variable(self._factor.shape[0])
        return [u - self.center == self._factor.T @ v, cp.norm(v) <= self.radius]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The centre's value and the radius times the length of the image."""
        return self.center @ w + self.tuned("radius") * cp.norm(self._factor @ w)

    def worst_member(self, w: Array) -> Array:
        """The end of the ellipsoid in the direction."""
        return np.asarray(self.center + self.radius * (self._factor.T @ direction(self._factor @ w)))

    def sample(self, rng: np.random.Generator) -> Array:
        """A random point of the ball, carried over."""
        v = direction(rng.standard_normal(self._factor.shape[0]))
        return np.asarray(self.center + self.radius * rng.random() * (self._factor.T @ v))

    def gauge(self, u: Array) -> float:
        """The distance in the metric of the shape."""
        return range_norm(self._factor, u - self.center)
