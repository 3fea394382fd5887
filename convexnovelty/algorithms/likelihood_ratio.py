r"""The most powerful test between two known distributions on a finite set, by the lemma of Neyman and Pearson.

A randomised test calls the i-th value novel with probability :math:`f_i`. Among those with
:math:`\sum_i p_{0i}f_i \le \alpha` the smallest :math:`\sum_i p_{Xi}(1-f_i)` has

.. math:: f_i = 1 \text{ where } p_{Xi}/p_{0i} > \lambda,\qquad f_i = \gamma \text{ where it is equal},\qquad
          f_i = 0 \text{ where it is smaller}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.validation import Array, fraction, vector

__all__ = ["RandomisedTest", "distributions", "likelihood_ratio_test", "likelihood_ratios"]

# Ratios that differ by less, relatively, are one value of the ratio that rounding has split.
SAME_RATIO = 1e-12
# A sum of probabilities may miss one by rounding of their decimal digits, and is then divided out.
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class RandomisedTest:
    """A test by likelihood ratios.

    Attributes
    ----------
    novel : (k,) probability with which each value is called novel.
    threshold, randomisation : lambda and gamma.
    false_positive_rate, false_negative_rate : R_0 and R_X of the test.
    """

    novel: Array
    threshold: float
    randomisation: float
    false_positive_rate: float
    false_negative_rate: float


def distributions(
    *given: Any, names: tuple[str, ...] = ("nominal_probabilities", "unlabelled_probabilities")
) -> list[Array]:
    """Distributions on one finite set as vectors that sum to one.

    Raises InputError for a negative entry, for a sum that is not one, and for vectors of different lengths.
    """
    found: list[Array] = []
    for values, name in zip(given, names, strict=True):
        p = vector(values, name, found[0].size if found else None)
        if (p < 0).any():
            i = int(p.argmin())
            raise InputError(f"{name}: {p[i]:.6g} was found at position {i}; probabilities are not negative")
        total = float(p.sum())
        if abs(total - 1) > SUM_TOLERANCE:
            raise InputError(
                f"{name}: the sum is {total:.9g}; give probabilities that sum to one, for example {name} / {name}.sum()"
            )
        found.append(p / total)
    return found


def likelihood_ratios(nominal: Array, unlabelled: Array) -> Array:
    """p_X / p_0, infinite where only p_0 vanishes and zero where both do."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(
            nominal > 0, unlabelled / np.where(nominal > 0, nominal, 1.0), np.where(unlabelled > 0, np.inf, 0.0)
        )


def likelihood_ratio_test(
    nominal_probabilities: Any, unlabelled_probabilities: Any, false_positive_rate: float
) -> RandomisedTest:
    """The most powerful randomised test at a false-positive rate in [0, 1].

    Values with one ratio are treated alike, so that the test depends on the ratio alone.

    Examples
    --------
    >>> test = likelihood_ratio_test([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 0.35)
    >>> test.novel, round(test.false_negative_rate, 6)
    (array([0. , 0.5, 1. ]), 0.35)
    """
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    left = fraction(false_positive_rate, "false_positive_rate", zero=True, one=True)
    ratios = likelihood_ratios(p0, px)
    order = np.argsort(-ratios, kind="stable")
    novel = np.zeros(p0.size)
    threshold, gamma, start = float(ratios[order[0]]), 0.0, 0
    while start < order.size:
        level = float(ratios[order[start]])
        # A ratio belongs to the level of the largest one that it is equal to up to rounding.
        stop = start + int(np.searchsorted(-ratios[order[start:]], -level * (1 - SAME_RATIO), side="right"))
        group = order[start:stop]
        mass = float(p0[group].sum())
        threshold, gamma = level, 1.0 if mass <= left else left / mass
        novel[group] = gamma
        left -= gamma * mass
        if gamma < 1 or left <= 0:
            break
        start = stop
    return RandomisedTest(novel, threshold, gamma, float(p0 @ novel), float(px @ (1 - novel)))
