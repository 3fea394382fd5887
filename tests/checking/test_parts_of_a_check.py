"""What a check and a cross-check are put together from: gaps, verdicts, reports, streams, mirrors and contracts by hand."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import convexnovelty as cn
from convexnovelty import derivation, solvers, uncertainty
from convexnovelty.checking import (
    catalogue,
    cell,
    checker,
    contract,
    cross_check,
    explain,
    gaps,
    instances,
    set_laws,
    set_values,
)
from convexnovelty.checking.checker import Standard, claim_row, probe_points, standard_of
from convexnovelty.checking.cross_check import Cell, CrossReport, Exemption, Limits
from convexnovelty.checking.enclosure import Enclosure
from convexnovelty.checking.instances import Case, Knobs, families, sample
from convexnovelty.checking.known_limits import KNOWN
from convexnovelty.checking.mirror import Answer, Mirror, ask, kinds_needed
from convexnovelty.checking.report import Report, Row, _folded
from convexnovelty.checking.verdict import ORDER, judge
from convexnovelty.cones import Cones, svec
from convexnovelty.conic import ConicProgram
from convexnovelty.declare import Claim, Instance
from convexnovelty.errors import InputError
from convexnovelty.regions import HalfSpace
from convexnovelty.solution import Solution
from convexnovelty.uncertainty import BuresBall, FrobeniusBall, MeanEllipsoid, NormBall

# -- mirrors -------------------------------------------------------------------------------------------------------------


def test_multipliers_come_back_in_their_rows_for_every_kind_of_cone():
    """min c'x with x = its own slack in each cone: optimal pairs are told by their residuals, which know no mirror."""
    cones = Cones(
        zero=2, nonnegative=2, second_order=(1, 3, 1, 3, 2), semidefinite=(2, 3), exponential=2, power=((0.3, 0.7), (0.2, 0.3, 0.5))
    )  # fmt: skip
    rng = np.random.default_rng(0)
    from convexnovelty.checking.enclosure import _interiors

    inside, outside = _interiors(cones)
    A = rng.standard_normal((cones.size, 5))
    A[:5] = rng.standard_normal((5, 5))
    b = A @ rng.standard_normal(5) + inside
    P = sp.csr_array(0.1 * np.eye(5))
    program = ConicProgram(
        -A.T @ (outside + np.r_[0.3, -0.2, np.zeros(cones.size - 2)]), sp.csr_array(A), b, cones, P=P, offset=3.0
    )
    answer = ask("CLARABEL", program, {})
    assert answer.status == "optimal" and answer.iterations > 0 and min(answer.times.values()) > 0
    assert program.residuals(answer.x, answer.z).worst < 1e-6
    assert answer.value == pytest.approx(program.objective(answer.x), rel=1e-6)
    assert Mirror(program).multipliers is None, "before a solve there are none"
    assert kinds_needed(program) == {"SOCP", "SDP", "EXP", "POW"}
    plain = dataclasses.replace(program, A=program.A[:4], b=b[:4], cones=Cones(zero=2, nonnegative=2))
    assert kinds_needed(plain) == {"QP"} and kinds_needed(dataclasses.replace(plain, P=None)) == {"LP"}


def test_bounds_of_cones_of_one_entry_and_of_matrices_bind():
    """min x over x >= 2 as a cone of one entry, and over [[x, 1], [1, x]] semidefinite, where x = 1."""
    one = ConicProgram(np.ones(1), sp.csr_array([[-1.0]]), np.array([-2.0]), Cones(second_order=(1,)))
    found = ask("CLARABEL", one, {})
    assert found.x == pytest.approx([2.0], abs=1e-6) and found.z == pytest.approx([1.0], abs=1e-6)
    both = ConicProgram(
        np.ones(1), sp.csr_array(-svec(np.eye(2))[:, None]), svec(np.array([[0.0, 1.0], [1.0, 0.0]])), Cones(semidefinite=(2,))
    )  # fmt: skip
    found = ask("CLARABEL", both, {})
    assert found.x == pytest.approx([1.0], abs=1e-6)
    assert found.z == pytest.approx(svec(np.array([[0.5, -0.5], [-0.5, 0.5]])), abs=1e-5)


def test_functions_are_asked_as_solvers_are():
    program = ConicProgram(np.ones(1), sp.csr_array([[-1.0]]), np.array([-2.0]), Cones(nonnegative=1))
    given = {}

    def says(program, options):
        given.update(options)
        return Answer("optimal", np.array([2.0]), iterations=7, times=times)

    times: dict[str, float] = {}
    first = ask(says, program, {"a": 1})
    assert given == {"a": 1} and first.iterations == 7 and first.times["compile"] == 0.0 <= first.times["solve"] < 5.0
    times = {"solve": 3.0}
    assert ask(says, program, {}).times == times
    for wrong in (3, lambda program, options: "optimal"):
        with pytest.raises(InputError, match="solver"):
            ask(wrong, program, {})


# -- verdicts ------------------------------------------------------------------------------------------------------------


