"""The reference: one page for each public module, found by walking the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import convexnovelty


def public_modules() -> Iterator[str]:
    """Names of the modules of the package that have no underscore in front, and that define something public."""
    yield convexnovelty.__name__
    for module in pkgutil.walk_packages(convexnovelty.__path__, convexnovelty.__name__ + "."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield module.name


def pages() -> Iterator[tuple[str, str]]:
    """Pairs of a file name below the generated folder and its text."""
    entries = []
    for name in sorted(public_modules()):
        summary = (inspect.getdoc(importlib.import_module(name)) or "").split("\n\n")[0].replace("\n", " ")
        if not summary:
            # An empty package file documents nothing; its modules have pages of their own.
            continue
        entries.append(name)
        yield f"api/{name}.rst", f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n"
    listing = "\n".join(f"   api/{name}" for name in entries)
    yield (
        "api.rst",
        "Reference\n=========\n\nEvery public module, with what it defines. The docstrings are the text.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{listing}\n",
    )
