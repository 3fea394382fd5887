"""Moments against exact rational arithmetic, NumPy and brute force; merging, units, degenerate data."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from convexnovelty import datasets, estimates, moment_classifier, single_class_mpm, streams
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.factor_model import factor_model
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import CovarianceHull, MomentHull

REPRESENTATIONS = ("dense", "diagonal", "low_rank")

SAMPLES = {
    "blob": datasets.blob(n=40).nominal,
    "five columns": datasets.blob(n=30, dimension=5, seed=3).nominal,
    "badly scaled": datasets.badly_scaled().nominal,
    "wide": datasets.wide().nominal,
    "duplicates": datasets.duplicates().nominal,
    "one row": np.array([[1.0, -2.0, 0.5]]),
    "one column": np.arange(1.0, 4.0)[:, None],
    "constant column": np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]),
    "collinear": np.outer([1.0, -2.0, 3.0, 0.5], [1.0, 2.0, -1.0]) + np.array([3.0, 0.0, 1.0]),
    "all equal": np.full((4, 3), 0.1),
    "zero": np.zeros((3, 2)),
}


def exact_covariance(X: np.ndarray, weights: list[int], ddof: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance in rational arithmetic, rounded once."""
    rows = [[Fraction(float(x)) for x in row] for row in X]
    total, p = Fraction(sum(weights)), len(rows[0])
    mean = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) / total for j in range(p)]
    covariance = [
        [
            sum(w * (row[i] - mean[i]) * (row[j] - mean[j]) for w, row in zip(weights, rows, strict=True))
            / (total - ddof)
            for j in range(p)
        ]
        for i in range(p)
    ]
    return np.array([float(m) for m in mean]), np.array([[float(c) for c in row] for row in covariance])


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("ddof", [0, 1])
def test_estimates_equal_exact_arithmetic(sample: str, ddof: int) -> None:
    X = SAMPLES[sample]
    moments = Moments.estimate(X, ddof=ddof)
    mean, covariance = exact_covariance(X, [1] * len(X), ddof if len(X) > 1 else 0)  # one row: zero, not 0/0
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.allclose(moments.mean, mean, rtol=1e-15, atol=1e-14 * np.abs(X).max())
    assert np.all(np.abs(moments.covariance - covariance) <= 1e-13 * scale + 1e-30)
    assert moments.count == len(X)
    assert (moments.dimension, moments.representation) == (X.shape[1], "dense")


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_laws(sample: str, representation: str, rng: np.random.Generator) -> None:
    X = SAMPLES[sample]
    moments = Moments.estimate(X, representation=representation)
    S, p = moments.covariance, X.shape[1]
    deviations = np.sqrt(moments.variances)
    assert moments.representation == representation
    dense = Moments.estimate(X).covariance
    expected = np.diag(np.diag(dense)) if representation == "diagonal" else dense
    assert np.all(np.abs(S - expected) <= 1e-12 * np.outer(deviations, deviations))
    assert np.array_equal(S, S.T)
    assert np.allclose(moments.variances, np.diag(S), rtol=1e-14)

    F = moments.factor
    assert np.all(np.abs(F.T @ F - S) <= 1e-13 * p * np.outer(deviations, deviations))
    correlation = S / np.outer(np.where(deviations > 0, deviations, 1), np.where(deviations > 0, deviations, 1))
    assert F.shape == (np.linalg.matrix_rank(correlation), p)
    L, d = moments.loadings, moments.specific_variances
    assert np.all(np.abs(L.T @ L + np.diag(d) - S) <= 1e-13 * p * np.outer(deviations, deviations))

    values, vectors = moments.eigen
    assert vectors.shape == (p, len(F))
    assert np.all(np.diff(values) <= 0)
    assert np.all(values > 0)
    assert np.allclose((vectors * values) @ vectors.T, S, atol=1e-14 * max(np.abs(S).max(), 1e-300))
    assert np.allclose(vectors.T @ vectors, np.eye(len(F)), atol=1e-12)

    v = S @ (rng.normal(size=p) / np.where(deviations > 0, deviations, 1.0))
    assert np.allclose(moments.multiply(v), S @ v, rtol=1e-12, atol=1e-14 * np.abs(S).max() * np.abs(v).max())
    if len(F):
        x = moments.solve(v)
        assert np.all(
            np.abs(moments.multiply(x) - v) <= 1e-9 * deviations * np.linalg.norm(v / (deviations + (deviations == 0)))
        )
    assert moments.unit == pytest.approx(np.sqrt((X**2).sum(axis=1).mean()) or 1.0, rel=1e-13)
    again = pickle.loads(pickle.dumps(moments))
    assert np.array_equal(again.covariance, S)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("factor", [1e-8, 3.7, 1e8])
def test_everything_is_homogeneous(representation: str, factor: float) -> None:
    X = datasets.blob(n=25, dimension=3).nominal
    one = Moments.estimate(X, representation=representation)
    scaled = Moments.estimate(factor * X, representation=representation)
    assert scaled.unit == pytest.approx(factor * one.unit, rel=1e-14)
    assert np.allclose(scaled.mean, factor * one.mean, rtol=1e-14)
    assert np.allclose(scaled.covariance, factor**2 * one.covariance, rtol=1e-12)
    assert scaled.factor.shape == one.factor.shape
    power = Moments.estimate(2.0**20 * X, representation=representation)
    assert power.unit == 2.0**20 * one.unit


