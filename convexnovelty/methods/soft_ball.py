r"""The soft ball: the smallest ball in feature space that holds most of the sample.

Schölkopf and Smola (2001), chapter 8, equations 8.17 to 8.21. This file is the smallest complete method of the
package and the one to copy: a primal, a dual, an algorithm, and the steps between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.polish import polished
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures, middle_length
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import (
    beyond_boundary,
    boundary_tie,
    check_features,
    least_share,
    not_hard,
    outlier_share,
    product_doubt,
    quantile_interval,
    sample_shares,
    slack_price,
    squared_length,
    weights_differ,
)
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Ball, Guarantee, Interval, outside_span, spread
from convexnovelty.validation import Array, choice

METHOD = Method(
    "soft_ball",
    title="Soft ball (support vector data description)",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The smallest ball in feature space that holds all but a fraction of the sample.",
    letters=("D2", "D3"),
)


def soft_ball(
    features: FeatureMap,
    outlier_fraction: float,
    form: Literal["primal", "dual"] = "dual",
    weights: Any = None,
) -> Formulation:
    r"""The soft ball, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points.
    outlier_fraction : the paper's nu, in (0, 1]; below 1/n the ball holds every point.
    form : "primal" (equation 8.17, in the squared radius) or "dual" (8.18 and 8.19).
    weights : how often each point counts, of shape (n,), at least 0; None counts each once. With their shares
        :math:`p_i`, :math:`p_i/\nu` stands where the chapter has :math:`1/(\nu n)`.

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is a ball, its objective
    8.17 or 8.18; the one is minus the other.

    Raises
    ------
    InputError : for an outlier fraction outside of (0, 1], and for weights that are negative, not finite or all zero.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.soft_ball(cn.LinearFeatures(np.array([[0.0], [1.0]])), 0.4).solve()
    >>> round(solution.region.squared_radius, 6)
    0.25
    """
    check_features(features)
    choice(form, "form", ("primal", "dual"))
    made = (primal if form == "primal" else dual)(features, outlier_fraction, weights)
    return remade_by(soft_ball, made, form=form)


class _AboutMean:
    r"""The sample about its mean, where the ball is the same and is not small beside its distance from the origin.

    :math:`\|\Phi(x_i)-c\|^2` depends on differences alone: with :math:`\sum_i\alpha_i=1` neither 8.17 nor 8.18 changes when
    all points move. ``phi`` are the coordinates about ``mean``, ``beyond`` is what a basis that was cut short does not hold
    of a point's squared length, and ``squares`` are the squared lengths about the mean.
    """

    def __init__(self, features: FeatureMap) -> None:
        training = np.asarray(features.training)
        self.mean = training.mean(axis=0)
        self.phi = training - self.mean
        self.beyond = np.zeros(features.n)
        if isinstance(features, KernelFeatures):
            self.beyond = outside_span(training, features.squared_norms())
        self.squares = np.einsum("ij,ij->i", self.phi, self.phi) + self.beyond
        # Where most points are the mean, what rounding leaves of them is no length of theirs.
        terms = ROUNDING * (np.linalg.norm(training, axis=1) + np.linalg.norm(self.mean))
        apart = np.where(self.squares > terms**2, self.squares, 0.0)
        self.unit = middle_length(apart) if self.squares.any() else features.unit

    def gram(self) -> Array:
        """The inner products of the coordinates about the mean."""
        return np.asarray(self.phi @ self.phi.T)


def _polished(
    features: FeatureMap,
    nu: float,
    shares: Array,
    about: _AboutMean,
    letters: Sequence[str],
    alpha: Any = None,
    center: Any = None,
    shown: Any = None,
) -> Reading:
    """What holds at the optimum that a solver's multipliers or its centre lie near to, with these letters there.

    Where that optimum is not found, the multipliers say which points lie beyond the boundary; a centre has those that are ``shown`` with it.
    """
    linear = -about.squares / 2
    near = None if center is None else about.phi @ (center - about.mean) + linear
    doubt = 4 * product_doubt(features)  # a product of two differences is four
    moved = float(np.linalg.norm(about.mean))
    found = polished(about.phi, shares / nu, linear, start=alpha, scores=near, doubt=doubt, moved=moved)
    if found is None:
        at = about.mean + about.phi.T @ alpha if center is None else center
        beyond = beyond_boundary(alpha if center is None else shown, shares / nu)
        return _reading(features, at, nu, shares, beyond=beyond)
    made = _reading(features, about.mean + found.normal, nu, shares, 2 * found.doubts)
    if made.offset is None or not isinstance(made.region, Ball):
        return made
    squares = about.squares - 2 * about.phi @ found.normal + float(found.normal @ found.normal)
    known = {
        "alpha": found.multipliers,
        "c": made.region.center,
        "R2": made.offset.used,
        "R": made.offset.used**0.5,
        "q": float(found.normal @ found.normal),
        "xi": np.maximum(squares - made.offset.used, 0.0),
    }
    return replace(made, letters={name: known[name] for name in letters}, settled=True)


def _reading(
    features: FeatureMap, center: Array, nu: float, shares: Array, doubts: Array | None = None, beyond: Any = None
) -> Reading:
    """What holds at an optimum.

    ``doubts`` (n,) are what squared distances to a centre to rounding are not known to; None for a solver's centre, of which
    ``beyond`` (n,) are the points of :func:`beyond_boundary`.
    """
    kernel = isinstance(features, KernelFeatures)
    norms = features.squared_norms() if kernel else None
    # By the region's own formula, so that a point on the sphere is found there by whoever asks the region.
    squares = -Ball(center, 0.0, kernel).decision_values(features.training, norms)
    # The squared radius is a quantile from above, as the offset of the one-class machine is one from below.
    flipped = quantile_interval(-squares, nu, shares)
    interval = Interval(max(0.0, -flipped.upper), -flipped.lower, -flipped.used)
    if doubts is None:
        scale = spread(-squares, shares, level=-interval.used, beyond=beyond)
    else:
        rounding = Ball(center, interval.used, kernel).rounding(features.training)
        scale = boundary_tie(squares, interval.used, doubts + rounding) / TIE_TOLERANCE
    region = Ball(center, interval.used, kernel, scale=scale)
    outside = ~region.contains(features.training, norms) & (shares > 0)
    if weights_differ(shares):
        said = (
            f"training points of {float(shares[outside].sum()):.6g} of the weight lie outside, at most the fraction "
            f"{nu:.6g} of it (problem 8.8)"
        )
    else:
        said = (
            f"{int(outside.sum())} of {features.n} training points lie outside, at most the fraction {nu:.6g} of them "
            f"(problem 8.8)"
        )
    return Reading(region, Guarantee(said, bound=nu), interval)


def _at_point(features: FeatureMap, center: Array, squared_radius: float, shares: Array) -> Reading:
    """What holds of any centre and radius: the ball itself, and the points outside of it."""
    kernel = isinstance(features, KernelFeatures)
    norms = features.squared_norms() if kernel else None
    squares = -Ball(center, 0.0, kernel).decision_values(features.training, norms)
    region = Ball(center, max(squared_radius, 0.0), kernel, scale=spread(squares, shares))
    outside = ~region.contains(features.training, norms) & (shares > 0)
    share = float(shares[outside].sum())
    if weights_differ(shares):
        said = f"training points of {share:.6g} of the weight lie outside"
    else:
        said = f"{int(outside.sum())} of {features.n} training points lie outside"
    return Reading(region, Guarantee(said, bound=share))


@METHOD.node(
    "primal",
    source="equation 8.17",
    latex=(
        r"\min_{R^2,\xi,c}\ R^2+\tfrac1{\nu n}\sum_i\xi_i\quad\text{s.t.}\quad\|\Phi(x_i)-c\|^2\le R^2+\xi_i,\ "
        r"\xi_i\ge0,\ R^2\ge0"
    ),
)
def primal(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Formulation:
    """The squared radius is minimised; points may lie outside at a price. It is convex in R^2, not in R."""
    nu, shares = Tunable("outlier_fraction", outlier_fraction, outlier_share), sample_shares(weights, features.n)
    about, n = _AboutMean(features), features.n
    phi, unit, squares = about.phi / about.unit, about.unit, about.squares / about.unit**2
    c, xi = cp.Variable(phi.shape[1]), cp.Variable(n, nonneg=True)
    r2, q = cp.Variable(nonneg=True), cp.Variable()
    price = slack_price(nu, shares)
    # One cone for |c|^2 instead of one a point: |x - c|^2 = |x|^2 - 2 <x, c> + q, q >= |c|^2, tight where it counts.
    inside = squares - 2 * (phi @ c) + q <= r2 + xi
    return Formulation(
        cp.Problem(cp.Minimize(r2 + price * (shares @ xi)), [inside, cp.sum_squares(c) <= q]),
        {
            "c": Quantity(c, unit, shift=about.mean),
            "xi": Quantity(xi, unit**2),
            "R2": Quantity(r2, unit**2),
            "q": Quantity(q, unit**2),
        },
        objective_unit=unit**2,
        read=lambda values: _polished(
            features,
            nu.value,
            shares,
            about,
            ("c", "xi", "R2", "q"),
            center=values["c"],
            shown=inside.dual_value,
        ),
        composed=lambda values: _at_point(features, values["c"], values["R2"], shares),
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "dual",
    source="equations 8.18 and 8.19",
    latex=(
        r"\min_{\alpha}\ \sum_{ij}\alpha_i\alpha_jk(x_i,x_j)-\sum_i\alpha_ik(x_i,x_i)\quad\text{s.t.}"
        r"\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1"
    ),
)
def dual(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Formulation:
    """The centre as a convex combination of the points, with the same box as the one-class machine."""
    nu, shares = Tunable("outlier_fraction", outlier_fraction, outlier_share), sample_shares(weights, features.n)
    about = _AboutMean(features)
    unit = about.unit
    alpha = cp.Variable(features.n, nonneg=True)
    price = slack_price(nu, shares)
    form = squared_length(Quantity(alpha), about.phi / unit, lambda: about.gram() / unit**2)
    objective = form - (about.squares / unit**2) @ alpha
    return Formulation(
        cp.Problem(cp.Minimize(objective), [alpha <= price * shares, cp.sum(alpha) == 1]),
        {"alpha": Quantity(alpha)},
        objective_unit=unit**2,
        read=lambda values: _polished(features, nu.value, shares, about, ("alpha",), alpha=values["alpha"]),
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, applied to equations 8.18 and 8.19",
    latex=r"\min_\alpha\ \tfrac12\alpha'(2K)\alpha+p'\alpha,\quad p_i=-k(x_i,x_i)",
)
def sequential(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Solution:
    """Sequential minimal optimisation of the dual, whose linear term is the diagonal of the Gram matrix."""
    nu, shares = outlier_share(outlier_fraction, "outlier_fraction"), sample_shares(weights, features.n)
    about = _AboutMean(features)
    result = smo(2 * about.gram(), p=-about.squares, upper=shares / nu)
    center = about.phi.T @ result.multipliers
    reading = _reading(features, about.mean + center, nu, shares)
    return Solution(
        float(center @ center - about.squares @ result.multipliers),
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
def as_one_class_svm(features: FeatureMap, outlier_fraction: float, weights: Any = None) -> Formulation:
    """The dual of the one-class machine on the same features."""
    return one_class_svm.one_class_svm(features, outlier_fraction, form="dual", weights=weights)


@METHOD.node(
    "hard_ball",
    source="section 8.3, balls with hard boundaries: equation 8.17 without slacks, in the radius itself",
    latex=r"\nu n<1:\quad\min_{R,c}\ R\quad\text{s.t.}\quad\|\Phi(x_i)-c\|\le R",
    condition=not_hard,
)
def hard_ball(features: FeatureMap, outlier_fraction: float = 0.0, weights: Any = None) -> Formulation:
    """Below an outlier fraction of 1/n no slack is worth its price: the smallest ball that holds the whole sample."""
    shares, about = sample_shares(weights, features.n), _AboutMean(features)
    kept, unit = np.flatnonzero(shares), about.unit
    phi, beyond = about.phi[kept] / unit, np.sqrt(about.beyond[kept]) / unit
    c, R = cp.Variable(phi.shape[1]), cp.Variable()
    # What a basis cut short does not hold of a point counts towards its distance, whatever the centre.
    away = cp.hstack([phi - np.ones((kept.size, 1)) @ cp.reshape(c, (1, phi.shape[1]), order="F"), beyond[:, None]])
    return Formulation(
        cp.Problem(cp.Minimize(R), [cp.norm(away, 2, axis=1) <= R]),
        {"c": Quantity(c, unit, shift=about.mean), "R": Quantity(R, unit)},
        objective_unit=unit,
        read=lambda values: _polished(
            features, 0.5 * least_share(weights, features.n), shares, about, ("c", "R"), center=values["c"]
        ),
        composed=lambda values: _at_point(features, values["c"], max(values["R"], 0.0) ** 2, shares),
    )


def _known(apart: float, features: FeatureMap) -> float:
    r"""What decision values may differ by where the two values miss ``apart`` of the optimum together.

    The least of a sum of :math:`a_i\|x_i - c\|^2` with weights that sum to 1 is :math:`\|c\|^2` beside linear terms, so that
    either centre is within the root of what its value misses of the optimum, and both within :math:`\Delta=\sqrt{2\,apart}` of
    each other. A squared distance of at most D, and with it the radius, a quantile of them, moves by :math:`2D\Delta+\Delta^2`.
    """
    distance = 2 * float(np.sqrt(_AboutMean(features).squares.max()))
    moved = (2 * apart) ** 0.5
    return float(2 * (2 * distance * moved + moved**2))


METHOD.step(
    "dual",
    "primal",
    known=_known,
    claim="the primal's optimum is minus the dual's, with c = sum of alpha_i Phi(x_i)",
    equation="equations 8.17 to 8.20",
    reference="formulation",
    objective=lambda value: -value,
    values=lambda solution, features: {
        "c": (about := _AboutMean(features)).mean + (c := about.phi.T @ solution.values["alpha"]),
        "R2": solution.offset.used,
        "q": float(c @ c),
        "xi": np.maximum(about.squares - 2 * about.phi @ c + c @ c - solution.offset.used, 0.0),
    },
)
METHOD.step(
    "smo",
    "dual",
    known=_known,
    claim="pairwise steps end at the optimum of the dual",
    equation="equations 8.18, 8.19 and 8.24",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "one_class_svm",
    "dual",
    known=_known,
    claim=(
        "for constant k(x, x) the objective is twice the machine's less k(x, x), and the decision value twice its own"
    ),
    equation="section 8.3, after equation 8.21",
    reference="formulation",
    condition=_constant_diagonal,
    objective=lambda value, features: 2 * value - float(features.squared_norms()[0]),
    decision=2.0,
    values=lambda solution: {"alpha": solution.values["alpha"]},
)


METHOD.step(
    "hard_ball",
    "dual",
    known=_known,
    claim=(
        "for nu n < 1 the slacks vanish: the optimum of the dual is minus the squared radius of the smallest enclosing "
        "ball"
    ),
    equation="equation 8.17",
    reference="formulation",
    objective=lambda value: -(value**2),
)


@METHOD.property("nu-property", source="problem 8.8")
def nu_property(solution: Solution, features: FeatureMap, outlier_fraction: float, weights: Any = None) -> list[Claim]:
    """Fractions of outliers and of support vectors on either side of nu, for the ball."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, Ball):
        return []
    shares = sample_shares(weights, features.n)
    values = region.decision_values(features.training, features.squared_norms())
    scale = max(region.squared_radius, float(np.abs(values).max()))
    outliers = float(shares[values < -1e-6 * scale].sum())
    support = float(shares[alpha > 1e-6 * shares / outlier_fraction].sum())
    exact = "a count, so exact up to rounding"
    return [
        Claim(
            "outliers are at most the fraction nu",
            outliers,
            outlier_fraction,
            "<=",
            1e-9,
            source="problem 8.8",
            because=exact,
        ),
        Claim(
            "support vectors are at least the fraction nu",
            support,
            outlier_fraction,
            ">=",
            1e-9,
            source="problem 8.8",
            because=exact,
        ),
    ]


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """A kernel with constant k(x, x): the ball and the half-space coincide."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.gaussian(gamma="scale"))
    return Instance(
        "blob, gaussian kernel", {"features": features, "outlier_fraction": 0.1}, features.coordinates(data.novel)
    )


@METHOD.instance("blob, polynomial kernel")
def polynomial() -> Instance:
    """A kernel with varying k(x, x): the ball and the half-space differ."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.polynomial(degree=2, gamma=0.1, coef0=1.0))
    return Instance(
        "blob, polynomial kernel", {"features": features, "outlier_fraction": 0.15}, features.coordinates(data.novel)
    )


@METHOD.instance("breast cancer, linear kernel")
def breast_cancer() -> Instance:
    """Benign cases in their own units, six orders of magnitude apart."""
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


@METHOD.instance("duplicates, fewer points than columns, hard ball")
def repeated() -> Instance:
    """Every point twice or thrice, in more dimensions than there are points, and none outside."""
    data = datasets.wide(n=8, dimension=20)
    features = LinearFeatures(np.repeat(data.nominal, np.arange(8) % 2 + 2, axis=0))
    name = "duplicates, fewer points than columns, hard ball"
    return Instance(name, {"features": features, "outlier_fraction": 0.04}, features.coordinates(data.novel))
