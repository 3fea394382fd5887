"""One-class SVM and soft ball as estimators, on the block solver that never stores a Gram matrix."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.algorithms.box import unexplained_gap
from convexnovelty.algorithms.polish import carried_doubts
from convexnovelty.distances import squared_norms
from convexnovelty.errors import InputError
from convexnovelty.estimates import moved
from convexnovelty.estimators.base import (
    Learned,
    WeightedNoveltyEstimator,
    by_solver,
    feature_map,
    named_kernel,
    region_tie,
    takes_sparse,
)
from convexnovelty.estimators.scores import BallScore, DistanceScore, ExpansionScore, RegionScore, Score
from convexnovelty.features import FeatureMap
from convexnovelty.kernels import Linear, Precomputed
from convexnovelty.modelling import (
    NOTHING,
    boundary_tie,
    nothing_separated,
    outlier_share,
    quantile_interval,
    separates,
)
from convexnovelty.moments import Moments
from convexnovelty.regions import ROUNDING, SOLVED, Guarantee
from convexnovelty.validation import Array, number
from convexnovelty.whitening import far_mean

__all__ = ["OneClassSVM", "SoftBall"]

# Tight enough for the offset and the counts of the nu-property; the Newton steps at the end make it exact.
TOLERANCE, OF_SCORES = 1e-6, 1e-9
FEW = 100.0  # of what a solver leaves of scores, how many their range is worth when it has digits
# Times its own rounding that a score may be short of a boundary that it lies on, since equations are known no better.
CARRIED = 1e7
# Points of the boundary, and kernel values with them, up to which what their equations leave unknown is computed.
FACE, ENTRIES = 1000, 4_000_000
# Share of entries that are not zero above which sparse rows may all lie far from the origin, and dense ones cost little more.
FULL = 0.3


class _KernelMachine(WeightedNoveltyEstimator):
    def __init__(
        self,
        outlier_fraction: float = 0.1,
        *,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank = rank
        self.solver = solver
        self.false_alarm_rate = false_alarm_rate
        self.calibration_share = calibration_share
        self.random_state = random_state

    def _takes_sparse(self) -> bool:
        return takes_sparse(self.kernel) and self.rank is None and self.solver == "auto"

    def _upper(self, n: int, weights: Array | None) -> Any:
        nu = outlier_share(self.outlier_fraction, "outlier_fraction")
        return 1 / (nu * n) if weights is None else weights / (nu * weights.sum())

    def _counted(self, scores: Array, floor: float) -> Guarantee:
        nu, outside = number(self.outlier_fraction, "outlier_fraction"), int((scores < floor).sum())
        return Guarantee(
            f"{outside} of {scores.size} training points lie outside, at most the fraction {nu:.6g} of their weight",
            bound=nu,
        )

    def _boundary(
        self, X: Any, result: Any, weights: Array | None, scores: Array, level: float, rounding: Array
    ) -> float:
        """What scores on the boundary are not known to; ``rounding`` (n,) is what it leaves of each.

        Points that lie on it beside the free ones that tell where it is have scores that are known as well as these tell them.
        """
        a, upper = result.multipliers, self._upper(result.multipliers.size, weights)
        # The solver's own gap is that of scores which many steps have rounded, and these are evaluated anew.
        own = rounding + unexplained_gap(scores, a, upper, rounding)
        doubts = own.copy()
        free = np.flatnonzero((a > 0) & (a < upper))
        short = (scores < level - own) & (scores >= level - CARRIED * own)
        short[free] = False
        others = np.flatnonzero(short)
        if others.size and 0 < free.size <= FACE and free.size * others.size <= ENTRIES:
            gram, cross = result.kernel(X[free]), result.kernel(X[free], X[others])
            doubts[others] = carried_doubts(gram, cross, own[free], own[others])
        # A multiplier between its bounds says that its point lies on the boundary, however the scores are rounded.
        lacking = level - scores[free]
        known = lacking[(lacking <= CARRIED * own[free])]
        return max(boundary_tie(scores, level, doubts), float(known.max(initial=0.0)))

    def _solver(self) -> str | None:
        if self.solver == "auto":
            return None
        if not isinstance(self.solver, str):
            raise InputError(f"solver: {self.solver!r} was found; give 'auto' or the name of a CVXPY solver")
        return self.solver

    def _solved(self, features: FeatureMap, solution: Any, X: Array) -> Learned:
        """What a solver found, with a warning where its scores have hardly a digit."""
        score = RegionScore(features, solution.region)
        inside = score(X)
        nothing = solution.guarantee is not None and solution.guarantee.startswith(NOTHING)
        if not nothing and 0 < float(np.ptp(inside)) <= FEW * SOLVED * float(np.abs(inside).max()):
            told = (
                f"{type(self).__name__}: the scores of the training points are alike to nearly the solver's accuracy, and so "
                "points may be inside that are not; centre the columns, give a narrower kernel, or leave solver='auto'"
            )
            warnings.warn(told, UserWarning, stacklevel=6)
        return Learned(
            score,
            solution.region.level,
            solution.guarantee,
            solution.residuals,
            solution.objective,
            inside=inside,
            tie=region_tie(solution.region, features),
        )


class OneClassSVM(_KernelMachine):
    r"""One-class support vector machine: the half-space in feature space that leaves a fraction of the sample outside.

    Parameters
    ----------
    outlier_fraction : the largest share of the training sample outside (the papers' nu), in (0, 1].
    kernel : "gaussian" ("rbf"), "linear", "polynomial" ("poly"), "sigmoid", "laplacian", a kernel object or a function.
        With the first four, ``rank=None`` and ``solver="auto"``, points may be sparse, and stay so. With
        ``cn.kernels.precomputed()`` X is the matrix k(x_i, x_j), and k(z, x_i) of new points (``SoftBall`` refuses it).
    gamma, degree, coef0 : parameters of a kernel that is given by its name. ``gamma="scale"`` is one over the number of
        columns times the variance of all entries together, as in scikit-learn. Columns whose means lie far apart make that
        variance large and the kernel so wide that it tells nothing apart: centre the columns first, or give a number.
        Columns that do not vary are not counted; of the Laplacian kernel it is one over the number of all columns times
        the root of the mean of their variances, since that kernel divides by a distance.
    rank : use a low-rank approximation of the kernel; None for the kernel itself.
    solver : "auto" for the block solver, or the name of a CVXPY solver.
    false_alarm_rate : None for the method's own threshold; or a rate in (0, 1) that held-out points guarantee.
    calibration_share : the share of the sample that is held out for that.
    random_state : seed of the split.

    Attributes
    ----------
    offset_, guarantee_, certificate_, objective_, n_features_in_, feature_names_in_ : ``decision_function`` is
        ``score_samples - offset_``; ``guarantee_`` is a sentence with ``bound``.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> detector = OneClassSVM(outlier_fraction=0.1).fit(X)
    >>> detector.predict([[0.5, 0.5], [9.0, 9.0]])
    array([ 1, -1])
    """

    def _learn(self, X: Array, weights: Array | None) -> Learned:
        kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
        nu, name = outlier_share(self.outlier_fraction, "outlier_fraction"), self._solver()
        if name is not None or self.rank is not None or isinstance(kernel, Precomputed):
            from convexnovelty.methods import one_class_svm  # the block solver needs no program, and starts sooner

            features = feature_map(X, kernel, self.rank)
            solution = by_solver(self, one_class_svm.one_class_svm(features, nu, weights=weights))
            return self._solved(features, solution, X)
        result = solve_dual(X, kernel, upper=self._upper(X.shape[0], weights), tolerance=TOLERANCE, of_scores=OF_SCORES)
        score = ExpansionScore.of(X, result.multipliers, result.kernel)
        # Offset and counts are of the very scores that ``predict`` evaluates: those that the solver keeps round otherwise.
        inside, lengths = score(X), np.sqrt(result.kernel.diagonal(X))
        # The size of the terms that w is the sum of: far points that have no part in it say nothing of its digits.
        unit = float(result.multipliers @ lengths)
        nothing = nothing_separated(2 * result.objective, unit, nu)
        if nothing is not None and not separates(inside, lengths, unit, nu, _shares(weights)):
            flat = ExpansionScore.of(X, np.zeros(X.shape[0]), result.kernel)
            return Learned(flat, 0.0, nothing, objective=result.objective)
        offset = quantile_interval(inside, nu, _shares(weights)).used
        # What the score of a point is known to; long points of the plane's own are known less well than those that make it.
        known = np.maximum(ROUNDING * unit * lengths, result.violation) + score.doubts(X, inside)
        tie = max(ROUNDING * unit**2, self._boundary(X, result, weights, inside, offset, known))
        return Learned(
            score,
            offset,
            self._counted(inside, offset - tie),
            objective=result.objective,
            inside=inside,
            scale=tie / ROUNDING,
            tie=tie,
        )


class SoftBall(_KernelMachine):
    r"""Soft ball (support vector data description): the smallest ball in feature space that holds most of the sample.

    Parameters and attributes as for :class:`OneClassSVM`.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import SoftBall
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> SoftBall(outlier_fraction=0.1).fit(X).predict([[0.5, 0.5], [9.0, 9.0]])
    array([ 1, -1])
    """

    def _learn(self, X: Array, weights: Array | None) -> Learned:
        kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
        if isinstance(kernel, Precomputed):
            raise InputError(
                "kernel: a precomputed one was found, but a distance needs k(z, z) of new points, which the values k(z, x_i) do "
                "not tell; give a kernel with a formula, or take OneClassSVM, whose region is this one where k(z, z) is one number"
            )
        nu, name = outlier_share(self.outlier_fraction, "outlier_fraction"), self._solver()
        if name is not None or self.rank is not None:
            from convexnovelty.methods import soft_ball

            features = feature_map(X, kernel, self.rank)
            solution = by_solver(self, soft_ball.soft_ball(features, nu, weights=weights))
            return self._solved(features, solution, X)
        kernel = kernel.fitted(X)
        if isinstance(kernel, Linear):
            return self._of_points(X, nu, weights)
        squares = kernel.diagonal(X)
        result = solve_dual(
            X,
            kernel,
            upper=self._upper(X.shape[0], weights),
            linear=-squares / 2,
            tolerance=TOLERANCE,
            of_scores=OF_SCORES,
        )
        inner = ExpansionScore.of(X, result.multipliers, result.kernel)
        score = BallScore(inner, float(result.multipliers @ result.scores), result.kernel)
        lengths = np.sqrt(squares)
        inside = score(X)
        own = ROUNDING * (lengths + float(result.multipliers @ lengths)) ** 2 + score.doubts(X, inside)
        return self._ball(score, inside, X, own, result, nu, weights)

    def _ball(
        self, score: Score, inside: Array, points: Any, own: Array, result: Any, nu: float, weights: Array | None
    ) -> Learned:
        """The ball of a dual's solution over ``points``, whose scores are ``inside``; ``own`` is what rounding leaves unknown of each."""
        level = quantile_interval(inside, nu, _shares(weights)).used
        tie = self._boundary(points, result, weights, inside, level, np.maximum(own, 2 * result.violation))
        return Learned(
            score,
            level,
            self._counted(inside, level - tie),
            objective=2 * result.objective,
            inside=inside,
            scale=max(float(np.median(own)), tie) / ROUNDING,
            tie=tie,
        )

    def _of_points(self, X: Any, nu: float, weights: Array | None) -> Learned:
        """The ball of the points themselves, moved by their mean: far from the origin it would drown in their lengths."""
        X, mean = _near_origin(X)
        points = moved(X, mean) if sp.issparse(X) else X - mean
        squares = squared_norms(points)
        upper = self._upper(X.shape[0], weights)
        result = solve_dual(
            points, Linear(), upper=upper, linear=-squares / 2, tolerance=TOLERANCE, of_scores=OF_SCORES
        )
        score = DistanceScore(mean + points.T @ result.multipliers)
        lengths = np.sqrt(squares)
        # Where the centre is rounded, and where it is a sum of far points, its distances are rounded with it.
        unit = 2 * float(result.multipliers @ lengths) + float(np.linalg.norm(mean))
        inside = score(X)
        own = ROUNDING * (lengths + unit) * (np.sqrt(-inside) + ROUNDING * (lengths + unit))
        return self._ball(score, inside, points, own, result, nu, weights)


def _near_origin(X: Any) -> tuple[Any, Array]:
    """The points, dense unless they are sparse and mostly zero, and the mean that brings them near to the origin.

    Points that are mostly zero lie near to it but in columns that are far from zero, the only ones that have a mean here.
    """
    if sp.issparse(X) and X.nnz <= FULL * X.shape[0] * X.shape[1]:
        return sp.csr_array(X), far_mean(Moments.estimate(X, representation="diagonal"))
    dense = np.asarray(X.toarray() if sp.issparse(X) else X)
    return dense, dense.mean(axis=0)


def _shares(weights: Array | None) -> Array | None:
    return None if weights is None else weights / weights.sum()