def test_rank_does_not_depend_on_the_units_of_columns(rng: np.random.Generator) -> None:
    units = np.logspace(-8, 8, 6)
    X = rng.normal(size=(50, 5))
    X = np.c_[X, X[:, 0] - X[:, 1]] * units  # the last column is a combination of two others
    moments = Moments.estimate(X)
    assert moments.factor.shape == (5, 6)
    assert np.linalg.matrix_rank(moments.covariance) < 5  # the fault: relative to the largest eigenvalue
    deviations = np.sqrt(moments.variances)
    assert (
        np.abs((moments.factor.T @ moments.factor - moments.covariance) / np.outer(deviations, deviations)).max()
        < 1e-13
    )


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("sparse", [False, True])
def test_far_from_the_origin_nothing_cancels(representation: str, sparse: bool, rng: np.random.Generator) -> None:
    spread = np.round(rng.normal(size=(60, 3)) * 2**10) / 2**10  # so that adding 2^27 does not round
    X = spread + np.array([2.0**27, 0.0, -(2.0**27)])
    moments = Moments.estimate(sp.csr_array(X) if sparse else X, representation=representation)
    expected = np.cov(spread.T, bias=True)
    if representation == "diagonal":
        expected = np.diag(np.diag(expected))
    assert np.allclose(moments.covariance, expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(moments.mean, X.mean(axis=0), rtol=1e-15, atol=1e-15)


# --- weights


def rational_moments(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance without any rounding but that of the result."""
    rows, w = [[Fraction(x) for x in row] for row in X], [Fraction(x) for x in weights]
    p, total = X.shape[1], sum(w)
    mean = [sum(v * row[j] for v, row in zip(w, rows, strict=True)) / total for j in range(p)]
    away = [[x - m for x, m in zip(row, mean, strict=True)] for row in rows]
    pairs = [
        [sum(v * row[i] * row[j] for v, row in zip(w, away, strict=True)) / total for j in range(p)] for i in range(p)
    ]
    return np.array([float(m) for m in mean]), np.array([[float(x) for x in row] for row in pairs])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("far", "spread"), [(1e8, 1e-6), (1.7e18, 1e4), (1.7e18, 1e6)])
def test_dense_points_of_a_few_last_digits(far: float, spread: float, weighted: bool) -> None:
    """Beside such a mean its own rounding is a share of the spread, as of time stamps in nanoseconds within microseconds."""
    rng = np.random.default_rng(3)
    X = far + spread * rng.normal(size=(50, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    weights = rng.exponential(size=50) if weighted else np.ones(50)
    mean, covariance = rational_moments(X, weights)
    given = {"weights": weights} if weighted else {}
    np.testing.assert_allclose(Moments.estimate(X, **given).mean, mean, rtol=1e-15)
    np.testing.assert_allclose(Moments.estimate(X, **given).covariance, covariance, rtol=1e-11)
    for representation in ("diagonal", "low_rank"):
        found = Moments.estimate(X, representation=representation, **given)
        np.testing.assert_allclose(found.variances, np.diag(covariance), rtol=1e-11)


def far_columns(n: int, far: float) -> tuple[sp.csr_array, np.ndarray]:
    """Columns far from zero, full and with gaps of little and of much weight, beside constant, sparse and empty ones."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 7)) + far
    X[2, 1] = X[3, 2] = 0.0
    X[:, 3] = np.where(rng.random(n) < 0.5, X[:, 3], 0.0)
    X[:, 4] = np.where(rng.random(n) < 0.3, rng.normal(size=n), 0.0)
    X[:, 5], X[:, 6] = 0.0, 3.0 * far
    weights = rng.random(n) + 0.1
    weights[[2, 3, 4]] = 1e-8, 0.7, 0.0
    rows, columns = np.indices(X.shape)
    kept = (X != 0) | ((columns == 4) & (rows % 3 == 0))  # with zeros among the stored entries
    return sp.csr_array((X[kept], (rows[kept], columns[kept])), shape=X.shape), weights


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_the_smallest_weights_count_by_their_shares(representation: Any) -> None:
    X, _ = far_columns(40, 10.0)
    weights = np.arange(40) % 4.0
    for points in (X, X.toarray()):
        expected = Moments.estimate(points, weights, representation=representation)
        found = Moments.estimate(points, np.ldexp(weights, -1074), representation=representation)
        assert found.count == np.ldexp(expected.count, -1074)
        np.testing.assert_array_equal(found.mean, expected.mean)
        np.testing.assert_array_equal(found.covariance, expected.covariance)


@pytest.mark.parametrize("far", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("n", [5, 40])
def test_weights_of_sparse_points_cost_no_digits(n: int, far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, weights = far_columns(n, far)
    for w in (weights, np.full(n, 0.1)):
        mean, covariance = rational_moments(X.toarray(), w)
        size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))) + np.finfo(float).tiny
        parts = [(X[:2], w[:2]), (X[2:], w[2:])]
        for representation in REPRESENTATIONS:
            expected = np.diag(np.diag(covariance)) if representation == "diagonal" else covariance
            for found in (
                Moments.estimate(X, w, representation=representation),
                streams.moments_of([(X, w)], representation=representation),
                streams.moments_of(parts, representation=representation),
            ):
                np.testing.assert_allclose(found.mean, mean, rtol=1e-15)
                assert (np.abs(found.covariance - expected) / size).max() < 1e-10
        best = Moments.estimate(X, w, rank=1)
        values, axes = np.linalg.eigh(covariance)
        np.testing.assert_allclose(
            best.loadings.T @ best.loadings,
            values[-1] * np.outer(axes[:, -1], axes[:, -1]),
            rtol=0,
            atol=1e-9 * values[-1],
        )
        monkeypatch.setattr(estimates, "ONE_PASS", 0)
        found = Moments.estimate(X, w, representation="diagonal")
        np.testing.assert_allclose(found.variances, np.diag(covariance), rtol=1e-10)
        monkeypatch.undo()


@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-290, 1.0, 1e290]))
def test_sums_of_what_rows_lack_are_exact(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    values = size * np.exp(rng.normal(size=30) * rng.choice([0.1, 10.0]))
    has = rng.random((6, 30)) < np.array([0.0, 0.2, 0.5, 0.9, 0.97, 1.0])[:, None]
    found = estimates.sums_of_absent(sp.csr_array(has), values)
    expected = [float(sum((Fraction(v) for v in values[~row]), Fraction(0))) for row in has]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[-1] == 0.0


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_whole_weights_equal_repeated_rows(
    representation: str, ddof: int, sparse: bool, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(7, 3)) * (rng.random(size=(7, 3)) < 0.7)
    weights = np.array([2, 0, 1, 3, 0, 1, 1])
    given = sp.csr_array(X) if sparse else X
    weighted = Moments.estimate(given, weights, ddof, representation)
    repeated = Moments.estimate(np.repeat(X, weights, axis=0), None, ddof, representation)
    assert np.allclose(weighted.mean, repeated.mean, rtol=1e-13, atol=1e-15)
    assert np.allclose(weighted.covariance, repeated.covariance, rtol=1e-12, atol=1e-14)
    assert weighted.count == repeated.count == 8


def test_b08_bad_weights() -> None:
    with pytest.raises(InputError, match=r"weights: -1 was found at position 1"):
        Moments.estimate([[1.0], [3.0]], [2.0, -1.0])
    with pytest.raises(InputError, match="all are zero"):
        Moments.estimate([[1.0], [3.0]], [0.0, 0.0])
    for wrong in ([1.0], [1.0, np.nan], "ab", [[1.0, 2.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="weights"):
            Moments.estimate([[1.0], [3.0]], wrong)
    column = Moments.estimate([[1.0], [3.0]], np.array([[2.0], [1.0]]))
    assert column.mean == pytest.approx([5 / 3])
    with pytest.raises(InputError, match="ddof"):
        Moments.estimate([[1.0], [3.0]], [0.5, 0.5], ddof=1)


# --- merging


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("ddof", [0, 1])
def test_parts_merge_to_the_whole(representation: str, ddof: int, rng: np.random.Generator) -> None:
    X = rng.normal(size=(31, 4)) + np.array([5.0, -3.0, 0.0, 100.0])
    w = rng.uniform(0.5, 2.0, size=31)
    whole = Moments.estimate(X, w, ddof, representation)
    cuts = [(0, 1), (1, 2), (2, 9), (9, 31)]
    parts = [Moments.estimate(X[a:b], w[a:b], ddof, representation) for a, b in cuts]
    streamed = parts[0]
    for a, b in cuts[1:]:
        streamed = streamed.update(X[a:b], w[a:b])
    for merged in (sum(parts), sum(reversed(parts)), (parts[0] + parts[3]) + (parts[1] + parts[2]), streamed):
        assert isinstance(merged, Moments)
        assert merged.representation == representation
        assert merged.count == pytest.approx(w.sum(), rel=1e-14)
        assert np.allclose(merged.mean, whole.mean, rtol=1e-14)
        assert np.allclose(merged.covariance, whole.covariance, rtol=1e-12, atol=1e-13)
        assert len(merged.loadings) <= 4


@given(arrays(np.float64, (6, 2), elements=st.floats(-1e3, 1e3).map(lambda x: round(x, 3))), st.integers(1, 5))
def test_merging_is_exact_for_any_split(X: np.ndarray, cut: int) -> None:
    merged = Moments.estimate(X[:cut]) + Moments.estimate(X[cut:])
    mean, covariance = exact_covariance(X, [1] * 6)
    assert np.allclose(merged.mean, mean, atol=1e-12)
    assert np.allclose(merged.covariance, covariance, atol=1e-9)


def test_merging_far_from_the_origin(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 2)) + 1e8
    merged = Moments.estimate(X[:90]) + Moments.estimate(X[90:])
    assert np.allclose(merged.covariance, np.cov((X - 1e8).T, bias=True), atol=1e-7)


def test_update_leaves_the_old_moments_alone() -> None:
    first = Moments.estimate([[1.0, 2.0], [3.0, 5.0]])
    before = first.covariance.copy()
    second = first.update([[0.0, 0.0]])
    assert second is not first
    assert np.array_equal(first.covariance, before)
    with pytest.raises(ValueError, match="read-only"):
        first.mean[0] = 7.0


def test_mixed_representations_merge_to_the_denser_one(rng: np.random.Generator) -> None:
    A, B = rng.normal(size=(9, 3)), rng.normal(size=(8, 3)) + 1.0
    low, dense = Moments.estimate(A, representation="low_rank"), Moments.estimate(B)
    assert (low + dense).representation == "dense"
    assert np.allclose((low + dense).covariance, Moments.estimate(np.r_[A, B]).covariance)
    assert (low + Moments.estimate(B, representation="diagonal")).representation == "low_rank"


@pytest.mark.parametrize(
    "other",
    [Moments([0.0], [[1.0]], count=3), Moments([0.0, 0.0], np.eye(2)), Moments([0.0, 0.0], np.eye(2), 3, ddof=1)],
    ids=["dimension", "no count", "ddof"],
)
def test_what_cannot_be_merged_is_refused(other: Moments) -> None:
    with pytest.raises(InputError, match="moments"):
        Moments.estimate(np.eye(2)) + other
    with pytest.raises(TypeError):
        other + 3  # type: ignore[operator]


# --- low rank and sparse


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (700, 600)])
@pytest.mark.parametrize("rank", [1, 3])
def test_factor_model_bounds_the_covariance_on_both_sides(
    sparse: bool, shape: tuple[int, int], rank: int, rng: np.random.Generator
) -> None:
    """The factor model F'F <= S <= F'F + s I, with s the next eigenvalue: equation 11 of the one-class classifier.

    In the paper's notation D = s_{k+1}^2 / N, where it prints s_{k+1}^2 without the division, and so on for F.
    """
    n, p = shape
    X = sp.random(n, p, density=0.1, random_state=1, format="csr") * 3.0
    dense = X.toarray()
    moments = Moments.estimate(X if sparse else dense, rank=rank)
    S = np.cov(dense.T, bias=True)
    values, vectors = np.linalg.eigh(S)
    assert moments.representation == "low_rank"
    assert moments.loadings.shape == (rank, p)
    assert np.allclose((moments.loadings**2).sum(axis=1), values[::-1][:rank], rtol=1e-9)
    assert np.allclose(moments.specific_variances, values[-1 - rank], rtol=1e-9)
    leading = vectors[:, ::-1][:, :rank]
    assert np.allclose(moments.loadings.T @ moments.loadings, leading * values[::-1][:rank] @ leading.T, atol=1e-8)
    assert np.linalg.eigvalsh(S - moments.loadings.T @ moments.loadings)[0] >= -1e-9
    assert np.linalg.eigvalsh(moments.covariance - S)[0] >= -1e-9
    cut = Moments.estimate(dense).truncated(rank)
    assert np.allclose(cut.covariance, moments.covariance, atol=1e-9)


