"""Sets that are thin along directions that are no coordinates: the metric of an ill-conditioned covariance, in sets of one's own.

The truth of each is a closed form: around a centre C all of these sets reach to (1 + r)C along every direction, and ellipsoids
of means take the radius off the distance.
"""

from __future__ import annotations

import math
import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import SolverError
from convexnovelty.methods.single_class_mpm import semi_infinite
from convexnovelty.round_position import in_position, product
from convexnovelty.uncertainty.derived import membership_of

CONFIDENCE = 0.7
KAPPA = math.sqrt(CONFIDENCE / (1 - CONFIDENCE))
AXES = np.linalg.qr(np.array([[1.0, 2.0, 3.0], [-1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]))[0]


def thin(least):
    """A mean ten deviations off, in equal parts along the three axes of a covariance with this least variance."""
    covariance = AXES @ np.diag([1.0, 0.5, least]) @ AXES.T
    return cn.Moments(AXES @ np.array([5.0, 5.0, 5.0 * math.sqrt(least)]), (covariance + covariance.T) / 2)


class Norm(sets.CovarianceSet):
    """A ball of a norm, in the metric of the centre."""

    kind: int | str = "fro"

    def membership(self, S):
        values, vectors = np.linalg.eigh(self.center)
        G = (vectors / np.sqrt(values)).T
        return [cp.norm(G @ (S - self.center) @ G.T, self.kind) <= self.radius]


class Spectral(Norm):
    """The same with the largest eigenvalue."""

    kind = 2


class Nuclear(Norm):
    """The same with the sum of the eigenvalues' sizes, which brings variables of its own."""

    kind = "nuc"


class Between(sets.CovarianceSet):
    """Between two multiples of the centre."""

    def membership(self, S):
        return [S << (1 + self.radius) * self.center, S >> (1 - self.radius) * self.center]


class Remainder(sets.CovarianceSet):
    """Below a multiple of the centre, by an equation with a remainder."""

    def membership(self, S):
        rest = cp.Variable(self.center.shape, PSD=True)
        return [S + rest == (1 + self.radius) * self.center]


class Ellipsoid(sets.MeanSet):
    """Means by a linear matrix inequality."""

    def membership(self, m, S):
        step = cp.reshape(m - self.center, (m.size, 1), order="F")
        return [cp.bmat([[S, step], [step.T, np.array([[self.radius**2]])]]) >> 0]


class Wide(sets.MomentSet):
    """Delage and Ye's pairs, by linear matrix inequalities."""

    def membership(self, m, S):
        C, step = self.center_covariance, cp.reshape(m - self.center_mean, (m.size, 1), order="F")
        near = cp.bmat([[C, step], [step.T, np.array([[0.1]])]]) >> 0
        return [near, cp.bmat([[1.3 * C - S, step], [step.T, np.eye(1)]]) >> 0]


REACHING = [
    Norm(0.3),
    Spectral(0.3),
    Nuclear(0.3),
    Between(0.3),
    Remainder(0.3),
    Between(0.3) & Norm(0.4),
    Between(0.3) | Norm(0.1),
]


@pytest.mark.parametrize("least", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("uncertainty", REACHING, ids=repr)
def test_covariances_in_the_metric_of_the_centre(uncertainty, least):
    moments = thin(least)
    # zeta = 10 / sqrt(1.3) deviations of the worst covariance, and the objective is 1 / (zeta - kappa).
    right = 1 / (10 / math.sqrt(1.3) - KAPPA)
    for node in (cn.single_class_mpm, semi_infinite):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = node(moments, confidence=CONFIDENCE, uncertainty=uncertainty)
            found = found.solve() if hasattr(found, "solve") else found
        assert found.objective == pytest.approx(right, rel=2e-6), node


@pytest.mark.parametrize("least", [1e-3, 1e-5, 1e-7, 1e-9, 1e-10])
def test_means_and_pairs_in_the_metric_of_the_centre(least):
    moments = thin(least)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cn.single_class_mpm(moments, CONFIDENCE, Ellipsoid(0.3)).solve().objective
        assert found == pytest.approx(1 / (10 - KAPPA - 0.3), rel=1e-6)
        pairs = cn.single_class_mpm(moments, CONFIDENCE, Wide()).solve().objective
    assert pairs == pytest.approx(
        cn.single_class_mpm(moments, CONFIDENCE, sets.DelageYe(0.1, 1.3)).solve().objective, rel=1e-6
    )


@pytest.mark.parametrize("least", [1e-12, 1e-13])
@pytest.mark.parametrize("uncertainty", [Ellipsoid(0.3), Wide()], ids=["means", "pairs"])
def test_what_is_hidden_by_rounding_is_refused(uncertainty, least):
    with pytest.raises(SolverError, match=r"variances are comparable|could not be found"):
        cn.single_class_mpm(thin(least), CONFIDENCE, uncertainty).solve()


@pytest.mark.parametrize("seed", [6, 7, 8])
@pytest.mark.parametrize("moved", ["image", "preimage"])
def test_pairs_under_a_matrix_of_condition_1e4(seed, moved):
    """Delage and Ye's set is the same in all coordinates, so that neither map changes its worst loss."""
    rng = np.random.default_rng(seed)
    root, mean, a = rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal(3)
    moments = cn.Moments(mean, root @ root.T + 0.05 * np.eye(3))
    left, right = (np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2))
    T = left @ np.diag([1.0, 1.0, 1e-4]) @ right
    base = sets.DelageYe(0.1, 1.3)
    truth = sets.evaluate_loss(base.centred(moments), a, 10.0)
    there = getattr(base, moved)(T)
    assert sets.evaluate_loss(there.centred(moments), a, 10.0, "derived") == pytest.approx(truth, rel=1e-6)
    assert sets.evaluate_loss((there & there).centred(moments), a, 10.0) == pytest.approx(truth, rel=1e-6)


def test_a_set_in_round_position_is_the_same_set():
    """The support function of the arrays in position, by both of the membership's routes, against an ellipsoid's own."""
    rng = np.random.default_rng(3)
    held = membership_of(Between(0.3).centred(thin(1e-8)))
    assert held.thin
    worst = 1.3 * thin(1e-8).covariance
    for _ in range(5):
        a = np.linalg.solve(np.linalg.cholesky(worst).T, rng.standard_normal(3))
        w = np.outer(a, a)
        entries = np.concatenate(
            [[w[j, j] if i == j else math.sqrt(2) * w[i, j] for i in range(j + 1)] for j in range(3)]
        )
        value, member = held.maximise(entries)
        assert value == pytest.approx(a @ worst @ a, rel=1e-6)
        assert held.distance(member) <= 1e-6  # what rounding of its entries is, beside variances of 1e-8
        made = held.support(entries)
        assert cp.Problem(cp.Minimize(made.value), made.constraints).solve(solver="CLARABEL") == pytest.approx(
            value, rel=1e-6
        )


def test_position_keeps_what_it_combines():
    """Rows and columns of the new program are the old ones through the two maps."""
    S = cp.Variable((2, 2), symmetric=True)
    rest = cp.Variable((2, 2), PSD=True)
    C = np.array([[1.0, 0.999], [0.999, 1.0]])
    program = ConicProgram.from_problem(cp.Problem(cp.Minimize(cp.trace(S)), [S + rest == C, S >> 0]))
    columns = np.flatnonzero(abs(program.A[: program.cones.zero]).sum(axis=0) > 0)[:3]
    found = in_position(program.A, program.cones, columns)
    assert found.A.toarray() == pytest.approx((found.rows @ program.A @ found.frame).toarray(), abs=1e-10)
    assert found.cones.zero < program.cones.zero
    assert product(found.rows, program.A, found.frame).toarray() == pytest.approx(found.A.toarray(), abs=1e-10)
