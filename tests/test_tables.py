"""Tables from files as people have them: what is read right, and what is refused in which words."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from convexnovelty import csv_files
from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.tables import FileLayout, Table, filled, matched, read_table

DATA = load_breast_cancer(as_frame=True).data


def read(folder: Path, content: str | bytes, name: str = "t.csv", **how: Any) -> Table:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return read_table(path, FileLayout(**how))


# How the same three rows of two columns may be written.
SAME: dict[str, Any] = {
    "comma": "a,b\n1.5,2\n-3,4e1\n5,6.25\n",
    "semicolon, decimal comma": "a;b\n1,5;2\n-3;4e1\n5;6,25\n",
    "semicolon, decimal point": "a;b\n1.5;2\n-3;4e1\n5;6.25\n",
    "tab, decimal comma": "a\tb\n1,5\t2\n-3\t40\n5\t6,25\n",
    "bar": "a|b\n1.5|2\n-3|40\n5|6.25\n",
    "spaces": "   a      b\n 1.5    2\n  -3 40.0\n   5 6.25\n",
    "spaces after commas": "a, b\n1.5, 2\n-3, 40\n5, 6.25\n",
    "Windows line ends": "a,b\r\n1.5,2\r\n-3,40\r\n5,6.25\r\n",
    "old Mac line ends": "a,b\r1.5,2\r-3,40\r5,6.25\r",
    "byte order mark": "\ufeffa,b\n1.5,2\n-3,40\n5,6.25\n",
    "UTF-32": "a,b\n1.5,2\n-3,40\n5,6.25\n".encode("utf-32"),
    "UTF-16": "a,b\n1.5,2\n-3,40\n5,6.25\n".encode("utf-16"),
    "no line end": "a,b\n1.5,2\n-3,40\n5,6.25",
    "blank lines": "\na,b\n\n1.5,2\n-3,40\n\n\n5,6.25\n\n",
    "comments first": "# by a machine\n# today\na,b\n1.5,2\n-3,40\n5,6.25\n",
    "a separator announced": "sep=;\r\na;b\r\n1,5;2\r\n-3;40\r\n5;6,25\r\n",
    "quotes": '"a","b"\n"1.5","2"\n"-3","40"\n"5","6.25"\n',
    "quotes, decimal comma": '"a","b"\n"1,5","2"\n"-3","40"\n"5","6,25"\n',
    "separators at line ends": "a,b,\n1.5,2,\n-3,40,\n5,6.25,\n",
    "separators at the ends of rows": "a,b\n1.5,2,\n-3,40,\n5,6.25,\n",
    "index and separators at the ends of rows": ",a,b\n0,1.5,2,\n1,-3,40,\n2,5,6.25,\n",
    "labels beside the names": "a,b\nann,1.5,2\nbob,-3,40\neve,5,6.25\n",
    "numbers of rows beside the names": "a,b\n1,1.5,2\n2,-3,40\n5,5,6.25\n",
    "lines of separators below": "a;b\n1,5;2\n-3;40\n5;6,25\n;\n;\n",
    "thousandths": "a;b\n1,500;2,000\n-3;40,000\n5,000;6,25\n",
    "index without a name": ",a,b\n0,1.5,2\n1,-3,40\n2,5,6.25\n",
    "index by R": '"a","b"\n"1",1.5,2\n"2",-3,40\n"3",5,6.25\n',
    "a column of names": "who,a,b\nann,1.5,2\nbob,-3,40\neve,5,6.25\n",
    "a key": "Customer ID,a,b\n17,1.5,2\n18,-3,40\n20,5,6.25\n",
    "a column called id": "a,id,b\n1.5,9,2\n-3,8,40\n5,7,6.25\n",
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_table_in_many_hands(name: str, tmp_path: Path) -> None:
    table = read(tmp_path, SAME[name])
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.values, [[1.5, 2.0], [-3.0, 40.0], [5.0, 6.25]])
    assert table.place == "line"


@pytest.mark.parametrize(
    ("name", "places", "label"),
    [
        ("comma", [2, 3, 4], "line 2"),
        ("blank lines", [4, 5, 8], "line 4"),
        ("comments first", [4, 5, 6], "line 4"),
        ("index without a name", [2, 3, 4], "0 (line 2)"),
        ("index by R", [2, 3, 4], "1 (line 2)"),
        ("a column called id", [2, 3, 4], "9 (line 2)"),
    ],
)
def test_lines_are_those_of_the_file(name: str, places: list[int], label: str, tmp_path: Path) -> None:
    table = read(tmp_path, SAME[name])
    assert table.places.tolist() == places
    assert table.label(0) == label


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_names_above_numbers_as_numpy_writes_them(separator: str, tmp_path: Path) -> None:
    path, names = tmp_path / "t.csv", ["flow", "heat loss", "level"]
    np.savetxt(path, DATA.iloc[:9, :3], delimiter=separator, header=f"3 May, by hand\n{separator.join(names)}")
    table = read_table(path)
    assert table.names == names
    assert table.layout.endswith("names in the comment above the first row")
    np.testing.assert_array_equal(table.values, DATA.iloc[:9, :3])
    assert table.places.tolist() == list(range(3, 12))
    assert read_table(path, FileLayout(header=False)).names == ["column 1", "column 2", "column 3"]


@pytest.mark.parametrize(
    "text",
    [
        "# 3 May, by hand\n1.5,2,3\n2.5,3,4\n",
        "# a,b,c\n\n1.5,2,3\n2.5,3,4\n",
        "# a,b,a\n1.5,2,3\n2.5,3,4\n",
        "# a,2,c\n1.5,2,3\n2.5,3,4\n",
        "# three of them\n1.5 2 3\n2.5 3 4\n",
    ],
)
def test_comments_that_name_no_columns(text: str, tmp_path: Path) -> None:
    table = read(tmp_path, text)
    assert table.names == ["column 1", "column 2", "column 3"]
    assert table.values.tolist() == [[1.5, 2, 3], [2.5, 3, 4]]


@pytest.mark.parametrize("head", ["", "# by hand, 3 May\n", "#no,a,b\n", "no,a,b\n"])
@pytest.mark.parametrize("sign", ["", "#"])
def test_labels_that_begin_as_comments_do(sign: str, head: str, tmp_path: Path) -> None:
    rows = [f"{sign}p{k},{1.5 + k},{'' if k == 2 else k}" for k in range(4)]
    table = read(tmp_path, head + "\n".join(rows))
    assert table.labels == [f"{sign}p{k}" for k in range(4)]
    assert table.names == (["a", "b"] if "no" in head else ["column 2", "column 3"])
    np.testing.assert_array_equal(table.values, [[1.5, 0], [2.5, 1], [3.5, np.nan], [4.5, 3]])


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("label", ["p", "a b", "#", "x;y"])
def test_labels_and_numbers_of_files_without_names(separator: str, mark: str, label: str, tmp_path: Path) -> None:
    """As pandas writes them, which quotes what has the separator in it."""
    frame = pd.DataFrame({"who": [f"{label}{k}" for k in range(9)], "size": 3.5 + np.arange(9)})
    table = read(tmp_path, frame.to_csv(sep=separator, decimal=mark, index=False, header=False), index="column 1")
    assert table.values.ravel().tolist() == frame["size"].tolist()
    assert table.labels == frame["who"].tolist()


def test_a_line_break_inside_quotes_moves_the_lines_below(tmp_path: Path) -> None:
    table = read(tmp_path, 'who,a\n"one\ntwo",1\n"three",2\n', index="who")
    assert table.places.tolist() == [2, 4]
    assert table.label(0) == "one\N{REPLACEMENT CHARACTER}two (line 2)"


HEADERS: dict[str, tuple[str, list[str], int]] = {
    "numbers alone": ("1,2\n3,4\n", ["column 1", "column 2"], 2),
    "numbered columns of pandas": ("0,1,2\n5,6,7\n8,9,1\n", ["0", "1", "2"], 2),
    "numbered columns and an index": (",0,1\n0,6,7\n1,9,1\n", ["0", "1"], 2),
    "one name": ("x\n1\n2\n", ["x"], 2),
    "one column with decimal commas": ("x\n1,5\n2,5\n", ["x"], 2),
    "one column without a name": ("1.5\n2\n", ["column 1"], 2),
    "a gap in the first of the rows": ("a,b\n,2\n3,4\n", ["a", "b"], 2),
}


@pytest.mark.parametrize("name", HEADERS)
def test_names_of_columns_are_told(name: str, tmp_path: Path) -> None:
    text, names, rows = HEADERS[name]
    table = read(tmp_path, text)
    assert table.names == names
    assert len(table.values) == rows


def test_names_are_as_given(tmp_path: Path) -> None:
    assert read(tmp_path, "2019,2020\n1,2\n", header=True).names == ["2019", "2020"]
    assert len(read(tmp_path, "2019,2020\n1,2\n").values) == 2
    assert read(tmp_path, "1,2\n3,4\n", header=False).names == ["column 1", "column 2"]
    assert read(tmp_path, "a;b\n1,234;2\n", decimal=",").values.tolist() == [[1.234, 2.0]]
    no_names = read(tmp_path, "r1,1,2\nr2,3,4\n", index="column 1")
    assert (no_names.names, no_names.labels) == (["column 2", "column 3"], ["r1", "r2"])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("a;b\n51;1.003\n52;999\n", {"decimal": "."}),
        ("a,b\n51,1.003\n52,999\n", {}),  # who separates by commas has a decimal point
        ("a;b\n51;1.003\n52;999.000\n", {}),
        ("a;b\n51.5;1.003\n52;999\n", {}),
        ("a;b\n51;1.003\n52;999\n53;1004\n", {}),  # a thousand without a point
    ],
)
def test_a_decimal_point_that_is_one(text: str, how: dict[str, Any], tmp_path: Path) -> None:
    assert read(tmp_path, text, **how).values[:2, 1].tolist() == [1.003, 999.0]


def test_a_comma_between_two_numbers_or_in_one_is_as_given(tmp_path: Path) -> None:
    text = "19985,71\n-20013,5\n3,05\n"
    assert read(tmp_path, text, separator=";").values.tolist() == [[19985.71], [-20013.5], [3.05]]
    assert read(tmp_path, text, separator=",").values.tolist() == [[19985, 71], [-20013, 5], [3, 5]]
    told = read(tmp_path, "-7,5\n8,25e-3\n")
    assert told.values.tolist() == [[-7, 5], [8, 0.025]]
    assert told.remarks == (
        "line 1: '-7,5' is read as two numbers (give --separator ';' if it is one with a decimal comma)",
    )
    assert not read(tmp_path, "-7,5\n8,-2\n").remarks
    assert not read(tmp_path, "a,b\n-7,5\n8,2\n").remarks
    assert read(tmp_path, text, decimal=",").values.tolist() == [[19985.71], [-20013.5], [3.05]]
    assert read(tmp_path, text.replace(",", ", ")).values.tolist() == [[19985, 71], [-20013, 5], [3, 5]]
    with pytest.raises(InputError, match="line 1: '-7,5' may be one number"):
        read(tmp_path, "-7,5\n8,2\n", features=("column 1", "column 2"), mark=",")


@pytest.mark.parametrize("first, blank", [("p0", " "), ("p0:", "  "), ("left p0", " "), ("p", " ")])
@pytest.mark.parametrize("places", [1, 2])
def test_a_decimal_comma_behind_a_label_and_a_blank(first: str, blank: str, places: int, tmp_path: Path) -> None:
    """As a logger writes it: digits behind the comma were learnt, and the others were the end of a label."""
    values = [37.05, -0.5, 36.92, 37.1, 38.0]
    labels = [first.replace("0", str(k)) for k in range(len(values))]
    numbers = [f"{value:.{places}f}".replace(".", ",") for value in values]
    text = "".join(f"{label}{blank}{number}\n" for label, number in zip(labels, numbers, strict=True))
    turned = "".join(f"{number}{blank}{label}\n" for label, number in zip(labels, numbers, strict=True))
    for written in (text, turned):
        with pytest.raises(InputError, match=r"may hold one number .*; give --separator space if it is one"):
            read(tmp_path, written)
    words = tuple(f"column {j + 1}" for j in range(len(first.split())))
    for how in ({"separator": " "}, {"decimal": ","}):
        table = read(tmp_path, text, ignore=words, **how)
        assert table.values[:, 0].tolist() == [float(number.replace(",", ".")) for number in numbers]


@pytest.mark.parametrize("label", ["Store {}", "Q1 {}", "A - {}", "Jan {}, late", "2024-01-01 1{}:00"])
def test_a_blank_in_a_label_before_a_tab(label: str, tmp_path: Path) -> None:
    """The number in a label became a column, under the name of the labels."""
    rows = [(label.format(k), x) for k, x in enumerate([5.13, 4.5, 6.0])]
    frame = pd.DataFrame(rows, columns=["PM 2.5", "heat"])
    text = frame.to_csv(sep="\t", index=False)
    for written in (text, text.partition("\n")[2], text.replace("heat", "total heat"), text.replace(".", ",")):
        table = read(tmp_path, written, index=written.split("\t")[0] if written.startswith("PM") else "column 1")
        assert table.values[:, 0].tolist() == frame["heat"].tolist() and table.labels == frame["PM 2.5"].tolist()


@pytest.mark.parametrize(
    "text", ["p0 5.5\t2\np1 4.5\t3\n", "a b\tc\n0 5.5\t2\n1 4.5\t3\n", "a b\tc\n0 5,5\t2\n1 4,5 3\n"]
)
def test_blanks_and_tabs_that_part_numbers_alike(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).values[:, -2:].tolist() == [[5.5, 2], [4.5, 3]]


def test_a_number_that_ends_a_label_before_a_comma(tmp_path: Path) -> None:
    for text, labels in [
        ("line 3,7\nline 4,8\nline 9,10\n", ["line 3", "line 4", "line 9"]),
        ("line 3,07\nline 4,08\nline 5,10\n", ["line 3", "line 4", "line 5"]),
        ("New York 5,7\nBoston 6,8\nBoston 7,10\n", ["New York 5", "Boston 6", "Boston 7"]),
        ("New York 5,7\nBoston 6,8\nParis 7,10\n", ["New York 5", "Boston 6", "Paris 7"]),
    ]:
        table = read(tmp_path, text)
        assert table.values.tolist() == [[7], [8], [10]] and table.labels == labels
        assert table.remarks[0].startswith(f"line 1: '{labels[0]},{text.split(',')[1][:2].strip()}' is read as")
    for text in ["New York 5, 12\nBoston 6, 13\n", '"New York 5",12\n"Boston 6",13\n', "x 5,12,1\ny 6,13,1\n"]:
        table = read(tmp_path, text)
        assert table.values[:, 0].tolist() == [12, 13] and len(table.remarks) == 1
    text = "New York 5,12\nBoston 6,13\n"
    with pytest.raises(InputError, match="put a semicolon between label and number if it is one, give --separator ','"):
        read(tmp_path, text)
    assert read(tmp_path, text, separator=",").values.tolist() == [[12], [13]]
    assert read(tmp_path, "Boston 6,13\n", features=("column 2",), label="column 1").values.tolist() == [[13]]
    with pytest.raises(InputError, match="may hold one number"):
        read(tmp_path, "Boston 6,13\n", features=("column 2",), label="column 1", mark=",")


def test_labels_and_columns_left_out(tmp_path: Path) -> None:
    text = "id,name,a\n1,x,5\n2,y,6\n"
    table = read(tmp_path, text, index="name", ignore=("id",))
    assert (table.names, table.labels, table.ignored) == (["a"], ["x", "y"], ("id",))
    assert read(tmp_path, text, index="none", ignore=("name",)).names == ["id", "a"]
    assert read(tmp_path, "id,a\n1,5\n1,6\n").names == ["id", "a"]  # not a key: it repeats
    assert read(tmp_path, text, ignore=("name",)).remarks == (
        "column 'id' labels the rows (--index none makes it a feature)",
    )


def test_labels_without_a_name_are_said(tmp_path: Path) -> None:
    said = "labels the row (--index none makes it a feature)"
    beside, column = SAME["labels beside the names"], SAME["index without a name"]
    assert read(tmp_path, beside).remarks == (f"rows have one cell more than there are names: the first {said}",)
    assert read(tmp_path, column).remarks == (f"the first column, which has no name, {said.replace('row ', 'rows ')}",)
    assert read(tmp_path, column, index="none").names == ["", "a", "b"]
    # What is asked for is not questioned, and names that R puts quotes round are no numbers.
    assert read(tmp_path, ",a,b\n0.5,1,2\n0.7,3,4\n", index="").labels == ["0.5", "0.7"]
    assert read(tmp_path, "a,b\n7,1,2\n7,3,4\n", index="").labels == ["7", "7"]
    assert read(tmp_path, '"id","b"\n"9",50,2\n"7",51,4\n').names == ["id", "b"]
    # Labels in both tables, named or not, are no disagreement; a column without a name shifts nothing.
    assert read(tmp_path, beside, features=("a", "b"), label="who").labels == ["ann", "bob", "eve"]
    assert read(tmp_path, column, features=("a", "b"), label="cells without a name").labels == ["0", "1", "2"]
    assert read(tmp_path, column, features=("a", "b")).names == ["a", "b"]


def test_words_for_gaps(tmp_path: Path) -> None:
    words = ["", "NA", "NaN", "n/a", "#N/A", "null", "NULL", "None", "?", "-", ".", " "]
    table = read(tmp_path, "a,b\n" + "".join(f"{word},1\n" for word in words) + "2,3\n")
    assert np.isnan(table.values[:-1, 0]).all()
    assert table.values[-1].tolist() == [2.0, 3.0]


def test_true_and_false_are_one_and_zero(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b\nTrue,1\nfalse,2\n,3\n0,3\n")
    np.testing.assert_array_equal(table.values[:, 0], [1, 0, np.nan, 0])
    assert table.numeric == ["b"]


@pytest.mark.parametrize("flags", [[True, False], [True, None]])
def test_true_in_parquet_where_numbers_were(flags: list[Any], tmp_path: Path) -> None:
    pd.DataFrame({"a": [1.5, 2.5], "b": flags}).to_parquet(tmp_path / "t.parquet", index=False)
    assert read_table(tmp_path / "t.parquet", FileLayout(numeric=("a",))).values[0].tolist() == [1.5, 1.0]
    with pytest.raises(InputError, match=r"t.parquet, column 'b': true or false was found in a column of numbers"):
        read_table(tmp_path / "t.parquet", FileLayout(numeric=("b",)))


FAULTS: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "text in a number's place": (
        "a,b\n1,2\n3,abc\n",
        {},
        "line 3, column 'b': 'abc' was found where a number is needed; write a plain number, or leave the cell empty",
    ),
    "text with blank lines above": ("a,b\n\n1,2\n\n3,x y\n4,5\n", {}, "line 5, column 'b': 'x y' was found"),
    "columns of text": (
        "who,b,day\nann,2,mo\nbob,3,mo\nann,4,tu\n",
        {},
        "line 2, column 'who': 'ann' .* leave it out .--ignore 'who' --ignore 'day'., or .*--index 'who'",
    ),
    "another decimal mark": (
        "a;b\n1,5;2,5\n1,5;2.5\n1,5;3,5\n",
        {},
        "line 3, column 'b': '2.5' was found .* other cells have a decimal comma",
    ),
    "separated thousands": (
        "a;b\n1;2\n1.234,5;2\n1;2\n",
        {},
        "line 3, column 'a': '1.234,5' .* thousands are separated in it",
    ),
    "a unit": ("a,b\n1,2\n1,2 kg\n1,2\n", {}, "line 3, column 'b': '2 kg' was found"),
    "a line break": ('a,b\n1,2\n1,"3\nx"\n', {}, r"line 3, column 'b': '3\\nx' was found"),
    "a date": ("a,b\n1,2\n2020-01-01,2\n1,3\n", {}, "line 3, column 'a': '2020-01-01' was found"),
    "an infinite value": ("a,b\n1,2\n1,-inf\n", {}, "line 3, column 'b': an infinite value was found"),
    "a number beyond all": ("a,b\n1,2\n1,1e999\n", {}, "line 3, column 'b': an infinite value was found"),
    "too many cells": ("a,b\n1,2\n1,2,3\n", {}, "line 3: 3 cells were found where line 1 has 2"),
    "too few cells": ("a,b\n1,2\n\n1\n", {}, "line 4: 1 cells were found where line 1 has 2"),
    "a name twice": ("a,b,a\n1,2,3\n", {}, "columns 'a' occur more than once"),
    "nothing": ("", {}, "no row was found"),
    "comments alone": ("# by hand\n# 3, 5\n# 3 May, 2\n# 7\n", {}, "no row was found; give a file"),
    "blank lines alone": ("\n\n", {}, "no row was found"),
    "names alone": ("a,b\n", {}, "no row was found below the names"),
    "bytes": (b"\x00\x01\x02\x00", {}, "bytes that are no text were found"),
    "an open quote": ('a,b\n1,"2\n3,4\n', {}, "line 2"),
    "no such label": ("a,b\n1,2\n", {"index": "who"}, r"no column is called 'who' \(--index\); found are 'a', 'b'"),
    "all left out": ("a\n1\n", {"ignore": ("a",)}, "no column of numbers is left"),
    "too large": ("a\n" + "1\n" * 1000, {"max_mb": 0.001}, "more than 0.001; raise --max-mb"),
    "thousands or a decimal comma": (
        "a;b\n1,234;2\n5,678;3\n",
        {},
        "line 2: '1,234' may have a decimal comma or thousands",
    ),
    "thousands throughout": (
        'a,b\n"1,234.50",2\n"2,345.60",3\n',
        {},
        "line 2, column 'a': '1,234.50' .* thousands are separated",
    ),
    "units throughout": ("a,b\n2 kg,2\n3 kg,3\n", {}, "line 2, column 'a': '2 kg' was found"),
    "thousands in quotes": ('a,b\n"1,234",2\n"5,678",3\n', {}, "line 2: '1,234' may have a decimal comma or thousands"),
    "true among numbers": (
        "a,b\n51,TRUE\n52,1003\n",
        {},
        "line 2, column 'b': 'TRUE' was found in a column of numbers",
    ),
    "false among numbers": (
        "a,b\n51,7\n52,false\n",
        {},
        "line 3, column 'b': 'false' was found in a column of numbers",
    ),
    "true where numbers were": (
        "a,b\n51,True\n",
        {"numeric": ("b",)},
        "line 2, column 'b': 'True' was found in a column",
    ),
    "a comma among whole numbers": (
        "a;b\n1000;1\n1,003;2\n999;3\n",
        {"decimal": "."},
        "line 3, column 'a': '1,003' was found .* numbers are read with a decimal point: write it so, without marks",
    ),
    "thousands or a decimal point": (
        "a;b\n51;1.003\n52;999\n",
        {},
        "line 2, column 'b': '1.003' may have a decimal point or thousands, beside whole numbers; give --decimal point",
    ),
    "thousands or a decimal point beside tabs": (
        "a\tb\n5\t-12.003\n6\t9\n",
        {},
        "line 2, column 'b': '-12.003' may have",
    ),
    "thousands and points": (
        'a,b\n"1,234.5",2\n3,4\n',
        {},
        "line 2, column 'a': '1,234.5' .* thousands are separated in it",
    ),
}


FAULTS["decimal commas of one column without a name"] = (
    "19985,71\n-20013,5\n3,05\n",
    {},
    "line 3: '3,05' may be one number with a comma between its digits, or two; give --separator ';'",
)
BESIDE = "rows have one cell more than there are names, and the first would label them, but"
FAULTS |= {
    "decimal commas beside commas": (
        "a,b\n50,0,1000\n51,5,990\n48,1,999\n",
        {},
        f"{BESIDE} '48' follows '51' in line 4",
    ),
    "the same number twice": ("a,b\n50,0,1000\n50,5,990\n", {}, f"{BESIDE} '50' follows '50' in line 3"),
    "thousands beside commas": ("a,b\n51,2,106\n52,1,003\n", {}, f"{BESIDE} line 3 has '003', as behind a comma"),
    "a key that rises": ("id,a\n1,50,2\n2,51,4\n", {}, f"{BESIDE} 'id' is the name of labels already"),
    "a measurement beside the names": ("a,b\n1.5,50,2\n2,51,4\n", {}, f"{BESIDE} line 2 has '1.5', no whole number"),
    "a gap among numbers beside the names": ("a,b\n1,50,2\n,51,4\n", {}, f"{BESIDE} line 3 has '', no whole number"),
    "a label in one row alone": ("a,b\n1,2,\n3,4,\nx,1,003\n", {}, f"{BESIDE} line 4 has '003'"),
    "labels the learnt rows lack": ("a,b\n51,2,106\n", {"features": ("a", "b")}, "the rows learnt from have no labels"),
    "labels the new rows lack": (
        "a,b\n51,2\n",
        {"features": ("a", "b"), "label": "cells without a name"},
        f"the rows learnt from: {BESIDE} those of .*t.csv have no labels",
    ),
    "a measurement below no name": (
        ",a,b\n0.5,1,2\n0.7,3,4\n",
        {},
        "first column has no name .* line 2 has '0.5', which looks like a measurement; give --index none",
    ),
    "a decimal comma below no name": (
        ";a;b\n0,5;1;2\n0,7;3;4\n",
        {},
        "line 2 has '0,5', which looks like a measurement",
    ),
    "no name and a cell too many": (",a,b\n0,50,0,1\n1,51,0,1\n", {}, "line 2: 4 cells were found where line 1 has 3"),
    "no name beside a label": (
        ",who,a\n0,x,2\n1,y,4\n",
        {"index": "who"},
        "it would be a feature; leave it out .--ignore ''",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_with_line_and_column(name: str, tmp_path: Path) -> None:
    content, how, message = FAULTS[name]
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, content, **how)
    assert "t.csv" in str(caught.value)


@pytest.mark.parametrize("gaps", [[0, 3], [2], [1, 2, 5]])
def test_gaps_of_a_single_column_are_rows(gaps: list[int], tmp_path: Path) -> None:
    """pandas writes them as a pair of quotes, as a line with nothing in it would be no row."""
    frame = pd.DataFrame({"level": [4.5, 3.75, -1.0, 4.0, 2.5, 6.125]})
    frame.loc[gaps, "level"] = np.nan
    written = frame.to_csv(index=False)
    assert written.count('""') == len(gaps)
    table = read(tmp_path, written)
    assert table.values[:, 0] == pytest.approx(frame["level"].to_numpy(), nan_ok=True, abs=0)
    assert table.places.tolist() == list(range(2, 8))
    # Text files of Windows that end lines themselves.
    ended = read(tmp_path, written.replace("\n", "\r\r\n"))
    assert ended.values[:, 0] == pytest.approx(frame["level"].to_numpy(), nan_ok=True, abs=0)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("gaps", [[3], [1, 2, 4], [2, 5]])
def test_blank_lines_between_rows_of_a_single_column_are_gaps(
    gaps: list[int], named: bool, tmp_path: Path, always_fast: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """polars writes them so; what stands above and below the table is no row, and the latter is said."""
    levels = [None if k in gaps else value for k, value in enumerate([4.5, 3.75, -1.0, 4.0, 2.5, 6.125])]
    written = pl.DataFrame({"level": levels}).write_csv(include_header=named)
    last = max(k for k in range(6) if k not in gaps) + 1
    for above, below in (("", ""), ("\n", "\n  \n"), ("# levels\n\n", "")):
        for fast in (0, 10**9):
            monkeypatch.setattr(csv_files, "FAST", fast)
            table = read(tmp_path, above + written + below)
            assert table.values[:, 0] == pytest.approx(np.array(levels[:last], float), nan_ok=True, abs=0)
            begun, lines = 1 + named + above.count("\n"), (above + written + below).count("\n")
            assert table.places.tolist() == list(range(begun, begun + last))
            left = lines - int(table.places[-1])
            many = f"{left} lines at the end, {begun + last} to {lines}, have nothing in them and are no rows"
            assert (
                table.remarks
                == ((), (f"line {lines}, the last, has nothing in it and is no row",), (many,))[min(left, 2)]
            )
    assert any(always_fast) == (5 not in gaps)  # the end of a table takes looking at the whole


def test_text_of_a_file_cannot_steer_a_terminal(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, "a,b\n1,2\n3,\x1b[31mred\n")
    assert "\x1b" not in str(caught.value)
    assert "\x1b" not in read(tmp_path, "a\x1b]0;x\x07,b\n1,2\n").names[0]


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv.gz", "t", "t.json"])
def test_other_types_are_refused_with_those_that_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"give a file of type \.csv, \.tsv, \.txt, \.parquet or \.npz"):
        read(tmp_path, "a\n1\n", name)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=r"folder\.csv: cannot be read"):
        read_table(tmp_path / "folder.csv")


def test_labels_are_kept_to_the_letter_and_shown_without_what_steers(tmp_path: Path, always_fast: list[bool]) -> None:
    labels = ["x\ny", "x\ty", "x\x1by", "x ", "x" * 300]
    text = "id,a\n" + "".join(f'"{label}",{k}\n' for k, label in enumerate(labels))
    table = read(tmp_path, text)
    assert table.labels == labels
    assert [table.label(k).partition(" (")[0] for k in range(3)] == ["x\N{REPLACEMENT CHARACTER}y"] * 3
    pd.DataFrame({"id": labels, "a": range(5)}).to_parquet(tmp_path / "t.parquet", index=False)
    assert read_table(tmp_path / "t.parquet", FileLayout(index="id")).labels == labels
    # Both readers take the same for a label.
    assert not any(always_fast)
    assert read(tmp_path, "id,a\n x,1\ny ,2\n").labels == ["x", "y "]
    assert always_fast[-1]


@pytest.mark.parametrize("kind", ["Int64", "UInt64", "Int32", "str", "category", "datetime64[s]", "boolean"])
def test_labels_of_which_one_is_missing_are_those_of_a_text_file(kind: str, tmp_path: Path) -> None:
    """As floats, whole numbers of more than 53 bits would become one another."""
    count = 2**31 - 9 if kind == "Int32" else 2**63 - 9
    words = {"str": ["a", "b"], "category": ["a", "b"], "datetime64[s]": ["2024-01-01 08:15:00", "2024-01-02 09:30:00"]}
    one, other = {**words, "boolean": [True, False]}.get(kind, [count, count + 2])
    frame = pd.DataFrame({"id": pd.Series([one, None, other], dtype=kind), "a": [1.5, 2.5, 3.5]})
    text = read(tmp_path, frame.to_csv(index=False), index="id")
    assert text.labels == [str(one), "", str(other)]
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    table = read_table(tmp_path / "t.parquet", FileLayout(index="id"))
    assert table.labels == text.labels
    assert [table.label(i) for i in range(3)] == [f"{one} (row 1)", "row 2", f"{other} (row 3)"]
    frame.set_index("id").to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").labels == text.labels


def test_points_that_may_separate_thousands_are_said(tmp_path: Path) -> None:
    said = "line 2, column 'a': '1.100' is read with a decimal point (write 1100 if it separates thousands, "
    table = read(tmp_path, "a;b\n1.100;0\n12.111;11\n")
    assert table.values[:, 0].tolist() == [1.1, 12.111] and table.remarks[0].startswith(said)
    for text, how in (
        ("a;b\n1.100;0\n12.11;11\n", {}),
        ("a,b\n1.100,0\n12.111,11\n", {}),
        ("a;b\n1.100;0\n12.111;11\n", {"decimal": "."}),
    ):
        assert read(tmp_path, text, **how).remarks == ()


@pytest.mark.parametrize("rest", ["", ";3", "\t3", "|3", " 3"])
@pytest.mark.parametrize("names", [True, False])
def test_points_of_thousands_are_asked_about_whatever_separates(rest: str, names: bool, tmp_path: Path) -> None:
    """As German software writes 1005: only semicolons and tabs were looked at, and 1.005 was learnt beside 994."""
    head = f"sold{rest.replace('3', 'shops')}\n" if names else ""
    with pytest.raises(InputError, match=r"'1\.005' may have a decimal point or thousands, beside whole numbers"):
        read(tmp_path, f"{head}1.005{rest}\n994{rest}\n1.025{rest}\n")
    table = read(tmp_path, f"{head}1.005{rest}\n1.025{rest}\n")
    assert "is read with a decimal point (write 1005 if" in table.remarks[0] and table.values[0, 0] == 1.005
    assert read(tmp_path, f"{head}1.005{rest}\n994{rest}\n1.25{rest}\n").values[:, 0].tolist() == [1.005, 994, 1.25]
    assert not read(tmp_path, f"{head}1.005{rest}\n994{rest}\n", decimal=".").remarks


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
@pytest.mark.parametrize("before, behind", [("", ""), ("p{} ", ""), ("", " 12"), ("", ",5")])
def test_blanks_that_may_separate_thousands(blank: str, before: str, behind: str, tmp_path: Path) -> None:
    """As French, Swedish or SI writing has 3015: it was learnt as 3 and 15, without a word."""
    rows = [f"{before.format(k)}{number}{behind}" for k, number in enumerate([f"3{blank}015", f"2{blank}984"])]
    with pytest.raises(InputError, match=r"line 1: '3 015.*' may be one number whose thousands a blank separates"):
        read(tmp_path, "\n".join(rows))
    two = read(tmp_path, "\n".join(rows), separator=" ").values[:, :2]
    assert np.floor(two).tolist() == [[3, 15], [2, 984]]
    # Nothing is asked where no number has such a zero, names tell, or tabs do.
    told = read(tmp_path, f"3{blank}115\n2{blank}984\n")
    assert told.remarks == ("line 1: '3 115' is read as 2 numbers (write 3115 if it is one)",)
    assert read(tmp_path, f"a b\n3{blank}015\n2{blank}984\n").values.tolist() == [[3, 15], [2, 984]]
    assert not read(tmp_path, "3 15\n2 984\n").remarks and not read(tmp_path, "3.5 115\n2 984\n").remarks
    with pytest.raises(InputError, match="thousands are separated in it: write the number without"):
        read(tmp_path, f"who\tsold\np0\t3{blank}115\np1\t984\n")


@pytest.mark.parametrize("name", ["0", "2023"])
def test_a_number_may_name_an_only_column_beside_labels(tmp_path: Path, name: str) -> None:
    """As pandas writes a series whose name is a number, or that has none: the name was learnt as the value of one more row."""
    rows = [("id0", "20.25"), ("id1", "20"), ("id2", "19.5")]
    text = "".join(f"{label},{value}\n" for label, value in rows)
    with pytest.raises(InputError, match="it has no label such as those of all other rows; give --header yes"):
        read(tmp_path, f"sensor,{name}\n{text}", index="column 1")
    table = read(tmp_path, f"sensor,{name}\n{text}", header=True)
    assert table.values.tolist() == [[20.25], [20.0], [19.5]] and table.names == [name]
    assert len(read(tmp_path, f"sensor,{name}\n{text}", header=False).values) == 4
    # A first cell with nothing in it labels no row, over labels or numbered rows.
    assert read(tmp_path, f",{name}\n{text}").names == [name]
    assert read(tmp_path, f",{name}\n0,20.25\n1,20\n2,19.5\n").values.tolist() == [[20.25], [20.0], [19.5]]
    # Labels without digits do not tell; the same first row twice does.
    train = read(tmp_path, f"sensor,{name}\nleft,20.25\nright,20\n")
    with pytest.raises(InputError, match="so does the table of the rows learnt from"):
        read(tmp_path, f"sensor,{name}\nup,20.25\n", first=train.first)
    assert len(read(tmp_path, "id9,20\nid1,20.25\n", index="column 1").values) == 2


def test_numbers_that_named_columns_before_name_them_again(tmp_path: Path) -> None:
    """A model of a table that was read with --header yes refused the next table with the same names."""
    for head, row in (("0,1", "20.5,3.25"), ("sensor,2023", "left,3.25"), ("id;2020;2021", "a;4,5;3,25")):
        learnt = read(tmp_path, f"{head}\n{row}\n", header=True)
        again = read(tmp_path, f"{head}\n{row}\n", features=tuple(learnt.names), label=learnt.labelled_by or None)
        assert again.names == learnt.names and again.values.tolist() == learnt.values.tolist()
        assert again.labels == learnt.labels


def test_numbers_that_may_name_columns_are_refused(tmp_path: Path) -> None:
    train = read(tmp_path, "1990,1980,1985\n4.5,5,6\n7,8,9\n")
    assert train.first == ("1990", "1980", "1985")
    for text in ("1990,1980,1985\n4,5,6\n", "1985,1990,1980\n4,5,6\n"):  # columns may stand in another order
        with pytest.raises(InputError, match="so does the table of the rows learnt from; give --header yes"):
            read(tmp_path, text, first=train.first)
    assert len(read(tmp_path, text, first=train.first, header=False).values) == 2
    assert read(tmp_path, text, first=train.first, header=True).names == ["1985", "1990", "1980"]
    assert len(read(tmp_path, "1990,1980,1984\n4,5,6\n", first=train.first).values) == 2
    for text in ("1990,1991,1992\n4.5,5,6\n", "400,410,420,430,440\n1,2,3,4,5\n"):
        with pytest.raises(InputError, match="in no other row the numbers count so evenly"):
            read(tmp_path, text)
    # An only column without a name is written as 0 or 1, over numbers with fractions.
    for number in "01":
        train = read(tmp_path, f"{number}\n20.1\n19.5\n")
        with pytest.raises(InputError, match="so does the table of the rows learnt from; give --header yes"):
            read(tmp_path, f"{number}\n18.2\n", first=train.first)
        assert read(tmp_path, f"{number}\n2\n1.5\n").first == () == read(tmp_path, "7\n2.5\n").first
    # Rows that all count, and values that come again in their columns, are no names.
    assert len(read(tmp_path, "100,101,102\n300,301,302\n").values) == 2
    assert read(tmp_path, "0,1\n1,1\n0,0\n").first == ()


def test_rows_and_columns_that_were_numbered_without_names(tmp_path: Path) -> None:
    """As pandas writes a frame of one column with its index: the gap in the corner is no missing value."""
    table = read(tmp_path, ",0\n0,20.1\n1,19.5\n")
    assert table.names == ["0"] and table.values.tolist() == [[20.1], [19.5]] and table.labels == ["0", "1"]
    gap = read(tmp_path, ",0\n5.5,20.1\n1,19.5\n")
    assert len(gap.values) == 3 and np.isnan(gap.values[0, 0])


def test_other_encodings_are_read_and_said(tmp_path: Path) -> None:
    table = read(tmp_path, "Größe;b\n1,5;2\n".encode("cp1252"))
    assert table.names == ["Größe", "b"]
    assert table.layout.endswith("Windows-1252")


# Large files: pandas reads the same.


@pytest.fixture
def always_fast(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    used: list[bool] = []
    real = csv_files.fast_values

    def spied(*arguments: Any, **keywords: Any) -> Any:
        found = real(*arguments, **keywords)
        used.append(found is not None)
        return found

    monkeypatch.setattr(csv_files, "FAST", 0)
    monkeypatch.setattr(csv_files, "fast_values", spied)
    return used


@pytest.mark.parametrize("name", SAME)
def test_pandas_reads_the_same(name: str, tmp_path: Path, always_fast: list[bool], monkeypatch: Any) -> None:
    fast = read(tmp_path, SAME[name])
    monkeypatch.setattr(csv_files, "FAST", 10**9)
    slow = read(tmp_path, SAME[name])
    np.testing.assert_array_equal(fast.values, slow.values)
    assert (fast.names, fast.labels, fast.places.tolist()) == (slow.names, slow.labels, slow.places.tolist())


@pytest.mark.parametrize("name", FAULTS)
def test_pandas_hides_no_fault(name: str, tmp_path: Path, always_fast: list[bool]) -> None:
    test_faults_are_named_with_line_and_column(name, tmp_path)


def test_real_data_by_both_readers(tmp_path: Path, always_fast: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    for decimal, separator in (".,", ",;"):
        DATA.to_csv(tmp_path / "t.csv", sep=separator, decimal=decimal)
        fast = read_table(tmp_path / "t.csv")
        assert always_fast == [True]
        always_fast.clear()
        with monkeypatch.context() as patch:
            patch.setattr(csv_files, "FAST", 10**9)
            slow = read_table(tmp_path / "t.csv")
        np.testing.assert_array_equal(fast.values, DATA.to_numpy())
        np.testing.assert_array_equal(slow.values, DATA.to_numpy())
        assert fast.names == slow.names == list(DATA.columns)
        assert fast.labels == slow.labels == [str(i) for i in DATA.index]


@given(
    rows=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1, max_size=9
    ),
    style=st.sampled_from([(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", "."), (" ", ".")]),
)
def test_every_number_comes_back_as_it_was(
    rows: list[list[float]], style: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    separator, decimal = style
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    lines = [separator.join(repr(x).replace(".", decimal) for x in row) for row in rows]
    path.write_text("\n".join([separator.join("abc"), *lines]) + "\n")
    np.testing.assert_array_equal(read_table(path).values, rows)


CELLS = [
    "1.5",
    "-2",
    "3e4",
    " 7",
    "",
    "NA",
    "na",
    "NaN",
    " ",
    "n/a",
    "?",
    "-",
    "nan",
    "N/A",
    "8 ",
    "x",
    "inf",
    "+nan",
    "1,5",
    "+NaN",
    "nAn",
    "Null",
    "-NAN",
    "#N/A",
]


def assert_read_alike(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "gaps.csv"
    path.write_bytes(text.encode())
    found = []
    for fast in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_files, "FAST", fast)
            try:
                table = read_table(path)
                found.append((repr(table.values.tolist()), table.names, table.places.tolist(), table.labels))
            except InputError as error:
                found.append(str(error))
    assert found[0] == found[1]


LINES = ["", "  ", "1.5", ",,", "1,2", "1,2,3,4", "1,2,3,", '"1",2,3', "1,2,3\r", "\t"]


@given(
    rows=st.lists(
        st.one_of(
            st.lists(st.sampled_from(CELLS[:14]), min_size=3, max_size=3).map(",".join),
            st.lists(st.sampled_from(["1.5", "-2", "4"]), min_size=3, max_size=3).map(",".join),
            st.sampled_from([*LINES, *(f"1,{cell},2" for cell in CELLS)]),
        ),
        min_size=1,
        max_size=12,
    ),
    head=st.sampled_from(
        ["a,b,c\n", '"a","b","c"\n', '"a ""b",b,c\n', "a,b,c\r\n", "", "id,b,c\n", '"a\nb",b,c\n', "\n"]
    ),
    end=st.sampled_from(["\n", "", "\n\n", "\n,,\n", "\r\n"]),
)
def test_pandas_reads_gaps_and_broken_lines_as_the_other_reader(
    rows: list[str], head: str, end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert_read_alike(head + "\n".join(rows) + end, tmp_path_factory)


@given(
    rows=st.lists(st.sampled_from(["1.5", "-2", "4", "", "  ", "NA", "x", '""', "1,2", "7\r"]), min_size=1, max_size=8),
    head=st.sampled_from(["a\n", "", "\n", "a\r\n", "\na\n"]),
    end=st.sampled_from(["\n", "", "\n\n", "\n \n", "\r\n"]),
)
def test_pandas_reads_a_single_column_as_the_other_reader(
    rows: list[str], head: str, end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert_read_alike(head + "\n".join(rows) + end, tmp_path_factory)


def test_pandas_reads_gaps(tmp_path: Path, always_fast: list[bool]) -> None:
    table = read(tmp_path, '"a","b"\n1,\n\nNA,2\n?,?\n3,4\n')
    assert always_fast == [True]
    np.testing.assert_array_equal(table.values, [[1, np.nan], [np.nan, 2], [np.nan, np.nan], [3, 4]])
    assert table.places.tolist() == [2, 4, 5, 6]


# NPZ and Parquet.


def test_npz_with_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.arange(6).reshape(3, 2), columns=["a", "b"], y=np.ones(3))
    table = read_table(tmp_path / "t.npz")
    assert (table.names, table.values.tolist(), table.label(2)) == (["a", "b"], [[0, 1], [2, 3], [4, 5]], "row 3")
    np.savez_compressed(tmp_path / "u.npz", one=np.ones((2, 2), dtype=bool))
    assert read_table(tmp_path / "u.npz").names == ["column 1", "column 2"]
    np.savez(tmp_path / "v.npz", p=np.ones((2, 2)), q=np.zeros((2, 1), dtype=np.float32))
    assert read_table(tmp_path / "v.npz", FileLayout(array="q")).values.tolist() == [[0.0], [0.0]]
    with pytest.raises(
        InputError, match=r"several arrays or none fit; found are p \(2, 2\), q \(2, 1\); name one with --array"
    ):
        read_table(tmp_path / "v.npz")
    with pytest.raises(InputError, match="no array of two dimensions is called 'z'"):
        read_table(tmp_path / "v.npz", FileLayout(array="z"))


class Trap:
    def __reduce__(self) -> Any:
        return (sys.exit, ("a pickle was run",))


def test_npz_runs_no_pickle(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.array([[Trap()]], dtype=object))
    with pytest.raises(InputError, match=r"array 'X' cannot be read .* save it as numbers"):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "e.npz")
    with pytest.raises(InputError, match="several arrays or none fit; found are none"):
        read_table(tmp_path / "e.npz")
    with pytest.raises(InputError, match="array 'X' cannot be read"):
        read_table(tmp_path / "t.npz", FileLayout(array="X"))


@pytest.mark.parametrize("name", ["t.npz", "t.parquet"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"PAR1 PAR1", b"a,b\n1,2\n"])
def test_broken_binary_files(name: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"{name}: is no"):
        read(tmp_path, content, name)


def test_unpacked_size_counts(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 1000)))
    pd.DataFrame(np.zeros((100_000, 10))).rename(columns=str).to_parquet(tmp_path / "t.parquet")
    for name in ("t.npz", "t.parquet"):
        assert (tmp_path / name).stat().st_size < 2**20
        with pytest.raises(InputError, match="MB when unpacked, more than 2; raise --max-mb"):
            read_table(tmp_path / name, FileLayout(max_mb=2))


def test_npz_values_that_are_no_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.array([["1", "b"]]))
    with pytest.raises(InputError, match=r"row 1, column 'column 1': '1' was found where a number is needed"):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.array([[1.0], [np.inf]]))
    with pytest.raises(InputError, match=r"row 2, column 'column 1': an infinite value"):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.ones((0, 3)))
    with pytest.raises(InputError, match="no row was found"):
        read_table(tmp_path / "t.npz")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("../X.npy", "x")
    with pytest.raises(InputError, match=r"t\.npz"):
        read_table(tmp_path / "t.npz")


def test_parquet_with_gaps_types_and_an_index(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None, 3], dtype="Int64"),
            "f": np.array([1.5, np.nan, 2.5], dtype=np.float32),
            "b": [True, False, True],
            "o": np.array([1, None, 2], dtype=object),
        },
        index=["x", "y", "z"],
    )
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.names == ["i", "f", "b", "o"]
    np.testing.assert_array_equal(table.values, [[1, 1.5, 1, 1], [np.nan, np.nan, 0, np.nan], [3, 2.5, 1, 2]])
    assert table.label(1) == "y (row 2)"


@pytest.mark.parametrize(
    ("column", "found"),
    [(["1", "2"], "'1'"), (pd.to_datetime(["2020-01-01", "2020-01-02"]), "'2020-01-01"), ([[1, 2], [3]], r"'\[1")],
    ids=["text", "dates", "lists"],
)
def test_parquet_columns_that_are_no_numbers(column: Any, found: str, tmp_path: Path) -> None:
    pd.DataFrame({"a": [1.0, 2.0], "c": column}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        InputError, match=rf"row 1, column 'c': {found}.* was found where a number is needed.*--ignore 'c'"
    ):
        read_table(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", FileLayout(ignore=("c",))).names == ["a"]


def test_without_pandas_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConvexNoveltyError, match=r'pandas is not installed; run: .* "convexnovelty\[detect\]"'):
        read(tmp_path, "a\n1\n")
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)))
    assert read_table(tmp_path / "t.npz").values.shape == (2, 2)
    monkeypatch.undo()
    DATA.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConvexNoveltyError, match=r"pyarrow is not installed"):
        read_table(tmp_path / "t.parquet")


# Columns by name, and gaps.


def test_columns_are_matched_by_name(tmp_path: Path) -> None:
    table = read(tmp_path, "b,a\n1,2\n")
    assert matched(table, ["a", "b"], "train.csv").values.tolist() == [[2.0, 1.0]]
    with pytest.raises(
        InputError, match=r"matched by name with train\.csv: missing 'c'; extra 'b' \(--ignore leaves out\)"
    ):
        matched(table, ["a", "c"], "train.csv")


def test_gaps(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b\n1,2\n,\n3,NA\n5,6\n")
    with pytest.raises(
        InputError, match=r"line 3, column 'a': a value is missing, of 3 in 2 rows; .*--missing drop or --mis"
    ):
        filled(table, "error")
    dropped, kept = filled(table, "drop")
    assert dropped.values.tolist() == [[1, 2], [5, 6]]
    assert (dropped.places.tolist(), kept.tolist()) == ([2, 5], [True, False, False, True])
    assert filled(table, "mean")[0].values.tolist() == [[1, 2], [3, 4], [3, 4], [5, 6]]
    assert filled(table, "mean", np.array([7.0, 8.0]))[0].values.tolist() == [[1, 2], [7, 8], [3, 8], [5, 6]]
    with pytest.raises(InputError, match="column 'b' is empty and has no mean"):
        filled(read(tmp_path, "a,b\n1,\n2,\n"), "mean")
    with pytest.raises(InputError, match="every row has a gap"):
        filled(read(tmp_path, "a,b\n1,\n2,\n"), "drop")


@pytest.mark.parametrize("first", [True, False])
def test_a_column_that_labels_rows_does_so_in_parquet_as_in_text(first: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = {"flow": rng.normal(5, 1, 30), "load": rng.normal(2, 1, 30)}
    key = {"machine_id": 1000 + 7 * np.arange(30)}
    frame = pd.DataFrame({**key, **values} if first else {**values, **key})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    text, stored = read_table(tmp_path / "t.csv"), read_table(tmp_path / "t.parquet")
    assert stored.names == text.names == ["flow", "load"]
    assert stored.labels == text.labels == [str(1000 + 7 * k) for k in range(30)]
    assert stored.labelled_by == text.labelled_by == "machine_id"
    assert stored.remarks == ("column 'machine_id' labels the rows (--index none makes it a feature)",)
    assert "machine_id" in read_table(tmp_path / "t.parquet", FileLayout(index="none")).names
    # A number twice labels nothing, and what was learnt from is a column of every table.
    frame.loc[1, "machine_id"] = 1000
    frame.to_parquet(tmp_path / "twice.parquet", index=False)
    assert "machine_id" in read_table(tmp_path / "twice.parquet").names
    assert "machine_id" in read_table(tmp_path / "t.parquet", FileLayout(features=("machine_id", "flow", "load"))).names


def test_what_pandas_calls_an_index_without_a_name_labels_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"flow": rng.normal(5, 1, 9), "__index_level_0__": rng.permutation(9)})
    pl.DataFrame({name: frame[name].to_numpy() for name in frame}).write_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert (table.names, table.labels) == (["flow"], [str(k) for k in frame["__index_level_0__"]])


def test_periods_are_labels_by_their_names_and_no_feature(tmp_path: Path) -> None:
    months = pd.period_range("2024-01", periods=9, freq="M")
    frame = pd.DataFrame({"flow": np.arange(9.0), "load": np.arange(9.0)}, index=months)
    frame.to_parquet(tmp_path / "index.parquet")
    frame.assign(month=months).to_parquet(tmp_path / "column.parquet")
    # A process of its own, in which pandas has not told Arrow of periods.
    said = subprocess.run(
        [sys.executable, "-c", PERIODS, tmp_path / "index.parquet", tmp_path / "column.parquet"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[0] == str([str(month) for month in months])
    table, stream = said[1:]
    assert "'2024-01' was found where a number is needed" in table
    assert "dates" in stream and "'month'" in stream


PERIODS = """
import sys
from convexnovelty import streams, tables
from convexnovelty.errors import InputError
print(tables.read_table(sys.argv[1]).labels)
for attempt in (lambda: tables.read_table(sys.argv[2], tables.FileLayout(index="flow")), lambda: streams.moments_of(sys.argv[2])):
    try:
        attempt()
    except InputError as error:
        print(error)
"""
