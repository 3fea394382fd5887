r"""The cones of a conic program: sizes, membership, duality and arithmetic, written once for every caller.

Rows are ordered as CVXPY hands them to Clarabel: zero, nonnegative, second-order :math:`\|x\| \le t` as
:math:`(t, x)`, semidefinite as the upper triangle by columns with off-diagonal entries times :math:`\sqrt2` (so that
inner products are kept), exponential :math:`y e^{x/y} \le z` as :math:`(x, y, z)`, and power
:math:`\prod x_i^{\alpha_i} \ge |z|` as :math:`(x_1, \dots, z)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.validation import Array

__all__ = ["Block", "Cones", "smat", "svec", "svec_map", "triangle"]


class Block(NamedTuple):
    """Rows that belong to one cone, a slice as a rule; ``parameter`` is a matrix order or a tuple of exponents."""

    kind: str
    rows: Any
    parameter: Any = None


@lru_cache(maxsize=64)
def triangle(order: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of each entry of the upper triangle, column by column."""
    columns, rows = np.tril_indices(order)
    return rows, columns


@lru_cache(maxsize=64)
def svec_map(order: int) -> sp.csc_array:
    r"""The matrix :math:`T` with :math:`\mathrm{vec}(S) = T\,\mathrm{svec}(S)`, columns first; :math:`T'T = I`."""
    rows, columns = triangle(order)
    where = np.arange(rows.size)
    weight = np.where(rows == columns, 0.5, math.sqrt(0.5))
    entries = np.concatenate([weight, weight])
    position = np.concatenate([columns * order + rows, rows * order + columns])
    return sp.csc_array((entries, (position, np.concatenate([where, where]))), shape=(order * order, rows.size))


def svec(matrix: Array) -> Array:
    """The scaled upper triangle of a symmetric matrix."""
    rows, columns = triangle(matrix.shape[0])
    return np.asarray(matrix[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2.0)))


def smat(values: Array, order: int) -> Array:
    """The symmetric matrix whose scaled upper triangle is given."""
    return np.asarray((svec_map(order) @ values).reshape(order, order))


