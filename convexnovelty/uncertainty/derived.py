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

import contextlib
import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.cones import svec, svec_map, triangle
from convexnovelty.conic import ConicProgram
from convexnovelty.direct import attempts
from convexnovelty.errors import ConvexNoveltyError, InputError, RecompilationError, SolverError
from convexnovelty.least_value import rough_value
from convexnovelty.membership import Counterpart, Membership, convex
from convexnovelty.places import DONE
from convexnovelty.set_arrays import LONGER, Arrays, reaches_from
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.face import UNSEEN, Face
from convexnovelty.uncertainty.left_points import LeftPoints, left_points
from convexnovelty.uncertainty.tools import as_expression, listed, unasked
from convexnovelty.validation import Array

__all__ = ["derived_deviation", "derived_loss", "derived_support", "membership_of", "stated"]

ENROLS_NOTHING = "what is derived from every set's membership"

BROKEN = 1e-7  # share of what a constraint is broken by a little way off the centre up to which it holds there
POINT = 1e-3  # size, as a share of the centre's, that a solver may leave of a set that is a point
ROOT = 0.3  # what it may leave of high powers, the twelfth root of 1e-6: there values of constraints decide
NEAR = 0.5  # distance, beside the set's size, up to which a centre may be a member: rounding moves a thin one by much
TINY = 1e-2  # share of its unit below which what a joint set adds to its centre is measured in a unit of its own
SHOWN = 1e-6  # share of a variance that no solver takes for none
FAR_FROM_ONE = 2.0**10  # how far off from one a set of points must reach for it to be measured in a unit of its own
OF_AN_ORDER = 5.0  # power of two up to which lengths differ by nothing
ALIKE = 2.0  # the same of deviations where what is compiled is of the size of their squares, and of these
REGULAR = 1e-3  # least eigenvalue of the correlations round which directions have no coordinates of their own
NO_SIZE = 1e-7  # size up to which nothing is left that a worst case would show


def _description(uncertainty: UncertaintySet, dimension: int) -> tuple[Any, int]:
    """Membership as a function of one vector: a point, a mean, a covariance's svec, or mean and svec in a row."""
    triangle = dimension * (dimension + 1) // 2

    def matrix(v: Any) -> Any:
        # The covariance is symmetric because it is made so: a constraint S >> 0 alone would leave its skew part free.
        made = cp.reshape(svec_map(dimension) @ v, (dimension, dimension), order="F")
        return cp.atoms.affine.wraps.symmetric_wrap(made)

    if isinstance(uncertainty, CovarianceSet):

        def of_covariance(v: Any) -> list[Any]:
            S = matrix(v)
            return [*_said(uncertainty, S), S >> 0]

        return of_covariance, triangle
    if isinstance(uncertainty, MomentSet):

        def of_moments(v: Any) -> list[Any]:
            S = matrix(v[dimension:])
            return [*_said(uncertainty, v[:dimension], S), S >> 0]

        return of_moments, dimension + triangle
    if isinstance(uncertainty, MeanSet) and uncertainty.uses_covariance:
        raise InputError(f"{uncertainty!r}: a mean set that depends on the covariance is derived within a product")
    if isinstance(uncertainty, (MeanSet, PointSet)):
        return lambda v: _said(uncertainty, v), dimension
    raise InputError(
        f"uncertainty: {uncertainty!r} is of no known family; use MeanSet, CovarianceSet, MomentSet, PointSet"
    )


def membership_of(uncertainty: UncertaintySet) -> Membership:
    """The centred set as arrays, proved non-empty and bounded; in a tunable set its numbers become a parameter."""
    # An objective and a constraint on one set share what was proved of it, and in a tunable set the parameter too.
    made: Membership = uncertainty.kept("membership", lambda: _made(uncertainty))
    return made


