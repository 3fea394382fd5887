"""Formulations: changing numbers without compiling, composing, duals, statuses, travelling."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty.canonical import columns_of
from convexnovelty.declare import call
from convexnovelty.errors import InfeasibleError, InputError, SolverError, UnboundedError
from convexnovelty.formulation import Formulation, Quantity, Tunable
from convexnovelty.methods import hard_margin, negative_data, separation_from_mean
from convexnovelty.uncertainty import (
    FrobeniusBall,
    GelbrichBall,
    MeanEllipsoid,
    MeanWithin,
    NormBall,
    SubspaceBall,
    WishartBall,
)
from convexnovelty.validation import nonnegative


@pytest.fixture
def moments() -> cn.Moments:
    return cn.Moments([3.0, -2.0, 1.0], np.array([[1.0, 0.2, 0.0], [0.2, 0.5, -0.1], [0.0, -0.1, 0.3]]))


def _simple() -> Formulation:
    x = cp.Variable(2)
    return Formulation(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] >= 1]), {"x": x}, name="simple")


def test_numbers_are_set_without_compiling_again(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=MeanEllipsoid(0.1) * FrobeniusBall(0.2))
    problem.solve()
    assert problem.compilations == 1
    names = [name for name in problem.parameters if name != "confidence"]
    assert len(names) == 2, names
    for confidence in (0.5, 0.6, 0.75):
        value = problem.set(confidence=confidence).solve().objective
        again = cn.single_class_mpm(moments, confidence, MeanEllipsoid(0.1) * FrobeniusBall(0.2)).solve().objective
        assert value == pytest.approx(again, rel=1e-8)
    assert problem.compilations == 1


def test_a_radius_is_set_without_compiling_again(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    for radius in (0.0, 0.1, 0.5):
        found = problem.set(radius=radius).solve().objective
        assert found == pytest.approx(
            cn.single_class_mpm(moments, 0.7, FrobeniusBall(radius)).solve().objective, rel=1e-7
        )
    assert problem.compilations == 1
    assert problem.parameters["radius"] == 0.5


def test_outlier_fraction_is_set_without_compiling_again():
    features = cn.LinearFeatures(np.arange(1.0, 8.0)[:, None])
    for form in ("primal", "dual"):
        problem = cn.one_class_svm(features, 0.5, form=form)
        first = problem.solve().objective
        second = problem.set(outlier_fraction=0.3).solve()
        assert problem.compilations == 1
        assert second.objective != pytest.approx(first, rel=1e-3)
        assert second.objective == pytest.approx(cn.one_class_svm(features, 0.3, form=form).solve().objective, rel=1e-8)
        assert second.guarantee.bound == 0.3


def test_an_argument_that_is_no_parameter_makes_the_formulation_anew(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7)
    problem.solve()
    gaussian = problem.set(tail=cn.tails.Gaussian()).solve().objective
    assert problem.compilations == 2
    assert gaussian == pytest.approx(
        cn.single_class_mpm(moments, 0.7, tail=cn.tails.Gaussian()).solve().objective, rel=1e-8
    )


_X = np.random.default_rng(4).normal([4.0, 3.0], size=(12, 2))
_LINEAR, _NEGATIVE = cn.LinearFeatures(_X), cn.Moments([-1.0, 0.0], np.eye(2))
_LABELS = np.repeat([1.0, -1.0], 6)
_REFLECTED = cn.LinearFeatures(_LABELS[:, None] * _X)


@pytest.mark.parametrize(
    ("factory", "given", "chosen"),
    [
        (cn.one_class_svm, {"features": _LINEAR, "outlier_fraction": 0.3}, {"form": "primal"}),
        (cn.soft_ball, {"features": _LINEAR, "outlier_fraction": 0.3}, {"form": "primal"}),
        (cn.hard_margin, {"features": _LINEAR}, {"form": "dual"}),
        (cn.negative_data, {"features": _REFLECTED, "labels": _LABELS, "outlier_fraction": 0.3}, {"form": "primal"}),
        (
            cn.separation_from_mean,
            {"features": _REFLECTED, "outlier_fraction": 0.5, "others": _LABELS < 0},
            {"form": "primal"},
        ),
        (
            cn.mahalanobis_svm,
            {"features": _LINEAR, "outlier_fraction": 0.3, "uncertainty": FrobeniusBall(0.2)},
            {"form": "dual"},
        ),
        (cn.kernel_learning, {"features_or_grams": _LINEAR, "outlier_fraction": 0.3}, {"form": "dual"}),
        (
            cn.kernel_learning,
            {"features_or_grams": _LINEAR, "outlier_fraction": 0.3, "form": "dual"},
            {"covariance_weight": 0.5, "scale_penalty": 0.4},
        ),
        (
            cn.moment_classifier,
            {"positives": _X, "negative_moments": _NEGATIVE, "slack_penalty": 0.3},
            {"mean_penalty": 2.0},
        ),
        (
            cn.moment_classifier,
            {"positives": _X, "negative_moments": _NEGATIVE},
            {"uncertainty": GelbrichBall(0.3)},
        ),
        (
            cn.two_class_mpm,
            {"moments_x": cn.Moments.estimate(_X), "moments_y": _NEGATIVE},
            {"uncertainty": GelbrichBall(0.3)},
        ),
    ],
)
def test_an_argument_that_chooses_the_program_can_be_set_as_any_other(factory, given, chosen):
    problem = factory(**given)
    first = problem.solve().objective
    expected = factory(**given, **chosen)
    found = problem.set(**chosen)
    assert (found.recipe.node, found.kind) == (expected.recipe.node, expected.kind)
    assert found.solve().objective == pytest.approx(expected.solve().objective, rel=1e-7)
    assert pickle.loads(pickle.dumps(found)).recipe.node == expected.recipe.node
    back = {name: inspect.signature(factory).parameters[name].default for name in chosen}
    assert problem.set(**back).solve().objective == pytest.approx(
        factory(**{**given, **back}).solve().objective, rel=1e-7
    )
    if given.keys().isdisjoint(chosen):
        assert problem.solve().objective == pytest.approx(first, rel=1e-7)


def test_another_set_comes_with_numbers_of_its_own(moments):
    """A number of the old set says nothing of the new one, whatever it is called."""

    def fresh(uncertainty):
        return cn.single_class_mpm(moments, 0.7, uncertainty).solve().objective

    later = [FrobeniusBall(0.1), FrobeniusBall(0.3), MeanEllipsoid(0.2), FrobeniusBall(0.05) & WishartBall(0.1)]
    problem = cn.single_class_mpm(moments, 0.7, FrobeniusBall(0.05))
    assert [s.objective for s in problem.path(uncertainty=later)] == pytest.approx([*map(fresh, later)], rel=1e-8)
    for uncertainty in later:
        assert problem.set(uncertainty=uncertainty).solve().objective == pytest.approx(fresh(uncertainty), rel=1e-8)
    changed = problem.set(radius=0.4, uncertainty=FrobeniusBall(0.3))
    assert changed.solve().objective == pytest.approx(fresh(FrobeniusBall(0.4)), rel=1e-8)
    # A number that was set stays where something else is changed.
    doubled = cn.Moments(2 * moments.mean, moments.covariance)
    right = cn.single_class_mpm(doubled, 0.7, FrobeniusBall(0.4)).solve().objective
    assert problem.set(moments=doubled).solve().objective == pytest.approx(right, rel=1e-8)


@pytest.mark.parametrize("moved", [False, True])
def test_a_set_that_replaces_another_brings_its_own_numbers(moments, moved):
    """The radius of the one before was put into it without a word."""
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    if moved:
        problem.set(radius=0.4)
    anew = cn.single_class_mpm(moments, 0.7, FrobeniusBall(0.3)).solve().objective
    assert problem.set(uncertainty=FrobeniusBall(0.3)).solve().objective == pytest.approx(anew, rel=1e-9)
    problem.set(uncertainty=FrobeniusBall(0.1), radius=0.3)
    assert problem.solve().objective == pytest.approx(anew, rel=1e-9)


def _admitted():
    """Every factory and every node that returns a formulation, with the arguments of the method's smallest instance."""
    for name, method in derivation.methods().items():
        instances = sorted(method.instances(), key=lambda instance: getattr(instance.arguments.get("features"), "n", 0))
        functions = {name: getattr(importlib.import_module(f"convexnovelty.methods.{name}"), name)}
        functions |= {node.key: node.function for node in method.nodes.values() if node.kind == "formulation"}
        for key, function in functions.items():
            known = inspect.signature(function).parameters
            for instance in instances:
                arguments = {k: v for k, v in instance.arguments.items() if k in known}
                missing = [k for k, p in known.items() if p.default is p.empty and k not in arguments]
                node = method.nodes.get(key.partition("/")[2])
                refused = node is not None and node.condition and call(node.condition, instance.arguments)
                if not missing and not refused:
                    yield key, function, arguments
                    break


