"""How does the server give memory back that it no longer needs?"""

import ctypes
import gc
from contextlib import suppress


def give_back_memory() -> None:
    """Hand what was freed to the system, which the C library of Linux (glibc) otherwise keeps for later."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another system, or another C library
        ctypes.CDLL(None).malloc_trim(0)
