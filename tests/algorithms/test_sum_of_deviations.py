"""The least sum of two deviations: brute force, stationarity, and covariances that vanish somewhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from convexnovelty.algorithms.sum_of_deviations import Axes, Spread, by_axes, by_factorisations, sum_of_deviations
from convexnovelty.errors import IndefiniteError, InputError


def covariance(p, seed, rank=None):
    A = np.random.default_rng(seed).standard_normal((p, rank or p + 2))
    return A @ A.T / p


def value(first, second, a):
    return math.sqrt(max(a @ first @ a, 0.0)) + math.sqrt(max(a @ second @ a, 0.0))


@pytest.mark.parametrize("seed", range(4))
def test_every_direction_of_the_plane(seed):
    first, second = covariance(2, seed), covariance(2, seed + 10, rank=1 + seed % 2)
    d = np.random.default_rng(seed).standard_normal(2)
    angle = np.linspace(0, np.pi, 400_001)
    a = np.stack([np.cos(angle), np.sin(angle)])
    a = a[:, np.abs(d @ a) > 1e-6]
    spread = sum(np.sqrt(np.maximum(np.einsum("in,ij,jn->n", a, S, a), 0.0)) for S in (first, second))
    assert sum_of_deviations(first, second, d).value == pytest.approx((spread / np.abs(d @ a)).min(), rel=1e-8)


@pytest.mark.parametrize("p", [1, 3, 40])
def test_stationarity(p):
    """a ~ (S_x + t S_y)^{-1} d with t the ratio of the deviations, and no neighbour is better."""
    first, second, rng = covariance(p, 1), 3.0 * covariance(p, 2), np.random.default_rng(3)
    d = rng.standard_normal(p)
    found = sum_of_deviations(first, second, d)
    assert found.t == pytest.approx(found.first / found.second, rel=1e-10)
    direction = np.linalg.solve(first + found.t * second, d)
    assert found.a == pytest.approx(direction / (direction @ d), rel=1e-9)
    assert found.kappa * found.value == pytest.approx(1.0)
    for _ in range(20):
        step = rng.standard_normal(p)
        a = found.a + 1e-3 * np.linalg.norm(found.a) * (step - d * (step @ d) / (d @ d))
        assert value(first, second, a / (a @ d)) >= found.value * (1 - 1e-12)


def test_equal_covariances_have_half_the_mahalanobis_distance():
    S, d = covariance(4, 5), np.arange(1.0, 5.0)
    assert sum_of_deviations(S, S, d).kappa == pytest.approx(math.sqrt(d @ np.linalg.solve(S, d)) / 2, rel=1e-12)


def test_ends_of_the_interval():
    """By hand: one class does not vary along (0, 1), the other does with deviation one."""
    found = sum_of_deviations(np.diag([1.0, 0.0]), np.eye(2), [0.1, 1.0])
    assert found.t == 0.0
    assert found.a == pytest.approx([0.0, 1.0])
    assert (found.first, found.second) == pytest.approx((0.0, 1.0))
    turned = sum_of_deviations(np.eye(2), np.diag([1.0, 0.0]), [0.1, 1.0])
    assert math.isinf(turned.t)
    assert turned.a == pytest.approx([0.0, 1.0])
    nothing = sum_of_deviations(np.zeros((2, 2)), np.diag([1.0, 4.0]), [1.0, 2.0])
    assert nothing.kappa == pytest.approx(math.sqrt(2.0))


def test_a_direction_without_variance_is_certain():
    found = sum_of_deviations(np.diag([1.0, 0.0]), np.diag([2.0, 0.0]), [3.0, 0.5])
    assert found.value == 0.0
    assert math.isinf(found.kappa)
    assert found.a @ np.array([3.0, 0.5]) == pytest.approx(1.0)
    assert found.a[0] == pytest.approx(0.0)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_units(unit):
    first, second, d = covariance(3, 6), covariance(3, 7), np.array([1.0, -2.0, 0.5])
    D = unit * np.logspace(-4, 4, 3)
    base = sum_of_deviations(first, second, d)
    moved = sum_of_deviations(first * np.outer(D, D), second * np.outer(D, D), D * d)
    assert moved.value == pytest.approx(base.value, rel=1e-10)
    assert moved.a * D == pytest.approx(base.a, rel=1e-8)


def test_covariances_of_very_different_size():
    S = covariance(3, 8)
    found = sum_of_deviations(S, 1e-12 * covariance(3, 9), [1.0, 1.0, 0.0])
    alone = np.linalg.solve(S, [1.0, 1.0, 0.0])
    assert found.value == pytest.approx(1 / math.sqrt(alone[:2].sum()), rel=1e-5)


def test_axes_make_both_diagonal():
    first, second = covariance(5, 10), covariance(5, 11, rank=2)
    axes = Axes.of(Spread.of(first), Spread.of(second))
    assert axes.matrix.T @ first @ axes.matrix == pytest.approx(np.diag(axes.first), abs=1e-10)
    assert axes.matrix.T @ second @ axes.matrix == pytest.approx(np.diag(axes.second), abs=1e-10)
    assert axes.first + axes.second == pytest.approx(np.ones(5))
    assert axes.inverse @ axes.matrix == pytest.approx(np.eye(5), abs=1e-10)


def test_bad_input():
    S = np.eye(2)
    with pytest.raises(InputError, match="difference: the zero vector"):
        sum_of_deviations(S, S, [0.0, 0.0])
    with pytest.raises(InputError, match="first: shape"):
        sum_of_deviations(np.eye(3), S, [1.0, 0.0])
    with pytest.raises(IndefiniteError, match=r"second: .* -3 "):
        sum_of_deviations(S, np.diag([1.0, -3.0]), [1.0, 1.0])
    with pytest.raises(IndefiniteError, match=r"first: .* -0\.1 "):
        sum_of_deviations(np.diag([1.0, -0.1]), S, [1.0, 0.1])
    with pytest.raises(InputError, match="difference: nan"):
        sum_of_deviations(S, S, [math.nan, 1.0])


@pytest.mark.parametrize("p", [1, 2, 15, 120])
@pytest.mark.parametrize("ratio", [1e-3, 1.0, 50.0])
def test_factorisations_and_axes_find_the_same_root(p, ratio):
    units = 10.0 ** np.random.default_rng(p).uniform(-4, 4, p)
    first = covariance(p, 6, rank=3 * p) * units[:, None] * units
    second = ratio * covariance(p, 7, rank=3 * p) * units[:, None] * units
    d = np.random.default_rng(8).standard_normal(p) * units
    quick, exact = by_factorisations(first, second, d), by_axes(Spread.of(first), Spread.of(second), d)
    assert quick is not None
    assert quick.value == pytest.approx(exact.value, rel=1e-12)
    assert quick.t == pytest.approx(exact.t, rel=1e-9)
    assert quick.a / units**-1 == pytest.approx(exact.a / units**-1, rel=1e-8, abs=1e-9 * np.abs(exact.a * units).max())


@pytest.mark.parametrize("rank", [1, 4])
def test_singular_covariances_are_left_to_the_axes(rank):
    first, second = covariance(5, 1, rank=rank), covariance(5, 2, rank=1)
    d = (first + second) @ np.ones(5)
    if rank == 1:
        assert by_factorisations(first, second, d) is None
    assert sum_of_deviations(first, second, d).value == pytest.approx(
        by_axes(Spread.of(first), Spread.of(second), d).value, rel=1e-9
    )


def exact_value(F, G, d):
    """By the concave function of theta, for F'F and G'G in rational arithmetic: what it is at a root of g in t."""
    rows = [[[Fraction(x) for x in row] for row in part.tolist()] for part in (F, G)]
    p, d = len(d), [Fraction(x) for x in d.tolist()]
    grams = [[[sum(r[i] * r[j] for r in part) for j in range(p)] for i in range(p)] for part in rows]

    def kappa_squared(theta):
        theta = Fraction(theta)
        S = [[grams[0][i][j] / theta + grams[1][i][j] / (1 - theta) for j in range(p)] for i in range(p)]
        return sum(x * y for x, y in zip(solved(S, d), d, strict=True))

    low, high = Fraction(0), Fraction(1)
    for _ in range(60):
        first, second = low + (high - low) * Fraction(382, 1000), low + (high - low) * Fraction(618, 1000)
        low, high = (first, high) if kappa_squared(first) < kappa_squared(second) else (low, second)
    return 1 / math.sqrt(kappa_squared((low + high) / 2))


def solved(S, d):
    """Elimination without rounding."""
    p, rows = len(d), [[*row, x] for row, x in zip(S, d, strict=True)]
    for k in range(p):
        pivot = next(i for i in range(k, p) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(p):
            if i != k and rows[i][k] != 0:
                share = rows[i][k] / rows[k][k]
                rows[i] = [x - share * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [rows[k][p] / rows[k][k] for k in range(p)]


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("seed", range(3))
def test_a_class_that_varies_little_where_the_other_does_not_vary(seed, spread):
    """In the second class one column is a multiple of another; its matrix knows that to rounding, which the first may be."""
    rng = np.random.default_rng(seed)
    F, G, d = spread * rng.standard_normal((4, 3)), rng.standard_normal((4, 3)), rng.standard_normal(3)
    G[:, 2] = 0.25 * G[:, 0]  # without rounding
    true = exact_value(F, G, d)
    assert sum_of_deviations(F.T @ F, G.T @ G, d).value == pytest.approx(true, rel=1e-8)
    assert sum_of_deviations(G.T @ G, F.T @ F, d).value == pytest.approx(true, rel=1e-8)
    found = by_axes(Spread(F), Spread(G), d)
    assert found.value == pytest.approx(true, rel=1e-8)
    # The value is the one that its direction has.
    reached = np.linalg.norm(F @ found.a) + np.linalg.norm(G @ found.a)
    assert reached == pytest.approx(true, rel=1e-6) and found.a @ d == pytest.approx(1.0)


def test_a_class_next_to_singular_keeps_the_digits_of_its_factor():
    rng = np.random.default_rng(5)
    F, G, d = 1e-9 * rng.standard_normal((4, 3)), rng.standard_normal((4, 3)), rng.standard_normal(3)
    G[:, 2] = 0.25 * G[:, 0] + 1e-9 * G[:, 2]
    assert by_axes(Spread(F), Spread(G), d).value == pytest.approx(exact_value(F, G, d), rel=1e-6)


def test_matrices_that_share_a_null_direction_up_to_rounding_are_certain_along_it():
    """Each knows it to rounding over its least variance, so that their factors stacked have none that is exact."""
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    first, second = (
        sum(v * np.outer(a, a) for v, a in zip(values, axes, strict=True))
        for values, axes in (((1.0, 1e-7, 1e-3), turn[:3]), ((1e-8, 1.0, 0.3), turn[:3] + 0.2 * turn[[1, 2, 0]]))
    )
    found = sum_of_deviations(first, second, turn[3] + turn[0])
    assert found.value == 0.0 and math.isinf(found.kappa)
    # A difference within the range has a value, which the matrices restricted to it have too.
    inside, d = sum_of_deviations(first, second, turn[0] + turn[1]), np.array([1.0, 1.0, 0.0])
    small = sum_of_deviations(turn[:3] @ first @ turn[:3].T, turn[:3] @ second @ turn[:3].T, d)
    assert inside.value == pytest.approx(small.value, rel=1e-6)
