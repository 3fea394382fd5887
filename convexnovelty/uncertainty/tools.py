"""Small linear algebra that several sets share."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.as_meant import as_meant
from convexnovelty.covariances import own_axes
from convexnovelty.errors import InputError
from convexnovelty.validation import Array, number, vector

__all__ = [
    "REGULAR",
    "as_expression",
    "bures_step",
    "conjugate",
    "direction",
    "dual_vector",
    "exponent",
    "has_axes",
    "inverse",
    "largest_ratio",
    "listed",
    "norm",
    "p_norm",
    "pushed_covariance",
    "random_symmetric",
    "range_factor",
    "range_norm",
    "semidefinite_step",
    "square_root",
    "stein_divergence",
    "stein_root",
    "transport_distance",
    "transport_membership",
    "unasked",
]


ENROLS_NOTHING = "tools of the sets"

REGULAR = 1e6  # condition of a matrix, in its best units, up to which it counts as one that has an inverse
SWEEPS = 20  # times that rows and columns are brought to size one in turn


@contextlib.contextmanager
def unasked() -> Iterator[None]:
    """Where a set is tried at numbers that nobody gave it: a warning would speak of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def as_expression(a: Any, name: str = "a", size: int | None = None) -> Any:
    """``a`` as a CVXPY expression of shape (p,), of the size that is asked for."""
    made = a if isinstance(a, cp.Expression) else cp.Constant(vector(a, name, size))
    if made.size != max(made.shape, default=0):
        raise InputError(f"{name}: shape {made.shape} was found; give a vector")
    if size is not None and made.size != size:
        raise InputError(f"{name}: length {made.size} was found where {size} is needed")
    return made if made.ndim == 1 else cp.reshape(made, (made.size,), order="F")


def listed(constraints: Any) -> list[Any]:
    """What a membership returned, one constraint or several, as a list, without what is nothing but rounding."""
    stated = list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]
    return [as_meant(constraint, typical=True) for constraint in stated]


def congruent(T: Any, S: Any) -> Any:
    """T S T' as an expression that is symmetric to the last digit, and that CVXPY knows to be."""
    made = T @ S @ T.T
    return cp.atoms.affine.wraps.symmetric_wrap((made + made.T) / 2)


def direction(a: Any) -> Array:
    """``a`` at length one; the first axis where it is zero, since any member is then a worst one."""
    size = float(np.abs(a).max(initial=0.0))
    if size == 0:
        return np.asarray(np.eye(max(a.size, 1))[0, : a.size])
    unit = a / size
    return np.asarray(unit / np.linalg.norm(unit))


