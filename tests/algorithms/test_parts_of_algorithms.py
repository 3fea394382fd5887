"""The pieces that algorithms share, each held to its definition: boxes, Newton steps, choices of points, counts, limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from convexnovelty import kernels
from convexnovelty.algorithms import blocks, few_violations, gaussian_gram, kernel_ridge, min_norm_point, mixture, smo
from convexnovelty.algorithms import sum_of_deviations as sums
from convexnovelty.algorithms._column_sums import column_sums
from convexnovelty.algorithms.box import Box, extended, kkt_gap, kkt_offset
from convexnovelty.algorithms.cutting_planes import CuttingPlanesResult
from convexnovelty.algorithms.free_set import admissible_step, newton_direction, projected_step
from convexnovelty.algorithms.gaussian_gram import GaussianGram, RemoteGram
from convexnovelty.algorithms.gram import gram_of, padded
from convexnovelty.algorithms.grouped_smo import Group, _finished, _Program, _with_sum
from convexnovelty.algorithms.kappa_planes import Side, _granted, _Master
from convexnovelty.algorithms.level_search import crossing
from convexnovelty.algorithms.likelihood_ratio import distributions, likelihood_ratio_test, likelihood_ratios
from convexnovelty.algorithms.sparse_gram import SparseGram
from convexnovelty.errors import IndefiniteError, InputError, SolverError
from convexnovelty.kernel_family import KernelFamily

# -- boxes ---------------------------------------------------------------------------------------------------------------


def test_boxes_of_signed_coordinates():
    box = Box.of(3, [1.0, 2.0, 3.0], [1, -1, 1], 0.5)
    assert (box.lower.tolist(), box.upper.tolist(), box.total) == ([0, -2, 0], [1, 0, 3], 0.5)
    assert Box.of(2, 0.75).upper.tolist() == [0.75, 0.75] and Box.of(2, 0.75).signs.tolist() == [1, 1]
    for total, good in ((2.0, True), (2.0 + 1e-13, True), (2.0 + 1e-10, False), (0.0, True), (-1e-10, False)):
        if good:
            Box.of(2, 1.0, None, total)
        else:
            with pytest.raises(InputError, match="upper"):
                Box.of(2, 1.0, None, total)
    assert box.free(np.array([0.0, -1.0, 3.0])).tolist() == [1]
    longer = box.extended(5)
    assert (
        longer.lower.tolist() == [0, -2, 0, 0, 0] and longer.signs.tolist() == [1, -1, 1, 1, 1] and longer.total == 0.5
    )
    assert extended(np.ones(2), 4, 7.0).tolist() == [1, 1, 7, 7] and extended(box.lower, 3) is box.lower
    half = Box.of(4, 1.0, None, 1.0).part(np.array([0, 2]))
    assert half.upper.tolist() == [2, 2] and half.total == 1.0
    one = Box.of(4, 0.5, None, 2.0).part(np.array([1]))
    assert one.upper.tolist() == [2.0], "as wide as the total needs"
    negative = Box.of(4, 0.5, -np.ones(4), -2.0).part(np.array([1]))
    assert negative.lower.tolist() == [-2.0] and negative.upper.tolist() == [0.0]


def test_feasible_points_keep_the_guess_where_they_can_and_follow_the_order():
    box = Box(np.zeros(4), np.array([1.0, 2, 3, 4]), 5.0, np.ones(4))
    for guess in itertools.product((-1.0, 0.5, 9.0), repeat=4):
        for order in itertools.permutations(range(4)):
            b = box.feasible(np.array(guess), np.array(order))
            assert b.sum() == pytest.approx(5.0) and (b >= 0).all() and (b <= box.upper).all()
            clipped = np.clip(guess, 0, box.upper)
            end = box.upper if clipped.sum() < 5 else box.lower
            # Along the order: first those that were moved to their end, then one in between, then those left alone.
            state = [0 if b[i] == end[i] and clipped[i] != end[i] else 2 if b[i] == clipped[i] else 1 for i in order]
            moved = [s for i, s in zip(order, state, strict=True) if clipped[i] != end[i]]
            assert moved == sorted(moved) and moved.count(1) <= 1
    free = Box(box.lower, box.upper, None, box.signs)
    assert free.feasible(np.array([-1.0, 1, 9, 4]), np.arange(4)).tolist() == [0, 1, 3, 4]


def test_thresholds_minimise_a_linear_score():
    rng = np.random.default_rng(0)
    from scipy.optimize import linprog

    for equal in (True, False):
        for total in (0.0, 0.3, 1.0, 2.2, 3.0):
            width = np.ones(6) * 0.5 if equal else rng.uniform(0.5, 1.0, 6)
            box, score = Box(-0.1 * np.ones(6), width - 0.1, total - 0.6, np.ones(6)), rng.standard_normal(6)
            b = box.threshold(score)
            best = linprog(
                score, A_eq=np.ones((1, 6)), b_eq=[total - 0.6], bounds=list(zip(box.lower, box.upper, strict=True))
            )
            assert b.sum() == pytest.approx(total - 0.6) and score @ b == pytest.approx(best.fun, abs=1e-9)
            assert (b >= box.lower - 1e-15).all() and (b <= box.upper + 1e-15).all()


def test_gaps_and_offsets_by_hand():
    box = Box(np.zeros(4), np.ones(4), 1.0, np.ones(4))
    g = np.array([1.0, 2.0, 5.0, 7.0])
    assert kkt_offset(g, np.array([1.0, 0.25, 0.75, 0.0]), box) == (3.0, (2.0, 5.0, 3.5))
    assert kkt_offset(g, np.array([1.0, 0, 0, 0]), box) == (0.0, (1.0, 2.0, 1.0))
    assert kkt_offset(g, np.zeros(4), box) == (0.0, (-np.inf, 1.0, 1.0))
    assert kkt_offset(g, np.ones(4), box) == (0.0, (7.0, np.inf, 7.0))
    assert kkt_offset(g, np.zeros(4), Box(np.zeros(4), np.zeros(4), 0.0, np.ones(4)))[1].used == 0.0
    alone = Box(np.zeros(4), np.ones(4), None, np.ones(4))
    assert kkt_offset(g, np.zeros(4), alone) == (0.0, (0, 0, 0))
    assert kkt_gap(g, np.array([0, 0.5, 0, 0.0]), alone) == 2.0 and kkt_gap(-g, np.array([1, 1, 0, 0.0]), alone) == 7.0


# -- Newton steps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_newton_steps_solve_the_optimality_system(unit):
    rng = np.random.default_rng(1)
    F = rng.standard_normal((5, 7))
    for Q in (F @ F.T, F[:, :3] @ F[:, :3].T, np.repeat(np.repeat(F[:3] @ F[:3].T, 2, 0), 2, 1)):
        Q, k = unit * Q, len(Q)
        g = Q @ rng.standard_normal(k)
        free = newton_direction(Q, g, None)
        assert np.abs(Q @ free + g).max() <= 1e-9 * np.abs(g).max()
        for missing in (0.0, 0.7):
            tied = newton_direction(Q, g, missing)
            slope = Q @ tied + g
            assert tied.sum() == pytest.approx(missing, abs=1e-9)
            assert np.ptp(slope) <= 1e-7 * np.abs(g).max()
    with pytest.raises(np.linalg.LinAlgError, match="zero"):
        newton_direction(np.zeros((2, 2)), np.ones(2), None)
    with pytest.raises(np.linalg.LinAlgError, match="semidefinite"):
        newton_direction(unit * np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2), None)


def test_steps_are_cut_at_the_first_bound_or_projected():
    b, lower, upper = np.array([0.5, 0.5, 0.5]), np.zeros(3), np.array([1.0, 2.0, 1.0])
    assert [x.tolist() if i == 0 else x for i, x in enumerate(admissible_step(b, np.array([0.25, -0.25, 0]), lower, upper))] == [
        [0.75, 0.25, 0.5], True]  # fmt: skip
    moved, whole = admissible_step(b, np.array([1.0, 1.0, -2.0]), lower, upper)
    assert (moved.tolist(), whole) == ([0.75, 0.75, 0.0], False)
    moved, whole = admissible_step(b, np.array([0.5, 0.0, -0.5]), lower, upper)
    assert (moved.tolist(), whole) == ([1.0, 0.5, 0.0], True)
    third = np.array([0.1, 0.2, 0.3])
    for scale in (7.0, -7.0):
        moved, whole = admissible_step(third, scale * np.array([1.0, 2.0, 3.0]), lower, upper)
        assert not whole and (moved[2] == 1.0 if scale > 0 else (moved == 0.0).any()), "the bound itself"
    assert projected_step(b, np.array([0.25, -0.5, 0.5]), lower, upper)[1] is True
    moved, whole = projected_step(b, np.array([1.0, 0.25, -1.0]), lower, upper)
    assert (moved.tolist(), whole) == ([1.0, 0.5, 0.0], False)
    assert projected_step(b, np.array([0.0, 1.6, 0.0]), lower, upper)[0].tolist() == [0.5, 2.0, 0.5]


@pytest.mark.parametrize("missing", [None, 0.0])
def test_working_sets_are_solved_within_their_box(missing):
    """Against the solver of the whole program: gradient and change are those of the block, from a point inside."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        F = rng.standard_normal((6, 8))
        Q, p, b = F @ F.T, 3 * rng.standard_normal(6), np.full(6, 0.5)
        box = Box(np.zeros(6), np.ones(6), None if missing is None else 3.0, np.ones(6))
        moved = blocks._newton(Q, Q @ b + p, b, box, np.arange(6), missing)
        assert (moved >= 0).all() and (moved <= 1).all()
        if missing is not None:
            assert moved.sum() == pytest.approx(3.0)

        def value(a, Q=Q, p=p):
            return 0.5 * a @ Q @ a + p @ a

        assert value(moved) <= value(b) + 1e-12
        found, whole = blocks._active_set(Q, Q @ b + p, b, box.lower, box.upper, missing, admissible_step)
        free = (found > 0) & (found < 1)
        if whole and free.any():
            slope = (Q @ found + p)[free]
            assert np.abs(slope - (slope.mean() if missing is not None else 0.0)).max() <= 1e-9
        best = smo.smo(Q, p, upper=1.0, d=3.0, equality=missing is not None).objective
        assert value(found) >= best - 1e-9
        if not whole:
            assert not free.any()


