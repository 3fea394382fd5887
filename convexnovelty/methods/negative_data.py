r"""The one-class machine with negative data: novel examples are reflected at the origin, then all is as before.

Schölkopf and Smola (2001), chapter 8, problem 8.10, equations 8.42 to 8.46. A label :math:`y_i` is 1 for an ordinary
and -1 for a novel example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.margin_unit import margin_unit, nearest
from convexnovelty.algorithms.polish import polished_margin
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.methods import hard_margin, one_class_svm
from convexnovelty.modelling import (
    below,
    beyond_boundary,
    check_features,
    fitted_by_libsvm,
    hidden_lengths,
    hidden_square,
    libsvm_rounding,
    libsvm_share,
    margin_letters,
    margin_reading,
    multipliers,
    outlier_share,
    point_reading,
    product_doubt,
    sample_shares,
    score_doubts,
    signs,
    slack_price,
    span_gram,
    squared_length,
    terms_apart,
    untold_by_products,
)
from convexnovelty.regions import HalfSpace
from convexnovelty.solution import Values
from convexnovelty.validation import Array, choice

METHOD = Method(
    "negative_data",
    title="One-class machine with negative data",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The one-class machine on ordinary points and novel ones, the latter reflected at the origin.",
    letters=("D4",),
)

WRONG_SIDE = "lie on the wrong side of their margin"


def negative_data(
    features: FeatureMap, labels: Any, outlier_fraction: float, form: Literal["primal", "dual"] = "dual"
) -> Formulation:
    r"""The one-class machine that also knows novel examples, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points, ordinary and novel ones.
    labels : 1 for each ordinary point and -1 for each novel one, of shape (n,).
    outlier_fraction : the paper's nu, in (0, 1]: at most this share of all points lies on the wrong side of its margin.
    form : "primal" or "dual" (equations 8.42 to 8.44).

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is
    :math:`\langle w, \Phi(x)\rangle \ge \rho`, equation 8.45; novel points are kept below :math:`-\rho`.

    Notes
    -----
    Unlike a binary machine this one has no threshold that could move towards the rarer class: the hyperplane in the
    middle passes through the origin, and both margins have the same distance from it.

    Equation 8.46 reads :math:`\rho = \langle w, \Phi(x_i)\rangle` for every point on its margin. For those with
    :math:`y_i = -1` the sign is missing: :math:`\rho = y_i\langle w, \Phi(x_i)\rangle`, since the constraint that holds
    with equality is that of the reflected point.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> features = cn.LinearFeatures(np.array([[1.0], [2.0], [-1.0]]))
    >>> solution = cn.negative_data(features, labels=[1, 1, -1], outlier_fraction=0.2).solve()
    >>> round(solution.region.offset, 6)
    1.0
    """
    check_features(features)
    choice(form, "form", ("primal", "dual"))
    made = (primal if form == "primal" else dual)(features, labels, outlier_fraction)
    return remade_by(negative_data, made, form=form)


def _reflected(features: FeatureMap, y: Array) -> Array:
    """The coordinates of the points, novel ones mirrored at the origin."""
    return np.asarray(y[:, None] * np.asarray(features.training))


def _unit(features: FeatureMap, nu: float, y: Array) -> float:
    """The unit in which the programs are posed: points of both labels may lie much closer to each other than to the origin."""
    doubts = score_doubts(features, features.middle)
    phi, shares = _reflected(features, y), sample_shares(None, features.n)
    return margin_unit(phi, features.middle, doubts, nu, shares, doubt=product_doubt(features))


def _reading(
    features: FeatureMap, normal: Array, nu: float, y: Array, unit: float | None = None, **options: Any
) -> Reading:
    """What holds at an optimum of the program in a unit, or of an algorithm in that of the features."""
    phi = _reflected(features, y)
    return margin_reading(
        phi @ normal,
        normal,
        nu,
        sample_shares(None, features.n),
        points=phi,
        unit=features.middle if unit is None else unit,
        outside=WRONG_SIDE,
        doubts=score_doubts(features, features.middle),
        **options,
    )


def _polished(
    features: FeatureMap,
    nu: float,
    y: Array,
    unit: float,
    letters: Sequence[str],
    alpha: Any = None,
    w: Any = None,
    shown: Any = None,
) -> Reading:
    """What holds at the optimum that a solver's multipliers or its w lie near to, with these letters there.

    Where that optimum is not found, the multipliers say which points lie beyond the boundary; a w has those that are ``shown`` with it.
    """
    phi, shares = _reflected(features, y), sample_shares(None, features.n)
    found = polished_margin(phi, shares / nu, alpha, w, product_doubt(features))
    if found is None:
        beyond = beyond_boundary(alpha if w is None else shown, shares / nu)
        return _reading(features, phi.T @ alpha if w is None else w, nu, y, unit, beyond=beyond)
    made = _reading(features, found.normal, nu, y, unit, known=found.doubts)
    return margin_letters(made, phi, found.multipliers, *letters)


def _at_point(features: FeatureMap, values: Values, y: Array, unit: float) -> Reading:
    """What holds of any w and rho."""
    phi, w, rho = _reflected(features, y), values["w"], values["rho"]
    apart, shares = terms_apart(phi, w, phi @ w, rho), sample_shares(None, features.n)
    return point_reading(phi @ w, w, rho, shares, rows=phi, apart=apart, unit=unit, outside=WRONG_SIDE)


def _hidden(features: FeatureMap, normal: Array, nu: float, y: Array) -> float:
    """What the coordinates may lack of the value."""
    scores = _reflected(features, y) @ normal
    return hidden_square(hidden_lengths(features), scores, nu, sample_shares(None, features.n)) / 2


@METHOD.node(
    "primal",
    source="problem 8.10, equations 8.6 and 8.7 on the reflected points",
    latex=(
        r"\min_{w,\xi,\rho}\ \tfrac12\|w\|^2+\tfrac1{\nu n}\sum_i\xi_i-\rho"
        r"\quad\text{s.t.}\quad y_i\langle w,\Phi(x_i)\rangle\ge\rho-\xi_i,\ \xi_i\ge0"
    ),
)
def primal(features: FeatureMap, labels: Any, outlier_fraction: float) -> Formulation:
    """Ordinary points are kept above rho and novel ones below minus rho, at a price for those that are not."""
    nu, y = Tunable("outlier_fraction", outlier_fraction, outlier_share), signs(labels, features.n)
    unit = _unit(features, nu.value, y)
    phi = _reflected(features, y) / unit
    w, xi, rho = cp.Variable(phi.shape[1]), cp.Variable(features.n, nonneg=True), cp.Variable()
    price, margin = slack_price(nu, equal := sample_shares(None, features.n)), phi @ w >= rho - xi
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + price * (equal @ xi) - rho), [margin]),
        {"w": Quantity(w, unit), "xi": Quantity(xi, unit**2), "rho": Quantity(rho, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _polished(
            features, nu.value, y, unit, ("w", "rho", "xi"), w=values["w"], shown=margin.dual_value
        ),
        composed=lambda values: _at_point(features, values, y, unit),
        tunables={"outlier_fraction": nu},
        rounded=lambda values: _hidden(features, values["w"], nu.value, y),
    )


@METHOD.node(
    "dual",
    source="equations 8.42 to 8.44",
    latex=(
        r"\min_\alpha\ \tfrac12\sum_{ij}\alpha_i\alpha_jy_iy_jk(x_i,x_j)"
        r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1"
    ),
)
def dual(features: FeatureMap, labels: Any, outlier_fraction: float) -> Formulation:
    """The reduced hull of ordinary points and mirrored novel ones: its point that is nearest to the origin."""
    nu, y = Tunable("outlier_fraction", outlier_fraction, outlier_share), signs(labels, features.n)
    price = slack_price(nu, equal := sample_shares(None, features.n))
    phi, unit = _reflected(features, y), _unit(features, nu.value, y)
    letter = multipliers(phi / unit, nu.value, equal)
    alpha = letter.expression
    form = squared_length(letter, phi / unit, lambda: span_gram(features) * np.outer(y, y) / unit**2)
    return Formulation(
        cp.Problem(cp.Minimize(form / 2), [alpha <= price * equal, cp.sum(alpha) == 1]),
        {"alpha": letter},
        objective_unit=unit**2,
        read=lambda values: _polished(features, nu.value, y, unit, ("alpha",), alpha=values["alpha"]),
        tunables={"outlier_fraction": nu},
        rounded=lambda values: _hidden(features, phi.T @ values["alpha"], nu.value, y),
    )


def _solution(features: FeatureMap, nu: float, y: Array, alpha: Array, how: str, iterations: int = 0) -> Solution:
    normal = _reflected(features, y).T @ alpha
    reading = _reading(features, normal, nu, y)
    return Solution(
        float(normal @ normal) / 2,
        {"alpha": alpha},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


def _no_pairs(features: FeatureMap, labels: Any, outlier_fraction: float) -> str | None:
    return untold_by_products(features, _unit(features, outlier_fraction, signs(labels, features.n)))


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, applied to equations 8.42 to 8.44",
    latex=r"\min_\alpha\ \tfrac12\alpha'Q\alpha,\quad Q_{ij}=y_iy_jk(x_i,x_j)",
    condition=_no_pairs,
)
def sequential(features: FeatureMap, labels: Any, outlier_fraction: float) -> Solution:
    """Pairwise steps on the Gram matrix with the signs of the labels."""
    nu, y = outlier_share(outlier_fraction, "outlier_fraction"), signs(labels, features.n)
    found = nearest(span_gram(features) * np.outer(y, y), 1 / (nu * features.n))
    return _solution(features, nu, y, found.multipliers, "SMO", found.iterations)


def _no_libsvm(features: FeatureMap, labels: Any, outlier_fraction: float) -> str | None:
    if outlier_fraction == 1:
        return "libsvm's offset is infinite when every multiplier is at its bound"
    near = _unit(features, outlier_fraction, signs(labels, features.n)) < features.middle
    return one_class_svm.single_precision(near)


@METHOD.node(
    "libsvm",
    kind="other library",
    source="scikit-learn's OneClassSVM on the reflected Gram matrix",
    latex=r"k'(x_i,x_j)=y_iy_jk(x_i,x_j)",
    condition=_no_libsvm,
)
def libsvm(features: FeatureMap, labels: Any, outlier_fraction: float) -> Solution:
    """The usual one-class machine, which never sees that some points were reflected."""
    from sklearn.svm import OneClassSVM

    nu, y = libsvm_share(outlier_fraction, "outlier_fraction"), signs(labels, features.n)
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9 * max(1.0, nu * features.n))
    fitted_by_libsvm(machine, span_gram(features) * np.outer(y, y) / features.middle**2)
    alpha = np.zeros(features.n)
    alpha[machine.support_] = machine.dual_coef_.ravel()
    return _solution(features, nu, y, alpha / alpha.sum(), "libsvm", int(machine.n_iter_))


@METHOD.node(
    "reflected",
    source="problem 8.10: reflect at the origin, then solve the usual problem",
    latex=r"x_i'=y_i\Phi(x_i)",
)
def reflected(features: FeatureMap, labels: Any, outlier_fraction: float) -> Formulation:
    """The dual of the one-class machine on the coordinates of the reflected points."""
    y = signs(labels, features.n)
    return one_class_svm.one_class_svm(
        LinearFeatures(y[:, None] * np.asarray(features.training)), outlier_fraction, form="dual"
    )


def _no_negatives(features: FeatureMap, labels: Any) -> str | None:
    return None if (signs(labels, features.n) > 0).all() else "some points are labelled as novel"


@METHOD.node(
    "one_class_svm",
    source="equation 8.13, of which 8.42 is a generalisation",
    latex=r"y_i=1\ \forall i:\quad\tfrac12\sum_{ij}\alpha_i\alpha_jk(x_i,x_j)",
    condition=_no_negatives,
)
def as_one_class_svm(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """Without negative data it is the one-class machine."""
    return one_class_svm.one_class_svm(features, outlier_fraction, form="dual")


def _not_hard(features: FeatureMap, labels: Any, outlier_fraction: float) -> str | None:
    if outlier_fraction * features.n >= 1:
        return "slacks are worth their price for outlier_fraction >= 1/n"
    return hard_margin.without_margin(features, labels)


@METHOD.node(
    "hard_margin",
    source="proposition 8.2 (ii)",
    latex=r"\nu n<1:\quad\min_w\ \tfrac12\|w\|^2\quad\text{s.t.}\quad y_i\langle w,\Phi(x_i)\rangle\ge1",
    condition=_not_hard,
)
def as_hard_margin(features: FeatureMap, labels: Any) -> Formulation:
    """The optimal hyperplane through the origin that separates ordinary points from novel ones."""
    return hard_margin.hard_margin(features, 1.0, labels)


# -- the arrows --------------------------------------------------------------------------------------------------------

METHOD.step(
    "dual",
    "primal",
    known=one_class_svm.known_scores,
    claim="the primal's optimum is minus the dual's, with w = sum of alpha_i y_i Phi(x_i)",
    equation="equations 8.42 to 8.45",
    reference="formulation",
    objective=lambda value: -value,
    values=lambda solution, features, labels: {
        # The sum of the multipliers' terms loses to their rounding what points far from the origin lose when they cancel.
        "w": (w := solution.region.normal),
        "rho": solution.offset.used,
        "xi": np.maximum(solution.offset.used - signs(labels, features.n) * (np.asarray(features.training) @ w), 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    known=one_class_svm.known_scores,
    claim="pairwise steps end at the optimum of the dual",
    equation="equations 8.42 to 8.44",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "libsvm",
    "dual",
    claim="a solver of the usual problem solves this one when it is given the reflected Gram matrix",
    equation="equations 8.42 to 8.44",
    reference="other library",
    known=lambda apart, features: libsvm_rounding(features) + one_class_svm.known_scores(apart, features),
    # Half of a quadratic form whose coefficients sum to one, in both of whose points kernel values are rounded.
    doubt=lambda solution, features: libsvm_rounding(features) / 2,
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "reflected",
    "dual",
    known=one_class_svm.known_scores,
    claim="reflecting the points and putting signs on the Gram matrix are the same",
    equation="problem 8.10",
    reference="formulation",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "one_class_svm",
    "dual",
    known=one_class_svm.known_scores,
    claim="without negative data the problem is the one-class machine's",
    equation="equations 8.13 and 8.42",
    reference="formulation",
    condition=_no_negatives,
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "hard_margin",
    "dual",
    claim="for nu n < 1 the hyperplane is the optimal one through the origin between the two classes",
    equation="proposition 8.2 (ii)",
    reference="formulation",
    condition=_not_hard,
    objective=lambda value: 1 / (4 * value),
    decision="the two decision functions differ by a factor that only the solution knows; the multipliers are tried",
)


@METHOD.property("nu-property", source="proposition 8.3 on the reflected points")
def nu_property(solution: Solution, features: FeatureMap, labels: Any, outlier_fraction: float) -> list[Claim]:
    """Fractions of points beyond their margin and of support vectors on either side of nu; 8.46 with its sign."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, HalfSpace) or solution.offset is None:
        return []
    y = signs(labels, features.n)
    scores = y * (np.asarray(features.training) @ region.normal)
    scale = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    bound = 1 / (outlier_fraction * features.n)
    outliers = float(below(scores, region.offset, 1e-6).mean())
    support = float((alpha > 1e-6 * bound).mean())
    source, exact = "proposition 8.3", "a count, so exact up to rounding"
    claims = [
        Claim("outliers are at most nu", outliers, outlier_fraction, "<=", 1e-9, source=source, because=exact),
        Claim("support vectors are at least nu", support, outlier_fraction, ">=", 1e-9, source=source, because=exact),
    ]
    margin = (alpha > 1e-3 * bound) & (alpha < (1 - 1e-3) * bound)
    if margin.any() and solution.offset.width == 0:
        known = libsvm_rounding(features) if solution.solver == "libsvm" else 0.0
        off = max(float(np.abs(scores[margin] - region.offset).max()) - known, 0.0) / scale
        text = "points on their margin have rho = y_i <w, Phi(x_i)>"
        claims.append(Claim(text, off, 0.0, tolerance=1e-5, source="equation 8.46, with the sign that it lacks"))
    return claims


