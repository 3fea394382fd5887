r"""Novelty detection from nominal and unlabelled points, reduced to a test between the two.

Scott and Blanchard (2009), sections 3 to 5 and 7. Optimal tests of nominal against novel are optimal tests of nominal
against unlabelled, since :math:`h_X/h_0 = 1-\pi+\pi h_1/h_0`. The paper's :math:`\alpha` is ``false_positive_rate``,
:math:`p_n` is ``uniform_share``, f = 1 means novel, and :math:`R_0, R_1, R_X` are the false-positive rate and the
false-negative rates against novel and against unlabelled points.

Two files in one: the tests of finite distributions, which are linear programs with closed forms, and the detector that
learns a score from points and sets its threshold on nominal points that were held out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty import datasets, validation
from convexnovelty._lazy import cp
from convexnovelty.algorithms.likelihood_ratio import distributions, likelihood_ratio_test, likelihood_ratios
from convexnovelty.algorithms.roc import concave_hull, exceedances
from convexnovelty.columns import by_name, names_of
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError
from convexnovelty.false_positives import Calibration
from convexnovelty.formulation import Formulation, Solution, Tunable
from convexnovelty.novelty_scores import (
    DensityRatio,
    NoveltyScore,
    Score,
    as_novelty_score,
    box_around,
    same_columns,
    split,
    uniform_points,
)
from convexnovelty.owned import owned, read_only
from convexnovelty.regions import Guarantee, ScoreThreshold
from convexnovelty.validation import Array, dimensions, flag, fraction, generator, integer, points

METHOD = Method(
    "semi_supervised",
    title="Semi-supervised novelty detection",
    source="Scott and Blanchard (2009)",
    summary="A test of nominal against unlabelled points, at a rate of false positives that held-out points guarantee.",
    letters=("G1", "G2", "G4"),
)


def semi_supervised(
    nominal: Any,
    unlabelled: Any,
    false_positive_rate: float = 0.05,
    *,
    score: Any = None,
    confidence: float | None = None,
    uniform_share: float = 0.0,
    replace: bool = False,
    held_out: Any = 0.5,
    folds: int = 5,
    random_state: Any = 0,
) -> Detector:
    r"""A novelty detector from nominal and unlabelled points.

    Parameters
    ----------
    nominal : (m, p) ordinary points.
    unlabelled : (n, p) points of which nothing is known; some are novel.
    false_positive_rate : alpha in (0, 1), the share of ordinary points that may be called novel.
    score : what learns to tell nominal from unlabelled: "density_ratio" (the default, plug-in kernel density
        estimates), "low_density" (the inductive detector, which ignores the unlabelled points), a
        :class:`~convexnovelty.novelty_scores.NoveltyScore`, or any classifier of scikit-learn.
    confidence : None for a rate that holds for the next ordinary point; a number in (0, 1) for a rate that holds for
        the threshold that was found, with this probability over the held-out points. The latter needs more of them.
    uniform_share : p_n in [0, 1) of the hybrid (section 5): this share of uniform points on a box round the nominal
        ones is mixed into the unlabelled ones, so that the detector falls back on low density when there are no
        novelties.
    replace : whether the uniform points take the place of unlabelled ones, as the paper analyses it, or are added to
        them, as it recommends in practice.
    held_out : the share of nominal points that only set the threshold, in (0, 1); or such points, of shape (k, p).
    folds : for :attr:`Detector.labels`, in how many parts the unlabelled sample is labelled by detectors that did not
        see the part.
    random_state : a seed or a ``numpy.random.Generator``; the same seed gives the same detector.

    Returns
    -------
    A detector with ``region``, ``guarantee``, ``scores``, ``novel`` and, for the unlabelled sample itself, ``labels``.

    Raises
    ------
    InputError for points that are not finite, for samples with different columns, and when too few nominal points are
    held out for any threshold to keep the rate, with the number that would do.

    Examples
    --------
    >>> import convexnovelty as cn
    >>> data = cn.datasets.ring(n=120)
    >>> detector = cn.semi_supervised(data.nominal, data.test_points, false_positive_rate=0.1)
    >>> detector.guarantee.bound <= 0.1, bool(detector.novel(data.novel).mean() > 0.9)
    (True, True)
    """
    names = names_of(nominal)
    # The labels of the sample itself are found when they are asked for.
    ordinary = owned(points(nominal, "nominal", minimum=2))
    unknown = owned(points(by_name(unlabelled, "unlabelled", names, "nominal"), "unlabelled"))
    same_columns(ordinary, unknown)
    learner, random = as_novelty_score(score), generator(random_state)
    share = fraction(uniform_share, "uniform_share", zero=True)
    if dimensions(held_out, "held_out") == 0 and not isinstance(held_out, str):
        fitting, held = split(ordinary, fraction(held_out, "held_out"), random)
    else:
        fitting, held = ordinary, owned(points(by_name(held_out, "held_out", names, "nominal"), "held_out"))
        if held.shape[1] != ordinary.shape[1]:
            raise InputError(
                f"held_out: {held.shape[1]} column(s) were found where nominal has {ordinary.shape[1]}; give the same columns"
            )
    plan = _Plan(learner, fitting, held, share, flag(replace, "replace"), false_positive_rate, confidence)
    fitted = plan.score(unknown, random)
    calibration = Calibration(fitted(held), false_positive_rate, confidence)
    seed = int(random.integers(2**62))
    return Detector(fitted, calibration, unknown, plan, integer(folds, "folds", 2), seed, names)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How a detector is made from an unlabelled sample; the nominal points are split once and for all."""

    learner: NoveltyScore
    fitting: Array
    held: Array
    uniform_share: float
    replace: bool
    false_positive_rate: float
    confidence: float | None

    def score(self, unlabelled: Array, random: np.random.Generator) -> Score:
        return self.learner.fit(
            self.fitting, with_uniform(self.fitting, unlabelled, self.uniform_share, self.replace, random), random
        )


def with_uniform(nominal: Array, unlabelled: Array, share: float, replace: bool, random: np.random.Generator) -> Array:
    """The unlabelled sample with about a share of uniform points on a box round the nominal points (section 5).

    Of n points, Binomial(n, share) are replaced; or as many points are added as make that share of the whole.
    """
    if share == 0:
        return unlabelled
    n = len(unlabelled)
    box = box_around(nominal)
    if replace:
        count = int(random.binomial(n, share))
        return np.vstack([uniform_points(box, count, random), unlabelled[random.permutation(n)[count:]]])
    return np.vstack([unlabelled, uniform_points(box, int(random.binomial(round(n / (1 - share)), share)), random)])


@dataclass(frozen=True)
class _Ordinary:
    """Minus a score: larger for more ordinary points, as regions have it."""

    score: Score

    def __call__(self, Z: Any) -> Array:
        return -self.score(Z)


@dataclass(frozen=True, eq=False)
class Detector:
    """A score with a threshold at a false-positive rate.

    Attributes
    ----------
    scores : from points (k, p) to scores (k,), larger for more novel points.
    calibration : the held-out nominal scores with the threshold.
    region : the ordinary points; its decision values are the threshold less the score.
    guarantee : the false-positive rate as a sentence, with its number in ``guarantee.bound``.
    labels, p_values : for the unlabelled sample itself. Without a ``confidence`` a point is labelled novel exactly when
        its p-value is at most the rate; with one the threshold is higher, and fewer are.
    """

    scores: Score = field(repr=False)
    calibration: Calibration
    unlabelled: Array = field(repr=False)
    plan: _Plan = field(repr=False)
    folds: int = field(repr=False)
    seed: int = field(repr=False)
    names: list[str] | None = field(repr=False, default=None)

    @property
    def threshold(self) -> float:
        """The score above which a point is called novel."""
        return self.calibration.threshold

    @property
    def guarantee(self) -> Guarantee:
        """What holds of new ordinary points."""
        return self.calibration.guarantee

    @property
    def region(self) -> ScoreThreshold:
        """The points that are called ordinary."""
        return ScoreThreshold(_Ordinary(self.scores), -self.threshold, tolerance=0.0)

    def novel(self, Z: Any) -> NDArray[np.bool_]:
        """Whether each new point is called novel. The columns of a frame are matched by name with the nominal ones."""
        return self.calibration.novel(self.scores(points(by_name(Z, "Z", self.names, "nominal"), "Z")))

    @cached_property
    def _crossed(self) -> tuple[NDArray[np.bool_], Array]:
        n = len(self.unlabelled)
        if n < 2:
            raise InputError(
                "unlabelled: 1 point was found; at least 2 are needed to label the sample itself, each judged by others"
            )
        folds = min(self.folds, n)
        part = np.random.default_rng([self.seed, folds]).permutation(n) % folds
        labels, p_values = np.zeros(n, dtype=bool), np.ones(n)
        for fold in range(folds):
            inside = part == fold
            score = self.plan.score(self.unlabelled[~inside], np.random.default_rng([self.seed, fold]))
            calibration = Calibration(score(self.plan.held), self.plan.false_positive_rate, self.plan.confidence)
            found = score(self.unlabelled[inside])
            labels[inside], p_values[inside] = calibration.novel(found), calibration.p_values(found)
        return read_only(labels), read_only(p_values)

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Which points of the unlabelled sample are called novel, of shape (n,) (the transductive setting).

        A point that helped to make a score looks more novel to it than another ordinary point does, by the bump that
        it adds to the unlabelled density. So the sample is labelled part by part, each by a detector that did not see
        it, and the guarantee holds for its ordinary points as for new ones.
        """
        return self._crossed[0]

    @property
    def p_values(self) -> Array:
        """For each point of the unlabelled sample, the smallest rate at which it is called novel without a confidence, (n,)."""
        return self._crossed[1]


# -- tests of finite distributions -------------------------------------------------------------------------------------


def _rate(value: object, name: str) -> float:
    return fraction(value, name, zero=True)


def _test(nominal: Array, against: Array, false_positive_rate: float, *, exact: bool = False) -> Formulation:
    rate = Tunable("false_positive_rate", false_positive_rate, _rate)
    f = cp.Variable(nominal.size, nonneg=True)
    alpha = rate.parameter(nonneg=True)
    allowed: Any = nominal @ f == alpha if exact else nominal @ f <= alpha
    return Formulation(
        cp.Problem(cp.Minimize(against @ (1 - f)), [allowed, f <= 1]), {"f": f}, tunables={"false_positive_rate": rate}
    )


@METHOD.node(
    "neyman_pearson",
    source="equation 2, on a finite set",
    latex=r"\min_f\ R_X(f)=\sum_ip_{Xi}(1-f_i)\quad\text{s.t.}\quad R_0(f)=\sum_ip_{0i}f_i\le\alpha,\ 0\le f\le1",
)
def neyman_pearson(
    nominal_probabilities: Any, unlabelled_probabilities: Any, false_positive_rate: float
) -> Formulation:
    """The most powerful randomised test of nominal against unlabelled values at a false-positive rate."""
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    return _test(p0, px, false_positive_rate)


@METHOD.node(
    "likelihood_ratio",
    kind="closed form",
    source="section 3, the lemma of Neyman and Pearson",
    latex=r"f_i=\begin{cases}1&p_{Xi}>\lambda p_{0i}\\\gamma&p_{Xi}=\lambda p_{0i}\\0&p_{Xi}<\lambda p_{0i}\end{cases}",
)
def likelihood_ratio(nominal_probabilities: Any, unlabelled_probabilities: Any, false_positive_rate: float) -> Solution:
    """The randomised likelihood-ratio test: values in the order of their ratio until the rate is used up."""
    test = likelihood_ratio_test(nominal_probabilities, unlabelled_probabilities, false_positive_rate)
    return Solution(test.false_negative_rate, {"f": test.novel, "lambda": test.threshold, "gamma": test.randomisation})


@METHOD.node(
    "price",
    kind="algorithm",
    source="equation 2, its Lagrange dual",
    latex=r"\max_{\lambda\ge0}\ \sum_i\min(p_{Xi},\lambda p_{0i})-\lambda\alpha",
)
def price(nominal_probabilities: Any, unlabelled_probabilities: Any, false_positive_rate: float) -> Solution:
    """The price of a false positive: a concave, piecewise linear function, highest at one of the likelihood ratios."""
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    alpha = _rate(false_positive_rate, "false_positive_rate")
    ratios = likelihood_ratios(p0, px)
    prices = np.concatenate([[0.0], ratios[np.isfinite(ratios)]])
    values = np.minimum(px, prices[:, None] * p0).sum(axis=1) - prices * alpha
    best = int(values.argmax())
    return Solution(
        float(values[best]), {"lambda": float(prices[best])}, solver="search over prices", iterations=prices.size
    )


@METHOD.node(
    "against_novelties",
    source="equation 1, on a finite set",
    latex=r"\min_f\ R_1(f)=\sum_ip_{1i}(1-f_i)\quad\text{s.t.}\quad R_0(f)=\alpha,\ 0\le f\le1",
)
def against_novelties(nominal_probabilities: Any, novel_probabilities: Any, false_positive_rate: float) -> Formulation:
    """The test that one would want: nominal against novel values. The paper takes its rate to be alpha exactly."""
    p0, p1 = distributions(
        nominal_probabilities, novel_probabilities, names=("nominal_probabilities", "novel_probabilities")
    )
    return _test(p0, p1, false_positive_rate, exact=True)


def _mixed(unlabelled: Array, share: float) -> Array:
    return (1 - share) * unlabelled + share / unlabelled.size


@METHOD.node(
    "hybrid",
    source="section 5",
    latex=r"\min_f\ \tilde R_X(f)\quad\text{s.t.}\quad R_0(f)\le\alpha,\qquad\tilde P_X=(1-p_n)P_X+p_nP_2",
)
def hybrid(
    nominal_probabilities: Any, unlabelled_probabilities: Any, false_positive_rate: float, uniform_share: float
) -> Formulation:
    """The test of nominal against unlabelled values into which a share of uniform ones is mixed."""
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    return _test(p0, _mixed(px, _rate(uniform_share, "uniform_share")), false_positive_rate)


@METHOD.node(
    "hybrid_ratio",
    kind="closed form",
    source="section 5",
    latex=r"(1-p_n)\frac{p_{Xi}}{p_{0i}}+p_n\frac{p_{2i}}{p_{0i}}\gtrless\lambda",
)
def hybrid_ratio(
    nominal_probabilities: Any, unlabelled_probabilities: Any, false_positive_rate: float, uniform_share: float
) -> Solution:
    """The likelihood-ratio test for the mixture with uniform values."""
    p0, px = distributions(nominal_probabilities, unlabelled_probabilities)
    test = likelihood_ratio_test(p0, _mixed(px, _rate(uniform_share, "uniform_share")), false_positive_rate)
    return Solution(test.false_negative_rate, {"f": test.novel})


@METHOD.node(
    "inductive",
    kind="closed form",
    source="section 3: level sets of the nominal density",
    latex=r"1/p_{0i}\gtrless\lambda",
)
def inductive(nominal_probabilities: Any, false_positive_rate: float) -> Solution:
    """The test against uniform values, which calls novel where the nominal probability is low."""
    (p0,) = distributions(nominal_probabilities, names=("nominal_probabilities",))
    test = likelihood_ratio_test(p0, np.full(p0.size, 1 / p0.size), false_positive_rate)
    return Solution(test.false_negative_rate, {"f": test.novel})


METHOD.step(
    "likelihood_ratio",
    "neyman_pearson",
    claim="the likelihood-ratio test, randomised where the ratio is at the threshold, is optimal",
    equation="section 3",
    reference="closed form",
    values=lambda solution: {"f": solution.values["f"]},
)
METHOD.step(
    "price",
    "neyman_pearson",
    claim="the smallest false-negative rate is the largest of the dual function",
    equation="section 3",
    reference="algorithm",
)
METHOD.step(
    "against_novelties",
    "neyman_pearson",
    claim="the best test against novelties is the best test against unlabelled values, at the same rate",
    equation="theorem 1",
    reference="formulation",
    objective=lambda value, proportion, false_positive_rate: (
        proportion * value + (1 - proportion) * (1 - false_positive_rate)
    ),
    values=lambda solution: {"f": np.clip(solution.values["f"], 0.0, 1.0)},
)
METHOD.step(
    "hybrid_ratio",
    "hybrid",
    claim="the likelihood-ratio test for the mixture is optimal",
    equation="section 5",
    reference="closed form",
    values=lambda solution: {"f": solution.values["f"]},
)
METHOD.step(
    "inductive",
    "hybrid",
    claim="without novelties the hybrid's test is the inductive one",
    equation="theorem 3, first part",
    reference="closed form",
    condition=lambda proportion=None: (
        None if proportion == 0 else "there are novelties, which swamp the uniform values"
    ),
    objective=lambda value, uniform_share, false_positive_rate: (
        uniform_share * value + (1 - uniform_share) * (1 - false_positive_rate)
    ),
    values=lambda solution: {"f": solution.values["f"]},
)


# -- tests that threshold a score --------------------------------------------------------------------------------------


def roc_points(scores_nominal: Any, scores_unlabelled: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Counts above every threshold, from "nothing is novel" to "all is novel", and the sizes of the samples."""
    nominal = validation.scores(scores_nominal, "scores_nominal")
    unlabelled = validation.scores(scores_unlabelled, "scores_unlabelled")
    thresholds = np.concatenate([[-np.inf], np.unique(np.concatenate([nominal, unlabelled]))])[::-1]
    return exceedances(nominal, thresholds), exceedances(unlabelled, thresholds), nominal.size, unlabelled.size


