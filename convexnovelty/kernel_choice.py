"""Linear or Gaussian: a choice by what each makes of ordinary rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.validation import Array

__all__ = ["chosen_kernel"]

COMPARED = 400  # rows on which kernels are compared
FEW = 20  # rows below which they are not
GOOD = 0.75  # the area below which a linear score says too little of the rows, whatever it explains
CLOSE = 0.01  # areas under the curve that count as equal


def chosen_kernel(
    kind: type[Any],
    name: str,
    options: dict[str, Any],
    asked: str,
    seed: int,
    rows: Array,
    say: Callable[[str], None],
    executor: Executor | None = None,
) -> tuple[str | None, str]:
    """The kernel and why it is taken; None for a method that takes none.

    Both kernels learn from two thirds of the rows. The one is taken that scores the last third higher than points spread
    at random over the box of the rows; where both do equally well the linear one is, since its score is a sum of columns.
    The two learn on the ``executor``, any of ``concurrent.futures`` or Dask's, or in this process: the choice is the same.
    """
    if "kernel" not in kind().get_params():
        if asked != "auto":
            raise InputError(f"--kernel: {name} does not take one; leave it out")
        return None, "the method learns or needs none"
    if asked not in ("auto", "linear", "gaussian"):
        raise InputError(f"--kernel: {asked!r} was found; give linear, gaussian or auto")
    if asked != "auto":
        return asked, "as asked for"
    if len(rows) < FEW:
        return "gaussian", f"of {len(rows)} rows none can be spared to compare kernels"
    say("comparing kernels")
    areas = _areas(kind, {k: v for k, v in options.items() if k != "false_alarm_rate"}, seed, rows, executor)
    numbers = ", ".join(f"{key} fails" if area < 0 else f"{key} {area:.3f}" for key, area in areas.items())
    where = (
        "an unseen ordinary row above a random point in the box of the training rows "
        f"(area under the ROC curve, 0.5 is chance: {numbers})"
    )
    if areas["linear"] >= max(areas["gaussian"] - CLOSE, GOOD):
        return "linear", f"it scores as often as the other {where}, and says what each column adds"
    if areas["linear"] >= areas["gaussian"]:
        return "gaussian", f"neither often scores {where}"
    return "gaussian", f"it scores more often {where}"


def _areas(
    kind: type[Any], options: dict[str, Any], seed: int, rows: Array, executor: Executor | None
) -> dict[str, float]:
    from convexnovelty.novelty_scores import box_around, uniform_points

    random = np.random.default_rng(seed)
    sample = rows[random.permutation(len(rows))[:COMPARED]]
    fitted, rest = sample[len(sample) // 3 :], sample[: len(sample) // 3]
    strange = uniform_points(box_around(fitted), COMPARED, random)
    kernels = ["linear", "gaussian"]
    # Lists of one length, since not every executor takes an endless iterator.
    constant = ([given] * len(kernels) for given in (kind, options, fitted, rest, strange))
    return dict(zip(kernels, (map if executor is None else executor.map)(_area, kernels, *constant), strict=True))


def _area(kernel: str, kind: type[Any], options: dict[str, Any], fitted: Array, rest: Array, strange: Array) -> float:
    """The area under the curve of one kernel, below zero where the method fails with it."""
    from convexnovelty.algorithms.roc import area_under_curve

    shift = 0.0 if kernel == "linear" else fitted.mean(axis=0)
    try:
        with warnings.catch_warnings():
            # The area judges the candidate. What there is to say of the one that is taken is said where that learns.
            warnings.simplefilter("ignore", UserWarning)
            detector = kind(**{**options, "kernel": kernel}).fit(fitted - shift)
        return area_under_curve(-detector.score_samples(rest - shift), -detector.score_samples(strange - shift))
    except ConvexNoveltyError:
        return -1.0
