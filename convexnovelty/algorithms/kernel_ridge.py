r"""Kernel ridge regression of the constant one, which is the single-class minimax probability machine, at any size.

With shares :math:`p_i` of the points, :math:`q_i = \sqrt{p_i}` and :math:`A = \mathrm{diag}(q)K\mathrm{diag}(q)`,

.. math:: (A + \rho I)h = q, \qquad c_i = q_i h_i, \qquad f = Kc,

so that for equal shares :math:`c = (K + n\rho I)^{-1}1`. The covariance S and the mean m of the feature vectors have
:math:`(S + \rho I)^{-1}m = \sum_i c_i\varphi(x_i)\,/\,\rho q'h` and
:math:`m'(S + \rho I)^{-1}m = q'Ah\,/\,\rho q'h`, both by the formula of Sherman and Morrison for S + mm'.

Few points: one Cholesky factorisation, refined once. Many: conjugate gradients on products with K that is never stored,
preconditioned by a partial Cholesky factor F whose pivots are drawn in proportion to what is left of the diagonal
(randomly pivoted Cholesky), :math:`M = \mathrm{diag}(q)FF'\mathrm{diag}(q) + \rho I`. Either way the residual is
evaluated anew with the answer, and bounds the error: the root mean square of the error of f over the sample is at most
:math:`\|r\|`, since :math:`A(A+\rho I)^{-1} \preceq I`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from convexnovelty.algorithms.box import Indices
from convexnovelty.algorithms.gram import Gram, gram_of, indefinite_kernel
from convexnovelty.algorithms.smo import refuse_indefinite
from convexnovelty.errors import InputError, SolverError
from convexnovelty.kernels import Kernel, Precomputed, as_kernel
from convexnovelty.validation import Array, integer, positive, vector
from convexnovelty.validation import points as check_points

__all__ = ["RidgeCertificate", "RidgeSolution", "kernel_ridge", "low_rank_error", "random_pivots"]

DENSE = 1200  # points up to which a factorisation is quicker than iterations
PIVOTS = 64  # columns that are drawn at a time, for one product of matrices with what was drawn before
ROUNDS = 6  # times that iterations start anew from a residual in full accuracy
SAMPLED = 1000  # rows in which the residual of a low-rank answer is looked at where there are more
SAFE = 0.1  # share of the spread of the scores that the error of a low-rank answer may reach


@dataclass(frozen=True)
class RidgeCertificate:
    """How exact the scores are: ``error`` bounds the root mean square of their error, in units of their spread.

    It comes from a residual in float64 whose kernel values were all evaluated anew; for a low-rank answer from a sample
    of its rows. ``iterations`` products with K led there; ``rank`` columns made the preconditioner, or the answer.
    """

    error: float
    iterations: int
    rank: int


@dataclass(frozen=True)
class RidgeSolution:
    """The answer to the ridge system and how exact it is.

    coefficients: c, shape (n,). scores: f(x_i) = sum_j c_j k(x_j, x_i), shape (n,). spread: their standard deviation.
    ridge: rho. overlap: q'h. share: q'Ah. residual: the norm of q - (A + rho I)h with every kernel value evaluated
    anew; the norm of q is 1. kernel: with its numbers. iterations: products with K until then. rank: columns of the
    preconditioner, 0 without.
    """

    coefficients: Array
    scores: Array
    spread: float
    ridge: float
    overlap: float
    share: float
    residual: float
    kernel: Kernel
    iterations: int
    rank: int

    @property
    def certificate(self) -> RidgeCertificate:
        """The residual in units of the spread of the scores."""
        error = self.residual / self.spread if self.spread > 0 else self.residual
        return RidgeCertificate(error, self.iterations, self.rank)

    @cached_property
    def zeta(self) -> float:
        """The root of m'(S + rho I)^{-1}m."""
        return float(np.sqrt(max(self.share, 0.0) / (self.ridge * self.overlap)))

    def scale(self, multiplier: float) -> float:
        """What c has to be multiplied by for the machine's a'z >= 1 at kappa + nu = ``multiplier``, below zeta.

        Raises InputError from zeta on, where no such machine exists.
        """
        if not multiplier < self.zeta:
            raise InputError(f"multiplier: {multiplier:.10g} was found; give a number below zeta = {self.zeta:.10g}")
        return 1.0 / (self.ridge * self.overlap * (self.zeta**2 - multiplier * self.zeta))


