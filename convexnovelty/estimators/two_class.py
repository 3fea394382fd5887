"""The two-class minimax probability machine as a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from convexnovelty.distances import squared_norms
from convexnovelty.errors import ArgumentTypeError, InputError
from convexnovelty.estimators.base import (
    ZEROS,
    check_parameters,
    checked_weights,
    feature_map,
    is_pairwise,
    knows_no_points,
    named_kernel,
    names_of_fit,
    refuse_part_of_matrix,
    ridge_ball,
    validated,
    whole,
)
from convexnovelty.estimators.scores import LinearScore, RegionScore, Score
from convexnovelty.features import FeatureMap, LinearFeatures
from convexnovelty.kernels import Linear
from convexnovelty.methods import two_class_mpm
from convexnovelty.moments import Moments
from convexnovelty.regions import HalfSpace
from convexnovelty.sparse_rows import refuse_dense_covariance
from convexnovelty.validation import Array

__all__ = ["TwoClassMPM", "binary_classes"]


def binary_classes(estimator: Any, y: Any) -> tuple[Array, Any]:
    """The two classes and the index of each label; scikit-learn's words for anything else."""
    try:
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
    except (TypeError, ValueError) as error:  # fractions; labels without an order, such as None beside text
        refusal = ArgumentTypeError if isinstance(error, TypeError) else InputError
        raise refusal(f"y: {str(error).rstrip('.')}; give two whole numbers or two names as labels") from error
    if classes.size > 2:
        raise InputError(
            f"y: Only binary classification is supported. The type of the target is multiclass ({classes.size} classes)."
        )
    if classes.size < 2:
        raise InputError(
            f"y: {type(estimator).__name__} needs samples of two classes, but the data hold one class: {classes[0]}; give labels of both"
        )
    return classes, index


