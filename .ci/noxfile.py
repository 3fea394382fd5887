"""The tests on the oldest and on the newest admitted versions of what the package needs: ``python -m nox -f .ci/noxfile.py``.

The bounds are those of pyproject.toml. A Python that is not installed is named and skipped. Without arguments, the
newest versions are tried on the newest Python only (``-s newest-3.12`` is another), and not on the one that runs nox,
since the commands of the README do that; and of the tests those run that depend most on other packages. Arguments
after ``--`` go to pytest instead: ``-- tests`` is all of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import nox
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRA = "test"

# What rests on other packages most, in half a minute: arrays and sparse matrices, data frames, compiled loops, programs
# and their cones, files, and one method from end to end.
TESTS = (
    "tests/test_namespace.py",
    "tests/test_features.py",
    "tests/test_moments.py",
    "tests/test_kernels.py",
    "tests/test_sparse_gram_of_rows.py",
    "tests/test_frames.py",
    "tests/test_persistence.py",
    "tests/test_conic.py",
    "tests/methods/test_soft_ball.py",
)

PREFIX = "Programming Language :: Python :: "
PYTHONS = [name.removeprefix(PREFIX) for name in PYPROJECT["classifiers"] if name.startswith(PREFIX + "3.")]


def lowest(requirements: Iterable[str]) -> list[str]:
    """The lower bound of each requirement as the only version admitted; ValueError for one that has no such bound."""
    pins = []
    for requirement in map(Requirement, requirements):
        bounds = [part.version for part in requirement.specifier if part.operator in (">=", "==")]
        if len(bounds) != 1:
            raise ValueError(f"pyproject.toml: {requirement} has no lower bound to be tried")
        pins.append(f"{requirement.name}=={bounds[0]}")
    return pins


def offer_pyenv() -> None:
    """Let pyenv's command ``python3.x`` start the newest 3.x that it has, whichever the user chose as the default."""
    if shutil.which("pyenv") is None:
        return
    listing = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False).stdout
    found = {}
    for version in sorted((line for line in listing.split() if line.replace(".", "").isdigit()), key=Version):
        found[version.rpartition(".")[0]] = version
    if chosen := [found[python] for python in PYTHONS if python in found]:
        os.environ["PYENV_VERSION"] = ":".join(chosen)


def run_tests(session: nox.Session, *options: str) -> None:
    """Install the package for its tests, say with which versions, and run them."""
    home = Path(session.virtualenv.location).resolve()
    session.chdir(ROOT)
    # Only what is imported needs to be compiled, and Python does that itself.
    session.install("--no-compile", "-e", f".[{EXTRA}]", *options)
    versions = (
        "from importlib.metadata import version; import platform; print('Python ' + platform.python_version(), *("
        "f'{name} {version(name)}' for name in ('cvxpy', 'numpy', 'scipy', 'scikit-learn', 'numba')), sep=', ')"
    )
    session.run("python", "-c", versions)
    tests = session.posargs or ["-n", "0", *TESTS]
    # What one version of Numba compiled is of no use to another.
    env = {"NUMBA_CACHE_DIR": str(home / "numba"), "PYTHONDONTWRITEBYTECODE": ""}
    # Nothing is kept beside what other runs of the tests keep for the documentation.
    session.run("python", "-m", "pytest", "-p", "no:cacheprovider", *tests, env=env)


offer_pyenv()
nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = False


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """The lower bounds of all requirements, on the oldest Python."""
    constraints = Path(session.virtualenv.location).resolve() / "lowest.txt"
    pins = lowest([*PYPROJECT["dependencies"], *PYPROJECT["optional-dependencies"][EXTRA]])
    constraints.write_text("\n".join(pins) + "\n")
    run_tests(session, "--constraint", str(constraints))


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """The newest versions that the bounds admit, on each Python."""
    run_tests(session, "--upgrade", "--upgrade-strategy", "eager")


RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
# The ends of the range; what lies between is for a run by hand.
nox.options.sessions = ["oldest", *(f"newest-{python}" for python in PYTHONS[-1:] if python != RUNNING)]
