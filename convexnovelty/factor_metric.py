r"""The metric of :math:`S = F'F + \mathrm{diag}(d)`, by Woodbury's identity in columns where it keeps digits.

The identity subtracts what the factors explain from :math:`D^{-1}`, and loses as many digits as d is smaller than the
variance. A column with nearly nothing of its own (a sum of others, a Heywood case) has none left. So columns B whose d is
a fair share of the variance are eliminated by the identity, and the others A meet what is left of the covariance as a
factor, whose singular values are those of standard deviations and not of variances:

.. math:: x'S^{-1}z = x_B'S_B^{-1}z_B + y'(D_A + F_A'MF_A)^+ y^z,\qquad
    M = (I + F_BD_B^{-1}F_B')^{-1},\quad y = x_A - F_A'MF_BD_B^{-1}x_B.

All directions without variance lie in A and in constant columns, since every other column has a variance of its own.
"""

from __future__ import annotations

import numpy as np

from convexnovelty.covariances import EPS, Spectrum, stacked
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.validation import Array

__all__ = ["FactorMetric"]

# The share of a column's variance that is its own below which Woodbury's identity loses more than four digits.
OWN = 1e-4

# The share below which four digits are not left of it.
LOST = 1e-12

# So many columns with little of their own are taken apart with their diagonal, at a cost of the third power.
LARGEST = 1000


class FactorMetric:
    r"""A generalised inverse of S that is decided once: its rank, its range, and products with it.

    ``rounding`` of shape (p,) is a deviation that each column may owe to rounding of its entries, which counts where several
    columns nearly cancel, as a sum and its terms do. A column with no more spread than that stands for itself.

    Attributes
    ----------
    rank : that of S, singular values of no more than rounding left out; in columns of variance 1, as in
        :mod:`convexnovelty.covariances`.
    deviations : (p,), of the columns.
    roots : (p,), one over the square root of d in the columns B, and zero elsewhere.
    axes, shares : (q, p) and (q,), what the identity takes off in B: ``axes`` are V' and ``shares`` s^2 / (1 + s^2), with
        the singular values of F_B over the roots of d.
    rest : (k, p), the rows that take x to coordinates of y in which the covariance of y is the identity.
    sigma, spanning : (k,) and (k, p), singular values of that covariance's factor, and the orthonormal axes, in columns A
        of variance 1, of all that is not a direction without variance.
    """

    rank: int
    deviations: Array
    roots: Array
    axes: Array
    shares: Array
    rest: Array
    sigma: Array
    spanning: Array

    def __init__(self, F: Array, d: Array, rounding: Array) -> None:
        p = d.size
        variances = np.einsum("ij,ij->j", F, F) + d
        self.deviations = np.sqrt(variances)
        own = d / np.where(variances > 0, variances, 1.0)
        # A column by itself is known exactly: only where it meets others is a part of its spread taken for rounding.
        noise = np.where(rounding < self.deviations, rounding / self.divisor, 0.0)
        # As small beside the column as a singular value of rounding.
        own[own <= np.maximum((len(F) + p) * EPS, noise) ** 2] = 0.0
        hard = _hard(own, variances)
        soft = np.setdiff1d(np.flatnonzero(variances > 0), hard)
        self.roots, self.axes = np.zeros(p), np.zeros((min(len(F), soft.size), p))
        self.roots[soft] = 1 / np.sqrt(d[soft])
        U, s, self.axes[:, soft] = np.linalg.svd(F[:, soft] * self.roots[soft], full_matrices=False)
        self.shares = s**2 / (1 + s**2)
        # What is left of the factors in A once B is known: M^(1/2) F_A over the deviations.
        explained = F[:, hard] / self.deviations[hard]
        along = U.T @ explained
        rows = stacked(explained - U @ ((1 - np.sqrt(1 - self.shares))[:, None] * along), own[hard])
        _, sigma, spanning = np.linalg.svd(rows, full_matrices=False)
        least = max(rows.shape) * EPS * max(float(sigma.max(initial=0.0)), 1.0)
        kept = sigma > np.maximum(least, np.linalg.norm(spanning * noise[hard], axis=1))
        self.sigma, self.spanning = sigma[kept], np.zeros((int(kept.sum()), p))
        self.spanning[:, hard] = spanning[kept]
        known = (s / (1 + s**2))[:, None] * along @ spanning[kept].T
        self.rest = (self.spanning / self.divisor - known.T @ self.axes * self.roots) / self.sigma[:, None]
        self.rank = soft.size + self.sigma.size
        self._close()

    @classmethod
    def of_spectrum(cls, found: Spectrum) -> FactorMetric:
        """The same of a covariance that is known by its spectrum: all columns are A."""
        made = cls.__new__(cls)
        made.deviations, made.sigma, axes = found
        p = made.deviations.size
        made.roots, made.axes, made.shares = np.zeros(p), np.zeros((0, p)), np.zeros(0)
        made.spanning = axes * (made.deviations > 0)
        made.rest = made.spanning / made.sigma[:, None] / made.divisor
        made.rank = made.sigma.size
        made._close()
        return made

    def _close(self) -> None:
        for part in vars(self).values():
            if isinstance(part, np.ndarray):
                read_only(part)

    @property
    def divisor(self) -> Array:
        """The deviations, and one for a column without."""
        return np.where(self.deviations > 0, self.deviations, 1.0)

    def solve(self, V: Array) -> Array:
        """Some X with S X = V, for V of shape (p,) or (p, m) in the range of S."""
        roots, shares = (self.roots, self.shares) if V.ndim == 1 else (self.roots[:, None], self.shares[:, None])
        scaled = roots * V
        return np.asarray(
            roots * (scaled - self.axes.T @ (shares * (self.axes @ scaled))) + self.rest.T @ (self.rest @ V)
        )

    def shortest(self, x: Array) -> Array:
        """The part of x of shape (p,) in the range of S: of all solutions the shortest one."""
        if self.rank == x.size:
            return x
        basis, _ = np.linalg.qr((self.spanning * self.deviations).T)
        return np.asarray(np.where(self.roots > 0, x, basis @ (basis.T @ x)))

    def on_range(self, rows: Array) -> Array:
        """The part of rows of shape (n, p) along directions with a variance, in columns of variance 1."""
        return np.asarray(np.where(self.roots > 0, rows, rows @ self.spanning.T @ self.spanning))

    def beyond(self, v: Array) -> tuple[Array, Array]:
        """Of v of shape (p,) the part in A along directions without variance, and all of it in A, in deviations."""
        scaled = np.where((self.roots > 0) | (self.deviations == 0), 0.0, v / self.divisor)
        residual = scaled - self.spanning.T @ (self.spanning @ scaled)
        # A second time, so that a small remainder is orthogonal too.
        return residual - self.spanning.T @ (self.spanning @ residual), scaled


def _hard(own: Array, variances: Array) -> Array:
    """The columns A: those with nothing of their own, and of the others the ones with the least share of it."""
    little = np.flatnonzero((variances > 0) & (own > 0) & (own < OWN))
    little = little[np.argsort(own[little], kind="stable")]
    if little.size > LARGEST and own[little[LARGEST]] < LOST:
        raise InputError(
            f"covariance: {int((own[little] < LOST).sum())} columns were found of whose variance less than the share {LOST:g} "
            f"is their own, where {LARGEST} can be told from the factors; add a ridge, or leave such columns out"
        )
    return np.sort(np.append(np.flatnonzero((variances > 0) & (own == 0)), little[:LARGEST]))
