"""Cutting planes on a program solved by hand: min x over x >= every t in [0, 1], with the cuts of what was found."""

from __future__ import annotations

import math
from types import SimpleNamespace

import clarabel
import cvxpy as cp
import numpy as np
import pytest

from convexnovelty.algorithms import cutting_planes as planes
from convexnovelty.algorithms.cutting_planes import Robust, cutting_planes
from convexnovelty.errors import InfeasibleError, SolverError, UnboundedError


def halving(x):
    """An adversary that goes half of the way to one each time, so that the master needs many rounds."""
    return Robust(lambda values: (float(values["x"]) + 1) / 2, lambda members: [x >= np.array(members)])


def run(repair=lambda values: (1.0, {"x": 1.0}), **options):
    x = cp.Variable()
    return cutting_planes(x, {"x": x}, [halving(x)], repair, constraints=[x >= 0], **options)


def test_bounds_meet_from_either_side_in_the_rounds_that_halving_takes():
    for tolerance in (1e-1, 1e-3, 1e-5):
        found = run(tolerance=tolerance)
        # Half of the way to one, and half of the rest: after k rounds the master is at 1 - 1 / 4^(k-1).
        assert found.rounds == 1 + math.ceil(-math.log(tolerance, 4))
        assert found.cuts == found.rounds - 1 and found.upper == 1.0 and found.values == {"x": 1.0}
        assert found.lower == pytest.approx(1 - 4.0 ** (1 - found.rounds), abs=1e-6) and found.gap <= tolerance
    started = run(tolerance=1e-3, seeds=[[1 - 2.0**-9]])
    assert started.rounds == 2 and started.cuts == 1


def test_the_best_repaired_point_is_kept():
    one = {"x": 1.0}
    offers = iter([(3.0, one), (2.0, {**one, "y": 2.0}), None, (2.5, one), *[None] * 50])
    found = run(lambda values: next(offers), tolerance=0.6)
    assert (found.upper, found.values) == (2.0, {**one, "y": 2.0})
    offers = iter([(3.0, one), (2.0, one), None, (2.5, one), *[None] * 50])
    with pytest.raises(SolverError, match=r"bounds 0\.999\d* and 2 after 6 rounds"):
        run(lambda values: next(offers), rounds=6)
    with pytest.raises(SolverError, match="no feasible point after 2 rounds"):
        run(lambda values: None, rounds=2)


@pytest.mark.parametrize(("sufficient", "ends"), [(1e-7, False), (0.003, False), (0.005, True)])
def test_a_master_that_fails_ends_the_search_only_where_the_bounds_are_close(sufficient, ends, monkeypatch):
    """It fails in the sixth round, where the gap is 1 / 4^4; without a feasible point it never ends well."""
    solve, calls = planes._solve, []

    def tired(problem, profile):
        calls.append(problem)
        if len(calls) >= 6:
            raise SolverError("tired")
        return solve(problem, profile)

    monkeypatch.setattr(planes, "_solve", tired)
    monkeypatch.setattr(planes, "SUFFICIENT", sufficient)
    if ends:
        found = run()
        assert (found.rounds, found.cuts, found.upper) == (6, 5, 1.0) and found.gap == pytest.approx(1 / 256, abs=1e-6)
    else:
        with pytest.raises(SolverError, match="tired"):
            run()
    calls.clear()
    with pytest.raises(SolverError, match="tired"):
        run(lambda values: None)


def test_a_master_that_fails_is_solved_with_the_newer_half_of_its_cuts(monkeypatch):
    """A millionth takes eleven rounds; the cuts of the last ones are the tight ones, and lower bounds stay."""
    solve, calls, held = planes._solve, [], []

    def tired(problem, profile):
        calls.append(problem)
        held.append(sum(constraint.size for constraint in problem.constraints))
        if len(calls) in (6, 9, 12):
            raise SolverError("tired")
        return solve(problem, profile)

    monkeypatch.setattr(planes, "_solve", tired)
    found = run(tolerance=1e-6)
    assert found.upper == 1.0 and 1 - 1e-6 <= found.lower <= 1.0 and found.rounds == 1 + 10 + 3
    assert held[6] == 1 + 3 and held[5] == 1 + 5  # of five cuts three are left
    calls.clear()
    monkeypatch.setattr(planes, "THINNED", 2)
    with pytest.raises(SolverError, match=r"tired; the optimum is known to lie between 0\.9999\d* and 1 "):
        run(tolerance=1e-6)


def test_programs_without_an_optimum_are_told():
    x = cp.Variable()
    with pytest.raises(InfeasibleError, match="no feasible point"):
        cutting_planes(x, {"x": x}, [halving(x)], lambda values: None, constraints=[x >= 0, x <= 0.6])
    with pytest.raises(UnboundedError, match="more members"):
        cutting_planes(x, {"x": x}, [halving(x)], lambda values: None)


def test_deviations_are_those_of_the_covariances():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((2, 3, 3))
    covariances, linear, d = [f @ f.T for f in F], rng.standard_normal((3, 2)), cp.Variable(2)
    bounds = cp.Variable(2)
    given = np.array([0.7, -1.2])
    problem = cp.Problem(cp.Minimize(cp.sum(bounds)), [planes.deviations(covariances, linear, d, bounds), d == given])
    problem.solve(solver="CLARABEL")
    assert bounds.value == pytest.approx([math.sqrt((v := linear @ given) @ S @ v) for S in covariances], rel=1e-6)


