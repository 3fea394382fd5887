r"""The one-class support vector machine in a Mahalanobis metric whose covariance is uncertain.

Tsang, Kwok and Li (2006), section II. The plane :math:`w'x = \rho` is pushed away from the origin in the metric of the
covariance :math:`\Sigma`, and :math:`\Sigma` is only known to lie in a set. The paper's :math:`\nu` is
``outlier_fraction`` here, its c is ``covariance_weight``, and r is the radius of a Frobenius ball. Errata: section II-B
reduces to section II-A for :math:`\Delta = rI`, where the paper prints :math:`\Delta = \frac{r}{\nu n}I`; and program 6
with c = 0 is program 1 divided by r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.optimize

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms import woodbury
from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.algorithms.box import unexplained_gap
from convexnovelty.algorithms.cutting_planes import Robust, cutting_planes
from convexnovelty.algorithms.margin_unit import NEAR, margin_unit
from convexnovelty.algorithms.polish import Polished, polished
from convexnovelty.algorithms.smo import smo
from convexnovelty.cones import svec_map
from convexnovelty.covariances import own_root
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import ConvexNoveltyError, InputError, SolverError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures, middle_length
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.methods import one_class_svm
from convexnovelty.metrics import Posed, Sample, Whitened, whitened
from convexnovelty.modelling import (
    NO_DIRECTION,
    beyond_boundary,
    boundary_tie,
    fitted_by_libsvm,
    gram_form,
    hidden_lengths,
    libsvm_share,
    mean_of_lowest,
    multipliers,
    nothing_separated,
    plane_doubts,
    point_reading,
    printed_bound,
    proves_separation,
    quantile_interval,
    sample_shares,
    score_doubts,
    slack_bound,
    span_gram,
    terms_apart,
)
from convexnovelty.moments import Moments
from convexnovelty.regions import ROUNDING, TIE_TOLERANCE, Guarantee, HalfSpace, spread
from convexnovelty.uncertainty import Adversary, CovarianceSet, attainment, membership_of, worst_deviation
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.uncertainty.loewner_interval import LoewnerInterval
from convexnovelty.validation import Array, choice, fraction

METHOD = Method(
    "mahalanobis_svm",
    title="Mahalanobis one-class support vector machine",
    source="Tsang, Kwok and Li (2006)",
    summary="The plane farthest from the origin in the metric of an uncertain covariance, leaving a fraction outside.",
    takes="covariance",
    letters=("E1", "B3"),
)

Set: TypeAlias = CovarianceSet | None
Weight: TypeAlias = float | None

# Equation 8 inverts the Gram matrix twice, and each time loses digits in proportion to its condition.
INVERTIBLE = 1e-7
# Where a set is met by its membership alone, the program grows as the dimension squared, and a semidefinite cone can be
# scaled as a whole only, so that nothing of the smallest of its entries is left in rounding.
LARGEST_MEMBER = 12
WIDEST_MEMBER = 1e3
# KKT gap, in the units of the block routine, below which its Newton steps are asked for: they end at rounding.
GAP = 1e-9
# Squared lengths of the points in the shape of the set alone, from which Woodbury's identity subtracts nearly all.
SMALLEST_SHAPE = 1e10


# -- what several nodes share ------------------------------------------------------------------------------------------


@METHOD.nominal
def _nominal(features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0) -> Moments:
    return Sample.of(features, uncertainty, covariance_weight, ddof).moments


def _share(value: object, name: str) -> float:
    return fraction(value, name, one=True)


def _reading(
    sample: Sample,
    normal: Array,
    nu: float,
    deviation: float,
    unit: float,
    doubts: Array | None = None,
    beyond: Any = None,
    **letters: Any,
) -> Reading:
    """The plane of an optimum with its worst deviation; ``unit`` is the length of the points in the metric, or a bound from below.

    ``doubts`` (n,) are what the scores of a plane that is known to rounding are not known to; None for a solver's, of which
    ``beyond`` (n,) are the points of :func:`beyond_boundary`.
    """
    scores = sample.points @ normal
    offset = quantile_interval(scores, nu)
    # A score is at most the deviation times the point's length in the metric, which is thus seen whatever the set.
    length = max(unit, float(np.median(np.abs(scores))) / deviation) if deviation > 0 else unit
    nothing = nothing_separated(deviation**2, length, nu)
    # At an optimum the offset is the squared deviation and what slacks cost.
    if nothing is None and offset.used <= deviation**2 / 2:
        nothing = nothing_separated(0.0, length, nu)
    if nothing is not None and not (deviation > 0 and _proved(sample.features, normal, nu)):
        return Reading(HalfSpace(np.zeros_like(normal), 0.0), nothing, offset, {"deviation": deviation, **letters})
    if doubts is None:
        terms = np.abs(sample.points) @ np.abs(normal)
        apart = _apart(sample, normal, scores, offset.used)
        scale = spread(scores, level=offset.used, terms=terms, apart=apart, beyond=beyond)
    else:
        scale = boundary_tie(scores, offset.used, doubts) / TIE_TOLERANCE
    region = HalfSpace(normal, offset.used, scale=scale)
    outside = int((~region.contains(sample.points)).sum())
    distance = offset.used / deviation
    return Reading(
        region,
        Guarantee(
            f"{outside} of {sample.features.n} training points lie outside, at most the fraction {nu:.6g} of them; "
            f"{_planes(sample, distance)}",
            bound=nu,
        ),
        offset,
        {"deviation": deviation, "distance": distance, **letters},
        separates=True,
    )


def _proved(features: FeatureMap, normal: Array, nu: float) -> bool:
    """Whether the plane's own scores show that the reduced hull does not hold the origin, however short the normal is."""
    scores = np.asarray(features.training) @ normal
    return proves_separation(scores, plane_doubts(features, normal), nu)


def _rounding(features: FeatureMap, normal: Array, gamma: Array) -> Array:
    """What rounding, and products that coordinates lack, leave unknown of the scores (n,) of a sum of points times ``gamma``."""
    left_out = hidden_lengths(features)
    terms = ROUNDING * np.abs(np.asarray(features.training)) @ np.abs(normal)
    return np.asarray(terms + left_out * float(np.abs(gamma) @ left_out))


def _posed(sample: Sample, nu: float) -> Posed:
    """The program over w in the distance of the reduced hull from the origin, where that is small beside the points."""
    posed = sample.posed()
    unit = _distance(sample, posed.rows * posed.unit, posed.unit, np.asarray(posed.w.axes) / posed.unit, nu)
    return posed if unit == posed.unit else posed.in_unit(unit)


def _unit(sample: Sample, metric: Whitened, nu: float) -> float:
    """The unit of a program in one metric: the same distance."""
    return _distance(sample, np.asarray(metric.features.training), metric.features.middle, metric.root, nu)


def _distance(sample: Sample, rows: Array, unit: float, axes: Array, nu: float) -> float:
    """The :func:`margin_unit` of rows of size ``unit``, the points in coordinates whose normals ``axes`` take back."""
    rounding = ROUNDING * unit * np.linalg.norm(rows, axis=1)
    shares = sample_shares(None, sample.features.n)
    return margin_unit(rows, unit, lambda normal: rounding + plane_doubts(sample.features, axes @ normal), nu, shares)


def _middle(gram: Array) -> float:
    """The length of the points in the metric whose Gram matrix this is."""
    return middle_length(np.diag(gram))


def _apart(sample: Sample, normal: Array, scores: Array, level: float) -> Array:
    """As :func:`terms_apart`, with each column in its own deviation: the machine knows no length across columns."""
    deviations = np.std(sample.points, axis=0)
    sizes = np.where(deviations > 0, deviations, 1.0)
    return terms_apart(sample.points / sizes, normal * sizes, scores, level)


def _planes(sample: Sample, distance: float) -> str:
    return f"for every covariance in {sample.recipe!r} the plane is at least {distance:.6g} deviations from the origin"