def test_truncated_sums_stay_above(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 8))
    stream = Moments.estimate(X[:20], rank=3)
    for start in (20, 40):
        stream = stream.update(X[start : start + 20]).truncated(3)
    assert stream.loadings.shape == (3, 8)
    assert np.linalg.eigvalsh(stream.covariance - Moments.estimate(X).covariance)[0] >= -1e-12
    diagonal = Moments.diagonal([0.0, 0.0], [1.0, 2.0])
    assert np.array_equal(diagonal.truncated(1).covariance, diagonal.covariance)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix", "lil_array"])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_sparse_equals_dense(form: str, representation: str) -> None:
    dense = sp.random(25, 9, density=0.3, random_state=4).toarray() - 0.2 * (np.arange(9) == 2)
    sparse = getattr(sp, form)(dense)
    one, other = (Moments.estimate(X, representation=representation) for X in (sparse, dense))
    assert np.allclose(one.mean, other.mean, rtol=1e-14, atol=1e-16)
    assert np.allclose(one.covariance, other.covariance, rtol=1e-11, atol=1e-14)


def test_sparse_points_are_never_expanded() -> None:
    """60 000 x 20 000 with three entries a row: dense it would be 9.6 GB."""
    n, p = 60_000, 20_000
    random = np.random.default_rng(0)
    X = sp.csr_array(
        (random.normal(size=3 * n) + 1.0, (np.repeat(np.arange(n), 3), random.integers(0, p, size=3 * n))), shape=(n, p)
    )
    diagonal = Moments.estimate(X, representation="diagonal")
    squares = X.multiply(X).mean(axis=0) - X.mean(axis=0) ** 2
    assert np.allclose(diagonal.variances, squares, rtol=1e-9)
    assert np.allclose(diagonal.solve(diagonal.multiply(np.ones(p))), diagonal.variances > 0)
    low = Moments.estimate(X, rank=2)
    assert low.loadings.shape == (2, p)
    v = random.normal(size=p)
    assert np.allclose(low.multiply(low.solve(v)), v, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (sp.csr_array(np.array([[0.0, 1.0], [np.nan, 0.0]])), "row 1, column 0"),
        (sp.csr_array(np.array([[0.0, 1j]])), "complex"),
        (sp.csr_array((0, 3)), r"\(0, 3\)"),
        (sp.csr_array((3, 0)), r"\(3, 0\)"),
    ],
)
def test_bad_sparse_points(bad: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Moments.estimate(bad)


def test_sparse_duplicates_add_up_and_input_is_left_alone() -> None:
    X = sp.csc_array(sp.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [0, 0, 0])), shape=(2, 2)))
    uncanonical = sp.csc_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    before = uncanonical.data.copy()
    for given_points in (X, uncanonical):
        assert np.allclose(Moments.estimate(given_points).covariance, [[1.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(uncanonical.data, before)


def test_constant_sparse_column_has_no_variance() -> None:
    X = sp.csr_array(np.c_[np.full(50, 0.1), np.arange(50.0)])
    for representation in REPRESENTATIONS:
        moments = Moments.estimate(X, representation=representation)
        assert moments.variances[0] == 0.0
        assert moments.factor.shape == (1, 2)


# --- solving


def test_b16_constant_column_is_named() -> None:
    moments = Moments.estimate([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    assert np.array_equal(moments.covariance[1], [0.0, 0.0])
    assert moments.factor.shape == (1, 2)
    alone = Moments.estimate([[1.0], [2.0], [3.0]])
    assert alone.mean @ alone.solve(alone.mean) == pytest.approx(6.0, rel=1e-14)
    with pytest.raises(InputError, match="column 1 of v is 5"):
        moments.solve(moments.mean)
    direction = moments.null_direction(moments.mean)
    assert direction is not None
    assert np.array_equal(moments.multiply(direction), [0.0, 0.0])
    assert direction @ moments.mean > 0
    assert direction[0] == 0.0
    assert moments.solve([2.0, 0.0]) == pytest.approx([3.0, 0.0])

    repeated = np.repeat([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [8, 1, 1], axis=0)
    assert np.allclose(Moments.estimate(repeated).covariance, [[0.41, 0.07], [0.07, 0.09]], rtol=1e-14)


def test_b18_fewer_rows_than_columns() -> None:
    moments = Moments.estimate(np.eye(3)[:2])
    assert np.allclose(moments.covariance, 0.25 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0]]), atol=1e-16)
    assert moments.mean.tolist() == [0.5, 0.5, 0.0]
    assert moments.factor.shape == (1, 3)
    direction = moments.null_direction(moments.mean)
    assert direction is not None
    assert np.allclose(moments.multiply(direction), 0.0, atol=1e-16)
    assert direction @ moments.mean > 0
    with pytest.raises(InputError, match="range"):
        moments.solve(moments.mean)
    assert np.allclose(moments.solve([1.0, -1.0, 0.0]), [2.0, -2.0, 0.0], rtol=1e-14)  # S^+ v, eigenvalue 1/2
    ridged = Moments(moments.mean, moments.covariance + 0.1 * np.eye(3))
    assert ridged.mean @ ridged.solve(ridged.mean) == pytest.approx(5.0, rel=1e-14)
    low = Moments.low_rank(moments.mean, moments.factor, 0.1)
    assert low.mean @ low.solve(low.mean) == pytest.approx(5.0, rel=1e-14)


def test_b21_one_column_and_one_row() -> None:
    column = Moments.estimate(np.arange(1.0, 4.0)[:, None])
    assert column.covariance.shape == (1, 1)
    assert column.covariance[0, 0] == pytest.approx(2 / 3, rel=1e-15)
    assert column.mean @ column.solve(column.mean) == pytest.approx(6.0, rel=1e-14)
    for representation in REPRESENTATIONS:
        for ddof in (0, 1):
            row = Moments.estimate([[1.0, 2.0]], ddof=ddof, representation=representation)
            assert np.array_equal(row.covariance, np.zeros((2, 2)))
            assert row.factor.shape == (0, 2)
            assert row.eigen[0].shape == (0,)
            with pytest.raises(InputError, match="without variance"):
                row.solve(row.mean)
            more = row.update([[3.0, 2.0]])
            assert more.covariance[0, 0] == pytest.approx(2.0 if ddof else 1.0, rel=1e-15)


@pytest.mark.parametrize("specific", [1e-6, 1.0, [1.0, 2.0, 0.5, 1e-3, 3.0]])
def test_low_rank_solve_equals_dense(specific: Any, rng: np.random.Generator) -> None:
    low = Moments.low_rank(rng.normal(size=5), rng.normal(size=(2, 5)), specific)
    v = rng.normal(size=5)
    reference = np.linalg.solve(low.covariance, v)
    assert np.allclose(low.solve(v), reference, rtol=1e-8, atol=1e-9 * np.abs(reference).max())
    assert low.null_direction(v) is None


def test_low_rank_solve_is_refined(rng: np.random.Generator) -> None:
    """v'S^-1 v for v in the range of a factor beside a tiny diagonal, where Woodbury's difference cancels."""
    F = rng.normal(size=(2, 5))
    low = Moments.low_rank(np.zeros(5), F, 1e-10)
    v = low.multiply(np.ones(5))
    with mpmath.workdps(50):
        S = mpmath.matrix(F).T * mpmath.matrix(F) + mpmath.diag([mpmath.mpf(1e-10)] * 5)
        exact = float((mpmath.matrix(v).T * mpmath.lu_solve(S, mpmath.matrix(v)))[0])
    assert v @ low.solve(v) == pytest.approx(exact, rel=1e-9)


def test_shortest_solution_equals_the_pseudoinverse(rng: np.random.Generator) -> None:
    for r in (1, 2, 3):
        F = rng.normal(size=(r, 5))
        for moments in (Moments(np.zeros(5), F.T @ F), Moments.low_rank(np.zeros(5), F)):
            v = F.T @ rng.normal(size=r)
            assert np.allclose(moments.solve(v), np.linalg.pinv(F.T @ F, rcond=1e-10) @ v, rtol=1e-9, atol=1e-12)
            outside = v + 1e-3 * np.linalg.svd(F)[2][-1]
            with pytest.raises(InputError, match="range"):
                moments.solve(outside)
            a = moments.null_direction(outside)
            assert a is not None
            assert np.linalg.norm(moments.multiply(a)) <= 1e-12 * np.linalg.norm(a)
            assert a @ outside > 0


def test_diagonal_solves_without_a_matrix() -> None:
    moments = Moments.diagonal([1.0, 2.0, 3.0], [4.0, 0.0, 1e-12])
    assert np.allclose(moments.solve([1.0, 0.0, 1.0]), [0.25, 0.0, 1e12])
    assert moments.null_direction([1.0, 1.0, 1.0]).tolist() == [0.0, 1.0, 0.0]
    assert moments.factor.shape == (2, 3)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_rotated(representation: str, rng: np.random.Generator) -> None:
    X, V = rng.normal(size=(20, 4)) + 2.0, rng.normal(size=(4, 2))
    moments = Moments.estimate(X, representation=representation).rotated(V)
    S = Moments.estimate(X, representation=representation).covariance
    assert np.allclose(moments.covariance, V.T @ S @ V, rtol=1e-12)
    assert np.allclose(moments.mean, (X @ V).mean(axis=0), rtol=1e-13)
    with pytest.raises(InputError, match="axes"):
        moments.rotated(np.eye(4))


# --- what is refused


@pytest.mark.parametrize(
    "S", [[[1.0, 2.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], [[-1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1e-8]]]
)
def test_indefinite_covariances_are_refused_with_the_eigenvalue(S: Any) -> None:
    with pytest.raises(IndefiniteError, match="covariance") as caught:
        Moments([0.0, 0.0], S)
    assert caught.value.eigenvalue == pytest.approx(np.linalg.eigvalsh(S)[0], rel=1e-12)


WRONG = np.array([[1e10, 0.0, 0.0], [0.0, 1.0, 1.3], [0.0, 1.3, 1.0]])


@pytest.mark.parametrize(
    ("S", "least"), [(WRONG, -0.3), (np.diag([1e10, -0.5, 1.0]), -500.0)], ids=["correlation", "variance"]
)
def test_indefinite_covariances_are_refused_beside_a_large_column(S: Any, least: float) -> None:
    for make in (
        lambda: Moments(np.zeros(3), S),
        lambda: CovarianceHull([np.eye(3), S]),
        lambda: MomentHull([(np.zeros(3), S)]),
    ):
        with pytest.raises(
            IndefiniteError, match="in units of its columns' deviations its least eigenvalue is -"
        ) as caught:
            make()
        assert caught.value.eigenvalue == pytest.approx(least, rel=0.01)


def test_what_a_difference_of_moments_leaves_is_not_indefiniteness() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        n, p = int(rng.integers(3, 2000)), int(rng.integers(2, 7))
        X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
        X[:, 0], X[:, 1] = (0.0, X[:, 1]) if rng.random() < 0.5 else (X[:, 0], X[:, 0] / 3)
        X = X * 10.0 ** rng.uniform(-3, 4, p) + rng.standard_normal(p) * 10.0 ** rng.uniform(-1, 4, p)
        mean = X.mean(axis=0)
        made = Moments(mean, X.T @ X / n - np.outer(mean, mean))
        # Differences are known to the rounding of squared means.
        np.testing.assert_allclose(made.variances, X.var(axis=0), rtol=1e-9, atol=1e-13 * float(mean @ mean))


def test_b25_rounding_is_not_indefiniteness() -> None:
    v = np.arange(1, 6) / 10
    assert Moments(v, np.outer(v, v)).factor.shape == (1, 5)
    assert Moments(np.zeros(2), [[1.0, 0.0], [0.0, -1e-14]]).factor.shape == (1, 2)
    assert Moments(np.zeros(200), np.eye(200)).factor.shape == (200, 200)


def test_b30_shapes_of_the_mean() -> None:
    assert Moments([[1.0], [2.0], [3.0]], np.eye(3)).mean.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(InputError, match="mean"):
        Moments(np.eye(2), np.eye(2))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Moments([1.0], [[1.0, 0.0], [0.0, 1.0]]), "covariance"),
        (lambda: Moments([1.0, 2.0], [[1.0, 0.0], [0.5, 1.0]]), "symmetric"),
        (lambda: Moments([np.nan], [[1.0]]), "mean"),
        (lambda: Moments([1.0], [[np.inf]]), "covariance"),
        (lambda: Moments([1.0], [[1.0]], count=0), "count"),
        (lambda: Moments([1.0], [[1.0]], count=2, ddof=-1), "ddof"),
        (lambda: Moments.diagonal([1.0, 1.0], [1.0, -2.0]), "position 1"),
        (lambda: Moments.diagonal([1.0, 1.0], [1.0]), "variances"),
        (lambda: Moments.low_rank([1.0, 1.0], [[1.0]]), "factor"),
        (lambda: Moments.low_rank([1.0], [[1.0]], -1.0), "diagonal"),
        (lambda: Moments.estimate([]), "X"),
        (lambda: Moments.estimate([[1.0]], representation="sparse"), "representation"),
        (lambda: Moments.estimate([[1.0]], rank=0), "rank"),
        (lambda: Moments.estimate([[1.0]], rank=1, representation="dense"), "rank"),
        (lambda: Moments.estimate([[1.0]]).solve([1.0, 2.0]), "v"),
        (lambda: Moments.estimate([[1.0]]).update([[1.0, 2.0]]), "dimension"),
    ],
)
def test_bad_input_is_named(make: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make()


@pytest.mark.parametrize("parts", [2, 30, 1000])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("sparse", [False, True])
def test_many_parts_far_from_the_origin_merge_to_exact_moments(
    parts: int, representation: str, sparse: bool, rng: np.random.Generator
) -> None:
    # Sorted, so that the means of the parts differ by as much as the points do: the case in which merging cancels most.
    X = np.sort(rng.normal(size=(2000, 3)), axis=0) + np.array([1e8, -1e8, 0.5])
    exact = [[Fraction(x) for x in column] for column in X.T.tolist()]
    means = [sum(column) / len(column) for column in exact]
    away = [[x - m for x in column] for column, m in zip(exact, means, strict=True)]
    expected = [[float(sum(a * b for a, b in zip(u, v, strict=True)) / len(u)) for v in away] for u in away]
    blocks = np.array_split(X, parts)
    merged = sum(Moments.estimate(sp.csr_array(b) if sparse else b, representation=representation) for b in blocks)
    np.testing.assert_allclose(merged.mean, [float(m) for m in means], rtol=1e-16, atol=1e-15)
    wanted = np.diag(np.diag(expected)) if representation == "diagonal" else np.array(expected)
    np.testing.assert_allclose(merged.covariance, wanted, rtol=1e-13, atol=1e-13)


def _exact_moments(x: Any, weights: Any) -> tuple[Fraction, Fraction]:
    values, shares = [Fraction(float(v)) for v in x], [Fraction(float(w)) for w in weights]
    mean = sum(w * v for w, v in zip(shares, values, strict=True)) / sum(shares)
    return mean, sum(w * (v - mean) ** 2 for w, v in zip(shares, values, strict=True)) / sum(shares)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [1, 2, 7, 20, 1000])
@pytest.mark.parametrize("base", [2.0**52, 2.0**60, 1.0, -1e8, 0.1])
def test_a_column_that_varies_in_its_last_digits_has_the_variance_of_its_doubles(
    base: float, spread: int, weighted: bool, representation: str, form: Any
) -> None:
    """Doubles are exact numbers: in memory, in blocks and merged with others, beside a column of ordinary size."""
    rng = np.random.default_rng(spread)
    X = np.column_stack([base + np.spacing(base) * rng.permutation(np.arange(40) % (spread + 1)), rng.normal(size=40)])
    weights = rng.random(40) + 0.1 if weighted else np.ones(40)
    _, truth = _exact_moments(X[:, 0], weights)
    given = {"representation": representation}
    parts = [(form(X[rows]), weights[rows]) for rows in (slice(0, 3), slice(3, 20), slice(20, 40))]
    first = Moments.estimate(*parts[0], **given)
    found = [
        Moments.estimate(form(X), weights if weighted else None, **given),
        sum(Moments.estimate(*part, **given) for part in parts),
        first.update(*parts[1]).update(*parts[2]),
        streams.moments_of(parts, **given),
    ]
    for moments in found:
        assert moments.variances[0] == pytest.approx(float(truth), rel=1e-13)
        assert moments.metric.rank == 2
        assert moments.solve([1.0, 0.0]) == pytest.approx(
            np.linalg.solve(moments.covariance, [1.0, 0.0]), rel=1e-6, abs=1e-12 / float(truth)
        )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [0.1, -0.7, 1 / 3, 1e8 + 0.1, 2.0**52 + 1, 1e-30])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_a_constant_column_has_its_value_for_mean_and_no_variance(representation: str, value: float, form: Any) -> None:
    weights = np.random.default_rng(0).random(1001)
    X = np.full((1001, 1), value)
    for moments in (
        Moments.estimate(form(X), representation=representation),
        Moments.estimate(form(X), weights, representation=representation),
        streams.moments_of([form(X[:10]), form(X[10:500]), form(X[500:])], representation=representation),
    ):
        assert moments.mean[0] == value and moments.variances[0] == 0.0 and moments.metric.rank == 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_an_outlier_of_little_weight_in_the_first_row_takes_no_digits(form: Any) -> None:
    x, weights = np.append(1e20, 1.0 + np.arange(10.0)), np.append(1e-60, np.ones(10))
    mean, variance = _exact_moments(x, weights)
    moments = Moments.estimate(form(x[:, None]), weights)
    assert moments.mean[0] == pytest.approx(float(mean), rel=1e-14)
    assert moments.variances[0] == pytest.approx(float(variance), rel=1e-13)