@METHOD.node(
    "threshold_mixture",
    source="section 4, over mixtures of thresholds",
    latex=r"\min_{w\ge0}\ \sum_tw_t\hat R_X(f_t)\quad\text{s.t.}\quad\sum_tw_t\hat R_0(f_t)\le\alpha,\ \sum_tw_t=1",
)
def threshold_mixture(scores_nominal: Any, scores_unlabelled: Any, false_positive_rate: float) -> Formulation:
    """The rule of theorem 2 for thresholds of one score, chosen at random with weights w."""
    nominal, unlabelled, m, n = roc_points(scores_nominal, scores_unlabelled)
    rate = Tunable("false_positive_rate", false_positive_rate, _rate)
    w = cp.Variable(nominal.size, nonneg=True)
    constraints: list[Any] = [(nominal / m) @ w <= rate.parameter(nonneg=True), np.ones(nominal.size) @ w == 1]
    return Formulation(
        cp.Problem(cp.Minimize((1 - unlabelled / n) @ w), constraints), {"w": w}, tunables={"false_positive_rate": rate}
    )


@METHOD.node(
    "monotone_test",
    source="section 4, as a test of score values",
    latex=r"\min_g\ \sum_j\hat p_{Xj}(1-g_j)\quad\text{s.t.}\quad\sum_j\hat p_{0j}g_j\le\alpha,"
    r"\ 1\ge g_1\ge\dots\ge g_k\ge0",
)
def monotone_test(scores_nominal: Any, scores_unlabelled: Any, false_positive_rate: float) -> Formulation:
    """The best test of score values, from the highest down, that calls none novel more often than a higher one."""
    nominal, unlabelled, m, n = roc_points(scores_nominal, scores_unlabelled)
    rate = Tunable("false_positive_rate", false_positive_rate, _rate)
    # From the highest score down: what lies above one threshold and not above the one before.
    p0, px = np.diff(nominal) / m, np.diff(unlabelled) / n
    g = cp.Variable(p0.size, nonneg=True)
    constraints: list[Any] = [p0 @ g <= rate.parameter(nonneg=True), g[0] <= 1]
    if p0.size > 1:
        constraints.append(g[1:] <= g[:-1])
    return Formulation(
        cp.Problem(cp.Minimize(px @ (1 - g)), constraints), {"g": g}, tunables={"false_positive_rate": rate}
    )


