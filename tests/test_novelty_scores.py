"""Scores that learn nominal against unlabelled: densities against other libraries, bandwidths, units, seeds."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity as TheirDensity
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from convexnovelty import datasets
from convexnovelty.algorithms.roc import area_under_curve
from convexnovelty.errors import InputError
from convexnovelty.novelty_scores import (
    ClassifierScore,
    DensityRatio,
    KernelDensity,
    LowDensity,
    NoveltyScore,
    as_novelty_score,
    box_around,
    column_units,
    generator,
    held_out_scores,
    split,
    uniform_points,
)

CLASSIFIERS = [
    LogisticRegression(),
    GaussianNB(),
    KNeighborsClassifier(15),
    SVC(),
    RandomForestClassifier(20),
    make_pipeline(StandardScaler(), RandomForestClassifier(20)),
]


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("bandwidth", [0.05, 0.4, 3.0])
def test_density_agrees_with_scikit_learn_and_scipy(bandwidth: float, rng: np.random.Generator) -> None:
    sample, new = rng.normal(size=(60, 3)) + 1e3, rng.normal(size=(40, 3)) + 1e3
    ours = KernelDensity(sample, bandwidth, np.ones(3))
    theirs = TheirDensity(bandwidth=bandwidth).fit(sample).score_samples(new)
    assert ours.log_density(new) == pytest.approx(theirs, rel=1e-9)
    assert KernelDensity(sample, bandwidth, np.ones(3), "scikit-learn").log_density(new) == pytest.approx(theirs)
    by_hand = np.mean([stats.multivariate_normal(x, bandwidth**2 * np.eye(3)).pdf(new[0]) for x in sample])
    assert np.exp(ours.log_density(new[:1]))[0] == pytest.approx(by_hand, rel=1e-9)


def test_density_integrates_to_one_in_the_users_units() -> None:
    density = KernelDensity(1e-4 * np.array([[-1.0], [0.3], [0.5]]), 0.5, np.array([1e-4]))
    grid = np.linspace(-8e-4, 8e-4, 4001)
    assert np.trapezoid(np.exp(density.log_density(grid[:, None])), grid) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("library", ["own", "scikit-learn"])
def test_density_takes_its_sample_in_the_units_of_new_points(library: str, rng: np.random.Generator) -> None:
    """The formula term by term, and the normal densities that it is the mean of."""
    units, bandwidth = np.array([10.0, 0.02]), 0.5
    sample, new = (rng.normal(size=(n, 2)) * units + [100.0, 3.0] for n in (30, 8))
    found = KernelDensity(sample, bandwidth, units, library).log_density(new)  # type: ignore[arg-type]
    squares = (((new[:, None] - sample) / units) ** 2).sum(axis=-1)
    formula = np.exp(-squares / (2 * bandwidth**2)).mean(axis=1) / (2 * np.pi * bandwidth**2) / units.prod()
    assert np.exp(found) == pytest.approx(formula, rel=1e-9)
    normal = [stats.multivariate_normal(x, np.diag((bandwidth * units) ** 2)).pdf(new[0]) for x in sample]
    assert np.exp(found[0]) == pytest.approx(np.mean(normal), rel=1e-9)


def test_fitted_densities_follow_the_formula_in_the_users_units(rng: np.random.Generator) -> None:
    nominal, unlabelled = (
        rng.normal(size=(40, 2)) * [10.0, 0.02] + [100.0, 3.0],
        rng.normal(size=(30, 2)) * [20.0, 0.05],
    )
    both, new = np.vstack([nominal, unlabelled]), np.array([[100.0, 3.0], [90.0, 2.9]])

    def log_density(sample: Any, bandwidth: float, units: Any) -> Any:
        squares = (((new[:, None] - sample) / units) ** 2).sum(axis=-1)
        return np.log(np.exp(-squares / (2 * bandwidth**2)).mean(axis=1) / (2 * np.pi * bandwidth**2) / units.prod())

    ratio = DensityRatio(nominal_bandwidth=0.3, unlabelled_bandwidth=0.7).fit(nominal, unlabelled, seeded())(new)
    units = column_units(both)
    assert ratio == pytest.approx(log_density(unlabelled, 0.7, units) - log_density(nominal, 0.3, units), rel=1e-9)
    fitted = LowDensity(nominal_bandwidth=0.3).fit(nominal, unlabelled, seeded())
    low = fitted(new)
    assert low == pytest.approx(-log_density(nominal, 0.3, column_units(nominal)), rel=1e-9)
    nominal += 1.0
    assert fitted(new).tolist() == low.tolist()


def test_log_density_is_finite_far_away_and_in_blocks(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    density = KernelDensity(rng.normal(size=(30, 2)), 0.1, np.ones(2))
    far = density.log_density(np.array([[1e6, -1e6]]))
    assert np.isfinite(far).all() and far[0] < -1e10
    new = rng.normal(size=(50, 2))
    whole = density.log_density(new)
    monkeypatch.setattr("convexnovelty.novelty_scores.BLOCK", 64)
    assert density.log_density(new) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("score", [DensityRatio(), LowDensity()], ids=["ratio", "low"])
def test_units_and_origin_of_columns_do_not_matter(score: NoveltyScore) -> None:
    data = datasets.blob(n=80)
    nominal, unlabelled = data.nominal, data.test_points
    expected = score.fit(nominal, unlabelled, seeded())(data.novel)
    for units, origin in (
        ([1e-8, 1e-8], [0.0, 0.0]),
        ([1e-250, 1e250], [0.0, 0.0]),
        ([1e8, 1e-4], [0.0, 0.0]),
        ([1.0, 1e3], [50.0, -2e3]),
    ):
        moved = [x * units + origin for x in (nominal, unlabelled, data.novel)]
        found = score.fit(moved[0], moved[1], seeded())(moved[2])
        assert np.diff(found) == pytest.approx(np.diff(expected), rel=1e-6, abs=1e-6 * np.ptp(expected))


def test_bandwidths_maximise_the_cross_validated_area(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chosen pair against a loop over all pairs with scikit-learn's densities and areas."""
    monkeypatch.setattr("convexnovelty.novelty_scores.FACTORS", (0.2, 1.0, 4.0))
    data = datasets.ring(n=60)
    nominal, unlabelled = data.nominal, np.vstack([data.nominal[:20], data.novel[:25]])
    found: Any = DensityRatio(folds=3).fit(nominal, unlabelled, seeded(5))
    units = column_units(np.vstack([nominal, unlabelled]))
    random = seeded(5)
    samples = [(x / units)[random.permutation(len(x))] for x in (nominal, unlabelled)]
    grids = [[(4 / (4 * len(x))) ** (1 / 6) * factor for factor in (4.0, 1.0, 0.2)] for x in samples]
    areas = np.zeros((3, 3))
    for fold in range(3):
        part = [np.arange(len(x)) % 3 == fold for x in samples]
        tested = np.vstack([x[p] for x, p in zip(samples, part, strict=True)])
        labels = np.repeat([0, 1], [int(p.sum()) for p in part])
        logs = [
            [TheirDensity(bandwidth=b).fit(x[~p]).score_samples(tested) for b in grid]
            for x, p, grid in zip(samples, part, grids, strict=True)
        ]
        areas += [[roc_auc_score(labels, high - low) / 3 for high in logs[1]] for low in logs[0]]
    i, j = (int(k) for k in np.unravel_index(areas.argmax(), areas.shape))
    assert found.area == pytest.approx(areas.max(), abs=1e-9)
    assert (found.nominal.bandwidth, found.unlabelled.bandwidth) == pytest.approx((grids[0][i], grids[1][j]))


