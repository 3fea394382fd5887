"""The one-class SVM that learns its kernel, as an estimator."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

from convexnovelty import kernels
from convexnovelty.estimators.base import Learned, NoveltyEstimator, by_solver, region_tie
from convexnovelty.estimators.scores import RegionScore
from convexnovelty.features import KernelFeatures
from convexnovelty.kernel_family import KernelFamily
from convexnovelty.methods import kernel_learning
from convexnovelty.validation import Array, listed

__all__ = ["KernelLearningSVM"]


class KernelLearningSVM(NoveltyEstimator):
    r"""One-class support vector machine whose kernel is the best convex combination of given kernels.

    Parameters
    ----------
    outlier_fraction : the papers' nu, in (0, 1].
    kernels : kernel objects or functions; None for Gaussian kernels of a quarter, one and four times the width by scale.
        Columns whose means lie far apart widen all three, see ``gamma`` of :class:`~convexnovelty.estimators.OneClassSVM`.
        A kernel that holds a constant may win with it alone: every point is inside then, and a UserWarning says so.
    scale_penalty : the price of the largest score, the paper's C.
    covariance_weight : the paper's c, which brings in the metric of the covariance.
    solver : "auto" for a linear program in the weights over cutting planes, each from the inner dual by pair steps, which
        poses no program in the n by n features of every kernel; CVXPY and Clarabel where that method does not apply (mean
        values k(x, x) that differ by more than a factor of a million) or does not reach its tolerance. Or the name of a
        CVXPY solver. The block routine of :class:`~convexnovelty.estimators.OneClassSVM` has one equation; this dual has
        three groups of multipliers, two of them with equations, so it has pair steps of its own.
    false_alarm_rate, calibration_share, random_state : as for :class:`~convexnovelty.estimators.OneClassSVM`.

    Attributes
    ----------
    kernel_weights_ : the weights of the kernels, of sum one.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import KernelLearningSVM
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> detector = KernelLearningSVM(outlier_fraction=0.1).fit(X)
    >>> detector.predict([[0.5, 0.5], [9.0, 9.0]]), round(detector.kernel_weights_.sum(), 6)
    (array([ 1, -1]), np.float64(1.0))
    """

    def __init__(
        self,
        outlier_fraction: float = 0.1,
        *,
        kernels: Sequence[Any] | None = None,
        scale_penalty: float = 1.0,
        covariance_weight: float = 0.0,
        solver: str = "auto",
        false_alarm_rate: float | None = None,
        calibration_share: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.outlier_fraction = outlier_fraction
        self.kernels = kernels
        self.scale_penalty = scale_penalty
        self.covariance_weight = covariance_weight
        self.solver = solver
        self.false_alarm_rate = false_alarm_rate
        self.calibration_share = calibration_share
        self.random_state = random_state

    def _learn(self, X: Array, weights: Array | None) -> Learned:
        family = KernelFamily.of([KernelFeatures(X, kernel) for kernel in self._kernels(X)])
        given = (family, self.outlier_fraction, self.scale_penalty, self.covariance_weight)
        solution = kernel_learning.by_pair_steps(*given) if self.solver == "auto" else None
        if solution is None:
            with warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", re.escape(f"kernel_learning: {kernel_learning.CONSTANT}")
                )  # said below
                solution = by_solver(self, kernel_learning.kernel_learning(*given))
        self.kernel_weights_ = solution.values["mu"]
        region: Any = solution.region
        score = RegionScore(family, region)
        if kernel_learning.tells_nothing(family, region.normal):
            warnings.warn(f"KernelLearningSVM: {kernel_learning.CONSTANT}", UserWarning, stacklevel=5)
        return Learned(
            score,
            region.level,
            solution.guarantee,
            solution.residuals,
            solution.objective,
            tie=region_tie(region, family),
        )

    def _kernels(self, X: Array) -> list[Any]:
        if self.kernels is not None:
            return listed(self.kernels, "kernels", "a list of kernels, of their names or of functions")
        gamma = kernels.gaussian(gamma="scale").fitted(X).gamma
        return [kernels.gaussian(gamma=factor * float(gamma)) for factor in (0.25, 1.0, 4.0)]