@METHOD.node(
    "roc_hull",
    kind="closed form",
    source="section 4",
    latex=r"\hat R_X=1-\text{(concave hull of the ROC curve at }\alpha)",
)
def roc_hull(scores_nominal: Any, scores_unlabelled: Any, false_positive_rate: float) -> Solution:
    """Interpolation between the two corners of the hull on either side of the rate."""
    nominal, unlabelled, m, n = roc_points(scores_nominal, scores_unlabelled)
    alpha = _rate(false_positive_rate, "false_positive_rate")
    hull = concave_hull(nominal, unlabelled)
    right = int(np.searchsorted(nominal[hull] / m, alpha, side="left"))
    w = np.zeros(nominal.size)
    if nominal[hull[right]] / m == alpha or right == 0:
        w[hull[right]] = 1.0
    else:
        a, b = hull[right - 1], hull[right]
        w[b] = (alpha - nominal[a] / m) / ((nominal[b] - nominal[a]) / m)
        w[a] = 1 - w[b]
    return Solution(float((1 - unlabelled / n) @ w), {"w": w})


METHOD.step(
    "roc_hull",
    "threshold_mixture",
    claim="the best mixture lies on the concave hull of the ROC curve: at most two thresholds",
    equation="section 4",
    reference="closed form",
    values=lambda solution: {"w": solution.values["w"]},
)
METHOD.step(
    "threshold_mixture",
    "monotone_test",
    claim="mixtures of thresholds are the tests that do not fall with the score",
    equation="section 4",
    reference="formulation",
    values=lambda solution: {"g": 1 - np.cumsum(solution.values["w"])[:-1]},
)


