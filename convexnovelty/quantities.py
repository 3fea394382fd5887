"""The letters of a formulation in the user's units, and the numbers that change in a compiled problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.validation import Array, number, shown

__all__ = ["LONG", "STEPS", "Quantity", "Tunable", "Wall", "as_quantity", "as_tunable", "tune"]

# The length, in deviations, up to which a direction without variance may help a set's worst case, or what a user adds.
LONG = 1e5

# How many times as far a wall is put that decides a value, and how often: rounding, 1e-16 of a mean of ten deviations, pays for 1e-6
# of a value where it stands then.
STEP = 10.0
STEPS = 4

# What a solver leaves of a zero in a program of the size of one, and of a constraint that touches.
ZERO = 1e-10
TOUCHES = 1e-6


class Wall:
    """A bound that keeps finite what only rounding, or what a user adds, would pay for: ``norm <= reach``, with LONG deviations at first.

    Parameters
    ----------
    norm : the length that is kept.
    deviation : what one deviation is of it.
    """

    def __init__(self, norm: cp.Expression, deviation: float = 1.0) -> None:
        self._deviation = deviation
        self._reach = cp.Parameter(nonneg=True, value=LONG * deviation)
        self.constraint = norm <= self._reach

    def share(self, objective: float) -> float:
        """The share of a program's value that is its doing, by its multiplier after a solve, or by touching where it has none."""
        norm, dual, reach = float(self.constraint.args[0].value), self.constraint.dual_value, float(self._reach.value)
        if dual is None:
            return math.inf if norm >= (1 - TOUCHES) * reach else 0.0
        charged = abs(float(dual)) * reach
        return charged / max(abs(objective), ZERO) if charged > ZERO else 0.0

    def put(self, steps: int) -> None:
        """Put it as many steps further than at first."""
        self._reach.value = LONG * STEP**steps * self._deviation


class Unreached(NamedTuple):
    """Directions of a letter that its program does not see: their ``variable`` z of shape (k,), the matrix N of shape (p, k), the
    matrix that takes Nz back to z, and the ``walls`` that keep z finite."""

    variable: cp.Variable
    axes: Array
    inverse: Array
    walls: list[Wall]


