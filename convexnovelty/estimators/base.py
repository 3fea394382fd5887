"""What the estimators share: validation in scikit-learn's words, kernels by name, thresholds and their guarantees."""

from __future__ import annotations

import functools
import numbers
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from convexnovelty import kernels, validation
from convexnovelty.columns import by_name, columns_as_rows, in_places, is_text, refuse_dates, types_of
from convexnovelty.distances import laplacian_gamma, scale_gamma
from convexnovelty.errors import ArgumentTypeError, IndefiniteError, InputError
from convexnovelty.estimators.scores import Score
from convexnovelty.false_positives import Calibration, threshold_rank
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.kernels import Kernel, Linear, Precomputed
from convexnovelty.model_codec import NotSaved
from convexnovelty.modelling import NOTHING, SHARE_ROUNDING, quantile_interval
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Guarantee, Region, spread
from convexnovelty.tails import as_tail
from convexnovelty.validation import (
    EPS,
    LARGEST,
    SMALLEST,
    Array,
    fraction,
    generator,
    nonnegative,
    points,
    rounding_of,
    squarable,
    vector,
)

if TYPE_CHECKING:
    from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall

__all__ = [
    "ZEROS",
    "Learned",
    "NoveltyEstimator",
    "WeightedNoveltyEstimator",
    "by_solver",
    "check_parameters",
    "checked_weights",
    "feature_map",
    "knows_no_points",
    "named_kernel",
    "refuse_part_of_matrix",
    "region_tie",
    "ridge_ball",
    "takes_sparse",
    "validated",
    "whole",
]


ZEROS = "sample_weight: zeros were"  # the beginning of what is said of rows without weight
LARGEST_SEED = 2**32 - 1  # of scikit-learn's states; NumPy's generators take any


@dataclass(frozen=True)
class Learned:
    """What a method found: a score, the level at which points turn novel, and what is known of the result.

    ``certificate`` holds the recomputed optimality residuals of a solver's point, or None for an exact algorithm.
    ``inside`` are the scores of the training points where they are known already; ``scale`` is the size of what the
    scores are differences of, where that is more than they are. ``tie`` is what scores on the boundary are not known to, where
    the method knows it; None takes a share of what tells the scores apart.
    """

    score: Score
    level: float
    guarantee: Guarantee | None
    certificate: Any = None
    objective: float = float("nan")
    inside: Array | None = None
    scale: float = 0.0
    tie: float | None = None


Fit = TypeVar("Fit", bound=Callable[..., Any])


def whole(fit: Fit) -> Fit:
    """A fit that ends in an error leaves the estimator as it was: never new column names beside an old solution."""

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, fitted)


def named_kernel(
    kernel: Any, gamma: Any, degree: int, coef0: float, X: Array | None = None, weights: Array | None = None
) -> Kernel:
    """A kernel from its name and scikit-learn's parameters, or the kernel object or callable itself.

    With weights, a width "by scale" is that of the sample in which each point is repeated as its weight says.
    """
    if not isinstance(kernel, str):
        return kernels.as_kernel(kernel)
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": lambda: kernels.linear(),
        "gaussian": lambda: kernels.gaussian(gamma=gamma),
        "rbf": lambda: kernels.gaussian(gamma=gamma),
        "polynomial": lambda: kernels.polynomial(degree=degree, gamma=gamma, coef0=coef0),
        "poly": lambda: kernels.polynomial(degree=degree, gamma=gamma, coef0=coef0),
        "sigmoid": lambda: kernels.sigmoid(gamma=gamma, coef0=coef0),
        "laplacian": lambda: kernels.laplacian(gamma=gamma),
    }
    if kernel not in makers:
        raise InputError(f"kernel: {kernel!r} was found; give one of {', '.join(makers)}, a kernel or a function")
    if isinstance(gamma, str) and gamma == "scale" and X is not None and weights is not None:
        # The Laplacian kernel divides by a distance, the others by its square.
        gamma = laplacian_gamma(X, weights) if kernel == "laplacian" else scale_gamma(X, weights)
    return makers[kernel]()


def knows_no_points(kernel: Any, rank: int | None) -> InputError:
    """The error for moments in the place of points, where a kernel or a rank needs the points themselves."""
    if kernel is None or kernel == "linear" or isinstance(kernel, Linear):
        return InputError(f"rank: {rank!r} was found, but moments know no points to choose from; leave rank None")
    more = "" if rank is None else " and rank=None"
    return InputError(f"kernel: {kernel!r} was found, but moments know no points; give kernel='linear'{more}")


