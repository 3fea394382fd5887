"""What every public door checks: one wording, the name of the argument, what was found and what would do."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from convexnovelty import validation
from convexnovelty.errors import ConvexNoveltyError, InputError

GOOD = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        ((1, 2), (3, 4)),
        np.array(GOOD, dtype=np.float32),
        np.array(GOOD, dtype=np.uint8),
        np.array(GOOD, dtype=np.longdouble),
        np.array(GOOD, order="F"),
        np.array(GOOD, dtype=object),
        np.array([[1, Fraction(2)], [np.float32(3), Decimal(4)]], dtype=object),
        pd.DataFrame({"a": [Decimal("1"), Decimal("3.0")], "b": [2.0, 4.0]}),
        np.ma.array(GOOD, mask=[[False, False], [False, False]]),
        np.asmatrix(GOOD),
        pd.DataFrame(GOOD),
        pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
        pd.DataFrame(GOOD).astype("Int64"),
        pl.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_points_of_every_kind(value: Any) -> None:
    found = validation.points(value)
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    assert found.tolist() == GOOD


def test_booleans_count_as_numbers() -> None:
    assert validation.points([[True, False]]).tolist() == [[1.0, 0.0]]
    assert validation.points(pd.DataFrame({"a": [True], "b": [0.5]})).tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "X"),
        (3.0, r"shape \(\)"),
        ([1.0, 2.0], r"reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
        ([], r"\(0,\)"),
        ([[]], r"\(1, 0\)"),
        (np.zeros((0, 2)), r"\(0, 2\)"),
        ([[1.0], [2.0, 3.0]], "rectangular"),
        ([[1.0, np.nan]], "nan was found at row 0, column 1"),
        ([[1.0, 2.0], [-np.inf, 1.0]], "-inf was found at row 1, column 0"),
        ([["a", "b"]], "real numbers"),
        ([["1.0", "2.0"]], "real numbers"),
        (np.array([[1.0, "2.0"]], dtype=object), r"'2\.0' of type str was found at row 0, column 1"),
        ([[1.0, None]], "None"),
        ([[1j, 2.0]], "complex"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "dates were found; give numbers"),
        (pl.DataFrame({"a": [date(2020, 1, 1)], "b": [1.0]}), "dates were found; give numbers"),
        (np.ma.array(GOOD, mask=[[False, True], [True, False]]), "2 entries are masked"),
        (sp.csr_array(np.eye(2)), "sparse.*toarray"),
        (sp.csr_matrix(np.eye(2)), "sparse.*toarray"),
        (pd.DataFrame({"a": [1.0, None]}), "nan was found at row 1, column 0"),
        (pd.DataFrame({"a": ["x"], "b": [1.0]}), "'x'"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "row 1, column 0"),
        (pl.DataFrame({"a": [1.0, None]}), "nan was found at row 1, column 0"),
        (pl.DataFrame({"a": ["x"]}), "X"),
        ("abc", "X"),
        ({"a": 1}, "X"),
        (np.array([[10**400]], dtype=object), "float64"),
        (pd.DataFrame({"a": pd.Categorical([3, 1])}), "categories were found, which numbers may be names of"),
        (pl.DataFrame({"a": pl.Series(["3", "1"]).cast(pl.Categorical)}), "categories were found"),
    ],
)
def test_b32_points_that_are_refused(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        validation.points(value)
    assert str(caught.value).startswith("X: ")
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ConvexNoveltyError)


def test_minimum_of_rows() -> None:
    with pytest.raises(InputError, match="at least 3 row"):
        validation.points(GOOD, "sample", minimum=3)


@pytest.mark.parametrize("value", [[1, 2, 3], [[1, 2, 3]], [[1], [2], [3]], pd.Series([1, 2, 3]), (1.0, 2.0, 3.0)])
def test_b30_vectors_are_ravelled(value: Any) -> None:
    found = validation.vector(value, "v")
    assert found.shape == (3,)
    assert validation.vector(value, "v", 3).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("value", [np.eye(2), 1.0, [], np.zeros((0, 3)), ["a"], [np.inf], [1.0, 2.0], None])
def test_b30_vectors_that_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^v: "):
        validation.vector(value, "v", 3)


def test_empty_vectors_are_refused() -> None:
    with pytest.raises(InputError, match=r"v: shape \(0,\)"):
        validation.vector([], "v")


def test_symmetric() -> None:
    found = validation.symmetric([[1.0, 2.0 + 1e-12], [2.0, 3.0]], "S")
    assert np.array_equal(found, found.T)
    with pytest.raises(InputError, match=r"entry \(0, 1\) is 0.5 and entry \(1, 0\) is 0.2"):
        validation.symmetric([[1.0, 0.5], [0.2, 1.0]], "S")
    for wrong in (np.ones((2, 3)), [1.0], [[np.nan]], np.zeros((0, 0))):
        with pytest.raises(InputError, match=r"^S: "):
            validation.symmetric(wrong, "S")
    with pytest.raises(InputError, match=r"\(3, 3\)"):
        validation.square(np.eye(2), "S", 3)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Fraction(1), np.array(1.0), np.array([1])])
def test_numbers(value: Any) -> None:
    assert validation.number(value, "x") == 1.0
    assert type(validation.number(value, "x")) is float
    assert validation.integer(value, "x", 1) == 1


class Unspeakable:
    """An object whose representation fails."""

    def __repr__(self) -> str:
        raise RuntimeError("mine")


@pytest.mark.parametrize(
    "value",
    [
        "1",
        b"1",
        None,
        True,
        np.True_,
        1j,
        np.nan,
        np.inf,
        [1.0, 2.0],
        10**400,
        -(10**5000),
        Decimal(1),
        np.timedelta64(1, "s"),
        np.datetime64("2020"),
        np.ma.masked,
        np.ma.array([1.0], mask=[True]),
        pd.NA,
        pd.NaT,
        {},
        float,
        np.array([]),
        Unspeakable(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_number(value: Any) -> None:
    for check in (
        validation.number,
        validation.positive,
        validation.nonnegative,
        validation.integer,
        validation.fraction,
    ):
        with pytest.raises(InputError, match=r"^x: "):
            check(value, "x")


def test_values_are_shown_as_far_as_they_can_be() -> None:
    assert validation.shown("x") == "'x'"
    assert validation.shown(Unspeakable()) == "an object of type Unspeakable"
    assert validation.shown(10**5000) == "an object of type int"
    assert len(validation.shown(np.zeros((100, 100)).tolist())) < 250


@pytest.mark.parametrize("value", [None, "True", "False", 1, 0.0, np.array(True), np.array([True, False]), []])
def test_only_truth_values_are_flags(value: Any) -> None:
    with pytest.raises(InputError, match=r"^x: .* was found; give True or False$"):
        validation.flag(value, "x")


def test_flags() -> None:
    assert validation.flag(True, "x") is True
    assert validation.flag(np.False_, "x") is False


@pytest.mark.parametrize("value", [None, 1, 0.5, "ab", b"ab", float, {"a": 1}, np.array(0.5), np.ma.masked, object()])
def test_one_thing_is_no_list(value: Any) -> None:
    with pytest.raises(InputError, match=r"^x: .* was found; give a list of numbers$"):
        validation.listed(value, "x", "a list of numbers")


@pytest.mark.parametrize("value", [[1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2]), iter([1, 2]), range(1, 3)])
def test_lists(value: Any) -> None:
    assert validation.listed(value, "x", "a list of numbers") == [1, 2]


def test_numbers_of_any_shape() -> None:
    assert validation.numeric(3, "x").shape == ()
    assert validation.numeric([[1, 2]], "x").tolist() == [[1.0, 2.0]]
    assert validation.numeric([1.0, np.inf], "x", finite=False).tolist() == [1.0, np.inf]
    for value in ([1.0, np.inf], "1", None, np.timedelta64(1, "s"), [1, 10**400], np.ma.masked, object()):
        with pytest.raises(InputError, match=r"^x: "):
            validation.numeric(value, "x")
    with pytest.raises(InputError, match=r"^x: None of type NoneType was found; give real numbers$"):
        validation.numeric(None, "x")


LARGE = 2**53 + 1  # a whole number that float64 does not hold


@pytest.mark.parametrize(
    "given",
    [
        pd.array([LARGE, 7], dtype="Int64"),
        pd.Series([LARGE, 7], dtype="Int64"),
        pd.Series([LARGE, 7], dtype="UInt64"),
        pd.Series([LARGE, 7], dtype="int64[pyarrow]"),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([True, False], dtype="bool[pyarrow]"),
        pd.Series([3, 7], dtype="Int8"),
    ],
    ids=lambda given: f"{type(given).__name__} of {given.dtype}",
)
def test_labels_are_what_they_were(given: Any) -> None:
    found = validation.labels(given, "y")
    assert isinstance(found, np.ndarray)
    assert found.dtype.kind in "iub"
    assert found.tolist() == list(given)
    assert {type(label) for label in found.tolist()} == {bool if "bool" in str(given.dtype) else int}


def test_labels_of_a_frame_and_of_a_list_are_what_they_were() -> None:
    column = pd.DataFrame({"k": pd.array([LARGE, 7], dtype="Int64")})
    assert validation.labels(column, "y").tolist() == [[LARGE], [7]]
    assert validation.labels([2**63, -1], "y").tolist() == [2**63, -1]
    assert validation.labels([2**60, 2**60 + 1, 0.5], "y").tolist() == [2**60, 2**60 + 1, 0.5]
    for same in ([LARGE, 7], (True, False), ["a", "b"], [1, 2.5], [[1], [2]], []):
        assert validation.labels(same, "y") is same


@pytest.mark.parametrize("value", [[True, 2], (np.True_, 0.5), [False, np.int64(0)]])
def test_truth_values_are_no_numbers_among_labels(value: Any) -> None:
    with pytest.raises(InputError, match=r"^y: truth values were found among numbers, .* give labels of one type"):
        validation.labels(value, "y")


def test_labels_that_are_hidden_are_refused() -> None:
    with pytest.raises(InputError, match=r"^y: 1 labels are masked; give a label to every row"):
        validation.labels(np.ma.array([1, 2], mask=[0, 1]), "y")


@pytest.mark.parametrize("value", [-1, "seed", 1.0, True, np.timedelta64(1, "s"), [1], np.ma.masked])
def test_what_is_no_seed(value: Any) -> None:
    with pytest.raises(InputError, match=r"^random_state: .* was found; give a whole number of at least 0"):
        validation.generator(value)


def test_ranges() -> None:
    assert validation.nonnegative(0.0, "x") == 0.0
    for check, value in (
        (validation.positive, 0.0),
        (validation.positive, -1e-300),
        (validation.nonnegative, -1e-300),
        (validation.integer, 1.5),
        (validation.fraction, 0.0),
        (validation.fraction, 1.0),
        (validation.fraction, -0.1),
        (validation.fraction, 1 + 1e-12),
    ):
        with pytest.raises(InputError, match=r"^x: "):
            check(value, "x")
    assert validation.fraction(0, "x", zero=True) == 0.0
    assert validation.fraction(1, "x", one=True) == 1.0
    with pytest.raises(InputError, match=r"\(0, 1\]"):
        validation.fraction(1.5, "x", one=True)
    with pytest.raises(InputError, match="at least 2"):
        validation.integer(1, "x", 2)


@pytest.mark.parametrize(
    "value", [[2**53, 2**53 + 1], np.array([0, -(2**53) - 1]), np.array([2**53 + 1, "x"], object)[:1]]
)
def test_whole_numbers_that_would_tie_are_no_scores(value: Any) -> None:
    with pytest.raises(InputError, match=r"s: -?9007199254740993 was found, which float64 does not hold"):
        validation.scores(value, "s")


def test_whole_numbers_that_float64_holds_are_scores() -> None:
    held = [2**53, 2**53 + 2, -(2**60)]
    assert validation.scores(held, "s").tolist() == held
    assert validation.scores(np.array([1e300, 2.0**60 + 1]), "s").size == 2
    assert validation.scores(pd.Series([3]), "s").tolist() == [3.0]


@pytest.mark.parametrize("value", [np.array([0j, 1j]), pd.Series([1 + 0j, 2])])
def test_complex_numbers_are_no_labels(value: Any) -> None:
    with pytest.raises(InputError, match=r"^y: Complex data not supported, .* give real numbers or words"):
        validation.labels(value, "y")


@pytest.mark.parametrize(
    "labels",
    [
        pd.array(["p", "q", None, "p"], dtype="string"),
        pd.Series(["p", "q", None, "p"]),
        pd.Series(pd.Categorical(["p", "q", None, "p"])),
        pd.array([1, 2, None, 1], dtype="Int64"),
        pd.DataFrame({"y": ["p", "q", None, "p"]}),
        pl.Series(["p", "q", None, "p"]),
        np.array(["p", "q", None, "p"], dtype=object),
        ["p", "q", None, "p"],
    ],
    ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
)
def test_a_label_that_is_missing_is_named_by_its_row(labels: Any) -> None:
    with pytest.raises(
        InputError, match="y: no label was found at position 2, of 1 such rows; give a label to every row"
    ):
        validation.labels(labels, "y")