# -- detectors of points -----------------------------------------------------------------------------------------------


def _detection(
    nominal: Any,
    unlabelled: Any,
    false_positive_rate: float,
    score: NoveltyScore,
    uniform_share: float,
    random_state: Any,
    how: str,
) -> Solution:
    found = semi_supervised(
        nominal, unlabelled, false_positive_rate, score=score, uniform_share=uniform_share, random_state=random_state
    )
    missed = float(1 - found.novel(unlabelled).mean())
    values = {"threshold": found.threshold, "rate": float(found.calibration.novel(found.calibration.scores).mean())}
    return Solution(missed, values, found.region, found.guarantee, solver=how)


@METHOD.node(
    "plug_in",
    kind="algorithm",
    source="section 7",
    latex=r"\hat f(z)=1\iff\ln\hat h_X(z)-\ln\hat h_0(z)>s_{(k)},\quad k=\lceil(1-\alpha)(n_0+1)\rceil",
)
def plug_in(
    nominal: Any, unlabelled: Any, false_positive_rate: float, uniform_share: float = 0.0, random_state: Any = 0
) -> Solution:
    """Kernel densities plugged into the likelihood ratio; the threshold is an order statistic of held-out scores.

    The objective is the share of the unlabelled sample that is called ordinary.
    """
    return _detection(nominal, unlabelled, false_positive_rate, DensityRatio(), uniform_share, random_state, "plug-in")


