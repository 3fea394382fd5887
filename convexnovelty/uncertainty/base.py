r"""What an uncertainty set is: its membership constraints, and optionally closed forms of what follows from them.

A user's set defines ``membership`` and nothing else. The counterpart, the worst member and the proof that both are
right are derived from it. A set is a recipe: ``FrobeniusBall(0.3)`` has no dimension until :meth:`centred` gives it
the nominal moments (or, for points, a centre).
"""

from __future__ import annotations

import abc
import copy
import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeGuard, TypeVar

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.membership import Counterpart, as_counterpart, convex
from convexnovelty.owned import read_only
from convexnovelty.uncertainty.constructed import (
    beside,
    computed,
    contained,
    is_alike,
    is_container,
    is_number,
    remembered,
    signature_of,
)
from convexnovelty.uncertainty.tools import exponent, unasked
from convexnovelty.validation import LARGEST, SMALLEST, Array, integer, nonnegative, number, shown, vector

__all__ = [
    "Claim",
    "Counterpart",
    "CovarianceSet",
    "MeanSet",
    "MomentSet",
    "PointSet",
    "UncertaintySet",
    "as_counterpart",
    "attainment",
    "convex",
    "epigraph",
    "has_members_of",
    "scaled",
]

ENROLS_NOTHING = "what every set is made of"

Exactness = Literal["exact", "conservative"]
Transform = Callable[[float], float]

# What a class may say of its members. A class that says itself who they are inherits none of it: it was said of others.
STATED = (
    "added_deviation",
    "deviations",
    "ellipsoidal",
    "gauge",
    "hereditary",
    "rotation_invariant",
    "sample",
    "support",
    "worst_deviation",
    "worst_loss",
    "worst_member",
)
# What a number of a user's would hide from those who ask the set for it.
NO_NUMBER = ("center", "factor", "dimension", "exponents", *STATED)

REMEMBERED = 4  # centres for which a set is kept: a method and its dual, in the units of the data and in its own