@dataclass(frozen=True)
class Cones:
    """A product of cones, by the number of rows of each.

    ``second_order`` holds sizes, ``semidefinite`` matrix orders, ``exponential`` a count and ``power`` the exponents
    of each power cone (they sum to one; two of them make the three-dimensional cone).
    """

    zero: int = 0
    nonnegative: int = 0
    second_order: tuple[int, ...] = ()
    semidefinite: tuple[int, ...] = ()
    exponential: int = 0
    power: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def from_dimensions(cls, dims: Any) -> Cones:
        """From the ``dims`` entry of CVXPY's canonical data."""
        plain = tuple((float(a), 1.0 - float(a)) for a in getattr(dims, "p3d", ()))
        many = tuple(tuple(float(a) for a in exponents) for exponents in getattr(dims, "pnd", ()))
        return cls(
            int(dims.zero),
            int(dims.nonneg),
            tuple(int(k) for k in dims.soc),
            tuple(int(k) for k in dims.psd),
            int(dims.exp),
            plain + many,
        )

    @classmethod
    def from_blocks(cls, blocks: list[Block]) -> Cones:
        """From blocks in the package's order of kinds, whose ``rows`` are arrays of indices."""

        def sizes(kind: str) -> list[int]:
            return [len(b.rows) for b in blocks if b.kind == kind]

        return cls(
            sum(sizes("zero")),
            sum(sizes("nonnegative")),
            tuple(sizes("second_order")),
            tuple(b.parameter for b in blocks if b.kind == "semidefinite"),
            len(sizes("exponential")),
            tuple(b.parameter for b in blocks if b.kind == "power"),
        )

    @property
    def kinds(self) -> set[str]:
        """The names of the kinds of which there is a cone."""
        return {block.kind for block in self.blocks()}

    def blocks(self) -> tuple[Block, ...]:
        """The cones one by one, with their rows; zero and nonnegative rows come as one block each."""
        return self._blocks

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        start, found = 0, []
        plan: list[tuple[str, int, Any]] = [("zero", self.zero, None), ("nonnegative", self.nonnegative, None)]
        plan += [("second_order", size, size) for size in self.second_order]
        plan += [("semidefinite", k * (k + 1) // 2, k) for k in self.semidefinite]
        plan += [("exponential", 3, None)] * self.exponential
        plan += [("power", len(exponents) + 1, exponents) for exponents in self.power]
        for kind, size, parameter in plan:
            if size:
                found.append(Block(kind, slice(start, start + size), parameter))
                start += size
        return tuple(found)

    @property
    def size(self) -> int:
        """Number of rows."""
        return sum(block.rows.stop - block.rows.start for block in self.blocks())

    @cached_property
    def from_entries(self) -> sp.csr_array:
        """The matrix that takes rows in which semidefinite matrices have all of their entries to the rows of these cones."""
        maps = [
            svec_map(block.parameter).T
            if block.kind == "semidefinite"
            else sp.eye_array(block.rows.stop - block.rows.start)
            for block in self.blocks()
        ]
        return sp.csr_array(sp.block_diag(maps)) if maps else sp.csr_array((0, 0))

    def clarabel(self) -> list[Any]:
        """The cones as the solver Clarabel wants them."""
        import clarabel

        make: dict[str, Callable[[Block], Any]] = {
            "zero": lambda b: clarabel.ZeroConeT(b.rows.stop - b.rows.start),
            "nonnegative": lambda b: clarabel.NonnegativeConeT(b.rows.stop - b.rows.start),
            "second_order": lambda b: clarabel.SecondOrderConeT(b.parameter),
            "semidefinite": lambda b: clarabel.PSDTriangleConeT(b.parameter),
            "exponential": lambda b: clarabel.ExponentialConeT(),
            "power": lambda b: (
                clarabel.PowerConeT(b.parameter[0])
                if len(b.parameter) == 2
                else clarabel.GenPowerConeT(list(b.parameter), 1)
            ),
        }
        return [make[block.kind](block) for block in self.blocks()]

    def lower_to_upper(self) -> NDArray[np.intp]:
        """The permutation that brings rows with lower triangles (the order of SCS) to this package's order."""
        order = np.arange(self.size)
        for block in self.blocks():
            if block.kind == "semidefinite":
                k = block.parameter
                columns, rows = np.triu_indices(k)  # lower triangle by columns: entry (rows, columns), rows >= columns
                place = np.empty((k, k), dtype=int)
                place[columns, rows] = np.arange(rows.size)
                first, second = triangle(k)
                order[block.rows] = block.rows.start + place[first, second]
        return order

    # -- membership in CVXPY -----------------------------------------------------------------------------------------

    def constraints(self, expression: cp.Expression, *, dual: bool = False) -> list[Any]:
        r"""CVXPY constraints for ``expression`` in the cone, or in its dual.

        The exponential and power cones are not their own duals:
        :math:`(u,v,w) \in K_{\exp}^* \iff (-v, -u, e\,w) \in K_{\exp}` and
        :math:`(u, w) \in K_\alpha^* \iff (u_i/\alpha_i, w) \in K_\alpha`.
        """
        found: list[Any] = []
        cones: dict[int, list[int]] = {}
        triples: list[int] = []
        for kind, rows, parameter in self.blocks():
            part = expression[rows]
            if kind == "zero" and not dual:
                found.append(part == 0)
            elif kind == "nonnegative":
                found.append(part >= 0)
            elif kind == "second_order":
                cones.setdefault(parameter, []).append(rows.start)
            elif kind == "semidefinite":
                found.append(cp.reshape(svec_map(parameter) @ part, (parameter, parameter), order="F") >> 0)
            elif kind == "exponential":
                triples.append(rows.start)
            elif kind == "power":
                weights = np.array(parameter)
                first = part[:-1] / weights if dual else part[:-1]
                if len(parameter) == 2:
                    found.append(cp.PowCone3D(first[0], first[1], part[-1], parameter[0]))
                else:
                    found.append(cp.PowConeND(first, part[-1], weights))
        for size, starts in cones.items():
            # One constraint for all cones of a size: CVXPY then compiles them together.
            first = expression[np.array(starts)]
            if size == 1:
                found.append(first >= 0)
                continue
            rest = np.array([[start + 1 + i for start in starts] for i in range(size - 1)])
            found.append(cp.SOC(first, cp.reshape(expression[rest.ravel()], rest.shape, order="C"), axis=0))
        if triples:
            x, y, z = (expression[np.array(triples) + i] for i in range(3))
            found.append(cp.ExpCone(-y, -x, math.e * z) if dual else cp.ExpCone(x, y, z))
        return found

    def dual_interior(self) -> Array:
        """A multiplier from the interior of the dual cone, zero on the rows of equations."""
        made = np.zeros(self.size)
        for block in self.blocks():
            part = made[block.rows]
            if block.kind == "nonnegative":
                part[:] = 1.0
            elif block.kind == "second_order":
                part[0] = 1.0
            elif block.kind == "semidefinite":
                part[:] = svec(np.eye(block.parameter))
            elif block.kind == "exponential":
                part[:] = -1.0, 1.0, 1.0  # -u exp(v/u) = 1/e is less than e w = e
            elif block.kind == "power":
                part[:-1] = 1.0
        return made

    # -- membership in numbers ---------------------------------------------------------------------------------------

    def projected(self, values: Array) -> Array:
        """The values without the rounding that keeps them from the cone; exponential and power cones as they are."""
        made = np.array(values, dtype=float)
        for block in self.blocks():
            part = made[block.rows]
            if block.kind == "zero":
                made[block.rows] = 0.0
            elif block.kind == "nonnegative":
                made[block.rows] = np.maximum(part, 0.0)
            elif block.kind == "second_order":
                made[block.rows.start] = max(part[0], float(np.linalg.norm(part[1:])))
            elif block.kind == "semidefinite":
                eigenvalues, vectors = np.linalg.eigh(smat(part, block.parameter))
                if eigenvalues[0] < 0:
                    made[block.rows] = svec((vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)
        return made

    def violations(self, values: Array, *, dual: bool = False) -> Array:
        """For each block an upper bound on the distance from the cone (or its dual) that vanishes on the cone.

        It is infinite where the values of the block are no numbers.
        """
        parts = [(block, values[block.rows]) for block in self.blocks()]
        return np.array([_distance(block, v, dual) if np.isfinite(v).all() else math.inf for block, v in parts])

    def work(self, values: Array, against: Array, *, dual: bool = False) -> float:
        """The distances from the cones (or their duals), each times what stands against it, summed up.

        Rows of equations and inequalities are cones of their own, since each may have a unit of its own.
        """
        if not np.isfinite(values).all():
            return math.inf
        total = 0.0
        for block in self.blocks():
            v, other = values[block.rows], against[block.rows]
            if block.kind == "zero":
                total += 0.0 if dual else float(np.abs(v) @ np.abs(other))
            elif block.kind == "nonnegative":
                total += float(np.maximum(-v, 0.0) @ np.abs(other))
            else:
                total += _distance(block, v, dual) * float(np.linalg.norm(other))
        return total


def _distance(block: Block, v: Array, dual: bool) -> float:
    if block.kind == "zero":
        return 0.0 if dual else float(np.linalg.norm(v))
    if block.kind == "nonnegative":
        return float(np.linalg.norm(np.minimum(v, 0.0)))
    if block.kind == "second_order":
        return float(max(np.linalg.norm(v[1:]) - v[0], 0.0))
    if block.kind == "semidefinite":
        eigenvalues = np.linalg.eigvalsh(smat(v, block.parameter))
        return float(np.linalg.norm(np.minimum(eigenvalues, 0.0)))
    if block.kind == "exponential":
        return _exponential_distance(*((-v[1], -v[0], math.e * v[2]) if dual else v))
    weights = np.array(block.parameter)
    return _power_distance(v[:-1] / weights if dual else v[:-1], abs(v[-1]), weights)


def _exponential_distance(x: float, y: float, z: float) -> float:
    """Distance to the nearest of four explicit points of the exponential cone."""
    candidates = [math.hypot(max(x, 0.0), y, min(z, 0.0))]  # the face y = 0, x <= 0 <= z
    height, level = max(y, 0.0), max(z, 0.0)
    if height > 0:
        with np.errstate(over="ignore"):
            candidates.append(max(float(height * np.exp(x / height)) - z, 0.0))
        if level > 0:
            candidates.append(math.hypot(max(x - height * math.log(level / height), 0.0), z - level))
    if x < 0 and level > 0 and y < 0:
        candidates.append(math.hypot(y, z - level))
    return min(candidates)


def _power_distance(x: Array, z: float, weights: Array) -> float:
    """Distance to the nearest of the points of the power cone that differ in one coordinate."""
    base = np.maximum(x, 0.0)
    negative = float(np.linalg.norm(base - x))
    reach = float(np.prod(base**weights))
    if z <= reach:
        return negative
    candidates = [math.hypot(negative, z - reach)]
    for i, weight in enumerate(weights):
        others = float(np.prod(np.delete(base, i) ** np.delete(weights, i)))
        if others > 0:
            with np.errstate(over="ignore"):
                candidates.append(math.hypot(negative, float((z / others) ** (1.0 / weight)) - base[i]))
    return min(candidates)
