"""Files of one folder must agree, and where they do not the file and the column are named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from convexnovelty import streams
from convexnovelty.errors import InputError
from convexnovelty.moments import Moments

pd = pytest.importorskip("pandas")
pq, ds = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.dataset")
D = pd.DataFrame(np.arange(12.0).reshape(6, 2) + 0.25, columns=["a", "b"])

MIXED = {
    "text": (D, D.astype(str), "1.parquet, column 'a': "),
    "one more": (D, D.assign(c=1.0), "1.parquet, column 'c': it was found in this file but not in"),
    "one less": (D, D[["a"]], "1.parquet: no column 'b' was found"),
}


@pytest.mark.parametrize(("first", "second", "message"), MIXED.values(), ids=MIXED.keys())
def test_files_that_differ_are_refused_by_name(tmp_path: Path, first: object, second: object, message: str) -> None:
    for index, table in enumerate((first, second)):
        table.to_parquet(tmp_path / f"{index}.parquet")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=re.escape(message)):
        streams.moments_of(tmp_path)


def test_columns_that_all_files_have_are_read(tmp_path: Path) -> None:
    D.to_parquet(tmp_path / "0.parquet")
    D.assign(c=1.0)[["c", "b", "a"]].to_parquet(tmp_path / "1.parquet")
    found = streams.moments_of(tmp_path, columns=["a", "b"])
    assert found.count == 12 and found.mean.tolist() == D.mean().tolist()


@pytest.mark.parametrize("whole", [0, 1])
def test_whole_numbers_and_decimals_may_share_a_column(tmp_path: Path, whole: int) -> None:
    for index in range(2):
        (D.round().astype("int32") if index == whole else D).to_parquet(tmp_path / f"{index}.parquet")
    assert streams.moments_of(tmp_path).mean.tolist() == pytest.approx(((D + D.round()) / 2).mean().tolist(), rel=1e-14)


@pytest.mark.parametrize("name", ["a.txt", "z.txt", "z.parquet"])
def test_what_is_no_parquet_file_is_named(tmp_path: Path, name: str) -> None:
    D.to_parquet(tmp_path / "f.parquet")
    (tmp_path / name).write_text("notes")
    with pytest.raises(
        InputError, match=rf"{re.escape(name)}.*cannot be read as Parquet|cannot be read as Parquet.*{name}"
    ):
        streams.moments_of(tmp_path)


def test_a_file_that_is_damaged_inside_is_named(tmp_path: Path) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(5000, 1)), columns=["a"])
    table.to_parquet(tmp_path / "f.parquet", compression="snappy")
    content = bytearray((tmp_path / "f.parquet").read_bytes())
    content[4:2000] = bytes(1996)
    (tmp_path / "f.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"f\.parquet.* cannot be read to its end"):
        streams.moments_of(tmp_path / "f.parquet")


def _batches(order: list[str]) -> list[object]:
    import pyarrow as pa

    return [pa.RecordBatch.from_pandas(part[order]) for part in (D[:2], D[2:])]


def test_batches_of_arrow_are_blocks_with_names(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.dataset as ds

    D.to_parquet(tmp_path / "f.parquet")
    reader = ds.dataset(tmp_path).scanner().to_reader()
    sources = [reader, iter(_batches(["a", "b"])), _batches(["a", "b"]), [pa.Table.from_batches(_batches(["a", "b"]))]]
    for source in sources:
        found = streams.moments_of(source)
        assert list(found.names) == ["a", "b"] and found.count == 6
        assert found.mean.tolist() == D.mean().tolist()
        assert found.covariance == pytest.approx(np.cov(D.T.to_numpy(), bias=True))
    assert streams.moments_of(_batches(["b", "a"]), columns=["a"]).mean.tolist() == [D["a"].mean()]
    weighted = streams.moments_of([(batch, np.ones(batch.num_rows)) for batch in _batches(["a", "b"])])  # type: ignore[attr-defined]
    assert weighted.mean.tolist() == D.mean().tolist()


def test_a_reader_is_read_once(tmp_path: Path) -> None:
    import pyarrow.dataset as ds

    D.to_parquet(tmp_path / "f.parquet")
    source = streams.as_source(ds.dataset(tmp_path).scanner().to_reader())
    assert not source.repeatable
    streams.moments_of(source)
    with pytest.raises(InputError, match="an iterator was read before"):
        streams.moments_of(source)


def test_an_index_that_pandas_keeps_is_no_feature(tmp_path: Path) -> None:
    """The rows of a filtered frame keep their numbers, which the file's own metadata call an index."""
    rng = np.random.default_rng(0)
    raw = pd.DataFrame({"flow": rng.normal(4, 1, 60), "load": rng.normal(9, 1, 60)})
    frame = raw[raw.flow < 4.5]
    frame.to_parquet(tmp_path / "ordinary.parquet")
    expected = Moments.estimate(frame)
    stored = pq.read_table(tmp_path / "ordinary.parquet")
    assert "__index_level_0__" in stored.column_names
    for source in (tmp_path / "ordinary.parquet", stored, [stored], ds.dataset(tmp_path / "ordinary.parquet")):
        found = streams.moments_of(source)
        assert found.names == ("flow", "load")
        assert found.covariance == pytest.approx(expected.covariance, rel=1e-12)
    named = frame.assign(site=1.0 * np.arange(len(frame)) % 3).set_index("site")
    named.to_parquet(tmp_path / "named.parquet")
    assert streams.moments_of(tmp_path / "named.parquet").names == ("flow", "load")
    assert streams.moments_of(tmp_path / "named.parquet", columns=["site", "load"]).names == ("site", "load")


def test_a_folder_whose_files_lack_the_column_of_its_partitions_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"flow": [1.0, 2.0, 4.0, 3.0], "site": [0, 1, 0, 1]})
    frame.to_parquet(tmp_path / "by_site", partition_cols=["site"])
    with pytest.raises(InputError, match=r"site=0.*name a column that the files do not hold"):
        streams.moments_of(tmp_path / "by_site")
    assert streams.moments_of(tmp_path / "by_site", columns=["flow"]).mean == pytest.approx([2.5])
    assert streams.moments_of(ds.dataset(tmp_path / "by_site", partitioning="hive")).names == ("flow", "site")
    assert streams.moments_of(tmp_path / "by_site" / "site=1").mean == pytest.approx([2.5])
