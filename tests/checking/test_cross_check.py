"""Cross-checks: liars are caught by name, cells end alone, streams resume, the real traps of real solvers show."""

from __future__ import annotations

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from convexnovelty import solvers
from convexnovelty.checking import sandbox
from convexnovelty.checking.cell import Subject, subject_named
from convexnovelty.checking.cross_check import Exemption, Limits, available, cross_check
from convexnovelty.checking.enclosure import Enclosure, enclose
from convexnovelty.checking.mirror import Mirror, ask
from convexnovelty.checking.verdict import LOUD, ORDER, judge
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import InputError

LIARS = Path(__file__).with_name("lying_solvers.py")
LINE = subject_named("one_class_svm/four points on a line/dual")
CONE = subject_named("single_class_mpm/mean (3, 4), unit covariance/socp")
PAST = subject_named("single_class_mpm/past the largest confidence/socp")

CAUGHT = {
    "honest": "right",
    "perturbed": "wrong optimal",
    "boasting": "wrong optimal",
    "suboptimal": "wrong optimal",
    "says_infeasible": "wrong infeasible",
    "says_unbounded": "wrong unbounded",
    "always_optimal": "wrong optimal",
    "nearly_optimal": "inaccurate",
    "optimal_without_a_point": "wrong optimal",
    "not_a_number": "not a number",
    "hangs": "hang",
    "crashes": "crash",
    "leaves": "crash",
    "devours": "out of memory",
    "raises": "error",
    "wrong_type": "error",
    "stops": "stopped",
}


@pytest.fixture(scope="module")
def lies():
    """One run of all liars on one problem."""
    names = [f"{LIARS}:{name}" for name in CAUGHT]
    report = cross_check([LINE], solver=names, limits=Limits(seconds=3.0, memory=2**30), jobs=1, exemptions=())
    return report, {cell.solver.rpartition(":")[2]: cell for cell in report.cells}


@pytest.mark.parametrize("name", CAUGHT)
def test_each_lie_is_caught_by_its_own_word(lies, name):
    cell = lies[1][name]
    assert cell.word == CAUGHT[name], cell
    assert cell.reason or cell.word == "right"


def test_every_liar_of_the_file_is_tried(lies):
    import importlib.util

    specification = importlib.util.spec_from_file_location("liars", LIARS)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    there = {n for n, f in vars(module).items() if getattr(f, "__module__", "") == "liars" and not n.startswith("_")}
    assert there == set(CAUGHT)


def test_the_loudest_comes_first_and_fails_the_run(lies):
    report = lies[0]
    words = [cell.word for cell in report.disagreements]
    assert words == sorted(words, key=ORDER.__getitem__)
    assert words[0] == "wrong optimal"
    assert not report.passed
    assert {cell.word for cell in report.unexplained} <= set(LOUD)
    assert "wrong optimal" in report.summary.split(":")[1].split(",")[0]


def test_no_infeasibility_detection_is_caught():
    names = [f"{LIARS}:{name}" for name in ("always_optimal", "nearly_optimal", "says_infeasible", "says_unbounded")]
    report = cross_check([PAST], solver=["CLARABEL", *names], jobs=1, exemptions=())
    words = {cell.solver.rpartition(":")[2]: cell.word for cell in report.cells}
    assert words == {
        "CLARABEL": "right",
        "always_optimal": "wrong optimal",
        "nearly_optimal": "inaccurate",
        "says_infeasible": "right",
        "says_unbounded": "wrong unbounded",
    }


def test_exemptions_are_strict_and_reasoned(lies):
    liar = f"{LIARS}:says_infeasible"
    expected = Exemption(liar, "four points", "wrong infeasible", "it says so of everything")
    excused = cross_check([LINE], solver=["CLARABEL", liar], jobs=1, exemptions=[expected])
    assert excused.passed
    assert excused.excuse(excused.disagreements[0]) is expected
    idle = Exemption("CLARABEL", "four points", "wrong optimal", "no longer so")
    left = cross_check([LINE], solver=["CLARABEL", liar], jobs=1, exemptions=[expected, idle])
    assert not left.passed
    assert left.unneeded == [idle]


