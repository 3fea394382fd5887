"""Wrong answers of solvers that are known, each with its reason; the page on solver findings has the smallest examples.

An exemption is certain where the same numbers give the same wrong answer everywhere. The others depend on the last digits
of a Gram matrix, which differ between linear algebra libraries, and are therefore not required to be needed.
"""

from __future__ import annotations

from convexnovelty.checking.cross_check import Exemption

__all__ = ["KNOWN"]

_SINGULAR = "its active-set method for quadratic programs breaks down on Gram matrices that are singular up to rounding"

KNOWN: tuple[Exemption, ...] = (
    Exemption("MOREAU", r"/(dual|kernel_dual|one_class_svm|reflected)$", "wrong infeasible", _SINGULAR, certain=False),
    Exemption("MOREAU", r"^kernel_learning/.*/single_kernel$", "wrong optimal", _SINGULAR, certain=False),
    Exemption(
        "HIGHS",
        r"^one_class_svm/weighted points in units from 1e-4 to 1e4/primal$",
        "wrong optimal",
        "its method for quadratic programs stops short on columns of very different size and calls it optimal",
        certain=False,
    ),
)