def _made(uncertainty: UncertaintySet) -> Membership:
    arrays = _arrays(uncertainty)
    order = uncertainty.dimension if isinstance(uncertainty, (CovarianceSet, MomentSet)) else 0
    if _is_centre(uncertainty, arrays):
        for name in uncertainty.numbers():
            uncertainty.fix(name)
        center = _flat_center(uncertainty)
        arrays = Arrays.compiled(
            lambda v: [v == center], arrays.columns.size, repr(uncertainty), arrays.units, arrays.at
        )
        return Membership(arrays, repr(uncertainty), order=order)
    center, thinnest, inward = _flat_center(uncertainty), _thinnest(uncertainty), _inward(uncertainty)
    if _left(uncertainty):
        for name in uncertainty.numbers():
            uncertainty.fix(name)
    if uncertainty._tuner is None:
        return Membership(arrays, repr(uncertainty), (), center, thinnest, inward, order)
    names: list[str] = []
    others: list[Arrays] = []
    for name in uncertainty.numbers():
        try:
            with unasked():
                elsewhere = [_arrays(other, arrays.units) for other in _elsewhere(uncertainty, name)]
        except Exception:  # a number of a user's class which has no such values: a column, say
            elsewhere = []
        if elsewhere and all(arrays.moves_to(other) for other in elsewhere):
            names.append(name)
            others += elsewhere
        else:
            uncertainty.fix(name)
    made = Membership(arrays, repr(uncertainty), others, center, thinnest, inward, order)
    for name in names:
        uncertainty.watch(name, lambda changed: _follow(made, changed))
    return made


def _follow(made: Membership, changed: UncertaintySet) -> None:
    """Move a compiled membership to other numbers, unless it has to become a point, which arrays may not say exactly."""
    arrays = _arrays(changed)
    if _is_nominal(changed) and _is_point(changed, arrays, NO_SIZE):
        raise RecompilationError(f"{changed!r}: at these numbers the set is a point; make the problem anew")
    if _left(changed):
        raise RecompilationError(f"{changed!r}: at these numbers a part of the set is a point; make the problem anew")
    made.move(arrays, repr(changed))


def _arrays(uncertainty: UncertaintySet, units: Array | None = None) -> Arrays:
    """The set as compiled, in its own units or in those of one that differs by a number, a step away."""

    def make() -> Arrays:
        describe, size = _description(uncertainty, uncertainty.dimension)  # type: ignore[attr-defined]
        own = _units(uncertainty, describe) if units is None else units
        middle = _flat_center(uncertainty)
        return Arrays.compiled(describe, size, repr(uncertainty), own, _start(uncertainty), middle)

    arrays: Arrays = uncertainty.kept("arrays", make)
    return arrays


def _is_centre(uncertainty: UncertaintySet, arrays: Arrays) -> bool:
    """Whether a radius of zero leaves the centre alone, as far as a solver can tell of what the class says.

    Where the membership says so by a power of a norm, no interior-point method is exact: it keeps a root of its
    tolerance, of which the worst case would make per cents.
    """
    return _is_nominal(uncertainty) and bool(
        uncertainty.kept("is centre", lambda: _holds_centre(uncertainty) and _is_point(uncertainty, arrays))
    )


def _holds_centre(uncertainty: UncertaintySet) -> bool:
    """Whether the centre is a member, by the values of constraints on members alone; yes where further variables have a say.

    A radius of zero may leave a point that is not the centre. Whether a constraint is broken there by more than rounding is
    told beside what it is broken by a little way off.
    """
    broken, off = _broken(uncertainty)
    return bool((broken(_flat_center(uncertainty)) <= BROKEN * off).all())


def _is_point(uncertainty: UncertaintySet, arrays: Arrays, least: float = 0.0) -> bool:
    """Whether a solver leaves next to nothing beside the centre, or a root of its tolerance which values of constraints deny."""
    if _left(uncertainty).several:
        return False
    ends, left = _ends_left(uncertainty, arrays)
    if not least <= left <= ROOT:
        return False
    if left <= POINT:
        return True
    broken, off = _broken(uncertainty)
    center = _flat_center(uncertainty)
    return all(bool((broken((end + center) / 2) > BROKEN * off).any()) for end in ends)


