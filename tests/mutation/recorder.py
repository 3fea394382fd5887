"""A pytest plugin that notes which test reaches which line of the package, and how long each test computes.

``python -m pytest -p recorder --record FILE.json tests/methods/test_soft_ball.py``, with this folder in ``PYTHONPATH``;
``--keep PATTERN`` runs only tests whose name matches.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "convexnovelty"


def spent() -> float:
    """Seconds computed by this process and by those that it started and awaited."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", type=Path, required=True, help="the JSON file that is written")
    parser.addoption("--keep", default="", help="a regular expression for the names of tests")


class Recorder:
    """One context of coverage a test; what is reached outside of tests (imports) has none."""

    def __init__(self, out: Path, keep: str) -> None:
        self.keep, self.out, self.seconds, self.failed = keep, out, dict[str, float](), set[str]()
        self.coverage = coverage.Coverage(data_file=None, source=[str(PACKAGE)], config_file=False)
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if re.search(self.keep, item.nodeid)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = spent()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = spent() - start
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome != "passed":  # a test that is skipped or fails as it is can kill nothing
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        tests = {name: round(t, 3) for name, t in self.seconds.items() if name not in self.failed}
        number = {name: index for index, name in enumerate(tests)}
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            reached = {
                line: sorted(number[name] for name in names if name in number)
                for line, names in data.contexts_by_lineno(file).items()
            }
            lines[str(Path(file).relative_to(PACKAGE.parent))] = {k: v for k, v in reached.items() if v}
        self.out.write_text(json.dumps({"tests": tests, "lines": lines}))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(
        Recorder(config.getoption("--record"), config.getoption("--keep")), "recorder of lines"
    )
