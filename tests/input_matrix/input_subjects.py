"""What takes points: every factory, every estimator, features, moments and regions, each with a number it answers.

An answer is an array that depends on the points alone; where one solve is cheap it is that of the solution, so that a
right answer means the right answer of the whole way. Factories take features, and features take the points: a cell of
such a factory is the line that a user writes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from input_kinds import SAMPLE

import convexnovelty as cn
from convexnovelty import derivation, estimators
from convexnovelty.regions import Ball, HalfSpace, ScoreThreshold
from convexnovelty.uncertainty import FrobeniusBall, NormBall

__all__ = ["POINT_SUBJECTS", "Subject"]


@dataclass(frozen=True)
class Subject:
    """One row of the matrix of points.

    Attributes
    ----------
    argument : the name that a refusal must begin with; other parts of the call are as good as they can be.
    answer : from the input to an array.
    sparse : whether sparse points are taken as they are.
    room : the most that the level of a detector may be lower where its points have single precision.
    foreign : whether scikit-learn checks first, with its own wording.
    rows : the least number of rows.
    """

    name: str
    argument: str
    answer: Callable[[Any], Any]
    sparse: bool = False
    reference: Callable[[Any], Any] = lambda X: np.nan
    refuses: frozenset[str] = frozenset()
    tolerance: float = 1e-5
    others: tuple[str, ...] = ()
    floor: float = 1e-300
    power: float = 0.0
    room: Callable[[Any], float] | None = None


def count(X: Any) -> int:
    """The number of rows of anything that has rows."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        return len(SAMPLE)


def width(X: Any) -> int:
    """The number of columns of anything that has columns."""
    shape = getattr(X, "shape", ())
    return int(shape[1]) or 2 if len(shape) == 2 else 2


def signs(X: Any) -> Any:
    """Labels of both kinds."""
    return np.where(np.arange(max(count(X), 1)) % 3 == 2, -1.0, 1.0)


def _alternating(X: Any) -> Any:
    return np.arange(max(count(X), 1)) % 2


def _answer(make: Callable[[Any], Any], X: Any) -> Any:
    made = make(X)
    return made if isinstance(made, np.ndarray) else np.array([made.solve().objective])


def _moments(X: Any) -> Any:
    return cn.Moments(np.zeros(width(X)), np.eye(width(X)))


def _detector(X: Any) -> Any:
    return _scores(X, 1.0)


def _scores(X: Any, unit: float) -> Any:
    found = cn.semi_supervised(X, unit * (SAMPLE[:4, : width(X)] + 1.0), false_positive_rate=0.2, random_state=0)
    return found.scores(unit * SAMPLE[:, : width(X)])


def _classes(count: int) -> Any:
    return cn.deviations.GrowingClasses([cn.deviations.DKW()] * count) if count > 1 else cn.deviations.DKW()


def _proportion(X: Any) -> Any:
    found = cn.novelty_proportion(
        X, np.tile(SAMPLE, (30, 3))[:, : width(X)] + 6.0, confidence=0.5, deviation=_classes(width(X))
    )
    return np.array([found.supremum])


FACTORIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "artificial_negatives": ("X", lambda X: cn.artificial_negatives(X, 1.0)),
    "class_recognisers": ("X", lambda X: cn.class_recognisers(cn.LinearFeatures(X), _alternating(X), 0.5)),
    "exact_outliers": ("X", lambda X: cn.exact_outliers(cn.LinearFeatures(X), 0)),
    "hard_margin": ("X", lambda X: cn.hard_margin(cn.LinearFeatures(X))),
    "kernel_learning": (
        "X",
        lambda X: cn.kernel_learning([cn.LinearFeatures(X), cn.KernelFeatures(X, "gaussian")], 0.5),
    ),
    "mahalanobis_svm": ("X", lambda X: cn.mahalanobis_svm(cn.LinearFeatures(X), 0.5, FrobeniusBall(0.5))),
    "moment_classifier": ("positives", lambda X: cn.moment_classifier(X, _moments(X), 1.0)),
    "negative_data": ("X", lambda X: cn.negative_data(cn.LinearFeatures(X), signs(X), 0.5)),
    "novelty_proportion": ("scores_nominal", _proportion),
    "one_class_svm": ("X", lambda X: cn.one_class_svm(cn.LinearFeatures(X), 0.5)),
    "semi_supervised": ("nominal", _detector),
    "separation_from_mean": ("X", lambda X: cn.separation_from_mean(cn.LinearFeatures(X), 0.5)),
    "single_class_mpm": (
        "X",
        lambda X: cn.single_class_mpm(cn.Moments.estimate(X), 0.5, FrobeniusBall(0.1)),
    ),
    "soft_ball": ("X", lambda X: cn.soft_ball(cn.LinearFeatures(X), 0.5)),
    "two_class_mpm": ("X", lambda X: cn.two_class_mpm(cn.Moments.estimate(X), _moments(X), FrobeniusBall(0.1))),
    "uncertain_points": ("X", lambda X: cn.uncertain_points(cn.LinearFeatures(X), 0.5, NormBall(2, 0.1))),
    "vector_quantization": ("points", lambda X: cn.vector_quantization(X, 2.0)),
}
REFERENCES: dict[str, Callable[[Any], Any]] = {
    # A bound knows nothing of the order of the points, and a ratio of densities nothing of their unit.
    "novelty_proportion": lambda X: _proportion(X[::-1]),
    "semi_supervised": lambda X: _scores(2.0 * X, 2.0),
}
REFUSES: dict[str, frozenset[str]] = {
    "artificial_negatives": frozenset({"one row", "values of 1e8"}),
    "exact_outliers": frozenset({"all zero"}),
    "hard_margin": frozenset({"all zero"}),
    "two_class_mpm": frozenset({"all zero"}),
    "single_class_mpm": frozenset({"all zero", "values of 1e-8"}),
    "semi_supervised": frozenset({"one row", "fewer rows than columns"}),
    "SemiSupervisedDetector": frozenset({"one row", "fewer rows than columns"}),
    "MomentClassifier": frozenset({"one row"}),
    "TwoClassMPM": frozenset({"one row", "all rows equal", "duplicate rows", "all zero"}),
}
# Optima that may be zero are compared in squares of the points' size.
SQUARES = ("mahalanobis_svm", "negative_data", "separation_from_mean", "soft_ball", "uncertain_points")
NO_SQUARES = ("novelty_proportion", "semi_supervised")
SPARSE_FACTORIES = ("moment_classifier", "single_class_mpm", "two_class_mpm")

CLASSIFIERS = ("TwoClassMPM", "MomentClassifier")


def _fitted(name: str, X: Any) -> Any:
    made = getattr(estimators, name)()
    made.fit(X, _alternating(X)) if name in CLASSIFIERS else made.fit(X)
    return made.decision_function(SAMPLE[:, : width(X)] if width(X) <= 2 else np.tile(SAMPLE, 3)[:, : width(X)])


def _moved(name: str, X: Any) -> float:
    """Twice the most that 16 roundings of single precision of a row's largest entry, with any signs, move the score of a row."""
    rows = np.asarray(X, dtype=float)
    made = getattr(estimators, name)().fit(rows)
    steps = 16 * np.finfo(np.float32).eps * np.abs(rows).max(axis=1, keepdims=True)
    here = made.score_samples(rows)
    signs = itertools.product((-1.0, 1.0), repeat=rows.shape[1])
    return 2 * max(float(np.abs(made.score_samples(rows + steps * np.array(sign)) - here).max()) for sign in signs)


def _linear(X: Any) -> Any:
    features = cn.LinearFeatures(X)
    return np.column_stack([features.training, features.squared_norms()])


def _estimate(X: Any) -> Any:
    found = cn.Moments.estimate(X)
    return np.vstack([found.mean, found.covariance])


def _update(X: Any) -> Any:
    found = cn.Moments.estimate(SAMPLE[:, : width(X)] if width(X) <= 2 else np.ones((4, width(X)))).update(X)
    return np.vstack([found.mean, found.covariance])


def _squares(X: Any, Z: Any) -> Any:
    return ((np.asarray(X)[:, None, :] - np.asarray(Z)[None, :, :]) ** 2).sum(axis=2)


def _pivoted(X: Any) -> Any:
    """What three steps of a greedy Cholesky factorisation leave of the Laplacian kernel's diagonal, by its definition."""
    gamma = cn.kernels.laplacian().fitted(X).gamma
    gram = np.exp(-gamma * np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2))
    for _ in range(3):
        pivot = int(np.argmax(np.diag(gram)))
        if gram[pivot, pivot] < 1e-13:
            break
        gram = gram - np.outer(gram[pivot], gram[pivot]) / gram[pivot, pivot]
    return np.maximum(np.diag(gram), 0.0)


def _by_hand(X: Any) -> Any:
    return np.vstack(
        [X.mean(axis=0), np.atleast_2d(np.cov(X.T, ddof=0)) if len(X) > 1 else np.zeros((X.shape[1],) * 2)]
    )


def _together(X: Any) -> Any:
    first = SAMPLE[:, : X.shape[1]] if X.shape[1] <= 2 else np.ones((4, X.shape[1]))
    return _by_hand(np.vstack([first, X]))


