"""Each number of a set that is made of sets has one name of its own, and the name changes that number and no other.

The truth is the set built once more from its parts, with the number put in where it is given to a constructor.
"""

from __future__ import annotations

import inspect
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty import uncertainty as sets
from convexnovelty.declare import call
from convexnovelty.errors import InputError
from convexnovelty.pairs import SetPair

METHODS = {method.name: method for method in derivation.methods().values() if method.takes is not None}
SHIFT, MATRIX = np.array([0.1, -0.2]), np.array([[1.0, 0.3], [-0.2, 0.8]])
# Each takes its numbers from an iterator, in the order in which it is written.
POINTS = [
    lambda v: sets.NormBall(2, next(v)),
    lambda v: sets.NormBall(1.5 + next(v), next(v)),
    lambda v: sets.NormBall(np.inf, next(v)),
    lambda v: sets.Box(None, next(v)),
]
COVARIANCES = [
    lambda v: sets.FrobeniusBall(next(v)),
    lambda v: sets.WishartBall(next(v)),
    lambda v: sets.LoewnerInterval(next(v)),
    lambda v: sets.SpectralBall(next(v)),
    lambda v: sets.EntrywiseInterval(next(v), np.eye(2)),
]
MEANS = [
    lambda v: sets.MeanEllipsoid(next(v)),
    lambda v: sets.MeanMetricEllipsoid(next(v)),
    lambda v: sets.MeanWithin(sets.NormBall(np.inf, next(v))),
]
PAIRS = [
    lambda v: sets.GelbrichBall(next(v)),
    lambda v: sets.KLBall(next(v)),
    lambda v: sets.DelageYe(next(v), 1.0 + next(v)),
]


def tree(rng: np.random.Generator, leaves: list[Any], depth: int) -> Any:
    """A random recipe: a function from an iterator of numbers to the set with these numbers."""
    if depth == 0 or rng.random() < 0.2:
        return leaves[rng.integers(len(leaves))]
    one = tree(rng, leaves, depth - 1)
    kind = rng.integers(6 if leaves is MEANS else 7)
    if kind == 0:
        return lambda v: next(v) * one(v)
    if kind == 1 and leaves is POINTS:
        return lambda v: (one(v) + SHIFT).image(MATRIX)
    other = tree(rng, leaves, depth - 1)
    if kind <= 3:
        return lambda v: one(v) + other(v)
    return (lambda v: one(v) & other(v)) if kind <= 5 else (lambda v: one(v) | other(v))


def numbered(recipe: Any) -> tuple[Any, list[float]]:
    """The recipe with as many different numbers as it takes."""
    used: list[float] = []

    def numbers():
        while True:
            used.append(round(0.2 + 0.01 * len(used), 2))
            yield used[-1]

    return recipe(numbers()), used


def plain(value: float, used: list[float]) -> int:
    """Which of the numbers it is: some constructors add a whole or a half to theirs."""
    near = [abs(value - offset - number) for number in used for offset in (0.0, 1.0, 1.5)]
    return int(np.argmin(near)) // 3


def shown_and_changed(recipe: Any) -> None:
    made, used = numbered(recipe)
    names = made.numbers()
    places = {
        name: plain(value, used)
        for name, value in names.items()
        if not (name.endswith("p") and value in (1.0, 2.0, np.inf))
    }
    assert sorted(places.values()) == list(range(len(used))), f"{made!r} shows {names}"
    for name, place in places.items():
        other = [*used[:place], used[place] + 0.005, *used[place + 1 :]]
        assert repr(made.replaced(**{name: names[name] + 0.005})) == repr(recipe(iter(other))), f"{name} of {made!r}"
    assert repr(made.replaced(**names)) == repr(made)
    moved = {name: value + 0.005 for name, value in names.items() if name in places}
    assert repr(made.replaced(**moved)) == repr(recipe(iter([number + 0.005 for number in used])))


@pytest.mark.parametrize("seed", range(20))
def test_each_number_of_a_random_tree_has_a_name_that_changes_it_alone(seed):
    rng = np.random.default_rng(seed)
    means, covariances = tree(rng, MEANS, 3), tree(rng, COVARIANCES, 3)
    for recipe in (means, covariances, tree(rng, POINTS, 4), tree(rng, PAIRS, 3)):
        shown_and_changed(recipe)
    shown_and_changed(lambda v: means(v) * covariances(v))
    shown_and_changed(lambda v: SetPair(means(v), covariances(v)))
    shown_and_changed(lambda v: SetPair(means(v), means(v)))


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (sets.NormBall(2, 0.1) + sets.Box(None, 0.2), "first_radius p second_radius"),
        (sets.Box(None, 0.1) + sets.Box(None, 0.2) + sets.Box(None, 0.3), "first_radius second_radius radius"),
        (sets.Box(None, 0.1) + (sets.Box(None, 0.2) + sets.Box(None, 0.3)), "radius first_radius second_radius"),
        (
            sets.Box(None, 0.1) & (sets.Box(None, 0.2) + (sets.Box(None, 0.3) + sets.Box(None, 0.4))),
            "first_radius second_radius second_first_radius second_second_radius",
        ),
        (sets.MeanEllipsoid(0.1) * sets.FrobeniusBall(0.2), "means_radius covariances_radius"),
        (2 * sets.FrobeniusBall(0.2), "multiple radius"),
    ],
    ids=repr,
)
def test_names_that_people_type_stay(made, names):
    assert list(made.numbers()) == names.split()


