"""Why a row is novel: the columns that drive its score, and the ordinary rows nearest to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.estimators.scores import DistanceScore, LinearScore, RegionScore
from convexnovelty.features import LinearFeatures
from convexnovelty.kernels import Linear
from convexnovelty.regions import Ball, HalfSpace
from convexnovelty.validation import Array

if TYPE_CHECKING:
    from convexnovelty.detection import Model

__all__ = ["column_weights", "drivers", "legend"]

LEAST = 0.2  # of the largest share, what a column needs to be named beside it
CLEAR = 0.1  # of a difference, what rounding may take from it where it is shown


def column_weights(detector: Any) -> tuple[str, Array] | None:
    """The normal of a plane, or the centre of a ball, in the space of the columns; None for other scores.

    A ball in other coordinates of a linear kernel, as ``rank`` makes them, is none in the space of the columns.
    """
    score = getattr(detector, "score_", None)
    if isinstance(score, LinearScore):
        return "plane", np.asarray(score.normal)
    if isinstance(score, DistanceScore):
        return "ball", np.asarray(score.center)
    if not isinstance(score, RegionScore) or not isinstance(getattr(score.features, "kernel", None), Linear):
        return None
    plain = isinstance(score.features, LinearFeatures)
    if isinstance(score.region, Ball):
        return ("ball", np.asarray(score.region.center)) if plain else None
    if not isinstance(score.region, HalfSpace):
        return None
    normal = np.asarray(score.region.normal)
    if not plain:  # coordinates of a linear kernel are linear in the point
        normal = np.asarray(score.features.coordinates(np.eye(score.features.points.shape[1]))) @ normal
    return "plane", normal


def drivers(model: Model, row: Array, count: int = 3) -> tuple[str, str]:
    """Which columns make a row novel, and the ordinary training rows nearest to it where there are no weights.

    With a plane, columns are ordered by what they take from the score compared with the mean row, (x - mean) w; with a
    ball in the columns' own space by their share of the squared distance to its centre; otherwise by how far, in
    standard deviations, the row is from the nearest ordinary row of the training table.
    """
    weights, near, against = column_weights(model.detector), "", model.centre
    if weights is not None and weights[0] == "plane":
        share = -(row - model.centre) / model.units * weights[1]
    elif weights is not None:
        against = weights[1] * model.units + model.shift
        share = ((row - against) / model.units) ** 2
    elif len(model.ordinary):
        distances = np.linalg.norm((model.ordinary - row) / model.units, axis=1)
        nearest = np.argsort(distances, kind="stable")[:3]
        near = ", ".join(model.ordinary_labels[i] for i in nearest)
        against = model.ordinary[nearest[0]]
        share = np.abs(row - against) / model.units
    else:
        share = np.abs(row - model.centre) / model.units
    least = max(share.max() * LEAST, 0.0)
    chosen = [j for j in np.argsort(-share, kind="stable")[:count] if share[j] > least]
    reason = "; ".join(_driver(model, row, against, int(j)) for j in chosen)
    return reason or ("equal to an ordinary row" if near else "no column"), near


def legend(model: Model) -> str:
    """What stands in the brackets behind a column that drives a score."""
    weights = column_weights(model.detector)
    if weights is not None:
        what = "the mean of the training rows" if weights[0] == "plane" else "the centre of the ball"
    else:
        what = "the nearest ordinary row of training" if len(model.ordinary) else "the mean of the training rows"
    return f"ordinary: the value in {what}; sd: how far off, in standard deviations of the column"


def _driver(model: Model, row: Array, against: Array, j: int) -> str:
    if model.spread[j] > 0:
        count = (row[j] - against[j]) / model.spread[j]
        away = f"{count:+.1f} sd" if abs(count) < 1e5 else f"{count:+.0e} sd"
    else:
        away = "constant in training"
    value, ordinary = _told_apart(float(row[j]), float(against[j]))
    return f"{model.names[j]} {value} (ordinary {ordinary}, {away})"


def _told_apart(value: float, other: float) -> tuple[str, str]:
    """Two numbers with four digits, or with as many as show how far apart they are."""
    for digits in range(4, 18):
        shown = f"{value:.{digits}g}", f"{other:.{digits}g}"
        if abs(float(shown[0]) - float(shown[1]) - (value - other)) <= CLEAR * abs(value - other):
            break
    return shown
