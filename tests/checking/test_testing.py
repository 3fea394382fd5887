"""The suite for authors of solvers: passes, fails with what reproduces it, strict and reasoned exemptions."""

from __future__ import annotations

from pathlib import Path

import pytest

import convexnovelty as cn
from convexnovelty.errors import InputError
from convexnovelty.testing import SuiteFailure, problems, run_suite

LIARS = Path(__file__).with_name("lying_solvers.py")
SOME = ["one_class_svm/four points on a line/dual", "one_class_svm/four points on a line/primal"]


def test_an_honest_solver_passes():
    report = cn.testing.run_suite(f"{LIARS}:honest", problems=SOME)
    assert report.passed
    assert [cell.word for cell in report.cells] == ["right", "right"]


def test_a_liar_fails_with_the_command_that_shows_it():
    with pytest.raises(SuiteFailure, match="wrong optimal: one_class_svm/four points") as caught:
        run_suite(f"{LIARS}:boasting", problems=SOME)
    assert "convexnovelty check --solver" in str(caught.value)
    assert isinstance(caught.value, AssertionError), "test runners count it as a failure"
    assert len(caught.value.report.cells) == 2


def test_exemptions_need_a_reason_and_must_be_needed():
    liar = f"{LIARS}:says_infeasible"
    run = {"problems": [SOME[0], "single_class_mpm/past the largest confidence/socp"]}
    run_suite(liar, exempt={"four points": "it says so of everything"}, **run)
    with pytest.raises(InputError, match="has no reason"):
        run_suite(liar, exempt={"four points": " "}, **run)
    with pytest.raises(SuiteFailure, match=r"'soft_ball' .* was not needed"):
        run_suite(liar, exempt={"four points": "as before", "soft_ball": "long ago"}, **run)


def test_nothing_tested_is_no_success():
    with pytest.raises(SuiteFailure, match="not one answer is right"):
        run_suite("OSQP", problems=["single_class_mpm/mean (3, 4), unit covariance/socp"])


def test_problems_are_named():
    found = problems("one_class_svm")
    assert set(SOME) <= set(found)
    assert len(found) == len(set(found))


ALTERED = """
import numpy as np
from convexnovelty.testing import Answer


def mine(program, options):
    found = program.solve()
    return Answer("optimal", np.array(found.x) * {x}, np.array(found.z) * {z})
"""


def altered(folder, x="1.0", z="1.0"):
    file = folder / "solver.py"
    file.write_text(ALTERED.format(x=x, z=z))
    return f"{file}:mine"


def test_a_stream_forgets_a_solver_whose_code_has_changed(tmp_path):
    run = {"problems": SOME[:1], "stream": tmp_path / "cells"}
    assert run_suite(altered(tmp_path), **run).cells == run_suite(altered(tmp_path), **run).cells
    with pytest.raises(SuiteFailure, match="wrong optimal"):
        run_suite(altered(tmp_path, x="1.5"), **run)
    assert run_suite(altered(tmp_path), **run).passed
    assert len((tmp_path / "cells").read_text().splitlines()) == 2
    (tmp_path / "helper.py").write_text("")  # what the solver may import from beside it
    run_suite(altered(tmp_path), **run)
    assert len((tmp_path / "cells").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("z", "word"), [("-1.0", "wrong multipliers"), ("50.0", "wrong multipliers"), ("np.nan", "not a number")]
)
def test_multipliers_are_judged(tmp_path, z, word):
    for strict in (True, False):
        with pytest.raises(SuiteFailure, match=word):
            run_suite(altered(tmp_path, z=z), problems=SOME[:1], strict=strict)


@pytest.mark.parametrize("x", ["(1 + 1e-3j)", "np.ones((2, 1))"])
def test_points_that_are_no_vectors_of_real_numbers_are_errors(tmp_path, x):
    with pytest.raises(SuiteFailure, match="real numbers, one for each of the program's variables"):
        run_suite(altered(tmp_path, x=x), problems=SOME[:1])