class Quantity:
    r"""A letter of the paper: :math:`q = \text{shift} + \text{unit}\cdot(V x + N z)` for the solver's own variable :math:`x`.

    A program in axes that a covariance gives may have fewer of them than the letter has entries: where one column follows from
    others, no term of it sees what is left. What a user adds may see it. So z is a variable of programs with such terms, and zero
    in the paper's own; N is what ``inverse`` takes to zero.

    Parameters
    ----------
    variable : what the solver sees, of the order of one.
    unit : the size of the quantity in the user's units, of each entry where they differ.
    axes, inverse : the matrix V of shape (p, r) and the matrix that takes q / unit back to x, dense or sparse, or None for both.
    shift : what the solver's variable is measured from, in the user's units; None for the origin.
    unseen : whether the letter is free along what dense axes leave out (axes of zeros are none); else it has no part there.

    Attributes
    ----------
    within : the walls that the letter's own program has.
    """

    def __init__(
        self,
        variable: cp.Variable,
        unit: float | Array = 1.0,
        axes: Any = None,
        inverse: Any = None,
        shift: Array | float | None = None,
        unseen: bool = False,
    ) -> None:
        self.variable = variable
        self.unit = unit
        self.axes = axes
        self.inverse = inverse
        self.shift = shift
        self.unseen = unseen
        self.within: list[Wall] = []

    @property
    def expression(self) -> cp.Expression:
        """The quantity in the user's units, to be used in further constraints."""
        rotated = self.variable if self.axes is None else self.axes @ self.variable
        if self.unreached is not None:
            rotated = rotated + self.unreached.axes @ self.unreached.variable
        if np.ndim(self.unit):
            scaled = cp.multiply(self.unit, rotated)
        else:
            scaled = rotated if self.unit == 1.0 else self.unit * rotated
        return scaled if self.shift is None else scaled + self.shift

    @cached_property
    def unreached(self) -> Unreached | None:
        """What the axes leave out, or None where that is nothing or not free. It is looked for when somebody may use it."""
        if not self.unseen or sparse.issparse(self.axes):
            return None
        reached = self.axes.any(axis=0)
        p, r = self.axes.shape[0], int(reached.sum())
        if r >= p:
            return None
        rows = np.asarray(self.inverse)[reached]
        sizes = np.linalg.norm(rows, axis=0)
        flat = np.flatnonzero(sizes == 0)
        # A column without a deviation has no unit of its own. Beside those of large columns, such as money, what is added to the
        # weight of an intercept would be less than a solver sees.
        known = sizes[sizes > 0]
        sizes = np.where(sizes > 0, sizes, min(float(np.median(known)), 1.0) if known.size else 1.0)
        seen = np.setdiff1d(np.arange(p), flat)
        null = np.zeros((p, p - r))
        null[seen, : p - r - flat.size] = np.linalg.qr((rows / sizes).T[seen], mode="complete")[0][:, r:]
        null[flat, p - r - flat.size :] = np.eye(flat.size)
        z = cp.Variable(p - r)
        z.save_value(np.zeros(p - r))
        # Along such a column by itself nothing is rounding of others, and all that there is to pay for is what a user adds.
        made = p - r - flat.size
        walls = [Wall(cp.norm_inf(z[:made]))] if made else []
        return Unreached(z, null / sizes[:, None], (null * sizes[:, None]).T, walls)

    @property
    def letters(self) -> list[cp.Variable]:
        """The solver's variables of which it is made."""
        return [self.variable] if self.unreached is None else [self.variable, self.unreached.variable]

    @property
    def _looked_for(self) -> Unreached | None:
        """What the axes leave out, if somebody has asked for it before: it is zero otherwise."""
        found: Unreached | None = self.__dict__.get("unreached")
        return found

    def forget(self, used: set[int]) -> None:
        """Put what the axes leave out to zero, unless it is among the variables, by their ids, that a program uses."""
        beyond = self._looked_for
        if beyond is not None and beyond.variable.id not in used:
            beyond.variable.save_value(np.zeros(beyond.variable.shape))

    def walls(self, used: set[int]) -> list[Wall]:
        """The walls that a program needs which uses these variables."""
        beyond = self._looked_for
        return self.within + (beyond.walls if beyond is not None and beyond.variable.id in used else [])

    @property
    def value(self) -> Any:
        """Its value after a solve, as an array or a float."""
        if self.variable.value is None:
            return None
        held = self.variable.value
        # CVXPY keeps the value of a diagonal variable as a sparse matrix.
        value = np.asarray(held.toarray() if sparse.issparse(held) else held, dtype=float)
        if self.axes is not None:
            value = self.axes @ value
        if (beyond := self._looked_for) is not None and beyond.variable.value is not None:
            value = value + beyond.axes @ beyond.variable.value
        value = self.unit * value if self.shift is None else self.unit * value + self.shift
        return float(value) if value.ndim == 0 else value

    def own(self, value: Any) -> Any:
        """What the solver's variable is where the letter is ``value`` in the user's units."""
        numbers = self._scaled(value)
        return numbers if self.inverse is None else self.inverse @ numbers

    def _scaled(self, value: Any) -> Any:
        numbers = np.asarray(value, dtype=float)
        return (numbers if self.shift is None else numbers - self.shift) / self.unit

    def assign(self, value: Any) -> None:
        """Give the solver's variables the values that stand for ``value`` in the user's units."""
        own = self.own(value)
        self.variable.save_value(own)
        if (beyond := self._looked_for) is not None:
            beyond.variable.save_value(beyond.inverse @ (self._scaled(value) - self.axes @ own))