def _at_point(
    sample: Sample,
    normal: Array,
    offset: float,
    deviation: float,
    unit: float | None = None,
    length: float | None = None,
) -> Reading:
    """What holds of any plane whose worst deviation is at most ``deviation``.

    ``length`` is that of w in the solver's own metric, whose points have the length ``unit``; the deviation by default.
    """
    n, distance = sample.features.n, offset / deviation if deviation > 0 else float("inf")
    squared = (deviation if length is None else length) ** 2
    scores, squared_unit = sample.points @ normal, None if unit is None else squared
    apart = _apart(sample, normal, scores, offset)
    made = point_reading(
        scores, normal, offset, np.full(n, 1 / n), rows=sample.points, apart=apart, unit=unit, squared=squared_unit
    )
    if isinstance(made.region, HalfSpace) and not made.region.normal.any():
        return replace(
            made, letters={"deviation": deviation}
        )  # w = 0: a half-space of all points or of none is no plane
    if made.guarantee is None or offset <= 0:
        return made  # the origin is inside: an upper bound of the deviation says nothing of its distance
    said = f"{made.guarantee}; {_planes(sample, distance)}"
    return Reading(
        made.region,
        Guarantee(said, bound=made.guarantee.bound),
        letters={"deviation": deviation, "distance": distance},
    )


def _in_metric(sample: Sample, metric: Whitened, alpha: Array, nu: float, beyond: Any = None) -> Reading:
    return _reading(sample, metric.normal(alpha), nu, metric.deviation(alpha), metric.features.middle, beyond=beyond)


def _optimum(sample: Sample, metric: Whitened, nu: float, alpha: Any = None, plane: Any = None) -> Polished | None:
    """The optimum in one metric that a solver's multipliers or its plane lie near to, or None where it was not found to rounding."""
    rows, n = np.asarray(metric.features.training), sample.features.n
    normal = rows.T @ alpha if plane is None else metric.inverse @ plane
    rounding = ROUNDING * np.abs(sample.points) @ (np.abs(metric.root) @ np.abs(normal))
    return polished(rows, np.full(n, slack_bound(nu, n)), start=alpha, scores=rows @ normal, doubt=rounding)


def _polished(
    sample: Sample, metric: Whitened, nu: float, unit: float, *, alpha: Any = None, plane: Any = None, **letters: Any
) -> Reading | None:
    """The plane of that optimum; a letter w is the plane itself."""
    found = _optimum(sample, metric, nu, alpha, plane)
    if found is None:
        return None
    w, deviation = metric.root @ found.normal, float(np.linalg.norm(found.normal))
    known = {**letters, "w": w} if "w" in letters else letters
    return _reading(sample, w, nu, deviation, unit, found.doubts, **known)


def _from_plane(
    sample: Sample, normal: Array, nu: float, deviation: float, unit: float, beyond: Any = None, **letters: Any
) -> Reading:
    """The plane of an optimum that a solver's lies near to, or that one itself where no one metric has it to rounding."""
    made = None if sample.worst is None else _polished(sample, sample.metric(), nu, unit, plane=normal, **letters)
    return made or _reading(sample, normal, nu, deviation, unit, beyond=beyond, **letters)


