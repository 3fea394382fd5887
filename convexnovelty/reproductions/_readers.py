"""Files of data and tables of OpenML as points and classes, and generators of the sets that are defined by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError

__all__ = [
    "Table",
    "anomalies",
    "anomalies_frame",
    "banana_frame",
    "csv",
    "frame",
    "splice_frame",
    "text",
    "twonorm",
    "usps",
    "usps_frame",
    "waveform",
]


@dataclass(frozen=True, eq=False)
class Table:
    """Points X of shape (n, p), dense or sparse, and a class for each row; the first ``training`` rows are for training."""

    X: Any
    y: NDArray[Any]
    training: int = 0


def frame(X: Any, y: Any, classes: dict[str, int]) -> Table:
    """Complete rows of a frame, and its labels as numbers."""
    values = np.column_stack([np.asarray(X[name], dtype=np.float64) for name in X.columns])
    complete = ~np.isnan(values).any(axis=1)
    return Table(values[complete], np.array([classes[str(label)] for label in y])[complete])


def csv(classes: dict[str, int]) -> Callable[[Path], Table]:
    def read(path: Path) -> Table:
        rows = [line.split(",") for line in path.read_text().splitlines()[1:] if line]
        complete = [row for row in rows if all(cell.strip() for cell in row)]
        values = np.array([[float(cell) for cell in row[:-1]] for row in complete])
        return Table(values, np.array([classes[row[-1].strip().strip('"')] for row in complete]))

    return read


def usps(path: Path) -> Table:
    with np.load(path, allow_pickle=False) as arrays:
        X = np.vstack([arrays["X_train"], arrays["X_test"]]) / 1000.0
        return Table(X, np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(int), len(arrays["y_train"]))


def usps_frame(X: Any, y: Any) -> Table:
    labels = np.asarray(y).astype(float).astype(int)
    labels = labels - labels.min()
    values = np.asarray(X, dtype=np.float64)
    if values.min() >= 0:
        values = 2 * values / values.max() - 1
    if np.bincount(labels[:7291], minlength=10).tolist() != [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]:
        raise InputError("usps: the first 7291 rows of the download are not the training set; give --data DIR")
    return Table(values, labels, 7291)


def splice_frame(X: Any, y: Any) -> Table:
    letters = {"A": 1, "G": 2, "C": 3, "T": 4}
    columns = [name for name in X.columns if {str(cell).strip() for cell in X[name].unique()} <= {*letters, *"DNSR"}]
    rows = np.array([[letters.get(str(cell).strip(), 0) for cell in X[name]] for name in columns], dtype=float).T
    whole = (rows > 0).all(axis=1)
    return Table(rows[whole], np.where(np.char.strip(np.asarray(y).astype(str)) == "N", -1, 1)[whole])


def banana_frame(X: Any, y: Any) -> Table:
    """Other collections number the classes of the bananas 1 and 2; the larger is the benchmark's -1."""
    labels = np.asarray(y).astype(str)
    larger = Counter(labels.tolist()).most_common(1)[0][0]
    return Table(np.asarray(X, dtype=np.float64), np.where(labels == larger, -1, 1))


def anomalies(path: Path) -> Table:
    with np.load(path, allow_pickle=False) as arrays:
        return Table(np.asarray(arrays["X"], dtype=np.float64), arrays["y"].astype(int))


def anomalies_frame(X: Any, y: Any) -> Table:
    labels = np.asarray(y).astype(str)
    return Table(np.asarray(X, dtype=np.float64), (labels != Counter(labels.tolist()).most_common(1)[0][0]).astype(int))


def text(path: Path) -> Table:
    import scipy.sparse as sp

    with np.load(path, allow_pickle=False) as z:
        X = sp.csr_array((z["data"].astype(float), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
        return Table(X, z["y"].astype(int))


def twonorm(n: int, random: np.random.Generator) -> Table:
    """Breiman's twonorm: normal points in 20 dimensions around (a, .., a) and (-a, .., -a), a = 2 / sqrt(20)."""
    y = np.where(np.arange(n) < n // 2, 1, -1)
    return Table(random.standard_normal((n, 20)) + y[:, None] * 2 / np.sqrt(20), y)


def waveform(n: int, random: np.random.Generator) -> Table:
    """Breiman's waveforms of 21 points: mixtures of two of three triangles with noise; the class +1 is one of three."""
    at = np.arange(1, 22)
    triangles = [np.maximum(6.0 - np.abs(at - center), 0.0) for center in (11, 15, 7)]
    kind = random.integers(0, 3, size=n)
    share = random.random((n, 1))
    first = np.array(triangles)[np.array([0, 0, 1])[kind]]
    second = np.array(triangles)[np.array([1, 2, 2])[kind]]
    X = share * first + (1 - share) * second + random.standard_normal((n, 21))
    return Table((X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.where(kind == 0, 1, -1))