class _FromMoments:
    """A centre attribute: read from the nominal moments until the set itself assigns it.

    It is no data descriptor, so a class that keeps a centre of its own (a dataclass field, say) simply shadows it.
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        moments = vars(instance).get("_moments")
        if moments is None:
            raise InputError(
                f"{instance!r}: {self._name} is known once the set is centred, by .centred(moments) or by a factory"
            )
        return self._read(moments)


class Claim:
    """What a class says of its members by what an instance is made of; what an instance says itself goes before it."""

    def __init__(self, read: Callable[[Any], bool]) -> None:
        self._read = read

    def __get__(self, instance: Any, owner: type | None = None) -> bool:
        return instance is not None and self._read(instance)


def _members(kind: type) -> Any:
    """The function by which a class says who its members are, None where it leaves that to derived classes."""
    held = inspect.getattr_static(kind, "membership", None)
    return None if getattr(held, "__isabstractmethod__", False) else held


_Kind = TypeVar("_Kind", bound="UncertaintySet")


def has_members_of(uncertainty: Any, *kinds: type[_Kind]) -> TypeGuard[_Kind]:
    """Whether what is known of some class holds for a set: it is of it, or of a derived one with the same membership."""
    return any(isinstance(uncertainty, kind) and _members(type(uncertainty)) is _members(kind) for kind in kinds)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if one is other or not all(getattr(moments, "representation", "") == "dense" for moments in (one, other)):
        return one is other
    return (
        one.count == other.count
        and np.array_equal(one.mean, other.mean)
        and np.array_equal(one.covariance, other.covariance)
    )


# What the library keeps in a set, beside what its constructor does.
MANAGED = frozenset({"_kept", "_tuner", "_moments", "_center", "_made_with", "_containers"})


class _Tuner:
    """The CVXPY parameters of one compiled counterpart: who is told when a number of the set changes."""

    def __init__(self) -> None:
        self.watchers: dict[str, list[Callable[[UncertaintySet], None]]] = {}
        self.fixed: set[str] = set()


class Tunable:
    """A number of a set inside a compiled problem; ``set`` changes it without another compilation."""

    def __init__(self, owner: UncertaintySet, name: str) -> None:
        self._owner = owner
        self.name = name

    @property
    def value(self) -> float:
        """The number as it stands."""
        return self._owner.numbers()[self.name]

    def set(self, value: Any) -> None:
        """Change it in the set and in every parameter that follows from it."""
        self._owner.retune(self.name, value)


class _Made:
    """What keeps the arguments that it is made with.

    A class of its own: where one class has ``__new__`` and ``__init__``, its signature is that of ``__new__``.
    """

    _made_with: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        object.__setattr__(made, "_made_with", remembered(args, kwargs))
        return made


class UncertaintySet(_Made):
    """Base of all sets; a user derives from one of its four families and writes ``membership``.

    Attributes
    ----------
    exactness : whether the class's own counterpart equals the supremum or only bounds it from above.
    rotation_invariant : whether the set of a rotated centre is the rotated set.
    hereditary : whether the members of a subspace that holds the centre are the set of that subspace, in any orthonormal
        coordinates of it: what a tall matrix takes into the set is then found in the coordinates of its range.
    basis_dependent : whether the set means something only in the coordinates of the data (a box): kernel features
        choose their own coordinates, so factories refuse such a set there.
    nominal_at_zero : whether a radius of zero leaves the centre alone.
    source : where the set and its counterpart come from.
    grows_by : the number that makes the set larger, which a calibration sets.
    exponents : which of its numbers are exponents of norms, from 1 to infinity.
    """

    exactness: Exactness = "exact"
    rotation_invariant: bool = False
    hereditary: bool = False
    basis_dependent: bool = False
    nominal_at_zero: bool = True
    source: str = ""
    family: ClassVar[str] = ""
    grows_by: ClassVar[str] = "radius"
    exponents: ClassVar[tuple[str, ...]] = ()
    radius: float = 1.0
    __array_ufunc__ = None  # lets NumPy's numbers and arrays leave ``2 * set`` and ``set + array`` to the set
    _tuner: _Tuner | None = None
    _moments: Any = None
    _kept: Any = None
    _containers: Any = None
    _cached: ClassVar[frozenset[str]] = frozenset()  # names of the properties that keep what they have computed

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name for name, held in vars(cls).items() if isinstance(held, functools.cached_property)}
        cls._cached = cls._cached.union(own)
        cls._leave_out_what_others_state()

    @classmethod
    def _leave_out_what_others_state(cls) -> None:
        """Put what its family states, nothing, in the place of what a class inherits from one with another membership."""
        for name in STATED:
            stating = [base for base in cls.__mro__ if name in vars(base)]
            own = (base for base in stating if _members(base) is None or _members(base) is _members(cls))
            first = next(own, None)
            if first is not None and first is not stating[0]:
                setattr(cls, name, vars(first)[name])

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = nonnegative(radius, "radius")

    def __setattr__(self, name: str, value: Any) -> None:
        taken = name in ASKED or (name in NO_NUMBER and is_number(value))
        if taken and not callable(value):
            raise InputError(
                f"{type(self).__name__}.{name}: {shown(value)} was found, where every set has something else under that name; call "
                "the attribute otherwise"
            )
        # What was made of the set belongs to the attributes as they were. An array that its owner, or who asks the set for
        # it, changes later would change the set behind its back.
        object.__setattr__(self, "_kept", None)
        self._forget()
        if self._containers is not None:
            object.__setattr__(self, "_containers", {**self._containers, name: contained(value)})
        object.__setattr__(self, name, read_only(value.copy()) if type(value) is np.ndarray else value)

    # -- the algebra -------------------------------------------------------------------------------------------------

    def __mul__(self, other: Any) -> Any:
        """``means * covariances``, the set of pairs."""
        if isinstance(self, MeanSet) and isinstance(other, CovarianceSet):
            from convexnovelty.uncertainty.product import Product

            return Product(self, other)
        if isinstance(self, CovarianceSet) and isinstance(other, MeanSet):
            raise InputError(f"product: write the set of means first, {other!r} * {self!r}")
        if is_number(other):
            raise InputError(f"dilation: write the number first, {other!r} * {self!r}")
        return NotImplemented

    def __rmul__(self, factor: Any) -> Any:
        """``factor * set``, the set blown up around its centre."""
        return self._operation("dilation", factor) if is_number(factor) else NotImplemented

    def __and__(self, other: Any) -> Any:
        """``first & second``, what both hold."""
        return self._operation("intersection", other) if isinstance(other, UncertaintySet) else NotImplemented

    def __or__(self, other: Any) -> Any:
        """``first | second``, the convex hull of both."""
        return self._operation("hull", other) if isinstance(other, UncertaintySet) else NotImplemented

    def __add__(self, other: Any) -> Any:
        """``first + second``, the sum of displacements; ``set + shift``, the set moved."""
        return self._operation("sum" if isinstance(other, UncertaintySet) else "translation", other)

    __radd__ = __add__

    def image(self, matrix: Any) -> Any:
        """What a matrix makes of the set's steps from its own centre, added to the centre."""
        return self._operation("image", matrix)

    def preimage(self, matrix: Any) -> Any:
        """What a matrix takes into the set, which is placed around what the matrix makes of the centre."""
        return self._operation("preimage", matrix)

    def _operation(self, name: str, *operands: Any) -> Any:
        from convexnovelty.uncertainty.algebra import operate

        return operate(name, self, *operands)

    # -- a recipe ----------------------------------------------------------------------------------------------------

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Recipes on which the checker tries the class, for moments or points of the given dimension."""
        return [cls()]

    @property
    def size(self) -> int | None:
        """The dimension where the recipe itself fixes it, else None."""
        return None

    def validate(self) -> None:
        """Raise InputError when an attribute makes no sense; called whenever the set is centred or changed."""
        if "radius" in vars(self):
            nonnegative(self.radius, f"{type(self).__name__}.radius")

    def check_range(self) -> None:
        """Raise InputError for a number whose square float64 cannot hold: every counterpart needs such squares."""
        for name, value in self.numbers().items():
            if np.isfinite(value) and value != 0 and not SMALLEST <= abs(value) <= LARGEST:
                raise InputError(
                    f"{self!r}: {name} is {value:.6g}, whose square float64 cannot hold; give a number from "
                    f"{SMALLEST:.0e} to {LARGEST:.0e}"
                )

    def _same_size(self, dimension: int) -> None:
        if self.size is not None and self.size != dimension:
            raise InputError(
                f"{self!r}: it is of dimension {self.size} where the moments are of dimension {dimension}; give both the same"
            )

    def __repr__(self) -> str:
        try:
            names = [name for name in signature_of(type(self)).parameters if name in vars(self)]
        except (TypeError, ValueError):
            names = []
        return f"{type(self).__name__}({', '.join(f'{name}={_short(vars(self)[name])}' for name in names)})"

    def _copy(self, **attributes: Any) -> Any:
        # object.__setattr__ serves frozen dataclasses and classes whose __init__ never called ours.
        made = copy.copy(self)
        object.__setattr__(made, "_kept", None)
        made._forget()
        # What a copy puts into a container depends on its centre and its numbers, and is no other copy's.
        held = vars(self) | (self._containers or {}) | attributes
        held = {name: value for name, value in held.items() if name not in MANAGED and is_container(value)}
        for name, value in (attributes | held).items():
            object.__setattr__(made, name, contained(value))
        object.__setattr__(made, "_containers", {name: contained(value) for name, value in held.items()})
        return made

    def _forget(self) -> None:
        """Drop what cached properties hold: they were computed from attributes that may be others now."""
        for name in self._cached:
            vars(self).pop(name, None)

    def kept(self, what: str, make: Callable[[], Any]) -> Any:
        """What ``make`` gives for the set with the numbers that it has now, made once."""
        state = tuple(self.numbers().items())
        if self._kept is None or self._kept[0] != state:
            object.__setattr__(self, "_kept", (state, {}))
        store: dict[str, Any] = self._kept[1]
        if what not in store:
            store[what] = make()
        return store[what]

    def _remembered(self, around: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` gives for a centre, with what has been made of it for this centre before."""
        if self.basis_dependent and getattr(around, "own_axes", False):
            raise InputError(
                f"uncertainty: {self!r} means something only in the coordinates of the data, and a kernel's features "
                "choose their own; give a set that any basis keeps, such as FrobeniusBall, or LinearFeatures"
            )
        if self._tuner is not None:
            return make()._stands_for(self.plain().centred(around))
        known: list[tuple[Any, Any]] = self.kept("centred", list)
        for centre, made in known:
            if _same(centre, around):
                return made
        made = make()
        known[:] = [(around, made), *known[: REMEMBERED - 1]]
        return made

    def plain(self) -> Any:
        """The set with its numbers as they stand, in place of parameters."""
        return self if self._tuner is None else self.kept("plain", lambda: self._copy(_tuner=None))

    # -- its numbers -------------------------------------------------------------------------------------------------

    def numbers(self) -> dict[str, float]:
        """The plain numbers among the set's attributes, by the names under which they can be changed."""
        return {
            name: float(value)
            for name, value in vars(self).items()
            if not name.startswith("_") and name not in self._cached and is_number(value)
        }

    def _number(self, name: str) -> Any:
        """One of :meth:`numbers` as the class holds it: a whole one is whole."""
        value = vars(self)[name]
        return int(value) if isinstance(value, numbers.Integral) else float(value)

    def replaced(self, **changes: Any) -> Any:
        """A copy of the set with other numbers, for example ``set.replaced(radius=0.2)``."""
        known = self.numbers()
        for name in changes:
            if name not in known:
                raise InputError(f"{self!r}: there is no number {name!r}; known are {', '.join(known) or 'none'}")
        new = {name: self._like(name, value) for name, value in changes.items()}
        made = self._copy(**self._computed(new), **new, _tuner=None)
        made.validate()
        return made

    def _like(self, name: str, value: Any) -> Any:
        """``value`` as a number of the kind that the set holds under a name."""
        if name in self.exponents:
            return exponent(value, name)
        whole = isinstance(vars(self)[name], numbers.Integral) and float(value).is_integer()
        return integer(value, name) if whole else number(value, name)

    def _computed(self, new: dict[str, Any]) -> dict[str, Any]:
        """What the constructor computes from numbers and keeps beside them: it must follow where they change."""
        return computed(self, self._made_with, MANAGED | self._cached, new)

    def is_plain(self, name: str) -> bool:
        """Whether nothing else that the set keeps was computed from the number ``name``."""
        for other in beside(self._number(name)):
            try:
                with unasked():
                    made = self._computed({name: self._like(name, other)})
            except InputError:  # the class takes no such number
                continue
            return all(is_alike(vars(self)[held], value) for held, value in made.items() if held not in MANAGED)
        return False

    def tunable(self) -> Any:
        """A copy whose counterparts take its numbers as CVXPY parameters where that is possible."""
        return self._copy(_tuner=_Tuner())._stands_for(self)

    def _stands_for(self, plain: Any) -> Any:
        """Take ``plain`` for the set with its numbers in place of parameters, with what has been made of it."""
        self.kept("plain", lambda: plain)
        return self

    def tuned(self, name: str, transform: Transform | None = None) -> Any:
        """``transform(self.name)``: a number, or in a tunable set the nonnegative CVXPY parameter that holds it."""
        change: Transform = transform or float
        if self._tuner is None:
            return change(getattr(self, name))
        parameter = cp.Parameter(nonneg=True, name=name, value=max(float(change(getattr(self, name))), 0.0))

        def follow(changed: UncertaintySet) -> None:
            parameter.value = max(float(change(getattr(changed, name))), 0.0)

        self.watch(name, follow)
        return parameter

    def watch(self, name: str, follow: Callable[[UncertaintySet], None]) -> None:
        """Call ``follow(set)`` after each change of the number ``name``."""
        if self._tuner is not None:
            self._tuner.watchers.setdefault(name, []).append(follow)

    def fix(self, name: str) -> None:
        """Say that some counterpart depends on the number ``name`` in a way that no parameter can follow."""
        if self._tuner is not None:
            self._tuner.fixed.add(name)

    def followed(self) -> dict[str, int]:
        """How many parameters follow each number."""
        return {} if self._tuner is None else {name: len(told) for name, told in self._tuner.watchers.items()}

    def is_fixed(self, name: str) -> bool:
        """Whether :meth:`fix` was called for the number."""
        return self._tuner is not None and name in self._tuner.fixed

    def tunables(self) -> dict[str, Tunable]:
        """The numbers that the counterparts built so far took as parameters."""
        if self._tuner is None:
            return {}
        return {name: Tunable(self, name) for name in self._tuner.watchers if name not in self._tuner.fixed}

    def retune(self, name: str, value: Any) -> None:
        """Change a number of a tunable set in place, and every parameter that follows from it.

        Raises InputError, and changes nothing, where the value is refused.
        """
        changed = self.replaced(**{name: value})
        followers = self._tuner.watchers.get(name, []) if self._tuner is not None else []
        try:
            for follow in followers:
                follow(changed)
        except InputError:
            before = self.plain()
            for follow in followers:
                follow(before)
            raise
        self._assign(name, value)

    def _assign(self, name: str, value: Any) -> None:
        new = {name: self._like(name, value)}
        changed = self._computed(new) | new
        self._forget()
        for attribute, held in changed.items():
            object.__setattr__(self, attribute, held)