def test_points_that_violate_most_are_chosen_from_both_sides():
    n = 40
    g = np.arange(n, dtype=float)
    box = Box(np.zeros(n), np.r_[0.0, np.ones(n - 1)], 1.0, np.ones(n))
    b = np.zeros(n)
    b[[20, 30, 35]] = 1.0
    b[10] = 0.5
    chosen = blocks._most_violating(blocks.State(b, g), box, 4)
    # Two of largest gradient that may shrink, two of least that may grow, and the free one; the fixed one cannot move.
    assert chosen.tolist() == [1, 2, 10, 30, 35] or chosen.tolist() == [1, 10, 30, 35]
    everything = blocks._most_violating(blocks.State(b, g), box, 100)
    assert everything.tolist() == list(range(1, n))


def test_the_block_method_counts_its_columns_and_rounds():
    X = np.random.default_rng(3).standard_normal((60, 2))
    gram = gram_of(X, kernels.laplacian(gamma=0.5))
    length = padded(60)
    box = Box.of(60, 1.0, None, 6.0).extended(length)
    state = blocks.minimise(gram, np.zeros(length), box, 1e-8)
    K = kernels.laplacian(gamma=0.5)(X)
    np.testing.assert_allclose(state.gradient[:60], K @ state.b[:60], atol=1e-12)
    assert kkt_gap(state.gradient[:60], state.b[:60], Box.of(60, 1.0, None, 6.0)) <= 1e-8
    assert state.columns >= np.count_nonzero(state.b) and state.steps > 0 and 1 <= state.rounds <= 20
    with pytest.raises(SolverError, match="after 0 rounds"):
        blocks.minimise(gram, np.zeros(length), box, 1e-8, rounds=0)
    assert blocks.minimise(gram, np.zeros(length), box, 1e-8, rounds=state.rounds).rounds == state.rounds


