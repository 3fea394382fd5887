"""New points whose kernel values leave the range of float64: a row without a score is refused, and not called novel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from convexnovelty.errors import InputError
from convexnovelty.estimators import (
    KernelLearningSVM,
    MahalanobisSVM,
    OneClassSVM,
    SingleClassMPM,
    SoftBall,
    TwoClassMPM,
)

X = np.random.default_rng(0).normal(size=(40, 2)) + 3


@pytest.mark.parametrize(
    "machine",
    [
        SingleClassMPM(confidence=0.3, kernel="polynomial"),
        SoftBall(outlier_fraction=0.1, kernel="polynomial"),
        OneClassSVM(outlier_fraction=0.1, kernel="polynomial", rank=5),
        MahalanobisSVM(outlier_fraction=0.1, kernel="polynomial"),
        KernelLearningSVM(outlier_fraction=0.1, kernels=["polynomial", "gaussian"]),
        TwoClassMPM(kernel="polynomial"),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_a_row_without_a_score_is_refused(machine):
    """(g x'z + 1)^3 at entries of 1e149; at 1e30 the same ray has a score, whose sign is that of the leading term."""
    labels = (X[:, 0] > 3).astype(int) if isinstance(machine, TwoClassMPM) else None
    machine.fit(X, labels)
    assert np.isfinite(machine.decision_function([[1e30, 1e30]])).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"row 1 has no score|values that are not finite on new points"):
            machine.predict([[3.0, 3.0], [1e149, 1e149]])


def test_an_infinite_score_has_a_sign():
    """All terms of an expansion with positive weights have that of the leading one."""
    machine = OneClassSVM(outlier_fraction=0.1, kernel="polynomial").fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert machine.predict([[1e149, 1e149]]) == [1]
