"""Sphinx extension: the pages that no hand writes, made from the objects of the package when the site is built.

A page is rewritten only if its text changed, so that Sphinx reads again no more than it must, and a page whose object is
gone is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api
from sphinx.application import Sphinx


def index() -> Iterator[tuple[str, str]]:
    """The page that leads to all others."""
    yield "catalogue.md", "# Catalogue\n\nEvery page below was written from the objects of the package when this site was built.\n"


def generate(folder: Path) -> None:
    """Write all generated pages below ``folder``."""
    written = set()
    for name, text in (*index(), *api.pages()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        written.add(path)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in (*folder.rglob("*.md"), *folder.rglob("*.rst")):
        if path not in written:
            path.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    """Generate before the sources are read."""
    app.connect("builder-inited", lambda app: generate(Path(app.srcdir) / "generated"))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
