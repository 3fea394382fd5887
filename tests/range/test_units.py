"""Every node of every method in units from 1e-8 to 1e8: only the unit of the optimum changes, by a whole power."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from convexnovelty import derivation
from convexnovelty.checking.instances import Knobs, families, sample
from convexnovelty.declare import call
from convexnovelty.errors import ConvexNoveltyError
from convexnovelty.features import LinearFeatures
from convexnovelty.formulation import Formulation

UNITS = (1e-8, 1e8)
# A kernel whose width follows the points hides their unit from everything that comes after it.
LINEAR = ("one_class_svm", "hard_margin")
# A membership in squared units of 1e16 is more than its own proof of being non-empty resolves: an error, no number.
MAY_REFUSE = {("mahalanobis_svm", "semi_infinite", 1e8), ("mahalanobis_svm", "robust_dual", 1e8)}


def _arguments(method, unit):
    knobs = dataclasses.replace(Knobs(), unit=unit)
    arguments = dict(families()[method](knobs))
    if method in LINEAR:
        arguments["features"] = LinearFeatures(sample(knobs))
    return arguments


def _solved(node, arguments):
    made = call(node.function, arguments)
    return made.solve() if isinstance(made, Formulation) else made


@pytest.mark.parametrize("name", [name for name in derivation.methods() if name in families()])
def test_optima_and_regions_follow_the_unit(name):
    at_one = _arguments(name, 1.0)
    probe = at_one["features"].training if "features" in at_one else None
    held = 0
    for node in derivation.method(name).nodes.values():
        if node.refusal(at_one) is not None:
            continue
        plain = _solved(node, at_one)
        shape = None if probe is None or plain.region is None else plain.region.decision_values(probe)
        for unit in UNITS:
            arguments = _arguments(name, unit)
            try:
                found = _solved(node, arguments)
            except ConvexNoveltyError:
                assert (name, node.name, unit) in MAY_REFUSE
                continue
            where = (node.name, unit)
            power = round(math.log(abs(found.objective / plain.objective)) / math.log(unit))
            assert power in (-2, -1, 0, 1, 2), where
            assert found.objective == pytest.approx(plain.objective * unit**power, rel=1e-6), where
            held += 1
            if shape is not None and found.region is not None:
                values = found.region.decision_values(arguments["features"].training)
                scale = np.abs(values).max() / np.abs(shape).max()
                # An error e of an optimum is one of sqrt(e) of the point that attains it.
                np.testing.assert_allclose(values / scale, shape, atol=1e-4 * np.abs(shape).max(), err_msg=str(where))
    assert held >= 2, "a method with no node to compare"


def test_the_power_of_the_unit_is_the_same_at_both_ends():
    """What scales as the square must do so upwards and downwards: a floor or a ceiling shows here."""
    for name in ("one_class_svm", "soft_ball", "negative_data", "separation_from_mean"):
        node = derivation.method(name).nodes["dual"]
        low, high = (_solved(node, _arguments(name, unit)).objective for unit in UNITS)
        assert high / low == pytest.approx(1e32, rel=1e-6), name
