"""The block solver against pair steps on a stored matrix, libsvm, and facts derived by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, OneClassSVM

from convexnovelty.algorithms import blocks, gaussian_gram, gram
from convexnovelty.algorithms.block_dual import decision, dual_path, kkt_violation, solve_dual
from convexnovelty.algorithms.kernel_ridge import kernel_ridge
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import IndefiniteError, InputError, SolverError
from convexnovelty.kernels import from_callable, gaussian, laplacian, linear, polynomial, precomputed, sigmoid

two = np.array([[0.0], [np.sqrt(np.log(2.0))]])
line4 = np.arange(1.0, 5.0)[:, None]
KERNELS = [gaussian(gamma="scale"), gaussian(gamma=0.3), linear(), polynomial(2, gamma=0.1), laplacian()]


def mixture(n, dimension=6, seed=0):
    """Three clouds of different shapes, signed and not centred."""
    rng = np.random.default_rng(seed)
    which = rng.integers(3, size=n)
    shapes = rng.normal(size=(3, dimension, dimension)) / dimension**0.5
    return (
        np.einsum("nij,nj->ni", shapes[which], rng.normal(size=(n, dimension)))
        + 2 * rng.normal(size=(3, dimension))[which]
    )


def reference(X, kernel, **program):
    """The same program by pair steps on the stored matrix, to 1e-10."""
    n = len(X)
    K = X if kernel == precomputed() else kernel.fitted(X)(X)
    y = program.get("y", np.ones(n))
    total = program.get("total", 1.0)
    upper = program["upper"] if "upper" in program else 1 / (program["outlier_fraction"] * n)
    return smo(K * np.outer(y, y), program.get("linear"), y, total or 0.0, upper, equality=total is not None)


def programs(n, seed=1):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, -1.0, 1.0)
    weights = rng.uniform(0, 2, size=n)
    weights[: n // 10] = 0.0
    return {
        "one class": dict(outlier_fraction=0.15),
        "few outliers": dict(outlier_fraction=0.01),
        "hard margin": dict(upper=np.inf),
        "weights": dict(upper=weights / (0.2 * n)),
        "linear term": dict(upper=10 / n, linear=rng.normal(size=n)),
        "two classes": dict(upper=1.0, y=y, linear=-np.ones(n), total=0.0),
        "negative data": dict(upper=10 / n, y=np.where(np.arange(n) < n // 5, -1.0, 1.0)),
        "no equality": dict(upper=10 / n, linear=rng.normal(size=n), total=None),
    }


@pytest.mark.parametrize("name", programs(10))
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_agrees_with_pair_steps_on_every_program(kernel, name, monkeypatch):
    # Working sets of 64 points, so that 700 points need many of them.
    for kind in (gram.Gram, gaussian_gram.GaussianGram):
        monkeypatch.setattr(kind, "whole", 100)
    monkeypatch.setattr(blocks, "WORKING_SET", 64)
    n = 700
    X, program = mixture(n), programs(n)[name]
    result = solve_dual(X, kernel, **program, tolerance=1e-10)
    expected = reference(X, kernel, **program)
    assert result.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-12)
    a, y = result.multipliers, program.get("y", np.ones(n))
    upper = np.broadcast_to(program.get("upper", 1 / (program.get("outlier_fraction", 1) * n)), n)
    assert (a >= 0).all()
    assert (a <= upper).all()
    assert result.scores == pytest.approx(kernel.fitted(X)(X) @ (y * a), rel=1e-9, abs=1e-9)
    if expected.offset is not None:
        assert y @ a == pytest.approx(program.get("total", 1.0), abs=1e-10)
        assert result.offset.used == pytest.approx(expected.offset.used, rel=1e-6, abs=1e-6)
    gap = kkt_violation(X, result, upper, linear=program.get("linear"), y=program.get("y"))
    assert gap <= 1e-8 * max(1.0, float(np.abs(result.scores).max()))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("width", [1.0, 10.0])
def test_agrees_with_libsvm_at_its_tolerance(width, fraction, tolerance):
    n = 3500
    X = mixture(n)
    gamma = width / (6 * X.var())
    result = solve_dual(X, gaussian(gamma=gamma), outlier_fraction=fraction, tolerance=tolerance)
    # Both gaps in libsvm's units, in which a multiplier is at most one.
    assert kkt_violation(X, result, 1 / (fraction * n)) * fraction * n <= tolerance
    peer = OneClassSVM(nu=fraction, gamma=gamma, tol=tolerance).fit(X)
    a = np.zeros(n)
    a[peer.support_] = peer.dual_coef_[0] / (fraction * n)
    objective = 0.5 * a @ rbf_kernel(X, gamma=gamma) @ a
    assert result.objective == pytest.approx(objective, abs=2 * tolerance / (fraction * n))


def test_two_classes_with_a_large_bound():
    # Free vectors have to give way to violators: with those alone in the working sets this took tens of thousands.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3500, 2))
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=3500))
    program = dict(y=y, linear=-np.ones(3500), total=0.0, upper=300.0)
    result = solve_dual(X, gaussian(gamma=1.0), **program, tolerance=1e-3, max_rounds=200)
    assert kkt_violation(X, result, 300.0, linear=-np.ones(3500), y=y) <= 1e-3
    peer = SVC(C=300.0, gamma=1.0).fit(X, y)
    a = np.zeros(3500)
    a[peer.support_] = np.abs(peer.dual_coef_[0])
    signed = y * a
    objective = 0.5 * signed @ rbf_kernel(X, gamma=1.0) @ signed - a.sum()
    assert result.objective == pytest.approx(objective, rel=1e-5)


@pytest.mark.parametrize("fraction", [0.01, 0.3])
def test_newton_steps_reach_the_accuracy_of_the_machine(fraction):
    n = 4000
    X = mixture(n, seed=2)
    result = solve_dual(X, gaussian(gamma=0.2), outlier_fraction=fraction, tolerance=1e-11)
    assert kkt_violation(X, result, 1 / (fraction * n)) * fraction * n <= 1e-11
    outliers = int((result.scores < result.offset.used - 1e-12).sum())
    assert outliers <= fraction * n <= result.support.size


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    dimension=st.integers(1, 20),
    copies=st.integers(1, 3),
    logwidth=st.floats(-3, 3),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_random_instances(seed, n, dimension, copies, logwidth, scale):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n, dimension)), copies, axis=0) * scale
    kernel = gaussian(gamma=10**logwidth / (dimension * scale**2))
    fraction = rng.uniform(0.01, 1.0)
    result = solve_dual(X, kernel, outlier_fraction=fraction, tolerance=1e-10)
    expected = reference(X, kernel, outlier_fraction=fraction)
    assert result.objective == pytest.approx(expected.objective, rel=1e-9)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 70), m=st.integers(1, 70), dimension=st.integers(1, 70))
def test_fused_sums_are_those_of_the_kernel(seed, n, m, dimension):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, dimension)), 3 * rng.normal(size=(m, dimension))
    weights = rng.normal(size=n)
    gamma = 10 ** rng.uniform(-3, 2)
    expected = rbf_kernel(Z, X, gamma=gamma) @ weights
    computed = decision(X, gaussian(gamma=gamma), weights, Z)
    assert computed == pytest.approx(expected, rel=1e-10, abs=1e-13 * np.abs(weights).sum())


def test_decision_of_every_kernel_of_many_points():
    X, Z, weights = mixture(50), mixture(20_000, seed=3), np.random.default_rng(1).normal(size=50)
    weights[::3] = 0
    for kernel in KERNELS:
        assert decision(X, kernel, weights, Z) == pytest.approx(kernel.fitted(X)(Z, X) @ weights, rel=1e-9, abs=1e-11)
    assert decision(None, precomputed(), weights, Z[:, :1] * np.ones(50)) == pytest.approx(Z[:, 0] * weights.sum())
    assert (decision(X, gaussian(gamma=1.0), np.zeros(50), Z) == 0).all()


def test_a_labelled_gram_matrix_is_that_of_its_rows_wherever_its_columns_stand():
    import pandas as pd

    rng = np.random.default_rng(2)
    X, Z, kernel = mixture(40), mixture(9, seed=3), gaussian(gamma=0.3)
    names = [f"point {i}" for i in range(40)]
    order = rng.permutation(40)
    K, shuffled = kernel(X), pd.DataFrame(kernel(X)[:, order], names, [names[i] for i in order])
    plain = solve_dual(K, precomputed(), outlier_fraction=0.2, tolerance=1e-10)
    found = solve_dual(shuffled, precomputed(), outlier_fraction=0.2, tolerance=1e-10)
    assert found.multipliers == pytest.approx(plain.multipliers, abs=1e-12)
    (walked,) = dual_path(shuffled, precomputed(), [0.2], tolerance=1e-10)
    assert walked.objective == pytest.approx(plain.objective, rel=1e-9)
    assert kkt_violation(shuffled, found, 1 / 8) < 1e-9
    rows = pd.DataFrame(kernel(Z, X[order]), columns=[names[i] for i in order])
    assert decision(shuffled, precomputed(), found.multipliers, rows) == pytest.approx(
        decision(X, kernel, plain.multipliers, Z), abs=1e-12
    )
    ridge = kernel_ridge(shuffled, precomputed(), 0.1).scores
    assert ridge == pytest.approx(kernel_ridge(X, kernel, 0.1).scores, abs=1e-10)


def test_values_known_by_hand():
    result = solve_dual(two, gaussian(gamma=1.0), outlier_fraction=0.5, tolerance=1e-10)
    assert result.multipliers == pytest.approx([0.5, 0.5])
    assert result.objective == pytest.approx(3 / 8)
    assert result.offset.used == pytest.approx(3 / 4)
    values = decision(two, result.kernel, result.multipliers, [[0.2], [5.0], [1e3], [1e6]]) - result.offset.used
    assert values == pytest.approx([0.0655127, -0.75, -0.75, -0.75], abs=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 1e4, 1e8])
def test_offset_is_an_interval_when_every_support_vector_is_at_its_bound(scale):
    result = solve_dual(scale * line4, linear(), outlier_fraction=0.5, tolerance=1e-10)
    assert result.multipliers == pytest.approx([0.5, 0.5, 0, 0])
    assert result.objective == pytest.approx(1.125 * scale**2)
    assert result.offset == pytest.approx((3 * scale**2, 4.5 * scale**2, 3 * scale**2))


@pytest.mark.parametrize(
    ("X", "fraction", "kernel"),
    [
        (two, 0.5, gaussian(gamma=1.0)),
        (np.ones((5, 2)), 0.5, gaussian(gamma=1.0)),
        (np.array([[1.0, 2.0]]), 0.5, gaussian(gamma=1.0)),
        (np.repeat([[1.0], [2.0]], [9, 1], axis=0), 0.5, linear()),
    ],
)
def test_ties_at_the_boundary_leave_no_outlier(X, fraction, kernel):
    result = solve_dual(X, kernel, outlier_fraction=fraction, tolerance=1e-10)
    assert (result.scores >= result.offset.used - 1e-12).all()


def test_a_tolerance_below_rounding_is_met_as_far_as_rounding_goes():
    X = mixture(3500)
    result = solve_dual(X, gaussian(gamma=0.2), outlier_fraction=0.2, tolerance=1e-17, max_rounds=50)
    assert result.violation <= 1e-14 * result.scores.max()


def test_every_point_at_its_bound():
    X = mixture(1000)
    result = solve_dual(X, gaussian(gamma=0.1), outlier_fraction=1.0)
    assert result.multipliers == pytest.approx(np.full(1000, 1e-3))
    assert result.offset.upper == np.inf


def test_weights_equal_repeated_rows_and_zero_weights_change_nothing():
    weighted = solve_dual([[1.0], [3.0]], linear(), upper=[1.0, 0.5], tolerance=1e-10)
    repeated = solve_dual([[1.0], [1.0], [3.0]], linear(), upper=0.5, tolerance=1e-10)
    assert weighted.objective == pytest.approx(0.5)
    assert repeated.objective == pytest.approx(0.5)
    ignored = solve_dual(np.r_[line4, [[100.0]]], linear(), upper=[0.5] * 4 + [0.0], tolerance=1e-10)
    assert ignored.multipliers == pytest.approx([0.5, 0.5, 0, 0, 0])


@pytest.mark.parametrize("kind", ["one far point", "far cloud", "two clouds"])
def test_points_far_from_one_another_keep_their_accuracy(kind):
    X = mixture(800)
    X = {"one far point": np.r_[X, [[1e6] * 6]], "far cloud": X + 1e5, "two clouds": np.r_[X, X[::-1] * 1.1 + 1e4]}[
        kind
    ]
    kernel = gaussian(gamma=0.3)
    result = solve_dual(X, kernel, outlier_fraction=0.1, tolerance=1e-10)
    assert result.objective == pytest.approx(reference(X, kernel, outlier_fraction=0.1).objective, rel=1e-9)
    Z = np.r_[X[:5], X[-5:]] + 0.1
    a = result.multipliers
    assert decision(X, kernel, a, Z) == pytest.approx(kernel(Z, X) @ a, rel=1e-9)


def test_sorted_and_periodic_data_give_the_same_solution():
    X = mixture(4000)
    order = np.argsort(X[:, 0])
    plain, sorted_ = (solve_dual(Z, gaussian(gamma=0.2), outlier_fraction=0.1, tolerance=1e-10) for Z in (X, X[order]))
    assert sorted_.objective == pytest.approx(plain.objective, rel=1e-12)
    assert sorted_.multipliers == pytest.approx(plain.multipliers[order], abs=1e-9)


def test_threads_and_repetition_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(gaussian_gram, "THREADED", 1000)
    X = mixture(3500)
    results = [
        solve_dual(X, gaussian(gamma=0.5), outlier_fraction=0.2, tolerance=1e-6, threads=threads)
        for threads in (1, 2, 3, 1)
    ]
    for other in results[1:]:
        assert (other.multipliers == results[0].multipliers).all()
        assert (other.scores == results[0].scores).all()
    Z = mixture(500, seed=5)
    a = results[0].multipliers
    one, three = (decision(X, gaussian(gamma=0.5), a, Z, threads=threads) for threads in (1, 3))
    assert (one == three).all()


def test_path_gives_the_solutions_one_by_one():
    X = mixture(3500)
    fractions = [0.5, 0.01, 0.1, 0.05, 0.1]
    path = dual_path(X, gaussian(gamma=0.2), fractions, tolerance=1e-9)
    for nu, result in zip(fractions, path, strict=True):
        alone = solve_dual(X, gaussian(gamma=0.2), outlier_fraction=nu, tolerance=1e-9)
        assert result.objective == pytest.approx(alone.objective, rel=1e-11)
        assert result.scores == pytest.approx(alone.scores, rel=1e-8)
        assert kkt_violation(X, result, 1 / (nu * 3500)) * nu * 3500 <= 1e-9


def test_memory_stays_small():
    X = mixture(20_000, dimension=10)
    solve_dual(X[:100], gaussian(gamma=0.1), outlier_fraction=0.1)
    tracemalloc.start()
    solve_dual(X, gaussian(gamma=0.1), outlier_fraction=0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_read_only_and_unordered_arrays_are_taken_and_not_written_to():
    X = np.asfortranarray(mixture(300))
    X.flags.writeable = False
    copy = X.copy()
    result = solve_dual(X, gaussian(gamma=0.2), outlier_fraction=0.1)
    decision(X, gaussian(gamma=0.2), result.multipliers, X)
    assert (copy == X).all()


def test_indefinite_kernels_are_refused():
    with pytest.raises(IndefiniteError, match="-1"):
        solve_dual([[1.0, 2.0], [2.0, 1.0]], precomputed(), outlier_fraction=0.5)
    with pytest.raises(IndefiniteError):
        solve_dual(mixture(50), sigmoid(gamma=5.0, coef0=-2.0), outlier_fraction=0.5)
    # Too many points for a factorisation: the diagonal and the pairs show it.
    with pytest.raises(IndefiniteError, match="least k"):
        solve_dual(mixture(2500), from_callable(lambda X, Z: -(X @ Z.T)), outlier_fraction=0.1)
    with pytest.raises(IndefiniteError, match="negative"):
        solve_dual(mixture(2500), from_callable(lambda X, Z: 1 + cdist(X, Z) ** 2), outlier_fraction=0.1)


def test_kernel_values_beyond_float64_are_refused():
    with pytest.raises(InputError, match="not finite"), np.errstate(over="ignore", invalid="ignore"):
        solve_dual(1e200 * line4, polynomial(3), outlier_fraction=0.5)


def test_many_rounds_end_with_a_fresh_gradient(monkeypatch):
    monkeypatch.setattr(gaussian_gram.GaussianGram, "whole", 100)
    monkeypatch.setattr(blocks, "WORKING_SET", 16)
    monkeypatch.setattr(blocks, "LARGEST_SET", 16)
    monkeypatch.setattr(blocks, "REFRESHED", 5)
    X = mixture(600)
    result = solve_dual(X, gaussian(gamma=1.0), outlier_fraction=0.2, tolerance=1e-3)
    assert result.columns > 5 * result.support.size
    assert kkt_violation(X, result, 1 / 120) == pytest.approx(result.violation, rel=1e-9)


def test_stopping_early_is_an_error_with_the_gap():
    with pytest.raises(SolverError, match=r"gap is .* after 0 rounds"):
        solve_dual(mixture(500), gaussian(gamma=0.2), outlier_fraction=0.1, max_rounds=0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(outlier_fraction=1.5), r"outlier_fraction: 1\.5"),
        (dict(outlier_fraction=0), "outlier_fraction: 0"),
        (dict(outlier_fraction=-0.1), "outlier_fraction"),
        (dict(outlier_fraction=np.nan), "outlier_fraction"),
        (dict(outlier_fraction="0.5"), "outlier_fraction"),
        (dict(upper=0.2), r"0\.8"),
        (dict(), "exactly one"),
        (dict(outlier_fraction=0.5, upper=1.0), "exactly one"),
        (dict(outlier_fraction=0.5, total=None), "total"),
        (dict(upper=[1.0, 1.0, -1.0, 1.0]), "position 2"),
        (dict(upper=1.0, y=[1.0, 0.5, 1.0, 1.0]), r"y: 0\.5"),
        (dict(upper=1.0, linear=[1.0]), "linear"),
        (dict(upper=1.0, tolerance=0.0), "tolerance"),
        (dict(upper=1.0, threads=0), "threads"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(InputError, match=words):
        solve_dual(line4, linear(), **arguments)


def test_bad_points_are_named():
    with pytest.raises(InputError, match="row 1, column 0"):
        solve_dual([[1.0], [np.nan]], linear(), outlier_fraction=0.5)
    with pytest.raises(InputError, match="2 columns"):
        decision(line4, linear(), np.ones(4), np.ones((3, 2)))
    with pytest.raises(InputError, match="not symmetric"):
        solve_dual([[1.0, 0.5], [0.2, 1.0]], precomputed(), outlier_fraction=0.5)


def test_sums_of_kernels_in_chunks_are_the_product(monkeypatch):
    """More rows than fit into one chunk, and more than there are columns: sums of exp(-gamma |x - z|_1) by hand."""
    rng = np.random.default_rng(3)
    X, Z, weights = rng.standard_normal((3, 2)), rng.standard_normal((11, 2)), rng.standard_normal(3)
    monkeypatch.setattr(gram, "BLOCK", 6)  # two rows a chunk
    expected = np.exp(-0.7 * cdist(Z, X, "cityblock")) @ weights
    assert gram.weighted_kernels(X, laplacian(0.7), weights, Z, 1) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("fractions", [None, 0.5, "0.5", object(), [2.0], [None], {0.5: 1}])
def test_what_is_no_list_of_fractions_is_named(fractions):
    with pytest.raises(InputError, match=r"^fractions: "):
        dual_path(np.eye(3), gaussian(gamma=1.0), fractions)


@pytest.mark.parametrize("upper", [10**400, None, "0.5", {}, 1j, np.timedelta64(1, "s"), -1.0, np.nan, [0.5]])
def test_bounds_that_are_none_are_named(upper):
    with pytest.raises(InputError, match=r"^upper: "):
        smo(np.eye(3), upper=upper)


@pytest.mark.parametrize("weights", [{}, None, "x", [None] * 3, [1.0]])
def test_weights_that_are_none_are_named(weights):
    with pytest.raises(InputError, match=r"^weights: "):
        decision(np.eye(3), gaussian(gamma=1.0), weights, np.eye(3))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"rule": np.array([1.0, 2.0])}, "rule"),
        ({"seed": "x"}, "seed"),
        ({"equality": [1]}, "equality"),
        ({"semidefinite": "False"}, "semidefinite"),
    ],
)
def test_options_of_pair_steps_are_named(arguments, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        smo(np.eye(3), upper=0.5, **arguments)
