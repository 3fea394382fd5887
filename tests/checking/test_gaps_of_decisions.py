"""Differences of decision values in the checker, where one end counts in other units and offsets are intervals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation, solvers
from convexnovelty._lazy import cp
from convexnovelty.checking import checker
from convexnovelty.declare import Instance, Step
from convexnovelty.formulation import Formulation
from convexnovelty.methods import negative_data
from convexnovelty.regions import Ball, HalfSpace, Interval, ScoreThreshold
from convexnovelty.uncertainty import PointSet
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall

PROBE = np.array([[1.0], [2.0], [-4.0]])
SOLVED_ON = cn.LinearFeatures(np.arange(1.0, 5.0)[:, None])
SOLVED = cn.one_class_svm(SOLVED_ON, 0.5).solve()
INSTANCE = Instance("i", {}, method="m", probe=PROBE)


def end(factor: float, shift: float = 0.0, width: float = 0.0):
    """A solution with the decision values ``factor * (z - shift)`` whose offset is known up to a width."""
    offset = Interval(factor * shift, factor * shift + width, factor * shift)
    return dataclasses.replace(SOLVED, region=HalfSpace(np.array([factor]), factor * shift), offset=offset)


def step(factor) -> Step:
    return Step("a", "b", "c", "e", "theory", decision=factor)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_decision_values_are_compared_in_the_units_of_the_target(factor):
    """The factor leads from the source's values to the target's; a shift of one is a fifth of the largest value."""
    for source, target, gap in (
        (end(1.0), end(factor), 0.0),
        (end(1.0), end(factor, 1.0), 0.2),
        (end(1.0), end(2.0 * factor), 0.5),
    ):
        assert checker._decision_gap(step(factor), INSTANCE, source, target) == (pytest.approx(gap), "")
        assert checker._decision_gap(step(lambda: factor), INSTANCE, source, target)[0] == pytest.approx(gap)


@pytest.mark.parametrize("factor", [-1e-4, 1e-4, 1.0, 1e4])
def test_a_loose_offset_lets_values_differ_by_a_constant_and_a_tight_one_does_not(factor):
    """An interval is loose from a millionth of the values on, each end's in its own units."""
    for width, loose in ((4e-5, True), (4e-7, False), (0.0, False)):
        expected = 0.0 if loose else 0.2
        for source, target in (
            (end(1.0, 0.0, width), end(factor, 1.0)),
            (end(1.0), end(factor, 1.0, width * abs(factor))),
        ):
            gap, _ = checker._decision_gap(step(factor), INSTANCE, source, target)
            assert gap == pytest.approx(expected, abs=1e-12)


def test_what_cannot_be_compared_says_why():
    nowhere = Instance("i", {}, method="m")
    assert np.isnan(checker._decision_gap(step("no values"), INSTANCE, end(1.0), end(1.0))[0])
    assert checker._decision_gap(step("no values"), INSTANCE, end(1.0), end(1.0))[1] == "no values"
    assert checker._decision_gap(step(1.0), nowhere, end(1.0), end(1.0))[1] == "no probe points"
    without = dataclasses.replace(SOLVED, region=None)
    for pair in ((without, end(1.0)), (end(1.0), without)):
        found = checker._decision_gap(step(1.0), INSTANCE, *pair)
        assert np.isnan(found[0]) and found[1] == ""


def test_what_theory_leaves_unknown_is_no_difference():
    """A step's own allowance, made from the difference of the values, comes off before anything is divided."""
    source, target = end(1.0), end(1.0, 1.0)
    allowing = dataclasses.replace(step(1.0), known=lambda apart: apart / 2)
    for apart, left in ((0.0, 0.2), (1.0, 0.1), (2.0, 0.0), (4.0, 0.0)):
        assert checker._decision_gap(allowing, INSTANCE, source, target, apart)[0] == pytest.approx(left)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e4])