def test_every_argument_of_every_factory_and_node_can_be_set():
    """To the value that it has, without a name too many or too few; what comes out is as a fresh one."""
    tried = 0
    for key, function, arguments in _admitted():
        try:
            made = function(**arguments)
        except InputError:
            continue
        if not isinstance(made, Formulation):
            continue
        names = inspect.signature(function).parameters
        assert set(made.recipe.arguments) == set(names), key
        for name, parameter in names.items():
            made.set(**{name: arguments.get(name, parameter.default)})
        assert set(made.recipe.arguments) == set(names), key
        fresh = function(**arguments)
        assert (made.kind, made.parameters) == (fresh.kind, fresh.parameters), key
        tried += 1
    assert tried >= 40


@pytest.mark.parametrize(
    ("node", "arguments", "other"),
    [
        (negative_data.reflected, {"labels": _LABELS, "outlier_fraction": 0.4}, {"outlier_fraction": 0.6}),
        (separation_from_mean.moved_points, {"outlier_fraction": 0.4, "others": _LABELS < 0}, {"others": _LABELS > 0}),
        (hard_margin.as_one_class_svm, {"labels": None}, {"labels": np.ones(12)}),
    ],
)
def test_a_node_that_asks_another_method_is_set_by_its_own_arguments(node, arguments, other):
    """The other method's program has points of its own, which are made of those that are set."""
    features, changed = (
        cn.LinearFeatures(sign * (np.random.default_rng(seed).standard_normal((12, 2)) + 5.0))
        for seed, sign in ((4, np.ones((12, 1))), (5, _LABELS[:, None]))
    )
    made, arguments = node(features=features, **arguments), {**arguments, "features": features}
    for given in ({"features": changed}, {"features": _LINEAR}, other):
        arguments |= given
        found, expected = made.set(**given).solve().objective, node(**arguments).solve().objective
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_the_checker_takes_what_a_node_made_of_its_arguments():
    reflected = negative_data.reflected(_REFLECTED, _LABELS, 0.4)
    report = cn.check(reflected)
    assert report.passed, report.table()
    assert {row.method for row in report.rows} == {"one_class_svm"}


def test_a_number_that_a_node_makes_itself_cannot_be_set():
    features = cn.LinearFeatures(np.random.default_rng(4).standard_normal((12, 2)) + 5.0)
    with pytest.raises(InputError, match="there is no outlier_fraction here; known are features, labels"):
        hard_margin.as_one_class_svm(features).set(outlier_fraction=0.5)


