"""Every set of the catalogue obeys the laws, found by walking its folder."""

from __future__ import annotations

import cvxpy as cp
import set_laws as laws
import numpy as np
import pytest

from convexnovelty import uncertainty as sets

EXAMPLES = [pytest.param(recipe, id=repr(recipe)) for kind in sets.catalogue().values() for recipe in kind.examples()]


@pytest.mark.parametrize("recipe", EXAMPLES)
@pytest.mark.parametrize("dimension", [2, 5])
def test_closed_form_derived_counterpart_and_adversary_agree(recipe, dimension):
    laws.agrees(recipe, laws.moments(dimension))


@pytest.mark.parametrize("recipe", EXAMPLES)
def test_they_agree_around_a_singular_centre(recipe):
    nominal = laws.moments(4, rank=2)
    laws.agrees(recipe, nominal, tried=laws.directions(nominal)[:5])


@pytest.mark.parametrize("recipe", EXAMPLES)
def test_dcp_refuses_the_counterpart_where_it_is_maximised(recipe):
    laws.is_refused_when_maximised(laws.centred(recipe, laws.moments(3)), 3)


@pytest.mark.parametrize("recipe", EXAMPLES)
@pytest.mark.parametrize("route", ["best", "derived"])
def test_numbers_change_without_compiling_again(recipe, route):
    laws.follows_its_numbers(recipe, laws.moments(3), route)


@pytest.mark.parametrize("recipe", EXAMPLES)
def test_a_radius_of_zero_is_the_nominal_value(recipe):
    if "radius" not in recipe.numbers():
        pytest.skip("the set has no single radius")
    nominal = laws.moments(3)
    uncertainty = laws.centred(recipe.replaced(radius=0.0), nominal)
    if not uncertainty_is_nominal_at_zero(recipe):
        pytest.skip("the set holds more than its centre at radius zero")
    a = np.array([1.0, -2.0, 0.5])
    at = {"mean": nominal.mean @ a, "points": nominal.mean @ a}
    spread = np.sqrt(a @ nominal.covariance @ a)
    expected = at.get(uncertainty.family, spread if uncertainty.family == "covariance" else nominal.mean @ a + laws.KAPPA * spread)
    assert laws.evaluate(uncertainty, a) == pytest.approx(expected, rel=1e-7)


def uncertainty_is_nominal_at_zero(recipe) -> bool:
    return getattr(recipe, "nominal_at_zero", True)


@pytest.mark.parametrize("recipe", EXAMPLES)
@pytest.mark.parametrize("radius", [-0.1, float("nan"), "wide", None])
def test_b42_a_negative_or_missing_radius_is_refused(recipe, radius):
    if "radius" not in recipe.numbers():
        pytest.skip("the set has no single radius")
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
