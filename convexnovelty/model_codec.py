"""Fitted estimators as plain data and arrays, and back, from a closed list of kinds.

Nothing in a file names code: every kind below is written out here, what it may hold is listed, and its own constructor
checks it. A kernel travels as its recipe. A parameter that no prediction needs and that is no plain data, such as an
uncertainty set, is kept as its text: a loaded model predicts, and a second ``fit`` says what it lacks.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.sparse_rows import is_sparse
from convexnovelty.validation import Array

__all__ = ["Decoder", "Encoder", "NotSaved"]

KIND = "$"
FITTED = re.compile(r"[a-z][a-z0-9_]*_")
DTYPES = ("<f8", "<i8", "|b1")
# Types whose numbers a file holds as those of a wider one.
NARROW = {
    "<f2": "<f8",
    "<f4": "<f8",
    "|i1": "<i8",
    "<i2": "<i8",
    "<i4": "<i8",
    "|u1": "<i8",
    "<u2": "<i8",
    "<u4": "<i8",
    "<u8": "<i8",
}
TIMES = re.compile(r"<[Mm]8\[[0-9]{0,6}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
OUTPUTS = ("default", "pandas", "polars")
# What moments remember of those that they were made from.
MADE_FROM = ("own_axes", "forced_diagonal")


@dataclasses.dataclass(frozen=True)
class NotSaved:
    """The text of a parameter that a model file does not hold; fitting again needs the parameter itself."""

    text: str

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"


def _records() -> dict[str, type[Any]]:
    """The dataclasses that a model may hold, by the word for them in the file."""
    from convexnovelty import novelty_scores, regions
    from convexnovelty.algorithms.kernel_ridge import RidgeCertificate
    from convexnovelty.conic import Residuals
    from convexnovelty.estimators import scores
    from convexnovelty.methods import semi_supervised

    return {
        "linear score": scores.LinearScore,
        "region score": scores.RegionScore,
        "expansion": scores.ExpansionScore,
        "ball score": scores.BallScore,
        "distance score": scores.DistanceScore,
        "half-space": regions.HalfSpace,
        "ball": regions.Ball,
        "threshold": regions.ScoreThreshold,
        "residuals": Residuals,
        "ridge certificate": RidgeCertificate,
        "ordinary": semi_supervised._Ordinary,
        "low density score": novelty_scores._Low,
        "density ratio score": novelty_scores._Ratio,
        # Under "density" points were stored divided by the units, which nothing in the file tells.
        "kernel density": novelty_scores.KernelDensity,
        "low density": novelty_scores.LowDensity,
        "density ratio": novelty_scores.DensityRatio,
        "not saved": NotSaved,
    }


def _estimators() -> dict[str, type[Any]]:
    """The classes that a model file may hold: the package's own, and scalers before them."""
    from sklearn.preprocessing import StandardScaler

    from convexnovelty import estimators
    from convexnovelty.scaling import DoubleScaler

    own = {name: getattr(estimators, name) for name in estimators.__all__}
    return {**own, "StandardScaler": StandardScaler, "DoubleScaler": DoubleScaler}


