r"""The one-class support vector machine: separate the sample from the origin with the largest margin.

Schölkopf and Smola (2001), chapter 8, equations 8.6 to 8.16. The papers' :math:`\nu` is ``outlier_fraction`` here,
:math:`\rho` is the offset, :math:`\alpha` are the multipliers, and coordinates of :math:`\Phi(x)` come from the
features. Its variants have files of their own: ``hard_margin``, ``negative_data``, ``separation_from_mean``,
``uncertain_points``, ``class_recognisers`` and ``exact_outliers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from convexnovelty import bounds, datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.margin_unit import margin_unit, nearest
from convexnovelty.algorithms.polish import polished_margin
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.modelling import (
    below,
    beyond_boundary,
    check_features,
    fitted_by_libsvm,
    gram_form,
    hidden_lengths,
    hidden_square,
    least_share,
    libsvm_rounding,
    libsvm_share,
    margin_letters,
    margin_reading,
    multipliers,
    not_hard,
    outlier_share,
    point_reading,
    product_doubt,
    sample_shares,
    score_doubts,
    slack_price,
    span_gram,
    terms_apart,
    untold_by_products,
)
from convexnovelty.regions import HalfSpace
from convexnovelty.solution import Values
from convexnovelty.validation import Array, choice

METHOD = Method(
    "one_class_svm",
    title="One-class support vector machine",
    source="Schölkopf and Smola (2001), chapter 8",
    summary=(
        "Separates the sample from the origin in feature space with the largest margin, leaving a fraction outside."
    ),
    letters=("D1", "D3", "D5"),
)


def one_class_svm(
    features: FeatureMap,
    outlier_fraction: float,
    form: Literal["primal", "dual"] = "dual",
    weights: Any = None,
) -> Formulation:
    r"""The one-class support vector machine, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points.
    outlier_fraction : the paper's nu, in (0, 1]; below 1/n the margin is hard.
    form : "primal" (equations 8.6 and 8.7) or "dual" (8.13 to 8.15).
    weights : how often each point counts, of shape (n,), at least 0; None counts each once. With the shares
        :math:`p_i` of the weights, :math:`p_i/\nu` stands where the chapter has :math:`1/(\nu n)`, so that a weight of
        two is the same as two copies of the point.

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is the half-space
    :math:`\langle w, \Phi(x)\rangle \ge \rho`, its objective 8.6 or 8.13; the one is minus the other.

    Raises
    ------
    InputError : for an outlier fraction outside of (0, 1], and for weights that are negative, not finite or all zero.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.one_class_svm(cn.LinearFeatures(np.arange(1.0, 5.0)[:, None]), 0.5).solve()
    >>> round(solution.objective, 6)
    1.125
    """
    check_features(features)
    choice(form, "form", ("primal", "dual"))
    made = (primal if form == "primal" else dual)(features, outlier_fraction, weights)
    return remade_by(one_class_svm, made, form=form)


def _unit(features: FeatureMap, nu: float, shares: Array) -> float:
    """The unit in which the programs are posed."""
    doubts = score_doubts(features, features.middle)
    points, doubt = np.asarray(features.training), product_doubt(features)
    return margin_unit(points, features.middle, doubts, nu, shares, doubt=doubt)


def _reading(
    features: FeatureMap, normal: Array, nu: float, shares: Array, unit: float | None = None, **options: Any
) -> Reading:
    """What holds at an optimum of the program in a unit, or of an algorithm in that of the features."""
    phi, unit = np.asarray(features.training), features.middle if unit is None else unit
    doubts = score_doubts(features, features.middle)
    return margin_reading(phi @ normal, normal, nu, shares, points=phi, unit=unit, doubts=doubts, **options)


def _polished(
    features: FeatureMap,
    nu: float,
    shares: Array,
    unit: float,
    letters: Sequence[str],
    alpha: Any = None,
    w: Any = None,
    shown: Any = None,
) -> Reading:
    """What holds at the optimum that a solver's multipliers or its w lie near to, with these letters there.

    Where that optimum is not found, the multipliers say which points lie beyond the boundary; a w has those that are ``shown`` with it.
    """
    phi = np.asarray(features.training)
    found = polished_margin(phi, shares / nu, alpha, w, product_doubt(features))
    if found is None:
        beyond = beyond_boundary(alpha if w is None else shown, shares / nu)
        return _reading(features, phi.T @ alpha if w is None else w, nu, shares, unit, beyond=beyond)
    made = _reading(features, found.normal, nu, shares, unit, known=found.doubts)
    return margin_letters(made, phi, found.multipliers, *letters)


def _normal(features: FeatureMap, alpha: Array) -> Array:
    return np.asarray(np.asarray(features.training).T @ alpha)


def _hidden(features: FeatureMap, normal: Array, nu: float, shares: Array) -> float:
    """What the coordinates may lack of the value."""
    return hidden_square(hidden_lengths(features), np.asarray(features.training) @ normal, nu, shares) / 2


def _at_point(features: FeatureMap, values: Values, shares: Array, unit: float) -> Reading:
    """What holds of any w and rho."""
    phi, w, rho = np.asarray(features.training), values["w"], values["rho"]
    return point_reading(phi @ w, w, rho, shares, rows=phi, apart=terms_apart(phi, w, phi @ w, rho), unit=unit)


@METHOD.node(
    "primal",
    source="equations 8.6 and 8.7",
    latex=(
        r"\min_{w,\xi,\rho}\ \tfrac12\|w\|^2+\tfrac1{\nu n}\sum_i\xi_i-\rho\quad\text{s.t.}"
        r"\quad\langle w,\Phi(x_i)\rangle\ge\rho-\xi_i,\ \xi_i\ge0"
    ),
)
def primal(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Formulation:
    """The margin to the origin is maximised; points may fall short of it at a price."""
    nu, shares = Tunable("outlier_fraction", outlier_fraction, outlier_share), sample_shares(weights, features.n)
    unit = _unit(features, nu.value, shares)
    phi = np.asarray(features.training) / unit
    w, xi, rho = cp.Variable(phi.shape[1]), cp.Variable(features.n, nonneg=True), cp.Variable()
    price, margin = slack_price(nu, shares), phi @ w >= rho - xi
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + price * (shares @ xi) - rho), [margin]),
        {"w": Quantity(w, unit), "xi": Quantity(xi, unit**2), "rho": Quantity(rho, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _polished(
            features, nu.value, shares, unit, ("w", "rho", "xi"), w=values["w"], shown=margin.dual_value
        ),
        composed=lambda values: _at_point(features, values, shares, unit),
        tunables={"outlier_fraction": nu},
        rounded=lambda values: _hidden(features, values["w"], nu.value, shares),
    )


@METHOD.node(
    "dual",
    source="equations 8.13 to 8.15",
    latex=(
        r"\min_{\alpha}\ \tfrac12\sum_{ij}\alpha_i\alpha_jk(x_i,x_j)\quad\text{s.t.}"
        r"\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1"
    ),
)
def dual(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Formulation:
    """The point of the reduced convex hull of the sample that is nearest to the origin."""
    nu, shares = Tunable("outlier_fraction", outlier_fraction, outlier_share), sample_shares(weights, features.n)
    price, unit = slack_price(nu, shares), _unit(features, nu.value, shares)
    letter = multipliers(np.asarray(features.training) / unit, nu.value, shares)
    alpha = letter.expression
    return Formulation(
        cp.Problem(cp.Minimize(gram_form(letter, features, unit) / 2), [alpha <= price * shares, cp.sum(alpha) == 1]),
        {"alpha": letter},
        objective_unit=unit**2,
        read=lambda values: _polished(features, nu.value, shares, unit, ("alpha",), alpha=values["alpha"]),
        tunables={"outlier_fraction": nu},
        rounded=lambda values: _hidden(features, _normal(features, values["alpha"]), nu.value, shares),
    )


def _solution(features: FeatureMap, nu: float, shares: Array, alpha: Array, how: str, iterations: int = 0) -> Solution:
    normal = _normal(features, alpha)
    reading = _reading(features, normal, nu, shares)
    return Solution(
        float(normal @ normal) / 2,
        {"alpha": alpha},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


def no_pairs(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> str | None:
    """Why products of points do not solve it, or None where they do."""
    return untold_by_products(features, _unit(features, outlier_fraction, sample_shares(weights, features.n)))


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, equations 8.22 to 8.28",
    latex=(
        r"\alpha_i\leftarrow\alpha_i+\frac{f(x_j)-f(x_i)}{K_{ii}+K_{jj}-2K_{ij}}\ \text{clipped to}\ [L,H],"
        r"\quad\alpha_j\leftarrow\gamma-\alpha_i"
    ),
    condition=no_pairs,
)
def sequential(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Solution:
    """Sequential minimal optimisation of the dual: pairs chosen by second-order information."""
    nu, shares = outlier_share(outlier_fraction, "outlier_fraction"), sample_shares(weights, features.n)
    result = nearest(span_gram(features), shares / nu)
    return _solution(features, nu, shares, result.multipliers, "SMO", result.iterations)


@METHOD.node(
    "smo_schoelkopf",
    kind="algorithm",
    source="section 8.4, with the chapter's initialisation, scans and second choice",
    latex=r"j=\arg\max_{n\in SV_{nb}}|O_i-O_n|",
    condition=no_pairs,
)
def sequential_schoelkopf(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Solution:
    """Sequential minimal optimisation as the chapter describes it, scan by scan."""
    nu, shares = outlier_share(outlier_fraction, "outlier_fraction"), sample_shares(weights, features.n)
    result = smo(span_gram(features), upper=shares / nu, rule="schoelkopf")
    return _solution(features, nu, shares, result.multipliers, "SMO (chapter 8)", result.iterations)


def single_precision(near: bool) -> str | None:
    """Why libsvm, which stores a Gram matrix in single precision, is not asked for a distance that is small beside the points."""
    return "libsvm's single precision does not tell this reduced hull from the origin" if near else None


def no_libsvm(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> str | None:
    """Why libsvm does not solve it, or None where it does."""
    if outlier_fraction == 1:
        return "libsvm's offset is infinite when every multiplier is at its bound"
    shares = sample_shares(weights, features.n)
    return single_precision(_unit(features, outlier_fraction, shares) < features.middle)


def _no_reflection(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> str | None:
    if weights is not None:
        return "the weights of scikit-learn's NuSVC have another meaning"
    return no_libsvm(features, outlier_fraction)


@METHOD.node(
    "libsvm",
    kind="other library",
    source="scikit-learn's OneClassSVM, whose coefficients sum to nu n",
    latex=(
        r"\min_{\beta}\ \tfrac12\beta'K\beta\quad\text{s.t.}\quad0\le\beta_i\le1,\ \sum_i\beta_i=\nu n,\quad\alpha"
        r"=\beta/(\nu n)"
    ),
    condition=no_libsvm,
)
def libsvm(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Solution:
    """The same dual as libsvm solves it, with its coefficients divided by nu n."""
    from sklearn.svm import OneClassSVM

    nu, shares = libsvm_share(outlier_fraction, "outlier_fraction"), sample_shares(weights, features.n)
    kept = np.flatnonzero(shares)
    gram = (span_gram(features) / features.middle**2)[np.ix_(kept, kept)]
    # libsvm's tolerance is absolute in its own scale, where the multipliers are nu n times ours.
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9 * max(1.0, nu * kept.size))
    fitted_by_libsvm(machine, gram, sample_weight=None if weights is None else shares[kept] * kept.size)
    alpha = np.zeros(features.n)
    alpha[kept[machine.support_]] = machine.dual_coef_.ravel()
    return _solution(features, nu, shares, alpha / alpha.sum(), "libsvm", int(machine.n_iter_))


@METHOD.node(
    "reflection",
    kind="other library",
    source="proposition 8.2, with slacks: scikit-learn's NuSVC on the reflected data (8.32)",
    latex=r"\{(x_1,1),\ldots,(x_n,1),(-x_1,-1),\ldots,(-x_n,-1)\}",
    condition=_no_reflection,
)
def reflection(features: FeatureMap, outlier_fraction: float) -> Solution:
    """The binary nu-machine that separates the sample from its mirror image: the plane passes through the origin."""
    from sklearn.svm import NuSVC

    nu, n = libsvm_share(outlier_fraction, "outlier_fraction"), features.n
    gram = span_gram(features) / features.middle**2
    machine = NuSVC(kernel="precomputed", nu=nu, tol=1e-9 * max(1.0, nu * n))
    fitted_by_libsvm(machine, np.block([[gram, -gram], [-gram, gram]]), np.repeat([1.0, -1.0], n))
    beta = np.zeros(2 * n)
    beta[machine.support_] = np.abs(machine.dual_coef_).ravel()
    # A point and its mirror image share one multiplier of the one-class machine.
    alpha = (beta[:n] + beta[n:]) / beta.sum()
    return _solution(features, nu, np.full(n, 1 / n), alpha, "libsvm (binary)", int(np.max(machine.n_iter_)))


@METHOD.node(
    "parzen",
    kind="closed form",
    source="section 8.3, Parzen windows",
    latex=r"\nu=1:\quad\alpha_i=\tfrac1n",
    condition=lambda outlier_fraction: (
        None if outlier_fraction == 1 else "the Parzen estimate is the case outlier_fraction = 1"
    ),
)
def parzen(features: FeatureMap, outlier_fraction: float = 1.0, weights: Any = None) -> Solution:
    """With an outlier fraction of one every multiplier is 1/n: a thresholded Parzen estimate of the density."""
    shares = sample_shares(weights, features.n)
    return _solution(features, 1.0, shares, shares, "closed form")


@METHOD.node(
    "hard_margin",
    source="equation 8.31, rescaled",
    latex=r"\nu n<1:\quad\min_{w,\rho}\ \tfrac12\|w\|^2-\rho\quad\text{s.t.}\quad\langle w,\Phi(x_i)\rangle\ge\rho",
    condition=not_hard,
)
def hard_margin(features: FeatureMap, outlier_fraction: float = 0.0, weights: Any = None) -> Formulation:
    """Below an outlier fraction of 1/n no slack is worth its price: the supporting hyperplane of the whole sample."""
    shares = sample_shares(weights, features.n)
    nu = 0.5 * least_share(weights, features.n)
    kept, unit = np.flatnonzero(shares), _unit(features, nu, shares)
    phi = np.asarray(features.training)[kept] / unit
    w, rho = cp.Variable(phi.shape[1]), cp.Variable()
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 - rho), [cp.Constant(phi) @ w >= rho]),
        {"w": Quantity(w, unit), "rho": Quantity(rho, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _polished(features, nu, shares, unit, ("w", "rho"), w=values["w"]),
        composed=lambda values: _at_point(features, values, shares, unit),
        rounded=lambda values: _hidden(features, values["w"], nu, shares),
    )


def known_scores(apart: float, features: FeatureMap) -> float:
    r"""What decision values may differ by where the two values miss ``apart`` of the optimum together.

    :math:`\tfrac12\|w\|^2` has the modulus one, so that two normals lie within :math:`2\sqrt{apart}` of each other; a score moves
    by that times the length of its point, and with it the offset, a quantile of scores.
    """
    return float(4 * (apart * features.squared_norms().max()) ** 0.5)


METHOD.step(
    "dual",
    "primal",
    known=known_scores,
    claim="the primal's optimum is minus the dual's, with w = sum of alpha_i Phi(x_i)",
    equation="equations 8.9 to 8.13",
    reference="formulation",
    objective=lambda value: -value,
    values=lambda solution, features: {
        # The sum of the multipliers' terms loses to their rounding what points far from the origin lose when they cancel.
        "w": (w := solution.region.normal),
        "rho": solution.offset.used,
        "xi": np.maximum(solution.offset.used - np.asarray(features.training) @ w, 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    known=known_scores,
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
    known=lambda apart, features: libsvm_rounding(features) + known_scores(apart, features),
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "reflection",
    "dual",
    known=known_scores,
    claim="the machine on the sample is the binary nu-machine on the sample and its mirror image, through the origin",
    equation="proposition 8.2 (i)",
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
    known=known_scores,
    claim="for nu n < 1 the slacks vanish and the box of the dual does not bind",
    equation="equation 8.31",
    reference="formulation",
    objective=lambda value: -value,
)


# -- D5: what holds of every solution ----------------------------------------------------------------------------------


@METHOD.property("nu-property", source="proposition 8.3 and problems 8.4, 8.5")
def nu_property(solution: Solution, features: FeatureMap, outlier_fraction: float, weights: Any = None) -> list[Claim]:
    """Fractions of outliers and of support vectors on either side of nu; a positive offset; rho and the objective."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, HalfSpace) or solution.offset is None:
        return []
    shares = sample_shares(weights, features.n)
    scores = np.asarray(features.training) @ region.normal
    # A plane that separates nothing has no scores, and what a solver leaves of its value is noise in the features' own unit.
    scale = float(np.abs(scores).max()) or features.middle**2
    outliers = float(shares[below(scores, region.offset, 1e-6)].sum())
    support = float(shares[alpha > 1e-6 * shares / outlier_fraction].sum())
    slacks = float(shares @ np.maximum(region.offset - scores, 0)) / outlier_fraction
    squared = float(region.normal @ region.normal)
    exact = "a count, so exact up to rounding"
    return [
        Claim(
            "outliers are at most the fraction nu",
            outliers,
            outlier_fraction,
            "<=",
            1e-9,
            source="proposition 8.3",
            because=exact,
        ),
        Claim(
            "support vectors are at least the fraction nu",
            support,
            min(outlier_fraction, 1.0),
            ">=",
            1e-9,
            source="proposition 8.3",
            because=exact,
        ),
        Claim(
            "the offset is not negative", region.offset / scale, 0.0, ">=", 1e-7, source="problem 8.4", because="solver"
        ),
        Claim(
            "the squared norm of w is twice the dual objective",
            squared / scale,
            2 * solution.objective / scale,
            tolerance=1e-7,
            source="equation 8.41",
        ),
        Claim(
            "the offset exceeds |w|^2 by the price of the slacks",
            region.offset / scale,
            (squared + slacks) / scale,
            tolerance=1e-6,
            source="equation 8.41, with slacks",
        ),
    ]


