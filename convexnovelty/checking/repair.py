r"""Points that are exactly feasible, known to within a ball.

A computed point satisfies :math:`Ev = g` up to rounding and the tolerance of whoever computed it. Here as many
entries of :math:`v` as there are equations are chosen, where there is the most room to move, and the square system for
them is solved with proof: some point of the returned ball satisfies the equations exactly. Whether the ball also lies
in the cones is for the caller to verify; entries that are to stay exactly zero are left alone.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty.checking.balls import Ball, product, solution_of
from convexnovelty.validation import Array

__all__ = ["distinct_rows", "independent_rows", "repaired"]

LARGEST = 3000  # equations that are left after the single ones; a dense inverse beyond takes minutes


def repaired(matrix: sp.csr_array, right: Ball, point: Array, room: Array) -> Ball | None:
    r"""A ball with a point that satisfies :math:`Ev = g` exactly, near ``point``; None where no proof was found.

    Parameters
    ----------
    matrix, right : the equations; the right-hand side may itself be a ball, and then each of its members is reached.
    point : approximate solution; entries without room keep exactly their value.
    room : how far each entry may move, in its own unit: zero for never, infinite for a free variable.
    """
    # An equation of entries that are all held at zero says 0 = 0.
    alive = (abs(matrix) @ ((room > 0) | (point != 0)).astype(float) > 0) | (right.mid != 0) | (right.rad != 0)
    if not np.all(alive):
        matrix, right = sp.csr_array(matrix[alive]), right[alive]
    columns = sp.csc_array(matrix)
    ball = Ball.exact(point)
    if matrix.shape[0] == 0:
        return ball
    left = right - product(matrix, ball)
    single, rows = _singles(columns, np.abs(left.mid) + left.rad, room)
    others = np.setdiff1d(np.arange(matrix.shape[0]), rows)
    mid, rad = point.copy(), np.zeros_like(point)
    if others.size:
        chosen = _basis(sp.csr_array(matrix[others]), single, room, point)
        if chosen is None:
            return None
        part = sp.csr_array(matrix[others])
        fixed = np.where(np.isin(np.arange(point.size), chosen), 0.0, point)
        goal = right[others] - product(part, Ball.exact(fixed))
        system = part[:, chosen].toarray()
        rows_by, columns_by = _scales(system)
        found = solution_of(
            rows_by[:, None] * system * columns_by,
            Ball(rows_by * goal.mid, rows_by * goal.rad),
            point[chosen] / columns_by,
        )
        if found is None:
            return None
        mid[chosen], rad[chosen] = columns_by * found.mid, columns_by * found.rad
    if single.size:
        # Each of these entries occurs in one equation only, and is whatever that equation leaves for it.
        entries = np.asarray(matrix[rows, single]).ravel()
        mid[single] = 0.0
        goal = right[rows] - product(sp.csr_array(matrix[rows]), Ball(mid, rad))
        values = _quotient(goal, entries)
        mid[single], rad[single] = values.mid, values.rad
    return Ball(mid, rad)


def _quotient(numerator: Ball, denominator: Array) -> Ball:
    mid = numerator.mid / denominator
    rad = numerator.rad / np.abs(denominator) + 4.0 * np.finfo(float).eps * np.abs(mid) + 1e-290
    return Ball(mid, rad * (1.0 + 1e-9))


def _singles(columns: sp.csc_array, error: Array, room: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Columns with one entry that can take up the whole error of its equation, and these equations, no equation twice."""
    counts = np.diff(columns.indptr)
    lonely = np.flatnonzero((counts == 1) & (room > 0))
    rows = columns.indices[columns.indptr[lonely]]
    reach = room[lonely] * np.abs(columns.data[columns.indptr[lonely]])
    lonely, rows, reach = (a[reach > 1e3 * error[rows]] for a in (lonely, rows, reach))
    order = np.lexsort((-np.minimum(reach, 1e300), rows))
    lonely, rows = lonely[order], rows[order]
    first = np.ones(rows.size, dtype=bool)
    first[1:] = rows[1:] != rows[:-1]
    return lonely[first], rows[first].astype(np.intp)


def _basis(part: sp.csr_array, single: NDArray[np.intp], room: Array, point: Array) -> NDArray[np.intp] | None:
    """As many columns as rows, independent and with as much room as possible."""
    usable = np.flatnonzero(room > 0)
    usable = np.setdiff1d(usable, single)
    if part.shape[0] > LARGEST or usable.size < part.shape[0]:
        return None
    # A free variable competes with the others at the size of its own value.
    weight = np.where(np.isinf(room), np.maximum(np.abs(point), 1.0), np.minimum(room, 1e6))[usable]
    dense = part[:, usable].toarray()
    size = np.max(np.abs(dense), axis=1)
    if not np.all(size > 0):
        return None
    weighted = dense / size[:, None] * weight
    order = scipy.linalg.qr(weighted, mode="r", pivoting=True, check_finite=False)[1]
    return np.asarray(usable[order[: part.shape[0]]])


def _scales(system: Array) -> tuple[Array, Array]:
    """Powers of two, with which a product is exact, that bring rows and columns to size one."""
    rows = np.max(np.abs(system), axis=1)
    rows = np.exp2(-np.round(np.log2(np.where(rows > 0, rows, 1.0))))
    columns = np.max(np.abs(rows[:, None] * system), axis=0)
    return rows, np.exp2(-np.round(np.log2(np.where(columns > 0, columns, 1.0))))


def distinct_rows(matrix: sp.csr_array, right: Array) -> NDArray[np.intp]:
    """The rows that say something new: neither empty nor an exact multiple by plus or minus one of an earlier one."""
    seen: set[tuple[bytes, bytes, float]] = set()
    kept = []
    matrix.sort_indices()
    for i in range(matrix.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        data, indices = matrix.data[part], matrix.indices[part]
        indices, data = indices[data != 0], data[data != 0]
        value = float(right[i])
        if data.size == 0 and value == 0.0:
            continue
        sign = -1.0 if data.size and data[0] < 0 else 1.0
        key = ((sign * data).tobytes(), indices.tobytes(), sign * value + 0.0)
        if key not in seen:
            seen.add(key)
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def independent_rows(matrix: sp.csr_array, first: int) -> NDArray[np.intp]:
    """As many rows as are independent up to rounding; all of the ``first`` ones."""
    count = matrix.shape[0]
    if count == 0 or count > LARGEST:
        return np.arange(count)
    size = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
    weight = np.where(np.arange(count) < first, 1e3, 1.0) / np.where(size > 0, size, 1.0)
    triangle, order = scipy.linalg.qr((matrix.toarray() * weight[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    found = order[: diagonal.size][diagonal > 1e-9 * diagonal[0]]
    return np.union1d(found, np.arange(first)).astype(np.intp)
