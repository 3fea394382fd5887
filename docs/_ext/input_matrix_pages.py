"""The page of the input matrix: what every part of the package makes of bad and of unusual input.

The rows, the columns and the verdicts are those of the tests; the page only writes them down.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from text import folded, plain, table

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "input_matrix"

KEPT = FOLDER.parents[1] / ".pytest_cache" / "d" / "input_matrix"

PAGE = """# Input matrix

What the package makes of input that is wrong, unusual or at an edge: {count} cells, each of which was computed with
the code of this site and is asserted by the tests. A cell *works* with a right answer, or is *refused* by an error of the package
that names the argument, what was found and what would do. {faults}

## Points

Layouts and types of the same numbers must give the same answer as a plain float64 array; samples at an edge are held
against another way to the same number.

{points}
## Parameters

{parameters}
## The command line

{commands}"""


def _rows(job: tuple[str, int]) -> list[Any]:
    """The cells of one subject or call; runs in a process of its own."""
    sys.path.insert(0, str(FOLDER))
    import input_cells
    import input_doors
    import input_store
    import input_subjects

    group, index = job
    row = (input_subjects.POINT_SUBJECTS if group == "points" else input_doors.DOORS)[index]
    made = input_cells.point_cells if group == "points" else input_cells.door_cells
    # A run of the tests on the same code has computed them already.
    return input_store.kept(KEPT, f"{group} {row.name}") or list(made(row))


def _section(cells: Sequence[Any]) -> str:
    works = [cell for cell in cells if cell.verdict == "works"]
    refused = [cell for cell in cells if cell.verdict == "refused"]
    rows = [(plain(cell.argument), plain(cell.kind), "refused", plain(cell.message[:300])) for cell in refused]
    rows += [(plain(cell.argument), plain(cell.kind), "works", plain(cell.message)) for cell in works]
    title = f"{cells[0].subject}: {len(works)} work, {len(refused)} are refused"
    return folded(title, table(("Argument", "Input", "Verdict", "Message"), rows))


def _commands() -> list[Any]:
    sys.path.insert(0, str(FOLDER))
    import input_commands

    with tempfile.TemporaryDirectory() as folder:
        return [input_commands.command_cell(name, Path(folder)) for name in input_commands.COMMAND_CASES]


def pages(executor: Executor) -> Iterator[tuple[str, str]]:
    """The one page of this module; the cells are computed by the executor."""
    sys.path.insert(0, str(FOLDER))
    import input_cells
    import input_doors
    import input_subjects

    points = list(executor.map(_rows, [("points", i) for i in range(len(input_subjects.POINT_SUBJECTS))]))
    parameters = list(executor.map(_rows, [("parameters", i) for i in range(len(input_doors.DOORS))]))
    parameters = [cells for cells in parameters if cells]
    commands = _commands()
    known = [f"{name}, {kind}: {words}" for (name, kind), words in input_cells.KNOWN_FAULTS.items()]
    yield (
        "input_matrix.md",
        PAGE.format(
            count=sum(map(len, points)) + sum(map(len, parameters)) + len(commands),
            faults=f"Known faults: {plain('; '.join(known))}." if known else "",
            points="\n".join(map(_section, points)),
            parameters="\n".join(map(_section, parameters)),
            commands=_section(commands),
        ),
    )
