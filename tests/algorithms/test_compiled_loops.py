"""Each compiled loop against its rule, spelt out with whole vectors: the same steps, one by one, in the same order.

The rules evaluate the gradient anew and know nothing of caches, lanes and running maxima. From many random states the
loop has to take the very step of the rule; after it, the two coordinates of a pair are tied up to rounding, so that
whole runs are held to what they end with: an optimum by its definition, and the count of the steps.
"""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty.algorithms import _gaussian, _group_steps, _pair_steps, _reduced
from convexnovelty.algorithms._gaussian import SOURCES, WIDTH
from convexnovelty.algorithms._pair_steps import CONVERGED, INDEFINITE, STOPPED, UNBOUNDED

# What the loops hold for flat, and for negative beyond rounding, relative to the two diagonal entries; and for endless.
FLAT, NEGATIVE, ENDLESS = 1e-12, -1e-9, 1e200


def program(seed, n, rank=None, infinite=False):
    """A convex program with bounds of both signs, a fixed coordinate, and a feasible point with some at their bounds."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, rank or n + 1))
    Q, p = F @ F.T, rng.standard_normal(n)
    lower = np.where(rng.random(n) < 0.5, 0.0, -rng.random(n))
    upper = lower + rng.uniform(0.2, 2.0, n)
    b = np.where(rng.random(n) < 0.3, lower, lower + rng.uniform(0.1, 0.9, n) * (upper - lower))
    if infinite:
        lower[0], upper[1] = -np.inf, np.inf
    if n > 3:
        lower[-1] = upper[-1] = b[-1] = 0.0
    return Q, p, b, lower, upper


def moved(b, i, change, lower, upper):
    """One coordinate moved, exactly to its bound where the step is as long as the room."""
    room = (upper if change > 0 else lower)[i] - b[i]
    return (upper if change > 0 else lower)[i] if change == room else b[i] + change


def pair_rule(Q, p, b, lower, upper, tolerance, limit, last=True):
    """The most improving coordinate to first order, and its best partner to second order (Fan, Chen and Lin 2005)."""
    b, d = b.copy(), np.diag(Q)
    for step in range(limit + last):
        g = Q @ b + p
        grow, shrink = np.where(b < upper, g, np.inf), np.where(b > lower, g, -np.inf)
        if not shrink.max() - grow.min() > tolerance:
            return CONVERGED, step, b
        if step == limit:
            break
        i = int(grow.argmin())
        bend, slope = d[i] + d - 2 * Q[i], shrink - g[i]
        floored = np.maximum(bend, FLAT * (d[i] + d) + 1e-300)
        with np.errstate(invalid="ignore", over="ignore"):
            j = int(np.where(slope > 0, slope**2 / floored, -np.inf).argmax())
            change = slope[j] / floored[j]
        if bend[j] < NEGATIVE * (d[i] + d[j]):
            return INDEFINITE, step, b
        change = min(change, upper[i] - b[i], b[j] - lower[j])
        if change > ENDLESS:
            return UNBOUNDED, step, b
        b[i], b[j] = moved(b, i, change, lower, upper), moved(b, j, -change, lower, upper)
    return STOPPED, limit, b


def single_rule(Q, p, b, lower, upper, tolerance, limit, last=True):
    """The one coordinate whose own minimiser within its bounds lowers the objective most."""
    b, d = b.copy(), np.diag(Q)
    for step in range(limit + last):
        g = Q @ b + p
        able = ((g > 0) & (b > lower)) | ((g < 0) & (b < upper))
        with np.errstate(divide="ignore", invalid="ignore"):
            target = np.where(d > 0, b - g / d, -np.sign(g) * np.inf)
        change = np.where(able, np.clip(target, lower, upper) - b, 0.0)
        if (able & (d <= 0) & ~np.isfinite(change)).any():
            return UNBOUNDED, step, b
        if np.abs(g[able]).max(initial=0.0) <= tolerance:
            return CONVERGED, step, b
        if step == limit:
            break
        gain = np.where(able, -change * (g + 0.5 * d * change), -np.inf)
        i = int(gain.argmax())
        if d[i] < 0:
            return INDEFINITE, step, b
        b[i] = moved(b, i, change[i], lower, upper)
    return STOPPED, limit, b


def kkt_gap(Q, p, b, lower, upper, equality):
    """From its definition: how much more the gradient is where b may shrink than where it may grow."""
    g = Q @ b + p
    high, low = g[b > lower].max(initial=-np.inf), g[b < upper].min(initial=np.inf)
    return high - low if equality else max(high, -low, 0.0)


def agree(loop, rule, problem, limits=(0, 1), tolerance=1e-9):
    """Both after these numbers of steps; the words that came out."""
    Q, p, b, lower, upper = problem
    words = set()
    for limit in limits:
        ours, gradient = b.copy(), Q @ b + p
        status, steps = loop(Q, gradient, ours, lower, upper, tolerance, limit)
        expected = rule(Q, p, b, lower, upper, tolerance, limit)
        assert (status, steps) == expected[:2]
        np.testing.assert_allclose(ours, expected[2], rtol=1e-9, atol=1e-11)
        exact = (expected[2] == lower) | (expected[2] == upper)
        assert ours[exact].tolist() == expected[2][exact].tolist(), "bounds are met exactly"
        size = np.abs(Q) @ np.abs(ours) + np.abs(p)
        np.testing.assert_allclose(gradient, Q @ ours + p, atol=1e-12 * size.max())
        words.add(status)
    return words


def run(loop, problem, equality, last=True, tolerance=1e-6):
    """To the end: optimal by definition, not before the last step, with the sum kept and the gradient up to date."""
    Q, p, b, lower, upper = problem
    ours, gradient = b.copy(), Q @ b + p
    status, steps = loop(Q, gradient, ours, lower, upper, tolerance, 100_000)
    assert status == CONVERGED
    assert kkt_gap(Q, p, ours, lower, upper, equality) <= tolerance * (1 + 1e-6)
    assert ((ours >= lower) & (ours <= upper)).all()
    np.testing.assert_allclose(gradient, Q @ ours + p, atol=1e-10)
    if equality:
        assert ours.sum() == pytest.approx(b.sum(), abs=1e-12)
    again, gradient = b.copy(), Q @ b + p
    assert loop(Q, gradient, again, lower, upper, tolerance, steps + 1 - last) == (CONVERGED, steps)
    if steps:
        again, gradient = b.copy(), Q @ b + p
        assert loop(Q, gradient, again, lower, upper, tolerance, steps - 1) == (STOPPED, steps - 1)
        assert kkt_gap(Q, p, again, lower, upper, equality) > tolerance * (1 - 1e-6)
    return steps


# -- pairs and single coordinates ---------------------------------------------------------------------------------------

SIZES = [2, 3, 5, 8, 12]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("loop", "rule"), [(_pair_steps.pairs, pair_rule), (_pair_steps.coordinates, single_rule)], ids=["pairs", "singles"]
)
def test_every_step_is_that_of_the_rule(loop, rule, n):
    for seed in range(40):
        agree(loop, rule, program([seed, n], n, infinite=seed % 3 == 1))
    assert sum(run(loop, program([seed, n], n), rule is pair_rule) for seed in range(10)) > 5


def test_gaps_at_the_tolerance_are_small_enough():
    """A gap of exactly the tolerance ends a loop, one above does not; all numbers are exact."""
    Q, p, b, lower, upper = np.eye(2), np.array([0.0, 0.5]), np.zeros(2), -np.ones(2), np.ones(2)
    for tolerance, expected in ((0.5, CONVERGED), (0.25, STOPPED)):
        for loop in (_pair_steps.pairs, _pair_steps.coordinates):
            assert loop(Q, p.copy(), b.copy(), lower, upper, tolerance, 0) == (expected, 0)


def test_first_of_equals():
    """Two coordinates gain the same: the first one moves. Thirds would be other numbers if the second did."""
    Q, lower, upper = np.eye(4), np.zeros(4), np.ones(4)
    b = np.array([0.0, 0.0, 0.5, 0.5])
    p = np.array([-1.0, -1.0, 0.0, 0.0])
    assert agree(_pair_steps.pairs, pair_rule, (Q, p, b, lower, upper), [1]) == {STOPPED}
    assert agree(_pair_steps.coordinates, single_rule, (Q, p, b, lower, upper), [1]) == {STOPPED}


@pytest.mark.parametrize("curvature", [0.0, 0.25e-12, 4e-12])
def test_flat_pairs_take_a_step_of_known_length(curvature):
    """Two copies of a row: the curvature is taken to be 1e-12 of the diagonal at least."""
    Q = np.array([[1.0, 1.0 - curvature], [1.0 - curvature, 1.0]])
    p, infinite = np.array([0.0, 1.0]), np.full(2, np.inf)
    b, gradient = np.zeros(2), p.copy()
    assert _pair_steps.pairs(Q, gradient, b, -infinite, infinite, 1e-9, 1)[1] == 1
    bend = 2 - 2 * Q[0, 1]
    assert b == pytest.approx(np.array([1, -1]) / max(bend, 2e-12), rel=1e-12)
    assert _pair_steps._joint_step(Q, p.copy(), b := np.zeros(2), -infinite, infinite, 0, 1, 0.0) == 1
    assert b == pytest.approx(np.array([1, -1]) / max(bend, 2e-12), rel=1e-12)


def test_what_is_not_convex_or_has_no_end_is_told():
    infinite, p = np.full(2, np.inf), np.array([0.0, 1.0])
    for excess, expected in ((4e-9, INDEFINITE), (0.25e-9, STOPPED)):
        Q = np.array([[1.0, 1.0 + excess], [1.0 + excess, 1.0]])
        words = agree(_pair_steps.pairs, pair_rule, (Q, p, np.zeros(2), -np.ones(2), np.ones(2)))
        assert (INDEFINITE in words) == (expected == INDEFINITE)
        moved = _pair_steps._joint_step(Q, p.copy(), np.zeros(2), -np.ones(2), np.ones(2), 0, 1, 0.0)
        assert moved == (-1 if expected == INDEFINITE else 1)
    flat = np.zeros((2, 2)), p, np.zeros(2), -infinite, infinite
    assert agree(_pair_steps.pairs, pair_rule, flat, [3]) == {UNBOUNDED}
    assert agree(_pair_steps.coordinates, single_rule, flat, [3]) == {UNBOUNDED}
    bounded = np.zeros((2, 2)), np.array([-1.0, 2.0]), np.zeros(2), -np.ones(2), 3 * np.ones(2)
    assert agree(_pair_steps.pairs, pair_rule, bounded, [0, 1, 9]) == {STOPPED, CONVERGED}
    assert agree(_pair_steps.coordinates, single_rule, bounded, [0, 1, 2, 9]) == {STOPPED, CONVERGED}
    concave = -np.eye(2), np.array([-1.0, 0.5]), np.zeros(2), -np.ones(2), np.ones(2)
    assert agree(_pair_steps.coordinates, single_rule, concave, [0, 1, 5]) == {STOPPED, INDEFINITE}


def test_a_pair_that_cannot_move_is_told():
    Q, ones = np.eye(3), np.ones(3)
    step = _pair_steps._joint_step
    assert step(Q, np.array([0.0, 1.0, 2.0]), np.zeros(3), -ones, ones, 1, 1, 0.0) == 0
    # The gradients differ by one and the curvature is two: a step of a half.
    for least, expected in ((0.25, 1), (0.5, 0), (0.75, 0)):
        b, gradient = np.zeros(3), np.array([0.0, 1.0, 2.0])
        assert step(Q, gradient, b, -ones, ones, 0, 1, least) == expected
        assert b.tolist() == ([0.5, -0.5, 0.0] if expected else [0.0] * 3)
        assert gradient.tolist() == ([0.5, 0.5, 2.0] if expected else [0.0, 1.0, 2.0])
    # Room on the far side of each of the four bounds cuts the step, in both directions.
    for change, box in [(0.2, (0, "upper")), (0.1, (1, "lower")), (-0.2, (0, "lower")), (-0.1, (1, "upper"))]:
        lower, upper = -ones, ones.copy()
        (upper if box[1] == "upper" else lower)[box[0]] = change if box[0] == 0 else -change
        b, gradient = np.zeros(3), np.sign(change) * np.array([-5.0, 5.0, 0.0])
        assert step(Q, gradient, b, lower, upper, 0, 1, 0.0) == 1
        assert b.tolist() == [change, -change, 0.0]


# -- scans --------------------------------------------------------------------------------------------------------------


def scan_rule(Q, p, b, lower, upper, tolerance, limit, rho, state):
    """Section 8.4, with the gradient evaluated anew; the generator of random places is the one of the C standard."""
    b, n, steps, everything = b.copy(), len(b), 0, True
    least = max(1e-14 * (w if np.isfinite(w) else abs(v)) for w, v in zip(upper - lower, b, strict=True))

    def tried(i, j):
        d = Q[i, i] + Q[j, j] - 2 * Q[i, j]
        g = Q @ b + p
        if i == j:
            return False
        change = (g[j] - g[i]) / max(d, FLAT * (Q[i, i] + Q[j, j]))
        change = np.clip(change, max(lower[i] - b[i], b[j] - upper[j]), min(upper[i] - b[i], b[j] - lower[j]))
        if abs(change) <= least:
            return False
        b[i], b[j] = moved(b, i, change, lower, upper), moved(b, j, -change, lower, upper)
        return True

    def inside(k):
        return lower[k] < b[k] < upper[k]

    while steps < limit:
        any_moved = False
        for i in range(n):
            g = Q @ b + p
            violates = (g[i] - rho > tolerance and b[i] > lower[i]) or (rho - g[i] > tolerance and b[i] < upper[i])
            if not violates or not (everything or inside(i)):
                continue
            free = [t for t in range(n) if inside(t)]
            partners = [max(free, key=lambda t: abs(g[i] - g[t]))] if free else []
            done = bool(partners) and tried(i, partners[0])
            for only_free in (True, False):
                if done:
                    break
                state = (1103515245 * state + 12345) % 2**31
                places = [(state + k) % n for k in range(n)]
                for j in places:
                    if (not only_free or inside(j)) and tried(i, j):
                        done, partners = True, [j]
                        break
            if done:
                any_moved, steps, g = True, steps + 1, Q @ b + p
                j = partners[0]
                rho = g[i] if inside(i) else g[j] if inside(j) else 0.5 * (g[i] + g[j])
                if steps == limit:
                    break
        if any_moved or not everything:
            everything = not any_moved
            continue
        g = Q @ b + p
        floor, ceiling = max([*g[b > lower], -np.inf]), min([*g[b < upper], np.inf])
        if not floor - ceiling > 2 * tolerance:
            return CONVERGED, steps, b
        if rho == 0.5 * (floor + ceiling):
            return STOPPED, steps, b
        rho = 0.5 * (floor + ceiling)
    return STOPPED, steps, b


@pytest.mark.parametrize("n", [2, 3, 6, 10])
def test_scans_move_the_very_pair_of_the_chapter(n):
    moves = 0
    for seed in range(160):
        Q, p, b, lower, upper = program([seed, n], n, infinite=seed % 4 == 1)
        rng = np.random.default_rng([seed, n, 1])
        if seed % 4 == 3 and n > 3:  # what would leave its bound meets free points on the wrong side of it as well
            b = np.where(rng.random(n) < 0.3, lower, np.where(rng.random(n) < 0.4, upper, b))
        if seed % 4 == 2:  # every point at a bound: rho is what the middle of the gap says
            b = np.where(np.arange(n) % 2 == 0, lower, upper)
        g = Q @ b + p
        for rho in (float(g.mean()), 100.0, float(g.min()) - 1.0):
            for limit in (0, 1):
                ours, gradient = b.copy(), g.copy()
                status, steps = _pair_steps.scans(Q, gradient, ours, lower, upper, 1e-6, limit, rho, seed)
                expected = scan_rule(Q, p, b, lower, upper, 1e-6, limit, rho, seed)
                assert (status, steps) == expected[:2]
                np.testing.assert_allclose(ours, expected[2], rtol=1e-9, atol=1e-11)
                np.testing.assert_allclose(gradient, Q @ ours + p, atol=1e-10)
                moves += steps
            if seed >= 40:
                continue
            ours, gradient = b.copy(), g.copy()
            status, steps = _pair_steps.scans(Q, gradient, ours, lower, upper, 1e-6, 100_000, rho, seed)
            assert status == CONVERGED and kkt_gap(Q, p, ours, lower, upper, True) <= 2e-6 * (1 + 1e-6)
            assert ours.sum() == pytest.approx(b.sum(), abs=1e-12)
            if steps > 1:
                again, gradient = b.copy(), g.copy()
                assert _pair_steps.scans(Q, gradient, again, lower, upper, 1e-6, steps - 1, rho, seed)[1] == steps - 1
    assert moves > 60


# -- several groups -----------------------------------------------------------------------------------------------------


def group_rule(Q, a, rows, signs, p, upper, starts, tied, tolerance, limit):
    """Of the best pair in each group with a sum and the best multiplier of each without one, the best."""
    a = a.copy()
    for step in range(limit + 1):
        v = np.zeros(len(Q))
        np.add.at(v, rows, signs * a)
        g = signs * (Q @ v)[rows] + p
        best, violation = (-1.0, None, None, 0.0), 0.0
        for group, fixed in enumerate(tied):
            part = np.arange(starts[group], starts[group + 1])
            able = part[a[part] < upper[part]]
            if not fixed:
                for k in part:
                    if (g[k] > 0 and a[k] > 0) or (g[k] < 0 and a[k] < upper[k]):
                        violation = max(violation, abs(g[k]))
                        bend = Q[rows[k], rows[k]]
                        change = -g[k] / bend if bend > 0 else -np.sign(g[k]) * np.inf
                        change = np.clip(change, -a[k], upper[k] - a[k])
                        if not np.isfinite(change):
                            return UNBOUNDED, step, a
                        gain = -change * (g[k] + 0.5 * bend * change)
                        best = max(best, (gain, k, None, change), key=lambda found: found[0])
                continue
            shrinks = part[a[part] > 0]
            if not (able.size and shrinks.size and g[shrinks].max() - g[able].min() > 0):
                continue
            i = able[g[able].argmin()]
            violation = max(violation, g[shrinks].max() - g[i])
            for k in shrinks[g[shrinks] > g[i]]:
                scale = Q[rows[i], rows[i]] + Q[rows[k], rows[k]]
                bend = scale - 2 * signs[i] * signs[k] * Q[rows[i], rows[k]]
                if bend < NEGATIVE * scale:
                    return INDEFINITE, step, a
                change = min((g[k] - g[i]) / max(bend, FLAT * scale + 1e-300), upper[i] - a[i], a[k])
                gain = change * (g[k] - g[i] - 0.5 * bend * change)
                best = max(best, (gain, i, k, change), key=lambda found: found[0])
        gain, first, second, change = best
        if violation <= tolerance:
            return CONVERGED, step, a
        if step == limit or first is None:
            break
        if abs(change) > ENDLESS:
            return UNBOUNDED, step, a
        a[first] = moved(a, first, change, np.zeros(len(a)), upper)
        if second is not None:
            a[second] = moved(a, second, -change, np.zeros(len(a)), upper)
    return STOPPED, limit, a


def grouped(Q, a, signs, p, upper, tied):
    """The arguments of the loop for groups of one multiplier a row each."""
    n, groups = len(Q), len(tied)
    rows = np.tile(np.arange(n), groups)
    return a, rows, np.repeat(signs, n).astype(float), p, upper, n * np.arange(groups + 1), np.array(tied)


def agree_in_groups(Q, arguments, limits=(0, 1), tolerance=1e-9):
    words = set()
    for limit in limits:
        a, rows, signs, p, upper, starts, tied = arguments
        ours, v = a.copy(), np.zeros(len(Q))
        np.add.at(v, rows, signs * a)
        products = Q @ v
        status, steps = _group_steps.steps(Q, products, ours, rows, signs, p, upper, starts, tied, tolerance, limit)
        expected = group_rule(Q, a, rows, signs, p, upper, starts, tied, tolerance, limit)
        assert (status, steps) == expected[:2]
        np.testing.assert_allclose(ours, expected[2], rtol=1e-9, atol=1e-11)
        exact = (expected[2] == 0) | (expected[2] == upper)
        assert ours[exact].tolist() == expected[2][exact].tolist()
        v = np.zeros(len(Q))
        np.add.at(v, rows, signs * ours)
        np.testing.assert_allclose(products, Q @ v, atol=1e-11 * (1 + np.abs(Q).max() * np.abs(ours).max()))
        words.add(status)
    return words


@pytest.mark.parametrize("tied", [[True], [False], [True, False], [True, False, True]])
def test_every_step_in_groups_is_that_of_the_rule(tied):
    for seed in range(30):
        n = 2 + seed % 5
        rng = np.random.default_rng([seed, n])
        F = rng.standard_normal((n, n + 2))
        Q, size = F @ F.T, n * len(tied)
        upper = rng.uniform(0.3, 1.5, size)
        a = np.where(rng.random(size) < 0.3, 0.0, upper * rng.random(size))
        a = np.where(rng.random(size) < 0.2, upper, a)
        if seed % 3 == 1:
            upper[-1] = np.inf
        signs, p = rng.choice([-1, 1], len(tied)), rng.standard_normal(size)
        arguments = grouped(Q, a, signs, p, upper, tied)
        agree_in_groups(Q, arguments)
        ours, rows, signs, p, upper, starts, tied_array = grouped(Q, a.copy(), signs, p, upper, tied)
        v = np.zeros(n)
        np.add.at(v, rows, signs * a)
        status, _ = _group_steps.steps(Q, Q @ v, ours, rows, signs, p, upper, starts, tied_array, 1e-6, 100_000)
        assert status == CONVERGED and (ours >= 0).all() and (ours <= upper).all()
        v = np.zeros(n)
        np.add.at(v, rows, signs * ours)
        g = signs * (Q @ v)[rows] + p
        for group, fixed in enumerate(tied):
            part = slice(starts[group], starts[group + 1])
            high, low = (
                g[part][ours[part] > 0].max(initial=-np.inf),
                g[part][ours[part] < upper[part]].min(initial=np.inf),
            )
            assert (high - low if fixed else max(high, -low)) <= 1.1e-6
            if fixed:
                assert ours[part].sum() == pytest.approx(a[part].sum(), abs=1e-12)


def test_groups_that_are_flat_or_not_convex_are_told():
    infinite, p, half = np.full(2, np.inf), np.array([0.0, 1.0]), np.full(2, 0.5)
    for excess, expected in ((4e-9, INDEFINITE), (0.25e-9, STOPPED)):
        Q = np.array([[1.0, 1.0 + excess], [1.0 + excess, 1.0]])
        words = agree_in_groups(Q, grouped(Q, half, [1], p, np.ones(2), [True]))
        assert (INDEFINITE in words) == (expected == INDEFINITE)
    flat = np.zeros((2, 2))
    assert agree_in_groups(flat, grouped(flat, half, [1], -p, infinite, [False]), [5]) == {UNBOUNDED}
    # A multiplier that can only shrink has an end.
    assert agree_in_groups(flat, grouped(flat, half, [1], p, infinite, [False]), [5]) == {CONVERGED}
    assert agree_in_groups(flat, grouped(flat, half, [1], p, infinite, [True]), [0, 1, 5]) == {STOPPED, CONVERGED}
    # The same rows with the same sign: curvature zero, so that the pair steps as far as it can.
    ones = np.ones((2, 2))
    assert agree_in_groups(ones, grouped(ones, half, [1], p, np.ones(2), [True]), [0, 1, 2]) == {STOPPED, CONVERGED}


# -- a working set ------------------------------------------------------------------------------------------------------


def stored(Q):
    """A matrix as the loops take it whose rows are all there: padded to whole registers, nothing to evaluate."""
    n = len(Q)
    length = -(-n // 16) * 16
    rows, slot = np.zeros((n, length)), np.full(length, -1)
    rows[:, :n], slot[:n] = Q, np.arange(n)
    diagonal = np.ones(length)
    diagonal[:n] = np.diag(Q)
    return np.zeros((1, 1, 16)), rows, slot, np.zeros(1, dtype=np.intp), diagonal


@pytest.mark.parametrize("n", [2, 9, 16, 20])
@pytest.mark.parametrize(
    ("loop", "rule"),
    [(_reduced.reduced_pairs, pair_rule), (_reduced.reduced_coordinates, single_rule)],
    ids=["pairs", "singles"],
)
def test_every_step_on_a_working_set_is_that_of_the_rule(loop, rule, n):
    def padded_loop(Q, gradient, b, lower, upper, tolerance, limit):
        panels, rows, slot, owner, diagonal = stored(Q)
        inner = [np.pad(values, (0, slot.size - n)) for values in (gradient, b, lower, upper)]
        found = loop(panels, rows, slot, owner, diagonal, *inner, tolerance, limit)
        assert not inner[1][n:].any(), "what fills the vectors up stays"
        gradient[:], b[:] = inner[0][:n], inner[1][:n]
        return found

    def rule_without_a_last_look(*arguments):
        return rule(*arguments, last=False)

    for seed in range(40):
        agree(padded_loop, rule_without_a_last_look, program([seed, n], n, infinite=seed % 3 == 1))
    assert sum(run(padded_loop, program([seed, n], n), rule is pair_rule, last=False) for seed in range(10)) > 5


def test_a_working_set_tells_what_is_not_convex_or_has_no_end():
    infinite, p = np.pad(np.full(2, np.inf), (0, 14)), np.pad([0.0, 1.0], (0, 14))
    ones, zero = np.pad(np.ones(2), (0, 14)), np.zeros(16)

    def told(Q, lower, upper, p=p, loop=_reduced.reduced_pairs, limit=1):
        *cache, diagonal = stored(Q)
        b = zero.copy()
        return loop(*cache, diagonal, p.copy(), b, lower, upper, 1e-9, limit), b

    for excess, expected in ((4e-9, INDEFINITE), (0.25e-9, STOPPED)):
        found, b = told(np.array([[1.0, 1.0 + excess], [1.0 + excess, 1.0]]), -ones, ones)
        assert found == (expected, 1 if expected == STOPPED else 0)
        assert b[:2].tolist() == ([1.0, -1.0] if expected == STOPPED else [0.0, 0.0])
    assert told(np.zeros((2, 2)), -infinite, infinite)[0] == (UNBOUNDED, 0)
    assert told(np.zeros((2, 2)), -infinite, infinite, loop=_reduced.reduced_coordinates)[0] == (UNBOUNDED, 0)
    found, b = told(np.ones((2, 2)), -infinite, infinite)
    assert found == (STOPPED, 1) and b[:2] == pytest.approx(np.array([1, -1]) / 2e-12)
    # Nothing may shrink: the gap is minus infinity.
    assert told(np.eye(2), zero, infinite)[0] == (CONVERGED, 0)


def test_a_survey_is_what_it_says():
    rng = np.random.default_rng(1)
    for _ in range(20):
        b, lower, upper = rng.integers(0, 3, 12) / 2.0, np.zeros(12), rng.integers(0, 3, 12) / 2.0
        b = np.minimum(b, upper)
        g = rng.integers(-3, 3, 12).astype(float)
        high, low, free = _reduced.survey(g, b, lower, upper)
        shrinks, grows = b > lower, b < upper
        assert high == max([*g[shrinks], -np.inf]) and low == min([*g[grows], np.inf])
        assert free == np.count_nonzero(shrinks & grows)


# -- kernel values ------------------------------------------------------------------------------------------------------


def packed(X, gamma, center=None):
    center = X.mean(axis=0) if center is None else center
    panels = np.full((-(-len(X) // WIDTH), X.shape[1] + 1, WIDTH), np.nan)
    _gaussian.pack(X, center, float(np.sqrt(2 * gamma * np.log2(np.e))), panels)
    return panels


def kernel(X, Z, gamma):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def sources_of(panels, rows):
    taken = np.full((-(-rows.size // SOURCES), panels.shape[1], SOURCES), np.nan)
    _gaussian.take(panels, rows, SOURCES, taken)
    return taken


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 3), (WIDTH, 2), (WIDTH + 1, 7), (3 * WIDTH - 1, 2), (4 * WIDTH, 4)])
def test_packed_points_give_the_kernel_and_fill_up_with_the_centre(n, d):
    X = np.random.default_rng(n).standard_normal((n, d)) + 2.0
    panels = packed(X, 0.3)
    coordinates = panels[:, :d].transpose(0, 2, 1).reshape(-1, d)
    np.testing.assert_allclose(coordinates[:n], np.sqrt(0.6 * np.log2(np.e)) * (X - X.mean(axis=0)), atol=1e-14)
    assert not coordinates[n:].any()
    np.testing.assert_allclose(panels[:, d].ravel(), -0.5 * (coordinates**2).sum(axis=1), atol=1e-14)
    everything = np.vstack([X, np.repeat(X.mean(axis=0)[None], panels.shape[0] * WIDTH - n, axis=0)])
    K = kernel(X, everything, 0.3)
    rows = np.full((n, len(everything)), np.nan)
    _gaussian.kernel_rows(panels, rows)
    np.testing.assert_allclose(rows, K, rtol=1e-12)
    for i in range(n):
        row = np.full(len(everything), np.nan)
        _gaussian.kernel_row(panels, i, row)
        assert row.tolist() == rows[i].tolist()
    chosen = np.random.default_rng(1).integers(0, n, 7)
    for width in (SOURCES, WIDTH):
        taken = np.full((-(-7 // width), d + 1, width), np.nan)
        _gaussian.take(panels, chosen, width, taken)
        flat = taken.transpose(0, 2, 1).reshape(-1, d + 1)
        np.testing.assert_array_equal(flat[:7, :d], coordinates[chosen])
        assert not flat[7:].any()


@pytest.mark.parametrize(("n", "m", "d"), [(5, 3, 1), (20, 7, 3), (40, 130, 2), (33, 211, 5)])
def test_weighted_sums_of_some_panels(n, m, d):
    """Added to what is there, in the panels that are named and in no other; sums longer than what is summed apart."""
    rng = np.random.default_rng([n, m])
    Z = rng.standard_normal((m, d))
    X = rng.standard_normal((n, d))
    targets, sources = packed(X, 0.2, np.zeros(d)), sources_of(packed(Z, 0.2, np.zeros(d)), np.arange(m))
    weights = np.zeros(sources.shape[0] * SOURCES)
    weights[:m] = rng.standard_normal(m)
    before = rng.standard_normal(targets.shape[0] * WIDTH)
    expected = kernel(X, Z, 0.2) @ weights[:m]
    for first in range(targets.shape[0]):
        for last in range(first, targets.shape[0] + 1):
            out = before.copy()
            _gaussian.accumulate(targets, sources, weights, out, first, last)
            named = np.zeros(out.size, dtype=bool)
            named[first * WIDTH : last * WIDTH] = True
            assert out[~named].tolist() == before[~named].tolist()
            named[n:] = False
            np.testing.assert_allclose((out - before)[:n][named[:n]], expected[named[:n]], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(3 * WIDTH, 1), (5 * WIDTH - 3, 3)])
def test_sums_over_rows_and_columns_at_once(n, d):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    panels = packed(X, 0.2)
    sources = sources_of(panels, np.arange(n))
    length = max(panels.shape[0] * WIDTH, sources.shape[0] * SOURCES)
    weights = np.zeros(length)
    weights[:n] = rng.standard_normal(n)
    K = kernel(X, X, 0.2)
    for first, last, end in [(1, 2, 1), (0, 1, 2), (1, 3, 4), (2, 3, 0), (0, 2, sources.shape[0])]:
        before, left = rng.standard_normal(length), rng.standard_normal(length)
        out, columns = before.copy(), left.copy()
        _gaussian.accumulate_both(panels, sources, weights, out, columns, first, last, end)
        rows, some = slice(first * WIDTH, min(last * WIDTH, n)), slice(0, min(end * SOURCES, n))
        np.testing.assert_allclose((out - before)[rows], K[rows, some] @ weights[some], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose((columns - left)[some], weights[rows] @ K[rows, some], rtol=1e-11, atol=1e-12)
        assert out[: first * WIDTH].tolist() == before[: first * WIDTH].tolist()
        assert out[last * WIDTH :].tolist() == before[last * WIDTH :].tolist()
        assert columns[end * SOURCES :].tolist() == left[end * SOURCES :].tolist()


def test_rows_give_way_one_after_the_other_and_the_kept_one_stays():
    """A cache of three rows: which place gives way, whose it was, and what stands in it, request by request."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((9, 2))
    panels, K = packed(X, 0.5), kernel(X, X, 0.5)
    rows, slot = np.zeros((3, 2 * WIDTH if len(X) > WIDTH else WIDTH)), np.full(16, -1)
    owner = np.array([-1, -1, -1, 0])
    held, following = [-1, -1, -1], 0
    for _ in range(300):
        i, keep = int(rng.integers(9)), int(rng.choice([-1, *(h for h in held if h >= 0)]))
        if i not in held:
            if held[following] == keep:  # an empty place counts as kept where no row is
                following = (following + 1) % 3
            held[following], place, following = i, following, (following + 1) % 3
        else:
            place = held.index(i)
        assert _reduced.fetch(i, keep, panels, rows, slot, owner) == place
        np.testing.assert_allclose(rows[place][:9], K[i], rtol=1e-12)
        assert owner.tolist() == [*held, following]
        assert [int(slot[k]) for k in range(9)] == [held.index(k) if k in held else -1 for k in range(9)]


@pytest.mark.parametrize("equality", [True, False])
def test_a_small_cache_leads_to_the_same_optimum(equality):
    """Rows evaluated on demand, two at a time, against all of them stored."""
    X = np.random.default_rng(5).standard_normal((16, 2))
    panels, K = packed(X, 0.7), kernel(X, X, 0.7)
    loop = _reduced.reduced_pairs if equality else _reduced.reduced_coordinates
    p = np.linspace(-1, 1, 16)
    ends = []
    for cache in (stored(K)[:4], (panels, np.zeros((2, 16)), np.full(16, -1), np.array([-1, -1, 0]))):
        b = np.full(16, 0.25)
        gradient = K @ b + p
        assert loop(*cache, np.ones(16), gradient, b, np.zeros(16), np.ones(16), 1e-9, 5000)[0] == CONVERGED
        np.testing.assert_allclose(gradient, K @ b + p, atol=1e-12)
        ends.append(b)
    np.testing.assert_allclose(*ends, atol=1e-5)
