"""Where a reproduction's data come from: a folder of files, OpenML through scikit-learn, or a generator.

A table is checked for its shape and its classes, whatever it came from, so that a namesake is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.errors import InputError
from convexnovelty.validation import Array

__all__ = ["SOURCES", "Data", "Source", "Table", "twonorm", "waveform"]


@dataclass(frozen=True, eq=False)
class Table:
    """Points X of shape (n, p), dense or sparse, and a class for each row; the first ``training`` rows are for training."""

    X: Any
    y: NDArray[Any]
    training: int = 0


@dataclass(frozen=True)
class Source:
    """One data set: its file, its number on OpenML, or its generator; and the shape that it must have."""

    file: str
    shape: tuple[int, int]
    read: Callable[[Path], Table]
    openml: int | None = None
    classes: dict[str, int] = field(default_factory=dict)
    convert: Callable[[Any, Any], Table] | None = None
    generate: Callable[[], Table] | None = None


class Data:
    """Data sets by name. ``origins`` says where each that was asked for came from.

    Parameters
    ----------
    folder : a folder with the files, or None to generate or download.

    Raises
    ------
    InputError : for a folder that does not exist.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None and not self.folder.is_dir():
            raise InputError(f"--data: {folder} is not a folder; give the folder that holds the data files")
        self.origins: dict[str, str] = {}
        self._tables: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """The data set of that name. Raises InputError, with what to do, where it cannot be had."""
        if name not in self._tables:
            table = self._found(name, SOURCES[name])
            if tuple(table.X.shape) != SOURCES[name].shape or len(table.y) != table.X.shape[0]:
                raise InputError(
                    f"{self.origins[name]}: a table of shape {tuple(table.X.shape)} was found where {name} has "
                    f"{SOURCES[name].shape}; give the folder that holds {SOURCES[name].file}"
                )
            self._tables[name] = table
        return self._tables[name]

    def _found(self, name: str, source: Source) -> Table:
        if self.folder is not None and (self.folder / source.file).is_file():
            self.origins[name] = source.file
            return source.read(self.folder / source.file)
        if source.generate is not None:
            self.origins[name] = "generated"
            return source.generate()
        looked = f"there is no {source.file} in {self.folder}" if self.folder else "no folder of data was given"
        if source.openml is None:
            raise InputError(f"{name}: {looked}, and no download of it is known; give --data DIR with {source.file}")
        self.origins[name] = f"OpenML {source.openml}"
        try:
            from sklearn.datasets import fetch_openml

            fetched: Any = fetch_openml(data_id=source.openml, as_frame=True, parser="auto")
        # Offline is a URLError or a timeout, a proxy may answer with anything, and a parser may want pandas.
        except Exception as error:
            raise InputError(
                f"{name}: {looked}, and OpenML's data set {source.openml} could not be fetched "
                f"({type(error).__name__}: {error}); give --data DIR with {source.file}"
            ) from error
        convert = source.convert or (lambda X, y: _frame(X, y, source.classes))
        return convert(fetched.data, fetched.target)


def _frame(X: Any, y: Any, classes: dict[str, int]) -> Table:
    """Complete rows of a frame, and its labels as numbers."""
    values = np.column_stack([np.asarray(X[name], dtype=np.float64) for name in X.columns])
    complete = ~np.isnan(values).any(axis=1)
    return Table(values[complete], np.array([classes[str(label)] for label in y])[complete])


def _csv(classes: dict[str, int]) -> Callable[[Path], Table]:
    def read(path: Path) -> Table:
        rows = [line.split(",") for line in path.read_text().splitlines()[1:] if line]
        complete = [row for row in rows if all(cell.strip() for cell in row)]
        values = np.array([[float(cell) for cell in row[:-1]] for row in complete])
        return Table(values, np.array([classes[row[-1].strip().strip('"')] for row in complete]))

    return read


def _usps(path: Path) -> Table:
    with np.load(path, allow_pickle=False) as arrays:
        X = np.vstack([arrays["X_train"], arrays["X_test"]]) / 1000.0
        return Table(X, np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(int), len(arrays["y_train"]))


def _usps_frame(X: Any, y: Any) -> Table:
    labels = np.asarray(y).astype(float).astype(int)
    labels = labels - labels.min()
    values = np.asarray(X, dtype=np.float64)
    if values.min() >= 0:
        values = 2 * values / values.max() - 1
    if np.bincount(labels[:7291], minlength=10).tolist() != [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]:
        raise InputError("usps: the first 7291 rows of the download are not the training set; give --data DIR")
    return Table(values, labels, 7291)


def _splice_frame(X: Any, y: Any) -> Table:
    letters = {"A": 1, "G": 2, "C": 3, "T": 4}
    columns = [name for name in X.columns if set(map(str, X[name].unique())) <= {*letters, *"DNSR"}]
    rows = np.array([[letters.get(str(cell).strip(), 0) for cell in X[name]] for name in columns], dtype=float).T
    whole = (rows > 0).all(axis=1)
    return Table(rows[whole], np.where(np.asarray(y).astype(str) == "N", -1, 1)[whole])


def _text(path: Path) -> Table:
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


SIGNS = {"1": 1, "-1": -1, "2": -1}
SONAR = {"M": 1, "R": -1, "Mine": 1, "Rock": -1}
HEART = {"presence": 1, "absence": -1, "present": 1, "absent": -1}
CANCER = {"benign": 1, "malignant": -1}
RADAR = {"good": 1, "bad": -1, "g": 1, "b": -1}

SOURCES: dict[str, Source] = {
    "sonar": Source("sonar.csv", (208, 60), _csv(SONAR), 40, SONAR),
    "heart": Source("heart_statlog.csv", (270, 13), _csv(HEART), 53, HEART),
    "wisconsin": Source("wisconsin.csv", (683, 9), _csv(CANCER), 15, CANCER),
    "ionosphere": Source("ionosphere.csv", (351, 34), _csv(RADAR), 59, RADAR),
    "banana": Source("ida_banana.csv", (5300, 2), _csv(SIGNS), 1460, SIGNS),
    "splice": Source("ida_splice.csv", (3175, 60), _csv(SIGNS), 46, convert=_splice_frame),
    "waveform": Source(
        "ida_waveform.csv", (5000, 21), _csv(SIGNS), generate=lambda: waveform(5000, np.random.default_rng(0))
    ),
    "usps": Source("usps.npz", (9298, 256), _usps, 41082, convert=_usps_frame),
    "reuters": Source("text_reuters20.npz", (7984, 12411), _text),
}


def columns(X: Array) -> Array:
    """The columns of a table, without those that are constant."""
    return np.asarray(X[:, X.std(axis=0) > 0])
