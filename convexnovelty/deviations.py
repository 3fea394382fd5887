r"""By how much frequencies in a sample may differ from probabilities, for all sets of a class at once.

A deviation bound turns counts into bounds: with probability at least :math:`1-d` over a sample of n independent points
of a distribution Q,

.. math:: Q(A) \ge \text{lower}(\#A, n, d) \quad\text{for every set } A \text{ of the class},

and likewise, with probability at least :math:`1-d`, :math:`Q(A) \le \text{upper}(\#A, n, d)`. Each is one-sided.
Whoever needs both, or needs one on each of two samples, gives each a share of the error: 1 - (d + d) is what is left of
two events of probability 1 - d. Theorem 5 of Scott and Blanchard (2009) uses two and gives each the whole of it; here
each gets half.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import special

from convexnovelty.errors import InputError
from convexnovelty.validation import Array, integer, listed, number, numeric

__all__ = ["DKW", "VC", "Allots", "Deviation", "ExactBinomial", "FiniteClass", "GrowingClasses", "UniformDeviation"]


class Allots(Protocol):
    """What can say which bound holds for each of several scores, and with which share of the error."""

    def allotments(self, columns: int) -> list[tuple[Deviation, float]]:
        """A bound and its share of the error for each column of scores; the shares add up to one at most."""
        ...


class Deviation(ABC):
    r"""One-sided bounds on the probabilities of all sets of a class, from their counts in a sample.

    Laws
    ----
    - ``lower(c, n, d) <= c / n <= upper(c, n, d)`` for every d in (0, 1/2]
    - ``lower`` grows with d and ``upper`` falls: what is said with less confidence says more.
    - For every distribution and every d in (0, 1/2], in at least a share 1 - d of all samples
      ``probability >= lower(count, n, d)`` for all sets of the class; likewise for ``upper``.

    Attributes
    ----------
    name, source, latex : its name, where it comes from, and the bound as a formula.
    claim : for which sets it holds, to end a sentence with.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    latex: ClassVar[str]

    @property
    @abstractmethod
    def claim(self) -> str:
        """For which sets the bound holds."""

    @abstractmethod
    def lower(self, counts: Any, size: int, delta: float) -> Array:
        """Lower bounds on probabilities, of the shape of ``counts``: one count a set, whole numbers from 0 to ``size``."""

    @abstractmethod
    def upper(self, counts: Any, size: int, delta: float) -> Array:
        """Upper bounds on probabilities, of the shape of ``counts``: one count a set, whole numbers from 0 to ``size``."""

    @property
    def finite(self) -> bool:
        """Whether it holds only for finitely many sets, chosen without looking at the sample."""
        return False

    def over(self, sets: int) -> Deviation:
        """The same bound for ``sets`` sets; a bound for all sets of a class is the same for any number of them."""
        return self

    def allotments(self, columns: int) -> list[tuple[Deviation, float]]:
        """Itself with the whole of the error, for one score; for several scores see :class:`GrowingClasses`."""
        if integer(columns, "columns", 1) != 1:
            raise InputError(
                f"deviation: {self.name} bounds the thresholds of one score, but {columns} columns of scores were "
                f"found; give deviation=GrowingClasses([...]) with one bound a column"
            )
        return [(self, 1.0)]

    @classmethod
    def examples(cls) -> list[Deviation]:
        """Instances worth checking."""
        return [cls()]


class UniformDeviation(Deviation):
    """A bound of the form |Q(A) - frequency of A| <= margin, the same for every set of the class."""

    @abstractmethod
    def margin(self, size: int, delta: float) -> float:
        """The paper's epsilon_n(F, delta) for n = ``size``."""

    def margin_over(self, sets: int, size: int, delta: float) -> float:
        """The margin for ``sets`` sets of the class; one for all sets is the same for any number of them."""
        return self.margin(size, delta)

    def lower(self, counts: Any, size: int, delta: float) -> Array:
        """Frequency less margin, as printed: it may lie below zero."""
        found, size = _counts(counts, size)
        return np.asarray(found / size - self.margin_over(found.size, size, delta))

    def upper(self, counts: Any, size: int, delta: float) -> Array:
        """Frequency plus margin, as printed: it may lie above one."""
        found, size = _counts(counts, size)
        return np.asarray(found / size + self.margin_over(found.size, size, delta))


