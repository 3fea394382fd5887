r"""Scores that are larger for more novel points, learnt from nominal and unlabelled points.

Scott and Blanchard (2009), section 3: the most powerful test of nominal against novel thresholds
:math:`h_X(z)/h_0(z)`, which only needs nominal and unlabelled points, since it is :math:`1-\pi+\pi h_1(z)/h_0(z)`.
Section 7 plugs kernel density estimates in, one bandwidth a class, chosen by the cross-validated area under the ROC
curve of nominal against unlabelled points. The inductive detector thresholds :math:`1/h_0(z)`, as if novelties were
uniform, and its bandwidth is chosen against uniform points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from convexnovelty.algorithms.roc import areas_under_curves
from convexnovelty.columns import by_name, names_of
from convexnovelty.distances import squared_distances
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.validation import (
    Array,
    choice,
    fraction,
    generator,
    integer,
    points,
    positive,
    shown,
    squarable,
    vector,
)

__all__ = [
    "ClassifierScore",
    "DensityRatio",
    "KernelDensity",
    "LowDensity",
    "NoveltyScore",
    "as_novelty_score",
    "box_around",
    "held_out_scores",
    "uniform_points",
]

Score = Callable[[Any], Array]
Library = Literal["own", "scikit-learn"]
LIBRARIES = ("own", "scikit-learn")

CLASSIFIER = "classifier of scikit-learn with decision_function or predict_proba, which a detector of outliers is not"

# Bandwidths that are tried, as multiples of the reference rule on standardised columns.
FACTORS = tuple(float(f) for f in np.logspace(-1.0, 1.0, 9))
# Areas that differ by less are equal; the smoother of the two densities is then preferred.
SAME_AREA = 1e-12
# Share of the largest deviation up to which a constant column is what a centring leaves of one, and a column of columns that
# were centred what it leaves of roundings of one number. Columns in units of their own may be smaller.
CENTRED, ROUNDED = 1e-10, 1e-14
FAR = 1e3  # times the size of the samples from which on squared distances hide what two densities differ by
BLOCK = 2**21  # squared distances held at once while new points are scored: 16 MB


class NoveltyScore(ABC):
    """What learns a score; larger scores are more novel.

    Laws
    ----
    - ``fit(nominal, unlabelled, random)(Z)`` has shape (len(Z),) and is finite.
    - The same arguments and the same state of ``random`` give the same scores.
    """

    @abstractmethod
    def fit(self, nominal: Array, unlabelled: Array, random: np.random.Generator) -> Score:
        """A function from points (m, p) to scores (m,)."""


@dataclass(frozen=True, eq=False)
class KernelDensity:
    r"""A Gaussian kernel density estimate on columns divided by ``units``.

    .. math:: h(z) = \frac1n\sum_i (2\pi b^2)^{-p/2} \exp\left(-\frac{\|(z-x_i)/u\|^2}{2b^2}\right)\prod_j\frac1{u_j}

    Parameters
    ----------
    points : (n, p) the sample :math:`x_i`, in the units in which new points come.
    bandwidth : b, on columns divided by ``units``.
    units : (p,) u, above zero.
    library : "own", or "scikit-learn" to let its KernelDensity compute.
    names : of the columns, by which new frames are matched; those of ``points`` where they are a frame.
    """

    points: Array = field(repr=False)
    bandwidth: float
    units: Array = field(repr=False)
    library: Library = "own"
    names: Sequence[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.names is None:
            object.__setattr__(self, "names", names_of(self.points))
        # Copies: what the caller does with their points changes no density.
        sample = np.array(points(self.points, "points"))
        units = np.array(vector(self.units, "units", sample.shape[1]))
        if not (units > 0).all():
            raise InputError(f"units: {units[units <= 0][0]:.6g} was found; give numbers above zero, one a column")
        with np.errstate(over="ignore"):
            scaled = sample / units
        if not np.isfinite(scaled).all():
            raise InputError("units: points divided by them are beyond float64; give units of the size of the columns")
        squarable(scaled, "points", new=True)
        object.__setattr__(self, "points", read_only(sample))
        object.__setattr__(self, "units", read_only(units))
        object.__setattr__(self, "bandwidth", positive(self.bandwidth, "bandwidth", squared=True))
        choice(self.library, "library", LIBRARIES)

    def log_density(self, Z: Any) -> Array:
        """ln h(z) of shape (m,), finite as far from the sample as float64 has room for squares in bandwidths.

        Raises InputError for a row beyond.
        """
        return _counted(self.logarithms(Z))

    def logarithms(self, Z: Any) -> Array:
        """The same, infinite where squares in bandwidths leave float64."""
        given, moved = _rows(Z, self.points.shape[1], self.names), _far_middle(self.points)
        with np.errstate(over="ignore"):
            rows, sample = (given - moved) / self.units, (self.points - moved) / self.units
        squarable(rows, "Z", new=True)
        shift = float(np.log(self.units).sum())
        if self.library == "scikit-learn":
            from sklearn.neighbors import KernelDensity as Estimator

            return np.asarray(Estimator(bandwidth=self.bandwidth).fit(sample).score_samples(rows) - shift)
        step = max(1, BLOCK // len(sample))
        parts = [
            log_kernel_means(self._squares(given[i : i + step]), self.bandwidth) for i in range(0, len(rows), step)
        ]
        return np.asarray(np.concatenate(parts) - rows.shape[1] * np.log(self.bandwidth * np.sqrt(2 * np.pi)) - shift)

    def _squares(self, rows: Array) -> Array:
        """Squared distances in units, of differences: a quotient has lost what tells far points apart. Powers of two lose nothing."""
        mantissas, powers = np.frexp(self.units)
        return np.asarray(
            cdist(np.ldexp(rows, -powers), np.ldexp(self.points, -powers), "sqeuclidean", w=mantissas**-2)
        )

    def log_tilted_mean(self, Z: Array, middle: Array) -> Array:
        r"""What :meth:`log_density` has beyond :math:`-\|z'\|^2/2b^2`, where z' is z seen from the middle in units of the columns.

        .. math:: \ln\frac1n\sum_i \exp\frac{z'\cdot x_i' - \|x_i'\|^2/2}{b^2} - p\ln(b\sqrt{2\pi}) - \sum_j\ln u_j
        """
        rows, sample = (Z - middle) / self.units, (self.points - middle) / self.units
        inner = (rows @ sample.T - (sample**2).sum(axis=1) / 2) / self.bandwidth**2
        constant = rows.shape[1] * np.log(self.bandwidth * np.sqrt(2 * np.pi)) + float(np.log(self.units).sum())
        return np.asarray(logsumexp(inner, axis=1) - np.log(len(sample)) - constant)


def _far_middle(sample: Array) -> Array:
    """An entry of each column that lies far off beside what the column varies by, of shape (p,); zero in the others.

    Differences from it keep the digits that a quotient or a product of the entries would lose.
    """
    middle = np.partition(sample, len(sample) // 2, axis=0)[len(sample) // 2]
    with np.errstate(over="ignore"):
        return np.asarray(np.where(np.abs(middle) > np.abs(sample - middle).max(axis=0), middle, 0.0))


def log_kernel_means(squares: Array, bandwidth: float) -> Array:
    """ln of the mean over columns of exp(-d^2 / (2 b^2)), without the constant of the density."""
    with np.errstate(over="ignore"):
        return np.asarray(logsumexp(squares / (-2 * bandwidth**2), axis=1) - np.log(squares.shape[1]))


@dataclass(frozen=True, eq=False)
class _Ratio:
    nominal: KernelDensity
    unlabelled: KernelDensity
    area: float

    def __call__(self, Z: Any) -> Array:
        with np.errstate(invalid="ignore"):  # infinities, which are replaced or refused below
            found = self.unlabelled.logarithms(Z) - self.nominal.logarithms(Z)
        rows = _rows(Z, len(self.nominal.units), self.nominal.names)
        one, other = self.unlabelled, self.nominal
        middle = other.points.mean(axis=0)
        lengths = np.linalg.norm((rows - middle) / other.units, axis=1)
        width = float(np.linalg.norm((np.vstack([one.points, other.points]) - middle) / other.units, axis=1).max())
        far = lengths > FAR * width
        if far.any() and one.library == other.library == "own":
            # Far off both logarithms are that of one term, in which the squared length cancels or stands alone.
            apart = 0.5 / other.bandwidth**2 - 0.5 / one.bandwidth**2
            with np.errstate(over="ignore", invalid="ignore"):
                tilted = one.log_tilted_mean(rows[far], middle) - other.log_tilted_mean(rows[far], middle)
                found[far] = tilted + apart * lengths[far] ** 2
        return _counted(found)


@dataclass(frozen=True, eq=False)
class _Low:
    nominal: KernelDensity
    area: float

    def __call__(self, Z: Any) -> Array:
        return -self.nominal.log_density(Z)


@dataclass(frozen=True)
class DensityRatio(NoveltyScore):
    r"""The plug-in score :math:`\ln\hat h_X(z) - \ln\hat h_0(z)` with kernel density estimates (section 7).

    Parameters
    ----------
    nominal_bandwidth, unlabelled_bandwidth : bandwidths on columns of unit standard deviation; None to choose by the
        cross-validated area under the curve of nominal against unlabelled points.
    folds : of the cross-validation.
    limit : at most this many points of each sample are used to choose bandwidths.
    library : "own", or "scikit-learn" to let its KernelDensity compute the densities.
    """

    nominal_bandwidth: float | None = None
    unlabelled_bandwidth: float | None = None
    folds: int = 5
    limit: int = 1000
    library: Library = "own"

    def __post_init__(self) -> None:
        _check_density(self, ("nominal_bandwidth", "unlabelled_bandwidth"))

    def fit(self, nominal: Array, unlabelled: Array, random: np.random.Generator) -> Score:
        """Choose the bandwidths that are not given, and estimate both densities."""
        names = names_of(nominal)
        nominal, unlabelled, random = _samples(nominal, unlabelled, random)
        both = np.vstack([nominal, unlabelled])
        units, moved = column_units(both, nominal), _far_middle(both)
        scaled = ((nominal - moved) / units, (unlabelled - moved) / units)
        grids: list[list[float] | None] = [
            _grid(b, *s.shape) for b, s in zip((self.nominal_bandwidth, self.unlabelled_bandwidth), scaled, strict=True)
        ]
        chosen = _cross_validated(scaled, grids, self.folds, self.limit, random)
        samples = zip((nominal, unlabelled), chosen[:2], strict=True)
        densities = [KernelDensity(s, b, units, self.library, names) for s, b in samples]
        return _Ratio(densities[0], densities[1], chosen[2])


@dataclass(frozen=True)
class LowDensity(NoveltyScore):
    r"""The inductive score :math:`-\ln\hat h_0(z)`, which takes novelties for uniform and ignores unlabelled points.

    Parameters
    ----------
    nominal_bandwidth : on columns of unit standard deviation; None to choose by the cross-validated area under the
        curve of nominal against as many uniform points on a box round them.
    folds, limit, library : as for :class:`DensityRatio`.
    """

    nominal_bandwidth: float | None = None
    folds: int = 5
    limit: int = 1000
    library: Library = "own"

    def __post_init__(self) -> None:
        _check_density(self, ("nominal_bandwidth",))

    def fit(self, nominal: Array, unlabelled: Array, random: np.random.Generator) -> Score:
        """Choose the bandwidth if it is not given, and estimate the nominal density."""
        names, nominal, random = names_of(nominal), points(nominal, "nominal"), generator(random, "random")
        units = column_units(nominal)
        scaled = (nominal - _far_middle(nominal)) / units
        uniform = uniform_points(box_around(scaled), len(nominal), random)
        grid = _grid(self.nominal_bandwidth, *scaled.shape)
        bandwidth, _, area = _cross_validated((scaled, uniform), [grid, None], self.folds, self.limit, random)
        return _Low(KernelDensity(np.array(nominal), bandwidth, units, self.library, names), area)


@dataclass(frozen=True)
class ClassifierScore(NoveltyScore):
    """What any classifier of scikit-learn says for "unlabelled" against "nominal".

    It is the decision function if there is one, and otherwise the probability of the class. The estimator is cloned,
    and parameters named ``random_state`` that are None are set, so that the same seed gives the same score.
    """

    estimator: Any

    def __post_init__(self) -> None:
        if not _classifies(self.estimator):
            raise InputError(f"estimator: {shown(self.estimator)} was found; give a {CLASSIFIER}")

    def fit(self, nominal: Array, unlabelled: Array, random: np.random.Generator) -> Score:
        """Fit a clone on the nominal points as class 0 and the unlabelled ones as class 1."""
        from sklearn.base import clone

        names = names_of(nominal)
        nominal, unlabelled, random = _samples(nominal, unlabelled, random)
        estimator = clone(self.estimator)
        seeds = {
            name: int(random.integers(2**31))
            for name, value in sorted(estimator.get_params().items())
            if _is_seed(name) and value is None
        }
        estimator.set_params(**seeds)
        try:
            estimator.fit(np.vstack([nominal, unlabelled]), np.repeat([0, 1], [len(nominal), len(unlabelled)]))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"score: {shown(self.estimator)} could not be fitted on an array of numbers, which has no names of columns ({error}); "
                "give a classifier that takes one, with columns by their places"
            ) from error
        return _Fitted(estimator, nominal.shape[1], names)


@dataclass(frozen=True, eq=False)
class _Fitted:
    estimator: Any
    columns: int
    names: Sequence[str] | None = None

    def __call__(self, Z: Any) -> Array:
        rows = _rows(Z, self.columns, self.names)
        if hasattr(self.estimator, "decision_function"):
            return np.asarray(self.estimator.decision_function(rows), dtype=float).ravel()
        return np.asarray(self.estimator.predict_proba(rows), dtype=float)[:, 1]


def as_novelty_score(score: Any, name: str = "score") -> NoveltyScore:
    """A novelty score as it is, None or a name as the plug-in or the inductive one, a classifier as its score.

    ``name`` is what the error calls it.
    """
    if score is None or (isinstance(score, str) and score == "density_ratio"):
        return DensityRatio()
    if isinstance(score, str) and score == "low_density":
        return LowDensity()
    if isinstance(score, NoveltyScore):
        return score
    if _classifies(score):
        return ClassifierScore(score)
    raise InputError(
        f"{name}: {shown(score)} was found; give 'density_ratio', 'low_density', a NoveltyScore, or a {CLASSIFIER}"
    )


def _detects(estimator: Any) -> bool:
    """Whether an estimator scores points by themselves, ordinary ones highest."""
    from sklearn.base import is_outlier_detector

    try:
        return bool(is_outlier_detector(estimator))
    except AttributeError:  # one that says nothing of its kind
        return False


def _classifies(estimator: Any) -> bool:
    return (
        not isinstance(estimator, (str, type))
        and hasattr(estimator, "fit")
        and (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba"))
        and not _detects(estimator)
    )


def held_out_scores(
    nominal: Any, unlabelled: Any, score: Any = None, *, share: float = 0.5, random_state: Any = 0
) -> tuple[Array, Array]:
    """Fit a score on a part of both samples and score the rest: scores for which DKW and exact bounds hold.

    Parameters
    ----------
    nominal, unlabelled : (m, p) and (n, p), at least two points each.
    score : as :func:`as_novelty_score` takes it.
    share : of each sample, the share that is held out, in (0, 1).
    random_state : a seed or a ``numpy.random.Generator``.

    Returns
    -------
    Scores of the held-out nominal and of the held-out unlabelled points, larger for more novel ones.
    """
    learner, random = as_novelty_score(score), generator(random_state)
    first = points(nominal, "nominal", minimum=2)
    second = points(by_name(unlabelled, "unlabelled", names_of(nominal), "nominal"), "unlabelled", minimum=2)
    same_columns(first, second)
    fit_nominal, rest_nominal = split(first, share, random)
    fit_unlabelled, rest_unlabelled = split(second, share, random)
    fitted = learner.fit(fit_nominal, fit_unlabelled, random)
    return fitted(rest_nominal), fitted(rest_unlabelled)


def box_around(nominal: Array) -> tuple[Array, Array]:
    """Lowest and highest corner of a box that holds the sample, wider than it by range / (n - 1) at each end.

    Of n uniform points the range falls short of the interval by just this much on average.
    """
    nominal = points(nominal, "nominal")
    low, high = nominal.min(axis=0), nominal.max(axis=0)
    margin = (high - low) / max(1, len(nominal) - 1)
    return low - margin, high + margin


def uniform_points(box: tuple[Array, Array], count: int, random: np.random.Generator) -> Array:
    """``count`` uniform points on a box, of shape (count, p)."""
    corners = points(box, "box", minimum=2)
    if len(corners) != 2 or (corners[0] > corners[1]).any():
        raise InputError(f"box: {shown(box)} was found; give its lowest and its highest corner")
    low, high = corners
    drawn = generator(random, "random").random((integer(count, "count", 0), low.size))
    return np.asarray(low + drawn * (high - low))


def column_units(X: Array, nominal: Array | None = None) -> Array:
    """The standard deviation of each column; of a constant one its size, so that other units give the same score.

    One of zeros has the unit one, and so has what a centring leaves of a constant column, or of roundings of one number: rounding
    of its mean. ``nominal`` are the points among X that were centred, if they were.
    """
    deviations, first = _deviations(X), np.abs(X[0])
    largest = deviations.max(initial=0.0)
    rounded, rest = deviations <= ROUNDED * largest, X if nominal is None else nominal
    if (np.abs(rest.mean(axis=0)) > deviations / 2)[~rounded].any():
        rounded[:] = False
    constant = constant_columns(X)
    nothing = rounded | (constant & (first <= CENTRED * largest))
    return np.where(nothing, 1.0, np.where(constant, first, deviations))


def constant_columns(X: Array) -> NDArray[np.bool_]:
    """Whether each column is constant but for rounding, of shape (p,)."""
    return np.asarray(_deviations(X) <= 4 * np.finfo(float).eps * np.abs(X[0]))


def _deviations(X: Array) -> Array:
    away = X - X[0]
    # Divided by its largest entry before it is squared: columns may be of the order of 1e-200 or 1e200.
    largest = np.max(np.abs(away), axis=0)
    return np.asarray(largest * np.std(away / np.where(largest > 0, largest, 1.0), axis=0))


def split(X: Array, share: float, random: np.random.Generator) -> tuple[Array, Array]:
    """Two parts of a sample in random order, of which the second has the given share; each has at least one point."""
    held = min(max(1, round(fraction(share, "share") * len(X))), len(X) - 1)
    order = random.permutation(len(X))
    return X[order[held:]], X[order[:held]]


def same_columns(nominal: Array, unlabelled: Array) -> None:
    """Raise InputError unless both samples have the same number of columns."""
    if nominal.shape[1] != unlabelled.shape[1]:
        raise InputError(
            f"unlabelled: {unlabelled.shape[1]} column(s) were found where nominal has {nominal.shape[1]}; give the same columns"
        )


def _samples(nominal: Any, unlabelled: Any, random: Any) -> tuple[Array, Array, np.random.Generator]:
    first = points(nominal, "nominal")
    second = points(by_name(unlabelled, "unlabelled", names_of(nominal), "nominal"), "unlabelled")
    same_columns(first, second)
    return first, second, generator(random, "random")


def _rows(Z: Any, columns: int, names: Sequence[str] | None) -> Array:
    rows = points(by_name(Z, "Z", names, "the sample"), "Z")
    if rows.shape[1] != columns:
        raise InputError(f"Z: {rows.shape[1]} column(s) were found where the score was learnt from {columns}")
    return rows


def _counted(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise InputError(
            f"Z: row {int(np.flatnonzero(~np.isfinite(values))[0])} is so far from the sample in units of the bandwidth that its "
            "density leaves the range of float64, as a logarithm too; give a larger bandwidth, or rows that are nearer"
        )
    return values


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _check_density(score: Any, bandwidths: tuple[str, ...]) -> None:
    for name in bandwidths:
        if getattr(score, name) is not None:
            object.__setattr__(score, name, positive(getattr(score, name), name, squared=True))
    for name in ("folds", "limit"):
        object.__setattr__(score, name, integer(getattr(score, name), name, 2))
    choice(score.library, "library", LIBRARIES)


def _grid(bandwidth: float | None, n: int, p: int) -> list[float]:
    """The bandwidth that was given, or multiples of the reference rule for a Gaussian of unit variances, falling."""
    reference = (4 / ((p + 2) * n)) ** (1 / (p + 4))
    return [bandwidth] if bandwidth is not None else [reference * factor for factor in reversed(FACTORS)]


def _cross_validated(
    samples: tuple[Array, Array], grids: list[list[float] | None], folds: int, limit: int, random: np.random.Generator
) -> tuple[float, float, float]:
    """Bandwidths of the nominal and the other density with the largest area under the curve, and that area.

    Without a grid for the second sample its density is a constant, and only the nominal one enters the score.
    """
    nominal_grid, other_grid = grids[0] or [], grids[1] or [float("nan")]
    if len(nominal_grid) == len(other_grid) == 1:
        return nominal_grid[0], other_grid[0], float("nan")
    used = [s[random.permutation(len(s))[:limit]] for s in samples]
    folds = min(folds, len(used[0]), len(used[1]))
    middle = [grid[len(grid) // 2] for grid in (nominal_grid, other_grid)]
    if folds < 2:
        return middle[0], middle[1], float("nan")
    parts = [np.arange(len(s)) % folds for s in used]
    areas = np.zeros((len(nominal_grid), len(other_grid)))
    for fold in range(folds):
        train = [s[part != fold] for s, part in zip(used, parts, strict=True)]
        tested = np.vstack([s[part == fold] for s, part in zip(used, parts, strict=True)])
        novel = np.repeat([False, True], [int((part == fold).sum()) for part in parts])
        squares = squared_distances(tested, train[0])
        low = [vector(-log_kernel_means(squares, b), "scores_nominal") for b in nominal_grid]
        high = [np.zeros(len(tested))]
        if grids[1] is not None:
            squares = squared_distances(tested, train[1])
            high = [vector(log_kernel_means(squares, b), "scores_novel") for b in other_grid]
        for i, nominal in enumerate(low):
            areas[i] += areas_under_curves(nominal[:, None] + np.column_stack(high), novel) / folds
    # Grids fall, so the first of equally good pairs is the smoothest.
    i, j = (int(k[0]) for k in np.nonzero(areas >= areas.max() - SAME_AREA))
    return nominal_grid[i], other_grid[j], float(areas[i, j])
