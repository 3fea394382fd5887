"""The single-class minimax probability machine as an estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from convexnovelty.algorithms.kernel_ridge import DENSE, SAFE, RidgeCertificate, low_rank_error
from convexnovelty.errors import InputError, SolverError
from convexnovelty.estimators.base import (
    Learned,
    WeightedNoveltyEstimator,
    by_solver,
    check_parameters,
    feature_map,
    knows_no_points,
    named_kernel,
    names_of_fit,
    ridge_ball,
    whole,
)
from convexnovelty.estimators.scores import ExpansionScore, LinearScore, RegionScore
from convexnovelty.features import FeatureMap, LinearFeatures
from convexnovelty.kernels import Kernel, Linear, Precomputed
from convexnovelty.methods import single_class_mpm
from convexnovelty.moments import Moments
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE
from convexnovelty.sparse_rows import is_sparse, refuse_dense_covariance
from convexnovelty.streams import as_source, features_of, is_stream, moments_of
from convexnovelty.streams.results import moments_and_sample
from convexnovelty.uncertainty import UncertaintySet, as_moment_set
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.validation import Array

__all__ = ["SingleClassMPM"]

# A ridge below this share of k(x, x) is lost to rounding in the Gram matrix; coordinates keep it.
LEAST_RIDGE = 1e-9
# A worst deviation of the scores below this share of their size is rounding: it is zero or 1e-12 where a direction without
# variance is left, 1e-7 with a ridge of 1e-14, and 1e-9 for points that lie 1e9 deviations away from the origin.
CONSTANT = 1e-10
# A variance below this share of the mean squared length is what rounding leaves of equal points.
EQUAL = 1e-28
# Points up to which a Gram matrix may be stored and factorised where iterations do not converge.
STORED = 5000
# Rows of a source, or more with a large rank, in which the error of that rank is estimated.
JUDGED = 2000


class SingleClassMPM(WeightedNoveltyEstimator):
    r"""Single-class minimax probability machine: a half-space that holds a share of every distribution with the moments.

    Parameters
    ----------
    confidence : the share of every distribution that the region must hold, in [0, 1). The bound holds for all
        distributions with the moments, so that the share outside is usually far below 1 - confidence.
    uncertainty : a set of means, covariances or both, from :mod:`convexnovelty.uncertainty`; None for a Frobenius ball
        round the covariance whose radius is ``ridge`` times the mean squared length of the points.
    ridge : see ``uncertainty``; not used where a set is given. With a kernel n points leave a direction in which none of
        them varies, so that zero, or a set that adds no variance, is refused unless ``rank`` cuts that direction off.
    tail : "chebyshev" (nothing is known of the distribution), or another tail or its name.
    kernel, gamma, degree, coef0 : as for :class:`~convexnovelty.estimators.OneClassSVM`, with the same warning:
        means of columns that lie far apart widen a kernel with ``gamma="scale"``. Points may be sparse with a linear kernel alone.
    rank : None for the kernel itself; k for its leading k directions. With ``solver="auto"`` and a ridge the error of
        the scores is then estimated, and refused above a tenth of their spread (a small ridge, a narrow kernel); of a
        source it is that in some thousand rows, drawn anew.
    solver : "auto" for the closed form where there is one and Clarabel elsewhere, or the name of a CVXPY solver. With a
        kernel and a ridge no Gram matrix is stored, so that tens of thousands of points can be fitted.
    false_alarm_rate, calibration_share, random_state : as for :class:`~convexnovelty.estimators.OneClassSVM`.

    Attributes
    ----------
    certificate_ : with ``solver="auto"`` and a kernel a :class:`~convexnovelty.algorithms.kernel_ridge.RidgeCertificate`
        that bounds the error of the scores; with a CVXPY solver the residuals of its point; None for a closed form: the
        linear and a precomputed kernel, a ridge below 1e-9 of k(x, x), and sets with a closed form that are no ridge.

    Raises
    ------
    InputError : on fitting, for a ``rank`` at which the scores are too far from those of the kernel; and where all points
        have the same score (see ``ridge``), unless ``false_alarm_rate`` is given.

    InfeasibleError : on fitting, when no half-space holds that share; its ``limit`` is the largest that can be asked.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import SingleClassMPM
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> detector = SingleClassMPM(confidence=0.8).fit(X)
    >>> detector.predict([[0.5, 0.5], [9.0, 9.0]]), round(detector.guarantee_.bound, 6)
    (array([ 1, -1]), 0.2)
    """

    def __init__(
        self,
        confidence: float = 0.5,
        *,
        uncertainty: Any = None,
        ridge: float = 0.03,
        tail: Any = "chebyshev",
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
        self.confidence = confidence
        self.uncertainty = uncertainty
        self.ridge = ridge
        self.tail = tail
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank = rank
        self.solver = solver
        self.false_alarm_rate = false_alarm_rate
        self.calibration_share = calibration_share
        self.random_state = random_state

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SingleClassMPM:
        """Learn what ordinary points look like from points, or from what is known of them.

        Parameters
        ----------
        X : points of shape (n, p), which may be sparse for the linear kernel; or a source that is read in blocks, see
            :mod:`convexnovelty.streams`; or, with the linear kernel, ``cn.Moments``. Other kernels need ``rank`` to learn
            from a source, and read it twice.
        y : ignored.
        sample_weight : weights of shape (n,), not negative; None for ones. A source may carry its own.
        """
        if isinstance(X, Moments) or is_stream(X):
            if sample_weight is not None:
                raise InputError(
                    "sample_weight: it was given beside a source; give blocks that are pairs of points and weights"
                )
            return self._fit_source(X)
        super().fit(X, y, sample_weight)
        return self

    def _fit_source(self, X: Any) -> SingleClassMPM:
        check_parameters(self)
        if self.false_alarm_rate is not None:
            raise InputError(
                f"false_alarm_rate: {self.false_alarm_rate!r} was found, but no rows of a source are held out; leave it None, "
                "and take the threshold from scores of rows that took no part"
            )
        kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        features: FeatureMap | None = None
        source = None if isinstance(X, Moments) else as_source(X)
        if isinstance(kernel, Linear) and self.rank is None:
            moments = X if source is None else moments_of(source)
        elif source is None:
            raise knows_no_points(self.kernel, self.rank)
        elif self.rank is None:
            raise InputError(
                f"rank: None was found with the kernel {self.kernel!r}; give a number to read a source in blocks"
            )
        else:
            features = features_of(source, kernel, self.rank)
            moments, drawn, weights = moments_and_sample(source, features, max(20 * self.rank, JUDGED), 1)
        learned = self._solved(moments, features)
        if features is not None:
            # What the rank costs is estimated in rows that were drawn: no pass compares all rows with all.
            found = (drawn, np.asarray(features.coordinates(drawn)), weights)
            certificate = self._judged(features.kernel, moments, *found, streamed=True)
            learned = learned if certificate is None else replace(learned, certificate=certificate)
        names = moments.names if source is None else source.names
        self.n_features_in_ = moments.dimension if features is None else features.points.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.score_ = learned.score
        self.certificate_, self.objective_ = learned.certificate, learned.objective
        self._set_level(learned, np.zeros(0), None)
        return self

    def _takes_sparse(self) -> bool:
        linear = isinstance(self.kernel, Linear) or self.kernel == "linear"
        return linear and self.rank is None

    def _learn(self, X: Array, weights: Array | None) -> Learned:
        if is_sparse(X):
            refuse_dense_covariance(X)
            return self._solved(Moments.estimate(X, weights=weights).named(names_of_fit(self)), None)
        kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights).fitted(X)
        if self.rank is None and (ball := self._ridge(X, kernel, weights)) is not None:
            return self._expanded(X, kernel, ball, weights)
        features = feature_map(X, kernel, self.rank)
        moments = Moments.estimate(features.training, weights=weights).named(names_of_fit(self, features))
        learned = self._solved(moments, features)
        certificate = self._judged(kernel, moments, features.points, np.asarray(features.training), weights)
        return learned if certificate is None else replace(learned, certificate=certificate)

    def _ball(self, unit: float) -> FrobeniusBall:
        return ridge_ball(self.ridge, unit)

    def _ridge(self, X: Array, kernel: Kernel, weights: Array | None) -> UncertaintySet | None:
        """The set, if the machine is a ridge system whose ridge survives rounding."""
        if self.solver != "auto" or isinstance(kernel, (Linear, Precomputed)):
            return None
        diagonal = kernel.diagonal(X)
        given: UncertaintySet | None = self.uncertainty
        uncertainty = self._ball(float(np.average(diagonal, weights=weights))) if given is None else given
        found = single_class_mpm.constant_ridge(uncertainty)
        return uncertainty if found is not None and found[1] > LEAST_RIDGE * float(diagonal.max()) else None

    def _expanded(self, X: Array, kernel: Kernel, uncertainty: UncertaintySet, weights: Array | None) -> Learned:
        def expansion(**options: Any) -> single_class_mpm.Expansion:
            return single_class_mpm.expansion(
                X, kernel, self.confidence, uncertainty, self.tail, weights=weights, **options
            )

        try:
            found = expansion(threads=_threads())
        except SolverError:
            if not DENSE < len(X) <= STORED:
                raise
            found = expansion(direct=STORED)
        score = ExpansionScore.of(X, found.coefficients, found.ridge.kernel)
        # No point lies on the boundary by construction: ties are a share of what tells the scores apart, beside their rounding.
        middle = np.average(found.scores, weights=weights)
        deviation = float(np.average((found.scores - middle) ** 2, weights=weights)) ** 0.5
        lengths = np.sqrt(found.ridge.kernel.diagonal(X))
        terms = float(np.abs(found.coefficients) @ lengths) * float(np.average(lengths, weights=weights))
        tie = TIE_TOLERANCE * deviation + ROUNDING * (terms + 1.0)
        certificate = found.ridge.certificate
        return Learned(score, 1.0, found.guarantee, certificate, found.objective, found.scores, tie=tie)

    def _judged(
        self,
        kernel: Kernel,
        moments: Moments,
        rows: Array,
        coordinates: Array,
        weights: Array | None,
        *,
        streamed: bool = False,
    ) -> RidgeCertificate | None:
        """What the rank costs, refused where that is too much; None where nothing was cut or nothing can be said."""
        if self.rank is None or self.solver != "auto":
            return None
        found = single_class_mpm.constant_ridge(
            self._ball(moments.unit**2) if self.uncertainty is None else self.uncertainty
        )
        if found is None or not found[1]:
            return None
        error = low_rank_error(rows, kernel, coordinates, found[1], weights=weights)
        if error > SAFE:
            exact = "" if streamed else ", or rank=None, which is exact"
            raise InputError(
                f"rank: {self.rank} was found, at which the scores are about {error:.2g} of their spread away from those "
                f"of the kernel, more than {SAFE:g}; give a larger rank or ridge, or a wider kernel{exact}"
            )
        return RidgeCertificate(error, 0, coordinates.shape[1])

    def _solved(self, moments: Moments, features: FeatureMap | None) -> Learned:
        uncertainty = self.uncertainty
        if uncertainty is None:
            uncertainty = self._ball(moments.unit**2)
        if not isinstance(self.solver, str):
            raise InputError(f"solver: {self.solver!r} was found; give 'auto' or the name of a CVXPY solver")
        closed = as_moment_set(uncertainty).centred(moments).ellipsoidal(1.0) is not None
        if self.solver == "auto" and closed:
            solution = single_class_mpm.closed_form(moments, self.confidence, uncertainty, self.tail)
        else:
            problem = single_class_mpm.single_class_mpm(moments, self.confidence, uncertainty, self.tail)
            solution = by_solver(self, problem)
        region: Any = solution.region
        if self.false_alarm_rate is None:
            # The threshold of held-out points is theirs, whatever the scores of the others are.
            self._refuse_constant(moments, region.normal, solution.objective)
        linear = features is None or isinstance(features, LinearFeatures)
        score = LinearScore(region.normal) if linear else RegionScore(features, region)
        # What tells the scores apart is known from the moments, whether or not anybody has seen all rows.
        typical = np.sqrt(moments.variances + moments.mean**2)
        tie = region.tie + float(region.rounding(typical[None, :])[0])
        return Learned(score, region.level, solution.guarantee, solution.residuals, solution.objective, tie=tie)

    def _refuse_constant(self, moments: Moments, normal: Array, deviation: float) -> None:
        """Refuse a score that is one number at all points: they lie on the boundary, and rounding picks a side for each."""
        squares = moments.variances + moments.mean**2
        varied = bool((moments.variances > EQUAL * squares).any())
        if varied and deviation <= CONSTANT * float(np.linalg.norm(np.asarray(normal) * np.sqrt(squares))):
            given = f"ridge: {self.ridge!r}" if self.uncertainty is None else f"uncertainty: {self.uncertainty!r}"
            raise InputError(
                f"{given} was found, which adds no variance, and the points leave a direction of this kernel in which none "
                "of them varies (n points leave one in n dimensions), so that every point lies on the boundary and rounding "
                "picks its side; give ridge > 0 and no set, a smaller rank, or a set that adds variance (FrobeniusBall)"
            )


def _threads() -> int:
    """The threads that numba was granted, which process pools lower to leave each process its share."""
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)
