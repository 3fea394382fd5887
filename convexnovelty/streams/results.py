"""What is computed from points that come in pieces: blocks, moments, feature maps and scores."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from convexnovelty._optional import needed
from convexnovelty.columns import agree, names_of
from convexnovelty.distances import FALLBACK_GAMMA
from convexnovelty.errors import InputError
from convexnovelty.estimates import beyond_rounding
from convexnovelty.features import FeatureMap, KernelFeatures
from convexnovelty.kernels import SCALE, Gaussian, Laplacian, Polynomial, Precomputed, Sigmoid, as_kernel
from convexnovelty.moments import REPRESENTATIONS, Moments
from convexnovelty.sparse_rows import refuse_dense_covariance
from convexnovelty.streams.source import Block, Columns, as_source, rows_at_once
from convexnovelty.validation import Array, choice, integer, listed, shown

__all__ = ["chunks", "features_of", "moments_and_sample", "moments_by_class", "moments_of", "score_chunks"]

METHODS = ("decision_function", "predict", "score_samples")
EXACT = 5000  # columns up to which a cut to ``rank`` factors is made once, at the end


def chunks(source: Any, rows: int | None = None, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The points of any source, block by block: dense float64 of shape (n, p) or sparse by rows, checked.

    Parameters
    ----------
    source : an array, a memory map, a frame or a sparse matrix; the name of a ``.npy`` file, or of a Parquet file or
        folder; a pyarrow dataset; a Dask array or frame; blocks in a list or an iterator; or a function that returns an
        iterator of blocks.
    rows : how many rows a block has where the source leaves the choice; about 8 MB if None.
    columns : the features of a source whose columns have names; all if None.

    Examples
    --------
    >>> import numpy as np
    >>> [block.shape for block in chunks(np.zeros((5, 3)), rows=2)]
    [(2, 3), (2, 3), (1, 3)]

    Raises InputError for entries that are no finite numbers, with block, row and column.
    """
    named = Columns(_names(columns))
    for index, raw in enumerate(as_source(source, rows, named).raw()):
        yield Block.of(index, raw, named).points


def moments_of(
    source: Any,
    *,
    ddof: Any = 0,
    representation: str | None = None,
    rank: int | None = None,
    features: FeatureMap | None = None,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
) -> Moments:
    """The moments of the points of any source, in one pass and with one block in memory.

    They are those that :meth:`Moments.estimate` finds in memory, to rounding: each block is centred on its own mean, and
    blocks merge by the formula of Chan, Golub and LeVeque with means of twice the usual precision.

    Parameters
    ----------
    source, rows, columns : as for :func:`chunks`. Blocks may be pairs of points and weights.
    ddof, representation, rank : as for :meth:`Moments.estimate`. With ``rank`` and more than 5,000 columns each merge is
        cut to that many factors, which bounds the covariance from above, but is not the best cut of the whole.
    features : a feature map, in whose coordinates the moments are taken; see :func:`features_of`. Columns with names are
        matched by them with those of the map.
    weights : the name of the column that holds weights.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> moments_of(iter([X[:4], X[4:]])), moments_of(X).mean.tolist()
    (Moments(dimension=2, representation='dense', count=6), [5.0, 6.0])
    """
    named = Columns(_names(columns), weights)
    if features is not None and not isinstance(features, FeatureMap):
        raise InputError(f"features: {shown(features)} was found; give a feature map, as features_of makes one")
    if features is not None and rows is None:
        rows = rows_at_once(None, max(features.dimension, features.points.shape[1]))
    read = as_source(source, rows, named)
    found: Moments | None = read.reduced(
        partial(_moments, named, features, _representation(representation, rank), rank), partial(_merged, rank)
    )
    if found is None:
        raise InputError("source: it has no row; give at least one")
    found = (found if rank is None else found.truncated(rank)).with_ddof(ddof)
    return found if features is not None else found.named(read.names)


