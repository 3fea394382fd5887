r"""The optimum of a machine with a box of multipliers, known to rounding: from a solver's point to the face that it lies on.

.. math:: \min_a \tfrac12\|Z'a\|^2 + p'a \quad\text{s.t.}\quad 0 \le a \le C,\; \sum_i a_i = 1

has one optimal :math:`w = Z'a`, of which an interior-point method knows the root of its gap. Which points lie on the boundary is read
off scores :math:`z_i'w + p_i`, and a root of a gap is no scale for that. Pairwise steps find the multipliers that lie at their bounds;
the scores of the others are equal, and these equations give w: with the differences D of their points to one of them and their
factors QR it is :math:`w - Q(Q'w - R^{-T}q)`, in which nothing is squared as in a Gram matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
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

__all__ = ["GRAM_LIMIT", "Polished", "carried_doubts", "polished", "polished_hard_margin", "polished_margin"]

# Above so many points no Gram matrix is formed only to find a face, or a unit.
GRAM_LIMIT = 2000

# A bound that no multiplier reaches, since their sum is one.
LOOSE = 2.0

# Shares of a bound within which a multiplier of pairwise steps is at it, where the equations say no else.
AT_BOUND = 1e-9

# Sine of the angle below which a difference of two points is a combination of others.
DEPENDENT = 1e-13

# Of squared lengths, the share that is rounding of the products that they are differences of.
SQUARED = 1e-12

# How far a ray leads out of a box whose bounds are below ``LOOSE``.
BEYOND = 1e6

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
    doubt: Array | float = 0.0,
    moved: float = 0.0,
) -> Polished | None:
    r"""The optimum to rounding, or None where no Gram matrix of so many points is formed or no face was found whose equations are optimal.

    Parameters
    ----------
    points : (n, r) the rows of Z.
    upper : (n,) the bounds C, of which those of points without a share are zero.
    linear : (n,) the vector p; None for zeros.
    start : (n,) multipliers of a solver; or, in ``scores`` (n,), what it knows of scores.
    doubt : what the product of w with each point may differ by from the one that is meant, one number or (n,): kernel values differ from
        products of their coordinates, and whitened points are rounded.
    moved : how far the points were moved together before, which rounds all of them by the same.
    """
    rows = np.asarray(points, dtype=float)
    n = len(rows)
    if n > GRAM_LIMIT:
        return None
    # By a power of two, which rounds nothing: points far from the origin differ by little more than their rounding.
    unit = 2.0 ** math.ceil(math.log2(float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max())) or 1.0))
    slope = np.zeros(n) if linear is None else np.asarray(linear, dtype=float) / unit**2
    try:
        # A bound above one holds nothing, and 1 / nu may be of any size.
        box = Box.of(n, np.minimum(upper, LOOSE), None, 1.0)
        found = _Program(rows / unit, slope, box).solved(_first(box, start, scores))
    except (IndefiniteError, InputError, SolverError):  # of rounding
        return None
    if found is None:
        return None
    multipliers, face = found
    return Polished(multipliers, unit * face.normal, unit**2 * face.doubts(doubt / unit**2, moved / unit))


def polished_margin(points: Array, upper: Any, alpha: Any, w: Any, doubt: float, moved: float = 0.0) -> Polished | None:
    """The same for a reduced hull's nearest point to the origin, from a solver's multipliers ``alpha`` or from its ``w``."""
    return polished(points, upper, start=alpha, scores=None if w is None else points @ w, doubt=doubt, moved=moved)


def polished_hard_margin(points: Array, kept: Any, w: Array, doubt: float) -> tuple[Array, Array] | None:
    """The shortest w whose product with each kept point is one at least, and what the products of all points are not known to.

    It is the nearest point to the origin of the kept points' hull, over its squared length; ``w`` is a solver's, ``kept`` (n,) a mask.
    """
    found = polished(points, np.where(kept, LOOSE, 0.0), scores=points @ w, doubt=doubt)
    squared = 0.0 if found is None else float(found.normal @ found.normal)
    if found is None or squared == 0:
        return None
    return found.normal / squared, found.doubts / squared + ROUNDING


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

    @cached_property
    def lengths(self) -> Array:
        """Those of the points."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.points, self.points)))

    def solved(self, start: Array) -> tuple[Array, _Face] | None:
        """Multipliers and their face: pairwise steps, and then an active set that adds points and takes them away."""
        gram, box = self.points @ self.points.T, self.box
        a = self._by_pairs(gram, start)
        a = np.where(a <= AT_BOUND * box.upper, 0.0, np.where(a >= (1 - AT_BOUND) * box.upper, box.upper, a))
        if not box.free(a).size:
            a = box.feasible(a, np.argsort(gram @ a + self.linear, kind="stable"))
        working = (a > 0) & (a < box.upper)
        for _ in range(ROUNDS * (a.size + 10)):
            face = _Face.of(self, np.flatnonzero(working), a)
            a, whole = admissible_step(a, face.step, box.lower, box.upper)
            doubts = face.doubts(0.0, 0.0)
            ray = face.ray(doubts) if whole else None
            if ray is not None:
                a, whole = admissible_step(a, ray, box.lower, box.upper)
            if not whole:
                working &= (a > 0) & (a < box.upper)
                continue
            wrong = self._wrong(a, working, face, doubts)
            if not wrong.any():
                return self._again(a, working, face), face
            working |= wrong
        return None

    def _by_pairs(self, gram: Array, start: Array) -> Array:
        """Where pairwise steps lead from a start; the start itself where products that cancel lead them nowhere."""
        try:
            return smo(gram, self.linear, upper=self.box.upper, start=start, semidefinite=True).multipliers
        except SolverError:
            return start

    def _again(self, a: Array, working: NDArray[np.bool_], face: _Face) -> Array:
        """The multipliers after one more step, where those of a long one that nearly cancel have left their sum w fewer digits than it has."""
        left = np.abs(self.points.T @ a - face.normal)
        if (left <= ROUNDING * face.terms).all():
            return a
        return admissible_step(a, _Face.of(self, np.flatnonzero(working), a).step, self.box.lower, self.box.upper)[0]

    def _wrong(self, a: Array, working: NDArray[np.bool_], face: _Face, doubts: Array) -> NDArray[np.bool_]:
        """The point at a bound that would leave it most, or the two where none lies between its bounds."""
        scores, box = self.points @ face.normal + self.linear, self.box
        grows, shrinks = ~working & (a < box.upper), ~working & (a > 0)
        wrong = np.zeros(a.size, dtype=bool)
        if working.any():
            past = np.where(grows, face.level - scores, np.where(shrinks, scores - face.level, -np.inf))
            past -= doubts + doubts[working].min()
            worst = int(np.argmax(past))
            wrong[worst] = past[worst] > 0
        elif grows.any() and shrinks.any():
            low = int(np.argmin(np.where(grows, scores, np.inf)))
            high = int(np.argmax(np.where(shrinks, scores, -np.inf)))
            wrong[[low, high]] = scores[high] - scores[low] > doubts[low] + doubts[high]
        return wrong