def test_verdicts_in_every_corner():
    proved, none = Enclosure(2.0, 2.0), Enclosure(remark="why")
    infeasible, unbounded = (
        Enclosure(math.inf, math.inf, infeasible=True),
        Enclosure(-math.inf, -math.inf, unbounded=True),
    )

    def told(
        status="optimal", objective=2.0, reported=None, violation=None, residual=None, reference=proved, accuracy=1e-6
    ):
        given = {
            "status": status, "objective": objective, "reported": reported, "violation": violation, "residual": residual
        }  # fmt: skip
        return judge(given, reference, 1.0, accuracy)

    for word, cases in {
        "right": [
            dict(), dict(violation=0.9e-6), dict(residual=0.9e-4), dict(reported=2.0 + 1e-6), dict(status="infeasible", reference=infeasible),
            dict(status="unbounded", reference=unbounded), dict(objective=2.0 + 1.9e-6),
        ],
        "short": [dict(violation=1.1e-6), dict(reported=2.00001), dict(objective=2.0 - 2.1e-6), dict(objective=2.00019)],
        "wrong optimal": [
            dict(violation=1.1e-4), dict(reported=2.1), dict(objective=2.00021), dict(objective=None),
            dict(reference=infeasible), dict(reference=unbounded),
        ],
        "wrong multipliers": [dict(residual=1.1e-4), dict(residual=0.9, violation=1.1e-6)],
        "stopped": [dict(status="user_limit"), dict(status="user_limit", objective=None),
                    dict(status="user_limit", reference=infeasible), dict(status="optimal_inaccurate", objective=None)],
        "inaccurate": [dict(status="optimal_inaccurate"), dict(status="optimal_inaccurate", reference=unbounded)],
        "not a number": [dict(violation=math.nan), dict(reported=math.inf), dict(objective=math.nan, status="user_limit"),
                         dict(residual=math.nan)],
        "undecided": [dict(status=s) for s in ("", "infeasible_or_unbounded", "unbounded_inaccurate", "infeasible_inaccurate")],
        "no reference": [dict(reference=none), dict(status="infeasible", reference=none), dict(status="unbounded", reference=none)],
        "wrong infeasible": [dict(status="infeasible"), dict(status="infeasible", reference=unbounded)],
        "wrong unbounded": [dict(status="unbounded"), dict(status="unbounded", reference=infeasible)],
    }.items():  # fmt: skip
        for case in cases:
            assert told(**case).word == word, case
    assert told(objective=3.0).error == pytest.approx(0.5) and told(status="user_limit", objective=1.0).error == 0.5
    assert math.isnan(told("infeasible").error) and math.isnan(told(reference=none).error)
    assert told(reference=none).reason == told("infeasible", reference=none).reason == "why"
    assert told(reported=2.1).reason.startswith("the reported") and told(violation=0.1).reason.startswith("the point")
    assert "feasible point is proved, with objective 2" in told("infeasible").reason
    assert (
        "at least 2" in told("unbounded").reason
        and "proved to be infeasible" in told("unbounded", reference=infeasible).reason
    )
    # In small units: relative to a millionth of the unit where the optimum is zero.
    zero = Enclosure(0.0, 0.0)
    assert judge({"status": "optimal", "objective": 1e-13}, zero, 1.0, 1e-6).word == "right"
    assert judge({"status": "optimal", "objective": 1e-9}, zero, 1.0, 1e-6).word == "wrong optimal"
    assert judge({"status": "optimal", "objective": 1e-9}, zero, 1e4, 1e-6).word == "right"


# -- reports of cross-checks ---------------------------------------------------------------------------------------------


def made(word, solver="A", subject="m/i/n", **more):
    return Cell(subject, solver, word, **more)


def test_a_report_of_cells_sorts_counts_and_excuses():
    cells = [made("right"), made("hang", "B"), made("crash", "B", "z"), made("crash", "B", "a"), made("not admitted", "C"),
             made("short", "A", "b"), made("out of scope"), made("wrong optimal", "D", reason="so [far]")]  # fmt: skip
    report = CrossReport(cells, {}, 2.4)
    assert [(c.word, c.subject) for c in report.disagreements] == [
        ("wrong optimal", "m/i/n"), ("crash", "a"), ("crash", "z"), ("hang", "m/i/n"), ("short", "b")]  # fmt: skip
    assert [c.subject for c in report.unexplained] == ["m/i/n", "a", "z"] and not report.passed
    assert (
        report.summary
        == "8 cells in 2 s: 1 wrong optimal, 2 crash, 1 hang, 1 short, 1 right, 1 out of scope, 1 not admitted"
    )
    excused = CrossReport(
        cells, {}, exemptions=[Exemption("D", "^m/", "wrong optimal", "known"), Exemption("B", "z|a", "crash", "too")]
    )
    assert excused.passed and excused.unneeded == [] and excused.unexplained == []
    table = excused.table(200)
    assert "so [far] (known: known)" in table and "no longer" not in table and table.rstrip().endswith(excused.summary)
    assert re.search(r"^B +2 +1", table, re.MULTILINE) and "\x1b" not in table and "\x1b" in excused.table(colour=True)
    for certain, other, unneeded in [(True, "A", 1), (False, "A", 0), (True, "Z", 0)]:
        idle = Exemption(other, "m", "crash", "never", certain)
        left = CrossReport(cells[:1], {}, exemptions=[idle])
        assert (left.unneeded, left.passed) == ([idle] * unneeded, not unneeded)
        assert ("no longer needed: the exemption of A on m" in left.table()) is bool(unneeded)
    assert not CrossReport([], {}).passed and CrossReport([], {}).summary == "0 cells in 0 s: none"
    assert "convexnovelty check --solver A --only 'm/i/n'" == cells[0].command
    assert all(e.certain is False and e.word in ORDER for e in KNOWN)