def test_set_refuses_unknown_names_and_bad_values(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    with pytest.raises(InputError, match="no nonsense here; known are"):
        problem.set(nonsense=1)
    with pytest.raises(InputError, match=r"confidence: 1\.5 was found"):
        problem.set(confidence=1.5)
    assert problem.parameters["confidence"] == 0.7, "a refused value leaves everything as it was"
    with pytest.raises(InputError, match="radius"):
        problem.set(radius=-1.0)
    assert problem.parameters["radius"] == 0.2


def test_path_compiles_once(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    solutions = problem.path(radius=np.linspace(0.0, 0.6, 7))
    objectives = [solution.objective for solution in solutions]
    assert problem.compilations == 1
    assert np.all(np.diff(objectives) > 0), "a larger set never improves the objective"


def test_a_refused_set_changes_nothing(moments):
    """Neither the numbers that a parameter holds, nor those of a formulation that would be made anew."""
    for refused in (
        {"confidence": 0.5, "radius": -1.0},
        {"radius": 0.9, "confidence": 1.5},
        {"confidence": 0.5, "nonsense": 1},
        {"confidence": 0.5, "tail": "nonsense"},
        {"tail": cn.tails.Gaussian(), "confidence": 1.5},
    ):
        problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
        value = problem.solve().objective
        with pytest.raises(InputError):
            problem.set(**refused)
        assert problem.parameters == {"confidence": 0.7, "radius": 0.2}
        assert problem.recipe.arguments["confidence"] == 0.7
        assert problem.recipe.arguments["uncertainty"].radius == 0.2
        assert problem.solve().objective == pytest.approx(value, rel=1e-10)
        assert problem.compilations == 1
    # Numbers beside a factory's argument are set as well.
    both = problem.set(tail=cn.tails.Gaussian(), confidence=0.6, radius=0.1).solve().objective
    anew = cn.single_class_mpm(moments, 0.6, FrobeniusBall(0.1), cn.tails.Gaussian()).solve().objective
    assert both == pytest.approx(anew, rel=1e-8)


def test_numbers_that_allow_each_other_are_set_in_any_order():
    class Ordered:
        def __init__(self, name, numbers):
            self.name, self.numbers = name, numbers

        @property
        def value(self):
            return self.numbers[self.name]

        def set(self, value):
            changed = {**self.numbers, self.name: value}
            if changed["low"] > changed["high"]:
                raise InputError(f"{self.name}: {value} was found")
            self.numbers[self.name] = value

    numbers = {"low": 0.1, "high": 0.2}
    problem = Formulation(
        cp.Problem(cp.Minimize(cp.Variable())), {}, tunables={name: Ordered(name, numbers) for name in numbers}
    )
    assert problem.set(low=0.5, high=0.6).parameters == {"low": 0.5, "high": 0.6}
    with pytest.raises(InputError, match=r"low: 0\.9"):
        problem.set(high=0.8, low=0.9)
    assert problem.parameters == {"low": 0.5, "high": 0.6}


def test_a_path_leaves_the_numbers_as_they_were(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    value, program = problem.solve().objective, problem.problem
    for numbers in (
        {"confidence": [0.5, 0.75]},
        {"radius": [0.0, 0.4], "confidence": [0.5, 0.6]},
        {"tail": [cn.tails.Gaussian(), cn.tails.Student(5.0)]},
    ):
        problem.path(**numbers)
        assert problem.parameters == {"confidence": 0.7, "radius": 0.2}
        assert problem.problem is program
        assert problem.recipe.arguments["tail"] is None and problem.recipe.arguments["confidence"] == 0.7
        assert problem.solve().objective == pytest.approx(value, rel=1e-10)
    with pytest.raises(InfeasibleError):
        problem.path(confidence=[0.5, 0.9999])
    with pytest.raises(InputError, match="radius"):
        problem.path(confidence=[0.5, 0.6], radius=[0.3, -1.0])
    assert problem.parameters == {"confidence": 0.7, "radius": 0.2}
    assert problem.solve().objective == pytest.approx(value, rel=1e-10)


def test_subject_to_and_plus_compose(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7)
    free = problem.solve()
    held = problem.subject_to(lambda v: v["a"][1] >= 0).solve()
    assert held.values["a"][1] >= -1e-8
    assert held.objective >= free.objective - 1e-9
    also = problem.subject_to(problem.variables["a"][1] >= 0).solve()
    assert also.objective == pytest.approx(held.objective, rel=1e-7)
    penalised = problem.plus(lambda v: 10 * cp.norm1(v["a"])).solve()
    assert np.abs(penalised.values["a"]).sum() < np.abs(free.values["a"]).sum()


@pytest.mark.parametrize("extend", ["subject_to", "plus"])
def test_a_composed_formulation_has_numbers_of_its_own(moments, extend):
    def term(variables):
        return variables["a"][1] >= 0 if extend == "subject_to" else cp.norm1(variables["a"])

    def made(confidence, radius):
        return cn.single_class_mpm(moments, confidence, FrobeniusBall(radius))

    def anew(confidence, radius):
        """The composed problem built by hand around a new program."""
        base = made(confidence, radius)
        program, extra = base.problem, term(base.variables)
        if extend == "subject_to":
            program = cp.Problem(program.objective, [*program.constraints, extra])
        else:
            program = cp.Problem(cp.Minimize(program.objective.expr + extra / base.objective_unit), program.constraints)
        return program.solve("CLARABEL") * base.objective_unit

    problem = made(0.5, 0.3).set(confidence=0.6, radius=0.1)
    value = problem.solve().objective
    child = getattr(problem, extend)(term)
    assert child.parameters == {"confidence": 0.6, "radius": 0.1}, "the numbers that the parent has now"
    assert child.solve().objective == pytest.approx(anew(0.6, 0.1), rel=1e-6)
    # From the child to the parent.
    assert child.set(confidence=0.7, radius=0.2).solve().objective == pytest.approx(anew(0.7, 0.2), rel=1e-6)
    along = child.path(radius=[0.0, 0.4])
    assert [s.objective for s in along] == pytest.approx([anew(0.7, 0.0), anew(0.7, 0.4)], rel=1e-6)
    assert child.compilations == 1
    assert problem.parameters == {"confidence": 0.6, "radius": 0.1}
    assert problem.solve().objective == pytest.approx(value, rel=1e-9)
    # And from the parent to the child.
    problem.set(confidence=0.5, radius=0.0)
    solution = child.solve()
    assert solution.objective == pytest.approx(anew(0.7, 0.2), rel=1e-6)
    assert solution.guarantee.bound == pytest.approx(0.3)


def test_composed_formulations_compose_further(moments):
    """Each level has its own numbers, and functions are not asked again: those of a loop would give other terms."""
    problem = cn.single_class_mpm(moments, 0.5, FrobeniusBall(0.1))
    held, other = problem, cp.Variable(3)
    levels = []
    for i in (0, 1):
        held = held.subject_to(lambda v: v["a"][i] <= 0.05)  # noqa: B023
        levels.append(held)
    last = held.plus(lambda v: 0.5 * cp.norm1(v["a"] - other)).subject_to([other == 0.1]).set(confidence=0.6)
    fresh = cn.single_class_mpm(moments, 0.6, FrobeniusBall(0.1))
    a = fresh.variables["a"]
    program = cp.Problem(
        cp.Minimize(fresh.problem.objective.expr + 0.5 * cp.norm1(a - 0.1) / fresh.objective_unit),
        [*fresh.problem.constraints, a[0] <= 0.05, a[1] <= 0.05],
    )
    assert last.solve().objective == pytest.approx(program.solve("CLARABEL") * fresh.objective_unit, rel=1e-6)
    assert [f.parameters["confidence"] for f in (problem, *levels, last)] == [0.5, 0.5, 0.5, 0.6]
    levels[0].set(confidence=0.7)
    assert [f.parameters["confidence"] for f in (problem, *levels, last)] == [0.5, 0.7, 0.5, 0.6]


def test_terms_on_the_variables_of_a_formulation_tie_the_two(moments):
    """Neither moves the other without a word: the child is refused new numbers, and a solve at the parent's new ones."""
    problem = cn.single_class_mpm(moments, 0.6, FrobeniusBall(0.1))
    a = problem.variables["a"]
    value = problem.solve().objective
    for child in (
        problem.subject_to(a[1] >= 0),
        problem.subject_to([a[1] >= 0]),
        problem.subject_to(lambda v: a[1] >= 0),
        problem.plus(cp.norm1(a)),
        problem.plus(cp.norm1(a)).subject_to(lambda v: v["a"][1] >= 0),
    ):
        first = child.solve().objective
        assert first > value
        for change in (lambda c=child: c.set(confidence=0.7), lambda c=child: c.path(radius=[0.2])):
            with pytest.raises(InputError, match="function of the variables for numbers of its own"):
                change()
        problem.set(confidence=0.7)
        for use in (child.solve, child.dual, lambda c=child: c.subject_to(a[0] >= 0), lambda c=child: c.evaluate({})):
            with pytest.raises(InputError, match=r"has confidence = 0\.7, not 0\.6 now"):
                use()
        problem.set(confidence=0.6)
        problem.path(confidence=[0.5, 0.7])
        assert child.solve().objective == pytest.approx(first, rel=1e-9)
        assert problem.solve().objective == pytest.approx(value, rel=1e-9)
    assert isinstance(a.value, np.ndarray), "the variables that the term was written on hold the solution"


def test_units_of_added_terms_are_the_users():
    features = cn.LinearFeatures(1e3 * np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]))
    problem = cn.one_class_svm(features, 0.5, form="primal")
    plain = problem.solve()
    shifted = problem.plus(7.0e6).solve()
    assert shifted.objective == pytest.approx(plain.objective + 7.0e6, rel=1e-9)


def test_dual_is_solvable_and_its_dual_is_the_problem(moments):
    for problem in (
        cn.single_class_mpm(moments, 0.7, MeanEllipsoid(0.1) * FrobeniusBall(0.3)),
        cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 6.0)[:, None]), 0.5),
    ):
        value = problem.solve().objective
        dual = problem.dual()
        assert dual.solve().objective == pytest.approx(value, rel=1e-7)
        assert dual.dual().solve().objective == pytest.approx(value, rel=1e-6)