def _by_arrows(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The optimum as another node of the method has it, as far as the derivation leads there."""

    def reference(X: Any) -> Any:
        from input_doors import other_way

        made = make(X)
        pair = other_way(made)
        if pair is None:
            raise LookupError("no arrow of the derivation leads to another node here")
        # The pair is (what the target must be, what it is); the formulation itself is one of the two.
        own = float(made.solve().objective)
        return np.array([own + pair[0] - pair[1]])

    return reference


def _other_solver(name: str, X: Any) -> Any:
    """The same estimator by the conic solver in the place of its fast algorithm."""
    made = getattr(estimators, name)()
    if "solver" not in made.get_params():
        return _fitted(name, np.asarray(X, dtype=float))
    made.set_params(solver="CLARABEL")
    made.fit(X, _alternating(X)) if name in CLASSIFIERS else made.fit(X)
    return made.decision_function(SAMPLE[:, : width(X)] if width(X) <= 2 else np.tile(SAMPLE, 3)[:, : width(X)])


# At these edges there is no answer, and the refusal says why.
BEYOND = frozenset({"values of 1e-300", "values of 1e300"})
NO_PLANE = frozenset({"all zero"})
TOO_FEW = frozenset({"one row"})

POINT_SUBJECTS = (
    Subject(
        "LinearFeatures", "X", _linear, reference=lambda X: np.column_stack([X, (X**2).sum(axis=1)]), refuses=BEYOND
    ),
    Subject(
        "KernelFeatures",
        "X",
        lambda X: cn.KernelFeatures(X, cn.kernels.gaussian(width=4.0)).gram,
        reference=lambda X: np.exp(-_squares(X, X) / 4),
        refuses=BEYOND,
    ),
    Subject(
        "KernelFeatures with rank",
        "X",
        lambda X: cn.KernelFeatures(X, cn.kernels.laplacian(), rank=3).residuals,
        reference=_pivoted,
        refuses=BEYOND,
        floor=1e-6,
    ),
    Subject(
        "LinearFeatures.coordinates",
        "Z",
        lambda Z: np.asarray(cn.LinearFeatures(np.ones((2, width(Z)))).coordinates(Z)),
        reference=lambda Z: Z,
        refuses=BEYOND - {"values of 1e-300"},
    ),
    Subject(
        "KernelFeatures.coordinates",
        "Z",
        lambda Z: np.asarray(cn.KernelFeatures(np.ones((2, width(Z))), cn.kernels.gaussian(width=4.0)).coordinates(Z)),
        reference=lambda Z: np.exp(-_squares(Z, np.ones((1, Z.shape[1]))) / 4),
        refuses=BEYOND - {"values of 1e-300"},
    ),
    Subject("Moments.estimate", "X", _estimate, sparse=True, reference=_by_hand, refuses=BEYOND),
    Subject("Moments.update", "chunk", _update, sparse=True, reference=_together, refuses=BEYOND),
    Subject(
        "HalfSpace",
        "Z",
        lambda Z: HalfSpace(np.ones(width(Z)), 1.0).decision_values(Z),
        sparse=True,
        reference=lambda Z: Z.sum(axis=1) - 1,
    ),
    Subject(
        "Ball",
        "Z",
        lambda Z: Ball(np.ones(width(Z)), 4.0).decision_values(Z),
        reference=lambda Z: 4 - ((Z - 1) ** 2).sum(axis=1),
        refuses=BEYOND - {"values of 1e-300"},
    ),
    Subject(
        "ScoreThreshold",
        "Z",
        lambda Z: ScoreThreshold(lambda rows: rows.sum(axis=1), 1.0).decision_values(Z),
        reference=lambda Z: Z.sum(axis=1) - 1,
    ),
    *(
        Subject(
            f"cn.{name}",
            argument,
            functools.partial(_answer, make),
            sparse=name in SPARSE_FACTORIES,
            reference=REFERENCES.get(name, _by_arrows(make)),
            refuses=(frozenset() if name in NO_SQUARES else BEYOND) | REFUSES.get(name, frozenset()),
            tolerance=1e-4,
            others=("features", "moments_x", "outliers", "slack_penalty", "confidence", "false_positive_rate"),
            floor=1e-3,
            power=2.0 if name in SQUARES else -30.0,
        )
        for name, (argument, make) in FACTORIES.items()
    ),
    *(
        Subject(
            name,
            "X",
            functools.partial(_fitted, name),
            sparse=getattr(estimators, name)().__sklearn_tags__().input_tags.sparse,
            reference=functools.partial(_other_solver, name),
            refuses=BEYOND | REFUSES.get(name, TOO_FEW),
            tolerance=1e-3,
            others=("y", "moments_x", "false_positive_rate"),
            floor=1e-3,
            room=None if name in (*CLASSIFIERS, "SemiSupervisedDetector") else functools.partial(_moved, name),
        )
        for name in estimators.__all__
    ),
)


def missing() -> list[str]:
    """The methods that have no row."""
    return sorted(set(derivation.methods()) - set(FACTORIES))
