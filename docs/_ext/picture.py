"""The picture of the README, drawn by the package: ``python docs/_ext/picture.py docs/_static/sets.svg`` writes it anew.

On the left one method under four sets, on the right what a set is: its members, and the one that is worst for a
direction.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import datasets, plots
from convexnovelty.uncertainty import Budget, FrobeniusBall, MeanEllipsoid, NormBall, NuclearBall


def draw(path: Path) -> None:
    """Write the picture."""
    plt.rcParams["svg.hashsalt"] = "convexnovelty"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
    data = datasets.banana(n=120)
    features = cn.KernelFeatures(data.nominal, cn.kernels.gaussian(gamma=0.4), rank=8)
    moments = cn.Moments.estimate(features.training)
    sets = {
        "moments known": None,
        "Frobenius ball": FrobeniusBall(0.002),
        "nuclear ball": NuclearBall(0.01),
        "mean and covariance": MeanEllipsoid(0.5) * FrobeniusBall(0.002),
    }
    found = {name: cn.single_class_mpm(moments, 0.75, uncertainty).solve() for name, uncertainty in sets.items()}
    plots.decision_regions(found, features, nominal=data.nominal, novel=data.novel[:40], ax=left)
    left.set_title("One method, four uncertainty sets", fontsize="medium")
    ball, budget = NormBall(2, 0.85), Budget(1.4, [1.0, 0.7])
    combined = {"A, a ball": ball, "B, a budget": budget, "A & B": ball & budget, "0.5 * A + B": 0.5 * ball + budget}
    plots.uncertainty_sets(combined, np.zeros(2), direction=[1.0, 0.6], ax=right)
    right.set_title("Sets are combined, and show their worst members", fontsize="medium")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