def test_what_is_not_convex_is_named_where_it_is_given():
    x = cp.Variable(3, name="x")
    ball = [cp.norm(x) <= 1]
    given = Formulation(cp.Problem(cp.Minimize(cp.sum(x)), ball), {"x": x})
    for made, said in (
        (
            lambda: Formulation(cp.Problem(cp.Minimize(-cp.norm(x)), ball), {"x": x}),
            r"user's formulation has minimize ",
        ),
        (lambda: Formulation(cp.Problem(cp.Maximize(cp.sum_squares(x)), ball), {"x": x}), "has maximize "),
        (lambda: given.subject_to(lambda v: cp.norm(v["x"]) >= 0.5), r"with further constraints has 0.5 <= "),
        (lambda: given.plus(lambda v: cp.sqrt(v["x"][0])), "with a further term has minimize"),
        (lambda: given.subject_to(lambda v: cp.exp(v["x"]) == 1.0), "with further constraints has exp"),
    ):
        with pytest.raises(InputError, match=rf"problem: .*{said}.*, which is not convex by the rules of CVXPY; write"):
            made()
    with pytest.raises(InputError, match=r"problem: 3 was found; give a cvxpy.Problem"):
        Formulation(3, {"x": x})


def test_a_program_of_whole_numbers_has_no_dual():
    z = cp.Variable(3, integer=True)
    whole = Formulation(cp.Problem(cp.Minimize(cp.sum(z)), [cp.abs(z - 0.4) <= 3]), {"z": z})
    assert whole.solve("HIGHS").objective == -6.0
    with pytest.raises(
        InputError, match=r"dual: user's formulation has integer variables, .* take the dual of one with them fixed"
    ):
        whole.dual()


@pytest.mark.parametrize("constant", [7.0, 0.0, -3e-7, 1e6])
@pytest.mark.parametrize("kind", [cp.Minimize, cp.Maximize])
def test_a_constant_objective_is_known_however_large_the_constant(constant, kind):
    y = cp.Variable(3)
    problem = Formulation(cp.Problem(kind(0.0 * cp.sum(y) + constant), [cp.norm(y) <= 1]), {"y": y})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for posed in (problem, problem.dual()):
            assert posed.solve().objective == pytest.approx(constant, rel=1e-10, abs=1e-10)


def test_kind_is_computed():
    x, s = cp.Variable(2), cp.Variable((2, 2), PSD=True)
    cases = {
        "LP": cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]),
        "QP": cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]),
        "QCQP": cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum_squares(x) <= 1]),
        "SOCP": cp.Problem(cp.Minimize(cp.norm(x)), [x[0] >= 1]),
        "SDP": cp.Problem(cp.Minimize(cp.trace(s)), [s[0, 0] >= 1]),
        "EXP": cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 1]),
    }
    for kind, problem in cases.items():
        assert Formulation(problem, {"x": x}).kind == kind


def test_repr_and_latex_say_what_it_is(moments):
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    text = repr(problem)
    assert text.startswith("single_class_mpm (socp): SOCP, Lanckriet, El Ghaoui and Jordan (2003), equation 11")
    assert "a (3,)" in text
    assert "confidence = 0.7" in text
    assert r"\kappa(\alpha)" in problem.latex


def test_infeasible_unbounded_and_limits_are_errors():
    x = cp.Variable()
    with pytest.raises(InfeasibleError, match="no point satisfies the constraints"):
        Formulation(cp.Problem(cp.Minimize(x), [x >= 1, x <= 0]), {"x": x}).solve()
    with pytest.raises(UnboundedError, match="improved without end"):
        Formulation(cp.Problem(cp.Minimize(x)), {"x": x}).solve()
    with pytest.raises(SolverError, match="user_limit"):
        _simple().solve(max_iter=1)


def test_b24_a_point_that_is_not_a_solution_never_passes():
    problem = cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5)
    with pytest.raises(SolverError):
        problem.solve("SCS", max_iters=5)


def test_unknown_solver_and_options_are_named():
    with pytest.raises(InputError, match="'NOSUCH' is not installed; installed are"):
        _simple().solve("NOSUCH")


def test_attempts_record_options_and_status():
    solution = _simple().solve()
    assert [attempt.status for attempt in solution.attempts] == ["optimal"]
    assert solution.attempts[0].solver == "CLARABEL"
    assert solution.attempts[0].options["tol_gap_rel"] == 1e-10
    assert solution.residuals.worst < 1e-8
    assert solution.time > 0


def test_residuals_of_scs_are_those_of_its_own_order_of_rows():
    """SCS stacks lower triangles where Clarabel stacks upper ones; a mix-up shows as a large residual of a right point."""
    S = cp.Variable((3, 3), symmetric=True)
    data = np.array([[2.0, 1.0, -3.0], [1.0, 5.0, 0.5], [-3.0, 0.5, 7.0]])
    problem = Formulation(
        cp.Problem(cp.Minimize(cp.trace(data @ S)), [S >> 0, cp.trace(S) == 1, S[0, 2] == 0.1]), {"S": S}
    )
    clarabel, scs = problem.solve(), problem.solve("SCS")
    assert scs.residuals.worst < 1e-6
    assert scs.objective == pytest.approx(clarabel.objective, rel=1e-5)


def test_b35_the_same_problem_gives_the_same_digits():
    features = cn.KernelFeatures(np.arange(6.0)[:, None], cn.kernels.gaussian(gamma=0.5))
    problem = cn.one_class_svm(features, 0.5)
    for solver in ("CLARABEL", "SCS"):
        values = [problem.solve(solver).objective for _ in range(3)]
        assert values[0] == values[1] == values[2]