def test_a_run_resumes_where_it_was_cut(tmp_path):
    stream = tmp_path / "cells.jsonl"
    first = cross_check([LINE], solver=["CLARABEL", "SCS"], jobs=1, stream=stream)
    text = stream.read_text()
    assert len(text.splitlines()) == 2
    stream.write_text(text[: len(text) - 40])  # cut in the middle of the last line
    seen = []
    again = cross_check(
        [LINE, CONE], solver=["CLARABEL", "SCS"], jobs=1, stream=stream, progress=lambda *told: seen.append(told)
    )
    assert len(again.cells) == 4
    assert [told[:2] for told in seen] == [(1, 2), (2, 2)]
    kept = next(c for c in again.cells if c.solver == "CLARABEL" and c.subject == LINE.key)
    assert kept == next(c for c in first.cells if c.solver == "CLARABEL"), "this one was not run again"
    third = cross_check([LINE, CONE], solver=["CLARABEL", "SCS"], jobs=1, stream=stream)
    assert sorted(c.total for c in third.cells) == sorted(c.total for c in again.cells)
    lines = [json.loads(line) for line in stream.read_text().splitlines() if line.endswith("}")]
    assert {(line["subject"], line["solver"]) for line in lines} >= {(CONE.key, "SCS"), (LINE.key, "SCS")}


def test_other_limits_are_another_run(tmp_path):
    stream = tmp_path / "cells.jsonl"
    cross_check([LINE], solver=["CLARABEL"], jobs=1, stream=stream)
    cross_check([LINE], solver=["CLARABEL"], jobs=1, stream=stream, limits=Limits(accuracy=1e-6))
    assert len(stream.read_text().splitlines()) == 2


def test_any_executor_runs_it():
    with ThreadPoolExecutor(2) as pool:
        report = cross_check([LINE, CONE], solver="clarabel,scs", executor=pool)
    assert report.passed
    assert [c.word for c in report.cells] == ["right"] * 4
    assert all(c.solve > 0 and c.compile > 0 and c.build > 0 and c.iterations > 0 for c in report.cells)


def test_what_a_solver_does_not_take_is_not_a_fault():
    report = cross_check([CONE], solver=["OSQP", "CLARABEL"], jobs=1)
    assert {c.solver: c.word for c in report.cells} == {"OSQP": "not admitted", "CLARABEL": "right"}
    assert [c.solver for c in report.disagreements] == []


def test_wrong_names_are_refused():
    with pytest.raises(InputError, match="'NOSUCH' is not installed"):
        available("NOSUCH")
    with pytest.raises(InputError, match="write method/instance/node"):
        subject_named("nonsense")
    with pytest.raises(InputError, match="has no nobody"):
        available(f"{LIARS}:nobody")
    report = cross_check([Subject("one_class_svm", "nowhere", "dual")], solver="CLARABEL", jobs=1)
    assert report.cells[0].word == "no reference"
    assert "no instance and no case" in report.cells[0].reason
    assert not report.passed


# -- the sandbox -----------------------------------------------------------------------------------------------------


def test_a_call_ends_alone():
    assert sandbox.run("math:sqrt", (4.0,), seconds=10).value == 2.0
    assert sandbox.run("math:sqrt", (-4.0,), seconds=10).story.startswith("ValueError")
    assert sandbox.run("time:sleep", (60,), seconds=0.5).kind == "hang"
    assert "SIGABRT" in sandbox.run("os:abort", (), seconds=10).story
    assert sandbox.run("numpy:ones", ((10**5, 10**5),), seconds=10, memory=10**8).kind == "out of memory"
    assert sandbox.run("math:sqrt", (9.0,), seconds=10).value == 3.0, "the server lives on"


# -- verdicts --------------------------------------------------------------------------------------------------------


def _answer(status="optimal", objective=1.0, reported=None, violation=0.0):
    return {"status": status, "objective": objective, "reported": reported, "violation": violation}


