"""Whatever a class of sets states beside its membership, for every example of the catalogue and in both directions.

A flag that is wrongly false costs a user as much as one that is wrongly true, and a sample that never leaves the centre
shows nothing: both are held against values here.
"""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
import set_laws as laws
from test_catalogue import examples

from convexnovelty import uncertainty as sets
from convexnovelty.errors import InputError
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import tools
from convexnovelty.uncertainty.composite import Composite
from convexnovelty.uncertainty.gauges import size_name

KAPPA = laws.KAPPA
NOMINAL = laws.moments(3)
A = np.array([1.0, -2.0, 0.5])
# Sets of fixed coordinates whose values do not show it: a ball whose worst member adds the same to each variance, and a
# preimage of the nominal ellipsoid, which is the nominal ellipsoid.
UNSEEN = ("DiagonalBall", "MeanPreimage")


EXAMPLES = examples(3)


def unmixed() -> list:
    """The examples that have a closed form by themselves, so that thousands of values take no time."""
    return [r for r in EXAMPLES if not isinstance(r.values[0], Composite) or isinstance(r.values[0], sets.MeanWithin)]


def linear() -> list:
    """What is made of sets of points and of means, by a linear program each."""
    known = {r.id for r in unmixed()}
    return [r for r in EXAMPLES if r.id not in known and r.values[0].family in ("points", "mean")]


def centre_value(uncertainty, a) -> float:
    if uncertainty.family == "points":
        return float(a @ uncertainty.center)
    spread, mean = math.sqrt(a @ uncertainty.covariance @ a), float(a @ uncertainty.mean)
    return {"mean": mean, "covariance": spread, "moments": mean + KAPPA * spread}[uncertainty.family]


@pytest.mark.parametrize("recipe", unmixed() + linear())
def test_a_set_is_called_invariant_under_rotations_exactly_where_it_is(recipe):
    Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))
    turned = Moments(Q.T @ NOMINAL.mean, Q.T @ NOMINAL.covariance @ Q)
    here, there = (laws.centred(recipe, nominal) for nominal in (NOMINAL, turned))
    value = laws.evaluate(here, A)
    invariant = abs(value - laws.evaluate(there, Q.T @ A)) <= 1e-7 * abs(value)
    assert recipe.rotation_invariant <= invariant
    if type(recipe).__name__ not in UNSEEN:
        assert recipe.rotation_invariant == invariant
    if not isinstance(recipe, sets.Ellipsoid):  # whose matrix is turned with the coordinates by whoever states it
        assert recipe.basis_dependent == (not recipe.rotation_invariant)


@pytest.mark.parametrize("recipe", [r for r in unmixed() if r.values[0].size is None])
def test_a_set_is_called_hereditary_exactly_where_it_is(recipe):
    """Its members within a subspace are the set of that subspace, as a brute force over the membership finds it."""
    basis, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((4, 3)))
    within = Moments(basis @ NOMINAL.mean, basis @ NOMINAL.covariance @ basis.T)
    recipe = sets.as_moment_set(recipe) if isinstance(recipe, sets.MeanEllipsoid) else recipe
    try:
        around, wide = laws.centred(recipe, NOMINAL), laws.centred(recipe, within)
    except InputError:
        assert not recipe.hereditary  # it has numbers for each of three coordinates
        return
    m, S = cp.Variable(3), cp.Variable((3, 3), PSD=True)
    inside = [basis @ m, basis @ S @ basis.T]
    wanted = {"covariance": inside[1:], "moments": inside}.get(recipe.family, inside[:1])
    deviation = cp.sqrt(cp.trace(np.outer(A, A) @ S))
    value = {"covariance": deviation, "moments": A @ m + KAPPA * deviation}.get(recipe.family, A @ m)
    problem = cp.Problem(cp.Maximize(value), tools.listed(wide.membership(*wanted)))
    problem.solve(solver="CLARABEL")
    assert problem.status == cp.OPTIMAL
    same = problem.value == pytest.approx(laws.evaluate(around, A), rel=1e-5)
    assert recipe.hereditary <= same
    if recipe.rotation_invariant and recipe.exactness == "exact":
        assert recipe.hereditary == same


PARTS = (sets.Box([1.0, 2.0, 0.5]), sets.NormBall(2, 0.4), sets.MeanMetricEllipsoid(0.3), sets.FrobeniusBall(0.2),
         sets.EntrywiseInterval(0.1), sets.KLBall(0.1), sets.MeanEllipsoid(0.2) * sets.SpectralBall(0.1),
         sets.FrobeniusBall(0.2) & sets.SpectralBall(0.15))  # fmt: skip


