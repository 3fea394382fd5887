"""The distance of a sample's convex hull from the origin, as a program and by an algorithm."""

import numpy as np

from convexnovelty import Claim, Instance, LinearFeatures, Method, Solution
from convexnovelty._lazy import cp
from convexnovelty.algorithms.smo import smo
from convexnovelty.formulation import Formulation, Quantity, Reading
from convexnovelty.regions import HalfSpace

METHOD = Method(
    "hull_distance",
    title="Distance of the hull",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="Finds the half-space that holds the whole sample and is farthest from the origin.",
)


@METHOD.node(
    "supporting",
    source="equation 8.31 with offset 1",
    latex=r"\min_w\ \tfrac12\|w\|^2\quad\text{s.t.}\quad\langle w,x_i\rangle\ge1",
)
def hull_distance(features: LinearFeatures) -> Formulation:
    """The shortest normal whose half-space holds every point."""
    unit = features.unit  # the solver sees points of size one, so the normal comes in units of 1 / unit
    w = cp.Variable(features.dimension)
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [features.training / unit @ w >= 1]),
        {"w": Quantity(w, 1 / unit)},
        objective_unit=unit**-2,
        read=lambda values: Reading(HalfSpace(values["w"], 1.0)),
    )


@METHOD.node(
    "nearest",
    kind="algorithm",
    source="proposition 8.1",
    latex=r"\min_\alpha\ \tfrac12\Bigl\|\sum_i\alpha_ix_i\Bigr\|^2\quad\text{s.t.}\quad\alpha\ge0,\ \sum_i\alpha_i=1",
)
def nearest(features: LinearFeatures) -> Solution:
    """The point of the hull that is nearest to the origin, by pairwise steps."""
    result = smo(features.gram)
    point = features.training.T @ result.multipliers
    squared = float(point @ point)
    return Solution(result.objective, {"point": point}, HalfSpace(point / squared, 1.0), solver="SMO")


METHOD.step(
    "nearest",
    "supporting",
    claim="the normal is the nearest point divided by its squared length",
    equation="proposition 8.1",
    reference="algorithm",
    objective=lambda value: 1 / (4 * value),
    values=lambda solution: {"w": solution.values["point"] / (2 * solution.objective)},
)


@METHOD.property("support", source="proposition 8.1")
def support(solution: Solution, features: LinearFeatures) -> list[Claim]:
    """No point lies outside, and one lies on the boundary."""
    nearest_value = float(solution.region.decision_values(features.training).min())
    return [Claim("the smallest decision value is zero", nearest_value, 0.0, tolerance=1e-7, source="proposition 8.1")]


@METHOD.instance("signed cloud")
def cloud() -> Instance:
    """Thirty points in three dimensions, away from the origin, some coordinates negative."""
    points = np.random.default_rng(8).normal([4.0, -3.0, 1.0], 1.0, size=(30, 3))
    return Instance("signed cloud", {"features": LinearFeatures(points)})