# -- groups --------------------------------------------------------------------------------------------------------------


def test_stacked_groups_by_hand():
    Q = np.array([[2.0, 1.0], [1.0, 3.0]])
    program = _Program(Q, (Group(upper=1.0, total=1.0), Group(sign=-1.0, linear=0.5)))
    a = np.array([1.0, 0.0, 0.25, 0.0])
    assert program.combined(a).tolist() == [0.75, 0.0]
    assert program.gradient(Q @ [0.75, 0.0]).tolist() == [1.5, 0.75, -1.0, -0.25]
    assert program.size(a) == 1.5 + 0.5
    assert program.attainable(a, 0.1) == pytest.approx(0.2) and program.attainable(a, 1e-30) == pytest.approx(
        2.5 * 2.0**-52
    )
    assert program.levels(a, Q @ [0.75, 0.0]) == ((0.75, 1.5), (0.0, 0.0))
    assert program.gap(a, Q @ [0.75, 0.0]) == 1.0, "the second group's may grow, by its own gradient"
    assert program.gap(np.array([1.0, 0, 0, 0]), np.array([1.5, -0.25])) == 1.75
    assert program.feasible([np.array([3.0, 3.0]), np.array([-1.0, 7.0])]).tolist() == [0.5, 0.5, 0.0, 7.0]
    assert _with_sum(np.array([0.9, 0.1, 0.0]), 1.0, 2.2) == pytest.approx([1.0, 0.65, 0.55])
    assert _with_sum(np.array([0.9, 0.1, 0.8]), 1.0, 1.0) == pytest.approx([0.55, 0.0, 0.45])


