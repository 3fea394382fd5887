"""The laws that every set obeys, as functions of a recipe: what the tests of single sets and of the catalogue share."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexnovelty import solvers
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InputError
from convexnovelty.moments import Moments

KAPPA = 1.7


class Transport(sets.MomentSet):
    """The GelbrichBall by its membership: squares of the mean beside variances, and a coupling that no equation gives."""

    def membership(self, m, S):
        C = self.center_covariance
        Y = cp.Variable(C.shape)
        moved = cp.sum_squares(m - self.center_mean) + cp.trace(S) + np.trace(C) - 2 * cp.trace(Y)
        return [cp.bmat([[S, Y], [Y.T, C]]) >> 0, moved <= self.radius**2]


def moments(
    dimension: int, *, rank: int | None = None, unit: float = 1.0, seed: int = 1, spread: float = 1.0
) -> Moments:
    """Signed, correlated nominal moments, of lower rank or with axes of very different sizes where asked."""
    rng = np.random.default_rng([seed, dimension])
    mixing = rng.standard_normal((rank or dimension, dimension)) * spread ** np.linspace(0, 1, dimension)
    return Moments(unit * 2 * rng.standard_normal(dimension), unit**2 * mixing.T @ mixing / dimension)


def directions(nominal: Moments, seed: int = 2) -> list[np.ndarray]:
    """Signed random directions of several lengths, and those where formulas break: axes, ties, eigenvectors, mean."""
    rng = np.random.default_rng(seed)
    p = nominal.dimension
    vectors = np.linalg.eigh(nominal.covariance)[1]
    ties = np.ones(p)
    ties[::2] = -1.0
    mean = nominal.mean / np.linalg.norm(nominal.mean)
    axis = np.zeros(p)
    axis[-1] = -3.0
    return [
        rng.standard_normal(p),
        -1e3 * rng.standard_normal(p),
        1e-3 * ties,
        axis,
        vectors[:, 0],
        vectors[:, -1],
        -mean,
    ]


def centred(recipe: Any, nominal: Moments) -> Any:
    """The recipe around the moments; a set of points around the mean; a mean that needs a covariance, beside it."""
    if isinstance(recipe, sets.PointSet):
        return recipe.centred(nominal.mean if recipe.size in (None, nominal.dimension) else np.zeros(recipe.size))
    joint = isinstance(recipe, sets.MeanSet) and recipe.uses_covariance
    return (sets.as_moment_set(recipe) if joint else recipe).centred(nominal)


def value_of(uncertainty: Any, member: Any, a: np.ndarray, kappa: float = KAPPA) -> float:
    """The worst case's formula at one member, in plain NumPy."""
    if isinstance(uncertainty, sets.MomentSet):
        m, S = member
        return float(a @ m + kappa * math.sqrt(max(a @ S @ a, 0.0)))
    if isinstance(uncertainty, sets.CovarianceSet):
        return math.sqrt(max(float(a @ member @ a), 0.0))
    return float(a @ member)


def counterpart(uncertainty: Any, a: Any, route: str = "best", kappa: Any = KAPPA) -> sets.Counterpart:
    """The counterpart that belongs to the set's family."""
    if isinstance(uncertainty, sets.MomentSet):
        return sets.worst_loss(uncertainty, a, kappa, route)
    if isinstance(uncertainty, sets.CovarianceSet):
        return sets.worst_deviation(uncertainty, a, route)
    return sets.support(uncertainty, a, route)


def routes(uncertainty: Any) -> list[str]:
    """The routes to a worst case that differ: where the class states nothing the best one is the derived one."""
    try:
        counterpart(uncertainty, np.ones(uncertainty.dimension), "closed")
    except InputError as error:
        if "the class gives no closed form" not in str(error):
            raise
        return ["derived"]
    return ["best", "derived"]


def evaluate(uncertainty: Any, a: np.ndarray, route: str = "best", kappa: float = KAPPA) -> float:
    """The counterpart as a number."""
    if isinstance(uncertainty, sets.MomentSet):
        return sets.evaluate_loss(uncertainty, a, kappa, route)
    if isinstance(uncertainty, sets.CovarianceSet):
        return sets.evaluate_deviation(uncertainty, a, route)
    return sets.evaluate_support(uncertainty, a, route)


def distance(uncertainty: Any, member: Any) -> float:
    """How far a member is from the membership."""
    if isinstance(uncertainty, sets.MomentSet):
        flat = np.concatenate([member[0], sets.svec(member[1])])
    else:
        flat = sets.svec(member) if isinstance(uncertainty, sets.CovarianceSet) else member
    return sets.membership_of(uncertainty).distance(flat)


