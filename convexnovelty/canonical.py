r"""What a solver was given and what it answered, as one conic program with its point and multiplier.

Every interface has a form of its own: cones as one list of rows, equations beside inequalities, bounds of variables or cones
over variables apart from the rows. Whether a point is optimal is one question for all of them, asked of
:math:`\min \tfrac12 x'Px + c'x`, :math:`Ax + s = b`, :math:`s \in K` by a multiplier :math:`z`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.cones import Block, Cones, triangle
from convexnovelty.conic import ConicProgram
from convexnovelty.in_scale import InScale
from convexnovelty.validation import Array

__all__ = ["Canonical", "columns_of"]

CONIC = {"dims", "A", "b", "c"}  # what CVXPY hands to a solver that takes cones as one list of rows
KINDS = ("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power")
DIRECT = {"nonneg": "nonnegative", "soc": "second_order", "psd_triangle": "semidefinite"}  # cones over variables
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Canonical:
    """A compiled program, whichever the interface.

    ``given`` holds the rows that the solver was given. After them come those of the bounds of the columns ``lower`` and
    ``upper``, and those of cones over variables, whose constraints are ``direct``: ``order`` takes all to the rows of
    ``program``. ``sized`` are the columns that are of size one, None where others are not to be given units.
    """

    program: ConicProgram
    given: ConicProgram
    order: Places
    lower: Places
    upper: Places
    direct: tuple[Any, ...]
    sized: Places | None = None

    @classmethod
    def of(
        cls, data: Mapping[str, Any], solver: str, sized: Sequence[cp.Variable] = (), chain: Any = None
    ) -> Canonical | None:
        """From CVXPY's data for a solver; None where its rows cannot be read, or are not all that holds of a point.

        ``sized`` are the variables that are of size one, where others are to be given units; ``chain`` is what compiled them.
        """
        compiled, direct = data.get("param_prob"), tuple(data.get("dir_cones") or ())
        if compiled is None or compiled.is_mixed_integer() or any(cone.kind not in DIRECT for cone in direct):
            return None
        conic = data.keys() >= CONIC and not data.keys() & {"F", "G"}
        given = ConicProgram.from_data(data, solver) if conic else ConicProgram.from_split(data)
        if given is None:
            return None
        (lower, least), (upper, most) = (_finite(data.get(name)) for name in ("lower_bounds", "upper_bounds"))
        program, order = _whole(given, (lower, upper), np.concatenate([-least, most]), direct)
        return cls(
            program,
            given,
            order,
            lower,
            upper,
            tuple(dict.fromkeys(cone.constr_id for cone in direct)),
            columns_of(compiled, sized, chain) if sized else None,
        )

    @cached_property
    def in_scale(self) -> InScale:
        """The program beside its equilibrated form."""
        return InScale(self.program, self.sized)

    def ray(self, raw: Any) -> tuple[Array, Array] | None:
        """A solver's certificate that there is no optimum, as a direction and a multiplier, where it shows them row by row."""
        found = None if self.direct else _by_rows(raw, self.given)
        return None if found is None or not hasattr(raw, "z") else self._placed(*found, {})

    def point(self, raw: Any, interface: Any, inverse: Any) -> tuple[Array, Array] | None:
        """The point and the multiplier of a solver's answer, or None where its interface hides them.

        ``interface`` is CVXPY's of this solver, and ``inverse`` what that keeps to read an answer.
        """
        found = None if self.direct else _by_rows(raw, self.given)
        if found is not None:
            return self._placed(*found, {})
        solution = interface.invert(raw, inverse)
        prices = solution.dual_vars or {}
        rows = [constraint.id for constraint in (*inverse["eq_constr"], *inverse["other_constr"])]
        if not solution.primal_vars or any(prices.get(name) is None for name in (*rows, *self.direct)):
            return None
        (x,) = solution.primal_vars.values()
        return self._placed(np.ravel(x), _joined(prices, rows), prices)

    def _placed(self, x: Array, z: Array, prices: Mapping[Any, Any]) -> tuple[Array, Array] | None:
        """The point with the multipliers of all rows, in the order of the program's."""
        folded = self.given.cones.from_entries
        if z.size != self.given.b.size and z.size == folded.shape[1]:
            z = folded @ z
        direct = _joined(prices, self.direct)
        rows = self.given.b.size + self.lower.size + self.upper.size + direct.size
        if x.shape != self.program.c.shape or z.size != self.given.b.size or rows != self.program.b.size:
            return None
        bounds = np.zeros(self.lower.size + self.upper.size)
        whole = np.concatenate([z, bounds, direct])[self.order]
        if bounds.size:
            # Stationarity gives the multiplier of a bound: what the other rows leave of the gradient, where it presses on it.
            left = self.program.c + self.program.A.T @ whole
            left = left if self.program.P is None else left + self.program.P @ x
            bounds = np.maximum(np.concatenate([left[self.lower], -left[self.upper]]), 0.0)
            whole = np.concatenate([z, bounds, direct])[self.order]
        return x, whole


