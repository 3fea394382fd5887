r"""The largest :math:`\kappa` that every member of some moment sets grants, by cutting planes against their membership.

.. math:: \max_{\kappa, a}\ \kappa \quad\text{s.t.}\quad \sum_i \sup_{(m,S)\in\mathcal U_i}
    \sigma_i(m - m_i)'a + \kappa\sqrt{a'Sa}\ \le\ 1, \qquad e'a = 1 \ \text{or}\ Ga \ge 1.

For a fixed :math:`\kappa` the program is convex in a. A master program with the worst members found so far bounds the
least sum of losses from below, an adversary bounds it from above along the master's direction. A direction whose
losses are below one grants a larger :math:`\kappa`, the root of a convex function of one variable, from which the
search goes on (Dinkelbach's method): it ends where the master alone shows that no direction has losses below one. No
counterpart is used, and CVXPY only to compile the memberships.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from convexnovelty.cones import Cones
from convexnovelty.conic import ConicProgram
from convexnovelty.covariances import own_root
from convexnovelty.errors import InfeasibleError, SolverError
from convexnovelty.validation import Array

__all__ = ["KappaPlanes", "Side", "largest_kappa"]

Member = tuple[Array, Array]

# Relative accuracy of kappa at which the search ends.
TOLERANCE = 1e-8

START = 1e-3  # kappa is never zero, where a joint set may have no single worst member

# A point of the master with optimality residuals below this will do, whatever its status; bounds that have met to
# this will do where the master can be solved no further.
ACCURATE = SUFFICIENT = 1e-7

THINNED = 3  # times that the older half of the cuts is left out

# A cut that differs from an earlier one by no more than this tells the master nothing, and costs it digits.
DISTINCT = 1e-7


@dataclass(frozen=True)
class Side:
    """One uncertain class: the mean that its losses are counted from, a ``first`` member, the ``sign`` of a in its
    loss, and ``attack(a, kappa)``, which returns the member with the largest loss of the direction ``sign * a``."""

    mean: Array
    first: Member
    sign: float
    attack: Callable[[Array, float], Member]

    def loss(self, a: Array, member: Member, kappa: float) -> float:
        """The loss of a member along ``a``, less that of the mean it is counted from."""
        mean, covariance = member
        return self.sign * float((mean - self.mean) @ a) + kappa * float(np.sqrt(max(float(a @ covariance @ a), 0.0)))


@dataclass(frozen=True)
class KappaPlanes:
    """The largest kappa, the direction ``a`` (p,) that grants it, the loss of each side there, and the rounds it took.

    ``kappa`` is not positive where no direction separates the sets, and infinite where none has any variance."""

    kappa: float
    a: Array
    losses: tuple[float, ...]
    rounds: int


def largest_kappa(
    axes: Array, sides: Sequence[Side], *, equal: Array | None = None, least: Array | None = None, rounds: int = 500
) -> KappaPlanes:
    """Maximise kappa over directions in the span of ``axes`` (p, r), whose columns should make the program well scaled.

    Parameters
    ----------
    sides : the uncertain classes.
    equal : (p,) the vector e, if the direction is normalised by e'a = 1.
    least : (k, p) the rows of G, if it is normalised by Ga >= 1.

    Raises
    ------
    InfeasibleError : no direction meets the normalisation.
    SolverError : the bounds did not meet in the given number of rounds, or a master program was not solved.
    """
    norm = (np.zeros((0, axes.shape[0])) if equal is None else equal[None, :]) @ axes
    rows = (np.zeros((0, axes.shape[0])) if least is None else least) @ axes
    unit = 1.0 / float(np.sqrt((np.vstack([norm, rows]) ** 2).sum(axis=1).max()))
    master = _Master(unit * axes, unit * norm, unit * rows, sides)
    best, kappa, floor, thinned = (-math.inf, np.zeros(axes.shape[0])), 0.0, -math.inf, 0
    y = master.shortest()
    for count in range(1, rounds + 1):
        a = master.direction(y)
        granted = _granted(master, a, max(kappa, START))
        if granted > best[0]:
            best, kappa = (granted, a), max(granted, 0.0)
        if math.isinf(kappa):
            return KappaPlanes(kappa, a, (0.0,) * len(sides), count)
        try:
            # The losses grow with kappa, so that a bound found at a smaller one holds.
            bound, y = master.solve(kappa)
            floor = max(floor, bound)
        except SolverError:
            if floor < 1 - SUFFICIENT and (thinned := thinned + 1) > THINNED:
                raise
            if floor < 1 - SUFFICIENT:
                # Cuts that nearly coincide leave the master no digits, and few of the older ones are still tight.
                master.thin()
                continue
            floor = 1.0
        if floor >= 1 - TOLERANCE:
            kappa, a = best
            losses = tuple(side.loss(a, side.attack(a, max(kappa, 0.0)), kappa) for side in sides)
            return KappaPlanes(kappa, a, losses, count)
        for i, side in enumerate(sides):
            master.add(i, side.attack(master.direction(y), kappa))
    raise SolverError(
        f"cutting planes: kappa is at least {best[0]:.10g}, but no bound met it in {rounds} rounds", "user_limit"
    )


def _granted(master: _Master, a: Array, kappa: float) -> float:
    """The kappa at which the worst losses along ``a`` add up to one, by Newton steps on a convex function."""
    for step in range(60):
        members = [side.attack(a, kappa) for side in master.sides]
        shift = sum(side.loss(a, member, 0.0) for side, member in zip(master.sides, members, strict=True))
        spread = sum(side.loss(a, member, 1.0) for side, member in zip(master.sides, members, strict=True)) - shift
        following = (1 - shift) / spread if spread > 0 else math.copysign(math.inf, 1 - shift)
        # After the first step they come from above, and end where the adversary's digits do.
        if not math.isfinite(following) or following <= 0 or (step > 0 and following >= kappa * (1 - 1e-9)):
            break
        kappa = following
    for i, member in enumerate(members):
        master.add(i, member)
    return following


class _Master:
    """The cone program with the members found so far: variables y and one loss a side, a = axes @ y."""

    def __init__(self, axes: Array, norm: Array, rows: Array, sides: Sequence[Side]) -> None:
        self.axes, self.norm, self.rows, self.sides = axes, norm, rows, sides
        self._members: list[tuple[int, Array, Array]] = []
        for i, side in enumerate(sides):
            self.add(i, side.first)

    def direction(self, y: Array) -> Array:
        """The direction a, at the length at which the normalisation is tight."""
        reach = float((self.norm @ y)[0]) if len(self.norm) else float((self.rows @ y).min())
        return np.asarray(self.axes @ y) / reach

    def shortest(self) -> Array:
        """The shortest y that meets the normalisation."""
        size = self.axes.shape[1]
        return self._minimiser(ConicProgram(np.zeros(size), *self._fixed(0), P=sp.csr_array(np.eye(size))))

    def add(self, i: int, member: Member) -> None:
        """Hold side i's loss above that of a member."""
        mean, covariance = member
        along = own_root(covariance) @ self.axes
        shift = self.sides[i].sign * ((mean - self.sides[i].mean) @ self.axes)
        gram = along.T @ along
        for j, other, theirs in self._members:
            near = np.abs(shift - other).max() + np.abs(gram - theirs.T @ theirs).max()
            if i == j and near <= DISTINCT * (np.abs(shift).max() + np.abs(gram).max()):
                return
        self._members.append((i, shift, along))

    def thin(self) -> None:
        """Leave out the older half of the members of each side."""
        kept = []
        for i in range(len(self.sides)):
            own = [member for member in self._members if member[0] == i]
            kept += own[len(own) // 2 :]
        self._members = kept

    def solve(self, kappa: float) -> tuple[float, Array]:
        """The least sum of losses over the members, and the y that has it."""
        size, count = self.axes.shape[1], len(self.sides)
        fixed, b, cones = self._fixed(count)
        blocks, sizes = [], []
        for i, shift, root in self._members:
            block = np.zeros((1 + len(root), size + count))
            block[0, :size], block[0, size + i] = shift, -1.0
            block[1:, :size] = -kappa * root
            blocks.append(block)
            sizes.append(len(block))
        A = sp.csr_array(np.vstack([fixed.toarray(), *blocks]))
        cones = Cones(zero=cones.zero, nonnegative=cones.nonnegative, second_order=tuple(sizes))
        b = np.concatenate([b, np.zeros(A.shape[0] - b.size)])
        x = self._minimiser(ConicProgram(np.concatenate([np.zeros(size), np.ones(count)]), A, b, cones))
        return float(x[size:].sum()), x[:size]

    def _fixed(self, more: int) -> tuple[sp.csr_array, Array, Cones]:
        matrix = np.vstack([self.norm, -self.rows])
        b = np.concatenate([np.ones(len(self.norm)), -np.ones(len(self.rows))])
        padded = sp.csr_array(np.hstack([matrix, np.zeros((len(matrix), more))]))
        return padded, b, Cones(zero=len(self.norm), nonnegative=len(self.rows))

    def _minimiser(self, program: ConicProgram) -> Array:
        status = ""
        for tolerance in (1e-10, 1e-9, 1e-8):
            found = program.solve(tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance, max_iter=200)
            status = found.status
            if status == "PrimalInfeasible":
                raise InfeasibleError("cutting planes: no direction meets the normalisation", status)
            # Cuts that nearly coincide, as they do at the end, cost the solver digits: what it has is measured here.
            if status == "Solved" or program.residuals(found.x, found.z).worst <= ACCURATE:
                return found.x
        raise SolverError(f"cutting planes: the master program was not solved (status {status})", status)
