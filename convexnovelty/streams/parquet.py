"""Parquet files and folders, and everything else that pyarrow reads in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from convexnovelty._optional import needed
from convexnovelty.columns import DATES, is_date
from convexnovelty.errors import InputError
from convexnovelty.streams.source import Source, rows_at_once
from convexnovelty.validation import shown

__all__ = ["ArrowBlock", "Parquet", "of_arrow", "own_names"]

PARQUET = (".parquet", ".pq")


class Parquet(Source):
    """The name of a Parquet file or of a folder of such files, or a dataset, table or Parquet file of pyarrow.

    Only columns that are used are read from the disk. A gap is refused with its place, as in every matrix.
    """

    @classmethod
    def accepts(cls, given: Any) -> bool:
        """See :meth:`Source.accepts`."""
        if isinstance(given, (str, Path)):
            return Path(given).suffix.lower() in PARQUET or Path(given).is_dir()
        return of_arrow(given) and not hasattr(given, "read_next_batch")  # which comes batch by batch, and once

    @property
    def names(self) -> list[str] | None:
        """See :attr:`Source.names`."""
        opened = self._opened()
        schema = opened.schema_arrow if hasattr(opened, "schema_arrow") else opened.schema
        named = self.columns.features is not None
        return self.columns.of([str(name) for name in schema.names] if named else own_names(schema))

    def raw(self) -> Iterator[Any]:
        """See :meth:`Source.raw`."""
        opened, wanted = self._opened(), self._wanted()
        if isinstance(self.given, (str, Path)):
            if self.columns.features is None:
                _refuse_partitions(Path(self.given).resolve(), opened)
            opened = _agreed(str(self.given), opened, wanted, all_columns=self.columns.features is None)
        if self.columns.weights is not None:
            schema = opened.schema_arrow if hasattr(opened, "schema_arrow") else opened.schema
            _refuse_dates(self.columns.weights, schema.field(self.columns.weights).type)
        rows = rows_at_once(self.rows, len(wanted))
        try:
            if hasattr(opened, "iter_batches"):  # a ParquetFile
                batches = opened.iter_batches(batch_size=rows, columns=wanted)
            else:
                batches = opened.to_batches(columns=wanted, batch_size=rows, batch_readahead=1, fragment_readahead=1)
            for batch in batches:
                if batch.num_rows:
                    yield ArrowBlock(batch)
        except (OSError, ValueError) as error:  # Arrow's own; what is wrong with a block is found elsewhere
            raise InputError(f"source: {shown(self.given)} cannot be read to its end ({str(error)[:200]})") from error

    def _opened(self) -> Any:
        given = self.given
        if hasattr(given, "iter_batches"):
            return given
        dataset = needed("pyarrow.dataset", "detect")
        if not isinstance(given, (str, Path)):
            return given if isinstance(given, dataset.Dataset) else dataset.dataset(given)
        try:
            return dataset.dataset(str(given), format="parquet")
        except (OSError, ValueError) as error:
            if "duplicate field names" in str(error):
                raise InputError(
                    f"source: {given}: columns of one name occur more than once; give each its own"
                ) from error
            raise InputError(f"source: {given} cannot be read as Parquet ({str(error)[:200]})") from error

    def _wanted(self) -> list[str]:
        others = [name for name in (self.columns.weights, self.columns.classes) if name is not None]
        wanted = [*(self.names or []), *others]
        if not wanted:
            raise InputError(f"source: {self.given} has no column; give a table with numbers in it")
        return wanted


def _agreed(given: str, opened: Any, wanted: list[str], *, all_columns: bool) -> Any:
    """The dataset with types that hold the numbers of all files: pyarrow goes by the first file alone.

    It would drop a column that only later files have, and fill one that they lack with gaps; both are refused.
    """
    arrow = needed("pyarrow", "detect")
    first, schema = "", opened.schema
    for piece in opened.get_fragments():
        try:
            first, here = first or piece.path, piece.physical_schema
        except (OSError, ValueError) as error:
            raise InputError(
                f"{piece.path}: it cannot be read as Parquet ({str(error)[:200]}); leave only Parquet files in the folder"
            ) from error
        for name in wanted:
            if name not in here.names:
                raise InputError(
                    f"{piece.path}: no column {name!r} was found, which {first} has; give files with the same columns"
                )
            if here.names.count(name) > 1:
                continue  # refused by name when the columns are chosen
            place, kind = schema.get_field_index(name), here.field(name).type
            known = schema.field(place)
            if kind == known.type:
                continue
            try:
                both = [arrow.schema([(name, each)]) for each in (known.type, kind)]
                wide = arrow.unify_schemas(both, promote_options="permissive").field(0).type
            except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
                raise InputError(
                    f"{piece.path}, column {name!r}: {kind} was found where files before it have {known.type}; "
                    "write the column with one type in all files"
                ) from error
            schema = schema.set(place, arrow.field(name, wide))
        more = [name for name in own_names(here) if name not in opened.schema.names]
        if all_columns and more:
            raise InputError(
                f"{piece.path}, column {more[0]!r}: it was found in this file but not in {first}; give files with the same "
                "columns, or name those that are features"
            )
    if schema == opened.schema:
        return opened
    return needed("pyarrow.dataset", "detect").dataset(given, schema=schema, format="parquet")


def _refuse_partitions(folder: Path, opened: Any) -> None:
    """Raise InputError for files in folders named ``column=value``, which hold that column in their names alone."""
    for piece in opened.get_fragments():
        above = [part for part in Path(piece.path).parts[:-1] if "=" in part and part not in folder.parts]
        if above:
            raise InputError(
                f"source: {folder}: its files lie in folders such as {above[0]!r}, which name a column that the files do not hold; "
                "name the columns that are features, or give a dataset of pyarrow that reads the partitions"
            )


def own_names(schema: Any) -> list[str]:
    """The names of an Arrow schema's columns but those in which pandas has kept the index of its rows."""
    index: set[str] = set()
    about = (schema.metadata or {}).get(b"pandas")
    if about is not None:
        index = {entry for entry in json.loads(about).get("index_columns", []) if isinstance(entry, str)}
    return [str(name) for name in schema.names if str(name) not in index]


