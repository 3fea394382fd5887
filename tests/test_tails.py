"""Tails against linear programs over distributions on a grid, and the extremal distribution against its promises."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from convexnovelty import check, single_class_mpm, tails
from convexnovelty.checking.tail_laws import rows_of_users_tails
from convexnovelty.declare import Instance
from convexnovelty.errors import IndefiniteError, InputError
from convexnovelty.extremal import largest_beyond, varies, varies_in_any_units
from convexnovelty.moments import Moments
from convexnovelty.tails import Tail, all_tails, as_tail, extremal_distribution

EXAMPLES = [tail for kind in all_tails().values() for tail in kind.examples()]
DISTANCES = (0.2, 0.6, 1.0, 1.2, 1.6, 2.5)


def largest_probability(pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> float:
    """max sum w P(outside) over weights w >= 0 of pieces (mean, second moment, P(outside)) with moments 0 and 1."""
    mean, square, outside = (np.concatenate(column) for column in zip(*pieces, strict=True))
    solution = linprog(
        -outside, A_eq=np.vstack([np.ones(mean.size), mean, square]), b_eq=[1.0, 0.0, 1.0], method="highs"
    )
    return -float(solution.fun) if solution.status == 0 else -math.inf


def points_program(t: float) -> float:
    """Any distribution: a mixture of points."""
    y = np.arange(-12.0, 12.0, 0.004)
    y = np.append(y, t)
    return largest_probability([(y, y**2, (y >= t).astype(float))])


def symmetric_program(t: float) -> float:
    """A symmetric one: a mixture of pairs -y, y."""
    y = np.append(np.arange(0.0, 12.0, 0.001), t)
    return largest_probability([(0.0 * y, y**2, 0.5 * (y >= t))])


def unimodal_program(t: float) -> float:
    """A unimodal one: its mode, and a mixture of uniforms that start at the mode (Khinchin's theorem)."""
    best = -math.inf
    for mode in np.arange(-1.7, 1.7001, 0.05):
        y = np.concatenate([np.arange(-9.0, 9.0, 0.03), [mode]])
        low, high = np.minimum(mode, y), np.maximum(mode, y)
        width = np.where(high > low, high - low, 1.0)
        share = np.where(high > low, np.clip(high - np.maximum(low, t), 0.0, None) / width, float(mode >= t))
        best = max(best, largest_probability([((mode + y) / 2, (mode**2 + mode * y + y**2) / 3, share)]))
    return best


def symmetric_unimodal_program(t: float) -> float:
    """A symmetric unimodal one: a mixture of uniforms on [-y, y]."""
    y = np.arange(0.0, 15.0, 0.001)
    share = np.where(y > t, (y - t) / (2 * np.where(y > 0, y, 1.0)), 0.0)
    return largest_probability([(0.0 * y, y**2 / 3, share)])


@pytest.mark.parametrize(
    ("tail", "program"),
    [
        (tails.Chebyshev(), points_program),
        (tails.Symmetric(), symmetric_program),
        (tails.Unimodal(), unimodal_program),
        (tails.SymmetricUnimodal(), symmetric_unimodal_program),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("t", DISTANCES)
def test_bound_is_the_optimum_over_all_distributions(tail: Tail, program: Callable[[float], float], t: float) -> None:
    optimum = program(t)
    assert optimum <= tail.bound(t) + 1e-9  # every distribution on the grid obeys the bound
    assert optimum >= tail.bound(t) - 4e-3  # and one on the grid comes close


@pytest.mark.parametrize("dof", [2.5, 5.0, 30.0])
def test_student_equals_the_integral_of_its_density(dof: float) -> None:
    tail = tails.Student(dof)
    deviation = mpmath.sqrt(dof / (dof - 2))
    constant = mpmath.gamma((dof + 1) / 2) / (mpmath.sqrt(dof * mpmath.pi) * mpmath.gamma(dof / 2))
    for t in DISTANCES:
        area = mpmath.quad(lambda x: (1 + x * x / dof) ** (-(dof + 1) / 2), [t * deviation, 10 * deviation, mpmath.inf])
        assert tail.bound(t) == pytest.approx(float(constant * area), rel=1e-9)


def test_gaussian_equals_high_precision() -> None:
    for t in (*DISTANCES, 6.0, 20.0, -1.0):
        assert tails.Gaussian().bound(t) == pytest.approx(float(mpmath.ncdf(-t)), rel=1e-13)
    assert tails.Gaussian().kappa(0.975) == pytest.approx(1.959963984540054, rel=1e-14)
    assert abs(tails.Student(1e8).kappa(0.9) - tails.Gaussian().kappa(0.9)) < 1e-7


@pytest.mark.parametrize("tail", EXAMPLES, ids=repr)
def test_laws(tail: Tail) -> None:
    t = np.linspace(0.0, 8.0, 400)
    bounds = np.array([tail.bound(x) for x in t])
    assert np.all(np.diff(bounds) <= 0)
    assert np.abs(np.diff(bounds)).max() < 0.05  # continuous: the branches meet
    assert 0.5 <= tail.bound(-1e-9) <= 1.0
    assert tail.kappa(0.0) == 0.0
    for c in (1e-12, 0.1, 0.4, 0.5, 0.6, 0.8, 5 / 6 - 1e-9, 5 / 6, 0.9, 0.99, 1 - 1e-9):
        kappa = tail.kappa(c)
        assert kappa >= 0.0
        assert tail.bound(kappa) <= (1.0 - c) * (1 + 1e-12)
        assert tail.confidence(kappa) == pytest.approx(1.0 - tail.bound(kappa), abs=1e-15)
        if kappa > 0:
            assert tail.bound(kappa) == pytest.approx(1.0 - c, rel=1e-9)
            assert tail.confidence(kappa) == pytest.approx(c, abs=1e-12)
            assert c < 0.1 or tail.bound(0.9999 * kappa) > 1.0 - c  # no smaller one would do
    assert tail == pickle.loads(pickle.dumps(tail))
    assert "distribution" in tail.sentence
    assert "kappa" in tail.latex


def test_chebyshev_is_accurate_at_both_ends() -> None:
    c = 1 - 1e-9
    exact = mpmath.sqrt(mpmath.mpf(c) / (1 - mpmath.mpf(c)))
    assert tails.Chebyshev().kappa(c) == pytest.approx(float(exact), rel=1e-15)
    assert tails.Chebyshev().kappa(1e-20) == pytest.approx(1e-10, rel=1e-15)
    assert tails.Chebyshev().kappa(0.5) == 1.0
    assert tails.Chebyshev().kappa(0.8) == pytest.approx(2.0, rel=1e-15)
    assert tails.Chebyshev().kappa(0.95) == pytest.approx(4.358898943540673, rel=1e-14)  # not .229


def test_families_are_ordered_by_what_they_know() -> None:
    for t in (1e-3, *DISTANCES):
        chebyshev, unimodal, both = (
            tail.bound(t) for tail in (tails.Chebyshev(), tails.Unimodal(), tails.SymmetricUnimodal())
        )
        assert tails.Gaussian().bound(t) < both < unimodal < chebyshev
        assert both < tails.Symmetric().bound(t) <= chebyshev


@pytest.mark.parametrize("confidence", [1.0, -0.1, 1.5, np.nan, "0.9", None, True])
@pytest.mark.parametrize("tail", EXAMPLES[:3], ids=repr)
def test_confidences_that_nothing_grants(tail: Tail, confidence: Any) -> None:
    with pytest.raises(InputError, match="confidence"):
        tail.kappa(confidence)
    with pytest.raises(InputError, match="kappa"):
        tail.confidence(-1e-9)


@pytest.mark.parametrize("dof", [2.0, 0.0, -1.0, np.nan, np.inf, "3"])
def test_student_needs_a_variance(dof: Any) -> None:
    with pytest.raises(InputError, match="dof"):
        tails.Student(dof)


def test_as_tail_and_enrolment() -> None:
    assert as_tail(None) == as_tail("chebyshev") == tails.Chebyshev()
    assert as_tail("student") == tails.Student(5.0)
    for wrong in ("normal", 3, tails.Chebyshev):
        with pytest.raises(InputError, match="tail"):
            as_tail(wrong)
    assert set(all_tails()) >= {"chebyshev", "gaussian", "student", "symmetric", "unimodal", "symmetric_unimodal"}


class Own(Tail):
    """Chebyshev's bound as a user writes it, with a kappa that is a multiple of its inverse."""

    factor = 1.0

    @property
    def sentence(self) -> str:
        return "every distribution with these moments"

    def bound(self, t: float) -> float:
        return 1.0 / (1.0 + t * t) if t > 0 else 1.0

    def _quantile(self, c: float, outside: float) -> float:
        return self.factor * math.sqrt(c / outside)


class Short(Own):
    factor = 0.9


class Negative(Own):
    factor = -1.0


class Wide(Own):
    factor = 1.1


class ShortFarOut(Own):
    def _quantile(self, c: float, outside: float) -> float:
        return (0.9 if c > 0.9 else 1.0) * math.sqrt(c / outside)


class ShortByKappa(Own):
    def kappa(self, confidence: Any) -> float:
        return 0.9 * super().kappa(confidence)


class Rising(Own):
    def bound(self, t: float) -> float:
        return 0.9 if 4.5 < t < 5 else super().bound(t)


class Boasting(Own):
    def confidence(self, kappa: Any) -> float:
        return min(1.0, 1.1 * super().confidence(kappa))


class Jumping(Tail):
    """One of two points at -1 and 1, with probability 1/2 each, and a bound that jumps from 1/2 to 0 beyond 1."""

    @property
    def sentence(self) -> str:
        return "the distribution of a fair coin"

    def bound(self, t: float) -> float:
        return 1.0 if t < -1 else 0.5 if t < 1 else 0.0

    def _quantile(self, c: float, outside: float) -> float:
        return 1.0


MACHINE = (Moments([3.0, 2.0], np.eye(2)), 0.6)


def test_a_kappa_that_its_bound_does_not_grant_is_refused_with_both_numbers() -> None:
    kappa = 0.9 * math.sqrt(1.5)
    left = 1 / (1 + kappa**2)  # of the distribution that attains Chebyshev's bound
    assert left > 0.45
    with pytest.raises(InputError, match=rf"tail: .*kappa\(0.6\) = {kappa:.6g}, whose bound is {left:.6g} .* 0\.4 "):
        single_class_mpm(*MACHINE, tail=Short())
    with pytest.raises(InputError, match=r"tail: .*kappa\(0.6\) = -1.22474, which is no distance"):
        single_class_mpm(*MACHINE, tail=Negative())
    later = single_class_mpm(*MACHINE, tail=ShortFarOut())
    with pytest.raises(InputError, match=r"kappa\(0.92\) = "):
        later.set(confidence=0.92)
    assert single_class_mpm(*MACHINE, tail=Own()).solve().objective == pytest.approx(
        single_class_mpm(*MACHINE).solve().objective, rel=1e-12
    )


@pytest.mark.parametrize(
    ("tail", "broken"),
    [
        (Own(), set()),
        (Jumping(), set()),
        (Wide(), {"kappa"}),
        (ShortFarOut(), {"kappa"}),
        (ShortByKappa(), {"kappa"}),
        (Rising(), {"bound"}),
        (Boasting(), {"confidence"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_laws_of_a_users_tail_are_checked(tail: Tail, broken: set[str]) -> None:
    rows = rows_of_users_tails(Instance("i", {"tail": tail, "confidence": 0.6}, method=""))
    assert {row.source for row in rows} == {"kappa", "bound", "confidence"}
    assert {row.source for row in rows if row.verdict == "fail"} == broken
    assert all(row.reason for row in rows if row.verdict == "fail")


def test_the_report_on_a_formulation_holds_the_laws_of_its_tail() -> None:
    def found(tail: Tail) -> tuple[bool, int]:
        report = check(single_class_mpm(*MACHINE, tail=tail))
        return report.passed, sum(row.method == "tails" for row in report.rows)

    assert found(Own()) == (True, 3)
    assert found(tails.Unimodal()) == (True, 0)
    assert not found(ShortByKappa())[0] and not found(Boasting())[0]


# --- the extremal distribution


def test_b46_bound_and_attained_value_agree() -> None:
    extremal = extremal_distribution([0.0], [[1.0]], [1.0], 2.0)
    assert extremal.atoms.tolist() == [2.0, -0.5]
    assert extremal.probabilities == pytest.approx([0.2, 0.8], rel=1e-15)
    assert extremal.probabilities @ extremal.atoms == pytest.approx(0.0, abs=1e-15)
    assert extremal.probabilities @ extremal.atoms**2 == pytest.approx(1.0, rel=1e-15)
    assert extremal.probability_outside == pytest.approx(0.2, rel=1e-15)
    assert tails.Chebyshev().bound(2.0) == pytest.approx(extremal.probability_outside, rel=1e-15)
    assert tails.Chebyshev().kappa(0.8) == pytest.approx(2.0, rel=1e-15)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("t", [0.05, 1.0, 3.0])
def test_extremal_distribution_has_the_moments_and_attains_the_bound(
    rank: int, t: float, rng: np.random.Generator
) -> None:
    F, mean, a = rng.normal(size=(rank, 5)), rng.normal(size=5), rng.normal(size=5)
    S = F.T @ F
    deviation = np.sqrt(a @ S @ a)
    offset = a @ mean + t * deviation
    extremal = extremal_distribution(mean, S, a, offset)
    w, Y = extremal.weights, extremal.points
    assert w.min() > 0
    assert w.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.allclose(w @ Y, mean, atol=1e-12)
    assert np.allclose((Y - mean).T @ (w[:, None] * (Y - mean)), S, atol=1e-11 * np.trace(S))
    projection = Y @ a
    near = np.abs(projection[:, None] - extremal.atoms) <= 1e-9 * max(1.0, np.abs(extremal.atoms).max())
    assert near.any(axis=1).all()
    assert w[near[:, 0]].sum() == pytest.approx(tails.Chebyshev().bound(t), rel=1e-12)
    assert extremal.probability_outside == pytest.approx(1 / (1 + t * t), rel=1e-12)
    assert len(w) <= 4 * rank


def test_samples_follow_the_distribution(rng: np.random.Generator) -> None:
    S = np.array([[2.0, -1.0], [-1.0, 1.0]])
    extremal = extremal_distribution([1.0, -1.0], S, [1.0, 2.0], 1.0)
    sample = extremal.sample(40_000, rng)
    assert sample.shape == (40_000, 2)
    assert np.allclose(sample.mean(axis=0), [1.0, -1.0], atol=0.05)
    assert np.allclose(np.cov(sample.T), S, atol=0.1)
    outside = (sample @ [1.0, 2.0] >= 1.0 - 1e-9).mean()
    assert outside == pytest.approx(extremal.probability_outside, abs=0.01)
    assert np.array_equal(extremal.sample(5, 3), extremal.sample(5, 3))


def test_the_largest_probability_beyond_an_offset_is_one_up_to_the_mean():
    S = np.array([[4.0, 0.0], [0.0, 1e-9]])
    for offset, truth in ((-1.0, 1.0), (0.0, 1.0), (2.0, 0.5), (6.0, 0.1)):
        assert largest_beyond(np.zeros(2), S, np.array([1.0, 0.0]), offset) == pytest.approx(truth, rel=1e-12)
    assert varies(S, np.array([0.0, 3.0])) and not varies(S / 4e10 + np.diag([1.0, 0.0]), np.array([0.0, 3.0]))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_whether_a_projection_varies_does_not_hang_on_units_of_columns(unit):
    D, S = np.diag([1.0, unit]), np.array([[2.0, 1.0], [1.0, 0.5 + 1e-6]])
    assert varies_in_any_units(D @ S @ D, np.array([1.0, -1.0 / unit]))
    assert varies_in_any_units(D @ S @ D, np.array([1.0, -2.0 / unit]))
    assert not varies_in_any_units(D @ (S - np.diag([0.0, 1e-6])) @ D, np.array([1.0, -2.0 / unit]))


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        (([0.0], [[1.0]], [1.0], 0.0), InputError, "offset"),
        (([0.0], [[1.0]], [1.0], -1.0), InputError, "offset"),
        (([0.0], [[1.0]], [0.0], 1.0), InputError, "normal"),
        (([0.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], [0.0, 1.0], 1.0), InputError, "normal"),
        (([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], [1.0, -1.0], 1.0), InputError, "normal"),
        (([0.0], [[-1.0]], [1.0], 1.0), IndefiniteError, "covariance"),
        (([0.0], [[1.0]], [1.0, 2.0], 1.0), InputError, "normal"),
        (([0.0], [[1.0]], [1.0], np.nan), InputError, "offset"),
    ],
)
def test_no_extremal_distribution(arguments: tuple[Any, ...], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        extremal_distribution(*arguments)


def test_sample_size_is_checked() -> None:
    with pytest.raises(InputError, match="size"):
        extremal_distribution([0.0], [[1.0]], [1.0], 2.0).sample(0)
