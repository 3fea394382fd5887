"""Distances of points under every metric against 60 digits, and what rounding may change of them."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from convexnovelty.errors import InputError
from convexnovelty.point_distances import ROOM, distances, fitted

EPS = float(np.finfo(float).eps)
LENGTHS = ("euclidean", "cityblock", "chebyshev")
RATIOS = ("cosine", "correlation", "braycurtis", "canberra", "jensenshannon")
COUNTS = ("hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


def exact(metric, x, z):
    """The distance of two vectors of doubles, in 60 digits."""
    with mp.workdps(60):
        return +_exact(metric, [mp.mpf(float(v)) for v in x], [mp.mpf(float(v)) for v in z])


def _dot(x, z):
    return mp.fsum(a * b for a, b in zip(x, z, strict=True))


def _exact(metric, x, z):
    apart = [abs(a - b) for a, b in zip(x, z, strict=True)]
    if metric == "correlation":
        x, z = ([a - mp.fsum(v) / len(v) for a in v] for v in (x, z))
    if metric in ("cosine", "correlation"):
        return 1 - _dot(x, z) / mp.sqrt(_dot(x, x) * _dot(z, z))
    if metric == "jensenshannon":
        p, q = ([a / mp.fsum(v) for a in v] for v in (x, z))
        terms = [(a, (a + b) / 2) for a, b in (*zip(p, q, strict=True), *zip(q, p, strict=True)) if a]
        return mp.sqrt(mp.fsum(a * mp.log(a / m) for a, m in terms) / 2)
    return {
        "euclidean": lambda: mp.sqrt(_dot(apart, apart)),
        "sqeuclidean": lambda: _dot(apart, apart),
        "cityblock": lambda: mp.fsum(apart),
        "chebyshev": lambda: max(apart),
        "braycurtis": lambda: mp.fsum(apart) / mp.fsum(abs(a + b) for a, b in zip(x, z, strict=True)),
        "canberra": lambda: mp.fsum(d / (abs(a) + abs(b)) for a, b, d in zip(x, z, apart, strict=True) if a or b),
    }[metric]()


def sample(spread, unit, seed=0):
    """Six positive points at such distances, and two with zeros in them where they are wide apart."""
    X = np.abs([1.0, 2.0, 3.0, 0.5, 1.7] + spread * np.random.default_rng(seed).normal(size=(6, 5))) * unit
    if spread == 1:
        X[0, 1] = X[1, 0] = X[1, 1] = 0.0
    return X


def table(metric, X, Z):
    return np.array([[float(exact(metric, x, z)) for z in Z] for x in X])


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e9])
@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
@pytest.mark.parametrize("metric", [*LENGTHS, "sqeuclidean", *RATIOS])
def test_distances_and_what_rounding_leaves_of_them(metric, spread, unit):
    X, apart = sample(spread, unit), ~np.eye(6, dtype=bool)
    found = distances(X, X, metric, 0.0)
    truth = table(metric, X, X)
    # Differences of two directions, or of two shares, are known to rounding of one.
    assert (np.abs(found.found - truth)[apart] / truth[apart]).max() <= (
        16 * EPS if metric not in RATIOS else 16 * EPS / spread
    )
    assert (np.abs(np.diagonal(found.found)) <= 1e-30).all() and (np.diagonal(found.least) <= 0).all()
    # Coordinates that are off by a few roundings make no distance shorter than the least,
    random = np.random.default_rng(1)
    for _ in range(3):
        near, far = (X * (1 + 3.5 * EPS * random.uniform(-1, 1, X.shape)) for _ in range(2))
        assert (found.least <= table(metric, near, far))[apart].all()
    # and the least is no shorter than a few dozen roundings would make it, whatever the unit.
    assert ((found.found - found.least)[apart] / truth[apart]).max() <= 1000 * EPS / spread


@pytest.mark.parametrize("metric", [*RATIOS, *COUNTS])
def test_ratios_know_no_unit(metric):
    """A power of two changes no digit of any of them."""
    X = sample(1e-3, 1.0)
    one, other = (distances(unit * X, unit * X, metric, 1e-3) for unit in (1.0, 2.0**40))
    assert (one.found == other.found).all() and (one.least == other.least).all()


@pytest.mark.parametrize("metric", COUNTS)
def test_rounding_of_coordinates_changes_no_count(metric):
    X = np.random.default_rng(0).integers(0, 2, size=(6, 9)) * 1e12 + np.eye(6, 9)
    found = distances(X, X, metric, 0.5)
    assert (found.found == cdist(X, X, metric)).all()
    assert (found.least >= found.found * (1 - 16 * EPS)).all()


def test_a_name_that_is_no_count_of_coordinates_is_asked_like_a_function():
    """Dice takes numbers between 0 and 1 for themselves: here the sum of x + z - 2xz over that of x + z."""
    X = np.array([[0.0, 0.2, 1.0], [0.3, 0.7, 0.1]])
    d = (0.3 + 0.62 + 0.9) / 2.3
    found = distances(X, X, "dice", d * (1 - 1e-15))
    assert found.found[0, 1] == pytest.approx(d, rel=1e-15)
    assert found.within[0, 1] and not distances(X, X, "dice", d * (1 - 1e-13)).within[0, 1]


def test_squares_are_rounded_by_what_their_roots_are():
    X = 50.0 + 1e-7 * np.random.default_rng(0).normal(size=(9, 2))
    lengths, squares = (distances(X, X, metric, 0.0) for metric in ("euclidean", "sqeuclidean"))
    np.testing.assert_allclose(squares.least, lengths.least**2, rtol=1e-12)


@pytest.mark.parametrize("name", ["seuclidean", "mahalanobis"])
def test_coordinates_far_off_are_rounded_in_deviations(name):
    """Each of these decimals is off by up to 1.2e-7, a hundred-thousandth of the deviations."""
    places = [(7 * k * k) % 97 for k in range(12)]
    near = np.array([[place / 100, k / 1000] for k, place in enumerate(places)])
    X = np.array([[float(f"1700000000.{place:02d}"), k / 1000] for k, place in enumerate(places)])
    truth = distances(near, near, fitted(name, near), 0.0).found
    found = distances(X, X, fitted(name, X), 0.0)
    assert (found.least <= truth).all()
    assert np.abs(found.found - truth).max() > 1e-7
    assert (found.least - truth).min() > -1e-3


def test_a_name_means_what_it_means_to_scipy():
    X = sample(1.0, 1.0)
    assert fitted("mi", X) == "mi" and fitted("MAH", X).name == "mahalanobis"
    for alias, name in [
        ("mi", "euclidean"),
        ("Cos", "cosine"),
        ("sqe", "sqeuclidean"),
        ("cb", "cityblock"),
        ("h", "hamming"),
    ]:
        np.testing.assert_allclose(distances(X, X, alias, 1.0).found, cdist(X, X, name), rtol=1e-12, atol=1e-12)


# -- functions of one's own --------------------------------------------------------------------------------------------


def test_a_function_is_asked_what_rounding_of_the_coordinates_changes():
    """x^2 has slope 2x: the difference of 48.1 and 48.2 is off by up to 1.4e-14, and its square by a fifth of that."""
    z, x = np.array([[48.1]]), np.array([[48.2]])
    found = distances(z, x, lambda a, b: float(((a - b) ** 2).sum()), 0.01 * (1 - 1e-12))
    slope, moved = 0.2, 4 * EPS * 96.3
    assert found.found[0, 0] - found.least[0, 0] == pytest.approx(slope * moved, rel=0.1)
    elsewhere = distances(z, x, lambda a, b: float(((a - b) ** 2).sum()), 0.009)
    assert elsewhere.least[0, 0] == pytest.approx(0.01, rel=1e-12)


def test_a_function_that_jumps_is_taken_at_its_word():
    X = np.arange(1.0, 6.0)[:, None]
    ask = distances(X, X, lambda a, b: 1.0 if a[0] != b[0] else 0.0, 1 - 1e-5)
    assert (ask.within == np.eye(5, dtype=bool)).all()


@pytest.mark.parametrize("moved", ["raises", "nan"])
def test_a_function_may_know_its_sample_alone(moved):
    place = {float(k): k for k in range(5)}

    def hops(a, b):
        if moved == "raises" or (a[0] in place and b[0] in place):
            return abs(place[a[0]] - place[b[0]]) * 1.0000001
        return math.nan

    X = np.arange(5.0)[:, None]
    found = distances(X, X, hops, 1.0)
    assert (found.within == np.eye(5, dtype=bool)).all()


# -- the radius --------------------------------------------------------------------------------------------------------


def test_rounding_takes_a_small_share_of_the_radius():
    X = 1e9 + np.arange(4)[:, None] * 2.0**-22
    step = 2.0**-22
    found = distances(X, X, "euclidean", 1.5 * step)
    assert (found.least <= 0).all()
    assert (found.within == (found.found <= 1.5 * step)).all()
    assert (found.drowned == (found.found > 1.5 * step)).all()
    np.testing.assert_allclose(found.known, np.maximum(found.found - ROOM * 1.5 * step, 0.0))
    # At radius zero it tells which points are one.
    assert distances(X, X, "euclidean", 0.0).within.all()


@pytest.mark.parametrize(
    ("metric", "rows", "words"),
    [
        ("cosine", [[1.0, 0.0], [0.0, 0.0]], r"'cosine' compares directions, but rows \[1\] are zero; leave them out"),
        ("correlation", [[0.1] * 3, [1.0, 2.0, 3.0]], r"of a row vary, but those of rows \[0\] do not; leave them out"),
        (
            "jensenshannon",
            [[1.0, 2.0], [1.0, -0.5]],
            "compares shares of a whole, but -0.5 was found at row 1, column 1",
        ),
        ("jensenshannon", [[1.0, 2.0], [0.0, 0.0]], "negative or not finite"),
        ("braycurtis", [[0.0], [0.0]], "negative or not finite"),
    ],
)
def test_rows_without_distances_are_refused(metric, rows, words):
    with pytest.raises(InputError, match=words):
        distances(np.array(rows), np.array(rows), metric, 1.0)
