"""Vector quantization: coverage, packing, whole codebooks by enumeration, slacks and metrics."""

from __future__ import annotations

import math
import pickle
import warnings
from fractions import Fraction
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import distance as spatial_distance
from scipy.spatial.distance import cdist

import convexnovelty as cn
from convexnovelty.codebooks import Codebook
from convexnovelty.errors import InputError
from convexnovelty.methods import vector_quantization as module


def cloud(n=30, p=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def smallest(X, radius, metric="euclidean"):
    """The size of the smallest codebook, by trying all."""
    near = cdist(X, X, metric) <= radius
    for size in range(1, len(X) + 1):
        if any(near[:, list(rows)].any(axis=1).all() for rows in combinations(range(len(X)), size)):
            return size
    raise AssertionError


def test_the_checker_is_green():
    report = cn.check("vector_quantization")
    assert report.passed, report.table()


def test_by_hand():
    solution = cn.vector_quantization([[0.0], [1.0], [2.0], [7.0]], 1.0).solve()
    assert solution.objective == pytest.approx(2.0, abs=1e-7)
    assert sorted(solution.region.vectors.ravel()) == [1.0, 7.0]
    assert str(solution.guarantee) == (
        "4 of 4 training points lie within 1 of one of 2 codebook vectors, and fewer than 2 codebook points of the sample "
        "cannot cover them all"
    )


@pytest.mark.parametrize("radius", [0.05, 0.4, 1.0, 2.0, 8.0])
@pytest.mark.parametrize("p", [1, 2, 5])
def test_every_point_is_covered(radius, p):
    X = cloud(60, p)
    for solution in (cn.vector_quantization(X, radius).solve(), module.simplex(X, radius)):
        region = solution.region
        assert (cdist(X, region.vectors).min(axis=1) <= radius * (1 + 1e-12)).all()
        assert region.contains(X).all()
        assert (X[region.rows] == region.vectors).all()
        assert solution.objective <= region.rows.size + 1e-6
        # Equation 8.40: every point has positive weight within reach.
        near = cdist(X, X) <= radius
        assert (near @ solution.values["a"] >= 1 - 1e-6).all()


@pytest.mark.parametrize("seed", range(6))
def test_between_the_smallest_codebook_and_its_bound(seed):
    X, radius = cloud(12, 2, seed), 0.8
    exact = smallest(X, radius)
    solution = cn.vector_quantization(X, radius).solve()
    most = int((cdist(X, X) <= radius).sum(axis=1).max())
    assert solution.objective <= exact + 1e-7
    assert exact <= solution.objective * sum(1 / j for j in range(1, most + 1)) + 1e-7
    assert exact <= solution.region.rows.size
    from scipy.sparse import csr_array

    assert module.smallest_codebook(csr_array((cdist(X, X) <= radius).astype(float))) == exact


@pytest.mark.parametrize("seed", range(4))
def test_on_a_line_the_value_is_whole_and_the_codebook_smallest(seed):
    X = cloud(11, 1, seed)
    exact = smallest(X, 0.5)
    assert cn.vector_quantization(X, 0.5).solve().objective == pytest.approx(exact, abs=1e-6)
    assert module.sweep(X, 0.5).region.rows.size == exact


def test_the_value_may_be_a_fraction():
    """Points on a circle, each within reach of its neighbours on either side: five thirds, where two are needed."""
    X = np.c_[np.cos(2 * np.pi * np.arange(5) / 5), np.sin(2 * np.pi * np.arange(5) / 5)]
    side = 2 * np.sin(np.pi / 5)
    solution = cn.vector_quantization(X, side).solve()
    assert solution.objective == pytest.approx(5 / 3, abs=1e-6)
    assert smallest(X, side * (1 + 1e-12)) == 2
    assert solution.region.rows.size == 2
    assert module.packing(X, side).solve().objective == pytest.approx(5 / 3, abs=1e-6)


@pytest.mark.parametrize("penalty", [0.05, 0.3, 0.7])
def test_slacks_against_scipy(penalty):
    X, radius = np.vstack([cloud(40), [[9.0, 9.0]]]), 0.6
    near = (cdist(X, X) <= radius).astype(float)
    n = len(X)
    reference = linprog(
        np.r_[np.ones(n), np.full(n, penalty)], A_ub=-np.c_[near, np.eye(n)], b_ub=-np.ones(n), method="highs"
    )
    solution = cn.vector_quantization(X, radius, penalty).solve()
    assert solution.objective == pytest.approx(reference.fun, rel=1e-6)
    assert module.packing(X, radius, penalty).solve().objective == pytest.approx(reference.fun, rel=1e-6)
    # A lonely point costs more than its price; at the lowest one nothing is worth a vector.
    assert (solution.region.rows.size == 0) == (penalty == 0.05)
    assert not solution.region.contains(X[-1:])[0]
    missed = int((~solution.region.contains(X)).sum())
    assert missed <= solution.values["xi"].sum() + 1e-5
    assert f"{n - missed} of {n} training points" in solution.guarantee


@pytest.mark.parametrize("penalty", [1.0, 1.5, 100.0])
def test_a_price_of_one_or_more_leaves_nothing_out(penalty):
    X = cloud(25)
    hard, soft = cn.vector_quantization(X, 0.5).solve(), cn.vector_quantization(X, 0.5, penalty).solve()
    assert soft.objective == pytest.approx(hard.objective, rel=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("penalty", [1e-8, 1e-4, 1e7, 1e12])
@pytest.mark.parametrize("seed", range(4))
def test_prices_far_from_one(penalty, seed):
    """A price of 1 or more is never paid, since a point covers itself for 1; a low one is paid for every point."""
    points = np.random.default_rng(seed).normal(size=(5, 2))
    kernel = (np.linalg.norm(points[:, None] - points, axis=2) <= 1.1).astype(float)
    cover = linprog(np.ones(5), A_ub=-kernel, b_ub=-np.ones(5), method="highs-ds").fun
    expected = min(5 * penalty, cover)
    for node in (cn.vector_quantization, module.packing):
        with warnings.catch_warnings():  # at a price of 1e-8 the value is small beside what residuals are charged with
            warnings.filterwarnings("ignore", message=".*is known to a share")
            assert node(points, 1.1, penalty).solve().objective == pytest.approx(expected, rel=1e-7)


def test_one_compilation_serves_prices_and_pickles():
    X = cloud(25)
    formulation = cn.vector_quantization(X, 0.5, 0.2)
    for price in (0.2, 0.6, 0.9):
        found = formulation.set(slack_penalty=price).solve().objective
        assert found == pytest.approx(module.simplex(X, 0.5, price).objective, rel=1e-6)
    assert formulation.compilations == 1
    assert formulation.set(radius=0.8).solve().objective == pytest.approx(
        module.simplex(X, 0.8, 0.9).objective, rel=1e-6
    )
    assert pickle.loads(pickle.dumps(formulation)).solve().objective == formulation.solve().objective


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", lambda x, z: abs(x[0] - z[0])])
def test_other_metrics(metric):
    X = cloud(20) + 3
    radius = 0.01 if metric == "cosine" else 0.5
    solution = cn.vector_quantization(X, radius, metric=metric).solve()
    assert (cdist(X, solution.region.vectors, metric).min(axis=1) <= radius + 1e-9).all()
    assert solution.objective == pytest.approx(module.simplex(X, radius, metric=metric).objective, rel=1e-6)


def exact_distance(metric, X, u, v):
    """A distance in the variances of X, in rational arithmetic up to the root."""
    rows = [[Fraction(float(entry)) for entry in row] for row in X]
    n, mean = len(rows), [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    (a, b), (_, d) = [
        [sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in rows) / (n - 1) for j in range(2)] for i in range(2)
    ]
    s, t = (Fraction(float(p)) - Fraction(float(q)) for p, q in zip(u, v, strict=True))
    if metric == "seuclidean":
        return math.sqrt(s * s / a + t * t / d)
    return math.sqrt((d * s * s - 2 * b * s * t + a * t * t) / (a * d - b * b))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("metric", "name"),
    [("seuclidean", "seuclidean"), ("Mahal", "mahalanobis"), (spatial_distance.mahalanobis, "mahalanobis")],
)
def test_variances_are_those_of_the_training_points(metric, name, unit):
    X = cloud(30) @ [[1.0, 40.0], [0.0, 100.0]] * unit
    solution = cn.vector_quantization(X, 0.5, metric=metric).solve()
    region = pickle.loads(pickle.dumps(solution)).region
    assert region.contains(X).all()
    new = np.vstack([X[0] + np.array([2.5 * unit, 0.0]), X[3:5], [[1e3 * unit, 0.0], [0.0, 1e5 * unit]]])
    truth = [0.5 - min(exact_distance(name, X, z, v) for v in region.vectors) for z in new]
    assert region.decision_values(new) == pytest.approx(truth, rel=1e-9, abs=1e-9)
    alone = [region.decision_values(z[None])[0] for z in new]
    assert alone == pytest.approx(region.decision_values(new), rel=1e-12, abs=1e-12)
    assert all(region.contains(z[None])[0] for z in X)
    assert region.decision_values(region.vectors[:1]) == pytest.approx(0.5)
    assert solution.objective == pytest.approx(module.simplex(X, 0.5, metric=metric).objective, rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "points", "words"),
    [
        ("seuclidean", [[0.0, 0.1], [1.0, 0.1], [2.0, 0.1]], r"columns \[1\] do not vary; leave them out"),
        ("mahalanobis", [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]], "in 1 of 2 directions only"),
        ("mahalanobis", [[0.0, 0.0]], "a single point has none"),
    ],
)
def test_variances_that_are_zero_are_refused(metric, points, words):
    with pytest.raises(InputError, match=words):
        cn.vector_quantization(points, 0.5, metric=metric)