def test_verdicts_are_measured_from_the_ends_of_the_interval():
    proved = Enclosure(1.0, 1.0 + 1e-9)
    assert judge(_answer(objective=1.0 + 5e-10), proved, 1.0, 1e-8).word == "right"
    assert judge(_answer(objective=1.0 - 5e-9), proved, 1.0, 1e-8).word == "right"
    assert judge(_answer(objective=1.0 - 5e-8), proved, 1.0, 1e-8).word == "short"
    assert judge(_answer(objective=0.999), proved, 1.0, 1e-8).word == "wrong optimal"
    assert judge(_answer(violation=1e-3), proved, 1.0, 1e-8).word == "wrong optimal"
    assert judge(_answer(reported=2.0), proved, 1.0, 1e-8).word == "wrong optimal"
    assert judge(_answer(objective=math.inf), proved, 1.0, 1e-8).word == "not a number"
    assert judge(_answer(), Enclosure(), 1.0, 1e-8).word == "no reference"


def test_infeasible_is_refuted_by_a_feasible_point_alone():
    assert judge(_answer("infeasible", None), Enclosure(upper=3.0), 1.0, 1e-8).word == "wrong infeasible"
    assert judge(_answer("infeasible", None), Enclosure(lower=3.0), 1.0, 1e-8).word == "no reference"
    assert judge(_answer("unbounded", None), Enclosure(lower=3.0), 1.0, 1e-8).word == "wrong unbounded"
    assert judge(_answer("infeasible_or_unbounded", None), Enclosure(1.0, 1.0), 1.0, 1e-8).word == "undecided"
    # The word for "no solution yet" of some solvers at a time limit.
    assert judge(_answer("infeasible_inaccurate", None), Enclosure(1.0, 1.0), 1.0, 1e-8).word == "undecided"


# -- real traps ------------------------------------------------------------------------------------------------------


def _program(problem):
    return ConicProgram.from_problem(problem)


def _installed(name):
    if name not in cp.installed_solvers():
        pytest.skip(f"{name} is not installed")


def _told(name, program, options=None):
    """The word for a solver's answer on a program."""
    import pickle
    import tempfile

    from convexnovelty.checking.cell import answer_of  # the same measuring as in a cell

    with tempfile.NamedTemporaryFile() as file:
        file.write(pickle.dumps(program))
        file.flush()
        asked = solvers.known()[name].asked(1e-8, 20.0) if options is None else options
        answer = answer_of(file.name, name, asked, 1.0)
    return judge(answer, enclose(program), 1.0, solvers.known()[name].accuracy), answer


def _one_class(n=4, nu=0.5):
    points = np.arange(1.0, n + 1)[:, None]
    a = cp.Variable(n)
    objective = 0.5 * cp.quad_form(a, cp.psd_wrap(points @ points.T))
    return cp.Problem(cp.Minimize(objective), [a >= 0, a <= 1 / (nu * n), cp.sum(a) == 1])


def test_a3_scs_calls_a_limit_optimal_inaccurate_and_is_told_apart():
    verdict, answer = _told("SCS", _program(_one_class()), {"max_iters": 5})
    assert answer["status"] == "optimal_inaccurate"
    assert verdict.word == "inaccurate"
    assert verdict.error > 0.1, "the error that its status hides"


def test_b22_three_solvers_agree_on_a_wrong_value_and_all_are_caught():
    x = 1e-6 * np.arange(1.0, 5.0)[:, None]
    a = cp.Variable(4)
    objective = 0.5 * cp.quad_form(a, cp.psd_wrap(x @ x.T))
    program = _program(cp.Problem(cp.Minimize(objective), [a >= 0, a <= 0.5, cp.sum(a) == 1]))
    proved = enclose(program)
    values = {name: program.objective(ask(name, program, {}).x) for name in ("CLARABEL", "SCS", "OSQP")}
    assert all(v == pytest.approx(3.125e-12, rel=0.1) for v in values.values()), "they agree"
    assert all(proved.distance(v) > 1e-12 for v in values.values()), "and are wrong, which the interval shows"


@pytest.mark.parametrize("name", ["DAQP", "CVXOPT", "QOCO", "PROXQP"])
def test_a3_options_that_would_be_ignored_are_refused(name):
    row = solvers.known()[name]
    with pytest.raises(InputError, match=r"nonsense would be ignored in silence"):
        solvers.check_options(row, {"nonsense": 1})
    solvers.check_options(row, dict(row.options(1e-8)))
    if name in cp.installed_solvers():
        answer = ask(name, _program(_one_class()), {"nonsense": 1})
        assert answer.status == "optimal", "the solver itself says nothing of it"


