"""The checker: every arrow of the derivation, run on numbers; and solvers, held against proved intervals."""

from convexnovelty.checking.checker import check
from convexnovelty.checking.report import Report, Row

__all__ = ["Report", "Row", "check"]
