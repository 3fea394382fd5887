"""Every default of a public function and class, held against the stored list of them.

Whoever leaves an argument out has chosen its default: one that changes is a change for every such caller, and is meant to be
seen. ``python tests/properties/test_defaults.py`` writes the list anew, next to an entry in the changelog.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
from pathlib import Path
from types import ModuleType

import convexnovelty

LIST = Path(__file__).with_name("defaults.json")
PLAIN = (int, float, str, bool, type(None), tuple)


def modules() -> list[ModuleType]:
    """All modules of the package, but for those that run when they are imported."""
    infos = pkgutil.walk_packages(convexnovelty.__path__, "convexnovelty.")
    return [importlib.import_module(info.name) for info in infos if not info.name.endswith("__main__")]


def defaults_of(function: object) -> dict[str, str]:
    """The defaults that say a number, a word or a truth."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    kept = (p for p in parameters if p.default is not p.empty and isinstance(p.default, PLAIN))
    return {p.name: repr(p.default) for p in kept}


def found() -> dict[str, dict[str, str]]:
    """By the full name of each function, class and public method of the package that is defined where it is found."""
    listed = {}
    for module in modules():
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != module.__name__ or not callable(value):
                continue
            members = {"": value}
            if inspect.isclass(value):
                members |= {f".{n}": v for n, v in vars(value).items() if inspect.isfunction(v) and n[0] != "_"}
            for suffix, member in members.items():
                if defaults := defaults_of(member):
                    listed[f"{module.__name__}.{name}{suffix}"] = defaults
    return listed


def test_no_default_has_changed() -> None:
    listed, here = json.loads(LIST.read_text(encoding="utf-8")), found()
    changed = {
        f"{name}({argument})": (default, here[name].get(argument, "none"))
        for name, defaults in listed.items()
        for argument, default in defaults.items()
        if name in here and here[name].get(argument) != default
    }
    assert changed == {}
    assert len(listed.keys() & here.keys()) > 0.9 * len(listed), "the list is of another package: write it anew"


# States of algorithms, which change with every step, and a report to which cells are added.
OPEN = {"CrossReport", "Place", "State"}


def test_records_cannot_be_changed() -> None:
    """A record that a caller could change would change what others read of it: dataclasses are frozen."""
    kinds = {
        value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__ == module.__name__ and dataclasses.is_dataclass(value)
    }
    assert len(kinds) > 20
    assert {kind.__name__ for kind in kinds if not kind.__dataclass_params__.frozen} == OPEN


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(defaults)}" for name, defaults in sorted(found().items())]
    LIST.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