def test_the_mean_of_a_sample_is_known_beyond_the_last_digit_that_it_shows() -> None:
    x = 2.0**52 + np.arange(8.0).repeat(5)[:, None]
    y = 2.0**52 + np.array([5.0, 6.0] * 5)[:, None]
    first, second = Moments.estimate(x), Moments.estimate(sp.csr_array(y))
    assert first.mean_difference(second)[0][0] == -2.0
    assert first.centred(x)[:, 0].tolist() == (np.arange(8.0).repeat(5) - 3.5).tolist()
    assert first.ridged(1.0).truncated(1).centred(x)[0, 0] == -3.5
    again = Moments(first.mean, first.covariance).with_remainder([-0.5])
    assert (again.mean_difference(second)[1] < 1e-14).all()
    # A mean that is given as one number is known to its last digit only.
    assert Moments(first.mean, first.covariance).mean_difference(second)[1][0] > 4.0


def test_a_mean_and_a_covariance_with_names_are_matched_by_them_and_keep_them():
    import pandas as pd

    frame = pd.DataFrame(np.random.default_rng(0).normal([3, 1, -2], [1, 5, 2], size=(40, 3)), columns=["x", "y", "w"])
    mean, covariance = frame.mean(), frame.cov(ddof=0)
    moved = ["w", "y", "x"]
    truth = Moments.estimate(frame)
    deviations = pd.Series(truth.loadings[0], index=frame.columns)
    for found in (
        Moments(mean[moved], covariance),
        Moments(mean[moved].to_frame(), covariance),
        Moments(mean, covariance.loc[moved]),
        Moments(mean[moved].to_frame().T, covariance[moved].loc[moved]).in_order(truth.names, "other", "the sample"),
        Moments.low_rank(mean[moved], pd.DataFrame(truth.loadings, columns=frame.columns)),
    ):
        assert found.names == truth.names
        np.testing.assert_allclose(found.mean, truth.mean, rtol=1e-12)
        np.testing.assert_allclose(found.covariance, truth.covariance, rtol=1e-12)
    diagonal = Moments.diagonal(mean[moved], frame.var(ddof=0))
    assert diagonal.names == tuple(moved)
    np.testing.assert_allclose(diagonal.variances, frame.var(ddof=0)[moved])
    both = Moments.low_rank(mean[moved], deviations.to_frame().T, (deviations**2)[moved])
    np.testing.assert_allclose(both.variances, 2 * deviations**2)
    for names in (["x", "y", "z"], ["x", "y", "x"]):
        with pytest.raises(
            InputError, match="mean: columns are matched by name with those of the covariance, and it lacks"
        ):
            Moments(pd.Series(mean.to_numpy(), index=names), covariance)
    # Either order may be that of numbers without names.
    for numbered in (mean.to_numpy(), mean[moved].to_numpy(), mean.reset_index(drop=True)):
        for crossed in (covariance.loc[moved], covariance[moved]):
            with pytest.raises(InputError, match=r"covariance: its rows stand in another order than its columns, '"):
                Moments(numbered, crossed)
            with pytest.raises(InputError, match=r"pairs\[0\]\[1\]: its rows stand in another order"):
                MomentHull([(numbered, crossed), (mean, covariance)])
    # Rows that are called otherwise are no columns, and entries that are numbered have no names.
    assert Moments(mean.reset_index(drop=True), covariance.set_axis(["a", "b", "c"])).names == truth.names


