"""Points beyond memory and beyond one machine: moments, feature maps and scores of sources that are read in blocks.

A source is an array or a memory map, a frame, a sparse matrix, a ``.npy`` file, a Parquet file or folder, a pyarrow
dataset, a Dask array or frame, blocks in a list or an iterator, or a function that returns an iterator.

>>> import numpy as np
>>> blocks = (np.full((2, 1), float(k)) for k in range(3))
>>> moments_of(blocks).mean.tolist()
[1.0]

A new kind of source is one file in this folder with a class that derives from :class:`~convexnovelty.streams.source.Source`.
"""

from __future__ import annotations

from convexnovelty.streams.results import chunks, features_of, moments_by_class, moments_of, score_chunks
from convexnovelty.streams.source import Block, Columns, Source, as_source, is_stream

__all__ = [
    "Block",
    "Columns",
    "Source",
    "as_source",
    "chunks",
    "features_of",
    "is_stream",
    "moments_by_class",
    "moments_of",
    "score_chunks",
]
