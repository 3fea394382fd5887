"""Every worked problem runs, draws, and holds what it claims; and each is written in the form that readers know."""

from __future__ import annotations

import math
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import get_args

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "_ext"))

import convexnovelty as cn
import worked
from convexnovelty.checking.problems import problem_files
from convexnovelty.declare import Reference

FOLDER = Path(__file__).resolve().parents[1] / "problems"
FILES = problem_files(FOLDER)
CELL = re.compile(r"^# %%(?P<kind>.*)$", re.MULTILINE)

SECONDS = 20.0  # of this process's own time, which a busy machine does not stretch


def name_of(file: Path) -> str:
    return file.relative_to(FOLDER).with_suffix("").as_posix()


def texts(file: Path) -> list[str]:
    """The text cells, without their comment signs."""
    parts = CELL.split(file.read_text(encoding="utf-8"))
    kinds, bodies = parts[1::2], parts[2::2]
    found = [body for kind, body in zip(kinds, bodies, strict=True) if "[markdown]" in kind]
    return [re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip() for body in found]


@pytest.fixture(autouse=True)
def _no_pictures_left():
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture(scope="session")
def page_store(request: pytest.FixtureRequest) -> Path | None:
    """Where pages are kept for the site; None where pytest keeps nothing."""
    cache = getattr(request.config, "cache", None)
    return None if cache is None else Path(cache.mkdir("problems"))


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_claims_hold(file: Path, tmp_path: Path, page_store: Path | None) -> None:
    began = time.process_time()
    text, claims = worked.run_page(file, tmp_path, FOLDER)
    seconds = time.process_time() - began
    assert claims
    assert all(isinstance(claim, cn.Claim) for claim in claims)
    broken = [f"{c.text}: {c.computed} {c.relation} {c.reference} (gap {c.gap:.1e})" for c in claims if not c.holds]
    assert not broken, "\n".join(broken)
    for claim in claims:
        assert claim.source, claim.text
        assert claim.because, f"{claim.text}: say where the tolerance comes from"
        assert claim.kind in get_args(Reference), claim.text
        assert claim.tolerance >= 0 and math.isfinite(claim.reference), claim.text
    assert not [text for text, count in Counter(claim.text for claim in claims).items() if count > 1]
    assert list(tmp_path.glob("*.svg")), "a worked problem shows at least one picture"
    assert seconds < SECONDS
    if page_store is not None:
        worked.keep(page_store, file, text, tmp_path)


def test_a_page_is_taken_from_what_was_kept_only_while_its_code_is_the_same(tmp_path: Path) -> None:
    file, made = tmp_path / "sum.py", tmp_path / "made"
    file.write_text("# %% [markdown]\n# # A sum\n# %%\n1 + 2\n")
    text = worked.page(file, made)
    (made / "sum-1.svg").write_text("<svg/>")
    worked.keep(tmp_path, file, text + "kept", made)
    site = tmp_path / "site"
    assert worked.kept_page(file, site, store=tmp_path) == text + "kept"
    assert (site / "sum-1.svg").read_text() == "<svg/>"
    file.write_text(file.read_text() + "# and a comment\n")
    assert worked.kept_page(file, site, store=tmp_path) == text.replace("1 + 2", "1 + 2\n# and a comment")
    assert not list(site.glob("*.svg"))


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_form(file: Path) -> None:
    """Learning intentions first, formulas on lines of their own, two questions at the end."""
    cells = texts(file)
    first, last = cells[0], cells[-1]
    assert re.match(r"# \S", first)
    aims = first.split("**You will learn**")
    assert len(aims) == 2
    assert len(re.findall(r"^- ", aims[1].split("\n#")[0], re.MULTILINE)) >= 2
    assert "Source" in first
    assert last.startswith("## Two questions to try")
    assert re.findall(r"^(\d)\. ", last, re.MULTILINE) == ["1", "2"]
    assert any("$$" in cell for cell in cells), "no formula stands on a line of its own"
    assert all(cell.count("$$") % 2 == 0 for cell in cells)
    assert not [line for line in file.read_text(encoding="utf-8").splitlines() if "plt.show" in line]


def test_names_are_the_pages_names() -> None:
    assert not [stem for stem, count in Counter(file.stem for file in FILES).items() if count > 1]
    titles = [texts(file)[0].splitlines()[0] for file in FILES]
    assert len(set(titles)) == len(titles)
