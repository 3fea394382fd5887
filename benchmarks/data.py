"""Data of known make for the benchmarks: documents as bags of words, and a rare class among dense features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

WORDS, DRAWN = 47_236, 112  # about a hundred different words of 112 that are drawn


class Task(NamedTuple):
    """Training points of two classes, positives last, and test points with their labels."""

    negatives: object
    positives: object
    test: object
    labels: np.ndarray


def documents(count: int, share: float, topic: int, rng: np.random.Generator) -> sp.csr_array:
    """Rows of unit length: a Zipf law for all words, and with probability ``share`` a word of the topic."""
    general = np.exp(rng.random((count, DRAWN), dtype=np.float32) * np.float32(np.log(WORDS))).astype(np.int32)
    own = np.exp(rng.random((count, DRAWN), dtype=np.float32) * np.float32(np.log(1500))).astype(np.int32)
    words = np.random.default_rng(topic).permutation(WORDS).astype(np.int32)[:1500]
    chosen = rng.random((count, DRAWN), dtype=np.float32) < share
    drawn = np.where(chosen, words[np.minimum(own, 1499)], np.minimum(general, WORDS - 1))
    drawn.sort(axis=1)
    kept = np.ones(drawn.shape, dtype=bool)
    kept[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    indices = drawn[kept]
    lengths = kept.sum(axis=1)
    # Rare words weigh more, as an inverse document frequency makes them.
    data = np.log1p(indices.astype(np.float64)) * (1 + rng.random(indices.size))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    norms = np.sqrt(np.add.reduceat(data**2, indptr[:-1]))
    data /= np.repeat(norms, lengths)
    return sp.csr_array((data, indices, indptr.astype(np.int32)), shape=(count, WORDS))


def collection(negatives: int, positives: int, tested: int, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Negatives of twenty topics, of which two in a hundred touch on the topic of the positives."""
    rng = np.random.default_rng(seed)
    near = negatives // 50
    parts = [documents((negatives - near) // 20, 0.2, topic, rng) for topic in range(1, 21)]
    parts.append(documents(near, 0.09, 0, rng))
    return sp.vstack(parts, format="csr"), documents(positives, 0.13, 0, rng)


def text(negatives: int = 400_000, positives: int = 400) -> Task:
    """A collection of documents and a rare topic."""
    train, rare = collection(negatives, positives, 0, 0)
    others, more = collection(negatives // 8, 5 * positives, 0, 1)
    labels = np.repeat([0, 1], [others.shape[0], more.shape[0]])
    return Task(train, rare, sp.vstack([others, more], format="csr"), labels)


def proteins(negatives: int = 10_800, positives: int = 600, dimension: int = 150) -> Task:
    """Correlated dense features, and a rare class that is shifted a little and scatters otherwise."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((dimension, dimension)) / dimension**0.5 + np.eye(dimension)
    shift = rng.standard_normal(dimension) * 0.16

    def drawn(count: int, rare: bool) -> np.ndarray:
        rows = rng.standard_normal((count, dimension)) @ mixing
        return rows + shift * rng.uniform(0.2, 1.8, (count, 1)) if rare else rows

    test = np.vstack([drawn(negatives, False), drawn(positives, True)])
    return Task(drawn(negatives, False), drawn(positives, True), test, np.repeat([0, 1], [negatives, positives]))
