"""Kernels against scikit-learn, against differences in exact arithmetic, and against faults reported in the field."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics import pairwise

from convexnovelty import kernels
from convexnovelty.distances import squared_distances
from convexnovelty.errors import InputError
from convexnovelty.features import KernelFeatures
from convexnovelty.kernels import Kernel, as_kernel

KERNELS: list[Kernel] = [
    kernels.linear(),
    kernels.gaussian(width=1.7),
    kernels.gaussian(gamma=0.3),
    kernels.polynomial(degree=3, gamma=0.4, coef0=1.5),
    kernels.polynomial(degree=2, gamma=0.4, coef0=-1.5),
    kernels.sigmoid(gamma=0.2, coef0=-0.7),
    kernels.laplacian(gamma=0.6),
]


def inner(X: Any, Z: Any) -> Any:
    """A user's function, at module level so that it pickles."""
    return X @ Z.T + 1.0


@dataclass(frozen=True, repr=False)
class Cauchy(Kernel):
    """A user's kernel: one class with a name and a formula is all that is needed."""

    width: float = 1.0
    name: ClassVar[str] = "test_cauchy"

    def evaluate(self, X: Any, Z: Any) -> Any:
        return 1.0 / (1.0 + squared_distances(X, Z) / self.width)


EVERY = [*KERNELS, Cauchy(2.0), kernels.from_callable(inner)]


def exact_squared_distance(x: np.ndarray, z: np.ndarray) -> Fraction:
    return sum(((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, z, strict=True)), Fraction(0))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (kernels.linear(), lambda X, Z: pairwise.linear_kernel(X, Z)),
        (kernels.gaussian(gamma=0.3), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.3)),
        (kernels.gaussian(width=0.5), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=2.0)),
        (kernels.polynomial(3, 0.4, 1.5), lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.4, 1.5)),
        (kernels.sigmoid(0.2, -0.7), lambda X, Z: pairwise.sigmoid_kernel(X, Z, 0.2, -0.7)),
        (kernels.laplacian(0.6), lambda X, Z: pairwise.laplacian_kernel(X, Z, 0.6)),
    ],
    ids=lambda value: repr(value) if isinstance(value, Kernel) else "",
)
def test_values_equal_those_of_scikit_learn(
    kernel: Kernel, reference: Callable[..., np.ndarray], rng: np.random.Generator
) -> None:
    X, Z = rng.normal(size=(13, 4)) - 0.5, rng.normal(size=(7, 4))
    assert np.allclose(kernel(X, Z), reference(X, Z), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_laws(kernel: Kernel, rng: np.random.Generator) -> None:
    X, Z = rng.normal(size=(70, 3)), rng.normal(size=(5, 3))
    K = kernel(X)
    assert np.array_equal(K, K.T)
    assert np.allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-13, atol=1e-14)
    assert np.allclose(kernel.diagonal(X), np.diag(K), rtol=1e-13)
    assert kernel.fitted(X) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    if kernel.semidefinite:
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.eigvalsh(K)[-1]


@pytest.mark.parametrize("kernel", [*KERNELS, Cauchy(2.0), kernels.gaussian(), kernels.precomputed()], ids=repr)
def test_recipes_survive_json(kernel: Kernel) -> None:
    recipe = json.loads(json.dumps(kernel.recipe()))
    assert Kernel.from_recipe(recipe) == kernel
    assert hash(Kernel.from_recipe(recipe)) == hash(kernel)


@pytest.mark.parametrize(
    "recipe",
    [
        {"name": "gaussian", "parameters": {"gamma": -1.0}},
        {"name": "gaussian", "parameters": {"gamma": "os.system('true')"}},
        {"name": "gaussian", "parameters": {"breadth": 1.0}},
        {"name": "callable", "parameters": {"function": "eval"}},
        {"name": "unheard", "parameters": {}},
        {"name": "linear"},
        "linear",
        None,
    ],
)
def test_bad_recipes_are_refused(recipe: Any) -> None:
    with pytest.raises(InputError):
        Kernel.from_recipe(recipe)


def test_kernels_differ_by_value() -> None:
    assert kernels.gaussian(width=2.0) == kernels.gaussian(gamma=0.5)
    assert kernels.gaussian(gamma=0.5) != kernels.gaussian(gamma=0.25)
    assert kernels.polynomial(2) != kernels.polynomial(3)
    assert kernels.sigmoid() != kernels.polynomial()


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
def test_gaussian_distances_do_not_cancel_far_from_the_origin(shift: float, rng: np.random.Generator) -> None:
    X, Z = rng.normal(size=(6, 3)) + shift, rng.normal(size=(4, 3)) + shift
    Z[0] = X[0]
    Z[1] = X[1] + 1e-7
    exact = np.array([[float(exact_squared_distance(x, z)) for z in Z] for x in X])
    assert np.allclose(squared_distances(X, Z), exact, rtol=1e-11, atol=0.0)
    assert squared_distances(X, Z)[0, 0] == 0.0
    assert np.array_equal(np.diag(kernels.gaussian(gamma=3.0)(X)), np.ones(6))
    # What the expansion without a shift gives, so that this test is seen to tell the two apart.
    naive = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * X @ Z.T
    assert (shift == 1e8) == bool(np.abs(naive - exact).max() > 0.1)


