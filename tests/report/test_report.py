"""The report: complete without a network, honest, escaped, usable, and as Markdown."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from convexnovelty.checking.cross_check import Cell, CrossReport, Exemption
from convexnovelty.cli import main
from convexnovelty.errors import InputError
from convexnovelty.report import write_report
from convexnovelty.report.summary import digits_of, profiles

VOID = {"meta", "input", "br"}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def _cell(subject, solver, word="right", error=1e-9, solve=0.01, **more):
    return Cell(subject, solver, word, kind="QP", status="optimal", error=error, solve=solve, iterations=7, **more)


@pytest.fixture
def report():
    cells = [
        _cell("one_class_svm/a <script>/dual", "CLARABEL"),
        _cell("one_class_svm/a <script>/dual", "SCS", error=3e-5, word="short", solve=0.1, reason="3e-05 off"),
        _cell("one_class_svm/b/dual", "CLARABEL", solve=0.04),
        _cell("one_class_svm/b/dual", "SCS", "wrong optimal", 0.1, reason="the objective is 1e-01 outside"),
        _cell("soft_ball/c/primal", "CLARABEL", "hang", None, reason="did not end"),
        _cell("soft_ball/c/primal", "SCS", "not admitted", None),
    ]
    environment = {"solvers": ["CLARABEL", "SCS"], "versions": {"cvxpy": "1.9.3"}, "python": "3.11", "limits": {"s": 1}}
    return CrossReport(cells, environment, 12.0)


class _Page(HTMLParser):
    """Checks that tags nest, and collects links, ids and what could reach for a network."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids, self.outside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.outside += [v for k, v in attributes if k in ("src", "data") or (k == "href" and not v.startswith("#"))]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes nothing that is open"


def test_the_page_is_complete_well_formed_and_needs_no_network(report, tmp_path):
    path = tmp_path / "out.html"
    write_report(report, path)
    text = path.read_text(encoding="utf-8")
    page = _Page(text)
    assert page.open == []
    assert page.outside == []
    assert not re.search(r"https?://|@import|url\(", text)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids), "every link leads somewhere"
    assert "a <script>" not in text.split("<script>")[0], "names are escaped"
    assert "prefers-color-scheme:dark" in text
    assert "focus-visible" in text
    assert list(tmp_path.iterdir()) == [path], "nothing half-written is left"


def test_the_loudest_is_said_first_with_what_reproduces_it(report, tmp_path):
    write_report(report, tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text()
    assert "1 wrong answers or crashes that nothing explains" in text
    assert text.index('<th scope="col">wrong optimal') < text.index('<th scope="col">hang')
    assert "convexnovelty check --solver SCS --only &#x27;one_class_svm/b/dual&#x27;" in text
    report.exemptions = [Exemption("SCS", "b/dual", "wrong optimal", "known to fail here")]
    write_report(report, tmp_path / "out.html")
    again = (tmp_path / "out.html").read_text()
    assert "no wrong answer is left unexplained" in again
    assert "Known: known to fail here" in again


def test_markdown_says_the_same(report, tmp_path):
    write_report(report, tmp_path / "out.md")
    text = (tmp_path / "out.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| wrong optimal")]
    assert len(lines) == 1
    assert "`convexnovelty check --solver SCS --only 'one_class_svm/b/dual'`" in lines[0]
    assert "| cvxpy | 1.9.3 |" in text
    columns = {
        line.count("|") for line in text.splitlines() if line.startswith("| CLARABEL") or line.startswith("| SCS")
    }
    assert len(columns) == 1


def test_other_endings_are_refused_before_the_work(report, tmp_path, capsys):
    with pytest.raises(InputError, match=r"ends in \.html or \.md"):
        write_report(report, tmp_path / "out.pdf")
    assert main(["check", "--solver", "CLARABEL", "--only", "a/b/c", "--report", "out.pdf"]) == 2
    assert "ends in .html or .md" in capsys.readouterr().err


def test_profiles_are_shares_of_what_somebody_got_right(report):
    found = {p.solver: p for p in profiles(report.cells, ["CLARABEL", "SCS"])}
    assert found["CLARABEL"].problems == 2
    assert found["CLARABEL"].ratios == (1.0, 1.0)
    assert found["CLARABEL"].shares == (0.5, 1.0)
    assert found["SCS"].ratios == (), "short and wrong answers are never right"
    both = [_cell("p", "A", solve=0.01), _cell("p", "B", solve=0.05), _cell("q", "B", solve=1.0)]
    second = {p.solver: p for p in profiles(both, ["A", "B"])}
    assert second["B"].ratios == pytest.approx((1.0, 5.0))
    assert second["A"].shares == (0.5,)


def test_digits_are_those_of_the_error():
    assert digits_of(_cell("p", "A", error=1e-9)) == pytest.approx(9.0)
    assert digits_of(_cell("p", "A", error=0.0)) == 16.0
    assert digits_of(_cell("p", "A", "not admitted", None)) is None


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_runs_the_page(report, tmp_path):
    path = tmp_path / "out.html"
    write_report(report, path)
    # The page itself says how many rows its script shows: an error in the script would leave the place empty.
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    command = [BROWSER, *flags.split(), "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path}/p"]
    done = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    assert '<output id="count">3 problems</output>' in done.stdout, done.stderr[-500:]


def test_the_command_line_writes_both(tmp_path, capsys):
    page, cells, stream = tmp_path / "r.html", tmp_path / "r.json", tmp_path / "s.jsonl"
    arguments = ["--only", "one_class_svm/four points on a line/dual", "--json", str(cells), "--stream", str(stream)]
    assert main(["check", "--solver", "CLARABEL,SCS", *arguments, "--report", str(page), "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert "2 cells in" in told
    assert "2 right" in told
    assert page.is_file()
    assert cells.is_file()
    assert len(Path(stream).read_text().splitlines()) == 2


def test_solvers_are_listed(capsys):
    assert main(["solvers"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"CLARABEL +\S+ +permissive +LP QP SOCP SDP EXP POW", told)
    assert "pip install" in told
    assert main(["solvers", "--json"]) == 0
    import json

    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["CLARABEL"]["installed"]
    assert rows["MOSEK"]["licence"] == "commercial"
    assert rows["ECOS"]["installed"] or "solvers-gpl" in rows["ECOS"]["get"]