def of_arrow(given: Any) -> bool:
    """Whether an object is one of pyarrow's with columns; it is asked of anything, and imports nothing."""
    return type(given).__module__.partition(".")[0] == "pyarrow" and hasattr(given, "schema")


class ArrowBlock:
    """A batch or a table of Arrow as a frame: columns by name, no more. An index that pandas has kept is no column where all are asked for."""

    def __init__(self, batch: Any, *, chosen: bool = True) -> None:
        self.batch = batch
        self.columns = [str(name) for name in batch.schema.names] if chosen else own_names(batch.schema)

    def __getitem__(self, wanted: Any) -> Any:
        if isinstance(wanted, str):
            return self.batch.column(wanted).to_numpy(zero_copy_only=False)
        return _matrix(self.batch.select(wanted))

    def select(self, names: list[str]) -> ArrowBlock:
        """The columns of these names."""
        return ArrowBlock(self.batch.select(names))


def _matrix(batch: Any) -> Any:
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        _refuse_dates(name, column.type)
        numbers = column.cast("float64") if str(column.type).startswith("decimal") else column
        values = numbers.to_numpy(zero_copy_only=False)
        if values.dtype.kind == "O" and column.null_count and str(column.type) == "bool":
            values = np.array([np.nan if item is None else float(item) for item in values])
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"column {name!r}: {column.type} was found where numbers are needed; name the columns that are features"
            )
        columns.append(values)
    return np.column_stack(columns)


def _refuse_dates(name: str, kind: Any) -> None:
    if is_date(kind):
        raise InputError(f"column {name!r} of type {kind}: {DATES}, or name the columns that are features")
