"""Every call that has parameters, found by walking the package: factories, sets, estimators, kernels, tails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from input_kinds import SAMPLE

import convexnovelty as cn
from convexnovelty import derivation, estimators, kernels, tails, uncertainty
from convexnovelty.uncertainty import FrobeniusBall, NormBall
from convexnovelty.uncertainty.constructed import signature_of

__all__ = ["DOORS", "Door", "elsewhere"]

MEAN, SPREAD = np.array([2.0, 1.0, -0.5]), np.diag([1.0, 2.0, 0.5])
DIRECTION = np.array([1.0, -2.0, 0.5])


@dataclass(frozen=True)
class Door:
    """A call with good arguments, one of which a cell replaces.

    Attributes
    ----------
    answer : from the arguments to an array of finite numbers.
    parameters : the names that cells replace, each with whether None is admitted.
    reference : the same number by another way, or None where there is no other.
    """

    name: str
    group: str
    arguments: Mapping[str, Any]
    answer: Callable[[Mapping[str, Any]], Any]
    parameters: Mapping[str, bool]
    reference: Callable[[Mapping[str, Any]], Any] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    tolerance: float = 1e-4


def features() -> Any:
    """The sample as features."""
    return cn.LinearFeatures(SAMPLE)


def _labels() -> Any:
    return np.where(np.arange(len(SAMPLE)) % 3 == 2, -1.0, 1.0)


def _others() -> Any:
    return np.arange(len(SAMPLE)) % 3 == 2


FACTORY_ARGUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "artificial_negatives": lambda: {"X": SAMPLE, "slack_penalty": 1.0},
    "class_recognisers": lambda: {"features": features(), "labels": np.arange(12) % 2, "outlier_fraction": 0.5},
    "exact_outliers": lambda: {"features": features(), "outliers": 1},
    "hard_margin": lambda: {"features": features(), "offset": 1.0},
    "kernel_learning": lambda: {"features_or_grams": [features()], "outlier_fraction": 0.5},
    "mahalanobis_svm": lambda: {
        "features": features(),
        "outlier_fraction": 0.5,
        "uncertainty": FrobeniusBall(0.5),
    },
    "moment_classifier": lambda: {
        "positives": SAMPLE,
        "negative_moments": cn.Moments([0.0, 0.0], np.eye(2)),
        "slack_penalty": 1.0,
    },
    "negative_data": lambda: {"features": features(), "labels": _labels(), "outlier_fraction": 0.5},
    "novelty_proportion": lambda: {
        "scores_nominal": np.arange(60.0),
        "scores_unlabelled": np.arange(60.0) + 40.0,
        "confidence": 0.9,
    },
    "one_class_svm": lambda: {"features": features(), "outlier_fraction": 0.5},
    "semi_supervised": lambda: {
        "nominal": np.tile(SAMPLE, (4, 1)) + np.arange(48)[:, None] / 50,
        "unlabelled": SAMPLE[:4] + 1.0,
        "false_positive_rate": 0.2,
    },
    "separation_from_mean": lambda: {"features": features(), "outlier_fraction": 0.5, "others": _others()},
    "single_class_mpm": lambda: {
        "moments": cn.Moments(MEAN, SPREAD),
        "confidence": 0.5,
        "uncertainty": FrobeniusBall(0.1),
    },
    "soft_ball": lambda: {"features": features(), "outlier_fraction": 0.5},
    "two_class_mpm": lambda: {
        "moments_x": cn.Moments(MEAN, SPREAD),
        "moments_y": cn.Moments(-MEAN, np.eye(3)),
        "uncertainty": FrobeniusBall(0.1),
    },
    "uncertain_points": lambda: {"features": features(), "outlier_fraction": 0.5, "uncertainty": NormBall(2, 0.1)},
    "vector_quantization": lambda: {"points": SAMPLE, "radius": 2.0},
}

# What takes points or what holds them has a table of its own; what is a name of a thing is tried as an object.
DATA = {"X", "nominal", "points", "positives", "scores_nominal", "scores_unlabelled", "unlabelled"}


def solved(made: Any) -> Any:
    """The number that a factory's result stands for, solved if it has to be."""
    if hasattr(made, "supremum"):
        return np.array([made.lower_bound])
    if hasattr(made, "calibration"):
        return made.scores(SAMPLE)
    return np.array([made.solve().objective])


def other_way(made: Any) -> tuple[float, float] | None:
    """The objective of a formulation as another node of its method has it, and as a solve has it.

    The arrows of the derivation say what the one must be, given the other. None where no arrow leads anywhere here.
    """
    from convexnovelty.declare import call

    recipe = getattr(made, "recipe", None)
    if recipe is None:
        return None
    method = derivation.method(recipe.method)
    known = {**recipe.arguments, **recipe.derived}
    arguments = {key: int(value) if key == "outliers" else value for key, value in known.items()}
    order = {"closed form": 0, "algorithm": 1, "other library": 2, "formulation": 3}
    found = []
    for step in method.steps:
        if step.relation != "=" or recipe.node not in (step.source_node, step.target_node):
            continue
        other = step.source_node if step.target_node == recipe.node else step.target_node
        if other not in method.nodes or (step.condition is not None and call(step.condition, arguments)):
            continue
        node = method.nodes[other]
        if node.refusal(arguments) is None:
            # Cuts take many solves where another node takes one.
            found.append((order[node.kind] + 5 * other.startswith("semi_infinite"), node, step))
    for _, node, step in sorted(found, key=lambda item: item[0]):
        try:
            result = call(node.function, arguments)
            theirs = float((result.solve() if hasattr(result, "solve") else result).objective)
        except cn.errors.ConvexNoveltyError:
            continue
        ours = float(made.solve().objective)
        back = step.source_node == node.name
        first, last = (theirs, ours) if back else (ours, theirs)
        return (float(call(step.objective, arguments, first)) if step.objective else first), last
    return None