@dataclass(frozen=True)
class DKW(UniformDeviation):
    r"""Dvoretzky, Kiefer and Wolfowitz, one-sided, with Massart's constant: all thresholds of one score at once.

    .. math:: \varepsilon_n(d) = \sqrt{\frac{\ln(1/d)}{2n}},\qquad d \le \tfrac12

    The score must not depend on the points that are counted: fit it on one part of the data and count on another, as
    :func:`~convexnovelty.novelty_scores.held_out_scores` does. Ties need no care: the bound holds for scores of any
    distribution.

    Examples
    --------
    >>> round(DKW().margin(4, 0.025), 8)
    0.67905076
    """

    name: ClassVar[str] = "Dvoretzky-Kiefer-Wolfowitz"
    source: ClassVar[str] = "Massart (1990), theorem 1"
    latex: ClassVar[str] = r"\varepsilon_n(d)=\sqrt{\ln(1/d)/(2n)}"

    @property
    def claim(self) -> str:
        """For which sets the bound holds."""
        return "all thresholds of one score that was fitted on other data"

    def margin(self, size: int, delta: float) -> float:
        """Raises InputError for d > 1/2, for which the one-sided inequality is false."""
        delta = _error(delta)
        if delta > 0.5:
            raise InputError(f"delta: {delta:.6g} was found; the one-sided inequality holds for d up to 1/2")
        return math.sqrt(-math.log(delta) / (2 * _points(size)))


@dataclass(frozen=True)
class VC(UniformDeviation):
    r"""The bound of theorem 6, as printed: all classifiers of a class of Vapnik-Chervonenkis dimension V at once.

    .. math:: \varepsilon_n(\mathcal F, d) = 3\sqrt{\frac{V\ln(n+1) - \ln(d/2)}{n}}

    It holds for scores that were fitted on the very points that are counted, as long as every set
    :math:`\{z : s(z) > t\}` belongs to the class. Symmetrisation gives
    :math:`2\sqrt{2\ln(2(n+1)^V)/n}` for the mean of the largest deviation and bounded differences add
    :math:`\sqrt{\ln(1/d)/(2n)}`; together they are at most :math:`\sqrt{8.5}` times the root above, so that the printed
    3 is right.

    Parameters
    ----------
    dimension : V, a whole number of at least 1. Thresholds of a fixed score have 1, half-spaces of R^p have p + 1.
    """

    dimension: int = 1

    name: ClassVar[str] = "Vapnik-Chervonenkis"
    source: ClassVar[str] = "Scott and Blanchard (2009), theorem 6"
    latex: ClassVar[str] = r"\varepsilon_n(\mathcal F,d)=3\sqrt{(V\ln(n+1)-\ln(d/2))/n}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", integer(self.dimension, "dimension", 1))

    @classmethod
    def of_half_spaces(cls, columns: int) -> VC:
        """Half-spaces of R^p: V = p + 1."""
        return cls(integer(columns, "columns", 1) + 1)

    @classmethod
    def of_polynomials(cls, columns: int, degree: int) -> VC:
        """Sets on which a polynomial of p variables and this degree is positive: V = binomial(p + degree, degree)."""
        columns, degree = integer(columns, "columns", 1), integer(degree, "degree", 1)
        return cls(math.comb(columns + degree, degree))

    @property
    def claim(self) -> str:
        """For which sets the bound holds."""
        return f"all classifiers of a class of VC dimension {self.dimension}"

    def margin(self, size: int, delta: float) -> float:
        """The printed epsilon."""
        delta, size = _error(delta), _points(size)
        return 3 * math.sqrt((self.dimension * math.log(size + 1) + math.log(2) - math.log(delta)) / size)

    @classmethod
    def examples(cls) -> list[Deviation]:
        """A threshold, and half-spaces of the plane."""
        return [cls(1), cls.of_half_spaces(2)]