def test_a_function_is_not_handed_what_belongs_to_a_name():
    def mahalanobis(x, z, VI=None):
        return abs(x[0] - z[0]) if VI is None else 0.0

    X = cloud(20)
    region = cn.vector_quantization(X, 0.3, metric=mahalanobis).solve().region
    assert region.decision_values(X) == pytest.approx(0.3 - cdist(X[:, :1], region.vectors[:, :1]).min(axis=1))


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
def test_units_order_rotation_and_shifts(unit, rng):
    X, turn = cloud(40), np.linalg.qr(rng.standard_normal((2, 2)))[0]
    base = cn.vector_quantization(X, 0.6).solve()
    scaled = cn.vector_quantization(unit * X, 0.6 * unit).solve()
    assert scaled.objective == pytest.approx(base.objective, abs=1e-6)
    assert scaled.region.rows.tolist() == base.region.rows.tolist()
    for other in (X[rng.permutation(40)], X @ turn, X + 100.0, np.vstack([X, X])):
        assert cn.vector_quantization(other, 0.6).solve().objective == pytest.approx(base.objective, abs=1e-6)


def test_points_at_the_radius_belong_to_the_ball():
    """0.4 - 0.3 is above 0.1 in floating point; the point is on the sphere none the less."""
    X = (np.arange(5) / 10)[:, None]
    assert abs(X[4, 0] - X[3, 0]) != 0.1
    solution = cn.vector_quantization(X, 0.1).solve()
    assert solution.objective == pytest.approx(2.0, abs=1e-6)
    assert solution.region.contains(X).all()


