"""Modules that only some uses need, imported on those, with an error that says how to install what is missing."""

from __future__ import annotations

import contextlib
import importlib
from functools import cache
from typing import Any

from convexnovelty.errors import ConvexNoveltyError

__all__ = ["needed"]


def needed(module: str, extra: str = "detect") -> Any:
    """An optional module. Raises ConvexNoveltyError with the command that installs it."""
    name = module.partition(".")[0]
    try:
        if name == "pyarrow":
            _know_periods()
        return importlib.import_module(module)
    except ImportError as error:
        raise ConvexNoveltyError(
            f'{name} is not installed; run: python -m pip install "convexnovelty[{extra}]"'
        ) from error


@cache
def _know_periods() -> None:
    """Tell Arrow of pandas' periods, which it takes for whole numbers until pandas has handed it some."""
    with contextlib.suppress(ImportError):
        pandas, arrow = importlib.import_module("pandas"), importlib.import_module("pyarrow")
        arrow.array(pandas.array([], dtype="period[D]"))
