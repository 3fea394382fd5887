r"""Uncertainty sets of the plane, and the member that is worst for a direction.

A set of moments is drawn as the convex hull of all ellipses :math:`\{x : (x-m)'S^{-1}(x-m) \le \kappa^2\}` of its
members. The hull's support function is :math:`\sup_{(m,S)} m'a + \kappa\sqrt{a'Sa}`, the very worst case that a robust
program holds below its offset, and the worst member's ellipse touches the hull where the normal is a. Sets of points are
drawn themselves, and so are sets of means where there is no set of covariances beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.moments import Moments
from convexnovelty.plots._style import FAINT, INK, axes, colour, dashes, labelled
from convexnovelty.uncertainty import Adversary, MeanSet, MomentSet, as_moment_set, worst_member
from convexnovelty.validation import Array, integer, nonnegative, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["uncertainty_sets"]


def uncertainty_sets(
    sets: Any,
    center: Any,
    *,
    direction: Any = None,
    kappa: float = 1.0,
    directions: int = 72,
    ax: Axes | None = None,
) -> Axes:
    r"""The boundary of each set, its centre, and the worst member for a direction.

    Parameters
    ----------
    sets : a set, or a mapping from labels to sets, all of moments (of means, covariances or both, or None for the nominal
        ones) or all of points.
    center : cn.Moments of the plane, or for points an array of shape (2,).
    direction : the a of shape (2,) whose worst member is drawn with the line that it supports; None draws none.
    kappa : the size of the ellipses.
    directions : in how many directions the boundary is computed.

    Raises
    ------
    InputError : for a centre that is not of the plane.
    """
    planar = center.dimension == 2 if isinstance(center, Moments) else np.size(center) == 2
    if not planar:
        raise InputError("center: a picture of a plane takes moments of dimension 2, or a point of shape (2,)")
    kappa = nonnegative(kappa, "kappa")
    angles = np.linspace(0.0, 2.0 * np.pi, integer(directions, "directions", 3), endpoint=False)
    chosen = None if direction is None else vector(direction, "direction", 2)
    ax = axes(ax)
    middle = center.mean if isinstance(center, Moments) else vector(center, "center", 2)
    recipes = labelled(sets)
    if isinstance(center, Moments) and not all(isinstance(recipe, MeanSet) for recipe in recipes.values()):
        recipes = {label: as_moment_set(recipe) for label, recipe in recipes.items()}
    handles = []
    for position, (label, recipe) in enumerate(recipes.items()):
        worst = _worst(recipe, center, kappa)
        boundary = np.array([worst(np.array([np.cos(t), np.sin(t)]))[0] for t in angles])
        boundary = np.vstack([boundary, boundary[:1]])  # where the worst member is not unique, an edge is the last line
        (line,) = ax.plot(*boundary.T, color=colour(position), linestyle=dashes(position), linewidth=1.8)
        if chosen is not None:
            touching, member = worst(chosen)
            # Of several sets the members would hide each other: where they touch is enough.
            _supported(ax, chosen, touching, member if len(recipes) == 1 else None, kappa, colour(position))
        if label:
            handles.append((line, label))
    moments = all(isinstance(recipe, MomentSet) for recipe in recipes.values())
    if moments and "nominal" not in recipes:
        (nominal,) = ax.plot(*_ellipse(middle, center.covariance, kappa).T, color=FAINT, linewidth=1.2)
        handles.append((nominal, "nominal"))
    ax.plot(*middle, marker="+", color=INK, markersize=9, linestyle="none")
    if chosen is not None:
        _arrow(ax, middle, chosen)
    ax.set_aspect("equal", adjustable="datalim")
    if handles:
        ax.legend(*zip(*handles, strict=True), fontsize="small", framealpha=0.9)
    return ax


def _worst(recipe: Any, center: Any, kappa: float) -> Callable[[Array], tuple[Array, Array | None]]:
    """From a direction to the boundary point there, and for sets of moments the worst covariance with its mean."""
    attack = _asked(recipe.centred(center), kappa)
    if isinstance(recipe, MomentSet):

        def of_moments(a: Array) -> tuple[Array, Array | None]:
            m, S = attack(a)
            deviation = float(np.sqrt(max(float(a @ S @ a), 0.0)))
            touching = m + (kappa * S @ a / deviation if deviation > 0 else 0.0)
            return touching, np.column_stack([m, S])

        return of_moments
    return lambda a: (np.asarray(attack(a)), None)


def _asked(centred: Any, kappa: float) -> Callable[[Array], Any]:
    """Worst members by the class's own formula if it has one, else by an adversary that is compiled once."""
    e = np.array([1.0, 0.0])
    named = (
        centred.worst_member(e, kappa)
        if isinstance(centred, MomentSet)
        else centred.worst_member(e, centred.covariance)
        if isinstance(centred, MeanSet)
        else centred.worst_member(e)
    )
    if named is not None:
        return lambda a: worst_member(centred, a, kappa)
    attacker = Adversary(centred)
    return lambda a: attacker(a, kappa).member


def _supported(ax: Axes, a: Array, touching: Array, moments: Array | None, kappa: float, shade: str) -> None:
    """The worst member, and the line with normal a that touches the set there."""
    if moments is not None:
        ax.fill(*_ellipse(moments[:, 0], moments[:, 1:], kappa).T, color=shade, alpha=0.14, linewidth=0)
        ax.plot(*moments[:, 0], marker=".", color=shade, linestyle="none")
    ax.plot(*touching, marker="o", color=shade, markersize=5, linestyle="none", zorder=4)
    along = np.array([-a[1], a[0]]) / np.linalg.norm(a)
    ax.axline(tuple(touching), tuple(touching + along), color=shade, linewidth=0.8, alpha=0.8)


def _ellipse(mean: Array, covariance: Array, kappa: float) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    angles = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(mean + kappa * (circle * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _arrow(ax: Axes, start: Array, a: Array) -> None:
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    length = 0.22 * min(right - left, top - bottom)
    x, y = (start + length * a / np.linalg.norm(a)).tolist()
    ax.annotate("", (x, y), tuple(start.tolist()), arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.0})
    ax.annotate("a", (x, y), textcoords="offset points", xytext=(4, 2), fontsize="small", style="italic")
