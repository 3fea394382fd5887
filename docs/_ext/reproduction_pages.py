"""The part of the page of reproductions that no hand writes: it is read from the results that are kept in the repository.

``docs/results`` holds the JSON of one run of each reproduction, and beside it, in words, the likely reasons for what
differs. Numbers of ours stand in the JSON alone. A result that no longer fits what its file in the package declares, and
a difference without a word about it, stop the build.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from convexnovelty.reproductions import Cell, Reproduction, Result, catalogue
from convexnovelty.reproductions._result import half_width
from text import folded, plain, table

RESULTS = Path(__file__).resolve().parents[1] / "results"
UNFOLDED = 24

SECTION = """## {source}: {title}

`convexnovelty reproduce {name}`. {heading}.

{counts}

{claims}
{cells}
{reasons}
{choices}
"""


def outcomes(folder: Path = RESULTS) -> list[tuple[Reproduction, Result, str]]:
    """Each reproduction with its result and the words on it. Raises ValueError for one that is missing or out of date."""
    known = catalogue()
    if left := {path.stem for path in folder.iterdir()} - known.keys():
        raise ValueError(f"{folder}: {', '.join(sorted(left))}: no reproduction has this name")
    return [(found, *_outcome(folder, found)) for found in sorted(known.values(), key=lambda f: (f.source, f.name))]


def _outcome(folder: Path, found: Reproduction) -> tuple[Result, str]:
    # with_suffix would take the ".1" of "table-8.1" for a suffix.
    result = Result.read_json(folder / f"{found.name}.json")
    declared = [(cell.row, cell.column, cell.value) for cell in found.printed]
    if [(cell.row, cell.column, cell.printed) for cell in result.cells] != declared:
        raise ValueError(f"{found.name}: its cells are not those of the kept result; run it again")
    if [answer.text for answer in result.answers] != [claim.text for claim in found.claims]:
        raise ValueError(f"{found.name}: its claims are not those of the kept result; run it again")
    if result.quick:
        raise ValueError(f"{found.name}: a quick run is kept; run it without --quick")
    words = folder / f"{found.name}.md"
    reasons = words.read_text(encoding="utf-8").strip() if words.exists() else ""
    if not reasons and (differing(result) or any(answer.verdict != "holds" for answer in result.answers)):
        raise ValueError(f"{found.name}: something differs from the paper, and {words.name} does not say why")
    return result, reasons


def differing(result: Result) -> list[Cell]:
    """The cells that differ from print: by more than two standard errors, or after rounding where there are none."""
    return [cell for cell in result.cells if not result.agrees(cell)]


def _number(value: float, unit: str) -> str:
    if math.isnan(value):
        return "–"
    return f"{100 * value:.1f}" if unit == "%" else f"{value:.3g}"


def _with_interval(cell: Cell, unit: str) -> str:
    low, high = (_number(end, unit) for end in cell.interval)
    return _number(cell.mean, unit) + ("" if low == "–" else f" [{low}, {high}]")


def _deviation(cell: Cell, result: Result) -> str:
    deviation = cell.deviation(result.printed_over)
    if cell.printed is None:
        return ""
    if math.isnan(deviation):
        return "" if result.agrees(cell) else "**differs**"
    told = f"{deviation:+.1f}" if math.isfinite(deviation) else "no scatter"
    return told if result.agrees(cell) else f"**{told}**"


def cells(result: Result) -> str:
    """Ours against the printed figures, folded where they are many."""
    rows, above = [], ""
    for cell in result.cells:
        rows.append(
            (
                "" if cell.row == above else plain(cell.row),
                plain(cell.column),
                "" if cell.printed is None else _number(cell.printed, result.unit),
                _with_interval(cell, result.unit),
                str(cell.repetitions),
                _deviation(cell, result),
            )
        )
        above = cell.row
    made = table(("Row", "Column", "Printed", "Ours [95 %]", "n", "Difference in s.e."), rows)
    return made if len(rows) <= UNFOLDED else folded(f"{len(rows)} cells, one by one", made)


def claims(result: Result) -> str:
    """What the paper says, and what the repetitions say of it."""
    rows = []
    for answer in result.answers:
        doubt = half_width(answer.standard_error, answer.repetitions)
        told = "–" if math.isnan(answer.contrast) else f"{answer.contrast:.3f}"
        told += "" if math.isnan(doubt) else f" ± {doubt:.3f}"
        rows.append((plain(answer.text), told, str(answer.repetitions), answer.verdict))
    return table(("Claim", "Contrast ± 95 %", "n", "Answer"), rows)


def _counts(result: Result) -> str:
    printed = [cell for cell in result.cells if cell.printed is not None]
    verdicts = Counter(answer.verdict for answer in result.answers)
    told = ", ".join(f"{verdicts[verdict]} {words}" for verdict, words in WORDS.items() if verdicts[verdict])
    agreeing = len(printed) - len(differing(result))
    compared = f"{agreeing} of {len(printed)} printed numbers agree. " if printed else "No number is printed. "
    return f"{compared}Of {len(result.answers)} claims: {told}."


WORDS = {"holds": "hold", "does not hold": "do not hold", "not decided": "are not decided"}


def _paragraphs(docstring: str) -> str:
    """A docstring without its first paragraph; its lists are Markdown already."""
    rest = docstring.split("\n\n", 1)[1] if "\n\n" in docstring else docstring
    return "\n".join(line.replace("*", r"\*").replace("<", r"\<").replace("|", r"\|") for line in rest.splitlines())


def summary(found: list[tuple[Reproduction, Result, str]]) -> str:
    """One line for each reproduction."""
    rows = []
    for reproduction, result, _ in found:
        printed = sum(cell.printed is not None for cell in result.cells)
        verdicts = Counter(answer.verdict for answer in result.answers)
        rows.append(
            (
                plain(reproduction.source),
                f"`{reproduction.name}`",
                f"{result.repetitions} of {result.in_full}",
                f"{printed - len(differing(result))} of {printed}" if printed else "none printed",
                *(str(verdicts[verdict]) for verdict in WORDS),
            )
        )
    headings = ("Source", "Name", "Repetitions", "Cells that agree", "Claims that hold", "do not", "undecided")
    return table(headings, rows)


def sections(found: list[tuple[Reproduction, Result, str]]) -> Iterator[str]:
    """Each reproduction: claims and answers, cells, reasons, protocol and choices."""
    for reproduction, result, reasons in found:
        yield SECTION.format(
            title=plain(reproduction.title),
            source=plain(reproduction.source),
            name=reproduction.name,
            heading=plain(result.heading[0].upper() + result.heading[1:]),
            counts=_counts(result),
            claims=claims(result),
            cells=cells(result),
            reasons=f"### What differs, and why: {reproduction.name}\n\n{reasons}\n" if reasons else "",
            choices=folded("Protocol as printed, and what was chosen", _paragraphs(reproduction.choices)),
        )


def pages() -> Iterator[tuple[str, str]]:
    """The one file of this module, which ``docs/reproductions.md`` includes."""
    found = outcomes()
    yield "included/reproductions.md", "\n".join([summary(found), *sections(found)])
