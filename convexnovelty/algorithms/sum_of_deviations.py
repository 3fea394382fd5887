r"""The direction with the least sum of two standard deviations: one scalar equation instead of a cone program.

.. math:: \frac1{\kappa_*} = \min_a \sqrt{a'C_xa} + \sqrt{a'C_ya} \quad\text{s.t.}\quad a'd = 1.

Stationarity says :math:`a \sim (C_x + tC_y)^{-1}d` with :math:`t = \sqrt{a'C_xa}/\sqrt{a'C_ya}`. In axes in which
:math:`C_x = \mathrm{diag}(\mu)` and :math:`C_y = \mathrm{diag}(\nu)` with :math:`\mu + \nu = 1`, and d has the
coordinates :math:`\delta`, this is the root of a function of t alone,

.. math:: g(t) = \sum_i \delta_i^2\,\frac{\mu_i - \nu_i t^2}{(\mu_i + \nu_i t)^2}
    \sim \frac{d}{d\theta}\,\kappa^2(\theta), \qquad
    \kappa^2(\theta) = \sum_i \delta_i^2\Big/\Big(\frac{\mu_i}{\theta} + \frac{\nu_i}{1 - \theta}\Big), \quad
    \theta = \frac t{1 + t},

the derivative of a concave function whose maximum is :math:`\kappa_*^2`, so that the root is unique, or lies at an
end: t = 0 where the first covariance vanishes along the best direction, infinity where the second does.

The common axes come from factors, :math:`C_x = F'F` and :math:`C_y = G'G`: a matrix of squares knows the directions in
which it vanishes to rounding of its largest entry, which is much where the other class varies little. The right singular
vectors of F over G make the pooled covariance the identity, and those of the part that belongs to F both diagonal.

Where the pooled covariance is well conditioned, a few Cholesky factorisations of :math:`C_x + tC_y` in Newton's iteration
on log t find the same root in a fraction of the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from convexnovelty.covariances import EPS, spectrum
from convexnovelty.errors import InputError
from convexnovelty.factor_metric import FactorMetric
from convexnovelty.moments import RANGE_TOLERANCE
from convexnovelty.validation import Array, symmetric, vector

__all__ = ["Axes", "Direction", "Spread", "by_axes", "by_factorisations", "sum_of_deviations"]

# Least reciprocal condition number at which a factorisation is trusted: seven digits are left then.
CONDITION = 1e-9
END = 12.0  # |log t| beyond which the root is looked for in axes
STEPS = 30
LAST = 1e-7  # a step in log t that is exact to rounding
STEEPEST = 1.0 - 1e-6  # a ratio that grows as t does has its root at an end, or nowhere that a step would find
ROUNDING = 1e-10  # |log(ratio / t)| that a factorisation may leave


@dataclass(frozen=True)
class Spread:
    """A covariance by the rows of a factor, of shape (r, p); ``squared`` where these were taken from the matrix, and r
    is its rank."""

    rows: Array
    squared: bool = False

    @classmethod
    def of(cls, covariance: Array, name: str = "covariance") -> Spread:
        """The factor of a matrix. Raises IndefiniteError if it is no covariance."""
        scale, sigma, axes = spectrum(covariance, name)
        return cls(sigma[:, None] * axes * scale, squared=True)

    def over(self, divisor: Array) -> tuple[Array, float]:
        """At most p rows in columns divided by ``divisor``, and the deviation that rounding may leave where there is none.

        A null direction of a matrix is known to its rounding over the least variance beside it, and has the deviation
        there of so much of the direction that it is mixed with.
        """
        rows = self.rows / divisor
        rows = np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows
        if not self.squared or not 0 < len(rows) < rows.shape[1]:
            return rows, 0.0
        sigma = np.linalg.svd(rows, compute_uv=False)
        return rows, float(divisor.size * EPS * sigma[0] ** 2 / max(float(sigma[-1]), np.finfo(float).tiny))


@dataclass(frozen=True)
class Axes:
    """Columns of ``matrix`` (p, r) in which both covariances are diagonal and add up to the identity, the variances
    ``first`` and ``second`` (r,) along them, ``inverse`` (r, p), which takes a vector to its coordinates, and the
    ``pooled`` covariance's inverse on its range."""

    matrix: Array
    inverse: Array
    first: Array
    second: Array
    pooled: FactorMetric

    @classmethod
    def of(cls, first: Spread, second: Spread) -> Axes:
        """The common axes of two covariances of shape (p, p), on the range of their sum."""
        deviations = np.sqrt(sum(np.einsum("ij,ij->j", part.rows, part.rows) for part in (first, second)))
        divisor = np.where(deviations > 0, deviations, 1.0)
        (F, lost), (G, other) = first.over(divisor), second.over(divisor)
        both = np.vstack([F, G])
        U, sigma, axes = np.linalg.svd(both, full_matrices=False)
        kept = sigma > max(max(both.shape) * EPS * float(sigma.max(initial=0.0)), lost, other)
        U, sigma, axes = U[:, kept], sigma[kept], axes[kept]
        turn, mu, nu = _shares(U[: len(F)], U[len(F) :])
        white = (axes / sigma[:, None] / divisor).T * (deviations > 0)[:, None]
        inverse = turn.T @ (sigma[:, None] * axes * divisor)
        return cls(white @ turn, inverse, mu, nu, FactorMetric.of_spectrum((deviations, sigma, axes)))

    def null_direction(self, d: Array) -> Array | None:
        """A direction along which neither class varies and which tells d from zero, or None, as
        :meth:`convexnovelty.Moments.null_direction` has it."""
        constant = self.pooled.deviations == 0
        missed = np.where(constant, d, 0.0)
        if np.abs(missed).max() > RANGE_TOLERANCE * np.abs(d).max():
            return missed
        residual, scaled = self.pooled.beyond(d)
        if np.linalg.norm(residual) <= RANGE_TOLERANCE * np.linalg.norm(scaled):
            return None
        return np.asarray(residual / self.pooled.divisor)