def in_radii(metric, X, radius):
    """Distances in radii, from rational arithmetic up to roots in 50 digits."""

    def dot(x, z):
        return sum(a * b for a, b in zip(x, z, strict=True))

    def distance(x, z):
        apart = [a - b for a, b in zip(x, z, strict=True)]
        if metric == "sqeuclidean":
            return dot(apart, apart)
        if metric == "braycurtis":
            return sum(map(abs, apart)) / sum(abs(a + b) for a, b in zip(x, z, strict=True))
        if metric == "correlation":
            x, z = ([a - sum(v) / len(v) for a in v] for v in (x, z))
        squared = dot(x, z) ** 2 / (dot(x, x) * dot(z, z))
        return 1 - mp.sqrt(mp.mpf(squared.numerator) / squared.denominator)

    rows = [[Fraction(float(entry)) for entry in row] for row in X]
    with mp.workdps(50):
        return np.array([[float(distance(x, z)) for z in rows] for x in rows]) / radius


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8, 1e12])
@pytest.mark.parametrize(
    ("metric", "radius"), [("cosine", 2e-6), ("correlation", 2e-6), ("braycurtis", 1e-3), ("cosine", 2e-12)]
)
def test_what_is_rounded_off_a_ratio_knows_no_unit(metric, radius, unit):
    """The size of the coordinates is no part of a ratio: beside it distances of 1e-6 and 1e-12 would all be ties."""
    P = [1.0, 2.0, 3.0] + (1e-2 if radius > 1e-9 else 1e-5) * np.abs(np.random.default_rng(3).normal(size=(20, 3)))
    truth = in_radii(metric, P * unit, radius)
    near = truth <= 1
    value = linprog(np.ones(20), A_ub=-near.astype(float), b_ub=-np.ones(20), method="highs").fun
    solution = cn.vector_quantization(P * unit, radius, metric=metric).solve()
    assert 1 < value < 20 and solution.objective == pytest.approx(value, abs=1e-6)
    assert (solution.region.contains(P * unit) == near[:, solution.region.rows].any(axis=1)).all()
    out = P[truth[:, solution.region.rows].min(axis=1).argmax()] * unit + unit * np.array([0.1, 0.0, 0.0])
    assert not solution.region.contains(out[None]).any()


