"""Learn from a table of ordinary rows, judge another one, and say why a row is novel.

The columns are measured in units of their standard deviation, so that none rules by its unit alone. For a linear kernel
they are not centred: a half-space lies away from the origin, and what zero means is up to the data. Other kernels see
distances alone, but their width by scale is read off all entries together, and means far apart would widen it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty import persistence
from convexnovelty.errors import InputError
from convexnovelty.explanation import column_weights
from convexnovelty.kernel_choice import chosen_kernel
from convexnovelty.tables import Table, listed
from convexnovelty.validation import Array

__all__ = ["Model", "Request", "held_out", "learn", "load_model", "methods", "save_model"]

LARGE = 2000  # rows above which a method that factors the Gram matrix gets a cut basis
CUT = 500
BEYOND = 1e100  # units from the mean, whose squares are no numbers any more
KEPT = 5000  # ordinary rows that are kept to be shown beside novel ones


@dataclass(frozen=True)
class Request:
    """What to learn, and how: names and numbers as the command line takes them; None for the estimator's default."""

    method: str = "single-class-mpm"
    confidence: float | None = None
    outlier_fraction: float | None = None
    kernel: str = "auto"
    rank: int | None = None
    calibrate: float | None = None
    units: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Model:
    """A fitted pipeline (units, detector) with what is needed to explain it.

    ``means`` fill gaps of new rows; ``centre`` and ``spread`` of shape (p,) are of the training rows; ``ordinary`` holds
    rows of the training table that lie inside, for methods whose score has no weight for each column.
    """

    pipeline: Any
    names: list[str]
    method: str
    settings: str
    kernel: str
    why: str
    learnt: str
    labelled_by: str
    means: Array = field(repr=False)
    centre: Array = field(repr=False)
    spread: Array = field(repr=False)
    training_scores: Array = field(repr=False)
    ordinary: Array = field(repr=False)
    ordinary_labels: list[str] = field(repr=False)
    decimal: str = ""

    @property
    def detector(self) -> Any:
        """The estimator itself, which knows the columns in their units."""
        return self.pipeline.steps[-1][1]

    @property
    def numeric(self) -> list[str]:
        """The columns in which other numbers than 0 and 1 must have been: flags have a mean and a deviation of flags."""
        beyond = (self.centre < 0) | (self.centre > 1) | (self.spread > 0.5 + 1e-9)
        return [name for name, other in zip(self.names, beyond, strict=True) if other]

    @cached_property
    def units(self) -> Array:
        """What each column is divided by, of shape (p,)."""
        return np.asarray(self.pipeline.steps[0][1].scale_)

    @cached_property
    def shift(self) -> Array:
        """What is subtracted from each column before, of shape (p,)."""
        scaler = self.pipeline.steps[0][1]
        return np.asarray(scaler.mean_ if scaler.with_mean else np.zeros(len(self.names)))

    def scores(self, values: Array) -> Array:
        """Decision values of rows of shape (m, p): negative for novel ones, not finite for rows beyond all numbers."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # who calls looks for what is not finite
            rows = (values - self.shift) / self.units
            finite = (np.abs(rows) < BEYOND).all(axis=1)
            found = np.full(len(rows), np.nan)
            try:
                found[finite] = self.detector.decision_function(rows[finite]) if finite.any() else found[finite]
            except InputError:  # which rows have no score is told by scores of one row each
                for i in np.flatnonzero(finite):
                    with contextlib.suppress(InputError):
                        found[i] = self.detector.decision_function(rows[[i]])[0]
        return found


def methods() -> dict[str, type[Any]]:
    """The estimators that learn from ordinary rows alone, by their name on the command line."""
    from sklearn.base import OutlierMixin

    from convexnovelty import estimators

    found = {name: getattr(estimators, name) for name in estimators.__all__}
    # "OneClassSVM" becomes "one-class-svm".
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(): kind
        for name, kind in found.items()
        if issubclass(kind, OutlierMixin)
    }


def _method(request: Request) -> tuple[str, type[Any]]:
    name, kinds = request.method.lower().replace("_", "-"), methods()
    if name not in kinds:
        raise InputError(f"--method: {request.method!r} was found; give one of {', '.join(kinds)}")
    return name, kinds[name]


def held_out(request: Request, n: int) -> NDArray[np.bool_]:
    """Which of n rows set the threshold and nothing else, of shape (n,): none without a rate of false alarms.

    Raises InputError as :func:`learn` does for the method and its options, and where n is too small for the rate.
    """
    name, kind = _method(request)
    if n < 2:
        return np.zeros(n, dtype=bool)
    return np.asarray(kind(**_options(name, kind, request, n))._held_out(n))


def learn(
    table: Table,
    request: Request,
    *,
    means: Array,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
) -> Model:
    """Fit a method to a table without gaps; kernels that are compared learn on the executor, if there is one.

    Raises InputError for an unknown method and for an option that the method does not take, with those that it takes.
    """
    from sklearn.pipeline import Pipeline

    from convexnovelty.novelty_scores import column_units, constant_columns

    say = progress or (lambda text: None)
    values = table.values
    name, kind = _method(request)
    if len(values) < 2:
        raise InputError(
            f"{table.file}: {len(values)} row was found; learning needs at least 2, and is better with 100"
        )
    # What roundings of one number differ by is no spread, nor is what a mean of them is off by.
    values = np.where(constant := constant_columns(values), values[:1], values)
    options = _options(name, kind, request, len(values))
    held = held_out(request, len(values))
    # Units and kernel are chosen without the rows that set the threshold: a bound on false alarms rests on that.
    scaler = _scaler(table, values[~held], request.units)
    kernel, why = chosen_kernel(
        kind, name, options, request.kernel, request.seed, values[~held] / scaler.scale_, say, executor
    )
    if kernel:
        options["kernel"] = kernel
    scaler.with_mean = kernel != "linear"
    pipeline = Pipeline([("units", scaler), ("detector", kind(**options))])
    rows = scaler.transform(values)
    say(f"learning from {len(rows)} rows by {name}")
    detector = pipeline.steps[1][1].fit(rows)
    inside = np.asarray(detector.decision_function(rows))
    scaler.feature_names_in_ = np.array(table.names, dtype=object)  # only now: arrays without names were seen above
    kept = np.flatnonzero(inside >= 0) if column_weights(detector) is None else np.zeros(0, dtype=int)
    kept = kept[np.unique(np.linspace(0, kept.size - 1, min(kept.size, KEPT)).astype(int))] if kept.size else kept
    shown = {key: value for key, value in options.items() if key not in ("kernel", "random_state")}
    return Model(
        pipeline,
        list(table.names),
        name,
        ", ".join(f"{key} {value:g}" for key, value in (_main(detector) | shown).items()),
        kernel or "",
        why,
        f"{table.file} ({len(values)} rows)",
        table.labelled_by,
        means,
        _means(values),
        np.where(constant, 0.0, column_units(values)),
        inside,
        values[kept],
        [table.label(int(i)) for i in kept],
        table.decimal,
    )


def _scaler(table: Table, values: Array, units: bool) -> Any:
    """A scaler whose units do not overflow, and for a constant column are its size."""
    from convexnovelty.novelty_scores import column_units
    from convexnovelty.scaling import DoubleScaler

    with np.errstate(over="ignore", invalid="ignore"):
        scale, mean = column_units(values), _means(values)
    for j in np.flatnonzero(~(np.isfinite(scale) & np.isfinite(mean))):
        raise InputError(f"{table.file}, column {table.names[j]!r}: its values are too large; give it another unit")
    scaler = DoubleScaler()
    scaler.mean_, scaler.scale_ = mean, scale if units else np.ones_like(scale)
    scaler.n_samples_seen_, scaler.n_features_in_ = len(values), values.shape[1]
    return scaler


def _means(values: Array) -> Array:
    """The mean of each column; of a constant one its number, which a sum over the rows has not to the last digit."""
    return np.asarray(np.where((values == values[0]).all(axis=0), values[0], values.mean(axis=0)))


def _options(name: str, kind: type[Any], request: Request, n: int) -> dict[str, Any]:
    taken = kind().get_params()
    options: dict[str, Any] = {"random_state": request.seed}
    rate = "false_alarm_rate" if "false_alarm_rate" in taken else "false_positive_rate"
    given = {"confidence": request.confidence, "outlier_fraction": request.outlier_fraction, "rank": request.rank}
    for key, value in (given | {rate: request.calibrate}).items():
        if value is None:
            continue
        if key not in taken:
            flags = [f"--{k.replace('_', '-')}" for k in ("kernel", *given) if k in taken]
            flag = key.replace("_", "-")
            raise InputError(f"--{flag}: {name} does not take it; it takes {', '.join([*flags, '--calibrate'])}")
        options[key] = value
    if "ridge" in taken and "rank" not in options and n > LARGE:
        options["rank"] = CUT  # methods of moments factor the whole Gram matrix, at a cost of n^3
    return options


def _main(detector: Any) -> dict[str, Any]:
    taken = detector.get_params()
    names = ("confidence", "outlier_fraction", "false_positive_rate")
    return {key: taken[key] for key in names if taken.get(key) is not None}


def save_model(model: Model, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a model with what explains it; ``persistence.load`` gives the pipeline alone."""
    notes = {f.name: getattr(model, f.name) for f in dataclasses.fields(model) if f.name != "pipeline"}
    persistence.save(model.pipeline, path, notes=notes, overwrite=overwrite)


