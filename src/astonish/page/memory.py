"""How does the server keep its memory within bounds?

Each program that JAX compiles takes one to twenty megabytes, and stays. Above a limit all of them are forgotten; what
is asked for next is read from a folder, where compiled programs are kept as long as the server runs.
"""

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

LIMIT = 485 * 2**20  # bytes
ROOM = 64 * 2**20  # bytes that may be taken before programs are forgotten again, if what is left is close to the limit
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_ARENAS, _MAPPED = (-8, 2), (-3, 2**16)  # of glibc's mallopt: M_ARENA_MAX, and M_MMAP_THRESHOLD in bytes


class MemoryLimit:
    """Watches how much this process holds. limit: bytes above which programs are forgotten; infinity, never."""

    def __init__(self, limit: float) -> None:
        self._limit = self._next = limit

    @property
    def is_full(self) -> bool:
        """Whether it is time to make room."""
        return resident() > self._next

    def make_room(self) -> None:
        """Forget what was compiled, and hand back what is free. Nothing may be computed meanwhile."""
        import jax

        jax.clear_caches()
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # glibc otherwise keeps for later what was freed
        self._next = max(self._limit, resident() + ROOM)


def resident() -> int:
    """Bytes of memory that this process holds, where the system says so (Linux); else 0."""
    with suppress(OSError, AttributeError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


@contextmanager
def small_process() -> Iterator[None]:
    """A process that needs little memory, and keeps compiled programs on disk. To be entered before it computes."""
    with suppress(OSError, AttributeError):  # another system than Linux, or another C library than glibc
        for option in (_ARENAS, _MAPPED):  # so that what is freed can be given back
            ctypes.CDLL(None).mallopt(*option)
    _import_pandas_alone()
    import jax

    if jax.config.values["jax_compilation_cache_dir"] is not None:  # somebody keeps programs already
        yield
        return
    with TemporaryDirectory(prefix="astonish-compiled-", ignore_cleanup_errors=True) as folder, _deleted(folder):
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        yield


@contextmanager
def _deleted(folder: str) -> Iterator[None]:
    """Delete a folder also if a signal ends the process, such as that of a terminal that is closed."""

    def end(number: int, _: object) -> None:
        rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _import_pandas_alone() -> None:
    """Import pandas without Arrow, of 60 MB, which it uses for files; those are read in a process of their own."""
    if "pyarrow" in sys.modules or "pandas" in sys.modules:
        return
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # which is how Python is told that there is none
    try:
        import pandas as pandas
    finally:
        del sys.modules["pyarrow"]