def size_of(uncertainty: Any, a: np.ndarray) -> float:
    """What differences are measured in: the size of the terms of the worst case, which may cancel in their sum."""
    if isinstance(uncertainty, sets.PointSet):
        return float(np.abs(a) @ np.abs(uncertainty.center)) + float(np.linalg.norm(a))
    spread = KAPPA * math.sqrt(max(float(a @ uncertainty.covariance @ a), 0.0))
    return spread + float(np.abs(a) @ np.abs(uncertainty.mean)) + 1e-3 * uncertainty.unit * float(np.linalg.norm(a))


def agrees(recipe: Any, nominal: Moments, tolerance: float = 1e-6, tried: list[np.ndarray] | None = None) -> None:
    """Closed form = derived counterpart = adversary; the worst member is a member and attains; samples stay below."""
    uncertainty = centred(recipe, nominal)
    attack = sets.Adversary(uncertainty)
    rng = np.random.default_rng(7)
    samples = [s for s in (uncertainty.sample(rng) for _ in range(25)) if s is not None]
    assert all(distance(uncertainty, s) < 1e-5 for s in samples[:3]), f"{recipe}: a sample is no member"
    for a in tried or directions(nominal):
        close = tolerance * size_of(uncertainty, a)
        derived, reached = evaluate(uncertainty, a, "derived"), attack(a, KAPPA)
        assert derived == pytest.approx(reached.value, abs=close), f"{recipe}: derived against adversary at {a}"
        best = evaluate(uncertainty, a)
        if uncertainty.exactness == "exact":
            assert best == pytest.approx(reached.value, abs=close), f"{recipe}: closed form at {a}"
        else:
            assert best >= reached.value - close, f"{recipe}: a conservative value lies below at {a}"
        member = sets.worst_member(uncertainty, a, KAPPA)
        assert distance(uncertainty, member) < 1e-5, f"{recipe}: the worst member is no member at {a}"
        assert value_of(uncertainty, member, a) == pytest.approx(reached.value, abs=close), f"{recipe} at {a}"
        for sample in samples:
            assert value_of(uncertainty, sample, a) <= reached.value + close, f"{recipe}: a sample at {a}"


def is_refused_when_maximised(uncertainty: Any, dimension: int) -> None:
    """DCP accepts the counterpart where it is minimised or bounded above, and refuses it elsewhere, on both routes."""
    for route in routes(uncertainty):
        a = cp.Variable(dimension)
        made = counterpart(uncertainty, a, route)
        assert cp.Problem(cp.Minimize(made.value), made.constraints).is_dcp()
        assert cp.Problem(cp.Minimize(0), [made.value <= 1, *made.constraints]).is_dcp()
        if made.value.is_affine():  # a single mean or point: its worst case is linear, and may stand anywhere
            assert not made.value.variables() or made.value.variables() == [a]
            continue
        assert not cp.Problem(cp.Maximize(made.value), made.constraints).is_dcp()
        assert not cp.Problem(cp.Minimize(0), [made.value >= 1, *made.constraints]).is_dcp()


def smallest(uncertainty: Any, route: str, kappa: Any, extra: list[Any] | None = None) -> tuple[cp.Problem, Any]:
    """A small program around the counterpart: the least worst case over a shifted ball."""
    a = cp.Variable(uncertainty.dimension)
    made = counterpart(uncertainty, a, route, kappa)
    # Far enough from zero that the optimum stays away from the kink of the deviation at a = 0.
    target = 10.0 * np.linspace(-1.0, 2.0, uncertainty.dimension)
    return cp.Problem(cp.Minimize(made.value + cp.sum_squares(a - target)), made.constraints), a


def solved(problem: cp.Problem) -> float:
    """Its optimal value, tightly. A value that the solver calls inaccurate is returned too: the comparison decides."""
    for options in [*solvers.profile().ladder, {"equilibrate_enable": False}]:
        try:
            problem.solve(solver="CLARABEL", warm_start=False, **options)
        except cp.SolverError:
            continue
        if problem.status == cp.OPTIMAL:
            break
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE), problem.status
    return float(problem.value)


