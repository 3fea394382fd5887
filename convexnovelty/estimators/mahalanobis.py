"""The Mahalanobis one-class SVM as an estimator."""

from __future__ import annotations

from typing import Any

from convexnovelty.estimators.base import (
    Learned,
    NoveltyEstimator,
    by_solver,
    feature_map,
    named_kernel,
    names_of_fit,
    region_tie,
)
from convexnovelty.estimators.scores import LinearScore, RegionScore
from convexnovelty.features import LinearFeatures
from convexnovelty.methods import mahalanobis_svm
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.validation import Array, positive

__all__ = ["MahalanobisSVM"]


class MahalanobisSVM(NoveltyEstimator):
    r"""One-class support vector machine in the metric of the sample's worst covariance.

    Parameters
    ----------
    outlier_fraction : the largest share of the training sample outside, in (0, 1].
    uncertainty : a set of covariances; None for a Frobenius ball whose radius is ``ridge`` times the features' mean
        squared length.
    ridge : see ``uncertainty``.
    covariance_weight, ddof : the weight of the sample's scatter, 1/(n - ddof) by default.
    kernel, gamma, degree, coef0, rank : as for :class:`~convexnovelty.estimators.OneClassSVM`, with the same warning:
        means of columns that lie far apart widen a kernel with ``gamma="scale"``. Points are dense.
    solver : "auto" for the block dual routine of :class:`~convexnovelty.estimators.OneClassSVM`, on the Gram matrix in the
        metric, wherever one covariance of the set is worst in every direction (the default set, and Frobenius and spectral
        balls, exact covariances and Loewner intervals among others): the dual is then that of the one-class machine, and no
        program is posed. Other sets have no single metric, and go to CVXPY and Clarabel. Or the name of a CVXPY solver.
        Both ways store a matrix of n by n under a kernel.
    false_alarm_rate, calibration_share, random_state : as for :class:`~convexnovelty.estimators.OneClassSVM`.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import MahalanobisSVM
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> MahalanobisSVM(outlier_fraction=0.1).fit(X).predict([[0.5, 0.5], [9.0, 9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        outlier_fraction: float = 0.1,
        *,
        uncertainty: Any = None,
        ridge: float = 0.1,
        covariance_weight: float | None = None,
        ddof: int = 0,
        kernel: Any = "gaussian",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        rank: int | None = None,
        solver: str = "auto",
        false_alarm_rate: float | None = None,
        calibration_share: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.outlier_fraction = outlier_fraction
        self.uncertainty = uncertainty
        self.ridge = ridge
        self.covariance_weight = covariance_weight
        self.ddof = ddof
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank = rank
        self.solver = solver
        self.false_alarm_rate = false_alarm_rate
        self.calibration_share = calibration_share
        self.random_state = random_state

    def _learn(self, X: Array, weights: Array | None) -> Learned:
        kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        features = feature_map(X, kernel, self.rank, names_of_fit(self))
        uncertainty = self.uncertainty
        if uncertainty is None:
            uncertainty = FrobeniusBall(positive(self.ridge, "ridge", squared=True) * features.unit**2)
        given = (self.covariance_weight, self.ddof)
        if self.solver == "auto" and mahalanobis_svm.has_one_metric(features, uncertainty, *given):
            solution = mahalanobis_svm.block_dual(features, self.outlier_fraction, uncertainty, *given)
            objective = -solution.objective  # of the primal, as the program has it
        else:
            problem = mahalanobis_svm.mahalanobis_svm(features, self.outlier_fraction, uncertainty, *given)
            solution = by_solver(self, problem)
            objective = solution.objective
        region: Any = solution.region
        score = LinearScore(region.normal) if isinstance(features, LinearFeatures) else RegionScore(features, region)
        tie = region_tie(region, features)
        return Learned(score, region.level, solution.guarantee, solution.residuals, objective, tie=tie)
