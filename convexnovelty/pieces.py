"""Large tables in pieces, each read as the whole would be, so that a file need not fit into memory.

A file is read this way where every row can be understood without the others. Quoted text, columns whose part in the table
only all rows tell, and whatever a fast reader stumbles over make the caller read the whole instead.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from convexnovelty import csv_files
from convexnovelty._optional import needed
from convexnovelty.errors import InputError
from convexnovelty.tables import PARQUET, TEXT, FileLayout, Table, array_table, checked, limit

__all__ = ["Piece", "Whole", "pieces"]

LARGE = 32 * 2**20  # bytes of numbers or text from which a file is read in pieces
PIECE = 8 * 2**20  # bytes of a piece


class Whole(Exception):
    """The file has to be read whole after all."""


@dataclass(frozen=True)
class Piece:
    """Some rows of a table, and the share of the file that is read once they are."""

    table: Table
    share: float


def pieces(source: Path, how: FileLayout) -> Iterator[Piece]:
    """The pieces of a large table in their order. Raises Whole, at any time, for a file that is to be read at once."""
    kind = source.suffix.lower()
    try:
        if kind in TEXT:
            yield from _text(source, how)
        elif kind in PARQUET:
            yield from _parquet(source, how)
        elif kind == ".npz":
            yield from _npz(source, how)
        else:
            raise Whole
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise Whole from error  # whose reader says what is wrong


def _text(source: Path, how: FileLayout) -> Iterator[Piece]:
    size = source.stat().st_size
    if size < LARGE:
        raise Whole
    limit(source, size, how.max_mb, "in the file")
    needed("pandas")
    file, line = str(source), 0
    reader: _Reader | None = None
    with open(source, "rb") as handle:
        for text in _texts(handle):
            first, reader = reader is None, reader or _Reader.of(text, file, how)
            layout = reader.layout if first else reader.below
            found = csv_files.fast_values(
                text, layout, len(reader.names), reader.texts, numeric=reader.numeric, least=0
            )
            if found is None:
                raise Whole
            values, labels, lines = found
            yield Piece(checked(reader.table(values, labels, lines + line), how), handle.tell() / size)
            line += text.count("\n")


def _texts(handle: IO[bytes]) -> Iterator[str]:
    """Text of whole lines, as UTF-8; raises Whole for quotes, which may hold ends of lines, and for other encodings."""
    rest, first = b"", True
    while raw := handle.read(PIECE):
        end = raw.rfind(b"\n") + 1
        if not end:
            raise Whole
        yield _decoded(rest + raw[:end], first)
        rest, first = raw[end:], False
    if rest:
        yield _decoded(rest, first)


def _decoded(raw: bytes, first: bool) -> str:
    try:
        text = raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise Whole from error
    if '"' in text or "\0" in text or text.count("\r") != text.count("\r\n"):
        raise Whole
    return text


@dataclass(frozen=True)
class _Reader:
    """What the first piece of a text file says of all."""

    layout: csv_files.Layout
    below: csv_files.Layout
    names: list[str]
    texts: list[int]
    numeric: list[int]
    shell: Table
    label: int | None
    told: bool

    @classmethod
    def of(cls, text: str, file: str, how: FileLayout) -> _Reader:
        from convexnovelty.text_tables import opened

        try:
            head = opened(text, file, how)
        except InputError as error:
            raise Whole from error
        known = {*how.features, *how.ignore, how.label, how.index}
        if head.label is None and any(name not in known for name in head.names):
            raise Whole  # a column that may label the rows, which all of them tell
        if head.told and head.label is not None and head.names[head.label] != how.label:
            raise Whole
        texts = sorted(head.left_out if head.label is None else head.left_out | {head.label})
        kept = [name for j, name in enumerate(head.names) if j not in texts]
        shell = Table(
            file, kept, np.empty((0, len(kept))), (), "line", None, layout=head.said, ignored=tuple(head.names)
        )
        shell = replace(shell, remarks=head.remarks, first=head.first)
        held = [j for j, name in enumerate(head.names) if name in how.numeric and j not in texts]
        below = replace(head.layout, header=False)
        return cls(head.layout, below, head.names, texts, held, shell, head.label, head.told)

    def table(self, values: Any, labels: dict[int, list[str]], lines: Any) -> Table:
        from convexnovelty.text_tables import labelled

        table = replace(self.shell, values=values, places=lines)
        if self.label is None:
            return table
        return labelled(table, self.names[self.label], labels[self.label], self.told, self.layout)


def _parquet(source: Path, how: FileLayout) -> Iterator[Piece]:
    from convexnovelty.array_files import of_arrow

    needed("pandas")
    parquet = needed("pyarrow.parquet")
    with parquet.ParquetFile(source, pre_buffer=False) as file:
        about = file.metadata
        n, p = about.num_rows, about.num_columns
        groups = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if max(groups, 8 * n * p) < LARGE:
            raise Whole
        limit(source, max(groups, 8.0 * n * p), how.max_mb, "when unpacked")
        rows = max(1, PIECE // (8 * p))
        done = 0
        for batch in file.iter_batches(batch_size=rows):
            if len(batch):
                names, columns, stored = of_arrow(batch, done)
                table = _array_piece(source, how, names, columns, stored, done)
                done += len(batch)
                yield Piece(checked(table, how), done / n)


def _array_piece(
    source: Path, how: FileLayout, names: list[str], columns: list[Any], stored: Any, before: int
) -> Table:
    """A piece as a table; raises Whole for a column that may label the rows, which all of them tell."""
    table = array_table(source, how, names, columns, stored, before)
    if stored is None and how.index is None and table.labels is not None and table.labelled_by != how.label:
        raise Whole
    return table


def _npz(source: Path, how: FileLayout) -> Iterator[Piece]:
    from convexnovelty import array_files

    with zipfile.ZipFile(source) as archive:
        total = sum(info.file_size for info in archive.infolist())
        if total < LARGE:
            raise Whole
        limit(source, total, how.max_mb, "when unpacked")
        shapes: dict[str, tuple[int, ...]] = {}
        for entry in archive.namelist():
            with archive.open(entry) as member:
                shapes[entry.removesuffix(".npy")] = _header(member)[0]
        matrices = [name for name, shape in shapes.items() if len(shape) == 2]
        chosen = how.array or ("X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None)
        if chosen is None or chosen not in matrices:
            raise Whole
        n, p = shapes[chosen]
        named = next((name for name in array_files.NAMES if shapes.get(name) == (p,)), None)
        words: Any = None
        if named is not None:
            with archive.open(f"{named}.npy") as member:
                words = np.lib.format.read_array(member, allow_pickle=False)
        names = [f"column {j + 1}" for j in range(p)] if words is None else [str(word) for word in words]
        rows = max(1, PIECE // (8 * max(1, p)))
        with archive.open(f"{chosen}.npy") as member:
            _, dtype = _header(member)
            for start in range(0, n, rows):
                count = min(rows, n - start)
                block = np.frombuffer(_exactly(member, count * p * dtype.itemsize), dtype).reshape(count, p)
                table = _array_piece(source, how, names, list(block.T), None, start)
                yield Piece(checked(table, how), (start + count) / n)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array file; raises Whole for what has no rows one after another."""
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    reader = read.get(np.lib.format.read_magic(member))
    if reader is None:
        raise Whole
    shape, by_columns, dtype = reader(member)
    if (by_columns and len(shape) > 1) or dtype.hasobject:
        raise Whole
    return shape, dtype


def _exactly(member: IO[bytes], size: int) -> bytes:
    parts = []
    while size and (part := member.read(size)):  # what is unpacked comes as it comes
        parts.append(part)
        size -= len(part)
    if size:
        raise EOFError
    return b"".join(parts)