def kernel_ridge(
    points: Any,
    kernel: Any,
    ridge: Any,
    *,
    weights: Any = None,
    tolerance: float = 1e-10,
    rank: int | None = None,
    seed: int = 0,
    threads: int = 1,
    direct: int = DENSE,
    max_iterations: int = 1000,
) -> RidgeSolution:
    r"""Solve the ridge system of the points (n, p) under a kernel, or under a Gram matrix (n, n) if precomputed.

    Parameters
    ----------
    ridge : rho > 0, in the units of k(x, x).
    weights : (n,) not negative, of which shares are made; None for equal shares.
    tolerance : the residual to reach, relative to the norm of q.
    rank : columns of the preconditioner at most; by default a few times the root of n, fewer if these are enough.
    seed : of the pivots. The same seed and ``threads`` give the same answer to the last bit.
    direct : points up to which the matrix is formed and factorised.
    max_iterations : products with K in all.

    Raises
    ------
    InputError for arguments out of range, IndefiniteError where the kernel shows not to be positive semidefinite, and
    SolverError with the residual that was reached where iterations end above the tolerance.
    """
    X = check_points(as_kernel(kernel).known(points), "points")
    kernel = as_kernel(kernel).fitted(X)
    rho, tolerance = positive(ridge, "ridge"), positive(tolerance, "tolerance")
    gram = gram_of(X, kernel, integer(threads, "threads", 1))
    system = _System(gram, _roots(weights, gram.size), rho)
    unchecked = isinstance(kernel, Precomputed) or not kernel.semidefinite
    if gram.size <= direct:
        K = gram.block(np.arange(gram.size))
        if unchecked:
            refuse_indefinite(K, indefinite_kernel, kernel.rounding(X))
        h = _factorised(K, system)
        return _made(system, kernel, h, system.scores(h), 0, 0)
    if unchecked and float(gram.diagonal()[: gram.size].min()) < 0:
        raise indefinite_kernel(float(gram.diagonal()[: gram.size].min()))
    size = int(5 * np.sqrt(gram.size)) if rank is None else integer(rank, "rank", 1)
    factor = random_pivots(gram, _columns(X, kernel), size, rho / float(system.q.max() ** 2), seed)
    factor *= system.q[:, None]
    h, scores, products = _iterated(system, _woodbury(factor, rho), tolerance, max_iterations)
    return _made(system, kernel, h, scores, products, factor.shape[1])


class _System:
    """The operator A + rho I, its right-hand side q, and the scores of a vector."""

    def __init__(self, gram: Gram, q: Array, rho: float) -> None:
        self.gram, self.q, self.rho = gram, q, rho

    def scores(self, h: Array) -> Array:
        """K (q h)."""
        return self.gram.product(self.q * h)

    def residual(self, h: Array, scores: Array) -> Array:
        return np.asarray(self.q * (1.0 - scores) - self.rho * h)

    def __call__(self, h: Array) -> Array:
        return np.asarray(self.q * self.scores(h) + self.rho * h)


def _roots(weights: Any, n: int) -> Array:
    if weights is None:
        return np.full(n, n**-0.5)
    w = vector(weights, "weights", n)
    if (w < 0).any() or not w.any():
        raise InputError(
            f"weights: between {w.min():.6g} and {w.max():.6g} were found; give weights that are not negative, "
            "at least one of them above zero"
        )
    return np.asarray(np.sqrt(w / w.sum()))


def _made(system: _System, kernel: Kernel, h: Array, scores: Array, products: int, rank: int) -> RidgeSolution:
    squares = system.q**2
    mean = float(squares @ scores)
    return RidgeSolution(
        coefficients=system.q * h,
        scores=scores,
        spread=float(np.sqrt(squares @ (scores - mean) ** 2)),
        ridge=system.rho,
        overlap=float(system.q @ h),
        # q'Ah rather than 1 - rho q'h: for a large ridge the difference would cancel.
        share=mean,
        residual=float(np.linalg.norm(system.residual(h, scores))),
        kernel=kernel,
        iterations=products,
        rank=rank,
    )


def _factorised(K: Array, system: _System) -> Array:
    q = system.q
    matrix = q[:, None] * K * q
    matrix.flat[:: len(K) + 1] += system.rho
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except LinAlgError:
        raise indefinite_kernel(float(np.linalg.eigvalsh(K)[0])) from None
    h = cho_solve(factor, q, check_finite=False)
    return np.asarray(h + cho_solve(factor, q - matrix @ h, check_finite=False))


def _iterated(
    system: _System, precondition: Callable[[Array], Array], tolerance: float, limit: int
) -> tuple[Array, Array, int]:
    """Conjugate gradients, begun anew from the true residual while that is above the tolerance and falls."""
    h, scores = np.zeros_like(system.q), np.zeros_like(system.q)
    left, reached, products = system.q, 1.0, 0
    for _ in range(ROUNDS):
        step, count = _gradients(system, precondition, left, 0.5 * tolerance, limit - products)
        h, products = h + step, products + count
        scores = system.scores(h)
        left = system.residual(h, scores)
        before, reached = reached, float(np.linalg.norm(left))
        if reached <= tolerance:
            return h, scores, products
        if products >= limit or reached > before / 2:
            break
    raise SolverError(
        f"ridge: {system.rho:.3g} was found, at which {products} products with the Gram matrix left a residual of "
        f"{reached:.1e} where {tolerance:.1e} was asked for; give a larger ridge, a wider kernel, or a larger tolerance",
        status="iteration limit",
    )