def test_b33_formulations_travel_as_recipes(moments):
    """A pickled formulation is rebuilt elsewhere, where new variables must not take its variables' ids."""
    problem = cn.single_class_mpm(moments, confidence=0.7, uncertainty=FrobeniusBall(0.2))
    value = problem.solve().objective
    problem.set(confidence=0.6)
    there = pickle.loads(pickle.dumps(problem))
    assert there.parameters["confidence"] == 0.6
    assert there.set(confidence=0.7).solve().objective == pytest.approx(value, rel=1e-9)
    script = (
        "import pickle, sys, cvxpy as cp\n"
        "problem = pickle.loads(sys.stdin.buffer.read())\n"
        "v = cp.Variable(3)\n"
        "print(repr(problem.plus(lambda q: 0 * cp.sum(v)).subject_to([v == 5]).solve().objective))\n"
    )
    problem.set(confidence=0.7)
    done = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(problem), capture_output=True, check=True)
    assert float(done.stdout) == pytest.approx(value, rel=1e-7)


def test_a_composed_formulation_says_that_it_cannot_travel(moments):
    with pytest.raises(TypeError, match="no recipe to travel by"):
        pickle.dumps(cn.single_class_mpm(moments, 0.7).plus(1.0))


def test_quantity_scales_and_rotates_both_ways():
    axes = np.array([[0.0, 2.0], [3.0, 0.0]])
    quantity = Quantity(cp.Variable(2), 10.0, axes, np.linalg.inv(axes))
    quantity.assign([6.0, 30.0])
    np.testing.assert_allclose(quantity.value, [6.0, 30.0])
    np.testing.assert_allclose(quantity.expression.value, [6.0, 30.0])


def test_tunable_passes_a_number_on_and_refuses_a_bad_one():
    tunable = Tunable("penalty", 4.0, nonnegative)
    root = tunable.parameter(np.sqrt, nonneg=True)
    assert root.value == 2.0
    tunable.set(9.0)
    assert root.value == 3.0
    with pytest.raises(InputError, match="penalty: -1 was found"):
        tunable.set(-1)
    assert (tunable.value, root.value) == (9.0, 3.0)


def test_evaluate_tries_a_point_in_the_program():
    problem = _simple()
    objective, violation = problem.evaluate({"x": np.array([0.5, 0.0])})
    assert objective == pytest.approx(0.25)
    assert violation == pytest.approx(0.5)
    assert problem.evaluate({}) is None


@pytest.mark.parametrize(
    ("declared", "value", "missed"),
    [
        ({"nonneg": True}, [[-1.0, 0.0], [0.0, 4.0]], 1.0),
        ({"nonpos": True}, [[2.0, 0.0], [-5.0, 0.0]], 2.0),
        ({"pos": True}, [[-1.5, 1.0], [1.0, 1.0]], 1.5),
        ({"neg": True}, [[0.5, -1.0], [-1.0, -1.0]], 0.5),
        ({"bounds": [0, 1]}, [[3.0, 0.5], [-1.0, 0.5]], 2.0),
        ({"bounds": [None, np.array([[1.0, 2.0], [3.0, np.inf]])]}, [[-9.0, 2.0], [3.25, 9.0]], 0.25),
        ({"PSD": True}, [[1.0, 0.0], [0.0, -3.0]], 3.0),
        ({"NSD": True}, [[1.0, 2.0], [2.0, 1.0]], 3.0),
        ({"symmetric": True}, [[1.0, 2.0], [0.5, 1.0]], 1.5),
        ({"PSD": True}, [[4.0, 1.0], [0.0, 4.0]], 1.0),
        ({"diag": True}, [[1.0, -0.75], [0.0, 1.0]], 0.75),
        ({"sparsity": [(0, 1), (0, 1)]}, [[1.0, 0.0], [0.125, 2.0]], 0.125),
        ({"boolean": True}, [[0.2, 1.0], [0.0, 0.9]], 0.2),
        ({"boolean": True}, [[3.0, 1.0], [0.0, 1.0]], 2.0),
        ({"boolean": [(0, 1), (1, 1)]}, [[0.5, 0.0], [0.5, 0.75]], 0.25),
        ({"integer": True}, [[2.0, -3.0], [0.0, 1.375]], 0.375),
        ({"integer": [(0,), (1,)]}, [[0.5, 6.125], [0.5, 0.5]], 0.125),
        ({"symmetric": True, "nonneg": True}, [[1.0, -2.0], [-2.0, 1.0]], 2.0),
        ({"integer": True, "bounds": [0, 5]}, [[7.0, 0.25], [0.0, 0.0]], 2.0),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)
@pytest.mark.filterwarnings("ignore:.*sparse CVXPY expression:RuntimeWarning")
def test_what_a_variable_was_declared_to_be_counts_as_a_constraint(declared, value, missed):
    x = cp.Variable((2, 2), **declared)
    made = Formulation(cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(x) <= 100]), {"x": x})
    assert made.evaluate({"x": value})[1] == pytest.approx(missed, rel=1e-9)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": 1.0}, r"values: x: shape \(\) was found where \(4,\) is needed"),
        ({"x": np.ones(1)}, r"values: x: shape \(1,\) was found where \(4,\) is needed"),
        ({"x": True}, r"values: x: shape \(\) was found where \(4,\) is needed"),
        ({"x": np.ones(3)}, r"values: x: shape \(3,\) was found where \(4,\) is needed"),
        ({"x": np.ones((4, 4))}, r"values: x: shape \(4, 4\) was found where \(4,\) is needed"),
        ({"x": np.ones((2, 2))}, r"values: x: shape \(2, 2\) was found where \(4,\) is needed"),
        ({"M": np.ones(6)}, r"values: M: shape \(6,\) was found where \(2, 3\) is needed"),
        ({"M": np.ones((3, 2))}, r"values: M: shape \(3, 2\) was found where \(2, 3\) is needed"),
        ({"t": np.ones(2)}, r"values: t: shape \(2,\) was found where \(\) is needed"),
        ({"x": "abc"}, "values: x: entries of type <U3 were found; give real numbers"),
        ({"x": np.ones(4) * 1j}, "values: x: complex numbers .* were found; give real numbers"),
        ({"x": [1.0, "b", 2.0, 3.0]}, "values: x: entries of type <U32 were found"),
        ({"x": [[1.0], [2.0, 3.0]]}, "values: x: not a rectangular array"),
    ],
)
def test_evaluate_refuses_values_that_are_none_of_their_letters(given, said):
    """Sums over another number of entries are another program's: one for the four ones of which the constraint takes three."""
    x, M, t = cp.Variable(4), cp.Variable((2, 3)), cp.Variable()
    made = Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + cp.sum_squares(M) + t), [cp.sum(x) <= 3, t >= 0]),
        {"x": x, "M": M, "t": t},
    )
    point = {"x": np.ones(4), "M": np.zeros((2, 3)), "t": 0.0}
    assert made.evaluate(point) == (0.0, 1.0)
    with pytest.raises(InputError, match=said):
        made.evaluate({**point, **given})
    for same in (
        {"x": [1, 1, 1, 1]},
        {"x": np.ones((4, 1))},
        {"x": np.ones((1, 4))},
        {"t": np.zeros((1, 1))},
        {"t": 0},
    ):
        assert made.evaluate({**point, **same}) == (0.0, 1.0), same