@dataclass(frozen=True)
class FiniteClass(UniformDeviation):
    r"""Hoeffding's inequality and a union bound over finitely many sets that were chosen without the sample.

    .. math:: \varepsilon_n(d) = \sqrt{\frac{\ln(N/d)}{2n}}

    Parameters
    ----------
    size : N; None means as many as are looked at: as many as there are counts.
    """

    size: int | None = None

    name: ClassVar[str] = "finite class"
    source: ClassVar[str] = "Hoeffding (1963), theorem 1, with a union bound"
    latex: ClassVar[str] = r"\varepsilon_n(d)=\sqrt{\ln(N/d)/(2n)}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _size(self.size))

    @property
    def finite(self) -> bool:
        """Whether it holds only for finitely many sets, chosen without looking at the sample."""
        return True

    @property
    def claim(self) -> str:
        """For which sets the bound holds."""
        return f"{_many(self.size)} classifiers that were chosen beforehand"

    def over(self, sets: int) -> Deviation:
        """The same bound for ``sets`` sets; InputError if there are more than it was made for."""
        return dataclasses.replace(self, size=_enough(self.size, sets))

    def margin(self, size: int, delta: float) -> float:
        """Hoeffding's margin at d / N; of one set where N was not given."""
        return self.margin_over(1, size, delta)

    def margin_over(self, sets: int, size: int, delta: float) -> float:
        """Hoeffding's margin at d / N, with N = ``sets`` where it was not given."""
        return math.sqrt(
            (math.log(self.size or max(integer(sets, "sets", 0), 1)) - math.log(_error(delta))) / (2 * _points(size))
        )

    @classmethod
    def examples(cls) -> list[Deviation]:
        """One classifier, and five."""
        return [cls(1), cls(5)]


@dataclass(frozen=True)
class ExactBinomial(Deviation):
    r"""Clopper and Pearson's exact limits and a union bound over finitely many sets that were chosen beforehand.

    A count c out of n gives the quantiles of beta distributions

    .. math:: \text{lower} = B^{-1}(d/N;\ c,\ n-c+1),\qquad \text{upper} = B^{-1}(1-d/N;\ c+1,\ n-c).

    Near rates of 0 and 1 they are far closer than any bound with one margin for all sets: 0 out of n gives the upper
    limit :math:`1-(d/N)^{1/n}\approx\ln(N/d)/n`.

    Parameters
    ----------
    size : N; None means as many as are looked at: as many as there are counts.
    """

    size: int | None = None

    name: ClassVar[str] = "exact binomial"
    source: ClassVar[str] = "Clopper and Pearson (1934), with a union bound"
    latex: ClassVar[str] = r"B^{-1}(d/N;\,c,\,n-c+1)\le Q(A)\le B^{-1}(1-d/N;\,c+1,\,n-c)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _size(self.size))

    @property
    def finite(self) -> bool:
        """Whether it holds only for finitely many sets, chosen without looking at the sample."""
        return True

    @property
    def claim(self) -> str:
        """For which sets the bound holds."""
        return f"{_many(self.size)} classifiers that were chosen beforehand"

    def over(self, sets: int) -> Deviation:
        """The same bound for ``sets`` sets; InputError if there are more than it was made for."""
        return dataclasses.replace(self, size=_enough(self.size, sets))

    def lower(self, counts: Any, size: int, delta: float) -> Array:
        """Zero for a count of zero; otherwise the d / N quantile of Beta(c, n - c + 1)."""
        counts, size = _counts(counts, size)
        above = np.maximum(counts, 1.0)
        return np.where(counts > 0, beta_quantile(self._each(counts, delta), above, size - above + 1), 0.0)

    def upper(self, counts: Any, size: int, delta: float) -> Array:
        """One for a count of n; otherwise the 1 - d / N quantile of Beta(c + 1, n - c)."""
        counts, size = _counts(counts, size)
        below = np.minimum(counts, size - 1.0)
        # By symmetry, and not as the quantile at 1 - d, which has no digits left for the d of a small p-value.
        return np.where(counts < size, 1 - beta_quantile(self._each(counts, delta), size - below, below + 1), 1.0)

    def _each(self, counts: Array, delta: float) -> float:
        return _error(delta) / (self.size or max(counts.size, 1))

    @classmethod
    def examples(cls) -> list[Deviation]:
        """One classifier, and five."""
        return [cls(1), cls(5)]


