r"""Newton's method on the free coordinates: from the accuracy of pair steps to that of the machine.

Once pair steps have found which coordinates lie between their bounds, what is left is a linear system,

.. math:: \begin{pmatrix} Q_{FF} & 1 \\ 1' & 0 \end{pmatrix} \begin{pmatrix} \delta \\ -\rho \end{pmatrix}
          = \begin{pmatrix} -g_F \\ r \end{pmatrix},

where g is the gradient and r what the sum of the coordinates lacks. A step that leaves the box is cut at the first
bound, whose coordinate is then no longer free. Section 8.4 of Schoelkopf and Smola has no such phase: pair steps
converge linearly, and slowly where Q is ill conditioned.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from convexnovelty.validation import Array

__all__ = ["admissible_step", "newton_direction", "projected_step"]

PROXIMAL = (0.0, 1e-14, 1e-12, 1e-9, 1e-6)  # relative to the diagonal, tried until the factorisation is sound
REFINEMENTS = 3


def newton_direction(Q: Array, gradient: Array, missing: float | None) -> Array:
    """The minimiser delta of g'delta + delta'Q delta/2 whose sum is ``missing``, or is free if that is None.

    Q, of shape (k, k), may be singular (copies of a row, more points than dimensions): then a proximal term is added,
    and a few proximal steps take back its effect in the range of Q.

    Raises LinAlgError if Q has a negative eigenvalue beyond rounding.
    """
    k = len(Q)
    scale = float(np.max(np.diagonal(Q), initial=0.0))
    if scale <= 0.0:
        raise LinAlgError("the free block is zero")
    means = None
    if missing is not None:
        # The sum is met by an even share. The rest of the step has sum zero, and there Q may be centred; adding 11' to
        # it keeps it regular without a change for such steps.
        means = Q.mean(axis=0)
        gradient = gradient + means * missing
        gradient = gradient - gradient.mean()
    for proximal in PROXIMAL:
        matrix = _centred(Q, means, scale)
        matrix.flat[:: k + 1] += proximal * scale
        try:
            # The transpose of this symmetric copy has the order of LAPACK, which factorises it in place.
            factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        # A pivot that is nothing but rounding makes the step meaningless: go on to a proximal term.
        pivots = np.diagonal(factor[0])
        if pivots.min() > 1e-7 * pivots.max() or proximal >= 1e-12:
            break
    else:
        raise LinAlgError("the free block is not positive semidefinite")
    delta = cho_solve(factor, -gradient, check_finite=False)
    if proximal:
        matrix = _centred(Q, means, scale)
        for _ in range(REFINEMENTS):
            delta -= cho_solve(factor, gradient + matrix @ delta, check_finite=False)
    if missing is not None:
        delta += missing / k - delta.mean()
    return np.asarray(delta)


def _centred(Q: Array, means: Array | None, scale: float) -> Array:
    """A copy of Q, without its row and column means if they are given, and with 11' scale/k in their place."""
    if means is None:
        return Q.copy()
    matrix = Q - means
    matrix -= (means - means.mean() - scale / len(Q))[:, None]
    return matrix


def admissible_step(b: Array, delta: Array, lower: Array, upper: Array) -> tuple[Array, bool]:
    """``b + t delta`` for the largest t <= 1 that stays in the box, and whether t = 1.

    Coordinates that block the step get their bound exactly.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(delta > 0, (upper - b) / delta, np.where(delta < 0, (lower - b) / delta, np.inf))
    t = float(np.min(room, initial=np.inf))
    if t >= 1.0:
        return b + delta, True
    moved = np.clip(b + t * delta, lower, upper)
    blocking = room <= t
    moved[blocking] = np.where(delta > 0, upper, lower)[blocking]
    return moved, False


def projected_step(b: Array, delta: Array, lower: Array, upper: Array) -> tuple[Array, bool]:
    """``b + delta`` if it is in the box, and True; else b with the coordinates that left the box put to their bounds.

    The others stay where they are, for a step of their own.
    """
    moved = b + delta
    below, above = moved < lower, moved > upper
    if not (below.any() or above.any()):
        return moved, True
    return np.where(below, lower, np.where(above, upper, b)), False