def test_groups_end_by_newton_steps_from_wherever_they_are():
    """The active-set method alone, from a feasible guess that is no solution, leaves nothing but rounding."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((12, 2))
    Q = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for groups in (
        (Group(upper=0.2, total=1.0),),
        (Group(upper=0.3, total=1.0), Group(linear=-1.0), Group(sign=-1.0, total=0.7)),
    ):
        program = _Program(Q, groups)
        a = program.feasible([rng.random(12) for _ in groups])
        before = program.gap(a, Q @ program.combined(a))
        done = _finished(program, a)
        after = program.gap(done, Q @ program.combined(done))
        assert after <= 1e-12 < before
        for g, part in zip(groups, np.split(done, len(groups)), strict=True):
            assert (part >= 0).all() and (part <= g.upper).all()
            assert g.total is None or part.sum() == pytest.approx(g.total)


# -- nearest points, choices, levels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_nearest_point_of_a_hull_is_that_of_a_quadratic_program(unit):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, r = int(rng.integers(2, 12)), int(rng.integers(1, 5))
        P = unit * (rng.standard_normal((n, r)) + rng.integers(0, 3))
        found = min_norm_point.min_norm_point(P)
        best = smo.smo(P @ P.T, upper=1.0, semidefinite=True)
        assert found.distance**2 == pytest.approx(2 * best.objective, rel=1e-8, abs=1e-13 * unit**2)
        assert found.weights.sum() == pytest.approx(1.0) and found.weights.min() >= 0
        np.testing.assert_allclose(found.weights @ P, found.point, atol=1e-12 * np.abs(P).max())
        assert found.gap == pytest.approx(
            max(found.point @ found.point - (P @ found.point).min(), 0), abs=1e-12 * np.abs(P).max() ** 2
        )
        assert 1 <= found.iterations <= 100 * (n + r)
    corners = [[1.0, 1.0], [1.0, -1.0]]
    assert min_norm_point.min_norm_point(corners).iterations == 2
    with pytest.raises(SolverError, match="after 1 rounds"):
        min_norm_point.min_norm_point(corners, max_iterations=1)


def test_points_leave_a_corral_on_the_straight_way():
    """From the first corner towards the nearest point of the line, which lies beyond the second one."""
    rows = np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 5.0]])
    corral, weights = min_norm_point._corral(rows, [0, 1], np.array([0.5, 0.5]))
    assert (corral, weights.tolist()) == ([1], [1.0])
    assert min_norm_point._affine(rows[[0, 1]]) == pytest.approx([-0.5, 1.5])
    corral, weights = min_norm_point._corral(
        np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 5.0]]), [0, 1, 2], np.array([0.2, 0.3, 0.5])
    )
    assert corral == [0, 1] and weights == pytest.approx([0.5, 0.5])


def test_limits_are_reached_and_not_passed():
    """Ten choices of three out of five: ten are allowed, nine are not."""
    radii = np.array([5.0, 1.0, 4.0, 2.0, 3.0])

    def solve(kept):
        i = int(kept[radii[kept].argmax()])
        return float(radii[i]), np.array([i]), np.ones(1)

    found = few_violations.enumerate_choices(solve, 5, 3, limit=10)
    assert (found.value, found.left_out.tolist(), found.solved) == (2.0, [0, 2, 4], 10)
    with pytest.raises(InputError, match="10 choices"):
        few_violations.enumerate_choices(solve, 5, 3, limit=9)
    tree = few_violations.support_tree(solve, 5, 3, limit=4)
    assert (tree.value, tree.left_out.tolist(), tree.solved) == (2.0, [0, 2, 4], 4)
    with pytest.raises(SolverError, match="3 programs"):
        few_violations.support_tree(solve, 5, 3, limit=3)
    line = few_violations.greedy(solve, 5, 3)
    assert (line.value, line.left_out.tolist(), line.solved) == (2.0, [0, 2, 4], 4)
    hit = few_violations.hitting_sets(solve, 5, 3)
    assert hit.value == 2.0 and hit.left_out.tolist() == [0, 2, 4] and hit.solved >= 4
    with pytest.raises(SolverError, match="0 rounds"):
        few_violations.hitting_sets(solve, 5, 3, rounds=0)
    assert few_violations._completed([1], 3, 5).tolist() == [1, 3, 4] and few_violations._completed(
        [4, 0], 2, 5
    ).tolist() == [0, 4]
    assert few_violations._count(4, 5) == 4
    with pytest.raises(InputError, match="below 5"):
        few_violations._count(5, 5)
    support, spent = few_violations._shrunk(
        lambda kept: (float(len(kept)), kept, np.ones(len(kept))), np.arange(4), np.arange(4.0), 2.0
    )
    assert (support.tolist(), spent) == ([2, 3], 4)


def test_crossings_cost_few_calls_and_are_found_from_either_side():
    for root in (1e-5, 0.3, 7.0, 1e6):
        for guess in (1e-7, 0.1, 1.0, 50.0, 1e9):
            calls: list[float] = []

            def function(x, root=root, calls=calls):
                calls.append(x)
                return x / root - 1

            assert crossing(function, guess, 1e-12) == pytest.approx(root, rel=1e-9)
            assert len(calls) == len(set(calls)) <= 15
            calls.clear()
            assert crossing(function, guess, 1e-12, lowest=1e-6, highest=1e8) == pytest.approx(root, rel=1e-9)
            assert len(calls) == len(set(calls)) <= 30 and min(calls) >= 1e-6 and max(calls) <= 1e8
    assert crossing(lambda x: 1.0) == -math.inf and crossing(lambda x: -1.0) == math.inf
    assert crossing(lambda x: 0.0 if x >= 2 else -1.0, 1.0) == pytest.approx(2.0, rel=0.2)


# -- tests between distributions ----------------------------------------------------------------------------------------


def test_most_powerful_tests_are_the_optimum_of_a_linear_program():
    from scipy.optimize import linprog

    for seed in range(20):
        rng = np.random.default_rng(seed)
        p0, px = rng.integers(0, 4, 6) + 0.0, rng.integers(0, 4, 6) + 0.0
        p0[0] += 1
        px[5] += 1
        p0, px = p0 / p0.sum(), px / px.sum()
        for rate in (0.0, 0.1, 0.5, 1.0):
            found = likelihood_ratio_test(p0, px, rate)
            best = linprog(-px, A_ub=[p0], b_ub=[rate], bounds=[(0, 1)] * 6)
            assert found.false_negative_rate == pytest.approx(1 + best.fun, abs=1e-9)
            assert found.false_positive_rate <= rate + 1e-12 and 0.0 <= found.randomisation <= 1.0
            ratios = likelihood_ratios(p0, px)
            assert (found.novel[ratios > found.threshold * (1 + 1e-9)] == 1).all()
            assert (found.novel[ratios < found.threshold * (1 - 1e-9)] == 0).all()
            assert found.novel[ratios == found.threshold] == pytest.approx(found.randomisation)
    assert likelihood_ratios(np.array([0.5, 0, 0, 0.5]), np.array([0.25, 0.5, 0, 0])).tolist() == [0.5, np.inf, 0, 0]
    near = distributions([0.5, 0.5 + 9e-7], [1.0, 0.0])
    assert near[0].sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InputError, match="the sum is"):
        distributions([0.5, 0.5 + 2e-6], [1.0, 0.0])


# -- Gram matrices -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_every_gram_matrix_is_that_of_its_kernel(scale):
    """Blocks, products, columns, subsets and rows; at the larger scale distances from products would lose their digits."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((37, 3))
    X[:4] *= scale
    X[1] = X[0] + 0.3
    v, some = rng.standard_normal(37), np.array([0, 5, 1, 36])
    for kernel in (kernels.gaussian(gamma=0.5), kernels.linear(), kernels.polynomial(2), kernels.laplacian(gamma=0.3)):
        K = kernel(X)
        for sparse in (False, True):
            if sparse and not kernel.takes_sparse:
                continue
            gram = SparseGram(sp.csr_array(X), kernel) if sparse else gram_of(X, kernel)
            size = np.abs(K).max()
            np.testing.assert_allclose(gram.block(some), K[np.ix_(some, some)], atol=1e-11 * size)
            np.testing.assert_allclose(gram.product(v), K @ v, atol=1e-11 * size)
            np.testing.assert_allclose(gram.subset(some).block(np.arange(4)), K[np.ix_(some, some)], atol=1e-11 * size)
            np.testing.assert_allclose(gram.diagonal()[:37], np.diag(K), rtol=1e-12)
            assert gram.diagonal()[37:].tolist() == [1.0] * (padded(37) - 37)
            out = np.ones(padded(37))
            gram.accumulate(out, some, v[some])
            np.testing.assert_allclose(out[:37], 1 + K[:, some] @ v[some], atol=1e-11 * size)
            assert gram.remoteness().shape == (padded(37),)


