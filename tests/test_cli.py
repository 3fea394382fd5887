"""The command line: exit codes, tables, JSON, user's files, and its messages."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from convexnovelty.cli import main

SET = """
import cvxpy as cp
import convexnovelty as cn


class NuclearBallOfMine(cn.uncertainty.CovarianceSet):
    def membership(self, S):
        return [cp.norm(S - self.center, "nuc") <= self.radius, S >> 0]
"""

METHOD = '''
import cvxpy as cp
import numpy as np

from convexnovelty.declare import Instance, Method
from convexnovelty.formulation import Formulation, Solution

METHOD = Method("smallest_sum", title="Smallest sum", source="a test", summary="The least of some numbers as a program.")


@METHOD.node("program", source="equation 1", latex=r"\\\\min_w\\\\ c'w")
def program(costs):
    """Weights on the simplex that make a sum as small as possible."""
    w = cp.Variable(len(costs), nonneg=True)
    return Formulation(cp.Problem(cp.Minimize(np.asarray(costs) @ w), [cp.sum(w) == 1]), {"w": w})


@METHOD.node("minimum", kind="closed form", source="equation 2", latex=r"\\\\min_i c_i")
def minimum(costs):
    """The smallest number."""
    return Solution(float(min(costs)) * FACTOR, {})


METHOD.step("minimum", "program", claim="the optimum is the smallest number", equation="equation 2", reference="closed form")


@METHOD.instance("three numbers")
def three():
    return Instance("three numbers", {"costs": [3.0, -2.0, 5.0]})
'''


@pytest.fixture(autouse=True)
def _clean_catalogue():
    from convexnovelty import enrolment

    yield
    for module in enrolment.loaded():
        enrolment.unload(module)


def _file(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_check_one_method_writes_a_table_and_json(tmp_path, capsys):
    out = tmp_path / "report.json"
    assert main(["check", "--method", "soft_ball", "--jobs", "1", "--json", str(out)]) == 0
    table = capsys.readouterr().out
    assert "strong duality" in table
    assert "0 fail" in table
    read = json.loads(out.read_text(encoding="utf-8"))
    assert read["passed"] is True
    assert {"source", "target", "claim", "equation", "objective_gap", "decision_gap", "residual", "seconds"} <= read[
        "rows"
    ][0].keys()
    assert not list(tmp_path.glob(".*")), "no half-written file is left"


def test_check_with_scs_states_the_tolerance_it_holds_to(capsys, tmp_path):
    out = tmp_path / "report.json"
    assert main(["check", "--method", "soft_ball", "--solver", "SCS", "--jobs", "1", "--json", str(out)]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    checked = [row for row in rows if row["verdict"] == "pass" and not row["theorem"]]
    assert checked
    assert all(row["objective_gap"] <= row["tolerance"] and row["tolerance"] >= 2e-5 for row in checked)


def test_a_set_in_one_file_is_found_by_the_checker(tmp_path, capsys):
    path = _file(tmp_path, SET)
    from convexnovelty import enrolment, uncertainty
    from convexnovelty.checking.catalogue import Piece, pieces, run_pieces

    enrolment.load(path)
    assert "NuclearBallOfMine" in uncertainty.users()
    mine = [piece for piece in pieces("single_class_mpm") if piece.set_name == "NuclearBallOfMine"]
    rows = run_pieces([*mine, Piece("contract", set_name="NuclearBallOfMine")])
    assert mine
    assert all(row.verdict != "fail" for row in rows), [row.reason for row in rows if row.verdict == "fail"]
    assert ("semi_infinite", "socp") in {(row.source, row.target) for row in rows if row.verdict == "pass"}


def test_a_file_with_sets_has_these_checked_and_nothing_else(tmp_path, capsys, monkeypatch):
    from convexnovelty import cli, enrolment
    from convexnovelty.checking.catalogue import pieces_of_files

    path = _file(tmp_path, SET)
    # A pipe hears nothing of short work; here every line is due.
    monkeypatch.setattr(cli, "QUIET", 0.0)
    assert main(["check", "--load", path, "--method", "single_class_mpm", "--jobs", "1"]) == 0
    told = capsys.readouterr()
    assert "a radius of zero leaves" in told.out
    assert told.err.splitlines() == [
        "1 of 2: uncertainty sets: NuclearBallOfMine",
        "2 of 2: single_class_mpm: NuclearBallOfMine",
    ]
    assert enrolment.loaded()
    full = [str(piece) for piece in pieces_of_files(full=True)]
    assert {str(piece) for piece in pieces_of_files()} < set(full)
    assert all(name.endswith("NuclearBallOfMine") for name in full)


def test_a_file_without_sets_and_methods_is_refused(tmp_path, capsys):
    path = _file(tmp_path, "from convexnovelty.uncertainty import FrobeniusBall")
    assert main(["check", "--load", path]) == 2
    assert "neither a set nor a METHOD" in capsys.readouterr().err


def test_a_method_in_one_file_is_found_by_the_command_line(tmp_path, capsys):
    path = _file(tmp_path, METHOD.replace("FACTOR", "1.0"))
    assert main(["check", "--method", "smallest_sum", "--load", path, "--jobs", "1"]) == 0
    assert "three numbers" in capsys.readouterr().out
    assert main(["graph", "--load", path]) == 0
    assert "smallest_sum" in capsys.readouterr().out
    assert main(["explain", "smallest_sum", "--load", path]) == 0
    told = capsys.readouterr().out
    assert "the optimum is the smallest number" in " ".join(told.split())
    assert "holds on three numbers" in told


def test_a_wrong_method_in_one_file_fails(tmp_path, capsys):
    path = _file(tmp_path, METHOD.replace("FACTOR", "1.01"))
    assert main(["check", "--method", "smallest_sum", "--load", path, "--jobs", "1"]) == 1
    assert "FAILS" in capsys.readouterr().out


def test_users_files_reach_the_worker_processes(tmp_path, capsys):
    path = _file(tmp_path, METHOD.replace("FACTOR", "1.0"))
    assert main(["check", "--method", "smallest_sum", "--load", path, "--jobs", "2"]) == 0


@pytest.mark.parametrize("form", ["text", "mermaid", "svg", "json"])
def test_graph_in_every_format(form, capsys):
    assert main(["graph", "--method", "soft_ball", "--format", form]) == 0
    drawn = capsys.readouterr().out
    assert "one_class_svm" in drawn
    if form == "svg":
        ElementTree.fromstring(drawn)
    if form == "json":
        read = json.loads(drawn)
        assert {step["from"] for step in read["steps"]} <= {node["key"] for node in read["nodes"]}
    if form == "mermaid":
        assert drawn.startswith("flowchart TD")


def test_explain_walks_the_chain_with_numbers(capsys):
    assert main(["explain", "soft_ball"]) == 0
    told = capsys.readouterr().out
    assert "Schölkopf and Smola (2001)" in " ".join(told.split())
    assert "objective gap" in told
    assert "equations 8.17 to 8.20" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--method", "nonsense"], "there is no 'nonsense'; known are"),
        (["check", "--solver", "NOSUCH", "--method", "soft_ball"], "is not installed; installed are"),
        (["graph", "--format", "png"], "format: 'png' was found; give one of"),
        (["check", "no/such/folder"], "holds no worked problem"),
        (["check", "--load", "nothing.py"], "is not a Python file that exists"),
        (["explain", "nonsense"], "there is no 'nonsense'"),
    ],
)
def test_wrong_calls_say_what_would_do(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_problems_are_run_and_their_claims_checked(tmp_path, capsys):
    good = "from convexnovelty import Claim\nCLAIMS = [Claim('one and one', 2.0, 2.0, kind='theory')]\n"
    _file(tmp_path, good, "good.py")
    assert main(["check", str(tmp_path)]) == 0
    _file(tmp_path, good.replace("2.0, 2.0", "2.1, 2.0"), "wrong.py")
    _file(tmp_path, "x = 1\n", "silent.py")
    _file(tmp_path, "raise ValueError('planted')\n", "broken.py")
    assert main(["check", str(tmp_path)]) == 1
    table = " ".join(capsys.readouterr().out.split())
    assert "computed 2.1 = 2" in table
    assert "left no CLAIMS" in table
    assert "planted" in table


@pytest.mark.parametrize("module", ["convexnovelty", "convexnovelty.cli"])
def test_the_installed_command_runs(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "graph", "--method", "soft_ball"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("soft_ball")


def test_problems_are_solved_by_the_solver_that_is_asked_for(tmp_path, capsys):
    _file(
        tmp_path,
        "import convexnovelty as cn\n"
        "s = cn.single_class_mpm(cn.Moments([2.0], [[1.0]]), confidence=0.5).solve()\n"
        "CLAIMS = [cn.Claim(f'solved by {s.solver}', s.objective, 1.0, tolerance=1e-8)]\n",
        "one.py",
    )
    for name in ("SCS", "CLARABEL"):
        assert main(["check", str(tmp_path), "--solver", name]) == 0
        assert f"solved by {name}" in " ".join(capsys.readouterr().out.split())
