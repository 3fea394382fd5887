"""The adversary: worst members found within the membership, which owe nothing to any counterpart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.cones import smat, svec
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.algebra import elsewhere
from convexnovelty.uncertainty.arguments import along, blocks_of, known_set
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, UncertaintySet, has_members_of
from convexnovelty.uncertainty.derived import membership_of
from convexnovelty.uncertainty.product import Product
from convexnovelty.validation import Array, nonnegative

__all__ = ["Adversary", "Worst", "adversary", "worst_member"]

ENROLS_NOTHING = "the adversary of every set"


@dataclass(frozen=True)
class Worst:
    """The worst case that an adversary found: its value and the member, a point, a mean, a covariance or a pair."""

    value: float
    member: Any


class Adversary:
    """Worst members of a centred set by maximising over its membership, compiled once and asked many times.

    It never sees a counterpart: a value from here is reached by a member, so it bounds the supremum from below as the
    counterpart bounds it from above.
    """

    def __init__(self, uncertainty: UncertaintySet) -> None:
        known_set(uncertainty)
        self.uncertainty = uncertainty
        # Mean and covariance that do not know of each other are attacked one by one.
        self._split = has_members_of(uncertainty, Product) and not uncertainty.means.uses_covariance
        self._elsewhere = elsewhere(uncertainty)
        if has_members_of(uncertainty, Product) and self._split:
            self._means, self._spread = Adversary(uncertainty.means), Adversary(uncertainty.covariances)
        elif self._elsewhere is not None:
            self._there = Adversary(self._elsewhere[0])
        else:
            self._membership = membership_of(uncertainty.plain())

    def __call__(self, a: Any, kappa: float | None = None) -> Worst:
        """The worst case for the direction ``a``; for joint sets of moments also at ``kappa``."""
        a = along(self.uncertainty, a)
        if self._elsewhere is not None:
            return self._brought(self._there(self._elsewhere[1].T @ a, kappa), *self._elsewhere)
        d, p = _towards(a), a.size
        if isinstance(self.uncertainty, MomentSet):
            kappa = nonnegative(1.0 if kappa is None else kappa, "kappa")
            if self._split:
                shift, spread = self._means(a), self._spread(a)
                return Worst(shift.value + kappa * spread.value, (shift.member, spread.member))
            w = np.concatenate([d, np.zeros(p * (p + 1) // 2)])
            _, v = self._membership.maximise(w, np.concatenate([np.zeros(p), svec(np.outer(d, d))]), kappa)
            m, S = v[:p], smat(v[p:], p)
            return Worst(float(a @ m + kappa * np.sqrt(max(float(a @ S @ a), 0.0))), (m, S))
        if isinstance(self.uncertainty, CovarianceSet):
            _, v = self._membership.maximise(svec(np.outer(d, d)))
            S = smat(v, p)
            return Worst(float(np.sqrt(max(float(a @ S @ a), 0.0))), S)
        _, v = self._membership.maximise(d)
        return Worst(float(a @ v), v)

    def deviation(self, a: Any) -> Worst:
        r"""The pair (or covariance) with the largest :math:`\sqrt{a'Sa}`, whatever its mean."""
        if isinstance(self.uncertainty, CovarianceSet):
            return self(a)
        known_set(self.uncertainty, "covariance", "moments")
        a = along(self.uncertainty, a)
        if self._elsewhere is not None:
            return self._brought(self._there.deviation(self._elsewhere[1].T @ a), *self._elsewhere)
        if self._split:
            spread = self._spread(a)
            return Worst(spread.value, (self._means(a).member, spread.member))
        p, d = a.size, _towards(a)
        _, v = self._membership.maximise(np.concatenate([np.zeros(p), svec(np.outer(d, d))]))
        m, S = v[:p], smat(v[p:], p)
        return Worst(float(np.sqrt(max(float(a @ S @ a), 0.0))), (m, S))

    def _brought(self, worst: Worst, part: Any, T: Array) -> Worst:
        """What a matrix makes of a worst member of a set in other coordinates, where the worst case is the same."""
        if not isinstance(worst.member, tuple):
            return Worst(worst.value, _congruent(T, worst.member))
        m, S = worst.member
        held: Any = self.uncertainty
        return Worst(worst.value, (held.center_mean + T @ (m - part.center_mean), _congruent(T, S)))


def _congruent(T: Array, S: Array) -> Array:
    made = T @ S @ T.T
    return np.asarray((made + made.T) / 2)


def _towards(a: Array) -> Array:
    """The direction at size one; the first axis for none, since every member is then a worst one and one is asked for."""
    size = float(np.abs(a).max())
    return a / size if size > 0 else np.asarray(np.eye(a.size)[0])


def adversary(uncertainty: UncertaintySet, a: Any, kappa: float | None = None) -> Worst:
    """The worst case of a centred set by :class:`Adversary`, for one direction."""
    return Adversary(uncertainty)(a, kappa)


def worst_member(uncertainty: UncertaintySet, a: Any, kappa: float | None = None) -> Any:
    """A member that attains the worst case: the class's own if it names one, else the adversary's."""
    known_set(uncertainty)
    a = along(uncertainty, a)
    if isinstance(uncertainty, MomentSet):
        named: Any = uncertainty.worst_member(a, nonnegative(1.0 if kappa is None else kappa, "kappa"))
    elif isinstance(uncertainty, MeanSet):
        named = uncertainty.worst_member(a, uncertainty.covariance)
    else:
        named = uncertainty.worst_member(a)  # type: ignore[attr-defined]
    if named is None:
        return adversary(uncertainty, a, kappa).member
    try:
        blocks_of(uncertainty, named)
    except InputError as error:
        raise InputError(f"{uncertainty!r}: its worst_member gave what is no member of its family ({error})") from error
    return named
