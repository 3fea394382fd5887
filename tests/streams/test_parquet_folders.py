"""Files of one folder must agree, and where they do not the file and the column are named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from convexnovelty import streams
from convexnovelty.errors import InputError

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
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


def test_a_file_of_another_kind_in_a_folder_is_named(tmp_path):
    pd.DataFrame(np.eye(3), columns=list("abc")).to_parquet(tmp_path / "1.parquet")
    (tmp_path / "readme.txt").write_text("x")
    with pytest.raises(
        InputError, match=r"readme\.txt: it cannot be read as Parquet .*give a folder of Parquet files alone"
    ):
        streams.moments_of(str(tmp_path))