@METHOD.property("resistance", source="proposition 8.4")
def resistance(solution: Solution, features: FeatureMap, outlier_fraction: float, weights: Any = None) -> list[Claim]:
    """An outlier that moves along w by less than its slack leaves the hyperplane where it is, up to its length."""
    region = solution.region
    if "alpha" not in solution.values or not isinstance(region, HalfSpace) or not isinstance(features, LinearFeatures):
        return []
    phi, shares = np.asarray(features.training), sample_shares(weights, features.n)
    scores = phi @ region.normal
    length = float(region.normal @ region.normal)
    slack = np.where(shares > 0, region.offset - scores, 0.0)
    worst = int(slack.argmax())
    if slack[worst] <= 1e-4 * abs(region.offset) or length == 0 or features.n > 200:
        return []
    moved = phi.copy()
    moved[worst] += 0.5 * min(slack[worst] / length, 1.0) * region.normal
    again = smo(moved @ moved.T, upper=shares / outlier_fraction)
    normal = moved.T @ again.multipliers
    cosine = float(normal @ region.normal / (np.linalg.norm(normal) * np.sqrt(length)))
    return [
        Claim(
            "the direction of w does not move with an outlier",
            cosine,
            1.0,
            tolerance=1e-6,
            kind="algorithm",
            source="proposition 8.4",
        )
    ]


