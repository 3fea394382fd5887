"""Every letter of the list of methods has its nodes and steps in the graph, so that none can go missing.

The letters are those under which the papers' results are listed: A bounds on tails, B sets of moments, C minimax
probability machines, D one-class machines and balls, E Mahalanobis metrics and learned kernels, F the negative class as
moments, G unlabelled data.
"""

from __future__ import annotations

import pytest

from convexnovelty import derivation, tails, uncertainty

LETTERS = {
    "A1": ["single_class_mpm/semi_infinite", "single_class_mpm/socp"],
    "B1": ["single_class_mpm/derived_counterpart", "single_class_mpm/socp"],
    "B2": ["single_class_mpm/closed_form", "single_class_mpm/socp"],
    "B3": ["mahalanobis_svm/shaped_dual"],
    "B4": ["single_class_mpm/socp", "two_class_mpm/socp"],
    "C1": [
        "two_class_mpm/socp",
        "two_class_mpm/scalar_root",
        "two_class_mpm/semi_infinite",
        "two_class_mpm/kernel_socp",
    ],
    "C2": ["single_class_mpm/socp", "single_class_mpm/closed_form", "single_class_mpm/semi_infinite"],
    "C3": [
        "single_class_mpm/kernel_socp",
        "single_class_mpm/kernel_closed_form",
        "single_class_mpm/kernel_ridge",
        "single_class_mpm/kernel_iterative",
    ],
    "C4": ["artificial_negatives/primal", "artificial_negatives/dual", "artificial_negatives/libsvm"],
    "D1": ["one_class_svm/primal", "one_class_svm/dual", "one_class_svm/parzen"],
    "D2": ["soft_ball/primal", "soft_ball/dual", "soft_ball/one_class_svm"],
    "D3": ["one_class_svm/smo", "one_class_svm/smo_schoelkopf", "soft_ball/smo"],
    "D4": [
        "hard_margin/reflection",
        "negative_data/dual",
        "separation_from_mean/dual",
        "class_recognisers/joint",
        "uncertain_points/robust",
    ],
    "D5": ["one_class_svm/dual", "hard_margin/dual"],
    "D6": ["vector_quantization/cover", "vector_quantization/packing"],
    "D7": ["exact_outliers/mixed_integer", "exact_outliers/enumeration"],
    "E1": [
        "mahalanobis_svm/robust",
        "mahalanobis_svm/kernel_dual",
        "mahalanobis_svm/shaped_dual",
        "mahalanobis_svm/smo",
    ],
    "E2": [
        "kernel_learning/qcqp",
        "kernel_learning/socp",
        "kernel_learning/line_search",
        "kernel_learning/semi_infinite_lp",
    ],
    "F1": ["moment_classifier/margins", "moment_classifier/projection", "moment_classifier/semi_infinite"],
    "F2": [
        "moment_classifier/with_offset",
        "moment_classifier/dual",
        "moment_classifier/coordinate_descent",
        "moment_classifier/nu_machine",
    ],
    "F3": ["moment_classifier/factor_model", "moment_classifier/woodbury"],
    "F4": ["moment_classifier/customised_kernel"],
    "F5": ["moment_classifier/cost_sensitive_svm"],
    "G1": ["semi_supervised/neyman_pearson", "semi_supervised/likelihood_ratio", "semi_supervised/plug_in"],
    "G2": ["semi_supervised/hybrid"],
    "G3": ["novelty_proportion/mixture_lp", "novelty_proportion/roc_maximum", "novelty_proportion/growing_classes"],
    "G4": ["semi_supervised/labels"],
}


@pytest.fixture(scope="module")
def graph():
    return derivation.graph()


@pytest.mark.parametrize("letter", LETTERS)
def test_letter_is_in_the_graph_with_steps(letter, graph):
    for key in LETTERS[letter]:
        assert key in graph, f"{letter}: {key} is not in the graph"
        assert graph.degree(key) > 0, f"{letter}: no step touches {key}"
    declared = {node.method for key in LETTERS[letter] for node in [graph.nodes[key]["node"]]}
    assert any(letter in derivation.method(name).letters for name in declared), f"no file says that it covers {letter}"


def test_files_claim_no_letter_that_the_table_does_not_know():
    claimed = {letter for owner in derivation.methods().values() for letter in owner.letters}
    assert claimed <= LETTERS.keys()
    assert claimed == LETTERS.keys()


def test_a2_the_tails_are_there():
    assert {"chebyshev", "gaussian", "symmetric", "unimodal"} <= set(tails.all_tails())
    assert any("unimodal" in name and "symmetric" in name for name in tails.all_tails())


def test_b5_the_sets_are_there():
    names = set(uncertainty.catalogue())
    assert {
        "MeanEllipsoid",
        "FrobeniusBall",
        "SpectralBall",
        "LoewnerInterval",
        "Exact",
        "Product",
        "NormBall",
        "GelbrichBall",
    } <= names
