"""Novelty detection with unlabelled data, as an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from convexnovelty.columns import by_name
from convexnovelty.errors import InputError
from convexnovelty.estimators.base import validated, whole
from convexnovelty.methods import semi_supervised
from convexnovelty.novelty_scores import LowDensity, as_novelty_score, split
from convexnovelty.validation import Array, generator

__all__ = ["SemiSupervisedDetector"]


class SemiSupervisedDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    r"""A detector that learns from ordinary points and, where they are given, from unlabelled ones.

    Parameters
    ----------
    false_positive_rate : the share of ordinary points that may be called novel, in (0, 1).
    confidence : None for a rate that holds for the next ordinary point; or the confidence with which it shall hold for
        the threshold that was found.
    novelty_score : "density_ratio", "low_density", a score object, or any classifier of scikit-learn.
    uniform_share : the hybrid's share of uniform points; of no effect on a score that learns from ordinary points alone
        ("low_density", and ``fit`` without unlabelled points).
    held_out : the share of ordinary points that only set the threshold.
    random_state : seed of the splits.

    Examples
    --------
    >>> import numpy as np
    >>> from convexnovelty.estimators import SemiSupervisedDetector
    >>> rng = np.random.default_rng(0)
    >>> nominal, unlabelled = rng.standard_normal((200, 1)), np.append(rng.standard_normal(150), rng.normal(5, 1, 50))
    >>> detector = SemiSupervisedDetector(0.05, random_state=0).fit(nominal, unlabelled=unlabelled[:, None])
    >>> detector.predict([[0.0], [5.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        false_positive_rate: float = 0.2,
        *,
        confidence: float | None = None,
        novelty_score: Any = None,
        uniform_share: float = 0.0,
        held_out: float = 0.5,
        random_state: Any = 0,
    ) -> None:
        self.false_positive_rate = false_positive_rate
        self.confidence = confidence
        self.novelty_score = novelty_score
        self.uniform_share = uniform_share
        self.held_out = held_out
        self.random_state = random_state

    @whole
    def fit(self, X: Any, y: Any = None, *, unlabelled: Any = None) -> SemiSupervisedDetector:
        """Learn from ordinary points X of shape (n, p) and unlabelled points of shape (m, p), if any.

        The columns of two frames are matched by name.

        Without unlabelled points the detector is the inductive one: what is rare is novel.
        """
        X = validated(self, X, ensure_min_samples=2)
        score = self.novelty_score
        learner = as_novelty_score(score, "novelty_score")
        if unlabelled is None:
            if score is not None and not isinstance(learner, LowDensity):
                raise InputError(
                    f"unlabelled: None was found, but novelty_score {score!r} learns from unlabelled points; give them to fit"
                )
            score, unlabelled = "low_density", X
        unlabelled = by_name(unlabelled, "unlabelled", getattr(self, "feature_names_in_", None), "X")
        detector = semi_supervised.semi_supervised(
            X,
            unlabelled,
            self.false_positive_rate,
            score=score,
            confidence=self.confidence,
            uniform_share=self.uniform_share,
            held_out=self.held_out,
            random_state=self.random_state,
        )
        self.region_ = detector.region
        self.offset_ = detector.region.level
        self.guarantee_, self.certificate_ = detector.guarantee, None
        return self

    def _held_out(self, n: int) -> Any:
        """Which of n points set the threshold: the split that :meth:`fit` draws first from the seed, of shape (n,)."""
        found = np.zeros(n, dtype=bool)
        found[split(np.arange(n, dtype=float), self.held_out, generator(self.random_state))[1].astype(int)] = True
        return found

    def decision_function(self, X: Any) -> Array:
        """At least zero for ordinary points, negative for novel ones."""
        check_is_fitted(self, "region_")
        rows = validated(self, X, reset=False)
        return np.asarray(self.region_.decision_values(rows))

    def score_samples(self, X: Any) -> Array:
        """Scores of shape (m,), larger for more ordinary points."""
        check_is_fitted(self, "region_")
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """+1 for ordinary points, -1 for novel ones."""
        check_is_fitted(self, "region_")
        return np.where(self.decision_function(X) >= 0, 1, -1)