def test_streams_and_json_hold_what_was_written(tmp_path):
    stream = tmp_path / "cells"
    one, two = made("right", run="x", error=0.5, iterations=3, total=math.inf), made("short", "B", "ü/i/n", run="y")
    cross_check._append(stream, [one])
    cross_check._append(stream, [two])
    assert "ü" in stream.read_text(encoding="utf-8")
    with stream.open("a", encoding="utf-8") as file:
        file.write('[1]\n{"subject": 3}\nnonsense')
    assert cross_check._read(stream, "x") == {("m/i/n", "A"): dataclasses.replace(one, total=None)}
    assert cross_check._read(stream, "y") == {("ü/i/n", "B"): two} and cross_check._read(stream, "z") == {}
    assert stream.read_text(encoding="utf-8").endswith("nonsense\n") and cross_check._read(tmp_path / "none", "x") == {}
    CrossReport([one], {"run": "x"}).write_json(tmp_path / "out.json")
    read = json.loads((tmp_path / "out.json").read_text())
    assert read["passed"] is True and read["environment"] == {"run": "x"} and read["summary"].startswith("1 cells")
    assert (
        read["cells"][0]["total"] is None
        and read["cells"][0]["command"] == one.command
        and read["cells"][0]["error"] == 0.5
    )
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_what_surrounds_a_run():
    here = cross_check.environment_of(["CLARABEL"], Limits())
    assert (
        here["versions"]["numpy"] == np.__version__
        and "clarabel" in here["versions"]
        and here["solvers"] == ["CLARABEL"]
    )
    assert here["limits"] == {"seconds": 20.0, "memory": 4 * 2**30, "accuracy": 1e-8}
    assert (
        cross_check.environment_of(["CLARABEL"], Limits(accuracy=1e-7))["run"] != here["run"] and len(here["run"]) == 12
    )
    assert cross_check.environment_of(["CLARABEL"], Limits())["run"] == here["run"]
    assert "scs" not in here["versions"]
    everything = cross_check.available()
    assert (
        "CLARABEL" in everything and everything == sorted(everything) and not {"GLPK_MI", "ECOS_BB"} & set(everything)
    )
    assert cross_check.available("scs, clarabel") == cross_check.available(["SCS", "CLARABEL"]) == ["SCS", "CLARABEL"]


def test_cells_of_their_own_process_by_hand(tmp_path):
    subject = cell.subject_named("one_class_svm/four points on a line/dual")
    path = str(tmp_path / "program")
    found = cell.prepare(subject, (), path)
    assert (found["kind"], found["needed"], found["minimise"]) == ("QP", ["QP"], True)
    assert found["variables"] == 5 and found["rows"] >= 9 and 0 < found["build"] < 60 and 0 < found["certify"] < 60
    assert found["enclosure"]["lower"] <= 1.125 <= found["enclosure"]["upper"]
    answer = cell.answer_of(path, "CLARABEL", {}, 2.0 * found["unit"])
    assert answer["objective"] == pytest.approx(2.25, rel=1e-6) and answer["reported"] == pytest.approx(2.25, rel=1e-6)
    assert answer["violation"] < 1e-7 and answer["residual"] < 1e-6 and answer["solve"] > 0 and answer["iterations"] > 0
    integer = Case("exact_outliers")
    skipped = cell.prepare(cell.Subject("exact_outliers", integer.title, integer.nodes()[0]), (), path)
    assert skipped.keys() == {"skip", "build"} and 0 < skipped["build"] < 60
    assert cell.subject_named("a/b/c/d").instance == "b/c" and cell.subject_named("a/b/c/d").key == "a/b/c/d"
    for wrong in ("a/b", "/b/c", "a//c", "a/b/"):
        with pytest.raises(InputError, match="method/instance/node"):
            cell.subject_named(wrong)
    with pytest.raises(InputError, match="no formulation"):
        cell.Subject("one_class_svm", "four points on a line", "smo").formulation()
    assert cell.resolve("CLARABEL") == "CLARABEL" and cell.resolve("math:sqrt") is math.sqrt
    for wrong, words in (("math:nothing", "has no nothing"), (f"{tmp_path}/none.py:f", "not a Python file")):
        with pytest.raises(InputError, match=words):
            cell.resolve(wrong)
    keys = [s.key for s in cell.all_subjects("soft_ball")]
    assert len(keys) == len(set(keys)) and all(k.startswith("soft_ball/") for k in keys)
    for key in keys[:2] + keys[-2:]:
        assert cell.subject_named(key).formulation().problem is not None


