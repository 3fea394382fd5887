r"""The unit in which a machine with a maximal margin is posed to a solver.

The optimum is half the squared distance of a reduced hull from the origin, and a solver's tolerances are absolute. Points of
both labels that lie close to each other, reflected, have a hull that all but holds the origin: its distance is what the program
is about, and beside the points' own length its square is below every tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from convexnovelty.algorithms import polish
from convexnovelty.algorithms.block_dual import solve_dual
from convexnovelty.algorithms.smo import SMOResult, smo
from convexnovelty.errors import IndefiniteError, SolverError
from convexnovelty.kernels import Linear
from convexnovelty.modelling import mean_of_lowest, proves_separation
from convexnovelty.validation import Array

__all__ = ["NEAR", "margin_unit", "nearest"]

# Of the points' length, the distance from the origin down to which half its square leaves a solver all digits that are asked for.
NEAR = 1 / 30

# Of the squared distance, the gap above which the nearest point is looked for again, and the tolerance with which it is.
COARSE, FINEST = 1e-9, 1e-14

# Where no Gram matrix is formed, columns of it are computed as they are needed, to these tolerances, of the longest point and of
# what tells the scores apart.
OF_LONGEST, OF_SCORES = 1e-6, 1e-6


def margin_unit(
    points: Array,
    unit: float,
    doubts: Array | Callable[[Array], Array],
    nu: float,
    shares: Array,
    *,
    doubt: float | None = None,
    moved: float = 0.0,
) -> float:
    r"""The length of the points, or the distance of their reduced hull from the origin where it is far smaller and proved not to be zero.

    Far larger it is where a few long points make up the hull: what a mean of lowest scores claims of it is the unit then.

    Parameters
    ----------
    points : (n, r) what the normal is a combination of, reflected and moved as the program has them.
    unit : their length.
    doubts : (n,) what the score of each is not known to, or a function of the normal to it.
    nu, shares : the outlier fraction and the points' shares of the sample.
    doubt, moved : those of :func:`~convexnovelty.algorithms.polish.polished`, which looks where products of points do not tell the
        hull from the origin; None looks no further.
    """
    rows, parts = np.asarray(points)[shares > 0], shares[shares > 0]
    mean = rows.T @ parts
    length = float(np.linalg.norm(mean))
    # No direction claims more than the distance: that of the mean settles most samples without a search.
    claimed = mean_of_lowest(rows @ mean, nu, parts) / length if length > 0 else 0.0
    if claimed >= NEAR * unit:
        return claimed if claimed * NEAR > unit else unit
    try:
        alpha = _multipliers(rows, parts / nu)
    except (IndefiniteError, SolverError):  # of rounding: the length of the points is as good as any other
        alpha = parts
    normal = rows.T @ alpha
    unknown = (doubts(normal) if callable(doubts) else doubts)[shares > 0]
    if doubt is not None and not proves_separation(rows @ normal, unknown, nu, parts):
        found = polish.polished(rows, parts / nu, start=alpha, doubt=doubt, moved=moved)
        normal, unknown = (normal, unknown) if found is None else (found.normal, found.doubts)
    distance = float(np.linalg.norm(normal))
    proved = proves_separation(rows @ normal, unknown, nu, parts)
    return distance if proved and distance < NEAR * unit else unit


def _multipliers(rows: Array, upper: Array) -> Array:
    if len(rows) <= polish.GRAM_LIMIT:
        return nearest(rows @ rows.T, upper, semidefinite=True).multipliers
    return solve_dual(rows, Linear(), upper=upper, tolerance=OF_LONGEST, of_scores=OF_SCORES).multipliers


def nearest(gram: Array, upper: Array | float, *, semidefinite: bool = False) -> SMOResult:
    """The point of a reduced hull that is nearest to the origin, by pair steps to a gap that is small beside its squared length.

    The tolerance of pair steps is a share of k(x, x), of which that may be less. Where rounding lets them come no nearer, as where
    the hull holds the origin, the point is the one that they had.
    """
    found = smo(gram, upper=upper, semidefinite=semidefinite)
    if found.violation <= COARSE * 2 * found.objective:
        return found
    try:
        finer = smo(gram, upper=upper, tolerance=FINEST, start=found.multipliers, semidefinite=True)
    except SolverError:
        return found
    return replace(finer, iterations=found.iterations + finer.iterations)