def ridge_ball(ridge: float, square: float) -> FrobeniusBall:
    """The ball whose radius is the ridge times a mean squared length of the points."""
    from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall  # which machines without sets do not wait for

    if square < 0:
        raise IndefiniteError(
            f"kernel: the mean of k(x, x) is {square:.6g}; give a positive semidefinite kernel", square
        )
    radius = nonnegative(ridge, "ridge", squared=True) * square
    if radius and not SMALLEST <= radius <= LARGEST:
        raise InputError(
            f"X: points of length {square**0.5:.3g} were found (root of the mean square), and the ridge of {ridge:g} in their "
            "unit is beyond what float64 can square; give points in a unit in which they are nearer to one"
        )
    return FrobeniusBall(radius)


def takes_sparse(kernel: Any) -> bool:
    """Whether a kernel, or the one of that name, has a form for sparse rows."""
    if isinstance(kernel, str):
        return kernel in ("linear", "gaussian", "rbf", "polynomial", "poly", "sigmoid")
    return kernel is None or (isinstance(kernel, Kernel) and kernel.takes_sparse)


def is_pairwise(kernel: Any) -> bool:
    """Whether points come as a Gram matrix, of which scikit-learn's splitters take rows and columns alike."""
    return isinstance(kernel, Precomputed)


def refuse_part_of_matrix(kernel: Any, found: str) -> None:
    """Raise InputError where rows that take no part are found beside a Gram matrix, which has a column for each."""
    if is_pairwise(kernel):
        raise InputError(
            f"{found} found with a precomputed kernel, whose matrix has a column for each row that takes no part; leave "
            "it None, or give the matrix of the other points alone"
        )


def by_solver(estimator: Any, problem: Any) -> Any:
    """The solution of a program by the solver that an estimator names, with a warning where its value has no digits.

    That is for machines whose value is zero where nothing is separated alone, as the sentence says then. Others have a value of
    zero where what they tell apart is certain.
    """
    from convexnovelty.attempts import UNTOLD
    from convexnovelty.formulation import NO_DIGIT

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f".*{NO_DIGIT}")  # said below in the estimator's words
        solution = problem.solve(None if estimator.solver == "auto" else estimator.solver)
    nothing = solution.guarantee is not None and solution.guarantee.startswith(NOTHING)
    if solution.attempts[-1].remark == UNTOLD and not nothing:
        other = "" if estimator.solver == "auto" else ", or leave solver='auto'"
        told = (
            f"{type(estimator).__name__}: the residuals of {solution.solver} do not tell the value {solution.objective:.3g} from zero, so "
            f"that neither it nor the region need have a digit; bring columns and points to comparable sizes{other}"
        )
        warnings.warn(told, UserWarning, stacklevel=6)
    return solution


def feature_map(X: Array, kernel: Kernel, rank: int | None, names: Any = None) -> FeatureMap:
    """Coordinates in which the kernel is linear; for the linear kernel those of the data, whose columns have ``names`` in a frame."""
    if not isinstance(kernel, Linear) or rank is not None:
        return KernelFeatures(X, kernel, rank=rank)
    made = LinearFeatures(X)
    made.names = None if names is None else list(names)
    return made


def names_of_fit(estimator: Any, features: FeatureMap | None = None) -> Any:
    """The names of the columns that an estimator learns from, as its sets see them; None in coordinates of a kernel."""
    own = features is None or isinstance(features, LinearFeatures)
    return getattr(estimator, "feature_names_in_", None) if own else None


def region_tie(region: Region, features: Any) -> float:
    """How far below zero the region itself takes decision values of training points on its boundary for zero."""
    rows = features.training
    room = region.tie + np.broadcast_to(region.rounding(rows), len(rows))
    return float(room[np.abs(region.decision_values(rows)) <= room].max(initial=region.tie))


