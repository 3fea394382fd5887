r"""Vector quantization: few points of a sample, so that every point lies within a radius of one of them.

Schölkopf and Smola (2001), chapter 8, end of section 8.6, equations 8.39 and 8.40: the kernel says whether two points
lie within the radius, and a linear program finds nonnegative weights that reach every point.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from convexnovelty import datasets, validation
from convexnovelty._lazy import cp
from convexnovelty.codebooks import Codebook
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError, SolverError
from convexnovelty.formulation import Formulation, Reading, Solution, Tunable
from convexnovelty.point_distances import Distances, Metric, distances, fitted
from convexnovelty.regions import Guarantee
from convexnovelty.validation import Array, nonnegative, positive

METHOD = Method(
    "vector_quantization",
    title="Kernel-based vector quantization",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="A small part of the sample that has every point within a radius, by linear programming.",
    letters=("D6",),
)

# Weights above this one belong to codebook vectors; what every point needs in reach is a weight of one in all.
WEIGHT = 1e-6
# Share of the largest distance up to which that of a point from itself is rounding.
ROUNDING = 1e-6


def vector_quantization(
    points: Any, radius: float, slack_penalty: float | None = None, metric: Metric = "euclidean"
) -> Formulation:
    r"""The linear program of kernel-based vector quantization.

    Parameters
    ----------
    points : (n, p) points.
    radius : the paper's R, at least 0, in units of the metric.
    slack_penalty : the price C of leaving a point uncovered. None covers every point, and so does any price of 1 or
        more, since a point can always be covered by itself at weight 1.
    metric : a name that scipy's ``cdist`` knows, or a function of two vectors. The variances of "seuclidean" and the
        covariance of "mahalanobis" are those of ``points``, with divisor n - 1, for new points too. Every point has to lie
        within the radius from itself.

    Returns
    -------
    A formulation. Its region is a :class:`~convexnovelty.codebooks.Codebook`: the points within the radius of one of
    its ``vectors``. The objective is the sum of the weights, plus the priced slacks; without slacks it is a lower bound
    on the size of every codebook that covers the sample. ``slack_penalty`` can be set without compiling again.

    Notes
    -----
    An interior-point solver spreads the weights over all that are optimal. The codebook is therefore thinned out:
    vectors are dropped as long as the points that were covered stay covered.

    Points at the radius lie within it. So does a distance that exceeds it by no more than rounding of the coordinates can
    do to it, in the metric's own unit, and by no more than 1e-4 of it; where rounding is more than that, a warning says so,
    and the numbers given decide. A function of one's own is asked how it answers to such a rounding; where it jumps, and at
    radius 0, it is taken at its word.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.vector_quantization(np.array([[0.0], [1.0], [2.0], [7.0]]), radius=1.0).solve()
    >>> round(solution.objective, 6), sorted(solution.region.vectors.ravel().tolist())
    (2.0, [1.0, 7.0])
    """
    return cover(points, radius, slack_penalty, metric)


# -- what several nodes share ------------------------------------------------------------------------------------------


def _sample(points: Any, radius: Any, metric: Metric) -> tuple[Array, float, sp.csr_array, Metric]:
    """Points, radius, the kernel 8.39 as a sparse matrix of zeros and ones, and the metric with what it estimates."""
    sample = np.array(validation.squarable(validation.points(points, "points"), "points"))
    reach = nonnegative(radius, "radius")
    metric = fitted(metric, sample)
    apart = distances(sample, sample, metric, reach)
    _warn_of_drowned(apart)
    _require_reflexive(apart, metric)
    # Points on the sphere belong to the ball: rounding of their differences must not throw them out.
    near = apart.within
    np.fill_diagonal(near, True)
    return sample, reach, sp.csr_array(near.astype(float)), metric


def _warn_of_drowned(apart: Distances) -> None:
    """Warn where the radius is so small beside the points that rounding decides who lies within it."""
    if pairs := int(apart.drowned.sum()):
        share = float((apart.found[apart.drowned] / apart.radius - 1).max())
        warnings.warn(
            f"radius: {apart.radius:.6g} was found, and {pairs} distances of points exceed it by up to {share:.0e} of itself, "
            "which is no more than rounding of their coordinates; they count as farther, as the numbers given say. Subtract "
            "what the points have in common before they are rounded, or give a radius that is not near to their distances",
            UserWarning,
            stacklevel=2,
        )


def _require_reflexive(apart: Distances, metric: Metric) -> None:
    """Refuse a dissimilarity by which a point lies beyond the radius from itself: the program has it cover itself."""
    own = apart.found.diagonal()
    away = np.flatnonzero(~apart.within.diagonal() & (own > ROUNDING * float(apart.found.max(initial=0.0))))
    if away.size:
        raise InputError(
            f"metric: {metric!r} takes row {away[0]} of points to lie at {own[away[0]]:.6g} from itself, beyond the radius of "
            f"{apart.radius:.6g}, so that nothing covers it; leave such rows out, or give a metric that is zero from a point to itself"
        )


def _price(value: Any, name: str) -> float:
    return positive(value, name)


def _thinned(kernel: sp.csr_array, a: Array) -> NDArray[np.intp]:
    """Few of the rows with weight that cover what all of them cover: the fewer of two ways to choose them."""
    rows = np.flatnonzero(a > WEIGHT)
    near = kernel[:, rows].toarray() > 0
    light_first = np.argsort(a[rows], kind="stable")
    # The one way: light weights are dropped for as long as nothing is uncovered by it.
    dropped, counts = set(range(rows.size)), near.sum(axis=1)
    for c in light_first:
        if (counts[near[:, c]] > 1).all():
            counts = counts - near[:, c]
            dropped.discard(int(c))
    # The other: the row that covers most of what is left, the heavier of equals.
    added, left = [], near.any(axis=1)
    while left.any():
        gains = near[left].sum(axis=0)
        best = next(c for c in light_first[::-1] if gains[c] == gains.max())
        added.append(int(best))
        left &= ~near[:, best]
    chosen = sorted(dropped) if len(dropped) <= len(added) else sorted(added)
    return np.asarray(rows[np.array(chosen, dtype=int)])


def _reading(
    sample: Array,
    radius: float,
    metric: Metric,
    kernel: sp.csr_array,
    a: Array,
    bound: float = math.inf,
    *,
    thin: bool = True,
) -> Reading:
    rows = _thinned(kernel, a) if thin else np.flatnonzero(a > WEIGHT)
    region = Codebook(sample[rows], radius, metric, rows)
    covered = int((np.asarray(kernel[:, rows].sum(axis=1)).ravel() > 0).sum())
    said = f"{covered} of {len(sample)} training points lie within {radius:.6g} of one of {rows.size} codebook vectors"
    if covered == len(sample) and math.isfinite(bound):
        said += f", and fewer than {math.ceil(bound - 1e-6)} codebook points of the sample cannot cover them all"
    return Reading(region, Guarantee(said, bound=1 - covered / len(sample)))


# -- the programs ------------------------------------------------------------------------------------------------------


def _seen_price(slack_penalty: float) -> float:
    """The price in a program of its own: a point covers itself for 1, and a price of 1e7 leaves few digits of a sum of ones."""
    return min(slack_penalty, 2.0)


@METHOD.node(
    "cover",
    source="equations 8.39 and 8.40, by linear programming as in section 7.7",
    latex=(
        r"\min_{a,\xi}\ \sum_ia_i+C\sum_i\xi_i\quad\text{s.t.}\quad\sum_jk(x_i,x_j)a_j\ge1-\xi_i,"
        r"\ a\ge0,\ \xi\ge0,\quad k(x,x')=1_{d(x,x')\le R}"
    ),
)
def cover(points: Any, radius: float, slack_penalty: float | None = None, metric: Metric = "euclidean") -> Formulation:
    """Weights of least sum that reach every point, or all but those whose slack is paid for."""
    sample, reach, kernel, metric = _sample(points, radius, metric)
    n = len(sample)
    a = cp.Variable(n, nonneg=True)
    if slack_penalty is None:
        return Formulation(
            cp.Problem(cp.Minimize(cp.sum(a)), [cp.Constant(kernel) @ a >= 1]),
            {"a": a},
            read=lambda values: _reading(sample, reach, metric, kernel, values["a"], float(values["a"].sum())),
            composed=lambda values: _reading(sample, reach, metric, kernel, values["a"], thin=False),
        )
    price, xi = Tunable("slack_penalty", slack_penalty, _price), cp.Variable(n, nonneg=True)
    C = price.parameter(_seen_price, float, nonneg=True)
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum(a) + C * cp.sum(xi)), [cp.Constant(kernel) @ a >= 1 - xi]),
        {"a": a, "xi": xi},
        read=lambda values: _reading(sample, reach, metric, kernel, values["a"]),
        composed=lambda values: _reading(sample, reach, metric, kernel, values["a"], thin=False),
        tunables={"slack_penalty": price},
    )


@METHOD.node(
    "packing",
    source="the dual of the covering program",
    latex=r"\max_b\ \sum_ib_i\quad\text{s.t.}\quad\sum_ik(x_i,x_j)b_i\le1,\ 0\le b\le C",
)
def packing(
    points: Any, radius: float, slack_penalty: float | None = None, metric: Metric = "euclidean"
) -> Formulation:
    """Weights of greatest sum of which no ball of the radius around a point holds more than one."""
    sample, _, kernel, _ = _sample(points, radius, metric)
    b = cp.Variable(len(sample), nonneg=True)
    constraints = [cp.Constant(kernel.T) @ b <= 1]
    tunables = {}
    if slack_penalty is not None:
        tunables["slack_penalty"] = Tunable("slack_penalty", slack_penalty, _price)
        constraints.append(b <= tunables["slack_penalty"].parameter(_seen_price, float, nonneg=True))
    return Formulation(cp.Problem(cp.Maximize(cp.sum(b)), constraints), {"b": b}, tunables=tunables)


# -- its equivalents ---------------------------------------------------------------------------------------------------


def _solution(
    points: Any, radius: float, metric: Metric, objective: float, a: Array, xi: Array, how: str, iterations: int = 0
) -> Solution:
    sample, reach, kernel, metric = _sample(points, radius, metric)
    reading = _reading(sample, reach, metric, kernel, a, objective if not xi.any() else math.inf)
    values = {"a": a, "xi": xi}
    return Solution(objective, values, reading.region, reading.guarantee, solver=how, iterations=iterations)


@METHOD.node(
    "simplex",
    kind="other library",
    source="equation 8.40, by the simplex method of scipy's linprog (HiGHS)",
    latex=r"a\ \text{at a vertex of}\ \{a\ge0:Ka\ge1-\xi\}",
)
def simplex(points: Any, radius: float, slack_penalty: float | None = None, metric: Metric = "euclidean") -> Solution:
    """A vertex of the covering program, which has as few weights as it has constraints that hold with equality."""
    sample, _, kernel, _ = _sample(points, radius, metric)
    n = len(sample)
    price = 1.0 if slack_penalty is None else _price(slack_penalty, "slack_penalty")
    matrix = -kernel if slack_penalty is None else sp.hstack([-kernel, -sp.eye_array(n)], format="csr")
    cost = np.ones(n) if slack_penalty is None else np.concatenate([np.ones(n), np.full(n, price)])
    found = cast(Any, linprog)(cost, A_ub=matrix, b_ub=-np.ones(n), bounds=(0, None), method="highs-ds")
    if found.status != 0:
        raise SolverError(f"vector_quantization: linprog ended with {found.message}", str(found.status))
    a, xi = found.x[:n], found.x[n:] if slack_penalty is not None else np.zeros(n)
    return _solution(points, radius, metric, float(found.fun), a, xi, "HiGHS (simplex)", int(found.nit))


def _not_on_a_line(points: Any, slack_penalty: float | None = None, metric: Metric = "euclidean") -> str | None:
    if metric not in ("euclidean", "cityblock", "chebyshev"):
        return f"balls of the metric {metric!r} need not be intervals"
    if slack_penalty is not None:
        return "with slacks the points that are left out have to be chosen, too"
    p = validation.points(points, "points").shape[1]
    return None if p == 1 else f"the points have {p} coordinates, and a sweep needs a line"


@METHOD.node(
    "sweep",
    kind="algorithm",
    source="equation 8.40 on a line, where the matrix of the program is one of intervals",
    latex=r"x_{(1)}\ \text{uncovered}:\quad\text{take}\ \max\{x_j:x_j\le x_{(1)}+R\}",
    condition=_not_on_a_line,
)
def sweep(points: Any, radius: float, slack_penalty: float | None = None, metric: Metric = "euclidean") -> Solution:
    """From left to right: the point farthest to the right that still covers the leftmost point not covered yet."""
    sample, _, kernel, _ = _sample(points, radius, metric)
    near = kernel.toarray() > 0
    order = np.argsort(sample[:, 0], kind="stable")
    a, covered = np.zeros(len(sample)), np.zeros(len(sample), dtype=bool)
    for i in order:
        if not covered[i]:
            chosen = order[np.flatnonzero(near[i, order])[-1]]
            a[chosen] = 1.0
            covered |= near[chosen]
    return _solution(points, radius, metric, float(a.sum()), a, np.zeros(len(sample)), "sweep", int(a.sum()))


# -- the arrows --------------------------------------------------------------------------------------------------------

_MANY = "the program has many solutions, and each end may have found another codebook; its coverage is a claim"


def _weights(solution: Solution, slack_penalty: float | None = None) -> dict[str, Any]:
    names = ("a",) if slack_penalty is None else ("a", "xi")
    return {name: solution.values[name] for name in names}


METHOD.step(
    "packing",
    "cover",
    claim="covering and packing have one value: strong duality of linear programs",
    equation="equation 8.40",
    reference="formulation",
    decision=_MANY,
)
METHOD.step(
    "simplex",
    "cover",
    claim="a vertex found by the simplex method has the value that an interior-point method finds",
    equation="equation 8.40",
    reference="other library",
    decision=_MANY,
    values=_weights,
)
METHOD.step(
    "sweep",
    "cover",
    claim="on a line the program has whole weights, and a sweep finds a smallest codebook",
    equation="equation 8.40 with a matrix of intervals",
    reference="algorithm",
    decision=_MANY,
    values=_weights,
)


@METHOD.property("coverage", source="equations 8.39 and 8.40")
def coverage(
    solution: Solution, points: Any, radius: float, slack_penalty: float | None = None, metric: Metric = "euclidean"
) -> list[Claim]:
    """The codebook covers every point within the radius; its size lies between the program's value and a multiple."""
    region = solution.region
    if not isinstance(region, Codebook):
        return []
    sample, _, kernel, _ = _sample(points, radius, metric)
    values = region.decision_values(sample) + region.rounding(sample)
    scale = max(radius, float(np.abs(values[np.isfinite(values)]).max(initial=0.0)), np.finfo(float).tiny)
    exact = "a count, so exact up to rounding"
    if slack_penalty is not None:
        slacks = float(np.sum(solution.values["xi"]))
        missed = int((values < -1e-9 * scale).sum())
        text = "points not covered are at most the sum of the slacks"
        return [Claim(text, missed, slacks, "<=", 1e-5, source="equation 8.40 with slacks", because="solver")]
    size = float(region.rows.size)
    claims = [
        Claim("every point lies within the radius", float(-values.min()) / scale, 0.0, "<=", 1e-9, source="8.40"),
        Claim("no codebook is smaller than the value", size, solution.objective, ">=", 1e-6, source="weak duality"),
    ]
    if len(sample) <= 150:
        smallest = smallest_codebook(kernel)
        text = "the value is at most the size of the smallest codebook"
        claims.append(Claim(text, solution.objective, float(smallest), "<=", kind="algorithm", source="8.40"))
        # Chvátal (1979): a greedy cover has at most H(d) times the value, for balls of at most d points.
        most = int(np.asarray(kernel.sum(axis=1)).max())
        bound = solution.objective * sum(1 / j for j in range(1, most + 1))
        text = "the smallest codebook is at most H(d) times the value"
        claims.append(Claim(text, float(smallest), bound, "<=", kind="theory", source="Chvátal (1979)", because=exact))
    return claims