def _broken(uncertainty: UncertaintySet) -> tuple[Callable[[Array], Array], Array]:
    """By how much a vector breaks each of the constraints on members alone, and how much those a little way off the centre do."""
    describe, size = _description(uncertainty, uncertainty.dimension)  # type: ignore[attr-defined]
    center = _flat_center(uncertainty)
    v = cp.Variable(size, value=center)
    constraints = [one for one in describe(v) if [x.id for x in one.variables()] == [v.id]]
    away = POINT * (float(np.linalg.norm(center)) or 1.0) * np.random.default_rng(21).standard_normal((2, size))

    def broken(at: Array) -> Array:
        v.value = at
        return np.array([float(np.max(one.violation(), initial=0.0)) for one in constraints])

    return broken, np.max([broken(center + step) for step in away], axis=0)


def stated(part: Any, member: list[Any]) -> list[Any]:
    """Constraints that make a list of blocks a member of a centred set; a radius of zero is stated by equations.

    Two such balls, or one within another, leave solvers a set without an inside that neither of them shows.
    """
    if _is_nominal(part) and not getattr(part, "uses_covariance", False) and _is_centre(part, _arrays(part)):
        center = part.center if isinstance(part.center, tuple) else (part.center,)
        return [block == at for block, at in zip(member, center, strict=True)]
    with _at_centre(part, member):
        return _said(part, *member)


def _said(uncertainty: Any, *member: Any) -> list[Any]:
    """The membership of a list of blocks, where a size of zero leaves one point of a part of it by equations."""
    return _left(uncertainty).applied(listed(uncertainty.membership(*member)), list(member))


def _left(uncertainty: Any) -> LeftPoints:
    if not _is_nominal(uncertainty):
        return LeftPoints()

    def find() -> LeftPoints:
        center = uncertainty.center
        blocks = [np.asarray(block) for block in (center if isinstance(center, tuple) else (center,))]
        if getattr(uncertainty, "uses_covariance", False):
            blocks.append(np.asarray(uncertainty.covariance))
        return left_points(lambda member: listed(uncertainty.membership(*member)), blocks, [*map(sizes, blocks)])

    def sizes(block: Array) -> Array:
        """Deviations of the centre for means, their products for covariances; of points the largest entry is all that is known."""
        if isinstance(uncertainty, PointSet):
            return np.full(block.shape, float(np.max(np.abs(block), initial=0.0)) or 1.0)
        deviations = np.linalg.norm(np.asarray(uncertainty.factor), axis=0)
        known = np.where(deviations > 0, deviations, float(uncertainty.unit))
        return known if block.ndim == 1 else np.outer(known, known)

    found: LeftPoints = uncertainty.kept("left points", find)
    return found


@contextlib.contextmanager
def _at_centre(part: Any, member: list[Any]) -> Iterator[None]:
    """Give the variables of a member values at which it is the centre, for as long as constraints are made that look at sizes."""
    center, unknown = part.center if isinstance(part.center, tuple) else (part.center,), []
    for block, at in zip(member, center, strict=False):
        for variable in block.variables() if isinstance(block, cp.Expression) else []:
            if variable.value is None:
                unknown.append(variable)
                variable.save_value(at if variable is block else np.zeros(variable.shape))
    try:
        yield
    finally:
        for variable in unknown:
            variable.save_value(None)


def _is_nominal(uncertainty: UncertaintySet) -> bool:
    size = vars(uncertainty).get(uncertainty.grows_by)  # a CVXPY variable where the least size is asked for
    return isinstance(size, numbers.Real) and size == 0.0 and uncertainty.nominal_at_zero


def _ends_left(uncertainty: UncertaintySet, arrays: Arrays) -> tuple[list[Array], float]:
    """Where a solver gets that looks along a random line, and how far from the centre that is, as a share of its size.

    Infinity where it fails.
    """
    program, scale = arrays.program.equilibrated()
    units = arrays.units * scale.columns[arrays.columns]
    center = (_flat_center(uncertainty) - arrays.at) / units
    direction = np.random.default_rng(20).standard_normal(center.size)
    direction /= np.linalg.norm(direction) * max(1.0, float(np.linalg.norm(center)))
    ends, left = [], 0.0
    for sign in (1.0, -1.0):
        cost = np.zeros(program.c.size)
        cost[arrays.columns] = sign * direction
        tried = attempts(replace(program, c=cost), (1e-8, 1e-6))
        found = next((answer for answer in tried if answer.status in DONE), None)
        if found is None:
            return [], float("inf")
        reached = found.x[arrays.columns]
        ends.append(arrays.at + units * reached)
        left = max(left, float(np.linalg.norm(reached - center)) / max(1.0, float(np.linalg.norm(center))))
    return ends, left