def test_remote_points_are_told_by_their_distance_from_the_centre():
    """gamma |x - centre|^2 beyond 1e4, on either side of it."""
    for inside in (True, False):
        X = np.zeros((400, 1))
        X[0], X[1] = (99.0, -99.0) if inside else (101.0, -101.0)
        _, center, remote = gaussian_gram._packed(X, kernels.gaussian(gamma=1.0))
        assert center == pytest.approx([0.0]) and remote.tolist() == ([] if inside else [0, 1])
        made = gaussian_gram.gaussian_gram(X, kernels.gaussian(gamma=1.0))
        assert isinstance(made, GaussianGram if inside else RemoteGram)


def test_column_sums_and_their_refusals():
    rng = np.random.default_rng(6)
    X = sp.random_array((9, 5), density=0.5, rng=rng, format="csr")
    w = rng.integers(0, 3, 9).astype(float)
    out = np.ones((5, 2))
    assert column_sums(X.indptr, X.indices, X.data, w, out)
    np.testing.assert_allclose(out, 1 + np.stack([w @ X.toarray(), w @ X.toarray() ** 2], axis=1))
    for indices in ([1, 0], [2, 2], [0, 5], [0, 7]):
        given = np.array([0, 2]), np.array(indices), np.ones(2)
        assert not column_sums(*given, np.ones(1), np.zeros((5, 2)))
        assert column_sums(*given, np.zeros(1), np.zeros((5, 2))), "a row of weight zero is not read"
    assert column_sums(np.array([0, 2]), np.array([0, 4]), np.ones(2), np.ones(1), np.zeros((5, 2)))


