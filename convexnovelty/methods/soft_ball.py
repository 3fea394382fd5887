r"""The soft ball: the smallest ball in feature space that holds most of the sample.

Schölkopf and Smola (2001), chapter 8, equations 8.17 to 8.21. This file is the smallest complete method of the
package and the one to copy: a primal, a dual, an algorithm, and the steps between them.
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
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import gram_form, quantile_interval
from convexnovelty.regions import Ball, Guarantee, Interval
from convexnovelty.validation import Array, fraction

METHOD = Method(
    "soft_ball",
    title="Soft ball (support vector data description)",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The smallest ball in feature space that holds all but a fraction of the sample.",
    letters=("D2", "D3"),
)


def soft_ball(features: FeatureMap, outlier_fraction: float, form: Literal["primal", "dual"] = "dual") -> Formulation:
    r"""The soft ball, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points.
    outlier_fraction : the paper's nu, in (0, 1]; below 1/n the ball holds every point.
    form : "primal" (equation 8.17, in the squared radius) or "dual" (8.18 and 8.19).

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is a ball.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.soft_ball(cn.LinearFeatures(np.array([[0.0], [1.0]])), 0.4).solve()
    >>> round(solution.region.squared_radius, 6)
    0.25
    """
    if form not in ("primal", "dual"):
        raise InputError(f"form: {form!r} was found; give 'primal' or 'dual'")
    return (primal if form == "primal" else dual)(features, outlier_fraction)


def _share(value: object, name: str) -> float:
    return fraction(value, name, one=True)


def _reading(features: FeatureMap, center: Array, nu: float) -> Reading:
    training = np.asarray(features.training)
    squares = features.squared_norms() - 2 * training @ center + center @ center
    # The squared radius is a quantile from above, as the offset of the one-class machine is one from below.
    flipped = quantile_interval(-squares, nu)
    interval = Interval(max(0.0, -flipped.upper), -flipped.lower, -flipped.used)
    outside = int((squares > interval.used + 1e-7 * max(interval.used, float(squares.max()))).sum())
    return Reading(
        Ball(center, interval.used, needs_norms=isinstance(features, KernelFeatures)),
        Guarantee(
            f"{outside} of {features.n} training points lie outside, at most the fraction {nu:.6g} of them (problem 8.8)",
            bound=nu,
        ),
        interval,
    )


@METHOD.node(
    "primal",
    source="equation 8.17",
    latex=r"\min_{R^2,\xi,c}\ R^2+\tfrac1{\nu n}\sum_i\xi_i\quad\text{s.t.}\quad\|\Phi(x_i)-c\|^2\le R^2+\xi_i,\ \xi_i\ge0,\ R^2\ge0",
)
def primal(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """The squared radius is minimised; points may lie outside at a price. It is convex in R^2, not in R."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    phi, unit, n = np.asarray(features.training) / features.unit, features.unit, features.n
    squares = features.squared_norms() / unit**2
    c, xi = cp.Variable(phi.shape[1]), cp.Variable(n, nonneg=True)
    r2, q = cp.Variable(nonneg=True), cp.Variable()
    price = nu.parameter(lambda value: 1 / (value * n), nonneg=True)
    # One cone for |c|^2 instead of one a point: |x - c|^2 = k(x, x) - 2 <x, c> + q with q >= |c|^2, tight where it counts.
    inside = squares - 2 * (phi @ c) + q <= r2 + xi
    return Formulation(
        cp.Problem(cp.Minimize(r2 + price * cp.sum(xi)), [inside, cp.sum_squares(c) <= q]),
        {"c": Quantity(c, unit), "xi": Quantity(xi, unit**2), "R2": Quantity(r2, unit**2), "q": Quantity(q, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _reading(features, values["c"], nu.value),
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "dual",
    source="equations 8.18 and 8.19",
    latex=r"\min_{\alpha}\ \sum_{ij}\alpha_i\alpha_jk(x_i,x_j)-\sum_i\alpha_ik(x_i,x_i)\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1",
)
def dual(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """The centre as a convex combination of the points, with the same box as the one-class machine."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    unit = features.unit
    alpha = cp.Variable(features.n, nonneg=True)
    upper = nu.parameter(lambda value: 1 / (value * features.n), nonneg=True)
    objective = gram_form(alpha, features, unit) - (features.squared_norms() / unit**2) @ alpha
    return Formulation(
        cp.Problem(cp.Minimize(objective), [alpha <= upper, cp.sum(alpha) == 1]),
        {"alpha": Quantity(alpha)},
        objective_unit=unit**2,
        read=lambda values: _reading(features, np.asarray(features.training).T @ values["alpha"], nu.value),
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, applied to equations 8.18 and 8.19",
    latex=r"\min_\alpha\ \tfrac12\alpha'(2K)\alpha+p'\alpha,\quad p_i=-k(x_i,x_i)",
)
def sequential(features: FeatureMap, outlier_fraction: float) -> Solution:
    """Sequential minimal optimisation of the dual, whose linear term is the diagonal of the Gram matrix."""
    nu = _share(outlier_fraction, "outlier_fraction")
    squares = features.squared_norms()
    result = smo(2 * features.gram, p=-squares, upper=1 / (nu * features.n))
    center = np.asarray(features.training).T @ result.multipliers
    reading = _reading(features, center, nu)
    return Solution(
        float(center @ center - squares @ result.multipliers),
        {"alpha": result.multipliers},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver="SMO",
        iterations=result.iterations,
    )


def _constant_diagonal(features: FeatureMap) -> str | None:
    squares = features.squared_norms()
    spread = float(np.ptp(squares) / squares.max())
    return None if spread <= 1e-12 else f"k(x, x) varies by {spread:.0%}, so the ball is not the half-space's"


@METHOD.node(
    "one_class_svm",
    source="section 8.3: for constant k(x, x) the two problems coincide",
    latex=r"k(x,x)=\kappa_0:\quad\sum_{ij}\alpha_i\alpha_jk(x_i,x_j)-\kappa_0=2\cdot\tfrac12\alpha'K\alpha-\kappa_0",
    condition=_constant_diagonal,
)
def as_one_class_svm(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """The dual of the one-class machine on the same features."""
    return one_class_svm.one_class_svm(features, outlier_fraction, form="dual")


METHOD.step(
    "dual",
    "primal",
    claim="the primal's optimum is minus the dual's, with c = sum of alpha_i Phi(x_i)",
    equation="equations 8.17 to 8.20",
    reference="formulation",
    objective=lambda value: -value,
    values=lambda solution, features: {
        "c": (c := np.asarray(features.training).T @ solution.values["alpha"]),
        "R2": solution.offset.used,
        "q": float(c @ c),
        "xi": np.maximum(features.squared_norms() - 2 * np.asarray(features.training) @ c + c @ c - solution.offset.used, 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    claim="pairwise steps end at the optimum of the dual",
    equation="equations 8.18, 8.19 and 8.24",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "one_class_svm",
    "dual",
    claim="for constant k(x, x) the objective is twice the machine's less k(x, x), and the decision value twice its own",
    equation="section 8.3, after equation 8.21",
    reference="formulation",
    condition=_constant_diagonal,
    objective=lambda value, features: 2 * value - float(features.squared_norms()[0]),
    decision=2.0,
    values=lambda solution: {"alpha": solution.values["alpha"]},
)


@METHOD.property("nu-property", source="problem 8.8")
def nu_property(solution: Solution, features: FeatureMap, outlier_fraction: float) -> list[Claim]:
    """Fractions of outliers and of support vectors on either side of nu, for the ball."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, Ball):
        return []
    values = region.decision_values(features.training, features.squared_norms())
    scale = max(region.squared_radius, float(np.abs(values).max()))
    outliers = float((values < -1e-6 * scale).mean())
    support = float((alpha > 1e-6 / (outlier_fraction * features.n)).mean())
    exact = "a count, so exact up to rounding"
    return [
        Claim("outliers are at most the fraction nu", outliers, outlier_fraction, "<=", 1e-9, source="problem 8.8", because=exact),
        Claim("support vectors are at least the fraction nu", support, outlier_fraction, ">=", 1e-9, source="problem 8.8", because=exact),
    ]


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """A kernel with constant k(x, x): the ball and the half-space coincide."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.gaussian(gamma="scale"))
    return Instance("blob, gaussian kernel", {"features": features, "outlier_fraction": 0.1}, features.coordinates(data.novel))


@METHOD.instance("blob, polynomial kernel")
def polynomial() -> Instance:
    """A kernel with varying k(x, x): the ball and the half-space differ."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.polynomial(degree=2, gamma=0.1, coef0=1.0))
    return Instance("blob, polynomial kernel", {"features": features, "outlier_fraction": 0.15}, features.coordinates(data.novel))


@METHOD.instance("breast cancer, linear kernel")
def breast_cancer() -> Instance:
    """Benign cases in their own units, six orders of magnitude apart."""
    data = datasets.breast_cancer()
    features = LinearFeatures(data.nominal[:150])
    return Instance("breast cancer, linear kernel", {"features": features, "outlier_fraction": 0.07}, features.coordinates(data.novel[:60]))