def _flat_center(uncertainty: Any) -> Array:
    """The centre as the vector that :func:`_description` speaks of."""
    if isinstance(uncertainty, CovarianceSet):
        return svec(np.asarray(uncertainty.center))
    if isinstance(uncertainty, MomentSet):
        return np.concatenate([uncertainty.center_mean, svec(np.asarray(uncertainty.center_covariance))])
    return np.asarray(uncertainty.center, dtype=float)


def _thinnest(uncertainty: Any) -> float:
    """The least eigenvalue of the correlations at the centre; zero where the factor says that they are singular."""
    if not isinstance(uncertainty, (CovarianceSet, MomentSet)):
        return 0.0
    factor = np.asarray(uncertainty.factor)
    if factor.shape[0] < factor.shape[1]:
        return 0.0
    return float(np.linalg.svd(factor / np.linalg.norm(factor, axis=0), compute_uv=False)[-1]) ** 2


def _inward(uncertainty: Any) -> list[Array]:
    """Steps from a centre into the cone: multiples of the identity, and of the variances, of the centre's size."""
    if not isinstance(uncertainty, (CovarianceSet, MomentSet)):
        return []
    pairs = isinstance(uncertainty, MomentSet)
    center = np.asarray(uncertainty.center_covariance if isinstance(uncertainty, MomentSet) else uncertainty.center)
    size, means = float(np.linalg.norm(center)) or 1.0, np.zeros(len(center) * pairs)
    alike = [size * np.eye(len(center)), np.diag(np.diagonal(center))]
    return [np.concatenate([means, svec(step)]) for step in alike]


def _units(uncertainty: Any, describe: Callable[[Any], Any]) -> Array:
    """A size for each entry of that vector, by what the centre is like: squares of lengths for covariances.

    How far a set of points or means reaches is asked of its constraints: steps from a far centre have nothing to do with its
    distance from the origin, and the origin says nothing of them. Axes along which it reaches much farther, as those of raw columns,
    have units of their own.

    Powers of two, so that the arrays have the same digits in all units; ones for what is no more than 32 times off, of sets
    round the origin a thousand times, so that most sets have ones.
    """
    if isinstance(uncertainty, (CovarianceSet, MomentSet)):
        pairs = isinstance(uncertainty, MomentSet)
        center = uncertainty.center_covariance if isinstance(uncertainty, MomentSet) else uncertainty.center
        variances = np.diagonal(np.asarray(center))
        largest = math.sqrt(max(float(variances.max()), 0.0))
        # Beside the largest, so that columns which are nearly alike are never on two steps.
        shares = [math.sqrt(float(v)) / largest if v > 0 else 1.0 for v in variances]
        order = ALIKE if _thinnest(uncertainty) > REGULAR else OF_AN_ORDER
        lengths = _step(largest) * np.array([_step(share, order) for share in shares])
        rows, columns = triangle(lengths.size)
        return np.concatenate([lengths[: lengths.size * pairs], lengths[rows] * lengths[columns]])
    center = _flat_center(uncertainty)
    unit, reaches = _step(float(np.abs(center).max())), reaches_from(describe, center)
    if reaches is None and unit != 1.0:
        reaches = _reaches_by_solving(describe, center, repr(uncertainty))
    if reaches is None:
        return np.full(center.size, unit)
    reach, shares = float(reaches.min()), 2.0 ** np.round(np.log2(reaches / reaches.min()))
    if unit != 1.0 or not 1 / FAR_FROM_ONE <= reach <= FAR_FROM_ONE:
        unit = 2.0 ** (10 * round(math.log2(reach) / 10))
    return np.asarray(unit * shares)