# -- rows and reports of the checker -------------------------------------------------------------------------------------


def test_gaps_of_objectives_by_their_relation():
    gap = checker._objective_gap
    for relation, above, below in (("=", 0.5, 0.5), ("<=", 0.5, 0.0), (">=", 0.0, 0.5)):
        assert (gap(4.0, 2.0, relation, 1.0), gap(2.0, 4.0, relation, 1.0)) == (above, below)
        assert gap(3.0, 3.0, relation, 1.0) == 0.0
    assert gap(0.0, 1e-9, "=", 1e-6) == pytest.approx(1e-3) and gap(0.0, 1e-9, "=", 1e-15) == 1.0
    assert gap(-4.0, -2.0, "=", 1.0) == 0.5


def test_optima_that_are_zero_are_compared_in_the_programs_unit():
    """Where the origin lies in the reduced hull the optimum is zero, and what solvers return is noise of their tolerance."""
    for seed in (0, 1, 3, 4, 5):
        features = cn.LinearFeatures(np.random.default_rng(seed).normal(size=(12, 2)))
        formulation = cn.negative_data(features, np.where(np.arange(12) % 3 == 0, -1, 1), 0.5)
        assert abs(formulation.solve().objective) < 1e-9
        report = cn.check(formulation)
        assert report.passed, report.table()
    # A value that is told from zero keeps its relative gap, however small it is.
    problem = cn.one_class_svm(cn.LinearFeatures([[1.0], [2.0]]), 0.4)
    solution, residuals = problem.solve(), {"gap": 1e-12}
    for objective, zero in ((0.0, True), (3e-12, True), (1e-10, False), (1e-6, False)):
        near = dataclasses.replace(
            solution,
            objective=objective * problem.objective_unit,
            residuals=dataclasses.replace(solution.residuals, absolute=residuals),
        )
        answer = checker._Answer(None, near, problem)
        assert checker._is_zero(answer) is zero
        # All residuals together may change a value by more than the gap of its multipliers.
        more = dataclasses.replace(
            near, residuals=dataclasses.replace(near.residuals, absolute={"gap": 1e-12, "value": 1e-7})
        )
        assert checker._is_zero(dataclasses.replace(answer, solution=more)) is (objective <= 4e-7)
        # What a step makes of a value is a number of its own: v - 1/2 of a half is zero, and 1 - v of zero is none.
        assert not checker._is_zero(answer, 1.0, 0.0, checker._missed(answer))
        assert checker._is_zero(answer, 3e-12 * problem.objective_unit, 0.0, checker._missed(answer))
        assert checker._is_zero(dataclasses.replace(answer, formulation=None)) is (objective == 0.0)


def test_functions_that_are_zero_have_no_gap():
    """Two points a class, whose scores all equal the offset: what is left of them is what a solver leaves on a boundary."""
    points = np.array([[0.0, 0.0], [2.0, 1.0], [0.3, -1.0], [1.0, 2.0]])
    features = cn.KernelFeatures(points, cn.kernels.gaussian(gamma=0.5))
    report = cn.check(cn.class_recognisers(features, [0, 1, 0, 1], 0.6))
    assert report.passed, report.table()
    step = next(s for s in derivation.method("soft_ball").steps if not isinstance(s.decision, str))
    instance = Instance("zero", {}, np.eye(2))
    here = Solution(0.0, {}, HalfSpace([1.0, 1.0], 1.0))
    for shift, fails in ((0.0, False), (4e-16, False), (1e-11, False), (1e-6, True)):
        there = Solution(0.0, {}, HalfSpace([1.0, 1.0], 1.0 + shift))
        gap = checker._decision_gap(dataclasses.replace(step, decision=1.0, known=None), instance, here, there)[0]
        assert bool(gap > 0.5) is fails


def test_a_hard_margin_that_does_not_exist_fails_nothing():
    points = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0], [2.0, 0.5]])
    report = cn.check(cn.hard_margin(cn.LinearFeatures(points), 1.0))
    assert {row.verdict for row in report.rows} == {"not checked"}
    assert any("a hard margin has none: features: the convex hull" in row.reason for row in report.rows)


def test_standards_depend_on_the_solver_and_on_the_caller():
    fine, rough = Standard("X", 1e-9, None), Standard("X", 1e-4, None)
    assert (fine.objective(1e-6), rough.objective(1e-6), Standard("X", 1e-9, 1e-3).objective(1e-6)) == (
        1e-6,
        1e-4,
        1e-3,
    )
    assert Standard("X", 1e-4, 1e-6).objective(1e-3) == 1e-4
    assert (fine.decision(1e-6), rough.decision(1e-6), rough.decision(0.1)) == (1e-6, pytest.approx(1e-2), 0.1)
    assert Standard("X", 1e-7, None).decision(1e-6) == 1e-6
    assert (fine.residual, rough.residual) == (1e-6, 1e-4)
    profile = solvers.profile("SCS")
    assert standard_of(profile, 0.5) == Standard("SCS", profile.accuracy, 0.5)