def square_root(S: Array) -> Array:
    """The symmetric square root of a positive semidefinite matrix; rounding below zero counts as zero."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def random_symmetric(order: int, rng: np.random.Generator) -> Array:
    """A symmetric matrix of random signs and a random, often uneven, spectrum."""
    vectors, _ = np.linalg.qr(rng.standard_normal((order, order)))
    return np.asarray((vectors * (rng.standard_normal(order) * rng.random(order) ** 2)) @ vectors.T)


def semidefinite_step(S: Array, step: Array) -> Array:
    """``S + t step`` with the largest t in [0, 1], up to halving, that is positive semidefinite."""
    floor = -1e-13 * max(float(np.abs(S).max()), float(np.abs(step).max()))
    t = 1.0
    while t > 1e-6 and float(np.linalg.eigvalsh(S + t * step)[0]) < floor:
        t /= 2
    return np.asarray(S + (t if t > 1e-6 else 0.0) * step)


def p_norm(v: Any, p: float) -> Any:
    """The p-norm as a CVXPY expression, by power cones and not by their rational approximation."""
    if p in (1, 2) or math.isinf(p):
        return cp.norm(v, "inf" if math.isinf(p) else int(p))
    if isinstance(v, cp.Expression) and v.is_constant() and not v.parameters():
        # CVXPY's own number overflows, or vanishes, in powers of a large order.
        return cp.Constant(norm(np.asarray(v.value, dtype=float), p))
    return cp.pnorm(v, p, approx=False)


def norm(v: Array, p: float) -> float:
    """The p-norm as a number, scaled so that no power overflows."""
    size = float(np.abs(v).max(initial=0.0))
    return size * float(np.linalg.norm(v / size, p)) if size > 0 else 0.0


def dual_vector(w: Array, p: float) -> Array:
    """The vector of p-norm one with the largest product with ``w``; the first axis where ``w`` is zero."""
    size = float(np.abs(w).max())
    if size == 0:
        return np.asarray(np.eye(w.size)[0])
    if p == 1:
        i = int(np.abs(w).argmax())
        return np.asarray(np.eye(w.size)[i] * np.sign(w[i]))
    if math.isinf(p):
        return np.where(w < 0, -1.0, 1.0)
    raised = np.sign(w) * np.abs(w / size) ** (1.0 / (p - 1.0))
    return np.asarray(raised / np.linalg.norm(raised, p))


def conjugate(p: float) -> float:
    """The exponent of the dual norm."""
    return math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)


def exponent(p: Any, name: str = "p") -> float:
    """An exponent of a norm, from 1 to infinity; the word "inf" will do."""
    if isinstance(p, str) and p in ("inf", "infinity"):
        return math.inf
    value = math.inf if isinstance(p, (float, np.floating)) and p == math.inf else number(p, name)
    if not value >= 1:
        raise InputError(f"{name}: {p!r} was found; give a number from 1 to infinity, since others make no norm")
    return value


def range_factor(C: Array) -> Array:
    """A factor F of shape (rank, p) with F'F = C; eigenvalues at the level of rounding count as zero, whatever the columns' units."""
    values, vectors, size = own_axes(C)
    used = values > 1e-13 * max(float(values[-1]), 0.0)
    return np.asarray((vectors[:, used] * np.sqrt(values[used])).T * size)


def stein_root(divergence: float) -> float:
    r"""The root :math:`w \ge 1` of :math:`w^2 - 1 - 2\ln w = 2\rho`: how far a divergence stretches one axis.

    Near :math:`w = 1` the left side is :math:`2(w-1)^2` up to higher powers, so that it is computed from w - 1.
    """
    if divergence <= 0:
        return 1.0
    x = math.sqrt(divergence) if divergence < 1 else math.sqrt(2 * divergence + 1)
    for _ in range(100):
        excess = x * x + 2.0 * (x - math.log1p(x)) - 2.0 * divergence
        step = excess / (2.0 * x + 2.0 * x / (1.0 + x))
        x = max(x - step, x / 2)
        if abs(step) <= 1e-16 * x:
            break
    return 1.0 + x


def has_axes(matrix: Array) -> bool:
    """Whether a matrix means something only in the coordinates that it is given in; multiples of the identity mean the same in all."""
    return not np.array_equal(matrix, matrix[0, 0] * np.eye(len(matrix)))


def transport_membership(S: Any, F: Array, nominal: Array) -> tuple[Any, list[Any]]:
    r"""The cost of carrying a law with covariance :math:`F'F` to one with covariance ``S``, and its constraints.

    With :math:`S \succeq YY'` and the cross-covariance :math:`YF` the cost is
    :math:`\mathrm{tr}(S + S_0) - 2\,\mathrm{tr}(YF)`. In terms of the displacement, :math:`Y = F' + E` and
    :math:`T \succeq EE'`, that is :math:`S = S_0 + EF + F'E' + T` at the cost :math:`\mathrm{tr}(T)`, where no large
    numbers cancel.
    """
    p, r = nominal.shape[0], F.shape[0]
    if r == 0:
        T = cp.Variable((p, p), PSD=True)
        return cp.trace(T), [S == nominal + T]
    T, E = cp.Variable((p, p), symmetric=True), cp.Variable((p, r))
    room = cp.bmat([[T, E], [E.T, np.eye(r)]]) >> 0
    return cp.trace(T), [S == nominal + E @ F + F.T @ E.T + T, room]


def pushed_covariance(S: Array, a: Array, distance: float) -> Array:
    """The covariance of a law that was stretched along ``a`` until it was carried that far."""
    d = direction(a)
    s = math.sqrt(max(float(d @ S @ d), 0.0))
    if s <= 1e-8 * math.sqrt(max(float(np.trace(S)), 0.0)) or s == 0:
        return np.asarray(S + distance**2 * np.outer(d, d))  # no spread to stretch: independent noise is added
    stretch = np.eye(a.size) + (distance / s) * np.outer(d, d)
    return np.asarray(stretch @ S @ stretch)


def bures_step(S: Array, distance: float, rng: np.random.Generator) -> Array:
    """The covariance of a law under a random linear map near the identity that carries it that far at most."""
    step = random_symmetric(S.shape[0], rng)
    cost = math.sqrt(max(float(np.trace(step @ S @ step)), 0.0))
    least = -float(np.linalg.eigvalsh(step)[0])
    t = min(distance / cost if cost > 0 else 0.0, 1.0 / least if least > 0 else math.inf)
    moved = np.eye(S.shape[0]) + t * step
    return np.asarray(moved @ S @ moved)


def transport_distance(S: Array, other: Array) -> float:
    """The distance of Bures and Wasserstein between two covariances."""
    root = square_root(S)
    cross = np.linalg.eigvalsh(root @ other @ root)
    squared = float(np.trace(S) + np.trace(other) - 2.0 * np.sum(np.sqrt(np.maximum(cross, 0.0))))
    return math.sqrt(max(squared, 0.0))


def range_norm(F: Array, v: Array) -> float:
    """The least length of w with F'w = v: infinite for a vector outside of the range."""
    size = _lengths(F)
    within, v = F.T / size[:, None], v / size
    w = np.linalg.lstsq(within, v, rcond=None)[0] if F.shape[0] else np.zeros(0)
    left = float(np.linalg.norm(v - within @ w))
    return float(np.linalg.norm(w)) if left <= 1e-8 * float(np.linalg.norm(v)) else math.inf