def test_scenarios_of_a_hull_are_matched_by_names():
    import pandas as pd

    from convexnovelty.uncertainty import CovarianceHull, MomentHull

    frame = pd.DataFrame(np.random.default_rng(0).normal([3, 1, -2], [1, 5, 2], size=(40, 3)), columns=["x", "y", "w"])
    first, second = frame[:20], frame[20:]
    moved = second[["w", "x", "y"]]
    hull = CovarianceHull([first.cov(), moved.cov()])
    np.testing.assert_array_equal(hull.scenarios[1], second.cov().to_numpy())
    pairs = MomentHull(
        [(first.mean(), first.cov()), (moved.mean(), moved.cov()), (second.mean()[["y", "w", "x"]], second.cov())]
    )
    for mean, covariance in pairs.pairs[1:]:
        np.testing.assert_allclose(mean, second.mean())
        np.testing.assert_allclose(covariance, second.cov())
    renamed = second.rename(columns={"x": "z"})
    for call, name in ((lambda: CovarianceHull([first.cov(), renamed.cov()]), r"scenarios\[1\]"),
        (lambda: MomentHull([(first.mean(), first.cov()), (renamed.mean(), second.cov())]), r"pairs\[1\]\[0\]")):  # fmt: skip
        with pytest.raises(InputError, match=name + ": columns are matched by name .* lacks 'x'"):
            call()