class Tunable:
    """A number that can be changed in a compiled problem: each CVXPY parameter that depends on it follows.

    The papers' numbers seldom enter a program as they are: a confidence enters as kappa(c), an outlier fraction
    as 1/(nu n). CVXPY compiles once only if the derived number itself is the parameter.
    """

    def __init__(self, name: str, value: Any, check: Callable[[Any, str], float]) -> None:
        self.name = name
        self._check = check
        self._derived: list[tuple[cp.Parameter, Callable[[float], float]]] = []
        self._printed: dict[int, Callable[[float], float]] = {}
        self.value = check(value, name)

    def parameter(
        self,
        transform: Callable[[float], float] = float,
        printed: Callable[[float], float] | None = None,
        **attributes: Any,
    ) -> cp.Parameter:
        """A CVXPY parameter that holds ``transform(value)`` now and after every :meth:`set`.

        Where ``transform`` gives another number than the paper prints, with which the paper's program alone has the
        same optimum, ``printed`` gives the paper's: see :meth:`as_printed`.
        """
        parameter = cp.Parameter(name=self.name, value=self._number(transform, self.value), **attributes)
        self._derived.append((parameter, transform))
        if printed is not None:
            self._printed[parameter.id] = printed
        return parameter

    def follow(self, parameter: cp.Parameter) -> None:
        """Let a parameter of the program hold the value itself after every :meth:`set`."""
        self._derived.append((parameter, float))

    def as_printed(self) -> None:
        """Let each parameter hold the paper's own number from now on, for a program that is not the paper's alone."""
        self._derived = [(p, self._printed.get(p.id, transform)) for p, transform in self._derived]
        self.set(self.value)

    def set(self, value: Any) -> None:
        """Check the new value and pass it on; a refused value leaves everything as it was."""
        checked = self._check(value, self.name)
        numbers = [self._number(transform, checked) for _, transform in self._derived]
        self.value = checked
        for (parameter, _), told in zip(self._derived, numbers, strict=True):
            parameter.value = told

    def _number(self, transform: Callable[[float], Any], value: Any) -> Any:
        """What the program has for a value. Raises InputError where that leaves float64, which CVXPY calls negative."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                told = transform(value)
        except (OverflowError, ZeroDivisionError):
            told = np.inf
        if not np.isfinite(told).all():
            raise InputError(
                f"{self.name}: {shown(value)} was found, for which the program's own number leaves the range of float64; give a "
                "number nearer to one, or points in another unit"
            )
        return told


def as_quantity(name: str, letter: cp.Variable | Quantity) -> Quantity:
    """A letter as a quantity. Raises InputError for a complex one: values are real numbers."""
    if isinstance(letter, Quantity):
        return letter
    if letter.is_complex():
        raise InputError(
            f"variables: {name} is complex, and letters have real values; make it of two real variables, u + 1j * v, and "
            "name these"
        )
    return Quantity(letter)


def as_tunable(name: str, given: Any) -> Any:
    """A tunable number; a CVXPY parameter of the program is one by itself, within what its own signs allow.

    Raises InputError for a parameter that is no number or has no value yet, and for anything else.
    """
    if not isinstance(given, cp.Parameter):
        if not callable(getattr(given, "set", None)):
            raise InputError(f"tunables: {name} is {shown(given)}; give a Tunable, or a CVXPY parameter with a value")
        return given
    if given.shape or given.value is None:
        found = "no value yet" if given.value is None else f"the shape {given.shape}"
        raise InputError(f"tunables: the parameter {name} has {found}; give one number with a value")

    def check(value: Any, name: str) -> float:
        checked = number(value, name)
        try:
            given.value = checked
        except ValueError as error:
            raise InputError(f"{name}: {checked:.6g} was found; {error}") from None
        return checked

    tunable = Tunable(name, given.value, check)
    tunable.follow(given)
    return tunable


def tune(tunables: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
    """Set the numbers in any order in which each is accepted: one may be allowed only beside another's new value."""
    left = dict(numbers)
    while left:
        refused = {}
        for name, value in left.items():
            try:
                tunables[name].set(value)
            except InputError as error:
                refused[name] = error
        if len(refused) == len(left):
            raise next(iter(refused.values()))
        left = {name: left[name] for name in refused}