def test_a_letter_that_the_program_does_not_use_needs_no_value():
    x, y = cp.Variable(2), cp.Variable(2)
    made = Formulation(cp.Problem(cp.Minimize(cp.sum_squares(x - 1))), {"x": x, "y": y})
    solution = made.solve()
    assert solution.values["y"] is None
    objective, violation = made.evaluate(solution.values)
    assert objective == pytest.approx(0.0, abs=1e-12) and violation == 0.0
    assert made.evaluate({"x": None, "y": np.ones(2)}) is None


@pytest.mark.filterwarnings("ignore:.*sparse CVXPY expression:RuntimeWarning")
def test_what_is_as_it_was_declared_misses_nothing():
    for declared, value in (
        ({"bounds": [0, 1]}, [[0.0, 1.0], [0.5, 0.5]]),
        ({"PSD": True}, [[2.0, 1.0], [1.0, 2.0]]),
        ({"NSD": True}, [[-2.0, 1.0], [1.0, -2.0]]),
        ({"diag": True}, [[2.0, 0.0], [0.0, -2.0]]),
        ({"sparsity": [(0, 1), (0, 1)]}, [[2.0, 0.0], [0.0, -2.0]]),
        ({"boolean": [(0,), (0,)]}, [[1.0, 0.5], [0.5, 0.5]]),
        ({"integer": True}, [[1.0, -3.0], [0.0, 2.0]]),
    ):
        x = cp.Variable((2, 2), **declared)
        made = Formulation(cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(x) <= 100]), {"x": x})
        assert made.evaluate({"x": value}) == (np.sum(value), 0.0), declared
    z = cp.Variable(boolean=True)
    assert Formulation(cp.Problem(cp.Minimize(z)), {"z": z}).evaluate({"z": 0.75}) == (0.75, 0.25)


def test_a_fractional_choice_of_outliers_is_no_point_of_the_program():
    X = np.random.default_rng(0).normal(size=(10, 2)) + 2
    made = cn.exact_outliers(cn.LinearFeatures(X), 2)
    solution = made.solve()
    kept = solution.values["z"] > 0.5
    values = {"w": 1.02 * solution.values["w"], "z": np.where(kept, 0.99, 0.0025)}
    assert made.evaluate(values)[1] == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        (lambda v: cp.sum(cp.power(v, 3)) <= 4, [-2.0, 1.0]),
        (lambda v: cp.quad_over_lin(v[0], v[1]) <= 4, [1.0, -2.0]),
        (lambda v: cp.sum(cp.inv_pos(v)) <= 4, [-2.0, 1.0]),
        (lambda v: cp.log_det(cp.diag(v)) >= -1, [-2.0, -2.0]),
        (lambda v: cp.matrix_frac(np.ones(2), cp.diag(v)) <= 4, [-2.0, -2.0]),
    ],
)
def test_evaluate_counts_what_functions_are_defined_on(constraint, values):
    """Beyond it they have values of another function: a point that the program has no part of was called feasible."""
    v = cp.Variable(2)
    in_constraint = cn.Formulation(cp.Problem(cp.Minimize(cp.sum_squares(v - 3)), [constraint(v)]), {"v": v})
    assert in_constraint.evaluate({"v": values})[1] == pytest.approx(2.0)
    in_objective = cn.Formulation(cp.Problem(cp.Minimize(cp.sum(cp.power(v, 3))), []), {"v": v})
    assert in_objective.evaluate({"v": [-2.0, 1.0]})[1] == pytest.approx(2.0)