def _as_map_has_them(columns: Columns, features: FeatureMap | None, raw: Any) -> Columns:
    """The same columns in the order in which a feature map knows them, where the block and the map have names."""
    found = names_of(raw[0] if isinstance(raw, tuple) and raw else raw)
    if features is None or features.names is None or found is None:
        return columns
    agree(columns.of(found), "source", features.names, "the feature map")
    return dataclasses.replace(columns, features=tuple(features.names))


def moments_by_class(
    source: Any, classes: str, *, ddof: Any = 0, rows: int | None = None, columns: Sequence[str] | None = None
) -> dict[Any, Moments]:
    """The moments of each class of a table, by the column that holds the classes, in one pass."""
    if not isinstance(classes, str):
        raise InputError(f"classes: {shown(classes)} was found; give the name of the column that holds them")
    named = Columns(_names(columns), classes=classes)
    read = as_source(source, rows, named)
    found = read.reduced(partial(_by_class, named), partial(_union, classes))
    return {label: moments.with_ddof(ddof).named(read.names) for label, moments in found.items()}


def features_of(
    source: Any,
    kernel: Any = "gaussian",
    rank: int = 100,
    *,
    sample: int | None = None,
    random_state: int = 0,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
) -> KernelFeatures:
    """A feature map of fixed rank, whose pivots are chosen in a random sample of the source (Nystroem's method).

    A kernel with ``gamma="scale"`` takes it from all rows, each as often as its weight says where blocks have weights; a
    row of weight 0 is none. If the sample is the whole source, the map is the one that
    :class:`KernelFeatures` makes in memory.

    Parameters
    ----------
    sample : how many rows are drawn; twenty times ``rank`` if None, and at least 2,000.
    random_state : of the drawing, which depends on it and on how the source is cut into blocks, not on who computes.
    weights : the name of the column that holds weights. They do not change how likely a row is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> features = features_of(iter([X[:200], X[200:]]), "gaussian", rank=30)
    >>> moments_of(X, features=features).dimension
    30
    """
    rank = integer(rank, "rank", 1)
    count = max(20 * rank, 2000) if sample is None else integer(sample, "sample", 1)
    named, kernel = Columns(_names(columns), weights), as_kernel(kernel)
    if isinstance(kernel, Precomputed):
        raise InputError("kernel: 'precomputed' was found, but a stream has points; give a kernel with a formula")
    read = as_source(source, rows, named)
    drawn: _Sample = read.reduced(
        partial(_sampled, named, count, integer(random_state, "random_state", 0)), _Sample.merged
    )
    if drawn.moments is None:
        raise InputError("source: it has no row that counts; give at least one")
    if isinstance(kernel, (Gaussian, Polynomial, Sigmoid)) and kernel.gamma == SCALE:
        kernel = dataclasses.replace(kernel, gamma=_gamma(drawn.moments))
    if isinstance(kernel, Laplacian) and kernel.gamma == SCALE:
        varying = beyond_rounding(drawn.moments.variances, drawn.moments.mean)
        variance = float(np.where(varying, drawn.moments.variances, 0.0).mean())
        width = drawn.points.shape[1] * variance**0.5
        kernel = dataclasses.replace(kernel, gamma=1.0 / width if variance > 0 else FALLBACK_GAMMA)
    made = KernelFeatures(drawn.points[np.argsort(drawn.places)], kernel, rank=rank)
    made.names = None if read.names is None else list(read.names)
    return made


def moments_and_sample(
    source: Any, features: FeatureMap, count: int, random_state: int
) -> tuple[Moments, Array, Array | None]:
    """The moments in a map's coordinates, with ``count`` random rows of the same pass and their weights, None for ones.

    The rows are drawn anew: those that a map was made of lie nearer to its pivots than others do.
    """
    rows = rows_at_once(None, max(features.dimension, features.points.shape[1]))
    moments, drawn = as_source(source, rows).reduced(
        partial(_moments_and_sample, features, count, random_state), _both_merged
    )
    if moments is None:
        raise InputError("source: it has no row; give at least one")
    order = np.argsort(drawn.places)
    return moments, drawn.points[order], None if drawn.weights is None else drawn.weights[order]