def smallest_codebook(kernel: sp.csr_array) -> int:
    """The size of the smallest codebook, by mixed-integer programming: the integrality that 8.40 leaves out."""
    n = kernel.shape[0]
    found = milp(
        np.ones(n), constraints=LinearConstraint(kernel, 1.0), integrality=np.ones(n, dtype=int), bounds=Bounds(0, 1)
    )
    if found.status != 0:
        raise SolverError(f"smallest_codebook: milp ended with {found.message}", str(found.status))
    return round(float(found.fun))


def _instance(name: str, points: Any, radius: float, slack_penalty: float | None, probe: Any) -> Instance:
    return Instance(name, {"points": points, "radius": radius, "slack_penalty": slack_penalty}, probe)


@METHOD.instance("digits")
def digits() -> Instance:
    """Images of one digit, in 64 dimensions."""
    data = datasets.digits(digit=0)
    return _instance("digits", data.nominal[:100], 18.0, None, data.novel[:40])


@METHOD.instance("a line, with duplicates")
def line() -> Instance:
    """Points on a line, some of them twice."""
    data = datasets.blob(n=60, dimension=1)
    return _instance("a line, with duplicates", np.vstack([data.nominal, data.nominal[:20]]), 0.7, None, data.novel)


@METHOD.instance("units from 1e-4 to 1e4, with slacks")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart; a point that costs more than 0.4 to reach is left out."""
    data = datasets.badly_scaled(n=60)
    radius = 0.25 * float(np.ptp(data.nominal[:, -1]))
    return _instance("units from 1e-4 to 1e4, with slacks", data.nominal, radius, 0.4, data.novel)


@METHOD.instance("fewer points than columns, radius zero")
def wide() -> Instance:
    """Every point is its own codebook vector, and copies of it need none."""
    data = datasets.wide(n=8, dimension=20)
    points = np.repeat(data.nominal, 2, axis=0)
    return _instance("fewer points than columns, radius zero", points, 0.0, None, data.novel)