def _reaches_by_solving(describe: Callable[[Any], Any], center: Array, name: str) -> Array | None:
    """How far a set reaches from its centre along each axis where further variables say what a member is; None where nobody can say.

    By the program of a step's length, in which nothing has to be known of any unit.
    """
    try:
        arrays = Arrays.compiled(describe, center.size, name, at=center)
    except ConvexNoveltyError:  # the membership itself, of which more is said when it counts
        return None
    program, inner = arrays.program, np.setdiff1d(np.arange(arrays.program.c.size), arrays.columns)
    if not inner.size:
        return None
    steps, others = program.A[:, arrays.columns], program.A[:, inner]
    cost = np.append(-1.0, np.zeros(inner.size))

    def reach(step: Array) -> float:
        along = sp.csr_array(sp.hstack([sp.csr_array(steps @ step[:, None]), others]))
        found = rough_value(ConicProgram(cost, along, program.b, program.cones))
        return 0.0 if found is None else max(-found, 0.0)

    told = np.array([reach(axis) or reach(-axis) for axis in np.eye(center.size)])
    if not told.any():
        return None
    least = float(told[told > 0].min())
    return np.asarray(np.where(told > least * LONGER, told, least))


def _start(uncertainty: Any) -> Array:
    """Where the entries of that vector are counted from: the centre, of covariances the origin, whose cone begins there."""
    center = _flat_center(uncertainty)
    if isinstance(uncertainty, (CovarianceSet, MomentSet)):
        means = center.size - triangle(uncertainty.dimension)[0].size
        return np.where(np.arange(center.size) < means, center, 0.0)
    return center


def _step(length: float, order: float = OF_AN_ORDER) -> float:
    """The nearest power of two, and one for what is of that ``order`` or nothing."""
    return 1.0 if length <= 0 or abs(math.log2(length)) <= order else 2.0 ** round(math.log2(length))


def _elsewhere(uncertainty: UncertaintySet, name: str) -> list[Any]:
    """The set at two other values of a number, at steps that no formula is likely to have in mind.

    In the number's own unit: beside a radius of 1e-14 another one of 1e-3 is a set that no solver knows.
    """
    value = uncertainty._number(name)
    if not math.isfinite(value):  # an exponent, at which a norm is no neighbour of the next ones
        return []
    found: list[Any] = uncertainty.kept(
        f"elsewhere {name}", lambda: [uncertainty.replaced(**{name: other}) for other in _steps(value)]
    )
    return found


def _steps(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, numbers.Integral):
        step = 1e-3 * abs(value) if value else 1e-3
        return value * 1.618, value * 0.577 + step
    size = float(abs(value))
    up, down = max(1, round(0.618 * size)), max(1, round(0.423 * size))
    return value + up, value - down if value else 2


# -- counterparts by conic duality -----------------------------------------------------------------------------------


def derived_support(uncertainty: MeanSet | PointSet, w: Any) -> Counterpart:
    r""":math:`\sup w'u` over points, or means, from the membership."""
    return membership_of(uncertainty).support(as_expression(w, "w"))


def derived_deviation(uncertainty: CovarianceSet | MomentSet, a: Any) -> Counterpart:
    r""":math:`\sup\sqrt{a'Sa} = \min t` with :math:`\sigma(0, M) \le t` and :math:`(M, a; a', t) \succeq 0`."""
    a = as_expression(a)
    lift = _Lift(uncertainty, a)
    first = a.size if isinstance(uncertainty, MomentSet) else 0
    through = sp.csr_array(sp.vstack([sp.csr_array((first, lift.weights.shape[1])), lift.weights]))
    # With t = unit * level and M = lifted / unit every quantity of the lift is of the size of a.
    bound = lift.membership.support(lift.entries, lift.unit**2, lift.reach, unseen=lift.unseen, through=through)
    value = lift.unit * convex(lift.level) + lift.rest
    return Counterpart(value, [*lift.constraints, bound.value <= lift.level, *bound.constraints])


