"""The methods as scikit-learn estimators: fit, predict, a guarantee, and nothing else to learn.

Each estimator is a thin face over a factory and its exact algorithms. ``solver="auto"`` takes the closed form or the
fast algorithm where it is exact, and CVXPY otherwise. A fitted estimator holds no CVXPY problem, so that it can be
pickled, cloned and sent to other processes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convexnovelty.estimators.kernel_learning import KernelLearningSVM
    from convexnovelty.estimators.mahalanobis import MahalanobisSVM
    from convexnovelty.estimators.moment_classifier import MomentClassifier
    from convexnovelty.estimators.one_class import OneClassSVM, SoftBall
    from convexnovelty.estimators.semi_supervised import SemiSupervisedDetector
    from convexnovelty.estimators.single_class import SingleClassMPM
    from convexnovelty.estimators.two_class import TwoClassMPM

_HOMES = {
    "KernelLearningSVM": "kernel_learning",
    "MahalanobisSVM": "mahalanobis",
    "MomentClassifier": "moment_classifier",
    "OneClassSVM": "one_class",
    "SemiSupervisedDetector": "semi_supervised",
    "SingleClassMPM": "single_class",
    "SoftBall": "one_class",
    "TwoClassMPM": "two_class",
}

__all__ = [
    "KernelLearningSVM",
    "MahalanobisSVM",
    "MomentClassifier",
    "OneClassSVM",
    "SemiSupervisedDetector",
    "SingleClassMPM",
    "SoftBall",
    "TwoClassMPM",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
