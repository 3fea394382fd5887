r"""Separation from the mean of another set of points, in place of the origin.

Schölkopf and Smola (2001), chapter 8, problem 8.11, equations 8.47 to 8.51. The points :math:`z_1,\ldots,z_t` whose
mean is kept out stand for the unknown other class in a weak sense: only their mean is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.margin_unit import margin_unit, nearest
from convexnovelty.algorithms.polish import polished_margin
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures, middle_length
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import (
    below,
    beyond_boundary,
    check_features,
    hidden_lengths,
    hidden_square,
    margin_letters,
    margin_reading,
    multipliers,
    outlier_share,
    point_reading,
    product_doubt,
    sample_shares,
    slack_price,
    span_gram,
    squared_length,
    terms_apart,
    untold_by_products,
)
from convexnovelty.regions import ROUNDING, HalfSpace
from convexnovelty.validation import Array, choice, dimensions, vector

METHOD = Method(
    "separation_from_mean",
    title="Separation from the mean of another set",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The one-class machine with the mean of other points in place of the origin.",
    letters=("D4",),
)


def separation_from_mean(
    features: FeatureMap, outlier_fraction: float, others: Any = None, form: Literal["primal", "dual"] = "dual"
) -> Formulation:
    r"""The one-class machine that separates points from the mean of others, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of both sets of points together, so that the mean of the others has
        coordinates: ``cn.KernelFeatures(np.vstack([X, Z]), kernel)``.
    outlier_fraction : the paper's nu, in (0, 1], of the points that are not others.
    others : which rows are the other points z, as a boolean mask of shape (n + t,). None takes every row for both
        sets, and so separates a sample from its own mean.
    form : "primal" (equation 8.47) or "dual" (8.49 to 8.51).

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is equation 8.48,
    :math:`\langle w, \Phi(x) - \frac1t\sum_n\Phi(z_n)\rangle \ge \rho`, in the coordinates of ``features``.

    Raises
    ------
    InputError : for a mask of the wrong length, and for one that leaves no points or no others.

    Notes
    -----
    In one dimension the region is a half-line that ends at the nu-quantile, on the side away from the others: a
    one-sided quantile, with the largest margin to a mean that one is free to choose.

    The chapter proposes the sample's own mean for this. That gives nothing: :math:`\alpha_i = 1/n` is feasible in 8.50
    and 8.51 for every nu, and there the own mean is met exactly, so that the optimum is 0 with w = 0. The solution says
    so in its guarantee. Other points are needed, and a part of the sample will do.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> points = np.array([[3.0], [4.0], [5.0], [0.0], [2.0]])
    >>> solution = cn.separation_from_mean(cn.LinearFeatures(points), 0.2, [False, False, False, True, True]).solve()
    >>> solution.region.contains(np.array([[2.9], [3.1]]))
    array([False,  True])
    """
    check_features(features)
    choice(form, "form", ("primal", "dual"))
    made = (primal if form == "primal" else dual)(features, outlier_fraction, others)
    return remade_by(separation_from_mean, made, form=form)


# -- what several nodes share ------------------------------------------------------------------------------------------


def _sets(features: FeatureMap, others: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of the points x and those of the points z."""
    everything = np.arange(features.n)
    if others is None:
        return everything, everything
    dimensions(others, "others")
    given = np.asarray(others)
    if given.dtype != bool or np.ma.is_masked(others):
        numbers = vector(others, "others", features.n)
        if not np.isin(numbers, (0.0, 1.0)).all():
            raise InputError(
                f"others: {numbers[~np.isin(numbers, (0.0, 1.0))][0]:.6g} was found; give a mask that is True where a "
                "row of the features belongs to the other set"
            )
        given = numbers > 0
    if given.size != features.n or max(given.shape, default=0) != given.size:
        raise InputError(
            f"others: shape {given.shape} was found where {features.n} rows need one entry each; give a vector of as many booleans"
        )
    given = given.ravel()
    if given.all() or not given.any():
        found = "every row" if given.all() else "no row"
        raise InputError(f"others: {found} belongs to the other set; give a mask with both, or None for the own mean")
    return np.flatnonzero(~given), np.flatnonzero(given)


def _moved(features: FeatureMap, others: Any) -> tuple[Array, Array]:
    """Coordinates of the points x less the mean of the z, of shape (n, r), and that mean."""
    points, away = _sets(features, others)
    training = np.asarray(features.training)
    mean = training[away].mean(axis=0)
    return training[points] - mean, mean


def _judged(features: FeatureMap, others: Any) -> Array:
    """The points themselves, as the region judges them."""
    return np.asarray(np.asarray(features.training)[_sets(features, others)[0]])


