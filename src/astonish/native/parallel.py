"""How do several cores share the work of compiled code, which runs without Python's lock?"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any

_EACH = 4096  # rows from which another thread is worth its while
_MOST = 8


def threads_for(rows: int) -> int:
    """How many threads to use for so many rows: a power of 2, at most one for each core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 << (max(min(cores, _MOST, rows // _EACH), 1).bit_length() - 1)


def in_parallel(work: Callable[[int], Any], threads: int, begun: list[Future[Any]] | None = None) -> None:
    """Do the work of thread 0, 1, ... at once, and wait for all of it. begun: gets what was set going."""
    begun = [] if begun is None else begun
    for k in range(1, threads):
        begun.append(_pool(os.getpid()).submit(work, k))
    work(0)
    for future in begun:
        future.result()


def finished(begun: list[Future[Any]]) -> None:
    """Wait until nothing of this runs any more."""
    for future in begun:
        future.cancel()
    wait(begun)


@cache
def _pool(_: int) -> ThreadPoolExecutor:
    """Threads of this process; one that was forked has none of its parent's."""
    return ThreadPoolExecutor(_MOST - 1, thread_name_prefix="astonish")
