r"""The share of novelties in an unlabelled sample: a lower bound that holds with a stated confidence, and a test.

Scott and Blanchard (2009), section 6. The paper's :math:`\pi` is the proportion, :math:`1-\delta` the ``confidence``,
:math:`\varepsilon` the ``deviation``; :math:`P_0` and :math:`P_X` are the nominal and the unlabelled distribution.
**Larger scores are more novel** unless ``novel`` says otherwise, as the paper's f = 1 means novel.

Two things differ from the paper. Theorem 5 uses two deviation bounds, one a sample, that each hold with probability
:math:`1-\delta`; both hold with probability :math:`1-2\delta` only, so here each gets :math:`\delta/2`. And theorem 6
gives the k-th class :math:`\delta k^{-2}`, which adds up to more than :math:`\delta`; here it gets :math:`6/\pi^2` of
that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from convexnovelty import datasets
from convexnovelty._lazy import cp
from convexnovelty.algorithms.likelihood_ratio import distributions, likelihood_ratio_test, likelihood_ratios
from convexnovelty.algorithms.roc import concave_hull
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.deviations import DKW, VC, Allots, ExactBinomial, GrowingClasses
from convexnovelty.errors import InfeasibleError
from convexnovelty.evidence import Direction, Evidence, ThresholdClassifier, evidence
from convexnovelty.formulation import Formulation, Reading, Solution, Tunable
from convexnovelty.owned import owned
from convexnovelty.regions import Guarantee, HalfSpace, Interval
from convexnovelty.validation import Array, fraction, in_order

METHOD = Method(
    "novelty_proportion",
    title="Lower bound on the share of novelties",
    source="Scott and Blanchard (2009), section 6",
    summary="A lower confidence bound on the share of novelties in an unlabelled sample, for every distribution.",
    letters=("G3",),
)

# Classifiers whose bounds differ by less are equally good to a solver, which may return any mixture of them.
SAME = 1e-7


def novelty_proportion(
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float = 0.95,
    deviation: Allots | None = None,
    *,
    thresholds: Any = None,
    novel: Direction = "high",
) -> ProportionBound:
    r"""A lower bound on the share of novelties in the distribution of the unlabelled sample.

    .. math:: \hat\pi^- = \max_t
              \frac{1-\hat R_X(f_t)-\hat R_0(f_t)-(\varepsilon_n+\varepsilon_m)}{(1-\hat R_0(f_t)-\varepsilon_m)_+}

    Scores that differ by less than 1e-12 of themselves, or by less than 1.8e-15 of the median of all, count as equal, and
    no t lies between them: the bound may be smaller for that, and stays valid. Centre scores that share many digits first.

    Parameters
    ----------
    scores_nominal : (m,) scores of ordinary points.
    scores_unlabelled : (n,) scores of points of which nothing is known. With (m, K) and (n, K), one column a score,
        ``deviation`` is a :class:`~convexnovelty.deviations.GrowingClasses` (theorem 6).
    confidence : 1 - delta in (0, 1): the bound holds with this probability over both samples.
    deviation : a bound of :mod:`convexnovelty.deviations`, :class:`~convexnovelty.deviations.DKW` by default. It says
        on which data the score may have been fitted: for DKW on other data than these.
    thresholds : for a finite class, thresholds chosen without these samples; without them the class is a fixed set of
        ranks of the nominal scores. For other bounds, a restriction to these thresholds.
    novel : "high" if larger scores are more novel (a likelihood ratio, a classifier's score for "unlabelled"), "low" if
        smaller ones are (decision values of a region, scikit-learn's ``score_samples``), "either" if it is not known,
        which costs half of the error. Choosing the direction after a look at these samples voids the confidence.

    Returns
    -------
    The bound, the classifier that attains it, its p-values, and its linear program.

    Raises
    ------
    InputError for scores that are not finite, a confidence outside (0, 1), or a bound that does not fit the scores.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> nominal = np.repeat([0.0, 1.0], [1900, 100])
    >>> unlabelled = np.repeat([0.0, 1.0], [1000, 1000])
    >>> found = cn.novelty_proportion(nominal, unlabelled, confidence=0.95)
    >>> round(found.lower_bound, 8), found.classifier.threshold
    (0.42328223, 0.0)
    >>> cn.novelty_proportion([0, 0, 1, 1], [0, 0, 1, 1]).vacuous
    True
    """
    bound = DKW() if deviation is None else deviation
    level = _confidence(confidence, "confidence")
    seen = evidence(scores_nominal, scores_unlabelled, bound, thresholds, novel)
    arguments = {
        "scores_nominal": scores_nominal,
        "scores_unlabelled": scores_unlabelled,
        "confidence": level,
        "deviation": bound,
        "thresholds": thresholds,
        "novel": novel,
    }
    return ProportionBound(seen, level, owned(arguments))


@dataclass(frozen=True, eq=False)
class ProportionBound:
    """A lower bound on the share of novelties.

    Attributes
    ----------
    lower_bound : in [0, 1]; 0 when the samples say nothing.
    vacuous : whether the bound says nothing, that is, is 0.
    supremum : the paper's supremum before it is cut at zero; minus infinity when every classifier is discarded.
    classifier : the threshold that attains it, or None when every classifier is discarded.
    p_value : of the hypothesis that there are no novelties, which is that both samples have one distribution.
    guarantee : the bound as a sentence.
    formulation : theorem 5 as a linear program, whose confidence can be changed without compiling again.
    """

    evidence: Evidence = field(repr=False)
    confidence: float
    arguments: dict[str, Any] = field(repr=False)

    @cached_property
    def _ratios(self) -> Array:
        return self.evidence.ratios(1 - self.confidence)

    @property
    def supremum(self) -> float:
        """The paper's supremum, before it is cut at zero."""
        return min(1.0, float(self._ratios.max()))

    @property
    def lower_bound(self) -> float:
        """The bound, in [0, 1]."""
        return max(0.0, self.supremum)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing."""
        return self.lower_bound == 0.0

    @property
    def classifier(self) -> ThresholdClassifier | None:
        """The threshold classifier that attains the supremum."""
        return None if self.supremum == -math.inf else self.evidence.classifier(self.evidence.best(self._ratios))

    @cached_property
    def p_value(self) -> float:
        """The smallest delta at which the bound is above zero (corollary 1): a two-sample test."""
        return self.evidence.p_value(0.0)

    def p_value_for(self, proportion: float) -> float:
        """The smallest delta at which the bound is above ``proportion``: the p-value of "pi is at most this"."""
        return self.evidence.p_value(fraction(proportion, "proportion", zero=True))

    @property
    def guarantee(self) -> Guarantee:
        """The bound as a sentence."""
        return _guarantee(self.evidence, self.confidence, self.supremum)

    @cached_property
    def formulation(self) -> Formulation:
        """Theorem 5 as a linear program. It is infeasible, and says why, when every classifier is discarded."""
        return mixtures(**self.arguments)

    def __repr__(self) -> str:
        return (
            f"ProportionBound({self.lower_bound:.6g} with confidence {self.confidence:.6g}, p-value {self.p_value:.3g})"
        )


# -- what several nodes share ------------------------------------------------------------------------------------------


def _confidence(value: object, name: str) -> float:
    return fraction(value, name)


def _guarantee(seen: Evidence, confidence: float, supremum: float) -> Guarantee:
    found = max(0.0, supremum)
    said = (
        f"at least the share {found:.6g} of the unlabelled distribution is novel"
        if found
        else "nothing is said of the share of novelties"
    )
    return Guarantee(
        f"with confidence {confidence:.6g} over {seen.nominal_size} nominal and {seen.unlabelled_size} unlabelled "
        f"scores, {said} ({seen.claim})",
        found,
        "every nominal and every novel distribution",
    )


def _discarded(seen: Evidence, confidence: float) -> InfeasibleError | None:
    """Theorem 5 defines the bound as minus infinity where no denominator is positive; a program has no such value."""
    if seen.supremum(1 - confidence) > -math.inf:
        return None
    return InfeasibleError(
        f"confidence: at {confidence:.6g} with {seen.nominal_size} nominal scores every classifier is discarded, since "
        f"its rate plus the margin reaches one; the lower bound is 0 (vacuous); give more nominal scores or a "
        f"lower confidence"
    )


def _reading(seen: Evidence, confidence: float, y: Array, supremum: float) -> Reading:
    """The region of the heaviest classifier of a mixture; all equally good thresholds make the interval."""
    _, denominators = seen.fractions(1 - confidence)
    ratios = seen.ratios(1 - confidence)
    index = int(np.argmax(y * denominators))
    chosen = seen.classifier(index)
    sign = 1.0 if chosen.novel == "high" else -1.0
    same = [seen.classifier(int(i)) for i in np.flatnonzero(ratios >= ratios[index] - SAME)]
    offsets = [-sign * c.threshold for c in same if (c.novel, c.column) == (chosen.novel, chosen.column)]
    normal = np.zeros(seen.columns)
    normal[chosen.column] = -sign
    # Scores that tie with the threshold are ordinary, and are equal to it to the last digit.
    region = HalfSpace(normal, -sign * chosen.threshold, tolerance=0.0)
    return Reading(
        region, _guarantee(seen, confidence, supremum), Interval(min(offsets), max(offsets), -sign * chosen.threshold)
    )


def _solution(seen: Evidence, confidence: float, index: int, how: str, iterations: int = 0) -> Solution:
    numerators, denominators = seen.fractions(1 - confidence)
    y = np.zeros(numerators.size)
    y[index] = 1 / denominators[index]
    value = float(numerators[index] / denominators[index])
    reading = _reading(seen, confidence, y, value)
    return Solution(
        value,
        {"y": y, "pi": value},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


def _usable(
    scores_nominal: Any, scores_unlabelled: Any, confidence: float, deviation: Allots, thresholds: Any, novel: Direction
) -> tuple[Evidence, float]:
    seen, level = (
        evidence(scores_nominal, scores_unlabelled, deviation, thresholds, novel),
        _confidence(confidence, "confidence"),
    )
    if (error := _discarded(seen, level)) is not None:
        raise error
    return seen, level


def _coefficients(seen: Evidence, confidence: Tunable) -> tuple[Any, Any]:
    """Numerators and denominators as parameters, since the confidence changes both, and which classifiers drop out."""

    def part(which: int) -> Any:
        return lambda value: seen.fractions(1 - value)[which]

    shape = (seen.thresholds.size,)
    return confidence.parameter(part(0), shape=shape), confidence.parameter(part(1), shape=shape, nonneg=True)


def _admissible(seen: Evidence, confidence: Tunable) -> Callable[[], None]:
    def check() -> None:
        if (error := _discarded(seen, confidence.value)) is not None:
            raise error

    return check


# -- theorem 5 ---------------------------------------------------------------------------------------------------------


@METHOD.node(
    "mixture_lp",
    source="theorem 5, over mixtures of classifiers (Charnes and Cooper)",
    latex=r"\max_{y\ge0}\ \sum_ty_t\,(1-\hat R_X(f_t)-\hat R_0(f_t)-\varepsilon_n-\varepsilon_m)"
    r"\quad\text{s.t.}\quad\sum_ty_t\,(1-\hat R_0(f_t)-\varepsilon_m)=1",
)
def mixtures(
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float,
    deviation: Allots,
    thresholds: Any = None,
    novel: Direction = "high",
) -> Formulation:
    """The best mixture of classifiers: a linear-fractional program, in which y is the weights over the denominator."""
    seen = evidence(scores_nominal, scores_unlabelled, deviation, thresholds, novel)
    level = Tunable("confidence", confidence, _confidence)
    y = cp.Variable(seen.thresholds.size, nonneg=True)
    numerators, denominators = _coefficients(seen, level)
    problem = cp.Problem(cp.Maximize(numerators @ y), [denominators @ y == 1])

    def read(values: Any) -> Reading:
        weights = np.maximum(values["y"], 0.0)
        return _reading(seen, level.value, weights, seen.fractions(1 - level.value)[0] @ weights)

    return Formulation(
        problem,
        {"y": y},
        read=read,
        composed=read,  # the value of any mixture is a lower bound
        tunables={"confidence": level},
        admissible=_admissible(seen, level),
    )


@METHOD.node(
    "smallest_proportion",
    source="the proof of theorem 5",
    latex=r"\min_\pi\ \pi\quad\text{s.t.}\quad1-\hat R_X(f_t)-\varepsilon_n\le(1-\pi)(\hat R_0(f_t)+\varepsilon_m)+\pi"
    r"\ \ \forall t",
)
def smallest_proportion(
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float,
    deviation: Allots,
    thresholds: Any = None,
    novel: Direction = "high",
) -> Formulation:
    """The smallest share of novelties that no classifier contradicts; its multipliers are the mixture."""
    seen = evidence(scores_nominal, scores_unlabelled, deviation, thresholds, novel)
    level = Tunable("confidence", confidence, _confidence)
    pi = cp.Variable()
    numerators, denominators = _coefficients(seen, level)
    consistent = numerators <= pi * denominators

    def read(values: Any) -> Reading:
        weights = np.maximum(np.atleast_1d(np.asarray(consistent.dual_value, dtype=float)), 0.0)
        reading = _reading(seen, level.value, weights, values["pi"])
        return Reading(reading.region, reading.guarantee, reading.offset, {"y": weights})

    problem = cp.Problem(cp.Minimize(pi), [consistent])
    return Formulation(
        problem, {"pi": pi}, read=read, tunables={"confidence": level}, admissible=_admissible(seen, level)
    )


@METHOD.node(
    "roc_maximum",
    kind="closed form",
    source="theorem 5",
    latex=r"\hat\pi^-=\max_t"
    r"\frac{1-\hat R_X(f_t)-\hat R_0(f_t)-(\varepsilon_n+\varepsilon_m)}{(1-\hat R_0(f_t)-\varepsilon_m)_+}",
)
def roc_maximum(
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float,
    deviation: Allots,
    thresholds: Any = None,
    novel: Direction = "high",
) -> Solution:
    """The maximum over the points of the empirical ROC curve, one for each distinct score."""
    seen, level = _usable(scores_nominal, scores_unlabelled, confidence, deviation, thresholds, novel)
    return _solution(seen, level, seen.best(seen.ratios(1 - level)), "maximum over ROC points")


@METHOD.node(
    "tangent",
    kind="algorithm",
    source="theorems 4 and 5",
    latex=r"\hat\pi^-=1-\min_t\frac{1-L_t}{1-U_t},"
    r"\quad L_t=1-\hat R_X(f_t)-\varepsilon_n,\ U_t=\hat R_0(f_t)+\varepsilon_m",
)
def tangent(
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float,
    deviation: Allots,
    thresholds: Any = None,
    novel: Direction = "high",
) -> Solution:
    """The line from the corner (1, 1) that touches the ROC curve, moved by the margins: one less its slope.

    Theorem 4 takes the slope of the optimal ROC curve at its right end. The curve of a sample has to be moved down and
    to the right, and then only a line from the corner is left of the tangent there. It is found on the concave hull,
    along which the slope falls and then rises.
    """
    seen, level = _usable(scores_nominal, scores_unlabelled, confidence, deviation, thresholds, novel)
    lower, upper = seen.bounds(1 - level)
    kept = np.flatnonzero(seen.fractions(1 - level)[1] > 0)
    hull = kept[concave_hull(upper[kept], lower[kept])]
    steps, position = 0, hull.size - 1
    while position > 0:
        here, left = hull[position], hull[position - 1]
        if (1 - lower[left]) * (1 - upper[here]) > (1 - lower[here]) * (1 - upper[left]):
            break
        position, steps = position - 1, steps + 1
    return _solution(seen, level, int(hull[position]), "tangent", steps)


@METHOD.node(
    "dinkelbach",
    kind="algorithm",
    source="theorem 5, as a fractional program (Dinkelbach)",
    latex=r"\lambda\leftarrow\frac{N_{t}}{D_{t}},\quad t=\arg\max_s\,(N_s-\lambda D_s),"
    r"\quad\text{until}\ \max_s(N_s-\lambda D_s)=0",
)
def dinkelbach(
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float,
    deviation: Allots,
    thresholds: Any = None,
    novel: Direction = "high",
) -> Solution:
    """Newton's method on the largest numerator less lambda times the denominator, which is convex in lambda."""
    seen, level = _usable(scores_nominal, scores_unlabelled, confidence, deviation, thresholds, novel)
    numerators, denominators = seen.fractions(1 - level)
    kept = np.flatnonzero(denominators > 0)
    index, steps = int(kept[0]), 0
    while True:
        steps += 1
        excess = numerators[kept] - numerators[index] / denominators[index] * denominators[kept]
        better = int(kept[int(excess.argmax())])
        if better == index or numerators[better] * denominators[index] <= numerators[index] * denominators[better]:
            return _solution(seen, level, index, "Dinkelbach", steps)
        index = better


def _several(deviation: Allots) -> str | None:
    return None if isinstance(deviation, GrowingClasses) else "there is one class of classifiers, and nothing grows"


@METHOD.node(
    "growing_classes",
    kind="closed form",
    source="theorem 6, with shares that add up to one",
    latex=r"\hat\pi^-(\delta)=\sup_k\hat\pi^-\left(\mathcal F_k,\frac{6\delta}{\pi^2k^2}\right)",
    condition=_several,
)
def growing_classes(
    scores_nominal: Any, scores_unlabelled: Any, confidence: float, deviation: GrowingClasses
) -> Solution:
    """The best bound of any class of a sequence, each at a confidence of its own, so that all hold together."""
    delta = 1 - _confidence(confidence, "confidence")
    for scores, name in ((scores_nominal, "scores_nominal"), (scores_unlabelled, "scores_unlabelled")):
        in_order(scores, name)
    samples = [np.asarray(s, dtype=float).reshape(len(s), -1) for s in (scores_nominal, scores_unlabelled)]
    found = [
        novelty_proportion(samples[0][:, k], samples[1][:, k], 1 - 6 * delta / (math.pi * (k + 1)) ** 2, part).supremum
        for k, part in enumerate(deviation.parts)
    ]
    return Solution(max(found), {"k": 1 + int(np.argmax(found))}, solver="maximum over classes")


METHOD.step(
    "growing_classes",
    "roc_maximum",
    claim="all classes together are one class, in which each has its share of the error",
    equation="theorem 6",
    reference="closed form",
    condition=_several,
    decision="the class that is chosen is the target's own",
)
METHOD.step(
    "roc_maximum",
    "mixture_lp",
    claim="the best mixture of classifiers is a single one: a ratio of averages is at most the largest ratio",
    equation="theorem 5",
    reference="closed form",
    values=lambda solution: {"y": solution.values["y"]},
)
METHOD.step(
    "mixture_lp",
    "smallest_proportion",
    claim="the programs are dual: the mixture proves that no smaller share explains the samples",
    equation="the proof of theorem 5",
    reference="formulation",
    values=lambda solution: {"pi": solution.objective},
)
METHOD.step(
    "roc_maximum",
    "smallest_proportion",
    claim="the smallest share that no classifier contradicts is the largest of their bounds",
    equation="the proof of theorem 5",
    reference="closed form",
    values=lambda solution: {"pi": solution.values["pi"]},
)
METHOD.step(
    "tangent",
    "roc_maximum",
    claim="the bound is one less the slope of the line from (1, 1) that touches the moved ROC curve",
    equation="theorems 4 and 5",
    reference="algorithm",
)
METHOD.step(
    "dinkelbach",
    "mixture_lp",
    claim="the root of the parametric problem is the optimum of the fractional program",
    equation="theorem 5",
    reference="algorithm",
    values=lambda solution: {"y": solution.values["y"]},
)


# -- theorem 4: known distributions on a finite set --------------------------------------------------------------------


@METHOD.node(
    "decomposition",
    source="the contamination model of section 1",
    latex=r"\min_{\pi,\,Q}\ \pi\quad\text{s.t.}\quad P_X=(1-\pi)P_0+Q,\ Q\ge0",
)
def decomposition(nominal_probabilities: Any, unlabelled_probabilities: Any) -> Formulation:
    """The smallest share of novelties with which the unlabelled distribution is a mixture with the nominal one.

    Q is the part pi P_1 of the novelties. The paper assumes that P_1 has no part of P_0 left in it: then this is pi.
    """
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    pi = cp.Variable(nonneg=True)
    # Rows are divided by their own size, since probabilities of rare values are below any solver's tolerance.
    size = np.where(np.maximum(p0, px) > 0, np.maximum(p0, px), 1.0)
    nothing_negative: Any = px / size >= (1 - pi) * (p0 / size)

    def read(values: Any) -> Reading:
        return Reading(letters={"Q": px - (1 - values["pi"]) * p0})

    return Formulation(
        cp.Problem(cp.Minimize(pi), [nothing_negative]),
        {"pi": pi},
        read=read,
        composed=read,
    )


@METHOD.node(
    "best_test",
    source="theorem 4, inequality 4, over randomised classifiers (Charnes and Cooper)",
    latex=r"\max_f\ 1-\frac{R_X(f)}{1-R_0(f)},\quad z=\frac{1-f}{1-R_0(f)}:"
    r"\quad\max_{z\ge0}\ 1-P_X'z\quad\text{s.t.}\quad P_0'z=1",
)
def best_test(nominal_probabilities: Any, unlabelled_probabilities: Any) -> Formulation:
    """The bound of theorem 4, at its best over all randomised classifiers of a finite set.

    z is the probability of "ordinary" over that of a true negative; f = 1 - z / max(z) is a classifier that has it.
    """
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    z = cp.Variable(p0.size, nonneg=True)

    def read(values: Any) -> Reading:
        return Reading(letters={"f": 1 - values["z"] / values["z"].max()})

    return Formulation(
        cp.Problem(cp.Maximize(1 - px @ z), [p0 @ z == 1]),
        {"z": z},
        read=read,
        composed=read,
    )


@METHOD.node(
    "smallest_ratio",
    kind="closed form",
    source="theorem 4, the derivative at one",
    latex=r"\pi=1+\left.\frac{dR^*_{X,\alpha}}{d\alpha}\right|_{\alpha=1}=1-\min_{i:\,p_{0i}>0}\frac{p_{Xi}}{p_{0i}}",
)
def smallest_ratio(nominal_probabilities: Any, unlabelled_probabilities: Any) -> Solution:
    """One less the smallest likelihood ratio: the slope of the optimal ROC curve where it ends."""
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    gamma = min(1.0, float(likelihood_ratios(p0, px)[p0 > 0].min()))
    return Solution(1 - gamma, {"pi": 1 - gamma})


@METHOD.node(
    "slope_at_one",
    kind="algorithm",
    source="theorem 4, the derivative at one",
    latex=r"\pi=1-\frac{R^*_{X,1-h}}{h}\quad\text{for small }h",
)
def slope_at_one(nominal_probabilities: Any, unlabelled_probabilities: Any) -> Solution:
    """The difference quotient of the best false-negative rate at the right end, where it is a straight line."""
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    ratios = likelihood_ratios(p0, px)
    h = float(p0[(p0 > 0) & (ratios <= ratios[p0 > 0].min())].sum()) / 2
    return Solution(1 - likelihood_ratio_test(p0, px, 1 - h).false_negative_rate / h, {}, solver="difference quotient")


METHOD.step(
    "smallest_ratio",
    "decomposition",
    claim="the largest multiple of P_0 below P_X is the smallest likelihood ratio",
    equation="theorem 4",
    reference="closed form",
    values=lambda solution: {"pi": solution.values["pi"]},
)
METHOD.step(
    "best_test",
    "decomposition",
    claim="the programs are dual: some classifier attains the bound of theorem 4",
    equation="theorem 4",
    reference="formulation",
    values=lambda solution: {"pi": solution.objective},
)
METHOD.step(
    "slope_at_one",
    "smallest_ratio",
    claim="pi is one plus the derivative at one of the smallest false-negative rate",
    equation="theorem 4",
    reference="algorithm",
)
METHOD.step(
    "semi_supervised/neyman_pearson",
    "smallest_ratio",
    claim="at any rate the optimal test bounds pi from below",
    equation="theorem 4, after inequality 4",
    reference="formulation",
    relation="<=",
    objective=lambda value, false_positive_rate: 1 - value / (1 - false_positive_rate),
)


# -- theorems about every solution -------------------------------------------------------------------------------------


@METHOD.property("test", source="corollary 1")
def inverted(
    solution: Solution,
    scores_nominal: Any,
    scores_unlabelled: Any,
    confidence: float,
    deviation: Allots,
    thresholds: Any = None,
    novel: Direction = "high",
) -> list[Claim]:
    """At a confidence of one less the p-value the bound has just come to the hypothesis; and it is at most one."""
    if "y" not in solution.values:
        return []
    seen = evidence(scores_nominal, scores_unlabelled, deviation, thresholds, novel)
    claims = [
        Claim("the bound is at most one", solution.objective, 1.0, "<=", 1e-9, source="theorem 4", because="solver")
    ]
    hypothesis = max(0.0, solution.objective / 2)
    p = seen.p_value(hypothesis)
    if p < 1:
        claims.append(
            Claim(
                "with the p-value as delta the bound is the hypothesis",
                seen.supremum(p),
                hypothesis,
                tolerance=1e-9,
                kind="algorithm",
                source="corollary 1",
                because="bisection to the last digits",
            )
        )
    if solution.objective > hypothesis:
        claims.append(Claim("what is above the bound is rejected", p, 1 - confidence, "<=", 1e-9, source="corollary 1"))
    return claims


# -- instances ---------------------------------------------------------------------------------------------------------


def _histograms(nominal: Array, unlabelled: Array, bins: int = 6) -> dict[str, Array]:
    """Both samples on a few bins of equal nominal counts, one added to each count so that no bin is empty."""
    edges = np.unique(np.quantile(nominal, np.linspace(0, 1, bins + 1)[1:-1]))
    counts = [np.bincount(np.searchsorted(edges, s), minlength=edges.size + 1) + 1.0 for s in (nominal, unlabelled)]
    return {
        "nominal_probabilities": counts[0] / counts[0].sum(),
        "unlabelled_probabilities": counts[1] / counts[1].sum(),
    }


def _instance(
    name: str, nominal: Array, unlabelled: Array, confidence: float, deviation: Allots, **more: Any
) -> Instance:
    first = nominal if nominal.ndim == 1 else nominal[:, 0]
    second = unlabelled if unlabelled.ndim == 1 else unlabelled[:, 0]
    arguments = {
        "scores_nominal": nominal,
        "scores_unlabelled": unlabelled,
        "confidence": confidence,
        "deviation": deviation,
        **_histograms(first, second),
        "false_positive_rate": 0.3,
        **more,
    }
    probe = np.vstack([nominal, unlabelled]) if nominal.ndim == 2 else np.concatenate([nominal, unlabelled])[:, None]
    return Instance(name, arguments, probe)


@METHOD.instance("breast cancer, mean radius")
def breast_cancer() -> Instance:
    """The mean radius of benign cases against a mixture in which 100 of 257 are malignant."""
    data = datasets.breast_cancer()
    unlabelled = np.concatenate([data.nominal[200:, 0], data.novel[:100, 0]])
    return _instance("breast cancer, mean radius", data.nominal[:200, 0], unlabelled, 0.95, DKW())


@METHOD.instance("scores from 1e-4 to 1e4, exact binomial")
def badly_scaled() -> Instance:
    """Scores of every size, of which only the order counts."""
    rng = np.random.default_rng(3)
    nominal = np.exp(rng.normal(size=300) * 3)
    unlabelled = np.exp(3 * np.concatenate([rng.normal(size=160), rng.normal(2.5, 0.7, size=90)]))
    return _instance("scores from 1e-4 to 1e4, exact binomial", nominal, unlabelled, 0.9, ExactBinomial())


@METHOD.instance("four values")
def ties() -> Instance:
    """Scores with four values, so that nearly all of them tie; the direction is not known."""
    rng = np.random.default_rng(4)
    nominal = rng.choice(4, size=150, p=[0.4, 0.3, 0.2, 0.1]).astype(float)
    unlabelled = rng.choice(4, size=120, p=[0.15, 0.15, 0.2, 0.5]).astype(float)
    return _instance("four values", nominal, unlabelled, 0.8, DKW(), novel="either")


@METHOD.instance("no novelties")
def equal() -> Instance:
    """One distribution twice: the supremum is negative and the bound vacuous."""
    rng = np.random.default_rng(5)
    return _instance("no novelties", rng.normal(size=80), rng.normal(size=60), 0.95, DKW())


@METHOD.instance("growing classes")
def growing() -> Instance:
    """Two classes of classifiers that were fitted on the very points that are counted (theorem 6)."""
    rng = np.random.default_rng(6)
    nominal: Any = np.round(rng.normal(size=(20000, 2)), 1)
    unlabelled: Any = np.round(np.vstack([rng.normal(size=(8000, 2)), rng.normal((2.5, 3.5), 1.0, size=(12000, 2))]), 1)
    classes = GrowingClasses([VC.of_half_spaces(1), VC.of_polynomials(1, 3)])
    return _instance("growing classes", nominal, unlabelled, 0.9, classes)
