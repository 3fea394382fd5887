r"""Counterparts and worst members from membership alone, and the functions that every method calls.

For a compact convex set :math:`U` of moments with support function :math:`\sigma_U`,

.. math::

    \sup_{(m,S)\in U} m'a + \kappa\sqrt{a'Sa}
    = \min_{M, s} \sigma_U\!\left(a, \tfrac\kappa2 M\right) + \tfrac\kappa2 s
    \quad\text{s.t.}\quad \begin{pmatrix} M & a\\ a' & s\end{pmatrix} \succeq 0,

because :math:`\sqrt{a'Sa} = \min_{\tau>0} \tfrac12(a'Sa/\tau + \tau)`, supremum and minimum may be exchanged (the
function is concave in the moments and convex in :math:`\tau`), and :math:`M \succeq aa'/s` with :math:`s = \tau` is
what the matrix inequality says; the bound by a larger :math:`M` is monotone since members satisfy :math:`S \succeq 0`.
The support function is written by conic duality, see :mod:`convexnovelty.membership`. The worst member is found by
maximising over the membership directly, so that the two are independent bounds from either side.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.cones import smat, svec, svec_map
from convexnovelty.errors import InputError, SolverError
from convexnovelty.membership import Counterpart, Membership, as_counterpart, compiled, convex
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.product import Product, as_moment_set
from convexnovelty.validation import nonnegative, vector

__all__ = [
    "Adversary",
    "Worst",
    "adversary",
    "derived_deviation",
    "derived_loss",
    "derived_support",
    "evaluate_deviation",
    "evaluate_loss",
    "evaluate_support",
    "membership_of",
    "support",
    "worst_deviation",
    "worst_loss",
    "worst_member",
]

Route = Literal["best", "closed", "derived"] | None


# -- a set as arrays -------------------------------------------------------------------------------------------------


def _description(uncertainty: UncertaintySet, dimension: int) -> tuple[Any, int]:
    """Membership as a function of one vector: a point, a mean, a covariance's svec, or mean and svec in a row."""
    triangle = dimension * (dimension + 1) // 2

    def matrix(v: Any) -> Any:
        # The covariance is symmetric because it is made so: a constraint S >> 0 alone would leave its skew part free.
        return cp.reshape(svec_map(dimension) @ v, (dimension, dimension), order="F")

    if isinstance(uncertainty, CovarianceSet):

        def of_covariance(v: Any) -> list[Any]:
            S = matrix(v)
            return [*_listed(uncertainty.membership(S)), S >> 0]

        return of_covariance, triangle
    if isinstance(uncertainty, MomentSet):

        def of_moments(v: Any) -> list[Any]:
            S = matrix(v[dimension:])
            return [*_listed(uncertainty.membership(v[:dimension], S)), S >> 0]

        return of_moments, dimension + triangle
    if isinstance(uncertainty, MeanSet) and uncertainty.uses_covariance:
        raise InputError(f"{uncertainty!r}: a mean set that depends on the covariance is derived within a product")
    if isinstance(uncertainty, (MeanSet, PointSet)):
        return lambda v: _listed(uncertainty.membership(v)), dimension
    raise InputError(
        f"uncertainty: {uncertainty!r} is of no known family; use MeanSet, CovarianceSet, MomentSet, PointSet"
    )


def membership_of(uncertainty: UncertaintySet) -> Membership:
    """The centred set as arrays, proved non-empty and bounded; in a tunable set its numbers become a parameter."""
    describe, size = _description(uncertainty, uncertainty.dimension)  # type: ignore[attr-defined]
    made = Membership(describe, size, repr(uncertainty))
    if uncertainty._tuner is not None:
        for name, value in uncertainty.numbers().items():
            _let_vary(uncertainty, made, name, value, size)
    return made