@pytest.mark.parametrize("rows", [3, 5])
@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_a_preimage_has_the_worst_cases_of_its_part_in_the_coordinates_of_its_range(part, rows):
    if part.size not in (None, rows):
        pytest.skip("it has numbers for each of three coordinates")
    recipe = part.preimage(np.random.default_rng(5).standard_normal((rows, 3)))
    stated = laws.centred(recipe, NOMINAL)._within is not None
    assert stated == (rows == 3 or part.hereditary)
    laws.agrees(recipe, NOMINAL, 1e-6, laws.directions(NOMINAL)[:3])


@pytest.mark.parametrize("recipe", [r for r in unmixed() + linear() if "radius" in r.values[0].numbers()])
def test_a_set_is_called_nominal_at_zero_exactly_where_it_is(recipe):
    zero = laws.centred(recipe.replaced(radius=0.0), NOMINAL)
    nominal = laws.evaluate(zero, A) == pytest.approx(centre_value(zero, A), rel=1e-6, abs=1e-7)
    assert recipe.nominal_at_zero == nominal


FIXED = ("MomentHull",)  # pairs that lie where they are given, whatever the nominal pair


@pytest.mark.parametrize("recipe", [r for r in unmixed() + linear() if r.values[0].family != "covariance"])
def test_a_set_moves_with_its_centre(recipe):
    """A centre that lies elsewhere adds what it makes of the direction, and nothing else."""
    moved = Moments(NOMINAL.mean + np.array([4.0, -3.0, 7.0]), NOMINAL.covariance)
    here, there = laws.centred(recipe, NOMINAL), laws.centred(recipe, moved)
    step = 0.0 if type(recipe).__name__ in FIXED else float(A @ (moved.mean - NOMINAL.mean))
    for route in ("best", "derived"):
        expected = laws.evaluate(here, A, route) + step
        assert laws.evaluate(there, A, route) == pytest.approx(expected, rel=1e-6), route


# A solver finds no member of it where nothing is asked for.
HULL = [r for r in EXAMPLES if r.id.startswith("MomentSetHull")]


@pytest.mark.parametrize("recipe", unmixed() + HULL)
def test_no_direction_has_no_worst_case(recipe):
    uncertainty, zero = laws.centred(recipe, NOMINAL), np.zeros(3)
    assert laws.evaluate(uncertainty, zero) == pytest.approx(0.0, abs=1e-9)
    member = sets.worst_member(uncertainty, zero, KAPPA)
    assert laws.value_of(uncertainty, member, zero) == 0.0
    for block in member if isinstance(member, tuple) else (member,):
        assert np.isfinite(block).all()


@pytest.mark.parametrize("recipe", unmixed())
def test_ellipsoidal_forms_are_the_closed_forms(recipe):
    uncertainty = laws.centred(recipe, NOMINAL)
    for a in laws.directions(NOMINAL)[:4]:
        close = 1e-9 * laws.size_of(uncertainty, a)
        if uncertainty.family == "covariance" and uncertainty.ellipsoidal() is not None:
            assert math.sqrt(a @ uncertainty.ellipsoidal() @ a) == pytest.approx(
                sets.evaluate_deviation(uncertainty, a), abs=close
            )
        if uncertainty.family == "moments":
            for kappa in (0.0, 4.0):
                found = uncertainty.ellipsoidal(kappa)
                if found is not None:
                    deviation = math.sqrt(a @ found[1] @ a)
                    worst = sets.evaluate_loss(uncertainty, a, kappa)
                    assert uncertainty.mean @ a + found[0] * deviation == pytest.approx(worst, abs=1e-6 * close / 1e-9)
                    assert deviation == pytest.approx(sets.evaluate_deviation(uncertainty, a), abs=close)


@pytest.mark.parametrize("recipe", [r for r in unmixed() if r.values[0].family == "moments"])
def test_worst_deviations_of_pairs_are_those_that_a_member_has(recipe):
    uncertainty = laws.centred(recipe, NOMINAL)
    close = 1e-6 * laws.size_of(uncertainty, A)
    reached = sets.Adversary(uncertainty).deviation(A)
    assert sets.evaluate_deviation(uncertainty, A) == pytest.approx(reached.value, abs=close)
    m, S = reached.member
    assert math.sqrt(A @ S @ A) == pytest.approx(reached.value, rel=1e-9) and m.shape == (3,)
    # Without a multiplier the loss is that at one.
    assert sets.adversary(uncertainty, A).value == pytest.approx(sets.evaluate_loss(uncertainty, A, 1.0), abs=close)


GAUGED = [r for r in unmixed() if "radius" in r.values[0].numbers() and r.values[0].exactness == "exact"]


