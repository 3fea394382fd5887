"""Formulas as MathML, written while the site is built, so that reading it needs neither scripts nor a network.

A formula that cannot be translated is a warning with its place, which the strict build turns into a failure. The font
is taken from an installed package, compressed, and served with the pages: browsers differ in the mathematical fonts
that they bring, and some bring none.
"""

from __future__ import annotations

import html
import importlib.util
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools.ttLib import TTFont
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

FONT = "math.woff2"

MACROS = {"widetilde": r"\tilde{#1}", "widehat": r"\hat{#1}"}
_converter = LatexToMathML(macros=MACROS, annotation=True, fancy_error=False)


def convert(latex: str, *, display: bool, location: Any = None) -> str:
    """The MathML of a formula, or its source in a ``code`` element after a warning."""
    source = " ".join(latex.split())
    if display and r"\\" in source and r"\begin" not in source:
        source = rf"\begin{{aligned}}{source}\end{{aligned}}"
    try:
        return str(_converter.convert_with_local_state(source, displaystyle=display))
    except LatexError as error:
        logger.warning("formula cannot be translated: %s in %s", error, source, location=location, type="mathml")
        return f"<code>{html.escape(latex)}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    """A formula in a line of text."""
    self.body.append(convert(node.astext(), display=False, location=node))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="formula", ids=node.get("ids", [])))
    self.body.append(convert(node.astext(), display=True, location=node))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def write_font(app: Sphinx) -> None:
    """Put the compressed font where the static files of the build are collected."""
    target = Path(app.srcdir) / "generated" / "static" / FONT
    if target.exists():
        return
    package = importlib.util.find_spec("ziamath")
    if package is None or package.origin is None:
        logger.warning("ziamath is not installed, so the pages go without the font of their formulas", type="mathml")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    font = TTFont(Path(package.origin).parent / "fonts" / "STIXTwoMath-Regular.ttf")
    font.flavor = "woff2"
    font.save(target)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    app.connect("builder-inited", write_font)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
