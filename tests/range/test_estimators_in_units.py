"""Estimators do not know in which unit the columns are given: the same points are ordinary in all of them."""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty import estimators

ONE_CLASS = [
    (estimators.OneClassSVM, {}),
    (estimators.OneClassSVM, {"kernel": "linear"}),
    (estimators.SoftBall, {}),
    (estimators.SoftBall, {"kernel": "linear"}),
    (estimators.SingleClassMPM, {}),
    (estimators.SingleClassMPM, {"kernel": "linear"}),
    (estimators.MahalanobisSVM, {}),
    (estimators.MahalanobisSVM, {"kernel": "linear"}),
    (estimators.KernelLearningSVM, {}),
]


def points():
    rng = np.random.default_rng(11)
    return rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5] + [1.0, 2.0, 3.0], rng.normal(size=(200, 3)) * 3


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize(("kind", "how"), ONE_CLASS, ids=lambda part: getattr(part, "__name__", str(part)))
def test_one_class(kind, how, unit):
    X, new = points()
    plain, other = kind(**how).fit(X), kind(**how).fit(unit * X)
    expected = plain.predict(new)
    assert 0 < np.sum(expected == -1) < new.shape[0]
    np.testing.assert_array_equal(other.predict(unit * new), expected)


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("kind", [estimators.TwoClassMPM, estimators.MomentClassifier])
def test_two_classes(kind, unit):
    X, new = points()
    X[30:] += 3.0
    y = np.repeat([0, 1], 30)
    plain, other = kind().fit(X, y), kind().fit(unit * X, y)
    expected = plain.predict(new)
    assert 0 < np.sum(expected) < new.shape[0]
    np.testing.assert_array_equal(other.predict(unit * new), expected)
    assert other.guarantee_.bound == pytest.approx(plain.guarantee_.bound, rel=1e-6)
