"""Every set in every method that takes its family: closed form, derived counterpart and cutting planes agree.

The cutting planes know nothing but the membership. One example of each class is tried; all of them where the
environment variable ``CONVEXNOVELTY_EVERY_EXAMPLE`` is set, as ``convexnovelty check --full`` does.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty import uncertainty as sets
from convexnovelty.declare import call
from convexnovelty.errors import InputError

EVERY_EXAMPLE = bool(os.environ.get("CONVEXNOVELTY_EVERY_EXAMPLE"))
METHODS = {method.name: method for method in derivation.methods().values() if method.takes is not None}


class _Bare:
    """A set of which nothing is left but the membership: no closed form, no worst member, no matrix of its own."""

    def __init__(self, recipe: Any) -> None:
        self.recipe = recipe

    @property
    def size(self) -> int | None:
        return self.recipe.size

    def centred(self, around: Any) -> Any:
        # An operator is centred as it stands: a user's class would state its constraints alone.
        return super().centred(around)._copy(recipe=self.recipe.centred(around))


class BareCovariances(_Bare, sets.CovarianceSet):
    def membership(self, S):
        return self.recipe.membership(S)


class BareMeans(_Bare, sets.MeanSet):
    def membership(self, m):
        return self.recipe.membership(m)


class BareMeansBesideCovariance(_Bare, sets.MeanSet):
    def membership(self, m, S):
        return self.recipe.membership(m, S)


class BareMoments(_Bare, sets.MomentSet):
    def membership(self, m, S):
        return self.recipe.membership(m, S)


class BarePoints(_Bare, sets.PointSet):
    def membership(self, u):
        return self.recipe.membership(u)


def bare(recipe: sets.UncertaintySet) -> sets.UncertaintySet:
    """The same set by membership alone."""
    if isinstance(recipe, sets.MeanSet):
        return (BareMeansBesideCovariance if recipe.uses_covariance else BareMeans)(recipe)
    kinds = {"covariance": BareCovariances, "moments": BareMoments, "points": BarePoints}
    return kinds[recipe.family](recipe)


def pairs() -> list[Any]:
    """(method, set): the first example of each class, or all of them."""
    found = []
    for method in METHODS.values():
        for kind in sets.of_family(method.takes):
            examples = kind.examples()
            # Of one class the two values are an equation for one example and a bound for another: both are tried.
            chosen = [e for i, e in enumerate(examples) if EVERY_EXAMPLE or i == 0 or e.exactness == "conservative"]
            found += [pytest.param(method, e, id=f"{method.name}-{kind.__name__}{i}") for i, e in enumerate(chosen)]
    return found


def has_closed_form(method: Any, recipe: Any) -> bool:
    """Whether the class states a counterpart of its own; else the method's own program is the derived one already."""
    arguments = method.instance_around(recipe).arguments
    if method.takes == "points":
        features = arguments["features"]
        centred, counterpart = recipe.centred(np.zeros(features.dimension)), sets.support
    else:
        moments = next((m for m in arguments.values() if isinstance(m, cn.Moments)), None)
        moments = moments or cn.Moments.estimate(arguments["features"].training)
        centred = sets.as_moment_set(recipe).centred(moments)
        counterpart = sets.worst_deviation
    try:
        counterpart(centred, np.ones(centred.dimension), route="closed")
    except InputError:
        return False
    return True


def safety(method: Any, solve: Any, recipe: Any) -> float:
    """What a larger set makes larger: the optimum, or less of the kappa that every member grants.

    The optimum of the two machines that maximise kappa counts the deviations of an ellipsoid of means, which a program
    that knows the membership alone cannot tell from other losses.
    """
    solution = call(solve, method.instance_around(recipe).arguments)
    solution = solution.solve() if isinstance(solution, cn.Formulation) else solution
    return -float(solution.values["kappa"]) if "kappa" in solution.values else solution.objective


@pytest.mark.parametrize(("method", "recipe"), pairs())
def test_counterparts_agree_with_cutting_planes(method, recipe):
    factory = getattr(cn, method.name)
    reference = safety(method, method.nodes["semi_infinite"].function, recipe)
    best = safety(method, factory, recipe)
    if recipe.exactness == "exact":
        assert best == pytest.approx(reference, rel=1e-5)
    else:
        assert best >= reference - 1e-5 * abs(reference)
    if has_closed_form(method, recipe):
        assert safety(method, factory, bare(recipe)) == pytest.approx(reference, rel=1e-5)


def test_every_method_and_every_set_takes_part():
    tried = {(p.values[0].name, type(p.values[1])) for p in pairs()}
    families = {"covariance": ("covariance",), "moments": ("moments", "mean", "covariance"), "points": ("points",)}
    for method in METHODS.values():
        for kind in sets.catalogue().values():
            assert ((method.name, kind) in tried) == (kind.family in families[method.takes]), (method.name, kind)
