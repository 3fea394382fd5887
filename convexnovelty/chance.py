r"""Robust chance constraints as several methods state them: which part of a worst case :math:`\kappa` multiplies.

A class of points must lie below b with a given probability, whatever its moments in a set,

.. math:: \sup_{(m,S)\in\mathcal U} m'a + \kappa\sqrt{a'Sa}\ \le\ b.

Where :math:`\kappa` multiplies the worst deviation alone, the largest :math:`\kappa` is the optimum of one convex
program; in a joint set of means and covariances the worst pair changes with :math:`\kappa`, which then is searched for.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from convexnovelty.moments import Moments
from convexnovelty.tails import Tail
from convexnovelty.uncertainty import Adversary, Exact, ExactCovariance, ExactMean, MomentSet, Product, as_moment_set

__all__ = ["adversary_of", "family", "is_nominal", "is_separate", "not_small", "shift"]

# The adversary solves for whole covariances, of which a solver knows every entry to 1e-10 of the largest.
SMALL, UNITS = 12, 1e4

_ADVERSARIES: WeakKeyDictionary[Moments, dict[int, tuple[Any, Adversary]]] = WeakKeyDictionary()


def shift(uncertainty: MomentSet) -> float | None:
    r"""The :math:`\nu` of a set with worst loss :math:`m_0'a + (\kappa + \nu)\sup\sqrt{a'Sa}`; None for other sets."""
    if isinstance(uncertainty, Exact):
        return 0.0
    nu = uncertainty.means.deviations if isinstance(uncertainty, Product) else None
    return None if nu is None else float(nu)


def is_separate(uncertainty: MomentSet) -> bool:
    """Whether kappa multiplies the deviation alone: the worst mean does not know of the covariance, or by nu only."""
    return shift(uncertainty) is not None or (
        isinstance(uncertainty, Product) and not uncertainty.means.uses_covariance
    )


def is_nominal(uncertainty: MomentSet) -> bool:
    """Whether the set holds the nominal moments alone."""
    if isinstance(uncertainty, Product):
        return isinstance(uncertainty.means, ExactMean) and isinstance(uncertainty.covariances, ExactCovariance)
    return isinstance(uncertainty, Exact)


def family(tail: Tail, nominal: bool, name: str) -> str:
    """For whom a guarantee holds: the tail's distributions, and all moments in the set that is called ``name``."""
    return (
        tail.sentence
        if nominal
        else f"{tail.sentence}, wherever mean and covariance lie in {name} around the nominal ones"
    )


def adversary_of(uncertainty: Any, moments: Moments) -> Adversary:
    """The adversary of a set around moments, compiled once for as long as the moments live."""
    made = _ADVERSARIES.setdefault(moments, {})
    if id(uncertainty) not in made:
        # The set is kept beside its adversary, so that its id is not given to another one.
        made[id(uncertainty)] = (uncertainty, Adversary(as_moment_set(uncertainty).centred(moments)))
    return made[id(uncertainty)][1]


def not_small(moments: Moments) -> str | None:
    """Why the adversary is not asked for moments: it solves semidefinite programs in their dimension and units."""
    if moments.representation != "dense":
        return "the adversary knows dense covariances only"
    if moments.dimension > SMALL:
        return f"the adversary is left to smaller instances than dimension {moments.dimension}"
    positive = moments.variances[moments.variances > 0]
    if positive.size and float(positive.max()) > UNITS**2 * float(positive.min()):
        return "the features' units differ so much that a solver does not know the small entries of a covariance"
    return None