@METHOD.node(
    "scikit_learn",
    kind="other library",
    source="section 7, with scikit-learn's KernelDensity",
    latex=r"\hat h(z)=\tfrac1n\sum_i(2\pi b^2)^{-p/2}\exp(-\|z-x_i\|^2/2b^2)",
)
def scikit_learn(
    nominal: Any, unlabelled: Any, false_positive_rate: float, uniform_share: float = 0.0, random_state: Any = 0
) -> Solution:
    """The same detector with densities that scikit-learn computes."""
    return _detection(
        nominal,
        unlabelled,
        false_positive_rate,
        DensityRatio(library="scikit-learn"),
        uniform_share,
        random_state,
        "scikit-learn",
    )


class PlugInClassifier:
    """The plug-in rule as a classifier with scikit-learn's interface: its decision function is the log of the odds.

    Parameters
    ----------
    nominal_bandwidth, unlabelled_bandwidth : as for :class:`~convexnovelty.novelty_scores.DensityRatio`.
    """

    def __init__(self, nominal_bandwidth: float = 0.5, unlabelled_bandwidth: float = 0.5) -> None:
        self.nominal_bandwidth = nominal_bandwidth
        self.unlabelled_bandwidth = unlabelled_bandwidth

    def get_params(self, deep: bool = True) -> dict[str, float]:
        """The bandwidths by name."""
        return {"nominal_bandwidth": self.nominal_bandwidth, "unlabelled_bandwidth": self.unlabelled_bandwidth}

    def set_params(self, **parameters: float) -> PlugInClassifier:
        """Change bandwidths by name."""
        vars(self).update(parameters)
        return self

    def fit(self, X: Array, y: NDArray[np.int64]) -> PlugInClassifier:
        """Estimate the densities of class 0 (nominal) and class 1 (unlabelled)."""
        learner = DensityRatio(self.nominal_bandwidth, self.unlabelled_bandwidth)
        self.ratio_ = learner.fit(X[y == 0], X[y == 1], np.random.default_rng(0))
        self.prior_ = float(np.log(np.mean(y == 1) / np.mean(y == 0)))
        return self

    def decision_function(self, X: Array) -> Array:
        """ln P(unlabelled | z) - ln P(nominal | z)."""
        return self.ratio_(X) + self.prior_


@METHOD.node(
    "classifier",
    kind="algorithm",
    source="section 3, by way of a classifier",
    latex=r"\ln\frac{P(X\text{ unlabelled}\mid z)}{P(X\text{ nominal}\mid z)}=\ln\frac{\hat h_X(z)}{\hat h_0(z)}+\ln\frac nm",
)
def classifier(
    nominal: Any, unlabelled: Any, false_positive_rate: float, uniform_share: float = 0.0, random_state: Any = 0
) -> Solution:
    """A classifier of nominal against unlabelled points, with the plug-in's bandwidths, and a threshold on its odds."""
    plain: Any = semi_supervised(
        nominal, unlabelled, false_positive_rate, uniform_share=uniform_share, random_state=random_state
    ).scores
    learner = as_novelty_score(PlugInClassifier(plain.nominal.bandwidth, plain.unlabelled.bandwidth))
    return _detection(nominal, unlabelled, false_positive_rate, learner, uniform_share, random_state, "classifier")