def _let_vary(uncertainty: UncertaintySet, made: Membership, name: str, value: float, size: int) -> None:
    """Make the right-hand sides that depend on one number of the set a parameter that follows it."""
    try:
        # Two other values, at incommensurable steps, show where the number enters.
        others = [uncertainty.replaced(**{name: value * f + s}) for f, s in ((1.618, 0.0), (0.577, 1e-3))]
        programs = [compiled(_description(o, o.dimension)[0], size, repr(o))[0] for o in others]
    except InputError:
        uncertainty.fix(name)
        return
    if not made.vary(programs):
        uncertainty.fix(name)
        return
    uncertainty.watch(name, lambda changed: made.move(_description(changed, changed.dimension)[0]))  # type: ignore[attr-defined]


def _listed(constraints: Any) -> list[Any]:
    return list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]


def _expression(a: Any, name: str = "a") -> Any:
    """``a`` as a CVXPY expression of shape (p,)."""
    made = a if isinstance(a, cp.Expression) else cp.Constant(vector(a, name))
    if made.ndim == 1:
        return made
    if made.size == max(made.shape, default=0):
        return cp.reshape(made, (made.size,), order="F")
    raise InputError(f"{name}: shape {made.shape} was found; give a vector")


# -- counterparts by conic duality -----------------------------------------------------------------------------------


def derived_support(uncertainty: MeanSet | PointSet, w: Any) -> Counterpart:
    r""":math:`\sup w'u` over points, or means, from the membership."""
    return membership_of(uncertainty).support(_expression(w, "w"))


def _lift(a: Any) -> tuple[Any, Any, Any]:
    r"""The variables of :math:`\begin{pmatrix} M & a\\ a' & s\end{pmatrix}\succeq 0` and the constraint."""
    p = a.size
    whole = cp.Variable((p + 1, p + 1), PSD=True)
    return whole[:p, :p], whole[p, p], whole[:p, p] == a


def _svec(M: Any, p: int) -> Any:
    return svec_map(p).T @ cp.vec(M, order="F")


def _deviation_unit(membership: Membership, p: int) -> float:
    """The size of a standard deviation in the set, which the lift is scaled by."""
    triangle = p * (p + 1) // 2
    centre, widths = membership.centre[-triangle:], membership.widths[-triangle:]
    return float(np.sqrt(max(np.max(np.abs(centre)), np.max(widths)))) or 1.0


def derived_deviation(uncertainty: CovarianceSet | MomentSet, a: Any) -> Counterpart:
    r""":math:`\sup\sqrt{a'Sa} = \min t` with :math:`\sigma(0, M) \le t` and :math:`(M, a; a', t) \succeq 0`."""
    a = _expression(a)
    membership = membership_of(uncertainty)
    unit = _deviation_unit(membership, a.size)
    # With t = unit * level and M = lifted / unit every quantity of the lift is of the size of a.
    lifted, level, tie = _lift(a)
    w = _svec(lifted, a.size)
    if isinstance(uncertainty, MomentSet):
        w = cp.hstack([np.zeros(a.size), w])
    bound = membership.support(w, unit**2)
    return Counterpart(unit * convex(level), [tie, bound.value <= level, *bound.constraints])


def derived_loss(uncertainty: MomentSet, a: Any, kappa: Any) -> Counterpart:
    r""":math:`\sup m'a + \kappa\sqrt{a'Sa}` from the membership, by the lift at the head of this module."""
    a = _expression(a)
    membership = membership_of(uncertainty)
    unit = _deviation_unit(membership, a.size)
    lifted, level, tie = _lift(a)
    bound = membership.support(cp.hstack([a, (0.5 / unit * kappa) * _svec(lifted, a.size)]), unit)
    return Counterpart(unit * (bound.value + (0.5 * kappa) * convex(level)), [tie, *bound.constraints])


# -- what the methods call -------------------------------------------------------------------------------------------


