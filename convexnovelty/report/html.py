"""The report as one HTML file: no network, light and dark, usable with a keyboard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from convexnovelty.checking.cross_check import Cell, CrossReport
from convexnovelty.checking.verdict import LOUD, ORDER, WORDS
from convexnovelty.report import figures
from convexnovelty.report.markdown import counts
from convexnovelty.report.summary import CLASSES, classes_of, digits_of, label, profiles, solvers_of

__all__ = ["page"]

# What is written in a cell of the matrix that has no digits to show.
SHORT = {
    "wrong optimal": "WRONG",
    "wrong infeasible": "WRONG inf",
    "wrong unbounded": "WRONG unb",
    "not a number": "NaN",
    "crash": "crash",
    "hang": "hang",
    "out of memory": "memory",
    "error": "error",
    "stopped": "limit",
    "undecided": "?",
    "inaccurate": "inacc",
    "no reference": "–",
    "out of scope": "–",
    "not admitted": "",
}


def page(report: CrossReport) -> str:
    """The whole report."""
    place = files("convexnovelty.report")
    style = place.joinpath("report.css").read_text(encoding="utf-8")
    script = place.joinpath("report.js").read_text(encoding="utf-8")
    names = solvers_of(report)
    loud = report.unexplained
    told = (
        f"{len(loud)} wrong answers or crashes that nothing explains" if loud else "no wrong answer is left unexplained"
    )
    numbers = {cell: i for i, cell in enumerate(report.disagreements)}
    sections = [
        ("counts", "Counts", _counts(report)),
        ("matrix", "Every solver on every problem", _matrix(report, names, numbers)),
        ("disagreements", "Disagreements", _disagreements(report, numbers)),
        ("profiles", "Time at equal accuracy", _profiles(report, names)),
        ("scatter", "Accuracy against time", _scatter(report, names)),
        ("environment", "Environment", _environment(report)),
    ]
    links = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title, _ in sections)
    body = "".join(f'<section id="{key}"><h2>{escape(title)}</h2>{text}</section>' for key, title, text in sections)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>Solver cross-check</title><style>{style}</style></head><body>"
        '<a class="skip" href="#matrix">Skip to the matrix</a>'
        '<header><h1>Solver cross-check</h1><button id="theme" type="button">Dark or light</button></header>'
        f'<p class="lead {"bad" if loud else "good"}">{escape(report.summary)}; {escape(told)}.</p>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main>{body}</main><script>{script}</script></body></html>\n'
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table of escaped text whose first column heads its rows."""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in headings)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(t)}</td>" for t in row[1:]) + "</tr>"
        for row in rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="wide" tabindex="0"><table>{told}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _counts(report: CrossReport) -> str:
    words = [word for word in ORDER if any(c.word == word for c in report.cells)]
    meaning = "".join(f"<dt>{escape(word)}</dt><dd>{escape(WORDS[word])}</dd>" for word in words)
    return _table(*counts(report)) + f"<details><summary>What the words mean</summary><dl>{meaning}</dl></details>"


def _shade(cell: Cell) -> str:
    """The class that colours a cell: one of ten steps of accuracy, or a word."""
    if cell.word in LOUD:
        return "wrong"
    if cell.word in ("hang", "out of memory", "error", "stopped", "undecided", "inaccurate"):
        return "gave-up"
    digits = digits_of(cell)
    if digits is None:
        return "right-word" if cell.word == "right" else "none"
    return f"d{min(9, max(0, round(digits) - 3))}"


