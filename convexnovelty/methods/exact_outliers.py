r"""The combinatorial problem behind the one-class machine: leave out exactly k points, and the margin is hard.

Schölkopf and Smola (2001), chapter 8, equation 8.38. The one-class machine leaves out at most a fraction nu of the
points and is a convex program; to choose the k points best is a mixed-integer program, which is for small samples.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.few_violations import (
    FewViolations,
    Rows,
    Solve,
    enumerate_choices,
    greedy,
    hitting_sets,
    support_tree,
)
from convexnovelty.algorithms.polish import polished_hard_margin
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import boundary_tie, check_features, product_doubt, span_gram, terms_apart
from convexnovelty.regions import TIE_TOLERANCE, Guarantee, HalfSpace, spread
from convexnovelty.validation import Array, integer

METHOD = Method(
    "exact_outliers",
    title="One-class machine with an exact number of outliers",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The largest margin to the origin once the best k points are left out: a mixed-integer program.",
    letters=("D7",),
)

# Of the unit of the features, the least distance between origin and hull at which a solver still tells them apart.
SEPARABLE = 1e-5

# Multipliers above this share of their sum are those of points that support the hull's nearest point.
SUPPORTING = 1e-9

# Solvers that take the mixed-integer quadratic program as it is.
DIRECT = ("SCIP", "GUROBI", "MOSEK", "CPLEX", "XPRESS", "COPT")

ENUMERABLE = 2000


def exact_outliers(features: FeatureMap, outliers: int) -> Formulation:
    r"""The hyperplane with the largest margin to the origin that leaves out exactly ``outliers`` points.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points, a few dozen at most.
    outliers : how many points are left out, from 0 to n - 1; the paper's :math:`\nu n`.

    Returns
    -------
    A mixed-integer quadratic program, with a binary variable z for each point. ``solve()`` needs no solver of such
    programs: HiGHS, a solver of mixed-integer linear programs, chooses points that hit every set of support vectors
    found so far, and the solver that one names computes the margin. A solver that takes the program as it is (SCIP,
    Gurobi, MOSEK and others) gets it. The region is :math:`\langle w, \Phi(x)\rangle \ge 1`, the objective
    :math:`\frac12\|w\|^2`.

    Raises
    ------
    InputError : for a number of outliers that is not whole, negative or not below n.
    InfeasibleError : on solving, where the hull holds the origin whichever points are left out.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.exact_outliers(cn.LinearFeatures(np.array([[0.5], [2.0], [4.0]])), outliers=1).solve()
    >>> round(solution.objective, 6), solution.region.contains(np.array([[1.9], [2.1]]))
    (0.125, array([False,  True]))
    """
    check_features(features)
    return mixed_integer(features, outliers)


# -- what several nodes share ------------------------------------------------------------------------------------------


def _check(features: FeatureMap, outliers: Any) -> int:
    k = integer(outliers, "outliers", 0)
    if k >= features.n:
        raise InputError(f"outliers: {k} was found for {features.n} points; give a number below {features.n}")
    return k


def _margin(features: FeatureMap) -> Solve:
    """From the points that are kept to half the squared length of w, and the points that support it."""
    gram = span_gram(features) / features.middle**2

    def solve(kept: Rows) -> tuple[float, Rows, Array]:
        found = smo(gram[np.ix_(kept, kept)])
        support = np.flatnonzero(found.multipliers > SUPPORTING)
        squared = 2 * found.objective
        # Half |w|^2 = 1 / (2 d^2) for the distance d of the hull from the origin.
        value = 1 / (2 * squared) if squared > SEPARABLE**2 else np.inf
        return value, kept[support], found.multipliers[support]

    return solve


def _infeasible(k: int) -> InfeasibleError:
    return InfeasibleError(
        f"outliers: {k} was found, and the convex hull holds the origin, or comes within {SEPARABLE:.0e} of the size of its "
        f"points to it, whichever {k} points are left out; leave out more, use a Gaussian kernel, or use cn.one_class_svm, whose offset is free",
        limit=None,
    )


def _reading(features: FeatureMap, normal: Array, k: int, kept: Any) -> Reading:
    """The half-space of the points that are kept, a mask (n,), from the optimum that a normal lies near to."""
    phi = np.asarray(features.training)
    found = polished_hard_margin(phi, kept, normal, product_doubt(features))
    normal, doubts = (normal, None) if found is None else found
    scores = phi @ normal
    if doubts is None:
        # At this length no point that is kept falls short, which no difference of scores tells.
        least = float(scores[kept].min())
        normal, scores = (normal / least, scores / least) if least > 0 else (normal, scores)
        scale = spread(scores, level=1.0, apart=terms_apart(phi, normal, scores, 1.0))
    else:
        scale = boundary_tie(scores, 1.0, doubts) / TIE_TOLERANCE
    region = HalfSpace(normal, 1.0, scale=scale)
    outside = int((~region.contains(phi)).sum())
    said = f"{outside} of {features.n} training points lie outside, and {k} were allowed to (equation 8.38)"
    letters = {} if found is None else {"w": normal}
    return Reading(region, Guarantee(said, bound=k / features.n), letters=letters, settled=found is not None)


def _solution(features: FeatureMap, k: int, found: FewViolations, how: str) -> Solution:
    if not np.isfinite(found.value):
        raise _infeasible(k)
    kept = np.setdiff1d(np.arange(features.n), found.left_out)
    phi = np.asarray(features.training)[kept] / features.middle
    nearest = smo(phi @ phi.T)
    normal = (phi.T @ nearest.multipliers) / (2 * nearest.objective) / features.middle
    z = np.zeros(features.n)
    z[found.left_out] = 1.0
    reading = _reading(features, normal, k, z == 0)
    return Solution(
        float(normal @ normal) / 2,
        {"w": normal, "z": z},
        reading.region,
        reading.guarantee,
        solver=how,
        iterations=found.solved,
    )


# -- the program -------------------------------------------------------------------------------------------------------


class ExactOutliers(Formulation):
    """The mixed-integer program, with a way to solve it that needs no mixed-integer quadratic solver."""

    features: FeatureMap
    outliers: int

    def solve(self, solver: str | None = None, **options: Any) -> Solution:
        """Solve by the named solver if it takes the program as it is; else HiGHS chooses and the solver computes."""
        if solver is not None and solver.upper() in DIRECT:
            return super().solve(solver, **options)
        began = time.perf_counter()
        found = self._choice()
        chosen = self._fixed(found).solve(solver, **options)
        z = np.zeros(self.features.n)
        z[found.left_out] = 1.0
        return replace(
            chosen,
            values={**chosen.values, "z": z},
            time=time.perf_counter() - began,
            solver=f"HiGHS and {chosen.solver}",
            iterations=found.solved,
        )

    def subject_to(self, *constraints: Any) -> Formulation:
        """Raise InputError: the constants M of the program are large enough for its own optimum only."""
        raise self._alone("subject_to")

    def plus(self, term: Any) -> Formulation:
        """Raise InputError, as :meth:`subject_to` does."""
        raise self._alone("plus")

    def _alone(self, what: str) -> InputError:
        return InputError(
            f"{what}: the constants M of {self.name} let points lie where an optimum of equation 8.38 wants them, and "
            "not where that of a further constraint or term would; write the program with constants of your own, or use "
            "cn.one_class_svm, which takes both"
        )

    def dual(self) -> Formulation:
        """The conic dual of what is left when the best z is fixed; the whole program has no strong dual."""
        return self._fixed(self._choice()).dual()

    def _choice(self) -> FewViolations:
        found = hitting_sets(_margin(self.features), self.features.n, self.outliers)
        if not np.isfinite(found.value):
            raise _infeasible(self.outliers)
        return found

    def _fixed(self, found: FewViolations) -> Formulation:
        """The quadratic program over the points that are kept."""
        kept = np.setdiff1d(np.arange(self.features.n), found.left_out)
        unit = self.features.middle
        phi = np.asarray(self.features.training)[kept] / unit
        w = cp.Variable(phi.shape[1])
        return Formulation(
            cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [cp.Constant(phi) @ w >= 1]),
            {"w": Quantity(w, 1 / unit)},
            name=f"{self.name} with z fixed",
            source=self.source,
            objective_unit=unit**-2,
            read=lambda values: _reading(
                self.features, values["w"], self.outliers, np.isin(np.arange(self.features.n), kept)
            ),
        )


@METHOD.node(
    "mixed_integer",
    source="equation 8.38",
    latex=(
        r"\min_{w,z}\ \tfrac12\|w\|^2\quad\text{s.t.}\quad\langle w,\Phi(x_i)\rangle\ge1-M_iz_i,"
        r"\ z\in\{0,1\}^n,\ \sum_iz_i=\nu n"
    ),
)
def mixed_integer(features: FeatureMap, outliers: int) -> Formulation:
    """A binary variable for each point says whether it may lie anywhere; M is as large as an optimal w needs it."""
    k = _check(features, outliers)
    phi, unit = np.asarray(features.training) / features.middle, features.middle
    w, z = cp.Variable(phi.shape[1]), cp.Variable(features.n, boolean=True)
    made = ExactOutliers(
        cp.Problem(
            cp.Minimize(cp.sum_squares(w) / 2),
            [cp.Constant(phi) @ w >= 1 - cp.multiply(_relaxation(features, k), z), cp.sum(z) == k],
        ),
        {"w": Quantity(w, 1 / unit), "z": Quantity(z)},
        objective_unit=unit**-2,
        read=lambda values: _reading(features, values["w"], k, values["z"] < 0.5),
        diagnose=lambda: _infeasible(k),
    )
    made.features, made.outliers = features, k
    return made


def _relaxation(features: FeatureMap, k: int) -> Array:
    r"""The constants M: no optimal w has :math:`\langle w, x_i\rangle` below :math:`1 - M_i`."""
    gram = span_gram(features) / features.middle**2
    if (gram >= 0).all():
        # w is a combination of the points with weights that are not negative, and so are all products.
        return np.ones(features.n)
    bound = greedy(_margin(features), features.n, k).value
    if not np.isfinite(bound):
        bound = support_tree(_margin(features), features.n, k).value
    length = np.sqrt(2 * bound) if np.isfinite(bound) else 1 / SEPARABLE
    return np.asarray(1 + length * np.sqrt(np.diag(gram)))


# -- its equivalents ---------------------------------------------------------------------------------------------------


@METHOD.node(
    "enumeration",
    kind="algorithm",
    source="equation 8.38, every choice",
    latex=r"\min_{|OL|=\nu n}\ \frac1{2d_{OL}^2},\quad d_{OL}=\min\{\|p\|:p\in\mathrm{conv}\{x_i:i\notin OL\}\}",
    condition=lambda features, outliers: (
        None
        if comb(features.n, outliers) <= ENUMERABLE
        else f"{comb(features.n, outliers)} choices are too many to try them all"
    ),
)
def enumeration(features: FeatureMap, outliers: int) -> Solution:
    """All choices of points to be left out, each with the hard margin of the others."""
    k = _check(features, outliers)
    return _solution(features, k, enumerate_choices(_margin(features), features.n, k), "enumeration")


@METHOD.node(
    "tree",
    kind="algorithm",
    source="equation 8.38, by the support vectors",
    latex=r"v(OL)<v(OL')\ \Rightarrow\ OL\cap SV(OL')\ne\emptyset",
)
def tree(features: FeatureMap, outliers: int) -> Solution:
    """Only a choice that leaves out a support vector can be better: branch over those, k levels deep."""
    k = _check(features, outliers)
    return _solution(features, k, support_tree(_margin(features), features.n, k), "search tree")


def _several(source: Solution, target: Solution) -> str | None:
    """Why the regions of two optima may differ, or None where these leave out the same points."""
    same = np.array_equal(source.values["z"] > 0.5, target.values["z"] > 0.5)
    return None if same else "the two ends leave out other points, at the same value"


METHOD.step(
    "enumeration",
    "mixed_integer",
    claim="the mixed-integer program finds the best of all choices",
    equation="equation 8.38",
    reference="algorithm",
    several=_several,
    values=lambda solution: {"w": solution.values["w"], "z": solution.values["z"]},
)
METHOD.step(
    "tree",
    "mixed_integer",
    claim="branching over support vectors alone finds it, too",
    equation="equation 8.38",
    reference="algorithm",
    several=_several,
    values=lambda solution: {"w": solution.values["w"], "z": solution.values["z"]},
)


@METHOD.property("convex relaxation", source="section 8.6, around equation 8.38")
def relaxation(solution: Solution, features: FeatureMap, outliers: int) -> list[Claim]:
    """The one-class machine at nu = k/n, brought to an offset of one, leaves out at most k points, not the best."""
    claims = []
    if isinstance(solution.region, HalfSpace):
        scores = np.asarray(features.training) @ solution.region.normal
        outside = int((scores < 1 - 1e-6 * max(1.0, float(np.abs(scores).max()))).sum())
        claims.append(Claim("no more points lie outside than allowed", outside, outliers, "<=", 1e-9, source="8.38"))
    if outliers > 0:
        soft = one_class_svm.sequential(features, outliers / features.n)
        if isinstance(soft.region, HalfSpace) and soft.region.offset > SEPARABLE**2 * features.middle**2:
            bound = soft.objective / soft.region.offset**2
            ratio = solution.objective / bound
            text = "the convex one-class machine has no larger margin"
            claims.append(Claim(text, ratio, 1.0, "<=", kind="algorithm", source="section 8.6"))
    return claims


def _instance(name: str, features: FeatureMap, outliers: int, probe: Any) -> Instance:
    return Instance(name, {"features": features, "outliers": outliers}, features.coordinates(probe))


@METHOD.instance("digits, gaussian kernel, two of twenty")
def digits() -> Instance:
    """A few images of one digit, of which two are left out."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(data.nominal[:20], kernels.gaussian(gamma=1e-4))
    return _instance("digits, gaussian kernel, two of twenty", features, 2, data.novel[:40])


@METHOD.instance("blob, linear kernel, three of sixteen")
def blob() -> Instance:
    """A cloud that the origin would lie close to, were it not for three points."""
    data = datasets.blob(n=16)
    features = LinearFeatures(np.vstack([data.nominal[:14], 0.1 * data.nominal[14:]]))
    return _instance("blob, linear kernel, three of sixteen", features, 3, data.novel)


@METHOD.instance("units from 1e-4 to 1e4")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart."""
    data = datasets.badly_scaled(n=18)
    moved = np.abs(data.nominal) + np.abs(data.nominal).mean(axis=0)
    return _instance("units from 1e-4 to 1e4", LinearFeatures(moved), 2, data.novel)


@METHOD.instance("duplicates, fewer points than columns")
def repeated() -> Instance:
    """Every point twice, so that both copies have to go."""
    data = datasets.wide(n=7, dimension=20)
    features = LinearFeatures(np.repeat(data.nominal, 2, axis=0))
    return _instance("duplicates, fewer points than columns", features, 2, data.novel)
