"""The page of mutation tests is made of the stored outcomes, with a word on every survivor."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1] / "mutation"


def loaded():
    spec = importlib.util.spec_from_file_location("mutation_page", HERE / "mutation_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


page = loaded()
REPORT = json.loads(page.OUTCOMES.read_text())
REMARKS = json.loads(page.REMARKS.read_text())


def test_the_page_is_made_of_the_stored_outcomes() -> None:
    assert page.PAGE.read_text() == page.markdown(REPORT, REMARKS), "run: python tests/mutation page"


def test_every_survivor_is_explained_and_nothing_else() -> None:
    alive = {mutant["name"] for mutant in [*REPORT["mutants"], *REPORT["lasting"]] if mutant["outcome"] == "survived"}
    assert alive == REMARKS.keys()
    assert {remark["kind"] for remark in REMARKS.values()} <= page.KINDS.keys()
    assert all(len(remark["why"].split()) >= 5 for remark in REMARKS.values())


def test_every_folder_is_sampled_and_no_name_stands_twice() -> None:
    names = [mutant["name"] for mutant in REPORT["mutants"]]
    assert len(set(names)) == len(names)
    for folder, size in REPORT["population"].items():
        sampled = [mutant for mutant in REPORT["mutants"] if mutant["folder"] == folder]
        assert 25 <= len(sampled) <= size
    for sample in REPORT["earlier"]:
        assert sample["seed"] != REPORT["seed"] and sample["commit"] and sample["rates"]


def test_interval_of_a_rate_is_wilsons() -> None:
    """8 of 10: Wilson's interval is 0.490 to 0.943 (Brown, Cai and DasGupta 2001, table of coverage)."""
    assert page.interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert page.interval(0, 5)[0] == 0.0 and page.interval(5, 5)[1] == 1.0