def test_bandwidths_that_are_given_are_used() -> None:
    data = datasets.blob(n=40)
    ratio: Any = DensityRatio(0.3, 0.7).fit(data.nominal, data.novel, seeded())
    low: Any = LowDensity(0.3).fit(data.nominal, data.novel, seeded())
    assert (ratio.nominal.bandwidth, ratio.unlabelled.bandwidth, low.nominal.bandwidth) == (0.3, 0.7, 0.3)


def test_few_points_of_large_samples_choose_the_bandwidths() -> None:
    data = datasets.blob(n=400)
    small: Any = DensityRatio(limit=50).fit(data.nominal, data.test_points, seeded())
    assert len(small.nominal.points) == 400 and np.isfinite(small.area)


def test_the_right_alternative_decides(rng: np.random.Generator) -> None:
    """Novelties in the middle of the nominal cloud: the ratio finds them, low density does worse than guessing."""
    nominal, test = rng.normal(size=(400, 2)), rng.normal(size=(300, 2))
    novel = rng.normal(0, 0.15, size=(500, 2))
    unlabelled = np.vstack([rng.normal(size=(300, 2)), novel[:200]])
    ratio, low = (s.fit(nominal, unlabelled, seeded()) for s in (DensityRatio(), LowDensity()))
    assert area_under_curve(ratio(test), ratio(novel[200:])) > 0.85
    assert area_under_curve(low(test), low(novel[200:])) < 0.3