# Bandwidths are given here, so that the labels need not choose them once a part.
_FIXED = DensityRatio(0.5, 0.5)


@METHOD.node(
    "labels",
    kind="algorithm",
    source="sections 1 and 8, the transductive setting",
    latex=r"\hat y_i=1\iff\hat f_{-J(i)}(x_i)=1,\quad J(i)\text{ the part of the unlabelled sample that holds }i",
)
def labels(nominal: Any, unlabelled: Any, false_positive_rate: float, random_state: Any = 0) -> Solution:
    """Labels of the unlabelled sample itself, each by a detector that did not see the point.

    The objective is the share that is called ordinary.
    """
    found = semi_supervised(nominal, unlabelled, false_positive_rate, score=_FIXED, random_state=random_state)
    return Solution(float(1 - found.labels.mean()), {"y": found.labels}, solver="cross-fitting")


@METHOD.node(
    "p_values",
    kind="closed form",
    source="the law of order statistics",
    latex=r"\hat y_i=1\iff\frac{1+\#\{j:\ s(x_{0j})\ge s(x_i)\}}{n_0+1}\le\alpha",
)
def p_values(nominal: Any, unlabelled: Any, false_positive_rate: float, random_state: Any = 0) -> Solution:
    """Labels by counting how many held-out nominal points score at least as high."""
    found = semi_supervised(nominal, unlabelled, false_positive_rate, score=_FIXED, random_state=random_state)
    # A p-value is a multiple of 1 / (n + 1), and so is never within rounding above the rate unless it is equal to it.
    novel = found.p_values <= false_positive_rate * (1 + 1e-12)
    return Solution(float(1 - novel.mean()), {"y": novel})


METHOD.step(
    "scikit_learn",
    "plug_in",
    claim="both libraries estimate the same densities, and so find the same ordinary points",
    equation="section 7",
    reference="other library",
)


METHOD.step(
    "classifier",
    "plug_in",
    claim="a threshold on the odds of any classifier is a threshold on the likelihood ratio that it implies",
    equation="section 3",
    reference="algorithm",
)
METHOD.step(
    "p_values",
    "labels",
    claim="a point is labelled novel exactly when its p-value is at most the rate",
    equation="the law of order statistics",
    reference="closed form",
    decision="labels of a sample, not a region",
)


# -- theorems about every solution -------------------------------------------------------------------------------------


@METHOD.property("excess losses", source="theorems 1 and 3")
def excess(
    solution: Solution,
    nominal_probabilities: Any,
    unlabelled_probabilities: Any,
    novel_probabilities: Any,
    proportion: float,
    false_positive_rate: float,
    uniform_share: float,
) -> list[Claim]:
    """What any test loses against the best one, bounded by what it loses against unlabelled values."""
    if "f" not in solution.values:
        return []
    f, alpha, p = np.asarray(solution.values["f"]), false_positive_rate, uniform_share
    p0, px, p1 = (
        np.asarray(v, dtype=float) for v in (nominal_probabilities, unlabelled_probabilities, novel_probabilities)
    )

    def loss(against: Array) -> float:
        return float(against @ (1 - f)) - likelihood_ratio_test(p0, against, alpha).false_negative_rate

    over = max(0.0, float(p0 @ f) - alpha)
    mixed = loss(_mixed(px, p))
    rounding: dict[str, Any] = {"relation": "<=", "tolerance": 1e-7, "because": "solver"}
    if proportion == 0:
        bound = (mixed + (1 - p) * over) / p
        return [
            Claim(
                "the loss against uniform values",
                loss(np.full(p0.size, 1 / p0.size)),
                bound,
                source="theorem 3, pi = 0",
                **rounding,
            )
        ]
    reduced = (loss(px) + (1 - proportion) * over) / proportion
    hybrid_bound = (mixed + (1 - proportion) * (1 - p) * over + p) / (proportion * (1 - p))
    return [
        Claim("the loss against novelties", loss(p1), reduced, source="theorem 1", **rounding),
        Claim(
            "the loss against novelties, by the hybrid's",
            loss(p1),
            hybrid_bound,
            source="theorem 3, pi > 0",
            **rounding,
        ),
    ]


