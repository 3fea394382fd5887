"""Small linear algebra that several sets share."""

from __future__ import annotations

import numpy as np

from convexnovelty.validation import Array

__all__ = ["direction", "random_symmetric", "semidefinite_step", "square_root"]


def direction(a: Array) -> Array:
    """``a`` at length one; the first axis where it is zero, since any member is then a worst one."""
    size = float(np.abs(a).max())
    if size == 0:
        return np.eye(a.size)[0]
    unit = a / size
    return np.asarray(unit / np.linalg.norm(unit))


def square_root(S: Array) -> Array:
    """The symmetric square root of a positive semidefinite matrix; rounding below zero counts as zero."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def random_symmetric(order: int, rng: np.random.Generator) -> Array:
    """A symmetric matrix of random signs and a random, often uneven, spectrum."""
    vectors, _ = np.linalg.qr(rng.standard_normal((order, order)))
    return np.asarray((vectors * (rng.standard_normal(order) * rng.random(order) ** 2)) @ vectors.T)


def semidefinite_step(S: Array, step: Array) -> Array:
    """``S + t step`` with the largest t in [0, 1], up to halving, that is positive semidefinite."""
    floor = -1e-13 * max(float(np.abs(S).max()), float(np.abs(step).max()))
    t = 1.0
    while t > 1e-6 and float(np.linalg.eigvalsh(S + t * step)[0]) < floor:
        t /= 2
    return np.asarray(S + (t if t > 1e-6 else 0.0) * step)
