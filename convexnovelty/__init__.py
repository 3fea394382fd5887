"""Convex models of novelty detection.

Every method is a convex program over a feature space, an uncertainty set is an object that one swaps, and every
step of a derivation is a check that runs on numbers. Start with ``cn.check()``, or with a factory such as
:func:`single_class_mpm`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convexnovelty import algorithms as algorithms
    from convexnovelty import datasets as datasets
    from convexnovelty import derivation as derivation
    from convexnovelty import deviations as deviations
    from convexnovelty import errors as errors
    from convexnovelty import estimators as estimators
    from convexnovelty import kernels as kernels
    from convexnovelty import methods as methods
    from convexnovelty import persistence as persistence
    from convexnovelty import plots as plots
    from convexnovelty import streams as streams
    from convexnovelty import tails as tails
    from convexnovelty import testing as testing
    from convexnovelty import uncertainty as uncertainty
    from convexnovelty.checking import Report as Report
    from convexnovelty.checking import check as check
    from convexnovelty.checking.certificate import certify as certify
    from convexnovelty.checking.cross_check import cross_check as cross_check
    from convexnovelty.declare import Claim as Claim
    from convexnovelty.declare import Instance as Instance
    from convexnovelty.declare import Method as Method
    from convexnovelty.features import KernelFeatures as KernelFeatures
    from convexnovelty.features import LinearFeatures as LinearFeatures
    from convexnovelty.formulation import Formulation as Formulation
    from convexnovelty.formulation import Solution as Solution
    from convexnovelty.kernel_family import KernelFamily as KernelFamily
    from convexnovelty.moments import Moments as Moments

    __version__: str

# Names that users type, each with the module that holds it; modules are imported when a name is first used.
_NAMES = {
    "Claim": "declare",
    "Formulation": "formulation",
    "Instance": "declare",
    "KernelFamily": "kernel_family",
    "KernelFeatures": "features",
    "LinearFeatures": "features",
    "Method": "declare",
    "Moments": "moments",
    "Report": "checking",
    "Solution": "formulation",
    "certify": "checking.certificate",
    "check": "checking",
    "cross_check": "checking.cross_check",
}
_MODULES = (
    "algorithms",
    "datasets",
    "derivation",
    "deviations",
    "errors",
    "estimators",
    "kernels",
    "methods",
    "persistence",
    "plots",
    "streams",
    "tails",
    "testing",
    "uncertainty",
)

__all__ = [
    "Claim",
    "Formulation",
    "Instance",
    "KernelFamily",
    "KernelFeatures",
    "LinearFeatures",
    "Method",
    "Moments",
    "Report",
    "Solution",
    "__version__",
    "algorithms",
    "certify",
    "check",
    "cross_check",
    "datasets",
    "derivation",
    "deviations",
    "errors",
    "estimators",
    "kernels",
    "methods",
    "persistence",
    "plots",
    "streams",
    "tails",
    "testing",
    "uncertainty",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
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


def _version() -> str:
    """The installed version, read when it is asked for: the reader of metadata is most of what a bare import costs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("convexnovelty")
    except PackageNotFoundError:  # a source tree that was put on the path without being installed
        return "0+unknown"


def __dir__() -> list[str]:
    import pkgutil

    from convexnovelty import methods

    return sorted([*__all__, *(info.name for info in pkgutil.iter_modules(methods.__path__))])
