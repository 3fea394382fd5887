"""The width of a kernel and the pivots of a feature map see weights as memory does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from convexnovelty import kernels
from convexnovelty.estimators import SingleClassMPM
from convexnovelty.streams import features_of

Z = np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 3.0]])


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_weighted_blocks_give_what_weights_give_in_memory(kernel: str, rng: np.random.Generator) -> None:
    X = rng.standard_normal((300, 2))
    weights = np.where(np.abs(X[:, 0]) > 1, 1.0, 9.0)
    X, weights = np.vstack([X, [[1e3, 0.0]]]), np.append(weights, 0.0)
    detector = SingleClassMPM(0.3, kernel=kernel, gamma="scale", rank=40, ridge=0.1)
    expected = detector.fit(X, sample_weight=weights).decision_function(Z)
    blocks = [(X[:100], weights[:100]), (X[100:], weights[100:])]
    np.testing.assert_allclose(detector.fit(blocks).decision_function(Z), expected, rtol=1e-5, atol=1e-5)


def test_the_width_is_that_of_repeated_rows(rng: np.random.Generator) -> None:
    X, weights = rng.standard_normal((50, 2)) * [1.0, 3.0], rng.integers(0, 3, 50)
    for kernel in (kernels.gaussian(gamma="scale"), kernels.laplacian(gamma="scale")):
        found: Any = features_of([(X, weights), (X * 1e6, np.zeros(50))], kernel, rank=10).kernel
        expected: Any = kernel.fitted(np.repeat(X, weights, axis=0))
        assert found.gamma == pytest.approx(expected.gamma, rel=1e-12)


def test_a_column_of_weights_is_no_feature(rng: np.random.Generator) -> None:
    pd = pytest.importorskip("pandas")
    X, weights = rng.standard_normal((60, 2)), rng.integers(0, 3, 60).astype(float)
    table = pd.DataFrame(np.column_stack([X, weights]), columns=["a", "b", "w"])
    named: Any = features_of([table], "gaussian", rank=10, weights="w")
    paired: Any = features_of([(X, weights)], "gaussian", rank=10)
    np.testing.assert_array_equal(named.points, X[weights > 0])
    assert named.kernel.gamma == paired.kernel.gamma