def round_the_ball(unit, **options):
    """The shortest x with u'x >= 1 for all u within unit / 2 of (2, 1) unit, whose squared length is 1 / (sqrt 5 - 1/2)^2 / unit^2."""
    x, centre, radius = cp.Variable(2), np.array([2.0, 1.0]) * unit, 0.5 * unit

    def repair(values):
        least = centre @ values["x"] - radius * np.linalg.norm(values["x"])
        return (float(values["x"] @ values["x"]) / least**2, {"x": values["x"] / least}) if least > 0 else None

    worst = Robust(
        lambda values: centre - radius * values["x"] / np.linalg.norm(values["x"]),
        lambda members: [np.array(members) @ x >= 1],
    )
    return cutting_planes(cp.sum_squares(x), {"x": x}, [worst], repair, seeds=[[centre]], **options)


@pytest.mark.parametrize("unit", [1e-8, 1e-6, 1e-3, 1.0, 1e3, 1e4, 1e6, 1e8])
def test_bounds_hold_in_every_unit(unit):
    truth = (math.sqrt(5) - 0.5) ** -2 / unit**2
    found = round_the_ball(unit)
    assert found.upper == pytest.approx(truth, rel=1e-7) and found.lower == pytest.approx(truth, rel=2e-7)
    assert found.lower <= found.upper and 0 <= found.gap <= 1e-7


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e-9, -1e-9])
def test_an_optimum_of_zero_is_found_though_no_solver_tells_it_from_zero(unit, shift, monkeypatch):
    """The bounds of |x| + t with t >= 0 meet at zero, where a share of their value is no measure of their gap."""
    x, t, solve = cp.Variable(), cp.Variable(), planes._solve
    worst = Robust(
        lambda values: float(np.sign(values["x"])) or 1.0, lambda members: [unit * t >= np.array(members) * x]
    )
    monkeypatch.setattr(planes, "_solve", lambda *a: planes.Master(0.0 * solve(*a).value + shift * unit, 2e-9 * unit))
    repair = lambda values: (0.0, {"x": 0.0})  # noqa: E731
    constraints = [t >= 0, x >= -unit, x <= unit]
    found = cutting_planes(
        unit * t, {"x": x}, [worst], repair, constraints=constraints, seeds=[[1.0, -1.0]], tolerance=1e-10
    )
    assert found.upper == 0.0 and -2e-9 * unit <= found.lower <= 0.0 and found.rounds <= 2


def test_a_master_above_a_feasible_point_is_an_error(monkeypatch):
    solve = planes._solve
    for share, fails in ((1e-9, False), (1e-5, True)):
        monkeypatch.setattr(
            planes, "_solve", lambda *a, share=share: planes.Master(solve(*a).value * (1 + share), 1e-3)
        )
        if fails:
            with pytest.raises(SolverError, match=r"master's value \S+ lies above \S+, that of a feasible point"):
                round_the_ball(1.0)
        else:
            assert round_the_ball(1.0).lower <= (math.sqrt(5) - 0.5) ** -2 * (1 + 1e-12)


def test_what_a_master_may_change_of_its_value_is_no_part_of_the_bound(monkeypatch):
    """A master that may be a ten-millionth too large ends where it meets the feasible point, and one that may be a thousandth does not."""
    solve, truth = planes._solve, (math.sqrt(5) - 0.5) ** -2
    for short, ends in ((5e-8 * truth, True), (1e-3 * truth, False)):
        monkeypatch.setattr(planes, "_solve", lambda *a, short=short: solve(*a)._replace(short=short))
        if ends:
            found = round_the_ball(1.0, tolerance=1e-9)
            assert found.upper == pytest.approx(truth, rel=1e-8)
            assert found.lower == pytest.approx(truth - short, rel=1e-8) and found.rounds < 30
        else:
            with pytest.raises(SolverError, match=r"bounds 0\.33\d* and 0\.33\d* after 12 rounds"):
                round_the_ball(1.0, tolerance=1e-9, rounds=12)


@pytest.mark.parametrize(("residual", "counts"), [(1e-7, True), (1e-5, False)])
def test_an_inaccurate_master_counts_by_its_residuals(residual, counts, monkeypatch):
    """A point beside the optimum of a linear program, at which Clarabel says that it is almost solved."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [x >= 1])

    class Almost:
        def __init__(self, *arrays):
            pass

        def solve(self):
            point = [1 + residual, 1.0]
            said = {"status": "AlmostSolved", "obj_val": 3 + residual, "solve_time": 0.0, "iterations": 1}
            return SimpleNamespace(x=point, s=[residual, 0.0], z=[1.0, 2.0], **said)

    monkeypatch.setattr(clarabel, "DefaultSolver", Almost)
    monkeypatch.setattr(planes.Attempts, "rungs", lambda self, name: [("CLARABEL", {})])
    if counts:
        found = planes._solve(problem, planes.solvers.profile())
        assert found.value == pytest.approx(3 + residual, rel=1e-12) and residual <= found.short <= 10 * residual
    else:
        with pytest.raises(SolverError, match=r"was not solved \(the worst optimality residual of its point is"):
            planes._solve(problem, planes.solvers.profile())