def worst_loss(uncertainty: UncertaintySet | None, a: Any, kappa: Any, route: Route = "best") -> Counterpart:
    r"""The counterpart of :math:`\sup_{(m,S)\in U} m'a + \kappa\sqrt{a'Sa}`.

    Parameters
    ----------
    uncertainty : a centred set of moments.
    a : any affine CVXPY expression, or an array, of shape (p,).
    kappa : a nonnegative number or CVXPY parameter.
    route : "best" (or None) takes the class's closed form if it has one; "derived" uses the membership alone;
        "closed" refuses to derive.
    """
    pair, a, kappa = as_moment_set(uncertainty), _expression(a), _factor(kappa)
    if route == "derived":
        if isinstance(pair, Product) and not pair.means.uses_covariance:
            # Mean and covariance do not know of each other: two small programs instead of one in the product.
            shift, spread = derived_support(pair.means, a), derived_deviation(pair.covariances, a)
            return Counterpart(shift.value + kappa * spread.value, [*shift.constraints, *spread.constraints])
        return derived_loss(pair, a, kappa)
    return _closed_or(pair, pair.worst_loss(a, kappa), route, lambda: derived_loss(pair, a, kappa))


def worst_deviation(uncertainty: UncertaintySet | None, a: Any, route: Route = "best") -> Counterpart:
    r"""The counterpart of :math:`\sup_{S} \sqrt{a'Sa}` over a set of covariances, or those of a joint set."""
    given = as_moment_set(uncertainty) if not isinstance(uncertainty, CovarianceSet) else uncertainty
    a = _expression(a)
    if route == "derived":
        if isinstance(given, Product) and not given.means.uses_covariance:
            given = given.covariances
        return derived_deviation(given, a)
    return _closed_or(given, given.worst_deviation(a), route, lambda: derived_deviation(given, a))


def support(uncertainty: MeanSet | PointSet, w: Any, route: Route = "best") -> Counterpart:
    r"""The counterpart of :math:`\sup_{u\in U} w'u` over a set of points, or of means that stand alone."""
    w = _expression(w, "w")
    if isinstance(uncertainty, PointSet) and uncertainty._center is None:
        uncertainty = uncertainty.centred(np.zeros(w.size))
    if route == "derived":
        return derived_support(uncertainty, w)
    return _closed_or(uncertainty, uncertainty.support(w), route, lambda: derived_support(uncertainty, w))


def _closed_or(uncertainty: UncertaintySet, closed: Any, route: Route, derive: Any) -> Counterpart:
    if closed is not None:
        return as_counterpart(closed)
    if route == "closed":
        raise InputError(f"{uncertainty!r}: the class gives no closed form; use route='derived'")
    made: Counterpart = derive()
    return made


def _factor(kappa: Any) -> Any:
    """Kappa as it may stand before a convex expression: a nonnegative number, or a parameter that is declared so."""
    if isinstance(kappa, cp.Expression):
        if not kappa.is_nonneg():
            raise InputError(f"kappa: {kappa} may be negative; declare the parameter with nonneg=True")
        return kappa
    return nonnegative(kappa, "kappa")


# -- numbers ---------------------------------------------------------------------------------------------------------


def evaluate(counterpart: Counterpart, unit: float = 1.0) -> float:
    """The value of a counterpart whose only variables are its own: with inner variables it has no value until it is
    minimised. ``unit`` is its expected size, since solvers know absolute tolerances."""
    if not counterpart.constraints and not counterpart.value.variables():
        return float(np.asarray(counterpart.value.value))
    problem = cp.Problem(cp.Minimize(counterpart.value / unit), counterpart.constraints)
    for options in solvers.profile().ladder:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # an inaccurate rung is followed by the next one
                problem.solve(solver=solvers.DEFAULT_SOLVER, warm_start=False, **options)
        except cp.SolverError:
            continue
        if problem.status == cp.OPTIMAL:
            return unit * float(np.asarray(problem.value))
    raise SolverError(f"counterpart: it could not be minimised (status {problem.status})", str(problem.status))