def validated(estimator: Any, X: Any, *labels: Any, **options: Any) -> Any:
    """What scikit-learn's ``validate_data`` makes of points and labels, refused in this package's words.

    scikit-learn takes the numbers under a mask for data, dates for days since 1970, and text for the number that it
    spells. None of these may pass for points.
    """
    if options.get("reset", True):
        check_parameters(estimator)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        points(X, "X")
    in_places(X, "X")
    pairwise = is_pairwise(getattr(estimator, "kernel", None))
    if pairwise:
        # Its columns are points, in an order of their own, and those of new rows may stand as the frame of the fit had them.
        names = getattr(estimator, "feature_names_in_", None)
        X = columns_as_rows(X) if options.get("reset", True) else by_name(X, "X", names, "the fit")
    table = _table(X)
    refuse_dates(table, "X")
    if _has_text(table):
        raise ArgumentTypeError("X: strings or categories were found, which may be numbers or names; give numbers")
    given = [validation.labels(y, "y") for y in labels]
    # The type of a Gram matrix tells what its rounding may hide.
    kinds = [np.float64, np.float32, np.float16] if pairwise else np.float64
    try:
        made = validate_data(estimator, X, *given, **{"dtype": kinds, **options})
    except (TypeError, ValueError, OverflowError) as error:
        refusal = ArgumentTypeError if isinstance(error, TypeError) else InputError
        named = re.search(r"\b[Xy]\b", str(error).split("\n")[0]) is not None
        said = str(error) if named else f"X: {error}"
        raise refusal(f"{said.strip().rstrip('.')}; give {_wanted(estimator, said)}") from error
    squarable(made[0] if labels else made, "X", new=not options.get("reset", True))
    return made


def _wanted(estimator: Any, said: str) -> str:
    """What would do in the place of points that scikit-learn has refused: its own texts leave that to the reader."""
    if "feature names" in said.lower():
        return f"the columns of the fit in their order: {', '.join(map(repr, estimator.feature_names_in_[:20]))}"
    if "features, but" in said:
        return "points with as many columns as those of the fit"
    return "finite numbers, one row a point and one label a row"


def check_parameters(estimator: Any) -> None:
    """Refuse an estimator's parameters that are of no kind that counts, whether or not this fit comes to use them."""
    given = estimator.get_params(deep=False)
    for name, value in given.items():
        if isinstance(value, NotSaved):
            raise InputError(
                f"{name}: {value.text} was not saved, since a model file holds the text alone of what no prediction needs; give it "
                f"anew before fitting, with set_params({name}=...)"
            )
    solver, kernel, state = given.get("solver", "auto"), given.get("kernel"), given.get("random_state")
    if not isinstance(solver, str):
        raise InputError(f"solver: {solver!r} was found; give 'auto' or the name of a CVXPY solver")
    if not (kernel is None or isinstance(kernel, (str, Kernel)) or callable(kernel)):
        raise InputError(f"kernel: {kernel!r} was found; give a kernel, its name, or a function of two sets of points")
    if "tail" in given:
        as_tail(given["tail"])
    if not isinstance(state, (np.random.RandomState, np.random.Generator)):
        generator(state)


def _table(X: Any) -> Any:
    """Rows in a list as an array, where they make one; anything else as it is."""
    if not isinstance(X, (list, tuple)):
        return X
    try:
        return np.asarray(X)
    except ValueError:  # rows of unequal length, which scikit-learn describes
        return X


def _has_text(X: Any) -> bool:
    """Whether text or categories stand among the entries of an array or the columns of a frame."""
    types = types_of(X)
    if any(map(is_text, types)):
        return True
    boxed = any(getattr(kind, "kind", "") == "O" or str(kind).lower() == "object" for kind in types)
    if not boxed or sp.issparse(X):
        return False
    return any(isinstance(entry, (str, bytes)) for entry in np.asarray(X, dtype=object).flat)


# Points of float32 that come from a transformer are known to so many roundings of a row's largest entry: those of a sum of 256
# products, whose roundings add up like a root. The scores of points at the level are tried with random signs, so many times, and
# move by no more than so many times what is seen.
SINGLE, STEPS, DRAWS, MARGIN = float(np.finfo(np.float32).eps), 16.0, 3, 2.0

# The share of the middle distance from the level within which points count as being there.
NEAR = 1e-4


