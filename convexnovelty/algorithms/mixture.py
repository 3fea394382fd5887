r"""Weights of a convex combination of kernels, by searching the optimum of an inner machine over them.

.. math:: J(\mu) = \max_\alpha \alpha_h'1 - \tfrac12 v'(\hat K^{-1} + cH)^{-1}v, \qquad \hat K = \sum_k \mu_k K_k,

over the three groups of multipliers of Tsang, Kwok and Li (2006), equation 12. J is convex. With the expansion
:math:`a = (I + cH\hat K)^{-1}v` of the plane, the quadratic form splits into :math:`a'\hat Ka + \frac1c\|v - a\|^2`, which
is linear in the weights: each inner optimum gives a plane below J that touches it, and the derivative
:math:`-\frac12a'K_ka`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.optimize

from convexnovelty.algorithms import woodbury
from convexnovelty.algorithms.grouped_smo import Group, grouped_smo
from convexnovelty.algorithms.min_norm_point import min_norm_point
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import InfeasibleError, SolverError, UnboundedError
from convexnovelty.kernel_family import KernelFamily
from convexnovelty.validation import Array

__all__ = ["Inner", "Machine", "cutting_plane_weights", "line_search_weight"]

# Relative gap between the bounds of J at which the search ends.
GAP = 1e-9
ROUNDS = 400
# Distance of the sample's hull from the origin, in units of the points, up to which no plane tells them apart.
SEPARABLE = 1e-7
RANK = 1e-12  # share of the largest singular value of the features below which another is rounding
RIDGES = 10.0 ** -np.arange(-1.0, 21.0, 2.0)  # in units of the largest eigenvalue of the Gram matrix


@dataclass(frozen=True)
class Inner:
    """The inner optimum at some weights: value, multipliers (s, h, r), expansion of the plane, and the plane below J.

    ``value == constant + slopes @ weights``.
    """

    value: float
    multipliers: tuple[Array, ...]
    gamma: Array
    constant: float
    slopes: Array
    iterations: int

    def gap(self, weights: Array) -> float:
        """How far J at these weights, where this is its optimum, may be above its minimum."""
        return float(self.slopes @ weights - self.slopes.min())


@dataclass(frozen=True)
class Plane:
    """A plane whose least score on the sample is 1: its squared length and its scores."""

    squared: float
    scores: Array

    @classmethod
    def scaled(cls, squared: float, scores: Array) -> Plane | None:
        """The multiple of a plane that has the least score 1, or None where some score is not positive."""
        least = float(scores.min())
        return cls(squared / least**2, scores / least) if least > 0 else None


@dataclass(frozen=True)
class Machine:
    """The modified one-class machine with a family of kernels: nu, the price C of the largest score, and c."""

    family: KernelFamily
    nu: float
    penalty: float
    weight: float

    def metric_gram(self, weights: Array) -> Array:
        r""":math:`(\hat K^{-1} + cH)^{-1}`, whether or not K can be inverted."""
        return woodbury.metric_gram(self.family.gram(weights), 1.0, self.weight)

    def expansion(self, weights: Array, v: Array) -> Array:
        """The coefficients of the plane in the sample, from those in the metric."""
        return woodbury.expansion(self.family.gram(weights), v, 1.0, self.weight)

    def solve(self, weights: Array, start: Sequence[Array] | None = None) -> Inner:
        """The inner optimum by sequential minimal optimisation."""
        n = self.family.n
        # In units of the features' size the multipliers, too, are of the order that the tolerance presumes.
        groups = [Group(upper=1 / (self.nu * n), total=1.0), Group(linear=-1.0), Group(sign=-1.0, total=self.penalty)]
        found = grouped_smo(self.metric_gram(weights), groups, start=start, semidefinite=True)
        gamma = self.expansion(weights, found.combined)
        # By the plane's length: the products of a Gram matrix keep of its square what rounding of the largest entry leaves.
        slopes = np.array([-float(part @ part) / 2 for part in (F.T @ gamma for F in self.family.factors)])
        rest = found.combined - gamma
        # With the sums of the other groups, the sum of the second is that of v: an error of v changes the value then to
        # the second order only where scores are near 1, as multipliers that cancel leave one.
        constant = float(found.combined.sum()) + (self.penalty - 1) if found.multipliers[1].any() else 0.0
        if self.weight > 0:
            constant -= float(rest @ rest) / (2 * self.weight)
        return Inner(constant + float(slopes @ weights), found.multipliers, gamma, constant, slopes, found.iterations)

    @cached_property
    def uniform(self) -> Array:
        """Equal weights."""
        return np.full(len(self.family), 1 / len(self.family))

    @cached_property
    def margin(self) -> float:
        """The distance of the sample's hull from the origin under equal weights, relative to the size of the points.

        It is zero for all weights if it is zero for these: their features hold those of every combination.
        """
        return self._nearest[1]

    @cached_property
    def _nearest(self) -> tuple[Array, float]:
        """Weights of the hull's nearest point to the origin under equal weights, and its distance in units of the points."""
        factor = self.family.training / (self.family.unit * np.sqrt(len(self.family)))
        if factor.shape[1] < self.family.n:
            # Weights of many points in few features are not unique, and pair steps may go on among them without end.
            nearest = min_norm_point(factor)
            return nearest.weights, nearest.distance
        found = smo(factor @ factor.T)
        return found.multipliers, float(np.sqrt(max(2 * found.objective, 0.0)))

    @cached_property
    def _one_sided(self) -> tuple[Array, ...]:
        """Normals that give all points a score above zero beyond rounding, whatever the lengths of rows and columns.

        Neither the lengths of the points nor those of their coordinates change whether there are any, while a distance in units of
        the longest does not see the rest. They are looked for among the points of one length and the most equal scores.
        """
        factor = self.family.training / np.sqrt(len(self.family))
        found = [self._most_equal]
        lengths = np.linalg.norm(self._alike, axis=1)
        if (lengths > 0).all():
            directions = self._alike / lengths[:, None]
            with contextlib.suppress(SolverError):
                found.append(directions.T @ min_norm_point(directions).weights)
        return tuple(w for w in found if (factor @ w > SEPARABLE * (np.abs(factor) @ np.abs(w))).all())

    @cached_property
    def _alike(self) -> Array:
        """The features of all kernels in units in which each kernel's middle length is one."""
        middles = [member.middle for member in self.family.members]
        return np.hstack([factor / middle for factor, middle in zip(self.family.factors, middles, strict=True)])

    @cached_property
    def _most_equal(self) -> Array:
        """The normal whose scores are nearest to 1 under equal weights, found in columns of one size."""
        factor = self.family.training / np.sqrt(len(self.family))
        sizes = np.abs(factor).max(axis=0)
        sizes[sizes == 0] = 1.0
        return np.asarray(np.linalg.lstsq(factor / sizes, np.ones(self.family.n), rcond=RANK)[0] / sizes)

    @cached_property
    def separable(self) -> bool:
        """Whether some plane has all points on the side away from the origin."""
        try:
            return self.margin > SEPARABLE or bool(self._one_sided)
        except SolverError:  # pair steps or rounds without end say nothing of planes that are found otherwise
            if not self._one_sided:
                raise
            return True

    @cached_property
    def planes(self) -> tuple[Plane, ...]:
        """Planes on which the least score is 1 under equal weights, from the shortest to the one of the most equal scores.

        Between them are those of a ridge regression of a constant, whose ridges walk over all sizes. They are found in an
        orthonormal basis of the features' range: where these hold no constant, it has no length, and what a ridge makes
        of rounding would be none.
        """
        if not self.separable:
            return ()
        factor = self.family.training / np.sqrt(len(self.family))
        vectors, sizes = self._range
        constant = vectors.sum(axis=0)
        found = []
        with contextlib.suppress(SolverError):
            if self.margin > SEPARABLE:
                found.append(Plane.scaled(self.margin**2 * self.family.unit**2, factor @ (factor.T @ self._nearest[0])))
        found += [Plane.scaled(float(w @ w), factor @ w) for w in (*self._one_sided, self._most_equal)]
        for ridge in sizes[0] ** 2 * RIDGES:
            part = sizes * constant / (sizes**2 + ridge)
            found.append(Plane.scaled(float(part @ part), vectors @ (sizes * part)))
        return tuple(plane for plane in found if plane is not None)

    def refuse_infeasible(self) -> None:
        """Raise InfeasibleError where no plane has all points on the side away from the origin."""
        if not self.separable:
            raise InfeasibleError(
                "features_or_grams: the origin lies in the hull of the points in the features of every combination, or comes "
                f"within {SEPARABLE:.0e} of their size of it, so no plane gives all of them a score of 1 or more; add a kernel that is "
                "positive, for example a Gaussian one",
                "infeasible",
            )

    def contradiction(self) -> SolverError:
        """What a claim of infeasibility is once planes are known."""
        return SolverError(
            "features_or_grams: planes that give all points a score of 1 or more are known, and the solver did not find one, "
            f"since scores of one plane differ by a factor of {min(float(plane.scores.max()) for plane in self.planes):.1e}; "
            "centre and scale the columns",
            "infeasible",
        )

    @cached_property
    def constant_expansion(self) -> Array | None:
        """The coefficients whose scores are all 1 under equal weights, or None if there are none."""
        vectors, sizes = self._range
        constant = vectors.sum(axis=0)
        return vectors @ (constant / sizes**2) if np.abs(vectors @ constant - 1).max() <= 1e-9 else None

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        """An orthonormal basis of the range of the features under equal weights, and the singular values that belong to it."""
        vectors, sizes, _ = np.linalg.svd(self.family.training / np.sqrt(len(self.family)), full_matrices=False)
        held = sizes > RANK * sizes[0]
        return vectors[:, held], sizes[held]


