"""What robustness costs: the optimum, or what is guaranteed, as a set grows, up to where nothing is feasible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.errors import InfeasibleError, InputError
from convexnovelty.formulation import Formulation, Solution
from convexnovelty.plots._style import MARKERS, axes, colour, dashes, labelled
from convexnovelty.validation import Array, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["price_of_robustness"]


def price_of_robustness(
    problems: Any, *, relative: bool = True, guarantee: bool = False, ax: Axes | None = None, **number: Any
) -> Axes:
    """The optimum, or the guarantee, along one number of the problem, for example ``radius=[0, 0.1, 0.2]``.

    Parameters
    ----------
    problems : a formulation, or a mapping from labels to formulations.
    relative : divide by the size of the optimum at the first value.
    guarantee : draw the guaranteed bound of the solution, a probability, in place of its optimum.
    number : the one number to change, by the name that :meth:`Formulation.set` takes, and its values. The formulation
        is left as it was.

    The curve ends at a cross where the next value is infeasible.

    Raises
    ------
    InputError : where not one number is named, where its first value is infeasible already, and where a guarantee
        is asked of a method that gives none.
    """
    if len(number) != 1:
        raise InputError(f"price_of_robustness: {len(number)} numbers were found; give one, such as radius=[0, 0.1]")
    ((name, values),) = number.items()
    values = vector(list(values) if isinstance(values, Iterable) else values, name)
    ax = axes(ax)
    for position, (label, problem) in enumerate(labelled(problems).items()):
        costs = along(problem, name, values, _bound if guarantee else _objective)
        if np.isnan(costs[0]):
            raise InputError(f"{name}: nothing is feasible at its first value {values[0]:.6g}; start where there is")
        if relative and not guarantee:
            costs = costs / abs(costs[0])
        shade, marker = colour(position), MARKERS[position % len(MARKERS)]
        style = {"color": shade, "linestyle": dashes(position), "marker": marker, "markersize": 3.5}
        ax.plot(values, costs, linewidth=1.6, label=label or None, **style)
        feasible = np.flatnonzero(~np.isnan(costs))
        if feasible.size < costs.size:
            last = feasible[-1]
            ax.plot(
                values[last], costs[last], marker="x", color=shade, markersize=9, markeredgewidth=2, linestyle="none"
            )
    what = "guaranteed bound" if guarantee else "optimum / optimum at the start" if relative else "optimum"
    ax.set(xlabel=name, ylabel=what)
    if any(labelled(problems)):
        ax.legend(fontsize="small")
    return ax


def along(problem: Formulation, name: str, values: Array, read: Callable[[Solution], float]) -> Array:
    """What is read off the solution at each value, NaN where nothing is feasible; the number is put back to what it
    was."""
    before = problem.parameters.get(name)
    found = []
    for value in values:
        try:
            found.append(read(problem.set(**{name: value}).solve()))
        except InfeasibleError:
            found.append(np.nan)
    if before is not None:
        problem.set(**{name: before})
    return np.asarray(found)


def _objective(solution: Solution) -> float:
    return solution.objective


def _bound(solution: Solution) -> float:
    if solution.guarantee is None:
        raise InputError("guarantee: the method gives none; draw the optimum, with guarantee=False")
    return solution.guarantee.bound
