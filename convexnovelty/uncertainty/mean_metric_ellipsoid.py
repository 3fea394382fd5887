"""Means within an ellipsoid of a known shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.uncertainty.base import Claim, MeanSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, range_factor, range_norm
from convexnovelty.validation import Array, symmetric

__all__ = ["MeanMetricEllipsoid"]


class MeanMetricEllipsoid(MeanSet):
    r"""Means :math:`m_0 + \nu F'v` with :math:`\|v\| \le 1` and a known :math:`F'F = C`.

    .. math:: \sup_m a'm = a'm_0 + \nu\sqrt{a'Ca}

    Beside a set of covariances that is not the same number as :class:`MeanEllipsoid` gives, whose shape is the
    uncertain covariance itself: :math:`\nu\sqrt{a'S_0a} + \kappa\sup_S\sqrt{a'Sa}` against
    :math:`(\nu + \kappa)\sup_S\sqrt{a'Sa}`.

    Parameters
    ----------
    radius : :math:`\nu`.
    shape : "nominal" for the nominal covariance, or a positive semidefinite matrix.
    """

    exactness = "exact"
    rotation_invariant: Any = Claim(lambda self: isinstance(self.shape, str))
    hereditary: Any = Claim(lambda self: isinstance(self.shape, str))
    source = "Ben-Tal and Nemirovski (1998), Robust convex optimization"

    def __init__(self, radius: float = 1.0, shape: Any = "nominal") -> None:
        super().__init__(radius)
        if isinstance(shape, str) and shape != "nominal":
            raise InputError(f"shape: {shape!r} was found; give 'nominal' or a matrix")
        self.shape = shape if isinstance(shape, str) else symmetric(shape, "shape")
        self.basis_dependent = not isinstance(shape, str)
        if isinstance(self.shape, np.ndarray):
            least = float(np.linalg.eigvalsh(self.shape)[0])
            if least < -1e-12 * float(np.abs(self.shape).max()):
                raise IndefiniteError(f"shape: its least eigenvalue is {least:.6g}; give a semidefinite matrix", least)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """The nominal shape, and a flat one."""
        flat = np.random.default_rng(9).standard_normal((dimension, max(dimension - 1, 1)))
        return [cls(0.3), cls(0.3, flat @ flat.T)]

    @property
    def size(self) -> int | None:
        """The order of the shape."""
        return None if isinstance(self.shape, str) else int(self.shape.shape[0])

    @property
    def _factor(self) -> Array:
        return np.asarray(self.factor) if isinstance(self.shape, str) else range_factor(self.shape)

    def membership(self, m: cp.Expression) -> list[Any]:
        """A point of the ball that the factor carries to the mean."""
        F = self._factor
        v = cp.Variable(max(F.shape[0], 1))
        image = F.T @ v if F.shape[0] else np.zeros(self.dimension)
        return [m - self.center == image, cp.norm(v) <= self.radius]

    def support(self, a: cp.Expression) -> cp.Expression:
        """The nominal value and the radius times the deviation of the shape."""
        return self.center @ a + self.tuned("radius") * cp.norm(self._factor @ a)

    def worst_member(self, a: Array, S: Array) -> Array:
        """The end of the ellipsoid in the direction."""
        F = self._factor
        return np.asarray(self.center + (self.radius * (F.T @ direction(F @ a)) if F.shape[0] else 0.0))

    def sample(self, rng: np.random.Generator) -> Array:
        """A random point of the ball, carried over."""
        F = self._factor
        v = rng.standard_normal(max(F.shape[0], 1))
        v *= self.radius * rng.random() / np.linalg.norm(v)
        return np.asarray(self.center + (F.T @ v if F.shape[0] else 0.0))

    def gauge(self, m: Array, S: Array) -> float:
        """The distance in the metric of the shape."""
        return range_norm(self._factor, m - self.center)
