"""Points whose blocks of coordinates are bounded together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import PointSet, UncertaintySet
from convexnovelty.uncertainty.tools import conjugate, dual_vector, exponent, norm, p_norm
from convexnovelty.validation import Array

__all__ = ["BlockNormBall"]


class BlockNormBall(PointSet):
    r"""Points with :math:`\big\|(\|u_B - c_B\|_p)_B\big\|_r \le \rho` over blocks :math:`B` of coordinates.

    .. math:: \sup_u w'u = w'c + \rho\,\big\|(\|w_B\|_{p^*})_B\big\|_{r^*}

    with both exponents replaced by their conjugates: Hölder's inequality within the blocks, and then among them.

    Parameters
    ----------
    blocks : lists of indices that together name every coordinate once.
    p, r : exponents within and among the blocks, from 1 to infinity.
    radius : :math:`\rho`.
    """

    exactness = "exact"
    exponents = ("p", "r")
    basis_dependent = True
    source = "Hölder's inequality, twice; group norms as in Yuan and Lin (2006)"

    def __init__(self, blocks: Sequence[Sequence[int]], p: Any = 2.0, r: Any = math.inf, radius: float = 1.0) -> None:
        super().__init__(radius)
        self.p, self.r = exponent(p), exponent(r, "r")
        try:
            self.blocks = tuple(tuple(int(i) for i in block) for block in blocks)
        except (TypeError, ValueError) as error:
            raise InputError(f"blocks: {blocks!r} was found; give lists of coordinates, as [[0, 1], [2]]") from error
        named = sorted(i for block in self.blocks for i in block)
        if named != list(range(len(named))) or not all(self.blocks):
            raise InputError(f"blocks: {self.blocks} was found; name each coordinate 0, 1, ... in one block")

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """The first coordinate against the others, in two pairs of norms."""
        blocks = [[0], list(range(1, dimension))]
        return [cls(blocks, 2, math.inf, 0.5), cls(blocks, math.inf, 1, 0.5)]

    @property
    def size(self) -> int:
        """The number of coordinates that the blocks name."""
        return sum(len(block) for block in self.blocks)

    def _norm(self, v: Any, p: float, r: float) -> Any:
        return p_norm(cp.hstack([p_norm(v[list(block)], p) for block in self.blocks]), r)

    def membership(self, u: cp.Expression) -> list[Any]:
        """The norm of the blocks' norms is at most the radius."""
        return [self._norm(u - self.center, self.p, self.r) <= self.radius]

    def support(self, w: cp.Expression) -> cp.Expression:
        """The centre's value and the radius times the dual norm."""
        return self.center @ w + self.tuned("radius") * self._norm(w, conjugate(self.p), conjugate(self.r))

    def worst_member(self, w: Array) -> Array:
        """The worst point of each block, at the lengths that are worst among the blocks."""
        sizes = np.array([norm(w[list(block)], conjugate(self.p)) for block in self.blocks])
        lengths = dual_vector(sizes, self.r)
        u = np.array(self.center, dtype=float)
        for block, length in zip(self.blocks, lengths, strict=True):
            u[list(block)] += self.radius * length * dual_vector(w[list(block)], self.p)
        return u

    def sample(self, rng: np.random.Generator) -> Array:
        """A random direction at a random part of the radius."""
        v = rng.standard_normal(self.dimension)
        size = norm(np.array([norm(v[list(block)], self.p) for block in self.blocks]), self.r)
        return np.asarray(self.center + self.radius * rng.random() / size * v)
