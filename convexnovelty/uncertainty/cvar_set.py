"""Means of a sample under weights that are not far from equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Counterpart, PointSet, UncertaintySet
from convexnovelty.validation import Array, fraction, points

__all__ = ["CVaRSet"]


class CVaRSet(PointSet):
    r"""Weighted means :math:`c + \sum_i q_ix_i` with :math:`0 \le q_i \le 1/(\beta n),\ \sum_i q_i = 1`.

    .. math:: \sup_u w'u = w'c + \min_t\Big\{t + \frac1{\beta n}\sum_i(w'x_i - t)_+\Big\},

    the conditional value at risk of :math:`w'x` over the sample: the mean of its worst share :math:`\beta`. A share of
    one is the mean of the sample, a share of :math:`1/n` or less is the hull of its points.

    Parameters
    ----------
    scenarios : the sample, rows :math:`x_i`, offsets from the centre.
    share : :math:`\beta` in (0, 1].
    """

    exactness = "exact"
    basis_dependent = True
    source = "Rockafellar and Uryasev (2000); Bertsimas and Brown (2009) for the set"

    def __init__(self, scenarios: Any, share: float = 0.1) -> None:
        self.scenarios = points(scenarios, "scenarios")
        self.share = fraction(share, "share", one=True)

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A share that is a whole number of points, and one that is not."""
        rows = 0.5 * np.random.default_rng(5).standard_normal((8, dimension))
        return [cls(rows, 0.25), cls(rows, 0.3)]

    def validate(self) -> None:
        """The share is a share."""
        fraction(self.share, "share", one=True)

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.scenarios.shape[1])

    def membership(self, u: cp.Expression) -> list[Any]:
        """A mean under weights that are bounded."""
        n = self.scenarios.shape[0]
        weights = cp.Variable(n, nonneg=True)
        bound = [weights <= 1.0 / (self.share * n), cp.sum(weights) == 1]
        return [u - self.center == self.scenarios.T @ weights, *bound]

    def support(self, w: cp.Expression) -> Counterpart:
        """The mean of the worst share."""
        t = cp.Variable()
        factor = self.tuned("share", lambda share: 1.0 / (share * self.scenarios.shape[0]))
        return Counterpart(self.center @ w + t + factor * cp.sum(cp.pos(self.scenarios @ w - t)))

    def worst_member(self, w: Array) -> Array:
        """As much weight as allowed on the worst points, in their order."""
        n = self.scenarios.shape[0]
        order = np.argsort(-(self.scenarios @ w), kind="stable")
        weights = np.zeros(n)
        bound = 1.0 / (self.share * n)
        weights[order] = np.clip(1.0 - bound * np.arange(n), 0.0, bound)
        return np.asarray(self.center + weights @ self.scenarios)

    def sample(self, rng: np.random.Generator) -> Array:
        """Random weights, drawn towards equal ones until they are allowed."""
        n = self.scenarios.shape[0]
        weights = rng.dirichlet(np.full(n, 0.5))
        excess, room = float(weights.max()) - 1.0 / n, 1.0 / (self.share * n) - 1.0 / n
        weights = 1.0 / n + (weights - 1.0 / n) * min(1.0, room / excess if excess > 0 else 1.0)
        return np.asarray(self.center + weights @ self.scenarios)
