"""Small sets of nominal and novel points: generated ones with a fixed seed, and two that scikit-learn ships.

Every function returns a :class:`Dataset` and is deterministic: the same arguments give the same points. The
generated sets are signed, not centred at zero, and degenerate on purpose where their name says so.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.validation import Array, integer, points

__all__ = [
    "Dataset",
    "all_datasets",
    "badly_scaled",
    "banana",
    "blob",
    "breast_cancer",
    "digits",
    "duplicates",
    "ring",
    "wide",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Nominal points to learn from and novel points to find, both with p columns.

    Attributes
    ----------
    name : what it is called.
    nominal : (n, p) ordinary points.
    novel : (m, p) points of another origin.
    description : one sentence on where they come from.
    """

    name: str
    nominal: Array
    novel: Array
    description: str

    def __post_init__(self) -> None:
        for part in ("nominal", "novel"):
            # A data set that a caller changed would no longer be the one of its name.
            object.__setattr__(self, part, read_only(points(getattr(self, part), part).copy()))
        if self.nominal.shape[1] != self.novel.shape[1]:
            raise InputError(
                f"novel: {self.novel.shape[1]} columns were found where nominal has {self.nominal.shape[1]}"
            )

    @property
    def dimension(self) -> int:
        """The number p of columns."""
        return int(self.nominal.shape[1])

    @property
    def test_points(self) -> Array:
        """Nominal and novel points below one another, of shape (n + m, p)."""
        return np.vstack([self.nominal, self.novel])

    @property
    def test_labels(self) -> Array:
        """+1 for the nominal and -1 for the novel rows of ``test_points``, as scikit-learn labels them."""
        return np.concatenate([np.ones(len(self.nominal)), -np.ones(len(self.novel))])


def all_datasets() -> dict[str, Callable[..., Dataset]]:
    """Every function of this module that makes a data set, by name."""
    module = sys.modules[__name__]
    made = inspect.getmembers(module, inspect.isfunction)
    return {name: make for name, make in made if inspect.signature(make).return_annotation == Dataset.__name__}


def blob(n: int = 60, dimension: int = 2, seed: int = 0) -> Dataset:
    """A correlated Gaussian cloud away from the origin; the novel points lie round it, up to twice as far out."""
    n, dimension, random = _size(n), integer(dimension, "dimension", 1), _random(seed)
    mixing = random.normal(size=(dimension, dimension)) / np.sqrt(dimension) + np.eye(dimension)
    mean = 3.0 * (-1.0) ** np.arange(dimension) + 1.0
    nominal = mean + random.normal(size=(n, dimension)) @ mixing
    directions = random.normal(size=(n, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.sqrt(dimension) * random.uniform(2.5, 5.0, size=(n, 1))
    return Dataset("blob", nominal, mean + radii * directions @ mixing, "a Gaussian cloud with mean away from zero")


def banana(n: int = 80, seed: int = 0) -> Dataset:
    """A crescent in the plane; the novel points fill the box round it, so a share of them lies in the crescent."""
    n, random = _size(n), _random(seed)
    angle = random.uniform(-0.3 * np.pi, 0.9 * np.pi, size=n)
    crescent = np.column_stack([2.0 * np.cos(angle) - 1.0, 2.0 * np.sin(angle) + 0.5])
    nominal = crescent + 0.2 * random.normal(size=(n, 2))
    low, high = nominal.min(axis=0), nominal.max(axis=0)
    novel = random.uniform(low - 0.5, high + 0.5, size=(n, 2))
    return Dataset("banana", nominal, novel, "a noisy crescent against uniform points on a box")


def ring(n: int = 80, seed: int = 0) -> Dataset:
    """A noisy circle of radius 2; half the novel points lie at its centre, half far outside."""
    n, random = _size(n), _random(seed)
    angle = random.uniform(0.0, 2.0 * np.pi, size=n)
    radius = 2.0 + 0.15 * random.normal(size=n)
    center = np.array([1.0, -2.0])
    nominal = center + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    inner, outer = n // 2, n - n // 2
    far = random.uniform(0.0, 2.0 * np.pi, size=outer)
    novel = center + np.vstack(
        [0.3 * random.normal(size=(inner, 2)), 4.0 * np.column_stack([np.cos(far), np.sin(far)])]
    )
    return Dataset("ring", nominal, novel, "a noisy circle, with novel points at its centre and far outside")


def duplicates(n: int = 40, seed: int = 0) -> Dataset:
    """A blob in which every point occurs several times, and the first in half of all rows."""
    source = blob(max(_size(n) // 4, 2), seed=seed)
    rows = _random(seed).integers(0, len(source.nominal), size=n)
    rows[: n // 2] = 0
    return Dataset("duplicates", source.nominal[rows], source.novel, "a blob with repeated rows")


def badly_scaled(n: int = 60, dimension: int = 4, seed: int = 0) -> Dataset:
    """A blob whose columns are in units from 1e-4 to 1e4."""
    source = blob(n, dimension, seed)
    units = np.logspace(-4.0, 4.0, source.dimension)
    return Dataset("badly_scaled", source.nominal * units, source.novel * units, "a blob in units from 1e-4 to 1e4")


def wide(n: int = 12, dimension: int = 30, seed: int = 0) -> Dataset:
    """Fewer points than columns, so that the covariance is singular."""
    source = blob(n, dimension, seed)
    return Dataset("wide", source.nominal, source.novel, "fewer points than columns")


def breast_cancer() -> Dataset:
    """The breast cancer data of scikit-learn, 30 columns in their own units: 357 benign cases are nominal."""
    from sklearn.datasets import load_breast_cancer

    cases: Any = load_breast_cancer()
    benign = cases.target == list(cases.target_names).index("benign")
    return Dataset("breast_cancer", cases.data[benign], cases.data[~benign], "benign cases against 212 malignant ones")


def digits(digit: int = 0) -> Dataset:
    """The digit images of scikit-learn, 64 grey values from 0 to 16: one digit is nominal, the other nine are novel."""
    from sklearn.datasets import load_digits

    digit = integer(digit, "digit", 0)
    if digit > 9:
        raise InputError(f"digit: {digit} was found; give a digit from 0 to 9")
    images: Any = load_digits()
    chosen = images.target == digit
    return Dataset("digits", images.data[chosen], images.data[~chosen], f"images of the digit {digit} against the rest")


def _size(n: Any) -> int:
    return integer(n, "n", 2)


def _random(seed: Any) -> np.random.Generator:
    return np.random.default_rng(integer(seed, "seed", 0))
