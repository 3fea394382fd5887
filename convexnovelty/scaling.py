"""Columns of deviation one, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

__all__ = ["DoubleScaler"]


class DoubleScaler(StandardScaler):  # type: ignore[misc]
    """scikit-learn's scaler, which makes numbers of single precision double ones before it computes with them.

    Where they are kept, as its own does, they are rounded once more, and rows that tie with a threshold do so no longer.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DoubleScaler:
        """See :class:`sklearn.preprocessing.StandardScaler`."""
        super().fit(_double(X), y, sample_weight)
        return self

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """See :class:`sklearn.preprocessing.StandardScaler`."""
        return super().transform(_double(X), copy)


def _double(X: Any) -> Any:
    """Points with their floating numbers in double precision; other types are scikit-learn's to judge."""
    if hasattr(X, "iloc"):
        coarse = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if _is_coarse(kind)]
        return X.astype(dict.fromkeys(coarse, np.float64)) if coarse else X
    return X.astype(np.float64) if _is_coarse(getattr(X, "dtype", None)) else X


def _is_coarse(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize < 8
