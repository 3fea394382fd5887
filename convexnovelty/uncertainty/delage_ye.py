"""Moments that a sample of bounded support leaves open."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.uncertainty.base import Counterpart, MomentSet, UncertaintySet
from convexnovelty.uncertainty.tools import direction, range_factor, square_root
from convexnovelty.validation import Array, nonnegative, positive

__all__ = ["DelageYe"]


class DelageYe(MomentSet):
    r"""Pairs with :math:`(m-m_0)'S_0^{-1}(m-m_0) \le \gamma_1` and :math:`S + (m-m_0)(m-m_0)' \preceq \gamma_2S_0`.

    The mean lies in an ellipsoid and the second moment about the nominal mean is bounded. With
    :math:`s = \sqrt{a'S_0a}` the worst loss is :math:`m_0'a + s\,h(\kappa)` where

    .. math::

        h(\kappa) = \max\{u + \kappa v : u \le \sqrt{\gamma_1},\ u^2 + v^2 \le \gamma_2\}
                  = \min_{\lambda\ge0} \lambda\sqrt{\gamma_1} + \sqrt{\gamma_2}\,\|(1-\lambda, \kappa)\|,

    that is :math:`\sqrt{\gamma_1} + \kappa\sqrt{\gamma_2-\gamma_1}` if
    :math:`\gamma_1 \le \gamma_2/(1+\kappa^2)` and :math:`\sqrt{\gamma_2(1+\kappa^2)}` otherwise. Adding the two worst
    cases, :math:`\sqrt{\gamma_1} + \kappa\sqrt{\gamma_2}`, would be conservative: what the mean takes is missing from
    the covariance.

    Parameters
    ----------
    gamma1, gamma2 : :math:`\gamma_1 \ge 0` and :math:`\gamma_2 > 0`; the nominal pair is a member if it is at least 1.
    """

    exactness = "exact"
    rotation_invariant = True
    hereditary = True
    nominal_at_zero = False
    source = "Delage and Ye (2010); Rujeerapaiboon, Kuhn and Wiesemann (2016)"

    def __init__(self, gamma1: float = 0.1, gamma2: float = 1.5) -> None:
        self.gamma1 = nonnegative(gamma1, "gamma1")
        self.gamma2 = positive(gamma2, "gamma2")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """One for either case of the formula."""
        return [cls(0.1, 1.5), cls(1.2, 1.4)]

    def validate(self) -> None:
        """Both numbers have their signs."""
        nonnegative(self.gamma1, "gamma1")
        positive(self.gamma2, "gamma2")

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """The ellipsoid by its factor, and the second moment as a semidefinite constraint."""
        F = np.asarray(self.factor)
        r = F.shape[0]
        if r == 0:
            return [m == self.center_mean, S == self.center_covariance]
        # In coordinates in which the nominal covariance is the identity, so that a singular one leaves room inside.
        X, v = cp.Variable((r, r), symmetric=True), cp.Variable(r)
        d = cp.reshape(v, (r, 1), order="F")
        return [
            S == F.T @ X @ F,
            m - self.center_mean == F.T @ v,
            cp.norm(v) <= math.sqrt(self.gamma1),
            cp.bmat([[self.gamma2 * np.eye(r) - X, d], [d.T, np.ones((1, 1))]]) >> 0,
        ]

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart:
        """The nominal value and the least of the family of bounds."""
        level, share, length = cp.Variable(nonneg=True), cp.Variable(nonneg=True), cp.Variable()
        value = self.tuned("gamma1", math.sqrt) * share + self.tuned("gamma2", math.sqrt) * length
        bound = cp.norm(cp.hstack([level - share, kappa * level])) <= length
        shown = cp.max(cp.hstack([value]))
        return Counterpart(self.center_mean @ a + shown, [bound, cp.norm(self.factor @ a) <= level])

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The deviation of the largest second moment, with the mean where it was."""
        return self.tuned("gamma2", math.sqrt) * cp.norm(self.factor @ a)

    def _parts(self, kappa: float) -> tuple[float, float]:
        """The worst shift and deviation, in nominal deviations."""
        if self.gamma1 <= self.gamma2 / (1.0 + kappa**2):
            return math.sqrt(self.gamma1), math.sqrt(self.gamma2 - self.gamma1)
        shift = math.sqrt(self.gamma2 / (1.0 + kappa**2))
        return shift, kappa * shift

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array]:
        """The worst shift of the mean, and what it leaves of the second moment."""
        S0 = self.center_covariance
        s = math.sqrt(max(float(a @ S0 @ a), 0.0))
        shift = self._parts(kappa)[0] * (S0 @ a) / s if s > 0 else np.zeros(a.size)
        return self.center_mean + shift, self.gamma2 * S0 - np.outer(shift, shift)

    def ellipsoidal(self, kappa: Any) -> tuple[Any, Array] | None:
        """The formula's multiple of the nominal deviation, written with the largest second moment."""
        if isinstance(kappa, cp.Expression):
            return None
        shift, deviation = self._parts(kappa)
        return (shift + kappa * deviation) / math.sqrt(self.gamma2), self.gamma2 * self.center_covariance

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A random shift and a random part of what it leaves."""
        factor = range_factor(self.center_covariance)
        rank = factor.shape[0]
        u = math.sqrt(min(self.gamma1, self.gamma2)) * rng.random() * direction(rng.standard_normal(rank))
        vectors, _ = np.linalg.qr(rng.standard_normal((rank, rank)))
        left = square_root(self.gamma2 * np.eye(rank) - np.outer(u, u))
        X = left @ (vectors * rng.random(rank)) @ vectors.T @ left
        return self.center_mean + factor.T @ u, factor.T @ X @ factor
