"""scikit-learn's own checks, on every estimator that the package has."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexnovelty import estimators, kernels

# What a check asks beyond what a detector of this kind promises; each reason is strict and fails when outdated.
EXPECTED: dict[str, dict[str, str]] = {}
if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7):
    reason = "before 1.7 the check named the two classes after the first row, which differs between the fits that it compares"
    EXPECTED["TwoClassMPM"] = {
        f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")
    }


@parametrize_with_checks(
    [getattr(estimators, name)() for name in estimators.__all__],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
def test_estimator_conforms(estimator, check):
    check(estimator)


def test_every_estimator_is_tested():
    assert len(estimators.__all__) == 8
    for name in estimators.__all__:
        assert getattr(estimators, name).__doc__
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = estimators.Nonsense


def test_gram_matrices_are_split_by_rows_and_columns():
    """As scikit-learn splits them where an estimator says that its points are pairs."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    G = kernels.gaussian(gamma=0.3)(X)

    def score(made, rows, y=None):
        return made.predict(rows).mean()

    pairs = estimators.OneClassSVM(outlier_fraction=0.2, kernel=kernels.precomputed())
    ours = cross_val_score(pairs, G, scoring=score, cv=4)
    plain = estimators.OneClassSVM(outlier_fraction=0.2, kernel=kernels.gaussian(gamma=0.3))
    assert ours == pytest.approx(cross_val_score(plain, X, scoring=score, cv=4))
