"""CVXPY on first use.

Importing CVXPY costs about a second, and closed forms, kernels and SMO never need it. Modules write
``from convexnovelty._lazy import cp`` and pay for the import at the first attribute that they touch.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["cp"]


class _LazyModule(ModuleType):
    """A stand-in for a module that is imported when one of its attributes is asked for."""

    _found: ModuleType | None = None  # asking the import system costs more than most of what is asked for

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Introspection (doctest, inspect) asks every module for dunders: that is no use of CVXPY.
            raise AttributeError(name)
        if self._found is None:
            self._found = importlib.import_module(self.__name__)
        return getattr(self._found, name)


if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = _LazyModule("cvxpy")