# What is asked of every set by a call, beside what a class may state of its members.
ASKED = {
    name
    for name, held in vars(UncertaintySet).items()
    if (callable(held) or isinstance(held, property)) and not name.startswith("_")
} - {*STATED}


class _MomentFamily(UncertaintySet):
    """What mean, covariance and joint sets share: they are centred on nominal moments."""

    mean: Any = _FromMoments(lambda moments: moments.mean)
    covariance: Any = _FromMoments(lambda moments: moments.covariance)
    factor: Any = _FromMoments(lambda moments: moments.factor)
    unit: Any = _FromMoments(lambda moments: moments.unit)
    dimension: Any = _FromMoments(lambda moments: moments.mean.shape[0])

    def centred(self, moments: Any) -> Any:
        """A copy of the recipe around nominal moments (with ``mean``, ``covariance``, ``factor`` and ``unit``)."""
        # Of the class, since a factor of many columns is made when it is asked for.
        if not hasattr(getattr(moments, "mean", None), "shape") or not hasattr(type(moments), "factor"):
            raise InputError(f"moments: {shown(moments)} was found; give cn.Moments")
        self._same_size(moments.mean.shape[0])

        def make() -> Any:
            made = self._copy(_moments=moments)
            made.validate()
            made.check_range()
            return made

        return self._remembered(moments, make)