def _shares(A: Array, B: Array) -> tuple[Array, Array, Array]:
    r"""A rotation W (r, r) with :math:`W'A'AW = \mathrm{diag}(\mu)` and :math:`W'B'BW = \mathrm{diag}(\nu)`, for
    :math:`A'A + B'B = I`; and both diagonals."""
    _, cosines, rows = np.linalg.svd(A, full_matrices=True)
    W = np.array(rows.T)
    # Near one the cosines do not tell the axes apart, and 1 - mu would lose the digits of a share near zero. The
    # other part's singular values do.
    large = np.zeros(len(W), dtype=bool)
    large[: cosines.size] = cosines > math.sqrt(0.5)
    W[:, large] = W[:, large] @ np.linalg.svd(B @ W[:, large], full_matrices=True)[2].T
    shares = [np.linalg.norm(part @ W, axis=0) for part in (A, B)]
    mu, nu = (np.where(share <= 8.0 * len(W) * EPS, 0.0, share**2) for share in shares)
    return W, mu, nu


@dataclass(frozen=True)
class Direction:
    """The minimiser ``a`` (p,) with a'd = 1, the two standard deviations along it, their ratio ``t``, and
    ``kappa`` = 1 / (their sum), infinite where d leaves the range of both covariances."""

    a: Array
    first: float
    second: float
    t: float

    @property
    def value(self) -> float:
        """The sum of the deviations."""
        return self.first + self.second

    @property
    def kappa(self) -> float:
        """The reciprocal of the sum."""
        return 1.0 / self.value if self.value > 0 else math.inf


def sum_of_deviations(first: Array, second: Array, difference: Array) -> Direction:
    """Minimise the sum of the standard deviations of two covariances over the directions with a'd = 1.

    Parameters
    ----------
    first, second : (p, p) symmetric and positive semidefinite; singular is fine. Eigenvalues of a correlation matrix that
        are no more than its rounding count as zero.
    difference : (p,) the vector d.

    Raises
    ------
    InputError for d = 0, IndefiniteError for a matrix that is no covariance.
    """
    d = vector(difference, "difference")
    first, second = symmetric(first, "first", d.size), symmetric(second, "second", d.size)
    if not d.any():
        raise InputError("difference: the zero vector was found; give two different means")
    spreads = Spread.of(first, "first"), Spread.of(second, "second")
    quick = by_factorisations(first, second, d)
    return by_axes(*spreads, d) if quick is None else quick


def by_factorisations(first: Array, second: Array, d: Array) -> Direction | None:
    r"""The root by Cholesky factorisations, or None where it is at an end or a factorisation loses too many digits.

    The deviations' ratio along the direction at t exceeds t below the root and falls short of it above, so that the
    Newton steps for :math:`\log(\text{ratio}(t)/t) = 0` are kept in a bracket.
    """
    pooled = first.diagonal() + second.diagonal()
    if not (pooled > 0).all():
        return None
    # In columns of pooled variance one the condition is that of the correlations, whatever the units.
    scale = 1.0 / np.sqrt(pooled)
    A, B, e = first * scale[:, None] * scale, second * scale[:, None] * scale, d * scale
    low, high, log_t = -END, END, 0.0
    for _ in range(STEPS):
        t = math.exp(log_t)
        found = _stationary(A, B, e, t)
        if found is None:
            return None
        y, change, logarithm, slope, factor = found
        miss = logarithm - log_t
        if not slope < STEEPEST:
            return None
        step = miss / (1.0 - slope)
        if abs(step) <= LAST:
            # The step from here on is exact to the square of this, so that no matrix needs to be factorised for it.
            moved = math.exp(log_t + step)
            y = y + (moved - t) * change
            variances = float(y @ (A @ y)), float(y @ (B @ y))
            left = 0.5 * math.log(variances[0] / variances[1]) - math.log(moved)
            # Entries are at most one where the pooled variances are, and columns sum to p at most.
            sound = _reciprocal_condition(factor, max(1.0, t) * y.size) >= CONDITION and abs(left) <= ROUNDING
            along = float(y @ e)
            deviations = [math.sqrt(v) / abs(along) for v in variances]
            return Direction(y * scale / along, deviations[0], deviations[1], moved) if sound else None
        low, high = (log_t, high) if miss > 0 else (low, log_t)
        # The fixed point's own step contracts, and halving the bracket cannot fail.
        candidates = (log_t + step, log_t + miss, (low + high) / 2)
        log_t = next(candidate for candidate in candidates if low <= candidate <= high)
    return None