def squared_difference(x, z):
    return float(((x - z) ** 2).sum())


@pytest.mark.parametrize("metric", ["sqeuclidean", "SqE", spatial_distance.sqeuclidean, squared_difference])
def test_squares_of_positions_in_degrees(metric):
    """Centimetres apart: squares of 1e-14, beside which a rounding of 48 degrees is a length of 1e-14."""
    G = np.array([48.8566, 2.3522]) + 1e-7 * np.random.default_rng(3).normal(size=(30, 2))
    truth = in_radii("sqeuclidean", G, 8e-15)
    value = linprog(np.ones(30), A_ub=-(truth <= 1).astype(float), b_ub=-np.ones(30), method="highs").fun
    solution = cn.vector_quantization(G, 8e-15, metric=metric).solve()
    assert value == pytest.approx(10.0) and solution.objective == pytest.approx(10.0, abs=1e-6)
    assert truth[:, solution.region.rows].min(axis=1).max() <= 1
    between = (G[:, None] + G)[np.triu_indices(30, 1)] / 2
    apart = [min(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(z, v, strict=True)) for v in solution.region.vectors)
             for z in between.tolist()]  # fmt: skip
    assert (solution.region.contains(between) == (np.array(apart, dtype=float) <= 8e-15)).all()


@pytest.mark.parametrize("start", ["0", "100", "100000", "1700000000"])
@pytest.mark.parametrize(
    ("metric", "radius"),
    [
        *[(name, 0.1) for name in ("euclidean", "minkowski", "cityblock", "chebyshev")],
        (lambda x, z: abs(x[0] - z[0]), 0.1),
        ("sqeuclidean", 0.01),
        (squared_difference, 0.01),
        ("seuclidean", 0.1 / np.arange(0, 3, 0.1).std(ddof=1)),
        ("mahalanobis", 0.1 / np.arange(0, 3, 0.1).std(ddof=1)),
    ],
)
def test_decimals_at_the_radius_belong_to_the_ball(metric, radius, start):
    """Thirty steps of 0.1 as they are written: each point covers itself and its neighbours, so that ten are needed."""
    X = np.array([[float(f"{int(start) + k // 10}.{k % 10}")] for k in range(30)])
    solution = cn.vector_quantization(X, radius, metric=metric).solve()
    assert solution.objective == pytest.approx(10.0, abs=1e-6)
    assert solution.region.contains(X).all()
    assert not solution.region.contains([[float(start) + 3.5]]).any()


