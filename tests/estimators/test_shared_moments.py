"""Moments of sparse negatives in one pass, and one such object shared by many positive classes."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import Moments, estimates
from convexnovelty.errors import InputError
from convexnovelty.estimators import MomentClassifier


def words(n, p, seed=0):
    matrix = sp.random_array((n, p), density=0.05, format="csr", random_state=np.random.default_rng(seed))
    matrix.data *= np.random.default_rng(seed).standard_normal(matrix.nnz)
    return matrix


@pytest.fixture
def one_pass(monkeypatch):
    monkeypatch.setattr(estimates, "ONE_PASS", 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_one_pass_gives_the_moments_of_the_dense_matrix(one_pass, weighted, ddof, wide):
    X = words(300, 40)
    X.indices, X.indptr = X.indices.astype(wide), X.indptr.astype(wide)
    weights = np.random.default_rng(1).integers(0, 3, 300).astype(float) if weighted else None
    quick = Moments.estimate(X, weights, ddof, "diagonal")
    dense = Moments.estimate(X.toarray(), weights, ddof, "diagonal")
    assert quick.mean == pytest.approx(dense.mean, rel=1e-12, abs=1e-15)
    assert quick.variances == pytest.approx(dense.variances, rel=1e-12)
    assert quick.count == dense.count


def test_columns_far_from_zero_keep_their_digits(one_pass):
    X = words(200, 6).toarray()
    X[:, 1] = 1.0
    X[:, 3] = 1e6 + np.random.default_rng(2).standard_normal(200)
    quick = Moments.estimate(sp.csr_array(X), representation="diagonal")
    dense = Moments.estimate(X, representation="diagonal")
    assert quick.variances[1] == 0.0
    assert quick.variances == pytest.approx(dense.variances, rel=1e-9)
    assert (quick + quick).mean == pytest.approx(dense.mean, rel=1e-15)


def test_matrices_that_are_not_canonical_or_not_finite_go_the_careful_way(one_pass):
    doubled = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    found = Moments.estimate(doubled, representation="diagonal")
    assert found.mean == pytest.approx([0.5, 1.0])
    assert found.variances == pytest.approx([0.25, 1.0])
    broken = words(20, 5)
    broken.data[3] = np.nan
    with pytest.raises(InputError, match="nan was found at row"):
        Moments.estimate(broken, representation="diagonal")


def test_classes_share_the_moments_of_the_negatives():
    negatives = words(400, 30)
    shared = Moments.estimate(negatives, representation="diagonal")
    for seed in range(3):
        positives = words(30, 30, seed + 5) + sp.csr_array(np.eye(1, 30, seed) * np.ones((30, 1)))
        X, y = sp.vstack([negatives, positives], format="csr"), np.repeat([0, 1], [400, 30])
        whole = MomentClassifier(factors=0, slack_penalty=0.01).fit(X, y)
        alone = MomentClassifier(slack_penalty=0.01).fit(positives, negative_moments=shared)
        labelled = MomentClassifier(slack_penalty=0.01, negative_moments=shared).fit(X, y)
        for other in (alone, labelled):
            assert other.decision_function(X) == pytest.approx(whole.decision_function(X), rel=1e-8, abs=1e-10)
        assert alone.classes_.tolist() == [0, 1]
        assert alone.guarantee_.bound == pytest.approx(labelled.guarantee_.bound, rel=1e-9)
        # Moments given say what they assume; rows of the fit are bounded by their full variance.
        assert "uncorrelated columns" in alone.guarantee_
        scores = negatives @ whole.score_.normal
        kappa = (whole.offset_ - scores.mean()) / scores.std()
        assert whole.guarantee_.bound == pytest.approx(1 / (1 + kappa**2) if kappa > 0 else 1.0, rel=1e-9)


def test_a_full_covariance_of_very_many_columns_is_not_begun():
    X = sp.random_array((10, 40_000), density=0.001, format="csr", random_state=np.random.default_rng(0))
    with pytest.raises(InputError, match="factors=0 for variances alone"):
        MomentClassifier().fit(X, np.repeat([0, 1], 5))
    with pytest.raises(ValueError, match="requires y"):
        MomentClassifier().fit(X)


def test_a_ridge_is_added_without_leaving_the_representation():
    rng = np.random.default_rng(3)
    positives = rng.standard_normal((20, 12)) + 2
    factor = Moments.low_rank(np.zeros(12), rng.standard_normal((3, 12)), rng.random(12))
    ours = MomentClassifier(slack_penalty=0.1, ridge=0.01).fit(positives, negative_moments=factor)
    dense = Moments(factor.mean, factor.covariance)
    same = MomentClassifier(slack_penalty=0.1, ridge=0.01).fit(positives, negative_moments=dense)
    assert ours.decision_function(positives) == pytest.approx(same.decision_function(positives), rel=1e-8)
