r"""Problems for solvers: families with knobs for every method, hard members of them, and values known to 30 digits.

A family makes an instance from a number of points, a dimension, a condition number, a share of duplicates and a seed, so
that one can ask at which size or scale a solver stops being right. A :class:`Case` is a family with its knobs set. Where
the optimum has a closed form in the stored numbers, the case holds it to 30 digits with the formula that gives them.

Examples
--------
>>> case = Case("one_class_svm", Knobs(n=50, dimension=5, conditioning=1e6))
>>> case.formulation("dual").kind
'QP'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import mpmath
import numpy as np

from convexnovelty import derivation, kernels, tails
from convexnovelty.declare import Instance, call
from convexnovelty.deviations import DKW
from convexnovelty.errors import InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation
from convexnovelty.kernel_family import KernelFamily
from convexnovelty.methods.artificial_negatives import uniform_box
from convexnovelty.moments import Moments
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.mean_ellipsoid import MeanEllipsoid
from convexnovelty.uncertainty.norm_ball import NormBall
from convexnovelty.validation import Array

__all__ = ["DIGITS", "Case", "Knobs", "cases", "families", "sample"]

DIGITS = 30  # that a closed form is stored with


@dataclass(frozen=True)
class Knobs:
    """What a family is made from: points, dimension, condition number of the covariance, share of duplicates, seed.

    ``level`` is the method's own number (an outlier fraction, a confidence, a radius), None for the family's default.
    ``unit`` is the unit in which coordinates are measured: every argument that is a length, a square of one or its
    inverse follows, so that only the unit of the optimum changes.
    """

    n: int = 20
    dimension: int = 4
    conditioning: float = 10.0
    degeneracy: float = 0.0
    seed: int = 0
    level: float | None = None
    unit: float = 1.0

    def __str__(self) -> str:
        parts = [f"n={self.n}", f"p={self.dimension}", f"cond={self.conditioning:.0e}"]
        parts += [f"duplicates={self.degeneracy:g}"] if self.degeneracy else []
        parts += [f"level={self.level:.12g}"] if self.level is not None else []
        parts += [f"unit={self.unit:.0e}"] if self.unit != 1 else []
        return ", ".join([*parts, f"seed={self.seed}"])


Maker = Callable[[Knobs], Mapping[str, Any]]
_families: dict[str, Maker] = {}


def families() -> dict[str, Maker]:
    """From the name of a method to the function that makes its arguments from knobs."""
    return dict(_families)


def _family(make: Maker) -> Maker:
    """Enrol a family under the name of its method, which is the function's."""
    _families[make.__name__] = make
    return make


def sample(knobs: Knobs, *, shift: float = 2.0, seed: int = 0) -> Array:
    """Points around a mean that is ``shift`` standard deviations of each coordinate away from the origin.

    Standard deviations fall from one to the inverse root of the condition number, along axes that are not the
    coordinates'; the last points repeat the first ones.
    """
    if knobs.n < 2 or knobs.dimension < 1 or not 0 <= knobs.degeneracy < 1 or knobs.conditioning < 1:
        raise InputError(
            f"knobs: {knobs} was found; give two points or more, a dimension, a share below one, cond >= 1"
        )
    rng = np.random.default_rng([knobs.seed, seed])
    size = knobs.conditioning ** (-np.linspace(0.0, 0.5, knobs.dimension))
    axes = np.linalg.qr(rng.standard_normal((knobs.dimension, knobs.dimension)))[0]
    distinct = knobs.n - round(knobs.degeneracy * knobs.n)
    points = (shift + rng.standard_normal((distinct, knobs.dimension))) * size @ axes.T
    return np.asarray(knobs.unit * points[np.arange(knobs.n) % distinct])


def _features(knobs: Knobs) -> LinearFeatures:
    return LinearFeatures(sample(knobs))


def _level(knobs: Knobs, default: float) -> float:
    return default if knobs.level is None else knobs.level


@_family
def one_class_svm(knobs: Knobs) -> Mapping[str, Any]:
    """Points by a Gaussian kernel; the level is the outlier fraction."""
    features = KernelFeatures(sample(knobs), kernels.gaussian(gamma="scale"))
    return {"features": features, "outlier_fraction": _level(knobs, 0.2)}


