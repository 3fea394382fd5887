"""One small cluster of real processes for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest
from dask.distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """A client of a cluster with two workers, each a process of one thread, that replaces a worker that is lost."""
    options = {"distributed.worker.daemon": True, "distributed.scheduler.allowed-failures": 10}
    with (
        dask.config.set(options),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as c,
        Client(c) as client,
    ):
        yield client
