r"""Axes and units in which a program over moments is posed to a solver.

A covariance of condition number :math:`10^{12}`, or features in micrometres, are no reason for a wrong answer: the
direction is sought as :math:`a = V D y` with the principal axes :math:`V` where the uncertainty set allows a rotation,
and a diagonal :math:`D` that makes nominal deviations of the order of one. The sets never notice: they see the
direction as an affine expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.formulation import Quantity
from convexnovelty.moments import Moments
from convexnovelty.quantities import Wall
from convexnovelty.uncertainty import evaluate_deviation
from convexnovelty.validation import Array

__all__ = ["Frame", "allowed_variances", "far_beyond"]

# Share of the largest variance below which a set may make one many times as large.
SMALL = 1e-2

# Directions whose deviation is below this share of the unit are scaled as if they had it.
FLOOR = 1e-6

# A mean that lies no more deviations off is at the origin, which no direction tells it from.
NOWHERE = 1e-8

# Columns whose deviations differ by more than this are posed in their own units: principal axes would be those of the
# largest columns, and what rounding leaves of the others.
WIDE = 1e4

# How many times the largest nominal variance a set has to add before it decides the scale.
LARGER = 1e3


def far_beyond(uncertainty: Any, axes: Array, variances: Array) -> float:
    """The variance that a centred set adds along axes where it is far larger than its centre, and zero elsewhere.

    What is posed in the centre's deviations would then be as much smaller than one as a solver has digits.
    """
    largest = float(variances.max())
    ends = [axes[:, int(place)] for place in (np.argmin(variances), np.argmax(variances))]
    added = max(evaluate_deviation(uncertainty, end) ** 2 - largest for end in ends)
    return added if added > LARGER * largest else 0.0


def allowed_variances(uncertainty: Any, axes: Array, variances: Array) -> Array:
    """The variances along axes, of small ones with what a centred set adds to them: in it they may be as large as any."""
    found = np.array(variances)
    for k in np.flatnonzero(found < SMALL * found.max()):
        found[k] = max(found[k], evaluate_deviation(uncertainty, axes[:, k]) ** 2)
    return found


@dataclass(frozen=True)
class Frame:
    """The moments in the frame's axes, the axes V of shape (p, p) or None, and the scales D of shape (p,)."""

    moments: Moments
    axes: Array | None
    scales: Array

    @classmethod
    def of(cls, moments: Moments, *, rotate: bool, spread: float = 0.0, uncertainty: Any = None) -> Frame:
        """The frame for nominal moments; ``spread`` is a variance that the uncertainty adds in every direction.

        A column without variance has that which a centred set has along it.
        """
        wide = _range(np.array(moments.variances) + spread) > WIDE**2
        axes = _all_axes(moments) if rotate and not wide else None
        posed = moments if axes is None else _posed(moments, axes)
        variances = np.array(moments.variances)
        if axes is not None:
            found = moments.eigen[0]
            variances = np.append(found, np.zeros(moments.dimension - found.size))
        added = np.maximum(variances, 0.0) + spread
        if uncertainty is not None and axes is None:
            for k in np.flatnonzero(added <= (FLOOR * moments.unit) ** 2):
                added[k] = max(added[k], evaluate_deviation(uncertainty, np.eye(moments.dimension)[k]) ** 2)
        floor = np.where(added > 0, 0.0, 1.0) if wide else np.ones_like(added)
        return cls(posed, axes, 1 / np.sqrt(added + floor * (FLOOR * moments.unit) ** 2))

    def length(self) -> float:
        """The length in the frame's own axes that brings the nominal mean to one, below that of every direction sought.

        Where a mean lies a thousand deviations off, the direction and its deviation are of the size of 1e-3, and a
        solver's tolerances, which are absolute, leave few digits of them.
        """
        found = float(np.linalg.norm(self.scales * self.moments.mean))
        return 1.0 / found if found > NOWHERE else 1.0

    def direction(self, unit: float = 1.0, name: str = "a") -> Quantity:
        """The unknown direction as a quantity in the user's axes and units; ``unit`` is its length."""
        y = cp.Variable(self.scales.size, name=name)
        axes = np.diag(self.scales) if self.axes is None else self.axes * self.scales
        inverse = np.diag(1 / self.scales) if self.axes is None else (self.axes / self.scales).T
        direction = Quantity(y, unit, axes, inverse)
        direction.within = self._walls(y, unit)
        return direction

    def _walls(self, y: cp.Variable, unit: float) -> list[Wall]:
        """What keeps a direction finite that neither nominal mean nor covariance see, in axes that are not theirs.

        Columns of which one follows from others leave it free: the rounding of the mean along it would pay for any
        length. A set that sees it keeps it far shorter than this. In axes of its own nothing pays for it but what a user
        adds, whose coefficients there may be rounding of those of the columns.
        """
        unseen = self._unseen()
        rank = self.moments.eigen[0].size
        if self.axes is not None and rank < self.moments.dimension and not self.moments.mean[rank:].any():
            return [Wall(cp.norm(cp.multiply(self.moments.unit * self.scales[rank:], y[rank:])), 1 / unit)]
        return [Wall(cp.norm(unseen @ y), 1 / unit)] if unseen.size else []

    def seen(self, a: Array) -> Array:
        """A direction without the part that neither nominal mean nor covariance see."""
        unseen = self._unseen()
        y = a / self.scales
        return np.asarray(self.scales * (y - unseen.T @ (unseen @ y))) if unseen.size else a

    def _unseen(self) -> Array:
        rank = self.moments.eigen[0].size
        if self.axes is not None or rank == self.moments.dimension or not _is_within(self.moments):
            return np.zeros((0, self.scales.size))
        return np.asarray(np.linalg.svd(self.moments.factor * self.scales, full_matrices=True)[2][rank:])

    def posed(self, direction: Quantity) -> cp.Expression:
        """The direction in the frame's own axes and over its unit, as the sets see it."""
        return cp.multiply(self.scales, direction.variable)


def _is_within(moments: Moments) -> bool:
    """Whether the mean lies in the range of the covariance, up to rounding."""
    return moments.null_direction(moments.mean) is None


def _posed(moments: Moments, axes: Array) -> Moments:
    """The moments in axes; what rounding leaves of a variance along those without one is taken away, and of the mean.

    A variance of 1e-33 would pass for the unit of its axis, and a mean of 1e-16, where nothing else holds a direction back,
    is found and stretched to one.
    """
    rank = moments.eigen[0].size
    posed = moments.rotated(axes)
    if rank == moments.dimension:
        return posed
    seen = np.arange(moments.dimension) < rank
    covariance = np.where(np.outer(seen, seen), posed.covariance, 0.0)
    mean = np.where(seen, posed.mean, 0.0) if _is_within(moments) else posed.mean
    return Moments(mean, covariance, moments.count, moments.ddof)


def _range(variances: Array) -> float:
    positive = variances[variances > 0]
    return float(positive.max() / positive.min()) if positive.size else 1.0


def _all_axes(moments: Moments) -> Array:
    """The principal axes, of shape (p, p): those without nominal variance too, in which the mean and the set may reach."""
    principal = moments.eigen[1]
    if principal.shape[1] == moments.dimension:
        return principal
    # The left singular vectors of the axes themselves complete them to a basis.
    rest = np.linalg.svd(principal, full_matrices=True)[0][:, principal.shape[1] :]
    return np.hstack([principal, rest])