@METHOD.property("held-out rate", source="the law of order statistics")
def held_out_rate(solution: Solution, false_positive_rate: float) -> list[Claim]:
    """Of the held-out nominal points fewer than the rate are called novel, and the guarantee is at most the rate."""
    if "rate" not in solution.values or solution.guarantee is None:
        return []
    exact = "a count, so exact up to rounding"
    return [
        Claim(
            "the guaranteed rate",
            solution.guarantee.bound,
            false_positive_rate,
            "<=",
            1e-12,
            source="section 3",
            because=exact,
        ),
        Claim(
            "the held-out rate",
            solution.values["rate"],
            false_positive_rate,
            "<=",
            1e-12 + 1 / 20,
            source="section 3",
            because="(n + 1) / n",
        ),
    ]


# -- instances ---------------------------------------------------------------------------------------------------------


def _instance(
    name: str,
    nominal: Array,
    unlabelled: Array,
    scores: tuple[Array, Array],
    p0: Array,
    p1: Array,
    proportion: float,
    false_positive_rate: float,
    probe: Array,
) -> Instance:
    arguments = {
        "nominal": nominal,
        "unlabelled": unlabelled,
        "scores_nominal": scores[0],
        "scores_unlabelled": scores[1],
        "nominal_probabilities": p0,
        "novel_probabilities": p1,
        "unlabelled_probabilities": (1 - proportion) * p0 + proportion * p1,
        "proportion": proportion,
        "false_positive_rate": false_positive_rate,
        "uniform_share": 0.1,
        "random_state": 0,
    }
    return Instance(name, arguments, probe)


@METHOD.instance("breast cancer")
def breast_cancer() -> Instance:
    """Benign cases and a mixture; values are the mean radius on eight bins, scores the mean radius itself."""
    data = datasets.breast_cancer()
    edges = np.quantile(data.nominal[:, 0], np.linspace(0, 1, 9)[1:-1])
    counts = [np.bincount(np.searchsorted(edges, part[:, 0]), minlength=8) + 0.5 for part in (data.nominal, data.novel)]
    unlabelled = np.vstack([data.nominal[160:260], data.novel[:50]])
    scores = (data.nominal[:160, 0], unlabelled[:, 0])
    p0, p1 = (c / c.sum() for c in counts)
    return _instance("breast cancer", data.nominal[:160], unlabelled, scores, p0, p1, 0.3, 0.1, data.test_points[::10])


@METHOD.instance("badly scaled blob")
def badly_scaled() -> Instance:
    """Columns from 1e-4 to 1e4, and probabilities from 1e-6 to 1."""
    data = datasets.badly_scaled(n=90)
    unlabelled = np.vstack([data.nominal[50:], data.novel[:25]])
    scores = (data.nominal[:50, -1], unlabelled[:, -1])
    p0 = np.logspace(0, -6, 10)
    p1 = np.roll(p0, 4) * np.where(np.arange(10) % 3, 1.0, 7.0)
    return _instance(
        "badly scaled blob",
        data.nominal[:50],
        unlabelled,
        scores,
        p0 / p0.sum(),
        p1 / p1.sum(),
        0.2,
        0.05,
        data.test_points[::4],
    )


@METHOD.instance("fewer points than columns, ties")
def wide() -> Instance:
    """Twenty-four nominal points with thirty columns; ratios that tie and probabilities of zero; scores with ties."""
    data = datasets.wide(n=40)
    unlabelled = np.vstack([data.nominal[24:], data.novel[:10], data.novel[:3]])
    scores = (np.round(data.nominal[:24, 0]), np.round(unlabelled[:, 0]))
    p0 = np.array([0.25, 0.25, 0.125, 0.125, 0.25, 0.0, 0.0])
    p1 = np.array([0.0, 0.125, 0.0625, 0.25, 0.25, 0.3125, 0.0])
    return _instance(
        "fewer points than columns, ties",
        data.nominal[:24],
        unlabelled,
        scores,
        p0,
        p1,
        0.4,
        0.2,
        data.test_points[::3],
    )


@METHOD.instance("no novelties")
def none() -> Instance:
    """The unlabelled distribution is the nominal one: the hybrid falls back on low density."""
    data = datasets.ring(n=120)
    p0 = np.array([0.3, 0.22, 0.18, 0.15, 0.1, 0.05])
    scores = (data.nominal[:60, 0], data.nominal[60:, 1])
    return _instance(
        "no novelties",
        data.nominal[:60],
        data.nominal[60:],
        scores,
        p0,
        np.full(6, 1 / 6),
        0.0,
        0.15,
        data.test_points[::4],
    )