@pytest.mark.parametrize("unit", [1e-8, 0.1, 1.0, 1e8])
@pytest.mark.parametrize(
    ("metric", "pair", "radius"),
    [
        ("cosine", [[2, 1], [3, 1]], 1 - 7 / math.sqrt(50)),
        ("cosine", [[1, 2], [2, 1]], 1 - 4 / 5),
        ("correlation", [[1, 2, 6], [3, 2, 1]], 1 + 5 / math.sqrt(28)),
        ("braycurtis", [[1, 1], [1, 2]], 1 / 5),
        ("canberra", [[1, 2], [2, 3]], 1 / 3 + 1 / 5),
        ("jensenshannon", [[0, 3], [1, 1]], math.sqrt(0.75 * math.log(4 / 3))),
        ("hamming", [[1, 2, 3], [1, 3, 2]], 2 / 3),
    ],
)
def test_ratios_at_the_radius_belong_to_the_ball(metric, pair, radius, unit):
    X = np.array(pair) * unit
    for reach, value in ((radius, 1.0), (radius * (1 - 1e-13), 2.0)):
        solution = module.simplex(X, reach, metric=metric)
        assert solution.objective == value and solution.region.contains(X).all()
    alone = Codebook(X[:1], radius * (1 - 1e-6), metric, np.array([0]))
    assert alone.contains(X).tolist() == [True, False]


def test_a_radius_that_drowns_in_rounding_is_told():
    """Points 2.4e-7 apart at 1e9, whose rounding is 2e-6: the numbers given decide, and it is said that they do."""
    step = 2.0**-22
    X = 1e9 + np.arange(20)[:, None] * step
    with pytest.warns(
        UserWarning, match=r"^radius: 5.96046e-07 was found, and 196 distances .* up to 3e\+00 of itself"
    ):
        formulation = cn.vector_quantization(X, 2.5 * step)
    solution = formulation.solve()
    assert solution.objective == pytest.approx(4.0, abs=1e-6)
    region = solution.region
    assert (region.contains(X) == (cdist(X, region.vectors).min(axis=1) <= 2.5 * step)).all()
    assert not Codebook(X[:1], 2.5 * step, "euclidean", np.array([0])).contains(X[3:4])[0]


def test_the_region_and_its_rounding_say_the_same():
    X = 50.0 + np.round(cloud(40), 1)
    region = cn.vector_quantization(X, 0.3).solve().region
    new = 50.0 + np.round(cloud(300, seed=5), 1)
    values = region.decision_values(new)
    assert (region.contains(new) == (values >= -(region.tie + region.rounding(new)))).all()
    whole = np.round(10 * new)[:, None] - np.round(10 * region.vectors)
    assert (region.contains(new) == ((whole**2).sum(axis=2).min(axis=1) <= 9)).all()
    assert region.tie == pytest.approx(3e-8)


def test_radius_zero_finds_the_different_points():
    X = np.repeat(cloud(6), 3, axis=0)
    solution = cn.vector_quantization(X, 0).solve()
    assert solution.objective == pytest.approx(6.0, abs=1e-6)
    assert solution.region.rows.size == 6


