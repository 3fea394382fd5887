r"""The distribution that attains the Chebyshev bound, built and sampled.

For given mean m, covariance S, direction a and offset b, with :math:`t = (b - a'm)/\sqrt{a'Sa} > 0`, the projection
:math:`a'y` sits on two atoms: b with probability :math:`1/(1 + t^2)`, and :math:`a'm - \sqrt{a'Sa}/t` otherwise. So
the bound on :math:`P(a'y \ge b)` is no worst case that nothing reaches: here is the law that reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.moments import Moments
from convexnovelty.validation import Array, generator, integer, number, vector

__all__ = ["ExtremalDistribution", "extremal_distribution", "largest_beyond", "varies", "varies_in_any_units"]

# Share of the largest variance in a covariance, whose entries are known to rounding of it, below which the variance along a
# direction has fewer than five digits.
TOLD = 1e-10


@dataclass(frozen=True, eq=False)
class ExtremalDistribution:
    """A finite distribution in R^p with a given mean and covariance, as much of it as can be beyond a hyperplane.

    Attributes
    ----------
    atoms : (2,) values of the projection a'y: the offset b, and the value on the other side of the mean.
    probabilities : (2,) of these values; the first is the Chebyshev bound.
    points : (k, p) the points that carry probability, and
    weights : (k,) how much, so that mean and covariance are finite sums.
    """

    atoms: Array
    probabilities: Array
    points: Array
    weights: Array

    @property
    def probability_outside(self) -> float:
        """P(a'y >= b) = 1/(1 + t^2), attained."""
        return float(self.probabilities[0])

    def sample(self, size: Any, rng: Any = None) -> Array:
        """Independent draws, of shape (size, p); ``rng`` is a ``numpy.random.Generator`` or a seed."""
        count = integer(size, "size", 1)
        random = generator(rng, "rng")
        return np.asarray(self.points[random.choice(self.weights.size, size=count, p=self.weights)])


def extremal_distribution(mean: Any, covariance: Any, normal: Any, offset: Any) -> ExtremalDistribution:
    r"""The distribution with this mean and covariance that puts the most probability on :math:`a'y \ge b`.

    .. math:: y = m + \frac{Sa}{a'Sa}(u - a'm) + G'e, \qquad G'G = S - \frac{Saa'S}{a'Sa}

    with u on two atoms, and e independent of u on the 2r points :math:`\pm\sqrt r` times a unit vector, equally
    likely, whose mean is 0 and covariance I: no more than 4r points in all, r the rank of S.

    Parameters
    ----------
    mean, covariance : (p,) and (p, p), semidefinite.
    normal : (p,) the direction a. offset : the number b, beyond the mean: b > a'm.

    Raises
    ------
    InputError if the projection has no variance, or b does not exceed a'm: there the largest probability of a
    closed half-space is 1 and no two atoms are needed.

    Source: equation 1 of the single-class minimax probability machine (Marshall and Olkin 1960).
    """
    moments = Moments(mean, covariance)
    a, b = vector(normal, "normal", moments.dimension), number(offset, "offset")
    along = moments.factor @ a
    deviation, center = float(np.linalg.norm(along)), float(a @ moments.mean)
    # Relative to the largest deviation that a direction of this length can have: below that it is rounding.
    if deviation <= 1e-12 * float(np.linalg.norm(a)) * float(np.linalg.norm(moments.factor)) or deviation == 0.0:
        raise InputError(f"normal: the projection has standard deviation {deviation:.3g}; give one that varies")
    t = (b - center) / deviation
    if t <= 0:
        raise InputError(
            f"offset: {b:.6g} was found; give more than a'm = {center:.6g}, since the bound is 1 up to there"
        )
    atoms = np.array([b, center - deviation / t])
    probabilities = np.array([1.0 / (1.0 + t * t), t * t / (1.0 + t * t)])

    direction = along / deviation
    shifts = np.outer((atoms - center) / deviation, moments.factor.T @ direction)
    rest = moments.factor - np.outer(direction, moments.factor.T @ direction)  # (r, p), rows add up to G'G
    rank = rest.shape[0]
    if rank == 1:
        spread, share = np.zeros((1, moments.dimension)), np.ones(1)  # one dimension leaves nothing over
    else:
        spread = np.sqrt(rank) * np.vstack([rest, -rest])
        share = np.full(2 * rank, 0.5 / rank)
    points = moments.mean + (shifts[:, None, :] + spread[None, :, :]).reshape(-1, moments.dimension)
    return ExtremalDistribution(atoms, probabilities, points, np.outer(probabilities, share).ravel())


def varies(covariance: Array, normal: Array) -> bool:
    """Whether a'y varies by more than what rounding leaves of a covariance that has none along a."""
    largest = float(np.linalg.eigvalsh(covariance)[-1])
    return float(normal @ covariance @ normal) > TOLD * largest * float(normal @ normal)


def varies_in_any_units(covariance: Array, normal: Array) -> bool:
    """The same where each column is known to rounding of its own variance, so that units of the columns do not matter."""
    terms = float(np.abs(normal) @ np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))
    return float(normal @ covariance @ normal) > TOLD * terms**2


def largest_beyond(mean: Array, covariance: Array, normal: Array, offset: float) -> float:
    r"""The largest probability of :math:`a'y \ge b`: that of the extremal distribution, and one for offsets up to a'm."""
    if offset <= float(normal @ mean):
        return 1.0
    return extremal_distribution(mean, covariance, normal, offset).probability_outside