def test_close_pairs_beside_a_far_outlier(rng: np.random.Generator) -> None:
    X = np.vstack([1e-4 * rng.normal(size=(20, 2)), [[1e6, -1e6]]])
    exact = np.array([[float(exact_squared_distance(x, z)) for z in X] for x in X])
    assert np.allclose(squared_distances(X, X), exact, rtol=1e-11, atol=0.0)


def test_b06_automatic_width() -> None:
    """The width follows the scale of the data, is scikit-learn's where every column varies, and a large constant
    column does not ruin it."""
    X = np.arange(6.0).reshape(3, 2)
    fitted = kernels.gaussian().fitted(X)
    assert fitted.gamma == pytest.approx(6 / 35, rel=1e-14)
    tenfold = kernels.gaussian(gamma="scale").fitted(10 * X)
    assert tenfold.gamma == pytest.approx(6 / 3500, rel=1e-14)
    assert np.allclose(tenfold(10 * X), fitted(X), rtol=1e-13)
    machine = sklearn.svm.OneClassSVM(gamma="scale").fit(X)
    assert machine._gamma == pytest.approx(fitted.gamma, rel=1e-14)

    assert kernels.gaussian().fitted(np.ones((3, 2))).gamma == 1.0
    assert kernels.gaussian().fitted(np.array([[0.1 + 0.2], [0.3], [0.3]])).gamma == 1.0
    column = np.arange(4.0)[:, None]
    alone = kernels.gaussian().fitted(column)
    beside = kernels.gaussian().fitted(np.c_[column, np.full(4, 1e6)])
    assert alone.gamma == beside.gamma == pytest.approx(0.8, rel=1e-14)
    far = beside(np.array([[0.0, 1e6]]), np.array([[1000.0, 1e6]]))
    assert far[0, 0] == 0.0


@pytest.mark.parametrize("kernel", [kernels.polynomial(gamma="scale", coef0=0.0), kernels.laplacian()], ids=repr)
@pytest.mark.parametrize("factor", [1e-8, 3.0, 1e8])
def test_b06_whole_kind_scale_takes_away_the_unit(kernel: Kernel, factor: float, rng: np.random.Generator) -> None:
    X = rng.normal(size=(8, 3))
    assert np.allclose(kernel.fitted(factor * X)(factor * X), kernel.fitted(X)(X), rtol=1e-12)


def test_scale_needs_training_points() -> None:
    with pytest.raises(InputError, match="fitted"):
        kernels.gaussian()(np.ones((2, 2)))


def test_a_compiled_function_is_given_arrays_that_it_may_write_to() -> None:
    """scikit-learn's compiled kernels refuse others; what a function does to its points is not done to ours."""
    X = np.random.default_rng(0).random((12, 3))
    features = KernelFeatures(X, pairwise.chi2_kernel)
    assert features.gram == pytest.approx(pairwise.chi2_kernel(X), abs=1e-12)

    def careless(A: Any, B: Any) -> Any:
        values = A @ B.T
        A[:] = 0.0
        return values

    assert KernelFeatures(X, careless).gram == pytest.approx(X @ X.T, abs=1e-12)


def test_b12_integers_do_not_wrap_around() -> None:
    X = np.array([[200], [100]], dtype=np.uint8)
    assert (X @ X.T).tolist() == [[64, 32], [32, 16]]  # the fault
    assert kernels.linear()(X).tolist() == [[40000, 20000], [20000, 10000]]
    assert kernels.polynomial(2, 1.0, 0.0)(X)[0, 0] == 40000.0**2
    assert kernels.gaussian(gamma=1e-4)(X)[0, 1] == pytest.approx(np.exp(-1.0), rel=1e-15)
    assert kernels.linear().diagonal(X).tolist() == [40000, 10000]
    assert kernels.from_callable(lambda A, B: A @ B.T)(X)[0, 0] == 40000
    assert kernels.linear()(np.array([[True, False], [True, True]])).tolist() == [[1, 1], [1, 2]]


def test_b50_a_function_has_no_recipe_and_the_error_names_it() -> None:
    kernel = as_kernel(lambda x, y: x @ y.T)
    with pytest.raises(InputError, match=r"lambda.*no recipe"):
        kernel.recipe()
    with pytest.raises(InputError, match="inner"):
        kernels.from_callable(inner).recipe()
    assert pickle.loads(pickle.dumps(kernels.from_callable(inner))) == kernels.from_callable(inner)