def test_the_region_quantizes_new_points():
    X = cloud(50)
    region = cn.vector_quantization(X, 0.7).solve().region
    new = cloud(30, seed=9)
    distances = cdist(new, region.vectors)
    assert (region.nearest(new) == distances.argmin(axis=1)).all()
    assert region.decision_values(new) == pytest.approx(0.7 - distances.min(axis=1))
    assert (region.contains(new) == (distances.min(axis=1) <= 0.7)).all()
    assert region.level == -0.7
    with pytest.raises(InputError, match="3 columns were found"):
        region.nearest(np.ones((1, 3)))
    assert isinstance(region, Codebook)
    empty = cn.vector_quantization(X, 0.1, 0.001).solve()
    assert not empty.region.contains(X).any()
    assert "0 of 50 training points" in empty.guarantee
    with pytest.raises(InputError, match="no vectors"):
        empty.region.nearest(X)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"radius": -1.0}, "radius: -1 was found"),
        ({"radius": float("nan")}, "radius: nan"),
        ({"radius": float("inf")}, "radius: inf"),
        ({"radius": "wide"}, "radius"),
        ({"slack_penalty": 0.0}, "slack_penalty: 0 was found"),
        ({"slack_penalty": -1.0}, "slack_penalty: -1"),
        ({"slack_penalty": float("nan")}, "slack_penalty: nan"),
        ({"points": np.arange(3.0)}, "points: shape"),
        ({"points": np.zeros((0, 2))}, "points: shape"),
        ({"points": [[1.0, np.nan]]}, "points: nan was found at row 0, column 1"),
        ({"points": [["a", "b"]]}, "points"),
        ({"metric": "no such metric"}, "metric"),
        ({"metric": 3}, "metric"),
        ({"metric": lambda x, z: -1.0}, "metric"),
        ({"metric": lambda x, z: math.nan}, "metric"),
        (
            {"points": [[1, 1], [0, 0], [1, 0]], "metric": "russellrao"},
            "metric: 'russellrao' takes row 1 of points to lie at 1 ",
        ),
        # Of fractions, scipy's is no count: (1/2 + 1/2) / (2 * 1/2 + 1/2 + 1/2) from the second row to itself.
        (
            {"points": [[1, 0], [0.5, 0.5]], "radius": 0.4, "metric": "dice"},
            "metric: 'dice' takes row 1 of points to lie at 0.5 ",
        ),
        ({"metric": lambda x, z: 0.6 + abs(x[0] - z[0])}, "takes row 0 of points to lie at 0.6 from itself"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        cn.vector_quantization(**{"points": cloud(5), "radius": 0.5, **arguments})


@pytest.mark.parametrize("points", [[[1, 2]], np.ones((4, 3)), np.array([[True], [False]]), np.arange(3.0)[:, None]])
def test_unusual_data(points):
    solution = cn.vector_quantization(points, 0.5).solve()
    assert solution.objective == pytest.approx(module.simplex(points, 0.5).objective, abs=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_vectors_as_near_give_the_first_of_them_whatever_is_asked_beside(metric):
    rng = np.random.default_rng(2)
    counts = np.column_stack([rng.poisson(2, 40), rng.integers(0, 5, 40)]) + 1.0
    region = cn.vector_quantization(counts, 1.0, metric=metric).solve().region
    centre = region.vectors.mean(axis=0)
    mirrored = Codebook(
        np.vstack([region.vectors, 2 * centre - region.vectors]), 1.0, region.metric, np.arange(2 * len(region.rows))
    )
    new = np.vstack([centre, centre + rng.normal(size=(20, 2)) @ np.diag([1.0, 0.0])])
    found = mirrored.nearest(new)
    assert found.tolist() == [mirrored.nearest(row[None])[0] for row in new]
    # Of the centre, a vector and its image are equally far.
    assert found[0] < len(region.rows)
