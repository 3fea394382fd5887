"""Code that people read on a page runs, and prints what the page says it prints.

The Python blocks of a page are run in their order in one namespace. A block of plain text that follows one directly is
what it prints.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import cvxpy as cp
import pytest

import convexnovelty as cn

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\s*^```text\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> list[tuple[str, str | None, int]]:
    """The Python blocks of a page: code, expected output if one is given, and the line on which the code begins."""
    return [(found["code"], found["output"], text[: found.start()].count("\n") + 2) for found in BLOCK.finditer(text)]


WITH_CODE = [page for page in PAGES if blocks(page.read_text())]


def test_that_there_are_pages_with_code() -> None:
    assert len(WITH_CODE) >= 3


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_of_the_page_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for code, expected, line in blocks(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile("\n" * (line - 1) + code, str(page), "exec"), vars(module))
            except cp.SolverError as error:
                if "is not installed" in str(error):
                    pytest.skip(f"{page.name}, line {line}: {error}")
                raise
        if expected is not None:
            assert printed.getvalue().strip() == expected.strip(), f"{page.name}, line {line}"


def test_a_wrong_output_is_noticed() -> None:
    text = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    [(code, expected, line)] = blocks(text)
    assert (code, expected, line) == ("print(1)\n", "2\n", 2)


def test_a_report_is_shown_as_it_was_checked(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    import catalogue

    report = cn.check("exact_outliers")
    report.write_json(tmp_path / "check.json")
    found = catalogue.read_report(tmp_path / "check.json")
    assert found.summary == report.summary
    assert found.to_dict() == report.to_dict()
