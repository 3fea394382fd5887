"""Regions, ties on the boundary, guarantees and intervals of offsets."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from convexnovelty import datasets, kernels
from convexnovelty.errors import InputError
from convexnovelty.features import KernelFeatures, LinearFeatures
from convexnovelty.regions import Ball, Guarantee, HalfSpace, Interval, Region, ScoreThreshold, spread

REGIONS: list[Region] = [
    HalfSpace([1.0, -2.0], 0.5),
    HalfSpace([1.0, -2.0], -0.5),
    Ball([1.0, -1.0], 2.0),
    Ball([0.0, 0.0], 0.0),
    ScoreThreshold(lambda Z: -np.abs(np.asarray(Z)).sum(axis=1), -1.5),
]
KINDS = ["half-space", "half-space below zero", "ball", "point", "score"]


@pytest.mark.parametrize("region", REGIONS, ids=KINDS)
def test_laws(region: Region, rng: np.random.Generator) -> None:
    Z = rng.normal(size=(30, 2))
    values = region.decision_values(Z)
    assert values.shape == (30,)
    assert np.array_equal(region.contains(Z), values >= 0)  # no random point is a tie
    alone = np.array([region.decision_values(Z[i : i + 1])[0] for i in range(30)])
    assert np.allclose(values, alone, rtol=1e-13, atol=1e-15)
    assert region.contains(Z).dtype == bool
    assert np.isfinite(region.level)


def test_values_by_hand() -> None:
    Z = np.array([[1.0, 1.0], [3.0, 0.0]])
    assert HalfSpace([1.0, -2.0], 0.5).decision_values(Z).tolist() == [-1.5, 2.5]
    assert Ball([1.0, -1.0], 4.0).decision_values(Z).tolist() == [0.0, -1.0]
    assert ScoreThreshold(lambda Z: Z[:, 0], 2.0).decision_values(Z).tolist() == [-1.0, 1.0]
    assert ScoreThreshold(lambda Z: Z[:, :1], 2.0).contains(Z).tolist() == [False, True]
    levels = [HalfSpace([1.0], 2.0).level, Ball([1.0], 2.0).level, ScoreThreshold(len, 2.0).level]
    assert levels == [2.0, -2.0, 2.0]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_b01_points_on_the_boundary_are_inside(unit: float) -> None:
    """Four inputs whose support vectors lie on the boundary; the solutions are derived by hand. No outliers at all."""
    two = unit * np.array([[0.0], [np.sqrt(np.log(2))]])
    features = KernelFeatures(two, kernels.gaussian(gamma=1 / unit**2))
    normal = np.asarray(features.training).mean(axis=0)
    assert HalfSpace(normal, 0.75).contains(features.training).all()
    assert Ball(normal, 0.25, needs_norms=True).contains(features.training).all()
    assert Ball(np.ones(2) * unit, 0.0).contains(unit * np.ones((5, 2))).all()
    assert HalfSpace(np.array([1.0, 2.0]) * unit, 5.0 * unit**2).contains(unit * np.array([[1.0, 2.0]])).all()
    repeated = unit * np.repeat([[1.0], [2.0]], [9, 1], axis=0)
    assert HalfSpace([unit], unit**2).contains(repeated).all()
    # What a solver leaves: a relative 1e-8 is a tie, a relative 1e-3 is outside.
    assert HalfSpace([unit], unit**2 * (1 + 1e-8)).contains(repeated).all()
    assert HalfSpace([unit], unit**2 * (1 + 1e-3)).contains(repeated).sum() == 1


def test_b01_whole_kind_ties_far_from_the_origin() -> None:
    """Rounding of a large sum is a tie, but the whole spread of the points is not."""
    Z = np.array([[1e8 - 1.0], [1e8], [1e8 + 1.0]])
    assert HalfSpace([1.0], 1e8, scale=1.0).contains(Z).tolist() == [False, True, True]
    assert Ball([1e8], 0.25).contains(Z).tolist() == [False, True, False]
    assert Ball([1e8], 1.0).contains(Z).tolist() == [True, True, True]
    sums = np.array([[0.1, 0.2, -0.3]])
    assert (sums @ np.ones(3) != 0.0).all()  # 5.6e-17
    assert HalfSpace(-np.ones(3), 0.0).contains(sums).all()


@pytest.mark.parametrize("far", [1e2, 1e6, 1e12])
@pytest.mark.parametrize("exact", [True, False])
def test_the_scale_of_a_tie_is_that_of_most_scores(far: float, exact: bool, rng: np.random.Generator) -> None:
    scores = rng.standard_normal(40)
    plain = spread(scores, exact=exact)
    for fewer in (1, 5, 15):
        beyond = np.concatenate([scores, far * (1 + rng.random(fewer)) * rng.choice([-1, 1], fewer)])
        assert plain / 3 < spread(beyond, exact=exact) < 3 * plain
    # Most scores may be alike, those of support vectors say: what tells the others apart is the scale then.
    alike = np.concatenate([np.full(30, 1.0), np.linspace(0.0, 1.0, 20), [-far]])
    alike[:30] += 1e-13 * rng.standard_normal(30)
    assert 0.2 < spread(alike, exact=True) < 2.0
    assert spread(far * scores, exact=exact) == pytest.approx(far * plain)
    assert spread([far] * 5, exact=exact) == (1e-5 if exact else 1e-2) * far
    for few in ([], [1.0], [0.0, 0.0]):
        assert 0 <= spread(few, exact=exact) <= 1e-2


def test_tolerance_zero_is_rounding_only() -> None:
    region = HalfSpace([1.0], 1.0, tolerance=0.0)
    assert region.contains([[1.0 - 1e-12], [1.0 - 1e-16]]).tolist() == [False, True]


def test_b13_ball_needs_the_norms(rng: np.random.Generator) -> None:
    features = KernelFeatures([[1.0, 0.5], [0.5, 1.0]], "precomputed")
    center = np.asarray(features.training).mean(axis=0)
    ball = Ball(center, 0.25, needs_norms=True)
    for norm, distance in ((1.0, 1.75), (4.0, 4.75)):
        carried = features.coordinates([[0.0, 0.0]], squared_norms=[norm])
        assert ball.decision_values(carried) == pytest.approx([0.25 - distance], rel=1e-14)
        plain = features.coordinates([[0.0, 0.0]])
        assert ball.decision_values(plain, [norm]) == pytest.approx([0.25 - distance], rel=1e-14)
    for without in (features.coordinates([[0.0, 0.0]]), np.asarray(carried)):
        with pytest.raises(InputError, match=r"features\.squared_norms\(Z\)"):
            ball.contains(without)
    assert ball.contains(features.training).all()


def test_ball_in_feature_space_equals_the_kernel_expansion(rng: np.random.Generator) -> None:
    X, Z = rng.normal(size=(15, 2)), rng.normal(size=(6, 2))
    for kernel in (kernels.gaussian(gamma=0.8), kernels.polynomial(3, 0.5)):
        a = rng.dirichlet(np.ones(15))
        expansion = kernel.diagonal(Z) - 2 * kernel(Z, X) @ a + a @ kernel(X) @ a
        for rank in (None, 5):
            features = KernelFeatures(X, kernel, rank=rank)
            ball = Ball(np.asarray(features.training).T @ a, 1.0, needs_norms=True)
            if rank is None:
                assert np.allclose(1.0 - ball.decision_values(features.coordinates(Z)), expansion, rtol=1e-9)
            kept = ball.decision_values(features.coordinates(Z))[[0, 2]]
            assert np.allclose(ball.decision_values(features.coordinates(Z)[[0, 2]]), kept)


def test_linear_ball_does_not_need_norms() -> None:
    data = datasets.blob(n=10)
    features = LinearFeatures(data.nominal)
    ball = Ball(data.nominal.mean(axis=0), 3.0)
    assert np.allclose(ball.decision_values(data.novel), ball.decision_values(features.coordinates(data.novel)))
    with_norms = Ball(ball.center, 3.0, needs_norms=True)
    assert np.allclose(with_norms.decision_values(features.coordinates(data.novel)), ball.decision_values(data.novel))


@pytest.mark.parametrize("region", REGIONS[:4], ids=KINDS[:4])
def test_wrong_columns_name_both_numbers(region: Region) -> None:
    with pytest.raises(InputError, match=r"3 columns.*2 coordinates"):
        region.contains(np.ones((2, 3)))


@pytest.mark.parametrize("region", REGIONS, ids=KINDS)
@pytest.mark.parametrize("bad", [[1.0, 2.0], [[np.nan, 1.0]], [["a", "b"]], np.zeros((0, 2))])
def test_bad_points_are_refused(region: Region, bad: Any) -> None:
    with pytest.raises(InputError, match="Z"):
        region.decision_values(bad)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: HalfSpace([np.nan], 1.0), "normal"),
        (lambda: HalfSpace(np.eye(2), 1.0), "normal"),
        (lambda: HalfSpace([1.0], np.inf), "offset"),
        (lambda: Ball([1.0], -0.1), "squared_radius"),
        (lambda: Ball([1.0], np.nan), "squared_radius"),
        (lambda: ScoreThreshold(3, 1.0), "score"),
        (lambda: ScoreThreshold(len, "1"), "threshold"),
        (lambda: HalfSpace([1.0], 1.0, tolerance=-1.0), "tolerance"),
        (lambda: HalfSpace([1.0], 1.0, scale=-1.0), "scale"),
        (lambda: ScoreThreshold(lambda Z: [1.0, 2.0], 1.0).contains([[1.0]]), "score"),
        (lambda: ScoreThreshold(lambda Z: [np.nan], 1.0).contains([[1.0]]), "score"),
        (lambda: Ball([1.0], 1.0).contains([[1.0]], squared_norms=[1.0, 2.0]), "squared_norms"),
    ],
)
def test_bad_regions_are_refused(make: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make()


def test_regions_are_frozen_and_pickle() -> None:
    normal = np.array([1.0, 2.0])
    region = HalfSpace(normal, 1.0)
    normal[0] = 9.0
    assert region.normal.tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError):
        region.offset = 2.0  # type: ignore[misc]
    for kept in REGIONS[:4]:
        again = pickle.loads(pickle.dumps(kept))
        assert np.array_equal(again.decision_values(np.eye(2)), kept.decision_values(np.eye(2)))


# --- guarantees


def test_guarantee_is_a_sentence_with_a_number() -> None:
    guarantee = Guarantee.outside(0.1, "every distribution with this mean and covariance")
    assert guarantee == "P(outside) <= 0.1 for every distribution with this mean and covariance"
    assert (guarantee.bound, guarantee.claim) == (0.1, "every distribution with this mean and covariance")
    again = pickle.loads(pickle.dumps(guarantee))
    assert (again, again.bound, again.claim) == (guarantee, guarantee.bound, guarantee.claim)
    plain = Guarantee("no point lies outside", bound=0.0)
    assert plain.claim == "no point lies outside"
    assert math.isnan(Guarantee("nothing is promised").bound)


# --- intervals


def test_b03_both_ends_are_reported_and_the_one_in_use_is_said() -> None:
    offset = Interval(3.0, 4.5, 3.0)
    assert (offset.lower, offset.upper, offset.used, offset.width, offset.end) == (3.0, 4.5, 3.0, 1.5, "lower")
    for other_solver in (3.75, 3.59, 3.0, 4.5, 3.0 - 1e-9):
        assert offset.contains(other_solver)
    for wrong in (2.99, 4.51):
        assert not offset.contains(wrong)
    line4, w = np.arange(1.0, 5.0), 1.5
    for rho, outliers in ((3.0, 1), (4.5, 2)):
        assert (~HalfSpace([w], rho).contains(line4[:, None])).sum() == outliers
    unique = Interval(5.4, 5.4, 5.4)
    assert (unique.end, unique.width, float(unique)) == ("unique", 0.0, 5.4)
    assert Interval(1.0, 2.0, 2.0).end == "upper"
    assert Interval(1.0, 2.0, 1.5).end == "inside"
    assert Interval(1.0, math.inf, 1.0).contains(1e300)
    assert Interval(1.0, 1.0 - 1e-12, 1.0).width == 0.0  # ends that rounding exchanged


@pytest.mark.parametrize("values", [(2.0, 1.0, 1.5), (1.0, 2.0, 3.0), (1.0, 2.0, 0.0), (math.nan, 1.0, 1.0)])
def test_impossible_intervals_are_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="interval"):
        Interval(*values)