def test_centres_are_known_to_the_root_of_a_gap(unit):
    """Points near the boundary of a ball have values that are small beside its radius, to which the root of an error belongs."""
    X = unit * (np.random.default_rng(3).normal(size=(9, 2)) + np.array([3, 1]))
    features = cn.KernelFeatures(X, cn.kernels.gaussian(gamma="scale"))
    report = cn.check(cn.soft_ball(features, 0.4))
    assert report.passed, report.table()
    primal, dual = (cn.soft_ball(features, 0.4, form).solve() for form in ("primal", "dual"))
    step = next(
        s for s in cn.derivation.method("soft_ball").steps if (s.source_node, s.target_node) == ("dual", "primal")
    )
    allowed = step.known(abs(primal.objective + dual.objective), features)
    values = [s.region.decision_values(features.training) for s in (primal, dual)]
    rounding = primal.region.rounding(features.training) + dual.region.rounding(features.training)
    assert (np.abs(values[0] - values[1]) <= allowed + rounding).all() and allowed < 1e-4


@pytest.mark.parametrize("seed", [2, 8])
def test_libsvm_is_held_to_the_digits_of_its_kernel_values(seed):
    """Scores of 1e-4 and less of k(x, x), of which single precision leaves three digits; a plane that is moved is still found."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    X = rng.normal(size=(n, 2)) + 3 * rng.normal(size=2)
    labels = np.where(np.arange(n) % 3 == 0, -1, 1)
    nu = 0.3 if seed == 2 else 0.46
    features = cn.KernelFeatures(X, cn.kernels.gaussian(gamma="scale"))
    report = cn.check(cn.negative_data(features, labels, nu))
    assert report.passed, report.table()
    theirs, ours = negative_data.libsvm(features, labels, nu), cn.negative_data(features, labels, nu).solve()
    largest = float(np.abs(ours.region.decision_values(features.training)).max())
    assert largest < 1e-3
    apart = theirs.region.decision_values(features.training) - ours.region.decision_values(features.training)
    assert np.abs(apart).max() <= 2.0**-23
    moved = dataclasses.replace(theirs, region=HalfSpace(theirs.region.normal, theirs.region.offset + 1e-6))
    step = next(s for s in cn.derivation.method("negative_data").steps if s.source_node == "libsvm")
    instance = Instance("i", {"features": features}, method="negative_data", probe=features.training)
    assert checker._decision_gap(step, instance, moved, ours, 0.0)[0] > 1e-3


AROUND = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


@pytest.mark.parametrize("noise", [1e-15, 1e-11, 3e-8])
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_values_that_are_all_zero_are_compared_in_the_size_of_their_terms(noise, factor):
    """Four points on a circle and three on a line; another boundary has values with a size, beside which zero is one off."""
    on_line = np.array([[1.0, -1.0], [3.0, -3.0], [0.5, -0.5]])
    regions = {
        "ball": (AROUND, 1.0, Ball([0.0, 0.0], 1.0), lambda shift: Ball([0.0, 0.0], 1.0 + shift)),
        "plane": (
            on_line,
            factor,
            HalfSpace([1.0, 1.0], 0.0),
            lambda shift: HalfSpace([factor, factor], factor * shift),
        ),
    }
    for probe, mapped, here, there in regions.values():
        instance = Instance("i", {}, method="m", probe=probe)
        source, near, far = (
            dataclasses.replace(SOLVED, region=part, offset=None) for part in (here, there(noise), there(1e-5))
        )
        assert checker._decision_gap(step(mapped), instance, source, near)[0] <= noise
        assert checker._decision_gap(step(mapped), instance, source, far)[0] == pytest.approx(1.0, abs=0.05)
        assert checker._decision_gap(step(1 / mapped), instance, far, source)[0] == pytest.approx(1.0, abs=0.05)


def test_values_of_points_far_from_the_origin_keep_their_own_size():
    """Terms are as large as the points are apart, not as they are far: a shift of a thousandth of the values shows."""
    instance = Instance("i", {}, method="m", probe=1e8 + np.array([[0.0], [1.0], [3.0]]))
    here, there = (dataclasses.replace(SOLVED, region=HalfSpace([1.0], 1e8 + b), offset=None) for b in (1.0, 1.004))
    assert checker._decision_gap(step(1.0), instance, here, there)[0] == pytest.approx(2e-3, rel=0.01)


def test_of_a_score_nothing_is_known_but_its_values():
    instance = Instance("i", {}, method="m", probe=AROUND)
    here, there = (
        dataclasses.replace(SOLVED, region=ScoreThreshold(lambda Z, c=c: c * Z[:, 0], 0.0), offset=None)
        for c in (1e-9, 2e-9)
    )
    assert checker._decision_gap(step(1.0), instance, here, there)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_programs_with_every_point_on_the_boundary_are_sound(shift):
    """A narrow kernel and less than one point outside: each point is a support vector, and no multiplier is at its bound."""
    points = shift + np.arange(6.0)[:, None] ** 1.5
    features = cn.KernelFeatures(points, cn.kernels.gaussian(gamma=1.0))
    for made in (
        cn.hard_margin(features),
        cn.soft_ball(features, 0.1),
        cn.one_class_svm(features, 0.1),
        cn.mahalanobis_svm(features, outlier_fraction=0.1, uncertainty=FrobeniusBall(0.1)),
    ):
        report = cn.check(made)
        assert report.passed, report.table()
        assert sum(row.verdict == "pass" for row in report.rows) >= 5


@pytest.mark.parametrize("factor", [np.nan, np.inf, -np.inf])
def test_a_factor_that_is_not_finite_leaves_an_infinite_gap(factor):
    assert checker._decision_gap(step(factor), INSTANCE, end(1.0), end(1.0)) == (np.inf, "")


@pytest.mark.parametrize("known", [np.nan, np.inf, np.array([0.0, np.nan, 0.0])])
def test_what_theory_knows_of_values_excuses_none_where_it_is_not_finite(known):
    """The values are the same: it is the allowance that says nothing."""
    told = dataclasses.replace(step(1.0), known=lambda apart: known)
    assert checker._decision_gap(told, INSTANCE, end(1.0), end(1.0)) == (np.inf, "")


ONE_CLASS = derivation.method("one_class_svm")
MAPPED = next(s for s in ONE_CLASS.steps if (s.source_node, s.target_node) == ("smo", "dual"))


def row_of(**changed):
    instance = Instance("four points", {"features": SOLVED_ON, "outlier_fraction": 0.5}, method="one_class_svm")
    changed_step = dataclasses.replace(MAPPED, **changed)
    return checker.check_instance(ONE_CLASS, instance, checker.standard_of(solvers.profile(None)), [changed_step])[0]


def spoiled(change):
    """The step's own map, changed in its numbers."""
    return {"values": lambda solution: {"alpha": change(np.array(solution.values["alpha"]))}}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (spoiled(lambda alpha: alpha * np.nan), "violation by the mapped solution inf"),
        (spoiled(lambda alpha: np.r_[alpha[:-1], np.nan]), "violation by the mapped solution inf"),
        (spoiled(lambda alpha: np.r_[np.inf, alpha[1:]]), "violation by the mapped solution inf"),
        (spoiled(lambda alpha: alpha * 1e200), "objective of the mapped solution is off by inf"),
        (spoiled(lambda alpha: alpha * 1.01), "violation by the mapped solution 1.0e-02"),
        ({"decision": lambda: np.nan}, "decision gap inf exceeds 1e-05, since a number is not finite"),
        ({"decision": np.inf}, "decision gap inf"),
        ({"objective": lambda value: np.nan}, "objective gap inf"),
        ({"objective": lambda value: -np.inf, "relation": "<="}, "objective gap inf"),
        ({"doubt": lambda solution: np.inf}, "objective gap inf"),
        ({"doubt": lambda solution: np.nan}, "objective gap inf"),
    ],
)
def test_a_step_fails_where_a_number_of_it_is_not_finite(changed, told):
    """NaN and infinity are feasible nowhere and equal to nothing; without the change the step holds."""
    assert row_of().verdict == "pass"
    row = row_of(**changed)
    assert row.verdict == "fail" and told in row.reason, row.reason