def test_claims_as_rows():
    equal = Claim("t", 1.0 + 1e-5, 1.0, "=", 1e-6)
    assert (
        claim_row("m", "i", "s", "t", equal).verdict == "fail"
        and claim_row("m", "i", "s", "t", equal, 1e-4).verdict == "pass"
    )
    assert (
        claim_row("m", "i", "s", "t", equal, 1e-4).tolerance == 1e-4
        and claim_row("m", "i", "s", "t", equal).tolerance == 1e-6
    )
    exact = dataclasses.replace(equal, tolerance=1e-12)
    assert claim_row("m", "i", "s", "t", exact, 1e-4).verdict == "fail", "what is exact owes nothing to the solver"
    bound = Claim("t", 1.0 + 1e-5, 1.0, "<=", 1e-6)
    assert claim_row("m", "i", "s", "t", bound, 1e-4).verdict == "fail"
    below = claim_row("m", "i", "s", "t", Claim("t", 0.5, 1.0, "<=", 1e-6))
    assert below.objective_gap == 0.0 and below.theorem and below.reason == ""
    failed = claim_row("m", "i", "s", "t", bound)
    assert "1.00001 <= 1" in failed.reason and failed.objective_gap == pytest.approx(1e-5, rel=1e-3)


def test_probe_points_are_the_instances_own_or_lie_around_it():
    features = cn.LinearFeatures([[1.0], [2.0]])
    assert probe_points(Instance("i", {"features": features}, method="m")) is features.training
    own = Instance("i", {"features": features}, method="m", probe=np.ones((3, 1)))
    assert probe_points(own).tolist() == [[1.0]] * 3
    moments = cn.Moments([5.0, -7.0], 0.01 * np.eye(2))
    around = probe_points(Instance("i", {"moments": moments}, method="m"))
    assert around.shape == (50, 2) and np.abs(around - moments.mean).max() < 5 * moments.unit
    np.testing.assert_allclose(around.mean(axis=0), moments.mean, atol=0.6 * moments.unit)
    raw = cn.Moments([5e6, -7e-3, 0.0], np.diag([1e10, 1e-4, 0.0]))
    away = probe_points(Instance("i", {"moments": raw}, method="m")) - raw.mean
    np.testing.assert_allclose(np.sqrt((away**2).mean(axis=0))[:2], [5e6, 1.2e-2], rtol=0.3)
    assert np.abs(away[:, 2]).max() > 0
    assert probe_points(Instance("i", {}, method="m")) is None
    for sets, told in (((FrobeniusBall(1.0),), False), ((None, NormBall(2)), False), ((), False)):
        assert checker._is_conservative(Instance("i", {"a": sets}, method="m")) is told
    loose = BuresBall(0.1)
    object.__setattr__(loose, "exactness", "conservative")
    assert checker._is_conservative(Instance("i", {"a": (None, loose)}, method="m"))
    assert checker._is_conservative(Instance("i", {"b": 3, "a": loose}, method="m"))


def row(verdict="pass", **more):
    fields = dict(
        method="m", instance="i", source="s", target="t", claim="c", equation="e", relation="=", reference="theory"
    )
    return Row(**{**fields, "verdict": verdict, **more})