def _moved_gram(features: FeatureMap, others: Any) -> Array:
    r"""The matrix :math:`k(x_i, x_j) + q - q_j - q_i` of equation 8.49.

    It is the same wherever the origin of the features is, and its sums lose least where that is among them.
    """
    points, away = _sets(features, others)
    gram = _central_gram(features) if features.explicit else span_gram(features)
    q = float(gram[np.ix_(away, away)].mean())
    qj = gram[np.ix_(points, away)].mean(axis=1)
    moved: Array = gram[np.ix_(points, points)] + q - qj[None, :] - qj[:, None]
    return (moved + moved.T) / 2


def _central_gram(features: FeatureMap) -> Array:
    """Products of explicit features about their mean."""
    about = np.asarray(features.training)
    about = about - about.mean(axis=0)
    return np.asarray(about @ about.T)


def _size(features: FeatureMap, others: Any) -> float:
    """The size of the moved points: the origin of the features plays no part here."""
    moved, _ = _moved(features, others)
    return middle_length(np.einsum("ij,ij->i", moved, moved)) if moved.any() else features.unit


def _doubts(features: FeatureMap, others: Any) -> Array:
    """What the scores of the moved points are not known to, by the rounding of a point and of the mean."""
    points, away = _sets(features, others)
    lengths, hidden = np.sqrt(features.squared_norms()), _hidden(features, others)
    rounding = ROUNDING * _size(features, others) * (lengths[points] + lengths[away].mean())
    return np.asarray(rounding + hidden * hidden.max())


def _product_doubt(features: FeatureMap) -> float:
    """What products of two moved points may differ by from the kernel's: a product of two differences is four."""
    return 4 * product_doubt(features)


def _hidden(features: FeatureMap, others: Any) -> Array:
    """Lengths of what the coordinates may lack of the moved points: what they lack of a point and of the mean."""
    points, away = _sets(features, others)
    lengths = hidden_lengths(features)
    return np.asarray(lengths[points] + lengths[away].mean())


def _left_out(features: FeatureMap, normal: Array, nu: float, others: Any) -> float:
    """What the coordinates may lack of the value."""
    moved, _ = _moved(features, others)
    return hidden_square(_hidden(features, others), moved @ normal, nu, sample_shares(None, len(moved))) / 2


def _unit(features: FeatureMap, nu: float, others: Any) -> float:
    """The unit in which the programs are posed."""
    moved, mean = _moved(features, others)
    shares, doubt = sample_shares(None, len(moved)), _product_doubt(features)
    away = float(np.linalg.norm(mean))
    return margin_unit(moved, _size(features, others), _doubts(features, others), nu, shares, doubt=doubt, moved=away)


def _reading(
    features: FeatureMap, normal: Array, nu: float, others: Any, unit: float | None = None, **options: Any
) -> Reading:
    """What holds at an optimum of the program in a unit, or of an algorithm in that of the moved points."""
    moved, mean = _moved(features, others)
    return margin_reading(
        moved @ normal,
        normal,
        nu,
        sample_shares(None, len(moved)),
        points=moved,
        rows=_judged(features, others),
        unit=_size(features, others) if unit is None else unit,
        shift=float(normal @ mean),
        origin="the mean of the other points",
        doubts=_doubts(features, others),
        **options,
    )


def _polished(
    features: FeatureMap,
    nu: float,
    others: Any,
    unit: float,
    letters: Sequence[str],
    alpha: Any = None,
    w: Any = None,
    shown: Any = None,
) -> Reading:
    """What holds at the optimum that a solver's multipliers or its w lie near to, with these letters there.

    Where that optimum is not found, the multipliers say which points lie beyond the boundary; a w has those that are ``shown`` with it.
    """
    moved, mean = _moved(features, others)
    shares, away = sample_shares(None, len(moved)), float(np.linalg.norm(mean))
    found = polished_margin(moved, shares / nu, alpha, w, _product_doubt(features), away)
    if found is None:
        beyond = beyond_boundary(alpha if w is None else shown, shares / nu)
        return _reading(features, moved.T @ alpha if w is None else w, nu, others, unit, beyond=beyond)
    made = _reading(features, found.normal, nu, others, unit, known=found.doubts)
    return margin_letters(made, moved, found.multipliers, *letters)


def _at_point(features: FeatureMap, normal: Array, offset: float, others: Any, unit: float) -> Reading:
    """What holds of any w and rho."""
    moved, mean = _moved(features, others)
    shares, shift = sample_shares(None, len(moved)), float(normal @ mean)
    rows, apart = _judged(features, others), terms_apart(moved, normal, moved @ normal, offset)
    return point_reading(moved @ normal, normal, offset, shares, rows=rows, apart=apart, unit=unit, shift=shift)


