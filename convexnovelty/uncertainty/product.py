"""The product of a set of means and a set of covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import (
    Counterpart,
    CovarianceSet,
    MeanSet,
    MomentSet,
    UncertaintySet,
    as_counterpart,
    has_members_of,
    scaled,
)
from convexnovelty.uncertainty.composite import Composite, claimed_by_parts
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.exact_mean import ExactMean
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.validation import Array

__all__ = ["Product", "as_moment_set"]


class Product(Composite, MomentSet):
    r"""Pairs of a mean from one set and a covariance from another, written ``means * covariances``.

    .. math:: \sup_{m,S} m'a + \kappa\sqrt{a'Sa} = \sup_m a'm + \kappa\,\sup_S\sqrt{a'Sa}

    for a set of means of its own, and :math:`a'm_0 + (\kappa + \nu)\sup_S\sqrt{a'Sa}` where the means form the
    :math:`\nu`-ellipsoid of the covariance that is drawn with them.

    Parameters
    ----------
    means : a MeanSet.
    covariances : a CovarianceSet.
    """

    exactness = "exact"
    rotation_invariant: Any = claimed_by_parts("rotation_invariant")
    hereditary: Any = claimed_by_parts("hereditary")
    source = "Lanckriet, El Ghaoui and Jordan, Robust novelty detection with single-class MPM, eq. 9"
    part_names = ("means", "covariances")

    def __init__(self, means: MeanSet, covariances: CovarianceSet) -> None:
        if not isinstance(means, MeanSet) or not isinstance(covariances, CovarianceSet):
            raise InputError(
                f"product: {means!r} * {covariances!r} was found; give a set of means and a set of covariances"
            )
        self.means = means
        self.covariances = covariances
        self._inherit()

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """The robust single-class machine's own set."""
        return [cls(MeanEllipsoid(0.2), FrobeniusBall(0.3))]

    def __repr__(self) -> str:
        return f"{self.means!r} * {self.covariances!r}"

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """Both memberships, and the covariance is one."""
        from convexnovelty.uncertainty.derived import stated

        of_mean = stated(self.means, [m, S] if self.means.uses_covariance else [m])
        return [*of_mean, *stated(self.covariances, [S]), S >> 0]

    # Each part has a counterpart of its own, closed or derived; None where the parts hang together in an unknown way.

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart | None:
        """The sum of the parts' worst cases."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        return self.beside(a, kappa, worst_deviation(self.covariances, a)) if self.separate else None

    def beside(self, a: cp.Expression, kappa: Any, spread: Any) -> Counterpart | None:
        """The worst loss from the worst deviation, an expression or a counterpart; None where the parts hang together."""
        from convexnovelty.uncertainty.counterparts import support

        if not self.separate:
            return None
        nu = self.means.deviations
        shift = support(self.means, a) if nu is None else as_counterpart(self.means.center @ a)
        wide = scaled(kappa if nu is None else kappa + nu, as_counterpart(spread))
        return Counterpart(shift.value + wide.value, [*shift.constraints, *wide.constraints])

    def worst_deviation(self, a: cp.Expression) -> Counterpart | None:
        """The covariances' own."""
        from convexnovelty.uncertainty.counterparts import worst_deviation

        return worst_deviation(self.covariances, a) if self.separate else None

    @property
    def separate(self) -> bool:
        """Whether mean and covariance have worst cases of their own, which kappa does not change."""
        return self.means.deviations is not None or not self.means.uses_covariance

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array] | None:
        """The worst covariance, and the worst mean beside it."""
        S = self.covariances.worst_member(a)
        m = None if S is None else self.means.worst_member(a, S)
        return None if S is None or m is None else (m, S)

    def ellipsoidal(self, kappa: Any) -> tuple[Any, Array] | None:
        """The covariances' matrix, and kappa with the mean's deviations added."""
        nu, C = self.means.deviations, self.covariances.ellipsoidal()
        return None if nu is None or C is None else (kappa + nu, C)

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array] | None:
        """A random covariance, and a random mean beside it."""
        S = self.covariances.sample(rng)
        if S is None:
            return None
        m = self.means.sample(rng, S) if has_members_of(self.means, MeanEllipsoid) else self.means.sample(rng)
        return None if m is None else (m, S)


def _beside(exact: Any, other: Any) -> Any:
    """The exact part around the moments of the other one, if that is centred already."""
    return exact if other._moments is None else exact.centred(other._moments)


def _where(made: Product, part: Any) -> Product:
    """The product around the moments of the part that it was made of, if that is centred already."""
    centred: Product = made._copy(_moments=part._moments)
    return centred


def as_moment_set(uncertainty: UncertaintySet | None) -> MomentSet:
    """Any set of moments as a set of pairs; None stands for no uncertainty.

    Raises InputError for a set of points.
    """
    if uncertainty is None:
        return Product(ExactMean(), ExactCovariance())
    if isinstance(uncertainty, MomentSet):
        return uncertainty
    if isinstance(uncertainty, CovarianceSet):
        return _where(Product(_beside(ExactMean(), uncertainty), uncertainty), uncertainty)
    if isinstance(uncertainty, MeanSet):
        return _where(Product(uncertainty, _beside(ExactCovariance(), uncertainty)), uncertainty)
    raise InputError(
        f"uncertainty: {uncertainty!r} was found; give a set of means, of covariances or of both "
        "(MeanSet, CovarianceSet, MomentSet), since this method knows moments and no single points"
    )
