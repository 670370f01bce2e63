"""What computes the settings? Threads or processes of this machine, or the workers of a cluster."""

import logging
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax

from astonish.core.numbers import Domain
from astonish.core.refusal import naming_extra

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://.")
_TIMEOUT = 10  # seconds, for a scheduler to answer
# Ctrl-C is for the program that started the workers
_IGNORE_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_RETRIES = 3  # times that a task is sent again after a worker lost it


@contextmanager
def threads() -> Iterator[Executor]:
    """A thread for each core; one alone for an accelerator. Compiled code does not block other threads."""
    with ThreadPoolExecutor(os.cpu_count() if jax.default_backend() == "cpu" else 1) as pool:
        yield pool


@contextmanager
def scheduler(address: str, say: Callable[[str], Any] = print) -> Iterator[Executor]:
    """The workers of a running Dask cluster. address: of its scheduler, such as `tcp://10.0.0.1:8786`.

    say: is called if there are no workers yet; the study begins with the first of them.
    """
    with naming_extra("a cluster needs"):
        from distributed import Client
        from distributed.utils import silence_logging_cmgr

    if not _ADDRESS.match(address):
        raise ValueError(f"{address!r} is no address of a scheduler; give one such as tcp://10.0.0.1:8786")
    with silence_logging_cmgr(logging.CRITICAL):
        try:
            client = Client(address, timeout=_TIMEOUT, set_as_default=False)
        except OSError as problem:
            raise ConnectionError(
                f"no scheduler answers at {address} ({problem}); give the address that it printed when it was started"
            ) from None
        with _lent(client) as pool:
            if not client.scheduler_info()["workers"]:
                say(f"{address} has no workers yet; waiting for the first")
            yield pool


@contextmanager
def local_cluster(workers: int) -> Iterator[Executor]:
    """A Dask cluster of so many processes on this machine, with a thread each."""
    with naming_extra("a cluster needs"):
        from distributed import Client, LocalCluster

    Domain(1, whole=True).check("workers", workers)
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "preload": [_IGNORE_INTERRUPT]}
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, **quiet)
    with cluster, _lent(Client(cluster, set_as_default=False)) as pool:
        yield pool


@contextmanager
def _lent(client: Any) -> Iterator[Executor]:
    """The executor of a client; what is not finished at the end is given up."""
    with client:
        pool = client.get_executor(pure=False, retries=_RETRIES)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False)
