r"""Images of sets of means that see the covariance, in columns whose deviations differ by orders of magnitude.

With :math:`S \preceq 1.3 S_0` and :math:`m = m_0 + Ty`, :math:`y` in the :math:`\nu`-ellipsoid of :math:`T^+ST^{+\prime}`, mean
and deviation are both worst at :math:`1.3 S_0`: the worst loss is :math:`\nu\sqrt{1.3\,c'S_0c} + \kappa\sqrt{1.3\,a'S_0a}` with
:math:`c = T^{+\prime}T'a`. An invertible matrix leaves the ellipsoid of :math:`S` what it is.
"""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.round_position import _solved
from convexnovelty.uncertainty.tools import inverse

NU = 0.4


class TraceCap(sets.CovarianceSet):
    """Covariances whose total variance is no larger than the centre's."""

    def membership(self, S):
        return [cp.trace(S) <= np.trace(self.center)]


def raw(load, columns):
    data = load()
    return cn.Moments.estimate(data.data[data.target == 0][:59][:, columns])


def losses(uncertainty, mean, a, kappa):
    """What the counterpart, its derivation, the adversary and the worst member add to the mean's score, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m, S = sets.worst_member(uncertainty, a, kappa)
        return np.array(
            [
                sets.evaluate_loss(uncertainty, a, kappa) - mean @ a,
                sets.evaluate_loss(uncertainty, a, kappa, route="derived") - mean @ a,
                sets.adversary(uncertainty, a, kappa).value - mean @ a,
                (m - mean) @ a + kappa * np.sqrt(a @ S @ a),
            ]
        )


TALL = [
    (load_wine, [0, 4, 7], [[1, 0.5], [0, 1], [0.2, 0]]),
    (
        load_breast_cancer,
        [3, 28, 24, 0],
        [[1.1, -0.7, -1.4], [-1.8, -1.6, -0.6], [1.0, 0.2, -0.6], [-1.1, -0.5, -0.4]],
    ),
    (load_breast_cancer, [14, 18, 23, 22], [[1.0, 0.5], [0.2, 1.0], [0.0, 0.2], [0.0, 0.0]]),
]


@pytest.mark.parametrize("lower", [0.0, 1e-3])
@pytest.mark.parametrize(("load", "columns", "loadings"), TALL)
def test_factors_in_the_units_of_the_columns(load, columns, loadings, lower):
    moments = raw(load, columns)
    lengths = np.sqrt(moments.variances)
    T = lengths[:, None] * np.array(loadings)
    between = sets.LoewnerInterval(0.3, "nominal", lower * moments.covariance if lower else None)
    uncertainty = (sets.MeanEllipsoid(NU).image(T) * between).centred(moments)
    top, back, rng = 1.3 * moments.covariance, np.linalg.pinv(T), np.random.default_rng(7)
    for kappa in (0.0, 0.3, 3.0):
        a = rng.standard_normal(lengths.size) / lengths
        c = back.T @ T.T @ a
        right = NU * np.sqrt(c @ top @ c) + kappa * np.sqrt(a @ top @ a)
        assert losses(uncertainty, moments.mean, a, kappa) == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("columns", [[3, 17, 20, 11], [27, 13, 23, 2, 24]])
def test_an_invertible_matrix_changes_nothing(columns):
    """The truth is the program in columns of deviation one."""
    moments = raw(load_breast_cancer, columns)
    lengths, size = np.sqrt(moments.variances), len(columns)
    correlations, shares = moments.covariance / np.outer(lengths, lengths), moments.variances / moments.variances.sum()
    T = lengths[:, None] * (np.eye(size) + 0.3 * np.eye(size, k=1)) / lengths
    capped = sets.LoewnerInterval(0.3, "nominal") & TraceCap()
    uncertainty, rng = (sets.MeanEllipsoid(NU).image(T) * capped).centred(moments), np.random.default_rng(3)
    for kappa in (0.0, 0.5, 2.0):
        b, R = rng.standard_normal(size), cp.Variable((size, size), symmetric=True)
        bounds = [R >> 0, R << 1.3 * correlations, shares @ cp.diag(R) <= 1]
        variance = cp.Problem(cp.Maximize(cp.trace(np.outer(b, b) @ R)), bounds).solve(solver="CLARABEL")
        found = losses(uncertainty, moments.mean, b / lengths, kappa)
        assert found == pytest.approx((NU + kappa) * np.sqrt(variance), rel=1e-6)


def test_what_no_member_sees_of_a_direction_does_not_drown_the_rest():
    """One factor that leaves the column with the largest coefficient alone: means move along a line, by the deviation that c'y has."""
    moments = raw(load_breast_cancer, [9, 2, 20, 19])
    lengths = np.sqrt(moments.variances)
    T = (lengths * [0.5, 1.7, -1.3, 0.0])[:, None]
    capped = sets.LoewnerInterval(0.3, "nominal") & TraceCap()
    uncertainty = (sets.MeanEllipsoid(NU).image(T) * capped).centred(moments)
    correlations, shares = moments.covariance / np.outer(lengths, lengths), moments.variances / moments.variances.sum()
    for b in np.random.default_rng(5).standard_normal((3, 4)):
        c = np.linalg.pinv(T)[0] * (T[:, 0] @ (b / lengths)) * lengths
        R = cp.Variable((4, 4), symmetric=True)
        bounds = [R >> 0, R << 1.3 * correlations, shares @ cp.diag(R) <= 1]
        variance = cp.Problem(cp.Maximize(cp.trace(np.outer(c, c) @ R)), bounds).solve(solver="CLARABEL")
        found = losses(uncertainty, moments.mean, b / lengths, 0.0)
        assert found == pytest.approx(NU * np.sqrt(variance), rel=1e-6)