def test_a3_polishing_is_kept_on_the_second_solve():
    cap = cp.Parameter(nonneg=True, value=0.5)
    rng = np.random.default_rng(0)
    F = rng.standard_normal((40, 5)) + 1
    a = cp.Variable(40)
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(a, cp.psd_wrap(F @ F.T))), [a >= 0, a <= cap, cp.sum(a) == 1])
    errors = {}
    for label, options in {"silent": {}, "named": solvers.known()["OSQP"].options(1e-5)}.items():
        cap.value = 0.5
        problem.solve(solver="OSQP", **options)
        cap.value = 0.05
        problem.solve(solver="OSQP", **options)
        errors[label] = enclose(_program(problem)).distance(float(problem.value))
    assert errors["named"] < 1e-9
    assert errors["named"] <= errors["silent"]


def test_a3_highs_never_goes_without_a_time_limit():
    row = solvers.known()["HIGHS"]
    assert all("time_limit" in options for options in row.ladder)
    assert row.asked(1e-8, 3.0)["time_limit"] == 3.0


def test_a3_cycling_ends_at_the_limit(rng):
    # Written with the multiplied bound, this kind of program made the method for quadratic programs go round for ever.
    X = rng.standard_normal((60, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    a = cp.Variable(60)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.quad_form(a, cp.psd_wrap(K))), [a >= 0, 0.5 * 60 * a <= 1, cp.sum(a) == 1]
    )
    answer = Mirror(_program(problem)).solve("HIGHS", solvers.known()["HIGHS"].asked(1e-7, 2.0))
    assert answer.times["solve"] < 20.0
    assert answer.status in ("optimal", "user_limit")


def test_a3_feasible_called_infeasible():
    _installed("PROXQP")
    rng = np.random.default_rng(7)
    words = set()
    for _ in range(10):
        A = rng.standard_normal((30, 20))
        x = cp.Variable(20)
        problem = cp.Problem(cp.Minimize(-(A.T @ rng.random(30)) @ x), [A @ x <= A @ rng.random(20) + rng.random(30)])
        words.add(_told("PROXQP", _program(problem))[0].word)
    assert "wrong infeasible" in words


def test_a3_no_infeasibility_detection():
    _installed("QOCO")
    y, u = cp.Variable(2), cp.Variable()
    problem = cp.Problem(cp.Minimize(u), [cp.norm(y) <= u, 3 * y[0] + 4 * y[1] - 1 >= 5.5 * u])
    try:
        verdict, _ = _told("QOCO", _program(problem))
    except cp.SolverError:
        return  # it gives up, which is not a wrong answer
    assert verdict.word in ("inaccurate", "wrong optimal", "stopped")


def test_findings_moreau_calls_a_simplex_infeasible():
    _installed("MOREAU")
    X = np.random.default_rng(1).standard_normal((22, 2))
    K = np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(-1))
    a = cp.Variable(22)
    bounds = np.repeat([1 / 2.2, 0], 22) - np.vstack([np.eye(22), -np.eye(22)]) @ a >= 0
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(a, cp.psd_wrap(K))), [np.ones((1, 22)) @ a == 1, bounds])
    program = _program(problem)
    proved = enclose(program)
    assert proved.width < 1e-6
    try:
        verdict, answer = _told("MOREAU", program)
    except cp.SolverError:
        return  # where the last digits differ it may fail in another way
    # Right or wrong, it is judged by what is proved: this solver's word is worth nothing here.
    assert (verdict.word == "wrong infeasible") == (answer["status"] == "infeasible")


def test_findings_highs_stops_short():
    program = _program(
        subject_named("one_class_svm/weighted points in units from 1e-4 to 1e4/primal").formulation().problem
    )
    verdict, answer = _told("HIGHS", program)
    assert (verdict.word == "right") == (enclose(program).distance(answer["objective"]) < 1e-6)


def test_known_limits_have_reasons_and_patterns_that_mean_something():
    from convexnovelty.checking.cell import all_subjects
    from convexnovelty.checking.known_limits import KNOWN

    keys = [subject.key for subject in all_subjects("one_class_svm") + all_subjects("kernel_learning")]
    for exemption in KNOWN:
        assert exemption.word in LOUD
        assert len(exemption.reason) > 20
        assert any(re.search(exemption.subject, key) for key in keys), exemption