class TwoClassMPM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Two-class minimax probability machine: the least worst-case probability of misclassification.

    Parameters
    ----------
    uncertainty : a set of moments for both classes, or a pair of them, the first for ``classes_[0]`` and the second for
        ``classes_[1]``; None for a Frobenius ball whose radius is ``ridge`` times the points' mean squared length.
    ridge : see ``uncertainty``.
    tail : "chebyshev", or another tail or its name.
    kernel, gamma, degree, coef0, rank : as for :class:`~convexnovelty.estimators.OneClassSVM`; linear by default, and
        points may be sparse with that kernel alone.
    solver : "auto" for the scalar root where it is exact and Clarabel elsewhere, or the name of a CVXPY solver.

    Attributes
    ----------
    classes_ : the labels of both classes, in sorted order.
    guarantee_ : the bound on the probability of misclassification, as a sentence with ``bound``.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import TwoClassMPM
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((50, 2)), rng.standard_normal((50, 2)) + 4])
    >>> machine = TwoClassMPM().fit(X, np.repeat(["a", "b"], 50))
    >>> machine.predict([[0.0, 0.0], [4.0, 4.0]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        *,
        uncertainty: Any = None,
        ridge: float = 1e-6,
        tail: Any = "chebyshev",
        kernel: Any = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        rank: int | None = None,
        solver: str = "auto",
    ) -> None:
        self.uncertainty = uncertainty
        self.ridge = ridge
        self.tail = tail
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank = rank
        self.solver = solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = bool(self._sparse_form())
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TwoClassMPM:
        """Learn the half-space from points of shape (n, p), labels of two classes, and weights if points differ in weight.

        With the linear kernel points may be sparse, and stay so: only the covariances are dense. With that kernel ``X`` may
        also be the moments of both classes by their labels, as :func:`convexnovelty.streams.moments_by_class` reads them
        from data of any size; ``y`` is then left out.
        """
        check_parameters(self)
        if isinstance(X, Mapping) and not sp.issparse(X):  # a sparse dictionary of keys is a mapping too
            return self._fit_moments(X, y if sample_weight is None else sample_weight)
        X, y = validated(self, X, y, accept_sparse=self._sparse_form())
        weights = None if sample_weight is None else checked_weights(sample_weight, X)
        if weights is not None:
            if (weights == 0).any():
                refuse_part_of_matrix(self.kernel, ZEROS)
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]  # without weight it is no point
        self.classes_, index = binary_classes(self, y)
        features: FeatureMap | None = None
        if sp.issparse(X):
            refuse_dense_covariance(X)
            rows, lengths = X, squared_norms(X)
        else:
            kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
            features = feature_map(X, kernel, self.rank)
            rows, lengths = features.training, features.squared_norms()
        names = names_of_fit(self, features)
        first, second = (
            Moments.estimate(rows[index == k], None if weights is None else weights[index == k]).named(names)
            for k in (0, 1)
        )
        return self._solved((first, second), features, float(np.average(lengths, weights=weights)) ** 0.5 or 1.0)

    def _sparse_form(self) -> Any:
        return "csr" if self.kernel == "linear" and self.rank is None else False

    def _fit_moments(self, X: Mapping[Any, Moments], y: Any) -> TwoClassMPM:
        if y is not None:
            raise InputError("y: labels or weights were given beside moments, which have them already; leave y out")
        if len(X) != 2 or not all(isinstance(part, Moments) for part in X.values()):
            kinds = ", ".join(f"{label!r}: {type(part).__name__}" for label, part in X.items())
            raise InputError(
                f"X: a mapping of {kinds or 'nothing'} was found; give cn.Moments of two classes by their labels"
            )
        linear = self.kernel is None or self.kernel == "linear" or isinstance(self.kernel, Linear)
        if not linear or self.rank is not None:
            raise knows_no_points(self.kernel, self.rank)
        try:
            labels = sorted(X)
        except TypeError as error:
            raise InputError(f"X: labels {list(X)!r} were found, which have no order; give two of one kind") from error
        self.classes_ = np.array(labels)
        if self.classes_.shape != (2,) or not all(a == b for a, b in zip(self.classes_.tolist(), labels, strict=True)):
            # NumPy would make other labels of them: numbers of another kind, or rows of what tuples hold.
            raise InputError(
                f"X: labels {labels!r} were found, which no array holds as they are; give two strings or numbers"
            )
        first, second = (X[label] for label in labels)
        if first.dimension != second.dimension:
            raise InputError(f"X: dimensions {first.dimension} and {second.dimension} were found; give equal ones")
        self.n_features_in_ = second.dimension
        self.__dict__.pop("feature_names_in_", None)
        names = second.names or first.names
        first, second = (part.in_order(names, "X", "the other class") for part in (first, second))
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        counts = [part.count or 0.0 for part in (first, second)]
        weights = counts if all(counts) else [1.0, 1.0]
        squares = float(np.average([first.unit**2, second.unit**2], weights=weights))
        return self._solved((first, second), None, squares**0.5)

    def _solved(self, moments: tuple[Moments, Moments], features: FeatureMap | None, unit: float) -> TwoClassMPM:
        uncertainty = self.uncertainty
        if uncertainty is None:
            uncertainty = ridge_ball(self.ridge, unit**2)
        if self.solver == "auto" and two_class_mpm.has_scalar_root(*moments, uncertainty):
            solution = two_class_mpm.scalar_root(*moments, uncertainty, self.tail)
        else:
            problem = two_class_mpm.two_class_mpm(*moments, uncertainty, self.tail)
            solution = problem.solve(None if self.solver == "auto" else self.solver)
        # The second class is the positive one, as decision functions of scikit-learn have it.
        given: Any = solution.region
        region = HalfSpace(-given.normal, -given.offset, scale=given.scale)
        linear = features is None or isinstance(features, LinearFeatures)
        self.score_: Score = LinearScore(region.normal) if linear else RegionScore(features, region)
        self.offset_ = region.level
        self.guarantee_, self.certificate_, self.objective_ = solution.guarantee, solution.residuals, solution.objective
        return self

    def decision_function(self, X: Any) -> Array:
        """Positive for the second class, of shape (m,)."""
        check_is_fitted(self, "score_")
        values: Array = self.score_(validated(self, X, reset=False, accept_sparse=self._sparse_form())) - self.offset_
        return values

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        check_is_fitted(self, "score_")
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