@_family
def soft_ball(knobs: Knobs) -> Mapping[str, Any]:
    """Points as they are; the level is the outlier fraction."""
    return {"features": _features(knobs), "outlier_fraction": _level(knobs, 0.2)}


@_family
def hard_margin(knobs: Knobs) -> Mapping[str, Any]:
    """Points by a Gaussian kernel, whose hull misses the origin; the level is the offset."""
    features = KernelFeatures(sample(knobs), kernels.gaussian(gamma="scale"))
    return {"features": features, "offset": _level(knobs, 1.0), "labels": None}


@_family
def exact_outliers(knobs: Knobs) -> Mapping[str, Any]:
    """A mixed-integer program; the level is the number of outliers, of which there are fewer than points."""
    return {"features": _features(knobs), "outliers": int(_level(knobs, min(2, knobs.n - 1)))}


@_family
def artificial_negatives(knobs: Knobs) -> Mapping[str, Any]:
    """Points by a Gaussian kernel against as many uniform ones on their box; the level is the price of slack."""
    points = sample(knobs)
    everything = np.vstack([points, uniform_box(points, knobs.n, knobs.seed)])
    features = KernelFeatures(everything, kernels.gaussian(gamma=1.0 / (knobs.dimension * knobs.unit**2)))
    labels = np.repeat([1.0, -1.0], knobs.n)
    return {"features": features, "labels": labels, "slack_penalty": _level(knobs, 1.0)}


