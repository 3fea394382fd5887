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