# -- ridge ----------------------------------------------------------------------------------------------------------------


def test_what_a_ridge_solution_says_of_itself():
    rng = np.random.default_rng(7)
    X, weights = rng.standard_normal((30, 2)), rng.random(30)
    kernel, rho = kernels.gaussian(gamma=0.5), 0.05
    K, q = kernel(X), np.sqrt(weights / weights.sum())
    for direct in (0, 100):
        found = kernel_ridge.kernel_ridge(X, kernel, rho, weights=weights, direct=direct, tolerance=1e-11)
        h = np.linalg.solve(q[:, None] * K * q + rho * np.eye(30), q)
        f = K @ (q * h)
        assert found.coefficients == pytest.approx(q * h, abs=1e-9) and found.scores == pytest.approx(f, abs=1e-9)
        mean = q**2 @ f
        assert found.spread == pytest.approx(np.sqrt(q**2 @ (f - mean) ** 2), rel=1e-7)
        assert found.overlap == pytest.approx(q @ h, rel=1e-9) and found.share == pytest.approx(mean, rel=1e-9)
        assert found.zeta == pytest.approx(math.sqrt(mean / (rho * (q @ h))), rel=1e-9)
        assert found.scale(0.1) == pytest.approx(1 / (rho * (q @ h) * (found.zeta**2 - 0.1 * found.zeta)), rel=1e-9)
        assert found.certificate.error == found.residual / found.spread
        assert (found.iterations > 0, found.rank > 0) == (direct == 0, direct == 0)


def test_conjugate_gradients_take_as_many_products_as_they_may():
    X = np.random.default_rng(8).standard_normal((40, 3))
    gram = gram_of(X, kernels.gaussian(gamma=0.3))
    system = kernel_ridge._System(gram, np.full(40, 40**-0.5), 1e-3)
    for limit in (1, 2, 5):
        x, count = kernel_ridge._gradients(system, lambda r: r, system.q, 1e-300, limit)
        assert count == limit and np.count_nonzero(x)
        # The error of the step lies in no direction of the Krylov space: the residual is orthogonal to the start.
        assert abs((system.q - system(x)) @ system.q) <= 1e-10
    x, count = kernel_ridge._gradients(system, lambda r: r, system.q, 1e-10, 500)
    assert count < 60 and np.linalg.norm(system.q - system(x)) <= 1e-9
    F = np.random.default_rng(9).standard_normal((12, 4))
    v = np.arange(12.0)
    assert kernel_ridge._woodbury(F, 0.3)(v) == pytest.approx(np.linalg.solve(F @ F.T + 0.3 * np.eye(12), v))
    assert kernel_ridge._roots([1.0, 3.0], 2) == pytest.approx([0.5, math.sqrt(0.75)])


