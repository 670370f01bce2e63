"""By which code, and on what device, was a number computed? Only numbers of the same code are put together."""

import inspect
from collections.abc import Iterable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
import numpy as np

import astonish

Versions = dict[str, str]


@cache
def code() -> str:
    """A fingerprint of the library."""
    return _fingerprint(sorted(Path(astonish.__file__).parent.rglob("*.py")))


def versions() -> Versions:
    """The versions of the library and of what it rests on."""
    return {"astonish": astonish.__version__, "code": code(), "jax": jax.__version__, "numpy": np.__version__}


def device() -> str:
    """What kind of device computes here; the same kind gives the same numbers to the last digit."""
    first = jax.devices()[0]
    return "cpu" if first.platform == "cpu" else str(first.device_kind)


def described(device: str, batch_size: int) -> str:
    """In words, on what something was computed."""
    return f"{device}, in batches of {batch_size} episodes" if batch_size else device


def fingerprint(compute: Any) -> str:
    """Of a function that is not part of the library: of its file, or of its package, or of itself without a file."""
    while isinstance(compute, partial):
        compute = compute.func
    function = compute if inspect.isfunction(compute) or inspect.ismethod(compute) else type(compute)
    package, _, module = str(function.__module__).rpartition(".")
    if (package or module).partition(".")[0] == "astonish":
        return "of the library"
    try:
        file = Path(inspect.getfile(function))
        return _fingerprint(sorted(file.parent.glob("*.py")) if package else [file])
    except (OSError, TypeError):
        return sha256(getattr(getattr(function, "__code__", None), "co_code", b"")).hexdigest()[:16]


def _fingerprint(files: Iterable[Path]) -> str:
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
