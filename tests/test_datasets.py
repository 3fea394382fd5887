"""Data sets are the same every time, and are what their name says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from convexnovelty import datasets
from convexnovelty.datasets import Dataset, all_datasets
from convexnovelty.errors import InputError


@pytest.mark.parametrize("name", all_datasets())
def test_every_data_set(name: str) -> None:
    make = all_datasets()[name]
    data, again = make(), make()
    assert data.name == name
    assert data.description
    assert (make.__doc__ or "").strip()
    assert np.array_equal(data.nominal, again.nominal)
    assert np.array_equal(data.novel, again.novel)
    assert data.dimension == data.nominal.shape[1] == data.novel.shape[1]
    assert np.isfinite(data.test_points).all()
    assert data.test_labels.sum() == len(data.nominal) - len(data.novel)
    assert np.abs(data.nominal.mean(axis=0)).max() > 1e-5  # nothing is centred by accident
    with pytest.raises(ValueError, match="read-only"):
        data.nominal[0, 0] = 1.0


def test_properties_that_the_names_promise() -> None:
    assert len(np.unique(datasets.duplicates().nominal, axis=0)) <= len(datasets.duplicates().nominal) // 4
    wide = datasets.wide().nominal
    assert wide.shape[0] < wide.shape[1]
    deviations = datasets.badly_scaled().nominal.std(axis=0)
    assert deviations.max() / deviations.min() > 1e7
    assert datasets.breast_cancer().nominal.shape == (357, 30)
    assert datasets.digits(3).nominal.shape == (183, 64)
    assert len(all_datasets()) >= 8


def test_seeds_and_sizes_change_the_points() -> None:
    assert not np.array_equal(datasets.blob(seed=0).nominal, datasets.blob(seed=1).nominal)
    assert datasets.ring(n=9).nominal.shape == (9, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: datasets.blob(n=1),
        lambda: datasets.blob(dimension=0),
        lambda: datasets.banana(seed=-1),
        lambda: datasets.digits(10),
        lambda: datasets.digits("0"),
        lambda: Dataset("x", np.ones((2, 2)), np.ones((2, 3)), "columns"),
        lambda: Dataset("x", np.ones((0, 2)), np.ones((2, 2)), "rows"),
    ],
)
def test_bad_arguments_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(InputError):
        make()