def _instance(name: str, features: FeatureMap, labels: Any, nu: float, probe: Any) -> Instance:
    arguments = {"features": features, "labels": labels, "outlier_fraction": nu}
    return Instance(name, arguments, features.coordinates(probe))


def _two_sets(ordinary: Any, novel: Any) -> tuple[Array, Array]:
    return np.vstack([ordinary, novel]), np.repeat([1.0, -1.0], [len(ordinary), len(novel)])


@METHOD.instance("digits, gaussian kernel, a few other digits")
def digits() -> Instance:
    """Images of one digit and a tenth as many of others."""
    data = datasets.digits(digit=0)
    points, labels = _two_sets(data.nominal[:80], data.novel[:160:20])
    features = KernelFeatures(points, kernels.gaussian(gamma="scale"))
    return _instance("digits, gaussian kernel, a few other digits", features, labels, 0.2, data.novel[200:260])


@METHOD.instance("breast cancer, linear kernel")
def breast_cancer() -> Instance:
    """Benign cases, and malignant ones that are reflected, in their own units six orders of magnitude apart."""
    data = datasets.breast_cancer()
    points, labels = _two_sets(data.nominal[:100], data.novel[:20])
    return _instance("breast cancer, linear kernel", LinearFeatures(points), labels, 0.3, data.novel[20:80])


@METHOD.instance("units from 1e-4 to 1e4")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart, with points on both sides."""
    data = datasets.badly_scaled(n=40)
    points, labels = _two_sets(data.nominal[:30], -data.nominal[30:])
    return _instance("units from 1e-4 to 1e4", LinearFeatures(points), labels, 0.25, data.novel)


@METHOD.instance("hard margin, duplicates, fewer points than columns")
def hard() -> Instance:
    """No slack is worth its price, and every point occurs twice."""
    data = datasets.wide(n=10, dimension=30)
    points, labels = _two_sets(np.repeat(data.nominal[:7], 2, axis=0), np.repeat(-data.nominal[7:], 2, axis=0))
    name = "hard margin, duplicates, fewer points than columns"
    return _instance(name, LinearFeatures(points), labels, 0.02, data.novel)


@METHOD.instance("no negative data")
def none() -> Instance:
    """Every label is 1, so that it is the one-class machine."""
    data = datasets.blob(n=30)
    features = KernelFeatures(data.nominal, kernels.gaussian(gamma="scale"))
    return _instance("no negative data", features, np.ones(30), 0.15, data.novel)
