"""What a guarantee says is true of the sample it was read from, which is one of the distributions it speaks of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty.estimators import MomentClassifier


def _correlated() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    z = np.where(rng.random(5000) < 0.1, 3.0, -1 / 3.0)
    negatives = np.repeat(z[:, None], 10, axis=1) + 0.1 * rng.normal(size=(5000, 10))
    return negatives, 2 + 0.3 * rng.normal(size=(30, 10))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_variances_alone_bound_the_negatives_of_the_fit_by_their_full_variance(form):
    negatives, positives = _correlated()
    y = np.repeat([0, 1], [len(negatives), len(positives)])
    machine = MomentClassifier(factors=0).fit(form(np.vstack([negatives, positives])), y)
    accepted = float((machine.predict(form(negatives)) == 1).mean())
    scores = negatives @ machine.score_.normal
    kappa = (machine.offset_ - scores.mean()) / scores.std()
    assert accepted > 0.1
    assert machine.guarantee_.bound == pytest.approx(1 / (1 + kappa**2), rel=1e-9)
    assert accepted <= machine.guarantee_.bound


def test_variances_alone_without_rows_say_that_columns_are_taken_for_uncorrelated():
    negatives, positives = _correlated()
    moments = cn.Moments.estimate(negatives, representation="diagonal")
    said = [
        MomentClassifier(negative_moments=moments).fit(positives).guarantee_,
        cn.single_class_mpm(cn.Moments.estimate(positives, representation="diagonal"), confidence=0.5)
        .solve()
        .guarantee,
        cn.two_class_mpm(moments, cn.Moments.estimate(positives)).solve().guarantee,
    ]
    assert all("uncorrelated columns" in guarantee for guarantee in said), said
    full = cn.two_class_mpm(cn.Moments.estimate(negatives), cn.Moments.estimate(positives)).solve().guarantee
    assert "uncorrelated" not in full