@METHOD.property("leave-one-out", source="problem 8.13")
def leave_one_out(
    solution: Solution, features: FeatureMap, outlier_fraction: float, weights: Any = None
) -> list[Claim]:
    """Points that fall outside when they are left out are support vectors, so that their share bounds the error.

    Of several optimal offsets another may be used once a point is gone, so that the claim is of a unique one. A plane that
    separates nothing has many multipliers, and its scores are rounding.
    """
    alpha, region = solution.values.get("alpha"), solution.region
    if solution.offset is None or solution.offset.width > 0:
        return []
    if not isinstance(region, HalfSpace) or not region.normal.any():
        return []
    upper = 1 / (outlier_fraction * features.n)
    feasible = upper * (features.n - 1) >= 1
    if alpha is None or solution.solver != "SMO" or not feasible or features.n > 60 or weights is not None:
        return []
    errors = bounds.leave_one_out_errors(span_gram(features), upper)
    bound = bounds.leave_one_out_bound(alpha)
    return [
        Claim(
            "leave-one-out errors are at most the support vectors",
            float(errors.mean()),
            bound,
            "<=",
            1e-9,
            kind="algorithm",
            source="problem 8.13",
            because="a count, so exact up to rounding",
        )
    ]


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """Forty points of one cloud, a tenth of them outside."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.gaussian(gamma="scale"))
    return Instance(
        "blob, gaussian kernel", {"features": features, "outlier_fraction": 0.1}, features.coordinates(data.novel)
    )


@METHOD.instance("digits, gaussian kernel")
def digits() -> Instance:
    """Images of one digit: real data with p > n directions that hardly vary."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(data.nominal[:120], kernels.gaussian(gamma="scale"))
    return Instance(
        "digits, gaussian kernel",
        {"features": features, "outlier_fraction": 0.25},
        features.coordinates(data.novel[:60]),
    )


