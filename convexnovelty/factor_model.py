r"""Covariances replaced by a few factors and a diagonal, with a lower and an upper bound in every direction.

With the singular values s and the left vectors U of the centred data (features by rows), divided by :math:`\sqrt N`,

.. math:: D = \frac{s_{k+1}^2}{N} I,\quad F = \frac{1}{\sqrt N} U_k S_k:\qquad
    w'FF'w \ \le\ w'\Sigma w \ \le\ w'(D + FF')w.

Errata of the paper's section 3.2: the factor is printed with 1/N, with which the upper bound fails, and
:math:`\Sigma = US^2U'/N` lacks its transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexnovelty.covariances import EPS, factored, leading
from convexnovelty.moments import Moments
from convexnovelty.validation import Array, integer
from convexnovelty.whitening import as_points, is_sparse

__all__ = ["factor_model"]


def factor_model(source: Any, rank: Any, *, scaled: bool = True) -> Moments:
    r"""Moments of low rank plus a diagonal whose covariance is at least that of the source in every direction.

    Parameters
    ----------
    source : (n, p) points, dense or scipy sparse (never expanded), or Moments.
    rank : the number k of factors; 0 keeps the diagonal alone, which normalises each feature.
    scaled : whether the factors are those of features scaled to variance one (the paper's footnote): D then follows
        the variances, and a change of a feature's unit changes the model by that unit alone.

    Returns
    -------
    Moments with ``loadings`` F' of shape (k, p) and ``specific_variances`` the diagonal of D.

    Source: Leclère, Grave and El Ghaoui (2016), equation 11.
    """
    count = integer(rank, "rank", 0)
    moments = source if isinstance(source, Moments) else None
    if moments is None:
        source = as_points(source, "source")
        moments = Moments.estimate(source, representation="diagonal")
    deviations = np.sqrt(moments.variances) if scaled else np.ones(moments.dimension)
    divisor = np.where(deviations > 0, deviations, 1.0)
    if isinstance(source, Moments):
        values, axes = factored(source.loadings / divisor)
        loadings, added = leading(values, axes, count, max(source.loadings.shape) * EPS)
        # Factors of the rows themselves bound what they cut; those of variances alone know nothing of correlations.
        return _assembled(source, loadings, added, divisor, source.specific_variances, source.forced_diagonal)
    rescaled = source.multiply(1 / divisor).tocsc() if is_sparse(source) else source / divisor
    found = Moments.estimate(rescaled, rank=max(count, 1))
    if count == 0:
        largest = np.linalg.norm(found.loadings, axis=1).max(initial=0.0)
        added = np.full(moments.dimension, float(largest) ** 2)
        return _assembled(moments, found.loadings[:0], added, divisor, np.zeros(moments.dimension))
    # What the estimate put on the diagonal is the next eigenvalue, the same for every scaled feature.
    return _assembled(moments, found.loadings, found.specific_variances, divisor, np.zeros(moments.dimension))


def _assembled(
    moments: Moments, loadings: Array, added: Array, scale: Array, specific: Array, forced: bool = False
) -> Moments:
    """Back in the units of the features; a feature without variance gets none."""
    added = np.where(moments.variances > 0, added * scale**2, 0.0)
    made = Moments.low_rank(moments.mean, loadings * scale, specific + added, moments.count, moments.ddof)
    made.forced_diagonal = forced
    return made
