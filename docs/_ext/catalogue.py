"""Sphinx extension: the pages that no hand writes, made from the objects of the package when the site is built.

A page is rewritten only if its text changed, so that Sphinx reads again no more than it must, and a page whose object
is gone is removed.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import api
import input_matrix_pages
import instance_pages
import method_pages
import reproduction_pages
import set_pages
import worked
from convexnovelty.checking import Report, Row, check

ROOT = Path(__file__).resolve().parents[2]
LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")

INDEX = """# Catalogue

Every page below was written from the objects of the package when this site was built, and every number on them was
computed with the code of this site.

{summary}

```{{toctree}}
:maxdepth: 2

methods
graph
sets
tails
problems
solvers
instances
input_matrix
```
"""


def project_pages() -> Iterator[tuple[str, str]]:
    """The contributor's guide and the changelog, whose links to files of the repository lead nowhere on a site."""
    for name in ("CONTRIBUTING", "CHANGELOG"):
        yield f"{name.lower()}.md", LOCAL_LINK.sub(r"\1", (ROOT / f"{name}.md").read_text())


def read_report(file: Path) -> Report:
    """What ``convexnovelty check --json`` wrote; JSON has null where there is no number."""
    found = json.loads(file.read_text(encoding="utf-8"))
    rows = [Row(**{name: math.nan if value is None else value for name, value in row.items()}) for row in found["rows"]]
    return Report(rows, solver=found["solver"], seconds=found["seconds"])


def pages(folder: Path, executor: Executor, checked: Path | None = None) -> Iterator[tuple[str, str]]:
    """Pairs of a file name below ``folder`` and its text; what is to be solved for them is left to the executor.

    ``checked`` is the report of a check of the same code, if there was one.
    """
    report = check(executor=executor) if checked is None else read_report(checked)
    yield "catalogue.md", INDEX.format(summary=f"The check of this build: {report.summary}.")
    yield from method_pages.pages(report.rows)
    yield from set_pages.pages()
    yield from instance_pages.pages()
    yield from input_matrix_pages.pages(executor)
    yield from reproduction_pages.pages()
    yield from worked.pages(ROOT / "problems", folder, executor)
    yield from api.pages()
    yield from project_pages()


def generate(folder: Path, checked: Path | None = None) -> None:
    """Write all generated pages below ``folder``."""
    written = set()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as executor:
        for name, text in pages(folder, executor, checked):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written.add(path)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
    for path in (*folder.rglob("*.md"), *folder.rglob("*.rst")):
        if path not in written:
            path.unlink()


def _generate(app: Sphinx) -> None:
    given = app.config.check_report
    generate(Path(app.srcdir) / "generated", Path(given) if given else None)


def _collapse(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Open only the branch of the page in its navigation: all branches on each of hundreds of pages take minutes."""
    branches = context["toctree"]
    context["toctree"] = lambda **options: branches(**{**options, "collapse": True})


def setup(app: Sphinx) -> dict[str, Any]:
    """Generate before the sources are read."""
    app.add_config_value("check_report", "", "", [str])
    app.connect("builder-inited", _generate)
    app.connect("html-page-context", _collapse, priority=400)  # before the theme, which asks for the tree
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