def test_low_density_ignores_the_unlabelled_points() -> None:
    data = datasets.ring(n=60)
    first, second = (
        LowDensity().fit(data.nominal, other, seeded())(data.novel) for other in (data.novel, data.nominal)
    )
    assert (first == second).all()


@pytest.mark.parametrize("detector", ["IsolationForest", "own", "pipeline"])
def test_a_detector_of_outliers_is_no_classifier(detector: str) -> None:
    """It scores ordinary points highest, which was taken for the score of novel ones."""
    from sklearn.ensemble import IsolationForest
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from convexnovelty.estimators import OneClassSVM

    kinds = {
        "IsolationForest": IsolationForest(),
        "own": OneClassSVM(),
        "pipeline": make_pipeline(StandardScaler(), IsolationForest()),
    }
    with pytest.raises(InputError, match="which a detector of outliers is not"):
        as_novelty_score(kinds[detector])


def test_a_classifier_that_names_columns_is_told_that_there_are_none(rng: np.random.Generator) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    named = make_pipeline(make_column_transformer((StandardScaler(), ["a"])), LogisticRegression())
    with pytest.raises(InputError, match="an array of numbers, which has no names of columns"):
        as_novelty_score(named).fit(rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), rng)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_any_classifier_gives_a_score(estimator: Any, rng: np.random.Generator) -> None:
    nominal, unlabelled = (
        rng.normal(size=(150, 2)),
        np.vstack([rng.normal(size=(60, 2)), rng.normal(3, 0.5, size=(60, 2))]),
    )
    before = estimator.get_params(deep=False)
    score = as_novelty_score(estimator)
    assert isinstance(score, ClassifierScore)
    new = np.vstack([rng.normal(size=(40, 2)), rng.normal(3, 0.5, size=(40, 2))])
    first, second = (score.fit(nominal, unlabelled, seeded(3))(new) for _ in range(2))
    assert (first == second).all() and first.shape == (80,)
    assert area_under_curve(first[:40], first[40:]) > 0.9
    assert estimator.get_params(deep=False).keys() == before.keys() and not hasattr(estimator, "classes_")


def test_scores_travel() -> None:
    data = datasets.blob(n=30)
    for score in (DensityRatio(), LowDensity(), ClassifierScore(GaussianNB())):
        fitted = score.fit(data.nominal, data.test_points, seeded())
        assert (pickle.loads(pickle.dumps(fitted))(data.novel) == fitted(data.novel)).all()


@pytest.mark.parametrize("score", [DensityRatio(), LowDensity()], ids=["ratio", "low"])
@pytest.mark.parametrize(
    ("nominal", "unlabelled"),
    [
        (np.zeros((1, 1)), np.zeros((1, 1))),
        (np.ones((5, 2)), np.ones((3, 2))),
        (np.zeros((2, 3)), np.ones((9, 3))),
        (np.column_stack([np.arange(6.0), np.full(6, 7.0)]), np.column_stack([np.arange(4.0), np.full(4, 7.0)])),
        (datasets.duplicates().nominal, datasets.duplicates().test_points),
        (datasets.wide().nominal, datasets.wide().test_points),
        (datasets.badly_scaled().nominal, datasets.badly_scaled().test_points),
    ],
    ids=["one point", "all equal", "two values", "constant column", "duplicates", "wide", "badly scaled"],
)
def test_degenerate_samples_have_finite_scores(
    score: NoveltyScore, nominal: np.ndarray, unlabelled: np.ndarray
) -> None:
    found = score.fit(nominal, unlabelled, seeded())(np.vstack([nominal, unlabelled, unlabelled + 1]))
    assert np.isfinite(found).all()


