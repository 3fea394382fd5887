"""Words of the package as Markdown: docstrings are reStructuredText, claims are plain text, the pages are MyST."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKED = re.compile(r":math:`(?P<math>[^`]+)`|:\w+(?::\w+)?:`~?(?P<role>[^`<]+)`|``(?P<code>.+?)``", re.DOTALL)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~^])")


def plain(text: str) -> str:
    """Plain text with everything escaped that Markdown would read as a sign."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def formula(latex: str) -> str:
    """A formula for a line of text or a table's cell, in which a bar would end the cell."""
    without_bars = " ".join(latex.split()).replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return f"${without_bars}$"


def prose(docstring: str) -> str:
    """A docstring's paragraph with its formulas and literals kept, as one line."""
    parts, last = [], 0
    for found in _MARKED.finditer(docstring):
        parts.append(plain_inside(docstring[last : found.start()]))
        if found["math"]:
            parts.append(formula(found["math"]))
        else:
            parts.append(f"`{(found['code'] or found['role'].rsplit('.', 1)[-1]).strip()}`")
        last = found.end()
    return " ".join("".join([*parts, plain_inside(docstring[last:])]).split())


def plain_inside(text: str) -> str:
    """Like :func:`plain`, but with the blanks at both ends kept."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))


def first_paragraph(docstring: str | None) -> str:
    """The first paragraph of a docstring as Markdown."""
    return prose((docstring or "").strip().split("\n\n")[0])


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the cells are Markdown already."""
    lines = [f"| {' | '.join(headings)} |", f"|{' --- |' * len(headings)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def folded(summary: str, content: str) -> str:
    """Content that is shown when the reader asks for it."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n\n</details>\n"