def _stationary(A: Array, B: Array, e: Array, t: float) -> tuple[Array, Array, float, float, Array] | None:
    r"""y = (A + tB)^{-1} e and its derivative in t, the logarithm of its deviations' ratio with the derivative in log t,
    and the triangle; None where one of them is lost.

    With :math:`y' = -(A+tB)^{-1}By`, the variance :math:`y'Ay` has the derivative :math:`2y'Ay'`, and so has the other.
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix = t * B
    matrix += A
    # The transpose of a symmetric array in C order is the same matrix in LAPACK's order, and is not copied.
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    y = dpotrs(factor, e, lower=1)[0]
    first, second = A @ y, B @ y
    va, vb = float(y @ first), float(y @ second)
    if not min(va, vb) > 1e-12 * max(va, vb):
        return None
    change = -dpotrs(factor, second, lower=1)[0]
    slope = t * (float(change @ first) / va - float(change @ second) / vb)
    return y, change, 0.5 * math.log(va / vb), slope, factor


def _reciprocal_condition(factor: Array, norm: float) -> float:
    from scipy.linalg.lapack import dpocon

    return float(dpocon(factor, norm, uplo="L")[0])


def by_axes(first: Spread, second: Spread, d: Array) -> Direction:
    """The root in axes in which both covariances are diagonal: any covariances, singular ones too."""
    axes = Axes.of(first, second)
    outside = axes.null_direction(d)
    if outside is not None:
        # Neither class varies along this direction, so it tells them apart for certain.
        return Direction(outside / (d @ outside), 0.0, 0.0, math.nan)
    delta = axes.matrix.T @ d
    t = _ratio(axes.first, axes.second, delta**2)
    weights = _weights(axes.first, axes.second, t)
    kappa_squared = float(weights @ delta**2)
    y = weights * delta / kappa_squared
    first_deviation, second_deviation = (float(np.sqrt(v @ y**2)) for v in (axes.first, axes.second))
    return Direction(axes.matrix @ y, first_deviation, second_deviation, t)


def _ratio(mu: Array, nu: Array, squares: Array) -> float:
    """The root t of g; zero or infinite where the maximum of the concave function is at an end."""
    from scipy.optimize import brentq

    mu, nu, squares = (part[squares > 0] for part in (mu, nu, squares))
    with np.errstate(divide="ignore"):
        at_zero = (squares[mu > 0] / mu[mu > 0]).sum() - (squares[mu == 0] / nu[mu == 0]).sum()
        at_infinity = (squares[nu == 0] / mu[nu == 0]).sum() - (squares[nu > 0] / nu[nu > 0]).sum()
        if at_zero <= 0:
            return 0.0
        if at_infinity >= 0:
            return math.inf
        # Each term changes its sign at the root of mu/nu, so the root of the sum lies between the smallest and the
        # largest of these.
        ends = 0.5 * (np.log(mu) - np.log(nu))

    def derivative(log_t: float) -> float:
        t = math.exp(log_t)
        return float((squares * (mu - nu * t * t) / (mu + nu * t) ** 2).sum())

    low, high = max(float(ends.min()), -100.0), min(float(ends.max()), 100.0)
    if high - low <= 1e-15 or derivative(low) <= 0:
        return math.exp(low)
    if derivative(high) >= 0:
        return math.exp(high)
    return math.exp(brentq(derivative, low, high, xtol=1e-15, rtol=8.9e-16))


def _weights(mu: Array, nu: Array, t: float) -> Array:
    """1 / (mu / theta + nu / (1 - theta)), with its limits at the ends of the interval."""
    if t == 0.0 or math.isinf(t):
        silent, other = (mu, nu) if t == 0.0 else (nu, mu)
        return np.where(silent == 0, 1.0 / np.where(other > 0, other, 1.0), 0.0)
    return np.asarray(t / (1.0 + t) / (mu + nu * t))
