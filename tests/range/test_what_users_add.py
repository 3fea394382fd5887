"""What a user adds to a program, in units of the data's own: squares of small numbers stand beside a one where they are compiled."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty.errors import SolverError
from convexnovelty.uncertainty import Box, MeanWithin, PointSet

wine = pytest.importorskip("sklearn.datasets").load_wine(return_X_y=True)
RAW = wine[0][wine[1] == 0][:45][:, [0, 1, 2, 12]]
UNITS = [1e-6, 1e-3, 1e3, 1e4, 1e6]


def least_deviation(points, constraints):
    """The machine of equation 11 with exact moments and kappa = 2, written down in columns of deviation one."""
    d = points.std(axis=0)
    moments = cn.Moments.estimate(points / d)
    root, b = np.linalg.cholesky(moments.covariance).T, cp.Variable(points.shape[1])
    deviation = cp.norm(root @ b)
    posed = [b @ moments.mean - 2 * deviation >= 1, *constraints(cp.multiply(1 / d, b))]
    found = {
        solver: cp.Problem(cp.Minimize(deviation), posed).solve(solver=solver, **options)
        for solver, options in (
            ("CLARABEL", {"tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11}),
            ("SCS", {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 200_000}),
        )
    }
    assert found["CLARABEL"] == pytest.approx(found["SCS"], rel=1e-5)
    return found["CLARABEL"]


def test_the_square_of_one_coefficient_is_bounded_by_the_square_of_a_bound():
    """Raw wine, no change of units: proline is in hundreds, so that the square of its coefficient is 1e-8."""
    made = cn.single_class_mpm(cn.Moments.estimate(RAW), 0.8)
    bound = abs(made.solve().values["a"][3]) / 2
    truth = least_deviation(RAW, lambda a: [cp.abs(a[3]) <= bound])
    capped = made.subject_to(lambda v: cp.square(v["a"][3]) <= bound**2)
    solution = capped.solve()
    assert solution.objective == pytest.approx(truth, rel=1e-6)
    assert solution.values["a"][3] ** 2 == pytest.approx(bound**2, rel=1e-5)
    assert capped.dual().solve().objective == pytest.approx(truth, rel=1e-6)
    proved = cn.certify(capped).enclosure
    assert (proved.lower, proved.upper) == pytest.approx((truth, truth), rel=1e-7)
    assert proved.moved == 0.0
    try:
        assert capped.solve(solver="SCS").objective == pytest.approx(truth, rel=1e-6)
    except SolverError as error:
        assert "in the program's own scale" in str(error)


MADE = {
    "single_class_mpm": lambda X: (cn.single_class_mpm(cn.Moments.estimate(X), 0.8), "a"),
    "two_class_mpm": lambda X: (
        cn.two_class_mpm(cn.Moments.estimate(X), cn.Moments([*(0.6 * X.mean(axis=0))], 2 * np.cov(X.T))),
        "a",
    ),
    "moment_classifier": lambda X: (
        cn.moment_classifier(X, cn.Moments([*(0.6 * X.mean(axis=0))], np.cov(X.T)), 0.3),
        "w",
    ),
    "soft_ball": lambda X: (cn.soft_ball(cn.LinearFeatures(X), 0.2, form="primal"), "c"),
}
# each with the power of the unit that it has
ATOMS = {
    "sum of squares": (cp.sum_squares, 2),
    "square over": (lambda a: cp.quad_over_lin(a, 3.0), 2),
    "largest square": (lambda a: cp.max(cp.square(a)), 2),
    "square of a norm": (lambda a: cp.norm(a[:2]) ** 2 + cp.square(a[3]), 2),
    "fourth powers": (lambda a: cp.sum(cp.power(a, 4)), 4),
    "norm": (cp.norm, 1),
    "variation": (cp.tv, 1),
}


@pytest.mark.parametrize("method", MADE)
@pytest.mark.parametrize("atom", ATOMS)
def test_constraints_and_terms_hold_in_every_unit(method, atom):
    """The same problem in the unit of standardised columns, where all numbers are of size one, tells the value.

    In the least and the largest unit, and by turns in one of those between.
    """
    function, power = ATOMS[atom]
    standard = RAW / RAW.std(axis=0)
    made, letter = MADE[method](standard)
    first = made.solve()
    here = float(function(cp.Constant(first.values[letter])).value)
    weight = 0.1 * abs(first.objective) / here
    bounded = made.subject_to(lambda v: function(v[letter]) <= 0.97 * here).solve().objective
    priced = made.plus(lambda v: weight * function(v[letter])).solve().objective
    assert bounded > first.objective * (1 + 1e-5)
    degree = 2 if method == "soft_ball" else 0  # of the objective; a centre has the data's unit, a normal its inverse
    turn = (list(MADE).index(method) + list(ATOMS).index(atom)) % len(UNITS[1:-1])
    for unit in (UNITS[0], UNITS[1:-1][turn], UNITS[-1]):
        share = unit**power if method == "soft_ball" else unit**-power
        there, _ = MADE[method](unit * standard)
        found = there.subject_to(lambda v, share=share: function(v[letter]) <= 0.97 * here * share).solve()
        assert found.objective == pytest.approx(bounded * unit**degree, rel=1e-6)
        price = weight * unit**degree / share
        found = there.plus(lambda v, price=price: price * function(v[letter])).solve()
        assert found.objective == pytest.approx(priced * unit**degree, rel=1e-6)


class Fourths(PointSet):
    """Fourth powers in deviations of the columns, whose support is r^(1/4) times the norm of order 4/3 there."""

    def __init__(self, deviations, radius=0.02):
        self.deviations = deviations
        super().__init__(radius)

    def membership(self, u):
        return [cp.sum(cp.power(cp.multiply(1 / self.deviations, u - self.center), 4)) <= self.radius]


@pytest.mark.parametrize("seed", range(3))
def test_means_within_points_of_ones_own_have_a_unit_a_column(seed):
    """Income beside age: a program in plain CVXPY, in columns of deviation one and with the support in closed form."""
    rng = np.random.default_rng(seed)
    raw = np.column_stack([rng.normal(40_000, 12_000, 30), rng.normal(45, 10, 30)])
    d = raw.std(axis=0)
    radius = float(rng.uniform(0.005, 0.05))

    def robust(points, uncertainty):
        return cn.single_class_mpm(cn.Moments.estimate(points), 0.7, uncertainty).solve().objective

    scaled = cn.Moments.estimate(raw / d)
    b, root = cp.Variable(2), np.linalg.cholesky(scaled.covariance).T
    deviation = cp.norm(root @ b)
    worst = scaled.mean @ b - radius**0.25 * cp.pnorm(b, 4 / 3, approx=False)
    plain = cp.Problem(cp.Minimize(deviation), [worst - np.sqrt(0.7 / 0.3) * deviation >= 1])
    plain.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11)
    assert robust(raw, MeanWithin(Fourths(d, radius))) == pytest.approx(plain.value, rel=1e-6)
    # A sum with a set that states its support has a part that is derived.
    beside = MeanWithin(Fourths(d, radius) + Box(0.1 * d))
    worst -= 0.1 * cp.norm1(b)
    plain = cp.Problem(cp.Minimize(deviation), [worst - np.sqrt(0.7 / 0.3) * deviation >= 1])
    plain.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11)
    assert robust(raw, beside) == pytest.approx(plain.value, rel=1e-6)