def test_box_and_uniform_points(rng: np.random.Generator) -> None:
    sample = rng.random((50, 3)) * [1.0, 10.0, 0.0] + 5
    low, high = box_around(sample)
    assert (low <= sample.min(axis=0)).all() and (high >= sample.max(axis=0)).all()
    assert (low[2], high[2]) == (5.0, 5.0)
    drawn = uniform_points((low, high), 4000, rng)
    assert ((drawn >= low) & (drawn <= high)).all()
    assert drawn.mean(axis=0) == pytest.approx((low + high) / 2, abs=0.1)
    # Of uniform points the widened range is right on average.
    ends = np.array([box_around(rng.random((20, 1))) for _ in range(4000)])[:, :, 0].mean(axis=0)
    assert ends == pytest.approx([0, 1], abs=0.005)


def test_split_leaves_nothing_out(rng: np.random.Generator) -> None:
    X = np.arange(20.0)[:, None]
    for share in (0.01, 0.3, 0.99):
        first, second = split(X, share, rng)
        assert len(first) >= 1 and len(second) >= 1
        assert sorted(np.concatenate([first, second]).ravel()) == X.ravel().tolist()


def test_held_out_scores_are_of_points_that_were_not_fitted() -> None:
    data = datasets.blob(n=60)
    first, second = held_out_scores(data.nominal, data.test_points, share=0.25, random_state=3)
    assert (first.size, second.size) == (15, 30)
    again = held_out_scores(data.nominal, data.test_points, share=0.25, random_state=np.random.default_rng(3))
    assert (again[0] == first).all() and (again[1] == second).all()
    assert (held_out_scores(data.nominal, data.test_points, share=0.25, random_state=4)[0] != first).any()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: DensityRatio(0.0), "nominal_bandwidth"),
        (lambda: DensityRatio(unlabelled_bandwidth=-1), "unlabelled_bandwidth"),
        (lambda: LowDensity(float("nan")), "nominal_bandwidth"),
        (lambda: DensityRatio(folds=1), "folds"),
        (lambda: DensityRatio(limit=1), "limit"),
        (lambda: DensityRatio(library="other"), "library"),  # type: ignore[arg-type]
        (lambda: as_novelty_score("ratio"), "score"),
        (lambda: as_novelty_score(LogisticRegression), "score"),
        (lambda: as_novelty_score(StandardScaler()), "score"),
        (lambda: generator("seed"), "random_state"),
        (lambda: generator(-1), "random_state"),
        (lambda: held_out_scores([[1.0]], [[1.0], [2.0]]), "nominal"),
        (lambda: held_out_scores([[1.0], [2.0]], [[1.0, 2.0], [2.0, 3.0]]), "unlabelled"),
        (lambda: held_out_scores([[1.0], [2.0]], [[1.0], [2.0]], share=1.0), "share"),
        (lambda: KernelDensity(np.zeros((2, 2)), 1.0, np.ones(2)).log_density([[1.0]]), "Z"),
        (lambda: KernelDensity(None, 1.0, np.ones(2)), "points"),
        (lambda: KernelDensity([[1e160, 1.0]], 1.0, np.ones(2)), "points"),
        *(
            (lambda b=b: KernelDensity(np.eye(2), b, np.ones(2)), "bandwidth")
            for b in (-1, 0, 1e-200, None, "1", np.nan)
        ),
        *((lambda u=u: KernelDensity(np.eye(2), 1.0, u), "units") for u in ([0, 1], [-1, 1], [1], None, [np.nan, 1])),
        (lambda: KernelDensity([[1e140, 1.0]], 1.0, [1e-200, 1.0]), "units"),
        (lambda: KernelDensity(np.eye(2), 1.0, np.ones(2), "other"), "library"),  # type: ignore[arg-type]
        (lambda: DensityRatio(1e-200), "nominal_bandwidth"),
        (lambda: DensityRatio().fit(None, np.eye(2), np.random.default_rng(0)), "nominal"),  # type: ignore[arg-type]
        (lambda: DensityRatio().fit(np.eye(2), np.eye(3), np.random.default_rng(0)), "unlabelled"),
        (lambda: LowDensity().fit(np.eye(2), np.eye(2), "seed"), "random"),  # type: ignore[arg-type]
        (lambda: ClassifierScore(3), "estimator"),
        (lambda: box_around(3.0), "nominal"),  # type: ignore[arg-type]
        (lambda: uniform_points(([0.0, 1.0], [1.0, 0.0]), 3, np.random.default_rng(0)), "box"),  # type: ignore[arg-type]
        (lambda: uniform_points(box_around(np.eye(2)), -1, np.random.default_rng(0)), "count"),
    ],
)
def test_bad_input_is_named(call: Any, named: str) -> None:
    with pytest.raises(InputError, match=f"^{named}:"):
        call()


