"""Worked problems as pages: every cell is run, and its output stands below it.

The tests run every problem anyway and keep the pages; the build runs those that were not run with its own code.
A problem is a Python file in percent format: ``# %% [markdown]`` opens a cell of text, ``# %%`` a cell of code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import kept
from convexnovelty.declare import Claim
from text import plain, table

STORE = kept.ROOT / ".pytest_cache" / "d" / "problems"

MARKER = re.compile(r"^# %%(?P<rest>.*)$")


@dataclass(frozen=True)
class Cell:
    """A cell of a worked problem, with the line of the file on which its content begins."""

    kind: str
    source: str
    line: int


def cells(text: str) -> list[Cell]:
    """The cells of a file; what stands above the first marker is a cell of code."""
    found: list[tuple[str, list[str], int]] = [("code", [], 1)]
    for position, line in enumerate(text.splitlines(), start=1):
        if marked := MARKER.match(line):
            found.append(("markdown" if "[markdown]" in marked["rest"] else "code", [], position + 1))
        else:
            found[-1][1].append(line)
    made = []
    for kind, lines, start in found:
        source = "\n".join(re.sub(r"^# ?", "", line) if kind == "markdown" else line for line in lines)
        if source.strip():
            made.append(Cell(kind, source.strip("\n"), start + next(i for i, line in enumerate(lines) if line.strip())))
    return made


def title(problem: list[Cell]) -> str:
    """The first heading of a problem."""
    for cell in problem:
        if cell.kind == "markdown" and (heading := re.search(r"^# (.+)$", cell.source, re.MULTILINE)):
            return heading[1]
    raise ValueError("a worked problem needs a text cell with a heading")


def split(source: str) -> tuple[str, str]:
    """The code of a cell, and the statements at its end that add to CLAIMS: these are long, and fold on a page."""
    body = ast.parse(source).body
    first = len(body)
    while first and _adds_claims(body[first - 1]):
        first -= 1
    if first in (0, len(body)):
        return source, ""
    lines = source.splitlines()
    # Comments above the first of these statements belong to it.
    cut = body[first].lineno - 1
    while lines[cut - 1].lstrip().startswith("#"):
        cut -= 1
    return "\n".join(lines[:cut]).rstrip(), "\n".join(lines[cut:])


def _adds_claims(node: ast.stmt) -> bool:
    """``CLAIMS += ...``, ``CLAIMS.append(...)``, or a loop of nothing else."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == "CLAIMS"
    if isinstance(node, ast.For):
        return all(_adds_claims(inner) for inner in node.body)
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("CLAIMS.append(")


def run(cell: Cell, namespace: dict[str, Any], file: Path) -> str:
    """Run a cell and return what it printed, with the value of a last expression, as in a notebook."""
    tree = ast.parse(cell.source, str(file))
    ast.increment_lineno(tree, cell.line - 1)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(file), "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(file), "eval"), namespace)
            if value is not None and not _drawn(value):
                print(repr(value))
    return printed.getvalue().rstrip()


def _drawn(value: Any) -> bool:
    """Whether a value is part of a picture, which is shown itself."""
    some = value[0] if isinstance(value, (list, tuple)) and value else value
    return type(some).__module__.partition(".")[0] == "matplotlib"


def pictures(folder: Path, stem: str) -> Iterator[tuple[str, str]]:
    """Save and close the figures that a cell left open: pairs of a file name and a text for who cannot see it."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    from matplotlib import pyplot

    for position in pyplot.get_fignums():
        figure = pyplot.figure(position)
        if not any(axes.has_data() for axes in figure.axes):
            raise ValueError(f"{stem}: a picture shows nothing")
        name = f"{stem}-{len(list(folder.glob(f'{stem}-*.svg'))) + 1}.svg"
        figure.savefig(folder / name, bbox_inches="tight", metadata={"Date": None})
        axes = figure.axes[0] if figure.axes else None
        words = axes.get_title() or axes.get_ylabel() if axes is not None else ""
        yield name, words or "Picture made by the cell above"
    pyplot.close("all")


FOLDED = """<details class="claims"><summary>What is claimed here, as code</summary>

```python
{code}
```