def load_model(path: str | Path, *, max_mb: float = 2048.0) -> Model:
    """Read what :func:`save_model` wrote. Raises InputError for anything else."""
    pipeline, notes = persistence.read(path, max_bytes=int(max_mb * 1024**2))
    fields = [f.name for f in dataclasses.fields(Model) if f.name != "pipeline"]
    notes.setdefault("decimal", "")  # models of earlier releases do not say it
    if sorted(notes) != sorted(fields) or len(getattr(pipeline, "steps", ())) != 2:
        raise InputError(f"{path}: a model without the notes of detect was found; write it with detect --save")
    model = Model(pipeline, **notes)
    p = pipeline.n_features_in_
    words = [model.method, model.settings, model.kernel, model.why, model.learnt, model.labelled_by]
    shapes = [np.shape(item) for item in (model.means, model.centre, model.spread)]
    if (
        not all(isinstance(word, str) for word in (*words, *model.names, *model.ordinary_labels))
        or shapes != [(p,)] * 3
        or model.decimal not in ("", ".", ",")
        or len(model.names) != p
        or np.shape(model.ordinary) != (len(model.ordinary_labels), p)
        or np.ndim(model.training_scores) != 1
    ):
        raise InputError(f"{path}: the notes of the model do not fit it ({listed(fields)}); save it again")
    return model
