"""Every public definition says what it is, and the examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import convexnovelty

MODULES = [
    module.name
    for module in pkgutil.walk_packages(convexnovelty.__path__, "convexnovelty.")
    if not any(part.startswith("_") for part in module.name.split("."))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_public_definitions_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    missing = [
        public
        for public in getattr(module, "__all__", [])
        if (inspect.isclass(item := getattr(module, public)) or inspect.isfunction(item))
        and item.__module__ == name
        and not (item.__doc__ or "").strip()
    ]
    assert missing == []


def test_some_docstring_has_an_example() -> None:
    finder = doctest.DocTestFinder()
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert examples
