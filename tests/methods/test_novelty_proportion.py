"""The bound on the share of novelties: exact values, brute force, coverage, tests by inversion, errata, bad input."""

from __future__ import annotations

import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import convexnovelty as cn
from convexnovelty import derivation
from convexnovelty.deviations import DKW, VC, Allots, ExactBinomial, FiniteClass, GrowingClasses
from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.evidence import ThresholdClassifier, evidence
from convexnovelty.false_positives import Calibration
from convexnovelty.methods import novelty_proportion as module

METHOD = module.METHOD
SCORES = st.lists(st.integers(-2, 3), min_size=1, max_size=25)


@pytest.fixture(scope="module")
def report() -> cn.Report:
    return cn.check("novelty_proportion")


def test_every_step_holds_on_every_instance(report: cn.Report) -> None:
    assert report.passed, report.table()
    checked = {(row.source, row.target) for row in report.rows if row.verdict == "pass"}
    assert {(step.source_node, step.target_node) for step in METHOD.steps} <= checked
    assert {row.source for row in report.rows if row.verdict == "not checked"} == {"growing_classes"}
    assert len(list(METHOD.instances())) >= 3


@pytest.mark.parametrize(
    "name", ["roc_maximum", "tangent", "dinkelbach", "smallest_ratio", "slope_at_one", "growing_classes"]
)
def test_a_closed_form_that_is_wrong_by_one_per_cent_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = METHOD.nodes[name]

    def wrong(**arguments: Any) -> Any:
        solution = right.function(**{k: v for k, v in arguments.items() if k in names})
        return dataclasses.replace(solution, objective=solution.objective * 1.01)

    names = list(inspect.signature(right.function).parameters)
    monkeypatch.setitem(METHOD.nodes, name, dataclasses.replace(right, function=wrong))
    instances = {instance.name: instance for instance in METHOD.instances()}
    assert not cn.check(
        instances["growing classes" if name == "growing_classes" else "breast cancer, mean radius"]
    ).passed


# -- exact values ------------------------------------------------------------------------------------------------------


def test_b43_no_positive_denominator_is_vacuous_and_not_above_one() -> None:
    found = cn.novelty_proportion([0, 0, 1, 1], [0, 0, 1, 1], confidence=0.95, deviation=DKW())
    assert found.lower_bound == 0.0 and found.vacuous
    assert found.supremum < 0  # of the classifier that calls nothing novel
    found = cn.novelty_proportion([0, 0, 1, 1], [0, 0, 1, 1], confidence=0.95, deviation=DKW(), thresholds=[0.5])
    assert found.lower_bound == 0.0 and found.vacuous
    assert found.supremum == -math.inf and found.classifier is None
    margin = math.sqrt(math.log(40) / 8)
    assert (1 - 0.5 - 0.5 - 2 * margin) / (1 - 0.5 - margin) == pytest.approx(
        7.585, abs=5e-4
    )  # without the positive part
    with pytest.raises(InfeasibleError, match="every classifier is discarded"):
        found.formulation.solve()


def test_b43_two_thousand_points() -> None:
    nominal, unlabelled = np.repeat([0, 1], [1900, 100]), np.repeat([0, 1], [1000, 1000])
    found = cn.novelty_proportion(nominal, unlabelled)
    margin = math.sqrt(math.log(40) / 4000)
    assert found.lower_bound == pytest.approx((0.5 - 0.05 - 2 * margin) / (1 - 0.05 - margin), abs=1e-15)
    assert found.lower_bound == pytest.approx(0.42328223, abs=5e-9)
    assert found.formulation.solve().objective == pytest.approx(0.42328223, abs=1e-8)
    assert not found.vacuous
    assert found.classifier is not None
    assert found.classifier(nominal).mean() == 0.05 and found.classifier(unlabelled).mean() == 0.5


@given(SCORES, SCORES, st.sampled_from([DKW(), ExactBinomial(), VC(1), FiniteClass()]), st.floats(1e-6, 1 - 1e-6))
def test_b43_the_bound_is_a_share_and_zero_for_equal_samples(
    nominal: list[int], unlabelled: list[int], deviation: Allots, confidence: float
) -> None:
    found = cn.novelty_proportion(nominal, unlabelled, confidence, deviation)
    assert 0.0 <= found.lower_bound <= 1.0
    assert found.vacuous == (found.lower_bound == 0.0)
    assert cn.novelty_proportion(nominal, nominal, confidence, deviation).vacuous


