"""Covariances whose entries are bounded one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import Counterpart, CovarianceSet, Exactness, UncertaintySet, convex
from convexnovelty.uncertainty.tools import largest_ratio, range_factor, semidefinite_step
from convexnovelty.validation import Array, symmetric

__all__ = ["EntrywiseInterval"]


class EntrywiseInterval(CovarianceSet):
    r"""Covariances with :math:`|S_{ij} - S_{0,ij}| \le \rho\,D_{ij}` and :math:`S \succeq 0`.

    The worst deviation is the least :math:`t` for which some :math:`M` satisfies

    .. math::

        \langle M, S_0\rangle + \rho\langle|M|, D\rangle \le t, \qquad
        \begin{pmatrix} M & a\\ a' & t\end{pmatrix} \succeq 0.

    Without the cone, ``semidefinite=False``, the entries are free of each other and the worst variance is
    :math:`a'S_0a + \rho|a|'D|a|`. For a positive semidefinite :math:`D` it is convex in the direction, and exact: its
    corner :math:`S_0 + \rho\,ss'\circ D` with the signs :math:`s` of :math:`a` is a covariance. Other half-widths, say
    for correlations alone, have indefinite corners. Then :math:`D + \delta I` with :math:`\delta = -\lambda_{\min}(D)`
    takes the place of :math:`D`, a convex bound from above.

    Parameters
    ----------
    radius : :math:`\rho`, which multiplies all half-widths.
    half_widths : :math:`D`; by default :math:`\sigma_i\sigma_j` with the nominal deviations, so that the radius bounds
        the change of correlations.
    semidefinite : whether the counterpart uses that members are positive semidefinite: exact for all half-widths, at
        the price of a matrix variable.
    """

    exactness: Exactness = "exact"
    basis_dependent = True
    source = "El Ghaoui, Oks and Oustry (2003) with the cone; Halldorsson and Tutuncu (2003) without it"

    def __init__(self, radius: float = 1.0, half_widths: Any = None, semidefinite: bool = True) -> None:
        super().__init__(radius)
        self.half_widths = None if half_widths is None else symmetric(half_widths, "half_widths")
        if self.half_widths is not None and self.half_widths.min() < 0:
            raise InputError(f"half_widths: {self.half_widths.min():.6g} was found; give numbers that are not negative")
        if not isinstance(semidefinite, (bool, np.bool_)):
            raise InputError(f"semidefinite: {semidefinite!r} was found; give True or False")
        self.semidefinite = bool(semidefinite)
        if not self.semidefinite and self._excess > 0:
            self.exactness = "conservative"

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """With the cone, without it where that makes no difference, and without it for changes of correlations alone."""
        full = np.ones((dimension, dimension))
        return [cls(0.2), cls(0.8, full, semidefinite=False), cls(0.8, full - np.eye(dimension), semidefinite=False)]

    @property
    def size(self) -> int | None:
        """The order of the half-widths, if any were given."""
        return None if self.half_widths is None else int(self.half_widths.shape[0])

    @property
    def _widths(self) -> Array:
        if self.half_widths is not None:
            return self.half_widths
        return np.outer(self._deviations, self._deviations)

    @property
    def _excess(self) -> float:
        """What the diagonal of the half-widths lacks to make them positive semidefinite."""
        if self.half_widths is None:
            return 0.0
        least = float(np.linalg.eigvalsh(self.half_widths)[0])
        return -least if least < -1e-12 * float(self.half_widths.max()) else 0.0

    @property
    def _deviations(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.center), 0.0))

    @property
    def _units(self) -> Array:
        """The deviations as units of the columns, none of them zero."""
        found = self._deviations
        return np.maximum(found, 1e-8 * found.max()) if found.any() else np.ones(found.size)

    def membership(self, S: cp.Expression) -> list[Any]:
        """Each entry is within its bound, and those of no width are known."""
        flat = self._widths == 0
        if not flat.any():
            return [cp.abs(S - self.center) <= self.radius * self._widths]
        known = np.triu(flat)
        apart = [] if flat.all() else [cp.abs((S - self.center)[~flat]) <= self.radius * self._widths[~flat]]
        return [S[known] == self.center[known], *apart]

    def worst_deviation(self, a: cp.Expression) -> Counterpart:
        """The semidefinite program, or the formula of entries that are free of each other."""
        if not self.semidefinite:
            size = cp.Variable(self.dimension)
            bounded = self._widths + self._excess * np.eye(self.dimension)
            added = self.tuned("radius", np.sqrt) * cp.norm(range_factor(bounded) @ size)
            # The form in |a| grows with each entry since D has no negative ones: the bound below is tight.
            return Counterpart(cp.norm(cp.hstack([cp.norm(self.factor @ a), added])), [cp.abs(a) <= size])
        p = self.dimension
        whole = cp.Variable((p + 1, p + 1), PSD=True)
        M, level = whole[:p, :p], whole[p, p]
        # In units of the largest deviations, so that the matrices are of size one whatever the columns' units and the radius.
        units = np.sqrt(self._units**2 + self.radius * np.diag(self._widths))
        widths, correlation = self._widths / np.outer(units, units), self.center / np.outer(units, units)
        spread = cp.sum(cp.multiply(widths, cp.abs(M)))
        paid = cp.sum(cp.multiply(correlation, M)) + self.tuned("radius") * spread
        return Counterpart(convex(level), [paid <= level, whole[:p, p] == cp.multiply(units, a)])

    def sample(self, rng: np.random.Generator) -> Array:
        """Random entries, drawn back towards the centre where the matrix would leave the cone."""
        step = np.triu(rng.uniform(-1.0, 1.0, (self.dimension, self.dimension)))
        return semidefinite_step(self.center, self.radius * self._widths * (step + np.triu(step, 1).T))

    def gauge(self, S: Array) -> float:
        """The largest change of an entry in half-widths."""
        units = np.outer(self._units, self._units)
        return largest_ratio((S - self.center) / units, self._widths / units, self.center / units)