</details>"""


def page(file: Path, folder: Path, root: Path | None = None) -> str:
    """The Markdown of one problem, with its pictures written to ``folder``; ``root`` is the folder of all problems."""
    return run_page(file, folder, root)[0]


def run_page(file: Path, folder: Path, root: Path | None = None) -> tuple[str, list[Claim]]:
    """The Markdown of one problem, and what it claims."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{file.stem}-*.svg"):
        old.unlink()
    # Classes that a problem defines look themselves up by module name, so the namespace must be a real module's.
    module = ModuleType(f"worked_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    parts = []
    try:
        for cell in cells(file.read_text()):
            if cell.kind == "markdown":
                parts.append(cell.source)
                continue
            code, stated = split(cell.source)
            parts.append(f"```python\n{code}\n```")
            if output := run(cell, vars(module), file):
                parts.append(f"```text\n{output}\n```")
            parts += [f"![{words}]({name})" for name, words in pictures(folder, file.stem)]
            if stated:
                parts.append(FOLDED.format(code=stated))
    finally:
        del sys.modules[module.__name__]
    place = file.name if root is None else file.relative_to(root).as_posix()
    claimed = vars(module).get("CLAIMS", [])
    parts += [claims(claimed), f"*This page was run from `problems/{place}`.*\n"]
    return "\n\n".join(part for part in parts if part), claimed


def _sources(file: Path) -> list[Path]:
    """What the page of a problem follows from, beside the package."""
    return [file, *file.parent.glob("_*.py"), *Path(__file__).parent.glob("*.py")]


def keep(store: Path, file: Path, text: str, folder: Path) -> None:
    """Keep a page and the pictures that it left in ``folder``."""
    drawn = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"{file.stem}-*.svg"))}
    kept.store(store / f"{file.stem}.json", _sources(file), {"text": text, "pictures": drawn})


def kept_page(file: Path, folder: Path, root: Path | None = None, store: Path = STORE) -> str:
    """The page as a run of the tests with the same code has kept it, or else made now."""
    found = kept.load(store / f"{file.stem}.json", _sources(file))
    if found is None:
        return page(file, folder, root)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{file.stem}-*.svg"):
        old.unlink()
    for name, drawn in found["pictures"].items():
        (folder / name).write_text(drawn, encoding="utf-8")
    return str(found["text"])


def claims(found: list[Claim]) -> str:
    """What the problem claims, with the numbers of this run."""
    if not found:
        return ""
    rows = []
    for claim in found:
        numbers = (f"{claim.computed:.10g}", f"{claim.relation}", f"{claim.reference:.10g}", f"{claim.tolerance:.0e}")
        rows.append((plain(claim.text), *numbers, claim.kind, "holds" if claim.holds else "**fails**"))
    headings = ("Claim", "Computed", "", "Reference", "Tolerance", "Kind", "")
    return f"## What is claimed\n\n{table(headings, rows)}"


INDEX = """# Worked problems

Each is a Python file with one idea, which you can read here, run, and copy. Its claims are computed beside their
theory, and `convexnovelty check problems` holds them to it.

{sections}
"""

SECTION = """## {heading}

```{{toctree}}
:maxdepth: 1

{entries}
```
"""


def index(files: list[Path], root: Path) -> str:
    """The page that lists the problems, those of one folder under one heading."""
    folders: dict[str, list[str]] = {}
    for file in files:
        heading = file.relative_to(root).parent.as_posix()
        folders.setdefault("general" if heading == "." else heading, []).append(f"problems/{file.stem}")
    sections = [
        SECTION.format(heading=heading.replace("_", " ").capitalize(), entries="\n".join(entries))
        for heading, entries in folders.items()
    ]
    return INDEX.format(sections="\n".join(sections).rstrip())


def pages(problems: Path, generated: Path, executor: Executor) -> Iterator[tuple[str, str]]:
    """The page of every problem, run by the executor, and the page that lists them."""
    files = sorted(path for path in problems.rglob("*.py") if not path.name.startswith("_"))
    folder, root = itertools.repeat(generated / "problems"), itertools.repeat(problems)
    for file, text in zip(files, executor.map(kept_page, files, folder, root), strict=True):
        yield f"problems/{file.stem}.md", text
    yield "problems.md", index(files, problems)
