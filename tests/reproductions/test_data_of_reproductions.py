"""Data of reproductions: files, downloads that are simulated, generators, and what is said where there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest

from convexnovelty.errors import InputError
from convexnovelty.reproductions import Data
from convexnovelty.reproductions._data import GENERATED, SOURCES
from convexnovelty.reproductions._readers import twonorm, waveform

Fetched = Callable[[Any, Any], None]


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Fetched:
    """Let fetch_openml answer with a frame and its labels."""

    def answer(frame: Any, target: Any) -> None:
        found = SimpleNamespace(data=frame, target=target)
        monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: found)

    return answer


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        warnings.warn("a network error occurred", stacklevel=2)
        raise URLError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refused)


@pytest.mark.parametrize("name", SOURCES)
def test_files_have_the_shape_and_classes_that_are_declared(name: str, data_file: Callable[[str], Path]) -> None:
    path = data_file(SOURCES[name].file)
    data = Data(path.parent)
    table = data.table(name)
    assert table.X.shape == SOURCES[name].shape
    assert sum(SOURCES[name].sizes.values()) == len(table.y)
    assert data.origins == {name: path.name}
    assert data.table(name) is table


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(InputError, match="--data: no/such/folder is not a folder"):
        Data("no/such/folder")


def test_without_a_network_the_error_says_which_file_would_do(offline: None, tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"sonar: no folder of data was given.*OpenML's data set 40.*sonar\.csv"):
            Data().table("sonar")
    with pytest.raises(InputError, match=r"there is no sonar\.csv in .*could not be fetched \(URLError"):
        Data(tmp_path).table("sonar")


def test_what_cannot_be_downloaded_says_so(offline: None) -> None:
    with pytest.raises(InputError, match=r"no download of it is known; give --data DIR with text_reuters20\.npz"):
        Data().table("reuters")


def test_the_time_limit_of_a_download_does_not_outlive_it(offline: None) -> None:
    import socket

    before = socket.getdefaulttimeout()
    with pytest.raises(InputError):
        Data().table("heart")
    assert socket.getdefaulttimeout() == before


@pytest.mark.parametrize("text", ["", "a,b,label\n1,2\n", "a,b,label\n1,x,M\n", "a,b,label\n1,2,Q\n"])
def test_a_damaged_file_is_named(text: str, tmp_path) -> None:
    (tmp_path / "sonar.csv").write_text(text)
    with pytest.raises(InputError, match=r"sonar\.csv"):
        Data(tmp_path).table("sonar")


def test_another_table_of_that_name_is_noticed(tmp_path) -> None:
    rows = "\n".join(",".join(["0.5"] * 60 + ["M"]) for _ in range(208))
    (tmp_path / "sonar.csv").write_text(",".join(["f"] * 61) + "\n" + rows + "\n")
    with pytest.raises(InputError, match=r"class sizes \{1: 208\} were found where sonar has"):
        Data(tmp_path).table("sonar")


def test_incomplete_rows_are_left_out(tmp_path) -> None:
    from convexnovelty.reproductions._readers import csv

    (tmp_path / "t.csv").write_text('a,b,label\n1,2,"M"\n3,,M\n5,-6,R\n')
    table = csv({"M": 1, "R": -1})(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1, 2], [5, -6]])
    np.testing.assert_array_equal(table.y, [1, -1])


def test_bananas_of_other_collections_keep_their_sides(fetched: Fetched) -> None:
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(5300, 2))
    labels = np.array(["1"] * 2924 + ["2"] * 2376)
    fetched(pandas.DataFrame(X, columns=["V1", "V2"]), pandas.Series(labels))
    data = Data()
    table = data.table("banana")
    np.testing.assert_array_equal(table.y, np.repeat([-1, 1], [2924, 2376]))
    np.testing.assert_array_equal(table.X, X)
    assert data.origins == {"banana": "OpenML 1460"}


def test_classes_the_other_way_round_are_noticed(fetched: Fetched) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(208, 60)))
    fetched(frame, pandas.Series(["Mine"] * 97 + ["Rock"] * 111))
    with pytest.raises(InputError, match="OpenML 40: shape"):
        Data().table("sonar")
    fetched(frame, pandas.Series(["Rock"] * 97 + ["Mine"] * 111))
    assert Data().table("sonar").y.sum() == 111 - 97


def test_splice_from_letters_is_the_file(fetched: Fetched, data_file: Callable[[str], Path]) -> None:
    pandas = pytest.importorskip("pandas")
    table = Data(data_file("ida_splice.csv").parent).table("splice")
    letters = np.array(["", "A", "G", "C", "T"])[table.X.astype(int)]
    frame = pandas.DataFrame(letters, columns=[f"attribute_{k}" for k in range(60)])
    ambiguous = pandas.concat([frame, frame.iloc[:1].replace({"A": "N", "G": "N", "C": "N", "T": "N"})])
    ambiguous.insert(0, "Instance_name", [f"HUM-{k}" for k in range(len(ambiguous))])
    kinds = np.where(table.y > 0, np.where(np.arange(3175) % 2, "EI", "IE"), "N")
    fetched(ambiguous, pandas.Series([*kinds, "N"]))
    again = Data().table("splice")
    np.testing.assert_array_equal(again.X, table.X)
    np.testing.assert_array_equal(again.y, table.y)


def test_digits_of_other_collections_are_the_file(fetched: Fetched, data_file: Callable[[str], Path]) -> None:
    pandas = pytest.importorskip("pandas")
    table = Data(data_file("usps.npz").parent).table("usps")
    fetched(pandas.DataFrame((table.X + 1) / 2), pandas.Series((table.y + 1).astype(str)))
    again = Data().table("usps")
    np.testing.assert_allclose(again.X, table.X, atol=1e-12)
    np.testing.assert_array_equal(again.y, table.y)
    assert again.training == table.training == 7291


def test_twonorm_has_breimans_means() -> None:
    table = twonorm(40000, np.random.default_rng(1))
    for sign in (1, -1):
        rows = table.X[table.y == sign]
        assert len(rows) == 20000
        np.testing.assert_allclose(rows.mean(axis=0), sign * 2 / np.sqrt(20), atol=0.03)
        np.testing.assert_allclose(np.cov(rows.T), np.eye(20), atol=0.04)


def test_waveforms_are_mixtures_of_triangles() -> None:
    table = waveform(30000, np.random.default_rng(1))
    assert np.mean(table.y > 0) == pytest.approx(1 / 3, abs=0.01)
    np.testing.assert_allclose(table.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(table.X.std(axis=0, ddof=1), 1.0, rtol=1e-12)


def test_generated_waveforms_look_like_the_file(data_file: Callable[[str], Path]) -> None:
    file = Data(data_file("ida_waveform.csv").parent).table("waveform")
    data = Data()
    made = data.table("waveform")
    assert data.origins == {"waveform": GENERATED}
    means = [table.X[table.y > 0].mean(axis=0) for table in (file, made)]
    # The class is that of the middle triangle with one of its neighbours; the two cases are each other's mirror image.
    assert min(np.abs(means[0] - means[1]).max(), np.abs(means[0] - means[1][::-1]).max()) < 0.1