@pytest.mark.parametrize("far", [1e2, 1e4, 1e9, 1e15, 1e20])
@pytest.mark.parametrize("bandwidths", [(0.5, 0.5), (0.5, 0.7)])
def test_a_ratio_keeps_its_digits_far_from_both_samples(bandwidths: tuple[float, float], far: float) -> None:
    """Truth in exact rational exponents: squares of lengths cancel, or stand alone, and one term of each mean is left."""
    rng = np.random.default_rng(0)
    nominal, unlabelled = rng.normal(size=(30, 2)), rng.normal(size=(40, 2)) + np.array([2.0, 0.0])
    ratio = DensityRatio(*bandwidths).fit(nominal, unlabelled, rng)
    z = [Fraction(far), Fraction(-far) / 3]

    def exponents(density: KernelDensity) -> list[Fraction]:
        u, b = [Fraction(x) for x in density.units], Fraction(density.bandwidth)
        return [
            -sum(((c - Fraction(x)) / v) ** 2 for c, x, v in zip(z, row, u, strict=True)) / (2 * b * b)
            for row in density.points.tolist()
        ]

    above, below = exponents(ratio.unlabelled), exponents(ratio.nominal)
    rests = [np.log(np.mean([np.exp(float(e - max(all_of))) for e in all_of])) for all_of in (above, below)]
    right = float(max(above) - max(below)) + rests[0] - rests[1] - 2 * np.log(bandwidths[1] / bandwidths[0])
    assert ratio(np.array([[far, -far / 3]]))[0] == pytest.approx(right, rel=1e-9)


def test_lists_and_frames_have_the_density_of_their_numbers() -> None:
    sample, units = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0])
    there = KernelDensity(sample, 0.5, units).log_density(sample)
    frame = pd.DataFrame(sample, columns=["a", "b"])
    assert (KernelDensity(sample.tolist(), 0.5, [1, 2]).log_density(sample.tolist()) == there).all()  # type: ignore[arg-type]
    assert (KernelDensity(frame, 0.5, pd.Series(units)).log_density(frame) == there).all()  # type: ignore[arg-type]


def test_folds_that_are_whole_numbers_of_another_type_are_folds(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 2))
    for kind in (float, np.int8, Fraction):
        same = DensityRatio(folds=kind(4)).fit(X, X + 1, np.random.default_rng(0))(X)  # type: ignore[arg-type]
        assert (same == DensityRatio(folds=4).fit(X, X + 1, np.random.default_rng(0))(X)).all()


@pytest.mark.parametrize("score", [DensityRatio(1e-150, 1.0), DensityRatio(1.0, 1e-150), LowDensity(1e-150)])
def test_densities_beyond_float64_are_refused_with_their_row(score: NoveltyScore, rng: np.random.Generator) -> None:
    X = rng.normal(size=(12, 2))
    fitted = score.fit(X, X + 1, np.random.default_rng(0))
    assert np.isfinite(fitted(X)).all()
    with pytest.raises(InputError, match=r"^Z: row 1 is so far from the sample in units of the bandwidth"):
        fitted(np.array([[0.0, 0.0], [1e20, 1e20]]))