def _size(uncertainty: Any) -> float:
    """The size of a set's members, as far as its centre shows it."""
    if isinstance(uncertainty, PointSet):
        return float(np.max(np.abs(uncertainty.center), initial=0.0)) or 1.0
    return max(float(np.max(np.abs(uncertainty.mean), initial=0.0)), float(uncertainty.unit)) or 1.0


def evaluate_loss(uncertainty: UncertaintySet | None, a: Any, kappa: float, route: Route = "best") -> float:
    """The number that :func:`worst_loss` stands for at a fixed ``a``."""
    a = vector(a, "a")
    size = float(np.linalg.norm(a)) or 1.0
    return size * evaluate(worst_loss(uncertainty, a / size, kappa, route), _size(uncertainty))


def evaluate_deviation(uncertainty: UncertaintySet | None, a: Any, route: Route = "best") -> float:
    """The number that :func:`worst_deviation` stands for at a fixed ``a``."""
    a = vector(a, "a")
    size = float(np.linalg.norm(a)) or 1.0
    return size * evaluate(worst_deviation(uncertainty, a / size, route), float(getattr(uncertainty, "unit", 1.0)))


def evaluate_support(uncertainty: MeanSet | PointSet, w: Any, route: Route = "best") -> float:
    """The number that :func:`support` stands for at a fixed ``w``."""
    w = vector(w, "w")
    size = float(np.linalg.norm(w)) or 1.0
    if isinstance(uncertainty, PointSet) and uncertainty._center is None:
        uncertainty = uncertainty.centred(np.zeros(w.size))
    return size * evaluate(support(uncertainty, w / size, route), _size(uncertainty))


# -- the adversary ---------------------------------------------------------------------------------------------------


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
        self.uncertainty = uncertainty
        # Mean and covariance that do not know of each other are attacked one by one.
        self._split = isinstance(uncertainty, Product) and not uncertainty.means.uses_covariance
        if isinstance(uncertainty, Product) and self._split:
            self._means, self._spread = Adversary(uncertainty.means), Adversary(uncertainty.covariances)
        else:
            self._membership = membership_of(uncertainty._copy(_tuner=None))

    def __call__(self, a: Any, kappa: float | None = None) -> Worst:
        """The worst case for the direction ``a``; for joint sets of moments also at ``kappa``."""
        a = vector(a, "a")
        size = float(np.abs(a).max()) or 1.0
        d, p = a / size, a.size
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
        a = vector(a, "a")
        if self._split:
            spread = self._spread(a)
            return Worst(spread.value, (self._means(a).member, spread.member))
        p, d = a.size, a / (float(np.abs(a).max()) or 1.0)
        _, v = self._membership.maximise(np.concatenate([np.zeros(p), svec(np.outer(d, d))]))
        m, S = v[:p], smat(v[p:], p)
        return Worst(float(np.sqrt(max(float(a @ S @ a), 0.0))), (m, S))


def adversary(uncertainty: UncertaintySet, a: Any, kappa: float | None = None) -> Worst:
    """The worst case of a centred set by :class:`Adversary`, for one direction."""
    return Adversary(uncertainty)(a, kappa)


def worst_member(uncertainty: UncertaintySet, a: Any, kappa: float | None = None) -> Any:
    """A member that attains the worst case: the class's own if it names one, else the adversary's."""
    a = vector(a, "a")
    if isinstance(uncertainty, MomentSet):
        named: Any = uncertainty.worst_member(a, nonnegative(1.0 if kappa is None else kappa, "kappa"))
    elif isinstance(uncertainty, MeanSet):
        named = uncertainty.worst_member(a, uncertainty.covariance)
    else:
        named = uncertainty.worst_member(a)  # type: ignore[attr-defined]
    return adversary(uncertainty, a, kappa).member if named is None else named