@dataclass(frozen=True)
class GrowingClasses:
    r"""A bound for each of a sequence of classes, of which the best may be chosen afterwards (theorem 6).

    The k-th class gets the share :math:`6/(\pi^2k^2)` of the error. The paper writes :math:`\delta k^{-2}`, whose sum
    is :math:`\delta\pi^2/6`: enough for consistency, for which it is used there, but not for the confidence
    :math:`1-\delta`.

    Parameters
    ----------
    parts : one deviation bound a class, in the order in which the classes grow.

    Examples
    --------
    >>> classes = GrowingClasses([VC.of_polynomials(2, degree) for degree in (1, 2, 3)])
    >>> [bound.dimension for bound, _ in classes.allotments(3)]
    [3, 6, 10]
    """

    parts: Sequence[Deviation]

    def __post_init__(self) -> None:
        given = tuple(listed(self.parts, "parts", "a list of deviation bounds, one a class"))
        if not given or not all(isinstance(part, Deviation) for part in given):
            raise InputError("parts: give at least one deviation bound, for example GrowingClasses([VC(3), VC(6)])")
        object.__setattr__(self, "parts", given)

    def allotments(self, columns: int) -> list[tuple[Deviation, float]]:
        """The bounds with their shares; InputError unless there is one bound a column."""
        if integer(columns, "columns", 1) != len(self.parts):
            raise InputError(
                f"deviation: {len(self.parts)} bounds were found for {columns} column(s) of scores; give one a column"
            )
        return [(part, 6 / (math.pi * k) ** 2) for k, part in enumerate(self.parts, start=1)]


def beta_quantile(q: float, a: Array, b: Array) -> Array:
    """x with I_x(a, b) = q, of the shape of a and b; right for q down to 1e-300, where library quantiles return NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "root finding exceeded": what it found is tried below
        x = np.asarray(special.betaincinv(a, b, q))
        wrong = ~(np.abs(special.betainc(a, b, x) - q) <= 1e-10 * q)
    if wrong.any():
        low, high = np.full(a.shape, math.log(np.finfo(float).tiny)), np.zeros(a.shape)
        for _ in range(70):  # halves 708 down to the last digit
            middle = (low + high) / 2
            beyond = special.betainc(a, b, np.exp(middle)) > q
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        x = np.where(wrong, np.exp(low), x)
    return x


def _error(delta: float) -> float:
    value = number(delta, "delta")
    if not 0 < value <= 1:
        raise InputError(f"delta: {value:.6g} was found; give the probability of error, in (0, 1]")
    return value


def _points(size: Any) -> int:
    return integer(size, "size", 1)


def _counts(counts: Any, size: Any) -> tuple[Array, int]:
    """Counts as floats of their own shape, and the most that they can be."""
    found, most = numeric(counts, "counts"), _points(size)
    wrong = ~((found >= 0) & (found <= most) & (found == np.floor(found)))
    if wrong.any():
        raise InputError(f"counts: {found[wrong].flat[0]:.6g} was found; give whole numbers from 0 to {most}")
    return found, most


def _size(size: Any) -> int | None:
    return None if size is None else integer(size, "size", 1)


def _many(size: int | None) -> str:
    return "finitely many" if size is None else f"{size}"


def _enough(size: int | None, sets: int) -> int:
    sets = integer(sets, "sets", 0)
    if size is not None and sets > size:
        raise InputError(
            f"size: the bound was made for {size} classifier(s), but {sets} are looked at; give size={sets} or fewer "
            f"thresholds"
        )
    return sets if size is None else size
