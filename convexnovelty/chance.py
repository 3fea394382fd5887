r"""Robust chance constraints as several methods state them: which part of a worst case :math:`\kappa` multiplies.

A class of points must lie below b with a given probability, whatever its moments in a set,

.. math:: \sup_{(m,S)\in\mathcal U} m'a + \kappa\sqrt{a'Sa}\ \le\ b.

Where :math:`\kappa` multiplies the worst deviation alone, the largest :math:`\kappa` is the optimum of one convex
program; in a joint set of means and covariances the worst pair changes with :math:`\kappa`, which then is searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.algorithms.level_search import crossing
from convexnovelty.conic import ConicProgram
from convexnovelty.moments import Moments
from convexnovelty.tails import Tail
from convexnovelty.uncertainty import Adversary, Counterpart, MomentSet, as_moment_set, support, worst_loss
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.exact import Exact
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.exact_mean import ExactMean
from convexnovelty.uncertainty.product import Product
from convexnovelty.uncertainty.tools import listed
from convexnovelty.validation import Array

__all__ = [
    "Multiplier",
    "adversary_of",
    "attack_of",
    "family",
    "is_nominal",
    "is_separate",
    "multiplier",
    "not_needed",
    "not_small",
    "reach_of",
    "reference",
    "some_member",
]

# The adversary solves for whole covariances, of which a solver knows every entry to 1e-10 of the largest.
SMALL, UNITS = 12, 1e4

# Beyond this dimension no set is asked for a dense covariance.
LARGE = 2000

# How far off, in deviations, constraints are broken for comparison, and the share of that up to which the nominal pair meets them.
NEARBY, BROKEN = 1e-3, 1e-4

_ADVERSARIES: WeakKeyDictionary[Moments, dict[int, tuple[Any, Adversary]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Multiplier:
    r"""The factor :math:`\lambda(\kappa)` of a set with worst loss :math:`m_0'a + \lambda(\kappa)\sup\sqrt{a'Sa}`.

    Attributes
    ----------
    function : kappa to lambda, increasing.
    nu : the number with lambda = kappa + nu, as a mean ellipsoid gives it; None for another function.
    """

    function: Callable[[float], float]
    nu: float | None = None

    def __call__(self, kappa: float) -> float:
        """lambda at a kappa."""
        return kappa + self.nu if self.nu is not None else self.function(kappa)

    def inverse(self, factor: float) -> float:
        """The kappa that a factor of the deviation grants; zero or less where it grants none."""
        if self.nu is not None or not math.isfinite(factor):
            return factor - (self.nu or 0.0)
        if factor <= 0:
            return -math.inf
        return crossing(lambda kappa: self.function(kappa) / factor - 1, factor, tolerance=0.0)


def multiplier(uncertainty: MomentSet, moments: Moments) -> Multiplier | None:
    """How kappa enters the worst loss of a set, if only through a factor of its worst deviation; None otherwise."""
    if has_members_of(uncertainty, Exact):
        return Multiplier(float, 0.0)
    if has_members_of(uncertainty, Product):
        nu = uncertainty.means.deviations
        return None if nu is None else Multiplier(float, float(nu))
    if moments.dimension > LARGE:
        return None
    centred = uncertainty.centred(moments)
    found = centred.ellipsoidal(1.0)
    return None if found is None else Multiplier(lambda kappa: float(centred.ellipsoidal(kappa)[0]))


def is_separate(uncertainty: MomentSet, moments: Moments) -> bool:
    """Whether one convex program finds the largest kappa: the set has a multiplier, or means of their own."""
    own_means = has_members_of(uncertainty, Product) and not uncertainty.means.uses_covariance
    return own_means or multiplier(uncertainty, moments) is not None


def is_nominal(uncertainty: MomentSet) -> bool:
    """Whether the set holds the nominal moments alone."""
    if has_members_of(uncertainty, Product):
        return has_members_of(uncertainty.means, ExactMean) and has_members_of(uncertainty.covariances, ExactCovariance)
    return has_members_of(uncertainty, Exact)


def family(tail: Tail, nominal: bool, name: str, *moments: Moments) -> str:
    """For whom a guarantee holds: the tail's distributions, and all moments in the set that is called ``name``.

    Moments of a sample whose correlations were left out are those of no distribution with correlated columns, the
    sample itself included, so that the claim says what it assumes.
    """
    said = tail.sentence
    if any(part.forced_diagonal for part in moments):
        known = "mean and covariance"  # a tail of the user's own, or a symmetric one, says it in other words
        if known in said:
            said = said.replace(known, "mean, these variances and uncorrelated columns")
        else:
            said = f"{said}, and with uncorrelated columns, of which the variances alone are known"
    return said if nominal else f"{said}, wherever mean and covariance lie in {name} around the nominal ones"


def reach_of(uncertainty: MomentSet, direction: Any) -> Counterpart:
    """The counterpart of the farthest mean along a direction, whatever the covariance beside it."""
    if has_members_of(uncertainty, Product) and not uncertainty.means.uses_covariance:
        return support(uncertainty.means, direction)
    return worst_loss(uncertainty, direction, 0.0)


def adversary_of(uncertainty: Any, moments: Moments) -> Adversary:
    """The adversary of a set around moments, compiled once for as long as the moments live."""
    made = _ADVERSARIES.setdefault(moments, {})
    if id(uncertainty) not in made:
        # The set is kept beside its adversary, so that its id is not given to another one.
        made[id(uncertainty)] = (uncertainty, Adversary(as_moment_set(uncertainty).centred(moments)))
    return made[id(uncertainty)][1]


def attack_of(uncertainty: Any, moments: Moments) -> Callable[[Array, float], tuple[Array, Array]]:
    """The worst member for a direction and a kappa, by the adversary; of exact moments the only one there is."""
    if is_nominal(as_moment_set(uncertainty)):
        return lambda a, kappa: (moments.mean, moments.covariance)
    adversary = adversary_of(uncertainty, moments)

    def attack(a: Array, kappa: float) -> tuple[Array, Array]:
        member: tuple[Array, Array] = adversary(a, kappa).member
        return member

    return attack


def reference(uncertainty: Any, moments: Moments) -> Array:
    """A mean from which distances along a direction are counted: the nominal one, or that of a pair of a joint set.

    A hull of given pairs need not hold the nominal pair, and then says nothing about the sign of a distance from it.
    """
    if is_separate(as_moment_set(uncertainty), moments):
        return moments.mean
    return some_member(uncertainty, moments)[0]


def some_member(uncertainty: Any, moments: Moments) -> tuple[Array, Array]:
    """A pair of the set: the nominal one if it belongs, which a hull or a set that was moved need not hold.

    Cutting planes begin with it. With a pair that is no member they would end at a worse case than any member is.
    """
    recipe = as_moment_set(uncertainty)
    known = is_nominal(recipe) or moments.representation != "dense" or moments.dimension > SMALL
    if known or _holds(recipe, moments):
        return moments.mean, moments.covariance
    return attack_of(uncertainty, moments)(np.ones(moments.dimension), 1.0)


def _holds(recipe: MomentSet, moments: Moments) -> bool:
    """Whether the nominal pair is a member: its membership constraints are met, or can be by their own variables."""
    centred = recipe.centred(moments)
    constraints = listed(centred.membership(cp.Constant(moments.mean), cp.Constant(moments.covariance)))
    if not any(constraint.variables() for constraint in constraints):
        m, S = cp.Variable(moments.dimension), cp.Variable((moments.dimension,) * 2, symmetric=True)
        constraints = listed(centred.membership(m, S))
        try:
            return _are_met(constraints, m, S, moments)
        except np.linalg.LinAlgError:  # an atom that inverts the covariance has a cone where it has no value
            constraints = [*constraints, m == moments.mean, S == moments.covariance]
    # Squares of deviations stand beside the ones of the set's own variables, and are no rounding of these.
    program, _ = ConicProgram.from_problem(cp.Problem(cp.Minimize(0), constraints)).equilibrated(rounding=0.0)
    # A member on the boundary leaves the feasible set no inside, of which only a certificate of the contrary counts.
    return program.solve(max_iter=100).status != "PrimalInfeasible"


def _are_met(constraints: list[Any], m: Any, S: Any, moments: Moments) -> bool:
    """Whether the nominal pair meets constraints on ``m`` and ``S``, by what they are broken by a little way off, in deviations.

    A constraint may be in units of the mean, of the covariance, or of neither.
    """
    mean, covariance = moments.mean, (moments.covariance + moments.covariance.T) / 2
    random = np.random.default_rng(22)
    turn = NEARBY * random.standard_normal(covariance.shape)
    along = NEARBY * np.sqrt(covariance.diagonal()) * random.standard_normal(mean.size)

    def broken(sign: float) -> Array:
        # By congruence, so that what is a covariance stays one, with its null directions.
        turned = np.eye(mean.size) + sign * turn
        moved = turned @ covariance @ turned.T
        m.value, S.value = mean + sign * along, (moved + moved.T) / 2 if sign else covariance
        return np.array([float(np.max(constraint.violation(), initial=0.0)) for constraint in constraints])

    return bool((broken(0.0) <= BROKEN * np.maximum(broken(1.0), broken(-1.0))).all())


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


def not_needed(around: bool) -> str | None:
    """Why a node that knows nothing of the set is left out where the catalogue of sets is gone through."""
    return "it knows nothing new of the set, so it is checked on the method's own instances" if around else None