def _gradients(
    system: _System, precondition: Callable[[Array], Array], right: Array, tolerance: float, limit: int
) -> tuple[Array, int]:
    x, r = np.zeros_like(right), right.copy()
    z = precondition(r)
    p, slope = z.copy(), float(r @ z)
    for count in range(1, limit + 1):
        Ap = system(p)
        curvature = float(p @ Ap)
        if curvature <= 0:
            raise indefinite_kernel(curvature / float(p @ p) - system.rho, "at most ")
        x += (slope / curvature) * p
        r -= (slope / curvature) * Ap
        if np.linalg.norm(r) <= tolerance:
            return x, count
        z = precondition(r)
        before, slope = slope, float(r @ z)
        p = z + (slope / before) * p
    return x, limit


def _woodbury(factor: Array, rho: float) -> Callable[[Array], Array]:
    r""":math:`(FF' + \rho I)^{-1}v = (v - F(\rho I + F'F)^{-1}F'v)/\rho`."""
    small = factor.T @ factor
    small.flat[:: len(small) + 1] += rho
    inner = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)
    return lambda v: (v - factor @ cho_solve(inner, factor.T @ v, check_finite=False)) / rho


def _columns(X: Array, kernel: Kernel) -> Callable[[Indices], Array]:
    if isinstance(kernel, Precomputed):
        return lambda chosen: X[:, chosen]
    return lambda chosen: kernel.evaluate(X, X[chosen])


def random_pivots(
    gram: Gram, columns: Callable[[Indices], Array], rank: int, negligible: float, seed: int = 0
) -> Array:
    r"""A factor F of shape (n, r) with FF' close to K from r columns that are drawn, r at most ``rank``.

    Columns are drawn without repetition in proportion to the diagonal of :math:`K - FF'`, several at a time, until
    their number is reached or the trace of what is left is below ``negligible``.

    Source: Chen, Epperly, Tropp and Webber (2023), Randomly pivoted Cholesky, algorithm 4 (blocks).
    """
    n, rng = gram.size, np.random.default_rng(seed)
    left = gram.diagonal()[:n].copy()
    trace = float(left.sum())
    factor = np.zeros((n, min(rank, n)))
    r = 0
    while r < factor.shape[1] and (total := float(left.sum())) > max(negligible, 1e-14 * trace):
        size = min(PIVOTS, factor.shape[1] - r, int((left > 0).sum()))
        drawn = np.sort(rng.choice(n, size=size, replace=False, p=left / total))
        found = columns(drawn)
        if r:
            found = found - factor[:, :r] @ factor[drawn, :r].T
        block = found[drawn]
        # Two of the drawn points may be next to equal: what rounding leaves of their difference must stay positive.
        block.flat[:: size + 1] += 10 * np.finfo(float).eps * trace
        try:
            triangle = np.linalg.cholesky(block)
        except np.linalg.LinAlgError:
            raise indefinite_kernel(float(np.linalg.eigvalsh(block)[0]), "at most ") from None
        factor[:, r : r + size] = solve_triangular(triangle, found.T, lower=True, check_finite=False).T
        left -= np.einsum("ij,ij->i", factor[:, r : r + size], factor[:, r : r + size])
        np.maximum(left, 0.0, out=left)
        left[drawn] = 0.0
        r += size
    return np.ascontiguousarray(factor[:, :r]) if r < factor.shape[1] else factor


def low_rank_error(
    points: Any, kernel: Any, coordinates: Array, ridge: float, *, weights: Any = None, seed: int = 0
) -> float:
    r"""How far the scores of a low-rank answer are from the exact ones, in units of their own spread.

    ``coordinates`` C (n, r) stand for the kernel, K ~ CC'. With the answer h of the system that has CC' in the place of
    K, and :math:`r = q - (A + \rho I)h`, the difference of the scores over the sample has a root mean square of at most
    :math:`\|r\|`, which is divided by the standard deviation of the scores. Beyond a thousand points the residual is
    estimated from a thousand rows that are drawn, so that this costs no n^2 kernel values.
    """
    X = check_points(as_kernel(kernel).known(points), "points")
    kernel = as_kernel(kernel).fitted(X)
    C, q = np.asarray(coordinates), _roots(weights, len(coordinates))
    h = _woodbury(q[:, None] * C, positive(ridge, "ridge"))(q)
    rows = np.arange(len(q))
    if rows.size > SAMPLED:
        rows = np.sort(np.random.default_rng(seed).choice(rows.size, size=SAMPLED, replace=False))
    approximate = C @ (C.T @ (q * h))
    exact = np.empty(rows.size)
    step = max(1, 2**20 // len(q))
    for first in range(0, rows.size, step):
        part = rows[first : first + step]
        block = X[part] if isinstance(kernel, Precomputed) else kernel.evaluate(X[part], X)
        exact[first : first + step] = block @ (q * h)
    missed = q[rows] * (approximate[rows] - exact)
    norm = float(np.linalg.norm(missed)) * np.sqrt(len(q) / rows.size)
    mean = float(q**2 @ approximate)
    spread = float(np.sqrt(q**2 @ (approximate - mean) ** 2))
    return norm / spread if spread > 0 else (0.0 if norm == 0 else np.inf)
