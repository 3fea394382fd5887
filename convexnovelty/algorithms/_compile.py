"""Compilation of a numerical kernel by numba, kept on disk between processes where that is possible.

Only modules whose name starts with an underscore import this one, and they are themselves imported inside the function
that needs them: importing the package costs no compiler.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F, **options: Any) -> F:
    """``numba.njit`` with a cache on disk, under the type of the plain function.

    Where no directory can be written (a read-only installation without a home), the function is compiled in every
    process: the answer is the same and the first call takes seconds, so a warning says how to avoid it.
    """
    try:
        dispatcher: F = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        warnings.warn(
            f"compiled code cannot be kept on disk ({error}); each process will compile it again. "
            "Set NUMBA_CACHE_DIR to a directory that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        dispatcher = numba.njit(**options)(function)
    return dispatcher