def raising(error):
    def mapped(solution):
        raise error

    return {"values": mapped}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (spoiled(lambda alpha: alpha[:3]), "InputError: values: alpha: shape (3,) was found where (4,) is needed"),
        (spoiled(lambda alpha: 0.25), "InputError: values: alpha: shape () was found where (4,) is needed"),
        (
            spoiled(lambda alpha: np.outer(alpha, alpha)),
            "InputError: values: alpha: shape (4, 4) was found where (4,) is",
        ),
        (spoiled(lambda alpha: "half"), "InputError: values: alpha: entries of type <U4 were found; give real numbers"),
        (
            {"values": lambda solution: {"beta": 1.0}},
            "InputError: values: beta was found; give values by the letters alpha",
        ),
        (raising(KeyError("weights")), "KeyError: 'weights'"),
        (raising(ValueError("matmul: operands of other sizes")), "ValueError: matmul: operands of other sizes"),
    ],
)
def test_a_map_that_gives_no_point_fails_its_own_step_alone(changed, told):
    instance = Instance("four points", {"features": SOLVED_ON, "outlier_fraction": 0.5}, method="one_class_svm")
    steps = [dataclasses.replace(MAPPED, **changed), MAPPED]
    failed, held = checker.check_instance(ONE_CLASS, instance, checker.standard_of(solvers.profile(None)), steps)
    assert (failed.source, failed.target, failed.verdict) == ("smo", "dual", "fail") and told in failed.reason
    assert held.verdict == "pass"
    assert row_of(**spoiled(lambda alpha: alpha[:, None])).verdict == "pass", "a column is the vector that it holds"


