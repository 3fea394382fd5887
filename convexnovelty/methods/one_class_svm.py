r"""The one-class support vector machine: separate the sample from the origin with the largest margin.

Schölkopf and Smola (2001), chapter 8, equations 8.6 to 8.16. The papers' :math:`\nu` is ``outlier_fraction`` here,
:math:`\rho` is the offset, :math:`\alpha` are the multipliers, and coordinates of :math:`\Phi(x)` come from the features.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable
from convexnovelty.modelling import gram_form, quantile_interval
from convexnovelty.regions import Guarantee, HalfSpace
from convexnovelty.validation import Array, fraction

METHOD = Method(
    "one_class_svm",
    title="One-class support vector machine",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="Separates the sample from the origin in feature space with the largest margin, leaving a fraction outside.",
    letters=("D1", "D3", "D5"),
)


def one_class_svm(
    features: FeatureMap, outlier_fraction: float, form: Literal["primal", "dual"] = "dual"
) -> Formulation:
    r"""The one-class support vector machine, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points.
    outlier_fraction : the paper's nu, in (0, 1]; below 1/n the margin is hard.
    form : "primal" (equations 8.6 and 8.7) or "dual" (8.13 to 8.15).

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is the half-space
    :math:`\langle w, \Phi(x)\rangle \ge \rho`.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5).solve()
    >>> round(solution.objective, 6)
    1.125
    """
    if form not in ("primal", "dual"):
        raise InputError(f"form: {form!r} was found; give 'primal' or 'dual'")
    return (primal if form == "primal" else dual)(features, outlier_fraction)


def _share(value: object, name: str) -> float:
    return fraction(value, name, one=True)


def _reading(features: FeatureMap, normal: Array, nu: float) -> Reading:
    scores = np.asarray(features.training) @ normal
    offset = quantile_interval(scores, nu)
    slack = 1e-7 * max(float(np.abs(scores).max()), np.finfo(float).tiny)
    outside = int((scores < offset.used - slack).sum())
    return Reading(
        HalfSpace(normal, offset.used),
        Guarantee(
            f"{outside} of {features.n} training points lie outside, at most the fraction {nu:.6g} of them (proposition 8.3)",
            bound=nu,
        ),
        offset,
    )


@METHOD.node(
    "primal",
    source="equations 8.6 and 8.7",
    latex=r"\min_{w,\xi,\rho}\ \tfrac12\|w\|^2+\tfrac1{\nu n}\sum_i\xi_i-\rho\quad\text{s.t.}\quad\langle w,\Phi(x_i)\rangle\ge\rho-\xi_i,\ \xi_i\ge0",
)
def primal(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """The margin to the origin is maximised; points may fall short of it at a price."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    phi, unit = np.asarray(features.training) / features.unit, features.unit
    w, xi, rho = cp.Variable(phi.shape[1]), cp.Variable(features.n, nonneg=True), cp.Variable()
    price = nu.parameter(lambda value: 1 / (value * features.n), nonneg=True)
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + price * cp.sum(xi) - rho), [phi @ w >= rho - xi]),
        {"w": Quantity(w, unit), "xi": Quantity(xi, unit**2), "rho": Quantity(rho, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _reading(features, values["w"], nu.value),
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "dual",
    source="equations 8.13 to 8.15",
    latex=r"\min_{\alpha}\ \tfrac12\sum_{ij}\alpha_i\alpha_jk(x_i,x_j)\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1",
)
def dual(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """The point of the reduced convex hull of the sample that is nearest to the origin."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    alpha = cp.Variable(features.n, nonneg=True)
    upper = nu.parameter(lambda value: 1 / (value * features.n), nonneg=True)
    return Formulation(
        cp.Problem(cp.Minimize(gram_form(alpha, features, features.unit) / 2), [alpha <= upper, cp.sum(alpha) == 1]),
        {"alpha": Quantity(alpha)},
        objective_unit=features.unit**2,
        read=lambda values: _reading(features, np.asarray(features.training).T @ values["alpha"], nu.value),
        tunables={"outlier_fraction": nu},
    )


def _solution(features: FeatureMap, nu: float, alpha: Array, how: str, iterations: int = 0) -> Solution:
    normal = np.asarray(features.training).T @ alpha
    reading = _reading(features, normal, nu)
    return Solution(
        float(normal @ normal) / 2,
        {"alpha": alpha},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, equations 8.22 to 8.28",
    latex=r"\alpha_i\leftarrow\alpha_i+\frac{f(x_j)-f(x_i)}{K_{ii}+K_{jj}-2K_{ij}}\ \text{clipped to}\ [L,H],\quad\alpha_j\leftarrow\gamma-\alpha_i",
)
def sequential(features: FeatureMap, outlier_fraction: float) -> Solution:
    """Sequential minimal optimisation of the dual: pairs chosen by second-order information."""
    nu = _share(outlier_fraction, "outlier_fraction")
    result = smo(features.gram, upper=1 / (nu * features.n))
    return _solution(features, nu, result.multipliers, "SMO", result.iterations)


@METHOD.node(
    "smo_schoelkopf",
    kind="algorithm",
    source="section 8.4, with the chapter's initialisation, scans and second choice",
    latex=r"j=\arg\max_{n\in SV_{nb}}|O_i-O_n|",
)
def sequential_schoelkopf(features: FeatureMap, outlier_fraction: float) -> Solution:
    """Sequential minimal optimisation as the chapter describes it, scan by scan."""
    nu = _share(outlier_fraction, "outlier_fraction")
    result = smo(features.gram, upper=1 / (nu * features.n), rule="schoelkopf")
    return _solution(features, nu, result.multipliers, "SMO (chapter 8)", result.iterations)


@METHOD.node(
    "libsvm",
    kind="other library",
    source="scikit-learn's OneClassSVM, whose coefficients sum to nu n",
    latex=r"\min_{\beta}\ \tfrac12\beta'K\beta\quad\text{s.t.}\quad0\le\beta_i\le1,\ \sum_i\beta_i=\nu n,\quad\alpha=\beta/(\nu n)",
    condition=lambda outlier_fraction: None if outlier_fraction < 1 else "libsvm's offset is infinite when every multiplier is at its bound",
)
def libsvm(features: FeatureMap, outlier_fraction: float) -> Solution:
    """The same dual as libsvm solves it, with its coefficients divided by nu n."""
    from sklearn.svm import OneClassSVM

    nu = _share(outlier_fraction, "outlier_fraction")
    # libsvm's tolerance is absolute in its own scale, where the multipliers are nu n times ours.
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9 * max(1.0, nu * features.n)).fit(features.gram / features.unit**2)
    alpha = np.zeros(features.n)
    alpha[machine.support_] = machine.dual_coef_.ravel()
    return _solution(features, nu, alpha / alpha.sum(), "libsvm", int(machine.n_iter_))


@METHOD.node(
    "parzen",
    kind="closed form",
    source="section 8.3, Parzen windows",
    latex=r"\nu=1:\quad\alpha_i=\tfrac1n",
    condition=lambda outlier_fraction: None if outlier_fraction == 1 else "the Parzen estimate is the case outlier_fraction = 1",
)
def parzen(features: FeatureMap, outlier_fraction: float = 1.0) -> Solution:
    """With an outlier fraction of one every multiplier is 1/n: a thresholded Parzen estimate of the density."""
    return _solution(features, 1.0, np.full(features.n, 1 / features.n), "closed form")


@METHOD.node(
    "hard_margin",
    source="equation 8.31, rescaled",
    latex=r"\nu n<1:\quad\min_{w,\rho}\ \tfrac12\|w\|^2-\rho\quad\text{s.t.}\quad\langle w,\Phi(x_i)\rangle\ge\rho",
    condition=lambda features, outlier_fraction: None if outlier_fraction * features.n < 1 else "the margin is hard only for outlier_fraction < 1/n",
)
def hard_margin(features: FeatureMap, outlier_fraction: float = 0.0) -> Formulation:
    """Below an outlier fraction of 1/n no slack is worth its price: the supporting hyperplane of the whole sample."""
    phi, unit = np.asarray(features.training) / features.unit, features.unit
    w, rho = cp.Variable(phi.shape[1]), cp.Variable()
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 - rho), [phi @ w >= rho]),
        {"w": Quantity(w, unit), "rho": Quantity(rho, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _reading(features, values["w"], 0.5 / features.n),
    )


METHOD.step(
    "dual",
    "primal",
    claim="the primal's optimum is minus the dual's, with w = sum of alpha_i Phi(x_i)",
    equation="equations 8.9 to 8.13",
    reference="formulation",
    objective=lambda value: -value,
    values=lambda solution, features: {
        "w": (w := np.asarray(features.training).T @ solution.values["alpha"]),
        "rho": solution.offset.used,
        "xi": np.maximum(solution.offset.used - np.asarray(features.training) @ w, 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    claim="pairwise steps end at the optimum of the dual",
    equation="equations 8.22 to 8.26",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "smo_schoelkopf",
    "smo",
    claim="the chapter's choice of pairs and the second-order choice end at the same optimum",
    equation="equations 8.27 and 8.28",
    reference="algorithm",
)
METHOD.step(
    "libsvm",
    "dual",
    claim="libsvm's coefficients divided by nu n solve the dual",
    equation="equations 8.13 to 8.15",
    reference="other library",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "parzen",
    "dual",
    claim="for nu = 1 the dual has the single feasible point 1/n",
    equation="section 8.3",
    reference="closed form",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "hard_margin",
    "dual",
    claim="for nu n < 1 the slacks vanish and the box of the dual does not bind",
    equation="equation 8.31",
    reference="formulation",
    objective=lambda value: -value,
)


@METHOD.property("nu-property", source="proposition 8.3 and problems 8.4, 8.5")
def nu_property(solution: Solution, features: FeatureMap, outlier_fraction: float) -> list[Claim]:
    """Fractions of outliers and of support vectors on either side of nu; a positive offset; rho and the objective."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, HalfSpace) or solution.offset is None:
        return []
    scores = np.asarray(features.training) @ region.normal
    scale = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    outliers = float((scores < region.offset - 1e-6 * scale).mean())
    support = float((alpha > 1e-6 / (outlier_fraction * features.n)).mean())
    slacks = np.maximum(region.offset - scores, 0).sum() / (outlier_fraction * features.n)
    squared = float(region.normal @ region.normal)
    exact = "a count, so exact up to rounding"
    return [
        Claim("outliers are at most the fraction nu", outliers, outlier_fraction, "<=", 1e-9, source="proposition 8.3", because=exact),
        Claim("support vectors are at least the fraction nu", support, min(outlier_fraction, 1.0), ">=", 1e-9, source="proposition 8.3", because=exact),
        Claim("the offset is not negative", region.offset / scale, 0.0, ">=", 1e-7, source="problem 8.4", because="solver"),
        Claim("the squared norm of w is twice the dual objective", squared / scale, 2 * solution.objective / scale, tolerance=1e-7, source="equation 8.41"),
        Claim("the offset exceeds |w|^2 by the price of the slacks", region.offset / scale, (squared + slacks) / scale, tolerance=1e-6, source="equation 8.41, with slacks"),
    ]


@METHOD.property("resistance", source="proposition 8.4")
def resistance(solution: Solution, features: FeatureMap, outlier_fraction: float) -> list[Claim]:
    """An outlier that moves along w by less than its slack leaves the hyperplane where it is, up to its length."""
    region = solution.region
    if "alpha" not in solution.values or not isinstance(region, HalfSpace) or not isinstance(features, LinearFeatures):
        return []
    phi = np.asarray(features.training)
    scores = phi @ region.normal
    length = float(region.normal @ region.normal)
    slack = region.offset - scores
    worst = int(slack.argmax())
    if slack[worst] <= 1e-4 * abs(region.offset) or length == 0 or features.n > 200:
        return []
    moved = phi.copy()
    moved[worst] += 0.5 * min(slack[worst] / length, 1.0) * region.normal
    again = smo(moved @ moved.T, upper=1 / (outlier_fraction * features.n))
    normal = moved.T @ again.multipliers
    cosine = float(normal @ region.normal / (np.linalg.norm(normal) * np.sqrt(length)))
    return [Claim("the direction of w does not move with an outlier", cosine, 1.0, tolerance=1e-6, kind="algorithm", source="proposition 8.4")]


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """Forty points of one cloud, a tenth of them outside."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.gaussian(gamma="scale"))
    return Instance("blob, gaussian kernel", {"features": features, "outlier_fraction": 0.1}, features.coordinates(data.novel))


@METHOD.instance("digits, gaussian kernel")
def digits() -> Instance:
    """Images of one digit: real data with p > n directions that hardly vary."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(data.nominal[:120], kernels.gaussian(gamma="scale"))
    return Instance("digits, gaussian kernel", {"features": features, "outlier_fraction": 0.25}, features.coordinates(data.novel[:60]))


@METHOD.instance("breast cancer, linear kernel")
def breast_cancer() -> Instance:
    """Benign cases, whose thirty features span six orders of magnitude."""
    data = datasets.breast_cancer()
    features = LinearFeatures(data.nominal[:150])
    return Instance("breast cancer, linear kernel", {"features": features, "outlier_fraction": 0.07}, features.coordinates(data.novel[:60]))


@METHOD.instance("blob, Parzen")
def blob_parzen() -> Instance:
    """Every multiplier at its bound."""
    data = datasets.blob(n=30)
    features = KernelFeatures(data.nominal, kernels.gaussian(width=2.0))
    return Instance("blob, Parzen", {"features": features, "outlier_fraction": 1.0}, features.coordinates(data.novel))


@METHOD.instance("blob, hard margin")
def blob_hard() -> Instance:
    """No point may lie outside."""
    data = datasets.blob(n=30)
    features = KernelFeatures(data.nominal, kernels.gaussian(width=2.0))
    return Instance("blob, hard margin", {"features": features, "outlier_fraction": 0.02}, features.coordinates(data.novel))
