"""Deviation bounds against exact enumeration, other formulas, and draws."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from convexnovelty import deviations
from convexnovelty.deviations import DKW, VC, Deviation, ExactBinomial, FiniteClass, GrowingClasses
from convexnovelty.errors import InputError


def kinds(base: type = Deviation) -> list[type]:
    found = [k for kind in base.__subclasses__() for k in (kind, *kinds(kind))]
    return [kind for kind in found if not getattr(kind, "__abstractmethods__", None)]


EXAMPLES = [example for kind in kinds() for example in kind.examples()]  # type: ignore[attr-defined]


def test_every_bound_is_found_and_says_what_it_is() -> None:
    assert {type(example) for example in EXAMPLES} == {DKW, VC, FiniteClass, ExactBinomial}
    for example in EXAMPLES:
        assert example.name and example.source and example.latex and example.claim


@pytest.mark.parametrize("bound", EXAMPLES, ids=str)
@pytest.mark.parametrize("size", [1, 2, 7, 400])
def test_limits_lie_on_either_side_of_the_frequency_and_move_with_the_error(bound: Deviation, size: int) -> None:
    counts = np.unique(np.linspace(0, size, 9).astype(int))
    errors = (1e-200, 1e-12, 0.01, 0.2, 0.5)
    lower = np.array([bound.lower(counts, size, d) for d in errors])
    upper = np.array([bound.upper(counts, size, d) for d in errors])
    frequency = counts / size
    assert (lower <= frequency + 1e-15).all() and (upper >= frequency - 1e-15).all()
    assert (np.diff(lower, axis=0) >= 0).all() and (np.diff(upper, axis=0) <= 0).all()
    assert (np.diff(lower, axis=1) >= 0).all() and (np.diff(upper, axis=1) >= 0).all()


@pytest.mark.parametrize("bound", EXAMPLES, ids=str)
def test_limits_of_one_set_hold_with_the_stated_probability_for_every_probability(bound: Deviation) -> None:
    # The law of a count is binomial, so the probability that a limit fails is a finite sum.
    for size in (1, 2, 5, 30):
        counts = np.arange(size + 1)
        for d in (0.01, 0.1, 0.5):
            lower, upper = bound.lower(counts, size, d), bound.upper(counts, size, d)
            for q in np.linspace(0, 1, 201):
                law = stats.binom.pmf(counts, size, q)
                assert law[lower > q + 1e-12].sum() <= d + 1e-12
                assert law[upper < q - 1e-12].sum() <= d + 1e-12


def test_exact_limits_are_attained() -> None:
    """Just above the limit of a count the probability of seeing no more is d itself: it cannot be improved."""
    for size, count, d in ((10, 3, 0.05), (200, 0, 0.01), (50, 49, 0.3)):
        upper = float(ExactBinomial(1).upper(count, size, d))
        assert stats.binom.cdf(count, size, upper) == pytest.approx(d, rel=1e-9)
        lower = float(ExactBinomial(1).lower(size - count, size, d))
        assert stats.binom.sf(size - count - 1, size, lower) == pytest.approx(d, rel=1e-9)


def test_exact_limits_agree_with_scipy() -> None:
    for count, size in ((0, 12), (3, 12), (12, 12), (17, 90)):
        theirs = stats.binomtest(count, size).proportion_ci(0.9, method="exact")
        assert float(ExactBinomial(1).lower(count, size, 0.05)) == pytest.approx(theirs.low, abs=1e-12)
        assert float(ExactBinomial(1).upper(count, size, 0.05)) == pytest.approx(theirs.high, abs=1e-12)


def test_exact_limits_keep_their_accuracy_where_quantiles_of_libraries_fail() -> None:
    for d in (1e-300, 1e-200, 1e-60, 1e-12):
        for size, count in ((7, 4), (7, 5), (300, 299), (300, 1), (5000, 2500)):
            lower = float(ExactBinomial(1).lower(count, size, d))
            assert stats.binom.logsf(count - 1, size, lower) == pytest.approx(math.log(d), rel=1e-8), (d, size, count)


def test_exact_limit_of_no_count_and_a_tiny_error() -> None:
    assert float(ExactBinomial(4).upper(0, 100, 1e-40)) == pytest.approx(1 - (1e-40 / 4) ** (1 / 100), rel=1e-12)


def test_b43_margin_of_four_points() -> None:
    assert DKW().margin(4, 0.025) == pytest.approx(math.sqrt(math.log(40) / 8), abs=1e-15)
    assert DKW().margin(4, 0.025) == pytest.approx(0.67905076, abs=5e-9)
    assert DKW().margin(2000, 0.025) == pytest.approx(0.03036807, abs=5e-9)


def largest_excesses(size: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """sup (F_n - F) of uniform samples; it is attained at a sample point."""
    ordered = np.sort(rng.random((draws, size)), axis=1)
    return (np.arange(1, size + 1) / size - ordered).max(axis=1)


@pytest.mark.parametrize("d", [0.05, 0.3, 0.5])
def test_dkw_holds_for_all_thresholds_and_is_tight(d: float, rng: np.random.Generator) -> None:
    failed = float((largest_excesses(400, 4000, rng) > DKW().margin(400, d)).mean())
    assert failed <= d + 3 * math.sqrt(d * (1 - d) / 4000)
    assert failed >= 0.75 * d  # Massart's constant cannot be improved; the sample is finite, so a little is left


def test_dkw_is_refused_where_it_is_false() -> None:
    with pytest.raises(InputError, match="up to 1/2"):
        DKW().margin(100, 0.51)


def test_vc_margin_as_printed() -> None:
    assert VC(3).margin(100, 0.1) == 3 * math.sqrt((3 * math.log(101) - math.log(0.05)) / 100)


def test_vc_covers_thresholds_that_follow_the_sample(rng: np.random.Generator) -> None:
    assert (largest_excesses(4000, 200, rng) <= VC(1).margin(4000, 0.5)).all()
    assert VC(1).margin(4000, 0.5) < 0.2


def test_vc_dimensions_of_known_classes() -> None:
    assert VC.of_half_spaces(5).dimension == 6
    assert VC.of_polynomials(2, 3).dimension == 10  # 1, x, y, xx, xy, yy, xxx, xxy, xyy, yyy
    assert VC.of_polynomials(5, 1) == VC.of_half_spaces(5)


def test_union_bound_divides_the_error() -> None:
    assert FiniteClass(8).margin(50, 0.04) == pytest.approx(FiniteClass(1).margin(50, 0.005))
    assert ExactBinomial(8).lower(20, 50, 0.04) == pytest.approx(ExactBinomial(1).lower(20, 50, 0.005))
    assert FiniteClass().over(5) == FiniteClass(5) and ExactBinomial().over(5) == ExactBinomial(5)
    with pytest.raises(InputError, match="3 are looked at"):
        FiniteClass(2).over(3)


@pytest.mark.parametrize("bound", [ExactBinomial(), FiniteClass()], ids=str)
def test_without_a_number_of_sets_there_are_as_many_as_counts(bound: Deviation) -> None:
    """Twenty independent sets of one probability: that no limit fails is a power of a finite sum."""
    size, sets, d = 50, 20, 0.1
    for q in (0.1, 0.3, 0.5):
        law = stats.binom.pmf(np.arange(size + 1), size, q)
        lower = np.array([bound.lower([c] + [0] * (sets - 1), size, d)[0] for c in range(size + 1)])
        upper = np.array([bound.upper([c] + [0] * (sets - 1), size, d)[0] for c in range(size + 1)])
        for failed in (lower > q, upper < q):
            assert 1 - (1 - law[failed].sum()) ** sets <= d
    counts = np.arange(6).reshape(2, 3)
    assert (bound.lower(counts, 9, d) == bound.over(6).lower(counts, 9, d)).all()
    assert (bound.upper(counts, 9, d) == bound.over(6).upper(counts, 9, d)).all()
    assert bound.lower(4, 9, d) == bound.over(1).lower(4, 9, d)


@pytest.mark.parametrize("d", [5e-324, 1e-310, 1e-300])
def test_margins_of_the_smallest_errors(d: float) -> None:
    with mpmath.workdps(40):
        log = mpmath.log(mpmath.mpf(d))
        assert DKW().margin(100, d) == pytest.approx(float(mpmath.sqrt(-log / 200)), rel=1e-14)
        assert FiniteClass(8).margin(100, d) == pytest.approx(
            float(mpmath.sqrt((mpmath.log(8) - log) / 200)), rel=1e-14
        )
        vc = 3 * mpmath.sqrt((2 * mpmath.log(101) + mpmath.log(2) - log) / 100)
        assert VC(2).margin(100, d) == pytest.approx(float(vc), rel=1e-14)


@pytest.mark.parametrize("bound", EXAMPLES, ids=str)
@pytest.mark.parametrize(
    ("counts", "size", "words"),
    [
        ([1, -1], 10, "counts: -1 was found; give whole numbers from 0 to 10"),
        (11, 10, "counts: 11 was found"),
        (2.5, 10, "counts: 2.5 was found"),
        (math.nan, 10, "counts: nan was found"),
        (0, 0, "size: 0 was found"),
        (0, 2.5, "size: 2.5 was found"),
    ],
)
def test_counts_are_whole_numbers_of_the_sample(bound: Deviation, counts: object, size: object, words: str) -> None:
    for limit in (bound.lower, bound.upper):
        with pytest.raises(InputError, match=words):
            limit(counts, size, 0.05)  # type: ignore[arg-type]


def test_e_theorem_6_shares_add_up_to_one() -> None:
    classes = GrowingClasses([DKW()] * 400)
    shares = [share for _, share in classes.allotments(400)]
    assert 0.998 < sum(shares) <= 1
    assert sum(1 / k**2 for k in range(1, 3)) > 1  # as printed, two classes already use up more than the error


@pytest.mark.parametrize("d", [0.3, 0.5])
def test_e_theorem_5_two_bounds_at_delta_do_not_hold_together(d: float, rng: np.random.Generator) -> None:
    """Theorem 5 uses a bound for each sample. At delta each, both hold in fewer than 1 - delta of all draws."""
    size, draws = 400, 4000
    first, second = largest_excesses(size, draws, rng), largest_excesses(size, draws, rng)
    printed = float(((first <= DKW().margin(size, d)) & (second <= DKW().margin(size, d))).mean())
    halved = float(((first <= DKW().margin(size, d / 2)) & (second <= DKW().margin(size, d / 2))).mean())
    assert printed < 1 - d - 0.05
    assert halved >= 1 - d


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: VC(0), "dimension"),
        (lambda: VC(1.5), "dimension"),
        (lambda: VC.of_half_spaces(0), "columns"),
        (lambda: FiniteClass(0), "size"),
        (lambda: ExactBinomial("3"), "size"),
        (lambda: DKW().margin(10, 0.0), "delta"),
        (lambda: DKW().margin(10, float("nan")), "delta"),
        (lambda: VC(1).margin(10, 1.5), "delta"),
        (lambda: ExactBinomial(1).lower(1, 10, -0.1), "delta"),
        (lambda: GrowingClasses([]), "parts"),
        (lambda: GrowingClasses([0.1]), "parts"),
        (lambda: GrowingClasses([DKW()]).allotments(2), "deviation"),
        (lambda: DKW().allotments(2), "deviation"),
    ],
)
def test_bad_input_is_named(call, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=f"^{named}:"):
        call()


def test_all_names_exist() -> None:
    assert all(hasattr(deviations, name) for name in deviations.__all__)


@pytest.mark.parametrize("bound", [DKW(), VC(2), FiniteClass(3), ExactBinomial(3)], ids=lambda bound: bound.name)
@pytest.mark.parametrize("counts", ["x", None, [1, None], -1, 11, 0.5, np.nan, 1j, {}, 10**400, np.timedelta64(1, "s")])
def test_counts_that_are_none_are_named(bound: Deviation, counts: object) -> None:
    for limit in (bound.lower, bound.upper):
        with pytest.raises(InputError, match=r"^counts: "):
            limit(counts, 10, 0.1)


def test_sizes_of_any_type_of_number_give_the_same_limits() -> None:
    for size in (10.0, np.uint8(10), np.array(10)):
        for bound in (DKW(), ExactBinomial(3)):
            assert bound.lower(3, size, 0.1) == bound.lower(3, 10, 0.1)  # type: ignore[arg-type]
            assert bound.upper([3, 9], size, 0.1).tolist() == bound.upper([3, 9], 10, 0.1).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("parts", [None, 3, "VC", VC(2), [], [3]])
def test_classes_without_bounds_are_refused(parts: object) -> None:
    with pytest.raises(InputError, match=r"^parts: "):
        GrowingClasses(parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [DKW(), VC(2), FiniteClass(3), ExactBinomial(3)], ids=lambda bound: bound.name)
def test_errors_in_arrays_of_one_entry_are_numbers(bound: Deviation) -> None:
    assert bound.lower(3, 10, np.array([[0.25]])) == bound.lower(3, 10, 0.25)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [None, "2", 1.5, [2], np.ones(3), {}, np.timedelta64(2, "s"), np.nan])
def test_numbers_of_sets_and_of_columns_that_are_none_are_named(value: object) -> None:
    for bound in (FiniteClass(3), ExactBinomial()):
        with pytest.raises(InputError, match=r"^sets: "):
            bound.over(value)  # type: ignore[arg-type]
    for deviation in (DKW(), GrowingClasses([VC(2)])):
        with pytest.raises(InputError, match=r"^columns: "):
            deviation.allotments(value)  # type: ignore[arg-type]
