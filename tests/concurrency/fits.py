"""Fits of every estimator, for processes of their own: prints a digest of what each decides, as JSON."""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import Any

import numpy as np

from convexnovelty import estimators


def estimator(name: str) -> Any:
    """An unfitted estimator with its defaults."""
    return getattr(estimators, name)()


def fitted(name: str) -> Any:
    """The estimator fitted to a small sample, with labels where it takes them."""
    X, y = sample()
    if name in ("TwoClassMPM", "MomentClassifier"):
        return estimator(name).fit(X, y)
    if name == "SemiSupervisedDetector":
        return estimator(name).set_params(random_state=0).fit(X, np.where(y == 0, 0, -1))
    return estimator(name).fit(X)


def sample() -> tuple[np.ndarray, np.ndarray]:
    """Forty points of two classes."""
    rng = np.random.default_rng(8)
    y = np.arange(40) % 2
    return rng.standard_normal((40, 3)) + 3.0 * y[:, None] + 1.0, y


def decisions(name: str) -> bytes:
    """The bytes of the decision values of a fresh fit."""
    return np.asarray(fitted(name).decision_function(sample()[0])).tobytes()


def digest(name: str) -> str:
    """A digest of the decision values of a fresh fit."""
    return hashlib.sha256(decisions(name)).hexdigest()


def elsewhere(pickled: bytes) -> tuple[float, dict[str, str]]:
    """What a pickled formulation and pickled estimators give in another process."""
    problem, models = pickle.loads(pickled)
    points, _ = sample()
    values = {name: np.asarray(model.decision_function(points)).tobytes().hex() for name, model in models.items()}
    return problem.solve().objective, values


if __name__ == "__main__":
    print(json.dumps({name: digest(name) for name in estimators.__all__}))