class NoveltyEstimator(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the detectors: +1 for ordinary points, -1 for novel ones.

    A derived class learns a score; the base validates, sets the threshold, and, with ``false_alarm_rate``, replaces
    the method's own threshold by one from held-out points, whose rate of false alarms is guaranteed for every
    distribution (conformal prediction).
    """

    def _learn(self, X: Array, weights: Array | None) -> Learned:
        raise NotImplementedError

    def _takes_sparse(self) -> bool:
        """Whether sparse points are learnt from as they are; where not they are refused, and never written out."""
        return False

    def _sparse_form(self) -> Any:
        return "csr" if self._takes_sparse() else False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.pairwise = is_pairwise(getattr(self, "kernel", None))
        return tags

    @whole
    def fit(self, X: Any, y: Any = None) -> NoveltyEstimator:
        """Learn what ordinary points look like from points X of shape (n, p); y is ignored."""
        check_parameters(self)
        coarse = rounding_of(X)
        return self._fit(validated(self, X, ensure_min_samples=2, accept_sparse=self._sparse_form()), None, coarse)

    def _fit(self, X: Array, weights: Array | None, coarse: float) -> NoveltyEstimator:
        if weights is not None and getattr(self, "false_alarm_rate", None) is not None:
            X, weights = _counted(X, weights)
        held_out = self._held_out(X.shape[0])
        kept = ~held_out
        if weights is not None:
            # A point without weight is no point: it must not even set the width of the kernel.
            kept &= weights > 0
        if not kept.all():
            found = f"false_alarm_rate: {self.false_alarm_rate!r} was" if held_out.any() else ZEROS
            refuse_part_of_matrix(getattr(self, "kernel", None), found)
        learned = self._learn(X[kept], None if weights is None else weights[kept])
        if learned.guarantee is not None and learned.guarantee.startswith(NOTHING):
            # A detector that calls everything ordinary must not pass for one that found nothing novel.
            told = f"{type(self).__name__}: {learned.guarantee}; use a Gaussian kernel, or SoftBall"
            warnings.warn(told, UserWarning, stacklevel=4)
        self.score_ = learned.score
        self.certificate_ = learned.certificate
        self.objective_ = learned.objective
        inside = self.score_(X[kept]) if learned.inside is None else learned.inside
        if held_out.any():
            # Points tie with points learnt from, whose scores are larger where the held-out ones are all alike.
            scale = spread(inside, exact=True) + ROUNDING / TIE_TOLERANCE * learned.scale
            reached = self.score_(X[held_out])
            calibration = Calibration(-reached, self.false_alarm_rate, scale=scale)
            if room := self._room(X[held_out], -calibration.threshold, coarse):
                scale += room / TIE_TOLERANCE
                calibration = Calibration(-reached, self.false_alarm_rate, scale=scale)
            self.offset_: float = -calibration.threshold
            self.guarantee_: Guarantee | None = calibration.guarantee
        else:
            shares = None if weights is None else weights[kept] / weights[kept].sum()
            self._set_level(learned, inside, shares, self._room(X[kept], learned.level, coarse))
        return self

    def _room(self, X: Array, level: float, coarse: float) -> float:
        """How far the scores of points at a level may move where the points are known to a coarse rounding, as those of float32 are.

        A transformer rounds a row alone otherwise than among others, and both tie.
        """
        if not EPS < coarse <= SINGLE or sp.issparse(X) or is_pairwise(getattr(self, "kernel", None)):
            return 0.0
        apart = np.abs(self.score_(X) - level)
        near = X[apart <= NEAR * float(np.median(apart))]
        if not len(near):
            return 0.0
        here, rng = self.score_(near), np.random.default_rng(0)
        steps = STEPS * coarse * np.abs(near).max(axis=1, keepdims=True)
        moved = [self.score_(near + steps * rng.choice([-1.0, 1.0], near.shape)) - here for _ in range(DRAWS)]
        return MARGIN * float(np.max(np.abs(moved)))

    def _set_level(self, learned: Learned, inside: Array, shares: Array | None, room: float = 0.0) -> None:
        """The method's own threshold, and its sentence with what that leaves outside."""
        # Support vectors lie on the boundary and belong to the region, whatever rounding says.
        # What a solver leaves is relative to the scores themselves, which may all be alike.
        tie = learned.tie
        if tie is None:
            exact = learned.certificate is None
            level = None if exact else learned.level
            tie = TIE_TOLERANCE * spread(inside, shares, exact=exact, level=level) + ROUNDING * learned.scale
        tie += room
        self.offset_, self.guarantee_ = learned.level - tie, learned.guarantee
        if learned.guarantee is None or not learned.guarantee.counts:
            return
        out, share = _outside(inside, self.offset_, shares)
        if share > learned.guarantee.bound + SHARE_ROUNDING:
            # The level is a quantile of scores as the method knew them; as they are evaluated here they have another.
            self.offset_ = quantile_interval(inside, learned.guarantee.bound, shares).used - tie
            out, share = _outside(inside, self.offset_, shares)
        # The sentence and ``predict`` count with one offset.
        self.guarantee_ = learned.guarantee.recounted(out, None if shares is None else share)

    def _held_out(self, n: int) -> Any:
        held_out = np.zeros(n, dtype=bool)
        if getattr(self, "false_alarm_rate", None) is not None:
            count = round(fraction(self.calibration_share, "calibration_share") * n)
            given = self.random_state
            # A seed keeps its meaning, that of scikit-learn.
            whole = isinstance(given, numbers.Integral) and int(given) > LARGEST_SEED
            drawn = isinstance(given, np.random.Generator) or whole
            order = (generator(given) if drawn else check_random_state(given)).permutation(n)
            count = min(max(count, 1), n - 1)
            threshold_rank(count, self.false_alarm_rate, name="false_alarm_rate")
            held_out[order[:count]] = True
        return held_out

    def score_samples(self, X: Any) -> Array:
        """Scores of shape (m,), larger for more ordinary points."""
        check_is_fitted(self, "score_")
        rows = validated(self, X, reset=False, accept_sparse=self._sparse_form())
        with np.errstate(over="ignore", invalid="ignore"):  # what they say is said below, with the row
            values: Array = self.score_(rows)
        if np.isnan(values).any():
            raise InputError(
                f"X: row {int(np.flatnonzero(np.isnan(values))[0])} has no score, since its kernel values leave the range of "
                "float64; give rows that are nearer to those of the fit"
            )
        return values

    def decision_function(self, X: Any) -> Array:
        """Scores less the offset: at least zero for ordinary points, negative for novel ones."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """+1 for ordinary points, -1 for novel ones; points on the boundary are ordinary."""
        check_is_fitted(self, "score_")
        return np.where(self.decision_function(X) >= 0, 1, -1)


class WeightedNoveltyEstimator(NoveltyEstimator):
    """Base of the detectors whose theory admits weights: a weight of two is a point that is there twice."""

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NoveltyEstimator:
        """Learn what ordinary points look like.

        Parameters
        ----------
        X : ordinary points of shape (n, p).
        y : ignored.
        sample_weight : weights of shape (n,), not negative; None for ones.
        """
        check_parameters(self)
        coarse = rounding_of(X)
        X = validated(self, X, ensure_min_samples=2, accept_sparse=self._sparse_form())
        return self._fit(X, None if sample_weight is None else checked_weights(sample_weight, X), coarse)


def _outside(scores: Array, offset: float, shares: Array | None) -> tuple[int, float]:
    """How many training points ``predict`` calls novel, and their share of the weight."""
    out = scores - offset < 0
    return int(out.sum()), float(out.mean() if shares is None else shares[out].sum())


def _counted(X: Array, weights: Array) -> tuple[Array, Array]:
    """The points that weights count, which must count alike: ranks of held-out points know no weights."""
    counted = weights > 0
    X, weights = X[counted], weights[counted]
    if weights.max() > weights.min():
        raise InputError(
            f"sample_weight: weights from {weights.min():.6g} to {weights.max():.6g} were found with a false_alarm_rate, whose "
            "bound holds for points that count alike; repeat the points as often as they were seen, give weights of 0 and 1, or "
            "leave false_alarm_rate None"
        )
    return X, weights


# The exponent of a weight beyond which sums of weights and squared points may overflow, or lose digits.
LARGE_WEIGHT = 512


def checked_weights(sample_weight: Any, X: Array) -> Array:
    """Weights as an array, none of them negative and not all of them zero."""
    table = _table(sample_weight)
    refuse_dates(table, "sample_weight")
    if np.ma.is_masked(sample_weight) or _has_text(table):
        vector(
            sample_weight, "sample_weight"
        )  # which says so: scikit-learn reads through a mask, and numbers off words
    try:
        weights: Array = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        told = str(error).rstrip(".")
        raise InputError(f"sample_weight: {told}; give one finite number for each of the {X.shape[0]} rows") from error
    if not np.isfinite(weights).all():  # which scikit-learn may have been told to take for granted
        index = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise InputError(f"sample_weight: {weights[index]} was found at index {index}; give finite numbers")
    if (weights < 0).any():
        index = int(np.flatnonzero(weights < 0)[0])
        raise InputError(f"sample_weight: {weights[index]:.6g} was found at index {index}; weights are not negative")
    if not (weights > 0).any():
        raise InputError("sample_weight: every weight is zero; at least one point must count")
    # A power of two leaves every share as it is to the last bit, and sums of weights within the range of float64.
    exponent = int(np.frexp(weights.max())[1])
    return np.ldexp(weights, -exponent) if abs(exponent) > LARGE_WEIGHT else weights