def test_a_ratio_of_equal_narrow_bandwidths_is_finite_where_its_densities_are_not() -> None:
    nominal, unlabelled = np.array([[0.0], [2.0]]), np.array([[0.0], [3.0]])
    b, z = Fraction(10) ** -100, Fraction(10) ** 90
    units = column_units(np.vstack([nominal, unlabelled]))
    score = DensityRatio(1e-100, 1e-100).fit(nominal, unlabelled, np.random.default_rng(0))
    # Far off only the nearest point of each sample counts, and the squares of z cancel.
    exact = ((z - 2) ** 2 - (z - 3) ** 2) / (2 * b**2 * Fraction(float(units[0])) ** 2)
    assert score(np.array([[1e90]]))[0] == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("library", ["own", "scikit-learn"])
@pytest.mark.parametrize("power", [0, 20, 30, 40])
def test_densities_keep_their_digits_far_from_the_origin(power, library):
    """Multiples of 2^-10 moved by a power of two are exact; the truth sums exponentials of exact fractions to 40 digits."""
    import mpmath

    rng, units, bandwidth = np.random.default_rng(0), np.array([1.3, 0.7]), 0.05
    X, Z = (np.round(rng.standard_normal((n, 2)) * s * 1024) / 1024 for n, s in ((40, 1.0), (12, 2.0)))
    away = 2.0**power * np.array([1.0, -1.0])
    with mpmath.workdps(40):
        width = [mpmath.mpf(bandwidth) * mpmath.mpf(u) for u in units.tolist()]
        truth = [
            mpmath.log(
                mpmath.fsum(
                    mpmath.exp(-sum(((mpmath.mpf(a) - c) / w) ** 2 for a, c, w in zip(z, x, width, strict=True)) / 2)
                    for x in X.tolist()
                )
                / (len(X) * 2 * mpmath.pi * width[0] * width[1])
            )
            for z in Z.tolist()
        ]
    found = KernelDensity(X + away, bandwidth, units, library).log_density(Z + away)
    np.testing.assert_allclose(found, np.array(truth, dtype=float), rtol=1e-12)
    # A sample in two places far from each other keeps the digits of the one that lies at the origin.
    both = KernelDensity(np.vstack([X + 2.0**50, X]), bandwidth, units, "own").log_density(Z)
    np.testing.assert_allclose(both, np.array(truth, dtype=float) - np.log(2), rtol=1e-12)


@pytest.mark.parametrize("score", [DensityRatio(), LowDensity()])
def test_scores_are_those_of_the_moved_points(score):
    rng = np.random.default_rng(3)
    X, U = (np.round(rng.standard_normal((40, 2)) * 1024) / 1024 + shift for shift in (0.0, 1.0))
    here = score.fit(X, U, np.random.default_rng(0))(U)
    there = score.fit(X + 2.0**40, U + 2.0**40, np.random.default_rng(0))(U + 2.0**40)
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("score", [DensityRatio(0.3, 0.4), LowDensity(0.3), ClassifierScore(LogisticRegression())])
def test_samples_and_new_points_are_matched_by_the_names_of_their_columns(score):
    rng = np.random.default_rng(1)
    X, U = (pd.DataFrame(rng.standard_normal((30, 2)) * [1, 3] + s, columns=["x", "y"]) for s in (0, 2))
    plain = score.fit(X.to_numpy(), U.to_numpy(), np.random.default_rng(0))(U.to_numpy())
    fitted = score.fit(X, U[["y", "x"]], np.random.default_rng(0))
    np.testing.assert_array_equal(fitted(U[["y", "x"]]), plain)
    np.testing.assert_array_equal(fitted(U.to_numpy()), plain)
    with pytest.raises(InputError, match="columns are matched by name with those of the sample"):
        fitted(U.rename(columns={"x": "z"}))
    density = KernelDensity(X, 0.3, np.ones(2))
    np.testing.assert_array_equal(density.log_density(U[["y", "x"]]), density.log_density(U.to_numpy()))