def derived_loss(uncertainty: MomentSet, a: Any, kappa: Any) -> Counterpart:
    r""":math:`\sup m'a + \kappa\sqrt{a'Sa}` from the membership, by the lift at the head of this module."""
    a = as_expression(a)
    lift = _Lift(uncertainty, a)
    w = cp.hstack([a, (0.5 / lift.unit * kappa) * lift.entries])
    through = sp.csr_array(sp.block_diag([sp.eye_array(a.size), lift.weights], format="csr"))
    # Means and covariances reach differently far: the unit is what both are measured in.
    reach = max(lift.reach / lift.unit, float(np.max(lift.membership.widths[: a.size])))
    small = NO_SIZE * lift.unit < reach < TINY * lift.unit and not lift.membership.is_point
    reach = reach if small else lift.unit
    bound = lift.membership.support(w, lift.unit, reach, unseen=lift.unseen, through=through)
    value = lift.unit * bound.value + kappa * (0.5 * lift.unit * convex(lift.level) + lift.rest)
    return Counterpart(value, [*lift.constraints, *bound.constraints])


class _Lift:
    r"""The variables of :math:`\begin{pmatrix} M & y\\ y' & s\end{pmatrix} \succeq 0` for the part :math:`y` of a
    direction that the covariances of a set see, and the little that they may add to it."""

    def __init__(self, uncertainty: CovarianceSet | MomentSet, a: Any) -> None:
        self.membership = membership_of(uncertainty)
        face = _face(uncertainty, self.membership, a.size)
        order = face.down.shape[0]
        whole = cp.Variable((order + 1, order + 1), PSD=True)
        up = sp.csr_array(face.up)
        self.unit = face.unit
        self.reach = float(np.max(self.membership.widths[-(a.size * (a.size + 1) // 2) :]))
        self.level = whole[order, order]
        self.weights = sp.csr_array(svec_map(a.size).T @ sp.kron(up, up))
        self.entries = cp.vec(whole[:order, :order], order="F")
        self.constraints = [whole[:order, order] == face.down @ a]
        self.unseen = bool(face.rest.size or face.stated.size) or np.asarray(uncertainty.factor).shape[0] < a.size
        self.rest = face.left_out(a)


def _face(uncertainty: UncertaintySet, membership: Membership, dimension: int) -> Face:
    factor = np.asarray(uncertainty.factor)  # type: ignore[attr-defined]
    face = Face.of([membership], dimension, factor)
    _refuse_thin(uncertainty, membership, face)
    if (face.rest.size or face.stated.size) and uncertainty._tuner is not None:
        # At a radius of zero, say, a set has null directions that it has at no other radius.
        elsewhere = [held for name in uncertainty.numbers() for held in _held_elsewhere(uncertainty, name)]
        face = Face.of([membership, *elsewhere], dimension, factor)
        for name in uncertainty.numbers():
            uncertainty.watch(name, lambda changed: face.require(membership_of(changed)))
    return face


def _refuse_thin(uncertainty: Any, membership: Membership, face: Face) -> None:
    """Raise SolverError where a direction that the face leaves out is one in which the centre, a member, does vary.

    Its variance lies below what a solver tells from none, and above what rounding is: the bound on what it adds to a
    deviation would be taken for the deviation.
    """
    factor = np.asarray(uncertainty.factor)
    # By count: null directions that were read off a solver's points are tilted by more than a variance shows.
    if len(face.probe) + face.stated.shape[1] <= factor.shape[1] - factor.shape[0] or (
        _thinnest(uncertainty) <= UNSEEN and not membership.thin
    ):
        return
    left = float(np.linalg.norm(factor @ face.probe.T, 2)) ** 2 if face.probe.size else 0.0
    # A centre that varies there by more is no member: a solver's points show as much.
    if not 0 < left <= SHOWN or membership.distance(_flat_center(uncertainty)) > NEAR:
        return
    raise SolverError(
        f"{uncertainty!r}: along some direction the centre's variance is {left:.0e} of what its columns have, too little for a "
        "set that is met by its membership alone; give points or moments in coordinates in which variances are comparable "
        "(whitened ones, say), or leave that direction out",
        "thin",
    )


def _held_elsewhere(uncertainty: UncertaintySet, name: str) -> list[Membership]:
    """The set at other values of a number that nobody has asked for: at which its class may fail, or it may hold nothing."""
    made: list[Membership] = []
    with unasked(), contextlib.suppress(Exception):
        for other in _elsewhere(uncertainty, name):
            with contextlib.suppress(Exception):
                made.append(membership_of(other))
    return made