def test_evaluate_takes_the_values_of_a_solution():
    """What a reading adds to the letters of the program, such as kappa, is passed over; unknown ones alone are refused by name."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 3)) + np.array([4.0, 5.0, -6.0])
    one, other = cn.Moments([4.0, 5.0, -6.0], np.eye(3)), cn.Moments([-2.0, -2.0, 3.0], np.diag([1.0, 2.0, 0.5]))
    for problem in (
        cn.two_class_mpm(one, other, FrobeniusBall(0.3)),
        cn.moment_classifier(X, other, 0.05),
        cn.mahalanobis_svm(cn.LinearFeatures(X), 0.3),
    ):
        solution = problem.solve()
        assert set(solution.values) > set(problem.variables)
        objective, violation = problem.evaluate(solution.values)
        assert objective == pytest.approx(solution.objective, rel=1e-9) and violation < 1e-8
        with pytest.raises(InputError, match="values: kappa was found; give values by the letters "):
            problem.evaluate({"kappa": 1.0})


def test_a_program_that_fails_where_its_numbers_were_set_is_made_anew():
    def made(radius):
        S = np.array([[1.2, 0.6, -0.8], [0.6, 0.8, 0.3], [-0.8, 0.3, 3.4]])
        means = MeanEllipsoid(0.1) + MeanWithin(NormBall(2, 0.1))
        covariances = SubspaceBall(np.array([[0.6, -0.9], [0.5, 0.3], [-0.5, -1.3]]), radius)
        mean = np.array([5.4, 10.7, 8.8])
        return cn.two_class_mpm(cn.Moments(mean, S), cn.Moments(-mean, S), means * covariances)

    problem = made(2.0)
    problem.solve()
    found = problem.set(radius=2000.0).solve()
    assert found.objective == pytest.approx(made(2000.0).solve().objective, rel=1e-5)


def test_importing_the_package_does_not_import_cvxpy():
    script = (
        "import sys, convexnovelty as cn, numpy as np\n"
        "cn.methods.single_class_mpm.closed_form(cn.Moments([3.0, 4.0], np.eye(2)), 0.5)\n"
        "from convexnovelty.algorithms.smo import smo\n"
        "smo(np.eye(3), upper=1.0)\n"
        "assert 'cvxpy' not in sys.modules, 'cvxpy was imported'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_diagonal_letter_has_the_values_of_its_whole_matrix():
    """The nearest diagonal matrix keeps the diagonal; what lies beside it is the error, here 4."""
    X, target = cp.Variable((3, 3), diag=True), np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    made = cn.Formulation(cp.Problem(cp.Minimize(cp.sum_squares(X - target))), {"X": X})
    solution = made.solve()
    assert solution.objective == pytest.approx(4.0)
    assert solution.values["X"] == pytest.approx(np.diag([2.0, 3.0, 4.0]))
    assert made.evaluate(solution.values)[0] == pytest.approx(4.0)


def test_a_complex_letter_is_refused():
    z = cp.Variable(3, complex=True)
    with pytest.raises(InputError, match=r"variables: z is complex, .* make it of two real variables"):
        cn.Formulation(cp.Problem(cp.Minimize(cp.sum_squares(z - 2j))), {"z": z})


def test_a_parameter_of_the_program_is_a_tunable_number():
    """q (y - 1)^2 + |y| is least at 1 - 1/(2q), where it is 1 - 1/(4q)."""
    q, y = cp.Parameter(nonneg=True, value=2.0), cp.Variable()
    made = cn.Formulation(cp.Problem(cp.Minimize(q * cp.square(y - 1) + cp.abs(y))), {"y": y}, tunables={"price": q})
    assert made.parameters == {"price": 2.0}
    assert made.solve().objective == pytest.approx(7 / 8)
    assert [s.objective for s in made.path(price=[1.0, 4.0])] == pytest.approx([3 / 4, 15 / 16])
    assert (made.parameters, made.compilations) == ({"price": 2.0}, 1)
    with pytest.raises(InputError, match=r"price: -1 was found; Parameter value must be nonnegative"):
        made.set(price=-1)
    assert made.set(price=8).solve().objective == pytest.approx(31 / 32)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (cp.Parameter(), "no value yet"),
        (cp.Parameter(2, value=np.ones(2)), r"the shape \(2,\)"),
        (3.0, "is 3.0; give a Tunable"),
    ],
)
def test_what_no_tunable_can_be_is_refused(given, said):
    with pytest.raises(InputError, match=f"tunables: .*price.* {said}"):
        cn.Formulation(cp.Problem(cp.Minimize(cp.Variable())), {}, tunables={"price": given})


@pytest.mark.parametrize(
    "problem",
    [
        lambda x: cp.Problem(cp.Minimize(cp.sum_squares(x) + np.nan), [x >= 1]),
        lambda x: cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1, x[0] <= np.inf]),
        lambda x: cp.Problem(cp.Minimize(cp.sum_squares(x)), [np.array([[1.0, np.nan]]) @ x >= 1]),
    ],
)
def test_a_problem_has_finite_numbers(problem):
    x = cp.Variable(2)
    with pytest.raises(InputError, match=r"problem: (nan|inf|\[?nan\]?) was found in .*; give finite numbers"):
        Formulation(problem(x), {"x": x})


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (lambda p: p.plus(lambda v: v["a"]), r"term: it has the shape \(3,\); give one number"),
        (
            lambda p: p.subject_to(lambda v: v["a"] <= np.inf),
            "constraints: inf was found in .* leave out bounds that are none",
        ),
        (lambda p: p.subject_to(lambda v: v["a"][0] <= np.nan), "constraints: nan was found in .* give finite numbers"),
        (lambda p: p.plus(lambda v: cp.Constant(np.nan)), "term: nan was found in nan; give finite numbers"),
        (lambda p: p.plus(lambda v: np.inf * v["a"][0]), "term: inf was found in .* give finite numbers"),
        (
            lambda p: p.subject_to(lambda v: v["a"] <= cp.Parameter(name="cap")).solve(),
            "the parameter cap has no value",
        ),
    ],
)
def test_what_cannot_be_added_is_refused_in_words(added, said):
    made = cn.single_class_mpm(cn.Moments([3.0, 2.0, 1.0], np.eye(3)), 0.5)
    with pytest.raises(InputError, match=said):
        added(made)


def test_a_kernel_without_weight_is_within_its_cone():
    """The optimum drops a kernel: |c_0|^2 <= mu_0 tau_0 holds of nothing on both sides."""
    X = np.random.default_rng(0).normal(size=(24, 2)) + np.array([2.0, 1.0])
    features = [cn.KernelFeatures(X, kernel) for kernel in (cn.kernels.gaussian(gamma=0.4), cn.kernels.laplacian(0.3))]
    made = cn.kernel_learning(features, 0.3, scale_penalty=0.5)
    solution = made.solve()
    values = {**solution.values, "c_0": np.zeros_like(solution.values["c_0"]), "mu": np.array([0.0, 1.0])}
    for given in (solution.values, {**values, "tau": np.array([1.0, solution.values["tau"][1]])}):
        assert made.evaluate(given)[1] <= 1e-10
    # A part that has a length needs weight: at 1e-12 in its place it would cost as many millions of millions.
    assert made.evaluate({**values, "c_0": np.full_like(values["c_0"], 0.1)})[1] > 1e9


SKEW = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 1.5]])


@pytest.mark.parametrize(
    ("atom", "said"),
    [
        (lambda x: cp.sum(cp.loggamma(2 * x + 1)), "CVXPY's loggamma is a fit .* up to 1e-2 off"),
        (lambda x: -cp.sum(cp.log_normcdf(x)), "CVXPY's log_normcdf is a fit .* bound what it is a function of"),
        (lambda x: cp.quantum_rel_entr(cp.diag(x), np.eye(3)), r"quad_approx=\(3, 3\), .* give quad_approx=\(4, 6\)"),
        (lambda x: cp.pnorm(x, np.pi), "rounds an exponent of pnorm .* give approx=False"),
        (lambda x: cp.sum(cp.power(x - 1, 6)), r"power\(.*, 6\) is one of numbers .* give power\(abs\(...\)\)"),
        (lambda x: cp.sum(cp.power(x - 1, 10, approx=False)), r"power\(.*, 10\) is one of numbers"),
        (
            lambda x: cp.lambda_max(SKEW @ cp.diag(x)),
            "asks the matrix of lambda_max to be symmetric, .* with the same eigenvalues",
        ),
        (lambda x: -cp.log_det(SKEW @ cp.diag(x)), "asks the matrix of log_det to be symmetric"),
        (lambda x: cp.matrix_frac(np.ones(3), SKEW @ cp.diag(x)), "asks the matrix of MatrixFrac to be symmetric"),
    ],
)
def test_what_cvxpy_only_comes_near_is_refused_wherever_it_is_written(atom, said):
    made = cn.single_class_mpm(cn.Moments([3.0, 2.0, 1.0], np.eye(3)), 0.5)
    with pytest.raises(InputError, match=f"term: .*{said}"):
        made.plus(lambda v: atom(v["a"]))
    with pytest.raises(InputError, match="constraints: CVXPY"):
        made.subject_to(lambda v: atom(v["a"]) <= 3.0)
    x = cp.Variable(3)
    with pytest.raises(InputError, match="problem: CVXPY"):
        Formulation(cp.Problem(cp.Minimize(atom(x)), [x >= 1]), {"x": x})


def test_what_cvxpy_states_exactly_or_near_enough_is_taken():
    made = cn.single_class_mpm(cn.Moments([3.0, 2.0, 1.0], np.eye(3)), 0.5)
    fine = (
        lambda a: cp.pnorm(a, np.pi, approx=False),
        lambda a: cp.quantum_rel_entr(cp.diag(a + 2), np.eye(3), quad_approx=(4, 6)),
        lambda a: cp.maximum(0.0, cp.sum(a) - 0.5, 2.18382 - 3.62887 * a[0]),
        lambda a: cp.sum(cp.power(cp.abs(a - 1), 6)),
        lambda a: cp.lambda_max(SKEW.T @ cp.diag(a) @ SKEW),
    )
    for atom in fine:
        solution = made.plus(lambda v, atom=atom: 0.1 * atom(v["a"])).solve()
        a = solution.values["a"]
        assert solution.objective == pytest.approx(
            np.linalg.norm(a) + 0.1 * float(atom(cp.Constant(a)).value), rel=1e-7
        )


@pytest.mark.parametrize("seed", range(30))
def test_a_value_is_a_number_where_rounding_leads_out_of_what_an_objective_is_defined_on(seed):
    """The nearest distribution without the first point: the others' shares grow alike, at -log(1 - p_0)."""
    p, x = np.random.default_rng(seed).dirichlet(np.ones(6)), cp.Variable(6)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(x, p))), [cp.sum(x) == 1, x[0] == 0])
    assert Formulation(problem, {"x": x}).solve().objective == pytest.approx(-np.log(1 - p[0]), abs=1e-7)


