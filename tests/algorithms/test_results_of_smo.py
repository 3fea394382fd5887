"""Every number that SMO returns, against the same number computed from its multipliers alone."""

from __future__ import annotations

import numpy as np
import pytest

from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import IndefiniteError


@pytest.mark.parametrize("rule", ["second-order", "schoelkopf"])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 300.0])
@pytest.mark.parametrize("signed", [False, True])
def test_fields_follow_from_the_multipliers(rule, unit, signed):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((9, 4))
    Q, p = unit * (A @ A.T + 0.1 * np.eye(9)), unit * rng.standard_normal(9)
    y = np.where(np.arange(9) % 3 == 0, -1.0, 1.0) if signed else np.ones(9)
    found = smo(Q, p, y, 1.0, 0.4, rule=rule)
    a, slope = found.multipliers, Q @ found.multipliers + p
    assert y @ a == pytest.approx(1.0, rel=1e-12)
    assert found.gradient == pytest.approx(slope, rel=1e-9, abs=1e-12 * unit)
    assert found.objective == pytest.approx(0.5 * a @ Q @ a + p @ a, rel=1e-10)
    inner = (a > 0) & (a < 0.4)
    assert inner.any()
    assert (y * slope)[inner] == pytest.approx(np.full(inner.sum(), found.offset.used), rel=1e-8, abs=1e-9 * unit)
    assert found.violation <= 1e-9 * unit * 50
    assert found.rule == rule and found.converged


def test_no_constraint_but_signs_has_its_solution_by_hand():
    found = smo(np.diag([2.0, 4.0, 1.0]), [-1.0, 1.0, -5.0], upper=3.0, equality=False)
    assert found.multipliers == pytest.approx([0.5, 0.0, 3.0])
    assert found.objective == pytest.approx(0.25 - 0.5 + 4.5 - 15.0)
    assert found.offset is None


def test_the_eigenvalue_of_an_indefinite_matrix_is_named():
    with pytest.raises(IndefiniteError, match="least eigenvalue is -1;"):
        smo([[1.0, 2.0], [2.0, 1.0]])