def _solution(reading: Reading, objective: float, how: str, iterations: int = 0, **letters: Any) -> Solution:
    return Solution(
        objective,
        {**reading.letters, **letters},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


# -- when a node is defined --------------------------------------------------------------------------------------------

Refusal = Callable[[Sample], str | None]


def _unless(*refusals: Refusal) -> Callable[..., str | None]:
    """The condition of a node: the first reason that applies to the sample and its set."""

    def condition(
        features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0
    ) -> str | None:
        sample = Sample.of(features, uncertainty, covariance_weight, ddof)
        return next((reason for refusal in refusals if (reason := refusal(sample)) is not None), None)

    return condition


def _no_worst(sample: Sample) -> str | None:
    if sample.worst is not None:
        return None
    return f"{sample.recipe!r} has no worst covariance that serves every direction, so there is no single metric"


def _no_radius(sample: Sample) -> str | None:
    if sample.radius is None:
        return f"the worst covariance over {sample.recipe!r} is not r I + c X H X'"
    if sample.radius <= 1e-12 * sample.features.unit**2:
        return "without a radius the Gram matrix alone does not determine the metric"
    return None


def _singular(gram: Array) -> str | None:
    values = np.linalg.eigvalsh(gram)
    share = float(values[0] / values[-1])
    if share > INVERTIBLE:
        return None
    return f"the Gram matrix is not invertible, since its eigenvalues span {max(share, 0.0):.0e}"


def _singular_gram(sample: Sample) -> str | None:
    return _singular(sample.gram)


def _shape(sample: Sample) -> Whitened | str:
    r"""The points in the metric of the paper's Delta, or why it is not positive definite."""
    if sample.worst is None:
        return f"{sample.recipe!r} has no worst covariance that serves every direction"
    if sample.weight == 0:
        return "without the sample's covariance the set's shape is all there is"
    delta = sample.worst - sample.moments.covariance
    deviations = np.sqrt(np.maximum(np.diag(delta), 0.0))
    if not (deviations > 0).all() or np.linalg.eigvalsh(delta / deviations / deviations[:, None])[0] <= 1e-10:
        return f"what {sample.recipe!r} adds to the covariance is not positive definite"
    found = whitened(sample.points, delta)
    beside = sample.weight * found.features.unit**2
    if beside > SMALLEST_SHAPE:
        return (
            f"the covariance is {beside:.1e} times what {sample.recipe!r} adds to it, so that Woodbury's identity around the "
            "latter keeps too few digits"
        )
    return found


def _no_shape(sample: Sample) -> str | None:
    found = _shape(sample)
    return found if isinstance(found, str) else None


def _singular_shape(sample: Sample) -> str | None:
    found = _shape(sample)
    return found if isinstance(found, str) else _singular(found.features.gram)


def _out_of_reach(features: FeatureMap) -> str | None:
    """Why the set is not met through its membership here."""
    if features.dimension > LARGEST_MEMBER:
        return f"in dimension {features.dimension} the set's membership is left to smaller instances"
    deviations = np.asarray(features.training).std(axis=0)
    least, largest = float(deviations.min()), float(deviations.max())
    if largest <= WIDEST_MEMBER * least:
        return None
    span = f"span {largest / least:.0e}" if least > largest * np.finfo(float).tiny else "reach down to zero"
    return f"the columns' deviations {span}, which a matrix inequality in their units cannot resolve"


def _badly_conditioned(sample: Sample) -> str | None:
    if sample.worst is None:
        return _no_worst(sample)
    deviations = np.sqrt(np.maximum(np.diag(sample.worst), 0.0))
    if (deviations > 0).all() and np.linalg.eigvalsh(sample.worst / deviations / deviations[:, None])[0] >= 1e-5:
        return None
    return "the inverse of the covariance is written out here, which takes one that is well conditioned"


def _in_gram(*refusals: Refusal) -> Callable[..., str | None]:
    """The condition of a node that knows the points through a Gram matrix in their metric alone."""
    admitted = _unless(*refusals)

    def condition(
        features: FeatureMap,
        outlier_fraction: float,
        uncertainty: Set = None,
        covariance_weight: Weight = None,
        ddof: int = 0,
    ) -> str | None:
        given = uncertainty, covariance_weight, ddof
        if (reason := admitted(features, *given)) is not None:
            return reason
        sample = Sample.of(features, *given)
        metric = sample.metric()
        share = _unit(sample, metric, outlier_fraction) / metric.features.middle
        if share >= 1:
            return None
        return f"the reduced hull comes within {share:.0e} of the size of its points to the origin, beside which their Gram matrix has too few digits"

    return condition


# -- the program -------------------------------------------------------------------------------------------------------


def mahalanobis_svm(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: CovarianceSet | None = None,
    covariance_weight: float | None = None,
    ddof: int = 0,
    form: Literal["primal", "dual"] = "primal",
) -> Formulation:
    r"""The one-class machine in the metric of the worst covariance of a set, as a primal or a dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points.
    outlier_fraction : the paper's nu, in (0, 1]; below 1/n the margin is hard.
    uncertainty : a set of covariances around :math:`\Sigma^0 = cXHX'`, for example ``FrobeniusBall(r)`` with r in
        squared units of the features; None takes the sample's covariance as exact, in whose range the sample must lie.
    covariance_weight : the paper's c; 1/(n - ddof) by default. Zero leaves the covariance out.
    ddof : 0 for the maximum likelihood covariance, 1 for the sample covariance.
    form : "primal" (equation 5, any set) or "dual" (equation 7, in the Gram matrix, for sets like the Frobenius ball).

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again, and in the primal form the set's
    numbers too. Its region is the half-space :math:`w'\Phi(x) \ge \rho`. In the dual form ``solution.values["gamma"]``
    holds the coefficients with which ``features.cross_gram(Z) @ gamma`` scores new points (unless ``rank`` was cut).

    Raises
    ------
    InputError for arguments that cannot be used; UnboundedError, on solving, for a covariance that is singular where
    the sample's mean is not zero, as it is of a column that another one makes but for a constant.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> features = cn.LinearFeatures(np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0]]))
    >>> problem = cn.mahalanobis_svm(features, 0.5, uncertainty=cn.uncertainty.FrobeniusBall(0.5))
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), round(problem.set(radius=1.0).solve().objective, 6)
    (-2.815789, -1.941176)
    """
    choice(form, "form", ("primal", "dual"))
    node = robust if form == "primal" else kernel_dual
    made = node(features, outlier_fraction, uncertainty, covariance_weight, ddof)
    return remade_by(mahalanobis_svm, made, form=form)


@METHOD.node(
    "robust",
    source="equation 5",
    latex=r"\min_{w,\xi,\rho}\ \sup_{\Sigma\in\mathcal U}\tfrac12w'\Sigma w+\tfrac1{\nu n}\sum_i\xi_i-\rho"
    r"\quad\text{s.t.}\quad w'x_i\ge\rho-\xi_i,\ \xi_i\ge0",
)
def robust(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The primal against the worst covariance of any set, through the set's counterpart."""
    return _program(Sample.of(features, uncertainty, covariance_weight, ddof), outlier_fraction)


@METHOD.node(
    "derived_counterpart",
    source="equation 5, by conic duality of the membership constraints",
    latex=r"\min_{w,\rho,\xi}\ \tfrac1{\nu n}\sum_i\xi_i-\rho\quad\text{s.t.}\quad w'x_i\ge\rho-\xi_i,\ \xi_i\ge0,"
    r"\ \sigma_{\mathcal U}(M)\le u,\ \begin{pmatrix}M&w\\w'&u\end{pmatrix}\succeq0,\ u\le1,"
    r"\quad\text{where }-d\text{ gives }-\tfrac12d^2",
    condition=_out_of_reach,
)
def derived_counterpart(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """A counterpart derived from the set's membership alone, in a program whose plane has a worst deviation of at most one.

    All of equation 5 but the square is homogeneous in w, so that it asks for the direction whose lowest fraction scores
    most on average, a number d, at the length d. Without the square the program is a linear one over cones, which
    interior-point methods solve to more digits. Where nothing is separated, w = 0 is its solution as well.
    """
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    posed, n = _posed(sample, nu.value), features.n
    xi, rho, u = cp.Variable(n, nonneg=True, name="xi"), cp.Variable(name="rho"), cp.Variable(name="u")
    price = nu.parameter(lambda value: slack_bound(value, n), printed_bound(n), nonneg=True)
    deviation = worst_deviation(sample.recipe.centred(posed.moments), posed.seen, route="derived")
    axes = np.asarray(posed.w.axes) / posed.unit
    margin = posed.rows @ posed.w.variable >= rho - xi

    def read(values: Any) -> Reading:
        length = max(-_tail(sample.points @ values["w"], nu.value), 0.0)
        beyond = beyond_boundary(margin.dual_value, price.value)
        return _reading(sample, length * values["w"], nu.value, length * values["u"], posed.unit, beyond=beyond)

    return Formulation(
        cp.Problem(
            cp.Minimize(price * cp.sum(xi) - rho),
            [margin, deviation.value <= u, u <= 1, *deviation.constraints],
        ),
        {
            "w": Quantity(posed.w.variable, 1.0, axes, posed.w.inverse * posed.unit, unseen=True),
            "xi": Quantity(xi, posed.unit),
            "rho": Quantity(rho, posed.unit),
            "u": Quantity(u),
        },
        objective_unit=posed.unit,
        read=read,
        # Region and distance do not depend on the length of w.
        composed=lambda values: _at_point(sample, values["w"], values["rho"], values["u"]),
        tunables={"outlier_fraction": nu},
        admissible=lambda: _refuse_unbounded(sample),
    )


def _refuse_unbounded(sample: Sample) -> None:
    """Raise UnboundedError, which says what would do, where one covariance is the worst and has no deviation along the mean."""
    worst = sample.recipe.centred(sample.moments).ellipsoidal()
    if worst is not None:
        whitened(sample.points, worst)


def _program(sample: Sample, outlier_fraction: float) -> Formulation:
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    posed, n = _posed(sample, nu.value), sample.features.n
    centred = sample.recipe.tunable().centred(posed.moments)
    xi, rho, u = cp.Variable(n, nonneg=True, name="xi"), cp.Variable(name="rho"), cp.Variable(name="u")
    price = nu.parameter(lambda value: slack_bound(value, n), printed_bound(n), nonneg=True)
    deviation = worst_deviation(centred, posed.seen)
    margin = posed.rows @ posed.w.variable >= rho - xi

    def current() -> Sample:
        numbers = centred.numbers()
        return replace(sample, recipe=sample.recipe.replaced(**numbers)) if numbers else sample

    def suspect() -> SolverError | None:
        middle = sample.features.middle
        hull = smo(span_gram(sample.features) / middle**2, upper=slack_bound(nu.value, n))
        distance = math.sqrt(2 * max(hull.objective, 0.0))
        scores = span_gram(sample.features) @ hull.multipliers
        proved = proves_separation(scores, score_doubts(sample.features, middle), nu.value)
        if distance**2 > NO_DIRECTION or proved:
            return None
        return SolverError(
            f"features: the reduced hull of the sample at the outlier_fraction {nu.value:.6g} comes within {distance:.1e} of the "
            "size of its points to the origin, where the optimum is 0 at w = 0 and nothing is separated, which the solver does "
            "not tell from a failure; use a smaller outlier_fraction, a wider kernel, or cn.one_class_svm, which says as much"
        )

    return Formulation(
        cp.Problem(
            cp.Minimize(cp.square(u) / 2 + price * cp.sum(xi) - rho),
            [margin, deviation.value <= u, *deviation.constraints],
        ),
        {
            "w": posed.w,
            "xi": Quantity(xi, posed.unit**2),
            "rho": Quantity(rho, posed.unit**2),
            "u": Quantity(u, posed.unit),
        },
        objective_unit=posed.unit**2,
        read=lambda values: _from_plane(
            current(),
            values["w"],
            nu.value,
            values["u"],
            posed.unit,
            beyond_boundary(margin.dual_value, price.value),
        ),
        composed=lambda values: _at_point(
            current(),
            values["w"],
            values["rho"],
            values["u"],
            posed.unit,
            float(np.linalg.norm(posed.inverse @ values["w"])),
        ),
        tunables={"outlier_fraction": nu, **centred.tunables()},
        admissible=lambda: _refuse_unbounded(current()),
        suspect=suspect,
    )


@METHOD.node(
    "robust_dual",
    source="not in the paper: the dual of equation 5, with the worst covariance as a variable",
    latex=r"\min_{\alpha,\Sigma}\ \tfrac12\alpha'X'\Sigma^{-1}X\alpha\quad\text{s.t.}\quad"
    r"0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1,\ \Sigma\in\mathcal U",
    condition=_out_of_reach,
)
def robust_dual(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """One convex program in the multipliers and the covariance, which the set enters by its membership."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    posed, n, p = _posed(sample, nu.value), features.n, features.dimension
    alpha = cp.Variable(n, nonneg=True, name="alpha")
    z = cp.Variable(p, name="z")
    upper = nu.parameter(lambda value: slack_bound(value, n), nonneg=True)
    # The membership as arrays in a scale of its own: in the units of the data a radius of 1e-16 is below every tolerance.
    member, held = membership_of(sample.centred).multiple(1.0)
    back = np.linalg.inv(posed.inverse)
    S = back.T @ cp.reshape(svec_map(p) @ member, (p, p), order="F") @ back
    S = (S + S.T) / 2
    tie = z == posed.rows.T @ alpha

    def read(values: Any) -> Reading:
        # The multiplier of z = X alpha is w itself, which S^-1 X alpha would give with the errors of both.
        w = -np.asarray(posed.w.axes) @ np.asarray(tie.dual_value)
        deviation = float(np.sqrt(max(w @ (sample.points.T @ values["alpha"]), 0.0)))
        return _from_plane(sample, w, nu.value, deviation, posed.unit, w=w, S=posed.covariance(np.asarray(S.value)))

    return Formulation(
        cp.Problem(
            cp.Minimize(cp.matrix_frac(z, S) / 2),
            [tie, alpha <= upper, cp.sum(alpha) == 1, *held],
        ),
        {"alpha": Quantity(alpha)},
        objective_unit=posed.unit**2,
        read=read,
        tunables={"outlier_fraction": nu},
        admissible=lambda: _refuse_unbounded(sample),
    )


def _tail(scores: Array, nu: float) -> float:
    r"""The least of :math:`\frac1{\nu n}\sum_i(\rho - s_i)_+ - \rho`: minus the mean of the lowest fraction."""
    rho = quantile_interval(scores, nu).used
    return float(slack_bound(nu, scores.size) * np.maximum(rho - scores, 0.0).sum() - rho)


@METHOD.node(
    "semi_infinite",
    kind="algorithm",
    source="equation 5",
    latex=r"\tfrac12w'\Sigma w\le\tfrac12u^2\quad\forall\,\Sigma\in\mathcal U",
    condition=_out_of_reach,
)
def semi_infinite(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Solution:
    """Adversarial cutting planes on the direction of w: the set is met only through its membership."""
    nu = _share(outlier_fraction, "outlier_fraction")
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    posed, adversary = _posed(sample, nu), Adversary(sample.centred)
    xi, rho, u = cp.Variable(features.n, nonneg=True), cp.Variable(), cp.Variable()
    w, unit = posed.w, posed.unit
    cuts: list[tuple[Array, Any]] = []

    def respected(members: list[Array]) -> list[Any]:
        # One constraint a member, since the multiplier of each is read afterwards.
        known = {id(member): constraint for member, constraint in cuts}
        cuts[:] = [(member, known[id(member)] if id(member) in known else respecting(member)) for member in members]
        return [constraint for _, constraint in cuts]

    def respecting(member: Array) -> Any:
        return cp.norm((own_root(member) @ np.asarray(w.axes) / unit) @ w.variable) <= u

    def repair(values: Any) -> tuple[float, Any] | None:
        # All but the square is homogeneous in w: a plane is brought to the length at which its lowest fraction scores 1.
        tail = _tail(sample.points @ values["w"], nu)
        if tail >= 0:
            return None
        found = adversary(values["w"])
        return -found.value / tail * unit, {"w": values["w"] / -tail, "u": -found.value / tail, "member": found.member}

    # The nominal covariance need not be a member. A singular one leaves the master program without a bound, which a
    # member for each axis gives.
    seeds = [adversary(sample.moments.mean).member]
    if np.linalg.eigvalsh(seeds[0])[0] <= 1e-9 * float(np.trace(seeds[0])):
        seeds += [adversary(axis).member for axis in np.eye(features.dimension)]
    member = np.mean(seeds, axis=0)
    metric = whitened(sample.points, member)
    hull = smo(metric.features.gram, upper=slack_bound(nu, features.n))
    if nothing_separated(2 * hull.objective, metric.features.middle, nu) is not None:
        # The reduced hull holds the origin, whichever the metric, and no plane can be brought to that length.
        best, _ = _refined(sample, repair, member, metric.normal(hull.multipliers), nu)
        return _at_length(sample, best, nu, posed.unit, 0)
    for tolerance in (1e-3, 1e-6, 1e-8):
        found = cutting_planes(
            u,
            {"w": w},
            [Robust(lambda values: adversary(values["w"]).member, respected)],
            repair,
            constraints=[
                posed.rows @ w.variable >= rho - xi,
                slack_bound(nu, features.n) * cp.sum(xi) - rho <= -1,
                u >= 0,
            ],
            seeds=[seeds],
            tolerance=tolerance,
        )
        best, lower = _refined(sample, repair, _mixture(cuts), found.values["w"], nu)
        upper = -1 / (2 * best["u"] ** 2)
        if upper - lower <= 1e-8 * abs(lower):
            break
        seeds = [member for member, _ in cuts]
        cuts.clear()
    return _at_length(sample, best, nu, posed.unit, found.rounds)


def _at_length(sample: Sample, best: Any, nu: float, unit: float, rounds: int) -> Solution:
    """The solution with a plane whose lowest fraction scores 1, at the length that is optimal; w = 0 where there is none."""
    if best is None:
        w = np.zeros(sample.features.dimension)
        return _solution(_reading(sample, w, nu, 0.0, unit), 0.0, "cutting planes", rounds, w=w)
    length = 1 / best["u"] ** 2
    reading = _reading(sample, length * best["w"], nu, length * best["u"], unit)
    return _solution(reading, -length / 2, "cutting planes", rounds, w=length * best["w"])


def _mixture(cuts: list[tuple[Array, Any]]) -> Array:
    """The mean of the members by the multipliers of their cuts: the covariance of the saddle point."""
    shares = np.array([0.0 if held.dual_value is None else max(float(held.dual_value), 0.0) for _, held in cuts])
    return np.asarray(np.einsum("k,kij->ij", shares / shares.sum(), np.array([member for member, _ in cuts])))


def _refined(sample: Sample, repair: Callable[[Any], Any], mixture: Array, w: Array, nu: float) -> tuple[Any, float]:
    r"""The best plane found around w, None if none separates, and a lower bound on the optimum, which a member's own optimum is.

    Cutting planes know w to the root of their gap only. In the metric of the saddle point's covariance, the ``mixture``, the
    plane is the one-class machine's: exact where the set has corners. Where it is smooth, w is the machine's own plane
    in the metric of the covariance :math:`\Sigma(w)` that is worst for w, and this equation is solved.
    """
    upper = slack_bound(nu, sample.features.n)
    lower = -np.inf

    def machine(covariance: Array) -> Array:
        nonlocal lower
        metric = whitened(sample.points, covariance)
        found = smo(metric.features.gram, upper=upper)
        lower = max(lower, -found.objective)
        return metric.normal(found.multipliers)

    start = machine(mixture)
    size = float(np.abs(start).max()) or 1.0

    def missing(v: Array) -> Array:
        found = repair({"w": v})
        return v if found is None else v - machine(found[1]["member"]) / size

    planes = [w, start]
    try:
        planes.append(scipy.optimize.root(missing, start / size, options={"maxfev": 60}).x)
    except ConvexNoveltyError:
        pass  # the metric of some trial is singular: the planes found before count
    found = [pair for plane in planes if (pair := repair({"w": plane})) is not None]
    return min(found, key=lambda pair: pair[0], default=(0.0, None))[1], lower


# -- in the worst metric -----------------------------------------------------------------------------------------------


@METHOD.node(
    "primal",
    source="equation 4, with the worst covariance",
    latex=r"\min_{w,\xi,\rho}\ \tfrac12w'\Sigma w+\tfrac1{\nu n}\sum_i\xi_i-\rho"
    r"\quad\text{s.t.}\quad w'x_i\ge\rho-\xi_i,\ \xi_i\ge0",
    condition=_unless(_no_worst),
)
def primal(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The primal for one covariance, the set's worst, with whitened points instead of a dense quadratic form."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    metric = sample.metric()
    unit, n = _unit(sample, metric, nu.value), features.n
    y, xi, rho = cp.Variable(metric.features.dimension), cp.Variable(n, nonneg=True), cp.Variable()
    price = nu.parameter(lambda value: slack_bound(value, n), printed_bound(n), nonneg=True)
    margin = (np.asarray(metric.features.training) / unit) @ y >= rho - xi
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(y) / 2 + price * cp.sum(xi) - rho), [margin]),
        {
            "w": Quantity(y, unit, metric.root, metric.inverse, unseen=True),
            "xi": Quantity(xi, unit**2),
            "rho": Quantity(rho, unit**2),
        },
        objective_unit=unit**2,
        read=lambda values: _reading(
            sample,
            values["w"],
            nu.value,
            float(np.linalg.norm(metric.inverse @ values["w"])),
            unit,
            beyond=beyond_boundary(margin.dual_value, price.value),
        ),
        composed=lambda values: _at_point(
            sample, values["w"], values["rho"], float(np.linalg.norm(metric.inverse @ values["w"])), unit
        ),
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "metric_primal",
    source="equation 3",
    latex=r"\min_{v,\xi,\rho}\ \tfrac12v'\Sigma^{-1}v+\tfrac1{\nu n}\sum_i\xi_i-\rho"
    r"\quad\text{s.t.}\quad v'\Sigma^{-1}x_i\ge\rho-\xi_i,\ \xi_i\ge0",
    condition=_unless(_badly_conditioned),
)
def metric_primal(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The one-class machine with products taken in the metric, before the change of variables v = Sigma w."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    if (refusal := _badly_conditioned(sample)) is not None or sample.worst is None:
        raise InputError(f"uncertainty: {refusal}; use the primal form")
    deviations = np.sqrt(np.diag(sample.worst))
    inverse = np.linalg.inv(sample.worst / deviations / deviations[:, None])
    inverse = (inverse + inverse.T) / 2
    scaled = sample.points / deviations
    length, metric = float(np.sqrt(np.mean(np.einsum("ij,jk,ik->i", scaled, inverse, scaled)))), sample.metric()
    near = _unit(sample, metric, nu.value)
    unit = near if near < metric.features.middle else length
    y, xi, rho = cp.Variable(features.dimension), cp.Variable(features.n, nonneg=True), cp.Variable()
    price = nu.parameter(lambda value: slack_bound(value, features.n), printed_bound(features.n), nonneg=True)
    rows = scaled @ inverse / unit

    def plane(values: Any) -> tuple[Array, float]:
        normal = inverse @ (values["v"] / deviations) / deviations
        return normal, float(np.sqrt(max(values["v"] @ normal, 0.0)))

    def read(values: Any) -> Reading:
        normal, deviation = plane(values)
        return _from_plane(sample, normal, nu.value, deviation, unit, w=normal)

    def composed(values: Any) -> Reading:
        normal, deviation = plane(values)
        made = _at_point(sample, normal, values["rho"], deviation, unit)
        return replace(made, letters={**made.letters, "w": normal})

    return Formulation(
        cp.Problem(
            cp.Minimize(cp.quad_form(y, cp.psd_wrap(inverse)) / 2 + price * cp.sum(xi) - rho), [rows @ y >= rho - xi]
        ),
        {
            "v": Quantity(y, unit, np.diag(deviations), np.diag(1 / deviations)),
            "xi": Quantity(xi, unit**2),
            "rho": Quantity(rho, unit**2),
        },
        objective_unit=unit**2,
        read=read,
        composed=composed,
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "dual",
    source="equation 6",
    latex=r"\min_\alpha\ \tfrac12\alpha'X'\Sigma_r^{-1}X\alpha"
    r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1",
    condition=_unless(_no_worst),
)
def dual(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The point of the reduced convex hull that is nearest to the origin in the worst metric."""
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    return _hull_program(sample, outlier_fraction)


def _hull_program(sample: Sample, outlier_fraction: float, **letters: Callable[[Array], Array]) -> Formulation:
    """The dual on whitened points; ``letters`` are read off the multipliers."""
    nu, n = Tunable("outlier_fraction", outlier_fraction, _share), sample.features.n
    metric = sample.metric()
    unit = _unit(sample, metric, nu.value)
    rows = np.asarray(metric.features.training) / unit
    letter = multipliers(rows, nu.value, sample_shares(None, n), name="alpha")
    alpha = letter.expression
    upper = nu.parameter(lambda value: slack_bound(value, n), nonneg=True)

    def read(values: Any) -> Reading:
        alpha = values["alpha"]
        beyond = beyond_boundary(alpha, upper.value)
        found = _polished(sample, metric, nu.value, unit, alpha=alpha)
        found = found or _in_metric(sample, metric, alpha, nu.value, beyond)
        return replace(found, letters={**found.letters, **{k: made(values["alpha"]) for k, made in letters.items()}})

    return Formulation(
        cp.Problem(cp.Minimize(gram_form(letter, metric.features, unit) / 2), [alpha <= upper, cp.sum(alpha) == 1]),
        {"alpha": letter},
        objective_unit=unit**2,
        read=read,
        tunables={"outlier_fraction": nu},
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="equation 6, a dual of the one-class machine's form",
    latex=r"\min_\alpha\ \tfrac12\alpha'G\alpha,\quad G=X'\Sigma_r^{-1}X",
    condition=_unless(_no_worst),
)
def sequential(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Solution:
    """Sequential minimal optimisation on the Gram matrix in the worst metric."""
    nu = _share(outlier_fraction, "outlier_fraction")
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    metric = sample.metric()
    result = smo(metric.features.gram, upper=slack_bound(nu, features.n))
    reading = _in_metric(sample, metric, result.multipliers, nu)
    return _solution(reading, result.objective, "SMO", result.iterations, alpha=result.multipliers)


# Radii, beside the trace of the sample's covariance, below which Woodbury's identity leaves too few digits of the metric.
SEEN_RADIUS = 1e-6


def _seen(sample: Sample, r: float) -> bool:
    return r >= SEEN_RADIUS * sample.weight * sample.features.n * sample.features.unit**2


def has_one_metric(
    features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0
) -> bool:
    """Whether one covariance of the set is worst for every direction, so that :func:`block_dual` is exact."""
    return _no_worst(Sample.of(features, uncertainty, covariance_weight, ddof)) is None


@METHOD.node(
    "block_dual",
    kind="algorithm",
    source="equation 7, by the routine that serves every dual of this family",
    latex=r"\min_\alpha\ \tfrac12\alpha'(rK^{-1}+cH)^{-1}\alpha,\quad w=X\gamma,\ \gamma=(rI+cHK)^{-1}\alpha",
    condition=_unless(_no_worst),
)
def block_dual(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Solution:
    """The block routine on the metric's Gram matrix, from K alone where a radius is known, else on whitened points.

    A kernel has as many features as points, so that whitening them takes a singular value decomposition of order n
    where Woodbury's identity takes one Cholesky factorisation.
    """
    nu = _share(outlier_fraction, "outlier_fraction")
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    upper = slack_bound(nu, features.n)
    r = sample.radius if isinstance(features, KernelFeatures) else None
    if r is not None and _seen(sample, r):
        gram = woodbury.metric_gram(sample.gram, r, sample.weight)
        result = solve_dual(gram, "precomputed", upper=upper, tolerance=GAP, of_scores=GAP)
        # A sum of the identity's matrices knows a hull near the origin to rounding of the longest point.
        if 2 * result.objective >= (NEAR * _middle(gram)) ** 2:
            gamma = woodbury.expansion(sample.gram, result.multipliers, r, sample.weight)
            deviation = float(np.sqrt(2 * result.objective))
            normal = sample.points.T @ gamma
            # The pair steps' own scores are of the metric's Gram matrix, which the plane knows by another sum.
            scores = sample.points @ normal
            apart = float(np.abs(scores - result.scores).max())
            rounding = _rounding(features, normal, gamma)
            left = unexplained_gap(scores, result.multipliers, upper, rounding)
            doubts = rounding + apart + max(result.violation, left)
            reading = _reading(sample, normal, nu, deviation, _middle(gram), doubts, gamma=gamma)
            return _solution(reading, result.objective, "block dual", result.rounds, alpha=result.multipliers)
    metric = sample.metric()
    result = solve_dual(metric.features.training, "linear", upper=upper, tolerance=GAP, of_scores=GAP)
    found = _polished(sample, metric, nu, metric.features.middle, alpha=result.multipliers)
    reading = found or _in_metric(sample, metric, result.multipliers, nu)
    return _solution(reading, result.objective, "block dual", result.rounds, alpha=result.multipliers)


def _not_all(outlier_fraction: float) -> str | None:
    return None if outlier_fraction == 1 else "every multiplier is at its bound for outlier_fraction = 1 only"


@METHOD.node(
    "mean_direction",
    kind="closed form",
    source="equation 6 with nu = 1",
    latex=r"\nu=1:\quad\alpha_i=\tfrac1n,\ w=\Sigma_r^{-1}m",
    condition=lambda features, outlier_fraction, uncertainty=None, covariance_weight=None, ddof=0: (
        _not_all(outlier_fraction) or _unless(_no_worst)(features, uncertainty, covariance_weight, ddof)
    ),
)
def mean_direction(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Solution:
    """With an outlier fraction of one the normal is that of the single-class minimax probability machine."""
    if (refusal := _not_all(_share(outlier_fraction, "outlier_fraction"))) is not None:
        raise InputError(f"outlier_fraction: {outlier_fraction} was found; {refusal}")
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    metric = sample.metric()
    alpha = np.full(features.n, 1 / features.n)
    reading = _in_metric(sample, metric, alpha, 1.0)
    return _solution(reading, metric.deviation(alpha) ** 2 / 2, "closed form", alpha=alpha)


# -- in the Gram matrix ------------------------------------------------------------------------------------------------


def _gram_program(
    sample: Sample, outlier_fraction: float, gram: Array, scale: float, normal: Callable[[Array], Array], **letters: Any
) -> Formulation:
    """The dual with the stored matrix ``scale * gram``; ``normal`` gives the plane from the multipliers."""
    nu = Tunable("outlier_fraction", outlier_fraction, _share)
    n = sample.features.n
    unit, length = float(np.sqrt(np.trace(gram) / n)) or 1.0, _middle(scale * gram)
    alpha = cp.Variable(n, nonneg=True, name="alpha")
    upper = nu.parameter(lambda value: slack_bound(value, n), nonneg=True)

    def read(values: Any) -> Reading:
        optimum = (
            None if sample.worst is None else _optimum(sample, metric := sample.metric(), nu.value, values["alpha"])
        )
        if optimum is not None:
            own, found = metric.root @ optimum.normal, optimum.multipliers
            more = {name: letter(found) for name, letter in letters.items()}
            size = float(np.linalg.norm(optimum.normal))
            made = _reading(sample, own, nu.value, size, length, optimum.doubts, alpha=found, **more)
            return replace(made, settled=True)
        found = values["alpha"]
        deviation = float(np.sqrt(max(found @ gram @ found, 0.0) * scale))
        more = {name: letter(found) for name, letter in letters.items()}
        beyond = beyond_boundary(found, upper.value)
        return _reading(sample, normal(found), nu.value, deviation, length, beyond=beyond, **more)

    objective = cp.quad_form(alpha, cp.psd_wrap(gram / unit**2)) / 2
    return Formulation(
        cp.Problem(cp.Minimize(objective), [alpha <= upper, cp.sum(alpha) == 1]),
        {"alpha": Quantity(alpha)},
        objective_unit=unit**2 * scale,
        read=read,
        tunables={"outlier_fraction": nu},
    )


def _radius(sample: Sample) -> float:
    if _no_radius(sample) is not None or sample.radius is None:
        raise InputError(
            f"uncertainty: the worst covariance over {sample.recipe!r} is not r I + c X H X' with r > 0, which a "
            "program in the Gram matrix presumes; give FrobeniusBall(r), or use the primal form"
        )
    return sample.radius


def _expansion(sample: Sample, alpha: Array) -> Array:
    """The coefficients of the normal in the sample; K and r are divided by the features' own size first.

    Where the identity that solves for them has too few digits they follow from the normal w of whitened points:
    r w + c X H X'w = X alpha.
    """
    if not _seen(sample, r := _radius(sample)):
        scores = sample.points @ sample.metric().normal(alpha)
        return np.asarray((alpha - sample.weight * (scores - scores.mean())) / r)
    unit = sample.features.unit
    return woodbury.expansion(sample.gram / unit**2, alpha, _radius(sample) / unit**2, sample.weight) / unit**2


def _kernel_gram(sample: Sample, make: Callable[[Array, float, float], Array]) -> Array:
    unit = sample.features.unit
    return make(sample.gram / unit**2, _radius(sample) / unit**2, sample.weight)


def _kernel_program(sample: Sample, outlier_fraction: float, gram: Array) -> Formulation:
    return _gram_program(
        sample,
        outlier_fraction,
        gram,
        1.0,
        lambda alpha: sample.points.T @ _expansion(sample, alpha),
        gamma=lambda alpha: _expansion(sample, alpha),
    )


def _clear_of_origin(gram: Array, nu: float) -> bool:
    """Whether the direction of the mean shows that the reduced hull is not near to the origin beside the points."""
    scores = gram.mean(axis=1)
    return mean_of_lowest(scores, nu) >= NEAR * _middle(gram) * math.sqrt(max(float(scores.mean()), 0.0)) > 0


@METHOD.node(
    "kernel_dual",
    source="equation 7",
    latex=r"\min_\alpha\ \tfrac1{2r}\alpha'\bigl(K-cKH(rI+cHKH)^{-1}HK\bigr)\alpha"
    r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1",
    condition=_unless(_no_radius),
)
def kernel_dual(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The dual in the Gram matrix alone, which may be singular; of whitened points where that has too few digits."""
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    if _seen(sample, _radius(sample)):
        gram = _kernel_gram(sample, woodbury.metric_gram)
        if _clear_of_origin(gram, _share(outlier_fraction, "outlier_fraction")):
            return _kernel_program(sample, outlier_fraction, gram)
    return _hull_program(sample, outlier_fraction, gamma=lambda alpha: _expansion(sample, alpha))


@METHOD.node(
    "kernel_dual_inverse",
    source="equation 8",
    latex=r"\min_\alpha\ \tfrac12\alpha'(rK^{-1}+cH)^{-1}\alpha"
    r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1",
    condition=_in_gram(_no_radius, _singular_gram),
)
def kernel_dual_inverse(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The same dual where the Gram matrix can be inverted."""
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    return _kernel_program(sample, outlier_fraction, _kernel_gram(sample, woodbury.metric_gram_by_inverse))


def _shaped_program(sample: Sample, outlier_fraction: float, make: Callable[[Array, float], Array]) -> Formulation:
    shape = _shape(sample)
    if isinstance(shape, str):
        raise InputError(f"uncertainty: {shape}, which this program presumes; use the primal form")
    # c multiplies K-tilde wherever the two meet, so a unit that divides the one multiplies the other.
    unit = shape.features.unit
    tilde, weight = shape.features.gram / unit**2, sample.weight * unit**2
    return _gram_program(
        sample,
        outlier_fraction,
        make(tilde, weight),
        unit**2,
        lambda alpha: shape.normal(woodbury.expansion(tilde, alpha, 1.0, weight)),
    )


@METHOD.node(
    "shaped_dual",
    source="section II-B, before equation 9",
    latex=r"\min_\alpha\ \tfrac12\alpha'\bigl(\tilde K-\tilde KH(\tfrac1cI+H\tilde KH)^{-1}H\tilde K\bigr)\alpha,"
    r"\quad\tilde K=X'\Delta^{-1}X",
    condition=_in_gram(_no_shape),
)
def shaped_dual(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The dual for 0 <= Sigma <= Sigma0 + Delta with any positive definite Delta."""
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    return _shaped_program(sample, outlier_fraction, woodbury.metric_gram_of_shape)


@METHOD.node(
    "shaped_dual_inverse",
    source="equation 9",
    latex=r"\min_\alpha\ \tfrac12\alpha'(\tilde K^{-1}+cH)^{-1}\alpha"
    r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n},\ \sum_i\alpha_i=1",
    condition=_in_gram(_singular_shape),
)
def shaped_dual_inverse(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Formulation:
    """The same dual where the Gram matrix in the metric of Delta can be inverted."""
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    return _shaped_program(sample, outlier_fraction, lambda tilde, c: woodbury.metric_gram_by_inverse(tilde, 1.0, c))


@METHOD.node(
    "libsvm",
    kind="other library",
    source="scikit-learn's OneClassSVM on the Gram matrix of equation 7",
    latex=r"\min_\beta\ \tfrac12\beta'G\beta\quad\text{s.t.}\quad0\le\beta_i\le1,\ \sum_i\beta_i=\nu n,"
    r"\quad\alpha=\beta/(\nu n)",
    condition=lambda features, outlier_fraction, uncertainty=None, covariance_weight=None, ddof=0: (
        "libsvm's offset is infinite when every multiplier is at its bound"
        if outlier_fraction == 1
        else _unless(_no_radius)(features, uncertainty, covariance_weight, ddof)
    ),
)
def libsvm(
    features: FeatureMap,
    outlier_fraction: float,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> Solution:
    """The dual of equation 7 as libsvm solves it, with its coefficients divided by their sum."""
    from sklearn.svm import OneClassSVM

    nu = libsvm_share(outlier_fraction, "outlier_fraction")
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    unit = features.unit
    if _seen(sample, r := _radius(sample)):
        gram = woodbury.metric_gram(sample.gram / unit**2, r / unit**2, sample.weight)
    else:
        rows = sample.metric().features.training
        gram = rows @ rows.T
    size = float(np.trace(gram)) / features.n
    # libsvm's tolerance is absolute in its own scale, where the multipliers are nu n times ours.
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9 * max(1.0, nu * features.n))
    fitted_by_libsvm(machine, gram / size)
    alpha = np.zeros(features.n)
    alpha[machine.support_] = machine.dual_coef_.ravel() / machine.dual_coef_.sum()
    squared, gamma = max(float(alpha @ gram @ alpha), 0.0), _expansion(sample, alpha)
    reading = _reading(sample, sample.points.T @ gamma, nu, float(np.sqrt(squared)), _middle(gram), gamma=gamma)
    return _solution(reading, squared / 2, "libsvm", int(machine.n_iter_), alpha=alpha)


# -- the arrows --------------------------------------------------------------------------------------------------------


def _to_primal(solution: Solution, features: FeatureMap) -> dict[str, Any]:
    """w and rho of a dual solution, and the slacks that they leave."""
    region = solution.region
    if not isinstance(region, HalfSpace):
        return {}
    slacks = np.maximum(region.offset - np.asarray(features.training) @ region.normal, 0.0)
    return {"w": region.normal, "rho": region.offset, "xi": slacks}


def _letters(*names: str) -> Callable[[Solution], dict[str, Any]]:
    """The same letters at the other end."""

    def values(solution: Solution) -> dict[str, Any]:
        return {name: solution.values[name] for name in names}

    return values


# Where a solver knows the objective to a share of 1e-10, it knows the plane to its root, and a little more or less of
# that in the metric of points far out. Steps between programs of one metric, which is known, agree to more digits.
PLANE = 1e-4


def _known(
    apart: float,
    features: FeatureMap,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> float:
    """What decision values may differ by where the two values miss ``apart``, if one covariance is the worst for every w."""
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    return 0.0 if sample.worst is None else one_class_svm.known_scores(apart, sample.metric().features)


METHOD.step(
    "semi_infinite",
    "robust",
    known=_known,
    claim="the largest of the objectives of all members is one convex function of w",
    equation="equation 5",
    reference="adversary",
    bound="<=",
    decision_tolerance=PLANE,
)
METHOD.step(
    "derived_counterpart",
    "robust",
    known=_known,
    claim="the set's closed-form counterpart is what conic duality derives from its membership, and the optimum -d^2/2",
    equation="equation 5",
    reference="formulation",
    bound="<=",
    objective=lambda value: -(value**2) / 2,
    # The lift has no strictly complementary solution where the worst member is a corner of the set.
    decision_tolerance=10 * PLANE,
)
METHOD.step(
    "robust_dual",
    "robust",
    known=_known,
    claim="minimum over planes and maximum over covariances may be exchanged",
    equation="equation 5",
    reference="formulation",
    bound="<=",
    objective=lambda value: -value,
    decision_tolerance=PLANE,
)
METHOD.step(
    "primal",
    "robust",
    known=_known,
    claim="one covariance is worst for every w: Sigma0 + r I for a Frobenius ball, Sigma0 + Delta for an interval",
    equation="equations 4 and 5, section II-B",
    reference="formulation",
    values=lambda solution: {**_letters("w", "xi", "rho")(solution), "u": solution.values["deviation"]},
    decision_tolerance=PLANE,
)
METHOD.step(
    "metric_primal",
    "primal",
    known=_known,
    claim="v = Sigma w turns products in the metric into plain ones",
    equation="equations 3 and 4",
    reference="formulation",
    values=_letters("w", "xi", "rho"),
)
METHOD.step(
    "dual",
    "primal",
    known=_known,
    claim="the primal's optimum is minus the dual's, with w = Sigma^-1 X alpha",
    equation="equations 4 and 6",
    reference="formulation",
    objective=lambda value: -value,
    values=_to_primal,
)
METHOD.step(
    "kernel_dual",
    "dual",
    known=_known,
    claim="Woodbury's identity gives the metric's Gram matrix from K alone",
    equation="equations 6 and 7",
    reference="formulation",
    values=_letters("alpha"),
)
METHOD.step(
    "kernel_dual_inverse",
    "kernel_dual",
    known=_known,
    claim="Woodbury's identity again, backwards: the matrix of equation 7 is the inverse of r K^-1 + c H",
    equation="equations 7 and 8",
    reference="formulation",
    values=_letters("alpha"),
)
METHOD.step(
    "shaped_dual",
    "dual",
    known=_known,
    claim="Woodbury's identity around Delta gives the metric's Gram matrix from X' Delta^-1 X",
    equation="section II-B, before equation 9",
    reference="formulation",
    values=_letters("alpha"),
)
METHOD.step(
    "shaped_dual_inverse",
    "shaped_dual",
    known=_known,
    claim="Woodbury's identity backwards, for an invertible X' Delta^-1 X",
    equation="equation 9",
    reference="formulation",
    values=_letters("alpha"),
)
METHOD.step(
    "shaped_dual_inverse",
    "kernel_dual_inverse",
    known=_known,
    claim="with Delta = r I the general model is the Frobenius ball's (erratum: the paper prints r I / (nu n))",
    equation="section II-B",
    reference="formulation",
    values=_letters("alpha"),
)
METHOD.step(
    "smo",
    "dual",
    known=_known,
    claim="pairwise steps end at the optimum of the dual",
    equation="equation 6",
    reference="algorithm",
    values=_letters("alpha"),
)
METHOD.step(
    "block_dual",
    "dual",
    known=_known,
    claim="working sets of the metric's Gram matrix, with Newton steps at the end, find the same optimum",
    equation="equations 6 and 7",
    reference="algorithm",
    values=_letters("alpha"),
)
METHOD.step(
    "libsvm",
    "kernel_dual",
    known=_known,
    claim="libsvm on the metric's Gram matrix solves the dual",
    equation="equation 7",
    reference="other library",
    values=_letters("alpha"),
)
METHOD.step(
    "mean_direction",
    "dual",
    claim="for nu = 1 the dual has the single feasible point 1/n",
    equation="equation 6",
    reference="closed form",
    values=_letters("alpha"),
)


def _no_moment_machine(outlier_fraction: float, confidence: float | None = None) -> str | None:
    if outlier_fraction == 1 and confidence == 0:
        return None
    return "the minimax probability machine of confidence 0 has this plane's direction for outlier_fraction = 1 only"


def _per_squared_distance(
    features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0
) -> float:
    """1 / m'C^{-1}m for the worst covariance C."""
    mean = np.asarray(Sample.of(features, uncertainty, covariance_weight, ddof).metric().features.training).mean(axis=0)
    return 1 / float(mean @ mean)


METHOD.step(
    "mean_direction",
    "single_class_mpm/closed_form",
    claim="with nu = 1 the plane has the direction of the minimax probability machine: w = zeta^2 a",
    equation="equation 6; Lanckriet et al. equation 14 with kappa = 0",
    reference="closed form",
    condition=_no_moment_machine,
    objective=lambda value: float(1 / np.sqrt(2 * value)),
    decision=_per_squared_distance,
)


def _uses_covariance(
    features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0
) -> str | None:
    if covariance_weight != 0:
        return "the covariance is used, so the plane is not the one-class machine's"
    return _unless(_no_radius)(features, uncertainty, covariance_weight, ddof)


def _ball_radius(
    features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0
) -> float:
    return _radius(Sample.of(features, uncertainty, covariance_weight, ddof))


def _times_radius(
    value: float, features: FeatureMap, uncertainty: Set = None, covariance_weight: Weight = None, ddof: int = 0
) -> float:
    return value * _ball_radius(features, uncertainty, covariance_weight, ddof)


METHOD.step(
    "kernel_dual",
    "one_class_svm/dual",
    claim="with c = 0 the dual is the one-class machine's divided by r",
    equation="equations 1 and 6",
    reference="formulation",
    condition=_uses_covariance,
    objective=_times_radius,
    decision=_ball_radius,
    values=_letters("alpha"),
)


# -- theorems ----------------------------------------------------------------------------------------------------------


@METHOD.property("nu-property", source="after equation 8")
def nu_property(solution: Solution, features: FeatureMap, outlier_fraction: float) -> list[Claim]:
    """Outliers are at most, and support vectors at least, the fraction nu."""
    region, alpha = solution.region, solution.values.get("alpha")
    if not isinstance(region, HalfSpace):
        return []
    scores = np.asarray(features.training) @ region.normal
    scale = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    outliers = float((scores < region.offset - 1e-6 * scale).mean())
    text, exact = "outliers are at most the fraction nu", "a count, so exact up to rounding"
    claims = [Claim(text, outliers, outlier_fraction, "<=", 1e-9, source="after equation 8", because=exact)]
    if alpha is not None:
        support = float((alpha > 1e-6 / (outlier_fraction * features.n)).mean())
        text = "support vectors are at least the fraction nu"
        claims.append(Claim(text, support, outlier_fraction, ">=", 1e-9, source="after equation 8", because=exact))
    return claims


@METHOD.property("worst distance", source="equation 5")
def worst_distance(
    solution: Solution,
    features: FeatureMap,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> list[Claim]:
    """An adversary finds the covariance in whose metric the plane is nearest to the origin, as near as is claimed."""
    region = solution.region
    if not isinstance(region, HalfSpace) or "u" not in solution.values:
        return []  # only the programs for any set have the worst deviation as a letter; the others are compared with them
    if not np.any(region.normal) or _out_of_reach(features) is not None:
        return []
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    attacked = region.offset / Adversary(sample.centred)(region.normal).value
    return [
        Claim(
            "the least distance from the origin, over all covariances of the set",
            float(solution.values["distance"]),
            attacked,
            attainment(uncertainty),
            tolerance=1e-5,
            kind="adversary",
            source="equation 5",
            because="the deviation enters squared, so the solver knows it to the root of its accuracy",
            scale=max(1e-6, abs(attacked)),
        )
    ]


@METHOD.property("scores in kernel form", source="section II-A: the normal lies in the span of the sample")
def kernel_scores(
    solution: Solution,
    features: FeatureMap,
    uncertainty: Set = None,
    covariance_weight: Weight = None,
    ddof: int = 0,
) -> list[Claim]:
    """Products with the kernel alone score points as the half-space does, and as the metric's Gram matrix says."""
    region, gamma = solution.region, solution.values.get("gamma")
    if gamma is None or not isinstance(region, HalfSpace) or not region.normal.any():
        return []  # where nothing is separated, w = 0 and scores are what a solver leaves of zero
    sample = Sample.of(features, uncertainty, covariance_weight, ddof)
    scores = sample.gram @ gamma
    size = float(np.abs(scores).max())
    metric = sample.metric()
    direct = np.asarray(metric.features.training) @ metric.inverse @ metric.normal(solution.values["alpha"])
    apart = float(np.abs(scores - sample.points @ region.normal).max()) / size
    further = float(np.abs(scores - direct).max()) / size
    return [
        Claim("K gamma = <w, x>", apart, 0.0, tolerance=1e-7, source="section II-A"),
        Claim("K gamma = X' Sigma^-1 X alpha", further, 0.0, tolerance=1e-6, kind="closed form", source="equation 7"),
    ]


# -- instances ---------------------------------------------------------------------------------------------------------


def _instance(name: str, features: FeatureMap, probe: Any, nu: float, uncertainty: Set, **more: Any) -> Instance:
    arguments = {"features": features, "outlier_fraction": nu, "uncertainty": uncertainty, **more}
    return Instance(name, arguments, features.coordinates(probe))


@METHOD.instance("blob, the paper's set")
def blob() -> Instance:
    """Three dimensions and a Frobenius ball, with the unbiased covariance."""
    data = datasets.blob(n=24, dimension=3)
    features = LinearFeatures(data.nominal)
    return _instance("blob, the paper's set", features, data.novel, 0.2, FrobeniusBall(0.3), ddof=1)


@METHOD.instance("breast cancer, gaussian kernel")
def breast_cancer() -> Instance:
    """Benign cases in the feature space of a Gaussian kernel, with an invertible Gram matrix."""
    data = datasets.breast_cancer()
    scale = data.nominal.std(axis=0)
    features = KernelFeatures(data.nominal[:60] / scale, kernels.gaussian(gamma="scale"))
    probe = data.novel[:40] / scale
    return _instance("breast cancer, gaussian kernel", features, probe, 0.1, FrobeniusBall(0.02))


@METHOD.instance("badly scaled, interval in proportion")
def badly_scaled() -> Instance:
    """Columns in units from 1e-4 to 1e4; the interval grows with each column's own variance."""
    data = datasets.badly_scaled(n=40)
    features, uncertainty = LinearFeatures(data.nominal), LoewnerInterval(0.5, "nominal")
    return _instance("badly scaled, interval in proportion", features, data.novel, 0.15, uncertainty)


@METHOD.instance("wide, fewer points than columns")
def wide() -> Instance:
    """Twelve points in thirty dimensions: the covariance is singular and the radius makes up for it."""
    data = datasets.wide()
    features = LinearFeatures(data.nominal)
    return _instance("wide, fewer points than columns", features, data.novel, 0.3, FrobeniusBall(0.5))


@METHOD.instance("duplicates, exact covariance")
def duplicates() -> Instance:
    """Repeated rows and no uncertainty."""
    data = datasets.duplicates(n=40)
    return _instance("duplicates, exact covariance", LinearFeatures(data.nominal), data.novel, 0.25, None)


@METHOD.instance("blob, no covariance")
def without_covariance() -> Instance:
    """With c = 0 the machine is the plain one-class machine."""
    data = datasets.blob(n=40)
    features = KernelFeatures(data.nominal, kernels.gaussian(gamma="scale"))
    return _instance("blob, no covariance", features, data.novel, 0.1, FrobeniusBall(0.5), covariance_weight=0.0)


@METHOD.instance("blob, every point outside")
def mean_only() -> Instance:
    """With nu = 1 the plane is the minimax probability machine's."""
    data = datasets.blob(n=20, dimension=3)
    more = {"moments": Moments.estimate(data.nominal), "confidence": 0.0}
    features = LinearFeatures(data.nominal)
    return _instance("blob, every point outside", features, data.novel, 1.0, FrobeniusBall(0.2), **more)


@METHOD.swap
def around(uncertainty: CovarianceSet) -> Instance:
    """Three dimensions, signed and correlated, for any set."""
    rng = np.random.default_rng(11)
    mixing = np.array([[1.0, 0.4, 0.0], [0.0, 0.8, -0.3], [0.2, 0.0, 0.6]])
    features = LinearFeatures(np.array([3.0, -2.0, 4.0]) + rng.standard_normal((12, 3)) @ mixing)
    # The origin, from which the plane is to be far, and points on all sides of the sample.
    probe = np.vstack([np.zeros(3), features.points.mean(axis=0) + 3 * rng.standard_normal((40, 3))])
    return _instance(f"{uncertainty!r}", features, probe, 0.3, uncertainty)