def _lengths(F: Array) -> Array:
    """The lengths of columns, and one for those of zeros: in these units none is small beside the others."""
    lengths = np.linalg.norm(F, axis=0)
    return np.asarray(np.where(lengths > 0, lengths, 1.0))


def _relative(F: Array, S: Array) -> Array | None:
    """The eigenvalues, rising, of X in S = F'XF; None for a matrix of another range."""
    size = _lengths(F)
    F, S = F / size, S / size / size[:, None]
    back = np.linalg.pinv(F)
    X = back.T @ S @ back
    if float(np.linalg.norm(F.T @ X @ F - S)) > 1e-8 * float(np.linalg.norm(S)):
        return None
    return np.asarray(np.linalg.eigvalsh((X + X.T) / 2))


def inverse(T: Array) -> Array | None:
    """The inverse of a square matrix that is regular in some units of its rows and columns; None for any other.

    One between raw columns is: its condition number is a ratio of units, which costs no digits where they are taken out first.
    """
    rows, columns = T.shape
    if rows != columns or not (np.any(T, axis=0).all() and np.any(T, axis=1).all()):
        return None
    left, right = np.ones((rows, 1)), np.ones(columns)
    for _ in range(SWEEPS):
        left = left / np.sqrt(np.max(np.abs(left * T * right), axis=1, keepdims=True))
        right = right / np.sqrt(np.max(np.abs(left * T * right), axis=0))
    even = left * T * right
    return np.asarray(right[:, None] * np.linalg.inv(even) * left.T) if np.linalg.cond(even) < REGULAR else None


def stein_divergence(F: Array, S: Array) -> float:
    """Half of tr X - log det X - r for S = F'XF: infinite for a matrix of another range."""
    values = _relative(F, S)
    if values is None or (values.size and values[0] <= 0):
        return math.inf
    return 0.5 * float(np.sum(values - 1.0 - np.log(values)))


def cone_multiple(F: Array, S: Array) -> float:
    """The least t at which F'F + (S - F'F) / t is a covariance: zero where S is no smaller anywhere, or not of that range."""
    values = _relative(F, S)
    return max(0.0, 1.0 - float(values[0])) if values is not None and values.size else 0.0


def largest_ratio(steps: Array, widths: Array, center: Array) -> float:
    """The largest step from the centre in widths; infinite where a width of zero is exceeded by more than rounding."""
    sizes = np.abs(steps)
    rounding = 16.0 * np.finfo(float).eps * (float(sizes.max(initial=0.0)) + np.abs(center))
    if np.any((widths == 0) & (sizes > rounding)):
        return math.inf
    return float(np.max(sizes[widths > 0] / widths[widths > 0], initial=0.0))