def line_search_weight(machine: Machine) -> tuple[Array, Inner, int]:
    """The two weights at the minimum of J, the inner optimum there, and the number of inner problems solved.

    The derivative of J rises, so its root is bracketed: a minimum at an end is an end where it points outwards. Where
    one kernel alone has no plane with all points on one side, J rises without end towards it.
    """
    seen: dict[float, Inner] = {}

    def solved(first: float) -> Inner:
        if first not in seen:
            near = min(seen, key=lambda known: abs(known - first), default=None)
            seen[first] = machine.solve(np.array([first, 1 - first]), None if near is None else seen[near].multipliers)
        return seen[first]

    def slope(first: float) -> float:
        inner = solved(first)
        return float(inner.slopes[0] - inner.slopes[1])

    end = 0.0 if slope(0.5) > 0 else 1.0
    first = end
    for shrink in [0.0, *(4.0**-k for k in range(1, 20))]:
        trial = end + shrink * (0.5 - end)
        try:
            inwards = slope(trial) * (0.5 - end) < 0
        except (UnboundedError, SolverError):
            continue  # at the end itself, or too near to it
        if inwards:
            first = float(scipy.optimize.brentq(slope, trial, 0.5, xtol=1e-14, rtol=1e-14))
        else:
            first = trial
        break
    return np.array([first, 1 - first]), solved(first), len(seen)


