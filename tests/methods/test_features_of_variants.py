"""What is no features is refused by name, at the door of every factory of chapter 8."""

from __future__ import annotations

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.errors import InputError

X = np.ones((4, 2))

FACTORIES = {
    "one_class_svm": (0.5,),
    "soft_ball": (0.5,),
    "hard_margin": (1.0,),
    "negative_data": ([1, 1, -1, -1], 0.5),
    "separation_from_mean": (0.5, [True, False, False, False]),
    "uncertain_points": (0.5, None),
    "class_recognisers": ([0, 0, 1, 1], 0.5),
    "exact_outliers": (1,),
}


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("given", [X, X.tolist(), None, "X"], ids=["array", "list", "nothing", "text"])
def test_points_in_place_of_features(name, given):
    with pytest.raises(InputError, match=r"features: \w+ was found; give cn.LinearFeatures\(X\)"):
        getattr(cn, name)(given, *FACTORIES[name])
