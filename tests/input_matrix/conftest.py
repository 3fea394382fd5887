"""The declarations of the matrix, importable by their names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def matrix_folder(request: pytest.FixtureRequest) -> Path | None:
    """Where cells are kept between runs; None where pytest keeps nothing."""
    cache = getattr(request.config, "cache", None)
    return None if cache is None else Path(cache.mkdir("input_matrix"))
