"""The directions in which the covariances of a set vary at all, and coordinates in which they are of size one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.cones import smat, svec
from convexnovelty.errors import RecompilationError
from convexnovelty.membership import Membership
from convexnovelty.validation import Array

__all__ = ["Face"]

ENROLS_NOTHING = "a tool of the derived counterparts"

NULL = 1e-9  # share of the largest eigenvalue of a correlation matrix below which a direction may be a null direction
# The same where the set was met in coordinates in which it is round, so that rounding alone hides variances.
KNOWN = 4e-12
# The same where a solver's points tell the null directions: the square of the angle by which they are off passes for
# variance in one member, and for less than none in another, where a lift has no minimum.
TILTED = 1e-7
SNAPPED = 1e-4  # angle up to which a null direction off a solver's points is taken for one that the centre has
# Deviation of pairs, as a share of what columns have, in directions that equations call null. It is less than rounding of
# variances, and more than rounding of means, along which a program would run away where nothing is paid for it.
EXACT = 1e-9
# Share of its terms up to which a mean's part along null directions is rounding: steps along them then end where they are charged.
CANCELLED = 1e-12
UNSEEN = 1e-10  # share below which a solver cannot tell a variance from none
LEVEL = 1e-4  # share of the largest eigenvalue above which no direction is near to a null direction
WIDE = 24  # dimension from which on a lift should be sparse
FLOOR = 1e-8  # the smallest deviation of a coordinate, as a share of the largest, that it is scaled by


@dataclass(frozen=True)
class Face:
    r"""Coordinates :math:`y = \mathrm{down}\,a` of the part of a direction that the set's covariances see.

    Where all members share a null direction (n < p, or kernel coordinates of a centred sample) the lift of a derived
    counterpart would attain its minimum only in the limit, and solvers lose half of their digits. The null directions
    are left out of it, and ``slack`` bounds the deviation that the members may still have there (zero where a solver
    cannot tell it from zero): :math:`\sqrt{a'Sa} \le \sqrt{y'S_r y} + \mathrm{slack}\,\|\mathrm{rest}\,a\|` with
    :math:`S_r = \mathrm{up}'\,S\,\mathrm{up}`. Null directions that equations tell, the columns of ``stated``, are no part of
    that; for pairs ``beyond`` tells how much of a direction lies along them, and ``charge`` what deviation that counts as.
    """

    down: Array
    up: Array
    rest: Array
    probe: Array
    stated: Array
    beyond: Array
    charge: float
    slack: float
    unit: float
    null: float

    @classmethod
    def of(cls, memberships: Sequence[Membership], dimension: int, factor: Array | None = None) -> Face:
        """The face that holds the covariances of all the sets given; for a set of pairs they come last.

        ``factor`` is that of the centre's covariance, whose null directions are known to all digits: those that a solver's
        points show may be off by an angle, at which a direction of any length would deviate by nothing.
        """
        triangle = dimension * (dimension + 1) // 2
        member = sum(smat(each.centre[-triangle:], dimension) for each in memberships) / len(memberships)
        width = max(float(np.max(each.widths[-triangle:])) for each in memberships)
        unit = float(np.sqrt(max(float(np.max(np.diag(member))), 0.0) or width)) or 1.0
        tilted, thin = any(each.tilted for each in memberships), all(each.thin for each in memberships)
        null = TILTED if tilted else KNOWN if thin else NULL
        spread = np.maximum(np.sqrt(np.maximum(np.diag(member), 0.0)), FLOOR * unit)
        correlation = member / np.outer(spread, spread)
        stated = _stated(memberships, dimension)
        apart, within = _split(stated * spread[:, None])
        for _ in range(dimension + 1):
            values, vectors = np.linalg.eigh(within.T @ correlation @ within)
            vectors = within @ vectors
            seen = values > null * max(float(values[-1]), 1.0)
            own = 0
            if tilted and factor is not None:
                vectors, own = _snapped(vectors, seen, np.vstack([factor / spread, apart.T]))
            probe = (vectors[:, ~seen] / spread[:, None]).T
            found = [_largest(each, probe) for each in memberships] if probe.size else []
            slack, worst = max(found, key=lambda pair: pair[0]) if found else (0.0, np.zeros(0))
            if slack <= null:
                break
            # Some member does vary in a direction that the first ones left alone.
            extra = smat(worst[-triangle:], dimension) / np.outer(spread, spread)
            correlation = (correlation + extra / max(float(np.trace(extra)), 1.0)) / 2
        # What ties means to covariances is tilted in both, and takes from the loss what it adds along no null direction.
        joint = any(each.size > triangle for each in memberships)
        guessed = tilted and (joint or own < int(np.sum(~seen)))
        centre = memberships[0].centre[:dimension] if joint else np.zeros(dimension)
        along = (apart / spread[:, None]).T
        # Coordinates without variance may be made of others, and be rounding of these.
        terms = np.where(spread > FLOOR * unit, np.abs(centre), np.abs(centre).max(initial=0.0))
        rounding = bool((np.abs(along @ centre) <= CANCELLED * (np.abs(along) @ terms)).all())
        scale = spread / unit
        # The rotation gives solvers digits along short axes. Its dense matrices cost more than all else in a large
        # lift, which does without where no direction is nearly a null direction.
        sparse = dimension > WIDE and values[0] > LEVEL * values[-1] and not stated.size
        axes = np.eye(dimension) if sparse else vectors[:, seen]
        # Small eigenvalues that a set far from round is known by may be a solver's: their roots would make them large.
        size = np.sqrt(values[seen]) if thin and not sparse else np.ones(axes.shape[1])
        return cls(
            down=(axes * scale[:, None]).T * size[:, None],
            up=axes / scale[:, None] / size,
            rest=(vectors[:, ~seen] * spread[:, None]).T,
            probe=probe,
            stated=stated,
            beyond=(apart * spread[:, None]).T[: None if joint else 0],
            charge=float(np.sqrt(UNSEEN)) if rounding else EXACT,
            slack=float(np.sqrt(max(slack, UNSEEN))) if slack > UNSEEN or guessed else 0.0,
            unit=unit,
            null=null,
        )

    def left_out(self, a: Any) -> Any:
        """What the directions that are left out may add to the deviation in a direction."""
        parts = [
            (share, rows)
            for share, rows in ((self.slack, self.rest), (self.charge, self.beyond))
            if share and rows.size
        ]
        # The shares stand before the norms: rows of next to nothing would be scaled to size one, and what solvers leave of them.
        return sum(share * cp.norm(rows @ a) for share, rows in parts) if parts else 0.0

    def require(self, membership: Membership) -> None:
        """Raise RecompilationError when the covariances of a set leave the face: the problem is then to be made anew."""
        left = bool(self.stated.size) and not membership.annihilates(self.stated)
        seen = bool(self.probe.size) and _largest(membership, self.probe)[0] > max(self.null, self.slack**2)
        if left or seen:
            raise RecompilationError(
                f"{membership.name}: its covariances have directions that the compiled problem left out; make it anew"
            )


def _stated(memberships: Sequence[Membership], dimension: int) -> Array:
    """The null directions, as columns, that equations give to the covariances of all sets."""
    found = memberships[0].null
    if found is None or not all(each.annihilates(found) for each in memberships[1:]):
        return np.zeros((dimension, 0))
    return found


def _split(directions: Array) -> tuple[Array, Array]:
    """Orthonormal axes of the span of some columns, and of what is left."""
    if not directions.size:
        return directions, np.eye(len(directions))
    axes = np.linalg.qr(directions / np.linalg.norm(directions, axis=0), mode="complete")[0]
    return axes[:, : directions.shape[1]], axes[:, directions.shape[1] :]


def _snapped(vectors: Array, seen: NDArray[np.bool_], factor: Array) -> tuple[Array, int]:
    """The axes with those unseen that are null directions of a factor to a solver's digits put there, and how many they are."""
    lacking = factor.shape[1] - factor.shape[0]
    unseen = vectors[:, ~seen]
    if lacking <= 0 or not unseen.shape[1]:
        return vectors, 0
    known = np.linalg.svd(factor)[2][factor.shape[0] :].T
    turn, cosines, onto = np.linalg.svd(unseen.T @ known)
    # By the sine, since cosines have half of the digits.
    off = np.linalg.norm(known @ onto[: cosines.size].T - unseen @ turn[:, : cosines.size] * cosines, axis=0)
    own = int(np.sum(off <= SNAPPED))
    exact = known @ onto[:own].T
    rest = unseen @ turn[:, own:]
    rest = np.linalg.qr(rest - exact @ (exact.T @ rest))[0]
    kept = vectors[:, seen]
    left = np.hstack([exact, rest])
    kept = kept - left @ (left.T @ kept)
    snapped = vectors.copy()
    snapped[:, ~seen] = left
    # The nearest orthonormal axes, so that each keeps its eigenvalue.
    one, _, other = np.linalg.svd(kept, full_matrices=False)
    snapped[:, seen] = one @ other
    return snapped, own


def _largest(membership: Membership, probe: Array) -> tuple[float, Array]:
    r"""The member with the largest :math:`\mathrm{tr}(BSB')` for the rows of ``probe``, :math:`B`."""
    triangle = svec(probe.T @ probe)
    weights = np.concatenate([np.zeros(membership.size - triangle.size), triangle])
    # The little that makes a point a member would show as variance in directions that have none.
    return membership.maximise(weights, settle=False)