def columns_of(compiled: Any, variables: Sequence[cp.Variable], chain: Any) -> Places | None:
    """The columns of some variables in a program that a chain has compiled, None without any.

    Of a symmetric matrix there is one for each pair of entries. A variable with signs, bounds or a pattern is another one there.
    """
    places, own, renamed = compiled.var_id_to_col, compiled.id_to_var, chain.compose_var_id_map()
    names = [name for v in variables for name in renamed.get(v.id, [v.id]) if name in places]
    known = [np.arange(places[name], places[name] + own[name].size) for name in names]
    return np.concatenate(known) if known else None


def _finite(bound: Any) -> tuple[Places, Array]:
    """The columns with a finite bound, and the bounds."""
    values = np.zeros(0) if bound is None else np.asarray(bound, dtype=float).ravel()
    columns = np.flatnonzero(np.isfinite(values))
    return columns, values[columns]


def _whole(
    given: ConicProgram, bounded: tuple[Places, Places], levels: Array, direct: Sequence[Any]
) -> tuple[ConicProgram, Places]:
    """The program with the rows of bounds and of cones over variables, and where its rows come from."""
    if not levels.size and not direct:
        return given, np.arange(given.b.size)
    unit = sp.eye_array(given.c.size, format="csr")
    rows = [given.A, -unit[bounded[0]], unit[bounded[1]]]
    blocks = [Block(kind, np.arange(where.start, where.stop), parameter) for kind, where, parameter in given.blocks]
    end = given.b.size + levels.size
    blocks.append(Block("nonnegative", np.arange(given.b.size, end)))
    for cone in direct:
        size, order = len(cone.indices), cone.extras.get("psd_k", 0)
        weights = np.where(np.equal(*triangle(order)), 1.0, math.sqrt(2.0)) if order else np.ones(size)
        rows.append(-sp.diags_array(weights) @ unit[cone.indices])
        blocks.append(Block(DIRECT[cone.kind], np.arange(end, end + size), order or None))
        end += size
    blocks = sorted((block for block in blocks if block.rows.size), key=lambda block: KINDS.index(block.kind))
    order = np.concatenate([block.rows for block in blocks])
    b = np.concatenate([given.b, levels, np.zeros(end - given.b.size - levels.size)])
    A = sp.csr_array(sp.vstack(rows, format="csr")[order])
    return replace(given, A=A, b=b[order], cones=Cones.from_blocks(blocks)), order


def _by_rows(raw: Any, given: ConicProgram) -> tuple[Array, Array] | None:
    """What a solver says itself that takes cones as one list of rows, where its answer is of that form."""
    if isinstance(raw, dict) and {"x", "y"} <= raw.keys() and "z" not in raw:
        x, z = raw["x"], given.from_solver_order(np.asarray(raw["y"]), "SCS")
    elif hasattr(raw, "x") and hasattr(raw, "z") and np.shape(raw.z) == given.b.shape:
        x, z = raw.x, raw.z
    else:
        return None
    return np.asarray(x, dtype=float), np.asarray(z, dtype=float)


def _joined(prices: Mapping[Any, Any], names: Sequence[Any]) -> Array:
    """The multipliers of the named constraints, one after another."""
    parts = [np.ravel(np.asarray(prices[name], dtype=float), order="F") for name in names if name in prices]
    return np.concatenate(parts) if parts else np.zeros(0)
