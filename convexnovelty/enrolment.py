"""Existing is being enrolled: the catalogue is found by walking folders and the files that a user hands over.

No list of methods or sets is written anywhere. A module of the walked package, or a file given to :func:`load`,
takes part from the moment it is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

from convexnovelty.errors import EnrolmentError, InputError

__all__ = ["load", "loaded", "names", "unload", "walk"]

_loaded: dict[str, ModuleType] = {}


def names(package: str) -> list[str]:
    """The names of a package's public modules, in order, without importing them."""
    home = importlib.import_module(package)
    return sorted(info.name for info in pkgutil.iter_modules(home.__path__) if not info.name.startswith("_"))


def walk(package: str) -> list[ModuleType]:
    """Every public module of a package, imported, in the order of their names."""
    return [importlib.import_module(f"{package}.{name}") for name in names(package)]


def load(path: str | Path) -> ModuleType:
    """Run a user's Python file and enrol what it defines: sets, and a ``METHOD`` if it has one.

    Raises InputError when there is no such file and EnrolmentError when running it fails.
    """
    file = Path(path).resolve()
    if file.suffix != ".py" or not file.is_file():
        raise InputError(f"load: {path} is not a Python file that exists")
    # The whole path goes into the name, so that two files of one name do not replace each other.
    name = f"convexnovelty_user_{file.stem}_{abs(hash(str(file))):x}"
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise InputError(f"load: {path} cannot be read as a Python module")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise EnrolmentError(f"load: running {path} failed with {type(error).__name__}: {error}") from error
    _loaded[name] = module
    return module


def unload(module: ModuleType) -> None:
    """Take a user's file out of the catalogue again."""
    _loaded.pop(module.__name__, None)
    sys.modules.pop(module.__name__, None)


def loaded() -> list[ModuleType]:
    """The user's files that have been loaded, in order."""
    return list(_loaded.values())
