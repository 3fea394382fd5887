"""Files of the project that repeat a fact agree with the place where the fact stands."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import tables
import text as markdown
import worked

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_tables_of_the_readme_are_current() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(tables.MARKED.findall(readme)) == len(tables.TABLES)
    assert tables.current(readme) == readme, "run: python docs/_ext/tables.py README.md"


def test_a_changed_table_is_noticed() -> None:
    readme = (ROOT / "README.md").read_text()
    assert tables.current(readme.replace("`FrobeniusBall`", "`FrobeniusBowl`")) == readme


def test_citation_names_the_version() -> None:
    version = PYPROJECT["project"]["version"]
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)


def test_changelog_has_a_place_for_what_comes_next() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


def test_all_checks_can_be_started_and_read_their_commands_from_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    readme = (ROOT / "README.md").read_text()
    for part in ("&& convexnovelty check", "&& python -m pytest"):
        assert part in script.read_text()
        assert readme.count(part) == 1


def test_smallest_complete_citizens_exist() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    for file in ("convexnovelty/methods/soft_ball.py", "convexnovelty/uncertainty/frobenius_ball.py"):
        assert f"({file})" in guide
        assert (ROOT / file).is_file()


def test_checklists_have_at_most_five_boxes() -> None:
    for section in (ROOT / "CONTRIBUTING.md").read_text().split("\n## ")[1:]:
        assert section.count("- [ ]") <= 5, section.splitlines()[0]


def test_local_links_lead_to_files() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name}: {target}"


def test_docstrings_become_markdown() -> None:
    docstring = "A ball of :math:`\\|S\\|_F \\le \\rho`,\n    see ``radius`` and :class:`~package.Moments`; x_i*y."
    assert markdown.prose(docstring) == (r"A ball of $\Vert S\Vert _F \le \rho$, see `radius` and `Moments`; x\_i\*y.")


def test_a_worked_problem_becomes_a_page(tmp_path: Path) -> None:
    file = tmp_path / "sum.py"
    file.write_text(
        "\n".join(
            [
                '"""Doc."""',
                "# %% [markdown]",
                "# # A sum",
                "# of numbers",
                "# %%",
                "import convexnovelty as cn",
                'print("x")',
                "1 + 2",
                "# %%",
                'CLAIMS = [cn.Claim("one and two", 3.0, 3.0), cn.Claim("wrong", 1.0, 2.0)]',
            ]
        )
    )
    cells = worked.cells(file.read_text())
    assert [(cell.kind, cell.line) for cell in cells] == [("code", 1), ("markdown", 3), ("code", 6), ("code", 10)]
    assert worked.title(cells) == "A sum"
    page = worked.page(file, tmp_path / "pictures")
    assert "# A sum\nof numbers" in page
    assert "```text\nx\n3\n```" in page
    assert "| one and two | 3 | = | 3 | 1e-06 | theory | holds |" in page
    assert "| wrong | 1 | = | 2 | 1e-06 | theory | **fails** |" in page


def test_claims_at_the_end_of_a_cell_are_folded() -> None:
    claim = "CLAIMS.append(cn.Claim('a', x, 1.0))"
    assert worked.split(f"x = 1\n# as theory says\n{claim}\nCLAIMS += []") == (
        "x = 1",
        f"# as theory says\n{claim}\nCLAIMS += []",
    )
    assert worked.split(f"x = 1\nfor x in range(3):\n    {claim}")[0] == "x = 1"
    for whole in (claim, f"{claim}\nx = 1", "CLAIMS = []", f"for x in range(3):\n    print(x)\n    {claim}"):
        assert worked.split(whole) == (whole, "")