def test_points_and_moments_are_matched_by_names_wherever_a_difference_of_them_is_taken():
    import pandas as pd

    frame = pd.DataFrame(np.random.default_rng(0).normal([3, 1, -2], size=(40, 3)), columns=["x", "y", "w"])
    moved = frame[["w", "x", "y"]]
    moments, others = Moments.estimate(frame), Moments.estimate(moved)
    np.testing.assert_array_equal(moments.centred(moved), moments.centred(frame))
    np.testing.assert_allclose(moments.centred(moved).mean(axis=0), 0.0, atol=1e-15)
    gap, rounding = moments.mean_difference(others)
    assert (np.abs(gap) <= 2 * rounding).all() and np.abs(gap).max() < 1e-14
    for call in (lambda: moments.centred(frame.rename(columns={"x": "z"})), lambda: moments.mean_difference(
        Moments.estimate(frame.rename(columns={"x": "z"})))):  # fmt: skip
        with pytest.raises(InputError, match="matched by name with those of the moments, and it lacks 'x'"):
            call()


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-155, 1e155, 1e300])
@pytest.mark.parametrize("representation", ["dense", "diagonal", "low_rank"])
def test_weights_of_any_size_merge(scale: float, representation: str, rng: np.random.Generator) -> None:
    """Likelihoods as weights: only their proportions count, and the distance between two blocks is that of their means."""
    X, w = np.vstack([rng.normal(3.0, 1.0, (20, 2)), rng.normal(9.0, 1.0, (20, 2))]), rng.random(40) + 0.1
    options: dict[str, Any] = {"representation": representation}
    one, other = (Moments.estimate(X[part], scale * w[part], **options) for part in (slice(20), slice(20, 40)))
    expected = np.diag(np.cov(X.T, aweights=w, bias=True))
    assert (one + other).variances == pytest.approx(expected, rel=1e-12)
    assert one.update(X[20:], scale * w[20:]).variances == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 7.0])
