"""What may be handed over in the place of points: layouts and types of the same numbers, samples at the edge, nonsense.

A kind that carries the same numbers must give the same answer as the plain float64 array that it is paired with. A
sample at the edge is a plain array whose answer is no matter of course. Nonsense must be refused.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

__all__ = ["KINDS", "SAMPLE", "Kind"]

# Small whole numbers are the same in every type of number. The rows are in general position, away from the origin.
SAMPLE = np.array(
    [[5, 2], [6, 3], [7, 2], [5, 4], [8, 3], [6, 5], [9, 4], [7, 6], [4, 3], [8, 6], [3, 2], [9, 7]], dtype=np.float64
)


@dataclass(frozen=True)
class Kind:
    """One column of the matrix.

    Attributes
    ----------
    made : the input.
    plain : the float64 array of the same numbers, where there is one.
    found : what the message of a refusal says was found, as a regular expression.
    """

    name: str
    group: Literal["same", "sparse", "edge", "nonsense"]
    made: Callable[[], Any]
    plain: Callable[[], Any] = lambda: SAMPLE.copy()
    found: str = "."


def _read_only() -> Any:
    array = SAMPLE.copy()
    array.setflags(write=False)
    return array


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _memory_map() -> Any:
    path = Path(_folder().name) / "sample.npy"
    np.save(path, SAMPLE)
    return np.load(path, mmap_mode="r")


def _with(value: Any, dtype: Any = np.float64) -> Any:
    array = SAMPLE.astype(dtype)
    array[3, 1] = value
    return array


def _pandas(array: Any = SAMPLE, **options: Any) -> Any:
    import pandas

    return pandas.DataFrame(array, columns=["first", "second"][: array.shape[1]], **options)


def _polars(array: Any = SAMPLE) -> Any:
    import polars

    return polars.DataFrame(array, schema=["first", "second"])


def _polars_hole() -> Any:
    import polars

    return polars.DataFrame({"first": [1.0, None, 3.0], "second": [1.0, 2.0, 3.0]})


def _ragged() -> Any:
    rows = SAMPLE.tolist()
    rows[2] = rows[2][:1]
    return rows


def _same(name: str, made: Callable[[], Any], plain: Callable[[], Any] = lambda: SAMPLE.copy()) -> Kind:
    return Kind(name, "same", made, plain)


def _edge(name: str, array: Any) -> Kind:
    array = np.asarray(array, dtype=np.float64)
    return Kind(name, "edge", array.copy, array.copy)


def _bool() -> Any:
    return np.column_stack([SAMPLE[:, 0] > 5, SAMPLE[:, 1] > 2])


_SPARSE = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array, "dok": sp.dok_array, "lil": sp.lil_array}

KINDS = (
    _same("list", SAMPLE.tolist),
    _same("tuple", lambda: tuple(map(tuple, SAMPLE.tolist()))),
    _same("float32", lambda: SAMPLE.astype(np.float32)),
    _same("float16", lambda: SAMPLE.astype(np.float16)),
    _same("big-endian", lambda: SAMPLE.astype(">f8")),
    _same("int64", lambda: SAMPLE.astype(np.int64)),
    _same("uint8", lambda: SAMPLE.astype(np.uint8)),
    _same("int8, whose squares overflow", lambda: (SAMPLE * 12).astype(np.int8), lambda: SAMPLE * 12),
    _same("boolean", _bool, lambda: _bool().astype(np.float64)),
    _same("object array of numbers", lambda: SAMPLE.astype(object)),
    _same("pandas frame", _pandas),
    _same("pandas frame of nullable integers", lambda: _pandas(SAMPLE.astype(int)).astype("Int64")),
    _same("polars frame", _polars),
    _same("non-contiguous", lambda: np.repeat(np.repeat(SAMPLE, 2, axis=0), 3, axis=1)[::2, ::3]),
    _same("Fortran order", lambda: np.asfortranarray(SAMPLE)),
    _same("read-only", _read_only),
    _same("memory map", _memory_map),
    _same("masked array without a mask", lambda: np.ma.masked_array(SAMPLE)),
    *(
        Kind(f"sparse {name}", "sparse", functools.partial(make, SAMPLE), found="[Ss]parse")
        for name, make in _SPARSE.items()
    ),
    _edge("one row", SAMPLE[:1]),
    _edge("one column", SAMPLE[:, :1]),
    _edge("all rows equal", np.repeat(SAMPLE[:1], 12, axis=0)),
    _edge("duplicate rows", np.repeat(SAMPLE[:6], 2, axis=0)),
    _edge("constant column", np.column_stack([SAMPLE[:, 0], np.full(12, 3.0)])),
    _edge("fewer rows than columns", np.column_stack([SAMPLE[:2], SAMPLE[2:4], SAMPLE[4:6]])),
    _edge("rank one", SAMPLE[:, :1] * [[1.0, 2.0]]),
    _edge("all zero", np.zeros((12, 2))),
    _edge("values of 1e-300", SAMPLE * 1e-300),
    _edge("values of 1e-8", SAMPLE * 1e-8),
    _edge("values of 1e8", SAMPLE * 1e8),
    _edge("values of 1e300", SAMPLE * 1e300),
    Kind("NaN", "nonsense", lambda: _with(np.nan), found="nan|NaN"),
    Kind("infinity", "nonsense", lambda: _with(np.inf), found="inf"),
    Kind("infinity in float16", "nonsense", lambda: _with(np.inf, np.float16), found="inf"),
    Kind("sparse with NaN", "nonsense", lambda: sp.csr_array(_with(np.nan)), found="nan|NaN|[Ss]parse"),
    Kind("no rows", "nonsense", lambda: np.empty((0, 2)), found=r"\(0, 2\)|0 sample|0 feature"),
    Kind("no columns", "nonsense", lambda: np.empty((12, 0)), found=r"\(12, 0\)|0 feature"),
    Kind("empty list", "nonsense", list, found=r"\(0,\)|1D|empty"),
    Kind("three dimensions", "nonsense", lambda: SAMPLE.reshape(3, 4, 2), found=r"\(3, 4, 2\)|dim"),
    Kind("strings", "nonsense", lambda: SAMPLE.astype(str), found="<U|str|convert"),
    Kind("object array with a string", "nonsense", lambda: _with("x", object), found="'x'|strings"),
    Kind("object array with None", "nonsense", lambda: _with(None, object), found="None|NaN"),
    Kind("complex", "nonsense", lambda: SAMPLE * (1 + 1j), found="[Cc]omplex"),
    Kind("masked array", "nonsense", lambda: np.ma.masked_array(SAMPLE, SAMPLE > 8), found="masked"),
    Kind("dates", "nonsense", lambda: SAMPLE.astype("datetime64[D]"), found="datetime|DateTime|Date|dates"),
    Kind("rows of unequal length", "nonsense", _ragged, found="rectangular|inhomogeneous"),
    Kind("pandas frame with strings", "nonsense", lambda: _pandas(SAMPLE.astype(str)), found="str|'"),
    Kind("pandas frame with a missing number", "nonsense", lambda: _pandas(_with(np.nan)), found="nan|NaN"),
    Kind("polars frame with a missing number", "nonsense", _polars_hole, found="nan|NaN"),
    Kind("None", "nonsense", lambda: None, found="None|nan"),
    Kind("number", "nonsense", lambda: 3.0, found=r"\(\)|scalar|float"),
    Kind("string", "nonsense", lambda: "sample.csv", found="sample|str|<U"),
    Kind("set", "nonsense", lambda: {1.0, 2.0}, found="set|scalar|\\{"),
)
