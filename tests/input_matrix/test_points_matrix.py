"""Points: no cell of the input matrix fails, and none is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from input_cells import faults, point_cells
from input_kinds import KINDS
from input_store import store
from input_subjects import POINT_SUBJECTS, Subject


@pytest.mark.parametrize("subject", POINT_SUBJECTS, ids=lambda subject: subject.name)
def test_points(subject: Subject, matrix_folder: Path | None) -> None:
    cells = list(point_cells(subject))
    store(matrix_folder, f"points {subject.name}", cells)
    assert [cell.kind for cell in cells] == [kind.name for kind in KINDS]
    assert not faults(cells)