class CovarianceSet(_MomentFamily):
    r"""A set of covariance matrices around the nominal ``center``.

    ``membership(S)`` gets a matrix that is symmetric by construction; :math:`S \succeq 0` is added by the library.
    """

    family = "covariance"
    center: Any = _FromMoments(lambda moments: moments.covariance)

    @abc.abstractmethod
    def membership(self, S: cp.Expression) -> Any:
        """Constraints that say when ``S`` is a member."""
        raise NotImplementedError(f"{type(self).__name__} must define membership(self, S)")

    def worst_deviation(self, a: cp.Expression) -> Counterpart | cp.Expression | None:
        r""":math:`\sup_S \sqrt{a'Sa}` in closed form, or None to have it derived."""
        return None

    def added_deviation(self, a: cp.Expression) -> Counterpart | cp.Expression | None:
        r"""A convex :math:`e \ge 0` with :math:`\sup_S a'Sa = a'S_0a + e^2`, attained by a member that is nowhere below the
        centre; None where the class gives none. Sums add such squares. Numbers stand inside of norms, whose values have no unit then."""
        return None

    def worst_member(self, a: Array) -> Array | None:
        """A member that attains :meth:`worst_deviation` in closed form, or None: :func:`worst_member` finds one for every set."""
        return None

    def ellipsoidal(self) -> Array | None:
        r"""The matrix :math:`C` with :math:`\sup_S a'Sa = a'Ca` for every :math:`a`, or None if there is none."""
        return None

    def sample(self, rng: np.random.Generator) -> Array | None:
        """A random member, or None where the class cannot draw one."""
        return None

    def gauge(self, S: Array) -> float | None:
        """The least radius at which ``S`` is a member, or None to have it found."""
        return None


