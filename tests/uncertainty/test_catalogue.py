"""Every set of the catalogue obeys the laws, found by walking its folder."""

from __future__ import annotations

import inspect

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws

from convexnovelty import uncertainty as sets


def examples(dimension: int) -> list:
    """All examples of all sets for moments or points of a dimension."""
    found = [(name, kind.examples(dimension)) for name, kind in sets.catalogue().items()]
    return [pytest.param(recipe, id=f"{name}{i}-{dimension}") for name, made in found for i, recipe in enumerate(made)]


@pytest.mark.parametrize("recipe", examples(2))
def test_closed_form_derived_counterpart_and_adversary_agree_in_the_plane(recipe):
    laws.agrees(recipe, laws.moments(2))


@pytest.mark.parametrize("recipe", examples(5))
def test_closed_form_derived_counterpart_and_adversary_agree(recipe):
    laws.agrees(recipe, laws.moments(5))


@pytest.mark.parametrize("recipe", examples(4))
def test_they_agree_around_a_singular_centre(recipe):
    # The fifth direction is a null direction of the centre: a variance of 1e-11, zero to the solver, is a deviation of
    # 3e-6 there.
    nominal = laws.moments(4, rank=2)
    laws.agrees(recipe, nominal, tolerance=1e-5, tried=laws.directions(nominal)[:5])


@pytest.mark.parametrize("recipe", examples(3))
def test_dcp_refuses_the_counterpart_where_it_is_maximised(recipe):
    laws.is_refused_when_maximised(laws.centred(recipe, laws.moments(3)), 3)


@pytest.mark.parametrize("recipe", examples(3))
def test_numbers_change_without_compiling_again(recipe):
    nominal = laws.moments(3)
    for route in laws.routes(laws.centred(recipe, nominal)):
        laws.follows_its_numbers(recipe, nominal, route)


@pytest.mark.parametrize("recipe", examples(3))
def test_the_unchanged_problem_in_other_units_has_the_same_answer(recipe):
    """Points and moments in units of 1e-6 and 1e6, with the recipe's radius in the same units."""
    laws.scales(recipe, laws.moments(3), (1e-6, 1e6))


@pytest.mark.parametrize("recipe", [r for r in examples(3) if "radius" in r.values[0].numbers()])
def test_a_radius_of_zero_is_the_nominal_value(recipe):
    if not recipe.nominal_at_zero:
        pytest.skip("the set holds more than its centre at radius zero")
    nominal = laws.moments(3)
    uncertainty = laws.centred(recipe.replaced(radius=0.0), nominal)
    a = np.array([1.0, -2.0, 0.5])
    spread = np.sqrt(a @ nominal.covariance @ a)
    mean = nominal.mean @ a
    expected = {"mean": mean, "points": mean, "covariance": spread, "moments": mean + laws.KAPPA * spread}
    for route in ("best", "derived"):
        assert laws.evaluate(uncertainty, a, route) == pytest.approx(expected[uncertainty.family], rel=1e-6)


@pytest.mark.parametrize("recipe", [r for r in examples(3) if "radius" in r.values[0].numbers()])
@pytest.mark.parametrize("radius", [-0.1, float("nan"), "wide", None])
def test_b42_a_negative_or_missing_radius_is_refused(recipe, radius):
    with pytest.raises(ValueError, match="radius"):
        recipe.replaced(radius=radius)


def test_the_catalogue_is_what_the_folder_holds():
    assert {"Exact", "FrobeniusBall", "MeanEllipsoid", "Product", "SpectralBall", "LoewnerInterval", "NormBall"} <= set(
        sets.catalogue()
    )


def test_a_set_that_declares_too_little_is_not_enrolled():
    from convexnovelty.errors import EnrolmentError

    class Silent(sets.CovarianceSet):
        def membership(self, S):
            return [cp.norm(S) <= 1]

    with pytest.raises(EnrolmentError, match=r"Silent.*docstring.*exactness.*source"):
        sets.enrolled(Silent)


def defaults(kind: type) -> dict[str, float]:
    """The numbers that may be left out when a set is made."""
    signature = inspect.signature(kind.__init__).parameters.values()
    return {parameter.name: parameter.default for parameter in signature if isinstance(parameter.default, float)}


@pytest.mark.parametrize("kind", [kind for kind in sets.catalogue().values() if defaults(kind)])
def test_numbers_that_are_left_out_make_a_set_with_an_inside(kind):
    """What has no default is taken from an example; the rest must be admissible, and a radius or share not zero."""
    example = kind.examples(3)[0]
    signature = inspect.signature(kind.__init__).parameters.values()
    needed = [p.name for p in signature if p.default is p.empty and p.name != "self"]
    made = kind(**{name: getattr(example, name) for name in needed})
    for name in defaults(kind).keys() & {"radius", "share"}:
        assert getattr(made, name) > 0
