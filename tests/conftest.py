"""What all tests share: one thread a process, reproducible random numbers, and the optional folder of data sets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

# The tests run in several processes. This must happen before NumPy loads its BLAS, hence above the other imports.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA_VARIABLE = "CONVEXNOVELTY_DATA"

# The same examples in every run: what fails on one machine fails on all. No deadline, since a first solve compiles, and a
# busy machine is no fault either.
hypothesis.settings.register_profile(
    "reproducible", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("reproducible")


def data_folder_or_reason() -> tuple[Path | None, str]:
    """The folder of optional data sets, or None and the sentence that says why there is none.

    The environment variable ``CONVEXNOVELTY_DATA`` names it; without the variable it is ``../shared/data`` beside
    the repository, if that exists.
    """
    named = os.environ.get(DATA_VARIABLE)
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder, ""
    if named:
        return None, f"{DATA_VARIABLE} names {named}, which is not a folder"
    return None, f"the optional data sets are not here: set {DATA_VARIABLE} to the folder that holds them"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of optional data sets; the test is skipped, with the reason, where there is none."""
    folder, reason = data_folder_or_reason()
    if folder is None:
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def data_file(data_folder: Path) -> Callable[[str], Path]:
    """A function from the name of a data file to its path; the test is skipped where that file is absent."""

    def path(name: str) -> Path:
        found = data_folder / name
        if not found.is_file():
            pytest.skip(f"the optional data file {name} is not in {data_folder}")
        return found

    return path


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, fresh for each test, so that no test depends on which ran before it."""
    return np.random.default_rng(20260103)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT
