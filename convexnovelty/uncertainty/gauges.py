r"""The size at which a set first holds a member.

Most sets grow with their ``radius``. A set without one, and one that is made of several sets, is blown up around its
centre: ``multiple * set`` holds a member from its Minkowski functional on,

.. math:: \gamma(v) = \min\{t \ge 0 : v - c \in t\,(U - c)\}.

The arrays of a set are homogeneous in their right-hand side, so that this is one conic program.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.cones import svec
from convexnovelty.conic import ConicProgram
from convexnovelty.covariances import own_axes
from convexnovelty.errors import ConvexNoveltyError, EmptySetError, SolverError
from convexnovelty.least_value import least_value
from convexnovelty.membership import Membership
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.arguments import blocks_of, is_covariance, known_set
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, UncertaintySet
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.uncertainty.derived import membership_of
from convexnovelty.uncertainty.exact_covariance import ExactCovariance
from convexnovelty.uncertainty.product import Product
from convexnovelty.uncertainty.sizes import is_read
from convexnovelty.uncertainty.tools import cone_multiple, listed
from convexnovelty.validation import Array
from convexnovelty.violations import with_domains

__all__ = ["gauge", "resizable", "size_name"]

ENROLS_NOTHING = "the sizes of sets"

BESIDE = 1e-8  # share of a step by which it may leave the plane that holds all steps of members
LAST_DIGITS = 1e-12  # share of a centre that rounding, there and in a member, leaves of their difference
ROUNDED = 16.0 * float(np.finfo(np.float64).eps)  # share of a number that is rounding of it
DOUBTFUL, ROUGH = 1e-4, 0.1  # where there is a warning, and where the size is none
NEAR, DIGITS = 1e-6, 1e-10  # shares of a size up to which it is searched for, by distances and by values of constraints
STEPS, SETTLED = 12, 1e-8  # in which a size is looked for by multiples, and how far from one they may be in the end
LEVEL = -0.25  # slope of multiples over sizes, both as logarithms, that is steep enough to follow
LEAST = (1e-18, 1e-80)  # shares of the size where these searches begin below which nothing is left of a size
UNEVEN = 1e-5  # share of the largest entry of a step from which another is brought to the same size
STILL = 1e-9  # step, in widths of the set, below which such a difference is none


def size_name(uncertainty: UncertaintySet) -> str | None:
    """The number by which a set grows: its radius, or the multiple of a dilation; None where there is no such number.

    Several sets in one have no common radius, and one that does not depend on its radius has none.
    """
    if uncertainty.grows_by in vars(uncertainty):
        return uncertainty.grows_by if is_read(uncertainty, uncertainty.grows_by) else None
    parts = list(uncertainty.parts().values()) if isinstance(uncertainty, Composite) else []
    return size_name(parts[0]) if len(parts) == 1 else None


def resizable(recipe: Any, moments: Moments) -> tuple[Any, str]:
    """The recipe and the number that makes it larger around moments, or ``1 * recipe`` where it has none."""
    name = size_name(recipe.centred(moments))
    return (recipe, name) if name is not None else (1.0 * recipe, "multiple")


def gauge(uncertainty: Any, member: Any, *, largest: float = 1e6) -> float:
    """The least size at which a centred set holds a member, by the class's own formula or by a convex program.

    The size is the ``radius`` of a set that has one, the number that its class names in ``grows_by``, and a multiple of
    displacements from the centre for every other set (the ``multiple`` of a dilation).

    Parameters
    ----------
    uncertainty : a centred set; for a set of means a pair may be given, whose covariance it sees.
    member : a point, a mean, a covariance, or a pair of mean and covariance.
    largest : where a search by halving ends, in units of the set's present size, or of the member's step from the centre
        where that is larger; infinity is returned beyond. Formulas and convex programs need none.

    Returns
    -------
    The size; infinity if the set holds the member at no size. No set of covariances holds an indefinite matrix.

    Raises InputError for what is no member of the set's family: another shape, a matrix that is not symmetric, NaN. A size
    that a program knows to a share of more than 1e-4 of itself comes with a warning.
    """
    known_set(uncertainty)
    blocks = blocks_of(uncertainty, member)
    if not all(is_covariance(block) for block in blocks if block.ndim == 2):
        return math.inf  # every set of covariances is one of positive semidefinite matrices
    if isinstance(uncertainty, MeanSet):
        blocks = [blocks[0], *(blocks[1:] or [np.asarray(uncertainty.covariance)])]
    name = size_name(uncertainty)
    if name is None:
        return _minkowski(uncertainty, blocks)
    if name == "multiple" and hasattr(uncertainty, "shift"):
        back = [block - shift for block, shift in zip(blocks, uncertainty.shift, strict=False)]
        whole = (*back, *blocks[len(back) :])
        return gauge(uncertainty.part, whole if len(whole) > 1 else whole[0], largest=largest)
    if name == "multiple" and not _is_moved(uncertainty):
        # What is made of a dilation by linear maps is as many times what is made of its part.
        return _minkowski(uncertainty.replaced(multiple=1.0), blocks)
    own = uncertainty.gauge(*blocks)
    if own is not None:
        return float(own)
    if isinstance(uncertainty, MeanSet) and not uncertainty.uses_covariance:
        blocks = blocks[:1]
    found = _by_program(uncertainty, name, blocks)
    return found if found is not None else _by_halving(uncertainty, name, blocks, largest)


def _is_moved(uncertainty: Any) -> bool:
    """Whether the set was moved after it was blown up, or something that it is made of was."""
    if uncertainty.grows_by in vars(uncertainty):
        return False
    parts = uncertainty.parts().values() if isinstance(uncertainty, Composite) else ()
    return hasattr(uncertainty, "shift") or any(map(_is_moved, parts))


def _blocks(center: Any) -> tuple[Array, ...]:
    return center if isinstance(center, tuple) else (center,)


def _flat(blocks: Any) -> Array:
    return np.concatenate([svec(block) if block.ndim == 2 else block for block in blocks])


def _minkowski(part: Any, blocks: list[Array]) -> float:
    """The functional of the part around its centre; means are measured beside the covariance they came with."""
    if isinstance(part, MeanSet):
        center, member, held = part.center, blocks[0], _held(part, blocks)
    else:
        center = _flat(_blocks(part.center))
        member, held = _flat(blocks), membership_of(part)
    widths = held.widths[: center.size]
    step, origin = (member - center) / widths, np.abs(center) / widths
    size = np.maximum(origin, 1.0)
    # A point has no size beside which a step would be large, and where it is, is known to fewer digits than the centre is.
    still = STILL * size if held.is_point else np.minimum(STILL, LAST_DIGITS * size)
    if (np.abs(step) <= still).all():
        return 0.0
    # In coordinates that the steps share: equations that repeat each other would differ by what rounding leaves of them.
    axes = held.span(center)
    if axes is not None:
        if _leaves(axes, step, origin):
            return math.inf
        if not axes.size:
            return 0.0
    turn = np.eye(center.size) if axes is None else axes.T
    turn = _evening(turn @ step) @ turn
    multiple = cp.Variable(nonneg=True)
    whole, constraints = held.multiple(multiple)
    moved = whole[: center.size] - multiple * center
    tied = turn @ cp.multiply(1.0 / widths, moved) == turn @ step
    found = _least(multiple, [tied, *constraints], repr(part))
    if found is None:
        raise SolverError(f"{part!r}: the multiple that holds a member could not be found", "inaccurate")
    if not isinstance(part, (CovarianceSet, MomentSet)):
        return found
    # That what a step leads to, divided, is a covariance may drown in a ball that is as large as the largest column's variance.
    return max(found, cone_multiple(np.asarray(part.factor), np.asarray(blocks[-1])))


def _leaves(axes: Array, step: Array, origin: Array) -> bool:
    """Whether a step leaves the span of axes by more than rounding, its own and that of an origin."""
    off = float(np.linalg.norm(step - axes @ (axes.T @ step)))
    return off > BESIDE * float(np.linalg.norm(step)) + LAST_DIGITS * float(np.linalg.norm(origin))


def _evening(step: Array) -> Array:
    """The reflection that makes all entries of a step alike, where some are next to nothing beside others; else the identity.

    Their right-hand sides would pass for the sizes of equations in which all is of size one.
    """
    sizes = np.abs(step)
    if not ((0 < sizes) & (sizes < UNEVEN * sizes.max(initial=0.0))).any():
        return np.eye(step.size)
    across = step / np.linalg.norm(step) - 1.0 / math.sqrt(step.size)
    length = float(across @ across)
    return np.eye(step.size) - (2.0 / length) * np.outer(across, across) if length > 0 else np.eye(step.size)


def _held(part: Any, blocks: list[Array]) -> Membership:
    """The members of a set; of means that see the covariance, those beside the covariance of the blocks."""
    if not (isinstance(part, MeanSet) and part.uses_covariance):
        return membership_of(part)
    beside = ExactCovariance().centred(Moments(part.center, blocks[1]))
    return membership_of(Product(part, beside)._copy(_moments=part._moments))


def _least(size: Any, constraints: list[Any], name: str) -> float | None:
    """The least size that the constraints admit, infinity where they admit none; None if no solver can say."""
    found = least_value(ConicProgram.from_problem(cp.Problem(cp.Minimize(size), constraints)))
    if found is None or found.share > ROUGH:
        return None
    if found.share > DOUBTFUL:
        warnings.warn(
            f"{name}: the size at which it holds the member is known to a share of {found.share:.0e} of itself only, since its "
            "membership states a small difference of large terms; state the difference itself",
            UserWarning,
            stacklevel=4,
        )
    return max(found.value, 0.0)


def _with(uncertainty: Any, name: str, value: Any) -> Any:
    """A copy whose number, here or in the part that has it, is a CVXPY variable; None where more than that follows from it."""
    if isinstance(uncertainty, Composite) and name not in vars(uncertainty):
        ((part, owner),) = uncertainty.parts().items()
        held = _with(owner, name, value)
        return None if held is None else uncertainty._copy(**{part: held}, _tuner=None)
    return uncertainty._copy(**{name: value}, _tuner=None) if uncertainty.is_plain(name) else None


def _by_program(uncertainty: UncertaintySet, name: str, blocks: list[Array]) -> float | None:
    """The least size as a convex program, where the membership is convex in member and size together."""
    size = cp.Variable(nonneg=True)
    posed = _with(uncertainty, name, size)
    if posed is None:
        return None
    member = _on_the_centre(uncertainty, blocks)
    at = [cp.Variable(block.shape, value=block) for block in member]
    try:
        stated, seen = (with_domains(listed(posed.membership(*given))) for given in (map(cp.Constant, member), at))
        pairs = zip(stated, seen, strict=True)
        constraints = [held for held, moved in pairs if not _holds_anyhow(held, moved, at, _steps(uncertainty, member))]
        convex = all(constraint.is_dcp() for constraint in constraints)
    except Exception:  # what a membership makes of a size that is no number: CVXPY itself raises a bare Exception
        return None
    return _least(size, constraints, repr(uncertainty)) if convex else None


def _on_the_centre(uncertainty: Any, blocks: list[Array]) -> list[Array]:
    """The blocks with the entries of the centre where they differ from it in their last digits: equations would refuse them."""
    center = _blocks(uncertainty.center)
    near = [np.abs(block - at) <= ROUNDED * np.abs(at) for block, at in zip(blocks, center, strict=False)]
    moved = [np.where(close, at, block) for close, at, block in zip(near, center, blocks, strict=False)]
    return [*moved, *blocks[len(moved) :]]


def _steps(uncertainty: Any, member: list[Array]) -> list[Array]:
    """How far the entries of the blocks lie from the centre; those that a mean only sees are where they are."""
    own = [np.abs(block - at) for block, at in zip(member, _blocks(uncertainty.center), strict=False)]
    return [*own, *(np.zeros_like(block) for block in member[len(own) :])]


def _holds_anyhow(constraint: Any, moved: Any, at: list[cp.Variable], steps: list[Array]) -> bool:
    """Whether a constraint on the member alone holds, up to the rounding of its sides and of the member's entries.

    ``moved`` is the same constraint on variables ``at`` the member, whose ``steps`` from the centre a solver may have found.
    """
    if isinstance(constraint, cp.constraints.PSD) and not constraint.variables():
        matrix = np.asarray(constraint.args[0].value, dtype=float)
        values = own_axes((matrix + matrix.T) / 2)[0]
        return bool(values[0] >= -ROUNDED * values.size * np.abs(values).max())
    if constraint.variables() or not isinstance(constraint, (cp.constraints.Equality, cp.constraints.Inequality)):
        return False
    left, right = (np.asarray(side.value, dtype=float) for side in constraint.args)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return False
    rounding = np.maximum(np.abs(left), np.abs(right))
    # Of entries from which the member cancels only the constraint on variables shows that they are rounding.
    apart = np.subtract(*(np.asarray(side.value, dtype=float) for side in moved.args))
    apart = np.abs(apart) if isinstance(constraint, cp.constraints.Equality) else apart
    if (apart <= ROUNDED * rounding).all():
        return True
    for side in moved.args:
        for variable, slope in side.grad.items():
            place = next((k for k, entry in enumerate(at) if variable is entry), None)
            if slope is None or place is None:
                return False  # no slope is known where the member lies
            entries = np.ravel(np.abs(variable.value) + BESIDE / ROUNDED * steps[place], order="F")
            share = np.abs(slope).reshape((entries.size, side.size))  # CVXPY makes a number of one entry by one
            rounding = rounding + np.reshape(entries @ share, side.shape, order="F")
    return bool((apart <= ROUNDED * rounding).all())


def _by_halving(uncertainty: Any, name: str, blocks: list[Array], largest: float) -> float:
    flat = _flat(blocks)
    origin = _flat(_blocks(uncertainty.center))  # of means the mean alone, beside which the covariance stays
    moved = float(np.abs(flat[: origin.size] - origin).max())
    if moved == 0 and uncertainty.nominal_at_zero:
        return 0.0
    if moved == 0:
        # What lies around another centre may hold its own one at a large size alone.
        moved = float(np.abs(flat - _middle(_held(uncertainty, blocks))).max())
    present = float(uncertainty.numbers()[name]) or moved or 1.0

    def is_near(size: float) -> bool:
        try:
            held = _held(uncertainty.replaced(**{name: size}), blocks)
        except EmptySetError:
            return False
        # Distances are in units of the set, beside which those of the data vanish once the set is large.
        return held.distance(flat) * float(held.widths.max()) < NEAR * moved

    if uncertainty.nominal_at_zero and all(
        _is_beside(uncertainty, name, blocks, size) for size in (present, 2 * present)
    ):
        return math.inf
    farthest, by_values = largest * max(present, moved), _by_values(uncertainty, name, blocks)
    if by_values is not None:
        return _first_size(by_values, present, farthest, DIGITS, squared=True)
    found = _by_multiples(uncertainty, name, blocks, present) if uncertainty.nominal_at_zero else None
    if found is not None:
        return found if found <= farthest else math.inf
    return _first_size(is_near, present, farthest, NEAR)


def _is_beside(uncertainty: Any, name: str, blocks: list[Array], size: float) -> bool:
    """Whether the member lies outside of the plane of all members that the set has at a size; False where that is not known."""
    center = _flat(_blocks(uncertainty.center))
    try:
        held = _held(uncertainty.replaced(**{name: size}), blocks)
        axes = held.span(center)
    except ConvexNoveltyError:
        return False
    widths = held.widths[: center.size]
    return axes is not None and _leaves(axes, (_flat(blocks)[: center.size] - center) / widths, np.abs(center) / widths)


def _by_multiples(uncertainty: Any, name: str, blocks: list[Array], start: float) -> float | None:
    """The size at which the set itself, and no multiple of it, first holds the member; None where that is not found in a few steps.

    Multiples are known to more digits than distances, and where the set grows in proportion one of them tells the size.
    """
    before: tuple[float, float] | None = None
    at = math.log(start)
    for _ in range(STEPS):
        try:
            multiple = _minkowski(uncertainty.replaced(**{name: math.exp(at)}), blocks)
        except (ConvexNoveltyError, OverflowError):
            return None
        if not 0.0 < multiple < math.inf:
            return None
        left = math.log(multiple)
        if abs(left) <= SETTLED:
            return math.exp(at + left)
        slope = (left - before[1]) / (at - before[0]) if before is not None else -1.0
        before = at, left
        # Where something else than the size bounds the set, be it that covariances are semidefinite, it says next to nothing.
        at -= left / min(slope, LEVEL)
    return None


def _first_size(
    holds: Callable[[float], bool], start: float, largest: float, share: float, *, squared: bool = False
) -> float:
    """The least number, up to a share of it, from which on something holds; infinity beyond a largest one.

    Steps may be squared on the way up and down, so that a number that is many powers of ten off is found in a few: where a
    set of any size can be asked.
    """
    low, high, step = 0.0, start, 2.0
    while not holds(high):
        if high >= largest:
            return math.inf
        low, high, step = high, min(step * high, largest), step * step if squared else step
    step = 2.0
    while low == 0.0:
        below = high / step
        if below < LEAST[squared] * start:
            return 0.0
        if holds(below):
            high, step = below, step * step if squared else step
        else:
            low = below
    while high - low > share * high:
        middle = math.sqrt(low) * math.sqrt(high) if high > 2.0 * low else (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _by_values(uncertainty: UncertaintySet, name: str, blocks: list[Array]) -> Callable[[float], bool] | None:
    """Whether the set of a size holds the member, by the values of its constraints; None where further variables have a say."""
    member = _on_the_centre(uncertainty, blocks)
    at = [cp.Variable(block.shape, value=block) for block in member]

    def constraints(size: float) -> list[tuple[Any, Any]]:
        held = uncertainty.replaced(**{name: size})
        stated, seen = (with_domains(listed(held.membership(*given))) for given in (map(cp.Constant, member), at))
        return list(zip(stated, seen, strict=True))

    def holds(size: float) -> bool:
        return all(_holds_anyhow(*both, at, [np.zeros_like(block) for block in member]) for both in constraints(size))

    known = cp.constraints.Equality, cp.constraints.Inequality, cp.constraints.PSD
    try:
        tried = constraints(float(uncertainty.numbers()[name]))
        told = all(isinstance(one, known) and not one.variables() and seen.is_dcp() for one, seen in tried)
    except Exception:  # what a membership makes of constants: CVXPY itself raises a bare Exception
        return None
    return holds if told else None


def _middle(held: Membership) -> Array:
    """The middle of the box around a set."""
    ends = [[held.maximise(sign * axis)[0] * sign for sign in (1.0, -1.0)] for axis in np.eye(held.size)]
    return np.asarray(np.mean(ends, axis=1))