@pytest.mark.parametrize("recipe", GAUGED)
def test_a_worst_member_lies_on_the_boundary_by_the_gauge(recipe):
    """The class's own formula gives the radius there, nothing at the centre, and half of it half way for norms."""
    around = recipe.centred(np.array([1.0, -2.0, 3.0]) if isinstance(recipe, sets.PointSet) else NOMINAL)
    covariance = (NOMINAL.covariance,) if isinstance(recipe, sets.MeanSet) else ()

    def gauge(blocks):
        return around.gauge(*blocks, *covariance)

    centre = around.center if isinstance(around.center, tuple) else (around.center,)
    if gauge(centre) is None:
        pytest.skip("the class states no gauge")
    assert gauge(centre) == pytest.approx(0.0, abs=1e-7)
    for a in laws.directions(NOMINAL)[:3]:
        for factor in (1.0, 3.0):
            larger = recipe.replaced(radius=factor * recipe.radius)
            larger = larger.centred(around.center if recipe.family == "points" else NOMINAL)
            worst = sets.worst_member(larger, a, KAPPA)
            assert gauge(worst if isinstance(worst, tuple) else (worst,)) == pytest.approx(
                factor * recipe.radius, rel=1e-6
            )


@pytest.mark.parametrize("recipe", unmixed())
def test_samples_fill_the_set_and_do_not_leave_it(recipe):
    """Along every direction no sample exceeds the worst case, and the best of many goes a good part of the way to it."""
    uncertainty, rng = laws.centred(recipe, NOMINAL), np.random.default_rng(4)
    members = [uncertainty.sample(rng) for _ in range(150)]
    if members[0] is None or type(recipe).__name__.startswith("Exact"):
        pytest.skip("the class draws no members, or has one")
    shares = []
    for a in [*np.random.default_rng(5).standard_normal((4, 3)), np.eye(3)[0]]:
        worst, nominal = laws.evaluate(uncertainty, a), centre_value(uncertainty, a)
        found = np.array([laws.value_of(uncertainty, member, a) for member in members])
        assert found.max() <= worst + 1e-6 * laws.size_of(uncertainty, a)
        low = min(nominal, float(np.median(found)))
        if worst > low + 1e-6 * abs(worst):  # else the set is flat there
            shares.append((found.max() - low) / (worst - low))
            assert uncertainty.exactness == "conservative" or np.ptp(found) > 1e-3 * abs(worst)
    assert max(shares) > 0.25, shares


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("recipe", unmixed())
def test_samples_around_singular_moments_lie_in_their_range(recipe, rows):
    if recipe.family == "points":
        pytest.skip("a set of points has no moments around it")
    for seed in range(2):
        rng = np.random.default_rng(seed)
        nominal = Moments.estimate(rng.standard_normal((rows, 3)) @ rng.standard_normal((3, 3)) + 2)
        uncertainty = recipe.centred(nominal)
        member, name = uncertainty.sample(rng), size_name(uncertainty)
        if member is None or name is None:
            pytest.skip("the class draws no members, or has no size")
        assert sets.gauge(uncertainty, member) <= uncertainty.numbers()[name] * (1 + 1e-6)


def test_an_ellipsoid_of_no_extent_is_its_centre():
    point = sets.Ellipsoid(np.zeros((2, 2))).centred([1.0, 2.0])
    assert point.sample(np.random.default_rng(0)).tolist() == [1.0, 2.0]
    assert sets.worst_member(point, np.ones(2)).tolist() == [1.0, 2.0]
    assert sets.gauge(point, [1.0, 2.0]) == 0.0 and sets.gauge(point, [1.0, 2.1]) == np.inf
    assert sets.evaluate_support(point, [1.0, 1.0]) == 3.0


# -- what the sets share ------------------------------------------------------------------------------------------------


def test_roots_and_factors_of_matrices_of_every_rank():
    rng = np.random.default_rng(0)
    for rank in range(5):
        B = rng.standard_normal((4, rank))
        for unit in (1e-9, 1.0, 1e9):
            S = unit * (B @ B.T)
            root, F = tools.square_root(S), tools.range_factor(S)
            np.testing.assert_allclose(root @ root, S, atol=1e-12 * unit * max(1.0, np.abs(S).max() / unit))
            assert np.linalg.eigvalsh(root)[0] >= -1e-12 * math.sqrt(unit) * 10 and np.array_equal(F.shape, (rank, 4))
            np.testing.assert_allclose(F.T @ F, S, atol=1e-12 * unit * max(1.0, np.abs(S).max() / unit))
            v = S @ rng.standard_normal(4)
            if rank:
                assert tools.range_norm(F, v) == pytest.approx(
                    math.sqrt(v @ np.linalg.pinv(S, rcond=1e-10) @ v), rel=1e-6
                )
                assert tools.stein_divergence(F, S) == pytest.approx(0.0, abs=1e-9)
                grown = 0.5 * rank * (2.0 - 1.0 - math.log(2.0))
                assert tools.stein_divergence(F, 2.0 * S) == pytest.approx(grown, rel=1e-6)
                assert tools.stein_divergence(F, 0.0 * S) == math.inf
            assert tools.transport_distance(S, 4.0 * S) == pytest.approx(math.sqrt(np.trace(S)), rel=1e-6)
            assert tools.transport_distance(S, np.zeros((4, 4))) == pytest.approx(math.sqrt(np.trace(S)), rel=1e-6)
    assert tools.square_root(np.diag([4.0, -1e-17])) == pytest.approx(np.diag([2.0, 0.0]))
    assert tools.stein_divergence(np.eye(2)[:1], np.eye(2)) == math.inf