def test_a_node_that_raises_fails_its_own_steps_alone(monkeypatch):
    def broken():
        raise KeyError("no such sample")

    monkeypatch.setitem(ONE_CLASS.nodes, "smo", dataclasses.replace(ONE_CLASS.nodes["smo"], function=broken))
    instance = Instance("four points", {"features": SOLVED_ON, "outlier_fraction": 0.5}, method="one_class_svm")
    rows = checker.check_instance(ONE_CLASS, instance, checker.standard_of(solvers.profile(None)))
    assert {row.verdict for row in rows if "smo" in (row.source, row.target)} == {"fail"}
    assert all("KeyError: 'no such sample'" in row.reason for row in rows if row.verdict == "fail")
    assert sum(row.verdict == "pass" for row in rows) >= 5


def test_a_mapped_solution_that_is_not_finite_is_feasible_nowhere():
    """Also in a semidefinite cone, whose eigenvalues are not to be had there."""
    X = cp.Variable((2, 2), PSD=True)
    y = cp.Variable(2)
    made = Formulation(
        cp.Problem(cp.Minimize(cp.trace(X) + cp.sum(y)), [X >> np.eye(2), cp.norm(y) <= 1]), {"X": X, "y": y}
    )
    assert made.evaluate({"X": 2 * np.eye(2), "y": np.zeros(2)}) == (4.0, 0.0)
    for X_value, y_value in ((np.full((2, 2), np.nan), np.zeros(2)), (np.eye(2), np.array([0.0, np.inf]))):
        assert made.evaluate({"X": X_value, "y": y_value})[1] == np.inf
    assert made.evaluate({"X": np.nan * np.eye(2)})[1] == np.inf, "whether or not the letters fix every variable"


def test_residuals_that_are_no_numbers_fail_in_either_place():
    bad = dataclasses.replace(SOLVED, residuals=dataclasses.replace(SOLVED.residuals, dual=np.nan))
    assert checker._residual(SOLVED, bad) == checker._residual(bad, SOLVED) == np.inf
    assert np.isnan(checker._residual(dataclasses.replace(SOLVED, residuals=None)))


@pytest.mark.parametrize("name", ["tolerance", "decision_tolerance"])
def test_a_step_is_held_to_a_number(name):
    for value in (np.nan, np.inf, -1.0):
        with pytest.raises(cn.errors.InputError, match=name):
            dataclasses.replace(step(1.0), **{name: value})


def test_a_set_whose_worst_member_cannot_be_used_fails_its_rows_and_not_the_check():
    class Longer(PointSet):
        def membership(self, u):
            return [cp.norm(u - self.center, 1) <= self.radius]

        def worst_member(self, w):
            return np.zeros(len(w) + 1)

    features = cn.LinearFeatures(np.random.default_rng(0).normal([4, 3], 1, (12, 2)))
    report = cn.check(cn.uncertain_points(features, 0.5, Longer(0.3)))
    assert any(row.verdict == "fail" and "its worst_member gave what is no member" in row.reason for row in report.rows)
