"""The page of reproductions is made from kept results that fit the declarations, with a word on all that differs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import reproduction_pages as page
from convexnovelty.reproductions import catalogue

KEPT = page.outcomes()


def test_every_reproduction_has_a_kept_result() -> None:
    assert {found.name for found, _, _ in KEPT} == catalogue().keys()


@pytest.mark.parametrize(("found", "result", "reasons"), KEPT, ids=[found.name for found, _, _ in KEPT])
def test_kept_results_are_whole(found, result, reasons) -> None:
    assert result.in_full == found.repetitions
    assert result.repetitions >= min(10, found.repetitions)
    assert result.seed == 0
    assert all(cell.repetitions > 0 for cell in result.cells if cell.printed is None or found.random is False)
    text = (page.RESULTS / f"{found.name}.json").read_text(encoding="utf-8")
    assert "/" not in "".join(json.loads(text)["origins"].values())
    assert len(text) < 200_000


@pytest.mark.parametrize(("found", "result", "reasons"), KEPT, ids=[found.name for found, _, _ in KEPT])
def test_what_differs_is_explained(found, result, reasons) -> None:
    if page.differing(result) or any(answer.verdict != "holds" for answer in result.answers):
        assert len(reasons.split()) > 30


def test_the_page_shows_every_claim_and_every_printed_cell() -> None:
    [(name, text)] = page.pages()
    assert name == "included/reproductions.md"
    for found, result, _ in KEPT:
        assert f"`convexnovelty reproduce {found.name}`" in text
        for answer in result.answers:
            assert page.plain(answer.text) in text
        made = page.cells(result)
        assert made.count("\n| ") - 1 >= len(result.cells) - 1
    assert "nan" not in text.split()


def _copied(folder: Path, change=None) -> Path:
    shutil.copytree(page.RESULTS, folder)
    if change is not None:
        path = folder / "mahalanobis-table-1.json"
        kept = json.loads(path.read_text(encoding="utf-8"))
        change(kept)
        path.write_text(json.dumps(kept), encoding="utf-8")
    return folder


def _cell(kept) -> None:
    kept["cells"][0]["printed"] = 0.5


def _claim(kept) -> None:
    kept["answers"][0]["text"] = "something else"


def _quick(kept) -> None:
    kept["quick"] = True


@pytest.mark.parametrize(
    ("change", "message"),
    [(_cell, "its cells are not those"), (_claim, "its claims are not those"), (_quick, "a quick run is kept")],
)
def test_a_result_out_of_date_stops_the_build(change, message, tmp_path) -> None:
    with pytest.raises(ValueError, match=f"mahalanobis-table-1: {message}"):
        page.outcomes(_copied(tmp_path / "results", change))


def test_a_difference_without_a_word_stops_the_build(tmp_path) -> None:
    folder = _copied(tmp_path / "results")
    (folder / "mahalanobis-table-1.md").unlink()
    with pytest.raises(ValueError, match=r"mahalanobis-table-1\.md does not say why"):
        page.outcomes(folder)


def test_a_result_of_nothing_stops_the_build(tmp_path) -> None:
    folder = _copied(tmp_path / "results")
    (folder / "minimax-table-9.json").write_text("{}")
    with pytest.raises(ValueError, match="no reproduction has this name"):
        page.outcomes(folder)