class TotalVariance(sets.CovarianceSet):
    """Covariances with at most 1.3 times the centre's variance in all, which lets small columns vary as the largest does."""

    def membership(self, S):
        return [cp.trace(S) <= 1.3 * np.trace(self.center)]


FAR = [
    ("factors", load_wine, [0, 11, 12], [[0.0], [-0.1], [-0.8]], [1.0, -1.69, -0.53]),
    ("factors", load_breast_cancer, [22, 7, 24], [[-0.4], [-1.0], [-0.4]], [-0.17, 0.5, -0.22]),
    ("factors", load_breast_cancer, [25, 22, 15], [[-1.2, -0.2], [0.6, 0.1], [-0.9, 1.1]], [-0.13, -0.52, -0.86]),
    ("total variance", load_wine, [12, 8, 11, 0, 2], np.eye(5) + 0.3 * np.eye(5, k=1), [-1.32, -0.11, 1.0, -0.02, 0.5]),
    ("total variance", load_breast_cancer, [22, 4, 15], [[0.4, 0.3], [0.2, -1.0], [-1.4, 0.1]], [0.34, 0.43, 1.9]),
]


@pytest.mark.parametrize(("beside", "load", "columns", "loadings", "b"), FAR)
def test_sets_that_reach_far_from_their_centre(beside, load, columns, loadings, b):
    """Closed forms of the covariances' class at c: the norm of common and specific parts, and the root of the trace."""
    moments = raw(load, columns)
    lengths = np.sqrt(moments.variances)
    covariances = sets.FactorModel(1) if beside == "factors" else TotalVariance()
    T = lengths[:, None] * np.array(loadings)
    uncertainty, a = (sets.MeanEllipsoid(NU).image(T) * covariances).centred(moments), np.array(b) / lengths
    c = np.linalg.pinv(T).T @ T.T @ a
    if beside == "factors":
        values, vectors = np.linalg.eigh(moments.covariance)
        V = vectors[:, -1] * np.sqrt(values[-1])
        common, own = abs(V @ c) + 0.2 * lengths @ abs(c), 1.5 * np.maximum(moments.variances - V**2, 0) @ c**2
        right = NU * np.hypot(common, np.sqrt(own))
    else:
        right = NU * np.linalg.norm(c) * np.sqrt(1.3 * moments.variances.sum())
    assert losses(uncertainty, moments.mean, a, 0.0) == pytest.approx(right, rel=1e-6)


