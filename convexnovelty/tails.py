r"""Tails: what mean and variance, with or without a word on the shape, say about the probability of a half-space.

For a point y with mean m and covariance S, and :math:`b = a'm + t\sqrt{a'Sa}`, a tail bounds the probability of the
outside, :math:`\sup P(a'y > b) = \beta(t)`. The chance constraint of a minimax machine is then

.. math:: \inf P(a'y \le b) \ge c \iff b - a'm \ge \kappa(c) \sqrt{a'Sa}, \qquad
    \kappa(c) = \min\{t \ge 0 : \beta(t) \le 1 - c\}.

A tail is an object that one swaps, like a set of moments. A new tail is one subclass of :class:`Tail`, a frozen
dataclass with a bound and its inverse.

>>> [round(tail.kappa(0.9), 4) for tail in (Chebyshev(), Unimodal(), Gaussian())]
[3.0, 1.8559, 1.2816]
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from convexnovelty.errors import InputError
from convexnovelty.extremal import ExtremalDistribution, extremal_distribution
from convexnovelty.validation import fraction, nonnegative, number, positive

__all__ = [
    "Chebyshev",
    "ExtremalDistribution",
    "Gaussian",
    "Student",
    "Symmetric",
    "SymmetricUnimodal",
    "Tail",
    "Unimodal",
    "all_tails",
    "as_tail",
    "extremal_distribution",
]

INVERTED = (
    1e-6  # share of 1 - c by which the bound may miss it: roots of a bound are found to fewer digits than formulas
)


@dataclass(frozen=True)
class Tail(ABC):
    r"""A family of distributions of one variable, through its largest probability beyond t standard deviations.

    Laws
    ----
    - ``bound`` does not increase, and is 1 below the mean unless the family is a single law.
    - ``bound(kappa(c)) <= 1 - c`` for every c in [0, 1), with equality if ``kappa(c) > 0``.
    - ``confidence(t) == 1 - bound(t)`` for t >= 0, hence ``confidence(kappa(c)) == c`` if ``kappa(c) > 0``.
    - ``kappa(0) == 0``. Never negative: a negative kappa would make the constraint non-convex, so that a confidence
      below ``confidence(0)`` is granted in full and more.

    Attributes
    ----------
    name : what it is called. latex : the formula of kappa(c). sentence : for whom the bound holds.
    """

    name: ClassVar[str]
    latex: ClassVar[str]

    @property
    @abstractmethod
    def sentence(self) -> str:
        """For whom the bound holds, to be read after "P(outside) <= 0.1 for"."""

    @abstractmethod
    def bound(self, t: float) -> float:
        """The largest P(outside) when the boundary lies t standard deviations beyond the mean."""

    @abstractmethod
    def _quantile(self, c: float, outside: float) -> float:
        """The t > 0 with bound(t) = outside, where outside = 1 - c lies in (0, bound(0)).

        Both are given, so that neither a small c nor a small 1 - c is rounded away.
        """

    @classmethod
    def examples(cls) -> list[Tail]:
        """Objects of this class to be checked."""
        return [cls()]

    def kappa(self, confidence: Any) -> float:
        """The least t >= 0 at which ``bound(t) <= 1 - confidence``, for a confidence in [0, 1).

        Raises InputError for a confidence outside [0, 1), since no finite distance gives certainty, and for a tail whose
        own bound leaves more than ``1 - confidence`` there: every guarantee would be false.
        """
        c = fraction(confidence, "confidence", zero=True)
        outside = 1.0 - c  # without rounding for c >= 1/2
        if c == 0.0 or (outside >= self.bound(0.0) and self.bound(0.0) < 1.0):
            return 0.0
        t = self._quantile(c, outside)
        if not (t >= 0.0 and (left := self.bound(t)) <= outside * (1.0 + INVERTED)):
            told = f"whose bound is {left:.6g}" if t >= 0.0 else "which is no distance"
            raise InputError(
                f"tail: {self!r} has kappa({c:.6g}) = {t:.6g}, {told} where at most {outside:.6g} may be left outside; give a "
                "tail whose _quantile is the inverse of its bound"
            )
        return t

    def confidence(self, kappa: Any) -> float:
        """The confidence that a multiple kappa >= 0 of the standard deviation gives: 1 - bound(kappa)."""
        return 1.0 - self.bound(nonnegative(kappa, "kappa"))


def all_tails() -> dict[str, type[Tail]]:
    """Every tail class by name; a subclass of :class:`Tail` is found by existing."""

    def walk(kind: Any) -> Iterator[type[Tail]]:
        for child in kind.__subclasses__():
            yield child
            yield from walk(child)

    return {kind.name: kind for kind in walk(Tail) if "name" in vars(kind)}


def as_tail(tail: Tail | str | None) -> Tail:
    """A tail from a Tail, its name, or None for Chebyshev. Raises InputError for anything else."""
    if tail is None:
        return Chebyshev()
    if isinstance(tail, Tail):
        return tail
    kinds = all_tails()
    if isinstance(tail, str) and tail in kinds:
        return kinds[tail].examples()[0]
    raise InputError(f"tail: {tail!r} was found; give a Tail, or one of {', '.join(sorted(kinds))}")


@dataclass(frozen=True)
class Chebyshev(Tail):
    r"""Every distribution: :math:`\beta(t) = 1/(1 + t^2)`, so :math:`\kappa(c) = \sqrt{c/(1 - c)}`.

    Tight: :func:`extremal_distribution` attains it. Source: equation 1 of the single-class minimax probability
    machine (Marshall and Olkin 1960).
    """

    name: ClassVar[str] = "chebyshev"
    latex: ClassVar[str] = r"\kappa(c) = \sqrt{c / (1 - c)}"

    @property
    def sentence(self) -> str:
        """See :attr:`Tail.sentence`."""
        return "every distribution with this mean and covariance"

    def bound(self, t: float) -> float:
        """1 / (1 + t^2), and 1 below the mean."""
        t = number(t, "t")
        return 1.0 if t <= 0 else 1.0 / (1.0 + t * t)

    def _quantile(self, c: float, outside: float) -> float:
        return math.sqrt(c / outside)


@dataclass(frozen=True)
class Gaussian(Tail):
    r"""The Gaussian law: :math:`\beta(t) = \Phi(-t)`, so :math:`\kappa(c) = \Phi^{-1}(c)` for :math:`c \ge 1/2`.

    Source: remark 3 of the probabilistic one-class classifier.
    """

    name: ClassVar[str] = "gaussian"
    latex: ClassVar[str] = r"\kappa(c) = \max(0, \Phi^{-1}(c))"

    @property
    def sentence(self) -> str:
        """See :attr:`Tail.sentence`."""
        return "the Gaussian distribution with this mean and covariance"

    def bound(self, t: float) -> float:
        """Phi(-t)."""
        return 0.5 * math.erfc(number(t, "t") / math.sqrt(2.0))

    def _quantile(self, c: float, outside: float) -> float:
        from scipy.special import ndtri

        return -float(ndtri(outside))


@dataclass(frozen=True)
class Student(Tail):
    r"""Student's law with ``dof`` > 2 degrees of freedom, scaled to variance 1.

    .. math:: \beta(t) = T_{\mathrm{dof}}\bigl(-t \sqrt{\mathrm{dof}/(\mathrm{dof} - 2)}\bigr)

    Heavier than the Gaussian far out; for dof to infinity the two agree.
    """

    dof: float = 5.0
    name: ClassVar[str] = "student"
    latex: ClassVar[str] = r"\kappa(c) = \max(0, T_{\nu}^{-1}(c)) \sqrt{(\nu - 2) / \nu}"

    def __post_init__(self) -> None:
        dof = positive(self.dof, "dof")
        if dof <= 2:
            raise InputError(f"dof: {dof:.6g} was found; give more than 2, since below that there is no variance")
        object.__setattr__(self, "dof", dof)

    @classmethod
    def examples(cls) -> list[Tail]:
        """A heavy and a light tail."""
        return [cls(), cls(2.5), cls(30.0)]

    @property
    def sentence(self) -> str:
        """See :attr:`Tail.sentence`."""
        return f"the Student distribution with {self.dof:.6g} degrees of freedom and this mean and covariance"

    @property
    def _deviation(self) -> float:
        return math.sqrt(self.dof / (self.dof - 2.0))

    def bound(self, t: float) -> float:
        """The probability beyond t standard deviations."""
        from scipy.special import stdtr

        return float(stdtr(self.dof, -number(t, "t") * self._deviation))

    def _quantile(self, c: float, outside: float) -> float:
        from scipy.special import stdtrit

        return -float(stdtrit(self.dof, outside)) / self._deviation


@dataclass(frozen=True)
class Symmetric(Tail):
    r"""Laws that are symmetric about the mean: :math:`\beta(t) = \min(1/2, 1/(2t^2))` for :math:`t \ge 0`.

    Source: the two-sided Chebyshev inequality, half of whose probability lies on each side.
    """

    name: ClassVar[str] = "symmetric"
    latex: ClassVar[str] = r"\kappa(c) = 1 / \sqrt{2(1 - c)}\ \text{for}\ c > 1/2,\ \text{else}\ 0"

    @property
    def sentence(self) -> str:
        """See :attr:`Tail.sentence`."""
        return "every distribution that is symmetric about this mean and has this covariance"

    def bound(self, t: float) -> float:
        """1/2 up to t = 1, then 1/(2 t^2); 1 below the mean."""
        t = number(t, "t")
        return 1.0 if t < 0 else 0.5 if t <= 1 else 0.5 / (t * t)

    def _quantile(self, c: float, outside: float) -> float:
        return 1.0 / math.sqrt(2.0 * outside)


@dataclass(frozen=True)
class Unimodal(Tail):
    r"""Unimodal laws, the mode anywhere.

    .. math:: \beta(t) = \frac{4}{9(1 + t^2)}\ \text{for}\ t^2 \ge \tfrac53, \qquad
        \frac{4}{3(1 + t^2)} - \frac13\ \text{below}

    Source: the one-sided Gauss inequality (Vysochanskij and Petunin 1985).
    """

    name: ClassVar[str] = "unimodal"
    latex: ClassVar[str] = (
        r"\kappa(c) = \sqrt{4 / (9(1 - c)) - 1}\ \text{for}\ c \ge 5/6,\ \text{else}\ \sqrt{3c / (4 - 3c)}"
    )

    @property
    def sentence(self) -> str:
        """See :attr:`Tail.sentence`."""
        return "every distribution with this mean and covariance that is unimodal along the normal"

    def bound(self, t: float) -> float:
        """4/(9(1 + t^2)) or 4/(3(1 + t^2)) - 1/3; 1 below the mean."""
        t = number(t, "t")
        if t <= 0:
            return 1.0
        square = t * t
        return 4.0 / (9.0 * (1.0 + square)) if square >= 5.0 / 3.0 else (3.0 - square) / (3.0 * (1.0 + square))

    def _quantile(self, c: float, outside: float) -> float:
        if outside <= 1.0 / 6.0:
            return math.sqrt(4.0 / (9.0 * outside) - 1.0)
        return math.sqrt(3.0 * c / (1.0 + 3.0 * outside))


@dataclass(frozen=True)
class SymmetricUnimodal(Tail):
    r"""Laws that are symmetric about the mean and unimodal there.

    .. math:: \beta(t) = \frac{2}{9t^2}\ \text{for}\ t \ge \tfrac{2}{\sqrt3}, \qquad
        \frac12 - \frac{t}{2\sqrt3}\ \text{for}\ 0 \le t\ \text{below}

    Source: Gauss's inequality of 1823, half of whose probability lies on each side.
    """

    name: ClassVar[str] = "symmetric_unimodal"
    latex: ClassVar[str] = (
        r"\kappa(c) = \sqrt{2 / (9(1 - c))}\ \text{for}\ c \ge 5/6,\ \text{else}\ \max(0, 2\sqrt3\,(c - 1/2))"
    )

    @property
    def sentence(self) -> str:
        """See :attr:`Tail.sentence`."""
        return "every distribution with this mean and covariance that is symmetric and unimodal about the mean"

    def bound(self, t: float) -> float:
        """2/(9 t^2) or 1/2 - t/(2 sqrt 3); 1 below the mean."""
        t = number(t, "t")
        if t < 0:
            return 1.0
        return 2.0 / (9.0 * t * t) if t * math.sqrt(3.0) >= 2.0 else 0.5 - t / (2.0 * math.sqrt(3.0))

    def _quantile(self, c: float, outside: float) -> float:
        if outside <= 1.0 / 6.0:
            return math.sqrt(2.0 / (9.0 * outside))
        return 2.0 * math.sqrt(3.0) * (c - 0.5)
