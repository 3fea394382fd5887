"""Semi-supervised detection: tests of finite sets, the rate that is guaranteed, the hybrid, labels of the sample itself."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import datasets, derivation
from convexnovelty.algorithms.likelihood_ratio import likelihood_ratio_test
from convexnovelty.algorithms.roc import area_under_curve
from convexnovelty.errors import InputError
from convexnovelty.methods import semi_supervised as module
from convexnovelty.novelty_scores import DensityRatio

METHOD = module.METHOD


@pytest.fixture(scope="module")
def report() -> cn.Report:
    return cn.check("semi_supervised")


def test_every_step_holds_on_every_instance(report: cn.Report) -> None:
    assert report.passed, report.table()
    checked = {(row.source, row.target) for row in report.rows if row.verdict == "pass"}
    assert {(step.source_node, step.target_node) for step in METHOD.steps} <= checked
    assert len(list(METHOD.instances())) >= 3


@pytest.mark.parametrize(
    "name", ["likelihood_ratio", "price", "hybrid_ratio", "inductive", "roc_hull", "plug_in", "classifier", "p_values"]
)
def test_a_closed_form_that_is_wrong_by_one_per_cent_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = METHOD.nodes[name]
    names = list(inspect.signature(right.function).parameters)

    def wrong(**arguments: Any) -> Any:
        solution = right.function(**{k: v for k, v in arguments.items() if k in names})
        return dataclasses.replace(solution, objective=solution.objective * 1.01)

    monkeypatch.setitem(METHOD.nodes, name, dataclasses.replace(right, function=wrong))
    instances = {instance.name: instance for instance in METHOD.instances()}
    assert not cn.check(instances["no novelties" if name == "inductive" else "breast cancer"]).passed


def test_the_file_declares_what_it_must() -> None:
    derivation.method("semi_supervised").validate()


# -- tests of finite distributions -----------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=7).filter(
        lambda pairs: all(sum(column) > 0 for column in zip(*pairs, strict=True))
    ),
    st.sampled_from([0.0, 0.1, 0.4, 0.9]),
)
def test_program_and_closed_forms_agree_with_highs(pairs: list[tuple[int, int]], alpha: float) -> None:
    p0, px = (np.array(column, dtype=float) / sum(column) for column in zip(*pairs, strict=True))
    best = 1 + linprog(-px, A_ub=p0[None], b_ub=[alpha], bounds=(0, 1), method="highs").fun
    assert module.likelihood_ratio(p0, px, alpha).objective == pytest.approx(best, abs=1e-9)
    assert module.price(p0, px, alpha).objective == pytest.approx(best, abs=1e-9)
    assert module.neyman_pearson(p0, px, alpha).solve().objective == pytest.approx(best, abs=1e-7)


def test_no_deterministic_test_is_better_and_some_randomised_one_is_needed(rng: np.random.Generator) -> None:
    p0, px = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    best = module.likelihood_ratio(p0, px, 0.3).objective
    subsets = [np.array(f) for f in itertools.product([0.0, 1.0], repeat=6)]
    missed = [float(px @ (1 - f)) for f in subsets if p0 @ f <= 0.3]
    assert best < min(missed)


def test_a_change_of_the_rate_does_not_compile_again(rng: np.random.Generator) -> None:
    p0, px = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(9))
    scores = rng.normal(size=40), rng.normal(1, 1, size=40)
    for formulation, closed in (
        (module.neyman_pearson(p0, px, 0.1), lambda a: module.likelihood_ratio(p0, px, a)),
        (module.hybrid(p0, px, 0.1, 0.2), lambda a: module.hybrid_ratio(p0, px, a, 0.2)),
        (module.threshold_mixture(*scores, 0.1), lambda a: module.roc_hull(*scores, a)),
        (module.monotone_test(*scores, 0.1), lambda a: module.roc_hull(*scores, a)),
    ):
        assert formulation.kind == "LP"
        for alpha in (0.0, 0.05, 0.5):
            solved = formulation.set(false_positive_rate=alpha).solve().objective
            assert solved == pytest.approx(closed(alpha).objective, abs=1e-7)
        assert formulation.compilations == 1
        again = pickle.loads(pickle.dumps(formulation))
        assert again.solve().objective == pytest.approx(solved, abs=1e-9)
        with pytest.raises(InputError, match=r"^false_positive_rate:"):
            formulation.set(false_positive_rate=1.0)


def distributions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    counts = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=2, max_size=7))
    p0, p1 = np.array(counts, dtype=float).T + np.array([[0], [1e-3]])
    return p0 / p0.sum(), p1 / p1.sum()


@given(st.data(), st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([0.05, 0.3, 0.8]))
def test_theorem_1_the_two_problems_have_the_same_tests(data: st.DataObject, pi: float, alpha: float) -> None:
    p0, p1 = distributions(data.draw)
    px = (1 - pi) * p0 + pi * p1
    against_unlabelled, against_novel = (likelihood_ratio_test(p0, p, alpha) for p in (px, p1))
    assert float(p1 @ (1 - against_unlabelled.novel)) == pytest.approx(against_novel.false_negative_rate, abs=1e-9)
    # and what any other test loses is bounded
    f = np.array(data.draw(st.lists(st.floats(0, 1), min_size=p0.size, max_size=p0.size)))
    over = max(0.0, float(p0 @ f) - alpha)
    loss_x = float(px @ (1 - f)) - against_unlabelled.false_negative_rate
    loss_1 = float(p1 @ (1 - f)) - against_novel.false_negative_rate
    assert loss_1 <= (loss_x + (1 - pi) * over) / pi + 1e-9


@given(st.data(), st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([0.02, 0.3]), st.sampled_from([0.1, 0.6]))
def test_theorem_3_bounds_the_loss_of_any_test(data: st.DataObject, pi: float, share: float, alpha: float) -> None:
    p0, p1 = distributions(data.draw)
    p2 = np.full(p0.size, 1 / p0.size)
    mixed = (1 - share) * ((1 - pi) * p0 + pi * p1) + share * p2
    f = np.array(data.draw(st.lists(st.floats(0, 1), min_size=p0.size, max_size=p0.size)))

    def loss(p: np.ndarray) -> float:
        return float(p @ (1 - f)) - likelihood_ratio_test(p0, p, alpha).false_negative_rate

    over = max(0.0, float(p0 @ f) - alpha)
    if pi == 0:
        assert loss(p2) <= (loss(mixed) + (1 - share) * over) / share + 1e-9
    else:
        assert loss(p1) <= (loss(mixed) + (1 - pi) * (1 - share) * over + share) / (pi * (1 - share)) + 1e-9


def test_e_theorem_3_sign_in_the_printed_proof() -> None:
    """The proof prints that the mixture's loss is at least beta L_1 + (1 - beta); it is beta L_1 - (1 - beta)."""
    p0, p1, p2, pi, share, alpha = np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.5, 0.2, 0.5
    operative = pi * (1 - share) + share
    beta = pi * (1 - share) / operative
    f = likelihood_ratio_test(p0, p1, alpha).novel  # the best test, of the mixture too
    mixture = beta * p1 + (1 - beta) * p2
    loss = float(mixture @ (1 - f)) - likelihood_ratio_test(p0, mixture, alpha).false_negative_rate
    assert loss == pytest.approx(0.0)
    assert not loss >= 0.0 + (1 - beta)
    assert loss >= 0.0 - (1 - beta)


