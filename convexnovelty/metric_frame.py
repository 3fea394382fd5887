r"""Axes and units in which a normal is sought that has the least variance under some moments.

With the worst covariance C of an uncertainty set, :math:`\min w'Cw` is the least squared length in axes in which C is
the identity; where points are sparse or columns many, and C is low rank plus a diagonal, features are scaled and nothing
else, so that sparse points stay so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.covariances import EPS
from convexnovelty.errors import InputError
from convexnovelty.estimates import moved
from convexnovelty.formulation import Quantity
from convexnovelty.frames import allowed_variances, far_beyond
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import MomentSet, worst_deviation
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.exact import Exact
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.product import Product
from convexnovelty.uncertainty.spectral_ball import SpectralBall
from convexnovelty.validation import Array
from convexnovelty.whitening import Whitening, column_sizes, far_mean, is_sparse

__all__ = ["MetricFrame", "ridge_of", "worst_factor", "worst_moments"]

# Beyond this dimension a covariance is not made dense: 2000 x 2000 numbers take 32 MB.
DENSE = 2000

# Up to this dimension low rank plus a diagonal is taken apart for its axes, in a fifth of a second.
WHITENED = 500

# Sets whose worst covariance is S + rho I, which low rank plus a diagonal can hold.
RIDGES = (FrobeniusBall, SpectralBall)


def ridge_of(uncertainty: MomentSet) -> float | None:
    """The rho by which the worst covariance exceeds the nominal one in every direction, without forming either."""
    if has_members_of(uncertainty, Exact):
        return 0.0
    if not has_members_of(uncertainty, Product) or uncertainty.means.deviations is None:
        return None
    if has_members_of(uncertainty.covariances, ExactCovariance):
        return 0.0
    return uncertainty.covariances.radius if type(uncertainty.covariances) in RIDGES else None


def worst_moments(moments: Moments, uncertainty: MomentSet) -> Moments | None:
    """The nominal mean with the covariance that is worst in every direction, or None where there is none."""
    ridge = ridge_of(uncertainty)
    if ridge == 0:
        return moments
    if ridge is not None and moments.representation != "dense":
        return Moments.low_rank(moments.mean, moments.loadings, moments.specific_variances + ridge)
    if moments.dimension > DENSE and moments.representation != "dense":
        return None
    found = uncertainty.centred(moments).ellipsoidal(1.0)
    return None if found is None else Moments(moments.mean, found[1])


def worst_factor(moments: Moments, uncertainty: MomentSet) -> Array | None:
    """Rows R of shape (r, p) with R'R the covariance that is worst in every direction, or None where there is none.

    What the moments know of variances in their factor is kept where the set stretches it or adds its radius: the matrix
    has them to rounding of its largest entry.
    """
    ridge, factor = ridge_of(uncertainty), moments.factor
    if ridge is None:
        found = uncertainty.centred(moments).ellipsoidal(1.0)
        if found is None:
            return None
        worst, nominal = np.asarray(found[1]), moments.covariance
        radius = uncertainty.covariances.numbers().get("radius") if has_members_of(uncertainty, Product) else None
        if radius is not None and np.array_equal(worst, nominal + radius * np.eye(moments.dimension)):
            ridge = radius
        else:
            total = float(np.trace(nominal))
            stretch = float(np.trace(worst)) / total if total > 0 else 1.0
            if np.allclose(worst, stretch * nominal, rtol=4 * moments.dimension * EPS, atol=0.0):
                return np.asarray(math.sqrt(stretch) * factor)
            return Moments(moments.mean, worst).factor
    return factor if ridge == 0 else np.vstack([factor, math.sqrt(ridge) * np.eye(moments.dimension)])


class MetricFrame:
    r"""The normal as :math:`w = \text{scale}\cdot Vy`, posed so that y and the objective are of the order of one.

    V are axes in which the worst covariance is the identity, completed by the directions without variance. Where the points
    are sparse, or columns are many beside a covariance of low rank plus a diagonal, V scales the features and nothing else.
    ``distance`` is that of the points from the negatives in deviations, where it is known better than by their means.
    """

    def __init__(
        self,
        positives: Any,
        moments: Moments,
        uncertainty: MomentSet,
        slack_penalty: float | None,
        mean_penalty: float | None = None,
        *,
        distance: float | None = None,
    ) -> None:
        self.moments, self.positives = moments, positives
        self.ridge = ridge_of(uncertainty)
        known = moments.representation == "low_rank" and moments.dimension <= WHITENED and self.ridge is not None
        self.plain = is_sparse(positives) or not (known or moments.representation == "dense")
        worst = worst_moments(moments, uncertainty)
        self.axes: Any  # dense, or a sparse diagonal
        self.inverse: Any
        if self.plain:
            if self.ridge is None:
                raise InputError(
                    f"uncertainty: {uncertainty!r} was found where the moments are low rank or the points sparse; "
                    "give a mean ellipsoid with a Frobenius or spectral ball, or dense moments and points"
                )
            floor = 1e-12 * (moments.variances.mean() + self.ridge) + np.finfo(float).tiny
            deviations = np.sqrt(moments.variances + self.ridge + floor)
            flat = np.flatnonzero(moments.variances + self.ridge == 0)
            if flat.size:
                # What the negatives do not vary in has no deviation: its unit is that of the positives beside their mean.
                sizes = column_sizes(positives[:, flat], moments.mean[flat])
                deviations[flat] = np.where(sizes > 0, sizes, 1.0)
            self.axes, self.inverse = sp.diags_array(1 / deviations).tocsr(), sp.diags_array(deviations).tocsr()
        elif worst is None:
            centred, columns = uncertainty.centred(moments), np.eye(moments.dimension)
            variances = allowed_variances(centred, columns, moments.variances)
            variances = variances + far_beyond(centred, columns, variances)
            deviations = np.sqrt(variances + 1e-12 * moments.variances.mean() + np.finfo(float).tiny)
            self.axes, self.inverse = np.diag(1 / deviations), np.diag(deviations)
        else:
            self.axes, self.inverse = Whitening(worst).axes(positives)
        self.size = int(self.axes.shape[1])
        self.y = cp.Variable(self.size, name="w")
        self.posed = self.axes @ self.y
        typical = distance**2 if distance else self._typical()
        # The objective's unit: it is at least 1 / distance^2 for a hard margin, and at most the price of all slacks.
        self.unit = 1 / typical if typical > 0 else 1.0
        if slack_penalty is not None:
            self.unit = min(self.unit, slack_penalty * positives.shape[0])
        if mean_penalty is not None:
            self.unit = min(self.unit, mean_penalty)
        self.scale = math.sqrt(self.unit)
        self.w = Quantity(self.y, self.scale, self.axes, self.inverse, unseen=True)

    def _typical(self) -> float:
        """The squared distance of the positives' mean from the negatives', in deviations."""
        middle = np.asarray(self.positives.mean(axis=0)).ravel() - self.moments.mean
        along = np.asarray(self.axes.T @ middle)
        return float(along @ along)

    def margins(self) -> tuple[Any, list[Any]]:
        """The expression (x_i - m)'w of shape (n,), and constraints that it needs."""
        if not is_sparse(self.positives):
            rows = (self.positives - self.moments.mean) @ self.axes
            return (self.scale * rows) @ self.y, []
        # The mean is subtracted through one variable where from the points it would fill them. Far from zero it does not, and
        # a level of its size would leave the margins few of a solver's digits.
        level, shift = cp.Variable(name="level"), far_mean(self.moments, self.ridge or 0.0)
        rows = moved(self.positives, shift) @ self.axes
        along = self.scale * np.asarray(self.axes.T @ (self.moments.mean - shift))
        return (self.scale * rows).tocsr() @ self.y - level, [level == along @ self.y]

    def variance(self, robust: MomentSet, recipe: MomentSet) -> tuple[Any, list[Any], dict[str, Any]]:
        """The worst w'Sw over the objective's unit, with the constraints and the letters that it needs.

        ``robust`` is the tunable set around the moments, ``recipe`` the set as it was given.
        """
        if self.ridge is None:
            spread = worst_deviation(robust, self.posed)
            # Clarabel is surer of a linear objective over the square than of the square of a norm.
            u, v = cp.Variable(name="u"), cp.Variable(name="v")
            letters = {"u": Quantity(u, self.scale), "v": Quantity(v, self.unit)}
            return v, [spread.value <= u, cp.square(u) <= v, *spread.constraints], letters
        parts: list[Any] = []
        F = self.moments.loadings if self.plain else self.moments.factor
        if len(F):
            turned = F @ self.axes
            gram = turned.T @ turned if not self.plain else None
            variances = None if gram is None else gram.diagonal()
            if variances is not None and np.abs(gram - np.diag(variances)).max() <= 1e-13 * self.size * variances.max():
                parts.append(cp.sum_squares(cp.multiply(np.sqrt(variances), self.y)))
            else:
                parts.append(cp.sum_squares(turned @ self.y))
        if self.plain and self.moments.specific_variances.any():
            roots = np.sqrt(self.moments.specific_variances) * self.axes.diagonal()
            parts.append(cp.sum_squares(cp.multiply(roots, self.y)))
        if has_members_of(recipe, Product) and type(recipe.covariances) in RIDGES:
            # The axes are of the size of one over a deviation and the radius of that of a variance: only their product
            # is of the order of one.
            size = float(abs(self.axes).max()) or 1.0
            radius = robust.covariances.tuned("radius", lambda value: value * size**2)  # type: ignore[attr-defined]
            parts.append(radius * cp.sum_squares((self.axes / size) @ self.y))
        return sum(parts[1:], parts[0]) if parts else cp.Constant(0.0), [], {}