def _matrix(report: CrossReport, names: Sequence[str], numbers: dict[Cell, int]) -> str:
    by_subject: dict[str, dict[str, Cell]] = {}
    for cell in report.cells:
        by_subject.setdefault(cell.subject, {})[cell.solver] = cell
    head = "".join(f'<th scope="col">{escape(label(n))}</th>' for n in names)
    rows, group = [], ""
    for subject, cells in by_subject.items():
        method, _, rest = subject.partition("/")
        if method != group:
            group = method
            rows.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(names) + 2}">{escape(method)}</th></tr>')
        first = next(iter(cells.values()))
        shown = "".join(_matrix_cell(cells.get(name), numbers) for name in names)
        title = escape(rest)
        rows.append(
            f'<tr data-name="{escape(subject)}"><th scope="row" title="{title}">{title}</th>'
            f"<td>{escape(first.kind)}</td>{shown}</tr>"
        )
    steps = "".join(f'<span class="cell d{i}">{i + 3}{"+" if i == 9 else ""}</span>' for i in range(10))
    key = (
        f'<p class="key">Right digits of the objective, from the distance to the proved interval: {steps} '
        '<span class="cell wrong">WRONG</span> <span class="cell gave-up">gave up</span> '
        '<span class="cell none">–</span> not judged; empty: class not taken.</p>'
    )
    search = (
        '<p class="filter"><label>Show problems whose name contains <input id="filter" type="search"></label> '
        '<label><input id="only" type="checkbox"> only rows with a disagreement</label> '
        '<output id="count"></output></p>'
    )
    table = (
        '<div class="wide tall" tabindex="0" role="region" aria-label="Matrix of solvers and problems">'
        f'<table class="matrix"><thead><tr><th scope="col">problem</th><th scope="col">class</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return key + search + table


def _matrix_cell(cell: Cell | None, numbers: dict[Cell, int]) -> str:
    if cell is None:
        return '<td class="none"></td>'
    digits = digits_of(cell)
    text = SHORT.get(cell.word) or ("ok" if digits is None else f"{digits:.0f}")
    if cell.word == "not admitted":
        return '<td class="none" title="the solver does not take this class"></td>'
    told = f"{label(cell.solver)}: {cell.word}" + (f", {cell.reason}" if cell.reason else "")
    told += f"; {1e3 * cell.solve:.1f} ms, {cell.iterations} iterations" if cell.solve else ""
    inside = escape(text)
    if cell in numbers:
        inside = f'<a href="#d{numbers[cell]}">{inside}<span class="hidden">: {escape(cell.word)}</span></a>'
    return f'<td class="cell {_shade(cell)}" title="{escape(told)}">{inside}</td>'


def _disagreements(report: CrossReport, numbers: dict[Cell, int]) -> str:
    if not numbers:
        return "<p>None: every answer is right.</p>"
    rows = []
    for cell, i in numbers.items():
        excuse = report.excuse(cell)
        known = f"<br><em>Known: {escape(excuse.reason)}</em>" if excuse else ""
        loud = "wrong" if cell.word in LOUD else "gave-up" if cell.word != "short" else "d4"
        rows.append(
            f'<tr id="d{i}" tabindex="-1"><th scope="row"><span class="cell {loud}">{escape(cell.word)}</span></th>'
            f"<td>{escape(label(cell.solver))}</td><td>{escape(cell.subject)}<br><small>{escape(cell.reason)}</small>{known}</td>"
            f'<td><code>{escape(cell.command)}</code> <button type="button" class="copy">Copy</button></td></tr>'
        )
    left = "".join(
        f'<p class="bad">An exemption is no longer needed: {escape(e.solver)}, {escape(e.subject)} ({escape(e.reason)}).</p>'
        for e in report.unneeded
    )
    head = "".join(f'<th scope="col">{h}</th>' for h in ("verdict", "solver", "problem and reason", "reproduce"))
    return (
        f'{left}<div class="wide tall" tabindex="0" role="region" aria-label="Disagreements"><table class="list">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _profiles(report: CrossReport, names: Sequence[str]) -> str:
    charts = []
    for kind in CLASSES:
        cells = [c for c in report.cells if classes_of(c) == kind]
        found = profiles(cells, names)
        if any(p.ratios for p in found):
            title = f"{kind}: {max(p.problems for p in found)} problems"
            charts.append(
                f"<figure><figcaption>{title}</figcaption>{figures.profile_chart(title, found, names)}</figure>"
            )
    told = (
        "<p>Performance profiles (Dolan and Moré, 2002): the share of problems that a solver got right within a multiple of "
        "the time of the fastest one. All were asked for the same accuracy; an answer that is not right counts as never.</p>"
    )
    return told + figures.legend(names) + f'<div class="charts">{"".join(charts)}</div>'


def _scatter(report: CrossReport, names: Sequence[str]) -> str:
    chart = figures.accuracy_against_time(report.cells, names)
    return figures.legend(names) + f'<div class="charts"><figure class="large">{chart}</figure></div>'


def _environment(report: CrossReport) -> str:
    environment = report.environment
    rows = [[name, version] for name, version in environment.get("versions", {}).items()]
    rows += [
        [key, str(environment[key])] for key in ("python", "system", "machine", "processors") if key in environment
    ]
    rows += [[f"limit: {key}", str(value)] for key, value in environment.get("limits", {}).items()]
    data = json.dumps(environment, indent=1, ensure_ascii=False)
    return _table(["what", "value"], rows) + f"<details><summary>As JSON</summary><pre>{escape(data)}</pre></details>"