def test_squares_over_what_is_held_at_zero_are_zero():
    X = np.random.default_rng(0).normal(size=(12, 2)) + np.array([2.0, 1.0])
    made = cn.one_class_svm(cn.LinearFeatures(X), 0.4, "dual")
    kept = made.subject_to(lambda v: [v["alpha"][[0, 3, 4]] == 0]).solve().objective
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = (
            made.plus(lambda v: 0.01 * cp.quad_over_lin(v["alpha"][0], v["alpha"][3] + v["alpha"][4]))
            .subject_to(lambda v: v["alpha"][[3, 4]] == 0)
            .solve()
        )
    assert found.objective == pytest.approx(kept, rel=1e-7)


@pytest.mark.parametrize(
    ("declared", "first"),
    [({"symmetric": True}, 0.0), ({"PSD": True}, 0.3), ({"NSD": True}, -0.3), ({"diag": True}, 0.2)],
)
def test_what_is_added_to_matrices_of_fewer_columns_than_entries(declared, first):
    M = np.random.default_rng(0).normal(size=(3, 3))
    X = cp.Variable((3, 3), **declared)
    own, within = cp.sum(cp.abs(X - M)) + cp.max(X), [cp.sum(X) <= 1]
    made = Formulation(cp.Problem(cp.Minimize(own), within), {"X": X})
    for added, objective, constraints in (
        (made.subject_to(lambda v: v["X"][0, 0] == first), own, [*within, X[0, 0] == first]),
        (made.plus(lambda v: cp.norm(v["X"], "fro")), own + cp.norm(X, "fro"), within),
    ):
        direct = cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL")
        assert added.solve().objective == pytest.approx(direct, rel=1e-6)


@pytest.mark.parametrize(
    ("declared", "count"),
    [
        ({}, 16),
        ({"symmetric": True}, 10),
        ({"PSD": True}, 10),
        ({"NSD": True}, 10),
        ({"diag": True}, 4),
        ({"sparsity": [(0, 1, 2), (0, 3, 3)]}, 3),
        ({"nonneg": True}, 16),
        ({"nonpos": True}, 16),
        ({"bounds": [-1.0, 5.0]}, 16),
        ({"symmetric": True, "nonneg": True}, 10),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)
@pytest.mark.filterwarnings("ignore:.*sparse CVXPY expression:RuntimeWarning")
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_columns_of_a_variable_are_its_own_whatever_it_was_declared_to_be(declared, count, solver):
    """Those that a linear function of it alone has, before what is compiled after it; also where it is compiled already."""
    X, y, level = cp.Variable((4, 4), **declared), cp.Variable(5, nonneg=True), cp.Parameter(value=-1.0)
    weights = np.random.default_rng(0).uniform(1.0, 2.0, size=(4, 4))
    within = [cp.norm(y) <= X[0, 0] + 9, cp.sum(X) + y[0] >= level]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(weights, X))), within)
    for value in (-1.0, -2.0):
        level.value = value
        data, chain, _ = problem.get_problem_data(solver)
        found = columns_of(data["param_prob"], [X], chain)
        assert found is not None and found.tolist() == np.flatnonzero(data["c"]).tolist() and found.size == count
        others = columns_of(data["param_prob"], [y], chain)
        assert others is not None and others.size == 5 and not set(found) & set(others)


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1e4, 1e6])
@pytest.mark.parametrize("declared", [{}, {"nonneg": True}, {"bounds": [0, None]}], ids=str)
def test_what_is_added_to_variables_with_signs_is_in_units_of_its_own(declared, size):
    """The same constraint in other units is the same constraint: squares of 1e-8 beside a one had no effect, larger ones no solution."""
    rng = np.random.default_rng(0)
    B, c = rng.normal(size=(6, 6)), rng.uniform(0.5, 1.5, 6)
    x, z = cp.Variable(6, **declared), cp.Variable(6)
    made = Formulation(cp.Problem(cp.Minimize(cp.sum_squares(B @ x - c)), [cp.sum(x) == 1, x >= 0]), {"x": x})
    added = made.subject_to(lambda v: cp.sum_squares(size * (v["x"] - 0.2)) <= (0.2 * size) ** 2)
    direct = cp.Problem(cp.Minimize(cp.sum_squares(B @ z - c)), [cp.sum(z) == 1, z >= 0, cp.norm(z - 0.2) <= 0.2])
    assert added.solve().objective == pytest.approx(direct.solve(solver="CLARABEL"), rel=1e-7)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (0, "objective_unit: 0 was found, with which every objective is zero; give what"),
        (-0.0, "objective_unit: 0 was found"),
        (np.nan, "objective_unit: nan was found; give a finite number"),
        (np.inf, "objective_unit: inf was found; give a finite number"),
        ("2", "objective_unit: '2' was found; give a real number"),
        (None, "objective_unit: None was found; give a real number"),
    ],
)
def test_a_unit_that_leaves_no_objective_is_refused(unit, said):
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] >= 1])
    with pytest.raises(InputError, match=said):
        Formulation(problem, {"x": x}, objective_unit=unit)
    for taken in (3.0, -3.0, np.float32(0.5)):
        made = Formulation(problem, {"x": x}, objective_unit=taken)
        assert made.solve().objective == pytest.approx(float(taken), rel=1e-8)
        assert made.dual().solve().objective == pytest.approx(float(taken), rel=1e-8)
