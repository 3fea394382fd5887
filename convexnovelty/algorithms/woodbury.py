r"""The Gram matrix under a Mahalanobis metric, from the plain one: Woodbury's identity, four ways.

With the covariance :math:`\Sigma = rI + cXHX'` of a sample whose Gram matrix is :math:`K = X'X`, and
:math:`H = I - 11'/n`, products in the metric need K alone:

.. math:: X'\Sigma^{-1}X = \tfrac1r\left(K - cKH(rI + cHKH)^{-1}HK\right) = (rK^{-1} + cH)^{-1},

and a normal :math:`w = \Sigma^{-1}Xv` has the expansion :math:`w = X\gamma` with :math:`\gamma = (rI + cHK)^{-1}v`.

Source: Tsang, Kwok and Li (2006), equations 6 to 9.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from convexnovelty.columns import columns_as_rows
from convexnovelty.errors import InputError
from convexnovelty.validation import Array, nonnegative, points, positive, square, symmetric, vector

__all__ = ["centred", "expansion", "metric_gram", "metric_gram_by_inverse", "metric_gram_of_shape", "metric_root"]


def centred(K: Array) -> Array:
    """H K H of shape (n, n)."""
    K = square(K, "K")
    means = K.mean(axis=0)
    return np.asarray(K - means - means[:, None] + means.mean())


def _inner(K: Array, r: float, c: float) -> tuple[Array, bool]:
    """The Cholesky factor of r I + c H K H, whose least eigenvalue is r."""
    block = c * centred(K)
    block.flat[:: len(K) + 1] += r
    try:
        factor: tuple[Array, bool] = cho_factor(block, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise InputError(
            f"radius: {r:.3g} was found, which is lost in the rounding of the covariance's size {c * np.trace(K):.3g}; "
            "give a larger radius"
        ) from error
    return factor


def metric_gram(K: Array, r: float, c: float) -> Array:
    r""":math:`\frac1r(K - cKH(rI + cHKH)^{-1}HK)` (equation 7), for r > 0 and c >= 0; K may be singular.

    Raises InputError where K is not symmetric, and for numbers out of range.
    """
    K, r, c = symmetric(columns_as_rows(K), "K"), positive(r, "r"), nonnegative(c, "c")
    if c == 0:
        return K / r
    HK = K - K.mean(axis=0)
    made = (K - c * (HK.T @ cho_solve(_inner(K, r, c), HK, check_finite=False))) / r
    return np.asarray((made + made.T) / 2)


def metric_gram_by_inverse(K: Array, r: float, c: float) -> Array:
    r""":math:`(rK^{-1} + cH)^{-1}` (equations 8 and 9, as printed), for an invertible K.

    Raises LinAlgError where K is singular to working precision.
    """
    K, r, c = square(K, "K"), positive(r, "r"), nonnegative(c, "c")
    n = len(K)
    block = r * cho_solve(cho_factor(K, lower=True, check_finite=False), np.eye(n), check_finite=False)
    block += c * (np.eye(n) - 1 / n)
    made = cho_solve(cho_factor((block + block.T) / 2, lower=True, check_finite=False), np.eye(n), check_finite=False)
    return np.asarray((made + made.T) / 2)


def metric_gram_of_shape(K: Array, c: float) -> Array:
    r""":math:`\tilde K - \tilde KH(\frac1cI + H\tilde KH)^{-1}H\tilde K` (section II-B, before equation 9), for c > 0.

    K is here :math:`\tilde K = X'\Delta^{-1}X`, the Gram matrix in the metric of the set's shape.
    """
    K, c = square(K, "K"), positive(c, "c", squared=True)
    HK = K - K.mean(axis=0)
    made = K - HK.T @ cho_solve(_inner(K, 1 / c, 1.0), HK, check_finite=False)
    return np.asarray((made + made.T) / 2)


def metric_root(factor: Array, c: float) -> Array:
    r"""A matrix R of the shape (n, q) of the features F with :math:`RR' = (K^{-1} + cH)^{-1}`, :math:`K = FF'`, for c >= 0.

    It is :math:`FT^{-1}` with the triangle T of :math:`(I, \sqrt cF'H)'`, and keeps the digits that a Gram matrix squares away.
    """
    factor, c = points(factor, "factor"), nonnegative(c, "c")
    if c == 0:
        return factor
    stacked = np.vstack([np.eye(factor.shape[1]), c**0.5 * (factor - factor.mean(axis=0))])
    triangle = np.linalg.qr(stacked, mode="r")
    return np.asarray(solve_triangular(triangle, factor.T, trans="T", check_finite=False).T)


def expansion(K: Array, v: Array, r: float, c: float) -> Array:
    r"""The coefficients :math:`\gamma = (rI + cHK)^{-1}v` with :math:`\Sigma^{-1}Xv = X\gamma`.

    A point scores :math:`\sum_i\gamma_i k(x_i, z)`. The system is solved in its symmetric form,
    :math:`\gamma = \frac1r(v - cH(rI + cHKH)^{-1}HKv)`.
    """
    K = square(K, "K")
    v, r, c = vector(v, "v", len(K)), positive(r, "r"), nonnegative(c, "c")
    if c == 0:
        return v / r
    Kv = K @ v
    inner = cho_solve(_inner(K, r, c), Kv - Kv.mean(), check_finite=False)
    return np.asarray((v - c * (inner - inner.mean())) / r)
