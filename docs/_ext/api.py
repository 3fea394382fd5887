"""The reference: one page for each public module, found by walking the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import convexnovelty
from text import first_paragraph, table

MODULE = """{name}
{underline}

.. automodule:: {name}
   :members: {members}
"""

INDEX = """# Reference

Every public module, with what it defines. These are the names that one types:

{shortcuts}

```{{toctree}}
:maxdepth: 1

{entries}
```
"""


def public_modules() -> Iterator[ModuleType]:
    """The modules of the package that have no underscore in front."""
    for module in pkgutil.walk_packages(convexnovelty.__path__, f"{convexnovelty.__name__}."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield importlib.import_module(module.name)


def own_members(module: ModuleType) -> list[str]:
    """What the module itself defines of the names that it offers; what it only passes on has its page elsewhere."""
    offered = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    defined = [name for name in offered if getattr(getattr(module, name), "__module__", None) == module.__name__]
    return [name for name in defined if (getattr(module, name).__doc__ or "").strip()]


def shortcuts() -> str:
    """The names that the package itself offers, with the pages that describe them."""
    rows = []
    for name in convexnovelty.__dir__():
        item = getattr(convexnovelty, name)
        if name.startswith("_"):
            continue
        home = item.__name__ if inspect.ismodule(item) else item.__module__
        link = f"[`cn.{name}`](api/{home}.rst)"
        rows.append((link, first_paragraph(inspect.getdoc(item))))
    return table(("Name", "What it is"), rows)


def entry(name: str) -> str:
    """A line of the listing: the module without the name that all have in common."""
    return f"{name.removeprefix(convexnovelty.__name__ + '.')} <api/{name}>"


def pages() -> Iterator[tuple[str, str]]:
    """Pairs of a file name below the generated folder and its text."""
    names = []
    for module in public_modules():
        name = module.__name__
        members = own_members(module)
        if not (members or module.__doc__):
            continue
        names.append(name)
        text = MODULE.format(name=name, underline="=" * len(name), members=", ".join(members))
        yield f"api/{name}.rst", text if members else text.replace("   :members: \n", "   :no-members:\n")
    yield "api.md", INDEX.format(shortcuts=shortcuts(), entries="\n".join(map(entry, names)))