def by_hand(nominal: list[int], unlabelled: list[int], confidence: float) -> float:
    """Theorem 5 in a double loop, every threshold between or at scores, rates as fractions."""
    d = (1 - confidence) / 2
    m, n = len(nominal), len(unlabelled)
    eps_m, eps_n = (math.sqrt(math.log(1 / d) / (2 * k)) for k in (m, n))
    best = -math.inf
    values = sorted({*nominal, *unlabelled})
    for cut in [values[0] - 1, *values, *(v + Fraction(1, 2) for v in values)]:
        rate = Fraction(sum(s > cut for s in nominal), m)
        missed = Fraction(sum(s <= cut for s in unlabelled), n)
        denominator = float(1 - rate) - eps_m
        if denominator > 1e-12:
            best = max(best, (float(1 - missed - rate) - (eps_n + eps_m)) / denominator)
    return best


@given(SCORES, SCORES, st.sampled_from([1e-6, 0.3, 0.9, 0.999]))
def test_ties_are_counted_as_they_are(nominal: list[int], unlabelled: list[int], confidence: float) -> None:
    expected = by_hand(nominal, unlabelled, confidence)
    found = cn.novelty_proportion(nominal, unlabelled, confidence).supremum
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12) or found == expected


@settings(max_examples=25)
@given(
    st.lists(st.integers(-2, 3), min_size=15, max_size=60),
    st.lists(st.integers(0, 4), min_size=15, max_size=60),
    st.sampled_from([DKW(), ExactBinomial(), FiniteClass()]),
    st.sampled_from([0.1, 0.8, 0.99]),
)
def test_programs_equal_the_maximum_over_roc_points(
    nominal: list[int], unlabelled: list[int], deviation: Allots, confidence: float
) -> None:
    found = cn.novelty_proportion(nominal, unlabelled, confidence, deviation)
    if found.classifier is None:
        return
    scale = max(abs(found.supremum), 1e-3)
    assert found.formulation.solve().objective == pytest.approx(found.supremum, abs=1e-6 * scale)
    dual = module.smallest_proportion(nominal, unlabelled, confidence, deviation).solve()
    assert dual.objective == pytest.approx(found.supremum, abs=1e-6 * scale)


def test_program_agrees_with_another_solver_and_with_mixtures(rng: np.random.Generator) -> None:
    nominal, unlabelled = rng.normal(size=150), np.concatenate([rng.normal(size=70), rng.normal(2, 1, size=80)])
    found = cn.novelty_proportion(nominal, unlabelled, 0.9)
    numerators, denominators = found.evidence.fractions(0.1)
    kept = denominators > 0
    highs = linprog(-numerators[kept], A_eq=denominators[kept][None], b_eq=[1.0], method="highs")
    assert found.supremum == pytest.approx(-highs.fun, abs=1e-9)
    for _ in range(200):
        w = rng.dirichlet(np.full(int(kept.sum()), 0.05))
        assert w @ numerators[kept] / (w @ denominators[kept]) <= found.supremum + 1e-12


def test_a_mixture_that_solvers_return_is_the_best_classifier(rng: np.random.Generator) -> None:
    nominal, unlabelled = rng.normal(size=150), np.concatenate([rng.normal(size=70), rng.normal(2, 1, size=80)])
    found = cn.novelty_proportion(nominal, unlabelled, 0.9)
    solution = found.formulation.solve()
    assert found.classifier is not None
    assert -solution.region.offset == found.classifier.threshold
    assert (solution.region.contains(nominal[:, None]) == ~found.classifier(nominal)).all()
    assert solution.guarantee.bound == pytest.approx(found.lower_bound, abs=1e-8)


# -- directions, units, order ------------------------------------------------------------------------------------------


@pytest.fixture
def samples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=300), np.concatenate([rng.normal(size=200), rng.normal(2.5, 1, size=160)])