class MeanSet(_MomentFamily):
    """A set of means around the nominal ``center``.

    ``membership(m)`` for a set of its own, ``membership(m, S)`` for one that depends on the covariance of the same
    distribution; the signature tells which.
    """

    family = "mean"
    center: Any = _FromMoments(lambda moments: moments.mean)

    @abc.abstractmethod
    def membership(self, *args: Any, **kwargs: Any) -> Any:
        """Constraints that say when the mean ``m`` is a member: ``membership(m)`` or ``membership(m, S)``."""
        raise NotImplementedError(f"{type(self).__name__} must define membership(self, m)")

    @property
    def uses_covariance(self) -> bool:
        """Whether ``membership`` asks for the covariance."""
        return len(inspect.signature(self.membership).parameters) > 1

    def support(self, a: cp.Expression) -> Counterpart | cp.Expression | None:
        r""":math:`\sup_m a'm` in closed form, or None to have it derived."""
        return None

    @property
    def deviations(self) -> Any:
        r"""The number (or parameter) :math:`\nu` with :math:`\sup_m a'm = a'm_0 + \nu\sqrt{a'Sa}` for the covariance
        :math:`S` of the same distribution, or None for other sets."""
        return None

    def worst_member(self, a: Array, S: Array) -> Array | None:
        """A mean that attains the support beside ``S`` in closed form, or None: :func:`worst_member` finds one for every set."""
        return None

    def sample(self, rng: np.random.Generator) -> Array | None:
        """A random member, or None where the class cannot draw one."""
        return None

    def gauge(self, m: Array, S: Array) -> float | None:
        """The least radius at which ``m`` is a member beside the covariance ``S``, or None to have it found."""
        return None


