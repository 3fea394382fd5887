"""Copies of what a caller hands in, for objects that read it again later, and arrays that nobody writes into."""

from __future__ import annotations

import copy
from array import array
from collections.abc import MutableSequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["owned", "read_only"]

Shaped = TypeVar("Shaped", bound=np.ndarray)


def read_only(values: Shaped) -> Shaped:
    """The array itself, which from now on cannot be written into: for arrays that are nobody else's."""
    values.setflags(write=False)
    return values


def owned(value: Any) -> Any:
    """Arrays, frames, sparse matrices and lists, tuples and dictionaries of them as copies; anything else as it is.

    Arrays come back read-only. The objects of this package own their arrays already, and are not copied.
    """
    if isinstance(value, np.ndarray):
        return _owned_array(value)
    # A sparse matrix may be a dictionary too.
    if hasattr(value, "iloc") or hasattr(value, "nnz"):
        return value.copy()
    if isinstance(value, tuple):
        parts = [owned(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [owned(part) for part in value]
    if isinstance(value, dict):
        return {key: owned(part) for key, part in value.items()}
    if isinstance(value, memoryview):
        return read_only(np.array(value))
    # Numbers of NumPy call themselves arrays, and do not change.
    if isinstance(value, np.generic) or not _holds_numbers(value):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # another library's, of any kind: what the factory makes of the object, it says itself
        return value


def _owned_array(value: Any) -> Any:
    if isinstance(value, np.memmap):  # of which a copy would call itself a map of a file
        return read_only(np.array(value))
    # A subclass may hold more beside its entries, as a mask.
    return read_only(np.array(value) if type(value) is np.ndarray else copy.deepcopy(value))


def _holds_numbers(value: Any) -> bool:
    if isinstance(value, type):
        return False
    return hasattr(value, "__array__") or isinstance(value, (MutableSequence, array, bytearray))
