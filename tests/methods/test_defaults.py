"""Defaults of factories and of their other forms: a form that is called alone solves the problem of its factory."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from convexnovelty import methods

# What a user gets who leaves the argument out, by factory; a change of any is a change of results.
DEFAULTS = {
    "artificial_negatives": {"random_state": 0, "form": "dual"},
    "class_recognisers": {"comparison": "distance"},
    "hard_margin": {"offset": 1.0, "form": "primal"},
    "kernel_learning": {"scale_penalty": 1.0, "covariance_weight": 0.0, "form": "primal"},
    "mahalanobis_svm": {"ddof": 0, "form": "primal"},
    "negative_data": {"form": "dual"},
    "novelty_proportion": {"confidence": 0.95, "novel": "high"},
    "one_class_svm": {"form": "dual"},
    "semi_supervised": {
        "false_positive_rate": 0.05, "uniform_share": 0.0, "replace": False,
        "held_out": 0.5, "folds": 5, "random_state": 0,
    },
    "separation_from_mean": {"form": "dual"},
    "soft_ball": {"form": "dual"},
    "vector_quantization": {"metric": "euclidean"},
}  # fmt: skip
MODULES = [module.name for module in pkgutil.iter_modules(methods.__path__)]


def defaults(function):
    given = {name: p.default for name, p in inspect.signature(function).parameters.items()}
    return {name: value for name, value in given.items() if value is not inspect.Parameter.empty}


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_what_a_factory_takes_where_nothing_is_said(name):
    module = importlib.import_module(f"convexnovelty.methods.{name}")
    found = {key: value for key, value in defaults(getattr(module, name)).items() if value is not None}
    assert found == DEFAULTS[name]


@pytest.mark.parametrize("name", MODULES)
def test_other_forms_have_the_defaults_of_their_factory(name):
    module = importlib.import_module(f"convexnovelty.methods.{name}")
    factory = defaults(getattr(module, name)) if hasattr(module, name) else {}
    for other, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not other.startswith("_"):
            for key, value in defaults(function).items():
                if key in factory:
                    assert (key, value) == (key, factory[key]), other
