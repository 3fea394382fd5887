"""The compiled Gram matrix of sparse rows is the product that it stands for, and whitening uses it alike."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import Moments, whitening
from convexnovelty.algorithms._sparse_products import gram_of_rows


@pytest.mark.parametrize("shape", [(1, 1), (7, 30), (40, 5)])
def test_all_pairs_of_rows(shape):
    rng = np.random.default_rng(0)
    X = sp.random_array(shape, density=0.3, format="csr", random_state=rng)
    X.data -= 0.5
    assert gram_of_rows(X) == pytest.approx((X @ X.T).toarray(), abs=1e-14)


def test_whitened_products_of_sparse_rows(monkeypatch):
    monkeypatch.setattr(whitening, "COMPILED", 0)
    rng = np.random.default_rng(1)
    X = sp.random_array((20, 12), density=0.4, format="csr", random_state=rng)
    moments = Moments.low_rank(rng.standard_normal(12), rng.standard_normal((2, 12)), rng.random(12) + 0.5)
    rows = X.toarray() - moments.mean
    expected = rows @ np.linalg.solve(moments.covariance, rows.T)
    assert whitening.Whitening(moments).inner(X) == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_rows_that_are_not_in_order_are_put_in_order():
    doubled = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert whitening.as_points(doubled, "X").toarray().tolist() == [[0.0, 2.0], [1.0, 0.0]]
