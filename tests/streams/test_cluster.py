"""Collections on the workers of a real cluster, one of which is killed in the middle of the work."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client

from convexnovelty import streams
from convexnovelty.estimators import OneClassSVM
from convexnovelty.moments import Moments

X = np.random.default_rng(3).normal(size=(2000, 4)) + np.array([1e8, 0.0, -2.0, 5.0])


def test_moments_of_arrays_and_frames_are_those_in_memory(client: Client) -> None:
    expected = Moments.estimate(X)
    array = dask.array.from_array(X, chunks=(170, 4))
    frame = dask.dataframe.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=6)
    for source in (array, frame):
        found = streams.moments_of(source)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-15, atol=1e-14)
        np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-10, atol=1e-10)


def test_the_order_of_merging_does_not_depend_on_the_scheduler(client: Client) -> None:
    array = dask.array.from_array(X, chunks=(170, 4))
    on_workers = streams.moments_of(array)
    with dask.config.set(scheduler="synchronous"):
        here = streams.moments_of(array)
    assert (on_workers.covariance == here.covariance).all()


def test_features_and_their_moments(client: Client) -> None:
    array = dask.array.from_array(X - X.mean(axis=0), chunks=(170, 4))
    features = streams.features_of(array, "gaussian", rank=15, sample=300)
    found = streams.moments_of(array, features=features)
    expected = Moments.estimate(features.coordinates(np.asarray(array)))
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-10)


def test_scores_are_computed_by_the_workers(client: Client) -> None:
    rows = X - X.mean(axis=0)
    detector = OneClassSVM(0.1).fit(rows[:200])
    found = list(streams.score_chunks(detector, dask.array.from_array(rows, chunks=(170, 4))))
    assert len(found) == 12
    np.testing.assert_allclose(np.concatenate(found), detector.decision_function(rows), atol=1e-12)


def slow_then_fatal(block: np.ndarray, mark: str = "", block_info: Any = None) -> np.ndarray:
    """A block as it is; the first process that gets to the sixth one kills itself, as a machine that fails would."""
    time.sleep(0.05)
    if block_info and block_info[0]["chunk-location"][0] == 6:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_worker_that_is_killed_costs_time_and_no_digits(client: Client, tmp_path: Path) -> None:
    before = set(client.scheduler_info()["workers"])
    mark = tmp_path / "killed"
    array = dask.array.from_array(X, chunks=(170, 4)).map_blocks(slow_then_fatal, mark=str(mark), dtype=float)
    found = streams.moments_of(array)
    assert mark.exists()
    expected = streams.moments_of(dask.array.from_array(X, chunks=(170, 4)))
    assert (found.mean == expected.mean).all()
    assert (found.covariance == expected.covariance).all()
    client.wait_for_workers(2, timeout=20)
    assert set(client.scheduler_info()["workers"]) != before


def test_errors_of_a_worker_name_the_block(client: Client) -> None:
    bad = X.copy()
    bad[400, 2] = np.nan
    with pytest.raises(streams.source.InputError, match=r"block 2: X: nan was found at row 60, column 2"):
        streams.moments_of(dask.array.from_array(bad, chunks=(170, 4)))
