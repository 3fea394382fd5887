"""Wrong answers of solvers that are known, each with its reason; see the page on solver findings for the smallest examples."""

from __future__ import annotations

from convexnovelty.checking.cross_check import Exemption

__all__ = ["KNOWN"]

KNOWN: tuple[Exemption, ...] = ()
