"""Reports of a cross-check of solvers: one HTML file that needs no network, or Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from convexnovelty.errors import InputError

if TYPE_CHECKING:
    from convexnovelty.checking.cross_check import CrossReport

__all__ = ["check_name", "write_report"]


ENDINGS = (".html", ".htm", ".md")


def check_name(path: str | Path) -> None:
    """Raise InputError for a file name whose ending says neither HTML nor Markdown: before the work, not after it."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"report: {path} was found; give a name that ends in .html or .md")


def write_report(report: CrossReport, path: str | Path) -> None:
    """Write a report as HTML or Markdown, by the ending of ``path``; the file appears whole or not at all.

    Raises InputError for any other ending.
    """
    from convexnovelty.report import html, markdown

    check_name(path)
    target = Path(path)
    text = markdown.page(report) if target.suffix.lower() == ".md" else html.page(report)
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(target)
