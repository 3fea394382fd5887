"""The classifier that knows the negative class by its moments alone, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from convexnovelty.columns import agree
from convexnovelty.errors import InputError
from convexnovelty.estimators.base import names_of_fit, validated, whole
from convexnovelty.estimators.scores import LinearScore
from convexnovelty.estimators.two_class import binary_classes
from convexnovelty.methods import moment_classifier
from convexnovelty.moments import Moments
from convexnovelty.streams import moments_of
from convexnovelty.streams.source import as_source
from convexnovelty.tails import as_tail
from convexnovelty.validation import Array, integer, nonnegative

__all__ = ["MomentClassifier"]

RIDGE = 1e-6  # the share that is added where nothing is said, and no factors leave a diagonal
LARGE = 2000  # columns up to which a set is placed around the full covariance of a sample whose variances alone were learnt from
FULL = 2.0  # gigabytes that a covariance of sparse points may take without being asked for


def _read(given: Any, names: Any, chosen: Mapping[str, Any]) -> Moments:
    """The moments of a source, whose columns are matched by name with those of the points where both have names."""
    try:
        source = as_source(given)
        known = source.names
        if names is not None and known is not None:
            agree(known, "source", list(names), "X")
            return moments_of(given, columns=list(names), **chosen)
        found = moments_of(source, **chosen)
        if names is not None and source.names is not None and source.names != list(names):
            # An iterator tells its names when it is read, which may be possible once.
            raise InputError(
                f"columns {', '.join(source.names)} were found where X has {', '.join(names)}; give blocks with the columns "
                "of X in their order"
            )
        return found
    except InputError as error:
        raise InputError(f"negative_moments: {error}") from error


def _beyond(mean: float, deviation: float, level: float) -> float:
    """The deviations of the negatives' scores, in their full variance, by which the level exceeds their mean."""
    margin = level - mean
    return margin / deviation if deviation > 0 else np.inf if margin > 0 else 0.0


class MomentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""The half-space of the positive points that is least likely to accept a negative, whatever its distribution.

    The negatives enter only through their mean and covariance, which can be given (``negative_moments``) and shared
    over many classes. Dense or sparse points; sparse ones are never expanded.

    Parameters
    ----------
    slack_penalty : the price of the positives' slacks (the paper's 1/(nu n)); None for a hard margin.
    uncertainty, tail : a set around the negative moments and a tail; exact moments and Chebyshev by default.
    negative_moments : ``cn.Moments`` of the negatives, or a source of negative rows that is read in blocks (see
        :mod:`convexnovelty.streams`), used instead of the negative rows; None to estimate them. Columns with names are
        matched by them with those of X.
    factors : None for the full covariance; k for the factor model with k factors and a diagonal; 0 for the variances
        alone, which of sparse points by rows are read in one pass. Moments that were given are cut down likewise.
    ridge : variance added in every direction, as a share of the negatives' mean square ``unit**2`` (the squared length of
        their mean and all variances together). None for 1e-6, and for none where ``factors`` is one or more: that model has
        a diagonal of its own. Directions without any variance tell positives for certain then, as they do with 0.
    solver : "auto" for coordinate descent where it is exact and Clarabel elsewhere, or the name of a CVXPY solver.

    Attributes
    ----------
    guarantee_ : a bound on the probability of accepting a negative, as a sentence with ``bound``. With ``factors=0``
        the region is that of uncorrelated columns; the bound is computed from the full variance of the negatives' scores
        where negative rows were given or moments with a covariance, and with ``uncertainty`` from the set around that
        covariance. It says that it assumes uncorrelated columns where a source was read for its variances alone, and with
        ``uncertainty`` beyond 2,000 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import MomentClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((200, 2)), rng.standard_normal((10, 2)) + 6])
    >>> machine = MomentClassifier(slack_penalty=0.1).fit(X, np.repeat([0, 1], [200, 10]))
    >>> machine.predict([[0.0, 0.0], [6.0, 6.0]])
    array([0, 1])
    """

    def __init__(
        self,
        *,
        slack_penalty: float | None = 0.1,
        uncertainty: Any = None,
        tail: Any = None,
        negative_moments: Any = None,
        factors: int | None = None,
        ridge: float | None = None,
        solver: str = "auto",
    ) -> None:
        self.slack_penalty = slack_penalty
        self.uncertainty = uncertainty
        self.tail = tail
        self.negative_moments = negative_moments
        self.factors = factors
        self.ridge = ridge
        self.solver = solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    @whole
    def fit(self, X: Any, y: Any = None, negative_moments: Any = None) -> MomentClassifier:
        """Learn from points of shape (n, p) and labels of two classes; the second class is the positive one.

        ``negative_moments`` here comes before that of the constructor: many classes share one object, which costs
        nothing to hand over. With moments given ``y`` may be left out: all points are positive then, and the classes
        are 0 and 1.
        """
        moments: Any = self.negative_moments if negative_moments is None else negative_moments
        given = moments
        if y is None and moments is not None:
            X = validated(self, X, accept_sparse="csr")
            self.classes_, index = np.array([0, 1]), np.ones(X.shape[0], dtype=int)
        else:
            X, y = validated(self, X, y, accept_sparse="csr")
            self.classes_, index = binary_classes(self, y)
        if isinstance(moments, Moments):
            given = moments.in_order(getattr(self, "feature_names_in_", None), "negative_moments", "X")
            moments = self._cut(given)
        else:
            chosen = self._representation(X)
            if moments is not None:
                moments = _read(moments, getattr(self, "feature_names_in_", None), chosen)
            elif sp.issparse(X) and self.factors == 0:
                # Weights choose the rows: a copy of all negatives would take longer than reading them.
                moments = Moments.estimate(X, (index == 0).astype(float), **chosen).named(names_of_fit(self))
            else:
                moments = Moments.estimate(X[index == 0], **chosen).named(names_of_fit(self))
        if moments.dimension != X.shape[1]:
            raise InputError(
                f"negative_moments: dimension {moments.dimension} was found where X has {X.shape[1]} columns; give both the same"
            )
        # Rows of the fit, or the moments before they were cut, show how the scores of negatives vary in full.
        left_out = moments.forced_diagonal and (self.uncertainty is None or moments.dimension <= LARGE)
        seen = X[index == 0] if left_out and (index == 0).any() and given is None else None
        whole_moments: Moments | None = (
            given if left_out and isinstance(given, Moments) and not given.forced_diagonal else None
        )
        moments = self._ridged(moments)
        positives = X if index.all() else X[index == 1]
        solution = None
        if self.solver == "auto" and self.uncertainty is None and self.slack_penalty is not None:
            # The region does not depend on the tail, but the bound does.
            solution = moment_classifier.sequential(positives, moments, self.slack_penalty, tail=self.tail)
        if solution is None:
            problem = moment_classifier.moment_classifier(
                positives, moments, self.slack_penalty, self.uncertainty, self.tail
            )
            solution = problem.solve(None if self.solver == "auto" else self.solver)
        region: Any = solution.region
        # Support vectors lie on the boundary and belong to the region, for ``predict`` as for the sentence.
        self.score_, self.offset_ = LinearScore(region.normal), region.level - region.tie
        self.guarantee_, self.certificate_, self.objective_ = solution.guarantee, solution.residuals, solution.objective
        if seen is not None or whole_moments is not None:
            self.guarantee_ = self._in_full(seen, whole_moments, positives)
        return self

    def _in_full(self, seen: Any, moments: Moments | None, positives: Any) -> Any:
        """The bound from all that is known of the negatives: their rows, or moments as they were given."""
        w, tail = np.asarray(self.score_.normal), as_tail(self.tail)
        lost = int((self._scores(positives) <= self.offset_).sum()), positives.shape[0]
        if self.uncertainty is not None:
            known = Moments.estimate(seen).named(names_of_fit(self)) if moments is None else moments
            return moment_classifier.guarantee_around(known, self.uncertainty, tail, w, self.offset_, *lost)
        if moments is None:
            scores = self._scores(seen)
            mean, deviation = float(scores.mean()), float(scores.std())
        else:
            mean, deviation = float(moments.mean @ w), max(float(w @ moments.multiply(w)), 0.0) ** 0.5
        return moment_classifier.bounded(_beyond(mean, deviation, self.offset_), tail, tail.sentence, *lost)

    def _representation(self, X: Any) -> dict[str, Any]:
        if self.factors is None:
            gigabytes = 8e-9 * X.shape[1] ** 2
            if sp.issparse(X) and gigabytes > FULL:
                raise InputError(
                    f"X: {X.shape[1]} columns were found, whose full covariance takes {gigabytes:.0f} GB; "
                    "give factors=0 for variances alone, or a number of factors"
                )
            return {}
        if integer(self.factors, "factors", 0) == 0:
            return {"representation": "diagonal"}
        return {"representation": "low_rank", "rank": self.factors}

    def _cut(self, moments: Moments) -> Moments:
        """Moments that were given, in the representation that ``factors`` asks for."""
        if self.factors is None:
            return moments
        if integer(self.factors, "factors", 0) == 0:
            if moments.representation == "diagonal":
                return moments
            cut = Moments.diagonal(moments.mean, moments.variances, moments.count, moments.ddof)
            cut.own_axes, cut.forced_diagonal = moments.own_axes, moments.dimension > 1
            return cut.named(moments.names)
        if moments.representation == "low_rank" and moments.loadings.shape[0] <= self.factors:
            return moments  # many classes share one object, which costs nothing
        return moments.truncated(self.factors)

    def _ridged(self, moments: Moments) -> Moments:
        ridge = self.ridge
        if ridge is None:
            ridge = 0.0 if self.factors and moments.representation == "low_rank" else RIDGE
        added = nonnegative(ridge, "ridge", squared=True) * moments.unit**2
        return moments.ridged(added) if added else moments

    def _scores(self, X: Any) -> Array:
        values: Array = self.score_(sp.csr_array(X) if sp.issparse(X) else X)
        return values

    def decision_function(self, X: Any) -> Array:
        """Positive for the second class, of shape (m,)."""
        check_is_fitted(self, "score_")
        rows = validated(self, X, accept_sparse="csr", reset=False)
        values: Array = self._scores(rows) - self.offset_
        return values

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        check_is_fitted(self, "score_")
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