def test_only_the_order_of_scores_counts(samples: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> None:
    nominal, unlabelled = samples
    expected = cn.novelty_proportion(nominal, unlabelled)
    assert expected.lower_bound > 0.1 and expected.classifier is not None
    for unit in (1e-300, 1e-8, 1e8, 1e300):
        found = cn.novelty_proportion(rng.permutation(nominal) * unit, rng.permutation(unlabelled) * unit)
        assert found.lower_bound == expected.lower_bound
        assert found.classifier is not None and found.classifier.threshold == expected.classifier.threshold * unit
    assert cn.novelty_proportion(np.exp(nominal), np.exp(unlabelled)).lower_bound == expected.lower_bound


def test_low_scores_can_be_the_novel_ones(samples: tuple[np.ndarray, np.ndarray]) -> None:
    nominal, unlabelled = samples
    high = cn.novelty_proportion(nominal, unlabelled)
    low = cn.novelty_proportion(-nominal, -unlabelled, novel="low")
    assert low.lower_bound == high.lower_bound
    assert low.classifier is not None and high.classifier is not None
    assert low.classifier.threshold == -high.classifier.threshold
    assert (low.classifier(-unlabelled) == high.classifier(unlabelled)).all()
    assert cn.novelty_proportion(-nominal, -unlabelled).vacuous
    region = low.formulation.solve().region
    assert (region.contains(-unlabelled[:, None]) == ~low.classifier(-unlabelled)).all()


def test_an_unknown_direction_costs_half_of_the_error(samples: tuple[np.ndarray, np.ndarray]) -> None:
    nominal, unlabelled = samples
    for sign in (1, -1):
        either = cn.novelty_proportion(sign * nominal, sign * unlabelled, 0.9, novel="either")
        assert either.lower_bound == pytest.approx(cn.novelty_proportion(nominal, unlabelled, 0.95).lower_bound)
        assert either.classifier is not None and either.classifier.novel == ("high" if sign > 0 else "low")


def test_equal_bounds_go_to_the_classifier_with_fewest_alarms() -> None:
    found = cn.novelty_proportion(np.zeros(500), np.repeat([0.0, 1.0, 2.0], [100, 0, 400]))
    assert found.classifier is not None and found.classifier.threshold == 0.0
    assert found.classifier([0.0, 0.5]).tolist() == [False, True]


def test_results_are_the_same_each_time(samples: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = (cn.novelty_proportion(*samples) for _ in range(2))
    assert (first.lower_bound, first.p_value) == (second.lower_bound, second.p_value)
    assert first.formulation.solve().objective == second.formulation.solve().objective


# -- the guarantee -----------------------------------------------------------------------------------------------------


def draw(rng: np.random.Generator, proportion: float, size: int, shift: float, ties: bool) -> tuple[Any, Any]:
    nominal = rng.normal(size=size)
    novel = rng.random(size) < proportion
    unlabelled = np.where(novel, rng.normal(shift, 0.5, size=size), rng.normal(size=size))
    return (np.round(nominal, 1), np.round(unlabelled, 1)) if ties else (nominal, unlabelled)


@pytest.mark.parametrize("proportion", [0.0, 0.05, 0.3])
@pytest.mark.parametrize(
    ("deviation", "thresholds", "ties"),
    [
        (DKW(), None, False),
        (DKW(), None, True),
        (ExactBinomial(), None, False),
        (ExactBinomial(), None, True),
        (ExactBinomial(), [1.0, 2.0, 3.0], True),
        (FiniteClass(5), [1.0, 2.0, 3.0], False),
        (VC(1), None, False),
    ],
    ids=["dkw", "dkw, ties", "ranks", "ranks, ties", "binomial", "finite", "vc"],
)
def test_the_bound_holds_in_the_stated_share_of_400_draws(
    proportion: float, deviation: Allots, thresholds: Any, ties: bool, rng: np.random.Generator
) -> None:
    for confidence in (0.5, 0.95):
        bounds = [
            cn.novelty_proportion(*draw(rng, proportion, 400, 4.0, ties), confidence, deviation, thresholds=thresholds)
            for _ in range(400)
        ]
        assert np.mean([b.lower_bound <= proportion for b in bounds]) >= confidence
        if proportion == 0.3 and not isinstance(deviation, VC):
            assert np.mean([b.lower_bound for b in bounds]) > 0.12  # it says something


def test_the_bound_is_tight_where_the_nominal_rate_is_known(rng: np.random.Generator) -> None:
    """Novelties that never look nominal, and nominal points that never look novel: only the half of the error that
    goes to the nominal sample is given away, and the steps of the binomial law."""
    confidence, proportion, size = 0.6, 0.3, 2000
    counts = rng.binomial(size, proportion, size=400)
    seen = [
        cn.novelty_proportion(
            np.zeros(10**5), np.repeat([0, 1], [size - c, c]), confidence, ExactBinomial(1), thresholds=[0.5]
        )
        for c in counts
    ]
    failed = float(np.mean([b.lower_bound > proportion for b in seen]))
    assert 0.12 < failed < 0.28  # delta / 2 = 0.2


def test_b43_and_errata_the_error_is_halved() -> None:
    """E, theorem 5: as printed each of the two deviation bounds is taken at delta, not at delta / 2."""
    nominal, unlabelled = np.repeat([0, 1], [1900, 100]), np.repeat([0, 1], [1000, 1000])
    printed_margin = math.sqrt(math.log(20) / 4000)
    printed = (0.45 - 2 * printed_margin) / (0.95 - printed_margin)
    found = cn.novelty_proportion(nominal, unlabelled, 0.95).lower_bound
    assert found < printed
    assert cn.novelty_proportion(nominal, unlabelled, 0.9).lower_bound == pytest.approx(printed, abs=1e-15)


def test_held_out_scores_of_a_learnt_density_ratio(rng: np.random.Generator) -> None:
    from convexnovelty.novelty_scores import held_out_scores

    nominal = rng.normal(size=(800, 2))
    unlabelled = np.vstack([rng.normal(size=(500, 2)), rng.normal(0.0, 0.1, size=(300, 2))])  # inside the nominal bulk
    found = cn.novelty_proportion(*held_out_scores(nominal, unlabelled, random_state=1), confidence=0.9)
    assert 0.1 < found.lower_bound <= 300 / 800


def test_e_theorem_6_growing_classes_cover_and_converge() -> None:
    rng = np.random.default_rng(8)
    classes = GrowingClasses([VC.of_polynomials(1, degree) for degree in (1, 2)])
    bounds = []
    for size in (2_000, 20_000, 200_000, 2_000_000):
        nominal = np.round(rng.normal(size=size), 1)
        unlabelled = np.round(
            np.where(rng.random(size) < 0.3, 3.0 * rng.choice([-1, 1], size=size), rng.normal(size=size)), 1
        )
        # Half-lines and sets on which a parabola is positive: the second class finds novelties on both sides.
        scores = [np.column_stack([s, s**2]) for s in (nominal, unlabelled)]
        found = cn.novelty_proportion(*scores, confidence=0.9, deviation=classes)
        assert found.lower_bound <= 0.3
        bounds.append(found.lower_bound)
    assert bounds == sorted(bounds) and bounds[-1] > 0.26
    assert found.classifier is not None and found.classifier.column == 1
    assert found.evidence.columns == 2


# -- tests by inversion ------------------------------------------------------------------------------------------------


def dkw_p_value(nominal: np.ndarray, unlabelled: np.ndarray, proportion: float) -> float:
    """In closed form: the margins are c / sqrt(n) and c / sqrt(m) with c = sqrt(ln(2 / delta) / 2)."""
    best = 0.0
    for t in np.concatenate([nominal, unlabelled]):
        gap = (unlabelled > t).mean() - (1 - proportion) * (nominal > t).mean() - proportion
        best = max(best, gap / (1 / math.sqrt(unlabelled.size) + (1 - proportion) / math.sqrt(nominal.size)))
    return min(1.0, 2 * math.exp(-2 * best**2))


@pytest.mark.parametrize("proportion", [0.0, 0.1, 0.25, 0.9])
def test_p_values_of_dkw_have_a_closed_form(samples: tuple[np.ndarray, np.ndarray], proportion: float) -> None:
    found = cn.novelty_proportion(*samples)
    assert found.p_value_for(proportion) == pytest.approx(dkw_p_value(*samples, proportion), rel=1e-9)
    assert found.p_value == found.p_value_for(0.0)


@pytest.mark.parametrize("deviation", [DKW(), ExactBinomial(), FiniteClass(), VC(1)], ids=str)
def test_rejection_at_delta_is_a_bound_above_the_hypothesis(deviation: Allots, rng: np.random.Generator) -> None:
    nominal, unlabelled = draw(rng, 0.4, 1500, 3.0, False)
    found = cn.novelty_proportion(nominal, unlabelled, 0.95, deviation)
    hypotheses = np.linspace(0, 0.5, 11)
    p_values = [found.p_value_for(float(p)) for p in hypotheses]
    assert p_values == sorted(p_values)  # a larger share is harder to refute
    for proportion, p in zip(hypotheses, p_values, strict=True):
        for delta in (1e-6, 0.01, 0.3, 0.9):
            bound = cn.novelty_proportion(nominal, unlabelled, 1 - delta, deviation).lower_bound
            assert (bound > proportion) == (p < delta)


def test_p_values_of_no_novelties_are_at_least_uniform(rng: np.random.Generator) -> None:
    p_values = np.array([cn.novelty_proportion(*draw(rng, 0.0, 60, 0.0, False)).p_value for _ in range(400)])
    for level in (0.05, 0.2, 0.5, 0.9):
        assert (p_values <= level).mean() <= level
    assert p_values.max() <= 1.0


def test_p_values_of_a_true_share_are_at_least_uniform(rng: np.random.Generator) -> None:
    found = [cn.novelty_proportion(*draw(rng, 0.3, 200, 4.0, False), deviation=ExactBinomial()) for _ in range(150)]
    p_values = np.array([f.p_value_for(0.3) for f in found])
    assert all((p_values <= level).mean() <= level for level in (0.05, 0.2, 0.5, 0.9))
    assert np.median([f.p_value for f in found]) < 1e-6


def test_p_values_reach_down_to_the_smallest_numbers() -> None:
    found = cn.novelty_proportion(np.zeros(10**6), np.ones(10**6))
    assert found.p_value == pytest.approx(1e-300, rel=1e-6)
    assert cn.novelty_proportion([0.0], [0.0]).p_value == 1.0


# -- theorem 4 ---------------------------------------------------------------------------------------------------------


def test_known_mixture_gives_its_share_back(rng: np.random.Generator) -> None:
    for share in (0.01, 0.3, 0.8):
        p0, p1 = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
        p1[2] = 0.0  # the support of P_1 does not contain that of P_0
        px = (1 - share) * p0 + share * p1 / p1.sum()
        assert module.smallest_ratio(p0, px).objective == pytest.approx(share, abs=1e-12)
        assert module.slope_at_one(p0, px).objective == pytest.approx(share, abs=1e-9)
        solution = module.decomposition(p0, px).solve()
        assert solution.values["pi"] == pytest.approx(share, abs=1e-8)
        assert solution.values["Q"] == pytest.approx(share * p1 / p1.sum(), abs=1e-8)
        assert module.best_test(p0, px).solve().objective == pytest.approx(share, abs=1e-7)


def test_every_rate_bounds_the_share_and_rates_near_one_attain_it(rng: np.random.Generator) -> None:
    from convexnovelty.algorithms.likelihood_ratio import likelihood_ratio_test

    p0, px = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    share = module.smallest_ratio(p0, px).objective
    rates = np.linspace(0, 0.9999, 50)
    bounds = np.array([1 - likelihood_ratio_test(p0, px, float(a)).false_negative_rate / (1 - a) for a in rates])
    assert (bounds <= share + 1e-9).all() and (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] == pytest.approx(share, abs=1e-9)
    # Inequality 4 for any randomised test at all.
    for f in rng.random((200, 6)):
        assert (px @ f - p0 @ f) / (1 - p0 @ f) <= share + 1e-12


def test_equal_distributions_hold_no_novelties() -> None:
    p = np.array([0.2, 0.3, 0.5])
    assert module.smallest_ratio(p, p).objective == 0.0
    assert module.decomposition(p, p).solve().objective == pytest.approx(0.0, abs=1e-8)


# -- formulations ------------------------------------------------------------------------------------------------------


def test_a_change_of_confidence_does_not_compile_again(samples: tuple[np.ndarray, np.ndarray]) -> None:
    for made in (module.mixtures, module.smallest_proportion):
        formulation = made(*samples, 0.95, DKW())
        assert formulation.kind == "LP"
        for confidence in (0.5, 0.99, 1 - 1e-9):
            solution = formulation.set(confidence=confidence).solve()
            assert solution.objective == pytest.approx(cn.novelty_proportion(*samples, confidence).supremum, abs=1e-8)
            assert f"{confidence:.6g}" in solution.guarantee
        assert formulation.compilations == 1
        with pytest.raises(InputError, match=r"^confidence:"):
            formulation.set(confidence=1.0)
        assert formulation.parameters["confidence"] == 1 - 1e-9


def test_a_confidence_at_which_all_is_discarded_comes_and_goes() -> None:
    formulation = module.mixtures(np.arange(8.0), np.arange(4.0, 12.0), 0.3, DKW())
    first = formulation.solve().objective
    with pytest.raises(InfeasibleError, match="vacuous"):
        formulation.set(confidence=0.9999999).solve()
    assert formulation.set(confidence=0.3).solve().objective == first


def test_results_and_formulations_travel(samples: tuple[np.ndarray, np.ndarray]) -> None:
    found = cn.novelty_proportion(*samples)
    value = found.formulation.solve().objective
    again = pickle.loads(pickle.dumps(found))
    assert again.lower_bound == found.lower_bound
    assert again.formulation.solve().objective == value


def test_guarantee_says_what_is_known(samples: tuple[np.ndarray, np.ndarray]) -> None:
    found = cn.novelty_proportion(*samples)
    assert found.guarantee.bound == found.lower_bound
    assert "confidence 0.95" in found.guarantee and f"{found.lower_bound:.6g}" in found.guarantee
    assert "fitted on other data" in found.guarantee
    assert "nothing is said" in cn.novelty_proportion(*reversed(samples)).guarantee
    assert "p-value" in repr(found)


# -- small, extreme and bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [5e-324, 1e-12, 0.5, 1 - 1e-12, 1 - 2**-53])
def test_tiny_samples_and_extreme_confidences(confidence: float) -> None:
    for deviation in (DKW(), ExactBinomial(), VC(4), FiniteClass(3)):
        for nominal, unlabelled in (([0], [1]), ([0, 0], [1]), ([1], [0]), ([2.5], [2.5] * 9), ([0] * 50, [1] * 50)):
            found = cn.novelty_proportion(nominal, unlabelled, confidence, deviation)
            assert 0 <= found.lower_bound < 1 and 0 < found.p_value <= 1


def test_finite_classes_look_at_thresholds_fixed_beforehand(samples: tuple[np.ndarray, np.ndarray]) -> None:
    nominal, unlabelled = samples
    ranks = cn.novelty_proportion(nominal, unlabelled, deviation=ExactBinomial())
    assert 10 <= ranks.evidence.thresholds.size <= 20
    assert set(ranks.evidence.thresholds) <= set(nominal)
    moved = cn.novelty_proportion(nominal, unlabelled + 1e6, deviation=ExactBinomial())
    assert (moved.evidence.thresholds == ranks.evidence.thresholds).all()  # the unlabelled sample has no say
    fixed = cn.novelty_proportion(nominal, unlabelled, deviation=ExactBinomial(), thresholds=[1.5])
    assert fixed.classifier is not None and fixed.classifier.threshold == 1.5
    assert fixed.lower_bound > ranks.lower_bound  # one good threshold is cheaper than twenty
    with pytest.raises(InputError, match=r"^size:"):
        cn.novelty_proportion(nominal, unlabelled, deviation=ExactBinomial(1), thresholds=[1.0, 1.5])


def test_ties_at_a_rank_count_against_the_bound() -> None:
    found = evidence([0.0] * 10, [1.0], ExactBinomial(3))
    assert (found.thresholds == 0).all()
    assert found.nominal_counts.tolist() == [0, 2, 7]  # of the rank; none of the ten lies above


def test_frames_columns_and_integers_are_scores_too() -> None:
    pandas = pytest.importorskip("pandas")
    plain = cn.novelty_proportion([0] * 90 + [1] * 10, [0] * 30 + [1] * 70).lower_bound
    column = np.array([0] * 90 + [1] * 10, dtype=np.uint8)[:, None]
    column.setflags(write=False)
    assert plain > 0
    assert cn.novelty_proportion(column, pandas.Series([0] * 30 + [1] * 70)).lower_bound == plain
    assert cn.novelty_proportion(column == 1, np.array([False] * 30 + [True] * 70)).lower_bound == plain


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: cn.novelty_proportion([], [1.0]), "scores_nominal"),
        (lambda: cn.novelty_proportion([1.0], []), "scores_unlabelled"),
        (lambda: cn.novelty_proportion([1.0, np.nan], [1.0]), "scores_nominal"),
        (lambda: cn.novelty_proportion([1.0], [np.inf]), "scores_unlabelled"),
        (lambda: cn.novelty_proportion(["a"], [1.0]), "scores_nominal"),
        (lambda: cn.novelty_proportion([1.0, [2.0, 3.0]], [1.0]), "scores_nominal"),
        (lambda: cn.novelty_proportion([1j], [1.0]), "scores_nominal"),
        (lambda: cn.novelty_proportion(None, [1.0]), "scores_nominal"),
        (lambda: cn.novelty_proportion([[1.0, 2.0]], [[1.0]]), "scores_unlabelled"),
        (lambda: cn.novelty_proportion([[1.0, 2.0]], [[1.0, 2.0]]), "deviation"),
        (lambda: cn.novelty_proportion([[1.0, 2.0]], [[1.0, 2.0]], deviation=GrowingClasses([DKW()])), "deviation"),
        (lambda: cn.novelty_proportion([1.0], [1.0], confidence=0.0), "confidence"),
        (lambda: cn.novelty_proportion([1.0], [1.0], confidence=1.0), "confidence"),
        (lambda: cn.novelty_proportion([1.0], [1.0], confidence=float("nan")), "confidence"),
        (lambda: cn.novelty_proportion([1.0], [1.0], confidence=95), "confidence"),
        (lambda: cn.novelty_proportion([1.0], [1.0], deviation="dkw"), "deviation"),
        (lambda: cn.novelty_proportion([1.0], [1.0], deviation=DKW), "deviation"),  # type: ignore[arg-type]
        (lambda: cn.novelty_proportion([1.0], [1.0], novel="up"), "novel"),
        (lambda: cn.novelty_proportion([1.0], [1.0], thresholds=[np.nan]), "thresholds"),
        (lambda: cn.novelty_proportion([1.0], [1.0]).p_value_for(1.0), "proportion"),
        (lambda: cn.novelty_proportion([1.0], [1.0]).p_value_for(-0.1), "proportion"),
        (lambda: module.decomposition([0.5, 0.6], [0.5, 0.5]), "nominal_probabilities"),
        (lambda: module.smallest_ratio([0.5, 0.5], [1.0]), "unlabelled_probabilities"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], named: str) -> None:
    with pytest.raises(InputError, match=f"^{named}:"):
        call()