# -- the programs ------------------------------------------------------------------------------------------------------


@METHOD.node(
    "primal",
    source="equation 8.47 in 8.6 and 8.7",
    latex=(
        r"\min_{w,\xi,\rho}\ \tfrac12\|w\|^2+\tfrac1{\nu n}\sum_i\xi_i-\rho\quad\text{s.t.}"
        r"\quad\Bigl\langle w,\Phi(x_i)-\tfrac1t\sum_n\Phi(z_n)\Bigr\rangle\ge\rho-\xi_i,\ \xi_i\ge0"
    ),
)
def primal(features: FeatureMap, outlier_fraction: float, others: Any = None) -> Formulation:
    """The margin to the mean of the others is maximised; points may fall short of it at a price."""
    nu = Tunable("outlier_fraction", outlier_fraction, outlier_share)
    unit = _unit(features, nu.value, others)
    phi = _moved(features, others)[0] / unit
    n = len(phi)
    w, xi, rho = cp.Variable(phi.shape[1]), cp.Variable(n, nonneg=True), cp.Variable()
    price, margin = slack_price(nu, equal := sample_shares(None, n)), phi @ w >= rho - xi
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + price * (equal @ xi) - rho), [margin]),
        {"w": Quantity(w, unit), "xi": Quantity(xi, unit**2), "rho": Quantity(rho, unit**2)},
        objective_unit=unit**2,
        read=lambda values: _polished(
            features, nu.value, others, unit, ("w", "rho", "xi"), w=values["w"], shown=margin.dual_value
        ),
        composed=lambda values: _at_point(features, values["w"], values["rho"], others, unit),
        tunables={"outlier_fraction": nu},
        rounded=lambda values: _left_out(features, values["w"], nu.value, others),
    )


@METHOD.node(
    "dual",
    source="equations 8.49 to 8.51",
    latex=(
        r"\min_\alpha\ \tfrac12\sum_{ij}\alpha_i\alpha_j(k(x_i,x_j)+q-q_j-q_i)"
        r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1"
    ),
)
def dual(features: FeatureMap, outlier_fraction: float, others: Any = None) -> Formulation:
    """The point of the reduced hull that is nearest to the mean of the others."""
    nu = Tunable("outlier_fraction", outlier_fraction, outlier_share)
    unit = _unit(features, nu.value, others)
    moved, _ = _moved(features, others)
    n = len(moved)
    price = slack_price(nu, equal := sample_shares(None, n))
    letter = multipliers(moved / unit, nu.value, equal)
    alpha = letter.expression
    # From the coordinates: the sums of 8.49 lose what is small against the distance from the origin.
    form = squared_length(letter, moved / unit)
    return Formulation(
        cp.Problem(cp.Minimize(form / 2), [alpha <= price * equal, cp.sum(alpha) == 1]),
        {"alpha": letter},
        objective_unit=unit**2,
        read=lambda values: _polished(features, nu.value, others, unit, ("alpha",), alpha=values["alpha"]),
        tunables={"outlier_fraction": nu},
        rounded=lambda values: _left_out(features, moved.T @ values["alpha"], nu.value, others),
    )


def _solution(features: FeatureMap, nu: float, others: Any, alpha: Array, how: str, iterations: int = 0) -> Solution:
    normal = _moved(features, others)[0].T @ alpha
    reading = _reading(features, normal, nu, others)
    return Solution(
        float(normal @ normal) / 2,
        {"alpha": alpha},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


def _no_pairs(features: FeatureMap, outlier_fraction: float, others: Any = None) -> str | None:
    unit = _unit(features, outlier_fraction, others)
    return None if features.explicit else untold_by_products(features, unit)


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, applied to equations 8.49 to 8.51",
    latex=r"Q_{ij}=k(x_i,x_j)+q-q_j-q_i,\quad q=\tfrac1{t^2}\sum_{np}k(z_n,z_p),\ q_j=\tfrac1t\sum_nk(x_j,z_n)",
    condition=_no_pairs,
)
def sequential(features: FeatureMap, outlier_fraction: float, others: Any = None) -> Solution:
    """Pairwise steps on the matrix that the chapter prints, which knows the points through the kernel alone."""
    nu = outlier_share(outlier_fraction, "outlier_fraction")
    matrix = _moved_gram(features, others)
    found = nearest(matrix, 1 / (nu * len(matrix)), semidefinite=True)
    return _solution(features, nu, others, found.multipliers, "SMO", found.iterations)