# -- two deviations, kappa, mixtures ------------------------------------------------------------------------------------


def test_common_axes_of_covariances_with_coordinates_that_never_vary():
    rng = np.random.default_rng(10)
    F, G = rng.standard_normal((2, 4, 4))
    mask = np.array([1.0, 1.0, 0.0, 1.0])
    first, second = (mask[:, None] * (A @ A.T) * mask for A in (F, G))
    spreads = sums.Spread.of(first), sums.Spread.of(second)
    axes = sums.Axes.of(*spreads)
    assert axes.matrix.shape == (4, 3) and np.isfinite(axes.matrix).all()
    np.testing.assert_allclose(axes.matrix.T @ first @ axes.matrix, np.diag(axes.first), atol=1e-10)
    np.testing.assert_allclose(axes.matrix.T @ second @ axes.matrix, np.diag(axes.second), atol=1e-10)
    np.testing.assert_allclose(axes.first + axes.second, 1.0, atol=1e-10)
    np.testing.assert_allclose(axes.inverse @ axes.matrix, np.eye(3), atol=1e-10)
    d = np.array([1.0, 2.0, 0.0, -1.0])
    found = sums.by_axes(*spreads, d)
    for _ in range(50):
        a = rng.standard_normal(4)
        a /= a @ d
        assert math.sqrt(a @ first @ a) + math.sqrt(a @ second @ a) >= found.value * (1 - 1e-9)
    assert found.first == pytest.approx(math.sqrt(found.a @ first @ found.a)) and found.a @ d == pytest.approx(1.0)
    assert found.second == pytest.approx(math.sqrt(found.a @ second @ found.a)) and found.kappa == 1 / found.value
    assert found.t == pytest.approx(found.first / found.second, rel=1e-9)


def test_newton_quantities_of_the_ratio_are_derivatives():
    rng = np.random.default_rng(11)
    F, G = rng.standard_normal((2, 5, 6))
    A, B, e, h = F @ F.T, G @ G.T, rng.standard_normal(5), 1e-6
    for t in (0.3, 1.0, 4.0):
        y, change, logarithm, slope, _ = sums._stationary(A, B, e, t)
        assert y == pytest.approx(np.linalg.solve(A + t * B, e))
        assert logarithm == pytest.approx(0.5 * math.log((y @ A @ y) / (y @ B @ y)))
        up, down = sums._stationary(A, B, e, t * (1 + h)), sums._stationary(A, B, e, t * (1 - h))
        assert change == pytest.approx((up[0] - down[0]) / (2 * h * t), rel=1e-5, abs=1e-6)
        assert slope == pytest.approx((up[2] - down[2]) / (2 * h), rel=1e-5)


def test_kappa_that_a_direction_grants_is_the_root_of_its_losses():
    m, S = np.array([2.0, 1.0]), np.array([[1.0, 0.2], [0.2, 0.5]])
    members = [(m, S), (m - 0.3, 1.5 * S)]
    sides = [
        Side(
            m, members[0], -1.0, lambda a, k: max(members, key=lambda u: -(u[0] - m) @ a + k * math.sqrt(a @ u[1] @ a))
        )
    ]
    a = np.array([0.3, 0.4])
    master = _Master(np.eye(2), m[None, :], np.zeros((0, 2)), sides)
    kappa = _granted(master, a, 1e-3)
    assert max(-(u[0] - m) @ a + kappa * math.sqrt(a @ u[1] @ a) for u in members) == pytest.approx(1.0, rel=1e-7)
    assert sides[0].loss(a, members[1], 2.0) == pytest.approx(0.3 * 0.7 + 2 * math.sqrt(1.5 * a @ S @ a))
    assert master.direction(np.array([1.0, 1.0])) @ m == pytest.approx(1.0)
    assert master.shortest() == pytest.approx(m / (m @ m), abs=1e-7)
    value, y = master.solve(0.5)
    grid = [np.array([x, 1 - 2 * x]) for x in np.linspace(-2, 2, 4001)]
    assert value == pytest.approx(
        min(max(-(u[0] - m) @ g + 0.5 * math.sqrt(g @ u[1] @ g) for u in members) for g in grid), abs=1e-5
    )
    assert y @ m == pytest.approx(1.0, abs=1e-6)


