"""Instances for solvers: knobs do what they say, closed forms are what is stored, intervals are narrow and hold them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from convexnovelty import derivation
from convexnovelty.checking.certificate import certify
from convexnovelty.checking.enclosure import Enclosure
from convexnovelty.checking.instances import DIGITS, Case, Knobs, cases, families, sample
from convexnovelty.errors import InfeasibleError, InputError

CLOSED = [case for case in cases() if case.digits]
# Integer variables have no dual that proves an optimum.
CONTINUOUS = [case for case in cases() if case.method != "exact_outliers"]


def _title(case):
    return f"{case.method}: {case.title}"


def test_families_are_of_methods_and_a_method_without_one_still_has_subjects():
    methods = derivation.methods()
    assert set(families()) <= set(methods)
    # A new method is one new file: without a family its own instances are what solvers are run on.
    for name in set(methods) - set(families()):
        assert methods[name].instance_names(), name
    assert CLOSED, "some optima are known"


@pytest.mark.parametrize("case", CLOSED, ids=_title)
def test_closed_forms_are_stored_to_thirty_digits_and_lie_in_their_intervals(case):
    with mpmath.workdps(60):
        value = case.formula()
        assert mpmath.nstr(value, DIGITS) == case.digits
    found = certify(case.formulation()).enclosure
    with mpmath.workdps(60):
        assert mpmath.mpf(found.lower) <= mpmath.mpf(case.digits) <= mpmath.mpf(found.upper)
    assert found.width < 1e-6
    assert found.moved == 0.0


@pytest.mark.parametrize("case", CONTINUOUS, ids=_title)
def test_every_default_case_has_a_narrow_interval(case):
    for node in case.nodes():
        found = certify(case.formulation(node)).enclosure
        if case.expects == "infeasible":
            assert found.infeasible, node
        else:
            assert found.width < 1e-6, (node, found)


def test_solvers_agree_with_the_intervals():
    for case in CLOSED:
        certificate = certify(case.formulation(), "CLARABEL")
        assert certificate.error < 1e-7, case.title
        assert certificate.residuals.worst < 1e-7, case.title


def test_what_is_expected_infeasible_is_refused_with_the_reason():
    for case in cases():
        if case.expects == "infeasible":
            with pytest.raises(InfeasibleError):
                case.formulation().solve()


def test_knobs_set_size_conditioning_duplicates_and_seed():
    knobs = Knobs(n=400, dimension=5, conditioning=1e6)
    X = sample(knobs)
    assert X.shape == (400, 5)
    spread = np.linalg.eigvalsh(np.cov(X.T))
    assert 1e5 < spread[-1] / spread[0] < 1e7
    np.testing.assert_array_equal(X, sample(knobs))
    assert not np.array_equal(X, sample(Knobs(n=400, dimension=5, conditioning=1e6, seed=1)))
    twice = sample(Knobs(n=40, degeneracy=0.5))
    assert len(np.unique(twice, axis=0)) == 20
    for wrong in (Knobs(n=1), Knobs(degeneracy=1.0), Knobs(conditioning=0.5), Knobs(dimension=0)):
        with pytest.raises(InputError, match="knobs"):
            sample(wrong)


def test_a_case_says_which_nodes_it_has():
    case = Case("one_class_svm", Knobs(n=12))
    assert set(case.nodes()) >= {"primal", "dual"}
    assert case.title == "n=12, p=4, cond=1e+01, seed=0"
    with pytest.raises(InputError, match="'nonsense' is no formulation"):
        case.formulation("nonsense")


def test_the_interval_of_a_larger_member_is_as_narrow():
    found: Enclosure = certify(Case("one_class_svm", Knobs(n=300, dimension=20)).formulation("dual")).enclosure
    assert found.width < 1e-6


@pytest.mark.parametrize("method", sorted(families()))
def test_two_points_are_enough_for_every_family(method):
    """The least number of points that knobs take, with the family's own level."""
    case = Case(method, Knobs(n=2, dimension=2))
    assert all(case.formulation(node).problem is not None for node in case.nodes())
