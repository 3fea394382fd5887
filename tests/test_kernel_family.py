"""Families of kernels: laws of their coordinates, scores of new points, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from convexnovelty import kernels
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.kernel_family import KernelFamily

X, Z = (np.random.default_rng(seed).standard_normal((n, 3)) for seed, n in ((0, 12), (1, 5)))
CHOSEN = [kernels.gaussian(gamma=0.3), kernels.linear(), kernels.polynomial(degree=2, gamma=0.5)]


def test_laws():
    family = KernelFamily.of_kernels(X, CHOSEN)
    weights, gamma = np.array([0.2, 0.5, 0.3]), np.linspace(-1, 1, 12)
    assert (len(family), family.n) == (3, 12)
    for kernel, factor, gram in zip(CHOSEN, family.factors, family.grams, strict=True):
        np.testing.assert_allclose(factor @ factor.T, gram, atol=1e-12)
        np.testing.assert_allclose(gram, kernel(X), atol=1e-10)
    total = sum(w * kernel(X) for w, kernel in zip(weights, CHOSEN, strict=True))
    np.testing.assert_allclose(family.gram(weights), total, atol=1e-10)
    np.testing.assert_allclose(family.coordinates(X), family.training, atol=1e-7)
    scores = family.cross_gram(Z, weights) @ gamma
    np.testing.assert_allclose(family.coordinates(Z) @ family.normal(weights, gamma), scores, atol=1e-8)
    assert [family.training[:, block].shape[1] for block in family.blocks] == [f.shape[1] for f in family.factors]
    assert family.unit == pytest.approx(np.sqrt(np.mean([np.trace(K) / 12 for K in family.grams])))


def test_kinds_of_members():
    grams = [kernel(X) for kernel in CHOSEN]
    weights = [0.2, 0.5, 0.3]
    families = [
        KernelFamily.of_kernels(X, CHOSEN),
        KernelFamily(grams),
        KernelFamily.of(np.array(grams)),
        KernelFamily.of([KernelFeatures(X, CHOSEN[0]), LinearFeatures(X), grams[2]]),
    ]
    for family in families:
        np.testing.assert_allclose(family.gram(weights), families[0].gram(weights), atol=1e-10)
    rows = [kernel(Z, X) for kernel in CHOSEN]
    np.testing.assert_allclose(families[1].cross_gram(rows, weights), families[0].cross_gram(Z, weights), atol=1e-12)
    names, turned = list("abcdefghijkl"), list("dalkbjcihegf")
    frames = [pd.DataFrame(gram, names, names)[turned] for gram in grams]
    np.testing.assert_allclose(KernelFamily.of(frames).gram(weights), families[0].gram(weights), atol=1e-10)
    np.testing.assert_allclose(KernelFamily.of(frames[1]).gram([1.0]), grams[1], atol=1e-10)
    assert KernelFamily.of(families[0]) is families[0]
    assert len(KernelFamily.of(LinearFeatures(X))) == len(KernelFamily.of(grams[0])) == 1


def test_what_is_refused():
    for given, message in (
        ([], "empty list"),
        ("gaussian", "'gaussian' was found"),
        (3.0, "3.0 was found"),
        ([np.eye(3), np.eye(4)], "members of 3, 4 points"),
        ([np.eye(3), 2.0], "float was found at position 1"),
        ([CHOSEN[0]], "use KernelFamily.of_kernels"),
        ([np.ones((3, 2))], "X"),
        ([np.array([[1.0, 0.5], [0.2, 1.0]])], "not symmetric"),
        ([np.array([[1.0, np.nan], [np.nan, 1.0]])], "nan"),
    ):
        with pytest.raises(InputError, match=message):
            KernelFamily.of(given)
    with pytest.raises(IndefiniteError) as caught:
        KernelFamily([np.array([[1.0, 2.0], [2.0, 1.0]])])
    assert caught.value.eigenvalue == pytest.approx(-1.0)
    family = KernelFamily.of_kernels(X, CHOSEN)
    with pytest.raises(InputError, match="Z: 2 parts were found where the family has 3"):
        family.coordinates([Z, Z])
    with pytest.raises(InputError, match="weights: length 2"):
        family.gram([0.5, 0.5])