def test_inner_machines_touch_the_planes_below_them():
    """value = constant + slopes' weights, and the plane lies below the value at any other weights."""
    X = np.random.default_rng(12).standard_normal((12, 2)) + 1.0
    family = KernelFamily.of_kernels(X, [kernels.gaussian(gamma=g) for g in (0.2, 1.0, 3.0)])
    for weight in (0.0, 0.7):
        machine = mixture.Machine(family, 0.3, 2.0, weight)
        weights = [np.array(w) for w in ([0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [1 / 3] * 3)]
        inners = [machine.solve(w) for w in weights]
        for w, inner in zip(weights, inners, strict=True):
            assert inner.value == pytest.approx(inner.constant + inner.slopes @ w)
            assert inner.gap(w) == pytest.approx(inner.slopes @ w - inner.slopes.min())
            for other, there in zip(weights, inners, strict=True):
                assert inner.constant + inner.slopes @ other <= there.value + 1e-8
            h = 1e-4 * (np.eye(3)[0] - np.eye(3)[1])
            difference = machine.solve(w + h).value - machine.solve(w - h).value
            assert difference == pytest.approx(2 * inner.slopes @ h, rel=1e-3, abs=1e-9)
        best, inner, _ = mixture.cutting_plane_weights(machine)
        assert (
            inner.value <= min(i.value for i in inners) + 1e-9 and best.sum() == pytest.approx(1.0) and best.min() >= 0
        )
        assert inner.gap(best) <= 1e-6
        level, found = mixture._master(np.array([i.constant for i in inners]), np.array([i.slopes for i in inners]))
        planes = [i.constant + i.slopes @ found for i in inners]
        assert level == pytest.approx(max(planes)) and found.sum() == pytest.approx(1.0) and level <= inner.value + 1e-8


def test_bounds_of_cutting_planes_are_relative_to_the_larger():
    assert CuttingPlanesResult({}, 3.0, 4.0, 1, 1).gap == 0.25 and CuttingPlanesResult({}, -4.0, -3.0, 1, 1).gap == 0.25
    assert CuttingPlanesResult({}, 0.0, 0.0, 1, 1).gap == 0.0


def test_indefinite_is_what_rounding_does_not_explain():
    for least, refused in ((-1e-7, True), (-1e-11, False), (0.0, False)):
        matrix = np.diag([1.0, 2.0, least])
        for unit in (1e-6, 1e6):
            if refused:
                with pytest.raises(IndefiniteError):
                    smo.refuse_indefinite(unit * matrix)
            else:
                smo.refuse_indefinite(unit * matrix)


def test_the_start_of_the_chapters_rule_is_drawn_and_that_of_the_other_is_not(monkeypatch):
    """The sum is filled up coordinate by coordinate: in the order of a permutation that the seed decides, or in their own."""
    starts = []
    solve = smo._minimise
    monkeypatch.setattr(smo, "_minimise", lambda program, b, *rest: starts.append(b.copy()) or solve(program, b, *rest))
    for rule in ("schoelkopf", "second-order"):
        for seed in range(6):
            smo.smo(np.eye(8), upper=0.4, rule=rule, seed=seed)
    drawn, fixed = np.array(starts[:6]), np.array(starts[6:])
    assert len(np.unique(drawn, axis=0)) > 1 and (np.sort(drawn) == np.sort(fixed)).all()
    assert fixed == pytest.approx(np.tile([0.4, 0.4, 0.2, 0, 0, 0, 0, 0], (6, 1)))
    chosen = np.random.default_rng(3).permutation(8)[:3]
    assert drawn[3][chosen] == pytest.approx([0.4, 0.4, 0.2])


def test_a_point_at_the_origin_has_a_ridge_solution_and_a_negative_square_has_none():
    """A Gram matrix that is given, by iterations: zero is a length, and minus one is what its message says."""
    X = np.random.default_rng(13).standard_normal((12, 3))
    X[4] = 0.0
    found = kernel_ridge.kernel_ridge(X @ X.T, kernels.precomputed(), 0.1, direct=0)
    assert found.scores[4] == pytest.approx(0.0, abs=1e-12)
    assert found.scores == pytest.approx(
        kernel_ridge.kernel_ridge(X @ X.T, kernels.precomputed(), 0.1).scores, abs=1e-8
    )
    with pytest.raises(IndefiniteError, match="least eigenvalue is -1"):
        kernel_ridge.kernel_ridge(
            X @ X.T - np.diag([1.0 if i == 4 else 0.0 for i in range(12)]), kernels.precomputed(), 0.1, direct=0
        )
