r"""The comparison of the single-class machine's table 1: a two-class machine against an artificial, uniform class.

Lanckriet, El Ghaoui and Jordan (2003), section 4. The negative class is drawn uniformly from the smallest box that
holds the sample, and a soft-margin support vector machine separates the two.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap, KernelFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable
from convexnovelty.modelling import gram_form
from convexnovelty.novelty_scores import generator, uniform_points
from convexnovelty.regions import Guarantee, HalfSpace, Interval
from convexnovelty.validation import Array, integer, points, positive

METHOD = Method(
    "uniform_class_svm",
    title="Two-class machine against a uniform class",
    source="Lanckriet, El Ghaoui and Jordan (2003)",
    summary="A support vector machine that separates the sample from artificial points, uniform on the box around it.",
    letters=("C4",),
)


def uniform_class_svm(
    positives: Any,
    slack_penalty: float,
    kernel: Any = None,
    count: int | None = None,
    random_state: Any = 0,
    form: Literal["primal", "dual"] = "dual",
) -> Formulation:
    r"""The soft-margin machine of a sample against uniform points on its bounding box.

    Parameters
    ----------
    positives : (n, p) ordinary points.
    slack_penalty : the paper's C > 0, the price of a unit of slack in either class.
    kernel : a Kernel, a name, a function, or None for the linear kernel, which separates nothing from what surrounds it.
    count : how many artificial points to draw; as many as there are ordinary ones by default.
    random_state : a seed or a numpy Generator.
    form : "primal" or "dual".

    Returns
    -------
    A formulation whose ``slack_penalty`` can be set without compiling again. Its region is the half-space
    :math:`\langle w, \Phi(x)\rangle + b \ge 0` in the feature space of both samples; see :func:`with_uniform_class` for
    the features.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> solution = cn.uniform_class_svm(X, 1.0, cn.kernels.gaussian(gamma=1.0)).solve()
    >>> bool(solution.guarantee.bound <= 1)
    True
    """
    if form not in ("primal", "dual"):
        raise InputError(f"form: {form!r} was found; give 'primal' or 'dual'")
    X = points(positives, "positives", minimum=2)
    features = with_uniform_class(X, kernel, count, random_state)
    return (primal if form == "primal" else dual)(features, X.shape[0], slack_penalty)


def with_uniform_class(
    positives: Any, kernel: Any = None, count: int | None = None, random_state: Any = 0
) -> KernelFeatures:
    """Features of the sample in the first rows, and of uniform points on its bounding box in the others.

    New points are judged at ``features.coordinates(Z)``.
    """
    X = points(positives, "positives", minimum=2)
    size = X.shape[0] if count is None else integer(count, "count", 1)
    artificial = uniform_points((X.min(axis=0), X.max(axis=0)), size, generator(random_state))
    return KernelFeatures(np.vstack([X, artificial]), kernel)


def _labels(features: FeatureMap, count_x: int) -> Array:
    size = integer(count_x, "count_x", 1)
    if size >= features.n:
        raise InputError(
            f"count_x: {size} was found where the features have {features.n} rows; some must be artificial"
        )
    return np.where(np.arange(features.n) < size, 1.0, -1.0)


def _penalty(value: Any, name: str) -> float:
    return positive(value, name)


def _offsets(scores: Array, labels: Array) -> Interval:
    """All offsets b with the least sum of slacks for given scores: the sum is piecewise linear, with a kink a point."""
    kinks = np.sort(labels - scores)
    slacks = np.maximum(1 - labels[None, :] * (scores[None, :] + kinks[:, None]), 0.0).sum(axis=1)
    best = kinks[slacks <= slacks.min() + 1e-9 * max(1.0, float(slacks.min()))]
    return Interval(float(best[0]), float(best[-1]), float((best[0] + best[-1]) / 2))


def _reading(features: FeatureMap, labels: Array, w: Array) -> Reading:
    scores = np.asarray(features.training) @ w
    offset = _offsets(scores, labels)
    b = offset.used
    own = scores[labels > 0] + b
    outside, slack = int((own < -1e-7 * max(1.0, abs(b))).sum()), float(np.maximum(1 - own, 0.0).mean())
    return Reading(
        HalfSpace(w, -b, scale=1.0),
        Guarantee(
            f"{outside} of {own.size} ordinary points lie outside, at most the fraction {min(slack, 1.0):.6g} of them "
            f"that "
            "the slacks add up to",
            bound=min(slack, 1.0),
        ),
        Interval(-offset.upper, -offset.lower, -b),
        {"b": b},
    )


@METHOD.node(
    "primal",
    source="section 4, the two-class machine",
    latex=(
        r"\min_{w,b,\xi}\ \tfrac12\|w\|^2+C\sum_i\xi_i\quad\text{s.t.}\quad y_i(\langle "
        r"w,\Phi(x_i)\rangle+b)\ge1-\xi_i,\ \xi_i\ge0"
    ),
)
def primal(features: FeatureMap, count_x: int, slack_penalty: float) -> Formulation:
    """The margin between the sample and the uniform points is maximised; points may fall short of it at a price."""
    labels, C = _labels(features, count_x), Tunable("slack_penalty", slack_penalty, _penalty)
    phi, unit = np.asarray(features.training) / features.unit, features.unit
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(features.n, nonneg=True)
    price = C.parameter(lambda value: value * unit**2, nonneg=True)
    return Formulation(
        cp.Problem(
            cp.Minimize(cp.sum_squares(w) / 2 + price * cp.sum(xi)), [cp.multiply(labels, phi @ w + b) >= 1 - xi]
        ),
        {"w": Quantity(w, 1 / unit), "b": b, "xi": xi},
        objective_unit=unit**-2,
        read=lambda values: _reading(features, labels, values["w"]),
        tunables={"slack_penalty": C},
    )


@METHOD.node(
    "dual",
    source="section 4, the two-class machine",
    latex=(
        r"\max_\alpha\ \sum_i\alpha_i-\tfrac12\sum_{ij}\alpha_i\alpha_jy_iy_jk(x_i,x_j)\quad\text{s.t.}\quad0\le"
        r"\alpha_i\le C,\ \sum_i\alpha_iy_i=0"
    ),
)
def dual(features: FeatureMap, count_x: int, slack_penalty: float) -> Formulation:
    """The nearest points of the two reduced hulls."""
    labels, C = _labels(features, count_x), Tunable("slack_penalty", slack_penalty, _penalty)
    unit = features.unit
    alpha = cp.Variable(features.n, nonneg=True)
    upper = C.parameter(lambda value: value * unit**2, nonneg=True)
    signed = cp.multiply(labels, alpha)
    return Formulation(
        cp.Problem(
            cp.Maximize(cp.sum(alpha) - gram_form(signed, features, unit) / 2), [alpha <= upper, labels @ alpha == 0]
        ),
        {"alpha": Quantity(alpha, unit**-2)},
        objective_unit=unit**-2,
        read=lambda values: _reading(features, labels, np.asarray(features.training).T @ (labels * values["alpha"])),
        tunables={"slack_penalty": C},
    )


def _solution(features: FeatureMap, labels: Array, alpha: Array, how: str, iterations: int) -> Solution:
    w = np.asarray(features.training).T @ (labels * alpha)
    reading = _reading(features, labels, w)
    return Solution(
        float(alpha.sum() - w @ w / 2),
        {"alpha": alpha, **reading.letters},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="sequential minimal optimisation of the dual",
    latex=r"\min_\alpha\ \tfrac12\alpha'YKY\alpha-\mathbf 1'\alpha\quad\text{pair by pair along}\quad y'\alpha=0",
)
def sequential(features: FeatureMap, count_x: int, slack_penalty: float) -> Solution:
    """Pair steps with signs, and Newton steps to finish."""
    labels = _labels(features, count_x)
    result = smo(
        features.gram * np.outer(labels, labels),
        -np.ones(features.n),
        labels,
        0.0,
        _penalty(slack_penalty, "slack_penalty"),
    )
    return _solution(features, labels, result.multipliers, "SMO", result.iterations)


@METHOD.node(
    "libsvm",
    kind="other library",
    source="scikit-learn's SVC",
    latex=r"\max_\alpha\ \sum_i\alpha_i-\tfrac12\alpha'YKY\alpha",
)
def libsvm(features: FeatureMap, count_x: int, slack_penalty: float) -> Solution:
    """The same dual as libsvm solves it, in units of the features."""
    from sklearn.svm import SVC

    labels, unit = _labels(features, count_x), features.unit
    machine = SVC(kernel="precomputed", C=_penalty(slack_penalty, "slack_penalty") * unit**2, tol=1e-7)
    machine.fit(features.gram / unit**2, labels)
    alpha = np.zeros(features.n)
    alpha[machine.support_] = np.abs(machine.dual_coef_.ravel()) / unit**2
    return _solution(features, labels, alpha, "libsvm", int(np.max(machine.n_iter_)))


METHOD.step(
    "dual",
    "primal",
    claim="both have one optimum, with w = sum of alpha_i y_i Phi(x_i)",
    equation="strong duality",
    reference="formulation",
    values=lambda solution, features, count_x: {
        "w": (w := np.asarray(features.training).T @ (_labels(features, count_x) * solution.values["alpha"])),
        "b": (b := solution.values["b"]),
        "xi": np.maximum(1 - _labels(features, count_x) * (np.asarray(features.training) @ w + b), 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    claim="pairwise steps end at the optimum of the dual",
    equation="the dual with signs",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "libsvm",
    "smo",
    claim="libsvm ends at the same optimum",
    equation="the dual with signs",
    reference="other library",
    # libsvm's kernel values have seven digits, and its normal about half of them.
    tolerance=1e-5,
    decision_tolerance=1e-3,
)


@METHOD.property("slack bound", source="the hinge loss")
def slack_bound(solution: Solution, features: FeatureMap, count_x: int) -> list[Claim]:
    """The fraction of ordinary points outside is at most the mean of their slacks."""
    region, guarantee = solution.region, solution.guarantee
    if not isinstance(region, HalfSpace) or guarantee is None:
        return []
    outside = float((~region.contains(np.asarray(features.training)[:count_x])).mean())
    return [
        Claim(
            "points outside have slacks of at least one", outside, guarantee.bound, "<=", 1e-9, source="the hinge loss"
        )
    ]


def _instance(name: str, positives: Array, kernel: kernels.Kernel, slack_penalty: float, novel: Array) -> Instance:
    features = with_uniform_class(positives, kernel)
    arguments = {"features": features, "count_x": len(positives), "slack_penalty": slack_penalty}
    return Instance(name, arguments, features.coordinates(novel))


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """Forty points of one cloud."""
    data = datasets.blob(n=40)
    return _instance("blob, gaussian kernel", data.nominal, kernels.gaussian(gamma="scale"), 1.0, data.novel)


@METHOD.instance("digits, gaussian kernel")
def digits() -> Instance:
    """Images of one digit against noise between their darkest and their brightest pixels."""
    data = datasets.digits(digit=0)
    kernel = kernels.gaussian(gamma="scale")
    return _instance("digits, gaussian kernel", data.nominal[:40], kernel, 0.5, data.novel[:40])


@METHOD.instance("badly scaled, polynomial kernel")
def badly_scaled() -> Instance:
    """Features in units from 1e-4 to 1e4: the box has the same units."""
    data = datasets.badly_scaled(n=30)
    kernel = kernels.polynomial(degree=2, gamma="scale", coef0=1.0)
    return _instance("badly scaled, polynomial kernel", data.nominal, kernel, 0.1, data.novel)


@METHOD.instance("duplicates, gaussian kernel")
def duplicates() -> Instance:
    """Points that occur many times, half of them the same."""
    data = datasets.duplicates(n=30)
    return _instance("duplicates, gaussian kernel", data.nominal, kernels.gaussian(width=2.0), 2.0, data.novel)
