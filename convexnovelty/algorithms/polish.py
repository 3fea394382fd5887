r"""The optimum of a machine with a box of multipliers, known to rounding: from a solver's point to the face that it lies on.

.. math:: \min_a \tfrac12\|Z'a\|^2 + p'a \quad\text{s.t.}\quad 0 \le a \le C,\; \sum_i a_i = 1

has one optimal :math:`w = Z'a`, of which an interior-point method knows the root of its gap. Which points lie on the boundary is read
off scores :math:`z_i'w + p_i`, and a root of a gap is no scale for that. Pairwise steps find the multipliers that lie at their bounds;
the scores of the others are equal, and these equations give w: with the differences D of their points to one of them and their
factors QR it is :math:`w - Q(Q'w - R^{-T}q)`, in which nothing is squared as in a Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from convexnovelty.algorithms.box import Box, Indices
from convexnovelty.algorithms.free_set import admissible_step
from convexnovelty.algorithms.smo import smo
from convexnovelty.errors import IndefiniteError, InputError, SolverError
from convexnovelty.regions import ROUNDING
from convexnovelty.validation import Array

__all__ = ["LARGEST", "Polished", "carried_doubts", "polished", "polished_margin"]

# Above so many points no Gram matrix is formed to know ties by.
LARGEST = 2000

# A bound that no multiplier reaches, since their sum is one.
LOOSE = 2.0

# Shares of a bound within which a multiplier of pairwise steps is at it, where the equations say no else.
AT_BOUND = 1e-9

# Sine of the angle below which a difference of two points is a combination of others.
DEPENDENT = 1e-13

# Of squared lengths, the share that is rounding of the products that they are differences of.
SQUARED = 1e-12

# Rounds of the active set for each point and beside: each takes a point in or out.
ROUNDS = 4


@dataclass(frozen=True)
class Polished:
    r"""The optimum: multipliers (n,), the vector w = Z'a (r,), and what the score z_i'w + p_i of each point is not known to, (n,)."""

    multipliers: Array
    normal: Array
    doubts: Array


def polished(
    points: Any,
    upper: Any,
    linear: Any = None,
    *,
    start: Any = None,
    scores: Any = None,
    doubt: float = 0.0,
    moved: float = 0.0,
) -> Polished | None:
    r"""The optimum to rounding, or None where there are more than ``LARGEST`` points or no face was found whose equations are optimal.

    Parameters
    ----------
    points : (n, r) the rows of Z.
    upper : (n,) the bounds C, of which those of points without a share are zero.
    linear : (n,) the vector p; None for zeros.
    start : (n,) multipliers of a solver; or, in ``scores`` (n,), what it knows of scores.
    doubt : what products of two points may differ by from those that are meant, as kernel values do from their coordinates'.
    moved : how far the points were moved together before, which rounds all of them by the same.
    """
    rows = np.asarray(points, dtype=float)
    n = len(rows)
    if n > LARGEST:
        return None
    unit = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max())) or 1.0
    slope = np.zeros(n) if linear is None else np.asarray(linear, dtype=float) / unit**2
    try:
        # A bound above one holds nothing, and 1 / nu may be of any size.
        box = Box.of(n, np.minimum(upper, LOOSE), None, 1.0)
        program = _Program(rows / unit, slope, box, doubt / unit**2, moved / unit)
        found = program.solved(_first(box, start, scores))
    except (IndefiniteError, InputError, SolverError):  # of rounding
        return None
    return None if found is None else Polished(found.multipliers, unit * found.normal, unit**2 * found.doubts)


def polished_margin(points: Array, upper: Any, alpha: Any, w: Any, doubt: float, moved: float = 0.0) -> Polished | None:
    """The same for a reduced hull's nearest point to the origin, from a solver's multipliers ``alpha`` or from its ``w``."""
    return polished(points, upper, start=alpha, scores=None if w is None else points @ w, doubt=doubt, moved=moved)


def _first(box: Box, start: Any, scores: Any) -> Array:
    """Multipliers to start from, within the box."""
    n = box.upper.size
    order = np.arange(n) if scores is None else np.argsort(np.asarray(scores), kind="stable")
    return box.feasible(np.zeros(n) if start is None else np.asarray(start, dtype=float), order)


@dataclass(frozen=True)
class _Program:
    """The program with points of length one at most."""

    points: Array
    linear: Array
    box: Box
    doubt: float
    moved: float

    def solved(self, start: Array) -> Polished | None:
        """Pairwise steps, and then an active set that adds points to the face and takes them away."""
        gram, box = self.points @ self.points.T, self.box
        a = smo(gram, self.linear, upper=box.upper, start=start, semidefinite=True).multipliers
        a = np.where(a <= AT_BOUND * box.upper, 0.0, np.where(a >= (1 - AT_BOUND) * box.upper, box.upper, a))
        working = (a > 0) & (a < box.upper)
        if not working.any():
            a = box.feasible(a, np.argsort(gram @ a + self.linear, kind="stable"))
            working = (a > 0) & (a < box.upper)
        for _ in range(ROUNDS * (a.size + 10)):
            face = _Face.of(self, np.flatnonzero(working), a)
            moved, whole = face.moved(a)
            if not whole:
                a, working = moved, working & (moved > 0) & (moved < box.upper)
                continue
            a = moved
            wrong = self._wrong(a, working, face)
            if not wrong.any():
                return Polished(a, face.normal, face.doubts)
            working = working | wrong
        return None

    def _wrong(self, a: Array, working: NDArray[np.bool_], face: _Face) -> NDArray[np.bool_]:
        """The point at a bound that would leave it most, or the two where none lies between its bounds."""
        scores, box = self.points @ face.normal + self.linear, self.box
        grows, shrinks = ~working & (a < box.upper), ~working & (a > 0)
        wrong = np.zeros(a.size, dtype=bool)
        if working.any():
            away = np.where(grows, face.level - scores, np.where(shrinks, scores - face.level, -np.inf))
            away[shrinks & grows] = -np.inf
            away -= face.doubts + face.doubts[working].min()
            worst = int(np.argmax(away))
            wrong[worst] = away[worst] > 0
        elif grows.any() and shrinks.any():
            low = int(np.argmin(np.where(grows, scores, np.inf)))
            high = int(np.argmax(np.where(shrinks, scores, -np.inf)))
            wrong[[low, high]] = scores[high] - scores[low] > face.doubts[low] + face.doubts[high]
        return wrong


@dataclass(frozen=True)
class _Face:
    """The points whose multipliers are free, and w as their equal scores give it where the others' multipliers stay.

    ``step`` is what their multipliers lack of that, and ``ray`` a direction along which w stays and the objective falls.
    """

    rows: Indices
    box: Box
    normal: Array
    level: float
    doubts: Array
    step: Array
    ray: Array | None

    @classmethod
    def of(cls, program: _Program, rows: Indices, a: Array) -> _Face:
        Z, p, box = program.points, program.linear, program.box
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        if not rows.size:
            normal = Z.T @ a
            own = ROUNDING * ((float(a @ lengths) + program.moved) * lengths + np.abs(p)) + program.doubt
            return cls(rows, box, normal, 0.0, own, np.zeros(0), None)
        order = rows[np.argsort(lengths[rows], kind="stable")]
        anchor, others = order[0], order[1:]
        b = a.copy()
        b[anchor] += box.total - float(a.sum()) if box.total is not None else 0.0
        differences = Z[others] - Z[anchor]
        sizes = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        apart = np.where(sizes > 0, sizes, 1.0)
        wanted = (p[anchor] - p[others]) / apart
        Q, R, order = _factors((differences / apart[:, None]).T)
        k = Q.shape[1]
        kept, triangle = order[:k], R[:, :k]
        normal = Z.T @ b
        missing = np.zeros(others.size)
        solved = solve_triangular(triangle, wanted[kept], trans="T") if k else np.zeros(0)
        for _ in range(2):  # the second takes back what rounding left of the first
            lacks = solved - Q.T @ normal
            normal = normal + Q @ lacks
            missing[kept] += solve_triangular(triangle, lacks) if k else 0.0
        missing /= apart
        step = np.zeros(a.size)
        step[others] = missing
        step[anchor] = b[anchor] - a[anchor] - float(missing.sum())
        level = float(Z[anchor] @ normal + p[anchor])
        own = ROUNDING * ((float(np.abs(b) @ lengths) + program.moved) * lengths + np.abs(p)) + program.doubt
        # What is not known of the equations, by what a point is of the differences.
        equations = (
            ROUNDING * float(np.linalg.norm(normal))
            + (2 * program.doubt + ROUNDING * (np.abs(p[others]) + abs(p[anchor]))) / apart
        )
        parts = solve_triangular(triangle, Q.T @ (Z - Z[anchor]).T) if k else np.zeros((0, a.size))
        doubts = own + equations[kept] @ np.abs(parts)
        ray = None
        if k < others.size:
            left = (differences @ normal + p[others] - p[anchor]) / apart
            left[kept] = 0.0
            past = np.abs(left) * apart - doubts[others] - doubts[anchor]
            past[kept] = -np.inf
            j = int(np.argmax(past))
            if past[j] > 0:
                along = np.zeros(others.size)
                along[j] = -np.sign(left[j])
                along[kept] = -solve_triangular(triangle, Q.T @ (differences[j] / apart[j])) * along[j] if k else 0.0
                along /= apart
                ray = np.zeros(a.size)
                ray[others] = along
                ray[anchor] = -float(along.sum())
        return cls(rows, box, normal, level, doubts, step, ray)

    def moved(self, a: Array) -> tuple[Array, bool]:
        """The multipliers after the step, or as far along it or the ray as the box lets them, and whether they are those of w."""
        if not self.rows.size:
            return a, True
        lower, upper = self.box.lower, self.box.upper
        ahead, whole = admissible_step(a, self.step, lower, upper)
        if whole and self.ray is not None:
            far = self.ray * (1e6 * max(1.0, float(upper[self.rows].max())) / float(np.abs(self.ray).max()))
            return admissible_step(ahead, far, lower, upper)
        return ahead, whole


def carried_doubts(gram: Array, cross: Array, own: Array, others: Array) -> Array:
    r"""What scores of further points (m,) are not known to where w is that of a face whose scores are equal.

    Each such equation is known to the doubts of two scores, and a point whose difference to a point of the face is
    :math:`\sum_j c_j d_j` of the differences within it has :math:`|c_j|` times that.

    Parameters
    ----------
    gram, cross : products within the face (k, k), and with the further points (k, m).
    own, others : what rounding alone leaves unknown of the scores of the face (k,) and of the further points (m,).
    """
    from scipy.linalg import pinvh

    at = int(np.argmin(np.diagonal(gram)))
    differences = gram - gram[at] - gram[:, [at]] + gram[at, at]
    squares = np.maximum(np.diagonal(differences), 0.0)
    used = np.flatnonzero(squares > SQUARED * float(np.diagonal(gram).max()))
    if not used.size:
        return others
    sizes = np.sqrt(squares[used])
    shape = differences[np.ix_(used, used)] / np.outer(sizes, sizes)
    along = (cross[used] - cross[at] - gram[used, at][:, None] + gram[at, at]) / sizes[:, None]
    parts = pinvh((shape + shape.T) / 2, rtol=SQUARED, check_finite=False) @ along
    return np.asarray(others + ((own[used] + own[at]) / sizes) @ np.abs(parts))


def _factors(columns: Array) -> tuple[Array, Array, Indices]:
    """Q, R and the order of columns of length one, as far as they are no combinations of those before."""
    if not columns.size:
        return np.zeros((len(columns), 0)), np.zeros((0, columns.shape[1])), np.arange(columns.shape[1])
    Q, R, order = qr(columns, mode="economic", pivoting=True, check_finite=False)
    k = int((np.abs(np.diagonal(R)) > DEPENDENT).sum())
    return Q[:, :k], R[:k], order
