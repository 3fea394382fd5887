r"""Worst deviations of combinations that follow from what their parts add, in columns whose deviations differ by up to a million.

The right values are numbers: a ball of radius r adds :math:`r\|a\|^2` to the variance :math:`a'S_0a`, a share of the centre
that share of it, a transport ball :math:`(\sqrt{a'S_0a} + r\|a\|)^2 - a'S_0a`; a multiple, an image, a shift do with it what they do
with variances. In these columns no program shows all digits of most of these sets.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.errors import InputError, RecompilationError

LENGTHS = np.array([2e3, 3e-3, 1.0])
MATRIX = LENGTHS[:, None] * np.array([[1.0, 0.3, 0.0], [-0.2, 0.8, 0.4], [0.1, 0.0, 1.2]]) / LENGTHS
TALL = LENGTHS[:, None] * np.array([[1.0, 0.5], [0.0, 1.0], [0.2, -0.4]])
SHIFT = np.outer(LENGTHS, LENGTHS) * np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.0]])
R, SHARE = 0.3 * LENGTHS[0] ** 2, 0.4


def ball(a, S):
    return R * a @ a


def transport(a, S):
    deviation, step = np.sqrt(a @ S @ a), 0.3 * LENGTHS[0] * np.linalg.norm(a)
    return (deviation + step) ** 2 - deviation**2


def share(a, S):
    return SHARE * a @ S @ a


FROBENIUS, BURES, SHARED = (
    sets.FrobeniusBall(R),
    sets.BuresBall(0.3 * LENGTHS[0]),
    sets.LoewnerInterval(SHARE, "nominal"),
)
COMBINED = {
    "multiple": (2.5 * FROBENIUS, lambda a, S: 2.5 * ball(a, S)),
    "share of a multiple": (0.3 * (2.5 * sets.NuclearBall(R)), lambda a, S: 0.75 * ball(a, S)),
    "share": (0.3 * BURES, lambda a, S: 0.3 * transport(a, S)),
    "all of it": (1.0 * BURES, transport),
    "multiple of a sum": (3.0 * (FROBENIUS + SHARED), lambda a, S: 3.0 * (ball(a, S) + share(a, S))),
    "multiple of a hull": (2.0 * (FROBENIUS | SHARED), lambda a, S: 2.0 * max(ball(a, S), share(a, S))),
    "hull and ball": (BURES + (FROBENIUS | SHARED), lambda a, S: transport(a, S) + max(ball(a, S), share(a, S))),
    "image into a space": (sets.SpectralBall(0.7).image(TALL), lambda a, S: 0.7 * ball(TALL.T @ a, S) / R),
    "sum with an image": (
        BURES + sets.FrobeniusBall(0.7).image(TALL),
        lambda a, S: transport(a, S) + 0.7 * ball(TALL.T @ a, S) / R,
    ),
    "multiple of a preimage": (
        2.0 * FROBENIUS.preimage(MATRIX),
        lambda a, S: 2.0 * ball(np.linalg.solve(MATRIX.T, a), S),
    ),
    "shift": (BURES + SHIFT, lambda a, S: transport(a, S) + a @ SHIFT @ a),
    "no shift": (BURES + 0.0 * SHIFT, transport),
    "multiple of a shifted ball": (2.0 * (FROBENIUS + SHIFT), lambda a, S: 2.0 * (ball(a, S) + a @ SHIFT @ a)),
}


def moments(dependent):
    """A sample in raw columns; the last is made of the others where it is asked for."""
    X = np.random.default_rng(5).standard_normal((40, 3)) @ (np.eye(3) + 0.4 * np.eye(3, k=1)) * LENGTHS
    if dependent:
        X[:, 2] = 1e-3 * X[:, 0] + 200.0 * X[:, 1]
    return cn.Moments.estimate(X)


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("name", COMBINED)
def test_worst_cases_are_those_of_the_parts(name, dependent):
    uncertainty, added = COMBINED[name]
    nominal = moments(dependent)
    there = uncertainty.centred(nominal)
    for a in np.random.default_rng(6).standard_normal((3, 3)) / LENGTHS:
        right = np.sqrt(a @ nominal.covariance @ a + added(a, nominal.covariance))
        worst = sets.worst_member(there, a)
        assert np.linalg.eigvalsh(worst / np.outer(LENGTHS, LENGTHS))[0] > -1e-9
        assert [sets.evaluate_deviation(there, a), np.sqrt(a @ worst @ a)] == pytest.approx([right] * 2, rel=1e-7)


@pytest.mark.parametrize("name", ["share", "multiple of a sum", "multiple of a hull", "multiple of a shifted ball"])
def test_multiples_are_followed(name):
    """A tunable one below and above one: a share that becomes a multiple of a transport ball has to be made anew."""
    uncertainty, added = COMBINED[name]
    nominal, a = moments(False), np.array([1.0, -0.5, 0.2]) / LENGTHS
    posed = uncertainty.tunable().centred(nominal)
    made = sets.worst_deviation(posed, a)
    base = added(a, nominal.covariance) / uncertainty.multiple
    for multiple in (0.2, 0.9, 4.0):
        if name == "share" and multiple > 1:
            with pytest.raises(RecompilationError, match="make the problem anew"):
                posed.tunables()["multiple"].set(multiple)
            continue
        posed.tunables()["multiple"].set(multiple)
        found = cp.Problem(cp.Minimize(made.value), made.constraints).solve(solver="CLARABEL")
        assert found == pytest.approx(np.sqrt(a @ nominal.covariance @ a + multiple * base), rel=1e-7)


@pytest.mark.parametrize("uncertainty", [FROBENIUS + -0.2 * SHIFT, 3.0 * BURES])
def test_where_the_cone_may_decide_nothing_is_stated(uncertainty):
    there = uncertainty.centred(moments(False))
    with pytest.raises(InputError, match="no closed form"):
        sets.worst_deviation(there, np.ones(3), "closed")


def test_a_path_over_a_multiple_crosses_one():
    """The machine with a share of a transport ball, at multiples for which its program is made anew."""
    nominal = cn.Moments.estimate(np.random.default_rng(7).normal([3.0, 4.0], size=(60, 2)))
    multiples = [0.5, 1.0, 2.0]
    posed = cn.single_class_mpm(nominal, confidence=0.6, uncertainty=0.5 * sets.BuresBall(0.2))
    path = posed.path(multiple=multiples)
    for multiple, found in zip(multiples, path, strict=True):
        anew = cn.single_class_mpm(nominal, confidence=0.6, uncertainty=multiple * sets.BuresBall(0.2)).solve()
        assert found.objective == pytest.approx(anew.objective, rel=1e-6)