def cutting_plane_weights(machine: Machine) -> tuple[Array, Inner, int]:
    """Weights at the minimum of J, the inner optimum there, and the number of linear programs solved.

    The bounds of the cutting planes know J, and hence the weights to the root of their gap only; equating the
    derivatives of the kernels that have weight makes up for it.

    Raises SolverError with the bounds if the gap did not close.
    """
    best_weights = machine.uniform
    best = machine.solve(best_weights)
    if len(machine.family) == 1:
        return best_weights, best, 0
    constants, slopes = [best.constant], [best.slopes]
    for rounds in range(1, ROUNDS + 1):
        lower, weights = _master(np.array(constants), np.array(slopes))
        if best.value - lower <= GAP * max(abs(best.value), abs(lower)):
            return *_equated(machine, best_weights, best), rounds
        weights, inner = _solved_towards(machine, weights, best_weights, best)
        constants.append(inner.constant)
        slopes.append(inner.slopes)
        if inner.value < best.value:
            best, best_weights = inner, weights
    raise SolverError(f"weights: the bounds are {lower:.10g} and {best.value:.10g} after {ROUNDS} rounds", "user_limit")


def _solved_towards(machine: Machine, weights: Array, known: Array, inner: Inner) -> tuple[Array, Inner]:
    """The inner optimum at the weights, or, where J is infinite there, as near to them as it is found to be finite."""
    for _ in range(20):
        try:
            return weights, machine.solve(weights, inner.multipliers)
        except (UnboundedError, SolverError):
            weights = (weights + known) / 2
    return known, inner


def _equated(machine: Machine, weights: Array, inner: Inner) -> tuple[Array, Inner]:
    """The weights at which the derivatives of all kernels with weight are equal, if they are nearer to the optimum."""
    held = np.flatnonzero(weights > 1e-6)
    if held.size == 1:
        return weights, inner
    start = inner.multipliers

    def spread(part: Array) -> Array:
        # The last weight is what the others leave; a trial step outside the simplex is judged at its edge.
        full = np.zeros(weights.size)
        full[held] = np.maximum(np.append(part, 1 - part.sum()), 0.0)
        return np.asarray(full / full.sum())

    def difference(part: Array) -> Array:
        found = machine.solve(spread(part), start).slopes[held]
        return np.asarray((found[:-1] - found[-1]) / np.abs(found).max())

    part = scipy.optimize.root(difference, weights[held][:-1], options={"maxfev": 40 * held.size}).x
    refined = spread(part)
    again = machine.solve(refined, start)
    return (refined, again) if again.gap(refined) < inner.gap(weights) else (weights, inner)


def _master(constants: Array, slopes: Array) -> tuple[float, Array]:
    """The least theta above all planes, over the simplex, and the weights there."""
    m = slopes.shape[1]
    level, size = float(constants.max()), max(float(np.abs(slopes).max()), 1e-300)
    found = scipy.optimize.linprog(
        np.append(np.zeros(m), 1.0),
        A_ub=np.hstack([slopes / size, -np.ones((len(slopes), 1))]),
        b_ub=(level - constants) / size,
        A_eq=np.append(np.ones(m), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * m + [(None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise SolverError(
            f"weights: the linear program of the cutting planes failed ({found.message})", str(found.status)
        )
    weights = np.maximum(found.x[:m], 0.0)
    weights /= weights.sum()
    # The bound is evaluated anew: it may not be better than what the planes say at the weights.
    return float((constants + slopes @ weights).max()), weights