class Encoder:
    """Values as nodes of JSON; arrays are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._words = {kind: word for word, kind in _records().items()}

    def node(self, value: Any, where: str) -> Any:
        """The node of a value; ``where`` is named by the InputError for what cannot be saved."""
        from convexnovelty.features import KernelFeatures, LinearFeatures
        from convexnovelty.kernel_family import KernelFamily
        from convexnovelty.kernels import Kernel
        from convexnovelty.moments import Moments
        from convexnovelty.regions import Guarantee

        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, Guarantee):
            return {KIND: "guarantee", "text": str(value), "bound": self.node(value.bound, where), "claim": value.claim}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {KIND: "number", "text": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(np.asarray(value), where)
        if is_sparse(value):
            rows = value.tocsr()
            fields = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
            return self._made("sparse rows", fields, where)
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {KIND: kind, "items": [self.node(item, f"{where}[{i}]") for i, item in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {KIND: "mapping", "items": {key: self.node(item, f"{where}.{key}") for key, item in value.items()}}
        if isinstance(value, Kernel):
            return {KIND: "kernel", "recipe": self.node(value.recipe(), where)}
        if type(value) in self._words:
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return self._made(self._words[type(value)], fields, where)
        if isinstance(value, Moments):
            return {KIND: "moments", **self._moments(value, where)}
        if isinstance(value, KernelFamily):
            return self._made("kernel family", {"members": list(value.members)}, where)
        if isinstance(value, LinearFeatures):
            return self._made("linear features", {"points": value.points}, where)
        if isinstance(value, KernelFeatures):
            names = ("points", "kernel", "rank", "tolerance", "pivots", "residuals")
            fields = {name: getattr(value, name) for name in names}
            fields |= {"training": value.training, "norms": value._norms, "triangle": value._triangle}
            if value._axes is not None:
                fields["axes"] = value._axes
            return self._made("kernel features", fields, where)
        return self._model(value, where)

    def _made(self, word: str, fields: dict[str, Any], where: str) -> dict[str, Any]:
        return {KIND: word, "fields": {name: self.node(item, f"{where}.{name}") for name, item in fields.items()}}

    def _moments(self, value: Any, where: str) -> dict[str, Any]:
        fields = {"mean": value.mean, "count": value.count, "ddof": value.ddof}
        # What moments were made from is told only where it matters, so that files of earlier releases are read too.
        fields |= {name: True for name in MADE_FROM if getattr(value, name)}
        if value.remainder is not None:
            fields["remainder"] = value.remainder
        if value.names is not None:
            fields["names"] = list(value.names)
        if value.representation == "dense":
            fields["covariance"] = value.covariance
        else:
            fields |= {"loadings": value.loadings, "specific_variances": value.specific_variances}
        return {"fields": {name: self.node(item, f"{where}.{name}") for name, item in fields.items()}}

    def _array(self, value: Any, where: str) -> dict[str, Any]:
        if value.dtype.kind == "U" or (value.dtype == object and all(isinstance(item, str) for item in value.flat)):
            return {KIND: "strings", "object": value.dtype == object, "items": value.ravel().tolist()}
        if value.dtype.kind in "mM":
            times = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            return {KIND: "times", "type": times.dtype.str, "counts": self._array(times.view("<i8"), where)}
        if value.dtype.kind == "u" and value.size and int(value.max()) > np.iinfo(np.int64).max:
            raise InputError(
                f"{where}: {int(value.max())} was found, and a model file holds whole numbers below 2**63; give strings"
            )
        value = np.asarray(value, value.dtype.newbyteorder("<"))
        if (wide := NARROW.get(value.dtype.str)) is not None:
            return {KIND: "narrow", "type": value.dtype.str, "numbers": self._array(value.astype(wide), where)}
        if value.dtype.str not in DTYPES:
            raise InputError(f"{where}: an array of {value.dtype} was found, which a model file does not hold")
        self.arrays.append(value)
        return {KIND: "array", "index": len(self.arrays) - 1}

    def _model(self, value: Any, where: str) -> dict[str, Any]:
        from sklearn.pipeline import Pipeline

        if type(value) is Pipeline:
            steps = [[name, self.node(step, f"{where}.{name}")] for name, step in value.steps]
            return {KIND: "pipeline", "steps": steps}
        name = type(value).__name__
        if _estimators().get(name) is not type(value):
            raise InputError(f"{where}: {type(value).__name__} was found, which a model file does not hold")
        parameters = value.get_params(deep=False)
        fitted = {key: item for key, item in vars(value).items() if key not in parameters and FITTED.fullmatch(key)}
        made: dict[str, Any] = {
            KIND: "estimator",
            "name": name,
            "parameters": {key: self._parameter(item, key) for key, item in parameters.items()},
            "fitted": {key: self.node(item, key) for key, item in fitted.items()},
        }
        # What set_output asked of a scaler is no parameter, and without it the next step misses the names of its columns.
        output = getattr(value, "_sklearn_output_config", {}).get("transform")
        return made if output is None else {**made, "output": output}

    def _parameter(self, value: Any, name: str) -> Any:
        kept = len(self.arrays)
        try:
            return self.node(value, name)
        except InputError:
            del self.arrays[kept:]
            return self._made("not saved", {"text": repr(value)[:1000]}, name)


class Decoder:
    """Nodes of JSON as the values they stand for, built by the constructors of the kinds alone."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self._records = _records()

    def value(self, node: Any) -> Any:
        """The value of a node; any exception means that the file is not a model."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        kind = node[KIND]
        if kind == "number":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["text"]]
        if kind == "array":
            return self.arrays[_index(node["index"], len(self.arrays))]
        if kind == "strings":
            items = [_text(item) for item in node["items"]]
            return np.array(items, dtype=object if node["object"] is True else str)
        if kind == "times":
            return _times(node["type"], self.value(node["counts"]))
        if kind == "narrow":
            return _narrow(node["type"], self.value(node["numbers"]))
        if kind in ("list", "tuple"):
            items = [self.value(item) for item in node["items"]]
            return items if kind == "list" else tuple(items)
        if kind == "mapping":
            return {key: self.value(item) for key, item in node["items"].items()}
        return self._object(kind, node)

    def _object(self, kind: str, node: dict[str, Any]) -> Any:
        from convexnovelty.features import LinearFeatures
        from convexnovelty.kernel_family import KernelFamily
        from convexnovelty.kernels import Kernel
        from convexnovelty.moments import Moments
        from convexnovelty.regions import Guarantee

        if kind == "guarantee":
            return Guarantee(_text(node["text"]), float(self.value(node["bound"])), _text(node["claim"]))
        if kind == "kernel":
            return Kernel.from_recipe(self.value(node["recipe"]))
        if kind == "pipeline":
            from sklearn.pipeline import Pipeline

            return Pipeline([(_text(name), self.value(step)) for name, step in node["steps"]])
        if kind == "estimator":
            return self._estimator(node)
        fields = {name: self.value(item) for name, item in node["fields"].items()}
        if kind in self._records:
            record = self._records[kind]
            if set(fields) != {f.name for f in dataclasses.fields(record)}:
                raise InputError(f"{kind}: fields {sorted(fields)} were found")
            return record(**fields)
        if kind == "moments":
            known = {name: bool(fields.pop(name)) for name in MADE_FROM if name in fields}
            names, remainder = fields.pop("names", None), fields.pop("remainder", None)
            if "covariance" in fields:
                made = Moments(**fields)
            else:
                parts = (fields[name] for name in ("mean", "loadings", "specific_variances", "count", "ddof"))
                made = Moments.low_rank(*parts)
            for name, value in known.items():
                setattr(made, name, value)
            return made.with_remainder(remainder).named(names)
        if kind == "sparse rows":
            return _sparse_rows(**fields)
        if kind == "kernel family":
            return KernelFamily(fields["members"])
        if kind == "linear features":
            return LinearFeatures(fields["points"])
        if kind == "kernel features":
            return _kernel_features(**fields)
        raise InputError(f"no part of a model is called {kind!r}")

    def _estimator(self, node: dict[str, Any]) -> Any:
        made = _estimators()[node["name"]](**{key: self.value(item) for key, item in node["parameters"].items()})
        for name, item in node["fitted"].items():
            if not FITTED.fullmatch(name) or hasattr(made, name):
                raise InputError(f"{node['name']}: no fitted attribute is called {name!r}")
            setattr(made, name, self.value(item))
        if "output" in node:
            if node["output"] not in OUTPUTS or not hasattr(made, "set_output"):
                raise InputError(f"{node['name']}: output {node['output']!r} was found")
            made.set_output(transform=node["output"])
        return made


def _times(unit: Any, counts: Any) -> Any:
    """Dates or durations by their numbers of a unit; only the units of NumPy are read as one."""
    if not TIMES.fullmatch(_text(unit)) or counts.dtype.str != "<i8":
        raise InputError(f"times of type {unit!r} were found")
    return counts.view(unit)


def _narrow(name: Any, numbers: Any) -> Any:
    """Numbers in the type that they had, which has to hold them."""
    if NARROW.get(_text(name)) != numbers.dtype.str:
        raise InputError(f"numbers of type {name!r} were found as {numbers.dtype.str}")
    with np.errstate(over="ignore"):
        made = numbers.astype(name)
    if not np.array_equal(made, numbers):
        raise InputError(f"numbers were found that are none of type {name!r}")
    return made


def _sparse_rows(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """Sparse points by rows, whose places are looked at before any loop follows them."""
    from scipy.sparse import csr_array

    made = csr_array((data, indices, indptr), shape=tuple(int(size) for size in shape))
    made.check_format(full_check=True)
    return made


def _kernel_features(
    points: Any,
    kernel: Any,
    rank: Any,
    tolerance: Any,
    pivots: Any,
    residuals: Any,
    training: Any,
    norms: Any,
    triangle: Any,
    axes: Any = None,
) -> Any:
    """The features without a second factorisation, so that every coordinate is the same to the last bit."""
    from convexnovelty.features import Coordinates, KernelFeatures, _row_keys
    from convexnovelty.kernels import Kernel

    n, r = training.shape
    if not isinstance(kernel, Kernel) or points.ndim != 2 or len(points) != n:
        raise InputError("kernel features: points, kernel and coordinates do not fit one another")
    if triangle.shape != (r, r) or pivots.shape != (r,) or residuals.shape != (n,) or norms.shape != (n,):
        raise InputError("kernel features: pivots, triangle and norms do not fit the coordinates")
    if axes is not None and axes.shape != (kernel.feature_count(points.shape[1]), r):
        raise InputError("kernel features: axes do not fit the features of the kernel")
    if pivots.dtype.kind != "i" or pivots.min(initial=0) < 0 or pivots.max(initial=0) >= n:
        raise InputError("kernel features: pivots are not rows of the sample")
    made = KernelFeatures.__new__(KernelFeatures)
    made.points, made.kernel, made.rank, made.tolerance = points, kernel, rank, float(tolerance)
    made.pivots, made.residuals, made._norms, made._triangle = pivots, residuals, norms, triangle
    made._pivot_points, made._axes = points[pivots], axes
    made._row_of = {}
    for i, key in enumerate(_row_keys(points)):
        made._row_of.setdefault(key, i)
    made.training = Coordinates(training, norms)
    return made


def _index(value: Any, size: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        raise InputError(f"array {value!r} is not in the file")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r} was found where text is needed")
    return value
