"""Docstrings of the package as reStructuredText.

Sections are headed as numpydoc heads them, but an argument is written ``name : what it is``, without a type, since the
signature has the types. Hence this reader in place of napoleon, which would take the words for a type.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import inspect

ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?P<words>.+)$")
UNDERLINE = re.compile(r"^-{3,}$")
QUOTED = re.compile(r"(``.+?``|:\w+(?::\w+)?:`[^`]+`|`[^`]+`_?)")


def sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The text above the first heading, under an empty name, and every section with its name."""
    found: list[tuple[str, list[str]]] = [("", [])]
    position = 0
    while position < len(lines):
        if lines[position].strip() and position + 1 < len(lines) and UNDERLINE.match(lines[position + 1]):
            found.append((lines[position].strip(), []))
            position += 2
        else:
            found[-1][1].append(lines[position])
            position += 1
    return found


def entries(lines: list[str]) -> list[str]:
    """Lines ``name : words`` as a list of definitions; other lines stay as they are."""
    made: list[str] = []
    for line in lines:
        if entry := ENTRY.match(line):
            names = ", ".join(f"``{name}``" for name in entry["names"].split(", "))
            made += ["", names, f"    {entry['words']}"]
        else:
            made.append(line)
    return [*made, ""]


def bars(lines: list[str]) -> list[str]:
    """A bar outside of formulas and literals is a bar, and no substitution."""
    made, directive = [], -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= directive:
            directive = -1
        if line.lstrip().startswith(".. "):
            directive = indent
        if directive < 0 and not line.lstrip().startswith(">>>"):
            parts = QUOTED.split(line)
            line = "".join(part if place % 2 else part.replace("|", r"\|") for place, part in enumerate(parts))
        made.append(line)
    return made


def rewrite(lines: list[str]) -> list[str]:
    """A docstring of the package as Sphinx wants it."""
    made: list[str] = []
    for name, content in sections(bars(lines)):
        if name:
            made += ["", f".. rubric:: {name}", ""]
        made += entries(content) if name in ("Parameters", "Attributes") else content
    return [*made, ""]


def process(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Handler of ``autodoc-process-docstring``, which changes the lines in place."""
    lines[:] = rewrite(lines)


def skip(app: Sphinx, what: str, name: str, item: Any, skipped: bool, options: Any) -> bool | None:
    """Handler of ``autodoc-skip-member``: what scikit-learn puts into a class refers to pages of its own site."""
    return True if str(getattr(item, "__module__", "")).startswith("sklearn.") else None


def signature(
    app: Sphinx, what: str, name: str, item: Any, options: Any, own: str | None, returns: str | None
) -> tuple[str | None, str | None] | None:
    """Handler of ``autodoc-process-signature``: a set is made with what its ``__init__`` takes, which ``__new__`` hands on."""
    if what != "class" or own != "(*args: ~typing.Any, **kwargs: ~typing.Any)":
        return None
    made = inspect.signature(item.__init__, bound_method=True, type_aliases=app.config.autodoc_type_aliases)
    return inspect.stringify_signature(made, show_return_annotation=False, unqualified_typehints=True), returns


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the handlers."""
    # An alias that Sphinx was told about is to read as its name within other types too.
    inspect.TypeAliasForwardRef.__repr__ = lambda alias: alias.name
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", signature)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
