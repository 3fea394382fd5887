"""Every quantity that several nodes of a method publish under one name is the same number, whoever computed it.

The checker compares objectives, decision values and mapped letters along the steps; here are the values and guarantees
themselves, as a user reads them from a solution, across all nodes of the first instance of each method.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from convexnovelty import derivation
from convexnovelty.checking.checker import _answer

CLOSE = 1e-4  # share of the largest entry: values are known to less than objectives are

# Nodes, or names of theirs, that mean another number, and why.
OTHERS = {
    "hard_margin": {"one_class_svm": "of points of which some lie outside"},
    "kernel_learning": {
        **dict.fromkeys(("xi", "c_1", "c_2"), "a kernel of weight zero leaves its coefficients free"),
        **dict.fromkeys(("alpha_s", "alpha_h", "alpha_r"), "several points of the plane have one value"),
    },
    "mahalanobis_svm": {"derived_counterpart": "the direction in the units of its lift"},
    "moment_classifier": {"factor_model": "of another covariance", "woodbury": "of another covariance"},
    "novelty_proportion": {"decomposition": "of known laws", "smallest_ratio": "of known laws"},
    "semi_supervised": {"inductive": "of one sample alone", "classifier": "a level of probabilities"},
    "single_class_mpm": dict.fromkeys(
        ("kernel_ridge", "kernel_iterative", "kernel_preconditioned"), "multipliers in place of a basis of their span"
    ),
    "vector_quantization": {"a": "a linear program with several solutions"},
}
# What the others share among each other.
GROUPS = (
    ("moment_classifier", ("factor_model", "woodbury"), ("w", "b", "kappa")),
    ("novelty_proportion", ("decomposition", "smallest_ratio"), ("pi",)),
    ("single_class_mpm", ("kernel_ridge", "kernel_iterative", "kernel_preconditioned"), ("gamma",)),
)


@pytest.fixture(scope="module")
def solved():
    """The solutions of all nodes of a method's first instance, found once."""
    found: dict[str, dict] = {}

    def of(name: str) -> dict:
        if name not in found:
            method = derivation.method(name)
            instance = next(iter(method.instances()))
            answers = {node: _answer(method.nodes[node], instance, "CLARABEL") for node in method.nodes}
            assert not [node for node, answer in answers.items() if answer.error]
            found[name] = {node: a.solution for node, a in answers.items() if a.solution is not None}
        return found[name]

    return of


def numbers(value) -> np.ndarray | None:
    try:
        return np.atleast_1d(np.asarray(value, dtype=float)).ravel()
    except (TypeError, ValueError):
        return None


def agree(values: dict[str, np.ndarray], what: str) -> None:
    (first, expected), *rest = values.items()
    for node, found in rest:
        close = CLOSE * float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(found, expected, rtol=0, atol=close, err_msg=f"{what} of {node}, and of {first}")


@pytest.mark.parametrize("name", sorted(derivation.methods()))
def test_what_nodes_publish_under_one_name_is_the_same(name, solved):
    published: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for node, solution in solved(name).items():
        if node in OTHERS.get(name, {}):
            continue
        for letter, value in solution.values.items():
            if letter not in OTHERS.get(name, {}) and (found := numbers(value)) is not None:
                published[letter][node] = found
        if solution.guarantee is not None and solution.guarantee.bound is not None:
            published["the guarantee's bound"][node] = np.array([solution.guarantee.bound])
    assert any(len(values) > 1 for values in published.values())
    for letter, values in published.items():
        agree(values, letter)


@pytest.mark.parametrize("name, nodes, letters", GROUPS)
def test_nodes_of_another_meaning_agree_among_themselves(name, nodes, letters, solved):
    for letter in letters:
        agree({node: numbers(solved(name)[node].values[letter]) for node in nodes}, letter)


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_exceptions_are_made_of_what_there_is(name, solved):
    """A node or a letter that was renamed leaves no exception behind."""
    solutions = solved(name)
    known = {letter for solution in solutions.values() for letter in solution.values}
    assert set(OTHERS[name]) <= known | set(solutions)
