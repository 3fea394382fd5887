"""The automatic checks around singular, badly scaled and diagonal centres, in the dimensions 2, 5 and 20.

One example of each class, in the plane around each of them, in five dimensions and in 20 around one, by turns. In 20
dimensions there are none of those whose programs take a minute and more. Where the environment variable
``CONVEXNOVELTY_EVERY_EXAMPLE`` is set, every example of every class around all of them, which takes the better part of an
hour.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
import set_laws as laws

from convexnovelty import uncertainty as sets
from convexnovelty.moments import Moments

EVERY_EXAMPLE = bool(os.environ.get("CONVEXNOVELTY_EVERY_EXAMPLE"))
TOLERANCE = 1e-5
# Transport, entropy, the nuclear norm and what is made of joint sets: semidefinite cones of twice the order of the covariance.
LONG = (
    "BuresBall", "CovariancePreimage", "CovarianceSetHull", "CovarianceSum", "DelageYe", "GelbrichBall", "KLBall",
    "MomentDilation", "MomentImage", "MomentIntersection", "MomentPreimage", "MomentSetHull", "MomentSum",
    "MomentTranslation", "NuclearBall", "WishartBall",
)  # fmt: skip


def singular(p: int) -> Moments:
    """Half of the directions have no variance."""
    return laws.moments(p, rank=max(1, p // 2))


def badly_scaled(p: int) -> Moments:
    """Axes whose variances differ by six orders of magnitude."""
    return laws.moments(p, spread=1e3)


def diagonal(p: int) -> Moments:
    """Independent columns."""
    return Moments(2.0 * np.random.default_rng(p).standard_normal(p), np.diag(np.linspace(0.3, 2.0, p)))


CENTRES = (singular, badly_scaled, diagonal)


def examples(dimension: int) -> list:
    """The first example of each class, or all of them."""
    return [
        pytest.param(recipe, id=f"{name}{i}")
        for name, kind in sets.catalogue().items()
        for i, recipe in enumerate(kind.examples(dimension)[: None if EVERY_EXAMPLE else 1])
    ]


def agrees(recipe, centre, dimension: int, tried: int) -> None:
    nominal = centre(dimension)
    laws.agrees(recipe, nominal, TOLERANCE, laws.directions(nominal)[:tried])


@pytest.mark.parametrize("centre", CENTRES, ids=lambda centre: centre.__name__)
@pytest.mark.parametrize("recipe", examples(2))
def test_in_the_plane(recipe, centre):
    agrees(recipe, centre, 2, 2)


def by_turns(dimension: int, first: int) -> list:
    """The same examples around one of the centres each, or around all of them."""
    return [
        pytest.param(recipe, centre, id=f"{name}{i}-{centre.__name__}")
        for turn, (name, kind) in enumerate(sorted(sets.catalogue().items()), start=first)
        for i, recipe in enumerate(kind.examples(dimension)[: None if EVERY_EXAMPLE else 1])
        for centre in (CENTRES if EVERY_EXAMPLE else (CENTRES[turn % len(CENTRES)],))
    ]


@pytest.mark.parametrize(("recipe", "centre"), by_turns(5, first=1))
def test_in_five_dimensions(recipe, centre):
    agrees(recipe, centre, 5, 2)


@pytest.mark.parametrize(("recipe", "centre"), by_turns(20, first=0))
def test_in_twenty_dimensions(recipe, centre):
    if not EVERY_EXAMPLE and type(recipe).__name__ in LONG:
        pytest.skip("these semidefinite programs take up to minutes in 20 dimensions: in the long run only")
    agrees(recipe, centre, 20, 1)
