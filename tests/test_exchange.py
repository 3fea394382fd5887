"""Files of other programs: a round trip gives the same optimum, and what a format cannot hold is refused."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import exchange
from convexnovelty.checking.enclosure import enclose
from convexnovelty.checking.instances import Case
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import InputError


def _problems():
    x, S = cp.Variable(3), cp.Variable((3, 3), symmetric=True)
    C = np.array([[1.0, 2.0, -0.5], [2.0, -1.0, 0.25], [-0.5, 0.25, 0.5]])
    return {
        "LP": cp.Problem(cp.Minimize(np.array([1.0, -2.0, 3.0]) @ x + 7), [x >= -1, x <= 2, cp.sum(x) == 0.5]),
        "QP": cp.Problem(
            cp.Minimize(cp.sum_squares(x - np.array([1.0, 2.0, 3.0])) + x[0] * 0.1 - 3), [cp.sum(x) == 1, x >= 0]
        ),
        "SOCP": cp.Problem(cp.Minimize(cp.norm(x - 1) + 0.3 * x[1]), [cp.norm(x) <= 1, x[2] >= 0.2]),
        "SDP": cp.Problem(cp.Minimize(cp.trace(C @ S)), [S >> 0, cp.trace(S) == 1, S[0, 1] >= -0.3]),
        "EXP": cp.Problem(cp.Minimize(cp.sum(cp.exp(x)) - 2 * x[0]), [cp.sum(x) == 1]),
        "POW": cp.Problem(cp.Maximize(x[2]), [cp.PowCone3D(x[0], x[1], x[2], 0.3), x[0] + 2 * x[1] <= 3]),
    }


HELD = {".cbf": ("LP", "QP", "SOCP", "SDP", "EXP", "POW"), ".mps": ("LP", "QP"), ".dat-s": ("LP", "QP", "SOCP", "SDP")}


@pytest.mark.parametrize(("ending", "kind"), [(e, k) for e, kinds in HELD.items() for k in kinds])
def test_a_round_trip_gives_the_same_optimum(ending, kind, tmp_path):
    program = ConicProgram.from_problem(_problems()[kind])
    path = tmp_path / f"file{ending}"
    exchange.write(program, path)
    again = exchange.read(path)
    first, second = enclose(program), enclose(again)
    middle = (first.lower + first.upper) / 2
    assert second.contains(middle, 1e-6 * (1 + abs(middle))), (first, second)
    assert second.width < 1e-5
    assert list(tmp_path.iterdir()) == [path]
    exchange.write(again, tmp_path / f"again{ending}")
    third = enclose(exchange.read(tmp_path / f"again{ending}"))
    assert third.contains(middle, 1e-6 * (1 + abs(middle)))


@pytest.mark.parametrize("ending", HELD)
def test_formulations_carry_their_provenance(ending, tmp_path):
    problem = Case("one_class_svm").formulation("dual")
    exchange.write(problem, tmp_path / f"svm{ending}")
    text = (tmp_path / f"svm{ending}").read_text()
    assert "one_class_svm (dual)" in text
    assert "parameters: outlier_fraction = 0.2" in text
    assert "written by convexnovelty" in text
    value = problem.solve().objective / problem.objective_unit
    found = enclose(exchange.read(tmp_path / f"svm{ending}"))
    assert found.contains(value, 1e-6 * abs(value))


def test_another_program_reads_the_mps(tmp_path):
    import highspy

    program = ConicProgram.from_problem(_problems()["LP"])
    exchange.write(program, tmp_path / "lp.mps")
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(tmp_path / "lp.mps"))
    solver.run()
    assert solver.getInfo().objective_function_value == pytest.approx(enclose(program).lower, rel=1e-6)


def test_files_of_others_are_read(tmp_path):
    # The example of the manual of SDPA: the optimum is -41.9.
    text = (
        '"Example 1: mDim = 3, nBLOCK = 1, {2}\n   3  =  mDIM\n   1  =  nBLOCK\n   2  = bLOCKsTRUCT\n{48, -8, 20}\n'
        "0 1 1 1 -11\n0 1 2 2 23\n1 1 1 1 10\n1 1 1 2 4\n2 1 2 2 -8\n3 1 1 2 -8\n3 1 2 2 -2\n"
    )
    (tmp_path / "example1.dat-s").write_text(text)
    found = enclose(exchange.read(tmp_path / "example1.dat-s"))
    assert found.contains(-41.9, 1e-5)
    # A small conic file with variables in cones and a maximisation: max x over |(x, y)| <= 1.
    cbf = "VER\n3\nOBJSENSE\nMAX\nVAR\n3 1\nQ 3\nCON\n1 1\nL= 1\nOBJACOORD\n1\n1 1.0\nACOORD\n1\n0 0 1.0\nBCOORD\n1\n0 -1.0\n"
    (tmp_path / "disc.cbf").write_text(cbf)
    assert enclose(exchange.read(tmp_path / "disc.cbf")).contains(-1.0, 1e-7)


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    problems = _problems()
    with pytest.raises(InputError, match="MPS holds linear and quadratic"):
        exchange.write(ConicProgram.from_problem(problems["SOCP"]), tmp_path / "a.mps")
    with pytest.raises(InputError, match="no exponential or power cones"):
        exchange.write(ConicProgram.from_problem(problems["EXP"]), tmp_path / "a.dat-s")
    with pytest.raises(InputError, match=r"ends in \.cbf"):
        exchange.write(ConicProgram.from_problem(problems["LP"]), tmp_path / "a.txt")
    with pytest.raises(InputError, match="integer variables"):
        features = cn.LinearFeatures(np.array([[0.5], [2.0], [4.0]]))
        exchange.write(cn.exact_outliers(features, outliers=1), tmp_path / "a.cbf")
    assert list(tmp_path.iterdir()) == [], "nothing half-written is left"


@pytest.mark.parametrize("text", ["", "nonsense", "VER\n3\nVAR\n1", "VER\n3\nVAR\n1 1\nQR 1\n", "1 2 3\n"])
@pytest.mark.parametrize("ending", [".cbf", ".dat-s"])
def test_broken_files_are_refused(text, ending, tmp_path):
    (tmp_path / f"x{ending}").write_text(text)
    with pytest.raises(InputError, match="read: "):
        exchange.read(tmp_path / f"x{ending}")
    with pytest.raises(InputError, match="give a file that exists"):
        exchange.read(tmp_path / f"nowhere{ending}")
