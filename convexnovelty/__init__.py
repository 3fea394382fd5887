"""Convex models of novelty detection.

Every method is a convex program over a feature space, an uncertainty set is an object that one swaps, and every
step of a derivation is a check that runs on numbers. Start with ``cn.check()``, or with a factory such as
:func:`single_class_mpm`.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convexnovelty import (
        algorithms,
        datasets,
        derivation,
        deviations,
        errors,
        kernels,
        methods,
        plots,
        tails,
        uncertainty,
    )
    from convexnovelty.checking import Report, check
    from convexnovelty.declare import Claim, Instance, Method
    from convexnovelty.features import KernelFeatures, LinearFeatures
    from convexnovelty.formulation import Formulation, Solution
    from convexnovelty.moments import Moments

try:
    __version__ = version("convexnovelty")
except PackageNotFoundError:  # a source tree that was put on the path without being installed
    __version__ = "0+unknown"

# Names that users type, each with the module that holds it; modules are imported when a name is first used.
_NAMES = {
    "Claim": "declare",
    "Formulation": "formulation",
    "Instance": "declare",
    "KernelFeatures": "features",
    "LinearFeatures": "features",
    "Method": "declare",
    "Moments": "moments",
    "Report": "checking",
    "Solution": "formulation",
    "check": "checking",
}
_MODULES = (
    "algorithms",
    "datasets",
    "derivation",
    "deviations",
    "errors",
    "kernels",
    "methods",
    "plots",
    "tails",
    "uncertainty",
)

__all__ = [*_NAMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"convexnovelty.{_NAMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"convexnovelty.{name}")
    if not name.startswith("_"):
        # A method's factory bears the name of its file, so that a new method needs no line here.
        try:
            return getattr(importlib.import_module(f"convexnovelty.methods.{name}"), name)
        except ModuleNotFoundError as error:
            if error.name != f"convexnovelty.methods.{name}":
                raise
    raise AttributeError(f"module 'convexnovelty' has no attribute {name!r}")


def __dir__() -> list[str]:
    import pkgutil

    from convexnovelty import methods

    return sorted([*__all__, *(info.name for info in pkgutil.iter_modules(methods.__path__))])