def follows_its_numbers(recipe: Any, nominal: Moments, route: str, tolerance: float = 1e-6) -> None:
    """A compiled program whose numbers are changed gives the value of one that is made anew, and is DPP."""
    tunable = centred(recipe, nominal).tunable()
    kappa = cp.Parameter(nonneg=True, value=KAPPA)
    problem, _ = smallest(tunable, route, kappa)
    assert problem.is_dcp(dpp=True), f"{recipe}: {route} is outside DPP"
    before = solved(problem)
    assert before == pytest.approx(solved(smallest(centred(recipe, nominal), route, KAPPA)[0]), rel=tolerance)
    for name, tunable_number in tunable.tunables().items():
        tunable_number.set(tunable_number.value * 1.3 + 0.05)
        kappa.value = 0.6
        anew, _ = smallest(centred(recipe.replaced(**_own(recipe, name, tunable_number.value)), nominal), route, 0.6)
        assert solved(problem) == pytest.approx(solved(anew), rel=tolerance), f"{recipe}: {name} on the {route} route"
        tunable_number.set((tunable_number.value - 0.05) / 1.3)
        kappa.value = KAPPA


def _own(recipe: Any, name: str, value: float) -> dict[str, float]:
    """The number by the name that the recipe knows it by: it may have been put into a product for the test."""
    known = recipe.numbers()
    return {name if name in known else name.split("_", 1)[1]: value}


def scales(recipe: Any, nominal: Moments, units: tuple[float, ...], tolerance: float = 1e-6) -> None:
    """In other units of the data every worst case is the same number in those units, on either route."""
    here = centred(recipe, nominal)
    try:
        elsewhere = [in_units(recipe, unit) for unit in units]
    except NotImplementedError:
        pytest.skip("a function holds numbers in units of the data")
    a = np.linspace(-1.0, 1.5, nominal.dimension)
    close = tolerance * size_of(here, a)
    values = {route: evaluate(here, a, route) for route in routes(here)}
    attained = sets.Adversary(here)(a, KAPPA).value
    for unit, other in zip(units, elsewhere, strict=True):
        there = centred(other, Moments(unit * nominal.mean, unit**2 * nominal.covariance))
        for route, value in values.items():
            assert evaluate(there, a, route) / unit == pytest.approx(value, abs=close), f"{recipe} {route}"
        reached = sets.Adversary(there)(a, KAPPA).value
        assert reached / unit == pytest.approx(attained, abs=close), f"{recipe}: adversary"


# The power of the data's unit in which a class counts each of its numbers; other numbers, names and matrices have none.
LENGTHS = (
    "NormBall",
    "BlockNormBall",
    "WeightedNormBall",
    "Ellipsoid",
    "Simplex",
    "BuresBall",
    "GelbrichBall",
    "MeanMetricEllipsoid",
)
SQUARES = ("FrobeniusBall", "SpectralBall", "NuclearBall", "DiagonalBall", "SubspaceBall")
UNITS: dict[str, dict[str, int]] = {
    **{name: {"radius": 1} for name in LENGTHS},
    **{name: {"radius": 2} for name in SQUARES},
    "LoewnerInterval": {"radius": 2, "lower": 2},
    "Box": {"half_widths": 1},
    "Budget": {"half_widths": 1},
    "DiagonalBudget": {"half_widths": 2},
    "EntrywiseInterval": {"half_widths": 2},
    "ScenarioHull": {"scenarios": 1},
    "CVaRSet": {"scenarios": 1},
    "Interval": {"lower": 1, "upper": 1},
    "Polyhedron": {"b": 1},
}
FREE = ("Exact", "ExactMean", "ExactCovariance", "MeanEllipsoid", "WishartBall", "KLBall", "DelageYe", "FactorModel")


def in_units(recipe: Any, unit: float) -> Any:
    """The recipe with its numbers in other units; NotImplementedError where a function holds them."""
    name, held = type(recipe).__name__, vars(recipe)
    if hasattr(recipe, "parts"):
        changed = {part: in_units(inner, unit) for part, inner in recipe.parts().items()}
        shift = {"shift": [block * unit**block.ndim for block in held["shift"]]} if "shift" in held else {}
        return recipe._copy(**changed, **shift)
    directions = held.get("shape", held.get("basis"))
    if isinstance(directions, str) and directions == "nominal":
        return recipe
    if name == "CovarianceHull":
        return recipe._copy(scenarios=[unit**2 * S for S in recipe.scenarios])
    if name == "MomentHull":
        return recipe._copy(pairs=[(unit * m, unit**2 * S) for m, S in recipe.pairs])
    if name in FREE:
        return recipe
    if name not in UNITS:
        raise NotImplementedError(name)
    powers = UNITS[name]
    if held.get("half_widths", 0) is None:
        # Without widths of its own a set of points has the radius for one, or ones; one of covariances the nominal variances.
        if name == "Box":
            return recipe._copy(radius=unit * recipe.radius)
        return recipe._copy(half_widths=unit * np.ones(3)) if name == "Budget" else recipe
    return recipe._copy(**{n: held[n] * unit**power for n, power in powers.items() if held[n] is not None})
