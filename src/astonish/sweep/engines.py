"""Who computes? Threads of this machine, processes of it, or the workers of a cluster."""

import logging
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax

from astonish.domain import Domain

_PATIENCE = 10  # seconds, for a scheduler to answer
_AGAIN = 3  # times that a task is sent again after a worker lost it


@contextmanager
def threads() -> Iterator[Executor]:
    """A thread for each core; one alone for an accelerator. Compiled code does not keep others waiting."""
    with ThreadPoolExecutor(os.cpu_count() if jax.default_backend() == "cpu" else 1) as pool:
        yield pool


@contextmanager
def scheduler(address: str) -> Iterator[Executor]:
    """The workers of a running Dask cluster. address: of its scheduler, such as `tcp://10.0.0.1:8786`."""
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        raise ConnectionError(
            f"no scheduler answers at {address} ({problem}); give the address that it printed when it was started, "
            "such as tcp://10.0.0.1:8786"
        ) from None
    with _lent(client) as pool:
        yield pool


@contextmanager
def local_cluster(workers: int) -> Iterator[Executor]:
    """A Dask cluster of so many processes on this machine, with a thread each."""
    from distributed import Client, LocalCluster

    Domain(1, whole=True).check("workers", workers)
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    with cluster, _lent(Client(cluster, set_as_default=False)) as pool:
        yield pool


@contextmanager
def _lent(client: Any) -> Iterator[Executor]:
    """The executor of a client; what is not finished at the end is given up."""
    with client:
        pool = client.get_executor(pure=False, retries=_AGAIN)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False)
