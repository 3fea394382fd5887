"""Cutting planes on kappa: finite sets by enumeration, directions without variance, and sets that meet."""

from __future__ import annotations

import math

import numpy as np
import pytest

from convexnovelty.algorithms import kappa_planes
from convexnovelty.algorithms.kappa_planes import Side, largest_kappa
from convexnovelty.errors import InfeasibleError, SolverError


def finite(members, sign):
    """A side whose adversary looks through a list."""

    def attack(a, kappa):
        losses = [sign * m @ a + kappa * math.sqrt(max(a @ S @ a, 0.0)) for m, S in members]
        return members[int(np.argmax(losses))]

    return Side(members[0][0], members[0], sign, attack)


def members_of(center, seed, count=5, spread=0.3):
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        A = rng.standard_normal((2, 3))
        made.append((np.asarray(center) + (spread * rng.standard_normal(2) if i else 0.0), A @ A.T / 3))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_two_finite_sets_by_enumeration(seed):
    x, y = members_of([3.0, -1.0], seed), members_of([-2.0, 2.0], seed + 50)
    gap = x[0][0] - y[0][0]
    found = largest_kappa(np.eye(2), [finite(x, -1.0), finite(y, 1.0)], equal=gap)
    angle = np.linspace(0, 2 * np.pi, 100_001)
    a = np.stack([np.cos(angle), np.sin(angle)])
    low, high = 0.0, 50.0
    for _ in range(60):
        kappa = (low + high) / 2
        worst = [
            np.max([s * m @ a + kappa * np.sqrt(np.einsum("in,ij,jn->n", a, S, a)) for m, S in part], axis=0)
            for part, s in ((x, -1.0), (y, 1.0))
        ]
        low, high = (kappa, high) if (worst[0] + worst[1] <= 0).any() else (low, kappa)
    # The grid of directions misses the kink of a maximum by its width; what was found is granted for certain.
    assert low * (1 - 1e-9) <= found.kappa <= low * (1 + 1e-4)
    assert found.a @ gap == pytest.approx(1.0)
    assert sum(found.losses) == pytest.approx(1.0, rel=1e-7)


def test_a_hull_of_points_against_one_set():
    """Points on the line x = 4, one exact set around the origin: kappa = 4 / s along the first axis."""
    points = np.array([[4.0, 1.0], [4.0, -1.0], [6.0, 0.0]])
    side = finite([(np.zeros(2), np.diag([4.0, 1.0]))], 1.0)
    found = largest_kappa(np.eye(2), [side], least=points)
    assert found.kappa == pytest.approx(2.0, rel=1e-8)
    assert found.a == pytest.approx([0.25, 0.0], abs=1e-5)


def test_no_variance_and_no_distance():
    certain = finite([(np.zeros(2), np.zeros((2, 2)))], 1.0)
    assert math.isinf(largest_kappa(np.eye(2), [certain], least=np.array([[1.0, 0.0]])).kappa)
    # The set's means lie on both sides of the point.
    around = finite([(np.array([0.0, 0.0]), np.eye(2)), (np.array([2.0, 0.0]), np.eye(2))], 1.0)
    assert largest_kappa(np.eye(2), [around], least=np.array([[1.0, 0.0]])).kappa <= 0
    with pytest.raises(InfeasibleError):
        largest_kappa(np.eye(2), [certain], least=np.array([[1.0, 0.0], [-1.0, 0.0]]))


def test_too_few_rounds_are_an_error():
    x, y = members_of([3.0, -1.0], 1), members_of([-2.0, 2.0], 51)
    gap = x[0][0] - y[0][0]
    with pytest.raises(SolverError, match="no bound met it in 1 rounds"):
        largest_kappa(np.eye(2), [finite(x, -1.0), finite(y, 1.0)], equal=gap, rounds=1)


def test_equal_cuts_are_kept_once():
    side = finite([(np.zeros(2), np.eye(2))], 1.0)
    master = kappa_planes._Master(np.eye(2), np.zeros((0, 2)), np.array([[1.0, 0.0]]), [side])
    for _ in range(3):
        master.add(0, (np.zeros(2), np.eye(2)))
    assert len(master._members) == 1
    master.add(0, (np.ones(2), np.eye(2)))
    assert len(master._members) == 2


def test_a_master_that_fails_is_solved_with_the_newer_half_of_its_cuts(monkeypatch):
    """Balls of means, whose members never repeat: kappa is the largest of (gap'a - |a|) / (2 sqrt(a'Sa)), on a grid of angles."""
    solve, calls, held, S = kappa_planes._Master.solve, [], [], np.diag([9.0, 1.0])
    angle = np.linspace(0, np.pi, 1_000_001)
    ways = np.stack([np.cos(angle), np.sin(angle)])
    truth = float(np.max((4 * ways[0] + 3 * ways[1] - 1) / (2 * np.sqrt(9 * ways[0] ** 2 + ways[1] ** 2))))

    def side(center, sign):
        def attack(a, kappa):
            return center + sign * 0.5 * a / np.linalg.norm(a), S

        return Side(center, (center, S), sign, attack)

    def tired(master, kappa):
        calls.append(kappa)
        held.append(len(master._members))
        if len(calls) in failing:
            raise SolverError("tired")
        return solve(master, kappa)

    monkeypatch.setattr(kappa_planes._Master, "solve", tired)
    sides, gap = [side(np.array([4.0, 3.0]), -1.0), side(np.zeros(2), 1.0)], np.array([4.0, 3.0])
    failing = (3,)
    found = largest_kappa(np.eye(2), sides, equal=gap)
    assert found.kappa == pytest.approx(truth, rel=1e-7) and held[3] < held[2]
    calls.clear()
    failing = range(3, 100)
    with pytest.raises(SolverError, match="tired"):
        largest_kappa(np.eye(2), sides, equal=gap)