def test_the_file_declares_what_it_must() -> None:
    derivation.method("novelty_proportion").validate()
    kinds = {node.kind for node in METHOD.nodes.values()}
    assert {"formulation", "closed form", "algorithm"} <= kinds


def test_a_value_that_neither_distribution_has_changes_nothing():
    """The least ratio of (1/4, 3/4) over (1/2, 1/2) is 1/2, with or without a third value of probability zero."""
    for extra in ([], [0.0]):
        found = module.decomposition([0.5, 0.5, *extra], [0.25, 0.75, *extra]).solve()
        assert found.objective == pytest.approx(0.5, abs=1e-8)


def test_whole_numbers_that_would_tie_are_refused() -> None:
    large = np.full(9, 2**53 + 1)
    calibration = Calibration(np.arange(9.0), 0.2)
    classes = GrowingClasses([DKW(), DKW()])
    for call in (
        lambda: cn.novelty_proportion(large, np.arange(9)),
        lambda: cn.novelty_proportion(np.column_stack([large, large]), np.ones((9, 2)), deviation=classes),
        lambda: Calibration(large, 0.2),
        lambda: calibration.novel(large),
        lambda: calibration.p_values(large),
        lambda: ThresholdClassifier(1.0)(large),
    ):
        with pytest.raises(InputError, match="9007199254740993 was found, which float64 does not hold"):
            call()


