"""Members of a set of covariances are covariances, also those that an operation on sets works on.

Sets whose worst corner is indefinite show it: bounds on the entries off the diagonal, far from which a semidefinite
matrix stays.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from convexnovelty import uncertainty as sets
from convexnovelty.moments import Moments

NOMINAL = Moments(np.zeros(2), np.array([[0.5, 0.2], [0.2, 0.3]]))
OFF = sets.EntrywiseInterval(0.8, np.array([[0.0, 1.0], [1.0, 0.0]]))
A = np.array([1.0, 0.7])
SHIFT = np.array([[0.6, -0.1], [-0.1, 0.4]])


def worst_variance(uncertainty) -> float:
    return sets.evaluate_deviation(uncertainty.centred(NOMINAL), A, "derived") ** 2


def by_hand() -> float:
    """The diagonal is fixed, so that the one free entry ends where the determinant does."""
    return 0.5 * A[0] ** 2 + 0.3 * A[1] ** 2 + 2 * A[0] * A[1] * min(0.2 + 0.8, np.sqrt(0.5 * 0.3))


def test_the_cone_cuts_the_corner():
    assert worst_variance(OFF) == pytest.approx(by_hand(), rel=1e-7)


def test_a_translation_moves_covariances_and_no_other_matrices():
    assert worst_variance(OFF + SHIFT) == pytest.approx(by_hand() + A @ SHIFT @ A, rel=1e-7)


@pytest.mark.parametrize("multiple", [0.1, 0.5, 0.99, 1.0])
def test_a_smaller_dilation_moves_covariances_towards_the_centre(multiple):
    expected = (1 - multiple) * (A @ NOMINAL.covariance @ A) + multiple * by_hand()
    assert worst_variance(multiple * OFF) == pytest.approx(expected, rel=1e-7)


def test_a_larger_dilation_loses_what_leaves_the_cone():
    """The displaced entry may only go as far as the cone does, whatever the multiple."""
    assert worst_variance(5.0 * OFF) == pytest.approx(by_hand(), rel=1e-6)


def test_translations_and_dilations_of_joint_sets():
    joint = sets.ExactMean() * OFF
    a = cp.Constant(A)
    pair = (np.zeros(2), SHIFT)
    for recipe, expected in (
        (sets.MomentTranslation(joint, pair), by_hand() + A @ SHIFT @ A),
        (0.5 * joint, 0.5 * (A @ NOMINAL.covariance @ A) + 0.5 * by_hand()),
    ):
        made = sets.worst_loss(recipe.centred(NOMINAL), a, 1.0, "derived")
        problem = cp.Problem(cp.Minimize(made.value), made.constraints)
        problem.solve(solver="CLARABEL")
        assert problem.value**2 == pytest.approx(expected, rel=1e-6)


def test_a_translation_against_a_search_over_factors():
    """Every covariance is L'L: a search over factors needs no cone, and finds the same worst member."""
    far = sets.FrobeniusBall(1.5)

    def loss(x):
        S = x.reshape(2, 2).T @ x.reshape(2, 2)
        return -(A @ (S + SHIFT) @ A) + 1e4 * max(np.linalg.norm(S - NOMINAL.covariance) - 1.5, 0.0) ** 2

    found = min(
        (minimize(loss, start, method="BFGS") for start in np.random.default_rng(0).standard_normal((5, 4))),
        key=lambda result: result.fun,
    )
    assert worst_variance(far + SHIFT) == pytest.approx(-found.fun, rel=1e-3)