@METHOD.instance("breast cancer, linear kernel")
def breast_cancer() -> Instance:
    """Benign cases, whose thirty features span six orders of magnitude."""
    data = datasets.breast_cancer()
    features = LinearFeatures(data.nominal[:150])
    return Instance(
        "breast cancer, linear kernel",
        {"features": features, "outlier_fraction": 0.07},
        features.coordinates(data.novel[:60]),
    )


@METHOD.instance("weighted points in units from 1e-4 to 1e4")
def weighted() -> Instance:
    """Columns eight orders of magnitude apart, and points that count up to five times, or not at all."""
    data = datasets.badly_scaled(n=60)
    features = LinearFeatures(data.nominal)
    arguments = {"features": features, "outlier_fraction": 0.15, "weights": np.arange(60) % 6}
    return Instance("weighted points in units from 1e-4 to 1e4", arguments, features.coordinates(data.novel))


@METHOD.instance("duplicates, fewer points than columns")
def repeated() -> Instance:
    """Every point twice or thrice, in more dimensions than there are points."""
    data = datasets.wide(n=8, dimension=20)
    features = LinearFeatures(np.repeat(data.nominal, np.arange(8) % 2 + 2, axis=0))
    return Instance(
        "duplicates, fewer points than columns",
        {"features": features, "outlier_fraction": 0.3},
        features.coordinates(data.novel),
    )


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
    return Instance(
        "blob, hard margin", {"features": features, "outlier_fraction": 0.02}, features.coordinates(data.novel)
    )