@pytest.mark.parametrize("made", ["truncated", "stream", "scaled factors"])
def test_columns_that_never_vary_have_no_part_in_truncated_factors(made: str, value: float) -> None:
    """What rounding leaves of them is no direction that tells classes apart: everything is as for dense moments."""
    rng = np.random.default_rng(1)
    X = np.insert(rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)) + [3.0, -2.0, 4.0], [0, 3], value, axis=1)
    dense = Moments.estimate(X)
    if made == "truncated":
        found = dense.truncated(4)
    elif made == "stream":
        found = streams.moments_of((X[i : i + 10] for i in range(0, 80, 10)), rank=4)
    else:
        found = factor_model(Moments.estimate(X, representation="low_rank"), 4)
    assert not found.variances[[0, 4]].any()
    v = dense.covariance @ np.arange(5.0)
    assert found.multiply(found.solve(v)) == pytest.approx(v, rel=1e-9)
    # A column that is always 7 tells this class from the origin for certain, one of zeros does not.
    assert (found.null_direction(found.mean) is None) == (value == 0.0) == (dense.null_direction(dense.mean) is None)
    one, other = (single_class_mpm(moments, 0.3).solve() for moments in (dense, found))
    if value == 0.0:
        assert other.objective == pytest.approx(one.objective, rel=1e-7)
        rare = X[:10] + np.array([0.0, 6.0, -4.0, 8.0, 0.0])
        one, other = (moment_classifier(rare, moments, 0.1).solve() for moments in (dense, found))
        assert other.objective == pytest.approx(one.objective, rel=1e-6)
        assert other.guarantee.bound == pytest.approx(one.guarantee.bound, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("representation", ["dense", "low_rank"])
def test_axes_along_which_nothing_varies_have_no_variance(seed: int, representation: str) -> None:
    """Columns of zeros, turned and turned back: rounding of the turned matrix is no variance, and no direction of its own."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)) + [3.0, -2.0, 4.0], np.zeros((80, 2))]
    moments = Moments.estimate(X, representation=representation)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    back = moments.rotated(turn).rotated(turn.T)
    assert not back.covariance[3:].any() and not back.covariance[:, 3:].any()
    assert back.covariance == pytest.approx(moments.covariance, rel=1e-9, abs=1e-12)
    found, known = (single_class_mpm(held, 0.3).solve().objective for held in (back, moments))
    assert found == pytest.approx(known, rel=1e-7)


def test_a_small_variance_survives_a_turn_up_to_rounding() -> None:
    variances, (c, s) = np.array([1.0, 1e-12]), (np.cos(0.7), np.sin(0.7))
    turn = np.array([[c, -s], [s, c]])
    found = Moments(np.zeros(2), turn @ np.diag(variances) @ turn.T).rotated(turn)
    assert found.variances == pytest.approx(variances, rel=1e-3)