def test_e_theorem_2_false_positives_are_counted_on_the_nominal_sample(rng: np.random.Generator) -> None:
    """As printed the excess of R_0 is of the order epsilon_n, n the number of unlabelled points. With few nominal points
    and ever more unlabelled ones it stays where it is: the order is epsilon_m."""
    m, alpha, excess = 20, 0.1, []
    for n in (200, 20_000):
        worst = []
        for _ in range(60):
            nominal, unlabelled = rng.random(m), 0.5 + rng.random(n) / 2  # novel points are in the upper half
            best = max(
                (t for t in [*nominal, 1.0] if (nominal > t).mean() <= alpha), key=lambda t: (unlabelled > t).mean()
            )
            worst.append(1 - best - alpha)
        excess.append(float(np.quantile(worst, 0.9)))
    assert excess[1] > 0.05 and excess[1] > excess[0] / 2  # where epsilon_n fell to a tenth


def test_reduction_needs_novelties_but_not_their_share(rng: np.random.Generator) -> None:
    p0, p1 = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
    tests = [likelihood_ratio_test(p0, (1 - pi) * p0 + pi * p1, 0.2).novel for pi in (0.01, 0.2, 0.9)]
    assert tests[0] == pytest.approx(tests[1]) and tests[1] == pytest.approx(tests[2])
    share, p2 = 0.2, np.full(8, 1 / 8)
    without = module.hybrid_ratio(p0, p0, 0.2, share)
    assert without.values["f"] == pytest.approx(likelihood_ratio_test(p0, p2, 0.2).novel)
    assert module.inductive(p0, 0.2).values["f"] == pytest.approx(without.values["f"])