def test_the_dual_vector_attains_the_dual_norm():
    rng = np.random.default_rng(1)
    for p in (1.0, 1.5, 2.0, 3.0, math.inf):
        q = tools.conjugate(p)
        assert tools.conjugate(q) == pytest.approx(p)
        for w in (rng.standard_normal(4), np.array([0.0, -2.0, 2.0, 0.0]), np.array([0.0, 0.0, -1e-200, 0.0])):
            u = tools.dual_vector(w, p)
            assert tools.norm(u, p) == pytest.approx(1.0) and u @ w == pytest.approx(tools.norm(w, q), rel=1e-12)
            assert float(tools.p_norm(cp.Constant(w), p).value) == pytest.approx(tools.norm(w, p), rel=1e-6)
        assert tools.dual_vector(np.zeros(3), p).tolist() == [1.0, 0.0, 0.0] and tools.norm(np.zeros(2), p) == 0.0
    assert tools.norm(np.array([3e200, 4e200]), 2) == pytest.approx(5e200)
    assert tools.direction(np.zeros(3)).tolist() == [1.0, 0.0, 0.0]
    assert tools.direction(np.array([-3e-200, 4e-200])) == pytest.approx([-0.6, 0.8])


def test_steps_are_the_largest_that_the_cone_and_the_cost_allow():
    rng = np.random.default_rng(2)
    shortened = 0
    for _ in range(40):
        B = rng.standard_normal((3, 3))
        S, step = B @ B.T, 3.0 * tools.random_symmetric(3, rng)
        np.testing.assert_allclose(step, step.T)
        moved = tools.semidefinite_step(S, step)
        share = float(np.sum((moved - S) * step) / np.sum(step * step))
        assert np.linalg.eigvalsh(moved)[0] >= -1e-12
        halvings = round(-math.log2(share))
        shortened += halvings > 0
        if halvings:
            assert np.linalg.eigvalsh(S + 2 * share * step)[0] < 0
        assert share == pytest.approx(2.0**-halvings)
        other = tools.bures_step(S, 0.4, rng)
        assert np.linalg.eigvalsh(other)[0] >= -1e-12 and 1e-3 < tools.transport_distance(S, other) <= 0.4 * (1 + 1e-9)
        a = rng.standard_normal(3)
        pushed = tools.pushed_covariance(S, a, 0.7)
        assert math.sqrt(a @ pushed @ a) == pytest.approx(math.sqrt(a @ S @ a) + 0.7 * np.linalg.norm(a))
        assert tools.transport_distance(S, pushed) == pytest.approx(0.7, rel=1e-6)
    assert 0 < shortened < 40
    assert tools.bures_step(np.zeros((2, 2)), 1.0, rng).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert tools.semidefinite_step(np.zeros((2, 2)), np.diag([1.0, -1.0])).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    flat = tools.pushed_covariance(np.diag([1.0, 0.0]), np.array([0.0, 2.0]), 0.5)
    np.testing.assert_allclose(flat, np.diag([1.0, 0.25]))


def test_the_stretch_of_a_divergence_solves_its_equation():
    for divergence in (1e-300, 1e-14, 1e-6, 0.01, 0.5, 0.99, 1.0, 1.01, 3.0, 1e4):
        x = tools.stein_root(divergence) - 1.0
        if divergence > 1e-12:
            assert x * x + 2 * (x - math.log1p(x)) == pytest.approx(2 * divergence, rel=1e-6)
    assert tools.stein_root(0.0) == tools.stein_root(-1.0) == 1.0
    assert tools.largest_ratio(np.array([1.0, -3.0, 0.0]), np.array([2.0, 2.0, 0.0]), np.ones(3)) == 1.5
    assert tools.largest_ratio(np.array([1.0, 1e-9]), np.array([2.0, 0.0]), np.ones(2)) == math.inf
    assert tools.largest_ratio(np.zeros(2), np.zeros(2), np.ones(2)) == 0.0
    for wrong in ("two", True, 0.99, None, math.nan):
        with pytest.raises(ValueError, match="p:"):
            tools.exponent(wrong)
    assert (tools.exponent("inf"), tools.exponent("infinity"), tools.exponent(1), tools.exponent(2.5)) == (
        math.inf, math.inf, 1.0, 2.5)  # fmt: skip