def test_reports_count_fold_and_are_written_as_they_are(tmp_path):
    rows = [
        row(seconds=0.25, objective_gap=2e-8, tolerance=1e-6),
        row("fail", reason="no", instance="ü"),
        row("not checked", reason="why"),
    ]
    report = Report(rows, solver="X", seconds=1.26)
    assert [report.count(v) for v in ("pass", "fail", "not checked")] == [1, 1, 1] and not report.passed
    assert (
        report.summary == "1 steps hold, 1 fail, 1 not checked; solver X, 1.3 s"
        and "solver none" in Report(rows).summary
    )
    assert (
        Report(rows[:1]).passed
        and Report([rows[0], rows[2]]).passed
        and not Report(rows[2:]).passed
        and not Report([]).passed
    )
    table = str(report)
    assert re.search(r"s +t +c +e +2e-08 +- +- +1e-06 +250 +holds", table)
    assert "FAILS no" in table and "not checked: why" in table and table.count("m: i") == 2 and "\x1b" not in table
    assert "\x1b" in report.table(colour=True) and max(map(len, report.table(90).splitlines())) <= 90
    report.write_json(tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    read = json.loads(text)
    assert "ü" in text and read["summary"] == {"hold": 1, "fail": 1, "not checked": 1} and read["passed"] is False
    assert (read["solver"], read["seconds"], read["rows"][0]["decision_gap"], len(list(tmp_path.iterdir()))) == (
        "X",
        1.26,
        None,
        1,
    )
    claims = [
        row(theorem=True, objective_gap=g, tolerance=t, seconds=1.0)
        for g, t in ((1e-9, 1e-3), (5e-8, 1e-7), (1e-5, 1e-3))
    ]
    folded = _folded([*claims, row("fail", theorem=True), row(theorem=True, source="other"), row(), row()])
    assert [f.claim for f in folded] == ["3 claims", "c", "c", "c", "c"]
    assert folded[0].objective_gap == 5e-8 and folded[0].seconds == 0.0, (
        "the worst of them in units of what it is held to"
    )


def test_what_explanations_say_of_a_row():
    good = row(objective_gap=2e-9, residual=3e-8, tolerance=1e-6)
    assert explain.numbers(good) == "holds on i: objective gap 2.0e-09, KKT residual 3.0e-08, held to 1e-06"
    bad = row("fail", reason="so", decision_gap=0.5, tolerance=1e-6)
    assert explain.numbers(bad) == "FAILS (so) on i: decision gap 5.0e-01, held to 1e-06"
    assert explain.numbers(row("not checked", reason="why")) == "not checked: why"
    text = explain.explain("artificial_negatives")
    owner = derivation.method("artificial_negatives")
    assert text.splitlines()[1] == "=" * len(owner.title) and "not run" not in text and "FAILS" not in text
    assert all(node.key in text for node in owner.nodes.values()) and text.count("  -> ") >= len(owner.steps)
    assert max(map(len, text.splitlines())) <= 200 and "Theorems, on every solution:" in text


# -- contracts and pieces ------------------------------------------------------------------------------------------------


def test_contracts_have_their_rows_and_faults_their_size():
    rows = contract.check_set(MeanEllipsoid(0.2) * FrobeniusBall(0.3))
    assert all(r.verdict == "pass" and r.tolerance in (1e-6, 1e-5) and r.seconds >= 0 for r in rows)
    wanted = {("adversary", "derived counterpart"), ("closed form", "derived counterpart"), ("worst deviation", "adversary"),
              ("worst member", "membership"), ("worst member", "adversary")}  # fmt: skip
    assert wanted <= {(r.source, r.target) for r in rows}
    assert {r.reference for r in rows if "adversary" in (r.source, r.target)} == {"adversary"}
    tight = contract.check_set(FrobeniusBall(0.3), tolerance=0.0)
    assert any(r.verdict == "fail" and "exceeds 0e+00" in r.reason for r in tight)
    moments = contract.nominal(4)
    assert moments.dimension == 4 and np.linalg.eigvalsh(moments.covariance)[0] > 0 and (moments.covariance < 0).any()
    first, second, axis = contract.directions(4)
    assert (
        (first > 0).any()
        and (first < 0).any()
        and np.abs(second).max() > np.abs(first).max()
        and axis.tolist() == [0, 0, 0, -1]
    )


def test_a_sample_that_exceeds_the_value_is_seen_in_units_of_the_value():
    """A set of one covariance whose samples are nine times as large: the deviation is three times the value."""
    moments = cn.Moments(np.zeros(2), 1e4 * np.eye(2))
    recipe = FrobeniusBall(1.0)
    centred = recipe.centred(moments)
    tried = [np.array([1.0, 0.0]), np.array([0.0, 2.0])]
    found = [{"derived": 100.0, "scale": 100.0}, {"derived": 200.0, "scale": 200.0}]
    for size, gap in ((9e4, 2.0), (1e4, 0.0), (1e2, 0.0)):
        object.__setattr__(centred, "sample", lambda rng, size=size: size * np.eye(2))
        rows = contract._sample_rows(recipe, centred, tried, found, 1e-6, 5)
        seen = next(r for r in rows if (r.source, r.target) == ("samples", "derived counterpart"))
        assert seen.objective_gap == pytest.approx(gap) and seen.verdict == ("fail" if gap else "pass")
    object.__setattr__(centred, "sample", lambda rng: None)
    assert not contract._sample_rows(recipe, centred, tried, found, 1e-6, 5)


@pytest.mark.parametrize("at", range(3))
def test_a_contract_fails_where_one_value_of_several_is_not_a_number(at, monkeypatch):
    """Whichever direction it is in: the largest of some gaps passes over NaN where that is not the first."""
    tried = contract.directions(3)
    for what, pair in (
        ("closed", ("closed form", "derived counterpart")),
        ("derived", ("adversary", "derived counterpart")),
    ):
        true, seen = contract._at, []

        def spoiled(centred, a, what=what, true=true, seen=seen):
            seen.append(a)
            found = true(centred, a)
            return {**found, what: math.nan} if len(seen) == at + 1 else found

        monkeypatch.setattr(contract, "_at", spoiled)
        rows = contract.check_set(FrobeniusBall(0.3))
        monkeypatch.setattr(contract, "_at", true)
        assert len(seen) == len(tried)
        assert next(r for r in rows if (r.source, r.target) == pair).verdict == "fail"
    recipe = FrobeniusBall(0.3)
    centred = recipe.centred(contract.nominal(3))
    found = [contract._at(centred, a) for a in tried]
    drawn = iter([centred.center] * (3 + at) + [np.full((3, 3), math.nan)] + [centred.center] * 30)
    object.__setattr__(centred, "sample", lambda rng: next(drawn))
    rows = contract._sample_rows(recipe, centred, tried, found, 1e-6, 5)
    assert "fail" in {r.verdict for r in rows}


def test_laws_of_a_set_fail_where_a_value_is_not_a_number(monkeypatch):
    """The closed form at another size, the ellipsoidal form along one direction, and the value at radius zero."""
    moments, tried, recipe = contract.nominal(3), contract.directions(3), FrobeniusBall(0.3)
    monkeypatch.setattr(set_laws, "_told", lambda centred, a: [math.nan])
    for kind in ("exact", "conservative"):
        monkeypatch.setattr(FrobeniusBall, "exactness", kind)
        assert [r.verdict for r in set_laws._rows_at_other_numbers(recipe, moments, tried[0], 1e-6)] == ["fail"]
    monkeypatch.setattr(set_laws, "_ellipsoidal", lambda centred, a: (math.nan if a is tried[1] else 1.0, 1.0))
    monkeypatch.setattr(set_laws, "evaluator", lambda centred: lambda a, route: 1.0)
    assert set_laws._ellipsoidal_gap(recipe, moments, tried) == math.inf
    spread = math.sqrt(tried[0] @ moments.covariance @ tried[0])
    for best in (math.nan, math.inf):
        monkeypatch.setattr(
            set_laws, "evaluator", lambda centred, best=best: lambda a, route: spread if route == "derived" else best
        )
        assert (
            set_laws._left_at_zero(set_values.around(recipe.replaced(radius=0.0), moments), moments, tried[0])
            == math.inf
        )


def test_gaps_are_infinite_where_a_number_is_not_finite():
    for bad in (math.nan, math.inf, -math.inf):
        assert gaps.largest([0.0, bad, 1.0]) == gaps.largest([bad]) == gaps.finite_or_infinite(bad) == math.inf
        assert gaps.shortfall(bad, True) == gaps.shortfall(bad, False) == math.inf
    assert (
        gaps.largest([-1.0, 0.5]) == 0.5 and gaps.largest([]) == 0.0 and math.isnan(gaps.largest([], default=math.nan))
    )
    assert [gaps.shortfall(d, c) for d in (-2.0, 2.0) for c in (True, False)] == [2.0, 2.0, 0.0, 2.0]


@pytest.mark.parametrize("relation", ["=", "<=", ">="])
def test_claims_of_what_is_not_finite_never_hold(relation):
    """An empty maximum is -inf, which lies below every bound."""
    for computed, reference in ((math.nan, 1.0), (math.inf, 1.0), (-math.inf, 1.0), (1.0, math.inf), (1.0, math.nan)):
        claim = Claim("c", computed, reference, relation, scale=1.0)
        row = claim_row("m", "i", "s", "t", claim)
        assert not claim.holds and row.verdict == "fail" and row.objective_gap == math.inf
    for tolerance in (math.nan, math.inf, -1e-6):
        with pytest.raises(InputError, match="tolerance"):
            Claim("c", 1.0, 1.0, relation, tolerance)


def test_contract_rows_are_of_every_example(monkeypatch):
    asked = []
    monkeypatch.setattr(contract, "check_set", lambda example, dimension: asked.append((example, dimension)) or [row()])
    assert (
        len(contract.contract_rows(5))
        == len(asked)
        == sum(len(kind.examples()) for kind in {**uncertainty.catalogue(), **uncertainty.users()}.values())
    )
    assert {dimension for _, dimension in asked} == {5}


def test_pieces_cover_the_catalogue_once_and_run_in_order():
    some = catalogue.pieces("soft_ball")
    assert [p.index for p in some if p.kind == "instance"] == list(
        range(len(derivation.method("soft_ball").instance_names()))
    )
    everything, full = catalogue.pieces(), [dataclasses.replace(p, full=False) for p in catalogue.pieces(full=True)]
    assert set(everything) <= set(full) and len(set(full)) == len(full) > len(everything)
    assert {p.method for p in everything if p.kind == "instance"} == set(derivation.methods())
    contracts = [p for p in everything if p.kind == "contract"]
    assert {p.set_name for p in contracts} >= {"FrobeniusBall", "NormBall"} and all(p.method == "" for p in contracts)
    told: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        rows = catalogue.run_pieces(some[:2], "CLARABEL", executor=pool, progress=told.append)
    assert told == ["1 of 2: soft_ball: 0", "2 of 2: soft_ball: 1"]
    names = derivation.method("soft_ball").instance_names()
    assert [name for name, _ in itertools.groupby(r.instance for r in rows)] == names[:2]
    broken = catalogue.run_pieces([catalogue.Piece("instance", "soft_ball", 10**6)], "CLARABEL")
    assert len(broken) == 1 and broken[0].verdict == "fail" and "IndexError" in broken[0].reason
    assert str(catalogue.Piece("contract", "", 2, "NormBall")) == "uncertainty sets: NormBall"


def test_files_of_the_user_are_loaded_where_they_are_not_known(monkeypatch):
    loaded = []
    monkeypatch.setattr(catalogue.enrolment, "load", loaded.append)
    monkeypatch.setattr(catalogue, "check_set", lambda example, own: [row()])
    piece = next(p for p in catalogue.pieces() if p.kind == "contract")
    assert len(catalogue._run(piece, None, None, ("one.py", "two.py"))) == 1
    assert loaded == ["one.py", "two.py"]


# -- instances -----------------------------------------------------------------------------------------------------------


def test_every_method_that_declares_a_family_has_one():
    """Each of them is what a case of the catalogue is made with, so that one that is lost is missed here."""
    expected = {
        "one_class_svm", "soft_ball", "hard_margin", "exact_outliers", "artificial_negatives", "separation_from_mean",
        "negative_data", "class_recognisers", "uncertain_points", "mahalanobis_svm", "kernel_learning", "single_class_mpm",
        "two_class_mpm", "moment_classifier", "vector_quantization", "novelty_proportion", "semi_supervised",
    }  # fmt: skip
    assert set(families()) == expected
    assert {
        name for name, value in vars(instances).items() if name in derivation.methods() and callable(value)
    } == expected


@pytest.mark.parametrize("method", sorted(set(families()) - {"exact_outliers"}))  # that one is an integer program
def test_a_unit_of_two_powers_changes_the_objective_by_a_power_of_it(method):
    """Every length, square and inverse follows the unit: in other units the optimum is another power of it, whatever the knobs."""
    small, large = (Case(method, Knobs(n=10, dimension=2, unit=unit)) for unit in (1.0, 4.0))
    assert small.nodes() == large.nodes()
    node = small.nodes()[0] if small.nodes() else None
    if node is None:
        return
    ratio = large.formulation(node).solve().objective / small.formulation(node).solve().objective
    power = math.log(abs(ratio), 4.0)
    assert ratio > 0 and power == pytest.approx(round(2 * power) / 2, abs=2e-3), (method, node)


def test_samples_have_the_shape_that_the_knobs_ask_for():
    X = sample(Knobs(n=11, dimension=3, degeneracy=0.4))
    assert X.shape == (11, 3) and len(np.unique(X, axis=0)) == 7 and (X[7:] == X[:4]).all()
    np.testing.assert_allclose(sample(Knobs(n=11, unit=5.0)), 5.0 * sample(Knobs(n=11)))
    far = sample(Knobs(n=4000, dimension=2, conditioning=1.0), shift=3.0)
    axes_mean = np.linalg.norm(far.mean(axis=0))
    assert axes_mean == pytest.approx(3 * math.sqrt(2), abs=0.1)
    assert not np.allclose(sample(Knobs(), seed=1), sample(Knobs()))
    titles = {str(Knobs(level=0.25, unit=10.0, degeneracy=0.5)), str(Knobs())}
    assert titles == {
        "n=20, p=4, cond=1e+01, duplicates=0.5, level=0.25, unit=1e+01, seed=0",
        "n=20, p=4, cond=1e+01, seed=0",
    }


def test_offsets_are_loose_where_their_interval_is_wider_than_rounding():
    solved = cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5).solve()
    assert (solved.offset.lower, solved.offset.upper) == (pytest.approx(3.0, abs=1e-5), pytest.approx(4.5, abs=1e-5))
    for width, scale, loose in ((1e-3, 1.0, True), (1e-7, 1.0, False), (1e-3, 1e4, False), (1e-7, 1e-2, True)):
        offset = type(solved.offset)(3.0, 3.0 + width, 3.0)
        assert checker._loose(dataclasses.replace(solved, offset=offset), scale) is loose
    assert not checker._loose(dataclasses.replace(solved, offset=None), 1e-9)