@dataclass(frozen=True)
class _Face:
    """Points whose scores are to be equal, and the w that has them so while the multipliers of the others stay.

    ``terms`` are the sizes of what w is a sum of, column by column, and ``others`` the points but the ``anchor``, from which
    ``differences`` lead to them; ``directions`` are these at length one, of which the columns ``kept`` are the product of ``basis`` and
    ``triangle``. ``step`` is what multipliers lack of those of w.
    """

    program: _Program
    terms: Array
    normal: Array
    level: float
    step: Array
    anchor: int
    others: Indices
    sizes: Array
    directions: Array
    basis: Array
    triangle: Array
    kept: Indices

    @classmethod
    def of(cls, program: _Program, rows: Indices, a: Array) -> _Face:
        """The face of these rows from multipliers, whose sum may lack something."""
        Z, p, b = program.points, program.linear, a.copy()
        rows = rows[np.argsort(program.lengths[rows], kind="stable")]
        anchor, others = (int(rows[0]), rows[1:]) if rows.size else (-1, rows)
        if rows.size:
            b[anchor] += 1.0 - float(a.sum())
        differences = Z[others] - Z[anchor]
        lengths = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        sizes = np.where(lengths > 0, lengths, 1.0)
        directions = (differences / sizes[:, None]).T
        basis, triangle, kept = _factors(directions)
        wanted = ((p[anchor] - p[others]) / sizes)[kept]
        along = solve_triangular(triangle, wanted, trans="T") if kept.size else np.zeros(0)
        normal, step = Z.T @ b, np.zeros(a.size)
        for _ in range(2):  # the second takes back what rounding left of the first
            lacks = along - basis.T @ normal
            normal = normal + basis @ lacks
            step[others[kept]] += _through(triangle, lacks) / sizes[kept]
        if rows.size:
            step[anchor] = b[anchor] - a[anchor] - float(step[others].sum())
        level = float(Z[anchor] @ normal + p[anchor])
        terms = np.abs(b) @ np.abs(Z)
        return cls(program, terms, normal, level, step, anchor, others, sizes, directions, basis, triangle, kept)

    def doubts(self, doubt: Array | float, moved: float) -> Array:
        """What scores are not known to: what rounding makes of their terms, and what it leaves of the equations that give w.

        Rounding of a sum of points moves w, and with it a score, by what the equations leave of both alone: points that lie far from
        the origin together are long, and no more is known of them by that than along one equation between two.
        A difference to a point that is so much of each direction knows what that much of its equation is known to.
        """
        Z, p, length = self.program.points, self.program.linear, float(np.linalg.norm(self.normal))
        free = np.abs(self._left(self._left(Z))) + ROUNDING * np.abs(Z)
        own = free @ self.terms + moved * np.linalg.norm(free, axis=1) + length * (self.program.lengths + moved)
        own = ROUNDING * (own + np.abs(p)) + doubt
        terms = ROUNDING * np.abs(p) + doubt
        equations = ROUNDING * length + (terms[self.others] + terms[self.anchor]) / self.sizes
        parts = _through(self.triangle, self.basis.T @ (Z - Z[self.anchor]).T)
        return np.asarray(own + equations[self.kept] @ np.abs(parts))

    def _left(self, points: Array) -> Array:
        """What the equations leave of points."""
        return points - (points @ self.basis) @ self.basis.T

    def ray(self, doubts: Array) -> Array | None:
        """A direction, longer than the box, along which w stays and the objective falls; None where no score is other than it should be."""
        p, kept = self.program.linear, self.kept
        left = self.sizes * (self.directions.T @ self.normal) + p[self.others] - p[self.anchor]
        past = np.abs(left) - doubts[self.others] - doubts[self.anchor]
        past[kept] = -np.inf
        if not past.size or past.max() <= 0:
            return None
        j = int(np.argmax(past))
        along = np.zeros(left.size)
        along[j] = -np.sign(left[j])
        along[kept] = -along[j] * _through(self.triangle, self.basis.T @ self.directions[:, j])
        ray = np.zeros(p.size)
        ray[self.others] = along / self.sizes
        ray[self.anchor] = -float(ray.sum())
        return np.asarray(ray * (BEYOND / float(np.abs(ray).max())))


def _through(triangle: Array, right: Array) -> Array:
    """The solution of triangular equations, of which there may be none."""
    return np.asarray(solve_triangular(triangle, right)) if triangle.size else np.zeros(right.shape)


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
    """Q, R and the numbers of those columns, of length one, that are no combinations of the others."""
    if not columns.size:
        return np.zeros((len(columns), 0)), np.zeros((0, 0)), np.zeros(0, dtype=np.intp)
    Q, R, order = qr(columns, mode="economic", pivoting=True, check_finite=False)
    k = int((np.abs(np.diagonal(R)) > DEPENDENT).sum())
    return Q[:, :k], R[:k, :k], order[:k]