# -- thresholds of a score -------------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=15),
    st.lists(st.integers(0, 5), min_size=1, max_size=15),
    st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.99]),
)
def test_hull_is_the_best_pair_of_thresholds(nominal: list[int], unlabelled: list[int], alpha: float) -> None:
    cuts = [-1, *sorted({*nominal, *unlabelled})]
    rates = [(float(np.mean([s > t for s in nominal])), float(np.mean([s <= t for s in unlabelled]))) for t in cuts]
    best = 1.0
    for (x1, y1), (x2, y2) in itertools.product(rates, repeat=2):
        if x1 <= alpha <= x2 and x2 > x1:
            best = min(best, y1 + (y2 - y1) * (alpha - x1) / (x2 - x1))
        if x1 <= alpha + 1e-12:
            best = min(best, y1)
    solution = module.roc_hull(nominal, unlabelled, alpha)
    assert solution.objective == pytest.approx(best, abs=1e-9)
    assert np.count_nonzero(solution.values["w"]) <= 2 and solution.values["w"].sum() == pytest.approx(1)


# -- the detector ----------------------------------------------------------------------------------------------------------


def cloud(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(size=(size, 2))


def bump(rng: np.random.Generator, size: int) -> np.ndarray:
    """Novelties inside the nominal cloud."""
    return rng.normal(0.0, 0.12, size=(size, 2)) + np.array([0.5, 0.0])


@pytest.mark.parametrize(
    "score",
    [None, DensityRatio(0.4, 0.2), "low_density", LogisticRegression(), SVC(), RandomForestClassifier(10)],
    ids=["ratio", "fixed", "low", "logistic", "svc", "forest"],
)
def test_rate_of_false_positives_is_the_guarantee(score: Any, rng: np.random.Generator) -> None:
    repeats, size, alpha = (20 if score is None else 60), 39, 0.15
    rates = []
    for seed in range(repeats):
        unlabelled = np.vstack([cloud(rng, 40), bump(rng, 20)])
        detector = cn.semi_supervised(cloud(rng, 2 * size), unlabelled, alpha, score=score, random_state=seed)
        assert detector.guarantee.bound == 6 / 40 and detector.calibration.size == size
        rates.append(float(detector.novel(cloud(rng, 500)).mean()))
    noise = 4 * math.sqrt(alpha * (1 - alpha) / size / repeats)
    assert np.mean(rates) <= alpha + noise
    if not isinstance(score, RandomForestClassifier):  # whose scores tie, and then fewer are called novel
        assert np.mean(rates) >= alpha - noise


def test_rate_with_a_confidence_holds_for_the_threshold(rng: np.random.Generator) -> None:
    failed = []
    for seed in range(120):
        data = cloud(rng, 150), np.vstack([cloud(rng, 20), bump(rng, 10)])
        detector = cn.semi_supervised(*data, 0.1, confidence=0.8, score=DensityRatio(0.4, 0.3), random_state=seed)
        failed.append(detector.novel(cloud(rng, 3000)).mean() > 0.1)
    assert 0.05 < np.mean(failed) <= 0.2 + 0.07
    assert "confidence 0.8" in detector.guarantee and detector.guarantee.bound == 0.1


def test_novelties_in_the_nominal_bulk_are_found(rng: np.random.Generator) -> None:
    nominal, unlabelled = cloud(rng, 500), np.vstack([cloud(rng, 250), bump(rng, 150)])
    new = cloud(rng, 400), bump(rng, 400)
    ratio = cn.semi_supervised(nominal, unlabelled, 0.1)
    low = cn.semi_supervised(nominal, unlabelled, 0.1, score="low_density")
    assert ratio.novel(new[1]).mean() > 0.7 > 0.2 > low.novel(new[1]).mean()
    assert area_under_curve(ratio.scores(new[0]), ratio.scores(new[1])) > 0.9


def test_region_and_scores_say_the_same(rng: np.random.Generator) -> None:
    detector = cn.semi_supervised(cloud(rng, 100), np.vstack([cloud(rng, 50), bump(rng, 30)]), 0.1)
    new = np.vstack([cloud(rng, 50), bump(rng, 50)])
    assert detector.region.decision_values(new) == pytest.approx(detector.threshold - detector.scores(new))
    assert (detector.region.contains(new) == ~detector.novel(new)).all()
    assert detector.region.level == -detector.threshold


def test_the_same_seed_gives_the_same_detector(rng: np.random.Generator) -> None:
    data = cloud(rng, 60), np.vstack([cloud(rng, 30), bump(rng, 30)])
    for score in (None, RandomForestClassifier(5)):
        first, second, third, other = (
            cn.semi_supervised(*data, 0.1, score=score, uniform_share=0.1, random_state=seed)
            for seed in (3, 3, np.random.default_rng(3), 4)
        )
        assert first.threshold == second.threshold == third.threshold != other.threshold
        assert (first.labels == second.labels).all() and (first.p_values == third.p_values).all()
        again = pickle.loads(pickle.dumps(first))
        assert again.threshold == first.threshold and (again.labels == first.labels).all()
    # Labels may be asked for before or after other things.
    late = cn.semi_supervised(*data, 0.1)
    late.novel(data[1])
    assert (late.labels == cn.semi_supervised(*data, 0.1).labels).all()


@pytest.mark.parametrize("units", [1e-8, 1e-4, 1e4, 1e8])
def test_units_of_columns_do_not_matter(units: float) -> None:
    data = datasets.ring(n=80)
    expected = cn.semi_supervised(data.nominal, data.test_points, 0.1)
    scale = np.array([units, 1 / units])
    found = cn.semi_supervised(data.nominal * scale, data.test_points * scale, 0.1)
    assert found.threshold == pytest.approx(expected.threshold, abs=1e-8)
    assert (found.novel(data.novel * scale) == expected.novel(data.novel)).all()


def test_held_out_points_can_be_given(rng: np.random.Generator) -> None:
    nominal, held, unlabelled = cloud(rng, 40), cloud(rng, 25), cloud(rng, 30)
    detector = cn.semi_supervised(nominal, unlabelled, 0.2, held_out=held)
    assert detector.calibration.size == 25
    assert (np.sort(detector.scores(held)) == detector.calibration.scores).all()


def test_plug_in_classifier_is_a_classifier_of_scikit_learn(rng: np.random.Generator) -> None:
    from sklearn.base import clone

    estimator = clone(module.PlugInClassifier(0.3, 0.4)).set_params(nominal_bandwidth=0.2)
    assert estimator.get_params() == {"nominal_bandwidth": 0.2, "unlabelled_bandwidth": 0.4}
    nominal, unlabelled = cloud(rng, 40), bump(rng, 80)
    odds = estimator.fit(np.vstack([nominal, unlabelled]), np.repeat([0, 1], [40, 80])).decision_function(nominal)
    ratio = DensityRatio(0.2, 0.4).fit(nominal, unlabelled, rng)
    assert odds == pytest.approx(ratio(nominal) + math.log(2))


def test_ties_at_the_threshold_are_ordinary() -> None:
    rows = np.repeat([[0.0], [1.0]], [30, 10], axis=0)
    detector = cn.semi_supervised(rows, np.repeat([[0.0], [1.0]], 20, axis=0), 0.3, score=DensityRatio(0.3, 0.3))
    assert detector.novel([[0.0], [1.0]]).tolist() in ([False, False], [False, True])
    assert detector.calibration.novel(detector.calibration.scores).mean() <= 0.3
    equal = cn.semi_supervised(np.ones((12, 2)), np.ones((9, 2)), 0.4)
    assert not equal.novel(np.ones((3, 2))).any() and not equal.labels.any()


# -- the hybrid ------------------------------------------------------------------------------------------------------------


def test_without_novelties_the_hybrid_falls_back_on_low_density() -> None:
    """There is nothing to learn from the unlabelled sample, and the reduction may call far points ordinary."""
    areas: dict[str, list[float]] = {"reduction": [], "hybrid": [], "inductive": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        nominal, unlabelled, ordinary = (cloud(rng, 300) for _ in range(3))
        far = rng.uniform(-3.5, 3.5, size=(300, 2))
        for name, options in (
            ("reduction", {}),
            ("hybrid", {"uniform_share": 0.25}),
            ("inductive", {"score": "low_density"}),
        ):
            detector = cn.semi_supervised(nominal, unlabelled, 0.1, **options)
            areas[name].append(area_under_curve(detector.scores(ordinary), detector.scores(far)))
    means = {name: float(np.mean(found)) for name, found in areas.items()}
    assert means["hybrid"] > means["inductive"] - 0.05
    assert means["hybrid"] > means["reduction"] + 0.1


def test_with_novelties_a_few_uniform_points_do_little_harm(rng: np.random.Generator) -> None:
    nominal, unlabelled = cloud(rng, 300), np.vstack([cloud(rng, 200), bump(rng, 150)])
    new = cloud(rng, 300), bump(rng, 300)
    for share, replace in ((0.0, False), (0.1, False), (0.1, True)):
        detector = cn.semi_supervised(nominal, unlabelled, 0.1, uniform_share=share, replace=replace)
        assert area_under_curve(detector.scores(new[0]), detector.scores(new[1])) > 0.85


def test_shares_of_uniform_points(rng: np.random.Generator) -> None:
    nominal, unlabelled = cloud(rng, 50), np.full((400, 2), 77.0)
    shares = {True: [], False: []}
    for replace in (True, False):
        for _ in range(50):
            mixed = module.with_uniform(nominal, unlabelled, 0.2, replace, rng)
            kept = (mixed == 77.0).all(axis=1)
            assert len(mixed) == 400 if replace else int(kept.sum()) == 400
            assert (np.abs(mixed[~kept]) < 6).all()
            shares[replace].append(float((~kept).mean()))
        assert np.mean(shares[replace]) == pytest.approx(0.2, abs=0.01)
    assert module.with_uniform(nominal, unlabelled, 0.0, False, rng) is unlabelled


# -- labels of the sample itself -------------------------------------------------------------------------------------------


def test_labels_keep_the_rate_where_the_detector_of_the_whole_sample_does_not(rng: np.random.Generator) -> None:
    """A narrow bandwidth makes every point of the unlabelled sample look novel to the density that it is part of."""
    alpha, own, crossed = 0.2, [], []
    for seed in range(40):
        unlabelled = cloud(rng, 60)
        detector = cn.semi_supervised(
            cloud(rng, 78), unlabelled, alpha, score=DensityRatio(0.5, 0.15), random_state=seed
        )
        own.append(float(detector.novel(unlabelled).mean()))
        crossed.append(float(detector.labels.mean()))
        assert (detector.labels == (detector.p_values <= alpha * (1 + 1e-12))).all()
    assert np.mean(own) > 2 * alpha
    assert np.mean(crossed) == pytest.approx(alpha, abs=0.05)


def test_labels_find_the_novelties_of_the_sample(rng: np.random.Generator) -> None:
    unlabelled = np.vstack([cloud(rng, 250), bump(rng, 120)])
    detector = cn.semi_supervised(cloud(rng, 400), unlabelled, 0.1)
    assert detector.labels.shape == detector.p_values.shape == (370,)
    assert detector.labels[250:].mean() > 0.6 > 0.2 > detector.labels[:250].mean()
    assert detector.p_values.min() >= 1 / 201


def test_two_unlabelled_points_can_be_labelled_and_one_cannot(rng: np.random.Generator) -> None:
    assert cn.semi_supervised(cloud(rng, 30), cloud(rng, 2), 0.2).labels.shape == (2,)
    alone = cn.semi_supervised(cloud(rng, 30), cloud(rng, 1), 0.2)
    assert alone.novel(cloud(rng, 4)).shape == (4,)
    with pytest.raises(InputError, match=r"^unlabelled: 1 point"):
        _ = alone.labels


# -- real, small and bad input -----------------------------------------------------------------------------------------------


def test_malignant_cases_are_found_among_unlabelled_ones() -> None:
    data = datasets.breast_cancer()
    unlabelled = np.vstack([data.nominal[200:300], data.novel[:80]])
    detector = cn.semi_supervised(data.nominal[:200], unlabelled, 0.1)
    assert detector.novel(data.novel[80:]).mean() > 0.8
    assert detector.novel(data.nominal[300:]).mean() < 0.25
    assert detector.labels[100:].mean() > 0.8


@pytest.mark.parametrize("make", [datasets.duplicates, datasets.wide, datasets.badly_scaled], ids=lambda f: f.__name__)
def test_degenerate_data(make: Callable[..., datasets.Dataset]) -> None:
    data = make()
    detector = cn.semi_supervised(data.nominal, data.test_points, 0.3, uniform_share=0.1)
    assert np.isfinite(detector.scores(data.test_points)).all()
    assert detector.labels.shape == (len(data.test_points),)


NOMINAL, UNLABELLED = np.arange(40.0).reshape(20, 2), np.arange(20.0).reshape(10, 2)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([], UNLABELLED), "nominal"),
        ((NOMINAL[:1], UNLABELLED), "nominal"),
        ((NOMINAL[:, 0], UNLABELLED), "nominal"),
        ((NOMINAL, UNLABELLED[:, :1]), "unlabelled"),
        ((NOMINAL, UNLABELLED[:0]), "unlabelled"),
        ((np.where(NOMINAL == 3, np.nan, NOMINAL), UNLABELLED), "nominal"),
        ((NOMINAL, np.where(UNLABELLED == 3, np.inf, UNLABELLED)), "unlabelled"),
        ((NOMINAL.astype(str), UNLABELLED), "nominal"),
        ((NOMINAL, UNLABELLED, 0.0), "false_positive_rate"),
        ((NOMINAL, UNLABELLED, 1.0), "false_positive_rate"),
        ((NOMINAL, UNLABELLED, float("nan")), "false_positive_rate"),
        ((NOMINAL, UNLABELLED, 0.05), "false_positive_rate"),  # ten held-out points keep no such rate
        ((NOMINAL, UNLABELLED, 0.2, {"confidence": 0.99}), "false_positive_rate"),
        ((NOMINAL, UNLABELLED, 0.2, {"confidence": 1.0}), "confidence"),
        ((NOMINAL, UNLABELLED, 0.2, {"score": "svm"}), "score"),
        ((NOMINAL, UNLABELLED, 0.2, {"uniform_share": 1.0}), "uniform_share"),
        ((NOMINAL, UNLABELLED, 0.2, {"uniform_share": -0.1}), "uniform_share"),
        ((NOMINAL, UNLABELLED, 0.2, {"held_out": 0.0}), "held_out"),
        ((NOMINAL, UNLABELLED, 0.2, {"held_out": 1.5}), "held_out"),
        ((NOMINAL, UNLABELLED, 0.2, {"held_out": np.ones((9, 3))}), "held_out"),
        ((NOMINAL, UNLABELLED, 0.2, {"folds": 1}), "folds"),
        ((NOMINAL, UNLABELLED, 0.2, {"random_state": "x"}), "random_state"),
    ],
)
def test_bad_input_is_named(arguments: tuple[Any, ...], named: str) -> None:
    options = arguments[-1] if isinstance(arguments[-1], dict) else {}
    with pytest.raises(InputError, match=rf"^{named}:"):
        cn.semi_supervised(*(a for a in arguments if not isinstance(a, dict)), **options)


def test_too_few_held_out_points_are_told_how_many_would_do() -> None:
    with pytest.raises(InputError, match="at least 19 of them"):
        cn.semi_supervised(NOMINAL, UNLABELLED, 0.05)
    with pytest.raises(InputError, match="at least 21 of them"):
        cn.semi_supervised(NOMINAL, UNLABELLED, 0.2, confidence=0.99)


def test_new_points_with_other_columns_are_refused() -> None:
    for score in (None, LogisticRegression()):
        detector = cn.semi_supervised(NOMINAL, UNLABELLED, 0.2, score=score)
        with pytest.raises(InputError, match=r"^Z:"):
            detector.novel(NOMINAL[:, :1])


def test_input_is_left_alone_and_may_be_read_only() -> None:
    nominal, unlabelled = NOMINAL.astype(int), UNLABELLED.copy()
    for array in (nominal, unlabelled):
        array.setflags(write=False)
    assert cn.semi_supervised(nominal, unlabelled.tolist(), 0.2).labels.shape == (10,)