def test_a_longer_name_is_taken_where_it_is_no_others():
    both = sets.Box(None, 0.1) + sets.NormBall(2, 0.2)
    assert both.replaced(second_p=1.0).second.p == 1.0
    nested = sets.Box(None, 0.1) & (sets.Box(None, 0.2) + sets.Box(None, 0.3))
    assert repr(nested.replaced(first_radius=0.5)) == repr(
        sets.Box(None, 0.1) & (sets.Box(None, 0.5) + sets.Box(None, 0.3))
    )
    with pytest.raises(InputError, match="no number 'third_radius'; known are radius, first_radius, second_radius"):
        nested.replaced(third_radius=0.5)


def test_the_error_of_set_knows_every_number_that_it_changes():
    moments = cn.Moments(np.zeros(2), np.eye(2), 30)
    problem = cn.single_class_mpm(moments, 0.5, 0.5 * (sets.FrobeniusBall(0.1) + sets.BuresBall(0.1)))
    with pytest.raises(InputError, match=r"set: there is no nonsense here; known are (.*)") as raised:
        problem.set(nonsense=1.0)
    named = str(raised.value).rpartition(" are ")[2].split(", ")
    assert {"multiple", "first_radius", "second_radius", "confidence", "uncertainty", "moments"} <= set(named)


@pytest.mark.parametrize("seed", range(3))
def test_set_and_path_change_the_number_that_is_shown(seed):
    rng = np.random.default_rng(seed)
    features = cn.LinearFeatures(rng.normal(size=(12, 2)) + 5)
    inner = tree(rng, POINTS[2:], 2)

    def recipe(v: Any) -> Any:
        return sets.Box(None, next(v)) + (sets.NormBall(1, next(v)) + inner(v))

    made, used = numbered(recipe)
    problem = cn.uncertain_points(features, 0.3, made)
    before, objective = problem.parameters, problem.solve().objective
    for name, value in made.numbers().items():
        if name not in before or value in (1.0, 2.0, np.inf):
            continue
        place = plain(value, used)
        fresh = recipe(iter([*used[:place], 0.45, *used[place + 1 :]]))
        truth = cn.uncertain_points(features, 0.3, fresh).solve().objective
        (along,) = problem.path(**{name: [0.45]})
        assert along.objective == pytest.approx(truth, rel=1e-6), name
        assert problem.parameters == before
        assert problem.solve().objective == pytest.approx(objective, rel=1e-7)
        assert problem.set(**{name: 0.45}).solve().objective == pytest.approx(truth, rel=1e-6), name
        problem.set(**{name: value})


def test_a_number_beside_one_that_makes_the_program_anew_is_not_lost():
    features = cn.LinearFeatures(np.random.default_rng(0).normal(size=(12, 2)) + 3)

    def around(multiple: float, entry: float, wishart: float, frobenius: float) -> Any:
        deviations = np.array([[1.0, 0.5], [0.5, 1.0]])
        summed = sets.WishartBall(wishart) + sets.FrobeniusBall(frobenius)
        return multiple * sets.EntrywiseInterval(entry, deviations) & summed

    problem = cn.mahalanobis_svm(features, 0.3, around(1.2, 0.5, 0.4, 0.3))
    assert problem.parameters["first_radius"] == 0.4
    truth = cn.mahalanobis_svm(features, 0.3, around(1.1, 0.5, 0.0, 0.3)).solve().objective
    assert problem.set(multiple=1.1, first_radius=0.0).solve().objective == pytest.approx(truth, rel=1e-6)
    truth = cn.mahalanobis_svm(features, 0.3, around(1.1, 0.0, 0.4, 0.3)).solve().objective
    assert problem.set(first_radius=0.4, radius=0.0).solve().objective == pytest.approx(truth, rel=1e-6)


def taken(name: str, family: Any) -> Any:
    """A set of one's own of a family, with a number of that name."""

    class Own(family):
        def __init__(self, value: float) -> None:
            setattr(self, name, value)
            super().__init__()

        def membership(self, *member: Any) -> Any:
            center = self.center[0] if isinstance(self.center, tuple) else self.center
            return [cp.norm(member[0] - center, "fro" if len(center.shape) == 2 else 2) <= getattr(self, name)]

    return Own(0.2)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_number_of_a_set_may_not_have_the_name_of_an_argument(method):
    """Each argument of each factory that takes a set, alone and in a product or a sum."""
    family = {"points": sets.PointSet, "covariance": sets.CovarianceSet, "moments": sets.MeanSet}[method.takes]
    arguments = dict(method.instance_around(taken("reach", family)).arguments)
    factory = getattr(cn, method.name)
    known = call(factory, arguments).recipe.arguments
    assert {"uncertainty"} < known.keys() & inspect.signature(factory).parameters.keys()
    for name in known:
        own = taken(name, family)
        for recipe in (own, own + taken("reach", family)):
            problem = {**arguments, "uncertainty": (recipe, None) if method.name == "two_class_mpm" else recipe}
            with pytest.raises(InputError, match=rf"has a number called {name}, .*another name"):
                call(factory, problem)


def test_no_set_of_the_catalogue_has_a_number_with_the_name_of_an_argument():
    arguments = {name for method in METHODS.values() for name in inspect.signature(getattr(cn, method.name)).parameters}
    arguments |= {
        name
        for method in METHODS.values()
        for node in method.nodes.values()
        for name in inspect.signature(node.function).parameters
    }
    for kind in sets.catalogue().values():
        for recipe in kind.examples(3):
            assert not arguments & recipe.numbers().keys(), recipe
