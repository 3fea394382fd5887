"""Figure 8.9 of Schölkopf and Smola (2001): the twenty worst outliers of the USPS test set.

As printed: the test set with ten more columns for the class labels, nu = 5 %, c = 0.5 * 256; images are ranked by the
argument of the decision function. The figure is a picture; what it shows is "difficult" images, atypical or mislabelled.

Chosen here, to have a number where the figure has an eye: how often a machine that never saw the test set, the
five nearest neighbours in the training set, disagrees with the label; among the twenty worst, and among all. It counts
what looks mislabelled and not what is atypical, so that "most are difficult" is asked of it more strictly than the figure
says it. Label columns are +1 and -1. Nothing is random. A quick run takes every fourth image of each set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables, Values
from convexnovelty.reproductions._result import Key
from convexnovelty.reproductions._usps import PIXELS, SMOOTHED, images, trained, with_labels

__all__ = ["REPRODUCTION"]

KINDS = (PIXELS, SMOOTHED)
WORST = 20
AMONG, ALL, LEAST, LAST = (
    "label disputed, worst twenty",
    "label disputed, all",
    "output of the worst, in 1e-5",
    "output of the twentieth, in 1e-5",
)


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """Rank one version of the images, and ask the training set of the labels."""
    from sklearn.neighbors import KNeighborsClassifier

    table = tables["usps"]
    X, step = images(table, piece), 4 if quick else 1
    train, test = slice(0, table.training, step), slice(table.training, None, step)
    machine = trained(with_labels(X[test], table.y[test]), 0.05)
    output = machine.dual.scores - machine.offset
    worst = np.argsort(output, kind="stable")[:WORST]
    disputed = KNeighborsClassifier(5).fit(X[train], table.y[train]).predict(X[test]) != table.y[test]
    return {
        (piece, AMONG): float(disputed[worst].mean()),
        (piece, ALL): float(disputed.mean()),
        (piece, LEAST): float(1e5 * output[worst[0]]),
        (piece, LAST): float(1e5 * output[worst[-1]]),
    }


def _more_than_half(kind: str) -> Callable[[Values], float]:
    return lambda v: v[kind, AMONG] - 0.5


def _more_than_all(kind: str) -> Callable[[Values], float]:
    return lambda v: v[kind, AMONG] - v[kind, ALL]


REPRODUCTION = Reproduction(
    name="chapter-8-figure-8.9",
    title="the twenty worst outliers of the USPS test set",
    source="Schölkopf and Smola (2001), figure 8.9",
    printed=tuple(Printed(kind, column) for kind in KINDS for column in (AMONG, ALL, LEAST, LAST)),
    claims=(
        *(Claim(f"most of the twenty are difficult: {kind}", _more_than_half(kind)) for kind in KINDS),
        *(Claim(f"they are more often difficult than images at large: {kind}", _more_than_all(kind)) for kind in KINDS),
    ),
    pieces=KINDS,
    repetition=repetition,
    needs=lambda piece: ("usps",),
    repetitions=1,
    quick=1,
    unit="",
    random=False,
)