@pytest.mark.parametrize(
    "function",
    [
        lambda X, Z: np.zeros((3, 3)),
        lambda X, Z: np.full((len(X), len(Z)), np.nan),
        lambda X, Z: 1.0,
        lambda X, Z: [["a"] * len(Z)] * len(X),
    ],
)
def test_functions_that_return_nonsense_are_named(function: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="lambda"):
        kernels.from_callable(function)(np.ones((2, 1)))


def test_as_kernel() -> None:
    assert as_kernel(None) == kernels.linear()
    assert as_kernel("rbf") == as_kernel("gaussian") == kernels.gaussian()
    assert as_kernel("poly") == kernels.polynomial()
    assert as_kernel("test_cauchy") == Cauchy()
    assert as_kernel(inner) == kernels.from_callable(inner)
    kernel = kernels.sigmoid(2.0)
    assert as_kernel(kernel) is kernel
    for wrong in ("rbff", 3, Cauchy, object()):
        with pytest.raises(InputError, match="kernel"):
            as_kernel(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kernels.gaussian(width=1.0, gamma=1.0),
        lambda: kernels.gaussian(width=0.0),
        lambda: kernels.gaussian(width=-1.0),
        lambda: kernels.gaussian(width=1e-320),
        lambda: kernels.gaussian(gamma=np.nan),
        lambda: kernels.gaussian(gamma=np.inf),
        lambda: kernels.gaussian(gamma="auto"),
        lambda: kernels.gaussian(gamma=True),
        lambda: kernels.polynomial(degree=0),
        lambda: kernels.polynomial(degree=1.5),
        lambda: kernels.polynomial(coef0="1"),
        lambda: kernels.sigmoid(gamma=0),
        lambda: kernels.laplacian(gamma=-1),
        lambda: kernels.from_callable("linear"),
    ],
)
def test_bad_parameters_are_refused_when_the_kernel_is_made(make: Callable[[], Kernel]) -> None:
    with pytest.raises(InputError):
        make()


def test_columns_that_do_not_match_are_counted() -> None:
    with pytest.raises(InputError, match=r"2 columns.*3"):
        kernels.linear()(np.ones((4, 3)), np.ones((4, 2)))


def test_precomputed_cannot_be_evaluated() -> None:
    with pytest.raises(InputError, match="precomputed"):
        kernels.precomputed()(np.ones((2, 2)))
    with pytest.raises(InputError, match="squared_norms"):
        kernels.precomputed().diagonal(np.ones((2, 2)))


def test_sigmoid_is_said_to_be_indefinite_and_is() -> None:
    assert not kernels.sigmoid().semidefinite
    assert np.linalg.eigvalsh(kernels.sigmoid(1.0, -1.0)(np.array([[0.0], [1.0]])))[0] < -0.5
    assert not kernels.polynomial(coef0=-1.0).semidefinite


def test_import_is_cheap() -> None:
    """No scikit-learn, SciPy or CVXPY at import, and none for the kernels that need only products."""
    code = (
        "import sys, convexnovelty.kernels as k\n"
        "k.gaussian(width=2.0)([[1.0], [2.0]]); k.polynomial()([[1.0]]); k.sigmoid()([[1.0]])\n"
        "print([m for m in ('sklearn', 'scipy', 'cvxpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_widths_of_points_whose_squares_vanish_are_refused():
    points = 1e-170 * np.arange(6.0).reshape(3, 2)
    for width in (kernels.scale_gamma, kernels.laplacian_gamma):
        with pytest.raises(InputError, match="squares of such numbers vanish in float64"):
            width(points)
        assert width(np.zeros((3, 2))) == 1.0


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_explicit_features_have_the_kernel_for_their_products(kernel: Kernel, rng: np.random.Generator) -> None:
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    count = kernel.feature_count(3)
    assert (count is None) == (kernel not in (kernels.linear(), KERNELS[3]))
    if count is None:
        with pytest.raises(InputError, match="no explicit features are known"):
            kernel.features(X)
    else:
        assert kernel.features(X).shape == (6, count)
        np.testing.assert_allclose(kernel.features(X) @ kernel.features(Z).T, kernel(X, Z), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("coef0", [0.0, 0.5])
def test_explicit_features_of_polynomials(degree: int, coef0: float, rng: np.random.Generator) -> None:
    X, kernel = rng.normal(size=(6, 2)), kernels.polynomial(degree, 0.7, coef0)
    features = kernel.features(X)
    assert (
        features.shape[1] == kernel.feature_count(2) == (degree + 1 if coef0 == 0 else (degree + 1) * (degree + 2) // 2)
    )
    np.testing.assert_allclose(features @ features.T, kernel(X), rtol=1e-12, atol=1e-12)
