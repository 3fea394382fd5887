"""Columns of NPZ and Parquet files, read without pickle and within a limit of unpacked size."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from convexnovelty._optional import needed
from convexnovelty.columns import dated
from convexnovelty.errors import InputError
from convexnovelty.validation import Array

__all__ = ["Stored", "labels_of", "numbers", "of_arrow", "read_npz", "read_parquet"]

# Labels of rows that a file keeps beside its columns: the name that they have there, "" for none, and a label for each row.
Stored = tuple[str, list[str]]
Columns = tuple[list[str], list[Any], Stored | None]
NAMES = ("columns", "feature_names", "names")
WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def read_npz(source: Path, array: str | None, limit: Callable[[float], None]) -> Columns:
    """Names and columns of the matrix in an NPZ file: the one asked for, the one called X, or the only one.

    An array of as many words called "columns", "feature_names" or "names" names the columns.
    """
    with zipfile.ZipFile(source) as archive:
        limit(sum(info.file_size for info in archive.infolist()))
    with np.load(source, allow_pickle=False) as archive:
        found, unread = {}, {}
        for name in archive.files:
            try:
                found[name] = archive[name]
            except ValueError as error:
                unread[name] = error
    missed = array if array in unread else next(iter(unread), None) if not found else None
    if missed is not None:
        raise InputError(
            f"{source}: array {missed!r} cannot be read ({unread[missed]}); save it as numbers"
        ) from unread[missed]
    matrices = [name for name, item in found.items() if getattr(item, "ndim", 0) == 2]
    chosen = array or ("X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None)
    if chosen is None or chosen not in matrices:
        raise InputError(
            f"{source}: {'no array of two dimensions is called ' + repr(chosen) if chosen else 'several arrays or none fit'}; "
            f"found are {', '.join(f'{n} {np.shape(a)}' for n, a in found.items()) or 'none'}; name one with --array"
        )
    matrix = found[chosen]
    words = next((found[n] for n in NAMES if n in found and np.shape(found[n]) == (matrix.shape[1],)), None)
    names = [f"column {j + 1}" for j in range(matrix.shape[1])] if words is None else [str(word) for word in words]
    return names, list(matrix.T), None


def read_parquet(source: Path, array: str | None, limit: Callable[[float], None]) -> Columns:
    """Names and columns of a Parquet file; an index that pandas stored becomes labels of rows."""
    needed("pandas")
    parquet = needed("pyarrow.parquet")
    with parquet.ParquetFile(source) as file:
        about = file.metadata
        groups = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        limit(max(groups, 8.0 * about.num_rows * about.num_columns))
        return of_arrow(file.read())


def of_arrow(table: Any, before: int = 0) -> Columns:
    """The same of a table of pyarrow, or of a batch of its rows, of which so many came before."""
    arrow, pandas = needed("pyarrow"), needed("pandas")
    # Where one is missing, whole numbers would become floats, which labels are not to be.
    whole = {getattr(arrow, kind.lower())(): getattr(pandas, f"{kind}Dtype")() for kind in WHOLE}

    def kept(kind: Any) -> Any:
        # With a mapper, pyarrow asks nobody else about an index.
        return kind.to_pandas_dtype() if isinstance(kind, arrow.ExtensionType) else whole.get(kind)

    frame = table.to_pandas(types_mapper=kept)
    index = frame.index
    name = "" if index.nlevels > 1 or index.name is None else str(index.name)
    return (
        [str(name) for name in frame.columns],
        [frame.iloc[:, j] for j in range(frame.shape[1])],  # by place: names that come twice are refused later
        _counted(table, before) if type(index).__name__ == "RangeIndex" else (name, labels_of(index)),
    )


def _counted(table: Any, before: int) -> tuple[str, list[str]] | None:
    """The name and labels of an index of consecutive numbers, of which a file has the first one alone; None for one without a name."""
    for stored in (table.schema.pandas_metadata or {}).get("index_columns", ()):
        if isinstance(stored, dict) and stored.get("kind") == "range" and stored.get("name") is not None:
            start, step = stored["start"], stored["step"]
            return str(stored["name"]), [str(start + step * (before + k)) for k in range(table.num_rows)]
    return None


def labels_of(column: Any) -> list[str]:
    """A column as labels of rows, "" where one is missing, as in a text file."""
    return ["" if _is_missing(item) else str(item) for item in column]


def _is_missing(item: Any) -> bool:
    if isinstance(item, (float, np.floating)):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in ("NAType", "NaTType")


def numbers(column: Any, where: Callable[[int], str], name: str, *, label: bool = True) -> Array:
    """A column as numbers, gaps as NaN. Raises InputError naming the first cell that holds none.

    ``label`` says whether the column could label the rows of every table instead.
    """
    kind = str(getattr(column, "dtype", "object"))
    if kind.startswith(("int", "uint", "float", "bool", "Int", "UInt", "Float", "boolean")):
        return np.asarray(
            column.to_numpy(np.float64, na_value=np.nan) if hasattr(column, "to_numpy") else column, float
        )
    values = np.empty(len(column))
    for i, item in enumerate(column):
        try:
            if isinstance(item, (str, bytes, complex)) or (dated(type(item)) and type(item).__name__ != "NaTType"):
                raise TypeError
            values[i] = np.nan if _is_missing(item) else float(item)
        except (TypeError, ValueError, OverflowError):
            instead = f", name the rows by it (--index {name!r})," if label else ""
            raise InputError(
                f"{where(i)}: {str(item)[:40]!r} was found where a number is needed; store the column as numbers{instead} "
                f"or leave it out (--ignore {name!r})"
            ) from None
    return values


def has_flags(column: Any) -> bool:
    """Whether true or false is in a column; of a typed one that is known without a look at it."""
    kind = str(getattr(column, "dtype", "object"))
    return kind.startswith("bool") or (kind == "object" and any(isinstance(item, (bool, np.bool_)) for item in column))
