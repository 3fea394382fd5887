r"""A compiled program in a scale of its own, in which what a solver says of it is judged.

A solver's tolerances are absolute, and so is the one in :math:`1 + \|b\|` that makes a residual relative. A program whose
coefficients are of the size of :math:`10^{-16}` can thus be "solved" to all digits by a point that is nowhere near its
optimum. In the equilibrated program, whose rows, columns and objective are of size one, such a point has residuals of
size one; and a certificate of infeasibility proves something only if it is one there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from convexnovelty.conic import NOISE, ConicProgram, Equilibration, Residuals
from convexnovelty.validation import Array

__all__ = ["InScale"]

# Sweeps of the scaling; a large dense program cannot pay for more, and its rows are alike.
SWEEPS, FEW, MANY_ENTRIES = 16, 4, 10**5
LEFT = 1e-9  # size, as posed or in scale, up to which a slack or a multiplier below zero is what an interior point method leaves
CERTIFICATE = 1e-6  # size of a certificate's residual, beside what it claims, up to which it counts


class InScale:
    """A conic program beside its equilibrated form, which is made when it is first asked for."""

    def __init__(self, program: ConicProgram) -> None:
        self.program = program

    @cached_property
    def _made(self) -> tuple[ConicProgram, Equilibration]:
        entries = self.program.A.nnz + (0 if self.program.P is None else self.program.P.nnz)
        return self.program.equilibrated(SWEEPS if entries <= MANY_ENTRIES else FEW, NOISE)

    @property
    def scaled(self) -> ConicProgram:
        """The equilibrated program."""
        return self._made[0]

    @property
    def height(self) -> float:
        """The size of the program's objective: what is one in the equilibrated program."""
        return self._made[1].objective

    def unscaled(self, x: Array, z: Array) -> tuple[Array, Array]:
        """A point of the equilibrated program and its multiplier, in the units of the program."""
        scale = self._made[1]
        return np.asarray(x) * scale.columns, np.asarray(z) * scale.rows

    def residuals(self, x: Array, z: Array) -> Residuals:
        """The optimality residuals of a point of the program, computed in scale."""
        scaled, scale = self._made
        return scaled.residuals(np.asarray(x) / scale.columns, np.asarray(z) / scale.rows)

    def value_share(self, x: Array, z: Array) -> float:
        """What the residuals of a point of the program may change of its value, as a share of it; infinite where it is zero."""
        value, error = abs(self.program.value(x)), self.charge(x, z)
        return error / value if value > 0 else float("inf") if error > 0 else 0.0

    def value_error(self, x: Array, z: Array) -> float:
        """What the residuals of a point of the program may change of its value, in the program's unit or in scale, whichever is more."""
        return self.charge(x, z) / min(1.0, self._made[1].objective)

    def charge(self, x: Array, z: Array) -> float:
        """What the residuals may change of the value, in the program's unit, with inequalities that one of the two, slack and multiplier, is silent on.

        A row that is broken by less than a solver's tolerance has no multiplier there, or next to none beside what it is broken
        by, though at the optimum it has one; what that may be is told by those of the other rows, where rows are of one size.
        Likewise the slack of a wrong multiplier.
        """
        scaled, scale = self._made
        rows = slice(scaled.cones.zero, scaled.cones.zero + scaled.cones.nonnegative)
        slack = (scaled.b - scaled.A @ (np.asarray(x) / scale.columns))[rows]
        multiplier = (np.asarray(z) / scale.rows)[rows]
        posed = (self.program.b - self.program.A @ x)[rows], np.asarray(z)[rows]
        silent = sum(
            float(
                np.sum(-one[(np.maximum(one, own) < -LEFT) & (np.abs(other) < -one)])
                * np.max(np.abs(other), initial=0.0)
            )
            for one, other, own in ((slack, multiplier, posed[0]), (multiplier, slack, posed[1]))
        )
        return self.program.value_error(x, z) + scale.objective * silent

    def proves_infeasible(self, z: Array) -> bool:
        """Whether z shows that no point is feasible: A'z = 0, z in K*, b'z < 0, up to rounding in scale."""
        scaled, scale = self._made
        multiplier = np.asarray(z) / scale.rows
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

    def solve(self, settings: Mapping[str, Any]) -> Any:
        """Clarabel's answer to the equilibrated program, in the units of the program, as Clarabel itself would give it."""
        found = self.scaled.solve(**settings)
        x, z = self.unscaled(found.x, found.z)
        value = self.program.value(x) if np.isfinite(x).all() else float("nan")
        return SimpleNamespace(
            x=x, z=z, s=found.s, status=found.status, obj_val=value, solve_time=0.0, iterations=found.iterations
        )
