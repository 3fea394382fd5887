"""Nodes that are called by themselves refuse wrong numbers in the package's words, as their factories do."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty.checking.instances import Knobs, families
from convexnovelty.declare import call
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.methods import moment_classifier, one_class_svm, single_class_mpm

NUMBERS = ("outlier_fraction", "slack_penalty", "mean_penalty", "confidence", "count_x", "outliers", "false_alarm_rate")
WRONG = (0.0, -1.0, math.nan, math.inf, "x", [])


def _numbers(node, good):
    """The numbers that a node takes, of those that are known here by name."""
    taken = inspect.signature(node.function).parameters
    return [
        key for key in taken if key in NUMBERS and (key in good or taken[key].default is not inspect.Parameter.empty)
    ]


@pytest.mark.parametrize("name", derivation.methods())
def test_a_wrong_number_is_refused_by_its_name(name):
    good = families()[name](Knobs()) if name in families() else {}
    nodes = [node for node in derivation.method(name).nodes.values() if good and node.refusal(good) is None]
    cells = [(node, parameter) for node in nodes for parameter in _numbers(node, good)]
    for node, parameter in cells:
        for wrong in WRONG:
            try:
                call(node.function, {**good, parameter: wrong})
            except ConvexNoveltyError as error:
                # What is refused is the argument, or that there is no solution at it.
                assert parameter in str(error) or not isinstance(error, InputError), (node.name, wrong, str(error))


def test_libsvm_is_not_asked_for_an_infinite_offset():
    features = cn.LinearFeatures(np.random.default_rng(0).normal(size=(12, 2)) + 3)
    for node in (one_class_svm.libsvm, one_class_svm.reflection):
        with pytest.raises(InputError, match="outlier_fraction: 1 was found"):
            node(features, 1.0)


def test_a_ridge_that_is_not_there_is_asked_for():
    features = cn.KernelFeatures(np.random.default_rng(0).normal(size=(12, 2)), cn.kernels.gaussian(width=1.0))
    moments = cn.Moments.estimate(features.training)
    for node in (single_class_mpm.kernel_ridge, single_class_mpm.kernel_iterative):
        with pytest.raises(InputError, match="uncertainty: without a covariance radius"):
            node(features, moments, 0.5)


def test_a_tiny_penalty_is_no_overflow():
    positives = np.array([[3.0, 1.0], [3.0, -1.0], [4.0, 0.0]])
    negatives = cn.Moments([0.0, 0.0], np.eye(2))
    found = moment_classifier.nu_machine(positives, negatives, 1e-300)
    assert found.objective == pytest.approx(3e-300, rel=1e-6)