@METHOD.node(
    "moved_points",
    source="problem 8.11: a translation of feature space",
    latex=r"x_i'=\Phi(x_i)-\tfrac1t\sum_n\Phi(z_n)",
)
def moved_points(features: FeatureMap, outlier_fraction: float, others: Any = None) -> Formulation:
    """The one-class machine on the points less the mean of the others."""
    return one_class_svm.one_class_svm(LinearFeatures(_moved(features, others)[0]), outlier_fraction, form="dual")


# -- the arrows --------------------------------------------------------------------------------------------------------


METHOD.step(
    "dual",
    "primal",
    claim="the primal's optimum is minus the dual's, with w = sum of alpha_i (Phi(x_i) - mean)",
    equation="equations 8.47 to 8.51",
    reference="formulation",
    objective=lambda value: -value,
    values=lambda solution, features, others=None: {
        # The sum of the multipliers' terms loses to their rounding what points far from the origin lose when they cancel.
        "w": (w := solution.region.normal),
        "rho": solution.offset.used,
        "xi": np.maximum(solution.offset.used - _moved(features, others)[0] @ w, 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    claim="pairwise steps end at the optimum of the dual",
    equation="equations 8.49 to 8.51",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "moved_points",
    "dual",
    claim="the matrix with q and q_j is the Gram matrix of the points less the mean of the others",
    equation="equation 8.49",
    reference="formulation",
    decision="the machine on the moved points takes points that are moved, too",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)


@METHOD.property("nu-property", source="proposition 8.3 on the moved points")
def nu_property(solution: Solution, features: FeatureMap, outlier_fraction: float, others: Any = None) -> list[Claim]:
    """Fractions of outliers and of support vectors on either side of nu; the other set's mean is outside."""
    alpha, region, offset = solution.values.get("alpha"), solution.region, solution.offset
    if alpha is None or others is None or offset is None or not isinstance(region, HalfSpace):
        return []
    moved, mean = _moved(features, others)
    if abs(region.offset - offset.used - float(region.normal @ mean)) > 1e-9 * abs(region.offset):
        return []  # a machine on moved points, which has another origin
    scores = moved @ region.normal
    bound = 1 / (outlier_fraction * len(moved))
    scale = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    outliers = float(below(scores, offset.used, 1e-6).mean())
    support = float((alpha > 1e-6 * bound).mean())
    source, exact = "proposition 8.3", "a count, so exact up to rounding"
    return [
        Claim("outliers are at most nu", outliers, outlier_fraction, "<=", 1e-9, source=source, because=exact),
        Claim("support vectors are at least nu", support, outlier_fraction, ">=", 1e-9, source=source, because=exact),
        Claim(
            "the mean of the others is not inside",
            float(region.decision_values(mean[None, :])[0]) / scale,
            0.0,
            "<=",
            1e-7,
            source="equation 8.48, with problem 8.4",
        ),
    ]


def _instance(name: str, features: FeatureMap, nu: float, others: Any, probe: Any) -> Instance:
    arguments = {"features": features, "outlier_fraction": nu, "others": others}
    return Instance(name, arguments, features.coordinates(probe))


@METHOD.instance("digits, gaussian kernel, against other digits")
def digits() -> Instance:
    """Images of one digit, separated from the mean of forty others."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(np.vstack([data.nominal[:80], data.novel[:40]]), kernels.gaussian(gamma="scale"))
    name = "digits, gaussian kernel, against other digits"
    return _instance(name, features, 0.2, np.arange(120) >= 80, data.novel[100:160])


@METHOD.instance("breast cancer, linear kernel, against malignant cases")
def breast_cancer() -> Instance:
    """Benign cases, separated from the mean of the malignant ones, in units six orders of magnitude apart."""
    data = datasets.breast_cancer()
    features = LinearFeatures(np.vstack([data.nominal[:120], data.novel[:30]]))
    name = "breast cancer, linear kernel, against malignant cases"
    return _instance(name, features, 0.1, np.arange(150) >= 120, data.novel[30:90])


@METHOD.instance("units from 1e-4 to 1e4, far from the origin")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart; the origin of the data plays no part."""
    data = datasets.badly_scaled(n=50)
    away = data.nominal[:10] - 3 * np.ptp(data.nominal, axis=0)
    points = np.vstack([data.nominal, away]) + 1e5
    name = "units from 1e-4 to 1e4, far from the origin"
    return _instance(name, LinearFeatures(points), 0.15, np.arange(60) >= 50, data.novel + 1e5)


@METHOD.instance("duplicates, fewer points than columns")
def repeated() -> Instance:
    """Every point twice, in more dimensions than there are points."""
    data = datasets.wide(n=10, dimension=30)
    points = np.vstack([np.repeat(data.nominal, 2, axis=0), data.novel[:4]])
    name = "duplicates, fewer points than columns"
    return _instance(name, LinearFeatures(points), 0.3, np.arange(24) >= 20, data.novel)