@_family
def separation_from_mean(knobs: Knobs) -> Mapping[str, Any]:
    """A quarter of the points, reflected, stand for the others; the level is the outlier fraction."""
    others = np.arange(knobs.n) >= knobs.n - max(1, knobs.n // 4)
    features = LinearFeatures(np.where(others, -1.0, 1.0)[:, None] * sample(knobs))
    return {"features": features, "outlier_fraction": _level(knobs, 0.2), "others": others}


@_family
def negative_data(knobs: Knobs) -> Mapping[str, Any]:
    """A fifth of the points lie on the other side of the origin; the level is the outlier fraction."""
    labels = np.where(np.arange(knobs.n) < knobs.n - knobs.n // 5, 1.0, -1.0)
    features = LinearFeatures(labels[:, None] * sample(knobs))
    return {"features": features, "labels": labels, "outlier_fraction": _level(knobs, 0.25)}


@_family
def class_recognisers(knobs: Knobs) -> Mapping[str, Any]:
    """Three classes; the level is the outlier fraction."""
    labels = np.arange(knobs.n) % 3
    features = LinearFeatures(sample(knobs) + knobs.unit * labels[:, None])
    return {"features": features, "labels": labels, "outlier_fraction": _level(knobs, 0.2), "comparison": "distance"}


@_family
def uncertain_points(knobs: Knobs) -> Mapping[str, Any]:
    """Points known up to a Euclidean ball; the level is its radius."""
    radius = _level(knobs, 0.1)
    return {
        "features": _features(knobs),
        "outlier_fraction": 0.2,
        "uncertainty": NormBall(2, radius * knobs.unit),
        "scales": None,
    }


@_family
def mahalanobis_svm(knobs: Knobs) -> Mapping[str, Any]:
    """Covariances in a Frobenius ball; the level is its radius."""
    uncertainty = FrobeniusBall(_level(knobs, 0.3) * knobs.unit**2)
    return {"features": _features(knobs), "outlier_fraction": 0.2, "uncertainty": uncertainty, "ddof": 0}


@_family
def kernel_learning(knobs: Knobs) -> Mapping[str, Any]:
    """Three Gaussian kernels; the level is the price of scale."""
    points = sample(knobs)
    gammas = (0.25, 1.0, 4.0)
    family = KernelFamily.of_kernels(
        points, [kernels.gaussian(gamma=g / (knobs.dimension * knobs.unit**2)) for g in gammas]
    )
    return {
        "features_or_grams": family,
        "outlier_fraction": 0.2,
        "scale_penalty": _level(knobs, 2.0),
        "covariance_weight": 0.0,
    }


@_family
def single_class_mpm(knobs: Knobs) -> Mapping[str, Any]:
    """Moments of the points, mean ellipsoid and Frobenius ball; the level is the confidence."""
    features = _features(knobs)
    return {
        "features": features,
        "moments": Moments.estimate(features.training),
        "confidence": _level(knobs, 0.6),
        "uncertainty": MeanEllipsoid(0.05) * FrobeniusBall(0.02 * knobs.unit**2),
        "tail": tails.Chebyshev(),
    }


@_family
def two_class_mpm(knobs: Knobs) -> Mapping[str, Any]:
    """Two samples apart; the level is the radius of a Frobenius ball around each covariance."""
    first, second = sample(knobs), sample(knobs, shift=-1.0, seed=1)
    features = LinearFeatures(np.vstack([first, second]))
    training = np.asarray(features.training)
    return {
        "features": features,
        "count_x": knobs.n,
        "moments_x": Moments.estimate(training[: knobs.n]),
        "moments_y": Moments.estimate(training[knobs.n :]),
        "uncertainty": MeanEllipsoid(0.05) * FrobeniusBall(_level(knobs, 0.1) * knobs.unit**2),
        "tail": tails.Chebyshev(),
    }


@_family
def moment_classifier(knobs: Knobs) -> Mapping[str, Any]:
    """Points against the moments of others; the level is the price of slack."""
    return {
        "positives": sample(knobs),
        "negative_moments": Moments.estimate(sample(knobs, shift=-1.0, seed=1)),
        "uncertainty": MeanEllipsoid(0.1) * FrobeniusBall(0.1 * knobs.unit**2),
        "tail": tails.Chebyshev(),
        "slack_penalty": _level(knobs, 0.5),
        "mean_penalty": 1.0,
    }


@_family
def vector_quantization(knobs: Knobs) -> Mapping[str, Any]:
    """Balls that cover the points; the level is their radius."""
    return {"points": sample(knobs), "radius": _level(knobs, 1.0) * knobs.unit, "slack_penalty": None}


@_family
def novelty_proportion(knobs: Knobs) -> Mapping[str, Any]:
    """Histograms of two samples of scores; the level is the confidence."""
    rng = np.random.default_rng([knobs.seed, 7])
    values = max(3, round(knobs.n * (1 - knobs.degeneracy)))
    nominal = rng.integers(0, values, 4 * knobs.n).astype(float)
    unlabelled = np.concatenate([rng.integers(0, values, 3 * knobs.n), rng.integers(values // 2, values, knobs.n)])
    counts = [np.bincount(part.astype(int), minlength=values) + 1.0 for part in (nominal, unlabelled)]
    return {
        "scores_nominal": knobs.unit * nominal,
        "scores_unlabelled": knobs.unit * unlabelled.astype(float),
        "confidence": _level(knobs, 0.9),
        "deviation": DKW(),
        "nominal_probabilities": counts[0] / counts[0].sum(),
        "unlabelled_probabilities": counts[1] / counts[1].sum(),
        "false_positive_rate": 0.3,
    }


@_family
def semi_supervised(knobs: Knobs) -> Mapping[str, Any]:
    """Probabilities that span the condition number; the level is the rate of false alarms."""
    rng = np.random.default_rng([knobs.seed, 8])
    p0 = np.logspace(0.0, -np.log10(knobs.conditioning), knobs.dimension + 1)
    p1 = np.roll(p0, knobs.dimension // 2)
    p0, p1 = p0 / p0.sum(), p1 / p1.sum()
    scores = np.round(rng.standard_normal((2, knobs.n)), 1 if knobs.degeneracy else 9) + np.array([[0.0], [0.5]])
    points = sample(knobs)
    return {
        "nominal": points,
        "unlabelled": points + 0.5 * knobs.unit,
        "scores_nominal": knobs.unit * scores[0],
        "scores_unlabelled": knobs.unit * scores[1],
        "nominal_probabilities": p0,
        "novel_probabilities": p1,
        "unlabelled_probabilities": 0.7 * p0 + 0.3 * p1,
        "proportion": 0.3,
        "false_positive_rate": _level(knobs, 0.1),
        "uniform_share": 0.1,
        "random_state": 0,
    }


# -- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A problem for solvers: a method with arguments, from a family or written out.

    ``expects`` says what is true of it. ``digits`` is the optimum of the node ``node`` to 30 digits, and ``formula`` gives
    them from the same doubles that the problem holds.
    """

    method: str
    knobs: Knobs = field(default_factory=Knobs)
    name: str = ""
    node: str = ""
    arguments: Callable[[], Mapping[str, Any]] | None = None
    expects: Literal["optimal", "infeasible"] = "optimal"
    digits: str = ""
    formula: Callable[[], Any] | None = None

    @property
    def title(self) -> str:
        """Its name, or that of its knobs."""
        return self.name or str(self.knobs)

    def instance(self) -> Instance:
        """The instance as the checker takes it."""
        made = self.arguments() if self.arguments is not None else _families[self.method](self.knobs)
        return Instance(self.title, made, method=self.method)

    def formulation(self, node: str | None = None) -> Formulation:
        """One of the method's formulations on this case. Raises InputError where there is none of the name."""
        nodes = derivation.method(self.method).nodes
        chosen = node or self.node
        if chosen not in nodes or nodes[chosen].kind != "formulation":
            raise InputError(f"node: {chosen!r} is no formulation of {self.method}")
        instance = self.instance()
        refusal = nodes[chosen].refusal(instance.arguments)
        if refusal:
            raise InputError(f"node: {chosen} is not defined on {self.title}: {refusal}")
        made = call(nodes[chosen].function, instance.arguments)
        if not isinstance(made, Formulation):
            raise InputError(f"node: {chosen} of {self.method} returned no formulation")
        return made

    def nodes(self) -> list[str]:
        """The formulations that are defined on the case; the one that ``node`` names, if it names one."""
        if self.node:
            return [self.node]
        arguments = self.instance().arguments
        owner = derivation.method(self.method)
        return [n for n, node in owner.nodes.items() if node.kind == "formulation" and not node.refusal(arguments)]


def _mpm(mean: Any, covariance: Any, confidence: float, uncertainty: Any = None) -> Callable[[], Mapping[str, Any]]:
    def arguments() -> Mapping[str, Any]:
        moments = Moments(np.array(mean), np.array(covariance))
        return {"moments": moments, "confidence": confidence, "uncertainty": uncertainty, "tail": tails.Chebyshev()}

    return arguments


def _kappa(confidence: float) -> Any:
    """The multiplier as the program holds it: a double."""
    return mpmath.mpf(tails.Chebyshev().kappa(confidence))


def _line() -> Mapping[str, Any]:
    return {"features": LinearFeatures(np.arange(1.0, 5.0)[:, None]), "outlier_fraction": 0.5}


def _pair() -> Mapping[str, Any]:
    points = np.array([[3.0, 4.0], [5.0, 12.0]])
    return {"features": LinearFeatures(points), "offset": 1.0, "labels": None}


def _two_means() -> Mapping[str, Any]:
    return {
        "features": LinearFeatures(np.array([[0.0, 0.0], [1.0, 2.0]])),
        "count_x": 1,
        "moments_x": Moments(np.zeros(2), np.diag([1.0, 4.0])),
        "moments_y": Moments(np.array([1.0, 2.0]), np.diag([1.0, 4.0])),
        "uncertainty": FrobeniusBall(1.0),
        "tail": tails.Chebyshev(),
    }


EDGE = 25 / 26  # the largest confidence of the mean (3, 4) with unit covariance

_CLOSED = (
    Case("single_class_mpm", name="mean (3, 4), unit covariance", node="socp",
         arguments=_mpm([3.0, 4.0], np.eye(2), 0.96), formula=lambda: 1 / (5 - _kappa(0.96)), digits="9.8989794855661396310947389606"),
    Case("single_class_mpm", name="at 1e-6 below the largest confidence", node="socp",
         arguments=_mpm([3.0, 4.0], np.eye(2), EDGE - 1e-6), formula=lambda: 1 / (5 - _kappa(EDGE - 1e-6)), digits="14793.1840229484938141143337989"),
    Case("single_class_mpm", name="Frobenius ball, diagonal covariance", node="socp",
         arguments=_mpm([1.0, 2.0, 2.0], np.diag([1.0, 4.0, 2.0]), 0.5, FrobeniusBall(0.25)),
         formula=lambda: 1 / (_distance() - 1), digits="1.14169901710035767292438898801"),
    Case("single_class_mpm", name="mean ellipsoid and Frobenius ball", node="derived_counterpart",
         arguments=_mpm([1.0, 2.0, 2.0], np.diag([1.0, 4.0, 2.0]), 0.5, MeanEllipsoid(0.125) * FrobeniusBall(0.25)),
         formula=lambda: 1 / (_distance() - 1 - mpmath.mpf(1) / 8), digits="1.33175726168571296181593181035"),
    Case("two_class_mpm", name="equal covariances, Frobenius ball", node="socp", arguments=_two_means,
         formula=lambda: 2 / mpmath.sqrt(mpmath.mpf(1) / 2 + mpmath.mpf(4) / 5), digits="1.75411603861405842944007542395"),
    Case("one_class_svm", name="four points on a line", node="dual", arguments=_line,
         formula=lambda: mpmath.mpf(9) / 8, digits="1.125"),
    Case("one_class_svm", name="four points on a line", node="primal", arguments=_line,
         formula=lambda: -mpmath.mpf(9) / 8, digits="-1.125"),
    Case("hard_margin", name="two points in a plane", node="dual", arguments=_pair,
         formula=lambda: mpmath.mpf(1) / 50, digits="0.02"),
)  # fmt: skip

_HARD = (
    Case("single_class_mpm", name="past the largest confidence", node="socp",
         arguments=_mpm([3.0, 4.0], np.eye(2), 0.97), expects="infeasible"),
    Case("single_class_mpm", Knobs(conditioning=1e12), "nearly singular covariance", "socp"),
    Case("two_class_mpm", Knobs(conditioning=1e10), "nearly singular covariances", "socp"),
    Case("two_class_mpm", Knobs(level=1e6), "huge radius", "socp"),
    Case("mahalanobis_svm", Knobs(level=0.0), "radius zero", "derived_counterpart"),
    Case("mahalanobis_svm", Knobs(level=1e6), "huge radius", "robust"),
    Case("uncertain_points", Knobs(level=0.0), "radius zero", "derived_counterpart"),
    Case("one_class_svm", Knobs(n=60, degeneracy=0.5), "every point twice", "dual"),
    Case("one_class_svm", Knobs(n=150, dimension=10), "150 points", "dual"),
    Case("soft_ball", Knobs(n=60, degeneracy=0.75), "every point four times", "primal"),
    Case("soft_ball", Knobs(n=200, dimension=20), "200 points", "primal"),
    Case("kernel_learning", Knobs(degeneracy=0.5), "every point twice", "block_norm"),
    Case("separation_from_mean", Knobs(n=40, conditioning=1e14), "columns seven orders apart", "primal"),
    Case("negative_data", Knobs(n=40, conditioning=1e14), "columns seven orders apart", "dual"),
    Case("moment_classifier", Knobs(conditioning=1e8), "badly conditioned", "margins"),
    Case("semi_supervised", Knobs(dimension=60, conditioning=1e12), "probabilities down to 1e-12", "neyman_pearson"),
    Case("vector_quantization", Knobs(n=60, degeneracy=0.5), "every point twice", "cover"),
)  # fmt: skip


def _distance() -> Any:
    """The distance of the mean (1, 2, 2) from the origin in the metric of diag(1, 4, 2) + 1/4."""
    return mpmath.sqrt(mpmath.mpf(4) / 5 + mpmath.mpf(16) / 17 + mpmath.mpf(16) / 9)


def cases(method: str | None = None) -> list[Case]:
    """The cases of one method or of all: each family at its default knobs, hard members, and known optima."""
    found = [Case(name) for name in sorted(_families)]
    return [case for case in (*found, *_HARD, *_CLOSED) if method in (None, case.method)]