def test_frames_of_scores_are_matched_by_the_names_of_their_columns(rng):
    nominal = pd.DataFrame({"near": rng.normal(size=300), "far": rng.normal(5, 1, 300)})
    unlabelled = pd.DataFrame(
        {"near": rng.normal(size=300) + 3 * (rng.random(300) < 0.4), "far": rng.normal(5, 1, 300)}
    )
    classes = GrowingClasses([DKW(), DKW()])
    expected = cn.novelty_proportion(nominal.to_numpy(), unlabelled.to_numpy(), deviation=classes)
    found = cn.novelty_proportion(nominal, unlabelled[["far", "near"]], deviation=classes)
    assert 0 < found.lower_bound == expected.lower_bound < 0.4
    assert found.formulation.solve().objective == pytest.approx(expected.lower_bound, abs=1e-6)
    with pytest.raises(InputError, match=r"scores_unlabelled: columns .* lacks 'far'; has in addition 'other'"):
        cn.novelty_proportion(nominal, unlabelled.rename(columns={"far": "other"}), deviation=classes)
    single = cn.novelty_proportion(nominal[["near"]], unlabelled[["near"]].rename(columns={"near": "score"}))
    assert single.lower_bound == cn.novelty_proportion(nominal["near"], unlabelled["near"]).lower_bound
