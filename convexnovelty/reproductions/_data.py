"""Where a reproduction's data come from: a folder of files, OpenML through scikit-learn, or a generator.

A table is checked for its shape and the sizes of its classes, whatever it came from, so that a namesake, or a file with
its labels the other way round, is noticed.
"""

from __future__ import annotations

import socket
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.reproductions import _readers as readers
from convexnovelty.reproductions._readers import Table

__all__ = ["SOURCES", "Data", "Source", "Table"]

GENERATED = "generated"
SECONDS = 30.0


@dataclass(frozen=True)
class Source:
    """One data set: its file, its number on OpenML, or its generator; its shape, and how many rows each class has.

    ``classes`` translates labels as OpenML spells them; ``convert`` does what that cannot.
    """

    file: str
    shape: tuple[int, int]
    sizes: dict[int, int]
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
            source = SOURCES[name]
            table = self._found(name, source)
            sizes = dict(Counter(np.asarray(table.y).tolist()))
            generated = self.origins[name] == GENERATED
            if tuple(table.X.shape) != source.shape or not (generated or sizes == source.sizes):
                raise InputError(
                    f"{self.origins[name]}: shape {tuple(table.X.shape)} and class sizes {sizes} were found where {name} "
                    f"has {source.shape} and {source.sizes}; give the folder that holds {source.file}"
                )
            self._tables[name] = table
        return self._tables[name]

    def _found(self, name: str, source: Source) -> Table:
        if self.folder is not None and (self.folder / source.file).is_file():
            self.origins[name] = source.file
            try:
                return source.read(self.folder / source.file)
            except (OSError, ValueError, KeyError, IndexError) as error:
                raise InputError(
                    f"{source.file}: it could not be read as {name} ({type(error).__name__}: {error}); give the folder "
                    "that holds the file as it was published"
                ) from error
        if source.generate is not None:
            self.origins[name] = GENERATED
            return source.generate()
        looked = f"there is no {source.file} in {self.folder}" if self.folder else "no folder of data was given"
        if source.openml is None:
            raise InputError(f"{name}: {looked}, and no download of it is known; give --data DIR with {source.file}")
        self.origins[name] = f"OpenML {source.openml}"
        convert = source.convert or (lambda X, y: readers.frame(X, y, source.classes))
        try:
            from sklearn.datasets import fetch_openml

            with _patience(SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a fetch is tried again; that it failed is said below
                fetched: Any = fetch_openml(data_id=source.openml, as_frame=True, parser="auto", n_retries=1, delay=0.5)
            return convert(fetched.data, fetched.target)
        # Offline is a URLError or a timeout, a proxy may answer with anything, and a parser may want pandas.
        except Exception as error:
            raise InputError(
                f"{name}: {looked}, and OpenML's data set {source.openml} could not be fetched "
                f"({type(error).__name__}: {error}); give --data DIR with {source.file}"
            ) from error


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """No connection waits longer than this; fetch_openml itself has no such argument."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


SIGNS = {"1": 1, "-1": -1}
SONAR = {"M": 1, "R": -1, "Mine": 1, "Rock": -1}
HEART = {"presence": 1, "absence": -1, "present": 1, "absent": -1}
CANCER = {"benign": 1, "malignant": -1}
RADAR = {"good": 1, "bad": -1, "g": 1, "b": -1}
DIGITS = dict(enumerate((1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)))
TOPICS = (3713, 2118, 342, 314, 245, 192, 153, 134, 114, 92, 96, 73, 68, 55, 51, 46, 46, 45, 45, 42)


def _outlying(file: str, columns: int, ordinary: int, novel: int, openml: int | None = None) -> Source:
    return Source(
        f"adbench_{file}.npz",
        (ordinary + novel, columns),
        {0: ordinary, 1: novel},
        readers.anomalies,
        openml,
        convert=readers.anomalies_frame,
    )


SOURCES: dict[str, Source] = {
    "sonar": Source("sonar.csv", (208, 60), {1: 111, -1: 97}, readers.csv(SONAR), 40, SONAR),
    "heart": Source("heart_statlog.csv", (270, 13), {1: 120, -1: 150}, readers.csv(HEART), 53, HEART),
    "wisconsin": Source("wisconsin.csv", (683, 9), {1: 444, -1: 239}, readers.csv(CANCER), 15, CANCER),
    "ionosphere": Source("ionosphere.csv", (351, 34), {1: 225, -1: 126}, readers.csv(RADAR), 59, RADAR),
    "banana": Source(
        "ida_banana.csv", (5300, 2), {-1: 2924, 1: 2376}, readers.csv(SIGNS), 1460, convert=readers.banana_frame
    ),
    "splice": Source(
        "ida_splice.csv", (3175, 60), {-1: 1648, 1: 1527}, readers.csv(SIGNS), 46, convert=readers.splice_frame
    ),
    "waveform": Source(
        "ida_waveform.csv",
        (5000, 21),
        {-1: 3353, 1: 1647},
        readers.csv(SIGNS),
        generate=lambda: readers.waveform(5000, np.random.default_rng(0)),
    ),
    "usps": Source("usps.npz", (9298, 256), DIGITS, readers.usps, 41082, convert=readers.usps_frame),
    "reuters": Source("text_reuters20.npz", (7984, 12411), dict(enumerate(TOPICS, 1)), readers.text),
    "mammography": _outlying("mammography", 6, 10923, 260, 310),
    "thyroid": _outlying("thyroid", 6, 3679, 93),
    "pendigits": _outlying("pendigits", 16, 6714, 156),
    "satimage-2": _outlying("satimage_2", 36, 5732, 71),
    "vowels": _outlying("vowels", 12, 1406, 50),
}