def test_equations_without_a_variable_in_common_are_solved_apart():
    rng = np.random.default_rng(4)
    thin, other = rng.standard_normal((4, 3)) * [1.0, 1.0, 1e-3], rng.standard_normal((2, 3))
    order = rng.permutation(6)
    held = sp.block_diag([thin, other]).toarray()[order]
    inverse, apart, along = _solved(sp.csr_array(held))
    assert inverse == pytest.approx(np.linalg.pinv(held), abs=1e-9)
    assert not inverse[:3, order >= 4].any()
    assert not inverse[3:, order < 4].any()
    assert (apart.shape, along.shape) == ((6, 1), (6, 1))
    assert apart.T @ held == pytest.approx(0.0, abs=1e-15)
    assert held @ along == pytest.approx(0.0, abs=1e-15)
    assert not apart[order >= 4].any()


def _in_columns(matrix, lengths):
    """The matrix that does in columns of these lengths what the given one does in columns of length one."""
    return lengths[:, None] * np.asarray(matrix) / lengths


@pytest.mark.parametrize("seed", range(6))
def test_images_and_preimages_of_covariances_between_raw_columns(seed):
    r"""Two images of a transport ball with a spectral one between, and preimages that undo them, against closed forms.

    At :math:`b = T_2'a` and :math:`c = T_1'b` the ball adds :math:`(\sqrt{c'Yc} + r\|c\|)^2 - c'Yc` to the variance, and the
    spectral one the radius times :math:`b'b`. A condition number of the ratio's square is one of units here.
    """
    rng = np.random.default_rng(seed)
    lengths = np.array([7e-3, 60.0])[rng.permutation(2)]
    mixed = rng.standard_normal((50, 2)) @ (np.eye(2) + 0.4 * rng.standard_normal((2, 2)))
    moments = cn.Moments.estimate(mixed * lengths)
    inner, outer = (_in_columns(np.eye(2) + 0.3 * rng.standard_normal((2, 2)), lengths) for _ in range(2))
    radius, more = 0.4 * lengths.max(), 0.3 * lengths.max() ** 2
    given = (sets.BuresBall(radius).image(inner) + sets.SpectralBall(more)).image(outer)
    undone = (sets.BuresBall(radius).preimage(_inverted(inner)) + sets.SpectralBall(more)).preimage(_inverted(outer))
    for a in rng.standard_normal((3, 2)) / lengths:
        b = outer.T @ a
        c, middle = inner.T @ b, _inverted(outer) @ moments.covariance @ _inverted(outer).T
        least = c @ _inverted(inner) @ middle @ _inverted(inner).T @ c
        added = (np.sqrt(least) + radius * np.linalg.norm(c)) ** 2 - least + more * (b @ b)
        right = np.sqrt(a @ moments.covariance @ a + added)
        for uncertainty in (given, undone):
            there = uncertainty.centred(moments)
            worst = sets.worst_member(there, a)
            assert [sets.evaluate_deviation(there, a), np.sqrt(a @ worst @ a)] == pytest.approx([right] * 2, rel=1e-7)


def _inverted(matrix):
    """The inverse of a matrix of two rows by its determinant."""
    (p, q), (r, s) = matrix
    return np.array([[s, -q], [-r, p]]) / (p * s - q * r)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.ones((2, 2)), [[1, 1], [1, 1 + 1e-9]], np.eye(3)[:2]])
def test_no_unit_makes_a_singular_matrix_regular(matrix):
    lengths = np.array([1e-6, 1e6])
    assert inverse(lengths[:, None] * np.asarray(matrix, dtype=float)) is None