class MomentSet(_MomentFamily):
    """A set of pairs of mean and covariance around the nominal pair ``center``."""

    family = "moments"
    center: Any = _FromMoments(lambda moments: (moments.mean, moments.covariance))
    center_mean: Any = _FromMoments(lambda moments: moments.mean)
    center_covariance: Any = _FromMoments(lambda moments: moments.covariance)

    @abc.abstractmethod
    def membership(self, m: cp.Expression, S: cp.Expression) -> Any:
        """Constraints that say when the pair is a member."""
        raise NotImplementedError(f"{type(self).__name__} must define membership(self, m, S)")

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart | cp.Expression | None:
        r""":math:`\sup m'a + \kappa\sqrt{a'Sa}` in closed form, or None to have it derived."""
        return None

    def worst_deviation(self, a: cp.Expression) -> Counterpart | cp.Expression | None:
        r""":math:`\sup \sqrt{a'Sa}` in closed form, or None to have it derived."""
        return None

    def worst_member(self, a: Array, kappa: float) -> tuple[Array, Array] | None:
        """A pair that attains :meth:`worst_loss` in closed form, or None: :func:`worst_member` finds one for every set."""
        return None

    def ellipsoidal(self, kappa: Any) -> tuple[Any, Array] | None:
        r"""The pair :math:`(\lambda, C)` with worst loss :math:`m_0'a + \lambda\sqrt{a'Ca}` and worst deviation
        :math:`\sqrt{a'Ca}` for every :math:`a`, or None if there is none."""
        return None

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array] | None:
        """A random member, or None where the class cannot draw one."""
        return None

    def gauge(self, m: Array, S: Array) -> float | None:
        """The least radius at which the pair is a member, or None to have it found."""
        return None


class _Centre:
    """The centre of a point set: the origin by default."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return np.zeros(instance.dimension) if instance._center is None else instance._center


class PointSet(UncertaintySet):
    """A set of points around ``center``, which is the origin until :meth:`centred` moves it."""

    family = "points"
    center: Any = _Centre()
    _center: Array | None = None

    @abc.abstractmethod
    def membership(self, u: cp.Expression) -> Any:
        """Constraints that say when ``u`` is a member."""
        raise NotImplementedError(f"{type(self).__name__} must define membership(self, u)")

    def centred(self, center: Any) -> Any:
        """A copy of the recipe around a point."""
        made = self._copy(_center=read_only(vector(center, "center", self.size).copy()))
        made.validate()
        made.check_range()
        return made

    @property
    def dimension(self) -> int:
        """Length of the points."""
        found = self.size if self._center is None else self._center.size
        if found is None:
            raise InputError(f"{self!r}: its dimension is known once the set is centred; call .centred(np.zeros(p))")
        return found

    def support(self, w: cp.Expression) -> Counterpart | cp.Expression | None:
        r""":math:`\sup_u w'u` in closed form, or None to have it derived."""
        return None

    def worst_member(self, w: Array) -> Array | None:
        """A point that attains :meth:`support` in closed form, or None: :func:`worst_member` finds one for every set."""
        return None

    def sample(self, rng: np.random.Generator) -> Array | None:
        """A random member, or None where the class cannot draw one."""
        return None

    def gauge(self, u: Array) -> float | None:
        """The least radius at which ``u`` is a member, or None to have it found."""
        return None


def attainment(uncertainty: UncertaintySet | None) -> Literal["=", "<="]:
    """How the worst case over the members compares with the set's own counterpart."""
    return "=" if uncertainty is None or uncertainty.exactness == "exact" else "<="


# -- tools for closed forms ------------------------------------------------------------------------------------------


def epigraph(value: cp.Expression) -> Counterpart:
    """The same supremum through one variable, so that it may be multiplied by a parameter when it has its own."""
    level = cp.Variable()
    return Counterpart(convex(level), [value <= level])


def scaled(factor: Any, counterpart: Counterpart | cp.Expression) -> Counterpart:
    """``factor`` (a number, or a nonnegative CVXPY parameter) times a counterpart, within the rules of DPP.

    The product of two parameters is outside of them, so that a value which holds parameters goes through a variable.
    """
    made = as_counterpart(counterpart)
    if isinstance(factor, cp.Expression) and factor.parameters() and made.value.parameters():
        lifted = epigraph(made.value)
        return Counterpart(factor * lifted.value, [*made.constraints, *lifted.constraints])
    return Counterpart(factor * made.value, made.constraints)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    if isinstance(value, float):
        return f"{value:g}"
    return repr(value)