def score_chunks(
    estimator: Any,
    source: Any,
    *,
    method: str = "decision_function",
    rows: int | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[Any]:
    """The scores of a source's rows, block by block and in order: to rounding those of all rows at once.

    Parameters
    ----------
    estimator : a fitted estimator or pipeline.
    source, rows, columns : as for :func:`chunks`. The blocks of a Dask collection are scored by its workers.
    method : "decision_function", "predict" or "score_samples".

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> detector = OneClassSVM().fit(X)
    >>> scores = np.concatenate(list(score_chunks(detector, X, rows=30)))
    >>> bool(np.allclose(scores, detector.decision_function(X), atol=1e-12))
    True
    """
    choice(
        method, "method", METHODS
    )  # "fit_predict" would learn anew from every block, and leave another estimator behind
    if not callable(getattr(estimator, method, None)):
        raise InputError(f"method: {type(estimator).__name__} has no {method!r}; give the name of one of its methods")
    named = Columns(_names(columns))
    yield from as_source(source, rows, named).mapped(partial(_scores, named, estimator, method))


def _names(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(columns, str):
        raise InputError(f"columns: the word {columns!r} was found; give a list of names")
    return None if columns is None else tuple(listed(columns, "columns", "a list of names"))


def _representation(representation: str | None, rank: int | None) -> str:
    if rank is not None:
        integer(rank, "rank", 1)
        if representation is not None and choice(representation, "representation", REPRESENTATIONS) != "low_rank":
            raise InputError(f"rank: {rank} was found with the representation {representation!r}; use 'low_rank'")
    if representation is None:
        return "dense" if rank is None else "low_rank"
    return choice(representation, "representation", REPRESENTATIONS)


def _moments(
    columns: Columns,
    features: FeatureMap | None,
    representation: str,
    rank: int | None,
    index: int,
    raw: Any,
) -> Moments | None:
    block = Block.of(index, raw, _as_map_has_them(columns, features, raw))
    if block.points.shape[0] == 0 or (block.weights is not None and not block.weights.any()):
        return None
    X = block.points if features is None else features.coordinates(block.points)
    if rank is not None and X.shape[1] > EXACT:
        return Moments.estimate(X, block.weights, rank=rank)
    if representation == "dense":
        refuse_dense_covariance(X)
    # A cut of merged cuts would not be the cut of the whole, so blocks keep all axes while there are few columns.
    return Moments.estimate(X, block.weights, representation="dense" if rank is not None else representation)


def _merged(rank: int | None, left: Moments | None, right: Moments | None) -> Moments | None:
    if left is None or right is None:
        return left if right is None else right
    found = left + right
    return found if rank is None or found.dimension <= EXACT else found.truncated(rank)


def _by_class(columns: Columns, index: int, raw: Any) -> dict[Any, Moments]:
    block = Block.of(index, raw, columns)
    labels = _labels(block.classes)
    for i, label in enumerate(labels):
        # NaN differs from itself, None does not, and NA is neither equal nor unequal to anything.
        if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
            raise InputError(
                f"block {index}: {label} was found in row {i} of column {columns.classes!r}; give every row a class, or leave "
                "such rows out"
            )
    places: dict[Any, list[int]] = {label: [] for label in _in_order(labels, columns.classes)}
    for i, label in enumerate(labels):
        places[label].append(i)
    return {label: Moments.estimate(block.points[rows]) for label, rows in places.items()}


def _labels(classes: Any) -> list[Any]:
    """The class of each row as Python has it; of times that Python does not hold, NumPy's own, which knows nanoseconds."""
    labels: list[Any] = classes.tolist()
    times = classes.dtype.kind in "mM" and any(isinstance(label, int) for label in labels)
    return list(classes) if times else labels


def _in_order(labels: Sequence[Any], column: str | None) -> list[Any]:
    """The different labels, sorted. Raises InputError for labels that are not of one type; True equals 1, and is another class."""
    try:
        found = sorted(set(labels))
        if len({isinstance(label, (bool, np.bool_)) for label in labels}) > 1:
            raise TypeError("truth values and others")
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise InputError(f"classes: column {column!r} has labels of types {kinds}; give labels of one type") from error
    return found


def _union(column: str, left: dict[Any, Moments], right: dict[Any, Moments]) -> dict[Any, Moments]:
    return {
        label: left[label] + right[label] if label in left and label in right else (left.get(label) or right[label])
        for label in _in_order([*left, *right], column)
    }


@dataclasses.dataclass(frozen=True)
class _Sample:
    """The rows with the smallest random keys so far, where each stands, and the diagonal moments of all."""

    count: int
    keys: Array
    places: Any
    points: Array
    weights: Array | None
    moments: Moments | None

    def merged(self, other: _Sample) -> _Sample:
        keys = np.concatenate([self.keys, other.keys])
        places, points = np.concatenate([self.places, other.places]), np.vstack([self.points, other.points])
        kept = np.argsort(keys, kind="stable")[: self.count]
        weights: Array | None = None
        if self.weights is not None or other.weights is not None:
            # A block without weights has ones.
            parts = [np.ones(len(part.keys)) if part.weights is None else part.weights for part in (self, other)]
            weights = np.concatenate(parts)[kept]
        moments = _merged(None, self.moments, other.moments)
        return _Sample(self.count, keys[kept], places[kept], points[kept], weights, moments)


def _sampled(columns: Columns, count: int, seed: int, index: int, raw: Any) -> _Sample:
    block = Block.of(index, raw, columns)
    X, weights = block.points, block.weights
    if weights is not None:
        # A row without weight is no row: it must neither be a pivot nor widen the kernel.
        X, weights = X[weights > 0], weights[weights > 0]
    keys = np.random.default_rng([seed, index]).random(X.shape[0])
    kept = np.argsort(keys, kind="stable")[:count]
    rows = X[kept] if isinstance(X, np.ndarray) else X[kept].toarray()
    moments = Moments.estimate(X, weights, representation="diagonal") if X.shape[0] else None
    # Blocks are numbered, and rows within them, which orders rows as the source does without knowing lengths.
    return _Sample(count, keys[kept], index * 2**40 + kept, rows, None if weights is None else weights[kept], moments)


def _moments_and_sample(
    features: FeatureMap, count: int, seed: int, index: int, raw: Any
) -> tuple[Moments | None, _Sample]:
    sample = _sampled(_as_map_has_them(Columns(), features, raw), count, seed, index, raw)
    return _moments(Columns(), features, "dense", None, index, raw), sample


def _both_merged(
    left: tuple[Moments | None, _Sample], right: tuple[Moments | None, _Sample]
) -> tuple[Moments | None, _Sample]:
    return _merged(None, left[0], right[0]), left[1].merged(right[1])


def _gamma(moments: Moments) -> float:
    """What :func:`~convexnovelty.distances.scale_gamma` reads off all entries, from means and variances of columns."""
    varying = beyond_rounding(moments.variances, moments.mean)
    if not varying.any():
        return 1.0
    means, variances = moments.mean[varying], moments.variances[varying]
    return float(1.0 / (varying.sum() * (variances.mean() + means.var())))


def _scores(columns: Columns, estimator: Any, method: str, index: int, raw: Any) -> Any:
    names = getattr(estimator, "feature_names_in_", None)
    table = raw[0] if isinstance(raw, tuple) and raw else raw
    if names is None and index == 0 and names_of(table) is not None:
        told = f"X has feature names, but {type(estimator).__name__} was fitted without feature names: columns are taken as they stand"
        warnings.warn(told, UserWarning, stacklevel=2)
    if names is None or not hasattr(table, "columns"):
        block = Block.of(index, raw, columns)
        X = block.points.astype(block.precision, copy=False)
    else:
        # Columns of a table are taken by their names, in whatever order they stand.
        features = tuple(str(name) for name in names)
        block = Block.of(index, raw, Columns(features))
        X = needed("pandas", "detect").DataFrame(block.points.astype(block.precision, copy=False), columns=features)
    return getattr(estimator, method)(X) if X.shape[0] else np.zeros(0)