def _optional(parameter: inspect.Parameter) -> bool:
    return parameter.default is None or "None" in str(parameter.annotation)


def _factory(name: str) -> Door:
    factory = getattr(cn, name)
    signature = inspect.signature(factory).parameters
    return Door(
        f"cn.{name}",
        "factory",
        FACTORY_ARGUMENTS[name](),
        lambda arguments: solved(factory(**arguments)),
        {key: _optional(p) for key, p in signature.items() if key not in DATA},
        lambda arguments: other_way(factory(**arguments)),
        {key: "see the table of points" for key in signature if key in DATA},
        tuple(signature),
    )


def _estimator(name: str) -> Door:
    kind = getattr(estimators, name)
    labels = np.arange(len(SAMPLE)) % 2
    classifier = name in ("MomentClassifier", "TwoClassMPM")
    defaults, kinds = kind().get_params(), signature_of(kind).parameters

    def answer(arguments: Mapping[str, Any]) -> Any:
        made = kind(**arguments)
        return (made.fit(SAMPLE, labels) if classifier else made.fit(SAMPLE)).decision_function(SAMPLE)

    # What is tried must have an effect: a kernel's own number counts for that kernel alone.
    given: dict[str, Any] = {"false_alarm_rate": 0.5} if "false_alarm_rate" in defaults else {}
    if "kernels" in defaults:
        given["kernels"] = [kernels.gaussian(width=4.0)]
    if name == "MahalanobisSVM":
        given["kernel"] = "linear"
    if "random_state" in defaults:
        given["random_state"] = 0
    absent = {
        key: "see the tables of the kernels" for key in ("coef0", "degree", "gamma", "kernels") if key in defaults
    }
    return Door(
        name,
        "estimator",
        given,
        answer,
        {
            key: value is None or "None" in str(kinds[key].annotation)
            for key, value in defaults.items()
            if key not in absent
        },
        None,
        absent,
        tuple(defaults),
    )


def _evaluated(made: Any, route: str = "best") -> Any:
    """The worst case over a set in a direction, by its closed form or from its membership alone."""
    direction = DIRECTION[: made.size or 3] if (made.size or 3) <= 3 else np.resize(DIRECTION, made.size)
    if made.family == "mean" and made.uses_covariance:
        made = uncertainty.as_moment_set(made)
    if made.family in ("points", "mean"):
        centred = made if made.family == "points" else made.centred(cn.Moments(MEAN, SPREAD))
        return np.array([uncertainty.evaluate_support(centred, direction, route)])
    centred = made.centred(cn.Moments(MEAN, SPREAD))
    if made.family == "covariance":
        return np.array([uncertainty.evaluate_deviation(centred, direction, route)])
    return np.array([uncertainty.evaluate_loss(centred, direction, 1.5, route)])


def _set(name: str, kind: Any) -> Door:
    example = kind.examples()[0]
    arguments = {key: vars(example)[key] for key in signature_of(kind).parameters if key in vars(example)}
    parameters = signature_of(kind).parameters
    return Door(
        f"uncertainty.{name}",
        "set",
        arguments,
        lambda given: _evaluated(kind(**given)),
        {key: p.default is None for key, p in parameters.items()},
        lambda given: (float(_evaluated(made := kind(**given))[0]), float(_evaluated(made, "derived")[0])),
        names=tuple(parameters),
    )


def _kernel(name: str) -> Door:
    maker = getattr(kernels, name)
    signature = inspect.signature(maker).parameters
    return Door(
        f"kernels.{name}",
        "kernel",
        {},
        lambda given: cn.KernelFeatures(SAMPLE, maker(**given)).gram,
        {key: p.default is None for key, p in signature.items()},
        names=("kernel",),
    )


def _tail(name: str, kind: Any) -> Door:
    own = signature_of(kind).parameters

    def answer(given: Mapping[str, Any]) -> Any:
        made = kind(**{key: value for key, value in given.items() if key in own})
        return np.array([made.kappa(given["confidence"])])

    def back(given: Mapping[str, Any]) -> tuple[float, float]:
        made = kind(**{key: value for key, value in given.items() if key in own})
        # A symmetric law has half of its points on either side of its mean, so that less cannot be asked for.
        least = float(made.confidence(0.0))
        return float(made.confidence(made.kappa(given["confidence"]))), max(least, float(given["confidence"]))

    return Door(
        f"tails.{name}", "tail", {"confidence": 0.75}, answer, {**dict.fromkeys(own, False), "confidence": False}, back
    )


def elsewhere(name: str, parameter: str) -> str | None:
    """Why a parameter has no cells of its own, or None when it has."""
    return next((door.absent.get(parameter) for door in DOORS if door.name == name), None)


KERNELS = sorted(set(kernels.all_kernels()) & set(vars(kernels)))

DOORS: tuple[Door, ...] = (
    *(_factory(name) for name in sorted(derivation.methods())),
    *(_estimator(name) for name in estimators.__all__),
    *(_set(name, kind) for name, kind in uncertainty.catalogue().items()),
    *(_kernel(name) for name in KERNELS),
    *(_tail(name, kind) for name, kind in sorted(tails.all_tails().items())),
)
