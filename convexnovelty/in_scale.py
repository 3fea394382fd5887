r"""A compiled program in a scale of its own, in which what a solver says of it is judged.

A solver's tolerances are absolute, and so is the one in :math:`1 + \|b\|` that makes a residual relative. A program whose
coefficients are of the size of :math:`10^{-16}` can thus be "solved" to all digits by a point that is nowhere near its
optimum. In the equilibrated program, whose rows, columns and objective are of size one, such a point has residuals of
size one; and a certificate of infeasibility proves something only if it is one there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty._lazy import cp
from convexnovelty.conic import NOISE, ConicProgram, Equilibration, Residuals
from convexnovelty.quantities import Quantity
from convexnovelty.units import Step, in_further_units
from convexnovelty.validation import Array

__all__ = ["InScale"]

# Sweeps of the scaling; a large dense program cannot pay for more, and its rows are alike.
SWEEPS, FEW, MANY_ENTRIES = 16, 4, 10**5
LEFT = 1e-9  # size, as posed or in scale, up to which a slack or a multiplier below zero is what an interior point method leaves
# Times the tolerances that are asked for, to which a program in units of its own is solved, one after another.
WIDER = (1.0, 10.0, 100.0, 1000.0)
SHOWN = 1e-8  # residual in units of its own that shows a point to be an optimum
FAR = 1e3  # of variables of size one, from where on a bound is there to bound nothing, and says nothing of their size
CERTIFICATE = 1e-6  # size of a certificate's residual, beside what it claims, up to which it counts

Point = tuple[Array, Array]


class InScale:
    """A conic program beside its equilibrated form, which is made when it is first asked for.

    Where the columns are known that are ``sized``, of size one, the others are given units first: what CVXPY puts beside what a
    user adds to a program (the square of something small, say, beside a one) has no digits in the unit in which it is written.
    """

    def __init__(self, program: ConicProgram, sized: NDArray[np.intp] | None = None) -> None:
        self.program = program
        self._sized = sized

    @cached_property
    def _posed(self) -> tuple[ConicProgram, Array, list[Step]]:
        if self._sized is None:
            return self.program, np.ones(self.program.c.size), []
        return in_further_units(self.program, self._sized)

    @cached_property
    def _made(self) -> tuple[ConicProgram, Equilibration]:
        posed, units, _ = self._posed
        entries = posed.A.nnz + (0 if posed.P is None else posed.P.nnz)
        sweeps = SWEEPS if entries <= MANY_ENTRIES else FEW
        scaled, found = posed.equilibrated(sweeps, NOISE, _far_bounds(posed) if self.in_units else None)
        return scaled, replace(found, columns=found.columns * units)

    @property
    def in_units(self) -> bool:
        """Whether variables were given units, beside which those of the program say nothing of a point."""
        return self._sized is not None

    @property
    def scaled(self) -> ConicProgram:
        """The equilibrated program."""
        return self._made[0]

    @property
    def height(self) -> float:
        """The size of the program's objective: what is one in the equilibrated program."""
        return self._made[1].objective

    @cached_property
    def _by_cost(self) -> tuple[ConicProgram, Equilibration]:
        posed, units, _ = self._posed
        scaled, found = posed.by_cost()
        return scaled, replace(found, columns=found.columns * units)

    def unscaled(self, x: Array, z: Array, scale: Equilibration | None = None) -> tuple[Array, Array]:
        """A point of the equilibrated program and its multiplier, or of one in another ``scale``, in the units of the program."""
        scale = scale or self._made[1]
        multiplier = np.asarray(z) * scale.rows
        for step in reversed(self._posed[2]):
            multiplier = step.forward.T @ multiplier
        return np.asarray(x) * scale.columns, multiplier

    def _multiplier(self, z: Array) -> Array:
        """A multiplier of the program as one of the equilibrated program."""
        multiplier = np.asarray(z)
        for step in self._posed[2]:
            multiplier = step.inverse.T @ multiplier
        return multiplier / self._made[1].rows

    def seen(self, raw: Any, x: Array, z: Array) -> Point:
        """A solver's point in scale: as it was found there, since on the way back its multiplier may lose its digits."""
        return getattr(raw, "in_scale", None) or (np.asarray(x) / self._made[1].columns, self._multiplier(z))

    def residuals(self, x: Array, z: Array, seen: Point | None = None) -> Residuals:
        """The optimality residuals of a point of the program, computed in scale."""
        return self.scaled.residuals(*(seen or self.seen(None, x, z)))

    def value_share(self, x: Array, z: Array, seen: Point | None = None) -> float:
        """What the residuals of a point of the program may change of its value, as a share of it; infinite where it is zero."""
        value, error = abs(self.program.value(x)), self.charge(x, z, seen)
        return error / value if value > 0 else float("inf") if error > 0 else 0.0

    def value_error(self, x: Array, z: Array, seen: Point | None = None) -> float:
        """What the residuals of a point of the program may change of its value, in the program's unit or in scale, whichever is more."""
        return self.charge(x, z, seen) / min(1.0, self._made[1].objective)

    def charge(self, x: Array, z: Array, seen: Point | None = None) -> float:
        """What the residuals may change of the value, in the program's unit, with inequalities that one of the two, slack and multiplier, is silent on.

        A row that is broken by less than a solver's tolerance has no multiplier there, or next to none beside what it is broken
        by, though at the optimum it has one; what that may be is told by those of the other rows, where rows are of one size.
        Likewise the slack of a wrong multiplier.
        """
        scaled, scale = self._made
        rows = slice(scaled.cones.zero, scaled.cones.zero + scaled.cones.nonnegative)
        there = seen or self.seen(None, x, z)
        slack, multiplier = (scaled.b - scaled.A @ there[0])[rows], there[1][rows]
        posed = (self.program.b - self.program.A @ x)[rows], np.asarray(z)[rows]
        if self.in_units:
            posed = slack, multiplier
        silent = sum(
            float(
                np.sum(-one[(np.maximum(one, own) < -LEFT) & (np.abs(other) < -one)])
                * np.max(np.abs(other), initial=0.0)
            )
            for one, other, own in ((slack, multiplier, posed[0]), (multiplier, slack, posed[1]))
        )
        if self.in_units:
            return scale.objective * (scaled.value_error(*there) + silent)
        return self.program.value_error(x, z) + scale.objective * silent

    @property
    def posed(self) -> ConicProgram:
        """The program, in units where variables were given some."""
        return self._posed[0]

    def dual_problem(self) -> tuple[cp.Problem, dict[str, cp.Variable | Quantity]]:
        """The conic dual with its letters, which are those of the program as it was posed, in whatever units it is solved."""
        posed, units, steps = self._posed
        problem, letters = posed.dual_problem()
        if not self.in_units:
            return problem, {**letters}
        forward, inverse = sp.eye_array(posed.b.size, format="csr"), sp.eye_array(posed.b.size, format="csr")
        for step in steps:
            forward, inverse = sp.csr_array(step.forward @ forward), sp.csr_array(inverse @ step.inverse)
        made = {"z": Quantity(letters["z"], axes=forward.T, inverse=inverse.T)}
        return problem, made | ({"x": Quantity(letters["x"], units)} if "x" in letters else {})

    def proves_infeasible(self, z: Array) -> bool:
        """Whether z shows that no point is feasible: A'z = 0, z in K*, b'z < 0, up to rounding in scale."""
        scaled, multiplier = self.scaled, self._multiplier(z)
        value = float(scaled.b @ multiplier)
        residual = float(np.linalg.norm(scaled.A.T @ multiplier))
        outside = float(np.linalg.norm(scaled.cones.violations(multiplier, dual=True)))
        return value < 0 and residual + outside <= CERTIFICATE * -value

    def proves_unbounded(self, x: Array) -> bool:
        """Whether x is a direction without end that improves the objective: -Ax in K, Px = 0, c'x < 0, in scale."""
        scaled, scale = self._made
        direction = np.asarray(x) / scale.columns
        value = float(scaled.c @ direction)
        outside = float(np.linalg.norm(scaled.cones.violations(-(scaled.A @ direction))))
        curvature = 0.0 if scaled.P is None else float(np.linalg.norm(scaled.P @ direction))
        return value < 0 and outside + curvature <= CERTIFICATE * -value

    def solve(self, settings: Mapping[str, Any], by_cost: bool = False) -> Any:
        """Clarabel's answer to the equilibrated program, in the units of the program, as Clarabel itself would give it.

        With ``by_cost`` it is asked of :meth:`ConicProgram.by_cost`.
        """
        program, scale = self._by_cost if by_cost else self._made
        for factor in WIDER if self.in_units else WIDER[:1]:
            found = program.solve(**{k: factor * v if k.startswith("tol_") else v for k, v in settings.items()})
            # What a solver that wants more digits says of its point is not taken: these are enough of them.
            shown = found.status == "AlmostSolved" and program.residuals(found.x, found.z).worst <= SHOWN
            status = "Solved" if self.in_units and shown else found.status
            if status == "Solved":
                break
        x, z = self.unscaled(found.x, found.z, scale)
        value = self.program.value(x) if np.isfinite(x).all() else float("nan")
        return SimpleNamespace(
            x=x,
            z=z,
            s=found.s,
            status=status,
            obj_val=value,
            solve_time=0.0,
            iterations=found.iterations,
            in_scale=None if by_cost else (found.x, found.z),
        )


def _far_bounds(program: ConicProgram) -> NDArray[np.intp]:
    """The rows of inequalities that hold with room to spare wherever variables are of size one."""
    rows = np.arange(program.cones.zero, program.cones.zero + program.cones.nonnegative)
    reach = np.asarray(abs(program.A[rows]).sum(axis=1)).ravel()
    return rows[(reach > 0) & (program.b[rows] > FAR * reach)]
