"""The package's own exceptions: what a user meets when something cannot be done.

Each message names the argument, the value that was found and what would do instead. Errors of the
input are also ``ValueError``, failures of a solve are also ``RuntimeError``, so that callers who know
nothing of this package still catch them by kind.
"""

from __future__ import annotations

__all__ = [
    "ArgumentTypeError",
    "ConvexNoveltyError",
    "EmptySetError",
    "EnrolmentError",
    "IndefiniteError",
    "InfeasibleError",
    "InputError",
    "RecompilationError",
    "SolveError",
    "SolverError",
    "UnboundedError",
    "UnboundedSetError",
]


class ConvexNoveltyError(Exception):
    """Base of every exception that this package raises on purpose."""


class InputError(ConvexNoveltyError, ValueError):
    """An argument cannot be used: the message names it, what it was, and what would do."""


class RecompilationError(InputError):
    """A compiled program cannot follow a change of its numbers: the formulation has to be made anew."""


class ArgumentTypeError(InputError, TypeError):
    """An argument is of a type that cannot be used; also a ``TypeError``, as scikit-learn's conventions ask."""


class IndefiniteError(InputError):
    """A matrix that must be positive semidefinite has a negative eigenvalue, given in ``eigenvalue``."""

    def __init__(self, message: str, eigenvalue: float = float("nan")) -> None:
        super().__init__(message)
        self.eigenvalue = eigenvalue


class EmptySetError(InputError):
    """An uncertainty set has no member, so that a robust constraint over it would hold for nothing."""


class UnboundedSetError(InputError):
    """An uncertainty set is unbounded in a direction in which its support is needed."""


class SolveError(ConvexNoveltyError, RuntimeError):
    """A solve ended without a solution; ``status`` is the solver's word and ``reason`` is ours."""

    def __init__(self, message: str, status: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason or message


class InfeasibleError(SolveError):
    """No point satisfies the constraints; for a confidence, ``limit`` is the largest feasible value."""

    def __init__(self, message: str, status: str = "infeasible", reason: str = "", limit: float | None = None) -> None:
        super().__init__(message, status, reason)
        self.limit = limit


class UnboundedError(SolveError):
    """The objective can be improved without end."""


class SolverError(SolveError):
    """The solver stopped early, failed, or returned a point that does not satisfy the optimality conditions."""


class EnrolmentError(ConvexNoveltyError):
    """A file or a class of the catalogue declares less than the checker needs to hold it to account."""


def is_panic(error: BaseException) -> bool:
    """Whether compiled code gave up with what is no ``Exception`` (pyo3's PanicException), and nobody asked for the end."""
    return not isinstance(error, (Exception, KeyboardInterrupt, SystemExit, GeneratorExit))