def test_units_below_which_values_of_a_set_say_nothing():
    """A thousandth of the direction's length, times the size of the centre: a ball of points has none."""
    a = np.array([3.0, 4.0])
    for size in (1.0, 1e4):
        moments = cn.Moments(np.zeros(2), size**2 * np.eye(2))
        covariances = FrobeniusBall(0.5 * size**2).centred(moments)
        assert set_values.unit_of(covariances, a) == pytest.approx(5e-3 * float(covariances.unit))
        assert float(covariances.unit) > 0.1 * size
        points = NormBall(2, size).centred(np.zeros(2))
        assert set_values.unit_of(points, a) == pytest.approx(5e-3)
        assert set_values.value(covariances, moments.covariance, a) == pytest.approx(5 * size)
        assert set_values.value(points, np.array([1.0, -1.0]), a) == -1.0
        both = (MeanEllipsoid(0.1) * FrobeniusBall(0.1)).centred(moments)
        assert set_values.value(both, (np.array([1.0, 1.0]), moments.covariance), a) == pytest.approx(
            7 + 1.5 * 5 * size
        )


def test_claims_of_no_relation_or_no_scale_are_refused():
    with pytest.raises(InputError, match="relation: '!=' was found"):
        Claim("t", 1.0, 2.0, "!=")
    for scale in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="scale: "):
            Claim("t", 1.0, 2.0, scale=scale)


def test_a_tolerance_is_not_negative():
    for tolerance in (-1.0, math.nan):
        with pytest.raises(InputError, match="tolerance: "):
            cn.check("soft_ball", tolerance=tolerance)
